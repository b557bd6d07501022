/* ======== Structural equality ====================== >>extra/structural_equal
   equality up to renamed variables */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "../reflection.h"
#include "recursive_hash.h"
#include "recursive_compare.h"
#include "structural.h"

#if !TVMFFI_NO_EXTRA
/* A step from an object to its child, in the left [0] and the right [1] access
   path to the first difference. The keys are owned. */
typedef struct {
  int32_t kind[2];
  TVMFFIAny key[2];
} tvmffi_i_mismatch;

/* A stack frame. For maps, base.base.held is the left key; a dict's frame owns
   the key, because a hook may remove it from the dict. For objects,
   base.base.c.field is the current field. */
typedef struct {
  tvmffi_i_structural_frame base;
  size_t at;     /* position in the right map */
  TVMFFIAny key; /* right key */
} tvmffi_i_equal_frame;

typedef struct {
  tvmffi_i_structural base; /* must be first: callbacks get its address */
  /* Borrowed: two tables of pairs of compared ffi.StructuralKey objects. The
     pairs in keys[0] differ, those in keys[1] are equal. Nested comparisons
     share the tables: the comparison of two keys begins with no mapped
     variables, so its result is the same in every comparison. */
  tvmffi_i_ptr_table *keys;
  int wants_path;
  tvmffi_i_mismatch *steps; /* the innermost step first */
  size_t num_steps, max_steps;
} tvmffi_i_equality;

static int tvmffi_i_equal_values(tvmffi_i_equality *s, const TVMFFIAny *a,
                                 const TVMFFIAny *b, uint32_t own);
static int tvmffi_i_equal_keys(tvmffi_i_ptr_table *keys, const TVMFFIAny *a,
                               const TVMFFIAny *b);
/* The callback's last arguments are a TVMFFIDefRegionKind and the name of the
   field. */
TVMFFI_I_HOOK(s_equal, "__s_equal__", 0,
              "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView, 2: "
              "int, 3: AnyView) -> bool) -> bool",
              TVMFFI_I_ENDED_STRUCTURAL, 2, &tvmffi_i_word_bool, TVMFFI_I_VIEW,
              TVMFFI_I_VIEW, &tvmffi_i_word_int64, TVMFFI_I_VIEW)

/* Appends a step to s->steps. Copies the keys `a` and `b`. */
static int tvmffi_i_add_step(tvmffi_i_equality *s, int32_t kind_a,
                             const TVMFFIAny *a, int32_t kind_b,
                             const TVMFFIAny *b) {
  tvmffi_i_mismatch *step;
  TVMFFI_ASSERT(s->wants_path && s->num_steps <= s->max_steps);
  TVMFFI_ASSERT(kind_a != TVMFFI_I_STEP_ARRAY_ITEM_MISSING || kind_a != kind_b);
  TVMFFI_I_PUSH_ROOM(tvmffi_i_mismatch, s->steps, s->num_steps, s->max_steps);
  step = &s->steps[s->num_steps++];
  step->kind[0] = kind_a;
  step->kind[1] = kind_b;
  tvmffi_i_copy_owned(a, &step->key[0]);
  tvmffi_i_copy_owned(b, &step->key[1]);
  return 0;
}

static int tvmffi_i_add_attr_step(tvmffi_i_equality *s,
                                  const TVMFFIByteArray *name) {
  const int32_t kind = TVMFFI_I_STEP_ATTR;
  TVMFFIAny key = tvmffi_none();
  int code;
  if (!s->wants_path) return 0;
  TVMFFI_TRY(TVMFFIStringFromByteArray(name, &key));
  code = tvmffi_i_add_step(s, kind, &key, kind, &key);
  tvmffi_i_any_release(&key);
  return code;
}

/* Ends the comparison of two objects whose fields are equal. Records variables
   or DAG nodes as counterparts. Returns TVMFFI_I_SAME or an error code. Where
   variables are not defined, returns TVMFFI_I_DIFFERENT for two different
   variables. */
