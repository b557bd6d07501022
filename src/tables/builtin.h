/* ======== Built-in functions =============================== >>tables/builtin
   the table of built-in global functions */
/* The core's own global functions, in one table. They are static objects in
   static entries, so the table starts without memory but for its slots. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/mismatch.h"
#include "../interface/schema.h"
#include "../interface/function.h"
#include "../platform/libc.h"
#include "../platform/thread_state.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../platform/name_table.h"
#include "../core/raise.h"
#include "../core/object.h"
#include "../core/type_table.h"
#include "../core/function.h"
#include "../core/global.h"
#include "../containers/shape.h"
#include "../containers/sequence_function.h"
#include "../containers/map_function.h"
#include "../graph/find_device.h"
#include "../modules/module_function.h"
#include "../reflection/access.h"
#include "../reflection/construct.h"
#include "../reflection/dataclass.h"
#include "../reflection/enum.h"
#include "../reflection/copy.h"
#include "../extra/repr.h"
#include "../extra/recursive_hash.h"
#include "../extra/recursive_compare.h"
#include "../extra/structural_function.h"
#include "../extra/visit_error.h"
#include "../extra/visit_function.h"
#include "../extra/json_write.h"
#include "../extra/graph_text.h"

TVMFFI_FUNC(i_invalid_object, object) {
  TVMFFI_RETURN(&tvmffi_i_invalid_object);
}
TVMFFI_FUNC(i_kwargs_object, object) { TVMFFI_RETURN(&tvmffi_i_kwargs_object); }

TVMFFI_FUNC(i_string, str, (str, text)) { TVMFFI_RETURN(text); }
TVMFFI_FUNC(i_bytes, bytes, (bytes, data)) { TVMFFI_RETURN(data); }

TVMFFI_FUNC(i_remove_global, bool, (str, name)) {
  TVMFFI_RETURN(tvmffi_i_remove_global(&name) != 0);
}

#if !TVMFFI_NO_TYPES
/* The metadata of a global function: its own, or that of a built-in one. */
TVMFFI_FUNC(i_global_metadata, str, (str, name)) {
  uint32_t side = 0;
  tvmffi_i_global *g = tvmffi_i_enter_global(&name, &side);
  const tvmffi_i_about *about;
  const tvmffi_func *typed;
  TVMFFIByteArray text = {"", 0};
  char *copy;
  int code;
  if (!g)
    return tvmffi_i_fail("RuntimeError", "Global Function is not found: %.*s",
                         TVMFFI_I_TEXT(name));
  about = TVMFFI_I_LOAD_SEQ(&g->about);
  typed = about ? about->typed : NULL;
  if (about) text = about->metadata;
  copy = (char *)tvmffi_i_alloc(text.size + 1);
  if (copy && text.size) memcpy(copy, text.data, text.size);
  TVMFFI_I_LEAVE(g, side);
  if (typed) {
    tvmffi_i_free(copy);
    return tvmffi_i_return_metadata(typed, tvmffi_result);
  }
  /* Only now, as an error that is raised may release another, and with it
     what replaces this function and waits for its readers. */
  if (!copy) return tvmffi_i_no_memory();
  text.data = copy;
  code = TVMFFIStringFromByteArray(&text, tvmffi_result);
  tvmffi_i_free(copy);
  return code;
}
#endif

TVMFFI_FUNC(i_from_extern_c, func, (ptr, self), (ptr, safe_call),
            (ptr, deleter)) {
  TVMFFIObjectHandle f = NULL;
  TVMFFI_TRY(TVMFFIFunctionCreate(self,
                                  (TVMFFISafeCallType)(uintptr_t)safe_call,
                                  (void (*)(void *))(uintptr_t)deleter, &f));
  TVMFFI_RETURN((TVMFFIObject *)f);
}

/* The names at the time of the call. Their texts follow. */
typedef struct {
  int64_t count;
  TVMFFIByteArray name[1];
} tvmffi_i_names;

