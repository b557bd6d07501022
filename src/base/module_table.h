/* ======== Module tables: methods of modules =========== >>base/module_table */
/* A module object has the layout of upstream's C++ class ModuleObj: a vtable
   pointer, the object's header and two members. The handle points to the
   header. The method table of a module written in C begins as a vtable of the
   Itanium C++ ABI, which upstream's library calls. After the virtual functions,
   the table has one C function for all methods, which our runtime calls. */

#pragma once

#include "../head.h"
#include "reference.h"
#include "value.h"
#include "error.h"
#include "named_call.h"
#include "word.h"

/* The first member, named `base`, of a struct that TVMFFI_MODULE declares. */
typedef struct {
  TVMFFIObject base;
  TVMFFIObject *imports; /* owned; an Array of modules */
  TVMFFIObject *cache;   /* owned or NULL; of TVMFFIEnvModLookupFromImports */
} tvmffi_module;

/* A module object as C++ sees it. The vtable pointer precedes the header. */
typedef struct {
  const struct tvmffi_i_module_methods *methods; /* the C++ virtual functions */
  TVMFFIObject base;
  TVMFFIObject *imports;
  TVMFFIObject *cache;
} tvmffi_i_module;

TVMFFI_I_INLINE tvmffi_i_module *tvmffi_i_module_of(TVMFFIObjectHandle handle) {
  return (tvmffi_i_module *)(void *)((char *)handle -
                                     offsetof(tvmffi_i_module, base));
}

/* The methods of a module, in the order of ModuleObj's virtual functions,
   except that SaveToBytes is last. */
typedef enum {
  TVMFFI_I_METHOD_KIND,
  TVMFFI_I_METHOD_PROPERTY_MASK,
  TVMFFI_I_METHOD_GET_FUNCTION,
  TVMFFI_I_METHOD_IMPLEMENTS,
  TVMFFI_I_METHOD_DOC,
  TVMFFI_I_METHOD_METADATA,
  TVMFFI_I_METHOD_WRITE,
  TVMFFI_I_METHOD_WRITE_FORMATS,
  TVMFFI_I_METHOD_INSPECT,
  TVMFFI_I_METHOD_ADD_IMPORT,
  TVMFFI_I_METHOD_CLEAR_IMPORTS,
  TVMFFI_I_METHOD_SAVE
} tvmffi_i_module_method;

/* Calls `method` of the module `self`. `args` are up to two strings or a
   module, borrowed. *out is None before the call and owned afterwards, and
   stays None if there is no result. */
typedef int tvmffi_i_module_call(TVMFFIObject *self,
                                 tvmffi_i_module_method method,
                                 const TVMFFIAny *args, TVMFFIAny *out);

/* TVMFFI_I_CXX_METHODS is 1 if C functions can implement ModuleObj's virtual
   functions, which return a C++ object in the caller's memory. On x86-64, C can
   do likewise: this memory's address is the first argument and the return
   value. */
#if !defined(TVMFFI_I_CXX_METHODS)
#if defined(__x86_64__) && !defined(_WIN32) && TVMFFI_I_GNU
#define TVMFFI_I_CXX_METHODS 1
#else
#define TVMFFI_I_CXX_METHODS 0
#endif
#endif

/* TVMFFI_I_CXX_MODULES is 1 if upstream's library can call modules of this C
   file, else 0, as in the runtime's file or with TVMFFI_SHARE_INTERFACE. C++
   exceptions of methods pass through the C functions, which therefore need
   unwind tables. */
#if TVMFFI_I_CXX_METHODS &&                                          \
    (TVMFFI_DYNAMIC ||                                               \
     (!defined(TVMFFI_IMPLEMENTATION) && !TVMFFI_SHARE_INTERFACE)) && \
    (defined(__GCC_HAVE_DWARF2_CFI_ASM) || defined(__APPLE__))
