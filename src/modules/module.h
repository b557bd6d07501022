/* ======== Modules: module objects and their methods ===== >>modules/module */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/mismatch.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../core/raise.h"
#include "../core/object.h"
#include "library.h"
#include "import.h"

#if !TVMFFI_NO_CONTAINERS
/* What the library asks of a module: ModuleObj's virtual functions in the order
   of upstream's module.h, but for the one that saves to bytes. */
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
  TVMFFI_I_METHOD_CLEAR_IMPORTS
} tvmffi_i_module_method;

/* What a library can do: be serialised, as a part of a file, and run. */
enum { TVMFFI_I_LIBRARY_MASK = 1 | 2 };

/* How C and C++ call each other's modules. A library with C++ in it defines
   both macros (dropin/adapter.c): the table of its modules, whose functions
   throw, and TVMFFI_I_CALL_CXX(module, method, args, result), which calls a
   virtual function, catches what it throws, and gives a code. The two
   arguments are strings or a module, borrowed; the result is owned. */
#ifndef TVMFFI_I_CALL_CXX

/* In plain C: a String, Bytes or Optional<String> is one Any, a reference one
   pointer; both return through memory of the caller, to which the pointer
   comes first and goes back: that a C function can say on x86-64, but not on
   every machine. */
#if defined(__x86_64__) && !defined(_WIN32) && TVMFFI_I_GNU
#define TVMFFI_I_CXX_METHODS 1
#else
#define TVMFFI_I_CXX_METHODS 0
#endif

typedef struct tvmffi_i_module_methods {
  const char *(*kind)(const tvmffi_i_module *m);
  int (*property_mask)(const tvmffi_i_module *m);
  TVMFFIObject **(*get)(TVMFFIObject **out, tvmffi_i_module *m,
                        const TVMFFIAny *name);
  tvmffi_type_bool (*implements)(tvmffi_i_module *m, const TVMFFIAny *name);
  TVMFFIAny *(*doc)(TVMFFIAny *out, tvmffi_i_module *m, const TVMFFIAny *name);
  TVMFFIAny *(*metadata)(TVMFFIAny *out, tvmffi_i_module *m,
                         const TVMFFIAny *name);
  void (*write)(const tvmffi_i_module *m, const TVMFFIAny *file,
                const TVMFFIAny *format);
  TVMFFIObject **(*write_formats)(TVMFFIObject **out, const tvmffi_i_module *m);
  TVMFFIAny *(*save)(TVMFFIAny *out, const tvmffi_i_module *m);
  TVMFFIAny *(*inspect)(TVMFFIAny *out, const tvmffi_i_module *m,
                        const TVMFFIAny *format);
  void (*add_import)(tvmffi_i_module *m, TVMFFIObject *const *other);
  void (*clear_imports)(tvmffi_i_module *m);
} tvmffi_i_module_methods;

/* C++ calls these. They cannot throw: one that fails gives the empty value and
   leaves its error in the slot. */
static const char *tvmffi_i_cxx_kind(const tvmffi_i_module *m) {
  (void)m;
  return "library";
}
static int tvmffi_i_cxx_property_mask(const tvmffi_i_module *m) {
  (void)m;
  return TVMFFI_I_LIBRARY_MASK;
}

