"""Compares typed functions in C with the same by upstream's C++ headers.

    python test_typed.py --lib PATH [--upstream PATH] --cc CC [--cxx CXX]

The libraries are made of typed.c and typed_upstream.cpp. Each function is
called with each value; results, errors' texts and schemas are to be the same.
A word that is no type is to be named by the compilers. Writes TAP.
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import traceback

import numpy as np
import tvm_ffi

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

from tap import Tap

NAMES = """id_array id_list id_map id_dict id_shape id_error id_module
    id_array_int id_array_float id_array_str id_array_bool id_list_int
    id_map_str_int id_dict_str_float id_map_any_int id_array_map id_map_array
    id_array_opt id_array_shape id_array_any opt_int opt_float opt_bool opt_str
    opt_bytes opt_dtype opt_device opt_shape opt_func opt_array opt_array_int
    opt_map opt_object opt_tensor_object opt_tensor res_tensor""".split()

tap = Tap()


def values(module):
    return [
        None, 1, True, 2.5, "x", "a longer text", b"y",
        b"a longer run of bytes", tvm_ffi.dtype("int8"), "float32", "flat",
        tvm_ffi.device("cpu", 0), "cpu", [], [1], [1, 2, 3], [1, True],
        [1, 2.5], ["a"], ["a", 1], [None], [None, 1], [[1, 2], [3]],
        [[1], ["a"]], (1, 2), {}, {"a": 1}, {"a": True}, {"a": 2.5},
        {"a": "b"}, {1: 1}, {"a": 1, 2: 3}, {"a": [1, 2]}, {"a": [1, "b"]},
        {"a": [1, True]}, [{"a": 1}], [{"a": 1}, {"a": "b"}], [{"a": True}],
        [{1: 1}], tvm_ffi.Shape((1, 2)), [tvm_ffi.Shape((1, 2)), [3]],
        tvm_ffi.Array([1, 2]), tvm_ffi.List([1, 2]), tvm_ffi.List([1, "b"]),
        tvm_ffi.List([1, False]), tvm_ffi.Map({"a": 1}),
        tvm_ffi.Dict({"a": 1}), tvm_ffi.Dict({"a": "b"}), tvm_ffi.Dict({}),
        {i: i for i in range(20)}, {str(i): i for i in range(20)},
        {str(i): (i if i != 17 else True) for i in range(20)}, lambda x: x,
        tvm_ffi.core.Error("ValueError", "m", ""), module, np.zeros(3),
        tvm_ffi.from_dlpack(np.zeros(3)), object()]


def plain(x):
    """Returns a value that can be compared, with the types in it."""
    kind = type(x).__name__
    if isinstance(x, (tvm_ffi.Array, tvm_ffi.List)):
        return kind, [plain(i) for i in x]
    if isinstance(x, (tvm_ffi.Map, tvm_ffi.Dict)):
        return kind, [(plain(k), plain(v)) for k, v in x.items()]
    if isinstance(x, tvm_ffi.Shape):
        return kind, tuple(x)
    if isinstance(x, tvm_ffi.core.CObject):
        return kind, None
    return kind, str(x)


def outcome(function, *args):
    try:
        return plain(function(*args))
    except Exception as error:
        return type(error).__name__, str(error)


def is_same(function, value):
    try:
        return function(value).same_as(value)
    except Exception as error:
        return type(error).__name__


def compare(ours, upstream):
    for name in NAMES:
        f, g = getattr(ours, name), getattr(upstream, name)
        different = []
        for value in values(ours):
            got, expected = outcome(f, value), outcome(g, value)
            if got != expected:
                different.append(f"{value!r}\n  {got}\n  {expected}")
            if isinstance(value, tvm_ffi.core.CObject) and \
                    is_same(f, value) != is_same(g, value):
                different.append(f"{value!r}: a copy, or not")
        for args in ((), (1, 2)):
            if outcome(f, *args) != outcome(g, *args):
                different.append(f"{args!r}")
        about = ours.get_function_metadata(name)
        if about["type_schema"] != \
                upstream.get_function_metadata(name)["type_schema"] or \
                about["arg_names"] != ["x"]:
            different.append(str(about))
        tap.ok(not different, f"{name} is as in C++", "\n".join(different))
    different = []
    for value in values(ours):
        for args in ((value, {"a": 1}, None, 1), ([1], value, None, 1),
                     ([1], {}, value, 1), (["a"], {1: 1}, "s", value)):
            got = outcome(ours.several, *args)
            expected = outcome(upstream.several, *args)
            if got != expected:
                different.append(f"{args!r}\n  {got}\n  {expected}")
    tap.ok(not different, "several containers at once", "\n".join(different))


def check(got, expected, name):
    tap.ok(got == expected, name, f"expected {expected!r}\ngot      {got!r}")


def closures(k):
    check(k.get_function_doc("opt_int"), "Gives what it is given.",
          "a docstring")
    one, two = k.make_sum(10), k.make_sum(100)
    check([one(1), two(1), one(2)], [11, 101, 13], "each closure has its state")
    check(outcome(one, -1), ("IndexError", "-1"), "a closure raises")
    check(outcome(one, "x")[1],
          "Mismatched type on argument #0 when calling: `sum(0: int) -> int`. "
          "Expected `int` but got `ffi.SmallStr`", "and checks its arguments")
    check(list(map(one, [1, 2])), [14, 16], "a closure as Python's callback")
    again = k.make_again(3)
    error = None
    try:
        again(lambda f, g: g(f, g), again)
    except KeyError as e:
        error = e
    check(error is not None and error.args[0],
          "level 3: level 2: level 1: the innermost call",
          "an error of a callback in a callback arrives whole")

    def fails():
        raise IndexError("deep inside")

    error = None
    try:
        k.from_cause(fails)
    except ValueError as e:
        error = e
    check(str(error), "it failed", "an error with a cause")
    check(outcome(k.from_cause, lambda: k.from_cause(fails)),
          ("ValueError", "it failed"), "a cause with a cause")


def causes(k):
    """The guide's lines of Python give an error its causes."""
    guide = (ROOT / "docs/guide.md").read_text()
    names = {"tvm_ffi": tvm_ffi}
    exec(re.search(r"def with_causes.*?return error\n", guide, re.S)[0], names)
    with_causes = names["with_causes"]

    def fails():
        raise IndexError("deep inside")

    def chained(function, *args):
        try:
            function(*args)
        except Exception as error:
            return with_causes(error)

    error = chained(k.from_cause, lambda: k.from_cause(fails))
    chain = [error, error.__cause__, error.__cause__.__cause__]
    check([(type(e), str(e)) for e in chain],
          [(ValueError, "it failed"), (ValueError, "it failed"),
           (IndexError, "deep inside")], "causes in Python")
    check(chain[-1].__cause__, None, "the first cause has none")
    text = "".join(traceback.format_exception(error))
    check([text.count("The above exception was the direct cause"),
           text.index("in fails") < text.index("in from_cause")], [2, True],
          "a traceback with causes")
    check(chained(k.item_77, [1]).__cause__, None, "an error without a cause")
    check(chained(fails).__cause__, None, "an error of Python")


