/* The functions that typed.c calls, with tvmffi.h. */
#include "tvmffi.h"

TVMFFI_EXPORT(nop, none) { TVMFFI_RETURN(); }

TVMFFI_EXPORT(add, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }

TVMFFI_EXPORT(fma3, float64, (float64, a), (float64, b), (float64, c)) {
  TVMFFI_RETURN(a * b + c);
}

TVMFFI_EXPORT(sum, int64, (array(int64), items)) {
  int64_t sum = 0;
  TVMFFI_FOREACH(int64, item, items) sum += item;
  TVMFFI_RETURN(sum);
}
