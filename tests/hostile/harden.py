#!/usr/bin/env python3
"""Builds the header hardened, optimises it as a whole, and analyses it.

Each check is shown to find a fault. What a check finds as is meant is in a file
with the reason: integer.txt and analyzers.txt. Output is TAP.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path.append(str(HERE.parent / "tools"))
from tap import Tap  # noqa: E402

CLANG = ["clang-19", "-std=c11"]
GCC = ["gcc", "-std=c11"]
ASSERT = "-DTVMFFI_ASSERT(x)=((x)?(void)0:__builtin_trap())"
# Tests that need more than 64 KB, or get a RecursionError there.
DEEP = {
    "structural: keys in keys": "64 keys on a stack of unknown size",
    "visits: without an end": "pretends that 100,000 bytes are left",
    "structural: depth": "64 hooks on a stack of unknown size",
    "repr: hooks in hooks": "64 hooks on a stack of unknown size",
    "structural: shared objects": "nests in 50 KB, the hooks have 32 of 64",
}
LARGE = 256  # KB, enough for all tests
SMALL = 64
LIMIT = 3600  # seconds of one command


def run(*command, **options):
    return subprocess.run([str(word) for word in command], timeout=LIMIT,
                          capture_output=True, text=True, errors="replace",
                          **options)


def build(folder, compiler, source, *flags, header=None):
    """The path of a program, or the compiler's errors in an exception."""
    program = Path(tempfile.mkdtemp(dir=folder)) / Path(source).stem
    include = ["-I", header] if header else []
    done = run(*compiler, "-w", *flags, *include, "-I", ROOT, source,
               "-lpthread", "-o", program)
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    return program


def broken_copy(folder, old, new):
    """A folder with a copy of the sources of the unit tests and a header with a
    fault."""
    text = (ROOT / "tvmffi.h").read_text()
    if text.count(old) != 1:
        raise RuntimeError(f"not once in the header: {old}")
    copy = Path(folder) / "broken"
    copy.mkdir(exist_ok=True)
    (copy / "tvmffi.h").write_text(text.replace(old, new))
    for name in ("tests", "legacy", "tvmffi_impl_test.c"):
        link = copy / name
        if not link.exists():
            link.symlink_to(ROOT / name)
    (copy / "unit.c").write_text((ROOT / "tvmffi_impl_test.c").read_text())
    return copy


def compare(found, known):
    """Problems where these sets differ."""
    return "\n".join([f"new: {name}" for name in sorted(found - known)]
                     + [f"no more: {name}" for name in sorted(known - found)])


def tests_failed(done):
    return "\n".join(re.findall(r"^not ok.*(?:\n# .*)*", done.stdout, re.M)) \
        + f"\nstatus {done.returncode}" if done.returncode else ""


# -- wrapping numbers ----------------------------------------------------

INTEGER = ["-O1", "-g1", "-fsanitize=integer,implicit-conversion"]


def wraps(program, *options):
    """The functions of the runtime that wrap, and what the tests say."""
    done = run(program, "--short", *options, env={"UBSAN_OPTIONS": "print_stacktrace=1"})
    frames = re.findall(r"runtime error.*\n\s+#0 \S+ in (\w+)", done.stderr)
    return {f for f in frames if not f.startswith("test_")}, done


def integer(tap, folder):
    known = set(re.findall(r"^fun:(\w+)$",
                           (HERE / "integer.txt").read_text(), re.M))
    found, done = wraps(build(folder, CLANG, ROOT / "tvmffi_impl_test.c",
                              ASSERT, *INTEGER))
    tap.ok(not done.returncode and found == known,
           "numbers wrap only where that is meant",
           tests_failed(done) + compare(found, known))
    copy = broken_copy(folder, FAULT[0], FAULT[1])
    found, done = wraps(build(folder, CLANG, copy / "unit.c", ASSERT,
                              *INTEGER, header=copy))
    tap.ok("tvmffi_i_new_items" in found - known,
           "a number that wraps is found", str(found - known))


FAULT = ("  TVMFFI_ASSERT(s->cell.capacity >= (int64_t)n);\n"
         "  *items = TVMFFI_I_ITEMS(s);",
         "  n = 0 - (0 - n);\n"
         "  *items = TVMFFI_I_ITEMS(s);")


# -- small stacks --------------------------------------------------------


def used(done):
    return {name: int(size) for size, name in
            re.findall(r"^# (\d+) bytes of stack: (.*)$", done.stdout, re.M)}


