// Written by packaging/rust/bindings.py from tvmffi.h. Do not edit.

use core::ffi::{c_char, c_int, c_void};
use core::mem::{offset_of, size_of};

/// Flag of DLManagedTensorVersioned: the data is a copy that only the consumer
/// uses.
pub const DLPACK_FLAG_BITMASK_IS_COPIED: u64 = 1 << 1;

/// Flag of DLManagedTensorVersioned: elements under 8 bits are padded to a byte
/// each, not packed.
pub const DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED: u64 = 1 << 2;

/// Flag of DLManagedTensorVersioned: the data must not be written.
pub const DLPACK_FLAG_BITMASK_READ_ONLY: u64 = 1 << 0;

/// The DLPack version of these declarations.
pub const DLPACK_MAJOR_VERSION: u32 = 1;

pub const DLPACK_MINOR_VERSION: u32 = 3;

/// The version of the ABI, which TVMFFIGetVersion returns.
pub const TVM_FFI_VERSION_MAJOR: u32 = 0;

pub const TVM_FFI_VERSION_MINOR: u32 = 1;

pub const TVM_FFI_VERSION_PATCH: u32 = 16;

/// The DLPack version of a struct. If the major version differs, the layout
/// differs too: call only the deleter. A newer minor version only adds
/// enumerators.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLPackVersion {
    pub major: u32,
    pub minor: u32,
}

/// The kinds of devices.
pub type DLDeviceType = i32;
pub const kDLCPU: DLDeviceType = 1;
pub const kDLCUDA: DLDeviceType = 2;
pub const kDLCUDAHost: DLDeviceType = 3;
pub const kDLOpenCL: DLDeviceType = 4;
pub const kDLVulkan: DLDeviceType = 7;
pub const kDLMetal: DLDeviceType = 8;
pub const kDLVPI: DLDeviceType = 9;
pub const kDLROCM: DLDeviceType = 10;
pub const kDLROCMHost: DLDeviceType = 11;
pub const kDLExtDev: DLDeviceType = 12;
pub const kDLCUDAManaged: DLDeviceType = 13;
pub const kDLOneAPI: DLDeviceType = 14;
pub const kDLWebGPU: DLDeviceType = 15;
pub const kDLHexagon: DLDeviceType = 16;
pub const kDLMAIA: DLDeviceType = 17;
pub const kDLTrn: DLDeviceType = 18;

/// A device. device_id is 0 for plain, pinned and managed host memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLDevice {
    pub device_type: DLDeviceType,
    pub device_id: i32,
}

/// The kinds of elements.
pub type DLDataTypeCode = i32;
pub const kDLInt: DLDataTypeCode = 0;
pub const kDLUInt: DLDataTypeCode = 1;
pub const kDLFloat: DLDataTypeCode = 2;
pub const kDLOpaqueHandle: DLDataTypeCode = 3;
pub const kDLBfloat: DLDataTypeCode = 4;
pub const kDLComplex: DLDataTypeCode = 5;
pub const kDLBool: DLDataTypeCode = 6;
pub const kDLFloat8_e3m4: DLDataTypeCode = 7;
pub const kDLFloat8_e4m3: DLDataTypeCode = 8;
pub const kDLFloat8_e4m3b11fnuz: DLDataTypeCode = 9;
pub const kDLFloat8_e4m3fn: DLDataTypeCode = 10;
pub const kDLFloat8_e4m3fnuz: DLDataTypeCode = 11;
pub const kDLFloat8_e5m2: DLDataTypeCode = 12;
pub const kDLFloat8_e5m2fnuz: DLDataTypeCode = 13;
pub const kDLFloat8_e8m0fnu: DLDataTypeCode = 14;
pub const kDLFloat6_e2m3fn: DLDataTypeCode = 15;
pub const kDLFloat6_e3m2fn: DLDataTypeCode = 16;
pub const kDLFloat4_e2m1fn: DLDataTypeCode = 17;

/// The type of an element: `lanes` numbers of `bits` bits in native byte order.
/// `code` is a DLDataTypeCode. Packed elements start at the least significant
/// bit.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLDataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

/// A non-owning view of a tensor. Strides count elements, not bytes. Since
/// DLPack 1.2, strides is not NULL unless ndim is 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLTensor {
    pub data: *mut c_void,
    pub device: DLDevice,
    pub ndim: i32,
    pub dtype: DLDataType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// An owned tensor, in the older form without a version. The deleter, which may
/// be NULL, also frees the struct.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLManagedTensor {
    pub dl_tensor: DLTensor,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// An owned tensor. The fields from version to flags never move, so the deleter
/// can be called in any version.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLManagedTensorVersioned {
    pub version: DLPackVersion,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    pub flags: u64,
    pub dl_tensor: DLTensor,
}

/// Allocates \*out, owned by the caller, with the device, dtype, ndim and shape
/// of the borrowed prototype. Calls SetError with error_ctx on failure.
pub type DLPackManagedTensorAllocator = Option<unsafe extern "C" fn(*mut DLTensor, *mut *mut DLManagedTensorVersioned, *mut c_void, Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char)>) -> c_int>;

/// Exports a borrowed Python tensor as \*out, owned by the caller.
pub type DLPackManagedTensorFromPyObjectNoSync = Option<unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int>;

/// Sets \*out to a view of a Python tensor, valid until control returns to
/// Python.
pub type DLPackDLTensorFromPyObjectNoSync = Option<unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int>;

/// Gets the device's current stream, or NULL for the host.
pub type DLPackCurrentWorkStream = Option<unsafe extern "C" fn(DLDeviceType, i32, *mut *mut c_void) -> c_int>;

/// Takes ownership of a tensor. Makes a Python object, owned by the caller.
pub type DLPackManagedTensorToPyObjectNoSync = Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int>;

