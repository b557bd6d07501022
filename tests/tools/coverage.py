#!/usr/bin/env python3
"""Measures what the unit tests reach of src/: lines, branches and conditions.

    python3 tests/tools/coverage.py                    TAP, as a test
    python3 tests/tools/coverage.py --list copy graph  what two rooms miss
    python3 tests/tools/coverage.py --write            TAP, and the table of
                                                       docs/reliability.md

clang compiles tvmffi_impl_test.c without assertions, which are no branches
that a test could take. The program runs as it is and with each allocation
failing. Other builds of it run as well, because some code of the first is
reached only with exceptions, without types, or on a board of 32 bits; what they
alone compile does not count.

- Lines: a line counts if its first token is code.
- Branches: each condition has two, true and false, and each `case` has one.
- Conditions: those of decisions with `&&` or `||`, by MC/DC. A condition is
  covered if two evaluations differ in it and in the result, and in no other
  condition that was evaluated.

unreached.txt lists what is missing, with reasons. What is missing and not listed
is an error, and so is what is listed and not missing.

Constant conditions do not count. What the expansion of a macro contains counts
where it is expanded, if that is a function of src/. What no build of the tests
compiles, such as code for boards, is not measured.

--list prints the place in src/ and the text of what is missing:
    not reached           the line never ran
    never true            the condition was never true; `case`: not taken
    never false           the condition was never false
    decides nothing       the condition was both true and false, but no two
                          evaluations show that it changes the result
With no ROOM it prints all rooms. A ROOM is a file (copy), a layer (graph), or
both (core/object).
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True

# Layers with macros that expand in files of users.
USER_LAYERS = ("head", "base", "interface")
FIGURES = ("lines", "branches", "conditions")
LIST = Path(__file__).with_name("unreached.txt")
AT_TIMES = "at times"  # begins a reason for which a condition may be reached
# What depends on the timing of threads, or on addresses, may be missing in a run.
MOST_RUNS = 6
# The kinds of regions that llvm-cov exports.
CODE, EXPANSION, SKIPPED, GAP, BRANCH, DECISION, CONDITION = range(7)
PROGRAM = "tvmffi_impl_test.c"
# A counter that threads race for makes "never false" look like "at times": how
# often a condition was false is the difference of two counters.
FLAGS = ["-O0", "-g", "-rdynamic", "-fprofile-instr-generate",
         "-fprofile-update=atomic", "-fcoverage-mapping", "-fcoverage-mcdc",
         "-Xclang", "-fmcdc-max-conditions=32", "-Xclang",
         "-fmcdc-max-test-vectors=1000000", "-DTEST_NO_ASSERTS=1",
         "-DTEST_SYMBOLS=1", "-DTEST_COVERAGE=1"]
# The tests' own functions are not counted: they would take a third of the time.
UNCOUNTED = "[clang]\nsource:*/tests/unit/*=skip\n"
OTHER_BUILDS = {  # the slowest first
    "for a board": ["-m32", "-DTVMFFI_FREESTANDING=1", "-DTVMFFI_NO_THREADS=1",
                    "-include", "string.h"],
    "in C++": ["-x", "c++", "-std=c++11", "-lstdc++"],
    "without types": ["-DTVMFFI_NO_TYPES=1"]}
WITH_REFUSALS = ("for a board",)
DROPPED = re.compile(r"tvmffi\.h:(\d+):\d+: warning: (unsupported MC/DC.*)")
HINT = re.compile(r"\bTVMFFI_I_(?:UN)?LIKELY(?=\()")


def without_hints(line):
    """A line with spaces for TVMFFI_I_LIKELY and TVMFFI_I_UNLIKELY: clang drops
    a decision with a function call around some of its conditions."""
    if re.match(r"#define \w+LIKELY", line):
        return line
    return HINT.sub(lambda name: " " * len(name[0]), line)


NOT_REACHED = "not reached"


class Figure(dict):
    """The things that a figure counts, by their place: [line, whether it is
    covered, what to print if not]. Two functions of one macro have the same
    places; one of them can cover a place for both."""

    def add(self, place, line, is_covered, text):
        old = self.setdefault(place, [line, False, None])
        old[1] = old[1] or bool(is_covered)
        old[2] = old[2] or text

    def with_those_of(self, other):
        """The same things, covered if they are in either figure."""
        figure = Figure()
        for place, (line, is_covered, text) in self.items():
            figure[place] = [line, is_covered or
                             other.get(place, (0, False))[1], text]
        return figure

    def missing(self):
        return [(line, text) for line, is_covered, text in self.values()
                if not is_covered]


class Function:
    """What the export tells of one function of the header."""

    def __init__(self, exported, root, lines):
        self.lines = lines
        self.root = root
        self.regions = exported["regions"]
        self.branches = exported["branches"]
        self.decisions = exported["mcdc_records"]
        # The region that expands each file of the function: a macro is one.
        self.sites = {region[6]: region for region in self.regions
                      if region[7] == EXPANSION}

    def text(self, place):
        line, column, line_end, column_end = place[:4]
        if line == line_end:
            found = self.lines[line - 1][column - 1:column_end - 1]
        else:
            found = " ".join(
                [self.lines[line - 1][column - 1:],
                 *self.lines[line:line_end - 1],
                 self.lines[line_end - 1][:column_end - 1]])
        return " ".join(found.replace("\\ ", " ").split())

    def chain(self, place, file):
        """The place, then the places whose macros contain it."""
        places = [tuple(place[:4])]
        while file in self.sites:
            site = self.sites[file]
            file = site[5]
            places.append(tuple(site[:4]))
        return tuple(places)

    def describe(self, places):
        """The line in the function, and the text with its macro."""
        inner = self.text(places[0])
        line, column = places[-1][:2]
        if len(places) > 1:
            inner += f" in {self.lines[line - 1][column - 1:].rstrip(chr(92))}"
        return line, inner.strip()

    def count_at(self, line, column, file, extended=False):
        """How often the innermost region around a place ran; None if it is no
        code. `extended`: the regions that begin on the line, too."""
        best, kind, count = None, None, None
        for region in self.regions:
            start, end = tuple(region[:2]), tuple(region[2:4])
            if region[5] != file or not start <= (line, column) < end:
                continue
            if best is None or start > best[0] or \
                    start == best[0] and end <= best[1]:
                best, kind, count = (start, end), region[7], region[4]
        if kind in (None, SKIPPED):
            return None
        if extended:
            count = max([count, *(region[4] for region in self.regions
                                  if region[5] == file and region[0] == line
                                  and region[7] in (CODE, EXPANSION))])
        return count

    def count_lines(self, figure):
        body = max((region for region in self.regions
                    if region[5] == self.root and region[7] == CODE),
                   key=lambda region: (region[2] - region[0], region[3]))
        for number in range(body[0], body[2] + 1):
            line = self.lines[number - 1]
            column = len(line) - len(line.lstrip()) + 1
            if number == body[0]:
                column = body[1]
            elif not line.strip(" \t{}();\\") or line.lstrip()[0] == "#":
                continue
            count = self.count_at(number, column, self.root, True)
            if count is not None:
                figure.add(number, number, count, NOT_REACHED)

    def is_constant(self, branch):
        if branch[4] or branch[5]:
            return False
        return bool(self.count_at(branch[0], branch[1], branch[6]))

    def count_branches(self, figure):
        for branch in self.branches:
            if self.is_constant(branch):
                continue
            places = self.chain(branch, branch[6])
            line, text = self.describe(places)
            seen = branch[4] or branch[5]
            figure.add((places, True), line, branch[4],
                       f"never true: {text}" if seen else None)
            if not re.match(r"(case|default)\b", text):
                figure.add((places, False), line, branch[5],
                           f"never false: {text}" if seen else None)

    def conditions_of(self, decision, taken):
        """A decision's file and branches. The export does not name its file;
        two expansions of one macro have the same place."""
        start, end = tuple(decision[:2]), tuple(decision[2:4])
        found = defaultdict(list)
        for branch in self.branches:
            if branch[8] != CONDITION:
                continue
            file, place = branch[6], branch
            while True:
                if start <= tuple(place[:2]) and tuple(place[2:4]) <= end:
                    found[file].append(branch)
                if file not in self.sites:
                    break
                place = self.sites[file]
                file = place[5]
        for file in sorted(found):
            if (file, start, end) not in taken and \
                    len(found[file]) == len(decision[6]):
                taken.add((file, start, end))
                return file, found[file]
        return self.root, []

    def count_conditions(self, figure):
        taken = set()
        for decision in self.decisions:
            file, branches = self.conditions_of(decision, taken)
            whole = self.describe(self.chain(decision, file))[1]
            if not branches:
                figure.add(tuple(decision[:4]), decision[0], False,
                           f"cannot find the conditions of: {whole}")
            for branch, is_covered in zip(branches, decision[6]):
                if self.is_constant(branch):
                    continue
                places = self.chain(branch, branch[6])
                line, text = self.describe(places)
                figure.add(places, line, is_covered,
                           f"decides nothing: {text} -- in: {whole}"
                           if branch[4] and branch[5] else None)


def functions(data, header, lines, places):
    """The functions of the header, without those of the user's macros."""
    in_macro = set()
    for number, line in enumerate(lines, 1):
        if line.startswith("#define") or number - 1 in in_macro and \
                lines[number - 2].endswith("\\"):
            in_macro.add(number)
    for exported in data["functions"]:
        names = exported["filenames"]
        expanded = {region[6] for region in exported["regions"]
                    if region[7] == EXPANSION}
        # A function that begins in a macro has the file of the macro, too.
        root, *others = [file for file in range(len(names))
                         if file not in expanded]
        if others or Path(names[root]).resolve() != header:
            continue
        line = min(region[0] for region in exported["regions"]
                   if region[5] == root)
        if line not in in_macro or \
                places[line - 1].path.parent.name not in USER_LAYERS:
            yield Function(exported, root, lines)


