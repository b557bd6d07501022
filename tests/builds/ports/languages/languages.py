#!/usr/bin/env python3
"""Programs in other languages that link the runtime without libc: C++20
without exceptions and RTTI on a Cortex-M3, Rust without std on x86-64; both
under qemu. Writes TAP."""

import platform
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
BOARD = ROOT / "examples" / "firmware"
sys.path.insert(0, str(ROOT / "tests/tools"))
from tap import Tap  # noqa: E402

SECONDS = 60  # that a program may take
HEADER = ['-DTVMFFI_PORT="port.h"', "-I", HERE, "-I", BOARD, "-I", ROOT]
BARE = ["-ffreestanding", "-Os", "-ffunction-sections", "-fdata-sections"]
WARN = ["-Wall", "-Wextra", "-Wpedantic", "-Wno-format", "-Werror"]
ARM = ["-mcpu=cortex-m3", "-mthumb"]
CXX = ["-std=c++20", "-fno-exceptions", "-fno-rtti", "-fno-unwind-tables",
       "-fno-asynchronous-unwind-tables"]
C_CALLS = """40 + 2 = 42
TypeError: Mismatched number of arguments when calling: `test.sum(0: int, \
1: int) -> int`. Expected 2 but got 1 arguments
ValueError: -1 is negative
the counter is 8
"""
RUST_CALLS = """40 + 2 = 42
TypeError: sum takes two ints
"""


class Failed(Exception):
    pass


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True,
                          stdin=subprocess.DEVNULL, text=True,
                          timeout=10 * SECONDS)
    if done.returncode or done.stderr:
        raise Failed(f"{command[0]} ended with {done.returncode}\n"
                     + done.stderr + done.stdout)
    return done.stdout


def on_board(elf):
    """Returns what the program writes to the serial line, up to the "stopped"
    of the board after main."""
    machine = subprocess.Popen(
        ["qemu-system-arm", "-M", "mps2-an385", "-display", "none", "-monitor",
         "none", "-serial", "stdio", "-kernel", str(elf)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    timer = threading.Timer(SECONDS, machine.kill)
    timer.start()
    text = ""
    for line in machine.stdout:
        if line == "stopped\n":
            break
        text += line
    timer.cancel()
    machine.kill()
    machine.wait()
    return text


def cxx20(folder, *compiler):
    run("arm-none-eabi-gcc", *ARM, *BARE, *WARN, *HEADER, "-c",
        HERE / "runtime.c", "-o", folder / "runtime.o")
    run(*compiler, *ARM, *CXX, *BARE, *WARN, *HEADER, "-c",
        HERE / "cxx20.cpp", "-o", folder / "main.o")
    run("arm-none-eabi-gcc", *ARM, *BARE, "-I", BOARD, BOARD / "board.c",
        folder / "main.o", folder / "runtime.o", "-nostdlib",
        "-Wl,--gc-sections,-z,noexecstack,--defsym=FLASH_SIZE=32K",
        "-Wl,--defsym=RAM_SIZE=8K,--defsym=STACK_SIZE=2K", "-T",
        BOARD / "link.ld", "-lgcc", "-o", folder / "main.elf")
    return on_board(folder / "main.elf")


def no_std(folder):
    run("gcc", *BARE, *WARN, *HEADER, "-fno-stack-protector", "-fno-pie", "-c",
        HERE / "runtime.c", "-o", folder / "runtime.o")
    run("rustc", "--edition", "2021", "--crate-type", "staticlib", "-D",
        "warnings", "-C", "panic=abort", "-C", "opt-level=s", "-C",
        "relocation-model=static", HERE / "no_std.rs", "-o",
        folder / "main.a")
    run("gcc", "-nostdlib", "-static", "-no-pie", "-Wl,--gc-sections",
        folder / "main.a", folder / "runtime.o", "-o", folder / "main")
    return run("qemu-x86_64-static", folder / "main")


def main():
    tap = Tap()
    linux = platform.system() == "Linux" and platform.machine() == "x86_64"
    board = ["arm-none-eabi-gcc", "qemu-system-arm"]
    cases = [
        ("C++20, g++", [*board, "arm-none-eabi-g++"], 2 * C_CALLS, cxx20,
         "arm-none-eabi-g++"),
        ("C++20, clang++", [*board, "clang++-19"], 2 * C_CALLS, cxx20,
         "clang++-19", "--target=thumbv7m-none-eabi", "-fshort-enums"),
        ("Rust without std", ["rustc", "qemu-x86_64-static"], 2 * RUST_CALLS,
         no_std)]
    for title, needed, calls, program, *arguments in cases:
        missing = [n for n in needed if not shutil.which(n)]
        if program == no_std and not linux:
            missing.append("Linux on x86-64")
        if missing:
            tap.skip(title, "no " + ", ".join(missing))
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                got = program(Path(folder), *arguments)
                tap.ok(got == calls + "no leak\n", title, got)
            except (Failed, subprocess.TimeoutExpired) as failed:
                tap.ok(False, title, failed)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
