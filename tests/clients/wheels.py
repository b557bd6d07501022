#!/usr/bin/env python3
"""Runs the clients of each of upstream's wheels on its own library and on ours.

    wheels.py --lib OURS --newest NEWEST --work FOLDER [VERSION...]

OURS has upstream's C++ symbols, NEWEST is the library of upstream's newest
wheel. For each wheel:
- wheel_symbols.cpp, compiled with its headers, prints the same on both;
- each test of its Python package that passes on its own library passes on ours,
  or fails on NEWEST as well.
Wheels and tests come from pip and stay in FOLDER. The Python that runs this has
the packages of requirements-wheels.txt and no wheel. Writes TAP.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import xml.etree.ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE.parents[1] / "dropin"))
sys.path.insert(0, str(HERE.parents[1] / "packaging/python/src"))
sys.dont_write_bytecode = True
import both  # noqa: E402
import folder  # noqa: E402
from tap import Tap  # noqa: E402
from tvmffi.elf import Elf  # noqa: E402

# The last release of each version that upstream has not withdrawn.
WHEELS = ("0.1.9 0.1.10 0.1.11 0.1.12 0.1.13.post3 0.1.14.post1 "
          "0.1.15.post2").split()
PACKAGE = "apache-tvm-ffi"
# They compile C++ for minutes; wheel_symbols.cpp and build_client.py do, too.
LEFT_OUT = ("test_build.py", "test_build_inline.py", "test_load_inline.py",
            "test_examples.py", "test_stl.py")
SECONDS = 900


def pip(*arguments):
    subprocess.run([sys.executable, "-m", "pip", *map(str, arguments),
                    "--quiet", "--disable-pip-version-check", "--no-deps"],
                   check=True)


class Wheel:
    """One release: its package, its library and its tests."""

    def __init__(self, version, work):
        self.version = version
        self.package = work / version / "package"
        self.tests = work / version / "tests"
        self.library = self.package / "tvm_ffi" / folder.LIBRARY

    def prepare(self):
        """Installs the package and unpacks the tests of its sources."""
        wanted = f"{PACKAGE}=={self.version}"
        if not self.package.exists():
            fresh = self.package.with_name("package.new")
            pip("install", "--only-binary=:all:", "--upgrade", "--target",
                fresh, wanted)
            fresh.rename(self.package)
        if not self.tests.exists():
            sources = self.tests.with_name("sources")
            pip("download", "--no-binary=:all:", "--no-build-isolation",
                "--dest", sources, wanted)
            archive, = sources.glob("*.tar.gz")
            fresh = self.tests.with_name("tests.new")
            with tarfile.open(archive) as files:
                files.extractall(fresh, [
                    m for m in files.getmembers()
                    if re.match(r"[^/]+/(tests/python/|pyproject.toml)",
                                m.name)], filter="data")
            fresh.rename(self.tests)

    def environment(self, dropin, scratch):
        env = both.environment(TVM_FFI_DISABLE_TORCH_C_DLPACK="1",
                               PYTHONDONTWRITEBYTECODE="1",
                               TVM_FFI_CACHE_DIR=str(scratch / "cache"))
        env["PYTHONPATH"] = os.pathsep.join(
            str(path) for path in (dropin, self.package) if path)
        env["PATH"] = os.pathsep.join([str(self.package / "bin"),
                                       os.path.dirname(sys.executable),
                                       env["PATH"]])
        return env

    def loaded(self, dropin, scratch):
        """The library that the package loads."""
        code = ("import re, tvm_ffi\n"
                "print(*sorted(set(re.findall(r'/\\S*/libtvm_ffi\\.so',"
                " open('/proc/self/maps').read()))))")
        ended = both.run([sys.executable, "-c", code],
                         self.environment(dropin, scratch), 120)
        return ended.out.split() or ended.err[-500:]

    def run_tests(self, dropin, scratch, files=("tests/python",)):
        """Runs the tests; returns {test: result} and how the run ended."""
        top, = self.tests.iterdir()
        report = scratch / "report.xml"
        report.unlink(missing_ok=True)
        # pyproject.toml has options for plugins that are not installed.
        ended = both.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
             "-c", os.devnull, "--rootdir", top, f"--junit-xml={report}",
             "--continue-on-collection-errors",
             *(f"--ignore=tests/python/{name}" for name in LEFT_OUT), *files],
            self.environment(dropin, scratch), SECONDS, top)
        if not report.exists():
            return {}, f"{ended.how()}\n{ended.out[-1500:]}{ended.err[-1500:]}"
        return read_report(report), ended.how()

    def file_of(self, test):
        """The file of a test, relative to the unpacked sources."""
        top, = self.tests.iterdir()
        parts = test.split("::")[0].split(".")
        while not (top / Path(*parts)).with_suffix(".py").exists():
            parts.pop()
        return str(Path(*parts).with_suffix(".py"))


def read_report(path):
    """The results in pytest's file, {test: "passed" or another word}."""
    results = {}
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        kinds = {part.tag for part in case}
        results[name] = ("failed" if kinds & {"failure", "error"} else
                         "skipped" if "skipped" in kinds else "passed")
    return results


