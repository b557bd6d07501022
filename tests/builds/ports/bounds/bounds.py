#!/usr/bin/env python3
"""What the runtime needs at most on a Cortex-M3: stack, bytes, instructions.

Three builds (profile.h) are compiled, their worst-case stack is computed
(stack.py), and a program (program.c) measures on an emulated board what can be
measured. A measured stack above the computed one is a failure. So is a figure
above its budget: docs/porting.md and docs/bounds.md have the budgets, and
--write makes both anew, with a little room above the figures of this run.
Writes TAP.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
sys.path[:0] = [str(ROOT / "tests/tools"), str(ROOT / "src"), str(HERE)]
import declarations  # noqa: E402
import stack  # noqa: E402
from tap import Tap  # noqa: E402

EXAMPLE = ROOT / "examples" / "firmware"
CROSS = "arm-none-eabi-"
NEEDED = [CROSS + "gcc", CROSS + "nm", CROSS + "objdump", "qemu-system-arm"]
FLAGS = ["-mcpu=cortex-m3", "-mthumb", "-Os", "-std=c11", "-ffreestanding",
         "-ffunction-sections", "-fdata-sections", "-fno-unwind-tables",
         "-fno-asynchronous-unwind-tables", "-fcallgraph-info=su", "-Wall",
         "-Wextra", "-Wno-unused-variable"]
# 1 instruction is 64 ns: program.c reads a clock of 25 MHz.
MACHINE = ["qemu-system-arm", "-M", "mps2-an385", "-display", "none",
           "-monitor", "none", "-serial", "stdio", "-icount",
           "shift=6,sleep=off", "-semihosting-config",
           "enable=on,target=native", "-kernel"]
PROFILES = [1, 2, 3]
# A scene of program.c, what it does, and the packed functions that it calls.
SCENES = {
    "register": ("register functions", []),
    "call": ("call a function by name", ["add"]),
    "call_str": ("the same with strings", ["greet"]),
    "call_bad_argument": ("a wrong argument", ["add"]),
    "call_bad_count": ("a wrong number of arguments", ["add"]),
    "call_raises": ("a function that raises", ["raise"]),
    "call_unknown": ("an unknown name", []),
    "raise_from": ("errors with causes", []),
    "error_take": ("take and release an error", []),
    "array": ("make an array", ["i_Array"]),
    "nested": ("nest arrays", ["i_Array"]),
    "list": ("append to a list", ["i_List", "i_ListAppend"]),
    "dict": ("set items of a dict", ["i_Dict", "i_DictSetItem"]),
    "lookup": ("get an item of a dict", ["i_DictGetItemOrMissing"]),
    "release": ("release a container", []),
    "json_parse": ("parse JSON", ["i_json_Parse"]),
    "json_stringify": ("write JSON", ["i_json_Stringify"]),
    "json_bad": ("parse wrong JSON", ["i_json_Parse"]),
    "type": ("register a type", []),
    "object": ("make an object", ["i_Array"]),
    "repr": ("repr of an object", ["i_ReprPrint"]),
    "deep_copy": ("deep copy", ["i_DeepCopy"]),
    "recursive_hash": ("hash", ["i_RecursiveHash"]),
    "structural_equal": ("structural equality", ["i_StructuralEqual"]),
    "structural_hash": ("structural hash", ["i_StructuralHash"]),
    "graph": ("write a graph as JSON", ["i_ToJSONGraphString"]),
}
CLOCKS = {"masked": "longest with interrupts masked",
          "locked": "longest with the mutex held, at the first use"}
# The computed stack of the scene that uses most is at most so many times what
# it uses.
FACTOR = 2.5
# The arena's functions may take so many instructions more if hundreds of blocks
# are free: the sizes of the blocks differ, not the number of steps.
STEPS = 100

PORTING, LIST = ROOT / "docs/porting.md", ROOT / "docs/bounds.md"
BEGIN = "<!-- made by ./dev bounds --write -->"
END = "<!-- end of the bounds -->"
TOP = 10  # functions in the table of those that need most stack


class Failure(Exception):
    pass


def run(argv, seconds=300, **options):
    try:
        done = subprocess.run([str(a) for a in argv], timeout=seconds,
                              stdin=subprocess.DEVNULL, check=False, text=True,
                              capture_output=True, errors="replace", **options)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{argv[0]} does not end") from error
    if done.returncode:
        raise Failure(f"{' '.join(map(str, argv))}\n{done.stderr[-3000:]}")
    return done.stdout


class Build:
    """The program of a profile: what is computed, and what is measured."""

    def __init__(self, profile, folder):
        self.profile = profile
        elf, part = folder / f"{profile}.elf", folder / f"{profile}.o"
        board = folder / f"board{profile}.o"
        run([CROSS + "gcc", *FLAGS, f"-DBOUNDS_PROFILE={profile}", "-I", ROOT,
             "-I", HERE, "-c", HERE / "program.c", "-o", part])
        run([CROSS + "gcc", *FLAGS, "-c", EXAMPLE / "board.c", "-o", board])
        run([CROSS + "gcc", "-mcpu=cortex-m3", "-mthumb", part, board,
             "-nostdlib", "-Wl,--gc-sections,--gc-keep-exported",
             "-Wl,--defsym=FLASH_SIZE=4M,--defsym=RAM_SIZE=4M",
             "-Wl,--defsym=STACK_SIZE=64K",
             f"-Wl,-T,{EXAMPLE / 'link.ld'}", "-lgcc", "-o", elf])
        self.stacks = stack.Graph([part.with_suffix(".ci"),
                                    board.with_suffix(".ci")], elf, CROSS)
        self.measured = {"stack": {}, "bytes": {}, "instructions": {}}
        text = run([*MACHINE, elf], 120)
        if not text.endswith("done\n"):
            raise Failure("the program stopped: " + text[-300:])
        for line in text.splitlines()[:-1]:
            kind, name, number = re.match(r"(\w+) (.*) (\d+)$", line).groups()
            kind = self.measured[kind]
            name = CLOCKS.get(name, name)
            kind[name] = max(int(number), kind.get(name, 0))
        self.measured["bytes"]["the runtime's own memory, without the arena"] \
            = static_memory(elf)

    def computed(self):
        """The computed stack of each scene that was measured."""
        return {name: self.stacks.worst_with(
                    "scene_" + name,
                    ["tvmffi_call_" + f for f in SCENES[name][1]] or [stack.CALL])
                for name in self.measured["stack"]}

    def functions(self, names):
        """The computed stack of each public function, and a mark if it calls
        code that the figure does not include."""
        result = {}
        for name in self.stacks.names:
            label = public(stack.base(name), names)
            if label:
                known = result.get(label, (0, ""))[0]
                result[label] = (max(self.stacks.worst(name), known),
                                 mark(self.stacks.adds(name)))
        return result


def mark(adds):
    return ("c" if stack.CALL in adds else "") + \
        ("u" if stack.USER in adds else "")


def builtin_names():
    """The names of the built-in functions, by the names of their code."""
    rooms = declarations.read_rooms()
    functions = declarations.read_functions(rooms, declarations.Macros(rooms))
    return {code: f.name for code, f in functions.items()}


def public(name, names):
    """The name of a public function in the tables, or None."""
    if name.startswith("TVMFFI"):
        return f"`{name}`"
    if name.startswith("tvmffi_call_i_"):
        code = name[len("tvmffi_call_"):]
        return f'`"{names[code]}"`' if code in names else None
    if re.match(r"tvmffi_(?!i_|call_|body_)", name):
        return f"`{name}`"
    return None


def static_memory(elf):
    """The bytes of the runtime's variables, but for the arena."""
    total = 0
    for line in run([CROSS + "nm", "-S", elf]).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "bBdD" and \
                words[3].startswith("tvmffi_") and words[3] != "tvmffi_i_arena":
            total += int(words[1], 16)
    return total


