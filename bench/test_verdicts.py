#!/usr/bin/env python3
"""Tests how sure the verdicts of `./dev bench --compare` are. Output is TAP.

    test_verdicts.py --build build/opt FOLDER              the whole experiment
    test_verdicts.py --build build/opt FOLDER --short      what CI can afford

Two libraries of the same header must get no verdict, and the controls must be at 1. A
library with one function that is slower by a known dependent latency must be found
slower in the rows that run it, and in no other. Which rows run it is counted before, by
a library that counts its calls. The function is TVMFFIFunctionCall, and the latency a
chain of multiplications on the first argument's value, so that it is on the way from
one result to the next. A processor partly hides it where the calls are independent, and
a short one also where they are not, so a row counts as one that must be found if its
change, over all comparisons, is more than twice its interval. Of the largest latency, there
has to be one, and a row that waits for each call has to be slower by half of it at
least. Every row that runs the function is in the result, found or not. The whole
experiment makes each comparison `--comparisons` times, and allows one in twenty to
differ. The short form makes one, with a latency that no noise of a shared machine reaches,
and overlooks what such noise may cause: the controls, and verdicts on differences below
a tenth.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "tools")]
import placements  # noqa: E402
import verdicts  # noqa: E402
from tap import Tap  # noqa: E402

FUNCTION = "TVMFFIFunctionCall"
ROWS = ("^call: (cell|TVMFFIFunctionCall), [1-7] args|^call: chain|^refcount: .*(IncRef"
        "|DecRef|inline pair, |two objects)|^latency: .*waits|^string: string, "
        "|^any: own an|^dtype: parse (b|h|int8)|^registry: .* (10,000|new) "
        "|^global: call by .* 10,000|^controls: next"
        "|^map: (get, integer keys|iterate), 100,000|^array: list append, 100,000")
SHORT_ROWS = ("^call: cell, [1-8] args|^call: TVMFFIFunctionCall, 3 args$"
              "|^refcount: IncRef and DecRef$|^any: own an int"
              "|^latency: .*FunctionCall.*waits")
RUNS_IT = 1000  # calls in a process: every step of a row calls the function
FEW = 100  # calls: of what comes before the loop and after it
CONTROL = 0.02  # what a control may differ from 1
NEVER = 0.05  # of the comparisons may differ
NOISE = 0.1  # what a row of the short form may differ by chance

DELAY = """
  if (num_args > 0) {
    int64_t delayed = args->v_int64, one = 1;
    __asm__("" : "+r"(one));
    STEPS
    __asm__("" : "+r"(delayed));
    args->v_int64 = delayed;
  }
