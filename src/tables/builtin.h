/* ======== Built-in functions =============================== >>tables/builtin
   the table of built-in global functions */
/* The runtime's own global functions. All their memory is static, so
   initialization cannot run out of memory. A freestanding build allocates the
   memory of a function when its name is first looked up. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../interface.h"
#include "../functions.h"
#include "builtin_function.h"

/* The function object of a built-in function, and its entry in the function
   table. In an array, i386 would align the object's count to 4 bytes. Where a
   count spans two cache lines, an atomic operation locks the bus. */
typedef struct {
  tvmffi_i_builtin object;
  tvmffi_i_global entry;
}
#if TVMFFI_I_GNU
__attribute__((__aligned__(8)))
#endif
tvmffi_i_builtin_entry;

#if !TVMFFI_NO_TYPES
/* Returns the typed function of an entry whose function is `function`, or NULL
   unless that is the entry's built-in function. */
static const tvmffi_i_builtin_func *tvmffi_i_typed_builtin(
    const tvmffi_i_global *g, const TVMFFIObject *function) {
  const tvmffi_i_builtin_entry *b =
      (const tvmffi_i_builtin_entry *)((uintptr_t)g -
                                       offsetof(tvmffi_i_builtin_entry, entry));
  return function == &b->object.base ? b->object.typed : NULL;
}

/* Returns the metadata of a global function: generated for a typed function,
   else the metadata given at registration. Raises a RuntimeError for an unknown
   name. */
TVMFFI_I_BUILTIN_FUNC(GetGlobalFuncMetadata, str, (str, name)) {
  uint32_t side = 0;
  tvmffi_i_global *g;
  const tvmffi_i_global_info *info;
  const TVMFFIObject *function = NULL;
  const tvmffi_i_builtin_func *typed;
  TVMFFIByteArray text = {"", 0};
  char buffer[TVMFFI_I_METADATA], *copy;
  tvmffi_func f;
  int code;
  TVMFFI_TRY(tvmffi_i_start_global(&name));
  g = tvmffi_i_enter_global(&name, &side);
  if (g) function = TVMFFI_I_LOAD_SEQ(&g->function);
  if (g && !function) {
    TVMFFI_I_LEAVE(g, side);
    g = NULL;
  }
  if (!g)
    return tvmffi_i_runtime_error("Global Function is not found: %.*s",
                                  TVMFFI_I_TEXT(name));
  info = TVMFFI_I_LOAD_SEQ(&g->info);
  typed = tvmffi_i_typed_builtin(g, function);
  if (info) text = info->metadata;
  copy = (char *)tvmffi_i_alloc(text.size + 1);
  if (copy && text.size) memcpy(copy, text.data, text.size);
  TVMFFI_I_LEAVE(g, side);
  if (typed) {
    tvmffi_i_free(copy);
    f = tvmffi_i_describe(typed->name, typed->types, typed->num_args);
    text = tvmffi_i_metadata(&f, buffer);
    return TVMFFIStringFromByteArray(&text, tvmffi_result);
  }
  /* Raises only after TVMFFI_I_LEAVE. Raising destroys the previous error, and
     a destructor may replace the global function and wait for its readers. */
  if (!copy) return tvmffi_i_no_memory();
  text.data = copy;
  code = TVMFFIStringFromByteArray(&text, tvmffi_result);
  tvmffi_i_free(copy);
  return code;
}
#endif

/* A copy of the names of all global functions. The characters of the names
   follow the array. */
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

/* A position in the list of all global functions: in their table, and in the
   table of those built-in functions that a freestanding build enters later. */
typedef struct {
  const tvmffi_i_node *node;
  int builtin;
} tvmffi_i_name_position;

/* Returns the name at a position, which moves on. Returns {NULL, 0} at the
   end. */
static TVMFFIByteArray tvmffi_i_next_name(tvmffi_i_name_position *at);

/* Returns a copy of the names of all global functions, or NULL if there is no
   memory. */
