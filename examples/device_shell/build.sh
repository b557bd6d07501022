#!/bin/sh
# Builds the firmware: build.sh OUTPUT-FOLDER. CROSS is the compiler's prefix.
set -e
here=$(cd "$(dirname "$0")" && pwd)
board=$here/../firmware
out=$1
cross=${CROSS:-arm-none-eabi-}
flags="-mcpu=cortex-m3 -mthumb -Os -g -std=c11 -ffreestanding -Wall -Wextra
  -ffunction-sections -fdata-sections -fno-unwind-tables
  -fno-asynchronous-unwind-tables"
memory="-Wl,--defsym=FLASH_SIZE=64K,--defsym=RAM_SIZE=16K
  -Wl,--defsym=STACK_SIZE=2048"
mkdir -p "$out"
${cross}gcc $flags -DTVMFFI_PORT='"port.h"' -I"$here" -I"$board" \
  -I"$here/../.." "$here/shell.c" "$here/request.c" "$here/commands.c" \
  "$here/tasks.c" "$board/board.c" -nostdlib -Wl,--gc-sections \
  $memory -Wl,-T,"$board/link.ld" -lgcc -o "$out/device_shell.elf"
