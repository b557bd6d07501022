#!/usr/bin/env python3
"""Builds the Python wheel, installs it and uses it as its users do.

    wheel.py [--cc CC]

The Python that runs this has the packages of requirements.txt and of the files
that it names. Output is TAP.
"""

import argparse
import os
import re
import shlex
import shutil
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.dont_write_bytecode = True
import inline  # noqa: E402
from tap import Tap  # noqa: E402
from work import (PROJECT, ROOT, Compiler, Work, expect,  # noqa: E402
                  expect_text, run)

KERNEL = """
#include "tvmffi.h"
#include "step.h"
TVMFFI_EXPORT(add, int64, (int64, x)) { TVMFFI_RETURN(x + STEP); }
"""
PROGRAM = """
#include "tvmffi.h"
int main(void) {
  TVMFFI_SCOPE;
  return tvmffi_size(tvmffi_list(1, 2, 3)) != 3;
}
"""
# Prints the libraries in the process and in one that it starts.
MAPS = """
import subprocess, sys, tvm_ffi
assert list(tvm_ffi.convert([1, 2])) == [1, 2]
with open("/proc/self/maps") as maps:
    lines = [line for line in maps if "libtvm_ffi.so" in line]
for line in sorted({line.split(maxsplit=5)[-1].strip() for line in lines}):
    print("library", line)
print(*sys.argv[1:])
sys.stdout.flush()
if sys.argv[1:] == ["parent"]:
    sys.exit(subprocess.call([sys.executable, __file__, "child"]) + 3)
"""


# -- the wheel -----------------------------------------------------------


def readelf(library):
    text = run(["readelf", "-dW", library], env={**os.environ, "LC_ALL": "C"})
    return dict(soname=re.findall(r"soname: \[(.*)\]", text),
                needed=re.findall(r"\(NEEDED\).*\[(.*)\]", text))


def contents(work):
    expect(work.wheel.name.endswith("-py3-none-linux_x86_64.whl")
           or os.uname().machine != "x86_64", work.wheel.name)
    library = work.prefix / "lib/libtvm_ffi.so"
    names = run(["nm", "-D", "--defined-only", library]).split()[2::3]
    wanted = (ROOT / "tests/both/surface/c-symbols.txt").read_text().split()
    expect(sorted(names) == sorted(wanted), f"exported: {names}")
    found = readelf(library)
    expect(found["soname"] == ["libtvm_ffi.so"], found)
    expect(all(re.match(r"lib(c|dl|pthread)\.so|ld-linux", name)
               for name in found["needed"]), found)
    headers = sorted(path.name for path in (work.prefix / "include").iterdir())
    wanted = [path.name for pattern in ("tvmffi.h", "*/tvmffi_*.h", "hosts/*/*.h")
              for path in ROOT.glob(pattern)]
    expect(headers == sorted(wanted), f"headers: {headers}")
    with zipfile.ZipFile(work.wheel) as files:
        all_names = files.namelist()
    for name in ("LICENSE", "LICENSE-APACHE", "LICENSE-MIT"):
        expect(any(n.endswith(f".dist-info/licenses/{name}")
                   for n in all_names), f"no {name}")


def cross_wheel(work):
    """The library for another processor, in a program linked with it."""
    wheel = work.hatch(PROJECT, "wheel", work.top / "aarch64",
                       CC="aarch64-linux-gnu-gcc",
                       TVMFFI_WHEEL_PLATFORM="linux_aarch64")
    expect(wheel.name.endswith("-py3-none-linux_aarch64.whl"), wheel.name)
    with zipfile.ZipFile(wheel) as files:
        files.extractall(work.top / "aarch64")
    prefix = work.top / "aarch64/tvmffi/prefix"
    program = work.top / "aarch64/program"
    run(["aarch64-linux-gnu-gcc", work.file("aarch64.c", PROGRAM), "-o",
         program, f"-I{prefix}/include", f"-L{prefix}/lib", "-ltvm_ffi"])
    run(["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu", "-E",
         f"LD_LIBRARY_PATH={prefix}/lib", program])


