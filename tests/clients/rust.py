#!/usr/bin/env python3
"""Runs the tests that the Rust crate tvm-ffi ships, on three libraries.

    rust.py --lib OURS --build FOLDER

The crate is linked with the library that packaging/rust/tvmffi-sys builds.
Then LD_LIBRARY_PATH chooses: that library, OURS, or the one of the wheel, which
the Python that runs this has. Everything is built below FOLDER. Output is TAP:
one line for each test of the crate.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from tap import Tap  # noqa: E402

SYS = Path(__file__).resolve().parents[2] / "packaging/rust/tvmffi-sys"
# What tvmffi-sys is built with. The project has no lock file of it, as a crate
# that others depend on needs none.
PINNED = {"cc": "1.11.3", "find-msvc-tools": "0.1.15", "shlex": "2.0.1"}
VERSION = "0.1.15"
CARGO = (1, 78)  # the first that reads the crate's lock file
AT_LEAST = 305  # tests that the crate is known to have, without its documents'
DOCUMENTS = 6
# Fetches the crate's package, which has its tests in it.
FETCH = f"""[package]
name = "fetch"
version = "0.0.0"
edition = "2021"
[lib]
path = "lib.rs"
[dependencies]
tvm-ffi = "={VERSION}"
[workspace]
"""
RESULT = re.compile(r"^test (.+?) \.\.\. (\w+)", re.M)


class Failed(Exception):
    pass


def run(command, env, cwd, check=True):
    done = subprocess.run([str(c) for c in command], env=env, cwd=cwd,
                          stdin=subprocess.DEVNULL, text=True, timeout=1800,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          errors="replace")
    if check and done.returncode:
        raise Failed(f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}")
    return done


def why_not():
    """Why the crate cannot be built here; None if it can."""
    if not shutil.which("cargo"):
        return "cargo is not installed"
    text = subprocess.run(["cargo", "--version"], text=True,
                          capture_output=True).stdout
    version = re.search(r"(\d+)\.(\d+)", text)
    if not version or tuple(map(int, version.groups())) < CARGO:
        return f"cargo {CARGO[0]}.{CARGO[1]} is needed: {text.strip()}"
    try:
        import tvm_ffi.libinfo  # noqa: F401
    except ImportError:
        return "the wheel is not installed"
    return None


def lock(crate, env):
    """Writes the lock file of tvmffi-sys, with the pinned versions."""
    path = crate / "Cargo.lock"
    text = path.read_text() if path.exists() else ""
    if all(f'name = "{name}"\nversion = "{version}"' in text
           for name, version in PINNED.items()):
        return
    run(["cargo", "generate-lockfile", "--quiet"], env, crate)
    for name, version in PINNED.items():
        run(["cargo", "update", "--quiet", "--package", name, "--precise",
             version], env, crate)


def fetched(folder, env):
    """The folder of the crate's package, which Cargo fetches."""
    folder.mkdir(exist_ok=True)
    (folder / "Cargo.toml").write_text(FETCH)
    (folder / "lib.rs").write_text("")
    out = run(["cargo", "metadata", "--format-version=1", "--quiet"], env,
              folder).stdout
    found = json.loads(out[out.index("{"):])["packages"]
    manifest = [Path(p["manifest_path"]) for p in found
                if (p["name"], p["version"]) == ("tvm-ffi", VERSION)]
    return manifest[0].parent


def link(path, to):
    """Makes `path` a link, in place of another one."""
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(to.resolve())
    fresh.replace(path)


