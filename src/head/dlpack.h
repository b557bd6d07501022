/* ======== DLPack: the types of DLPack 1.3 ================== >>head/dlpack */

#pragma once

#include "config.h"
#include "compiler.h"

/* clang-format off */
/* Declares DLPack's types under DLPack's own include guard, so a dlpack.h may
   precede or follow this file. An earlier dlpack.h must be 1.3 or a later 1.x,
   because a new major version has another layout. The owner of a managed tensor
   must call its deleter. */

#if TVMFFI_SYSTEM_DLPACK && !defined(DLPACK_DLPACK_H_)
#include <dlpack/dlpack.h>
#endif

/* Begins an enumeration of exactly 32 bits, even in C with -fshort-enums. */
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

/* The DLPack version of these declarations. */
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3

/* Linkage macros of the original dlpack.h, which other code may use. */
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

/* Flag of DLManagedTensorVersioned: the data must not be written. */
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
/* Flag of DLManagedTensorVersioned: the data is a copy that only the consumer
   uses. */
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
/* Flag of DLManagedTensorVersioned: elements under 8 bits are padded to a byte
   each, not packed. */
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

#ifdef __cplusplus
extern "C" {
#endif

/* The DLPack version of a struct. If the major version differs, the layout
   differs too: call only the deleter. A newer minor version only adds
   enumerators. */
typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

/* The kinds of devices. */
TVMFFI_I_ENUM(DLDeviceType) {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3, /* pinned by cudaMallocHost */
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9, /* Verilog simulator */
  kDLROCM = 10,
  kDLROCMHost = 11, /* pinned by hipMallocHost */
  kDLExtDev = 12,   /* reserved for experiments */
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
  kDLTrn = 18 /* AWS Trainium */
} TVMFFI_I_ENUM_NAME(DLDeviceType);

/* A device. device_id is 0 for plain, pinned and managed host memory. */
typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

/* The kinds of elements. */
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

/* The type of an element: `lanes` numbers of `bits` bits in native byte order.
   `code` is a DLDataTypeCode. Packed elements start at the least significant
   bit. */
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

/* A non-owning view of a tensor. Strides count elements, not bytes. Since
   DLPack 1.2, strides is not NULL unless ndim is 0. */
typedef struct {
  void *data; /* may be an opaque device handle; NULL if empty */
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset; /* bytes from data to the first element */
} DLTensor;

/* An owned tensor, in the older form without a version. The deleter, which may
   be NULL, also frees the struct. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx; /* private to the producer, may be NULL */
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

/* An owned tensor. The fields from version to flags never move, so the deleter
   can be called in any version. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags; /* DLPACK_FLAG_BITMASK_* */
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* The functions of DLPackExchangeAPI return 0, or -1 with an error set. They do
   not throw, and do not synchronize with a stream. */

/* Allocates *out, owned by the caller, with the device, dtype, ndim and shape
   of the borrowed prototype. Calls SetError with error_ctx on failure. */
typedef int (*DLPackManagedTensorAllocator)(
    DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
    void (*SetError)(void *error_ctx, const char *kind, const char *message));

/* Exports a borrowed Python tensor as *out, owned by the caller. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(
    void *py_object, DLManagedTensorVersioned **out);

/* Sets *out to a view of a Python tensor, valid until control returns to
   Python. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void *py_object, DLTensor *out);

/* Gets the device's current stream, or NULL for the host. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type,
                                       int32_t device_id,
                                       void **out_current_stream);

/* Takes ownership of a tensor. Makes a Python object, owned by the caller. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(
    DLManagedTensorVersioned *tensor, void **out_py_object);

/* The header of DLPackExchangeAPI, whose layout never changes. prev_api points
   to the table of an older version. */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  struct DLPackExchangeAPIHeader *prev_api;
} DLPackExchangeAPIHeader;

/* A table of functions that lives as long as the process. Only
   dltensor_from_py_object_no_sync may be NULL. */
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
