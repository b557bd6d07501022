#!/usr/bin/env python3
"""Adds up meson's test logs and prints what failed and the total.

Each argument is STATUS=FILE: the exit status of `meson test` and the .json log
it wrote. A log that is missing, or a status that no failure explains, counts
as one failure. A TAP test counts point by point, another one as one. With
CI=true a skipped test is a failure: there, everything has to be installed.
An argument --may-skip=PATTERN names tests that may be skipped all the same,
and --took=SECONDS=NAME is the time of a group. The last lines name what took
longest, what failed, and the total.
"""

import fnmatch
import json
import os
import re
import sys

POINT = re.compile(r"^(not )?ok\b\s*\d*\s*(?:- )?([^#\n]*)(#\s*SKIP\b.*)?",
                   re.I | re.M)
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*SKIP\b.*)?", re.I | re.M)


class Total:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []
        self.notes = []
        self.may_skip = []
        self.seconds = []  # (seconds, entry)
        self.groups = []

    def add_log(self, status, path):
        try:
            with open(path, encoding="utf-8") as log:
                tests = [json.loads(line) for line in log if line.strip()]
        except (OSError, ValueError) as error:
            self.failed.append((path, str(error)))
            return
        before = len(self.failed)
        build = re.sub(r"^build/|/meson-logs/tests-\w*|\.json$", "", path)
        for test in tests:
            self.add_test(test)
            self.seconds.append((test.get("duration", 0), f"{build}: "
                                 + test["name"].split(":", 1)[-1]))
        if (status and len(self.failed) == before) or not tests:
            self.failed.append((path, f"meson test ended with {status}, "
                                f"{len(tests)} tests"))

    def add_test(self, test):
        # "suite - project:name"
        name = test["name"].split(":", 1)[-1]
        out = test.get("stdout", "")
        good = test["result"] in ("OK", "EXPECTEDFAIL", "UNEXPECTEDPASS")
        before = len(self.failed)
        self.notes += re.findall(r"^# note: (.*)", out, re.M)
        if PLAN.search(out) or (not good and POINT.search(out)):
            self.add_points(name, out)
        elif test["result"] == "SKIP":
            self.skipped.append((name, "skipped"))
        elif good:
            self.passed += 1
        if not good and test["result"] != "SKIP" \
                and len(self.failed) == before:
            self.failed.append((name, f"{test['result']}, exit status "
                                f"{test.get('returncode')}\n"
                                + (test.get("stderr") or out)[-3000:]))

    def add_points(self, name, out):
        points = list(POINT.finditer(out))
        for point in points:
            label = f"{name}: {point.group(2).strip()}"
            if point.group(3) and self.may_be_skipped(label):
                self.notes.append(f"left out: {label} {point.group(3)}")
            elif point.group(3):
                self.skipped.append((label, point.group(3)))
            elif point.group(1):
                after = out[point.end():].split("\nok ")[0]
                self.failed.append((label, after.split("\nnot ok")[0][:3000]))
            else:
                self.passed += 1
        plan = PLAN.search(out)
        if not plan:
            self.failed.append((name, "ended without a plan after\n"
                                + points[-1].group(0)))
        elif int(plan.group(1)) != len(points):
            self.failed.append((name, f"plan {plan.group(0)}, "
                                f"{len(points)} points"))
        elif not points:
            self.skipped.append((name, plan.group(0)))

    def may_be_skipped(self, label):
        return any(fnmatch.fnmatch(label, p) for p in self.may_skip)

    def report(self):
        for line in self.notes:
            print(line)
        for longest in sorted(self.groups, reverse=True)[:12], \
                sorted(self.seconds, reverse=True)[:10]:
            print(*(f"{seconds:6.0f} s  {name}" for seconds, name in longest),
                  sep="\n")
        strict = os.environ.get("CI") == "true"
        for name, why in self.skipped:
            print(f"SKIPPED {name} {why}")
        for name, detail in self.failed:
            print(f"FAILED {name}")
            for line in detail.strip().splitlines():
                print("    " + line)
        failed = len(self.failed) + (len(self.skipped) if strict else 0)
        print(f"{self.passed} passed, {failed} failed")
        return 1 if failed or not self.passed else 0


def main():
    total = Total()
    for argument in sys.argv[1:]:
        key, value = argument.split("=", 1)
        if key == "--may-skip":
            total.may_skip.append(value)
        elif key == "--took":
            seconds, name = value.split("=", 1)
            total.groups.append((float(seconds), name))
        else:
            total.add_log(int(key), value)
    return total.report()


if __name__ == "__main__":
    sys.exit(main())
