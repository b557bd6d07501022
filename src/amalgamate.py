#!/usr/bin/env python3
"""Writes tvmffi.h from src/.

The header is src/tvmffi.h with the rooms of each layer that it includes in the
layer's place, less what only the rooms need: their includes. The first line of
a room is its banner, and gives its line in the table of contents:

    /* ======== Objects: references and destruction ======== >>core/object */
"""

import argparse
import re
import sys
from pathlib import Path

SRC = Path(__file__).resolve().parent
ROOT = SRC / "tvmffi.h"
HEADER = SRC.parent / "tvmffi.h"
INCLUDE = re.compile(r'^#include "([\w./]+)"', re.M)
BANNER = re.compile(r"/\* ======== ([^:]+?)(?:: (.+?))? =+ >>([\w/]+)"
                    r"(?: \*/|\n   (.+?) \*/)", re.S)
CONTENTS = "     @contents@"
VERSION = re.compile(r"^#define TVMFFI_VERSION_\w+ (\d+)", re.M)
GUARD = "#define TVMFFI_H_"
# What a smaller header leaves out: its layers, and the options that it sets.
# A room that is empty under one of these options is left out, too.
PARTS = {
    "abi": (["head"], ["TVMFFI_ABI_ONLY"]),
    "abi,interface": (["head", "base", "interface"], []),
    "core": (None, ["TVMFFI_NO_CONTAINERS", "TVMFFI_NO_EXTRA"]),
    "no-extra": (None, ["TVMFFI_NO_EXTRA"]),
}


class Line:
    """A line of the header, and where it was written."""

    def __init__(self, text, path, number):
        self.text, self.path, self.number = text, path, number


def read(path):
    """The lines of a file."""
    text = path.read_text(encoding="utf-8")
    return [Line(line, path, number)
            for number, line in enumerate(text.splitlines(), 1)]


def included(path):
    """The files that a file includes."""
    return [path.parent / name
            for name in INCLUDE.findall(path.read_text(encoding="utf-8"))]


def banner(path):
    """The tag of a room, and what it is about."""
    match = BANNER.match(path.read_text(encoding="utf-8"))
    if not match:
        sys.exit(f"{path}: the first line is no banner")
    title = match[1][0].lower() + match[1][1:]
    return match[3], match[2] or match[4] or title


def is_empty(path, options):
    """Whether all code of a room stands under `#if !OPTION` of an option."""
    depth, outer = 0, None
    for line in path.read_text(encoding="utf-8").splitlines():
        directive = re.match(r"\s*#\s*(if|endif)", line)
        if re.match(r"\s*#\s*(include \"|pragma once)", line):
            continue
        if directive and directive[1] == "if":
            if not depth and outer is None:
                outer = line
            elif not depth:
                return False
            depth += 1
        elif directive:
            depth -= 1
        elif not depth and re.match(r"[\w#]", line):
            return False
    return outer in [f"#if !{option}" for option in options]


def forced(options, layers):
    """The lines by which a smaller header sets its options."""
    lines = []
    for option in options:
        lines += [f"#if defined({option}) && !{option}",
                  f'#error "tvmffi.h: this file was written with {option}"',
                  "#endif", f"#undef {option}", f"#define {option} 1"]
    if layers:
        lines += ["#if defined(TVMFFI_IMPLEMENTATION)",
                  '#error "tvmffi.h: this file has no implementation"',
                  "#endif"]
    return ["", "/* What was left out when this file was written. */"] + lines


def squeezed(lines):
    """The lines, with one empty line where several stand together."""
    kept = []
    for line in lines:
        if line.text or (kept and kept[-1].text):
            kept.append(line)
    return kept


def header(part=None):
    """The lines of the header, or of a part of it."""
    layers, options = PARTS.get(part, (None, []))
    lines, contents = [], []
    for line in read(ROOT):
        match = INCLUDE.match(line.text)
        if not match:
            lines.append(line)
            if part and line.text == GUARD:
                lines += [Line(text, ROOT, line.number)
                          for text in forced(options, layers)]
            continue
        layer = SRC / match[1]
        if layers and layer.stem not in layers:
            continue
        for path in included(layer):
            if is_empty(path, options):
                continue
            contents.append("     >>%-29s %s" % banner(path))
            lines += [room for room in read(path)
                      if room.text != "#pragma once"
                      and not INCLUDE.match(room.text)]
            lines.append(Line("", ROOT, line.number))
    at = [line.text for line in lines].index(CONTENTS)
    lines[at:at + 1] = [Line(text, ROOT, lines[at].number)
                        for text in contents]
    return squeezed(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=HEADER)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--only", choices=["abi", "abi,interface"],
                       help="the declarations, without the implementation")
    group.add_argument("--core", action="store_const", const="core",
                       help="no containers and what builds on them")
    group.add_argument("--no-extra", action="store_const", const="no-extra",
                       help="no comparison, repr, structural operations, JSON")
    group.add_argument("--check", action="store_true",
                       help="fail if tvmffi.h is not what src/ gives")
    group.add_argument("--where", metavar="tvmffi.h:LINE",
                       help="print the file and line in src/")
    options = parser.parse_args()
    part = options.only or options.core or options.no_extra
    if part and options.output.resolve() == HEADER:
        parser.error("a part of the header needs a file of its own: -o FILE")
    lines = header(part)
    if options.where:
        number = options.where.rpartition(":")[2]
        if not number.isdigit() or not 1 <= int(number) <= len(lines):
            parser.error(f"tvmffi.h has the lines 1 to {len(lines)}")
        line = lines[int(number) - 1]
        print(f"{line.path.relative_to(SRC.parent)}:{line.number}")
        return
    text = "".join(line.text + "\n" for line in lines)
    text = text.replace("@version@", ".".join(VERSION.findall(text)), 1)
    if not options.check:
        options.output.write_text(text, encoding="utf-8")
    elif HEADER.read_text(encoding="utf-8") != text:
        sys.exit("tvmffi.h is not what src/ gives: run ./dev amalgamate")


if __name__ == "__main__":
    main()
