"""CMake: find_package, add_subdirectory, FetchContent and the options."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from work import (KERNELS, PROGRAM, ROOT, VERSION, check_gdb_script,
                  check_headers, expect, files_in, needed, needs_runtime, run,
                  shell, use_kernels, write)

GENERATORS = {"Ninja": "Ninja", "Makefiles": "Unix Makefiles"}
LANGUAGES = {"C": "c", "C++": "cpp"}
ALL_KINDS = [(language, generator)
             for language in LANGUAGES for generator in GENERATORS]


def configure(work, name, language, generator, text, *options,
              program=PROGRAM):
    """Configures a user's project and returns its build folder."""
    folder = work.folder(f"{name} {language} {generator}")
    suffix = LANGUAGES[language]
    if language == "C++":
        text = text.replace("user C)", "user CXX)").replace(".c)", ".cpp)")
    write(folder, CMakeLists_txt=text,
          **{f"program_{suffix}": program, f"kernels_{suffix}": KERNELS})
    if "add_subdirectory(tvmffi)" in text:
        (folder / "tvmffi").symlink_to(work.source)
    run(["cmake", "-S", folder, "-B", folder / "build", "-G",
         GENERATORS[generator], "-DCMAKE_BUILD_TYPE=Debug",
         f"-DCMAKE_INSTALL_PREFIX={folder / 'root'}", *options])
    return folder / "build"


def build(work, *arguments, **program):
    built = configure(work, *arguments, **program)
    run(["cmake", "--build", built])
    return built


def begin(work):
    """The first lines of a user's CMakeLists.txt."""
    return work.block("CMake", "cmake").split("add_subdirectory")[0]


def kernels(work):
    return work.block("CMake", "cmake", 1)


def refused(work, name, text, said, *options, language="C"):
    """CMake stops with an error that has the words `said`."""
    try:
        configure(work, name, language, "Ninja", text, *options)
    except RuntimeError as error:
        found = " ".join(str(error).split())
        expect(said in found, found)
    else:
        expect(False, f"{name} is not refused")


# -- find_package --------------------------------------------------------


def install(work):
    """Installs by the document's commands, then moves the installation."""
    folder = work.folder("installed by cmake")
    (folder / "tvmffi").symlink_to(work.source)
    script = work.block("find_package", "sh").replace("=Release", "=Debug")
    shell(script, folder, PREFIX=str(folder / "root"),
          CMAKE_GENERATOR="Unix Makefiles")
    check_gdb_script(folder / "root")
    check_headers(folder / "root/include")
    (folder / "root").rename(work.top / "cmake moved")


LIBRARIES = """
target_link_libraries(program PRIVATE tvmffi::tvmffi)
add_executable(program_static program.c)
target_link_libraries(program_static PRIVATE tvmffi::static)
"""


def found(by, language, generator):
    """All targets of an installation, by CMake or by meson."""
    def case(work):
        built = build(
            work, f"found {by}", language, generator,
            begin(work) + work.block("find_package", "cmake") + LIBRARIES
            + kernels(work), "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
            f"-DCMAKE_PREFIX_PATH={work.top / by} moved")
        for name, runtime in ("program", True), ("program_static", False):
            run([built / name])
            expect(needs_runtime(built / name) == runtime,
                   f"{name} is linked with the other library")
        use_kernels(built / "libkernels.so")
        # The folder before the move has the same files.
        commands = (built / "compile_commands.json").read_text()
        expect(f"{by} moved/include" in commands, commands)
        loaded = run(["readelf", "-d", built / "program"])
        expect(f"{by} moved/lib" in loaded, loaded)
    return case


