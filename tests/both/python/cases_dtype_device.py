"""Data types, devices, strings, bytes."""

import copy
import itertools
import pickle

import ml_dtypes
import numpy as np
import tvm_ffi
from kit import core, echo, outcome, raises
from tvm_ffi import DLDeviceType, Device, _dtype, _ffi_api, device, dtype

NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
         "uint32", "uint64", "float16", "float32", "float64", "bfloat16",
         "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
         "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
         "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
         "float4_e2m1fnx2"]


def case_literals():
    out = []
    for n in NAMES:
        d = getattr(tvm_ffi, n)
        assert d == n and isinstance(d, dtype) and isinstance(d, str)
        out.append((n, d.type_code, d.bits, d.lanes, d.itemsize, d.is_bool,
                    d.is_integer, d.is_float, d.is_handle, repr(d)))
    return out


def describe(text):
    d = dtype(text)
    c = d._tvm_ffi_dtype
    return (str(d), str(c), d.type_code, d.bits, d.lanes)


def case_parse():
    texts = list(NAMES)
    texts += ["int", "uint", "float", "handle", "void", "", "bfloat",
              "int4", "uint4", "int2", "uint1", "int1", "int128", "int3",
              "float32x4", "int8x16", "int32x1", "boolx8", "bool8", "bool1",
              "handle64", "handle32", "float8_e5m2x2", "bfloat16x8",
              "float6_e2m3fnx3", "float4_e2m1fnx4", "int32xvscalex4",
              "float32xvscalex2", "int8xvscalex16", "int32x32767",
              "custom[5]32", "custom[200]8x2", "int255", "float128", "int07",
              "float4_e2m1fn_x2", "float64x2 ", " int32", "int32x04"]
    return [(t, outcome(describe, t)) for t in texts]


def case_parse_errors():
    texts = ["foo", "int32x", "int32x-1", "int-1", "int32y4", "int32x4x4",
             "Int32", "INT32", "float8_e5m3", "float8", "float6", "float4",
             "float8_", "xvscalex4", "int32xvscalex",
             "int32 x4", "bfloat32", "bfloat8", "custom", "custom[", "custom[5",
             "custom[5]", "custom[x]8", "custom[]8", "int32\0", "int\0 32",
             "float32e", "uint8uint8", "handl", "handlex", "boolean", "bo",
             "i", "1", "x4", "\u00e9", "int32x4 foo", "x" * 300, "int32x0",
             "float16_e5m2", "float8_e4m3fn16", "bool[", "f32"]
    return [(t, outcome(describe, t)) for t in texts]


def case_parse_scalable_without_count():
    return outcome(describe, "int32xvscale"), outcome(describe, "float16xvscal")


def case_every_width_and_lanes():
    out = []
    for code, bits, lanes in itertools.product(
            (0, 1, 2, 3, 4, 5, 6, *range(7, 18)), (1, 2, 4, 6, 8, 16, 32, 64),
            (1, 2, 4, 256)):
        d = outcome(lambda: str(dtype.from_dlpack_data_type(
            (code, bits, lanes))))
        out.append(d)
    return out


def case_from_dlpack_data_type():
    f = dtype.from_dlpack_data_type
    return [outcome(f, t) for t in
            ((2, 32, 1), (0, 8, 4), (6, 8, 1), (6, 1, 1), (3, 64, 1),
             (3, 0, 0), (3, 0, 1), (17, 4, 2), (129, 8, 1), (200, 16, 2),
             (255, 8, 1), (2, 32, 0xFFFC), (18, 8, 1), (100, 8, 1), (2, 255, 1),
             (5, 64, 1), (5, 128, 1))] + [
        raises(IndexError, f, (1, 2)), outcome(f, (300, 8, 1)),
        outcome(f, (0, 8, 70000)), outcome(f, (0, 8, -4)),
        outcome(f, ("x", 8, 1))]


def case_with_lanes():
    d = dtype("float32")
    v = d.with_lanes(4)
    assert v == "float32x4" and v.lanes == 4 and v.bits == 32
    assert v.itemsize == 16 and v.with_lanes(1) == d
    return v, d.with_lanes(1), dtype("bool").with_lanes(8), \
        dtype("float4_e2m1fn").with_lanes(2), dtype("int4").with_lanes(8), \
        outcome(d.with_lanes, -4), outcome(d.with_lanes, 0), \
        outcome(d.with_lanes, 2**20), outcome(d.with_lanes, "x")


def case_itemsize():
    return [(n, outcome(lambda: dtype(n).itemsize)) for n in
            ("int4", "int4x2", "int4x3", "bool", "boolx3", "float6_e2m3fn",
             "float6_e2m3fnx4", "float4_e2m1fn", "float32xvscalex4",
             "int1", "handle", "float64x1024")]


def case_is_dtype():
    f = dtype.is_dtype
    return [(str(a), f(a)) for a in ("float32", "float32x4", "nope", "",
                                     dtype("int8"), 5, None, "int32x")]


