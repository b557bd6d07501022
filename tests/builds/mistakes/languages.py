#!/usr/bin/env python3
"""What each language and compiler has of the C interface: a short program for
each row of the table in docs/guide.md, compiled for each of its columns, and the
table has what came of it. clang-cl only compiles: see tests/builds/ports/msvc.
Writes TAP.

  languages.py --header tvmffi.h --cc CC [--cxx CXX]
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "tests/tools"), str(ROOT / "tests/builds/ports/msvc")]
from msvc import compiles  # noqa: E402
from tap import Tap  # noqa: E402

HEAD = """#include <stdio.h>
#include "tvmffi.h"
typedef struct { TVMFFIObject base; int64_t x; } Pair;
static int run(TVMFFI_HERE);
TVMFFI_MAIN() { return run(tvmffi_here); }
"""
PAIR = """
TVMFFI_TYPE(Pair, "languages.Pair", TVMFFIObject, (field, int64, x))
TVMFFI_FUNC(get_x, int64, (Pair, pair)) { TVMFFI_RETURN(pair->x); }
static int run(TVMFFI_HERE) {
  int64_t x = 0;
  Pair *pair = TVMFFI_NEW(Pair, tvmffi_int(7));
  TVMFFI_TRY(TVMFFI_REGISTER("get_x", get_x));
  TVMFFI_TRY(tvmffi_call(tvmffi_str("get_x"), tvmffi_out_int64(&x), %s));
  return x == 7 ? 0 : 1;
}"""
# Each program does what its row says. A row of WORKS has "yes" where its program
# runs; one of REFUSED, a mistake, where its program does not compile.
WORKS = {
    "a body is a scope": """
TVMFFI_FUNC(ones, list) { TVMFFI_RETURN(tvmffi_list(tvmffi_int(1))); }
static int run(TVMFFI_HERE) {
  TVMFFIObject *list;
  TVMFFI_TRY(TVMFFI_REGISTER("ones", ones));
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ones"), tvmffi_out_object(&list)));
  return tvmffi_size(tvmffi_obj(list)) == 1 ? 0 : 1;
}""",
    "`tvmffi_scope_open`, `_close`": """
static int run(TVMFFI_HERE) {
  tvmffi_scope scope;
  int none;
  {
    TVMFFI_HERE = tvmffi_scope_open(&scope);
    none = !tvmffi_list(tvmffi_int(1));
  }
  tvmffi_scope_close(&scope);
  return none;
}""",
    "`TVMFFI_SCOPE;`": """
static int run(TVMFFI_HERE) {
  {
    TVMFFI_SCOPE;
    return tvmffi_list(tvmffi_int(1)) ? 0 : -1;
  }
}""",
    "`tvmffi_int(3)`, `tvmffi_out_int64(&n)`": """
static int run(TVMFFI_HERE) {
  int64_t n = 0;
  TVMFFI_TRY(tvmffi_as(tvmffi_int(3), tvmffi_out_int64(&n)));
  return n == 3 ? 0 : 1;
}""",
    "`3`, `&n`": """
static int run(TVMFFI_HERE) {
  int64_t n = 0;
  TVMFFI_TRY(tvmffi_as(3, &n));
  return n == 3 ? 0 : 1;
}""",
    "structs as types: `TVMFFI_TYPE`": PAIR % "tvmffi_obj(pair)",
    "a struct as an argument: `pair`": PAIR % "pair",
    "a derived struct, returned or kept": """
typedef struct { Pair base; } Child;
TVMFFI_TYPE(Pair, "languages.Pair", TVMFFIObject, (field, int64, x))
TVMFFI_TYPE(Child, "languages.Child", Pair)
TVMFFI_FUNC(pair, Pair, (Child, child)) { TVMFFI_RETURN(child); }
static int run(TVMFFI_HERE) {
  Pair *kept = NULL;
  int64_t x;
  tvmffi_keep(&kept, TVMFFI_NEW(Child, tvmffi_int(7)));
  x = kept ? kept->x : 0;
  tvmffi_release(kept);
  return x == 7 ? TVMFFI_REGISTER("pair", pair) : 1;
}""",
}
REFUSED = {
    "an object made outside all scopes": """
static int make(void) { return tvmffi_list(tvmffi_int(1)) ? 0 : -1; }
static int run(TVMFFI_HERE) { return make(); }""",
    "a tensor's struct retained": """
TVMFFI_FUNC(keep, none, (tensor, x)) {
  tvmffi_retain(x);
  TVMFFI_RETURN();
}
static int run(TVMFFI_HERE) { return TVMFFI_REGISTER("keep", keep); }""",
    "an object kept as another type": """
static int run(TVMFFI_HERE) {
  Pair *kept = NULL;
  TVMFFIObject *list = tvmffi_list(tvmffi_int(1));
  tvmffi_keep(&kept, list);
  tvmffi_release(kept);
  return 0;
}""",
    "a field of another size than its word": """
