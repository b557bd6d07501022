/* ======== Scopes, declared ================================= >>base/scope_here
   the scope that an error leaves */

#pragma once

#include "../head/compiler.h"

/* A scope owns objects until the end of a block. Its members are internal. */
typedef struct tvmffi_scope tvmffi_scope;

/* The innermost scope; outside all scopes, NULL. TVMFFI_SCOPE declares a local
   variable with this name, which hides the outer variable. */
TVMFFI_I_UNUSED static tvmffi_scope *const tvmffi_here = NULL;

/* Ends all enclosing scopes before a plain `return`. Needed only with compilers
   that lack the cleanup attribute (TVMFFI_I_CLEANUP is 0); does nothing with
   others. TVMFFI_RETURN and TVMFFI_TRY contain this call. */
#if TVMFFI_I_CLEANUP
#define TVMFFI_LEAVE() ((void)0)
#else
#define TVMFFI_LEAVE() tvmffi_i_scope_leave(tvmffi_here)
TVMFFI_I_INLINE void tvmffi_i_scope_leave(tvmffi_scope *scope);
#endif

#if defined(TVMFFI_ARENA_SIZE) && defined(TVMFFI_IMPLEMENTATION)
/* In the file with TVMFFI_IMPLEMENTATION, scopes allocate from the arena. */
static void *tvmffi_i_arena_alloc(size_t size);
static void tvmffi_i_arena_free(void *pointer);
#endif
