#!/usr/bin/env python3
"""Compares tvmffi.h with the headers that define the ABI.

The lists of what there is to compare (constants, structs, fields, typedefs,
functions, accessors) are read out of the upstream headers, so nothing can be
forgotten; the compiler then says what each one is, there and here. Prints TAP;
the exit status is 0 when everything is equal.

  compare.py --wheel-include DIR --header tvmffi.h --cc gcc [--cflags=-m32]

With --self-test it instead breaks copies of the header in one place each and
fails unless every one of these faults is found.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile

UPSTREAM = ["dlpack/dlpack.h", "tvm/ffi/c_api.h", "tvm/ffi/extra/c_env_api.h"]
ALL_UPSTREAM = "#include <tvm/ffi/extra/c_env_api.h>\n"
STANDARDS = [("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++17")]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
OPEN, CLOSE = "([{", ")]}"


# ---- Reading C declarations ------------------------------------------------


def tokens_of(text):
    text = re.sub(r"\b__extension__\b", " ", text)
    tokens = re.findall(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\w+|\S', text)
    out, i = [], 0
    while i < len(tokens):
        if tokens[i] == "__attribute__":
            i = closing(tokens, i + 1) + 1
        else:
            out.append(tokens[i])
            i += 1
    return out


def closing(tokens, start):
    """Index of the bracket that closes the one at start."""
    depth = 0
    for i in range(start, len(tokens)):
        depth += (tokens[i] in OPEN) - (tokens[i] in CLOSE)
        if depth == 0:
            return i
    raise ValueError("unbalanced: " + " ".join(tokens[start : start + 20]))


def split(tokens, separator):
    """Splits at a separator outside all brackets."""
    parts, part, depth = [], [], 0
    for token in tokens:
        depth += (token in OPEN) - (token in CLOSE)
        if token == separator and depth == 0:
            parts.append(part)
            part = []
        else:
            part.append(token)
    if part:
        parts.append(part)
    return parts


def declarations(tokens):
    """The top-level declarations; a function's body is left out."""
    out, current, i = [], [], 0
    while i < len(tokens):
        token = tokens[i]
        if token == ";":
            if current:
                out.append(current)
            current = []
        elif token == "{" and current and current[-1] == ")":
            out.append(current + ["{"])
            current = []
            i = closing(tokens, i)
        elif token in OPEN:
            end = closing(tokens, i)
            current += tokens[i : end + 1]
            i = end
        else:
            current.append(token)
        i += 1
    return out


def declared_name(tokens):
    """The name that a field, a typedef or a function declares."""
    if "(" in tokens:
        first = tokens.index("(")
        pointer = tokens[first + 1] == "*" and tokens[first + 3] == ")"
        return tokens[first + 2 if pointer else first - 1]
    if tokens[-1] == "]":
        return tokens[tokens.index("[") - 1]
    return tokens[-1]


def fields_of(body):
    """(name, declaration) of each field, anonymous members flattened."""
    out = []
    for part in split(body, ";"):
        if part[0] in ("union", "struct") and part[-1] == "}":
            out += fields_of(part[part.index("{") + 1 : -1])
        else:
            out.append((declared_name(part), part))
    return out


class Api:
    """What a header declares."""

    def __init__(self, text):
        self.constants, self.enums, self.typedefs = [], [], {}
        self.structs, self.functions, self.inline = {}, {}, {}
        for declaration in declarations(tokens_of(text)):
            self.add(declaration)

    def add(self, declaration):
        first = declaration[0]
        if first == "typedef" and "{" in declaration:
            start = declaration.index("{")
            body = declaration[start + 1 : closing(declaration, start)]
            if "enum" in declaration[:start]:
                self.enums.append(declaration[-1])
                self.constants += [part[0] for part in split(body, ",")]
            else:
                self.structs[declaration[-1]] = fields_of(body)
        elif first == "typedef":
            self.typedefs[declared_name(declaration)] = declaration
        elif declaration[-1] == "{":
            self.inline[declared_name(declaration)] = declaration[:-1]
        elif first in ("static", "_Static_assert"):
            pass
        elif declared_name(declaration).startswith("tvmffi_i_"):
            pass  # of the C interface
        elif declaration[-1] == ")":
            self.functions[declared_name(declaration)] = [
                t for t in declaration if t != "extern"
            ]


