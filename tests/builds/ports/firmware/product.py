#!/usr/bin/env python3
"""A firmware of several files, in four steps: typed calls, two tasks, containers
with JSON, and an RPC server. Each is built for a Cortex-M3, runs under qemu, and
uses no more stack than stack.py computes. With --write, writes the table of
docs/porting.md. Writes TAP."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[4]
HERE = Path(__file__).resolve().parent
DOC = ROOT / "docs" / "porting.md"
BOARD, SHELL = ROOT / "examples/firmware", ROOT / "examples/device_shell"
STACK = ROOT / "tests/builds/ports/bounds/stack.py"
sys.path[:0] = [str(ROOT / "tests/tools"), str(ROOT / "tests/clients"),
                str(BOARD), str(HERE)]
import rpc_wire as wire  # noqa: E402
from firmware import talk  # noqa: E402
from size import sections  # noqa: E402
from tap import Tap  # noqa: E402

BEGIN, END = "<!-- made by product.py --write -->", "<!-- end of product -->"
HEAD = ["| step | flash | static RAM | arena used | main's stack: used "
        "| computed | the task's: used | computed |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |"]
NEEDED = ["arm-none-eabi-gcc", "arm-none-eabi-nm", "arm-none-eabi-objdump",
          "qemu-system-arm"]
FLAGS = """-mcpu=cortex-m3 -mthumb -Os -std=c11 -ffreestanding -Wall -Wextra
  -Werror -ffunction-sections -fdata-sections -fno-unwind-tables
  -fno-asynchronous-unwind-tables -fcallgraph-info=su""".split()
# The task's stack, main's stack, and a limit of all flash and RAM.
TASK, MAIN, FLASH, RAM = 6144, 6144, 64 << 10, 32 << 10
ARENA = {1: 2048, 2: 2048, 3: 8192, 4: 12288}
WITHIN = 0.05  # the table's figures, of those that are measured
STEPS = {1: "typed calls, errors", 2: "and two tasks",
         3: "and containers, JSON", 4: "and RPC"}
# What main and the task call by pointer, each called by the one before.
CALLED = {
    1: (["motor_set"], []),
    2: ([], ["motor_set"]),
    3: ([], ["motor_set", "config_speed,json_Parse", "config_speed,"
             "MapGetItemOrMissing", "config_json,json_Stringify",
             "config_json,ListAppend", "config_json,Map"]),
    4: (["motor_set", "config_json,json_Stringify", "config_json,Map"],
        ["motor_set", "config_speed,json_Parse", "config_speed,"
         "MapGetItemOrMissing", "config_json,json_Stringify",
         "config_json,ListAppend", "config_json,Map"])}


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True,
                          text=True)
    if done.returncode:
        raise RuntimeError(" ".join(map(str, command)) + "\n" + done.stderr)
    return done.stdout


def build(step, folder):
    """Returns the program and the .ci files of its files."""
    sources = [HERE / "product/product.c", HERE / "product/motor.c",
               BOARD / "board.c"]
    sources += [SHELL / "tasks.c"] * (step >= 2)
    sources += [HERE / "product/config.c"] * (step >= 3)
    objects = []
    for source in sources:
        objects.append(folder / (source.stem + ".o"))
        run("arm-none-eabi-gcc", *FLAGS, f"-DSTEP={step}",
            f"-DFOREGROUND_STACK={TASK}",
            f"-DTVMFFI_ARENA_SIZE={ARENA[step]}", '-DTVMFFI_PORT="port.h"',
            f"-I{HERE / 'product'}", f"-I{SHELL}", f"-I{BOARD}", f"-I{ROOT}",
            f"-fmacro-prefix-map={ROOT}/=", "-c", source, "-o", objects[-1])
    elf = folder / "product.elf"
    run("arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", *objects,
        "-nostdlib", "-Wl,--gc-sections", f"-Wl,--defsym=FLASH_SIZE={FLASH}",
        f"-Wl,--defsym=RAM_SIZE={RAM},--defsym=STACK_SIZE={MAIN}",
        "-Wl,-T," + str(BOARD / "link.ld"), "-lgcc", "-o", elf)
    return elf, [o.with_suffix(".ci") for o in objects]


def computed(elf, infos, function, called):
    """The worst-case stack of a function with what it calls by pointer."""
    printed = run(sys.executable, STACK, elf, *infos, *(
        f"--of={','.join([function, *filter(None, [c])])}"
        for c in called or [""]))
    return max(map(int, re.findall(r": (\d+) bytes", printed)))


def ask(elf):
    """What the product of step 4 tells a client, which calls all functions."""
    board = subprocess.Popen(
        ["qemu-system-arm", "-M", "mps2-an385", "-display", "none", "-monitor",
         "none", "-serial", "pty", "-kernel", elf], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True)
    bridge = None
    try:
        line = re.search(r"redirected to (\S+)", board.stdout.readline())[1]
        bridge = subprocess.Popen(
            [sys.executable, ROOT / "rpc/serial.py", "--port", "0", "--wait",
             "60", "--checksum", "always", line], stderr=subprocess.PIPE,
            text=True)
        port = int(bridge.stderr.readline().rsplit(":", 1)[1])
        return use(wire.Wire(port))
    finally:
        for process in filter(None, (bridge, board)):
            process.terminate()
            process.wait()


def use(client):
    tell, speed, text = (client.handle(name) for name in (
        "product.tell", "motor.set", "config.json"))

    def figure(which):
        code, body = client.call(tell, wire.integer(which))
        assert code == wire.RETURN, body
        return int.from_bytes(body[-8:], "little", signed=True)

    begun = figure(0)
    while figure(0) < begun + 50:  # the task works all the time
        code, body = client.call(text)
        assert code == wire.RETURN and b'"limits":[0,100]' in body, body
        code, body = client.call(speed, wire.integer(101))
        assert code == wire.EXCEPTION and b"is no speed" in body, body
    return [figure(which) for which in range(5)]


def check(tap, step, folder):
    """Returns the row of a step in the table."""
    elf, infos = build(step, folder)
    figures = ask(elf) if step == 4 else \
        [int(word) for word in talk(elf, [])[0].split()]
    rounds, wrong, arena, main, task = figures
    tap.ok(rounds >= 50 and wrong == 0, f"{STEPS[step]}: runs", figures)
    of_main = computed(elf, infos, "board_reset", CALLED[step][0])
    cells = [f"{main} | {of_main}"]
    if step >= 2:
        of_task = computed(elf, infos, "control", CALLED[step][1])
        cells.append(f"{task} | {of_task}")
    else:
        of_task = 0
        cells.append(" | ")
    tap.ok(main <= of_main <= MAIN and task <= of_task <= TASK,
           f"{STEPS[step]}: the stacks suffice", cells)
    flash, ram = sections("arm-none-eabi-", elf)
    ram -= ARENA[step] + MAIN + (TASK if step >= 2 else 0)
    return f"| {STEPS[step]} | {flash} | {ram} | {arena} | " \
        + " | ".join(cells) + " |"


def check_refusals(tap, folder):
    """What stack.py cannot compute."""
    elf, infos = build(3, folder)
    for files, of, text in ((infos, "no_such", "no function no_such"),
                            (infos, "board_write,motor_set",
                             "board_write calls nothing by pointer"),
                            (infos[1:], "control", "no .ci file has ")):
        done = subprocess.run([sys.executable, STACK, elf, *files,
                               f"--of={of}"], capture_output=True, text=True)
        tap.ok(done.returncode == 1 and text in done.stderr,
               f"stack.py: {text}", done.stderr)


def check_table(tap, rows, write):
    before, rest = DOC.read_text().split(BEGIN + "\n")
    old, after = rest.split(END)
    new = "".join(line + "\n" for line in [*HEAD, *rows])
    if write:
        DOC.write_text(before + BEGIN + "\n" + new + END + after)
        return
    # What is used depends on when the task runs: flash, static RAM and the
    # computed stacks do not.
    figures = [[int(row.split("|")[i].strip() or 0) for row in
                text.splitlines()[2:] for i in (2, 3, 6, 8)]
               for text in (old, new)]
    tap.ok(len(figures[0]) == len(figures[1]) and all(
        abs(a - b) <= WITHIN * b for a, b in zip(*figures)),
           "docs/porting.md has these figures", new)


def main():
    tap = Tap()
    missing = [n for n in NEEDED if not shutil.which(n)]
    if missing:
        tap.skip("a product", "no " + " ".join(missing))
        return tap.done()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for step in STEPS:
            folder = Path(name) / str(step)
            folder.mkdir()
            rows.append(check(tap, step, folder))
        check_refusals(tap, Path(name))
    for row in rows:
        tap.note(row)
    check_table(tap, rows, "--write" in sys.argv)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
