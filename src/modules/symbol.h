/* ======== Module symbols =================================== >>modules/symbol
   system library and context symbols */
/* Modules: C++ objects, of which the runtime makes one kind, the library. In
   front of a module's header stands the pointer to its virtual functions; ours
   are recognised by it and called directly, all others as the C++ ABI says. A
   function holds its module, which holds its library: it is closed after the
   last of them. Imports are replaced whole. What a module looked up is kept in
   it: inserted under the mutex, read without it. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../platform/libc.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../platform/hash.h"
#include "../platform/name_table.h"
#include "../core/raise.h"

/* A name and an address: symbols of the system library, and those that a
   library is given when it is loaded. */
typedef struct {
  tvmffi_i_node node;
  void *address;
} tvmffi_i_named;

static tvmffi_i_map tvmffi_i_system_symbols, tvmffi_i_context_symbols;

TVMFFI_I_INLINE tvmffi_i_named *tvmffi_i_find_named(tvmffi_i_map *map,
                                                    TVMFFIByteArray name) {
  return (tvmffi_i_named *)(void *)tvmffi_i_find(map, name.data, name.size);
}

/* The entry of a name, made with `address` when it is missing, or NULL. */
static tvmffi_i_named *tvmffi_i_enter_named(tvmffi_i_map *map,
                                            TVMFFIByteArray name,
                                            void *address) {
  uint32_t hash = tvmffi_i_hash(name.data, name.size);
  tvmffi_i_named *s;
  char *key;
  tvmffi_i_lock();
  s = (tvmffi_i_named *)(void *)tvmffi_i_find_hashed(map, name.data, name.size,
                                                     hash);
  if (!s && tvmffi_i_reserve(map, name.size) == 0) {
    s = (tvmffi_i_named *)tvmffi_i_alloc(sizeof(*s) + name.size + 1);
    if (s) {
      s->address = address;
      key = (char *)(s + 1);
      if (name.size) memcpy(key, name.data, name.size);
      key[name.size] = 0;
      tvmffi_i_insert_hashed(map, &s->node, key, name.size, hash);
    }
  }
  tvmffi_i_unlock();
  if (!s) (void)tvmffi_i_no_memory();
  return s;
}

/* Upstream warns of a symbol that gets another address, in these words. */
int TVMFFIEnvModRegisterSystemLibSymbol(const char *name, void *symbol) {
  tvmffi_i_named *s;
  TVMFFI_I_NOT_NULL(name);
  s = tvmffi_i_enter_named(&tvmffi_i_system_symbols, tvmffi_view(name), symbol);
  if (!s) return -1;
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

int TVMFFIEnvModRegisterContextSymbol(const char *name, void *symbol) {
  tvmffi_i_named *s;
  TVMFFI_I_NOT_NULL(name);
  s = tvmffi_i_enter_named(&tvmffi_i_context_symbols, tvmffi_view(name),
                           symbol);
  if (!s) return -1;
  TVMFFI_I_STORE(&s->address, symbol);
  return 0;
}