#define TVMFFI_I_CXX_MODULES 1
#else
#define TVMFFI_I_CXX_MODULES 0
#endif

typedef struct tvmffi_i_module_methods {
  const char *(*kind)(tvmffi_i_module *m);
  int (*property_mask)(tvmffi_i_module *m);
  TVMFFIObject **(*get)(TVMFFIObject **out, tvmffi_i_module *m,
                        const TVMFFIAny *name);
  tvmffi_type_bool (*implements)(tvmffi_i_module *m, const TVMFFIAny *name);
  TVMFFIAny *(*doc)(TVMFFIAny *out, tvmffi_i_module *m, const TVMFFIAny *name);
  TVMFFIAny *(*metadata)(TVMFFIAny *out, tvmffi_i_module *m,
                         const TVMFFIAny *name);
  void (*write)(tvmffi_i_module *m, const TVMFFIAny *file,
                const TVMFFIAny *format);
  TVMFFIObject **(*write_formats)(TVMFFIObject **out, tvmffi_i_module *m);
  TVMFFIAny *(*save)(TVMFFIAny *out, tvmffi_i_module *m);
  TVMFFIAny *(*inspect)(TVMFFIAny *out, tvmffi_i_module *m,
                        const TVMFFIAny *format);
  void (*add_import)(tvmffi_i_module *m, TVMFFIObject *const *other);
  void (*clear_imports)(tvmffi_i_module *m);
} tvmffi_i_module_methods;

/* Stands in the place of a std::type_info and marks the table of a module
   written in C. In a real std::type_info, the first pointer is never NULL. */
typedef struct {
  const void *methods; /* NULL */
  const char *mark;
} tvmffi_i_module_type;
#define TVMFFI_I_MODULE_MARK "tvmffi.h module table 1"
TVMFFI_I_UNUSED static const tvmffi_i_module_type tvmffi_i_module_mark = {
    NULL, TVMFFI_I_MODULE_MARK};

/* The method table of a module written in C. The vtable pointer points to
   `methods`. */
typedef struct {
  ptrdiff_t offset_to_top;
  const tvmffi_i_module_type *type;
  tvmffi_i_module_methods methods;
  /* C++ does not read the members from here on. */
  const char *kind;
  int32_t mask;
  tvmffi_i_module_call *call;
  const void *items; /* only `call` reads it */
} tvmffi_i_module_table;

TVMFFI_I_INLINE const tvmffi_i_module_table *tvmffi_i_module_table_of(
    const tvmffi_i_module *m) {
  const char *methods = (const char *)m->methods;
  methods -= offsetof(tvmffi_i_module_table, methods);
  return (const tvmffi_i_module_table *)(const void *)methods;
}

/* These virtual functions work with every C++ ABI, because C and C++ return a
   pointer or an int alike. */
TVMFFI_I_INLINE const char *tvmffi_i_virtual_kind(tvmffi_i_module *m) {
  return tvmffi_i_module_table_of(m)->kind;
}
TVMFFI_I_INLINE int tvmffi_i_virtual_mask(tvmffi_i_module *m) {
  return tvmffi_i_module_table_of(m)->mask;
}

#if TVMFFI_I_CXX_MODULES
/* The state of tvmffi_i_throw. Owns its references. */
typedef struct {
  TVMFFIObject *error;
  TVMFFIAny callbacks, none;
  int code;
} tvmffi_i_thrown;

/* The callback that tvmffi_i_throw passes to ffi.StructuralWalk. Its error
   becomes a C++ exception, which skips the rest of tvmffi_i_throw. So the
   callback releases the walk's two array arguments; the walk has references of
   its own. */
TVMFFI_I_ONCE(int, tvmffi_i_throw_now,
              (void *self, const TVMFFIAny *args, int32_t n,
               TVMFFIAny *result)) {
  tvmffi_i_thrown *t = (tvmffi_i_thrown *)self;
  (void)args, (void)n, (void)result;
  tvmffi_i_any_release(&t->callbacks);
  tvmffi_i_any_release(&t->none);
  return t->error ? tvmffi_i_error_restore(t->error) : t->code;
}

