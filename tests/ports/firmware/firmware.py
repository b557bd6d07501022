#!/usr/bin/env python3
"""examples/firmware: it fits 16 KB of flash and 4 KB of memory, and answers on
its serial line under qemu. Writes TAP."""

import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "firmware"
sys.path.insert(0, str(ROOT / "tests"))
from tap import Tap  # noqa: E402

NEEDED = ["arm-none-eabi-gcc", "arm-none-eabi-nm", "qemu-system-arm"]
SECONDS = 60  # that the machine may take
TALK = [
    ("device.add 2 3", "= 5"),
    ("device.add -9223372036854775808 0", "= -9223372036854775808"),
    ("device.add 2 x", "! TypeError: Mismatched type on argument #1 when "
     "calling: `device.add(0: int, 1: int) -> int`. Expected `int` but got "
     "`const char*`"),
    ("device.add 2", "! TypeError: Mismatched number of arguments when "
     "calling: `device.add(0: int, 1: int) -> int`. Expected 2 but got 1 "
     "arguments"),
    ("device.greet world", "= hello, world"),
    ("device.greet " + 60 * "x", "! ValueError: the name is too long"),
    ("device.light 101", "! ValueError: 101 percent is no brightness"),
    ("device.light 40", "= 0"),
    ("device.light 50", "= 40"),
    ("no.such", "! AttributeError: there is no no.such"),
    ("ffi.Shape 1 2", "= an object"),
]


def talk(elf, lines):
    """What the firmware writes to a line each, and "ready" before them."""
    machine = subprocess.Popen(
        ["qemu-system-arm", "-M", "mps2-an385", "-display", "none", "-monitor",
         "none", "-serial", "stdio", "-kernel", str(elf)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    timer = threading.Timer(SECONDS, machine.kill)
    timer.start()
    try:
        answers = [machine.stdout.readline().strip()]
        for line, count in lines:
            machine.stdin.write(line + "\n")
            machine.stdin.flush()
            answers += [machine.stdout.readline().strip()
                        for _ in range(count)]
        return answers
    finally:
        timer.cancel()
        machine.kill()
        machine.wait()


def used(line):
    return int(re.search(r"(\d+) of", line)[1])


def main():
    tap = Tap()
    missing = [n for n in NEEDED if not shutil.which(n)]
    if missing:
        tap.skip("firmware", "no " + " ".join(missing))
        return tap.done()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([str(EXAMPLE / "build.sh"), folder],
                              capture_output=True, text=True)
        if not tap.ok(done.returncode == 0 and not done.stderr,
                      "builds without a warning", done.stderr):
            return tap.done()
        elf = Path(folder) / "firmware.elf"
        size = [sys.executable, str(EXAMPLE / "size.py"), str(elf)]
        done = subprocess.run(size, capture_output=True, text=True)
        tap.ok(done.returncode == 0, "fits 16 KB of flash and 4 KB of memory",
               done.stdout + done.stderr)
        tap.note(done.stdout)
        done = subprocess.run(size + ["--flash", "8192"], capture_output=True)
        tap.ok(done.returncode == 1, "a smaller limit is seen to be exceeded")

        again = [("device.greet someone", 1)] * 300
        answers = talk(elf, [(line, 1) for line, _ in TALK] +
                       [("memory", 5)] + again + [("memory", 5)])
        tap.ok(answers[0] == "ready", "starts", answers[:1])
        for (line, want), got in zip(TALK, answers[1:]):
            tap.ok(got == want, line, f"{got}\nnot {want}")
        first = answers[1 + len(TALK):][:5]
        last = answers[-5:]
        tap.ok(used(first[2]) == used(last[2]), "300 calls leave no memory",
               "\n".join(first + last))
        tap.ok(used(last[4]) < 1400, "the stack suffices", last[4])
        for line in last:
            tap.note(line)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
