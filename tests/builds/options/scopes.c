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

/* The caller of either owns the thing. */
static int make(TVMFFIObject **out) {
  __atomic_fetch_add(&num_live, 1, __ATOMIC_SEQ_CST);
  return tvmffi_closure_new(thing, &num_live, end_thing, out);
}
TVMFFI_FUNC(give, object, (int64, how)) {
  TVMFFIObject *o;
  TVMFFI_TRY(make(&o));
  if (how == 0) TVMFFI_RETURN(o);
  TVMFFI_SCOPE {
    TVMFFI_TRY(tvmffi_scope_attach(o) ? 0 : -1);
    if (how == 1) TVMFFI_RETURN(o);
    tvmffi_retain(o); /* the scope owns it twice */
    TVMFFI_TRY(tvmffi_scope_attach(o) ? 0 : -1);
    TVMFFI_SCOPE { TVMFFI_RETURN(o); }
  }
  TVMFFI_RETURN(NULL); /* not reached: GCC wants it without optimisation */
}

/* Releases what it is given: right in a scope of the caller's and outside. */
static int helper(TVMFFIObject *f, int depth) {
  TVMFFIObject *o;
  TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o),
                         tvmffi_int(depth % 3)));
  if (depth > 0) TVMFFI_TRY(helper(f, depth - 1));
  tvmffi_release(o);
  return 0;
}

static int loops(TVMFFIObject *f) {
  int i;
  for (i = 0; i < 10; ++i) {
    TVMFFI_SCOPE_REST;
    TVMFFIObject *o;
    TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o),
                           tvmffi_int(i % 3)));
    EXPECT(tvmffi_scope_count(kTVMFFIAny) == 1);
    if (i == 4) {
      TVMFFI_LEAVE();
      break; /* of the loop */
    }
    TVMFFI_LEAVE();
  }
  EXPECT(i == 4 && num_live == 0);
  return 0;
}

static int blocks(TVMFFIObject *f) {
  TVMFFI_SCOPE {
    TVMFFIObject *a, *b;
    TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&a),
                           tvmffi_int(2)));
    TVMFFI_TRY(helper(f, 5));
    EXPECT(tvmffi_scope_count(kTVMFFIAny) == 1 && num_live == 1);
    if (num_live == 1)
      TVMFFI_SCOPE {
        TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&b),
                               tvmffi_int(1)));
        EXPECT(tvmffi_scope_to_parent(b) == b);
      }
    else
      TVMFFI_SCOPE { EXPECT(num_live == 1); }
    EXPECT(tvmffi_scope_count(kTVMFFIAny) == 2 && num_live == 2);
  }
  EXPECT(num_live == 0);
  return 0;
}

/* Each thread has a scope of its own; the one around is not touched. */
static int parallel(TVMFFIObject *f) {
  TVMFFI_SCOPE {
    TVMFFIObject *o;
    int i, num_bad = 0;
    TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o),
                           tvmffi_int(0)));
#ifdef _OPENMP
#pragma omp parallel for reduction(+ : num_bad)
#endif
    for (i = 0; i < 1000; ++i) {
      TVMFFI_SCOPE {
        TVMFFIObject *own;
        if (tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&own),
                        tvmffi_int(i % 3)))
          ++num_bad;
        if (helper(f, 3)) ++num_bad;
        num_bad += tvmffi_scope_count(kTVMFFIAny) != 2;
      }
    }
    EXPECT(num_bad == 0 && tvmffi_scope_count(kTVMFFIAny) == 1);
  }
  EXPECT(num_live == 0);
  return 0;
}

TVMFFI_MAIN() {
  TVMFFI_SCOPE {
    TVMFFIObject *f;
    TVMFFI_TRY(tvmffi_function_new(give, &f));
    TVMFFI_TRY(helper(f, 0));
    TVMFFI_TRY(helper(f, 7));
    TVMFFI_TRY(loops(f));
    TVMFFI_TRY(blocks(f));
    TVMFFI_TRY(parallel(f));
  }
  printf("ok\n");
  return 0;
}