static int tvmffi_i_end_equal(tvmffi_i_equality *s, TVMFFIObject *a,
                              TVMFFIObject *b, int kind) {
  TVMFFI_ASSERT(kind != kTVMFFISEqHashKindUnsupported);
  if (kind == kTVMFFISEqHashKindFreeVar) {
    if (a != b && s->base.region == kTVMFFIDefRegionKindNone)
      return TVMFFI_I_DIFFERENT;
  } else if (kind != kTVMFFISEqHashKindDAGNode) {
    return TVMFFI_I_SAME;
  }
  TVMFFI_TRY(tvmffi_i_set_memo(&s->base.known[0], a, (uintptr_t)b));
  TVMFFI_TRY(tvmffi_i_set_memo(&s->base.known[1], b, (uintptr_t)a));
  return TVMFFI_I_SAME;
}

static int tvmffi_i_s_equal_again(void *walk, const TVMFFIAny *values,
                                  const TVMFFIAny *args, TVMFFIAny *result) {
  tvmffi_i_equality *s = (tvmffi_i_equality *)walk;
  const int32_t outer = s->base.region;
  TVMFFIByteArray name;
  int code;
  TVMFFI_ASSERT(s->base.base.nested > 0 && s->base.num_begun > 0);
  s->base.region = tvmffi_i_region_in(outer, (int32_t)args[2].v_int64);
  code = tvmffi_i_equal_values(s, &values[0], &values[1], 2);
  if (code < 0) return code;
  s->base.region = outer;
  if (code == TVMFFI_I_DIFFERENT && s->wants_path) {
    if (tvmffi_i_get_str(&args[3], &name))
      return tvmffi_i_bad_cast(&args[3], "str");
    TVMFFI_TRY(tvmffi_i_add_attr_step(s, &name));
  }
  *result = tvmffi_bool(code == TVMFFI_I_SAME);
  return 0;
}

/* Compares two objects by a hook. */
static int tvmffi_i_equal_by_hook(tvmffi_i_equality *s, const TVMFFIAny *hook,
                                  TVMFFIObject *a, TVMFFIObject *b, int kind,
                                  uint32_t own) {
  const int is_shared = tvmffi_i_are_shared(a, b, own);
  TVMFFIAny args[3];
  int64_t result = 0;
  int code;
  if (is_shared && tvmffi_i_find_result(&s->base, a, b, NULL))
    return TVMFFI_I_SAME;
  TVMFFI_TRY(tvmffi_i_begin_result(&s->base));
  tvmffi_i_retain(a);
  tvmffi_i_retain(b);
  args[0] = tvmffi_obj(a);
  args[1] = tvmffi_obj(b);
  code = tvmffi_i_call_structural_hook(
      &s->base, &tvmffi_i_s_equal_kind, hook, args,
      tvmffi_i_inner_region(&s->base, kind), &result);
  TVMFFI_ASSERT(s->base.num_begun > 0);
  if (!code && result) code = tvmffi_i_end_equal(s, a, b, kind);
  if (is_shared && code == TVMFFI_I_SAME &&
      tvmffi_i_set_result(&s->base, a, b, 0))
    code = -1;
  --s->base.num_begun;
  tvmffi_i_release(a);
  tvmffi_i_release(b);
  return code;
}

/* Compares two objects of the same type by their fields or their hook. */
static int tvmffi_i_equal_objects(tvmffi_i_equality *s, TVMFFIObject *a,
                                  TVMFFIObject *b, uint32_t own) {
  const TVMFFITypeInfo *type = tvmffi_i_structural_type(a->type_index);
  const TVMFFIAny *hook;
  int kind, code;
  if (!type) return -1;
  kind = type->metadata->structural_eq_hash_kind;
  if (kind == kTVMFFISEqHashKindUniqueInstance) return a == b;
  if (kind == kTVMFFISEqHashKindConstTreeNode && a == b) return 1;
  if (kind == kTVMFFISEqHashKindDAGNode || kind == kTVMFFISEqHashKindFreeVar) {
    const tvmffi_i_memo *known = tvmffi_i_find_memo(&s->base.known[0], a);
    if (known) return known->value == (uintptr_t)b;
    if (tvmffi_i_find_memo(&s->base.known[1], b)) return TVMFFI_I_DIFFERENT;
    own = UINT32_MAX; /* s->base.known stores the result */
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_s_equal_hooks, type->type_index);
  if (hook) return tvmffi_i_equal_by_hook(s, hook, a, b, kind, own);
  code = tvmffi_i_push_structural(&s->base, a, b, type, own, NULL);
  if (code == TVMFFI_I_PUSHED) {
    tvmffi_i_structural_frame *f =
        &TVMFFI_I_FRAME(tvmffi_i_equal_frame, s)->base;
    TVMFFI_ASSERT(f->base.c.object == a && f->base.other == b);
    f->kind = kind;
    f->region = tvmffi_i_inner_region(&s->base, kind);
  }
  return code;
}

