"""Names and defaults of parameters, in the Python package.

    python test_named.py --lib PATH --cc CC [--cxx CXX]

The library is made of named.c. Calls are shorter, or by keyword with the
package's own wrapper; tools/stub.py writes stubs that say the same; upstream's
stub generator reads the metadata as without names. Writes TAP.
"""

import argparse
import ast
import ctypes
import inspect
import pathlib
import shlex
import subprocess
import sys
import tempfile
from keyword import iskeyword

import numpy as np
import tvm_ffi
from tvm_ffi.utils.kwargs_wrapper import (make_kwargs_wrapper,
                                          make_kwargs_wrapper_from_signature)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

from tap import Tap

tap = Tap()
STUBS = '''
def apply(f: Callable[..., Any], to: Sequence[_DLPack]) -> Any: ...
def infinite(x: float = ...) -> float: ...
def keyword(from_: int, lambda_: int = 1) -> int: ...
def kinds(i: int = 7, f: float = 0.1, b: bool = True, s: str = 'it\\'s "\\\\\\\\"', none: str | None = None, t: dtype | str = 'float16', d: Device | str = 'cuda:1', o: int | None = 3, a: Sequence[int] | None = None, p: c_void_p | None = None) -> MutableSequence[Any]: ...
def no_json(n: int, data: bytes) -> int: ...
def nothing() -> None: ...
def set_up() -> None: ...
def softmax(x: _DLPack, y: _DLPack, axis: int = -1) -> None:
    "Writes the \\"axis\\".\\nThat is all."
    ...
'''.strip()
CLASS = '''
class Named(Object):
    n: int
    def __init__(self, n: int) -> None: ...
    def add(self, x: int = 1, y: int = 2) -> int: ...
    @staticmethod
    def make(n: int = 5) -> Object: ...
'''.strip()
USE = '''
import numpy as np
import ops
x = np.zeros(3)
ops.softmax(x, y=x)
ops.apply(lambda _: None, [x])
n: int = ops.Named(1).add(y=3)
'''


def check(got, expected, name):
    tap.ok(got == expected, name, f"expected {expected!r}\ngot      {got!r}")


def outcome(function, *args, **named):
    try:
        return function(*args, **named)
    except Exception as error:
        return type(error).__name__, str(error)


def wrap(function, about):
    """`named` of docs/guide.md."""
    names = [n + "_" * iskeyword(n) for n in about["arg_names"]]
    return make_kwargs_wrapper(function, names,
                               tuple(about.get("arg_defaults", ())))


def named(module, name):
    return wrap(module[name], module.get_function_metadata(name))


def plain(items):
    return [x if isinstance(x, (int, float, str, type(None))) and
            not isinstance(x, tvm_ffi.dtype) else str(x) for x in items]


def short_calls(m, x, y):
    m.softmax(x, y)
    check(y[0], -1, "a shorter call takes the default")
    m.softmax(x, y, 5)
    check(y[0], 5, "a full call does not")
    text = ("Mismatched number of arguments when calling: `softmax(0: "
            "DLTensor*, 1: DLTensor*, 2: int) -> void`. Expected 2 to 3 but "
            "got {} arguments")
    for args in ((), (x,), (x, y, 1, 2)):
        check(outcome(m.softmax, *args),
              ("TypeError", text.format(len(args))),
              f"{len(args)} arguments are an error")
    check(plain(m.kinds()), [7, 0.1, True, "it's \"\\\\\"", None, "float16",
                             "cuda:1", 3, None, True], "defaults of all kinds")
    check(plain(m.kinds(8, 1))[:3], [8, 1.0, True], "some of them")
    check(m.no_json(), 6, "bytes")
    obj = tvm_ffi.get_global_func("named.scale")
    check((obj(2), obj(2, 3)), (5.0, 6.0), "a global function")
    made = methods()["make"]()
    check((made.n, made.add(), made.add(7), made.add(7, 8)),
          (5, 512, 572, 578), "methods")


