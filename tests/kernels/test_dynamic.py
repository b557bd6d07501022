"""Runs one shared object with the process's runtime and without any.

    python test_dynamic.py --lib PATH

PATH is the shared library made of test_dynamic.c. Writes TAP.
"""

import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import threading

os.environ.setdefault("TVM_FFI_DISABLE_TORCH_C_DLPACK", "1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

from tap import Tap


def use(path):
    """What the library's first use of a runtime answers, in eight threads."""
    library = ctypes.CDLL(path)
    answers = []
    barrier = threading.Barrier(8)

    def run():
        barrier.wait()
        answers.append(library.test_dynamic_use())

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(set(answers))


def alone(path):
    assert use(path) == [1], "embedded"
    assert use(path) == [1], "still"


def host(path):
    import tvm_ffi
    assert use(path) == [0], "not embedded"
    module = tvm_ffi.load_module(path)
    assert module.is_embedded() is False
    assert tvm_ffi.get_global_func("test_dynamic.twice", True) is None
    module.put()
    assert tvm_ffi.get_global_func("test_dynamic.twice")(21) == 42
    assert module.text("a text of the host's") == "aa  tteexxtt  ooff  " \
        "tthhee  hhoosstt''ss"
    assert module.apply(lambda x: x + 1, 41) == 42

    def fails(x):
        raise IndexError(f"no {x}")

    for kind, text, call in (
            (ValueError, "of the library", module.fail),
            (IndexError, "no 1", lambda: module.apply(fails, 1)),
            (TypeError, "Mismatched type on argument #0 when calling: "
             "`apply(0: ffi.Function, 1: int) -> int`. Expected "
             "`ffi.Function` but got `int`", lambda: module.apply(1, 2))):
        try:
            call()
        except Exception as error:
            assert (type(error), str(error)) == (kind, text), repr(error)
        else:
            raise AssertionError(f"no {text}")


def later(path):
    """Who begins alone stays alone, and harms nobody."""
    assert use(path) == [1], "embedded"
    import tvm_ffi
    assert use(path) == [1], "still"
    assert tvm_ffi.get_global_func("test_dynamic.twice", True) is None
    module = tvm_ffi.load_module(path)
    assert module.is_embedded() is True
    assert module.text("a text of its own")[:6] == "aa  tt"


def hidden(path):
    """A runtime that was loaded for itself alone is found by its name."""
    import importlib.util
    folder = pathlib.Path(importlib.util.find_spec("tvm_ffi").origin).parent
    candidates = [pathlib.Path(p) / "lib" / "libtvm_ffi.so"
                  for p in os.environ.get("PYTHONPATH", "").split(os.pathsep)
                  if p] + [folder / "lib" / "libtvm_ffi.so"]
    ctypes.CDLL(str([c for c in candidates if c.exists()][0]),
                mode=os.RTLD_LOCAL | os.RTLD_NOW)
    assert use(path) == [0], "found"


CASES = [(alone, "without a runtime: the embedded one"),
         (host, "in Python: Python's, with its functions and errors"),
         (hidden, "a runtime that is not global is found"),
         (later, "a runtime that comes later changes nothing")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib", required=True, type=os.path.abspath)
    parser.add_argument("--case")
    args = parser.parse_args()
    if args.case:
        globals()[args.case](args.lib)
        return 0
    tap = Tap()
    for case, name in CASES:
        done = subprocess.run([sys.executable, __file__, "--lib", args.lib,
                               "--case", case.__name__],
                              capture_output=True, text=True, timeout=300)
        tap.ok(done.returncode == 0, name, done.stderr[-2000:])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
