#!/usr/bin/env python3
"""Checks the text of the project: layout, names, versions, documentation.

With --self-test, each check runs on a copy with one fault put in, and has to
find it. Output is TAP.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "packaging"))
sys.dont_write_bytecode = True
import modelled  # noqa: E402
import release  # noqa: E402
import rooms  # noqa: E402
import words  # noqa: E402
from tap import Tap  # noqa: E402

HEADER = "tvmffi.h"
PREFIX = re.compile(r"(TVMFFI|kTVMFFI|tvmffi_|TVM_FFI_|DLPACK_|kDL|DL[A-Z])")
# Macros that are not ours to name: what libc reads to show its extensions.
FEATURE_MACROS = {"_GNU_SOURCE", "_DEFAULT_SOURCE", "_POSIX_C_SOURCE",
                  "_DARWIN_C_SOURCE", "WIN32_LEAN_AND_MEAN", "NOMINMAX"}
# Guards of the header's parts, and what macros find around them.
NOT_FOR_USERS = {"TVMFFI_INTERFACE", "TVMFFI_IMPLEMENTED", "tvmffi_here"}
MODES = [
    ["-std=c11"],
    ["-std=c99", "-DTVMFFI_IMPLEMENTATION"],
    ["-std=c11", "-DTVMFFI_IMPLEMENTATION"],
    ["-std=c11", "-DTVMFFI_IMPLEMENTATION", "-DTVMFFI_STATIC=1",
     "-DTVMFFI_NO_THREADS=1", "-DTVMFFI_NO_FLOAT=1", "-DTVMFFI_NO_STDIO=1",
     "-DTVMFFI_NO_BACKTRACE=1", "-DTVMFFI_NO_DLOPEN=1",
     "-DTVMFFI_NO_CONTAINERS=1", "-DTVMFFI_NO_EXTRA=1"],
]
TEXT = {".c", ".h", ".cpp", ".pml", ".py", ".md", ".txt", ".build", ".sh", ".in",
        ".toml", ".yml", ".yaml", ".cfg", ".cff", ".json", ".wrap", ".dict",
        ".options", ""}


class Tree:
    """The files of the project below `root`, and what they are read with.
    Each is read once."""

    def __init__(self, root, cc, cxx, wheel_include):
        self.root = Path(root)
        self.cc = cc
        self.cxx = cxx
        self.wheel_include = wheel_include
        self.names, self.texts, self.rooms = None, {}, None

    def house(self):
        if not self.rooms:
            self.rooms = rooms.House(self.root / "src", self.cc,
                                     declared_names, TOKEN)
        return self.rooms

    def files(self):
        if self.names is None:
            self.names = list(self._text_files())
        return self.names

    def _text_files(self):
        git = subprocess.run(
            ["git", "-C", str(self.root), "ls-files", "-z", "--cached",
             "--others", "--exclude-standard"],
            capture_output=True, text=True)
        names = git.stdout.split("\0") if git.returncode == 0 else self._walk()
        for name in sorted(filter(None, names)):
            path = self.root / name
            if path.suffix in TEXT and path.is_file():
                yield name

    def _walk(self):
        for top, dirs, names in os.walk(self.root):
            dirs[:] = [d for d in dirs if d not in
                       ("build", ".git", "__pycache__")]
            for name in names:
                yield str((Path(top) / name).relative_to(self.root))

    def read(self, name):
        if name not in self.texts:
            self.texts[name] = (self.root / name).read_text(encoding="utf-8")
        return self.texts[name]

    def lines(self, suffixes=None):
        for name in self.files():
            if suffixes and Path(name).suffix not in suffixes:
                continue
            for number, line in enumerate(self.read(name).split("\n"), 1):
                yield f"{name}:{number}", line


# -- layout --------------------------------------------------------------


def table_of_contents(tree):
    text = tree.read(HEADER)
    toc = re.findall(r"^ [* ] *>>([a-z0-9_/-]+)", text, re.M)
    banners = re.findall(r"^/\* =+.*?>>([a-z0-9_/-]+)", text, re.M)
    if not toc:
        return [f"{HEADER} has no table of contents"]
    if toc != banners:
        return [f"table of contents: {' '.join(toc)}",
                f"banners:           {' '.join(banners)}"]
    return []


def eighty_columns(tree):
    return [f"{where}: {len(line)} columns"
            for where, line in tree.lines({".c", ".h", ".cpp"})
            if len(line) > 80 and not where.startswith(IN_KERNEL)]


# These folders have the kernel's style, which its checkpatch.pl checks.
IN_KERNEL = ("examples/linux_module/", "tests/builds/ports/kernel/")


def no_tabs(tree):
    return [where for where, line in tree.lines()
            if "\t" in line and not where.startswith(IN_KERNEL)]


def no_trailing_blanks(tree):
    return [where for where, line in tree.lines()
            if line != line.rstrip(" \t\r")]


def no_unfinished_work(tree):
    mark = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
    return [where for where, line in tree.lines() if mark.search(line)]


# -- sources -------------------------------------------------------------


def header_is_written(tree):
    run = subprocess.run([sys.executable, tree.root / "src/amalgamate.py",
                          "--check"], capture_output=True, text=True)
    return [run.stderr] if run.returncode else []


def reference(tree, option):
    """What src/reference.py says of the page, or of comments that lack
    something."""
    run = subprocess.run([sys.executable, tree.root / "src/reference.py",
                          option], capture_output=True, text=True)
    return (run.stdout + run.stderr).splitlines()


def reference_is_written(tree):
    return reference(tree, "--check")


def public_comments(tree):
    return reference(tree, "--bare")


def contracts(tree):
    return reference(tree, "--unclear")


def reference_is_complete(tree):
    """Public names that the preprocessor shows and the page lacks."""
    text = tree.read("docs/reference.md")
    words = re.findall(r"^\| `(\w+)` \|", text, re.M)
    listed = set(re.findall(r"\w+", text)) | {
        f"tvmffi_{kind}_{word}"
        for word in [*words, "_Bool", "optional", "tvmffi_self_of"]
        for kind in ("type", "type_optional", "no", "some")}
    names = set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)",
                           tree.read(HEADER), re.M))
    for flags in (*MODES, ["-DTVMFFI_DEBUG=1"]):
        names |= set(declared_names(preprocessed(tree, flags)))
    return sorted(n for n in names - listed - FEATURE_MACROS
                  if not re.match(r"\w*_i_|TVMFFI_I_|\w+_H_$|__", n)
                  and n not in NOT_FOR_USERS)


def of_house(check):
    """A check of tests/tools/rooms.py as a check of the tree."""
    return lambda tree: check(tree.house())


def rooms_alone(tree):
    return rooms.not_alone(tree.root / "src", tree.cc, tree.cxx)


# -- names ---------------------------------------------------------------


def macro_names(tree):
    names = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", tree.read(HEADER),
                       re.M)
    return sorted({n for n in names
                   if not PREFIX.match(n) and n not in FEATURE_MACROS})


# Names in comments and documents that stand for a name or belong to a tool.
NO_NAMES = re.compile(
    r"TVMFFI[CP]y[A-Z]\w*"  # of the package tvm_ffi
    r"|\w*_$|tvmffi_(ROOT|gdb|sys|noun_verb|i_xxx)"
    r"|TVMFFI_(CXX(_INCLUDE)?|INSTALL|ONE_RUNTIME|WHEEL_PYTHONS)"
    r"|k?TVMFFI(Xxx|_XXX|IXxx|_I_XXX|_I_X_name)|tvmffi_(NOUN|VERB)\w*")
OUR_NAME = re.compile(r"\b(?:tvmffi_|TVMFFI|kTVMFFI)\w+\b(?!\.(?:[ch]|py)\b)")


def mentioned_names(tree):
    """Names in comments and documents that no C file has."""
    known, said = set(), []
    for name in tree.files():
        path = Path(name)
        text = tree.read(name)
        if path.suffix in (".c", ".h", ".cpp", ".cu", ".cc"):
            known |= set(OUR_NAME.findall(rooms.without_comments(text)))
            known |= set(re.findall(r'"(TVMFFI\w+)"', text))
            if path.parts[0] in ("src", "rpc", "legacy", "hosts"):
                said += [(name, comment) for comment in
                         re.findall(r"/\*.*?\*/", text, re.S)]
        elif path.suffix == ".md" and path.stem not in ("changelog",
                                                       "reference"):
            said.append((name, text))
    # tvmffi_out_##T makes tvmffi_out_int64.
    headers = "".join(tree.read(name) for name in tree.files()
                      if name == HEADER or re.match(r"hosts/.*\.h$", name))
    made = tuple(set(re.findall(r"\b((?:tvmffi_|TVMFFI_?)\w+_)##", headers)))
    # tvmffi_##T##_needs_a_value_for_each_field_without_default: a sentence.
    ends = tuple(set(re.findall(r"##(_\w{20,})", tree.read(HEADER))))
    return sorted({f"{name}: {word} does not exist" for name, text in said
                   for word in OUR_NAME.findall(text)
                   if word not in known and not word.startswith(made)
                   and not word.endswith(ends)
                   and not NO_NAMES.fullmatch(word)})


def mirrored_names(tree):
    """Internal names with the same words in another order, such as call_global
    and global_call: a reader takes one for the other."""
    found = {}
    code = rooms.without_comments(tree.read(HEADER))
    for name in set(re.findall(r"\b(?:tvmffi|TVMFFI)_[iI]_\w*[a-zA-Z0-9]\b",
                               code)):
        case = name[:6]
        found.setdefault((case, *sorted(name.lower().split("_"))),
                         []).append(name)
    return sorted(" and ".join(sorted(names)) for names in found.values()
                  if len(names) > 1)


TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\w+|[^\s\w]')


def preprocessed(tree, flags):
    """The tokens that come out of the header itself, not of what it includes.
    """
    with tempfile.TemporaryDirectory() as tmp:
        source = Path(tmp) / "names.c"
        source.write_text(f'#include "{HEADER}"\n')
        run = subprocess.run(
            [*tree.cc, *flags, "-I", str(tree.root), "-E", str(source)],
            capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr)
    ours, tokens = False, []
    for line in run.stdout.split("\n"):
        marker = re.match(r'#(?:line)? \d+ "([^"]*)"', line)
        if marker:
            ours = os.path.basename(marker.group(1)) == HEADER
        elif ours and not line.startswith("#"):
            tokens += TOKEN.findall(line)
    return tokens


def matching(tokens, at):
    """The index after the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(tokens)):
        if tokens[i] in "([{":
            depth += 1
        elif tokens[i] in ")]}":
            depth -= 1
            if depth == 0:
                return i + 1
    return len(tokens)


