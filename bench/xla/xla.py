#!/usr/bin/env python3
"""Times a small kernel, z = a * x + y of four floats, as a handler of XLA's FFI.

    python bench/xla/xla.py [--cc CC] [--cxx CXX]

Prints the least nanoseconds of a call, by tvmffi_xla.h, by XLA's C++ headers,
and by the package jax-tvm-ffi if it is installed: of the handler alone, in a
loop of a compiled program, and called from Python. "ratio" is the median of our
time in units of that by XLA's C++ headers, over the rounds of several
processes; the goal is at most 1.05 in the loop. Needs JAX.
"""

import argparse
import ctypes
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OURS, THEIRS = "tvmffi_xla.h", "XLA's C++ headers"
GOAL = 1.05
LOOP = 20_000
# Where the libraries and the arrays lie in memory differs by process.
PROCESSES = 9
ROUNDS = 21


def build(folder, include, compiler, source, *options):
    library = f"{folder}/{source.replace('.', '_')}.so"
    subprocess.run([*shlex.split(compiler), "-shared", "-fPIC", "-O2",
                    f"-I{ROOT}", f"-I{ROOT}/hosts/xla", "-isystem", include,
                    *options, str(HERE / source), "-o", library], check=True)
    return library


def interleaved(functions):
    """The times of each function, in rounds by turns: others use the machine,
    too."""
    times = {name: [] for name in functions}
    for _ in range(ROUNDS):
        for name, function in functions.items():
            times[name].append(function())
    return times


def timed(function, calls):
    def run():
        begin = time.perf_counter_ns()
        function()
        return (time.perf_counter_ns() - begin) / calls
    return run


def measure(ours, theirs, frame):
    """Prints {row: {name: [nanoseconds a call]}} as JSON."""
    import jax
    import jax.numpy as jnp
    targets = {}
    handlers = {OURS: ctypes.CDLL(ours).tvmffi_xla_axpy,
                THEIRS: ctypes.CDLL(theirs).cxx_axpy}
    for name, handler in handlers.items():
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler))
        targets[name] = name
    try:
        import jax_tvm_ffi
        import tvm_ffi
    except ImportError:
        pass
    else:
        jax_tvm_ffi.register_ffi_target(
            "package", tvm_ffi.load_module(ours).axpy,
            ["args", "rets", "attrs.a"])
        targets["jax-tvm-ffi"] = "package"
    frame = ctypes.CDLL(frame)
    frame.time_handler.restype = ctypes.c_double
    frame.time_handler.argtypes = [ctypes.c_void_p, ctypes.c_void_p,
                                   ctypes.c_long]

    x = jnp.arange(4, dtype="float32")
    loops, calls = {}, {}
    for name, target in targets.items():
        axpy = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct((4,), "float32"))
        loop = jax.jit(lambda x, axpy=axpy: jax.lax.fori_loop(
            0, LOOP, lambda _, y: axpy(x, y, a=2.0), x)).lower(x).compile()
        one = jax.jit(lambda x, axpy=axpy: axpy(x, x, a=2.0))
        if one(x).tolist() != [0, 3, 6, 9]:
            sys.exit(f"{name}: wrong result")
        loops[name] = timed(lambda loop=loop: loop(x).block_until_ready(),
                            LOOP)
        calls[name] = timed(lambda one=one: [
            one(x).block_until_ready() for _ in range(200)], 200)
    alone = {name: lambda handler=handler: frame.time_handler(
        ctypes.cast(handler, ctypes.c_void_p), None, 20_000)
        for name, handler in handlers.items()}
    json.dump({"the handler alone": interleaved(alone),
               "in a loop of a program": interleaved(loops),
               "called from Python": interleaved(calls)}, sys.stdout)


def report(processes):
    """Prints the table of {row: {name: [nanoseconds a call]}} per process."""
    names = processes[0]["in a loop of a program"]
    versions = [f"{name} {metadata.version(name)}"
                for name in ("jaxlib", "jax-tvm-ffi")
                if name == "jaxlib" or name in names]
    print(f"{', '.join(versions)}: nanoseconds a call\n\n"
          f"| | {' | '.join(names)} | ratio |\n"
          f"| --- | {'--- | ' * len(names)}--- |")
    for row in processes[0]:
        times = {name: [t for each in processes for t in each[row].get(name, ())]
                 for name in names}
        ratio = statistics.median(
            ours / theirs for ours, theirs in zip(times[OURS], times[THEIRS]))
        print(f"| {row} |", " | ".join(
            f"{min(each):.0f}" if each else "" for each in times.values()),
            f"| {ratio:.3f} |")
        if row == "in a loop of a program":
            in_loop = ratio
    print(f"\ngoal: at most {GOAL} of XLA's C++ headers in a loop: "
          f"{in_loop:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    if args.measure:
        return measure(*args.measure)
    import jax
    with tempfile.TemporaryDirectory() as folder:
        include = jax.ffi.include_dir()
        libraries = [
            build(folder, include, args.cc, "kernel.c", "-lpthread", "-ldl"),
            build(folder, include, args.cxx, "kernel.cc", "-std=c++17"),
            build(folder, include, args.cc, "frame.c")]
        report([json.loads(subprocess.run(
            [sys.executable, __file__, "--measure", *libraries], check=True,
            stdout=subprocess.PIPE, text=True).stdout)
            for _ in range(PROCESSES)])


if __name__ == "__main__":
    main()
