/* ======== ABI: constants, structs and functions of the ABI ==== >>head/abi */
/* Declares the constants, structs and functions of tvm/ffi/c_api.h and
   tvm/ffi/extra/c_env_api.h, with the names and include guards of those
   headers. If one of those headers comes first, static asserts check the layout
   of its structs.

   A function that returns int returns 0 on success. On failure it raises an
   error, which becomes the thread's pending error, and returns -1. The error is
   a ValueError for a NULL or invalid argument, a TypeError for a handle of the
   wrong type, and a MemoryError for a failed allocation. The functions'
   comments name other errors. A function of another type cannot fail, unless
   its comment says otherwise. All functions are thread-safe. */

/* clang-format off */

#pragma once

#include "config.h"
#include "compiler.h"
#include "atomic.h"
#include "dlpack.h"

#if defined(TVM_FFI_C_API_H_) || defined(TVM_FFI_EXTRA_C_ENV_API_H_)
#if TVMFFI_STATIC
#error "tvmffi.h: with TVMFFI_STATIC it must come before tvm/ffi/c_api.h"
#endif
#ifdef TVMFFI_PREFIX
#error "tvmffi.h: with TVMFFI_PREFIX it must come before tvm/ffi/c_api.h"
#endif
#if TVMFFI_DYNAMIC
#error "tvmffi.h: with TVMFFI_DYNAMIC it must come before tvm/ffi/c_api.h"
#endif
#endif

#if TVMFFI_DYNAMIC && !defined(TVMFFI_PREFIX)
#define TVMFFI_PREFIX tvmffi_i_own_
#endif
#ifdef TVMFFI_PREFIX
/* A macro is not expanded inside its own expansion. So the names below stay
   unchanged before `##`. TVMFFI_I_CAT is not used, because its own arguments
   may contain the names. */
#define TVMFFI_I_RENAME__(prefix, name) prefix##name
#define TVMFFI_I_RENAME_(prefix, name) TVMFFI_I_RENAME__(prefix, name)
#define TVMFFI_I_RENAME(name) TVMFFI_I_RENAME_(TVMFFI_PREFIX, name)
#define TVMFFIAnyViewToOwnedAny TVMFFI_I_RENAME(TVMFFIAnyViewToOwnedAny)
#define TVMFFIBacktrace TVMFFI_I_RENAME(TVMFFIBacktrace)
#define TVMFFIBigIntFromByteArray TVMFFI_I_RENAME(TVMFFIBigIntFromByteArray)
#define TVMFFIBigIntGetContentByteArray \
  TVMFFI_I_RENAME(TVMFFIBigIntGetContentByteArray)
#define TVMFFIBytesFromByteArray TVMFFI_I_RENAME(TVMFFIBytesFromByteArray)
#define TVMFFIDataTypeFromString TVMFFI_I_RENAME(TVMFFIDataTypeFromString)
#define TVMFFIDataTypeToString TVMFFI_I_RENAME(TVMFFIDataTypeToString)
#define TVMFFIEnvCheckSignals TVMFFI_I_RENAME(TVMFFIEnvCheckSignals)
#define TVMFFIEnvGetDLPackManagedTensorAllocator \
  TVMFFI_I_RENAME(TVMFFIEnvGetDLPackManagedTensorAllocator)
#define TVMFFIEnvGetStream TVMFFI_I_RENAME(TVMFFIEnvGetStream)
#define TVMFFIEnvModLookupFromImports \
  TVMFFI_I_RENAME(TVMFFIEnvModLookupFromImports)
#define TVMFFIEnvModRegisterContextSymbol \
  TVMFFI_I_RENAME(TVMFFIEnvModRegisterContextSymbol)
#define TVMFFIEnvModRegisterSystemLibSymbol \
  TVMFFI_I_RENAME(TVMFFIEnvModRegisterSystemLibSymbol)
#define TVMFFIEnvRegisterCAPI TVMFFI_I_RENAME(TVMFFIEnvRegisterCAPI)
#define TVMFFIEnvSetDLPackManagedTensorAllocator \
  TVMFFI_I_RENAME(TVMFFIEnvSetDLPackManagedTensorAllocator)
#define TVMFFIEnvSetStream TVMFFI_I_RENAME(TVMFFIEnvSetStream)
#define TVMFFIEnvTensorAlloc TVMFFI_I_RENAME(TVMFFIEnvTensorAlloc)
#define TVMFFIErrorCreate TVMFFI_I_RENAME(TVMFFIErrorCreate)
#define TVMFFIErrorCreateWithCauseAndExtraContext \
  TVMFFI_I_RENAME(TVMFFIErrorCreateWithCauseAndExtraContext)
#define TVMFFIErrorMoveFromRaised TVMFFI_I_RENAME(TVMFFIErrorMoveFromRaised)
#define TVMFFIErrorSetRaised TVMFFI_I_RENAME(TVMFFIErrorSetRaised)
#define TVMFFIErrorSetRaisedFromCStr \
  TVMFFI_I_RENAME(TVMFFIErrorSetRaisedFromCStr)
#define TVMFFIErrorSetRaisedFromCStrParts \
  TVMFFI_I_RENAME(TVMFFIErrorSetRaisedFromCStrParts)
#define TVMFFIFunctionCall TVMFFI_I_RENAME(TVMFFIFunctionCall)
#define TVMFFIFunctionCreate TVMFFI_I_RENAME(TVMFFIFunctionCreate)
#define TVMFFIFunctionGetGlobal TVMFFI_I_RENAME(TVMFFIFunctionGetGlobal)
#define TVMFFIFunctionSetGlobal TVMFFI_I_RENAME(TVMFFIFunctionSetGlobal)
#define TVMFFIFunctionSetGlobalFromMethodInfo \
  TVMFFI_I_RENAME(TVMFFIFunctionSetGlobalFromMethodInfo)
