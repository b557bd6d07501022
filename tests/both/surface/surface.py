#!/usr/bin/env python3
"""Compares what a libtvm_ffi.so shows to its clients with upstream's.

    surface.py --program SURFACE --lib OURS [--cxx] [--stock UPSTREAM]
        [--update]

SURFACE is surface.c, built. The files beside this one say what there must be:
c-symbols.txt, globals.txt and types.txt as upstream's library has it, and
missing.txt what ours does not have yet: one line for each fact, in the form
that a failure prints. A line there that is no longer missing is a failure.
With --cxx the symbols of cxx-symbols.txt are there as well, and those that only
upstream's older wheels have, in cxx-symbols-older.txt; the C++ library may be
needed. --update writes missing.txt. Output is TAP.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
sys.dont_write_bytecode = True
from tap import Tap  # noqa: E402

# The parts of glibc, of which there are fewer the newer it is.
LIBC = re.compile(r"(libc|libdl|libpthread|libm|ld-linux[\w-]*)\.so\.\d+$")
LIBCXX = re.compile(r"(libstdc\+\+|libgcc_s)\.so\.\d+$")


def read(name):
    return (HERE / name).read_text(encoding="utf-8")


def output(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True,
                          text=True)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.returncode}\n{done.stdout}"
                           f"{done.stderr}")
    return done.stdout


# -- the library as a file -----------------------------------------------


def symbols(library):
    lines = output("nm", "-D", "--defined-only", "--with-symbol-versions",
                   library).splitlines()
    return [line.split()[-1] for line in lines]


def symbol_problems(library, cxx=False):
    wanted, found = read("c-symbols.txt").split(), symbols(library)
    if cxx:
        wanted += read("cxx-symbols.txt").split()
        wanted += read("cxx-symbols-older.txt").split()
    return ([f"not exported: {s}" for s in wanted if s not in found]
            + [f"exported: {s}" for s in found if s not in wanted])


def dynamic(library, tag):
    return re.findall(rf"\({tag}\).*\[(.*)\]", output("readelf", "-dW",
                                                     library))


def soname_problems(library, cxx=False):
    del cxx
    names = dynamic(library, "SONAME")
    return [] if names == ["libtvm_ffi.so"] else [f"SONAME {names}"]


def needed_problems(library, cxx=False):
    return [f"NEEDED {name}" for name in dynamic(library, "NEEDED")
            if not LIBC.match(name) and not (cxx and LIBCXX.match(name))]


def unload_problems(library, cxx=False):
    """Objects may outlive the library's last dlclose."""
    del cxx
    stays = output(sys.executable, "-c", """
import _ctypes, ctypes, sys
_ctypes.dlclose(ctypes.CDLL(sys.argv[1])._handle)
print(sys.argv[1] in open("/proc/self/maps").read())
""", library)
    return [] if stays == "True\n" else ["dlclose unloads it"]


# -- what it registers ---------------------------------------------------


def facts_of_globals(text):
    for line in text.splitlines():
        name, _, schema = line.partition(" ")
        yield f"global {name}", schema


def facts_of_types(text):
    keys, key = {}, None
    for line in text.splitlines():
        words = line.split(" ", 2)
        member = re.match(r"    (field|method) (\S+) (.*)", line)
        if member:
            yield f"{member[1]} {key}.{member[2]}", member[3]
        elif line.startswith("attr "):
            name, _, rest = line[5:].partition(":")
            values = dict(re.findall(r" (\d+)\((t\d+)\)", rest))
            yield f"column {name}", re.sub(r":.*", "", rest).strip()
            for index, value in values.items():
                yield f"attr {name} {keys.get(index, index)}", value
        else:
            # A key may have blanks in it; what follows it begins so.
            key, _, rest = line.partition(" depth=")
            key = key.split(" ", 1)[1]
            keys[words[0]] = key
            yield f"type {key}", f"{words[0]} depth={rest}"


def facts(globals_text, types_text):
    result = {}
    for key, value in (*facts_of_globals(globals_text),
                       *facts_of_types(types_text)):
        if key in result:
            raise RuntimeError(f"twice: {key}")
        result[key] = value
    return result


def facts_of(program, library):
    return facts(output(program, library, "globals"),
                 output(program, library, "types"))


