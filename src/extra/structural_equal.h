/* ======== Structural equality ====================== >>extra/structural_equal
   equality up to renamed variables */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/map_layout.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../platform/stack.h"
#include "../core/raise.h"
#include "../core/type_member.h"
#include "../containers/equal.h"
#include "../containers/sequence.h"
#include "../containers/map_lookup.h"
#include "../reflection/field.h"
#include "../reflection/enum.h"
#include "../reflection/access_path.h"
#include "graph.h"
#include "hook.h"
#include "recursive_hash.h"
#include "structural.h"

#if !TVMFFI_NO_EXTRA
/* A step from an object inwards on both sides; the keys are owned. */
typedef struct {
  int32_t kind[2];
  TVMFFIAny key[2];
} tvmffi_i_mismatch;

typedef struct {
  TVMFFIObject *object[2];
  union {
    int64_t index; /* of the item that is being compared */
    struct {
      uint64_t at, other; /* in both, for maps of one order */
      TVMFFIAny key[2];   /* of the entry; the first is owned if of a dict */
    } map;
    struct {
      tvmffi_i_field_walk walk;
      const TVMFFIFieldInfo *field;
    } fields;
  } at;
  int32_t outer;           /* the region around the objects */
  int32_t region;          /* and in them */
  unsigned char is_own;    /* the frame holds references to both */
  unsigned char kind;      /* of an object with fields */
  unsigned char is_shared; /* both may be met again */
} tvmffi_i_equal_frame;

typedef struct {
  tvmffi_i_structural base;
  tvmffi_i_stack frames;
  tvmffi_i_memos mapped[2]; /* left to right and back; values are borrowed */
  tvmffi_i_results same;    /* pairs that are equal */
  int wants_path;
  tvmffi_i_mismatch *steps; /* from the innermost outwards */
  size_t num_steps, max_steps;
} tvmffi_i_equality;

static int tvmffi_i_equal_values(tvmffi_i_equality *s, const TVMFFIAny *a,
                                 const TVMFFIAny *b, uint32_t own);

static tvmffi_i_known_column tvmffi_i_s_equal_column = {"__s_equal__", NULL};

/* Records a step; the keys are taken. */
static int tvmffi_i_add_step(tvmffi_i_equality *s, int32_t kind_a, TVMFFIAny a,
                             int32_t kind_b, TVMFFIAny b) {
  tvmffi_i_mismatch *step = s->steps;
  if (s->num_steps == s->max_steps) {
    step = (tvmffi_i_mismatch *)tvmffi_i_larger(step, &s->max_steps,
                                                sizeof(*step));
    if (!step) {
      tvmffi_any_release(&a);
      tvmffi_any_release(&b);
      return -1;
    }
    s->steps = step;
  }
  step = &s->steps[s->num_steps++];
  step->kind[0] = kind_a;
  step->kind[1] = kind_b;
  step->key[0] = a;
  step->key[1] = b;
  return 0;
}

static int tvmffi_i_add_attr_step(tvmffi_i_equality *s,
                                  const TVMFFIByteArray *name) {
  TVMFFIAny key = tvmffi_none();
  if (!s->wants_path) return 0;
  TVMFFI_TRY(TVMFFIStringFromByteArray(name, &key));
  return tvmffi_i_add_step(s, TVMFFI_I_STEP_ATTR, key, TVMFFI_I_STEP_ATTR,
                           tvmffi_i_copy_owned(&key));
}

/* Ends the comparison of two objects with fields; gives the same or a code. */
static int tvmffi_i_end_equal(tvmffi_i_equality *s, TVMFFIObject *a,
                              TVMFFIObject *b, int kind, int result) {
  if (result != TVMFFI_I_SAME) return result;
  if (kind == kTVMFFISEqHashKindFreeVar) {
    if (a != b && s->base.region == kTVMFFIDefRegionKindNone)
      return TVMFFI_I_DIFFERENT;
  } else if (kind != kTVMFFISEqHashKindDAGNode) {
    return result;
  }
  TVMFFI_TRY(tvmffi_i_set_memo(&s->mapped[0], a, (uintptr_t)b));
  TVMFFI_TRY(tvmffi_i_set_memo(&s->mapped[1], b, (uintptr_t)a));
  return result;
}