def case_equality_and_hash():
    a, b = dtype("float32"), dtype("float32")
    assert a == b == "float32" and hash(a) == hash("float32") and a != "int8"
    x, y = core.DataType("int8"), core.DataType("int8")
    assert hash(x) == hash(y) and str(x) == str(y)
    assert {a: 1}["float32"] == 1
    return outcome(lambda: x == y), x == "int8", a == dtype("float32x1"), dtype("handle") == "handle"


def case_core_data_type():
    d = core.DataType("float32x4")
    return str(d), d.type_code, d.bits, d.lanes, d.itemsize, \
        raises(ValueError, core.DataType, "zzz"), outcome(core.DataType, 5), \
        str(pickle.loads(pickle.dumps(d)))


def case_dtype_codes():
    return [(c.name, int(c)) for c in _dtype.DataTypeCode]


def case_dtype_through_functions():
    out = []
    for n in NAMES + ["handle", "int4x8", "float32x4"]:
        r = echo(dtype(n))
        assert type(r) is dtype and r == n
        out.append(r)
    f = tvm_ffi.get_global_func("testing.schema_id_dtype")
    return out, [outcome(f, v) for v in
                 ("int8", "float32x4", "nope", "", 1, None, np.dtype("int16"),
                  core.DataType("int32"), b"int8")]


def case_dtype_pickle_copy():
    d = dtype("bfloat16")
    c, e, p = copy.copy(d), copy.deepcopy(d), pickle.loads(pickle.dumps(d))
    return [(type(v).__name__, v == d, v.bits) for v in (c, e, p)]


def case_dtype_from_other_libraries():
    return [outcome(dtype, np.dtype(n)) for n in
            ("int8", "float32", "bool", "complex64", "S3")] + [
        outcome(dtype, np.float32), outcome(dtype, None), outcome(dtype, 32)]


def case_dtype_of_numpy_conversion():
    out = []
    for n in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
              "uint64", "float16", "float32", "float64", "bool", "complex64"):
        out.append((n, outcome(tvm_ffi.convert, np.dtype(n)),
                    outcome(echo, np.dtype(n))))
    return out


def case_dtype_of_ml_dtypes_conversion():
    out = []
    for n in ("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz",
              "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
              "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn",
              "float6_e3m2fn", "float4_e2m1fn", "int4", "uint4", "int2",
              "uint2"):
        d = np.dtype(getattr(ml_dtypes, n))
        out.append((n, outcome(tvm_ffi.convert, d), outcome(echo, d)))
    return out


def case_dtype_numpy_names():
    return sorted((str(k), v) for k, v in dtype._NUMPY_DTYPE_TO_STR.items())


def case_torch_dtype_without_torch():
    if core.torch is not None:
        return "torch not found"
    return outcome(core._convert_torch_dtype_to_ffi_dtype, 1)[-15:]


def case_many_dtypes_in_containers():
    a = tvm_ffi.Array([dtype(n) for n in NAMES])
    m = tvm_ffi.Map({dtype(n): n for n in NAMES})
    assert all(m[dtype(n)] == n for n in NAMES)
    return a, len(m)


# -- Device --------------------------------------------------------------------


def case_device_names():
    out = []
    for n in ("cpu", "cuda", "opencl", "vulkan", "metal", "mps", "vpi", "rocm",
              "ext_dev", "hexagon", "wgpu", "webgpu", "maia", "trn"):
        d = device(n, 2)
        out.append((n, str(d), repr(d), d.type, d.index,
                    d.dlpack_device_type()))
    return out


def case_device_forms():
    forms = [device("cpu"), device("cpu:3"), device("cuda", 1),
             device("cuda:1"), device(1, 0), device(2, 5), device("cpu", 0),
             device(DLDeviceType.kDLCUDA, 4), device("cuda:0 foo"),
             device("cpu:-1"), device("cpu", None), device("cuda:2", 7),
             device(DLDeviceType.kDLROCM), device("cpu", np.int64(3)),
             device("cpu", True)]
    assert forms[2] == forms[3]
    return [(str(d), repr(d)) for d in forms]


def case_device_errors():
    return [outcome(device, *a) for a in
            (("nope",), ("cpu:x",), ("cpu:0:0",), ("",), ("cpu", "1"),
             (None,), (1.5,), ("cpu", 1.5), ([],), ("cpu", [1]),
             (2**40,), ("cpu", 2**40), ("CPU",))]


def case_device_unknown_number():
    d = device(99, 1)
    return d.dlpack_device_type(), d.index, outcome(lambda: d.type), \
        outcome(str, d), outcome(repr, d)


def case_device_equality():
    a, b, c = device("cpu", 1), device("cpu", 1), device("cpu", 2)
    assert a == b and a != c and hash(a) == hash(b) and a != "cpu:1"
    return {a: 1}[b], a == None, len({a, b, c})  # noqa: E711


