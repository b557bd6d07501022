/* ======== Recursive comparison ==================== >>extra/recursive_compare
   order of values with their parts */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "recursive.h"
#include "recursive_hash.h"

#if !TVMFFI_NO_EXTRA
typedef struct {
  tvmffi_i_walk_frame base;
  TVMFFIAny held; /* owned: the value of the field in base.other */
  size_t at;      /* if in_step is 1: position in the map base.other */
  int in_step;    /* 1: both maps have equal keys in the same order */
} tvmffi_i_compare_frame;

typedef struct {
  tvmffi_i_recursive base; /* must be first: callbacks get its address */
  int is_equality;
} tvmffi_i_comparison;

#define TVMFFI_I_SIGN(a, b) (((a) > (b)) - ((a) < (b)))

/* Compares strings by their bytes as plain `char`, like memncmp of upstream's
   string.h. On most machines `char` is signed, so bytes from 128 on come first.
   */
static int tvmffi_i_text_sign(TVMFFIByteArray a, TVMFFIByteArray b) {
  size_t i = 0, n = a.size < b.size ? a.size : b.size;
  if (n && memcmp(a.data, b.data, n) != 0) {
    while (a.data[i] == b.data[i]) ++i;
    TVMFFI_ASSERT(i < n);
    return TVMFFI_I_SIGN(a.data[i], b.data[i]);
  }
  return TVMFFI_I_SIGN(a.size, b.size);
}

static int tvmffi_i_shape_sign(const TVMFFIObject *a, const TVMFFIObject *b) {
  const TVMFFIShapeCell *x = TVMFFI_I_CELL(TVMFFIShapeCell, a);
  const TVMFFIShapeCell *y = TVMFFI_I_CELL(TVMFFIShapeCell, b);
  size_t i;
  for (i = 0; i < x->size && i < y->size; ++i)
    if (x->data[i] != y->data[i]) return TVMFFI_I_SIGN(x->data[i], y->data[i]);
  return TVMFFI_I_SIGN(x->size, y->size);
}

/* Returns the order of two integers, each an int or a big integer: -1, 0 or 1.
   */
static int tvmffi_i_bigint_sign(const TVMFFIAny *a, const TVMFFIAny *b) {
  TVMFFIByteArray x = TVMFFIBigIntGetContentByteArray(a);
  TVMFFIByteArray y = TVMFFIBigIntGetContentByteArray(b);
  size_t n = x.size / 8, m = y.size / 8, i = n > m ? n : m;
  int64_t x_high = n ? tvmffi_i_bigint_word(x.data, n - 1) : 0;
  int64_t y_high = m ? tvmffi_i_bigint_word(y.data, m - 1) : 0;
  TVMFFI_ASSERT(x.size % 8 == 0 && y.size % 8 == 0);
  if ((x_high < 0) != (y_high < 0)) return x_high < 0 ? -1 : 1;
  while (i--) {
    uint64_t p =
        (uint64_t)(i < n ? tvmffi_i_bigint_word(x.data, i) : -(x_high < 0));
    uint64_t q =
        (uint64_t)(i < m ? tvmffi_i_bigint_word(y.data, i) : -(y_high < 0));
    if (p != q) return TVMFFI_I_SIGN(p, q);
  }
  return 0;
}

/* Converts the bits of a double to an integer with the same order. Both zeros
   become 0. */
TVMFFI_I_INLINE int64_t tvmffi_i_float_rank(uint64_t bits) {
  int64_t size = (int64_t)(bits << 1 >> 1);
  TVMFFI_ASSERT(!tvmffi_i_is_nan(bits));
  return bits >> 63 ? -size : size;
}

/* Compares two values that are not objects, of one type. Returns 1, or an error
   code. */
