#!/usr/bin/env python3
"""Times a small kernel, z = a * x + y of four floats, as a handler of XLA's FFI.

    python bench/xla/xla.py [--cc CC] [--cxx CXX] [--json FILE]

Prints nanoseconds a call, by tvmffi_xla.h, by XLA's C++ headers, and by the
package jax-tvm-ffi if it is installed: of the handler alone, in a loop of a
compiled program, and called from Python. The goal is at most 1.05 times the
time of XLA's C++ headers in the loop. Needs JAX.
"""

import argparse
import ctypes
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time
from importlib import metadata

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GOAL = 1.05
LOOP = 20_000


def build(folder, include, compiler, source, *options):
    library = f"{folder}/{source.replace('.', '_')}.so"
    subprocess.run([*shlex.split(compiler), "-shared", "-fPIC", "-O2",
                    f"-I{ROOT}", f"-I{ROOT}/hosts/xla", "-isystem", include,
                    *options, str(HERE / source), "-o", library], check=True)
    return library


def interleaved(functions, rounds=101):
    """The least time of each function, of rounds in turn: others use the
    machine, too."""
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(function())
    return {name: min(each) for name, each in times.items()}


def timed(function, calls):
    def run():
        begin = time.perf_counter_ns()
        function()
        return (time.perf_counter_ns() - begin) / calls
    return run


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--json")
    args = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp
    targets = {}
    with tempfile.TemporaryDirectory() as folder:
        include = jax.ffi.include_dir()
        ours = build(folder, include, args.cc, "kernel.c", "-lpthread", "-ldl")
        handlers = {
            "tvmffi_xla.h": ctypes.CDLL(ours).tvmffi_xla_axpy,
            "XLA's C++ headers": ctypes.CDLL(build(
                folder, include, args.cxx, "kernel.cc",
                "-std=c++17")).cxx_axpy}
        for name, handler in handlers.items():
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler))
            targets[name] = name
        try:
            import jax_tvm_ffi
            import tvm_ffi
        except ImportError:
            print("jax-tvm-ffi is not installed")
        else:
            jax_tvm_ffi.register_ffi_target(
                "package", tvm_ffi.load_module(ours).axpy,
                ["args", "rets", "attrs.a"])
            targets["jax-tvm-ffi"] = "package"
        frame = ctypes.CDLL(build(folder, include, args.cc, "frame.c"))
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

    rows = {"the handler alone": interleaved(alone),
            "in a loop of a program": interleaved(loops),
            "called from Python": interleaved(calls)}
    versions = f"jaxlib {metadata.version('jaxlib')}"
    if "jax-tvm-ffi" in targets:
        versions += f", jax-tvm-ffi {metadata.version('jax-tvm-ffi')}"
    print(f"{versions}: nanoseconds a call\n\n| | {' | '.join(targets)} | ratio |"
          f"\n| --- | {'--- | ' * len(targets)}--- |")
    for row, times in rows.items():
        ours, theirs = times["tvmffi_xla.h"], times["XLA's C++ headers"]
        print(f"| {row} |", " | ".join(
            f"{times[name]:.0f}" if name in times else ""
            for name in targets), f"| {ours / theirs:.3f} |")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1))
    loop = rows["in a loop of a program"]
    ratio = loop["tvmffi_xla.h"] / loop["XLA's C++ headers"]
    print(f"\ngoal: at most {GOAL} of XLA's C++ headers in a loop: {ratio:.3f}")


if __name__ == "__main__":
    main()
