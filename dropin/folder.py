#!/usr/bin/env python3
"""Makes a folder from which Python, Rust and C++ load LIBRARY as libtvm_ffi.so.

    folder.py LIBRARY FOLDER

The Python package finds the library by the file list of the first package
apache-tvm-ffi on the path. So the folder is a package of that name with only
the library, and its script for gdb.
"""

import os
import shutil
import sys
from pathlib import Path

VERSION = "0.1.15"
LIBRARY = "lib/libtvm_ffi.so"
PRINTERS = Path(__file__).resolve().parents[1] / "debug/tvmffi_gdb.py"


def make(library, folder):
    """Makes or updates the folder; returns its path."""
    folder = Path(folder).resolve()
    info = folder / f"apache_tvm_ffi-{VERSION}.dist-info"
    for path in (info, folder / "lib"):
        path.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: apache-tvm-ffi\nVersion: {VERSION}\n")
    (info / "RECORD").write_text(f"{LIBRARY},,\n")
    # A process may have the old file mapped, so replace it, not its content.
    fresh = folder / (LIBRARY + ".new")
    shutil.copy2(library, fresh)
    fresh.replace(folder / LIBRARY)
    shutil.copy2(PRINTERS, folder / (LIBRARY + "-gdb.py"))
    os.utime(folder)  # for builds that compare the folder's time
    return folder


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    make(*sys.argv[1:])
