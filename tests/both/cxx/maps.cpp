// Maps and dicts that C++ reads and writes inline, and the library behind its
// global functions: what one made the other changes, and both must see the
// same, in the same order. Runs on whichever libtvm_ffi is linked.
//
//   c++ -std=c++17 -Ipath/to/tvm_ffi/include maps.cpp -ltvm_ffi && ./a.out
//
// Output is TAP; the exit status tells whether all passed.
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

#include <cstdio>
#include <cstring>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace tvm::ffi;

namespace {

int number = 0, failures = 0;
bool good = true;

bool check(bool holds, const char* what, int line) {
  if (!holds && good) std::printf("# line %d: %s\n", line, what);
  good = good && holds;
  return holds;
}
#define CHECK(x) check(!!(x), #x, __LINE__)

void report(const std::string& name) {
  std::printf("%sok %d - %s\n", good ? "" : "not ", ++number, name.c_str());
  failures += !good;
  good = true;
}

uint64_t state = 88172645463325252u;
uint64_t random(uint64_t n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 11) % n;
}

Function global(const char* name) { return Function::GetGlobalRequired(name); }

// The kinds of keys, each made anew, so that texts are never the same object.
enum Kind { kInts, kShort, kLong, kMixed, kNumKinds };
const char* const kind_name[] = {"integers", "short texts", "long texts",
                                 "mixed keys"};

Any make_key(Kind kind, uint64_t n) {
  std::string text = std::to_string(n * 7919);
  switch (kind) {
    case kInts: return Any(static_cast<int64_t>(n * 2654435761u));
    case kShort: return Any(String("k" + std::to_string(n)));
    case kLong: return Any(String("a key that is rather long: " + text));
    default: break;
  }
  switch (n % 7) {
    case 0: return Any(static_cast<int64_t>(n));
    case 1: return Any(static_cast<double>(n) / 3);
    case 2: return Any(String(text));
    case 3: return Any(Bytes(text));
    case 4: return Any(DLDevice{kDLCUDA, static_cast<int32_t>(n)});
    case 5: return Any(Bytes("some bytes and a number: " + text));
    default: return Any(String("another text that is long: " + text));
  }
}

// What a map is compared with: entries in order, found by the key's number. A
// key that is set again goes to the end, once the map is a table.
struct Model {
  std::list<std::pair<uint64_t, int64_t>> order;
  std::map<uint64_t, std::list<std::pair<uint64_t, int64_t>>::iterator> at;

  Model() = default;
  Model(const Model& other) {
    for (const auto& entry : other.order) set(entry.first, entry.second, false);
  }
  void clear() {
    order.clear();
    at.clear();
  }
  void set(uint64_t key, int64_t value, bool table) {
    auto it = at.find(key);
    if (it == at.end()) {
      at[key] = order.insert(order.end(), {key, value});
    } else {
      it->second->second = value;
      if (table) order.splice(order.end(), order, it->second);
    }
  }
  void erase(uint64_t key) {
    auto it = at.find(key);
    if (it == at.end()) return;
    order.erase(it->second);
    at.erase(it);
  }
};

// The fields that decide how a map is read, from its header.
struct Layout {
  TVMFFIObject header;
  void* data;
  uint64_t size, slots;
  void (*deleter)(void*);
  uint32_t fib_shift;
  uint64_t head, tail;
};
template <typename M>
const Layout* layout(const M& map) {
  return reinterpret_cast<const Layout*>(map.get());
}
template <typename M>
bool is_table(const M& map) {
  return (layout(map)->slots >> 63) == 0;
}