def checked(command, **options):
    run = subprocess.run([str(word) for word in command], capture_output=True,
                         text=True, errors="replace", check=False, **options)
    if run.returncode:
        sys.exit(f"{command[0]}: status {run.returncode}\n{run.stderr[-3000:]}")
    return run


class Build:
    """A build of the unit tests, compiled and run in a folder of its own."""

    def __init__(self, root, version, header, folder, flags=()):
        self.root, self.version, self.folder = root, version, folder
        folder.mkdir()
        uncounted = folder / "uncounted"
        uncounted.write_text(UNCOUNTED)
        # From its standard input: a file includes what lies beside it first.
        self.compiled = checked(
            [f"clang-{version}", "-x", "c", "-std=c11", *FLAGS, *flags,
             f"-fprofile-list={uncounted}", "-", "-iquote", header.parent,
             "-iquote", root, "-o", "unit", "-lpthread"], cwd=folder,
            input=(root / PROGRAM).read_text())

    def start(self, *options):
        out = tempfile.TemporaryFile()
        prefix = "oom" if "--oom" in options else "plain"
        return options, out, subprocess.Popen(
            [self.folder / "unit", *options], stdout=out, cwd=self.root,
            stderr=subprocess.STDOUT, env={
                "LLVM_PROFILE_FILE": str(self.folder / f"{prefix}-%p.profraw")})

    def exported(self, profiles):
        """What llvm-cov says of some runs."""
        checked([f"llvm-profdata-{self.version}", "merge", "-sparse", "-o",
                 "profile", *self.folder.glob(profiles)], cwd=self.folder)
        return json.loads(checked(
            [f"llvm-cov-{self.version}", "export", "unit",
             "-instr-profile=profile"], cwd=self.folder).stdout)["data"][0]


