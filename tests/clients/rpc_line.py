#!/usr/bin/env python3
"""RPC over a serial line that flips, drops and doubles bytes: rpc/serial.py, a
noisy line, and the board's end of it as a program of this machine.

    rpc_line.py --board PROGRAM [--board-without PROGRAM]

Which bytes are damaged depends on a seed and on the bytes before. With
checksums all results are right. Without them some are not, which shows that
the noise would be noticed. Writes TAP.
"""

import argparse
import os
import random
import select
import struct
import subprocess
import sys
import threading
import time
import tty
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/tools"))
sys.path.insert(0, str(ROOT / "tests/clients"))
import rpc_wire as wire  # noqa: E402
from tap import Tap  # noqa: E402

LIMITED = ["timeout", "120"]
RATE = 500  # one of so many bytes is damaged
SELDOM = 8000  # so that most packets arrive
FLIPPED = 8  # a seed with which packets stay whole, and data does not
SECONDS = 60  # that the machine may take


class Noise:
    """What happens to the bytes of one direction."""

    def __init__(self, seed, kinds, rate):
        self.random, self.kinds = random.Random(seed), kinds
        self.rate = rate
        self.damaged, self.cut = 0, False

    def __call__(self, data):
        if self.cut:
            return b""
        out = bytearray()
        for byte in data:
            kind = ""
            if self.kinds and self.random.randrange(self.rate) == 0:
                kind = self.random.choice(self.kinds)
                self.damaged += 1
            if kind == "flip":
                byte ^= 1 << self.random.randrange(8)
            if kind != "drop":
                out.append(byte)
            if kind == "double":
                out.append(byte)
        return bytes(out)