// Goes over all slots of a table: each entry in exactly one chain that begins
// where its key's hash says, and the list of all in both directions.
template <typename M>
void check_table(const M& map) {
  const Layout* l = layout(map);
  uint64_t i, n = 0, before = UINT64_MAX, heads = 0, bodies = 0, linked = 0;
  auto meta = [&](uint64_t slot) -> uint8_t {
    return static_cast<uint8_t*>(l->data)[slot / 16 * 784 + slot % 16];
  };
  auto item = [&](uint64_t slot) {
    return static_cast<char*>(l->data) + slot / 16 * 784 + 16 + slot % 16 * 48;
  };
  auto word = [&](uint64_t slot, int which) {
    uint64_t w;
    std::memcpy(&w, item(slot) + 32 + 8 * which, 8);
    return w;
  };
  if (!is_table(map)) return;
  CHECK(l->slots >= 8 && (l->slots & (l->slots - 1)) == 0);
  CHECK(uint64_t(1) << (64 - l->fib_shift) == l->slots);
  for (i = l->head; i != UINT64_MAX && n <= l->size; i = word(i, 1), ++n) {
    if (!CHECK(i < l->slots && meta(i) < 0xFE)) return;
    CHECK(word(i, 0) == before);
    before = i;
  }
  CHECK(n == l->size && before == l->tail);
  for (i = 0; i < l->slots; ++i) {
    uint8_t m = meta(i);
    CHECK(m != 0xFE);
    if (m >= 0xFE) continue;
    heads += m < 0x80;
    bodies += m >= 0x80;
    linked += (m & 0x7F) != 0;
    if (m < 0x80) {
      const Any& key = *reinterpret_cast<const Any*>(item(i));
      uint64_t hash = AnyHash()(key) * 11400714819323198485u;
      CHECK(hash >> l->fib_shift == i);
    }
  }
  CHECK(heads + bodies == l->size && linked == bodies);
}

template <typename M>
void compare(const M& map, const Model& model, Kind kind) {
  auto want = model.order.begin();
  CHECK(map.size() == model.order.size());
  for (const auto& pair : map) {
    if (!CHECK(want != model.order.end())) return;
    CHECK(AnyEqual()(pair.first, make_key(kind, want->first)));
    CHECK(pair.second.template as_or_throw<int64_t>() == want->second);
    ++want;
  }
  CHECK(want == model.order.end());
  check_table(map);
}

// The same by the iterator function of the library.
template <typename M>
void compare_by_functor(const M& map, const Model& model, Kind kind,
                        const char* name) {
  Function next = global(name)(map).template as_or_throw<Function>();
  size_t left = model.order.size();
  for (const auto& want : model.order) {
    CHECK(AnyEqual()(next(0), make_key(kind, want.first)));
    CHECK(next(1).template as_or_throw<int64_t>() == want.second);
    CHECK(next(2).template as_or_throw<bool>() == (--left > 0));
  }
}

// `mine`: how often out of 4 an operation is done inline by C++.
void random_dict(Kind kind, int mine, uint64_t keys, uint64_t steps) {
  static const Function set = global("ffi.DictSetItem"),
                        erase = global("ffi.DictErase"),
                        get = global("ffi.DictGetItemOrMissing"),
                        count = global("ffi.DictCount"),
                        clear = global("ffi.DictClear"),
                        size = global("ffi.DictSize"),
                        make = global("ffi.Dict");
  Dict<Any, Any> dict =
      mine >= 2 ? Dict<Any, Any>() : make().as_or_throw<Dict<Any, Any>>();
  const void* identity = dict.get();
  Model model;
  for (uint64_t i = 0; i < steps; ++i) {
    uint64_t n = random(keys);
    Any key = make_key(kind, n);
    bool here = random(4) < static_cast<uint64_t>(mine);
    // Grows for a while, then shrinks.
    uint64_t what = random(16), grow = i / keys % 2 ? 4 : 10;
    if (what < grow) {
      int64_t value = static_cast<int64_t>(i);
      if (here)
        dict.Set(key, Any(value));
      else
        set(dict, key, value);
      // Of a dict that became a table just now, the key is new anyway.
      model.set(n, value, is_table(dict));
    } else if (what < 12) {
      if (here)
        dict.erase(key);
      else
        erase(dict, key);
      model.erase(n);
    } else {
      auto it = model.at.find(n);
      if (here) {
        CHECK(dict.count(key) == (it != model.at.end()));
        if (it != model.at.end())
          CHECK(dict.at(key).as_or_throw<int64_t>() == it->second->second);
      } else {
        Any got = get(dict, key);
        CHECK(count(dict, key).as_or_throw<int64_t>() ==
              (it != model.at.end()));
        if (it != model.at.end())
          CHECK(got.as_or_throw<int64_t>() == it->second->second);
      }
    }
    if (steps > 2000 && i % (steps / 3) == steps / 4) {
      if (i % 2)
        dict.clear();
      else
        clear(dict);
      model.clear();
    }
    if (i % (steps / 8 + 1) == 0) compare(dict, model, kind);
  }
  CHECK(dict.get() == identity);
  CHECK(size(dict).as_or_throw<int64_t>() ==
        static_cast<int64_t>(model.order.size()));
  compare(dict, model, kind);
  compare_by_functor(dict, model, kind, "ffi.DictForwardIterFunctor");
}

