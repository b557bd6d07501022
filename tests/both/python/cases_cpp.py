"""C++ compiled at run time against the wheel's headers.

The headers inline containers, objects and errors, so each case is a meeting
of upstream's code with the library in use.
"""

import gc
import os
import tempfile

import numpy as np
import tvm_ffi
import tvm_ffi.cpp
from kit import compiled, core, frames, outcome, show, use_count
from tvm_ffi import Array, Dict, List, Map, Object

SOURCE = r"""
#include <tvm/ffi/tvm_ffi.h>

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

int64_t add(int64_t a, int64_t b) { return a + b; }

void scale(ffi::TensorView x, double k) {
  if (x.ndim() != 1) TVM_FFI_THROW(ValueError) << "ndim is " << x.ndim();
  for (int64_t i = 0; i < x.size(0); ++i) static_cast<double*>(x.data_ptr())[i] *= k;
}

void fail(ffi::String kind, ffi::String text) {
  throw ffi::Error(kind, text, TVMFFIBacktrace(__FILE__, __LINE__, TVM_FFI_FUNC_SIG, 0));
}

ffi::Any call(ffi::Function f, ffi::Any x) { return f(x); }

ffi::String catching(ffi::Function f) {
  try {
    f();
  } catch (const ffi::Error& e) {
    return ffi::String("caught ") + e.kind() + ": " + e.message();
  }
  return "no error";
}

void nested(ffi::Function f) {
  try {
    f();
  } catch (const ffi::Error& e) {
    TVM_FFI_THROW(ValueError) << "outer of " << e.kind();
  }
}

ffi::Array<int64_t> squares(int64_t n) {
  ffi::Array<int64_t> a;
  a.reserve(n);
  for (int64_t i = 0; i < n; ++i) a.push_back(i * i);
  return a;
}

int64_t sum(ffi::Array<int64_t> a) {
  int64_t s = 0;
  for (int64_t x : a) s += x;
  return s;
}

ffi::Array<ffi::Any> reversed(ffi::Array<ffi::Any> a) {
  return ffi::Array<ffi::Any>(a.rbegin(), a.rend());
}

ffi::Array<ffi::Any> changed(ffi::Array<ffi::Any> a) {
  a.Set(0, ffi::String("set in C++"));
  a.push_back(7);
  a.insert(a.begin(), 1.5);
  a.erase(a.begin() + 1);
  a.resize(a.size() + 1);
  return a;
}

void grow(ffi::List<ffi::Any> l, int64_t n) {
  for (int64_t i = 0; i < n; ++i) l.push_back(i);
  l.insert(l.begin(), ffi::String("first"));
  l.pop_back();
}

ffi::Map<ffi::Any, ffi::Any> inverted(ffi::Map<ffi::Any, ffi::Any> m) {
  ffi::Map<ffi::Any, ffi::Any> out;
  for (auto kv : m) out.Set(kv.second, kv.first);
  return out;
}

ffi::Map<ffi::String, int64_t> counted(ffi::Array<ffi::String> words) {
  ffi::Map<ffi::String, int64_t> out;
  for (const ffi::String& w : words) out.Set(w, out.count(w) ? out[w] + 1 : 1);
  return out;
}

ffi::Array<ffi::Any> look_up(ffi::Map<ffi::Any, ffi::Any> m, ffi::Array<ffi::Any> keys) {
  ffi::Array<ffi::Any> out;
  for (const ffi::Any& k : keys) out.push_back(m.count(k) ? m[k] : ffi::Any(nullptr));
  return out;
}

void update(ffi::Dict<ffi::Any, ffi::Any> d, int64_t n) {
  for (int64_t i = 0; i < n; ++i) d.Set(i, ffi::String("v") + std::to_string(i));
  for (int64_t i = 0; i < n; i += 2) d.erase(i);
}

ffi::Any at_or_throw(ffi::Map<ffi::String, ffi::Any> m, ffi::String k) { return m.at(k); }

ffi::Optional<ffi::String> maybe(ffi::Optional<ffi::String> s) {
  if (s.has_value()) return *s + "!";
  return std::nullopt;
}

ffi::Variant<int64_t, ffi::String> either(ffi::Variant<int64_t, ffi::String> v) { return v; }

ffi::Tuple<int64_t, ffi::String> pair(ffi::Tuple<int64_t, ffi::String> t) {
  return ffi::Tuple<int64_t, ffi::String>(t.get<0>() + 1, t.get<1>() + "?");
}

ffi::Shape shape(ffi::Shape s) {
  std::vector<int64_t> v(s.begin(), s.end());
  v.push_back(static_cast<int64_t>(s.Product()));
  return ffi::Shape(v);
}

ffi::Bytes bytes(ffi::Bytes b) { return ffi::Bytes(std::string(b.data(), b.size()) + "\0x"); }

DLDataType dtype(DLDataType d) {
  d.lanes = 4;
  return d;
}

DLDevice device(DLDevice d) {
  d.device_id += 1;
  return d;
}

int64_t hash_equal(ffi::Any a, ffi::Any b) {
  return (ffi::AnyEqual()(a, b) ? 2 : 0) + (ffi::AnyHash()(a) == ffi::AnyHash()(b) ? 1 : 0);
}

struct CpuAlloc {
  void AllocData(DLTensor* t) { t->data = malloc(ffi::GetDataSize(*t) + 1); }
  void FreeData(DLTensor* t) { free(t->data); }
};

ffi::Tensor make_tensor(ffi::Shape s) {
  ffi::Tensor t = ffi::Tensor::FromNDAlloc(CpuAlloc(), s, DLDataType{kDLInt, 32, 1},
                                           DLDevice{kDLCPU, 0});
  for (size_t i = 0; i < s.Product(); ++i) static_cast<int32_t*>(t.data_ptr())[i] = int32_t(i);
  return t;
}

class CounterObj : public ffi::Object {
 public:
  int64_t value;
  ffi::String name;
  ffi::List<ffi::Any> log;
  explicit CounterObj(int64_t value, ffi::String name = "counter") : value(value), name(name) {}
  int64_t Increase(int64_t by) {
    value += by;
    log.push_back(by);
    return value;
  }
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("python_api_cpp.Counter", CounterObj, ffi::Object);
};

class Counter : public ffi::ObjectRef {
 public:
  explicit Counter(int64_t v) { data_ = ffi::make_object<CounterObj>(v); }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Counter, ffi::ObjectRef, CounterObj);
};

class PowerObj : public CounterObj {
 public:
  double power = 2.0;
  explicit PowerObj(int64_t v, double p) : CounterObj(v, "power"), power(p) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("python_api_cpp.Power", PowerObj, CounterObj);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<CounterObj>()
      .def(refl::init<int64_t, ffi::String>(), "made of a value and a name")
      .def_rw("value", &CounterObj::value, "how many")
      .def_ro("name", &CounterObj::name)
      .def_rw("log", &CounterObj::log)
      .def("increase", &CounterObj::Increase, "adds to the value")
      .def_static("zero", []() { return Counter(0); });
  refl::ObjectDef<PowerObj>()
      .def(refl::init<int64_t, double>())
      .def_rw("power", &PowerObj::power);
  refl::GlobalDef()
      .def("python_api_cpp.twice", [](int64_t x) { return x * 2; }, "twice as much")
      .def_packed("python_api_cpp.count", [](ffi::PackedArgs args, ffi::Any* rv) {
        *rv = static_cast<int64_t>(args.size());
      })
      .def_method("python_api_cpp.increase", &CounterObj::Increase);
}

int64_t value_of(Counter c) { return c->value; }
ffi::ObjectRef make_counter(int64_t v) { return Counter(v); }
ffi::String type_of(ffi::ObjectRef o) { return o.defined() ? o->GetTypeKey() : "null"; }

"""

