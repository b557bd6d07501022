#!/bin/sh
# Builds the firmware: build.sh OUTPUT-FOLDER [KERNELS.o ...]. CROSS is the
# compiler's prefix. Kernels may need the math functions of picolibc.
set -e
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/examples/firmware_rpc
board=$root/examples/firmware
out=$1
shift
cross=${CROSS:-arm-none-eabi-}
flags="-mcpu=cortex-m3 -mthumb -Os -g -std=c99 -ffreestanding -Wall -Wextra
  -ffunction-sections -fdata-sections -fno-unwind-tables
  -fno-asynchronous-unwind-tables -ffile-prefix-map=$root/="
# 64 KB of flash and 20 KB of RAM. Compiled kernels name a function that
# unwinds the stack, and never call it.
link="-nostdlib -Wl,--gc-sections
  -Wl,--defsym=FLASH_SIZE=64K,--defsym=RAM_SIZE=20K,--defsym=STACK_SIZE=3K
  -Wl,--defsym=__aeabi_unwind_cpp_pr0=0 -Wl,-z,noexecstack -T $board/link.ld"
if [ $# -gt 0 ]; then math='--specs=picolibc.specs -lm -lc'; fi
mkdir -p "$out"
# shellcheck disable=SC2086
${cross}gcc $flags -I"$here" -I"$board" -I"$root" "$here/firmware.c" \
  "$here/clock.c" "$board/board.c" "$@" $link ${math-} -lgcc \
  -o "$out/firmware.elf"
