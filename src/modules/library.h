/* ======== Libraries ======================================= >>modules/library
   dynamic libraries and their functions */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/mismatch.h"
#include "../platform/layout.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../core/raise.h"
#include "../core/object.h"
#include "../core/function.h"
#include "../containers/sequence.h"
#include "symbol.h"

/* What upstream's ModuleObj is: 48 bytes on 64-bit machines. */
typedef struct {
  const struct tvmffi_i_module_methods *methods; /* the C++ virtual functions */
  TVMFFIObject base;
  TVMFFIObject *imports; /* an Array: owned */
  TVMFFIObject *cache;   /* tvmffi_i_cache, or what C++ put there, or NULL */
} tvmffi_i_module;

TVMFFI_I_AT3(tvmffi_i_module, base, 8, 8, 4);
TVMFFI_I_AT3(tvmffi_i_module, imports, 32, 32, 28);
TVMFFI_I_AT3(tvmffi_i_module, cache, 40, 36, 32);
TVMFFI_I_SIZE3(tvmffi_i_module, 48, 40, 36);

TVMFFI_I_INLINE tvmffi_i_module *tvmffi_i_module_of(TVMFFIObjectHandle handle) {
  return (tvmffi_i_module *)(void *)((char *)handle -
                                     offsetof(tvmffi_i_module, base));
}

#if !TVMFFI_NO_CONTAINERS
/* A library: one that is open, or the system library under a prefix. */
typedef struct {
  TVMFFIObject base;
  void *handle; /* NULL: the system library */
  TVMFFIByteArray prefix;
} tvmffi_i_library;

typedef struct {
  tvmffi_i_module module;
  tvmffi_i_library *library; /* owned */
} tvmffi_i_library_module;

#if TVMFFI_NO_DLOPEN
static int tvmffi_i_dlopen(TVMFFIByteArray path, void **out) {
  (void)path, (void)out;
  return tvmffi_i_fail("RuntimeError",
                       "This runtime was built without dlopen, so it cannot "
                       "load libraries");
}
static void *tvmffi_i_dlsym(void *handle, const char *name) {
  (void)handle, (void)name;
  return NULL;
}
static void tvmffi_i_dlclose(void *handle) { (void)handle; }
#elif defined(_WIN32)
/* Functions of kernel32 under names of our own: <windows.h> would take common
   words from the file. */