static int tvmffi_i_compare_plain(const tvmffi_i_comparison *g,
                                  const TVMFFIAny *a, const TVMFFIAny *b,
                                  int *sign) {
  TVMFFI_ASSERT(a->type_index == b->type_index);
  TVMFFI_ASSERT(a->type_index < kTVMFFIStaticObjectBegin);
  switch (a->type_index) {
    case kTVMFFIBool: *sign = (a->v_int64 != 0) - (b->v_int64 != 0); return 1;
    case kTVMFFIInt: *sign = TVMFFI_I_SIGN(a->v_int64, b->v_int64); return 1;
    case kTVMFFIFloat:
      if (tvmffi_i_is_nan(a->v_uint64) || tvmffi_i_is_nan(b->v_uint64)) {
        if (!g->is_equality)
          return tvmffi_i_type_error("Cannot order NaN values");
        *sign = tvmffi_i_is_nan(a->v_uint64) != tvmffi_i_is_nan(b->v_uint64);
        return 1;
      }
      *sign = TVMFFI_I_SIGN(tvmffi_i_float_rank(a->v_uint64),
                            tvmffi_i_float_rank(b->v_uint64));
      return 1;
    case kTVMFFIDataType:
      *sign = TVMFFI_I_SIGN(a->v_dtype.code, b->v_dtype.code);
      if (!*sign) *sign = TVMFFI_I_SIGN(a->v_dtype.bits, b->v_dtype.bits);
      if (!*sign) *sign = TVMFFI_I_SIGN(a->v_dtype.lanes, b->v_dtype.lanes);
      return 1;
    case kTVMFFIDevice:
      *sign = TVMFFI_I_SIGN((int32_t)a->v_device.device_type,
                            (int32_t)b->v_device.device_type);
      if (!*sign)
        *sign = TVMFFI_I_SIGN(a->v_device.device_id, b->v_device.device_id);
      return 1;
    default: break;
  }
  *sign = a->zero_padding != b->zero_padding || a->v_uint64 != b->v_uint64;
  if (!*sign || g->is_equality) return 1;
  return tvmffi_i_type_error("Cannot order values of type %s",
                             tvmffi_i_type_key(a->type_index));
}

TVMFFI_I_SLOW int tvmffi_i_cannot_order_maps(void) {
  return tvmffi_i_type_error("Cannot order Map/Dict values");
}

/* Compares two objects by the hook of their type. Returns 1 with *sign set, 0
   if the type has no hook, or an error code. */
static int tvmffi_i_compare_hook(tvmffi_i_comparison *g, TVMFFIObject *a,
                                 TVMFFIObject *b, int *sign) {
  const tvmffi_i_hook_kind *kind = &tvmffi_i_eq_kind;
  const TVMFFIAny *hook = NULL;
  TVMFFIAny result;
  int64_t order;
  TVMFFI_ASSERT(a && b && a != b);
  if (g->is_equality)
    hook = tvmffi_i_type_attr(&tvmffi_i_eq_hooks, a->type_index);
  if (!hook) {
    kind = &tvmffi_i_compare_kind;
    hook = tvmffi_i_type_attr(&tvmffi_i_compare_hooks, a->type_index);
  }
  if (!hook) return 0;
  TVMFFI_TRY(tvmffi_i_run_hook(&g->base, kind, hook, a, b, &result));
  TVMFFI_TRY(tvmffi_i_hook_number(&result, kind, &order));
  *sign = kind == &tvmffi_i_eq_kind ? !order : (int32_t)order;
  return 1;
}

/* Compares two values that need no stack frame. Returns 1 with *sign set, 0 if
   the values need a stack frame for their children, or an error code. */
