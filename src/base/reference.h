/* ======== References ======================================== >>base/reference
   strong and weak references, destruction */

#pragma once

#include "../head.h"

#define TVMFFI_I_STRONG_ONE ((uint64_t)1)
#define TVMFFI_I_WEAK_ONE (TVMFFI_I_AS(uint64_t, 1) << 32)
#define TVMFFI_I_BOTH_ONE (TVMFFI_I_WEAK_ONE | TVMFFI_I_STRONG_ONE)
/* A strong or weak count that reaches 2^31 is set to this value, and the object
   is never freed. Clients that count without these functions need 2^30 steps to
   leave the range from 2^31 to 2^32. */
#define TVMFFI_I_PINNED TVMFFI_I_AS(uint64_t, 0xC0000000u)

TVMFFI_I_ONCE(void, tvmffi_i_pin, (uint64_t *count, int shift)) {
  uint64_t mask = (uint64_t)0xFFFFFFFFu << shift;
  uint64_t old = tvmffi_i_load64(count);
  while (
      !tvmffi_i_cas64(count, &old, (old & ~mask) | TVMFFI_I_PINNED << shift)) {
  }
}

#if TVMFFI_DEBUG
/* The __padding of a dead object, whose memory a runtime with TVMFFI_DEBUG
   frees later. Its deleter prints a message; without flags, about a use. */
#define TVMFFI_I_DEAD TVMFFI_I_AS(uint32_t, 0x64616564u)
TVMFFI_I_INLINE void tvmffi_i_check_alive(TVMFFIObjectHandle obj) {
  TVMFFIObject *o = (TVMFFIObject *)obj;
  if (o && o->__padding == TVMFFI_I_DEAD && o->deleter) o->deleter(o, 0);
}
#else
#define tvmffi_i_check_alive(obj) ((void)0)
#endif

/* Adds a strong reference to a live object. */
TVMFFI_I_INLINE void tvmffi_i_retain(TVMFFIObjectHandle obj) {
  uint64_t *count = &((TVMFFIObject *)obj)->combined_ref_count;
  uint64_t old = tvmffi_i_add64(count, TVMFFI_I_STRONG_ONE);
  TVMFFI_ASSERT((uint32_t)old > 0);
  if (TVMFFI_I_UNLIKELY(old & 0x80000000u)) tvmffi_i_pin(count, 0);
  tvmffi_i_check_alive(obj);
}

/* Adds a weak reference, which the caller owns. It keeps the object's memory
   but not its content. */
TVMFFI_I_INLINE void tvmffi_weak_retain(TVMFFIObjectHandle obj) {
  uint64_t *count = &((TVMFFIObject *)obj)->combined_ref_count;
  uint64_t old = tvmffi_i_add64(count, TVMFFI_I_WEAK_ONE);
  TVMFFI_ASSERT(old >> 32 > 0);
  if (TVMFFI_I_UNLIKELY(old >> 63)) tvmffi_i_pin(count, 32);
}

/* Drops a weak reference. Dropping the last reference of both kinds frees the
   memory. */
TVMFFI_I_INLINE void tvmffi_weak_release(TVMFFIObjectHandle obj) {
  TVMFFIObject *o = (TVMFFIObject *)obj;
  uint64_t old = tvmffi_i_sub64(&o->combined_ref_count, TVMFFI_I_WEAK_ONE);
  TVMFFI_ASSERT(old >> 32 > 0);
  if (old == TVMFFI_I_WEAK_ONE) {
    if (o->deleter) o->deleter(o, kTVMFFIObjectDeleterFlagBitMaskWeak);
  } else if (TVMFFI_I_UNLIKELY(old >> 63)) {
    tvmffi_i_pin(&o->combined_ref_count, 32);
  }
}

/* Adds a strong reference, which the caller owns, through a weak one. Returns
   1, or 0 if the object is already destroyed. */
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

/* Slow path of tvmffi_i_release. `old` is the count before the release: one
   strong reference was left, or the count is pinned. */
