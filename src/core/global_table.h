/* ======== Global functions: their table =============== >>core/global_table */
/* Readers of the global function table take no lock. A reader increments one of
   an entry's two counters, compares the name, and retains the function. A
   writer replaces the function, waits for a grace period, and then releases the
   old function. The grace period ends when each counter was 0 once. New readers
   use the other counter meanwhile, so the grace period does end.

   An entry is never freed, because a reader may still look at it. When a name
   is removed, the entry's key becomes NULL. After a grace period the entry goes
   into a free list. A pinned entry keeps its key, because callers use its
   address (interface/global.h). A pinned entry without a function counts as
   absent. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "raise.h"
#include "type_member.h"
#include "function_object.h"

/* 1 if callers may use the address of an entry of the global function table. */
#if TVMFFI_FREESTANDING || defined(TVMFFI_BUILTINS) || TVMFFI_NO_BUILTINS
#define TVMFFI_I_CELLS 0
#else
#define TVMFFI_I_CELLS 1
#endif

/* Metadata of a global function, one allocated block. */
typedef struct {
  TVMFFIByteArray doc, metadata;
  int64_t flags;
} tvmffi_i_global_info;

typedef struct {
  tvmffi_i_node node;
  TVMFFIObject *function;           /* NULL if absent */
  const tvmffi_i_global_info *info; /* or NULL */
  uint32_t readers[2];
  uint32_t side; /* index of the counter for new readers */
#if TVMFFI_I_CELLS
  char is_pinned;
#endif
} tvmffi_i_global;

TVMFFI_I_INLINE int tvmffi_i_is_pinned(const tvmffi_i_global *g) {
#if TVMFFI_I_CELLS
  return g->is_pinned;
#else
  return (void)g, 0;
#endif
}

static tvmffi_i_name_table tvmffi_i_globals;

/* Ensures that the table has the built-in function with this name, if there is
   one. Returns 0, or -1 with a MemoryError. Defined in tables/builtin.h. */
static int tvmffi_i_start_global(const TVMFFIByteArray *name);

#if TVMFFI_NO_THREADS
#define TVMFFI_I_ENTER(entry, mine) ((void)((mine) = 0))
#define TVMFFI_I_LEAVE(entry, mine) ((void)(mine))
#define TVMFFI_I_HAS_READER(entry, mine) (!(mine))
static void tvmffi_i_wait(tvmffi_i_global *g) { (void)g; }
#else
#define TVMFFI_I_ENTER(entry, mine)                    \
  ((mine) = TVMFFI_I_LOAD_RELAXED(&(entry)->side) & 1, \
   tvmffi_i_add32(&(entry)->readers[mine], 1))
#define TVMFFI_I_LEAVE(entry, mine) tvmffi_i_sub32(&(entry)->readers[mine], 1)
#define TVMFFI_I_HAS_READER(entry, mine) \
  (TVMFFI_I_LOAD_RELAXED(&(entry)->readers[mine]) != 0) /* for assertions */
/* One step of tvmffi_i_wait. In a child process, a reader may be a thread of
   the parent, which never leaves. */
TVMFFI_I_COLD void tvmffi_i_wait_more(int attempt) {
#if TVMFFI_I_FORK
  if (tvmffi_i_is_unknown_child()) {
    tvmffi_i_lock_in_child();
    tvmffi_i_unlock();
  }
#endif
  tvmffi_i_pause(attempt);
}

/* Waits until all readers that may have seen the old function have left the
   entry. */
static void tvmffi_i_wait(tvmffi_i_global *g) {
  uint32_t side;
  int attempt = 0;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  for (side = 0; side < 2; ++side) {
    tvmffi_i_put32(&g->side, 1 - side);
    while (TVMFFI_I_LOAD_SEQ(&g->readers[side])) tvmffi_i_wait_more(attempt++);
  }
}
#endif

#if TVMFFI_I_FORK
/* Sets all reader counters to 0 in a child process after fork. Readers of the
   parent do not run in the child, so their counts would block writers forever.
   Skips zeros, because a write copies a page shared with the parent. */
