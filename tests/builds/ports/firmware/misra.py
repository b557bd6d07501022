#!/usr/bin/env python3
"""The rules of MISRA C:2012 that the runtime of the smallest board deviates from,
by cppcheck's addon, each with its reason. With --write, writes the table of
docs/reliability.md; without, compares its rules. Writes TAP."""

import collections
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[4]
DOC = ROOT / "docs" / "reliability.md"
sys.path.insert(0, str(ROOT / "tests/tools"))
from tap import Tap  # noqa: E402

NEEDED = ["arm-none-eabi-gcc", "cppcheck"]
BEGIN, END = "<!-- made by misra.py --write -->\n", "<!-- end of MISRA -->"
EXPAND = ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-Os", "-std=c99",
          "-ffreestanding", "-E", "-P", "-DTVMFFI_IMPLEMENTATION=1",
          "-DTVMFFI_FREESTANDING=1", "-DTVMFFI_MESSAGE_SIZE=128",
          "-DTVMFFI_ARENA_SIZE=1024",
          "-DTVMFFI_STATIC=1", "-DTVMFFI_NO_FLOAT=1", "-DTVMFFI_NO_TYPES=1",
          "-DTVMFFI_NO_BUILTINS=1"]
CHECK = ["cppcheck", "--addon=misra", "--std=c99", "-q", "-D__attribute__(x)=",
         "-D__extension__=", "-D__asm__(...)=", "--template={id}"]
LAYOUT = "the ABI fixes the layout: a value is a tagged union, and an object's " \
    "header is the start of its struct"
UNUSED = "a header has names that a program may use"
SIGNS = "numbers, masks and characters are mixed on purpose; gcc's -Wconversion " \
    "and -Wsign-conversion are errors in the tests"
TOOL = "the addon is wrong: "
# Of the rules below; all others are required, and none is mandatory.
ADVISORY = """2.3 2.4 2.7 8.7 8.9 11.4 11.5 12.1 12.3 13.3 13.4 15.5 17.8 18.4
  19.2""".split()
REASONS = {
    "1.4": "signatures use `_Generic` where the compiler has it",
    "2.2": TOOL + "`0 - x` has an effect; a shift by 0 and an added 0 are left "
    "of macros, which expand to other numbers elsewhere",
    "2.3": UNUSED, "2.4": UNUSED, "2.7":
    "a function for a pointer has the parameters of the pointer's type",
    "5.8": "`tvmffi_i_here` is also a function without a definition, so that "
    "the compiler refuses code without a scope",
    "8.7": "`memmove` and its like are for calls that the compiler makes",
    "8.9": "a table is beside the functions that explain it",
    "9.2": "unions and nested structs are initialized without inner braces",
    "9.3": TOOL + "the list of two pointers is complete",
    "10.1": SIGNS, "10.3": SIGNS, "10.4": SIGNS, "10.6": SIGNS, "10.8": SIGNS,
    "11.1": "the field of the deleter links objects that wait for destruction",
    "11.3": "the header of an allocation is in front of its object",
    "11.4": "a pointer to a function or to other memory is stored as "
    "`uintptr_t`",
    "11.5": LAYOUT,
    "11.6": "`uintptr_t` is between a symbol's address and a function, a flag "
    "and the state of a callback, and a handle with and without `const`",
    "11.8": "the ABI has pointers without `const` to constant data",
    "11.9": TOOL + "it takes an index, enumerator or status 0 for a null "
    "pointer",
    "12.1": "C's precedence is meant; gcc's -Wparentheses is an error",
    "12.3": "a declaration has several variables",
    "13.3": "`*at++ = c` and `*--at = c` write text",
    "13.4": "assignments are chained, or are in a condition",
    "14.2": "the counter of a loop is a member or a parameter",
    "14.4": "an integer or a pointer is its own condition",
    "15.5": "an error returns at once, which saves levels of nesting",
    "15.6": "a body of one line has no braces; clang-format indents it",
    "15.7": "the last `else` would be empty",
    "17.2": "types in a signature and values in containers nest; "
    "[bounds](porting.md#bounds) counts the stack",
    "17.7": "`memcpy`, and functions that append text, return what nobody needs",
    "17.8": "a parameter is the cursor of a loop",
    "18.4": "text and blocks are cut by pointer arithmetic, inside one array",
    "19.2": LAYOUT,
    "21.2": "the runtime has `memcpy` and its like, weak, because there is no "
    "libc",
}


def deviations():
    """Returns the number of places by rule."""
    with tempfile.TemporaryDirectory() as folder:
        text = subprocess.run(
            [*EXPAND, "-x", "c", ROOT / "tvmffi.h"], check=True,
            capture_output=True, text=True).stdout
        path = Path(folder) / "runtime.c"
        path.write_text(text)
        done = subprocess.run([*CHECK, path], capture_output=True, text=True)
    if "syntaxError" in done.stderr or done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return collections.Counter(
        re.findall(r"^misra-c2012-(\d+\.\d+)$", done.stderr, re.M))


def order(rule):
    return [int(part) for part in rule.split(".")]


def table(found):
    rows = [f"| {rule} | {'advisory' if rule in ADVISORY else 'required'} | "
            f"{found[rule]} | {REASONS.get(rule, '')} |\n"
            for rule in sorted(found, key=order)]
    return "".join(["| rule | category | places | reason |\n",
                    "| --- | --- | --- | --- |\n", *rows])


def main():
    tap = Tap()
    missing = [n for n in NEEDED if not shutil.which(n)]
    if missing:
        tap.skip("MISRA C:2012", "no " + " ".join(missing))
        return tap.done()
    found = deviations()
    unknown = sorted(set(found) - set(REASONS), key=order)
    tap.ok(found, "cppcheck's addon reports rules")
    tap.ok(not unknown, "each rule has a reason", unknown)
    before, rest = DOC.read_text().split(BEGIN)
    old, after = rest.split(END)
    if "--write" in sys.argv:
        DOC.write_text(before + BEGIN + table(found) + END + after)
    else:
        rules = re.findall(r"^\| (\d+\.\d+) ", old, re.M)
        tap.ok(rules == sorted(found, key=order),
               "docs/reliability.md has these rules", rules)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