TVMFFI_I_ONCE(void, tvmffi_i_release_rest, (TVMFFIObject *o, uint64_t old)) {
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

/* Drops the caller's strong reference. Dropping the last strong reference
   destroys the object. Ignores NULL. */
TVMFFI_I_INLINE void tvmffi_i_release(TVMFFIObjectHandle obj) {
  /* A sole owner needs no atomic write, because no other thread has a reference
     to copy. An old strong count of 2 to 2^31 - 1 needs only a decrement.
     The last comparison finds all other counts. */
  TVMFFIObject *o = (TVMFFIObject *)obj;
  uint64_t old;
  if (!o) return;
  if (tvmffi_i_load64(&o->combined_ref_count) == TVMFFI_I_BOTH_ONE) {
    if (o->deleter) o->deleter(o, kTVMFFIObjectDeleterFlagBitMaskBoth);
    return;
  }
  old = tvmffi_i_sub64(&o->combined_ref_count, TVMFFI_I_STRONG_ONE);
  TVMFFI_ASSERT((uint32_t)old > 0);
  if (TVMFFI_I_UNLIKELY((uint32_t)old - 2u >= 0x7FFFFFFEu))
    tvmffi_i_release_rest(o, old);
}

/* An object pointer in a struct member, whose declared type may differ.
   Accesses through this type are exempt from strict aliasing. */
#if TVMFFI_I_GNU
typedef TVMFFIObject *tvmffi_i_object_slot __attribute__((__may_alias__));
#else
typedef TVMFFIObject *tvmffi_i_object_slot;
#endif

/* Stores a reference to `object` (borrowed or NULL) in the pointer at `slot`,
   and releases the object that was there. */
TVMFFI_I_INLINE void tvmffi_i_keep(void *slot, void *object) {
  TVMFFIObject *old = *(tvmffi_i_object_slot *)slot;
  if (object) tvmffi_i_retain(object);
  *(tvmffi_i_object_slot *)slot = (TVMFFIObject *)object;
  tvmffi_i_release(old);
}

/* Retains the object in an Any, if any. */
TVMFFI_I_INLINE void tvmffi_i_any_retain(const TVMFFIAny *any) {
  if (any->type_index >= kTVMFFIStaticObjectBegin) tvmffi_i_retain(any->v_obj);
}

/* Releases an owned Any and sets it to None. */
TVMFFI_I_INLINE void tvmffi_i_any_release(TVMFFIAny *any) {
  const TVMFFIAny old = *any;
  any->type_index = kTVMFFINone;
  any->zero_padding = 0;
  any->v_int64 = 0;
  if (old.type_index >= kTVMFFIStaticObjectBegin) tvmffi_i_release(old.v_obj);
}

/* Maximum number of nested destructors in a thread. At this depth, dead objects
   go to the thread's pending list, which the innermost destructor empties. So a
   deep structure does not overflow the stack. */
enum { TVMFFI_I_NESTED = TVMFFI_FREESTANDING ? 4 : 32 };

/* Deleter flag: the second call of a deleter, for an object from the pending
   list. */
#define TVMFFI_I_RESUMED (1 << 8)

/* The running destructors of a thread. The stack addresses of the outermost and
   of the innermost other one reveal destructors that ended by an exception or
   longjmp. */
typedef struct {
  TVMFFIObject *pending_destroy; /* linked through `deleter` */
  uintptr_t frame[2];
  int32_t depth;
} tvmffi_i_destroying;

/* Destroys the objects on the pending list, including objects that are added
   during the call. */
TVMFFI_I_ONCE(void, tvmffi_i_end_pending, (tvmffi_i_destroying *d)) {
  const uintptr_t base = (uintptr_t)tvmffi_i_end_pending;
  while (d->pending_destroy) {
    TVMFFIObject *self = d->pending_destroy;
    const uintptr_t offset = (uintptr_t)(int64_t)(int32_t)self->__padding;
    d->pending_destroy = (TVMFFIObject *)(uintptr_t)self->deleter;
    self->deleter = (void (*)(void *, int))(base + offset);
    self->__padding = 0;
    if (!tvmffi_i_load64(&self->combined_ref_count)) {
      self->deleter(
          self, (int)kTVMFFIObjectDeleterFlagBitMaskBoth | TVMFFI_I_RESUMED);
    } else {
      self->deleter(self,
                    kTVMFFIObjectDeleterFlagBitMaskStrong | TVMFFI_I_RESUMED);
      tvmffi_weak_release(self);
    }
  }
}

/* Puts a dead object on the pending list without allocating memory. On the
   list, its `deleter` field holds the next object, and `__padding` the
   deleter's distance from tvmffi_i_end_pending. If weak references remain, adds
   a weak reference for the list, else sets the counts to 0. Returns 1, or 0 if
   a client replaced the object's deleter or the distance needs more than 32
   bits. */
TVMFFI_I_ONCE(int, tvmffi_i_postpone,
              (tvmffi_i_destroying *d, TVMFFIObject *self, int flags,
               void (*deleter)(void *, int))) {
  const uintptr_t base = (uintptr_t)tvmffi_i_end_pending;
  const uintptr_t offset = (uintptr_t)deleter - base;
  if (self->deleter != deleter ||
      (uintptr_t)(int64_t)(int32_t)offset != offset)
    return 0;
  TVMFFI_ASSERT((uint32_t)tvmffi_i_load64(&self->combined_ref_count) <= 1);
  TVMFFI_ASSERT(self->__padding == 0);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
    self->combined_ref_count = 0;
  else
    tvmffi_weak_retain(self);
  self->__padding = (uint32_t)offset;
  self->deleter = (void (*)(void *, int))(uintptr_t)d->pending_destroy;
  d->pending_destroy = self;
  return 1;
}

/* Called at the maximum depth. An exception or longjmp may have left
   destructors without lowering `depth`. The stack grows downwards, so if `here`
   is at or above the frame of the outermost destructor, all have ended. If it
   is only at or above the innermost one's, some outer ones may still run, so
   one level is given back. If it is far below all of them, most likely none
   still runs. */
TVMFFI_I_ONCE(void, tvmffi_i_forget_frames,
              (tvmffi_i_destroying *d, uintptr_t here)) {
  const uintptr_t outermost = d->frame[0], innermost = d->frame[1];
  if (here >= outermost)
    d->depth = 0;
  else if (here >= innermost)
    d->depth = TVMFFI_I_NESTED - 1;
  else if (innermost - here > outermost - innermost)
    d->depth = 0;
}

/* Slow path of tvmffi_i_begin_destroy, near the maximum depth. Returns the
   destructor's depth, or -1 if the object was put on the pending list. */
TVMFFI_I_ONCE(int32_t, tvmffi_i_begin_deep,
              (tvmffi_i_destroying *d, TVMFFIObject *self, int flags,
               void (*deleter)(void *, int), uintptr_t here)) {
  if (!(flags & TVMFFI_I_RESUMED)) {
    tvmffi_i_forget_frames(d, here);
    if (d->depth < TVMFFI_I_NESTED) return d->depth;
    if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) &&
        tvmffi_i_postpone(d, self, flags, deleter))
      return -1;
  }
  return TVMFFI_I_NESTED;
}

