"""The bytes of TVM's RPC protocol, written by hand: what no client sends."""

import socket
import struct

MAGIC = 0xFF271
SHUTDOWN, INIT, CALL, RETURN, EXCEPTION, COPY_FROM, COPY_TO, COPY_ACK = \
    range(1, 9)
GET_GLOBAL, FREE_HANDLE, SET_DEVICE, GET_ATTR, ALLOC, FREE_DATA, SYNC, \
    COPY_AMONG, ALLOC_SCOPED, NEW_STREAM, FREE_STREAM, SET_STREAM, \
    GET_STREAM = range(9, 22)
CPU = struct.pack("<iii", 6, 1, 0)
FLOAT32 = struct.pack("<iBBHi", 5, 2, 32, 1, 0)


def integer(n):
    return struct.pack("<iq", 1, n)


def pointer(handle):
    return struct.pack("<iQ", 4, handle)


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<iQ", 8, len(data)) + data


def blob(data):
    return struct.pack("<iQ", 9, len(data)) + data


def tensor_body(handle, shape, offset=0, dtype=(2, 32, 1), device=(1, 0)):
    return (struct.pack("<Qiii", handle, *device, len(shape))
            + struct.pack("<BBH", *dtype)
            + struct.pack(f"<{len(shape)}q", *shape)
            + struct.pack("<Q", offset))


def tensor(*args, **kwargs):
    return struct.pack("<i", 7) + tensor_body(*args, **kwargs)


def values(*items):
    return struct.pack("<i", len(items)) + b"".join(items)


def packet(code, body=b""):
    return struct.pack("<Qi", len(body) + 4, code) + body


def init(version=b"0.8.0", *items):
    return packet(INIT, struct.pack("<Q", len(version)) + version
                  + values(*items))


def hello(key):
    data = key.encode()
    return struct.pack("<ii", MAGIC, len(data)) + data


class Closed(Exception):
    """The server closed the connection."""


class Wire:
    """A connection after the handshake and InitServer."""

    def __init__(self, port, key="", begin=True):
        self.socket = socket.create_connection(("127.0.0.1", port), 20)
        if begin:
            self.socket.sendall(hello("client:" + key))
            magic, size = struct.unpack("<ii", self.read(8))
            assert magic == MAGIC, hex(magic)
            self.server_key = self.read(size).decode()
            assert self.ask(init())[0] == RETURN

    def read(self, n):
        data = b""
        while len(data) < n:
            try:
                more = self.socket.recv(n - len(data))
            except ConnectionError:
                more = b""
            if not more:
                raise Closed
            data += more
        return data

    def answer(self):
        """(code, body) of the next packet."""
        size, code = struct.unpack("<Qi", self.read(12))
        return code, self.read(size - 4)

    def ask(self, data):
        try:
            self.socket.sendall(data)
        except ConnectionError:
            raise Closed from None
        return self.answer()

    def handle(self, name):
        """The handle of a global function."""
        code, body = self.ask(packet(GET_GLOBAL, values(text(name))))
        assert code == RETURN
        return struct.unpack("<iiQ", body)[2]

    def alloc(self, size):
        code, body = self.ask(packet(ALLOC, values(
            CPU, integer(size), integer(64), FLOAT32)))
        assert code == RETURN
        return struct.unpack("<iiQ", body)[2]

    def call(self, handle, *items):
        return self.ask(packet(CALL, struct.pack("<Q", handle)
                               + values(*items)))

    def close(self):
        self.socket.close()
