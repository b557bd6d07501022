/* ======== Arguments ==================================== >>interface/argument
   arguments that the ABI has no form for */

#pragma once

#include "../head.h"
#include "../base.h"
#include "scope.h"

/* Returns 0 if some argument is None or has no form in the ABI, else 1. */
TVMFFI_I_INLINE int tvmffi_i_are_plain(const TVMFFIAny *args, int32_t n) {
  int32_t i;
  for (i = 0; i < n; ++i)
    if (TVMFFI_I_UNLIKELY(args[i].type_index <= kTVMFFINone)) return 0;
  return 1;
}

/* Returns -1 if an argument is None while an error is pending: a maker failed,
   and its error must not be replaced. */
TVMFFI_I_INLINE int tvmffi_i_check_made(const TVMFFIAny *args, int32_t n) {
  int32_t i;
  for (i = 0; i < n; ++i)
    if (TVMFFI_I_UNLIKELY(args[i].type_index == kTVMFFINone))
      return tvmffi_i_pending();
  return 0;
}

/* Checks arguments that are not plain. Returns 0 if the ABI has a form for
   each, 1 if not, or -1 if a maker failed. */
TVMFFI_I_ONCE(int, tvmffi_i_check_args, (const TVMFFIAny *args, int32_t n)) {
  TVMFFI_TRY(tvmffi_i_check_made(args, n));
  while (n && args[n - 1].type_index >= kTVMFFINone) --n;
  return n > 0;
}

/* Refuses a parameter's default that the ABI has no form for, because nothing
   would own a string that is made of it. */
TVMFFI_I_INLINE int tvmffi_i_check_default(const TVMFFIAny *any) {
  if (TVMFFI_I_LIKELY(any->type_index >= 0)) return 0;
  return any->type_index == TVMFFI_I_SLICE
             ? tvmffi_i_raise("TypeError", "A slice cannot be a default")
             : tvmffi_i_too_large((uint64_t)any->v_int64);
}

/* A copy of arguments, with strings in place of slices. */
typedef struct {
  const TVMFFIAny *from;
  TVMFFIAny *args; /* `room` or allocated */
  int32_t n;       /* of `args` */
  TVMFFIAny room[4];
} tvmffi_i_settled;

TVMFFI_I_ONCE(void, tvmffi_i_settled_close, (tvmffi_i_settled *s)) {
  while (s->n--)
    if (s->from[s->n].type_index < 0) tvmffi_i_any_release(&s->args[s->n]);
  if (s->args != s->room) TVMFFI_I_SCOPE_FREE((void *)s->args);
}

/* Copies the arguments, and replaces slices by strings. Returns 0, or -1 with
   an error; *s then needs no tvmffi_i_settled_close. */
TVMFFI_I_ONCE(int, tvmffi_i_settled_open,
              (tvmffi_i_settled *s, const TVMFFIAny *args, int32_t n)) {
  s->from = args;
  s->args = s->room;
  if ((size_t)n > sizeof(s->room) / sizeof(s->room[0]))
    s->args = (TVMFFIAny *)TVMFFI_I_SCOPE_MALLOC((size_t)n * sizeof(*s->args));
  if (!s->args)
    return tvmffi_i_raise("MemoryError", "out of memory for %d arguments",
                          (int)n);
  for (s->n = 0; s->n < n; ++s->n) {
    s->args[s->n] = args[s->n];
    if (args[s->n].type_index < 0 &&
        tvmffi_i_settle(&args[s->n], &s->args[s->n])) {
      tvmffi_i_settled_close(s);
      return -1;
    }
  }
  return 0;
}
