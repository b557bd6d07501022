/* ======== Objects: allocation, references, destruction ===== >>core/object */
/* Allocation, references and destruction. An object that holds others is
   destroyed by tvmffi_i_destroy, which nests only so deep: an object that dies
   further down waits in the thread's list. So a structure may be as deep as
   memory allows. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../platform/libc.h"
#include "../platform/arena.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "raise.h"
#include "knot.h"

#if TVMFFI_DEBUG
/* What is known of an object, from when it is made until its memory is given
   back, some time after its death. Its head is then that of an object with one
   reference whose deleter complains, so that a release in any file and language
   is found. Under a lock of their own, as objects are made and freed under the
   other one, too. */
typedef struct tvmffi_i_record {
  struct tvmffi_i_record *next; /* of the same hash, or the next to be freed */
  TVMFFIObject *object;
  void *memory;
  int32_t type_index;
  int is_dead;
  char made[56], released[56], again[56]; /* places in files, or empty */
} tvmffi_i_record;

enum { TVMFFI_I_NUM_RECORDS = 65536, TVMFFI_I_NUM_DEAD = 1024 };
static tvmffi_i_record *tvmffi_i_records[TVMFFI_I_NUM_RECORDS];
static tvmffi_i_record *tvmffi_i_dead[TVMFFI_I_NUM_DEAD]; /* a ring */
static uint32_t tvmffi_i_num_dead;
static char tvmffi_i_complaint[360]; /* the first one */
static int64_t tvmffi_i_num_complaints;
static void *tvmffi_i_debug_mutex;

static void tvmffi_i_debug_lock(void) {
  while (!tvmffi_i_cas_pointer(&tvmffi_i_debug_mutex, NULL,
                               &tvmffi_i_debug_mutex)) {
  }
}
static void tvmffi_i_debug_unlock(void) {
  TVMFFI_I_STORE(&tvmffi_i_debug_mutex, NULL);
}

/* Where the record of an object is linked, or would be. */
static tvmffi_i_record **tvmffi_i_record_of(const void *object) {
  uint64_t hash = (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15u;
  tvmffi_i_record **r = &tvmffi_i_records[(hash >> 32) % TVMFFI_I_NUM_RECORDS];
  while (*r && (*r)->object != object) r = &(*r)->next;
  return r;
}

/* An object without memory for its record is not seen. */
static void tvmffi_i_debug_made(void *object, void *memory,
                                int32_t type_index) {
  tvmffi_i_record *r = TVMFFI_I_NEW(tvmffi_i_record, sizeof(*r)), **at;
  if (!r) return;
  r->object = (TVMFFIObject *)object;
  r->memory = memory;
  r->type_index = type_index;
  r->is_dead = 0;
  r->made[0] = r->released[0] = r->again[0] = 0;
  r->next = NULL;
  tvmffi_i_debug_lock();
  at = tvmffi_i_record_of(object);
  if (*at) {
    (*at)->type_index = type_index; /* the head of a body with a record */
    TVMFFI_I_FREE(r);
  } else {
    *at = r;
  }
  tvmffi_i_debug_unlock();
}

/* Appends as much of a text as fits. */
static size_t tvmffi_i_debug_put(char *to, size_t n, size_t capacity,
                                 const char *text) {
  while (*text && n + 1 < capacity) to[n++] = *text++;
  to[n] = 0;
  return n;
}

#if defined(__cplusplus)
extern "C" {
#endif
/* The deleter of what is dead already. It may be called from anywhere, so it
   raises nothing: the text is printed, and kept for the leak report. */
static void tvmffi_i_debug_complain(void *self, int flags) {
  char text[sizeof(tvmffi_i_complaint)];
  const tvmffi_i_record *r;
  size_t n, size = sizeof(text);
  (void)flags;
  ((TVMFFIObject *)self)->combined_ref_count = TVMFFI_I_BOTH_ONE;
  tvmffi_i_start_types();
  tvmffi_i_debug_lock();
  r = *tvmffi_i_record_of(self);
  n = tvmffi_i_debug_put(text, 0, size, "released although it is dead: ");
  n = tvmffi_i_debug_put(text, n, size,
                         tvmffi_i_type_name(r ? r->type_index : -1));
  if (r && r->made[0]) {
    n = tvmffi_i_debug_put(text, n, size, ", handed out at ");
    n = tvmffi_i_debug_put(text, n, size, r->made);
  }
  if (r && r->released[0]) {
    n = tvmffi_i_debug_put(text, n, size, ", released for the last time at ");
    n = tvmffi_i_debug_put(text, n, size, r->released);
  }
  if (r && r->again[0]) {
    n = tvmffi_i_debug_put(text, n, size, ", and again at ");
    n = tvmffi_i_debug_put(text, n, size, r->again);
  }
  (void)tvmffi_i_debug_put(text, n, size, "\n");
  if (!tvmffi_i_num_complaints++)
    (void)tvmffi_i_debug_put(tvmffi_i_complaint, 0, size, text);
  tvmffi_i_debug_unlock();
#if !TVMFFI_NO_STDIO
  (void)fputs(text, stderr);
#endif
}
#if defined(__cplusplus)
}
#endif

/* Lets a dead object stand, and frees the memory of the oldest such one. 0: it
   is none that is known. */
static int tvmffi_i_debug_dies(void *object) {
  tvmffi_i_record *r, *old = NULL, **at;
  tvmffi_i_debug_lock();
  r = *tvmffi_i_record_of(object);
  if (r && !r->is_dead) {
    r->is_dead = 1;
    r->object->combined_ref_count = TVMFFI_I_BOTH_ONE;
    r->object->deleter = tvmffi_i_debug_complain;
    at = &tvmffi_i_dead[tvmffi_i_num_dead++ % TVMFFI_I_NUM_DEAD];
    old = *at;
    *at = r;
    if (old) *tvmffi_i_record_of(old->object) = old->next;
  }
  tvmffi_i_debug_unlock();
  if (old) {
    TVMFFI_I_FREE(old->memory);
    TVMFFI_I_FREE(old);
  }
  return r != NULL;
}
#endif

TVMFFI_I_INLINE void tvmffi_i_start_object(TVMFFIObject *self,
                                           int32_t type_index,
                                           void (*deleter)(void *, int)) {
  self->combined_ref_count = TVMFFI_I_BOTH_ONE;
  self->type_index = type_index;
  self->__padding = 0;
  self->__ensure_align = 0;
  self->deleter = deleter;
#if TVMFFI_DEBUG
  tvmffi_i_debug_made(self, self, type_index);
#endif
}

/* Out of line, so that the common way needs no stack. */
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
  if (!self) return tvmffi_i_make_object(size, type_index, deleter);
  tvmffi_i_start_object(self, type_index, deleter);
  return self;
}

