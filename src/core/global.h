/* ======== Global functions: the table of global functions == >>core/global */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/mismatch.h"
#include "../platform/libc.h"
#include "../platform/thread_state.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../platform/hash.h"
#include "../platform/name_table.h"
#include "raise.h"
#include "type_member.h"

/* What else is known of a global function: one block of memory, or static for
   a built-in one. */
typedef struct {
  TVMFFIByteArray doc, metadata;
  int64_t flags;
  const tvmffi_func *typed; /* a built-in function, else NULL */
} tvmffi_i_about;

typedef struct {
  tvmffi_i_node node;
  TVMFFIObject *function;      /* NULL: removed */
  const tvmffi_i_about *about; /* NULL: nothing */
  uint32_t readers[2];
  uint32_t side; /* the counter that new readers use */
} tvmffi_i_global;

static tvmffi_i_map tvmffi_i_globals;

/* The table of the built-in functions stands last, as it names all of them. */
static void tvmffi_i_start_globals(void);

#if TVMFFI_NO_THREADS
#define TVMFFI_I_ENTER(entry, mine) ((void)((mine) = 0))
#define TVMFFI_I_LEAVE(entry, mine) ((void)0)
static void tvmffi_i_wait(tvmffi_i_global *g) { (void)g; }
#else
#define TVMFFI_I_ENTER(entry, mine)                    \
  ((mine) = TVMFFI_I_LOAD_RELAXED(&(entry)->side) & 1, \
   tvmffi_i_add32(&(entry)->readers[mine], 1))
#define TVMFFI_I_LEAVE(entry, mine) tvmffi_i_sub32(&(entry)->readers[mine], 1)
/* Waits until all have left who may have seen what was just replaced. */
static void tvmffi_i_wait(tvmffi_i_global *g) {
  uint32_t side;
  for (side = 0; side < 2; ++side) {
    tvmffi_i_put32(&g->side, 1 - side);
    while (TVMFFI_I_LOAD_SEQ(&g->readers[side])) tvmffi_i_yield();
  }
}
#endif

#if TVMFFI_I_FORK
/* Sets all readers' counters to 0 in a child of fork, whose only thread is in
   fork and so no reader. A counter that another thread of the parent has raised
   would never fall, and a writer would wait for ever. The list of entries is
   whole, as the mutex is held. Zeros are not written again, which would copy
   pages that parent and child share. */
static void tvmffi_i_forget_readers(void) {
  tvmffi_i_node *node = tvmffi_i_globals.first;
  for (; node; node = node->next) {
    tvmffi_i_global *g = (tvmffi_i_global *)(void *)node;
    if (g->readers[0]) g->readers[0] = 0;
    if (g->readers[1]) g->readers[1] = 0;
  }
}
#endif

/* Finds the entry of a name, or NULL; mutex held. */
static tvmffi_i_global *tvmffi_i_find_global(const TVMFFIByteArray *name) {
  return (tvmffi_i_global *)(void *)tvmffi_i_find(&tvmffi_i_globals, name->data,
                                                  name->size);
}

/* The next entry, from slot *i on, that may have a name with this hash; or
   NULL. It may get another name at any time. */
TVMFFI_I_ALWAYS_INLINE tvmffi_i_global *tvmffi_i_next_hashed(
    tvmffi_i_slots *table, uint32_t hash, size_t *i) {
  for (;; ++*i) {
    uintptr_t place = TVMFFI_I_LOAD(&tvmffi_i_places(table)[*i & table->mask]);
    tvmffi_i_global *g = (tvmffi_i_global *)(place - tvmffi_i_tag(hash));
    if (!place) return NULL;
    if ((place & TVMFFI_I_TAG) == tvmffi_i_tag(hash) &&
        TVMFFI_I_LOAD_RELAXED(&g->node.hash) == hash)
      return g;
  }
}

