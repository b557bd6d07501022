/* ======== DLPack: the types of DLPack 1.3 ================== >>head/dlpack */

#pragma once

#include "config.h"
#include "compiler.h"

/* clang-format off */
/* The tensor exchange types under DLPack's own guard, so that a dlpack.h may
   stand before or after this file. One that stands before must be 1.3 or a
   later 1.x: a new major version has another layout. Nothing here is shared
   state; a managed tensor belongs to whoever must call its deleter. */

#if TVMFFI_SYSTEM_DLPACK && !defined(DLPACK_DLPACK_H_)
#include <dlpack/dlpack.h>
#endif

/* An enumeration of exactly 32 bits, in C even where enums are short. */
#ifdef __cplusplus
#define TVMFFI_I_ENUM(name) enum name : int32_t
#define TVMFFI_I_ENUM_NAME(name)
#else
#if TVMFFI_I_GNU && !defined(__TINYC__)
#define TVMFFI_I_ENUM(name) typedef enum __attribute__((__mode__(__SI__)))
#else
#define TVMFFI_I_ENUM(name) typedef enum
#endif
#define TVMFFI_I_ENUM_NAME(name) name
#endif

#ifdef DLPACK_DLPACK_H_

#if !defined(DLPACK_MAJOR_VERSION) || !defined(DLPACK_MINOR_VERSION)
#error "tvmffi.h needs DLPack 1.3; the dlpack.h before it is older than 1.0"
#elif DLPACK_MAJOR_VERSION < 1
#error "tvmffi.h needs DLPack 1.3; the dlpack.h before it is a 0.x"
#elif DLPACK_MAJOR_VERSION > 1
#error "tvmffi.h needs DLPack 1.3; the dlpack.h before it is 2.0 or newer"
#elif DLPACK_MINOR_VERSION < 3
#error "tvmffi.h needs DLPack 1.3; the dlpack.h before it is 1.0, 1.1 or 1.2"
#endif

#else
#define DLPACK_DLPACK_H_

#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3

#ifdef __cplusplus
#define DLPACK_EXTERN_C extern "C"
#else
#define DLPACK_EXTERN_C
#endif
#ifndef _WIN32
#define DLPACK_DLL
#elif defined(DLPACK_EXPORTS)
#define DLPACK_DLL __declspec(dllexport)
#else
#define DLPACK_DLL __declspec(dllimport)
#endif

/* Flags of DLManagedTensorVersioned. */
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
/* The producer made a copy: the consumer is its only user. */
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
/* Elements under 8 bits fill a byte each instead of being packed. */
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

#ifdef __cplusplus
extern "C" {
#endif

/* Another major version is another layout: then only the deleter may be
   called. A newer minor version only adds enumerators. */
typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

#ifdef __cplusplus
typedef enum : int32_t {
#else
TVMFFI_I_ENUM(DLDeviceType) {
#endif
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3, /* pinned by cudaMallocHost */
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9, /* Verilog simulator */
  kDLROCM = 10,
  kDLROCMHost = 11, /* pinned by hipMallocHost */
  kDLExtDev = 12,   /* reserved for trying out a new device */
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
  kDLTrn = 18 /* AWS Trainium */
} DLDeviceType;

/* device_id is 0 for plain, pinned and managed host memory. */
typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLOpaqueHandle = 3U,
  kDLBfloat = 4U,
  kDLComplex = 5U, /* real part, imaginary part */
  kDLBool = 6U,
  kDLFloat8_e3m4 = 7U,
  kDLFloat8_e4m3 = 8U,
  kDLFloat8_e4m3b11fnuz = 9U,
  kDLFloat8_e4m3fn = 10U,
  kDLFloat8_e4m3fnuz = 11U,
  kDLFloat8_e5m2 = 12U,
  kDLFloat8_e5m2fnuz = 13U,
  kDLFloat8_e8m0fnu = 14U,
  kDLFloat6_e2m3fn = 15U, /* bits is 6 */
  kDLFloat6_e3m2fn = 16U,
  kDLFloat4_e2m1fn = 17U /* bits is 4 */
} DLDataTypeCode;

/* An element is `lanes` numbers of `bits` bits of native byte order; `code` is
   a DLDataTypeCode. Packed elements start at the least significant bit. */
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

/* A view of a tensor: it owns nothing. Strides count elements; from 1.2 on
   they are given whenever ndim is not 0. */
typedef struct {
  void *data; /* possibly an opaque device handle; NULL when empty */
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset; /* from data to the first element */
} DLTensor;

/* The unversioned owner of a tensor, kept for old producers. The deleter
   frees the struct too; it may be NULL. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx; /* the producer's own, may be NULL */
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

/* The owner of a tensor. Version to flags stay where they are for ever, so
   that the deleter can always be found. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags; /* DLPACK_FLAG_BITMASK_* */
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* The exchange table of a Python tensor type: each function returns 0, or -1
   with the error set, and throws nothing. None waits for a stream. */

/* Allocates an owned *out like the borrowed prototype (its device, dtype, ndim
   and shape). On failure SetError is called with error_ctx. */
typedef int (*DLPackManagedTensorAllocator)(
    DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
    void (*SetError)(void *error_ctx, const char *kind, const char *message));

/* Exports a borrowed Python tensor as an owned *out. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(
    void *py_object, DLManagedTensorVersioned **out);

/* Fills *out with a view that is valid until control returns to Python. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void *py_object, DLTensor *out);

/* Gets the stream on which the device works now; NULL for the host. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type,
                                       int32_t device_id,
                                       void **out_current_stream);

/* Imports a tensor, which is taken, as an owned Python object. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(
    DLManagedTensorVersioned *tensor, void **out_py_object);

/* The part that never changes: prev_api leads to tables of older versions. */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  struct DLPackExchangeAPIHeader *prev_api;
} DLPackExchangeAPIHeader;

/* Lives as long as the process. Only the view function may be NULL. */
typedef struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  DLPackManagedTensorAllocator managed_tensor_allocator;
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;
  DLPackCurrentWorkStream current_work_stream;
} DLPackExchangeAPI;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* DLPACK_DLPACK_H_ */
/* clang-format on */