#if TVMFFI_I_CXX_METHODS
static TVMFFIObject **tvmffi_i_cxx_get(TVMFFIObject **out, tvmffi_i_module *m,
                                       const TVMFFIAny *name) {
  (void)tvmffi_i_library_get(m, tvmffi_any_str(name), out);
  return out;
}
static tvmffi_type_bool tvmffi_i_cxx_implements(tvmffi_i_module *m,
                                                const TVMFFIAny *name) {
  int has = 0;
  (void)tvmffi_i_library_has(m, tvmffi_any_str(name), &has);
  return has != 0;
}
static TVMFFIAny *tvmffi_i_cxx_doc(TVMFFIAny *out, tvmffi_i_module *m,
                                   const TVMFFIAny *name) {
  (void)tvmffi_i_library_text(m, "__tvm_ffi__doc_", tvmffi_any_str(name), out);
  return out;
}
static TVMFFIAny *tvmffi_i_cxx_metadata(TVMFFIAny *out, tvmffi_i_module *m,
                                        const TVMFFIAny *name) {
  (void)tvmffi_i_library_text(m, "__tvm_ffi__metadata_", tvmffi_any_str(name),
                              out);
  return out;
}
static void tvmffi_i_cxx_write(const tvmffi_i_module *m, const TVMFFIAny *file,
                               const TVMFFIAny *format) {
  (void)m, (void)file, (void)format;
  (void)tvmffi_i_library_refuses("WriteToFile");
}
static TVMFFIObject **tvmffi_i_cxx_write_formats(TVMFFIObject **out,
                                                 const tvmffi_i_module *m) {
  (void)m;
  *out = tvmffi_i_no_items();
  return out;
}
static TVMFFIAny *tvmffi_i_cxx_save(TVMFFIAny *out, const tvmffi_i_module *m) {
  TVMFFIByteArray none = {"", 0};
  (void)m;
  (void)tvmffi_i_library_refuses("SaveToBytes");
  (void)TVMFFIBytesFromByteArray(&none, out);
  return out;
}
static TVMFFIAny *tvmffi_i_cxx_inspect(TVMFFIAny *out, const tvmffi_i_module *m,
                                       const TVMFFIAny *format) {
  TVMFFIByteArray none = {"", 0};
  (void)m, (void)format;
  (void)TVMFFIStringFromByteArray(&none, out);
  return out;
}
static void tvmffi_i_cxx_add_import(tvmffi_i_module *m,
                                    TVMFFIObject *const *other) {
  (void)tvmffi_i_add_own_import(m, *other);
}
static void tvmffi_i_cxx_clear_imports(tvmffi_i_module *m) {
  (void)tvmffi_i_clear_own_imports(m);
}

/* An exception must not leave the method: it would go through these frames of C
   as if they were not there, and what they own would never be released. */
static int tvmffi_i_call_cxx(tvmffi_i_module *m, tvmffi_i_module_method method,
                             const TVMFFIAny *args, TVMFFIAny *out) {
  const tvmffi_i_module_methods *f = m->methods;
  TVMFFIObject *object = NULL;
  const char *kind;
  TVMFFIByteArray text;
  switch (method) {
    case TVMFFI_I_METHOD_KIND:
      kind = f->kind(m);
      text = tvmffi_view(kind ? kind : "");
      return TVMFFIStringFromByteArray(&text, out);
    case TVMFFI_I_METHOD_PROPERTY_MASK:
      *out = tvmffi_int(f->property_mask(m));
      break;
    case TVMFFI_I_METHOD_GET_FUNCTION:
      *out = tvmffi_obj(*f->get(&object, m, args));
      break;
    case TVMFFI_I_METHOD_IMPLEMENTS:
      *out = tvmffi_bool(f->implements(m, args));
      break;
    case TVMFFI_I_METHOD_DOC: (void)f->doc(out, m, args); break;
    case TVMFFI_I_METHOD_METADATA: (void)f->metadata(out, m, args); break;
    case TVMFFI_I_METHOD_WRITE: f->write(m, &args[0], &args[1]); break;
    case TVMFFI_I_METHOD_WRITE_FORMATS:
      *out = tvmffi_obj(*f->write_formats(&object, m));
      break;
    case TVMFFI_I_METHOD_INSPECT: (void)f->inspect(out, m, args); break;
    case TVMFFI_I_METHOD_ADD_IMPORT: f->add_import(m, &args[0].v_obj); break;
    case TVMFFI_I_METHOD_CLEAR_IMPORTS: f->clear_imports(m); break;
  }
  return 0;
}
#define TVMFFI_I_CXX(method) tvmffi_i_cxx_##method
#else
TVMFFI_I_COLD int tvmffi_i_call_cxx(tvmffi_i_module *m,
                                    tvmffi_i_module_method method,
                                    const TVMFFIAny *args, TVMFFIAny *out) {
  (void)m, (void)method, (void)args, (void)out;
  return tvmffi_i_fail("RuntimeError",
                       "A module that is made in C++ cannot be used from C on "
                       "this machine");
}
#define TVMFFI_I_CXX(method) NULL
#endif

