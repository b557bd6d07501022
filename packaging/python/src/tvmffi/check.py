"""Says what a library needs from libtvm_ffi.so, and which libraries have it.
"""

import re
import shutil
import subprocess
from pathlib import Path

from .elf import Elf

HERE = Path(__file__).parent
LIBRARY = HERE / "prefix/lib/libtvm_ffi.so"
# Functions of the ABI, and C++ names in the namespace tvm::ffi: functions and
# variables, virtual tables, type information and guards of variables.
C_NAME = re.compile(r"TVMFFI[A-Z]\w*$")
CXX_NAME = re.compile(r"_Z(T[VIST]|GV|Z)?(Z?N[VKRO]*)3tvm3ffi")


def read_table():
    """The stock wheels, oldest first, and for each symbol the first and the
    last of them with it. packaging/python/symbols.py writes the file."""
    wheels, symbols = [], {}
    for line in (HERE / "symbols.txt").read_text().splitlines():
        name, *rest = line.split()
        if name == "wheels":
            wheels = rest
        elif name != "#":
            symbols[name] = tuple(rest)
    return wheels, symbols


def readable(names):
    """C++ names as in a program, if the machine has c++filt."""
    filt = shutil.which("c++filt")
    if not filt or not names:
        return names
    done = subprocess.run([filt], input="\n".join(names), text=True,
                          capture_output=True)
    return done.stdout.splitlines()


def wheels_with_all(names, wheels, symbols):
    """The stock wheels that have every name."""
    left = set(wheels)
    for name in names:
        if name not in symbols:
            return []
        first, last = (wheels.index(w) for w in symbols[name])
        left &= set(wheels[first:last + 1])
    return [w for w in wheels if w in left]


def wheel_lines(names, text, wheels, symbols):
    """The lines of the report about the wheels that have every name."""
    fit = wheels_with_all(names, wheels, symbols)
    if not fit:
        return [f"  no stock wheel from {wheels[0]} to {wheels[-1]} has {text}"]
    lines = [f"  oldest stock wheel with {text}: {fit[0]}"]
    if fit[0] == wheels[0]:
        lines[0] += ", the first"
    if fit[-1] != wheels[-1]:
        lines.append(f"  newest stock wheel with {text}: {fit[-1]}")
    return lines


def since(name, wheels, symbols):
    if name not in symbols:
        return f"in no wheel up to {wheels[-1]}"
    first, last = symbols[name]
    text = f"since {first}"
    return text if last == wheels[-1] else f"{text}, not after {last}"


def of_other_libraries(elf):
    """The symbols of the libraries that come with this one."""
    names = set()
    for needed in elf.needed:
        paths = [Path(folder) / needed for folder in elf.folders]
        found = next((p for p in paths if p.is_file()), None)
        if found and needed != LIBRARY.name:
            names |= {s.name for s in Elf(found).symbols if s.defined}
    return names


def looked_up(elf, data):
    """The functions of the ABI that a library with dlsym looks up by name: the
    texts in the file that are none of its symbols."""
    if not any(s.name == "dlsym" for s in elf.symbols):
        return []
    _, known = read_table()
    texts = set(re.findall(rb"(?<=\0)TVMFFI[A-Z]\w*(?=\0)", data))
    names = {text.decode() for text in texts} - {s.name for s in elf.symbols}
    return sorted(names & known.keys())


def report(library):
    """Returns the lines of the report, and whether this package's library has
    all that `library` needs. Raises OSError or ElfError."""
    elf = Elf(library)
    ours = {s.name for s in Elf(LIBRARY).symbols if s.defined}
    wheels, symbols = read_table()
    others = of_other_libraries(elf)
    wanted = [s for s in elf.symbols if not s.defined and s.name not in others]
    c = sorted(s.name for s in wanted if C_NAME.match(s.name))
    # A call of a function that tvmffi.h refers to weakly is an error without
    # it: src/head/late.h.
    optional = {s.name for s in wanted if C_NAME.match(s.name) and s.weak}
    # The loader accepts that a weak symbol is in no library.
    cxx = sorted(s.name for s in wanted
                 if CXX_NAME.match(s.name) and not s.weak)

    def rows(names, shown):
        for name, text in zip(names, shown):
            has = "" if name in ours else "; not in this library"
            if name in optional:
                has = "; optional" + has
            yield f"    {text}: {since(name, wheels, symbols)}{has}"

    linked = LIBRARY.name in elf.needed
    yes = "yes" if linked else "no, it uses the library of its process"
    lines = [f"{library}", f"  linked with libtvm_ffi.so: {yes}",
             f"  functions of the ABI: {len(c)}", *rows(c, c),
             f"  C++ symbols of tvm::ffi: {len(cxx)}",
             *rows(cxx, readable(cxx))]
    found = looked_up(elf, Path(library).read_bytes())
    if found:
        lines.append(
            f"  functions of the ABI that it finds by dlsym: {len(found)}")
    lines += wheel_lines(c + found + cxx, "all of them", wheels, symbols)
    if {"TVMFFIFunctionGetGlobal", "TVMFFITypeKeyToIndex"} & {*c, *found}:
        lines.append("  global functions and types that it finds by name: "
                     "unknown, because only its code has the names")
    if optional:
        lines += wheel_lines([n for n in c + found + cxx if n not in optional],
                             "all that are not optional", wheels, symbols)
    missing = [name for name in c + found + cxx if name not in ours]
    if not missing:
        lines.append("  this library has all of them")
    elif any(name not in symbols or symbols[name][1] != wheels[-1]
             for name in missing):
        lines.append(f"  this library lacks {len(missing)} of them")
    else:
        lines.append(f"  this library lacks {len(missing)} of them; its form "
                     "with C++ symbols has them (docs/dropin.md)")
    return lines, not missing