/* Counts the caller into an entry if it has the name. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_enter_if(tvmffi_i_global *g,
                                             const TVMFFIByteArray *name,
                                             uint32_t *side) {
  const char *key;
  if (TVMFFI_I_UNLIKELY(&g->node == &tvmffi_i_tombstone)) return 0;
  TVMFFI_I_ENTER(g, *side);
  key = TVMFFI_I_LOAD_SEQ(&g->node.key);
  if (TVMFFI_I_LIKELY(key && g->node.size == name->size &&
                      tvmffi_i_same_key(key, name->data, name->size)))
    return 1;
  TVMFFI_I_LEAVE(g, *side);
  return 0;
}

/* Goes on after an entry whose hash alone was that of the name. */
TVMFFI_I_SLOW tvmffi_i_global *tvmffi_i_enter_further(
    tvmffi_i_slots *table, uint32_t hash, size_t i, const TVMFFIByteArray *name,
    uint32_t *side) {
  tvmffi_i_global *g;
  do {
    ++i;
    g = tvmffi_i_next_hashed(table, hash, &i);
  } while (g && !tvmffi_i_enter_if(g, name, side));
  return g;
}

/* Counts the caller into the entry of a name, for TVMFFI_I_LEAVE, and returns
   it, or NULL. Takes no lock, and starts nothing. */
TVMFFI_I_ALWAYS_INLINE tvmffi_i_global *tvmffi_i_enter_global(
    const TVMFFIByteArray *name, uint32_t *side) {
  const uint32_t hash = tvmffi_i_hash(name->data, name->size);
  tvmffi_i_slots *table = TVMFFI_I_LOAD(&tvmffi_i_globals.table);
  size_t i = hash;
  tvmffi_i_global *g = table ? tvmffi_i_next_hashed(table, hash, &i) : NULL;
  if (!g || TVMFFI_I_LIKELY(tvmffi_i_enter_if(g, name, side))) return g;
  return tvmffi_i_enter_further(table, hash, i, name, side);
}

/* The function of a name, owned, or NULL. */
TVMFFI_I_ON_LINE TVMFFI_I_NOINLINE TVMFFIObject *tvmffi_i_take_global(
    const TVMFFIByteArray *name) {
  TVMFFIObject *function;
  uint32_t side;
  tvmffi_i_global *g = tvmffi_i_enter_global(name, &side);
  if (!g) return NULL;
  function = TVMFFI_I_LOAD_SEQ(&g->function);
  if (function) tvmffi_retain(function);
  TVMFFI_I_LEAVE(g, side);
  return function;
}

TVMFFI_I_ON_LINE int TVMFFIFunctionGetGlobal(const TVMFFIByteArray *name,
                                             TVMFFIObjectHandle *out) {
  TVMFFI_I_BYTES(name);
  TVMFFI_I_NOT_NULL(out);
  *out = tvmffi_i_take_global(name);
  if (TVMFFI_I_LIKELY(*out != NULL)) return 0;
  tvmffi_i_start_globals();
  *out = tvmffi_i_take_global(name);
  return 0;
}

/* Puts function and description into an entry and gives what was there, to be
   released after tvmffi_i_wait; mutex held. */
static void tvmffi_i_swap_global(tvmffi_i_global *g, TVMFFIObject **function,
                                 const tvmffi_i_about **about) {
  TVMFFIObject *old = g->function;
  const tvmffi_i_about *old_about = g->about;
  TVMFFI_I_STORE_SEQ(&g->function, *function);
  TVMFFI_I_STORE(&g->about, *about);
  *function = old;
  *about = old_about;
}

/* Drops what was in an entry, once no reader can have seen it there. */
static void tvmffi_i_free_global(TVMFFIObject *function,
                                 const tvmffi_i_about *about) {
  if (about && !about->typed) tvmffi_i_free((void *)about);
  tvmffi_release(function);
}

static void tvmffi_i_drop_global(tvmffi_i_global *g, TVMFFIObject *function,
                                 const tvmffi_i_about *about) {
  if (!function && !about) return;
  tvmffi_i_wait(g);
  tvmffi_i_free_global(function, about);
}

static int tvmffi_i_make_about(const TVMFFIMethodInfo *info,
                               const tvmffi_i_about **out) {
  tvmffi_i_about *about;
  char *to;
  *out = NULL;
  if (!info->doc.size && !info->metadata.size &&
      info->flags == kTVMFFIFieldFlagBitMaskIsStaticMethod)
    return 0;
  if (info->doc.size > PTRDIFF_MAX / 4 || info->metadata.size > PTRDIFF_MAX / 4)
    return tvmffi_i_no_memory();
  about = (tvmffi_i_about *)tvmffi_i_alloc(sizeof(*about) + info->doc.size +
                                           info->metadata.size);
  if (!about) return tvmffi_i_no_memory();
  to = (char *)(about + 1);
  about->doc.data = to;
  about->doc.size = info->doc.size;
  if (info->doc.size) memcpy(to, info->doc.data, info->doc.size);
  to += info->doc.size;
  about->metadata.data = to;
  about->metadata.size = info->metadata.size;
  if (info->metadata.size) memcpy(to, info->metadata.data, info->metadata.size);
  about->flags = info->flags;
  about->typed = NULL;
  *out = about;
  return 0;
}

