#!/usr/bin/env python3
"""Prints the flash and RAM that a firmware uses, by part: each section of
tvmffi.h, each other file, symbols without a line number (of the compiler, or
of a file without debug information), and the rest, which has no symbol (string
literals). --flash and --ram are limits in bytes: the exit status is 1 if the
use exceeds one of them."""

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
    """Returns (line, tag) of each section of the header."""
    tags = []
    for number, line in enumerate(Path(header).read_text().splitlines(), 1):
        banner = re.match(r"/\* =+ .*>>(\w+)", line)
        if banner:
            tags.append((number, banner[1]))
    return tags


def part_of(place, tags):
    """Returns the part that a symbol defined at "file:line" belongs to. A
    symbol of a file without line numbers has an empty place."""
    file, _, line = place.rpartition(":")
    name = Path(file).name
    if name != "tvmffi.h":
        return name or "without a line"
    tag = [t for first, t in tags if first <= int(line)]
    return "tvmffi.h >>" + (tag[-1] if tag else "config")


def sections(cross, elf):
    """Returns the bytes of flash and of RAM, from the ELF sections: what is
    loaded is in flash; what is not loaded, or is copied to another address, is
    in RAM."""
    flash = ram = 0
    for size, run_at, load_at, flags in re.findall(
            r"^ *\d+ \S+ +(\w+) +(\w+) +(\w+) .*\n +(.*)$",
            run(cross + "objdump", "-h", elf), re.M):
        size = int(size, 16)
        if "LOAD" in flags:
            flash += size
        if "ALLOC" in flags and ("LOAD" not in flags or run_at != load_at):
            ram += size
    return flash, ram


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("elf")
    parser.add_argument("--header", default=str(
        Path(__file__).resolve().parents[2] / "tvmffi.h"))
    parser.add_argument("--cross", default="arm-none-eabi-")
    parser.add_argument("--flash", type=int)
    parser.add_argument("--ram", type=int)
    args = parser.parse_args()
    tags = header_tags(args.header)
    flash, ram = sections(args.cross, args.elf)
    parts, memory, seen = Counter(), Counter(), set()
    listed = run(args.cross + "nm", "-S", "-l", args.elf)
    for line in listed.splitlines():
        symbol = re.match(r"(\w+) (\w+) (\w) (\S+)\s*(.*)", line)
        if not symbol or symbol[1] in seen:  # another name of the same
            continue
        seen.add(symbol[1])
        size, letter = int(symbol[2], 16), symbol[3].lower()
        part = part_of(symbol[5], tags)
        if "tvmffi_i_arena" == symbol[4]:
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
    print(f"{flash:7} {ram:7}  all")
    over = [f"{name}: {used} bytes, the limit is {limit}"
            for name, used, limit in (("flash", flash, args.flash),
                                      ("RAM", ram, args.ram))
            if limit is not None and used > limit]
    print("\n".join(over), end="\n" * bool(over))
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