static int tvmffi_i_compare_leaf(tvmffi_i_comparison *g, const TVMFFIAny *a,
                                 const TVMFFIAny *b, int *sign) {
  int32_t i = a->type_index, j = b->type_index;
  const tvmffi_i_seen *s;
  if (i == kTVMFFINone || j == kTVMFFINone) {
    *sign = (i != kTVMFFINone) - (j != kTVMFFINone);
    return 1;
  }
  if (tvmffi_i_text_type(i) && tvmffi_i_text_type(i) == tvmffi_i_text_type(j)) {
    *sign = tvmffi_i_text_sign(tvmffi_any_str(a), tvmffi_any_str(b));
    return 1;
  }
  if (i != j) {
    *sign = 1;
    if (g->is_equality) return 1;
    if ((i != kTVMFFIInt && i != kTVMFFIBigInt) ||
        (j != kTVMFFIInt && j != kTVMFFIBigInt))
      return tvmffi_i_type_error(
          "Cannot compare values of different types: %s vs %s",
          tvmffi_i_type_key(i), tvmffi_i_type_key(j));
    *sign = tvmffi_i_bigint_sign(a, b);
    return 1;
  }
  if (i < kTVMFFIStaticObjectBegin)
    return tvmffi_i_compare_plain(g, a, b, sign);
  if (a->v_obj == b->v_obj || !a->v_obj || !b->v_obj) {
    *sign = (a->v_obj != NULL) - (b->v_obj != NULL);
    return 1;
  }
  if (i == kTVMFFIBigInt) {
    *sign = tvmffi_i_bigint_sign(a, b);
    return 1;
  }
  if (i == kTVMFFIShape) {
    *sign = tvmffi_i_shape_sign(a->v_obj, b->v_obj);
    return 1;
  }
  *sign = 0;
  s = tvmffi_i_find_seen(&g->base, a->v_obj, b->v_obj);
  if (s && (s->state == TVMFFI_I_DONE || g->is_equality)) return 1;
  if (s)
    return tvmffi_i_value_error(
        "RecursiveCompare: cyclic reference detected in ordering");
  if (i < kTVMFFIStaticObjectEnd) return 0;
  return tvmffi_i_compare_hook(g, a->v_obj, b->v_obj, sign);
}

/* Tells whether two maps have equal keys in the same order. Runs no hook:
   objects other than strings and bytes must be identical. */
static int tvmffi_i_are_in_step(const TVMFFIObject *map,
                                const TVMFFIObject *other) {
  size_t i = tvmffi_i_map_begin(map), j = tvmffi_i_map_begin(other);
  const tvmffi_i_pair *p, *q;
  TVMFFI_ASSERT(tvmffi_i_map_size(map) == tvmffi_i_map_size(other));
  while ((p = tvmffi_i_map_pair(map, i)) != NULL) {
    q = tvmffi_i_map_pair(other, j);
    TVMFFI_ASSERT(q);
    if ((p->key.type_index > kTVMFFIBytes &&
         !tvmffi_i_same_any(&p->key, &q->key)) ||
        tvmffi_i_any_equal(&p->key, &q->key) != 1)
      return 0;
    i = tvmffi_i_map_after(map, i);
    j = tvmffi_i_map_after(other, j);
  }
  return 1;
}

/* Looks up a key of the first map in the second map, f->other. f->held retains
   the key, because the key's equality function may remove the key from its map.
   */
static const TVMFFIAny *tvmffi_i_lookup_retained(tvmffi_i_walk_frame *f,
                                                 const TVMFFIAny *key) {
  TVMFFIAny held;
  TVMFFI_ASSERT(f->owns & TVMFFI_I_OWNS_HELD);
  tvmffi_i_copy_owned(key, &held);
  tvmffi_i_any_release(&f->held);
  f->held = held;
  return tvmffi_i_map_lookup(f->other, &f->held);
}

/* Returns 1 if the second map, f->other, has every key of the first map, 0 if
   not, or an error code. */
static int tvmffi_i_has_keys(tvmffi_i_walk_frame *f) {
  const tvmffi_i_pair *pair;
  const TVMFFIAny *value;
  size_t at = f->c.at;
  TVMFFI_ASSERT(!f->c.on_value && f->c.left == tvmffi_i_size_of(f->other));
  for (; (pair = tvmffi_i_map_pair(f->c.object, at)) != NULL;
       at = tvmffi_i_map_after(f->c.object, at)) {
    value = tvmffi_i_lookup_retained(f, &pair->key);
    if (value == &tvmffi_i_map_failed) return tvmffi_i_map_code();
    if (!value) return 0;
  }
  return 1;
}

/* Pushes a stack frame for two objects and returns 0. If the objects are maps
   with different keys, returns 1 or an error code instead. */