/* What the hook calls: with two values, a region and the name of a field. */
static int tvmffi_i_call_structural_equal(void *self, const TVMFFIAny *args,
                                          int32_t num_args, TVMFFIAny *result) {
  static const tvmffi_i_name *const types[] = {
      &tvmffi_i_name_bool, &tvmffi_i_name_view, &tvmffi_i_name_view,
      &tvmffi_i_name_int64, &tvmffi_i_name_view};
  static const tvmffi_func description = {"", NULL, 4, types};
  tvmffi_i_equality *s = (tvmffi_i_equality *)tvmffi_i_callback_state(
      self, &description, args, num_args, result);
  TVMFFIAny a = tvmffi_none(), b = tvmffi_none();
  TVMFFIByteArray name;
  int32_t outer;
  int code;
  if (!s) return -1;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&args[0], &a));
  code = TVMFFIAnyViewToOwnedAny(&args[1], &b);
  if (!code) {
    outer = s->base.region;
    s->base.region = tvmffi_i_region_in(outer, (int32_t)args[2].v_int64);
    code = tvmffi_i_equal_values(s, &a, &b, 2);
    if (code >= 0) s->base.region = outer;
  }
  tvmffi_any_release(&a);
  tvmffi_any_release(&b);
  if (code < 0) return code;
  if (code == TVMFFI_I_DIFFERENT && s->wants_path) {
    if (tvmffi_i_get_str(&args[3], &name))
      return tvmffi_i_bad_cast(&args[3], "str");
    TVMFFI_TRY(tvmffi_i_add_attr_step(s, &name));
  }
  *result = tvmffi_bool(code == TVMFFI_I_SAME);
  return 0;
}

TVMFFI_I_NOINLINE int tvmffi_i_equal_by_hook(tvmffi_i_equality *s,
                                             TVMFFIObject *hook,
                                             TVMFFIObject *a, TVMFFIObject *b) {
  TVMFFIAny args[3], result = tvmffi_none();
  int code;
  TVMFFI_TRY(
      tvmffi_i_make_callback(&s->base, s, tvmffi_i_call_structural_equal));
  TVMFFI_TRY(tvmffi_i_nest());
  args[0] = tvmffi_obj(a);
  args[1] = tvmffi_obj(b);
  args[2] = tvmffi_obj(s->base.callback);
  code = TVMFFIFunctionCall(hook, args, 3, &result);
  tvmffi_i_unnest();
  if (code) return code;
  if (TVMFFI_I_IS_INT(&result)) return result.v_int64 != 0;
  code = tvmffi_i_bad_cast(&result, "bool");
  tvmffi_any_release(&result);
  return code;
}

/* Whether two objects are known to be equal. */
TVMFFI_I_NOINLINE int tvmffi_i_was_equal(tvmffi_i_equality *s,
                                         const TVMFFIObject *a,
                                         const TVMFFIObject *b) {
  if (tvmffi_i_has_pair(&s->same.firm, a, b)) return 1;
  if (s->same.entries != s->mapped[0].count ||
      !tvmffi_i_has_pair(&s->same.loose, a, b))
    return 0;
  ++s->same.num_loose;
  return 1;
}

/* Pushes a frame, unless the objects are known to be equal. `own`: how many
   references to each the caller knows of. */