static int tvmffi_i_name_at(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  const tvmffi_i_names *names = (const tvmffi_i_names *)self;
  int64_t i = 0;
  TVMFFI_TRY(tvmffi_i_get_index(args, num_args, result, &i));
  if (i >= names->count)
    return tvmffi_i_fail("IndexError", "Index %lld out of bounds %lld",
                         (long long)i, (long long)names->count);
  if (i >= 0) return TVMFFIStringFromByteArray(&names->name[i], result);
  *result = tvmffi_int(names->count);
  return 0;
}

static int tvmffi_i_is_listed(const tvmffi_i_node *node);

/* Copies the names, or gives NULL; mutex held. */
static tvmffi_i_names *tvmffi_i_copy_names(void) {
  const tvmffi_i_node *node;
  tvmffi_i_names *names;
  char *text;
  size_t n = 0, size = 0;
  for (node = tvmffi_i_globals.first; node; node = node->next) {
    if (!tvmffi_i_is_listed(node)) continue;
    size += sizeof(TVMFFIByteArray) + node->size;
    ++n;
  }
  names = (tvmffi_i_names *)tvmffi_i_alloc(sizeof(*names) + size);
  if (!names) return names;
  text = (char *)(names->name + n);
  names->count = 0;
  for (node = tvmffi_i_globals.first; node; node = node->next) {
    TVMFFIByteArray *name = &names->name[names->count];
    if (!tvmffi_i_is_listed(node)) continue;
    name->data = text;
    name->size = node->size;
    memcpy(text, node->key, node->size);
    text += node->size;
    ++names->count;
  }
  return names;
}

TVMFFI_FUNC(i_list_names, func) {
  tvmffi_i_names *names;
  TVMFFIObjectHandle f = NULL;
  tvmffi_i_lock();
  names = tvmffi_i_copy_names();
  tvmffi_i_unlock();
  if (!names) return tvmffi_i_no_memory();
  if (TVMFFIFunctionCreate(names, tvmffi_i_name_at, tvmffi_i_free, &f)) {
    tvmffi_i_free(names);
    return -1;
  }
  TVMFFI_RETURN((TVMFFIObject *)f);
}

static int tvmffi_call_i_shape(void *self, const TVMFFIAny *args,
                               int32_t num_args, TVMFFIAny *result) {
  int64_t *numbers = NULL;
  tvmffi_i_shape *shape = tvmffi_i_new_shape((size_t)num_args, &numbers);
  int32_t i;
  (void)self;
  if (!shape) return -1;
  for (i = 0; i < num_args; ++i) {
    if (tvmffi_i_get_int64(&args[i], &numbers[i])) {
      tvmffi_release(shape);
      return tvmffi_i_fail("ValueError",
                           "Expect shape to take list of int arguments");
    }
  }
  *result = tvmffi_obj(shape);
  return 0;
}
static tvmffi_func tvmffi_func_i_shape = {"ffi.Shape", tvmffi_call_i_shape, -1,
                                          NULL};

#if TVMFFI_I_POOL
/* See tvmffi_memory_trim. */
TVMFFI_FUNC(i_memory_trim, none) {
  (void)tvmffi_i_add64(&tvmffi_i_pool_trims, 1);
  tvmffi_i_pool_follow(tvmffi_i_self());
  TVMFFI_RETURN();
}
#endif

#if TVMFFI_DEBUG
/* Notes a place at which an object was handed out (the first one counts), or
   its last reference dropped. */
TVMFFI_FUNC(i_debug_note, none, (ptr, object), (bool, released), (str, place)) {
  tvmffi_i_record *r;
  size_t skip = place.size > 55 ? place.size - 55 : 0;
  tvmffi_i_debug_lock();
  r = *tvmffi_i_record_of(object);
  if (r && (released || !r->made[0]))
    (void)tvmffi_i_debug_put(!released    ? r->made
                             : r->is_dead ? r->again
                                          : r->released,
                             0, sizeof(r->made), place.data + skip);
  tvmffi_i_debug_unlock();
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_debug_live, int64, (int32, type_index)) {
  int64_t n = 0;
  size_t i;
  tvmffi_i_debug_lock();
  for (i = 0; i < TVMFFI_I_NUM_RECORDS; ++i) {
    const tvmffi_i_record *r;
    for (r = tvmffi_i_records[i]; r; r = r->next)
      n += !r->is_dead &&
           (type_index == kTVMFFIAny || r->type_index == type_index);
  }
  tvmffi_i_debug_unlock();
  TVMFFI_RETURN(n);
}

