#!/usr/bin/env python3
r"""apache-tvm-ffi-orcjit: object files loaded without a linker, on two
libraries.

    orcjit_client.py --lib OURS

OURS needs upstream's C++ symbols. The objects are compiled by CC and CXX: C with
this header, and C++ with upstream's. The Python that runs this has the wheel,
NumPy and the client.
"""

import gc
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from transcript import check, record, record_error, run

ROOT = Path(__file__).resolve().parents[2]
C_TWICE = r"""
#include "tvmffi.h"
TVMFFI_EXPORT(twice, int64, (int64, x)) { TVMFFI_RETURN(2 * x); }
TVMFFI_DOC(twice, "Returns 2 * x")
int64_t exported_number = 7;
"""
C_USER = r"""
#include "tvmffi.h"
#include <stdio.h>
extern int64_t exported_number;
static int64_t runs;
TVMFFI_FUNC(loads, int64) { TVMFFI_RETURN(runs); }
static int set_up(void) {
  ++runs;
  return TVMFFI_OVERRIDE("orcjit_client.loads", loads);
}
TVMFFI_ON_LOAD(set_up)
TVMFFI_EXPORT(number, int64) { TVMFFI_RETURN(exported_number++); }
TVMFFI_EXPORT(text, str, (str, name)) {
  char text[64];
  snprintf(text, sizeof(text), "a text of the object file for %.40s",
           name.data);
  TVMFFI_RETURN(tvmffi_byte_array(text));
}
TVMFFI_EXPORT(fail, none, (str, text)) {
  return TVMFFI_RAISE("ValueError", "%.20s", text.data);
}
"""
CXX_OBJECT = r"""
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
namespace ffi = tvm::ffi;
struct Count {
  Count() { ++made; }
  static int made;
};
int Count::made = 0;
Count one, two;

int Made() { return Count::made; }
ffi::Map<ffi::String, ffi::Array<int64_t>> Table(int64_t n) {
  ffi::Map<ffi::String, ffi::Array<int64_t>> table;
  for (int64_t i = 0; i < n; ++i)
    table.Set(std::string(20, 'x') + std::to_string(i),
              ffi::Array<int64_t>(std::vector<int64_t>(i, i)));
  return table;
}
std::string Catch(const ffi::Function &f) {
  try {
    f(1);
  } catch (const ffi::Error &error) {
    return "caught " + error.kind() + ": " + error.message();
  }
  return "nothing";
}
void Throw(const std::string &text) {
  TVM_FFI_THROW(ValueError) << text;
}
int64_t Inner(const ffi::Module &module, const ffi::String &name) {
  return module->GetFunction(name, true).value()(21).cast<int64_t>();
}
}  // namespace
TVM_FFI_DLL_EXPORT_TYPED_FUNC(made, Made);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(table, Table);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(catch_error, Catch);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(throw_error, Throw);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(inner, Inner);
"""
UNDEFINED = r"""
#include "tvmffi.h"
int64_t nowhere(void);
TVMFFI_EXPORT(call_nowhere, int64) { TVMFFI_RETURN(nowhere()); }
"""


def compiler(variable, default):
    return shlex.split(os.environ.get(variable) or default)


