/* ======== Shapes: shape objects ======================= >>containers/shape */

#pragma once

#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/word.h"
#include "../interface/function.h"
#include "../core/raise.h"
#include "../core/object.h"

typedef struct {
  TVMFFIObject base;
  TVMFFIShapeCell cell; /* the numbers follow the struct */
} tvmffi_i_shape;

static void tvmffi_i_delete_shape(void *self, int flags) {
  const tvmffi_i_shape *s = (tvmffi_i_shape *)self;
  tvmffi_i_delete_content(self, flags, sizeof(*s), s->cell.data,
                          s->cell.size * sizeof(int64_t));
}

/* Returns a shape (owned) of `n` numbers, or NULL with the error raised. The
   caller sets the numbers at *numbers. */
static tvmffi_i_shape *tvmffi_i_new_shape(size_t n, int64_t **numbers) {
  tvmffi_i_shape *self = NULL;
  if (n > PTRDIFF_MAX / 16) {
    (void)tvmffi_i_no_memory();
    return self;
  }
  self = (tvmffi_i_shape *)tvmffi_i_object(sizeof(*self) + n * sizeof(int64_t),
                                           kTVMFFIShape, tvmffi_i_delete_shape);
  if (!self) return self;
  *numbers = (int64_t *)(void *)(self + 1);
  self->cell.data = *numbers;
  self->cell.size = n;
  return self;
}

/* Creates a shape from the arguments. ValueError if an argument is not an
   int. */
TVMFFI_I_PACKED(i_shape) {
  int64_t *numbers = NULL;
  tvmffi_i_shape *shape = tvmffi_i_new_shape((size_t)num_args, &numbers);
  int32_t i;
  if (!shape) return -1;
  for (i = 0; i < num_args; ++i) {
    if (tvmffi_i_get_int64(&args[i], &numbers[i])) {
      tvmffi_release(shape);
      return tvmffi_i_fail("ValueError",
                           "Expect shape to take list of int arguments");
    }
  }
  *result = tvmffi_obj(shape);
  return 0;
}
