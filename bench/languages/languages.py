#!/usr/bin/env python3
"""Times a call from each of several languages, in one run.

    languages.py FOLDER [--cc CC] [--cxx CXX] [--ours LIBRARY]
                 [--stock LIBRARY] [--compare JSON] [--json FILE] [--rounds N]

FOLDER gets what is built. Every program calls a C function that adds two 64-bit
integers, and each call waits for the result of the one before. The programs
alternate, and the median of all rounds counts. What is not installed is
named on the last line and has no row. Calls from CPython come from a file that
compare.py --json wrote in the same run.
"""

import argparse
import importlib.util
import json
import os
import shlex
import statistics
import subprocess
import sys
import sysconfig
import time
import timeit
from importlib import metadata
from pathlib import Path
from shutil import which

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))
import verdicts  # noqa: E402

FLAGS = ["-O2", "-Wall", "-Wextra", f"-I{ROOT}"]
SHARED = ["-shared", "-fPIC", "-fvisibility=hidden"]
PACKED = "C, packed call, "
PYTHON = "Python, "

# What a call does beside the addition, by the row's name or its beginning.
WORK = {
    "C, a function of a library": "call, jump through the table of symbols",
    "C, through a pointer": "load the pointer, call",
    "C, libffi": "read a description of the types, fill registers, call",
    "C, packed call": "two tagged arguments, a tagged result, a call across "
                      "the library, types and count checked, no lock",
    "C++, std::function": "check for empty, call through a pointer",
    "Rust, extern": "call, jump through the table of symbols",
    "Go, cgo": "tell the scheduler, change to the system's stack, call",
    "Java, JNI": "change the thread's state, pass an environment, call",
    "JavaScript (node), Node-API": "make handles, convert two numbers and the "
                                   "result",
    "JavaScript (node), WebAssembly": "compiled JavaScript calls compiled "
                                      "code, 32 bits",
    "C, WebAssembly": "check the store, enter through a trampoline, 32 bits",
    "LuaJIT, FFI": "compiled to a direct call",
    "Lua, a C function": "interpreted; check and convert two values",
    "Python, ": "interpreted; convert two objects and make one",
}


# How each program tells its version, on the first line.
VERSIONS = {"rustc": "--version", "go": "version", "java": "-version",
            "node": "--version", "lua5.4": "-v", "luajit": "-v"}


def versions():
    """{program: its version}"""
    found = {}
    for program, option in VERSIONS.items():
        if which(program):
            done = subprocess.run([program, option], text=True,
                                  capture_output=True)
            found[program] = (done.stdout or done.stderr).partition("\n")[0]
    if importlib.util.find_spec("wasmtime"):
        found["wasmtime"] = metadata.version("wasmtime")
    return found


class Missing(Exception):
    """A language is not installed; the text says what is not."""


def need(*programs):
    for program in programs:
        if not which(program):
            raise Missing(program)


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True,
                          capture_output=True, **options)
    if done.returncode:
        sys.exit(f"languages: {' '.join(map(str, command))}\n"
                 f"{done.stdout}{done.stderr}")
    return done.stdout


