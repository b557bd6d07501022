"""TVM FFI in one C header: the header, the library, and a compiler's call.

tvmffi.build("kernels.c") compiles and loads a library of kernels.
tvmffi.load_inline(text) does so with the text of a file, and in IPython, after
%load_ext tvmffi, %%tvmffi with that of a cell.
tvmffi.fast(function) calls a tvm_ffi.Function faster.
tvmffi.activate() puts the library under the stock package apache-tvm-ffi.
python -m tvmffi has the paths for build systems, and checks libraries.
"""

import importlib.util
import os
import shlex
import sys
from pathlib import Path

from .compiler import BuildError, build, load_inline

__all__ = ["BuildError", "activate", "build", "cflags", "cmakedir", "fast",
           "includedir", "ldflags", "libdir", "load_inline", "pkgconfigdir"]

# A folder with include/ and lib/, which also looks like the stock package:
# that package reads the path of its library from the first one on sys.path.
PREFIX = Path(__file__).resolve().parent / "prefix"


def includedir():
    """Returns the folder of tvmffi.h."""
    return str(PREFIX / "include")


def libdir():
    """Returns the folder of libtvm_ffi.so."""
    return str(PREFIX / "lib")


def cmakedir():
    """Returns the folder of the CMake package, for tvmffi_ROOT."""
    return str(PREFIX / "lib/cmake/tvmffi")


def pkgconfigdir():
    """Returns the folder for PKG_CONFIG_PATH."""
    return str(PREFIX / "lib/pkgconfig")


def cflags():
    """Returns the compiler's options, quoted for a shell."""
    return shlex.quote("-I" + includedir())


def ldflags():
    """Returns the options that link a program with the library. A kernel
    needs none."""
    return shlex.join(["-L" + libdir(), "-Wl,-rpath," + libdir(),
                       "-ltvm_ffi"])


def activate():
    """Puts this library under the stock package, in this process and in those
    that it starts. Call it before the first import of tvm_ffi."""
    folder = str(PREFIX)
    if folder in sys.path:
        return
    if "tvm_ffi" in sys.modules:
        raise RuntimeError("tvm_ffi is already imported with its own library: "
                           "call tvmffi.activate() before the import")
    if importlib.util.find_spec("tvm_ffi") is None:
        raise ModuleNotFoundError(
            "tvmffi.activate() needs the package apache-tvm-ffi, which is not "
            "installed", name="tvm_ffi")
    sys.path.insert(0, folder)
    others = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = folder + (os.pathsep + others if others else "")


def fast(function):
    """Returns a callable that calls a tvm_ffi.Function faster, with the same
    results and errors.

    The first call loads an extension module. If the package has none for this
    Python, it is compiled, which needs Python.h and a C compiler: the compiler
    is $CC or cc. Raises BuildError.
    """
    global fast
    from .extension import load
    fast = load().fast
    return fast(function)


def load_ipython_extension(shell):
    """Adds %%tvmffi to IPython: %load_ext tvmffi calls this."""
    from .magic import TvmffiMagics
    shell.register_magics(TvmffiMagics)
