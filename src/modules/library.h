/* ======== Libraries ======================================= >>modules/library
   dynamic libraries and their functions */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "named_symbol.h"

TVMFFI_I_AT3(tvmffi_i_module, base, 8, 8, 4);
TVMFFI_I_AT3(tvmffi_i_module, imports, 32, 32, 28);
TVMFFI_I_AT3(tvmffi_i_module, cache, 40, 36, 32);
TVMFFI_I_SIZE3(tvmffi_i_module, 48, 40, 36);

#if !TVMFFI_NO_CONTAINERS
/* An open dynamic library, or the system library. The system library consists
   of functions linked into the process. Only the system library has a
   prefix. */
typedef struct {
  TVMFFIObject base;
  void *handle; /* from dlopen; NULL for the system library */
  TVMFFIByteArray prefix;
} tvmffi_i_library;

typedef struct {
  tvmffi_i_module module;
  tvmffi_i_library *library; /* owned */
} tvmffi_i_library_module;

#if TVMFFI_NO_DLOPEN
static int tvmffi_i_dlopen(TVMFFIByteArray path, void **out) {
  (void)path, (void)out;
  return tvmffi_i_runtime_error(
      "This runtime was built without dlopen, so it cannot load libraries");
}
static void *tvmffi_i_dlsym(void *handle, const char *name) {
  (void)handle, (void)name;
  return NULL;
}
static void tvmffi_i_dlclose(void *handle) { (void)handle; }
#elif defined(_WIN32)
TVMFFI_I_EXTERN_C int tvmffi_i_widen(unsigned page, uint32_t flags,
                                     const char *text, int size, uint16_t *wide,
                                     int room)
    TVMFFI_I_KERNEL32(MultiByteToWideChar, 24);
TVMFFI_I_EXTERN_C void *tvmffi_i_load_file(const uint16_t *path)
    TVMFFI_I_KERNEL32(LoadLibraryW, 4);
TVMFFI_I_EXTERN_C int tvmffi_i_free_library(void *handle)
    TVMFFI_I_KERNEL32(FreeLibrary, 4);
TVMFFI_I_EXTERN_C void *tvmffi_i_dlsym(void *handle, const char *name)
    TVMFFI_I_KERNEL32(GetProcAddress, 8);

/* Converts the path from UTF-8 (code page 65001) to UTF-16, which needs at most
   one 16-bit unit for each byte of UTF-8. */
static int tvmffi_i_dlopen(TVMFFIByteArray path, void **out) {
  const char *parts[2];
  int size = path.size < 32767 ? (int)path.size + 1 : 1; /* maximum length */
  uint16_t *wide = (uint16_t *)tvmffi_i_alloc((size_t)size * sizeof(*wide));
  if (!wide) return tvmffi_i_no_memory();
  *out = NULL;
  if (size > 1 && tvmffi_i_widen(65001, 0, path.data, size, wide, size))
    *out = tvmffi_i_load_file(wide);
  tvmffi_i_free(wide);
  if (*out) return 0;
  parts[0] = "Failed to load dynamic shared library ";
  parts[1] = path.data;
  TVMFFIErrorSetRaisedFromCStrParts("InternalError", parts, 2);
  return -1;
}
static void tvmffi_i_dlclose(void *handle) {
  (void)tvmffi_i_free_library(handle);
}
#else
#include <dlfcn.h>
#define TVMFFI_I_TOO_NEW                                                  \
  ". The library needs a newer version of the TVM FFI ABI than this "     \
  "runtime's, " TVMFFI_I_QUOTE(TVM_FFI_VERSION_MAJOR) "." TVMFFI_I_QUOTE( \
      TVM_FFI_VERSION_MINOR) "." TVMFFI_I_QUOTE(TVM_FFI_VERSION_PATCH)

/* Raises dlerror's error, whose text ends with `hint`. Returns -1. Copies the
   text, because the next call of the loader frees it, and the names of C++
   functions in the error's trace take such calls. */
TVMFFI_I_COLD int tvmffi_i_not_loaded(TVMFFIByteArray path, const char *reason,
                                      const char *hint) {
  const size_t size = strlen(reason) + 1;
  char *copy = (char *)tvmffi_i_alloc(size);
  const char *parts[5];
  if (!copy) return tvmffi_i_no_memory();
  memcpy(copy, reason, size);
  parts[0] = "Failed to load dynamic shared library ";
  parts[1] = path.data;
  parts[2] = " ";
  parts[3] = copy;
  parts[4] = hint;
  TVMFFIErrorSetRaisedFromCStrParts("InternalError", parts, 5);
  tvmffi_i_free(copy);
  return -1;
}

#define TVMFFI_I_NOT_EXPORTED                                                  \
  "this program does not export its runtime: link the program with -rdynamic " \
  "(CMake: ENABLE_EXPORTS), and without -static and -Wl,--exclude-libs, or "   \
  "with the shared library"

/* Returns whether a loaded library is linked with another runtime than this
   one. */
