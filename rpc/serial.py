#!/usr/bin/env python3
"""Serves TVM's RPC clients on a TCP port by a board on a serial line.

    serial.py --port 9090 /dev/ttyUSB0 [--baud 115200]

The board has rpc/tvmffi_rpc_serial.h, which describes the marks on the line.
It speaks the whole protocol; this program only passes bytes, and marks where a
session begins, once its client's handshake is whole. There is one session at a
time: a second client waits.

If the board can, the bytes are in frames with checksums, which are sent again
until they arrive.
"""

import argparse
import collections
import fcntl
import os
import select
import socket
import struct
import sys
import termios
import threading
import time
import tty
import zlib

ESCAPE = 0xDB
NO_SESSION = 0
LAST_SESSION = 127
FRAME_BEGINS, FRAME_ENDS = 0x80, 0x81
OVER = 0x80  # in a frame's first byte
REFUSALS = 8  # offers of checksums that a board without them refuses
OFFER = 0.25  # seconds until checksums are offered again
# The least and most seconds until a frame is sent again; the least in addition
# to the time that the line takes.
AGAIN = 0.05, 1
EXCEPTION, RAW_TEXT = 5, 8  # of TVM's protocol
LINGER = 1  # seconds between the board's end of a session and the bridge's
HANDSHAKE = 10  # seconds that a client has for all of its handshake
CLIENTS = 64  # that may be without a whole handshake
LONGEST_KEY = 512


def escape(data):
    one = bytes([ESCAPE])
    return data.replace(one, one + one)


def say(text):
    print("serial:", text, file=sys.stderr, flush=True)


def open_line(path, baud):
    """Opens a serial line for all byte values, without flow control. Two
    programs on one line would take each other's bytes, so it is locked."""
    speed = getattr(termios, f"B{baud}", None)
    if speed is None:
        raise OSError(f"no serial line has {baud} baud")
    fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
    if not os.isatty(fd):
        raise OSError(f"{path} is not a serial line")
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(f"another program has the line {path}") from None
    tty.setraw(fd)
    mode = termios.tcgetattr(fd)
    mode[2] = (mode[2] | termios.CLOCAL | termios.CREAD) & ~termios.CRTSCTS
    mode[4] = mode[5] = speed
    termios.tcsetattr(fd, termios.TCSANOW, mode)
    return fd


