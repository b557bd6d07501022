"""Global functions, object types, type information, attributes of types."""

import gc
import json
import sys
import types
import weakref

import tvm_ffi
import tvm_ffi.testing
from kit import core, outcome, raises, show, unique, use_count
from tvm_ffi import Object, registry

get = tvm_ffi.get_global_func


# -- functions -----------------------------------------------------------------


def case_register_and_get():
    name = unique("f")
    f = tvm_ffi.register_global_func(name, lambda x: x + 1)
    assert type(f) is tvm_ffi.Function and f(1) == 2
    g = get(name)
    assert g(5) == 6 and g.same_as(f)
    return g(1)


def case_register_by_decorator():
    name = unique("f")

    @tvm_ffi.register_global_func(name)
    def double(x):
        return x * 2

    @tvm_ffi.register_global_func
    def python_api_plain_name(x):
        return x * 3

    assert get(name)(2) == 4 and get("python_api_plain_name")(2) == 6
    tvm_ffi.remove_global_func("python_api_plain_name")
    return type(double).__name__, double(4)


def case_register_twice():
    name = unique("f")
    tvm_ffi.register_global_func(name, lambda: 1)
    text = raises(RuntimeError, tvm_ffi.register_global_func, name, lambda: 2)
    first = get(name)()
    tvm_ffi.register_global_func(name, lambda: 3, override=True)
    return text.replace(name, "NAME"), first, get(name)()


def case_override_keeps_old_function_alive():
    name = unique("f")
    tvm_ffi.register_global_func(name, lambda: 1)
    old = get(name)
    tvm_ffi.register_global_func(name, lambda: 2, override=True)
    return old(), get(name)()


def case_register_function_object():
    name = unique("f")
    f = tvm_ffi.convert(lambda: "me")
    g = tvm_ffi.register_global_func(name, f)
    return g is f, use_count(f), get(name)()


def case_register_bad():
    return raises(AttributeError, tvm_ffi.register_global_func, 5), \
        outcome(tvm_ffi.register_global_func, unique("f"), 5).split(":")[0]


def case_get_missing():
    assert get("python_api.absent", allow_missing=True) is None
    return raises(ValueError, get, "python_api.absent"), \
        raises(ValueError, get, ""), outcome(get, 5), outcome(get, None)


def case_names_of_every_kind():
    out = []
    for name in ("python_api.\u00e9\u4e2d", "python_api." + "n" * 500,
                 "python_api with blank", "python_api"):
        tvm_ffi.register_global_func(name, lambda: 1)
        out.append(get(name)())
        tvm_ffi.remove_global_func(name)
        out.append(get(name, allow_missing=True))
    return out


def case_remove():
    name = unique("f")

    class Thing:
        def __call__(self):
            return 1

    t = Thing()
    ref = weakref.ref(t)
    tvm_ffi.register_global_func(name, t)
    del t
    gc.collect()
    alive = ref() is not None
    tvm_ffi.remove_global_func(name)
    gc.collect()
    return alive, ref() is None, get(name, allow_missing=True), \
        tvm_ffi.remove_global_func(name), \
        get("ffi.FunctionRemoveGlobal")(name), \
        outcome(get("ffi.FunctionRemoveGlobal"), 1)


def case_list_names():
    name = unique("listed")
    before = registry.list_global_func_names()
    tvm_ffi.register_global_func(name, lambda: 1)
    after = registry.list_global_func_names()
    tvm_ffi.remove_global_func(name)
    assert set(after) - set(before) == {name}
    assert len(after) == len(set(after)) and "testing.echo" in after
    assert all(type(n) is str or isinstance(n, str) for n in after)
    return name in registry.list_global_func_names()


def case_list_names_functor():
    f = get("ffi.FunctionListGlobalNamesFunctor")()
    n = f(-1)
    names = [f(i) for i in range(n)]
    assert len(set(names)) == n
    return outcome(f, "x"), outcome(f)


def case_testing_functions_are_there():
    return sorted(n for n in registry.list_global_func_names()
                  if n.startswith("testing."))


def case_metadata():
    f = tvm_ffi.get_global_func_metadata
    return [(n, f(n)) for n in sorted(registry.list_global_func_names())
            if n.startswith("testing.")]


