"""Command lines, paths, locks, kernels' wrappers, stub generation."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import threading

import tvm_ffi
from kit import HERE, outcome, raises, run_python
from tvm_ffi import config, libinfo, utils

FLAGS = ["--includedir", "--dlpack-includedir", "--cmakedir", "--sourcedir",
         "--libfiles", "--libdir", "--libs", "--cython-lib-path", "--cxxflags",
         "--cflags", "--ldflags"]


def library_folder():
    return os.path.dirname(os.path.realpath(libinfo.find_libtvm_ffi()))


def plain(text):
    """Takes out where the package and the library are."""
    for folder in {library_folder(), os.path.dirname(
            libinfo.find_libtvm_ffi())}:
        text = text.replace(folder, "LIBRARY")
    return text.replace(os.path.dirname(os.path.realpath(tvm_ffi.__file__)),
                        "PACKAGE").replace(
        os.path.dirname(tvm_ffi.__file__), "PACKAGE")


def command(*args):
    done = subprocess.run([sys.executable, "-m", *args], capture_output=True,
                          text=True, timeout=120)
    return done.returncode, plain(done.stdout), done.stderr[:300]


def case_config_command():
    got = [command("tvm_ffi.config", f) for f in FLAGS]
    assert all(code == 0 for code, _, _ in got), got
    return got


def case_config_script():
    script = os.path.join(os.path.dirname(sys.executable), "tvm-ffi-config")
    done = subprocess.run([script, "--libdir"], capture_output=True, text=True)
    assert done.stdout.strip() == os.path.dirname(libinfo.find_libtvm_ffi())
    return plain(done.stdout)


def case_config_help_and_errors():
    code, out, err = command("tvm_ffi.config", "--zzz")
    return code, "--libdir" in command("tvm_ffi.config", "--help")[1], \
        "unrecognized" in err


def case_find_functions():
    names = ["find_include_path", "find_dlpack_include_path", "find_cmake_path",
             "find_libtvm_ffi", "find_source_path", "find_cython_lib",
             "find_python_helper_include_path", "include_paths"]
    out = []
    for n in names:
        f = getattr(libinfo, n, None)
        got = outcome(f) if f else "absent"
        out.append((n, plain(got)))
    assert os.path.exists(libinfo.find_libtvm_ffi())
    assert os.path.isdir(libinfo.find_include_path())
    return out


def case_config_libdir_function():
    return plain(config._find_libdir())


def case_library_handle():
    return type(tvm_ffi.LIB).__name__, tvm_ffi.LIB.TVMFFIGetVersion is not None, \
        tvm_ffi.__version__.split("+")[0], tvm_ffi.__version_tuple__[:3]


def case_library_name():
    import ctypes

    class Version(ctypes.Structure):
        _fields_ = [(n, ctypes.c_uint32) for n in ("major", "minor", "patch")]

    v = Version()
    tvm_ffi.LIB.TVMFFIGetVersion(ctypes.byref(v))
    return v.major, v.minor, v.patch


def case_all_names_are_there():
    missing = [n for n in tvm_ffi.__all__ if not hasattr(tvm_ffi, n)]
    assert not missing
    return sorted(tvm_ffi.__all__)


def case_file_lock():
    path = os.path.join(tempfile.mkdtemp(prefix="python-api-"), "lock")
    out = []
    lock = utils.FileLock(path)
    with lock:
        out.append(utils.FileLock(path).acquire())
    other = utils.FileLock(path)
    out += [other.acquire(), other.release()]
    out.append(utils.FileLock(path).blocking_acquire(timeout=1))
    return out


def case_gpu_lock():
    from tvm_ffi.testing import run_with_gpu_lock

    os.environ["TVM_FFI_TEST_LOCK_DIR"] = tempfile.mkdtemp(prefix="python-api-")
    return run_with_gpu_lock(lambda x: x + 1, 4)


def case_embed_cubin_and_nvrtc_need_cuda():
    from tvm_ffi.cpp import nvrtc

    return outcome(nvrtc.nvrtc_compile, "x").split(":")[0]


def case_cpp_dtype():
    from tvm_ffi.cpp import dtype as d

    return sorted(n for n in vars(d) if n.startswith("to_"))[:3], \
        [outcome(d.to_cpp_dtype, n) for n in
         ("float32", "int8", "bool", "bfloat16", "uint64", "nope")]


def case_stubgen():
    folder = tempfile.mkdtemp(prefix="python-api-")
    path = os.path.join(folder, "api.py")
    with open(path, "w", encoding="utf-8") as out:
        out.write("# tvm-ffi-stubgen(begin): global/testing\n"
                  "# tvm-ffi-stubgen(end)\n"
                  "# tvm-ffi-stubgen(begin): object/testing.TestIntPair\n"
                  "# tvm-ffi-stubgen(end)\n"
                  "# tvm-ffi-stubgen(begin): object/testing.TestObjectDerived\n"
                  "# tvm-ffi-stubgen(end)\n")
    code = ("import sys\nsys.path.insert(0, sys.argv[2])\n"
            "sys.argv = ['tvm-ffi-stubgen', sys.argv[1]]\n"
            "import kit, tvm_ffi.testing\nfrom tvm_ffi.stub import cli\n"
            "sys.exit(cli.__main__())")
    status, out, err = run_python(code, folder, HERE)
    with open(path, encoding="utf-8") as text:
        return status, text.read(), err[-300:]


def case_stubgen_help():
    code, out, err = command("tvm_ffi.stub.cli", "--help")
    return code, out.splitlines()[:1] if out else out


def case_import_costs_no_threads():
    return run_python("import threading, tvm_ffi\n"
                      "print(threading.active_count())")


def case_import_twice():
    return run_python("import tvm_ffi, sys\n"
                      "del sys.modules['tvm_ffi']\n"
                      "print('ok')")


def case_clean_exit():
    """The end of the interpreter with objects of every kind still alive."""
    return run_python("""
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import kit, tvm_ffi, tvm_ffi.testing
from tvm_ffi import Array, Dict, List, Map
class Thing: pass
kept = [Array([1, [2]]), Map({'a': Thing()}), List([lambda: 1]),
        Dict({'t': tvm_ffi.from_dlpack(np.zeros(3))}),
        tvm_ffi.testing.TestIntPair(1, 2), tvm_ffi.convert(len)]