def macros_of(text):
    """Object-like macros of a header's text: name to value."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    text = text.replace("\\\n", " ")
    pattern = r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?![\w(])[ \t]*(.*?)[ \t]*$"
    return dict(re.findall(pattern, text, flags=re.M))


# ---- The compiler ----------------------------------------------------------


class Tool:
    def __init__(self, args, header, directory):
        self.args, self.header, self.dir = args, header, directory
        self.count = 0

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def include(self):
        return '#include "%s"\n' % self.header

    def command(self, language):
        compiler = self.args.cc if language == "c" else self.args.cxx
        return shlex.split(compiler) + shlex.split(self.args.cflags)

    def compile(self, language, standard, text, mode, extra=()):
        """Runs the compiler; returns (status, output path, messages)."""
        self.count += 1
        suffix = ".c" if language == "c" else ".cc"
        source = self.write("t%d%s" % (self.count, suffix), text)
        output = os.path.join(self.dir, "t%d.out" % self.count)
        command = self.command(language) + ["-std=" + standard]
        command += list(extra)
        command += ["-isystem", self.args.wheel_include, source]
        command += mode + ["-o", output]
        done = run(command)
        return done.returncode, output, done.stderr

    def accepts(self, language, standard, text, extra=()):
        status, _, errors = self.compile(
            language, standard, text, ["-c"], WARNINGS + list(extra)
        )
        return status == 0, errors

    def run_lines(self, language, text):
        """Compiles and runs a program; returns its lines, or the messages."""
        standard = "c11" if language == "c" else "c++11"
        status, program, errors = self.compile(language, standard, text, [])
        if status:
            return None, errors
        done = run(shlex.split(self.args.run) + [program])
        if done.returncode:
            return None, "the program failed: %d" % done.returncode
        return done.stdout.splitlines(), ""

    def preprocessed(self, language, include, inside):
        """The text that comes from files under the path `inside`."""
        standard = "c11" if language == "c" else "c++11"
        status, output, errors = self.compile(
            language, standard, include, ["-E"]
        )
        if status:
            raise SystemExit("cannot preprocess:\n" + errors)
        keep, lines = False, []
        with open(output, encoding="utf-8") as file:
            for line in file:
                marker = re.match(r'#(?:line)? *\d+ "(.*?)"', line)
                if marker:
                    path = os.path.realpath(marker.group(1))
                    keep = path == inside or path.startswith(inside + os.sep)
                elif keep and not line.startswith("#"):
                    lines.append(line)
        return "".join(lines)


def run(command):
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        check=False,
    )


class Upstream:
    """Everything that the upstream headers define."""

    def __init__(self, tool):
        root = tool.args.wheel_include
        inside = os.path.realpath(root)
        self.api = Api(tool.preprocessed("c", ALL_UPSTREAM, inside))
        self.macros = {}
        self.expected_functions, self.expected_constants = set(), set()
        for name in UPSTREAM:
            with open(os.path.join(root, name), encoding="utf-8") as file:
                text = file.read()
            self.macros.update(macros_of(text))
            self.expected_functions |= set(
                re.findall(r"(?m)^TVM_FFI_DLL [^(;]*?(\w+)\(", text))
            self.expected_constants |= set(
                re.findall(r"(?m)^  (k[A-Z]\w+)(?: =|,$)", text))
        cxx = tool.preprocessed("c++", ALL_UPSTREAM, inside)
        cxx = re.sub(r'extern "C" \{', " ", cxx)
        self.accessors = [
            [t for t in tokens if t != "inline"]
            for tokens in self.inline_functions(cxx)
        ]

    @staticmethod
    def inline_functions(text):
        found = re.findall(r"\binline\b[^;{}]*\([^;{}]*\)\s*\{", text)
        return [tokens_of(one)[:-1] for one in found]

    def integer_macros(self):
        return [
            name
            for name, value in self.macros.items()
            if re.match(r"^[\d(][\s\w()<|]*$", value)
        ]


# ---- The comparisons: each yields (text, ok, details) ----------------------


def facts_program(upstream, include, language):
    """A program that prints `name value` lines about a set of headers."""
    api = upstream.api
    lines = [include, "#include <stdio.h>\n#include <stddef.h>"]
    body = []

    def fact(name, value):
        body.append('  printf("%%s %%lld\\n", "%s", (long long)(%s));'
                    % (name, value))

    for name in upstream.macros:
        body.append("#ifdef %s" % name)
        fact("defined " + name, "1")
        body.append("#endif")
    for name in upstream.integer_macros() + api.constants:
        fact("constant " + name, name)
        fact("constant-size " + name, "sizeof(%s)" % name)
    if language == "c":
        for name in api.constants:
            fact("negative " + name, "(%s) - (%s) - 1 < 0" % (name, name))
    for name in list(api.structs) + api.enums + list(api.typedefs):
        lines.append("struct align_%s { char byte; %s value; };" % (name, name))
        fact("size " + name, "sizeof(%s)" % name)
        fact("alignment " + name, "offsetof(struct align_%s, value)" % name)
    for struct, fields in api.structs.items():
        for field, _ in fields:
            place = "%s.%s" % (struct, field)
            fact("offset " + place, "offsetof(%s, %s)" % (struct, field))
            fact("field-size " + place,
                 "sizeof(((%s *)0)->%s)" % (struct, field))
    body.append("  return 0;")
    return "\n".join(lines + ["int main(void) {"] + body + ["}", ""])


def compare_facts(tool, upstream):
    for language in ("c", "c++"):
        title = "constants, sizes and offsets are equal in " + language.upper()
        results = []
        for include in (ALL_UPSTREAM, tool.include()):
            program = facts_program(upstream, include, language)
            lines, errors = tool.run_lines(language, program)
            results.append(lines)
            if lines is None:
                yield title, False, errors
                break
        else:
            theirs, ours = map(set, results)
            # A comparison of nothing would pass.
            enough = len(results[0]) > 500
            details = ["upstream: " + x for x in sorted(theirs - ours)]
            details += ["here:     " + x for x in sorted(ours - theirs)]
            title += " (%d facts)" % len(results[0])
            yield title, enough and not details, "\n".join(details)


def same_type(name, upstream_type, here):
    """Redeclares a pointer, which only compiles when the types are equal."""
    return (
        "typedef %s;\nextern upstream_%s *check_%s;\nextern %s *check_%s;\n"
        % (upstream_type, name, name, here, name)
    )


def renamed(tokens, name, new):
    return " ".join(new if t == name else t for t in tokens)


def type_checks(upstream):
    text = []
    for struct, fields in upstream.api.structs.items():
        for field, tokens in fields:
            name = "%s_%s" % (struct, field)
            text.append(
                same_type(
                    name,
                    renamed(tokens, field, "upstream_" + name),
                    "__typeof__(((%s *)0)->%s)" % (struct, field),
                )
            )
    for name, tokens in upstream.api.typedefs.items():
        text.append(
            same_type(name, renamed(tokens[1:], name, "upstream_" + name), name)
        )
    return text


def in_extern_c(text):
    return (
        '#ifdef __cplusplus\nextern "C" {\n#endif\n' + text
        + "#ifdef __cplusplus\n}\n#endif\n"
    )


def prototypes(upstream):
    # Upstream's C++ reads () as no arguments; so does the check, in C too.
    text = [" ".join(t) + ";\n" for t in upstream.api.functions.values()]
    return re.sub(r"\( \)", "( void )", "".join(text))


def uses(upstream):
    """Refers to every function, so that a missing one is an error."""
    names = [declared_name(t) for t in upstream.accessors]
    names += list(upstream.api.functions)
    return (
        "void use_all(void);\nvoid use_all(void) {\n"
        + "".join("  (void)&%s;\n" % name for name in names)
        + "}\n"
    )


def compare_types(tool, upstream):
    fields = type_checks(upstream)
    functions = upstream.api.functions
    for language, standard in STANDARDS:
        # The prototypes of a function () and (void) are compatible.
        ok, errors = tool.accepts(
            language, standard,
            tool.include() + in_extern_c(prototypes(upstream)),
        )
        yield ("the %d prototypes are equal in %s" % (len(functions), standard),
               ok and len(functions) > 40, errors)
        ok, errors = tool.accepts(
            language, standard, tool.include() + in_extern_c("".join(fields))
        )
        yield ("the types of %d fields and typedefs are equal in %s"
               % (len(fields), standard), ok and len(fields) > 100, errors)
        accessors = "".join(
            renamed(t, declared_name(t), "(*check_%s)" % declared_name(t))
            + " = %s;\n" % declared_name(t)
            for t in upstream.accessors
        )
        externs = re.sub(r"(?m)^(.*) = \w+;$", r"extern \1;", accessors)
        ok, errors = tool.accepts(
            language, standard, tool.include() + externs + accessors
        )
        yield ("the %d inline accessors are equal in %s"
               % (len(upstream.accessors), standard),
               ok and len(upstream.accessors) > 7, errors)


def difference(theirs, ours):
    theirs, ours = set(theirs), set(ours)
    return "\n".join(
        ["missing here: " + name for name in sorted(theirs - ours)]
        + ["only here: " + name for name in sorted(ours - theirs)]
    )


def compare_names(tool, upstream):
    """Names of the ABI are neither missing nor added to."""
    ours = Api(
        tool.preprocessed("c", tool.include(), os.path.realpath(tool.header))
    )
    with open(tool.header, encoding="utf-8") as file:
        macros = macros_of(file.read())
    theirs = upstream.api

    def check(title, expected, found):
        details = difference(expected, found)
        return ("the names of %s are equal (%d)" % (title, len(set(expected))),
                bool(expected) and not details, details)

    # A second reading of upstream's text: what the first one lost would never
    # be compared.
    for title, expected, found in (
        ("functions", upstream.expected_functions, theirs.functions),
        ("constants", upstream.expected_constants, theirs.constants),
    ):
        details = difference(expected, found)
        yield ("all %d upstream %s are read" % (len(expected), title),
               bool(expected) and not details, details)
    yield check("functions", theirs.functions, ours.functions)
    yield check("constants", theirs.constants,
                [n for n in ours.constants if re.match("k[A-Z]", n)])
    foreign = re.compile("TVMFFI(?!_)|DL")
    yield check(
        "types",
        list(theirs.structs) + list(theirs.typedefs) + theirs.enums,
        [n for n in list(ours.structs) + list(ours.typedefs) + ours.enums
         if foreign.match(n)],
    )
    yield check("inline accessors", map_names(upstream.accessors),
                [n for n in ours.inline if foreign.match(n)])
    yield check("macros", upstream.macros,
                [n for n in macros if re.match("TVM_FFI_|DLPACK_", n)])


def map_names(declared):
    return [declared_name(tokens) for tokens in declared]


def compare_orders(tool, upstream):
    ours = tool.include()
    core = "#include <tvm/ffi/c_api.h>\n"
    dlpack = "#include <dlpack/dlpack.h>\n"
    orders = [
        ("alone", ours, []),
        ("included twice", ours + ours, []),
        ("then c_api.h and c_env_api.h", ours + core + ALL_UPSTREAM, []),
        ("after c_api.h", core + ours, []),
        ("after c_env_api.h", ALL_UPSTREAM + ours, []),
        ("between c_api.h and c_env_api.h", core + ours + ALL_UPSTREAM, []),
        ("after dlpack.h", dlpack + ours, []),
        ("then dlpack.h", ours + dlpack, []),
        ("with the system's DLPack", ours, ["-DTVMFFI_SYSTEM_DLPACK=1"]),
    ]
    for title, text, flags in orders:
        for language, standard in STANDARDS:
            ok, errors = tool.accepts(
                language, standard, text + uses(upstream), flags
            )
            yield "tvmffi.h %s compiles as %s" % (title, standard), ok, errors


def compare_linking(tool, upstream):
    """C++ calls what C defines, and a prefix renames every function."""
    bodies = []
    for tokens in upstream.api.functions.values():
        end = tokens.index("(") - 1
        result = " ".join(tokens[:end])
        body = "" if result == "void" else "static %s r; return r; " % result
        bodies.append(" ".join(tokens) + " { " + body + "}\n")
    definitions = re.sub(r"\( \)", "( void )", "".join(bodies))
    title = "C++ links to functions defined in C"
    # Without this, late functions are macros.
    plain = "#define TVMFFI_ABI_ONLY 1\n" + tool.include()
    status, c_object, errors = tool.compile(
        "c", "c11", plain + definitions, ["-c"]
    )
    if status:
        yield title, False, errors
    else:
        calls = "".join(
            "  volatile void *p%d = (void *)&%s;\n  (void)p%d;\n" % (i, name, i)
            for i, name in enumerate(upstream.api.functions)
        )
        # The linker must get an object under a name that says so.
        named = c_object + ".o"
        os.replace(c_object, named)
        status, _, errors = tool.compile(
            "c++", "c++11",
            tool.include() + "int main() {\n" + calls + "  return 0;\n}\n",
            [named],
        )
        yield title, status == 0, errors

    text = ("#define TVMFFI_PREFIX zz_\n" + tool.include() + tool.include()
            + "#include <stdio.h>\n#define TEXT_(x) #x\n"
            + "#define TEXT(x) TEXT_(x)\nint main(void) {\n")
    text += "".join(
        "  puts(TEXT(%s));\n" % name for name in upstream.api.functions
    )
    for language in ("c", "c++"):
        lines, errors = tool.run_lines(language, text + "  return 0;\n}\n")
        expected = ["zz_" + name for name in upstream.api.functions]
        yield ("TVMFFI_PREFIX renames every function in " + language.upper(),
               lines == expected,
               errors or difference(expected, lines or []))


def compare_refusals(tool, upstream):
    """What cannot work is refused with a message that says so."""
    del upstream
    with open(os.path.join(tool.args.wheel_include, UPSTREAM[0]),
              encoding="utf-8") as file:
        current = file.read()

    def dlpack(major, minor):
        text = re.sub(r"(DLPACK_MAJOR_VERSION) \d+", r"\1 %d" % major, current)
        text = re.sub(r"(DLPACK_MINOR_VERSION) \d+", r"\1 %d" % minor, text)
        name = "dlpack-%d.%d/dlpack/dlpack.h" % (major, minor)
        return tool.write(name, text)

    ancient = tool.write(
        "dlpack-old/dlpack/dlpack.h",
        "#ifndef DLPACK_DLPACK_H_\n#define DLPACK_DLPACK_H_\n"
        "#define DLPACK_VERSION 60\n#endif\n",
    )
    needs = "needs DLPack 1.3"
    core = "#include <tvm/ffi/c_api.h>\n"
    cases = [("DLPack %d.%d" % v, '#include "%s"\n' % dlpack(*v), [], needs)
             for v in ((0, 8), (1, 0), (1, 2), (2, 0))]
    cases += [
        ("a DLPack without a version", '#include "%s"\n' % ancient, [], needs),
        ("a system's DLPack 1.2", "",
         ["-DTVMFFI_SYSTEM_DLPACK=1",
          "-I" + os.path.dirname(os.path.dirname(dlpack(1, 2)))], needs),
        ("TVMFFI_STATIC after c_api.h", core, ["-DTVMFFI_STATIC=1"],
         "TVMFFI_STATIC"),
        ("TVMFFI_PREFIX after c_api.h", core, ["-DTVMFFI_PREFIX=zz_"],
         "TVMFFI_PREFIX"),
    ]
    for title, before, flags, message in cases:
        for language, standard in (STANDARDS[0], STANDARDS[3]):
            ok, errors = tool.accepts(
                language, standard, before + tool.include(), flags
            )
            said = re.search("#error.*" + re.escape(message), errors)
            yield ("%s is refused as %s" % (title, standard),
                   not ok and said is not None,
                   errors or "it was accepted")
    for version in ((1, 3), (1, 4)):
        before = '#include "%s"\n' % dlpack(*version)
        ok, errors = tool.accepts("c", "c99", before + tool.include())
        yield "DLPack %d.%d is accepted" % version, ok, errors


def compare_cxx_library(tool, upstream):
    """C++ written against upstream's headers compiles against this one."""
    del upstream
    library = "#include <tvm/ffi/tvm_ffi.h>\n"
    use = (
        "int answer();\nint answer() {\n"
        "  tvm::ffi::Any any = tvm::ffi::String(\"a longer string\");\n"
        "  return any.type_index() == kTVMFFIStr;\n}\n"
    )
    for place, text in (("before", tool.include() + library),
                        ("after", library + tool.include())):
        title = "tvmffi.h compiles %s the C++ library" % place
        ok, errors = tool.accepts("c++", "c++17", text + use)
        if not ok and not tool.accepts("c++", "c++17", library)[0]:
            title += " # SKIP the library alone does not compile here"
            ok = True
        yield title, ok, errors


