/* ======== Structural ===================================== >>extra/structural
   what structural equality and hash share */
/* Whether two values have the same structure, where they first differ, and the
   hash that goes with it (upstream's extra/structural_equal.cc and
   structural_hash.cc): what a type counts as, and which of its fields, say its
   metadata and the flags of the fields. What is being looked at stands on a
   stack of frames and not on the thread's; only hooks (__s_equal__ and
   __s_hash__) and keys of maps nest, up to a limit. A frame keeps its objects
   where a hook could change what holds them. Takes no lock. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/word.h"
#include "../interface/mismatch.h"
#include "../interface/tensor.h"
#include "../platform/libc.h"
#include "../platform/thread_state.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../core/raise.h"
#include "../containers/equal.h"
#include "../modules/environment.h"
#include "../reflection/field.h"
#include "graph.h"

#if !TVMFFI_NO_EXTRA
enum {
  /* Of hooks and keys: how deep, and how much of the thread's stack. */
  TVMFFI_I_MAX_STRUCTURAL_NESTING = 4096,
  TVMFFI_I_MAX_NESTING_KB = 768,
  /* What a look at one value ends with, besides the code of an error. */
  TVMFFI_I_DIFFERENT = 0,
  TVMFFI_I_SAME = 1,
  TVMFFI_I_PUSHED = 2 /* a frame, which has to be worked off */
};

/* What is known of objects, by address; the table keeps them alive. A table of
   pairs has the second object, which it owns, as the value, and may have an
   object in several pairs. */
typedef struct {
  TVMFFIObject *key; /* owned, NULL: a free place */
  uint64_t value;
} tvmffi_i_memo;

typedef struct {
  tvmffi_i_memo *places;
  size_t size, count; /* size: 0 or a power of two */
  int is_pairs;
} tvmffi_i_memos;

/* The place of an object, or of a pair, or the free one where it belongs; there
   is one. */
TVMFFI_I_INLINE tvmffi_i_memo *tvmffi_i_memo_place(const tvmffi_i_memos *m,
                                                   const TVMFFIObject *key,
                                                   uint64_t value) {
  uint64_t hash = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u;
  size_t i;
  if (m->is_pairs) hash = (hash ^ hash >> 29 ^ value) * 0xBF58476D1CE4E5B9u;
  i = (size_t)(hash >> 32) & (m->size - 1);
  while (m->places[i].key && (m->places[i].key != key ||
                              (m->is_pairs && m->places[i].value != value)))
    i = (i + 1) & (m->size - 1);
  return &m->places[i];
}

TVMFFI_I_INLINE tvmffi_i_memo *tvmffi_i_find_memo(const tvmffi_i_memos *m,
                                                  const TVMFFIObject *key) {
  tvmffi_i_memo *place;
  if (!m->count) return NULL;
  place = tvmffi_i_memo_place(m, key, 0);
  return place->key ? place : NULL;
}

TVMFFI_I_INLINE int tvmffi_i_has_pair(const tvmffi_i_memos *m,
                                      const TVMFFIObject *a,
                                      const TVMFFIObject *b) {
  return m->count && tvmffi_i_memo_place(m, a, (uintptr_t)b)->key;
}

static int tvmffi_i_set_memo(tvmffi_i_memos *m, TVMFFIObject *key,
                             uint64_t value) {
  tvmffi_i_memo *place;
  tvmffi_i_memos grown = *m;
  size_t i;
  if (m->count * 2 >= m->size) {
    grown.size = m->size ? m->size * 2 : 16;
    if (grown.size > PTRDIFF_MAX / sizeof(*place)) return tvmffi_i_no_memory();
    grown.places = (tvmffi_i_memo *)tvmffi_i_alloc(grown.size * sizeof(*place));
    if (!grown.places) return tvmffi_i_no_memory();
    memset((void *)grown.places, 0, grown.size * sizeof(*place));
    for (i = 0; i < m->size; ++i)
      if (m->places[i].key)
        *tvmffi_i_memo_place(&grown, m->places[i].key, m->places[i].value) =
            m->places[i];
    tvmffi_i_free(m->places);
    *m = grown;
  }
  place = tvmffi_i_memo_place(m, key, value);
  if (!place->key) {
    tvmffi_retain(key);
    if (m->is_pairs) tvmffi_retain((TVMFFIObject *)(uintptr_t)value);
    place->key = key;
    ++m->count;
  }
  place->value = value;
  return 0;
}

/* Empties a table. */
static void tvmffi_i_drop_memos(tvmffi_i_memos *m) {
  tvmffi_i_memos dropped = *m;
  size_t i;
  m->places = NULL;
  m->size = m->count = 0;
  for (i = 0; i < dropped.size && dropped.count; ++i) {
    if (!dropped.places[i].key) continue;
    tvmffi_release(dropped.places[i].key);
    if (dropped.is_pairs)
      tvmffi_release((TVMFFIObject *)(uintptr_t)dropped.places[i].value);
    --dropped.count;
  }
  tvmffi_i_free(dropped.places);
}

