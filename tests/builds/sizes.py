#!/usr/bin/env python3
"""Measures code size, compile time, load time and memory, beside upstream's.

Times are medians of runs that take turns, so that a slow moment of the
machine falls on both sides. With --check the limits are tested (TAP).
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/tools"))
sys.dont_write_bytecode = True
from tap import Tap  # noqa: E402

CORE = "-DTVMFFI_NO_CONTAINERS=1"  # without what kernels do not need
TEXT_LIMIT = 64 * 1024  # bytes of the core's .text at -Os
LIBRARY_TEXT_LIMIT = 320 * 1024  # of the library, at -O2
LOAD_LIMIT = 0.2  # milliseconds more than an empty library takes
# Times of compiling, as multiples of upstream's. Both have been measured as 2.1
# at most; the rest is room for other processes.
# Of c_api.h: the ABI alone. The compiler reads past the rest of the one header,
# which is most of what is over 1.
DECLARATIONS_LIMIT = 2.5
IMPLEMENTATION_LIMIT = 2.5  # of the core; of a C++ file that includes upstream's header

OURS = '#include "tvmffi.h"\n'
IMPLEMENTATION = "#define TVMFFI_IMPLEMENTATION\n" + OURS
# The same two headers that the declarations of ours stand for.
C_API = "#include <tvm/ffi/c_api.h>\n#include <tvm/ffi/extra/c_env_api.h>\n"
CXX_API = "#include <tvm/ffi/tvm_ffi.h>\n"
# Loads a library in processes of their own; prints milliseconds and the
# kilobytes of memory that came with it, a line for each.
LOAD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
static long resident(void) {
  long all = 0, pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%ld %ld", &all, &pages) != 2) exit(1);
  fclose(f);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}
int main(int argc, char **argv) {
  int i;
  for (i = 0; argc == 3 && i < atoi(argv[2]); ++i) {
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
      long before = resident();
      double start = now(), end;
      if (dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == NULL) _exit(1);
      end = now();
      printf("%.4f %ld\n", end - start, resident() - before);
      fflush(stdout);
      _exit(0);
    }
    if (waitpid(child, &status, 0) < 0 || status != 0) return 1;
  }
  return 0;
}
"""


