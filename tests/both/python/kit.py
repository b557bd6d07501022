"""What the case files share: values as comparable text, expected errors."""

import ctypes
import enum
import gc
import os
import re
import sys
import tempfile

os.environ.setdefault("TVM_FFI_DISABLE_TORCH_C_DLPACK", "1")

import tvm_ffi
from tvm_ffi import _ffi_api, core

# The testing module's classes ask for these when it is imported, whether they
# are used or not. A library without them can run all other cases.
for _name in ("Eq", "Lt", "Le", "Gt", "Ge", "Hash"):
    if not hasattr(_ffi_api, "Recursive" + _name):
        setattr(_ffi_api, "Recursive" + _name, None)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, *[os.pardir] * 3))


class Skip(Exception):
    """Raised by a case that this machine cannot run; says why."""


def _plain(text):
    """Takes out of a text what differs from run to run."""
    text = re.sub(r"0x[0-9a-fA-F]{4,}", "0xADDRESS", text)
    for folder in (os.environ.get("TVM_FFI_CACHE_DIR"), tempfile.gettempdir()):
        if folder:
            text = text.replace(folder, "TMP")
    return re.sub(r"python-api-[^/\s'\"]+", "FOLDER", text)


def show(value, seen=()):
    """Writes a value so that two runs can be compared.

    Objects are written by class and content, never by repr(), which the
    library itself takes part in and which may hold an address.
    """
    if id(value) in seen:
        return "..."
    deeper = seen + (id(value),)
    name = type(value).__name__
    if value is core.MISSING:
        return "MISSING"
    if value is core.KWARGS:
        return "KWARGS"
    if isinstance(value, tvm_ffi.Tensor):
        return f"Tensor({tuple(value.shape)}, {value.dtype}, {value.device})"
    if isinstance(value, (tvm_ffi.Map, tvm_ffi.Dict)):
        items = (f"{show(k, deeper)}: {show(v, deeper)}"
                 for k, v in value.items())
        return f"{name}{{{', '.join(items)}}}"
    if isinstance(value, (tvm_ffi.Array, tvm_ffi.List)):
        return f"{name}[{', '.join(show(v, deeper) for v in value)}]"
    if isinstance(value, tvm_ffi.dataclasses.Enum):
        return f"{name}.{value._str_index}={value._int_index}"
    if isinstance(value, core.Error):
        return f"Error({value.kind!r}, {value.message!r})"
    if isinstance(value, core.CObject):
        return f"<{name}>"
    if isinstance(value, tvm_ffi.dtype):
        return f"dtype({str.__str__(value)!r})"
    if isinstance(value, enum.Enum):
        return f"{name}.{value.name}"
    if isinstance(value, BaseException):
        return f"{name}({str(value)!r})"
    if isinstance(value, type):
        return f"<class {value.__name__}>"
    if isinstance(value, ctypes.c_void_p):
        return f"c_void_p({'set' if value.value else value.value})"
    if isinstance(value, str):
        return ("" if type(value) is str else name) + str.__repr__(value)
    if isinstance(value, bytes):
        return ("" if type(value) is bytes else name) + bytes.__repr__(value)
    if isinstance(value, dict):
        items = (f"{show(k, deeper)}: {show(v, deeper)}"
                 for k, v in value.items())
        return f"{name if type(value) is not dict else ''}{{{', '.join(items)}}}"
    if isinstance(value, (list, tuple, set, frozenset)):
        if isinstance(value, (set, frozenset)):
            value = sorted(value, key=repr)
        head = "" if name in ("list", "tuple") else name
        left, right = "()" if isinstance(value, tuple) else "[]"
        body = ", ".join(show(v, deeper) for v in value)
        return f"{head}{left}{body}{right}"
    if callable(value) and not hasattr(value, "dtype"):
        return f"<{name}>"
    return _plain(repr(value))


def raises(kind, function, *args, **kwargs):
    """Calls, expects an exception of exactly that kind, returns its text."""
    try:
        result = function(*args, **kwargs)
    except BaseException as error:
        got = type(error).__name__
        expected = kind if isinstance(kind, str) else kind.__name__
        assert got == expected, f"expected {expected}, got {got}: {error}"
        return f"{got}: {_plain(str(error))}"
    raise AssertionError(f"no error, but {show(result)}")


def outcome(function, *args, **kwargs):
    """Calls; returns the result as text, or the exception's kind and text."""
    try:
        return show(function(*args, **kwargs))
    except Exception as error:
        return f"{type(error).__name__}: {_plain(str(error))}"


def frames(error):
    """Names the Python functions of an error's traceback, outermost first.

    Frames of the library itself are left out: their names are those of its
    inner functions.
    """
    names, tb = [], error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename.endswith((".py", ".pxi", ".pyx")):
            names.append(code.co_name)
        tb = tb.tb_next
    return names


def use_count(obj):
    """Counts the strong references to an object, as the library sees them."""
    gc.collect()
    return tvm_ffi.get_global_func("testing.object_use_count")(obj)


def echo(value):
    """Sends a value through the library and back."""
    return tvm_ffi.get_global_func("testing.echo")(value)


_counter = 0


def unique(stem):
    """Makes a name that nothing else in this process has."""
    global _counter
    _counter += 1
    return f"python_api.{stem}_{_counter}"


def compiler():
    """Returns the C compiler's command; skips the case without one."""
    import shlex
    import shutil

    command = shlex.split(os.environ.get("CC") or "cc")
    if not shutil.which(command[0]):
        raise Skip("no C compiler")
    return command


def build(source, name, *flags, defines=()):
    """Compiles a C file of this folder into a shared library in TMP."""
    import subprocess

    out = os.path.join(tempfile.mkdtemp(prefix="python-api-"), name)
    command = compiler() + ["-std=c11", "-O1", "-g", "-fPIC", "-shared", "-I", ROOT]
    command += [f"-D{d}" for d in defines]
    command += [os.path.join(HERE, source), "-o", out, *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:500]
    return out


_failed = {}


def compiled(name, source, functions):
    """Compiles C++ by tvm_ffi.cpp and loads it; once, also if that fails."""
    import shutil

    import tvm_ffi.cpp

    if not shutil.which(os.environ.get("CXX", "c++")):
        raise Skip("no C++ compiler")
    assert name not in _failed, _failed[name]
    # A folder of this run: a process that follows a crash finds it built.
    folder = os.path.join(tempfile.gettempdir(), "compiled-" + name)
    try:
        return tvm_ffi.cpp.load_inline(name, cpp_sources=source,
                                       functions=functions,
                                       extra_cflags=["-O1"],
                                       build_directory=folder)
    except Exception as error:
        _failed[name] = str(error)[:500]
        raise


def run_python(code, *args, env=None):
    """Runs a piece of Python in a process of its own, on the same library."""
    import subprocess

    done = subprocess.run([sys.executable, "-c", code, *args],
                          capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, **(env or {})))
    return done.returncode, done.stdout, done.stderr