def case_metadata_of_builtins():
    f = tvm_ffi.get_global_func_metadata
    return [(n, f("ffi." + n)) for n in (
        "Array", "ArrayContains", "ArrayGetItem", "ArraySize", "Bytes",
        "ContainerFindFirstNonCPUDevice", "DeepCopy", "Dict", "DictClear",
        "DictCount", "DictErase", "DictForwardIterFunctor", "DictGetItem",
        "DictGetItemOrMissing", "DictSetItem", "DictSize",
        "FunctionFromExternC", "FunctionListGlobalNamesFunctor",
        "FunctionRemoveGlobal", "GetGlobalFuncMetadata", "GetInvalidObject",
        "GetKwargsObject", "GetRegisteredTypeKeys", "List", "ListAppend",
        "ListClear", "ListContains", "ListErase", "ListEraseRange",
        "ListGetItem", "ListInsert", "ListPop", "ListReplaceSlice",
        "ListReserve", "ListReverse", "ListSetItem", "ListSize",
        "MakeFieldGetter", "MakeFieldSetter", "MakeObjectFromPackedArgs", "Map",
        "MapCount", "MapForwardIterFunctor", "MapGetItem",
        "MapGetItemOrMissing", "MapSize", "Module.load_from_file.so",
        "ModuleClearImports", "ModuleGetFunction", "ModuleGetFunctionDoc",
        "ModuleGetFunctionMetadata", "ModuleGetKind", "ModuleGetPropertyMask",
        "ModuleGetWriteFormats", "ModuleGlobalsAdd", "ModuleGlobalsRemove",
        "ModuleImplementsFunction", "ModuleImportModule", "ModuleInspectSource",
        "ModuleLoadFromFile", "ModuleWriteToFile", "Shape", "String",
        "SystemLib", "_PyClassRegisterTypeAttrColumns", "_RegisterFFIInit")]


def case_metadata_of_python_function():
    name = unique("f")
    tvm_ffi.register_global_func(name, lambda: 1)
    return tvm_ffi.get_global_func_metadata(name), \
        outcome(tvm_ffi.get_global_func_metadata, "python_api.absent")


def case_init_ffi_api():
    m = types.ModuleType("python_api_target")
    sys.modules["python_api_target"] = m
    tvm_ffi.register_global_func("python_api_ns.one", lambda: 1)
    tvm_ffi.register_global_func("python_api_ns.sub.two", lambda: 2)
    tvm_ffi.init_ffi_api("python_api_ns", "python_api_target")
    got = m.one(), m.one.__name__, hasattr(m, "two"), hasattr(m, "sub")
    n = types.ModuleType("tvm.python_api_ns")
    sys.modules["tvm.python_api_ns"] = n
    tvm_ffi.init_ffi_api("tvm.python_api_ns")
    return got, n.one(), raises(KeyError, tvm_ffi.init_ffi_api, "no_module_x")


def case_testing_api_module():
    from tvm_ffi.testing import _ffi_api as api

    assert api.add_one(1) == 2 and api.echo("x") == "x"
    return sorted(n for n in vars(api) if not n.startswith("_"))[:5]


# -- types -----------------------------------------------------------------------


def case_type_keys():
    keys = list(registry.get_registered_type_keys())
    assert "testing.TestObjectBase" in keys and "ffi.Array" in keys
    static = [k for k in keys if k.startswith("ffi.") or "." not in k]
    return sorted(static), sorted(k for k in keys if k.startswith("testing."))


def case_type_key_to_index():
    f = core._object_type_key_to_index
    names = ["None", "int", "bool", "float", "ffi.Object", "ffi.String",
             "ffi.Bytes", "ffi.Error", "ffi.Function", "ffi.Shape",
             "ffi.Tensor", "ffi.Array", "ffi.Map", "ffi.Module",
             "ffi.OpaquePyObject", "ffi.List", "ffi.Dict", "ffi.BigInt",
             "ffi.VisitInterrupt", "ffi.Enum", "no.such", "", "DataType",
             "Device", "void*", "ffi.SmallStr", "ObjectRValueRef"]
    return [(n, f(n)) for n in names]


def case_register_object():
    @tvm_ffi.register_object("testing.TestUnregisteredBaseObject")
    class Base(Object):
        pass

    assert Base.__tvm_ffi_type_info__.type_key == \
        "testing.TestUnregisteredBaseObject"
    return [f.name for f in Base.__tvm_ffi_type_info__.fields], \
        [m.name for m in Base.__tvm_ffi_type_info__.methods]


def case_register_object_errors():
    class A(Object):
        pass

    return raises(ValueError, tvm_ffi.register_object("no.such.Type"), A), \
        raises(ValueError, tvm_ffi.register_object, A), \
        raises(ValueError, tvm_ffi.register_object(), A), \
        raises(TypeError, tvm_ffi.register_object, 5)


