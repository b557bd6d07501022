/* ======== ABI: constants, structs and functions of the ABI ==== >>head/abi */
/* The constants, structs and functions of tvm/ffi/c_api.h and of
   tvm/ffi/extra/c_env_api.h under those headers' own names and guards; the
   static asserts at the end hold for whichever came first. An int function
   returns 0, or -1 with an error in the thread's slot: a NULL or impossible
   argument is a ValueError, a handle of the wrong type a TypeError, a refused
   allocation a MemoryError; other kinds are named. Any thread may call. */

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
/* Not TVMFFI_I_CAT: these names also occur inside what that one builds. A name
   is not expanded again inside its own expansion, so the paste sees it bare. */
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

#define TVM_FFI_VERSION_MAJOR 0
#define TVM_FFI_VERSION_MINOR 1
#define TVM_FFI_VERSION_PATCH 16

#ifdef _MSC_VER
#define TVM_FFI_WEAK __declspec(selectany)
#else
#define TVM_FFI_WEAK __attribute__((__weak__))
#endif

/* TVM_FFI_DLL_EXPORT always exports. On Windows TVM_FFI_DLL exports only when
   TVM_FFI_EXPORTS says so, and never imports: the same declaration then serves
   a runtime in this program, and calls into a DLL go through its stub. */
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

#if defined(__GNUC__) || defined(__clang__)
#define TVM_FFI_ATTRIBUTE_PURE __attribute__((__pure__))
#else
#define TVM_FFI_ATTRIBUTE_PURE
#endif
#endif /* TVM_FFI_C_API_H_, its macros */

/* What every declaration below begins with. */
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

typedef struct {
  uint32_t major;
  uint32_t minor;
  uint32_t patch;
} TVMFFIVersion;

/* What a TVMFFIAny holds: values below 64, objects from there on. */
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
  kTVMFFIObjectRValueRef = 10, /* v_ptr, where a handle may be taken from */
  kTVMFFISmallStr = 11,        /* v_bytes, up to 7 bytes and a NUL */
  kTVMFFISmallBytes = 12,
  kTVMFFIUnchanged = 13, /* a structural mutation left its value alone */
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
  /* TVMFFIObject, size_t count, then as many int64_t, least significant first:
     two's complement in the fewest words, and only what no int64_t holds. */
  kTVMFFIBigInt = 78,
  kTVMFFIStaticObjectEnd = 79,
  kTVMFFIDynObjectBegin = 128 /* from here on given out at run time */
} TVMFFI_I_ENUM_NAME(TVMFFITypeIndex);

/* One reference to an object, or a borrowed pointer to it. */
typedef void *TVMFFIObjectHandle;

/* What a deleter has to do: end the object, free its memory, or both. */
TVMFFI_I_ENUM(TVMFFIObjectDeleterFlagBitMask) {
  kTVMFFIObjectDeleterFlagBitMaskStrong = 1 << 0,
  kTVMFFIObjectDeleterFlagBitMaskWeak = 1 << 1,
  kTVMFFIObjectDeleterFlagBitMaskBoth = 3
} TVMFFI_I_ENUM_NAME(TVMFFIObjectDeleterFlagBitMask);

/* The head of every object. The strong count is the lower half of
   combined_ref_count, the weak count the upper; all strong references together
   hold one weak one. */
typedef struct {
  uint64_t combined_ref_count;
  int32_t type_index;
  uint32_t __padding;
  TVMFFI_I_EXTENSION union {
    void (*deleter)(void *self, int flags);
    int64_t __ensure_align; /* 8 bytes where pointers have 4 */
  };
} TVMFFIObject;

/* A value of any type. All 16 bytes count: what a value does not use is 0. */
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

/* A run of bytes, borrowed; inside a string object followed by a NUL. */
typedef struct {
  const char *data;
  size_t size;
} TVMFFIByteArray;

typedef struct {
  const int64_t *data;
  size_t size;
} TVMFFIShapeCell;

/* Of arrays and lists: data points to `capacity` TVMFFIAny, `size` in use. */
#ifdef __cplusplus
struct TVMFFISeqCell {
#else
typedef struct {
#endif
  void *data;
  int64_t size;
  int64_t capacity;
  void (*data_deleter)(void *); /* NULL: data is part of the object */
#ifdef __cplusplus
};
#else
} TVMFFISeqCell;
#endif

