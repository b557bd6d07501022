"""Modules: C libraries loaded, called, imported, unloaded; the system library."""

import ctypes
import gc
import json
import os
import pathlib

import numpy as np
import tvm_ffi
from kit import build, core, frames, outcome, raises, show, unique, use_count
from tvm_ffi import Module, _ffi_api, load_module, system_lib
from tvm_ffi.module import ModulePropertyMask

_built = {}


def library(*defines):
    if defines not in _built:
        _built[defines] = build("kernels.c", "kernels.so", defines=defines)
    return _built[defines]


def loaded(path):
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return path in maps.read()


def case_load_and_call():
    m = load_module(library())
    assert type(m) is Module and m.add(1, 2) == 3
    x = np.arange(3.0)
    m.scale(2.0, x)
    assert x.tolist() == [0, 2, 4]
    return m["add"](3, 4), m.get_function("add")(5, 6), m(21), m.main(4), \
        m.entry_name


def case_errors_of_kernels():
    m = load_module(library())
    return raises(IndexError, m.fail, 7), outcome(m.add, 1), \
        outcome(m.add, "x", 2), outcome(m.scale, 1.0, 5), \
        outcome(m.scale, 1.0, np.zeros(3, "int32")), \
        outcome(m.add, 2**70, 1)


def case_missing_functions():
    m = load_module(library())
    return raises(AttributeError, lambda: m.nope), \
        raises(AttributeError, m.__getitem__, "nope"), \
        raises(AttributeError, m.get_function, "nope"), \
        raises(ValueError, m.__getitem__, 5), \
        _ffi_api.ModuleGetFunction(m, "nope", False), \
        outcome(m.get_function, 5)


def case_callbacks_and_errors_through_c():
    m = load_module(library())

    def bad(n):
        raise KeyError(f"bad {n}")

    def caught():
        try:
            m.call(bad)
        except KeyError as error:
            return str(error), [n for n in frames(error) if n == "bad"]

    return m.call(lambda n: n * 2), caught(), outcome(m.call, lambda n: "x"), \
        outcome(m.call, 5)


def case_properties():
    m = load_module(library())
    return m.kind, m.get_property_mask(), m.is_runnable(), \
        m.is_binary_serializable(), m.is_compilation_exportable(), \
        m.get_write_formats(), m.implements_function("add"), \
        m.implements_function("nope"), m.implements_function("add", True), \
        m.imports, m.imports_, [(p.name, int(p)) for p in ModulePropertyMask]


def case_metadata_and_doc():
    m = load_module(library())
    return m.get_function_metadata("add"), m.get_function_doc("add"), \
        m.get_function_metadata("nope"), m.get_function_doc("scale"), \
        m.get_function_doc("nope"), m.get_function_metadata("add", True), \
        m.get_function_doc("add", query_imports=True)


def case_source_and_file():
    m = load_module(library())
    return outcome(m.inspect_source), outcome(m.inspect_source, "c"), \
        outcome(m.write_to_file, "x.o"), outcome(m.write_to_file, "x", "o")


def case_paths():
    a = load_module(pathlib.Path(library()))
    b = load_module(library())
    return a.add(1, 1), b.add(2, 2), a.same_as(b)


def case_load_errors():
    folder = os.path.dirname(library())
    text = os.path.join(folder, "text.so")
    with open(text, "w", encoding="utf-8") as out:
        out.write("not a library")
    return [outcome(load_module, p).replace(folder, "FOLDER") for p in
            ("/no/such/file.so", text, "noformat", "x.unknown", "", "a.b/c",
             os.path.join(folder, "none.dll"))], outcome(load_module, 5)


def case_other_endings():
    import shutil

    out = []
    for ending in ("dso", "dylib", "dll"):
        path = library()[:-2] + ending
        shutil.copy(library(), path)
        out.append(load_module(path, keep_module_alive=False).add(1, 2))
    return out


