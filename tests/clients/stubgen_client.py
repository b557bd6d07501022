#!/usr/bin/env python3
r"""Upstream's tvm-ffi-stubgen on a library of tvmffi.h, on two libraries.

    stubgen_client.py --lib OURS

Compares the files that it writes for Python and Rust, what it prints, and the
package for Python that it makes. The Python that runs this has the wheel.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from transcript import check, record, run

ROOT = Path(__file__).resolve().parents[2]
STUBGEN = Path(sys.executable).with_name("tvm-ffi-stubgen")
SOURCE = r"""
#include "examples/13_objects_in_python/shapes.c"

TVMFFI_FUNC(sum_of, float64, (Point, p), (optional(array(float64)), more)) {
  double sum = p->x + p->y;
  if (more) TVMFFI_FOREACH(float64, item, more) sum += item;
  TVMFFI_RETURN(sum);
}
TVMFFI_DOC(sum_of, "Returns x + y + the sum of more")

TVMFFI_FUNC(name_of, str, (Shape, shape)) {
  TVMFFI_RETURN(tvmffi_any_str(&shape->name));
}

static int set_up(void) {
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Point));
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Circle));
  TVMFFI_TRY(TVMFFI_OVERRIDE("demo.sum_of", sum_of));
  return TVMFFI_OVERRIDE("demo.inner.name_of", name_of);
}
TVMFFI_ON_LOAD(set_up)
"""
BLOCKS = """\
# tvm-ffi-stubgen(begin): import-section
# tvm-ffi-stubgen(end)
# tvm-ffi-stubgen(begin): global/demo
# tvm-ffi-stubgen(end)
class Point:
    # tvm-ffi-stubgen(begin): object/demo.Point
    # tvm-ffi-stubgen(end)
class Circle:
    # tvm-ffi-stubgen(begin): object/demo.Circle
    # tvm-ffi-stubgen(end)
# tvm-ffi-stubgen(begin): global/ffi
# tvm-ffi-stubgen(end)
# tvm-ffi-stubgen(begin): object/ffi.Module
# tvm-ffi-stubgen(end)
"""
UNKNOWN = """\
# tvm-ffi-stubgen(begin): object/demo.Unknown
# tvm-ffi-stubgen(end)
"""
USE = """
import demo, demo.inner
c = demo.Circle("disc", demo.Point(1.0, y=2.0), 3.0, layer=4)
print(sorted(demo.__all__), demo.sum_of(c.origin, [2, 0.5]), c.name, c.radius,
      c.layer, round(c.area(), 3), c.origin.norm() == 5 ** 0.5,
      demo.inner.name_of(c), demo.LIB.alive())
"""


def command(folder, *words, **env):
    done = subprocess.run([str(w) for w in words], cwd=folder,
                          capture_output=True, text=True, timeout=120,
                          env={**os.environ, **env})
    hide = lambda text: text.replace(str(folder), "FOLDER")  # noqa: E731
    return done.returncode, hide(done.stdout), hide(done.stderr)


def compiled(folder):
    """Builds the library as a package for Python has it."""
    (folder / "demo").mkdir()
    library = folder / "demo/libdemo.so"
    (folder / "demo.c").write_text(SOURCE)
    subprocess.run([*shlex.split(os.environ.get("CC") or "cc"), "-shared",
                    "-fPIC", "-O1", f"-I{ROOT}", folder / "demo.c", "-o",
                    library, "-lm"], check=True)
    info = folder / "demo_pkg-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: demo-pkg\nVersion: 1.0\n")
    (info / "RECORD").write_text("demo/libdemo.so,,\n")
    return library


def blocks(folder, library):
    path = folder / "api.py"
    path.write_text(BLOCKS)
    stubgen = (STUBGEN, "--dlls", library, path)
    record("a file that is not up to date",
           command(folder, *stubgen, "--check"))
    record("blocks are filled", command(folder, *stubgen, "--verbose"))
    text = path.read_text()
    record("the file", text)
    check("it names a method and a function",
          "def plus(self" in text and "def sum_of(" in text)
    record("the file is up to date", command(folder, *stubgen, "--check"))
    path.write_text(UNKNOWN)
    record("a type that is not registered", command(folder, *stubgen)[0])
    path.unlink()


def packages(folder, library):
    names = ("--init-pypkg", "demo-pkg", "--init-lib", "demo",
             "--init-prefix", "demo.")
    record("a package is made",
           command(folder, STUBGEN, "--dlls", library, *names, folder))
    crate = folder / "crate"
    (crate / "src").mkdir(parents=True)
    (crate / "Cargo.toml").write_text('[package]\nname = "demo"\n')
    record("modules for Rust are made",
           command(folder, STUBGEN, "--target", "rust", "--dlls", library,
                   *names, crate / "src"))
    for kind in ("**/__init__.py", "**/_ffi_api.py", "**/*.rs"):
        found = sorted(folder.glob(kind))
        check(f"there are files {kind}", found)
        for path in found:
            record(f"the file {path.relative_to(folder)}", path.read_text())
    used = command(folder, sys.executable, "-c", USE, PYTHONPATH=os.pathsep.join(
        filter(None, [str(folder), os.environ.get("PYTHONPATH")])))
    check("the package is used", used[0] == 0)
    record("what the package answers", used)


def layouts(folder, library):
    record("a report of layouts is made",
           command(folder, STUBGEN, "--dlls", library, "--coverage-out",
                   "layouts.json"))
    record("the layouts", (folder / "layouts.json").read_text())


def main(args):
    import tvm_ffi  # noqa: F401  the library that this process loads is shown
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp).resolve()
        library = compiled(folder)
        blocks(folder, library)
        packages(folder, library)
        layouts(folder, library)


if __name__ == "__main__":
    sys.exit(run(__file__, "tvm-ffi-stubgen", main, ["tvm_ffi"],
                 programs=[shlex.split(os.environ.get("CC") or "cc")[0],
                           STUBGEN]))