static int tvmffi_i_compare_push(tvmffi_i_comparison *g, TVMFFIObject *a,
                                 TVMFFIObject *b, uint32_t own) {
  int32_t index = a->type_index;
  int same = 0;
  tvmffi_i_compare_frame *f =
      (tvmffi_i_compare_frame *)tvmffi_i_push_recursive(&g->base, a, b, own);
  if (!f) return -1;
  f->held = tvmffi_none();
  if (!tvmffi_i_is_map_type(index)) return 0;
  if (tvmffi_i_map_size(a) == tvmffi_i_map_size(b)) {
    f->at = tvmffi_i_map_begin(b);
    f->in_step = tvmffi_i_are_in_step(a, b);
    same = f->in_step ? 1 : tvmffi_i_has_keys(&f->base);
  }
  if (same > 0) return 0;
  TVMFFI_ASSERT(tvmffi_i_top(g) == &f->base);
  (void)tvmffi_i_pop_seen(&g->base);
  if (same < 0) return same;
  return g->is_equality ? 1 : tvmffi_i_cannot_order_maps();
}

/* Sets *value to the value (borrowed) of a key in the second map, f->other.
   Raises RuntimeError if the key was removed during the comparison. */
static int tvmffi_i_value_at_key(tvmffi_i_compare_frame *f,
                                 const TVMFFIAny *key,
                                 const TVMFFIAny **value) {
  const tvmffi_i_pair *pair;
  TVMFFI_ASSERT(f->base.c.on_value);
  *value = NULL;
  if (f->in_step) {
    pair = tvmffi_i_map_pair(f->base.other, f->at);
    f->at = tvmffi_i_map_after(f->base.other, f->at);
    if (pair) *value = &pair->value;
  } else {
    *value = tvmffi_i_lookup_retained(&f->base, key);
  }
  if (*value == &tvmffi_i_map_failed) return tvmffi_i_map_code();
  if (*value) return 0;
  return tvmffi_i_runtime_error("A map has changed while compared");
}

/* Sets *a and *b to the next two values to compare (borrowed), or *a to NULL at
   the end. */
static int tvmffi_i_next_pair(tvmffi_i_comparison *g, tvmffi_i_compare_frame *f,
                              const TVMFFIAny **a, const TVMFFIAny **b) {
  tvmffi_i_children *c = &f->base.c;
  TVMFFIObject *other = f->base.other;
  size_t at = c->at;
  TVMFFI_TRY(tvmffi_i_next_child(c, g->base.skip, &f->base.held, a));
  if (!*a) return 0;
  if (tvmffi_i_is_sequence_type(other->type_index)) {
    const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, other);
    if (at < (size_t)cell->size)
      *b = (const TVMFFIAny *)cell->data + at;
    else
      *a = NULL;
    return 0;
  }
  if (tvmffi_i_is_map_type(other->type_index)) {
    TVMFFI_TRY(tvmffi_i_value_at_key(f, *a, b));
    *a = tvmffi_i_next_in_container(c);
    return 0;
  }
  TVMFFI_ASSERT(c->field && !(c->field->flags & g->base.skip));
  *b = &f->held;
  tvmffi_i_any_release(&f->held);
  return tvmffi_i_get_field(c->field, other, &f->held);
}

static void tvmffi_i_pop_compared(tvmffi_i_walk *w) {
  tvmffi_i_any_release(&TVMFFI_I_FRAME(tvmffi_i_compare_frame, w)->held);
  tvmffi_i_pop_recursive(w);
}

/* Pops the frames above `depth` after a difference was found. Unless only
   equality counts, raises TypeError if a popped frame is a map, because maps
   have no order. */
static int tvmffi_i_compare_differ(tvmffi_i_comparison *g, size_t depth) {
  int has_maps = 0;
  TVMFFI_ASSERT(tvmffi_i_depth(g) >= depth);
  while (tvmffi_i_depth(g) > depth) {
    const tvmffi_i_walk_frame *f = tvmffi_i_top(g);
    has_maps |= tvmffi_i_is_map_type(f->c.object->type_index);
    tvmffi_i_pop_compared(&g->base.base.walk);
  }
  return has_maps && !g->is_equality ? tvmffi_i_cannot_order_maps() : 0;
}

/* Pops the frame of two objects whose common children are equal. Returns the
   order of their lengths. Marks equal objects as done, unless a hook runs.
   While a hook runs, equality is provisional: it assumes that the objects of
   the hook are equal. */
