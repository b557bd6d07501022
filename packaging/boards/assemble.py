#!/usr/bin/env python3
"""Writes the folder FOLDER/tvmffi for a system: tvmffi.h, the system's port of
it, and the files by which the system's tools find them. Copy the folder where
the tools look for libraries: docs/porting.md, Systems.

For cmsis, also writes the pack, FOLDER/tvmffi.tvmffi.VERSION.pack."""

import argparse
import re
import shutil
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
LICENSES = ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"]
ONE_THREAD = "boards/tvmffi_one_thread.h"
FREERTOS = ["freertos/tvmffi_freertos.c", "freertos/tvmffi_freertos.h"]
# The port, the folder of C files, and files from beside the system's own.
SYSTEMS = {
    "arduino": ("tvmffi_arduino.h", "src", [ONE_THREAD, *FREERTOS]),
    "cmsis": ("tvmffi_cmsis.h", "", [ONE_THREAD, *FREERTOS]),
    "esp-idf": ("tvmffi_freertos.h", "", FREERTOS),
    "freertos": ("tvmffi_freertos.h", "", []),
    "zephyr": ("tvmffi_zephyr.h", "", []),
}
# All files of the program then have the port, without an option of the
# compiler.
PORT = """#ifndef TVMFFI_PORT
#define TVMFFI_PORT "{}"
#endif

"""


def version_of(header):
    return ".".join(re.search(rf"#define TVMFFI_VERSION_{part} (\d+)",
                              header)[1]
                    for part in ("MAJOR", "MINOR", "PATCH"))


def assemble(system, folder):
    """Writes the folder and returns its path."""
    port, sources, others = SYSTEMS[system]
    header = (ROOT / "tvmffi.h").read_text(encoding="utf-8")
    target = Path(folder) / "tvmffi"
    (target / sources).mkdir(parents=True)
    (target / sources / "tvmffi.h").write_text(PORT.format(port) + header,
                                               encoding="utf-8")
    for name in ["boards/tvmffi.c", *others]:
        shutil.copy(PACKAGING / name, target / sources)
    for name in LICENSES:
        shutil.copy(ROOT / name, target)
    for path in sorted((PACKAGING / system).rglob("*")):
        if path.is_dir():
            continue
        name = path.relative_to(PACKAGING / system)
        is_source = path.suffix in (".c", ".h")
        copy = target / sources / name if is_source else target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        if path.name == "keywords.txt":  # Arduino's IDE needs tabs
            text = text.replace(" ", "\t")
        copy.write_text(text.replace("@VERSION@", version_of(header)),
                        encoding="utf-8")
    if system == "cmsis":
        write_pack(target, version_of(header))
    return target


def write_pack(target, version):
    name = f"{next(target.glob('*.pdsc')).stem}.{version}.pack"
    with zipfile.ZipFile(target.parent / name, "w",
                         zipfile.ZIP_DEFLATED) as pack:
        for path in sorted(target.rglob("*")):
            pack.write(path, path.relative_to(target))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=sorted(SYSTEMS))
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    if (args.folder / "tvmffi").exists():
        sys.exit(f"{args.folder / 'tvmffi'} exists: delete it or name another "
                 "folder")
    print(assemble(args.system, args.folder))


if __name__ == "__main__":
    main()
