#!/usr/bin/env python3
"""The table of docs/porting.md, "Interrupts": interrupts.c is interrupted at
arbitrary instructions, by a handler that calls what the table allows. qemu
counts instructions, so each run is the same. Writes TAP."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
BOARD = ROOT / "examples" / "firmware"
sys.path.insert(0, str(ROOT / "tests/tools"))
sys.path.insert(0, str(HERE.parent / "firmware"))
from firmware import NEEDED, talk  # noqa: E402
from tap import Tap  # noqa: E402

FLAGS = """-mcpu=cortex-m3 -mthumb -Os -g -std=c11 -ffreestanding -Wall -Wextra
  -Werror -Wno-format -ffunction-sections -fdata-sections""".split()
LINK = """-nostdlib -Wl,--gc-sections -Wl,--defsym=FLASH_SIZE=1M
  -Wl,--defsym=RAM_SIZE=1M -Wl,--defsym=STACK_SIZE=16K""".split()


def check(tap, name, state, folder):
    elf = Path(folder) / f"interrupts{state}.elf"
    done = subprocess.run(
        ["arm-none-eabi-gcc", *FLAGS, f"-DINTERRUPTS_STATE={state}",
         f"-I{HERE}", f"-I{BOARD}", f"-I{ROOT}", str(HERE / "interrupts.c"),
         str(BOARD / "board.c"), *LINK, f"-Wl,-T,{BOARD / 'link.ld'}",
         "-lgcc", "-o", str(elf)], capture_output=True, text=True)
    if not tap.ok(done.returncode == 0, f"{name}: builds", done.stderr):
        return
    line = talk(elf, [], "-icount", "shift=5,sleep=off")[0]
    told = {key: int(n) for key, n in re.findall(r"(\w+) (\d+)", line)}
    tap.note(f"{name}: {line}")
    tap.ok(line.startswith("done") and told["wrong"] == 0,
           f"{name}: all results are right", line)
    tap.ok(all(told.get(key) == 0 for key in
               ("locks", "allocations", "states", "leaked")),
           f"{name}: no lock, no leak; no memory or state for a plain call",
           line)
    tap.ok(told.get("interrupts", 0) >= 20000 and told["pending"] > 100 and
           (not state or told["locked"] > 100),
           f"{name}: interrupts come during errors and locks", line)


def main():
    tap = Tap()
    missing = [n for n in NEEDED if not shutil.which(n)]
    if missing:
        tap.skip("interrupts", "no " + " ".join(missing))
        return tap.done()
    with tempfile.TemporaryDirectory() as folder:
        check(tap, "one thread", 0, folder)
        check(tap, "a state for interrupts", 1, folder)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
