"""Builds, and the runs of tests: their order and their totals."""

import os
import sys
import time
from pathlib import Path
from shutil import rmtree

import packages
from job import output, run, said, say, start, status_of, wait

# Builds the library optimised, as for clients, and the tests without.
QUICK = ["-Doptimization=2", "-Dtest_optimization=0"]
# Line numbers for valgrind's reports, but no locations of variables, which take
# a quarter of gcc's time with optimisation.
OPTIMISED = ["-Dwerror=true", "-Doptimization=2", "-Ddebug=false",
             "-Dc_args=-g1", "-Dcpp_args=-g1"]
BARE = ["-Dbench=disabled", "-Dcxx=disabled"]
HARDENED = ("gcc -O2 -D_FORTIFY_SOURCE=3 -fstack-protector-strong "
            "-fstack-clash-protection -ftrivial-auto-var-init=pattern "
            "-fcf-protection -Wl,-z,relro,-z,now")
# The sanitizers' builds also check the runtime's invariants.
CHECKED = ["-Dc_args='-DTVMFFI_ASSERT(x)=((x)?(void)0:__builtin_trap())'",
           *BARE]
# The options of the build with these sanitizers.
ASAN = ["-Db_sanitize=address,undefined", "-Db_lundef=false",
        "-Doptimization=1", "-Dtest_optimization=0", *CHECKED]

results = []  # exit status and log of each run
# Pythons with Debian's and the newest PyTorch, with Apache TVM and with JAX, the
# folders of an old TVM and of an old apache-tvm-ffi, for the following builds.
clients = {"torch_python": "", "torch_host_python": "", "tvm_python": "",
           "xla_python": "",
           "legacy_wheel": "", "old_wheel": ""}


def use_compilers(cc, cxx):
    os.environ.update(CC=cc, CXX=cxx)


# -- builds --------------------------------------------------------------


def configure(name, *options):
    """Returns whether meson could set up build/NAME."""
    options = [f"-Dwheel_python={os.getcwd()}/build/venv/bin/python",
               *(f"-D{key}={value}" for key, value in clients.items()),
               *options]
    chosen = " ".join([os.environ.get("CC", ""), os.environ.get("CXX", ""),
                       *options])
    stamp, log = Path(f"build/{name}.options"), Path(f"build/{name}.log")
    if stamp.is_file() and stamp.read_text() == chosen \
            and Path(f"build/{name}/build.ninja").is_file():
        return True
    rmtree(f"build/{name}", ignore_errors=True)
    with log.open("w") as file:
        status = status_of("meson", "setup", f"build/{name}", *options,
                           stdout=file, stderr=file)
    if status:
        print(log.read_text(), end="")
    else:
        stamp.write_text(chosen)
    return not status


def build(name, *targets):
    """Returns ninja's exit status."""
    began = time.monotonic()
    print(f"building build/{name}")
    status = status_of("ninja", "--quiet", "-C", f"build/{name}", *targets)
    print(f"build/{name}: {time.monotonic() - began:.0f} s", flush=True)
    return status


def need_built(name, options, *targets):
    status = 1
    if not configure(name, *options) or (status := build(name, *targets)):
        sys.exit(status)


def optimised(*targets):
    """The build for demo, dropin and benchmarks."""
    need_built("opt", ["-Doptimization=2", "-Ddebug=false"], *targets)


# -- runs ----------------------------------------------------------------


def suites(names, without=""):
    """The options of `meson test` for suites, and for those left out."""
    return [word for name in names.split() for word in ("--suite", name)] + \
        [word for name in without.split() for word in ("--no-suite", name)]


def check(name, setup, *arguments, log="tests", beside=None):
    """Runs a build's tests, after building what they need, and calls `beside`
    meanwhile."""
    tests = start("meson", "test", "-C", f"build/{name}", "--print-errorlogs",
                  "--logbase", log, "--setup", setup, *arguments)
    if beside:
        beside()
    results.append((wait(tests), f"build/{name}/meson-logs/{log}-{setup}.json"))


def configure_and_check(name, options, setup, *arguments, everything=False,
                        cc=None):
    """With `everything`, also builds targets that no test needs. The tests run
    compilers, too: CC is then `cc`, if given."""
    for log in Path(f"build/{name}/meson-logs").glob("*.json"):
        log.unlink()
    # A build that fails leaves no log, which counts as a failure.
    if configure(name, *options) and not (everything and build(name)):
        if cc:
            os.environ["CC"] = cc
        check(name, setup, *arguments)
    else:
        results.append((1, f"build/{name}/meson-logs/tests-{setup}.json"))


