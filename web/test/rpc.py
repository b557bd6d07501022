#!/usr/bin/env python3
"""Apache TVM's Python client on a wasm module, through the stock proxy and the
JavaScript client's RPCServer, in node and in Chromium:

    python web/test/rpc.py MODULE.wasm

MODULE is compiled by demo/compile.py with --rpc and test/kernels.c. The Python
that runs this has what tests/clients/requirements-tvm.txt names. NODE_MODULES
is the folder with the client, CHROMIUM the browser; without one, the page is
not tested. TAP.
"""

import gc
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent.parent / "tests"
sys.path[:0] = [str(TESTS / "tools"), str(TESTS / "clients")]
import rpc_wire as wire  # noqa: E402
from tap import Tap  # noqa: E402

import numpy as np  # noqa: E402
import tvm  # noqa: E402
import tvm_ffi  # noqa: E402
from tvm import rpc  # noqa: E402
from tvm.rpc.proxy import Proxy  # noqa: E402

KEY = "wasm"
MODULES = Path(os.environ["NODE_MODULES"])
CLIENT = MODULES / "@mlc-ai/web-runtime/lib/index.js"
# A WebGPU that needs no GPU, as in browser.js.
CHROMIUM = ["--headless=new", "--enable-unsafe-webgpu", "--no-sandbox",
            "--use-webgpu-adapter=swiftshader", "--use-vulkan=swiftshader",
            "--enable-features=Vulkan", "--disable-dev-shm-usage"]
# A client without a server waits for ten minutes: the proxy ends before that.
LIMIT = 240
DTYPES = ["float32", "float64", "float16", "int8", "int64", "uint16", "bool"]
SHAPES = [(), (0,), (7,), (3, 4), (2, 0, 3), (2, 3, 4, 5)]


# -- processes ------------------------------------------------------------

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Started:
    """A process and its children, which end together."""

    def __init__(self, command, log):
        self.log = Path(log)
        with open(log, "w") as output:
            self.process = subprocess.Popen(
                [str(word) for word in command], start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def running(self):
        return self.process.poll() is None

    def said(self):
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(line[:200] for line in lines[-20:])

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)

    def stop(self):
        if self.running():
            self.kill()
        self.process.wait()


def wait_for(port, server):
    """Waits until a server listens on the port."""
    while server.running():
        try:
            socket.create_connection(("127.0.0.1", port), 20).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise RuntimeError(server.said())


# -- a session ------------------------------------------------------------

def connect(port, module):
    return rpc.connect("127.0.0.1", port, key=KEY, session_constructor_args=[
        "rpc.WasmSession", module])


def failure(function):
    """The text of the error that the function ends with, or None."""
    try:
        function()
    except tvm.error.RPCError as error:
        return str(error)
    except Exception as error:
        return "not an RPCError: " + repr(error)
    return None


def refused(tap, name, function, *words):
    said = failure(function) or "no error"
    tap.ok(said.startswith("RPCError") and all(w in said for w in words), name,
           said)


def check_values(tap, session):
    echo = session.get_function("testing.echo")
    wrong = []
    for value in (None, True, False, 0, -1, 2**63 - 1, -2**63, 1.5,
                  float("inf"), "", "seven b", "eight by", "x" * 100000,
                  "\u00e4\U0001f600", b"", b"\0\1\2", b"y" * 50000,
                  tvm_ffi.dtype("float32"), tvm_ffi.dtype("int4x8")):
        got = echo(value)
        if got != value or isinstance(got, bool) != isinstance(value, bool):
            wrong.append((value, got))
    tap.ok(not wrong, "values there and back", wrong)
    refused(tap, "too many arguments are an error", lambda: echo(1, 2),
            "TypeError: Mismatched number of arguments")
    raises = session.system_lib()["test_raise"]
    refused(tap, "an error has its kind and message",
            lambda: raises("KeyError", "no \u00e4 there"),
            "KeyError: no \u00e4 there")
    said = None
    try:
        session.get_function("test.none")
    except AttributeError as error:
        said = str(error)
    tap.ok(said, "a missing function is known to be missing")


def check_arrays(tap, session, device):
    wrong = []
    for dtype in DTYPES:
        for shape in SHAPES:
            x = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
            got = tvm.runtime.tensor(x, device).numpy()
            if got.dtype != x.dtype or not np.array_equal(got, x):
                wrong.append((dtype, shape, got))
    tap.ok(not wrong, "arrays there and back", wrong)
    # Longer than a message of the WebSocket, 4 KB here and 64 KB there.
    x = np.random.default_rng(0).random(100_001, "float32")
    there = tvm.runtime.tensor(x, device)
    tap.ok(np.array_equal(there.numpy(), x), "a long array there and back")
    other = tvm.runtime.empty(x.shape, "float32", device)
    there.copyto(other)
    tap.ok(np.array_equal(other.numpy(), x), "an array copied over there")
    device.sync()
    tap.ok(device.exist, "a device that is there")
    refused(tap, "more memory than wasm has is an error",
            lambda: tvm.runtime.empty((1 << 33,), "int8", device), "Error")


