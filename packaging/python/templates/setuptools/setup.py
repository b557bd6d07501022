import tvmffi
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext


class Kernels(build_ext):
    """Builds a library for tvm_ffi, which is not a module of Python."""

    def get_ext_filename(self, name):
        return name.replace(".", "/") + ".so"

    def get_export_symbols(self, extension):
        return extension.export_symbols


class Wheel(bdist_wheel):
    """Tags the wheel for all versions of Python."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(
    ext_modules=[Extension("demo.kernels", ["src/demo/kernels.c"],
                           include_dirs=[tvmffi.includedir()])],
    cmdclass={"build_ext": Kernels, "bdist_wheel": Wheel})
