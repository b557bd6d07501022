#!/usr/bin/env python3
"""The stock client of Apache TVM on upstream's RPC server and on ours.

    rpc_client.py --server TVMFFI_RPC --functions LIBRARY

Both servers load the same C library of functions (rpc_functions.c). What the
client sees of upstream's server is what it has to see of ours, over a socket
and over a pipe. Then come bytes that no client sends, clients that die, time
that is over, and a tracker. The Python that runs this has what
requirements-tvm.txt names.
"""

import argparse
import datetime
import gc
import io
import os
import re
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE))
import rpc_wire as wire  # noqa: E402
from tap import Tap  # noqa: E402

os.environ["TVM_NUM_THREADS"] = "2"
try:
    import numpy as np
    import tvm
    import tvm_ffi
    from tvm import rpc, te
    from tvm.rpc import base
    from tvm.script import tirx as T
except ImportError as missing:
    tap = Tap()
    tap.skip("client Apache TVM, remote procedure calls", missing)
    sys.exit(tap.done())

try:
    from tvm.rpc.tracker import Tracker
except ImportError:
    Tracker = None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """Our server on a port that the system chose."""

    def __init__(self, program, *options, **popen):
        self.lines = []
        self.process = subprocess.Popen(
            [program, "--port", "0", *options],
            stderr=subprocess.PIPE, text=True, **popen)
        self.address, port = self.next_line("listening on").split()[-1].split(
            ":")
        self.port = int(port)
        threading.Thread(target=self._read, daemon=True).start()

    def next_line(self, wanted):
        for line in self.process.stderr:
            self.lines.append(line)
            if wanted in line:
                return line
        raise RuntimeError("the server ended: " + "".join(self.lines))

    def next_said(self, wanted):
        """The first line with a text, which may be about to come, or ""."""
        until = time.time() + 20
        while time.time() < until:
            for line in list(self.lines):
                if wanted in line:
                    return line
            time.sleep(0.01)
        return ""

    def says(self, text, times):
        """Whether a text is that often in the log, or is about to be."""
        until = time.time() + 40
        while time.time() < until and "".join(self.lines).count(text) < times:
            time.sleep(0.1)
        return "".join(self.lines).count(text) == times

    def _read(self):
        self.lines.extend(self.process.stderr)

    def stop(self, number=signal.SIGTERM):
        """Stops it; returns its exit status."""
        self.process.send_signal(number)
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def children(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return Path(path).read_text().split()


# -- what is the same on both servers -------------------------------------

def outcome(function):
    """A value as text, or the error's class and the end of its message."""
    try:
        return shown(function())
    except Exception as error:
        return type(error).__name__


def shown(value):
    if isinstance(value, tvm.runtime.Tensor):
        value = value.numpy()
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape} {value.tobytes()[:4096]!r}"
    if isinstance(value, (bytes, bytearray)):
        return repr(bytes(value))
    if isinstance(value, str):
        return repr(str(value))
    return f"{type(value).__name__} {value}"


def plain_values(session, see):
    echo = session.get_function("test.echo")
    for value in (None, True, False, 0, -1, 2**63 - 1, -2**63, 1.5,
                  float("inf"), "", "seven b", "eight by", "x" * 100000,
                  "\u00e4\U0001f600", b"", b"\0\1\2", b"y" * 5000,
                  bytearray(b"123"), tvm_ffi.dtype("float32"),
                  tvm_ffi.dtype("int4x8"), session.cpu(0)):
        name = repr(value)[:30]
        see(f"echo {type(value).__name__} {name}", lambda: echo(value))
    for value in (1, "a", "a" * 9, b"", b"b", b"b" * 7, b"b" * 9, 2.5, None):
        see(f"type of {value!r}",
            lambda: session.get_function("test.type_index")(value))
    see("too many arguments", lambda: echo(1, 2))
    see("a missing function", lambda: session.get_function("test.none"))
    see("a list as argument", lambda: echo([1]))
    see("a function as argument", lambda: echo(lambda: 1))
    see("an error with the code 1",
        lambda: session.get_function("test.fail_with_1")())


def error_text(session, kind):
    try:
        session.get_function("test.fail")(kind, "the message \u00e4")
    except Exception as error:
        return type(error).__name__, str(error)
    return None


def objects(session, see):
    adder = session.get_function("test.adder")(7)
    see("a function as result", lambda: adder(35))
    nested = session.get_function("test.nested")()
    item = session.get_function("test.item")
    see("an item of an object", lambda: item(nested, 0))
    see("a text of an object", lambda: item(nested, 1))
    see("an item of an inner object", lambda: item(item(nested, 2), 1))
    see("an item that is not there", lambda: item(nested, 9))
    pointer = session.get_function("test.pointer")()
    see("a pointer comes back",
        lambda: session.get_function("test.pointer_is_ours")(pointer))
    see("a session's start", lambda: session.get_function(
        "test.start_count")())
    see("a system library", lambda: session.system_lib()["notexist"])


DTYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64",
          "uint8", "uint16", "uint32", "uint64", "bool"]
SHAPES = [(), (0,), (1,), (7,), (3, 4), (2, 3, 4, 5), (2, 0, 3), (1,) * 12]


def arrays(session, see):
    device = session.cpu(0)
    for dtype in DTYPES:
        for shape in SHAPES:
            x = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
            see(f"{dtype}{shape} there and back",
                lambda: tvm.runtime.tensor(x, device))
    big = np.random.default_rng(0).integers(0, 255, 5_000_001, "uint8")
    see("five megabytes", lambda: (
        tvm.runtime.tensor(big, device).numpy() == big).all())
    x = tvm.runtime.tensor(np.arange(100, dtype="float32"), device)
    y = tvm.runtime.empty((100,), "float32", device)
    see("a copy over there", lambda: x.copyto(y))
    see("a scope", lambda: tvm.runtime.empty(
        (4,), "int8", device, "global").shape)
    see("a sum over there", lambda: session.get_function("test.sum")(x))
    made = session.get_function("test.arange")(9)
    see("a tensor as result", lambda: made)
    see("its sum", lambda: session.get_function("test.sum")(made))
    see("a tensor of a wrong type", lambda: session.get_function("test.sum")(
        tvm.runtime.tensor(np.zeros(4, "int32"), device)))
    see("waiting", lambda: device.sync())
    see("the CPU exists", lambda: device.exist)
    for name in ("total_global_memory", "available_global_memory",
                 "device_name", "warp_size", "l2_cache_size_bytes"):
        see(f"the CPU's {name}", lambda: getattr(device, name))
    see("a device that is not there", lambda: session.device(15).exist)
    see("memory on it", lambda: tvm.runtime.empty(
        (4,), "int8", session.device(15)))


def files(session, see):
    blob = bytes(range(256)) * 100
    session.upload(bytearray(blob), "data.bin")
    see("a file there and back", lambda: session.download("data.bin") == blob)
    session.upload(bytearray(b""), "data.bin")
    see("an empty file", lambda: session.download("data.bin"))
    session.remove("data.bin")
    see("a file that was removed", lambda: session.download("data.bin"))
    see("no file to remove", lambda: session.remove("data.bin"))
    see("no file to load", lambda: session.load_module("none.so"))


def kernels():
    """Modules that the wheel compiles: a loop on two threads, and one with
    memory of its own."""
    n = 100_000
    a = te.placeholder((n,), dtype="float32", name="a")
    b = te.compute((n,), lambda i: a[i] * 2 + 1, name="b")
    plain = te.create_prim_func([a, b]).with_attr("global_symbol", "plain")

    @T.prim_func
    def parallel(x: T.Buffer((100000,), "float32"),
                 y: T.Buffer((100000,), "float32")):
        T.func_attr({"global_symbol": "parallel"})
        for i in T.parallel(100000):
            y[i] = x[i] + T.float32(3)

    @T.prim_func
    def memory(x: T.Buffer((100000,), "float32"),
               y: T.Buffer((100000,), "float32")):
        T.func_attr({"global_symbol": "memory"})
        z = T.alloc_buffer((100000,), "float32")
        for i in range(100000):
            z[i] = x[i] * T.float32(2)
        for i in range(100000):
            y[i] = z[i] + z[99999 - i]

    first = tvm.IRModule({"plain": plain, "parallel": parallel})
    return (tvm.compile(first, target="llvm"),
            tvm.compile(tvm.IRModule({"memory": memory}), target="llvm"))