TVMFFI_I_ENUM(TVMFFIBacktraceUpdateMode) {
  kTVMFFIBacktraceUpdateModeReplace = 0,
  kTVMFFIBacktraceUpdateModeAppend = 1
} TVMFFI_I_ENUM_NAME(TVMFFIBacktraceUpdateMode);

/* Of an error. The backtrace has the most recent call first. The cell owns
   both handles; each may be NULL. */
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

/* A packed function. Args are borrowed; *result comes in as None or another
   value below kTVMFFIStaticObjectBegin and leaves owned by the caller. Returns
   0, -1 with an error in the thread's slot, or -2 when the environment holds
   the error. */
typedef int (*TVMFFISafeCallType)(void *handle, const TVMFFIAny *args,
                                  int32_t num_args, TVMFFIAny *result);

/* Of a function. cpp_call throws C++ exceptions; NULL unless made by C++. */
typedef struct {
  TVMFFISafeCallType safe_call;
  void *cpp_call;
} TVMFFIFunctionCell;

typedef struct {
  void *handle; /* a PyObject in Python */
} TVMFFIOpaqueObjectCell;

/* Stands right before each object that an allocator made. delete_space frees
   the allocation, given the object; NULL if the object's deleter does. The
   object's fields are gone by then. */
typedef struct {
  void (*delete_space)(void *ptr);
} TVMFFIObjectAllocHeader;

/* Where objects come from; lives as long as the process. */
typedef struct {
  /* Returns uninitialized memory for an object of `size` bytes with a filled
     TVMFFIObjectAllocHeader before it, or NULL with an error raised. May be
     called by several threads at once. */
  void *(*allocate)(size_t size, size_t alignment, int32_t type_index,
                    void *context);
  void *context; /* borrowed */
} TVMFFICustomAllocator;

/* Reads the field at `field` into *result, owned by the caller. */
typedef int (*TVMFFIFieldGetter)(void *field, TVMFFIAny *result);

/* Writes the borrowed value to the field at `field`. */
typedef int (*TVMFFIFieldSetter)(void *field, const TVMFFIAny *value);

/* Makes an object, owned by the caller, whose fields are still to be set. */
typedef int (*TVMFFIObjectCreator)(TVMFFIObjectHandle *result);

TVMFFI_I_ENUM(TVMFFIFieldFlagBitMask) {
  kTVMFFIFieldFlagBitMaskWritable = 1 << 0,
  kTVMFFIFieldFlagBitMaskHasDefault = 1 << 1,
  kTVMFFIFieldFlagBitMaskIsStaticMethod = 1 << 2,
  kTVMFFIFieldFlagBitMaskSEqHashIgnore = 1 << 3,
  kTVMFFIFieldFlagBitMaskSEqHashDefPattern = 1 << 4,
  kTVMFFIFieldFlagBitMaskDefaultFromFactory = 1 << 5, /* call it, no args */
  kTVMFFIFieldFlagBitMaskReprOff = 1 << 6,
  kTVMFFIFieldFlagBitMaskCompareOff = 1 << 7,
  kTVMFFIFieldFlagBitMaskHashOff = 1 << 8,
  kTVMFFIFieldFlagBitMaskInitOff = 1 << 9, /* no parameter of the creator */
  kTVMFFIFieldFlagBitMaskKwOnly = 1 << 10, /* a keyword-only parameter */
  /* setter is a function object called with (field address, value). */
  kTVMFFIFieldFlagBitSetterIsFunctionObj = 1 << 11,
  kTVMFFIFieldFlagBitMaskSEqHashDefSimple = 1 << 12
} TVMFFI_I_ENUM_NAME(TVMFFIFieldFlagBitMask);

/* How objects of a type are compared and hashed by structure. */
TVMFFI_I_ENUM(TVMFFISEqHashKind) {
  kTVMFFISEqHashKindUnsupported = 0,
  kTVMFFISEqHashKindTreeNode = 1,
  kTVMFFISEqHashKindFreeVar = 2, /* equal by what it was mapped to */
  kTVMFFISEqHashKindDAGNode = 3, /* sharing of nodes counts too */
  kTVMFFISEqHashKindConstTreeNode = 4, /* no free variable inside */
  kTVMFFISEqHashKindUniqueInstance = 5 /* equal only to itself */
} TVMFFI_I_ENUM_NAME(TVMFFISEqHashKind);

