"""Compiles the library and adds it, the headers and the files for CMake and
pkg-config to the wheel.

CC is the compiler. TVMFFI_WHEEL_PLATFORM is the wheel's platform tag, if not
this machine's. CFLAGS and LDFLAGS are added to the command.
TVMFFI_WHEEL_PYTHONS lists interpreters, for which the wheel has the module
_fast compiled; other interpreters compile it when they need it.
"""

import importlib.util
import os
import re
import shlex
import shutil
import struct
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).resolve().parent
# The source distribution has the project's files beside this one.
TOP = HERE if (HERE / "tvmffi.h").exists() else HERE.parents[1]
HEADERS = ("tvmffi.h", "rpc/tvmffi_rpc.h", "rpc/tvmffi_rpc_backend.h",
           "rpc/tvmffi_rpc_serial.h", "legacy/tvmffi_legacy.h",
           *sorted(path.relative_to(TOP).as_posix()
                   for path in TOP.glob("hosts/*/*.h")))
TORCH = "hosts/torch/tvmffi_torch.py"
STUB = "tools/stub.py"
LICENSES = ("LICENSE", "LICENSE-APACHE", "LICENSE-MIT")
CMAKE = [f"packaging/cmake/tvmffi{name}.cmake.in"
         for name in ("Config", "ConfigVersion", "Targets")]
PKG_CONFIG = ("packaging/tvmffi-header.pc.in", "packaging/tvmffi.pc.in")
SOURCES = (*HEADERS, *LICENSES, *CMAKE, *PKG_CONFIG, "dropin/tvmffi.c",
           "dropin/folder.py", "debug/tvmffi_gdb.py", TORCH, STUB)
LIBRARY = "libtvm_ffi.so"
# What an interpreter needs: its header files, its suffix of extension modules,
# and whether it takes modules of the limited API of CPython 3.12.
ASK = """
import sys, sysconfig as s
debug, free = (s.get_config_var(v) for v in ("Py_DEBUG", "Py_GIL_DISABLED"))
print(s.get_path("include"), s.get_config_var("EXT_SUFFIX"),
      int(sys.version_info >= (3, 12) and not debug and not free), sep="\\n")
"""


def version():
    header = (TOP / "tvmffi.h").read_text(encoding="utf-8")
    return ".".join(re.search(rf"define TVMFFI_VERSION_{part}\s+(\d+)",
                              header)[1] for part in
                    ("MAJOR", "MINOR", "PATCH"))


def compile_library(target):
    compiler = shlex.split(os.environ.get("CC", "cc"))
    # The unwinder is linked statically, so that the library needs only libc.
    unwinder = ["-lunwind"] if "ziglang" in compiler else \
        ["-static-libgcc", "-Wl,--exclude-libs,ALL"]
    subprocess.run(
        [*compiler, "-std=c11", "-O2", "-fPIC", "-shared",
         "-fno-semantic-interposition", "-falign-functions=64", f"-I{TOP}",
         *shlex.split(os.environ.get("CFLAGS", "")), TOP / "dropin/tvmffi.c",
         "-o", target, f"-Wl,-soname,{LIBRARY}", "-Wl,-Bsymbolic",
         "-Wl,-z,nodelete", *unwinder,
         *shlex.split(os.environ.get("LDFLAGS", "")), "-lpthread", "-ldl"],
        check=True)
    if "ziglang" in compiler:
        drop_debug_sections(target)


def drop_debug_sections(path):
    """Clears debug information in an ELF file of 64 bits, little-endian. zig's
    unwinder has some, with paths of this machine; zig itself can strip only
    all symbols, and gdb's script needs them."""
    data = bytearray(path.read_bytes())
    if data[:6] != b"\x7fELF\2\1":
        return
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [table + i * size for i in range(count)]
    names_at, = struct.unpack_from("<Q", data, headers[names] + 24)
    for header in headers:
        name, = struct.unpack_from("<I", data, header)
        if data.startswith(b".debug_", names_at + name):
            offset, length = struct.unpack_from("<QQ", data, header + 24)
            data[offset:offset + length] = bytes(length)
            data[header:header + size] = bytes(size)  # a section of no type
    path.write_bytes(data)


