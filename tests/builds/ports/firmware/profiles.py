#!/usr/bin/env python3
"""The three profiles of docs/porting.md: each is built for a Cortex-M0 and a
Cortex-M3, fits its limits, and runs under qemu. With --write, writes the table
of the document. Writes TAP."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[4]
HERE = Path(__file__).resolve().parent
EXAMPLE = ROOT / "examples" / "firmware"
DOC = ROOT / "docs" / "porting.md"
sys.path[:0] = [str(ROOT / "tests/tools"), str(EXAMPLE)]
from size import sections  # noqa: E402
from tap import Tap  # noqa: E402

BEGIN, END = "<!-- made by profiles.py --write -->", "<!-- end -->"
NEEDED = ["arm-none-eabi-gcc", "arm-none-eabi-size", "qemu-system-arm"]
SECONDS = 60  # that the machine may take
FILES = [(share, further) for share in (0, 1) for further in (0, 1, 2, 3)]
FILES_ARENA, FILES_STACK = 8192, 4096
WITHIN = 0.05  # the table's figures, of those that are measured
FLAGS = """-mthumb -Os -std=c11 -ffreestanding -Wall -Wextra -Werror
  -ffunction-sections -fdata-sections -fno-unwind-tables
  -fno-asynchronous-unwind-tables -nostdlib -Wl,--gc-sections""".split()
DATA_BUILTINS = ["Array", "List", "ListAppend", "Map", "MapGetItemOrMissing",
                 "GetInvalidObject", "json_Parse", "json_Stringify"]


class Profile:
    """What a firmware is for, its options, and its limits in bytes. `ram` is
    all memory, with arena and stack; `static` is without these. `flash_m3` is
    the limit of flash on a Cortex-M3, where it is smaller."""

    def __init__(self, name, title, options, *, arena, stack, flash, ram=None,
                 static=None, flash_m3=None, three_files=0, further=0,
                 containers=0):
        self.name, self.title, self.options = name, title, options
        self.arena, self.stack = arena, stack
        self.flash, self.ram, self.static = flash, ram, static
        self.flash_m3 = flash_m3 or flash
        # Flash of three files, of a further file with two functions, and of
        # one whose functions use containers.
        self.three_files, self.further = three_files, further
        self.containers = containers
        # Without options, every function of the ABI is kept.
        self.keeps = (["-DTVMFFI_STATIC=1"] if options
                      else ["-Wl,--gc-keep-exported"])


PROFILES = [
    Profile("CALLS", "typed calls, errors, registry",
            ["TVMFFI_NO_BUILTINS", "TVMFFI_NO_TYPES", "TVMFFI_NO_FLOAT"],
            arena=608, stack=1152, flash=13 << 10, ram=2 << 10,
            three_files=16800, further=480),
    Profile("DATA", "and arrays, lists, maps, JSON",
            ["TVMFFI_NO_REFLECTION", "TVMFFI_BUILTINS(F)"],
            arena=4096, stack=2048, flash=64 << 10, ram=8 << 10,
            three_files=44 << 10, further=500, containers=1300),
    Profile("ALL", "the whole runtime", [], arena=16384, stack=8192,
            flash=150 << 10, flash_m3=130_000, static=10 << 10),
]


def define(option):
    if option == "TVMFFI_BUILTINS(F)":
        return f"-D{option}=" + " ".join(f"F({n})" for n in DATA_BUILTINS)
    return f"-D{option}=1"


def sizes(profile):
    """The sizes of this profile for the example's link script."""
    return (f"-Wl,--defsym=FLASH_SIZE={profile.flash}"
            f",--defsym=RAM_SIZE={profile.ram or 4 << 20}"
            f",--defsym=STACK_SIZE={profile.stack}")


def build(profile, cpu, folder):
    elf = Path(folder) / f"{profile.name}-{cpu}.elf"
    command = ["arm-none-eabi-gcc", f"-mcpu={cpu}", *FLAGS,
               "-DTVMFFI_FREESTANDING=1", *profile.keeps,
               "-DTVMFFI_MESSAGE_SIZE=128",
               f"-DTVMFFI_ARENA_SIZE={profile.arena}",
               f"-DPROFILE={profile.name}",
               *map(define, profile.options), "-I", ROOT, "-I", EXAMPLE,
               HERE / "profile.c", EXAMPLE / "board.c",
               sizes(profile), f"-Wl,-T,{EXAMPLE / 'link.ld'}", "-lgcc",
               "-o", elf]
    done = subprocess.run(command, capture_output=True, text=True)
    return elf, done.stderr


