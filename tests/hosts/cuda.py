"""hosts/cuda/tvmffi_cuda.h on a stand-in for the NVIDIA driver. Output is TAP.

The tests with the real compiler are in cuda_compiler.py.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).parents[2]
HERE = ROOT / "tests/hosts"
sys.path.insert(0, str(ROOT / "tests/tools"))
from tap import Tap  # noqa: E402

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wundef", "-Werror",
            "-O0", "-g", f"-I{ROOT}", f"-I{HERE}"]
SCENARIOS = ["lazy", "devices", "stream", "threads", "attributes", "args",
             "bad", "ended"]
BALANCE = "# end: 0 libraries, 0 and 0 contexts\n"


def run(*command, **more):
    return subprocess.run([str(word) for word in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=120, **more)


def build(*command):
    done = run(*command)
    if done.returncode:
        raise RuntimeError(done.stdout)


def build_driver(cc, folder, *flags):
    folder.mkdir()
    build(*cc, "-std=gnu99", "-fPIC", "-shared", *flags,
          HERE / "cuda_driver.c", "-o", folder / "libcuda.so.1", "-lpthread")


def scenario(driver, program, *arguments, **variables):
    """Runs a scenario with the driver in a folder."""
    return run(program, *arguments, env={
        **os.environ, "LD_LIBRARY_PATH": str(driver), **variables})


def check_scenarios(tap, work, name, program, scenarios):
    driver = work / "driver"
    for what in scenarios:
        done = scenario(driver, program, what)
        ended = "ended\n" if what == "ended" else ""
        tap.ok(done.returncode == 0 and done.stdout == ended + BALANCE,
               f"{name}: {what}", done.stdout)


def check_unload(tap, work, name, program, compiler):
    build(*compiler, "-fPIC", "-shared", HERE / "cuda_plugin.c", "-o",
          work / "plugin.so")
    done = scenario(work / "driver", program, "unload", work / "plugin.so")
    tap.ok(done.returncode == 0 and done.stdout == BALANCE, f"{name}: unload",
           done.stdout)


def check_failures(tap, work, name, program):
    """Lets each call that the driver receives fail in turn."""
    calls = []
    for at in range(1, 50):
        done = scenario(work / "driver", program, "fail", at)
        if done.returncode or not done.stdout.endswith(BALANCE):
            tap.ok(False, f"{name}: call {at} fails", done.stdout)
            return
        if done.stdout.startswith("passed"):
            break
        calls.append(at)
    # init device retain current_device current set_current load kernel
    # param_info device_attribute kernel_attribute set_kernel_attribute launch
    # set_current
    tap.ok(len(calls) == 14, f"{name}: each of 14 calls fails in turn", calls)


def symbols():
    """The driver's functions that the header finds by name."""
    header = (ROOT / "hosts/cuda/tvmffi_cuda.h").read_text()
    return re.findall(r'^  F\(\w+, "(\w+)"', header, re.M)


def check_no_driver(tap, work, name, program):
    (work / "empty").mkdir(exist_ok=True)
    done = scenario(work / "empty", program, "error")
    tap.ok(done.returncode == 0 and done.stdout.count(
        "RuntimeError: Cannot load the NVIDIA driver: libcuda.so.1: cannot "
        "open shared object file") == 2, f"{name}: no driver", done.stdout)


def check_drivers(tap, work, cc, program):
    """Drivers that are too old or without a device."""
    done = scenario(work / "driver", program, "error", STAND_IN_NO_DEVICE="1")
    tap.ok(done.returncode == 0 and done.stdout.count(
        "RuntimeError: CUDA Error: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable "
        "device is detected, in cuInit") == 2, "no device", done.stdout)
    build_driver(cc, work / "before_12_4",
                 "-DcuKernelGetParamInfo=stand_in_absent")
    done = scenario(work / "before_12_4", program, "unknown args")
    tap.ok(done.returncode == 0 and done.stdout == BALANCE,
           "a driver without cuKernelGetParamInfo checks no arguments",
           done.stdout)
    names = symbols()
    tap.ok(len(names) == 17, "the header needs 17 functions", names)
    for name in names:
        build_driver(cc, work / name, f"-D{name}=stand_in_absent", "-O0")
        done = scenario(work / name, program, "error")
        tap.ok(done.returncode == 0 and done.stdout.count(
            "RuntimeError: The NVIDIA driver is too old: libcuda.so.1, which "
            f"supports CUDA 11.4, has no function {name}. CUDA 12.0 or newer is "
            "needed") == 2, f"a driver without {name}", done.stdout)


def can_build(work, compiler, flags):
    source = work / "can.c"
    source.write_text("int main(void) { return 0; }\n")
    return run(*compiler, *flags, source, "-o", work / "can").returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx")
    args = parser.parse_args()
    tap, cc = Tap(), args.cc.split()
    builds = [("C99", [*cc, "-std=c99"], []),
              ("C11, address sanitizer", [*cc, "-std=c11"],
               ["-fsanitize=address,undefined"]),
              ("C11, thread sanitizer", [*cc, "-std=c11"],
               ["-fsanitize=thread"])]
    if args.cxx:
        builds.append(("C++11", [*args.cxx.split(), "-std=c++11", "-xc++"],
                       []))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        build_driver(cc, work / "driver")
        for name, compiler, flags in builds:
            if flags and not can_build(work, cc, flags):
                tap.skip(name, "the compiler has no such sanitizer")
                continue
            program, compiler = work / "program", compiler + WARNINGS + flags
            build(*compiler, HERE / "cuda.c", "-o", program, "-rdynamic",
                  "-lpthread", "-ldl")
            # This sanitizer runs the handlers of an unloaded library at exit.
            if "-fsanitize=thread" in flags:
                check_scenarios(tap, work, name, program, ["threads"])
                continue
            check_scenarios(tap, work, name, program, SCENARIOS)
            check_unload(tap, work, name, program, compiler)
            check_failures(tap, work, name, program)
            check_no_driver(tap, work, name, program)
            if name == "C99":
                check_drivers(tap, work, cc, program)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
