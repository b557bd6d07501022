/* ======== Structural hash =========================== >>extra/structural_hash
   hash up to renamed variables */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "type_hook.h"
#include "recursive_hash.h"
#include "structural.h"

#if !TVMFFI_NO_EXTRA
/* A map entry: the hash of the key, and the value. Entries are sorted by
   `hash`. */
typedef struct {
  uint64_t hash;
  TVMFFIAny value; /* owned if the map is a dict */
} tvmffi_i_hash_item;

typedef struct {
  TVMFFIObject *object;
  uint64_t hash; /* of the children so far */
  union {
    int64_t index;
    struct {
      size_t first, next, end; /* indices in `items` of the hasher */
    } map;
    tvmffi_i_field_cursor cursor;
  } at;
  int32_t outer, region;
  unsigned char is_own, kind, is_shared; /* is_shared: may be met again */
} tvmffi_i_hash_frame;

typedef struct {
  tvmffi_i_structural base; /* must be first: callbacks get its address */
  uint32_t num_variables, num_nodes;
  tvmffi_i_stack frames;
  tvmffi_i_hash_item *items;
  size_t num_items, max_items;
  tvmffi_i_ptr_table known; /* tvmffi_i_memo of objects with fields */
  /* Hashes of containers. They are not in `known`, so that tvmffi_i_hash_key
     finds no hash for a map key that is a container. */
  tvmffi_i_results containers;
} tvmffi_i_hasher;

static int tvmffi_i_hash_value(tvmffi_i_hasher *s, const TVMFFIAny *value,
                               uint32_t own, uint64_t *hash);

static tvmffi_i_known_column tvmffi_i_s_hash_column = {"__s_hash__", NULL};

static uint64_t tvmffi_i_object_key_hash(const TVMFFIObject *o) {
  return TVMFFIGetTypeInfo(o->type_index)->type_key_hash;
}

/* Completes the hash of an object with fields, and records it in s->known. */
static int tvmffi_i_end_hash(tvmffi_i_hasher *s, TVMFFIObject *o, int kind,
                             uint64_t *hash) {
  if (kind == kTVMFFISEqHashKindFreeVar)
    *hash = s->base.region != kTVMFFIDefRegionKindNone
                ? tvmffi_i_hash_combine(*hash, s->num_variables++)
                : (uint64_t)(uintptr_t)o;
  else if (kind == kTVMFFISEqHashKindDAGNode)
    *hash = tvmffi_i_hash_combine(*hash, s->num_nodes++);
  return tvmffi_i_set_memo(&s->known, o, *hash);
}

static int tvmffi_i_call_structural_hash(void *self, const TVMFFIAny *args,
                                         int32_t num_args, TVMFFIAny *result) {
  static const tvmffi_i_word *const types[] = {
      &tvmffi_i_word_int64, &tvmffi_i_word_view, &tvmffi_i_word_int64,
      &tvmffi_i_word_int64};
  static const tvmffi_func description = {
      "", NULL, 3, types TVMFFI_I_SIGNATURE(NULL, 3, NULL, NULL)};
  tvmffi_i_hasher *s = (tvmffi_i_hasher *)tvmffi_i_callback_state(
      self, &description, args, num_args, result);
  TVMFFIAny value = tvmffi_none();
  uint64_t hash = 0;
  int32_t outer;
  int code;
  if (!s) return -1;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&args[0], &value));
  outer = s->base.region;
  s->base.region = tvmffi_i_region_in(outer, (int32_t)args[2].v_int64);
  code = tvmffi_i_hash_value(s, &value, 2, &hash);
  tvmffi_i_any_release(&value);
  if (code) return code;
  s->base.region = outer;
  *result = tvmffi_int((int64_t)tvmffi_i_hash_combine(args[1].v_uint64, hash));
  return 0;
}

static int tvmffi_i_enter_hashed(tvmffi_i_hasher *s, TVMFFIObject *o,
                                 int is_shared, uint64_t hash,
                                 tvmffi_i_hash_frame **out) {
  tvmffi_i_hash_frame *f;
  if (is_shared)
    TVMFFI_TRY(tvmffi_i_begin_result(&s->containers, s->known.count));
  f = TVMFFI_I_PUSH(tvmffi_i_hash_frame, &s->frames, "StructuralHash");
  if (!f) {
    s->containers.num_begun -= (size_t)is_shared;
    return -1;
  }
  *out = f;
  f->object = o;
  f->hash = hash;
  f->outer = f->region = s->base.region;
  f->is_own = 0;
  f->is_shared = (unsigned char)is_shared;
  f->at.index = 0;
  return TVMFFI_I_PUSHED;
}