static int tvmffi_i_equal_tensors(const tvmffi_i_equality *s,
                                  TVMFFIObject *left, TVMFFIObject *right) {
  const DLTensor *a = TVMFFITensorGetDLTensorPtr(left);
  const DLTensor *b = TVMFFITensorGetDLTensorPtr(right);
  size_t size, other;
  int32_t i;
  if (left == right) return TVMFFI_I_SAME;
  if (a->ndim != b->ndim) return TVMFFI_I_DIFFERENT;
  for (i = 0; i < a->ndim; ++i)
    if (a->shape[i] != b->shape[i]) return TVMFFI_I_DIFFERENT;
  if (a->dtype.code != b->dtype.code || a->dtype.bits != b->dtype.bits ||
      a->dtype.lanes != b->dtype.lanes)
    return TVMFFI_I_DIFFERENT;
  if (s->base.skips_tensors) return TVMFFI_I_SAME;
  /* As in upstream, a wrong device on either side comes before other errors.
     Both sides have the same error. */
  if (b->device.device_type != kDLCPU)
    return tvmffi_i_tensor_bytes(b, "compare", &other);
  TVMFFI_TRY(tvmffi_i_tensor_bytes(a, "compare", &size));
  TVMFFI_TRY(tvmffi_i_tensor_bytes(b, "compare", &other));
  TVMFFI_ASSERT(size == other);
  return !size || memcmp(a->data, b->data, size) == 0;
}

/* Compares two values. Returns TVMFFI_I_SAME, TVMFFI_I_DIFFERENT,
   TVMFFI_I_PUSHED if a stack frame was pushed, or an error code. An object with
   more than `own` references may occur again. */
static int tvmffi_i_equal_step(tvmffi_i_equality *s, const TVMFFIAny *a,
                               const TVMFFIAny *b, uint32_t own) {
  int32_t index = a->type_index;
  tvmffi_i_equal_frame *f;
  int code;
  if (index != b->type_index) return tvmffi_i_differ_equal(a, b);
  if (index < kTVMFFIStaticObjectBegin) {
    if (a->zero_padding == b->zero_padding && a->v_uint64 == b->v_uint64)
      return TVMFFI_I_SAME;
    return index == kTVMFFIFloat && tvmffi_i_is_nan(a->v_uint64) &&
           tvmffi_i_is_nan(b->v_uint64);
  }
  if (!a->v_obj || !b->v_obj) return tvmffi_i_null(__func__, "an object");
  switch (index) {
    case kTVMFFIStr:
    case kTVMFFIBytes:
      return tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
    case kTVMFFIBigInt:
      return tvmffi_i_same_text(TVMFFIBigIntGetContentByteArray(a),
                                TVMFFIBigIntGetContentByteArray(b));
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict:
      if (!s->wants_path &&
          tvmffi_i_size_of(a->v_obj) != tvmffi_i_size_of(b->v_obj))
        return TVMFFI_I_DIFFERENT;
      code = tvmffi_i_push_structural(&s->base, a->v_obj, b->v_obj, NULL, own,
                                      NULL);
      if (code != TVMFFI_I_PUSHED || !tvmffi_i_is_map_type(index)) return code;
      f = TVMFFI_I_FRAME(tvmffi_i_equal_frame, s);
      TVMFFI_ASSERT(!f->base.base.owns && f->base.base.other == b->v_obj);
      f->at = tvmffi_i_map_begin(b->v_obj);
      if (index == kTVMFFIDict) f->base.base.owns = TVMFFI_I_OWNS_HELD;
      return code;
    case kTVMFFIShape: return !tvmffi_i_shape_sign(a->v_obj, b->v_obj);
    case kTVMFFITensor: return tvmffi_i_equal_tensors(s, a->v_obj, b->v_obj);
    default: return tvmffi_i_equal_objects(s, a->v_obj, b->v_obj, own);
  }
}

/* Compares the remaining items of the top frame. `code` is the result for the
   last child. Returns TVMFFI_I_PUSHED if an item needs a stack frame, otherwise
   the result for the top frame. */
