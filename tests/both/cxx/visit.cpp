// Structural visits and mutations both ways: the engines of the headers go into
// the library's containers by its hooks, and the library's engines go into
// objects of C++ by theirs.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/rvalue_ref.h>

#include <string>

#include "tap.hpp"

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

namespace {

// A node with fields, which are found by reflection.
struct PairObj : Object {
  Any a, b;
  int64_t unseen = 0;
  PairObj() = default;
  PairObj(Any a, Any b) : a(std::move(a)), b(std::move(b)) {}
  static constexpr bool _type_mutable = true;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind =
      kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO("test.visit.Pair", PairObj, Object);
};

// A variable, with a type.
struct VarObj : Object {
  Any type;
  VarObj() = default;
  explicit VarObj(Any type) : type(std::move(type)) {}
  static constexpr bool _type_mutable = true;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind =
      kTVMFFISEqHashKindFreeVar;
  TVM_FFI_DECLARE_OBJECT_INFO("test.visit.Var", VarObj, Object);
};

// A definition of variables: simply, or as a pattern.
struct LetObj : Object {
  Any simple, pattern, body;
  LetObj() = default;
  LetObj(Any simple, Any pattern, Any body)
      : simple(std::move(simple)),
        pattern(std::move(pattern)),
        body(std::move(body)) {}
  static constexpr bool _type_mutable = true;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind =
      kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO("test.visit.Let", LetObj, Object);
};

// A node with native hooks, which see `item` and not `hidden`.
struct HookObj : Object {
  Any item, hidden;
  HookObj() = default;
  HookObj(Any item, Any hidden)
      : item(std::move(item)), hidden(std::move(hidden)) {}
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.visit.Hook", HookObj, Object);
};

// A node with a field that cannot be set.
struct FixedObj : Object {
  Any value;
  FixedObj() = default;
  explicit FixedObj(Any value) : value(std::move(value)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind =
      kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO("test.visit.Fixed", FixedObj, Object);
};

template <typename T, typename... Args>
ObjectRef make(Args &&...args) {
  return ObjectRef(make_object<T>(std::forward<Args>(args)...));
}
Any pair(Any a, Any b) { return make<PairObj>(a, b); }

int hook_calls = 0;

Expected<Optional<VisitInterrupt>> VisitHook(StructuralVisitorObj *visitor,
                                             AnyView value) noexcept {
  const HookObj *self = value.as<HookObj>();
  ++hook_calls;
  if (self->hidden.type_index() == TypeIndex::kTVMFFIBool)
    return Unexpected(Error("ValueError", "the hook refuses", ""));
  if (self->hidden.type_index() == TypeIndex::kTVMFFIInt)
    return visitor->DefaultVisitExpected(self->item);
  return visitor->WithDefRegionKind(kTVMFFIDefRegionKindSimple, [&] {
    return visitor->VisitExpected(self->item);
  });
}

Expected<UnchangedOr<Any>> MutateHook(StructuralMutatorObj *mutator,
                                      AnyView value) noexcept {
  const HookObj *self = value.as<HookObj>();
  ++hook_calls;
  if (self->hidden.type_index() == TypeIndex::kTVMFFIBool)
    return Unexpected(Error("ValueError", "the hook refuses", ""));
  TVM_FFI_S_MUTATE_ASSIGN_OR_RETURN(UnchangedOr<Any>, item,
                                    mutator->MutateExpected(self->item));
  if (item.UnchangedOrSameAs(self->item)) return Unchanged();
  return UnchangedOr<Any>(Any(
      make<HookObj>(std::move(item).ValueOrUnchanged(self->item), nullptr)));
}

Expected<UnchangedOr<Any>> MutateHookInPlace(StructuralMutatorObj *mutator,
                                             AnyView value) noexcept {
  HookObj *self = const_cast<HookObj *>(value.as<HookObj>());
  hook_calls += 100;
  TVM_FFI_S_MUTATE_ASSIGN_OR_RETURN(
      UnchangedOr<Any>, item,
      mutator->MutateExpected(self->item, InplaceMode::kAllow));
  self->item = std::move(item).ValueOrUnchanged(std::move(self->item));
  return Unchanged();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<PairObj>()
      .def_rw("a", &PairObj::a)
      .def_rw("b", &PairObj::b)
      .def_rw("unseen", &PairObj::unseen,
              refl::AttachFieldFlag::SEqHashIgnore());
  refl::ObjectDef<VarObj>().def_rw("type", &VarObj::type);
  refl::ObjectDef<LetObj>()
      .def_rw("simple", &LetObj::simple,
              refl::AttachFieldFlag::SEqHashDefSimple())
      .def_rw("pattern", &LetObj::pattern,
              refl::AttachFieldFlag::SEqHashDefPattern())
      .def_rw("body", &LetObj::body);
  refl::ObjectDef<HookObj>().def_rw("item", &HookObj::item);
  refl::TypeAttrDef<HookObj>()
      .native_fn_attr<&VisitHook>(type_attr::kStructuralVisit)
      .native_fn_attr<&MutateHook>(type_attr::kStructuralMutate)
      .native_fn_attr<&MutateHookInPlace>(
          type_attr::kStructuralMaybeInplaceMutate);
  refl::ObjectDef<FixedObj>().def_ro("value", &FixedObj::value);
}

// A value as text.
std::string show(AnyView v) {
  std::string s;
  auto seq = [&](auto &&items, const char *name) {
    s = name;
    for (const Any &item : items) s += " " + show(item);
    return "(" + s + ")";
  };
  auto map = [&](auto &&items, const char *name) {
    s = name;
    for (const auto &kv : items)
      s += " " + show(kv.first) + ":" + show(kv.second);
    return "(" + s + ")";
  };
  if (v.type_index() == TypeIndex::kTVMFFINone) return "none";
  if (auto i = v.as<int64_t>()) return std::to_string(*i);
  if (auto t = v.as<String>()) return std::string(*t);
  if (auto x = v.as<Array<Any>>()) return seq(*x, "array");
  if (auto x = v.as<List<Any>>()) return seq(*x, "list");
  if (auto x = v.as<Map<Any, Any>>()) return map(*x, "map");
  if (auto x = v.as<Dict<Any, Any>>()) return map(*x, "dict");
  if (auto *x = v.as<PairObj>())
    return "(pair " + show(x->a) + " " + show(x->b) + ")";
  if (auto *x = v.as<VarObj>()) return "(var " + show(x->type) + ")";
  if (auto *x = v.as<LetObj>())
    return "(let " + show(x->simple) + " " + show(x->pattern) + " " +
           show(x->body) + ")";
  if (auto *x = v.as<HookObj>()) return "(hook " + show(x->item) + ")";
  if (auto *x = v.as<FixedObj>()) return "(fixed " + show(x->value) + ")";
  return v.GetTypeKey();
}

Any sample() {
  Map<Any, Any> big;
  Dict<Any, Any> small;
  for (int64_t i = 0; i < 9; ++i) big.Set(i, i * 10);
  small.Set("x", pair(1, 2));
  return Array<Any>{1,
                    "two",
                    List<Any>{3, pair(4, Array<Any>{5})},
                    big,
                    small,
                    make<HookObj>(Array<Any>{6, 7}, nullptr),
                    make<HookObj>(Array<Any>{8}, 1),
                    nullptr};
}

using Entry = Tuple<int32_t, Function>;
int32_t kAny = -1;

Function global(const char *name) { return Function::GetGlobalRequired(name); }

// The error of a call, with the places that it came through.
template <typename F>
std::string error_of(const Any &root, F call) {
  try {
    call();
  } catch (const Error &e) {
    std::string text = e.kind() + ": " + e.message();
    Optional<VisitErrorContext> context = VisitErrorContext::TryGetFromError(e);
    if (!context) return text + ", no context";
    for (const ObjectRef &o : context.value()->reverse_visit_pattern)
      text += ", " + show(o);
    auto paths = global("ffi.VisitErrorContext.FindAccessPaths")(
                     root, context.value(), false)
                     .cast<Array<reflection::AccessPath>>();
    for (const reflection::AccessPath &path : paths) {
      text += ", at";
      for (const reflection::AccessStep &step : path->ToSteps())
        text += " " + show(step->key);
    }
    return text;
  }
  return "no error";
}

TEST(walks_of_the_headers) {
  Any root = sample();
  for (int order = 0; order < 2; ++order) {
    std::string seen;
    auto note = [&](AnyView v) -> Expected<WalkResult> {
      seen += show(v) + "; ";
      return WalkResult::Advance();
    };
    auto r = order ? StructuralWalk<WalkOrder::kPostOrder>(root, note)
                   : StructuralWalk<WalkOrder::kPreOrder>(root, note);
    OK(!r.has_value());
    NOTE(seen);
  }
}

TEST(walks_of_the_library) {
  Any root = sample();
  for (int order = 0; order < 2; ++order) {
    std::string seen;
    Function note = Function::FromTyped([&](AnyView v, int kind) {
      seen += show(v) + "@" + std::to_string(kind) + "; ";
    });
    hook_calls = 0;
    Any r = global("ffi.StructuralWalk")(
        root, Array<Entry>{}, Array<Entry>{Entry(kAny, note)}, order);
    OK(r == nullptr);
    OK(hook_calls == 2);
    NOTE(seen);
  }
}

TEST(walks_that_skip_or_stop) {
  Any root = sample();
  std::string seen;
  auto r = StructuralWalk<WalkOrder::kPreOrder>(
      root,
      [&](List<Any>) -> Expected<WalkResult> { return WalkResult::Skip(); },
      [&](int64_t v) -> Expected<WalkResult> {
        seen += std::to_string(v) + " ";
        if (v == 70) return WalkResult::Interrupt(VisitInterrupt(Any(v)));
        return WalkResult::Advance();
      });
  OK(r.has_value());
  OK(r.value()->value.cast<int64_t>() == 70);
  NOTE(seen);
  Function stop = Function::FromTyped([](int64_t v) -> Any {
    return v == 7 ? Any(VisitInterrupt(Any(v))) : Any();
  });
  Any x = global("ffi.StructuralWalk")(
      root, Array<Entry>{Entry(TypeIndex::kTVMFFIInt, stop)}, Array<Entry>{},
      1);
  OK(x.cast<VisitInterrupt>()->value.cast<int64_t>() == 7);
}

TEST(visits_that_own_the_descent) {
  Any root = sample();
  std::string seen;
  StructuralVisit(
      root,
      [&](const PairObj *p,
          StructuralVisitorObj *v) -> Expected<Optional<VisitInterrupt>> {
        seen += "pair ";
        return v->VisitExpected(p->b);
      },
      [&](int64_t i,
          StructuralVisitorObj *) -> Expected<Optional<VisitInterrupt>> {
        seen += std::to_string(i) + " ";
        return Optional<VisitInterrupt>(std::nullopt);
      });
  NOTE(seen);
}

TEST(regions) {
  ObjectRef var = make<VarObj>(make<VarObj>(nullptr));
  Any root = make<LetObj>(var, Array<Any>{var}, Array<Any>{var});
  std::string here, there;
  StructuralWalk<WalkOrder::kPreOrder>(
      root,
      [&](const VarObj *, TVMFFIDefRegionKind kind) -> Expected<WalkResult> {
        here += std::to_string(kind);
        return WalkResult::Advance();
      });
  Function note = Function::FromTyped(
      [&](AnyView, int kind) { there += std::to_string(kind); });
  global("ffi.StructuralWalk")(
      root, Array<Entry>{},
      Array<Entry>{Entry(VarObj::RuntimeTypeIndex(), note)}, 0);
  OK(here == there);
  NOTE(here);
}

TEST(maps_of_the_headers) {
  auto add = [](int64_t v) -> Expected<Any> { return Any(v + 100); };
  auto same = [](int64_t v) -> Expected<Any> { return Any(v); };
  Any root = sample();
  Any mapped = StructuralMap<WalkOrder::kPostOrder>(root, add);
  NOTE(show(mapped));
  OK(show(root) == show(sample()));
  OK(StructuralMap<WalkOrder::kPostOrder>(root, same).same_as(root));
  OK(StructuralMap<WalkOrder::kPreOrder>(root, same).same_as(root));
  const Object *before = root.as<Object>();
  hook_calls = 0;
  Any moved = StructuralMap<WalkOrder::kPostOrder>(std::move(root), add);
  OK(moved.as<Object>() == before);
  OK(show(moved) == show(mapped));
  OK(hook_calls == 200);
}

TEST(maps_of_the_library) {
  Function add = Function::FromTyped([](int64_t v) { return v + 100; });
  Array<Entry> entries{Entry(TypeIndex::kTVMFFIInt, add)};
  for (int order = 0; order < 2; ++order) {
    Any root = sample();
    Any mapped =
        global("ffi.StructuralMap")(root, entries, Array<Entry>{}, order);
    NOTE(show(mapped));
    OK(show(root) == show(sample()));
    const Object *before = root.as<Object>();
    hook_calls = 0;
    ObjectRef owned = std::move(root).cast<ObjectRef>();
    Any moved = global("ffi.StructuralMap")(
        RValueRef<ObjectRef>(std::move(owned)), entries, Array<Entry>{}, order);
    OK(show(moved) == show(mapped));
    NOTE(hook_calls);
    NOTE(moved.as<Object>() == before);
  }
}

TEST(variables) {
  ObjectRef var = make<VarObj>(1), free = make<VarObj>(2);
  Any root = make<LetObj>(var, nullptr, Array<Any>{var, free, var});
  auto add = [](int64_t v) -> Expected<Any> { return Any(v + 100); };
  Any here = StructuralMap<WalkOrder::kPostOrder>(root, add);
  Function f = Function::FromTyped([](int64_t v) { return v + 100; });
  Any there = global("ffi.StructuralMap")(
      root, Array<Entry>{Entry(TypeIndex::kTVMFFIInt, f)}, Array<Entry>{}, 1);
  NOTE(show(here));
  OK(show(there) == show(here));
  for (const Any &x : {here, there}) {
    const LetObj *let = x.as<LetObj>();
    Array<Any> body = let->body.cast<Array<Any>>();
    OK(body[0].same_as(let->simple) && body[2].same_as(let->simple));
    OK(body[1].same_as(Any(free)));
  }
}

// Callbacks of C++ that are called by the library with its own mutator.
TEST(mutators_of_the_library) {
  ObjectRef var = make<VarObj>(1);
  Any root = Array<Any>{var, pair(var, 3), var};
  Function on_var = Function::FromTyped(
      [](AnyView v, const StructuralMutator &m, int mode) -> Any {
        Any had = m->VarRemapGetExpected(v).value();
        if (had != nullptr) return had;
        Any made = make<VarObj>(mode + 50);
        m->VarRemapSetExpected(v, made).value();
        return made;
      });
  Function on_pair =
      Function::FromTyped([](AnyView v, const StructuralMutator &m) -> Any {
        Any a = m->Mutate(v.as<PairObj>()->a).ValueOrUnchanged(Any());
        Any d = m->DefaultMutateExpected(v).value().ValueOrUnchanged(v);
        return Array<Any>{a, d};
      });
  using Row = Tuple<int32_t, Function, bool>;
  Any r = global("ffi.StructuralMutate")(
      root, Array<Row>{Row(VarObj::RuntimeTypeIndex(), on_var, true),
                       Row(PairObj::RuntimeTypeIndex(), on_pair, false)});
  NOTE(show(r));
  Array<Any> items = r.cast<Array<Any>>();
  OK(items[0].same_as(items[2]));
  OK(show(root) == "(array (var 1) (pair (var 1) 3) (var 1))");
}

TEST(mutates_of_the_headers) {
  Any root = sample();
  std::string modes;
  auto on_pair = [&](const PairObj *p, StructuralMutatorObj *m,
                     InplaceMode mode) -> Expected<Any> {
    modes += mode == InplaceMode::kAllow ? "allow " : "disallow ";
    return Any(Array<Any>{m->Mutate(p->a).ValueOrUnchanged(p->a), "p"});
  };
  auto on_int = [](int64_t v, StructuralMutatorObj *) -> Expected<Any> {
    return Any(-v);
  };
  NOTE(show(StructuralMutate(root, on_pair, on_int)));
  NOTE(show(StructuralMutate(std::move(root), on_pair, on_int)));
  NOTE(modes);
}

TEST(errors_and_where) {
  Any root = pair(List<Any>{1, pair(Map<Any, Any>{{"k", pair(7, 8)}}, 2)},
                  make<HookObj>(Dict<Any, Any>{{5, pair(7, 9)}}, nullptr));
  auto bad = [](int64_t v) -> Expected<Any> {
    if (v == 8) TVM_FFI_THROW(IndexError) << "eight";
    return Any(v);
  };
  auto bad_walk = [](int64_t v) -> Expected<WalkResult> {
    if (v == 9) return Unexpected(Error("IndexError", "nine", ""));
    return WalkResult::Advance();
  };
  Function f = Function::FromTyped([](int64_t v) {
    if (v == 8) TVM_FFI_THROW(IndexError) << "eight";
    return v;
  });
  Function g = Function::FromTyped([](int64_t v) {
    if (v == 9) TVM_FFI_THROW(IndexError) << "nine";
  });
  Array<Entry> fs{Entry(TypeIndex::kTVMFFIInt, f)};
  Array<Entry> gs{Entry(TypeIndex::kTVMFFIInt, g)}, none;
  NOTE(error_of(root, [&] { StructuralMap<WalkOrder::kPreOrder>(root, bad); }));
  NOTE(
      error_of(root, [&] { StructuralMap<WalkOrder::kPostOrder>(root, bad); }));
  NOTE(error_of(root,
                [&] { StructuralWalk<WalkOrder::kPreOrder>(root, bad_walk); }));
  for (int order = 0; order < 2; ++order) {
    NOTE(error_of(root,
                  [&] { global("ffi.StructuralMap")(root, fs, none, order); }));
    NOTE(error_of(
        root, [&] { global("ffi.StructuralWalk")(root, gs, none, order); }));
  }
  Any hooked = Array<Any>{pair(make<HookObj>(1, true), 1)};
  Any fixed = pair(make<FixedObj>(1), 2);
  Function add = Function::FromTyped([](int64_t v) { return v + 1; });
  Array<Entry> as{Entry(TypeIndex::kTVMFFIInt, add)};
  NOTE(error_of(hooked,
                [&] { global("ffi.StructuralWalk")(hooked, gs, none, 1); }));
  NOTE(error_of(hooked,
                [&] { global("ffi.StructuralMap")(hooked, fs, none, 1); }));
  NOTE(error_of(fixed,
                [&] { global("ffi.StructuralMap")(fixed, as, none, 1); }));
}

// The library's default descent with a visitor or mutator of the headers.
TEST(defaults_with_what_the_headers_made) {
  std::string seen;
  Any root = pair(List<Any>{1, 2}, 3);
  StructuralVisit(
      root,
      [&](AnyView v,
          StructuralVisitorObj *visitor) -> Expected<Optional<VisitInterrupt>> {
        seen += show(v) + "; ";
        return global("ffi.StructuralVisitorDefaultVisit")(
                   GetRef<StructuralVisitor>(visitor), v)
            .cast<Optional<VisitInterrupt>>();
      });
  NOTE(seen);
  Any r = StructuralMutate(
      root, [&](AnyView v, StructuralMutatorObj *m) -> Expected<Any> {
        if (auto i = v.as<int64_t>()) return Any(*i + 100);
        return global("ffi.StructuralMutatorDefaultMutate")(
            GetRef<StructuralMutator>(m), v);
      });
  NOTE(show(r));
  OK(show(root) == "(pair (list 1 2) 3)");
}

TEST(deep_containers) {
  Any deep = 1;
  for (int i = 0; i < 4000; ++i) deep = Array<Any>{deep};
  int seen = 0;
  StructuralWalk<WalkOrder::kPostOrder>(deep,
                                        [&](AnyView) -> Expected<WalkResult> {
                                          ++seen;
                                          return WalkResult::Advance();
                                        });
  OK(seen == 4001);
  Any mapped = StructuralMap<WalkOrder::kPostOrder>(
      deep, [](int64_t v) -> Expected<Any> { return Any(v + 1); });
  for (int i = 0; i < 4000; ++i) mapped = Any(mapped.cast<Array<Any>>()[0]);
  OK(mapped.cast<int64_t>() == 2);
}

}  // namespace

TAP_MAIN()