TVMFFI_TYPE(Pair, "languages.Pair", TVMFFIObject, (field, int32, x))
static int run(TVMFFI_HERE) { return TVMFFI_REGISTER_TYPE(Pair); }""",
    "a field of another type than its word": """
TVMFFI_TYPE(Pair, "languages.Pair", TVMFFIObject, (field, float64, x))
static int run(TVMFFI_HERE) { return TVMFFI_REGISTER_TYPE(Pair); }""",
    "a method without a body": """
TVMFFI_TYPE(Pair, "languages.Pair", TVMFFIObject, (method, twice))
static int run(TVMFFI_HERE) { return TVMFFI_REGISTER_TYPE(Pair); }""",
    "a call with 33 arguments": """
static int run(TVMFFI_HERE) {
  return tvmffi_call(tvmffi_str("f"), tvmffi_out_none(NULL), %s);
}""" % ", ".join(["tvmffi_none()"] * 33),
}
TCC = ["tcc", "-DTVMFFI_NO_THREADS=1", "-DTVMFFI_NO_BACKTRACE=1", "-w"]


class Compiler:
    """A column of the table."""

    def __init__(self, folder, command, name="user.c"):
        self.folder, self.command, self.name = folder, command, name

    def run(self, *words):
        return subprocess.run([str(w) for w in words], cwd=self.folder,
                              capture_output=True, text=True, timeout=300,
                              errors="replace")

    def build_runtime(self, command, name):
        self.runtime = name
        done = self.run(*command, "-c", "runtime.c", "-o", name)
        if done.returncode:
            raise SystemExit(done.stderr)
        return self

    def outcome(self, text):
        """What comes of a program: `compiles` and `runs`, or one of these words
        with what the compiler or the program says."""
        (self.folder / self.name).write_text(text)
        done = self.run(*self.command, "-c", self.name, "-o", "user.o")
        if done.returncode:
            return "refused", done.stderr
        done = self.run(*self.command, "user.o", self.runtime, "-o", "user",
                        "-lpthread")
        if done.returncode:
            return "not linked", done.stderr
        done = self.run(self.folder / "user")
        if done.returncode:
            return "fails", done.stderr
        return "runs", ""


class ClangCl:
    """The columns of Visual Studio."""

    def __init__(self, folder, standard):
        self.folder, self.standard = folder, standard

    def outcome(self, text):
        said = compiles(self.folder, text, self.standard, options=["-w"])
        return "refused" if "error" in said else "runs", said


def cell(works, outcome):
    """The words of the table's cell."""
    if works:
        return "yes" if outcome == "runs" else "no"
    return {"refused": "yes", "not linked": "by the linker",
            "fails": "at run time", "runs": "no"}[outcome]


def columns(args, folder):
    (folder / "tvmffi.h").write_bytes(args.header.read_bytes())
    (folder / "runtime.c").write_text(
        "#define TVMFFI_IMPLEMENTATION\n#include \"tvmffi.h\"\n")
    cc = args.cc.split()
    c99 = Compiler(folder, [*cc, "-w", "-std=c99"]).build_runtime(
        [*cc, "-w"], "runtime.o")
    c11 = Compiler(folder, [*cc, "-w", "-std=c11"])
    c11.runtime = c99.runtime
    result = {"C99": c99, "C11": c11}
    if args.cxx:
        result["C++11"] = Compiler(
            folder, [*args.cxx.split(), "-w", "-std=c++11"], "user.cpp")
        result["C++11"].runtime = c99.runtime
    if shutil.which("clang-19"):
        result["clang-cl, C"] = ClangCl(folder, "C11")
        result["clang-cl, C++"] = ClangCl(folder, "C++14")
    if shutil.which("tcc"):
        result["tcc"] = Compiler(folder, TCC).build_runtime(TCC, "tcc.o")
    return result


def table():
    """The cells of the table in docs/guide.md, by row and column."""
    text = (ROOT / "docs/guide.md").read_text()
    lines = text[text.index("| works | C99 |"):].split("\n\n")[0].splitlines()
    rows = [[c.strip() for c in re.split(r" \| ", line.strip("| "))]
            for line in lines if not line.startswith("| ---")]
    return {row[0]: dict(zip(rows[0][1:], row[1:])) for row in rows[1:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--header", type=Path, required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx")
    args = parser.parse_args()
    tap, wanted = Tap(), table()
    programs = {**WORKS, **REFUSED}
    rows = [row for row in wanted if any(wanted[row].values())]
    tap.ok(set(rows) == set(programs), "a program for each row",
           set(rows) ^ set(programs))
    with tempfile.TemporaryDirectory() as folder:
        for column, compiler in columns(args, Path(folder)).items():
            for row, text in programs.items():
                outcome, said = compiler.outcome(HEAD + text + "\n")
                got = cell(row in WORKS, outcome)
                told = wanted.get(row, {}).get(column)
                tap.ok(got == told, f"{column}: {row}",
                       f"{got}, not {told}\n{said}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