static int tvmffi_i_equal_items(tvmffi_i_equality *s, tvmffi_i_equal_frame *f,
                                int code) {
  tvmffi_i_children *c = &f->base.base.c;
  int is_list = c->object->type_index == kTVMFFIList;
  size_t n, num_a, num_b, i;
  const TVMFFIAny *a, *b;
  TVMFFI_ASSERT(code >= 0 && tvmffi_i_top(s) == &f->base.base);
  if (code == TVMFFI_I_SAME) ++c->at;
  for (;;) {
    num_a = tvmffi_i_items_from(c->object, c->at, &a);
    num_b = tvmffi_i_items_from(f->base.base.other, c->at, &b);
    if (code == TVMFFI_I_DIFFERENT) break;
    n = num_a < num_b ? num_a : num_b;
    for (i = 0; i < n && a[i].type_index < kTVMFFIStaticObjectBegin &&
                tvmffi_i_same_any(&a[i], &b[i]);)
      ++i;
    c->at += i;
    if (i == n) {
      if (num_a == num_b) return TVMFFI_I_SAME;
      num_a -= n;
      num_b -= n;
      break;
    }
    code = tvmffi_i_equal_step(s, &a[i], &b[i], 1);
    if (code == TVMFFI_I_PUSHED && is_list)
      return tvmffi_i_keep_pushed(&s->base, 0);
    if (code == TVMFFI_I_PUSHED || code < 0) return code;
    TVMFFI_ASSERT(code == 0 || code == 1);
    c->at += (size_t)code; /* 1 if TVMFFI_I_SAME */
  }
  if (s->wants_path) {
    const int both = code == TVMFFI_I_DIFFERENT;
    const int32_t item = TVMFFI_I_STEP_ARRAY_ITEM;
    const int32_t none = TVMFFI_I_STEP_ARRAY_ITEM_MISSING;
    const TVMFFIAny at = tvmffi_int((int64_t)c->at);
    TVMFFI_TRY(tvmffi_i_add_step(s, both || num_a ? item : none, &at,
                                 both || num_b ? item : none, &at));
  }
  return TVMFFI_I_DIFFERENT;
}

/* Returns the key (borrowed) to look up in the other map: the known counterpart
   of `key`, or `key` itself. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_map_key_to(tvmffi_i_equality *s, int from,
                                              const TVMFFIAny *key) {
  const tvmffi_i_memo *known;
  TVMFFI_ASSERT(from == 0 || from == 1);
  if (key->type_index < kTVMFFIStaticObjectBegin) return *key;
  known = tvmffi_i_find_memo(&s->base.known[from], key->v_obj);
  if (known) return tvmffi_obj((TVMFFIObject *)(uintptr_t)known->value);
  ++s->base.num_loose; /* the counterpart may become known later */
  return *key;
}

/* Records a step to a map entry. `key` is the key in map[side], `other` the key
   in the other map. `other_kind` tells whether the other map has its key. */
static int tvmffi_i_add_map_step(tvmffi_i_equality *s, int side,
                                 const TVMFFIAny *key, int32_t other_kind,
                                 const TVMFFIAny *other) {
  const int32_t kind = TVMFFI_I_STEP_MAP_ITEM;
  TVMFFI_ASSERT(other_kind == TVMFFI_I_STEP_MAP_ITEM ||
                other_kind == TVMFFI_I_STEP_MAP_ITEM_MISSING);
  if (!s->wants_path) return 0;
  return side ? tvmffi_i_add_step(s, other_kind, other, kind, key)
              : tvmffi_i_add_step(s, kind, key, other_kind, other);
}

/* Compares the keys of a map that a guard (core/guard.h) marks. */
TVMFFI_I_UNWOUND(tvmffi_i_run_equal_keys,
                 (tvmffi_i_ptr_table * keys, const TVMFFIAny *a,
                  const TVMFFIAny *b),
                 tvmffi_i_equal_keys(keys, a, b), tvmffi_i_guard_leave_one)

/* Looks up `key`, an ffi.StructuralKey, in a map as tvmffi_i_map_lookup does,
   but compares keys by tvmffi_i_equal_keys with `keys`. Otherwise keys with
   shared parts, nested n deep, would take 2^n comparisons. */