def case_device_enum():
    return [(d.name, int(d)) for d in DLDeviceType]


def case_device_through_functions():
    out = []
    for i in (0, 1, 7, -1, 2**31 - 1):
        for t in DLDeviceType:
            r = echo(device(t, i))
            assert type(r) is Device and r == device(t, i)
            out.append(str(r))
    f = tvm_ffi.get_global_func("testing.schema_id_device")
    return out, [outcome(f, v) for v in (device("cpu"), "cpu", "cuda:1",
                                         "nope", 1, None)]


def case_device_pickle_copy():
    d = device("cuda", 3)
    return [v == d and type(v) is Device for v in
            (copy.copy(d), copy.deepcopy(d), pickle.loads(pickle.dumps(d)))]


def case_device_in_containers():
    m = tvm_ffi.Map({device("cpu", i): i for i in range(20)})
    return [m[device("cpu", i)] for i in range(20)], \
        device("cuda", 1) in m, tvm_ffi.Array([device("cpu", 1)])


def case_device_subclass():
    class Mine(Device):
        pass

    return echo(Mine("cpu", 4)), type(echo(Mine("cpu", 4))).__name__


# -- String and Bytes ------------------------------------------------------------

TEXTS = ["", "a", "abcdef", "abcdefg", "abcdefgh", "x" * 63, "x" * 5000,
         "\u00e9", "\u4e2d\u6587\u5b57", "\U0001f600" * 2, "a\0b", "\0", "\0" * 7,
         "\0" * 8, "mixed \u00e9\u4e2d\U0001f600 text", "\n\t\r", "'\"\\"]


def case_string_round_trip():
    out = []
    for t in TEXTS:
        for v in (t, core.String(t)):
            r = echo(v)
            assert r == t and isinstance(r, str) and len(r) == len(t)
            out.append(type(r).__name__)
    return out


def case_bytes_round_trip():
    out = []
    for t in TEXTS:
        b = t.encode()
        for v in (b, core.Bytes(b), bytearray(b)):
            r = echo(v)
            assert r == b and isinstance(r, bytes)
            out.append(type(r).__name__)
    return out, outcome(echo, memoryview(b"ab"))


def case_every_length():
    for n in range(0, 100):
        assert echo("s" * n) == "s" * n and echo(b"b" * n) == b"b" * n
    return True


def case_string_class():
    s = core.String("hello")
    assert s == "hello" and isinstance(s, str) and hash(s) == hash("hello")
    return s.upper(), s + "x", s[1:], f"{s}!", {s: 1}["hello"], repr(s), \
        pickle.loads(pickle.dumps(s)), type(copy.copy(s)).__name__, \
        type(copy.deepcopy(s)).__name__, type(tvm_ffi.convert("q")).__name__


def case_bytes_class():
    b = core.Bytes(b"hello")
    return b == b"hello", b + b"x", b[1:], repr(b), \
        pickle.loads(pickle.dumps(b)), type(copy.deepcopy(b)).__name__, \
        type(tvm_ffi.convert(b"q")).__name__, \
        type(tvm_ffi.convert(bytearray(b"q"))).__name__


def case_long_string_is_not_copied():
    s = core.String("long " * 50)
    r = echo(s)
    back = echo(r)
    return type(r).__name__, type(back).__name__, r == s == back, \
        r._tvm_ffi_cached_object is None


def case_surrogates():
    return outcome(echo, "\ud800").split(":")[0]


def case_bytes_that_are_not_utf8():
    b = bytes(range(256))
    f = tvm_ffi.get_global_func("testing.schema_id_bytes")
    g = tvm_ffi.get_global_func("testing.schema_id_string")
    return echo(b) == b, f(b) == b, [outcome(f, v) for v in
                                     (b"a", "text", 1, None, b"")], [
        outcome(g, v) for v in ("a", "a longer string", b"bytes", 1, None, "")]


def case_string_functions():
    return outcome(_ffi_api.String, "a"), outcome(_ffi_api.String, "b" * 20), \
        outcome(_ffi_api.String, b"a"), outcome(_ffi_api.Bytes, b"a"), \
        outcome(_ffi_api.Bytes, b"b" * 20), outcome(_ffi_api.Bytes, "a"), \
        outcome(_ffi_api.String, 1), outcome(_ffi_api.String)


def case_strings_in_containers():
    a = tvm_ffi.Array(TEXTS + [t.encode() for t in TEXTS])
    assert list(a) == TEXTS + [t.encode() for t in TEXTS]
    m = tvm_ffi.Map({t: i for i, t in enumerate(TEXTS)})
    assert [m[t] for t in TEXTS] == list(range(len(TEXTS)))
    return a


def case_callback_gets_strings():
    f = tvm_ffi.convert(lambda *a: [type(x).__name__ for x in a])
    return f("a", "long string, really", b"a", b"long bytes, really",
             core.String("c"), core.Bytes(b"d"))