def case_unregistered_object():
    obj = tvm_ffi.testing.make_unregistered_object()
    cls = type(obj)
    base = cls.__mro__[1]
    return obj.v1, obj.v2, obj.get_v1_plus_one(), obj.get_v2_plus_two(), \
        cls.__name__, cls.__qualname__, cls.__module__, cls.__doc__, \
        base.__name__, isinstance(obj, Object), \
        outcome(lambda: setattr(obj, "v1", 5))


def info_of(info):
    return {
        "key": info.type_key, "ancestors": len(info.type_ancestors),
        "parent": info.parent_type_info and info.parent_type_info.type_key,
        "size": info.total_size,
        "fields": [(f.name, f.doc, f.size, f.alignment, f.offset, f.frozen,
                    json.dumps(f.metadata, sort_keys=True),
                    repr(f.ty), f.c_init, f.c_kw_only, f.c_has_default,
                    show(f.c_default), f.c_default_factory is core.MISSING,
                    f.c_repr, f.c_compare, f.c_hash, f.c_structural_eq)
                   for f in info.fields],
        "methods": [(m.name, m.doc, m.is_static,
                     json.dumps(m.metadata, sort_keys=True))
                    for m in info.methods]}


def case_type_info_of_testing_types():
    out = []
    for name, cls in sorted(vars(tvm_ffi.testing).items()):
        info = getattr(cls, "__tvm_ffi_type_info__", None)
        if isinstance(cls, type) and info is not None:
            out.append((name, info_of(info)))
    assert len(out) > 20
    return out


def case_type_info_of_builtin_types():
    from tvm_ffi import access_path, dataclasses, module, structural

    return [info_of(c.__tvm_ffi_type_info__) for c in (
        tvm_ffi.Array, tvm_ffi.Map, tvm_ffi.List, tvm_ffi.Dict,
        module.Module, access_path.AccessPath, access_path.AccessStep,
        dataclasses.Enum, dataclasses.IntEnum, dataclasses.StrEnum,
        dataclasses.EnumState, structural.VisitInterrupt,
        structural.StructuralVisitor, structural.StructuralMutator)]


def case_field_functions():
    obj = tvm_ffi.testing.TestObjectBase(v_i64=3)
    info = tvm_ffi.testing.TestObjectBase.__tvm_ffi_type_info__
    fields = {f.name: f for f in info.fields}
    got = [fields[n].getter(obj) for n in ("v_i64", "v_f64", "v_str")]
    fields["v_i64"].setter(obj, 9)
    prop = fields["v_i64"].as_property(type(obj))
    return got, obj.v_i64, type(prop).__name__, \
        outcome(fields["v_i64"].setter, obj, "x"), prop.__doc__


def case_methods_of_type_info():
    info = tvm_ffi.testing._SchemaAllTypes.__tvm_ffi_type_info__
    m = {m.name: m for m in info.methods}
    return sorted(m), m["make_with"].is_static, m["add_int"].is_static, \
        type(m["add_int"].func).__name__, m["add_int"].doc, \
        type(m["add_int"].as_callable(object)).__name__


def case_type_attributes():
    f = core._lookup_type_attr
    out = []
    for name in ("__ffi_new__", "__ffi_init__", "__ffi_shallow_copy__",
                 "__ffi_hash__", "__ffi_eq__", "__ffi_compare__",
                 "__ffi_repr__", "__ffi_convert__", "__any_hash__",
                 "__any_equal__", "__ffi_enum__", "no_such_attribute"):
        for key in ("testing.TestIntPair", "testing.TestObjectBase",
                    "testing.TestCustomHash", "testing.TestCustomCompare",
                    "testing.TestNonCopyable", "testing.TestCxxNoAutoInit",
                    "testing.TestEnumVariant", "ffi.Array", "ffi.Module",
                    "ffi.VisitInterrupt"):
            v = f(core._object_type_key_to_index(key), name)
            out.append((name, key, type(v).__name__))
    return out


def case_register_type_attribute():
    index = core._object_type_key_to_index("testing.TestIntPair")
    name = unique("attribute")
    out = [core._lookup_type_attr(index, name)]
    core._register_type_attr(index, name, "value")
    out.append(core._lookup_type_attr(index, name))
    out.append(core._lookup_type_attr(index + 1, name))
    out.append(outcome(core._register_type_attr, index, name,
                       "again").replace(name, "NAME").replace(
                           str(index), "INDEX"))
    return out


