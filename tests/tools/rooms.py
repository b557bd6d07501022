"""Checks the includes of src/: what each room defines, uses and includes.

A room is a header in a folder of src/, its layer; src/LAYER.h lists the rooms of
a layer. A room includes the rooms of its layer and the other layers whose names
it uses, and nothing else; it uses its own layer and those above it; no includes
form a circle; and it compiles alone. tests/tools/lint.py runs these checks.
"""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

LAYERS = ["head", "base", "platform", "core", "containers", "graph",
          "modules", "reflection", "extra", "interface", "functions", "tables"]
MOST_LINES = 1200
NAME = re.compile(r"(?:tvmffi|TVMFFI|kTVMFFI|TVM_FFI|DLPACK|kDL)\w+|DL[A-Z]\w+|"
                  r"i_[a-z]\w*")
INCLUDE = re.compile(r'^#include "([\w./]+)"$', re.M)
# What platform/libc.h is for, below the interface.
LIBC = {"memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strcmp",
        "strchr", "strrchr", "malloc", "calloc", "free", "fprintf", "fputs",
        "fwrite", "getenv"}
# Options, which the user defines.
OPTIONS = {"TVMFFI_MALLOC", "TVMFFI_FREE"}
MODES = [
    ["-DTVMFFI_IMPLEMENTATION"],
    ["-DTVMFFI_IMPLEMENTATION", "-DTVMFFI_DEBUG=1",
     "-DTVMFFI_DYNAMIC=1"],
    ["-DTVMFFI_IMPLEMENTATION", "-DTVMFFI_FREESTANDING=1",
     "-DTVMFFI_ARENA_SIZE=65536", "-DTVMFFI_NO_TYPES=1"],
    ["-DTVMFFI_SHARE_INTERFACE=1"],
]


def without_comments(text):
    return re.sub(r'/\*.*?\*/|("(?:\\.|[^"\\\n])*")',
                  lambda m: '""' if m.group(1) else
                  " " + "\n" * m.group(0).count("\n"), text, flags=re.S)


def included(src, path):
    """What a file includes: "core/object" is a room, "core" a layer."""
    return [str((path.parent / name).resolve().relative_to(src.resolve())
                .with_suffix(""))
            for name in INCLUDE.findall(path.read_text(encoding="utf-8"))]


class Room:
    def __init__(self, src, path):
        self.name = str(path.relative_to(src).with_suffix(""))
        self.layer = self.name.split("/")[0]
        text = path.read_text(encoding="utf-8")
        self.lines = text.count("\n")
        self.includes = included(src, path)
        code = INCLUDE.sub("", without_comments(text))
        self.defines = set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)",
                                      code, re.M))
        # Macros of other rooms that this room undefines.
        self.removes = set(re.findall(r"^[ \t]*#[ \t]*undef[ \t]+(\w+)",
                                      code, re.M)) - self.defines
        self.redefines = set(re.findall(
            r"^[ \t]*#[ \t]*undef[ \t]+(\w+)\n[ \t]*#[ \t]*define[ \t]+\1\b",
            code, re.M))
        # A pointer to a struct needs no more than the name of the struct.
        code = re.sub(r"\bstruct \w+ (?=\*)", "", code)
        self.uses = set(NAME.findall(code))
        if self.layer not in ("head", "base", "interface"):
            self.uses |= LIBC & set(re.findall(r"\w+", code))
            self.uses |= set(re.findall(r"pthread_\w+", code))
        self.declares = set()  # names after preprocessing

    def targets(self, homes):
        """What this room may include for a name that the rooms `homes` have.
        """
        return {home if home.startswith(self.layer + "/")
                else home.split("/")[0] for home in homes}


