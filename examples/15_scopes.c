/* Scopes: a scope owns the objects that calls in its source text make or store.
   It releases them when it ends, on every way out. To keep an object longer,
   return it, or move it to the enclosing scope. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>

/* The caller gets the result. The scope releases every other object, also when
   TVMFFI_TRY returns. */
TVMFFI_FUNC(squares, object, (int64, n)) {
  TVMFFI_SCOPE_REST; /* a scope to the end of the block */
  TVMFFIObject *list = tvmffi_list();
  for (int64_t i = 0; i < n; ++i) TVMFFI_TRY(tvmffi_append(list, i * i));
  TVMFFI_RETURN(list);
}

/* A scope covers only the source text inside it. This helper has no scope, so
   it must release the list, even if its caller is in a scope. */
static int sum_of_squares(int64_t n, int64_t *sum) {
  TVMFFIObject *list;
  TVMFFI_TRY(tvmffi_call("demo.squares", &list, n));
  *sum = 0;
  TVMFFI_FOREACH(TVMFFIAny, item, list) *sum += item.v_int64;
  tvmffi_release(list);
  return 0;
}

TVMFFI_MAIN() {
  TVMFFI_TRY(tvmffi_register("demo.squares", squares));
  TVMFFI_SCOPE {
    TVMFFIObject *longest = NULL;
    int64_t sum;
    for (int64_t n = 1; n <= 3; ++n) {
      TVMFFI_SCOPE { /* releases the list in each iteration */
        TVMFFIObject *list;
        TVMFFI_TRY(tvmffi_call("demo.squares", &list, n));
        if (n == 3) longest = tvmffi_scope_to_parent(list);
      }
    }
    TVMFFI_TRY(sum_of_squares(4, &sum)); /* 0 + 1 + 4 + 9 */
    printf("%lld\n", (long long)sum);
    TVMFFI_TRY(tvmffi_print(stdout, longest)); /* [0, 1, 4] */
    TVMFFI_TRY(tvmffi_print(stdout, tvmffi_array("a", "b")));
  }
  return 0;
}