/* Looks up the hash of a shared container. Returns 1 with *hash set, or 0 if
   the hash must be computed. */
TVMFFI_I_NOINLINE int tvmffi_i_was_hashed(tvmffi_i_hasher *s,
                                          const TVMFFIObject *o,
                                          uint64_t *hash) {
  const tvmffi_i_memo *known =
      TVMFFI_I_FIND(tvmffi_i_memo, &s->containers.firm, o);
  if (!known && s->containers.entries == s->known.count) {
    known = TVMFFI_I_FIND(tvmffi_i_memo, &s->containers.loose, o);
    s->containers.num_loose += known != NULL;
  }
  if (known) *hash = known->value;
  return known != NULL;
}

static void tvmffi_i_drop_items(tvmffi_i_hasher *s, size_t first, int is_own) {
  while (s->num_items > first)
    if (--s->num_items, is_own)
      tvmffi_i_any_release(&s->items[s->num_items].value);
}

static void tvmffi_i_leave_hashed(tvmffi_i_hasher *s) {
  tvmffi_i_hash_frame *f = TVMFFI_I_TOP(tvmffi_i_hash_frame, &s->frames);
  int32_t index = f->object->type_index;
  if (tvmffi_i_is_map_type(index))
    tvmffi_i_drop_items(s, f->at.map.first, index == kTVMFFIDict);
  s->containers.num_begun -= f->is_shared;
  if (f->is_own) tvmffi_i_release(f->object);
  TVMFFI_I_POP(tvmffi_i_hash_frame, &s->frames);
}

static int tvmffi_i_hash_fields_of(tvmffi_i_hasher *s, TVMFFIObject *o,
                                   uint64_t *hash) {
  const TVMFFITypeInfo *type = tvmffi_i_structural_type(o->type_index);
  const tvmffi_i_memo *known;
  tvmffi_i_hash_frame *f;
  TVMFFIObject *hook;
  const size_t depth = s->frames.depth;
  int32_t outer = s->base.region, region = outer;
  int64_t result;
  int kind, code;
  if (!type) return -1;
  known = TVMFFI_I_FIND(tvmffi_i_memo, &s->known, o);
  if (known) {
    *hash = known->value;
    return 0;
  }
  kind = type->metadata->structural_eq_hash_kind;
  TVMFFI_TRY(tvmffi_i_find_hook(
      &tvmffi_i_s_hash_column, type->type_index,
      "(0: ffi.Object, 1: int, 2: (0: AnyView, 1: int, 2: int) -> int) -> int",
      &hook));
  /* kTVMFFIDefRegionKindSimple excludes the fields of a free variable. */
  if (kind == kTVMFFISEqHashKindFreeVar && region == kTVMFFIDefRegionKindSimple)
    region = kTVMFFIDefRegionKindNone;
  if (!hook) {
    code = tvmffi_i_enter_hashed(s, o, 0, type->type_key_hash, &f);
    if (code != TVMFFI_I_PUSHED) return code;
    f->at.cursor = tvmffi_i_begin_fields(type);
    f->kind = (unsigned char)kind;
    f->region = region;
    return code;
  }
  tvmffi_i_retain(o);
  s->base.region = region;
  code = tvmffi_i_call_structural_hook(
      &s->base, hook, o, tvmffi_int((int64_t)type->type_key_hash),
      tvmffi_i_call_structural_hash, "int", &result);
  if (TVMFFI_I_UNLIKELY(s->frames.depth != depth)) {
    while (s->frames.depth > depth) tvmffi_i_leave_hashed(s);
    code = tvmffi_i_left_hook(code);
  }
  if (!code) {
    *hash = (uint64_t)result;
    s->base.region = outer;
    code = tvmffi_i_end_hash(s, o, kind, hash);
  }
  tvmffi_i_release(o);
  return code;
}