tvm_ffi.register_global_func('python_api.kept', lambda: kept)
kept.append(Array([tvm_ffi.get_global_func('python_api.kept')]))
d = Dict(); d['me'] = d
print('end')
""", HERE)


def case_exit_with_threads():
    return run_python("""
import threading, tvm_ffi, time
f = tvm_ffi.convert(lambda x: x)
def work():
    while True:
        f([1, 2, 3])
t = threading.Thread(target=work, daemon=True)
t.start()
time.sleep(0.3)
print('end')
""")[1]


def case_fork():
    out = []
    a = tvm_ffi.Array([1, 2])
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            x = tvm_ffi.Array([a, tvm_ffi.convert(lambda: 5)])
            os.write(write, str(x[1]() + x[0][1]).encode())
        finally:
            os._exit(0)
    out.append(os.waitpid(pid, 0)[1])
    os.close(write)
    out.append(os.read(read, 100))
    return out


def case_subinterpreter_of_threads():
    out = []

    def work():
        with contextlib.redirect_stdout(io.StringIO()):
            out.append(tvm_ffi.convert(lambda: 1)())

    t = threading.Thread(target=work)
    t.start()
    t.join()
    return out


def case_environment_release_gil():
    return run_python("import tvm_ffi\n"
                      "print(tvm_ffi.convert(len).release_gil)",
                      env={"TVM_FFI_RELEASE_GIL_BY_DEFAULT": "0"})


def case_unknown_symbols():
    return raises(AttributeError, lambda: tvm_ffi.no_such_name)