def declarations(tokens):
    """Splits tokens into file-scope declarations; bodies become `{ }`."""
    current, i = [], 0
    while i < len(tokens):
        token = tokens[i]
        if token in ("__attribute__", "__asm__", "_Alignas", "_Static_assert",
                     "__declspec", "__asm"):
            if i + 1 < len(tokens) and tokens[i + 1] == "(":
                i = matching(tokens, i + 1)
                continue
        if tokens[i:i + 2] == ["[", "["]:  # an attribute of C23 and C++11
            i = matching(tokens, i)
            continue
        if token == ";":
            yield current
            current = []
        elif token == "{":
            end = matching(tokens, i)
            record = any(t in ("struct", "union", "enum") for t in current) \
                and ")" not in current and "=" not in current
            current += ["{"] + (tokens[i + 1:end - 1] if record else []) \
                + ["}"]
            i = end
            if not record and ")" in current and "=" not in current:
                yield current
                current = []
            continue
        else:
            current.append(token)
        i += 1


def is_name(token):
    return re.fullmatch(r"[A-Za-z_]\w*", token) is not None


def declared_names(tokens):
    """The file-scope names of C code: tags, enumerators, types, functions and
    objects."""
    for decl in declarations(tokens):
        for i, token in enumerate(decl[:-1]):
            if token in ("struct", "union", "enum") and is_name(decl[i + 1]) \
                    and decl[i + 2:i + 3] == ["{"]:
                yield decl[i + 1]
            if token == "enum" and "{" in decl[i:i + 3]:
                start = decl.index("{", i)
                depth, fresh = 0, True
                for t in decl[start + 1:matching(decl, start) - 1]:
                    depth += (t in "([") - (t in ")]")
                    if fresh and is_name(t):
                        yield t
                    fresh = depth == 0 and t == ","
        outer, i = [], 0
        while i < len(decl):
            if decl[i] == "{":
                outer.append("{}")
                i = matching(decl, i)
                continue
            outer.append(decl[i])
            i += 1
        pointer = re.match(r"[^(]*\( \* (?:const )?(\w+)", " ".join(outer))
        if pointer:
            yield pointer.group(1)
            continue
        for i, token in enumerate(outer):
            if token in "([=,":
                if i and is_name(outer[i - 1]):
                    yield outer[i - 1]
                break
        else:
            if len(outer) > 1 and is_name(outer[-1]) \
                    and outer[-2] not in ("struct", "union", "enum"):
                yield outer[-1]


