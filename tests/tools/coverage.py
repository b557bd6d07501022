#!/usr/bin/env python3
"""Runs the unit tests, then asks gcovr which lines of the header they reached.

The program is the one built with coverage, as C11. Output is TAP.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
from tap import Tap  # noqa: E402

LIMIT = 95.0


def line_ranges(lines):
    """[3, 4, 5, 9] as '3-5 9'."""
    groups = []
    for line in lines:
        if groups and line == groups[-1][1] + 1:
            groups[-1][1] = line
        else:
            groups.append([line, line])
    return " ".join(f"{a}-{b}" if a != b else str(a) for a, b in groups)


def covered(data, header):
    """How often each line was run: {line: count}."""
    counts = {}
    for file in json.loads(data)["files"]:
        if Path(file["file"]).name != header:
            continue
        for line in file["lines"]:
            number = line["line_number"]
            counts[number] = counts.get(number, 0) + line["count"]
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--objects", type=Path, required=True,
                        help="where the program's .gcda files are written")
    parser.add_argument("--gcovr", default="gcovr")
    parser.add_argument("--gcov", default="gcov")
    parser.add_argument("--header", default="tvmffi.h")
    args = parser.parse_args()
    tap = Tap()
    for old in args.objects.glob("*.gcda"):
        old.unlink()
    # Side by side: the counts of each are added to the files when it ends.
    runs = []
    for extra in ([], ["--oom"]):
        out = tempfile.TemporaryFile()
        runs.append((extra, out, subprocess.Popen(
            [args.program.resolve(), *extra], stdout=out,
            stderr=subprocess.STDOUT)))
    for extra, out, run in runs:
        status = run.wait()
        out.seek(0)
        tap.ok(status == 0, " ".join(["unit tests", *extra]),
               f"status {status}\n"
               + out.read().decode(errors="replace")[-2000:])
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "coverage.json"
        run = subprocess.run(
            [*args.gcovr.split(), "--root", str(ROOT), "--gcov-executable",
             args.gcov, "--filter", ".*" + args.header.replace(".", r"\."),
             "--merge-mode-functions=merge-use-line-min",
             # Threads count without atomics; a lost count can go below zero.
             "--gcov-ignore-parse-errors=negative_hits.warn_once_per_file",
             "--json", str(out), "--exclude-noncode-lines", str(args.objects)],
            capture_output=True, text=True)
        data = out.read_text() if out.exists() else '{"files": []}'
    counts = covered(data, args.header)
    missed = sorted(n for n, count in counts.items() if not count)
    percent = 100.0 * (len(counts) - len(missed)) / max(1, len(counts))
    summary = (f"line coverage of {args.header}: {percent:.1f} % "
               f"({len(counts) - len(missed)} of {len(counts)} lines)")
    tap.note(summary)
    tap.note("not reached: " + (line_ranges(missed) or "none"))
    tap.ok(len(counts) > 100 and percent >= LIMIT,
           f"at least {LIMIT:.0f} % of the lines are covered",
           summary + "\n" + run.stderr[-2000:])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
