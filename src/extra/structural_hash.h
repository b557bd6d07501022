/* ======== Structural hash =========================== >>extra/structural_hash
   hash up to renamed variables */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "recursive_hash.h"
#include "structural.h"

#if !TVMFFI_NO_EXTRA
/* A map entry: the hash of the key, and the value. Entries are sorted by
   `hash`. */
typedef struct {
  uint64_t hash;
  TVMFFIAny value; /* owned if the map is a dict */
} tvmffi_i_hash_item;

/* A stack frame. In maps, base.base.c.at is the index of the next item. */
typedef struct {
  tvmffi_i_structural_frame base;
  uint64_t hash;     /* of the children so far */
  size_t first, end; /* a map's items, as indices in `items` of the hasher */
} tvmffi_i_hash_frame;

/* The results (base.firm, base.loose) are the hashes of containers. They are
   not in base.known, where tvmffi_i_hash_key looks up a map key that is an
   object: only shared containers have a stored result, and the hash of a map
   must not depend on how many references its keys have. */
typedef struct {
  tvmffi_i_structural base; /* must be first: callbacks get its address */
  uint32_t num_variables, num_nodes;
  tvmffi_i_hash_item *items;
  size_t num_items, max_items;
} tvmffi_i_hasher;

static int tvmffi_i_hash_value(tvmffi_i_hasher *s, const TVMFFIAny *value,
                               uint32_t own, uint64_t *hash);
/* The callback's last arguments are a hash to combine with and a
   TVMFFIDefRegionKind. */
TVMFFI_I_HOOK(
    s_hash, "__s_hash__", 0,
    "(0: ffi.Object, 1: int, 2: (0: AnyView, 1: int, 2: int) -> int) -> int",
    TVMFFI_I_ENDED_STRUCTURAL, 1, &tvmffi_i_word_int64, TVMFFI_I_VIEW,
    &tvmffi_i_word_int64, &tvmffi_i_word_int64)

static uint64_t tvmffi_i_object_key_hash(const TVMFFIObject *o) {
  return TVMFFIGetTypeInfo(o->type_index)->type_key_hash;
}

/* Completes the hash of an object with fields, and records it in
   s->base.known. */
static int tvmffi_i_end_hash(tvmffi_i_hasher *s, TVMFFIObject *o, int kind,
                             uint64_t *hash) {
  TVMFFI_ASSERT(kind != kTVMFFISEqHashKindUnsupported);
  if (kind == kTVMFFISEqHashKindFreeVar)
    *hash = s->base.region != kTVMFFIDefRegionKindNone
                ? tvmffi_i_hash_combine(*hash, s->num_variables++)
                : (uint64_t)(uintptr_t)o;
  else if (kind == kTVMFFISEqHashKindDAGNode)
    *hash = tvmffi_i_hash_combine(*hash, s->num_nodes++);
  return tvmffi_i_set_memo(&s->base.known[0], o, *hash);
}

static int tvmffi_i_s_hash_again(void *walk, const TVMFFIAny *values,
                                 const TVMFFIAny *args, TVMFFIAny *result) {
  tvmffi_i_hasher *s = (tvmffi_i_hasher *)walk;
  const int32_t outer = s->base.region;
  uint64_t hash = 0;
  TVMFFI_ASSERT(s->base.base.nested > 0);
  s->base.region = tvmffi_i_region_in(outer, (int32_t)args[2].v_int64);
  TVMFFI_TRY(tvmffi_i_hash_value(s, &values[0], 2, &hash));
  s->base.region = outer;
  *result = tvmffi_int((int64_t)tvmffi_i_hash_combine(args[1].v_uint64, hash));
  return 0;
}

/* Pushes a frame for an object, whose hash begins with the type's. Returns
   TVMFFI_I_PUSHED, 0 with *hash set if the hash is known, or -1 on error. */
static int tvmffi_i_enter_hashed(tvmffi_i_hasher *s, TVMFFIObject *o,
                                 const TVMFFITypeInfo *type, uint32_t own,
                                 uint64_t *hash, tvmffi_i_hash_frame **out) {
  int code = tvmffi_i_push_structural(&s->base, o, NULL, type, own, hash);
  if (code != TVMFFI_I_PUSHED) return code == TVMFFI_I_SAME ? 0 : code;
  *out = TVMFFI_I_FRAME(tvmffi_i_hash_frame, s);
  TVMFFI_ASSERT((*out)->base.base.c.object == o);
  (*out)->hash = type ? type->type_key_hash : tvmffi_i_object_key_hash(o);
  (*out)->first = (*out)->end = s->num_items;
  return code;
}

