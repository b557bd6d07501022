#!/usr/bin/env python3
"""Compares tvmffi.h with the other ways to call C and C++ from Python.

Prints the tables of docs/compare.md, all of one run. The numbered examples
beside the same in upstream's C++. The same functions (ops.c), written with
each: upstream's C++ headers, nanobind, pybind11, cffi and ctypes; for each its
lines, the time to compile it, the size of what comes out, and what a call from
Python costs. The functions of ops.c are also called by tvmffi.fast and as an
extension module. Calls of extension modules and of nanobind are measured twice:
they keep the GIL, or release it. Calls through TVM FFI run in two processes,
one on upstream's library and one on ours, by turns with all others, and then in
two new ones. What mistakes are answered with. The last line is a summary.
"""

import argparse
import contextlib
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import sysconfig
import time
import timeit
import types
from importlib import metadata
from pathlib import Path

import examples

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGE = ROOT / "packaging/python"
FLAGS = ["-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{ROOT}"]
ROUNDS = 3  # of one process, which differ less than processes do
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")

# A row's expression is timed in each binding's own names.
ROWS = {
    "nop()": "m.nop()",
    "add(3, 4)": "m.add(3, 4)",
    "fma3(3.0, 4.0, 5.0)": "m.fma3(3.0, 4.0, 5.0)",
    "length('a short text')": "m.length('a short text')",
    "call_back(f, 3)": "m.call_back(f, 3)",
    "total(sixteen ints)": "m.total(numbers)",
    "softmax(x, y), 4 x 4, numpy": "m.softmax(x, y)",
    "matmul(x, x, y), 4 x 4, numpy": "m.matmul(x, x, y)",
    "matmul(x, x, y), 4 x 4, torch": "m.matmul(px, px, py)",
    "matmul(x, x, y), 4 x 4, tvm_ffi.Tensor": "m.matmul(tx, tx, ty)",
    "top_k(sixteen floats, 3), two new arrays": "m.top_k(v, 3)",
}
# Who takes the arguments of these rows.
TVM_FFI = ["tvmffi.h", "tvmffi.h, stock", "C++, stock", "tvmffi.fast",
           "extension module", "extension module, GIL kept"]
ONLY = {"matmul(x, x, y), 4 x 4, torch": [*TVM_FFI, "nanobind",
                                          "nanobind, GIL released"],
        "matmul(x, x, y), 4 x 4, tvm_ffi.Tensor": TVM_FFI,
        # The results are NumPy arrays.
        "top_k(sixteen floats, 3), two new arrays": [
            "extension module", "extension module, GIL kept", "nanobind"]}

# The functions of typed.c, as its table shows them.
TYPED = {"nop": "nop()", "add": "add(3, 4)", "fma3": "fma3(3.0, 4.0, 5.0)",
         "sum": "sum(eight ints)"}

MISTAKES = [
    "m.add(3)",
    "m.add('x', 4)",
    "m.length(None)",
    "m.softmax(x, y[:2])",
    "m.softmax(x, x.astype('float64'))",
    "m.call_back(lambda n: 1 // 0, 3)",
    "m.call_back(lambda n: m.call_back(lambda n: 1 // 0, n), 3)",
]

# The header of cffi's module, which cffi parses.
CDEF = """
void nop(void);
int64_t add(int64_t, int64_t);
double fma3(double, double, double);
int64_t length(const char *);
int64_t call_back(int64_t (*)(int64_t), int64_t);
int64_t total(const int64_t *, int64_t);
void softmax(const float *, float *, int64_t, int64_t);
void matmul(const float *, const float *, float *, int64_t, int64_t, int64_t);
"""


# -- what the two bindings of plain C need in Python ----------------------


def check_matrix(x):
    import numpy

    if x.dtype != numpy.float32 or x.ndim != 2 or not x.flags.c_contiguous:
        raise TypeError("expected a contiguous matrix of float32")


