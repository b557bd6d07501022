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
  TVMFFI_ASSERT(tvmffi_i_load_bits(any).head == bits.head);
}

/* Slow path of tvmffi_i_own: converts a view that is not copied bit by
   bit, and rejects a value that cannot be owned. Not inlined, so that the fast
   path needs no stack frame. */
TVMFFI_I_NOINLINE int tvmffi_i_own_unusual(const TVMFFIAny *view,
                                           TVMFFIAny *out) {
  TVMFFIObject **moved;
  TVMFFI_ASSERT(view->type_index < kTVMFFINone ||
                view->type_index >= kTVMFFIRawStr);
  switch (view->type_index) {
    case kTVMFFIRawStr:
      if (!view->v_c_str) return tvmffi_i_null(__func__, "the raw string");
      return tvmffi_i_make_string(view->v_c_str, strlen(view->v_c_str),
                                  kTVMFFIStr, out);
    case kTVMFFIByteArrayPtr:
      if (!view->v_ptr) return tvmffi_i_null(__func__, "the byte array");
      return TVMFFIBytesFromByteArray((TVMFFIByteArray *)view->v_ptr, out);
    case kTVMFFIObjectRValueRef:
      moved = (TVMFFIObject **)view->v_ptr;
      if (!moved || !*moved)
        return tvmffi_i_internal_error("RValueRef already moved");
      *out = tvmffi_obj(*moved);
      *moved = NULL;
      return 0;
    default: break;
  }
  if (view->type_index >= kTVMFFIStaticObjectBegin)
    return tvmffi_i_null(TVMFFI_I_QUOTE(TVMFFIAnyViewToOwnedAny),
                         "any_view->v_obj");
  if (view->type_index < 0 || view->type_index > kTVMFFIUnchanged)
    return tvmffi_i_type_error("%d is not the type index of a value",
                               (int)view->type_index);
  if (tvmffi_i_is_false_text(view))
    return tvmffi_i_value_error("A small string or bytes cannot have %u bytes",
                                (unsigned)view->small_str_len);
  TVMFFI_ASSERT(view->type_index > kTVMFFISmallStr);
  *out = *view;
  return 0;
}

/* Sets *bits to the owned value of a view. Returns 1, or 0 if this needs
   tvmffi_i_own_unusual. Sets the padding of a number to 0, because lookups in
   maps compare all bits of a key. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_own_usual(const TVMFFIAny *view,
                                              tvmffi_i_bits *bits) {
  int32_t index = view->type_index;
  if (index >= 0 && index < kTVMFFIRawStr) {
    *bits = tvmffi_i_make_bits(index, 0, view->v_uint64);
    return 1;
  }
  *bits = tvmffi_i_load_bits(view);
  if (index == kTVMFFISmallStr && view->small_str_len < sizeof(view->v_bytes))
    return 1;
  if (index < kTVMFFIStaticObjectBegin || !view->v_obj) return 0;
  tvmffi_i_retain(view->v_obj);
  return 1;
}

TVMFFI_I_ALWAYS_INLINE int tvmffi_i_own_bits(const TVMFFIAny *view,
                                             tvmffi_i_bits *bits) {
  TVMFFIAny owned;
  if (tvmffi_i_own_usual(view, bits)) return 0;
  TVMFFI_TRY(tvmffi_i_own_unusual(view, &owned));
  TVMFFI_ASSERT(owned.type_index >= kTVMFFISmallStr);
  *bits = tvmffi_i_load_bits(&owned);
  return 0;
}

/* Makes an owned value of a view. Inline, unlike TVMFFIAnyViewToOwnedAny. */
TVMFFI_I_INLINE int tvmffi_i_own(const TVMFFIAny *view, TVMFFIAny *out) {
  tvmffi_i_bits bits;
  TVMFFI_ASSERT(view && out);
  if (TVMFFI_I_UNLIKELY(!tvmffi_i_own_usual(view, &bits)))
    return tvmffi_i_own_unusual(view, out);
  tvmffi_i_store_bits(out, bits);
  return 0;
}

int TVMFFIAnyViewToOwnedAny(const TVMFFIAny *any_view, TVMFFIAny *out) {
  TVMFFI_I_NOT_NULL(any_view);
  TVMFFI_I_NOT_NULL(out);
  return tvmffi_i_own(any_view, out);
}

#if !TVMFFI_NO_EXTRA
TVMFFI_STATIC_ASSERT(sizeof(tvmffi_i_string) == (size_t)TVMFFI_I_TEXT_HEAD,
                     text_head);
#endif
