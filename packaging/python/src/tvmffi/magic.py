"""%%tvmffi, for IPython and notebooks: compiles a cell and loads it."""

import argparse
import shlex

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class

from . import compiler

LINK_OPTIONS = ("-l", "-L", "-Wl,")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(f"%%tvmffi: {message}")


PARSER = Parser("%%tvmffi", add_help=False, allow_abbrev=False)
PARSER.add_argument("--name")
PARSER.add_argument("--language", default="c", choices=compiler.LANGUAGES)


@magics_class
class TvmffiMagics(Magics):
    @cell_magic
    def tvmffi(self, line, cell):
        """Compiles the cell, whose exported functions become variables.

        %%tvmffi [--name NAME] [--language c|c++|cuda] [compiler's options]

        The cell is C, C++ or CUDA and needs no line that includes tvmffi.h.
        With a name, this variable is the module, and the functions are its
        attributes.
        """
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise UsageError(f"%%tvmffi: {error}") from None
        options, flags = PARSER.parse_known_args(words)
        if options.name is not None and not options.name.isidentifier():
            raise UsageError(f"%%tvmffi: {options.name!r} is not the name of a "
                             "variable")
        # Lines have the numbers that they have in the cell, below this one.
        loaded, functions = compiler.load_text(
            "\n" + cell, options.name or "cell", options.language,
            [f for f in flags if not f.startswith(LINK_OPTIONS)],
            [f for f in flags if f.startswith(LINK_OPTIONS)])
        self.shell.push({options.name: loaded} if options.name else functions)