/* The name begins behind the last field, where padding would. */
enum {
  TVMFFI_I_GLOBAL_HEAD = offsetof(tvmffi_i_global, side) + sizeof(uint32_t),
  TVMFFI_I_GLOBAL_CLASSES = TVMFFI_FREESTANDING ? 1 : 64
};

/* Entries without a name, linked by `about`: a list for each size class of 8
   bytes. The last list has all that are larger; a board has that list alone. */
static tvmffi_i_global *tvmffi_i_free_globals[TVMFFI_I_GLOBAL_CLASSES];

/* The memory of an entry whose name has `size` bytes, in units of 8 bytes. */
static size_t tvmffi_i_global_units(size_t size) {
  return (TVMFFI_I_GLOBAL_HEAD + size + 8) / 8;
}

static tvmffi_i_global **tvmffi_i_free_list_of(size_t units) {
  const size_t last = TVMFFI_I_GLOBAL_CLASSES - 1;
  return &tvmffi_i_free_globals[units < last ? units : last];
}

/* A free entry for a name of `size` bytes, or NULL; mutex held. */
static tvmffi_i_global *tvmffi_i_take_free(size_t size) {
  const size_t units = tvmffi_i_global_units(size);
  tvmffi_i_global **at = tvmffi_i_free_list_of(units), *g;
  while ((g = *at) != NULL && tvmffi_i_global_units(g->node.size) != units)
    at = (tvmffi_i_global **)(uintptr_t)&g->about;
  if (g) *at = (tvmffi_i_global *)(uintptr_t)g->about;
  return g;
}

/* Memory for a new entry and its name, or NULL; mutex held. It is never freed,
   so the entries stand close together, in blocks that grow with their number.
 */
static void *tvmffi_i_global_room(size_t size) {
  enum { SMALLEST = 512, LARGEST = 32768 };
  static char *room;
  static size_t left, block;
  char *at;
  if (size > left) {
    size_t next = block ? block * 2 : (size_t)SMALLEST;
    if (next > LARGEST) next = LARGEST;
    if (size > next / 4) return tvmffi_i_alloc(size);
    at = (char *)tvmffi_i_alloc(next);
    if (!at) return at;
    room = at;
    left = block = next;
  }
  at = room;
  room += size;
  left -= size;
  return at;
}

/* The entry of a name, made when it is missing, or NULL; mutex held. The key is
   the last word of an entry that is written. */
static tvmffi_i_global *tvmffi_i_make_global(const TVMFFIByteArray *name) {
  const size_t units = tvmffi_i_global_units(name->size);
  tvmffi_i_global *g = tvmffi_i_find_global(name);
  char *key;
  int is_new = 0;
  if (g) return g;
  if (tvmffi_i_reserve(&tvmffi_i_globals, name->size) != 0) return NULL;
  g = tvmffi_i_take_free(name->size);
  if (!g) {
    g = (tvmffi_i_global *)tvmffi_i_global_room(units * 8);
    if (!g) return g;
    memset(g, 0, TVMFFI_I_GLOBAL_HEAD);
    is_new = 1;
  }
  g->about = NULL;
  key = (char *)g + TVMFFI_I_GLOBAL_HEAD;
  if (name->size) memcpy(key, name->data, name->size);
  key[name->size] = 0;
  if (is_new) {
    tvmffi_i_insert(&tvmffi_i_globals, &g->node, key, name->size);
  } else {
    g->node.size = (uint32_t)name->size;
    TVMFFI_I_STORE(&g->node.hash, tvmffi_i_hash(key, name->size));
    TVMFFI_I_STORE(&g->node.key, (const char *)key);
    tvmffi_i_globals.used +=
        (size_t)tvmffi_i_place(tvmffi_i_globals.table, &g->node);
  }
  return g;
}

