#!/usr/bin/env python3
"""Runs the Python package on the stock library and on ours, and compares.

    python run.py --python PY --dropin DIR [--fast] [--cxx] [FILE...]
    python run.py --python PY --fast       [FILE...]
    python run.py --python PY              [FILE...]
    python run.py --coverage [--python PY]

PY has the wheel and the packages of requirements.txt. DIR is a folder for
PYTHONPATH that puts our library in the place of the wheel's; without it the
stock library is compared with itself, which finds cases that are not
repeatable. --fast also compares the stock library with itself, called the stock
way and through tvmffi_python.h. Each file of cases runs in a process of its own;
when that ends early, the case at hand has failed, and a new process runs those
after it. A case passes if it passes on both sides with equal results. Writes
TAP.

--cxx adds the files of CXX, which need upstream's C++ symbols in the library.
--coverage prints the public names of tvm_ffi that no case mentions.
"""

import argparse
import ast
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, str(Path(HERE).parents[1] / "tools"))
import both  # noqa: E402
from tap import Tap  # noqa: E402

SECONDS = 300

# Files that need the C++ symbols of the module class.
CXX = {"cases_cpp_modules"}

# The differences that are meant, and why.
ALLOWED = {
    "cases_dataclasses.case_raw_copy_of_another_type":
        "upstream copies the fields of another type's object",
    "cases_registry.case_create_object_with_a_name_and_no_value":
        "upstream's message is empty but for a C++ expression",
    "cases_containers.case_list_reserve_without_memory":
        "upstream's error is that of a C++ exception",
    "cases_dtype_device.case_parse_errors":
        "names are shown up to 200 bytes or a NUL",
    "cases_dtype_device.case_parse_scalable_without_count":
        "upstream takes xvscale without a number for one lane",
    "cases_errors.case_messages_with_nul_of_names":
        "names are shown up to a NUL",
    "cases_errors.case_long_names_in_messages":
        "names are shown up to 200 bytes",
}

# Functions in these read arguments that the call does not have.
NOT_FAST = {
    "cases_functions.case_extern_c_add_one",
    "cases_registry.case_create_object_with_a_name_and_no_value",
}


def expected(tap, reasons, stems):
    return both.Comparison(tap, [
        (f"^{re.escape(case)}\t", why) for case, why in reasons.items()
        if case.split(".")[0] in stems])


class Side:
    """One library: how to start Python on it, and what its cases gave."""

    def __init__(self, name, python, dropin, scratch, fast=None):
        self.name, self.python, self.fast = name, python, fast
        self.counts = [0, 0]  # calls by the fast way, by the stock way
        self.tmp = os.path.join(scratch, name)
        os.makedirs(self.tmp)
        self.env = both.environment(
            dropin and os.path.join(dropin, "lib", "libtvm_ffi.so"), dropin,
            PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0", TMPDIR=self.tmp,
            TVM_FFI_DISABLE_TORCH_C_DLPACK="1",
            TVM_FFI_CACHE_DIR=os.path.join(self.tmp, "cache"),
            PATH=os.pathsep.join([os.path.dirname(os.path.abspath(python)),
                                  os.environ["PATH"]]))

    def run(self, path):
        """Runs a file's cases; returns {case: (status, result)}."""
        results, after, names = {}, None, []
        for attempt in range(1000):
            transcript = os.path.join(self.tmp, f"transcript-{attempt}")
            command = [self.python, os.path.join(HERE, "runner.py"), path,
                       transcript]
            command += ["--after", after] if after else []
            command += ["--fast", self.fast] if self.fast else []
            ended = self._process(command)
            records, last, done = self._read(transcript), None, False
            os.path.exists(transcript) and os.unlink(transcript)
            for record in records:
                names = record.get("names", names)
                last = record.get("begin", last)
                done = done or "end" in record
                self.counts = [a + b for a, b in zip(
                    self.counts, record.get("counts") or (0, 0))]
                if "case" in record:
                    results[record["case"]] = (record["status"],
                                               record["result"])
            if done:
                return names, results
            if last in (None, "import"):
                return [], {"import": ("failed", ended)}
            results[last] = ("failed", ended)
            after = last
        return names, results

    def _process(self, command):
        """Runs to the end or the time limit; says how it ended."""
        ended = both.run(command, self.env, SECONDS, self.tmp)
        return "; ".join([ended.how(),
                          *(ended.out + ended.err).splitlines()[-4:]])

    @staticmethod
    def _read(path):
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]


def build_fast(python, scratch):
    """Compiles fast.c for that Python; returns the library's path."""
    ended = both.run([python, "-c", "import sysconfig\n"
                      "print(sysconfig.get_path('include'))"])
    include, root = ended.out.strip(), Path(HERE).parents[2]
    if not (Path(include) / "Python.h").is_file():
        return None, f"no Python.h in {include}: install python3-dev"
    library = os.path.join(scratch, "fast.so")
    both.build(os.environ.get("CC") or "cc", "-std=gnu11", "-Wall", "-Wextra",
               "-Werror", "-O1", "-g", "-fPIC", "-shared", f"-I{include}",
               f"-I{root}", f"-I{root}/hosts/python",
               os.path.join(HERE, "fast.c"), "-o", library)
    return library, None


