/* Prints the error of a call that should fail, on both libraries alike. */

#pragma once

#include <stdio.h>

#include "tvmffi.h"

static void show_error(const char *text, int failed) {
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  const TVMFFIErrorCell *cell;
  printf("%s: ", text);
  if (!failed || !error) {
    printf("no error\n");
    return;
  }
  cell = TVMFFIErrorGetCellPtr(error);
  printf("%s: %s\n", cell->kind.data, cell->message.data);
}
#define FAILS(x) show_error(#x, (x) != 0)