static void tvmffi_i_forget_readers(void) {
  tvmffi_i_node *node = tvmffi_i_globals.first;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED && tvmffi_i_is_child);
  for (; node; node = node->next) {
    tvmffi_i_global *g = (tvmffi_i_global *)(void *)node;
    if (g->readers[0]) g->readers[0] = 0;
    if (g->readers[1]) g->readers[1] = 0;
  }
}
#endif

/* Returns the entry with this name, or NULL. */
static tvmffi_i_global *tvmffi_i_find_global(const TVMFFIByteArray *name) {
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  return (tvmffi_i_global *)(void *)tvmffi_i_find(&tvmffi_i_globals, name->data,
                                                  name->size);
}

/* Returns the first entry with this hash from slot `*i` on, or NULL. Stores the
   entry's slot in `*i`. The entry's name may change at any time. */
TVMFFI_I_ALWAYS_INLINE tvmffi_i_global *tvmffi_i_next_hashed(
    tvmffi_i_slots *table, uint32_t hash, size_t *i) {
  for (;; ++*i) {
    uintptr_t slot =
        TVMFFI_I_LOAD(tvmffi_i_slot_at(table, sizeof(slot), *i & table->mask));
    tvmffi_i_global *g = (tvmffi_i_global *)(slot - tvmffi_i_tag(hash));
    if (!slot) return NULL;
    if ((slot & TVMFFI_I_TAG) == tvmffi_i_tag(hash) &&
        TVMFFI_I_LOAD_RELAXED(&g->node.hash) == hash)
      return g;
  }
}

/* If the entry has this name, registers a reader by TVMFFI_I_ENTER and returns
   1. Otherwise returns 0. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_enter_if(tvmffi_i_global *g,
                                             const TVMFFIByteArray *name,
                                             uint32_t *side) {
  const char *key;
  if (TVMFFI_I_UNLIKELY(&g->node == &tvmffi_i_tombstone)) return 0;
  TVMFFI_I_ENTER(g, *side);
  TVMFFI_ASSERT(TVMFFI_I_HAS_READER(g, *side));
  key = TVMFFI_I_LOAD_SEQ(&g->node.key);
  if (TVMFFI_I_LIKELY(key && g->node.size == name->size &&
                      tvmffi_i_same_key(key, name->data, name->size)))
    return 1;
  TVMFFI_I_LEAVE(g, *side);
  return 0;
}

/* Continues the search of tvmffi_i_enter_global after a hash collision in slot
   `i`. */
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

/* Finds an entry by name and enters it as a reader. Returns NULL if no entry
   has the name. The caller must call TVMFFI_I_LEAVE. Takes no lock and does not
   start the table. */
TVMFFI_I_ALWAYS_INLINE tvmffi_i_global *tvmffi_i_enter_global(
    const TVMFFIByteArray *name, uint32_t *side) {
  const uint32_t hash = tvmffi_i_hash(name->data, name->size);
  tvmffi_i_slots *table = TVMFFI_I_LOAD(&tvmffi_i_globals.table);
  size_t i = hash;
  tvmffi_i_global *g = table ? tvmffi_i_next_hashed(table, hash, &i) : NULL;
  if (!g || TVMFFI_I_LIKELY(tvmffi_i_enter_if(g, name, side))) return g;
  return tvmffi_i_enter_further(table, hash, i, name, side);
}

/* Returns the function (owned) of an entry, or NULL. The caller has called
   TVMFFI_I_ENTER. Calls TVMFFI_I_LEAVE. */
TVMFFI_I_ALWAYS_INLINE TVMFFIObject *tvmffi_i_take_entered(tvmffi_i_global *g,
                                                           uint32_t side) {
  TVMFFIObject *function = TVMFFI_I_LOAD_SEQ(&g->function);
  TVMFFI_ASSERT(side < 2 && TVMFFI_I_HAS_READER(g, side));
  if (function) tvmffi_i_retain(function);
  TVMFFI_I_LEAVE(g, side);
  return function;
}

/* Returns the function with this name (owned), or NULL. */
TVMFFI_I_ON_LINE TVMFFI_I_NOINLINE TVMFFIObject *tvmffi_i_take_global(
    const TVMFFIByteArray *name) {
  uint32_t side;
  tvmffi_i_global *g = tvmffi_i_enter_global(name, &side);
  return g ? tvmffi_i_take_entered(g, side) : NULL;
}

