#!/usr/bin/env python3
"""Writes docs/reference.md from the declarations and comments of src/.

declarations.py says which comment belongs to what.
"""

import argparse
import re
import sys
import textwrap

sys.dont_write_bytecode = True
import amalgamate  # noqa: E402
from contract import NO_OWNER, read_contracts  # noqa: E402
from declarations import (Macros, call_text, definitions,  # noqa: E402
                          entries, groups, public_words, read_builtins,
                          read_functions, read_rooms, read_surface, read_words,
                          rows, string)

PAGE = amalgamate.SRC.parent / "docs/reference.md"

CODE = re.compile(
    # already code; a text in quotes; a name, perhaps called or dereferenced
    r"`[^`]*`|\"[^\"\n]+\"|(?:[*&]+|\b)"
    r"(?:(?:k?TVMFFI|tvmffi_|TVM_FFI_|DLPACK_)\w*|"
    r"k?DL(?!Pack\b)[A-Z]+[a-z]\w*)(?:(?<=_)\*)?"
    r"(?:\((?:[^()]|\([^()]*\))*\))?(?: \*+(?=[\s.,;:)]|$))?|"
    # path/name.h; name(...)
    r"\b[\w/]+\.(?:h|cc|py)\b|"
    r"\b[a-z][\w.]*\((?:[^()\s](?:[^()]|\([^()]*\))*)?\)|"
    # -DOPTION, <file>, name->member, ffi.Name, *name, a_name
    r"-D\w+\S*|<\w[\w./]*>|\b\w+->\w+|\b(?:ffi|tvmffi)\.\w[\w.]*\w|"
    r"(?<![\w/])[*&]\w+|(?<![\w/>])_?_[A-Z_]*\w+|\b[a-z]+(?:_[a-z0-9]+)+\b"
    r"(?:\[\w+\])?")


def prose(text, house):
    """Markdown of a sentence: code is set as code, room tags become links."""
    def link(m):
        room = house.get(m[1])
        if not room:
            return m[1]
        return f"[{room.title}](#{room.anchor})"

    def code(m):
        is_plain = m[0].startswith("`") or re.match(r'"[A-Z][a-z ]+"$', m[0])
        return m[0] if is_plain else f"`{m[0]}`"

    parts, at, text = [], 0, re.sub(r">>([\w/]+)", link, text)
    for m in CODE.finditer(text):
        parts += [re.sub(r"([*<|])", r"\\\1", text[at:m.start()]), code(m)]
        at = m.end()
    parts.append(re.sub(r"([*<|])", r"\\\1", text[at:]))
    return "".join(parts)


def body_of(comment):
    """The lines of a comment, without its marks and its indentation."""
    first, *rest = comment.strip()[2:-2].strip(" ").split("\n")
    lines = [first, *(re.sub("^   ", "", line) for line in rest)]
    return lines if first else lines[1:]


def markdown(comment, house):
    """The lines of Markdown for a comment: indented lines are code."""
    lines, paragraph, block = [], [], []

    def flush():
        if paragraph:
            text = prose(" ".join(paragraph), house)
            lines.extend([*textwrap.wrap(text, 79, break_long_words=False,
                                         break_on_hyphens=False), ""])
            paragraph.clear()
        if block:
            code = textwrap.dedent("\n".join(block))
            # A glossary has a word and its meaning in columns.
            kind = "text" if re.match(r"[a-z]+ {3}", code) else "c"
            lines.extend([f"```{kind}", *code.split("\n"), "```", ""])
            block.clear()

    for line in body_of(comment):
        if line.startswith("  "):
            if paragraph:
                flush()
            block.append(line)
        elif line:
            if block:
                flush()
            paragraph.append(line)
        else:
            flush()
    flush()
    return lines


def cell(comment, house):
    """A comment as one line of a table."""
    return prose(" ".join(" ".join(body_of(comment or "/**/")).split()),
                 house).replace("|", "\\|").replace("\\\\|", "\\|")


def code_cell(text):
    return f"`{text}`".replace("|", "\\|")


def manual():
    """The chapters of the first comment of the header."""
    text = amalgamate.ROOT.read_text(encoding="utf-8").split("*/")[0]
    parts = re.split(r"^   ([A-Z ]+)\n", text, flags=re.M)
    return {name: f"/*\n{body.rstrip()} */" for name, body in
            zip(parts[1::2], parts[2::2])}


