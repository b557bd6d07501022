/* ======== Scopes, declared ================================= >>base/scope_here
   the scope in which code stands */

#pragma once

#include "../head.h"

/* A scope owns objects until it is closed. Its members are internal. */
typedef struct tvmffi_scope tvmffi_scope;

/* tvmffi_here is the innermost scope, a `tvmffi_scope *` that is borrowed while
   the scope is open: the wrapper of a typed function, TVMFFI_SCOPE and
   TVMFFI_HERE declare a variable tvmffi_i_here. Outside all scopes,
   tvmffi_i_here is a function, so tvmffi_here does not compile: the compiler's
   error shows the function's result type, whose name says what to write. A
   local variable that hides a function causes no warning (-Wshadow), but one
   that hides a variable does. tvmffi_i_outer is the innermost scope, or NULL
   outside all scopes. */
#define TVMFFI_I_NO_SCOPE \
  tvmffi_i_no_scope_here__add_the_parameter_TVMFFI_HERE_or_write_TVMFFI_SCOPE
typedef struct {
  char tvmffi_unused;
} TVMFFI_I_NO_SCOPE;
#if defined(__cplusplus)
extern "C++" {
typedef TVMFFI_I_NO_SCOPE tvmffi_i_no_scope();
TVMFFI_I_UNUSED static TVMFFI_I_NO_SCOPE tvmffi_i_here() {
  return TVMFFI_I_NO_SCOPE();
}
TVMFFI_I_INLINE tvmffi_scope *tvmffi_i_scope_of(tvmffi_scope *scope) {
  return scope;
}
TVMFFI_I_INLINE tvmffi_scope *tvmffi_i_scope_of(tvmffi_i_no_scope *) {
  return nullptr;
}
} /* extern "C++" */
#define tvmffi_here tvmffi_i_here
#define tvmffi_i_outer tvmffi_i_scope_of(tvmffi_i_here)
#elif TVMFFI_I_SELECTS
TVMFFI_I_NO_SCOPE tvmffi_i_here(void); /* never defined */
#define tvmffi_here \
  TVMFFI_I_EXTENSION _Generic(tvmffi_i_here, tvmffi_scope * : tvmffi_i_here)
#define tvmffi_i_outer                                      \
  TVMFFI_I_EXTENSION _Generic(tvmffi_i_here, tvmffi_scope * \
                              : tvmffi_i_here, default      \
                              : TVMFFI_I_AS(tvmffi_scope *, 0))
#else
/* C without _Generic: a maker outside all scopes is an error at run time. */
static tvmffi_scope *const tvmffi_i_here = NULL;
#define tvmffi_here tvmffi_i_here
#define tvmffi_i_outer tvmffi_i_here
#endif

/* Gives the caller of a typed function a reference to `obj`: the scope's own
   reference if `obj` is the scope's newest object, else a new one. */
TVMFFI_I_INLINE void tvmffi_i_scope_give(tvmffi_scope *scope,
                                         TVMFFIObject *obj);

#if defined(TVMFFI_ARENA_SIZE) && defined(TVMFFI_IMPLEMENTATION)
/* In the file with TVMFFI_IMPLEMENTATION, scopes allocate from the arena. */
static void *tvmffi_i_arena_alloc(size_t size);
static void tvmffi_i_arena_free(void *pointer);
#endif