class Builder:
    """Each method builds a language's program and returns its command, whose
    first argument is the number of calls, and that number."""

    def __init__(self, args):
        self.args, self.folder = args, args.folder
        self.cc, self.cxx = shlex.split(args.cc), shlex.split(args.cxx)
        self.callee = self.folder / "libcallee.so"
        self.link = [f"-L{self.folder}", "-lcallee",
                     f"-Wl,-rpath,{self.folder}"]
        run(*self.cc, *FLAGS, *SHARED, HERE / "callee.c", "-o", self.callee)

    def c_library(self, source, *options):
        path = self.folder / f"{Path(source).stem}.so"
        run(*self.cc, *FLAGS, *SHARED, HERE / source, "-o", path, *self.link,
            *options)
        return path

    def c(self):
        found = subprocess.run([*self.cc, "-E", "-include", "ffi.h", "-x", "c",
                                "-"], input="", text=True, capture_output=True)
        libffi = ["-DLIBFFI", "-lffi"] if found.returncode == 0 else []
        run(*self.cc, *FLAGS, HERE / "c.c", "-o", self.folder / "c",
            *self.link, *libffi, "-ldl")
        return [self.folder / "c", 3_000_000,
                *(f"{PACKED}{name}={path}" for name, path in (
                    ("ours", self.args.ours), ("upstream's", self.args.stock))
                  if path)]

    def cxx_function(self):
        run(*self.cxx, *FLAGS, HERE / "cxx.cc", "-o", self.folder / "cxx",
            *self.link)
        return [self.folder / "cxx", 3_000_000]

    def rust(self):
        need("rustc")
        run("rustc", "--edition=2024", "-O", f"-L{self.folder}", "-C",
            f"link-arg=-Wl,-rpath,{self.folder}", "-o", self.folder / "rust",
            HERE / "rust.rs")
        return [self.folder / "rust", 3_000_000]

    def go(self):
        need("go")
        run("go", "build", "-o", self.folder / "go", HERE / "call.go",
            env={**os.environ, "CGO_LDFLAGS": " ".join(self.link),
                 "CC": self.args.cc, "GOCACHE": f"{self.folder}/go-cache",
                 "GOFLAGS": "-mod=mod"})
        return [self.folder / "go", 1_000_000]

    def java(self):
        need("javac", "java")
        home = Path(which("javac")).resolve().parents[1]
        if not (home / "include/jni.h").is_file():
            raise Missing("jni.h")
        run("javac", "-d", self.folder, HERE / "Call.java")
        glue = self.c_library("jni.c", f"-I{home}/include",
                              f"-I{home}/include/linux")
        return [home / "bin/java", "-cp", self.folder, "Call", 3_000_000, glue]

    def wasm(self):
        """The module that both runtimes of WebAssembly run."""
        need("clang-19", "wasm-ld-19")
        path = self.folder / "wasm.wasm"
        run("clang-19", "--target=wasm32", "-O2", "-nostdlib",
            "-Wl,--no-entry,--export=add", HERE / "wasm.c", "-o", path)
        return path

    def node(self):
        need("node")
        headers = Path(which("node")).resolve().parents[1] / "include/node"
        if not (headers / "node_api.h").is_file():
            raise Missing("node_api.h")
        addon = self.c_library("node.c", f"-I{headers}",
                               "-DNODE_GYP_MODULE_NAME=callee")
        # node loads no other name
        return ["node", HERE / "node.js", 1_000_000,
                addon.rename(addon.with_suffix(".node")), self.wasm()]

    def wasmtime(self):
        if not importlib.util.find_spec("wasmtime"):
            raise Missing("wasmtime")
        return [sys.executable, HERE / "wasmtime_call.py", 1_000_000,
                self.c_library("wasmtime.c"), self.wasm()]

    def lua(self):
        need("lua5.4", "pkg-config")
        flags = subprocess.run(["pkg-config", "--cflags", "lua5.4"], text=True,
                               capture_output=True)
        if flags.returncode:
            raise Missing("lua5.4's headers")
        return ["lua5.4", HERE / "call.lua", 1_000_000, self.callee,
                self.c_library("lua.c", *flags.stdout.split())]

    def luajit(self):
        need("luajit")
        return ["luajit", HERE / "call.lua", 3_000_000, self.callee]

    def pyo3(self):
        need("cargo")
        run("cargo", "build", "--release", "--locked", "--quiet",
            "--manifest-path", HERE / "pyo3/Cargo.toml", "--target-dir",
            self.folder / "pyo3",
            env={**os.environ, "PYO3_PYTHON": sys.executable})
        built = self.folder / "pyo3/release/libops_pyo3.so"
        made = self.folder / f"ops_pyo3{sysconfig.get_config_var('EXT_SUFFIX')}"
        made.write_bytes(built.read_bytes())
        return [sys.executable, __file__, "--time-pyo3", 100_000, self.folder]


def time_pyo3(count, folder):
    sys.path.insert(0, folder)
    import ops_pyo3

    timer = timeit.Timer("m.add(3, 4)", globals={"m": ops_pyo3})
    print(f"{PYTHON}PyO3\t{timer.timeit(count) / count * 1e9:.3f}")


def measure(args):
    """{name of the row: nanoseconds of each round}, and what is missing."""
    builder, commands, missing = Builder(args), [], []
    for make in (builder.c, builder.cxx_function, builder.rust, builder.go,
                 builder.java, builder.node, builder.wasmtime, builder.lua,
                 builder.luajit, builder.pyo3):
        try:
            commands.append(make())
        except Missing as what:
            missing.append(f"{make.__name__} ({what})")
    times = {}
    for _ in range(args.rounds):
        for command in commands:
            for line in run(*command).splitlines():
                name, nanoseconds = line.split("\t")
                times.setdefault(name, []).append(float(nanoseconds))
    if args.compare:
        calls = json.loads(args.compare.read_text())["calls"]["add(3, 4)"]
        times |= {PYTHON + name: each for name, each in calls.items()}
    return times, missing


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--ours", type=Path)
    parser.add_argument("--stock", type=Path)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    args.folder = args.folder.resolve()
    args.folder.mkdir(parents=True, exist_ok=True)
    times, missing = measure(args)
    calls = [(name, next(text for start, text in WORK.items()
                         if name.startswith(start)),
              *verdicts.median_interval(times[name]))
             for name in sorted(times, key=lambda name:
                                statistics.median(times[name]))]
    print("| a call from, by | beside the addition | ns | 95 % interval |\n"
          "| --- | --- | ---: | ---: |")
    for name, work, low, median, high in calls:
        print(f"| {name} | {work} | {median:.1f} | {low:.1f}-{high:.1f} |")
    if args.json:
        args.json.write_text(json.dumps(
            {"calls": calls, "rounds": times, "missing": missing,
             "versions": versions(),
             "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
             "flags": " ".join(FLAGS[:-1])}, indent=1))
    if missing:
        print(f"\nnot installed: {', '.join(missing)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--time-pyo3"]:
        time_pyo3(int(sys.argv[2]), sys.argv[3])
    else:
        main()
