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
import re
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE.parents[1] / "dropin"))
sys.dont_write_bytecode = True
import both  # noqa: E402
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


def _once(script, extra, package):
    ended = both.run([sys.executable, script, "--record", *extra],
                     both.environment(package=package, **ENVIRONMENT), 900)
    lines = [json.loads(line) for line in ended.out.splitlines()
             if line.startswith("[")]
    problem = None
    if ended.status != 0:
        problem = f"{ended.how()}\n{ended.err[-2000:]}"
    return {name: (kind, value) for kind, name, value in lines}, problem


def _answers(records):
    """What is compared: the value, or of a condition whether it is true."""
    return {name: value if kind == "value" else f"{kind}: {value}"
            for name, (kind, value) in records.items()}


def run(script, title, main, packages, add_arguments=lambda parser: [],
        programs=(), distributions=()):
    """The program: records one run, or starts two and compares them.

    It imports `packages` and runs `programs`: if one is absent, it is skipped.
    `add_arguments` adds options of its own and returns their names. The final
    report names the versions of `distributions` and of the wheel: see table.py.
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
    for program in programs:
        if not shutil.which(program):
            tap.skip(title, f"{program} is not installed")
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
    both.Comparison(tap).answers(_answers(stock), _answers(ours),
                                 good=lambda answer: answer != "check: False")
    if distributions:
        title = ", ".join(f"{d} {version(d)}" for d in distributions)
        title += f", wheel {version('apache-tvm-ffi')}"
    tap.note(f"{title}: {len(stock)} results compared")
    return tap.done()