def file_scope_names(tree):
    problems = set()
    for flags in MODES:
        names = list(declared_names(preprocessed(tree, flags)))
        if len(names) < 100:
            problems.add(f"only {len(names)} names seen with {flags}")
        problems |= {f"{n} ({' '.join(flags)})" for n in names
                     if not PREFIX.match(n)}
    return sorted(problems)


# -- versions and documentation ------------------------------------------


def defined_number(text, name):
    found = re.search(rf"^\s*#\s*define\s+{name}\s+(\d+)", text, re.M)
    return found.group(1) if found else None


def version_of(text, prefix):
    return ".".join(str(defined_number(text, f"{prefix}_{part}"))
                    for part in ("MAJOR", "MINOR", "PATCH"))


def project_version(tree):
    return release.version_problems(tree.root)


def abi_version(tree):
    ours = version_of(tree.read(HEADER), "TVM_FFI_VERSION")
    wheel = (Path(tree.wheel_include) / "tvm/ffi/c_api.h").read_text()
    theirs = version_of(wheel, "TVM_FFI_VERSION")
    if ours != theirs or "None" in ours:
        return [f"{HEADER} says {ours}, the wheel {theirs}"]
    return []


def late_functions(tree):
    """src/head/late.h against the table of symbols of the stock wheels."""
    room = tree.read("src/head/late.h")
    rows = [line.split() for line in
            tree.read("packaging/python/src/tvmffi/symbols.txt").splitlines()]
    oldest = next(row[1] for row in rows if row[0] == "wheels")
    table = {name: since[0] for name, *since in rows
             if name.startswith("TVMFFI") and since[0] != oldest}
    late = dict(re.findall(r'^TVMFFI_I_LATE\((\w+), "([^"]+)"', room, re.M))
    return [f"src/head/late.h: {name} is since {late.get(name)}, in the wheels "
            f"since {table.get(name)}"
            for name in sorted(table.keys() | late.keys())
            if table.get(name) != late.get(name)] + [
        f"{path} has no #{directive} {name}"
        for path, directive in (("src/head/late.h", "define"),
                                ("src/platform/own.h", "undef"))
        for name in sorted(late)
        if not re.search(rf"^#{directive} {name}\b", tree.read(path), re.M)]


