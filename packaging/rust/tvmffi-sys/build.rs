//! Compiles the runtime with the options that the features leave out.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Without one of these features, its option TVMFFI_NO_* is set.
const FEATURES: [&str; 12] = [
    "BACKTRACE",
    "BUILTINS",
    "CONTAINERS",
    "DLOPEN",
    "EXTRA",
    "FLOAT",
    "METADATA",
    "POOL",
    "REFLECTION",
    "STDIO",
    "THREADS",
    "TYPES",
];
/// Options with a value, which come from environment variables.
const VALUES: [&str; 3] = ["TVMFFI_ARENA_SIZE", "TVMFFI_MESSAGE_SIZE", "TVMFFI_PORT"];

fn has(feature: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{feature}")).is_some()
}

fn defines() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = FEATURES
        .iter()
        .filter(|feature| !has(feature))
        .map(|feature| (format!("TVMFFI_NO_{feature}"), "1".into()))
        .collect();
    if !has("LIBC") {
        found.push(("TVMFFI_FREESTANDING".into(), "1".into()));
    }
    if has("DEBUG") {
        found.push(("TVMFFI_DEBUG".into(), "1".into()));
    }
    for name in VALUES {
        println!("cargo:rerun-if-env-changed={name}");
        if let Ok(value) = env::var(name) {
            let quote = if name == "TVMFFI_PORT" { "\"" } else { "" };
            found.push((name.into(), format!("{quote}{value}{quote}")));
        }
    }
    found
}

fn compiler() -> cc::Build {
    let mut build = cc::Build::new();
    build
        .std("c11")
        .warnings(false)
        .flag_if_supported("-falign-functions=64");
    for (name, value) in defines() {
        build.define(&name, value.as_str());
    }
    build
}

fn build_static(source: &Path) {
    compiler().file(source).compile("tvmffi");
}

/// Builds libtvm_ffi under the name by which other libraries know it. cc links
/// only static libraries, but knows the compiler. Returns the library's folder.
fn build_shared(source: &Path, folder: &Path) -> PathBuf {
    let (name, options): (_, &[&str]) = match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => (
            "libtvm_ffi.dylib",
            &["-dynamiclib", "-Wl,-install_name,@rpath/libtvm_ffi.dylib"],
        ),
        Ok("windows") => panic!("tvmffi-sys: the feature `shared` is not for Windows"),
        _ => (
            "libtvm_ffi.so",
            &[
                "-shared",
                "-Wl,-soname,libtvm_ffi.so",
                "-Wl,-Bsymbolic-functions",
                "-Wl,-z,nodelete",
            ],
        ),
    };
    let library = folder.join(name);
    let mut command = compiler()
        .pic(true)
        .define("TVM_FFI_EXPORTS", None)
        .flag_if_supported("-fno-semantic-interposition")
        .get_compiler()
        .to_command();
    command
        .arg(source)
        .args(options)
        .arg("-o")
        .arg(&library)
        .args(["-lpthread", "-ldl"]);
    let done = command.status();
    if !done.as_ref().is_ok_and(|status| status.success()) {
        panic!("tvmffi-sys: {command:?} failed: {done:?}");
    }
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=dylib=tvm_ffi");
    deploy(&library)
}

/// Copies the library to where Cargo puts programs, because the name of the build
/// script's own folder changes with the crate. Returns the folder of the copy.
fn deploy(library: &Path) -> PathBuf {
    // TARGET/release/build/tvmffi-sys-HASH/out/libtvm_ffi.so
    let programs = library.ancestors().nth(4).expect("Cargo's OUT_DIR");
    let name = library.file_name().expect("the library has a name");
    // A process may have the old file mapped, so replace it, not its content.
    let fresh = programs.join("libtvm_ffi.new");
    let copied = fs::copy(library, &fresh).and_then(|_| fs::rename(&fresh, programs.join(name)));
    if let Err(error) = copied {
        panic!("tvmffi-sys: {}: {error}", programs.display());
    }
    programs.into()
}

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("Cargo sets CARGO_MANIFEST_DIR");
    let folder = env::var("OUT_DIR").expect("Cargo sets OUT_DIR");
    for name in ["build.rs", "runtime.c", "tvmffi.h"] {
        println!("cargo:rerun-if-changed={name}");
    }
    let source = Path::new(&root).join("runtime.c");
    let libdir = if has("SHARED") {
        build_shared(&source, Path::new(&folder))
    } else {
        build_static(&source);
        folder.into()
    };
    // Other build scripts get these as DEP_TVMFFI_INCLUDE and DEP_TVMFFI_LIBDIR.
    println!("cargo:include={root}");
    println!("cargo:libdir={}", libdir.display());
    println!("cargo:rustc-env=TVMFFI_LIB_DIR={}", libdir.display());
    let linux = env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux");
    if linux && has("LIBC") && !has("SHARED") {
        println!("cargo:rustc-link-lib=dylib=pthread");
        println!("cargo:rustc-link-lib=dylib=dl");
    }
}