def record(*tests, at_once=2):
    """Runs tests that are not in a build of meson's: names and commands. Each
    uses one processor for the most part."""
    waiting, running = list(tests), []
    while waiting or running:
        while waiting and len(running) < at_once:
            name, *command = waiting.pop(0)
            log = f"build/{name}.json"
            running.append((start("python", "tests/tools/record.py", log, name,
                                  *command), log))
        ended = [each for each in running if each[0].poll() is not None]
        for child, log in ended:
            results.append((wait(child), log))
            running.remove((child, log))
        if not ended:
            time.sleep(0.1)


def tally(*options):
    say("result")
    run("python", "tests/tools/tally.py", *options,
        *(f"--took={end - begin:.0f}={text}"
          for (text, begin), (_, end) in zip(said, said[1:])),
        *(f"{status}={log}" for status, log in results))


# -- groups of runs ------------------------------------------------------


def default():
    say(f"tests with {os.environ.get('CC') or 'cc'}")
    configure_and_check("test", ["-Dwerror=true", *QUICK], "quick",
                        everything=True)


COVERAGE = "coverage", "python", "tests/tools/coverage.py"


def coverage():
    say("coverage")
    record(COVERAGE)


def sanitizers():
    """Leaves CC and CXX set to clang."""
    say("clang: address and undefined behaviour sanitizers, fuzzers")
    use_compilers("clang", "clang++")
    configure_and_check("asan", ASAN, "all",
                        *suites("unit oom-c11 examples robust fuzz", "c99"))
    say("clang: thread sanitizer")
    configure_and_check(
        "tsan", ["-Db_sanitize=thread", "-Db_lundef=false", "-Doptimization=1",
                 *CHECKED], "quick", *suites("unit examples robust", "c99"))


def prepare_ports():
    packages.need_venv("build/venv-ports", "tests/builds/ports",
                       "tests/builds/ports/systems")
    packages.need_venv("build/venv-cuda", "tests/hosts/requirements-cuda.txt",
                       options=["--no-deps"])


def ports(*options):
    prepare_ports()
    say("other compilers, processors and systems")
    folder, python = "tests/builds/ports", "build/venv-ports/bin/python"
    write = ["--write"] if "--write" in options else []
    record(("ports", python, f"{folder}/ports.py", "build/ports", *options))

    def program(path, *more):
        return path.split("/")[1], "python", f"{folder}/{path}.py", *more

    # What takes longest comes first. Those that write one document take turns.
    record(
        program("firmware/profiles", *write),
        ("web", "env", "-u", "CC", f"TVM_PYTHON={packages.installed_tvm()}",
         "sh", "web/test/run.sh", "build/web"),
        program("freestanding/freestanding"),
        ("systems", python, f"{folder}/systems/systems.py", "--cache",
         "build/systems"),
        program("firmware/needs"),
        program("kernel/kernel", "--cache", "build/kernel"),
        program("bounds/bounds", *write), program("firmware/product", *write),
        program("firmware/firmware", *write), program("firmware/misra"),
        program("device_shell/device_shell"), program("languages/languages"),
        program("msvc/msvc"), program("interrupts/interrupts"),
        ("cuda", "python", "tests/hosts/cuda_compiler.py", "--cuda",
         "build/venv-cuda"), at_once=1 if write else 2)


def packaging():
    say("build systems and packages")
    record(("packaging", "python", "tests/builds/packaging/run.py"),
           ("wheel", "python", "tests/builds/wheel/wheel.py"))


def stock_library():
    return output("python", "-m", "tvm_ffi.config", "--libdir") \
        + "/libtvm_ffi.so"


# Of the versions of PyTorch that tvmffi_torch.h supports, those between the two of
# requirements-torch-oldest.txt and requirements-torch-host.txt: 0.9 GB each.
TORCH_BETWEEN = "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1"