static int tvmffi_i_push_equal(tvmffi_i_equality *s, TVMFFIObject *a,
                               TVMFFIObject *b, uint32_t own,
                               tvmffi_i_equal_frame **out) {
  int is_shared = tvmffi_i_is_shared(a, own) && tvmffi_i_is_shared(b, own);
  tvmffi_i_equal_frame *f;
  if (is_shared) {
    if (tvmffi_i_was_equal(s, a, b)) return TVMFFI_I_SAME;
    TVMFFI_TRY(tvmffi_i_begin_result(&s->same, s->mapped[0].count));
  }
  f = TVMFFI_I_PUSH(tvmffi_i_equal_frame, &s->frames, "StructuralEqual");
  if (!f) {
    s->same.num_begun -= (size_t)is_shared;
    return -1;
  }
  f->is_shared = (unsigned char)is_shared;
  *out = f;
  f->object[0] = a;
  f->object[1] = b;
  f->outer = f->region = s->base.region;
  f->is_own = 0;
  f->at.index = 0;
  return TVMFFI_I_PUSHED;
}

/* Compares two objects of one type that has fields. */
static int tvmffi_i_equal_objects(tvmffi_i_equality *s, TVMFFIObject *a,
                                  TVMFFIObject *b, uint32_t own) {
  const TVMFFITypeInfo *type = tvmffi_i_structural_type(a->type_index);
  tvmffi_i_equal_frame *f;
  TVMFFIObject *hook;
  int32_t region = s->base.region;
  int kind, code, is_shared;
  if (!type) return -1;
  kind = type->metadata->structural_eq_hash_kind;
  if (kind == kTVMFFISEqHashKindUniqueInstance) return a == b;
  if (kind == kTVMFFISEqHashKindConstTreeNode && a == b) return 1;
  if (kind == kTVMFFISEqHashKindDAGNode || kind == kTVMFFISEqHashKindFreeVar) {
    const tvmffi_i_memo *known = tvmffi_i_find_memo(&s->mapped[0], a);
    if (known) return known->value == (uintptr_t)b;
    if (tvmffi_i_find_memo(&s->mapped[1], b)) return TVMFFI_I_DIFFERENT;
    own = UINT32_MAX; /* mapped in the end, which says more */
  }
  TVMFFI_TRY(tvmffi_i_find_hook(
      &tvmffi_i_s_equal_column, type->type_index,
      "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView, 2: int, 3: "
      "AnyView) -> bool) -> bool",
      &hook));
  /* What a variable in a simple region consists of is outside of it. */
  if (kind == kTVMFFISEqHashKindFreeVar && region == kTVMFFIDefRegionKindSimple)
    region = kTVMFFIDefRegionKindNone;
  if (!hook) {
    code = tvmffi_i_push_equal(s, a, b, own, &f);
    if (code != TVMFFI_I_PUSHED) return code;
    f->at.fields.walk = tvmffi_i_walk_fields(type);
    f->kind = (unsigned char)kind;
    f->region = region;
    return code;
  }
  is_shared = tvmffi_i_is_shared(a, own) && tvmffi_i_is_shared(b, own);
  if (is_shared && tvmffi_i_was_equal(s, a, b)) return TVMFFI_I_SAME;
  TVMFFI_TRY(tvmffi_i_begin_result(&s->same, s->mapped[0].count));
  tvmffi_retain(a);
  tvmffi_retain(b);
  {
    int32_t outer = s->base.region;
    s->base.region = region;
    code = tvmffi_i_equal_by_hook(s, hook, a, b);
    if (code >= 0) s->base.region = outer;
  }
  code = tvmffi_i_end_equal(s, a, b, kind, code);
  if (is_shared && code == TVMFFI_I_SAME &&
      tvmffi_i_set_result(&s->same, s->mapped[0].count, a, (uintptr_t)b))
    code = -1;
  --s->same.num_begun;
  tvmffi_release(a);
  tvmffi_release(b);
  return code;
}

