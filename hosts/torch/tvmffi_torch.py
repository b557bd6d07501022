"""Loads a library of tvmffi_torch.h into PyTorch.

    demo = tvmffi.torch.load("./kernels.so")
    demo.axpy(y, x, a=2.0)

Returns torch.ops.demo, and gives each operator a fake implementation from the
texts tensor("..."), which the library exports as data. So torch.compile and
torch.export know the dtype and the shape of each result, also by symbols. With
load(path, check=True), each call compares its result with what the fake
implementation computes. This file needs nothing but PyTorch, so it can be copied
beside a library.
"""

import builtins
import ctypes
import json
import os

import torch

__all__ = ["load"]

_loaded = {}
_checks = {}  # path: the torch.library.Library, whose end would remove the checks


def _parse(text):
    """Returns the dtypes, the dimensions (None: any) and the other words of a
    text that the registration has accepted."""
    head, _, words = text.partition("]") if "[" in text else text.partition(" ")
    dtypes, bracket, dims = head.partition("[")
    dims = [d.strip() for d in dims.split(",") if d.strip()]
    return dtypes.split("|"), dims if bracket else None, words.split()


def _is_run(dim):
    return dim == "..." or dim.startswith("*")


def _bind(where, tensor, dims, sizes):
    """Checks the dimensions of an argument and stores those with a name."""
    run = next((i for i, d in enumerate(dims) if _is_run(d)), None)
    shape = tensor.shape
    count = len(dims) - (run is not None)
    if len(shape) < count or run is None and len(shape) != count:
        raise ValueError(f"{where}: shape is {list(shape)}, expected "
                         f"[{', '.join(dims)}]")
    rest = len(shape) - count
    for i, dim in enumerate(dims):
        if i == run:
            size = tuple(shape[i:i + rest])
        else:
            size = shape[i if run is None or i < run else i + rest - 1]
        if dim in ("_", "..."):
            continue
        if not dim.isdigit() and dim not in sizes:
            sizes[dim] = size
            continue
        want = int(dim) if dim.isdigit() else sizes[dim]
        if isinstance(want, tuple) and len(want) != len(size):
            raise ValueError(f"{where}: {dim} has {len(size)} dimensions, "
                             f"expected {len(want)}")
        pairs = zip(want, size) if isinstance(want, tuple) else [(want, size)]
        for a, b in pairs:
            if isinstance(a, int) and isinstance(b, int) and a != b:
                raise ValueError(f"{where}: dimension {dim} is {b}, "
                                 f"expected {a}")
            torch._check(a == b, lambda a=a, b=b: (
                f"{where}: dimension {dim} is {b}, expected {a}"))


def _rule(name, operator, texts):
    """Returns the dtype (None: the first tensor's) and the dimensions of the
    result; raises a ValueError if the texts do not give them."""
    if "return" not in texts:
        raise ValueError(f"{name}: no rule gives the shape of the result: "
                         f'write tensor("float32[n]") for its type')
    dtypes, dims, words = texts["return"]
    if len(dtypes) != 1 or dtypes == ["any"]:
        raise ValueError(f"{name}: no rule gives the dtype of the result: "
                         f"`{'|'.join(dtypes)}`")
    bound = set()
    for param in operator["params"]:
        if param in texts and "optional" not in texts[param][2]:
            bound |= set(texts[param][1] or [])
    for dim in dims if dims is not None else ["..."]:
        if dim in ("_", "...") or not dim.isdigit() and dim not in bound:
            raise ValueError(f"{name}: no rule gives dimension {dim} of the "
                             f"result: name it in the text of a tensor that "
                             f"is not optional")
    dtype = None if dtypes == ["same"] else getattr(torch, dtypes[0], None)
    if dtypes != ["same"] and not isinstance(dtype, torch.dtype):
        raise ValueError(f"{name}: PyTorch has no dtype `{dtypes[0]}`")
    return dtype, dims


