"""usage:
  python -m tvmffi --includedir | --libdir | --cmakedir | --pkgconfigdir
                   | --cflags | --ldflags | --version
      Print a folder, or options for a compiler. Several may be given.
  python -m tvmffi run PROGRAM.PY ARGUMENTS...
  python -m tvmffi run -m MODULE ARGUMENTS...
      Run Python with this library under the stock package apache-tvm-ffi.
  python -m tvmffi check LIBRARY...
      Say what a library needs from libtvm_ffi.so and which stock wheels have
      it. The exit status is 1 if this package's library lacks something.
  python -m tvmffi stub LIBRARY [-o FILE.pyi]
      Write a stub of an extension module, or of what a library exports:
      python -m tvmffi stub --help
"""

import os
import sys
from importlib.metadata import version

import tvmffi

from . import check
from .elf import ElfError

ANSWERS = {
    "--includedir": tvmffi.includedir, "--libdir": tvmffi.libdir,
    "--cmakedir": tvmffi.cmakedir, "--pkgconfigdir": tvmffi.pkgconfigdir,
    "--cflags": tvmffi.cflags, "--ldflags": tvmffi.ldflags,
    "--version": lambda: version("tvmffi"),
}


def fail(message):
    print(f"tvmffi: {message}", file=sys.stderr)
    return 2


def run(arguments):
    """Replaces this process by Python with the arguments."""
    try:
        tvmffi.activate()
    except ModuleNotFoundError as error:
        return fail(error)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *arguments])


def check_all(libraries):
    complete = True
    for library in libraries:
        try:
            lines, has_all = check.report(library)
        except (ElfError, OSError) as error:
            return fail(error)
        print("\n".join(lines))
        complete = complete and has_all
    return 0 if complete else 1


def main(arguments):
    if arguments and all(a in ANSWERS for a in arguments):
        print(*(ANSWERS[a]() for a in arguments))
        return 0
    if arguments in (["-h"], ["--help"]):
        print(__doc__, end="")
        return 0
    command, *rest = arguments or [""]
    if command == "run" and rest:
        return run(rest)
    if command == "stub" and rest:
        from . import stub
        sys.argv = ["python -m tvmffi stub", *rest]
        return stub.main()
    if command == "check" and rest:
        return check_all(rest)
    print(__doc__, end="", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