class Crate:
    def __init__(self, folder, stock):
        self.folder = folder.resolve()
        self.package = self.folder / "tvm-ffi"
        # The library that is tested. Its path stays the same, as the crate is
        # built anew when LD_LIBRARY_PATH changes.
        self.library = self.folder / "lib/libtvm_ffi.so"
        self.stock = stock
        testing = f"-L native={self.folder / 'testing'}"
        self.env = {
            **os.environ,
            "CARGO_TARGET_DIR": str(self.folder / "target"),
            "CARGO_PROFILE_TEST_DEBUG": "0",
            "CARGO_PROFILE_DEV_DEBUG": "0",
            "CARGO_TERM_COLOR": "never",
            "RUST_BACKTRACE": "0",
            "PATH": f"{self.folder / 'sys/debug'}:{os.environ['PATH']}",
            # Of the wheel's libraries, the tests are linked with this alone.
            "RUSTFLAGS": testing,
            "RUSTDOCFLAGS": testing,
            "LD_LIBRARY_PATH": ":".join(filter(None, (
                str(self.library.parent), str(stock.parent),
                os.environ.get("LD_LIBRARY_PATH")))),
        }

    def prepare(self):
        """The folders, and tvmffi-sys with the command that the crate's build
        asks."""
        for name in ("lib", "testing"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        link(self.folder / "testing/libtvm_ffi_testing.so",
             self.stock.parent / "libtvm_ffi_testing.so")
        lock(SYS, self.env)
        run(["cargo", "build", "--locked", "--quiet", "--features", "shared",
             "--bin", "tvm-ffi-config"],
            {**self.env, "CARGO_TARGET_DIR": str(self.folder / "sys"),
             "RUSTFLAGS": ""}, SYS)
        libdir = run(["tvm-ffi-config", "--libdir"], self.env, self.folder)
        self.built = Path(libdir.stdout.strip()) / "libtvm_ffi.so"

    def fetch(self):
        if (self.package / "Cargo.toml").exists():
            return
        # Under another name until it is whole.
        fresh = self.folder / "tvm-ffi.new"
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(fetched(self.folder / "fetch", self.env), fresh)
        fresh.rename(self.package)

    def programs(self):
        """Builds the tests; returns (name, program) of each."""
        self.use(self.built)
        out = run(["cargo", "test", "--locked", "--tests", "--no-run",
                   "--quiet", "--message-format=json"],
                  self.env, self.package).stdout
        for line in out.splitlines():
            message = json.loads(line) if line.startswith("{") else {}
            if message.get("executable"):
                yield message["target"]["name"], message["executable"]

    def use(self, library):
        link(self.library, library)

    def loaded(self, program):
        """The library that the dynamic linker gives to a program."""
        out = run([program], {**self.env, "LD_TRACE_LOADED_OBJECTS": "1"},
                  self.package).stdout
        path = re.search(r"libtvm_ffi\.so => (\S+)", out)
        return Path(path.group(1)).resolve() if path else None

    def results(self, programs):
        """What each test comes to, and the output of those that fail."""
        results, outputs = {}, {}
        for name, program in programs:
            done = run([program, "--test-threads=1"], self.env, self.package,
                       check=False)
            self.add(name, done, results, outputs)
        done = run(["cargo", "test", "--locked", "--doc"], self.env,
                   self.package, check=False)
        self.add("documents", done, results, outputs)
        return results, outputs

    def add(self, name, done, results, outputs):
        for test, result in RESULT.findall(done.stdout):
            results[f"{name}: {test}"] = result
        if done.returncode:
            outputs[name] = f"exit status {done.returncode}\n" \
                + done.stdout[-3000:]


def check(tap, crate, ours):
    crate.prepare()
    crate.fetch()
    programs = list(crate.programs())
    crate.use(crate.stock)
    stock, outputs = crate.results(programs)
    passed = [name for name, result in stock.items() if result == "ok"]
    documents = [n for n in passed if n.startswith("documents: ")]
    tap.ok(len(passed) == len(stock) and not outputs
           and len(documents) == DOCUMENTS
           and len(passed) - DOCUMENTS >= AT_LEAST,
           "the crate's tests pass on upstream's library",
           f"{len(passed)} of {len(stock)}\n" + "\n".join(outputs.values()))

    def use(library, what):
        crate.use(library)
        # The linker leaves the library out of a program that has no test.
        loaded = crate.loaded(dict(programs)["test_any"])
        tap.ok(loaded == library.resolve(), f"the tests load {what}", loaded)
        return crate.results(programs)

    got, outputs = use(crate.built, "the library of tvmffi-sys")
    tap.ok(got == stock and not outputs, "the crate's tests pass on tvmffi-sys",
           "\n".join([f"{n}: {got.get(n)}" for n in stock
                      if got.get(n) != stock[n]] + list(outputs.values())))
    got, outputs = use(ours, "our library")
    for name in stock:
        tap.ok(got.get(name) == "ok", name,
               outputs.get(name.split(":")[0], "no result"))
    bad = [n for n in outputs if all(got.get(t) == "ok" for t in stock
                                     if t.startswith(n + ": "))]
    tap.ok(not bad, "the programs end well", "\n".join(
        f"{n}: {outputs[n]}" for n in bad))
    tap.note(f"Rust crate: {sum(r == 'ok' for r in got.values())} of "
             f"{len(stock)} tests pass")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    args = parser.parse_args()
    tap = Tap()
    reason = why_not()
    if reason:
        tap.skip("the Rust crate", reason)
        return tap.done()
    import tvm_ffi.libinfo
    try:
        check(tap, Crate(args.build, Path(tvm_ffi.libinfo.find_libtvm_ffi())),
              args.lib)
    except (Failed, OSError, subprocess.TimeoutExpired) as error:
        tap.ok(False, "the crate is built and run", error)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