def readme_example(tree):
    block = re.search(r"^```c\n(.*?)^```", tree.read("README.md"),
                      re.M | re.S)
    first = sorted(n for n in tree.files()
                   if re.match(r"examples/01_[^/]*\.c$", n))
    if not block or not first:
        return ["README.md has no C example, or examples/01_*.c is missing"]
    if block.group(1) != tree.read(first[0]):
        return [f"the first C example of README.md is not {first[0]}"]
    return []


def examples_built(tree):
    build = tree.read("meson.build")
    names = {re.match(r"examples/(\d\d_\w+)", name) for name in tree.files()}
    return [f"{name.group()} is not in meson.build" for name in names
            if name and f"'{name.group(1)}':" not in build]


def measured_data(tree):
    """Pictures that no page shows, and more figures than a summary has."""
    pages = "".join(tree.read(name) for name in tree.files()
                    if name.endswith(".md"))
    return [f"{path.relative_to(tree.root)}: {path.stat().st_size} bytes"
            for path in sorted((tree.root / "docs").rglob("*.*"))
            if (path.suffix in (".png", ".svg") and path.name not in pages)
            or (path.suffix == ".json" and path.stat().st_size > 200_000)]


def pinned_requirements(tree):
    return [f"{where}: {line}" for where, line in tree.lines({".txt"})
            if where.split(":")[0].endswith("requirements.txt")
            and line and not line.startswith("#")
            and not re.match(r"[\w.-]+==[\w.]+(; .*)?$", line)]