class Line:
    """The serial line, and the client whose session it has. A thread reads the
    line all the time, so that a board never waits for a client."""

    def __init__(self, fd, checksum):
        self.fd = fd
        self.checksum = checksum  # "auto", "always" or "never"
        self.number = int.from_bytes(os.urandom(1), "little") % LAST_SESSION
        self.client = None
        self.begun = threading.Event()
        self.refused = threading.Event()
        self.escaped = False
        self.frame = None  # the bytes of the frame that arrives
        self.frames = collections.deque()  # that arrived; None: damaged
        self.arrived, self.arrives = socket.socketpair()
        self.arrives.setblocking(False)

    def write(self, data):
        while data:
            data = data[os.write(self.fd, data):]

    def begin(self, client, seconds):
        """Begins a session without checksums; returns whether the board
        answered. The mark is repeated, as a busy board may lose it."""
        self.number = self.number % LAST_SESSION + 1
        self.begun.clear()
        self.client = client
        for _ in range(seconds):
            self.write(bytes([ESCAPE, self.number]))
            if self.begun.wait(1):
                return True
        return False

    def begin_frames(self, seconds):
        """Offers a session with checksums until the board takes it; returns
        its largest size of a frame's data. Returns 0 if the board has refused
        often, and None if it has not taken one in time. It refuses an offer, too,
        that the line has damaged."""
        self.number = self.number % LAST_SESSION + 1
        self.client = None  # has no bytes outside of frames
        self.begun.clear()
        refusals, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            self.take_frames()
            self.refused.clear()
            self.send_frame(0, b"")
            if self.wait_frame(OFFER):
                for frame in filter(None, self.take_frames()):
                    if frame[0] != self.number:
                        continue
                    if len(frame) == 3 and not frame[1]:
                        return frame[2]
                    # The board has a session of this number.
                    self.number = self.number % LAST_SESSION + 1
            elif self.refused.is_set():
                refusals += 1
                if refusals == REFUSALS and self.checksum != "always":
                    return 0
        return None

    def wait_frame(self, seconds):
        """Waits for a frame, or until the board refuses to send one."""
        end = time.monotonic() + seconds
        while not self.refused.is_set() and time.monotonic() < end:
            if select.select([self.arrived], [], [], 0.02)[0]:
                return True
        return bool(self.frames)

    def send(self, data):
        """Sends bytes of the client's."""
        self.write(escape(data))

    def send_frame(self, counts, data):
        body = bytes([self.number, counts]) + data
        body += struct.pack("<I", zlib.crc32(body))
        self.write(bytes([ESCAPE, FRAME_BEGINS]) + escape(body)
                   + bytes([ESCAPE, FRAME_ENDS]))

    def take_frames(self):
        """The frames that have arrived, without their checksums."""
        while select.select([self.arrived], [], [], 0)[0]:
            self.arrived.recv(4096)
        frames = []
        while self.frames:
            frames.append(self.frames.popleft())
        return frames

    def got_frame(self, body):
        is_right = len(body) >= 6 and \
            zlib.crc32(body[:-4]) == int.from_bytes(body[-4:], "little")
        self.frames.append(bytes(body[:-4]) if is_right else None)
        try:
            self.arrives.send(b"x")
        except BlockingIOError:
            pass  # there are enough to wake the reader

    def read(self):
        """Passes the board's bytes on until the line ends."""
        while data := os.read(self.fd, 4096):
            self.pass_on(data)

    def pass_on(self, data):
        session = bytearray()
        for byte in data:
            if self.escaped and byte != ESCAPE:
                self.pass_bytes(session)
                session.clear()
                self.marked(byte)
            elif self.escaped or byte != ESCAPE:
                (session if self.frame is None else self.frame).append(byte)
            self.escaped = byte == ESCAPE and not self.escaped
        self.pass_bytes(session)

    def pass_bytes(self, data):
        if data and self.begun.is_set():
            try:
                self.client.sendall(data)
            except OSError:
                pass  # the client has gone, which its own end tells

    def marked(self, number):
        if self.frame is not None:
            self.got_frame(self.frame if number == FRAME_ENDS else b"")
        self.frame = bytearray() if number == FRAME_BEGINS else None
        if number == NO_SESSION:
            self.refused.set()
        if number == self.number and self.client:
            self.begun.set()
        elif number == NO_SESSION and self.begun.is_set():
            self.begun.clear()
            end_output(self.client)


class LineError(Exception):
    """The line or the board does not answer any more."""


def number_after(number):
    """The number after that of a frame with data."""
    return number % 15 + 1


class Packets:
    """The board's bytes, passed to the client in whole packets: an error of
    the line can then be a packet, too."""

    def __init__(self, client):
        self.client = client
        self.data = bytearray()
        self.greeted = False  # the answer to the handshake has no packet

    def add(self, data):
        self.data += data
        while len(self.data) >= 8:
            size = 8 + (int.from_bytes(self.data[:8], "little") if self.greeted
                        else int.from_bytes(self.data[4:8], "little"))
            if len(self.data) < size:
                return
            self.client.sendall(self.data[:size])
            del self.data[:size]
            self.greeted = True

    def end(self):
        """Passes on what is left: the answer to a wrong key is shorter."""
        self.client.sendall(self.data)

    def fail(self, text):
        if self.greeted:
            data = text.encode()
            body = struct.pack("<iiiQ", EXCEPTION, 1, RAW_TEXT, len(data))
            self.client.sendall(struct.pack("<Q", len(body) + len(data))
                                + body + data)