def finished(name, started):
    """(name, status, output) of a run."""
    options, out, process = started
    status = process.wait()
    out.seek(0)
    return (" ".join(["unit tests", *options, name]).strip(), status,
            out.read().decode(errors="replace"))


def measure(root, version, folder, places):
    """Returns the figures of the unit tests, of them and of the runs with each
    allocation failing, and of all builds; the decisions that clang drops; and
    (name, status, output) of each run."""
    header = folder / "tvmffi.h"
    lines = [without_hints(place.text) for place in places]
    header.write_text("\n".join([*lines, ""]))

    def run(name):
        build = Build(root, version, header, folder / name.replace(" ", ""),
                      OTHER_BUILDS[name])
        started = [build.start("--short")]
        if name in WITH_REFUSALS:
            started.append(build.start("--oom", "--short"))
        return build, [finished(name, each) for each in started]

    with ThreadPoolExecutor(2) as pool:
        others = [pool.submit(run, name) for name in OTHER_BUILDS]
        build = Build(root, version, header, folder / "c")
        started = [build.start("--short"),
                   build.start("--oom", "--short")]
        results = [finished("", each) for each in started]
        first = count(build.exported("plain-*"), header, lines, places)
        others = [other.result() for other in others]
    dropped = [(int(line), "not measured: " + (
        "a decision is inside a condition" if "nested" in text else text))
        for line, text in DROPPED.findall(build.compiled.stderr)]
    results += [result for _, each in others for result in each]
    figures = [count(built.exported("*.profraw"), header, lines, places)
               for built, _ in others]
    listed = read_list()
    for again in range(MOST_RUNS):
        second = together = count(build.exported("*.profraw"), header, lines,
                                  places)
        for figure in figures:
            together = {name: each.with_those_of(figure[name])
                        for name, each in together.items()}
        if again == MOST_RUNS - 1 or not unlisted(
                entries(gaps(together, dropped, places), places), listed):
            return [first, second, together], dropped, results
        results.append(finished("again", build.start("--short")))


