#!/usr/bin/env python3
"""Changes one place of src/ at a time, and tells which changes no test finds.

    ./dev mutate --seed 1 --count 60

A mutant is a copy of tvmffi.h with one small change: a comparison turned, a
constant off by one, `&&` for `||`, `+` for `-`, a `!` or a statement left out,
a memory order weakened. The seed chooses the places, in code that the unit
tests compile, but in no assertion, macro, or room of head and interface. The
unit tests find a mutant if one fails, crashes, breaks an assertion, leaks or
takes ten times as much processor time. If none does, they run again with each allocation
failing. A mutant does not count if it does not compile without warnings, if it
compiles to the same program, or if the optimized runtime is the same.

Prints each mutant and how it was found. One that survives needs a test or an
assertion, or its place is not needed. If it behaves as before, describe it in
equal_mutants.txt, which is skipped: a room, the line before, the line after and
the reason, then an empty line.
"""

import argparse
import random
import re
import resource
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
import variant  # noqa: E402

sys.path.append(str(variant.ROOT / "src"))
import amalgamate  # noqa: E402

# The names of functions are in stack traces, which tests then compare. The
# tests of a build know warnings as errors, and run with this sanitizer, too.
COMPILER = ("cc -rdynamic -DTEST_SYMBOLS=1 -Wall -Wextra -Werror "
            "-fsanitize=undefined -fsanitize-undefined-trap-on-error")
EQUAL = Path(__file__).with_name("equal_mutants.txt")
SKIPPED_LAYERS = ("head", "interface")
# A pattern, and what a match can become.
CHANGES = [
    (r" <= ", [" < ", " > "]), (r" >= ", [" > ", " < "]),
    (r" < ", [" <= ", " >= "]), (r" > ", [" >= ", " <= "]),
    (r" == ", [" != "]), (r" != ", [" == "]),
    (r" &&(?= |$)", [" ||"]), (r" \|\|(?= |$)", [" &&"]),
    (r"(?<=[\w)\]]) \+ ", [" - "]), (r"(?<=[\w)\]]) - ", [" + "]),
    (r"\+\+", ["--"]), (r"--", ["++"]),
    (r"(?<=[( ])!(?=[\w(])", [""]),
    # All negative codes are errors.
    (r"\breturn -1;", ["return 0;"]),
    (r"(?<![\w.])(?<!return -)\d+(?![\w.])",
     [lambda x: str(int(x) + 1), lambda x: str(abs(int(x) - 1))]),
    (r"\bTVMFFI_I_LOAD_SEQ\(", ["TVMFFI_I_LOAD("]),
    (r"\bTVMFFI_I_LOAD\(", ["TVMFFI_I_LOAD_RELAXED("]),
    (r"\bTVMFFI_I_STORE_SEQ\(", ["TVMFFI_I_STORE("]),
]
STATEMENT = re.compile(r"(?!return|break|continue|goto|typedef|const|static)"
                       r"[\w*(][^{}]*(?:\(|=|\+\+|--)[^{}]*;")
# Changes that no test can find:
# - An array, or a block of memory, that is longer: nobody uses the rest. This
#   is no object, because its deleter states the size again.
ARRAY = re.compile(r"\s*(?!return\b|else\b|case\b)"
                   r"(?:\**\w+ )+\**\w+[\[,][^=]*$")
BLOCK = re.compile(r"\btvmffi_i_(?:alloc|text_reserve)\((?:.*[+*,] |\(*)$|"
                   r"\bTVMFFI_I_PUSH_ROOM\(.*\+ $")
# - The other one of two equal numbers, as the larger or the smaller of them.
NUMBER = r"([\w.>\[\]-]+(?: [-+*/] [\w.>\[\]-]+)*)"
EXTREME = re.compile(r"(?:(?<=[(\[])|(?<=[=,] )|(?<=return ))"
                     rf"{NUMBER} [<>]=? {NUMBER} "
                     r"\? (?:\1 : \2|\2 : \1)(?=[;,)\]])")
# - A little more or less of a budget: programs work with any.
BUDGET = re.compile(
    r"\b(?:TVMFFI_I_(?:POOL_THREAD|POOL_PROCESS|MAP_CHAIN_MAX|FEW_FRAMES"
    r"|FRAME_BYTES|MOST_STACK|RESERVE|GLOBAL_CLASSES)|SKIP) = [^,]*$")
