"""Tensors: numpy and ml_dtypes in and out, shapes, strides, DLPack."""

import gc
import weakref

import ml_dtypes
import numpy as np
import tvm_ffi
import tvm_ffi.testing
from kit import core, echo, outcome, raises, show, use_count
from tvm_ffi import Tensor, from_dlpack

DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
          "uint64", "float16", "float32", "float64", "complex64", "complex128",
          "bool"]


def back(t):
    return np.from_dlpack(t)


def facts(t):
    return (type(t).__name__, t.shape, t.strides, str(t.dtype), str(t.device),
            t.ndim, t.numel(), t.is_contiguous())


def case_from_numpy_each_dtype():
    out = []
    for d in DTYPES:
        x = np.arange(6).astype(d).reshape(2, 3)
        t = from_dlpack(x)
        y = back(t)
        assert np.array_equal(x, y) and np.shares_memory(x, y)
        assert y.dtype == x.dtype and t.data_ptr() == x.ctypes.data
        out.append(outcome(facts, t))
    return out


def case_shapes():
    out = []
    for shape in ((), (0,), (1,), (5,), (2, 3), (2, 0, 3), (1, 1, 1),
                  (2, 3, 4, 5), (1,) * 20):
        x = np.zeros(shape, "float32")
        t = from_dlpack(x)
        assert t.shape == shape and back(t).shape == shape
        assert t.numel() == x.size and t.ndim == x.ndim
        out.append(facts(t))
    return out