def stacks(tap, folder):
    program = build(folder, GCC, HERE / "unit_thread.c", "-O2", ASSERT)
    done = run(program, LARGE)
    sizes = used(done)
    tap.ok(not done.returncode and sizes,
           f"the unit tests on stacks of {LARGE} KB", tests_failed(done))
    for name in sorted(sizes, key=sizes.get)[:-6:-1]:
        tap.note(f"{sizes[name]} bytes of stack: {name}")
    tap.ok(all(sizes.get(name, 0) > SMALL * 1024 // 2 for name in DEEP),
           f"the tests left out below use more than half of {SMALL} KB",
           "\n".join(f"{name}: {sizes.get(name)}" for name in DEEP))
    done = run(program, SMALL, *DEEP)
    tap.ok(not done.returncode and used(done),
           f"the unit tests on stacks of {SMALL} KB", tests_failed(done))
    done = run(program, SMALL)
    tap.ok(done.returncode != 0, "a stack that is too small is found")


# -- optimised as a whole ------------------------------------------------


def lto(tap, folder):
    for name, compiler, flags in (
            ("gcc", GCC, ["-flto=auto"]),
            ("clang", CLANG, ["-flto", "-fuse-ld=lld"])):
        done = run(build(folder, compiler, ROOT / "tvmffi_impl_test.c", "-O3",
                         ASSERT, *flags), "--short")
        tap.ok(not done.returncode, f"{name} -O3 -flto: the unit tests pass",
               tests_failed(done))


# -- analyzers -----------------------------------------------------------

ANALYZERS = {
    "gcc": [*GCC, "-O1", "-fanalyzer", "-c"],
    # More nodes of a function's graph take minutes for the whole header.
    "clang": [*CLANG, "--analyze", ASSERT, "-Xclang",
              "-analyzer-opt-analyze-headers", "-Xclang", "-analyzer-config",
              "-Xclang", "max-nodes=4000,ipa=basic-inlining"]}
# These return -1, which clang cannot see, because it follows no variadic call.
RAISE = ("tvmffi_i_raise", "tvmffi_i_fail")
LEAK = """
#include <stdlib.h>
int analyzed_fault(int n);
int analyzed_fault(int n) {
  int *p = (int *)malloc(sizeof(*p));
  if (!p || n > 3) return 0;
  *p = n;
  n = *p;
  free(p);
  return n;
}
"""


def functions_of(text):
    """The function that each line of C belongs to: a definition begins in the
    first column."""
    name, names = "", []
    for line in text.splitlines():
        if re.match(r"[A-Za-z]", line):
            head = [word for word in re.findall(r"(\w+)\(", line)
                    if not word.isupper()]
            name = head[0] if head else name
        names.append(name)
    return names


def with_results(text):
    """The header, in which each call of RAISE, and of a function that
    TVMFFI_I_FAIL_AS defines, is followed by its result."""
    result = r"\1#define \2(...) (\2(__VA_ARGS__), -1)\n"
    for name in RAISE:
        text, count = re.subn(rf"(\b({name})\b[^;]*?\{{\n.*?\n}}\n)", result,
                              text, count=1, flags=re.S)
        if not count:
            raise RuntimeError(f"not in the header: {name}")
    text, count = re.subn(r"(^TVMFFI_I_FAIL_AS\((\w+), .*\n)", result, text,
                          flags=re.M)
    if not count:
        raise RuntimeError("not in the header: TVMFFI_I_FAIL_AS")
    return text


def reports(command, path):
    """Pairs of a function and a checker, and the analyzer's text."""
    done = run(*command, "-DTVMFFI_IMPLEMENTATION", "-x", "c", path, "-o",
               f"{path}.o")
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    names = functions_of(Path(path).read_text())
    return {(names[int(line) - 1], checker) for line, checker in re.findall(
        rf"^{re.escape(str(path))}:(\d+):\d+: warning: .*\[([\w.-]+)\]$",
        done.stderr, re.M)}, done.stderr


def analyze(tap, folder, name):
    known = set(re.findall(rf"^{name} (\w+) ([\w.-]+): ",
                           (HERE / "analyzers.txt").read_text(), re.M))
    path = Path(folder) / "analyzed.h"
    text = (ROOT / "tvmffi.h").read_text()
    path.write_text(with_results(text) if name == "clang" else text)
    found, text = reports(ANALYZERS[name], path)
    tap.ok(found == known, f"{name}'s analyzer reports nothing unexplained",
           compare({" ".join(f) for f in found},
                   {" ".join(k) for k in known}) + text[:3000])
    path.write_text(LEAK)
    found, _ = reports(ANALYZERS[name], path)
    tap.ok("analyzed_fault" in {f for f, _ in found},
           f"{name}'s analyzer finds a leak")


def gcc_analyzer(tap, folder):
    analyze(tap, folder, "gcc")


def clang_analyzer(tap, folder):
    analyze(tap, folder, "clang")
    done = run(*CLANG, "--analyze", ASSERT, "-I", ROOT,
               ROOT / "tvmffi_impl_test.c", "-o", "/dev/null")
    tap.ok(not done.returncode and "warning:" not in done.stderr,
           "clang's analyzer reports nothing in the unit tests", done.stderr)


QUICK = [integer, stacks]
SLOW = [lto, gcc_analyzer, clang_analyzer]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true",
                        help="only what takes a minute")
    parser.add_argument("names", nargs="*", help="only these checks")
    args = parser.parse_args()
    checks = {check.__name__: check
              for check in (QUICK if args.quick else QUICK + SLOW)}
    if unknown := [name for name in args.names if name not in checks]:
        parser.error(f"no check is named {unknown[0]}; the checks are "
                     + " ".join(checks))
    tap = Tap()
    for name in args.names or checks:
        with tempfile.TemporaryDirectory() as folder:
            try:
                checks[name](tap, folder)
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                tap.ok(False, name, error)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
