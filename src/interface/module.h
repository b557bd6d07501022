/* ======== Module kinds: structs as modules ========== >>interface/module */
/* A module kind is a struct whose objects are modules. TVMFFI_MODULE lists the
   struct's functions, and how modules are saved and loaded. All modules have
   the same type index; the deleter of an object identifies the kind. A module's
   memory block begins with a pointer to the method table
   (base/module_table.h). The struct follows. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "list.h"
#include "scope.h"
#include "global_cache.h"
#include "schema.h"
#include "function.h"
#include "class.h"
#include "class_object.h"
#include "type.h"

/* Bits of a module's property mask, with the values of upstream's module.h. */
enum {
  TVMFFI_MODULE_SERIALIZABLE = 1, /* can be saved to bytes */
  TVMFFI_MODULE_RUNNABLE = 2,     /* has functions */
  TVMFFI_MODULE_EXPORTABLE = 4    /* can be saved to a file that is compiled */
};

/* Returns the first item of the kind `what`, or NULL. Unless `name` is NULL,
   the item must have this name. */
TVMFFI_I_ONCE(const tvmffi_i_member *, tvmffi_i_module_find,
              ( const void *items, int what, const TVMFFIByteArray *name)) {
  const tvmffi_i_member *i = (const tvmffi_i_member *)items;
  for (; i->what; ++i)
    if (i->what == what && (!name || tvmffi_i_same(*name, i->name))) return i;
  return NULL;
}

TVMFFI_I_ONCE(tvmffi_func *, tvmffi_i_module_func,
              ( const tvmffi_i_member *item)) {
  return tvmffi_i_method_func(tvmffi_i_body_of(item), NULL);
}

/* Calls a method with the module and `n` (at most 2) more arguments. Raises a
   TypeError if the result's type is neither `small_type` nor `large_type`. */
TVMFFI_I_ONCE(int, tvmffi_i_module_run,
              (const tvmffi_i_member *item, TVMFFIObject *self,
               const TVMFFIAny *args, int32_t n, int32_t small_type,
               int32_t large_type, TVMFFIAny *out)) {
  const tvmffi_func *f = tvmffi_i_module_func(item);
  TVMFFIAny all[3];
  int32_t i, got;
  all[0] = tvmffi_obj(self);
  for (i = 0; i < n; ++i) all[i + 1] = args[i];
  TVMFFI_TRY(f->call(NULL, all, n + 1, out));
  got = out->type_index;
  if (got == small_type || got == large_type) return 0;
  tvmffi_i_any_release(out);
  *out = tvmffi_none();
  return tvmffi_i_raise("TypeError", "%s returned `%s`",
                        TVMFFI_I_LOAD(&f->name), tvmffi_i_type_key(got));
}

/* Sets *out to the listed function `name`, or else to the result of the
   module's `lookup` method. Leaves *out None if there is no such function. */
TVMFFI_I_ONCE(int, tvmffi_i_module_get,
              (const void *items, TVMFFIObject *self, const TVMFFIAny *name,
               TVMFFIAny *out)) {
  TVMFFIByteArray text = tvmffi_any_str(name);
  TVMFFIObjectHandle function = NULL;
  const tvmffi_i_member *item =
      tvmffi_i_module_find(items, TVMFFI_I_IS_function, &text);
  int code;
  if (item) {
    tvmffi_i_retain(self);
    code = TVMFFIFunctionCreate(self, item->bound, tvmffi_release, &function);
    if (code)
      tvmffi_i_release(self);
    else
      *out = tvmffi_obj(function);
    return code;
  }
  item = tvmffi_i_module_find(items, TVMFFI_I_IS_lookup, NULL);
  return item ? tvmffi_i_module_run(item, self, name, 1, kTVMFFINone,
                                    kTVMFFIFunction, out)
              : 0;
}

/* Saves a module to the file args[0] in the format args[1]. Without a format,
   uses the first `save_file` item. */
