/* What test_on_load.py loads: a function that runs at the load. FAIL is the
   number of runs that fail first. */
#include "../../tvmffi.h"

#include <stdio.h>

#ifndef FAIL
#define FAIL 0
#endif

static int64_t runs;

TVMFFI_FUNC(answer, int64) { TVMFFI_RETURN(runs); }

typedef struct {
  TVMFFIObject base;
  int64_t value;
} Loaded;
TVMFFI_TYPE(Loaded, "on_load.Loaded", TVMFFIObject, (field, int64, value, 7))

/* Registering a type initializes a handle, as a type's first use does. */
static int set_up(void) {
  if (TVMFFI_REGISTER_TYPE(Loaded)) return -1;
  if (++runs <= FAIL)
    return TVMFFI_RAISE("ValueError", "run %d fails", (int)runs);
#if defined(SILENT)
  return 7;
#endif
  return TVMFFI_OVERRIDE("on_load.answer", answer);
}
TVMFFI_ON_LOAD(set_up)
TVMFFI_DOC(set_up, "Registers on_load.answer")
TVMFFI_EXPORT(count_runs, int64) { TVMFFI_RETURN(runs); }
