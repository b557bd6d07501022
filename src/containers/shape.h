/* ======== Shapes: shape objects ======================= >>containers/shape */

#pragma once

#include "../head.h"
#include "../core.h"

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
