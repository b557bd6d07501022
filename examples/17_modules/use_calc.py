"""Compiles formulas into modules, and saves and loads them.

    python use_calc.py path/to/calc.so
"""

import os
import sys
import tempfile

# Without this, tvm_ffi may compile an extension for older versions of PyTorch.
os.environ.setdefault("TVM_FFI_DISABLE_TORCH_C_DLPACK", "1")

import tvm_ffi

library = tvm_ffi.load_module(os.path.abspath(sys.argv[1]))
library.register_kinds()

SOURCE = """mean(a, b) = (a + b) / 2
area(width, height) = width * height
inverse(x) = 1 / x
"""


def check(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")
    print(f"  {what}")


def fails(kind, function, *args):
    """Checks that a call raises, and prints how."""
    try:
        result = function(*args)
    except kind as error:
        print(f"  {type(error).__name__}: {error}")
        return
    sys.exit(f"failed: expected {kind.__name__}, got {result!r}")


def main():
    print("A module")
    calc = library.compile(SOURCE)
    check(isinstance(calc, tvm_ffi.Module) and calc.kind == "demo.calc",
          "a module of its own kind")
    check(calc["mean"](1, 2.0) == 1.5 and calc.area(3, 4) == 12.0,
          "functions by name")
    check(list(calc.names()) == ["mean", "area", "inverse"], "its own function")
    check(calc.get_function_doc("names") == "The formulas' names", "its text")
    check(calc.implements_function("area")
          and not calc.implements_function("sum"), "what it has")
    check(calc.is_runnable() and calc.is_binary_serializable(), "properties")
    check(calc.inspect_source() == SOURCE, "its source")

    print("Saved and loaded")
    load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.demo.calc")
    check(load(calc.to_bytes()).mean(3, 5) == 4.0, "by bytes")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "formulas.calc")
        calc.write_to_file(path, calc.get_write_formats()[0])
        check(tvm_ffi.load_module(path).area(2, 2) == 4.0, "by a file")

    print("Modules within modules")
    more = library.compile("half(x) = x / 2")
    more.import_module(calc)
    check(more.imports[0].kind == "demo.calc", "an import")
    check(more.get_function("mean", query_imports=True)(1, 3) == 2.0,
          "a function of it")
    more.import_module(library)
    check(more.get_function("compile", True)("one() = 1").one() == 1.0,
          "a library among the imports")

    print("Owners")
    half = more["half"]
    del more
    check(half(3) == 1.5, "a function keeps its module alive")

    print("Mistakes")
    fails(AttributeError, calc.get_function, "sum")
    fails(TypeError, calc.area, 1)
    fails(TypeError, calc.area, "1", "2")
    fails(ValueError, calc.inverse, 0)
    fails(TypeError, calc.names, 1)
    fails(ValueError, library.compile, "twice(x) = x * ")
    fails(ValueError, library.compile, "twice(x) = y")
    fails(ValueError, load, b"no formula")
    fails(RuntimeError, calc.import_module, calc)
    fails(RuntimeError, calc.write_to_file, "formulas.exe", "exe")


if __name__ == "__main__":
    main()