def modules(session, see, folder):
    device = session.cpu(0)
    x = np.arange(100_000, dtype="float32")
    a = tvm.runtime.tensor(x, device)
    b = tvm.runtime.empty(x.shape, "float32", device)

    def run(function):
        function(a, b)
        return np.array_equal(b.numpy(), wanted)

    for name in ("first.so", "first.o", "first.tar", "second.so"):
        session.upload(str(folder / name))
    second = session.load_module("second.so")
    for name in ("first.so", "first.o", "first.tar"):
        first = session.load_module(name)
        wanted = x * 2 + 1
        see(f"{name}: a kernel", lambda: run(first["plain"]))
        wanted = x + 3
        see(f"{name}: a parallel loop", lambda: run(first["parallel"]))
    wanted = x * 2 + (x * 2)[::-1]
    see("a kernel with memory", lambda: run(second["memory"]))
    see("no function of the module", lambda: first["memory"])
    first.import_module(second)
    see("a function of an imported module",
        lambda: run(first.get_function("memory", query_imports=True)))
    see("a linked library", lambda: session.download_linked_module(
        "first.o")[:4])
    return first, a, b


def fill(session, name, dtype):
    """The values of a tensor that a function has filled, or its error."""
    x = tvm.runtime.empty((1000,), dtype, session.cpu(0))
    return outcome(lambda: session.get_function(name)(x)), \
        x.numpy().astype("float64")


def fillings(session, see):
    """What MetaSchedule's RPCRunner fills the arguments of a kernel with."""
    for name in ("random_fill", "random_fill_for_measure"):
        name = "tvm.contrib.random." + name
        for dtype in ("float16", "float32", "float64", "int8", "uint8"):
            done, values = fill(session, name, dtype)
            see(f"{name} of {dtype}", lambda: (
                done, 1 <= values.min(), values.max() <= 10,
                len(set(values)) > 7))
        see(f"{name} of nothing", lambda: session.get_function(name)(
            tvm.runtime.empty((0,), "float32", session.cpu(0))))


def timing(session, see, first, a, b):
    device = session.cpu(0)
    evaluate = first.time_evaluator(
        "plain", device, number=3, repeat=4, min_repeat_ms=2,
        limit_zero_time_iterations=10, cooldown_interval_ms=1,
        repeats_to_cooldown=2, cache_flush_bytes=1 << 16,
        f_preproc="cache_flush_cpu_non_first_arg")
    result = evaluate(a, b)
    see("a kernel timed", lambda: (len(result.results),
                                   0 < result.mean < 0.1))
    calls = session.get_function("test.count")
    before = calls()
    session._sess.time_evaluator("test.count", device, number=5, repeat=3)()
    see("calls of the evaluator", lambda: calls() - before)
    spin = session._sess.time_evaluator("test.spin_us", device, number=1,
                                        repeat=2, min_repeat_ms=5)(200)
    # In seconds; a busy machine takes longer, but not 500 times.
    see("a time that is known",
        lambda: all(200e-6 <= t < 0.1 for t in spin.results))
    see("no function to time", lambda: session._sess.time_evaluator(
        "test.none", device, number=1)())
    see("no function to prepare", lambda: session._sess.time_evaluator(
        "test.count", device, number=1, f_preproc="test.none")())


def observe(session, folder):
    """{name: what the client sees}"""
    seen = {}

    def see(name, function):
        assert name not in seen, name
        seen[name] = outcome(function)

    plain_values(session, see)
    objects(session, see)
    arrays(session, see)
    files(session, see)
    fillings(session, see)
    timing(session, see, *modules(session, see, folder))
    see("the session's folder is removed", lambda: session.remove(""))
    return seen


# -- what only our server is asked ----------------------------------------

def compare(tap, name, ours, theirs):
    for key, value in theirs.items():
        tap.ok(ours.get(key) == value, f"{name}: {key}",
               f"upstream's: {value[:300]}\nours: {ours.get(key)[:300]}")


def check_texts(tap, session):
    """An error says what is wrong. Upstream's server takes cpu(1) for cpu(0).
    """
    cpu = session.cpu()

    def allocate(device):
        return lambda: tvm.runtime.empty((4,), "int8", device)

    def measure(**settings):
        return lambda: session._sess.time_evaluator(
            "test.count", cpu, **{"number": 1, **settings})()

    for function, wanted in (
            (allocate(session.cpu(1)), "no device cpu:1 (type 1)"),
            (allocate(session.device("cuda")), "no device cuda:0 (type 2)"),
            (allocate(session.device(99)), "no device unknown:0 (type 99)"),
            (measure(number=0), "number is 0, but must be at least 1"),
            (measure(repeat=-1), "repeat is -1, but must be from 0 to 1048576"),
            (measure(min_repeat_ms=-1),
             "min_repeat_ms is -1, but must be from 0 to 4294967296"),
            (measure(cooldown_interval_ms=1, repeats_to_cooldown=0),
             "repeats_to_cooldown is 0, but must be at least 1")):
        try:
            function()
            text = ""
        except tvm.error.RPCError as error:
            text = str(error)
        tap.ok(wanted in text, f"an error's text: {wanted}", text)


def check_errors(tap, ours, theirs):
    """Upstream's text is the message alone; ours has a traceback and kind."""
    text = error_text(ours, "ValueError")
    tap.ok(text and text[0] == theirs[0] == "RPCError",
           "an error is an RPCError", (text, theirs))
    tap.ok("the message \u00e4" in theirs[1] and "the message \u00e4" in text[1],
           "an error has its message", (text, theirs))
    tap.ok("Traceback (most recent call last):" in text[1]
           and "rpc_functions.c" in text[1]
           and text[1].rstrip().endswith("ValueError: the message \u00e4"),
           "our errors have a traceback and the kind", text[1])


def check_fillings(tap, session):
    """Upstream's server fills these with other bits, or all with one value."""
    for dtype, most, different in (("bool", 1, 2), ("bfloat16", 8, 7),
                                   ("int16", 8, 8), ("uint32", 8, 8),
                                   ("int64", 8, 8)):
        done, values = fill(session, "tvm.contrib.random.random_fill", dtype)
        tap.ok(0 <= values.min() and values.max() <= most
               and len(set(values)) >= different,
               f"random elements of {dtype}", (done, set(values)))


def check_nul(tap, server):
    """A name with a NUL, where the stock client cuts it."""
    w = wire.Wire(server.port)
    for function in ("download", "upload", "listdir", "load_module", "remove"):
        name = b"sub\0x" if function == "listdir" else b"sub/x\0y"
        data = [wire.blob(b"y")] if function == "upload" else []
        code, _ = w.call(w.handle("tvm.rpc.server." + function),
                         wire.text(name), *data)
        tap.ok(code == wire.EXCEPTION, f"{function}: a NUL is refused", code)
    w.close()


def check_paths(tap, server):
    session = rpc.connect("127.0.0.1", server.port)
    for name in ("../out", "/tmp/out", "a/../../out", "link", "link/x", "..",
                 "", "a//b", "x/", ".", "sub/.", "sub/deep/..",
                 "./" * 600 + "sub/x"):
        for function in ("upload", "download", "remove", "load_module"):
            call = session.get_function("tvm.rpc.server." + function)
            args = (name, b"x") if function == "upload" else (name,)
            try:
                call(*args)
                refused = False
            except tvm.error.RPCError:
                refused = True
            # A link is removed, and what it names stays. To remove the folder
            # itself changes nothing.
            if function == "remove" and name in ("link", "", "."):
                refused = True
            tap.ok(refused, f"{function} of `{name[:20]}` is refused")


