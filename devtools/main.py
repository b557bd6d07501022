"""The commands of ./dev that need programs or Python packages; the script
checks their arguments."""

import os
import re
import sys
import tarfile
from pathlib import Path
from shutil import rmtree

sys.dont_write_bytecode = True
sys.path.append("packaging")
import packages  # noqa: E402
import suites  # noqa: E402
from job import die, main, output, run, say, status_of, works  # noqa: E402
from packages import prepare  # noqa: E402
from release import header_version  # noqa: E402
from suites import optimised, stock_library, test  # noqa: E402, F401

LIBRARY = f"libtvmffi.so.{header_version('.')}"
DROPIN = """Python   PYTHONPATH={0} python program.py
Rust     LD_LIBRARY_PATH={0}/lib cargo run
C++      LD_LIBRARY_PATH={0}/lib ./program
Without the variable, each has upstream's library as before.

{0}"""

WHEEL = """usage: ./dev wheel

Builds the Python package tvmffi into build/wheel: wheels for x86-64 and aarch64 with
glibc 2.17 or newer, and the source distribution, which pip compiles elsewhere. It takes
2 minutes, and the first time downloads zig, 100 MB. To install and to test the wheel:

  pip install build/wheel/tvmffi-*-manylinux*_$(uname -m).whl
  python -m tvmffi --help

docs/packaging.md describes the package, packaging/python/templates has projects of
wheels with kernels, and ./dev test --packaging tests both."""


def compilers():
    """Options of programs that compile."""
    return ["--cc", os.environ.get("CC") or "cc",
            "--cxx", os.environ.get("CXX") or "c++"]


def with_headers():
    """The same for those that also compile with the wheel's headers."""
    return [*compilers(), "--wheel-include",
            output("python", "-m", "tvm_ffi.config", "--includedir")]


def run_bench(*options, **streams):
    run("build/opt/bench", "--ours", "build/opt/libtvmffi.so", "--stock",
        stock_library(), *options, **streams)


def demo():
    prepare()
    optimised(LIBRARY, "01_quick_start", "kernels.so", "bench")
    say("the quick start: examples/01_quick_start.c")
    run("build/opt/01_quick_start")
    say("a C kernel on numpy arrays: examples/kernel")
    run("python", "examples/kernel/run_kernels.py", "build/opt/kernels.so")
    say("nanoseconds, compared with the stock library: bench")
    run_bench("--short", "--runs", "3")


def dropin(cxx=""):
    prepare()
    library = "dropin/cxx/libtvm_ffi.so" if cxx else "dropin/libtvm_ffi.so"
    folder = os.path.abspath("build/dropin-cxx" if cxx else "build/dropin")
    optimised(library)
    run("python", "dropin/folder.py", f"build/opt/{library}", folder)
    say("how to use it: docs/dropin.md")
    print(DROPIN.format(folder))


def prepare_wheel():
    packages.need_venv("build/venv-wheel", "packaging/python")
    packages.use_venv("build/venv-wheel")
    os.environ["ZIG_GLOBAL_CACHE_DIR"] = os.path.abspath("build/zig")


def wheel(*options):
    if options:
        print(WHEEL)
        sys.exit(options[0] not in ("-h", "--help"))
    packages.need_tools()
    prepare_wheel()
    rmtree("build/wheel", ignore_errors=True)
    run("python", "packaging/python/release.py", "build/wheel")


def release(*options):
    # Find what is wrong before the download.
    run(sys.executable, "packaging/release.py", "--check", *options)
    packages.need_tools("release")
    prepare_wheel()
    rmtree("build/release", ignore_errors=True)
    # The compiler for the wasm module is pinned like that of the wheels.
    os.environ["CC"] = "python -m ziglang cc"
    run("python", "packaging/release.py", *options)


def fuzz(name, seconds):
    if not re.fullmatch("[1-9][0-9]*", seconds):
        die(f"not a number of seconds: {seconds}")
    names = Path("tests/hostile/fuzz/fuzzers.txt").read_text().split()
    if name not in (*names, "all"):
        die(f"no fuzzer is named {name}; the fuzzers are {' '.join(names)}")
    prepare("sanitizers")
    suites.use_compilers("clang", "clang++")
    folder, failed = "tests/hostile/fuzz", []
    built = os.path.abspath(f"build/asan/{folder}")
    for each in names if name == "all" else [name]:
        program, replay = f"fuzz-{each}", f"fuzz-replay-{each}"
        suites.need_built("asan", suites.ASAN, f"{folder}/{program}",
                          f"{folder}/{replay}")
        say(f"{each} for {seconds} seconds; inputs go to "
            f"build/asan/{folder}/found")
        if status_of("python", f"{folder}/run.py", each, "--program",
                     f"{built}/{program}", "--replay", f"{built}/{replay}",
                     "--seconds", seconds, "--work", f"{built}/found"):
            failed.append(each)
    if failed:
        die(f"found an input that fails: {' '.join(failed)}")


