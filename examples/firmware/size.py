#!/usr/bin/env python3
"""Prints what a firmware takes of flash and memory, by part: the sections of
tvmffi.h by their tags, each other file, and what no symbol names (texts, the
compiler's own). Ends with 1 if it is more than --flash or --ram bytes."""

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path


def run(*command):
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout


def header_tags(header):
    """The lines at which the sections begin, with their tags."""
    tags = []
    for number, line in enumerate(Path(header).read_text().splitlines(), 1):
        banner = re.match(r"/\* =+ .*>>(\w+)", line)
        if banner:
            tags.append((number, banner[1]))
    return tags


def part_of(place, tags):
    """The part to which a symbol at "file:line" belongs."""
    file, _, line = place.rpartition(":")
    name = Path(file).name
    if name != "tvmffi.h":
        return name or "without a symbol"
    tag = [t for first, t in tags if first <= int(line)]
    return "tvmffi.h >>" + (tag[-1] if tag else "config")


def sections(cross, elf):
    """Bytes of flash and of memory, from the sections that are loaded."""
    flash = ram = 0
    for line in run(cross + "size", "-A", elf).splitlines():
        words = line.split()
        if len(words) != 3 or not words[1].isdigit():
            continue
        name, size = words[0], int(words[1])
        if name in (".text", ".data"):
            flash += size
        if name in (".data", ".bss", ".stack"):
            ram += size
    return flash, ram


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("elf")
    parser.add_argument("--header", default=str(
        Path(__file__).resolve().parents[2] / "tvmffi.h"))
    parser.add_argument("--cross", default="arm-none-eabi-")
    parser.add_argument("--flash", type=int, default=16384)
    parser.add_argument("--ram", type=int, default=4096)
    args = parser.parse_args()
    tags = header_tags(args.header)
    flash, ram = sections(args.cross, args.elf)
    parts, memory = Counter(), Counter()
    listed = run(args.cross + "nm", "-S", "-l", args.elf)
    for line in listed.splitlines():
        symbol = re.match(r"\w+ (\w+) (\w) (\S+)\s*(.*)", line)
        if not symbol:
            continue
        size, letter = int(symbol[1], 16), symbol[2].lower()
        part = part_of(symbol[4], tags)
        if "tvmffi_i_arena" == symbol[3]:
            part = "the arena"
        if letter in "trwvd":
            parts[part] += size
        if letter in "db":
            memory[part] += size
    parts["without a symbol"] += flash - sum(parts.values())
    memory["stack, and rest"] += ram - sum(memory.values())
    print(f"{'flash':>7} {'memory':>7}  part")
    for part in sorted(parts | memory, key=lambda p: -parts[p] - memory[p]):
        print(f"{parts[part]:7} {memory[part]:7}  {part}")
    print(f"{flash:7} {ram:7}  all; the limit: {args.flash} and {args.ram}")
    return int(flash > args.flash or ram > args.ram)


if __name__ == "__main__":
    sys.exit(main())