static int tvmffi_i_equal_tensors(const tvmffi_i_equality *s,
                                  TVMFFIObject *left, TVMFFIObject *right) {
  const DLTensor *a = TVMFFITensorGetDLTensorPtr(left);
  const DLTensor *b = TVMFFITensorGetDLTensorPtr(right);
  size_t size = 0, other = 0;
  int32_t i;
  if (left == right) return TVMFFI_I_SAME;
  if (a->ndim != b->ndim) return TVMFFI_I_DIFFERENT;
  for (i = 0; i < a->ndim; ++i)
    if (a->shape[i] != b->shape[i]) return TVMFFI_I_DIFFERENT;
  if (a->dtype.code != b->dtype.code || a->dtype.bits != b->dtype.bits ||
      a->dtype.lanes != b->dtype.lanes)
    return TVMFFI_I_DIFFERENT;
  if (s->base.skips_tensors) return TVMFFI_I_SAME;
  if (a->device.device_type == kDLCPU && b->device.device_type != kDLCPU)
    return tvmffi_i_tensor_bytes(b, "compare", &other);
  TVMFFI_TRY(tvmffi_i_tensor_bytes(a, "compare", &size));
  TVMFFI_TRY(tvmffi_i_tensor_bytes(b, "compare", &other));
  return !size || memcmp(a->data, b->data, size) == 0;
}

static int tvmffi_i_equal_shapes(const TVMFFIObject *a, const TVMFFIObject *b) {
  const TVMFFIShapeCell *x = TVMFFI_I_CELL(TVMFFIShapeCell, a);
  const TVMFFIShapeCell *y = TVMFFI_I_CELL(TVMFFIShapeCell, b);
  size_t i;
  if (x->size != y->size) return TVMFFI_I_DIFFERENT;
  for (i = 0; i < x->size; ++i)
    if (x->data[i] != y->data[i]) return TVMFFI_I_DIFFERENT;
  return TVMFFI_I_SAME;
}

/* Looks at two values: equal, different, or a frame is pushed. `own`: how many
   references to each object the caller knows of. */
static int tvmffi_i_equal_step(tvmffi_i_equality *s, const TVMFFIAny *a,
                               const TVMFFIAny *b, uint32_t own) {
  int32_t index = a->type_index;
  tvmffi_i_equal_frame *f;
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
      if (!s->wants_path && TVMFFI_I_CELL(TVMFFISeqCell, a->v_obj)->size !=
                                TVMFFI_I_CELL(TVMFFISeqCell, b->v_obj)->size)
        return TVMFFI_I_DIFFERENT;
      return tvmffi_i_push_equal(s, a->v_obj, b->v_obj, own, &f);
    case kTVMFFIMap:
    case kTVMFFIDict: {
      int code;
      if (!s->wants_path &&
          tvmffi_i_map_size(a->v_obj) != tvmffi_i_map_size(b->v_obj))
        return TVMFFI_I_DIFFERENT;
      code = tvmffi_i_push_equal(s, a->v_obj, b->v_obj, own, &f);
      if (code != TVMFFI_I_PUSHED) return code;
      f->at.map.at = tvmffi_i_map_begin(a->v_obj);
      f->at.map.other = tvmffi_i_map_begin(b->v_obj);
      memset((void *)f->at.map.key, 0, sizeof(f->at.map.key));
      return code;
    }
    case kTVMFFIShape: return tvmffi_i_equal_shapes(a->v_obj, b->v_obj);
    case kTVMFFITensor: return tvmffi_i_equal_tensors(s, a->v_obj, b->v_obj);
    default: return tvmffi_i_equal_objects(s, a->v_obj, b->v_obj, own);
  }
}

/* Lets the newest frame keep its objects. */
TVMFFI_I_INLINE void tvmffi_i_keep_equal(tvmffi_i_equality *s) {
  tvmffi_i_equal_frame *f = TVMFFI_I_TOP(tvmffi_i_equal_frame, &s->frames);
  tvmffi_retain(f->object[0]);
  tvmffi_retain(f->object[1]);
  f->is_own = 1;
}