TVMFFI_I_ONCE(int, tvmffi_i_module_write,
              (const tvmffi_i_module_table *table, TVMFFIObject *self,
               const TVMFFIAny *args, TVMFFIAny *out)) {
  TVMFFIByteArray format = tvmffi_any_str(&args[1]);
  TVMFFIAny known[2];
  const tvmffi_i_member *item = tvmffi_i_module_find(
      table->items, TVMFFI_I_IS_save_file, format.size ? &format : NULL);
  if (!item)
    return tvmffi_i_raise("RuntimeError",
                          "Module[%s] does not support WriteToFile%s%.*s",
                          table->kind, format.size ? " in the format " : "",
                          (int)format.size, format.data);
  known[0] = args[0];
  known[1] = tvmffi_str(item->name);
  return tvmffi_i_module_run(item, self, known, 2, kTVMFFINone, kTVMFFINone,
                             out);
}

TVMFFI_I_ONCE(int, tvmffi_i_module_formats,
              (const void *items, TVMFFIAny *out)) {
  TVMFFIAny names[32];
  const tvmffi_i_member *i = (const tvmffi_i_member *)items;
  int32_t n = 0;
  for (; i->what; ++i)
    if (i->what == TVMFFI_I_IS_save_file) names[n++] = tvmffi_str(i->name);
  return tvmffi_i_call_cached(TVMFFI_I_NEW_ARRAY, names, n, out);
}

#if TVMFFI_I_CXX_MODULES
/* Calls upstream's ModuleObj::ImportModule. The weak symbol is NULL if the
   runtime is written in C. */
/* clang-format off */
TVMFFI_I_EXTERN_C void tvmffi_i_cxx_import(tvmffi_i_module *m,
                                           TVMFFIObject *const *other)
    __asm__(TVMFFI_I_QUOTE(__USER_LABEL_PREFIX__)
            "_ZN3tvm3ffi9ModuleObj12ImportModuleERKNS0_6ModuleE")
    __attribute__((__weak__));
/* clang-format on */
/* 1 if the runtime is upstream's library and exports the C++ function. */
#define TVMFFI_I_IS_CXX (tvmffi_i_cxx_import != NULL)
#else
#define tvmffi_i_cxx_import(m, other) ((void)(m), (void)(other))
#define TVMFFI_I_IS_CXX 0
#endif

/* Adds an import to a module. With a C runtime, calls ffi.ModuleImportModule,
   which does not call this function again. */
TVMFFI_I_ONCE(int, tvmffi_i_module_import,
              (TVMFFIObject *self, TVMFFIAny other, TVMFFIAny *out)) {
  TVMFFIAny args[2] = {tvmffi_obj(self), other};
  if (TVMFFI_I_IS_CXX) {
    tvmffi_i_cxx_import(tvmffi_i_module_of(self), &other.v_obj);
    return 0;
  }
  return tvmffi_i_call_by_name((void *)(uintptr_t)"ffi.ModuleImportModule",
                               args, 2, out);
}

TVMFFI_I_ONCE(int, tvmffi_i_module_clear, (TVMFFIObject *self)) {
  tvmffi_i_module *m = tvmffi_i_module_of(self);
  TVMFFIObject *old = m->imports;
  TVMFFIAny none = tvmffi_none();
  TVMFFI_TRY(tvmffi_i_call_cached(TVMFFI_I_NEW_ARRAY, NULL, 0, &none));
  m->imports = none.v_obj;
  tvmffi_i_release(old);
  return 0;
}