COMPARISONS = [compare_names, compare_facts, compare_types, compare_orders,
               compare_linking, compare_refusals]


# ---- The self-test: (what, pattern, replacement, who must find it) ---------

# The static asserts would find a wrong layout first; without them the
# comparison itself has to.
NO_ASSERTS = (
    r"#define TVMFFI_I_(AT3|SIZE3)(\([^)]*\))(?:[^\n]*\\\n)*[^\n]*\n",
    r"#define TVMFFI_I_\1\2 extern int tvmffi_i_unchecked\n",
)

LAYOUT_FAULT = (r"int32_t num_fields;\s*int32_t num_methods;",
                "int32_t num_methods; int32_t num_fields;")

FAULTS = [
    ("two constants swapped",
     r"kTVMFFIStr = 65(.*?)kTVMFFIBytes = 66",
     r"kTVMFFIStr = 66\1kTVMFFIBytes = 65", compare_facts),
    ("a constant missing", r"  kDLTrn = 18[^\n]*\n", "", compare_names),
    ("a constant added", r"kTVMFFINone = 0,", "kTVMFFINone = 0, kTVMFFIX = 14,",
     compare_names),
    ("a macro's value changed",
     r"(#define DLPACK_FLAG_BITMASK_IS_COPIED) [^\n]*", r"\1 (1UL << 3UL)",
     compare_facts),
    ("a macro missing", r"#define DLPACK_DLL\n", "", compare_facts),
    ("a narrower field", r"int64_t capacity;", "int32_t capacity;",
     compare_facts),
    ("a field of another type and the same size", r"const char \*v_c_str;",
     "char *v_c_str;", compare_types),
    ("two fields swapped", *LAYOUT_FAULT, compare_facts),
    ("a field missing", r"  TVMFFIObjectHandle extra_context;\n", "",
     compare_facts),
    ("a callback's argument changed", r"\(void \*field, TVMFFIAny \*result\)",
     "(void *field, void *result)", compare_types),
    ("a prototype's argument changed", r"int32_t \*out_tindex",
     "int64_t *out_tindex", compare_types),
    ("a prototype's result changed",
     r"TVMFFI_I_API void TVMFFIErrorSetRaised\(",
     "TVMFFI_I_API int TVMFFIErrorSetRaised(", compare_types),
    ("a function missing", r"TVMFFI_I_API int TVMFFIEnvCheckSignals\(void\);",
     "", compare_names),
    ("a function added", r"TVMFFI_I_API int TVMFFIEnvCheckSignals\(void\);",
     r"\g<0>\nTVMFFI_I_API int TVMFFIEnvMore(void);", compare_names),
    ("an accessor missing", r"TVMFFITensorGetDLTensorPtr\(",
     "tvmffi_tensor_ptr(", compare_types),
    ("no guard shared with c_api.h",
     r"#ifndef TVM_FFI_C_API_H_\n#define TVM_FFI_C_API_H_",
     "#ifndef TVM_FFI_C_API_X_\n#define TVM_FFI_C_API_X_", compare_orders),
    ("no guard shared with dlpack.h",
     r"#else\n#define DLPACK_DLPACK_H_\n", "#else\n", compare_orders),
    ("no extern \"C\"", r'extern "C" \{(?=\n#endif\n\n/\* A version[^*]*\*/\n'
     r"typedef struct \{\n"
     r"  uint32_t major;\n  uint32_t minor;\n  uint32_t patch;)",
     "namespace { } extern \"C++\" {", compare_linking),
    ("a name that the prefix misses",
     r"#define TVMFFIFunctionCall TVMFFI_I_RENAME\(TVMFFIFunctionCall\)\n", "",
     compare_linking),
    ("an old DLPack accepted", r"#elif DLPACK_MINOR_VERSION < 3",
     "#elif DLPACK_MINOR_VERSION < 2", compare_refusals),
    ("a newer DLPack refused", r"#elif DLPACK_MINOR_VERSION < 3",
     "#elif DLPACK_MINOR_VERSION != 3", compare_refusals),
]


