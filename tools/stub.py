#!/usr/bin/env python3
"""Writes Python stubs (.pyi) of the functions in libraries.

    python3 tools/stub.py ops.so > ops.pyi
    python3 tools/stub.py ops.so --global demo > demo.pyi
    python3 tools/stub.py ops.so --types register_types > ops.pyi

An extension module by tvmffi_python.h is imported, without any package: the stubs
are its classes, and what its functions take and return when Python imports it. Any other library is
loaded by the package apache-tvm-ffi. Without --global, the stubs
are of its exported functions; with it, of the global functions demo.NAME that
are registered then. --types calls an exported function after the load, and
adds a class for each type that the libraries have registered by then. Types,
names and defaults come from the metadata; a parameter without a name of its own
that Python accepts can only be passed by position. `_` is added to a name that
is a keyword of Python.
"""

import argparse
import ast
import importlib.machinery
import importlib.util
import inspect
import json
import keyword
import math
import re
import sys
import textwrap
from pathlib import Path

try:
    import tvm_ffi
    from tvm_ffi.core import TypeSchema
except ImportError as error:
    tvm_ffi, NO_PACKAGE = None, error

EXPORT = re.compile(rb"__tvm_ffi__metadata_(\w+)\0")
# Of a TypeSchema's origins: what to import, and from where.
OUTPUT = {
    "Any": ("typing", "Any"),
    "Callable": ("collections.abc", "Callable"),
    "Array": ("collections.abc", "Sequence"),
    "List": ("collections.abc", "MutableSequence"),
    "Map": ("collections.abc", "Mapping"),
    "Dict": ("collections.abc", "MutableMapping"),
    "Object": ("tvm_ffi", "Object"),
    "Tensor": ("tvm_ffi", "Tensor"),
    "Device": ("tvm_ffi", "Device"),
    "dtype": ("tvm_ffi", "dtype"),
    "ffi.Shape": ("tvm_ffi", "Shape"),
    "ffi.Module": ("tvm_ffi", "Module"),
    "ffi.Error": ("tvm_ffi.core", "Error"),
    "ctypes.c_void_p": ("ctypes", "c_void_p"),
}
# What a parameter also accepts is in ALSO.
INPUT = {**OUTPUT, "List": OUTPUT["Array"], "Dict": OUTPUT["Map"],
         "Tensor": ("typing", "Protocol")}
ALSO = {"dtype": " | str", "Device": " | str", "ctypes.c_void_p": " | None"}
PLAIN = {"int", "float", "bool", "str", "bytes", "None", "Optional", "Union",
         "tuple"}
# A tensor parameter accepts NumPy's arrays and PyTorch's tensors, too.
DLPACK = """class _DLPack(Protocol):
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...
"""

# What the types in a function's documentation are in a stub: of a parameter, and
# of a result.
MODULE = b"PyInit_%s\0"
MODULES = re.compile(rb"\0PyInit_(\w+)\0")
TYPES = {"int": ("_Int", "int"), "float": ("_Float", "float"),
         "bool": ("_Bool", "bool"), "dtype": ("_DType", "str"),
         "device": ("Any", "Any"), "Shape": ("Sequence[int]", "Any"),
         "Module": ("Any", "Any"), "Error": ("Any", "Any"),
         "Callable": ("Callable[..., Any]", "Callable[..., Any]"),
         "Sequence": ("Sequence[Any]", "Sequence[Any]"),
         "Mapping": ("Mapping[Any, Any]", "Mapping[Any, Any]")}
PLAIN_TYPES = {"str", "bytes", "None", "Any", "c_void_p"}
# What a stub begins with, where it has the name. NumPy's scalars are numbers.
MODULE_IMPORTS = {
    "collections.abc": ("Callable", "Mapping", "Sequence"),
    "ctypes": ("c_void_p",),
    "typing": ("Annotated", "Any", "Protocol", "TypeAlias", "overload")}
# What a type checker sees of a torch.dtype, because a stub imports no torch.
TORCH_DTYPE = """class _TorchDType(Protocol):
    @property
    def is_floating_point(self) -> bool: ...
    @property
    def is_complex(self) -> bool: ..."""
MODULE_NAMES = {
    "_Int": "_Int: TypeAlias = int | numpy.integer[Any]",
    "_Float": "_Float: TypeAlias = float | numpy.floating[Any] | "
              "numpy.integer[Any]",
    "_Bool": "_Bool: TypeAlias = bool | numpy.bool_",
    "_DType": f"{TORCH_DTYPE}\n"
              "_DType: TypeAlias = str | type[Any] | numpy.dtype[Any] | "
              "_TorchDType",
    "_DLPack": DLPACK.rstrip()}