def compare(tap, path, stock, others):
    """Runs one file on all sides and writes a line for each case."""
    stem = os.path.splitext(os.path.basename(path))[0]
    names, a = stock.run(path)
    for side, comparison, title in others:
        other, b = side.run(path)
        if not names or not other:
            tap.ok(False, f"{title}{stem} is imported",
                   f"{stock.name}: {a.get('import')}\n{side.name}: "
                   f"{b.get('import')}")
            continue
        missing = ("failed", "no result")
        compared = [case for case in names
                    if not side.fast or f"{stem}.{case}" not in NOT_FAST]
        comparison.answers(
            *({f"{stem}.{case}": ": ".join(answers.get(case, missing))
               for case in compared} for answers in (a, b)), title=title,
            good=lambda answer: answer.startswith("ok: "))


# -- what is covered -------------------------------------------------------

LIST_NAMES = r"""
import importlib, inspect, json, pkgutil, sys
import tvm_ffi
import tvm_ffi.testing
out = []
skip = ("tvm_ffi._", "tvm_ffi.stub.", "tvm_ffi.testing._")
modules = ["tvm_ffi"] + [m.name for m in pkgutil.walk_packages(
    tvm_ffi.__path__, "tvm_ffi.") if not m.name.startswith(skip)]
for name in modules:
    try:
        module = importlib.import_module(name)
    except Exception:
        continue
    public = getattr(module, "__all__", None) or [
        n for n, v in vars(module).items() if not n.startswith("_")
        and getattr(v, "__module__", None) == name]
    for n in public:
        out.append((name, n, n))
        value = getattr(module, n, None)
        if inspect.isclass(value) and str(value.__module__).startswith(
                "tvm_ffi"):
            for m in vars(value):
                if not m.startswith("_"):
                    out.append((name, n + "." + m, m))
for n in tvm_ffi.registry.list_global_func_names():
    if n.startswith(("ffi.", "testing.")):
        out.append(("global function", n, n))
print(json.dumps(sorted(set(map(tuple, out)))))
"""


def mentioned(paths):
    """Collects each identifier and each string that the cases have."""
    words = set()
    for path in paths:
        with open(path, encoding="utf-8") as source:
            tree = ast.parse(source.read())
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                words.add(node.id)
            elif isinstance(node, ast.Attribute):
                words.add(node.attr)
            elif isinstance(node, ast.alias):
                words.update(node.name.split("."))
            elif isinstance(node, ast.keyword) and node.arg:
                words.add(node.arg)
            elif isinstance(node, ast.Constant):
                if isinstance(node.value, str):
                    words.add(node.value)
                    words.update(re.findall(r"[\w.]+", node.value))
    return words


def coverage(python, paths):
    ended = both.run([python, "-c", LIST_NAMES], both.environment(
        TVM_FFI_DISABLE_TORCH_C_DLPACK="1"))
    names = json.loads(ended.out.splitlines()[-1])
    words = mentioned(paths)
    missing = [(m, n) for m, n, word in names
               if word not in words and word.split(".")[-1] not in words]
    for module, name in missing:
        print(f"{module}: {name}")
    print(f"{len(names) - len(missing)} of {len(names)} public names are in"
          f" a case")
    return 0


def main():
    parser = argparse.ArgumentParser(
        description="Compares the Python package on two libraries.")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--dropin")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--cxx", action="store_true")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    every = sorted(f for f in os.listdir(HERE)
                   if f.startswith("cases_") and f.endswith(".py"))
    if args.coverage:
        return coverage(args.python, [os.path.join(HERE, f) for f in every])
    stems = [os.path.splitext(os.path.basename(f))[0]
             for f in args.files or every]
    if not args.files and not args.cxx:
        stems = [s for s in stems if s not in CXX]
    tap = Tap()
    scratch = tempfile.mkdtemp(prefix="python-api-")
    try:
        stock = Side("stock", args.python, None, scratch)
        others = []
        if args.dropin or not args.fast:
            name = "ours" if args.dropin else "stock-again"
            others.append((Side(name, args.python, args.dropin, scratch),
                           expected(tap, ALLOWED if args.dropin else {},
                                    stems), ""))
        library, why = build_fast(args.python, scratch) if args.fast else \
            (None, None)
        if library:
            others.append((Side("fast", args.python, None, scratch, library),
                           expected(tap, {}, stems), "fast: "))
        elif why:
            tap.skip("calls through tvmffi_python.h", why)
        for stem in stems:
            compare(tap, os.path.join(HERE, stem + ".py"), stock, others)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for side, comparison, title in others:
        comparison.done()
        if side.fast:
            by_fast, by_stock = side.counts
            tap.ok(by_fast > by_stock > 0,
                   f"{title}{by_fast} calls, {by_stock} left to tvm_ffi")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