def build_files(profile, share, further, containers, folder):
    """Builds a profile with further files, whose paths are short as in a
    project of its own. Returns (file, compiler's messages)."""
    name = (Path(folder) /
            f"files-{profile.name}-{share}-{further}-{containers}")
    common = ["arm-none-eabi-gcc", "-mcpu=cortex-m3", *FLAGS,
              f"-fmacro-prefix-map={HERE}/=",
              "-DTVMFFI_FREESTANDING=1", "-DTVMFFI_MESSAGE_SIZE=128",
              *map(define, profile.options), "-I", ROOT, "-I", EXAMPLE,
              f"-DTVMFFI_SHARE_INTERFACE={share}"]
    objects, errors = [], ""
    for n in range(1, further + 1):
        objects.append(f"{name}-{n}.o")
        errors += subprocess.run(
            [*common, f"-DN={n}", f"-DCONTAINERS={containers}", "-c",
             HERE / "further.c", "-o", objects[-1]],
            capture_output=True, text=True).stderr
    errors += subprocess.run(
        [*common, f"-DPROFILE={profile.name}",
         f"-DTVMFFI_ARENA_SIZE={FILES_ARENA}", f"-DFURTHER={further}",
         HERE / "profile.c", EXAMPLE / "board.c", *objects,
         "-Wl,--defsym=FLASH_SIZE=65536,--defsym=RAM_SIZE=65536"
         f",--defsym=STACK_SIZE={FILES_STACK},-T,{EXAMPLE / 'link.ld'}",
         "-lgcc", "-o", f"{name}.elf"],
        capture_output=True, text=True).stderr
    return f"{name}.elf", errors