VERSIONS = """
foreach(version {versions})
  find_package(tvmffi ${{version}} QUIET)
  if(tvmffi_FOUND)
    file(APPEND found "${{version}}\\n")
  endif()
  unset(tvmffi_DIR CACHE)
endforeach()
set(CMAKE_SIZEOF_VOID_P 2)
find_package(tvmffi 0.1 QUIET)
if(NOT tvmffi_FOUND)
  file(APPEND found "none for 16 bits\\n")
endif()
"""
MINOR, PATCH = VERSION.split(".")[1:]
LATER, NEXT = f"0.{MINOR}.{int(PATCH) + 1}", f"0.{int(MINOR) + 1}"
GOOD_VERSIONS = [f"0.{MINOR}", VERSION, f"{VERSION};EXACT",
                 f"0.{MINOR}...{NEXT}", f"0.0...<{LATER}", f"0.0...{VERSION}"]
BAD_VERSIONS = ["0", "0.0", LATER, NEXT, "1", f"{LATER}...{NEXT}",
                f"0.0...<{VERSION}"]


def versions(by):
    """Which requests for a version an installation accepts."""
    def case(work):
        text = VERSIONS.format(versions=" ".join(
            f'"{v}"' for v in GOOD_VERSIONS + BAD_VERSIONS))
        built = configure(work, f"versions {by}", "C", "Ninja",
                          begin(work) + text,
                          f"-DCMAKE_PREFIX_PATH={work.top / by} moved")
        accepted = (built.parent / "found").read_text().splitlines()
        expect(accepted == GOOD_VERSIONS + ["none for 16 bits"],
               f"accepted: {accepted}")
    return case


def components(work):
    """A required target that is not installed is an error with its name."""
    built, root = work.top / "static only", work.top / "static only/root"
    run(["cmake", "-S", work.source, "-B", built, "-DCMAKE_BUILD_TYPE=Debug",
         "-DBUILD_SHARED_LIBS=OFF", f"-DCMAKE_INSTALL_PREFIX={root}"])
    run(["cmake", "--build", built, "--target", "install"])
    names = libraries_in(root)
    expect(len(names) == 1 and names[0].endswith("libtvmffi.a"), f"{names}")
    flags = run(["pkg-config", "--libs", "tvmffi"],
                PKG_CONFIG_PATH=str((root / names[0]).parent / "pkgconfig"))
    expect("-ldl" in flags, flags)

    line = work.block("find_package", "cmake").strip()
    text = begin(work) + line.replace(")", " COMPONENTS {})")
    prefix = f"-DCMAKE_PREFIX_PATH={root}"
    configure(work, "static only", "C", "Ninja", text.format("header static"),
              prefix)
    for name, said in (("tvmffi", "tvmffi::tvmffi is not installed"),
                       ("cxx", "from its sources with -DTVMFFI_CXX=ON")):
        refused(work, f"no {name}", text.format(name), said, prefix)


# -- from sources --------------------------------------------------------


def libraries_in(folder):
    return [name for name in files_in(folder)
            if re.search(r"libtvmffi\.(a|so)$", name)]


def check_only_static(work, built):
    """The static library is built, and nothing of ours is installed."""
    run([built / "program"])
    use_kernels(built / "libkernels.so")
    names = [name.split("/")[-1] for name in libraries_in(built)]
    expect(names == ["libtvmffi.a"], f"built: {names}")
    run(["cmake", "--install", built])
    installed = files_in(built.parent / "root")
    expect(installed == ["bin/program"], f"installed: {installed}")


INSTALL = "install(TARGETS program)\n"


def subdirectory(language, generator):
    def case(work):
        check_only_static(work, build(
            work, "subdirectory", language, generator,
            work.block("CMake", "cmake") + kernels(work) + INSTALL))
    return case


def fetched(language, generator):
    def case(work):
        text = work.block("CMake", "cmake").replace(
            "add_subdirectory(tvmffi)\n", work.block("FetchContent", "cmake"))
        check_only_static(work, build(
            work, "fetched", language, generator,
            text + kernels(work) + INSTALL))
    return case


EXPORT = """
set(TVMFFI_INSTALL ON)
add_subdirectory(tvmffi)
target_link_libraries(program PRIVATE tvmffi::tvmffi)
add_library(mine STATIC program.c)
target_link_libraries(mine PUBLIC tvmffi::tvmffi)
install(TARGETS mine EXPORT mine)
install(EXPORT mine DESTINATION lib/cmake/mine)
"""