TVMFFI_I_ON_LINE int TVMFFIFunctionGetGlobal(const TVMFFIByteArray *name,
                                             TVMFFIObjectHandle *out) {
  TVMFFI_I_CHECK_BYTES(name);
  TVMFFI_I_NOT_NULL(out);
  *out = tvmffi_i_take_global(name);
  if (TVMFFI_I_LIKELY(*out != NULL)) return 0;
  TVMFFI_TRY(tvmffi_i_start_global(name));
  *out = tvmffi_i_take_global(name);
  return 0;
}

/* Swaps an entry's function and metadata with the arguments. After
   tvmffi_i_wait, the caller releases what the arguments then hold. The function
   comes last, so a reader that sees the new function also sees its
   metadata. */
static void tvmffi_i_swap_global(tvmffi_i_global *g, TVMFFIObject **function,
                                 const tvmffi_i_global_info **info) {
  TVMFFIObject *old = g->function;
  const tvmffi_i_global_info *old_info = g->info;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  TVMFFI_ASSERT(TVMFFI_I_LOAD(&g->node.key));
  TVMFFI_ASSERT((old || !old_info) && (*function || !*info));
  TVMFFI_I_STORE(&g->info, *info);
  TVMFFI_I_STORE_SEQ(&g->function, *function);
  *function = old;
  *info = old_info;
}

/* Releases a replaced function and its metadata, after the grace period. */
static void tvmffi_i_free_global(TVMFFIObject *function,
                                 const tvmffi_i_global_info *info) {
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE && (function || !info));
  tvmffi_i_free((void *)info);
  tvmffi_i_release(function);
}

static int tvmffi_i_make_global_info(const TVMFFIMethodInfo *method,
                                     const tvmffi_i_global_info **out) {
  const TVMFFIByteArray *doc = &method->doc, *metadata = &method->metadata;
  tvmffi_i_global_info *info;
  *out = NULL;
  if (!doc->size && !metadata->size &&
      method->flags == kTVMFFIFieldFlagBitMaskIsStaticMethod)
    return 0;
  if (tvmffi_i_is_huge(doc->size | metadata->size)) return tvmffi_i_no_memory();
  info = (tvmffi_i_global_info *)tvmffi_i_alloc(sizeof(*info) + doc->size +
                                                metadata->size + 2);
  if (!info) return tvmffi_i_no_memory();
  info->doc.data = tvmffi_i_copy_text((char *)(info + 1), *doc);
  info->doc.size = doc->size;
  info->metadata.data =
      tvmffi_i_copy_text((char *)(info + 1) + doc->size + 1, *metadata);
  info->metadata.size = metadata->size;
  info->flags = method->flags;
  *out = info;
  return 0;
}

/* An entry's name follows the last field, inside the struct's padding. */
enum {
  TVMFFI_I_GLOBAL_HEAD =
      offsetof(tvmffi_i_global, side) + sizeof(uint32_t) + TVMFFI_I_CELLS,
  TVMFFI_I_GLOBAL_CLASSES = TVMFFI_FREESTANDING ? 1 : 64
};

/* Free lists of entries by size in units of 8 bytes, linked by `info`. The last
   list has all larger entries; a freestanding build has only the last list. */
static tvmffi_i_global *tvmffi_i_free_globals[TVMFFI_I_GLOBAL_CLASSES];

/* Returns the size of an entry with a name of `size` bytes, in units of 8
   bytes. */
static size_t tvmffi_i_global_units(size_t size) {
  return (TVMFFI_I_GLOBAL_HEAD + size + 8) / 8;
}

static tvmffi_i_global **tvmffi_i_free_list_of(size_t units) {
  const size_t last = TVMFFI_I_GLOBAL_CLASSES - 1;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  TVMFFI_ASSERT(units * 8 > TVMFFI_I_GLOBAL_HEAD);
  return &tvmffi_i_free_globals[units < last ? units : last];
}

/* Takes an entry for a name of `size` bytes from its free list, or returns
   NULL. */
static tvmffi_i_global *tvmffi_i_take_free(size_t size) {
  const size_t units = tvmffi_i_global_units(size);
  tvmffi_i_global **at = tvmffi_i_free_list_of(units), *g;
  while ((g = *at) != NULL && tvmffi_i_global_units(g->node.size) != units)
    at = (tvmffi_i_global **)(uintptr_t)&g->info;
  TVMFFI_ASSERT(!g || !tvmffi_i_is_pinned(g));
  if (g) *at = (tvmffi_i_global *)(uintptr_t)g->info;
  return g;
}

