#!/bin/sh
# Builds the firmware: build_board.sh OUTPUT-FOLDER. CROSS is the compiler's
# prefix.
set -e
root=$(cd "$(dirname "$0")/../.." && pwd)
board=$root/examples/firmware
mkdir -p "$1"
"${CROSS:-arm-none-eabi-}gcc" -mcpu=cortex-m3 -mthumb -Os -std=c11 \
  -ffreestanding -ffunction-sections -fdata-sections -fno-unwind-tables \
  -fno-asynchronous-unwind-tables \
  -I"$root" -I"$board" "$root/examples/20_one_kernel/board.c" \
  "$board/board.c" -nostdlib -Wl,--gc-sections -T "$board/link.ld" \
  -Wl,--defsym=FLASH_SIZE=64K,--defsym=RAM_SIZE=16K,--defsym=STACK_SIZE=6K \
  -lgcc -o "$1/kernels.elf"