NUMPY_TYPES = {"bool", "float16", "float32", "float64", "complex64", "complex128",
               *(f"{sign}int{bits}" for sign in ("", "u")
                 for bits in (8, 16, 32, 64))}


class Types(ast.NodeTransformer):
    """Replaces a type of the documentation by that of a stub. `classes` are the
    module's, by type key. With `is_numpy`, tensors are NumPy's arrays."""

    def __init__(self, classes, is_result, is_numpy=False):
        self.classes = classes
        self.is_result = is_result
        self.is_numpy = is_numpy

    def tensor(self, contract):
        if self.is_numpy:
            made = f"NDArray[{numpy_type(contract)}]"
        elif self.is_result:
            made = "Any"
        else:
            made = "_DLPack"
        return ast.parse(f"Annotated[{made}, {contract!r}]" if contract else made,
                         mode="eval").body

    def visit_Call(self, node):  # tensor("...")
        return self.tensor(node.args[0].value)

    def visit_Name(self, node):
        if node.id == "tensor":
            return self.tensor("")
        known = TYPES.get(node.id)
        name = known[self.is_result] if known else \
            node.id if node.id in PLAIN_TYPES else \
            self.classes.get(node.id, "Any")
        return ast.Name(name)

    def visit_Attribute(self, node):  # a type key such as ffi.Object
        return ast.Name(self.classes.get(ast.unparse(node), "Any"))

    def visit_Subscript(self, node):
        return ast.Subscript(node.value, self.visit(node.slice))


def numpy_type(contract):
    """The element of NumPy's arrays that a tensor("...") may be."""
    names = re.match(r"[\w|]*", contract)[0].split("|")
    return " | ".join(f"numpy.{name}" + "_" * (name == "bool")
                      for name in names) if {*names} <= NUMPY_TYPES else "Any"


def is_on_cpu(contract):
    """Whether the tensor's memory may be the CPU's, which NumPy's is."""
    words = contract.rpartition("]")[2].split()
    return all(re.match("cpu|strided|align|optional|out|inout", word)
               for word in words)


def tensors(node):
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and
            n.id == "tensor"]


def module_function(doc, classes, has_runtime):
    """The stub of an extension module's function, from the first line of its
    documentation, which is a signature with types. A function that takes and
    returns tensors returns NumPy's arrays for NumPy's arrays; one that takes
    none does if the module has its own runtime."""
    head = doc.partition("\n\n")[0]
    made = ast.parse(f"def {head}: ...").body[0]
    types = [p.annotation for p in [*made.args.args, *made.args.kwonlyargs]
             if p.annotation]
    contracts = [n.args[0].value for n in ast.walk(made)
                 if isinstance(n, ast.Call)]
    may_be_numpy = bool(tensors(made.returns)) and \
        all(map(is_on_cpu, contracts))
    if may_be_numpy and any(map(tensors, types)):
        return "\n".join(
            f"@overload\n{module_overload(doc, classes, is_numpy)}"
            for is_numpy in (True, False))
    return module_overload(doc, classes, may_be_numpy and has_runtime)


def is_default(value, parameter):
    """Whether a value is one that Python can write and a call may pass: None,
    as a default, may be neither."""
    try:
        return ast.literal_eval(value) is not None or \
            "None" in ast.unparse(parameter.annotation)
    except ValueError:  # inf
        return False


def stub_parameters(args, classes, is_numpy):
    """Replaces the types and defaults of parameters by those of a stub."""
    def default(value, parameter):
        return value if is_default(value, parameter) else ast.Constant(...)

    for parameter in [*args.args, *args.kwonlyargs]:
        if parameter.annotation:
            parameter.annotation = Types(classes, False, is_numpy).visit(
                parameter.annotation)
    for rest in args.vararg, args.kwarg:
        if rest:
            rest.annotation = ast.Name("Any")
    args.defaults = [default(d, p) for d, p in zip(
        args.defaults, args.args[-len(args.defaults):])]
    args.kw_defaults = [d and default(d, p) for d, p in zip(
        args.kw_defaults, args.kwonlyargs)]


def unparsed(made):
    return ast.unparse(ast.fix_missing_locations(made)).replace(
        ":\n    ...", ": ...")


