"""Runs one Python program on two libraries and compares what it writes down.

A client is a module with a function `main()` that calls `record(name, value)`
for whatever it sees and `check(name, condition)` for what has to be so. It
ends with `run(...)`, which starts it once with the wheel's own library and
once with ours, and prints TAP: a line for each name, good if both runs have
the same value, and a condition if it is also true.
"""

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parents[1] / "dropin"))
sys.dont_write_bytecode = True
import folder  # noqa: E402
from tap import Tap  # noqa: E402

# Without this, tvm_ffi may compile an extension for older versions of PyTorch.
ENVIRONMENT = {"TVM_FFI_DISABLE_TORCH_C_DLPACK": "1",
               "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
_names = set()


def _write(kind, name, value):
    if name in _names:
        raise ValueError(f"two records of the name {name!r}")
    _names.add(name)
    sys.stdout.write(json.dumps([kind, name, value]) + "\n")
    sys.stdout.flush()


def record(name, value):
    """Writes a value down: what its repr() shows is compared."""
    _write("value", name, repr(value))


def check(name, condition):
    """Writes down whether something is so."""
    _write("check", name, bool(condition))


def record_error(name, function, *args):
    """Writes down the type and text of the exception that a call raises.

    A time of day in the text is left out.
    """
    try:
        value = function(*args)
    except Exception as error:
        text = re.sub(r"\b\d\d:\d\d:\d\d\b", "TIME", str(error))
        record(name, (type(error).__name__, text))
    else:
        record(name, f"no error: {value!r}")


def loaded_libraries(process="self"):
    """The files of the name libtvm_ffi.so that a process has mapped."""
    maps = Path(f"/proc/{process}/maps").read_text()
    return sorted(set(re.findall(r"(/\S*/libtvm_ffi\.so)$", maps, re.M)))


def _once(script, extra, path):
    env = {**os.environ, **ENVIRONMENT}
    for name in ("PYTHONPATH", "LD_LIBRARY_PATH"):
        env.pop(name, None)
    if path:
        env["PYTHONPATH"] = str(path)
    done = subprocess.run([sys.executable, script, "--record", *extra],
                          env=env, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=900)
    lines = [json.loads(line) for line in done.stdout.splitlines()
             if line.startswith("[")]
    problem = None
    if done.returncode:
        problem = f"exit status {done.returncode}\n{done.stderr[-2000:]}"
    return {name: (kind, value) for kind, name, value in lines}, problem


def _compare(tap, stock, ours):
    for name, (kind, value) in stock.items():
        got = ours.get(name, (kind, "nothing"))[1]
        good = got == value and (kind != "check" or value is True)
        tap.ok(good, name, f"upstream {str(value)[:1500]}\n"
                           f"ours     {str(got)[:1500]}")
    extra = [name for name in ours if name not in stock]
    tap.ok(not extra, "both runs write down the same names", extra)


def run(script, title, main, packages, add_arguments=lambda parser: []):
    """The program: records one run, or starts two and compares them.

    `packages` are what it imports: with one that is not there it is skipped.
    `add_arguments` adds options of its own and returns their names.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib", type=Path)
    parser.add_argument("--record", action="store_true")
    names = add_arguments(parser)
    args = parser.parse_args()
    if args.record:
        main(args)
        _write("library", "library", loaded_libraries())
        return 0
    tap = Tap()
    for package in packages:
        if importlib.util.find_spec(package) is None:
            tap.skip(title, f"{sys.executable} has no package {package}")
            return tap.done()
    extra = []
    for name in names:
        extra += [f"--{name}", str(getattr(args, name))]
    with tempfile.TemporaryDirectory() as tmp:
        path = folder.make(args.lib, Path(tmp) / "dropin")
        stock, problem = _once(script, extra, None)
        tap.ok(not problem, f"{title} runs on upstream's library", problem)
        ours, problem = _once(script, extra, path)
        tap.ok(not problem, f"{title} runs on our library", problem)
        files = [r.pop("library", (None, []))[1] for r in (stock, ours)]
        tap.ok(files[1] == [str(path / folder.LIBRARY)]
               and files[0] != files[1] and len(files[0]) == 1,
               "each run loads its library and no other", files)
    _compare(tap, stock, ours)
    tap.note(f"{title}: {len(stock)} results compared")
    return tap.done()