def case_make_field_getter_and_setter():
    f = tvm_ffi._ffi_api.MakeFieldSetter
    g = tvm_ffi._ffi_api.MakeFieldGetter
    return outcome(g, 1).lstrip("-").isdigit(), outcome(g, "x"), \
        outcome(g), outcome(f, 1), outcome(f, "a", 1, 2)


def case_create_object():
    c = tvm_ffi.testing.create_object
    o = c("testing.TestObjectBase", v_i64=12, v_str="x")
    p = c("testing.TestObjectBase")
    d = c("testing.TestObjectDerived", v_map={"a": 1}, v_array=[1])
    return [o.v_i64, o.v_f64, o.v_str, p.v_i64, p.v_str, d.v_map, d.v_array,
            type(d).__name__]


def case_create_object_errors():
    c = tvm_ffi.testing.create_object
    f = get("ffi.MakeObjectFromPackedArgs")
    return [outcome(c, *a, **k) for a, k in (
        (("no.such",), {}), (("testing.TestObjectBase",), {"zzz": 1}),
        (("testing.TestObjectBase",), {"v_i64": "x"}),
        (("testing.TestObjectDerived",), {}),
        (("testing.TestObjectDerived",), {"v_map": 1, "v_array": []}),
        (("testing.TestIntPair",), {"a": 1}),
        (("testing.TestIntPair",), {"a": 1, "b": 2}),
        (("testing.TestNonCopyable",), {"value": 1}),
        (("ffi.Array",), {}), (("ffi.Object",), {}), (("int",), {}),
        (("ffi.String",), {}), (("testing.TestCxxNoAutoInit",), {"x": 1}),
        (("testing.TestCxxNoAutoInit",), {"x": 1, "y": 2}))] + [
        outcome(f, 5), outcome(f, "testing.TestObjectBase", 1, 2)]


def case_create_object_with_a_name_and_no_value():
    f = get("ffi.MakeObjectFromPackedArgs")
    return outcome(f), outcome(f, "testing.TestObjectBase", "v_i64")


def case_create_object_with_two_wrong_arguments():
    f = get("ffi.MakeObjectFromPackedArgs")
    return [outcome(f, t, n, v)
            for t in (0, "ffi.Function", "ffi.Object", "testing.TestIntPair",
                      "no.such")
            for n in (None, 1, b"a", "a", "no_such") for v in (1, "x")]


def case_schema_strings():
    S = core.TypeSchema
    out = []
    for n in ("ffi.ArrayGetItem", "ffi.MapGetItem", "testing.schema_id_int",
              "testing.schema_variant_mix", "testing.schema_arr_map_opt",
              "testing.echo", "testing.schema_no_args_no_return",
              "testing.schema_id_func_typed", "ffi.ListAppend"):
        meta = tvm_ffi.get_global_func_metadata(n)
        schema = S.from_json_str(meta["type_schema"])
        out.append((n, repr(schema), schema.repr(), schema.input_repr(),
                    schema.output_repr(), json.dumps(schema.to_json(),
                                                     sort_keys=True)))
    return out


# -- objects -----------------------------------------------------------------------


def case_object_identity():
    a = tvm_ffi.testing.TestIntPair(1, 2)
    b = tvm_ffi.testing.TestIntPair(1, 2)
    r = tvm_ffi.get_global_func("testing.echo")(a)
    assert r.same_as(a) and r == a and a != b and hash(a) == hash(r)
    assert a.is_(r) and not a.is_(b) and not a.same_as(5)
    return r is a, a == 5, a.id_ == a.__chandle__(), \
        type(a.__ctypes_handle__()).__name__


def case_wrapper_comes_back():
    a = tvm_ffi.testing.TestIntPair(1, 2)
    held = tvm_ffi.Array([a])
    address = id(a)
    same = held[0] is a
    del a
    gc.collect()
    again = held[0]
    return same, again.a, again is held[0], (id(again) == address) in (0, 1)


def case_object_counts():
    a = tvm_ffi.testing.TestIntPair(1, 2)
    counts = [use_count(a)]
    b = tvm_ffi.Array([a, a])
    counts.append(use_count(a))
    c = b[0]
    counts.append(use_count(c))
    del b, c
    counts.append(use_count(a))
    return counts


def case_object_weak_reference_and_slots():
    a = tvm_ffi.testing.TestIntPair(1, 2)

    class Mine(Object):
        __slots__ = ("__dict__",)

    class Plain(Object):
        pass

    return outcome(weakref.ref, a), outcome(setattr, a, "zz", 1), \
        Plain.__slots__, Mine.__slots__


