"""Compiles kernels with the machine's compiler and loads them."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

C, CXX, CUDA = {".c"}, {".cc", ".cpp", ".cxx"}, {".cu"}
LANGUAGES = {"c": ".c", "c++": ".cpp", "cuda": ".cu"}
SUFFIX = ".dll" if sys.platform == "win32" else ".so"
# A source with such a line decides itself what it defines before the header.
INCLUDES_HEADER = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]tvmffi", re.M)
DIGEST_SIZE = hashlib.sha256().digest_size


class BuildError(RuntimeError):
    """A compiler that fails or is missing. The message has its text."""


def build(*sources, cflags=(), ldflags=(), folder=None):
    """Compiles C, C++ or CUDA files into one library and returns it as a module
    of tvm_ffi, whose attributes are the exported functions.

    The compiler is $CC or cc, for C++ $CXX or c++, for CUDA $NVCC or nvcc.
    `cflags` and `ldflags` are lists of its options. The library stays in
    `folder`, by default ~/.cache/tvmffi, and is compiled again only if a source,
    an included file, the options or the compiler changed. Raises BuildError.
    """
    library = compile_library([Path(s).resolve() for s in sources],
                              list(cflags), list(ldflags), folder_of(folder))
    # Programs that only use the paths of this package do not need tvm_ffi.
    from . import module
    return module.load(library)[0]


def load_inline(source, *, name="inline", language="c", extra_cflags=(),
                extra_ldflags=(), folder=None):
    """Compiles the text of a C, C++ or CUDA file into a library and returns it
    as a module of tvm_ffi, whose attributes are the exported functions.

    The text needs no line that includes tvmffi.h. `language` is "c", "c++" or
    "cuda". The compiler, the options and the folder are as for build(), and the
    library is found again by its content. `name` is the beginning of the file
    names in messages. Raises BuildError, also if the text exports no function.
    """
    return load_text(source, name, language, extra_cflags, extra_ldflags,
                     folder)[0]


def load_text(source, name, language, cflags, ldflags, folder=None):
    """Returns the module of load_inline(), and its functions by their names.
    """
    folder = folder_of(folder)
    path = store_source(source, name, language, folder)
    options = [] if INCLUDES_HEADER.search(source) else ["-include", "tvmffi.h"]
    if language == "c":
        options.append("-Werror=implicit-function-declaration")
    library = compile_library([path], [*options, *cflags], list(ldflags),
                              folder)
    from . import module
    loaded, functions = module.load(library)
    if not functions:
        raise BuildError(f"{path} exports no function: define one by "
                         "TVMFFI_EXPORT")
    return loaded, functions


def store_source(source, name, language, folder):
    """Writes the text to a file that stays, because messages of the compiler
    and tracebacks of errors in its functions show its lines."""
    if not isinstance(source, str):
        raise TypeError("tvmffi.load_inline takes the text of a source, not "
                        f"{type(source).__name__}")
    if language not in LANGUAGES:
        raise ValueError(f"the language {language!r} is not one of "
                         + ", ".join(LANGUAGES))
    if not re.fullmatch(r"\w+", name):
        raise ValueError(f"the name {name!r} is not of letters, digits and _")
    data = source.encode()
    digest = hashlib.sha256(data).hexdigest()[:16]
    path = folder / f"{name}-{digest}{LANGUAGES[language]}"
    if not path.is_file() or path.read_bytes() != data:
        with open_folder(folder) as work:
            made = Path(work) / path.name
            made.write_bytes(data)
            move(made, path)
    return path


def folder_of(folder):
    return Path(folder).absolute() if folder else default_folder()


def default_folder():
    cache = os.environ.get("XDG_CACHE_HOME")
    if not cache and sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA")
    if not cache:
        cache = os.path.expanduser("~/Library/Caches" if sys.platform
                                   == "darwin" else "~/.cache")
    return Path(cache) / "tvmffi"


def open_folder(folder):
    """Returns a temporary folder in the folder, which it makes if needed. What
    a process writes there appears in the folder whole, by move()."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(dir=folder)
    except OSError as error:
        raise BuildError(
            f"cannot write to the folder of compiled libraries, {folder}: "
            f"{error.strerror}. Set XDG_CACHE_HOME, or pass folder=") from None


