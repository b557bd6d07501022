// Structural equality, hash, keys, walks and mutations of a small language.
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/extra/structural_key.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/function.h>

#include <unordered_map>

#include "ir.hpp"
#include "tap.hpp"

using namespace tvm::ffi;
using ir::Func;
using ir::FuncObj;
using ir::Sum;
using ir::SumObj;
using ir::Var;
using ir::VarObj;

namespace {

const bool registered = (ir::register_types(), true);

std::string text(const Any &value) { return std::string(ReprPrint(value)); }

std::string mismatch(const Any &a, const Any &b, bool free = false) {
  auto pair = StructuralEqual::GetFirstMismatch(a, b, free);
  if (!pair.has_value()) return "equal";
  return text((*pair).get<0>()) + " and " + text((*pair).get<1>());
}

struct Malloc {
  void AllocData(DLTensor *t) { t->data = std::malloc(GetDataSize(*t)); }
  void FreeData(DLTensor *t) { std::free(t->data); }
};

Tensor floats(std::initializer_list<float> items) {
  auto t =
      Tensor::FromNDAlloc(Malloc(), {static_cast<int64_t>(items.size())},
                          DLDataType{kDLFloat, 32, 1}, DLDevice{kDLCPU, 0});
  std::copy(items.begin(), items.end(), static_cast<float *>(t.data_ptr()));
  return t;
}

}  // namespace

TEST(equality) {
  OK(registered);
  Var x("x"), y("y");
  OK(StructuralEqual()(ir::add("a", 1), ir::add("b", 1, "a remark")));
  OK(!StructuralEqual()(ir::add("a", 1), ir::add("b", 2)));
  OK(!StructuralEqual::Equal(x, y));
  OK(StructuralEqual::Equal(x, y, true));
  OK(StructuralEqual::Equal(Sum({x, y}), Sum({y, x}), true));
  OK(!StructuralEqual::Equal(Sum({x, x}), Sum({x, y}), true));
  OK(StructuralEqual::Equal(floats({1, 2}), floats({1, 2})));
  OK(!StructuralEqual::Equal(floats({1, 2}), floats({1, 3})));
  OK(StructuralEqual::Equal(floats({1, 2}), floats({1, 3}), false, true));
  OK(StructuralEqual::Equal(Map<Any, Any>{{"a", x}}, Map<Any, Any>{{"a", x}}));
  NOTE(mismatch(ir::add("a", 1), ir::add("b", 1)));
  NOTE(mismatch(ir::add("a", 1), ir::add("b", 2)));
  NOTE(mismatch(Array<Any>{1, Array<Any>{2}}, Array<Any>{1, Array<Any>{2, 3}}));
  NOTE(mismatch(Map<Any, Any>{{"a", 1}}, Map<Any, Any>{{"a", "b"}}));
  NOTE(mismatch(Map<Any, Any>{{"a", 1}}, Map<Any, Any>{{"b", 1}}));
  NOTE(mismatch(x, y));
  NOTE(mismatch(x, y, true));
  NOTE(mismatch(Func({x}, Sum({x, y})), Func({y}, Sum({y, y}))));
}

TEST(hash) {
  EQ(StructuralHash()(ir::add("a", 1)), StructuralHash()(ir::add("b", 1, "c")));
  for (const Any &value : {Any(1), Any("text"), Any(ir::add("a", 1)),
                           Any(Array<Any>{1, 2}), Any(floats({1, 2}))}) {
    NOTE(StructuralHash()(value));
    NOTE(StructuralHash::Hash(value, true));
    NOTE(StructuralHash::Hash(value, false, true));
  }
  Var x("x");
  EQ(StructuralHash::Hash(x, true), StructuralHash::Hash(Var("y"), true));
}