def no_machine_names(tree):
    # Written in pieces, so that this file does not name what it forbids.
    paths = ["/ro" "ot/", "/ho" "me/", "/wo" "rk/", "/Us" "ers/", "/tmp/" "ref",
             r"\.py" "env/"]
    hosts = ["py" r"pi\.org", "pythonho" r"sted\.org", r"deb\.deb" r"ian\.org",
             r"security\.deb" r"ian\.org", r"crates\." "io", r"npm" r"js\.",
             r"proxy\.go" "lang", r"repo1\.ma" "ven"]
    forbidden = re.compile("|".join(paths + hosts))
    return [f"{where}: {line.strip()}" for where, line in tree.lines()
            if forbidden.search(line)]


# -- what breaks each check, for --self-test -----------------------------


def edit(name, pattern, replacement):
    def apply(root):
        path = root / name
        old = path.read_text(encoding="utf-8")
        new = re.sub(pattern, replacement, old, count=1, flags=re.M)
        if new == old:
            raise RuntimeError(f"cannot break {name}: no {pattern!r}")
        path.write_text(new, encoding="utf-8")
    return apply


def replaced(text):
    """Replaces a match's group by the text."""
    return lambda match: (match[0][:match.start(1) - match.start()] + text
                          + match[0][match.end(1) - match.start():])


def append(name, text):
    def apply(root):
        with open(root / name, "a", encoding="utf-8") as out:
            out.write(text)
    return apply


def add_example(root):
    (root / "examples/99_unlisted.c").write_text("int main(void){return 0;}\n")