class Reference:
    """The page, and what it found without a comment."""

    def __init__(self):
        self.rooms = read_rooms()
        self.macros = Macros(self.rooms)
        self.words = read_words(self.rooms, self.macros)
        self.functions = read_functions(self.rooms, self.macros)
        self.public = public_words(self.rooms)
        self.chapters = manual()
        self.house, self.lines, self.index = {}, [], []
        self.bare = []
        seen, self.entries = set(), {}
        self.families = re.compile(
            r"tvmffi_(?:type_|type_optional_|no_|some_)(?:%s)$" %
            "|".join(["_Bool", "optional", "tvmffi_self_of", *self.public]))
        for room in self.rooms:
            self.entries[room.tag] = list(entries(room, self.macros, seen))
            for entry in self.entries[room.tag]:
                entry.names = [n for n in entry.names
                               if not self.families.match(n)]
            self.entries[room.tag] = [e for e in self.entries[room.tag]
                                      if e.names]
            if self.entries[room.tag]:
                self.house[room.tag] = room
        self.contracts = read_contracts(self.house.values(), self.entries)

    def text(self):
        self.lines = ["# Reference", "", *INTRODUCTION.split("\n"), ""]
        at = len(self.lines)
        self.conventions()
        self.functions_and_macros()
        for room in self.house.values():
            self.room(room)
        self.builtin_functions()
        self.builtin_types()
        self.attributes()
        self.names()
        self.lines[at:at] = self.contents()
        return "\n".join(self.lines).rstrip("\n") + "\n"

    def heading(self, title, anchor):
        self.lines += [f'<a id="{anchor}"></a>', "", f"## {title}", ""]

    def contents(self):
        lines = ["- [Conventions](#conventions)",
                 f"- [{CONTRACTS[0]}](#{CONTRACTS[1]}): failure and ownership"]
        lines += [f"- [{room.title}](#{room.anchor}): {prose(room.about, {})}"
                  for room in self.house.values()]
        lines += [f"- [{title}](#{anchor})" for title, anchor in CHAPTERS]
        return lines + [""]

    def conventions(self):
        self.heading("Conventions", "conventions")
        for name in ("OWNERSHIP", "ERRORS", "THREADS", "GLOSSARY"):
            self.lines += [f"### {name.capitalize()}", ""]
            self.lines += markdown(self.chapters[name], self.house)

    def functions_and_macros(self):
        """The table of what each returns on failure and who owns the result."""
        self.heading(*CONTRACTS)
        self.lines += [*CONTRACTS_LEAD.split("\n"), "",
                       "| name | signature | on failure | owner |",
                       "| --- | --- | --- | --- |"]
        last = None
        for c in self.contracts.values():
            if c.room != last:
                last = c.room
                self.lines.append(f"| **[{last.title}](#{last.anchor})** | | | |")
            signature = code_cell(c.signature) if c.signature else ""
            owners = [c.owner] * (c.owner != NO_OWNER) + [c.taken]
            owner = prose(", ".join(filter(None, owners)), {}) or NO_OWNER
            self.lines.append(f"| [`{c.name}`](#name-{c.anchor}) | {signature} "
                              f"| {c.failure} | {owner} |")
        self.lines.append("")

    def unclear(self):
        """The functions and macros whose comments lack a part of the table."""
        for c in self.contracts.values():
            if not c.failure:
                yield f"src/{c.room.path}: {c.name}: what it returns on failure"
            if not c.owner:
                yield f"src/{c.room.path}: {c.name}: who owns the result"

    def room(self, room):
        self.heading(room.title, room.anchor)
        self.lines += [f"[src/{room.path}](../src/{room.path})", ""]
        if room.intro:
            self.lines += markdown(room.intro, self.house)
        for entry in self.entries[room.tag]:
            anchor = f"name-{entry.names[0]}"
            self.index += [(name, anchor) for name in entry.names]
            self.lines += [f'<a id="{anchor}"></a>', "", "```c",
                           *"\n".join(entry.shown).split("\n"), "```", ""]
            if entry.comment:
                self.lines += markdown(entry.comment, self.house)
            else:
                self.bare.append(f"src/{room.path}: {entry.names[0]}")
        if room.tag == "head/config":
            self.lines += ["### Hooks of a port", ""]
            self.lines += markdown(self.chapters["PORTS"], self.house)
            known = {name for name, _ in self.index}
            self.index += [(name, "hooks-of-a-port") for name in re.findall(
                r"^ {5}(TVMFFI_\w+)", self.chapters["PORTS"], re.M)
                if name not in known]
        if room.tag == "interface/function":
            self.type_words()

    def type_words(self):
        """The table of the words of typed functions and fields."""
        self.lines += ["### Type words", "",
                       "| word | C type | in messages | `optional(T)` | |",
                       "| --- | --- | --- | --- | --- |"]
        for name in self.public:
            word = self.words[name]
            if not word.comment:
                self.bare.append(f"src/interface/word.h: the word {name}")
            optional = "" if name == "none" else \
                f"a struct: `tvmffi_some_{name}(x)`, `tvmffi_no_{name}()`" \
                if word.is_struct else "the same, or NULL"
            c_type = code_cell(word.c_type) if word.c_type else ""
            self.lines.append(
                f"| `{name}` | {c_type} | `{word.shown}` | {optional} | "
                f"{cell(word.comment, self.house)} |")
            self.index.append((f"{name} (type word)", "type-words"))
        compound = next(r for r in self.rooms if r.tag == "interface/compound")
        for group in groups(compound.lines):
            calls = re.findall(
                r"#define tvmffi_type_(?!optional_)(\w+\(\w.*?\)) ",
                "\n".join(text for _, text in group.items))
            self.index += [(f"{call} (type word)", "type-words")
                           for call in calls]
            if calls:
                self.lines.append(
                    f"| {', '.join(map(code_cell, calls))} | | | | "
                    f"{cell(group.comment, self.house)} |")
        self.lines += ["", *markdown(compound.intro, self.house)]

    def builtin_functions(self):
        self.heading(*CHAPTERS[0])
        self.lines += FUNCTIONS.split("\n") + [""]
        by_room = {}
        for function in read_builtins(self.rooms, self.functions):
            by_room.setdefault(function.room, []).append(function)
            if not function.comment:
                self.bare.append(f"src/{function.room.path}: {function.name}")
        for room, found in by_room.items():
            self.lines += [f"### {room.title}", "", "| function | |",
                           "| --- | --- |"]
            for function in found:
                text = call_text(function.name, function, self.words)
                self.lines.append(f"| {code_cell(text)} | "
                                  f"{cell(function.comment, self.house)} |")
                self.index.append((function.name, CHAPTERS[0][1]))
            self.lines.append("")

    def builtin_types(self):
        self.heading(*CHAPTERS[1])
        self.lines += TYPES.split("\n") + [""]
        types, _ = read_surface()
        table = list(rows(self.rooms, "core/type_table",
                          "tvmffi_i_static_types"))
        keys = {row[0]: string(row[1]) for row, _ in table}
        text = {string(row[1]): comment for row, comment in table}
        fields = {row[0]: row[2] if len(row) == 4 else
                  re.search(r"tvmffi_i_(\w+)_fields", row[-1])[1]
                  for row, _ in rows(self.rooms, "tables/builtin_type",
                                     "tvmffi_i_builtin_types")
                  if len(row) == 4 or "fields" in row[-1]}
        docs = {(keys[index], string(row[3])):
                comment or f"/* {string(row[5])} */" * (row[5] != '""')
                for index, name in fields.items()
                for row, comment in rows(self.rooms, "tables/type_field",
                                         f"tvmffi_i_{name}_fields")}
        methods = {(keys[row[0]], f.name.rpartition(".")[2]): f for f, row in
                   [(self.functions["i_" + row[1]], row)
                    for row, _ in rows(self.rooms, "tables/type_field",
                                       "tvmffi_i_methods")]}
        kinds = next(e.shown[0] for e in self.entries["head/abi"]
                     if e.names[0] == "TVMFFISEqHashKind")
        for t in types:
            index = f"Index {t.index}" if t.index < 128 else "Dynamic index"
            facts = [index] + [f"parent `{t.parent}`"] * bool(t.parent)
            if t.kind:
                kind = re.search(rf"(\w+) = {t.kind}\b", kinds)[1]
                facts.append(f"structural kind `{kind}`")
            facts += ["can be made from its fields"] * t.has_creator
            self.lines += [f'<a id="type-{t.index}"></a>', "",
                           f"### `{t.key}`", "", ", ".join(facts) + ".", ""]
            self.index.append((t.key, f"type-{t.index}"))
            if text[t.key]:
                self.lines += markdown(text[t.key], self.house)
            else:
                self.bare.append(f"src/core/type_table.h: {t.key}")
            if t.fields or t.methods:
                self.lines += ["| member | |", "| --- | --- |"]
            for name, flags, schema in t.fields:
                doc = docs[t.key, name]
                if not doc:
                    self.bare.append("src/tables/type_field.h: "
                                     f"{t.key}.{name}")
                note = "" if flags & 1 else "Read-only in Python. "
                self.lines.append(f"| `{name}: {schema}` | {note}"
                                  f"{cell(doc, self.house)} |")
            for name, flags in t.methods:
                function = methods[t.key, name]
                if not function.comment:
                    self.bare.append(f"src/{function.room.path}: "
                                     f"{t.key}.{name}")
                note = "Static. " if flags & 4 else ""
                call = call_text(name, function, self.words)
                self.lines.append(f"| {code_cell(call)} | {note}"
                                  f"{cell(function.comment, self.house)} |")
            self.lines += [""] * bool(t.fields or t.methods)

    def attributes(self):
        self.heading(*CHAPTERS[2])
        room = next(r for r in self.rooms if r.tag == "tables/builtin_attribute")
        listed = re.findall(r' F\(\w+, "(__\w+__)"', "\n".join(room.lines))
        group = next(g for g in groups(room.lines)
                     if listed[0] in definitions(g.comment or ""))
        found = definitions(group.comment)
        _, having = read_surface()
        lead = group.comment.split("\n     __")[0] + " */"
        self.lines += markdown(lead, self.house)
        self.lines += ["| attribute | value | built-in types that have it |",
                       "| --- | --- | --- |"]
        for name in [*listed, *(n for n in found if n not in listed)]:
            if name not in found:
                self.bare.append(f"src/{room.path}: {name}")
            keys = ", ".join(f"`{k}`" for k in having.get(name, []))
            text = cell(f"/* {found.get(name, '')} */", self.house)
            self.lines.append(f"| `{name}` | {text} | {keys} |")
            self.index.append((name, CHAPTERS[2][1]))
        self.lines += [""]

    def names(self):
        self.heading(*CHAPTERS[3])
        for name, anchor in sorted(self.index, key=lambda i: (
                i[0].strip("_").lower(), i[0])):
            self.lines.append(f"- [`{name}`](#{anchor})")