static int tvmffi_i_hash_tensor(const tvmffi_i_hasher *s, TVMFFIObject *o,
                                uint64_t *hash) {
  const DLTensor *t = TVMFFITensorGetDLTensorPtr(o);
  uint64_t h = tvmffi_i_hash_combine(tvmffi_i_object_key_hash(o),
                                     (uint64_t)(int64_t)t->ndim);
  size_t size;
  int32_t i;
  for (i = 0; i < t->ndim; ++i)
    h = tvmffi_i_hash_combine(h, (uint64_t)t->shape[i]);
  h = tvmffi_i_hash_combine(h, tvmffi_dtype(t->dtype).v_uint64);
  *hash = h;
  if (s->base.skips_tensors) return 0;
  TVMFFI_TRY(tvmffi_i_tensor_bytes(t, "hash", &size));
  *hash = tvmffi_i_hash_combine(
      h, tvmffi_i_stable_hash((const char *)t->data, size));
  return 0;
}

/* Sets *hash to the hash of a map key and returns 1. Returns 0 for an object
   that has not been hashed yet. */
static int tvmffi_i_hash_key(const tvmffi_i_hasher *s, const TVMFFIAny *key,
                             uint64_t *hash) {
  const tvmffi_i_memo *known;
  int32_t index = key->type_index;
  uint64_t value = key->v_uint64;
  if (index == kTVMFFISmallStr || index == kTVMFFIStr ||
      index == kTVMFFIBytes) {
    TVMFFIByteArray text = tvmffi_any_str(key);
    if (index == kTVMFFISmallStr) index = kTVMFFIStr;
    value = tvmffi_i_stable_hash(text.data, text.size);
  } else if (index == kTVMFFIBigInt) {
    TVMFFIByteArray words = TVMFFIBigIntGetContentByteArray(key);
    value = tvmffi_i_stable_hash(words.data, words.size);
  } else if (index >= kTVMFFIStaticObjectBegin) {
    known = TVMFFI_I_FIND(tvmffi_i_memo, &s->known, key->v_obj);
    if (known) *hash = known->value;
    return known != NULL;
  }
  *hash = tvmffi_i_hash_combine((uint64_t)(int64_t)index, value);
  return 1;
}

/* Sorts items by hash (insertion sort). Moves `hash` and `value` separately,
   because a wide load after two narrow stores would stall. */
static void tvmffi_i_sort_few_items(tvmffi_i_hash_item *items, size_t n) {
  size_t i, k;
  for (i = 1; i < n; ++i) {
    uint64_t hash = items[i].hash;
    TVMFFIAny value = items[i].value;
    for (k = i; k && items[k - 1].hash > hash; --k) {
      items[k].hash = items[k - 1].hash;
      items[k].value = items[k - 1].value;
    }
    items[k].hash = hash;
    items[k].value = value;
  }
}

/* Pushes a stack frame for a map. Sorts the entries by the hash of the key.
   Leaves out an entry if its key is an object that has not been hashed yet. */
static int tvmffi_i_open_map(tvmffi_i_hasher *s, TVMFFIObject *map,
                             int is_shared) {
  size_t first = s->num_items, left_out = 0;
  int is_dict = map->type_index == kTVMFFIDict, code = 0;
  tvmffi_i_hash_frame *f;
  const tvmffi_i_pair *pair;
  uint64_t at, hash;
  for (at = tvmffi_i_map_begin(map);
       (pair = tvmffi_i_map_pair(map, at)) != NULL;
       at = tvmffi_i_map_after(map, at)) {
    if (!tvmffi_i_hash_key(s, &pair->key, &hash)) {
      ++left_out; /* the key may get a hash later */
      continue;
    }
    if (s->num_items == s->max_items) {
      tvmffi_i_hash_item *items = (tvmffi_i_hash_item *)tvmffi_i_larger(
          s->items, &s->max_items, sizeof(*items));
      code = items ? 0 : -1;
      if (code) break;
      s->items = items;
    }
    s->items[s->num_items].hash = hash;
    s->items[s->num_items++].value =
        is_dict ? tvmffi_i_copy_owned(&pair->value) : pair->value;
  }
  if (!code)
    code = tvmffi_i_enter_hashed(
        s, map, is_shared,
        tvmffi_i_hash_combine(tvmffi_i_object_key_hash(map),
                              (uint64_t)tvmffi_i_map_size(map)),
        &f);
  if (code != TVMFFI_I_PUSHED) {
    tvmffi_i_drop_items(s, first, is_dict);
    return code;
  }
  s->containers.num_loose += left_out;
  if (s->num_items - first > 24)
    tvmffi_i_sort(s->items + first, s->num_items - first, sizeof(*s->items),
                  tvmffi_i_word_less, NULL);
  else if (s->num_items > first)
    tvmffi_i_sort_few_items(s->items + first, s->num_items - first);
  f->at.map.first = f->at.map.next = first;
  f->at.map.end = s->num_items;
  return code;
}