NAMES = ["add", "scale", "fail", "call", "catching", "nested", "squares", "sum",
         "reversed", "changed", "grow", "inverted", "counted", "look_up",
         "update", "at_or_throw", "maybe", "either", "pair", "shape", "bytes",
         "dtype", "device", "hash_equal", "make_tensor", "value_of",
         "make_counter", "type_of"]

_loaded = []


def module():
    if not _loaded:
        _loaded.append(compiled("python_api_cases", SOURCE, NAMES))
    return _loaded[0]


def caught(function, *args):
    try:
        function(*args)
    except Exception as error:
        return error
    raise AssertionError("no error")


def case_functions():
    m = module()
    x = np.arange(4.0)
    m.scale(x, 2.0)
    assert m.add(1, 2) == 3 and x.tolist() == [0, 2, 4, 6]
    return m.add(-5, 6), outcome(m.scale, np.zeros((2, 2)), 1.0), \
        outcome(m.add, 1), outcome(m.add, "x", 1), m.get_function_metadata(
            "add"), m.implements_function("sum"), m.kind


def case_errors():
    m = module()
    errors = [caught(m.fail, k, "text") for k in
              ("ValueError", "KeyError", "NoSuchKind", "IndexError")]
    return [repr(e) for e in errors], frames(errors[0]), \
        [e.__tvm_ffi_error__.kind for e in errors]