/// The header of DLPackExchangeAPI, whose layout never changes. prev_api points
/// to the table of an older version.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLPackExchangeAPIHeader {
    pub version: DLPackVersion,
    pub prev_api: *mut DLPackExchangeAPIHeader,
}

/// A table of functions that lives as long as the process. Only
/// dltensor_from_py_object_no_sync may be NULL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLPackExchangeAPI {
    pub header: DLPackExchangeAPIHeader,
    pub managed_tensor_allocator: DLPackManagedTensorAllocator,
    pub managed_tensor_from_py_object_no_sync: DLPackManagedTensorFromPyObjectNoSync,
    pub managed_tensor_to_py_object_no_sync: DLPackManagedTensorToPyObjectNoSync,
    pub dltensor_from_py_object_no_sync: DLPackDLTensorFromPyObjectNoSync,
    pub current_work_stream: DLPackCurrentWorkStream,
}

/// A version of the ABI.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIVersion {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

/// The type index of a TVMFFIAny: plain values below 64, objects from 64 on.
pub type TVMFFITypeIndex = i32;
pub const kTVMFFIAny: TVMFFITypeIndex = -1;
pub const kTVMFFINone: TVMFFITypeIndex = 0;
pub const kTVMFFIInt: TVMFFITypeIndex = 1;
pub const kTVMFFIBool: TVMFFITypeIndex = 2;
pub const kTVMFFIFloat: TVMFFITypeIndex = 3;
pub const kTVMFFIOpaquePtr: TVMFFITypeIndex = 4;
pub const kTVMFFIDataType: TVMFFITypeIndex = 5;
pub const kTVMFFIDevice: TVMFFITypeIndex = 6;
pub const kTVMFFIDLTensorPtr: TVMFFITypeIndex = 7;
pub const kTVMFFIRawStr: TVMFFITypeIndex = 8;
pub const kTVMFFIByteArrayPtr: TVMFFITypeIndex = 9;
pub const kTVMFFIObjectRValueRef: TVMFFITypeIndex = 10;
pub const kTVMFFISmallStr: TVMFFITypeIndex = 11;
pub const kTVMFFISmallBytes: TVMFFITypeIndex = 12;
pub const kTVMFFIUnchanged: TVMFFITypeIndex = 13;
pub const kTVMFFIStaticObjectBegin: TVMFFITypeIndex = 64;
pub const kTVMFFIObject: TVMFFITypeIndex = 64;
pub const kTVMFFIStr: TVMFFITypeIndex = 65;
pub const kTVMFFIBytes: TVMFFITypeIndex = 66;
pub const kTVMFFIError: TVMFFITypeIndex = 67;
pub const kTVMFFIFunction: TVMFFITypeIndex = 68;
pub const kTVMFFIShape: TVMFFITypeIndex = 69;
pub const kTVMFFITensor: TVMFFITypeIndex = 70;
pub const kTVMFFIArray: TVMFFITypeIndex = 71;
pub const kTVMFFIMap: TVMFFITypeIndex = 72;
pub const kTVMFFIModule: TVMFFITypeIndex = 73;
pub const kTVMFFIOpaquePyObject: TVMFFITypeIndex = 74;
pub const kTVMFFIList: TVMFFITypeIndex = 75;
pub const kTVMFFIDict: TVMFFITypeIndex = 76;
pub const kTVMFFIVisitInterrupt: TVMFFITypeIndex = 77;
pub const kTVMFFIBigInt: TVMFFITypeIndex = 78;
pub const kTVMFFIStaticObjectEnd: TVMFFITypeIndex = 79;
pub const kTVMFFIDynObjectBegin: TVMFFITypeIndex = 128;

/// A pointer to an object. A handle owns a strong reference or is borrowed.
pub type TVMFFIObjectHandle = *mut c_void;

/// Tells a deleter to destroy the content, free the memory, or both.
pub type TVMFFIObjectDeleterFlagBitMask = i32;
pub const kTVMFFIObjectDeleterFlagBitMaskStrong: TVMFFIObjectDeleterFlagBitMask = 1;
pub const kTVMFFIObjectDeleterFlagBitMaskWeak: TVMFFIObjectDeleterFlagBitMask = 2;
pub const kTVMFFIObjectDeleterFlagBitMaskBoth: TVMFFIObjectDeleterFlagBitMask = 3;

#[repr(C)]
#[derive(Clone, Copy)]
pub union TVMFFIObjectEnd {
    pub deleter: Option<unsafe extern "C" fn(*mut c_void, c_int)>,
    pub __ensure_align: i64,
}

/// The header of every object. The lower half of combined_ref_count is the
/// strong count, the upper half the weak count. All strong references together
/// own one weak reference.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIObject {
    pub combined_ref_count: u64,
    pub type_index: i32,
    pub __padding: u32,
    pub end: TVMFFIObjectEnd,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union TVMFFIAnyLength {
    pub zero_padding: u32,
    pub small_str_len: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union TVMFFIAnyValue {
    pub v_int64: i64,
    pub v_float64: f64,
    pub v_ptr: *mut c_void,
    pub v_c_str: *const c_char,
    pub v_obj: *mut TVMFFIObject,
    pub v_dtype: DLDataType,
    pub v_device: DLDevice,
    pub v_bytes: [c_char; 8],
    pub v_uint64: u64,
}

/// A value of any type. Unused bytes are 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIAny {
    pub type_index: i32,
    pub length: TVMFFIAnyLength,
    pub value: TVMFFIAnyValue,
}

/// Borrowed bytes. Inside a string object, a NUL follows the bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIByteArray {
    pub data: *const c_char,
    pub size: usize,
}

/// The data of a shape, which follows the TVMFFIObject header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIShapeCell {
    pub data: *const i64,
    pub size: usize,
}