def case_strides():
    base = np.arange(60, dtype="int32").reshape(3, 4, 5)
    out = []
    for v in (base, base.T, base[::2], base[:, ::2], base[:, :, ::-1],
              base[1:2], base[:, 1:3, 2:4], base[0:0], np.asfortranarray(base),
              base[:, 0], base[..., 0], base.transpose(1, 0, 2)):
        t = from_dlpack(v)
        assert np.array_equal(back(t), v)
        if v.size and min(v.strides) > 0:
            assert t.strides == tuple(s // 4 for s in v.strides)
        out.append(facts(t))
    return out


def case_broadcast_is_read_only():
    x = np.broadcast_to(np.arange(3), (2, 3))
    return outcome(lambda: facts(from_dlpack(x)))


def case_read_only():
    x = np.arange(4)
    x.flags.writeable = False
    return outcome(lambda: facts(from_dlpack(x))), \
        outcome(lambda: facts(echo(x))), \
        outcome(lambda: back(from_dlpack(x)).flags.writeable)


def case_writes_are_shared():
    x = np.zeros(4, "int32")
    t = from_dlpack(x)
    y = back(t)
    x[0] = 5
    y[1] = 6
    return y.tolist(), x.tolist(), back(echo(t)).tolist()


def case_argument_conversion():
    seen = []

    def f(t):
        seen.append(facts(t))
        return t

    g = tvm_ffi.convert(f)
    x = np.arange(3.0)
    r = g(x)
    assert isinstance(r, Tensor) and np.shares_memory(back(r), x)
    s = g(from_dlpack(x))
    return seen, facts(r), facts(s), type(echo(x)).__name__, \
        type(tvm_ffi.convert(x)).__name__


def case_memory_lives_as_long_as_needed():
    x = np.arange(5, dtype="int64")

    class Owner(np.ndarray):
        pass

    o = x.view(Owner)
    ref = weakref.ref(o)
    t = from_dlpack(o)
    del o
    gc.collect()
    held = ref() is not None
    y = back(t)
    del t
    gc.collect()
    still = ref() is not None
    total = int(y.sum())
    del y
    gc.collect()
    assert held and still and ref() is None
    return total


def case_reference_counts():
    x = np.zeros(3)
    t = from_dlpack(x)
    counts = [use_count(t)]
    y = back(t)
    counts.append(use_count(t))
    a = tvm_ffi.Array([t, t])
    counts.append(use_count(t))
    u = a[0]
    counts.append(use_count(t))
    del y, a, u
    counts.append(use_count(t))
    assert counts[0] == counts[-1] == 1
    return counts


def case_identity():
    t = from_dlpack(np.zeros(3))
    r = echo(t)
    a = tvm_ffi.Array([t])
    return r.same_as(t), r == t, hash(r) == hash(t), a[0].same_as(t), \
        t == from_dlpack(np.zeros(3)), isinstance(t, tvm_ffi.Object), \
        isinstance(t, core.CObject)


def case_size():
    t = from_dlpack(np.zeros((2, 3, 4)))
    return [t.size(i) for i in (0, 1, 2, -1, -2, -3)], \
        [raises(IndexError, t.size, i) for i in (3, -4, 100)], \
        raises(TypeError, t.size, "x"), \
        raises(IndexError, from_dlpack(np.zeros(())).size, 0)


def case_contiguity():
    base = np.zeros((4, 6), "float32")
    return [(i, from_dlpack(v).is_contiguous()) for i, v in enumerate(
        (base, base.T, base[:2], base[:, :2], base[:, :1], base[:1, :2],
         base[::2], base[0:0, ::2], base.reshape(4, 1, 6), base[:1].T))]


def case_require_contiguous():
    base = np.zeros((4, 6), "float32")
    return [outcome(lambda: facts(from_dlpack(v, require_contiguous=True)))
            for v in (base, base.T, base[:, :2], base[0:0, ::2], base[:1].T)]


def case_require_alignment():
    raw = np.zeros(256, "uint8")
    start = -raw.ctypes.data % 64
    out = []
    for offset in (0, 1, 4, 8, 16):
        v = raw[start + offset:start + offset + 32]
        for alignment in (0, 1, 4, 8, 64):
            got = outcome(from_dlpack, v, require_alignment=alignment)
            out.append((offset, alignment, got))
    return out


def case_bad_inputs():
    class Bad:
        def __dlpack__(self, **kwargs):
            return 5

        def __dlpack_device__(self):
            return (1, 0)

    class Raises:
        def __dlpack__(self, **kwargs):
            raise BufferError("refused")

        def __dlpack_device__(self):
            return (1, 0)

    return [outcome(from_dlpack, v) for v in (1, None, [1], "x", Bad(),
                                              Raises())] + [
        outcome(echo, v) for v in (Bad(), Raises())]


def case_big_endian_and_structured():
    return outcome(from_dlpack, np.zeros(3, ">i4")), \
        outcome(from_dlpack, np.zeros(2, [("a", "i4")])), \
        outcome(from_dlpack, np.array(["x"])), \
        outcome(from_dlpack, np.array([None]))


def case_capsules():
    x = np.arange(4, dtype="float32")
    t = from_dlpack(x)
    c, v = t._to_dlpack(), t._to_dlpack_versioned()
    a, b = from_dlpack(c), from_dlpack(v)
    assert np.shares_memory(back(a), x) and np.shares_memory(back(b), x)
    count = use_count(t)
    again = [outcome(from_dlpack, c), outcome(from_dlpack, v)]
    del a, b, c, v
    return count, again, use_count(t), str(t._to_dlpack()).split(" at ")[0], \
        str(t._to_dlpack_versioned()).split(" at ")[0]


def case_unused_capsules_release():
    t = from_dlpack(np.zeros(3))
    a, b = t._to_dlpack(), t._to_dlpack_versioned()
    during = use_count(t)
    del a, b
    return during, use_count(t)


def case_dlpack_protocol():
    t = from_dlpack(np.zeros(3))
    return t.__dlpack_device__(), \
        str(t.__dlpack__()).split(" at ")[0], \
        str(t.__dlpack__(max_version=(1, 0))).split(" at ")[0], \
        str(t.__dlpack__(max_version=(1, 1), dl_device=(1, 0),
                         copy=False)).split(" at ")[0], \
        raises(BufferError, t.__dlpack__, max_version=(1, 1), copy=True), \
        raises(BufferError, t.__dlpack__, max_version=(1, 1),
               dl_device=(2, 0)), \
        str(outcome(t.__dlpack__, max_version=(0, 8))).split(" at ")[0], \
        raises(TypeError, t.__dlpack__, 1)


def case_consumers():
    t = from_dlpack(np.arange(4, dtype="float32"))
    return back(t).tolist(), np.from_dlpack(t, copy=False).tolist(), \
        outcome(lambda: np.from_dlpack(t, copy=True)), \
        outcome(lambda: np.asarray(t).dtype == object)


def case_round_trips_of_round_trips():
    x = np.arange(5)
    t = from_dlpack(x)
    for _ in range(10):
        t = from_dlpack(back(t))
    assert np.shares_memory(back(t), x)
    return back(t).tolist()


def case_only_legacy_protocol():
    class Old:
        def __init__(self, x):
            self.x = from_dlpack(x)

        def __dlpack__(self, stream=None):
            return self.x.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    x = np.arange(3)
    t = from_dlpack(Old(x))
    assert np.shares_memory(back(t), x)
    return facts(t), facts(echo(Old(x)))


def case_test_wrapper():
    x = np.arange(6, dtype="int32").reshape(2, 3)
    w = core.DLTensorTestWrapper(from_dlpack(x))
    r = echo(w)
    f = tvm_ffi.get_global_func("testing.schema_id_tensor")
    g = tvm_ffi.get_global_func("testing.schema_id_dltensor")
    return type(r).__name__, facts(r), facts(from_dlpack(w)), \
        w.__dlpack_device__(), facts(f(w)), outcome(g, w)


def case_containers_of_tensors_from_library():
    t = from_dlpack(np.arange(3, dtype="float32"))
    w = core.DLTensorTestWrapper(t)
    f = tvm_ffi.get_global_func
    out = []
    for v in (t, w):
        for n, args in (("array_with_tensor", (v,)),
                        ("array_with_mixed", (v, 5)),
                        ("nested_array_with_tensor", (v,)),
                        ("list_with_tensor", (v, 7)),
                        ("map_with_tensor", (v,)), ("dict_with_tensor", (v,)),
                        ("empty_array_with_tensor_input", (v,)),
                        ("nested_map_with_tensor", (v, v))):
            r = f("testing.make_" + n)(*args)
            out.append((n, r))
    return out


def case_tensor_views():
    f = tvm_ffi.get_global_func("testing.schema_tensor_view_input")
    g = tvm_ffi.get_global_func("testing.schema_id_dltensor")
    x = np.zeros((2, 2))
    return outcome(f, x), outcome(f, from_dlpack(x)), outcome(f, 1), \
        outcome(g, x), outcome(g, None), \
        outcome(tvm_ffi.get_global_func("testing.schema_id_tensor"), x)


def case_ml_dtypes():
    """NumPy cannot export these, so their bytes go as integers."""
    out = []
    for n in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4",
              "float4_e2m1fn"):
        x = np.arange(4).astype(getattr(ml_dtypes, n))
        out.append((n, outcome(lambda: facts(from_dlpack(x))),
                    outcome(lambda: facts(echo(x)))))
        y = from_dlpack(x.view("uint8" if x.itemsize == 1 else "uint16"))
        assert np.array_equal(back(y).view(x.dtype), x)
    return out


