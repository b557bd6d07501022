/* ======== Values ================================================ >>base/value
   plain C values to and from Any, references */
/* Converts plain C values to and from TVMFFIAny. The functions cannot fail. A
   view owns nothing: if it points to memory, the memory must outlive the view.
   The functions are inline and use only the ABI, so they work with this runtime
   and with upstream's library. */

#pragma once

#include "../head.h"
#include "reference.h"

/* Returns a view of an integer. */
TVMFFI_I_SMALL_NOINLINE TVMFFIAny tvmffi_int(int64_t x) {
  TVMFFIAny any; /* other views are made by this one */
  any.type_index = kTVMFFIInt;
  any.zero_padding = 0;
  any.v_int64 = x;
  return any;
}

/* Returns None. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_none(void) {
  TVMFFIAny any = tvmffi_int(0);
  any.type_index = kTVMFFINone;
  return any;
}

/* Returns a view of a bool, which is true unless x is 0. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_bool(int x) {
  TVMFFIAny any = tvmffi_int(x != 0);
  any.type_index = kTVMFFIBool;
  return any;
}

#if !TVMFFI_NO_FLOAT
/* Returns a view of a floating-point number. */
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

/* Returns a view of an opaque pointer, borrowed; None for NULL. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_ptr(const void *x) {
  return tvmffi_i_pointer(x ? kTVMFFIOpaquePtr : kTVMFFINone, x);
}

/* Returns a view of a borrowed, NUL-terminated string; None for NULL. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_str(const char *x) {
  return tvmffi_i_pointer(x ? kTVMFFIRawStr : kTVMFFINone, x);
}

/* Returns a view of borrowed bytes; None for NULL. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_bytes(const TVMFFIByteArray *x) {
  return tvmffi_i_pointer(x ? kTVMFFIByteArrayPtr : kTVMFFINone, x);
}

/* Returns a view of a borrowed tensor; None for NULL. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_tensor(const DLTensor *x) {
  return tvmffi_i_pointer(x ? kTVMFFIDLTensorPtr : kTVMFFINone, x);
}

/* Returns a view of a borrowed object of any type; None for NULL. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_obj(TVMFFIObjectHandle x) {
  tvmffi_i_check_alive(x);
  return tvmffi_i_pointer(x ? ((TVMFFIObject *)x)->type_index : kTVMFFINone, x);
}

/* Returns a view of a device. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_device(DLDevice x) {
  TVMFFIAny any = tvmffi_int(0);
  any.type_index = kTVMFFIDevice;
  any.v_device = x;
  return any;
}

/* Returns a view of a data type. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_dtype(DLDataType x) {
  TVMFFIAny any = tvmffi_int(0);
  any.type_index = kTVMFFIDataType;
  any.v_dtype = x;
  return any;
}

/* The type index of a slice, a view that only arguments of the interface have:
   `zero_padding` bytes at `v_c_str`, UINT32_MAX of them for 4 GB and more. */
enum { TVMFFI_I_SLICE = -2 };

/* Returns the string or bytes in `any`, borrowed from `any`, or {NULL, 0} for
   another type. The data is NUL-terminated, except for a view of a
   TVMFFIByteArray. */
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
    case TVMFFI_I_SLICE:
      r.data = any->v_c_str;
      r.size = any->zero_padding;
      break;
    case kTVMFFIRawStr:
      r.data = any->v_c_str;
      while (r.data && r.data[r.size]) ++r.size;
      break;
    default: break;
  }
  return r;
}

/* Returns `text` (NUL-terminated) with its size, borrowed from `text`, or
   {NULL, 0} for NULL. */
TVMFFI_I_INLINE TVMFFIByteArray tvmffi_byte_array(const char *text) {
  TVMFFIByteArray r = {text, 0};
  while (text && text[r.size]) ++r.size;
  return r;
}

TVMFFI_I_INLINE int tvmffi_i_same(TVMFFIByteArray text, const char *other) {
  size_t i = 0;
  while (i < text.size && other[i] && other[i] == text.data[i]) ++i;
  return i == text.size && !other[i];
}