def check_root(tap, program, functions):
    with tempfile.TemporaryDirectory() as top:
        outside, root = Path(top, "outside"), Path(top, "root")
        outside.mkdir()
        Path(root, "sub/deep").mkdir(parents=True)
        Path(root, "sub/x").write_text("x")
        Path(outside, "secret").write_text("secret")
        Path(root, "link").symlink_to(outside)
        Path(root, "file").symlink_to(Path(outside, "secret"))
        server = Server(program, "--root", str(root), "--load", functions)
        try:
            check_nul(tap, server)
            check_paths(tap, server)
            session = rpc.connect("127.0.0.1", server.port)
            get = session.get_function("tvm.rpc.server.download")
            for name in ("file", "link/secret"):
                try:
                    got = get(name)
                except tvm.error.RPCError:
                    got = None
                tap.ok(got is None, f"no link leads out: {name}", got)
            tap.ok(Path(outside, "secret").read_text() == "secret",
                   "what is outside is as it was")
            inside = [Path(root, name) for name in ("sub/x", "sub/deep")]
            tap.ok(inside[0].exists() and inside[0].read_text() == "x"
                   and inside[1].is_dir(),
                   "what is inside is as it was")
            check_names(tap, session, root)
            session.upload(bytearray(b"kept"), "kept.txt")
            del session, get
            gc.collect()
            tap.ok(Path(root, "kept.txt").read_bytes() == b"kept",
                   "files in --root stay")
            server.stop()
            tap.ok(Path(root, "ended").exists(), "a session's end is known")
        finally:
            server.stop()


def check_names(tap, session, root):
    """Names that a buffer of 200 or of 400 bytes would cut."""
    long = "/".join(["n" * 180] * 3) + "/file"
    Path(root, long).parent.mkdir(parents=True)
    session.upload(bytearray(b"long"), long)
    tap.ok(Path(root, long).read_text() == "long", "a name of 546 bytes")
    workpath = session.get_function("tvm.rpc.server.workpath")
    tap.ok(workpath(long) == str(Path(root, long).resolve()),
           "and its path over there", workpath(long))
    tap.ok(workpath(".") == str(root.resolve()), "the folder's path",
           workpath("."))
    listdir = session.get_function("tvm.rpc.server.listdir")
    tap.ok(listdir(".") == listdir("") and "sub" in listdir("/").split(",")
           and listdir("sub/deep") == "", "the lists of folders")


def tar(*members):
    """An archive of pairs: a name, and its bytes or what it links to, by a
    symbolic link (SYMTYPE) or another type of tarfile's."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content, *kind in members:
            member = tarfile.TarInfo(name)
            if kind:
                member.type, member.linkname = kind[0], content
                content = b""
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return bytearray(data.getvalue())


def many_objects(folder, n):
    """Objects with a function each: fn_000, fn_001 ..."""
    source = folder / "many.c"
    source.write_text("int __tvm_ffi_fn_000(void *f, const void *a, int n,"
                      " void *r) { return 0; }\n")
    subprocess.run(["cc", "-c", "-fPIC", "-o", folder / "many.o", source],
                   check=True)
    code = (folder / "many.o").read_bytes()
    return [(f"{i}.o", code.replace(b"fn_000", b"fn_%03d" % i))
            for i in range(n)]


def functions_of(session, archive, names, file="kernels.tar"):
    """Which of the names an archive's module has, or its error."""
    session.upload(archive, file)
    try:
        module = session.load_module(file)
    except tvm.error.RPCError as error:
        return str(error)
    found = []
    for name in names:
        try:
            found.append(module[name] and name)
        except AttributeError:
            pass
    return found


def check_archives(tap, program, folder, *options):
    """A confined session's `tar` makes no link and no FIFO; without confinement
    they are found after it."""
    confined = "no" not in options
    first, second = ((folder / name).read_bytes()
                     for name in ("first.o", "second.o"))
    with tempfile.TemporaryDirectory() as top:
        outside, root = Path(top, "outside"), Path(top, "root")
        outside.mkdir()
        Path(root, "n" * 200, "n" * 200).mkdir(parents=True)
        server = Server(program, *options, "--root", str(root))
        try:
            session = rpc.connect("127.0.0.1", server.port)
            for name, members, wanted in (
                    ("a file", [("a.o", first)], ["plain"]),
                    ("the same under another name", [("b.o", first)],
                     ["plain"]),
                    ("a name with a comma", [("a,b.o", first)], ["plain"]),
                    ("files in folders", [("a/b/c.o", first),
                                          ("./a/x.o", second)],
                     ["plain", "memory"]),
                    ("names as options", [("-shared", first),
                                          ("@x.o", second)],
                     ["plain", "memory"])):
                found = functions_of(session, tar(*members), wanted)
                tap.ok(found == wanted, f"an archive: {name}", found)
            many = many_objects(folder, 300)
            names = [f"fn_{i:03}" for i in range(300)]
            found = functions_of(session, tar(*many), names)
            tap.ok(found == names, "an archive: 300 objects", found)
            long = f"{'n' * 200}/{'n' * 200}/kernels"
            for end, data in ((".o", bytearray(first)),
                              (".tar", tar(("a.o", first)))):
                found = functions_of(session, data, ["plain"], long + end)
                tap.ok(found == ["plain"], f"a long name, *{end}", found)
            for name, *member in (
                    ("a link", "l.o", "a.o", tarfile.SYMTYPE),
                    ("a link that leads out", "out", str(outside),
                     tarfile.SYMTYPE),
                    ("a hard link", "l.o", "a.o", tarfile.LNKTYPE),
                    ("a FIFO", "l.o", "", tarfile.FIFOTYPE)):
                found = functions_of(session, tar(("a.o", first), member), [])
                text = ("`tar` of" if confined and "hard" not in name
                        else "is not a file")
                tap.ok(text in found, f"an archive: {name}", found)
            for i in range(2):
                functions_of(session, tar(
                    ("a.o", first), ("out/evil" if i else "out",
                                     b"evil" if i else str(outside),
                                     *([] if i else [tarfile.SYMTYPE]))), [])
            tap.ok(not list(outside.iterdir()), "no archive writes outside",
                   list(outside.iterdir()))
            left = [path.name for path in root.iterdir() if path.is_dir()]
            tap.ok(left == ["n" * 200], "what was unpacked is removed", left)
        finally:
            server.stop()


def bad_packets():
    """(name, bytes, whether the session goes on)"""
    w = wire
    call = struct.pack("<Q", 1)
    huge = struct.pack("<Q", 2**62)
    yield "a call of an unknown handle", \
        w.packet(w.CALL, struct.pack("<Q", 0x5555555555) + w.values()), True
    yield "a call of handle 0", \
        w.packet(w.CALL, struct.pack("<Q", 0) + w.values()), True
    yield "an unknown handle freed", \
        w.packet(w.FREE_HANDLE, w.values(w.pointer(0xdeadbeef))), True
    yield "unknown memory freed", \
        w.packet(w.FREE_DATA, w.values(w.CPU, w.pointer(64))), True
    yield "unknown memory read", \
        w.packet(w.COPY_FROM, w.tensor_body(4096, [4])
                 + struct.pack("<Q", 16)), True
    yield "unknown memory written", \
        w.packet(w.COPY_TO, w.tensor_body(4096, [4])
                 + struct.pack("<Q", 16) + b"x" * 16), True
    yield "a system call without arguments", \
        w.packet(w.ALLOC, w.values()), True
    yield "a system call with a wrong type", \
        w.packet(w.GET_GLOBAL, w.values(w.integer(1))), True
    yield "a second start", w.init(), True
    yield "too much memory", w.packet(w.ALLOC, w.values(
        w.CPU, w.integer(2**60), w.integer(64), w.FLOAT32)), True
    yield "a negative size", w.packet(w.ALLOC, w.values(
        w.CPU, w.integer(-1), w.integer(64), w.FLOAT32)), True
    yield "an impossible alignment", w.packet(w.ALLOC, w.values(
        w.CPU, w.integer(8), w.integer(3), w.FLOAT32)), True
    yield "an unknown device", w.packet(w.SYNC, w.values(
        struct.pack("<iii", 6, 99, 0), w.pointer(0))), True
    yield "a shape that overflows", w.packet(w.ALLOC_SCOPED, w.values(
        w.tensor(0, [2**40, 2**40]), struct.pack("<i", 0))), True
    yield "a negative shape", w.packet(w.ALLOC_SCOPED, w.values(
        w.tensor(0, [-1]), struct.pack("<i", 0))), True
    yield "an unknown code", w.packet(77), False
    yield "a return that nobody waits for", \
        w.packet(w.RETURN, w.values()), False
    yield "a huge packet", huge + struct.pack("<i", w.CALL), False
    yield "a packet of 2 bytes", struct.pack("<Qh", 2, 1) + b"x" * 8, False
    yield "a text beyond the packet", w.packet(w.GET_GLOBAL, struct.pack(
        "<ii", 1, 8) + huge), False
    yield "a negative count", w.packet(w.CALL, call + struct.pack(
        "<i", -1)), False
    yield "a count beyond the packet", w.packet(w.CALL, call + struct.pack(
        "<i", 2**31 - 1)), False
    yield "a value of an unknown type", w.packet(w.CALL, call + w.values(
        struct.pack("<iq", 60, 0))), False
    yield "too many dimensions", w.packet(w.COPY_FROM, struct.pack(
        "<QiiiI", 1, 1, 0, 2**30, 0x12002)), False
    yield "bytes after the values", \
        w.packet(w.GET_GLOBAL, w.values(w.text("x")) + b"more"), False
    yield "a copy whose size is not the packet's", w.packet(
        w.COPY_TO, w.tensor_body(1, [4]) + struct.pack("<Q", 99) + b"x"), False


