"""Runs C kernels from Python and compares them with NumPy and with upstream.

    python test_kernels.py --lib PATH [--require-torch]

PATH is the shared library made of test_kernels.c. Writes TAP.
"""

import argparse
import ctypes
import gc
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import threading
import weakref
from ctypes import (CFUNCTYPE, POINTER, c_char_p, c_int, c_int32, c_int64,
                    c_uint32, c_void_p, py_object)

# Without this, tvm_ffi may compile an extension for older versions of PyTorch.
os.environ.setdefault("TVM_FFI_DISABLE_TORCH_C_DLPACK", "1")

import numpy as np
import tvm_ffi

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

from tap import Tap

SOURCE = ROOT / "examples" / "kernel" / "kernels.c"
CALLS = 100_000
# NumPy 2.1 and newer export arrays as DLPack 1.
NUMPY_HAS_DLPACK_1 = np.lib.NumpyVersion(np.__version__) >= "2.1.0"

tap = Tap()


def raised(function, *args):
    """Returns the exception that a call raises; None if it raises nothing."""
    try:
        function(*args)
    except Exception as error:
        return error
    return None


def check_equal(got, expected, name):
    tap.ok(got == expected, name, f"expected {expected!r}\ngot      {got!r}")


def check_raises(kind, message, function, *args, name=None):
    error = raised(function, *args)
    got = (type(error).__name__, str(error))
    check_equal(got, (kind.__name__, message), name or f"{message}")


def frames(error):
    """Returns (file, line, function) of a traceback, the outermost first."""
    result, tb = [], error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        result.append((code.co_filename, tb.tb_lineno, code.co_name))
        tb = tb.tb_next
    return result


def line_of(text):
    """Returns the number of the line of kernels.c that has the text."""
    lines = SOURCE.read_text().splitlines()
    found = [i for i, line in enumerate(lines, 1) if text in line]
    assert len(found) == 1, f"{text!r} is on {len(found)} lines"
    return found[0]


# ---- results -----------------------------------------------------------------


def test_axpy(k):
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 3, 7, 8, 100, 1023, 65537):
        x = rng.standard_normal(n).astype("float32")
        y = rng.standard_normal(n).astype("float32")
        a = float(rng.standard_normal())
        expected = y + np.float32(a) * x
        k.axpy(a, x, y)
        tap.ok(np.allclose(y, expected, rtol=1e-6), f"axpy of {n} elements")
    x, y = np.arange(10, dtype="float32"), np.zeros(10, dtype="float32")
    k.axpy(3, x[4:7], y[1:4])
    check_equal(y.tolist(), [0, 12, 15, 18, 0, 0, 0, 0, 0, 0],
                "axpy touches its slice only, and takes an int for a")
    k.axpy(True, x, x)
    check_equal(x.tolist(), (2 * np.arange(10)).tolist(),
                "axpy on the same array twice, and a bool for a")


def test_sum(k):
    base = np.arange(7 * 11, dtype="float32").reshape(7, 11)
    views = {
        "x": base, "x.T": base.T,
        "x[::2]": base[::2], "x[:, ::3]": base[:, ::3],
        "x[::-1]": base[::-1], "x[::-2, ::-3]": base[::-2, ::-3],
        "x[2:5, 3:4]": base[2:5, 3:4], "x[0:0]": base[0:0],
        "x[:, 0:0]": base[:, 0:0], "one column": base[:, 4:5].T,
        "broadcast": np.broadcast_to(base[:1], (5, 11)).copy(),
        "Fortran order": np.asfortranarray(base),
    }
    for name, view in views.items():
        check_equal(k.sum(view), float(view.sum()), f"sum of {name}")


def test_copy(k):
    dtypes = ["int8", "int16", "int32", "int64", "uint8", "uint16",
              "uint32", "uint64", "float16", "float32", "float64", "complex64",
              "complex128"]
    if NUMPY_HAS_DLPACK_1:
        dtypes.append("bool")
    else:
        tap.skip("copy of bool", "NumPy before 2.1 does not export it")
    shapes = [(), (0,), (1,), (5,), (3, 0, 2), (2, 3, 4), (1, 2, 1, 3, 1)]
    rng = np.random.default_rng(2)
    for dtype in dtypes:
        same = True
        for shape in shapes:
            source = np.asarray(rng.random(shape) * 100).astype(dtype)
            target = np.zeros_like(source)
            k.copy(source, target)
            same = same and np.array_equal(source, target)
        tap.ok(same, f"copy of {dtype} in {len(shapes)} shapes")