class Frames:
    """A session with checksums: see rpc/tvmffi_rpc_serial.h. All timers are on
    this side.

    A frame is repeated when no answer has come for twice the time of the last
    answer, and then at intervals that double. As in TCP, a repeated frame's
    answer is not timed, because it may be that of an earlier copy, and the next
    frame begins with the long interval (Karn's algorithm). Copies of the
    board's frames are not answered, or each would cause one more copy of ours
    (RFC 1123, 4.2.3.1). Without these rules, the copies on a line that is
    slower than its baud rate become more than it carries."""

    def __init__(self, line, client, size, args):
        self.line, self.client, self.size, self.args = line, client, size, args
        self.packets = Packets(client)
        self.waiting = b""  # the client's bytes for later frames
        self.unacked = b""  # those of the frame that the board has not got
        self.sent = self.got = 0
        self.damaged = self.repeated = 0
        self.over = False
        # The board has got data, and may be in a call: it reads no line then.
        self.calls = False
        self.heard = self.sent_at = time.monotonic()
        self.least = AGAIN[0] + 20 * (size + 16) / args.baud
        self.first = self.again = self.least
        self.timed = None  # when the client's bytes were sent, if only once

    def send(self):
        self.line.send_frame(self.sent << 4 | self.got, self.unacked)
        self.sent_at, self.timed = time.monotonic(), None

    def send_next(self):
        """Sends the client's next bytes if the board has got the last ones."""
        if self.waiting and not self.unacked:
            self.unacked = self.waiting[:self.size]
            self.waiting = self.waiting[self.size:]
            self.sent = number_after(self.sent)
            self.again = self.first
            self.send()
            self.timed = self.sent_at

    def take(self, frame):
        """Handles a frame from the board."""
        if frame is None:
            self.damaged += 1
            self.send()  # asks for it again
            return
        if frame[0] & ~OVER != self.line.number:
            return
        self.heard = time.monotonic()
        sent, got, data = frame[1] >> 4, frame[1] & 15, frame[2:]
        news = self.unacked and got == self.sent
        if news:
            self.unacked, self.calls = b"", True
            self.first = self.again
            if self.timed:
                self.first = max(self.least, 2 * (self.heard - self.timed))
        self.over = self.over or bool(frame[0] & OVER)
        if data and sent == number_after(self.got):
            self.got = sent
            self.packets.add(data)
            self.again = self.first
            self.send()  # what has arrived
        elif not news and not self.unacked:
            self.calls = False

    def repeat(self):
        """Sends the last frame again, or fails if the board is silent."""
        limit = self.args.wait
        if self.calls and not self.unacked:
            limit = self.args.silence
        if time.monotonic() - self.heard > limit:
            raise LineError(
                f"the board has not answered for {limit} seconds, "
                f"{self.damaged} of its frames were damaged: bytes are lost "
                "on the serial line, or the board has stopped")
        self.repeated += 1
        self.again = min(2 * self.again, max(self.first, AGAIN[1]))
        self.send()

    def serve(self, handshake):
        self.waiting = handshake
        while not self.over:
            self.send_next()
            left = max(0, self.sent_at + self.again - time.monotonic())
            sources = [self.line.arrived]
            if not self.waiting:
                sources.append(self.client)
            ready = select.select(sources, [], [], left)[0]
            if self.client in ready:
                data = self.client.recv(4096)
                if not data:
                    return
                self.waiting += data
            if self.line.arrived in ready:
                for frame in self.line.take_frames():
                    self.take(frame)
            elif time.monotonic() >= self.sent_at + self.again:
                self.repeat()
        self.packets.end()


def is_whole(data):
    """Whether these bytes are a handshake: a magic number, and a key with its
    length before it. The board refuses a key of an impossible length."""
    size = int.from_bytes(data[4:8], "little", signed=True)
    return len(data) >= 8 and (not 0 <= size <= LONGEST_KEY
                               or len(data) >= 8 + size)