/* Allocates `size` bytes for an entry and its name, or returns NULL. */
#if TVMFFI_FREESTANDING
static void *tvmffi_i_alloc_global(size_t size) { return tvmffi_i_alloc(size); }
#else
/* Entries are never freed, so they share blocks, which grow with the number of
   entries. */
static void *tvmffi_i_alloc_global(size_t size) {
  enum { SMALLEST = 512, LARGEST = 32768 };
  static char *free_space;
  static size_t left, block;
  char *at;
  if (size > left) {
    size_t next = block ? block * 2 : (size_t)SMALLEST;
    if (next > LARGEST) next = LARGEST;
    if (size > next / 4) return tvmffi_i_alloc(size);
    at = (char *)tvmffi_i_alloc(next);
    if (!at) return at;
    free_space = at;
    left = block = next;
  }
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  TVMFFI_ASSERT(size % 8 == 0 && size <= left);
  at = free_space;
  free_space += size;
  left -= size;
  TVMFFI_ASSERT(((uintptr_t)at & TVMFFI_I_TAG) == 0);
  return at;
}
#endif

/* Returns the entry with this name, created if missing, or NULL if out of
   memory. Writes a reused entry's key last, because readers take no lock. */
static tvmffi_i_global *tvmffi_i_make_global(const TVMFFIByteArray *name) {
  const size_t units = tvmffi_i_global_units(name->size);
  tvmffi_i_global *g = tvmffi_i_find_global(name);
  char *key;
  int is_new = 0;
  if (g) return g;
  if (tvmffi_i_reserve(&tvmffi_i_globals, name->size) != 0) return NULL;
  g = tvmffi_i_take_free(name->size);
  if (!g) {
    g = (tvmffi_i_global *)tvmffi_i_alloc_global(units * 8);
    if (!g) return g;
    memset(g, 0, TVMFFI_I_GLOBAL_HEAD);
    is_new = 1;
  }
  g->info = NULL;
  TVMFFI_ASSERT(!g->function && !g->node.key);
  key = (char *)g + TVMFFI_I_GLOBAL_HEAD;
  TVMFFI_ASSERT(key + name->size < (char *)g + units * 8);
  (void)tvmffi_i_copy_text(key, *name);
  if (is_new) {
    tvmffi_i_insert(&tvmffi_i_globals, &g->node, key, name->size);
  } else {
    g->node.size = (uint32_t)name->size;
    TVMFFI_I_STORE(&g->node.hash, tvmffi_i_hash(key, name->size));
    TVMFFI_I_STORE(&g->node.key, (const char *)key);
    tvmffi_i_fill_slot(&tvmffi_i_globals, &g->node);
  }
  TVMFFI_ASSERT(tvmffi_i_find_global(name) == g);
  return g;
}

/* Raises upstream's error for a name that is already registered. `by_info`
   selects the message. */
TVMFFI_I_COLD int tvmffi_i_name_taken(const TVMFFIByteArray *name,
                                      int by_info) {
  return tvmffi_i_runtime_error(
      "Global Function `%.*s` is already registered%s", TVMFFI_I_TEXT(*name),
      by_info ? ", possible causes:\n"
                "- Two GlobalDef().def registrations for the "
                "same function \n"
                "Please remove the duplicate registration."
              : "");
}

static int tvmffi_i_set_global(const TVMFFIMethodInfo *method, int override,
                               int by_info) {
  TVMFFIObject *function = method->method.v_obj;
  const tvmffi_i_global_info *info;
  tvmffi_i_global *g;
  int taken;
  TVMFFI_ASSERT(function && TVMFFI_I_IS_FREE);
  TVMFFI_TRY(tvmffi_i_start_global(&method->name));
  TVMFFI_TRY(tvmffi_i_make_global_info(method, &info));
  tvmffi_i_retain(function);
  tvmffi_i_lock();
  g = tvmffi_i_make_global(&method->name);
  taken = g && g->function && !override ? 1 + (g->function == function) : 0;
  if (g && !taken) tvmffi_i_swap_global(g, &function, &info);
  tvmffi_i_unlock();
  if (g && !taken) {
    if (function) {
      tvmffi_i_wait(g);
      tvmffi_i_free_global(function, info);
    }
    return 0;
  }
  tvmffi_i_free((void *)info);
  tvmffi_i_release(function);
  if (!g) return tvmffi_i_no_memory();
  return taken == 2 ? 0 : tvmffi_i_name_taken(&method->name, by_info);
}