def _fake(name, operator):
    """Makes the fake implementation of an operator."""
    texts = {param: _parse(text)
             for param, text in operator.get("tensors", {}).items()}
    params = operator["params"]
    is_tensor = operator["result"] == "Tensor"
    rule = _rule(name, operator, texts) if is_tensor else None

    def fake(*args, **kwargs):
        values = dict(zip(params, args), **kwargs)
        first, sizes = None, {}
        for param in params:
            tensor = values.get(param)
            if not isinstance(tensor, torch.Tensor):
                continue
            first = tensor if first is None else first
            if param not in texts:
                continue
            dtypes, dims, _ = texts[param]
            where = f"{operator['name']}: argument `{param}`"
            known = [first.dtype if d == "same" else getattr(torch, d, None)
                     for d in dtypes if d != "any"]
            if known and tensor.dtype not in known:
                raise TypeError(f"{where}: dtype is {tensor.dtype}, expected "
                                f"{'|'.join(dtypes)}")
            if dims is not None:
                _bind(where, tensor, dims, sizes)
        if not rule:
            return None
        shape = []
        for dim in rule[1]:
            size = int(dim) if dim.isdigit() else sizes[dim]
            shape += size if isinstance(size, tuple) else [size]
        return torch.empty(shape, dtype=rule[0] or first.dtype,
                           device=first.device if first is not None else "cpu")

    return fake


def _no_fake(text):
    """Makes the fake implementation of an operator that has no rule."""
    def fake(*args, **kwargs):
        raise ValueError(text)

    return fake


def _describe(value):
    if not isinstance(value, torch.Tensor):
        return f"a {type(value).__name__}"
    return f"{value.dtype} {list(value.shape)} on {value.device}"


def _check(library, name, fake):
    """Puts a kernel before all others that compares their result with the fake's."""
    namespace, _, short = name.partition("::")
    operator = getattr(getattr(torch.ops, namespace), short).default

    def checked(keys, *args, **kwargs):
        result = operator.redispatch(keys & torch._C._after_autograd_keyset,
                                     *args, **kwargs)
        if type(result) is not torch.Tensor or torch.compiler.is_compiling():
            return result  # traced: a fake's own result
        got, want = _describe(result), _describe(fake(*args, **kwargs))
        if got != want:
            raise RuntimeError(f"{name}: the kernel returned {got}, but its "
                               f"contract promises {want}")
        return result

    library.impl(short, checked, "Autograd", with_keyset=True)


def _raise(text):
    kind, _, message = text.partition(": ")
    raise getattr(builtins, kind, RuntimeError)(message)


def load(path, check=False):
    """Loads a library and returns its operators, torch.ops.NAME.

    A second call for a path returns the same. With `check`, each later call of
    an operator that takes and returns tensors compares dtype, shape and device
    of the result with what the fake implementation computes, and raises a
    RuntimeError with both if they differ. This is for tests: it takes some
    microseconds a call, replaces the operator's autograd formula, and does
    nothing in torch.inference_mode. Raises what the registration found wrong (a
    type that no operator can have: TypeError; one that needs a newer PyTorch:
    NotImplementedError; a text with an error, or a name that is defined already:
    RuntimeError), or an OSError for a file that cannot be loaded. If no text
    gives the dtype or the shape of a result, the operator works, but its fake
    implementation raises a ValueError that says so. Needs the GIL; loads of one
    path must not run at the same time.
    """
    path = os.path.realpath(path)
    if path not in _loaded:
        _loaded[path] = _load(path)
    namespace, fakes = _loaded[path]
    if check and path not in _checks:
        _checks[path] = torch.library.Library(namespace, "IMPL")
        for name, fake in fakes.items():
            _check(_checks[path], name, fake)
    return getattr(torch.ops, namespace)


def _load(path):
    """Returns the namespace of a library, and {name: fake implementation}."""
    torch.ops.load_library(path)
    library = ctypes.CDLL(path)
    if not hasattr(library, "tvmffi_torch_register"):
        raise ImportError(f"{path} has no TVMFFI_TORCH_LIBRARY")
    library.tvmffi_torch_register.restype = ctypes.c_char_p
    library.tvmffi_torch_describe.restype = ctypes.c_char_p
    error = library.tvmffi_torch_register()
    if error:
        _raise(error.decode())
    text = library.tvmffi_torch_describe()
    if text is None:
        raise MemoryError(path)
    described = json.loads(text)
    fakes = {}
    for operator in described["operators"]:
        name = f"{described['namespace']}::{operator['name']}"
        if operator["result"] not in ("Tensor", "void"):
            continue
        try:
            fakes[name] = fake = _fake(name, operator)
        except ValueError as error:
            fake = _no_fake(str(error))
        torch.library.register_fake(name, fake)
    return described["namespace"], fakes