CHECKS = [
    ("the table of contents lists the sections in order", table_of_contents,
     [edit(HEADER, r"^ [* ] *>>[a-z0-9_/-]+", "     >>nowhere")]),
    ("tvmffi.h is what src/ gives", header_is_written,
     [append(HEADER, "/* by hand */\n"),
      append("src/core/any.h", "/* not yet in tvmffi.h */\n")]),
    ("docs/reference.md is what src/ gives", reference_is_written,
     [append("docs/reference.md", "By hand.\n"),
      edit("src/interface/print.h", r"^/\* Prints", "/* Changed: prints")]),
    ("every public name has a comment", public_comments,
     [append("src/interface/print.h",
             "\n#define tvmffi_bare(x) (x)\n"),
      append("src/core/any.h", "\nint tvmffi_bare(void);\n"),
      edit("src/interface/print.h", r"^/\* .*\n(?:   .*\n)*(?=.*memory_trim)",
           ""),
      edit("src/functions/global_function.h",
           r"^/\* .*\n(?=TVMFFI_I_BUILTIN_FUNC\(String)", ""),
      edit("src/tables/builtin_attribute.h", r"^     __ffi_enum__", "     x")]),
    ("public comments say what fails and who owns", contracts,
     [append("src/interface/print.h",
             "\n/* Makes a list. Returns NULL with an error on failure. */\n"
             "#define tvmffi_unowned(x) (x)\n"),
      append("src/interface/print.h",
             "\n/* Makes a list, owned by the scope. */\n"
             "TVMFFIObject *tvmffi_unfailing(int x);\n"),
      append("src/core/any.h",
             "\n/* Sets x. */\nint tvmffi_unfailing(int x);\n"),
      edit("src/interface/print.h", r"Returns 0, or -1 with", "Fails with"),
      edit("src/interface/type.h", r"which the scope owns, ", ""),
      edit("src/base/value.h", r"The functions cannot fail\.", ""),
      edit("src/head/abi.h", r"and returns -1\. The error", "The error")]),
    ("docs/reference.md has every public name", reference_is_complete,
     [append(HEADER, "#define tvmffi_unlisted(x) (x)\n"),
      append(HEADER, "int tvmffi_unlisted(void);\n"),
      append(HEADER, "typedef int TVMFFIUnlisted;\n")]),
    ("rooms include what they use", of_house(rooms.missing_includes),
     [edit("src/core/string.h", r'#include "object.h"\n', ""),
      edit("src/core/string.h", r'#include "../platform.h"\n', ""),
      append("src/core/any.h", "#define TVMFFI_I_A(x) tvmffi_i_map_set(x)\n")]),
    ("rooms use what they include", of_house(rooms.unused_includes),
     [edit("src/platform/sort.h", r"^(#pragma once)$",
           r'\1\n#include "../base.h"'),
      edit("src/core/any.h", r"^(#pragma once)$",
           r'\1\n#include "tensor_object.h"'),
      edit("src/core/any.h", r'#include "../platform.h"',
           r'#include "../platform/memory.h"')]),
    ("rooms use no lower layer", of_house(rooms.lower_layers),
     [edit("src/core/any.h", r"^(#pragma once)$",
           r'\1\n#include "../containers.h"')]),
    ("the interface uses nothing of the runtime",
     of_house(rooms.interface_alone),
     [edit("src/interface/print.h", r"^(#pragma once)$",
           r'\1\n#include "../core.h"')]),
    ("no two rooms have one name", of_house(rooms.named_twice),
     [append("src/extra/object.h", "#pragma once\n")]),
    ("no includes form a circle", of_house(rooms.circles),
     [edit("src/core/object.h", r"^(#pragma once)$",
           r'\1\n#include "any.h"'),
      edit("src/core/object.h", r"^(#pragma once)$",
           r'\1\n#include "../core.h"')]),
    ("rooms are short", of_house(rooms.too_long),
     [append("src/core/any.h", "/* */\n" * 1200)]),
    ("no two rooms define one macro", of_house(rooms.defined_twice),
     [append("src/core/any.h", "#define TVMFFI_I_OVERLOAD 1\n")]),
    ("every room is in the header", of_house(rooms.unlisted),
     [append("src/core/new_room.h", "#pragma once\n"),
      edit("src/core.h", r'#include "core/any.h"\n', ""),
      edit("src/tvmffi.h", r'#include "graph.h"\n', "")]),
    ("rooms compile alone", rooms_alone,
     [edit("src/core/string.h", r'#include "object.h"\n', "")]),
    ("C files have at most 80 columns", eighty_columns,
     [append(HEADER, "/* " + "-" * 80 + " */\n")]),
    ("no tabs", no_tabs, [append(HEADER, "\t/* */\n")]),
    ("no trailing blanks", no_trailing_blanks, [append(HEADER, "/* */ \n")]),
    ("no marks of unfinished work", no_unfinished_work,
     [append(HEADER, "/* TO" "DO */\n")]),
    ("comments and documents have plain words", words.plain,
     [append("src/core/any.h", "/* So many items there are. */\n"),
      append("src/core/any.h", "/* Returns that of an item. */\n"),
      append("hosts/cuda/tvmffi_cuda.h", "/* What it is. */\n"),
      append("README.md", "Returns NULL of an\nempty list.\n")]),
    ("comments of functions have a verb", words.verbs,
     [append("src/core/any.h",
             "/* The number of items. */\nint tvmffi_i_a(int x) {}\n")]),
    ("comments and documents name what exists", mentioned_names,
     [append("src/core/any.h", "/* See tvmffi_absent_name. */\n"),
      append("hosts/cuda/tvmffi_cuda.h", "/* See tvmffi_absent_name. */\n"),
      append("README.md", "`TVMFFI_NO_SUCH_OPTION`\n")]),
    ("macros have the prefix", macro_names,
     [append(HEADER, "#define likely(x) (x)\n")]),
    ("no two names are each other's mirror", mirrored_names,
     [append(HEADER, "static int tvmffi_i_open_scope(int x);\n"),
      append(HEADER, "#define TVMFFI_I_TEXT_BAD 1\n"
                     "#define TVMFFI_I_BAD_TEXT 1\n")]),
    ("file-scope names have the prefix", file_scope_names,
     [append(HEADER, text) for text in (
         "static int helper(int x) { return x; }\n",
         "typedef struct { int x; } Point;\n",
         "struct node { int x; };\n", "typedef int (*callback)(void);\n",
         "enum { kTVMFFIFine = 1, kBad };\n", "static const char table[2];\n",
         "static int counter = 1;\n", "int declared_only(void);\n")]),
    ("the header and its packages have the same version", project_version,
     [edit(name, pattern, replaced("9.9.9"))
      for name, pattern in release.PLACES]
     + [edit("packaging/vcpkg/tvmffi/vcpkg.json", '"version"', '"other"'),
        append("packaging/npm/package.json",
               release.header_version(release.ROOT))]),
    ("the ABI version is the wheel's", abi_version,
     [edit(HEADER, r"(define\s+TVM_FFI_VERSION_MINOR\s+)\d+", r"\g<1>77")]),
    ("late functions are those that came after the first wheel",
     late_functions,
     [edit("src/head/late.h", r'(ByteArray, "0.1.14).post0', r"\1"),
      edit("src/head/late.h", r"^#define TVMFFIHandleInitOnce.*\n", ""),
      edit("src/platform/own.h", r"^#undef TVMFFIHandleInitOnce\n", "")]),
    ("the README's first example is examples/01", readme_example,
     [edit("README.md", r"^```c\n", "```c\n// changed\n")]),
    ("every numbered example is built", examples_built, [add_example]),
    ("models stand for the functions as they are", modelled.problems,
     [edit("src/core/global_table.h", r"(g->readers\[1\]) = 0", r"\1 = 1"),
      edit("tests/models/once.pml", "tvmffi_i_is_cycle", "tvmffi_i_absent")]),
    ("measured data is a summary and pictures that pages show", measured_data,
     [append("docs/benchmarks/unshown.svg", "<svg/>\n"),
      append("docs/benchmarks/summary.json", " " * 200_000)]),
    ("every requirement is pinned", pinned_requirements,
     [append("requirements.txt", "anything>=1\n"),
      append("tests/clients/requirements.txt", "anything\n")]),
    ("no paths of a machine, no registry hosts", no_machine_names,
     [append("README.md", "see /ho" "me/user/x\n"),
      append("README.md", "from py" "pi.org\n")]),
]


