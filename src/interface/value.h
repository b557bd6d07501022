/* ======== Values ========================================== >>interface/value
   plain C values to and from Any, references */
/* C interface: plain C values to and from TVMFFIAny, strong and weak
   references. Inline and built on the ABI only, so all of it runs on this
   runtime and on the stock library alike, and costs nothing where unused.
   An Any made here is a view: it borrows what it points to. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/dlpack.h"
#include "../head/abi.h"

#define TVMFFI_I_STRONG_ONE ((uint64_t)1)
#define TVMFFI_I_WEAK_ONE ((uint64_t)1 << 32)
#define TVMFFI_I_BOTH_ONE (TVMFFI_I_WEAK_ONE | TVMFFI_I_STRONG_ONE)
/* A half of the count at or over 2^31 is pinned here, far from both ends, so
   that clients who count inline take 2^30 steps to carry it out of there. */
#define TVMFFI_I_PINNED ((uint64_t)0xC0000000u)

TVMFFI_I_COLD void tvmffi_i_pin(uint64_t *count, int shift) {
  uint64_t mask = (uint64_t)0xFFFFFFFFu << shift;
  uint64_t old = tvmffi_i_load64(count);
  while (
      !tvmffi_i_cas64(count, &old, (old & ~mask) | TVMFFI_I_PINNED << shift)) {
  }
}

/* Adds a strong reference. `obj` must be alive. */
TVMFFI_I_INLINE void tvmffi_retain(TVMFFIObjectHandle obj) {
  uint64_t *count = &((TVMFFIObject *)obj)->combined_ref_count;
  uint64_t old = tvmffi_i_add64(count, TVMFFI_I_STRONG_ONE);
  if (TVMFFI_I_UNLIKELY(old & 0x80000000u)) tvmffi_i_pin(count, 0);
}

/* Adds a weak reference: the memory stays, the content need not. */
TVMFFI_I_INLINE void tvmffi_weak_retain(TVMFFIObjectHandle obj) {
  uint64_t *count = &((TVMFFIObject *)obj)->combined_ref_count;
  uint64_t old = tvmffi_i_add64(count, TVMFFI_I_WEAK_ONE);
  if (TVMFFI_I_UNLIKELY(old >> 63)) tvmffi_i_pin(count, 32);
}

/* Drops a weak reference, and the memory with the last one of both kinds. */
TVMFFI_I_INLINE void tvmffi_weak_release(TVMFFIObjectHandle obj) {
  TVMFFIObject *o = (TVMFFIObject *)obj;
  uint64_t old = tvmffi_i_sub64(&o->combined_ref_count, TVMFFI_I_WEAK_ONE);
  if (old == TVMFFI_I_WEAK_ONE) {
    if (o->deleter) o->deleter(o, kTVMFFIObjectDeleterFlagBitMaskWeak);
  } else if (TVMFFI_I_UNLIKELY(old >> 63)) {
    tvmffi_i_pin(&o->combined_ref_count, 32);
  }
}

/* Tries to make a strong reference of a weak one; 0 when the object is gone. */
TVMFFI_I_INLINE int tvmffi_weak_lock(TVMFFIObjectHandle obj) {
  uint64_t *count = &((TVMFFIObject *)obj)->combined_ref_count;
  uint64_t old = tvmffi_i_load64(count);
  while ((uint32_t)old != 0) {
    if (tvmffi_i_cas64(count, &old, old + TVMFFI_I_STRONG_ONE)) {
      if (TVMFFI_I_UNLIKELY(old & 0x80000000u)) tvmffi_i_pin(count, 0);
      return 1;
    }
  }
  return 0;
}

/* The rest of a release whose count was `old`: that was the last strong
   reference, or the count is pinned. */