static const TVMFFIAny *tvmffi_i_lookup_key(tvmffi_i_ptr_table *keys,
                                            const TVMFFIObject *map,
                                            const TVMFFIAny *key) {
  const tvmffi_i_map_object *m = tvmffi_i_map_of(map);
  const int is_row = tvmffi_i_map_is_row(m);
  const tvmffi_i_pair *pair = NULL;
  const uintptr_t frame = tvmffi_i_stack_address();
  uint64_t hash;
  size_t i = 0;
  uint8_t meta = TVMFFI_I_MAP_JUMP; /* a small map is searched to its end */
  int code = 0;
  TVMFFI_ASSERT(key->type_index == TVMFFI_I_STRUCTURAL_KEY && key->v_obj);
  if (!m->size) return NULL;
  if (!is_row) {
    if (tvmffi_i_any_hash(key, &hash)) return &tvmffi_i_map_failed;
    i = tvmffi_i_map_home(m, hash);
    TVMFFI_ASSERT(i < m->num_slots);
    if (*tvmffi_i_map_meta(m->data, i) & TVMFFI_I_MAP_BODY) return NULL;
  }
  if (tvmffi_i_map_enter(m, frame)) return &tvmffi_i_map_failed;
  while (!code && meta & TVMFFI_I_MAP_JUMP) {
    pair = tvmffi_i_map_pair(map, i);
    if (!pair) break;
    if (!is_row) meta = *tvmffi_i_map_meta(m->data, i);
    if (pair->key.type_index == TVMFFI_I_STRUCTURAL_KEY)
      code = is_row ? tvmffi_i_run_equal_keys(keys, &pair->key, key)
                    : tvmffi_i_run_equal_keys(keys, key, &pair->key);
    i = is_row ? i + 1 : tvmffi_i_map_next(m, i, meta);
  }
  tvmffi_i_guard_leave(frame);
  TVMFFI_ASSERT(code <= 0 || pair);
  if (code < 0) return &tvmffi_i_map_failed;
  return code ? &pair->value : NULL;
}

/* Sets *other to the key that corresponds to `key`, a key in the map of `side`:
   `key` itself, or its mapped variable. Looks *other up in `map`, the other
   map, and sets *value to the value found (borrowed). If it is missing, sets
   *value to NULL and records a step to the key. The key's own equality function
   may change both maps, so the caller must read its entry again. */
static int tvmffi_i_counterpart(tvmffi_i_equality *s, int side,
                                const TVMFFIAny *key, TVMFFIObject *map,
                                TVMFFIAny *other, const TVMFFIAny **value) {
  *other = tvmffi_i_map_key_to(s, side, key);
  *value = other->type_index == TVMFFI_I_STRUCTURAL_KEY && other->v_obj
               ? tvmffi_i_lookup_key(s->keys, map, other)
               : tvmffi_i_map_lookup(map, other);
  if (*value == &tvmffi_i_map_failed) return tvmffi_i_map_code();
  return *value ? 0
                : tvmffi_i_add_map_step(s, side, key,
                                        TVMFFI_I_STEP_MAP_ITEM_MISSING, other);
}

/* Ends the comparison of two maps after all entries of the left map were found
   in the right map. If their sizes differ, records a key that is only in the
   right map. */
static int tvmffi_i_end_entries(tvmffi_i_equality *s, TVMFFIObject *left,
                                const TVMFFIObject *right) {
  const tvmffi_i_pair *pair;
  const TVMFFIAny *value;
  TVMFFIAny key, other;
  size_t at;
  int code;
  if (tvmffi_i_map_size(left) == tvmffi_i_map_size(right)) return TVMFFI_I_SAME;
  if (!s->wants_path) return TVMFFI_I_DIFFERENT;
  TVMFFI_I_EACH_PAIR(right, at, pair) {
    tvmffi_i_copy_owned(&pair->key, &key);
    code = tvmffi_i_counterpart(s, 1, &key, left, &other, &value);
    tvmffi_i_any_release(&key);
    if (code || !value) return code;
  }
  return TVMFFI_I_DIFFERENT;
}

/* Tells whether two keys or values are certainly equal. If not, they need a
   full comparison. */
TVMFFI_I_INLINE int tvmffi_i_is_alike(const TVMFFIAny *a, const TVMFFIAny *b) {
  if (a->type_index != b->type_index) return 0;
  if (a->type_index < kTVMFFIStaticObjectBegin)
    return a->zero_padding == b->zero_padding && a->v_uint64 == b->v_uint64;
  return a->type_index == kTVMFFIStr &&
         tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
}

