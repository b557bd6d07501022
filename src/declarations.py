"""Reads from src/ what reference.py writes: the public declarations with their
comments, type words, built-in functions and types.

A comment describes the declarations that follow it up to the next empty line.
A built-in function has its comment above its TVMFFI_I_BUILTIN_FUNC, type words,
types and fields have theirs above the line that defines them.
"""

import json
import re
import sys
import textwrap

import amalgamate

SRC = amalgamate.SRC
SURFACE = SRC.parent / "tests/both/surface"
PUBLIC = re.compile(
    r"(tvmffi_(?!(?:\w+_)?i_|(?:body|call|func)_)|TVMFFI_(?!I_)|"
    r"k?TVMFFI[A-Z]|TVM_FFI_|DLPACK_|k?DL[A-Z])\w*$")
# Macros that are defined to rename functions, and include guards.
NO_MACRO = re.compile(r"TVMFFI[A-Z]|\w+_H_$")
COMMENT_OR_STRING = re.compile(
    r"/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
NOT_IN_SIGNATURE = re.compile(
    r"\b(?:TVMFFI_I_(?!ENUM)\w+(?:\([^()]*\))?|TVM_FFI_ATTRIBUTE_PURE|static|"
    r"inline|extern)(?!\w)")

# The head of a function that files may share: TVMFFI_I_ONCE(type, name, (...)).
SHARED_HEAD = re.compile(
    r"^TVMFFI_I_(?:SMALL_)?ONCE\((.*), (\w+),\s*"
    r"(\((?:[^()]|\([^()]*\))*\))\)(?= \{|;)", re.M)
# What other files of the program declare of such a function of the runtime.
SHARED_DECLARATION = re.compile(r"^TVMFFI_I_SHARED\(.*\)$", re.M)


# -- C text --------------------------------------------------------------


def blanked(text):
    """The text without comments, strings and characters."""
    return COMMENT_OR_STRING.sub(
        lambda m: " " if m[0].startswith("/*") else '""', text)


def c_lines(text):
    """The lines that a C compiler sees: without those for C++ alone."""
    stack = []  # for each open #if None, or whether C sees its lines
    for line in text.split("\n"):
        words, drop = line.split("/*")[0].strip(), False
        if re.match(r"# *if", words):
            drop = re.fullmatch(r"# *(ifn?def|if !?defined\() *__cplusplus\)?",
                                words)
            stack.append("ifndef" in words or "!" in words if drop else None)
        elif re.match(r"# *(else|elif)", words):
            drop = stack[-1] is not None
            stack[-1] = not stack[-1] if drop else None
        elif re.match(r"# *endif", words):
            drop = stack.pop() is not None
        if not drop and False not in stack:
            yield line


def is_complete(code):
    """Whether lines of code are a whole declaration, definition or call."""
    bare = blanked(code).rstrip()
    depth = sum(bare.count(c) for c in "([{") \
        - sum(bare.count(c) for c in ")]}")
    return depth <= 0 and bare[-1:] in (";", "}", ")")


def items(lines):
    """Splits lines into (kind, text): "comment", "directive", "code", or
    "blank" between them."""
    lines = list(lines) + [""]
    i = 0
    while i < len(lines):
        begin, kind, i = i, "blank", i + 1
        if lines[begin].startswith("/*"):
            kind = "comment"
            while "*/" not in lines[i - 1]:
                i += 1
        elif lines[begin].startswith("#"):
            kind = "directive"
            while lines[i - 1].endswith("\\"):
                i += 1
        elif lines[begin].strip():
            kind = "code"
            while not is_complete("\n".join(lines[begin:i])) \
                    and i < len(lines) and (lines[i] or "{" in lines[begin]):
                i += 1
        yield kind, "\n".join(lines[begin:i])


class Group:
    """A comment, and the items between it and the next empty line."""

    def __init__(self, comment):
        self.comment, self.items = comment, []


def groups(lines):
    """The groups of a room. One without items is a comment that stands
    alone."""
    group = Group(None)
    for kind, text in items(lines):
        if kind == "comment" and "clang-format" in text:
            continue
        if kind == "comment" or (kind == "blank" and
                                 (group.items or group.comment)):
            if group.comment or group.items:
                yield group
            group = Group(text if kind == "comment" else None)
        elif kind != "blank":
            group.items.append((kind, text))


def arguments(text):
    """The arguments of a macro call, the text of which begins with its
    parenthesis, and the length of that text."""
    depth, begin, found = 0, 1, []
    for m in re.finditer(r'"(?:\\.|[^"\\])*"|[(){},]', text):
        c = m[0]
        depth += (c in "({") - (c in ")}")
        if (c == "," and depth == 1) or depth == 0:
            found.append(text[begin:m.start()].strip())
            begin = m.end()
        if depth == 0:
            return found, m.end()
    raise ValueError(f"no end of the arguments: {text[:60]}")


class Macros:
    """The macros with arguments of the sources, to expand calls of them."""

    KEPT = {"TVMFFI_I_BUILTIN_FUNC", "TVMFFI_I_BUILTIN_NAMED",
            "TVMFFI_I_LISTED_METHOD", "TVMFFI_I_PACKED"}

    def __init__(self, rooms):
        self.macros = {}
        for room in rooms:
            for kind, text in items(room.lines):
                m = re.match(r"#define (TVMFFI_I_\w+)\(([^)]*)\)\s*(.*)", text,
                             re.S)
                if m and m[1] not in self.KEPT:
                    body = re.sub(r"\s*\\\n\s*", "\n", m[3]).strip(" \\")
                    names = [n.strip() for n in m[2].split(",")]
                    self.macros.setdefault(m[1], (names, body.lstrip("\n")))

    def expand(self, text, inside=()):
        """The text with the calls of known macros replaced."""
        result, at = "", 0
        for m in re.finditer(r"\b(TVMFFI_I_\w+)\(", text):
            if m.start() < at or m[1] not in self.macros or m[1] in inside:
                continue
            names, body = self.macros[m[1]]
            given, size = arguments(text[m.end() - 1:])
            if "..." in names:
                n = len(names) - 1
                given = given[:n] + [", ".join(given[n:])]
            values = dict(zip([n.replace("...", "__VA_ARGS__") for n in names],
                              given))
            body = re.sub(r"/\*.*?\*/|\b[A-Za-z_]\w*\b",
                          lambda w: values.get(w[0], w[0]), body, flags=re.S)
            body = re.sub(r"\s*##\s*", "", body)
            result += text[at:m.start()]
            result += self.expand(body, (*inside, m[1]))
            at = m.end() - 1 + size
        return result + text[at:]


def string(code):
    """The value of C string constants that stand together."""
    parts = re.findall(r'"((?:\\.|[^"\\])*)"', code)
    return "".join(parts).replace('\\"', '"')


# -- rooms and what they declare -----------------------------------------


class Room:
    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        self.path = path.relative_to(SRC)
        self.tag, self.about = amalgamate.banner(path)
        self.title = re.match(r"/\* =+ ([^:=]+?)(?::| =)", text)[1]
        text = text[re.match(r"/\*.*?\*/\n", text, re.S).end():]
        text = SHARED_DECLARATION.sub("", text)
        text = SHARED_HEAD.sub(r"\1 \2\3", text)
        self.lines = list(c_lines(text))
        first = next(items(self.lines))
        self.intro = first[1] if first[0] == "comment" else ""
        self.anchor = self.tag.replace("/", "-")


def read_rooms():
    return [Room(path) for layer in amalgamate.included(amalgamate.ROOT)
            for path in amalgamate.included(layer)]


def signature(code):
    """A function's declaration on as few lines as it needs."""
    head = blanked(code).split("{")[0].split(";")[0]
    head = " ".join(NOT_IN_SIGNATURE.sub(" ", head).split()) + ";"
    head = re.sub(r"\( ", "(", re.sub(r"\* (?=\*)", "*", head))
    lines = [""]
    for part in re.split(r"(?<=,) ", head):
        if lines[-1] and len(lines[-1]) + len(part) > 77:
            lines.append("   ")
        lines[-1] += (" " if lines[-1] else "") + part
    return "\n".join(lines)


def plain_type(code):
    """A type's definition, as it reads in C."""
    code = re.sub(r"TVMFFI_I_ENUM_NAME\((\w+)\)", r"\1", code)
    code = re.sub(r"TVMFFI_I_ENUM\((\w+)\)", r"typedef enum", code)
    return code.replace("TVMFFI_I_EXTENSION ", "")


def declared(kind, text):
    """The public names that an item declares, and how the page shows it."""
    if kind == "directive":
        m = re.match(r"# *define (\w+)(\([^)]*\))?[ \\\n]*(.*)", text, re.S)
        if not m or not PUBLIC.match(m[1]) or NO_MACRO.match(m[1]):
            return [], ""
        value = "" if m[2] or "\n" in m[3] else m[3]
        shows = re.fullmatch(r"-?\w+|\(.*<<.*\)", value) and m[1] != value
        return [m[1]], m[1] + (m[2] or "") + (f" {value}" if shows else "")
    bare = blanked(text)
    if re.match(r"(typedef|enum|struct|TVMFFI_I_ENUM\()", bare):
        names = re.findall(r"\(\s*\*\s*(\w+)\)\s*\(", bare.split("{")[0])
        names += re.findall(r"(\w+)\s*\)?\s*;\s*$", bare)
        names += re.findall(r"^(?:typedef )?struct (\w+) *{", bare)
        if re.match(r"(enum|typedef enum|TVMFFI_I_ENUM\()", bare):
            names += re.findall(r"[{,]\s*(\w+)", bare[bare.index("{"):])
        return list(dict.fromkeys(filter(PUBLIC.match, names))), \
            plain_type(text)
    head = NOT_IN_SIGNATURE.sub(" ", bare.split("{")[0])
    m = re.match(r"\s*\w[\w\s*]*?[\s*](\w+)\s*\(", head)
    if m and PUBLIC.match(m[1]) and "=" not in head[:m.end()]:
        return [m[1]], signature(text)
    return [], ""


class Entry:
    """Public declarations with one comment."""

    def __init__(self, comment):
        self.comment, self.names, self.shown = comment, [], []


OPTION = re.compile(r"/\* Define "
                    r"((?:(?:, | and )?TVMFFI_\w+(?:\(\w*\))?)+)")


def entries(room, macros, seen):
    """The entries of a room for names that no room above has."""
    for group in groups(room.lines):
        entry = Entry(group.comment)
        found = [declared(kind, text) for kind, text in group.items]
        for kind, text in group.items:
            if kind == "code" and re.match(r"TVMFFI_I_\w+\(", text):
                found += [declared(*item) for item in
                          items(macros.expand(text).split("\n"))]
        alone = OPTION.match(group.comment or "")
        if alone and not group.items:
            found = [([m.split("(")[0]], m) for m in
                     re.findall(r"TVMFFI_\w+(?:\(\w*\))?", alone[1])]
        for names, shown in found:
            names = [n for n in names if n not in seen]
            if names:
                seen.update(names)
                entry.names += names
                entry.shown.append(shown)
        if entry.names:
            yield entry


# -- type words ----------------------------------------------------------


class Word:
    """A type word: its C type, its names, and the comment above it."""

    def __init__(self, name, code, comment):
        self.name, self.comment, self.is_struct = name, comment, False
        c_type = re.search(rf"typedef ([^;]*?) ?tvmffi_type_{name};", code)
        self.c_type = c_type[1] if c_type else ""
        if self.c_type.startswith("tvmffi_i_"):
            self.c_type = ""
        names = re.search(rf"tvmffi_i_word_{name} =\s*{{(.*?)}};", code, re.S)
        self.shown = string(arguments("{" + names[1] + "}")[0][0])


def read_words(rooms, macros):
    """The type words of all rooms, those of the runtime's own functions
    included."""
    words = {}
    for room in rooms:
        for group in groups(room.lines):
            code = "\n".join(macros.expand(text) for kind, text in group.items
                             if kind == "code")
            for name in re.findall(r"tvmffi_i_word_(\w+) =\s*{", code):
                words.setdefault(name, Word(name, code, group.comment))
            for name in re.findall(r"tvmffi_no_(\w+)\(void\)", code):
                words[name].is_struct = True
    return words


def public_words(rooms):
    """The words that a user may write, in the order of the header."""
    compiler = next(r for r in rooms if r.tag == "head/compiler")
    listed = re.findall(r"#define TVMFFI_I_WORD_(\w+)(?:\(\w+\))? ~?,? ?(\w+)",
                        "\n".join(compiler.lines))
    items = ("field", "method", "attribute", "destructor", "doc")
    return [name for name, of in listed
            if of not in items and name not in ("_Bool", "optional")]


# -- built-in functions --------------------------------------------------


class Function:
    """A typed function, or a packed one, which has no words."""

    def __init__(self, macro, given, comment, room):
        self.words, self.comment, self.room = None, comment, room
        self.c_name, self.name = "i_" + given[0], "ffi." + given[0]
        if macro in ("TVMFFI_I_BUILTIN_NAMED", "TVMFFI_I_LISTED_METHOD"):
            self.c_name = given[0]
            self.name = "".join(a or b for a, b in
                                re.findall(r'"([^"]*)"|#(\w+)', given[1]))
            del given[1]
        if macro != "TVMFFI_I_PACKED":
            self.words = given[1:]


def read_functions(rooms, macros):
    """The runtime's own typed and packed functions by their C names."""
    functions = {}
    begin = re.compile(rf"({'|'.join(macros.KEPT)})\(")

    def add(lines, room, outer):
        for group in groups(lines):
            for kind, text in group.items:
                m = begin.match(text)
                call = re.match(r"(TVMFFI_I_\w+)\(", text)
                comment = group.comment or outer
                if kind == "code" and m:
                    given = arguments(text[m.end() - 1:])[0]
                    f = Function(m[1], given, comment, room)
                    functions[f.c_name] = f
                elif kind == "code" and call and call[1] in macros.macros:
                    inner = macros.expand(text)
                    count = len(begin.findall(inner))
                    if count:
                        add(inner.split("\n"), room,
                            comment if count == 1 else None)

    for room in rooms:
        if room.path.parts[0] not in ("head", "interface"):
            add(room.lines, room, None)
    return functions


def read_builtins(rooms, functions):
    """The functions in the order of the table."""
    room = next(r for r in rooms if r.tag == "tables/builtin")
    for name in re.findall(r"(?:\bF\(|&tvmffi_func_i_)(\w+)",
                           "\n".join(room.lines)):
        if "i_" + name not in functions:
            sys.exit(f"no definition of the built-in function {name} is found")
        yield functions["i_" + name]


def word_text(code, words):
    """How an error shows the type that a word stands for."""
    m = re.match(r"(\w+)\((.*)\)$", code, re.S)
    if m:
        inner = ", ".join(word_text(part.strip(), words)
                          for part in m[2].split(","))
        return f"{m[1].capitalize()}<{inner}>"
    if code not in words:
        sys.exit(f"no type word {code} is found")
    shown = words[code].shown
    return "None" if shown == "void" else shown


def call_text(name, function, words):
    """`name(parameter: type, ...) -> type`, or `name(...)`."""
    if function.words is None:
        return f"{name}(...)"
    result, *parameters = [w for w in function.words if w]
    shown = []
    for pair in parameters:
        word, _, parameter = pair.strip("()").rpartition(",")
        shown.append(f"{parameter.strip()}: {word_text(word.strip(), words)}")
    return f"{name}({', '.join(shown)}) -> {word_text(result, words)}"


# -- built-in types and attributes ---------------------------------------


def schema_text(schema):
    """A type schema, as error texts write types."""
    inner = [schema_text(s) for s in schema.get("args", [])]
    name = schema["type"].removeprefix("ffi.") if inner else schema["type"]
    return name + (f"<{', '.join(inner)}>" if inner else "")


class Type:
    def __init__(self, index, key, parent):
        self.index, self.key, self.parent = index, key, parent
        self.fields, self.methods, self.kind = [], [], 0
        self.has_creator = False


def read_surface():
    """The built-in types, and for each attribute the keys of those with it:
    the facts that a test compares with the library."""
    types, attributes = {}, {}
    for line in (SURFACE / "types.txt").read_text().splitlines():
        field = re.match(r"    field (\S+) .* flags=(\d+) .* ?meta=(.*)", line)
        method = re.match(r"    method (\S+) flags=(\d+)", line)
        if field:
            schema = json.loads(json.loads(field[3])["type_schema"])
            last.fields.append((field[1], int(field[2]), schema_text(schema)))
        elif method:
            last.methods.append((method[1], int(method[2])))
        elif line.startswith("attr "):
            name, rest = re.match(r"attr (\w+): (.*)", line).groups()
            attributes[name] = [types[int(i)].key for i in
                                re.findall(r"(\d+)\(t\d+\)", rest)]
        else:
            m = re.match(r"(\d+) (.+) depth=\d+ anc=\[([\d,]*)\](.*)", line)
            parent = m[3].split(",")[-1]
            last = Type(int(m[1]), m[2],
                        types[int(parent)].key if parent else None)
            last.has_creator = "creator=1" in m[4]
            kind = re.search(r"smode=(\d)", m[4])
            last.kind = int(kind[1]) if kind else 0
            types[last.index] = last
    return list(types.values()), attributes


def rows(rooms, tag, table):
    """The rows of a table of a room, in braces or calls of a macro:
    (arguments, the comment above)."""
    text = "\n".join(next(r for r in rooms if r.tag == tag).lines)
    begin = re.search(rf"\b{table}\[\w*\] = ", text).end()
    body = text[begin:]
    size = arguments(body)[1]
    comment, at = None, 1
    while at < size - 1:
        m = re.compile(r"/\*.*?\*/|\w+\(|\{|.", re.S).match(body, at)
        at = m.end()
        if m[0].startswith("/*"):
            comment = m[0].replace("\n    ", "\n")
        elif m[0][-1] in "({":
            given, n = arguments(body[at - 1:])
            yield given, comment
            comment, at = None, at - 1 + n


def definitions(comment):
    """{name: text} of the list in a comment: a name that is indented by 5, and
    its text beside it or below, indented further."""
    found = {}
    for line in comment.split("\n"):
        m = re.match(r" {5}(\S+)(?:  +(.*))?$", line)
        if m:
            name = m[1]
            found[name] = m[2] or ""
        elif re.match(r" {6}", line) and found:
            found[name] += " " + line.strip()
    return {n: t.replace("*/", "").strip() for n, t in found.items()}
