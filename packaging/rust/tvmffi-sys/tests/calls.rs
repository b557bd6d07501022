//! A function in Rust, called through the table of global functions.

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;
use tvmffi_sys::*;

fn any(type_index: TVMFFITypeIndex, v_int64: i64) -> TVMFFIAny {
    TVMFFIAny {
        type_index,
        length: TVMFFIAnyLength { zero_padding: 0 },
        value: TVMFFIAnyValue { v_int64 },
    }
}

fn bytes(text: &str) -> TVMFFIByteArray {
    TVMFFIByteArray {
        data: text.as_ptr() as *const c_char,
        size: text.len(),
    }
}

unsafe extern "C" fn twice(
    _: *mut c_void,
    args: *const TVMFFIAny,
    count: i32,
    result: *mut TVMFFIAny,
) -> c_int {
    if count != 1 || (*args).type_index != kTVMFFIInt {
        TVMFFIErrorSetRaisedFromCStr(c"TypeError".as_ptr(), c"twice takes one int".as_ptr());
        return -1;
    }
    *result = any(kTVMFFIInt, 2 * (*args).value.v_int64);
    0
}

#[test]
fn calls() {
    unsafe {
        let name = bytes("tvmffi_sys.twice");
        let (mut made, mut found, mut error) = (null_mut(), null_mut(), null_mut());
        assert_eq!(
            TVMFFIFunctionCreate(null_mut(), Some(twice), None, &mut made),
            0
        );
        assert_eq!(TVMFFIFunctionSetGlobal(&name, made, 0), 0);
        assert_eq!(TVMFFIFunctionGetGlobal(&name, &mut found), 0);
        assert_eq!(made, found);

        let mut result = any(kTVMFFINone, 0);
        assert_eq!(
            TVMFFIFunctionCall(found, &mut any(kTVMFFIInt, 21), 1, &mut result),
            0
        );
        assert_eq!((result.type_index, result.value.v_int64), (kTVMFFIInt, 42));

        assert_eq!(TVMFFIFunctionCall(found, null_mut(), 0, &mut result), -1);
        TVMFFIErrorMoveFromRaised(&mut error);
        let cell = error
            .cast::<TVMFFIObject>()
            .add(1)
            .cast::<TVMFFIErrorCell>();
        let message = (*cell).message;
        let text = std::slice::from_raw_parts(message.data as *const u8, message.size);
        assert_eq!(text, b"twice takes one int");

        for object in [error, made, found] {
            assert_eq!(TVMFFIObjectDecRef(object), 0);
        }
    }
}

#[test]
fn version() {
    let mut version = TVMFFIVersion {
        major: 9,
        minor: 9,
        patch: 9,
    };
    unsafe { TVMFFIGetVersion(&mut version) };
    assert_eq!(
        (version.major, version.minor, version.patch),
        (
            TVM_FFI_VERSION_MAJOR,
            TVM_FFI_VERSION_MINOR,
            TVM_FFI_VERSION_PATCH
        )
    );
}
