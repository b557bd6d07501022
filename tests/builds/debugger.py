#!/usr/bin/env python3
"""Prints values of tests/builds/debugger.c in gdb by debug/tvmffi_gdb.py: in a
program that runs and in its core file, with the runtime linked in, as a shared
library, and upstream's library. Output is TAP.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/tools"))
sys.dont_write_bytecode = True
from tap import Tap  # noqa: E402

PRINTERS = ROOT / "debug/tvmffi_gdb.py"
LIST = r'ffi.List, 4 references, size 3 = {1, 2.5, "three"}'
MATRIX = r"float32[2, 3] cpu:0, data 0x@, strides [1, 2]"
POINT = (
    r'demo.Point, 2 references = {small = -3, large = 200, x = 1.5, '
    r'half = 0.25, flag = True, name = "a point", anything = 7, items = '
    + LIST + ', maybe = None, dtype = float16}')
CHILD = (
    r'demo.Child, 1 reference = {small = 1, large = 2, x = 3.0, half = 4.0, '
    r'flag = False, name = "child", anything = ' + POINT + ', items = NULL, '
    r'maybe = 5, dtype = float16, extra = 9}')
# An expression and what gdb prints; @ is a number in hexadecimal, # an integer.
VALUES = {
    "none": "None",
    "integer": "-42",
    "number": "2.5",
    "yes": "True",
    "small": '"text"',
    "large": r'"a longer \"text\"\n"',
    "raw": '"borrowed"',
    "bytes": r"b'a\x00b and more'",
    "small_bytes": r"b'a\x00b'",
    "dtype": "dtype float16x4",
    "device": "device cuda:1",
    "pointer": "(void *) 0x1234",
    "big": "ffi.BigInt 18446744073709551616, 1 reference",
    "list": LIST,
    "array": "ffi.Array, 1 reference, size 3 = {" + LIST
             + ', 1, "a text that is not small"}',
    "map": 'ffi.Map, 1 reference, size 2 = {["a"] = 1, ["b"] = ' + LIST + "}",
    "table": "ffi.Dict, 1 reference, size 39 = {[0] = 0, "
             + ", ".join(f"[{i * 7}] = {i}" for i in range(2, 40)) + "}",
    "big_map_any": "ffi.Dict, 1 reference, size 39 = {[0] = 0, "
                   + ", ".join(f"[{i * 7}] = {i}" for i in range(2, 40)) + "}",
    "sizes": "ffi.Shape [2, 3, 4], 1 reference",
    "function": "ffi.Function demo.square, 2 references",
    "other": "ffi.Function nameless, 1 reference",
    "closure": "ffi.Function count, 1 reference",
    "error": r'ffi.Error TypeError: "not \"it\"", 1 reference = {cause = '
             'ffi.Error ValueError: "the cause", 3 references}',
    "tensor": "ffi.Tensor, 1 reference, " + MATRIX,
    "matrix": MATRIX,
    "matrix_pointer": "(DLTensor *) 0x@ " + MATRIX,
    "cycle": "ffi.List, 2 references, size 2 = {1, ffi.List, 2 references, "
             "size 2 {...}}",
    "text": r'"a longer \"text\"\n", 1 reference',
    "handle": r'"a longer \"text\"\n", 1 reference',
    "module": 'ffi.Module "MODULE", 1 reference = {imports = ffi.Array, '
              "1 reference, size 0}",
    "view": '"a view"',
    "float16x4": "float16x4",
    "cuda": "cuda:1",
    "point": POINT,
    "in_any": POINT,
    "child": CHILD,
    # The struct itself has C's own values, and the head of its object.
    "*list": "ffi.List, 4 references",
    "*point": r"{base = demo.Point, 2 references, small = -3 '\375', large = "
              r"200 '\310', x = 1.5, half = 0.25, flag = true, name = "
              '"a point", anything = 7, items = ' + LIST
              + ", maybe = {value = 0, has_value = 0}, dtype = float16}",
    # What is no value.
    "nothing": "NULL",
    "missing": "<NULL as ffi.List>",
    "nowhere": "<not an object: cannot read memory at 0x10>",
    "wild": "<not an object: cannot read memory at 0x10>",
    "wrong": "<not an object at 0x@: type index 0>",
    "garbage": "<not a value: type index #>",
    "weak": "<destroyed ffi.List at 0x@, 1 weak>",
    "dead": "<freed object at 0x@, was ffi.List>",
}
COMMANDS = {
    "tvmffi-object child": "type child\n"
    "references 1 reference\naddress    0x@\n"
    "deleter    tvmffi_i_delete_Child\nvalue      " + CHILD,
    "tvmffi-object weak": "destroyed ffi.List at 0x@, 1 weak",
    "tvmffi-object 16": "not an object: cannot read memory at 0x10",
    "tvmffi-object integer": "no object: -42",
    "tvmffi-traceback error": """\
Traceback (most recent call last):
  File "DEBUGGER", line #, in run
