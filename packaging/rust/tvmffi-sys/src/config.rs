//! `tvm-ffi-config`, which the crate `tvm-ffi` asks for its library: it answers
//! with the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--libdir"] => println!("{}", tvmffi_sys::LIB_DIR),
        ["--includedir"] => println!("{}", tvmffi_sys::INCLUDE_DIR),
        _ => {
            eprintln!("usage: tvm-ffi-config --libdir | --includedir");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
