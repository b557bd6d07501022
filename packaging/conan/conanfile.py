"""The recipe of Conan 2. It packages the sources that it lies in."""

import re
from os.path import join

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

# Options of tvmffi.h in lower case. All files of a program must agree on the
# first ones.
COMMON = ["no_threads", "no_float", "no_stdio", "no_types", "system_dlpack"]
LIBRARY = ["no_pool", "no_backtrace", "no_dlopen", "no_containers",
           "no_reflection", "no_builtins", "no_extra", "no_metadata", "debug"]
SOURCES = ["CMakeLists.txt", "LICENSE*", "tvmffi.h", "debug/*", "dropin/*.c",
           "rpc/*.h", "legacy/*.h", "hosts/*.h", "packaging/*.in"]


class Tvmffi(ConanFile):
    name = "tvmffi"
    description = "TVM FFI in one C header, and its runtime as a library"
    license = "Apache-2.0 OR MIT"
    topics = "tvm", "ffi", "machine-learning", "single-header"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False],
               **{name: [True, False] for name in COMMON + LIBRARY}}
    default_options = {name: False for name in options}
    languages = "C"

    def set_version(self):
        header = load(self, join(self.recipe_folder, "../../tvmffi.h"))
        self.version = ".".join(re.findall(
            r"^#define TVMFFI_VERSION_\w+ (\d+)", header, re.M))

    def export_sources(self):
        root = join(self.recipe_folder, "../..")
        for pattern in SOURCES:
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name in COMMON + LIBRARY:
            toolchain.cache_variables[f"TVMFFI_{name.upper()}"] = \
                bool(self.options.get_safe(name))
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE*", self.source_folder,
             join(self.package_folder, "licenses"))
        # Conan writes these for its users, with the names below.
        rmdir(self, join(self.package_folder, "lib/cmake"))
        rmdir(self, join(self.package_folder, "lib/pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_config_version_compat",
                                   "SameMinorVersion")
        header = self.cpp_info.components["header"]
        header.set_property("cmake_target_name", "tvmffi::header")
        header.set_property("pkg_config_name", "tvmffi-header")
        header.libdirs = []
        header.defines = [f"TVMFFI_{name.upper()}=1" for name in COMMON
                          if self.options.get_safe(name)]
        library = self.cpp_info.components["library"]
        library.set_property(
            "cmake_target_name",
            "tvmffi::tvmffi" if self.options.shared else "tvmffi::static")
        library.set_property("pkg_config_name", "tvmffi")
        library.requires = ["header"]
        library.includedirs = []
        library.libs = ["tvmffi"]
        if not self.options.shared and self.settings.os in ("Linux",
                                                            "FreeBSD"):
            library.system_libs = ["pthread", "dl"]
