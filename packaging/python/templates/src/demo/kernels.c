#include "tvmffi.h"

TVMFFI_EXPORT(add_one, int64, (int64, x)) { TVMFFI_RETURN(x + 1); }

/* Multiplies the elements of x by a number, in place. */
TVMFFI_EXPORT(scale, none, (tensor("float32[n] cpu strided inout"), x),
              (float64, by)) {
  for (int64_t i = 0; i < x->shape[0]; ++i)
    TVMFFI_ELEMENT(x, float, i) *= (float)by;
  TVMFFI_RETURN();
}
