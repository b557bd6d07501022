/* ======== Recursive hash ============================= >>extra/recursive_hash
   hash of a value with its parts */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "recursive.h"

#if !TVMFFI_NO_EXTRA
typedef struct {
  tvmffi_i_walk_frame base;
  uint64_t sum, key; /* the hash so far; the hash of the last key */
  size_t begin;      /* index in `hashes` of a map's first entry */
} tvmffi_i_recursive_frame;

typedef struct {
  tvmffi_i_recursive base; /* must be first: callbacks get its address */
  uint64_t *hashes;        /* hashes of the entries of all maps on the stack */
  size_t num_hashes, hash_capacity;
} tvmffi_i_recursive_hasher;

TVMFFI_I_HOOK(hash, "__ffi_hash__", 0,
              "(0: ffi.Object, 1: (0: AnyView) -> int) -> int",
              TVMFFI_I_ENDED_RECURSIVE, 1, &tvmffi_i_word_int64, TVMFFI_I_VIEW)
TVMFFI_I_HOOK(
    eq, "__ffi_eq__", 0,
    "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView) -> bool) -> "
    "bool",
    TVMFFI_I_ENDED_RECURSIVE, 2, &tvmffi_i_word_bool, TVMFFI_I_VIEW,
    TVMFFI_I_VIEW)
TVMFFI_I_HOOK(
    compare, "__ffi_compare__", 1,
    "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView) -> int) -> "
    "int",
    TVMFFI_I_ENDED_RECURSIVE, 2, &tvmffi_i_word_int64, TVMFFI_I_VIEW,
    TVMFFI_I_VIEW)

TVMFFI_I_INLINE int tvmffi_i_is_nan(uint64_t bits) {
  return bits << 1 > (uint64_t)2047 << 53;
}

/* Returns the same hash for both zeros, and one hash for all NaNs. */
static uint64_t tvmffi_i_hash_float(uint64_t bits) {
  if (bits << 1 == 0) return 0;
  return tvmffi_i_is_nan(bits) ? (uint64_t)0x7FF8 << 48 : bits;
}

static uint64_t tvmffi_i_hash_plain(const TVMFFIAny *value) {
  uint64_t h = (uint64_t)(int64_t)value->type_index;
  TVMFFI_ASSERT(value->type_index < kTVMFFIStaticObjectBegin);
  switch (value->type_index) {
    case kTVMFFINone: return tvmffi_i_hash_combine(0, 0);
    case kTVMFFIBool: return tvmffi_i_hash_combine(h, value->v_int64 != 0);
    case kTVMFFIFloat:
      return tvmffi_i_hash_combine(h, tvmffi_i_hash_float(value->v_uint64));
    case kTVMFFIDataType:
      h = tvmffi_i_hash_combine(h, value->v_dtype.code);
      h = tvmffi_i_hash_combine(h, value->v_dtype.bits);
      return tvmffi_i_hash_combine(h, value->v_dtype.lanes);
    case kTVMFFIDevice:
      h = tvmffi_i_hash_combine(
          h, (uint64_t)(int64_t)(int32_t)value->v_device.device_type);
      return tvmffi_i_hash_combine(
          h, (uint64_t)(int64_t)value->v_device.device_id);
    default: return tvmffi_i_hash_combine(h, value->v_uint64);
  }
}

static uint64_t tvmffi_i_hash_text(int32_t index, const TVMFFIAny *value) {
  TVMFFIByteArray s = tvmffi_any_str(value);
  TVMFFI_ASSERT(index == kTVMFFIStr || index == kTVMFFIBytes);
  return tvmffi_i_hash_combine((uint64_t)index,
                               tvmffi_i_stable_hash(s.data, s.size));
}

static uint64_t tvmffi_i_hash_shape(const TVMFFIObject *o) {
  const TVMFFIShapeCell *shape = TVMFFI_I_CELL(TVMFFIShapeCell, o);
  uint64_t h = TVMFFIGetTypeInfo(kTVMFFIShape)->type_key_hash;
  size_t i;
  h = tvmffi_i_hash_combine(h, shape->size);
  for (i = 0; i < shape->size; ++i)
    h = tvmffi_i_hash_combine(h, (uint64_t)shape->data[i]);
  return h;
}