/* Each of the following goes on with the top frame, whose last part ended with
   `code`, until a part of it pushes a frame, or it is done: then it gives
   whether its objects are equal. */
static int tvmffi_i_equal_items(tvmffi_i_equality *s, tvmffi_i_equal_frame *f,
                                int code) {
  const TVMFFISeqCell *a = TVMFFI_I_CELL(TVMFFISeqCell, f->object[0]);
  const TVMFFISeqCell *b = TVMFFI_I_CELL(TVMFFISeqCell, f->object[1]);
  int is_list = f->object[0]->type_index == kTVMFFIList;
  int32_t item = TVMFFI_I_STEP_ARRAY_ITEM;
  int64_t i = f->at.index;
  if (code == TVMFFI_I_SAME) ++i;
  while (code != TVMFFI_I_DIFFERENT && i < a->size && i < b->size) {
    const TVMFFIAny *x = (const TVMFFIAny *)a->data + i;
    const TVMFFIAny *y = (const TVMFFIAny *)b->data + i;
    if (x->type_index < kTVMFFIStaticObjectBegin && tvmffi_i_same_any(x, y))
      code = TVMFFI_I_SAME;
    else
      code = tvmffi_i_equal_step(s, x, y, 1);
    if (code == TVMFFI_I_SAME) {
      ++i;
    } else if (code == TVMFFI_I_PUSHED) {
      f->at.index = i;
      if (is_list) tvmffi_i_keep_equal(s);
      return code;
    } else if (code < 0) {
      return code;
    }
  }
  if (code != TVMFFI_I_DIFFERENT && a->size == b->size) return TVMFFI_I_SAME;
  if (s->wants_path) {
    int both = code == TVMFFI_I_DIFFERENT;
    int32_t none = TVMFFI_I_STEP_ARRAY_ITEM_MISSING;
    TVMFFI_TRY(
        tvmffi_i_add_step(s, both || i < a->size ? item : none, tvmffi_int(i),
                          both || i < b->size ? item : none, tvmffi_int(i)));
  }
  return TVMFFI_I_DIFFERENT;
}

/* A key as the other side has it, borrowed. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_map_key_to(tvmffi_i_equality *s, int from,
                                              const TVMFFIAny *key) {
  const tvmffi_i_memo *known;
  if (key->type_index < kTVMFFIStaticObjectBegin) return *key;
  known = tvmffi_i_find_memo(&s->mapped[from], key->v_obj);
  if (known) return tvmffi_obj((TVMFFIObject *)(uintptr_t)known->value);
  ++s->same.num_loose; /* it may be mapped later */
  return *key;
}

/* Records a step whose keys (copied) are on side `side` and the other one,
   which may lack it. */
static int tvmffi_i_add_map_step(tvmffi_i_equality *s, int side,
                                 const TVMFFIAny *key, int32_t other_kind,
                                 const TVMFFIAny *other) {
  TVMFFIAny mine, theirs;
  if (!s->wants_path) return 0;
  mine = tvmffi_i_copy_owned(key);
  theirs = tvmffi_i_copy_owned(other);
  return side ? tvmffi_i_add_step(s, other_kind, theirs, TVMFFI_I_STEP_MAP_ITEM,
                                  mine)
              : tvmffi_i_add_step(s, TVMFFI_I_STEP_MAP_ITEM, mine, other_kind,
                                  theirs);
}

/* Finds what the other side has for a key of side `side`; the look-up may
   change both. *value is NULL, and the step recorded, if it has nothing. */
static int tvmffi_i_counterpart(tvmffi_i_equality *s, TVMFFIObject *const *map,
                                int side, const TVMFFIAny *key,
                                TVMFFIAny *other, const TVMFFIAny **value) {
  *other = tvmffi_i_map_key_to(s, side, key);
  *value = tvmffi_i_map_lookup(map[!side], other);
  if (*value == &tvmffi_i_map_failed) return -1;
  return *value ? 0
                : tvmffi_i_add_map_step(s, side, key,
                                        TVMFFI_I_STEP_MAP_ITEM_MISSING, other);
}

