#!/usr/bin/env python3
"""Runs programs that use upstream's C++ headers, on two libraries.

    cxx.py --lib OURS --build FOLDER [--cxx COMPILER]

Each .cpp file of tests/cxx is a program that prints TAP. It is compiled once
and linked with each library; both runs must print the same, to the last note.
Output is TAP: one line for each point of the programs. The Python that runs
this has the wheel.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
from tap import Tap  # noqa: E402

POINT = re.compile(r"(not )?ok \d+ - (.*)")
# Upstream puts the C++ expression of a failed check in front of its message.
CHECK_FAILED = re.compile(r"Check failed: \(.*?\) is false:? ?")


class Programs:
    def __init__(self, args, include):
        self.args = args
        self.flags = ["-std=c++17", "-O1", "-isystem", str(include)]
        self.newest = max(p.stat().st_mtime for p in
                          [*TESTS.glob("cxx/*pp"), Path(__file__)])

    def run(self, *command, **options):
        return subprocess.run([str(c) for c in command], text=True,
                              stdin=subprocess.DEVNULL, errors="replace",
                              capture_output=True, timeout=600, **options)

    def compile(self, source):
        """Makes the object file; returns what is wrong, or None."""
        target = self.args.build / (source.stem + ".o")
        if target.exists() and target.stat().st_mtime > self.newest:
            return None
        done = self.run(*self.args.cxx.split(), *self.flags, "-c", source,
                        "-o", target)
        if done.returncode:
            target.unlink(missing_ok=True)
            return done.stderr[-3000:]
        return None

    def lines(self, source, library, name):
        """What the program prints on a library, line by line."""
        program = self.args.build / f"{source.stem}-{name}"
        # The linker writes the SONAME into the program, not the path.
        done = self.run(*self.args.cxx.split(),
                        self.args.build / (source.stem + ".o"), library,
                        "-o", program, "-ldl", "-lpthread")
        if done.returncode:
            return [f"linker: {done.stderr[-2000:]}"]
        paths = [str(library.parent), os.environ.get("LD_LIBRARY_PATH")]
        done = self.run(program, cwd=self.args.build, env={
            **os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, paths))})
        lines = [CHECK_FAILED.sub("", line)
                 for line in done.stdout.splitlines()]
        # What goes to stderr, stacks among it, may be the libraries' own.
        return [*lines, f"exit status {done.returncode}"]


def points(lines):
    """(passed, name, all lines up to the next point) of each point."""
    result = []
    for line in lines:
        point = POINT.match(line)
        if point:
            name = point.group(2).replace("#", "")
            result.append((not point.group(1), name, [line]))
        elif result:
            result[-1][2].append(line)
    return result


def compare(tap, stem, stock, ours):
    wanted, got = points(stock), points(ours)
    tap.ok(wanted and all(p[0] for p in wanted)
           and stock[-1] == "exit status 0",
           f"{stem} passes on upstream's library", "\n".join(
               [str(p[2]) for p in wanted if not p[0]] + stock[-5:]))
    for i, (_, name, lines) in enumerate(wanted):
        there = i < len(got)
        tap.ok(there and got[i][0] and got[i][2] == lines, f"{stem}: {name}",
               "\n".join(["upstream:", *lines, "ours:",
                          *(got[i][2] if there else ours[-5:])]))
    tap.ok(len(got) == len(wanted), f"{stem} has as many results on both",
           "\n".join(ours[-5:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    import tvm_ffi.libinfo as info
    args.build, args.lib = args.build.resolve(), args.lib.resolve()
    args.build.mkdir(parents=True, exist_ok=True)
    tap = Tap()
    programs = Programs(args, Path(info.find_include_path()))
    sources = sorted(TESTS.glob("cxx/*.cpp"))
    with ThreadPoolExecutor(args.jobs) as pool:
        problems = list(pool.map(programs.compile, sources))
    for source, problem in zip(sources, problems):
        tap.ok(not problem, f"{source.stem} compiles", problem)
        if not problem:
            compare(tap, source.stem, *(
                programs.lines(source, library, name) for library, name in
                ((Path(info.find_libtvm_ffi()), "stock"), (args.lib, "ours"))))
    tap.note(f"C++ headers: {tap.count - tap.failed} of {tap.count} results")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