def source_version():
    """The commit, and whether files differ from it."""
    if works("git", "rev-parse", "HEAD"):
        return output("git", "describe", "--always", "--dirty", "--abbrev=12",
                      "--exclude=*")
    return "unknown"


def bench(*options):
    if "--help" in options:  # at once, as nothing is built
        text = Path("bench/README.md").read_text(encoding="utf-8")
        print(text.partition("\n## Add a benchmark")[0])
    elif options[:1] == ("--languages",):
        bench_languages(*options[1:])
    elif options[:1] == ("--verdicts",):
        bench_verdicts(*options[1:])
    elif options[:1] in (("--report",), ("--replay",)):
        bench_report(options[0] == "--report", *options[1:])
    elif options[:1] == ("--compare",) and len(options) > 2 and \
            not options[2].startswith("--"):
        bench_compare(*options[1:])
    elif options[:1] == ("--compare",) and not Path(*options[1:2]).is_file():
        die("--compare needs two commits, headers, libraries or files of --json, or "
            "one such file")
    else:
        bench_rows(*options)


def placed(*headers):
    """Options for many links of the benchmark program, and of libraries of these
    headers: pairs of an option and a path."""
    folder = "build/bench/placements"
    if status_of("python", "bench/placements.py", folder, "--build",
                 "build/opt", *headers):
        say("this linker places no functions: all is one placement, whose "
            "advantages look like differences")
        return []
    return ["--placements", folder]


def bench_rows(*options):
    # Some rows alone do not replace the run of all.
    name = "part.json" if options else "run.json"
    streams = {}
    if "-" in options:  # the standard output has the results alone
        streams["stdout"] = os.dup(1)
        os.dup2(2, 1)
    prepare()
    optimised(LIBRARY, "bench")
    Path("build/bench").mkdir(exist_ok=True)
    if "--list" not in options:
        run_bench("--check", *options)
        # Another library is what it is.
        own = [] if "--ours" in options else ["--ours", "tvmffi.h"]
        options += tuple(placed(*own))
    say("nanoseconds, compared with the stock library")
    run_bench("--json", f"build/bench/{name}", "--commit", source_version(),
              *options, **streams)
    if name == "run.json":
        say("verdicts: ours to stock")
        status_of(sys.executable, "bench/verdicts.py", "--brief",
                  f"build/bench/{name}")
        say("sizes, compile and load times")
        run("python", "tests/builds/sizes.py", *with_headers(), "--stock",
            stock_library(), "--json", "build/bench/sizes.json")
        say("goals")
        run("python", "bench/report.py", "--goals", "--sizes",
            "build/bench/sizes.json", "build/bench/run.json")


def header_of(name):
    """A path of a file, or the header of a commit as a file."""
    if Path(name).is_file():
        return name
    if not works("git", "cat-file", "-e", f"{name}:tvmffi.h"):
        die(f"neither a file nor a commit: {name}")
    path = Path("build/bench", re.sub(r"\W", "_", name) + ".h")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(output("git", "show", f"{name}:tvmffi.h") + "\n",
                    encoding="utf-8")
    return str(path)


def bench_compare(old, new, *options):
    """Two files of results; or two libraries, headers or commits, which are
    measured by turns."""
    old, new = header_of(old), header_of(new)
    if old.endswith(".json") and new.endswith(".json"):
        if options:
            die("two files of results are compared without options")
        run(sys.executable, "bench/verdicts.py", old, new)
        return
    prepare()
    optimised(LIBRARY, "bench")
    Path("build/bench").mkdir(exist_ok=True)
    result = "build/bench/compare.json"
    libraries, headers = [], []
    for option, path in ("--stock", old), ("--ours", new):
        if path.endswith(".h"):
            headers += option, path
            path = f"build/bench/placements/0/{option[2:]}.so"
        libraries += option, os.path.abspath(path)
    options = list(options)
    if "--filter" in options[:-1]:  # no verdict is finer than the controls
        options[options.index("--filter") + 1] += "|^controls: "
    placements = placed(*headers)
    if headers and not placements:
        die("give two libraries")
    say(f"nanoseconds: stock is {old}, ours is {new}")
    run("build/opt/bench", "--json", result, "--commit", source_version(),
        *placements, *options, *libraries)
    say(f"verdicts: {new} to {old}")
    run(sys.executable, "bench/verdicts.py", result)


def bench_verdicts(*options):
    """The experiment with verdicts, whose result --report and --replay show."""
    prepare()
    optimised(LIBRARY, "bench")
    run("python", "bench/test_verdicts.py", "build/bench/verdicts", "--build",
        "build/opt", "--commit", source_version(), *options)


def bench_languages(*options):
    """A call from each language that is installed. The calls from Python are
    those of compare, in the same run."""
    calls = os.path.abspath("build/compare/calls.json")
    compare("--json", calls)
    languages(calls, *options)


def languages(calls, *options):
    packages.need_venv("build/venv-languages", "bench/languages")
    say("a call from each language")
    run("build/venv-languages/bin/python", "bench/languages/languages.py",
        "build/languages", *compilers(), "--compare", calls, "--ours",
        os.path.abspath("build/opt/dropin/libtvm_ffi.so"), "--stock",
        stock_library(), *options)