def count(data, header, lines, places):
    """{"lines": Figure, ...}"""
    figures = {name: Figure() for name in FIGURES}
    for function in functions(data, header, lines, places):
        function.count_lines(figures["lines"])
        function.count_branches(figures["branches"])
        function.count_conditions(figures["conditions"])
    return figures


def room_of(line):
    """src/core/object.h is core/object."""
    return "/".join(line.path.with_suffix("").parts[-2:])


def is_named(room, names):
    return not names or any(name in (room, *room.split("/")) for name in names)


def gaps(figures, dropped, places):
    """[first line, last line, text] of what is missing, by line."""
    order = {number: at for at, number in enumerate(sorted(figures["lines"]))}
    found = []
    for line, text in sorted(
            [entry for figure in figures.values()
             for entry in figure.missing() if entry[1]]
            + dropped):
        last = found[-1] if found else [0, 0, ""]
        if text == NOT_REACHED == last[2] and \
                order[line] == order[last[1]] + 1 and \
                places[line - 1].path == places[last[1] - 1].path:
            last[1] = line
        else:
            found.append([line, line, text])
    return found


def show(found, places, rooms):
    """Prints what is missing, by room and line."""
    for first, last, text in found:
        place = places[first - 1]
        if is_named(room_of(place), rooms):
            end = places[last - 1].number
            print("/".join(place.path.parts[-3:])
                  + f":{place.number}" + f"-{end}" * (end != place.number)
                  + f": {text}")