/* Raises ValueError for a type with the hook `equality` and no __ffi_hash__.
   Raises MemoryError if there was no memory to read whether the type has the
   hook. */
TVMFFI_I_SLOW int tvmffi_i_cannot_hash(const TVMFFIAny *equality,
                                       int32_t index) {
  if (tvmffi_i_is_unread(equality)) return tvmffi_i_no_memory();
  return tvmffi_i_value_error(
      "RecursiveHash: type '%s' defines __ffi_eq__ or __ffi_compare__ but not "
      "__ffi_hash__. Add a __ffi_hash__ hook to maintain the invariant "
      "RecursiveEq(a,b) => RecursiveHash(a)==RecursiveHash(b).",
      tvmffi_i_type_key(index));
}

/* Hashes a value that needs no stack frame. Returns 1 with *hash set, 0 if the
   value needs a stack frame for its children, or an error code. */
static int tvmffi_i_hash_leaf(tvmffi_i_recursive_hasher *g,
                              const TVMFFIAny *value, uint64_t *hash) {
  const int32_t index = value->type_index, text = tvmffi_i_text_type(index);
  TVMFFIObject *o = value->v_obj;
  const TVMFFIAny *hook;
  tvmffi_i_seen *s;
  TVMFFIAny result;
  int64_t got;
  if (text) {
    *hash = tvmffi_i_hash_text(text, value);
    return 1;
  }
  if (index < kTVMFFIStaticObjectBegin || !o) {
    const TVMFFIAny none = tvmffi_none();
    *hash =
        tvmffi_i_hash_plain(index < kTVMFFIStaticObjectBegin ? value : &none);
    return 1;
  }
  if (index == kTVMFFIShape) {
    *hash = tvmffi_i_hash_shape(o);
    return 1;
  }
  s = tvmffi_i_find_seen(&g->base, o, NULL);
  if (s) {
    *hash = s->state == TVMFFI_I_DONE ? s->value
                                      : TVMFFIGetTypeInfo(index)->type_key_hash;
    return 1;
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_hash_hooks, index);
  if (hook) {
    TVMFFI_TRY(tvmffi_i_run_hook(&g->base, &tvmffi_i_hash_kind, hook, o, NULL,
                                 &result));
    TVMFFI_TRY(tvmffi_i_hook_number(&result, &tvmffi_i_hash_kind, &got));
    s = tvmffi_i_seen_of(&g->base, o, NULL);
    TVMFFI_ASSERT(s && s->state == TVMFFI_I_UNSEEN);
    s->state = TVMFFI_I_DONE;
    s->value = *hash = (uint64_t)got;
    return 1;
  }
  if (index < kTVMFFIStaticObjectEnd) return 0;
  hook = tvmffi_i_type_attr(&tvmffi_i_eq_hooks, index);
  if (!hook) hook = tvmffi_i_type_attr(&tvmffi_i_compare_hooks, index);
  return hook ? tvmffi_i_cannot_hash(hook, index) : 0;
}

static int tvmffi_i_hash_push(tvmffi_i_recursive_hasher *g, TVMFFIObject *o,
                              uint32_t own) {
  tvmffi_i_recursive_frame *f =
      (tvmffi_i_recursive_frame *)tvmffi_i_push_recursive(&g->base, o, NULL,
                                                          own);
  if (!f) return -1;
  TVMFFI_ASSERT(g->num_hashes <= g->hash_capacity);
  f->begin = g->num_hashes;
  f->sum = TVMFFIGetTypeInfo(o->type_index)->type_key_hash;
  if (!tvmffi_i_is_container(o->type_index)) return 0;
  f->sum = tvmffi_i_hash_combine(f->sum, tvmffi_i_size_of(o));
  return 0;
}

/* Combines the hash of a child into the hash of the top frame. For a map, adds
   the hash of each entry to g->hashes. tvmffi_i_hash_pop sorts these hashes,
   because the order of entries does not count. */
