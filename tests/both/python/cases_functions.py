"""Functions and callbacks, both ways: values, lifetimes, threads."""

import ctypes
import decimal
import fractions
import functools
import gc
import sys
import threading
import weakref

import numpy as np
import tvm_ffi
import tvm_ffi.testing
from kit import core, echo, frames, outcome, raises, show, use_count
from tvm_ffi import Array, Dict, Function, List, Map

VALUES = [None, True, False, 0, -1, 2**31, 2**63 - 1, -(2**63), 2**63, -(2**80),
          0.0, -0.0, 1.25, 1e308, float("inf"), "", "a", "seven b", "eight by",
          "a longer string that does not fit", "\u00e9\u4e2d\U0001f600",
          "nul\0inside", b"", b"1234567", b"12345678", b"\0\xff" * 30,
          bytearray(b"ba"), [], [1, [2]], (1,), {"a": 1}, {}, tvm_ffi.Shape((1,)),
          tvm_ffi.dtype("bfloat16"), tvm_ffi.device("cuda", 1),
          ctypes.c_void_p(1234), ctypes.c_void_p(0)]


def case_echo_every_value():
    return [(show(v), show(echo(v)), type(echo(v)).__name__) for v in VALUES]


def case_callback_gets_and_returns_every_value():
    seen = []

    def f(x):
        seen.append((type(x).__name__, show(x)))
        return x

    g = tvm_ffi.convert(f)
    return [show(g(v)) for v in VALUES], seen


def case_callback_through_library():
    apply = tvm_ffi.get_global_func("testing.apply")
    assert apply(lambda x, y: x + y, 1, 2) == 3
    return [apply(lambda *a: list(a), *VALUES[:20]), apply(lambda: None),
            apply(apply, lambda x: x * 2, 4), outcome(apply, 1, 2),
            outcome(apply, "x")]


def case_numbers_of_other_kinds():
    class Index:
        def __index__(self):
            return 7

    return [(type(v).__name__, outcome(echo, v)) for v in
            (np.int8(-3), np.uint64(2**63), np.float32(1.5), np.float16(2),
             np.bool_(True), fractions.Fraction(1, 2), decimal.Decimal("1.5"),
             1 + 2j, Index(), np.complex64(1))][:7]


def case_too_many_arguments():
    out = []
    for n in (0, 1, 7, 8, 9, 16, 64, 255, 1000):
        f = tvm_ffi.convert(lambda *a: sum(a))
        out.append(f(*range(n)))
    return out


def case_add_one():
    f = tvm_ffi.get_global_func("testing.add_one")
    assert f(1) == 2 and tvm_ffi.testing.add_one(3) == 4
    return [outcome(f, v) for v in (1, -1, True, 1.5, "1", None, [1], 2**31 - 2,
                                    2**31, 2**40, 2**70, np.int32(4))] + [
        outcome(f), outcome(f, 1, 2), outcome(f, 1, 2, 3)]


def case_nop():
    f = tvm_ffi.get_global_func("testing.nop")
    assert f() is None and f(1, "2", [3]) is None
    return f()


def case_typed_arguments():
    f = tvm_ffi.get_global_func
    names = ["int", "float", "bool", "device", "dtype", "string", "bytes",
             "func", "func_typed", "any", "object", "dltensor", "tensor",
             "opt_int", "opt_str", "opt_obj", "arr_int", "arr_str", "arr_obj",
             "arr", "list_int", "list_str", "list_obj", "map_str_int",
             "map_str_str", "map_str_obj", "map", "dict_str_int",
             "dict_str_str", "variant_int_str"]
    values = [None, True, 3, 2.5, "text", "float32", "cpu", b"bytes", [1, 2],
              ["a"], [None], {"a": 1}, {"a": "b"}, {1: 2}, List([1]),
              Dict({"a": 1}), tvm_ffi.device("cpu"), tvm_ffi.dtype("int8"),
              np.zeros(2, "float32"), tvm_ffi.Shape((2,)),
              tvm_ffi.testing.TestIntPair(1, 2), ctypes.c_void_p(5), len,
              {1, 2}, object, ValueError('v'), 2**70, bytearray(b'q'),
              tvm_ffi.Map({}), Array([1, 'x']), [[1]], {'a': [1]}, (),
              'a long string of many characters', np.float32(1.5)]
    table = {}
    for n in names:
        g = f("testing.schema_id_" + n)
        table[n] = [outcome(g, v) for v in values]
    return table