/* Creates the arguments of ffi.StructuralWalk: the array t->callbacks,
   [[kTVMFFIInt, tvmffi_i_throw_now]], and the empty array t->none. */
TVMFFI_I_ONCE(int, tvmffi_i_throw_prepare, (tvmffi_i_thrown *t)) {
  TVMFFIAny pair[2], inner = tvmffi_none();
  TVMFFIObjectHandle function = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionCreate(t, tvmffi_i_throw_now, NULL, &function));
  pair[0] = tvmffi_int(kTVMFFIInt);
  pair[1] = tvmffi_obj(function);
  code = tvmffi_i_call_if_defined("ffi.Array", pair, 2, &inner) ||
         tvmffi_i_call_if_defined("ffi.Array", &inner, 1, &t->callbacks) ||
         tvmffi_i_call_if_defined("ffi.Array", NULL, 0, &t->none);
  tvmffi_i_release(function);
  tvmffi_i_any_release(&inner);
  if (code) tvmffi_i_any_release(&t->callbacks);
  return code;
}

/* Throws the pending error as upstream's C++ exception. C cannot throw, so
   calls the C++ function of ffi.StructuralWalk with a callback that fails with
   the error. The exception skips the rest of the C functions that it leaves, so
   these own nothing. If the runtime has no C++ function pointer or an
   allocation fails, returns with the error still pending. */
TVMFFI_I_ONCE(void, tvmffi_i_throw, (int code)) {
  typedef void cxx_call(const void *self, const TVMFFIAny *args, int32_t n,
                        TVMFFIAny *result);
  static const TVMFFIByteArray name = {"ffi.StructuralWalk", 18};
  TVMFFIAny args[4], result = tvmffi_none();
  TVMFFIObjectHandle walk = NULL;
  tvmffi_i_thrown t = {tvmffi_i_error_remove(), tvmffi_none(), tvmffi_none(),
                       code};
  void *call;
  if (TVMFFIFunctionGetGlobal(&name, &walk)) walk = NULL;
  call = walk ? TVMFFI_I_CELL(TVMFFIFunctionCell, walk)->cpp_call : NULL;
  tvmffi_i_release(walk); /* the global table still owns it */
  if (call && !tvmffi_i_throw_prepare(&t)) {
    args[0] = tvmffi_int(0);
    args[1] = t.callbacks;
    args[2] = t.none;
    args[3] = tvmffi_int(0);
    ((cxx_call *)(uintptr_t)call)(walk, args, 4, &result);
  }
  (void)tvmffi_i_error_restore(t.error);
}
#else
#define tvmffi_i_throw(code) ((void)(code))
#endif