/* Whether variables met in a field are defined there. */
TVMFFI_I_ENUM(TVMFFIDefRegionKind) {
  kTVMFFIDefRegionKindNone = 0,    /* they are uses */
  kTVMFFIDefRegionKindPattern = 1, /* with those of their types, and inwards */
  kTVMFFIDefRegionKindSimple = 2   /* they alone; their types are uses */
} TVMFFI_I_ENUM_NAME(TVMFFIDefRegionKind);

/* A field, for reflection. All texts and values are borrowed by the caller of
   TVMFFITypeRegisterField and copied by it. */
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
  int32_t field_static_type_index; /* as declared; the value's may differ */
} TVMFFIFieldInfo;

/* A method; self is its first argument unless it is static. */
typedef struct {
  TVMFFIByteArray name;
  TVMFFIByteArray doc;
  TVMFFIByteArray metadata; /* JSON */
  int64_t flags;
  TVMFFIAny method;
} TVMFFIMethodInfo;

typedef struct {
  TVMFFIByteArray doc;
  TVMFFIObjectCreator creator; /* may be NULL */
  int32_t total_size;          /* of the object, 0 if not known */
  TVMFFISEqHashKind structural_eq_hash_kind;
} TVMFFITypeMetadata;

/* One attribute of all types: that of type t is data[t - begin_index], None
   outside [begin_index, begin_index + size). Not inherited. */
typedef struct {
  const TVMFFIAny *data;
  int32_t size;
  int32_t begin_index;
} TVMFFITypeAttrColumn;

/* A registered type. type_ancestors[d] is the ancestor of depth d, for d from
   0 to type_depth - 1. Owned by the runtime and never freed. */
#ifdef __cplusplus
struct TVMFFITypeInfo {
#else
typedef struct TVMFFITypeInfo {
#endif
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
#ifdef __cplusplus
};
#else
} TVMFFITypeInfo;
#endif

/* Writes the version of the ABI to *out_version. Cannot fail. */
TVMFFI_I_API void TVMFFIGetVersion(TVMFFIVersion *out_version);

/* Adds a strong reference to the borrowed obj. */
TVMFFI_I_API int TVMFFIObjectIncRef(TVMFFIObjectHandle obj);

/* Drops the reference obj, which is taken; the last one destroys. */
TVMFFI_I_API int TVMFFIObjectDecRef(TVMFFIObjectHandle obj);

/* Makes *out, owned by the caller, which takes handle on success and gives it
   to deleter (may be NULL) at its end. RuntimeError unless type_index is
   kTVMFFIOpaquePyObject. */
TVMFFI_I_API int TVMFFIObjectCreateOpaque(void *handle, int32_t type_index,
                                          void (*deleter)(void *handle),
                                          TVMFFIObjectHandle *out);

/* Returns the process's allocator, borrowed and never NULL. Not to be called
   while another thread sets it. */
TVMFFI_I_API TVMFFICustomAllocator *TVMFFIGetCustomAllocator(void);

/* Sets the process's allocator, borrowed for ever; NULL brings the default
   back. To be called before other threads make objects. */
TVMFFI_I_API int TVMFFISetCustomAllocator(TVMFFICustomAllocator *allocator);

/* Looks up the type index of a borrowed key, without a lock. */
TVMFFI_I_API int TVMFFITypeKeyToIndex(const TVMFFIByteArray *type_key,
                                      int32_t *out_tindex);

/* Makes a function *out, owned by the caller, which takes self on success and
   gives it to deleter (may be NULL) at its end. */
TVMFFI_I_API int TVMFFIFunctionCreate(void *self, TVMFFISafeCallType safe_call,
                                      void (*deleter)(void *self),
                                      TVMFFIObjectHandle *out);

/* Looks up a global function, without a lock. *out is owned by the caller; NULL
   and 0 are the result when there is none of that (borrowed) name. */
TVMFFI_I_API int TVMFFIFunctionGetGlobal(const TVMFFIByteArray *name,
                                         TVMFFIObjectHandle *out);

/* Turns a borrowed value into one owned by the caller: adds a reference, and
   copies raw strings and byte arrays. *out must own nothing before. */
TVMFFI_I_API int TVMFFIAnyViewToOwnedAny(const TVMFFIAny *any_view,
                                         TVMFFIAny *out);

