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
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ["bad_inputs", "same", "oom", "threads", "lifetime"]

# Where the answers may differ: a pattern of "key<TAB>answer of the stock
# library<TAB>answer of ours", and why. Any other difference is a failure, and
# so is a row that matches nothing.
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


class Tap:
    """Numbers and prints results, and remembers the failures."""

    def __init__(self, report):
        self.report = report
        self.passed = self.failed = self.skipped = 0

    def result(self, good, name, detail=""):
        if self.report and not good:
            return
        self.passed += good
        self.failed += not good
        line = f"{'ok' if good else 'not ok'} {self.passed + self.failed}"
        print(f"{line} - {name}" + (f" # {detail}" if detail and not good
                                    else ""), flush=True)

    def skip(self, name, why):
        self.passed += 1
        self.skipped += 1
        print(f"ok {self.passed + self.failed} - {name} # SKIP {why}")

    def note(self, text):
        print("# " + text, flush=True)


def compile_program(args, name, directory):
    source = os.path.join(HERE, name + ".c")
    program = os.path.join(directory, name)
    include = args.include or [os.path.dirname(os.path.dirname(HERE))]
    command = shlex.split(args.cc) + ["-std=gnu11", "-g", "-O1", "-Wall",
                                      "-Wextra", "-rdynamic"]
    command += shlex.split(args.cflags) + ["-I" + i for i in include]
    if args.upstream_header:
        command.append("-DROBUST_UPSTREAM_HEADER")
    command += [source, "-o", program, "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    return program


def run(args, program, *arguments):
    """The lines of standard output, and the exit status."""
    command = [program, *arguments]
    environment = dict(os.environ)
    # Impossible sizes are asked for on purpose.
    options = "allocator_may_return_null=1:detect_leaks=0"
    environment.setdefault("ASAN_OPTIONS", options)
    environment.setdefault("TSAN_OPTIONS", "allocator_may_return_null=1")
    if "-fsanitize=thread" in args.cflags and shutil.which("setarch"):
        # Its shadow memory does not fit every randomised address space.
        command = ["setarch", "-R"] + command
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment,
                          timeout=1800)
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        sys.stderr.write(done.stderr.decode("utf-8", "replace")[-4000:])
    return text.splitlines(), done.returncode


def cases(args, tap, name, program, lib):
    """A program that prints name, wanted, outcome and detail per case."""
    extra = ["warm"] if args.report and name == "bad_inputs" else []
    lines, status = run(args, program, lib, *extra)
    counts = collections.Counter()
    for line in lines:
        case, wanted, outcome, detail = line.split("\t")
        counts[outcome] += 1
        good = outcome == "ok"
        tap.result(good, f"{name}: {case} ({wanted})", f"{outcome}: {detail}")
        if args.report and args.verbose and not good:
            tap.note(f"{name}: {case} ({wanted}): {outcome}: {detail}")
    tap.result(status == 0 and len(lines) > 0, f"{name} ends",
               f"exit status {status} after {len(lines)} cases")
    tap.note(f"{name}: {len(lines)} cases, {counts['crash']} crashes, "
             f"{counts['accepted']} accepted where an error was due, "
             f"{counts['wrong']} otherwise not as wanted")


def normal(answer):
    """An answer without the source code that upstream's checks quote."""
    return re.sub(r"Check failed: \(.*\) is false: ", "", answer)


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
    ours, status = run(args, program, lib)
    stock, stock_status = run(args, program, args.stock)
    tap.result(status == 0, f"{name}: ours ends", f"exit status {status}")
    tap.result(stock_status == 0, f"{name}: stock ends",
               f"exit status {stock_status}")
    ours, stock = answers(ours), answers(stock)
    tap.result(list(ours) == list(stock), f"{name}: the same inputs",
               f"{len(ours)} and {len(stock)}")
    used = collections.Counter()
    bad = collections.Counter()
    for key in stock:
        a, b = normal(stock[key]), normal(ours.get(key, "missing"))
        if a == b:
            continue
        line = f"{key}\t{a}\t{b}"
        for i, (pattern, _) in enumerate(EXPECTED_DIFFERENCES):
            if re.search(pattern, line):
                used[i] += 1
                break
        else:
            bad[key.split("/")[0]] += 1
            tap.result(False, f"{name}: {key}", f"stock {a} but ours {b}")
    for group in dict.fromkeys(key.split("/")[0] for key in stock):
        if not bad[group]:
            n = sum(key.startswith(group + "/") for key in stock)
            tap.result(True, f"{name}: {group}, {n} answers")
    for i, (pattern, reason) in enumerate(EXPECTED_DIFFERENCES):
        tap.result(used[i] > 0, f"{name}: expected difference: {reason}",
                   f"not seen: {pattern}")
        tap.note(f"{used[i]} answers differ: {reason}")
    tap.note(f"{name}: {len(stock)} answers, {sum(used.values())} expected "
             f"differences, {sum(bad.values())} others")


def main():
    args = parse_arguments()
    tap = Tap(args.report)
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
    print(f"1..{tap.passed + tap.failed}")
    tap.note(f"{tap.passed} passed, {tap.failed} failed, "
             f"{tap.skipped} skipped")
    return 1 if tap.failed and not args.report else 0


if __name__ == "__main__":
    sys.exit(main())
