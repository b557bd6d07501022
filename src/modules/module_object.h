/* ======== Modules: objects and their methods ====== >>modules/module_object */
/* A module is a C++ object with its vtable pointer before the object header.
   The runtime itself creates only library modules and calls their methods
   directly. Other modules made in C are called by one C function, C++ modules
   by the C++ ABI. A function owns its module, and a module owns its library, so
   a library is closed after its last function. The array of imports is
   replaced, never changed. The cache of found functions grows under the mutex,
   but is read without a lock. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "library.h"
#include "import.h"

#if !TVMFFI_NO_CONTAINERS
/* The property mask of a library module: kBinarySerializable and kRunnable. */
enum { TVMFFI_I_LIBRARY_MASK = 1 | 2 };

/* Calls any method of a library module that does not change imports. *out must
   be None, and stays None if the library has no function `name`. */
static int tvmffi_i_call_own(tvmffi_i_module *m, tvmffi_i_module_method method,
                             TVMFFIByteArray name, TVMFFIAny *out) {
  TVMFFIByteArray kind = {"library", 7}, none = {"", 0};
  void *address;
  TVMFFI_ASSERT(out->type_index == kTVMFFINone);
  switch (method) {
    case TVMFFI_I_METHOD_KIND: return TVMFFIStringFromByteArray(&kind, out);
    case TVMFFI_I_METHOD_PROPERTY_MASK:
      *out = tvmffi_int(TVMFFI_I_LIBRARY_MASK);
      return 0;
    case TVMFFI_I_METHOD_GET_FUNCTION:
      TVMFFI_TRY(tvmffi_i_module_symbol(m, "__tvm_ffi_", name, &address));
      return address ? tvmffi_i_library_function_of(m, address, out) : 0;
    case TVMFFI_I_METHOD_IMPLEMENTS:
      TVMFFI_TRY(tvmffi_i_module_symbol(m, "__tvm_ffi_", name, &address));
      *out = tvmffi_bool(address != NULL);
      return 0;
    case TVMFFI_I_METHOD_DOC:
      return tvmffi_i_library_text(m, "__tvm_ffi__doc_", name, out);
    case TVMFFI_I_METHOD_METADATA:
      return tvmffi_i_library_text(m, "__tvm_ffi__metadata_", name, out);
    case TVMFFI_I_METHOD_WRITE_FORMATS:
      return tvmffi_i_give_new(out, tvmffi_i_no_items());
    case TVMFFI_I_METHOD_INSPECT: return TVMFFIStringFromByteArray(&none, out);
    default: return tvmffi_i_library_refuses("WriteToFile");
  }
}

/* C and C++ call each other's modules by two macros. A build that contains C++
   (dropin/adapter.c) defines both macros itself.

   TVMFFI_I_LIBRARY_METHODS is the vtable of library modules. In a build with
   C++, the vtable's functions throw.

   TVMFFI_I_CALL_CXX(module, method, args, result) calls a virtual function and
   returns 0 or an error code. A build with C++ catches exceptions. `args`
   (borrowed) are two strings or a module. The caller owns *result. */
#ifndef TVMFFI_I_CALL_CXX
#if TVMFFI_I_CXX_METHODS
/* Calls a virtual function of a C++ module. The function must not throw: an
   exception would unwind C frames without releasing their objects. */
static int tvmffi_i_call_cxx(tvmffi_i_module *m, tvmffi_i_module_method method,
                             const TVMFFIAny *args, TVMFFIAny *out) {
  const tvmffi_i_module_methods *f = m->methods;
  TVMFFIObject *object = NULL;
  const char *kind;
  TVMFFIByteArray text;
  TVMFFI_ASSERT(out->type_index == kTVMFFINone && TVMFFI_I_IS_FREE);
  TVMFFI_ASSERT(method != TVMFFI_I_METHOD_SAVE); /* no function saves */
  switch (method) {
    case TVMFFI_I_METHOD_KIND:
      kind = f->kind(m);
      text = tvmffi_byte_array(kind ? kind : "");
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
    default: f->clear_imports(m); break;
  }
  return 0;
}
#else
TVMFFI_I_COLD int tvmffi_i_call_cxx(tvmffi_i_module *m,
                                    tvmffi_i_module_method method,
                                    const TVMFFIAny *args, TVMFFIAny *out) {
  (void)m, (void)method, (void)args, (void)out;
  return tvmffi_i_runtime_error(
      "A module that is made in C++ cannot be used from C on this machine");
}
#endif

/* Implements the methods of a library module. C++ code calls them through the
   vtable in tvmffi_i_library_table. */
