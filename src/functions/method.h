/* ======== Methods ========================================= >>functions/method
   methods of the built-in types */

#pragma once

#include "../head.h"
#include "../interface.h"

/* Begins a method of a built-in type, as TVMFFI_I_BUILTIN_FUNC begins a
   function. `text` is its name in errors. */
#define TVMFFI_I_METHOD(name, text, ...)                                      \
  TVMFFI_I_TYPED(TVMFFI_I_START(TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__, ~), \
                 tvmffi_builtin, name, text, TVMFFI_I_COUNT(__VA_ARGS__),     \
                 __VA_ARGS__, ~)

/* In a typed function, returns a new object, or -1 if the expression is NULL
   (its error is raised already). */
#define TVMFFI_I_RETURN_NEW(...)        \
  do {                                  \
    TVMFFIObject *made = (__VA_ARGS__); \
    if (!made) return -1;               \
    TVMFFI_I_GIVE(made);                \
  } while (0)
