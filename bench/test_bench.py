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
sys.path.append(str(HERE.parent / "tests" / "tools"))
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

# Rows of the names and values that it is given: says which stand out.
SERIES = r"""
#include <stdio.h>
#include <stdlib.h>
#include "harness.h"
int main(int argc, char **argv) {
  static bench_case cases[99];
  static outcome rows[99];
  int count = (argc - 1) / 2;
  for (int i = 0; i < count; ++i) {
    cases[i].name = argv[1 + 2 * i];
    rows[i].group = "group";
    rows[i].row = &cases[i];
    rows[i].figures[OURS].min = atof(argv[2 + 2 * i]);
  }
  for (int i = 0; i < count; ++i)
    if (stands_out(rows, count, i)) printf("%d ", i);
  return 0;
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
        done = self.bench("--passes", "1")
        self.tap.ok(done.returncode == 0 and
                    f"summary: {len(names)} rows" in done.stdout,
                    "every row runs", done)
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

    def series(self):
        """A row that stands out beside its neighbours is measured again."""
        (self.folder / "series.c").write_text(SERIES)
        done = run(*self.args.cc.split(), "-std=c11", "-I", HERE, "-I",
                   HERE.parent, HERE / "series.c", self.folder / "series.c",
                   "-o", self.folder / "series", "-Wl,--gc-sections",
                   "-ffunction-sections")
        self.tap.ok(done.returncode == 0, "series.c with rows of the test",
                    done)
        call, size = "call, {} args", "get, {} items"
        for name, rows, found in (
                ("one above both", [(call, 8, 8.3), (call, 9, 15.3),
                                    (call, 10, 9.7)], "1 "),
                ("one below both", [(call, 8, 8.3), (call, 9, 4),
                                    (call, 10, 9.7)], "1 "),
                ("a step", [(call, 8, 8.3), (call, 9, 15.3),
                            (call, 10, 15.7)], ""),
                ("growth", [(size, 10, 3), (size, "1,000", 40),
                            (size, "100,000", 900)], ""),
                ("another row's series", [(call, 8, 8.3), (call, 9, 15.3),
                                          (size, 10, 9.7)], ""),
                ("noise", [(call, 8, 8.3), (call, 9, 10), (call, 10, 8.4)],
                 "")):
            words = [word for text, number, value in rows
                     for word in (text.format(number), value)]
            done = run(self.folder / "series", *words)
            self.tap.ok(done.stdout == found and done.returncode == 0,
                        f"what stands out: {name}", done)

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
        run_.each = [run_.by_name]
        words = {"rows": "\nrefcount: x", "most": "0.25", "goal": ""}
        for to, most, verdict in (("stock", "0.25", "met"),
                                  ("stock", "0.24", "not met"),
                                  ("limit", "1.4", "not met")):
            goal = report.Goal("goal it", {**words, "to": to, "most": most},
                               run_, {})
            self.tap.ok(goal.verdict == verdict,
                        f"{goal.value} of {to}, at most {most}: {verdict}",
                        goal.lines)
        self.several(report, figures)
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.tap.skip("the page", "matplotlib is not there")
            return
        done = run(sys.executable, HERE / "report.py", "--out", self.folder,
                   "--growth", self.folder / "growth", figures, figures,
                   figures)
        page = (self.folder / "benchmarks.md")
        pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", page.read_text())
        self.tap.ok(done.returncode == 0 and pictures, "the page", done)
        self.tap.ok("Separate runs: 3." in page.read_text(),
                    "the page says how many runs there were", done)
        done = self.bench("--filter", "IncRef and DecRef", "--passes", "1",
                          "--compare", self.folder / "benchmarks/summary.json")
        self.tap.ok(re.search(r"compared: [1-9]", done.stdout),
                    "--compare reads the report's figures", done)
        for picture in pictures:
            xml.etree.ElementTree.parse(self.folder / picture)


    def several(self, report, figures):
        """A goal counts when all runs agree; a figure is their median."""
        run_ = json.loads(figures.read_text())
        name = report.Rows.name(run_["rows"][0])
        words = {"rows": name, "most": "1.05", "goal": "", "to": "limit"}

        def runs(*ratios):
            paths = []
            for number, value in enumerate(ratios):
                row = dict(run_["rows"][0], to_limit=value, settled=True,
                           ours={"min_ns": value, "median_ns": value})
                paths.append(self.folder / f"run{number}.json")
                paths[-1].write_text(json.dumps(dict(run_, rows=[row])))
            return report.Rows(*paths)

        for ratios, verdict in (((0.99, 1.02, 1.05), "met"),
                                ((1.11, 1.10, 1.12), "not met"),
                                ((0.99, 1.11, 1.11), "unsettled"),
                                ((0.99, 0.99, 1.11), "unsettled")):
            goal = report.Goal("goal it", words, runs(*ratios), {})
            self.tap.ok(goal.verdict == verdict,
                        f"runs of {ratios}, at most 1.05: {verdict}",
                        goal.lines)
        self.tap.ok(goal.lines[0][2] == "0.99 (0.99-1.11)",
                    "ratios that differ are shown", goal.lines)
        row = runs(8.3, 15.3, 8.4).by_name[name]
        self.tap.ok(row["ours"]["min_ns"] == 8.4 and row["to_limit"] == 8.4
                    and row["to_limit_runs"] == [8.3, 8.4, 15.3],
                    "one run of three does not make the figure", row)


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
        checks.series()
        checks.report(figures)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
