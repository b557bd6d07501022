#!/usr/bin/env python3
"""Runs a fuzzer, or replays its inputs, and prints TAP.

  run.py NAME --program FUZZER --seconds N [--seed N] [--work DIR]
         [--replay PROGRAM]
  run.py NAME --replay PROGRAM

A fuzzer begins with corpus/NAME and keeps what it finds in DIR: inputs that
reach new code in DIR/NAME, one that fails as DIR/NAME-crash-..., whose path is
printed. With a seed, runs from an empty DIR on the same code try the same
inputs in the same order, so that the verdict of a test depends on the code;
without one, each run tries other inputs. Without a fuzzer the inputs of
corpus/NAME are replayed. What the JSON fuzzer found is read by Python's json,
too.
"""

import argparse
import configparser
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
from tap import Tap  # noqa: E402

OPTIONS = HERE / "oss-fuzz/all.options"
MOST_COMPARED = 5000
STRING_OR_NUMBER = re.compile(
    r'("(?:[^"\\]|\\.)*"|-Infinity)|[-+.0-9][-+.0-9eE]*', re.S)


def limits(path):
    """The arguments and the variables that a file of options stands for.
    Sizes are in bytes and megabytes, times in seconds."""
    options = configparser.ConfigParser()
    options.read_string(path.read_text(encoding="utf-8"))
    asan = ":".join(f"{k}={v}" for k, v in options["asan"].items())
    return ([f"-{k}={v}" for k, v in options["libfuzzer"].items()],
            {"ASAN_OPTIONS": asan})


class OutOfRange(Exception):
    """A number that Python takes for infinity, 0 or a subnormal float; it is
    an error of ours, as of upstream's."""


def read_float(text):
    x = float(text)
    if math.isinf(x) or (abs(x) < sys.float_info.min
                         and re.search("[1-9]", re.split("[eE]", text)[0])):
        raise OutOfRange
    return x


def read_int(text):
    x = int(text)
    return x if -2**63 <= x < 2**63 else read_float(text)


def read(text):
    """What Python reads, with numbers as ours are."""
    return json.loads(text, parse_int=read_int, parse_float=read_float)


def same(a, b):
    """Whether two values are the same. A float of 2^53 and more is written
    without a point, so it may have become an int."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return repr(a) == repr(b)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b and (type(a) is type(b) or abs(a) >= 2**53)
    return type(a) is type(b) and a == b


def disagreement(data, ours):
    """What differs between Python's reading and ours, or None."""
    try:
        text, ours = data.decode(), ours.decode()
    except UnicodeDecodeError:
        return None
    try:
        theirs = read(text)
        json.dumps(theirs, ensure_ascii=False).encode()
    except (RecursionError, OutOfRange, UnicodeEncodeError):
        return None  # too deep, out of range, or half a surrogate pair
    except ValueError as error:
        # Ours reads as upstream does: numbers such as 01 and +.5.
        plain = STRING_OR_NUMBER.sub(lambda m: m[1] or "0", text)
        if ours != "error":
            try:
                json.loads(plain)
            except ValueError:
                return f"Python: {error}, ours: {ours}"
        return None
    if ours == "error" or not same(theirs, read(ours)):
        return f"Python: {theirs!r}, ours: {ours}"
    return None


def compare_json(tap, files, lines):
    wrong = []
    for path, line in zip(files, lines):
        found = disagreement(path.read_bytes(), line)
        if found:
            wrong.append(f"{path}: {found}")
    tap.ok(not wrong and len(files) == len(lines),
           "Python's json reads them in the same way",
           "\n".join(wrong) or f"{len(files)} files, {len(lines)} lines")


def replay(tap, name, program, folder):
    files = sorted(p for p in folder.iterdir() if p.is_file())
    files = files[:MOST_COMPARED]
    done = subprocess.run([program, *files], capture_output=True)
    tap.ok(done.returncode == 0, f"{len(files)} inputs are replayed",
           done.stderr.decode("utf-8", "replace")[-2000:])
    if name == "json":
        compare_json(tap, files, done.stdout.splitlines())


def report(text):
    """What a fuzzer printed of a find: the message, the stack, the input."""
    found = re.search("^.*(not so: |ERROR: )", text, re.M)
    text = text[found.start() if found else 0:]
    lines = [x for x in text.splitlines() if not x.startswith("stat::")]
    return lines[:32] + lines[32:][-5:]


def fuzz(tap, args, work):
    found = work / args.name
    found.mkdir(parents=True, exist_ok=True)
    prefix = work / f"{args.name}-"
    flags, env = limits(OPTIONS)
    words = OPTIONS.parent / f"{args.name}.dict"
    if words.exists():
        flags.append(f"-dict={words}")
    done = subprocess.run(
        [args.program, f"-max_total_time={args.seconds}",
         f"-seed={args.seed}", *flags,
         f"-artifact_prefix={prefix}", "-print_final_stats=1",
         found, HERE / "corpus" / args.name],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, env={**os.environ, **env})
    text = done.stderr.decode("utf-8", "replace")
    runs = re.search(r"number_of_executed_units: (\d+)", text)
    inputs = re.findall(r"Test unit written to (\S+)", text)
    tap.ok(done.returncode == 0 and runs, f"{args.seconds} seconds of fuzzing",
           "\n".join([f"the input that fails: {i}" for i in inputs]
                     + report(text)))
    if runs:
        tap.note(f"fuzz {args.name}: {runs[1]} runs in {args.seconds} s, "
                 f"{len(list(found.iterdir()))} inputs kept")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--program")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0,
                        help="0: another one in each run")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--replay")
    args = parser.parse_args()
    tap = Tap()
    folder = HERE / "corpus" / args.name
    if args.program:
        work = args.work or Path(tempfile.mkdtemp(prefix="fuzz-"))
        folder = fuzz(tap, args, work)
    if args.replay and (args.name == "json" or not args.program):
        replay(tap, args.name, args.replay, folder)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