#define TVMFFIGetCustomAllocator TVMFFI_I_RENAME(TVMFFIGetCustomAllocator)
#define TVMFFIGetTypeAttrColumn TVMFFI_I_RENAME(TVMFFIGetTypeAttrColumn)
#define TVMFFIGetTypeInfo TVMFFI_I_RENAME(TVMFFIGetTypeInfo)
#define TVMFFIGetVersion TVMFFI_I_RENAME(TVMFFIGetVersion)
#define TVMFFIHandleDeinitOnce TVMFFI_I_RENAME(TVMFFIHandleDeinitOnce)
#define TVMFFIHandleInitOnce TVMFFI_I_RENAME(TVMFFIHandleInitOnce)
#define TVMFFIObjectCreateOpaque TVMFFI_I_RENAME(TVMFFIObjectCreateOpaque)
#define TVMFFIObjectDecRef TVMFFI_I_RENAME(TVMFFIObjectDecRef)
#define TVMFFIObjectIncRef TVMFFI_I_RENAME(TVMFFIObjectIncRef)
#define TVMFFISetCustomAllocator TVMFFI_I_RENAME(TVMFFISetCustomAllocator)
#define TVMFFIStringFromByteArray TVMFFI_I_RENAME(TVMFFIStringFromByteArray)
#define TVMFFITensorCreateUnsafeView \
  TVMFFI_I_RENAME(TVMFFITensorCreateUnsafeView)
#define TVMFFITensorFromDLPack TVMFFI_I_RENAME(TVMFFITensorFromDLPack)
#define TVMFFITensorFromDLPackVersioned \
  TVMFFI_I_RENAME(TVMFFITensorFromDLPackVersioned)
#define TVMFFITensorToDLPack TVMFFI_I_RENAME(TVMFFITensorToDLPack)
#define TVMFFITensorToDLPackVersioned \
  TVMFFI_I_RENAME(TVMFFITensorToDLPackVersioned)
#define TVMFFITypeGetOrAllocIndex TVMFFI_I_RENAME(TVMFFITypeGetOrAllocIndex)
#define TVMFFITypeKeyToIndex TVMFFI_I_RENAME(TVMFFITypeKeyToIndex)
#define TVMFFITypeRegisterAttr TVMFFI_I_RENAME(TVMFFITypeRegisterAttr)
#define TVMFFITypeRegisterField TVMFFI_I_RENAME(TVMFFITypeRegisterField)
#define TVMFFITypeRegisterMetadata TVMFFI_I_RENAME(TVMFFITypeRegisterMetadata)
#define TVMFFITypeRegisterMethod TVMFFI_I_RENAME(TVMFFITypeRegisterMethod)
#endif

#ifndef TVM_FFI_C_API_H_
#define TVM_FFI_C_API_H_
#define TVMFFI_I_OWN_C_API 1

/* The version of the ABI, which TVMFFIGetVersion returns. */
#define TVM_FFI_VERSION_MAJOR 0
#define TVM_FFI_VERSION_MINOR 1
#define TVM_FFI_VERSION_PATCH 16

/* Attribute that allows the same definition in several files. */
#ifdef _MSC_VER
#define TVM_FFI_WEAK __declspec(selectany)
#else
#define TVM_FFI_WEAK __attribute__((__weak__))
#endif

/* TVM_FFI_DLL_EXPORT always exports. On Windows, TVM_FFI_DLL exports only if
   TVM_FFI_EXPORTS is defined. Neither imports, so the same declarations work
   whether the runtime is linked in or is in a DLL. */
#if defined(_WIN32)
#ifndef TVM_FFI_DLL_EXPORT
#define TVM_FFI_DLL_EXPORT __declspec(dllexport)
#endif
#if !defined(TVM_FFI_DLL) && !defined(TVM_FFI_EXPORTS)
#define TVM_FFI_DLL
#endif
#elif !defined(TVM_FFI_DLL_EXPORT)
#if defined(__EMSCRIPTEN__)
#define TVM_FFI_DLL_EXPORT __attribute__((__used__, __visibility__("default")))
#else
#define TVM_FFI_DLL_EXPORT __attribute__((__visibility__("default")))
#endif
#endif
#ifndef TVM_FFI_DLL
#define TVM_FFI_DLL TVM_FFI_DLL_EXPORT
#endif

/* Attribute of a function that has no effect except its result. */
#if defined(__GNUC__) || defined(__clang__)
#define TVM_FFI_ATTRIBUTE_PURE __attribute__((__pure__))
#else
#define TVM_FFI_ATTRIBUTE_PURE
#endif
#endif /* TVM_FFI_C_API_H_, its macros */

/* Linkage of every declaration below. */
#if TVMFFI_STATIC
#define TVMFFI_I_API static TVMFFI_I_UNUSED
#elif TVMFFI_DYNAMIC
#define TVMFFI_I_API extern TVMFFI_I_HIDDEN
#else
#define TVMFFI_I_API TVM_FFI_DLL
#endif

