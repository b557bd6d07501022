"""TVMFFI_ON_LOAD, in the Python package and by dlopen in a C program.

    python test_on_load.py --cc CC [--cxx CXX]

Each library is loaded in a process of its own. Writes TAP.
"""

import argparse
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

from tap import Tap

tap = Tap()
LOAD = """
import ctypes, sys, tvm_ffi
lib = sys.argv[1]
def tried(f):
    try:
        return f()
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]
def answer():
    return tvm_ffi.get_global_func("on_load.answer")()
"""
AS_MODULE = LOAD + """
m = tvm_ffi.load_module(lib)
print([m.count_runs(), tried(answer), tried(m.set_up), tried(m.set_up),
       m.count_runs(), tried(answer), m.get_function_doc("set_up")])
"""
AS_LIBRARY = LOAD + """
ctypes.CDLL(lib)
print([tried(answer)])
ctypes.CDLL(lib)
print([tried(answer)])
"""
NO_ANSWER = ("ValueError",
             "Cannot find global function on_load.answer")
HOST = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  void *lib = argc > 1 ? dlopen(argv[1], RTLD_LAZY) : NULL;
  printf("%s\n", lib ? "loaded" : dlerror());
  if (lib) dlclose(lib);
  return 0;
}
"""


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True,
                          text=True, timeout=120)
    return done.returncode, done.stdout.strip(), done.stderr


def build(compiler, out, *args):
    subprocess.run([*shlex.split(compiler), "-I", str(ROOT), *map(str, args),
                    "-o", str(out)], check=True)
    return out


def library(compiler, folder, name, *flags):
    return build(compiler, folder / name, *flags, "-shared", "-fPIC",
                 *["-xc++"] * ("++" in compiler),
                 ROOT / "tests/kernels/on_load.c")


def python(lib, text):
    # tvm_ffi warns where PyTorch lacks an extension; standard error is for
    # what the library prints.
    return run(sys.executable, "-W", "ignore", "-c", text, lib)


def check(compiler, folder):
    def expect(flags, text, out, err, name):
        lib = library(compiler, folder, "lib.so", *flags)
        code, got, error = python(lib, text)
        tap.ok(code == 0 and got == out and
               (all(e in error for e in err) if err else not error),
               f"{compiler}: {name}", f"{code}\n{got}\n{error}\nexpected {out}")

    doc = "Registers on_load.answer"
    expect([], AS_MODULE, str([1, 1, None, None, 1, 1, doc]), [],
           "it runs once, at the load")
    expect([], AS_LIBRARY, "[1]\n[1]", [], "also of a library that is no module")
    failed = ["set_up failed at the library's load: ", "ValueError: run 1 fails",
              "in set_up"]
    expect(["-DFAIL=2"], AS_MODULE,
           str([1, NO_ANSWER, ("ValueError", "run 2 fails"), None, 3, 3, doc]),
           failed, "an error is printed, and raised by the function, until it "
           "succeeds")
    expect(["-DFAIL=1"], AS_LIBRARY, f"[{NO_ANSWER}]\n[{NO_ANSWER}]", failed,
           "a library that is no module")
    silent = ("set_up returned 7, but raised no error: to return a "
              "value, write TVMFFI_RETURN(value)")
    expect(["-DSILENT=1"], AS_MODULE,
           str([1, NO_ANSWER, ("RuntimeError", silent),
                ("RuntimeError", silent), 3, NO_ANSWER, doc]),
           ["RuntimeError: " + silent], "a code without an error")


def by_dlopen(compiler, folder):
    (folder / "host.c").write_text(HOST)
    host = build(compiler, folder / "host", folder / "host.c", "-ldl")
    lib = library(compiler, folder, "lazy.so", "-Wl,-z,lazy")
    code, out, err = run(host, lib)
    tap.ok((code, out) == (0, "loaded") and
           "set_up did not run: the process has no libtvm_ffi" in err,
           f"{compiler}: a process without a runtime goes on", f"{code} {out} "
           f"{err}")
    own = folder / "own.c"
    own.write_text("#define TVMFFI_IMPLEMENTATION\n#define TVMFFI_STATIC 1\n"
                   f'#include "{ROOT}/tests/kernels/on_load.c"\n')
    for fail in 0, 1:
        lib = build(compiler, folder / "own.so", "-shared", "-fPIC",
                    f"-DFAIL={fail}", own, "-lpthread", "-ldl")
        code, out, err = run(host, lib)
        tap.ok((code, out) == (0, "loaded") and
               ("ValueError: run 1 fails" in err) == bool(fail) == bool(err),
               f"{compiler}: a library with its own runtime, {fail} failures",
               f"{code} {out} {err}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check(args.cc, folder)
        if args.cxx:
            check(args.cxx, folder)
        by_dlopen(args.cc, folder)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