static void tvmffi_i_leave_hashed(tvmffi_i_walk *w) {
  tvmffi_i_hasher *s = (tvmffi_i_hasher *)(void *)w;
  const tvmffi_i_hash_frame *f = TVMFFI_I_FRAME(tvmffi_i_hash_frame, w);
  const int is_dict = f->base.base.c.object->type_index == kTVMFFIDict;
  TVMFFI_ASSERT(f->first <= f->end && f->end <= s->num_items);
  while (s->num_items > f->first)
    if (--s->num_items, is_dict)
      tvmffi_i_any_release(&s->items[s->num_items].value);
  tvmffi_i_pop_structural(w);
}

static int tvmffi_i_hash_fields_of(tvmffi_i_hasher *s, TVMFFIObject *o,
                                   uint64_t *hash) {
  const TVMFFITypeInfo *type = tvmffi_i_structural_type(o->type_index);
  const tvmffi_i_memo *known;
  const TVMFFIAny *hook;
  TVMFFIAny args[3];
  tvmffi_i_hash_frame *f;
  int kind, code;
  if (!type) return -1;
  known = tvmffi_i_find_memo(&s->base.known[0], o);
  if (known) {
    *hash = known->value;
    return 0;
  }
  kind = type->metadata->structural_eq_hash_kind;
  TVMFFI_ASSERT(type->type_index == o->type_index);
  hook = tvmffi_i_type_attr(&tvmffi_i_s_hash_hooks, type->type_index);
  if (!hook) {
    code = tvmffi_i_enter_hashed(s, o, type, UINT32_MAX, hash, &f);
    if (code != TVMFFI_I_PUSHED) return code;
    TVMFFI_ASSERT(!f->base.base.other && !f->base.base.is_shared);
    f->base.kind = kind;
    f->base.region = tvmffi_i_inner_region(&s->base, kind);
    return code;
  }
  tvmffi_i_retain(o);
  args[0] = tvmffi_obj(o);
  args[1] = tvmffi_int((int64_t)type->type_key_hash);
  code = tvmffi_i_call_structural_hook(
      &s->base, &tvmffi_i_s_hash_kind, hook, args,
      tvmffi_i_inner_region(&s->base, kind), (int64_t *)(void *)hash);
  if (!code) code = tvmffi_i_end_hash(s, o, kind, hash);
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
   without a hash in base.known: a container, or an object that has not been
   hashed yet. */
static int tvmffi_i_hash_key(const tvmffi_i_hasher *s, const TVMFFIAny *key,
                             uint64_t *hash) {
  const tvmffi_i_memo *known;
  int32_t index = key->type_index;
  uint64_t value = key->v_uint64;
  TVMFFI_ASSERT(index != kTVMFFIRawStr && index != kTVMFFIByteArrayPtr);
  if (index == kTVMFFISmallStr || index == kTVMFFIStr ||
      index == kTVMFFIBytes || index == kTVMFFIBigInt) {
    TVMFFIByteArray text = tvmffi_i_content_of(key);
    if (index == kTVMFFISmallStr) index = kTVMFFIStr;
    value = tvmffi_i_stable_hash(text.data, text.size);
  } else if (index >= kTVMFFIStaticObjectBegin) {
    known = tvmffi_i_find_memo(&s->base.known[0], key->v_obj);
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
  TVMFFI_ASSERT(n > 0 && n <= 24);
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

/* Appends the entries of a map to s->items, and sorts them by the hash of the
   key, so the map's order does not count. Leaves out an entry whose key has no
   hash yet: hashing the key here would number its free variables in the map's
   order. */
static int tvmffi_i_read_map(tvmffi_i_hasher *s, tvmffi_i_hash_frame *f) {
  const TVMFFIObject *map = f->base.base.c.object;
  const tvmffi_i_pair *pair;
  uint64_t hash;
  size_t at, n;
  TVMFFI_ASSERT(f->first == s->num_items && f->end == f->first);
  TVMFFI_I_EACH_PAIR(map, at, pair) {
    if (!tvmffi_i_hash_key(s, &pair->key, &hash)) {
      ++s->base.num_loose; /* the key may get a hash later */
      continue;
    }
    TVMFFI_I_PUSH_ROOM(tvmffi_i_hash_item, s->items, s->num_items,
                       s->max_items);
    s->items[s->num_items].hash = hash;
    s->items[s->num_items++].value = pair->value;
    if (map->type_index == kTVMFFIDict) tvmffi_i_any_retain(&pair->value);
  }
  f->base.base.c.at = f->first;
  f->end = s->num_items;
  n = f->end - f->first;
  TVMFFI_ASSERT(n <= tvmffi_i_size_of(map));
  if (n > 24)
    tvmffi_i_sort(s->items + f->first, n, sizeof(*s->items), tvmffi_i_word_less,
                  NULL);
  else if (n)
    tvmffi_i_sort_few_items(s->items + f->first, n);
  return TVMFFI_I_PUSHED;
}

/* Hashes a value. Returns 0 with *hash set, TVMFFI_I_PUSHED if a stack frame
   was pushed, or an error code. An object with more than `own` references may
   occur again. */
static int tvmffi_i_hash_step(tvmffi_i_hasher *s, const TVMFFIAny *any,
                              uint32_t own, uint64_t *hash) {
  int32_t index = any->type_index;
  tvmffi_i_hash_frame *f;
  TVMFFIObject *o = any->v_obj;
  int code;
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
      code = tvmffi_i_enter_hashed(s, o, NULL, own, hash, &f);
      if (code != TVMFFI_I_PUSHED) return code;
      f->hash = tvmffi_i_hash_combine(f->hash, tvmffi_i_size_of(o));
      if (tvmffi_i_is_map_type(index)) code = tvmffi_i_read_map(s, f);
      TVMFFI_ASSERT(code < 0 || f->end == s->num_items);
      if (code < 0) tvmffi_i_leave_hashed(&s->base.base.walk);
      return code;
    case kTVMFFIShape: *hash = tvmffi_i_hash_shape(o); return 0;
    case kTVMFFITensor: return tvmffi_i_hash_tensor(s, o, hash);
    default: return tvmffi_i_hash_fields_of(s, o, hash);
  }
}

/* Hashes the remaining items of the top frame. Returns TVMFFI_I_PUSHED if an
   item needs a stack frame, 0 at the end, or an error code. */
static int tvmffi_i_hash_items(tvmffi_i_hasher *s, tvmffi_i_hash_frame *f) {
  tvmffi_i_children *c = &f->base.base.c;
  const TVMFFIAny *item;
  uint64_t hash = 0;
  size_t n, i;
  int code;
  TVMFFI_ASSERT(f->first == f->end && tvmffi_i_top(s) == &f->base.base);
  while ((n = tvmffi_i_items_from(c->object, c->at, &item)) != 0) {
    uint64_t sum = f->hash;
    for (i = 0; i < n && item[i].type_index <= kTVMFFIBool; ++i)
      sum = tvmffi_i_hash_combine(
          sum, tvmffi_i_hash_combine((uint64_t)(int64_t)item[i].type_index,
                                     item[i].v_uint64));
    f->hash = sum;
    c->at += i;
    if (i == n) break;
    ++c->at;
    code = tvmffi_i_hash_step(s, &item[i], 1, &hash);
    if (code == TVMFFI_I_PUSHED && c->object->type_index == kTVMFFIList)
      return tvmffi_i_keep_pushed(&s->base, 0);
    if (code) return code;
    f->hash = tvmffi_i_hash_combine(f->hash, hash);
  }
  return 0;
}

/* Hashes entries of a map. Returns the same results as tvmffi_i_hash_items. */
static int tvmffi_i_hash_entries(tvmffi_i_hasher *s, tvmffi_i_hash_frame *f) {
  const int is_dict = f->base.base.c.object->type_index == kTVMFFIDict;
  uint64_t hash = 0, key;
  TVMFFI_ASSERT(f->base.base.c.at >= f->first && f->end <= s->num_items);
  while (f->base.base.c.at < f->end) {
    size_t i = (size_t)f->base.base.c.at, next = i;
    TVMFFIAny value;
    int code;
    key = s->items[i].hash;
    do ++next;
    while (next < f->end && s->items[next].hash == key);
    f->base.base.c.at = next;
    f->hash = tvmffi_i_hash_combine(f->hash, key);
    /* Entries whose keys have equal hashes have no order: their values are left
       out. */
    if (next > i + 1) continue;
    value = s->items[i].value;
    /* s->items has a second reference to a dict's value. */
    code = tvmffi_i_hash_step(s, &value, is_dict ? 2 : 1, &hash);
    if (code) return code;
    f->hash = tvmffi_i_hash_combine(f->hash, hash);
  }
  return 0;
}

/* Hashes fields of an object. Returns the same results as tvmffi_i_hash_items.
   */
static int tvmffi_i_hash_fields(tvmffi_i_hasher *s, tvmffi_i_hash_frame *f) {
  tvmffi_i_children *c = &f->base.base.c;
  const TVMFFIFieldInfo *field;
  TVMFFI_ASSERT(f->end == f->first && f->base.kind);
  for (;;) {
    uint64_t hash = 0;
    TVMFFIAny value;
    int code, is_own;
    field = tvmffi_i_next_counted(&c->fields);
    if (!field) break;
    TVMFFI_TRY(tvmffi_i_read_field(field, c->object, &value, &is_own));
    s->base.region = tvmffi_i_field_region(field, f->base.region);
    code = tvmffi_i_hash_step(s, &value, is_own ? 2 : 1, &hash);
    if (code == TVMFFI_I_PUSHED) return tvmffi_i_keep_pushed(&s->base, is_own);
    if (is_own) tvmffi_i_any_release(&value);
    if (code) return code;
    f->hash = tvmffi_i_hash_combine(f->hash, hash);
  }
  s->base.region = f->base.outer;
  return tvmffi_i_end_hash(s, c->object, f->base.kind, &f->hash);
}

/* Sets *hash to the hash of a value (borrowed) and everything it contains. */
static int tvmffi_i_hash_value(tvmffi_i_hasher *s, const TVMFFIAny *value,
                               uint32_t own, uint64_t *hash) {
  size_t depth = tvmffi_i_depth(s);
  int code = tvmffi_i_hash_step(s, value, own, hash);
  while (tvmffi_i_depth(s) > depth) {
    tvmffi_i_hash_frame *f = TVMFFI_I_FRAME(tvmffi_i_hash_frame, s);
    TVMFFIObject *o = f->base.base.c.object;
    switch (o->type_index) {
      case kTVMFFIArray:
      case kTVMFFIList: code = tvmffi_i_hash_items(s, f); break;
      case kTVMFFIMap:
      case kTVMFFIDict: code = tvmffi_i_hash_entries(s, f); break;
      default: code = tvmffi_i_hash_fields(s, f);
    }
    if (code == TVMFFI_I_PUSHED) continue;
    *hash = f->hash;
    if (!code && f->base.base.is_shared)
      code = tvmffi_i_set_result(&s->base, o, NULL, *hash);
    if (code < 0) {
      tvmffi_i_cut_frames(s, depth);
      break;
    }
    tvmffi_i_leave_hashed(&s->base.base.walk);
    if (tvmffi_i_depth(s) == depth) break;
    f = TVMFFI_I_FRAME(tvmffi_i_hash_frame, s);
    f->hash = tvmffi_i_hash_combine(f->hash, *hash);
  }
  TVMFFI_ASSERT(tvmffi_i_depth(s) == depth && code != TVMFFI_I_PUSHED);
  return code;
}

/* Sets *hash to the structural hash of a view. Returns 0 or an error code. */
static int tvmffi_i_structural_hash(const TVMFFIAny *value, int maps_variables,
                                    int skips_tensors, uint64_t *hash) {
  tvmffi_i_hash_frame room[8];
  tvmffi_i_hasher s = TVMFFI_I_ZERO;
  TVMFFIAny owned = tvmffi_none();
  int code;
  TVMFFI_I_WALK_OPEN(&s, "StructuralHash", tvmffi_i_leave_hashed, room);
  s.base.region =
      maps_variables ? kTVMFFIDefRegionKindPattern : kTVMFFIDefRegionKindNone;
  s.base.skips_tensors = skips_tensors;
  tvmffi_i_start_types(); /* ensures that types are registered */
  TVMFFI_TRY(tvmffi_i_own(value, &owned));
  code = tvmffi_i_hash_value(&s, &owned, UINT32_MAX, hash);
  tvmffi_i_structural_close(&s.base);
  TVMFFI_ASSERT(!s.num_items);
  tvmffi_i_free(s.items);
  tvmffi_i_any_release(&owned);
  return code;
}
#endif
