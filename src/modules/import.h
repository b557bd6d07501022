/* ======== Imports: modules that import modules ========== >>modules/import */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "library.h"

#if !TVMFFI_NO_CONTAINERS
/* Pushes a frame for a module's imports. */
static int tvmffi_i_push_imports(tvmffi_i_walk *w, const tvmffi_i_module *m) {
  TVMFFIObject *imports = tvmffi_i_own_imports(m);
  if (!imports) return 0;
  if (tvmffi_i_push_frame(w, imports, NULL, NULL, TVMFFI_I_OWNS_OBJECT))
    return 0;
  tvmffi_i_release(imports);
  return -1;
}

typedef int (*tvmffi_i_visit)(tvmffi_i_module *m, void *context);

/* Calls `visit` once for each direct and indirect import of a module, depth
   first. Stops if `visit` returns nonzero, and returns that code. */
static int tvmffi_i_visit_imports(const tvmffi_i_module *m,
                                  tvmffi_i_visit visit, void *context) {
  tvmffi_i_walk_frame room[2];
  tvmffi_i_walk w;
  tvmffi_i_ptr_table met = TVMFFI_I_ZERO; /* tvmffi_i_memo of modules */
  int code;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE); /* `visit` runs other code */
  TVMFFI_I_WALK_OPEN(&w, NULL, tvmffi_i_pop_frame, room);
  code = tvmffi_i_push_imports(&w, m);
  while (!code && tvmffi_i_depth(&w)) {
    tvmffi_i_children *c = &tvmffi_i_top(&w)->c;
    const TVMFFIAny *item;
    if (!tvmffi_i_items_from(c->object, c->at++, &item))
      tvmffi_i_pop_frame(&w);
    else if (item->type_index != kTVMFFIModule || !item->v_obj)
      code = tvmffi_i_bad_cast(item, "ffi.Module");
    else if (!tvmffi_i_find_memo(&met, item->v_obj)) {
      tvmffi_i_module *next = tvmffi_i_module_of(item->v_obj);
      code = tvmffi_i_set_memo(&met, item->v_obj, 0);
      if (!code) code = visit(next, context);
      if (!code) code = tvmffi_i_push_imports(&w, next);
    }
  }
  tvmffi_i_walk_close(&w);
  tvmffi_i_clear_memos(&met);
  return code;
}

static int tvmffi_i_is_same_module(tvmffi_i_module *m, void *other) {
  return m == (tvmffi_i_module *)other;
}

/* Returns a copy of the array `old`, which may be NULL, with the module `other`
   (borrowed) appended. */
static TVMFFIObject *tvmffi_i_more_imports(TVMFFIObject *old,
                                           TVMFFIObject *other) {
  const tvmffi_i_seq *from = tvmffi_i_seq_of(old);
  const size_t count = from ? (size_t)from->cell.size : 0;
  TVMFFIAny *items = NULL;
  TVMFFIObject *imports = tvmffi_i_new_array(count + 1, &items);
  if (!imports) return NULL;
  TVMFFI_ASSERT(tvmffi_is_instance(other->type_index, kTVMFFIModule));
  if (from) tvmffi_i_copy_span(items, TVMFFI_I_ITEMS(from), count);
  items[count] = tvmffi_obj(other);
  tvmffi_i_retain(other);
  return imports;
}

/* Appends the module `other` (borrowed) to the imports of `m`, or removes all
   imports if `other` is NULL. Tries again if another thread changes the imports
   meanwhile. */
static int tvmffi_i_change_imports(tvmffi_i_module *m, TVMFFIObject *other) {
  int is_changed = 0;
  while (!is_changed) {
    TVMFFIObject *old = tvmffi_i_own_imports(m);
    TVMFFIObject *imports =
        other ? tvmffi_i_more_imports(old, other) : tvmffi_i_no_items();
    is_changed = imports && tvmffi_i_set_imports(m, old, imports);
    tvmffi_i_release(old);
    if (!imports) return -1;
  }
  return 0;
}

/* Appends the module `other` (borrowed) to the imports of `m`. RuntimeError if
   `m` would then import itself. */
static int tvmffi_i_add_own_import(tvmffi_i_module *m, TVMFFIObject *other) {
  int cycle = &m->base == other;
  TVMFFI_ASSERT(other && tvmffi_i_module_of(other)->methods);
  if (!cycle)
    cycle = tvmffi_i_visit_imports(tvmffi_i_module_of(other),
                                   tvmffi_i_is_same_module, m);
  if (cycle < 0) return -1;
  if (cycle)
    return tvmffi_i_runtime_error("Cyclic dependency detected during import");
  return tvmffi_i_change_imports(m, other);
}
#endif
