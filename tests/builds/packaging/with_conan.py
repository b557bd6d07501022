"""Conan: the recipe's own test, and a project that uses the package."""

from with_cmake import begin, kernels
from work import (KERNELS, PROGRAM, VERSION, check_headers, expect,
                  needs_runtime, run, shell, use_kernels, write)


def new_home(work, name):
    """The environment of Conan with its own home."""
    home = work.plain / name
    env = {"CONAN_HOME": str(home), "CMAKE_GENERATOR": "Ninja"}
    run(["conan", "profile", "detect"], **env)
    profile = home / "profiles/default"
    profile.write_text(profile.read_text().replace("=Release", "=Debug"))
    return env


def static(work):
    """The document's commands. The first runs the recipe's test, too."""
    env = new_home(work, "conan")
    folder = work.folder("conan")
    (folder / "tvmffi").symlink_to(work.source)
    shell(work.block("Conan", "sh"), folder, **env)
    write(folder, conanfile_txt=work.block("Conan", "ini"), program_c=PROGRAM,
          kernels_c=KERNELS, CMakeLists_txt=begin(work)
          + work.block("find_package", "cmake")
          + "target_link_libraries(program PRIVATE tvmffi::static)\n"
          + kernels(work))
    shell(work.block("Conan", "sh", 1).replace("=Release", "=Debug"), folder,
          **env)
    run([folder / "build/program"])
    expect(not needs_runtime(folder / "build/program"), "it is shared")
    use_kernels(folder / "build/libkernels.so")


def shared(work):
    """The options of the recipe reach the library and the recipe's test."""
    env = new_home(work, "conan-shared")
    run(["conan", "create", work.source / "packaging/conan",
         "-o", "tvmffi/*:shared=True", "-o", "tvmffi/*:no_extra=True",
         "-o", "tvmffi/*:no_stdio=True"], **env)
    libraries = list(work.plain.glob("conan-shared/p/b/*/p/lib/libtvmffi.*"))
    names = sorted(library.name for library in libraries)
    expect(names == ["libtvmffi.so", "libtvmffi.so.0",
                     f"libtvmffi.so.{VERSION}"],
           f"packaged: {names}")
    check_headers(libraries[0].parents[1] / "include")
    text = run(["strings", libraries[0]])
    expect("ffi.ArraySize" in text and "ffi.ToJSONGraphString" not in text,
           "no_extra has no effect")


CASES = [
    ("Conan, a static library", static),
    ("Conan, a shared library with options", shared),
]