def case_errors_through_cxx():
    m = module()

    def bad(*args):
        raise IndexError("python text")

    e = caught(m.call, bad, 1)
    n = caught(m.nested, bad)
    return repr(e), [f for f in frames(e) if f == "bad"], repr(n), \
        m.catching(bad), m.catching(lambda: None), \
        m.catching(lambda: m.fail("KeyError", "inner"))


def case_callbacks():
    m = module()
    return m.call(lambda x: x, [1, {"a": 2}]), m.call(lambda x: x + 1, 4), \
        m.call(lambda f: f(3), lambda x: x * 2), m.call(m.sum, [1, 2, 3])


def case_arrays():
    m = module()
    assert list(m.squares(5)) == [0, 1, 4, 9, 16]
    a = Array([1, "b", None])
    c = m.changed(a)
    assert list(a) == [1, "b", None]
    return m.squares(0), m.sum([1, 2, 3]), m.sum(Array(range(1000))), \
        m.reversed([1, "two", 3.0]), c, m.changed([5]), \
        outcome(m.sum, [1, "x"]), outcome(m.sum, 5), outcome(m.sum, [1.5]), \
        len(m.squares(100000))


def case_arrays_are_copied_on_write():
    m = module()
    a = Array([1, 2])
    held = Array([a])
    m.changed(a)
    return a, held, use_count(a)


def case_lists():
    m = module()
    a = List([1])
    m.grow(a, 200)
    b = List([])
    m.grow(b, 3)
    a.append("py")
    m.grow(a, 2)
    return len(a), a[:3], a[-4:], b, outcome(m.grow, [1], 2)


def case_maps():
    m = module()
    d = {i: f"value {i}" for i in range(50)}
    r = m.inverted(d)
    assert all(r[f"value {i}"] == i for i in range(50))
    return m.inverted({"a": 1, "b": 2}), m.inverted({}), \
        m.counted("the cat and the dog and the bird".split()), \
        m.look_up({1: "a", "k": 2.5, "a long key for the map": None},
                  [1, "k", "a long key for the map", 2, None, 1.0, True]), \
        outcome(m.at_or_throw, {"a": 1}, "z"), m.at_or_throw({"a": 1}, "a"), \
        outcome(m.at_or_throw, {1: 1}, "z")


def case_dicts():
    m = module()
    d = Dict({"mine": 1})
    m.update(d, 100)
    d["after"] = 2
    m.update(d, 4)
    return list(d.items()), outcome(m.update, {}, 1)


def case_hashes_made_on_both_sides():
    """Maps made here are read by inlined C++ and the reverse."""
    m = module()
    keys = [0, -1, 2**62, 1.5, 0.25, True, None, "", "abc", "sevenby", "eight by",
            "a very long string for a key", b"", b"abc", b"long bytes as a key",
            tvm_ffi.dtype("float32"), tvm_ffi.device("cuda", 1), 2**80]
    d = Map({k: i for i, k in enumerate(keys)})
    found = m.look_up(d, keys)
    back = m.inverted(Map({i: k for i, k in enumerate(keys)}))
    assert [back[k] for k in keys] == list(range(len(keys)))
    assert list(found) == list(range(len(keys)))
    return found


def case_equality_and_hash():
    m = module()
    values = [0, 1, True, 1.0, 0.0, -0.0, float("nan"), None, "a", "a" * 20, b"a",
              b"a" * 20, "", b"", tvm_ffi.dtype("int8"), 2**80]
    return [[m.hash_equal(a, b) for b in values] for a in values], \
        m.hash_equal(Array([1]), Array([1]))