static tvmffi_i_names *tvmffi_i_copy_names(void) {
  tvmffi_i_name_position at = {tvmffi_i_globals.first, 0};
  TVMFFIByteArray name;
  tvmffi_i_names *names;
  char *text;
  size_t n = 0, size = 0;
  while ((name = tvmffi_i_next_name(&at)).data != NULL) {
    size += sizeof(TVMFFIByteArray) + name.size;
    ++n;
  }
  names = (tvmffi_i_names *)tvmffi_i_alloc(sizeof(*names) + size);
  if (!names) return names;
  text = (char *)(names->name + n);
  names->count = 0;
  at.node = tvmffi_i_globals.first;
  at.builtin = 0;
  while ((name = tvmffi_i_next_name(&at)).data != NULL) {
    TVMFFIByteArray *to = &names->name[names->count++];
    TVMFFI_ASSERT((size_t)names->count <= n);
    to->data = text;
    to->size = name.size;
    memcpy(text, name.data, name.size);
    text += name.size;
  }
  TVMFFI_ASSERT((size_t)(text - (char *)names->name) == size);
  return names;
}

/* Returns a function `f` that reads a copy of the names of all global
   functions: f(-1) returns their number, f(i) the name with index i. Raises an
   IndexError if i is too large. */
TVMFFI_I_BUILTIN_FUNC(FunctionListGlobalNamesFunctor, func) {
  tvmffi_i_names *names;
  tvmffi_i_lock();
  names = tvmffi_i_copy_names();
  tvmffi_i_unlock();
  if (!names) return tvmffi_i_no_memory();
  TVMFFI_I_RETURN_NEW(
      tvmffi_i_new_closure(names, tvmffi_i_name_at, tvmffi_i_free));
}

/* -------- The table -------- */

/* The functions of each part of the runtime, by their public names without
   "ffi." or "tvmffi.", and with '_' instead of '.'. */
/* clang-format off */
#define TVMFFI_I_BUILTINS_CORE(F) \
  F(GetInvalidObject) F(GetKwargsObject) F(String) F(Bytes) F(Shape) \
  F(FunctionRemoveGlobal) F(FunctionListGlobalNamesFunctor) \
  F(FunctionFromExternC)
#if !TVMFFI_NO_TYPES
#define TVMFFI_I_BUILTINS_TYPES(F) \
  F(GetGlobalFuncMetadata)
#else
#define TVMFFI_I_BUILTINS_TYPES(F)
#endif
#if !TVMFFI_NO_CONTAINERS
#define TVMFFI_I_BUILTINS_CONTAINERS(F) \
  F(Array) F(ArrayGetItem) F(ArraySize) F(ArrayContains) F(List) \
  F(ListGetItem) F(ListSetItem) F(ListSize) F(ListContains) F(ListAppend) \
  F(ListInsert) F(ListPop) F(ListErase) F(ListEraseRange) F(ListReplaceSlice) \
  F(ListReverse) F(ListClear) F(ListReserve) F(Map) F(MapSize) F(MapGetItem) \
  F(MapGetItemOrMissing) F(MapCount) F(MapForwardIterFunctor) F(Dict) \
  F(DictSize) F(DictGetItem) F(DictGetItemOrMissing) F(DictCount) \
  F(DictSetItem) F(DictErase) F(DictClear) F(DictForwardIterFunctor) \
  F(ContainerFindFirstNonCPUDevice) F(MakeObjectFromPackedArgs) \
  F(MakeFieldGetter) F(MakeFieldSetter) F(_RegisterFFIInit) \
  F(_PyClassRegisterTypeAttrColumns) F(GetRegisteredTypeKeys) \
  F(Module_load_from_file_so) F(ModuleLoadFromFile) \
  F(ModuleImplementsFunction) F(ModuleGetFunctionMetadata) \
  F(ModuleGetFunctionDoc) F(ModuleGetFunction) F(ModuleGetPropertyMask) \
  F(ModuleInspectSource) F(ModuleGetKind) F(ModuleGetWriteFormats) \
  F(ModuleWriteToFile) F(ModuleImportModule) F(ModuleClearImports) \
  F(ModuleGlobalsAdd) F(ModuleGlobalsRemove) F(SystemLib)
#else
#define TVMFFI_I_BUILTINS_CONTAINERS(F)
#endif
#if !TVMFFI_NO_REFLECTION
#define TVMFFI_I_BUILTINS_REFLECTION(F) \
  F(VisitInterrupt) F(DeepCopy)
#else
#define TVMFFI_I_BUILTINS_REFLECTION(F)
#endif
#if !TVMFFI_NO_EXTRA
#define TVMFFI_I_BUILTINS_EXTRA(F) \
  F(ReprPrint) F(json_Parse) F(json_Stringify) F(json_ParseStrict) \
  F(json_StringifyStrict)
