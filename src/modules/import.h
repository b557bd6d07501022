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
/* A module that the traversal has found as an import. */
typedef struct {
  TVMFFIObject *module; /* owned */
  int is_visited;
} tvmffi_i_met_module;

/* A depth-first traversal of imports. */
typedef struct {
  tvmffi_i_ptr_table met; /* entries: tvmffi_i_met_module */
  tvmffi_i_stack pending; /* modules to visit, owned by `met` */
} tvmffi_i_import_traversal;

/* Sets *items to the modules of an array of imports (borrowed), which may be
   NULL. Returns their number. */
static int64_t tvmffi_i_imports(TVMFFIObject *array, const TVMFFIAny **items) {
  const tvmffi_i_seq *imports = tvmffi_i_seq_of(array);
  *items = imports ? TVMFFI_I_ITEMS(imports) : NULL;
  return imports ? imports->cell.size : 0;
}

static int tvmffi_i_push_import(tvmffi_i_import_traversal *t,
                                const TVMFFIAny *item) {
  const tvmffi_i_met_module *met;
  TVMFFIObject **pending;
  if (item->type_index != kTVMFFIModule || !item->v_obj)
    return tvmffi_i_bad_cast(item, "ffi.Module");
  met = TVMFFI_I_ADD(tvmffi_i_met_module, &t->met, item->v_obj);
  if (!met) return -1;
  if (met->is_visited) return 0;
  pending = TVMFFI_I_PUSH(TVMFFIObject *, &t->pending, NULL);
  if (!pending) return -1;
  *pending = item->v_obj;
  return 0;
}

/* Pushes a module's imports in reverse order, so that the first import is
   visited first. */
static int tvmffi_i_push_imports(tvmffi_i_import_traversal *t,
                                 const tvmffi_i_module *m) {
  TVMFFIObject *imports = tvmffi_i_own_imports(m);
  const TVMFFIAny *items;
  int64_t i = tvmffi_i_imports(imports, &items);
  int code = 0;
  while (!code && i-- > 0) code = tvmffi_i_push_import(t, &items[i]);
  tvmffi_i_release(imports);
  return code;
}

typedef int (*tvmffi_i_visit)(tvmffi_i_module *m, void *context);

/* Calls `visit` once for each direct and indirect import of a module, depth
   first. Stops if `visit` returns nonzero, and returns that code. */
static int tvmffi_i_visit_imports(const tvmffi_i_module *m,
                                  tvmffi_i_visit visit, void *context) {
  tvmffi_i_import_traversal t = TVMFFI_I_ZERO;
  TVMFFIObject *first[16];
  int code;
  tvmffi_i_stack_open(&t.pending, first, sizeof(first));
  code = tvmffi_i_push_imports(&t, m);
  while (!code && t.pending.depth) {
    TVMFFIObject *next = *TVMFFI_I_TOP(TVMFFIObject *, &t.pending);
    tvmffi_i_met_module *met =
        TVMFFI_I_FIND(tvmffi_i_met_module, &t.met, next);
    TVMFFI_I_POP(TVMFFIObject *, &t.pending);
    if (met->is_visited) continue;
    met->is_visited = 1;
    code = visit(tvmffi_i_module_of(next), context);
    if (!code) code = tvmffi_i_push_imports(&t, tvmffi_i_module_of(next));
  }
  tvmffi_i_stack_close(&t.pending);
  tvmffi_i_ptr_clear(&t.met, sizeof(tvmffi_i_met_module), 1);
  return code;
}

static int tvmffi_i_is_same_module(tvmffi_i_module *m, void *other) {
  return m == (tvmffi_i_module *)other;
}

/* Returns a copy of an array of imports, with a module (borrowed) appended. */
static TVMFFIObject *tvmffi_i_more_imports(TVMFFIObject *old,
                                           TVMFFIObject *other) {
  const TVMFFIAny *from;
  TVMFFIAny *items = NULL;
  int64_t i, count = tvmffi_i_imports(old, &from);
  TVMFFIObject *imports = tvmffi_i_new_array(count + 1, &items);
  if (!imports) return NULL;
  for (i = 0; i < count; ++i) items[i] = tvmffi_i_copy_owned(&from[i]);
  items[i] = tvmffi_obj(other);
  tvmffi_i_retain(other);
  return imports;
}

/* Appends the module `other` (borrowed) to the imports of `m`. RuntimeError if
   `m` would then import itself. */
static int tvmffi_i_add_own_import(tvmffi_i_module *m, TVMFFIObject *other) {
  int is_added = 0, cycle = &m->base == other;
  if (!cycle)
    cycle = tvmffi_i_visit_imports(tvmffi_i_module_of(other),
                                   tvmffi_i_is_same_module, m);
  if (cycle < 0) return -1;
  if (cycle)
    return tvmffi_i_fail("RuntimeError",
                         "Cyclic dependency detected during import");
  while (!is_added) {
    TVMFFIObject *old = tvmffi_i_own_imports(m);
    TVMFFIObject *imports = tvmffi_i_more_imports(old, other);
    is_added = imports && tvmffi_i_set_imports(m, old, imports);
    tvmffi_i_release(old);
    if (!imports) return -1;
  }
  return 0;
}
#endif
