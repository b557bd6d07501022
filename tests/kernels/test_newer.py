"""Libraries that call a function which this runtime lacks, because they were
built for a newer one, and libraries of a program that does not export its
runtime. Runs on our library.

    python test_newer.py --cc CC

Writes TAP.
"""

import argparse
import pathlib
import shlex
import subprocess
import sys
import tempfile

import tvm_ffi

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

from tap import Tap  # noqa: E402

LIBRARY = """
#include "tvmffi.h"
int MISSING(void);
TVMFFI_EXPORT(add, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }
TVMFFI_EXPORT(missing, int64) { TVMFFI_RETURN(MISSING()); }
"""
# Stands for a library that is linked with another runtime.
OTHER = """
int __tvm_ffi_add(void *self, const void *args, int n, void *result);
int __tvm_ffi_add(void *self, const void *args, int n, void *result) {
  (void)self, (void)args, (void)n, (void)result;
  return -1;
}
void TVMFFIGetVersion(void *version);
void TVMFFIGetVersion(void *version) { (void)version; }
"""
# A program with its own runtime, whose functions its libraries see only if the
# program is linked with -rdynamic.
PROGRAM = """
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"
#include <stdio.h>
static int run(const char *path) {
  TVMFFI_SCOPE;
  TVMFFIObject *module = NULL, *add = NULL;
  int64_t sum = 0;
  TVMFFI_TRY(tvmffi_call("ffi.ModuleLoadFromFile", &module, path));
  TVMFFI_TRY(tvmffi_call("ffi.ModuleGetFunction", &add, module, "add", 0));
  TVMFFI_TRY(tvmffi_call(add, &sum, 1, 2));
  printf("%d\\n", (int)sum);
  return 0;
}
int main(int argc, char **argv) {
  if (!run(argv[argc - 1])) return 0;
  tvmffi_error_print(stderr);
  return 1;
}
"""


def build(cc, out, text, *flags):
    source = out.with_suffix(".c")
    source.write_text(text)
    subprocess.run([*shlex.split(cc), "-I", ROOT, source, *flags, "-o", out],
                   check=True)
    return out


def library(cc, folder, missing):
    return build(cc, folder / f"{missing}.so", LIBRARY, f"-DMISSING={missing}",
                 "-shared", "-fPIC", "-Wl,-z,lazy")


def error_of(path):
    try:
        tvm_ffi.load_module(path)
    except RuntimeError as error:
        return str(error)
    return "no error"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", required=True)
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        # The path alone is no reason to refuse a library.
        folder = pathlib.Path(name, "TVMFFI")
        folder.mkdir()
        newer = library(args.cc, folder, "TVMFFINotYet")
        text = error_of(newer)
        tap.ok("TVMFFINotYet" in text and "The library needs a newer version "
               "of the TVM FFI ABI than this runtime's, 0.1." in text,
               "a function of a newer ABI is an error at the load", text)
        text = error_of(folder / "absent.so")
        tap.ok("absent.so" in text and "newer version" not in text,
               "another failure has its own text", text)
        other = tvm_ffi.load_module(library(args.cc, folder, "not_there"))
        tap.ok(other.add(1, 2) == 3, "another missing function is bound lazily")
        obj = build(args.cc, folder / "program.o", PROGRAM, "-c")
        good = library(args.cc, folder, "getpid")
        other = build(args.cc, folder / "other.so", OTHER, "-shared", "-fPIC")
        hidden = ("this program does not export its runtime: link the program "
                  "with -rdynamic (CMake: ENABLE_EXPORTS), and without -static "
                  "and -Wl,--exclude-libs, or with the shared library")
        for flags, path, printed, error in (
                ([], good, "", "needs the runtime of its process, but " + hidden),
                ([], other, "", "linked with another runtime, but " + hidden),
                (["-rdynamic"], good, "3\n", ""),
                (["-rdynamic"], newer, "", "newer version of the TVM FFI ABI")):
            program = folder / " ".join(["program", *flags])
            if not program.exists():
                subprocess.run([*shlex.split(args.cc), obj, *flags, "-lpthread",
                                "-ldl", "-o", program], check=True)
            done = subprocess.run([program, path], capture_output=True,
                                  text=True, timeout=300)
            tap.ok(done.stdout == printed and error in done.stderr
                   and done.returncode == bool(error),
                   f"{program.name} loads {path.name}",
                   f"{done.returncode} {done.stdout}{done.stderr}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