def parent_installs(work):
    """With TVMFFI_INSTALL, a parent project may export what links ours."""
    built = build(work, "parent installs", "C", "Ninja", begin(work) + EXPORT)
    run(["cmake", "--install", built])
    names = libraries_in(built.parent / "root")
    expect(len(names) == 2, f"installed: {names}")
    targets = built.parent / "root/lib/cmake/mine/mine.cmake"
    expect("tvmffi::tvmffi" in targets.read_text(), "mine links another name")


def ships(built):
    """An installed program finds the library, wherever the folder is."""
    run(["cmake", "--install", built])
    moved = built.parent / "moved"
    (built.parent / "root").rename(moved)
    expect(len(files_in(moved)) == 2, f"installed: {files_in(moved)}")
    shutil.rmtree(built)
    run([moved / "bin/program"])


def ship(work, target="tvmffi::tvmffi"):
    return f"target_link_libraries(program PRIVATE {target})\n" + work.block(
        "Ship the library", "cmake").replace("tvmffi::tvmffi", target)


def shipped(work):
    """A program and the library, from sources and from installations."""
    for name, found in (("sources", "add_subdirectory(tvmffi)\n"),
                        *((by, work.block("find_package", "cmake"))
                          for by in ("cmake", "meson"))):
        ships(build(work, f"shipped {name}", "C", "Ninja",
                    begin(work) + found + ship(work),
                    f"-DCMAKE_PREFIX_PATH={work.top / name} moved"))


def twice(work):
    """Two parts of a project bring the sources: the first one is used."""
    again = "add_subdirectory(tvmffi again)\n"
    text = work.block("CMake", "cmake")
    check_only_static(work, build(work, "twice", "C", "Ninja",
                                  text + kernels(work) + INSTALL + again))
    for name, between, said in (
            ("older", "set_target_properties(tvmffi_header PROPERTIES "
             "TVMFFI_VERSION 0.0.9)\n", "already has 0.0.9"),
            ("late", "set(TVMFFI_CXX ON)\n", "Set TVMFFI_CXX before")):
        refused(work, f"twice {name}", text + between + again, said)


# -- options -------------------------------------------------------------

# Options of single files, and those that a header named by TVMFFI_PORT sets.
OWN_WAY = {"ABI_ONLY", "STATIC", "DYNAMIC", "MALLOC", "FREE", "BUILTINS"}


def all_options(work):
    """CMake has every option of the README's table."""
    table = (ROOT / "README.md").read_text().split("\n## Options\n")[1]
    table = table.split("\n## ")[0]
    wanted = set(re.findall(r"`TVMFFI_(\w+)", "\n".join(
        line.split("|")[1] for line in table.split("\n")
        if line.startswith("| `")))) - OWN_WAY
    built = configure(work, "all options", "C", "Ninja",
                      work.block("CMake", "cmake"))
    cache = (built / "CMakeCache.txt").read_text()
    missing = {name for name in wanted if f"\nTVMFFI_{name}:" not in cache}
    expect(len(wanted) > 10 and not missing, f"missing: {missing}")


def symbols(path):
    return re.findall(r" T (\w+)", run(["nm", path]))


def options(work):
    """An option reaches the library, and the program if it needs it."""
    built = build(work, "options", "C", "Ninja",
                  begin(work) + work.block("Options", "cmake")
                  + "add_subdirectory(tvmffi)\n" + LIBRARIES)
    for name in "program", "program_static":
        run([built / name])
    library = symbols(built / "tvmffi/libtvmffi.a")
    expect("my_TVMFFIGetVersion" in library
           and "TVMFFIGetVersion" not in library, "no prefix")
    text = run(["strings", built / "tvmffi/libtvmffi.a"])
    expect("ffi.ToJSONGraphString" not in text and "ffi.ArraySize" in text,
           "TVMFFI_NO_EXTRA has no effect")
    commands = run(["ninja", "-C", built, "-t", "commands", "program"])
    program = [line for line in commands.split("\n")
               if " -c " in line and "program.c" in line][0]
    expect("TVMFFI_PREFIX=my_" in program and "NO_EXTRA" not in program,
           program)