ValueError: the cause

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "DEBUGGER", line #, in run
TypeError: not "it\"""",
    "tvmffi-traceback list": "not an error, but ffi.List, 4 references",
    "tvmffi-traceback": "Traceback (most recent call last):\n"
    '  File "DEBUGGER", line #, in run\nKeyError: raised and not taken',
}
# Without the tables of our runtime the layouts of the ABI are left, and what
# the program's own debug information tells.
STOCK = {
    "function": "ffi.Function square, 2 references",
    "closure": "ffi.Function at 0x@, 1 reference",
    "module": "ffi.Module, 1 reference = {imports = ffi.Array, 1 reference, "
              "size 0}",
    "dead": "<@>",
    "tvmffi-object child": None,
    "tvmffi-traceback error": None,
    "tvmffi-traceback": "the thread's error is not to be found: *",
}
for name in ("point", "in_any", "child"):
    STOCK[name] = VALUES[name].replace("-3", r"-3 '\375'").replace(
        "200", r"200 '\310'").replace("small = 1,", r"small = 1 '\001',"
        ).replace("large = 2,", r"large = 2 '\002',").replace(
        "True", "true").replace("False", "false").replace(
        "3.0", "3").replace("4.0", "4").replace(
        "maybe = None", "maybe = {value = 0, has_value = 0}").replace(
        "maybe = 5", "maybe = {value = 5, has_value = 1}")


def pattern(text, module):
    text = re.escape(text.replace("MODULE", str(module))
                     .replace("DEBUGGER", str(ROOT / "tests/builds/debugger.c"))
                     .replace("type child", "type       demo.Child, index # < "
                              "demo.Point < ffi.Object"))
    return text.replace("@", "[0-9a-f]+").replace(r"\#", "-?[0-9]+") \
        .replace(r"<[0-9a-f]+>", "<.*>").replace(r"found:\ \*", "found: .*")


def gdb(program, commands, *options):
    """Runs commands in gdb; returns its whole output."""
    line = ["gdb", "-q", "-batch", "-nx", "-iex", "set width 0", *options]
    for command in commands:
        line += ["-ex", command]
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    env.pop("LD_LIBRARY_PATH", None)  # each program says where its library is
    done = subprocess.run([*line, "--args", *map(str, program)], text=True,
                          capture_output=True, timeout=300, env=env)
    # What goes wrong is on the other stream; both in the order of commands.
    return done.stdout, done.stderr


def show(tap, name, args, program, start, expected, *options, load=True):
    """Prints all values in one run of gdb, and compares."""
    log = f"{args.folder}/log"
    commands = [f"source {PRINTERS}"] * load + start
    commands += [f"set logging file {log}", "set logging overwrite on",
                 "set logging redirect on", "set logging enabled on"]
    for expression in expected:
        if not expression.startswith("tvmffi-"):
            expression = "output " + expression
        commands += [f"echo \\n@@{expression}\\n", expression]
    Path(log).unlink(missing_ok=True)
    out, err = gdb(program, commands, *options)
    parts = Path(log).read_text().split("\n@@")[1:] \
        if Path(log).exists() else []
    got = dict(part.split("\n", 1) for part in parts)
    wrong = []
    for expression, wanted in expected.items():
        key = expression if expression.startswith("tvmffi-") \
            else "output " + expression
        text = got.get(key, "nothing").strip("\n")
        if not re.fullmatch(pattern(wanted, args.module), text):
            wrong.append(f"{expression}\n  is     {text}\n  wanted {wanted}")
    if "Python Exception" in out + err:
        wrong.append("an exception in Python")
    tap.ok(not wrong, name, "\n".join(wrong) + f"\n{out}\n{err}")


def build(args, name, *options):
    program = Path(args.folder) / name
    subprocess.run([*args.cc.split(), "-g", "-O0", "-w", f"-I{ROOT}",
                    ROOT / "tests/builds/debugger.c", "-o", program, *options,
                    "-Wl,--export-dynamic-symbol=TVMFFI*", "-lpthread", "-ldl"],
                   check=True)
    return [program, args.module]


def linked(args, library, name):
    folder = Path(library).parent
    return build(args, name, library, f"-Wl,-rpath,{folder}")


def run(tap, args):
    both = {**VALUES, **COMMANDS}
    stop = ["break stop", "run", "up"]
    static = build(args, "static", "-DTVMFFI_IMPLEMENTATION")
    out, err = gdb(static, ["break TVMFFIErrorSetRaised", "run", "backtrace"])
    tap.ok(re.search(r" in run \(.* at .*debugger\.c:\d+", out),
           "the line of an error", out + err)
    core = Path(args.folder) / "core"
    show(tap, "a program with its own runtime", args, static, stop, both)
    gdb(static, ["break stop", "run", f"generate-core-file {core}"])
    show(tap, "its core file", args, static[:1], [f"core-file {core}", "up"],
         both)
    show(tap, "TVMFFI_DEBUG", args, build(
        args, "debug", "-DTVMFFI_IMPLEMENTATION", "-DTVMFFI_DEBUG"), stop,
         {**both, "dead_large": "<freed object at 0x@, was ffi.String>"})
    library = Path(args.folder) / "libtvm_ffi.so"
    shutil.copy2(args.lib, library)
    show(tap, "a shared library", args, linked(args, library, "shared"), stop,
         both)
    shutil.copy2(PRINTERS, f"{library}-gdb.py")
    show(tap, "printers loaded with the library", args,
         linked(args, library, "auto"), stop, both, "-iex",
         f"add-auto-load-safe-path {args.folder}", load=False)
    if args.stock:
        expected = {**both, **STOCK}
        show(tap, "upstream's library", args,
             linked(args, args.stock, "stock"), stop,
             {k: v for k, v in expected.items() if v is not None})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--lib", required=True)
    parser.add_argument("--module", required=True)
    parser.add_argument("--stock")
    args = parser.parse_args()
    tap = Tap()
    if not shutil.which("gdb"):
        if os.environ.get("CI"):
            tap.ok(False, "gdb is not installed")
        else:
            tap.skip("debugger", "no gdb")
        return tap.done()
    with tempfile.TemporaryDirectory() as args.folder:
        args.folder = os.path.realpath(args.folder)
        args.module = os.path.realpath(args.module)
        run(tap, args)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