/// The data of an array or list, which follows the TVMFFIObject header. The
/// member `data` has memory for `capacity` TVMFFIAny, of which `size` are in
/// use.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFISeqCell {
    pub data: *mut c_void,
    pub size: i64,
    pub capacity: i64,
    pub data_deleter: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// How an error's update_backtrace changes its backtrace.
pub type TVMFFIBacktraceUpdateMode = i32;
pub const kTVMFFIBacktraceUpdateModeReplace: TVMFFIBacktraceUpdateMode = 0;
pub const kTVMFFIBacktraceUpdateModeAppend: TVMFFIBacktraceUpdateMode = 1;

/// The data of an error, which follows the TVMFFIObject header. The backtrace
/// has the most recent call first. The error owns cause_chain and extra_context,
/// which may be NULL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIErrorCell {
    pub kind: TVMFFIByteArray,
    pub message: TVMFFIByteArray,
    pub backtrace: TVMFFIByteArray,
    pub update_backtrace: Option<unsafe extern "C" fn(TVMFFIObjectHandle, *const TVMFFIByteArray, i32)>,
    pub cause_chain: TVMFFIObjectHandle,
    pub extra_context: TVMFFIObjectHandle,
}

/// The C function behind a packed function. `args` are borrowed. Before the
/// call, \*result must be None or another value below kTVMFFIStaticObjectBegin.
/// After the call, the caller owns \*result. Returns 0 on success, -1 if the
/// thread has a pending error, or -2 if the environment (Python, say) holds the
/// error.
pub type TVMFFISafeCallType = Option<unsafe extern "C" fn(*mut c_void, *const TVMFFIAny, i32, *mut TVMFFIAny) -> c_int>;

/// The data of a function, which follows the TVMFFIObject header. cpp_call
/// throws C++ exceptions; it is NULL unless C++ made the function.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIFunctionCell {
    pub safe_call: TVMFFISafeCallType,
    pub cpp_call: *mut c_void,
}

/// The data of an opaque object, which follows the TVMFFIObject header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIOpaqueObjectCell {
    pub handle: *mut c_void,
}

/// Precedes each object that a TVMFFICustomAllocator allocates. delete_space
/// frees the object's memory after its fields are destroyed. It is NULL if the
/// object's deleter frees the memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIObjectAllocHeader {
    pub delete_space: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// Allocates objects. Must live as long as the process.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFICustomAllocator {
    pub allocate: Option<unsafe extern "C" fn(usize, usize, i32, *mut c_void) -> *mut c_void>,
    pub context: *mut c_void,
}

/// Reads the field at `field` into \*result, owned by the caller.
pub type TVMFFIFieldGetter = Option<unsafe extern "C" fn(*mut c_void, *mut TVMFFIAny) -> c_int>;

/// Writes the borrowed value to the field at `field`.
pub type TVMFFIFieldSetter = Option<unsafe extern "C" fn(*mut c_void, *const TVMFFIAny) -> c_int>;

/// Makes an object, owned by the caller, with unset fields.
pub type TVMFFIObjectCreator = Option<unsafe extern "C" fn(*mut TVMFFIObjectHandle) -> c_int>;

/// Flags of a field, or of a method. SEqHash is structural equality and hash.
pub type TVMFFIFieldFlagBitMask = i32;
pub const kTVMFFIFieldFlagBitMaskWritable: TVMFFIFieldFlagBitMask = 1;
pub const kTVMFFIFieldFlagBitMaskHasDefault: TVMFFIFieldFlagBitMask = 2;
pub const kTVMFFIFieldFlagBitMaskIsStaticMethod: TVMFFIFieldFlagBitMask = 4;
pub const kTVMFFIFieldFlagBitMaskSEqHashIgnore: TVMFFIFieldFlagBitMask = 8;
pub const kTVMFFIFieldFlagBitMaskSEqHashDefPattern: TVMFFIFieldFlagBitMask = 16;
pub const kTVMFFIFieldFlagBitMaskDefaultFromFactory: TVMFFIFieldFlagBitMask = 32;
pub const kTVMFFIFieldFlagBitMaskReprOff: TVMFFIFieldFlagBitMask = 64;
pub const kTVMFFIFieldFlagBitMaskCompareOff: TVMFFIFieldFlagBitMask = 128;
pub const kTVMFFIFieldFlagBitMaskHashOff: TVMFFIFieldFlagBitMask = 256;
pub const kTVMFFIFieldFlagBitMaskInitOff: TVMFFIFieldFlagBitMask = 512;
pub const kTVMFFIFieldFlagBitMaskKwOnly: TVMFFIFieldFlagBitMask = 1024;
pub const kTVMFFIFieldFlagBitSetterIsFunctionObj: TVMFFIFieldFlagBitMask = 2048;
pub const kTVMFFIFieldFlagBitMaskSEqHashDefSimple: TVMFFIFieldFlagBitMask = 4096;

/// How structural equality and hash treat the objects of a type.
pub type TVMFFISEqHashKind = i32;
pub const kTVMFFISEqHashKindUnsupported: TVMFFISEqHashKind = 0;
pub const kTVMFFISEqHashKindTreeNode: TVMFFISEqHashKind = 1;
pub const kTVMFFISEqHashKindFreeVar: TVMFFISEqHashKind = 2;
pub const kTVMFFISEqHashKindDAGNode: TVMFFISEqHashKind = 3;
pub const kTVMFFISEqHashKindConstTreeNode: TVMFFISEqHashKind = 4;
pub const kTVMFFISEqHashKindUniqueInstance: TVMFFISEqHashKind = 5;