def case_typed_arguments_count():
    f = tvm_ffi.get_global_func
    return [outcome(f("testing." + n), *a) for n in
            ("schema_id_int", "schema_no_args", "schema_no_return",
             "schema_no_args_no_return", "schema_arr_map_opt",
             "schema_variant_mix", "schema_tensor_view_input",
             "optional_tensor_view_has_value")
            for a in ((), (1,), (1, 2), (None,))]


def case_typed_containers():
    f = tvm_ffi.get_global_func("testing.schema_arr_map_opt")
    g = tvm_ffi.get_global_func("testing.schema_variant_mix")
    return [outcome(f, *a) for a in
            (([1, None], {"a": [1]}, "x"), ([1, "a"], {"a": [1]}, None),
             ([], {}, None), ([], {"a": [1, "b"]}, None),
             (1, {}, None), ([], {1: []}, None), ([], {}, 5))], \
        [outcome(g, v) for v in (1, "a", [1], [1, "a"], ["a", 2.5], 1.5, None)]


def case_function_typed_callback():
    f = tvm_ffi.get_global_func("testing.schema_id_func_typed")
    g = f(lambda x, y, z: None)
    return type(g).__name__, outcome(g, 1, 2.5, lambda: 1), outcome(g)


def case_optional_tensor_view():
    f = tvm_ffi.get_global_func("testing.optional_tensor_view_has_value")
    return f(None), f(np.zeros(3)), outcome(f, 1), \
        tvm_ffi.get_global_func("testing.schema_tensor_view_input")(np.zeros(3))


def case_convert_callables():
    class Callable:
        def __call__(self, x):
            return x + 1

        def method(self, x):
            return x + 2

        @staticmethod
        def static(x):
            return x + 3

        @classmethod
        def klass(cls, x):
            return x + 4

    c = Callable()
    fs = [c, c.method, c.static, c.klass, Callable.static,
          functools.partial(lambda a, b: a + b, 5), abs, int, str, max,
          lambda x, y=9: x + y]
    got = [tvm_ffi.convert(f)(1) for f in fs[:9]] + [
        tvm_ffi.convert(max)(1, 5), tvm_ffi.convert(fs[-1])(1)]
    assert got[:6] == [2, 3, 4, 5, 4, 6]
    return got


def case_convert_func():
    f = tvm_ffi.convert_func(lambda x: x + 1)
    assert isinstance(f, Function) and f(1) == 2
    g = tvm_ffi.convert_func(lambda t: type(t).__name__,
                             tensor_cls=core.DLTensorTestWrapper)
    x = tvm_ffi.from_dlpack(np.zeros(3))
    return g(x), g(1), raises(TypeError, tvm_ffi.convert_func, len,
                             tensor_cls=int).split("tensor_cls")[0], \
        outcome(tvm_ffi.convert_func, 5)


def case_convert_same_function():
    f = tvm_ffi.convert(lambda: 1)
    assert tvm_ffi.convert(f)() == 1
    g = echo(f)
    return g.same_as(f), g == f, hash(g) == hash(f), g is f, f != g, \
        f == tvm_ffi.convert(lambda: 1)


def case_python_function_comes_back_wrapped():
    def f():
        return "me"

    g = echo(f)
    assert g is not f and type(g) is Function and g() == "me"
    return g()


def case_nested_callbacks():
    def down(n, f):
        return 0 if n == 0 else 1 + f(n - 1, f)

    f = tvm_ffi.convert(down)
    assert f(50, f) == 50
    return f(0, f), f(100, f)


def case_callback_chain():
    f = tvm_ffi.convert(lambda x: x)
    for _ in range(60):
        f = tvm_ffi.convert(lambda x, f=f: f(x) + 1)
    assert f(0) == 60
    return f(5)


def case_functions_returned_by_functions():
    make = tvm_ffi.convert(lambda n: lambda x: x + n)
    add = make(5)
    assert type(add) is Function and add(1) == 6
    return make(1)(2)


def case_curry_through_library():
    apply = tvm_ffi.get_global_func("testing.apply")
    compose = tvm_ffi.convert(lambda f, g: lambda x: f(g(x)))
    h = apply(compose, lambda x: x * 2, lambda x: x + 1)
    return h(3)