#ifdef TVMFFI_I_OWN_C_API
#ifdef __cplusplus
extern "C" {
#endif

/* A version of the ABI. */
typedef struct {
  uint32_t major;
  uint32_t minor;
  uint32_t patch;
} TVMFFIVersion;

/* The type index of a TVMFFIAny: plain values below 64, objects from 64 on. */
TVMFFI_I_ENUM(TVMFFITypeIndex) {
  kTVMFFIAny = -1, /* "any type" in a description, never in a value */
  kTVMFFINone = 0,
  kTVMFFIInt = 1,         /* v_int64 */
  kTVMFFIBool = 2,        /* v_int64, 0 or 1 */
  kTVMFFIFloat = 3,       /* v_float64 */
  kTVMFFIOpaquePtr = 4,   /* v_ptr */
  kTVMFFIDataType = 5,    /* v_dtype */
  kTVMFFIDevice = 6,      /* v_device */
  kTVMFFIDLTensorPtr = 7, /* v_ptr, a borrowed DLTensor */
  kTVMFFIRawStr = 8,      /* v_c_str, borrowed: never in an owned value */
  kTVMFFIByteArrayPtr = 9,     /* v_ptr, borrowed: never in an owned value */
  kTVMFFIObjectRValueRef = 10, /* v_ptr, the address of a handle to move from */
  kTVMFFISmallStr = 11,        /* v_bytes, up to 7 bytes and a NUL */
  kTVMFFISmallBytes = 12,
  kTVMFFIUnchanged = 13, /* a mutation returns this for no change */
  kTVMFFIStaticObjectBegin = 64,
  kTVMFFIObject = 64,
  kTVMFFIStr = 65,   /* TVMFFIObject, TVMFFIByteArray */
  kTVMFFIBytes = 66, /* TVMFFIObject, TVMFFIByteArray */
  kTVMFFIError = 67, /* TVMFFIObject, TVMFFIErrorCell */
  kTVMFFIFunction = 68, /* TVMFFIObject, TVMFFIFunctionCell */
  kTVMFFIShape = 69,    /* TVMFFIObject, TVMFFIShapeCell */
  kTVMFFITensor = 70,   /* TVMFFIObject, DLTensor */
  kTVMFFIArray = 71,    /* TVMFFIObject, TVMFFISeqCell */
  kTVMFFIMap = 72,
  kTVMFFIModule = 73,
  kTVMFFIOpaquePyObject = 74, /* TVMFFIObject, TVMFFIOpaqueObjectCell */
  kTVMFFIList = 75,           /* TVMFFIObject, TVMFFISeqCell */
  kTVMFFIDict = 76,
  kTVMFFIVisitInterrupt = 77,
  /* An integer that does not fit in int64_t. Layout: TVMFFIObject, size_t
     count, then `count` int64_t words in the shortest two's complement form,
     least significant first. */
  kTVMFFIBigInt = 78,
  kTVMFFIStaticObjectEnd = 79,
  kTVMFFIDynObjectBegin = 128 /* assigned at run time from here on */
} TVMFFI_I_ENUM_NAME(TVMFFITypeIndex);

/* A pointer to an object. A handle owns a strong reference or is borrowed. */
typedef void *TVMFFIObjectHandle;

/* Tells a deleter to destroy the content, free the memory, or both. */
TVMFFI_I_ENUM(TVMFFIObjectDeleterFlagBitMask) {
  kTVMFFIObjectDeleterFlagBitMaskStrong = 1 << 0,
  kTVMFFIObjectDeleterFlagBitMaskWeak = 1 << 1,
  kTVMFFIObjectDeleterFlagBitMaskBoth = 3
} TVMFFI_I_ENUM_NAME(TVMFFIObjectDeleterFlagBitMask);

/* The header of every object. The lower half of combined_ref_count is the
   strong count, the upper half the weak count. All strong references together
   own one weak reference. */
typedef struct {
  uint64_t combined_ref_count;
  int32_t type_index;
  uint32_t __padding;
  TVMFFI_I_EXTENSION union {
    void (*deleter)(void *self, int flags);
    int64_t __ensure_align; /* 8 bytes even if a pointer has 4 */
  };
} TVMFFIObject;

/* A value of any type. Unused bytes are 0. */
typedef struct {
  int32_t type_index;
  TVMFFI_I_EXTENSION union {
    uint32_t zero_padding;
    uint32_t small_str_len; /* of a small string or bytes */
  };
  TVMFFI_I_EXTENSION union {
    int64_t v_int64;
    double v_float64;
    void *v_ptr;
    const char *v_c_str;
    TVMFFIObject *v_obj;
    DLDataType v_dtype;
    DLDevice v_device;
    char v_bytes[8];
    uint64_t v_uint64; /* all bits, for hashing */
  };
} TVMFFIAny;

/* Borrowed bytes. Inside a string object, a NUL follows the bytes. */
typedef struct {
  const char *data;
  size_t size;
} TVMFFIByteArray;

/* The data of a shape, which follows the TVMFFIObject header. */
typedef struct {
  const int64_t *data;
  size_t size;
} TVMFFIShapeCell;

/* The data of an array or list, which follows the TVMFFIObject header. The
   member `data` has memory for `capacity` TVMFFIAny, of which `size` are in
   use. */
typedef struct TVMFFISeqCell {
  void *data;
  int64_t size;
  int64_t capacity;
  void (*data_deleter)(void *); /* NULL if data is part of the object */
} TVMFFISeqCell;

/* How an error's update_backtrace changes its backtrace. */
TVMFFI_I_ENUM(TVMFFIBacktraceUpdateMode) {
  kTVMFFIBacktraceUpdateModeReplace = 0,
  kTVMFFIBacktraceUpdateModeAppend = 1
} TVMFFI_I_ENUM_NAME(TVMFFIBacktraceUpdateMode);

/* The data of an error, which follows the TVMFFIObject header. The backtrace
   has the most recent call first. The error owns cause_chain and extra_context,
   which may be NULL. */
typedef struct {
  TVMFFIByteArray kind;
  TVMFFIByteArray message;
  TVMFFIByteArray backtrace;
  /* Changes the backtrace; update_mode is a TVMFFIBacktraceUpdateMode. */
  void (*update_backtrace)(TVMFFIObjectHandle self,
                           const TVMFFIByteArray *backtrace,
                           int32_t update_mode);
  TVMFFIObjectHandle cause_chain;
  TVMFFIObjectHandle extra_context;
} TVMFFIErrorCell;

/* The C function behind a packed function. `args` are borrowed. Before the
   call, *result must be None or another value below kTVMFFIStaticObjectBegin.
   After the call, the caller owns *result. Returns 0 on success, -1 if the
   thread has a pending error, or -2 if the environment (Python, say) holds the
   error. */
typedef int (*TVMFFISafeCallType)(void *handle, const TVMFFIAny *args,
                                  int32_t num_args, TVMFFIAny *result);

/* The data of a function, which follows the TVMFFIObject header. cpp_call
   throws C++ exceptions; it is NULL unless C++ made the function. */
typedef struct {
  TVMFFISafeCallType safe_call;
  void *cpp_call;
} TVMFFIFunctionCell;

/* The data of an opaque object, which follows the TVMFFIObject header. */
typedef struct {
  void *handle; /* a PyObject in Python */
} TVMFFIOpaqueObjectCell;

/* Precedes each object that a TVMFFICustomAllocator allocates. delete_space
   frees the object's memory after its fields are destroyed. It is NULL if the
   object's deleter frees the memory. */
typedef struct {
  void (*delete_space)(void *ptr);
} TVMFFIObjectAllocHeader;

/* Allocates objects. Must live as long as the process. */
typedef struct {
  /* Allocates an object of `size` bytes. Fills the TVMFFIObjectAllocHeader
     before the object. Returns the uninitialized object, or NULL with an error
     raised. Thread-safe. */
  void *(*allocate)(size_t size, size_t alignment, int32_t type_index,
                    void *context);
  void *context; /* borrowed */
} TVMFFICustomAllocator;

/* Reads the field at `field` into *result, owned by the caller. */
typedef int (*TVMFFIFieldGetter)(void *field, TVMFFIAny *result);

/* Writes the borrowed value to the field at `field`. */
typedef int (*TVMFFIFieldSetter)(void *field, const TVMFFIAny *value);

/* Makes an object, owned by the caller, with unset fields. */
typedef int (*TVMFFIObjectCreator)(TVMFFIObjectHandle *result);

/* Flags of a field, or of a method. SEqHash is structural equality and hash. */
TVMFFI_I_ENUM(TVMFFIFieldFlagBitMask) {
  /* Python may set the field. */
  kTVMFFIFieldFlagBitMaskWritable = 1 << 0,
  /* default_value_or_factory is valid. */
  kTVMFFIFieldFlagBitMaskHasDefault = 1 << 1,
  /* The method gets no self. */
  kTVMFFIFieldFlagBitMaskIsStaticMethod = 1 << 2,
  /* Structural equality and hash ignore the field (a source location, say). A
     free variable's name needs this flag: otherwise variables with different
     names are never equal. */
  kTVMFFIFieldFlagBitMaskSEqHashIgnore = 1 << 3,
  /* Free variables in the field are definitions:
     kTVMFFIDefRegionKindPattern. */
  kTVMFFIFieldFlagBitMaskSEqHashDefPattern = 1 << 4,
  /* default_value_or_factory is a function without arguments that makes a new
     default for each object. kTVMFFIFieldFlagBitMaskHasDefault must also be
     set. */
  kTVMFFIFieldFlagBitMaskDefaultFromFactory = 1 << 5,
  /* ffi.ReprPrint omits the field. */
  kTVMFFIFieldFlagBitMaskReprOff = 1 << 6,
  /* ffi.RecursiveHash, ffi.RecursiveEq, _Lt, _Le, _Gt and _Ge ignore the
     field. */
  kTVMFFIFieldFlagBitMaskCompareOff = 1 << 7,
  /* ffi.RecursiveHash ignores the field. */
  kTVMFFIFieldFlagBitMaskHashOff = 1 << 8,
  /* The constructor has no parameter for the field. The field gets its default
     value, or zero. */
  kTVMFFIFieldFlagBitMaskInitOff = 1 << 9,
  /* The field is a keyword-only parameter of the constructor. */
  kTVMFFIFieldFlagBitMaskKwOnly = 1 << 10,
  /* setter is a function object called with (field address, value). */
  kTVMFFIFieldFlagBitSetterIsFunctionObj = 1 << 11,
  /* Free variables in the field are definitions: kTVMFFIDefRegionKindSimple. */
  kTVMFFIFieldFlagBitMaskSEqHashDefSimple = 1 << 12
} TVMFFI_I_ENUM_NAME(TVMFFIFieldFlagBitMask);

/* How structural equality and hash treat the objects of a type. */
TVMFFI_I_ENUM(TVMFFISEqHashKind) {
  /* Comparing or hashing raises a TypeError. */
  kTVMFFISEqHashKindUnsupported = 0,
  /* Compares the fields. Whether a child is shared does not matter. */
  kTVMFFISEqHashKindTreeNode = 1,
  /* A free variable, equal to itself. Two variables with equal fields are also
     equal if both were defined at the same position of the two compared
     values. */
  kTVMFFISEqHashKindFreeVar = 2,
  /* Compares the fields. An object that occurs several times on one side must
     correspond to one object on the other side. */
  kTVMFFISEqHashKindDAGNode = 3,
  /* Compares the fields. The object has no free variables inside, so it equals
     itself without a comparison. */
  kTVMFFISEqHashKindConstTreeNode = 4,
  /* An object is equal only to itself. */
  kTVMFFISEqHashKindUniqueInstance = 5
} TVMFFI_I_ENUM_NAME(TVMFFISEqHashKind);

/* Whether a field defines free variables (such as the parameters of a function)
   or uses them. */
TVMFFI_I_ENUM(TVMFFIDefRegionKind) {
  /* A free variable is only used here. */
  kTVMFFIDefRegionKindNone = 0,
  /* A free variable is defined here, and so are the variables in its own
     fields, such as its type. */
  kTVMFFIDefRegionKindPattern = 1,
  /* A free variable is defined here. The variables in its own fields, such as
     its type, are only used. */
  kTVMFFIDefRegionKindSimple = 2
} TVMFFI_I_ENUM_NAME(TVMFFIDefRegionKind);

/* Describes a field, for reflection. TVMFFITypeRegisterField copies the
   borrowed strings and values. */
typedef struct {
  TVMFFIByteArray name;
  TVMFFIByteArray doc;
  TVMFFIByteArray metadata; /* JSON */
  int64_t flags;            /* TVMFFIFieldFlagBitMask */
  int64_t size;
  int64_t alignment;
  int64_t offset; /* from the start of the object */
  TVMFFIFieldGetter getter;
  void *setter; /* a TVMFFIFieldSetter, or a function object: see flags */
  TVMFFIAny default_value_or_factory;
  int32_t field_static_type_index; /* the declared type; a value's may differ */
} TVMFFIFieldInfo;

/* Describes a method. Its first argument is self, unless the method is
   static. */
typedef struct {
  TVMFFIByteArray name;
  TVMFFIByteArray doc;
  TVMFFIByteArray metadata; /* JSON */
  int64_t flags;
  TVMFFIAny method;
} TVMFFIMethodInfo;

/* Describes a type, except for its fields and methods.
   TVMFFITypeRegisterMetadata copies the borrowed struct. */
typedef struct {
  TVMFFIByteArray doc;
  TVMFFIObjectCreator creator; /* may be NULL */
  int32_t total_size;          /* of an object, 0 if unknown */
  TVMFFISEqHashKind structural_eq_hash_kind;
} TVMFFITypeMetadata;

/* The values of one attribute for all types. Type index t has data[t -
   begin_index], or None if t is outside [begin_index, begin_index + size).
   Types do not inherit attributes. */
typedef struct {
  const TVMFFIAny *data;
  int32_t size;
  int32_t begin_index;
} TVMFFITypeAttrColumn;

/* A registered type. type_ancestors[d] is the ancestor at depth d, for d from 0
   to type_depth - 1. The runtime owns the struct and never frees it. */
typedef struct TVMFFITypeInfo {
  int32_t type_index;
  int32_t type_depth;
  TVMFFIByteArray type_key;
  const struct TVMFFITypeInfo **type_ancestors;
  uint64_t type_key_hash;
  int32_t num_fields;
  int32_t num_methods;
  const TVMFFIFieldInfo *fields;
  const TVMFFIMethodInfo *methods;
  const TVMFFITypeMetadata *metadata; /* NULL if none was registered */
} TVMFFITypeInfo;

/* Writes the version of the ABI to *out_version. Cannot fail. */
TVMFFI_I_API void TVMFFIGetVersion(TVMFFIVersion *out_version);

/* Adds a strong reference to the borrowed obj; the caller owns it. */
TVMFFI_I_API int TVMFFIObjectIncRef(TVMFFIObjectHandle obj);

/* Takes ownership of one strong reference to obj, and releases it. The last
   release destroys obj. */
TVMFFI_I_API int TVMFFIObjectDecRef(TVMFFIObjectHandle obj);

/* Makes an opaque object *out, owned by the caller. On success the object owns
   handle and calls deleter(handle) when it is destroyed. deleter may be NULL.
   Raises a RuntimeError unless type_index is kTVMFFIOpaquePyObject. */
TVMFFI_I_API int TVMFFIObjectCreateOpaque(void *handle, int32_t type_index,
                                          void (*deleter)(void *handle),
                                          TVMFFIObjectHandle *out);

/* Returns the process's allocator, which is never NULL and lives as long as the
   process. No other thread may set the allocator during the call. */
TVMFFI_I_API TVMFFICustomAllocator *TVMFFIGetCustomAllocator(void);

/* Sets the process's allocator, which must live as long as the process. NULL
   restores the default. Call this before other threads make objects. */
TVMFFI_I_API int TVMFFISetCustomAllocator(TVMFFICustomAllocator *allocator);

/* Looks up the type index of a borrowed type key, without a lock. Raises an
   InternalError for an unknown key. */
TVMFFI_I_API int TVMFFITypeKeyToIndex(const TVMFFIByteArray *type_key,
                                      int32_t *out_tindex);

/* Makes a function *out, owned by the caller. On success the function owns self
   and calls deleter(self) when it is destroyed. deleter may be NULL. */
TVMFFI_I_API int TVMFFIFunctionCreate(void *self, TVMFFISafeCallType safe_call,
                                      void (*deleter)(void *self),
                                      TVMFFIObjectHandle *out);

/* Looks up a global function by its borrowed name, without a lock. The caller
   owns *out. For an unknown name, sets *out to NULL and returns 0. */
TVMFFI_I_API int TVMFFIFunctionGetGlobal(const TVMFFIByteArray *name,
                                         TVMFFIObjectHandle *out);

/* Converts a borrowed value to *out, owned by the caller: adds a reference, and
   copies raw strings and byte arrays. *out must own nothing before the call. */
TVMFFI_I_API int TVMFFIAnyViewToOwnedAny(const TVMFFIAny *any_view,
                                         TVMFFIAny *out);

/* Calls the borrowed func and returns its code: see TVMFFISafeCallType. The
   caller owns *result. */
TVMFFI_I_API int TVMFFIFunctionCall(TVMFFIObjectHandle func, TVMFFIAny *args,
                                    int32_t num_args, TVMFFIAny *result);

/* Moves the thread's pending error to *result, owned by the caller. *result is
   NULL if the thread has no error. */
TVMFFI_I_API void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle *result);