DECLARATION = re.compile(r"(?:\w+ )+\**\w+(?:\[.*\])? =|\w+ \*+\w+")
ASSERTION = re.compile(r"\bTVMFFI_ASSERT\(|\bTVMFFI_STATIC_ASSERT\(")
HIDDEN = re.compile(r'"(?:\\.|[^"\\])*"|' r"'(?:\\.|[^'\\])+'|/\*.*?(?:\*/|$)",
                    re.S)


class Mutant:
    """A change of a line of the header."""

    def __init__(self, number, before, after):
        self.number, self.before, self.after = number, before, after


def compiled_lines(header, cc, program=variant.PROGRAM):
    """The numbers of the header's lines that a program compiles, by default the
    unit tests."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tvmffi.h").write_text(header, encoding="utf-8")
        with program.open() as source:
            run = variant.run([*cc.split(), "-std=c11", "-E", "-x", "c", "-",
                               "-iquote", variant.ROOT], 60, cwd=folder,
                              stdin=source)
    if run.status:
        sys.exit(run.output)
    found, number, inside = set(), 0, False
    for line in run.output.split("\n"):
        marker = re.match(r'# (\d+) "(.*?)"', line)
        if marker:
            number = int(marker[1])
            inside = Path(marker[2]).name == "tvmffi.h"
        else:
            if inside and line.strip():
                found.add(number)
            number += 1
    return found


def visible(texts):
    """The lines with spaces for comments, strings, directives and asserts."""
    text = HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]),
                      "\n".join(texts))
    lines, inside = [], ""
    for line in text.split("\n"):
        if not inside:
            inside = "directive" if line.lstrip().startswith("#") else \
                "assert" if ASSERTION.search(line) else ""
        lines.append(" " * len(line) if inside else line)
        ends = not line.endswith("\\") if inside == "directive" else \
            line.rstrip().endswith(";")
        if ends:
            inside = ""
    return lines


def is_without_effect(seen, match, new):
    """Whether no test can find that the match becomes `new`."""
    before, after = seen[:match.start()], seen[match.end():]
    if not match[0].isdigit():
        extreme = EXTREME.search(seen)
        return bool(extreme) and new.strip("= ") == match[0].strip("= ") and \
            extreme.start() < match.start() < extreme.end()
    if BUDGET.search(before):
        return int(new) > 0
    if int(new) < int(match[0]):
        return False
    return bool(BLOCK.search(before)) or before.endswith("[") and \
        after[:1] == "]" and bool(ARRAY.match(before))


def mutants_of(number, line, seen, previous):
    """All mutants of a line; `seen` is its visible part."""
    lines = {line}
    for pattern, changes in CHANGES:
        for match in re.finditer(pattern, seen):
            for change in changes:
                new = change if isinstance(change, str) else change(match[0])
                after = line[:match.start()] + new + line[match.end():]
                if after not in lines and \
                        not is_without_effect(seen, match, new):
                    lines.add(after)
                    yield Mutant(number, line, after)
    text = seen.strip()
    if STATEMENT.fullmatch(text) and not DECLARATION.match(text) and \
            re.search(r"[;{})]\s*$|\belse\s*$|:\s*$|^\s*$", previous):
        indent = line[:len(line) - len(line.lstrip())]
        yield Mutant(number, line, f"{indent};")


def read_equal():
    """(room, before, after) of the mutants that behave as the original."""
    found = set()
    for block in EQUAL.read_text(encoding="utf-8").split("\n\n"):
        lines = [line.strip() for line in block.strip().split("\n")
                 if not line.startswith("#")]
        if len(lines) >= 4:
            found.add(tuple(lines[:3]))
    return found


def room_of(place):
    return "/".join(place.path.parts[-3:])


def candidates(places, cc):
    """All mutants, in the order of the header."""
    texts = [place.text for place in places]
    compiled = compiled_lines("\n".join([*texts, ""]), cc)
    seen, equal, previous = visible(texts), read_equal(), ""
    for number, place in enumerate(places, 1):
        line = seen[number - 1]
        if number in compiled and \
                place.path.parent.name not in (*SKIPPED_LAYERS, "src"):
            for mutant in mutants_of(number, place.text, line, previous):
                if (room_of(place), mutant.before.strip(),
                        mutant.after.strip()) not in equal:
                    yield mutant
        if line.strip():
            previous = line


def how_found(run):
    """In words, or None if all tests passed."""
    if run.status is None:
        return "time"
    broken = re.search(r"the assertion fails: (.*)", run.output)
    if broken:
        return f"assertion {broken[1]}"
    failed = re.search(r"^not ok \d+ - (.*)", run.output, re.M)
    if failed:
        return f"test {failed[1]}"
    if run.status < 0:
        return f"signal {-run.status}"
    return f"status {run.status}" if run.status else None


def children_seconds():
    """The processor time of the programs that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Tester:
    def __init__(self, places, folder, cc):
        self.places, self.folder, self.cc = places, folder, cc
        self.original = self.build("original", [])
        self.seconds = self.most_seconds()
        self.oom_seconds = self.most_seconds("--oom")
        self.optimized_original = self.optimized("original")
        self.optimized_lines = compiled_lines(
            self.text([]), cc, folder / "original" / "runtime.c")

    def most_seconds(self, *options):
        """The processor time that a mutant's tests may take."""
        before = children_seconds()
        run = variant.test(self.folder / "original", 3600, *options)
        if run.status != 0:
            sys.exit(f"the unit tests fail:\n{run.output[-2000:]}")
        return round(max(10, 10 * (children_seconds() - before)))

    def text(self, mutants):
        texts = [place.text for place in self.places]
        for mutant in mutants:
            texts[mutant.number - 1] = mutant.after
        return "\n".join([*texts, ""])

    def build(self, name, mutants):
        """The program's bytes, or None if it does not compile."""
        built = variant.build(self.folder / name, self.text(mutants), self.cc)
        if built.status and not mutants:
            sys.exit(built.output)
        return None if built.status else \
            (self.folder / name / "unit").read_bytes()

    def optimized(self, name):
        """The bytes of the optimized runtime in a folder that `build` made. The
        compiler takes for granted what is asserted, and adds no checks."""
        (self.folder / name / "runtime.c").write_text(
            "#define TVMFFI_ASSERT(x) ((x) ? (void)0 : __builtin_unreachable())"
            "\n#define TVMFFI_IMPLEMENTATION\n#include \"tvmffi.h\"\n",
            encoding="utf-8")
        cc = [word for word in self.cc.split()
              if not word.startswith(("-W", "-fsanitize"))]
        run = variant.run([*cc, "-O2", "-std=c11", "-c", "runtime.c"], 300,
                          cwd=self.folder / name)
        if run.status:
            sys.exit(run.output)
        return (self.folder / name / "runtime.o").read_bytes()

    def is_optimized_away(self, name, mutant):
        """Whether a compiler sees that the mutant behaves as the original."""
        return mutant.number in self.optimized_lines and \
            self.optimized(name) == self.optimized_original

    def test(self, job):
        """(whether the mutant counts, how it was found)"""
        name, mutant = job
        try:
            program = self.build(name, [mutant])
            if program in (None, self.original):
                return False, None
            how = how_found(variant.test(
                self.folder / name, self.seconds, until="not ok"))
            if not how:
                how = how_found(variant.test(
                    self.folder / name, self.oom_seconds, "--oom",
                    until="not ok"))
                how = how and f"memory refused, {how}"
            counts = how is not None or \
                not self.is_optimized_away(name, mutant)
            return counts, how
        finally:
            shutil.rmtree(self.folder / name)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--room", default="",
                        help="only rooms whose path contains this")
    parser.add_argument("--cc", default=COMPILER, help="with its options")
    args = parser.parse_args()
    places = amalgamate.header()
    chosen = [mutant for mutant in candidates(places, args.cc)
              if args.room in room_of(places[mutant.number - 1])]
    random.Random(args.seed).shuffle(chosen)
    print(f"{len(chosen)} changes are possible", flush=True)
    found, survivors, at = 0, [], 0
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        tester = Tester(places, Path(name), args.cc)
        while found + len(survivors) < args.count and at < len(chosen):
            end = at + args.count - found - len(survivors)
            batch = list(enumerate(chosen[at:end], at))
            jobs = [(str(i), mutant) for i, mutant in batch]
            at = end
            for (_, mutant), (counts, how) in zip(batch,
                                                  pool.map(tester.test, jobs)):
                if not counts:
                    continue
                place = places[mutant.number - 1]
                line = (f"{room_of(place)}:{place.number}: "
                        f"{mutant.before.strip()} -> {mutant.after.strip()}")
                found += how is not None
                if how is None:
                    survivors.append(line)
                print(f"found, {how}: {line}" if how else f"SURVIVES: {line}",
                      flush=True)
    print(f"seed {args.seed}: {found + len(survivors)} mutants, {found} found, "
          f"{len(survivors)} survive")
    for line in survivors:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