/* Calls the borrowed func as TVMFFISafeCallType says; returns its code. */
TVMFFI_I_API int TVMFFIFunctionCall(TVMFFIObjectHandle func, TVMFFIAny *args,
                                    int32_t num_args, TVMFFIAny *result);

/* Moves the thread's error to *result, owned by the caller; NULL if none. */
TVMFFI_I_API void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle *result);

/* Makes the borrowed error the thread's, in place of an earlier one. */
TVMFFI_I_API void TVMFFIErrorSetRaised(TVMFFIObjectHandle error);

/* Raises an error of kind and message, both borrowed, with a backtrace. When
   memory is refused, the thread's error is the MemoryError. */
TVMFFI_I_API void TVMFFIErrorSetRaisedFromCStr(const char *kind,
                                               const char *message);

/* Does the same with the parts of a message put together; NULL is skipped. */
TVMFFI_I_API void TVMFFIErrorSetRaisedFromCStrParts(const char *kind,
                                                    const char **message_parts,
                                                    int32_t num_parts);

/* Makes an error *out, owned by the caller, of copied texts. It is not raised:
   the thread's slot changes only on failure. */
TVMFFI_I_API int TVMFFIErrorCreate(const TVMFFIByteArray *kind,
                                   const TVMFFIByteArray *message,
                                   const TVMFFIByteArray *backtrace,
                                   TVMFFIObjectHandle *out);

/* Does the same with a cause and a context, borrowed, each may be NULL. */
TVMFFI_I_API int TVMFFIErrorCreateWithCauseAndExtraContext(
    const TVMFFIByteArray *kind, const TVMFFIByteArray *message,
    const TVMFFIByteArray *backtrace, TVMFFIObjectHandle cause_chain,
    TVMFFIObjectHandle extra_context, TVMFFIObjectHandle *out);

/* Makes a tensor *out, owned by the caller, of `from`, which is taken on
   success. require_alignment counts bytes (0: any); require_contiguous is a
   bool. Data that is not so is a RuntimeError. */
TVMFFI_I_API int TVMFFITensorFromDLPack(DLManagedTensor *from,
                                        int32_t require_alignment,
                                        int32_t require_contiguous,
                                        TVMFFIObjectHandle *out);

/* Exports the borrowed tensor as *out, owned by the caller, sharing its data
   and keeping the tensor alive until the deleter is called. */
TVMFFI_I_API int TVMFFITensorToDLPack(TVMFFIObjectHandle from,
                                      DLManagedTensor **out);

/* As TVMFFITensorFromDLPack; another major version is refused. */
TVMFFI_I_API int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned *from,
                                                 int32_t require_alignment,
                                                 int32_t require_contiguous,
                                                 TVMFFIObjectHandle *out);

/* As TVMFFITensorToDLPack. */
TVMFFI_I_API int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from,
                                               DLManagedTensorVersioned **out);

/* Makes a tensor *out, owned by the caller, described by the borrowed
   prototype (its shape and strides are copied) and keeping the borrowed source
   alive. Does not check that the data lie inside source. */
TVMFFI_I_API int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source,
                                              const DLTensor *prototype,
                                              TVMFFIObjectHandle *out);

/* Makes a string *out, owned by the caller, of borrowed bytes: small up to 7
   bytes, an object above. */
TVMFFI_I_API int TVMFFIStringFromByteArray(const TVMFFIByteArray *input,
                                           TVMFFIAny *out);

/* Makes bytes in the same way. */
TVMFFI_I_API int TVMFFIBytesFromByteArray(const TVMFFIByteArray *input,
                                          TVMFFIAny *out);

/* Makes an integer *out, owned by the caller, of borrowed 64-bit words, least
   significant first, two's complement; none is 0. What fits becomes a plain
   int. ValueError when the size is no multiple of 8. */
TVMFFI_I_API int TVMFFIBigIntFromByteArray(const TVMFFIByteArray *input,
                                           TVMFFIAny *out);

/* Returns the words of an int or big integer, borrowed as long as *value stays
   as it is; no bytes for another type. */
TVMFFI_I_API TVMFFIByteArray
TVMFFIBigIntGetContentByteArray(const TVMFFIAny *value);

/* Parses the borrowed name of a data type, "float32x4" say; ValueError. */
TVMFFI_I_API int TVMFFIDataTypeFromString(const TVMFFIByteArray *str,
                                          DLDataType *out);