def methods():
    @tvm_ffi.register_object("named.Named")
    class Named(tvm_ffi.Object):
        pass
    info = Named.__tvm_ffi_type_info__
    check({m.name: (m.metadata["arg_names"], m.metadata["arg_defaults"])
           for m in info.methods},
          {"add": (["self", "x", "y"], [1, 2]), "make": (["n"], [5])},
          "the metadata of methods")
    add = next(m for m in info.methods if m.name == "add")
    made = Named.make(3)
    check(wrap(add.func, add.metadata)(made, y=4), 314, "a method by keyword")
    return {m.name: m.func for m in info.methods}


def keywords(m, x, y):
    softmax = named(m, "softmax")
    softmax(x, y=y)
    check(y[0], -1, "by keyword, with the default")
    softmax(axis=4, y=y, x=x)
    check(y[0], 4, "all by keyword")
    check(outcome(softmax, x, axis=1)[0], "TypeError", "y is missing")
    kinds = named(m, "kinds")
    check(plain(kinds()), plain(m.kinds()),
          "the defaults in the metadata are those of the calls")
    check(plain(kinds(s="other", t="int8"))[3:6], ["other", None, "int8"],
          "two of ten by keyword")
    check(named(m, "keyword")(from_=3, lambda_=2), 32,
          "parameters that are keywords of Python")
    check(named(m, "no_json")(data=b"1234", n=2), 8,
          "a default without JSON is required by keyword")
    check(outcome(named(m, "no_json"))[0], "TypeError", "as it says")
    check(named(m, "infinite")(), float("inf"), "an infinite default")
    about = tvm_ffi.get_global_func_metadata("named.scale")
    scale = wrap(tvm_ffi.get_global_func("named.scale"), about)
    check((scale(by=3, x=2), scale(x=2)), (6.0, 5.0), "a global function")
    check(set(tvm_ffi.get_global_func_metadata("ffi.FunctionRemoveGlobal")),
          {"type_schema"}, "built-in functions have no names")


def run_stub(*args):
    done = subprocess.run([sys.executable, str(ROOT / "tools/stub.py"), *args],
                          capture_output=True, text=True, timeout=120)
    return done.stdout if done.returncode == 0 else done.stderr


def hostile_stubs():
    """Names that are no names in Python, or that stand twice."""
    sys.path.insert(0, str(ROOT / "tools"))
    from stub import Stub

    class Field:
        frozen, metadata, c_init = False, {}, True

        def __init__(self, name, kw_only, default=False):
            self.name = name
            self.c_kw_only, self.c_has_default = kw_only, default

    class Info:
        methods, type_key, parent_type_info = (), "a.Hostile", None

    bad = ["from", "self", "x\nimport os", "1", "a b", "x", "x", "x)", "", '"']
    made = Stub()
    any_type = '{"type":"Any"}'
    made.add("f", {"arg_names": bad, "type_schema": (
        '{"type":"ffi.Function","named_args":{"return":[%s],"params":[%s]}}'
        % (any_type, ",".join([any_type] * len(bad))))}, doc="\"\"\"\nx\\")
    info = Info()
    info.parent_type_info = Info()
    info.parent_type_info.type_key = "ffi.Object"
    info.parent_type_info.fields = ()
    info.fields = [Field(n, kw, default) for kw in (False, True)
                   for default in (False, True) for n in bad]
    made.classes = {"a.Hostile": "Hostile"}
    made.add_class(info)
    text = made.text()
    try:
        kinds = [type(n).__name__ for n in ast.walk(ast.parse(text))
                 if isinstance(n, ast.stmt)]
    except SyntaxError as error:
        kinds = [str(error)]
    tap.ok(set(kinds) <= {"ImportFrom", "FunctionDef", "ClassDef", "AnnAssign",
                          "Expr"} and kinds.count("FunctionDef") == 2,
           "a stub of names that Python does not accept", f"{kinds}\n{text}")


