/* ======== Objects of built-in functions ========= >>tables/builtin_function */
#pragma once

#include "../head.h"
#include "../base.h"
#include "../interface.h"

/* Initializes a function object in zeroed memory. */
TVMFFI_I_UNUSED static void tvmffi_i_fill_builtin(
    tvmffi_i_builtin *b, TVMFFISafeCallType call,
    const tvmffi_i_builtin_func *typed) {
  b->base.combined_ref_count = TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE;
  b->base.type_index = kTVMFFIFunction;
  b->cell.safe_call = call;
  b->typed = typed;
}