def self_test(tap, args, directory):
    with open(args.header, encoding="utf-8") as file:
        text = file.read()
    path = os.path.join(directory, "copy", "tvmffi.h")
    tool = Tool(args, path, directory)
    upstream = Upstream(tool)

    def failures(comparison, source):
        tool.write("copy/tvmffi.h", source)
        return [title for title, ok, _ in comparison(tool, upstream) if not ok]

    unchecked, replaced = re.subn(*NO_ASSERTS, text)
    tap.add("the static asserts can be taken out", replaced == 2,
            "found %d macros" % replaced)
    for comparison in COMPARISONS:
        failed = failures(comparison, unchecked)
        tap.add("%s passes on the header as it is" % comparison.__name__,
                not failed, "\n".join(failed))
    for title, pattern, new, comparison in FAULTS:
        broken, count = re.subn(pattern, new, unchecked, count=1, flags=re.S)
        if not count:
            tap.add("%s is found" % title, False, "no such place: " + pattern)
            continue
        failed = failures(comparison, broken)
        tap.add("%s is found by %s" % (title, comparison.__name__),
                bool(failed), "nothing failed")
    broken, count = re.subn(*LAYOUT_FAULT, text)
    tool.write("copy/tvmffi.h", broken)
    for language, standard in STANDARDS:
        ok, errors = tool.accepts(
            language, standard,
            "#define TVMFFI_IMPLEMENTATION\n" + tool.include())
        tap.add("swapped fields are found by a static assert in " + standard,
                count == 1 and not ok
                and "TVMFFITypeInfo_num_fields_offset" in errors, errors)


