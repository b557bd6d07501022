/* ======== Module lookup: functions found in imports ===== >>modules/lookup */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "named_symbol.h"
#include "import.h"
#include "module_object.h"

/* A module's cache of functions found in its imports. The cache owns the
   functions; callers borrow them. */
typedef struct {
  TVMFFIObject base;
  tvmffi_i_name_table functions;
  TVMFFIObject *replaced; /* owned: the C++ cache object that this cache
                             replaced; a thread may still read it */
} tvmffi_i_cache;

static void tvmffi_i_destroy_cache(void *self, int flags) {
  tvmffi_i_cache *c = (tvmffi_i_cache *)self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_i_node *node = c->functions.first;
    TVMFFI_ASSERT(!node == !c->functions.count);
    while (node) {
      tvmffi_i_node *next = node->next;
      tvmffi_i_release(((tvmffi_i_named *)(void *)node)->address);
      tvmffi_i_free(node);
      node = next;
    }
    tvmffi_i_free_slots(c->functions.table);
    tvmffi_i_release(c->replaced);
  }
  tvmffi_i_delete_plain(self, flags);
}
TVMFFI_I_DELETER(cache)

TVMFFI_I_INLINE tvmffi_i_cache *tvmffi_i_cache_of(tvmffi_i_module *m) {
  TVMFFIObject *cache = TVMFFI_I_LOAD(&m->cache);
  return cache && cache->deleter == tvmffi_i_delete_cache
             ? (tvmffi_i_cache *)(void *)cache
             : NULL;
}

/* Returns a module's cache, creating it if missing, or NULL with the error
   raised. */
static tvmffi_i_cache *tvmffi_i_make_cache(tvmffi_i_module *m) {
  tvmffi_i_cache *c = tvmffi_i_cache_of(m), *made;
  if (c) return c;
  made = (tvmffi_i_cache *)tvmffi_i_object(sizeof(*made), kTVMFFIObject,
                                           tvmffi_i_delete_cache);
  if (!made) return made;
  memset(&made->functions, 0, sizeof(made->functions));
  made->replaced = NULL;
  tvmffi_i_lock();
  c = tvmffi_i_cache_of(m);
  if (!c) {
    made->replaced = m->cache;
    TVMFFI_I_STORE(&m->cache, &made->base);
  }
  tvmffi_i_unlock();
  if (c) tvmffi_i_release(made);
  TVMFFI_ASSERT(tvmffi_i_cache_of(m) == (c ? c : made));
  return c ? c : made;
}

/* Finds a function (owned) in a module's imports or in the global table.
   RuntimeError if it is in neither. */
static int tvmffi_i_look_up(tvmffi_i_module *m, TVMFFIByteArray name,
                            TVMFFIObjectHandle *out) {
  const char *parts[3];
#if TVMFFI_NO_CONTAINERS
  (void)m;
#else
  tvmffi_i_search s;
  int code;
  s.name = name;
  s.method = TVMFFI_I_METHOD_GET_FUNCTION;
  s.value = tvmffi_none();
  TVMFFI_ASSERT(!*out);
  code = tvmffi_i_visit_imports(m, tvmffi_i_search_module, &s);
  if (code < 0) return code;
  *out = s.value.v_obj;
#endif
  if (!*out) TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, out));
  if (*out) return 0;
  parts[0] = "Cannot find function ";
  parts[1] = name.data;
  parts[2] = " in the imported modules or global registry.";
  TVMFFIErrorSetRaisedFromCStrParts("RuntimeError", parts, 3);
  return -1;
}

/* `library_ctx` points to the module's C++ object, which begins with the vtable
   pointer. As in upstream, a found function stays cached even if the imports
   change later. */
int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx,
                                  const char *func_name,
                                  TVMFFIObjectHandle *out) {
  tvmffi_i_module *m = (tvmffi_i_module *)library_ctx;
  TVMFFIObjectHandle module, function = NULL;
  TVMFFIByteArray name;
  tvmffi_i_cache *c;
  tvmffi_i_named *known;
  int code;
  TVMFFI_I_NOT_NULL(library_ctx);
  TVMFFI_I_NOT_NULL(func_name);
  TVMFFI_I_NOT_NULL(out);
  module = &m->base;
  TVMFFI_I_CHECK(module, kTVMFFIModule);
  name = tvmffi_byte_array(func_name);
  c = tvmffi_i_cache_of(m);
  known = c ? tvmffi_i_find_named(&c->functions, name) : NULL;
  if (TVMFFI_I_LIKELY(known)) {
    TVMFFI_ASSERT(known->address);
    *out = known->address;
    return 0;
  }
  TVMFFI_TRY(tvmffi_i_look_up(m, name, &function));
  c = tvmffi_i_make_cache(m);
  code = c ? tvmffi_i_enter_named(&c->functions, name, function, &known) : -1;
  /* Another thread may have cached a function, perhaps this one, first. */
  if (code != 1) tvmffi_i_release(function);
  if (code < 0) return code;
  TVMFFI_ASSERT(known->address);
  *out = known->address;
  return 0;
}