def compile_fast(python, folder):
    """Compiles the module _fast for an interpreter; returns its path."""
    include, suffix, limited = subprocess.run(
        [python, "-c", ASK], check=True, capture_output=True,
        text=True).stdout.splitlines()
    flags = ["-DPy_LIMITED_API=0x030c0000"] if limited == "1" else []
    target = folder / ("_fast" + (".abi3.so" if flags else suffix))
    subprocess.run(
        [*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-O2", "-fPIC",
         "-shared", "-fvisibility=hidden", f"-I{TOP}",
         f"-I{TOP}/hosts/python", f"-I{include}", *flags,
         *shlex.split(os.environ.get("CFLAGS", "")),
         HERE / "src/tvmffi/_fast.c", "-o", target,
         *shlex.split(os.environ.get("LDFLAGS", "")), "-ldl"], check=True)
    return target


def make_folder(library, prefix):
    """Makes the folder that looks like the stock package."""
    spec = importlib.util.spec_from_file_location(
        "folder", TOP / "dropin/folder.py")
    folder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(folder)
    folder.make(library, prefix)


def fill_in(template, target, values):
    text = (TOP / template).read_text(encoding="utf-8")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(re.sub(r"@(\w+)@", lambda m: values[m[1]], text),
                      encoding="utf-8")


def make_prefix(prefix, platform):
    """Makes the folder with all that C compilers and the stock package use."""
    with tempfile.TemporaryDirectory() as work:
        library = Path(work) / LIBRARY
        compile_library(library)
        make_folder(library, prefix)
    (prefix / "include").mkdir()
    for name in HEADERS:
        shutil.copy2(TOP / name, prefix / "include")
    is_64_bit = re.search("64|s390x", platform) is not None
    values = {
        "PROJECT_VERSION": version(),
        "CMAKE_SIZEOF_VOID_P": "8" if is_64_bit else "4",
        "includedir_from_libdir": "../include", "definitions": "",
        "shared_name": LIBRARY, "static_name": "",
        "prefix_from_pc": "../..", "libdir_from_prefix": "lib",
        "includedir_from_prefix": "include", "cflags": "",
        "library_name": "tvm_ffi",  # upstream's
        "libs": "", "libs_private": "",
    }
    for template in CMAKE:
        name = Path(template).stem
        fill_in(template, prefix / "lib/cmake/tvmffi" / name, values)
    for template in PKG_CONFIG:
        fill_in(template, prefix / "lib/pkgconfig" / Path(template).stem,
                values)


class Hook(BuildHookInterface):
    def initialize(self, version, build_data):
        files = build_data["force_include"]
        self.work = None
        if self.target_name == "sdist":
            files.update((str(TOP / name), name) for name in SOURCES)
            return
        if version == "editable":
            raise RuntimeError("tvmffi has no editable form: install a wheel")
        platform = os.environ.get("TVMFFI_WHEEL_PLATFORM") or re.sub(
            r"[-.]", "_", sysconfig.get_platform())
        self.work = tempfile.TemporaryDirectory()
        prefix = Path(self.work.name) / "prefix"
        make_prefix(prefix, platform)
        files[str(prefix)] = "tvmffi/prefix"
        files[str(TOP / TORCH)] = "tvmffi/torch.py"
        files[str(TOP / STUB)] = "tvmffi/stub.py"
        for python in shlex.split(
                os.environ.get("TVMFFI_WHEEL_PYTHONS", "")):
            module = compile_fast(python, Path(self.work.name))
            files[str(module)] = f"tvmffi/{module.name}"
        info = f"tvmffi-{self.metadata.version}.dist-info"
        files.update((str(TOP / name), f"{info}/licenses/{name}")
                     for name in LICENSES)
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False

    def finalize(self, version, build_data, artifact_path):
        if self.work:
            self.work.cleanup()
