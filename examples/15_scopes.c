/* Scopes: what is made inside one is released at its end, however that is
   reached. What shall live longer is detached, or moved to the parent scope. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>

/* A result leaves its scope by being detached; the rest is released, also where
   TVMFFI_TRY returns. */
TVMFFI_FUNC(squares, object, (int64, n)) {
  TVMFFI_SCOPE {
    TVMFFIObject *list = tvmffi_list();
    for (int64_t i = 0; i < n; ++i) TVMFFI_TRY(tvmffi_append(list, i * i));
    TVMFFI_RETURN(tvmffi_scope_detach(list));
  }
  return -1; /* not reached: some compilers want it */
}

static int run(void) {
  TVMFFI_TRY(tvmffi_register("demo.squares", squares));
  TVMFFI_SCOPE {
    TVMFFIObject *longest = NULL;
    for (int64_t n = 1; n <= 3; ++n) {
      TVMFFI_SCOPE { /* one for each round, so that rounds do not add up */
        TVMFFIObject *list;
        TVMFFI_TRY(tvmffi_call("demo.squares", &list, n)); /* the scope's */
        if (n == 3) longest = tvmffi_scope_to_parent(list);
      }
    }
    TVMFFI_TRY(tvmffi_print(stdout, longest)); /* [0, 1, 4] */
    TVMFFI_TRY(tvmffi_print(stdout, tvmffi_array("a", "b")));
  }
  return 0;
}

int main(void) { return run() ? (tvmffi_error_print(stderr), 1) : 0; }