def own_frames(k):
    """A traceback ends with the user's function, not with the header's."""
    for name, call in {"an item": lambda: k.item_77([1]),
                       "an argument": lambda: k.item_77(1),
                       "a count": lambda: k.item_77(1, 2)}.items():
        try:
            call()
        except Exception as error:
            trace = error.__tvm_ffi_error__.backtrace
        first = trace.split("\n")[0]
        tap.ok("tvmffi_i_" not in first, f"no function of the header: {name}",
               trace)


def wrong_word(compiler, suffix):
    """A word that is no type is named in the first error."""
    with tempfile.TemporaryDirectory() as folder:
        for word, line in (
                ("int46", "TVMFFI_FUNC(f, none, (int46, x)) { (void)x; "
                          "TVMFFI_RETURN(); }"),
                ("strng", "TVMFFI_FUNC(f, strng) { TVMFFI_RETURN(); }"),
                ("flot", "TVMFFI_FUNC(f, none, (optional(flot), x)) { "
                         "TVMFFI_RETURN(); }"),
                ("flot", "TVMFFI_FUNC(f, none, (array(flot), x)) { "
                         "TVMFFI_RETURN(); }")):
            source = pathlib.Path(folder) / ("wrong" + suffix)
            source.write_text(f'#include "tvmffi.h"\n{line}\n')
            run = subprocess.run(
                shlex.split(compiler) + ["-I", str(ROOT), "-c", str(source),
                                         "-o", str(source) + ".o"],
                capture_output=True, text=True)
            first = next((text for text in run.stderr.splitlines()
                          if "error" in text), "")
            tap.ok(run.returncode and word in first,
                   f"{compiler} names the wrong word {word}", run.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib", required=True)
    parser.add_argument("--upstream")
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx")
    args = parser.parse_args()
    ours = tvm_ffi.load_module(pathlib.Path(args.lib).resolve())
    closures(ours)
    causes(ours)
    own_frames(ours)
    if args.upstream:
        compare(ours, tvm_ffi.load_module(
            pathlib.Path(args.upstream).resolve()))
    else:
        tap.skip("the same functions in C++", "no C++ compiler")
    wrong_word(args.cc, ".c")
    if args.cxx:
        wrong_word(args.cxx, ".cpp")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