def firmware(folder):
    """The worst-case stack of examples/firmware, and its size."""
    run([EXAMPLE / "build.sh", folder], env={**os.environ, "CROSS": CROSS,
                                             "CFLAGS": "-fcallgraph-info=su"})
    stacks = stack.Graph(sorted(folder.glob("*.ci")),
                          folder / "firmware.elf", CROSS)
    called = [n for n in stacks.names if n.startswith("tvmffi_call_")]
    size = re.search(r"STACK_SIZE : (\d+);", (EXAMPLE / "link.ld").read_text())
    return stacks.worst_with("board_reset", called), int(size[1])


# -- the tables ----------------------------------------------------------

def stack_budget(figure):
    return -(-int(figure * 1.06 + 16) // 16) * 16


def budget(figure):
    return -(-int(figure * 1.05) // 8) * 8


class Table:
    """Rows by name; each has a figure and a budget for each profile. The text
    in a document is where the budgets are."""

    def __init__(self, key, head, cells, room):
        self.key, self.head, self.room = key, head, room
        self.cells = cells  # [profile][name] = (shown figure, figure, mark)

    def names(self):
        seen = {}
        for cells in self.cells.values():
            seen.update(dict.fromkeys(cells))
        return list(seen)

    def lines(self):
        yield "| " + self.head + " |"
        yield "| --- |" + " --- |" * (self.head.count("|"))
        for name in self.names():
            row = [name]
            for profile in PROFILES:
                row += self.row(self.cells[profile].get(name))
            yield "| " + " | ".join(row) + " |"

    def row(self, cell):
        if cell is None:
            return ["", ""]
        shown, figure, _ = cell
        return [str(shown), str(self.room(figure))]

    def budgets(self, text):
        """Reads the budgets out of a document."""
        found = {profile: {} for profile in PROFILES}
        at = text.find("| " + self.head + " |")
        for line in text[max(at, 0):].split("\n\n")[0].splitlines()[2:]:
            _, name, *cells, _ = [c.strip() for c in line.split("|")]
            for profile, cell in zip(PROFILES, self.limits(cells)):
                number = re.match(r"\d+", cell)
                if number:
                    found[profile][name] = int(number[0])
        return found

    def limits(self, cells):
        return cells[1::2]


class List(Table):
    """A table of functions, with the budgets alone."""

    def row(self, cell):
        return [f"{self.room(cell[1])} {cell[2]}".strip() if cell else ""]

    def limits(self, cells):
        return cells


def short_head(what):
    return (f"{what} | 1: calls | at most | 2: containers | at most "
            "| 3: all | at most")


def tables(builds):
    names = builtin_names()
    scenes, every = {}, {}
    for build in builds:
        computed = build.computed()
        scenes[build.profile] = {
            SCENES[n][0]: (used, computed[n], "")
            for n, used in build.measured["stack"].items()}
        every[build.profile] = {
            label: (figure, figure, adds) for label, (figure, adds)
            in sorted(build.functions(names).items())}
    most = {p: dict(sorted(cells.items(), key=lambda c: (-c[1][1], c[0]))[:TOP])
            for p, cells in every.items()}
    in_top = dict.fromkeys(n for cells in most.values() for n in cells)
    top = {p: {n: every[p][n] for n in in_top if n in every[p]}
           for p in every}

    def plain(kind):
        return {b.profile: {name: (figure, figure, "") for name, figure
                            in b.measured[kind].items()} for b in builds}

    return {
        "scenes": Table("scenes", short_head("stack, bytes"), scenes,
                        stack_budget),
        "top": List("top", "most stack, bytes | 1: calls | 2: containers "
                    "| 3: all", top, stack_budget),
        "bytes": Table("bytes", short_head("memory, bytes"), plain("bytes"),
                       budget),
        "instructions": Table("instructions", short_head("instructions"),
                              plain("instructions"), budget),
        "every": List("every", "function | 1: calls | 2: containers | 3: all",
                      every, stack_budget),
    }


LIST_TEXT = """# Stack of every public function

The most stack, in bytes, that each public function needs on a Cortex-M3 with all
that it calls. How it is computed, what it does not include, and what the three
builds contain: [porting](porting.md#bounds).

**c**: add the stack of the packed function that is called. **u**: add the stack of
deleters, getters and hooks of your own types, if they have any. A function without
a number is not in that build, or the compiler put its code into its callers.
"""


def documents(found):
    """Returns the new text of both documents."""
    before, rest = PORTING.read_text().split(BEGIN)
    after = rest.split(END)[1]
    parts = ["\n".join(found[key].lines())
             for key in ("scenes", "top", "bytes", "instructions")]
    porting = before + BEGIN + "\n" + "\n\n".join(parts) + "\n\n" + END + after
    full = LIST_TEXT + "\n" + "\n".join(found["every"].lines()) + "\n"
    return {PORTING: porting, LIST: full}


# -- the checks ----------------------------------------------------------

def check_budgets(tap, found):
    texts = {PORTING: PORTING.read_text(),
             LIST: LIST.read_text() if LIST.exists() else ""}
    for key, table in found.items():
        if key == "top":  # an extract of the list
            continue
        budgets = table.budgets(texts[LIST if key == "every" else PORTING])
        over = []
        for profile, cells in table.cells.items():
            for name, (_, figure, _) in cells.items():
                limit = budgets[profile].get(name)
                if limit is None:
                    # A function of the list is new, or not inlined.
                    over.append(f"{profile}: {name} has no budget")
                elif figure > limit:
                    over.append(f"{profile}: {name}: {figure}, and at most "
                                f"{limit}")
        tap.ok(not over, f"budgets: {table.head.split(' | ')[0]}",
               "\n".join(over + ["./dev bounds --write sets new budgets"]))


def check_build(tap, build):
    name = f"profile {build.profile}"
    used, computed = build.measured["stack"], build.computed()
    wrong = [f"{n}: {used[n]} bytes used, and {computed[n]} computed"
             for n in used if used[n] > computed[n]]
    tap.ok(not wrong, f"{name}: no measured stack is above the computed one",
           "\n".join(wrong))
    most = max(used, key=used.get)
    tap.ok(computed[most] <= FACTOR * used[most],
           f"{name}: the computed stack is at most {FACTOR} times the largest "
           "one used", f"{most}: {used[most]}, computed {computed[most]}")
    steps = build.measured["instructions"]
    grown = {w: steps[f"{w}, many free blocks"] - steps[f"{w}, few free blocks"]
             for w in ("allocate", "free")}
    tap.ok(max(grown.values()) <= STEPS, f"{name}: the arena's time does not "
           "grow with the number of free blocks", grown)


def check_all(tap, write):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "firmware").mkdir()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            example = pool.submit(firmware, folder / "firmware")
            builds = list(pool.map(lambda p: Build(p, folder),
                                   reversed(PROFILES)))[::-1]
            needs, has = example.result()
    for build in builds:
        check_build(tap, build)
    tap.ok(needs <= has, "examples/firmware: its stack suffices",
           f"{needs} bytes computed, {has} there")
    tap.note(f"examples/firmware: {needs} of {has} bytes of stack")
    found = tables(builds)
    if write:
        for path, text in documents(found).items():
            path.write_text(text)
    check_budgets(tap, found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    tap = Tap()
    missing = [n for n in NEEDED if not shutil.which(n)]
    if missing:
        tap.skip("bounds", "no " + " ".join(missing))
        return tap.done()
    try:
        check_all(tap, options.write)
    except (Failure, stack.Failure) as error:
        tap.ok(False, "builds, runs and has a bound", error)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