int TVMFFIFunctionSetGlobal(const TVMFFIByteArray *name, TVMFFIObjectHandle f,
                            int allow_override) {
  TVMFFIMethodInfo info;
  TVMFFI_I_CHECK_BYTES(name);
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

/* Removes a global function. Returns 1 if the function existed, else 0. The
   static entry of a built-in function is not reused, because another name has
   no space there. */
static int tvmffi_i_remove_global(const TVMFFIByteArray *name) {
  const tvmffi_i_global_info *info = NULL;
  TVMFFIObject *function = NULL;
  tvmffi_i_global *g, **list;
  int is_reusable = 0;
  tvmffi_i_lock();
  g = tvmffi_i_find_global(name);
  if (g) {
    is_reusable = g->node.key == (const char *)g + TVMFFI_I_GLOBAL_HEAD &&
                  !tvmffi_i_is_pinned(g);
    tvmffi_i_swap_global(g, &function, &info);
  }
  if (g && !tvmffi_i_is_pinned(g)) {
    tvmffi_i_clear_slot(&tvmffi_i_globals, &g->node);
    TVMFFI_I_STORE_SEQ(&g->node.key, (const char *)NULL);
  }
  tvmffi_i_unlock();
  if (!function) return 0;
  tvmffi_i_wait(g);
  if (is_reusable) {
    tvmffi_i_lock();
    TVMFFI_ASSERT(!g->function && !g->info && !g->node.key);
    list = tvmffi_i_free_list_of(tvmffi_i_global_units(g->node.size));
    g->info = (const tvmffi_i_global_info *)(const void *)*list;
    *list = g;
    tvmffi_i_unlock();
  }
  tvmffi_i_free_global(function, info);
  return 1;
}

#if TVMFFI_I_CELLS
/* Calls the function that the pinned entry `self` has at the moment. */
static int tvmffi_i_call_cell(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  tvmffi_i_global *g = (tvmffi_i_global *)self;
  TVMFFIObject *function;
  uint32_t side;
  int code;
  TVMFFI_ASSERT(TVMFFI_I_LOAD(&g->node.key));
  TVMFFI_I_ENTER(g, side);
  function = tvmffi_i_take_entered(g, side);
  if (TVMFFI_I_UNLIKELY(!function))
    return tvmffi_i_value_error("Function %s not found", g->node.key);
  code = TVMFFIFunctionCall(function, (TVMFFIAny *)(uintptr_t)args, num_args,
                            result);
  tvmffi_i_release(function);
  return code;
}

/* Pins the entry with this name, created if missing, or returns NULL. */
static tvmffi_i_global *tvmffi_i_pin_global(const TVMFFIByteArray *name) {
  tvmffi_i_global *g;
  tvmffi_i_lock();
  g = tvmffi_i_make_global(name);
  if (g) g->is_pinned = 1;
  tvmffi_i_unlock();
  return g;
}
#endif

/* The signature that error messages show for a function that takes an index. */
static const tvmffi_i_word *const tvmffi_i_by_index_types[] = {
    &tvmffi_i_word_any, &tvmffi_i_word_int64};
static const tvmffi_func tvmffi_i_by_index = {
    "", NULL, tvmffi_i_by_index_types,
    1 TVMFFI_I_SIGNATURE(NULL, 1, NULL, NULL)};

/* Reads the only argument of a function that takes an index, or raises an
   error. */
static int tvmffi_i_get_index(const TVMFFIAny *args, int32_t num_args,
                              const TVMFFIAny *result, int64_t *index) {
  int code;
  if (num_args != 1)
    return tvmffi_i_bad_call(&tvmffi_i_by_index, num_args, result);
  code = tvmffi_i_from_any(&tvmffi_i_word_int64, args, index);
  return code ? tvmffi_i_bad_arg(&tvmffi_i_by_index, 0, args, code) : 0;
}
