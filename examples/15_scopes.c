/* Scopes: a scope owns the objects that code in it makes and receives. It
   releases them when it ends, on every way out. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>

/* A function's body is a scope. It releases the list also when TVMFFI_TRY
   returns an error. TVMFFI_RETURN gives the caller a reference of its own. */
TVMFFI_FUNC(squares, list, (int64, n)) {
  TVMFFIObject *list = tvmffi_list();
  for (int64_t i = 0; i < n; ++i) TVMFFI_TRY(tvmffi_append(list, i * i));
  TVMFFI_RETURN(list);
}

/* Whatever is returned is given: here a parameter, which the caller owns. */
TVMFFI_FUNC(longer, list, (list, a), (list, b)) {
  TVMFFI_RETURN(tvmffi_size(a) < tvmffi_size(b) ? b : a);
}

/* A helper that hands out an object takes its caller's scope. The array belongs
   to that scope, so the caller must not release it. */
static TVMFFIObject *pair(TVMFFI_HERE, TVMFFIObject *a, const char *b) {
  return tvmffi_array(a, b);
}

TVMFFI_MAIN() {
  TVMFFIObject *longest = tvmffi_list();
  TVMFFI_TRY(TVMFFI_REGISTER("demo.squares", squares));
  TVMFFI_TRY(TVMFFI_REGISTER("demo.longer", longer));

  /* In a loop, a scope of its own releases the objects of each iteration. The
     scope of the function takes over the one that is used after the loop. To
     own an object beyond all scopes, keep it (example 03). */
  for (int64_t n = 1; n <= 3; ++n) {
    TVMFFI_SCOPE;
    TVMFFIObject *list;
    TVMFFI_TRY(tvmffi_call("demo.squares", &list, n));
    TVMFFI_TRY(tvmffi_call("demo.longer", &list, longest, list));
    longest = tvmffi_scope_to_parent(list);
  }
  TVMFFI_TRY(tvmffi_print(stdout, pair(tvmffi_here, longest, "the longest")));
  return 0;
}
