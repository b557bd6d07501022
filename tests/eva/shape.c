/* Checks a tensor's shape, whatever its rank, its extents and its data type. */
#include "eva.h"

int main(void) {
  static int64_t memory[EVA_SIZE];
  const int32_t ndim = Frama_C_interval(0, EVA_SIZE);
  /*@ split ndim; */
  DLTensor t;
  memset(&t, 0, sizeof(t));
  Frama_C_make_unknown((char *)memory, sizeof(memory));
  Frama_C_make_unknown((char *)&t.dtype, sizeof(t.dtype));
  switch (Frama_C_interval(0, 2)) {
    case 0: t.ndim = Frama_C_interval(INT32_MIN, -1); break;
    case 1: t.ndim = ndim; break; /* no shape */
    default: t.ndim = ndim, t.shape = memory + EVA_SIZE - ndim;
  }
  return tvmffi_i_check_shape("eva", &t);
}