def case_keyword_arguments_refused():
    f = tvm_ffi.convert(lambda x: x)
    return raises(TypeError, f, x=1)


def case_wrong_count_in_callback():
    f = tvm_ffi.convert(lambda x, y: x)
    return raises(TypeError, f, 1), raises(TypeError, f, 1, 2, 3)


def case_function_attributes():
    f = tvm_ffi.convert(lambda: 1)
    f.extra = 5
    f.__name__ = "named"
    out = [f.extra, f.__name__, f.release_gil]
    f.release_gil = False
    out += [f.release_gil, f()]
    f.release_gil = True
    return out + [f.release_gil, f(), f.__chandle__() != 0,
                  f.id_ == f.__chandle__(), bool(f), callable(f)]


def case_function_reference_counts():
    f = tvm_ffi.convert(lambda: 1)
    counts = [use_count(f)]
    a = Array([f, f])
    counts.append(use_count(f))
    del a
    counts.append(use_count(f))
    assert counts == [1, 3, 1]
    return counts


def case_closure_is_destroyed():
    class Thing:
        def __call__(self):
            return 1

    t = Thing()
    ref = weakref.ref(t)
    f = tvm_ffi.convert(t)
    del t
    gc.collect()
    assert ref() is not None and f() == 1
    del f
    gc.collect()
    assert ref() is None
    return True


def case_temporaries_are_destroyed():
    class Thing:
        pass

    t = Thing()
    ref = weakref.ref(t)
    echo(t)
    echo([t, {"k": (t,)}])
    tvm_ffi.convert(lambda x: None)(t)
    del t
    gc.collect()
    return ref() is None


def case_opaque_objects_keep_identity():
    class Thing:
        pass

    t = Thing()
    assert echo(t) is t and echo([t])[0] is t
    f = tvm_ffi.convert(lambda x: x is t)
    g = tvm_ffi.convert(lambda: t)
    o = core._convert_to_opaque_object(t)
    assert type(o) is core.OpaquePyObject and o.pyobject() is t
    return f(t), g() is t, echo(o) is t, sys.getrefcount(t) > 1


def case_opaque_reference_counts():
    class Thing:
        pass

    t = Thing()
    before = sys.getrefcount(t)
    held = Array([t, t, t])
    during = sys.getrefcount(t)
    del held
    gc.collect()
    return during - before, sys.getrefcount(t) - before


def case_none_result_of_callback():
    return tvm_ffi.convert(lambda: None)(), \
        tvm_ffi.get_global_func("testing.apply")(lambda: None)


def case_move():
    a = Array([1])
    f = tvm_ffi.convert(lambda x: use_count(x))
    kept = f(a)
    moved = f(Array([1])._move())
    g = echo(Array([5])._move())
    assert list(g) == [5]
    b = Array([2])
    r = b._move()
    first = echo(r)
    return kept, moved, list(first), type(r).__name__, b.__chandle__()


def case_move_twice():
    b = Array([2])
    r = b._move()
    echo(r)
    return outcome(echo, r)


def case_rvalue_reference_in_callback():
    seen = []
    f = tvm_ffi.convert(lambda x: seen.append(show(x)))
    f(Array([1])._move())
    f(tvm_ffi.from_dlpack(np.zeros(2))._move()
      if hasattr(core.Tensor, "_move") else None)
    f(tvm_ffi.convert(lambda: 1)._move() if hasattr(Function, "_move") else 0)
    return seen


def case_extern_c_add_one():
    address = tvm_ffi.get_global_func("testing.get_add_one_c_symbol")()
    f = Function.__from_extern_c__(address)
    assert f(1) == 2
    return f(41), outcome(f), outcome(f, "x")


def case_extern_c_keeps_object_alive():
    class Engine:
        pass

    e = Engine()
    ref = weakref.ref(e)
    address = tvm_ffi.get_global_func("testing.get_add_one_c_symbol")()
    f = Function.__from_extern_c__(address, keep_alive_object=e)
    del e
    gc.collect()
    alive = ref() is not None
    assert f(1) == 2
    del f
    gc.collect()
    return alive, ref() is None