static int tvmffi_i_hash_feed(tvmffi_i_recursive_hasher *g, uint64_t hash) {
  tvmffi_i_recursive_frame *f = TVMFFI_I_FRAME(tvmffi_i_recursive_frame, g);
  switch (f->base.c.object->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList:
      TVMFFI_ASSERT(f->base.c.at > 0);
      hash = tvmffi_i_hash_combine(hash, f->base.c.at - 1);
      break;
    case kTVMFFIMap:
    case kTVMFFIDict:
      if (f->base.c.on_value) {
        f->key = hash;
        return 0;
      }
      TVMFFI_ASSERT(g->num_hashes >= f->begin);
      TVMFFI_I_PUSH_ROOM(uint64_t, g->hashes, g->num_hashes, g->hash_capacity);
      g->hashes[g->num_hashes++] = tvmffi_i_hash_combine(f->key, hash);
      return 0;
    default: TVMFFI_ASSERT(f->base.c.field); break;
  }
  f->sum = tvmffi_i_hash_combine(f->sum, hash);
  return 0;
}

static uint64_t tvmffi_i_hash_pop(tvmffi_i_recursive_hasher *g) {
  tvmffi_i_recursive_frame *f = TVMFFI_I_FRAME(tvmffi_i_recursive_frame, g);
  uint64_t hash = f->sum;
  size_t i, begin = f->begin;
  tvmffi_i_seen *s;
  TVMFFI_ASSERT(g->num_hashes == begin ||
                tvmffi_i_is_map_type(f->base.c.object->type_index));
  if (g->num_hashes > begin) {
    tvmffi_i_sort(g->hashes + begin, g->num_hashes - begin, sizeof(hash),
                  tvmffi_i_word_less, NULL);
    for (i = begin; i < g->num_hashes; ++i)
      hash = tvmffi_i_hash_combine(hash, g->hashes[i]);
    g->num_hashes = begin;
  }
  s = tvmffi_i_pop_seen(&g->base);
  if (s) {
    s->state = TVMFFI_I_DONE;
    s->value = hash;
  }
  return hash;
}

/* Hashes a value and everything it contains. */
static int tvmffi_i_hash_all(tvmffi_i_recursive_hasher *g,
                             const TVMFFIAny *value, uint32_t own,
                             uint64_t *hash) {
  size_t depth = tvmffi_i_depth(g);
  int code = tvmffi_i_hash_leaf(g, value, hash);
  TVMFFI_ASSERT(code <= 1);
  if (code) return code < 0 ? code : 0;
  TVMFFI_TRY(tvmffi_i_hash_push(g, value->v_obj, own));
  for (;;) {
    tvmffi_i_walk_frame *f = &TVMFFI_I_FRAME(tvmffi_i_recursive_frame, g)->base;
    const TVMFFIAny *child;
    TVMFFI_ASSERT(tvmffi_i_depth(g) > depth);
    TVMFFI_TRY(tvmffi_i_next_child(&f->c, g->base.skip, &f->held, &child));
    if (!child) {
      *hash = tvmffi_i_hash_pop(g);
      if (tvmffi_i_depth(g) == depth) return 0;
    } else {
      code = tvmffi_i_hash_leaf(g, child, hash);
      TVMFFI_ASSERT(code <= 1);
      if (code < 0) return code;
      if (!code) {
        TVMFFI_TRY(
            tvmffi_i_hash_push(g, child->v_obj, tvmffi_i_own_count(f, child)));
        continue;
      }
    }
    TVMFFI_TRY(tvmffi_i_hash_feed(g, *hash));
  }
}

static int tvmffi_i_hash_again(void *walk, const TVMFFIAny *values,
                               const TVMFFIAny *args, TVMFFIAny *result) {
  tvmffi_i_recursive_hasher *g = (tvmffi_i_recursive_hasher *)walk;
  const size_t num_hashes = g->num_hashes;
  uint64_t hash;
  int code = tvmffi_i_hash_all(g, &values[0], 0, &hash);
  (void)args;
  TVMFFI_ASSERT(g->base.base.nested > 0 && g->num_hashes >= num_hashes);
  g->num_hashes = num_hashes;
  if (!code) *result = tvmffi_int((int64_t)hash);
  return code;
}
#endif
