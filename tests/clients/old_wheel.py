#!/usr/bin/env python3
"""A library in an older wheel: a function of the ABI that the wheel lacks is an
error with a text. In the current wheel the same library has all functions.

    old_wheel.py --wheel FOLDER --cc COMPILER...

FOLDER has the old package. Writes TAP.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
sys.path.insert(0, str(ROOT / "packaging" / "python" / "src"))

from tap import Tap  # noqa: E402
from tvmffi import check  # noqa: E402

# A missing function may end the process, so each answer is printed at once.
CALLS = """
import json, sys, tvm_ffi
module = tvm_ffi.load_module(sys.argv[1])
for name, *arguments in json.loads(sys.argv[2]):
    try:
        answer = module[name](*arguments)
    except Exception as error:
        text = error.args[0] # str() of a KeyError has quotes
        answer = [type(error).__name__, text]
    print(json.dumps([tvm_ffi.__version__, name, answer]), flush=True)
"""
# A function of old_wheel.c and the function of the ABI that it calls.
LATE = {
    "object": "TVMFFIGetCustomAllocator",
    "module": "TVMFFIGetCustomAllocator",
    "init_once": "TVMFFIHandleInitOnce",
    "deinit_once": "TVMFFIHandleDeinitOnce",
    "view": "TVMFFITensorCreateUnsafeView",
    "error": "TVMFFIErrorCreateWithCauseAndExtraContext",
    "get_allocator": "TVMFFIGetCustomAllocator",
    "set_allocator": "TVMFFISetCustomAllocator",
    "from_words": "TVMFFIBigIntFromByteArray",
    "words_of": "TVMFFIBigIntGetContentByteArray",
}
# What works in every wheel: the function, its arguments, what it answers.
ALWAYS = [
    (["add", 1, 2], 3),
    (["count_loads"], 1),
    (["fails"], ["KeyError", "no key"]),
    (["fails_with_cause"], ["TypeError", "second"]),
    (["fails_with_context"], ["KeyError", "line 7: no key"]),
]


def answers(library, calls, folder):
    """{function: [version, function, answer]} in the package of `folder`, or
    of this Python if None, and the text of a process that failed."""
    env = dict(os.environ)
    env.pop("PYTHONPATH", None)
    if folder:
        env["PYTHONPATH"] = str(folder)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CALLS, library,
         json.dumps(calls)], capture_output=True, text=True, env=env,
        timeout=120)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    failed = f"exit status {done.returncode}: {done.stderr}"
    return {row[1]: row for row in found}, failed if done.returncode else ""


def missing(function, symbols):
    return ["RuntimeError", f"{function} is not in this process's libtvm_ffi: "
            f"install apache-tvm-ffi {symbols[function][0]} or newer"]


def compare(tap, library, version, folder, cases):
    got, failed = answers(library, [call for call, _ in cases], folder)
    for (name, *_), answer in cases:
        expected = [version, name, answer]
        tap.ok(got.get(name) == expected,
               f"binding {library.stem}: {name} in {version}",
               f"{got.get(name)}\nexpected {expected}\n{failed}")
    tap.ok(not failed, f"binding {library.stem}: {version} ends well", failed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheel", required=True, type=pathlib.Path)
    parser.add_argument("--cc", required=True, nargs="+")
    args = parser.parse_args()
    tap = Tap()
    wheels, symbols = check.read_table()
    old = ALWAYS + [(["has_cause"], False)] + [
        ([name], missing(function, symbols)) for name, function in LATE.items()]
    new = ALWAYS + [(["has_cause"], True)] + [([name], 3) for name in LATE]
    with tempfile.TemporaryDirectory() as folder:
        for binding in "lazy", "now":
            library = pathlib.Path(folder, f"{binding}.so")
            subprocess.run(
                [*args.cc, "-shared", "-fPIC", f"-Wl,-z,{binding}", "-I", ROOT,
                 ROOT / "tests/clients/old_wheel.c", "-o", library], check=True)
            compare(tap, library, "0.1.4", args.wheel, old)
            compare(tap, library, wheels[-1], None, new)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
