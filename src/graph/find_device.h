/* ======== Device search ================================= >>graph/find_device
   the first device that is not a CPU */

#pragma once

#include "../head/config.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "../interface/error.h"
#include "../interface/map_layout.h"
#include "../interface/function.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../core/raise.h"

#if !TVMFFI_NO_CONTAINERS
/* A search through containers within containers, depth first: a stack of where
   it is in each, and a hash table of those that it has begun, as one may hold
   itself and many may hold the same. */
typedef struct {
  TVMFFIObject *container;
  uint64_t at;
} tvmffi_i_walk_level;

typedef struct {
  tvmffi_i_walk_level *levels;
  TVMFFIObject **begun;
  size_t depth, max_depth, num_begun, num_places;
} tvmffi_i_walk;

static int tvmffi_i_is_container(int32_t index) {
  return index == kTVMFFIArray || index == kTVMFFIList || index == kTVMFFIMap ||
         index == kTVMFFIDict;
}

/* The place of a container in the table of those begun, or a free one. */
static TVMFFIObject **tvmffi_i_walk_place(const tvmffi_i_walk *w,
                                          TVMFFIObject *container) {
  uint64_t hash = (uint64_t)(uintptr_t)container * 0x9E3779B97F4A7C15u;
  size_t i = (size_t)(hash >> 32);
  while (w->begun[i & (w->num_places - 1)] &&
         w->begun[i & (w->num_places - 1)] != container)
    ++i;
  return &w->begun[i & (w->num_places - 1)];
}

/* Doubles what has become too small. */
static int tvmffi_i_walk_reserve(tvmffi_i_walk *w) {
  if (w->depth == w->max_depth) {
    size_t n = w->max_depth ? w->max_depth * 2 : 16;
    tvmffi_i_walk_level *levels =
        (tvmffi_i_walk_level *)tvmffi_i_alloc(n * sizeof(*levels));
    if (!levels) return tvmffi_i_no_memory();
    if (w->depth) memcpy(levels, w->levels, w->depth * sizeof(*levels));
    tvmffi_i_free(w->levels);
    w->levels = levels;
    w->max_depth = n;
  }
  if (w->num_begun * 2 >= w->num_places) {
    tvmffi_i_walk grown = *w;
    size_t i;
    grown.num_places = w->num_places ? w->num_places * 2 : 32;
    grown.begun = (TVMFFIObject **)tvmffi_i_alloc(grown.num_places *
                                                  sizeof(*grown.begun));
    if (!grown.begun) return tvmffi_i_no_memory();
    memset((void *)grown.begun, 0, grown.num_places * sizeof(*grown.begun));
    for (i = 0; i < w->num_places; ++i)
      if (w->begun[i]) *tvmffi_i_walk_place(&grown, w->begun[i]) = w->begun[i];
    tvmffi_i_free((void *)w->begun);
    *w = grown;
  }
  return 0;
}

static int tvmffi_i_walk_into(tvmffi_i_walk *w, TVMFFIObject *container) {
  TVMFFIObject **place;
  TVMFFI_TRY(tvmffi_i_walk_reserve(w));
  place = tvmffi_i_walk_place(w, container);
  if (*place) return 0;
  *place = container;
  ++w->num_begun;
  w->levels[w->depth].container = container;
  w->levels[w->depth++].at = container->type_index == kTVMFFIMap ||
                                     container->type_index == kTVMFFIDict
                                 ? tvmffi_i_map_begin(container)
                                 : 0;
  return 0;
}

/* The next value of the innermost container, or NULL at its end. */
static const TVMFFIAny *tvmffi_i_walk_next(tvmffi_i_walk *w) {
  tvmffi_i_walk_level *level = &w->levels[w->depth - 1];
  int32_t index = level->container->type_index;
  if (index == kTVMFFIMap || index == kTVMFFIDict) {
    const tvmffi_i_pair *pair = tvmffi_i_map_pair(level->container, level->at);
    if (pair) level->at = tvmffi_i_map_after(level->container, level->at);
    return pair ? &pair->value : NULL;
  } else {
    const TVMFFISeqCell *seq =
        (const TVMFFISeqCell *)(const void *)(level->container + 1);
    return level->at < (uint64_t)seq->size
               ? (const TVMFFIAny *)seq->data + level->at++
               : NULL;
  }
}

static int tvmffi_i_find_device(tvmffi_i_walk *w, const TVMFFIAny *value,
                                DLDevice *device) {
  while (value || w->depth) {
    if (!value) {
      value = tvmffi_i_walk_next(w);
      if (!value) --w->depth;
      continue;
    }
    if (value->type_index == kTVMFFITensor && value->v_obj) {
      const DLTensor *t = TVMFFITensorGetDLTensorPtr(value->v_obj);
      if (t->device.device_type != kDLCPU) {
        *device = t->device;
        return 0;
      }
    } else if (tvmffi_i_is_container(value->type_index) && value->v_obj) {
      TVMFFI_TRY(tvmffi_i_walk_into(w, value->v_obj));
    }
    value = NULL;
  }
  return 0;
}

TVMFFI_FUNC(i_first_device, device, (any, container)) {
  tvmffi_i_walk walk = {NULL, NULL, 0, 0, 0, 0};
  DLDevice device = {kDLCPU, 0};
  int code = tvmffi_i_find_device(&walk, &container, &device);
  tvmffi_i_free(walk.levels);
  tvmffi_i_free((void *)walk.begun);
  if (code) return code;
  TVMFFI_RETURN(device);
}
#endif