def heavy_clients(*options):
    """Clients of upstream that are large downloads."""
    say("clients of upstream and its wheels")
    plain, cxx = "dropin/libtvm_ffi.so", "dropin/cxx/libtvm_ffi.so"
    optimised(plain, cxx)
    python = {name: packages.client_venv(name)
              for name in ("jax", "tilelang", "wheels", "torch-oldest")}
    if not all(python.values()):
        sys.exit(1)
    for name, venv, program, library, *more in (
            ("jax", "jax", "jax_client", plain),
            ("orcjit", "jax", "orcjit_client", cxx),
            ("tilelang", "tilelang", "tilelang_client", cxx),
            ("wheels", "wheels", "wheels", cxx, "--work", "build/wheels",
             "--newest", stock_library())):
        record((f"client-{name}", python[venv], f"tests/clients/{program}.py",
                "--lib", f"build/opt/{library}", *more))
    record(("host-torch", python["torch-oldest"],
            "tests/hosts/torch_host.py"))
    for version in TORCH_BETWEEN:
        record((f"host-torch-{version}", python["torch-oldest"],
                "tests/hosts/torch_host.py", "--site",
                packages.unpack_torch(version)))
    if options[:1] == ("--write",):
        run("python", "tests/clients/table.py",
            *(f"build/client-{name}.json"
              for name in ("wheels", "jax", "orcjit", "tilelang")))


def prepare_clients():
    clients.update(
        torch_python=packages.client_venv("torch"),
        torch_host_python=packages.client_venv("torch-host"),
        tvm_python=packages.client_venv("tvm"),
        xla_python=packages.client_venv("xla"),
        # TVM's runtime is used without its package, so any Python's wheel will
        # do.
        legacy_wheel=packages.unpack_wheel(
            "legacy", "--platform", "manylinux1_x86_64", "--python-version",
            "3.10"),
        old_wheel=packages.unpack_wheel("old"))


def hardened():
    use_compilers(HARDENED, "g++")
    configure_and_check("hardened", [*OPTIMISED, *BARE], "all",
                        *suites("unit rpc", "c99 c++11"), cc="gcc")


def everything():
    """Test programs are built without optimisation, in a fifth of the time.
    Another build of each compiler tests optimised code."""
    # Downloads in the background; the first builds do not need the files.
    with open("build/install.log", "w", encoding="utf-8") as log:
        installing = start(sys.executable, "devtools/main.py", "install",
                           stdout=log, stderr=log)
    say("coverage, wrapping integers, small stacks")
    record(COVERAGE,
           ("harden", "python", "tests/hostile/harden.py", "--quick"))
    say("gcc: 32 bits")
    # Debian has no asm/ headers for 32 bits if cross compilers are installed.
    flags = f"-m32 -idirafter/usr/include/{output('gcc', '-print-multiarch')}"
    use_compilers(f"gcc {flags}", f"g++ {flags}")
    configure_and_check("m32", ["-Dwerror=true", "-Doptimization=0", *BARE],
                        "all", *suites("unit oom-c11 examples abi", "self-test"),
                        everything=True)
    sanitizers()
    say("clang")
    configure_and_check("clang", ["-Dwerror=true", *QUICK], "quick",
                        *suites("unit examples abi surface", "slow"),
                        everything=True)
    say("clang: optimised")
    configure_and_check("clang-opt", [*OPTIMISED, "-Dbench=disabled"], "all",
                        *suites("unit", "c99"))
    use_compilers("gcc", "g++")
    if wait(installing):
        say("see build/install.log")
    say("gcc: optimised, benchmark limits")
    configure_and_check("gcc-opt", OPTIMISED, "all",
                        *suites("unit bench", "c99"))
    prepare_clients()
    # Valgrind runs one program, which leaves a processor to the next build.
    say("gcc: valgrind, and hardened, as distributions build")
    check("gcc-opt", "valgrind", *suites("unit", "c99 c++11"),
          "--test-args=--short", log="valgrind", beside=hardened)
    use_compilers("gcc", "g++")
    say("gcc: everything")
    configure_and_check("gcc", ["-Dwerror=true", *QUICK, "-Dbench=disabled"],
                        "all", everything=True)
    packaging()
    ports()
    # PyTorch has its own run, with Debian's packages, which are too old for
    # some cases. The other run, without PyTorch, covers those.
    return ["--may-skip=C kernels in Python, NumPy*: PyTorch",
            "--may-skip=C kernels in Python, PyTorch*: *"]


def test(kind="--default", *options):
    """`./dev test` with its options."""
    packages.prepare(kind[2:])
    group = {"--default": default, "--all": everything, "--clients":
             heavy_clients, "--coverage": coverage, "--packaging": packaging,
             "--ports": ports, "--sanitizers": sanitizers}[kind]
    tally(*(group(*options) or []))
