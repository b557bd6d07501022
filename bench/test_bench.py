#!/usr/bin/env python3
"""Tests the benchmark program and its report. Output is TAP.

Nothing here depends on how fast anything is, but for the guard: with the two
libraries in each other's place it has to fail.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
# At the end: a file there is called packaging.py, as a package is.
sys.path.append(str(HERE.parent / "tests"))
from tap import Tap  # noqa: E402

# In the place of the harness: says what the example gave it, and runs it.
STUB = r"""
#include <stdio.h>
#include "bench.h"
static int calls;
static void version(TVMFFIVersion *v) { v->major = (uint32_t)++calls; }
void bench_limit_store(const bench_lib *lib, void *state, long n) {
  (void)lib, (void)state, (void)n;
}
static bench_group *given;
void bench_add(bench_group *group) { given = group; }
int main(void) {
  bench_lib lib = {.label = "stub", .GetVersion = version};
  given->cases->run[0](&lib, NULL, 3);
  given->cases->run[1](&lib, NULL, 4);
  return printf("%s: %s %d\n", given->name, given->cases->name, calls) < 0;
}
"""


def run(*command):
    return subprocess.run([str(word) for word in command], text=True,
                          capture_output=True)


class Checks:
    def __init__(self, args, tap, folder):
        self.args, self.tap, self.folder = args, tap, Path(folder)

    def bench(self, *options, swapped=False):
        libraries = [self.args.ours, self.args.stock]
        if swapped:
            libraries.reverse()
        return run(self.args.bench.resolve(), "--ours", libraries[0], "--stock",
                   libraries[1], *options)

    def rows(self):
        done = self.bench("--list")
        names = done.stdout.splitlines()
        self.tap.ok(done.returncode == 0 and len(names) > 100 and
                    len(set(names)) == len(names),
                    "--list has every row once", done)
        done = self.bench("--list", "--filter", "dtype: parse f")
        self.tap.ok(all("dtype: parse f" in line
                        for line in done.stdout.splitlines())
                    and done.stdout, "--filter", done)
        done = self.bench("--filter", "no such row")
        self.tap.ok(done.returncode == 2 and "matches no row" in done.stderr,
                    "a filter that matches nothing is an error", done)
        for wrong in (["--passes", "many"], ["--json"], ["--speed"]):
            done = self.bench(*wrong)
            self.tap.ok(done.returncode == 2 and done.stderr,
                        f"{wrong[0]}: wrong use is an error", done)
        done = run(self.args.bench.resolve(), "--ours", "missing.so")
        self.tap.ok(done.returncode == 2 and "cannot load" in done.stderr,
                    "a library that is not there is an error", done)

    def figures(self):
        first, second = self.folder / "a.json", self.folder / "b.json"
        some = ["--filter", "IncRef and DecRef", "--passes", "3"]
        done = self.bench(*some, "--json", first)
        self.tap.ok(done.returncode == 0 and "summary: " in done.stdout,
                    "a table", done)
        run_ = json.loads(first.read_text())
        row = run_["rows"][0]
        self.tap.ok(
            row["passes"] == 3 and all(
                0 < row[key]["min_ns"] <= row[key]["median_ns"] * 1.01
                for key in ("limit", "stock", "ours")),
            "--json has the least and the median of each", row)
        own = row["ours"]["min_ns"] / row["stock"]["min_ns"]
        self.tap.ok(abs(row["to_stock"] / own - 1) < 0.5,
                    "the ratios are those of the times", row)
        text = first.read_text()
        self.tap.ok("/" not in re.sub(r'"name": "[^"]*"', "", text),
                    "--json names no path", text)
        second.write_text(re.sub(r'"to_stock": [\d.]+', '"to_stock": 0.0010',
                                 text))
        done = self.bench(*some, "--compare", second)
        self.tap.ok(re.search(r"compared: (\d+) rows, of which \1 are slower",
                              done.stdout),
                    "--compare sees what became slower", done)
        done = self.bench(*some, "--compare", self.folder / "none.json")
        self.tap.ok(done.returncode == 2, "--compare needs its file", done)
        return first

    def guard(self):
        some = ["--guard", "--passes", "3", "--filter", "parse float32"]
        done = self.bench(*some)
        self.tap.ok(done.returncode == 0 and "\nok 1" in done.stdout,
                    "the guard passes what is faster", done)
        done = self.bench(*some, swapped=True)
        self.tap.ok(done.returncode == 1 and "\nnot ok 1" in done.stdout,
                    "the guard fails what is slower", done)
        done = self.bench("--guard", "--short", "--passes", "1")
        self.tap.ok(done.stdout.count("of the limit, at most") == 4,
                    "the guard knows rows by their limit, too", done)

    def example(self):
        """README's example, on a stub of the harness."""
        text = re.search(r"```c\n(.*?)```", (HERE / "README.md").read_text(),
                         re.S)[1]
        lines = [line for line in text.splitlines()[1:] if line]
        self.tap.ok(len(lines) <= 10, "README's example has ten lines", text)
        (self.folder / "example.c").write_text(text)
        (self.folder / "stub.c").write_text(STUB)
        done = run(*self.args.cc.split(), "-std=c11", "-Wall", "-Wextra",
                   "-Wno-unused-parameter", "-Werror", "-I", HERE, "-I",
                   HERE.parent, self.folder / "example.c",
                   self.folder / "stub.c", "-o", self.folder / "example")
        self.tap.ok(done.returncode == 0, "README's example compiles", done)
        done = run(self.folder / "example")
        self.tap.ok(done.stdout == "mine: version 7\n", "and runs", done)

    def report(self, figures):
        sys.path.insert(0, str(HERE))
        import report

        done = run(sys.executable, HERE / "report.py", "--goals", figures)
        self.tap.ok(done.returncode == 0 and
                    re.search(r"^goals: \d+ of \d+ met$", done.stdout, re.M),
                    "the goals, of a run with few rows", done)
        run_ = report.Rows(figures)
        row = dict(run_.all[0], to_limit=1.5, to_stock=0.25)
        run_.by_name = {"refcount: x": row}
        words = {"rows": "\nrefcount: x", "most": "0.25", "goal": ""}
        for to, most, verdict in (("stock", "0.25", "met"),
                                  ("stock", "0.24", "not met"),
                                  ("limit", "1.4", "not met")):
            goal = report.Goal("goal it", {**words, "to": to, "most": most},
                               run_, {})
            self.tap.ok(goal.verdict == verdict,
                        f"{goal.value} of {to}, at most {most}: {verdict}",
                        goal.lines)
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.tap.skip("the page", "matplotlib is not there")
            return
        done = run(sys.executable, HERE / "report.py", "--out", self.folder,
                   figures)
        page = (self.folder / "benchmarks.md")
        pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", page.read_text())
        self.tap.ok(done.returncode == 0 and pictures, "the page", done)
        for picture in pictures:
            xml.etree.ElementTree.parse(self.folder / picture)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, required=True)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--stock", required=True)
    parser.add_argument("--cc", default="cc")
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(parser.parse_args(), tap, folder)
        checks.rows()
        figures = checks.figures()
        checks.guard()
        checks.example()
        checks.report(figures)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
