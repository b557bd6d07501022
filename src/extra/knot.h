/* ======== Prototypes =========================================== >>extra/knot
   prototypes of functions that stand below */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"

#if !TVMFFI_NO_EXTRA
/* A hook is given a callback, which begins the traversal anew. */
static int tvmffi_i_call_repr(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result);
static int tvmffi_i_call_hash(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result);
static int tvmffi_i_call_eq(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result);
static int tvmffi_i_call_compare(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result);

#if defined(__cplusplus)
extern "C" {
#endif
/* The functions of visitors and mutators. They are called for each container in
   a value, and traverse the containers themselves. */
static TVMFFIAny tvmffi_i_enter_visitor(void *visitor, TVMFFIAny value);
static TVMFFIAny tvmffi_i_enter_mutator(void *mutator, TVMFFIAny value);
static TVMFFIAny tvmffi_i_enter_unique(void *mutator, TVMFFIAny value);
static TVMFFIAny tvmffi_i_remap_get(void *mutator, TVMFFIAny var);
static TVMFFIAny tvmffi_i_remap_set(void *mutator, TVMFFIAny var,
                                    TVMFFIAny value);
#if defined(__cplusplus)
}
#endif
#endif