class Line:
    """A board, a line and rpc/serial.py."""

    def __init__(self, board, seed=0, kinds=(), options=(), rate=RATE):
        self.board_command = board
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.there = Noise(seed, kinds, rate)
        self.back = Noise(seed + 1, kinds, rate)
        self.board = self.start_board()
        self.ended = False
        self.most = 4096  # bytes that the board takes at once
        self.mover = threading.Thread(target=self.move, daemon=True)
        self.mover.start()
        self.bridge = subprocess.Popen(
            [*LIMITED, sys.executable, ROOT / "rpc/serial.py", "--port", "0",
             *options, os.ttyname(self.slave)],
            stderr=subprocess.PIPE, text=True)
        self.port = int(self.bridge.stderr.readline().rsplit(":", 1)[1])
        self.said = []
        self.reader = threading.Thread(
            target=lambda: self.said.extend(self.bridge.stderr), daemon=True)
        self.reader.start()

    def start_board(self):
        return subprocess.Popen([*LIMITED, *self.board_command],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def restart_board(self):
        old, self.board = self.board, self.start_board()
        self.stop_board(old)

    def stop_board(self, board):
        board.terminate()
        board.wait()
        board.stdin.close()
        board.stdout.close()

    def move(self):
        while not self.ended:
            board = self.board
            sources = [self.master, board.stdout]
            try:
                ready = select.select(sources, [], [], 0.05)[0]
                if self.master in ready:
                    data = self.there(os.read(self.master, self.most))
                    os.write(board.stdin.fileno(), data)
                if board.stdout in ready:
                    data = os.read(board.stdout.fileno(), 4096)
                    os.write(self.master, self.back(data))
            except (OSError, ValueError):
                pass  # the board restarts

    def damaged(self):
        return self.there.damaged + self.back.damaged

    def stop(self):
        """Ends all; returns what the bridge said."""
        self.bridge.terminate()
        self.bridge.wait()
        self.reader.join()
        self.bridge.stderr.close()
        self.ended = True
        self.mover.join()
        self.stop_board(self.board)
        os.close(self.master)
        os.close(self.slave)
        return "".join(self.said)


def connect(line, seconds=SECONDS):
    """A client whose calls may take so long."""
    client = wire.Wire(line.port, begin=False)
    client.socket.settimeout(seconds)
    client.socket.sendall(wire.hello("client:"))
    magic, size = struct.unpack("<ii", client.read(8))
    if magic != wire.MAGIC or client.read(size) != b"server:":
        raise ValueError("another handshake")
    code, body = client.ask(wire.init())
    if code != wire.RETURN:
        raise ValueError(body)
    return client


def returned(answer):
    code, body = answer
    if code != wire.RETURN:
        raise ValueError(body)
    return body


def integer_of(body):
    return int.from_bytes(body[-8:], "little", signed=True)


def work(client, seed):
    """Calls and copies; returns how many results are wrong."""
    noise, wrong = random.Random(seed), 0
    count, echo = client.handle("line.count"), client.handle("line.echo")
    first = integer_of(returned(client.call(count)))
    for i in range(25):
        text = noise.randbytes(noise.randrange(300)) + b"\xdb" * (i % 9)
        answer = returned(client.call(echo, wire.blob(text)))
        wrong += answer[-len(text):] != text if text else 0
        answer = returned(client.call(count))
        wrong += integer_of(answer) != first + i + 1
    memory = client.alloc(1024)
    for i in range(4):
        data = noise.randbytes(1024)
        tensor = wire.tensor_body(memory, [256]) + struct.pack("<Q", 1024)
        returned(client.ask(wire.packet(wire.COPY_TO, tensor + data)))
        code, got = client.ask(wire.packet(wire.COPY_FROM, tensor))
        wrong += code != wire.COPY_ACK or got != data
    return wrong


def outcome(line, seed, seconds):
    """"right", or how a client notices damage, if it does."""
    try:
        wrong = work(connect(line, seconds), seed)
        return f"{wrong} wrong results" if wrong else "right"
    except TimeoutError:
        return "a client that waits"
    except (wire.Closed, AssertionError, ValueError, OSError) as error:
        return f"{type(error).__name__}: {error}"


def check_noise(tap, board):
    for seed, kinds in (1, ["flip"]), (2, ["flip", "drop", "double"]):
        line = Line(board, seed, kinds)
        found = outcome(line, seed, SECONDS)
        said = line.stop()
        tap.ok(found == "right", f"{', '.join(kinds)}: all is right with "
               f"checksums, {line.damaged()} bytes damaged", (found, said))
        tap.ok(line.damaged() > 20, "enough of them", line.damaged())


def check_no_checksums(tap, board):
    """Flipped bits of data become wrong results, and a lost byte of a packet
    is waited for."""
    for seed, kinds, wanted in ((FLIPPED, ["flip"], "wrong results"),
                                (2, ["drop"], "a client that waits")):
        line = Line(board, seed, kinds, ["--checksum", "never"], SELDOM)
        found = outcome(line, seed, 3)
        line.stop()
        tap.ok(wanted in found, f"{kinds[0]}, without checksums: {wanted}",
               found)


def check_agreement(tap, board, without):
    for name, command, options, has in (
            ("both ends", board, [], True),
            ("a board without them", [*board, "plain"], [], False),
            ("a board of before them", without, [], False),
            ("a bridge without them", board, ["--checksum", "never"], False)):
        line = Line(command, options=options)
        seen = bytearray()
        pass_on = line.there
        line.there = lambda data: (seen.extend(data), pass_on(data))[1]
        pass_on.damaged = 0
        line.damaged = lambda: 0
        found = outcome(line, 1, SECONDS), outcome(line, 2, SECONDS)
        line.stop()
        frames = seen.count(b"\xdb\x80")
        tap.ok(found == ("right", "right") and (frames > 100) == has,
               f"checksums and {name}", (found, frames))
    line = Line(without, options=["--checksum", "always", "--wait", "1"])
    found = outcome(line, 1, SECONDS)
    said = line.stop()
    tap.ok("Closed" in found and "the board refuses checksums" in said,
           "checksums always, of a board without them", (found, said))


def check_slow(tap, board):
    """A board that takes a byte each millisecond, at 115,200 baud: bytes that
    are sent again do not fill the line."""
    line = Line(board, options=["--checksum", "always"])
    line.most, sent, answers = 1, 0, 0

    def slowly(data):
        nonlocal sent
        sent += len(data)
        time.sleep(0.001)
        return data

    line.there = slowly
    try:
        client = connect(line)
        echo = client.handle("line.echo")
        before, size = sent, 0
        for i in range(15):
            data = bytes([i]) * 200
            size += len(data)
            answers += returned(client.call(echo, wire.blob(data))).endswith(
                data)
        times = (sent - before) / size
    except (wire.Closed, AssertionError, ValueError, OSError) as error:
        times = f"{type(error).__name__}: {error}"
    line.stop()
    tap.ok(answers == 15 and times < 4,
           "a line that is slower than its baud rate", (answers, times))


def check_end(tap, board):
    """A line that is cut, and a board that restarts or is in a long call."""
    line = Line(board, options=["--wait", "1", "--silence", "2"])
    client = connect(line)
    echo, sleep = client.handle("line.echo"), client.handle("line.sleep")
    answer = returned(client.call(sleep, wire.integer(1500)))
    tap.ok(integer_of(answer) == 1500,
           "a call that is longer than --wait", answer)
    line.there.cut = True
    code, text = client.call(echo, wire.integer(1))
    tap.ok(code == wire.EXCEPTION and
           b"RPCError: the board has not answered for 1 seconds" in text and
           b"bytes are lost on the serial line" in text,
           "a line that is cut is an error to the client", (code, text))
    line.there.cut = False
    client = connect(line)
    sleep = client.handle("line.sleep")
    code, text = client.call(sleep, wire.integer(4000))
    tap.ok(code == wire.EXCEPTION and b"for 2 seconds" in text,
           "and so is a call that is longer than --silence", (code, text))
    client = connect(line)
    answer = returned(client.call(client.handle("line.echo"), wire.integer(7)))
    tap.ok(integer_of(answer) == 7, "and then the next client is served")
    line.restart_board()
    try:
        found = client.call(1, wire.integer(7))
    except wire.Closed:
        found = "closed"
    tap.ok(found == "closed", "a board's reset ends the session", found)
    found = outcome(line, 5, SECONDS)
    said = line.stop()
    tap.ok(found == "right", "and then the next one is served", (found, said))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--board", required=True)
    parser.add_argument("--board-without", required=True,
                        help="one that was built without checksums")
    args = parser.parse_args()
    tap = Tap()
    check_agreement(tap, [args.board], [args.board_without])
    check_noise(tap, [args.board])
    check_no_checksums(tap, [args.board])
    check_slow(tap, [args.board])
    check_end(tap, [args.board])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