#if defined(__i386__)
#define TVMFFI_I_KERNEL32(name, size) \
  __attribute__((__stdcall__)) __asm__("_" #name "@" #size)
#else
#define TVMFFI_I_KERNEL32(name, size) __asm__(#name)
#endif
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

/* The system wants UTF-16, of which a text of UTF-8 (code page 65001) has no
   more units than bytes. */
static int tvmffi_i_dlopen(TVMFFIByteArray path, void **out) {
  const char *parts[2];
  int size = path.size < 32767 ? (int)path.size + 1 : 1; /* the longest path */
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
static int tvmffi_i_dlopen(TVMFFIByteArray path, void **out) {
  const char *parts[4], *reason;
  *out = dlopen(path.data, RTLD_LAZY | RTLD_LOCAL);
  if (*out) return 0;
  reason = dlerror();
  parts[0] = "Failed to load dynamic shared library ";
  parts[1] = path.data;
  parts[2] = " ";
  parts[3] = reason;
  TVMFFIErrorSetRaisedFromCStrParts("InternalError", parts, 4);
  return -1;
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

static void tvmffi_i_delete_library(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_library,
                   tvmffi_i_delete_library);
}

/* A library that takes `handle`, or, when that is NULL, the system library
   with a copy of the prefix. */
static tvmffi_i_library *tvmffi_i_new_library(void *handle,
                                              TVMFFIByteArray prefix) {
  char *text;
  tvmffi_i_library *l = (tvmffi_i_library *)tvmffi_i_object(
      sizeof(*l) + prefix.size, kTVMFFIObject, tvmffi_i_delete_library);
  if (!l) return l;
  text = (char *)(void *)(l + 1);
  if (prefix.size) memcpy(text, prefix.data, prefix.size);
  l->handle = handle;
  l->prefix.data = text;
  l->prefix.size = prefix.size;
  return l;
}

/* Writes three texts and a NUL. */
static size_t tvmffi_i_join(char *to, TVMFFIByteArray a, TVMFFIByteArray b,
                            TVMFFIByteArray c) {
  if (a.size) memcpy(to, a.data, a.size);
  if (b.size) memcpy(to + a.size, b.data, b.size);
  if (c.size) memcpy(to + a.size + b.size, c.data, c.size);
  to[a.size + b.size + c.size] = 0;
  return a.size + b.size + c.size;
}

/* Finds a symbol, head and name together; *out is NULL when there is none. In
   the system library the prefix stands before the name of a function, and
   before the head of all others; without it is the second choice. */
static int tvmffi_i_find_symbol(const tvmffi_i_library *l, const char *head,
                                TVMFFIByteArray name, void **out) {
  static const char function[] = "__tvm_ffi_";
  TVMFFIByteArray first = tvmffi_view(head), none = {"", 0}, text;
  char buffer[256], *key = buffer;
  tvmffi_i_named *s = NULL;
  size_t size = first.size + l->prefix.size + name.size + 1;
  if (size > sizeof(buffer)) key = (char *)tvmffi_i_alloc(size);
  if (!key) return tvmffi_i_no_memory();
  text.data = key;
  *out = NULL;
  if (!l->handle && l->prefix.size) {
    text.size = strcmp(head, function) == 0
                    ? tvmffi_i_join(key, first, l->prefix, name)
                    : tvmffi_i_join(key, l->prefix, first, name);
    s = tvmffi_i_find_named(&tvmffi_i_system_symbols, text);
    if (s) *out = TVMFFI_I_LOAD(&s->address);
  }
  if (!*out) {
    text.size = tvmffi_i_join(key, first, name, none);
    if (l->handle) {
      *out = tvmffi_i_dlsym(l->handle, key);
    } else {
      s = tvmffi_i_find_named(&tvmffi_i_system_symbols, text);
      if (s) *out = TVMFFI_I_LOAD(&s->address);
    }
  }
  if (key != buffer) tvmffi_i_free(key);
  return 0;
}

/* A function of a library. */
typedef struct {
  tvmffi_i_function_object function;
  TVMFFISafeCallType call;
  TVMFFIObject *module; /* owned */
} tvmffi_i_library_function;

static int tvmffi_i_call_library(void *handle, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_library_function *f = (tvmffi_i_library_function *)handle;
  return f->call(NULL, args, num_args, result);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_library_function(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong)
    tvmffi_release(((tvmffi_i_library_function *)self)->module);
  tvmffi_i_delete_plain(self, flags);
}

static void tvmffi_i_delete_library_function(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags,
                   tvmffi_i_destroy_library_function,
                   tvmffi_i_delete_library_function);
}

/* The methods of a library; *out is NULL, or None, when there is no such
   function. */
static int tvmffi_i_library_get(tvmffi_i_module *m, TVMFFIByteArray name,
                                TVMFFIObject **out) {
  void *address;
  tvmffi_i_library_function *f;
  *out = NULL;
  TVMFFI_TRY(
      tvmffi_i_find_symbol(((tvmffi_i_library_module *)(void *)m)->library,
                           "__tvm_ffi_", name, &address));
  if (!address) return 0;
  f = (tvmffi_i_library_function *)tvmffi_i_object(
      sizeof(*f), kTVMFFIFunction, tvmffi_i_delete_library_function);
  if (!f) return -1;
  f->function.cell.safe_call = tvmffi_i_call_library;
  f->function.cell.cpp_call = NULL;
  f->call = (TVMFFISafeCallType)(uintptr_t)address;
  f->module = &m->base;
  tvmffi_retain(&m->base);
  *out = &f->function.base;
  return 0;
}

static int tvmffi_i_library_has(tvmffi_i_module *m, TVMFFIByteArray name,
                                int *out) {
  void *address;
  TVMFFI_TRY(
      tvmffi_i_find_symbol(((tvmffi_i_library_module *)(void *)m)->library,
                           "__tvm_ffi_", name, &address));
  *out = address != NULL;
  return 0;
}

/* Raises, and releases the value, unless it is a string. */
static int tvmffi_i_need_string(TVMFFIAny *any) {
  int32_t index = any->type_index;
  if (index == kTVMFFISmallStr || index == kTVMFFIStr) return 0;
  tvmffi_any_release(any);
  return tvmffi_i_fail("TypeError", "Cannot convert from type `%s` to `str`",
                       tvmffi_i_type_key(index));
}

/* Calls the getter of a function's doc or metadata. */
static int tvmffi_i_library_text(tvmffi_i_module *m, const char *head,
                                 TVMFFIByteArray name, TVMFFIAny *out) {
  void *address;
  TVMFFISafeCallType getter;
  *out = tvmffi_none();
  TVMFFI_TRY(tvmffi_i_find_symbol(
      ((tvmffi_i_library_module *)(void *)m)->library, head, name, &address));
  if (!address) return 0;
  getter = (TVMFFISafeCallType)(uintptr_t)address;
  TVMFFI_TRY(getter(NULL, NULL, 0, out));
  return tvmffi_i_need_string(out);
}

TVMFFI_I_COLD int tvmffi_i_library_refuses(const char *method) {
  return tvmffi_i_fail("RuntimeError", "Module[library] does not support %s",
                       method);
}

/* An empty array, owned. */
static TVMFFIObject *tvmffi_i_no_items(void) {
  TVMFFIAny *items;
  return tvmffi_i_new_array(0, &items);
}

/* Sets the imports, taken. */
static void tvmffi_i_set_imports(tvmffi_i_module *m, TVMFFIObject *imports) {
  TVMFFIObject *old = m->imports;
  m->imports = imports;
  tvmffi_release(old);
}

static int tvmffi_i_clear_own_imports(tvmffi_i_module *m) {
  TVMFFIObject *none = tvmffi_i_no_items();
  if (!none) return -1;
  tvmffi_i_set_imports(m, none);
  return 0;
}
#endif