# -- paths ---------------------------------------------------------------


def paths(work):
    """Without any other package."""
    for option, name in {"--includedir": "tvmffi.h", "--libdir":
                         "libtvm_ffi.so", "--cmakedir": "tvmffiConfig.cmake",
                         "--pkgconfigdir": "tvmffi-header.pc"}.items():
        folder = work.tvmffi(option, python=work.bare).strip()
        expect((Path(folder) / name).is_file(), f"{option}: {folder}")
    source = work.file("linked.c", PROGRAM)
    flags = shlex.split(work.tvmffi("--cflags", "--ldflags", python=work.bare))
    run([*work.cc, source, *flags, "-o", work.top / "linked"])
    run([work.top / "linked"])
    expect(work.tvmffi("--version").strip() in work.wheel.name, "--version")


def pkg_config(work):
    folder = work.tvmffi("--pkgconfigdir").strip()
    source = work.file("linked.c", PROGRAM)
    flags = run(["pkg-config", "--cflags", "--libs", "tvmffi"],
                env={**work.env, "PKG_CONFIG_PATH": folder})
    run([*work.cc, source, *shlex.split(flags), "-o", work.top / "linked"])
    run([work.top / "linked"],
        env={**work.env, "LD_LIBRARY_PATH": str(work.prefix / "lib")})


def cmake(work):
    work.file("cmake/program.c", PROGRAM)
    work.file("cmake/CMakeLists.txt",
              "cmake_minimum_required(VERSION 3.20)\nproject(user C)\n"
              "find_package(tvmffi 0.1 REQUIRED)\n"
              "add_executable(program program.c)\n"
              "target_link_libraries(program PRIVATE tvmffi::tvmffi)\n")
    built = work.top / "cmake/build"
    run(["cmake", "-G", "Ninja", "-S", work.top / "cmake", "-B", built,
         "-Dtvmffi_ROOT=" + work.tvmffi("--cmakedir").strip()], env=work.env)
    run(["cmake", "--build", built], env=work.env)
    run([built / "program"])


def usage(work):
    expect_text(work.tvmffi("--nothing", status=2), "usage:")
    expect_text(work.tvmffi("run", status=2), "usage:")
    expect_text(work.tvmffi("--help"), "usage:")


# -- under the stock package ---------------------------------------------


def libraries(output):
    return re.findall("^library (.*)$", output, re.M)


def run_program(work):
    program = work.file("maps.py", MAPS)
    ours = str(work.prefix / "lib/libtvm_ffi.so")
    stock = libraries(run([work.user, program], env=work.env))
    expect(len(stock) == 1 and stock[0] != ours, f"without run: {stock}")
    # The process that the program starts has the library, too.
    output = work.tvmffi("run", program, "parent", status=3)
    expect(libraries(output) == [ours, ours], output)
    expect_text(output, "\nparent\n", "\nchild\n")
    output = work.tvmffi("run", "-m", "maps", "1", "two words")
    expect(libraries(output) == [ours], output)
    expect_text(output, "\n1 two words\n")
    text = work.tvmffi("run", program, python=work.bare, status=2)
    expect_text(text, "tvmffi: ", "apache-tvm-ffi", "not installed")


def activate(work):
    ours = str(work.prefix / "lib/libtvm_ffi.so")
    work.file("maps.py", MAPS)
    output = work.python("import tvmffi; tvmffi.activate(); import maps; "
                         "tvmffi.activate()")
    expect(libraries(output) == [ours], output)
    text = work.python("import tvmffi, tvm_ffi\ntvmffi.activate()", status=1)
    expect_text(text, "RuntimeError: tvm_ffi is already imported")
    text = run([work.bare, "-c", "import tvmffi; tvmffi.activate()"], status=1)
    expect_text(text, "ModuleNotFoundError", "apache-tvm-ffi")