def check_kernels(tap, session):
    library, device = session.system_lib(), session.cpu(0)
    x = np.random.default_rng(1).random((60, 40), "float32")
    rows = tvm.runtime.tensor(x, device)
    sums = tvm.runtime.empty((60,), "float32", device)
    library["squares"](rows, sums)
    tap.ok(np.allclose(sums.numpy(), (x * x).sum(1), rtol=1e-5),
           "a compiled kernel")
    refused(tap, "a kernel's error", lambda: library["squares"](rows, rows),
            "ValueError")
    said = None
    try:
        library["none"]
    except AttributeError as error:
        said = str(error)
    tap.ok(said, "a module without that function")
    tap.ok(not session.device("metal", 0).exist,
           "a device that is not there does not exist")
    refused(tap, "and has no memory", lambda: tvm.runtime.empty(
        (4,), "int8", session.device("metal", 0)), "no device metal:0")
    return rows, sums


def check_later(tap, session):
    later = session.get_function("testing.asyncAddOne")
    tap.ok([later(41), later(1.5)] == [42, 2.5],
           "an asynchronous function's results")


def check_timing(tap, session, rows, sums):
    library, device = session.system_lib(), session.cpu(0)
    count = library["test_count"]
    before = count()
    result = library.time_evaluator("test_count", device, number=5, repeat=3)()
    tap.ok(len(result.results) == 3 and count() - before == 1 + 15 + 1,
           "the calls of the time evaluator", (result, count() - before))
    result = library.time_evaluator(
        "squares", device, number=1, repeat=2, min_repeat_ms=2,
        limit_zero_time_iterations=1000, cooldown_interval_ms=1)(rows, sums)
    tap.ok(len(result.results) == 2 and min(result.results) > 0,
           "a kernel timed", result)
    add_one = session._sess.time_evaluator("tvmjs.testing.add_one", device,
                                           number=1)
    tap.ok(len(add_one(1).results) == 1, "a global function timed")

    def evaluate(name="test_count", **options):
        return lambda: library.time_evaluator(
            name, device, **{"number": 1, **options})()

    refused(tap, "an error in the timed function",
            lambda: library.time_evaluator("squares", device, number=1)(
                rows, rows), "JSCallbackError", "ValueError")
    refused(tap, "no function to time", evaluate("none"),
            "there is no function `none`")
    refused(tap, "no measurement of no call", evaluate(number=0),
            "number is 0")
    refused(tap, "nothing prepares a measurement",
            evaluate(f_preproc="test_count"), "f_preproc")


def check_memory(tap, session, device, counter):
    """The client has released all that it had, so nothing may be left."""
    used = session.get_function(counter)
    echo = session.get_function("testing.echo")
    library = session.system_lib()

    def work():
        for _ in range(3):
            echo("x" * 1000)
            tvm.runtime.tensor(np.arange(3000), device).numpy()
            failure(lambda: echo(1, 2))
            session.get_function("testing.asyncAddOne")
            library.time_evaluator("test_count", session.cpu(0), number=2)()
        gc.collect()
        return used()

    work()
    first, second = work(), work()
    tap.ok(first == second, f"no memory is lost: {counter}",
           second - first)


def check_gpu(tap, session):
    library, device = session.system_lib(), session.device("webgpu", 0)
    check_arrays(tap, session, device)
    random = np.random.default_rng(2)
    x, y = (random.random((65, 33), "float32") for _ in "xy")
    a, b = tvm.runtime.tensor(x, device), tvm.runtime.tensor(y, device)
    c = tvm.runtime.empty((65, 65), "float32", device)
    library["matmul"](a, b, c)
    tap.ok(np.allclose(c.numpy(), x @ y.T, rtol=1e-4), "a shader's product")
    d = tvm.runtime.empty(x.shape, "float32", device)
    library["axpy"](2.0, a, b, d)
    tap.ok(np.allclose(d.numpy(), 2 * x + y), "a shader with a number")
    result = library.time_evaluator("matmul", device, number=2, repeat=2)(
        a, b, c)
    tap.ok(len(result.results) == 2 and min(result.results) > 0,
           "a shader timed", result)
    refused(tap, "a tensor of the CPU is not for a shader",
            lambda: library["matmul"](a, b, tvm.runtime.empty(
                (65, 65), "float32", session.cpu(0))), "ValueError")
    refused(tap, "WebGPU has one scope of memory", lambda: tvm.runtime.empty(
        (4,), "float32", device, "texture"), "scope `texture`")


def check_session(tap, port, module, with_gpu):
    session = connect(port, module)
    check_values(tap, session)
    check_arrays(tap, session, session.cpu(0))
    check_later(tap, session)
    check_timing(tap, session, *check_kernels(tap, session))
    check_memory(tap, session, session.cpu(0), "tvmffi.web.bytes_used")
    if with_gpu:
        check_gpu(tap, session)
        gpu = session.device("webgpu", 0)
        check_memory(tap, session, gpu, "tvmffi.web.bytes_used")
        check_memory(tap, session, gpu, "web.gpu_bytes")
    else:
        refused(tap, "without WebGPU there is no memory of it",
                lambda: tvm.runtime.empty(
                    (4,), "float32", session.device("webgpu", 0)),
                "there is no WebGPU")
        refused(tap, "nor can anything wait for it",
                session.device("webgpu", 0).sync, "there is no WebGPU")