def case_mlir_packed():
    class Engine:
        pass

    e = Engine()
    ref = weakref.ref(e)
    address = tvm_ffi.get_global_func("testing.get_mlir_add_one_c_symbol")()
    f = Function.__from_mlir_packed_safe_call__(address)
    g = Function.__from_mlir_packed_safe_call__(address, keep_alive_object=e)
    del e
    out = [f(3), g(4)]
    del g
    gc.collect()
    return out, ref() is None


class Any(ctypes.Structure):
    _fields_ = [("type_index", ctypes.c_int32), ("pad", ctypes.c_uint32),
                ("v_int64", ctypes.c_int64)]


SAFE_CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p,
                             ctypes.POINTER(Any), ctypes.c_int32,
                             ctypes.POINTER(Any))
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def case_function_from_extern_c():
    calls, deleted = [], []

    @SAFE_CALL
    def call(self, args, n, result):
        calls.append((self == 77, [args[i].v_int64 for i in range(n)]))
        result[0].type_index = 1
        result[0].v_int64 = sum(args[i].v_int64 for i in range(n))
        return 0

    @DELETER
    def deleter(self):
        deleted.append(self)

    make = tvm_ffi.get_global_func("ffi.FunctionFromExternC")
    f = make(ctypes.c_void_p(77), ctypes.cast(call, ctypes.c_void_p),
             ctypes.cast(deleter, ctypes.c_void_p))
    out = [f(1, 2, 3), f()]
    del f
    gc.collect()
    g = make(None, ctypes.cast(call, ctypes.c_void_p), None)
    out.append(g(5))
    return out, calls, deleted, outcome(make, 1, None, None), outcome(make), \
        outcome(make, None, None, 3)


def case_extern_c_that_fails():
    lib = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    lib.TVMFFIErrorSetRaisedFromCStr.argtypes = [ctypes.c_char_p] * 2

    @SAFE_CALL
    def call(self, args, n, result):
        lib.TVMFFIErrorSetRaisedFromCStr(b"ValueError", b"from C")
        return -1

    f = Function.__from_extern_c__(ctypes.cast(call, ctypes.c_void_p).value,
                                   keep_alive_object=call)
    return raises(ValueError, f), raises(ValueError, f, 1)


