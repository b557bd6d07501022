#!/usr/bin/env python3
"""Writes docs/benchmarks.md and its pictures from what the harness measured.

Figures come from JSON: of the program bench (--json), of tests/builds/sizes.py and of
bench/compare/compare.py. Words come from bench/report.ini, which is written by
hand: the goals, how each limit was obtained, and why a figure is what it is.
With --goals nothing is written, and the goals are printed; with --note, what the record
has beside figures. With --growth, plots of
time by size go into a folder of their own, which no page shows. With --beside, the
page has tables of this machine beside others.
"""

import argparse
import configparser
import functools
import hashlib
import itertools
import json
import math
import re
import shlex
import shutil
import statistics
import sys
from pathlib import Path

import verdicts

HERE = Path(__file__).resolve().parent
STOCK = next(line for line in (HERE.parent / "requirements.txt").read_text(
    encoding="utf-8").splitlines() if line.startswith("apache-tvm-ffi"))
LOST = 1.05  # slower than stock by more than a second run would differ
NAMED = 1.2  # slower than stock by more: the overview has the row's name
SEEN = 0.01, 0.02, 0.05, 0.1  # differences; the page says how many rows show them
TYPICAL = 0.02  # a ratio by medians that differs by so much from an interval does
SUBJECTS = ("limit", "stock", "ours")
# What else the page says of the first run, where the record has it.
RECORD = (("date", "date"), ("commit", "commit"), ("model", "model"),
          ("caches", "caches"), ("memory", "memory"),
          ("core_of", "the first processor's core has processors"),
          ("microcode", "microcode"),
          ("governor", "governor"), ("virtualisation", "virtualisation"),
          ("aslr", "randomize_va_space"), ("kernel", "kernel"),
          ("libc", "libc"), ("load_before", "load before"),
          ("load", "load after"))
RATIOS = ("to_limit", "to_stock")
COLOURS = {"limit": "#888888", "stock": "#d08030", "ours": "#2060a0"}
# Six colours that most colour-blind readers can tell, and a marker for each
# binding, which print without colours shows.
BINDINGS = {
    "tvmffi.h": ("#0072b2", "o"), "tvmffi.h, stock": ("#0072b2", "x"),
    "C++, stock": ("#e69f00", "P"), "tvmffi.fast": ("#009e73", "^"),
    "extension module": ("#009e73", "s"),
    "extension module, GIL kept": ("#009e73", "*"),
    "nanobind": ("#d55e00", "D"), "nanobind, GIL released": ("#d55e00", "d"),
    "pybind11": ("#cc79a7", "v"), "cffi": ("#888888", "<"),
    "ctypes": ("#888888", "+")}
CALLS = re.compile(r"call: (TVMFFIFunctionCall|linked in), \d+ args"
                   r"|latency: TVMFFIFunctionCall, 3 args, each waits for the last")
# Of the same work, both with the GIL kept, or both without it.
PAIRS = (("extension module, GIL kept", "nanobind"),
         ("extension module", "nanobind, GIL released"))
SIZE = re.compile(r"^(?P<what>.*?),? ?(?P<size>\d[\d,]*\d|\d) "
                  r"?(?P<unit>[a-z]+)?(?P<rest>.*)$")


# -- the figures ----------------------------------------------------------


class Rows:
    def __init__(self, path):
        self.run = verdicts.read(path)
        self.all = [with_intervals(row) for row in self.run["rows"]]
        self.by_name = {self.name(row): row for row in self.all}

    @functools.cached_property
    def changes(self):
        """Ours to stock of each row that has samples, with its verdict."""
        changes = [change for row in self.all
                   if (change := verdicts.Change.within(row))]
        verdicts.judge(changes)
        return changes

    @staticmethod
    def name(row):
        return f"{row['group']}: {row['name']}"

    def summary(self):
        """Times and ratios as JSON, a line for each row, as `bench --compare`
        reads them."""
        head = [f"{json.dumps(key)}: {json.dumps(value)}"
                for key, value in self.run.items() if key != "rows"]
        rows = [{key: time_of(row, key) if key in SUBJECTS else value
                 for key, value in row.items()
                 if key in ("group", "name", "control", *SUBJECTS, *RATIOS,
                            *(f"{ratio}_interval" for ratio in RATIOS))}
                for row in self.all]
        lines = ",\n".join("    " + json.dumps(row) for row in rows)
        return "{\n  " + ",\n  ".join(head) + ',\n  "rows": [\n' \
            + lines + "\n  ]\n}\n"

    def groups(self, with_controls=True):
        groups = {}
        for row in self.all:
            if with_controls or not row.get("control"):
                groups.setdefault(row["group"], []).append(row)
        return groups

    def families(self, group, least=3):
        """{what: [(size, row)]}: rows that differ in a size alone."""
        families = {}
        for row in self.groups().get(group, []):
            match = SIZE.match(row["name"])
            if match and "ours" in row:
                what = (match["what"] + match["rest"]).strip(", ")
                size = int(match["size"].replace(",", ""))
                families.setdefault((what, match["unit"] or "items"), {})[
                    size] = row
        return {key: sorted(rows.items()) for key, rows in families.items()
                if len(rows) >= least}


