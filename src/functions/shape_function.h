/* ======== Shape functions ========================= >>functions/shape_function
   the constructor of shapes */

#pragma once

#include "../base.h"
#include "../core.h"
#include "../platform.h"
#include "../containers.h"
#include "../interface.h"

/* Creates a shape from the arguments. ValueError if an argument is not an
   int. */
TVMFFI_I_PACKED(Shape) {
  int64_t *numbers = NULL;
  tvmffi_i_shape *shape = tvmffi_i_new_shape((size_t)num_args, &numbers);
  int32_t i;
  if (!shape) return -1;
  for (i = 0; i < num_args; ++i) {
    if (tvmffi_i_from_any(&tvmffi_i_word_int64, &args[i], &numbers[i])) {
      tvmffi_i_release(shape);
      return tvmffi_i_value_error("Expect shape to take list of int arguments");
    }
  }
  return tvmffi_i_give_new(result, shape);
}
