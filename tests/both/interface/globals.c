/* Calls of a global function without a look-up, on whatever library the program
   is linked to. */
#include <stdio.h>

#include "tvmffi.h"

#include "show.h"

TVMFFI_GLOBAL(add, "interface.add");

TVMFFI_FUNC(plus, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }
TVMFFI_FUNC(times, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a * b); }

/* Replaces and removes itself, and lives on until it has returned. */
TVMFFI_CLOSURE(go, char, int64, (int64, a), (int64, b)) {
  TVMFFI_TRY(TVMFFI_OVERRIDE("interface.add", times));
  TVMFFI_TRY(tvmffi_call("ffi.FunctionRemoveGlobal", NULL, "interface.add"));
  printf("%s\n", self);
  TVMFFI_RETURN(a - b);
}
static void end_go(void *self) { printf("end of %s\n", (const char *)self); }

TVMFFI_FUNC(apply, int64, (func, f)) {
  int64_t n;
  TVMFFI_TRY(tvmffi_call(f, &n, 20, 1));
  TVMFFI_RETURN(n);
}

TVMFFI_MAIN() {
  static char self[] = "go";
  TVMFFI_GLOBAL(text, "ffi.String");
  int64_t n = 0;
  TVMFFIAny any;
  int i;
  {
    TVMFFI_SCOPE;
    TVMFFIObject *f;
    FAILS(tvmffi_call(add, &n, 1, 2));
    FAILS(tvmffi_call("interface.add", &n, 1, 2));
    for (i = 0; i < 2; ++i) {
      TVMFFI_TRY(TVMFFI_REGISTER("interface.add", plus));
      TVMFFI_TRY(tvmffi_call(add, &n, 5, 6));
      printf("%lld\n", (long long)n);
      FAILS(tvmffi_call(add, &n, 5, "six"));
      FAILS(tvmffi_call(add, &n, 5));
      TVMFFI_TRY(TVMFFI_OVERRIDE("interface.add", times));
      TVMFFI_TRY(tvmffi_call(add, &n, 5, 6));
      printf("%lld\n", (long long)n);
      TVMFFI_TRY(TVMFFI_FUNCTION_NEW(apply, &f));
      TVMFFI_TRY(tvmffi_call(f, &n, add));
      printf("%lld\n", (long long)n);
      TVMFFI_TRY(tvmffi_call("ffi.FunctionRemoveGlobal", NULL,
                             "interface.add"));
      FAILS(tvmffi_call(add, &n, 1, 2));
      FAILS(tvmffi_call("ffi.GetGlobalFuncMetadata", NULL, "interface.add"));
    }
    TVMFFI_TRY(TVMFFI_CLOSURE_NEW(go, self, end_go, &f));
    TVMFFI_TRY(tvmffi_register_object("interface.add", f));
  }
  TVMFFI_TRY(tvmffi_call(add, &n, 9, 2));
  printf("%lld\n", (long long)n);
  FAILS(tvmffi_call(add, &n, 9, 2));
  TVMFFI_TRY(tvmffi_call(text, &any, "a text"));
  return tvmffi_print(stdout, any);
}