/* Hashes a value. Returns 0 with *hash set, TVMFFI_I_PUSHED if a stack frame
   was pushed, or an error code. An object with more than `own` references may
   occur again. */
static int tvmffi_i_hash_step(tvmffi_i_hasher *s, const TVMFFIAny *any,
                              uint32_t own, uint64_t *hash) {
  int32_t index = any->type_index;
  tvmffi_i_hash_frame *f;
  TVMFFIObject *o = any->v_obj;
  int is_shared;
  if (index < kTVMFFIStaticObjectBegin) {
    uint64_t bits = any->v_uint64;
    if (index == kTVMFFISmallStr) return tvmffi_i_any_hash(any, hash);
    if (index == kTVMFFIFloat && tvmffi_i_is_nan(bits))
      bits = (uint64_t)0x7FF8 << 48;
    *hash = tvmffi_i_hash_combine((uint64_t)(int64_t)index, bits);
    return 0;
  }
  if (!o) return tvmffi_i_null(__func__, "an object");
  switch (index) {
    case kTVMFFIStr:
    case kTVMFFIBytes:
    case kTVMFFIBigInt: return tvmffi_i_hash_object(any, hash);
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict:
      is_shared = tvmffi_i_is_shared(o, own);
      if (is_shared && tvmffi_i_was_hashed(s, o, hash)) return 0;
      if (tvmffi_i_is_map_type(index))
        return tvmffi_i_open_map(s, o, is_shared);
      return tvmffi_i_enter_hashed(
          s, o, is_shared,
          tvmffi_i_hash_combine(
              tvmffi_i_object_key_hash(o),
              (uint64_t)TVMFFI_I_CELL(TVMFFISeqCell, o)->size),
          &f);
    case kTVMFFIShape: *hash = tvmffi_i_hash_shape(o); return 0;
    case kTVMFFITensor: return tvmffi_i_hash_tensor(s, o, hash);
    default: return tvmffi_i_hash_fields_of(s, o, hash);
  }
}

/* Hashes the remaining items of the top frame. Returns TVMFFI_I_PUSHED if an
   item needs a stack frame, 0 at the end, or an error code. Does not use
   graph/cursor.h, which takes 2.4 times as long. */
static int tvmffi_i_hash_items(tvmffi_i_hasher *s, tvmffi_i_hash_frame *f) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, f->object);
  uint64_t hash = 0, sum = f->hash;
  int64_t i = f->at.index;
  int code;
  for (;;) {
    const TVMFFIAny *item = NULL;
    for (; i < cell->size; ++i) {
      item = (const TVMFFIAny *)cell->data + i;
      if (item->type_index > kTVMFFIBool) break;
      sum = tvmffi_i_hash_combine(
          sum, tvmffi_i_hash_combine((uint64_t)(int64_t)item->type_index,
                                     item->v_uint64));
    }
    f->hash = sum;
    f->at.index = i + 1;
    if (i >= cell->size) break;
    code = tvmffi_i_hash_step(s, item, 1, &hash);
    if (code == TVMFFI_I_PUSHED && f->object->type_index == kTVMFFIList) {
      f = TVMFFI_I_TOP(tvmffi_i_hash_frame, &s->frames);
      tvmffi_i_retain(f->object);
      f->is_own = 1;
    }
    if (code) return code;
    sum = tvmffi_i_hash_combine(sum, hash);
    ++i;
  }
  return 0;
}

/* Hashes entries of a map. Returns the same results as tvmffi_i_hash_items. */
static int tvmffi_i_hash_entries(tvmffi_i_hasher *s, tvmffi_i_hash_frame *f) {
  uint64_t hash = 0, key;
  while (f->at.map.next < f->at.map.end) {
    size_t i = f->at.map.next, next = i + 1;
    TVMFFIAny value;
    int code;
    key = s->items[i].hash;
    while (next < f->at.map.end && s->items[next].hash == key) ++next;
    f->at.map.next = next;
    f->hash = tvmffi_i_hash_combine(f->hash, key);
    /* Entries whose keys have equal hashes have no order: their values are left
       out. */
    if (next > i + 1) continue;
    value = s->items[i].value;
    code = tvmffi_i_hash_step(s, &value, 1, &hash);
    if (code) return code;
    f->hash = tvmffi_i_hash_combine(f->hash, hash);
  }
  return 0;
}

