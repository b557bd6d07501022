/* ======== Layout: static asserts of the whole ABI ====== >>platform/layout */
/* Checks the size of every ABI struct and the offset of every field, even if
   upstream or a system header declares the struct. Not part of abi.h,
   to save a tenth of its compile time. */

#pragma once

#include "../head.h"

/* Selects a value for 64-bit pointers, 32-bit pointers, or i386. On i386 a
   struct aligns int64_t to 4 bytes. For 64-bit pointers the preprocessor
   selects, which compiles faster. */
#if UINTPTR_MAX > 0xffffffffu
#define TVMFFI_I_PICK(on64, on32, on_i386) (on64)
#else
typedef struct {
  char byte;
  int64_t word;
} tvmffi_i_align_probe;
#define TVMFFI_I_PICK(on64, on32, on_i386) \
  (offsetof(tvmffi_i_align_probe, word) == 8 ? (on32) : (on_i386))
#endif
#define TVMFFI_I_AT3(type, field, on64, on32, on_i386)             \
  TVMFFI_STATIC_ASSERT(                                            \
      offsetof(type, field) == TVMFFI_I_PICK(on64, on32, on_i386), \
      type##_##field##_offset)
#define TVMFFI_I_AT(type, field, on64, on32) \
  TVMFFI_I_AT3(type, field, on64, on32, on32)
#define TVMFFI_I_SIZE3(type, on64, on32, on_i386)                          \
  TVMFFI_STATIC_ASSERT(sizeof(type) == TVMFFI_I_PICK(on64, on32, on_i386), \
                       type##_size)
#define TVMFFI_I_SIZE(type, on64, on32) TVMFFI_I_SIZE3(type, on64, on32, on32)

TVMFFI_I_SIZE(TVMFFIObjectHandle, 8, 4);
TVMFFI_I_SIZE(size_t, 8, 4);

TVMFFI_I_AT(DLPackVersion, major, 0, 0);
TVMFFI_I_AT(DLPackVersion, minor, 4, 4);
TVMFFI_I_SIZE(DLPackVersion, 8, 8);

TVMFFI_I_AT(DLDevice, device_type, 0, 0);
TVMFFI_I_AT(DLDevice, device_id, 4, 4);
TVMFFI_I_SIZE(DLDevice, 8, 8);

TVMFFI_I_AT(DLDataType, code, 0, 0);
TVMFFI_I_AT(DLDataType, bits, 1, 1);
TVMFFI_I_AT(DLDataType, lanes, 2, 2);
TVMFFI_I_SIZE(DLDataType, 4, 4);

TVMFFI_I_AT(DLTensor, data, 0, 0);
TVMFFI_I_AT(DLTensor, device, 8, 4);
TVMFFI_I_AT(DLTensor, ndim, 16, 12);
TVMFFI_I_AT(DLTensor, dtype, 20, 16);
TVMFFI_I_AT(DLTensor, shape, 24, 20);
TVMFFI_I_AT(DLTensor, strides, 32, 24);
TVMFFI_I_AT3(DLTensor, byte_offset, 40, 32, 28);
TVMFFI_I_SIZE3(DLTensor, 48, 40, 36);

TVMFFI_I_AT(DLManagedTensor, dl_tensor, 0, 0);
TVMFFI_I_AT3(DLManagedTensor, manager_ctx, 48, 40, 36);
TVMFFI_I_AT3(DLManagedTensor, deleter, 56, 44, 40);
TVMFFI_I_SIZE3(DLManagedTensor, 64, 48, 44);

TVMFFI_I_AT(DLManagedTensorVersioned, version, 0, 0);
TVMFFI_I_AT(DLManagedTensorVersioned, manager_ctx, 8, 8);
TVMFFI_I_AT(DLManagedTensorVersioned, deleter, 16, 12);
TVMFFI_I_AT(DLManagedTensorVersioned, flags, 24, 16);
TVMFFI_I_AT(DLManagedTensorVersioned, dl_tensor, 32, 24);
TVMFFI_I_SIZE3(DLManagedTensorVersioned, 80, 64, 60);

TVMFFI_I_AT(DLPackExchangeAPIHeader, version, 0, 0);
TVMFFI_I_AT(DLPackExchangeAPIHeader, prev_api, 8, 8);
TVMFFI_I_SIZE(DLPackExchangeAPIHeader, 16, 12);

TVMFFI_I_AT(DLPackExchangeAPI, header, 0, 0);
TVMFFI_I_AT(DLPackExchangeAPI, managed_tensor_allocator, 16, 12);
TVMFFI_I_AT(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync, 24, 16);
TVMFFI_I_AT(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync, 32, 20);
TVMFFI_I_AT(DLPackExchangeAPI, dltensor_from_py_object_no_sync, 40, 24);
TVMFFI_I_AT(DLPackExchangeAPI, current_work_stream, 48, 28);
TVMFFI_I_SIZE(DLPackExchangeAPI, 56, 32);

TVMFFI_I_AT(TVMFFIVersion, major, 0, 0);
TVMFFI_I_AT(TVMFFIVersion, minor, 4, 4);
TVMFFI_I_AT(TVMFFIVersion, patch, 8, 8);
TVMFFI_I_SIZE(TVMFFIVersion, 12, 12);

TVMFFI_I_AT(TVMFFIObject, combined_ref_count, 0, 0);
TVMFFI_I_AT(TVMFFIObject, type_index, 8, 8);
TVMFFI_I_AT(TVMFFIObject, __padding, 12, 12);
TVMFFI_I_AT(TVMFFIObject, deleter, 16, 16);
TVMFFI_I_AT(TVMFFIObject, __ensure_align, 16, 16);
TVMFFI_I_SIZE(TVMFFIObject, 24, 24);

TVMFFI_I_AT(TVMFFIAny, type_index, 0, 0);
TVMFFI_I_AT(TVMFFIAny, zero_padding, 4, 4);
TVMFFI_I_AT(TVMFFIAny, small_str_len, 4, 4);
TVMFFI_I_AT(TVMFFIAny, v_int64, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_float64, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_ptr, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_c_str, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_obj, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_dtype, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_device, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_bytes, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_uint64, 8, 8);
TVMFFI_I_SIZE(TVMFFIAny, 16, 16);

TVMFFI_I_AT(TVMFFIByteArray, data, 0, 0);
TVMFFI_I_AT(TVMFFIByteArray, size, 8, 4);
TVMFFI_I_SIZE(TVMFFIByteArray, 16, 8);

TVMFFI_I_AT(TVMFFIShapeCell, data, 0, 0);
TVMFFI_I_AT(TVMFFIShapeCell, size, 8, 4);
TVMFFI_I_SIZE(TVMFFIShapeCell, 16, 8);

TVMFFI_I_AT(TVMFFISeqCell, data, 0, 0);
TVMFFI_I_AT3(TVMFFISeqCell, size, 8, 8, 4);
TVMFFI_I_AT3(TVMFFISeqCell, capacity, 16, 16, 12);
TVMFFI_I_AT3(TVMFFISeqCell, data_deleter, 24, 24, 20);
TVMFFI_I_SIZE3(TVMFFISeqCell, 32, 32, 24);

TVMFFI_I_AT(TVMFFIErrorCell, kind, 0, 0);
TVMFFI_I_AT(TVMFFIErrorCell, message, 16, 8);
TVMFFI_I_AT(TVMFFIErrorCell, backtrace, 32, 16);
TVMFFI_I_AT(TVMFFIErrorCell, update_backtrace, 48, 24);
TVMFFI_I_AT(TVMFFIErrorCell, cause_chain, 56, 28);
TVMFFI_I_AT(TVMFFIErrorCell, extra_context, 64, 32);
TVMFFI_I_SIZE(TVMFFIErrorCell, 72, 36);

TVMFFI_I_AT(TVMFFIFunctionCell, safe_call, 0, 0);
TVMFFI_I_AT(TVMFFIFunctionCell, cpp_call, 8, 4);
TVMFFI_I_SIZE(TVMFFIFunctionCell, 16, 8);

TVMFFI_I_AT(TVMFFIOpaqueObjectCell, handle, 0, 0);
TVMFFI_I_SIZE(TVMFFIOpaqueObjectCell, 8, 4);

TVMFFI_I_AT(TVMFFIObjectAllocHeader, delete_space, 0, 0);
TVMFFI_I_SIZE(TVMFFIObjectAllocHeader, 8, 4);

TVMFFI_I_AT(TVMFFICustomAllocator, allocate, 0, 0);
TVMFFI_I_AT(TVMFFICustomAllocator, context, 8, 4);
TVMFFI_I_SIZE(TVMFFICustomAllocator, 16, 8);

TVMFFI_I_AT(TVMFFIFieldInfo, name, 0, 0);
TVMFFI_I_AT(TVMFFIFieldInfo, doc, 16, 8);
TVMFFI_I_AT(TVMFFIFieldInfo, metadata, 32, 16);
TVMFFI_I_AT(TVMFFIFieldInfo, flags, 48, 24);
TVMFFI_I_AT(TVMFFIFieldInfo, size, 56, 32);
TVMFFI_I_AT(TVMFFIFieldInfo, alignment, 64, 40);
TVMFFI_I_AT(TVMFFIFieldInfo, offset, 72, 48);
TVMFFI_I_AT(TVMFFIFieldInfo, getter, 80, 56);
TVMFFI_I_AT(TVMFFIFieldInfo, setter, 88, 60);
TVMFFI_I_AT(TVMFFIFieldInfo, default_value_or_factory, 96, 64);
TVMFFI_I_AT(TVMFFIFieldInfo, field_static_type_index, 112, 80);
TVMFFI_I_SIZE3(TVMFFIFieldInfo, 120, 88, 84);

TVMFFI_I_AT(TVMFFIMethodInfo, name, 0, 0);
TVMFFI_I_AT(TVMFFIMethodInfo, doc, 16, 8);
TVMFFI_I_AT(TVMFFIMethodInfo, metadata, 32, 16);
TVMFFI_I_AT(TVMFFIMethodInfo, flags, 48, 24);
TVMFFI_I_AT(TVMFFIMethodInfo, method, 56, 32);
TVMFFI_I_SIZE(TVMFFIMethodInfo, 72, 48);

TVMFFI_I_AT(TVMFFITypeMetadata, doc, 0, 0);
TVMFFI_I_AT(TVMFFITypeMetadata, creator, 16, 8);
TVMFFI_I_AT(TVMFFITypeMetadata, total_size, 24, 12);
TVMFFI_I_AT(TVMFFITypeMetadata, structural_eq_hash_kind, 28, 16);
TVMFFI_I_SIZE(TVMFFITypeMetadata, 32, 20);

TVMFFI_I_AT(TVMFFITypeAttrColumn, data, 0, 0);
TVMFFI_I_AT(TVMFFITypeAttrColumn, size, 8, 4);
TVMFFI_I_AT(TVMFFITypeAttrColumn, begin_index, 12, 8);
TVMFFI_I_SIZE(TVMFFITypeAttrColumn, 16, 12);

TVMFFI_I_AT(TVMFFITypeInfo, type_index, 0, 0);
TVMFFI_I_AT(TVMFFITypeInfo, type_depth, 4, 4);
TVMFFI_I_AT(TVMFFITypeInfo, type_key, 8, 8);
TVMFFI_I_AT(TVMFFITypeInfo, type_ancestors, 24, 16);
TVMFFI_I_AT3(TVMFFITypeInfo, type_key_hash, 32, 24, 20);
TVMFFI_I_AT3(TVMFFITypeInfo, num_fields, 40, 32, 28);
TVMFFI_I_AT3(TVMFFITypeInfo, num_methods, 44, 36, 32);
TVMFFI_I_AT3(TVMFFITypeInfo, fields, 48, 40, 36);
TVMFFI_I_AT3(TVMFFITypeInfo, methods, 56, 44, 40);
TVMFFI_I_AT3(TVMFFITypeInfo, metadata, 64, 48, 44);
TVMFFI_I_SIZE3(TVMFFITypeInfo, 72, 56, 48);