/* The table of the C++ ABI: what a pointer to it points to is `methods`. */
static const struct {
  ptrdiff_t offset_to_top;
  const void *type_info;
  tvmffi_i_module_methods methods;
} tvmffi_i_library_table = {
    0,
    NULL,
    {tvmffi_i_cxx_kind, tvmffi_i_cxx_property_mask, TVMFFI_I_CXX(get),
     TVMFFI_I_CXX(implements), TVMFFI_I_CXX(doc), TVMFFI_I_CXX(metadata),
     TVMFFI_I_CXX(write), TVMFFI_I_CXX(write_formats), TVMFFI_I_CXX(save),
     TVMFFI_I_CXX(inspect), TVMFFI_I_CXX(add_import),
     TVMFFI_I_CXX(clear_imports)}};
#define TVMFFI_I_LIBRARY_METHODS (&tvmffi_i_library_table.methods)
#define TVMFFI_I_CALL_CXX(module, method, args, result) \
  tvmffi_i_call_cxx(module, method, args, result)
#endif

TVMFFI_I_INLINE int tvmffi_i_is_library(const tvmffi_i_module *m) {
  return m->methods == TVMFFI_I_LIBRARY_METHODS;
}

static void tvmffi_i_destroy_module(void *self, int flags) {
  tvmffi_i_module *m = tvmffi_i_module_of(self);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_release(m->cache);
    tvmffi_release(m->imports);
    /* Last, as the code of the others may be in it. */
    tvmffi_release(((tvmffi_i_library_module *)(void *)m)->library);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmffi_i_free(m);
}

static void tvmffi_i_delete_module(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_module,
                   tvmffi_i_delete_module);
}

/* A module of a library, borrowed, without imports. */
static tvmffi_i_module *tvmffi_i_new_module(tvmffi_i_library *library) {
  tvmffi_i_library_module *m;
  TVMFFIObject *imports = tvmffi_i_no_items();
  if (!imports) return NULL;
  m = (tvmffi_i_library_module *)tvmffi_i_alloc(sizeof(*m));
  if (!m) {
    tvmffi_release(imports);
    (void)tvmffi_i_no_memory();
    return NULL;
  }
  memset((void *)m, 0, sizeof(*m));
  m->module.methods = TVMFFI_I_LIBRARY_METHODS;
  m->module.base.combined_ref_count = TVMFFI_I_BOTH_ONE;
  m->module.base.type_index = kTVMFFIModule;
  m->module.base.deleter = tvmffi_i_delete_module;
  m->module.imports = imports;
  m->library = library;
  tvmffi_retain(&library->base);
  return &m->module;
}

/* The methods of a library; imports are changed by the functions above. */
static int tvmffi_i_call_own(tvmffi_i_module *m, tvmffi_i_module_method method,
                             TVMFFIByteArray name, TVMFFIAny *out) {
  TVMFFIByteArray kind = {"library", 7}, none = {"", 0};
  TVMFFIObject *object;
  int has = 0;
  switch (method) {
    case TVMFFI_I_METHOD_KIND: return TVMFFIStringFromByteArray(&kind, out);
    case TVMFFI_I_METHOD_PROPERTY_MASK:
      *out = tvmffi_int(TVMFFI_I_LIBRARY_MASK);
      return 0;
    case TVMFFI_I_METHOD_GET_FUNCTION:
      TVMFFI_TRY(tvmffi_i_library_get(m, name, &object));
      *out = tvmffi_obj(object);
      return 0;
    case TVMFFI_I_METHOD_IMPLEMENTS:
      TVMFFI_TRY(tvmffi_i_library_has(m, name, &has));
      *out = tvmffi_bool(has);
      return 0;
    case TVMFFI_I_METHOD_DOC:
      return tvmffi_i_library_text(m, "__tvm_ffi__doc_", name, out);
    case TVMFFI_I_METHOD_METADATA:
      return tvmffi_i_library_text(m, "__tvm_ffi__metadata_", name, out);
    case TVMFFI_I_METHOD_WRITE_FORMATS:
      object = tvmffi_i_no_items();
      *out = tvmffi_obj(object);
      return object ? 0 : -1;
    case TVMFFI_I_METHOD_INSPECT: return TVMFFIStringFromByteArray(&none, out);
    default: return tvmffi_i_library_refuses("WriteToFile");
  }
}

/* Calls a method of any module with up to two strings. *out gets an owned
   value, or None. */