/* Prints a borrowed data type to a string *out, owned by the caller. A code
   without a name is a ValueError. */
TVMFFI_I_API int TVMFFIDataTypeToString(const DLDataType *dtype,
                                        TVMFFIAny *out);

/* Puts the borrowed function f into the global table under a copied name.
   RuntimeError when the name is there and allow_override is 0. */
TVMFFI_I_API int TVMFFIFunctionSetGlobal(const TVMFFIByteArray *name,
                                         TVMFFIObjectHandle f,
                                         int allow_override);

/* Does the same with a method's name, function, doc and metadata. */
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

/* Sets an attribute of a type; name and value are borrowed and copied. */
TVMFFI_I_API int TVMFFITypeRegisterAttr(int32_t type_index,
                                        const TVMFFIByteArray *attr_name,
                                        const TVMFFIAny *attr_value);

/* Returns the column of a borrowed attribute name, borrowed for ever, without
   a lock; NULL if no type has it. */
TVMFFI_I_API const TVMFFITypeAttrColumn *
TVMFFIGetTypeAttrColumn(const TVMFFIByteArray *attr_name);

/* Returns the stack as text, most recent call first, borrowed until this
   thread's next call. filename and func, borrowed, may be NULL; a
   cross_ffi_boundary of 0 stops at the first FFI call. */
TVMFFI_I_API const TVMFFIByteArray *TVMFFIBacktrace(const char *filename,
                                                    int lineno,
                                                    const char *func,
                                                    int cross_ffi_boundary);

/* Registers a type and returns its index, or that of the same type registered
   before. A static_type_index of -1 asks for a free index; a parent of -1 means
   a root, one of -2 only asks: -2 is the answer when the borrowed key is not
   known. A conflict returns -1 with an error that names both sides. */
TVMFFI_I_API int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray *type_key,
                                               int32_t static_type_index,
                                               int32_t type_depth,
                                               int32_t num_child_slots,
                                               int32_t child_slots_can_overflow,
                                               int32_t parent_type_index);

/* Returns a type, borrowed for ever, without a lock; NULL if not registered. */
TVMFFI_I_API TVM_FFI_ATTRIBUTE_PURE const TVMFFITypeInfo *
TVMFFIGetTypeInfo(int32_t type_index);

/* Fills *handle_addr by init_func unless it is not NULL, once however many
   threads ask; init_func may init other handles. Returns the code of init_func
   when it fails; a NULL result is a RuntimeError. */
TVMFFI_I_API int TVMFFIHandleInitOnce(void **handle_addr,
                                      int (*init_func)(void **result));

/* Sets *handle_addr to NULL and gives the handle to deinit_func, once however
   many threads ask; nothing when it is NULL already. */
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

/* A stream of the device's own API, borrowed. */
typedef void *TVMFFIStreamHandle;

/* Sets this thread's current stream of a device; the earlier one goes to
   *opt_out_original_stream, which may be NULL. */
TVMFFI_I_API int
TVMFFIEnvSetStream(int32_t device_type, int32_t device_id,
                   TVMFFIStreamHandle stream,
                   TVMFFIStreamHandle *opt_out_original_stream);

/* Returns this thread's current stream of a device; NULL if none was set. */
TVMFFI_I_API TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type,
                                                   int32_t device_id);

/* Sets this thread's tensor allocator, and also the one of all threads without
   their own when write_to_global_context is not 0. This thread's earlier one
   goes to *opt_out_original_allocator, which may be NULL. */
TVMFFI_I_API int TVMFFIEnvSetDLPackManagedTensorAllocator(
    DLPackManagedTensorAllocator allocator, int write_to_global_context,
    DLPackManagedTensorAllocator *opt_out_original_allocator);

/* Returns this thread's tensor allocator, else the global one, else NULL. */
TVMFFI_I_API DLPackManagedTensorAllocator
TVMFFIEnvGetDLPackManagedTensorAllocator(void);

/* Allocates a tensor *out, owned by the caller, of the borrowed prototype's
   device, dtype and shape, by the current allocator. RuntimeError when there is
   none, or that allocator's own error. */
TVMFFI_I_API int TVMFFIEnvTensorAlloc(DLTensor *prototype,
                                      TVMFFIObjectHandle *out);

/* Asks the environment whether a signal came; when it did, returns -1 and the
   environment holds the error. */