def exported(library):
    """The C++ functions of upstream's namespace that a library exports."""
    return {s.name for s in Elf(library).symbols
            if s.defined and s.name.startswith("_ZN3tvm3ffi")}


def check_symbols(tap, wheel, ours, scratch, cxx):
    """Compares what wheel_symbols.cpp prints."""
    program = scratch / "wheel_symbols"
    both.build(cxx, "-std=c++17", f"-I{wheel.package / 'tvm_ffi/include'}",
               HERE / "wheel_symbols.cpp", "-o", program, wheel.library)
    named = {s.name for s in Elf(program).symbols if not s.defined}
    absent = exported(wheel.library) - named
    tap.ok(not absent, f"{wheel.version}: wheel_symbols.cpp calls all "
           f"{len(exported(wheel.library))} C++ functions of the wheel",
           "\n".join(sorted(absent)))
    lines = []
    for library in (wheel.library, ours):
        ended = both.run([program], both.environment(library), 120)
        lines.append(ended.out.splitlines() if ended.status == 0 else
                     [ended.how(), ended.err[-500:]])
    tap.ok(lines[0] == lines[1] and len(lines[0]) > 20,
           f"{wheel.version}: {len(lines[0])} lines of C++ are equal",
           both.around(*("\n".join(text) for text in lines)))
    tap.note(f"C++ functions, wheel {wheel.version}: {len(lines[0])} results of "
             f"{len(exported(wheel.library))} functions compared")


def check_tests(tap, wheel, dropin, newest, scratch):
    """Compares the results of the package's tests."""
    own, how = wheel.run_tests(None, scratch)
    passed = {name for name, result in own.items() if result == "passed"}
    tap.ok(len(passed) > 400, f"{wheel.version}: {len(passed)} tests pass on "
           "the wheel's own library", how)
    ours, how = wheel.run_tests(dropin, scratch)
    lost = {n for n in passed if ours.get(n) != "passed"}
    there = {}
    if lost:
        there, _ = wheel.run_tests(newest, scratch,
                                   sorted({wheel.file_of(n) for n in lost}))
    only_ours = sorted(n for n in lost if there.get(n) == "passed")
    tap.ok(2 * len(lost) < len(passed) and not only_ours,
           f"{wheel.version}: on our library "
           f"{len(passed) - len(lost)} pass, and {len(lost)} fail as they do "
           "on upstream's newest", "\n".join([how, *only_ours]))
    tap.note(f"Python package's tests, wheel {wheel.version}: "
             f"{len(passed) - len(lost)} of {len(passed)} pass"
             + (f"; upstream's {WHEELS[-1]} fails the other {len(lost)}, too"
                if lost else ""))


def check(tap, wheel, args, work):
    wheel.prepare()
    scratch = work / wheel.version / "scratch"
    scratch.mkdir(exist_ok=True)
    dropin = folder.make(args.lib, work / "ours")
    newest = folder.make(args.newest, work / "newest")
    loaded = [wheel.loaded(path, scratch) for path in (None, dropin)]
    tap.ok(loaded == [[str(wheel.library)], [str(dropin / folder.LIBRARY)]],
           f"{wheel.version}: each run loads its library", loaded)
    check_symbols(tap, wheel, dropin / folder.LIBRARY, scratch, args.cxx)
    check_tests(tap, wheel, dropin, newest, scratch)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib", type=Path, required=True)
    parser.add_argument("--newest", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--cxx", default=os.environ.get("CXX") or "c++")
    parser.add_argument("versions", nargs="*", default=WHEELS)
    args = parser.parse_args()
    tap = Tap()
    work = args.work.resolve()
    for version in args.versions:
        try:
            check(tap, Wheel(version, work), args, work)
        except (both.Failed, OSError, subprocess.CalledProcessError) as error:
            tap.ok(False, f"{version}: prepared and built", error)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