static int tvmffi_i_has_other_runtime(void *handle) {
  const void *theirs = dlsym(handle, "TVMFFIGetVersion");
  return theirs && theirs != (const void *)(uintptr_t)TVMFFIGetVersion;
}

/* Binds all functions at once, so that a missing function of the ABI is an
   error here. Lazy binding would end the process at the function's first call.
   Binds lazily, as upstream's library does, if another function is missing.
   If the process exports no runtime, a library may not bring its own one
   either: a failing function would raise its error there, and this runtime
   would not know the types that it registers. glibc's text ends with
   ": undefined symbol: NAME", musl's with ": NAME: symbol not found". The names
   of upstream's C++ functions contain "N3tvm3ffi". */
static int tvmffi_i_dlopen(TVMFFIByteArray path, void **out) {
  const int is_exported =
      dlsym(dlopen(NULL, RTLD_LAZY), "TVMFFIGetVersion") != NULL;
  const char *reason;
  TVMFFI_ASSERT(path.data && path.data[path.size] == 0);
  *out = dlopen(path.data, RTLD_NOW | RTLD_LOCAL);
  if (!*out) {
    reason = dlerror();
    if (strstr(reason, ": TVMFFI") ||
        (!is_exported && strstr(reason, "N3tvm3ffi")))
      return tvmffi_i_not_loaded(
          path, reason,
          is_exported ? TVMFFI_I_TOO_NEW
                      : ". The library needs the runtime of its process, but "
                        TVMFFI_I_NOT_EXPORTED);
    *out = dlopen(path.data, RTLD_LAZY | RTLD_LOCAL);
    if (!*out) return tvmffi_i_not_loaded(path, dlerror(), "");
  }
  if (is_exported || !tvmffi_i_has_other_runtime(*out)) return 0;
  (void)dlclose(*out);
  *out = NULL;
  return tvmffi_i_not_loaded(
      path, "", "The library is linked with another runtime, but "
      TVMFFI_I_NOT_EXPORTED);
}
#define tvmffi_i_dlsym dlsym
static void tvmffi_i_dlclose(void *handle) { (void)dlclose(handle); }
#endif

static void tvmffi_i_destroy_library(void *self, int flags) {
  tvmffi_i_library *l = (tvmffi_i_library *)self;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && l->handle)
    tvmffi_i_dlclose(l->handle);
  tvmffi_i_delete_plain(self, flags);
}
TVMFFI_I_DELETER(library)

/* Returns a library that owns `handle` (NULL for the system library) and a copy
   of `prefix`, or NULL with the error raised. */
static tvmffi_i_library *tvmffi_i_new_library(void *handle,
                                              TVMFFIByteArray prefix) {
  char *text;
  tvmffi_i_library *l = (tvmffi_i_library *)tvmffi_i_object(
      sizeof(*l) + prefix.size, kTVMFFIObject, tvmffi_i_delete_library);
  if (!l) return l;
  TVMFFI_ASSERT(!handle || !prefix.size);
  text = (char *)(void *)(l + 1);
  if (prefix.size) memcpy(text, prefix.data, prefix.size);
  l->handle = handle;
  l->prefix.data = text;
  l->prefix.size = prefix.size;
  return l;
}

/* Writes a, b, c and a NUL to `to`. Returns the size without the NUL. */
static size_t tvmffi_i_join(char *to, TVMFFIByteArray a, TVMFFIByteArray b,
                            TVMFFIByteArray c) {
  TVMFFI_ASSERT(to);
  if (a.size) memcpy(to, a.data, a.size);
  if (b.size) memcpy(to + a.size, b.data, b.size);
  if (c.size) memcpy(to + a.size + b.size, c.data, c.size);
  to[a.size + b.size + c.size] = 0;
  return a.size + b.size + c.size;
}

/* Sets *out to the address of the symbol `head` + `name`, or NULL if the symbol
   does not exist. In the system library, first tries `head` + prefix + `name`
   for a function, or prefix + `head` + `name` for another symbol. */
static int tvmffi_i_find_symbol(const tvmffi_i_library *l, const char *head,
                                TVMFFIByteArray name, void **out) {
  static const char function[] = "__tvm_ffi_";
  TVMFFIByteArray first = tvmffi_byte_array(head), none = {"", 0}, text;
  char buffer[256], *key = buffer;
  size_t size = first.size + l->prefix.size + name.size + 1;
  TVMFFI_ASSERT(!l->handle || !l->prefix.size);
  if (size > sizeof(buffer)) key = (char *)tvmffi_i_alloc(size);
  if (!key) return tvmffi_i_no_memory();
  text.data = key;
  *out = NULL;
  if (!l->handle && l->prefix.size) {
    text.size = strcmp(head, function) == 0
                    ? tvmffi_i_join(key, first, l->prefix, name)
                    : tvmffi_i_join(key, l->prefix, first, name);
    TVMFFI_ASSERT(text.size < size);
    (void)tvmffi_system_symbol(text, out);
  }
  if (!*out) {
    text.size = tvmffi_i_join(key, first, name, none);
    TVMFFI_ASSERT(text.size < size);
    if (l->handle)
      *out = tvmffi_i_dlsym(l->handle, key);
    else
      (void)tvmffi_system_symbol(text, out);
  }
  if (key != buffer) tvmffi_i_free(key);
  return 0;
}