/* Makes the borrowed error the thread's pending error. An earlier pending error
   is released. */
TVMFFI_I_API void TVMFFIErrorSetRaised(TVMFFIObjectHandle error);

/* Raises an error with a backtrace, or a MemoryError if an allocation fails.
   kind and message are borrowed. */
TVMFFI_I_API void TVMFFIErrorSetRaisedFromCStr(const char *kind,
                                               const char *message);

/* Raises an error with a backtrace, or a MemoryError if an allocation fails.
   The message joins the parts; NULL parts are skipped. All strings are
   borrowed. */
TVMFFI_I_API void TVMFFIErrorSetRaisedFromCStrParts(const char *kind,
                                                    const char **message_parts,
                                                    int32_t num_parts);

/* Makes an error *out, owned by the caller, from copies of the strings. Does
   not raise *out. */
TVMFFI_I_API int TVMFFIErrorCreate(const TVMFFIByteArray *kind,
                                   const TVMFFIByteArray *message,
                                   const TVMFFIByteArray *backtrace,
                                   TVMFFIObjectHandle *out);

/* Makes an error *out, owned by the caller, from copies of the strings.
   cause_chain and extra_context are borrowed and may be NULL. Does not raise
   *out. */
TVMFFI_I_API int TVMFFIErrorCreateWithCauseAndExtraContext(
    const TVMFFIByteArray *kind, const TVMFFIByteArray *message,
    const TVMFFIByteArray *backtrace, TVMFFIObjectHandle cause_chain,
    TVMFFIObjectHandle extra_context, TVMFFIObjectHandle *out);

