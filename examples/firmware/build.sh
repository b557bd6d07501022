#!/bin/sh
# Builds the firmware: build.sh OUTPUT-FOLDER. CROSS is the compiler's prefix,
# CFLAGS are further options.
set -e
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/examples/firmware
out=$1
cross=${CROSS:-arm-none-eabi-}
flags="-mcpu=cortex-m3 -mthumb -Os -g -std=c99 -ffreestanding -Wall -Wextra
  -ffunction-sections -fdata-sections -fno-unwind-tables
  -fno-asynchronous-unwind-tables ${CFLAGS-}"
mkdir -p "$out"
${cross}gcc $flags "-ffile-prefix-map=$root/=" -I"$here" -I"$root" \
  "$here/firmware.c" "$here/board.c" -nostdlib -Wl,--gc-sections -Wl,-T,"$here/link.ld" -lgcc \
  -o "$out/firmware.elf"
