#!/usr/bin/env python3
"""Writes the Rust declarations of the ABI, tvmffi-sys/src/abi.rs.

clang reads the types and functions from tvmffi.h, and src/declarations.py
their comments. The header's asserts of sizes and offsets become Rust's. With
--check, compares the file instead.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUTPUT = HERE / "tvmffi-sys/src/abi.rs"
sys.path.insert(0, str(ROOT / "src"))
import declarations  # noqa: E402

HEAD = """\
// Written by packaging/rust/bindings.py from tvmffi.h. Do not edit.

use core::ffi::{c_char, c_int, c_void};
use core::mem::{offset_of, size_of};
"""
OURS = re.compile(r"DL[A-Z]|TVMFFI[A-Z]")
MACRO = re.compile(r"#define (DLPACK_\w+_VERSION|DLPACK_FLAG_\w+"
                   r"|TVM_FFI_VERSION_\w+) \(?([^()]+)\)?")
PRIMITIVES = {
    "void": "c_void", "char": "c_char", "int": "c_int", "double": "f64",
    "size_t": "usize", "int8_t": "i8", "int16_t": "i16", "int32_t": "i32",
    "int64_t": "i64", "uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32",
    "uint64_t": "u64"}
# The anonymous unions in their order: the Rust type and member.
UNIONS = {"TVMFFIObject": [("TVMFFIObjectEnd", "end")],
          "TVMFFIAny": [("TVMFFIAnyLength", "length"),
                        ("TVMFFIAnyValue", "value")]}
KEYWORDS = {"self", "type", "fn", "in", "ref", "from"}


class Failed(Exception):
    pass


# -- C types -------------------------------------------------------------


def split(text):
    """The parts of a list of types, at its outer commas."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def result_of(text):
    return "" if text == "void" else f" -> {rust_type(text)}"


def function_type(result, parameters):
    inner = ", ".join(rust_type(p) for p in split(parameters))
    return f'Option<unsafe extern "C" fn({inner}){result_of(result)}>'


def rust_type(text):
    """The Rust type for a C type, as clang writes it."""
    text = text.strip()
    function = re.fullmatch(r"(.+?)\s*\(\*\)\((.*)\)", text)
    array = re.fullmatch(r"(.+?)\s*\[(\d+)\]", text)
    if function:
        return function_type(function[1], function[2])
    if array:
        return f"[{rust_type(array[1])}; {array[2]}]"
    if text.endswith("*"):
        inner = text[:-1].strip()
        is_const = re.match(r"const ", inner) and not inner.endswith("*")
        name = inner[6:] if is_const else inner
        return f"*{'const' if is_const else 'mut'} {rust_type(name)}"
    name = re.sub(r"^(const|struct|enum) ", "", text)
    if name in PRIMITIVES:
        return PRIMITIVES[name]
    if not OURS.match(name):
        raise Failed(f"no Rust type is known for `{text}`")
    return name


# -- declarations --------------------------------------------------------


def comments():
    """The comment of each public name of the ABI."""
    rooms = declarations.read_rooms()
    macros, seen, found = declarations.Macros(rooms), set(), {}
    for room in rooms:
        if room.tag.startswith("head/"):
            for entry in declarations.entries(room, macros, seen):
                found[entry.names[0]] = entry.comment or ""
    return found


def doc(comment, indent=""):
    """A C comment as one of rustdoc."""
    text = re.sub(r"^/\*|\*/$", "", comment).strip()
    # rustdoc would read these as links and HTML.
    text = re.sub(r"[][<>*]", r"\\\g<0>", text)
    return "".join(f"{indent}/// {line.strip()}\n"
                   for line in text.split("\n") if text)


def member(name):
    return name + "_" if name in KEYWORDS else name