def test_add(k):
    x = np.arange(1000, dtype="float32")
    for n in (0, 1, 1000):
        total = k.add(x[:n], x[:n])
        array = np.from_dlpack(total)
        tap.ok(isinstance(total, tvm_ffi.Tensor) and
               np.array_equal(array, 2 * x[:n]) and
               (n == 0 or array.ctypes.data % 64 == 0),
               f"add makes {n} elements without an allocator")
    check_equal(k.describe(k.add(x, x)), "float32 1000/1",
                "what add made is a tensor for the next call")


def test_new_tensor(k):
    for dtype, shape, text in (
            ("float32", (2, 3), "float32 2/3 3/1"), ("int4", (3,), "int4 3/1"),
            ("bfloat16", (), "bfloat16"), ("bool", (0, 4), "bool 0/4 4/1"),
            ("float32x4", (1, 2, 1), "float32x4 1/2 2/1 1/1"),
            ("float8_e4m3fn", (5,), "float8_e4m3fn 5/1")):
        tensor = k.new_tensor(dtype, "cpu", shape)
        check_equal((k.describe(tensor), str(tensor.dtype), tensor.shape),
                    (text, dtype, shape), f"a new tensor of {dtype} {shape}")
    for kind, message, *args in (
            (ValueError, "unknown dtype `flot32`", "flot32", "cpu", (2,)),
            (ValueError, "unknown device `gpu`", "float32", "gpu", (2,)),
            (ValueError, "dimension 1 of a new tensor is -1", "int8", "cpu",
             (2, -1)),
            (ValueError, "the shape [2305843009213693952, 8] of a new tensor "
             "is too large", "int8", "cpu", (1 << 61, 8)),
            (MemoryError, "out of memory for a tensor of the shape "
             "[1125899906842624]", "int8", "cpu", (1 << 50,)),
            (RuntimeError, "a new tensor on cuda:1 needs a tensor allocator of "
             "the environment, and none is set", "int8", "cuda:1", (2,))):
        check_raises(kind, message, k.new_tensor, *args)


def mapped(path):
    """Tells whether a file is loaded; None where the system does not say."""
    maps = pathlib.Path("/proc/self/maps")
    return str(path) in maps.read_text() if maps.exists() else None


