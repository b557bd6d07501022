#!/usr/bin/env python3
"""TVM's RPC: upstream's server and ours in one run, beside two processes that
only pass the same bytes.

    rpc.py --server TVMFFI_RPC --client BENCH_RPC --functions LIBRARY [--check]

The client is rpc.c. Each row is measured in turns, and the least time counts.
The last rows are kernels that TVM compiles, by its time evaluator. "Bare" is
then this process, without a server. All have the threads of TVM_NUM_THREADS, else
one per processor. With --check there are no kernels, and the exit status says
whether the goals are met: no slower than upstream's server, and a call takes at
most 1.2 times a bare round trip. Then all processes share one processor,
because the time in which another one wakes up can be a multiple of a call's and
differs from pair to pair; the goals have room for noise; and it measures until
they are met or CHECKS turns are over.
The Python that runs this has what tests/clients/requirements-tvm.txt names.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile

# name, client's mode, bare mode, count, bytes
ROWS = [("call", "call", "ping", 2000, 0),
        ("copy to the server, 4 KB", "to", "put", 500, 4096),
        ("copy from the server, 4 KB", "from", "get", 500, 4096),
        ("copy to the server, 1 MB", "to", "put", 4, 1 << 20),
        ("copy from the server, 1 MB", "from", "get", 4, 1 << 20),
        ("copy to the server, 16 MB", "to", "put", 1, 16 << 20),
        ("copy from the server, 16 MB", "from", "get", 1, 16 << 20)]
KERNELS = [("kernel: x + 1, 4 MB", "add", (1 << 20,), 2),
           ("kernel: matrix product", "serial", (256, 256), 3),
           ("kernel: the same, in parallel", "parallel", (256, 256), 3)]
TURNS = 3
CHECKS = 12
NO_SLOWER = 1.1  # two runs of one server differ by as much
CALL = 1.2
ROOM = 1.4  # the guard's, for the noise of a machine that does other things
SKIPPED = 77  # a status that meson knows


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_ours(program, functions):
    process = subprocess.Popen(
        [program, "--host", "127.0.0.1", "--port", "0", "--load", functions],
        stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "listening on" in line:
            return process, int(line.rsplit(":", 1)[1])
    raise RuntimeError("the server did not start")


def start_upstream(rpc, functions):
    port = free_port()
    return rpc.Server("127.0.0.1", port, port + 50, load_library=functions,
                      silent=True)


def start_bare(client):
    process = subprocess.Popen([client, "echo"], stdout=subprocess.PIPE,
                               text=True)
    return process, int(process.stdout.readline())


def measure(client, mode, port, count, size):
    done = subprocess.run([client, mode, str(port), str(count), str(size)],
                          capture_output=True, text=True, timeout=120,
                          check=True)
    return float(done.stdout)


def compile_kernels(path):
    import tvm
    from tvm import te
    x = te.placeholder((1 << 20,), dtype="float32", name="x")
    y = te.compute(x.shape, lambda i: x[i] + 1, name="y")
    a = te.placeholder((256, 256), dtype="float32", name="a")
    b = te.placeholder((256, 256), dtype="float32", name="b")
    k = te.reduce_axis((0, 256), name="k")
    c = te.compute(a.shape, lambda i, j: te.sum(a[i, k] * b[k, j], axis=k),
                   name="c")
    serial = tvm.s_tir.Schedule(te.create_prim_func([a, b, c]))
    i, j, k = serial.get_loops(serial.get_sblock("c"))
    serial.reorder(i, k, j)
    parallel = serial.copy()
    parallel.parallel(parallel.get_loops(parallel.get_sblock("c"))[0])
    functions = {"add": te.create_prim_func([x, y]),
                 "serial": serial.mod["main"],
                 "parallel": parallel.mod["main"]}
    module = tvm.IRModule({name: function.with_attr("global_symbol", name)
                           for name, function in functions.items()})
    tvm.compile(module, target="llvm").export_library(path)


def time_kernels(path, port):
    """The least time of each kernel in nanoseconds, at a server or, without a
    port, here."""
    import numpy as np
    import tvm
    from tvm import rpc
    if port:
        session = rpc.connect("127.0.0.1", port)
        session.upload(path)
        module = session.load_module(os.path.basename(path))
        device = session.cpu()
    else:
        module, device = tvm.runtime.load_module(path), tvm.cpu()
    got = []
    for _, name, shape, count in KERNELS:
        arrays = [tvm.runtime.tensor(np.ones(shape, "float32"), device)
                  for _ in range(count)]
        timed = module.time_evaluator(name, device, number=10, repeat=10)
        got.append(min(timed(*arrays).results) * 1e9)
    return got


def measure_kernels(ports, least):
    """Measures each kernel in turns, and keeps the least times as `turn` does.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernels.so")
        compile_kernels(path)
        for _ in range(TURNS):
            got = [time_kernels(path, port)
                   for port in (ports["upstream"], ports["ours"], None)]
            for (name, *_), times in zip(KERNELS, zip(*got)):
                least[name] = [min(a, b)
                               for a, b in zip(times, least.get(name, times))]


def shown(ns, size):
    if size < 1 << 20:
        return f"{ns / 1000:.1f} us"
    return f"{size / ns:.2f} GB/s"


def turn(client, ports, least):
    """Measures each row once and keeps the lesser times in `least`:
    {name: (upstream's, ours, bare), in nanoseconds}"""
    for name, mode, bare, count, size in ROWS:
        got = [measure(client, m, ports[who], count, size)
               for who, m in (("upstream", mode), ("ours", mode),
                              ("bare", bare))]
        before = least.get(name, got)
        least[name] = [min(a, b) for a, b in zip(got, before)]


def misses(least, room):
    """The goals that are missed by more than room."""
    missed = []
    for name, (theirs, ours, bare) in least.items():
        if ours > theirs * NO_SLOWER * room:
            missed.append(f"{name}: slower than upstream's server")
        if name == "call" and ours > bare * CALL * room:
            missed.append(f"{name}: more than {CALL} bare round trips")
    return missed


def report(least):
    print(f"{'':28}{'upstream':>11}{'ours':>11}{'bare':>11}"
          f"{'of upstream':>13}{'of bare':>9}")
    sizes = {row[0]: row[-1] for row in ROWS}
    for name, (theirs, ours, bare) in least.items():
        print(f"{name:28}" + "".join(f"{shown(t, sizes.get(name, 0)):>11}"
                                     for t in least[name])
              + f"{ours / theirs:13.2f}{ours / bare:9.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--client", required=True)
    parser.add_argument("--functions", required=True)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    try:
        from tvm import rpc
    except ImportError as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    if args.check:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ.setdefault("TVM_NUM_THREADS",
                          str(len(os.sched_getaffinity(0))))
    upstream = start_upstream(rpc, os.path.abspath(args.functions))
    ours, our_port = start_ours(args.server, args.functions)
    bare, bare_port = start_bare(args.client)
    ports = {"upstream": upstream.port, "ours": our_port, "bare": bare_port}
    room = ROOM if args.check else 1
    least = {}
    try:
        for done in range(1, (CHECKS if args.check else TURNS) + 1):
            turn(args.client, ports, least)
            missed = misses(least, room)
            if args.check and done >= TURNS and not missed:
                break
        if not args.check:  # last: TVM's threads bind this process here
            measure_kernels(ports, least)
            missed = misses(least, room)
    finally:
        for process in (ours, bare):
            process.terminate()
            process.wait()
        upstream.terminate()
    report(least)
    for line in missed:
        print("missed: " + line)
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