def case_loader_written_in_python():
    name = "ffi.Module.load_from_file.python_api_format"
    seen = []

    def loader(path, format):
        seen.append((path, format))
        return load_module(library())

    tvm_ffi.register_global_func(name, loader)
    m = load_module("some.python_api_format")
    tvm_ffi.register_global_func(name, lambda p, f: 5, override=True)
    bad = outcome(load_module, "some.python_api_format")
    tvm_ffi.remove_global_func(name)
    return m.add(2, 3), seen, bad


def case_imports():
    a = load_module(library(), keep_module_alive=False)
    b = load_module(build("kernels.c", "other.so"), keep_module_alive=False)
    a.import_module(b)
    got = [len(a.imports), a.imports[0].same_as(b),
           raises(RuntimeError, b.import_module, a),
           raises(RuntimeError, a.import_module, a)]
    a.import_module(b)
    got.append(len(a.imports))
    a.clear_imports()
    got.append(len(a.imports))
    return got, outcome(a.import_module, 5), outcome(a.import_module, None)


def case_functions_of_imports():
    a = load_module(library(), keep_module_alive=False)
    name = "only_in_import"
    b = load_module(build("kernels.c", "imp.so", defines=(
        "__tvm_ffi_add=__tvm_ffi_only_in_import",)), keep_module_alive=False)
    before = [a.implements_function(name, True), outcome(a.get_function, name,
                                                         True)]
    a.import_module(b)
    return before, a.implements_function(name), \
        a.implements_function(name, True), \
        outcome(lambda: a.get_function(name, True)(1, 2)), \
        outcome(a.get_function, name)


def case_context_and_lookup():
    a = load_module(library(), keep_module_alive=False)
    tvm_ffi.register_global_func("python_api.for_context", lambda n: n * 3)
    got = [a.has_context(), outcome(a.through_imports,
                                    "python_api.for_context", 5),
           outcome(a.through_imports, "python_api.absent", 1)]
    b = load_module(build("kernels.c", "ctx.so"), keep_module_alive=False)
    a.import_module(b)
    got.append(outcome(a.through_imports, "main", 21))
    return got


def case_embedded_imports():
    path = library("WITH_IMPORTS=1")
    name = "ffi.Module.load_from_bytes.python_api_kind"
    missing = outcome(load_module, path)
    seen = []

    def loader(data):
        seen.append((type(data).__name__, data))
        return load_module(library())

    tvm_ffi.register_global_func(name, loader)
    m = load_module(path, keep_module_alive=False)
    tvm_ffi.remove_global_func(name)
    return missing, seen, m.add(1, 2), len(m.imports), m.imports[0].kind, \
        m.has_context()


def case_unload():
    path = build("kernels.c", "unload.so")
    m = load_module(path, keep_module_alive=False)
    states = [loaded(path)]
    f = m.add
    del m
    gc.collect()
    states += [loaded(path), f(1, 2)]
    del f
    gc.collect()
    states.append(loaded(path))
    assert states[:3] == [True, True, 3]
    return states


def case_kept_alive():
    path = build("kernels.c", "kept.so")
    load_module(path)
    gc.collect()
    return loaded(path)


def case_globals_add_and_remove():
    path = build("kernels.c", "globals.so")
    m = load_module(path, keep_module_alive=False)
    counts = [use_count(m)]
    _ffi_api.ModuleGlobalsAdd(m)
    _ffi_api.ModuleGlobalsAdd(m)
    counts.append(use_count(m))
    _ffi_api.ModuleGlobalsRemove(m)
    counts.append(use_count(m))
    _ffi_api.ModuleGlobalsRemove(m)
    del m
    gc.collect()
    return counts, loaded(path), outcome(_ffi_api.ModuleGlobalsAdd, 5), \
        outcome(_ffi_api.ModuleGlobalsRemove, None)


def case_error_outlives_library():
    path = build("kernels.c", "error.so")
    m = load_module(path, keep_module_alive=False)
    try:
        m.fail(3)
    except IndexError as e:
        error = e
    del m
    gc.collect()
    return str(error), error.__tvm_ffi_error__.kind


def case_attributes_are_cached():
    m = load_module(library())
    f = m.add
    return f is m.add, "add" in m.__dict__, m["add"] is f