/* Live objects of one type that were handed out at one place. */
typedef struct {
  const tvmffi_i_record *first;
  int32_t count;
} tvmffi_i_leak;
enum { TVMFFI_I_NUM_LEAKS = 32 };

/* Sorts the live objects with a place into groups; gives how many objects are
   in none because the groups did not suffice. */
static int32_t tvmffi_i_debug_group(tvmffi_i_leak *leaks, int32_t *num_leaks) {
  int32_t k, n = 0, others = 0;
  size_t i;
  for (i = 0; i < TVMFFI_I_NUM_RECORDS; ++i) {
    const tvmffi_i_record *r;
    for (r = tvmffi_i_records[i]; r; r = r->next) {
      if (r->is_dead || !r->made[0]) continue;
      for (k = 0; k < n && (leaks[k].first->type_index != r->type_index ||
                            strcmp(leaks[k].first->made, r->made) != 0);
           ++k) {
      }
      if (k == TVMFFI_I_NUM_LEAKS) {
        ++others;
        continue;
      }
      if (k == n) {
        leaks[n].first = r;
        leaks[n++].count = 0;
      }
      ++leaks[k].count;
    }
  }
  *num_leaks = n;
  return others;
}

/* A text with a line for each type and place of live objects that were handed
   out; the pointers get their number, and that of releases of dead ones. */
TVMFFI_FUNC(i_debug_report, any, (ptr, num_live), (ptr, num_complaints)) {
  char text[TVMFFI_I_NUM_LEAKS * 160 + sizeof(tvmffi_i_complaint)];
  char digits[TVMFFI_I_DECIMAL];
  tvmffi_i_leak leaks[TVMFFI_I_NUM_LEAKS];
  TVMFFIAny result = tvmffi_none();
  TVMFFIByteArray bytes = {text, 0};
  int32_t k, num_leaks = 0, others, live;
  size_t n = 0, size = sizeof(text);
  tvmffi_i_start_types();
  tvmffi_i_debug_lock();
  live = others = tvmffi_i_debug_group(leaks, &num_leaks);
  n = tvmffi_i_debug_put(text, n, size, tvmffi_i_complaint);
  for (k = 0; k < num_leaks; ++k) {
    live += leaks[k].count;
    n = tvmffi_i_debug_put(text, n, size,
                           tvmffi_i_decimal(digits, leaks[k].count));
    n = tvmffi_i_debug_put(text, n, size, " x ");
    n = tvmffi_i_debug_put(text, n, size,
                           tvmffi_i_type_name(leaks[k].first->type_index));
    n = tvmffi_i_debug_put(text, n, size, ", handed out at ");
    n = tvmffi_i_debug_put(text, n, size, leaks[k].first->made);
    n = tvmffi_i_debug_put(text, n, size, "\n");
  }
  if (others) {
    n = tvmffi_i_debug_put(text, n, size, tvmffi_i_decimal(digits, others));
    n = tvmffi_i_debug_put(text, n, size, " x others\n");
  }
  if (num_live) *(int64_t *)num_live = live;
  if (num_complaints) *(int64_t *)num_complaints = tvmffi_i_num_complaints;
  tvmffi_i_num_complaints = 0;
  tvmffi_i_complaint[0] = 0;
  tvmffi_i_debug_unlock();
  bytes.size = n;
  TVMFFI_TRY(TVMFFIStringFromByteArray(&bytes, &result));
  TVMFFI_RETURN(result);
}
#endif

