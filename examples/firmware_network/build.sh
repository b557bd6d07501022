#!/bin/sh
# Compiles the network and builds the firmware:
#
#   build.sh llvm|c OUTPUT-FOLDER [COMPILER-OPTIONS ...]
#
# PYTHON is a Python with Apache TVM, CROSS the C compiler's prefix. Prints the
# memory of each layer, and the flash and RAM of the firmware by part.
set -e
generator=$1
out=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/examples/firmware_network
board=$root/examples/firmware
serial=$root/examples/firmware_rpc
cross=${CROSS:-arm-none-eabi-}
flags="-mcpu=cortex-m3 -mthumb -Os -g -std=c11 -ffreestanding -Wall -Wextra
  -ffunction-sections -fdata-sections -fno-unwind-tables
  -fno-asynchronous-unwind-tables"
# 64 KB of flash and 20 KB of RAM. The LLVM object file names a function that
# unwinds the stack, and never calls it.
link="-nostdlib -Wl,--gc-sections
  -Wl,--defsym=FLASH_SIZE=64K,--defsym=RAM_SIZE=20K,--defsym=STACK_SIZE=2560
  -Wl,--defsym=__aeabi_unwind_cpp_pr0=0 -Wl,-z,noexecstack"
compile() { # compile ARGUMENTS...
  # shellcheck disable=SC2086
  ${cross}gcc $flags "-ffile-prefix-map=$root/=" -DTVMFFI_PORT='"port.h"' \
    -I"$out" -I"$here" -I"$board" -I"$serial" -I"$root" "$@"
}
python=${PYTHON:-python3}
"$python" "$here/compile.py" "$generator" "$out"
if [ "$generator" = c ]; then
  compile -O2 -Wno-unused-parameter -c "$out/kernels.c" -o "$out/kernels.o"
fi
# shellcheck disable=SC2086
compile "$@" "$here/firmware.c" "$out/network.c" "$serial/clock.c" \
  "$board/board.c" "$out/kernels.o" $link -T "$board/link.ld" -lgcc \
  -o "$out/firmware.elf"
"$python" "$board/size.py" --cross "$cross" --flash 65536 --ram 20480 \
  "$out/firmware.elf"
