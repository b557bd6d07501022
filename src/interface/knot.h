/* ======== Prototypes ======================================= >>interface/knot
   prototypes of functions that stand below */

#pragma once

#include "../head/config.h"

#if defined(TVMFFI_ARENA_SIZE) && defined(TVMFFI_IMPLEMENTATION)
/* Scopes of the implementing file take memory from its arena. */
static void *tvmffi_i_arena_alloc(size_t size);
static void tvmffi_i_arena_free(void *pointer);
#endif

#if TVMFFI_NO_TYPES && defined(TVMFFI_IMPLEMENTATION)
/* Without a table of types the runtime alone knows the keys. */
static const char *tvmffi_i_type_key(int32_t index);
#endif