class Lobby:
    """Clients whose handshakes are not whole. None of them has the board, so
    that a slow one keeps no other client from it."""

    def __init__(self, listener):
        self.listener = listener
        listener.setblocking(False)
        self.clients = {}  # of each: its bytes, and the end of its time

    def next(self):
        """Waits for a whole handshake; returns its client and the bytes."""
        while True:
            waiting = [self.listener, *self.clients]
            ready = select.select(waiting, [], [], 1)[0]
            for client in list(self.clients):
                if client in ready:
                    self.read(client)
                    if is_whole(self.clients.get(client, (b"",))[0]):
                        return client, bytes(self.clients.pop(client)[0])
                elif time.monotonic() > self.clients[client][1]:
                    self.drop(client)
            if self.listener in ready:
                self.accept()

    def read(self, client):
        try:
            data = client.recv(4096)
        except OSError:
            data = b""
        if data:
            self.clients[client][0].extend(data)
        else:
            self.drop(client)

    def drop(self, client):
        del self.clients[client]
        client.close()

    def accept(self):
        try:
            client, address = self.listener.accept()
        except OSError as error:
            say(f"cannot accept a client: {error}")
            time.sleep(1)
            return
        say("a client from %s:%d" % address[:2])
        client.setblocking(True)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if len(self.clients) == CLIENTS:
            self.drop(next(iter(self.clients)))  # the oldest
        self.clients[client] = bytearray(), time.monotonic() + HANDSHAKE


def has_bytes(client):
    """Waits for bytes or the end of a connection, a second at most."""
    return bool(select.select([client], [], [], 1)[0])


def end_output(client):
    try:
        client.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the client has gone


def linger(client):
    """Reads and drops, for a while. The board has ended the session: if the
    connection is closed while the client still sends, the kernel resets it,
    and the reset may overtake the board's last bytes, which are often an
    error."""
    end_output(client)
    end = time.monotonic() + LINGER
    while time.monotonic() < end:
        if has_bytes(client) and not client.recv(4096):
            return


def serve_frames(line, client, handshake, size, args):
    frames = Frames(line, client, size, args)
    try:
        frames.serve(handshake)
    except LineError as error:
        say(error)
        frames.packets.fail(f"RPCError: {error}")
    finally:
        if frames.damaged or frames.repeated:
            say(f"{frames.damaged} frames of the board were damaged, "
                f"{frames.repeated} were sent again after a silence")
    linger(client)


def serve_plainly(line, client, handshake, args):
    if not line.begin(client, args.wait):
        say(f"the board has not answered for {args.wait} seconds")
        return
    line.send(handshake)
    while line.begun.is_set():
        if has_bytes(client):
            data = client.recv(4096)
            if not data:
                return
            line.send(data)
    linger(client)


def serve_client(line, client, handshake, args):
    size = 0
    if line.checksum != "never":
        size = line.begin_frames(args.wait)
    if size is None:
        say("the board refuses checksums" if line.refused.is_set() else
            f"the board has not answered for {args.wait} seconds")
    elif size:
        say("the session has checksums")
        serve_frames(line, client, handshake, size, args)
    else:
        serve_plainly(line, client, handshake, args)


def serve(line, listener, args):
    lobby = Lobby(listener)
    while True:
        client, handshake = lobby.next()
        with client:
            try:
                serve_client(line, client, handshake, args)
            except OSError as error:
                say(f"the connection has ended: {error}")
            line.begun.clear()
        say("the session has ended")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("line", help="the device of the serial line")
    parser.add_argument("--baud", type=int, default=115200)
    parser.add_argument("--host", default="127.0.0.1",
                        help="listens on this address only; default 127.0.0.1")
    parser.add_argument("--port", type=int, default=9090,
                        help="0 takes a free port, which is printed")
    parser.add_argument("--wait", type=int, default=10,
                        help="seconds that the board may take to answer")
    parser.add_argument("--silence", type=int, default=600,
                        help="seconds that a call may take with checksums")
    parser.add_argument("--checksum", default="auto",
                        choices=["auto", "always", "never"],
                        help="auto: if the board can")
    args = parser.parse_args()
    try:
        line = Line(open_line(args.line, args.baud), args.checksum)
        listener = socket.create_server((args.host, args.port))
    except (OSError, OverflowError, termios.error) as error:
        parser.error(str(error))
    say("listening on %s:%d" % listener.getsockname()[:2])
    threading.Thread(target=serve, args=(line, listener, args),
                     daemon=True).start()
    try:
        line.read()
        say("the line has ended")
    except OSError as error:
        say(f"the line has ended: {error}")
    except KeyboardInterrupt:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
