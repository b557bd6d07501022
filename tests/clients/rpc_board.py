#!/usr/bin/env python3
"""The stock client of Apache TVM on a board: examples/firmware_rpc, with
kernels that the same TVM compiles for it, on a Cortex-M3 under qemu.

    rpc_board.py

rpc/serial.py is between the client and the serial line. The emulated processor
runs 32 ns per instruction, so that its times are the same in each run. The
Python that runs this has what requirements-tvm.txt names.
"""

import gc
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import tty
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "firmware_rpc"
sys.path.insert(0, str(ROOT / "tests/tools"))
sys.path.insert(0, str(ROOT / "tests/clients"))
import rpc_wire as wire  # noqa: E402
from tap import Tap  # noqa: E402

try:
    import numpy as np
    import tvm
    import tvm_ffi
    from tvm import rpc
    import rpc_client
except ImportError as missing:
    tap = Tap()
    tap.skip("client Apache TVM, on a board", missing)
    sys.exit(tap.done())

NEEDED = ["arm-none-eabi-gcc", "arm-none-eabi-nm", "qemu-system-arm"]
FLASH, RAM, STACK = 64 << 10, 20 << 10, 3 << 10
TRANSFER = 1024  # bytes of a copy's piece
SECONDS = 60  # that a busy machine may take for a session's beginning
# Ends a program, if this one is killed.
LIMITED = ["timeout", "280"]


class Board:
    """An emulated board. Its serial line is a terminal of this machine."""

    def __init__(self, elf):
        self.process = subprocess.Popen(
            [*LIMITED, "qemu-system-arm", "-M", "mps2-an385", "-icount", "shift=5",
             "-display", "none", "-monitor", "none", "-serial", "pty",
             "-kernel", str(elf)], stdout=subprocess.PIPE, text=True)
        self.line = re.search(r"redirected to (\S+)",
                              self.process.stdout.readline())[1]

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Bridge:
    """rpc/serial.py on a port that the system chose."""

    def __init__(self, line, wait=SECONDS, checksum="always"):
        self.process = subprocess.Popen(
            [*LIMITED, sys.executable, ROOT / "rpc/serial.py", "--port", "0",
             "--wait", str(wait), "--checksum", checksum, line],
            stderr=subprocess.PIPE, text=True)
        first = self.process.stderr.readline()
        self.port = int(first.rsplit(":", 1)[1])
        self.lines = [first]
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        self.lines.extend(self.process.stderr)

    def wait(self):
        """Waits for its end; returns the exit status."""
        status = self.process.wait(SECONDS)
        self.reader.join()
        self.process.stderr.close()
        return status

    def stop(self):
        self.process.terminate()
        self.wait()


# A client's call keeps the interpreter's lock, so a relay is a process. It
# passes one connection to a port, and prints what the client sent in hex.
RELAY = """
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
client, _ = listener.accept()
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))

def pass_on(source, target):
    kept = bytearray()
    while data := source.recv(4096):
        kept += data
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)
    return kept

back = threading.Thread(target=pass_on, args=(server, client))
back.start()
print(pass_on(client, server).hex())
"""