# -- calls by tvmffi_python.h ---------------------------------------------

EXTENSION = """
#include "tvmffi_python.h"
TVMFFI_EXPORT(add, int64, (int64, x), (int64, y, 1)) { TVMFFI_RETURN(x + y); }
TVMFFI_PYTHON_MODULE(extension)
"""
FAST = """
import tvm_ffi, tvmffi
echo = tvm_ffi.get_global_func("testing.echo")
fast = tvmffi.fast(echo)
array = tvm_ffi.Array([1, "two"])
print(fast(2), fast("a long text"), fast(array).same_as(array),
      type(fast({1})).__name__, fast.__wrapped__ is echo)
try:
    tvmffi.fast(len)
except TypeError as error:
    print(error)
"""


def fast(work):
    """With the module compiled by the machine, and with that of the wheel."""
    wanted = "2 a long text True set True\ntvmffi.fast takes a tvm_ffi.Func"
    expect_text(work.python(FAST), wanted)
    text = work.python(FAST, CC="/bin/false", XDG_CACHE_HOME="/nonexistent",
                       status=1)
    expect_text(text, "BuildError")
    wheel = work.hatch(PROJECT, "wheel", work.top / "with module",
                       TVMFFI_WHEEL_PYTHONS=shlex.quote(sys.executable))
    with zipfile.ZipFile(wheel) as files:
        files.extractall(work.top / "with module")
    expect_text(work.python(FAST, CC="/bin/false", XDG_CACHE_HOME="/nowhere",
                            PYTHONPATH=str(work.top / "with module")), wanted)


def extension(work):
    """An extension module where no other package is."""
    source = work.file("extension.c", EXTENSION)
    flags = shlex.split(work.tvmffi("--cflags", python=work.bare))
    run([*work.cc, "-shared", "-fPIC", source, *flags,
         "-I" + sysconfig.get_path("include"), "-o",
         work.top / "extension.so"])
    text = run([work.bare, "-c", "import extension as e\n"
                "print(e.add(2), e.add(y=5, x=2), e.add.__text_signature__)\n"
                "e.add('x')"], status=1, cwd=work.top)
    expect_text(text, "3 7 (x, y=1)", "TypeError: add: argument `x`: expected "
                "an int, got str\n")


# -- tvmffi.build --------------------------------------------------------

# Prints a kernel's result.
BUILD = """
import tvmffi
print(tvmffi.build("kernel.c", cflags=["-Wall"], folder="made").add(40))
"""


def build(work):
    work.file("kernel.c", KERNEL)
    compiler = Compiler(work)

    def expect_result(result, compiled, text=BUILD):
        output = work.python(text, CC=compiler.CC)
        expect(output == f"{result}\n", f"{output} is not {result}")
        count = compiler.count()
        expect(count == compiled, f"compiled {count} times for {result}")

    work.file("step.h", "#define STEP 2\n")
    expect_result(42, 1)
    expect_result(42, 0)
    work.file("step.h", "#define STEP 3\n")
    expect_result(43, 1)
    work.file("kernel.c", KERNEL.replace("x +", "x -"))
    expect_result(37, 1)
    expect_result(37, 1, BUILD.replace("-Wall", "-O1"))
    # An earlier state is still there.
    work.file("kernel.c", KERNEL)
    expect_result(43, 0)
    names = [p.name for p in (work.top / "made").iterdir()]
    expect(all(n.endswith(".so") for n in names) and len(names) == 4, names)


def build_on_both(work):
    """With this library, C++ and the default folder."""
    work.file("kernel.cpp", KERNEL)
    work.file("step.h", "#define STEP 2\n")
    output = work.python("import tvmffi; tvmffi.activate()\n"
                         "print(tvmffi.build('kernel.cpp').add(40))",
                         CC="no-such-compiler")
    expect(output == "42\n", output)
    expect(list((work.top / "tvmffi").glob("kernel-*.so")), "no library")


