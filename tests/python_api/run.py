#!/usr/bin/env python3
"""Runs the Python package on the stock library and on ours, and compares.

    python run.py --python PY --dropin DIR [--extra] [FILE...]
    python run.py --python PY              [FILE...]
    python run.py --coverage [--python PY]

PY has the wheel and the packages of requirements.txt. DIR is a folder for
PYTHONPATH that puts our library in the place of the wheel's; without it the
stock library is compared with itself, which finds cases that are not
repeatable. Each file of cases runs in a process of its own; when that ends
early, the case at hand has failed, and a new process runs those after it.
A case passes if it passes on both libraries with equal results. Writes TAP.

--extra adds the files of EXTRA, which need what our library does not have yet.
--coverage prints the public names of tvm_ffi that no case mentions.
"""

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from tap import Tap  # noqa: E402

SECONDS = 300

# Files that need the structural, JSON, repr or comparison functions, or the
# C++ symbols of the module class.
EXTRA = {"cases_compare", "cases_cpp_modules", "cases_json", "cases_repr",
         "cases_repr_random",
         "cases_structural"}

# Differences that are meant, as "file.case": why. A row that no difference
# needs is a failure.
ALLOWED = {
    "cases_dataclasses.case_raw_copy_of_another_type":
        "upstream reads past the end of the other type's object",
    "cases_registry.case_create_object_with_a_name_and_no_value":
        "upstream's message is empty but for a C++ expression",
    "cases_dtype_device.case_parse_errors":
        "names are shown up to 200 bytes or a NUL",
    "cases_dtype_device.case_parse_scalable_without_count":
        "upstream takes xvscale without a number for one lane",
    "cases_errors.case_messages_with_nul_of_names":
        "names are shown up to a NUL",
    "cases_errors.case_long_names_in_messages":
        "names are shown up to 200 bytes",
}

# Texts that are the same to a user. Upstream puts the C++ expression of a
# failed check in front of its message; we do not, see docs/differences.md.
SAME = [
    (re.compile(r"Check failed: \(.*?\) is false: "), ""),
    (re.compile(r"Check failed: \(.*?\) is false:? ?(?=['\"]|$)"), ""),
]


def plain(text):
    for pattern, replacement in SAME:
        text = pattern.sub(replacement, text)
    return text


def around(a, b, name_a, name_b):
    """Writes two texts from a little before their first difference on."""
    first = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y),
                 min(len(a), len(b)))
    begin = 0 if first < 120 else first - 100
    return [f"{name}: {'...' if begin else ''}{text[begin:begin + 500]}"
            for name, text in ((name_a, a), (name_b, b))]


class Side:
    """One library: how to start Python on it, and what its cases gave."""

    def __init__(self, name, python, dropin, scratch):
        self.name, self.python = name, python
        self.tmp = os.path.join(scratch, name)
        os.makedirs(self.tmp)
        self.env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1",
                        PYTHONHASHSEED="0", TMPDIR=self.tmp,
                        TVM_FFI_DISABLE_TORCH_C_DLPACK="1",
                        TVM_FFI_CACHE_DIR=os.path.join(self.tmp, "cache"))
        self.env["PATH"] = os.pathsep.join(
            [os.path.dirname(os.path.abspath(python)), self.env["PATH"]])
        self.env.pop("PYTHONPATH", None)
        if dropin:
            dropin = os.path.abspath(dropin)
            self.env["PYTHONPATH"] = dropin
            self.env["LD_LIBRARY_PATH"] = os.path.join(dropin, "lib")

    def run(self, path):
        """Runs a file's cases; returns {case: (status, result)}."""
        results, after, names = {}, None, []
        for attempt in range(1000):
            transcript = os.path.join(self.tmp, f"transcript-{attempt}")
            command = [self.python, os.path.join(HERE, "runner.py"), path,
                       transcript]
            command += ["--after", after] if after else []
            ended = self._process(command)
            records, last, done = self._read(transcript), None, False
            os.path.exists(transcript) and os.unlink(transcript)
            for record in records:
                names = record.get("names", names)
                last = record.get("begin", last)
                done = done or "end" in record
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
        with tempfile.TemporaryFile(dir=self.tmp) as log:
            child = subprocess.Popen(command, env=self.env, cwd=self.tmp,
                                     stdin=subprocess.DEVNULL, stdout=log,
                                     stderr=log)
            try:
                status = child.wait(timeout=SECONDS)
                how = (f"the process ended by signal {-status}" if status < 0
                       else f"the process ended with {status}")
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                how = f"the process hung for {SECONDS} s"
            log.seek(0)
            tail = log.read().decode("utf-8", "replace").splitlines()[-4:]
        return "; ".join([how, *tail])

    @staticmethod
    def _read(path):
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]


def compare(tap, path, stock, ours, used):
    """Runs one file on both sides and writes a line for each case."""
    stem = os.path.splitext(os.path.basename(path))[0]
    names, a = stock.run(path)
    other, b = ours.run(path)
    if not names or not other:
        tap.ok(False, f"{stem} is imported",
               f"{stock.name}: {a.get('import')}\n{ours.name}: "
               f"{b.get('import')}")
        return
    for case in names:
        name = f"{stem}.{case}"
        missing = ("failed", "no result")
        (status_a, text_a), (status_b, text_b) = (a.get(case, missing),
                                                  b.get(case, missing))
        same = (status_a == status_b and plain(text_a) == plain(text_b))
        detail = "\n".join(around(f"{status_a}: {plain(text_a)}",
                                  f"{status_b}: {plain(text_b)}",
                                  stock.name, ours.name))
        if status_a == "skip" and same:
            tap.skip(name, text_a)
        elif not same and status_a == "ok" and name in ALLOWED:
            used.add(name)
            tap.ok(True, f"{name} (differs: {ALLOWED[name]})")
        else:
            tap.ok(same and status_a == "ok", name, detail)


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
    env = dict(os.environ, TVM_FFI_DISABLE_TORCH_C_DLPACK="1")
    text = subprocess.run([python, "-c", LIST_NAMES], env=env, check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    names = json.loads(text.splitlines()[-1])
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
    parser.add_argument("--extra", action="store_true")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    every = sorted(f for f in os.listdir(HERE)
                   if f.startswith("cases_") and f.endswith(".py"))
    if args.coverage:
        return coverage(args.python, [os.path.join(HERE, f) for f in every])
    stems = [os.path.splitext(os.path.basename(f))[0]
             for f in args.files or every]
    if not args.files and not args.extra:
        stems = [s for s in stems if s not in EXTRA]
    tap, used = Tap(), set()
    scratch = tempfile.mkdtemp(prefix="python-api-")
    try:
        stock = Side("stock", args.python, None, scratch)
        ours = Side("ours" if args.dropin else "stock-again", args.python,
                    args.dropin, scratch)
        for stem in stems:
            compare(tap, os.path.join(HERE, stem + ".py"), stock, ours, used)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for row in ALLOWED:
        if row.split(".")[0] in stems and args.dropin and row not in used:
            tap.ok(False, f"the allowed difference {row} is there")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
