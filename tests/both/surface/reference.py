#!/usr/bin/env python3
"""Compares docs/reference.md with what a library registers.

    reference.py --program SURFACE --lib LIBRARY

SURFACE is surface.c, built. Functions with their number of parameters, types
with their indices, fields and methods, and attributes must be the same on the
page and in the library. Output is TAP.
"""

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/tools"))
sys.dont_write_bytecode = True
import surface  # noqa: E402
from tap import Tap  # noqa: E402

MEMBER = re.compile(r"\| `([\w.]+)(\((.*)\) -> .*|: .*|\(\.\.\.\))` \|")


def parameters(text):
    """The number of parameters between the parentheses of a signature."""
    return text.count(": ")


def on_page(text):
    """The facts that the page states."""
    part, key = None, None
    for line in text.splitlines():
        if line.startswith("## "):
            part = line[3:]
        heading = re.match(r"### `(.*)`", line)
        member = MEMBER.match(line)
        index = re.match(r"Index (\d+)|(Dynamic) index", line)
        attribute = re.match(r"\| `(__\w+__)` \|.*\|(.*)\|$", line)
        if part == "Built-in types" and heading:
            key = heading[1]
        elif part == "Built-in types" and index:
            yield f"type {key} {index[1] or index[2]}"
        elif part == "Built-in types" and member:
            yield f"member {key}.{member[1]}"
        elif part == "Built-in functions" and member \
                and not member[1].startswith("tvmffi."):
            yield f"function {member[1]} " + \
                ("any" if member[3] is None else str(parameters(member[3])))
        elif part == "Type attributes" and attribute:
            for name in re.findall(r"`([^`]+)`", attribute[2]):
                yield f"attribute {attribute[1]} {name}"


def in_library(program, library):
    """The facts that the library registers."""
    facts = surface.facts_of(program, library)
    for fact, value in facts.items():
        kind, _, name = fact.partition(" ")
        if kind == "global":
            schema = json.loads(value).get("named_args")
            yield f"function {name} " + \
                (str(len(schema["params"])) if schema else "any")
        elif kind == "type":
            index = int(value.split()[0])
            yield f"type {name} {index if index < 128 else 'Dynamic'}"
        elif kind in ("field", "method"):
            yield f"member {name}"
        elif kind == "attr":
            yield f"attribute {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--lib", required=True)
    args = parser.parse_args()
    text = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    page = set(on_page(text))
    library = set(in_library(args.program, args.lib))
    tap = Tap()
    tap.ok(len(library) > 200, "the library registers what is expected",
           f"{len(library)} facts")
    tap.ok(library <= page, "all that the library registers is on the page",
           "\n".join(sorted(library - page)))
    tap.ok(page <= library, "all that the page has is in the library",
           "\n".join(sorted(page - library)))
    for name, line in (("a function", "`ffi.ArraySize("),
                       ("a type", "### `ffi.Map`"), ("a field", "`imports_:"), ("a method", "`_root()"),
                       ("an attribute", "`__ffi_eq__`")):
        cut = "\n".join(x for x in text.splitlines() if line not in x)
        tap.ok(library - set(on_page(cut)), f"found: {name} is missing")
    more = text.replace("`ffi.ArraySize(", "`ffi.ArrayLength(")
    tap.ok(set(on_page(more)) - library, "found: a function too many")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