/* Upstream's texts for a taken name; `by_info` tells which function failed. */
TVMFFI_I_COLD int tvmffi_i_name_taken(const TVMFFIByteArray *name,
                                      int by_info) {
  return tvmffi_i_fail("RuntimeError",
                       "Global Function `%.*s` is already registered%s",
                       TVMFFI_I_TEXT(*name),
                       by_info ? ", possible causes:\n"
                                 "- Two GlobalDef().def registrations for the "
                                 "same function \n"
                                 "Please remove the duplicate registration."
                               : "");
}

static int tvmffi_i_set_global(const TVMFFIMethodInfo *info, int override,
                               int by_info) {
  TVMFFIObject *function = info->method.v_obj;
  const tvmffi_i_about *about;
  tvmffi_i_global *g;
  int taken;
  tvmffi_i_start_globals();
  TVMFFI_TRY(tvmffi_i_make_about(info, &about));
  tvmffi_retain(function);
  tvmffi_i_lock();
  g = tvmffi_i_make_global(&info->name);
  taken = g && g->function && !override ? 1 + (g->function == function) : 0;
  if (g && !taken) tvmffi_i_swap_global(g, &function, &about);
  tvmffi_i_unlock();
  if (g && !taken) {
    tvmffi_i_drop_global(g, function, about);
    return 0;
  }
  tvmffi_i_free((void *)about);
  tvmffi_release(function);
  if (!g) return tvmffi_i_no_memory();
  return taken == 2 ? 0 : tvmffi_i_name_taken(&info->name, by_info);
}

int TVMFFIFunctionSetGlobal(const TVMFFIByteArray *name, TVMFFIObjectHandle f,
                            int allow_override) {
  TVMFFIMethodInfo info;
  TVMFFI_I_BYTES(name);
  TVMFFI_I_CHECK(f, kTVMFFIFunction);
  memset(&info, 0, sizeof(info));
  info.name = *name;
  info.flags = kTVMFFIFieldFlagBitMaskIsStaticMethod;
  info.method = tvmffi_obj(f);
  return tvmffi_i_set_global(&info, allow_override, 0);
}

int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo *method_info,
                                          int allow_override) {
  TVMFFI_TRY(tvmffi_i_check_method(__func__, method_info));
  return tvmffi_i_set_global(method_info, allow_override, 1);
}

/* Removes a name; gives whether it was there. The entry of a built-in function,
   which is static and has no room for a name, is not used again. */
static int tvmffi_i_remove_global(const TVMFFIByteArray *name) {
  const tvmffi_i_about *about = NULL;
  TVMFFIObject *function = NULL;
  tvmffi_i_global *g, **list;
  int has_room = 0;
  tvmffi_i_lock();
  g = tvmffi_i_find_global(name);
  if (g) {
    has_room = g->node.key == (const char *)g + TVMFFI_I_GLOBAL_HEAD;
    tvmffi_i_swap_global(g, &function, &about);
    tvmffi_i_unplace(&tvmffi_i_globals, &g->node);
    TVMFFI_I_STORE_SEQ(&g->node.key, (const char *)NULL);
  }
  tvmffi_i_unlock();
  if (!g) return 0;
  tvmffi_i_wait(g);
  if (has_room) {
    tvmffi_i_lock();
    list = tvmffi_i_free_list_of(tvmffi_i_global_units(g->node.size));
    g->about = (const tvmffi_i_about *)(const void *)*list;
    *list = g;
    tvmffi_i_unlock();
  }
  tvmffi_i_free_global(function, about);
  return 1;
}

/* How a functor that takes an index shows itself in error texts: it has no
   name of its own. */
static const tvmffi_i_name *const tvmffi_i_by_index_types[] = {
    &tvmffi_i_name_any, &tvmffi_i_name_int64};
static const tvmffi_func tvmffi_i_by_index = {"", NULL, 1,
                                              tvmffi_i_by_index_types};

/* The index that such a functor is called with. */
static int tvmffi_i_get_index(const TVMFFIAny *args, int32_t num_args,
                              const TVMFFIAny *result, int64_t *index) {
  int code;
  if (num_args != 1)
    return tvmffi_i_bad_call(&tvmffi_i_by_index, num_args, result);
  code = tvmffi_i_get_int64(args, index);
  return code ? tvmffi_i_bad_arg(&tvmffi_i_by_index, 0, args, code) : 0;
}
