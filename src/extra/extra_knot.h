/* ======== Prototypes ====================================== >>extra/extra_knot
   prototypes of functions that stand below */

#pragma once

#include "../head.h"

#if !TVMFFI_NO_EXTRA
/* The callbacks that hooks call. They are declared here because each callback
   begins a traversal, which can run other hooks. */
static int tvmffi_i_call_repr(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result);
static int tvmffi_i_call_hash(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result);
static int tvmffi_i_call_eq(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result);
static int tvmffi_i_call_compare(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result);
#endif