class Cffi:
    def __init__(self, folder):
        sys.path.insert(0, str(folder))
        import _ops_cffi

        self.ffi, self.lib = _ops_cffi.ffi, _ops_cffi.lib
        self.nop, self.add, self.fma3 = \
            self.lib.nop, self.lib.add, self.lib.fma3

    def length(self, text):
        return self.lib.length(text.encode())

    def call_back(self, f, n):
        return self.lib.call_back(
            self.ffi.callback("int64_t(int64_t)", f), n)

    def total(self, values):
        return self.lib.total(self.ffi.new("int64_t[]", values), len(values))

    def pointer(self, x):
        check_matrix(x)
        return self.ffi.from_buffer("float[]", x)

    def softmax(self, x, y):
        px, py = self.pointer(x), self.pointer(y)
        if x.shape != y.shape:
            raise ValueError("the shapes differ")
        self.lib.softmax(px, py, *x.shape)

    def matmul(self, a, b, c):
        pa, pb, pc = self.pointer(a), self.pointer(b), self.pointer(c)
        n, k = a.shape
        m = b.shape[1]
        if b.shape[0] != k or c.shape != (n, m):
            raise ValueError("the shapes do not agree")
        self.lib.matmul(pa, pb, pc, n, k, m)


class Ctypes:
    def __init__(self, folder):
        import ctypes
        import numpy

        i64, f64 = ctypes.c_int64, ctypes.c_double
        self.i64 = i64
        matrix = numpy.ctypeslib.ndpointer(
            numpy.float32, ndim=2, flags="C_CONTIGUOUS")
        self.function = ctypes.CFUNCTYPE(i64, i64)
        self.lib = lib = ctypes.CDLL(str(folder / "ops_plain.so"))
        for name, result, arguments in (
                ("nop", None, []), ("add", i64, [i64, i64]),
                ("fma3", f64, [f64] * 3), ("length", i64, [ctypes.c_char_p]),
                ("call_back", i64, [self.function, i64]),
                ("total", i64, [ctypes.POINTER(i64), i64]),
                ("softmax", None, [matrix] * 2 + [i64] * 2),
                ("matmul", None, [matrix] * 3 + [i64] * 3)):
            f = getattr(lib, name)
            f.restype, f.argtypes = result, arguments
        self.nop, self.add, self.fma3 = lib.nop, lib.add, lib.fma3

    def length(self, text):
        return self.lib.length(text.encode())

    def call_back(self, f, n):
        return self.lib.call_back(self.function(f), n)

    def total(self, values):
        n = len(values)
        return self.lib.total((self.i64 * n)(*values), n)

    def softmax(self, x, y):
        if x.shape != y.shape:
            raise ValueError("the shapes differ")
        self.lib.softmax(x, y, *x.shape)

    def matmul(self, a, b, c):
        n, k = a.shape
        m = b.shape[1]
        if b.shape[0] != k or c.shape != (n, m):
            raise ValueError("the shapes do not agree")
        self.lib.matmul(a, b, c, n, k, m)


# -- the bindings: how each is built and loaded ---------------------------


def load_tvm_ffi(name):
    def load(folder):
        import tvm_ffi

        return tvm_ffi.load_module(str(folder / name))
    return load


def load_fast(folder):
    """ops.so as tvm_ffi loads it, each function called by tvmffi.fast."""
    m = load_tvm_ffi("ops.so")(folder)
    fast = load_extension("_fast")(folder).fast
    made = types.ModuleType("ops_fast")
    vars(made).update({name: fast(m[name]) for name in FUNCTIONS})
    return made


def load_extension(name):
    def load(folder):
        sys.path.insert(0, str(folder))
        return __import__(name)
    return load


FUNCTIONS = ["nop", "add", "fma3", "length", "call_back", "total", "softmax",
             "matmul"]

BINDINGS = {  # name: (source, file, loader, on which library)
    "tvmffi.h": ("ops.c", "ops.so", load_tvm_ffi("ops.so"), "ours"),
    "tvmffi.h, stock": ("ops.c", "ops.so", load_tvm_ffi("ops.so"), "stock"),
    "C++, stock": ("ops_cxx.cc", "ops_cxx.so", load_tvm_ffi("ops_cxx.so"),
                   "stock"),
    "tvmffi.fast": ("ops.c", "ops.so", load_fast, "stock"),
    "extension module": ("ops_module.c", f"ops_module{SUFFIX}",
                         load_extension("ops_module"), "ours"),
    "extension module, GIL kept": ("ops_gil_kept.c", f"ops_gil_kept{SUFFIX}",
                                   load_extension("ops_gil_kept"), "ours"),
    "nanobind": ("ops_nanobind.cc", f"ops_nanobind{SUFFIX}",
                 load_extension("ops_nanobind"), "ours"),
    "nanobind, GIL released": ("ops_gil_released.cc",
                               f"ops_gil_released{SUFFIX}",
                               load_extension("ops_gil_released"), "ours"),
    "pybind11": ("ops_pybind11.cc", f"ops_pybind11{SUFFIX}",
                 load_extension("ops_pybind11"), "ours"),
    "cffi": ("ops_plain.c", f"_ops_cffi{SUFFIX}", Cffi, "ours"),
    "ctypes": ("ops_plain.c", "ops_plain.so", Ctypes, "ours"),
}