class Writer:
    def __init__(self, nodes, macros):
        self.nodes, self.macros = nodes, macros
        self.comments = comments()
        self.unions = {}  # the Rust member of each member of a union
        self.out = [HEAD]

    def add(self, name, code):
        self.out.append(doc(self.comments.get(name, "")) + code)

    def write(self):
        for name, value in self.macros:
            of = "u64" if "FLAG" in name else "u32"
            self.add(name, f"pub const {name}: {of} = {value};\n")
        records, functions = {}, []
        for node in self.nodes:
            kind, name = node["kind"], node.get("name", "")
            if kind in ("RecordDecl", "EnumDecl"):
                records[node["id"]] = node
            elif kind == "TypedefDecl" and OURS.match(name):
                self.add_type(name, node, records)
            elif kind == "FunctionDecl" and OURS.match(name) and \
                    node.get("storageClass") != "static":
                functions.append(self.function(node))
        self.out.append('extern "C" {\n' + "\n".join(functions) + "}\n")
        self.out.append(self.asserts())
        return "\n".join(self.out)

    def add_type(self, name, node, records):
        owned = node["inner"][0].get("ownedTagDecl") or \
            node["inner"][0].get("decl") or {}
        record = records.get(owned.get("id"))
        if not record:
            self.add(name, f"pub type {name} = "
                     f"{rust_type(node['type']['qualType'])};\n")
        elif record["kind"] == "EnumDecl":
            self.add(name, f"pub type {name} = i32;\n"
                     + "".join(self.constants(name, record)))
        else:
            self.add_struct(name, record)

    def constants(self, name, record):
        value = -1
        for item in record["inner"]:
            if item["kind"] == "EnumConstantDecl":
                expression = item
                while "inner" in expression and "value" not in expression:
                    expression = expression["inner"][0]
                value = int(expression.get("value", value + 1))
                yield f"pub const {item['name']}: {name} = {value};\n"

    def fields(self, record):
        for item in record["inner"]:
            if item["kind"] == "FieldDecl" and "name" in item:
                yield item["name"], rust_type(item["type"]["qualType"])

    def add_struct(self, name, record):
        fields, unions = [], iter(UNIONS.get(name, []))
        for item in record["inner"]:
            if item["kind"] == "RecordDecl":
                rust_name, rust_member = next(unions)
                self.add_record("union", rust_name, self.fields(item))
                for field, _ in self.fields(item):
                    self.unions[name, field] = rust_member
                fields.append((rust_member, rust_name))
            elif item["kind"] == "FieldDecl" and "name" in item:
                fields.append((item["name"],
                               rust_type(item["type"]["qualType"])))
        self.add_record("struct", name, fields)

    def add_record(self, kind, name, fields):
        lines = "".join(f"    pub {member(field)}: {of},\n"
                        for field, of in fields)
        self.add(name, "#[repr(C)]\n#[derive(Clone, Copy)]\n"
                 f"pub {kind} {name} {{\n{lines}}}\n")

    def function(self, node):
        parameters = ",\n".join(
            f"        {member(p['name'])}: {rust_type(p['type']['qualType'])}"
            for p in node.get("inner", []) if p["kind"] == "ParmVarDecl")
        result = node["type"]["qualType"].split("(")[0].strip()
        list_of = f"(\n{parameters},\n    )" if parameters else "()"
        return (doc(self.comments.get(node["name"], ""), "    ")
                + f"    pub fn {node['name']}{list_of}{result_of(result)};\n")

    def asserts(self):
        """The header's own, for 64-bit pointers, 32-bit ones and i386."""
        text = (ROOT / "src/platform/layout.h").read_text(encoding="utf-8")
        lines = []
        for m in re.finditer(r"^TVMFFI_I_(AT|SIZE)(3?)\(((?:DL|TVMFFI)\w+), "
                             r"([\w, ]+)\);", text, re.M):
            words = m[4].split(", ")
            what = f"size_of::<{m[3]}>()"
            if m[1] == "AT":
                field = words.pop(0)
                field = self.unions.get((m[3], field), member(field))
                what = f"offset_of!({m[3]}, {field})"
            on64, on32, *on_i386 = words
            lines.append(f"    assert!({what} == pick({on64}, {on32}, "
                         f"{(on_i386 or [on32])[0]}));\n")
        if len(lines) < 100:
            raise Failed(f"{len(lines)} asserts are found in layout.h")
        return """\
// Selects a value for 64-bit pointers, 32-bit pointers, or i386.
const fn pick(on64: usize, on32: usize, on_i386: usize) -> usize {
    if cfg!(target_pointer_width = "64") {
        on64
    } else if cfg!(target_arch = "x86") {
        on_i386
    } else {
        on32
    }
}

const _: () = {
""" + "".join(dict.fromkeys(lines)) + "};\n"


# -- the header ----------------------------------------------------------


def clang(*options):
    tool = next(filter(shutil.which, ("clang-19", "clang", "clang-14")), None)
    if not tool:
        raise Failed("clang is needed: install the package clang")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "abi.c"
        source.write_text('#define TVMFFI_ABI_ONLY 1\n#include "tvmffi.h"\n')
        done = subprocess.run(
            [tool, "-ffreestanding", "-I", ROOT, *options, source],
            capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stderr)
    return done.stdout


def read():
    tree = json.loads(clang("-fsyntax-only", "-Xclang", "-ast-dump=json"))
    macros = sorted(MACRO.fullmatch(line).groups()
                    for line in clang("-E", "-dM").splitlines()
                    if MACRO.fullmatch(line))
    return tree["inner"], [(name, re.sub(r"(?<=\d)UL\b", "", value))
                           for name, value in macros]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    try:
        text = Writer(*read()).write()
    except Failed as error:
        sys.exit(f"bindings.py: {error}")
    if not args.check:
        OUTPUT.write_text(text, encoding="utf-8")
    elif OUTPUT.read_text(encoding="utf-8") != text:
        sys.exit(f"{OUTPUT.relative_to(ROOT)} differs from tvmffi.h: run "
                 "python3 packaging/rust/bindings.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
