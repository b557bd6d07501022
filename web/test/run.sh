#!/bin/sh
# Builds the module and tests it under the real client, in node and, if there is
# one, in headless Chromium. TAP.
#
#   web/test/run.sh [--no-tests] [FOLDER]      (default: build/web)
#
# --no-tests: only what the demo page needs is made. The client comes from npm
# into FOLDER. CC as for web/build.sh; CHROMIUM names the browser; PICTURE, if
# set, is the file for a picture of the demo page.
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
# All at once; each says how large it is.
builds=
start() { # start NAME ARGUMENTS...
  name=$1
  shift
  sh "$here/build.sh" -o "$folder/$name" "$@" >"$folder/$name.log" 2>&1 &
  builds="$builds $!"
}
rm -f "$folder"/*.wasm.log
start demo.wasm "$filters"
if [ -n "$tests" ]; then
  start tvmffi.wasm
  start test.wasm "$filters" "$kernels"
  start all.wasm --all "$filters" "$kernels"
  start asyncify.wasm --asyncify "$filters" "$kernels"
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
  if [ -n "$browser" ]; then
    echo '# note: in Chromium'
    CHROMIUM=$browser node "$here/test/browser.js" \
      ${PICTURE:+--screenshot "$PICTURE"} "$folder/demo.wasm" \
      "$folder/test.wasm" "$folder/asyncify.wasm" ||
      printf 'not ok 0 - the tests in Chromium\n'
  else
    printf 'ok 0 - Chromium # SKIP there is no Chromium\n'
  fi
} | awk '
  /^1\.\./ { next }
  /^(not )?ok [0-9]+/ {
    if (/^not/) failed = 1
    sub(/ok [0-9]+/, "ok " ++n)
  }
  { print; fflush() }
  END { print "1.." n; exit failed }'