/* Makes a tensor *out, owned by the caller. On success the tensor owns `from`.
   require_alignment is in bytes; 0 allows any. require_contiguous is 0 or 1.
   Raises a RuntimeError if the data is not aligned or not contiguous. */
TVMFFI_I_API int TVMFFITensorFromDLPack(DLManagedTensor *from,
                                        int32_t require_alignment,
                                        int32_t require_contiguous,
                                        TVMFFIObjectHandle *out);

/* Exports the borrowed tensor as *out, owned by the caller. *out shares the
   data and keeps the tensor alive until its deleter is called. */
TVMFFI_I_API int TVMFFITensorToDLPack(TVMFFIObjectHandle from,
                                      DLManagedTensor **out);

/* Does the same as TVMFFITensorFromDLPack for a versioned struct. Raises a
   RuntimeError for another major version of DLPack. */
TVMFFI_I_API int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned *from,
                                                 int32_t require_alignment,
                                                 int32_t require_contiguous,
                                                 TVMFFIObjectHandle *out);

/* Does the same as TVMFFITensorToDLPack with a versioned struct. */
TVMFFI_I_API int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from,
                                               DLManagedTensorVersioned **out);

/* Makes a tensor *out, owned by the caller, that views memory of the borrowed
   source and keeps source alive. The borrowed prototype describes the tensor;
   its shape and strides are copied. Its strides must not be NULL. Does not
   check that the data lies inside source. */