PORT = """
set(TVMFFI_MESSAGE_SIZE 100)
set(TVMFFI_PORT "{port}")
set(TVMFFI_SHARE_INTERFACE ON)
add_subdirectory(tvmffi)
target_link_libraries(program PRIVATE tvmffi::static)
"""
PORT_H = """
#include <stdlib.h>
extern int allocations;
static inline void *my_malloc(size_t n) { ++allocations; return malloc(n); }
#define TVMFFI_MALLOC(n) my_malloc(n)
#define TVMFFI_FREE(p) free(p)
"""
PORT_PROGRAM = PROGRAM.replace("return version", """
  char text[TVMFFI_MESSAGE_SIZE == 100 ? 1 : -1];
  (void)text;
  if (allocations == 0 || !TVMFFI_SHARE_INTERFACE) return 3;
  return version""") + "int allocations;\n"


def port(work):
    """The header that TVMFFI_PORT names replaces the allocator. The program
    shares the interface with the static library."""
    write(work.top, port_h=PORT_H)
    built = build(work, "port", "C", "Ninja",
                  begin(work) + PORT.format(port=work.top / "port.h"),
                  program=PORT_PROGRAM)
    run([built / "program"])


# -- upstream's headers --------------------------------------------------

CXX = "C++ with upstream's headers"
BINARY = "One binary without Python"
LISTS = "c-symbols", "cxx-symbols", "cxx-symbols-older"
PRINTED = "equal: 1\nadd_one(1): 2\n"
# Modules on our header and on upstream's, what the document says of a program
# that needs only libc, and a program that leaks an object.
MORE = """
add_library(kernels MODULE kernels.cpp)
target_link_libraries(kernels PRIVATE tvmffi::header)
file(WRITE ${CMAKE_BINARY_DIR}/upstream.cpp [[
#include <tvm/ffi/function.h>
static int add_one(int x) { return x + 1; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, add_one)
]])
add_library(upstream MODULE ${CMAKE_BINARY_DIR}/upstream.cpp)
target_link_libraries(upstream PRIVATE tvmffi::cxx_header)
"""
WHOLE = """
set_target_properties(program_static PROPERTIES ENABLE_EXPORTS ON)
target_link_options(program_static PRIVATE -static-libstdc++ -static-libgcc)
"""
LEAK = """
file(WRITE ${CMAKE_BINARY_DIR}/leak.cpp [[
#include <tvm/ffi/c_api.h>
int main() {
  TVMFFIByteArray text = {"a text that needs an object", 27};
  TVMFFIAny leaked;
  return TVMFFIStringFromByteArray(&text, &leaked);
}
]])
add_executable(leak ${CMAKE_BINARY_DIR}/leak.cpp)
target_link_libraries(leak PRIVATE tvmffi::cxx_static)
"""


def upstream(work, text, name, *options):
    """Builds the document's C++ program by a CMakeLists.txt."""
    return build(work, name, "C++", "Ninja", text + MORE, *options,
                 program=work.block(BINARY, "cpp"))


def runs(built, name, library):
    """A program loads the modules, and needs `library` or no runtime."""
    for module in "libkernels.so", "libupstream.so":
        printed = run([built / name, built / module])
        expect(printed == PRINTED, printed)
        expect(not any("tvm" in n for n in needed(built / module)),
               f"{module} is linked with a runtime")
    wanted = [library] if library else []
    found = [n for n in needed(built / name) if "tvm" in n]
    expect(found == wanted, f"{name} needs {found}, not {wanted}")
    # The functions of the ABI, for modules, are in one of the two.
    symbols = run(["nm", "--dynamic", "--defined-only", built / name])
    expect(("TVMFFIErrorSetRaised" in symbols) == (not library),
           f"the dynamic symbols of {name}: {symbols}")


