#!/usr/bin/env python3
"""Compiles the header as clang-cl does, for the ABI of Visual Studio, without
warnings: the declarations, the C interface and the implementation.

Visual Studio's headers are not free to copy; `include` has what the header
needs of them, and clang the rest. ports.py runs the unit tests with them.
Output is TAP.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
OPTIONS = ROOT / "tests/builds/options"
sys.path.insert(0, str(ROOT / "tests/tools"))
from tap import Tap  # noqa: E402

CLANG_CL = ["clang-19", "--driver-mode=cl", "/nologo", "/Zs", "/W4", "/WX",
            "-Wpedantic", "-I", ROOT, "-imsvc", HERE / "include"]
STANDARDS = {"C11": ["/TC", "/std:c11"], "C17": ["/TC", "/std:c17"],
             "C++14": ["/TP", "/std:c++14"], "C++17": ["/TP", "/std:c++17"]}
MACHINES = ["x86_64", "aarch64", "i686"]
# What the implementation cannot have there: docs/porting.md.
ALONE = ["-DTVMFFI_NO_THREADS=1", "-DTVMFFI_NO_BACKTRACE=1"]
DECLARATIONS = '#include "tvmffi.h"\n'
MODULE = DECLARATIONS + """
typedef struct {
  tvmffi_module base;
  int64_t calls;
} Counter;
TVMFFI_MODULE(Counter, "msvc.counter", (function, count))
TVMFFI_METHOD(Counter, count, int64) { TVMFFI_RETURN(++self->calls); }
TVMFFI_EXPORT(counter, module) {
  TVMFFI_RETURN(TVMFFI_NEW(Counter));
}
"""
SOURCES = {
    "the declarations": DECLARATIONS,
    "the ABI alone": "#define TVMFFI_ABI_ONLY 1\n" + DECLARATIONS,
    "typed functions and classes": (OPTIONS / "user.c").read_text(),
    "scopes": (OPTIONS / "scopes.c").read_text(),
    "modules": MODULE,
}
RAISE = DECLARATIONS + """
int fail(int n);
int fail(int n) { return TVMFFI_RAISE("ValueError", "%d", n); }
"""
IMPLEMENTATION = "#define TVMFFI_IMPLEMENTATION\n" + DECLARATIONS
# Threads by a port's hooks, which replace POSIX threads.
THREADS = """#include <stddef.h>
void port_lock(void), port_unlock(void), port_yield(void);
void *port_local(const void *key, size_t size);
int port_at_end(void (*function)(void *), void *state);
#define TVMFFI_LOCK() port_lock()
#define TVMFFI_UNLOCK() port_unlock()
#define TVMFFI_YIELD() port_yield()
#define TVMFFI_THREAD_LOCAL(key, size) port_local(key, size)
#define TVMFFI_AT_THREAD_END(function, state) port_at_end(function, state)
""" + IMPLEMENTATION


def compiles(folder, text, standard, machine="x86_64", options=()):
    """What the compiler says of a text; empty if it accepts it."""
    source = folder / "source.c"
    source.write_text(text)
    done = subprocess.run(
        [str(word) for word in (
            *CLANG_CL, f"--target={machine}-pc-windows-msvc",
            *STANDARDS[standard], *options, source)],
        capture_output=True, stdin=subprocess.DEVNULL, text=True, timeout=300)
    return done.stdout + done.stderr or "x" * (done.returncode != 0)


def undefined(folder, text):
    """The names that the object file of a text leaves to the linker."""
    source, built = folder / "source.c", folder / "source.obj"
    source.write_text(text)
    for command in ([*CLANG_CL[:2], "--target=x86_64-pc-windows-msvc",
                     *CLANG_CL[-4:], "/c", f"/Fo{built}", source],
                    ["llvm-nm-19", "-u", "-j", built]):
        done = subprocess.run([str(word) for word in command], check=True,
                              capture_output=True, text=True, timeout=300)
    return done.stdout.split()


def check(tap, folder):
    for standard in STANDARDS:
        for name, text in SOURCES.items():
            said = compiles(folder, text, standard)
            tap.ok(not said, f"{name}: {standard}", said)
        said = compiles(folder, IMPLEMENTATION, standard, options=ALONE)
        tap.ok(not said, f"the implementation: {standard}", said)
        said = compiles(folder, DECLARATIONS + "static int unused;\n", standard)
        tap.ok("-Wunused-variable" in said, f"a warning: {standard}", said)
    for name, text, bad in (("with hooks", THREADS, ""),
                            ("without", IMPLEMENTATION, "pthread.h")):
        said = compiles(folder, text, "C11", options=ALONE[1:])
        tap.ok(bad in said if bad else not said, f"threads {name}", said)
    user = SOURCES["typed functions and classes"]
    for option in "-DTVMFFI_DEBUG=1", "-DTVMFFI_DYNAMIC=1":
        said = compiles(folder, user, "C11", options=[option])
        tap.ok(not said, f"{option}: C11", said)
    for machine in MACHINES[1:]:
        for name, text in (("typed functions and classes", user),
                           ("the implementation", IMPLEMENTATION)):
            said = compiles(folder, text, "C11", machine, ALONE)
            tap.ok(not said, f"{name}: {machine}", said)
    # Visual Studio's library has no vsnprintf: it is inline in <stdio.h>.
    names = undefined(folder, RAISE)
    tap.ok("__stdio_common_vsprintf" in names and "vsnprintf" not in names,
           "messages are formatted by the C runtime", names)


def main():
    tap = Tap()
    missing = [tool for tool in ("clang-19", "llvm-nm-19")
               if not shutil.which(tool)]
    if missing:
        tap.skip("clang-cl", f"no {', '.join(missing)}: install clang-19 llvm-19")
        return tap.done()
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(tap, Path(folder))
        except (OSError, subprocess.SubprocessError) as error:
            tap.ok(False, "clang-cl runs",
                   f"{error}\n{getattr(error, 'stderr', '')}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