def case_tensor_of_other_device():
    class Cuda:
        """Says that its memory is on a GPU; nothing reads it."""

        def __init__(self, x):
            self.x = x

        def __dlpack_device__(self):
            return (2, 1)

        def __dlpack__(self, **kwargs):
            return self.x.__dlpack__(**kwargs)

    t = outcome(lambda: facts(from_dlpack(Cuda(from_dlpack(np.zeros(2))))))
    return t


def case_properties_cannot_be_set():
    t = from_dlpack(np.zeros(2))
    return [outcome(setattr, t, n, 1) for n in ("shape", "dtype", "zz")], \
        outcome(weakref.ref, t)


def case_kept_after_failure():
    x = np.zeros((4, 4))
    try:
        from_dlpack(x.T, require_contiguous=True)
    except RuntimeError:
        pass
    gc.collect()
    ref = weakref.ref(x)
    del x
    gc.collect()
    return ref() is None


def case_many_tensors():
    total = 0
    for i in range(2000):
        t = from_dlpack(np.full(3, i))
        total += int(back(echo(t))[0])
    return total


def case_strides_from_shape():
    return core._make_strides_from_shape((2, 3, 4)), \
        core._make_strides_from_shape(()), core._make_strides_from_shape((0, 5))


def case_dlpack_version():
    return core.__dlpack_version__


def case_destroyed_in_container():
    x = np.zeros(3)

    class Owner(np.ndarray):
        pass

    o = x.view(Owner)
    ref = weakref.ref(o)
    m = tvm_ffi.Map({"t": [from_dlpack(o)]})
    del o
    gc.collect()
    alive = ref() is not None
    del m
    gc.collect()
    return alive, ref() is None


def case_callback_with_tensor_class():
    seen = []
    f = tvm_ffi.convert_func(lambda *a: seen.append([show(x) for x in a]),
                             tensor_cls=core.DLTensorTestWrapper)
    t = from_dlpack(np.zeros((2, 2)))
    f(t, 1, [t], {"k": t}, tvm_ffi.List([t]))
    return seen