def stubs(m, lib, x, y):
    text = run_stub(str(lib))
    check(text[text.find("\ndef "):].strip(), STUBS, "stub.py")
    space = {}
    exec(compile("from __future__ import annotations\n" + text, "stub", "exec"),
         space)
    for name in ("softmax", "nothing", "kinds"):
        signature = inspect.signature(space[name])
        wrapped = make_kwargs_wrapper_from_signature(
            m[name], signature, prototype=space[name])
        check(inspect.signature(wrapped), signature,
              f"{name} wrapped by its stub has the stub's signature")
    about = m.get_function_metadata("softmax")
    function = next(n for n in ast.parse(text).body
                    if getattr(n, "name", "") == "softmax")
    check(([a.arg for a in function.args.args],
           [ast.literal_eval(d) for d in function.args.defaults]),
          (about["arg_names"], about["arg_defaults"]), "names and defaults")
    typed = run_stub(str(lib), "--types", "set_up")
    check(typed[typed.find("class Named"):].strip(), CLASS + "\n" + STUBS,
          "stub.py, with classes")
    return typed


def types_of(stub):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "ops.pyi"
        path.write_text(stub)
        use = pathlib.Path(folder) / "use.py"
        use.write_text(USE)
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", str(path), str(use)],
            capture_output=True, text=True)
        tap.ok(done.returncode == 0, "mypy reads it",
               done.stdout + done.stderr)


def upstreams_stubs():
    """Upstream's generator gives what it gives for functions without names."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "api.py"
        path.write_text("# tvm-ffi-stubgen(begin): global/named\n"
                        "# tvm-ffi-stubgen(end)\n"
                        "# tvm-ffi-stubgen(begin): object/named.Named\n"
                        "# tvm-ffi-stubgen(end)\n")
        from tvm_ffi.stub import cli
        argv, sys.argv = sys.argv, ["tvm-ffi-stubgen", folder]
        try:
            code = cli.__main__()
        finally:
            sys.argv = argv
        text = path.read_text()
    tap.ok(not code and "def scale(_0: float, _1: float, /) -> float: ..."
           in text, "tvm-ffi-stubgen, functions", text)
    tap.ok("def add(self, _1: int, _2: int, /) -> int: ..." in text,
           "tvm-ffi-stubgen, methods", text)


def order(compiler, suffix):
    """A parameter without a default after one with it is a compile error."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / ("wrong" + suffix)
        for params, wrong in (("(int64, x, 1), (int64, y)", True),
                              ("(int64, w, 1), (int64, x), (int64, y, 1)", True),
                              ("(int64, x), (int64, y, 1)", False)):
            source.write_text(
                f'#include "tvmffi.h"\nTVMFFI_FUNC(f, none, {params}) {{ '
                '(void)x, (void)y; TVMFFI_RETURN(); }\n')
            done = subprocess.run(
                shlex.split(compiler) + ["-I", str(ROOT), "-c", str(source),
                                         "-o", str(source) + ".o"],
                capture_output=True, text=True)
            text = "a_parameter_after_one_with_a_default_needs_a_default_too"
            tap.ok((text in done.stderr) == wrong == (done.returncode != 0),
                   f"{compiler}: {params}", done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib", required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx")
    parser.add_argument("--mypy", action="store_true")
    args = parser.parse_args()
    lib = pathlib.Path(args.lib).resolve()
    m = tvm_ffi.load_module(lib)
    m.set_up()
    x, y = np.zeros(3, "float32"), np.zeros(3, "float32")
    short_calls(m, x, y)
    keywords(m, x, y)
    hostile_stubs()
    stub = stubs(m, lib, x, y)
    if args.mypy:
        types_of(stub)
    upstreams_stubs()
    order(args.cc, ".c")
    if args.cxx:
        order(args.cxx, ".cpp")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