TVMFFI_I_API int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source,
                                              const DLTensor *prototype,
                                              TVMFFIObjectHandle *out);

/* Makes a string *out, owned by the caller, from borrowed bytes. Up to 7 bytes
   are stored in *out, more in an object. */
TVMFFI_I_API int TVMFFIStringFromByteArray(const TVMFFIByteArray *input,
                                           TVMFFIAny *out);

/* Makes bytes *out, owned by the caller, from borrowed bytes. Up to 7 bytes are
   stored in *out, more in an object. */
TVMFFI_I_API int TVMFFIBytesFromByteArray(const TVMFFIByteArray *input,
                                          TVMFFIAny *out);

/* Makes an integer *out, owned by the caller, from a borrowed two's complement
   number in 64-bit words, least significant first. An empty input is 0. A value
   that fits in int64_t becomes a plain int. Raises a ValueError if the size is
   not a multiple of 8. */
TVMFFI_I_API int TVMFFIBigIntFromByteArray(const TVMFFIByteArray *input,
                                           TVMFFIAny *out);

/* Returns the 64-bit words of an int or big integer, borrowed while *value is
   unchanged. For another type, returns {NULL, 0} with a TypeError. */
TVMFFI_I_API TVMFFIByteArray
TVMFFIBigIntGetContentByteArray(const TVMFFIAny *value);

/* Parses the borrowed name of a data type, such as "float32x4". Raises a
   ValueError for an invalid name. */
TVMFFI_I_API int TVMFFIDataTypeFromString(const TVMFFIByteArray *str,
                                          DLDataType *out);

/* Writes the name of a borrowed data type to a string *out, owned by the
   caller. Raises a ValueError if dtype->code has no name. */
TVMFFI_I_API int TVMFFIDataTypeToString(const DLDataType *dtype,
                                        TVMFFIAny *out);

/* Registers the borrowed function f globally under a copy of name. Raises a
   RuntimeError if the name exists and allow_override is 0. */
TVMFFI_I_API int TVMFFIFunctionSetGlobal(const TVMFFIByteArray *name,
                                         TVMFFIObjectHandle f,
                                         int allow_override);

/* Registers a global function with the borrowed method's name, function, doc
   and metadata. */
TVMFFI_I_API int
TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo *method_info,
                                      int allow_override);

/* Adds a field to a type; the borrowed info is copied. */
TVMFFI_I_API int TVMFFITypeRegisterField(int32_t type_index,
                                         const TVMFFIFieldInfo *info);

/* Adds a method to a type; the borrowed info is copied. */
TVMFFI_I_API int TVMFFITypeRegisterMethod(int32_t type_index,
                                          const TVMFFIMethodInfo *info);

/* Sets the metadata of a type; the borrowed struct is copied. */
TVMFFI_I_API int TVMFFITypeRegisterMetadata(int32_t type_index,
                                            const TVMFFITypeMetadata *metadata);

/* Sets an attribute of a type. name and value are borrowed and copied. */
TVMFFI_I_API int TVMFFITypeRegisterAttr(int32_t type_index,
                                        const TVMFFIByteArray *attr_name,
                                        const TVMFFIAny *attr_value);

/* Returns the column of an attribute, or NULL, without an error, if no type has
   the attribute. The column lives as long as the process. The name is borrowed.
   Takes no lock. The first request for a built-in attribute allocates the
   column; without memory it raises a MemoryError. */
TVMFFI_I_API const TVMFFITypeAttrColumn *
TVMFFIGetTypeAttrColumn(const TVMFFIByteArray *attr_name);

/* Returns the call stack as text, most recent call first; the text is empty if
   an allocation fails. It is borrowed until this thread calls TVMFFIBacktrace
   again, with TVMFFI_NO_BACKTRACE also until this thread raises an error.
   filename and func are borrowed and may be NULL. If cross_ffi_boundary is 0,
   the text ends at the first FFI call. */
TVMFFI_I_API const TVMFFIByteArray *TVMFFIBacktrace(const char *filename,
                                                    int lineno,
                                                    const char *func,
                                                    int cross_ffi_boundary);

/* Registers a type under a borrowed key and returns the type index. A type that
   is already registered keeps its index. A static_type_index of -1 requests a
   free index. A parent_type_index of -1 means no parent. With a
   parent_type_index of -2, only looks up the key and returns -2 if the key is
   unknown. If the arguments conflict with a registered type, raises an error
   and returns -1. */
TVMFFI_I_API int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray *type_key,
                                               int32_t static_type_index,
                                               int32_t type_depth,
                                               int32_t num_child_slots,
                                               int32_t child_slots_can_overflow,
                                               int32_t parent_type_index);

/* Returns the description of a type, or NULL with an InternalError if the type
   is not registered. The description lives as long as the process. Takes no
   lock. */
TVMFFI_I_API TVM_FFI_ATTRIBUTE_PURE const TVMFFITypeInfo *
TVMFFIGetTypeInfo(int32_t type_index);

/* If *handle_addr is NULL, sets *handle_addr to the result of init_func, owned
   by the caller. Only one of several concurrent threads calls init_func. In
   this runtime init_func may initialise other handles; upstream's library
   deadlocks then. Returns init_func's code if init_func fails. Raises a
   RuntimeError if the result is NULL. */
TVMFFI_I_API int TVMFFIHandleInitOnce(void **handle_addr,
                                      int (*init_func)(void **result));

/* Sets *handle_addr to NULL and passes the old handle to deinit_func, which
   frees it. Only one of several concurrent threads calls deinit_func. Does
   nothing if *handle_addr is NULL. */
TVMFFI_I_API int TVMFFIHandleDeinitOnce(void **handle_addr,
                                        int (*deinit_func)(void *handle));

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TVMFFI_I_OWN_C_API */

