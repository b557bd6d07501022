#!/usr/bin/env python3
"""Runs the robustness tests of this folder on a library with the C ABI.

  run.py --lib LIB [--stock LIB] [--build DIR] [--cc CC] [--cflags FLAGS]
         [--include DIR ...] [--upstream-header] [--report] [PROGRAM ...]

Each program is compiled and given the library's path. TAP is printed. With
--report the library is only reported on: what it does wrong is counted, and
the exit status is 0. With --stock the answers to well-formed inputs are
compared with those of another library.
"""

import argparse
import collections
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import both  # noqa: E402
from tap import Tap  # noqa: E402

PROGRAMS = ["bad_inputs", "same", "oom", "threads", "lifetime", "growth",
            "stacks"]

# Where the answers may differ, and why: rows as tools/both.py has them.
EXPECTED_DIFFERENCES = [
    (r"^dtype_parse/.*\t.*\t.*Lanes value \d+ is out of range for int16_t",
     "lanes over 32767 would turn into scalable ones, or into one lane"),
    (r"^dtype_parse/.*xvscale[^x]?.*\t.*\t.*Invalid lanes specification",
     "xvscale needs x and a number; upstream takes it for one lane"),
    (r"^dtype_parse/.*\t.*\t.*Integer value in dtype string '\d{20,}' is out "
     r"of range",
     "a number of 2^64 and more is not its remainder"),
    (r"^dtype_parse/parse bool(9|[1-9]\d+).*\t.*\t.*Bits value \d+ is out of "
     r"range for bool",
     "a bool has no more than 8 bits"),
    (r"^dtype_print/print (\S+)\trc=0 65 (.*)\trc=0 11 \2$",
     "a short text is a small string, as every other short string is"),
    (r"^types/type s\.D -1 2 .*\t.*\t.*is already registered with index",
     "a type key with another parent is a conflict"),
    (r"^attributes/the same again\t.*already registered.*\trc=0$",
     "registering the same thing again is fine"),
    (r"^functions/info with none\trc=0\t.*Cannot convert from type `None`",
     "a global function of None could only crash its caller"),
    (r"^builtins/ffi\.(String|Bytes) case \d+\t(.*)count=100000002(.*)\t"
     r"\2count=100000001\3$",
     "a text that a typed function gives back is a copy"),
    (r"^dlpack/version (0|2|3)\.\d+\trc=0\t.*DLPack version .* is not "
     r"supported",
     "the layout of another major version is unknown"),
    (r"^dlpack/view without strides\t.*Check not null.*\t.*must not be NULL",
     "the text of upstream's check is its own source code"),
    (r"^env/signals, none, lock was held\trc=0rc=0 gil=1\trc=0rc=0 gil=0$",
     "upstream does not release a lock that was held already: its count grows"),
]


def parse_arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--lib", required=True, help="the library to be tested")
    p.add_argument("--stock", help="the library to compare answers with")
    p.add_argument("--build", help="where the programs are built")
    p.add_argument("--cc", default=os.environ.get("CC", "cc"))
    p.add_argument("--cflags", default="", help="such as -fsanitize=thread")
    p.add_argument("--include", action="append", default=[],
                   help="where the header is; default: the project's root")
    p.add_argument("--upstream-header", action="store_true",
                   help="compile with <tvm/ffi/c_api.h>, found by --include")
    p.add_argument("--report", action="store_true",
                   help="count what is wrong, and never fail")
    p.add_argument("-v", "--verbose", action="store_true",
                   help="print every case that is not as wanted in a report")
    p.add_argument("programs", nargs="*", default=PROGRAMS)
    return p.parse_args()


class Report(Tap):
    """Leaves out what is wrong, which is counted only."""

    def ok(self, passed, name, detail=""):
        return super().ok(True, name) if passed else False


def compile_program(args, name, directory):
    program = os.path.join(directory, name)
    both.build(args.cc, "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra",
               "-rdynamic", *shlex.split(args.cflags),
               *["-I" + str(i) for i in args.include or [HERE.parents[1]]],
               *(["-DROBUST_UPSTREAM_HEADER"] if args.upstream_header else []),
               HERE / (name + ".c"), "-o", program, "-ldl", "-lpthread")
    return program


def run(args, *command):
    """The lines of standard output, and how the process ended."""
    environment = dict(os.environ)
    # Impossible sizes are asked for on purpose.
    options = "allocator_may_return_null=1:detect_leaks=0"
    environment.setdefault("ASAN_OPTIONS", options)
    environment.setdefault("TSAN_OPTIONS", "allocator_may_return_null=1")
    if "-fsanitize=thread" in args.cflags and shutil.which("setarch"):
        # Its shadow memory does not fit every randomised address space.
        command = ["setarch", "-R", *command]
    ended = both.run(command, environment, 1800)
    if ended.status:
        sys.stderr.write(ended.err[-4000:])
    return ended.out.splitlines(), ended


def cases(args, tap, name, program, lib):
    """A program that prints name, wanted, outcome and detail per case."""
    extra = ["warm"] if args.report and name == "bad_inputs" else []
    lines, ended = run(args, program, lib, *extra)
    counts = collections.Counter()
    for line in lines:
        case, wanted, outcome, detail = line.split("\t")
        counts[outcome] += 1
        good = tap.ok(outcome == "ok", f"{name}: {case} ({wanted})",
                      f"{outcome}: {detail}")
        if args.report and args.verbose and not good:
            print(f"# {name}: {case} ({wanted}): {outcome}: {detail}")
    tap.ok(ended.status == 0 and len(lines) > 0, f"{name} ends",
           f"{ended.how()} after {len(lines)} cases")
    print(f"# {name}: {len(lines)} cases, {counts['crash']} crashes, "
          f"{counts['accepted']} accepted where an error was due, "
          f"{counts['wrong']} otherwise not as wanted")


def answers(lines):
    out = {}
    for line in lines:
        key, answer = line.split("\t", 1)
        while key in out:
            key += "'"
        out[key] = answer
    return out


def same(args, tap, name, program, lib):
    if not args.stock:
        if not args.report:
            tap.skip(name, "no library to compare with")
        return
    found = []
    for who, library in (("upstream's", args.stock), ("ours", lib)):
        lines, ended = run(args, program, library)
        tap.ok(ended.status == 0, f"{name}: {who} ends", ended.how())
        found.append(answers(lines))
    comparison = both.Comparison(tap, EXPECTED_DIFFERENCES)
    bad = comparison.answers(*found, title=f"{name}: ",
                             group=lambda key: key.split("/")[0])
    comparison.done()
    print(f"# {name}: {len(found[0])} answers, "
          f"{comparison.used.total()} expected differences, {bad} others")


def main():
    args = parse_arguments()
    tap = Report() if args.report else Tap()
    lib = os.path.abspath(args.lib)
    if args.stock:
        args.stock = os.path.abspath(args.stock)
    with tempfile.TemporaryDirectory() as scratch:
        directory = args.build or scratch
        os.makedirs(directory, exist_ok=True)
        for name in args.programs:
            if name == "oom" and "-fsanitize" in args.cflags:
                tap.skip(name, "a sanitizer has an allocator of its own")
                continue
            program = compile_program(args, name, directory)
            (same if name == "same" else cases)(args, tap, name, program, lib)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