def compare(expected, got, missing):
    """Returns problems, in groups: extra, absent or different, out of order,
    no longer missing."""
    extra = [f"{k} {got[k]}" for k in got if k not in expected]
    lacks = [f"{k}\n  expected {v}\n  got      {got.get(k, 'nothing')}"
             for k, v in expected.items()
             if got.get(k) != v and k not in missing]
    stale = [k for k in missing if expected.get(k) == got.get(k)]
    both = [k for k in expected if k in got]
    order = [f"{a} stands before {b}" for a, b in
             zip([k for k in got if k in expected], both) if a != b]
    return extra, lacks, order[:1], stale


NAMES = ["nothing is there that upstream has not",
         "all is there that upstream has, but for missing.txt",
         "fields, methods and types are in upstream's order",
         "what missing.txt lists is missing"]


def read_missing():
    path = HERE / "missing.txt"
    return [line for line in path.read_text().splitlines()
            if line and not line.startswith("#")] if path.exists() else []


def check_ours(tap, args, expected):
    for name, check in (
            ("the symbols are those listed", symbol_problems),
            ("the SONAME is libtvm_ffi.so", soname_problems),
            ("nothing but libc is needed, and C++'s with the adapter",
             needed_problems),
            ("dlclose does not unload it", unload_problems)):
        problems = check(args.lib, args.cxx)
        tap.ok(not problems, name, "\n".join(problems))
    missing = read_missing()
    got = facts_of(args.program, args.lib)
    for name, problems in zip(NAMES, compare(expected, got, missing)):
        tap.ok(not problems, name, "\n".join(problems))
    tap.note(f"surface: {len(expected)} facts, {len(missing)} missing")


def check_stock(tap, args):
    for kind in ("globals", "types"):
        same = output(args.program, args.stock, kind) == read(f"{kind}.txt")
        tap.ok(same, f"{kind}.txt is what upstream's library has")
    found = symbols(args.stock)
    tap.ok([s for s in found if not s.startswith("_Z")]
           == read("c-symbols.txt").split(),
           "c-symbols.txt is what upstream's library exports")
    # Of what it exports of the C++ library, some is of a compiler's choice.
    cxx = read("cxx-symbols.txt").split()
    tap.ok(set(cxx) <= set(found) and not
           [s for s in found if s.startswith("_ZN3tvm") and s not in cxx],
           "cxx-symbols.txt is what upstream's library exports of C++")
    tap.ok(not unload_problems(args.stock),
           "dlclose does not unload upstream's library")
    # The library has symbols of C++ and needs its runtime: faults, in ours.
    tap.ok(symbol_problems(args.stock), "a symbol too many is found")
    tap.ok(needed_problems(args.stock), "a library too many is found")


def check_compare(tap, expected):
    """Each kind of fault, once."""
    keys = list(expected)
    fewer = {k: expected[k] for k in keys[1:]}
    swapped = {k: expected[k] for k in keys[1:2] + keys[:1] + keys[2:]}
    for name, got, missing, group in (
            ("a fact too many", {**expected, "global x": ""}, [], 0),
            ("an absent fact", fewer, [], 1),
            ("a different fact", {**expected, keys[0]: "?"}, [], 1),
            ("another order", swapped, [], 2),
            ("a line of missing.txt too many", expected, keys[:1], 3)):
        found = [bool(p) for p in compare(expected, got, missing)]
        tap.ok(found == [i == group for i in range(4)],
               f"found: {name}", found)
    tap.ok(not any(compare(expected, fewer, keys[:1])),
           "what missing.txt lists may be absent")


def update(args, expected):
    got = facts_of(args.program, args.lib)
    lines = [k for k, v in expected.items() if got.get(k) != v]
    (HERE / "missing.txt").write_text(
        "# What upstream's library has and ours does not have yet.\n"
        + "".join(f"{line}\n" for line in lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--cxx", action="store_true")
    parser.add_argument("--stock")
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    expected = facts(read("globals.txt"), read("types.txt"))
    if args.update:
        return update(args, expected)
    tap = Tap()
    check_compare(tap, expected)
    if args.stock:
        check_stock(tap, args)
    else:
        tap.skip("the facts are upstream's", "the wheel is not there")
    check_ours(tap, args, expected)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