def check_files(tap, folder):
    """The first two profiles with further files of two functions each, which
    share the interface or not. Returns the rows of the table."""
    rows = []
    for profile, containers in ((PROFILES[0], 0), (PROFILES[1], 0),
                                (PROFILES[1], 1)):
        used = {}
        title = profile.title + ", also in further files" * containers
        at_most = profile.containers if containers else profile.further
        for share, further in FILES:
            what = (f"{profile.name}, {further} further files, shared {share}"
                    f", containers {containers}")
            elf, errors = build_files(profile, share, further, containers,
                                      folder)
            if not tap.ok(not errors, f"{what}: build", errors):
                return rows
            line = first_line(elf)
            tap.ok(line.startswith("ok "), f"{what}: run", line)
            flash, ram = sections("arm-none-eabi-", elf)
            used[share, further] = flash, ram - FILES_ARENA - FILES_STACK
        # The mean of two files: the linker pads every other one by 8 bytes.
        each = [[-((used[share, 1][i] - used[share, 3][i]) // 2)
                 for i in (0, 1)] for share in (0, 1)]
        tap.note(f"{profile.name}: flash and static RAM {used}, a further "
                 f"file {each}")
        tap.ok(used[1, 2][0] <= profile.three_files,
               f"{profile.name}: three files fit {profile.three_files} bytes",
               used)
        tap.ok(each[1][0] <= at_most, f"{profile.name}: a further file costs "
               f"{at_most} bytes at most", each)
        tap.ok(each[0][0] > at_most and
               used[0, 2][0] > profile.three_files,
               f"{profile.name}: without sharing both limits are exceeded",
               used)
        for share, name in enumerate(("each its own", "shared")):
            figures = [used[share, n][i] for n in (0, 1, 2) for i in (0, 1)]
            rows.append(f"| {title} | {name} | " + " | ".join(
                map(str, [*figures, *each[share]])) + " |")
    return rows


def first_line(elf, *options):
    """What the firmware writes first. `options` are more options of qemu."""
    machine = subprocess.Popen(
        ["qemu-system-arm", "-M", "mps2-an385", "-display", "none", "-monitor",
         "none", "-serial", "stdio", *options, "-kernel", str(elf)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    timer = threading.Timer(SECONDS, machine.kill)
    timer.start()
    try:
        return machine.stdout.readline().strip()
    finally:
        timer.cancel()
        machine.kill()
        machine.wait()


def check(tap, profile, cpu, folder):
    """Returns (flash, static RAM, arena and stack at most), or None."""
    name = f"{profile.name}, {cpu}"
    elf, errors = build(profile, cpu, folder)
    if not tap.ok(not errors and elf.exists(), f"{name}: builds and fits",
                  errors):
        return None
    flash, ram = sections("arm-none-eabi-", elf)
    static = ram - profile.stack - profile.arena
    if profile.static:
        tap.ok(static <= profile.static,
               f"{name}: at most {profile.static} bytes of static RAM", static)
    if cpu == "cortex-m3":
        tap.ok(flash <= profile.flash_m3,
               f"{name}: at most {profile.flash_m3} bytes of flash", flash)
    line = first_line(elf)
    said = re.fullmatch(r"ok arena (\d+) stack (\d+)", line)
    if not tap.ok(said, f"{name}: runs", line):
        return None
    tap.note(f"{name}: flash {flash}, static RAM {static}, {line}")
    return flash, static, int(said[1]), int(said[2])


def row(profile, figures):
    options = ", ".join(f"`{o}`" for o in profile.options) or "none"
    (m0, static, _, _), (m3, _, arena, stack) = figures
    return (f"| {profile.title} | {options} | {m0} | {m3} | {static} | "
            f"{arena} | {stack} |")


HEAD = ["| firmware | options | flash, M0 | flash, M3 | static RAM | "
        "arena used | stack used |",
        "| --- | --- | --- | --- | --- | --- | --- |"]


FILES_BEGIN = "<!-- files, made by profiles.py --write -->"
FILES_HEAD = ["| firmware | functions of the interface | 1 file: flash | "
              "static RAM | 2 files: flash | static RAM | 3 files: flash | "
              "static RAM | a further file: flash | static RAM |",
              "| --- " * 10 + "|"]


def old_rows(begin):
    text = DOC.read_text().split(begin)[1].split(END)[0]
    return [line for line in text.splitlines() if line.startswith("| ")][2:]


def check_table(tap, begin, head, rows):
    """Compares a table of the document. With --write, writes it first."""
    if "--write" in sys.argv[1:]:
        before, rest = DOC.read_text().split(begin)
        DOC.write_text("\n".join([before + begin, *head, *rows,
                                  END + rest.split(END, 1)[1]]))
    old = old_rows(begin)
    tap.ok(len(old) == len(rows) and all(map(is_close, old, rows)),
           "docs/porting.md has these figures; profiles.py --write writes them",
           "\n".join(rows))


def is_close(old, new):
    """True if two rows have the same words and nearly the same numbers."""
    pairs = list(zip(old.split(" | "), new.split(" | ")))
    return len(old.split(" | ")) == len(new.split(" | ")) and all(
        abs(int(a.strip(" |")) - int(b.strip(" |"))) <=
        WITHIN * int(b.strip(" |")) if b.strip(" |").isdigit() and
        a.strip(" |").isdigit() else a == b for a, b in pairs)


def main():
    tap = Tap()
    missing = [n for n in NEEDED if not shutil.which(n)]
    if missing:
        what = "no " + " ".join(missing)
        if os.environ.get("CI"):
            tap.ok(False, "profiles", what)
        else:
            tap.skip("profiles", what)
        return tap.done()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for profile in PROFILES:
            figures = [check(tap, profile, cpu, folder)
                       for cpu in ("cortex-m0", "cortex-m3")]
            if all(figures):
                rows.append(row(profile, figures))
        files = check_files(tap, folder)
        # A limit is seen to be exceeded.
        tight = Profile("CALLS", "", PROFILES[0].options, arena=608, stack=1024,
                        flash=8 << 10, ram=2 << 10)
        _, errors = build(tight, "cortex-m0", folder)
        tap.ok("overflowed" in errors, "a smaller limit is exceeded", errors)
    check_table(tap, BEGIN, HEAD, rows)
    check_table(tap, FILES_BEGIN, FILES_HEAD, files)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