/// Whether a field defines free variables (such as the parameters of a function)
/// or uses them.
pub type TVMFFIDefRegionKind = i32;
pub const kTVMFFIDefRegionKindNone: TVMFFIDefRegionKind = 0;
pub const kTVMFFIDefRegionKindPattern: TVMFFIDefRegionKind = 1;
pub const kTVMFFIDefRegionKindSimple: TVMFFIDefRegionKind = 2;

/// Describes a field, for reflection. TVMFFITypeRegisterField copies the
/// borrowed strings and values.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIFieldInfo {
    pub name: TVMFFIByteArray,
    pub doc: TVMFFIByteArray,
    pub metadata: TVMFFIByteArray,
    pub flags: i64,
    pub size: i64,
    pub alignment: i64,
    pub offset: i64,
    pub getter: TVMFFIFieldGetter,
    pub setter: *mut c_void,
    pub default_value_or_factory: TVMFFIAny,
    pub field_static_type_index: i32,
}

/// Describes a method. Its first argument is self, unless the method is
/// static.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIMethodInfo {
    pub name: TVMFFIByteArray,
    pub doc: TVMFFIByteArray,
    pub metadata: TVMFFIByteArray,
    pub flags: i64,
    pub method: TVMFFIAny,
}

/// Describes a type, except for its fields and methods.
/// TVMFFITypeRegisterMetadata copies the borrowed struct.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFITypeMetadata {
    pub doc: TVMFFIByteArray,
    pub creator: TVMFFIObjectCreator,
    pub total_size: i32,
    pub structural_eq_hash_kind: TVMFFISEqHashKind,
}

/// The values of one attribute for all types. Type index t has data\[t -
/// begin_index\], or None if t is outside \[begin_index, begin_index + size).
/// Types do not inherit attributes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFITypeAttrColumn {
    pub data: *const TVMFFIAny,
    pub size: i32,
    pub begin_index: i32,
}

/// A registered type. type_ancestors\[d\] is the ancestor at depth d, for d from 0
/// to type_depth - 1. The runtime owns the struct and never frees it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFITypeInfo {
    pub type_index: i32,
    pub type_depth: i32,
    pub type_key: TVMFFIByteArray,
    pub type_ancestors: *mut *const TVMFFITypeInfo,
    pub type_key_hash: u64,
    pub num_fields: i32,
    pub num_methods: i32,
    pub fields: *const TVMFFIFieldInfo,
    pub methods: *const TVMFFIMethodInfo,
    pub metadata: *const TVMFFITypeMetadata,
}

/// A borrowed stream of the device's own API, such as a cudaStream_t.
pub type TVMFFIStreamHandle = *mut c_void;