def check_packets(tap, server, function="test.echo"):
    for name, data, goes_on in bad_packets():
        w = wire.Wire(server.port)
        try:
            code, body = w.ask(data)
            tap.ok(code == wire.EXCEPTION, f"{name}: an error",
                   (code, body[:200]))
        except wire.Closed:
            tap.ok(False, f"{name}: an error", "closed without an answer")
        try:
            after = w.handle(function) != 0
        except wire.Closed:
            after = False
        tap.ok(after == goes_on, f"{name}: the session "
               + ("goes on" if goes_on else "ends"))
        w.close()


def check_bounds(tap, server):
    """Reads and writes around an allocation of 64 bytes."""
    w = wire.Wire(server.port)
    data = w.alloc(64)
    for offset, size, good in ((0, 64, True), (60, 4, True), (64, 0, True),
                               (0, 65, False), (61, 4, False), (65, 0, False),
                               (2**64 - 4, 8, False), (0, 2**63, False)):
        body = wire.tensor_body(data, [16], offset) + struct.pack("<Q", size)
        code, _ = w.ask(wire.packet(wire.COPY_FROM, body))
        tap.ok((code == wire.COPY_ACK) == good,
               f"{size} bytes read at {offset} of 64", code)
        if size < 1000:
            code, _ = w.ask(wire.packet(wire.COPY_TO, body + b"x" * size))
            tap.ok((code == wire.RETURN) == good,
                   f"{size} bytes written at {offset} of 64", code)
    total = w.handle("test.sum")
    for shape, offset, good in (([16], 0, True), ([17], 0, False),
                                ([16], 4, False), ([2**38], 0, False)):
        code, _ = w.call(total, wire.tensor(data, shape, offset))
        tap.ok((code == wire.RETURN) == good,
               f"a tensor of {shape} at {offset} of 16 floats", code)
    code, _ = w.call(total, wire.tensor(data, [16], device=(2, 0)))
    tap.ok(code == wire.EXCEPTION, "the CPU's memory on another device")
    freed = wire.packet(wire.FREE_DATA, wire.values(wire.CPU,
                                                    wire.pointer(data)))
    tap.ok(w.ask(freed)[0] == wire.RETURN, "memory is freed")
    tap.ok(w.ask(freed)[0] == wire.EXCEPTION, "and not a second time")
    tap.ok(w.call(total, wire.tensor(data, [16]))[0] == wire.EXCEPTION,
           "and not used afterwards")
    again = w.alloc(64)
    tap.ok(again != data, "its handle is not used again", (again, data))
    free = wire.packet(wire.FREE_HANDLE, wire.values(wire.pointer(total)))
    w.ask(free)
    tap.ok(w.ask(free)[0] == wire.EXCEPTION, "a function is freed once")
    tap.ok(w.call(total)[0] == wire.EXCEPTION, "and not called afterwards")
    w.close()


def check_upstream_dies(tap, port):
    """The reason for a table of handles."""
    w = wire.Wire(port)
    try:
        code, _ = w.call(0x5555555555)
        tap.note(f"upstream's server answers an unknown handle by {code}")
    except wire.Closed:
        tap.note("upstream's server dies of an unknown handle")
    w.close()


def check_handshake(tap, server):
    try:
        rpc.connect("127.0.0.1", server.port, key="wrong")
        tap.ok(False, "a wrong key is refused")
    except Exception as error:
        tap.ok("cannot find server that matches key" in str(error),
               "a wrong key is refused", error)
    for name, data in (("no magic number", b"GET / HTTP/1.1\r\n\r\n"),
                       ("a huge key", struct.pack("<ii", wire.MAGIC, 2**30)),
                       ("a negative key", struct.pack("<ii", wire.MAGIC, -1)),
                       ("nothing", b"")):
        w = wire.Wire(server.port, begin=False)
        try:
            w.socket.sendall(data)
            w.socket.shutdown(socket.SHUT_WR)
            tap.ok(False, f"{name} is refused", w.read(1))
        except (wire.Closed, OSError):
            tap.ok(True, f"{name} is refused")
        w.close()


def serves(server):
    """Whether the next session is as it should be."""
    session = rpc.connect("127.0.0.1", server.port)
    return session.get_function("test.echo")(5) == 5


def check_ends(tap, server, wanted):
    """The log has, for each list of words, a session's end with all of them."""
    until = time.time() + 20
    for words in wanted:
        found = []
        while not found and time.time() < until:
            found = [line for line in list(server.lines) if "has ended" in line
                     and all(word in line for word in words)]
            time.sleep(0.01)
        tap.ok(len(found) == 1, f"the log says how: {words[-1]}", server.lines)


def check_death(tap, server):
    w = wire.Wire(server.port)
    w.socket.sendall(wire.packet(wire.COPY_TO, b"x" * 1000)[:500])
    w.close()
    tap.ok(serves(server), "a session after half a packet")
    w = wire.Wire(server.port)
    process, peer = server.children()[0], w.socket.getsockname()[1]
    code, body = w.call(w.handle("test.crash"))
    tap.ok(code == wire.EXCEPTION and b"signal 6 (Aborted)" in body,
           "the client of a call that crashes learns how", (code, body))
    try:
        tap.ok(False, "a crash ends the session", w.answer())
    except wire.Closed:
        tap.ok(True, "a crash ends the session")
    w.close()
    tap.ok(serves(server), "a session after a crash")
    check_ends(tap, server, [(f"session {process} ", f"127.0.0.1:{peer}: ",
                              "signal 6 (Aborted)")])
    w = wire.Wire(server.port)
    process = server.children()[0]
    os.kill(int(process), signal.SIGKILL)
    try:
        tap.ok(False, "between two calls the connection just ends", w.answer())
    except wire.Closed:
        tap.ok(True, "between two calls the connection just ends")
    w.close()
    check_ends(tap, server, [(f"session {process} ", "signal 9 (Killed)")])
    w = wire.Wire(server.port)
    sleep = w.handle("test.sleep_ms")
    w.socket.sendall(wire.packet(wire.CALL, struct.pack("<Q", sleep)
                                 + wire.values(wire.integer(60000))))
    time.sleep(0.2)
    begin = time.time()
    w.close()
    tap.ok(serves(server) and time.time() - begin < 40,
           "a session after a client that died in a long call")
    until = time.time() + 60
    while server.children() and time.time() < until:
        time.sleep(0.05)
    tap.ok(not server.children(), "no process is left", server.children())


def timed_out(port):
    session = rpc.connect("127.0.0.1", port, session_timeout=3)
    try:
        session.get_function("test.sleep_ms")(20000)
        return None
    except Exception as error:
        return type(error).__name__


def check_last_answer(tap, server, echo="test.echo"):
    """A client whose session's time is over, and who sends on: a server that
    closes the connection at once would have it reset, perhaps before the client
    has read why."""
    w = wire.Wire(server.port, " -timeout=3")
    call = wire.packet(wire.CALL, struct.pack("<Q", w.handle(echo))
                       + wire.values(wire.integer(1)))
    code, body = w.ask(call)
    while code == wire.RETURN:
        code, body = w.ask(call)
    tap.ok(b"RPCSessionTimeoutError" in body, "the last answer is the error",
           (code, body))
    try:
        for _ in range(10):
            w.socket.sendall(call)
            time.sleep(0.02)
        tap.ok(True, "and its connection is not reset")
    except ConnectionError as error:
        tap.ok(False, "and its connection is not reset", error)
    w.close()


