"""Sets up a function of WebAssembly for wasmtime.c, which calls it.

    wasmtime_call.py COUNT LIBRARY WASM
"""

import ctypes
import sys

import wasmtime
from wasmtime import _bindings

count, library, module = sys.argv[1:]
store = wasmtime.Store()
instance = wasmtime.Instance(
    store, wasmtime.Module.from_file(store.engine, module), [])
add = instance.exports(store)["add"]
call = ctypes.cast(_bindings.dll.wasmtime_func_call_unchecked,
                   ctypes.c_void_p)
ctypes.CDLL(library).measure(
    call, ctypes.cast(store._context(), ctypes.c_void_p),
    ctypes.byref(add._func), ctypes.c_long(int(count)))
