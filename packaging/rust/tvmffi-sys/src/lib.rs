//! The C ABI of TVM FFI, with the runtime of `tvmffi.h` linked in.
//!
//! The names are those of the header, whose documentation describes ownership and
//! threads. A function that returns `c_int` returns 0 on success.
#![no_std]
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

#[rustfmt::skip]
mod abi;
pub use abi::*;

/// The folder of `tvmffi.h` on the machine that built this crate.
pub const INCLUDE_DIR: &str = env!("CARGO_MANIFEST_DIR");

/// The folder of the library that was built: `libtvm_ffi` with the feature
/// `shared`, which lies beside the programs in `target/release` or the like, else
/// `libtvmffi.a`.
pub const LIB_DIR: &str = env!("TVMFFI_LIB_DIR");
