#!/bin/sh
# Builds the module and tests it under the unmodified client, in node and, if
# installed, in headless Chromium. TAP.
#
#   web/test/run.sh [--no-tests] [FOLDER]      (default: build/web)
#
# --no-tests: only what the demo pages need is made. The client comes from npm
# into FOLDER. TVM_PYTHON is a Python with Apache TVM, which compiles programs
# for WebGPU and is the client of RPC; without it these are left out. CC as for
# web/build.sh; CHROMIUM names the browser; PICTURE and WEBGPU_PICTURE, if set,
# are the files for pictures of the demo pages.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
tests=yes
if [ "${1-}" = --no-tests ]; then
  tests=
  shift
fi
folder=${1-build/web}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
log=$folder/build.log

fail() { # fail WHAT: nothing can be tested
  printf 'not ok 1 - %s\n' "$*"
  sed 's/^/# /' "$log" | tail -n 20
  printf '1..1\n'
  exit 1
}

cp "$here/package.json" "$here/package-lock.json" "$folder"
if ! cmp -s "$folder/package-lock.json" "$folder/node_modules/.installed"; then
  (cd "$folder" && npm ci --no-audit --no-fund) >"$log" 2>&1 ||
    fail 'the client comes from npm'
  cp "$folder/package-lock.json" "$folder/node_modules/.installed"
fi
NODE_MODULES=$folder/node_modules
WASM_OPT=$NODE_MODULES/.bin/wasm-opt
export NODE_MODULES WASM_OPT

filters=$here/demo/filters.c
kernels=$here/test/kernels.c
# Builds all in parallel; each prints its size.
builds=
start() { # start NAME COMMAND...
  name=$1
  shift
  "$@" >"$folder/$name.log" 2>&1 &
  builds="$builds $!"
}
module() { # module NAME ARGUMENTS...
  name=$1
  shift
  start "$name" sh "$here/build.sh" -o "$folder/$name" "$@"
}
programs() { # programs NAME ARGUMENTS...: compiled for WebGPU
  name=$1
  shift
  [ -z "${TVM_PYTHON-}" ] || start "$name" "$TVM_PYTHON" \
    "$here/demo/compile.py" "$folder/$name" "$@"
}
rm -f "$folder"/*.wasm.log
module demo.wasm "$filters"
programs webgpu.wasm
if [ -n "$tests" ]; then
  module tvmffi.wasm
  module test.wasm "$filters" "$kernels"
  module all.wasm --all "$filters" "$kernels"
  module asyncify.wasm --asyncify "$filters" "$kernels"
  module rpc.wasm --rpc "$kernels"
  programs webgpu-asyncify.wasm --asyncify
  programs rpc-programs.wasm --rpc "$kernels"
fi
built=yes
for build in $builds; do wait "$build" || built=; done
cat "$folder"/*.wasm.log >"$log"
[ -n "$built" ] || fail 'the module is built'
sed 's/^.*\//# note: /' "$log"
[ -n "$tests" ] || exit 0

browser=${CHROMIUM-}
for name in chromium chromium-browser google-chrome; do
  if [ -z "$browser" ] && command -v "$name" >/dev/null 2>&1; then
    browser=$name
  fi
done

{
  node "$here/test/node.js" "$folder/tvmffi.wasm" "$folder/test.wasm" \
    "$folder/asyncify.wasm" || printf 'not ok 0 - the tests in node\n'
  echo '# note: with all built-in functions'
  node "$here/test/node.js" "$folder/tvmffi.wasm" "$folder/all.wasm" ||
    printf 'not ok 0 - the tests with all built-in functions\n'
  node "$here/test/node.js" --rpc "$folder/rpc.wasm" ||
    printf 'not ok 0 - the tests of RPC\n'
  if [ -n "$browser" ]; then
    echo '# note: in Chromium'
    CHROMIUM=$browser node "$here/test/browser.js" \
      ${PICTURE:+--screenshot "$PICTURE"} "$folder/demo.wasm" \
      "$folder/test.wasm" "$folder/asyncify.wasm" ||
      printf 'not ok 0 - the tests in Chromium\n'
  else
    printf 'ok 0 - Chromium # SKIP there is no Chromium\n'
  fi
  if [ -z "${TVM_PYTHON-}" ]; then
    printf 'ok 0 - WebGPU and RPC # SKIP there is no Apache TVM\n'
  else
    CHROMIUM=$browser "$TVM_PYTHON" "$here/test/rpc.py" \
      "$folder/rpc-programs.wasm" ||
      printf 'not ok 0 - the tests of RPC with its client\n'
    echo '# note: WebGPU'
    node "$here/test/node.js" --webgpu "$folder/webgpu.wasm" ||
      printf 'not ok 0 - the tests of WebGPU in node\n'
  fi
  if [ -n "${TVM_PYTHON-}" ] && [ -n "$browser" ]; then
    CHROMIUM=$browser node "$here/test/browser.js" \
      ${WEBGPU_PICTURE:+--screenshot "$WEBGPU_PICTURE"} --webgpu \
      "$folder/webgpu.wasm" "$folder/webgpu-asyncify.wasm" ||
      printf 'not ok 0 - the tests of WebGPU in Chromium\n'
  fi
} | awk '
  /^1\.\./ { next }
  /^(not )?ok [0-9]+/ {
    if (/^not/) failed = 1
    sub(/ok [0-9]+/, "ok " ++n)
  }
  { print; fflush() }
  END { print "1.." n; exit failed }'