def entries(found, places):
    """What is missing as unreached.txt writes it, without line numbers: lines
    after a condition that was never true or false are missing by it."""
    named, after = [], 0
    for first, last, text in found:
        if text != NOT_REACHED:
            after = last
        elif first <= after + 2:
            after = last
            continue
        else:
            text += f": {places[first - 1].text.strip()}"
        named.append(f"{room_of(places[first - 1])}: {text}")
    return named


def read_list():
    """{entry: reason}"""
    listed, reason = {}, None
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            listed[line.strip()] = reason
        elif line and not line.startswith("#"):
            reason = line
    return listed


def condition_of(entry):
    """An entry without what is missing of its condition."""
    return re.sub(r": (?:never true|never false|decides nothing): (.*?)"
                  r"(?: -- in: .*)?$", r": \1", entry)


def unlisted(missing, listed):
    return [entry for entry in missing if entry not in listed and
            not listed.get(condition_of(entry), "").startswith(AT_TIMES)]


def report(figures, dropped, results, places):
    from tap import Tap
    tap = Tap()
    for name, status, output in results:
        tap.ok(status == 0, name, f"status {status}\n" + "\n".join(
            line for line in output.splitlines() if not line.startswith("ok"))
            [-2000:])
    by_room = defaultdict(dict)
    for name, figure in figures.items():
        missing = figure.missing()
        for room, number in Counter(room_of(places[line - 1])
                                    for line, _ in missing).items():
            by_room[room][name] = number
        total = len(figure)
        percent = 100.0 * (total - len(missing)) / max(1, total)
        text = (f"{name}: {percent:.2f} % ({total - len(missing)} of {total})")
        tap.note(text)
        tap.ok(total > 1000, f"{name} are counted", text)
    order = list(dict.fromkeys(room_of(place) for place in places))
    for room in sorted(by_room, key=order.index):
        tap.note(f"missing in {room}: " + ", ".join(
            f"{number} {name}" for name, number in by_room[room].items()))
    listed = read_list()
    missing = entries(gaps(figures, dropped, places), places)
    new = unlisted(missing, listed)
    tap.ok(not new, "what is missing is listed", "\n".join(
        [*new, f"write a test, or list it in {LIST.name} with the reason"]))
    reached = [entry for entry, reason in listed.items()
               if entry not in missing and not reason.startswith(AT_TIMES)]
    tap.ok(not reached, "what is listed is missing", "\n".join(
        [*reached, f"remove it from {LIST.name}"]))
    return tap.done()


def write_table(page, steps):
    """Replaces the table between two marks of the page."""
    rows = ["| | the unit tests | and with each allocation failing | "
            "and in other builds | of |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, figure in steps[0].items():
        total = len(figure)
        shown = [f"{100 * (1 - len(each[name].missing()) / total):.1f} %"
                 for each in steps]
        rows.append(f"| {name} | {' | '.join(shown)} | {total:,} |")
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(
        r"(<!-- written by tests/tools/coverage.py --write -->\n).*?(?=<!-- end)",
        lambda match: match[1] + "\n".join(rows) + "\n", text, flags=re.S),
        encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--list", nargs="*", metavar="ROOM")
    parser.add_argument("--write", action="store_true",
                        help="write the table of docs/reliability.md")
    parser.add_argument("--root", type=Path,
                        default=Path(__file__).resolve().parents[2],
                        help="the folder of the repository")
    parser.add_argument("--llvm", default="19", help="the version of clang")
    args = parser.parse_args()
    root = args.root.resolve()
    sys.path[:0] = [str(root / "src"), str(root / "tests/tools")]
    import amalgamate
    places = amalgamate.header()
    with tempfile.TemporaryDirectory() as name:
        steps, dropped, results = measure(root, args.llvm,
                                          Path(name).resolve(), places)
    figures = steps[-1]
    if args.write:
        write_table(root / "docs/reliability.md", steps)
    if args.list is None:
        return report(figures, dropped, results, places)
    show(gaps(figures, dropped, places), places, args.list)
    failed = [name for name, status, _ in results if status]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