// A Map is only made by the library; C++ then changes it, and the library
// reads it again.
void made_map(Kind kind, uint64_t n) {
  static const Function get = global("ffi.MapGetItem"),
                        count = global("ffi.MapCount"),
                        size = global("ffi.MapSize");
  std::vector<Any> keys;
  std::vector<AnyView> args;
  Any result;
  Model model;
  for (uint64_t i = 0; i < n; ++i) {
    keys.push_back(make_key(kind, i));
    keys.push_back(Any(static_cast<int64_t>(i)));
    model.set(i, static_cast<int64_t>(i), false);
  }
  for (const Any& key : keys) args.push_back(key);
  global("ffi.Map").CallPacked(args.data(), static_cast<int>(args.size()),
                               &result);
  Map<Any, Any> map = result.as_or_throw<Map<Any, Any>>();
  compare(map, model, kind);
  Map<Any, Any> kept = map;  // result and kept share: a copy is changed
  for (uint64_t i = 0; i < n; i += 3) {
    map.erase(make_key(kind, i));
  }
  Model rest = model;
  for (uint64_t i = 0; i < n; i += 3) rest.erase(i);
  for (uint64_t i = n; i < n + n / 2 + 3; ++i) {
    map.Set(make_key(kind, i), Any(static_cast<int64_t>(i)));
    rest.set(i, static_cast<int64_t>(i), true);
  }
  compare(kept, model, kind);
  compare(map, rest, kind);
  compare_by_functor(map, rest, kind, "ffi.MapForwardIterFunctor");
  CHECK(size(map).as_or_throw<int64_t>() ==
        static_cast<int64_t>(rest.order.size()));
  for (uint64_t i = 0; i < n + n / 2 + 3; ++i) {
    Any key = make_key(kind, i);
    bool has = rest.at.count(i) != 0;
    CHECK(count(map, key).as_or_throw<int64_t>() == has);
    if (has) CHECK(get(map, key).as_or_throw<int64_t>() == int64_t(i));
  }
}

// A Map that C++ made is read by the library, also by keys that are views.
void read_map(Kind kind, uint64_t n) {
  static const Function get = global("ffi.MapGetItem"),
                        missing = global("ffi.MapGetItemOrMissing");
  Map<Any, Any> map;
  Model model;
  Any none = global("ffi.GetInvalidObject")();
  for (uint64_t i = 0; i < n; ++i) {
    map.Set(make_key(kind, i), Any(static_cast<int64_t>(i)));
    model.set(i, static_cast<int64_t>(i), true);
  }
  compare_by_functor(map, model, kind, "ffi.MapForwardIterFunctor");
  for (uint64_t i = 0; i < n; ++i) {
    Any key = make_key(kind, i);
    CHECK(get(map, key).as_or_throw<int64_t>() == static_cast<int64_t>(i));
    if (auto text = key.as<String>())
      CHECK(get(map, text->c_str()).as_or_throw<int64_t>() ==
            static_cast<int64_t>(i));
  }
  for (uint64_t i = n; i < 2 * n + 5; ++i)
    CHECK(missing(map, make_key(kind, i)).same_as(none));
}