CONTRACTS = "Functions and macros", "functions-and-macros"
CONTRACTS_LEAD = """\
What each returns on failure, or if it finds nothing, and who owns its result or
how long a borrowed result is valid. "An error" is the thread's pending error.
"Does not compile": a mistake is a compile error. "Takes": the callee becomes
the owner, also on failure unless the table says otherwise. "Nothing to own": a
view, valid as long as the memory that it points to. "-": the result is a number
or nothing. Types, constants and options are in [all names](#names)."""
CHAPTERS = [("Built-in functions", "builtin-functions"),
            ("Built-in types", "builtin-types"),
            ("Type attributes", "type-attributes"), ("All names", "names")]
INTRODUCTION = """\
Every public name of `tvmffi.h`, with the comment of its declaration. `./dev
reference` writes this page from `src/`; what is wrong here is wrong there. The
[guide](guide.md) shows how to get a task done, [abi.md](abi.md) the layouts.
To find a name, search the page, or look at [all names](#names).

Often looked up: the [words for types](#type-words) (`int64`, `array(T)`), the
[items of a type](#name-TVMFFI_TYPE), the [words of a tensor
check](#name-TVMFFI_EXPECT), [flags of a field](#name-TVMFFIFieldFlagBitMask),
[kinds of structural equality](#name-TVMFFISEqHashKind), [type
indices](#name-TVMFFITypeIndex), [hooks of types](#type-attributes)."""
FUNCTIONS = """\
Global functions that the runtime has from the start: call them by
`tvmffi_call("ffi.ArraySize", &n, array)`, or in Python by
`tvm_ffi.get_global_func("ffi.ArraySize")`. Types are written as in messages; a
function with `(...)` takes any number of arguments. Those that begin with
`tvmffi.` are this runtime's own."""
TYPES = """\
An index of 128 or more is assigned when the process starts, so only the key is
constant. Fields and methods are those that the type adds to its parent's."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true",
                        help="fail if the page is not what src/ gives")
    parser.add_argument("--bare", action="store_true",
                        help="print the public names without a comment")
    parser.add_argument("--unclear", action="store_true",
                        help="print the functions whose comments do not say "
                        "what they return on failure, or who owns the result")
    options = parser.parse_args()
    reference = Reference()
    text = reference.text()
    if options.bare:
        print("".join(line + "\n" for line in reference.bare), end="")
    elif options.unclear:
        print("".join(line + "\n" for line in reference.unclear()), end="")
    elif not options.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/reference.md is not what src/ gives: run ./dev "
                 "reference")


if __name__ == "__main__":
    main()