/* Begins to destroy an object. Called by `deleter`. Returns the depth to pass
   to tvmffi_i_end_destroy, or -1 if the object was put on the pending list. */
TVMFFI_I_INLINE int32_t tvmffi_i_begin_destroy(tvmffi_i_destroying *d,
                                               TVMFFIObject *self, int flags,
                                               void (*deleter)(void *, int)) {
  const uintptr_t here = tvmffi_i_stack_address();
  int32_t depth = d->depth;
  if (TVMFFI_I_UNLIKELY(depth >= TVMFFI_I_NESTED)) {
    depth = tvmffi_i_begin_deep(d, self, flags, deleter, here);
    if (depth < 0) return depth;
  }
  TVMFFI_ASSERT(depth >= 0 && depth <= TVMFFI_I_NESTED);
  d->frame[depth > 0] = here;
  d->depth = depth + 1;
  return depth;
}

TVMFFI_I_INLINE void tvmffi_i_end_destroy(tvmffi_i_destroying *d,
                                          int32_t depth) {
  TVMFFI_ASSERT(depth >= 0 && depth <= TVMFFI_I_NESTED);
  if (TVMFFI_I_UNLIKELY(d->pending_destroy != NULL) && depth < TVMFFI_I_NESTED)
    tvmffi_i_end_pending(d);
  d->depth = depth;
}