TVMFFI_I_ONCE(int, tvmffi_i_module_method_of,
              (TVMFFIObject *self, tvmffi_i_module_method method,
               const TVMFFIAny *args, TVMFFIAny *out)) {
  const tvmffi_i_module_table *table =
      tvmffi_i_module_table_of(tvmffi_i_module_of(self));
  const void *items = table->items;
  const tvmffi_i_member *item;
  TVMFFIByteArray text = tvmffi_byte_array(table->kind);
  TVMFFIAny found = tvmffi_none();
  switch (method) {
    case TVMFFI_I_METHOD_KIND: return TVMFFIStringFromByteArray(&text, out);
    case TVMFFI_I_METHOD_PROPERTY_MASK:
      *out = tvmffi_int(table->mask);
      return 0;
    case TVMFFI_I_METHOD_GET_FUNCTION:
      return tvmffi_i_module_get(items, self, args, out);
    case TVMFFI_I_METHOD_IMPLEMENTS:
      TVMFFI_TRY(tvmffi_i_module_get(items, self, args, &found));
      *out = tvmffi_bool(found.type_index != kTVMFFINone);
      tvmffi_i_any_release(&found);
      return 0;
    case TVMFFI_I_METHOD_DOC:
    case TVMFFI_I_METHOD_METADATA:
      text = tvmffi_any_str(args);
      item = tvmffi_i_module_find(items, TVMFFI_I_IS_function, &text);
      if (item && method == TVMFFI_I_METHOD_METADATA)
        return tvmffi_i_return_metadata(tvmffi_i_module_func(item), out);
      if (!item || item[1].what != TVMFFI_I_IS_doc) return 0;
      text = tvmffi_byte_array(item[1].name);
      return TVMFFIStringFromByteArray(&text, out);
    case TVMFFI_I_METHOD_WRITE:
      return tvmffi_i_module_write(table, self, args, out);
    case TVMFFI_I_METHOD_WRITE_FORMATS:
      return tvmffi_i_module_formats(items, out);
    case TVMFFI_I_METHOD_INSPECT:
      item = tvmffi_i_module_find(items, TVMFFI_I_IS_source, NULL);
      text = tvmffi_byte_array("");
      return item ? tvmffi_i_module_run(item, self, args, 1, kTVMFFISmallStr,
                                        kTVMFFIStr, out)
                  : TVMFFIStringFromByteArray(&text, out);
    case TVMFFI_I_METHOD_ADD_IMPORT:
      return tvmffi_i_module_import(self, args[0], out);
    case TVMFFI_I_METHOD_CLEAR_IMPORTS: return tvmffi_i_module_clear(self);
    default:
      item = tvmffi_i_module_find(items, TVMFFI_I_IS_save, NULL);
      return item ? tvmffi_i_module_run(item, self, NULL, 0, kTVMFFISmallBytes,
                                        kTVMFFIBytes, out)
                  : tvmffi_i_raise("RuntimeError",
                                   "Module[%s] does not support SaveToBytes",
                                   table->kind);
  }
}

/* Calls a module's function with the module as the first argument. Copies no
   arguments if there are too many, because f->call then raises an error. */
TVMFFI_I_INLINE int tvmffi_i_module_bound(tvmffi_i_method_body body,
                                          void *self, const TVMFFIAny *args,
                                          int32_t n, TVMFFIAny *result) {
  const tvmffi_func *f = tvmffi_i_method_func(body, NULL);
  TVMFFIAny all[17];
  int32_t i;
  if (!body.self) return f->call(NULL, args, n, result);
  all[0] = tvmffi_obj(self);
  if (n + 1 <= f->num_args)
    for (i = 0; i < n; ++i) all[i + 1] = args[i];
  return f->call(NULL, all, n + 1, result);
}

/* Returns 1 if the loader is registered as a global function, 0 if not, or -1
   with an error if another function has the name. */
TVMFFI_I_ONCE(int, tvmffi_i_module_is_known, (const tvmffi_i_member *item)) {
  TVMFFIByteArray name = tvmffi_byte_array(item->name);
  TVMFFIObjectHandle function = NULL;
  TVMFFISafeCallType call;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &function));
  if (!function) return 0;
  call = TVMFFI_I_CELL(TVMFFIFunctionCell, function)->safe_call;
  tvmffi_i_release(function);
  if (call == tvmffi_i_module_func(item)->call) return 1;
  return tvmffi_i_raise("RuntimeError",
                        "Module kind `%s`: the function `%s` is already "
                        "registered",
                        item->full_name, item->name);
}

TVMFFI_I_INLINE int tvmffi_i_is_loader(const tvmffi_i_member *m) {
  return m->what == TVMFFI_I_IS_load || m->what == TVMFFI_I_IS_load_file;
}