/* What stands for a value that is not there. */
static TVMFFIObject tvmffi_i_invalid_object = {
    TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE, kTVMFFIObject, 0, {NULL}};

/* The deleter of an object that owns nothing but its memory. */
static void tvmffi_i_delete_plain(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmffi_i_free(self);
}

/* The same of an object of a known size. The size must not come from words that
   clients write, such as a cell's: the block would go into the free list of
   another size class. The size of a text or of items that stand in the object
   is taken from the cell only while the cell points there: a client that then
   changes the size alone reads past the object itself. */
TVMFFI_I_INLINE void tvmffi_i_delete_sized(void *self, int flags, size_t size) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
    tvmffi_i_pool_free(self, size);
}

/* The same of an object with `size` bytes of content, right behind its head of
   `head` bytes if `content` points there. */
TVMFFI_I_INLINE void tvmffi_i_delete_content(void *self, int flags, size_t head,
                                             const void *content, size_t size) {
  const int is_own = content == (char *)self + head;
  tvmffi_i_delete_sized(self, flags,
                        is_own ? head + size : (size_t)PTRDIFF_MAX);
}

/* Inline, as the destructors are, which so become a part of their deleters. */
TVMFFI_I_INLINE void tvmffi_i_destroy(TVMFFIObject *self, int flags,
                                      void (*destructor)(void *, int),
                                      void (*deleter)(void *, int)) {
  tvmffi_i_destroying *d = &tvmffi_i_self()->destroying;
  int32_t depth = tvmffi_i_begin_destroy(d, self, flags, deleter);
  if (TVMFFI_I_UNLIKELY(depth < 0)) return;
  destructor(self, flags);
  tvmffi_i_end_destroy(d, depth);
}

void TVMFFIGetVersion(TVMFFIVersion *out_version) {
  if (!out_version) return;
  out_version->major = TVM_FFI_VERSION_MAJOR;
  out_version->minor = TVM_FFI_VERSION_MINOR;
  out_version->patch = TVM_FFI_VERSION_PATCH;
}

TVMFFI_I_ON_LINE int TVMFFIObjectIncRef(TVMFFIObjectHandle obj) {
  TVMFFI_I_NOT_NULL(obj);
  tvmffi_retain(obj);
  return 0;
}

TVMFFI_I_ON_LINE int TVMFFIObjectDecRef(TVMFFIObjectHandle obj) {
  tvmffi_release(obj);
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

static void tvmffi_i_delete_opaque(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_opaque,
                   tvmffi_i_delete_opaque);
}

int TVMFFIObjectCreateOpaque(void *handle, int32_t type_index,
                             void (*deleter)(void *handle),
                             TVMFFIObjectHandle *out) {
  tvmffi_i_opaque *o;
  TVMFFI_I_NOT_NULL(out);
  if (type_index != kTVMFFIOpaquePyObject)
    return tvmffi_i_fail("RuntimeError",
                         "Only kTVMFFIOpaquePyObject is supported for now");
  o = (tvmffi_i_opaque *)tvmffi_i_object(sizeof(*o), type_index,
                                         tvmffi_i_delete_opaque);
  if (!o) return -1;
  o->cell.handle = handle;
  o->deleter = deleter;
  *out = o;
  return 0;
}

/* Marks in place of values: "no value", and "keyword arguments follow". */
static TVMFFIObject tvmffi_i_kwargs_object = {
    TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE, kTVMFFIObject, 0, {NULL}};
