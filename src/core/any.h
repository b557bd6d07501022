/* ======== Any: views to owned values ========================== >>core/any */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "raise.h"
#include "string.h"

/* An Any as two words in registers: `head` is index and padding, `word` the
   value. */
typedef struct {
  uint64_t head, word;
} tvmffi_i_bits;

TVMFFI_I_INLINE tvmffi_i_bits tvmffi_i_make_bits(int32_t type_index,
                                                 uint32_t padding,
                                                 uint64_t word) {
  tvmffi_i_bits bits;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  bits.head = (uint64_t)(uint32_t)type_index << 32 | padding;
#else
  bits.head = (uint64_t)padding << 32 | (uint32_t)type_index;
#endif
  bits.word = word;
  return bits;
}

/* Loads the fields one by one; the compiler must not merge the loads. One wide
   load stalls if the caller has just stored the fields one by one. */
TVMFFI_I_INLINE tvmffi_i_bits tvmffi_i_load_bits(const TVMFFIAny *any) {
  int32_t type_index = any->type_index;
  uint32_t padding = any->zero_padding;
#if TVMFFI_I_GNU
  __asm__("" : "+r"(type_index), "+r"(padding));
#endif
  return tvmffi_i_make_bits(type_index, padding, any->v_uint64);
}

TVMFFI_I_INLINE void tvmffi_i_store_bits(TVMFFIAny *any, tvmffi_i_bits bits) {
  memcpy((void *)any, &bits.head, 8);
  any->v_uint64 = bits.word;
}

/* Slow path of TVMFFIAnyViewToOwnedAny. Converts a view that is not copied bit
   by bit, and rejects a small string longer than 7 bytes. Not inlined, so that
   the fast path needs no stack frame. */
TVMFFI_I_NOINLINE int tvmffi_i_own_unusual(const TVMFFIAny *view,
                                           TVMFFIAny *out) {
  TVMFFIByteArray bytes;
  TVMFFIObject **moved;
  switch (view->type_index) {
    case kTVMFFIRawStr:
      if (!view->v_c_str) return tvmffi_i_null(__func__, "the raw string");
      return tvmffi_i_make_string(view->v_c_str, strlen(view->v_c_str),
                                  kTVMFFISmallStr, kTVMFFIStr, out);
    case kTVMFFIByteArrayPtr:
      if (!view->v_ptr) return tvmffi_i_null(__func__, "the byte array");
      bytes = *(TVMFFIByteArray *)view->v_ptr;
      return TVMFFIBytesFromByteArray(&bytes, out);
    case kTVMFFIObjectRValueRef:
      moved = (TVMFFIObject **)view->v_ptr;
      if (!moved || !*moved)
        return tvmffi_i_fail("InternalError", "RValueRef already moved");
      *out = tvmffi_obj(*moved);
      *moved = NULL;
      return 0;
    case kTVMFFISmallStr:
    case kTVMFFISmallBytes:
      return tvmffi_i_fail("ValueError",
                           "A small string or bytes cannot have %u bytes",
                           view->small_str_len);
    default: break;
  }
  if (view->type_index < 0 || view->type_index > kTVMFFIUnchanged)
    return tvmffi_i_fail("TypeError", "%d is not the type index of a value",
                         view->type_index);
  *out = *view;
  return 0;
}

int TVMFFIAnyViewToOwnedAny(const TVMFFIAny *any_view, TVMFFIAny *out) {
  int32_t index;
  TVMFFI_I_NOT_NULL(any_view);
  TVMFFI_I_NOT_NULL(out);
  index = any_view->type_index;
  if (TVMFFI_I_LIKELY(index < kTVMFFIStaticObjectBegin)) {
    if (TVMFFI_I_UNLIKELY(
            index < 0 || index > kTVMFFIUnchanged ||
            (index >= kTVMFFIRawStr && index <= kTVMFFIObjectRValueRef) ||
            any_view->zero_padding >= sizeof(any_view->v_bytes)))
      return tvmffi_i_own_unusual(any_view, out);
    tvmffi_i_store_bits(out, tvmffi_i_load_bits(any_view));
    return 0;
  }
  TVMFFI_I_NOT_NULL(any_view->v_obj);
  tvmffi_i_retain(any_view->v_obj);
  *out = *any_view;
  return 0;
}

#if !TVMFFI_NO_EXTRA
TVMFFI_STATIC_ASSERT(sizeof(tvmffi_i_string) == (size_t)TVMFFI_I_TEXT_HEAD,
                     text_head);
#endif