# -- clients that are no clients ------------------------------------------

def begin(port, module):
    """A session whose packets are written by hand."""
    w = wire.Wire(port, begin=False)
    w.socket.sendall(wire.hello("client:" + KEY))
    magic, size = struct.unpack("<ii", w.read(8))
    assert magic == wire.MAGIC, hex(magic)
    w.read(size)
    code, _ = w.ask(wire.init(b"0.8.0", wire.text("rpc.WasmSession"),
                              struct.pack("<iQ", 9, len(module)) + module))
    assert code == wire.RETURN, code
    return w


def closed(w, packet):
    """Whether the server closes the connection after the packet."""
    try:
        w.ask(packet)  # an exception may come first
        w.read(1)
    except wire.Closed:
        return True
    return False


def check_ends(tap, port, module):
    begin(port, module).close()
    w = begin(port, module)
    tap.ok(closed(w, wire.packet(99)),
           "a malformed packet ends the session")
    w.close()
    w = begin(port, module)
    tap.ok(closed(w, wire.packet(wire.SHUTDOWN)), "a client that says goodbye")
    w.close()
    w = begin(port, module)
    code, body = w.ask(wire.packet(wire.GET_GLOBAL, wire.values(
        wire.text("testing.asyncAddOne"))))
    handle = body[8:16]
    w.socket.sendall(wire.packet(wire.CALL, handle + wire.values(
        wire.integer(1))))
    w.close()
    session = connect(port, module)
    tap.ok(session.get_function("testing.asyncAddOne")(1) == 2,
           "a client that dies before its answer")
    del session
    gc.collect()


def check_half_packet(tap, port, module):
    """The client's server alone does not join again after this."""
    w = begin(port, module)
    w.socket.sendall(wire.packet(wire.GET_GLOBAL, b"x" * 100)[:50])
    w.close()
    session = connect(port, module)
    tap.ok(session.get_function("testing.echo")(1) == 1,
           "a client that dies inside of a packet")
    del session
    gc.collect()


# -- the two places -------------------------------------------------------

def limited(end, test, process):
    """Runs a test, and ends the proxy by `end` if it takes too long."""
    timer = threading.Timer(LIMIT, end)
    timer.start()
    try:
        test()
    except Exception as error:
        raise RuntimeError(process.said()) from error
    finally:
        timer.cancel()


def in_node(tap, module, folder):
    port, web_port = free_port(), free_port()
    proxy = Started(
        [sys.executable, "-m", "tvm.exec.rpc_proxy", "--host", "127.0.0.1",
         "--port", port, "--port-end", port + 1, "--web-port", web_port],
        folder / "proxy.log")
    node = None

    def test():
        check_session(tap, port, module, False)
        gc.collect()
        check_ends(tap, port, module)
        check_half_packet(tap, port, module)
        tap.ok(node.running(), "node runs to the end", node.said())

    try:
        wait_for(web_port, proxy)
        node = Started(["node", HERE.parent / "demo/rpc.js",
                        f"ws://127.0.0.1:{web_port}/ws", KEY],
                       folder / "node.log")
        limited(proxy.kill, test, node)
    finally:
        if node:
            node.stop()
        proxy.stop()


def in_chromium(tap, module, folder, chromium):
    port, web_port = free_port(), free_port()
    proxy = Proxy("127.0.0.1", port, port + 1, web_port,
                  index_page=str(HERE.parent / "demo/rpc.html"),
                  resource_files=[("/", str(CLIENT)), ("/", str(
                      HERE.parent / "demo/rejoin.js"))])
    browser = None

    def test():
        check_session(tap, port, module, True)
        gc.collect()
        session = connect(port, module)
        tap.ok(session.get_function("testing.echo")(1) == 1,
               "a second session")
        del session
        gc.collect()
        check_half_packet(tap, port, module)

    try:
        browser = Started([chromium, *CHROMIUM, f"--user-data-dir={folder}/ch",
                           f"http://127.0.0.1:{web_port}/?key={KEY}"],
                          folder / "chromium.log")
        limited(proxy.terminate, test, browser)
    finally:
        if browser:
            browser.stop()
        proxy.terminate()


def main():
    module = Path(sys.argv[1]).read_bytes()
    chromium = os.environ.get("CHROMIUM")
    tap = Tap()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            tap.note("-- RPC in node")
            in_node(tap, module, Path(folder))
            if chromium:
                tap.note("-- RPC in Chromium")
                in_chromium(tap, module, Path(folder), chromium)
        except Exception:
            tap.ok(False, "the tests come to their end",
                   traceback.format_exc())
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