/* Skips entries that have the same position in both maps and are certainly
   equal. */
static void tvmffi_i_pass_alike(tvmffi_i_equal_frame *f) {
  const TVMFFIObject *a = f->base.base.c.object, *b = f->base.base.other;
  const tvmffi_i_pair *x, *y;
  size_t at = f->base.base.c.at, other = f->at;
  TVMFFI_ASSERT(tvmffi_i_is_map_type(a->type_index));
  while ((x = tvmffi_i_map_pair(a, at)) != NULL &&
         (y = tvmffi_i_map_pair(b, other)) != NULL &&
         tvmffi_i_is_alike(&x->key, &y->key) &&
         tvmffi_i_is_alike(&x->value, &y->value)) {
    at = tvmffi_i_map_after(a, at);
    other = tvmffi_i_map_after(b, other);
  }
  f->base.base.c.at = at;
  f->at = other;
}

/* Looks up the key of `pair`, an entry of the left map, in the right map. Sets
   *value to the value found, or to NULL. First tries the same position, because
   maps usually have the same order. */
static int tvmffi_i_next_entry(tvmffi_i_equality *s, tvmffi_i_equal_frame *f,
                               const tvmffi_i_pair *pair,
                               const TVMFFIAny **value) {
  tvmffi_i_walk_frame *base = &f->base.base;
  const tvmffi_i_pair *other = tvmffi_i_map_pair(base->other, f->at);
  TVMFFIAny key = pair->key;
  if (base->owns & TVMFFI_I_OWNS_HELD) tvmffi_i_any_retain(&key);
  TVMFFI_ASSERT(!(base->owns & TVMFFI_I_OWNS_HELD) ||
                base->held.type_index == kTVMFFINone);
  base->held = key;
  if (other && tvmffi_i_is_alike(&key, &other->key)) {
    f->key = key; /* a hook may release the right key */
    *value = &other->value;
    return 0;
  }
  return tvmffi_i_counterpart(s, 0, &key, base->other, &f->key, value);
}

/* Compares entries of maps. Parameters and result are those of
   tvmffi_i_equal_items. */
static int tvmffi_i_equal_entries(tvmffi_i_equality *s, tvmffi_i_equal_frame *f,
                                  int code) {
  tvmffi_i_walk_frame *base = &f->base.base;
  TVMFFIObject *left = base->c.object, *right = base->other;
  const int is_dict = base->owns & TVMFFI_I_OWNS_HELD;
  const tvmffi_i_pair *pair;
  const TVMFFIAny *value;
  TVMFFI_ASSERT(code >= 0 && !is_dict == (left->type_index == kTVMFFIMap));
  while (code != TVMFFI_I_DIFFERENT) {
    if (code == TVMFFI_I_SAME) {
      if (is_dict) tvmffi_i_any_release(&base->held);
      base->c.at = tvmffi_i_map_after(left, base->c.at);
      f->at = tvmffi_i_map_after(right, f->at);
    }
    tvmffi_i_pass_alike(f);
    pair = tvmffi_i_map_pair(left, base->c.at);
    if (!pair) return tvmffi_i_end_entries(s, left, right);
    TVMFFI_TRY(tvmffi_i_next_entry(s, f, pair, &value));
    if (!value) return TVMFFI_I_DIFFERENT;
    pair = tvmffi_i_map_pair(left, base->c.at);
    if (!pair) return tvmffi_i_end_entries(s, left, right);
    code = tvmffi_i_equal_step(s, &pair->value, value, 1);
    if (code < 0) return code;
    if (code != TVMFFI_I_PUSHED) continue;
    return is_dict ? tvmffi_i_keep_pushed(&s->base, 0) : code;
  }
  return tvmffi_i_add_map_step(s, 0, &base->held, TVMFFI_I_STEP_MAP_ITEM,
                               &f->key);
}

/* Compares fields of objects. Parameters and result are those of
   tvmffi_i_equal_items. */