def exports(path):
    """The library exports upstream's symbols and no other."""
    wanted = {symbol for name in LISTS for symbol in
              (ROOT / f"tests/both/surface/{name}.txt").read_text().split()}
    found = {line.split()[-1] for line in run(
        ["nm", "--dynamic", "--defined-only", path]).splitlines()}
    expect(found == wanted, f"exports: {sorted(found ^ wanted)[:10]}")


def cxx_found(work):
    """The installation has upstream's headers, so its users need no Python."""
    built, root = work.folder("cxx installed"), work.top / "cxx moved"
    run(["cmake", "-S", work.source, "-B", built, "-G", "Ninja",
         "-DCMAKE_BUILD_TYPE=Debug", "-DTVMFFI_CXX=ON",
         f"-DCMAKE_INSTALL_PREFIX={built / 'root'}"])
    run(["cmake", "--build", built, "--target", "install"])
    (built / "root").rename(root)
    exports(next(root.glob("**/libtvm_ffi.so")))
    lines = work.block(CXX, "cmake").split("set(TVMFFI_CXX")[0]
    built = upstream(
        work, lines + work.block(CXX, "cmake", 1)
        + LIBRARIES.replace("tvmffi::tvmffi", "tvmffi::cxx").replace(
            "static.c", "static.cpp").replace("::static", "::cxx_static")
        + WHOLE, "cxx found", f"-DCMAKE_PREFIX_PATH={root}",
        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    runs(built, "program", "libtvm_ffi.so")
    runs(built, "program_static", None)
    expect("libstdc++.so.6" not in needed(built / "program_static"),
           "libstdc++ is not in the program")
    commands = (built / "compile_commands.json").read_text()
    expect("cxx moved/include/tvmffi_cxx" in commands
           and "site-packages" not in commands, commands)


def cxx_fetched(work):
    """Upstream's headers are in the folder that a variable names."""
    include = work.folder("upstream") / "include"
    wheel = run([sys.executable, "-m", "tvm_ffi.config", "--includedir"])
    shutil.copytree(wheel.strip(), include, ignore=shutil.ignore_patterns(
        "dlpack"))
    shutil.copytree(Path(wheel.strip()) / "dlpack",
                    include.parent / "other/dlpack")
    option = work.block(CXX, "sh").split()[-1].replace('"', "") \
        .replace("/path/to/tvm-ffi/include", str(include)) \
        .replace("/path/to/dlpack/include", str(include.parent / "other"))
    text = work.block(CXX, "cmake").replace(
        "add_subdirectory(tvmffi)\n", work.block("FetchContent", "cmake"))
    # gcc must not find two types of one symbol when it optimizes the link.
    built = upstream(work, text + ship(work, "tvmffi::cxx"), "cxx fetched",
                     option, "-DPython_EXECUTABLE=/bin/false",
                     "-DCMAKE_C_FLAGS=-flto", "-DCMAKE_CXX_FLAGS=-flto",
                     "-DCMAKE_SHARED_LINKER_FLAGS=-Werror=odr")
    runs(built, "program", "libtvm_ffi.so")
    ships(built)


LINKED = """
file(WRITE ${CMAKE_BINARY_DIR}/linked.cpp [[
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/function.h>
static int add_one(int x) {
  return tvm::ffi::json::Parse("1").cast<int>() + x;
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, add_one)
]])
add_library(linked MODULE ${CMAKE_BINARY_DIR}/linked.cpp)
target_link_libraries(linked PRIVATE tvmffi::cxx_header ${WHEEL})
"""


def cxx_sanitized(work):
    """One binary: with the document's options, a sanitizer finds a leak. A
    module that is linked with upstream's library uses the program's runtime."""
    script = work.block(BINARY, "sh").replace("&&", "")
    options = re.findall(r"-D[^ ]+=\S*sanitize\S*", script)
    expect(len(options) == 2, script)
    library = run([sys.executable, "-m", "tvm_ffi.config", "--libfiles"])
    built = upstream(work, work.block(BINARY, "cmake") + LEAK + LINKED
                     + work.block(BINARY, "cmake", 2), "cxx sanitized",
                     f"-DWHEEL={library.strip()}", *options)
    runs(built, "program", None)
    expect("libtvm_ffi.so" in needed(built / "liblinked.so"), "not linked")
    printed = run([built / "program", built / "liblinked.so"])
    expect(printed == PRINTED, printed)
    done = subprocess.run([built / "leak"], text=True, capture_output=True)
    expect(done.returncode != 0 and "LeakSanitizer" in done.stderr,
           f"no leak is found: {done.returncode} {done.stderr}")


def cxx_refused(work):
    """What stops the configuration is said."""
    bare = work.folder("a Python without packages")
    run([sys.executable, "-m", "venv", "--without-pip", bare])
    older = work.folder("older headers")
    (older / "tvm/ffi").mkdir(parents=True)
    write(older / "tvm/ffi", c_api_h="#define TVM_FFI_VERSION_MAJOR 0\n"
          "#define TVM_FFI_VERSION_MINOR 1\n#define TVM_FFI_VERSION_PATCH 9\n")
    (older / "dlpack").mkdir()
    write(older / "dlpack", dlpack_h="")
    bare_include = work.folder("without DLPack")
    (bare_include / "tvm/ffi").mkdir(parents=True)
    shutil.copy(ROOT / "tvmffi.h", bare_include / "tvm/ffi/c_api.h")
    text = work.block(CXX, "cmake")
    for number, (message, *given) in enumerate((
            ("Install the Python package apache-tvm-ffi",
             f"-DPython_EXECUTABLE={bare}/bin/python"),
            ("has no folder with tvm/ffi/c_api.h",
             f"-DTVMFFI_CXX_INCLUDE={bare}"),
            ("cxx refused 2 C++ Ninja/up",
             "-DTVMFFI_CXX_INCLUDE=up"),
            ("Add the folder that has it to TVMFFI_CXX_INCLUDE",
             f"-DTVMFFI_CXX_INCLUDE={bare_include}"),
            ("c_api.h has 0.1.9", f"-DTVMFFI_CXX_INCLUDE={older}"),
            ("does not go with TVMFFI_NO_EXTRA", "-DTVMFFI_NO_EXTRA=ON"))):
        refused(work, f"cxx refused {number}", text, message, *given,
                language="C++")
    for other in "tvmffi", "cxx_static":
        refused(work, f"cxx and {other}", text.replace(
            "tvmffi::cxx", f"tvmffi::cxx tvmffi::{other}"),
            "does not agree with the value of TVMFFI_ONE_RUNTIME",
            language="C++")


CASES = [
    *((f"CMake, find_package after {by}: {language}, {generator}",
       found(by, language, generator))
      for by in ("cmake", "meson") for language, generator in ALL_KINDS),
    *((f"CMake, versions after {by}", versions(by))
      for by in ("cmake", "meson")),
    ("CMake, one library and its components", components),
    ("CMake, add_subdirectory: C, Makefiles", subdirectory("C", "Makefiles")),
    ("CMake, add_subdirectory: C++, Ninja", subdirectory("C++", "Ninja")),
    ("CMake, FetchContent: C, Ninja", fetched("C", "Ninja")),
    ("CMake, FetchContent: C++, Makefiles", fetched("C++", "Makefiles")),
    ("CMake, a parent that installs ours", parent_installs),
    ("CMake, a program is shipped with the library", shipped),
    ("CMake, the sources twice", twice),
    ("CMake, every option of the header", all_options),
    ("CMake, options that are set", options),
    ("CMake, TVMFFI_PORT", port),
    ("CMake, upstream's headers, find_package", cxx_found),
    ("CMake, upstream's headers, FetchContent", cxx_fetched),
    ("CMake, upstream's headers, static and sanitized", cxx_sanitized),
    ("CMake, upstream's headers, what is refused", cxx_refused),
]