/* All entries of the left are on the right. */
static int tvmffi_i_end_entries(tvmffi_i_equality *s,
                                TVMFFIObject *const *map) {
  const tvmffi_i_pair *pair;
  const TVMFFIAny *value;
  TVMFFIAny key, other;
  uint64_t at;
  int code;
  if (tvmffi_i_map_size(map[0]) == tvmffi_i_map_size(map[1]))
    return TVMFFI_I_SAME;
  if (!s->wants_path) return TVMFFI_I_DIFFERENT;
  for (at = tvmffi_i_map_begin(map[1]);
       (pair = tvmffi_i_map_pair(map[1], at)) != NULL;
       at = tvmffi_i_map_after(map[1], at)) {
    key = tvmffi_i_copy_owned(&pair->key);
    code = tvmffi_i_counterpart(s, map, 1, &key, &other, &value);
    tvmffi_any_release(&key);
    if (code || !value) return code;
  }
  return TVMFFI_I_DIFFERENT;
}

/* Whether keys, or values, are alike, whatever was mapped to what. */
TVMFFI_I_INLINE int tvmffi_i_is_alike(const TVMFFIAny *a, const TVMFFIAny *b) {
  if (a->type_index != b->type_index) return 0;
  if (a->type_index < kTVMFFIStaticObjectBegin)
    return a->zero_padding == b->zero_padding && a->v_uint64 == b->v_uint64;
  return a->type_index == kTVMFFIStr &&
         tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
}

/* Passes entries that are alike at the same place. */
static void tvmffi_i_pass_alike(tvmffi_i_equal_frame *f) {
  const TVMFFIObject *a = f->object[0], *b = f->object[1];
  const tvmffi_i_pair *x, *y;
  uint64_t at = f->at.map.at, other = f->at.map.other;
  while ((x = tvmffi_i_map_pair(a, at)) != NULL &&
         (y = tvmffi_i_map_pair(b, other)) != NULL &&
         tvmffi_i_is_alike(&x->key, &y->key) &&
         tvmffi_i_is_alike(&x->value, &y->value)) {
    at = tvmffi_i_map_after(a, at);
    other = tvmffi_i_map_after(b, other);
  }
  f->at.map.at = at;
  f->at.map.other = other;
}

/* Takes the entry of the left that is next, and finds its counterpart: at the
   same place of the right, as often, or by its key. */
static int tvmffi_i_next_entry(tvmffi_i_equality *s, tvmffi_i_equal_frame *f,
                               const tvmffi_i_pair *pair,
                               const TVMFFIAny **value) {
  const tvmffi_i_pair *other = tvmffi_i_map_pair(f->object[1], f->at.map.other);
  TVMFFIAny key = f->object[0]->type_index == kTVMFFIDict
                      ? tvmffi_i_copy_owned(&pair->key)
                      : pair->key;
  f->at.map.key[0] = key;
  if (other && tvmffi_i_is_alike(&key, &other->key)) {
    f->at.map.key[1] = key; /* a hook may release the other one */
    *value = &other->value;
    return 0;
  }
  return tvmffi_i_counterpart(s, f->object, 0, &key, &f->at.map.key[1], value);
}