TVMFFI_I_COLD void tvmffi_i_release_rest(TVMFFIObject *o, uint64_t old) {
  if (old & 0x80000000u) {
    tvmffi_i_pin(&o->combined_ref_count, 0);
  } else if ((uint32_t)old == 1) {
    int both = old == TVMFFI_I_BOTH_ONE;
    if (o->deleter)
      o->deleter(o, both ? kTVMFFIObjectDeleterFlagBitMaskBoth
                         : kTVMFFIObjectDeleterFlagBitMaskStrong);
    if (!both) tvmffi_weak_release(o);
  }
}

/* Drops a strong reference (taken); NULL is ignored. With the last one the
   object is destroyed. A sole owner needs no atomic write: nobody else can
   have a reference to copy, so the count cannot change under it. One
   comparison tells counts of 2 to 2^31 - 1 from all that need more work. */
TVMFFI_I_INLINE void tvmffi_release(TVMFFIObjectHandle obj) {
  TVMFFIObject *o = (TVMFFIObject *)obj;
  uint64_t old;
  if (!o) return;
  if (tvmffi_i_load64(&o->combined_ref_count) == TVMFFI_I_BOTH_ONE) {
    if (o->deleter) o->deleter(o, kTVMFFIObjectDeleterFlagBitMaskBoth);
    return;
  }
  old = tvmffi_i_sub64(&o->combined_ref_count, TVMFFI_I_STRONG_ONE);
  if (TVMFFI_I_UNLIKELY((uint32_t)old - 2u >= 0x7FFFFFFEu))
    tvmffi_i_release_rest(o, old);
}

/* Drops what an owned Any holds and makes it None. */
TVMFFI_I_INLINE void tvmffi_any_release(TVMFFIAny *any) {
  TVMFFIObject *obj =
      any->type_index >= kTVMFFIStaticObjectBegin ? any->v_obj : NULL;
  any->type_index = kTVMFFINone;
  any->zero_padding = 0;
  any->v_int64 = 0;
  tvmffi_release(obj);
}

/* The number of destructors that nest on the stack. An object that dies below
   them waits in a list, which the innermost of them empties: so a structure may
   be as deep as memory allows. A board has neither the stack nor the memory for
   many. */
enum { TVMFFI_I_NESTED = TVMFFI_FREESTANDING ? 4 : 32 };

/* Marks the second call of a deleter, for an object that has waited. */
enum { TVMFFI_I_RESUMED = 1 << 8 };

/* The destructors that run in a thread. The depth counts them, and the stack
   address of each tells those that have ended without returning, by an
   exception or by longjmp. */
typedef struct {
  TVMFFIObject *pending_destroy; /* linked by the word of their deleter */
  int32_t depth;
  uintptr_t frame[TVMFFI_I_NESTED + 1];
} tvmffi_i_destroying;

/* Destroys the objects that wait, and those that begin to wait meanwhile. */
TVMFFI_I_COLD void tvmffi_i_end_pending(tvmffi_i_destroying *d) {
  const uintptr_t base = (uintptr_t)tvmffi_i_end_pending;
  while (d->pending_destroy) {
    TVMFFIObject *self = d->pending_destroy;
    const uintptr_t offset = (uintptr_t)(int64_t)(int32_t)self->__padding;
    d->pending_destroy = (TVMFFIObject *)(uintptr_t)self->deleter;
    self->deleter = (void (*)(void *, int))(base + offset);
    self->__padding = 0;
    if (!tvmffi_i_load64(&self->combined_ref_count)) {
      self->deleter(self,
                    kTVMFFIObjectDeleterFlagBitMaskBoth | TVMFFI_I_RESUMED);
    } else {
      self->deleter(self,
                    kTVMFFIObjectDeleterFlagBitMaskStrong | TVMFFI_I_RESUMED);
      tvmffi_weak_release(self);
    }
  }
}

/* Puts a dead object into the list, which needs no memory: the list goes
   through the deleter's word, and the deleter, a function of this file, is
   stored as its distance from another one. With weak references left, whose
   holders use the count, the list holds one more of them; without, the count is
   0. Returns 0 for an object whose deleter a client has replaced. */
