import subprocess
import sys
import sysconfig
from pathlib import Path

import tvmffi
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

# CPython without a GIL has no limited API.
LIMITED = sys.version_info >= (3, 12) and \
    not sysconfig.get_config_var("Py_GIL_DISABLED")


class WithStubs(build_ext):
    """Writes a stub beside each extension module, also beside that of an
    editable install, which is in the source folder."""

    def write_stub(self, extension):
        module = Path(self.get_ext_fullpath(extension.name))
        stub = module.with_name(extension.name.rpartition(".")[2] + ".pyi")
        done = subprocess.run([sys.executable, "-m", "tvmffi", "stub", module,
                               "-o", stub], stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise CompileError(done.stderr.strip())

    def build_extension(self, extension):
        super().build_extension(extension)
        self.write_stub(extension)

    def copy_extensions_to_source(self):
        super().copy_extensions_to_source()
        for extension in self.extensions:
            self.write_stub(extension)


setup(
    ext_modules=[Extension(
        "demo.kernels", ["src/demo/kernels.c"],
        include_dirs=[tvmffi.includedir()], py_limited_api=LIMITED,
        extra_compile_args=["-fvisibility=hidden"],
        define_macros=[("Py_LIMITED_API", "0x030c0000")] * LIMITED)],
    options={"bdist_wheel": {"py_limited_api": "cp312"}} if LIMITED else {},
    cmdclass={"build_ext": WithStubs})