// Values are released as often as they were kept.
struct CountedObj : public Object {
  static int alive;
  CountedObj() { ++alive; }
  ~CountedObj() { --alive; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cxx.maps.Counted", CountedObj, Object);
};
int CountedObj::alive = 0;

void counted(uint64_t n) {
  Function set = global("ffi.DictSetItem"), erase = global("ffi.DictErase"),
           make = global("ffi.Dict");
  for (int side = 0; side < 4; ++side) {
    Dict<Any, Any> dict =
        side & 1 ? Dict<Any, Any>() : make().as_or_throw<Dict<Any, Any>>();
    for (uint64_t i = 0; i < n; ++i) {
      Any key(ObjectRef(make_object<CountedObj>()));
      Any value(ObjectRef(make_object<CountedObj>()));
      if ((i + side / 2) % 2)
        dict.Set(key, value);
      else
        set(dict, key, value);
      if (i % 3 == 0) {
        if (i % 2)
          erase(dict, key);
        else
          dict.erase(key);
      }
    }
    CHECK(CountedObj::alive == static_cast<int>(2 * dict.size()));
    Dict<Any, Any> copy(dict.begin(), dict.end());
    dict = Dict<Any, Any>();
    CHECK(CountedObj::alive == static_cast<int>(2 * copy.size()));
    copy.clear();
    CHECK(CountedObj::alive == 0);
  }
}

// The layout right after each growth, as far as the headers fix it.
void layouts() {
  Function set = global("ffi.DictSetItem"), make = global("ffi.Dict");
  Dict<Any, Any> dict = make().as_or_throw<Dict<Any, Any>>(), mine;
  CHECK(layout(dict)->slots == layout(mine)->slots);
  CHECK(layout(dict)->data == reinterpret_cast<const char*>(dict.get()) + 56);
  for (int64_t i = 0; i < 5; ++i) {
    set(dict, i, i);
    mine.Set(i, i);
    CHECK(layout(dict)->slots == layout(mine)->slots);
    CHECK(layout(dict)->size == layout(mine)->size);
  }
  CHECK(is_table(dict) && layout(dict)->fib_shift == 61);
  CHECK(layout(dict)->deleter != nullptr);
}

// Sets a dict as a value and as a key of itself, and takes it out again.
void self_insertion() {
  Function set = global("ffi.DictSetItem"), erase = global("ffi.DictErase");
  for (int n = 0; n < 7; ++n) {
    Dict<Any, Any> dict;
    for (int i = 0; i < n; ++i) dict.Set(i, i);
    set(dict, dict, 1);
    set(dict, "itself", dict);
    CHECK(dict.size() == static_cast<size_t>(n) + 2);
    CHECK(dict.at(Any(dict)).as_or_throw<int64_t>() == 1);
    erase(dict, "itself");
    erase(dict, dict);
    CHECK(dict.use_count() == 1 && dict.size() == static_cast<size_t>(n));
  }
}

}  // namespace

int main() {
  layouts();
  report("layout at each growth");
  for (int kind = 0; kind < kNumKinds; ++kind) {
    std::string name = kind_name[kind];
    for (int mine : {0, 1, 2, 3, 4}) {
      for (uint64_t keys = 1; keys <= 12; ++keys)
        random_dict(static_cast<Kind>(kind), mine, keys, 400);
      random_dict(static_cast<Kind>(kind), mine, 100, 6000);
      random_dict(static_cast<Kind>(kind), mine, 5000, 40000);
    }
    report("dicts changed by both: " + name);
    for (uint64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 20000})
      made_map(static_cast<Kind>(kind), n);
    report("maps made by the library: " + name);
    for (uint64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 20000})
      read_map(static_cast<Kind>(kind), n);
    report("maps made by C++: " + name);
  }
  for (int mine : {0, 2, 4}) random_dict(kInts, mine, 100000, 300000);
  for (int mine : {0, 2, 4}) random_dict(kMixed, mine, 100000, 300000);
  report("100,000 keys");
  for (uint64_t n : {1, 3, 4, 5, 30, 3000}) counted(n);
  report("objects as keys and values");
  self_insertion();
  report("a dict within itself");
  std::printf("1..%d\n", number);
  return failures != 0;
}