/* Registers the `load` and `load_file` methods of a module kind. Registers none
   if another function has a loader's name. */
TVMFFI_I_ONCE(int, tvmffi_i_module_init, (tvmffi_i_class *c, void **result)) {
  const tvmffi_i_member *i;
  tvmffi_func *f;
  for (i = c->members; i->what; ++i) {
    if (!i->method.variable) continue;
    f = tvmffi_i_module_func(i);
    if (!f)
      return tvmffi_i_raise("TypeError", "write TVMFFI_METHOD for %s",
                            i->full_name);
    if (!tvmffi_i_is_loader(i))
      TVMFFI_I_STORE(&f->name, i->full_name);
    else if (tvmffi_i_module_is_known(i) < 0)
      return -1;
  }
  for (i = c->members; i->what; ++i) {
    if (!tvmffi_i_is_loader(i) || tvmffi_i_module_is_known(i)) continue;
    f = tvmffi_i_module_func(i);
    TVMFFI_TRY(tvmffi_i_register(i->name, f, TVMFFI_I_LOAD(&f->name),
                                 TVMFFI_I_LITERAL));
  }
  *result = c;
  return 0;
}

/* Returns the offset of the user's struct in a module's memory block. */
TVMFFI_I_INLINE int32_t tvmffi_i_module_head(const tvmffi_i_class *c) {
  int32_t head = (int32_t)offsetof(tvmffi_i_module, base);
  return c->alignment > head ? c->alignment : head;
}

TVMFFI_I_ONCE(void, tvmffi_i_delete_user_module,
              (const tvmffi_i_class *c, TVMFFIObject *self, int flags)) {
  tvmffi_module *m = (tvmffi_module *)(void *)self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_i_destroying *d = tvmffi_i_class_destroying();
    int32_t depth = tvmffi_i_begin_destroy(d, self, flags, c->deleter);
    if (depth < 0) return;
    c->destroy(self);
    tvmffi_i_release(m->imports);
    tvmffi_i_release(m->cache);
    tvmffi_i_end_destroy(d, depth);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) {
    void *block = (char *)self - tvmffi_i_module_head(c);
    TVMFFIObjectAllocHeader *head = (TVMFFIObjectAllocHeader *)block - 1;
    if (head->delete_space) head->delete_space(block);
  }
}

/* Allocates a module. All members but the header and `methods` are zero. */
TVMFFI_I_ONCE(tvmffi_module *, tvmffi_i_module_alloc,
              ( const tvmffi_i_class *c, const tvmffi_i_module_table *table)) {
  TVMFFICustomAllocator *from = TVMFFIGetCustomAllocator();
  const int32_t head = tvmffi_i_module_head(c), size = head + c->size;
  const int32_t align = c->alignment > 8 ? c->alignment : 8;
  char *block = (char *)from->allocate((size_t)size, (size_t)align,
                                       kTVMFFIModule, from->context);
  tvmffi_module *m;
  int32_t i;
  if (!block) return NULL;
  for (i = 0; i < size; ++i) block[i] = 0;
  m = (tvmffi_module *)(void *)(block + head);
  m->base.combined_ref_count = TVMFFI_I_BOTH_ONE;
  m->base.type_index = kTVMFFIModule;
  m->base.deleter = c->deleter;
  tvmffi_i_module_of(m)->methods = &table->methods;
  return m;
}

/* The virtual function property_mask. Returns -1 for a new module, whose
   `cache` is still NULL. So tvmffi_i_module_check detects upstream's library,
   which calls virtual functions. */
TVMFFI_I_INLINE int tvmffi_i_module_mask(tvmffi_i_module *m) {
  return m->cache ? tvmffi_i_module_table_of(m)->mask : -1;
}

/* Raises a RuntimeError if the runtime is upstream's library but lacks the C++
   function that TVMFFI_I_IS_CXX asks for: it would call virtual functions of
   this C module. Only there the mask of a new module is -1. */