class Relay:
    """A process between a client and a bridge."""

    def __init__(self, bridge):
        self.process = subprocess.Popen(
            [*LIMITED, sys.executable, "-c", RELAY, str(bridge.port)],
            stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def packets(self):
        """[(code, length)] of the packets that the client sent."""
        sent = bytes.fromhex(self.process.communicate(timeout=SECONDS)[0])
        at, found = 8 + struct.unpack_from("<i", sent, 4)[0], []
        while at < len(sent):
            size, code = struct.unpack_from("<Qi", sent, at)
            found.append((code, size))
            at += 8 + size
        return found


def connect(bridge, **options):
    return rpc.connect("127.0.0.1", bridge.port, **options)


def error_of(function):
    """(class, text) of the error that a call raises."""
    try:
        return "none", repr(function())
    except Exception as error:
        return type(error).__name__, str(error)


# -- values and errors ----------------------------------------------------

def check_values(tap, session):
    echo = session.get_function("board.echo")
    for value in (None, True, False, 0, -1, 2**63 - 1, -2**63, 1.5,
                  float("inf"), "", "seven b", "eight by", "x" * 700,
                  "\u00e4\U0001f600", b"", bytes(range(256)),
                  b"\xdb" * 300, tvm_ffi.dtype("float32"),
                  tvm_ffi.dtype("int4x8")):
        got = echo(value)
        tap.ok(type(got) is type(value) or isinstance(got, type(value)),
               f"the type of {value!r:.30}", type(got))
        tap.ok(got == value, f"echo of {value!r:.30}", got)
    device = echo(session.cpu(0))
    tap.ok(device.dlpack_device_type() % 128 == 1, "echo of a device", device)


def check_errors(tap, session):
    light = session.get_function("board.light")
    tap.ok(light(40) == 0 and light(50) == 40, "a function with a state")
    kind, text = error_of(lambda: light(101))
    tap.ok(kind == "RPCError" and text.rstrip().endswith(
        "ValueError: 101 percent is no brightness"), "an error's text", text)
    kind, text = error_of(lambda: light("x"))
    tap.ok(kind == "RPCError" and "TypeError: Mismatched type on argument #0 "
           "when calling: `board.light(0: int) -> int`. Expected `int` but got "
           in text, "an argument of a wrong type", text)
    kind, text = error_of(lambda: session.get_function("board.none"))
    tap.ok(kind == "AttributeError" and "board.none" in text,
           "a function that is not there", (kind, text))
    kind, text = error_of(lambda: session.upload(__file__))
    tap.ok(kind == "AttributeError", "a board takes no files", (kind, text))
    kind, text = error_of(lambda: session.get_function("board.echo")(
        "x" * 1100))
    tap.ok(kind == "RPCError" and "longer than this server allows" in text,
           "a text that is longer than a packet", (kind, text))


# -- arrays ---------------------------------------------------------------

def check_arrays(tap, session):
    device = session.cpu(0)
    rng = np.random.default_rng(0)
    for dtype in ("float32", "float64", "float16", "int8", "int32", "int64",
                  "uint8", "bool"):
        for shape in ((), (0,), (3, 5)):
            x = rng.integers(0, 2, shape).astype(dtype)
            got = tvm.runtime.tensor(x, device).numpy()
            tap.ok(got.dtype == x.dtype and got.shape == x.shape
                   and (got == x).all(), f"{dtype}{shape} there and back", got)
    escapes = tvm.runtime.tensor(np.full(500, 0xDB, "uint8"), device)
    tap.ok((escapes.numpy() == 0xDB).all(), "bytes that are marks elsewhere")
    x = tvm.runtime.tensor(rng.standard_normal(100, "float32"), device)
    y = tvm.runtime.empty((100,), "float32", device)
    x.copyto(y)
    tap.ok((x.numpy() == y.numpy()).all(), "a copy over there")
    kind, text = error_of(lambda: tvm.runtime.empty((1 << 20,), "int8", device))
    tap.ok(kind == "RPCError" and "MemoryError: no memory for 1048576 bytes"
           in text, "more memory than there is", text)
    del escapes, x, y
    gc.collect()
    left = tvm.runtime.empty((7000,), "int8", device)
    tap.ok(left.shape == (7000,), "and then less")


def check_pieces(tap, bridge):
    """Arrays of several packets, which a relay counts."""
    relay = Relay(bridge)
    session = connect(relay)
    x = np.random.default_rng(1).integers(0, 256, 5001).astype("uint8")
    array = tvm.runtime.tensor(x, session.cpu(0))
    same = (array.numpy() == x).all()
    del array, session
    gc.collect()
    packets = relay.packets()
    to, back = ([size for code, size in packets if code == wanted]
                for wanted in (wire.COPY_TO, wire.COPY_FROM))
    tap.ok(same, "an array of five packets there and back")
    tap.ok(len(to) == len(back) >= 5 and max(to) <= TRANSFER,
           "no packet of it is longer than a transfer", packets)


# -- kernels --------------------------------------------------------------

def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


WANTED = {"matmul": lambda a, b: a @ b.T, "softmax": lambda a, b: softmax(a),
          "scores": lambda a, b: softmax(a @ b.T)}


def check_kernels(tap, session):
    device, library = session.cpu(0), session.system_lib()
    rng = np.random.default_rng(2)
    for n, m, k in ((8, 12, 16), (1, 1, 1), (5, 3, 20)):
        a = rng.standard_normal((n, k), "float32")
        b = rng.standard_normal((m, k), "float32")
        on_board = [tvm.runtime.tensor(x, device) for x in (a, b)]
        for name, function in WANTED.items():
            wanted = function(a, b)
            out = tvm.runtime.empty(wanted.shape, "float32", device)
            args = on_board[:1] if name == "softmax" else on_board
            library[name](*args, out)
            tap.ok(np.allclose(out.numpy(), wanted, rtol=1e-5, atol=1e-6),
                   f"{name} of {n}, {m}, {k} is NumPy's", out.numpy() - wanted)
    out = tvm.runtime.empty((9, 9), "float32", device)
    kind, text = error_of(lambda: library["matmul"](*on_board, out))
    tap.ok(kind == "RPCError" and "Mismatched" in text and "shape" in text,
           "an error of a kernel", text)
    kind, text = error_of(lambda: library["none"])
    tap.ok(kind == "AttributeError" and "none" in text,
           "a kernel that is not there", (kind, text))
    kind, text = error_of(lambda: library["x" * 200])
    tap.ok(kind == "AttributeError", "a kernel with a long name", (kind, text))


def check_timing(tap, session):
    device, library = session.cpu(0), session.system_lib()
    seconds = {}
    for n in (4, 8, 16):
        # In software, the time of a product depends on the numbers.
        a, b, c = (tvm.runtime.tensor(np.full((n, n), 1.5, "float32"), device)
                   for _ in range(3))
        timed = library.time_evaluator("matmul", device, number=2, repeat=3)
        result = timed(a, b, c)
        seconds[n] = result.mean
        tap.ok(len(result.results) == 3
               and all(1e-5 < t < 0.1 for t in result.results),
               f"a product of {n} by {n} is timed", result)
    # 4 to 16 by 16 products, and less than eight times for the smaller one,
    # as a call has its own time.
    ratios = seconds[8] / seconds[4], seconds[16] / seconds[8]
    tap.ok(all(3 < ratio < 9 for ratio in ratios),
           "eight times the work takes as much more time", seconds)
    tap.note("a matrix product of 16 by 16, at 32 ns per instruction: "
             f"{seconds[16] * 1e6:.0f} us")
    kind, text = error_of(lambda: library.time_evaluator(
        "none", device, number=1)())
    tap.ok(kind == "RPCError" and "there is no function `none`" in text,
           "no kernel to time", text)


# -- the line -------------------------------------------------------------

def broken_sessions():
    """(name, what a client sends before it dies)"""
    hello = wire.hello("client:")
    whole = hello + wire.init()
    yield "with nothing sent", b""
    yield "in the handshake", hello[:11]
    yield "in a packet's length", whole + b"\x20\0\0"
    yield "in a packet", whole + wire.packet(wire.CALL, b"x" * 200)[:100]
    yield "in the data of a copy", whole + wire.packet(
        wire.COPY_TO, wire.tensor_body(1, [900]) + b"x" * 3600)[:700]
    yield "before its answer", whole + wire.packet(
        wire.GET_GLOBAL, wire.values(wire.text("board.echo")))
    yield "after an escape", whole + struct.pack("<Q", 0xDB)[:1]


def serves(bridge):
    session = connect(bridge)
    return session.get_function("board.echo")("text") == "text"


def check_death(tap, bridge):
    for name, data in broken_sessions():
        with socket.create_connection(("127.0.0.1", bridge.port)) as client:
            client.sendall(data)
        tap.ok(serves(bridge), f"a session after a client that died {name}")


def check_next_client(tap, bridge):
    """A second client waits for the first one's end."""
    first = connect(bridge)
    answers = []
    second = threading.Thread(target=lambda: answers.append(
        wire.Wire(bridge.port).handle("board.echo")))
    second.start()
    echo = first.get_function("board.echo")
    tap.ok([echo(i) for i in range(20)] == list(range(20)) and not answers,
           "the first of two clients is served")
    del first, echo
    gc.collect()
    second.join(SECONDS)
    tap.ok(len(answers) == 1 and answers[0], "and then the second one",
           answers)


def check_time_limit(tap, bridge):
    session = connect(bridge, session_timeout=3)
    echo = session.get_function("board.echo")
    kind = "none"
    while kind == "none":  # the board's seconds may take longer here
        kind, text = error_of(lambda: echo(1))
    tap.ok(kind == "RPCSessionTimeoutError", "a session's time is over",
           (kind, text))
    del session, echo
    gc.collect()
    tap.ok(serves(bridge), "and the next session has its own time")


def used(bridge):
    """The arena's use at a session's beginning."""
    return connect(bridge).get_function("board.arena_used")()


def check_memory(tap, bridge):
    """What a session leaves on the board."""
    before = used(bridge)
    session = connect(bridge)
    kept = tvm.runtime.tensor(np.zeros(2000, "int8"), session.cpu(0))
    function = session.system_lib()["matmul"]
    tap.ok(session.get_function("board.arena_used")() > before + 2000,
           "a session's tensors take memory")
    echo = session.get_function("board.echo")
    echo("x" * 400)  # grows the session's buffers
    was = session.get_function("board.arena_used")()
    for _ in range(5):
        echo("x" * 400)
    now = session.get_function("board.arena_used")()
    tap.ok(now < was + 400, "results leave no memory", (was, now))
    del session, function, kept, echo
    gc.collect()
    after = used(bridge)
    tap.ok(after == before, "a session leaves no memory", (before, after))
    session = connect(bridge)
    most = session.get_function("board.stack_most_used")()
    tap.ok(most < STACK - 256, "the stack suffices", most)
    tap.note(f"stack at most {most} of {STACK} bytes, arena at most "
             f"{session.get_function('board.arena_most_used')()} bytes, "
             f"{before} of them in a session without tensors")


def check_bridge(tap, board, bridge):
    """A bridge that dies with a session, and then a line that ends."""
    before = used(bridge)
    w = wire.Wire(bridge.port)
    w.alloc(2000)
    w.socket.sendall(wire.packet(wire.CALL, b"x" * 200)[:100])
    bridge.stop()
    w.close()
    bridge = Bridge(board.line)
    after = used(bridge)
    tap.ok(after == before, "the next bridge's session begins as the first one",
           (before, after))
    bridge.stop()
    check_marks(tap, board)
    bridge = Bridge(board.line, checksum="never")
    tap.ok(serves(bridge), "a session without checksums after all marks")
    bridge.stop()
    bridge = Bridge(board.line)
    tap.ok(serves(bridge), "and one with them")
    second = subprocess.run(
        [sys.executable, ROOT / "rpc/serial.py", "--port", "0", board.line],
        capture_output=True, text=True, timeout=SECONDS)
    tap.ok(second.returncode == 2 and "another program has the line"
           in second.stderr, "a second bridge on the line: an error", second)
    board.stop()
    tap.ok(bridge.wait() == 1 and "the line has ended" in bridge.lines[-1],
           "a bridge ends with its line", bridge.lines)
    for args in ([], ["/nonexistent"], ["--baud", "7", board.line]):
        ended = subprocess.run(
            [sys.executable, ROOT / "rpc/serial.py", *args],
            capture_output=True, text=True, timeout=SECONDS)
        tap.ok(ended.returncode == 2 and "error: " in ended.stderr,
               f"serial.py {' '.join(args)}: an error", ended)


def answer_of(fd, sent, wanted):
    """What the board writes after some bytes, until its end is as wanted."""
    os.write(fd, sent)
    got = b""
    while not got.endswith(wanted) and select.select([fd], [], [], 20)[0]:
        got += os.read(fd, 100)
    return got


def check_marks(tap, board):
    """What the board answers to bytes on the line."""
    fd = os.open(board.line, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(fd)
    hello, welcome = wire.hello("client:"), wire.hello("server:")
    # The last session had checksums: then a mark is one only if it comes three
    # times. Before its first answer, the board may end that session.
    answer_of(fd, 3 * b"\xdb\x04", b"\xdb\x04")
    for name, sent, wanted in (
            ("a session begins", b"\xdb\x05", b"\xdb\x05"),
            ("another one begins", b"\xdb\x06" + hello,
             b"\xdb\x06" + welcome),
            ("an escape, then a mark", b"\xdb\xdb\x07\xdb\x07",
             b"\xdb\x07"),
            ("an unknown mark ends the session", b"\xdb\xc8", b"\xdb\x00"),
            ("bytes without a session", hello + b"\xdb\x08", b"\xdb\x08")):
        got = answer_of(fd, sent, wanted)
        tap.ok(got == wanted, f"on the line: {name}", got)
    os.close(fd)


def check_old_bytes(tap):
    """A bridge whose board is this program: bytes of the last session come
    before the answer of the next one, or no answer at all."""
    board, line = os.openpty()
    tty.setraw(line)
    bridge = Bridge(os.ttyname(line), 1, "never")
    with socket.create_connection(("127.0.0.1", bridge.port)) as client:
        client.settimeout(SECONDS)
        client.sendall(wire.hello("client:"))
        number = os.read(board, 2)[1]
        old = bytes([0xDB, number % 127 + 1])
        os.write(board, b"old" + old + b"older" + b"\xdb" + bytes([number])
                 + b"new\xdb\xdb" + b"\xdb\x00" + b"more")
        got = b""
        while data := client.recv(100):
            got += data
    tap.ok(got == b"new\xdb", "a client gets its own session's bytes", got)
    with socket.create_connection(("127.0.0.1", bridge.port)) as client:
        client.settimeout(SECONDS)
        client.sendall(wire.hello("client:"))
        tap.ok(client.recv(1) == b"", "a client of a board without an answer")
    bridge.stop()
    tap.ok(any("the board has not answered" in s for s in bridge.lines),
           "and the bridge says so", bridge.lines)
    os.close(board)
    os.close(line)


def begins(board, sent):
    """Answers the mark of a session; returns whether it then has the bytes."""
    mark = answer_of(board, b"", b"")
    while len(mark) < 2 and select.select([board], [], [], 20)[0]:
        mark += os.read(board, 2)
    got = answer_of(board, mark[:2], sent)
    return got.replace(mark[:2], b"") == sent  # a mark may be repeated


def check_slow_clients(tap):
    """Clients that send nothing, or half a handshake, keep no other one out.
    The board is this program."""
    board, line = os.openpty()
    tty.setraw(line)
    bridge = Bridge(os.ttyname(line), checksum="never")
    idle = rpc_client.idle(bridge.port, 100)
    slow, client = (socket.create_connection(("127.0.0.1", bridge.port))
                    for _ in range(2))
    hello = wire.hello("client:")
    slow.sendall(hello[:9])
    client.sendall(hello)
    tap.ok(begins(board, hello), "a client beside slow ones has the board")
    client.close()
    try:
        slow.sendall(hello[9:])
        served = begins(board, hello)
    except ConnectionError as error:
        served = error
    tap.ok(served is True, "and then a slow one has it", served)
    for one in (slow, *idle):
        one.close()
    bridge.stop()
    ended = subprocess.run(
        [sys.executable, ROOT / "rpc/serial.py", "--port", "70000",
         os.ttyname(line)], capture_output=True, text=True, timeout=SECONDS)
    tap.ok(ended.returncode == 2 and "error: " in ended.stderr,
           "serial.py --port 70000: an error", ended)
    os.close(board)
    os.close(line)


# -- the run --------------------------------------------------------------

def build(tap, folder):
    """Builds the firmware with the kernels; returns its file, or None."""
    kernels = folder / "kernels.o"
    for name, *command in (
            ("the kernels", sys.executable, EXAMPLE / "kernels.py", kernels),
            ("the firmware", EXAMPLE / "build.sh", folder, kernels)):
        done = subprocess.run(command, capture_output=True, text=True)
        if not tap.ok(done.returncode == 0 and not done.stderr,
                      f"{name} without a warning", done.stdout + done.stderr):
            return None
    elf = folder / "firmware.elf"
    size = [sys.executable, ROOT / "examples/firmware/size.py", elf,
            "--ram", str(RAM), "--flash"]
    done = subprocess.run([*size, str(FLASH)], capture_output=True, text=True)
    tap.ok(done.returncode == 0, "fits 64 KB of flash and 20 KB of RAM",
           done.stdout + done.stderr)
    tap.note(done.stdout.splitlines()[-1])
    return elf


def run(tap, folder):
    check_old_bytes(tap)
    check_slow_clients(tap)
    elf = build(tap, folder)
    if not elf:
        return
    board = Board(elf)
    try:
        bridge = Bridge(board.line)
        for check in (check_values, check_errors, check_arrays, check_kernels,
                      check_timing):
            check(tap, connect(bridge))
            gc.collect()  # which ends the session
        for check in (check_pieces, check_death, check_next_client,
                      check_time_limit, check_memory):
            check(tap, bridge)
        rpc_client.check_packets(tap, bridge, "board.echo")
        rpc_client.check_handshake(tap, bridge)
        rpc_client.check_last_answer(tap, bridge, "board.echo")
        check_bridge(tap, board, bridge)
    finally:
        board.stop()


def main():
    tap = Tap()
    missing = [n for n in NEEDED if not shutil.which(n)]
    if missing:
        tap.skip("client Apache TVM, on a board", "no " + " ".join(missing))
        return tap.done()
    with tempfile.TemporaryDirectory() as folder:
        run(tap, Path(folder))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