TEST(keys) {
  StructuralKey a(ir::add("a", 1)), b(ir::add("b", 1)), c(ir::add("a", 2));
  OK(a == b && a != c);
  NOTE(a->hash_i64);
  std::unordered_map<StructuralKey, int> table{{a, 1}, {c, 2}};
  EQ(table.at(b), 1);
  Map<StructuralKey, int> map{{a, 1}, {c, 2}};
  EQ(map.at(b), 1);
  EQ(map.size(), 2u);
  OK(map.count(StructuralKey(ir::add("z", 3))) == 0);
  Any made = Function::GetGlobalRequired("ffi.StructuralKey")(ir::add("q", 1));
  OK(made.cast<StructuralKey>() == a);
  OK(AnyEqual()(made, a));
  EQ(AnyHash()(made), AnyHash()(a));
}

TEST(walks) {
  Func f = ir::add("x", Sum({Var("free"), 3, Array<Any>{Var("deep"), 4}}));
  std::string seen;
  auto on_var = [&](const Var &v, TVMFFIDefRegionKind kind) {
    seen += std::string(v->name) + std::to_string(int(kind)) + " ";
    return Expected<WalkResult>(WalkResult::Advance());
  };
  auto on_int = [&](int64_t i) {
    seen += std::to_string(i) + " ";
    return Expected<WalkResult>(WalkResult::Advance());
  };
  OK(!StructuralWalk<WalkOrder::kPreOrder>(f, on_var, on_int).has_value());
  NOTE(seen);
  seen.clear();
  auto on_sum = [&](const Sum &s) {
    seen += "sum" + std::to_string(s->terms.size()) + " ";
    return Expected<WalkResult>(WalkResult::Advance());
  };
  StructuralWalk<WalkOrder::kPostOrder>(f, on_var, on_int, on_sum);
  NOTE(seen);
  auto stop = StructuralWalk<WalkOrder::kPreOrder>(f, [](int64_t i) {
    return Expected<WalkResult>(WalkResult::Interrupt(VisitInterrupt(i)));
  });
  OK(stop.has_value());
  EQ((*stop)->value.cast<int>(), 3);
  seen.clear();
  StructuralWalk<WalkOrder::kPreOrder>(f, on_int, [](const Array<Any> &) {
    return Expected<WalkResult>(WalkResult::Skip());
  });
  NOTE(seen);
}

TEST(visits) {
  Func f = ir::add("x", Sum({Var("free"), 3}));
  int depth = 0, deepest = 0;
  auto result =
      StructuralVisit(f, [&](const Sum &s, StructuralVisitorObj *visitor) {
        deepest = std::max(deepest, ++depth);
        auto inner = visitor->DefaultVisitExpected(s);
        --depth;
        return inner;
      });
  OK(!result.has_value());
  EQ(deepest, 2);
}

TEST(visit_errors) {
  Var bad("bad");
  Func f = ir::add("x", Sum({1, bad}));
  try {
    StructuralWalk<WalkOrder::kPreOrder>(f, [&](const Var &v) {
      if (v.same_as(bad)) TVM_FFI_THROW(ValueError) << "a bad variable";
      return Expected<WalkResult>(WalkResult::Advance());
    });
    OK(!"an exception is thrown");
  } catch (const Error &e) {
    EQ(e.message(), "a bad variable");
    auto context = VisitErrorContext::TryGetFromError(e);
    OK(context.has_value());
    NOTE((*context)->reverse_visit_pattern.size());
    auto paths = VisitErrorContext::FindAccessPaths(f, *context);
    NOTE(text(paths));
    paths = VisitErrorContext::FindAccessPaths(ir::add("y", 1), *context, true);
    NOTE(text(paths));
  }
  auto context = make_object<VisitErrorContextObj>();
  context->reverse_visit_pattern = List<ObjectRef>{bad, f};
  VisitErrorContext pattern(context);
  NOTE(text(VisitErrorContext::FindAccessPaths(f, pattern)));
  NOTE(text(VisitErrorContext::FindAccessPaths(Sum({f, 1, f}), pattern)));
  NOTE(text(VisitErrorContext::FindAccessPaths(
      Sum({1, Map<Any, Any>{{"key", f}}}), pattern)));
  context->reverse_visit_pattern = List<ObjectRef>{Var("none"), f};
  NOTE(text(VisitErrorContext::FindAccessPaths(f, pattern)));
  NOTE(text(VisitErrorContext::FindAccessPaths(f, pattern, true)));
}

