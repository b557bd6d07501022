#!/usr/bin/env python3
"""Writes src/tvmffi/symbols.txt: which stock wheel has which symbols.

    symbols.py [--check VERSION LIBRARY]

It downloads the wheels of apache-tvm-ffi by pip. With --check it compares the
table with the library of one wheel, and downloads nothing.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "src"))
from tvmffi import check  # noqa: E402
from tvmffi.elf import Elf  # noqa: E402

# The oldest first. A new release is added at the end.
WHEELS = ("0.1.0 0.1.1 0.1.2 0.1.3 0.1.4 0.1.5 0.1.6 0.1.7 0.1.8.post2 0.1.9 "
          "0.1.10 0.1.11 0.1.12 0.1.13.post2 0.1.13.post3 0.1.14.post0 "
          "0.1.14.post1 0.1.15.post1 0.1.15.post2").split()
HEAD = """\
# Written by packaging/python/symbols.py: the stock wheels that it compares,
# then each symbol with the first and the last of them that has it.
"""


def symbols_of(library):
    return {s.name for s in Elf(library).symbols if s.defined
            and (check.C_NAME.match(s.name) or check.CXX_NAME.match(s.name))}


def download(version):
    """The symbols of a wheel for any version of Python."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
             "--disable-pip-version-check", "--only-binary=:all:",
             "--platform=manylinux_2_28_x86_64", "--python-version=3.12",
             f"--dest={folder}", f"apache-tvm-ffi=={version}"], check=True)
        wheel, = Path(folder).iterdir()
        with zipfile.ZipFile(wheel) as files:
            name = files.extract("tvm_ffi/lib/libtvm_ffi.so", folder)
        return symbols_of(name)


def table(found):
    """The text of the table from [(version, symbols)]."""
    lines = ["wheels " + " ".join(version for version, _ in found)]
    for name in sorted(set().union(*(names for _, names in found))):
        have = [i for i, (_, names) in enumerate(found) if name in names]
        if have != list(range(have[0], have[-1] + 1)):
            sys.exit(f"{name} was removed and added again")
        lines.append(f"{name} {found[have[0]][0]} {found[have[-1]][0]}")
    return HEAD + "\n".join(lines) + "\n"


def differences(version, library):
    wheels, symbols = check.read_table()
    at = wheels.index(version)
    listed = {name for name, (first, last) in symbols.items()
              if wheels.index(first) <= at <= wheels.index(last)}
    return sorted(listed ^ symbols_of(library))


def main(arguments):
    if not arguments:
        text = table([(version, download(version)) for version in WHEELS])
        (HERE / "src/tvmffi/symbols.txt").write_text(text)
        return 0
    if len(arguments) != 3 or arguments[0] != "--check":
        sys.exit(__doc__)
    found = differences(*arguments[1:])
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
