/* Scopes as users write them. The program counts its live function objects, and
   prints the first check that fails, or "ok". */
#include "tvmffi.h"

#include <stdio.h>

#define EXPECT(x) \
  TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

static int64_t num_live;
static void end_thing(void *self) {
  __atomic_fetch_sub((int64_t *)self, 1, __ATOMIC_SEQ_CST);
}
TVMFFI_CLOSURE(thing, int64_t, none) { TVMFFI_RETURN(); }

/* Hands out a thing, which belongs to the caller's scope. */
static TVMFFIObject *make(TVMFFI_HERE) {
  TVMFFIObject *o;
  __atomic_fetch_add(&num_live, 1, __ATOMIC_SEQ_CST);
  return TVMFFI_CLOSURE_NEW(thing, &num_live, end_thing, &o) ? NULL : o;
}
TVMFFI_FUNC(give, object, (int64, how)) {
  TVMFFIObject *o = make(tvmffi_here);
  if (!o) return -1;
  if (how == 1 && !make(tvmffi_here)) return -1; /* `o` is not the newest */
  if (how == 2) {
    tvmffi_retain(o); /* the scope owns it twice */
    if (!tvmffi_scope_attach(o)) return -1;
  }
#if TVMFFI_I_CLEANUP
  if (how == 3) {
    TVMFFI_SCOPE;
    TVMFFI_RETURN(o); /* the scope around owns it */
  }
#endif
  TVMFFI_RETURN(o);
}

static int call_all(TVMFFI_HERE, TVMFFIObject *f) {
  TVMFFIObject *o;
  int how;
  for (how = 0; how < 4; ++how) {
    TVMFFI_TRY(
        tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o), tvmffi_int(how)));
    EXPECT(tvmffi_scope_count(kTVMFFIAny) == how + 1 && num_live == how + 1);
  }
  return 0;
}

/* Every compiler has this. */
static int opened(TVMFFIObject *f) {
  tvmffi_scope scope;
  TVMFFI_HERE = tvmffi_scope_open(&scope);
  int code = call_all(tvmffi_here, f);
  tvmffi_scope_close(&scope);
  TVMFFI_TRY(code);
  EXPECT(num_live == 0);
  return 0;
}

#if TVMFFI_I_CLEANUP
static int helper(TVMFFIObject *f, int depth) {
  TVMFFI_SCOPE;
  TVMFFIObject *o;
  TVMFFI_TRY(
      tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o), tvmffi_int(depth % 4)));
  EXPECT(tvmffi_scope_count(kTVMFFIAny) == 1);
  return depth > 0 ? helper(f, depth - 1) : 0;
}

static int loops(TVMFFIObject *f) {
  int i;
  for (i = 0; i < 10; ++i) {
    TVMFFI_SCOPE;
    TVMFFIObject *o;
    TVMFFI_TRY(
        tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o), tvmffi_int(i % 4)));
    EXPECT(tvmffi_scope_count(kTVMFFIAny) == 1 && num_live == 1);
    if (i == 3) continue;
    if (i == 4) break; /* of the loop */
  }
  EXPECT(i == 4 && num_live == 0);
  return 0;
}

static int blocks(TVMFFIObject *f) {
  {
    TVMFFI_SCOPE;
    TVMFFIObject *a, *b;
    TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&a),
                           tvmffi_int(2)));
    TVMFFI_TRY(helper(f, 5));
    EXPECT(tvmffi_scope_count(kTVMFFIAny) == 1 && num_live == 1);
    {
      TVMFFI_SCOPE;
      TVMFFI_TRY(
          tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&b), tvmffi_int(1)));
      EXPECT(tvmffi_scope_to_parent(b) == b);
      TVMFFI_TRY(
          tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&b), tvmffi_int(1)));
      EXPECT(tvmffi_scope_count(kTVMFFIAny) == 3 && num_live == 3);
    }
    EXPECT(tvmffi_scope_count(kTVMFFIAny) == 2 && num_live == 2);
  }
  EXPECT(num_live == 0);
  return 0;
}

/* A reference that outlives its scope. */
static int keeps(TVMFFIObject *f) {
  TVMFFIObject *kept = NULL;
  int i;
  for (i = 0; i < 4; ++i) {
    TVMFFI_SCOPE;
    TVMFFIObject *o;
    TVMFFI_TRY(
        tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o), tvmffi_int(i)));
    tvmffi_keep(&kept, o);
  }
  EXPECT(num_live == 1);
  tvmffi_release(kept);
  EXPECT(num_live == 0);
  return 0;
}

/* Each thread has a scope of its own; the one around is not touched. */
static int parallel(TVMFFIObject *f) {
  {
    TVMFFI_SCOPE;
    TVMFFIObject *o;
    int i, num_bad = 0;
    TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o),
                           tvmffi_int(0)));
#ifdef _OPENMP
#pragma omp parallel for reduction(+ : num_bad)
#endif
    for (i = 0; i < 1000; ++i) {
      TVMFFI_SCOPE;
      TVMFFIObject *own;
      if (tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&own),
                      tvmffi_int(i % 4)))
        ++num_bad;
      if (helper(f, 3)) ++num_bad;
      num_bad += tvmffi_scope_count(kTVMFFIAny) != 2;
    }
    EXPECT(num_bad == 0 && tvmffi_scope_count(kTVMFFIAny) == 1);
  }
  EXPECT(num_live == 0);
  return 0;
}
#endif

TVMFFI_MAIN() {
  TVMFFIObject *f;
  TVMFFI_TRY(TVMFFI_FUNCTION_NEW(give, &f));
  TVMFFI_TRY(opened(f));
#if TVMFFI_I_CLEANUP
  TVMFFI_TRY(helper(f, 7));
  TVMFFI_TRY(loops(f));
  TVMFFI_TRY(blocks(f));
  TVMFFI_TRY(keeps(f));
  TVMFFI_TRY(parallel(f));
#endif
  printf("ok\n");
  return 0;
}
