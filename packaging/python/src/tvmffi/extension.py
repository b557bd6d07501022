"""Loads the extension module _fast, and compiles it if the package has none for
this Python."""

import importlib.machinery
import importlib.util
import sysconfig
from pathlib import Path

from . import compiler

NAME = "tvmffi._fast"
SOURCE = Path(__file__).parent / "_fast.c"


def compile_module():
    include = Path(sysconfig.get_path("include"))
    if not (include / "Python.h").is_file():
        raise compiler.BuildError(
            f"tvmffi.fast has no module for this Python, and compiles one from "
            f"{include / 'Python.h'}, which is missing: install the header "
            f"files of Python")
    return compiler.compile_library(
        [SOURCE], ["-fvisibility=hidden", f"-I{include}"], [],
        compiler.default_folder())


def load():
    """Returns the module."""
    try:
        return importlib.import_module(NAME)
    except ImportError:
        path = str(compile_module())
    loader = importlib.machinery.ExtensionFileLoader(NAME, path)
    spec = importlib.util.spec_from_file_location(NAME, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