/* Hashes fields of an object. Returns the same results as tvmffi_i_hash_items.
   */
static int tvmffi_i_hash_fields(tvmffi_i_hasher *s, tvmffi_i_hash_frame *f) {
  const TVMFFIFieldInfo *field;
  for (;;) {
    uint64_t hash = 0;
    TVMFFIAny value;
    int code, is_own;
    field = tvmffi_i_next_counted(&f->at.cursor);
    if (!field) break;
    TVMFFI_TRY(tvmffi_i_read_field(field, f->object, &value, &is_own));
    s->base.region = tvmffi_i_field_region(field, f->region);
    code = tvmffi_i_hash_step(s, &value, is_own ? 2 : 1, &hash);
    if (code == TVMFFI_I_PUSHED) {
      if (!is_own) tvmffi_i_retain(value.v_obj);
      TVMFFI_I_TOP(tvmffi_i_hash_frame, &s->frames)->is_own =
          1; /* the frame takes the value */
      return code;
    }
    if (is_own) tvmffi_i_any_release(&value);
    if (code) return code;
    f->hash = tvmffi_i_hash_combine(f->hash, hash);
  }
  s->base.region = f->outer;
  return tvmffi_i_end_hash(s, f->object, f->kind, &f->hash);
}

/* Sets *hash to the hash of a value (borrowed) and everything it contains. */
static int tvmffi_i_hash_value(tvmffi_i_hasher *s, const TVMFFIAny *value,
                               uint32_t own, uint64_t *hash) {
  size_t base = s->frames.depth;
  int code = tvmffi_i_hash_step(s, value, own, hash);
  while (s->frames.depth > base) {
    tvmffi_i_hash_frame *f = TVMFFI_I_TOP(tvmffi_i_hash_frame, &s->frames);
    switch (f->object->type_index) {
      case kTVMFFIArray:
      case kTVMFFIList: code = tvmffi_i_hash_items(s, f); break;
      case kTVMFFIMap:
      case kTVMFFIDict: code = tvmffi_i_hash_entries(s, f); break;
      default: code = tvmffi_i_hash_fields(s, f);
    }
    if (code == TVMFFI_I_PUSHED) continue;
    *hash = f->hash;
    if (!code) s->base.region = f->outer;
    if (!code && f->is_shared) {
      tvmffi_i_ptr_table *t =
          tvmffi_i_result_table(&s->containers, s->known.count, 0);
      if (t) code = tvmffi_i_set_memo(t, f->object, *hash);
    }
    do tvmffi_i_leave_hashed(s);
    while (code < 0 && s->frames.depth > base);
    if (code < 0 || s->frames.depth == base) break;
    f = TVMFFI_I_TOP(tvmffi_i_hash_frame, &s->frames);
    f->hash = tvmffi_i_hash_combine(f->hash, *hash);
  }
  return code;
}

/* Sets *hash to the structural hash of a view. Returns 0 or an error code. */
static int tvmffi_i_structural_hash(const TVMFFIAny *value, int maps_variables,
                                    int skips_tensors, uint64_t *hash) {
  tvmffi_i_hash_frame room[16];
  tvmffi_i_hasher s = TVMFFI_I_ZERO;
  TVMFFIAny owned = tvmffi_none();
  int code;
  tvmffi_i_stack_open(&s.frames, room, sizeof(room));
  s.base.region =
      maps_variables ? kTVMFFIDefRegionKindPattern : kTVMFFIDefRegionKindNone;
  s.base.skips_tensors = skips_tensors;
  tvmffi_i_start_types(); /* ensures that types are registered */
  TVMFFI_TRY(tvmffi_i_own(value, &owned));
  code = tvmffi_i_hash_value(&s, &owned, UINT32_MAX, hash);
  tvmffi_i_callback_close(&s.base.callback);
  tvmffi_i_free(s.items);
  tvmffi_i_stack_close(&s.frames);
  tvmffi_i_ptr_clear(&s.known, sizeof(tvmffi_i_memo), 1);
  tvmffi_i_drop_results(&s.containers, 0);
  tvmffi_i_any_release(&owned);
  return code;
}
#endif