#if TVMFFI_I_CXX_METHODS
/* Calls a method for a C++ virtual call. If the method fails, throws a C++
   exception. If C++ cannot throw here, returns None with the error pending. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_virtual(tvmffi_i_module *m,
                                           tvmffi_i_module_method method,
                                           const TVMFFIAny *args) {
  TVMFFIAny out = tvmffi_none();
  int code = tvmffi_i_module_table_of(m)->call(&m->base, method, args, &out);
  if (TVMFFI_I_UNLIKELY(code)) {
    out = tvmffi_none();
    tvmffi_i_throw(code);
  }
  return out;
}
TVMFFI_I_INLINE TVMFFIObject **tvmffi_i_virtual_get(TVMFFIObject **out,
                                                    tvmffi_i_module *m,
                                                    const TVMFFIAny *name) {
  *out = tvmffi_i_virtual(m, TVMFFI_I_METHOD_GET_FUNCTION, name).v_obj;
  return out;
}
TVMFFI_I_INLINE tvmffi_type_bool
tvmffi_i_virtual_implements(tvmffi_i_module *m, const TVMFFIAny *name) {
  return tvmffi_i_virtual(m, TVMFFI_I_METHOD_IMPLEMENTS, name).v_int64 != 0;
}
#define TVMFFI_I_VIRTUAL_TEXT(name, method)                            \
  TVMFFI_I_INLINE TVMFFIAny *tvmffi_i_virtual_##name(                  \
      TVMFFIAny *out, tvmffi_i_module *m, const TVMFFIAny *argument) { \
    *out = tvmffi_i_virtual(m, method, argument);                      \
    return out;                                                        \
  }
TVMFFI_I_VIRTUAL_TEXT(doc, TVMFFI_I_METHOD_DOC)
TVMFFI_I_VIRTUAL_TEXT(metadata, TVMFFI_I_METHOD_METADATA)
TVMFFI_I_VIRTUAL_TEXT(inspect, TVMFFI_I_METHOD_INSPECT)
TVMFFI_I_INLINE void tvmffi_i_virtual_write(tvmffi_i_module *m,
                                            const TVMFFIAny *file,
                                            const TVMFFIAny *format) {
  TVMFFIAny args[2];
  args[0] = *file;
  args[1] = *format;
  (void)tvmffi_i_virtual(m, TVMFFI_I_METHOD_WRITE, args);
}
TVMFFI_I_INLINE TVMFFIObject **tvmffi_i_virtual_write_formats(
    TVMFFIObject **out, tvmffi_i_module *m) {
  *out = tvmffi_i_virtual(m, TVMFFI_I_METHOD_WRITE_FORMATS, NULL).v_obj;
  return out;
}
/* Returns empty bytes on failure, because a C++ Bytes cannot be None. */
TVMFFI_I_INLINE TVMFFIAny *tvmffi_i_virtual_save(TVMFFIAny *out,
                                                 tvmffi_i_module *m) {
  *out = tvmffi_i_virtual(m, TVMFFI_I_METHOD_SAVE, NULL);
  if (out->type_index == kTVMFFINone) out->type_index = kTVMFFISmallBytes;
  return out;
}
TVMFFI_I_INLINE void tvmffi_i_virtual_add_import(tvmffi_i_module *m,
                                                 TVMFFIObject *const *other) {
  TVMFFIAny arg = tvmffi_obj(*other);
  (void)tvmffi_i_virtual(m, TVMFFI_I_METHOD_ADD_IMPORT, &arg);
}
TVMFFI_I_INLINE void tvmffi_i_virtual_clear_imports(tvmffi_i_module *m) {
  (void)tvmffi_i_virtual(m, TVMFFI_I_METHOD_CLEAR_IMPORTS, NULL);
}
#define TVMFFI_I_VIRTUAL(name) tvmffi_i_virtual_##name
#else
#define TVMFFI_I_VIRTUAL(name) NULL
#endif

/* clang-format off */
#define TVMFFI_I_MODULE_TABLE(kind, virtual_mask, mask, call, items) \
  {0, &tvmffi_i_module_mark, \
   {tvmffi_i_virtual_kind, virtual_mask, TVMFFI_I_VIRTUAL(get), \
    TVMFFI_I_VIRTUAL(implements), TVMFFI_I_VIRTUAL(doc), \
    TVMFFI_I_VIRTUAL(metadata), TVMFFI_I_VIRTUAL(write), \
    TVMFFI_I_VIRTUAL(write_formats), TVMFFI_I_VIRTUAL(save), \
    TVMFFI_I_VIRTUAL(inspect), TVMFFI_I_VIRTUAL(add_import), \
    TVMFFI_I_VIRTUAL(clear_imports)}, \
   kind, mask, call, items}
/* clang-format on */

#if TVMFFI_I_SHARES && !TVMFFI_DYNAMIC
/* The runtime's function, for the other files of the program. */
TVMFFI_I_SHARED(int, tvmffi_system_symbol, (TVMFFIByteArray name, void **out))
#endif