static int tvmffi_i_library_method(TVMFFIObject *self,
                                   tvmffi_i_module_method method,
                                   const TVMFFIAny *args, TVMFFIAny *out) {
  tvmffi_i_module *m = tvmffi_i_module_of(self);
  TVMFFIByteArray none = {"", 0};
  TVMFFI_ASSERT(args || method != TVMFFI_I_METHOD_ADD_IMPORT);
  switch (method) {
    case TVMFFI_I_METHOD_ADD_IMPORT:
      return tvmffi_i_add_own_import(m, args[0].v_obj);
    case TVMFFI_I_METHOD_CLEAR_IMPORTS: return tvmffi_i_change_imports(m, NULL);
    case TVMFFI_I_METHOD_SAVE: return tvmffi_i_library_refuses("SaveToBytes");
    default:
      return tvmffi_i_call_own(m, method, args ? tvmffi_any_str(args) : none,
                               out);
  }
}

static const tvmffi_i_module_table tvmffi_i_library_table =
    TVMFFI_I_MODULE_TABLE("library", tvmffi_i_virtual_mask,
                          TVMFFI_I_LIBRARY_MASK, tvmffi_i_library_method, NULL);
#define TVMFFI_I_LIBRARY_METHODS (&tvmffi_i_library_table.methods)
#define TVMFFI_I_CALL_CXX(module, method, args, result) \
  tvmffi_i_call_cxx(module, method, args, result)
#endif

/* Returns the function that implements all methods of a module made in C, or
   NULL for a C++ module. Another file with this header may have made the
   module. */
TVMFFI_I_INLINE tvmffi_i_module_call *tvmffi_i_c_module_call(
    const tvmffi_i_module *m) {
  const tvmffi_i_module_table *table = tvmffi_i_module_table_of(m);
  const tvmffi_i_module_type *type = table->type;
  TVMFFI_ASSERT(tvmffi_is_instance(m->base.type_index, kTVMFFIModule));
  return type && !type->methods && type->mark &&
                 strcmp(type->mark, TVMFFI_I_MODULE_MARK) == 0
             ? table->call
             : NULL;
}

TVMFFI_I_INLINE int tvmffi_i_is_library(const tvmffi_i_module *m) {
  return m->methods == TVMFFI_I_LIBRARY_METHODS;
}

static void tvmffi_i_destroy_module(void *self, int flags) {
  tvmffi_i_module *m = tvmffi_i_module_of(self);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    TVMFFI_ASSERT(tvmffi_i_is_library(m));
    tvmffi_i_release(m->cache);
    tvmffi_i_release(m->imports);
    /* Release the library last, because the library may contain deleters of the
       other members. */
    tvmffi_i_release(((tvmffi_i_library_module *)(void *)m)->library);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmffi_i_free(m);
}
TVMFFI_I_DELETER(module)

/* Returns a module (owned) of a library (borrowed), or NULL with the error
   raised. */
static tvmffi_i_module *tvmffi_i_new_module(tvmffi_i_library *library) {
  tvmffi_i_library_module *m;
  TVMFFIObject *imports = tvmffi_i_no_items();
  if (!imports) return NULL;
  m = (tvmffi_i_library_module *)tvmffi_i_alloc(sizeof(*m));
  if (!m) {
    tvmffi_i_release(imports);
    (void)tvmffi_i_no_memory();
    return NULL;
  }
  memset((void *)m, 0, sizeof(*m));
  TVMFFI_ASSERT(library->base.deleter == tvmffi_i_delete_library);
  m->module.methods = TVMFFI_I_LIBRARY_METHODS;
  m->module.base.combined_ref_count = TVMFFI_I_BOTH_ONE;
  m->module.base.type_index = kTVMFFIModule;
  m->module.base.deleter = tvmffi_i_delete_module;
  m->module.imports = imports;
  m->library = library;
  tvmffi_i_retain(&library->base);
  return &m->module;
}

/* Calls a method of any module with the strings `a` and `b`. The caller owns
   *out. */
static int tvmffi_i_call_method(tvmffi_i_module *m,
                                tvmffi_i_module_method method,
                                TVMFFIByteArray a, TVMFFIByteArray b,
                                TVMFFIAny *out) {
  TVMFFIAny args[2];
  int code;
  TVMFFI_ASSERT(method != TVMFFI_I_METHOD_ADD_IMPORT && a.data && b.data);
  *out = args[1] = tvmffi_none();
  if (tvmffi_i_is_library(m)) return tvmffi_i_call_own(m, method, a, out);
  TVMFFI_TRY(TVMFFIStringFromByteArray(&a, &args[0]));
  code = TVMFFIStringFromByteArray(&b, &args[1]);
  if (!code) {
    tvmffi_i_module_call *call = tvmffi_i_c_module_call(m);
    code = call ? call(&m->base, method, args, out)
                : TVMFFI_I_CALL_CXX(m, method, args, out);
  }
  tvmffi_i_any_release(&args[0]);
  tvmffi_i_any_release(&args[1]);
  return code ? tvmffi_i_need_error(code, "A module's method") : 0;
}