def case_object_direct_construction():
    return [outcome(lambda: c().__chandle__()) for c in
            (Object, tvm_ffi.Module, tvm_ffi.access_path.AccessStep,
             tvm_ffi.structural.StructuralVisitor, core.CObject)]


def case_empty_handle():
    o = Object.__new__(Object)
    return o.__chandle__(), repr(o), hash(o), o == Object.__new__(Object)


def case_ffi_property():
    p = tvm_ffi.testing.TestIntPair.a
    return type(p).__name__, isinstance(p, property), p.__doc__, \
        p.fget is not None


def case_skip_unknown_objects():
    class A(Object):
        pass

    old = registry._SKIP_UNKNOWN_OBJECTS
    registry._SKIP_UNKNOWN_OBJECTS = True
    try:
        return tvm_ffi.register_object("no.such.Type")(A) is A
    finally:
        registry._SKIP_UNKNOWN_OBJECTS = old


# -- wrappers: which Python object stands for an object ------------------------


class Plain(Object):
    pass


@tvm_ffi.dataclasses.py_class("python_api.WithDict")
class WithDict(Object):
    __slots__ = ("__dict__",)
    a: int


def case_wrapper_identity_of_made_objects():
    a = WithDict(1)
    held = tvm_ffi.Array([a, a])
    m = tvm_ffi.Map({"k": a})
    f = tvm_ffi.convert(lambda x: x)
    echo = tvm_ffi.get_global_func("testing.echo")
    return held[0] is a, held[1] is a, m["k"] is a, f(a) is a, echo(a) is a, \
        [x is a for x in held]


def case_wrapper_keeps_attributes():
    a = WithDict(1)
    a.extra = "kept"
    held = tvm_ffi.Array([a])
    seen = outcome(lambda: held[0].extra)
    del a
    gc.collect()
    return seen, outcome(lambda: held[0].extra)


def case_wrapper_of_each_kind():
    T = tvm_ffi.testing
    values = [T.TestIntPair(1, 2), T.TestObjectBase(), WithDict(1),
              tvm_ffi.Array([1]), tvm_ffi.List([1]), tvm_ffi.Map({}),
              tvm_ffi.Dict({}), tvm_ffi.convert(len),
              tvm_ffi.access_path.AccessPath.root(),
              T._TestCxxIntEnum.low, core.Error("ValueError", "m", ""),
              T.make_unregistered_object(), core.MISSING]
    echo = tvm_ffi.get_global_func("testing.echo")
    out = []
    for v in values:
        held = tvm_ffi.Array([v])
        out.append((type(v).__name__, echo(v) is v, held[0] is v,
                    held[0] is held[0]))
    return out


def case_wrapper_after_it_is_gone():
    out = []
    for make in (lambda: tvm_ffi.testing.TestIntPair(1, 2),
                 lambda: tvm_ffi.Array([1]), lambda: WithDict(3)):
        held = tvm_ffi.Array([make()])
        gc.collect()
        x = held[0]
        y = held[0]
        out.append((x is y, use_count(x)))
        del x, y
        z = held[0]
        out.append((use_count(z), z is held[0]))
    return out


def case_wrapper_in_threads():
    import threading

    a = WithDict(1)
    held = tvm_ffi.Array([a])
    bad = []

    def work():
        for _ in range(300):
            if held[0] is not a:
                bad.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return len(bad), use_count(a)


def case_wrapper_dropped_in_threads():
    import threading

    held = tvm_ffi.Array([WithDict(i) for i in range(8)])

    def work():
        for i in range(300):
            x = held[i % 8]
            assert x.a == i % 8
            del x

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return [use_count(held[i]) for i in range(8)]


def case_wrapper_of_moved_object():
    a = WithDict(1)
    f = tvm_ffi.convert(lambda x: (x is a, x.a))
    first = f(a)
    echo = tvm_ffi.get_global_func("testing.echo")
    b = echo(a._move())
    return first, b.a, use_count(b), a.__chandle__() == 0


def case_many_objects_made_and_dropped():
    total = 0
    for i in range(5000):
        total += WithDict(i).a
        held = tvm_ffi.Array([tvm_ffi.testing.TestIntPair(i, 1)])
        total += held[0].sum()
    return total


def case_move_handle():
    a, b = tvm_ffi.Array([1]), tvm_ffi.Array.__new__(tvm_ffi.Array)
    b.__move_handle_from__(a)
    return list(b), a.__chandle__(), use_count(b)