def problems_of(check, tree):
    try:
        return check(tree)
    except (OSError, RuntimeError, UnicodeDecodeError) as error:
        return [f"{type(error).__name__}: {error}"]


def copy_of(tree, where):
    for name in tree.files():
        target = Path(where) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(tree.root / name, target)
    return Tree(where, tree.cc, tree.cxx, tree.wheel_include)


def self_test(tap, tree, name, check, breakers):
    """Where the tree itself has a problem, the plain run says so."""
    for number, breaker in enumerate(breakers, 1):
        with tempfile.TemporaryDirectory() as tmp:
            copy = copy_of(tree, tmp)
            try:
                breaker(copy.root)
                found = problems_of(check, copy)
                detail = "the fault was not found"
            except (OSError, RuntimeError) as error:
                found, detail = [], error
        tap.ok(found, f"a fault is found: {name} ({number})", detail)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=Path(__file__).parents[2])
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--wheel-include")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    tree = Tree(args.root, args.cc.split(), args.cxx.split(),
                args.wheel_include)
    tap = Tap()
    for name, check, breakers in CHECKS:
        if check is abi_version and not args.wheel_include:
            tap.skip(name, "the wheel is not there")
        elif args.self_test:
            self_test(tap, tree, name, check, breakers)
        else:
            problems = problems_of(check, tree)
            tap.ok(not problems, name, "\n".join(problems))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
