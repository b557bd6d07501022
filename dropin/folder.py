#!/usr/bin/env python3
"""Makes the folder that puts a libtvm_ffi.so under Python, Rust and C++.

    folder.py LIBRARY FOLDER

The Python package takes the library from the first apache-tvm-ffi of its path
and the file list in it; so the folder is a package of that name which has
nothing but the library.
"""

import os
import shutil
import sys
from pathlib import Path

VERSION = "0.1.15"
LIBRARY = "lib/libtvm_ffi.so"


def make(library, folder):
    """Makes the folder, anew if it is there; returns its path."""
    folder = Path(folder).resolve()
    info = folder / f"apache_tvm_ffi-{VERSION}.dist-info"
    for path in (info, folder / "lib"):
        path.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: apache-tvm-ffi\nVersion: {VERSION}\n")
    (info / "RECORD").write_text(f"{LIBRARY},,\n")
    # A process may have the old file mapped: it is replaced, not written to.
    fresh = folder / (LIBRARY + ".new")
    shutil.copy2(library, fresh)
    fresh.replace(folder / LIBRARY)
    os.utime(folder)  # for builds that look at the folder's time
    return folder


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    make(*sys.argv[1:])
