/* The implementation, as in tvmffi.c, and functions for the C++ adapter. */
#include "adapter.h"

/* The vtable of the adapter's class of library modules. In the C++ ABI it has
   two words before the virtual functions; an object's vtable pointer points to
   the functions. */
extern const void *const tvmffi_dropin_library_table[] __asm__(
    "_ZTVN3tvm3ffi19DropinLibraryModuleE")
    __attribute__((visibility("hidden")));
#define TVMFFI_I_LIBRARY_METHODS         \
  ((const struct tvmffi_i_module_methods \
        *)(const void *)(tvmffi_dropin_library_table + 2))
#define TVMFFI_I_CALL_CXX(module, method, args, result)                      \
  tvmffi_dropin_call_method(&(module)->base, (tvmffi_dropin_method)(method), \
                            args, result)

#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

TVMFFI_STATIC_ASSERT((int)TVMFFI_I_METHOD_CLEAR_IMPORTS ==
                         (int)TVMFFI_DROPIN_CLEAR_IMPORTS,
                     methods_have_the_same_numbers);

int tvmffi_dropin_import(void *module, void *other) {
  return tvmffi_i_add_own_import(tvmffi_i_module_of(module),
                                 (TVMFFIObject *)other);
}

int tvmffi_dropin_clear_imports(void *module) {
  return tvmffi_i_change_imports(tvmffi_i_module_of(module), NULL);
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