TVMFFI_I_COLD int tvmffi_i_postpone(tvmffi_i_destroying *d, TVMFFIObject *self,
                                    int flags, void (*deleter)(void *, int)) {
  const uintptr_t base = (uintptr_t)tvmffi_i_end_pending;
  const uintptr_t offset = (uintptr_t)deleter - base;
  if (self->deleter != deleter ||
      (uintptr_t)(int64_t)(int32_t)offset != offset)
    return 0;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
    self->combined_ref_count = 0;
  else
    tvmffi_weak_retain(self);
  self->__padding = (uint32_t)offset;
  self->deleter = (void (*)(void *, int))(uintptr_t)d->pending_destroy;
  d->pending_destroy = self;
  return 1;
}

/* Forgets the destructors that have ended without returning. A frame is gone if
   the stack does not reach it. All are gone if the stack goes on behind them
   for more than they take together: then either the caller has nothing to do
   with them, or a destructor uses so much of the stack that 32 more levels do
   not matter. What stays in doubt waits for a destructor that is called from
   elsewhere. */
TVMFFI_I_COLD void tvmffi_i_forget_frames(tvmffi_i_destroying *d,
                                          uintptr_t here) {
  const uintptr_t *frame = d->frame;
  while (d->depth && frame[d->depth - 1] <= here) --d->depth;
  if (d->depth >= TVMFFI_I_NESTED &&
      frame[d->depth - 1] - here > frame[0] - frame[d->depth - 1])
    d->depth = 0;
}

/* The depth of a destructor that begins, or -1 if its object has to wait. */
TVMFFI_I_COLD int32_t tvmffi_i_begin_deep(tvmffi_i_destroying *d,
                                          TVMFFIObject *self, int flags,
                                          void (*deleter)(void *, int),
                                          uintptr_t here) {
  if (!(flags & TVMFFI_I_RESUMED)) {
    tvmffi_i_forget_frames(d, here);
    if (d->depth < TVMFFI_I_NESTED) return d->depth;
    if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) &&
        tvmffi_i_postpone(d, self, flags, deleter))
      return -1;
  }
  return TVMFFI_I_NESTED;
}

/* Begins to destroy an object, called by its `deleter`. Returns the depth for
   tvmffi_i_end_destroy; or -1 if the object waits, and the deleter is called
   once more. */
TVMFFI_I_INLINE int32_t tvmffi_i_begin_destroy(tvmffi_i_destroying *d,
                                               TVMFFIObject *self, int flags,
                                               void (*deleter)(void *, int)) {
  const uintptr_t here = tvmffi_i_stack_address();
  int32_t depth = d->depth;
  if (TVMFFI_I_UNLIKELY(depth >= TVMFFI_I_NESTED)) {
    depth = tvmffi_i_begin_deep(d, self, flags, deleter, here);
    if (depth < 0) return depth;
  }
  d->frame[depth] = here;
  d->depth = depth + 1;
  return depth;
}

TVMFFI_I_INLINE void tvmffi_i_end_destroy(tvmffi_i_destroying *d,
                                          int32_t depth) {
  if (TVMFFI_I_UNLIKELY(d->pending_destroy != NULL) && depth < TVMFFI_I_NESTED)
    tvmffi_i_end_pending(d);
  d->depth = depth;
}

