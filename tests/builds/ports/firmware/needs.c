/* Calls the kernel of needs_kernel.c, and prints its result or the error.
   needs.py links this program in the ways that docs/porting.md warns of. */

#include "board.h"

#if HOOK
#define TVMFFI_LOAD_FAILED(name, kind, message)                                \
  (board_write(name), board_write(": "), board_write(kind), board_write(": "), \
   board_write(message), board_write("; "))
#endif
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "system_library.h"

#if FAILS_ON_LOAD
/* Fails at its first run: on load. The message has each conversion that the
   runtime formats without stdio, and then one that it does not. */
static int attach(void) {
  static int runs;
  if (!runs++)
    return TVMFFI_RAISE(
        "ValueError", "%d %i %u %x %c %s %.2s %.*s %p %lld %zu %3d %% %-3d %d",
        -7, 8, 9u, 255u, 'c', "text", "text", 1, "text", (void *)16, 1ll << 40,
        sizeof(char), 5, 6, 7);
  return 0;
}
TVMFFI_ON_LOAD(attach)
#endif

static int run(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *library, *function;
  TVMFFIAny found;
  int64_t result;
  TVMFFI_TRY(system_library_register());
  TVMFFI_TRY(tvmffi_call("ffi.SystemLib", &library));
  TVMFFI_TRY(tvmffi_call("ffi.ModuleGetFunction", &found, library, "twice",
                         (_Bool)0));
  if (found.type_index == kTVMFFINone)
    return TVMFFI_RAISE("AttributeError", "there is no twice");
  function = found.v_obj;
  TVMFFI_TRY(tvmffi_call(function, &result, 21));
  board_write_int(result);
  return 0;
}

int main(void) {
  board_construct();
#if FAILS_ON_LOAD
  {
    TVMFFIAny none = tvmffi_none();
    board_write(__tvm_ffi_attach(NULL, NULL, 0, &none) ? "no; " : "again; ");
  }
#endif
  if (run()) {
    TVMFFI_SCOPE;
    TVMFFIObject *error = tvmffi_error_take();
    board_write(TVMFFIErrorGetCellPtr(error)->message.data);
  }
  board_write("\n");
  for (;;) {
  }
}
