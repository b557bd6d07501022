#!/usr/bin/env python3
"""examples/firmware: it fits 16 KB of flash and 4 KB of memory, and answers on
its serial line under qemu. examples/firmware_rpc, whose clients are tested by
tests/clients/rpc_board.py: it fits 40 KB and 20 KB. Writes TAP; with --write
also the table of sizes in docs/porting.md."""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
EXAMPLE = ROOT / "examples" / "firmware"
DOC = ROOT / "docs" / "porting.md"
BEGIN, END = "<!-- sizes of firmware, made by ./dev test --ports --write -->\n", \
    "<!-- end of sizes -->"
HEAD = ["| program | flash, bytes | RAM, bytes | of it arena and stack |",
        "| --- | --- | --- | --- |"]
sys.path.insert(0, str(ROOT / "tests/tools"))
from tap import Tap  # noqa: E402

NEEDED = ["arm-none-eabi-gcc", "arm-none-eabi-nm", "qemu-system-arm"]
SECONDS = 60  # that the machine may take
# A call, an error, and the memory use before and after the error. The lines are
# of one, five, one and five lines of answers.
FIRST = [("device.add 1 2", 1), ("memory", 5), ("device.light 101", 1),
         ("memory", 5)]
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


def talk(elf, lines, *options):
    """What the firmware writes to a line each, and "ready" before them.
    `options` are more options of qemu."""
    machine = subprocess.Popen(
        ["qemu-system-arm", "-M", "mps2-an385", "-display", "none", "-monitor",
         "none", "-serial", "stdio", *options, "-kernel", str(elf)],
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


def build(tap, name, folder, flash, ram):
    """Builds an example without a warning; returns its file, or None."""
    done = subprocess.run([ROOT / "examples" / name / "build.sh", folder],
                          capture_output=True, text=True)
    if not tap.ok(done.returncode == 0 and not done.stderr,
                  f"{name} builds without a warning", done.stderr):
        return None
    elf = Path(folder) / "firmware.elf"
    size = [sys.executable, str(EXAMPLE / "size.py"), str(elf),
            "--ram", str(ram), "--flash"]
    done = subprocess.run([*size, str(flash)], capture_output=True, text=True)
    tap.ok(done.returncode == 0, f"{name} fits {flash >> 10} KB of flash and "
           f"{ram >> 10} KB of memory", done.stdout + done.stderr)
    tap.note(done.stdout)
    done = subprocess.run([*size, "8192"], capture_output=True)
    tap.ok(done.returncode == 1, "a smaller limit is seen to be exceeded")
    return elf


def row(name, elf):
    """The row of a firmware in the table of sizes."""
    sizes = {}
    for command in (["arm-none-eabi-size", "-A", elf],
                    ["arm-none-eabi-nm", "-S", "-td", elf]):
        for line in subprocess.run(command, check=True, capture_output=True,
                                   text=True).stdout.splitlines():
            words = line.split()
            if words and words[0].startswith("."):
                sizes[words[0]] = int(words[1])
            elif words and words[-1] == "tvmffi_i_arena":
                sizes["arena"] = int(words[1])
    data, stack = sizes[".data"], sizes[".stack"]
    return (f"| [{name}](../examples/{name}) | {sizes['.text'] + data} | "
            f"{data + sizes['.bss'] + stack} | "
            f"{sizes['arena']} and {stack} |")


def check_table(tap, rows, write):
    """Compares the table in the document, or writes it."""
    before, rest = DOC.read_text().split(BEGIN)
    old, after = rest.split(END)
    new = "".join(line + "\n" for line in [*HEAD, *rows])
    if write:
        DOC.write_text(before + BEGIN + new + END + after)
    elif old != new:
        tap.note("docs/porting.md has other sizes of firmware: "
                 "./dev test --ports --write")


def check_talk(tap, elf):
    again = [("device.greet someone", 1)] * 300
    answers = talk(elf, FIRST + [(line, 1) for line, _ in TALK] +
                   [("memory", 5)] + again + [("memory", 5)])
    tap.ok(answers[0] == "ready", "starts", answers[:1])
    start, failed, answers = answers[2:7], answers[8:13], answers[13:]
    tap.ok(used(start[2]) == used(failed[2]), "an error leaves no memory",
           "\n".join(start + failed))
    for (line, want), got in zip(TALK, answers):
        tap.ok(got == want, line, f"{got}\nnot {want}")
    first = answers[len(TALK):][:5]
    last = answers[-5:]
    tap.ok(used(first[2]) == used(last[2]), "300 calls leave no memory",
           "\n".join(first + last))
    tap.ok(used(last[4]) < 1400, "the stack suffices", last[4])
    for line in last:
        tap.note(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    tap = Tap()
    missing = [n for n in NEEDED if not shutil.which(n)]
    if missing:
        tap.skip("firmware", "no " + " ".join(missing))
        return tap.done()
    with tempfile.TemporaryDirectory() as folder:
        elf = build(tap, "firmware", folder + "/plain", 16 << 10, 4 << 10)
        rpc = build(tap, "firmware_rpc", folder + "/rpc", 40 << 10, 20 << 10)
        if not elf or not rpc:
            return tap.done()
        check_table(tap, [row("firmware", elf), row("firmware_rpc", rpc)],
                    write)
        check_talk(tap, elf)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