def bench_report(measure, *options):
    """Measures everything. With options, the page is one of some rows, and goes
    elsewhere."""
    folder = Path("build/bench/part" if options else "build/bench")
    folder.mkdir(parents=True, exist_ok=True)
    figures, facts = f"{folder}/run.json", f"{folder}/facts.json"
    if measure:
        prepare()
        optimised(LIBRARY, "bench")
        run_bench("--json", figures, "--commit", source_version(), "--runs", "16",
                  *placed("--ours", "tvmffi.h"), *options)
        run("python", "bench/report.py", "--note", facts, "--commands",
            "build/opt/compile_commands.json", figures)
        run("python", "tests/builds/sizes.py", *with_headers(), "--stock",
            stock_library(), "--json", f"{folder}/sizes.json")
        if not options:
            calls = os.path.abspath(f"{folder}/python.json")
            compare("--json", calls)
            languages(calls, "--json", os.path.abspath(
                f"{folder}/languages.json"))
    if missing := [path for path in (figures, facts, f"{folder}/sizes.json")
                   if not Path(path).is_file()]:
        die(f"no such file, so measure first: {' '.join(missing)}")
    packages.need_venv("build/venv-bench", "requirements.txt", "bench")
    others = {"--python": Path(folder, "python.json"),
              "--languages": Path(folder, "languages.json"),
              "--sure": Path("build/bench/verdicts/result.json")}
    out = Path(folder, "report") if options else Path("docs")
    out.mkdir(exist_ok=True)
    record = f"{folder}/record.tar.xz"
    measured = [figures, facts, f"{folder}/sizes.json",
                *filter(os.path.exists, others.values()),
                *sorted(others["--sure"].parent.glob("*.json"))]
    with tarfile.open(record, "w:xz") as file:
        for path in dict.fromkeys(map(str, measured)):
            file.add(path, filter=without_owner)
    run("build/venv-bench/bin/python", "bench/report.py", "--sizes",
        f"{folder}/sizes.json",
        *(word for option, path in others.items() if path.exists()
          for word in (option, path)),
        *(word for path in sorted(Path("bench/machines").glob("*.json"))
          for word in ("--beside", path)),
        "--growth", f"{folder}/growth", "--facts", facts, "--record", record,
        "--out", out, figures)
    say(f"written: {out}/benchmarks.md, and with all samples {record}")


def without_owner(member):
    """The same for each who makes it."""
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o644
    return member


def compare(*options):
    prepare("compare")
    folder = "build/venv-compare"
    packages.need_venv(folder, "requirements.txt", "bench/compare",
                       "tests/clients/requirements-torch-host.txt",
                       options=["--no-deps"])
    packages.stand_in_for_cuda(folder)
    optimised("dropin/libtvm_ffi.so")
    run("python", "dropin/folder.py", "build/opt/dropin/libtvm_ffi.so",
        "build/dropin")
    run(f"{folder}/bin/python", "bench/compare/compare.py", "build/compare",
        *with_headers(), "--dropin", "build/dropin", "--stock", stock_library(),
        *options)
    if options:
        return
    say("an operator of PyTorch")
    run(f"{folder}/bin/python", "bench/torch_host.py")
    if python := packages.client_venv("jax"):
        say("a handler of XLA's FFI")
        run(python, "bench/xla/xla.py")
    say("C to Python's functions: load_inline")
    run("python", "bench/compare/inline.py")


def lint():
    prepare()
    run("python", "tests/tools/lint.py", *with_headers())


def mutate(*options):
    packages.need_tools()
    run(sys.executable, "tests/tools/mutate.py", "--cc",
        os.environ.get("CC") or "cc", *options)


def prove(*names):
    packages.need_tools("proofs")
    run(sys.executable, "tests/eva/run.py", *names)


def harden(*names):
    packages.need_tools("harden")
    run(sys.executable, "tests/hostile/harden.py", *names)


def web(option, page=""):
    tvm = packages.installed_tvm()
    if option == "--serve":
        tvm = packages.client_venv("tvm") if page else ""
        if page and not tvm:
            die("Apache TVM is needed to compile the programs")
    os.environ.update(TVM_PYTHON=tvm, NODE_MODULES="build/web/node_modules")
    if option == "--test":
        run("sh", "web/test/run.sh", "build/web")
        return
    run("sh", "web/test/run.sh", "--no-tests", "build/web")
    run("node", "web/serve.js", "build/web/demo.wasm",
        *(["build/web/webgpu.wasm"] if tvm else []))


def rpc():
    prepare()
    optimised("tvmffi-rpc")
    print(os.path.abspath("build/opt/tvmffi-rpc"))


def install():
    """What `test --all` installs in the background."""
    suites.prepare_clients()
    suites.prepare_ports()


if __name__ == "__main__":
    main(globals()[sys.argv[1]], *sys.argv[2:])