# ---- TAP -------------------------------------------------------------------


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def add(self, title, ok, details=""):
        self.count += 1
        self.failed += not ok
        print("%s %d - %s" % ("ok" if ok else "not ok", self.count, title))
        if not ok:
            for line in details.splitlines()[:30]:
                print("# " + line)
        sys.stdout.flush()

    def finish(self):
        print("1..%d" % self.count)
        return 1 if self.failed or not self.count else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wheel-include", required=True,
                        help="the wheel's include directory")
    parser.add_argument("--header", required=True, help="tvmffi.h")
    parser.add_argument("--cc", default="cc", help="C compiler")
    parser.add_argument("--cxx", default="", help="C++ compiler")
    parser.add_argument("--cflags", default="", help="for both compilers")
    parser.add_argument("--run", default="",
                        help="what runs the programs, an emulator say")
    parser.add_argument("--self-test", action="store_true",
                        help="check that faults are found")
    args = parser.parse_args()
    if not args.cxx:
        # gcc-12 goes with g++-12, clang-16 with clang++-16.
        names = {"gcc": "g++", "clang": "clang++", "cc": "c++"}
        args.cxx = re.sub(r"\b(gcc|clang|cc)(?=[-.\d]*(\s|$))",
                          lambda m: names[m.group(1)], args.cc)
    args.header = os.path.abspath(args.header)
    args.wheel_include = os.path.abspath(args.wheel_include)
    return args


def main():
    args = arguments()
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        if args.self_test:
            self_test(tap, args, directory)
        else:
            tool = Tool(args, args.header, directory)
            upstream = Upstream(tool)
            for comparison in COMPARISONS + [compare_cxx_library]:
                for title, ok, details in comparison(tool, upstream):
                    tap.add(title, ok, details)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
