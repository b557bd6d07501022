/* What each program for Eva includes: the runtime in C99, without threads, and
   without compiler extensions, which Frama-C cannot read. EVA_SIZE is the
   largest size of the input. */
#include <stdlib.h>
#include <string.h>

#include "__fc_builtin.h"

/* Eva follows this loop more precisely than its specification of memchr. */
static void *eva_memchr(const void *s, int c, size_t n) {
  const char *p = (const char *)s;
  for (; n; --n, ++p)
    if (*p == (char)c) return (void *)p;
  return NULL;
}
#define memchr eva_memchr

#define TVMFFI_NO_THREADS 1
#define TVMFFI_NO_BACKTRACE 1
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

/* Eva uses these contracts instead of the functions' bodies, which the programs
   do not test. */
/*@ assigns \result \from \nothing; ensures \result == -1; */
static int tvmffi_i_runtime_error(const char *format, ...);
/*@ assigns \result \from \nothing; ensures \result == -1; */
static int tvmffi_i_value_error(const char *format, ...);
/*@ assigns \nothing; */
static void tvmffi_i_any_release(TVMFFIAny *value);
/*@ assigns \result, *out \from \nothing;
    ensures \result == 0 || \result == -1; */
int TVMFFIStringFromByteArray(const TVMFFIByteArray *input, TVMFFIAny *out);
/*@ assigns \result, *out \from \nothing;
    ensures \result == 0 || \result == -1; */
int TVMFFIBytesFromByteArray(const TVMFFIByteArray *input, TVMFFIAny *out);
/*@ assigns \result, *result \from \nothing;
    ensures \result == 0 || \result == -1; */
static int tvmffi_i_call_by_name(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result);

/* Returns any text of `size` bytes, at most EVA_SIZE, which ends where its
   memory ends, so that a read past it is an alarm. */
static TVMFFIByteArray eva_text(size_t size) {
  static char memory[EVA_SIZE];
  TVMFFIByteArray text;
  Frama_C_make_unknown(memory, EVA_SIZE);
  text.data = memory + EVA_SIZE - size;
  text.size = size;
  return text;
}
