/* ======== Module symbols ============================== >>modules/named_symbol
   system library and context symbols */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"

/* A name and an address, such as a symbol of the system library. */
typedef struct {
  tvmffi_i_node node;
  void *address;
} tvmffi_i_named;

/* The symbols of the system library, and the context symbols. When a library is
   loaded, its variable named like a context symbol is set to the symbol's
   address. */
static tvmffi_i_name_table tvmffi_i_system_symbols, tvmffi_i_context_symbols;

TVMFFI_I_INLINE tvmffi_i_named *tvmffi_i_find_named(tvmffi_i_name_table *map,
                                                    TVMFFIByteArray name) {
  return (tvmffi_i_named *)(void *)tvmffi_i_find(map, name.data, name.size);
}

/* Sets *out to the map entry of `name`. Returns 1 if the entry was missing and
   has been inserted with `address`, 0 if it was there, or -1 with the error
   raised. */
static int tvmffi_i_enter_named(tvmffi_i_name_table *map, TVMFFIByteArray name,
                                void *address, tvmffi_i_named **out) {
  tvmffi_i_named *s;
  int is_new = 0;
  TVMFFI_ASSERT(name.data || !name.size);
  tvmffi_i_lock();
  s = tvmffi_i_find_named(map, name);
  if (!s && tvmffi_i_reserve(map, name.size) == 0) {
    s = (tvmffi_i_named *)tvmffi_i_alloc(sizeof(*s) + name.size + 1);
    if (s) {
      is_new = 1;
      s->address = address;
      tvmffi_i_insert(map, &s->node, tvmffi_i_copy_text((char *)(s + 1), name),
                      name.size);
    }
  }
  TVMFFI_ASSERT(!s || tvmffi_i_find_named(map, name) == s);
  tvmffi_i_unlock();
  *out = s;
  return s ? is_new : tvmffi_i_no_memory();
}

/* The warning is worded as upstream's. */
int TVMFFIEnvModRegisterSystemLibSymbol(const char *name, void *symbol) {
  tvmffi_i_named *s;
  TVMFFI_I_NOT_NULL(name);
  if (tvmffi_i_enter_named(&tvmffi_i_system_symbols, tvmffi_byte_array(name),
                           symbol, &s) < 0)
    return -1;
  TVMFFI_ASSERT(s->node.key != name); /* a copy */
#if !TVMFFI_NO_STDIO
  if (TVMFFI_I_LOAD(&s->address) != symbol)
    (void)fprintf(stderr,
                  "Warning:SystemLib symbol %s get overriden to a different "
                  "address %p->%p\n",
                  name, symbol, TVMFFI_I_LOAD(&s->address));
#endif
  TVMFFI_I_STORE(&s->address, symbol);
  return 0;
}

/* Stores in *out the address that TVMFFIEnvModRegisterSystemLibSymbol
   registered under `name`, and returns 1. If no symbol has the name, stores
   NULL and returns 0. Compiled code registers a function `f` as "__tvm_ffi_f",
   which is a TVMFFISafeCallType. `name` is borrowed. Cannot fail. Defined in
   the file with the implementation; other files of the program can call it with
   TVMFFI_SHARE_INTERFACE and without TVMFFI_DEBUG. Thread-safe. */
TVMFFI_I_RUNTIME_ONCE TVMFFI_I_UNUSED int
tvmffi_system_symbol(TVMFFIByteArray name, void **out) {
  tvmffi_i_named *s = tvmffi_i_find_named(&tvmffi_i_system_symbols, name);
  *out = s ? TVMFFI_I_LOAD(&s->address) : NULL;
  return s != NULL;
}

int TVMFFIEnvModRegisterContextSymbol(const char *name, void *symbol) {
  tvmffi_i_named *s;
  TVMFFI_I_NOT_NULL(name);
  if (tvmffi_i_enter_named(&tvmffi_i_context_symbols, tvmffi_byte_array(name),
                           symbol, &s) < 0)
    return -1;
  TVMFFI_I_STORE(&s->address, symbol);
  return 0;
}