class Client:
    def __init__(self, folder):
        import tvm_ffi
        import tvm_ffi.libinfo
        import tvm_ffi_orcjit
        self.folder, self.tvm_ffi, self.jit = folder, tvm_ffi, tvm_ffi_orcjit
        self.session = tvm_ffi_orcjit.default_session()
        include = tvm_ffi.libinfo.include_paths()
        flags = ["-c", "-O1", "-fPIC"]
        c = [*compiler("CC", "cc"), *flags, f"-I{ROOT}"]
        cxx = [*compiler("CXX", "c++"), *flags, "-std=c++17",
               *(f"-I{path}" for path in include)]
        self.twice = self.compile(c, "twice.c", C_TWICE)
        self.user = self.compile(c, "user.c", C_USER)
        self.cxx = self.compile(cxx, "cxx.cc", CXX_OBJECT)
        self.undefined = self.compile(c, "undefined.c", UNDEFINED)
        self.kernels = self.compile(
            c, "kernels.c", '#include "examples/kernel/kernels.c"')

    def compile(self, command, name, source):
        path = self.folder / name
        path.write_text(source)
        subprocess.run([*command, path, "-o", path.with_suffix(".o")],
                       check=True)
        return path.with_suffix(".o")

    def error(self, name, function, *args):
        """Records an error; the folder's name is another in each run."""
        try:
            value = function(*args)
        except Exception as error:
            record(name, (type(error).__name__,
                          str(error).replace(str(self.folder), "FOLDER")))
        else:
            record(name, f"no error: {value!r}")

    # -- what is recorded ------------------------------------------------

    def c_objects(self):
        m = self.session.load_module(self.twice)
        record("an object file of C", m.twice(21))
        record("the module", (m.kind, m.implements_function("twice"),
                              m.implements_function("absent"),
                              m.get_function_doc("twice"),
                              m.get_function_metadata("twice")))
        record_error("a wrong argument", m.twice, "x")
        self.error("a function that is absent", m.get_function, "absent")
        both = self.session.load_module(
            [str(self.twice), self.user.read_bytes()], name="both")
        record("two object files", (both.number(), both.number(),
                                    both.twice(4)))
        record("TVMFFI_ON_LOAD ran",
               self.tvm_ffi.get_global_func("orcjit_client.loads")())
        record("a string", both.text("Python"))
        record_error("an error", both.fail, "said by C")
        again = self.session.load_module([self.twice, self.user])
        record("the same symbols in another module",
               (again.number(), both.number()))

    def arrays(self):
        import numpy as np
        m = self.session.load_module(self.kernels)
        x, y = np.arange(4, dtype="float32"), np.ones(4, dtype="float32")
        m.axpy(2.0, x, y)
        record("axpy of the README", y.tolist())
        record_error("axpy of another length", m.axpy, 2.0, x, y[:3])

    def cxx_objects(self):
        m = self.session.load_module(self.cxx)
        record("static constructors ran", m.made())
        table = m.table(4)
        record("containers", sorted((key, list(value))
                                    for key, value in table.items()))

        def fails(x):
            raise KeyError(f"from Python {x}")

        record("C++ catches an error", m.catch_error(fails))
        record_error("C++ throws an error", m.throw_error, "thrown")
        record_error("a wrong argument of C++", m.made, 1)
        record("C++ calls a function of a module",
               m.inner(self.session.load_module(self.twice), "twice"))
        del table
        gc.collect()

    def imports(self):
        m = self.session.load_module(self.cxx)
        m.import_module(self.session.load_module(self.twice))
        record("imports", [i.kind for i in m.imports])
        record("a function of an import", m.get_function(
            "twice", query_imports=True)(5))
        record("C++ calls a function of an import", m.inner(m, "twice"))
        self.error("an import of itself", m.import_module, m)
        m.clear_imports()
        record("no imports", len(m.imports))
        self.error("no function of an import", m.get_function, "twice", True)

    def sessions(self):
        session = self.jit.ExecutionSession()
        m = session.load_module([self.twice, self.user])
        record("a session of its own", m.number())
        del session
        gc.collect()
        record("the module holds the session", m.twice(3))
        plain = self.jit.ExecutionSession(orc_rt=None)
        record("a session without the runtime",
               plain.load_module(self.twice).twice(8))
        for _ in range(50):
            check_value = self.session.load_module(self.twice).twice(1)
        record("50 modules", check_value)
        gc.collect()
        record("slabs are released",
               type(self.session.clear_free_slabs()).__name__)
        kept = self.session.load_module([self.twice, self.user],
                                        keep_module_alive=True)
        text = kept.text("a module that is gone")
        del kept
        gc.collect()
        record("a string outlives its module", text)

    def threads(self):
        m, sums = self.session.load_module(self.twice), []

        def work():
            sums.append(sum(m.twice(i) for i in range(500)))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check("four threads call", sums == [500 * 499] * 4)

    def errors(self):
        load = self.session.load_module
        self.error("a file that is absent", load, self.folder / "absent.o")
        self.error("bytes that are no object file", load, b"no object")
        self.error("a list of nothing", load, [])
        self.error("a number", load, 1)
        try:
            load([self.twice, self.twice])
        except RuntimeError as error:  # of several symbols it names any
            check("a symbol that is defined twice",
                  "duplicate definition of symbol" in str(error))
        m = load(self.undefined, name="undefined")
        try:
            m.call_nowhere()
        except Exception as error:
            record("a symbol that is undefined",
                   (type(error).__name__, "nowhere" in str(error)))
        record("a module after errors", load(self.twice).twice(2))

    def built(self):
        import tvm_ffi.cpp
        path = tvm_ffi.cpp.build(
            "built", sources=[str(self.folder / "twice.c")], output="built.o",
            extra_include_paths=[str(ROOT)],
            build_directory=str(self.folder / "built"))
        record("an object file of tvm_ffi.cpp.build",
               self.session.load_module(path).twice(50))


def main(args):
    with tempfile.TemporaryDirectory() as tmp:
        client = Client(Path(tmp).resolve())
        record("versions", (client.jit.__version__,
                            client.tvm_ffi.__version__))
        for part in (client.c_objects, client.arrays, client.cxx_objects,
                     client.imports, client.sessions, client.threads,
                     client.errors, client.built):
            part()


if __name__ == "__main__":
    os.environ["PATH"] = os.pathsep.join(
        [os.path.dirname(sys.executable), os.environ["PATH"]])
    sys.exit(run(__file__, "apache-tvm-ffi-orcjit", main,
                 ["tvm_ffi", "numpy", "tvm_ffi_orcjit"],
                 programs=[compiler("CC", "cc")[0], compiler("CXX", "c++")[0],
                           "ninja"],
                 distributions=["apache-tvm-ffi-orcjit"]))
