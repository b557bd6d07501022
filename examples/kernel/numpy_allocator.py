"""An environment's allocator for NumPy: TVMFFIEnvTensorAlloc makes arrays.

PyTorch brings such an allocator along; NumPy does not, so this one is written
with ctypes against the C ABI.
"""

import ctypes
from ctypes import (CFUNCTYPE, POINTER, c_char_p, c_int, c_int32, c_int64,
                    c_uint8, c_uint16, c_uint64, c_void_p, py_object)

import numpy as np


class DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32),
                ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


SetError = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
Allocator = CFUNCTYPE(c_int, POINTER(DLTensor), POINTER(c_void_p), c_void_p,
                      SetError)
_USED = b"used_dltensor_versioned"
_KINDS = {0: "int", 1: "uint", 2: "float", 5: "complex", 6: "bool"}

_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = c_void_p
_api.PyCapsule_GetPointer.argtypes = [py_object, c_char_p]
_api.PyCapsule_SetName.argtypes = [py_object, c_char_p]


def _numpy_dtype(tensor):
    kind = _KINDS.get(tensor.code)
    if kind is None or tensor.lanes != 1:
        raise TypeError(f"NumPy has no dtype of code {tensor.code} with "
                        f"{tensor.lanes} lanes")
    return np.dtype("bool" if kind == "bool" else f"{kind}{tensor.bits}")


def export(array):
    """Returns the address of a DLPack tensor that owns the array."""
    capsule = array.__dlpack__(max_version=(1, 3))
    address = _api.PyCapsule_GetPointer(capsule, b"dltensor_versioned")
    # Renamed as DLPack demands: the tensor has another owner now, and the
    # capsule will not delete it. The name must outlive the capsule.
    _api.PyCapsule_SetName(capsule, _USED)
    return address


@Allocator
def _allocate(prototype, out, error_ctx, set_error):
    try:
        like = prototype.contents
        if like.device_type != 1:
            raise ValueError("NumPy allocates on the CPU only")
        out[0] = export(np.empty(like.shape[:like.ndim], _numpy_dtype(like)))
        return 0
    except Exception as error:
        set_error(error_ctx, type(error).__name__.encode(),
                  str(error).encode())
        return -1


def available():
    """Tells whether this NumPy exports arrays as DLPack 1: 2.1 and newer do."""
    return np.lib.NumpyVersion(np.__version__) >= "2.1.0"


def install():
    """Makes it the allocator of all threads that have none of their own."""
    runtime = ctypes.CDLL(None)  # tvm_ffi has loaded it for everyone
    set_allocator = runtime.TVMFFIEnvSetDLPackManagedTensorAllocator
    set_allocator.argtypes = [Allocator, c_int, c_void_p]
    if set_allocator(_allocate, 1, None):
        raise RuntimeError("the runtime refused the allocator")