namespace {
void visit(const ObjectRef &node) {
  TVM_FFI_VISIT_BEGIN();
  if (auto sum = node.as<Sum>()) {
    for (const Any &term : (*sum)->terms)
      if (auto inner = term.as<ObjectRef>()) visit(*inner);
  } else if (auto f = node.as<Func>()) {
    visit((*f)->body.cast<ObjectRef>());
  } else if (auto v = node.as<Var>()) {
    if ((*v)->name == "bad") TVM_FFI_VISIT_THROW(KeyError, node) << "bad";
  }
  TVM_FFI_VISIT_END(node);
}
}  // namespace

TEST(visit_macros) {
  Func f = ir::add("x", Sum({1, Sum({2, Var("bad")})}));
  try {
    visit(f);
    OK(!"an exception is thrown");
  } catch (const Error &e) {
    EQ(e.kind(), "KeyError");
    auto context = *VisitErrorContext::TryGetFromError(e);
    EQ(text(VisitErrorContext::FindAccessPaths(f, context)),
       "(<root>.body.terms[1].terms[1].terms[1],)");
  }
}

TEST(maps) {
  Func f = ir::add("x", Sum({Var("free"), 3, Array<Any>{4}}));
  auto twice = [](int64_t i) -> Expected<Any> { return Any(2 * i); };
  Any mapped = StructuralMap<WalkOrder::kPreOrder>(f, twice);
  NOTE(text(mapped));
  OK(!mapped.same_as(f));
  EQ(text(f->body.cast<Sum>()->terms[1].cast<Sum>()->terms[1]), "3");
  mapped = StructuralMap<WalkOrder::kPostOrder>(
      f, [](const Sum &s) -> Expected<Any> {
        return s->terms.size() == 3 ? s->terms[2] : Any(s);
      });
  NOTE(text(mapped));
  Any same = StructuralMap<WalkOrder::kPostOrder>(
      f, [](double) -> Expected<Any> { return Any(0); });
  OK(same.same_as(f));
  THROWS("ValueError: not this",
         StructuralMap<WalkOrder::kPreOrder>(f, [](int64_t) -> Expected<Any> {
           TVM_FFI_THROW(ValueError) << "not this";
           return Any();
         }));
}

TEST(mutations) {
  Func f = ir::add("x", Sum({Var("free"), 3}));
  Any result = StructuralMutate(
      f,
      [](const Var &v,
         StructuralMutatorObj *mutator) -> Expected<UnchangedOr<Any>> {
        if (mutator->def_region_kind() != kTVMFFIDefRegionKindNone) {
          Var fresh(v->name + "_new");
          auto set = mutator->VarRemapSetExpected(v, fresh);
          if (set.is_err()) return Unexpected(set.error());
          return UnchangedOr<Any>(Any(fresh));
        }
        auto got = mutator->VarRemapGetExpected(v);
        if (got.is_err()) return Unexpected(got.error());
        Any value = std::move(got).value();
        if (value == nullptr) return UnchangedOr<Any>(Unchanged());
        return UnchangedOr<Any>(value);
      });
  NOTE(text(result));
  Func g = result.cast<Func>();
  OK(g->body.cast<Sum>()->terms[0].same_as(g->params[0]));
  OK(StructuralEqual::Equal(f->body.cast<Sum>()->terms[1],
                            g->body.cast<Sum>()->terms[1]));
}

TAP_MAIN()