def build_errors(work):
    work.file("wrong.c", KERNEL.replace("STEP)", "MISSING)"))
    text = work.python(
        "import tvmffi\ntry: tvmffi.build('wrong.c')\n"
        "except tvmffi.BuildError as error: print(error)")
    expect_text(text, "-shared", "wrong.c:4:", "MISSING")
    text = work.python("import tvmffi\ntvmffi.build('wrong.c')", status=1,
                       CC="no-such-compiler -O1")
    expect_text(text, "BuildError: cannot run the compiler 'no-such-compiler'")
    text = work.python("import tvmffi\ntvmffi.build('absent.c')", status=1)
    expect_text(text, "BuildError", "absent.c")
    for sources in ("", "'kernel.o'"):
        text = work.python(f"import tvmffi\ntvmffi.build({sources})", status=1)
        expect_text(text, "ValueError: tvmffi.build takes files that end in")
    text = run([work.bare, "-c", "import tvmffi\ntvmffi.build('kernel.c')"],
               status=1, cwd=work.top, env=work.env)
    expect_text(text, "No module named 'tvm_ffi'")


# -- templates -----------------------------------------------------------

DEMO = """
import demo, numpy, pathlib, sys
x = numpy.arange(3, dtype="float32")
demo.scale(x)
assert x.tolist() == [0, 2, 4], x
assert demo.add_one(1) == 2
x = numpy.float32([3, 9, 1, 9, 5, 7])
for k in range(1, 7):
    order = sorted(range(6), key=lambda i: -x[i])[:k]
    values, indices = demo.top_k(x, k)
    assert indices.tolist() == order and (values == x[order]).all(), k
assert demo.top_k.__doc__.endswith("Returns the k largest elements, and their "
                                   "indices."), demo.top_k.__doc__
assert not {"tvm_ffi", "tvmffi"} & sys.modules.keys()
text = (pathlib.Path(demo.__file__).parent / "kernels.pyi").read_text()
assert "def add_one(x: _Int) -> int:" in text and "by: _Float=2.0" in text, text
print(*sorted(p.name for p in pathlib.Path(demo.__file__).parent.iterdir()))
"""


def template(backend):
    version = f"cp3{sys.version_info[1]}"
    limited = sys.version_info >= (3, 12) and backend != "meson-python"
    tag = "cp312-abi3" if limited else f"{version}-{version}"

    def case(work):
        folder = work.top / backend
        for name in ("src", backend):
            shutil.copytree(PROJECT / "templates" / name,
                            folder / ("src" if name == "src" else ""),
                            dirs_exist_ok=True)
        page = (PROJECT / "templates/README.md").read_text(encoding="utf-8")
        rename = re.search(r"^mv .*\n.*\n", page, re.MULTILINE)[0]
        run(["sh", "-ec", rename], cwd=folder)
        # The page makes the environment in the project's folder.
        shutil.copytree(work.prefix.parent, folder / "env/tvmffi")
        env = {**work.env, "PYTHONPATH": str(folder / "env")}
        # pip must be one that this environment runs, as the backend is.
        run([work.user, "-m", "pip", "wheel", "--quiet",
             "--disable-pip-version-check", "--no-deps", "--no-index",
             "--no-build-isolation", "--check-build-dependencies", "-w",
             folder / "out", folder], env=env)
        wheel, = (folder / "out").iterdir()
        expect(f"-{tag}-linux_" in wheel.name, wheel.name)
        work.install(work.user, wheel)
        output = work.python(DEMO.replace("demo", "mykernels"),
                             PYTHONDONTWRITEBYTECODE="1")
        module, = (n for n in output.split() if n.endswith(".so"))
        expect(sorted({*output.split()} - {"__pycache__"}) == sorted(
            ["__init__.py", module, "kernels.pyi", "py.typed"]), output)
        uninstall = [sys.executable, "-m", "pip", "--python", work.user,
                     "uninstall", "--quiet", "--yes", "mykernels"]
        run(uninstall)
        if backend == "setuptools":
            run([work.user, "-m", "pip", "install", "--quiet", "--no-deps",
                 "--no-index", "--no-build-isolation", "-e", folder],
                env=work.env)
            expect((folder / "src/mykernels/kernels.pyi").is_file(),
                   "an editable install has no stub")
            run(uninstall)
            # A build that fails ends with the reason, and no traceback.
            source = folder / "src/mykernels/kernels.c"
            source.write_text(source.read_text().replace("MODULE(kernels",
                                                         "MODULE(kernel"))
            output = run([work.user, "setup.py", "build_ext"], cwd=folder,
                         status=1, env=work.env)
            expect("is the module `kernel`: write TVMFFI_PYTHON_MODULE(kernels)"
                   in output and "Traceback" not in output, output)
    return case