/* Constructors of views. The text of a string must outlive the view. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_int(int64_t x) {
  TVMFFIAny any;
  any.type_index = kTVMFFIInt;
  any.zero_padding = 0;
  any.v_int64 = x;
  return any;
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_none(void) {
  TVMFFIAny any = tvmffi_int(0);
  any.type_index = kTVMFFINone;
  return any;
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_bool(int x) {
  TVMFFIAny any = tvmffi_int(x != 0);
  any.type_index = kTVMFFIBool;
  return any;
}

#if !TVMFFI_NO_FLOAT
TVMFFI_I_INLINE TVMFFIAny tvmffi_float(double x) {
  TVMFFIAny any;
  any.type_index = kTVMFFIFloat;
  any.zero_padding = 0;
  any.v_float64 = x;
  return any;
}
#endif

TVMFFI_I_INLINE TVMFFIAny tvmffi_i_pointer(int32_t index, const void *x) {
  TVMFFIAny any = tvmffi_int(0);
  any.type_index = index;
  any.v_ptr = (void *)x;
  return any;
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_ptr(const void *x) {
  return tvmffi_i_pointer(x ? kTVMFFIOpaquePtr : kTVMFFINone, x);
}

/* A NUL-terminated string; NULL gives None. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_str(const char *x) {
  return tvmffi_i_pointer(x ? kTVMFFIRawStr : kTVMFFINone, x);
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_bytes(const TVMFFIByteArray *x) {
  return tvmffi_i_pointer(x ? kTVMFFIByteArrayPtr : kTVMFFINone, x);
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_tensor(const DLTensor *x) {
  return tvmffi_i_pointer(x ? kTVMFFIDLTensorPtr : kTVMFFINone, x);
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_obj(TVMFFIObjectHandle x) {
  return tvmffi_i_pointer(x ? ((TVMFFIObject *)x)->type_index : kTVMFFINone, x);
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_device(DLDevice x) {
  TVMFFIAny any = tvmffi_int(0);
  any.type_index = kTVMFFIDevice;
  any.v_device = x;
  return any;
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_dtype(DLDataType x) {
  TVMFFIAny any = tvmffi_int(0);
  any.type_index = kTVMFFIDataType;
  any.v_dtype = x;
  return any;
}

/* Gives the text or bytes that `any` holds, borrowed; {NULL, 0} when it holds
   neither. A NUL follows, unless it is a TVMFFIByteArray of the caller. */
TVMFFI_I_INLINE TVMFFIByteArray tvmffi_any_str(const TVMFFIAny *any) {
  TVMFFIByteArray r = {NULL, 0};
  switch (any->type_index) {
    case kTVMFFISmallStr:
    case kTVMFFISmallBytes: r = tvmffi_i_small_bytes(any); break;
    case kTVMFFIStr:
    case kTVMFFIBytes:
      if (any->v_obj) r = *TVMFFIBytesGetByteArrayPtr(any->v_obj);
      break;
    case kTVMFFIByteArrayPtr:
      if (any->v_ptr) r = *(const TVMFFIByteArray *)any->v_ptr;
      break;
    case kTVMFFIRawStr:
      r.data = any->v_c_str;
      while (r.data && r.data[r.size]) ++r.size;
      break;
    default: break;
  }
  return r;
}

TVMFFI_I_INLINE TVMFFIByteArray tvmffi_view(const char *text) {
  TVMFFIByteArray r = {text, 0};
  while (text && text[r.size]) ++r.size;
  return r;
}

TVMFFI_I_INLINE int tvmffi_i_same(TVMFFIByteArray text, const char *other) {
  size_t i = 0;
  while (i < text.size && other[i] && other[i] == text.data[i]) ++i;
  return i == text.size && !other[i];
}

/* Tells whether a value of type `index` is an instance of `target`: the same
   type, or a descendant by its table of ancestors. */
TVMFFI_I_INLINE int tvmffi_is_instance(int32_t index, int32_t target) {
  const TVMFFITypeInfo *info, *want;
  if (index == target) return 1;
  if (index < target || target < kTVMFFIStaticObjectBegin) return 0;
  if (target == kTVMFFIObject) return 1;
  info = TVMFFIGetTypeInfo(index);
  want = TVMFFIGetTypeInfo(target);
  return info && want && info->type_depth > want->type_depth &&
         info->type_ancestors[want->type_depth] == want;
}

/* The address of a tensor's first element as a pointer to `type`. */
#define tvmffi_data(tensor, type)                                       \
  TVMFFI_I_AS(type *,                                                   \
              TVMFFI_I_AS(void *, TVMFFI_I_AS(char *, (tensor)->data) + \
                                      (tensor)->byte_offset))
