#!/usr/bin/env python3
"""Uses the project as others do: installed, through pkg-config, and as a
subproject of another meson project. Output is TAP.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
from tap import Tap  # noqa: E402

PROGRAM = """
#include "tvmffi.h"
int main(void) {
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  return version.major == TVM_FFI_VERSION_MAJOR ? 0 : 1;
}
"""
# A file of its own that has the implementation, and no library.
OWN = "#define TVMFFI_IMPLEMENTATION\n" + PROGRAM
USER = """
project('user', 'c')
sub = subproject('tvmffi')
test('library', executable('program', 'program.c',
  dependencies: dependency('tvmffi')))
test('header', executable('own', 'own.c', dependencies: [
  dependency('threads'), sub.get_variable('tvmffi_header_dep')]))
"""


def run(command, **env):
    done = subprocess.run([str(c) for c in command], text=True,
                          capture_output=True, env={**os.environ, **env})
    if done.returncode:
        raise RuntimeError(f"{command}\n{done.stdout[-2000:]}"
                           f"{done.stderr[-2000:]}")
    return done.stdout


def meson_setup(args, build, source, *options):
    run([args.meson, "setup", build, source, *options], CC=args.cc)


def installed(args, folder):
    """A program built with what pkg-config says of the installed library."""
    build, root = folder / "build", folder / "root"
    meson_setup(args, build, ROOT, f"--prefix={root}", "--libdir=lib",
                "-Dtests=disabled", "-Dbench=disabled")
    run(["ninja", "-C", build, "install"])
    found = {str(p.relative_to(root)) for p in root.rglob("*")}
    for name in ("include/tvmffi.h", "lib/libtvmffi.so",
                 "lib/pkgconfig/tvmffi.pc"):
        if name not in found:
            raise RuntimeError(f"{name} is not installed: {sorted(found)}")
    config = {"PKG_CONFIG_PATH": str(root / "lib/pkgconfig")}
    flags = run(["pkg-config", "--cflags", "--libs", "tvmffi"], **config)
    (folder / "program.c").write_text(PROGRAM)
    run([*args.cc.split(), folder / "program.c", "-o", folder / "program",
         *flags.split()])
    run([folder / "program"], LD_LIBRARY_PATH=str(root / "lib"))


def subproject(args, folder):
    """The other project builds the library and none of our tests."""
    (folder / "subprojects").mkdir()
    (folder / "subprojects/tvmffi").symlink_to(ROOT)
    (folder / "meson.build").write_text(USER)
    (folder / "program.c").write_text(PROGRAM)
    (folder / "own.c").write_text(OWN)
    for kind in ("shared", "static"):
        build = folder / kind
        meson_setup(args, build, folder, f"-Ddefault_library={kind}")
        run([args.meson, "test", "-C", build])
        tests = run([args.meson, "test", "-C", build, "--list"]).split("\n")
        if len([t for t in tests if t.strip()]) != 2:
            raise RuntimeError(f"tests of the subproject are there: {tests}")


def dlpack_is(args, folder, choice, include):
    build = folder / choice
    meson_setup(args, build, ROOT, f"-Ddlpack={choice}", "-Dtests=disabled",
                "-Dbench=disabled", *([f"-Dc_args=-isystem {include}"]
                                      if include else []))
    run(["ninja", "-C", build])
    commands = (build / "compile_commands.json").read_text()
    return "TVMFFI_SYSTEM_DLPACK" in commands


def dlpack(args, folder):
    """The choice of DLPack follows the option and what is installed."""
    wanted = {"auto": True, "system": True, "builtin": False}
    for choice, system in wanted.items():
        if dlpack_is(args, folder, choice, args.wheel_include) != system:
            raise RuntimeError(f"-Ddlpack={choice}: system is not {system}")
    try:
        (folder / "none").mkdir()
        found = dlpack_is(args, folder / "none", "system", None)
    except RuntimeError as error:
        if "-Ddlpack=system" not in str(error):
            raise
    else:
        # A machine that has a new enough dlpack.h in its own folders.
        if not found:
            raise RuntimeError("-Ddlpack=system took no dlpack.h")


CASES = [
    ("the installed library, through pkg-config", installed),
    ("a subproject: the library, the header alone, no tests", subproject),
    ("-Ddlpack takes what it names", dlpack),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--meson", default="meson")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--wheel-include")
    args = parser.parse_args()
    tap = Tap()
    for name, case in CASES:
        if case is dlpack and not args.wheel_include:
            tap.skip(name, "the wheel is not there")
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(args, Path(folder))
                problem = None
            except (OSError, RuntimeError) as error:
                problem = str(error)
        tap.ok(problem is None, name, problem or "")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
