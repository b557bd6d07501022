/* A compiler's IR: nodes with fields, equality up to the names of variables, a
   hash that agrees, a walk, a rewrite, and JSON.

       cc -I. examples/18_ir.c -lpthread && ./a.out */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdbool.h>
#include <stdio.h>

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
TVMFFI_TYPE(Expr, "ir.Expr", TVMFFIObject,
            (structural, kTVMFFISEqHashKindTreeNode))
TVMFFI_TYPE(Const, "ir.Const", Expr, (structural, kTVMFFISEqHashKindTreeNode),
            (field, int64, value))
TVMFFI_TYPE(Var, "ir.Var", Expr, (structural, kTVMFFISEqHashKindFreeVar),
            (field, str, name), (flags, kTVMFFIFieldFlagBitMaskSEqHashIgnore))
TVMFFI_TYPE(Add, "ir.Add", Expr, (structural, kTVMFFISEqHashKindTreeNode),
            (field, Expr, lhs), (field, Expr, rhs))
TVMFFI_TYPE(Let, "ir.Let", Expr, (structural, kTVMFFISEqHashKindTreeNode),
            (field, Expr, value), (field, Var, var),
            (flags, kTVMFFIFieldFlagBitMaskSEqHashDefSimple),
            (field, Expr, body))
TVMFFI_TYPE(Function, "ir.Function", TVMFFIObject,
            (structural, kTVMFFISEqHashKindTreeNode),
            (field, array(Var), params),
            (flags, kTVMFFIFieldFlagBitMaskSEqHashDefSimple),
            (field, Expr, body))

/* Makes: function (x) { let t = x + (2 + 3) in t + x } */
TVMFFI_FUNC(sample, Function, (str, x_name), (str, t_name)) {
  TVMFFI_SCOPE {
    Var *x, *t;
    Const *two, *three;
    Add *five, *value, *sum;
    Let *let;
    Function *f;
    TVMFFIObject *params;
    TVMFFI_TRY(tvmffi_new(Var, &x, x_name));
    TVMFFI_TRY(tvmffi_new(Var, &t, t_name));
    TVMFFI_TRY(tvmffi_new(Const, &two, 2));
    TVMFFI_TRY(tvmffi_new(Const, &three, 3));
    TVMFFI_TRY(tvmffi_new(Add, &five, tvmffi_obj(two), tvmffi_obj(three)));
    TVMFFI_TRY(tvmffi_new(Add, &value, tvmffi_obj(x), tvmffi_obj(five)));
    TVMFFI_TRY(tvmffi_new(Add, &sum, tvmffi_obj(t), tvmffi_obj(x)));
    TVMFFI_TRY(tvmffi_new(Let, &let, tvmffi_obj(value), tvmffi_obj(t),
                          tvmffi_obj(sum)));
    params = tvmffi_array(tvmffi_obj(x));
    TVMFFI_TRY(tvmffi_new(Function, &f, params, tvmffi_obj(let)));
    TVMFFI_RETURN(f);
  }
  return -1; /* not reached; without it, GCC warns at -O0 */
}

/* The callbacks of a walk are pairs of a type index and a function. A pair
   matches objects of the type and of types derived from it. */
TVMFFI_CLOSURE(count, int64_t, none, (Expr, node)) {
  (void)node;
  ++*self;
  TVMFFI_RETURN();
}

static int count_nodes(Function *f, int64_t *n) {
  *n = 0;
  TVMFFI_SCOPE {
    TVMFFIObject *counter;
    TVMFFI_TRY(tvmffi_closure_new(count, n, NULL, &counter));
    TVMFFI_TRY(tvmffi_call("ffi.StructuralWalk", NULL, tvmffi_obj(f),
                           tvmffi_array(tvmffi_array(tvmffi_type_index(Expr),
                                                     counter)),
                           tvmffi_array(), 0)); /* 0: parents first */
  }
  return 0;
}

/* Replaces a sum of two constants. */
TVMFFI_FUNC(fold_add, Expr, (Add, add)) {
  Const *a = TVMFFI_CAST(Const, add->lhs), *b = TVMFFI_CAST(Const, add->rhs);
  Const *c;
  if (!a || !b) {
    tvmffi_retain(add);
    TVMFFI_RETURN(&add->base);
  }
  TVMFFI_TRY(tvmffi_new(Const, &c, a->value + b->value));
  TVMFFI_RETURN(&c->base);
}

static int run(void) {
  TVMFFI_SCOPE {
    TVMFFIObject *f, *same, *folded, *again, *folder;
    TVMFFIAny text;
    int64_t nodes, hash, other;
    bool equal;
    TVMFFI_TRY(tvmffi_register("ir.sample", sample));
    TVMFFI_TRY(tvmffi_call("ir.sample", &f, "x", "t"));
    TVMFFI_TRY(tvmffi_call("ir.sample", &same, "a", "b"));
    TVMFFI_TRY(tvmffi_print(stdout, f));

    /* The two differ in the names of variables. */
    TVMFFI_TRY(
        tvmffi_call("ffi.StructuralEqual", &equal, f, same, false, false));
    TVMFFI_TRY(tvmffi_call("ffi.StructuralHash", &hash, f, false, false));
    TVMFFI_TRY(tvmffi_call("ffi.StructuralHash", &other, same, false, false));
    if (!equal || hash != other)
      return TVMFFI_RAISE("AssertionError", "the functions are not equal");

    TVMFFI_TRY(count_nodes(TVMFFI_CAST(Function, f), &nodes));
    if (nodes != 11)
      return TVMFFI_RAISE("AssertionError", "%d nodes", (int)nodes);

    TVMFFI_TRY(tvmffi_function_new(fold_add, &folder));
    TVMFFI_TRY(tvmffi_call("ffi.StructuralMap", &folded, f,
                           tvmffi_array(tvmffi_array(tvmffi_type_index(Add),
                                                     folder)),
                           tvmffi_array(), 1)); /* 1: children first */
    TVMFFI_TRY(tvmffi_print(stdout, folded));
    TVMFFI_TRY(
        tvmffi_call("ffi.StructuralEqual", &equal, f, folded, false, false));
    if (equal) return TVMFFI_RAISE("AssertionError", "nothing is folded");

    TVMFFI_TRY(
        tvmffi_call("ffi.ToJSONGraphString", &text, folded, tvmffi_none()));
    TVMFFI_TRY(tvmffi_call("ffi.FromJSONGraphString", &again, text));
    TVMFFI_TRY(tvmffi_call("ffi.StructuralEqual", &equal, folded, again, false,
                           false));
    if (!equal) return TVMFFI_RAISE("AssertionError", "JSON loses something");
  }
  return 0;
}

int main(void) {
  if (!run()) return 0;
  tvmffi_error_print(stderr);
  return 1;
}