def compilers_of(path):
    """The compilers of a library, which a linker notes in it."""
    found = re.findall(rb"GCC: \([^)\0]*\) [\d.]+|clang version [\d.]+",
                       Path(path).read_bytes())
    return sorted({text.decode() for text in found})


def with_intervals(row):
    """A row whose times and ratios are the means over runs, which its intervals are
    around, not those of the least times."""
    row = dict(row)
    for subject in SUBJECTS:
        if isinstance(row.get(subject), float):  # a summary has times alone
            row[subject] = {"min_ns": row[subject]}
        if runs := verdicts.runs_of(row, None, subject):
            row[subject] = dict(row[subject], typical_ns=round(
                math.exp(verdicts.mean_of(runs)[0]), 3))
    for key, over in zip(RATIOS, ("limit", "stock")):
        if key in row and (found := verdicts.interval_of(row, over)):
            low, row[key], high = (round(value, 4) for value in found)
            row[f"{key}_interval"] = [low, high]
    return row


def spread(row, key):
    """The interval of a ratio."""
    if f"{key}_interval" not in row:
        return ""
    return " [{:.2f}, {:.2f}]".format(*row[f"{key}_interval"])


def same_as_limit(rows):
    """The controls that do what their limit does."""
    return [row for row in rows.all if row.get("control") and "to_limit" in row
            and (row["group"] == "controls" or row["name"].startswith("cell, "))]


def yardsticks(rows):
    """The names of the rows where ours takes less than the limit, which then is none:
    by more than any control does."""
    least = min([row["to_limit"] for row in same_as_limit(rows)]
                + [math.exp(-verdicts.RESOLUTION)])
    return {rows.name(row) for row in rows.all if not row.get("control")
            and row.get("to_limit_interval", [0, 1])[1] < least}


def nanoseconds(value):
    if value is None:
        return "-"
    if value < 100:
        return f"{value:.2f}"
    return f"{value:,.0f}"


def ratio(value):
    return "-" if value is None else f"{value:.2f}"


def time_of(row, subject):
    figures = row.get(subject, {})
    return figures.get("typical_ns", figures.get("min_ns"))


def geometric_mean(values):
    values = list(values)
    if not values:
        return None
    return math.exp(sum(map(math.log, values)) / len(values))


# -- the goals ------------------------------------------------------------


class Goal:
    """A section `[goal WHAT]` of report.ini, and what was measured."""

    def __init__(self, section, words, rows, sizes):
        self.what = section[len("goal "):]
        self.words = words
        self.to = words.get("to", "stock")
        self.most = float(words["most"])
        self.names = words.get("rows", "").strip().splitlines()
        self.lines = []
        self.found = []  # (low, ratio, high) of each row, of which the worst counts
        for name in self.names:
            self.add_row(rows, name)
        if (size := self.size_ratio(sizes)) is not None:
            self.found.append((size, size, size))
        self.value = max((value for _, value, _ in self.found), default=None)

    def add_row(self, rows, name):
        row = rows.by_name.get(name)
        least = rows.by_name.get(self.words.get("limit"))
        key = f"to_{self.to}"
        if row is None or not (least or key in row):
            return
        times = " / ".join([
            nanoseconds(time_of(least, "ours") if least else
                        time_of(row, "limit")),
            *(nanoseconds(time_of(row, subject)) for subject in SUBJECTS[1:])])
        if least:
            value = time_of(row, "ours") / time_of(least, "ours")
            found = verdicts.interval_beside(row, least)
        else:
            value, found = row[key], row.get(f"{key}_interval")
            found = found and (found[0], value, found[1])
        self.found.append(found or (0, value, math.inf))
        self.lines.append((name, times, ratio(value) + (
            f" [{found[0]:.2f}, {found[2]:.2f}]" if found else "")))

    def size_ratio(self, sizes):
        """A line of tests/builds/sizes.py for ours, and one for upstream's."""
        name = self.words.get("sizes", "")
        ours, stock = (sizes.get(name.replace("*", whose))
                       for whose in ("ours", "upstream's"))
        if not ours or not stock:
            return None
        unit = self.words.get("unit")
        self.lines.append((name.replace(" of *", "") + f", {unit}" * bool(unit),
                           f"- / {stock:g} / {ours:g}", ratio(ours / stock)))
        return ours / stock

    @property
    def verdict(self):
        if not self.found:
            return "not measured"
        low, _, high = map(max, zip(*self.found))
        return "met" if high <= self.most else \
            "missed" if low > self.most else "cannot tell"


def goals_of(ini, rows, sizes):
    return [Goal(section, ini[section], rows, sizes)
            for section in ini.sections() if section.startswith("goal ")]


def print_goals(goals):
    width = max(len(goal.what) for goal in goals)
    print(f"{'goals':{width}}  {'goal':>8} {'measured':>9}")
    for goal in goals:
        value = "-" if goal.value is None else f"{goal.value:.2f}"
        print(f"{goal.what:{width}}  {goal.most:8.2f} {value:>9}  "
              f"{goal.verdict}")
    met = sum(goal.verdict == "met" for goal in goals)
    print(f"goals: {met} of {len(goals)} met")


# -- the pictures ---------------------------------------------------------