extern "C" {
    /// Writes the version of the ABI to \*out_version. Cannot fail.
    pub fn TVMFFIGetVersion(
        out_version: *mut TVMFFIVersion,
    );

    /// Adds a strong reference to the borrowed obj; the caller owns it.
    pub fn TVMFFIObjectIncRef(
        obj: TVMFFIObjectHandle,
    ) -> c_int;

    /// Takes ownership of one strong reference to obj, and releases it. The last
    /// release destroys obj.
    pub fn TVMFFIObjectDecRef(
        obj: TVMFFIObjectHandle,
    ) -> c_int;

    /// Makes an opaque object \*out, owned by the caller. On success the object owns
    /// handle and calls deleter(handle) when it is destroyed. deleter may be NULL.
    /// Raises a RuntimeError unless type_index is kTVMFFIOpaquePyObject.
    pub fn TVMFFIObjectCreateOpaque(
        handle: *mut c_void,
        type_index: i32,
        deleter: Option<unsafe extern "C" fn(*mut c_void)>,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;

    /// Returns the process's allocator, which is never NULL and lives as long as the
    /// process. No other thread may set the allocator during the call.
    pub fn TVMFFIGetCustomAllocator() -> *mut TVMFFICustomAllocator;

    /// Sets the process's allocator, which must live as long as the process. NULL
    /// restores the default. Call this before other threads make objects.
    pub fn TVMFFISetCustomAllocator(
        allocator: *mut TVMFFICustomAllocator,
    ) -> c_int;

    /// Looks up the type index of a borrowed type key, without a lock. Raises an
    /// InternalError for an unknown key.
    pub fn TVMFFITypeKeyToIndex(
        type_key: *const TVMFFIByteArray,
        out_tindex: *mut i32,
    ) -> c_int;

    /// Makes a function \*out, owned by the caller. On success the function owns self
    /// and calls deleter(self) when it is destroyed. deleter may be NULL.
    pub fn TVMFFIFunctionCreate(
        self_: *mut c_void,
        safe_call: TVMFFISafeCallType,
        deleter: Option<unsafe extern "C" fn(*mut c_void)>,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;

    /// Looks up a global function by its borrowed name, without a lock. The caller
    /// owns \*out. For an unknown name, sets \*out to NULL and returns 0.
    pub fn TVMFFIFunctionGetGlobal(
        name: *const TVMFFIByteArray,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;

    /// Converts a borrowed value to \*out, owned by the caller: adds a reference, and
    /// copies raw strings and byte arrays. \*out must own nothing before the call.
    pub fn TVMFFIAnyViewToOwnedAny(
        any_view: *const TVMFFIAny,
        out: *mut TVMFFIAny,
    ) -> c_int;

    /// Calls the borrowed func and returns its code: see TVMFFISafeCallType. The
    /// caller owns \*result.
    pub fn TVMFFIFunctionCall(
        func: TVMFFIObjectHandle,
        args: *mut TVMFFIAny,
        num_args: i32,
        result: *mut TVMFFIAny,
    ) -> c_int;

    /// Moves the thread's pending error to \*result, owned by the caller. \*result is
    /// NULL if the thread has no error.
    pub fn TVMFFIErrorMoveFromRaised(
        result: *mut TVMFFIObjectHandle,
    );

    /// Makes the borrowed error the thread's pending error. An earlier pending error
    /// is released.
    pub fn TVMFFIErrorSetRaised(
        error: TVMFFIObjectHandle,
    );

    /// Raises an error with a backtrace, or a MemoryError if an allocation fails.
    /// kind and message are borrowed.
    pub fn TVMFFIErrorSetRaisedFromCStr(
        kind: *const c_char,
        message: *const c_char,
    );

    /// Raises an error with a backtrace, or a MemoryError if an allocation fails.
    /// The message joins the parts; NULL parts are skipped. All strings are
    /// borrowed.
    pub fn TVMFFIErrorSetRaisedFromCStrParts(
        kind: *const c_char,
        message_parts: *mut *const c_char,
        num_parts: i32,
    );

    /// Makes an error \*out, owned by the caller, from copies of the strings. Does
    /// not raise \*out.
    pub fn TVMFFIErrorCreate(
        kind: *const TVMFFIByteArray,
        message: *const TVMFFIByteArray,
        backtrace: *const TVMFFIByteArray,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;

    /// Makes an error \*out, owned by the caller, from copies of the strings.
    /// cause_chain and extra_context are borrowed and may be NULL. Does not raise
    /// \*out.
    pub fn TVMFFIErrorCreateWithCauseAndExtraContext(
        kind: *const TVMFFIByteArray,
        message: *const TVMFFIByteArray,
        backtrace: *const TVMFFIByteArray,
        cause_chain: TVMFFIObjectHandle,
        extra_context: TVMFFIObjectHandle,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;

    /// Makes a tensor \*out, owned by the caller. On success the tensor owns `from`.
    /// require_alignment is in bytes; 0 allows any. require_contiguous is 0 or 1.
    /// Raises a RuntimeError if the data is not aligned or not contiguous.
    pub fn TVMFFITensorFromDLPack(
        from_: *mut DLManagedTensor,
        require_alignment: i32,
        require_contiguous: i32,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;

    /// Exports the borrowed tensor as \*out, owned by the caller. \*out shares the
    /// data and keeps the tensor alive until its deleter is called.
    pub fn TVMFFITensorToDLPack(
        from_: TVMFFIObjectHandle,
        out: *mut *mut DLManagedTensor,
    ) -> c_int;

    /// Does the same as TVMFFITensorFromDLPack for a versioned struct. Raises a
    /// RuntimeError for another major version of DLPack.
    pub fn TVMFFITensorFromDLPackVersioned(
        from_: *mut DLManagedTensorVersioned,
        require_alignment: i32,
        require_contiguous: i32,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;

    /// Does the same as TVMFFITensorToDLPack with a versioned struct.
    pub fn TVMFFITensorToDLPackVersioned(
        from_: TVMFFIObjectHandle,
        out: *mut *mut DLManagedTensorVersioned,
    ) -> c_int;

    /// Makes a tensor \*out, owned by the caller, that views memory of the borrowed
    /// source and keeps source alive. The borrowed prototype describes the tensor;
    /// its shape and strides are copied. Its strides must not be NULL. Does not
    /// check that the data lies inside source.
    pub fn TVMFFITensorCreateUnsafeView(
        source: TVMFFIObjectHandle,
        prototype: *const DLTensor,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;

    /// Makes a string \*out, owned by the caller, from borrowed bytes. Up to 7 bytes
    /// are stored in \*out, more in an object.
    pub fn TVMFFIStringFromByteArray(
        input: *const TVMFFIByteArray,
        out: *mut TVMFFIAny,
    ) -> c_int;

    /// Makes bytes \*out, owned by the caller, from borrowed bytes. Up to 7 bytes are
    /// stored in \*out, more in an object.
    pub fn TVMFFIBytesFromByteArray(
        input: *const TVMFFIByteArray,
        out: *mut TVMFFIAny,
    ) -> c_int;

    /// Makes an integer \*out, owned by the caller, from a borrowed two's complement
    /// number in 64-bit words, least significant first. An empty input is 0. A value
    /// that fits in int64_t becomes a plain int. Raises a ValueError if the size is
    /// not a multiple of 8.
    pub fn TVMFFIBigIntFromByteArray(
        input: *const TVMFFIByteArray,
        out: *mut TVMFFIAny,
    ) -> c_int;

    /// Returns the 64-bit words of an int or big integer, borrowed while \*value is
    /// unchanged. For another type, returns {NULL, 0} with a TypeError.
    pub fn TVMFFIBigIntGetContentByteArray(
        value: *const TVMFFIAny,
    ) -> TVMFFIByteArray;

    /// Parses the borrowed name of a data type, such as "float32x4". Raises a
    /// ValueError for an invalid name.
    pub fn TVMFFIDataTypeFromString(
        str: *const TVMFFIByteArray,
        out: *mut DLDataType,
    ) -> c_int;

    /// Writes the name of a borrowed data type to a string \*out, owned by the
    /// caller. Raises a ValueError if dtype-\>code has no name.
    pub fn TVMFFIDataTypeToString(
        dtype: *const DLDataType,
        out: *mut TVMFFIAny,
    ) -> c_int;

    /// Registers the borrowed function f globally under a copy of name. Raises a
    /// RuntimeError if the name exists and allow_override is 0.
    pub fn TVMFFIFunctionSetGlobal(
        name: *const TVMFFIByteArray,
        f: TVMFFIObjectHandle,
        allow_override: c_int,
    ) -> c_int;

    /// Registers a global function with the borrowed method's name, function, doc
    /// and metadata.
    pub fn TVMFFIFunctionSetGlobalFromMethodInfo(
        method_info: *const TVMFFIMethodInfo,
        allow_override: c_int,
    ) -> c_int;

    /// Adds a field to a type; the borrowed info is copied.
    pub fn TVMFFITypeRegisterField(
        type_index: i32,
        info: *const TVMFFIFieldInfo,
    ) -> c_int;

    /// Adds a method to a type; the borrowed info is copied.
    pub fn TVMFFITypeRegisterMethod(
        type_index: i32,
        info: *const TVMFFIMethodInfo,
    ) -> c_int;

    /// Sets the metadata of a type; the borrowed struct is copied.
    pub fn TVMFFITypeRegisterMetadata(
        type_index: i32,
        metadata: *const TVMFFITypeMetadata,
    ) -> c_int;

    /// Sets an attribute of a type. name and value are borrowed and copied.
    pub fn TVMFFITypeRegisterAttr(
        type_index: i32,
        attr_name: *const TVMFFIByteArray,
        attr_value: *const TVMFFIAny,
    ) -> c_int;

    /// Returns the column of an attribute, or NULL, without an error, if no type has
    /// the attribute. The column lives as long as the process. The name is borrowed.
    /// Takes no lock. The first request for a built-in attribute allocates the
    /// column; without memory it raises a MemoryError.
    pub fn TVMFFIGetTypeAttrColumn(
        attr_name: *const TVMFFIByteArray,
    ) -> *const TVMFFITypeAttrColumn;

    /// Returns the call stack as text, most recent call first; the text is empty if
    /// an allocation fails. It is borrowed until this thread calls TVMFFIBacktrace
    /// again, with TVMFFI_NO_BACKTRACE also until this thread raises an error.
    /// filename and func are borrowed and may be NULL. If cross_ffi_boundary is 0,
    /// the text ends at the first FFI call.
    pub fn TVMFFIBacktrace(
        filename: *const c_char,
        lineno: c_int,
        func: *const c_char,
        cross_ffi_boundary: c_int,
    ) -> *const TVMFFIByteArray;

    /// Registers a type under a borrowed key and returns the type index. A type that
    /// is already registered keeps its index. A static_type_index of -1 requests a
    /// free index. A parent_type_index of -1 means no parent. With a
    /// parent_type_index of -2, only looks up the key and returns -2 if the key is
    /// unknown. If the arguments conflict with a registered type, raises an error
    /// and returns -1.
    pub fn TVMFFITypeGetOrAllocIndex(
        type_key: *const TVMFFIByteArray,
        static_type_index: i32,
        type_depth: i32,
        num_child_slots: i32,
        child_slots_can_overflow: i32,
        parent_type_index: i32,
    ) -> i32;

    /// Returns the description of a type, or NULL with an InternalError if the type
    /// is not registered. The description lives as long as the process. Takes no
    /// lock.
    pub fn TVMFFIGetTypeInfo(
        type_index: i32,
    ) -> *const TVMFFITypeInfo;

    /// If \*handle_addr is NULL, sets \*handle_addr to the result of init_func, owned
    /// by the caller. Only one of several concurrent threads calls init_func. In
    /// this runtime init_func may initialise other handles; upstream's library
    /// deadlocks then. Returns init_func's code if init_func fails. Raises a
    /// RuntimeError if the result is NULL.
    pub fn TVMFFIHandleInitOnce(
        handle_addr: *mut *mut c_void,
        init_func: Option<unsafe extern "C" fn(*mut *mut c_void) -> c_int>,
    ) -> c_int;

    /// Sets \*handle_addr to NULL and passes the old handle to deinit_func, which
    /// frees it. Only one of several concurrent threads calls deinit_func. Does
    /// nothing if \*handle_addr is NULL.
    pub fn TVMFFIHandleDeinitOnce(
        handle_addr: *mut *mut c_void,
        deinit_func: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    ) -> c_int;

    /// Sets this thread's current stream of a device. Stores the previous stream in
    /// \*opt_out_original_stream, if not NULL.
    pub fn TVMFFIEnvSetStream(
        device_type: i32,
        device_id: i32,
        stream: TVMFFIStreamHandle,
        opt_out_original_stream: *mut TVMFFIStreamHandle,
    ) -> c_int;

    /// Returns this thread's current stream of a device, borrowed from the code that
    /// set it, or NULL if none was set.
    pub fn TVMFFIEnvGetStream(
        device_type: i32,
        device_id: i32,
    ) -> TVMFFIStreamHandle;

    /// Sets this thread's tensor allocator. If write_to_global_context is not 0,
    /// also sets the allocator of all threads without their own. Stores this
    /// thread's previous allocator in \*opt_out_original_allocator, if not NULL.
    pub fn TVMFFIEnvSetDLPackManagedTensorAllocator(
        allocator: DLPackManagedTensorAllocator,
        write_to_global_context: c_int,
        opt_out_original_allocator: *mut DLPackManagedTensorAllocator,
    ) -> c_int;

    /// Returns this thread's tensor allocator, else the global one, else NULL.
    pub fn TVMFFIEnvGetDLPackManagedTensorAllocator() -> DLPackManagedTensorAllocator;

    /// Allocates a tensor \*out, owned by the caller, with the current allocator and
    /// the borrowed prototype's device, dtype and shape. Raises a RuntimeError if no
    /// allocator is set, or the allocator's own error.
    pub fn TVMFFIEnvTensorAlloc(
        prototype: *mut DLTensor,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;

    /// Returns 0, or -1 if the environment (Python, say) has a pending signal and
    /// now holds the error.
    pub fn TVMFFIEnvCheckSignals() -> c_int;

    /// Registers one of Python's functions PyErr_CheckSignals, PyGILState_Ensure and
    /// PyGILState_Release. Raises a ValueError for another name.
    pub fn TVMFFIEnvRegisterCAPI(
        name: *const c_char,
        symbol: *mut c_void,
    ) -> c_int;

    /// Looks up a function in the imports of a borrowed module, then among the
    /// global functions. library_ctx is the address of the module's C++ object, one
    /// pointer before its handle; tvmffi_module_find accepts the handle. \*out is
    /// borrowed from the module. Raises a RuntimeError for an unknown name.
    pub fn TVMFFIEnvModLookupFromImports(
        library_ctx: TVMFFIObjectHandle,
        func_name: *const c_char,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;

    /// Registers an address that each library loaded later receives in its variable
    /// `name`. name is copied; symbol must live as long as the process.
    pub fn TVMFFIEnvModRegisterContextSymbol(
        name: *const c_char,
        symbol: *mut c_void,
    ) -> c_int;

    /// Registers a symbol that ffi.SystemLib finds. name is copied; symbol must live
    /// as long as the process.
    pub fn TVMFFIEnvModRegisterSystemLibSymbol(
        name: *const c_char,
        symbol: *mut c_void,
    ) -> c_int;
}

// Selects a value for 64-bit pointers, 32-bit pointers, or i386.
const fn pick(on64: usize, on32: usize, on_i386: usize) -> usize {
    if cfg!(target_pointer_width = "64") {
        on64
    } else if cfg!(target_arch = "x86") {
        on_i386
    } else {
        on32
    }
}

const _: () = {
    assert!(size_of::<TVMFFIObjectHandle>() == pick(8, 4, 4));
    assert!(offset_of!(DLPackVersion, major) == pick(0, 0, 0));
    assert!(offset_of!(DLPackVersion, minor) == pick(4, 4, 4));
    assert!(size_of::<DLPackVersion>() == pick(8, 8, 8));
    assert!(offset_of!(DLDevice, device_type) == pick(0, 0, 0));
    assert!(offset_of!(DLDevice, device_id) == pick(4, 4, 4));
    assert!(size_of::<DLDevice>() == pick(8, 8, 8));
    assert!(offset_of!(DLDataType, code) == pick(0, 0, 0));
    assert!(offset_of!(DLDataType, bits) == pick(1, 1, 1));
    assert!(offset_of!(DLDataType, lanes) == pick(2, 2, 2));
    assert!(size_of::<DLDataType>() == pick(4, 4, 4));
    assert!(offset_of!(DLTensor, data) == pick(0, 0, 0));
    assert!(offset_of!(DLTensor, device) == pick(8, 4, 4));
    assert!(offset_of!(DLTensor, ndim) == pick(16, 12, 12));
    assert!(offset_of!(DLTensor, dtype) == pick(20, 16, 16));
    assert!(offset_of!(DLTensor, shape) == pick(24, 20, 20));
    assert!(offset_of!(DLTensor, strides) == pick(32, 24, 24));
    assert!(offset_of!(DLTensor, byte_offset) == pick(40, 32, 28));
    assert!(size_of::<DLTensor>() == pick(48, 40, 36));
    assert!(offset_of!(DLManagedTensor, dl_tensor) == pick(0, 0, 0));
    assert!(offset_of!(DLManagedTensor, manager_ctx) == pick(48, 40, 36));
    assert!(offset_of!(DLManagedTensor, deleter) == pick(56, 44, 40));
    assert!(size_of::<DLManagedTensor>() == pick(64, 48, 44));
    assert!(offset_of!(DLManagedTensorVersioned, version) == pick(0, 0, 0));
    assert!(offset_of!(DLManagedTensorVersioned, manager_ctx) == pick(8, 8, 8));
    assert!(offset_of!(DLManagedTensorVersioned, deleter) == pick(16, 12, 12));
    assert!(offset_of!(DLManagedTensorVersioned, flags) == pick(24, 16, 16));
    assert!(offset_of!(DLManagedTensorVersioned, dl_tensor) == pick(32, 24, 24));
    assert!(size_of::<DLManagedTensorVersioned>() == pick(80, 64, 60));
    assert!(offset_of!(DLPackExchangeAPIHeader, version) == pick(0, 0, 0));
    assert!(offset_of!(DLPackExchangeAPIHeader, prev_api) == pick(8, 8, 8));
    assert!(size_of::<DLPackExchangeAPIHeader>() == pick(16, 12, 12));
    assert!(offset_of!(DLPackExchangeAPI, header) == pick(0, 0, 0));
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_allocator) == pick(16, 12, 12));
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync) == pick(24, 16, 16));
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync) == pick(32, 20, 20));
    assert!(offset_of!(DLPackExchangeAPI, dltensor_from_py_object_no_sync) == pick(40, 24, 24));
    assert!(offset_of!(DLPackExchangeAPI, current_work_stream) == pick(48, 28, 28));
    assert!(size_of::<DLPackExchangeAPI>() == pick(56, 32, 32));
    assert!(offset_of!(TVMFFIVersion, major) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFIVersion, minor) == pick(4, 4, 4));
    assert!(offset_of!(TVMFFIVersion, patch) == pick(8, 8, 8));
    assert!(size_of::<TVMFFIVersion>() == pick(12, 12, 12));
    assert!(offset_of!(TVMFFIObject, combined_ref_count) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFIObject, type_index) == pick(8, 8, 8));
    assert!(offset_of!(TVMFFIObject, __padding) == pick(12, 12, 12));
    assert!(offset_of!(TVMFFIObject, end) == pick(16, 16, 16));
    assert!(size_of::<TVMFFIObject>() == pick(24, 24, 24));
    assert!(offset_of!(TVMFFIAny, type_index) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFIAny, length) == pick(4, 4, 4));
    assert!(offset_of!(TVMFFIAny, value) == pick(8, 8, 8));
    assert!(size_of::<TVMFFIAny>() == pick(16, 16, 16));
    assert!(offset_of!(TVMFFIByteArray, data) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFIByteArray, size) == pick(8, 4, 4));
    assert!(size_of::<TVMFFIByteArray>() == pick(16, 8, 8));
    assert!(offset_of!(TVMFFIShapeCell, data) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFIShapeCell, size) == pick(8, 4, 4));
    assert!(size_of::<TVMFFIShapeCell>() == pick(16, 8, 8));
    assert!(offset_of!(TVMFFISeqCell, data) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFISeqCell, size) == pick(8, 8, 4));
    assert!(offset_of!(TVMFFISeqCell, capacity) == pick(16, 16, 12));
    assert!(offset_of!(TVMFFISeqCell, data_deleter) == pick(24, 24, 20));
    assert!(size_of::<TVMFFISeqCell>() == pick(32, 32, 24));
    assert!(offset_of!(TVMFFIErrorCell, kind) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFIErrorCell, message) == pick(16, 8, 8));
    assert!(offset_of!(TVMFFIErrorCell, backtrace) == pick(32, 16, 16));
    assert!(offset_of!(TVMFFIErrorCell, update_backtrace) == pick(48, 24, 24));
    assert!(offset_of!(TVMFFIErrorCell, cause_chain) == pick(56, 28, 28));
    assert!(offset_of!(TVMFFIErrorCell, extra_context) == pick(64, 32, 32));
    assert!(size_of::<TVMFFIErrorCell>() == pick(72, 36, 36));
    assert!(offset_of!(TVMFFIFunctionCell, safe_call) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFIFunctionCell, cpp_call) == pick(8, 4, 4));
    assert!(size_of::<TVMFFIFunctionCell>() == pick(16, 8, 8));
    assert!(offset_of!(TVMFFIOpaqueObjectCell, handle) == pick(0, 0, 0));
    assert!(size_of::<TVMFFIOpaqueObjectCell>() == pick(8, 4, 4));
    assert!(offset_of!(TVMFFIObjectAllocHeader, delete_space) == pick(0, 0, 0));
    assert!(size_of::<TVMFFIObjectAllocHeader>() == pick(8, 4, 4));
    assert!(offset_of!(TVMFFICustomAllocator, allocate) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFICustomAllocator, context) == pick(8, 4, 4));
    assert!(size_of::<TVMFFICustomAllocator>() == pick(16, 8, 8));
    assert!(offset_of!(TVMFFIFieldInfo, name) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFIFieldInfo, doc) == pick(16, 8, 8));
    assert!(offset_of!(TVMFFIFieldInfo, metadata) == pick(32, 16, 16));
    assert!(offset_of!(TVMFFIFieldInfo, flags) == pick(48, 24, 24));
    assert!(offset_of!(TVMFFIFieldInfo, size) == pick(56, 32, 32));
    assert!(offset_of!(TVMFFIFieldInfo, alignment) == pick(64, 40, 40));
    assert!(offset_of!(TVMFFIFieldInfo, offset) == pick(72, 48, 48));
    assert!(offset_of!(TVMFFIFieldInfo, getter) == pick(80, 56, 56));
    assert!(offset_of!(TVMFFIFieldInfo, setter) == pick(88, 60, 60));
    assert!(offset_of!(TVMFFIFieldInfo, default_value_or_factory) == pick(96, 64, 64));
    assert!(offset_of!(TVMFFIFieldInfo, field_static_type_index) == pick(112, 80, 80));
    assert!(size_of::<TVMFFIFieldInfo>() == pick(120, 88, 84));
    assert!(offset_of!(TVMFFIMethodInfo, name) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFIMethodInfo, doc) == pick(16, 8, 8));
    assert!(offset_of!(TVMFFIMethodInfo, metadata) == pick(32, 16, 16));
    assert!(offset_of!(TVMFFIMethodInfo, flags) == pick(48, 24, 24));
    assert!(offset_of!(TVMFFIMethodInfo, method) == pick(56, 32, 32));
    assert!(size_of::<TVMFFIMethodInfo>() == pick(72, 48, 48));
    assert!(offset_of!(TVMFFITypeMetadata, doc) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFITypeMetadata, creator) == pick(16, 8, 8));
    assert!(offset_of!(TVMFFITypeMetadata, total_size) == pick(24, 12, 12));
    assert!(offset_of!(TVMFFITypeMetadata, structural_eq_hash_kind) == pick(28, 16, 16));
    assert!(size_of::<TVMFFITypeMetadata>() == pick(32, 20, 20));
    assert!(offset_of!(TVMFFITypeAttrColumn, data) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFITypeAttrColumn, size) == pick(8, 4, 4));
    assert!(offset_of!(TVMFFITypeAttrColumn, begin_index) == pick(12, 8, 8));
    assert!(size_of::<TVMFFITypeAttrColumn>() == pick(16, 12, 12));
    assert!(offset_of!(TVMFFITypeInfo, type_index) == pick(0, 0, 0));
    assert!(offset_of!(TVMFFITypeInfo, type_depth) == pick(4, 4, 4));
    assert!(offset_of!(TVMFFITypeInfo, type_key) == pick(8, 8, 8));
    assert!(offset_of!(TVMFFITypeInfo, type_ancestors) == pick(24, 16, 16));
    assert!(offset_of!(TVMFFITypeInfo, type_key_hash) == pick(32, 24, 20));
    assert!(offset_of!(TVMFFITypeInfo, num_fields) == pick(40, 32, 28));
    assert!(offset_of!(TVMFFITypeInfo, num_methods) == pick(44, 36, 32));
    assert!(offset_of!(TVMFFITypeInfo, fields) == pick(48, 40, 36));
    assert!(offset_of!(TVMFFITypeInfo, methods) == pick(56, 44, 40));
    assert!(offset_of!(TVMFFITypeInfo, metadata) == pick(64, 48, 44));
    assert!(size_of::<TVMFFITypeInfo>() == pick(72, 56, 48));
};
