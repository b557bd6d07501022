#!/usr/bin/env python3
"""Serves TVM's RPC clients on a TCP port by a board on a serial line.

    serial.py --port 9090 /dev/ttyUSB0 [--baud 115200]

The board has rpc/tvmffi_rpc_serial.h, which describes the marks on the line.
It speaks the whole protocol; this program only passes bytes, and marks where a
session begins, once its client's handshake is whole. There is one session at a
time: a second client waits.
"""

import argparse
import os
import select
import socket
import sys
import termios
import threading
import time
import tty

ESCAPE = 0xDB
NO_SESSION = 0
LAST_SESSION = 127
LINGER = 1  # seconds between the board's end of a session and the bridge's
HANDSHAKE = 10  # seconds that a client has for all of its handshake
CLIENTS = 64  # that may be without a whole handshake
LONGEST_KEY = 512


def say(text):
    print("serial:", text, file=sys.stderr, flush=True)


def open_line(path, baud):
    """Opens a serial line for all byte values, without flow control."""
    speed = getattr(termios, f"B{baud}", None)
    if speed is None:
        raise OSError(f"no serial line has {baud} baud")
    fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(fd)
    mode = termios.tcgetattr(fd)
    mode[2] = (mode[2] | termios.CLOCAL | termios.CREAD) & ~termios.CRTSCTS
    mode[4] = mode[5] = speed
    termios.tcsetattr(fd, termios.TCSANOW, mode)
    return fd


class Line:
    """The serial line, and the client whose session it has. A thread reads the
    line all the time, so that a board never waits for a client."""

    def __init__(self, fd):
        self.fd = fd
        self.number = int.from_bytes(os.urandom(1), "little") % LAST_SESSION
        self.client = None
        self.begun = threading.Event()
        self.escaped = False

    def write(self, data):
        while data:
            data = data[os.write(self.fd, data):]

    def begin(self, client, seconds):
        """Begins a session; returns whether the board answered. The mark is
        repeated, as a busy board may lose it."""
        self.number = self.number % LAST_SESSION + 1
        self.begun.clear()
        self.client = client
        for _ in range(seconds):
            self.write(bytes([ESCAPE, self.number]))
            if self.begun.wait(1):
                return True
        return False

    def send(self, data):
        """Sends bytes of the client's."""
        escape = bytes([ESCAPE])
        self.write(data.replace(escape, escape + escape))

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
                session.append(byte)
            self.escaped = byte == ESCAPE and not self.escaped
        self.pass_bytes(session)

    def pass_bytes(self, data):
        if data and self.begun.is_set():
            try:
                self.client.sendall(data)
            except OSError:
                pass  # the client has gone, which its own end tells

    def marked(self, number):
        if number == self.number:
            self.begun.set()
        elif number == NO_SESSION and self.begun.is_set():
            self.begun.clear()
            try:
                self.client.shutdown(socket.SHUT_WR)
            except OSError:
                pass


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


def serve_client(line, client, handshake, seconds):
    if not line.begin(client, seconds):
        say(f"the board has not answered for {seconds} seconds")
        return
    line.send(handshake)
    while line.begun.is_set():
        if has_bytes(client):
            data = client.recv(4096)
            if not data:
                return
            line.send(data)
    # The board has ended the session. If the connection is closed while the
    # client still sends, the kernel resets it, and the reset may overtake the
    # board's last bytes, which are often an error. So read and drop for a while.
    end = time.monotonic() + LINGER
    while time.monotonic() < end:
        if has_bytes(client) and not client.recv(4096):
            return


def serve(line, listener, seconds):
    lobby = Lobby(listener)
    while True:
        client, handshake = lobby.next()
        with client:
            try:
                serve_client(line, client, handshake, seconds)
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
    args = parser.parse_args()
    try:
        line = Line(open_line(args.line, args.baud))
        listener = socket.create_server((args.host, args.port))
    except (OSError, OverflowError, termios.error) as error:
        parser.error(str(error))
    say("listening on %s:%d" % listener.getsockname()[:2])
    threading.Thread(target=serve, args=(line, listener, args.wait),
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