static int tvmffi_i_add_import(tvmffi_i_module *m, TVMFFIObject *other) {
  TVMFFIAny args[2], none = tvmffi_none();
  TVMFFI_ASSERT(tvmffi_is_instance(other->type_index, kTVMFFIModule));
  if (tvmffi_i_is_library(m) || tvmffi_i_c_module_call(m))
    return tvmffi_i_add_own_import(m, other);
  args[0] = tvmffi_obj(other);
  args[1] = tvmffi_none();
  return TVMFFI_I_CALL_CXX(m, TVMFFI_I_METHOD_ADD_IMPORT, args, &none);
}

static int tvmffi_i_clear_imports(tvmffi_i_module *m) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIAny value;
  if (tvmffi_i_is_library(m) || tvmffi_i_c_module_call(m))
    return tvmffi_i_change_imports(m, NULL);
  return tvmffi_i_call_method(m, TVMFFI_I_METHOD_CLEAR_IMPORTS, none, none,
                              &value);
}

typedef struct {
  TVMFFIByteArray name;
  tvmffi_i_module_method method;
  TVMFFIAny value; /* owned; None or false if no module knows the name */
} tvmffi_i_search;

/* Asks a module by s->method for s->name. Returns 1 if the module knows the
   name, 0 if not, or a negative error code. */
static int tvmffi_i_search_module(tvmffi_i_module *m, void *search) {
  tvmffi_i_search *s = (tvmffi_i_search *)search;
  TVMFFIByteArray none = {"", 0};
  TVMFFI_ASSERT(s->value.type_index < kTVMFFIStaticObjectBegin);
  TVMFFI_TRY(tvmffi_i_call_method(m, s->method, s->name, none, &s->value));
  return s->value.type_index == kTVMFFIBool
             ? s->value.v_int64 != 0
             : s->value.type_index != kTVMFFINone;
}

/* Calls `method` with `name` on a module. If `imports` is not 0, then tries all
   imports until a module has the name. *out (owned) is None or false if no
   module has the name. */
static int tvmffi_i_search_modules(TVMFFIObject *module,
                                   tvmffi_i_module_method method,
                                   TVMFFIByteArray name, int imports,
                                   TVMFFIAny *out) {
  tvmffi_i_module *m = tvmffi_i_module_of(module);
  tvmffi_i_search s;
  int code;
  s.name = name;
  s.method = method;
  s.value = tvmffi_none();
  code = tvmffi_i_search_module(m, &s);
  if (!code && imports)
    code = tvmffi_i_visit_imports(m, tvmffi_i_search_module, &s);
  TVMFFI_ASSERT(code <= 1);
  *out = s.value;
  return code < 0 ? code : 0;
}

/* Calls the global function `head` + `kind` and sets *out to the module (owned)
   that the function returns. If the function is missing, raises an error with
   the message texts[0] + kind + texts[1] + function name + texts[2]. */
static int tvmffi_i_call_loader(const char *head, TVMFFIByteArray kind,
                                const char *const *texts, TVMFFIAny *args,
                                int32_t num_args, TVMFFIObject **out) {
  TVMFFIByteArray name = tvmffi_byte_array(head), none = {"", 0};
  TVMFFIObjectHandle loader = NULL;
  TVMFFIAny result = tvmffi_none();
  const char *parts[5];
  int code;
  char *text;
  TVMFFI_ASSERT(!*out && kind.size < PTRDIFF_MAX - name.size);
  text = (char *)tvmffi_i_alloc(name.size + kind.size + 1);
  if (!text) return tvmffi_i_no_memory();
  parts[0] = texts[0];
  parts[1] = text + name.size;
  parts[2] = texts[1];
  parts[3] = text;
  parts[4] = texts[2];
  name.size = tvmffi_i_join(text, name, kind, none);
  name.data = text;
  TVMFFI_ASSERT(parts[1] + kind.size == text + name.size);
  code = TVMFFIFunctionGetGlobal(&name, &loader);
  if (!code && !loader) {
    TVMFFIErrorSetRaisedFromCStrParts("RuntimeError", parts, 5);
    code = -1;
  }
  tvmffi_i_free(text);
  if (code) return code;
  code = tvmffi_i_call_nested(loader, args, num_args, &result);
  tvmffi_i_release(loader);
  if (code) return code;
  if (result.type_index != kTVMFFIModule || !result.v_obj)
    return tvmffi_i_refuse_owned(&result, "ffi.Module");
  *out = result.v_obj;
  return 0;
}
#endif
