/* c.c: calls from C: direct, through a pointer, through libffi, and the packed
 * call of a libtvm_ffi.
 *
 *     c COUNT [NAME=LIBTVM_FFI]...
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "callee.h"
#include "tvmffi.h"

static int64_t (*volatile pointer)(int64_t, int64_t) = callee_add;

#ifdef LIBFFI
#include <ffi.h>

static int64_t by_libffi(ffi_cif *cif, int64_t a, int64_t b) {
  void *values[] = {&a, &b};
  ffi_sarg result;
  ffi_call(cif, FFI_FN(callee_add), &result, values);
  return result;
}

static void measure_libffi(long count) {
  ffi_type *types[] = {&ffi_type_sint64, &ffi_type_sint64};
  ffi_cif cif;
  if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, 2, &ffi_type_sint64, types)) exit(1);
  MEASURE("C, libffi", count, by_libffi(&cif, x, 1));
}
#endif

/* A packed function: checks number and types of its arguments. */
static int packed_add(void *self, const TVMFFIAny *args, int32_t num_args,
                      TVMFFIAny *result) {
  (void)self;
  if (num_args != 2 || args[0].type_index != kTVMFFIInt ||
      args[1].type_index != kTVMFFIInt)
    return -1;
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = callee_add(args[0].v_int64, args[1].v_int64);
  return 0;
}

typedef int (*call_function)(TVMFFIObjectHandle, TVMFFIAny *, int32_t,
                             TVMFFIAny *);

static int64_t by_packed_call(call_function call, TVMFFIObjectHandle function,
                              int64_t a, int64_t b) {
  TVMFFIAny args[2], result;
  memset(args, 0, sizeof args);
  memset(&result, 0, sizeof result);
  args[0].type_index = args[1].type_index = kTVMFFIInt;
  args[0].v_int64 = a;
  args[1].v_int64 = b;
  if (call(function, args, 2, &result)) exit(1);
  return result.v_int64;
}

static void *find(void *library, const char *name) {
  void *found = dlsym(library, name);
  if (!found) exit((fprintf(stderr, "%s\n", dlerror()), 1));
  return found;
}

static void measure_packed(const char *name, const char *path, long count) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  int (*create)(void *, TVMFFISafeCallType, void (*)(void *),
                TVMFFIObjectHandle *);
  int (*release)(TVMFFIObjectHandle);
  call_function call;
  TVMFFIObjectHandle function;
  if (!library) exit((fprintf(stderr, "%s\n", dlerror()), 1));
  *(void **)&create = find(library, "TVMFFIFunctionCreate");
  *(void **)&release = find(library, "TVMFFIObjectDecRef");
  *(void **)&call = find(library, "TVMFFIFunctionCall");
  if (create(NULL, packed_add, NULL, &function)) exit(1);
  MEASURE(name, count, by_packed_call(call, function, x, 1));
  release(function);
}

int main(int argc, char **argv) {
  const long count = argc > 1 ? atol(argv[1]) : 1;
  MEASURE("C, a function of a library", count, callee_add(x, 1));
  MEASURE("C, through a pointer", count, pointer(x, 1));
#ifdef LIBFFI
  measure_libffi(count);
#endif
  for (int i = 2; i < argc; ++i) {
    char *path = strchr(argv[i], '=');
    if (!path) return 2;
    *path = '\0';
    measure_packed(argv[i], path + 1, count);
  }
  return 0;
}