/* Memoised results of shared objects: a pair that is equal, or the hash of a
   container. They make the time proportional to the references of a graph, not
   to its paths. A result stays valid because an object that has been mapped or
   hashed keeps that mapping or hash. The exception is a map with an object as a
   key that has neither yet: a result that depends on one is loose, which means
   that it is valid until the next object is mapped or hashed. */
typedef struct {
  size_t entries, num_loose;
} tvmffi_i_progress;

typedef struct {
  tvmffi_i_memos firm, loose;
  size_t entries;   /* objects mapped or hashed when `loose` was filled */
  size_t num_loose; /* counts each loose result that is found or used */
  tvmffi_i_progress *begun; /* a stack: the counts when each result was begun */
  size_t num_begun, max_begun;
} tvmffi_i_results;

TVMFFI_I_NOINLINE int tvmffi_i_begin_result(tvmffi_i_results *r,
                                            size_t entries) {
  if (r->num_begun == r->max_begun) {
    tvmffi_i_progress *begun = (tvmffi_i_progress *)tvmffi_i_larger(
        r->begun, &r->max_begun, sizeof(*begun));
    if (!begun) return -1;
    r->begun = begun;
  }
  r->begun[r->num_begun].entries = entries;
  r->begun[r->num_begun++].num_loose = r->num_loose;
  return 0;
}

/* Stores the result that was begun last, unless it is loose and has become
   invalid already. The caller takes it off the stack. */
TVMFFI_I_NOINLINE int tvmffi_i_set_result(tvmffi_i_results *r, size_t entries,
                                          TVMFFIObject *key, uint64_t value) {
  const tvmffi_i_progress *begun = &r->begun[r->num_begun - 1];
  if (r->num_loose == begun->num_loose)
    return tvmffi_i_set_memo(&r->firm, key, value);
  if (begun->entries != entries) return 0;
  if (r->entries != entries) tvmffi_i_drop_memos(&r->loose);
  r->entries = entries;
  return tvmffi_i_set_memo(&r->loose, key, value);
}

static void tvmffi_i_drop_results(tvmffi_i_results *r) {
  tvmffi_i_drop_memos(&r->firm);
  tvmffi_i_drop_memos(&r->loose);
  tvmffi_i_free(r->begun);
}

/* What both have: the region that definitions are in, and the function that
   hooks are called with. `link` is that function's own memory, so that it can
   tell that the comparison is over. */
typedef struct {
  int32_t region, skips_tensors;
  TVMFFIObject *callback; /* owned */
  void **link;            /* borrowed from the callback */
} tvmffi_i_structural;

/* How far the stack has gone since the outermost of them. What is farther away
   than any stack would go at once stands on another one, of a fiber say. */
TVMFFI_I_INLINE int tvmffi_i_is_stack_used(tvmffi_i_thread *t) {
  const uintptr_t most = (uintptr_t)TVMFFI_I_MAX_NESTING_KB * 1024;
  uintptr_t here = tvmffi_i_stack_address();
  uintptr_t used;
  if (!t->nesting) t->nesting_base = here;
  used =
      here < t->nesting_base ? t->nesting_base - here : here - t->nesting_base;
  return used > most && used / 2 < most;
}

/* Hooks that compare, and keys of maps that are compared, use the thread's
   stack; this counts them. */
static int tvmffi_i_nest(void) {
  tvmffi_i_thread *t = tvmffi_i_self();
  if (tvmffi_i_is_stack_used(t) ||
      t->nesting >= TVMFFI_I_MAX_STRUCTURAL_NESTING)
    return tvmffi_i_fail("RecursionError",
                         "Structural hooks and keys are nested more than %d "
                         "deep, or use more than %d KB of the stack",
                         (int)TVMFFI_I_MAX_STRUCTURAL_NESTING,
                         (int)TVMFFI_I_MAX_NESTING_KB);
  ++t->nesting;
  return 0;
}

static void tvmffi_i_unnest(void) { --tvmffi_i_self()->nesting; }

static int tvmffi_i_make_callback(tvmffi_i_structural *s, void *state,
                                  TVMFFISafeCallType call) {
  TVMFFIObjectHandle f = NULL;
  if (s->callback) return 0;
  s->link = (void **)tvmffi_i_alloc(sizeof(*s->link));
  if (!s->link) return tvmffi_i_no_memory();
  *s->link = state;
  if (TVMFFIFunctionCreate(s->link, call, tvmffi_i_free, &f)) {
    tvmffi_i_free(s->link);
    return -1;
  }
  s->callback = (TVMFFIObject *)f;
  return 0;
}

static void tvmffi_i_drop_callback(tvmffi_i_structural *s) {
  if (!s->callback) return;
  *s->link = NULL;
  tvmffi_release(s->callback);
}

/* The state behind a callback whose arguments are right: `n` of them, number 2
   or, of four, 2 an integer. NULL with the error raised if not. */
