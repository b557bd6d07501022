/* ======== Objects: allocation, references, destruction ===== >>core/object */
/* tvmffi_i_destroy limits how deep destructors nest. An object that dies deeper
   is put into a list of its thread and destroyed later. So a long chain of
   objects cannot overflow the stack. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "raise.h"
#include "debug.h"

TVMFFI_I_INLINE void tvmffi_i_start_object(TVMFFIObject *self,
                                           int32_t type_index,
                                           void (*deleter)(void *, int)) {
  TVMFFI_ASSERT(self && deleter && type_index >= kTVMFFIStaticObjectBegin);
  TVMFFI_ASSERT((uintptr_t)self % 8 == 0);
  self->combined_ref_count = TVMFFI_I_BOTH_ONE;
  self->type_index = type_index;
  self->__padding = 0;
  self->__ensure_align = 0;
  self->deleter = deleter;
#if TVMFFI_DEBUG
  (void)tvmffi_i_debug_made(self, self, type_index);
#endif
}

/* Slow path of tvmffi_i_object. Not inlined, so that the fast path needs no
   stack frame. */
TVMFFI_I_NOINLINE void *tvmffi_i_make_object(size_t size, int32_t type_index,
                                             void (*deleter)(void *, int)) {
  TVMFFIObject *self = (TVMFFIObject *)tvmffi_i_pool_make(size);
  if (TVMFFI_I_LIKELY(self != NULL))
    tvmffi_i_start_object(self, type_index, deleter);
  else
    (void)tvmffi_i_no_memory();
  return self;
}

static void *tvmffi_i_object(size_t size, int32_t type_index,
                             void (*deleter)(void *, int)) {
  TVMFFIObject *self = (TVMFFIObject *)tvmffi_i_pool_take(size);
  TVMFFI_ASSERT(size >= sizeof(*self));
  if (!self) return tvmffi_i_make_object(size, type_index, deleter);
  tvmffi_i_start_object(self, type_index, deleter);
  return self;
}

/* Stores a new object as a result. Returns 0, or -1 if it is NULL, whose error
   is raised already. */
TVMFFI_I_SMALL_NOINLINE int tvmffi_i_give_new(TVMFFIAny *result, void *made) {
  if (!made) return -1;
  *result = tvmffi_obj(made);
  return 0;
}

/* Stores a new object as a result if `code` is 0, otherwise releases it.
   Returns `code`. */
TVMFFI_I_SMALL_NOINLINE int tvmffi_i_give_filled(TVMFFIAny *result, void *made,
                                                 int code) {
  if (!code) return tvmffi_i_give_new(result, made);
  tvmffi_i_release(made);
  return code;
}

/* Returns a new object from the body of a built-in function. */
#define TVMFFI_I_RETURN_NEW(made) return tvmffi_i_give_new(tvmffi_result, made)

/* Sentinel objects that mean "no value" and "keyword arguments follow". */
static TVMFFIObject tvmffi_i_invalid_object = {
    TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE, kTVMFFIObject, 0, {NULL}};
static TVMFFIObject tvmffi_i_kwargs_object = {
    TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE, kTVMFFIObject, 0, {NULL}};

/* Deletes an object that owns nothing but its own memory. */
static void tvmffi_i_delete_plain(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmffi_i_free(self);
}

/* Deletes an object of known size. `size` must not come from memory that
   clients write, such as the length in a string object. With a wrong size, the
   block would go into the free list of another size class. */
TVMFFI_I_INLINE void tvmffi_i_delete_sized(void *self, int flags, size_t size) {
  TVMFFI_ASSERT(size >= sizeof(TVMFFIObject));
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
    tvmffi_i_pool_free(self, size);
}

/* Deletes an object with a header of `head` bytes and `size` bytes of content.
   Clients may write `content` and `size`, so `size` is trusted only if
   `content` still points right after the header. */
TVMFFI_I_INLINE void tvmffi_i_delete_content(void *self, int flags, size_t head,
                                             const void *content, size_t size) {
  const int is_own = content == (char *)self + head;
  TVMFFI_ASSERT(head > sizeof(TVMFFIObject));
  tvmffi_i_delete_sized(self, flags,
                        is_own ? head + size : (size_t)PTRDIFF_MAX);
}

TVMFFI_I_THREAD_STATE(tvmffi_i_destroying, tvmffi_i_thread_destroying);

/* Destroys a thread's pending objects when the thread ends. Such objects exist
   if a destructor ended the thread. */
static void tvmffi_i_exit_destroying(void) {
  tvmffi_i_destroying *d = tvmffi_i_thread_destroying();
  d->depth = 0;
  tvmffi_i_end_pending(d);
}

/* Destroys an object now or makes it pending. Inline, so that destructors are
   inlined into their deleters. */
TVMFFI_I_INLINE void tvmffi_i_destroy(TVMFFIObject *self, int flags,
                                      void (*destructor)(void *, int),
                                      void (*deleter)(void *, int)) {
  tvmffi_i_destroying *d = tvmffi_i_thread_destroying();
  int32_t depth = tvmffi_i_begin_destroy(d, self, flags, deleter);
  if (TVMFFI_I_UNLIKELY(depth < 0)) return;
  TVMFFI_ASSERT(d->depth == depth + 1);
  destructor(self, flags);
  tvmffi_i_end_destroy(d, depth);
}

/* Defines the deleter tvmffi_i_delete_<name>(self, flags), which calls the
   destructor tvmffi_i_destroy_<name>. */
#define TVMFFI_I_DELETER(name)                                             \
  static void tvmffi_i_delete_##name(void *self, int flags) {              \
    tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_##name, \
                     tvmffi_i_delete_##name);                              \
  }

void TVMFFIGetVersion(TVMFFIVersion *out_version) {
  if (!out_version) return;
  out_version->major = TVM_FFI_VERSION_MAJOR;
  out_version->minor = TVM_FFI_VERSION_MINOR;
  out_version->patch = TVM_FFI_VERSION_PATCH;
}

TVMFFI_I_ON_LINE int TVMFFIObjectIncRef(TVMFFIObjectHandle obj) {
  TVMFFI_I_NOT_NULL(obj);
  tvmffi_i_retain(obj);
  return 0;
}

TVMFFI_I_ON_LINE int TVMFFIObjectDecRef(TVMFFIObjectHandle obj) {
  tvmffi_i_release(obj);
  return 0;
}

typedef struct {
  TVMFFIObject base;
  TVMFFIOpaqueObjectCell cell;
  void (*deleter)(void *handle);
} tvmffi_i_opaque;

TVMFFI_I_INLINE void tvmffi_i_destroy_opaque(void *self, int flags) {
  tvmffi_i_opaque *o = (tvmffi_i_opaque *)self;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && o->deleter)
    o->deleter(o->cell.handle);
  tvmffi_i_delete_sized(self, flags, sizeof(*o));
}
TVMFFI_I_DELETER(opaque)

int TVMFFIObjectCreateOpaque(void *handle, int32_t type_index,
                             void (*deleter)(void *handle),
                             TVMFFIObjectHandle *out) {
  tvmffi_i_opaque *o;
  TVMFFI_I_NOT_NULL(out);
  if (type_index != kTVMFFIOpaquePyObject)
    return tvmffi_i_runtime_error(
        "Only kTVMFFIOpaquePyObject is supported for now");
  o = (tvmffi_i_opaque *)tvmffi_i_object(sizeof(*o), type_index,
                                         tvmffi_i_delete_opaque);
  if (!o) return -1;
  o->cell.handle = handle;
  o->deleter = deleter;
  *out = o;
  return 0;
}