"""
# The compiler must not make a power of them.
STEP = 'delayed *= one; __asm__("" : "+r"(delayed)); '

COUNTER = """
#include <stdio.h>
#include <stdlib.h>
static unsigned long tvmffi_i_calls;
__attribute__((destructor)) static void tvmffi_i_write_calls(void) {
  const char *name = getenv("TVMFFI_BENCH_CALLS");
  FILE *file = name ? fopen(name, "a") : NULL;
  if (!file) return;
  fprintf(file, "%lu\\n", tvmffi_i_calls);
  fclose(file);
}
"""

CLOCK = r"""
#include <stdint.h>
#include <stdio.h>
#include <time.h>
int main(void) {
  double least = 1e9;
  uintptr_t delayed = 1, one = 1;
  __asm__("" : "+r"(one));
  for (int round = 0; round < 200; ++round) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < 10000; ++i) {
      delayed *= one;
      __asm__ volatile("" : "+r"(delayed));
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    double ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec -
                                                               a.tv_nsec);
    if (ns < least) least = ns;
  }
  printf("%.4f\n", least / 10000);
  return (int)delayed - 1;
}
"""


def most_misses(count):
    """How many of so many 95 % intervals may miss the truth: more do by chance
    in one run of a thousand."""
    misses, beyond = -1, 1.0
    while beyond > 1e-3:
        misses += 1
        beyond -= (math.comb(count, misses) * verdicts.LEVEL ** misses
                   * (1 - verdicts.LEVEL) ** (count - misses))
    return misses


def with_body(text, before, begin):
    """The header with text before the function and at the begin of its body."""
    pattern = re.compile(rf"^[\w ]*\b{FUNCTION}\([^;{{]*{{\n", re.M)
    found = list(pattern.finditer(text))
    if len(found) != 1:
        sys.exit(f"test_verdicts: {len(found)} definitions of {FUNCTION}")
    at = found[0]
    return text[:at.start()] + before + at[0] + begin + text[at.end():]


class Experiment:
    def __init__(self, args, tap):
        self.args, self.tap = args, tap
        self.result = {"function": FUNCTION, "comparisons": args.comparisons,
                       "runs": args.runs, "delays": []}
        self.folder = args.folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.build = placements.Build(args.build.resolve())
        self.text = args.header.read_text(encoding="utf-8")
        self.bench = self.build.folder / "bench"

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def multiplication(self):
        """Nanoseconds of one."""
        saved = self.folder / "clock.json"
        if self.args.replay:
            return json.loads(saved.read_text())
        source = self.write("clock.c", CLOCK)
        program = self.folder / "clock"
        subprocess.run([*self.args.cc.split(), "-O2", source, "-o", program],
                       check=True)
        each = float(placements.output(program))
        saved.write_text(json.dumps(each))
        return each

    def link(self, name, header, count):
        """The folder of the placements, with the plain header as stock."""
        folder = self.folder / name
        if self.args.replay:
            return folder
        self.build.link_all(folder, {"ours": header,
                                     "stock": self.args.header}, count)
        return folder

    def run(self, folder, result, rows, *options, **environment):
        if self.args.replay:
            return
        subprocess.run(
            [self.bench, "--commit", self.args.commit, "--placements", folder,
             "--ours",
             folder / "0/ours.so", "--stock", folder / "0/stock.so",
             "--json", result, "--filter", rows, *options], check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, **environment))

    def judged(self, folder, result):
        """The changes of one comparison, with their verdicts."""
        self.run(folder, result, self.args.rows, "--runs", str(self.args.runs))
        run = json.loads(result.read_text())
        self.result["record"] = {key: run[key] for key in (
            "date", "commit", "processor", "model") if key in run}
        self.result["load"] = max(run["load"], self.result.get("load", 0))
        self.result["rows"] = len(run["rows"])
        self.times = {f"{row['group']}: {row['name']}": row["stock"]["min_ns"]
                      for row in run["rows"]}
        changes = verdicts.changes_of(run)
        verdicts.judge(changes)
        return changes

    def differs(self, change):
        return (change.verdict in ("slower", "faster")
                and abs(change.value) >= self.args.noise)

    def counts(self):
        """{row: how often a process calls the function}."""
        saved = self.folder / "counts.json"
        if self.args.replay:
            return json.loads(saved.read_text())
        header = self.write("counting.h", with_body(
            self.text, COUNTER, "  ++tvmffi_i_calls;\n"))
        folder = self.link("counting", header, 1)
        names = placements.output(self.bench, "--list", "--filter",
                                  self.args.rows).splitlines()
        calls, found = self.folder / "calls", {}
        for name in names:
            calls.unlink(missing_ok=True)
            self.run(folder, self.folder / "counting.json",
                     f"^{re.escape(name)}$".replace("\\ ", " "), "--runs", "1",
                     TVMFFI_BENCH_CALLS=str(calls))
            # The processes that measure end first: the library of each and the
            # runtime that it has linked in write a count each. The last count is of
            # the process that started them, which has no such runtime.
            *each, _ = map(int, calls.read_text().split())
            found[name] = sum(each)
        saved.write_text(json.dumps(found))
        return found

    def same(self):
        """Libraries of one header."""
        folder = self.link("same", self.args.header, self.args.count)
        count = self.args.comparisons
        wrong, controls = 0, []
        for number in range(count):
            changes = self.judged(folder, self.folder / f"same{number}.json")
            controls += [c for c in changes if c.control]
            sure = [f"{c.name}: {c.verdict} {math.exp(c.value):.3f}"
                    for c in changes if self.differs(c)]
            wrong += bool(sure)
            print("".join(f"# {line}\n" for line in sure), end="", flush=True)
        self.result["same"] = wrong
        self.tap.ok(wrong <= NEVER * count, "libraries of the same header: a verdict "
                    f"in {wrong} of {count} comparisons", wrong)
        return controls

    def controls(self, values):
        far = [c for c in values if abs(c.value) > CONTROL]
        covers = sum(c.low - 1e-3 <= 0 <= c.high + 1e-3 for c in values)
        means = [statistics.median(c.value for c in values if c.name == name)
                 for name in {c.name for c in values}]
        worst = max(map(abs, means))
        text = (f"controls: {len(far)} of {len(values)} differ by more than "
                f"{CONTROL:.0%}; {covers} intervals cover 1; the medians over "
                f"comparisons differ by at most {worst:.2%}")
        self.tap.ok(worst <= CONTROL and
                    len(values) - covers <= most_misses(len(values)), text)

    def delayed(self):
        """Libraries whose function is slower."""
        each = self.multiplication()
        counted = self.counts()
        runs_it = {name for name, count in counted.items() if count > RUNS_IT}
        never = {name for name, count in counted.items() if count < FEW}
        for delay in sorted(self.args.delays):
            steps = max(1, round(delay / each))
            header = self.write("delayed.h", with_body(
                self.text, "", DELAY.replace("STEPS", STEP * steps)))
            print(f"# {steps} multiplications of {each:.2f} ns in "
                  f"{FUNCTION}", flush=True)
            folder = self.link(f"delayed-{delay:g}", header, self.args.count)
            every = {}
            for number in range(self.args.comparisons):
                for change in self.judged(
                        folder, self.folder / f"delayed-{delay:g}-{number}.json"):
                    every.setdefault(change.name, []).append(change)
            self.report(steps, each, every, runs_it, never,
                        delay == max(self.args.delays))
        self.tap.ok(any(row["must"] for row in
                        self.result["delays"][-1]["rows"]),
                    "a row changes by more than twice its interval")

    def report(self, steps, each, every, runs_it, never, is_largest):
        count, wrong, rows = self.args.comparisons, set(), []
        delay = steps * each
        for name, changes in every.items():
            value = statistics.median(c.value for c in changes)
            width = statistics.median(c.high - c.low for c in changes)
            found = sum(c.verdict == "slower" for c in changes)
            faster = sum(c.verdict == "faster" for c in changes)
            wrong |= {number for number, c in enumerate(changes)
                      if name in never and self.differs(c)}
            print(f"# {name}: {math.exp(value):.3f}, interval {width:.1%}, "
                  f"slower in {found} of {count}"
                  + (", calls it" if name in runs_it else
                     "" if name in never else ", calls it rarely"), flush=True)
            if name not in runs_it:
                continue
            if name.startswith("latency: ") and is_largest:
                more = math.expm1(value) * self.times[name]
                self.tap.ok(more >= delay / 2, f"{delay:.1f} ns, {name}: takes "
                            f"{more:.1f} ns more")
            must = value > 2 * width
            rows.append({"name": name, "ratio": math.exp(value),
                         "interval": width, "found": found, "faster": faster,
                         "must": must})
            if must:
                self.tap.ok(found >= (1 - NEVER) * count,
                            f"{delay:.1f} ns, {name}: found in {found} of "
                            f"{count} comparisons")
        self.result["delays"].append(
            {"nanoseconds": steps * each, "steps": steps, "rows": rows,
             "elsewhere": len(wrong)})
        self.tap.ok(len(wrong) <= NEVER * count,
                    f"{delay:.1f} ns, rows that do not run the function: a verdict "
                    f"in {len(wrong)} of {count} comparisons")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--header", type=Path, default=HERE.parent / "tvmffi.h")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--commit", default="unknown",
                        help="the version of the sources, for the record")
    parser.add_argument("--delays", type=float, nargs="+", default=[1, 4],
                        help="nanoseconds")
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--runs", type=int, default=8, help="of each comparison")
    parser.add_argument("--count", type=int, default=placements.COUNT,
                        help="of placements")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--replay", action="store_true",
                        help="judges what was measured before")
    args = parser.parse_args()
    args.noise = NOISE if args.short else 0
    if args.short:
        args.comparisons, args.runs, args.count = 1, 8, 16
        args.rows, args.delays = SHORT_ROWS, [100]
    tap = Tap()
    experiment = Experiment(args, tap)
    controls = experiment.same()
    if not args.short:
        experiment.controls(controls)
    experiment.delayed()
    # The page says so: bench/report.py --sure.
    experiment.write("result.json", json.dumps(experiment.result, indent=1))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