def module_overload(doc, classes, is_numpy):
    head, _, rest = doc.partition("\n\n")
    made = ast.parse(f"def {head}: ...").body[0]
    stub_parameters(made.args, classes, is_numpy)
    if made.name in ("__eq__", "__ne__"):  # which decline any other object
        made.args.args[1].annotation = ast.Name("object")
    made.returns = Types(classes, True, is_numpy).visit(made.returns)
    if rest:
        made.body.insert(0, ast.Expr(ast.Constant(rest)))
    return unparsed(made)


def module_field(doc, classes):
    """The stub of a field, from the first line of its documentation, such as
    "order: int  # read-only"."""
    head = doc.partition("\n\n")[0]
    made = ast.parse(head).body[0]
    kind = ast.unparse(Types(classes, True).visit(made.annotation))
    if head.endswith("# read-only"):
        return f"@property\ndef {made.target.id}(self) -> {kind}: ..."
    return f"{made.target.id}: {kind}"


def module_class(name, found, classes, has_runtime):
    """The stub of a class, whose documentation begins with its constructor."""
    head, _, rest = found.__doc__.partition("\n\n")
    made = ast.parse(f"def {head}: ...").body[0]
    stub_parameters(made.args, classes, False)
    made.name, made.returns = "__init__", ast.Constant(None)
    made.args.args.insert(0, ast.arg("self"))
    parent = classes.get(getattr(found.__base__, "_type_key", None))
    lines = [ast.unparse(ast.Expr(ast.Constant(rest)))] if rest else []
    members = [(n, m) for n, m in sorted(vars(found).items())
               if m is not None and getattr(m, "__doc__", None)
               and n not in ("__doc__", "__module__", "_type_key")]
    for _, member in members:
        if inspect.isgetsetdescriptor(member):
            lines.append(module_field(member.__doc__, classes))
    lines.append(unparsed(made))
    if not parent:
        lines.append("def same_as(self, other: object) -> bool: ...")
    for _, member in members:
        if inspect.isgetsetdescriptor(member):
            continue
        function = getattr(member, "__func__", getattr(member, "fget", member))
        check_contract(function)
        text = module_function(member.__doc__, classes, has_runtime)
        if function is not member:  # each overload needs the decorator
            text = re.sub("^def ", f"@{type(member).__name__}\ndef ", text,
                          flags=re.MULTILINE)
        lines.append(text)
    return f"class {name}{f'({parent})' if parent else ''}:\n" + \
        textwrap.indent("\n".join(lines), "    ")


def module_head(text):
    """The imports and definitions that a stub needs."""
    def has(name, where):
        return re.search(rf"(?<!\w){name}\b", where)
    made = [line for name, line in MODULE_NAMES.items() if has(name, text)]
    text = "\n".join([*made, text])
    lines = []
    for module, names in MODULE_IMPORTS.items():
        used = [name for name in names if has(name, text)]
        lines += [f"from {module} import {', '.join(used)}"] * bool(used)
    lines += [""] * bool(lines)
    lines += ["import numpy"] * bool(has("numpy", text))
    lines += ["from numpy.typing import NDArray"] * bool(has("NDArray", text))
    return "\n".join([*lines, ""] * bool(lines) + made + [""] * bool(made))


def check_contract(function):
    """Ends the program if a text of tensor("...") is malformed."""
    check = getattr(getattr(function, "__self__", function), "_check_contract",
                    None)
    try:
        if check:
            check()
    except RuntimeError as error:
        trace = error.__traceback__
        while trace and trace.tb_next:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}: " \
            if trace else ""
        text = str(error).removeprefix("InternalError: ")
        sys.exit(f"{where}error: {text}")


