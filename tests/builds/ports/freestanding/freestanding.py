#!/usr/bin/env python3
"""The freestanding profile: nothing of libc is asked for, on any machine that a
compiler here builds for; the unit tests pass with the hooks in the place of
threads and atomics; the arena holds what it promises. Writes TAP."""

import argparse
import concurrent.futures
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
sys.path.insert(0, str(ROOT / "tests/tools"))
import both  # noqa: E402
from tap import Tap  # noqa: E402

WARN = "-Wall -Wextra -Wshadow -Werror -Wno-format".split()
BARE = "-ffreestanding -nostdlib -O1".split()
FULL = ["-DTVMFFI_FREESTANDING=1", "-DTVMFFI_ARENA_SIZE=65536"]
NO_FLOAT = FULL + ["-DTVMFFI_NO_FLOAT=1"]
SMALL = NO_FLOAT + ["-DTVMFFI_NO_CONTAINERS=1"]
MASKED = ['-DTVMFFI_PORT="masked.h"', "-I", HERE]
BUILDS = [
    ("wasm32", "clang-19 --target=wasm32-unknown-unknown", FULL),
    ("ARMv7-M, no float", "arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb",
     NO_FLOAT),
    ("ARMv6-M, small", "arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb", SMALL),
    ("ARMv6-M, masked interrupts", "arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb",
     MASKED),
    ("rv32", "riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32", FULL),
    ("x86-64", "gcc -fno-stack-protector", FULL),
    ("i386, masked interrupts", "gcc -m32 -fno-stack-protector", MASKED),
]
# What compilers bring themselves: integer and software floating point.
COMPILER = re.compile(
    r"__(aeabi_(?!memc|mems)\w+|gnu_thumb1_case_\w+|multi3|(u?div|u?mod|mul|"
    r"ashl|ashr|lshr|clz|ctz|u?divmod)[dst]i[34]?2?|(add|sub|mul|div|neg|float"
    r"\w*|fix\w*|extend\w*|trunc\w*|eq|ne|lt|le|gt|ge|unord|cmp)[sdt]f\w*|"
    r"float\w+|stack_pointer|indirect_function_table)$|_GLOBAL_OFFSET_TABLE_$|"
    r"__x86\.\w+$|port_\w+$")
FLOAT = re.compile(r"__(aeabi_\w*[fd](add|sub|mul|div|2\w+|cmp\w+)|aeabi_\w+2[fd]|"
                   r"\w+[sd]f[0-9]?)$")


class Failed(Exception):
    pass


def run(*command):
    """What a program prints; a failure tells how it ended, what it printed but
    for the tests that passed, and the last of these."""
    done = both.run(command, seconds=900)
    if done.status != 0:
        passed = re.findall(r"^ok .*\n", done.out, re.M)
        others = re.sub(r"^ok .*\n", "", done.out, flags=re.M)
        raise Failed(" ".join(map(str, command)) + f"\n{done.how()}\n" +
                     done.err[-2000:] + others[-2000:] +
                     "".join("last passed: " + line for line in passed[-1:]))
    return done.out


def undefined(folder, machine, flags):
    """The symbols that the whole implementation leaves to others."""
    source, output = folder / "all.c", folder / "all.o"
    source.write_text('#define TVMFFI_IMPLEMENTATION\n#include "tvmffi.h"\n')
    run(*machine.split(), *BARE, *WARN, *flags, "-I", ROOT, "-c", source, "-o",
        output)
    nm = machine.split()[0].replace("gcc", "nm").replace("clang-", "llvm-nm-")
    nm = shutil.which(nm) or "nm"
    return [line.split()[-1] for line in run(nm, "-u", output).splitlines()]


def check_build(folder, machine, flags):
    no_float = "-DTVMFFI_NO_FLOAT=1" in flags
    foreign = [n for n in undefined(folder, machine, flags)
               if not COMPILER.match(n) or no_float and FLOAT.match(n)]
    if foreign:
        raise Failed("asked for: " + " ".join(foreign))


def build_and_run(folder, source, *flags, options=()):
    program = folder / "program"
    run("gcc", "-std=gnu11", "-O0", *flags, "-I", ROOT, source, "-o", program,
        "-lpthread")
    return run(program, *options)


def check_unit(folder, *flags):
    out = build_and_run(folder, ROOT / "tvmffi_impl_test.c",
                        '-DTVMFFI_PORT="hooks.h"', "-I", HERE, *flags,
                        options=["--short"])
    passed = len(re.findall(r"^ok ", out, re.M))
    if passed < 250:
        raise Failed(f"{passed} tests only")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true",
                        help="without the unit tests")
    args = parser.parse_args()
    tap = Tap()
    checks = [("the arena", build_and_run, HERE / "arena.c")]
    if not args.quick:
        checks += [("unit tests: threads and CAS by hooks", check_unit),
                   ("unit tests: masked interrupts", check_unit,
                    "-DHOOKS_MASK=1")]
    for name, machine, flags in BUILDS:
        title = f"{name}: nothing of libc"
        if shutil.which(machine.split()[0]):
            checks.append((title, check_build, machine, flags))
        else:
            tap.skip(title, "no " + machine.split()[0])

    def problem(check):
        with tempfile.TemporaryDirectory() as folder:
            try:
                check[1](Path(folder), *check[2:])
            except Failed as failed:
                return str(failed)
        return None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for check, failed in zip(checks, pool.map(problem, checks)):
            tap.ok(not failed, check[0], failed)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