typedef struct {
  const char *name;
  tvmffi_func *typed;
} tvmffi_i_builtin;
static const tvmffi_i_builtin tvmffi_i_builtins[] = {
#if defined(TVMFFI_BUILTINS)
    TVMFFI_BUILTINS
#else
    {"ffi.GetInvalidObject", &tvmffi_func_i_invalid_object},
    {"ffi.GetKwargsObject", &tvmffi_func_i_kwargs_object},
    {"ffi.String", &tvmffi_func_i_string},
    {"ffi.Bytes", &tvmffi_func_i_bytes},
    {"ffi.Shape", &tvmffi_func_i_shape},
    {"ffi.FunctionRemoveGlobal", &tvmffi_func_i_remove_global},
    {"ffi.FunctionListGlobalNamesFunctor", &tvmffi_func_i_list_names},
#if !TVMFFI_NO_TYPES
    {"ffi.GetGlobalFuncMetadata", &tvmffi_func_i_global_metadata},
#endif
#if !TVMFFI_NO_CONTAINERS
    {"ffi.Array", &tvmffi_func_i_new_array},
    {"ffi.ArrayGetItem", &tvmffi_func_i_array_get},
    {"ffi.ArraySize", &tvmffi_func_i_array_size},
    {"ffi.ArrayContains", &tvmffi_func_i_array_contains},
    {"ffi.List", &tvmffi_func_i_new_list},
    {"ffi.ListGetItem", &tvmffi_func_i_list_get},
    {"ffi.ListSetItem", &tvmffi_func_i_list_set},
    {"ffi.ListSize", &tvmffi_func_i_list_size},
    {"ffi.ListContains", &tvmffi_func_i_list_contains},
    {"ffi.ListAppend", &tvmffi_func_i_list_append},
    {"ffi.ListInsert", &tvmffi_func_i_list_insert},
    {"ffi.ListPop", &tvmffi_func_i_list_pop},
    {"ffi.ListErase", &tvmffi_func_i_list_erase},
    {"ffi.ListEraseRange", &tvmffi_func_i_list_erase_range},
    {"ffi.ListReplaceSlice", &tvmffi_func_i_list_replace},
    {"ffi.ListReverse", &tvmffi_func_i_list_reverse},
    {"ffi.ListClear", &tvmffi_func_i_list_clear},
    {"ffi.ListReserve", &tvmffi_func_i_list_reserve},
    {"ffi.Map", &tvmffi_func_i_map},
    {"ffi.MapSize", &tvmffi_func_i_map_size},
    {"ffi.MapGetItem", &tvmffi_func_i_map_get_item},
    {"ffi.MapGetItemOrMissing", &tvmffi_func_i_map_get_item_or_missing},
    {"ffi.MapCount", &tvmffi_func_i_map_count},
    {"ffi.MapForwardIterFunctor", &tvmffi_func_i_map_iterator},
    {"ffi.Dict", &tvmffi_func_i_dict},
    {"ffi.DictSize", &tvmffi_func_i_dict_size},
    {"ffi.DictGetItem", &tvmffi_func_i_dict_get_item},
    {"ffi.DictGetItemOrMissing", &tvmffi_func_i_dict_get_item_or_missing},
    {"ffi.DictCount", &tvmffi_func_i_dict_count},
    {"ffi.DictSetItem", &tvmffi_func_i_dict_set_item},
    {"ffi.DictErase", &tvmffi_func_i_dict_erase},
    {"ffi.DictClear", &tvmffi_func_i_dict_clear},
    {"ffi.DictForwardIterFunctor", &tvmffi_func_i_dict_iterator},
    {"ffi.ContainerFindFirstNonCPUDevice", &tvmffi_func_i_first_device},
    {"ffi.MakeObjectFromPackedArgs", &tvmffi_func_i_make_object},
    {"ffi.MakeFieldGetter", &tvmffi_func_i_make_getter},
    {"ffi.MakeFieldSetter", &tvmffi_func_i_make_setter},
    {"ffi._RegisterFFIInit", &tvmffi_func_i_set_init},
    {"ffi._PyClassRegisterTypeAttrColumns", &tvmffi_func_i_set_py_class},
    {"ffi.GetRegisteredTypeKeys", &tvmffi_func_i_type_keys},
    {"ffi.VisitInterrupt", &tvmffi_func_i_visit_interrupt},
    {"ffi.DeepCopy", &tvmffi_func_i_deep_copy},
    {"ffi.Module.load_from_file.so", &tvmffi_func_i_module_load_so},
    {"ffi.ModuleLoadFromFile", &tvmffi_func_i_module_load},
    {"ffi.ModuleImplementsFunction", &tvmffi_func_i_module_has},
    {"ffi.ModuleGetFunctionMetadata", &tvmffi_func_i_module_metadata},
    {"ffi.ModuleGetFunctionDoc", &tvmffi_func_i_module_doc},
    {"ffi.ModuleGetFunction", &tvmffi_func_i_module_get},
    {"ffi.ModuleGetPropertyMask", &tvmffi_func_i_module_mask},
    {"ffi.ModuleInspectSource", &tvmffi_func_i_module_inspect},
    {"ffi.ModuleGetKind", &tvmffi_func_i_module_kind},
    {"ffi.ModuleGetWriteFormats", &tvmffi_func_i_module_write_formats},
    {"ffi.ModuleWriteToFile", &tvmffi_func_i_module_write},
    {"ffi.ModuleImportModule", &tvmffi_func_i_module_import},
    {"ffi.ModuleClearImports", &tvmffi_func_i_module_clear},
    {"ffi.ModuleGlobalsAdd", &tvmffi_func_i_module_keep},
    {"ffi.ModuleGlobalsRemove", &tvmffi_func_i_module_unkeep},
    {"ffi.SystemLib", &tvmffi_func_i_system_lib},
#endif
#if !TVMFFI_NO_EXTRA
    {"ffi.ReprPrint", &tvmffi_func_i_repr_print},
    {"ffi.RecursiveHash", &tvmffi_func_i_recursive_hash},
    {"ffi.RecursiveEq", &tvmffi_func_i_recursive_eq},
    {"ffi.RecursiveLt", &tvmffi_func_i_recursive_lt},
    {"ffi.RecursiveLe", &tvmffi_func_i_recursive_le},
    {"ffi.RecursiveGt", &tvmffi_func_i_recursive_gt},
    {"ffi.RecursiveGe", &tvmffi_func_i_recursive_ge},
    {"ffi.StructuralEqual", &tvmffi_func_i_structural_equal},
    {"ffi.GetFirstStructuralMismatch", &tvmffi_func_i_structural_mismatch},
    {"ffi.StructuralHash", &tvmffi_func_i_structural_hash},
    {"ffi.StructuralKey", &tvmffi_func_i_new_structural_key},
    {"ffi.StructuralKeyEqual", &tvmffi_func_i_structural_key_equal},
    {"ffi.StructuralVisit", &tvmffi_func_i_structural_visit},
    {"ffi.StructuralWalk", &tvmffi_func_i_structural_walk},
    {"ffi.StructuralMap", &tvmffi_func_i_structural_map},
    {"ffi.StructuralMutate", &tvmffi_func_i_structural_mutate},
    {"ffi.StructuralVisitorVisit", &tvmffi_func_i_visitor_visit},
    {"ffi.StructuralVisitorDefaultVisit", &tvmffi_func_i_visitor_default},
    {"ffi.StructuralVisitorDefRegionKind", &tvmffi_func_i_visitor_region},
    {"ffi.StructuralVisitorWithDefRegionKind",
     &tvmffi_func_i_visitor_in_region},
    {"ffi.StructuralMutatorMutate", &tvmffi_func_i_mutator_mutate},
    {"ffi.StructuralMutatorDefaultMutate", &tvmffi_func_i_mutator_default},
    {"ffi.StructuralMutatorDefRegionKind", &tvmffi_func_i_mutator_region},
    {"ffi.StructuralMutatorWithDefRegionKind",
     &tvmffi_func_i_mutator_in_region},
    {"ffi.StructuralMutatorVarRemapGet", &tvmffi_func_i_mutator_get},
    {"ffi.StructuralMutatorVarRemapSet", &tvmffi_func_i_mutator_set},
    {"ffi.VisitErrorContext.FindAccessPaths", &tvmffi_func_i_find_access_paths},
    {"ffi.json.Parse", &tvmffi_func_i_json_parse},
    {"ffi.json.Stringify", &tvmffi_func_i_json_stringify},
    {"ffi.ToJSONGraph", &tvmffi_func_i_to_json_graph},
    {"ffi.ToJSONGraphString", &tvmffi_func_i_to_json_graph_string},
    {"ffi.FromJSONGraph", &tvmffi_func_i_from_json_graph},
    {"ffi.FromJSONGraphString", &tvmffi_func_i_from_json_graph_string},
#endif
#if TVMFFI_DEBUG
    {"tvmffi.DebugNote", &tvmffi_func_i_debug_note},
    {"tvmffi.DebugLive", &tvmffi_func_i_debug_live},
    {"tvmffi.DebugReport", &tvmffi_func_i_debug_report},
#endif
#if TVMFFI_I_POOL
    {"tvmffi.MemoryTrim", &tvmffi_func_i_memory_trim},
#endif
    {"ffi.FunctionFromExternC", &tvmffi_func_i_from_extern_c},
#endif
};
enum {
  TVMFFI_I_NUM_BUILTINS =
      sizeof(tvmffi_i_builtins) / sizeof(tvmffi_i_builtins[0])
};
TVMFFI_STATIC_ASSERT(TVMFFI_I_NUM_BUILTINS <= 512, their_first_slots);
static tvmffi_i_function_object tvmffi_i_builtin_objects[TVMFFI_I_NUM_BUILTINS];
static tvmffi_i_global tvmffi_i_builtin_entries[TVMFFI_I_NUM_BUILTINS];
static tvmffi_i_about tvmffi_i_builtin_abouts[TVMFFI_I_NUM_BUILTINS];