NAMES = {name: name for name in BINDINGS} | {"C++, stock": "upstream's C++"}


def run(*command, env=None):
    done = subprocess.run([str(word) for word in command],
                          capture_output=True, text=True, env=env)
    if done.returncode:
        sys.exit(f"compare: {' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def timed(*command):
    start = time.perf_counter()
    run(*command)
    return time.perf_counter() - start


def build(args):
    """Builds all; the seconds each took."""
    import nanobind
    import pybind11
    from cffi import FFI

    folder, python = args.folder, sysconfig.get_paths()["include"]
    include = args.wheel_include
    cxx = [*args.cxx.split(), "-std=c++17", *FLAGS]
    cc = [*args.cc.split(), "-std=c11", *FLAGS]
    nb = Path(nanobind.include_dir()).parent
    nb_flags = [f"-I{nb}/include", f"-I{nb}/ext/robin_map/include",
                f"-I{python}", "-fno-strict-aliasing", "-DNDEBUG"]
    combined = folder / "nanobind.o"
    # nanobind's own sources are compiled once for all modules of a project.
    run(*cxx[:-3], "-O2", "-fPIC", "-fvisibility=hidden", *nb_flags, "-c",
        nb / "src/nb_combined.cpp", "-o", combined)
    ffi = FFI()
    ffi.cdef(CDEF)
    ffi.set_source("_ops_cffi", f'#include "{HERE}/ops_plain.c"')
    ffi.emit_c_code(str(folder / "_ops_cffi.c"))
    extension = [f"-I{python}", f"-I{ROOT}/hosts/python"]
    run(*cc, *extension, PACKAGE / "src/tvmffi/_fast.c", "-o",
        folder / f"_fast{SUFFIX}")
    source = {name: HERE / row[0] for name, row in BINDINGS.items()}
    out = {name: folder / row[1] for name, row in BINDINGS.items()}
    seconds = {
        "tvmffi.h": timed(*cc, source["tvmffi.h"], "-o", out["tvmffi.h"],
                          "-lm"),
        "C++, stock": timed(*cxx, f"-I{include}", source["C++, stock"], "-o",
                            out["C++, stock"], "-lm"),
        "extension module": timed(*cc, *extension, source["extension module"],
                                  "-o", out["extension module"], "-lm"),
        "nanobind": timed(*cxx, *nb_flags, source["nanobind"], combined, "-o",
                          out["nanobind"], "-lm"),
        "pybind11": timed(*cxx, f"-I{pybind11.get_include()}", f"-I{python}",
                          source["pybind11"], "-o", out["pybind11"], "-lm"),
        "cffi": timed(*cc, f"-I{python}", folder / "_ops_cffi.c", "-o",
                      out["cffi"], "-lm"),
        "ctypes": timed(*cc, source["ctypes"], "-o", out["ctypes"], "-lm"),
    }
    for name, compiler in (("extension module, GIL kept", [*cc, *extension]),
                           ("nanobind, GIL released", [*cxx, *nb_flags])):
        run(*compiler, source[name], *[combined] * ("nanobind" in name), "-o",
            out[name], "-lm")
    # No function is to pay for where it happens to stand.
    stock = ["-falign-functions=64", f"-I{include}", "-Wl,--no-as-needed",
             args.stock]
    run(*cc, HERE / "typed_ops.c", "-o", folder / "typed_ops.so", *stock)
    run(*cc, HERE / "typed_hand.c", "-o", folder / "typed_hand.so", *stock)
    run(*cxx, HERE / "typed_cxx.cc", "-o", folder / "typed_cxx.so", *stock)
    run(*args.cc.split(), "-std=c11", "-O2", f"-I{ROOT}", HERE / "typed.c",
        "-o", folder / "typed", *stock, "-ldl")
    return seconds


# -- workers: a process that times rows, when it is told to ----------------


def load(folder, side):
    """The modules of a side, and the names that the rows use."""
    import numpy
    import torch
    import tvm_ffi

    x = numpy.arange(16, dtype=numpy.float32).reshape(4, 4) / 8
    y = numpy.zeros_like(x)
    names = {"x": x, "y": y, "v": x.ravel(), "f": lambda n: n + 1,
             "numbers": tuple(range(16)),
             "tx": tvm_ffi.from_dlpack(x), "ty": tvm_ffi.from_dlpack(y),
             "px": torch.from_numpy(x), "py": torch.from_numpy(y)}
    modules = {name: row[2](folder) for name, row in BINDINGS.items()
               if row[3] == side}
    for name, m in modules.items():  # all of them right, or no figure counts
        assert m.add(3, 4) == 7 and m.fma3(3.0, 4.0, 5.0) == 17.0, name
        assert m.length("a short text") == 12, name
        assert m.call_back(names["f"], 3) == 4, name
        assert m.total(names["numbers"]) == 120, name
        m.softmax(x, y)
        e = numpy.exp(x - x.max(1, keepdims=True))
        numpy.testing.assert_allclose(y, e / e.sum(1, keepdims=True), 1e-5)
        m.matmul(x, x, y)
        numpy.testing.assert_allclose(y, x @ x, 1e-5)
        if name in ONLY["top_k(sixteen floats, 3), two new arrays"]:
            values, indices = m.top_k(x.ravel(), 3)
            assert values.tolist() == [1.875, 1.75, 1.625], name
            assert indices.tolist() == [15, 14, 13], name
    return modules, names


def answer_mistakes(folder):
    modules, names = load(folder, "stock")
    answers = []
    for mistake in MISTAKES:
        for name, m in modules.items():
            try:
                said = f"returns {eval(mistake, {'m': m, **names})!r}"
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
            answers.append((mistake, name, said))
    print(json.dumps(answers))


def work(folder, side):
    modules, names = load(folder, side)
    timers = {}
    for line in sys.stdin:
        name, row = json.loads(line)
        if (name, row) not in timers:
            timer = timeit.Timer(ROWS[row],
                                 globals={"m": modules[name], **names})
            timers[name, row] = timer, max(1, int(2e-3 / timer.timeit(100)
                                                  * 100))
        timer, count = timers[name, row]
        print(timer.timeit(count) / count * 1e9, flush=True)


class Worker:
    def __init__(self, args, side):
        # Where torch is older than its C exchange, do not build one for it.
        environment = {**os.environ, "TVM_FFI_DISABLE_TORCH_C_DLPACK": "1"}
        if side == "ours":
            environment["PYTHONPATH"] = str(args.dropin)
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work", side, args.folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment)

    def time(self, name, row):
        self.process.stdin.write(json.dumps([name, row]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"compare: {name} failed at {row}")
        return float(answer)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def calls(args):
    """{row: {binding: nanoseconds in each process, the median of its rounds}}"""
    todo = [(row, name) for row in ROWS for name in ONLY.get(row, BINDINGS)]
    times = {row: {name: [] for name in BINDINGS if (row, name) in todo}
             for row in ROWS}
    shuffle = random.Random(1).shuffle
    for _ in range(args.processes):  # where one has its memory is luck
        workers = {side: Worker(args, side) for side in ("ours", "stock")}
        rounds = {which: [] for which in todo}
        for _ in range(ROUNDS):
            shuffle(todo)
            for row, name in todo:
                rounds[row, name].append(
                    workers[BINDINGS[name][3]].time(name, row))
        for (row, name), taken in rounds.items():
            times[row][name].append(statistics.median(taken))
        for worker in workers.values():
            worker.end()
    return times


def versions():
    """{what a binding runs on: its version}"""
    found = {"Python": platform.python_version()}
    for name in ("numpy", "torch", "nanobind", "pybind11", "cffi"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def typed(args):
    """{function: {library: least nanoseconds}}"""
    libraries = {"by hand": "typed_hand.so", "tvmffi.h": "typed_ops.so",
                 "C++": "typed_cxx.so"}
    paths = {str(args.folder / file): name
             for name, file in libraries.items()}
    out = run(args.folder / "typed", 40 * args.processes, *paths,
              env={**os.environ,
                   "LD_LIBRARY_PATH": str(Path(args.stock).parent)})
    rows = {}
    for line in out.splitlines():
        function, path, least, _ = line.split()
        rows.setdefault(function, {})[paths[path]] = float(least)
    return rows


# -- the report: the tables of docs/compare.md, as they stand there --------


def table(title, head, rows):
    print(f"\n{title}\n")
    for row in [head, ["---"] * len(head), *rows]:
        print("|", " | ".join(str(cell) for cell in row), "|")


def stripped_size(path):
    copy = path.with_name(path.name + ".stripped")
    run("strip", "-o", copy, path)
    return copy.stat().st_size


def report(args):
    seconds = build(args)
    rows = []
    for name, *sources in examples.pairs():
        built = [examples.build(args, source, "-O2") for source in sources]
        rows.append([name.replace("_", " "),
                     *(examples.code_lines(path) for path in sources),
                     *(f"{took:.2f}" for _, took in built),
                     *(f"{stripped_size(path) / 1024:.0f}"
                       for path, _ in built)])
    rows.append(["together", *(sum(row[i] for row in rows) for i in (1, 2)),
                 *[""] * 4])
    table("The examples, in C and in C++:",
          ["example", "lines: C", "C++", "compile, s: C", "C++", "size, KB: C",
           "C++"], rows)
    table("The same functions by each binding:",
          ["", "lines", "compile, s", "size, KB"],
          [[NAMES[name], examples.code_lines(HERE / BINDINGS[name][0]),
            f"{took:.2f}",
            f"{stripped_size(args.folder / BINDINGS[name][1]) / 1024:.0f}"]
           for name, took in seconds.items()])
    functions = typed(args)
    table("A typed function, called from C on upstream's library, "
          "nanoseconds:",
          ["", "checks by hand", "tvmffi.h", "upstream's C++"],
          [[f"`{TYPED[name]}`", *(f"{row[column]:.2f}" for column
                                  in ("by hand", "tvmffi.h", "C++"))]
           for name, row in functions.items()])
    times = calls(args)
    table("A call from Python, nanoseconds:",
          ["", "tvmffi.h", "on stock", "C++", *list(BINDINGS)[3:]],
          [[f"`{row}`", *(f"{min(columns[name]):.0f}" if name in columns else ""
                          for name in BINDINGS)]
           for row, columns in times.items()])
    answers = json.loads(run(sys.executable, __file__, "--mistakes",
                             args.folder))
    table("Mistakes, and what Python is told:", ["call", "tvmffi.h"],
          [[f"`{mistake[2:]}`", " ".join(said.split())]
           for mistake, name, said in answers if name == "tvmffi.h, stock"])
    print("\nWhat the others say:\n")
    for mistake, name, said in answers:
        if name != "tvmffi.h, stock":
            print(f"{mistake[2:]}, {name}: {said}")
    if args.json:
        args.json.write_text(json.dumps(
            {"build": seconds, "typed": functions, "calls": times,
             "versions": versions(),
             "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
             "flags": " ".join(FLAGS[:-1])}, indent=1))
    ratio = {other: statistics.geometric_mean(
        min(columns[other]) / min(columns["tvmffi.h"])
        for columns in times.values()
        if other in columns and "tvmffi.h" in columns)
        for other in BINDINGS}
    hand = max(row["tvmffi.h"] / row["by hand"] for row in functions.values())
    print(f"\na typed function: at most {hand:.2f} of checks by hand; a call "
          "from Python, in units of tvmffi.h's: " + ", ".join(
              f"{name} {value:.2f}" for name, value in ratio.items()
              if name != "tvmffi.h"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--wheel-include")
    parser.add_argument("--stock", help="upstream's library")
    parser.add_argument("--dropin", type=Path, help="the folder with ours")
    parser.add_argument("--processes", type=int, default=15)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", choices=("ours", "stock"),
                        help=argparse.SUPPRESS)
    parser.add_argument("--mistakes", action="store_true",
                        help=argparse.SUPPRESS)
    parser.add_argument("folder", type=Path, help="what is built goes here")
    args = parser.parse_args()
    args.folder = args.folder.resolve()
    if args.work:
        work(args.folder, args.work)
    elif args.mistakes:
        answer_mistakes(args.folder)
    else:
        args.folder.mkdir(parents=True, exist_ok=True)
        report(args)


if __name__ == "__main__":
    main()