class House:
    """The rooms of src/, and which of them have a name."""

    def __init__(self, src, cc, declared_names, token):
        self.src = Path(src)
        self.rooms = {}
        for path in sorted(self.src.glob("*/*.h")):
            room = Room(self.src, path)
            self.rooms[room.name] = room
        self.layers = {layer: included(self.src, self.src / f"{layer}.h")
                       for layer in LAYERS}
        for mode in MODES:
            for name, text in self.preprocessed(cc, mode).items():
                room = self.rooms.get(name)
                if room:
                    room.declares |= set(declared_names(token.findall(text)))
        self.homes = defaultdict(set)
        for room in self.rooms.values():
            for name in room.uses:
                if name in LIBC or name.startswith("pthread_"):
                    self.homes[name].add("platform/libc")
            for name in room.defines | room.declares:
                self.homes[name].add(room.name)
                # TVMFFI_I_BUILTIN_FUNC(f, i_map, ...) uses the type word i_map.
                if name.startswith("tvmffi_type_i_"):
                    self.homes[name[len("tvmffi_type_"):]].add(room.name)

        self.removers = {name: room for room in self.rooms.values()
                         for name in room.removes}

    def preprocessed(self, cc, mode):
        run = subprocess.run([*cc, "-std=c99", *mode, "-E",
                              str(self.src / "tvmffi.h")],
                             capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(run.stderr)
        texts, room = defaultdict(list), None
        for line in run.stdout.split("\n"):
            marker = re.match(r'#(?:line)? \d+ "([^"]*)"', line)
            if marker:
                path = Path(marker.group(1)).resolve()
                inside = self.src.resolve() in path.parents
                room = inside and str(path.relative_to(
                    self.src.resolve()).with_suffix(""))
            elif room:
                texts[room].append(line)
        return {name: "\n".join(lines) for name, lines in texts.items()}

    def foreign(self, room, names):
        """The rooms that have a name of `names` which `room` lacks."""
        for name in sorted(names - OPTIONS):
            homes = self.homes.get(name)
            if homes and room.name not in homes:
                yield name, homes
        # A room that defines a function includes the room that undefines the
        # macro of the same name.
        for name in sorted(room.declares & self.removers.keys()):
            remover = self.removers[name]
            if LAYERS.index(remover.layer) <= LAYERS.index(room.layer) \
                    and remover != room:
                yield name, {remover.name}


def missing_includes(house):
    return [f"src/{room.name}.h: no include for {name} of "
            f"{' or '.join(sorted(homes))}"
            for room in house.rooms.values()
            for name, homes in house.foreign(room, room.uses)
            if not room.targets(homes) & set(room.includes)]


def unused_includes(house):
    problems = []
    for room in house.rooms.values():
        used = {name for _, homes in house.foreign(room, room.uses)
                for name in room.targets(homes)}
        problems += [f"src/{room.name}.h needs no include of {name}"
                     for name in room.includes if name not in used]
        problems += [f"src/{room.name}.h includes {name} twice"
                     for name in set(room.includes)
                     if room.includes.count(name) > 1]
    return problems


def lower_layers(house):
    return [f"src/{room.name}.h includes the lower layer {name}"
            for room in house.rooms.values() for name in room.includes
            if LAYERS.index(name.split("/")[0]) > LAYERS.index(room.layer)]


def interface_alone(house):
    """Rooms of the interface that use more than head and base: a kernel has
    these layers alone."""
    return [f"src/{room.name}.h includes {name}, a part of the runtime"
            for room in house.rooms.values() if room.layer == "interface"
            for name in room.includes
            if name.split("/")[0] not in ("head", "base", "interface")]


def named_twice(house):
    """Rooms of different layers that have one name."""
    homes = defaultdict(list)
    for name in house.rooms:
        homes[name.split("/")[1]].append(name)
    return [f"the rooms {' and '.join(names)} have one name"
            for names in homes.values() if len(names) > 1]


def circles(house):
    problems, state = [], {}
    includes = {**house.layers, **{name: room.includes
                                   for name, room in house.rooms.items()}}

    def visit(name, path):
        if state.get(name) == "open":
            at = path.index(name)
            problems.append(" -> ".join(path[at:] + [name]))
        if name in state:
            return
        state[name] = "open"
        for other in includes.get(name, []):
            visit(other, path + [name])
        state[name] = "done"

    for name in includes:
        visit(name, [])
    return problems


def too_long(house):
    return [f"src/{room.name}.h has {room.lines} lines, over {MOST_LINES}"
            for room in house.rooms.values() if room.lines > MOST_LINES]


def defined_twice(house):
    """Macros that two rooms define. Exempt are a redefinition directly after
    #undef, and late functions, which one room removes again."""
    homes = defaultdict(list)
    for room in house.rooms.values():
        for name in room.defines - room.redefines - house.removers.keys():
            homes[name].append(f"src/{room.name}.h")
    return [f"{name} is defined in {' and '.join(sorted(files))}"
            for name, files in sorted(homes.items()) if len(files) > 1]


def unlisted(house):
    """Rooms that their layer does not list, layers that tvmffi.h does not, and
    what is listed elsewhere or does not exist."""
    listed = {(name, layer) for layer, names in house.layers.items()
              for name in names}
    rooms = {(room.name, room.layer) for room in house.rooms.values()}
    root = {(name, "tvmffi")
            for name in included(house.src, house.src / "tvmffi.h")}
    return [f"{name} and the list of src/{place}.h differ" for name, place in
            sorted(listed ^ rooms | root ^ {(layer, "tvmffi")
                                            for layer in LAYERS})]


def not_alone(src, cc, cxx):
    problems = []
    for path in sorted(src.glob("*/*.h")):
        for command in ([*cc, "-std=c99"],
                        [*cxx, "-std=c++11", "-x", "c++"]):
            run = subprocess.run(
                [*command, "-fsyntax-only", "-pedantic-errors", "-w",
                 str(path)],
                capture_output=True, text=True)
            if run.returncode:
                problems.append(run.stderr)
    return problems