static int tvmffi_i_equal_fields(tvmffi_i_equality *s, tvmffi_i_equal_frame *f,
                                 int code) {
  tvmffi_i_children *c = &f->base.base.c;
  TVMFFIAny a, b;
  int is_own;
  TVMFFI_ASSERT(code >= 0 && f->base.kind);
  while (code != TVMFFI_I_DIFFERENT) {
    const TVMFFIFieldInfo *field = tvmffi_i_next_counted(&c->fields);
    if (!field) return TVMFFI_I_SAME;
    TVMFFI_TRY(tvmffi_i_read_field(field, c->object, &a, &is_own));
    c->field = field;
    s->base.region = tvmffi_i_field_region(field, f->base.region);
    code = tvmffi_i_read_field(field, f->base.base.other, &b, &is_own);
    if (!code && a.type_index < kTVMFFIStaticObjectBegin &&
        tvmffi_i_same_any(&a, &b)) {
      code = TVMFFI_I_SAME;
      continue;
    }
    if (!code) code = tvmffi_i_equal_step(s, &a, &b, is_own ? 2 : 1);
    if (code == TVMFFI_I_PUSHED) return tvmffi_i_keep_pushed(&s->base, is_own);
    if (is_own) {
      tvmffi_i_any_release(&a);
      tvmffi_i_any_release(&b);
    }
    if (code < 0) return code;
  }
  TVMFFI_ASSERT(c->field);
  return tvmffi_i_add_attr_step(s, &c->field->name);
}

/* Compares two values (borrowed). Returns 1 if they are equal, 0 if not, or an
   error code. Restores s->base.region only if they are equal; see also
   tvmffi_i_call_structural_hook. */
static int tvmffi_i_equal_values(tvmffi_i_equality *s, const TVMFFIAny *a,
                                 const TVMFFIAny *b, uint32_t own) {
  size_t depth = tvmffi_i_depth(s);
  int code = tvmffi_i_equal_step(s, a, b, own);
  while (tvmffi_i_depth(s) > depth) {
    tvmffi_i_equal_frame *f = TVMFFI_I_FRAME(tvmffi_i_equal_frame, s);
    TVMFFIObject *left = f->base.base.c.object, *right = f->base.base.other;
    switch (left->type_index) {
      case kTVMFFIArray:
      case kTVMFFIList: code = tvmffi_i_equal_items(s, f, code); break;
      case kTVMFFIMap:
      case kTVMFFIDict: code = tvmffi_i_equal_entries(s, f, code); break;
      default:
        code = tvmffi_i_equal_fields(s, f, code);
        if (code != TVMFFI_I_SAME) break;
        s->base.region = f->base.outer;
        code = tvmffi_i_end_equal(s, left, right, f->base.kind);
    }
    if (code == TVMFFI_I_PUSHED) continue;
    if (code == TVMFFI_I_SAME && f->base.base.is_shared &&
        tvmffi_i_set_result(&s->base, left, right, 0))
      code = -1;
    if (code < 0)
      tvmffi_i_cut_frames(s, depth);
    else
      tvmffi_i_pop_structural(&s->base.base.walk);
  }
  TVMFFI_ASSERT(tvmffi_i_depth(s) == depth && code != TVMFFI_I_PUSHED);
  return code;
}

/* Returns an array (owned) of the left and the right access path to the first
   difference, or NULL on error. */
static TVMFFIObject *tvmffi_i_mismatch_paths(tvmffi_i_equality *s) {
  TVMFFIAny *items;
  TVMFFIObject *pair = tvmffi_i_new_array(2, &items);
  size_t i;
  int side;
  TVMFFI_ASSERT(!tvmffi_i_depth(s));
  if (!pair) return NULL;
  for (side = 0; side < 2; ++side) {
    TVMFFIObject *path = tvmffi_i_new_path(NULL, NULL);
    for (i = s->num_steps; i-- > 0 && path;) {
      const tvmffi_i_mismatch *step = &s->steps[i];
      TVMFFIObject *longer =
          tvmffi_i_step_to(path, step->kind[side], &step->key[side]);
      TVMFFI_ASSERT(longer != path);
      tvmffi_i_release(path);
      path = longer;
    }
    if (!path) {
      tvmffi_i_release(pair);
      return NULL;
    }
    items[side] = tvmffi_obj(path);
  }
  return pair;
}

/* Compares two views as tvmffi_i_structural_equal does. `keys` has the results
   of the comparisons around this one. */