#else
#define TVMFFI_I_BUILTINS_EXTRA(F)
#endif
#if !TVMFFI_NO_EXTRA && !TVMFFI_NO_REFLECTION
#define TVMFFI_I_BUILTINS_STRUCTURAL(F) \
  F(RecursiveHash) F(RecursiveEq) F(RecursiveLt) F(RecursiveLe) F(RecursiveGt) \
  F(RecursiveGe) F(StructuralEqual) F(GetFirstStructuralMismatch) \
  F(StructuralHash) F(StructuralKey) F(StructuralKeyEqual) F(StructuralVisit) \
  F(StructuralWalk) F(StructuralMap) F(StructuralMutate) \
  F(StructuralVisitorVisit) F(StructuralVisitorDefaultVisit) \
  F(StructuralVisitorDefRegionKind) F(StructuralVisitorWithDefRegionKind) \
  F(StructuralMutatorMutate) F(StructuralMutatorDefaultMutate) \
  F(StructuralMutatorDefRegionKind) F(StructuralMutatorWithDefRegionKind) \
  F(StructuralMutatorVarRemapGet) F(StructuralMutatorVarRemapSet) \
  F(VisitErrorContext_FindAccessPaths) F(ToJSONGraph) F(ToJSONGraphString) \
  F(FromJSONGraph) F(FromJSONGraphString)
#else
#define TVMFFI_I_BUILTINS_STRUCTURAL(F)
#endif
#define TVMFFI_I_ALL_BUILTINS(F) \
  TVMFFI_I_BUILTINS_CORE(F) TVMFFI_I_BUILTINS_TYPES(F) \
  TVMFFI_I_BUILTINS_CONTAINERS(F) TVMFFI_I_BUILTINS_REFLECTION(F) \
  TVMFFI_I_BUILTINS_EXTRA(F) TVMFFI_I_BUILTINS_STRUCTURAL(F)

/* If TVMFFI_BUILTINS lists a function that the runtime lacks, the compiler's
   error names the missing constant. */
#define TVMFFI_I_HAS_BUILTIN(name) tvmffi_i_has_##name,
enum { TVMFFI_I_ALL_BUILTINS(TVMFFI_I_HAS_BUILTIN) tvmffi_i_has_all };
#define TVMFFI_I_ROW(name) &tvmffi_func_i_##name + 0 * tvmffi_i_has_##name,
static const tvmffi_i_builtin_func *const tvmffi_i_builtins[] = {
#if defined(TVMFFI_BUILTINS)
    TVMFFI_BUILTINS(TVMFFI_I_ROW)
#elif !TVMFFI_NO_BUILTINS
    TVMFFI_I_ALL_BUILTINS(TVMFFI_I_ROW)
#endif
#if TVMFFI_DEBUG
    &tvmffi_func_i_DebugNote, &tvmffi_func_i_DebugLargeScope,
    &tvmffi_func_i_DebugLive, &tvmffi_func_i_DebugReport,
#endif
#if TVMFFI_I_POOL
    &tvmffi_func_i_MemoryTrim,
#endif
#if TVMFFI_I_CELLS
    &tvmffi_func_i_GlobalCell,
#endif
    NULL};
/* clang-format on */
enum {
  TVMFFI_I_NUM_BUILTINS =
      sizeof(tvmffi_i_builtins) / sizeof(tvmffi_i_builtins[0]) - 1
};

/* Adds a built-in function to the table, which has a free slot. */
static void tvmffi_i_enter_builtin(const tvmffi_i_builtin_func *typed,
                                   tvmffi_i_builtin_entry *b) {
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  TVMFFI_ASSERT(!b->entry.info);
  TVMFFI_ASSERT(!b->entry.function || b->entry.function == &b->object.base);
  tvmffi_i_fill_builtin(&b->object, TVMFFI_I_SAFE_CALL(typed), typed);
  b->entry.function = &b->object.base;
  tvmffi_i_insert(&tvmffi_i_globals, &b->entry.node, typed->name,
                  strlen(typed->name));
}

#if TVMFFI_FREESTANDING
/* Only the functions that the program looks up need memory, and only from then
   on. An entry is never freed. */
static tvmffi_i_builtin_entry
    *tvmffi_i_builtin_entries[TVMFFI_I_NUM_BUILTINS + 1];