#ifndef TVM_FFI_EXTRA_C_ENV_API_H_
#define TVM_FFI_EXTRA_C_ENV_API_H_
#ifdef __cplusplus
extern "C" {
#endif

/* A borrowed stream of the device's own API, such as a cudaStream_t. */
typedef void *TVMFFIStreamHandle;

/* Sets this thread's current stream of a device. Stores the previous stream in
   *opt_out_original_stream, if not NULL. */
TVMFFI_I_API int
TVMFFIEnvSetStream(int32_t device_type, int32_t device_id,
                   TVMFFIStreamHandle stream,
                   TVMFFIStreamHandle *opt_out_original_stream);

/* Returns this thread's current stream of a device, borrowed from the code that
   set it, or NULL if none was set. */
TVMFFI_I_API TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type,
                                                   int32_t device_id);

/* Sets this thread's tensor allocator. If write_to_global_context is not 0,
   also sets the allocator of all threads without their own. Stores this
   thread's previous allocator in *opt_out_original_allocator, if not NULL. */
TVMFFI_I_API int TVMFFIEnvSetDLPackManagedTensorAllocator(
    DLPackManagedTensorAllocator allocator, int write_to_global_context,
    DLPackManagedTensorAllocator *opt_out_original_allocator);

/* Returns this thread's tensor allocator, else the global one, else NULL. */
TVMFFI_I_API DLPackManagedTensorAllocator
TVMFFIEnvGetDLPackManagedTensorAllocator(void);

/* Allocates a tensor *out, owned by the caller, with the current allocator and
   the borrowed prototype's device, dtype and shape. Raises a RuntimeError if no
   allocator is set, or the allocator's own error. */
TVMFFI_I_API int TVMFFIEnvTensorAlloc(DLTensor *prototype,
                                      TVMFFIObjectHandle *out);

/* Returns 0, or -1 if the environment (Python, say) has a pending signal and
   now holds the error. */
TVMFFI_I_API int TVMFFIEnvCheckSignals(void);

/* Registers one of Python's functions PyErr_CheckSignals, PyGILState_Ensure and
   PyGILState_Release. Raises a ValueError for another name. */
TVMFFI_I_API int TVMFFIEnvRegisterCAPI(const char *name, void *symbol);

/* Looks up a function in the imports of a borrowed module, then among the
   global functions. library_ctx is the address of the module's C++ object, one
   pointer before its handle; tvmffi_module_find accepts the handle. *out is
   borrowed from the module. Raises a RuntimeError for an unknown name. */
TVMFFI_I_API int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx,
                                               const char *func_name,
                                               TVMFFIObjectHandle *out);

/* Registers an address that each library loaded later receives in its variable
   `name`. name is copied; symbol must live as long as the process. */
TVMFFI_I_API int TVMFFIEnvModRegisterContextSymbol(const char *name,
                                                   void *symbol);

/* Registers a symbol that ffi.SystemLib finds. name is copied; symbol must live
   as long as the process. */
TVMFFI_I_API int TVMFFIEnvModRegisterSystemLibSymbol(const char *name,
                                                     void *symbol);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TVM_FFI_EXTRA_C_ENV_API_H_ */

/* Returns the data that follows an object's TVMFFIObject header. */
#define TVMFFI_I_CELL(type, obj) ((type *)(void *)((TVMFFIObject *)(obj) + 1))

/* On 32-bit targets, clang's __builtin_mul_overflow calls its runtime library,
   which may be missing. */
#if (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 5)) && \
    UINTPTR_MAX > UINT32_MAX
#define TVMFFI_I_HAS_MUL_OVERFLOW 1
#else
#define TVMFFI_I_HAS_MUL_OVERFLOW 0
#endif

/* Returns the borrowed bytes inside a small string or bytes. Limits an invalid
   length to the capacity. */
TVMFFI_I_INLINE TVMFFIByteArray tvmffi_i_small_bytes(const TVMFFIAny *value) {
  TVMFFIByteArray bytes;
  bytes.data = value->v_bytes;
  bytes.size = value->small_str_len;
  if (bytes.size >= sizeof(value->v_bytes))
    bytes.size = sizeof(value->v_bytes) - 1;
  return bytes;
}

/* The accessors below take a borrowed, valid object of the right type and check
   nothing. Their results are borrowed from the object. In C++ the accessors are
   `inline`, not static, as in upstream's header, so a program may include both
   headers. */
#if defined(TVMFFI_I_OWN_C_API) || !defined(__cplusplus)
#ifdef __cplusplus
#define TVMFFI_I_ACCESSOR inline
#else
#define TVMFFI_I_ACCESSOR TVMFFI_I_INLINE
#endif

/* Returns the type index of an object. */
TVMFFI_I_ACCESSOR int32_t TVMFFIObjectGetTypeIndex(TVMFFIObjectHandle obj) {
  return ((TVMFFIObject *)obj)->type_index;
}

/* Returns the bytes inside a small string or bytes, at most 7, borrowed from
   *value. */
TVMFFI_I_ACCESSOR TVMFFIByteArray
TVMFFISmallBytesGetContentByteArray(const TVMFFIAny *value) {
  return tvmffi_i_small_bytes(value);
}

/* Returns the bytes of a string or bytes object, borrowed from obj. */
TVMFFI_I_ACCESSOR TVMFFIByteArray *
TVMFFIBytesGetByteArrayPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIByteArray, obj);
}

/* Returns the data of an error object, borrowed from obj. */
TVMFFI_I_ACCESSOR TVMFFIErrorCell *
TVMFFIErrorGetCellPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIErrorCell, obj);
}

/* Returns the data of a function object, borrowed from obj. */
TVMFFI_I_ACCESSOR TVMFFIFunctionCell *
TVMFFIFunctionGetCellPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIFunctionCell, obj);
}

/* Returns the data of an opaque object, borrowed from obj. */
TVMFFI_I_ACCESSOR TVMFFIOpaqueObjectCell *
TVMFFIOpaqueObjectGetCellPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIOpaqueObjectCell, obj);
}

/* Returns the data of a shape object, borrowed from obj. */
TVMFFI_I_ACCESSOR TVMFFIShapeCell *
TVMFFIShapeGetCellPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIShapeCell, obj);
}

