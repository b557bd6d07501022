/* A compiler's IR: nodes with fields, equality up to the names of variables, a
   hash that agrees, a walk, a rewrite, and JSON.

       cc -I. examples/18_ir.c -lpthread && ./a.out */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdbool.h>
#include <stdio.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

typedef struct {
  TVMFFIObject base;
} Expr;
typedef struct {
  Expr base;
  int64_t value;
} Const;
typedef struct {
  Expr base;
  TVMFFIAny name;
} Var;
typedef struct {
  Expr base;
  Expr *lhs, *rhs;
} Add;
typedef struct {
  Expr base;
  Expr *value;
  Var *var;
  Expr *body;
} Let;
typedef struct {
  TVMFFIObject base;
  TVMFFIObject *params;
  Expr *body;
} Function;

/* A kind of comparison is not inherited, so each type names its own. Fields are
   compared in this order, and a definition binds a variable in the fields after
   it: in a Let, the value does not see the variable. */
#define TREE (structural, kTVMFFISEqHashKindTreeNode)
TVMFFI_TYPE(Expr, "ir.Expr", TVMFFIObject, TREE)
TVMFFI_TYPE(Const, "ir.Const", Expr, TREE, (field, int64, value))
TVMFFI_TYPE(Var, "ir.Var", Expr, (structural, kTVMFFISEqHashKindFreeVar),
            (field, str, name), (flags, kTVMFFIFieldFlagBitMaskSEqHashIgnore))
TVMFFI_TYPE(Add, "ir.Add", Expr, TREE, (field, Expr, lhs), (field, Expr, rhs))
TVMFFI_TYPE(Let, "ir.Let", Expr, TREE, (field, Expr, value), (field, Var, var),
            (flags, kTVMFFIFieldFlagBitMaskSEqHashDefSimple),
            (field, Expr, body))
TVMFFI_TYPE(Function, "ir.Function", TVMFFIObject, TREE,
            (field, array(Var), params),
            (flags, kTVMFFIFieldFlagBitMaskSEqHashDefSimple),
            (field, Expr, body))

/* Makes: function (x) { let t = x + (2 + 3) in t + x } */
TVMFFI_FUNC(sample, Function, (str, x_name), (str, t_name)) {
  Var *x = TVMFFI_NEW(Var, x_name), *t = TVMFFI_NEW(Var, t_name);
  Add *five = TVMFFI_NEW(Add, TVMFFI_NEW(Const, 2), TVMFFI_NEW(Const, 3));
  Add *value = TVMFFI_NEW(Add, x, five);
  Let *body = TVMFFI_NEW(Let, value, t, TVMFFI_NEW(Add, t, x));
  TVMFFI_RETURN(TVMFFI_NEW(Function, tvmffi_array(x), body));
}

TVMFFI_CLOSURE(count, int64_t, none, (Expr, node)) {
  *self += node != NULL;
  TVMFFI_RETURN();
}

/* Replaces a sum of two constants. */
TVMFFI_FUNC(fold, Expr, (Add, add)) {
  Const *a = TVMFFI_CAST(Const, add->lhs), *b = TVMFFI_CAST(Const, add->rhs);
  if (!a || !b) TVMFFI_RETURN(add); /* an Add is an Expr */
  TVMFFI_RETURN(TVMFFI_NEW(Const, a->value + b->value));
}

TVMFFI_MAIN() {
  TVMFFIObject *f, *same, *g, *again, *counter, *folder, *callbacks;
  TVMFFIObject *empty = tvmffi_array();
  TVMFFIAny text;
  int64_t nodes = 0, hash, other;
  bool eq;
  TVMFFI_TRY(TVMFFI_REGISTER("ir.sample", sample));
  TVMFFI_TRY(tvmffi_call("ir.sample", &f, "x", "t"));
  TVMFFI_TRY(tvmffi_call("ir.sample", &same, "a", "b")); /* other names */
  TVMFFI_TRY(tvmffi_print(stdout, f));
  TVMFFI_TRY(tvmffi_call("ffi.StructuralEqual", &eq, f, same, false, false));
  TVMFFI_TRY(tvmffi_call("ffi.StructuralHash", &hash, f, false, false));
  TVMFFI_TRY(tvmffi_call("ffi.StructuralHash", &other, same, false, false));
  CHECK(eq && hash == other);

  /* A walk is given pairs of a type index and a function, which is called for
     objects of this type and of types derived from it. The last argument is the
     order: 0 visits a parent before its children, 1 after them. */
  TVMFFI_TRY(TVMFFI_CLOSURE_NEW(count, &nodes, NULL, &counter));
  callbacks = tvmffi_array(tvmffi_array(TVMFFI_TYPE_INDEX(Expr), counter));
  TVMFFI_TRY(tvmffi_call("ffi.StructuralWalk", NULL, f, callbacks, empty, 0));
  CHECK(nodes == 11);

  TVMFFI_TRY(TVMFFI_FUNCTION_NEW(fold, &folder));
  callbacks = tvmffi_array(tvmffi_array(TVMFFI_TYPE_INDEX(Add), folder));
  TVMFFI_TRY(tvmffi_call("ffi.StructuralMap", &g, f, callbacks, empty, 1));
  TVMFFI_TRY(tvmffi_print(stdout, g));
  TVMFFI_TRY(tvmffi_call("ffi.StructuralEqual", &eq, f, g, false, false));
  CHECK(!eq);

  TVMFFI_TRY(tvmffi_call("ffi.ToJSONGraphString", &text, g, tvmffi_none()));
  TVMFFI_TRY(tvmffi_call("ffi.FromJSONGraphString", &again, text));
  TVMFFI_TRY(tvmffi_call("ffi.StructuralEqual", &eq, g, again, false, false));
  CHECK(eq);
  return 0;
}