static int tvmffi_i_equal_entries(tvmffi_i_equality *s, tvmffi_i_equal_frame *f,
                                  int code) {
  TVMFFIObject *const *map = f->object;
  const tvmffi_i_pair *pair;
  const TVMFFIAny *value;
  while (code != TVMFFI_I_DIFFERENT) {
    if (code == TVMFFI_I_SAME) {
      if (map[0]->type_index == kTVMFFIDict)
        tvmffi_any_release(&f->at.map.key[0]);
      f->at.map.at = tvmffi_i_map_after(map[0], f->at.map.at);
      f->at.map.other = tvmffi_i_map_after(map[1], f->at.map.other);
    }
    tvmffi_i_pass_alike(f);
    pair = tvmffi_i_map_pair(map[0], f->at.map.at);
    if (!pair) return tvmffi_i_end_entries(s, map);
    TVMFFI_TRY(tvmffi_i_next_entry(s, f, pair, &value));
    if (!value) return TVMFFI_I_DIFFERENT;
    pair = tvmffi_i_map_pair(map[0], f->at.map.at);
    if (!pair) return tvmffi_i_end_entries(s, map);
    code = tvmffi_i_equal_step(s, &pair->value, value, 1);
    if (code < 0) return code;
    if (code != TVMFFI_I_PUSHED) continue;
    if (map[0]->type_index == kTVMFFIDict) tvmffi_i_keep_equal(s);
    return code;
  }
  return tvmffi_i_add_map_step(s, 0, &f->at.map.key[0], TVMFFI_I_STEP_MAP_ITEM,
                               &f->at.map.key[1]);
}

static int tvmffi_i_equal_fields(tvmffi_i_equality *s, tvmffi_i_equal_frame *f,
                                 int code) {
  const TVMFFIFieldInfo *field = f->at.fields.field;
  TVMFFIAny a, b;
  int is_own;
  while (code != TVMFFI_I_DIFFERENT) {
    field = tvmffi_i_next_counted(&f->at.fields.walk);
    if (!field) return TVMFFI_I_SAME;
    TVMFFI_TRY(tvmffi_i_read_field(field, f->object[0], &a, &is_own));
    f->at.fields.field = field;
    s->base.region = tvmffi_i_field_region(field, f->region);
    code = tvmffi_i_read_field(field, f->object[1], &b, &is_own);
    if (!code && a.type_index < kTVMFFIStaticObjectBegin &&
        tvmffi_i_same_any(&a, &b)) {
      code = TVMFFI_I_SAME;
      continue;
    }
    if (!code) code = tvmffi_i_equal_step(s, &a, &b, is_own ? 2 : 1);
    if (code == TVMFFI_I_PUSHED) {
      if (!is_own) tvmffi_i_keep_equal(s);
      TVMFFI_I_TOP(tvmffi_i_equal_frame, &s->frames)->is_own =
          1; /* it takes both over */
      return code;
    }
    if (is_own) {
      tvmffi_any_release(&a);
      tvmffi_any_release(&b);
    }
    if (code < 0) return code;
  }
  return tvmffi_i_add_attr_step(s, &field->name);
}

static void tvmffi_i_pop_equal(tvmffi_i_equality *s) {
  tvmffi_i_equal_frame *f = TVMFFI_I_TOP(tvmffi_i_equal_frame, &s->frames);
  int32_t index = f->object[0]->type_index;
  if (index == kTVMFFIDict) tvmffi_any_release(&f->at.map.key[0]);
  s->same.num_begun -= f->is_shared;
  if (f->is_own) {
    tvmffi_release(f->object[0]);
    tvmffi_release(f->object[1]);
  }
  TVMFFI_I_POP(tvmffi_i_equal_frame, &s->frames);
}

/* Compares two values (borrowed): 1, 0, or an error's code. An error leaves
   the region as it was where it arose, as upstream does. */