def test_unloaded(lib):
    """A tensor outlives the library that made it: its deleter is libc's."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder).resolve() / "unloaded.so"
        shutil.copy(lib, copy)
        k = tvm_ffi.load_module(copy, keep_module_alive=False)
        x = np.arange(5, dtype="float32")
        double = k.add(x, x)
        tensor, array = k.add(double, x), np.from_dlpack(double)
        loaded = mapped(copy)
        del k
        gc.collect()
        if loaded is None:
            tap.skip("an unloaded library", "this system has no /proc")
            return
        check_equal((loaded, mapped(copy)), (True, False),
                    "a library is unloaded while its tensors live")
        tap.ok(np.array_equal(array, 2 * x) and
               np.array_equal(np.from_dlpack(tensor), 3 * x),
               "they are read after that")
        del double, array, tensor
        gc.collect()
        tap.ok(True, "and deleted")


def test_tensor_arguments(k):
    x = np.zeros((2, 3, 4), dtype="int16")
    check_equal(k.describe(x), "int16 2/12 3/4 4/1", "a NumPy array")
    check_equal(k.describe(x.transpose(2, 0, 1)), "int16 4/1 2/12 3/4",
                "a transposed one")
    check_equal(k.describe(np.zeros((), "int8")), "int8", "one without shape")
    check_equal(k.describe(tvm_ffi.from_dlpack(x)), "int16 2/12 3/4 4/1",
                "a tvm_ffi.Tensor")


def test_values(k):
    for x in ("", "a", "seven..", "eight...", "x" * 1000, "\u00e4\u20ac"):
        check_equal(k.schema_id_string(x), x, f"a str of {len(x)}")
    for x in (b"", b"a", b"a\0b", b"seven..", b"eight...", b"\xff" * 1000):
        check_equal(k.schema_id_bytes(x), x, f"bytes of {len(x)}")
    for x in ("one three two", "", "   ", "word", "a bb cc", "trailing "):
        best = max(x.split(" "), key=len)
        check_equal(k.longest_word(x), best, f"longest_word of {x!r}")
    for x in (0, 1, -1, 2**63 - 1, -2**63):
        check_equal(k.schema_id_int(x), x, f"the int {x}")
    for x in (0.0, -0.0, 1e308, float("inf"), 5e-324):
        check_equal(repr(k.schema_id_float(x)), repr(x), f"the float {x}")
    tap.ok(np.isnan(k.schema_id_float(float("nan"))), "the float nan")
    check_equal(k.id_float32(0.1), float(np.float32(0.1)), "a float32")
    tap.ok(k.schema_id_bool(True) is True and k.schema_id_bool(False) is False,
           "bools")
    tap.ok(k.schema_id_any(None) is None, "None")
    tap.ok(k.id_ptr(None) is None or not k.id_ptr(None), "a null pointer")
    dtype = tvm_ffi.dtype("float16x4")
    check_equal(k.schema_id_dtype(dtype), dtype, "a dtype")
    device = tvm_ffi.device("cuda:3")
    check_equal(k.schema_id_device(device), device, "a device")
    check_equal(k.schema_id_any(2**70), 2**70, "an int beyond 64 bits, as any")
    check_equal(k.sixteen(*range(16)),
                sum(i * (i + 1) for i in range(16)), "16 parameters")
    check_equal(k.schema_no_args_no_return(), None, "no parameter, no result")


# ---- errors ------------------------------------------------------------------


def outcome(function, args):
    """Returns what a call gives: a repr, or class and message."""
    try:
        result = function(*args)
    except Exception as error:
        return type(error).__name__, str(error).replace("`testing.", "`")
    return "result", repr(result)


def test_against_upstream(k):
    """Every type's function, on every kind of value, as upstream's does it."""
    values = [(), (1, 2), (None,), (True,), (1,), (2.5,), ("s",), (b"b",),
              ("a longer string",), (b"a longer run of bytes",),
              (tvm_ffi.device("cpu"),), (tvm_ffi.dtype("int8"),),
              (lambda x: x,), ([1],), ({"a": 1},), (np.zeros(2),), (2**64,),
              (tvm_ffi.Shape((1, 2)),), ("cuda:1",), ("float16x2",),
              ("float99999",), ("cuda:x",), ("no device",), ("",)]
    names = ["schema_id_int", "schema_id_float", "schema_id_bool",
             "schema_id_string", "schema_id_bytes", "schema_id_dtype",
             "schema_id_device", "schema_id_any", "schema_id_object",
             "schema_id_func", "schema_no_args", "schema_no_return",
             "schema_no_args_no_return"]
    # On purpose: a C body never gets a NULL object or function, and bytes do
    # not name a dtype.
    stricter = {("schema_id_object", "(None,)"), ("schema_id_func", "(None,)"),
                ("schema_id_dtype", "(b'b',)"),
                ("schema_id_dtype", "(b'a longer run of bytes',)")}
    for name in names:
        ours = getattr(k, name)
        upstream = tvm_ffi.get_global_func("testing." + name)
        wrong, compared = [], 0
        for args in values:
            if (name, repr(args)) in stricter:
                continue
            # A check's C++ expression, as it stands in upstream's texts.
            expected = tuple(
                re.sub(r"Check failed: .*? is false: ", "", part)
                for part in outcome(upstream, args))
            got = outcome(ours, args)
            compared += 1
            if got != expected:
                wrong.append(f"{args!r}\n  expected {expected}\n"
                             f"  got      {got}")
        tap.ok(not wrong and compared > 20,
               f"{name} is as upstream on {compared} values", "\n".join(wrong))
    for name, word in (("object", "Object"), ("func", "Function")):
        check_raises(TypeError, "Mismatched type on argument #0 when calling: "
                     f"`schema_id_{name}(0: ffi.{word}) -> ffi.{word}`. "
                     f"Expected `ffi.{word}` but got `None`",
                     getattr(k, f"schema_id_{name}"), None)


def test_argument_errors(k):
    x = np.zeros(3, dtype="float32")
    signature = "`axpy(0: float, 1: DLTensor*, 2: DLTensor*) -> void`"
    count = f"Mismatched number of arguments when calling: {signature}. "
    for args in ((), (1.0,), (1.0, x), (1.0, x, x, x)):
        check_raises(TypeError, count + f"Expected 3 but got {len(args)} "
                     "arguments", k.axpy, *args)
    kind = f"when calling: {signature}. Expected"
    check_raises(TypeError, f"Mismatched type on argument #0 {kind} `float` "
                 "but got `ffi.SmallStr`", k.axpy, "x", x, x)
    check_raises(TypeError, f"Mismatched type on argument #1 {kind} "
                 "`DLTensor*` but got `int`", k.axpy, 1.0, 1, x)
    check_raises(TypeError, f"Mismatched type on argument #2 {kind} "
                 "`DLTensor*` but got `None`", k.axpy, 1.0, x, None)
    error = raised(k.sixteen, *range(15), "x")
    tap.ok("argument #15 when" in str(error), "the last of 16 is checked",
           error)


def test_ranges(k):
    for bits in (8, 16, 32):
        for name, low, high in ((f"int{bits}", -2**(bits - 1), 2**(bits - 1)),
                                (f"uint{bits}", 0, 2**bits)):
            function = getattr(k, "id_" + name)
            tap.ok(function(low) == low and function(high - 1) == high - 1,
                   f"the ends of {name}")
            for value in (low - 1, high, 2**62, -2**62):
                error = raised(function, value)
                check_equal(str(error), "Value out of range in argument #0 "
                            f"when calling: `id_{name}(0: int) -> int`. "
                            f"Expected `{name}` but got `{value}`",
                            f"{value} is no {name}")
    tap.ok(k.id_uint64(2**63 - 1) == 2**63 - 1, "the end of uint64 in an int64")
    tap.ok("out of range" in str(raised(k.id_uint64, -1)), "-1 is no uint64")


def test_kernel_errors(k):
    f32 = np.zeros(4, dtype="float32")
    for kind, text, function, *arguments in (
            (TypeError, "axpy: argument `x`: dtype is float64, expected float32",
             k.axpy, 1.0, f32.astype("float64"), f32),
            (TypeError, "axpy: argument `y`: dtype is int8, expected float32",
             k.axpy, 1.0, f32, f32.astype("int8")),
            (ValueError, "axpy: argument `x`: shape is [2, 2], expected [n]",
             k.axpy, 1.0, f32.reshape(2, 2), f32),
            (ValueError,
             "sum: argument `x`: shape is [4], expected [rows, columns]",
             k.sum, f32),
            (ValueError, "axpy: argument `y`: is not contiguous",
             k.axpy, 1.0, f32[:2], f32[::2]),
            (ValueError, "axpy: argument `y`: dimension n is 3, but 4 in x",
             k.axpy, 1.0, f32, f32[:3]),
            (ValueError, "copy: argument `to`: dimension 1 of *shape is 4, "
             "but 2 in from",
             k.copy, np.zeros((1, 2)), np.zeros((1, 4))),
            (ValueError, "copy: argument `to`: *shape has 2 dimensions, "
             "but 1 in from",
             k.copy, np.zeros(2), np.zeros((1, 2))),
            (TypeError, "copy: argument `to`: dtype is int32, but float32 in "
             "from",
             k.copy, f32, f32.astype("int32"))):
        check_raises(kind, text, function, *arguments)


def test_raised(k):
    raise_ = k.get_function("raise")
    for kind in (ValueError, TypeError, KeyError, IndexError, AttributeError,
                 AssertionError, MemoryError, RuntimeError):
        for function in (raise_, k.raise_plain):
            error = raised(function, kind.__name__, "a message")
            tap.ok(type(error) is kind and error.args == ("a message",),
                   f"{kind.__name__} raised in C", repr(error))
    error = raised(raise_, "NoSuchError", "a message")
    tap.ok(type(error) is RuntimeError, "an unknown kind is a RuntimeError")
    error = raised(k.div, 7, 0)
    tap.ok(type(error) is RuntimeError and str(error) == "7 / 0",
           "so is ZeroDivisionError until it is registered", repr(error))
    tvm_ffi.register_error("ZeroDivisionError", ZeroDivisionError)
    check_raises(ZeroDivisionError, "7 / 0", k.div, 7, 0)
    check_equal(str(raised(raise_, "ValueError", "")), "", "an empty message")
    check_equal(str(raised(raise_, "ValueError", "100% %s \u20ac")),
                "100% %s \u20ac", "a message with percent signs")
    long = str(raised(raise_, "ValueError", "x" * 5000))
    tap.ok(len(long) == 1023 and long.endswith("xxx..."),
           "a long message is cut", len(long))
    check_equal(str(raised(k.raise_plain, "ValueError", "x" * 5000)),
                "x" * 5000, "but not by the C function")


def test_tracebacks(k):
    trace = frames(raised(k.div, 1, 0))
    line = line_of('TVMFFI_RAISE("ZeroDivisionError"')
    tap.ok(trace[-1][0].endswith("kernels.c") and
           trace[-1][1:] == (line, "div"),
           "a traceback ends at the line of C", trace)
    trace = frames(raised(k.sum, np.zeros(2)))
    line = line_of('TVMFFI_EXPORT(sum, ')
    tap.ok(trace[-1][0].endswith("kernels.c") and
           trace[-1][1:] == (line, "sum"),
           "also where a tensor is not what was expected", trace)
    trace = frames(raised(k.raise_deep, 5))
    tap.ok(trace[-1][2] == "raise_at", "and deeper still", trace)

    def fails(i):
        raise IndexError(f"no item {i}")

    trace = frames(raised(k.sum_over, fails, 1))
    names = [name for _, _, name in trace]
    tap.ok(names[-1] == "fails", "a callback's line is the last", names)
    tap.ok(any("sum_over" in name for name in names),
           "the C function is above it", names)
    tap.ok(len(names) > 3 and names[0] == "raised", "Python is on top", names)


# ---- callbacks ---------------------------------------------------------------


def test_callbacks(k):
    seen = []
    check_equal(k.sum_over(lambda i: seen.append(i) or i / 2, 5), 5.0,
                "sum_over calls Python")
    check_equal(seen, [0, 1, 2, 3, 4], "in order")
    for x in (None, True, 3, 2.5, "text", b"bytes", "a longer text",
              tvm_ffi.dtype("int8"), tvm_ffi.device("cpu")):
        check_equal(k.apply(lambda v: v, x), x, f"{x!r} to Python and back")
    function = k.apply(lambda v: v, len)
    tap.ok(callable(function) and function("four") == 4,
           "a function to Python and back")
    check_equal(k.apply(k.schema_id_int, 5), 5, "a C function as callback")

    @tvm_ffi.register_global_func("test_kernels.triple")
    def triple(x):
        return 3 * x

    check_equal(k.call_global("test_kernels.triple", 14), 42,
                "C calls Python by its global name")
    check_raises(ValueError, "Function test_kernels.none not found",
                 k.call_global, "test_kernels.none", 1)

    def nested(depth):
        return depth if depth == 0 else 1 + k.apply(nested, depth - 1)

    check_equal(nested(50), 50, "50 levels of Python and C in turn")


class CustomError(ValueError):
    pass


def test_callback_errors(k):
    def fail(kind):
        def call(*_):
            raise kind("from Python")
        return call

    for kind in (ValueError, TypeError, IndexError, RuntimeError,
                 AssertionError):
        check_raises(kind, "from Python", k.apply, fail(kind), 1,
                     name=f"{kind.__name__} from Python through C to Python")
    tvm_ffi.register_error("CustomError", CustomError)
    check_raises(CustomError, "from Python", k.apply, fail(CustomError), 1,
                 name="a class of one's own, registered")
    check_raises(TypeError, "result of the function: Cannot convert from type "
                 "`ffi.SmallStr` to `float`", k.sum_over, lambda i: "x", 1)
    check_equal(k.call_or(lambda: 1, 2), 1, "C keeps a result")
    check_equal(k.call_or(fail(ValueError), 2), 2, "C handles a ValueError")
    check_raises(KeyError, repr(repr("from Python")), k.call_or,
                 fail(KeyError), 2, name="and passes on a KeyError")
    check_equal(k.schema_id_int(1), 1, "no error is left behind")

    def again():
        return k.apply(fail(IndexError), 1)

    check_raises(IndexError, "from Python", k.apply, lambda _: again(), 1,
                 name="through C twice")


# ---- metadata ----------------------------------------------------------------


def test_metadata(k):
    for name in ("int", "float", "bool", "string", "bytes", "dtype", "device",
                 "any", "object", "func"):
        name = "schema_id_" + name
        check_equal(k.get_function_metadata(name)["type_schema"],
                    tvm_ffi.get_global_func_metadata(
                        "testing." + name)["type_schema"],
                    f"{name} has upstream's type schema")
    for name in ("schema_no_args", "schema_no_return",
                 "schema_no_args_no_return"):
        check_equal(k.get_function_metadata(name)["type_schema"],
                    tvm_ffi.get_global_func_metadata(
                        "testing." + name)["type_schema"],
                    f"{name} has upstream's type schema")
    check_equal(k.get_function_metadata("axpy"), {
        "type_schema":
            '{"type":"ffi.Function","named_args":{"return":[{"type":"None"}],'
            '"params":[{"type":"float"},{"type":"DLTensor*"},'
            '{"type":"DLTensor*"}]}}',
        "arg_names": ["a", "x", "y"],
        "tensors": {"x": "float32[n] cpu", "y": "float32[n] cpu inout"}},
        "axpy's metadata")
    schema = tvm_ffi.core.TypeSchema.from_json_str(
        k.get_function_metadata("sum_over")["type_schema"])
    check_equal(str(schema), "Callable[[Callable[..., Any], int], float]",
                "Python reads the schema of sum_over")
    check_equal(len(str(k.get_function_metadata("sixteen"))) > 300, True,
                "16 parameters have a schema")
    check_equal(k.get_function_doc("axpy"), None, "there is no doc")
    check_equal((k.implements_function("axpy"), k.implements_function("none")),
                (True, False), "what the module implements")
    tap.ok(type(raised(lambda: k.none)) is AttributeError,
           "a missing name is an AttributeError")


# ---- leaks -------------------------------------------------------------------


def resident():
    """Returns the bytes of memory that the process has in use now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(function, calls):
    """Returns by how many bytes calls make the process grow.

    The first calls fill caches and pools; of the rest, the smaller of two
    rounds counts, as what leaks does so each time.
    """
    def repeat(times):
        for _ in range(times):
            function()
        gc.collect()
        return resident()

    repeat(calls // 10)
    before = resident()
    middle = repeat(calls // 2)
    return min(middle - before, repeat(calls // 2) - middle)


def test_no_leaks(k):
    x = np.ones(64, dtype="float32")
    y = np.zeros(64, dtype="float32")
    obj = tvm_ffi.from_dlpack(x)
    identity = lambda v: v
    raise_ = k.get_function("raise")

    def fails(*_):
        raise ValueError("from Python")

    def quietly(function, *args):
        return lambda: raised(function, *args)

    cases = {
        "axpy": (lambda: k.axpy(1.0, x, y), CALLS),
        "div": (lambda: k.div(7, 2), CALLS),
        "a string": (lambda: k.schema_id_string("a string of some length"),
                     CALLS),
        "bytes": (lambda: k.schema_id_bytes(b"bytes of some length"), CALLS),
        "an object": (lambda: k.schema_id_object(obj), CALLS),
        "a callback": (lambda: k.apply(identity, "a string of some length"),
                       CALLS),
        "a new callback": (lambda: k.apply(lambda v: v, 1), CALLS),
        "a handled error": (lambda: k.call_or(fails, 1), CALLS // 10),
        "an error of C": (quietly(k.div, 1, 0), CALLS // 10),
        "a wrong type": (quietly(k.div, "x", 0), CALLS // 10),
        "an error with text": (quietly(raise_, "ValueError", "m" * 500),
                               CALLS // 10),
        "an error of Python": (quietly(k.apply, fails, 1), CALLS // 10),
        "metadata": (lambda: k.get_function_metadata("axpy"), CALLS // 10),
        "a new tensor": (lambda: k.add(x, y), CALLS),
        "one in NumPy": (lambda: np.from_dlpack(k.add(x, y)), CALLS),
        "an empty one": (lambda: k.new_tensor("int4", "cpu", (0,)), CALLS // 10),
        "one that is too large": (
            quietly(k.new_tensor, "int8", "cpu", (1 << 50,)), CALLS // 10),
    }
    if not os.path.exists("/proc/self/statm"):
        tap.skip("no leaks", "this system does not tell a process's memory")
        return
    for name, (function, calls) in cases.items():
        grown = growth(function, calls)
        # Half the calls at 16 bytes each, the least that malloc gives.
        limit = calls // 2 * 16
        tap.ok(grown < limit, f"{name}: {calls} calls leak nothing",
               f"grew by {grown} bytes, {limit} are allowed")
    grown = growth(lambda: k.leak_memory(24), CALLS)
    tap.ok(grown >= CALLS // 2 * 16, "a leak of 24 bytes a call is found",
           f"grew by {grown} bytes")


def test_references(k):
    uses = tvm_ffi.get_global_func("testing.object_use_count")
    obj = tvm_ffi.from_dlpack(np.ones(2, "float32"))
    before = uses(obj)
    for _ in range(100):
        k.schema_id_object(obj)
        k.schema_id_any(obj)
        k.apply(lambda v: v, obj)
        raised(k.schema_id_int, obj)
    check_equal(uses(obj), before, "no reference to an object is left")
    k.leak_reference(obj)
    check_equal(uses(obj), before + 1, "a reference that is left is seen")

    tvm_ffi.register_global_func("test_kernels.identity", lambda x: x)
    function = tvm_ffi.get_global_func("test_kernels.identity")
    before = uses(function)
    for _ in range(100):
        k.call_global("test_kernels.identity", 1)
    check_equal(uses(function), before,
                "no reference to a global function is left")

    def callback(x):
        return x

    before = sys.getrefcount(callback)
    for _ in range(100):
        k.apply(callback, 1)
        k.schema_id_func(callback)
        raised(k.sum_over, callback, "x")
    gc.collect()
    check_equal(sys.getrefcount(callback), before,
                "no reference to a callback is left")

    class Array(np.ndarray):
        pass

    array = np.zeros(4, "float32").view(Array)
    gone = weakref.ref(array)
    k.axpy(1.0, array, array)
    raised(k.axpy, "x", array, array)
    del array
    gc.collect()
    tap.ok(gone() is None, "no reference to an array is left")


# ---- a framework of its own ------------------------------------------------

# What PyTorch 2.10 and newer offer: a table of functions by which a framework's
# tensors come and go, with its allocator. Here for a class around an array.

SetError = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)


class DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device", c_int32 * 2),
                ("ndim", c_int32), ("dtype", c_uint32),
                ("shape", POINTER(c_int64))]  # and what is not looked at


Allocator = CFUNCTYPE(c_int, POINTER(DLTensor), POINTER(c_void_p), c_void_p,
                      SetError)
ExportTensor = CFUNCTYPE(c_int, py_object, POINTER(c_void_p))
ImportTensor = CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p))
WorkStream = CFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))


class ExchangeTable(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32),
                ("previous", c_void_p),
                ("allocate", Allocator),
                ("from_python", ExportTensor), ("to_python", ImportTensor),
                ("view", c_void_p), ("stream", WorkStream)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = py_object
new_capsule.argtypes = [c_void_p, c_char_p, c_void_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = c_void_p
capsule_pointer.argtypes = [py_object, c_char_p]
rename_capsule = ctypes.pythonapi.PyCapsule_SetName
rename_capsule.argtypes = [py_object, c_char_p]
USED = b"used_dltensor_versioned"  # must outlive the capsules


def export(array):
    """Returns the address of a DLPack tensor that owns the array."""
    capsule = array.__dlpack__(max_version=(1, 3))
    address = capsule_pointer(capsule, b"dltensor_versioned")
    rename_capsule(capsule, USED)  # the tensor has another owner now
    return address


class Capsule:
    """What NumPy imports: something with a capsule that it may take."""

    def __init__(self, pointer):
        self.capsule = new_capsule(pointer, b"dltensor_versioned", None)

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


@ExportTensor
def export_tensor(tensor, out):
    out[0] = export(tensor.array)
    return 0


@ImportTensor
def import_tensor(pointer, out):
    tensor = FrameworkTensor(np.from_dlpack(Capsule(pointer)))
    ctypes.pythonapi.Py_IncRef(py_object(tensor))
    out[0] = id(tensor)
    return 0


@WorkStream
def work_stream(device_type, device_id, out):
    out[0] = None
    return 0


allocations = []


@Allocator
def allocate(prototype, out, error_ctx, set_error):
    size = prototype.contents.shape[0]
    allocations.append(size)
    if size == 13:
        set_error(error_ctx, b"IndexError", b"13 is not allocated")
        return -1
    out[0] = export(np.empty(size, "float32"))
    return 0


exchange = ExchangeTable(1, 3, None, allocate, export_tensor, import_tensor,
                         None, work_stream)


class FrameworkTensor:
    __dlpack_c_exchange_api__ = new_capsule(
        ctypes.addressof(exchange), b"dlpack_exchange_api", None)

    def __init__(self, array):
        self.array = array


def test_framework(k):
    if not NUMPY_HAS_DLPACK_1:
        tap.skip("a framework's allocator", "NumPy before 2.1 has no DLPack 1")
        return
    x = FrameworkTensor(np.arange(5, dtype="float32"))
    total = k.add(x, x)
    tap.ok(isinstance(total, FrameworkTensor) and
           np.array_equal(total.array, 2 * x.array),
           "add makes a tensor of the framework", total)
    check_equal(allocations, [5], "by the framework's allocator")
    again = k.add(total, x)
    tap.ok(np.array_equal(again.array, 3 * x.array), "and takes it again")
    x = FrameworkTensor(np.arange(13, dtype="float32"))
    check_raises(IndexError, "13 is not allocated", k.add, x, x,
                 name="the allocator's error arrives")
    k.axpy(1.0, x, x)
    check_equal(x.array.tolist(), list(range(0, 26, 2)),
                "axpy works on the framework's own memory")
    plain = np.ones(3, "float32")
    tap.ok(isinstance(k.add(plain, plain), tvm_ffi.Tensor),
           "arrays of NumPy have no allocator still")


# ---- threads and PyTorch -----------------------------------------------------


def test_threads(k):
    wrong = []

    def work(seed):
        x = np.full(100, seed, dtype="float32")
        y = np.zeros(100, dtype="float32")
        for i in range(500):
            k.axpy(1.0, x, y)
            if type(raised(k.schema_id_int, f"{seed}")) is not TypeError:
                wrong.append(seed)
            if k.apply(lambda v: v + seed, i) != i + seed:
                wrong.append(seed)
        if not np.all(y == 500 * seed):
            wrong.append(seed)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check_equal(wrong, [], "4 threads call, fail and are called back")


class OwnSignal(Exception):
    pass


def test_signals(k):
    """A handler of Python's runs while a kernel does, and its exception ends
    the kernel."""
    def handle(number, frame):
        raise OwnSignal

    for kind in (KeyboardInterrupt, OwnSignal):
        number = signal.SIGINT if kind is KeyboardInterrupt else signal.SIGUSR1
        if kind is OwnSignal:
            signal.signal(number, handle)
        timer = threading.Timer(0.05, os.kill, (os.getpid(), number))
        timer.start()
        try:
            k.wait_for_signal()
            got = None
        except BaseException as error:
            got = type(error)
        timer.join()
        check_equal(got, kind, f"a kernel that checks signals: {kind.__name__}")


def test_torch(k, required):
    try:
        import torch
    except ImportError as error:
        if required:
            tap.ok(False, "PyTorch can be imported", error)
        else:
            tap.skip("PyTorch", "it is not installed")
        return
    tap.note(f"PyTorch {torch.__version__}")
    for n in (0, 1, 1000):
        x, y = torch.rand(n), torch.rand(n)
        expected = y + 0.5 * x
        k.axpy(0.5, x, y)
        tap.ok(torch.allclose(y, expected), f"axpy of {n} elements of PyTorch")
    x = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    for name, view in (("x", x), ("x.T", x.T), ("x[::2]", x[::2]),
                       ("expanded", x[:1].expand(5, 6))):
        check_equal(k.sum(view), float(view.sum()), f"sum of PyTorch's {name}")
    total = k.add(x[0], x[1])
    tap.ok(isinstance(total, torch.Tensor) and
           torch.equal(total, x[0] + x[1]), "add makes a tensor of PyTorch")
    empty = torch.from_dlpack(k.new_tensor("float32", "cpu", (0, 3)))
    check_equal(tuple(empty.shape), (0, 3), "PyTorch imports an empty tensor")
    check_raises(TypeError,
                 "axpy: argument `x`: dtype is float64, expected float32",
                 k.axpy, 1.0,
                 torch.zeros(2, dtype=torch.float64), torch.zeros(2),
                 name="a wrong dtype of PyTorch's")
    check_equal(k.describe(torch.zeros(2, 3, dtype=torch.int16)),
                "int16 2/3 3/1", "a tensor of PyTorch described")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib", required=True)
    parser.add_argument("--require-torch", action="store_true")
    args = parser.parse_args()
    k = tvm_ffi.load_module(pathlib.Path(args.lib).resolve())
    test_axpy(k)
    test_sum(k)
    test_copy(k)
    test_add(k)
    test_new_tensor(k)
    test_unloaded(args.lib)
    test_tensor_arguments(k)
    test_values(k)
    test_against_upstream(k)
    test_argument_errors(k)
    test_ranges(k)
    test_kernel_errors(k)
    test_raised(k)
    test_tracebacks(k)
    test_callbacks(k)
    test_callback_errors(k)
    test_metadata(k)
    test_references(k)
    test_framework(k)
    test_threads(k)
    test_signals(k)
    test_no_leaks(k)
    test_torch(k, args.require_torch)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
