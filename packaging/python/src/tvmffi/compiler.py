"""Compiles kernels with the machine's compiler and loads them."""

import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

C, CXX = {".c"}, {".cc", ".cpp", ".cxx"}


class BuildError(RuntimeError):
    """A compiler that fails or is missing. The message has its text."""


def build(*sources, cflags=(), ldflags=(), folder=None):
    """Compiles C or C++ files into one library and returns it as a module of
    tvm_ffi, whose attributes are the exported functions.

    The compiler is $CC or cc, for C++ $CXX or c++. `cflags` and `ldflags` are
    lists of its options. The library stays in `folder`, by default
    ~/.cache/tvmffi, and is compiled again only if a source, an included file,
    the options or the compiler changed. Raises BuildError.
    """
    library = compile_library([Path(s).resolve() for s in sources],
                              list(cflags), list(ldflags),
                              Path(folder) if folder else default_folder())
    # Programs that only use the paths of this package do not need tvm_ffi.
    import tvm_ffi
    return tvm_ffi.load_module(str(library))


def default_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tvmffi"


def compiler_of(sources):
    suffixes = {source.suffix for source in sources}
    if not suffixes or suffixes - C - CXX:
        raise ValueError("tvmffi.build takes files that end in "
                         + ", ".join(sorted(C | CXX)))
    variable, default = ("CXX", "c++") if suffixes & CXX else ("CC", "cc")
    return shlex.split(os.environ.get(variable) or default)


def run(command):
    """Runs a compiler; returns its output and warnings."""
    command = [str(c) for c in command]
    try:
        done = subprocess.run(command, capture_output=True,
                              stdin=subprocess.DEVNULL)
    except OSError as error:
        raise BuildError(f"cannot run the compiler {command[0]!r}: "
                         f"{error.strerror}. Set CC or CXX.") from None
    text = done.stderr.decode(errors="replace")
    if done.returncode:
        raise BuildError(f"{shlex.join(command)}\n{text}")
    return done.stdout, text


def compile_library(sources, cflags, ldflags, folder):
    """Returns the path of the library, which it compiles if needed."""
    from . import includedir
    compiler = compiler_of(sources)
    command = [*compiler, "-fPIC", "-O2", "-I" + includedir(), *cflags]
    # The preprocessed text has all included files, so the library's name
    # depends on all that the compiler reads.
    key = hashlib.sha256(repr((command, sources, ldflags)).encode())
    key.update(run([*compiler, "--version"])[0])
    key.update(run([*command, "-E", *sources])[0])
    library = folder / f"{sources[0].stem}-{key.hexdigest()[:32]}.so"
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    # Another process may compile the same library: each writes its own file.
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = Path(work) / library.name
        _, text = run([*command, "-shared", *sources, "-o", made, *ldflags])
        sys.stderr.write(text)
        made.replace(library)
    return library
