#!/usr/bin/env python3
"""Builds and runs the unit tests and the examples by one compiler, without a
build system: for systems that the rest of the tests does not run on.

    native.py FOLDER [--run PROGRAM]

CC and CXX choose the compilers, CFLAGS are added for both. A compiler for MSVC
only compiles the C interface: the runtime needs POSIX threads and GNU atomics.
--run names what runs programs for another system, such as wine. Output is TAP.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/tools"))
sys.dont_write_bytecode = True
from tap import Tap  # noqa: E402

WARNINGS = ["-Wall", "-Wextra", "-Werror"]
INTERFACE = [("c11", "examples/kernel/kernels.c"),
             ("c11", "examples/17_modules/calc.c"),
             ("c++17", "examples/kernel/kernels.c")]


class Compiler:
    def __init__(self, folder, runner):
        self.folder, self.runner = folder, runner
        self.words = {language: shlex.split(os.environ.get(name) or default)
                      for language, name, default in
                      (("c", "CC", "cc"), ("c++", "CXX", "c++"))}
        self.flags = shlex.split(os.environ.get("CFLAGS", ""))
        text = self.run([*self.words["c"], "-dM", "-E", "-x", "c", os.devnull])
        self.macros = set(re.findall(r"#define (\w+)", text))

    def run(self, command):
        """Runs a command and returns its output; raises if it fails."""
        done = subprocess.run([str(c) for c in command], text=True,
                              errors="replace", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode:
            raise RuntimeError(f"{command[0]}: exit status {done.returncode}\n"
                               + done.stdout[-3000:])
        return done.stdout

    def compile(self, standard, source, *options):
        language = "c++" if "++" in standard else "c"
        self.run([*self.words[language], "-x", language, f"-std={standard}",
                  *WARNINGS, *self.flags, f"-I{ROOT}", ROOT / source, *options])

    def program(self, standard, source, *arguments):
        name = f"{Path(source).stem}-{standard}.exe"
        if "_WIN32" in self.macros:
            # Deep structures are compared with the usual stack of Linux.
            options = ["-static", "-Wl,--stack,16777216"]
        else:
            options = ["-lpthread"]
        self.compile(standard, source, "-o", self.folder / name, *options)
        return self.run([*self.runner, self.folder / name, *arguments])


def count(text):
    """The number of tests that passed; raises if some are absent."""
    passed = len(re.findall(r"^ok ", text, re.M))
    if not re.search(rf"^1\.\.{passed}\s*$", text, re.M) or not passed:
        raise RuntimeError(text[-3000:])
    return passed


def cases(compiler):
    """(name, what it does) of each case; the latter may return a note."""
    for standard, source in INTERFACE:
        yield (f"{source} as {standard}", lambda std=standard, path=source:
               compiler.compile(std, path, "-fsyntax-only"))
    if "_MSC_VER" in compiler.macros:
        return
    for standard, source in (("c11", "tvmffi_impl_test.c"),
                             ("c++11", "tests/unit/cxx.cpp")):
        yield (f"unit tests as {standard}", lambda std=standard, path=source:
               f"{count(compiler.program(std, path, '--short'))} unit tests "
               f"as {std}")
    for path in sorted((ROOT / "examples").glob("[0-9][0-9]_*.c")):
        source = path.relative_to(ROOT).as_posix()
        yield (source, lambda path=source:
               compiler.program("c11", path) and None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--run", type=shlex.split, default=[])
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    tap = Tap()
    try:
        compiler = Compiler(args.folder, args.run)
    except (OSError, RuntimeError) as error:
        tap.ok(False, "the compiler works", error)
        return tap.done()
    for name, case in cases(compiler):
        problem = note = None
        try:
            note = case()
        except (OSError, RuntimeError) as error:
            problem = error
        tap.ok(not problem, name, problem or "")
        if note:
            tap.note(note)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
