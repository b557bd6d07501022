"""Loads a library of kernels as a module of tvm_ffi whose functions have their
names, documentation and signatures."""

import inspect
import keyword
import re
from pathlib import Path

import tvm_ffi
from tvm_ffi.core import TypeSchema

# A symbol that exports a function: others have a function's documentation and
# metadata.
EXPORT = re.compile(rb"__tvm_ffi_((?!_doc_|_metadata_)[A-Za-z_]\w*)\0")


def load(library):
    """Returns the module and its functions by their names. They are the
    module's attributes, unless it has a member of that name.
    """
    module = tvm_ffi.load_module(str(library))
    # A file's table of symbols has the names, in the formats of all systems. A
    # text of the program may look the same.
    names = {name.decode() for name in EXPORT.findall(
        Path(library).read_bytes())}
    functions = {name: described(module, name) for name in sorted(names)
                 if module.implements_function(name)}
    for name, function in functions.items():
        if not hasattr(type(module), name):
            setattr(module, name, function)
    return module, functions


def described(module, name):
    function = module.get_function(name)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = module.get_function_doc(name)
    about = module.get_function_metadata(name) or {}
    signature = signature_of(about)
    if signature:
        function.__signature__ = signature
    return function


def signature_of(about):
    """Returns the signature that metadata describes, or None if a function
    takes any arguments."""
    schema = TypeSchema.from_json_str(about.get("type_schema",
                                                '{"type": "ffi.Function"}'))
    groups = schema.named_args or {}
    if "params" not in groups:
        return None
    types = groups["params"]
    names = about.get("arg_names") or [f"_{i}" for i in range(len(types))]
    values = about.get("arg_defaults", [])
    values = [inspect.Parameter.empty] * (len(names) - len(values)) + values
    # tvm_ffi passes arguments by position.
    return inspect.Signature(
        [inspect.Parameter(one + "_" * keyword.iskeyword(one),
                           inspect.Parameter.POSITIONAL_ONLY,
                           default=value, annotation=kind)
         for one, value, kind in zip(names, values, types)],
        return_annotation=groups["return"][0])