def module_text(path):
    """The stub of an extension module, or None for another library."""
    name = Path(path).name.partition(".")[0]
    data = Path(path).read_bytes()
    if MODULE % name.encode() not in data:
        others = sorted({other.decode() for other in MODULES.findall(data)})
        if others:
            sys.exit(f"stub.py: {path} is the module `{others[0]}`: write "
                     f"TVMFFI_PYTHON_MODULE({name}), or rename the file")
        return None
    loader = importlib.machinery.ExtensionFileLoader(
        name, str(Path(path).resolve()))
    spec = importlib.util.spec_from_file_location(name, loader.path,
                                                  loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    members = [(n, m) for n, m in sorted(vars(module).items())
               if not n.startswith("__") and callable(m) and usable(n)]
    functions = [f for _, f in members if not isinstance(f, type)]
    types = sorted(((n, t) for n, t in members if isinstance(t, type)),
                   key=lambda member: len(member[1].__mro__))
    classes = {t._type_key: n for n, t in types}
    for f in functions:
        check_contract(f)
    has_runtime = bool(module._has_runtime)
    text = "\n".join(
        [*(module_class(n, t, classes, has_runtime) for n, t in types),
         *(module_function(f.__doc__, classes, has_runtime)
           for f in functions)]) + "\n"
    doc = ast.Module([ast.Expr(ast.Constant(module.__doc__))], [])
    return (ast.unparse(doc) + "\n\n") * bool(module.__doc__) + \
        module_head(text) + text


class Stub:
    def __init__(self):
        self.imports = set()
        self.lines = []
        self.classes = {}

    def _type_map(self, table):
        def name_of(origin):
            if origin in PLAIN:
                return origin
            if origin in self.classes:
                return self.classes[origin]
            # Python may have no class for a type of the user's.
            module, name = table.get(origin, OUTPUT["Object"])
            self.imports.add((module, name))
            if origin == "Callable" or name == "Protocol":
                self.imports.add(("typing", "Any"))
            if name == "Protocol":
                return "_DLPack"
            return name + (ALSO.get(origin, "") if table is INPUT else "")
        return name_of

    def add_class(self, info):
        """Adds a type: its fields, constructor and methods."""
        parent = self._type_map(OUTPUT)(info.parent_type_info.type_key)
        lines, self.lines = self.lines, []
        for field in info.fields:
            kind = field_schema(field).output_repr(self._type_map(OUTPUT))
            if not is_name(field.name):
                continue
            if field.frozen:
                self.lines += ["@property",
                               f"def {field.name}(self) -> {kind}: ..."]
            else:
                self.lines.append(f"{field.name}: {kind}")
        made = [m for m in info.methods if m.name == "__ffi_init__"]
        if made:
            self.add("__init__", made[0].metadata, result="None")
        else:
            self.lines.append(
                f"def __init__({', '.join(self._init(info))}) -> None: ...")
        for method in info.methods:
            if method.name.startswith("__ffi_") or not usable(method.name):
                continue
            if method.is_static:
                self.lines.append("@staticmethod")
            self.add(method.name, method.metadata, method.doc,
                     None if method.is_static else "self")
        self.lines = [*lines, f"class {self.classes[info.type_key]}({parent}):",
                      *("    " + line for line in self.lines)]

    def _init(self, info):
        fields = []
        while info is not None:
            fields = [f for f in info.fields or () if f.c_init] + fields
            info = info.parent_type_info
        params = ["self"]
        for only in (False, True):
            chosen = [f for f in fields if f.c_kw_only == only]
            names, types = [], []
            # Python's __init__ has the parameters without a default first.
            for f in sorted(chosen, key=lambda f: f.c_has_default):
                kind = field_schema(f).input_repr(self._type_map(INPUT))
                types.append(kind + " = ..." * f.c_has_default)
                names.append(f.name)
            if not only:
                params += parameters(names, types, {"self"})
            elif names:
                good = [(n, t) for n, t in zip(names, types)
                        if is_name(n) and n != "self"]
                params += ["*"] * bool(good) + [f"{n}: {t}" for n, t in good]
                if len(good) < len(names):
                    self.imports.add(("typing", "Any"))
                    params.append("**kwargs: Any")
        return params

    def add(self, name, about, doc=None, first=None, result=None):
        """Adds a function by its metadata, parsed JSON. `first` replaces the
        first parameter of a method."""
        schema = TypeSchema.from_json_str(
            about.get("type_schema", '{"type": "ffi.Function"}'))
        groups = schema.named_args or {}
        returns = groups.get("return", (TypeSchema("Any"),))[0]
        result = result or returns.output_repr(self._type_map(OUTPUT))
        if "params" in groups:
            params = self._params(groups["params"], about)
            if name == "__init__":  # the package passes no names to it
                params = ["self", *(p for p in params if p != "/"), "/"]
            elif first:
                params = [first] + params[1:]
        else:
            params = [f"*args: {self._type_map(INPUT)('Any')}"]
        head = f"def {name}({', '.join(params)}) -> {result}:"
        if doc:
            self.lines += [head, "    " + json.dumps(doc), "    ..."]
        else:
            self.lines.append(head + " ...")

    def _params(self, schemas, about):
        names = about.get("arg_names")
        if names is None:
            names = [f"_{i}" for i in range(len(schemas))]
        values = about.get("arg_defaults", [])
        texts = [""] * (len(names) - len(values)) + [
            f" = {default_text(value)}" for value in values]
        types = [s.input_repr(self._type_map(INPUT)) for s in schemas]
        params = parameters(names, map(str.__add__, types, texts))
        return params + ["/"] if params and "arg_names" not in about \
            else params

    def text(self):
        modules = {}
        for module, name in sorted(self.imports):
            modules.setdefault(module, []).append(name)
        lines = [f"from {module} import {', '.join(names)}"
                 for module, names in modules.items()]
        if ("typing", "Protocol") in self.imports:
            lines += ["", DLPACK.rstrip()]
        return "\n".join(lines + [""] * bool(lines) + self.lines) + "\n"


def is_name(name):
    return name.isidentifier() and not keyword.iskeyword(name)


def parameters(names, types, used=()):
    """The parameters of a function. A name that Python does not accept, or that
    is used already, becomes `_` and a number, and this parameter and those before
    it are only passed by position."""
    texts, last = [], 0
    for i, (name, kind) in enumerate(zip(names, types)):
        name += "_" * keyword.iskeyword(name)
        if not is_name(name) or name in used:
            name, last = f"_{i}", i + 1
        used = {*used, name}
        texts.append(f"{name}: {kind}")
    return texts[:last] + ["/"] * bool(last) + texts[last:]


def field_schema(field):
    return TypeSchema.from_json_str(
        field.metadata.get("type_schema", '{"type": "Any"}'))


def default_text(value):
    if isinstance(value, float) and not math.isfinite(value):
        return "..."
    return repr(value)


def exports(path):
    """The names of the functions that a library exports with metadata. They
    stand in the table of symbols of any format, each with a NUL."""
    found = EXPORT.findall(Path(path).read_bytes())
    return sorted({name.decode() for name in found})


def usable(name):
    if is_name(name):
        return True
    print(f"stub.py: left out, no name in Python: {name}", file=sys.stderr)
    return False


def add_library(stub, path):
    module = tvm_ffi.load_module(Path(path).resolve())
    for name in exports(path):
        about = module.get_function_metadata(name)
        if about is not None and usable(name):
            stub.add(name, about, module.get_function_doc(name))


def add_global(stub, prefix):
    for name in sorted(tvm_ffi.registry.list_global_func_names()):
        space, _, last = name.rpartition(".")
        if space == prefix and usable(last):
            stub.add(last, tvm_ffi.get_global_func_metadata(name))


def type_keys():
    keys = tvm_ffi.get_global_func("ffi.GetRegisteredTypeKeys")()
    return {str(key) for key in keys}


def add_types(stub, before):
    keys = sorted(type_keys() - before)
    for key in keys:
        name = key.rpartition(".")[2]
        if name in stub.classes.values():  # of another namespace
            name = key.replace(".", "_")
        if usable(name):
            stub.classes[key] = name
    for key in stub.classes:
        stub.add_class(
            tvm_ffi.core._lookup_or_register_type_info_from_type_key(key))


def library_text(args):
    """The stubs of libraries that tvm_ffi loads."""
    stub = Stub()
    if args.types is not None:
        before = type_keys()
        modules = [tvm_ffi.load_module(Path(path).resolve())
                   for path in args.libraries]
        for module in modules:
            if module.implements_function(args.types):
                module.get_function(args.types)()
        add_types(stub, before)
    for path in args.libraries:
        if args.prefix is None:
            add_library(stub, path)
        else:
            tvm_ffi.load_module(Path(path).resolve())
    if args.prefix is not None:
        add_global(stub, args.prefix)
    return stub.text()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", metavar="LIBRARY")
    parser.add_argument("--global", dest="prefix", metavar="PREFIX")
    parser.add_argument("--types", metavar="FUNCTION")
    parser.add_argument("-o", dest="output", metavar="FILE",
                        help="write this file, not the standard output")
    args = parser.parse_args()
    text = None
    if args.prefix is None and args.types is None and len(args.libraries) == 1:
        text = module_text(args.libraries[0])
    if text is None and tvm_ffi is None:
        parser.exit(1, f"stub.py: {args.libraries[0]} is not an extension "
                       "module, because no file has TVMFFI_PYTHON_MODULE, and "
                       f"tvm_ffi cannot be imported: {NO_PACKAGE}\n")
    if text is None:
        text = library_text(args)
    if args.output:
        Path(args.output).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
