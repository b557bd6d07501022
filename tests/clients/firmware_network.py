#!/usr/bin/env python3
"""examples/firmware_network: Apache TVM compiles a network by both of its code
generators, and the firmware's layers are NumPy's, on a Cortex-M3 under qemu.
The Python that runs this has what requirements-tvm.txt names. Writes TAP."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "firmware_network"
sys.path[:0] = [str(ROOT / "tests/tools"), str(EXAMPLE)]
from tap import Tap  # noqa: E402

try:
    import network
    import run_network
except ImportError as missing:
    tap = Tap()
    tap.skip("firmware with a network", missing)
    sys.exit(tap.done())

NEEDED = ["arm-none-eabi-gcc", "arm-none-eabi-nm", "qemu-system-arm"]
STACK = 2560
DIGITS = 2 * network.pictures(1).size
NO_PICTURE = f"! ValueError: a picture has {DIGITS} digits, 0-9 and a-f"
NO_MEMORY = "! MemoryError: no memory for 8192 bytes"


def build(generator, folder, *options):
    return subprocess.run(
        [str(EXAMPLE / "build.sh"), generator, str(folder), *options],
        env={**os.environ, "PYTHON": sys.executable,
             "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True)


def error(board, line):
    return " ".join(board.ask(line)[-1])


def check_firmware(tap, generator, folder):
    done = build(generator, folder)
    if not tap.ok(done.returncode == 0 and not done.stderr,
                  f"{generator}: builds without a warning",
                  done.stdout + done.stderr):
        return
    memory, arena = (int(re.search(number, done.stdout)[1]) for number in (
        r"tensors and workspaces: (\d+) bytes at most",
        r"(\d+)  the arena"))
    tap.ok(memory == 256 + 2048 + 8192,
           f"{generator}: the build computes the memory", done.stdout)
    with run_network.Board(str(folder / "firmware.elf")) as board:
        answers = [run_network.check(board, picture)
                   for picture in network.pictures(3)]
        tap.ok(True, f"{generator}: all layers' outputs are NumPy's")
        classes = {answer[-1][1] for answer in answers}
        tap.ok(len(classes) == 3, f"{generator}: pictures differ", classes)
        for bad in ("", "00", DIGITS * "0" + "00", DIGITS * "x"):
            got = error(board, bad)
            tap.ok(got == NO_PICTURE, f"{generator}: a line `{bad[:4]}` of "
                   f"{len(bad)} digits", got)
        answers += [run_network.check(board, picture)
                    for picture in network.pictures(2)]
    ends = [[int(number) for number in answer[-1][1:]] for answer in answers]
    _, used, most, stack = ends[-1]
    # The first error of a program allocates a buffer for the line it is from.
    tap.ok(ends[0][1] == ends[2][1] and ends[3][1] == used,
           f"{generator}: a picture leaves no memory", ends)
    tap.ok(memory < most <= arena < most + 512,
           f"{generator}: the arena has the size that is needed",
           f"{memory} < {most} <= {arena}")
    tap.ok(stack < STACK - 512, f"{generator}: the stack suffices", stack)
    times = [int(line[1]) for line in answers[0][:-1]]
    tap.ok(min(times) > 1000, f"{generator}: each layer is timed", times)
    size = re.search(r"(\d+) +(\d+)  all", done.stdout)
    tap.note(f"network, {generator}: {size[1]} bytes of flash, {size[2]} of "
             f"RAM, {sum(times)} instructions")


def check_small(tap, folder):
    """Removes 1 KB of the arena: the workspace of conv1 does not fit."""
    done = build("llvm", folder, "-DRUNTIME_MEMORY=1024")
    if not tap.ok(done.returncode == 0, "a smaller arena builds", done.stderr):
        return
    picture = network.pictures(1)[0].tobytes().hex()
    with run_network.Board(str(folder / "firmware.elf")) as board:
        for title in ("a workspace does not fit", "it does not fit again"):
            got = error(board, picture)
            tap.ok(got == NO_MEMORY, title, got)


def main():
    tap = Tap()
    missing = [n for n in NEEDED if not shutil.which(n)]
    if not importlib.util.find_spec("tvm"):
        missing.append("Apache TVM")
    if missing:
        tap.skip("firmware with a network", "no " + ", ".join(missing))
        return tap.done()
    checks = [("llvm", check_firmware, "llvm"), ("c", check_firmware, "c"),
              ("a smaller arena", check_small)]
    for title, check, *args in checks:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(tap, *args, Path(folder))
            except (RuntimeError, AssertionError) as failed:
                tap.ok(False, title, failed)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