/* Whether a list of all names has an entry; mutex held. What is for the C
   interface alone is not in it: the list is that of upstream's library. */
static int tvmffi_i_is_listed(const tvmffi_i_node *node) {
  const tvmffi_i_node *first = &tvmffi_i_builtin_entries[0].node;
  const tvmffi_i_node *last =
      &tvmffi_i_builtin_entries[TVMFFI_I_NUM_BUILTINS - 1].node;
  const int is_builtin = node >= first && node <= last;
  return node->key && !(is_builtin && node->size > 7 &&
                        memcmp(node->key, "tvmffi.", 7) == 0);
}

TVMFFI_I_COLD void tvmffi_i_start_globals(void) {
  static TVMFFI_I_SLOTS(TVMFFI_I_NUM_BUILTINS) table;
  static int started;
  int i;
  if (TVMFFI_I_LOAD(&started)) return;
  tvmffi_i_lock();
  if (!TVMFFI_I_LOAD(&started)) {
    tvmffi_i_begin_map(&tvmffi_i_globals, &table.head, sizeof(table));
    for (i = 0; i < TVMFFI_I_NUM_BUILTINS; ++i) {
      tvmffi_i_function_object *f = &tvmffi_i_builtin_objects[i];
      tvmffi_i_global *g = &tvmffi_i_builtin_entries[i];
      const char *name = tvmffi_i_builtins[i].name;
      f->base.combined_ref_count = TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE;
      f->base.type_index = kTVMFFIFunction;
      f->cell.safe_call = tvmffi_i_builtins[i].typed->call;
      g->function = &f->base;
      g->about = &tvmffi_i_builtin_abouts[i];
      tvmffi_i_builtin_abouts[i].typed = tvmffi_i_builtins[i].typed;
      tvmffi_i_builtins[i].typed->name = name;
      tvmffi_i_insert(&tvmffi_i_globals, &g->node, name, strlen(name));
    }
    TVMFFI_I_STORE(&started, 1);
  }
  tvmffi_i_unlock();
}