def move(made, target):
    try:
        made.replace(target)
    except PermissionError:
        # Windows does not replace a library that a process has loaded. Its
        # name says what it contains.
        if sys.platform != "win32" or not target.exists():
            raise


def compiler_of(sources):
    suffixes = {source.suffix for source in sources}
    if not suffixes or suffixes - C - CXX - CUDA:
        raise ValueError("tvmffi.build takes files that end in "
                         + ", ".join(sorted(C | CXX | CUDA)))
    if suffixes & CUDA:
        return nvcc()
    variable, default = ("CXX", "c++") if suffixes & CXX else ("CC", "cc")
    if sys.platform == "win32":
        default = {"cc": "gcc", "c++": "g++"}[default]
    return shlex.split(os.environ.get(variable) or default)


def nvcc():
    if os.environ.get("NVCC"):
        return shlex.split(os.environ["NVCC"])
    home = os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    found = shutil.which("nvcc") or shutil.which("nvcc", path=f"{home}/bin")
    if not found:
        raise BuildError("CUDA needs nvcc, which is neither on PATH nor in "
                         f"{home}/bin. Set NVCC or CUDA_HOME.")
    return [found]


def run(command):
    """Runs a compiler; returns its output and warnings."""
    command = [str(c) for c in command]
    try:
        done = subprocess.run(command, capture_output=True,
                              stdin=subprocess.DEVNULL)
    except OSError as error:
        raise BuildError(f"cannot run the compiler {command[0]!r}: "
                         f"{error.strerror}. Set CC, CXX or NVCC.") from None
    text = done.stderr.decode(errors="replace")
    if done.returncode:
        raise BuildError(f"{shlex.join(command)}\n{text}")
    return done.stdout, text


def link_options(sources):
    """A library calls the functions of its process's runtime. If any other
    function is missing, its load fails; else the call would end the process.
    """
    if sys.platform == "win32":  # a DLL says where each function is
        from tvm_ffi import libinfo
        return [libinfo.find_windows_implib()]
    if sys.platform == "darwin":
        return ["-undefined", "dynamic_lookup"]
    if sources[0].suffix in CUDA:
        return ["-Xlinker", "-z,now", "-lm"]
    return ["-Wl,-z,now", "-lm"]


def compile_library(sources, cflags, ldflags, folder):
    """Returns the path of the library, which it compiles if needed."""
    from . import includedir
    compiler = compiler_of(sources)
    pic = ["-Xcompiler"] * (sources[0].suffix in CUDA) + ["-fPIC"]
    command = [*compiler, *pic, "-O2", "-I" + includedir(), *cflags]
    ldflags = [*ldflags, *link_options(sources)]
    # The preprocessed text has all included files, so the library's name
    # depends on all that the compiler reads.
    key = hashlib.sha256(repr((command, sources, ldflags)).encode())
    key.update(run([*compiler, "--version"])[0])
    key.update(run([*command, "-E", *sources])[0])
    library = folder / f"{sources[0].stem}-{key.hexdigest()[:32]}{SUFFIX}"
    if is_whole(library):
        return library
    with open_folder(folder) as work:
        made = Path(work) / library.name
        _, text = run([*command, "-shared", *sources, "-o", made, *ldflags])
        sys.stderr.write(text)
        seal(made)
        move(made, library)
    return library


def seal(library):
    """Appends a hash of the file, which loaders ignore: to load a damaged file
    may end the process."""
    digest = hashlib.sha256(library.read_bytes()).digest()
    with library.open("ab") as file:
        file.write(digest)


def is_whole(library):
    try:
        data = library.read_bytes()
    except OSError:
        return False
    content, digest = data[:-DIGEST_SIZE], data[-DIGEST_SIZE:]
    return hashlib.sha256(content).digest() == digest