TVMFFI_I_ONCE(int, tvmffi_i_module_check,
              (const char *kind, TVMFFIObject *module)) {
  TVMFFIAny self = tvmffi_obj(module), mask = tvmffi_none();
  int code = TVMFFI_I_IS_CXX
                 ? 0
                 : tvmffi_i_call_if_defined("ffi.ModuleGetPropertyMask", &self,
                                            1, &mask);
  if (code < 0 || mask.v_int64 >= 0) return code < 0;
  return tvmffi_i_raise(
      "RuntimeError",
      "Module[%s]: this code cannot make modules for upstream's library: that "
      "needs x86-64, a system other than Windows, unwind tables, and the "
      "library's global symbols",
      kind);
}

TVMFFI_I_ONCE(int, tvmffi_i_new_user_module,
              (tvmffi_i_owner to, tvmffi_i_class *c,
               const tvmffi_i_module_table *table, TVMFFIObjectHandle *out)) {
  TVMFFIAny imports = tvmffi_none(), cache = tvmffi_none();
  tvmffi_module *m;
  TVMFFI_TRY(tvmffi_i_class_ready(c));
  m = tvmffi_i_module_alloc(c, table);
  if (!m) return -1;
  if (tvmffi_i_module_check(c->key, &m->base) ||
      tvmffi_i_call_cached(TVMFFI_I_NEW_ARRAY, NULL, 0, &imports) ||
      tvmffi_i_call_cached(TVMFFI_I_NEW_MAP, NULL, 0, &cache)) {
    tvmffi_i_any_release(&imports);
    tvmffi_i_release(m);
    return -1;
  }
  m->imports = imports.v_obj;
  m->cache = cache.v_obj;
  TVMFFI_TRY(tvmffi_i_hand(to, &m->base));
  *out = m;
  return 0;
}

/* clang-format off */
#define TVMFFI_I_DECLARE_FUNCTION ~, TVMFFI_I_DECLARED_FUNCTION,
#define TVMFFI_I_DECLARED_FUNCTION(T, name) \
  TVMFFI_I_HEAD_OF_METHOD(T, name) \
  static TVMFFI_I_CALL_HEAD(tvmffi_i_bound_##T##_##name) { \
    return tvmffi_i_module_bound( \
        TVMFFI_I_BODY_OF(TVMFFI_I_METHOD_OF(T, name)), tvmffi_handle, \
        tvmffi_args, tvmffi_count, tvmffi_into); \
  }

