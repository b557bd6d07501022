"""What the tests of packaging share: a copy of the project as users get it,
the blocks of docs/packaging.md, programs, and how to run commands.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "packaging"))
import release  # noqa: E402

VERSION = release.header_version(ROOT)
# The headers that every installation has.
HEADERS = sorted(
    path.name for pattern in ("tvmffi.h", "*/tvmffi_*.h", "hosts/*/*.h")
    for path in ROOT.glob(pattern))
# Where the document and the wrap have the address of a clone.
URL = "/path/to/tvmffi"

# The same text in C and in C++. The result is an object, so the runtime does
# more than return a constant.
PROGRAM = """
#include "tvmffi.h"
int main(void) {
  TVMFFI_SCOPE;
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  if (tvmffi_size(tvmffi_list(1, 2, 3)) != 3) return 1;
  return version.minor == TVM_FFI_VERSION_MINOR ? 0 : 2;
}
"""
KERNELS = """
#include "tvmffi.h"
TVMFFI_EXPORT(add_one, int64, (int64, x)) { TVMFFI_RETURN(x + 1); }
"""
USE_KERNELS = """
import sys, tvm_ffi
kernels = tvm_ffi.load_module(sys.argv[1])
sys.exit(kernels.add_one(1) != 2)
"""


class Skipped(Exception):
    """Why a case cannot run on this machine. In CI it is a failure."""


class Work:
    """A folder for all cases. Its paths have a space, but for `plain`."""

    def __init__(self, folder):
        self.plain = Path(folder)
        self.top = self.plain / "with space"
        self.source = self.top / "source/tvmffi"
        self.url = f"file://{self.source}"
        self.doc = (ROOT / "docs/packaging.md").read_text(encoding="utf-8")
        self.copy_source()

    def copy_source(self):
        """Copies what is or will be in git, as a repository with a tag."""
        names = run(["git", "-C", ROOT, "ls-files", "-z", "--cached",
                     "--others", "--exclude-standard"]).split("\0")
        for name in filter(None, names):
            target = self.source / name
            if (ROOT / name).is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, target, follow_symlinks=False)
        git = ["git", "-C", self.source, "-c", "user.name=user",
               "-c", "user.email=user@example.com"]
        run([*git, "init", "--quiet"])
        run([*git, "add", "--all"])
        run([*git, "commit", "--quiet", "--message", "A release"])
        run([*git, "tag", f"v{VERSION}"])

    def folder(self, name):
        path = self.top / name
        path.mkdir(parents=True)
        return path

    def block(self, section, language, number=0):
        """A block of the document, in which the clone is the copy."""
        text = re.split(rf"^##+ {re.escape(section)}\n", self.doc,
                        flags=re.M)[1]
        text = re.split(r"^## ", text, flags=re.M)[0]
        blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
        return blocks[number].replace(URL, f'"{self.url}"') \
            .replace("COMMIT", f"v{VERSION}")


def run(command, cwd=None, **env):
    """Runs a command and returns its output; raises if it fails."""
    command = [str(c) for c in command]
    done = subprocess.run(command, text=True, capture_output=True, cwd=cwd,
                          env={**os.environ, **env},
                          stdin=subprocess.DEVNULL)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)}: exit status "
                           f"{done.returncode}\n{done.stdout[-2000:]}"
                           f"{done.stderr[-2000:]}")
    return done.stdout


def shell(script, cwd, **env):
    return run(["sh", "-euc", script], cwd, **env)


def expect(condition, what):
    if not condition:
        raise RuntimeError(what)


def write(folder, **files):
    """Writes files; `_` in a name stands for its last dot."""
    for name, text in files.items():
        path = folder / ".".join(name.rsplit("_", 1))
        path.write_text(text, encoding="utf-8")


def files_in(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*")
                  if not p.is_dir())


def needed(path):
    """The names of the shared libraries that a program or library needs."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]",
                      run(["readelf", "-d", path], LC_ALL="C"))


def needs_runtime(path):
    return any("tvmffi" in name for name in needed(path))


def check_gdb_script(prefix):
    """gdb finds the script by the path of the library's real file."""
    real = next(prefix.glob("**/libtvmffi.so")).resolve()
    script = prefix / f"share/gdb/auto-load{real}-gdb.py"
    expect(script.is_file(), f"{script} is not installed")


def check_headers(folder):
    found = sorted(path.name for path in folder.iterdir())
    expect(found == HEADERS, f"{folder} has {found}, not {HEADERS}")


def use_kernels(path):
    """Calls the kernel through the stock Python package."""
    expect(not needs_runtime(path), f"{path} needs the library")
    run([sys.executable, "-c", USE_KERNELS, path])