# -- check ---------------------------------------------------------------


def library(work, name, text):
    made = work.top / name
    run([*work.cc, "-shared", "-fPIC", f"-I{work.prefix}/include",
         work.file(f"{name}.c", text), "-o", made])
    return made


def with_symbol(work, symbol, name="symbol.so"):
    """A library that calls the symbol, which may be one of C++."""
    return library(work, name, f'int f(void) __asm__("{symbol}");\n'
                   "int g(void); int g(void) { return f(); }\n")


def check_c(work):
    work.file("step.h", "#define STEP 2\n")
    text = work.tvmffi("check", library(work, "kernel.so", KERNEL))
    expect_text(text, "linked with libtvm_ffi.so: no", "C++ symbols of "
                "tvm::ffi: 0", "    TVMFFIErrorSetRaised: since 0.1.0\n",
                "ExtraContext: since 0.1.8.post2; optional\n",
                "with all of them: 0.1.8.post2\n",
                "with all that are not optional: 0.1.0, the first\n",
                "this library has all of them")
    # The document shows this output.
    with_symbol(work, "TVMFFIBigIntFromByteArray", "kernels.so")
    text = work.tvmffi("check", "kernels.so")
    page = (ROOT / "docs/packaging.md").read_text(encoding="utf-8")
    expect(f"```\n{text}```\n" in page, f"docs/packaging.md lacks:\n{text}")
    module = library(work, "looking.so", "#include <dlfcn.h>\n"
                     'void *find(void *p) { return dlsym(p, '
                     '"TVMFFIFunctionGetGlobal"); }\n')
    text = work.tvmffi("check", module)
    expect_text(text, "that it finds by dlsym: 1\n", "finds by name: unknown",
                "with all of them: 0.1.0")
    text = work.tvmffi("check", with_symbol(work, "TVMFFIUnknown"), status=1)
    expect("by name" not in text and "dlsym" not in text, text)
    expect_text(text, "TVMFFIUnknown: in no wheel up to 0.1.15.post2; not in "
                "this library", "no stock wheel", "this library lacks 1")


def check_cxx(work):
    known = "_ZN3tvm3ffi9ReprPrintERKNS0_3AnyE"
    text = work.tvmffi("check", with_symbol(work, known), status=1)
    expect_text(text, "tvm::ffi::ReprPrint(tvm::ffi::Any const&): since "
                "0.1.10; not in this library", "lacks 1 of them; its form "
                "with C++ symbols has them")
    old = "_ZN3tvm3ffi4json9StringifyERKNS0_3AnyENS0_8OptionalIivEE"
    text = work.tvmffi("check", with_symbol(work, old), status=1)
    expect_text(text, "since 0.1.0, not after 0.1.12; not in this "
                "library", "newest stock wheel with all of them: 0.1.12",
                "lacks 1")
    text = work.tvmffi("check", with_symbol(work, "_ZN3tvm3ffi7unknownEv"),
                       status=1)
    expect_text(text, "tvm::ffi::unknown(): in no wheel", "no stock wheel",
                "this library lacks 1 of them\n")


