/* ======== Leak report ============================= >>functions/leak_report */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../graph.h"
#include "../interface.h"

#if TVMFFI_DEBUG
static void tvmffi_i_count_reference(const TVMFFIAny *any) {
  tvmffi_i_record *r = any->type_index >= kTVMFFIStaticObjectBegin
                           ? tvmffi_i_record_of(any->v_obj)
                           : NULL;
  if (r) ++r->num_registered;
}

/* Returns 1 if only the tables of functions, types and attributes own an
   object, else 0. */
static int tvmffi_i_is_registered(const tvmffi_i_record *r) {
  return r->num_registered > 0 &&
         (uint32_t)tvmffi_i_load64(&r->object->combined_ref_count) <=
             r->num_registered;
}

/* Counts the references that an array, list, map or dict owns to its items. */
static void tvmffi_i_count_items(const TVMFFIObject *o) {
#if TVMFFI_NO_CONTAINERS
  (void)o;
#else
  tvmffi_i_children c;
  const TVMFFIAny *child;
  if (!tvmffi_i_is_container(o->type_index)) return;
  tvmffi_i_children_open(&c, (TVMFFIObject *)(uintptr_t)o, NULL);
  while ((child = tvmffi_i_next_in_container(&c)) != NULL)
    tvmffi_i_count_reference(child);
#endif
}

static void tvmffi_i_count_type(const TVMFFITypeInfo *info) {
  TVMFFIAny setter;
  int32_t i;
  for (i = 0; i < info->num_fields; ++i) {
    const TVMFFIFieldInfo *f = &info->fields[i];
    tvmffi_i_count_reference(&f->default_value_or_factory);
    if (!(f->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj)) continue;
    setter = tvmffi_obj(f->setter);
    tvmffi_i_count_reference(&setter);
  }
  for (i = 0; i < info->num_methods; ++i)
    tvmffi_i_count_reference(&info->methods[i].method);
}

/* Counts the references that the tables of functions, types and attributes own,
   directly or by containers that only the tables own. */
static void tvmffi_i_count_registered(void) {
  tvmffi_i_record *r;
  const tvmffi_i_node *node;
  TVMFFIAny function;
  tvmffi_i_debugged *d = NULL;
  int32_t k;
  int found = 1;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED && TVMFFI_I_LOAD(&tvmffi_i_debug_mutex));
  while ((r = tvmffi_i_each_record(&d)) != NULL)
    r->num_registered = r->has_counted_items = 0;
  for (node = tvmffi_i_globals.first; node; node = node->next) {
    const tvmffi_i_global *g = (const tvmffi_i_global *)(const void *)node;
    function = tvmffi_obj(g->function);
    tvmffi_i_count_reference(&function);
  }
  for (node = tvmffi_i_columns.first; node; node = node->next) {
    const TVMFFITypeAttrColumn *c =
        &((const tvmffi_i_column *)(const void *)node)->column;
    for (k = 0; k < c->size; ++k)
      tvmffi_i_count_reference((const TVMFFIAny *)c->data + k);
  }
  for (k = 0; k < tvmffi_i_next_index; ++k) {
    const tvmffi_i_type *t = tvmffi_i_type_at(k);
    if (t) tvmffi_i_count_type(&t->info);
  }
  while (found) {
    found = 0;
    while ((r = tvmffi_i_each_record(&d)) != NULL) {
      if (r->is_dead || r->has_counted_items || !tvmffi_i_is_registered(r))
        continue;
      r->has_counted_items = found = 1;
      tvmffi_i_count_items(r->object);
    }
  }
}

/* Live objects of one type that were handed out at one source line. */
typedef struct {
  const tvmffi_i_record *first;
  int32_t count;
} tvmffi_i_leak;
enum { TVMFFI_I_NUM_LEAKS = 32 };

/* Groups live objects by type and source line, except objects that only the
   tables of functions, types and attributes own. Returns the number of objects
   that do not fit in `leaks`. */
static int32_t tvmffi_i_debug_group(tvmffi_i_leak *leaks, int32_t *num_leaks) {
  const tvmffi_i_record *r;
  tvmffi_i_debugged *d = NULL;
  int32_t k, n = 0, others = 0;
  TVMFFI_ASSERT(TVMFFI_I_LOAD(&tvmffi_i_debug_mutex));
  while ((r = tvmffi_i_each_record(&d)) != NULL) {
    if (r->is_dead || !r->made[0] || tvmffi_i_is_registered(r)) continue;
    for (k = 0; k < n && (leaks[k].first->type_index != r->type_index ||
                          strcmp(leaks[k].first->made, r->made) != 0);
         ++k) {
    }
    if (k == TVMFFI_I_NUM_LEAKS) {
      ++others;
      continue;
    }
    TVMFFI_ASSERT(k <= n && n <= TVMFFI_I_NUM_LEAKS);
    if (k == n) {
      leaks[n].first = r;
      leaks[n++].count = 0;
    }
    ++leaks[k].count;
  }
  *num_leaks = n;
  return others;
}

/* Returns the leak report: the first message about a dead object, and a line
   for the live objects of each type and source line. Stores the number of live
   objects, and the number of releases of dead objects since the last report. */
TVMFFI_I_BUILTIN_NAMED(i_DebugReport, "tvmffi.DebugReport", any,
                       (ptr, num_live), (ptr, num_complaints)) {
  char text[TVMFFI_I_NUM_LEAKS * 160 + sizeof(tvmffi_i_complaint)];
  tvmffi_i_text t = {text, 0, sizeof(text)};
  tvmffi_i_leak leaks[TVMFFI_I_NUM_LEAKS];
  TVMFFIByteArray bytes = {text, 0};
  TVMFFIAny result = tvmffi_none();
  int32_t k, num_leaks = 0, others, live;
  tvmffi_i_start_types();
  tvmffi_i_lock();
  tvmffi_i_debug_lock();
  tvmffi_i_count_registered();
  live = others = tvmffi_i_debug_group(leaks, &num_leaks);
  tvmffi_i_append(&t, tvmffi_i_complaint);
  for (k = 0; k < num_leaks; ++k) {
    live += leaks[k].count;
    tvmffi_i_append_int(&t, leaks[k].count);
    tvmffi_i_append(&t, " x ");
    tvmffi_i_append(&t, tvmffi_i_type_name(leaks[k].first->type_index));
    tvmffi_i_append(&t, ", obtained at ");
    tvmffi_i_append(&t, leaks[k].first->made);
    tvmffi_i_append(&t, "\n");
  }
  if (others) {
    tvmffi_i_append_int(&t, others);
    tvmffi_i_append(&t, " x others\n");
  }
  if (num_live) *(int64_t *)num_live = live;
  if (num_complaints) *(int64_t *)num_complaints = tvmffi_i_num_complaints;
  tvmffi_i_num_complaints = 0;
  tvmffi_i_complaint[0] = 0;
  tvmffi_i_debug_unlock();
  tvmffi_i_unlock();
  bytes.size = t.size < sizeof(text) ? t.size : sizeof(text) - 1;
  TVMFFI_TRY(TVMFFIStringFromByteArray(&bytes, &result));
  TVMFFI_I_GIVE(result);
}
#endif