/* Returns the DLTensor of a tensor object, borrowed from obj. */
TVMFFI_I_ACCESSOR DLTensor *TVMFFITensorGetDLTensorPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(DLTensor, obj);
}

/* Makes a device. */
TVMFFI_I_ACCESSOR DLDevice TVMFFIDLDeviceFromIntPair(int32_t device_type,
                                                     int32_t device_id) {
  DLDevice device;
  device.device_type = (DLDeviceType)device_type;
  device.device_id = device_id;
  return device;
}
#endif

#if TVMFFI_DYNAMIC
/* Lists the functions of the ABI. Each name becomes a macro for a pointer to
   the chosen runtime's function. */
#define TVMFFI_I_EACH_FUNCTION(F) \
  F(TVMFFIAnyViewToOwnedAny) \
  F(TVMFFIBacktrace) \
  F(TVMFFIBigIntFromByteArray) \
  F(TVMFFIBigIntGetContentByteArray) \
  F(TVMFFIBytesFromByteArray) \
  F(TVMFFIDataTypeFromString) \
  F(TVMFFIDataTypeToString) \
  F(TVMFFIEnvCheckSignals) \
  F(TVMFFIEnvGetDLPackManagedTensorAllocator) \
  F(TVMFFIEnvGetStream) \
  F(TVMFFIEnvModLookupFromImports) \
  F(TVMFFIEnvModRegisterContextSymbol) \
  F(TVMFFIEnvModRegisterSystemLibSymbol) \
  F(TVMFFIEnvRegisterCAPI) \
  F(TVMFFIEnvSetDLPackManagedTensorAllocator) \
  F(TVMFFIEnvSetStream) \
  F(TVMFFIEnvTensorAlloc) \
  F(TVMFFIErrorCreate) \
  F(TVMFFIErrorCreateWithCauseAndExtraContext) \
  F(TVMFFIErrorMoveFromRaised) \
  F(TVMFFIErrorSetRaised) \
  F(TVMFFIErrorSetRaisedFromCStr) \
  F(TVMFFIErrorSetRaisedFromCStrParts) \
  F(TVMFFIFunctionCall) \
  F(TVMFFIFunctionCreate) \
  F(TVMFFIFunctionGetGlobal) \
  F(TVMFFIFunctionSetGlobal) \
  F(TVMFFIFunctionSetGlobalFromMethodInfo) \
  F(TVMFFIGetCustomAllocator) \
  F(TVMFFIGetTypeAttrColumn) \
  F(TVMFFIGetTypeInfo) \
  F(TVMFFIGetVersion) \
  F(TVMFFIHandleDeinitOnce) \
  F(TVMFFIHandleInitOnce) \
  F(TVMFFIObjectCreateOpaque) \
  F(TVMFFIObjectDecRef) \
  F(TVMFFIObjectIncRef) \
  F(TVMFFISetCustomAllocator) \
  F(TVMFFIStringFromByteArray) \
  F(TVMFFITensorCreateUnsafeView) \
  F(TVMFFITensorFromDLPack) \
  F(TVMFFITensorFromDLPackVersioned) \
  F(TVMFFITensorToDLPack) \
  F(TVMFFITensorToDLPackVersioned) \
  F(TVMFFITypeGetOrAllocIndex) \
  F(TVMFFITypeKeyToIndex) \
  F(TVMFFITypeRegisterAttr) \
  F(TVMFFITypeRegisterField) \
  F(TVMFFITypeRegisterMetadata) \
  F(TVMFFITypeRegisterMethod)

#if !TVMFFI_I_GNU
#error "tvmffi.h: TVMFFI_DYNAMIC needs a GNU compiler: it asks for typeof"
#elif defined(__cplusplus)
#define TVMFFI_I_API_MEMBER(name) decltype(&name) at_##name;
#else
#define TVMFFI_I_API_MEMBER(name) __typeof__(&name) at_##name;
#endif
typedef struct {
  TVMFFI_I_EACH_FUNCTION(TVMFFI_I_API_MEMBER)
} tvmffi_i_api;

/* Fills *out from a library, in which `find`, such as dlsym, finds symbols.
   Returns 0 if the library is NULL, lacks a function or has another version of
   the ABI. */
TVMFFI_I_UNUSED static int tvmffi_i_fill_api(
    tvmffi_i_api *out, void *library, void *(*find)(void *, const char *)) {
#define TVMFFI_I_QUOTED(name) #name,
  static const char *const names[] = {TVMFFI_I_EACH_FUNCTION(TVMFFI_I_QUOTED)};
  union {
    void *symbol[sizeof(names) / sizeof(names[0])];
    tvmffi_i_api api;
  } found;
  TVMFFIVersion version;
  size_t i;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    found.symbol[i] = library ? find(library, names[i]) : NULL;
    if (!found.symbol[i]) return 0;
  }
  *out = found.api;
  out->at_TVMFFIGetVersion(&version);
  return version.major == TVM_FFI_VERSION_MAJOR &&
         version.minor == TVM_FFI_VERSION_MINOR;
}

#define tvmffi_i_chosen TVMFFI_I_RENAME_(TVMFFI_PREFIX, tvmffi_i_chosen)
#define tvmffi_i_choose TVMFFI_I_RENAME_(TVMFFI_PREFIX, tvmffi_i_choose)
#ifdef __cplusplus
extern "C" {
#endif
#if TVMFFI_STATIC
static const tvmffi_i_api *tvmffi_i_chosen;
#else
extern TVMFFI_I_HIDDEN const tvmffi_i_api *tvmffi_i_chosen;
#endif
TVMFFI_I_API const tvmffi_i_api *tvmffi_i_choose(void);
#ifdef __cplusplus
} /* extern "C" */
#endif

TVMFFI_I_INLINE const tvmffi_i_api *tvmffi_i_runtime(void) {
  const tvmffi_i_api *chosen = TVMFFI_I_LOAD(&tvmffi_i_chosen);
  return TVMFFI_I_LIKELY(chosen) ? chosen : tvmffi_i_choose();
}
#undef TVMFFI_I_RENAME
#define TVMFFI_I_RENAME(name) (tvmffi_i_runtime()->at_##name)
#endif /* TVMFFI_DYNAMIC */
/* clang-format on */