class Bench:
    def __init__(self, args, folder):
        self.args = args
        self.folder = Path(folder)

    def command(self, name, text, *flags):
        cxx = name.endswith(".cpp")
        source = self.folder / name
        source.write_text(text)
        compiler = (self.args.cxx if cxx else self.args.cc).split()
        include = ["-I", str(self.args.header.parent)]
        if self.args.wheel_include:
            include += ["-isystem", self.args.wheel_include]
        return [*compiler, "-std=c++17" if cxx else "-std=c11", *flags,
                *include, "-c", str(source), "-o", str(source) + ".o"]

    def text_size(self, *flags):
        command = self.command("size.c", IMPLEMENTATION, *flags)
        subprocess.run(command, check=True)
        return text_of(command[-1])

    def library(self, name, *arguments):
        """A library of its own; without arguments an empty one."""
        if not arguments:
            (self.folder / "empty.c").write_text("int tvmffi_empty;\n")
            arguments = [self.folder / "empty.c"]
        path = self.folder / name
        subprocess.run([*self.args.cc.split(), "-shared", "-fPIC", *arguments,
                        "-o", path], check=True)
        return path

    def dropin(self, level):
        """The library that takes the place of upstream's, at a level."""
        return self.library(
            "dropin.so", level, "-fvisibility=hidden", "-static-libgcc",
            "-fno-semantic-interposition", "-Wl,-Bsymbolic-functions", "-I",
            self.args.header.parent, ROOT / "dropin/tvmffi.c", "-lpthread",
            "-ldl")

    def load_times(self, libraries, runs=200):
        """Median (milliseconds, kilobytes) of loading each; by turns."""
        source = self.folder / "load.c"
        source.write_text(LOAD)
        program = self.folder / "load"
        subprocess.run([*self.args.cc.split(), source, "-o", program, "-ldl"],
                       check=True)
        rows = {library: [] for library in libraries}
        for _ in range(5):
            for library in libraries:
                out = subprocess.run(
                    [program, library, str(runs // 5)], check=True,
                    capture_output=True, text=True).stdout
                rows[library] += [tuple(map(float, line.split()))
                                  for line in out.splitlines()]
        return [tuple(map(statistics.median, zip(*rows[library])))
                for library in libraries]


def text_of(path):
    out = subprocess.run(["size", "-A", path], check=True,
                         capture_output=True, text=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return sum(int(r[1]) for r in rows
               if len(r) == 3 and r[0].startswith(".text"))


def run_time(command):
    """The seconds of processor time, which other processes change less than the
    time that passes."""
    def seconds():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    start = seconds()
    subprocess.run(command, check=True)
    return seconds() - start


def taking_turns(first, second, runs):
    """The median seconds of two commands, and the ratio of their least, to
    which other processes add nothing."""
    for command in (first, second):
        run_time(command)
    times = list(zip(*((run_time(first), run_time(second))
                       for _ in range(runs))))
    return (*map(statistics.median, times), min(times[0]) / min(times[1]))


def compile_times(bench, check):
    """With `check`, only those that have a limit."""
    def declarations(what, limit, *flags):
        return (what, "c_api.h", limit, taking_turns(
            bench.command("declarations.c", OURS, *flags),
            bench.command("c_api.c", C_API), bench.args.runs))

    def implementation(what, limit, runs, *flags):
        return (f"{what} at -O2", "tvm_ffi.h (C++)", limit, taking_turns(
            bench.command("implementation.c", IMPLEMENTATION, "-O2", *flags),
            bench.command("cxx_api.cpp", CXX_API, "-O2"), runs))

    yield declarations("declarations", DECLARATIONS_LIMIT,
                       "-DTVMFFI_ABI_ONLY=1")
    if not check:
        yield declarations("declarations and C interface", None)
    yield implementation("core", IMPLEMENTATION_LIMIT, 4 if check else 8, CORE)
    if not check:
        yield implementation("whole implementation", None, 8)


def memory(bench, ours):
    """Bytes per thing, by glibc's allocator; nothing with another libc."""
    program = bench.folder / "memory"
    built = subprocess.run(
        [*bench.args.cc.split(), "-O1", "-I", bench.args.header.parent,
         ROOT / "bench/costs/memory.c", "-o", program, "-ldl"],
        capture_output=True)
    if built.returncode != 0 or not bench.args.stock:
        return
    libraries = {"ours": ours, "upstream's": bench.args.stock}
    for whose, library in libraries.items():
        out = subprocess.run([program, library], check=True,
                             capture_output=True, text=True).stdout
        for what, size, least in (line.split("\t")
                                  for line in out.splitlines()):
            yield (f"bytes per {what} of {whose}: {size}, "
                   f"and at least {least}")


def library_costs(bench, tap, check):
    """The library as others load it: its code, the time to load it, and the
    memory that things in it take."""
    ours, empty = bench.dropin("-O2"), bench.library("empty.so")
    size = text_of(ours)
    code = "the library's code, .text at -O2 of"
    yield f"{code} ours: {size} bytes ({size / 1024:.1f} KB)"
    libraries = [empty, ours]
    if bench.args.stock:
        libraries.append(bench.args.stock)
        theirs = text_of(bench.args.stock)
        yield (f"{code} upstream's: {theirs} bytes "
               f"({theirs / 1024:.1f} KB)")
    times = bench.load_times(libraries)
    more = times[1][0] - times[0][0]
    for name, (time_, resident) in zip(("an empty library", "ours",
                                        "upstream's"), times):
        yield f"load time of {name}: {time_:.3f} ms, {resident:.0f} KB"
    if not check:
        yield from memory(bench, ours)
        return
    tap.ok(0 < size < LIBRARY_TEXT_LIMIT, "the library's .text at -O2 is "
           f"under {LIBRARY_TEXT_LIMIT // 1024} KB", size)
    tap.ok(more <= LOAD_LIMIT, "loading it takes at most "
           f"{LOAD_LIMIT} ms more than loading an empty library", more)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--header", type=Path, default=ROOT / "tvmffi.h")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--wheel-include")
    parser.add_argument("--stock", help="upstream's library")
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", type=Path, help="also write the lines here")
    args = parser.parse_args()
    tap, report = Tap(), []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, folder)
        for level in ("-Os", "-O2"):
            for what, flags in (("the core", [CORE]), ("all", [])):
                size = bench.text_size(level, *flags)
                line = (f".text of {what} at {level}: {size} bytes "
                        f"({size / 1024:.1f} KB)")
                report.append(line)
                if args.check and level == "-Os" and flags:
                    tap.ok(0 < size < TEXT_LIMIT, "the core's .text at -Os is "
                           f"under {TEXT_LIMIT // 1024} KB", line)
        report += library_costs(bench, tap, args.check)
        if not args.wheel_include:
            tap.skip("compile times", "the wheel is not there")
        else:
            for what, other, limit, (ours, theirs, ratio) in \
                    compile_times(bench, args.check):
                line = (f"compile time of the {what}: {ours * 1e3:.1f} ms, "
                        f"{other}: {theirs * 1e3:.1f} ms, ratio {ratio:.2f}")
                report.append(line)
                if args.check and limit:
                    tap.ok(ratio <= limit, f"the {what} compiles in at most "
                           f"{limit:.2f} times {other}", line)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1))
    if not args.check:
        print("\n".join(report))
        return 0
    tap.note("\n".join(report))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