class Pictures:
    def __init__(self, folder, growth):
        import matplotlib

        matplotlib.use("svg")
        matplotlib.rcParams.update({
            "svg.fonttype": "none", "svg.hashsalt": "tvmffi", "font.size": 9,
            "axes.spines.top": False, "axes.spines.right": False,
            "font.family": "sans-serif", "path.simplify": True})
        from matplotlib import pyplot

        self.pyplot = pyplot
        self.folder, self.growth_folder = folder, growth
        for each in filter(None, (folder, growth)):
            shutil.rmtree(each, ignore_errors=True)
            each.mkdir(parents=True)

    def save(self, figure, path):
        figure.savefig(path, metadata={"Date": None, "Creator": None},
                       bbox_inches="tight")
        self.pyplot.close(figure)
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"[ \t]+$", "", text, flags=re.M),
                        encoding="utf-8")
        return f"{path.parent.name}/{path.name}"

    @staticmethod
    def note_machine(axis, run):
        axis.annotate(
            ", ".join(filter(None, (
                run["processor"], run.get("model"), run.get("commit"),
                run.get("date", "")[:10]))),
            (1, 1), xycoords="axes fraction", xytext=(0, 18),
            textcoords="offset points", ha="right", fontsize=7)

    def log_ticks(self, axis, which):
        """A log scale whose ticks are 1, 2 and 5 times powers of ten, or in a
        short range more."""
        ticker = self.pyplot.matplotlib.ticker
        getattr(axis, f"set_{which}scale")("log")
        scale = getattr(axis, f"{which}axis")
        low, high = getattr(axis, f"get_{which}lim")()
        scale.set_major_locator(
            ticker.MaxNLocator(5, steps=[1, 2, 5, 10]) if high < 5 * low
            else ticker.LogLocator(
                subs=(1, 2, 5) if high < 1000 * low else (1,)))
        scale.set_major_formatter("{x:g}")
        axis.minorticks_off()

    def overview(self, rows):
        """A dot for each row that is no control: ours to stock, and ours to the
        limit."""
        groups = rows.groups(with_controls=False)
        figure, sides = self.pyplot.subplots(
            1, 2, sharey=True, figsize=(9, 0.3 * len(groups) + 1))
        for axis, key, title in zip(
                sides, ("to_stock", "to_limit"),
                ("ours to stock (left is faster)", "ours to the limit")):
            for place, group in enumerate(groups):
                drawn = [row for row in groups[group] if key in row]
                values = [row[key] for row in drawn]
                axis.scatter(values, [place] * len(values), s=14, alpha=0.5,
                             color=COLOURS["ours"], linewidths=0)
                bounds = [row[f"{key}_interval"] for row in drawn
                          if f"{key}_interval" in row]
                if bounds:
                    axis.hlines([place] * len(bounds), *zip(*bounds),
                                color=COLOURS["ours"], alpha=0.5, linewidth=1)
                for row in drawn if key == "to_stock" else ():
                    if row[key] > NAMED:
                        axis.annotate(row["name"], (row[key], place), fontsize=6,
                                      xytext=(0, 4), textcoords="offset points",
                                      ha="right")
            axis.axvline(1, color=COLOURS["stock" if key == "to_stock"
                                          else "limit"], linewidth=1)
            self.log_ticks(axis, "x")
            axis.set_title(title, fontsize=9)
            axis.set_xlabel("ratio of times, log scale; line: 95 % interval")
            axis.set_yticks(range(len(groups)), list(groups))
        sides[0].invert_yaxis()
        self.note_machine(sides[1], rows.run)
        return self.save(figure, self.folder / "overview.svg")

    def calls(self, members, run):
        """What each run's call takes more than the raw one, its mean and interval."""
        figure, axis = self.pyplot.subplots(figsize=(9, 0.28 * len(members) + 1))
        for subject, lower in ("stock", -0.16), ("ours", 0.16):
            for place, row in enumerate(members):
                blocks = verdicts.runs_of(row, "limit", subject, float)
                low, mean, high, _ = verdicts.estimate(blocks)
                runs = list(itertools.chain(*blocks))
                line = place + lower
                axis.scatter(runs, [line] * len(runs), s=5, alpha=0.4, linewidths=0,
                             color=COLOURS[subject])
                axis.hlines(line, low, high, color=COLOURS[subject], linewidth=1.5)
                axis.scatter(mean, line, s=26, color=COLOURS[subject],
                             marker="o" if subject == "ours" else "x",
                             label=subject if place == 0 else None)
        axis.axvline(0, color=COLOURS["limit"], linewidth=1)
        axis.set_yticks(range(len(members)), map(Rows.name, members))
        axis.grid(axis="y", linewidth=0.3)
        axis.invert_yaxis()
        axis.set_xlabel("ns more than the raw indirect call; small dot: a run, large "
                        "mark: the mean, line: its 95 % interval")
        axis.legend(fontsize=7, frameon=False)
        self.note_machine(axis, run)
        return self.save(figure, self.folder / "calls.svg")

    def growth(self, group, families, run):
        """A small plot for each operation: time by size."""
        columns = 3
        lines = -(-len(families) // columns)
        figure, grid = self.pyplot.subplots(
            lines, columns, squeeze=False, figsize=(9, 2.3 * lines))
        figure.subplots_adjust(hspace=0.6, wspace=0.5)
        axes = list(grid.flat)
        for axis in axes[len(families):]:
            axis.remove()
        for axis, ((what, unit), points) in zip(axes, families.items()):
            for subject in SUBJECTS:
                drawn = [(size, time_of(row, subject)) for size, row in points
                         if time_of(row, subject)]
                axis.plot(*zip(*drawn) if drawn else ([], []), marker=".",
                          label=subject, color=COLOURS[subject], linewidth=1)
            if points[-1][0] >= 100:
                axis.set_xscale("log")
                self.log_ticks(axis, "y")
            else:
                axis.set_ylim(bottom=0)
            axis.set_title(what, fontsize=9)
            log = axis.get_xscale() == "log"
            axis.set_xlabel(f"{unit}, log scale" if log else unit, fontsize=8)
            axis.set_ylabel("ns, log scale" if log else "ns", fontsize=8)
        axes[0].legend(fontsize=7, frameon=False)
        self.note_machine(grid[0][-1] if len(families) >= columns else axes[0],
                          run)
        self.save(figure, self.growth_folder / f"{group}.svg")

    def python(self, calls, run):
        """A dot for each call, its median, with a line for the interval. Each
        binding has its own height in a row, so that none hides another."""
        names = list(next(iter(calls.values())))
        figure, axis = self.pyplot.subplots(
            figsize=(9, 0.7 * len(calls) + 1), layout="constrained")
        for number, name in enumerate(names):
            lower = 0.7 * (number / max(1, len(names) - 1) - 0.5)
            colour, marker = BINDINGS.get(name, ("#888888", "."))
            points = [(place + lower, *verdicts.median_interval(columns[name]))
                      for place, columns in enumerate(calls.values())
                      if name in columns]
            lines, low, median, high = zip(*points)
            axis.hlines(lines, low, high, color=colour, linewidth=1)
            axis.scatter(median, lines, s=26, color=colour, marker=marker,
                         linewidths=1, label=name)
        axis.set_yticks(range(len(calls)), list(calls))
        axis.grid(axis="y", linewidth=0.3)
        axis.invert_yaxis()
        self.log_ticks(axis, "x")
        axis.set_xlabel("ns a call, log scale; dot: median, line: its 95 % interval")
        axis.legend(fontsize=7, frameon=False, loc="center left",
                    bbox_to_anchor=(1, 0.5))
        self.note_machine(axis, run)
        return self.save(figure, self.folder / "python.svg")


# -- the page -------------------------------------------------------------


def table(head, lines, left=1):
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join(["---"] * left + ["---:"] * (len(head) - left)) \
        + " |"
    for line in lines:
        yield "| " + " | ".join(str(cell) for cell in line) + " |"
    yield ""


def paragraphs(text):
    return [*text.strip().splitlines(), ""]


def flags_of(path):
    """How the library and the loops were compiled: {file: flags}."""
    kept = {}
    if path is None:
        return kept
    for command in json.loads(path.read_text()):
        name = re.sub(r"^(\.\./)*", "", command["file"])
        if not name.endswith(("dropin/tvmffi.c", "bench/limit.c")):
            continue  # all others are compiled as these two are
        flags = [word for word in shlex.split(command["command"])[1:]
                 if word.startswith(("-O", "-f", "-std", "-m", "-D"))
                 and not word.startswith("-fdiagnostics")]
        kept.setdefault("/".join(Path(name).parts[-2:]), " ".join(flags))
    return kept


def facts_of(run, ini, commands):
    """What the page says of a measurement beside its figures. It is part of the
    record, because a replay may come from other sources, in another build."""
    flags = flags_of(commands)
    if run.get("placements", 1) > 1:  # see placements.py
        flags = {name: " ".join(dict.fromkeys([*text.split(), "-ffunction-sections"]))
                 for name, text in flags.items()}
    return {"method": ini["page"]["method"], "flags": flags,
            "compilers": {label: compilers_of(run[f"{label}_library"]["path"])
                          for label in ("ours", "stock")
                          if f"{label}_library" in run}}


def page_words(ini):
    yield "## Words"
    yield ""
    yield from table(["word", "meaning"], [[word, " ".join(text.split())]
                                           for word, text in ini["words"].items()], 2)


def page_record(args):
    if args.record:
        digest = hashlib.sha256(args.record.read_bytes()).hexdigest()
        yield from paragraphs(
            f"The least times of every process, also of the experiment with the verdicts, "
            f"are in `{args.record.name}`, a file of each release. `./dev bench --replay` "
            f"makes this page from them. SHA-256: `{digest}`.")


def page_machine(ini, rows, facts):
    run = rows.run
    place = "pinned to one of" if run["pinned"] else "not pinned, on"
    yield "## How it was measured"
    yield ""
    yield (f"Machine: {run['processor']}, {run['system']}, {place} "
           f"{run['processors']} processors. Compiler: {run['compiler']}. "
           f"Runs: {run.get('runs', 'unknown')}.")
    known = [f"{title} {run[key]}" for key, title in RECORD if key in run]
    if known:
        yield f"Record: {'; '.join(known)}."
    for label, title in ("ours", "ours"), ("stock", f"stock, of {STOCK}"):
        if library := run.get(f"{label}_library"):
            which = f"{run['placements']} links of one object file" \
                if label == "ours" and run.get("placements", 1) > 1 \
                else f"build id {library['build_id'] or 'none'}"
            by = " and ".join(facts["compilers"].get(label, [])) or "unknown"
            yield (f"Library, {title}: TVMFFIGetVersion {library['abi']}, {which}, "
                   f"compiled by {by}.")
    if run["load"] > 2:
        yield (f"The machine had other work: a load of {run['load']:.0f}. The "
               "ratios of large tables would be others on a quiet one.")
    for name, flags in facts["flags"].items():
        yield f"`{name}`: `{flags}`."
    yield ""
    yield from paragraphs(facts["method"])
    yield from paragraphs(ini["page"]["statistics"])


def page_goals(goals):
    yield "## The goals"
    yield ""
    yield ("Times are nanoseconds, if the row names no other unit: limit / stock "
           "/ ours. The limit is that of the row, or the other work that the goal "
           "names. A goal is the largest ratio allowed; of several rows the worst "
           "counts. A goal is met or missed if the 95 % interval of its worst row is on one side of it, and "
           "otherwise it is \"cannot tell\"; that is not corrected for the number "
           "of goals. Sizes and load times were measured once and have no "
           "interval.")
    yield ""
    lines = []
    for goal in goals:
        for place, (name, times, value) in enumerate(
                goal.lines or [("no row", "-", "-")]):
            lines.append([goal.what if place == 0 else "",
                          goal.words["goal"] if place == 0 else "", name,
                          times, value, goal.verdict if place == 0 else ""])
    yield from table(["what", "goal", "row", "times", "ratio", ""], lines, 3)
    yield from paragraphs(
        f"{sum(goal.verdict == 'met' for goal in goals)} of {len(goals)} are "
        "met.")
    for goal in goals:
        if "why" in goal.words:
            yield f"**{goal.what}** ({goal.verdict})."
            yield from paragraphs(goal.words["why"])
        elif goal.verdict in ("missed", "cannot tell"):
            yield f"**{goal.what}** ({goal.verdict})."
            yield from paragraphs("Not explained yet.")


def page_calls(ini, rows, pictures):
    """What a call takes more than a raw one, in nanoseconds."""
    members = [row for row in rows.all if CALLS.fullmatch(rows.name(row))
               and verdicts.runs_of(row) and verdicts.runs_of(row, "limit")]
    if not members:
        return
    yield "## A call"
    yield ""
    yield from paragraphs(ini["page"]["calls"])
    yield f"![what a call takes more than a raw one]({pictures.calls(members, rows.run)})"
    yield ""
    lines = []
    for row in members:
        found = [verdicts.estimate(verdicts.runs_of(row, over, subject, float))
                 for subject, over in (("stock", "limit"), ("ours", "limit"),
                                       ("ours", "stock"))]
        lines.append([rows.name(row), nanoseconds(time_of(row, "limit")),
                      *(f"{value:.2f} [{low:.2f}, {high:.2f}]"
                        for low, value, high, _ in found)])
    yield from table(["ns", "raw call", "stock less raw", "ours less raw",
                      "ours less stock"], lines)


def page_controls(rows):
    """The bias and the noise of the run, and how many rows they let it judge."""
    changes = rows.changes
    controls = sum(change.control for change in changes)
    if not controls:
        return
    bias, noise = verdicts.noise_of(changes)
    count = {verdict: sum(change.verdict == verdict for change in changes)
             for verdict in verdicts.VERDICTS}
    outside = sum(change.low > 0 or change.high < 0 for change in changes
                  if change.control)
    far = [row for row in rows.all if row["group"] == "controls"]
    same = same_as_limit(rows)
    yield "## Controls"
    yield ""
    yield from paragraphs(
        f"{controls} rows, marked \"=\", run no code of a library, so their "
        f"true ratio is 1. The median of their ratios to stock is "
        f"{math.exp(bias):.3f}. The 95 % intervals of {outside} of them leave 1 "
        f"out, the farthest by {math.expm1(noise):.2%}: no verdict is finer than "
        "that, or than "
        f"{verdicts.RESOLUTION:.1%}.")
    if same:
        yield from paragraphs(
            f"{len(same)} controls do what their limit does. Their ratios to the limit "
            f"are between {min(row['to_limit'] for row in same):.2f} and "
            f"{max(row['to_limit'] for row in same):.2f}: no ratio to the limit is "
            "finer than that.")
    if far:
        yield from paragraphs(
            "Most controls are calls whose memory is in the nearest cache. These "
            "reach others, and show how much less sure the figures of such rows are:")
        yield from table(["control", "to stock", "to limit"], [
            [rows.name(row), *(ratio(row.get(key)) + spread(row, key)
                               for key in reversed(RATIOS))] for row in far])
    medians = sum(
        not change.control and max(change.low - change.typical,
                                   change.typical - change.high) > TYPICAL
        for change in changes)
    yield from paragraphs(
        f"Of the other rows {count['faster']} are faster than stock and "
        f"{count['slower']} slower: the interval is beyond the noise, the "
        "probability by chance at most 5 % after Holm's correction for the number "
        "of rows, and the medians of the turns, which include what else the machine "
        f"did, are on the same side. {count['same']} are the same: the interval is "
        "within "
        f"{verdicts.RESOLUTION:.1%} of 1. Of {count['cannot tell']} these runs "
        f"cannot tell. A ratio is that of undisturbed turns; in {medians} rows the "
        f"ratio by the median of turns is outside the interval by over {TYPICAL:.0%}.")
    yield from page_power(rows, noise)
    yield from page_order(rows)


def page_power(rows, noise):
    """How small a difference these runs find."""
    judged = [row for row in rows.all if not row.get("control")
              and verdicts.runs_of(row)]
    least = sorted(math.expm1(verdicts.least_found(row, len(judged), noise))
                   for row in judged)
    if not least:
        return
    found = ", ".join(f"{size:.0%} in {sum(each <= size for each in least)}"
                      for size in SEEN)
    yield from paragraphs(
        f"By the spread of their runs, a verdict finds a row that is slower by "
        f"{statistics.median(least):.1%} in half of these {len(least)} rows, in "
        f"{verdicts.POWER:.0%} of measurements like this one. It finds {found}.")


def page_order(rows):
    """The rows whose ratio differs with the order of loading."""
    both = [(row, runs) for row in rows.all
            if (runs := verdicts.runs_of(row)) and len(runs) == 2]
    chances = verdicts.holm([verdicts.estimate(*([block] for block in runs))[3]
                             for _, runs in both])
    lines = [[rows.name(row), *(f"{math.exp(statistics.fmean(values)):.3f}"
                                for values in (*runs, map(statistics.fmean, runs)))]
             for (row, runs), chance in zip(both, chances)
             if chance <= verdicts.LEVEL]
    if lines:
        yield from paragraphs(
            f"In {len(lines)} of {len(both)} rows the ratio differs with the library that "
            "is loaded first, by Welch's t test after Holm's correction. This page has "
            "the mean of both orders, and its interval is that of the mean:")
        yield from table(["ours to stock", "stock is first", "ours is first", "mean"],
                         lines)


def page_sure(result, rows):
    """The result of test_verdicts.py."""
    count, delays = result["comparisons"], result["delays"]
    where = ", ".join(result["record"].values())
    if "load" in result:
        where += f", load at most {result['load']:.1f}"
    steps = " or ".join("one multiplication" if delay["steps"] == 1 else
                        f"{delay['steps']} multiplications" for delay in delays)
    bound = "" if result["same"] else (
        ", so that with 95 % confidence fewer than "
        f"{1 - verdicts.LEVEL ** (1 / count):.0%} of such comparisons do")
    yield from paragraphs(
        f"An experiment with the verdicts ({where}), of {result['rows']} of the "
        f"{len(rows.all)} rows: of {count} comparisons of two libraries of one "
        f"header, each of {result['runs']} runs, {result['same']} gave a "
        f"verdict{bound}. Then "
        f"`{result['function']}` was made slower by {steps} of its first "
        f"argument, and each library compared {count} times. All rows that call "
        "the function are in this table. The processor hides a part of that, most "
        "of it where no call waits for another:")
    yield from table(
        ["row", "made slower by, ns", "ratio", "width of the interval",
         f"found slower, of {count}", "found faster"],
        [[row["name"], f"{delay['nanoseconds']:.1f}", f"{row['ratio']:.3f}",
          f"{row['interval']:.1%}", row["found"], row["faster"]]
         for delay in delays for row in delay["rows"]])
    must = [row["found"] for delay in delays for row in delay["rows"] if row["must"]]
    yield from paragraphs(
        f"Where a ratio is more than twice the width of its interval, at {len(must)} "
        "places of this table, the verdict should be found in 19 of 20 comparisons: "
        f"it was at {sum(found >= 0.95 * count for found in must)}.")
    elsewhere = sum(delay["elsewhere"] for delay in delays)
    yield from paragraphs(
        f"Of these {count * len(delays)} comparisons {elsewhere} gave a verdict on a "
        "row that does not call the function.")


def page_unseen(ini):
    yield "## What these figures do not show"
    yield ""
    yield from paragraphs(ini["page"]["unseen"])


def is_slower(row, judged):
    """By its verdict, or in an older record by its ratio."""
    if Rows.name(row) in judged:
        return judged[Rows.name(row)] == "slower"
    return row.get("to_stock", 0) > LOST and not row.get("control")


def page_losses(rows, ini):
    changes = rows.changes
    judged = {change.name: change.verdict for change in changes}
    lost = sorted((row for row in rows.all if is_slower(row, judged)),
                  key=lambda row: -row["to_stock"])
    yield "## Where we lose"
    yield ""
    if not lost:
        yield from paragraphs("Nowhere: no row is slower than stock beyond "
                              "the noise.")
    else:
        count = sum(not row.get("control") for row in rows.all)
        yield (f"{len(lost)} of {count} rows are slower than stock by "
               + ("a verdict:" if changes else f"more than {LOST - 1:.0%}:"))
        yield ""
        yield from table(
            ["row", "stock", "ours", "ratio"],
            [[rows.name(row), nanoseconds(time_of(row, "stock")),
              nanoseconds(time_of(row, "ours")), ratio(row["to_stock"])]
             for row in lost])
    yield from paragraphs(ini["page"]["losses"])


def page_yardsticks(rows):
    """Rows whose limit is none, as ours takes less."""
    names = yardsticks(rows)
    below = [row for row in rows.all if rows.name(row) in names]
    if not below:
        yield from paragraphs(
            "No row takes less than its limit by more than the interval of its "
            "ratio, and by more than any control does.")
        return
    yield from paragraphs(
        f"{len(below)} rows take less than their limit, by more than the interval "
        "of the ratio, and by more than any control does: there it is a yardstick, not a "
        "bound, because the compiler or ours does the work another way.")
    yield from table(["a yardstick in", "ratio"],
                     [[rows.name(row), ratio(row["to_limit"])
                       + spread(row, "to_limit")] for row in below])


def page_limits(ini, rows):
    yield "## The limits"
    yield ""
    shared = {}
    for row in rows.all:
        if "limit_is" in row:
            shared.setdefault(row["limit_is"], set()).add(row["group"])
    yield from paragraphs(ini["page"]["limits"])
    yield from table(["group", "the least work that could do"],
                     [[group, " ".join(text.split())]
                      for group, text in ini["limits"].items()], 2)
    if shared:
        yield from table(["a limit of several rows", "in"],
                         [[text, ", ".join(sorted(groups))]
                          for text, groups in shared.items()], 2)
    yield from page_yardsticks(rows)


def page_machines(ini, rows, goals, paths):
    """This machine beside the records of others."""
    others = [Rows(path) for path in paths]
    if not others:
        return
    names = [chr(ord("A") + place) for place in range(len(others) + 1)]
    yield "## Other machines"
    yield ""
    yield from table(
        ["", "processor", "model", "compiler", "date", "commit"],
        [[name, *(each.run.get(key, "-") for key in
                  ("processor", "model", "compiler", "date", "commit"))]
         for name, each in zip(names, (rows, *others))], 6)
    yield from paragraphs(
        "The goals; ours to stock in groups, by the geometric mean; and ours to what "
        "the goals compare with in their rows, on each machine, by the suite of its "
        "commit. Sizes and load times were measured on A alone.")
    verdicts_of = [goals, *(goals_of(ini, each, {}) for each in others)]
    yield from table(["goal", *names], [
        [same[0].what, *(goal.verdict for goal in same)]
        for same in zip(*verdicts_of)], len(names) + 1)
    groups = [each.groups(with_controls=False) for each in (rows, *others)]
    yield from table(["group", *names], [
        [group, *(ratio(geometric_mean(
            row["to_stock"] for row in each.get(group, [])
            if "to_stock" in row)) for each in groups)] for group in groups[0]])
    yield from table(["row", "to", *names], [
        [name, goal.to, *(ratio(row.get(f"to_{goal.to}"))
                          + spread(row, f"to_{goal.to}")
                          for row in (each.by_name.get(name, {})
                                      for each in (rows, *others)))]
        for goal in goals if "limit" not in goal.words
        for name in goal.names], 2)


def page_rows(ini, rows, pictures):
    without = yardsticks(rows)
    yield "## Every row"
    yield ""
    yield f"![each row beside stock and its limit]({pictures.overview(rows)})"
    yield ""
    yield from table(
        ["group", "rows", "ours to the limit", "ours to stock"],
        [[group, len(members),
          ratio(geometric_mean(r["to_limit"] for r in members
                               if "to_limit" in r and rows.name(r) not in without)),
          ratio(geometric_mean(r["to_stock"] for r in members
                               if "to_stock" in r))]
         for group, members in rows.groups(with_controls=False).items()])
    yield from paragraphs(ini["page"]["rows"])
    counted = any("cycles" in row.get("ours", {}) for row in rows.all)
    for group, members in rows.groups().items():
        yield f"### {group}"
        yield ""
        families = rows.families(group)
        if families and pictures.growth_folder:
            pictures.growth(group, families, rows.run)
        head = ["", "limit", "stock", "ours", "to limit", "to stock"]
        lines = []
        for row in members:
            line = [row["name"], *(nanoseconds(time_of(row, subject))
                                   for subject in SUBJECTS),
                    ratio(row.get("to_limit")) + spread(row, "to_limit"),
                    ratio(row.get("to_stock")) + spread(row, "to_stock")
                    + (" =" if row.get("control") else "")]
            if counted:
                own = row.get("ours", {})
                line += [f"{own.get('cycles', 0):.1f}",
                         f"{own.get('instructions', 0):.1f}"]
            lines.append(line)
        if counted:
            head += ["cycles", "instructions"]
        yield from table(head, lines)


def ratio_of_processes(times, others):
    """Of two that alternated: the median of the processes' ratios, and its
    interval."""
    low, median, high = verdicts.median_interval(
        [time / other for time, other in zip(times, others)])
    return f"{median:.2f} [{low:.2f}, {high:.2f}]"


def page_python(ini, compared, pictures, run):
    calls = compared["calls"]
    names = list(next(iter(calls.values())))
    yield "## From Python"
    yield ""
    yield from paragraphs(ini["page"]["python"])
    yield from page_versions(compared)
    yield f"![a call from Python]({pictures.python(calls, run)})"
    yield ""
    yield from table(["ns", *names],
                     [[f"`{row}`", *(f"{statistics.median(columns[name]):.0f}"
                                     if name in columns else "-"
                                     for name in names)]
                      for row, columns in calls.items()])
    for ours, other in PAIRS:
        yield from table(
            [f"{ours}, to {other}", "ratio"],
            [[f"`{row}`", ratio_of_processes(columns[ours], columns[other])]
             for row, columns in calls.items()
             if ours in columns and other in columns])


def page_versions(measured):
    """When and with what a part was measured that is not of the harness."""
    if "date" in measured:
        yield from paragraphs(f"Measured {measured['date']}; C and C++ compiled with "
                              f"`{measured['flags']}`.")
    if versions := measured.get("versions"):
        yield from paragraphs("Versions: " + ", ".join(
            f"{name} {version}" for name, version in versions.items()) + ".")


def page_languages(ini, measured):
    yield "## From other languages"
    yield ""
    yield from paragraphs(ini["page"]["languages"])
    yield from page_versions(measured)
    yield from table(["a call from, by", "beside the addition", "ns"],
                     [[name, work, f"{median:.1f} [{low:.1f}, {high:.1f}]"]
                      for name, work, low, median, high in measured["calls"]], 2)
    if measured["missing"]:
        yield from paragraphs("Not installed on this machine: "
                              + ", ".join(measured["missing"]) + ".")


def page_sizes(ini, lines):
    """A table of what both have, a list of the rest, and words."""
    yield "## Sizes, compile and load times"
    yield ""
    both, rest = {}, []
    for line in lines:
        match = re.match(r"(.*) of (ours|upstream's): (.*)", line)
        if match:
            both.setdefault(match[1], {})[match[2]] = match[3]
        else:
            rest.append(line)
    yield from table(["", "ours", "upstream's"],
                     [[what, of.get("ours", "-"), of.get("upstream's", "-")]
                      for what, of in both.items()])
    yield from (f"- {line}" for line in rest)
    yield ""
    yield from paragraphs(ini["page"]["sizes"])


def write_page(args, ini, rows, goals, sizes):
    facts = json.loads(args.facts.read_text())
    for label in ("ours_library", "stock_library"):
        rows.run.get(label, {}).pop("path", None)  # it is of one machine
    pictures = Pictures(args.out / "benchmarks", args.growth)
    lines = ["# Benchmarks", "", *paragraphs(ini["page"]["head"]),
             *page_record(args), *page_words(ini), *page_machine(ini, rows, facts),
             *page_goals(goals), *page_calls(ini, rows, pictures),
             *page_controls(rows)]
    if args.sure:
        lines += page_sure(json.loads(args.sure.read_text()), rows)
    lines += [*page_unseen(ini), *page_losses(rows, ini)]
    if args.python:
        lines += page_python(ini, json.loads(args.python.read_text()),
                             pictures, rows.run)
    if args.languages:
        lines += page_languages(ini, json.loads(args.languages.read_text()))
    if args.sizes:
        lines += page_sizes(ini, sizes)
    lines += [*page_limits(ini, rows),
              *page_machines(ini, rows, goals, args.beside),
              *page_rows(ini, rows, pictures)]
    text = "\n".join(lines).rstrip() + "\n"
    (args.out / "benchmarks.md").write_text(text, encoding="utf-8")
    (args.out / "benchmarks/summary.json").write_text(rows.summary())


def numbers(lines):
    """{what: number} of the lines that tests/builds/sizes.py writes."""
    found = {}
    for line in lines:
        what, _, rest = line.partition(": ")
        match = re.match(r"[\d.]+", rest)
        if match:
            found[what] = float(match[0])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=Path, default=HERE / "report.ini")
    parser.add_argument("--sizes", type=Path)
    parser.add_argument("--python", type=Path)
    parser.add_argument("--languages", type=Path)
    parser.add_argument("--commands", type=Path,
                        help="compile_commands.json of the build")
    parser.add_argument("--note", type=Path,
                        help="only writes what --facts reads")
    parser.add_argument("--facts", type=Path,
                        help="what else the page says of the measurement")
    parser.add_argument("--goals", action="store_true")
    parser.add_argument("--growth", type=Path)
    parser.add_argument("--beside", type=Path, action="append", default=[],
                        help="a summary.json of another machine")
    parser.add_argument("--sure", type=Path,
                        help="result.json of test_verdicts.py")
    parser.add_argument("--record", type=Path, help="the file with all samples")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs")
    parser.add_argument("run", type=Path)
    args = parser.parse_args()
    ini = configparser.ConfigParser(interpolation=None, delimiters=("=",),
                                    empty_lines_in_values=True)
    ini.optionxform = str
    ini.read(args.words, encoding="utf-8")
    rows = Rows(args.run)
    sizes = json.loads(args.sizes.read_text()) if args.sizes else []
    goals = goals_of(ini, rows, numbers(sizes))
    if args.note:
        args.note.write_text(json.dumps(facts_of(rows.run, ini, args.commands)))
    elif args.goals:
        print_goals(goals)
    else:
        write_page(args, ini, rows, goals, sizes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