def check_constructors(tap, server):
    for args, good in ((["rpc.LocalSession"], True), (["test.none"], False),
                       (["test.count"], False)):
        try:
            session = rpc.connect("127.0.0.1", server.port,
                                  session_constructor_args=args)
            worked = session.get_function("test.echo")(1) == 1
        except tvm.error.RPCError:
            worked = False
        tap.ok(worked == good, f"the session constructor {args[0]}")
        session = None  # the server has one at a time
    session = rpc.connect("127.0.0.1", server.port,
                          session_constructor_args=["test.session", 7])
    try:
        number = session.get_function("number")()
    except AttributeError as error:
        number = error
    tap.ok(number == 7, "a function of a session constructor's module", number)
    tap.ok(session.get_function("test.echo")(1) == 1, "and a global one")
    del session
    gc.collect()


def is_running(process):
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def folders(folder):
    """Folders of sessions."""
    return [path.name for path in folder.glob("tvmffi-rpc-*")]


def check_stop(tap, program, functions, folder):
    """A stopped server ends its session's process and removes its folder."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP,
                   signal.SIGQUIT, signal.SIGUSR2):
        before = folders(folder)
        server = Server(program, "--load", functions)
        w = wire.Wire(server.port)
        child = int(server.children()[0])
        tap.ok(folders(folder) != before, "a session has a folder")
        tap.ok(server.stop(number) == 0, f"{number.name} ends the server",
               server.lines)
        check_ends(tap, server, [(f"session {child} ", "the server stops")])
        tap.ok(not is_running(child), f"{number.name} ends the session")
        tap.ok(folders(folder) == before, f"{number.name} leaves no folder",
               folders(folder))
        w.close()
    before = folders(folder)
    server = Server(program, "--load", functions)
    w = wire.Wire(server.port)
    child = int(server.children()[0])
    server.stop(signal.SIGKILL)
    until = time.time() + 60
    while is_running(child) and time.time() < until:
        time.sleep(0.05)
    tap.ok(folders(folder) == before, "nor does SIGKILL", folders(folder))
    w.close()
    server = Server(program, preexec_fn=lambda: signal.signal(
        signal.SIGHUP, signal.SIG_IGN))
    server.process.send_signal(signal.SIGHUP)
    tap.ok(answers(server.port), "a server of nohup goes on after SIGHUP")
    server.stop()


# -- clients and trackers that keep it waiting ----------------------------

def answers(port, key=""):
    """Whether a client is served, which waits for 20 seconds at most."""
    try:
        w = wire.Wire(port, key)
        found = w.handle("ffi.String") != 0
        w.close()
        return found
    except (OSError, AssertionError, wire.Closed):
        return False


def idle(port, n):
    """Connections that send nothing. Those that the queue of the port does not
    take yet are tried again by the kernel."""
    clients = [socket.socket() for _ in range(n)]
    for client in clients:
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", port))
    return clients


def check_slow_clients(tap, program):
    server = Server(program)
    try:
        slow = wire.Wire(server.port, begin=False)
        hello = wire.hello("client:")
        slow.socket.sendall(hello[:9])
        tap.ok(answers(server.port), "a client beside one with half a handshake")
        try:
            slow.socket.sendall(hello[9:])
            answer = slow.read(4)
        except (OSError, wire.Closed) as error:
            answer = error
        tap.ok(answer == wire.hello("")[:4], "which then ends its handshake",
               answer)
        slow.close()
        rest = idle(server.port, 400)
        tap.ok(answers(server.port), "a client beside 400 idle ones")
        for one in rest:
            one.close()
        first = wire.Wire(server.port)
        rest = idle(server.port, 400)
        waiting = [wire.Wire(server.port, begin=False) for _ in range(3)]
        for w in waiting:
            w.socket.sendall(hello + wire.init())
        rest += idle(server.port, 400)
        try:
            ready = all(w.read(15) for w in waiting)
        except (OSError, wire.Closed) as error:
            ready = error
        tap.ok(ready is True and len(server.children()) == 1,
               "three clients that wait for a session's end", ready)
        tap.ok(first.handle("ffi.String") != 0, "a session beside them")
        first.close()
        for w in waiting:
            try:
                code = w.answer()[0]
            except (OSError, wire.Closed) as error:
                code = error
            tap.ok(code == wire.RETURN and len(server.children()) == 1,
                   "each has its session after the others", code)
            w.close()
        gone = wire.Wire(server.port)
        lost = wire.Wire(server.port, begin=False)
        lost.socket.sendall(hello)
        lost.close()
        gone.close()
        tap.ok(answers(server.port), "a client that has not waited")
        for one in rest:
            one.close()
    finally:
        server.stop()


def cpu_seconds(process):
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")")[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check_no_descriptors(tap, program):
    """A server that cannot accept the client that wants to connect."""
    server = Server(program)
    process = server.process.pid
    try:
        limits = resource.prlimit(process, resource.RLIMIT_NOFILE)
        resource.prlimit(process, resource.RLIMIT_NOFILE, (3, limits[1]))
        client = socket.create_connection(("127.0.0.1", server.port))
        time.sleep(0.2)
        before = cpu_seconds(process)
        time.sleep(1)
        used = cpu_seconds(process) - before
        tap.ok(used < 0.5, "a client that cannot be accepted takes no time",
               used)
        resource.prlimit(process, resource.RLIMIT_NOFILE, limits)
        tap.ok(answers(server.port), "and then clients are served")
        client.close()
    finally:
        server.stop()
    server = Server(program, preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_NOFILE, (24, 24)))
    try:
        rest = idle(server.port, 100)
        tap.ok(answers(server.port), "a server of 24 descriptors with 100 idle"
               " clients")
        for one in rest:
            one.close()
    finally:
        server.stop()


def check_keep_alive(tap, program):
    """The kernel says that a connection's keep-alive timer runs by 02."""
    server = Server(program)
    w = wire.Wire(server.port)
    ends = [f":{port:04X}" for port in (server.port,
                                        w.socket.getsockname()[1])]
    timers, until = ["01"], time.time() + 20
    while timers == ["01"] and time.time() < until:  # until all is received
        timers = [line.split()[5][:2]
                  for line in Path("/proc/net/tcp").read_text().splitlines()
                  if [end[-5:] for end in line.split()[1:3]] == ends]
    tap.ok(timers == ["02"], "a client's connection is kept alive", timers)
    w.close()
    server.stop()


class SlowTracker:
    """A tracker that greets a server, and answers it one byte a second."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.asked = threading.Event()
        self.ended = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                server = self.socket.accept()[0]
                server.sendall(server.recv(4) + struct.pack("<i", 4000))
                self.asked.set()
                while not self.ended.wait(1):
                    server.sendall(b" ")
            except ConnectionError:
                pass
            except OSError:
                return

    def stop(self):
        self.ended.set()
        self.socket.close()


def full_listener():
    """A port whose connections wait: its queue is full."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    return listener, idle(listener.getsockname()[1], 8)


def check_slow_trackers(tap, program):
    slow = SlowTracker()
    server = Server(program, "--tracker", f"127.0.0.1:{slow.port}", "--key",
                    "board")
    slow.asked.wait(20)
    tap.ok(answers(server.port, "board"), "a client beside a slow tracker")
    slow.stop()
    server.stop()
    listener, clients = full_listener()
    port = listener.getsockname()[1]
    server = Server(program, "--tracker", f"127.0.0.1:{port}", "--key", "board")
    tap.ok(answers(server.port, "board"),
           "a client beside a tracker that accepts no connection")
    server.stop()
    for one in (listener, *clients):
        one.close()


# -- options --------------------------------------------------------------