def check_real(work):
    """The compiled part of the stock package."""
    core = work.python("import importlib.util\n"
                       "print(importlib.util.find_spec('tvm_ffi.core').origin)"
                       ).strip()
    text = work.tvmffi("check", core)
    expect_text(text, "linked with libtvm_ffi.so: yes",
                "    TVMFFIFunctionCall", "this library has all of them")


def check_bad(work):
    whole = with_symbol(work, "TVMFFIUnknown").read_bytes()
    cut = work.top / "cut.so"
    cut.write_bytes(whole[:2000])
    program = work.top / "object.o"
    run([*work.cc, "-c", work.file("object.c", "int x;\n"), "-o", program])
    for path, part in ((cut, "is damaged"), (__file__, "not an ELF file"),
                       (work.top / "absent.so", "No such file"),
                       (work.top, "Is a directory"),
                       (program, "no dynamic symbols")):
        text = work.tvmffi("check", path, status=2)
        expect_text(text, "tvmffi: ", part)


def check_table(work):
    """The table against the stock library, and what it has that is not in an
    older one."""
    stock = work.python("import tvm_ffi.libinfo as i\n"
                        "print(i.find_libtvm_ffi())").strip()
    script = [sys.executable, PROJECT / "symbols.py", "--check"]
    run([*script, "0.1.15.post2", stock])
    text = run([*script, "0.1.12", stock], status=1)
    expect_text(text, "TVMFFIBigIntFromByteArray", "OptionalIivEE")


def debug_sections(work):
    """A release's library has no paths of its builder, but symbols for gdb."""
    sys.path.insert(0, str(PROJECT))
    from hatch_build import drop_debug_sections
    made = work.top / "debug.so"
    run([*work.cc, "-g", "-shared", "-fPIC", "-o", made, work.file(
        "debug.c", "static int hidden(void) { return 42; }\n"
        "int shown(void); int shown(void) { return hidden(); }\n")])
    expect(str(work.top).encode() in made.read_bytes(), "no path to clear")
    drop_debug_sections(made)
    expect(str(work.top).encode() not in made.read_bytes(), "a path is left")
    expect_text(run(["nm", made]), " hidden", " shown")
    output = work.python(f"import ctypes; print(ctypes.CDLL('{made}').shown())")
    expect(output == "42\n", output)


CASES = [
    ("the wheel's library, tag and licences", contents),
    ("a wheel for aarch64", cross_wheel),
    ("no debug information", debug_sections),
    ("paths and options compile and link a program", paths),
    ("pkg-config", pkg_config),
    ("CMake: tvmffi::tvmffi", cmake),
    ("usage", usage),
    ("python -m tvmffi run", run_program),
    ("activate", activate),
    ("fast", fast),
    ("extension module", extension),
    ("build compiles what changed", build),
    ("build: C++, with this library", build_on_both),
    ("build: errors", build_errors),
    *inline.CASES,
    *((f"template: {name}", template(name)) for name in
      ("setuptools", "scikit-build-core", "meson-python")),
    ("check: functions of the ABI", check_c),
    ("check: C++ symbols", check_cxx),
    ("check: the stock package", check_real),
    ("check: bad files", check_bad),
    ("check: the table is that of the wheels", check_table),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--only", default="", help="a part of a name")
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        work = Work(folder, shlex.split(args.cc))
        for name, case in CASES:
            if args.only not in name:
                continue
            if case is cross_wheel and os.environ.get("CI") != "true" \
                    and not shutil.which("aarch64-linux-gnu-gcc"):
                tap.skip(name, "no aarch64-linux-gnu-gcc")
                continue
            include = sysconfig.get_path("include")
            if case in (fast, extension) and \
                    not (Path(include) / "Python.h").is_file():
                tap.skip(name, f"no Python.h in {include}: install python3-dev")
                continue
            try:
                case(work)
                problem = None
            except (OSError, RuntimeError, ValueError) as error:
                problem = str(error) or repr(error)
            tap.ok(problem is None, name, problem or "")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