typedef struct {
  tvmffi_i_function_object function;
  TVMFFISafeCallType call;
  TVMFFIObject *module; /* owned */
} tvmffi_i_library_function;

static int tvmffi_i_call_library(void *handle, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_library_function *f = (tvmffi_i_library_function *)handle;
  TVMFFI_ASSERT((uint32_t)tvmffi_i_load64(&f->module->combined_ref_count) > 0);
  return f->call(NULL, args, num_args, result);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_library_function(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong)
    tvmffi_i_release(((tvmffi_i_library_function *)self)->module);
  tvmffi_i_delete_plain(self, flags);
}
TVMFFI_I_DELETER(library_function)

static int tvmffi_i_library_function_of(tvmffi_i_module *m, void *address,
                                        TVMFFIAny *out) {
  tvmffi_i_library_function *f = (tvmffi_i_library_function *)tvmffi_i_object(
      sizeof(*f), kTVMFFIFunction, tvmffi_i_delete_library_function);
  if (!f) return -1;
  TVMFFI_ASSERT(address && m->base.type_index == kTVMFFIModule);
  f->function.cell.safe_call = tvmffi_i_call_library;
  f->function.cell.cpp_call = NULL;
  f->call = (TVMFFISafeCallType)(uintptr_t)address;
  f->module = &m->base;
  tvmffi_i_retain(&m->base);
  return tvmffi_i_give_new(out, f);
}

static int tvmffi_i_module_symbol(const tvmffi_i_module *m, const char *head,
                                  TVMFFIByteArray name, void **out) {
  tvmffi_i_library *l =
      ((const tvmffi_i_library_module *)(const void *)m)->library;
  TVMFFI_ASSERT((uint32_t)tvmffi_i_load64(&l->base.combined_ref_count) > 0);
  return tvmffi_i_find_symbol(l, head, name, out);
}

/* Releases a value of the wrong type, then raises a TypeError. In the other
   order, the value's destructor could replace the error. */
static int tvmffi_i_refuse_owned(TVMFFIAny *owned, const char *to) {
  const TVMFFIAny got = *owned;
  tvmffi_i_any_release(owned);
  return tvmffi_i_bad_cast(&got, to);
}

/* Calls the library function that returns a function's documentation or
   metadata. *out must be None, and stays None if the library has no such
   function. */
static int tvmffi_i_library_text(tvmffi_i_module *m, const char *head,
                                 TVMFFIByteArray name, TVMFFIAny *out) {
  void *address;
  int code;
  TVMFFI_ASSERT(out->type_index == kTVMFFINone);
  TVMFFI_TRY(tvmffi_i_module_symbol(m, head, name, &address));
  if (!address) return 0;
  code = ((TVMFFISafeCallType)(uintptr_t)address)(NULL, NULL, 0, out);
  if (code) return tvmffi_i_need_error(code, "A library's function");
  if (out->type_index == kTVMFFISmallStr || out->type_index == kTVMFFIStr)
    return 0;
  return tvmffi_i_refuse_owned(out, "str");
}

TVMFFI_I_COLD int tvmffi_i_library_refuses(const char *method) {
  return tvmffi_i_runtime_error("Module[library] does not support %s", method);
}

static TVMFFIObject *tvmffi_i_no_items(void) {
  TVMFFIAny *items;
  return tvmffi_i_new_array(0, &items);
}

/* Returns the array of a module's imports (owned), or NULL if C++ code has
   moved it away. The mutex keeps another thread from replacing the array before
   it is retained. */
static TVMFFIObject *tvmffi_i_own_imports(const tvmffi_i_module *m) {
  TVMFFIObject *imports;
  tvmffi_i_lock();
  imports = m->imports;
  TVMFFI_ASSERT(!imports || imports->type_index == kTVMFFIArray);
  if (imports) tvmffi_i_retain(imports);
  tvmffi_i_unlock();
  return imports;
}

/* Replaces a module's imports, if they still are `old`. Takes ownership of the
   array `imports`. Returns 1, or 0 if another thread replaced them first. */
static int tvmffi_i_set_imports(tvmffi_i_module *m, const TVMFFIObject *old,
                                TVMFFIObject *imports) {
  TVMFFIObject *dropped = imports;
  int is_old;
  TVMFFI_ASSERT(imports != old && imports->type_index == kTVMFFIArray);
  TVMFFI_ASSERT(imports->combined_ref_count == TVMFFI_I_BOTH_ONE);
  tvmffi_i_lock();
  is_old = m->imports == old;
  if (is_old) {
    dropped = m->imports;
    m->imports = imports;
  }
  tvmffi_i_unlock();
  tvmffi_i_release(dropped);
  return is_old;
}
#endif