static int tvmffi_i_equal_values(tvmffi_i_equality *s, const TVMFFIAny *a,
                                 const TVMFFIAny *b, uint32_t own) {
  size_t base = s->frames.depth;
  int code = tvmffi_i_equal_step(s, a, b, own);
  while (s->frames.depth > base) {
    tvmffi_i_equal_frame *f = TVMFFI_I_TOP(tvmffi_i_equal_frame, &s->frames);
    switch (f->object[0]->type_index) {
      case kTVMFFIArray:
      case kTVMFFIList: code = tvmffi_i_equal_items(s, f, code); break;
      case kTVMFFIMap:
      case kTVMFFIDict: code = tvmffi_i_equal_entries(s, f, code); break;
      default:
        code = tvmffi_i_equal_fields(s, f, code);
        if (code < 0 || code == TVMFFI_I_PUSHED) break;
        s->base.region = f->outer;
        code = tvmffi_i_end_equal(s, f->object[0], f->object[1], f->kind, code);
    }
    if (code == TVMFFI_I_PUSHED) continue;
    if (code >= 0) s->base.region = f->outer;
    if (code == TVMFFI_I_SAME && f->is_shared &&
        tvmffi_i_set_result(&s->same, s->mapped[0].count, f->object[0],
                            (uintptr_t)f->object[1]))
      code = -1;
    do tvmffi_i_pop_equal(s);
    while (code < 0 && s->frames.depth > base);
  }
  return code;
}

/* Makes the paths to the first difference, an array of two, of the steps. */
static TVMFFIObject *tvmffi_i_mismatch_paths(tvmffi_i_equality *s) {
  TVMFFIAny *items;
  TVMFFIObject *pair = tvmffi_i_new_array(2, &items);
  size_t i;
  int side;
  if (!pair) return NULL;
  for (side = 0; side < 2; ++side) {
    TVMFFIObject *path = tvmffi_i_new_path(NULL, NULL);
    for (i = s->num_steps; i-- > 0 && path;) {
      tvmffi_i_mismatch *step = &s->steps[i];
      TVMFFIObject *longer =
          tvmffi_i_step_to(path, step->kind[side], step->key[side]);
      step->key[side] = tvmffi_none();
      tvmffi_release(path);
      path = longer;
    }
    if (!path) {
      tvmffi_release(pair);
      return NULL;
    }
    items[side] = tvmffi_obj(path);
  }
  return pair;
}

/* Compares two views of any kind: 1, 0, or an error's code. With `paths`, gives
   there an array (owned) of the paths to the first difference, or NULL. */
static int tvmffi_i_structural_equal(const TVMFFIAny *a, const TVMFFIAny *b,
                                     int maps_variables, int skips_tensors,
                                     TVMFFIObject **paths) {
  tvmffi_i_equal_frame room[16];
  tvmffi_i_equality s = TVMFFI_I_ZERO;
  TVMFFIAny left = tvmffi_none(), right = tvmffi_none();
  size_t i;
  int code;
  s.base.region =
      maps_variables ? kTVMFFIDefRegionKindPattern : kTVMFFIDefRegionKindNone;
  s.base.skips_tensors = skips_tensors;
  s.wants_path = paths != NULL;
  s.same.firm.is_pairs = s.same.loose.is_pairs = 1;
  tvmffi_i_stack_open(&s.frames, room, sizeof(room));
  TVMFFI_TRY(tvmffi_i_own(a, &left));
  code = tvmffi_i_own(b, &right);
  if (!code) code = tvmffi_i_equal_values(&s, &left, &right, UINT32_MAX);
  if (code == TVMFFI_I_DIFFERENT && paths) {
    *paths = tvmffi_i_mismatch_paths(&s);
    if (!*paths) code = -1;
  }
  tvmffi_i_drop_callback(&s.base);
  for (i = 0; i < s.num_steps; ++i) {
    tvmffi_any_release(&s.steps[i].key[0]);
    tvmffi_any_release(&s.steps[i].key[1]);
  }
  tvmffi_i_free(s.steps);
  tvmffi_i_stack_close(&s.frames);
  tvmffi_i_drop_memos(&s.mapped[0]);
  tvmffi_i_drop_memos(&s.mapped[1]);
  tvmffi_i_drop_results(&s.same);
  tvmffi_any_release(&left);
  tvmffi_any_release(&right);
  return code;
}
#endif
