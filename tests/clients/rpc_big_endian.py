#!/usr/bin/env python3
"""Our RPC server on big-endian machines, by the stock client on this one.

    rpc_big_endian.py

Builds the server and its functions for s390x and ppc64, and runs them by qemu.
The client sees of them what it sees of upstream's server on this machine. The
Python that runs this has what requirements-tvm.txt names.
"""

import gc
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE))
from tap import Tap  # noqa: E402

try:
    import numpy as np
    import tvm
    from tvm import rpc
    import rpc_client as client
    import rpc_wire as wire
except (ImportError, SystemExit) as missing:
    tap = Tap()
    tap.skip("RPC on big-endian machines", missing)
    sys.exit(tap.done())

MACHINES = (("s390x", "s390x-linux-gnu"), ("ppc64", "powerpc64-linux-gnu"))


def build(name, triple, folder):
    """The path of a server for the machine, and of its functions."""
    compiler = [f"{triple}-gcc", "-O0", "-w", f"-I{ROOT}"]
    functions, program = folder / f"{name}.so", folder / name
    jobs = [subprocess.Popen([*compiler, *map(str, args)]) for args in (
        ("-rdynamic", ROOT / "rpc/server.c", "-o", program, "-lpthread",
         "-ldl"),
        ("-shared", "-fPIC", HERE / "rpc_functions.c", "-o", functions))]
    for job in jobs:
        assert job.wait() == 0, job.args
    script = folder / f"run-{name}"
    script.write_text(f'#!/bin/sh\nexec qemu-{name}-static -L /usr/{triple} '
                      f'{program} "$@"\n')
    script.chmod(0o755)
    return str(script), str(functions)


def observe(session):
    """{name: what the client sees}, without kernels, which the wheel does not
    compile for these machines."""
    seen = {}

    def see(name, function):
        seen[name] = client.outcome(function)

    client.plain_values(session, see)
    client.objects(session, see)
    client.arrays(session, see)
    client.files(session, see)
    calls = session.get_function("test.count")
    before = calls()
    evaluate = session._sess.time_evaluator("test.spin_us", session.cpu(0),
                                            number=1, repeat=3)
    times = evaluate(2000).results
    seen["a time that is known"] = str([0.002 <= t < 0.2 for t in times])
    see("a count", lambda: calls() - before)
    return seen


def check_numbers(tap, name, port):
    """Bytes that are written as numbers of one size are read as such of
    another: the order in the server's memory is the machine's."""
    w = wire.Wire(port)
    data = struct.pack("<4f", 1, 2, 3, 4)
    handle = w.alloc(len(data))

    def copy(code, shape, dtype, content=b""):
        return w.ask(wire.packet(code, wire.tensor_body(
            handle, shape, dtype=dtype) + struct.pack("<Q", len(data))
            + content))

    for dtype, read, shape, wanted in (
            ((5, 64, 1), (2, 32, 1), (2,), data),  # complex64
            ((2, 32, 4), (2, 32, 1), (1,), data),  # float32x4
            ((2, 32, 1), (1, 8, 1), (4,), struct.pack(">4f", 1, 2, 3, 4))):
        sent = copy(wire.COPY_TO, shape, dtype, data)
        size = 16 if read[1] == 8 else 4
        code, got = copy(wire.COPY_FROM, (size,), read)
        tap.ok(sent[0] == wire.RETURN and (code, got) == (wire.COPY_ACK, wanted),
               f"{name}: {dtype} read as {read}", (sent, code, got))
    w.close()


def check(tap, name, triple, folder, theirs):
    if not (shutil.which(f"{triple}-gcc") and
            shutil.which(f"qemu-{name}-static")):
        tap.skip(f"RPC on {name}", "no compiler, or no qemu")
        return
    program, functions = build(name, triple, folder)
    # qemu has neither Landlock nor seccomp, as an old kernel.
    ended = subprocess.run([program, "--port", "0", "--confine", "yes"],
                           capture_output=True, text=True, timeout=60)
    tap.ok(ended.returncode == 2 and "cannot confine sessions: the kernel has "
           "no" in ended.stderr, f"{name}: --confine yes is an error", ended)
    server = client.Server(program, "--load", functions)
    tap.ok("sessions are not confined: the kernel has no" in "".join(
        server.lines), f"{name}: without Landlock the server says so",
           server.lines)
    try:
        session = rpc.connect("127.0.0.1", server.port)
        client.compare(tap, name, observe(session), theirs)
        try:
            session.get_function("test.sum")(tvm.runtime.tensor(
                np.zeros(3, "int32"), session.cpu(0)))
            text = ""
        except tvm.error.RPCError as error:
            text = str(error)
        tap.ok("rpc_functions.c" in text, f"{name}: an error has a traceback",
               text)
        del session
        gc.collect()
        check_numbers(tap, name, server.port)
    finally:
        server.stop()
    if client.Tracker is None:
        tap.skip(f"{name}: a tracker", "there is no tornado")
        return
    port = client.free_port()
    tracker = client.Tracker("127.0.0.1", port, port + 1, silent=True)
    server = client.Server(program, "--load", functions, "--key", "board",
                           "--tracker", f"127.0.0.1:{port}")
    try:
        hub = rpc.connect_tracker("127.0.0.1", port)
        session = hub.request("board")
        tap.ok(session.get_function("test.echo")(3) == 3,
               f"{name}: a session by a tracker")
        del session
        hub.close()
    finally:
        server.stop()
        tracker.terminate()


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as top:
        os.environ["TMPDIR"] = top
        functions = str(Path(top, "functions.so"))
        subprocess.run(["cc", "-O1", "-w", f"-I{ROOT}", "-shared", "-fPIC",
                        HERE / "rpc_functions.c", "-o", functions], check=True)
        upstream = client.upstream_server(functions)
        try:
            session = rpc.connect("127.0.0.1", upstream.port)
            theirs = observe(session)
            del session
            gc.collect()
        finally:
            upstream.terminate()
        for name, triple in MACHINES:
            check(tap, name, triple, Path(top), theirs)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