TVMFFI_I_API int TVMFFIEnvCheckSignals(void);

/* Registers a function of the environment: PyErr_CheckSignals,
   PyGILState_Ensure or PyGILState_Release; another name is a ValueError. */
TVMFFI_I_API int TVMFFIEnvRegisterCAPI(const char *name, void *symbol);

/* Looks up a function in the imports of a borrowed module; *out is borrowed
   from the module. RuntimeError when there is none. */
TVMFFI_I_API int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx,
                                               const char *func_name,
                                               TVMFFIObjectHandle *out);

/* Registers a symbol that libraries get when they are loaded; name is copied,
   symbol borrowed for ever. */
TVMFFI_I_API int TVMFFIEnvModRegisterContextSymbol(const char *name,
                                                   void *symbol);

/* Registers a symbol of the system library; name is copied, symbol borrowed
   for ever. */
TVMFFI_I_API int TVMFFIEnvModRegisterSystemLibSymbol(const char *name,
                                                     void *symbol);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TVM_FFI_EXTRA_C_ENV_API_H_ */

/* The cell of an object: what follows its head. */
#define TVMFFI_I_CELL(type, obj) ((type *)(void *)((TVMFFIObject *)(obj) + 1))

/* Without 64-bit registers, clang's runtime library does it, which may be
   missing. */
#if (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 5)) && \
    UINTPTR_MAX > UINT32_MAX
#define TVMFFI_I_HAS_MUL_OVERFLOW 1
#else
#define TVMFFI_I_HAS_MUL_OVERFLOW 0
#endif

/* Returns the bytes inside a small string or bytes (borrowed). Cuts a length
   that is larger than what a small value can hold. */
TVMFFI_I_INLINE TVMFFIByteArray tvmffi_i_small_bytes(const TVMFFIAny *value) {
  TVMFFIByteArray bytes;
  bytes.data = value->v_bytes;
  bytes.size = value->small_str_len;
  if (bytes.size >= sizeof(value->v_bytes))
    bytes.size = sizeof(value->v_bytes) - 1;
  return bytes;
}

/* Accessors: plain address arithmetic on borrowed, valid objects of the right
   type. Upstream has them in C++ only; there they stay plain inline, so that a
   program may hold both texts. */
#if defined(TVMFFI_I_OWN_C_API) || !defined(__cplusplus)
#ifdef __cplusplus
#define TVMFFI_I_ACCESSOR inline
#else
#define TVMFFI_I_ACCESSOR TVMFFI_I_INLINE
#endif

TVMFFI_I_ACCESSOR int32_t TVMFFIObjectGetTypeIndex(TVMFFIObjectHandle obj) {
  return ((TVMFFIObject *)obj)->type_index;
}

/* Returns the bytes inside a small string or bytes, of which there are 7 at
   most. */
TVMFFI_I_ACCESSOR TVMFFIByteArray
TVMFFISmallBytesGetContentByteArray(const TVMFFIAny *value) {
  return tvmffi_i_small_bytes(value);
}

TVMFFI_I_ACCESSOR TVMFFIByteArray *
TVMFFIBytesGetByteArrayPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIByteArray, obj);
}

TVMFFI_I_ACCESSOR TVMFFIErrorCell *
TVMFFIErrorGetCellPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIErrorCell, obj);
}

TVMFFI_I_ACCESSOR TVMFFIFunctionCell *
TVMFFIFunctionGetCellPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIFunctionCell, obj);
}

TVMFFI_I_ACCESSOR TVMFFIOpaqueObjectCell *
TVMFFIOpaqueObjectGetCellPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIOpaqueObjectCell, obj);
}

TVMFFI_I_ACCESSOR TVMFFIShapeCell *
TVMFFIShapeGetCellPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIShapeCell, obj);
}

TVMFFI_I_ACCESSOR DLTensor *TVMFFITensorGetDLTensorPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(DLTensor, obj);
}

TVMFFI_I_ACCESSOR DLDevice TVMFFIDLDeviceFromIntPair(int32_t device_type,
                                                     int32_t device_id) {
  DLDevice device;
  device.device_type = (DLDeviceType)device_type;
  device.device_id = device_id;
  return device;
}
#endif

#if TVMFFI_DYNAMIC
/* The functions of the runtime that was chosen. Below, each name of the ABI is
   a pointer from this table; a name in the list of a macro's own is not. */
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

