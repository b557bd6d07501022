"""Stream contexts."""

import ctypes
import threading

import tvm_ffi
from kit import core, outcome, raises
from tvm_ffi import device, get_raw_stream, use_raw_stream


def case_default():
    return get_raw_stream(device("cpu", 5)), get_raw_stream(device("cuda", 7))


def case_set_and_restore():
    d = device("cuda", 0)
    out = [get_raw_stream(d)]
    with use_raw_stream(d, 1234) as context:
        assert isinstance(context, tvm_ffi.StreamContext)
        out.append(get_raw_stream(d))
    out.append(get_raw_stream(d))
    assert out[1] == 1234 and out[0] == out[2]
    return out


def case_nested():
    d, e = device("cuda", 0), device("cuda", 1)
    out = []
    with use_raw_stream(d, 1):
        with use_raw_stream(e, 2):
            with use_raw_stream(d, 3):
                out.append((get_raw_stream(d), get_raw_stream(e)))
            out.append((get_raw_stream(d), get_raw_stream(e)))
        out.append((get_raw_stream(d), get_raw_stream(e)))
    out.append((get_raw_stream(d), get_raw_stream(e)))
    assert out == [(3, 2), (1, 2), (1, 0), (0, 0)]
    return out


def case_restored_after_exception():
    d = device("cuda", 2)
    try:
        with use_raw_stream(d, 9):
            raise ValueError
    except ValueError:
        pass
    return get_raw_stream(d)


def case_stream_values():
    d = device("cpu")
    out = []
    for s in (0, 1, 2**31, 2**63, 2**64 - 1):
        with use_raw_stream(d, s):
            out.append(get_raw_stream(d))
    return out


def case_bad_streams():
    d = device("cpu")
    return [raises(ValueError, use_raw_stream, d, s)
            for s in ("x", None, 1.5)], \
        outcome(lambda: use_raw_stream(d, ctypes.c_void_p(5)).__enter__()), \
        outcome(lambda: use_raw_stream(d, -1).__enter__()), \
        outcome(lambda: use_raw_stream(d, 2**64).__enter__()), \
        outcome(get_raw_stream, "cpu"), outcome(use_raw_stream, "cpu", 1)


def case_threads_have_their_own():
    d = device("cuda", 4)
    out = []

    def work():
        out.append(get_raw_stream(d))
        with use_raw_stream(d, 77):
            out.append(get_raw_stream(d))

    with use_raw_stream(d, 5):
        t = threading.Thread(target=work)
        t.start()
        t.join()
        out.append(get_raw_stream(d))
    assert out == [0, 77, 5]
    return out


def case_every_device_type():
    out = []
    for t in tvm_ffi.DLDeviceType:
        d = device(t, 3)
        with use_raw_stream(d, int(t) + 100):
            out.append(get_raw_stream(d))
        assert get_raw_stream(d) == 0
    return out


def case_high_device_numbers():
    out = []
    for i in (0, 1, 15, 16, 100, 1000):
        d = device("cuda", i)
        with use_raw_stream(d, i + 1):
            out.append(get_raw_stream(d))
    return out


def case_context_attributes():
    c = tvm_ffi.StreamContext(device("cuda", 6), 8)
    out = [c.device_type, c.device_id, c.stream]
    with c as same:
        out += [same is c, c.prev_stream]
    return out


def case_context_used_twice():
    d = device("cuda", 8)
    c = use_raw_stream(d, 3)
    with c:
        a = get_raw_stream(d)
    with c:
        b = get_raw_stream(d)
    return a, b, get_raw_stream(d)


def case_low_level():
    f, g = core._env_set_current_stream, core._env_get_current_stream
    out = [f(2, 9, 11), g(2, 9), f(2, 9, 0), g(2, 9)]
    return out


def case_torch_streams_without_torch():
    try:
        import torch  # noqa: F401
    except ImportError:
        return raises(ImportError, tvm_ffi.use_torch_stream)
    return "ImportError: Cannot import torch"


def case_test_wrapper_stream():
    import numpy as np

    x = core.DLTensorTestWrapper(tvm_ffi.from_dlpack(np.zeros(2)))
    return x.__tvm_ffi_env_stream__()
