/* ======== Imports: modules that import modules ========== >>modules/import */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/mismatch.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../core/raise.h"
#include "../containers/sequence.h"
#include "library.h"

#if !TVMFFI_NO_CONTAINERS
/* A module that a walk has met, and whether it has been there. */
typedef struct {
  TVMFFIObject *module; /* owned */
  int visited;
} tvmffi_i_met;

/* A hash set of those, and the modules whose turn is to come. */
typedef struct {
  tvmffi_i_met *met;
  TVMFFIObject **waiting;
  size_t places, num_met, num_waiting, capacity;
} tvmffi_i_module_walk;

static void tvmffi_i_end_module_walk(tvmffi_i_module_walk *w) {
  size_t i;
  for (i = 0; i < w->places; ++i) tvmffi_release(w->met[i].module);
  tvmffi_i_free(w->met);
  tvmffi_i_free(w->waiting);
}

/* The place of a module in a set that has a free one. */
static tvmffi_i_met *tvmffi_i_met_place(tvmffi_i_met *met, size_t places,
                                        const TVMFFIObject *module) {
  size_t i = ((uintptr_t)module >> 4) * 31;
  for (;; ++i) {
    tvmffi_i_met *at = &met[i & (places - 1)];
    if (!at->module || at->module == module) return at;
  }
}

/* Makes room for one more module in the set, and in those that wait. */
static int tvmffi_i_grow_walk(tvmffi_i_module_walk *w) {
  size_t i, places = w->places ? w->places * 2 : 16;
  if (w->num_waiting == w->capacity) {
    size_t capacity = w->capacity ? w->capacity * 2 : 16;
    TVMFFIObject **waiting =
        (TVMFFIObject **)tvmffi_i_alloc(capacity * sizeof(*waiting));
    if (!waiting) return tvmffi_i_no_memory();
    if (w->capacity)
      memcpy(waiting, w->waiting, w->capacity * sizeof(*waiting));
    tvmffi_i_free(w->waiting);
    w->waiting = waiting;
    w->capacity = capacity;
  }
  if (w->num_met * 2 >= w->places) {
    tvmffi_i_met *met = (tvmffi_i_met *)tvmffi_i_alloc(places * sizeof(*met));
    if (!met) return tvmffi_i_no_memory();
    memset((void *)met, 0, places * sizeof(*met));
    for (i = 0; i < w->places; ++i)
      if (w->met[i].module)
        *tvmffi_i_met_place(met, places, w->met[i].module) = w->met[i];
    tvmffi_i_free(w->met);
    w->met = met;
    w->places = places;
  }
  return 0;
}

/* Lets a module wait for its turn. The set holds it until the walk ends, so
   that no other one can be made at its address meanwhile. */
static int tvmffi_i_let_wait(tvmffi_i_module_walk *w, const TVMFFIAny *item) {
  tvmffi_i_met *at;
  if (item->type_index != kTVMFFIModule)
    return tvmffi_i_fail("TypeError",
                         "Cannot convert from type `%s` to `ffi.Module`",
                         tvmffi_i_type_key(item->type_index));
  TVMFFI_TRY(tvmffi_i_grow_walk(w));
  at = tvmffi_i_met_place(w->met, w->places, item->v_obj);
  if (!at->module) {
    at->module = item->v_obj;
    tvmffi_retain(item->v_obj);
    ++w->num_met;
  }
  if (!at->visited) w->waiting[w->num_waiting++] = item->v_obj;
  return 0;
}

/* The imports, and how many: C++ may have moved its array away. */
static int64_t tvmffi_i_imports(const tvmffi_i_module *m,
                                const TVMFFIAny **items) {
  const TVMFFISeqCell *cell;
  *items = NULL;
  if (!m->imports) return 0;
  cell = (const TVMFFISeqCell *)(void *)(m->imports + 1);
  *items = (const TVMFFIAny *)cell->data;
  return cell->size;
}

static int tvmffi_i_let_imports_wait(tvmffi_i_module_walk *w,
                                     const tvmffi_i_module *m) {
  const TVMFFIAny *items;
  int64_t i = tvmffi_i_imports(m, &items);
  while (i-- > 0) TVMFFI_TRY(tvmffi_i_let_wait(w, items + i));
  return 0;
}

typedef int (*tvmffi_i_visit)(tvmffi_i_module *m, void *context);

/* Visits the imports of a module, and theirs, in the order of a recursion, but
   each module once and at any depth, until a visit gives nonzero: this gives
   the same, or -1. */
static int tvmffi_i_walk_imports(const tvmffi_i_module *m, tvmffi_i_visit visit,
                                 void *context) {
  tvmffi_i_module_walk w = {NULL, NULL, 0, 0, 0, 0};
  int code = tvmffi_i_let_imports_wait(&w, m);
  while (!code && w.num_waiting) {
    TVMFFIObject *next = w.waiting[--w.num_waiting];
    tvmffi_i_met *at = tvmffi_i_met_place(w.met, w.places, next);
    if (at->visited) continue;
    at->visited = 1;
    code = visit(tvmffi_i_module_of(next), context);
    if (!code) code = tvmffi_i_let_imports_wait(&w, tvmffi_i_module_of(next));
  }
  tvmffi_i_end_module_walk(&w);
  return code;
}

static int tvmffi_i_is_that(tvmffi_i_module *m, void *other) {
  return m == (tvmffi_i_module *)other;
}

/* Imports a module (borrowed), unless that would make a cycle. */
static int tvmffi_i_add_own_import(tvmffi_i_module *m, TVMFFIObject *other) {
  const TVMFFIAny *old;
  TVMFFIAny *items = NULL;
  TVMFFIObject *imports;
  int64_t i, count = tvmffi_i_imports(m, &old);
  int cycle = &m->base == other;
  if (!cycle)
    cycle =
        tvmffi_i_walk_imports(tvmffi_i_module_of(other), tvmffi_i_is_that, m);
  if (cycle < 0) return -1;
  if (cycle)
    return tvmffi_i_fail("RuntimeError",
                         "Cyclic dependency detected during import");
  imports = tvmffi_i_new_array(count + 1, &items);
  if (!imports) return -1;
  for (i = 0; i < count; ++i) (void)TVMFFIAnyViewToOwnedAny(&old[i], &items[i]);
  items[i] = tvmffi_obj(other);
  tvmffi_retain(other);
  tvmffi_i_set_imports(m, imports);
  return 0;
}
#endif
