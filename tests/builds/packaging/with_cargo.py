"""Cargo: the crate tvmffi-sys, packed, with its features, and under the crate
tvm-ffi. tests/clients/rust.py runs the tests of tvm-ffi with it."""

import os
import re
import shutil
import sys
from pathlib import Path

from work import ROOT, VERSION, Skipped, expect, run, shell, write

sys.path.insert(0, str(ROOT / "tests/clients"))
import rust  # noqa: E402

CRATE = "packaging/rust/tvmffi-sys"
PACKED = """.cargo_vcs_info.json Cargo.lock Cargo.toml Cargo.toml.orig LICENSE
    LICENSE-APACHE LICENSE-MIT README.md build.rs runtime.c src/abi.rs
    src/config.rs src/lib.rs tests/calls.rs tvmffi.h tvmffi_cuda.h
    tvmffi_python.h tvmffi_torch.h tvmffi_xla.h""".split()


def cargo(case):
    """The case, if the machine has Cargo."""
    def checked(work):
        if rust.why_not():
            raise Skipped(rust.why_not() + ": install rustup, or the packages "
                          "cargo-web and rustc-web")
        rust.lock(work.source / CRATE, os.environ)
        case(work)
    return checked


def pack(work, folder):
    """Packs the crate as for a registry, and unpacks it."""
    run(["cargo", "package", "--quiet", "--locked", "--no-verify",
         "--target-dir", folder / "target"], work.source / CRATE)
    name = f"tvmffi-sys-{VERSION}"
    run(["tar", "-xf", f"target/package/{name}.crate"], folder)
    return folder / name


def project(folder, dependencies, program, lock):
    """A project of a user, with the locked versions of another one."""
    write(folder, Cargo_toml='[package]\nname = "user"\nversion = "1.0.0"\n'
          f'edition = "2021"\n{dependencies}')
    (folder / "src").mkdir()
    write(folder / "src", main_rs=program)
    shutil.copy2(lock, folder / "Cargo.lock")


def packed(work):
    """The packed crate is whole, and the document's program runs with it."""
    folder = work.folder("cargo")
    crate = pack(work, folder)
    names = sorted(str(p.relative_to(crate)) for p in crate.rglob("*")
                   if p.is_file())
    expect(names == sorted(PACKED), f"packed: {names}")
    expect((crate / "tvmffi.h").read_bytes()
           == (ROOT / "tvmffi.h").read_bytes(), "it has another header")
    dependencies = work.block("Cargo", "toml")
    expect(f'"tvmffi/{CRATE}"' in dependencies, dependencies)
    project(folder, dependencies.replace(f"tvmffi/{CRATE}", crate.name),
            work.block("Cargo", "rust"), crate / "Cargo.lock")
    printed = run(["cargo", "run", "--quiet"], folder)
    expect(printed == "TVM FFI 0.1.16\n", printed)


def deployed(work):
    """The program runs where it is copied together with the library beside it.
    """
    folder, target = work.folder("cargo shared"), work.plain / "cargo-shared"
    (folder / "tvmffi").symlink_to(work.source)
    project(folder, work.block("Cargo", "toml").replace(
        '" }', '", features = ["shared"] }'), work.block("Cargo", "rust"),
            work.source / CRATE / "Cargo.lock")
    write(folder, build_rs=work.block("Cargo", "rust", 1))
    run(["cargo", "build", "--quiet", "--target-dir", target], folder)
    there = work.folder("deployed")
    for name in "user", "libtvm_ffi.so":
        shutil.copy2(target / "debug" / name, there)
    shutil.rmtree(target)
    printed = run([there / "user"])
    expect(printed == "TVM FFI 0.1.16\n", printed)


def undefined(folder):
    """What the static library asks the linker for."""
    library = next(Path(folder).glob("debug/build/*/out/libtvmffi.a"))
    return set(re.findall(r"^ +U (\w+)", run(["nm", library]), re.M)), library


def features(work):
    """Without a feature, the library lacks what its option leaves out."""
    target = work.plain / "cargo-features"
    test = ["cargo", "test", "--quiet", "--locked", "--test", "calls",
            "--no-default-features", "--target-dir"]
    run([*test, target / "libc", "--features", "libc,builtins"],
        work.source / CRATE)
    names, library = undefined(target / "libc")
    expect("malloc" in names and "pthread_mutex_lock" not in names
           and "dlopen" not in names, f"undefined: {sorted(names)}")
    text = run(["strings", library])
    expect("ffi.String" in text and "ffi.json.Parse" not in text,
           "the feature `extra` has no effect")
    run([*test, target / "bare"], work.source / CRATE,
        TVMFFI_ARENA_SIZE="65536")
    names, _ = undefined(target / "bare")
    expect("malloc" not in names and "vsnprintf" not in names,
           f"undefined: {sorted(names)}")


UPSTREAM = """
fn main() {
    tvm_ffi::Function::get_global("ffi.Shape").unwrap();
    println!("found a function of the runtime");
}
"""


def under_upstream(work):
    """A program with the crate tvm-ffi runs on the library of ours, without
    Python."""
    folder = work.folder("cargo tvm-ffi")
    (folder / "tvmffi").symlink_to(work.source)
    upstream = rust.fetched(folder / "fetch", os.environ)
    project(folder, f'[dependencies]\ntvm-ffi = "={rust.VERSION}"\n', UPSTREAM,
            upstream / "Cargo.lock")
    script = work.block("Cargo", "sh").replace("--release ", "") \
        .replace("/release", "/debug")
    expect("release" not in script, script)
    printed = shell(script, folder)
    expect("found a function of the runtime\n" in printed, printed)
    linked = shell(script.replace("cargo run", "ldd target/debug/user"), folder)
    expect("/tvmffi-sys/debug/libtvm_ffi.so " in linked, linked)


def declarations(work):
    """The Rust declarations are those of the header, and a change is found."""
    # A copy, because other cases build the crate at the same time.
    copy = work.folder("declarations")
    for name in ("src", "packaging/rust"):
        shutil.copytree(work.source / name, copy / name)
    shutil.copy2(work.source / "tvmffi.h", copy)
    check = [sys.executable, copy / "packaging/rust/bindings.py", "--check"]
    run(check)
    changed = copy / CRATE / "src/abi.rs"
    text = changed.read_text()
    changed.write_text(text.replace("pub major: u32", "pub major: u64", 1))
    try:
        run(check)
    except RuntimeError as error:
        expect("abi.rs differs from tvmffi.h" in str(error), str(error))
    else:
        expect(False, "the change was not found")


CASES = [(f"Cargo, {name}", cargo(case)) for name, case in (
    ("the packed crate", packed),
    ("the shared library beside the program", deployed),
    ("features", features),
    ("the library under the crate tvm-ffi", under_upstream),
)] + [("Cargo, the declarations are current", declarations)]