def case_other_values():
    m = module()
    return m.maybe("a"), m.maybe(None), outcome(m.maybe, 1), m.either(1), \
        m.either("s"), outcome(m.either, 1.5), m.pair((1, "q")), \
        outcome(m.pair, (1,)), outcome(m.pair, ("a", "b")), \
        m.shape((2, 3)), m.shape([]), m.shape(tvm_ffi.Shape((4,))), \
        m.bytes(b"a\0b"), m.dtype("float32"), m.dtype(tvm_ffi.dtype("int8")), \
        str(m.device(tvm_ffi.device("cuda", 1))), \
        outcome(m.dtype, "nope"), outcome(m.shape, ["x"])


def case_tensors():
    m = module()
    t = m.make_tensor((2, 3))
    x = np.from_dlpack(t)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    del t
    gc.collect()
    y = m.make_tensor(())
    return x.sum().item(), y.shape, m.make_tensor((0, 5)).shape, \
        use_count(y), str(y.dtype)


def classes():
    @tvm_ffi.dataclasses.c_class("python_api_cpp.Counter")
    class Counter(Object):
        value: int
        name: str
        log: list

    @tvm_ffi.dataclasses.c_class("python_api_cpp.Power")
    class Power(Counter):
        power: float

    return Counter, Power


def case_objects():
    m = module()
    raw = m.make_counter(3)
    first = type(raw).__name__, raw.value, raw.name, raw.increase(4)
    Counter, Power = classes()
    c, p = Counter(1, "mine"), Power(2, 1.5)
    c.value = 10
    c.log.append("from Python")
    c.increase(5)
    p.power = 4
    return first, c.value, c.name, c.log, p.value, p.name, p.power, \
        m.value_of(c), m.value_of(p), m.type_of(p), \
        tvm_ffi.get_global_func("python_api_cpp.increase")(c, 1), \
        Counter.zero().value, outcome(m.value_of, Array([])), \
        outcome(setattr, c, "name", "x"), outcome(setattr, c, "value", "x"), \
        outcome(setattr, c, "log", [1]), c.log, outcome(Counter, 1), \
        m.type_of(None), use_count(c), \
        outcome(m.type_of, [1]), m.type_of("a long string for an object")


def case_global_functions():
    module()
    f = tvm_ffi.get_global_func
    return f("python_api_cpp.twice")(21), f("python_api_cpp.count")(1, 2, 3), \
        tvm_ffi.get_global_func_metadata("python_api_cpp.twice"), \
        tvm_ffi.get_global_func_metadata("python_api_cpp.increase"), \
        outcome(f("python_api_cpp.twice"), "x")


def case_load_and_build():
    folder = tempfile.mkdtemp(prefix="python-api-")
    path = os.path.join(folder, "one.cc")
    with open(path, "w", encoding="utf-8") as out:
        out.write("#include <tvm/ffi/function.h>\n"
                  "static int one(int x) { return x + 1; }\n"
                  "TVM_FFI_DLL_EXPORT_TYPED_FUNC(one, one);\n")
    built = tvm_ffi.cpp.build("one_cases", cpp_files=[path],
                              extra_cflags=["-O0"], build_directory=folder)
    m = tvm_ffi.load_module(built)
    n = tvm_ffi.cpp.load("one_cases", cpp_files=path, extra_cflags=["-O0"],
                         build_directory=folder)
    return m.one(1), n.one(2), os.path.basename(built)


def case_build_errors():
    folder = tempfile.mkdtemp(prefix="python-api-")
    return outcome(tvm_ffi.cpp.build_inline, "bad_cases",
                   cpp_sources="this is no C++", functions=["x"],
                   build_directory=folder).split(":")[0], \
        outcome(tvm_ffi.cpp.load_inline, "bad2", functions=["x"],
                build_directory=folder).split("\n")[0][:80]


def case_objects_outlive_their_module():
    m = module()
    c, t = m.make_counter(1), m.make_tensor((3,))
    gc.collect()
    return c.value, t.shape, show(core.MISSING)
