"""Reads the dynamic symbols of an ELF file."""

import struct
from pathlib import Path
from typing import NamedTuple

DYNAMIC, DYNSYM = 6, 11  # types of sections
NEEDED, RPATH, RUNPATH = 1, 15, 29  # tags of the dynamic section
WEAK = 2                 # a symbol's binding

# Formats for 32 and 64 bits, and the fields' indices in them.
HEADER = {1: "HHIIIIIHHHHHH", 2: "HHIQQQIHHHHHH"}
SECTION = {1: "IIIIIIIIII", 2: "IIQQQQIIQQ"}
ENTRY = {1: "iI", 2: "qQ"}
SYMBOL = {1: "IIIBBH", 2: "IBBHQQ"}
NAME, INFO, SECTION_INDEX = 0, {1: 3, 2: 1}, {1: 5, 2: 3}
TYPE, OFFSET, SIZE, LINK = 1, 4, 5, 6


class ElfError(ValueError):
    """A file that is not an ELF file, or is damaged."""


class Symbol(NamedTuple):
    name: str
    defined: bool
    weak: bool


class Elf:
    """`symbols` are the dynamic symbols, `needed` the names of the libraries
    that the loader opens first, and `folders` those it searches first."""

    def __init__(self, path):
        self.origin = str(Path(path).resolve().parent)
        self.data = Path(path).read_bytes()
        kinds = (b"\1", b"\2")
        if self.data[:4] != b"\x7fELF" or self.data[4:5] not in kinds \
                or self.data[5:6] not in kinds:
            raise ElfError(f"{path} is not an ELF file")
        self.bits = self.data[4]
        self.order = "<" if self.data[5] == 1 else ">"
        try:
            self._read()
        except (struct.error, IndexError, ValueError):
            raise ElfError(f"{path} is damaged: it ends too early") from None
        if not self.symbols:
            raise ElfError(f"{path} has no dynamic symbols")

    def _read(self):
        header = struct.unpack_from(self.order + HEADER[self.bits], self.data,
                                    16)
        start, size, count = header[5], header[10], header[11]
        form = self.order + SECTION[self.bits]
        sections = [struct.unpack_from(form, self.data, start + i * size)
                    for i in range(count)]
        self.symbols, self.needed, self.folders = [], [], []
        for section in sections:
            if section[TYPE] == DYNSYM:
                names = sections[section[LINK]][OFFSET]
                self.symbols = [self._symbol(names, fields) for fields in
                                self._table(section, SYMBOL)][1:]
            elif section[TYPE] == DYNAMIC:
                names = sections[section[LINK]][OFFSET]
                for tag, value in self._table(section, ENTRY):
                    self._dynamic(tag, names + value)

    def _dynamic(self, tag, name):
        if tag == NEEDED:
            self.needed.append(self._string(name))
        elif tag in (RPATH, RUNPATH):
            text = self._string(name).replace("${ORIGIN}", "$ORIGIN")
            self.folders += text.replace("$ORIGIN", self.origin).split(":")

    def _table(self, section, forms):
        end = section[OFFSET] + section[SIZE]
        return struct.iter_unpack(self.order + forms[self.bits],
                                  self.data[section[OFFSET]:end])

    def _symbol(self, names, fields):
        return Symbol(self._string(names + fields[NAME]),
                      fields[SECTION_INDEX[self.bits]] != 0,
                      fields[INFO[self.bits]] >> 4 == WEAK)

    def _string(self, start):
        end = self.data.index(b"\0", start)
        return self.data[start:end].decode("utf-8", "replace")