static int tvmffi_i_call_method(tvmffi_i_module *m,
                                tvmffi_i_module_method method,
                                TVMFFIByteArray a, TVMFFIByteArray b,
                                TVMFFIAny *out) {
  TVMFFIAny args[2];
  int code;
  *out = tvmffi_none();
  if (tvmffi_i_is_library(m)) return tvmffi_i_call_own(m, method, a, out);
  TVMFFI_TRY(TVMFFIStringFromByteArray(&a, &args[0]));
  code = TVMFFIStringFromByteArray(&b, &args[1]);
  if (!code) code = TVMFFI_I_CALL_CXX(m, method, args, out);
  tvmffi_any_release(&args[0]);
  tvmffi_any_release(&args[1]);
  return code;
}

/* Imports a module, borrowed. */
static int tvmffi_i_add_import(tvmffi_i_module *m, TVMFFIObject *other) {
  TVMFFIAny args[2], none = tvmffi_none();
  if (tvmffi_i_is_library(m)) return tvmffi_i_add_own_import(m, other);
  args[0] = tvmffi_obj(other);
  args[1] = tvmffi_none();
  return TVMFFI_I_CALL_CXX(m, TVMFFI_I_METHOD_ADD_IMPORT, args, &none);
}

static int tvmffi_i_clear_imports(tvmffi_i_module *m) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIAny value;
  if (tvmffi_i_is_library(m)) return tvmffi_i_clear_own_imports(m);
  return tvmffi_i_call_method(m, TVMFFI_I_METHOD_CLEAR_IMPORTS, none, none,
                              &value);
}

/* What is looked for in a module and its imports. */
typedef struct {
  TVMFFIByteArray name;
  tvmffi_i_module_method method;
  TVMFFIAny value; /* owned; None, or false: not found */
} tvmffi_i_search;

static int tvmffi_i_search_module(tvmffi_i_module *m, void *search) {
  tvmffi_i_search *s = (tvmffi_i_search *)search;
  TVMFFIByteArray none = {"", 0};
  TVMFFI_TRY(tvmffi_i_call_method(m, s->method, s->name, none, &s->value));
  return s->value.type_index == kTVMFFIBool
             ? s->value.v_int64 != 0
             : s->value.type_index != kTVMFFINone;
}

/* Searches a module, and, if `imports`, what it imports; *out gets an owned
   value, or None, or false. */
static int tvmffi_i_search_modules(TVMFFIObject *module,
                                   tvmffi_i_module_method method,
                                   TVMFFIByteArray name, int imports,
                                   TVMFFIAny *out) {
  tvmffi_i_module *m = tvmffi_i_module_of(module);
  tvmffi_i_search s;
  int code;
  s.name = name;
  s.method = method;
  code = tvmffi_i_search_module(m, &s);
  if (!code && imports)
    code = tvmffi_i_walk_imports(m, tvmffi_i_search_module, &s);
  *out = s.value;
  return code < 0 ? code : 0;
}

static int tvmffi_i_search_imports(tvmffi_i_module *m, TVMFFIByteArray name,
                                   TVMFFIObject **out) {
  tvmffi_i_search s;
  int code;
  s.name = name;
  s.method = TVMFFI_I_METHOD_GET_FUNCTION;
  s.value = tvmffi_none();
  code = tvmffi_i_walk_imports(m, tvmffi_i_search_module, &s);
  *out = s.value.type_index == kTVMFFINone ? NULL : s.value.v_obj;
  return code < 0 ? code : 0;
}

/* Calls a loader, a global function, which must give a module. NULL in *out:
   there is no such function. */
static int tvmffi_i_call_loader(TVMFFIByteArray name, TVMFFIAny *args,
                                int32_t num_args, TVMFFIObject **out) {
  TVMFFIObjectHandle loader = NULL;
  TVMFFIAny result = tvmffi_none();
  int32_t index;
  int code;
  *out = NULL;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &loader));
  if (!loader) return 0;
  code = TVMFFIFunctionCall(loader, args, num_args, &result);
  tvmffi_release(loader);
  if (code) return code;
  index = result.type_index;
  if (index == kTVMFFIModule) {
    *out = result.v_obj;
    return 0;
  }
  tvmffi_any_release(&result);
  return tvmffi_i_fail("TypeError",
                       "Cannot convert from type `%s` to `ffi.Module`",
                       tvmffi_i_type_key(index));
}
#endif