static int tvmffi_i_is_entered(int i) {
  return TVMFFI_I_LOAD(&tvmffi_i_builtin_entries[i]) != NULL;
}

/* Allocates and enters built-in function i. Returns 0, or -1 if out of
   memory. */
static int tvmffi_i_make_builtin(int i) {
  tvmffi_i_builtin_entry *b;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED && i < TVMFFI_I_NUM_BUILTINS);
  if (tvmffi_i_is_entered(i)) return 0; /* by another thread */
  if (tvmffi_i_reserve(&tvmffi_i_globals, 0) != 0) return -1;
  b = (tvmffi_i_builtin_entry *)tvmffi_i_alloc(sizeof(*b));
  if (!b) return -1;
  memset((void *)b, 0, sizeof(*b));
  tvmffi_i_enter_builtin(tvmffi_i_builtins[i], b);
  TVMFFI_I_STORE(&tvmffi_i_builtin_entries[i], b);
  return 0;
}

static int tvmffi_i_start_global(const TVMFFIByteArray *name) {
  int i, code;
  for (i = 0; i < TVMFFI_I_NUM_BUILTINS; ++i)
    if (tvmffi_i_same(*name, tvmffi_i_builtins[i]->name)) break;
  if (i == TVMFFI_I_NUM_BUILTINS || tvmffi_i_is_entered(i)) return 0;
  tvmffi_i_lock();
  code = tvmffi_i_make_builtin(i);
  tvmffi_i_unlock();
  return code ? tvmffi_i_no_memory() : 0;
}
#else
TVMFFI_STATIC_ASSERT(TVMFFI_I_NUM_BUILTINS <= 512, their_first_slots);
static tvmffi_i_builtin_entry
    tvmffi_i_builtin_entries[TVMFFI_I_NUM_BUILTINS + 1];

TVMFFI_I_COLD int tvmffi_i_start_global(const TVMFFIByteArray *name) {
  static TVMFFI_I_SLOTS(TVMFFI_I_NUM_BUILTINS) table;
  static int started;
  int i;
  (void)name;
  if (TVMFFI_I_LOAD(&started)) return 0;
  tvmffi_i_lock();
  if (!TVMFFI_I_LOAD(&started)) {
    tvmffi_i_begin_name_table(&tvmffi_i_globals, &table.head, sizeof(table));
    for (i = 0; i < TVMFFI_I_NUM_BUILTINS; ++i)
      tvmffi_i_enter_builtin(tvmffi_i_builtins[i],
                             &tvmffi_i_builtin_entries[i]);
    TVMFFI_I_STORE(&started, 1);
  }
  tvmffi_i_unlock();
  return 0;
}
#endif

/* Returns 1 if a built-in function is one that upstream does not have. The list
   of all global functions omits these, so that it equals upstream's. */
static int tvmffi_i_is_own_name(const char *name, size_t size) {
  return size > 7 && memcmp(name, "tvmffi.", 7) == 0;
}

/* Returns 1 if the list of all global functions includes the entry. The name of
   a function that is not built in is inside its entry. */
static int tvmffi_i_is_listed(const tvmffi_i_node *node) {
  const int is_builtin =
      node->key != (const char *)(const void *)node + TVMFFI_I_GLOBAL_HEAD;
  if (!((const tvmffi_i_global *)(const void *)node)->function) return 0;
  TVMFFI_ASSERT(node->key);
  return !is_builtin || !tvmffi_i_is_own_name(node->key, node->size);
}

static TVMFFIByteArray tvmffi_i_next_name(tvmffi_i_name_position *at) {
  TVMFFIByteArray name = {NULL, 0};
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  while (at->node && !tvmffi_i_is_listed(at->node)) at->node = at->node->next;
  if (at->node) {
    name.data = at->node->key;
    name.size = at->node->size;
    at->node = at->node->next;
    return name;
  }
#if TVMFFI_FREESTANDING
  while (at->builtin < TVMFFI_I_NUM_BUILTINS) {
    const int i = at->builtin++;
    name = tvmffi_byte_array(tvmffi_i_builtins[i]->name);
    if (!tvmffi_i_is_entered(i) && !tvmffi_i_is_own_name(name.data, name.size))
      return name;
  }
  name.data = NULL;
  name.size = 0;
#endif
  return name;
}