def check_quiet(tap, program, folder):
    """Neither a session, nor the compiler that it runs, writes a line."""
    port = free_port()
    process = subprocess.Popen([program, "--quiet", "--port", str(port)],
                               stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        until = time.time() + 20
        while not answers(port) and time.time() < until:
            time.sleep(0.1)
        session = rpc.connect("127.0.0.1", port)
        session.upload(str(folder / "first.o"))
        found = session.load_module("first.o")["plain"] is not None
        text = functions_of(session, bytearray(b"x"), [], "x.o")
        tap.ok(found and "`cc` of `x.o` failed with status 1" in text
               and "x.o: file format not recognized" in text,
               "a compiler's error has its text", text)
        del session
        gc.collect()
    finally:
        process.terminate()
        said = process.communicate()
    tap.ok(said == (b"", b""), "--quiet says nothing", said)


def check_log(tap, program, folder):
    """Lines have the time, which is in UTC, unless the stream is the journal's.
    What a client sends begins no line."""
    line = re.compile(r"(\S+) tvmffi-rpc\[\d+\]: ")
    server = Server(program)
    try:
        rpc.connect("127.0.0.1", server.port, key="a\nforged\x1b[2K")
    except RuntimeError:
        pass
    refused = server.next_said("wrong key")
    server.stop()
    tap.ok("`client:a forged [2K`" in refused, "a key with control characters",
           refused)
    lines = list(server.lines)
    found = [line.match(said) for said in lines]
    times = [datetime.datetime.fromisoformat(at[1].replace("Z", "+00:00"))
             for at in found if at]
    tap.ok(len(times) == len(lines)
           and 0 <= time.time() - times[-1].timestamp() < 60,
           "each line of the log has the time in UTC", lines)
    log, other = folder / "log", folder / "other"
    texts = []
    for path in (log, other):
        path.touch()
        status = path.stat()
        with log.open("w") as file:
            subprocess.run([program, "--wrong"], stderr=file, env={
                **os.environ,
                "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
        texts.append(log.read_text())
    tap.ok(texts[0].startswith("tvmffi-rpc[") and line.match(texts[1]),
           "none has it for the journal", texts)


def check_left_program(tap, program, folder):
    """A program that `cc` leaves running, with its output open, does not keep
    the session, and ends with it."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "cc").write_text("#!/bin/sh\nsleep 600 &\necho $! > left\n"
                              f'exec {shutil.which("cc")} "$@"\n')
    (tools / "cc").chmod(0o755)
    for mode in ("auto", "no"):
        server = Server(program, "--confine", mode, "--allow", f"{tools}:ro",
                        env={**os.environ,
                             "PATH": f"{tools}:{os.environ['PATH']}"})
        try:
            session = rpc.connect("127.0.0.1", server.port, session_timeout=60)
            session.upload(str(folder / "first.o"))
            try:
                found = session.load_module("first.o")["plain"] is not None
                left = int(session.download("left"))
            except Exception as error:
                found, left = error, 0
            tap.ok(found is True and is_running(left),
                   f"--confine {mode}: `cc` leaves a program running", found)
            del session
            gc.collect()
            server.says("has ended", 1)
            tap.ok(left and not is_running(left),
                   f"--confine {mode}: it ends with the session", left)
        finally:
            server.stop()


def upload_error(session, size):
    try:
        session.upload(bytearray(size), "file")
        return ""
    except Exception as error:
        return str(error)


def add_number(folder, name, number, more=""):
    """Compiles an exported function `get`, which returns a number."""
    source = folder / (name + ".c")
    source.write_text(
        "typedef struct { int type, zero; long long v; } any;\n" + more +
        "int __tvm_ffi_get(void *f, const void *a, int n, any *r) {\n"
        f"  r->type = 1; r->v = {number}; return 0;\n}}\n")
    for suffix in (".so", ".o"):
        subprocess.run(
            ["cc", "-fPIC", "-shared" if suffix == ".so" else "-c", "-o",
             folder / (name + suffix), source], check=True)


def check_uploads_again(tap, program, folder):
    """A file that is uploaded again is another library; the first one stays
    as it was while the client holds it."""
    add_number(folder, "one", 1)
    add_number(folder, "two", 2)
    server = Server(program)
    try:
        session = rpc.connect("127.0.0.1", server.port)
        for suffix in (".so", ".o"):
            got = []
            for name in ("one", "two", "one"):
                session.upload(str(folder / (name + suffix)), "get" + suffix)
                got.append(session.load_module("get" + suffix)["get"])
            got = outcome(lambda: [int(get()) for get in got])
            tap.ok(got == "list [1, 2, 1]",
                   f"a {suffix} file that is uploaded again", got)
        del session
        gc.collect()
    finally:
        server.stop()


def check_undefined(tap, program, folder):
    """A function that no library defines is an error of the load."""
    add_number(folder, "lacking", "none()", "long long none(void);\n")
    server = Server(program)
    try:
        session = rpc.connect("127.0.0.1", server.port)
        for suffix in (".so", ".o"):
            session.upload(str(folder / ("lacking" + suffix)))
            try:
                session.load_module("lacking" + suffix)
                text = ""
            except tvm.error.RPCError as error:
                text = str(error)
            tap.ok("undefined symbol: none" in text and
                   session.listdir("") != "",
                   f"a {suffix} file that names an undefined function", text)
        del session
        gc.collect()
    finally:
        server.stop()


def check_no_library(tap, program, folder):
    """A library of another processor, and one that was cut, are errors that say
    so, in the log too; the session goes on."""
    add_number(folder, "one", 1)
    whole = (folder / "one.so").read_bytes()
    other = whole[:18] + bytes([whole[18] ^ 255]) + whole[19:]
    server = Server(program)
    try:
        session = rpc.connect("127.0.0.1", server.port)
        for name, data, wanted in (
                ("other.so", other, "another kind of processor"),
                ("cut.so", whole[:len(whole) // 2], "not the whole library"),
                ("short.so", whole[:100], "not the whole library"),
                ("empty.so", b"", "file too short"),
                ("text.so", b"text" * 99, "invalid ELF header")):
            session.upload(bytearray(data), name)
            try:
                session.load_module(name)
                text = ""
            except tvm.error.RPCError as error:
                text = str(error)
            tap.ok(wanted in text and name in session.listdir(""),
                   f"{name} to load", text)
            said = server.next_said(f"{name} was not loaded: ")
            tap.ok(wanted in said, f"{name} in the log", server.lines)
        session.upload(str(folder / "one.so"))
        tap.ok(session.load_module("one.so")["get"]() == 1,
               "the session goes on after libraries that cannot be loaded")
        del session
        gc.collect()
    finally:
        server.stop()
    (folder / "cut.so").write_bytes(whole[:len(whole) // 2])
    ended = subprocess.run([program, "--port", "0", "--load",
                            folder / "cut.so"], capture_output=True,
                           text=True, timeout=20)
    tap.ok(ended.returncode == 2 and "not the whole library" in ended.stderr,
           "--load of a library that was cut: an error", ended)


def check_full_disk(tap, program):
    """The error of an upload names the file, which stays as it was, and the disk
    has room again. A limit of files' lengths takes the place of a small disk."""
    limit = 1 << 20

    def limit_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    server = Server(program, preexec_fn=limit_files)
    try:
        session = rpc.connect("127.0.0.1", server.port)
        session.upload(bytearray(b"before"), "file")
        text = upload_error(session, 2 * limit)
        tap.ok("cannot write `file`" in text, "an upload to a full disk", text)
        left = outcome(lambda: session.download("file"))
        tap.ok(left == "b'before'", "leaves the earlier file", left[:80])
        names = session.get_function("tvm.rpc.server.listdir")(".")
        tap.ok(names == "file", "and no part of the new one", names)
        del session
        gc.collect()
    finally:
        server.stop()


def check_runner(tap, program, folder):
    """MetaSchedule's RPCRunner times a kernel that was built for it."""
    if not Tracker:
        tap.skip("MetaSchedule's RPCRunner", "Python's tornado is not there")
        return
    from tvm.s_tir.meta_schedule import arg_info, runner
    port = free_port()
    tracker = Tracker("127.0.0.1", port, port + 1, silent=True)
    server = Server(program, "--key", "tune", "--tracker",
                    f"127.0.0.1:{port}")
    try:
        server.next_said("registered at the tracker")
        run = runner.RPCRunner(runner.RPCConfig(
            tracker_host="127.0.0.1", tracker_port=port,
            tracker_key="tune", session_timeout_sec=60), max_workers=1)
        for name in ("second.so", "second.tar"):
            shape = arg_info.TensorInfo("float32", (100_000,))
            result = run.run([runner.RunnerInput(
                str(folder / name), "cpu", [shape, shape])])[0].result()
            tap.ok(result.run_secs is not None and result.error_msg is None,
                   f"MetaSchedule's RPCRunner times {name}",
                   result.error_msg)
    finally:
        server.stop()
        tracker.terminate()


def check_processors(tap, program, folder):
    """A pool of threads has one for each processor that the server may use."""
    allowed = sorted(os.sched_getaffinity(0))
    env = {k: v for k, v in os.environ.items() if k != "TVM_NUM_THREADS"}
    for processors in (allowed, allowed[:1]):
        server = Server(program, env=env, preexec_fn=lambda: (
            os.sched_setaffinity(0, processors)))
        try:
            session = rpc.connect("127.0.0.1", server.port)
            session.upload(str(folder / "first.so"))
            parallel = session.load_module("first.so")["parallel"]
            a, b = (tvm.runtime.empty((100_000,), "float32", session.cpu(0))
                    for _ in "ab")
            parallel(a, b)
            [child] = server.children()
            threads = len(os.listdir(f"/proc/{child}/task"))
            tap.ok(threads == len(processors),
                   f"threads for {len(processors)} processors", threads)
            del session, parallel, a, b
            gc.collect()
        finally:
            server.stop()


def check_max_packet(tap, program):
    server = Server(program, "--max-packet", "1")
    try:
        session = rpc.connect("127.0.0.1", server.port)
        text = upload_error(session, 2 << 20)
        tap.ok("longer than this server allows: 1048576 bytes" in text
               and "--max-packet" in text,
               "a file of more than --max-packet", text)
        tap.ok(upload_error(session, 1000 << 10) == "",
               "a file that is less, in the same session")
        del session
        gc.collect()
    finally:
        server.stop()


def check_tracker(tap, program, functions):
    if Tracker is None:
        tap.skip("a tracker", "tornado is not installed")
        return
    port = free_port()
    tracker = Tracker("127.0.0.1", port, port + 1, silent=True)
    server = Server(program, "--tracker", f"127.0.0.1:{port}", "--key",
                    "board", "--load", functions)
    try:
        hub = rpc.connect_tracker("127.0.0.1", port)
        for i in range(2):
            session = hub.request("board", session_timeout=200)
            tap.ok(session.get_function("test.echo")(i) == i,
                   f"session {i} by the tracker")
            del session
            gc.collect()
        summary = hub.summary()
        tap.ok([s["key"] for s in summary["server_info"]] == ["server:board"]
               and summary["server_info"][0]["addr"][1] == server.port,
               "the tracker lists the server", summary)
        try:
            rpc.connect("127.0.0.1", server.port, key="board")
            tap.ok(False, "without the tracker's key there is no session")
        except Exception as error:
            tap.ok("matches key" in str(error),
                   "without the tracker's key there is no session", error)
        tap.ok(server.next_said("wrong key").endswith(
            "a wrong key, `client:board`: ask the tracker for this server\n"),
            "and the log says where the key is", server.lines)
        base.sendjson(hub._sock, [base.TrackerCode.REQUEST, "board", "", 1])
        key = base.recvjson(hub._sock)[1][2]
        first = wire.Wire(server.port, key)
        second = wire.Wire(server.port, begin=False)
        second.socket.sendall(wire.hello("client:" + key))
        try:
            answer = struct.unpack("<i", second.read(4))[0]
        except (OSError, wire.Closed) as error:
            answer = error
        tap.ok(answer == wire.MAGIC + 2, "the tracker's key is for one client",
               answer)
        first.close()
        second.close()
        tap.ok(hub.request("board").get_function("test.echo")(3) == 3,
               "and then there is another one")
        hub.close()
    finally:
        server.stop()
        tracker.terminate()


def check_drain(tap, program):
    """After SIGUSR1 a server accepts no client and leaves the tracker, and ends
    when its session does."""
    if Tracker is None:
        return
    port = free_port()
    tracker = Tracker("127.0.0.1", port, port + 1, silent=True)
    server = Server(program, "--tracker", f"127.0.0.1:{port}", "--key", "board")
    try:
        hub = rpc.connect_tracker("127.0.0.1", port)
        session = hub.request("board", session_timeout=200)
        server.process.send_signal(signal.SIGUSR1)
        tap.ok(server.next_said("no other client is accepted"),
               "SIGUSR1: the server says so", server.lines)
        tap.ok(not hub.summary()["server_info"], "it leaves the tracker")
        try:
            socket.create_connection(("127.0.0.1", server.port)).close()
            refused = False
        except OSError:
            refused = True
        tap.ok(refused, "and accepts no client")
        session.upload(bytearray(b"y"), "file")
        tap.ok(bytes(session.download("file")) == b"y"
               and server.process.poll() is None, "its session goes on")
        hub.close()
        del session
        gc.collect()
        tap.ok(server.process.wait(30) == 0, "and then the server ends",
               server.lines)
    finally:
        server.stop()
        tracker.terminate()


def check_no_session(tap, program):
    """A client whose session cannot begin learns it: the folder of sessions'
    folders is gone."""
    top = tempfile.mkdtemp()
    server = Server(program, env={**os.environ, "TMPDIR": top})
    os.rmdir(top)
    try:
        rpc.connect("127.0.0.1", server.port).get_function("test.echo")
        said = ""
    except Exception as error:
        said = str(error)
    server.stop()
    tap.ok("the server could not begin a session" in said
           and "cannot make the folder" in "".join(server.lines),
           "a session that cannot begin", (said, server.lines))


def check_tracker_again(tap, server, port):
    """A tracker that was away twice: the server waits longer each time, names
    the reason, and says when it is registered."""
    until = time.time() + 20
    while time.time() < until and len(waits(server)) < 3:
        time.sleep(0.1)
    waited = waits(server)[:3]
    tracker = Tracker("127.0.0.1", port, port + 1, silent=True)
    again = server.says("registered at the tracker", 2)
    lines = "".join(server.lines)
    tap.ok(waited == [1, 2, 4] and "Connection refused; if its "
           "port was taken or in TIME_WAIT" in lines,
           "the server waits longer for a tracker, and says why", lines)
    tap.ok(again, "and says that it is registered again", lines)
    tracker.terminate()


class Names:
    """A server with an /etc/hosts and a name server of its own."""

    def __init__(self, program, folder):
        hosts, resolver = folder / "hosts", folder / "resolv.conf"
        self.hosts, self.program = hosts, folder / "named"
        self.sink = socket.socket(type=socket.SOCK_DGRAM)
        self.sink.settimeout(20)
        resolver.write_text("nameserver 127.86.0.53\n"
                            "options timeout:30 attempts:1\n")
        hosts.write_text("")
        enter = "unshare -m" if not os.geteuid() else "unshare -rm"
        self.program.write_text(
            f"#!/bin/sh\nexec {enter} sh -c 'mount -n --bind {hosts} "
            f"/etc/hosts && mount -n --bind {resolver} /etc/resolv.conf && "
            f"exec {program} \"$@\"' sh \"$@\"\n")
        self.program.chmod(0o755)
        self.lack = subprocess.run([self.program, "--version"],
                                   capture_output=True, text=True).stderr

    def server(self, name, port):
        return Server(str(self.program), "--tracker", f"{name}:{port}",
                      "--key", "board")


def check_tracker_moves(tap, names):
    """The name of a tracker first has no address, then one, then another."""
    port = free_port()
    trackers = []
    server = names.server("tracker.test", port)
    try:
        tap.ok(server.next_said("has no address: ")
               and answers(server.port, "board"),
               "a client beside a tracker whose name has no address",
               server.lines)
        for i in (2, 3):
            trackers += [Tracker(f"127.0.0.{i}", port, port + 1, silent=True)]
            names.hosts.write_text(f"127.0.0.{i} tracker.test\n")
            if i == 3:
                end_tracker(trackers[0])
            said = server.says(
                f"registered at the tracker tracker.test:{port}\n", i - 1)
            hub = rpc.connect_tracker(f"127.0.0.{i}", port)
            found = [s["key"] for s in hub.summary()["server_info"]]
            hub.close()
            tap.ok(said and found == ["server:board"],
                   f"a tracker whose name has the address 127.0.0.{i}",
                   (found, server.lines))
    finally:
        server.stop()
        for tracker in trackers:
            end_tracker(tracker)


def end_tracker(tracker):
    """Ends a tracker that is not at 127.0.0.1, where `terminate` looks for it.
    """
    if tracker.proc:
        tracker.proc.kill()
    tracker.proc = None


def check_tracker_name(tap, program, folder):
    names = Names(program, folder)
    if names.lack or Tracker is None:
        tap.skip("a tracker's name", names.lack or "there is no tornado")
        return
    check_tracker_moves(tap, names)
    try:
        names.sink.bind(("127.86.0.53", 53))
    except OSError as error:
        tap.skip("a name server that does not answer", error)
        return
    server = names.server("slow.test", 1)
    names.sink.recv(1000)
    children = server.children()
    tap.ok(len(children) == 1 and answers(server.port, "board"),
           "a client beside a name server that does not answer", children)
    tap.ok(server.stop() == 0 and not is_running(children[0]),
           "the look-up ends with the server", server.lines)
    names.sink.close()


def waits(server):
    """The seconds until each next try, since the server was last registered."""
    text = "".join(server.lines).split("registered at the tracker")[-1]
    return [int(n) for n in re.findall(r"the next try is in (\d+) s", text)]


def check_port_taken(tap, program):
    """The error names the port; one in TIME_WAIT is taken at once."""
    server = Server(program)
    taken = subprocess.run([program, "--port", str(server.port)], text=True,
                           capture_output=True, timeout=20)
    tap.ok(taken.returncode == 1 and f"127.0.0.1:{server.port}: another "
           "program does" in taken.stderr, "a port that is taken", taken)
    w = wire.Wire(server.port)
    server.stop()  # ends the connection first, and so has TIME_WAIT
    w.close()
    again = subprocess.Popen([program, "--port", str(server.port)], text=True,
                             stderr=subprocess.PIPE)
    said = again.stderr.readline() + again.stderr.readline()
    again.terminate()
    again.wait(20)
    tap.ok(f"listening on 127.0.0.1:{server.port}" in said,
           "a port in TIME_WAIT", said)


def check_no_tracker(tap, program):
    """A server whose tracker cannot be reached asks for its own key."""
    server = Server(program, "--tracker", "[::1]:1", "--key", "board")
    tap.ok(server.next_said("the tracker [::1]:1 cannot be reached"),
           "a tracker at an IPv6 address", server.lines)
    server.stop()
    port = free_port()
    server = Server(program, "--tracker", f"127.0.0.1:{port}", "--key", "board")
    try:
        tap.ok(server.address == "127.0.0.1",
               "without --host only this machine reaches the server",
               server.address)
        for key, wanted in (("", False), ("x", False), ("board", True)):
            try:
                session = rpc.connect("127.0.0.1", server.port, key=key)
                found = True
                del session
                gc.collect()
            except Exception:
                found = False
            tap.ok(found == wanted, "without a tracker, a client with the key "
                   f"`{key}` is {'served' if wanted else 'refused'}")
        if Tracker is None:
            tap.skip("a tracker that comes and goes", "there is no tornado")
            return
        tracker = Tracker("127.0.0.1", port, port + 1, silent=True)
        hub = rpc.connect_tracker("127.0.0.1", port)
        tap.ok(hub.request("board") is not None, "a tracker that comes later")
        hub.close()
        tracker.terminate()
        until = time.time() + 20
        found = False
        while not found and time.time() < until:
            found = answers(server.port, "board")
        tap.ok(found, "when it has gone, the server's key is asked for again")
        check_tracker_again(tap, server, port)
    finally:
        server.stop()


def check_command_line(tap, program):
    for args in ([], ["--port"], ["--port", "0", "more"], ["--wrong", "1"],
                 ["--port", "0", "--tracker", "x:1"],
                 ["--port", "0", "--key", 'a"b'], ["--port", "0", "--key", ""],
                 ["--port", "0", "--address", "192.0.2.1"],
                 ["--port", "0", "--load", "/nonexistent.so"],
                 ["--port", "0", "--root", "/nonexistent"],
                 ["--port", "0", "--quiet=1"],
                 ["-port", "9090"], ["--port", "70000"], ["--port", "http"],
                 ["--port", "-1"], ["--port", "0x10"], ["--port", ""],
                 ["--port", "0", "--max-packet", "0"],
                 ["--port", "0", "--key", "a", "--tracker", "127.0.0.1:70000"],
                 ["--port", "0", "--key", "a", "--tracker", "127.0.0.1:"],
                 ["--port", "0", "--key", "a", "--tracker", ":9190"],
                 ["0"], ["0", "one"], ["0", "999"], ["0", "70000000000"]):
        try:
            ended = subprocess.run([program, *args], capture_output=True,
                                   text=True, timeout=20,
                                   stdin=subprocess.DEVNULL)
            good = ended.returncode == 2 and "error: " in ended.stderr
        except subprocess.TimeoutExpired as timeout:
            ended, good = timeout, False
        tap.ok(good, f"tvmffi-rpc {' '.join(args)}: an error", ended)
    for args, code, wanted in (
            (["--wrong"], 2, "error: there is no option --wrong"),
            (["--port=0", "#"], 2, "error: `#` is not an option"),
            (["--port=0", f"--root={program}"], 2, ": Not a directory"),
            (["--port=0", "--host=no such name"], 1, "--host `no such name`: "),
            (["--port=1", "--host=192.0.2.1"], 1, "listen on 192.0.2.1:1: "),
            (["--port=1", "--host=2001:db8::1"], 1, "on [2001:db8::1]:1: "),
            (["--port", "0", "-h"], 0, "usage: "),
            (["--version"], 0, ", protocol 0.8.0")):
        ended = subprocess.run([program, *args], capture_output=True,
                               text=True, timeout=20)
        tap.ok(ended.returncode == code
               and wanted in ended.stdout + ended.stderr,
               f"tvmffi-rpc {' '.join(args)}: {wanted}", ended)


def pipe_program(folder, program, functions):
    path = folder / "pipe"
    path.write_text(f'#!/bin/sh\nexec {program} --load {functions} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def upstream_server(functions):
    port = free_port()
    return rpc.Server("127.0.0.1", port, port + 50, load_library=functions,
                      silent=True)


def run(tap, program, functions, folder):
    first, second = kernels()
    first.export_library(str(folder / "first.so"))
    first.export_library(str(folder / "first.tar"))
    first.mod.write_to_file(str(folder / "first.o"))
    second.mod.write_to_file(str(folder / "second.o"))
    second.export_library(str(folder / "second.so"))
    second.export_library(str(folder / "second.tar"))
    upstream = upstream_server(functions)
    ours = Server(program, "--load", functions)
    try:
        session = rpc.connect("127.0.0.1", upstream.port)
        theirs = observe(session, folder)
        their_error = error_text(session, "ValueError")
        del session
        gc.collect()
        session = rpc.connect("127.0.0.1", ours.port)
        compare(tap, "socket", observe(session, folder), theirs)
        check_errors(tap, session, their_error)
        check_texts(tap, session)
        check_fillings(tap, session)
        del session
        gc.collect()
        pipe = rpc.PopenSession(pipe_program(folder, program, functions))
        compare(tap, "pipe", observe(pipe, folder), theirs)
        del pipe
        gc.collect()
        tap.ok(timed_out(upstream.port) == timed_out(ours.port)
               == "RPCSessionTimeoutError", "a session's time is over")
        check_last_answer(tap, ours)
        check_packets(tap, ours)
        check_bounds(tap, ours)
        check_upstream_dies(tap, upstream.port)
        check_handshake(tap, ours)
        check_death(tap, ours)
        check_constructors(tap, ours)
        tap.ok(ours.stop() == 0, "the server ends cleanly", ours.lines)
        tap.ok(not list(folder.glob("tvmffi-rpc-*")),
               "no session's folder is left", list(folder.iterdir()))
    finally:
        ours.stop()
        upstream.terminate()
    check_root(tap, program, functions)
    check_archives(tap, program, folder)
    check_archives(tap, program, folder, "--confine", "no")
    check_stop(tap, program, functions, folder)
    check_slow_clients(tap, program)
    check_no_descriptors(tap, program)
    check_keep_alive(tap, program)
    check_slow_trackers(tap, program)
    check_quiet(tap, program, folder)
    check_log(tap, program, folder)
    check_left_program(tap, program, folder)
    check_uploads_again(tap, program, folder)
    check_undefined(tap, program, folder)
    check_no_library(tap, program, folder)
    check_full_disk(tap, program)
    check_runner(tap, program, folder)
    check_processors(tap, program, folder)
    check_max_packet(tap, program)
    check_tracker(tap, program, functions)
    check_drain(tap, program)
    check_no_session(tap, program)
    check_no_tracker(tap, program)
    check_tracker_name(tap, program, folder)
    check_port_taken(tap, program)
    check_command_line(tap, program)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--functions", required=True)
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        run(tap, os.path.abspath(args.server),
            os.path.abspath(args.functions), Path(folder))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
