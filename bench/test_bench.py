#!/usr/bin/env python3
"""Tests the benchmark program and its report. Output is TAP.

Nothing here depends on how fast anything is, but for the guard: with the two
libraries in each other's place it has to fail.
"""

import argparse
import configparser
import csv
import json
import os
import math
import random
import re
import shutil
import signal
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
        # Those of large containers take two thirds of the time, and run the loops
        # of the others.
        large = [name for name in names if "00,000" in name]
        done = self.bench("--runs", "1", "--exclude", "00,000")
        self.tap.ok(done.returncode == 0 and large and
                    f"summary: {len(names) - len(large)} rows" in done.stdout,
                    "every row runs, but those of large containers", done)
        done = self.bench("--list", "--filter", "dtype: parse f")
        self.tap.ok(all("dtype: parse f" in line
                        for line in done.stdout.splitlines())
                    and done.stdout, "--filter", done)
        done = self.bench("--list", "--filter", "^(dtype|string): ",
                          "--exclude", "float|3 bytes$")
        self.tap.ok(done.stdout == "".join(
            f"{name}\n" for name in names
            if name.startswith(("dtype: ", "string: "))
            and "float" not in name and not name.endswith("3 bytes"))
            and done.stdout, "regular expressions", done)
        done = self.bench("--filter", "(")
        self.tap.ok(done.returncode == 2 and "--filter" in done.stderr,
                    "a wrong regular expression is an error", done)
        for option in "--json", "--csv":
            done = self.bench("--runs", "1", option, self.folder / "no/x")
            self.tap.ok(done.returncode == 2 and "ns" not in done.stdout,
                        f"{option}: a bad path fails before measuring", done)
        done = self.bench("--runs", "1", "--filter", "parse float32",
                          "--csv", "-")
        lines = list(csv.DictReader(done.stdout.splitlines()))
        grows = self.bench("--runs", "1", "--filter",
                           "^registry: new type$|^any: own an int$", "--json", "-")
        grows = {row["name"]: row for row in json.loads(grows.stdout)["rows"]}
        self.tap.ok(all(
            row.get("by_median", False) == (name == "new type")
            for name, row in grows.items()) and
            abs(sum(grows["new type"]["samples"]["ours"]) / 2 -
                grows["new type"]["ours"]["median_ns"]) < 0.01,
            "of a table that grows the median counts", grows)
        self.tap.ok(len(lines) == 1 and lines[0]["name"] == "parse float32"
                    and float(lines[0]["ours_ns"]) > 0,
                    "--csv - has nothing else on the standard output", done)
        self.interrupt()
        usage = self.bench("--help").stdout
        text = (HERE / "README.md").read_text(encoding="utf-8")
        self.tap.ok(all(f"`{option}" in text for option in
                        re.findall(r"^  (--[a-z]+)", usage, re.M)) and usage,
                    "README has each option", usage)
        done = self.bench("--placements", self.folder, "--filter", "parse bool")
        self.tap.ok(done.returncode == 2 and "no placements" in done.stderr,
                    "a folder without placements is an error", done)
        done = self.bench("--filter", "no such row")
        self.tap.ok(done.returncode == 2 and "matches no row" in done.stderr,
                    "a filter that matches nothing is an error", done)
        for wrong in (["--runs", "many"], ["--runs", "0"], ["--json"],
                      ["--speed"]):
            done = self.bench(*wrong)
            self.tap.ok(done.returncode == 2 and wrong[0] in done.stderr,
                        f"{wrong[0]}: wrong use is an error", done)
        done = run(self.args.bench.resolve(), "--ours", "missing.so")
        self.tap.ok(done.returncode == 2 and "cannot load" in done.stderr,
                    "a library that is not there is an error", done)

    def interrupt(self):
        """What was measured before an interrupt is saved."""
        path = self.folder / "interrupted.json"
        with subprocess.Popen(
                [self.args.bench.resolve(), "--ours", self.args.ours,
                 "--stock", self.args.stock, "--runs", "1", "--json", path],
                text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            for line in child.stdout:
                if line.startswith("cell, 1 args"):
                    child.send_signal(signal.SIGINT)
                    break
            child.stdout.read()
        saved = json.loads(path.read_text())
        self.tap.ok(child.returncode == 130 and not saved["complete"] and
                    2 <= len(saved["rows"]) < 100,
                    "an interrupt saves the rows so far", child.returncode)

    def statistics(self):
        """Functions of verdicts.py, with known answers."""
        sys.path.insert(0, str(HERE))
        import verdicts

        def near(what, value, answer):
            self.tap.ok(abs(value - answer) < 5e-4, f"{what}: {answer}", value)

        # From tables: Student's t; I(1/2; 2, 3) is 11/16.
        near("incomplete beta", verdicts.incomplete_beta(2, 3, 0.5), 0.6875)
        near("t quantile, 4", verdicts.t_quantile(0.05, 4), 2.7764)
        near("t quantile, 10", verdicts.t_quantile(0.01, 10), 3.1693)
        # With 2 degrees, both tails are 1 - t / sqrt(2 + t * t).
        near("t test", verdicts.estimate([[1, 2, 3]])[3],
             1 - math.sqrt(12 / 14))
        near("t interval", verdicts.estimate([[1, 2, 3]])[0],
             2 - 4.3027 / math.sqrt(3))
        near("t test of a constant", verdicts.estimate([[2, 2, 2]])[3], 0)
        # Equal variances and counts: Student's test with 2 (n - 1) degrees.
        near("Welch", verdicts.estimate([[1, 2]], [[4, 5]])[3],
             1 - math.sqrt(18 / 20))
        near("Welch of the same", verdicts.estimate([[1, 2, 3]], [[1, 2, 3]])[3], 1)
        found = verdicts.holm([0.01, 0.04, 0.03, 0.9])
        for place, answer in enumerate((0.04, 0.09, 0.09, 0.9)):
            near("Holm", found[place], answer)
        near("median of 15, low", verdicts.median_interval(range(15))[0], 3)
        near("median of 7, high", verdicts.median_interval(range(7))[2], 6)
        draws = random.Random(5)
        covered = 0
        for _ in range(200):
            low, _, high, _ = verdicts.estimate(
                [[draws.gauss(mean, 1) for _ in range(8)] for mean in (-9, 9)])
            covered += low <= 0 <= high
        self.tap.ok(180 <= covered <= 199, "95 % intervals cover the mean of both "
                    "orders", covered)
        # The pooled variance is 1, and a sixth of it that of the mean.
        near("t interval of two orders",
             verdicts.estimate([[1, 2, 3], [11, 12, 13]])[0],
             7 - 2.7764 / math.sqrt(6))
        self.judged(verdicts, draws)

    def judged(self, verdicts, draws):
        def run_of(ratios, control=1.0):
            """Ten runs of a row, of one process each, which is off by 0.1 %."""
            rows = []
            for place, (name, value, is_control) in enumerate(
                    [("a control", control, True),
                     *((f"row {k}", v, False) for k, v in enumerate(ratios))]):
                stock = [100 * math.exp(draws.gauss(0, 0.001))
                         for _ in range(10)]
                rows.append({
                    "group": "g", "name": name, "control": is_control,
                    "samples": {"run": list(range(10)), "stock": stock,
                                "ours": [x * value * math.exp(
                                    draws.gauss(0, 0.001)) for x in stock]}})
            return {"rows": rows}

        def verdicts_of(*runs):
            changes = verdicts.changes_of(*runs)
            verdicts.judge(changes)
            return [change.verdict for change in changes]

        found = verdicts.runs_of({"samples": {
            "run": [0, 0, 1, 2, 2], "stock": [1] * 5,
            "ours": [1, math.e ** 2, 1, math.e, math.e]}})
        self.tap.ok(found == [[1, 0, 1]], "the processes of a run are one sample",
                    found)
        ordered = {"run": list(range(6)), "ours_first": [1, 0] * 3,
                   "stock": [1] * 6, "ours": [math.e, 1] * 3}
        found = verdicts.runs_of({"samples": ordered})
        self.tap.ok(found == [[0] * 3, [1] * 3], "the orders of loading are apart",
                    found)
        ordered["ours_first"] = [1, 0, 0, 0, 0, 0]
        found = verdicts.runs_of({"samples": ordered})
        self.tap.ok(found is not None and len(found) == 1,
                    "but for an order with too few runs", found)
        self.tap.ok(verdicts.runs_of({"samples": {
            "run": [0, 0, 1, 1], "stock": [1] * 4, "ours": [2] * 4}}) is None,
            "two runs have no interval")
        jumps = [[math.log(0.923)] * 5 + [0]]
        self.tap.ok(verdicts.estimate(jumps)[3] > 1e-3,
                    "five equal values of six are not certainty",
                    verdicts.estimate(jumps))
        tell = [None, "slower", "faster", "same"]
        self.tap.ok(verdicts_of(run_of((1.1, 0.9, 1))) == tell,
                    "verdicts of one run")
        for moved, verdict in (((1, 2), "cannot tell"), ((0, 1, 2), "slower")):
            old, new = run_of((1, 1)), run_of((1.1, 1))
            for place in moved:  # of the control and two rows
                samples = new["rows"][place]["samples"]
                for subject in "stock", "ours":
                    samples[subject] = [2 * x for x in samples[subject]]
            if verdict == "cannot tell":  # stock moved in half of the rows
                moved_too = run_of((1, 1, 1, 1))["rows"][3:]
                old["rows"] += moved_too
                new["rows"] += moved_too
            found = verdicts_of(old, new)
            self.tap.ok(found[1] == verdict, f"stock twice as slow in rows "
                        f"{moved}: {verdict}", found)
        loose = run_of((1,))
        loose["rows"][1]["samples"]["ours"] = [90, 110] * 5
        self.tap.ok(verdicts_of(loose) == [None, "cannot tell"],
                    "what has a wide interval is not said to be the same")
        luck = run_of((1.1,))
        luck["rows"][1] |= {"ours": {"median_ns": 9}, "stock": {"median_ns": 10}}
        self.tap.ok(verdicts_of(luck) == [None, "cannot tell"],
                    "medians of the turns on the other side: no verdict")
        late = run_of((1.1,))
        late["rows"][1]["samples"]["run"] = [0] * 8 + [1, 2]
        late["rows"][1]["samples"]["ours"][8:] = [100, 100]
        self.tap.ok(verdicts_of(late) == [None, "cannot tell"],
                    "a run counts once, however many processes it has")
        self.tap.ok(verdicts_of(run_of((1, 1, 1)), run_of((1.1, 0.9, 1)))
                    == tell, "verdicts of two runs")
        self.tap.ok(verdicts_of(run_of((1.1, 0.9, 1), control=1.15)) ==
                    [None, *["cannot tell"] * 3],
                    "no verdict is finer than the controls")
        self.tap.ok(verdicts_of(run_of((1.003,))) == [None, "same"],
                    "no verdict is finer than the resolution")
        # Twenty rows at the difference that is found in POWER of measurements.
        spread = run_of((1,))["rows"][1]
        size = math.exp(verdicts.least_found(spread, 20, 0))
        found = sum(verdict == "slower" for _ in range(10)
                    for verdict in verdicts_of(run_of((size,) * 20)))
        self.tap.ok(0.5 < found / 200 < 0.99, "the power is as computed", found)
        alike = sum(verdict in ("slower", "faster") for _ in range(20)
                    for verdict in verdicts_of(run_of((1,) * 10),
                                               run_of((1,) * 10)))
        self.tap.ok(alike == 0, "20 runs of the same give no verdict", alike)
        paths = self.folder / "old.json", self.folder / "new.json"
        paths[0].write_text(json.dumps(run_of((1,))))
        for value, status in ((1.1, 1), (0.9, 0)):
            paths[1].write_text(json.dumps(run_of((value,))))
            done = run(sys.executable, HERE / "verdicts.py", *paths)
            self.tap.ok(done.returncode == status and "controls: 1" in
                        done.stdout, f"{value}: exit status {status}", done)
        for wrong in HERE / "README.md", self.folder / "none.json":
            done = run(sys.executable, HERE / "verdicts.py", wrong)
            self.tap.ok(done.returncode == 2 and wrong.name in done.stderr,
                        f"{wrong.name} is no run", done)

    def figures(self):
        first, second = self.folder / "a.json", self.folder / "b.json"
        some = ["--filter", "IncRef and DecRef", "--runs", "3"]
        done = self.bench(*some, "--json", first, "--commit", "c0ffee")
        self.tap.ok(done.returncode == 0 and "summary: " in done.stdout,
                    "a table", done)
        run_ = json.loads(first.read_text())
        row = run_["rows"][0]
        self.tap.ok(
            row["passes"] == 6 and all(
                0 < row[key]["min_ns"] <= row[key]["median_ns"] * 1.01
                for key in ("limit", "stock", "ours")),
            "--json has the least and the median of each", row)
        own = row["ours"]["min_ns"] / row["stock"]["min_ns"]
        self.tap.ok(abs(row["to_stock"] / own - 1) < 0.5,
                    "the ratios are those of the times", row)
        text = first.read_text()
        self.tap.ok(all(key in run_ for key in (
            "date", "kernel", "libc", "virtualisation", "load_before",
            "commit")) and run_["complete"] and run_["commit"] == "c0ffee" and
            os.path.samefile(run_["ours_library"]["path"], self.args.ours),
            "--json has machine, sources and libraries", text)
        self.tap.ok(all(len(row["samples"][key]) == 6 for key in
                        ("limit", "stock", "ours")) and
                    row["samples"]["run"] == [0, 0, 1, 1, 2, 2] and
                    row["samples"]["exchanged"] == [0, 1] * 3 and
                    min(row["samples"]["ours"]) - row["ours"]["min_ns"] < 0.01,
                    "--json has a sample of each process", row)
        second.write_text(re.sub(r'"to_stock": [\d.]+', '"to_stock": 0.0010',
                                 text))
        done = self.bench(*some, "--compare", second)
        self.tap.ok(re.search(r"compared: (\d+) rows, of which \1 are slower",
                              done.stdout),
                    "--compare sees what became slower", done)
        done = self.bench(*some, "--compare", self.folder / "none.json")
        self.tap.ok(done.returncode == 2, "--compare needs its file", done)
        done = self.bench(*some, "--compare", HERE / "README.md")
        self.tap.ok(done.returncode == 2 and "none of the rows" in done.stderr,
                    "--compare of a file without rows is an error", done)
        return first

    def guard(self):
        some = ["--guard", "--runs", "3", "--filter", "parse float32"]
        done = self.bench(*some)
        self.tap.ok(done.returncode == 0 and "\nok 1" in done.stdout,
                    "the guard passes what is faster", done)
        done = self.bench(*some, swapped=True)
        self.tap.ok(done.returncode == 1 and "\nnot ok 1" in done.stdout,
                    "the guard fails what is slower", done)
        done = self.bench("--guard", "--short", "--runs", "1")
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
        blocks = re.findall(r"```c\n(.*?)```", (HERE / "README.md").read_text(),
                            re.S)
        (self.folder / "typed.c").write_text(blocks[1])
        done = run(*self.args.cc.split(), "-std=c11", "-Wall", "-Wextra",
                   "-Werror", "-Wno-unused-parameter", "-fsyntax-only", "-I", HERE,
                   "-I", HERE.parent, self.folder / "typed.c")
        self.tap.ok(done.returncode == 0, "README's typed object compiles", done)

    def languages(self):
        """Only C and C++ are on this PATH; the other languages are named."""
        tools = self.folder / "tools"
        tools.mkdir()
        for name in ("as", "ld", "sh"):
            (tools / name).symlink_to(shutil.which(name))
        words = [f"{shutil.which(word) or word}"
                 for word in self.args.cc.split()]
        json_ = self.folder / "languages.json"
        done = subprocess.run(
            [sys.executable, HERE / "languages/languages.py",
             self.folder / "languages", "--cc", " ".join(words), "--cxx",
             " ".join([shutil.which("g++"), *words[1:]]), "--ours",
             self.args.ours, "--stock", self.args.stock, "--rounds", "1",
             "--json", json_], capture_output=True, text=True,
            env=dict(os.environ, PATH=str(tools)))
        self.tap.ok(done.returncode == 0, "languages: builds and runs", done)
        calls = {name: median for name, _, _, median, _ in
                 json.loads(json_.read_text())["calls"]}
        calls.pop("C, libffi", None)
        self.tap.ok(set(calls) == {
            "C, a function of a library", "C, through a pointer",
            "C, packed call, ours", "C, packed call, upstream's",
            "C++, std::function"} and min(calls.values()) > 0.1,
            "languages: a row for each way to call that is installed", calls)
        named = done.stdout.splitlines()[-1]
        self.tap.ok(named.startswith("not installed: ") and all(
            f"({program})" in named for program in
            ("rustc", "go", "javac", "node", "wasmtime", "lua5.4", "luajit",
             "cargo")), "languages: those that are missing are named", named)

    def report(self, figures):
        sys.path.insert(0, str(HERE))
        import report

        done = run(sys.executable, HERE / "report.py", "--goals", figures)
        self.tap.ok(done.returncode == 0 and
                    re.search(r"^goals: \d+ of \d+ met$", done.stdout, re.M),
                    "the goals, of a run with few rows", done)
        self.words(report)
        self.limits(report, figures)
        run_ = report.Rows(figures)
        row = dict(run_.all[0], to_limit=1.5, to_stock=0.25)
        run_.by_name = {"refcount: x": row}
        words = {"rows": "\nrefcount: x", "most": "0.25", "goal": ""}
        for to, most, bounds, verdict in (
                ("stock", "0.25", [0.2, 0.25], "met"),
                ("stock", "0.24", [0.245, 0.26], "missed"),
                ("limit", "1.4", [1.3, 1.6], "cannot tell"),
                ("limit", "1.4", None, "cannot tell")):
            row.pop(f"to_{to}_interval", None)
            if bounds:
                row[f"to_{to}_interval"] = bounds
            goal = report.Goal("goal it", {**words, "to": to, "most": most},
                               run_, {})
            self.tap.ok(goal.verdict == verdict,
                        f"{goal.value} of {to} in {bounds}, at most {most}: {verdict}",
                        goal.lines)
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.tap.skip("the page", "matplotlib is not there")
            return
        facts = self.folder / "facts.json"
        done = run(sys.executable, HERE / "report.py", "--note", facts, figures)
        noted = json.loads(facts.read_text())
        self.tap.ok("50 microseconds" in noted["method"] and
                    "GCC" in str(noted["compilers"]), "what --replay needs is noted",
                    done)
        noted["method"] = "As it was done that day."
        facts.write_text(json.dumps(noted))
        done = run(sys.executable, HERE / "report.py", "--out", self.folder,
                   "--growth", self.folder / "growth", "--facts", facts, figures)
        page = (self.folder / "benchmarks.md")
        pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", page.read_text())
        self.tap.ok(done.returncode == 0 and pictures, "the page", done)
        summary = (self.folder / "benchmarks/summary.json").read_text()
        self.tap.ok("/" not in re.sub(r'"name": "[^"]*"', "", summary) and
                    "build_id" in summary and "to_stock_interval" in summary,
                    "the summary has intervals, and no path", summary)
        self.tap.ok("Runs: 3." in page.read_text() and
                    noted["method"] in page.read_text(),
                    "the page says how many runs there were, and how they ran", done)
        done = self.bench("--filter", "IncRef and DecRef", "--runs", "1",
                          "--compare", self.folder / "benchmarks/summary.json")
        self.tap.ok(re.search(r"compared: [1-9]", done.stdout),
                    "--compare reads the report's figures", done)
        again = self.folder / "again"
        again.mkdir()
        sure = self.folder / "sure.json"
        sure.write_text(json.dumps({
            "function": "TVMFFIX", "comparisons": 20, "runs": 8, "same": 0, "rows": 1,
            "record": {"date": "2026-11-30"}, "delays": [
                {"nanoseconds": 0.8, "steps": 1, "elsewhere": 1, "rows": []},
                {"nanoseconds": 1.6, "steps": 2, "elsewhere": 0, "rows": [
                    {"name": "g: row", "ratio": 1.2, "interval": 0.01,
                     "found": 19, "faster": 1, "must": True}]}]}))
        languages = self.folder / "other.json"
        languages.write_text(json.dumps({
            "calls": [["C", "call", 1.2, 1.3, 1.4]], "missing": ["go (go)"]}))
        done = run(sys.executable, HERE / "report.py", "--out", again, "--sure",
                   sure, "--languages", languages, "--beside",
                   self.folder / "benchmarks/summary.json", "--facts", facts,
                   self.folder / "benchmarks/summary.json")
        self.tap.ok(done.returncode == 0 and "## Other machines" in
                    (again / "benchmarks.md").read_text(),
                    "the page, of a summary alone, beside another machine", done)
        text = (again / "benchmarks.md").read_text()
        self.tap.ok("| g: row | 1.6 | 1.200 | 1.0% | 19 | 1 |" in text and
                    "these 40 comparisons 1 gave" in text and
                    "fewer than 14% of" in text,
                    "the page says how sure verdicts are", done)
        self.tap.ok("| C | call | 1.3 [1.2, 1.4] |" in text and
                    "Not installed on this machine: go (go)." in text,
                    "the page has calls from other languages", done)
        done = run(sys.executable, HERE / "report.py", HERE / "README.md")
        self.tap.ok(done.returncode == 2 and "not a file of" in done.stderr,
                    "the page of another file is a clear error", done)
        for picture in pictures:
            xml.etree.ElementTree.parse(self.folder / picture)


    def words(self, report):
        """Every group that has a limit has a line that says what it is."""
        ini = configparser.ConfigParser(interpolation=None, delimiters=("=",))
        ini.read(HERE / "report.ini", encoding="utf-8")
        groups = {line.partition(":")[0] for line in
                  self.bench("--list").stdout.splitlines() if ": " in line}
        self.tap.ok(groups - {"controls"} == set(ini["limits"]),
                    "the page says what each group's limit is",
                    groups ^ set(ini["limits"]))
        rows = "registry: look-up", "refcount: pair"
        row = {"to_limit": 3, "to_stock": 1, "limit": {"min_ns": 9}, "stock": {"min_ns": 7}}
        run_ = report.Rows.__new__(report.Rows)
        run_.by_name = {rows[0]: dict(row, ours={"min_ns": 8}),
                        rows[1]: dict(row, ours={"min_ns": 4})}
        goal = report.Goal("goal it", {
            "rows": rows[0], "limit": rows[1], "to": "limit", "most": "1.5",
            "goal": ""}, run_, {})
        self.tap.ok(goal.lines == [(rows[0], "4.00 / 7.00 / 8.00", "2.00")],
                    "a goal beside another row shows the times of its ratio",
                    goal.lines)
        goal = report.Goal("goal it", {
            "sizes": "load time of *", "unit": "ms", "most": "0.1", "goal": ""},
            run_, {"load time of ours": 0.5, "load time of upstream's": 5})
        self.tap.ok(goal.lines == [("load time, ms", "- / 5 / 0.5", "0.10")],
                    "a size has its unit", goal.lines)

    def limits(self, report, figures):
        """A row below its limit; a goal beside another row."""
        run_ = json.loads(figures.read_text())
        samples = {"run": list(range(8)), "limit": [2.0] * 8,
                   "stock": [2.0] * 8, "ours": [1.0] * 8}
        path = self.folder / "limits.json"
        path.write_text(json.dumps(dict(run_, rows=[
            dict(run_["rows"][0], name=name, to_limit=9, samples=dict(
                samples, ours=[ours] * 8))
            for name, ours in (("below", 1.0), ("at it", 2.0))])))
        rows = report.Rows(path)
        self.tap.ok([report.time_of(rows.all[0], subject) for subject in
                     ("limit", "stock", "ours")] == [2, 2, 1],
                    "a time is the mean over runs", rows.all[0])
        text = "\n".join(report.page_yardsticks(rows))
        self.tap.ok("below | 0.50" in text and "at it" not in text,
                    "a limit that ours is below is called a yardstick", text)
        self.tap.ok(rows.all[0]["to_limit"] == 0.5,
                    "a ratio is the one that its interval is around", rows.all)
        group = run_["rows"][0]["group"]
        for most, verdict in ("2", "met"), ("1.9", "missed"):
            goal = report.Goal("goal it", {
                "rows": f"{group}: at it", "limit": f"{group}: below", "to": "limit",
                "most": most, "goal": ""}, rows, {})
            self.tap.ok(goal.verdict == verdict and
                        goal.lines[0][2].startswith("2.00 ["),
                        f"a goal beside another row, at most {most}: {verdict}",
                        goal.lines)


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
        checks.statistics()
        figures = checks.figures()
        checks.guard()
        checks.example()
        checks.languages()
        checks.report(figures)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