def case_call_without_entry():
    path = build("kernels.c", "noentry.so",
                 defines=("__tvm_ffi_main=__tvm_ffi_renamed",))
    m = load_module(path)
    return outcome(m, 1)


def case_functions_of_the_api():
    m = load_module(library())
    f = _ffi_api
    calls = [(f.ModuleGetKind, 5), (f.ModuleGetKind, None),
             (f.ModuleGetFunction, m), (f.ModuleGetFunction, m, "add"),
             (f.ModuleGetFunction, m, 5, False), (f.ModuleGetPropertyMask, "x"),
             (f.ModuleImplementsFunction, m, "add", 1),
             (f.ModuleImplementsFunction, m, "add", "x"),
             (f.ModuleGetFunctionMetadata, m, "add"),
             (f.ModuleGetFunctionDoc, None, "add", False),
             (f.ModuleInspectSource, m), (f.ModuleWriteToFile, m, "a"),
             (f.ModuleClearImports, 1), (f.ModuleGetWriteFormats, []),
             (f.ModuleLoadFromFile,), (f.ModuleLoadFromFile, b"x.so"),
             (f.SystemLib, 5), (f.SystemLib, "a", "b")]
    return [outcome(*c) for c in calls]


def runtime():
    lib = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    f = lib.TVMFFIEnvModRegisterSystemLibSymbol
    f.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    return lib, f


def case_system_lib():
    lib, register = runtime()
    address = tvm_ffi.get_global_func("testing.get_add_one_c_symbol")()
    assert register(b"__tvm_ffi_python_api.inc", address) == 0
    s = system_lib("python_api.")
    t = system_lib()
    return s.kind, s["inc"](4), t["python_api.inc"](5), \
        s["python_api.inc"](6) if s.implements_function(
            "python_api.inc") else None, outcome(s.get_function, "nope"), \
        outcome(t.get_function, "inc"), s.get_property_mask(), \
        system_lib("python_api.").same_as(s), system_lib().same_as(t), \
        s.same_as(t), system_lib("other.").same_as(t)


def case_system_lib_of_testing_library():
    s = system_lib("testing.")
    return outcome(lambda: s["add_one"](10)), outcome(
        lambda: s.add_one(1)), s.imports, outcome(s.import_module,
                                                  load_module(library()))


def case_system_lib_registered_twice():
    lib, register = runtime()
    address = tvm_ffi.get_global_func("testing.get_add_one_c_symbol")()
    other = tvm_ffi.get_global_func("testing.get_mlir_add_one_c_symbol")()
    return [register(b"__tvm_ffi_python_api.twice", a)
            for a in (address, address, other)]


def case_context_symbols():
    lib, _ = runtime()
    f = lib.TVMFFIEnvModRegisterContextSymbol
    f.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    code = f(b"__tvm_ffi_python_api_context", 1234)
    m = load_module(build("kernels.c", "symbols.so", defines=(
        "__tvm_ffi__library_ctx=__tvm_ffi_python_api_context",)))
    return code, m.has_context()


def case_module_object():
    m = load_module(library())
    n = tvm_ffi.get_global_func("testing.echo")(m)
    a = tvm_ffi.Array([m, m])
    return n.same_as(m), a[1].same_as(m), type(a[0]).__name__, \
        outcome(Module), tvm_ffi.convert(lambda x: x.add(1, 2))(m)


def case_type_schema_of_metadata():
    m = load_module(library())
    s = core.TypeSchema.from_json_str(
        m.get_function_metadata("scale")["type_schema"])
    return repr(s), json.dumps(s.to_json(), sort_keys=True)


def case_many_loads():
    for _ in range(30):
        m = load_module(library(), keep_module_alive=False)
        assert m.add(1, 2) == 3
    return show(m.kind)


def case_global_functions_of_a_library():
    name = unique("global")
    m = load_module(library())
    tvm_ffi.register_global_func(name, m.get_function("add"))
    return tvm_ffi.get_global_func(name)(4, 5)
