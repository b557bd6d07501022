/* ======== Recursive hash ============================= >>extra/recursive_hash
   hash of a value with its parts */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/map_layout.h"
#include "../interface/mismatch.h"
#include "../interface/function.h"
#include "../platform/stack.h"
#include "../core/raise.h"
#include "../core/type_table.h"
#include "../containers/equal.h"
#include "../graph/find_device.h"
#include "graph.h"
#include "hook.h"

#if !TVMFFI_NO_EXTRA
TVMFFI_I_INLINE int tvmffi_i_is_nan(uint64_t bits) {
  return bits << 1 > (uint64_t)2047 << 53;
}

/* Equal numbers have equal hashes: both zeros, and all that are none. */
static uint64_t tvmffi_i_hash_float(uint64_t bits) {
  if (bits << 1 == 0) return 0;
  return tvmffi_i_is_nan(bits) ? (uint64_t)0x7FF8 << 48 : bits;
}

/* Gives the hash of a value that is no object. */
static uint64_t tvmffi_i_hash_plain(const TVMFFIAny *value) {
  uint64_t h = (uint64_t)(int64_t)value->type_index;
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

/* Gives the hash of a value that needs no frame and 1, 0 for one that does, or
   an error's code. */
static int tvmffi_i_hash_leaf(tvmffi_i_graph *g, const TVMFFIAny *value,
                              uint64_t *hash) {
  int32_t index = value->type_index;
  TVMFFIObject *o = value->v_obj;
  const TVMFFIAny *hook;
  const tvmffi_i_seen *s;
  tvmffi_i_seen *place;
  TVMFFIAny result;
  int64_t got;
  if (index == kTVMFFIStr || index == kTVMFFISmallStr) {
    *hash = tvmffi_i_hash_text(kTVMFFIStr, value);
    return 1;
  }
  if (index == kTVMFFIBytes || index == kTVMFFISmallBytes) {
    *hash = tvmffi_i_hash_text(kTVMFFIBytes, value);
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
  s = tvmffi_i_find_seen(g, o, NULL);
  if (s) {
    *hash = s->state == TVMFFI_I_DONE ? s->value
                                      : TVMFFIGetTypeInfo(index)->type_key_hash;
    return 1;
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_hash_hooks, index);
  if (hook) {
    TVMFFI_TRY(
        tvmffi_i_run_hook(g, hook, TVMFFI_I_CALLBACK_HASH, o, NULL, &result));
    if (tvmffi_i_get_int64(&result, &got))
      return tvmffi_i_bad_hook(&result, TVMFFI_I_CALLBACK_HASH);
    place = tvmffi_i_seen_place(g, o, NULL);
    place->state = TVMFFI_I_DONE;
    place->value = *hash = (uint64_t)got;
    return 1;
  }
  if (index >= kTVMFFIStaticObjectEnd &&
      (tvmffi_i_type_attr(&tvmffi_i_eq_hooks, index) ||
       tvmffi_i_type_attr(&tvmffi_i_compare_hooks, index)))
    return tvmffi_i_fail(
        "ValueError",
        "RecursiveHash: type '%s' defines __ffi_eq__ or __ffi_compare__ but "
        "not __ffi_hash__. Add a __ffi_hash__ hook to maintain the invariant "
        "RecursiveEq(a,b) => RecursiveHash(a)==RecursiveHash(b).",
        tvmffi_i_type_key(index));
  return 0;
}

static int tvmffi_i_hash_push(tvmffi_i_graph *g, TVMFFIObject *o,
                              uint32_t own) {
  tvmffi_i_graph_frame *f;
  uint64_t size;
  TVMFFI_TRY(tvmffi_i_push_graph(g, o, NULL, own));
  f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
  f->begin = g->num_hashes;
  f->hash = f->walk.type->type_key_hash;
  if (!tvmffi_i_is_container(o->type_index)) return 0;
  size = o->type_index == kTVMFFIMap || o->type_index == kTVMFFIDict
             ? (uint64_t)tvmffi_i_map_size(o)
             : (uint64_t)TVMFFI_I_CELL(TVMFFISeqCell, o)->size;
  f->hash = tvmffi_i_hash_combine(f->hash, size);
  return 0;
}

/* Puts the hash of a child into that of its object. A map's entries are put
   together at its end, as their order does not count. */
static int tvmffi_i_hash_feed(tvmffi_i_graph *g, uint64_t hash) {
  tvmffi_i_graph_frame *f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
  uint64_t *larger;
  switch (f->object->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList: hash = tvmffi_i_hash_combine(hash, f->at - 1); break;
    case kTVMFFIMap:
    case kTVMFFIDict:
      if (f->is_value) {
        f->key_hash = hash;
        return 0;
      }
      if (g->num_hashes == g->hash_capacity) {
        larger = (uint64_t *)tvmffi_i_larger(g->hashes, &g->hash_capacity,
                                             sizeof(*larger));
        if (!larger) return -1;
        g->hashes = larger;
      }
      g->hashes[g->num_hashes++] = tvmffi_i_hash_combine(f->key_hash, hash);
      return 0;
    default: break;
  }
  f->hash = tvmffi_i_hash_combine(f->hash, hash);
  return 0;
}

static void tvmffi_i_sift(uint64_t *heap, size_t i, size_t n) {
  uint64_t x = heap[i];
  size_t child;
  while ((child = 2 * i + 1) < n) {
    if (child + 1 < n && heap[child] < heap[child + 1]) ++child;
    if (heap[child] <= x) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = x;
}

static void tvmffi_i_sort(uint64_t *items, size_t n) {
  size_t i;
  for (i = n / 2; i--;) tvmffi_i_sift(items, i, n);
  while (n > 1) {
    uint64_t last = items[--n];
    items[n] = items[0];
    items[0] = last;
    tvmffi_i_sift(items, 0, n);
  }
}

static uint64_t tvmffi_i_hash_pop(tvmffi_i_graph *g) {
  tvmffi_i_graph_frame *f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
  uint64_t hash = f->hash;
  size_t i, begin = f->begin;
  tvmffi_i_seen *s;
  if (g->num_hashes > begin) {
    tvmffi_i_sort(g->hashes + begin, g->num_hashes - begin);
    for (i = begin; i < g->num_hashes; ++i)
      hash = tvmffi_i_hash_combine(hash, g->hashes[i]);
    g->num_hashes = begin;
  }
  s = tvmffi_i_pop_graph(g);
  if (s) {
    s->state = TVMFFI_I_DONE;
    s->value = hash;
  }
  return hash;
}

/* Gives the hash of a value with all that it holds. */
static int tvmffi_i_hash_all(tvmffi_i_graph *g, const TVMFFIAny *value,
                             uint32_t own, uint64_t *hash) {
  size_t base = g->frames.depth;
  int code = tvmffi_i_hash_leaf(g, value, hash);
  if (code) return code < 0 ? code : 0;
  TVMFFI_TRY(tvmffi_i_hash_push(g, value->v_obj, own));
  for (;;) {
    tvmffi_i_graph_frame *f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
    const TVMFFIAny *child;
    TVMFFI_TRY(tvmffi_i_next_child(g, f, &child));
    if (!child) {
      *hash = tvmffi_i_hash_pop(g);
      if (g->frames.depth == base) return 0;
    } else {
      code = tvmffi_i_hash_leaf(g, child, hash);
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

static int tvmffi_i_call_hash(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  TVMFFIAny values[2];
  tvmffi_i_graph *g = tvmffi_i_begin_callback(self, TVMFFI_I_CALLBACK_HASH,
                                              args, num_args, result, values);
  size_t base, num_hashes;
  uint64_t hash;
  int code;
  if (!g) return -1;
  base = g->frames.depth;
  num_hashes = g->num_hashes;
  code = tvmffi_i_hash_all(g, &values[0], 0, &hash);
  while (g->frames.depth > base) (void)tvmffi_i_pop_graph(g);
  g->num_hashes = num_hashes;
  tvmffi_any_release(&values[0]);
  if (!code) *result = tvmffi_int((int64_t)hash);
  return code;
}

TVMFFI_FUNC(i_recursive_hash, int64, (any, value)) {
  tvmffi_i_graph_frame room[8];
  tvmffi_i_graph g = TVMFFI_I_ZERO;
  TVMFFIAny owned;
  uint64_t hash = 0;
  int code;
  tvmffi_i_stack_open(&g.frames, room, sizeof(room));
  g.name = "ObjectGraphDFS";
  g.skip = kTVMFFIFieldFlagBitMaskHashOff | kTVMFFIFieldFlagBitMaskCompareOff;
  tvmffi_i_start_types();
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&value, &owned));
  code = tvmffi_i_hash_all(&g, &owned, 2, &hash);
  tvmffi_i_end_graph(&g);
  tvmffi_any_release(&owned);
  if (code) return code;
  TVMFFI_RETURN((int64_t)hash);
}
#endif
