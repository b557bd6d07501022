"""Uses modules of TVMFFI_MODULE in Python.

    python test_module_kinds.py --lib PATH

The path is the shared library made of test_module_kinds.c. Writes TAP.
"""

import argparse
import gc
import os
import pathlib
import sys
import threading

# Without this, tvm_ffi may compile an extension for older versions of PyTorch.
os.environ.setdefault("TVM_FFI_DISABLE_TORCH_C_DLPACK", "1")

import tvm_ffi

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

from tap import Tap

tap = Tap()


def check_equal(got, expected, name):
    tap.ok(got == expected, name, f"expected {expected!r}\ngot      {got!r}")


def outcome(function, *args):
    """Returns the result, or the text of the exception with its type."""
    try:
        return function(*args)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


SIGNATURE = "`test.number.add(0: int, 1: Array<int>) -> int`"


def check_functions(lib):
    m = lib.make_number(40, None)
    check_equal(m.kind, "test.number", "the kind")
    check_equal(type(m).__name__, "Module", "the class")
    check_equal(m.get_property_mask(), 7, "the property mask")
    check_equal(m["add"](2, []), 42, "a function by item")
    check_equal(m.add(2, [1]), 43, "by attribute, with an argument converted")
    check_equal(m.two(), 2, "a static one")
    check_equal(outcome(m.add, "x", []),
                "TypeError: Mismatched type on argument #0 when calling: "
                f"{SIGNATURE}. Expected `int` but got `ffi.SmallStr`",
                "a wrong type")
    check_equal(outcome(m.add, 1),
                "TypeError: Mismatched number of arguments when calling: "
                f"{SIGNATURE}. Expected 2 but got 1 arguments", "a wrong count")
    check_equal(outcome(m.add, *range(30)),
                "TypeError: Mismatched number of arguments when calling: "
                f"{SIGNATURE}. Expected 2 but got 30 arguments", "too many")
    check_equal(outcome(m.get_function, "none"),
                "AttributeError: Module has no function 'none'", "no function")
    check_equal([m.implements_function(n) for n in ("add", "none")],
                [True, False], "what it implements")
    check_equal([m.get_function_doc(n) for n in ("add", "two", "none")],
                ["Adds", None, None], "docs")
    check_equal(m.get_function_metadata("two"), {
        "type_schema": '{"type":"ffi.Function","named_args":'
                       '{"return":[{"type":"int"}],"params":[]}}',
        "arg_names": []},
                "metadata, without the module")
    check_equal(m.get_function_metadata("none"), None, "no metadata")
    check_equal(m.inspect_source("c"), "c", "the source")
    check_equal(list(m.get_write_formats()), ["number"], "the formats")
    check_equal(outcome(m.write_to_file, "a"), "ValueError: a as number",
                "a file in the first format")
    check_equal(outcome(m.write_to_file, "a", "exe"),
                "RuntimeError: Module[test.number] does not support "
                "WriteToFile in the format exe", "a format it lacks")
    check_equal(lib.number_of(m), 40, "as a parameter")
    check_equal(outcome(lib.number_of, lib),
                "TypeError: Mismatched type on argument #0 when calling: "
                "`number_of(0: test.number) -> int`. Expected `test.number` "
                "but got `ffi.Module`", "a module of another kind")


def check_errors(lib):
    """Errors of methods that the library calls."""
    bad = lib.make_number(-1, None)
    check_equal(outcome(bad.inspect_source), "ValueError: no source", "source")
    check_equal(outcome(bad.to_bytes), "ValueError: less than 0", "bytes")

    def find(name):
        if name == "raise":
            raise ValueError("by Python")
        return {"f": tvm_ffi.convert(lambda x: x + 1), "number": 3}.get(name)

    m = lib.make_number(1, find)
    check_equal(m.f(2), 3, "a function that is looked up")
    check_equal(m.implements_function("f"), True, "is implemented")
    check_equal(outcome(m.get_function, "raise"), "ValueError: by Python",
                "an error of the look-up")
    check_equal(outcome(m.implements_function, "raise"),
                "ValueError: by Python", "and of another search")
    check_equal(outcome(m.get_function, "number"),
                "TypeError: test.number.find returned `int`", "no function")


def check_loaders(lib):
    lib.register_kind()
    lib.register_kind()
    load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.test.number")
    m = lib.make_number(7, None)
    check_equal(lib.number_of(load(m.to_bytes())), 7, "saved and loaded")
    check_equal(outcome(load, b"123"), "ValueError: 3 bytes", "malformed bytes")
    check_equal(lib.number_of(tvm_ffi.load_module("a.number")), 8, "a file")
    root = lib.embedded()
    check_equal([root.kind, root.imports[0].kind], ["library", "test.number"],
                "embedded in a library")
    check_equal(root.get_function("add", True)(1, []), 34, "which has it")
    name = "ffi.Module.load_from_bytes.test.taken"
    tvm_ffi.register_global_func(name, lambda data: None)
    check_equal(outcome(lib.register_taken),
                "RuntimeError: Module kind `test.taken.load`: the function "
                f"`{name}` is already registered", "a name that is taken")


def check_imports(lib):
    tvm_ffi.register_global_func("test.negative", lambda x: -x)
    a, b = lib.make_number(1, None), lib.make_number(2, None)
    a.import_module(b)
    a.import_module(lib)
    check_equal([x.kind for x in a.imports], ["test.number", "library"],
                "imports")
    check_equal(a.get_function("alive", True)() > 0, True, "are searched")
    cycle = "RuntimeError: Cyclic dependency detected during import"
    check_equal(outcome(b.import_module, a), cycle, "a cycle")
    check_equal(outcome(a.import_module, a), cycle, "a module in itself")
    check_equal(outcome(lib.import_module, a), cycle, "a cycle by a library")
    ask = a.get_function("ask")
    check_equal([ask("test.negative"), ask("double_of")], [-1, 2],
                "are asked by a module, and so is the registry")
    a.clear_imports()
    check_equal(len(a.imports), 0, "cleared")
    check_equal(ask("double_of"), 2, "a function stays found")
    check_equal(outcome(ask, "nowhere"),
                "RuntimeError: Cannot find function nowhere in the imported "
                "modules or global registry.", "an unknown name")
    lib.import_module(a)
    check_equal(lib.get_function("add", True)(1, []), 2, "in a library")
    lib.clear_imports()


def check_owners(lib):
    gc.collect()
    before = lib.alive()
    m = lib.make_number(5, None)
    functions = [m.get_function(n) for n in ("add", "two")]
    del m
    gc.collect()
    check_equal(lib.alive() - before, 1, "functions keep their module")
    check_equal([functions[0](1, []), functions[1]()], [6, 2], "and work")
    functions.clear()
    gc.collect()
    check_equal(lib.alive(), before, "and release it")
    m = lib.make_number(5, None)
    wrong = []

    def work():
        for i in range(300):
            if m.get_function("add")(i, []) != 5 + i:
                wrong.append(i)
            if not outcome(m.write_to_file, "a").startswith("ValueError"):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check_equal(wrong, [], "threads")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--lib", required=True)
    lib = tvm_ffi.load_module(os.path.abspath(p.parse_args().lib))
    for check in (check_functions, check_errors, check_loaders, check_imports,
                  check_owners):
        check(lib)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