static int tvmffi_i_compare_pop(tvmffi_i_comparison *g) {
  tvmffi_i_compare_frame *f = TVMFFI_I_FRAME(tvmffi_i_compare_frame, g);
  const TVMFFIObject *a = f->base.c.object, *b = f->base.other;
  tvmffi_i_seen *s;
  int sign = 0;
  TVMFFI_ASSERT(a != b);
  if (tvmffi_i_is_sequence_type(a->type_index))
    sign = TVMFFI_I_SIGN(TVMFFI_I_CELL(TVMFFISeqCell, a)->size,
                         TVMFFI_I_CELL(TVMFFISeqCell, b)->size);
  tvmffi_i_any_release(&f->held);
  s = tvmffi_i_pop_seen(&g->base);
  if (s && !sign && !g->base.base.nested) s->state = TVMFFI_I_DONE;
  return sign;
}

/* Compares two values and everything they contain. */
static int tvmffi_i_compare_all(tvmffi_i_comparison *g, const TVMFFIAny *a,
                                const TVMFFIAny *b, uint32_t own, int *sign) {
  size_t depth = tvmffi_i_depth(g);
  int code = tvmffi_i_compare_leaf(g, a, b, sign);
  TVMFFI_ASSERT(code <= 1);
  if (code) return code < 0 ? code : 0;
  *sign = tvmffi_i_compare_push(g, a->v_obj, b->v_obj, own);
  if (*sign) return *sign < 0 ? *sign : 0;
  while (tvmffi_i_depth(g) > depth) {
    tvmffi_i_compare_frame *f = TVMFFI_I_FRAME(tvmffi_i_compare_frame, g);
    TVMFFI_TRY(tvmffi_i_next_pair(g, f, &a, &b));
    if (!a) {
      *sign = tvmffi_i_compare_pop(g);
    } else {
      code = tvmffi_i_compare_leaf(g, a, b, sign);
      TVMFFI_ASSERT(code <= 1);
      if (code < 0) return code;
      if (!code) {
        *sign = tvmffi_i_compare_push(g, a->v_obj, b->v_obj,
                                      tvmffi_i_own_count(&f->base, a));
        if (*sign < 0) return *sign;
      }
    }
    if (*sign) return tvmffi_i_compare_differ(g, depth);
  }
  TVMFFI_ASSERT(tvmffi_i_depth(g) == depth && !*sign);
  return 0;
}

static int tvmffi_i_compare_again(void *walk, const TVMFFIAny *values,
                                  const TVMFFIAny *args, TVMFFIAny *result) {
  tvmffi_i_comparison *g = (tvmffi_i_comparison *)walk;
  int sign = 0;
  (void)args;
  TVMFFI_ASSERT(g->base.base.nested > 0);
  TVMFFI_TRY(tvmffi_i_compare_all(g, &values[0], &values[1], 0, &sign));
  *result = tvmffi_int(sign);
  return 0;
}

static int tvmffi_i_eq_again(void *walk, const TVMFFIAny *values,
                             const TVMFFIAny *args, TVMFFIAny *result) {
  TVMFFI_ASSERT(((const tvmffi_i_comparison *)walk)->is_equality);
  TVMFFI_TRY(tvmffi_i_compare_again(walk, values, args, result));
  *result = tvmffi_bool(!result->v_int64);
  return 0;
}

/* Compares two values. Like memcmp, sets *sign to a negative number, 0 or a
   positive number. With `is_equality`, any number but 0 means different. */
static int tvmffi_i_compare(const TVMFFIAny *a, const TVMFFIAny *b,
                            int is_equality, int *sign) {
  tvmffi_i_compare_frame room[8];
  tvmffi_i_comparison g = TVMFFI_I_ZERO;
  TVMFFIAny x, y;
  int code;
  TVMFFI_I_WALK_OPEN(&g, "RecursiveCompare", tvmffi_i_pop_compared, room);
  g.base.skip = kTVMFFIFieldFlagBitMaskCompareOff;
  tvmffi_i_start_types();
  g.is_equality = is_equality;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(a, &x));
  code = TVMFFIAnyViewToOwnedAny(b, &y);
  if (!code) {
    code = tvmffi_i_compare_all(&g, &x, &y, 2, sign);
    TVMFFI_ASSERT(code || !tvmffi_i_depth(&g));
    tvmffi_i_any_release(&y);
  }
  tvmffi_i_recursive_close(&g.base);
  tvmffi_i_any_release(&x);
  return code;
}
#endif
