#!/usr/bin/env python3
"""Links the benchmark program and a library of a header many times, each with the
functions in another order.

    placements.py FOLDER --build build/opt --ours tvmffi.h [--stock old.h]

Where a function lies decides which sets of the caches and of the branch predictor
it uses, which changes its time by some percent. A difference that depends on it is
of one build only, so each process of `bench --placements FOLDER` runs another of
these links. Folder N has the program `bench`, and `ours.so` and `stock.so`
where a header is given. All are compiled once, with the options of the build and a
section for each function; a linker script then has the sections in a random order
with gaps. The orders have fixed seeds. A linker without GNU's INSERT command
fails, which is the exit status 1.
"""

import argparse
import json
import random
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

COUNT = 32  # more than a row has processes in most runs
GAPS = range(0, 256, 16)  # bytes between two functions


def output(*command, **options):
    return subprocess.run([str(word) for word in command], text=True,
                          check=True, stdout=subprocess.PIPE, **options).stdout


def sections_of(name):
    """The sections of functions in an object file, but for those that the linker
    keeps apart, as they rarely run."""
    return [section for section in re.findall(
        r"\] (\.text\.\S+) +PROGBITS", output("readelf", "-SW", name))
        if not re.match(r"\.text\.(unlikely|startup|exit|hot)\.", section)]


def places_of(objects):
    """All of them, as a linker script names them."""
    places = [f"*{name.name}({section})" for name in objects
              for section in sections_of(name)]
    if not places:
        sys.exit("placements: no object has a section for each function")
    return places


def script_of(places, number):
    """A linker script that has functions in a random order. The place of each
    depends on its name and the number alone, so that two libraries that are alike
    have the same order, and none has the better one."""
    drawn = []
    for place in places:
        draws = random.Random(f"{number} {place}")
        drawn.append((draws.random(), place, draws.choice(GAPS)))
    lines = "".join(f"    . += {gap};\n    {place}\n"
                    for _, place, gap in sorted(drawn))
    return ("SECTIONS {\n  .text.placed : {\n" + lines
            + "  }\n} INSERT BEFORE .text;\n")


class Build:
    """How a build folder of meson links."""

    def __init__(self, folder):
        self.folder = folder
        self.compiled = {}  # object files by source and text of the header
        self.library = re.search(
            r"^(libtvmffi\.so\.[\d.]+): c_LINKER",
            output("ninja", "-C", folder, "-t", "targets", "all"), re.M)[1]

    def link(self, target):
        """The words of the command that links a target."""
        lines = output("ninja", "-C", self.folder, "-t", "commands", target)
        return shlex.split(lines.splitlines()[-1])

    def compile(self, name, header, folder):
        """The object file of the build whose path begins so, but with this
        header; made once."""
        key = name, Path(header).read_bytes()
        if key in self.compiled:
            return self.compiled[key]
        folder.mkdir(exist_ok=True)
        shutil.copy(header, folder / "tvmffi.h")
        command = next(
            shlex.split(entry["command"]) for entry in
            json.loads((self.folder / "compile_commands.json").read_text())
            if entry["output"].startswith(name))
        result = folder / Path(name).name.replace(self.library, "library")
        result = result.with_suffix(".o")
        command[command.index("-o") + 1] = str(result)
        command[1:1] = [f"-I{folder}", "-ffunction-sections"]
        subprocess.run(command, check=True, cwd=self.folder)
        self.compiled[key] = result
        return result

    def placed(self, target, objects, script, result):
        """Links a target from these objects as the script says."""
        words = self.link(target)
        words[words.index("-o") + 1] = str(result)
        first = next(place for place, word in enumerate(words)
                     if word.endswith(".o"))
        words = [word for word in words if not word.endswith(".o")]
        words[first:first] = [*map(str, objects), f"-Wl,-T,{script}"]
        subprocess.run(words, check=True, cwd=self.folder)

    def link_all(self, folder, headers, count):
        """`count` placements; `headers` are {"ours" or "stock": path}."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        parts = [("bench", "bench",
                  [self.folder / word for word in self.link("bench")
                   if word.endswith(".o")])]
        parts += [(f"{name}.so", self.library,
                   [self.compile(f"{self.library}.p/", header, folder / name)])
                  for name, header in headers.items()]
        if "ours" in headers:  # the rows "linked in" have the same header
            linked = "bench.p/bench_linked.c.o"
            parts[0][2][parts[0][2].index(self.folder / linked)] = \
                self.compile(linked, headers["ours"], folder / "ours")
        parts = [(*part, places_of(part[2])) for part in parts]
        script = folder / "order.ld"
        for number in range(count):
            (folder / str(number)).mkdir()
            for name, target, objects, places in parts:
                script.write_text(script_of(places, number))
                self.placed(target, objects, script,
                            folder / str(number) / name)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--ours", type=Path, help="a header")
    parser.add_argument("--stock", type=Path, help="another header")
    parser.add_argument("--count", type=int, default=COUNT)
    args = parser.parse_args()
    headers = {name: path for name, path in
               (("ours", args.ours), ("stock", args.stock)) if path}
    Build(args.build.resolve()).link_all(args.folder.resolve(), headers,
                                         args.count)
    print(f"placements: {args.count} in {args.folder}")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"placements: failed: {Path(error.cmd[0]).name}")