static int tvmffi_i_equal_inside(tvmffi_i_ptr_table *keys, const TVMFFIAny *a,
                                 const TVMFFIAny *b, int maps_variables,
                                 int skips_tensors, TVMFFIObject **paths) {
  tvmffi_i_equal_frame room[8];
  tvmffi_i_equality s = TVMFFI_I_ZERO;
  TVMFFIAny left = tvmffi_none(), right = tvmffi_none();
  size_t i;
  int code;
  s.wants_path = paths != NULL;
  s.keys = keys;
  TVMFFI_I_WALK_OPEN(&s, "StructuralEqual", tvmffi_i_pop_structural, room);
  s.base.region =
      maps_variables ? kTVMFFIDefRegionKindPattern : kTVMFFIDefRegionKindNone;
  s.base.skips_tensors = skips_tensors;
  TVMFFI_TRY(tvmffi_i_own(a, &left));
  code = tvmffi_i_own(b, &right);
  if (!code) code = tvmffi_i_equal_values(&s, &left, &right, UINT32_MAX);
  if (code == TVMFFI_I_DIFFERENT && paths) {
    *paths = tvmffi_i_mismatch_paths(&s);
    if (!*paths) code = -1;
  }
  for (i = 0; i < s.num_steps; ++i) {
    tvmffi_i_any_release(&s.steps[i].key[0]);
    tvmffi_i_any_release(&s.steps[i].key[1]);
  }
  tvmffi_i_free(s.steps);
  tvmffi_i_structural_close(&s.base);
  tvmffi_i_any_release(&left);
  tvmffi_i_any_release(&right);
  return code;
}

/* Compares two views. Returns 1 if they are equal, 0 if not, or an error code.
   If they differ and `paths` is not NULL, sets *paths to an array (owned) of
   the two access paths to the first difference. */
static int tvmffi_i_structural_equal(const TVMFFIAny *a, const TVMFFIAny *b,
                                     int maps_variables, int skips_tensors,
                                     TVMFFIObject **paths) {
  tvmffi_i_ptr_table keys[2] = TVMFFI_I_ZERO;
  int code =
      tvmffi_i_equal_inside(keys, a, b, maps_variables, skips_tensors, paths);
  TVMFFI_ASSERT(code != TVMFFI_I_DIFFERENT || !paths || *paths);
  tvmffi_i_clear_pairs(&keys[0]);
  tvmffi_i_clear_pairs(&keys[1]);
  return code;
}

/* Compares two ffi.StructuralKey objects. Returns 1 if they are equal, 0 if
   not, or an error code. Identical values of any type are equal. Adds the
   result to `keys`. */
static int tvmffi_i_equal_keys(tvmffi_i_ptr_table *keys, const TVMFFIAny *a,
                               const TVMFFIAny *b) {
  const tvmffi_i_structural_key *x, *y;
  TVMFFIObject *left = a->v_obj, *right = b->v_obj;
  const char *missing = NULL;
  int code;
  if (a->type_index == b->type_index && a->v_uint64 == b->v_uint64) return 1;
  if (a->type_index != TVMFFI_I_STRUCTURAL_KEY || !left)
    missing = "lhs_obj";
  else if (b->type_index != TVMFFI_I_STRUCTURAL_KEY || !right)
    missing = "rhs_obj";
  if (missing) return tvmffi_i_internal_error("Check not null: %s ", missing);
  x = (const tvmffi_i_structural_key *)(void *)left;
  y = (const tvmffi_i_structural_key *)(void *)right;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  if (x->hash != y->hash) return 0;
  if (TVMFFI_I_FIND_PAIR(tvmffi_i_met_pair, &keys[0], left, right)) return 0;
  if (TVMFFI_I_FIND_PAIR(tvmffi_i_met_pair, &keys[1], left, right)) return 1;
  TVMFFI_TRY(tvmffi_i_nest());
  tvmffi_i_retain(left); /* a hook may release both */
  tvmffi_i_retain(right);
  code = tvmffi_i_equal_inside(keys, &x->key, &y->key, 0, 0, NULL);
  tvmffi_i_unnest();
  TVMFFI_ASSERT(code <= 1);
  if (code >= 0 &&
      !TVMFFI_I_ADD_PAIR(tvmffi_i_met_pair, &keys[code], left, right))
    code = -1;
  tvmffi_i_release(left);
  tvmffi_i_release(right);
  return code;
}
#endif