/* The pass TVMFFI_I_MASK expands an item to its bits of the property mask. */
#define TVMFFI_I_MASK_METHOD ~, TVMFFI_I_METHOD_BITS,
#define TVMFFI_I_METHOD_BITS(T, kind, text, name, full_name, bound) \
  | (TVMFFI_I_IS_##kind == TVMFFI_I_IS_save ? TVMFFI_MODULE_SERIALIZABLE \
     : TVMFFI_I_IS_##kind == TVMFFI_I_IS_function || \
       TVMFFI_I_IS_##kind == TVMFFI_I_IS_lookup ? TVMFFI_MODULE_RUNNABLE : 0)
#define TVMFFI_I_MASK_OTHER ~, TVMFFI_I_OTHER_BITS,
#define TVMFFI_I_OTHER_BITS(kind, text, bits, factory, values) | (bits)

#define TVMFFI_I_MODULE(T, K, n, ...) \
  TVMFFI_I_CLASS_WORD(T, K, "ffi.Module") \
  TVMFFI_I_CLASS_MEMBERS(MODULE, T, K, tvmffi_module, n, __VA_ARGS__) \
  static const tvmffi_i_module_table tvmffi_i_table_##T = \
      TVMFFI_I_MODULE_TABLE( \
          K, tvmffi_i_module_mask, \
          0 TVMFFI_I_EACH(n)(TVMFFI_I_EXPAND, (TVMFFI_I_MASK, MODULE, T, K), \
                             __VA_ARGS__), \
          tvmffi_i_module_method_of, tvmffi_i_members_##T); \
  static int tvmffi_i_init_##T(void **tvmffi_into) { \
    return tvmffi_i_module_init(tvmffi_i_class_of_##T(), tvmffi_into); \
  } \
  enum { tvmffi_i_values_##T = 0 }; \
  TVMFFI_I_CLASS_OF(T, K, NULL, tvmffi_i_delete_user_module, NULL, -1, \
                    tvmffi_i_new_user_module(tvmffi_to, \
                                             tvmffi_i_class_of_##T(), \
                                             &tvmffi_i_table_##T, &self))
/* clang-format on */

/* Finds a function by name in the imports of a module, then among the global
   functions: tvmffi_module_find(self, "main", &f). `module` is a module object
   or a struct of TVMFFI_MODULE. *function is borrowed while the module lives.
   Returns 0, or -1 with an error and *function set to NULL: a RuntimeError if
   the name is unknown. A found function stays found if the imports change
   later. */
TVMFFI_I_MUST_CHECK TVMFFI_I_UNUSED static inline int tvmffi_module_find(
    const void *module, const char *name, TVMFFIObject **function) {
  TVMFFIObjectHandle found = NULL;
  int code;
  if (function) *function = NULL;
  if (!module || !function)
    return tvmffi_i_raise("ValueError", "tvmffi_module_find: the %s is NULL",
                          module ? "place for the function" : "module");
  code = TVMFFIEnvModLookupFromImports(
      tvmffi_i_module_of((TVMFFIObjectHandle)(uintptr_t)module), name, &found);
  if (!code) *function = (TVMFFIObject *)found;
  return code;
}

/* Declares a module kind:
       TVMFFI_MODULE(Calc, "demo.calc", (function, evaluate), (save, to_bytes),
                     (load, from_bytes), (destructor, calc_end))
   The arguments are a struct, the kind's name (up to 80 bytes) and up to 32
   items. The struct's first member is a tvmffi_module named `base`. Define each
   method m below or above TVMFFI_MODULE by TVMFFI_METHOD(Calc, m, ...) or, if
   the list says static, TVMFFI_STATIC_METHOD(Calc, m, ...). Items:
     (function, m)            a function of each module, with any parameters;
                              may be static
     (doc, "text")            documents the function before it
     (lookup, m)              optional(func) m(str name): returns a function
                              that is not listed, or NULL
     (save, m)                bytes m(): returns the module as bytes
     (load, m)                static Calc m(bytes data): the inverse of `save`;
                              becomes ffi.Module.load_from_bytes.<kind>
     (save_file, "format", m) none m(str path, str format)
     (load_file, "format", m) static Calc m(str path, str format); becomes
                              ffi.Module.load_from_file.<format>
     (source, m)              str m(str format), for inspect_source
     (mask, bits)             adds to the property mask: functions make a module
                              runnable, `save` makes it serializable
     (destructor, f)          void f(Calc *), frees what the struct owns
   Calc becomes a parameter type, (Calc, c), for modules that this file creates
   by TVMFFI_NEW(Calc). Members of a new module are zero. A function that
   Python gets from a module keeps the module alive; a function that `lookup`
   creates must own a reference to the module. TVMFFI_REGISTER_TYPE(Calc) and
   the first TVMFFI_NEW register the loaders. Both fail with a RuntimeError if a
   loader's name is taken. Keep the code loaded as long as modules or loaders of
   the kind exist.
   Under upstream's library, modules written in C need x86-64, a system other
   than Windows, unwind tables (the default), and a library loaded with global
   symbols, as by Python. Otherwise TVMFFI_NEW fails with a RuntimeError. */
#define TVMFFI_MODULE(type, kind, ...)                                         \
  TVMFFI_I_EACH(TVMFFI_I_COUNT(__VA_ARGS__, ~))(                               \
      TVMFFI_I_NEED, (TVMFFI_I_NEED, MODULE, type, kind) type, __VA_ARGS__, ~) \
  TVMFFI_I_MODULE(type, kind, TVMFFI_I_COUNT(__VA_ARGS__, ~), __VA_ARGS__, ~)
