/* The implementation, as tvmffi.c has it, and what the C++ adapter calls. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "adapter.h"

int tvmffi_dropin_import(void *module, void *other) {
  return tvmffi_i_add_own_import(tvmffi_i_module_of(module),
                                 (TVMFFIObject *)other);
}

int tvmffi_dropin_clear_imports(void *module) {
  return tvmffi_i_clear_own_imports(tvmffi_i_module_of(module));
}

static int visit_symbol(void *callback, tvmffi_i_node *node) {
  TVMFFIByteArray name;
  TVMFFIAny args[2], result = tvmffi_none();
  int code;
  name.data = node->key;
  name.size = node->size;
  TVMFFI_TRY(TVMFFIStringFromByteArray(&name, &args[0]));
  args[1] =
      tvmffi_ptr(TVMFFI_I_LOAD(&((tvmffi_i_named *)(void *)node)->address));
  code = TVMFFIFunctionCall(callback, args, 2, &result);
  tvmffi_any_release(&args[0]);
  tvmffi_any_release(&result);
  return code;
}

int tvmffi_dropin_visit_context_symbols(void *callback) {
  tvmffi_i_node *node = TVMFFI_I_LOAD(&tvmffi_i_context_symbols.first);
  for (; node; node = TVMFFI_I_LOAD(&node->next))
    TVMFFI_TRY(visit_symbol(callback, node));
  return 0;
}