def case_threads_call_python():
    total = []
    f = tvm_ffi.convert(lambda x: x + 1)
    add = tvm_ffi.get_global_func("testing.add_one")
    apply = tvm_ffi.get_global_func("testing.apply")

    def work():
        x = 0
        for _ in range(300):
            x = apply(f, add(x))
        total.append(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return total


def case_threads_share_containers():
    a, m = Array(range(50)), Map({i: str(i) for i in range(50)})
    bad = []

    def work():
        for _ in range(20):
            if sum(a) != 1225 or [m[i] for i in a] != [str(i) for i in a]:
                bad.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return bad, use_count(a), use_count(m)


def case_threads_have_their_own_errors():
    out = {}

    def work(i):
        def fail():
            raise ValueError(f"thread {i}")

        f = tvm_ffi.convert(fail)
        out[i] = [outcome(f) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return [set(out[i]) for i in range(4)]


def case_object_freed_in_another_thread():
    box = [Array([[1], lambda: 2])]

    def work():
        box.pop()
        gc.collect()

    t = threading.Thread(target=work)
    t.start()
    t.join()
    return box


def case_last_reference_without_thread_state():
    return core._testing_drop_last_ref_without_thread_state()


def case_value_protocols():
    class Int:
        def __tvm_ffi_int__(self):
            return 42

    class Float:
        def __tvm_ffi_float__(self):
            return 2.5

    class Value:
        def __init__(self, v):
            self.v = v

        def __tvm_ffi_value__(self):
            return self.v

    class Object:
        def __init__(self, v):
            self.v = v

        def __tvm_ffi_object__(self):
            return self.v

    class Pointer:
        def __tvm_ffi_opaque_ptr__(self):
            return 99

    class DType:
        def __dlpack_data_type__(self):
            return (2, 32, 1)

    class Where:
        def __dlpack_device__(self):
            return (2, 3)

    class Stream:
        def __cuda_stream__(self):
            return (0, 1234)

    class BadInt:
        def __tvm_ffi_int__(self):
            return "x"

    class Failing:
        def __tvm_ffi_value__(self):
            raise ValueError("no value")

    a = Array([1])
    return [outcome(echo, v) for v in
            (Int(), Float(), Value(7), Value([1]), Value(Value(8)), Object(a),
             Pointer(), DType(), Where(), Stream(), BadInt(), Failing())], \
        [outcome(tvm_ffi.convert, v) for v in (Object(a), DType())]


def case_object_convertible():
    class Mine(tvm_ffi.ObjectConvertible):
        def asobject(self):
            return Array([1, 2])

    class Broken(tvm_ffi.ObjectConvertible):
        pass

    return echo(Mine()), tvm_ffi.convert(Mine()), Array([Mine()]), \
        outcome(echo, Broken())


def case_failing_argument_conversion():
    class Bad:
        def __tvm_ffi_float__(self):
            raise KeyError("bad")

    f = tvm_ffi.convert(lambda *a: len(a))
    return raises(KeyError, f, 1, "x", [1], Bad()), f(1, 2), \
        raises(KeyError, Array, [1, Bad()]), outcome(echo, {"a": [Bad()]})


def case_numpy_dtype_arguments():
    return echo(np.dtype("float32")), outcome(echo, np.float32), \
        outcome(echo, np.dtype("S3")), tvm_ffi.convert(np.dtype("int16"))


def case_unsupported_results():
    f = tvm_ffi.convert(lambda v: {"set": set(), "c": 1j, "t": type}[v])
    return outcome(f, "set"), outcome(f, "c")


def case_c_any():
    schema = core.TypeSchema
    c = schema("Any").convert([1, 2])
    return type(c).__name__, outcome(echo, c), \
        core._to_py_class_value(schema("int").convert(True)), \
        isinstance(c, tvm_ffi.CAny)


def case_run_check_signal():
    return tvm_ffi.get_global_func("testing.run_check_signal")(0)


def case_signal_handler_raises():
    import signal

    class Stop(Exception):
        pass

    def handler(number, frame):
        raise Stop("handler")

    old = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        return raises(Stop, tvm_ffi.get_global_func("testing.run_check_signal"),
                      5)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def case_print_debug_info():
    return core._print_debug_info()


def case_kwargs_wrapper():
    from tvm_ffi.utils import kwargs_wrapper as k

    f = tvm_ffi.convert(lambda a, b, c: [a, b, c])
    g = k.make_kwargs_wrapper(f, arg_names=["a", "b", "c"], arg_defaults=(9,))
    out = [g(1, 2), g(1, 2, 3), g(a=1, b=2), g(1, c=5, b=4)]

    def proto(a, b=2, *, c=3):
        pass

    h = k.make_kwargs_wrapper_from_signature(f, __import__(
        "inspect").signature(proto))
    return out, h(1), h(1, 5, c=7), raises(TypeError, g), \
        raises(TypeError, g, 1, 2, 3, 4), raises(TypeError, g, 1, 2, d=1), \
        raises(TypeError, h, 1, 2, 3)


def case_weak_references():
    f = tvm_ffi.convert(lambda: 1)
    ref = outcome(weakref.ref, f)
    return ref.split(" at ")[0].split(":")[0]


def case_frames_of_callback():
    def inner():
        raise ValueError("deep")

    def middle(f):
        f()

    f = tvm_ffi.convert(inner)
    g = tvm_ffi.convert(middle)
    try:
        g(f)
    except ValueError as error:
        names = frames(error)
        assert "inner" in names and "middle" in names
        return names


def case_several_wrong_arguments():
    """Upstream looks at the last argument first."""
    f = tvm_ffi._ffi_api
    return outcome(tvm_ffi.get_global_func("ffi.FunctionFromExternC"), 1, 2, 3), \
        outcome(f._PyClassRegisterTypeAttrColumns, "a", "b"), \
        outcome(f.ArrayGetItem, 5, "x"), outcome(f.ListInsert, 1, "x", 2)


def case_schema_packed():
    f = tvm_ffi.get_global_func("testing.schema_packed", allow_missing=True)
    return f and (outcome(f), outcome(f, 1, "x"))


def case_load_library_again():
    lib = tvm_ffi.libinfo.load_lib_ctypes("apache-tvm-ffi", "tvm_ffi",
                                          "RTLD_LOCAL")
    return lib._handle == tvm_ffi.LIB._handle, \
        outcome(tvm_ffi.libinfo.load_lib_ctypes, "apache-tvm-ffi", "no_such",
                "RTLD_LOCAL").split(":")[0]
