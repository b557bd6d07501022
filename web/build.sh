#!/bin/sh
# Builds the wasm module that the JavaScript client runs on, and prints its
# size. C and object files that are named are linked into it: their kernels
# (web.h) are in the system library.
#
#   web/build.sh [--all] [--webgpu] [--rpc] [--asyncify] [-o OUTPUT]
#     [KERNELS.c ...]
#
# --all: with all built-in functions, of maps, JSON and so on. --webgpu: with
# tensors on WebGPU's device and modules of shaders. --rpc: for Apache TVM's
# Python client by the JavaScript client's RPCServer. --asyncify: with
# binaryen's wasm-opt (WASM_OPT), so that a call can wait for a promise. CC
# chooses the compiler: any clang with wasm-ld (default: clang-19 or clang), or
# "python3 -m ziglang cc". CFLAGS are added.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
output=build/web/tvmffi.wasm
all=0
webgpu=0
rpc=0
asyncify=
while :; do
  case ${1-} in
  --all) all=1 ;;
  --webgpu) webgpu=1 ;;
  --rpc) rpc=1 ;;
  --asyncify) asyncify=1 ;;
  -o)
    output=$2
    shift
    ;;
  *) break ;;
  esac
  shift
done
if [ -z "${CC-}" ]; then
  CC=clang
  if command -v clang-19 >/dev/null 2>&1; then CC=clang-19; fi
fi

# The client uses addresses below 1024. The stack is below the data, so that a
# stack overflow traps: zig does that by default.
flags='-std=c11 -ffreestanding -fno-builtin -fvisibility=hidden
  -mbulk-memory -msign-ext -mnontrapping-fptoint
  -Wall -Wextra -Wshadow -Werror'
link='-nostdlib -Wl,--no-entry -Wl,--gc-sections -Wl,-z,stack-size=262144 -s'
case $CC in
*zig*)
  CC="$CC -target wasm32-freestanding"
  flags="$flags -fno-sanitize=undefined"
  ;;
*)
  CC="$CC --target=wasm32-unknown-unknown"
  link="$link -Wl,--stack-first"
  ;;
esac
for name in FunctionGetGlobal FunctionSetGlobal FunctionCall \
  ErrorSetRaisedFromCStr AnyViewToOwnedAny ObjectDecRef TypeKeyToIndex \
  GetTypeInfo; do
  link="$link -Wl,--export=TVMFFI$name"
done

mkdir -p "$(dirname "$output")"
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
build() { # build NAME FLAGS...: an object file
  name=$1
  shift
  # CC, flags and CFLAGS are several words.
  # shellcheck disable=SC2086
  $CC $flags "-ffile-prefix-map=$here/=web/" -I "$here/.." -I "$here" "$@" \
    ${CFLAGS-} -c -o "$parts/$name.o"
}
build runtime -Oz "-DWEB_ALL=$all" "-DWEB_GPU=$webgpu" "-DWEB_RPC=$rpc" \
  "$here/runtime.c"
build memory -O2 "$here/memory.c"
build backend -Oz "-DWEB_GPU=$webgpu" "$here/backend.c"
if [ "$webgpu" = 1 ]; then build webgpu -Oz -DWEB_GPU=1 "$here/webgpu.c"; fi
if [ "$rpc" = 1 ]; then build rpc -Oz "-DWEB_GPU=$webgpu" "$here/rpc.c"; fi
n=0
for kernel; do
  n=$((n + 1))
  case $kernel in
  *.o) cp "$kernel" "$parts/kernel$n.o" ;;
  *) build "kernel$n" -O3 -msimd128 "$kernel" ;;
  esac
done
# shellcheck disable=SC2086
$CC $link -o "$output" "$parts"/*.o
if [ -n "$asyncify" ]; then
  # Only calls into JavaScript wait.
  "${WASM_OPT:-wasm-opt}" --enable-bulk-memory --enable-sign-ext \
    --enable-nontrapping-float-to-int --enable-simd --asyncify \
    --pass-arg=asyncify-imports@env.TVMFFIWasmSafeCall -O1 \
    -o "$output" "$output"
fi
printf '%s: %s bytes\n' "$output" "$(wc -c <"$output" | tr -d ' ')"