static void *tvmffi_i_callback_state(void *self, const tvmffi_func *f,
                                     const TVMFFIAny *args, int32_t num_args,
                                     const TVMFFIAny *result) {
  void *state = *(void **)self;
  int32_t i;
  if (num_args != f->num_args ||
      result->type_index >= kTVMFFIStaticObjectBegin) {
    (void)tvmffi_i_bad_call(f, num_args, result);
    return NULL;
  }
  for (i = num_args; i-- > 0;) {
    if (f->types[i + 1] != &tvmffi_i_name_int64 || TVMFFI_I_IS_INT(&args[i]))
      continue;
    (void)tvmffi_i_bad_arg(f, i, args, TVMFFI_I_MISMATCH);
    return NULL;
  }
  if (!state)
    (void)tvmffi_i_fail("RuntimeError",
                        "The callback of a structural hook was called after "
                        "its end");
  return state;
}

/* The region inside another: of patterns all of it is, else what is said. */
TVMFFI_I_INLINE int32_t tvmffi_i_region_in(int32_t outer, int32_t inner) {
  return outer == kTVMFFIDefRegionKindPattern ||
                 inner == kTVMFFIDefRegionKindNone
             ? outer
             : inner;
}

TVMFFI_I_INLINE int32_t tvmffi_i_field_region(const TVMFFIFieldInfo *field,
                                              int32_t outer) {
  int64_t flags = field->flags;
  if (flags & kTVMFFIFieldFlagBitMaskSEqHashDefSimple)
    return tvmffi_i_region_in(outer, kTVMFFIDefRegionKindSimple);
  if (flags & kTVMFFIFieldFlagBitMaskSEqHashDefPattern)
    return kTVMFFIDefRegionKindPattern;
  return outer;
}

/* The next field that counts, or NULL. */
TVMFFI_I_INLINE const TVMFFIFieldInfo *tvmffi_i_next_counted(
    tvmffi_i_field_walk *w) {
  const TVMFFIFieldInfo *field;
  do {
    field = tvmffi_i_next_field(w);
  } while (field && field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  return field;
}

/* Gives what a field holds: borrowed where it is known to lie there as an Any
   or a reference, else owned. */
TVMFFI_I_INLINE int tvmffi_i_read_field(const TVMFFIFieldInfo *field,
                                        const TVMFFIObject *object,
                                        TVMFFIAny *value, int *is_own) {
  void *at = tvmffi_i_at(object, field);
  int code;
  *is_own = 0;
  if (field->getter == tvmffi_i_get_any_field) {
    *value = *(const TVMFFIAny *)at;
    return 0;
  }
  if (field->getter == tvmffi_i_get_reference) {
    *value = tvmffi_obj(*(TVMFFIObject **)at);
    return 0;
  }
  *is_own = 1;
  *value = tvmffi_none();
  code = field->getter(at, value);
  return code ? tvmffi_i_need_error(code, "A field getter") : 0;
}

/* The type of an object that may be compared, or NULL with the error raised. */
static const TVMFFITypeInfo *tvmffi_i_structural_type(int32_t index) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(index);
  const TVMFFITypeMetadata *metadata;
  if (!type) {
    (void)tvmffi_i_fail("TypeError", "Type index %d is not registered", index);
    return NULL;
  }
  metadata = TVMFFI_I_LOAD(&type->metadata);
  if (metadata &&
      metadata->structural_eq_hash_kind != kTVMFFISEqHashKindUnsupported)
    return type;
  (void)tvmffi_i_fail("TypeError",
                      "%s is not set for type `%s`, so StructuralHash is not "
                      "supported for this type",
                      metadata ? "_type_s_eq_hash_kind" : "Type metadata",
                      type->type_key.data);
  return NULL;
}

/* Gives the hook of a type (borrowed), NULL if it has none. */
static int tvmffi_i_find_hook(tvmffi_i_known_column *column, int32_t index,
                              const char *signature, TVMFFIObject **hook) {
  const TVMFFIAny *value = tvmffi_i_type_attr(column, index);
  *hook = NULL;
  if (!value) return 0;
  if (value->type_index != kTVMFFIFunction || !value->v_obj)
    return tvmffi_i_fail("TypeError", "Cannot treat type `%s` as type `%s`",
                         tvmffi_i_type_key(value->type_index), signature);
  *hook = value->v_obj;
  return 0;
}

/* The bytes of a tensor whose content counts, which must be in reach. */
static int tvmffi_i_tensor_bytes(const DLTensor *t, const char *verb,
                                 size_t *size) {
  if (t->device.device_type != kDLCPU)
    return tvmffi_i_fail("InternalError", "can only %s CPU tensor", verb);
  if (!tvmffi_tensor_is_contiguous(t))
    return tvmffi_i_fail("InternalError", "Can only %s contiguous tensor",
                         verb);
  *size = tvmffi_tensor_bytes(t);
  if (*size == SIZE_MAX || (*size && !t->data))
    return tvmffi_i_fail(
        "ValueError", "Cannot %s a tensor %s", verb,
        t->data ? "of more bytes than memory has" : "without data");
  return 0;
}
#endif
