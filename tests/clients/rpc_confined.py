#!/usr/bin/env python3
"""Confined sessions of our RPC server, by the stock client of Apache TVM.

    rpc_confined.py --server TVMFFI_RPC --functions RPC_REFUSED

Each thing that a session must not do is tried in a confined session, where it
is refused, and in one that is not, where it is not: so that a try that always
fails shows nothing. Then --allow opens what it names and nothing else, and the
limits of memory, threads, disk and time hold. The Python that runs this has what
requirements-tvm.txt names.
"""

import argparse
import ctypes
import errno
import gc
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE))
from tap import Tap  # noqa: E402

try:
    import tvm
    from tvm import rpc
    from rpc_client import Server
except (ImportError, SystemExit) as missing:
    tap = Tap()
    tap.skip("confined RPC sessions", missing)
    sys.exit(tap.done())

REFUSED = (errno.EPERM, errno.EACCES)
# Calls that would do something with arguments of -1 where they are allowed:
# make a queue, or end the terminal's session.
ACTIVE = {"msgget", "vhangup"}


def refused_calls():
    """{name: number} of the calls in the server's filter that this machine
    has. The try "fork" makes processes."""
    source = (HERE.parents[1] / "rpc/server_confine.h").read_text()
    macros = subprocess.run(
        ["cc", "-E", "-dM", "-include", "sys/syscall.h", "-xc", os.devnull],
        check=True, capture_output=True, text=True).stdout
    numbers = dict(re.findall(r"^#define __NR_(\w+) (\d+)$", macros, re.M))
    return {name: numbers[name] for name in
            re.findall(r"\{SYS_(\w+), CONFINE_\w+\}", source)
            if name in numbers and name not in {"fork", "vfork"}}


class Session:
    """A server with one session."""

    def __init__(self, program, functions, *options, **popen):
        self.server = Server(program, "--load", functions, *options, **popen)
        self.remote = rpc.connect("127.0.0.1", self.server.port)
        self.attempt = self.remote.get_function("refused.attempt")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.attempt = self.remote = None
        gc.collect()
        self.server.stop()

    def error_of(self, name, arg):
        try:
            self.remote.get_function("refused.must")(name, arg)
        except tvm.error.RPCError as error:
            return str(error)
        return ""


def tries(folder):
    """(name, argument) of what is refused."""
    yield from (("read", "/etc/passwd"), ("read", str(folder / "secret")),
                ("write", str(folder / "secret")),
                ("truncate", str(folder / "secret")),
                ("chmod", str(folder / "secret")),
                ("chown", str(folder / "secret")),
                ("create", str(folder / "new")), ("link", str(folder / "link")),
                ("list", str(folder)), ("list", "/"), ("list", "/home"),
                ("remove", str(folder / "victim")), ("link", "a link inside"),
                ("device", "/dev/ptmx"), ("parent", "environ"),
                ("parent", "maps"), ("fork", ""), ("program", "/bin/true"),
                ("socket", "2"), ("socket", "1"), ("socket", "10"),
                ("socket", "16"), ("connect", ""), ("signal", ""),
                ("limit", ""), ("privilege", ""))


def check_refusals(tap, program, functions, folder):
    """Each try in both kinds of sessions."""
    (folder / "secret").write_text("secret")
    (folder / "victim").write_text("")
    with Session(program, functions) as confined:
        got = {t: confined.attempt(*t) for t in tries(folder)}
        numbers = refused_calls()
        calls = {name: confined.attempt("call", number)
                 for name, number in numbers.items()}
        newer = confined.attempt("call", "1000")
        own = confined.attempt("own signal", "")
        typed = confined.attempt("type", "")
        inside = [confined.attempt(name, "inside") for name in
                  ("create", "read", "write", "truncate", "remove")]
    with Session(program, functions, "--confine", "no") as free:
        for t in tries(folder):
            without = free.attempt(*t)
            tap.ok(got[t] in REFUSED and without not in REFUSED,
                   f"{' '.join(t).replace(str(folder), 'FOLDER')} is refused",
                   f"confined: {got[t]}, not confined: {without}")
        for name, code in calls.items():
            without = None if name in ACTIVE else \
                free.attempt("call", numbers[name])
            tap.ok(code == errno.EPERM and
                   (without != errno.EPERM or os.geteuid()),
                   f"the system call {name} is refused",
                   f"confined: {code}, not confined: {without}")
        without = free.attempt("type", "")
    tap.ok(len(calls) > 80, "the filter's calls were found", calls)
    tap.ok(typed == errno.EPERM and without != errno.EPERM,
           "typing on a terminal is refused", (typed, without))
    tap.ok(newer == errno.ENOSYS, "a call of a newer kernel is not there",
           newer)
    tap.ok(own == 0, "a signal to itself is allowed", own)
    tap.ok(inside == [0] * 5, "files inside are the session's", inside)


def check_other_machine(tap, program, functions):
    """A 32-bit system call ends a confined session at once."""
    if os.uname().machine != "x86_64":
        return
    with Session(program, functions) as confined:
        try:
            got = confined.attempt("other machine", "")
        except Exception as error:
            got = type(error).__name__
    tap.ok(isinstance(got, str), "a system call of 32 bits ends the session",
           got)


def check_allow(tap, program, functions, folder):
    """--allow opens what it names, and the next thing stays shut."""
    folder = folder.resolve()
    open_, read, shut = (folder / name for name in ("open", "read", "shut"))
    for path in (open_, read, shut):
        path.mkdir()
        (path / "file").write_text("x")
    module = json.__file__
    with Session(program, functions) as s:
        before = s.attempt("read", module)
    tap.ok(before in REFUSED or module.startswith("/usr/lib"),
           "Python's files are shut", before)
    with Session(program, functions, "--allow", str(open_), "--allow",
                 f"{read}:ro", "--allow", "/dev/ptmx", "--allow", "python",
                 env={**os.environ, "PATH": os.path.dirname(sys.executable)
                      + ":" + os.environ["PATH"]}) as s:
        for t, wanted in ((("read", f"{open_}/file"), True),
                          (("create", f"{open_}/new"), True),
                          (("remove", f"{open_}/new"), True),
                          (("read", f"{read}/file"), True),
                          (("write", f"{read}/file"), False),
                          (("create", f"{read}/new"), False),
                          (("read", f"{shut}/file"), False),
                          (("chmod", f"{open_}/file"), False),
                          (("device", "/dev/ptmx"), True),
                          (("read", module), True),
                          (("read", tvm.__file__), True),
                          (("write", module), False),
                          (("fork", ""), False), (("socket", "2"), False)):
            code = s.attempt(*t)
            tap.ok(code == 0 if wanted else code in REFUSED,
                   f"--allow PATH: {t[0]} {os.path.basename(t[1])}: "
                   f"{'allowed' if wanted else 'refused'}", (t, code))
    with Session(program, functions, "--allow", "programs") as s:
        for t, wanted in ((("fork", ""), 1), (("program", "/bin/true"), 1),
                          (("socket", "2"), 0), (("read", "/etc/passwd"), 0)):
            code = s.attempt(*t)
            tap.ok((code == 0) == wanted, f"--allow programs: {t}", code)
    with Session(program, functions, "--allow", "network") as s:
        for t, wanted in ((("socket", "2"), 1), (("fork", ""), 0)):
            code = s.attempt(*t)
            tap.ok((code == 0) == wanted, f"--allow network: {t}", code)


def check_hints(tap, program, functions):
    """An error that the confinement may have caused names the switch."""
    with Session(program, functions) as s:
        for t, hint in ((("read", "/etc/passwd"), "--allow PATH"),
                        (("socket", "2"), "--allow opens programs or network"),
                        (("memory", "100000000"), "--max-memory")):
            text = s.error_of(*t)
            tap.ok(hint in text and "rpc_refused.c" in text,
                   f"the error of {t[0]} names {hint}", text)
    with Session(program, functions, "--max-memory", "32") as s:
        text = s.error_of("threads", "4000")
        tap.ok("--max-memory" in text, "the error of threads that get no stack "
               "names --max-memory", text)
    with Session(program, functions, "--confine", "no") as s:
        text = s.error_of("read", "/nonexistent")
        tap.ok("No such file" in text and "--allow" not in text,
               "other errors do not", text)


def check_memory_hints(tap, program, functions, folder):
    """What gets no memory, be it a tensor, a packet or a library, names the
    limit if there is one."""
    source, library = folder / "large.c", folder / "large.so"
    source.write_text("char large[64 << 20]; int __tvm_ffi_f(void *f, const "
                      "void *a, int n, void *r) { return 0; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source],
                   check=True)
    for limit in ("32", "0"):
        with Session(program, functions, "--max-memory", limit) as s:
            s.remote.upload(str(library))
            for name, function in (
                    ("a tensor", lambda: tvm.runtime.empty(
                        (64 << 20 if limit == "32" else 1 << 60,), "int8",
                        s.remote.cpu())),
                    ("a packet", lambda: s.remote.upload(
                        bytearray(64 << 20), "file")),
                    ("a library", lambda: s.remote.load_module("large.so"))):
                try:
                    function()
                    text = ""
                except Exception as error:
                    text = str(error)
                if limit == "32":
                    tap.ok("this server's --max-memory limits it" in text,
                           f"{name} without memory names --max-memory", text)
                else:
                    tap.ok("--max-memory" not in text
                           and bool(text) == (name == "a tensor"),
                           f"--max-memory 0: {name}", text)


def check_linker(tap, program, functions, folder):
    """An upload that makes the linker read another file is refused, too."""
    (folder / "script").write_text("neither script nor object")
    texts = []
    for mode in ("yes", "no"):
        with Session(program, functions, "--confine", mode) as s:
            s.remote.upload(bytearray(b"INCLUDE %s" % bytes(folder / "script")),
                            "kernel.o")
            try:
                s.remote.load_module("kernel.o")
            except tvm.error.RPCError as error:
                texts.append(str(error))
        texts.append("".join(s.server.lines))
    tap.ok(len(texts) == 4 and "`cc` of `kernel.o` failed" in texts[0]
           and "cannot open linker script file" in texts[0]
           and "cannot open" not in texts[2],
           "the linker reads no file outside", texts)


def check_limits(tap, program, functions):
    for options, wanted in (((), {}), (("--max-memory", "64"), {"100": True}),
                            (("--max-memory", "0"), {"100": False}),
                            (("--confine", "no"), {"100": False}),
                            (("--confine", "no", "--max-memory", "64"),
                             {"100": True})):
        with Session(program, functions, *options) as s:
            for mib, refused in wanted.items():
                code = s.attempt("memory", mib)
                tap.ok((code == errno.ENOMEM) == refused,
                       f"{mib} MiB with {' '.join(options)}", code)
    if os.geteuid():
        user = {}
    else:
        user = {"user": 65534, "group": 65534, "extra_groups": []}
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o777)
        env = {**os.environ, "TMPDIR": top}
        with Session(program, functions, "--max-threads", "20", env=env,
                     **user) as s:
            few, many = s.attempt("threads", "10"), s.attempt("threads", "100")
            again = s.attempt("threads", "10")
        tap.ok((few, many, again) == (0, errno.EAGAIN, 0),
               "10 threads with --max-threads 20, and not 100",
               (few, many, again))
        with Session(program, functions, "--max-threads", "0", env=env,
                     **user) as s:
            many = s.attempt("threads", "100")
        tap.ok(many == 0, "100 threads with --max-threads 0", many)


def upload_error(session, size, name):
    """The text of an upload's error, or ""."""
    try:
        session.upload(bytearray(size), name)
        return ""
    except tvm.error.RPCError as error:
        return str(error)


def check_disk(tap, program, functions):
    """--max-disk refuses an upload, and ends a session whose code writes
    more; 0 does neither."""
    said = "the session's files may hold 1 MiB (this server's --max-disk " \
        "limits it)"
    with Session(program, functions, "--max-disk", "1") as s:
        tap.ok(upload_error(s.remote, 700 << 10, "one") == "",
               "--max-disk 1: an upload")
        text = upload_error(s.remote, 700 << 10, "two")
        tap.ok(f"cannot write `two`: {said}" in text, "a second one is refused",
               text)
        names = str(s.remote.get_function("tvm.rpc.server.listdir")("."))
        tap.ok(names == "one", "and leaves no file", names)
        s.remote.remove("one")
        tap.ok(upload_error(s.remote, 700 << 10, "two") == "",
               "a file that is removed makes room")
        refused = sum(upload_error(s.remote, 0, f"empty {i}") != ""
                      for i in range(200))
        tap.ok(0 < refused < 200, "empty files count, too", refused)
    for options in ((), ("--confine", "no")):
        with Session(program, functions, "--max-disk", "1", *options) as s:
            start, text = time.time(), ""
            s.attempt("fill", "written")
            while not text and time.time() < start + 20:
                time.sleep(0.05)
                text = s.error_of("own signal", "")
            tap.ok(said in text and s.server.next_said(said)
                   and time.time() < start + 5,
                   f"--max-disk 1 {' '.join(options)}: files that code writes "
                   "end the session", (text, s.server.lines))
    with Session(program, functions, "--max-disk", "0") as s:
        s.attempt("fill", "written")
        time.sleep(1.5)
        tap.ok(upload_error(s.remote, 2 << 20, "one") == "",
               "--max-disk 0 is no limit")


def check_time(tap, program, functions):
    """--max-time ends a session whose client asks for more, or for nothing; 0
    ends none."""
    server = Server(program, "--max-time", "1", "--load", functions)
    try:
        for count, limit in enumerate((0, 60), 1):
            start = time.time()
            session = rpc.connect("127.0.0.1", server.port,
                                  session_timeout=limit)
            try:
                while time.time() < start + 20:
                    session.get_function("refused.attempt")("own signal", "")
                    time.sleep(0.05)
                ended = None
            except Exception as error:
                ended = str(error)
            seconds = time.time() - start
            tap.ok(ended and 0.9 < seconds < 5,
                   f"--max-time 1 ends a session of {limit or 'any number of'} "
                   "seconds", (seconds, ended))
            tap.ok(ended and "--max-time" in ended
                   and "session_timeout" not in ended
                   and server.says("its time is over (--max-time)", count),
                   "the error and the log name --max-time",
                   (ended, server.lines))
            del session
            gc.collect()
    finally:
        server.stop()
    server = Server(program, "--max-time", "60", "--load", functions)
    try:
        session = rpc.connect("127.0.0.1", server.port, session_timeout=1)
        time.sleep(1.2)
        try:
            ended = session.get_function("refused.attempt")("own signal", "")
        except Exception as error:
            ended = str(error)
        tap.ok('"session_timeout"' in str(ended)
               and "--max-time" not in str(ended),
               "the client's own limit is session_timeout", ended)
        del session
        gc.collect()
    finally:
        server.stop()
    with Session(program, functions, "--max-time", "0") as s:
        time.sleep(1.2)
        tap.ok(s.attempt("own signal", "") == 0, "--max-time 0 is no limit")


def check_command_line(tap, program):
    for args in (["--confine", "maybe"], ["--allow", "relative"],
                 ["--allow", "/nonexistent"], ["--allow", "/nonexistent:ro"],
                 ["--max-memory", "-1"], ["--max-threads", "x"],
                 ["--max-time", "-1"], ["--max-disk", "-1"],
                 ["--sessions", "0"],
                 ["--sessions", "1000"]):
        ended = subprocess.run([program, "--port", "0", *args], timeout=20,
                               capture_output=True, text=True)
        tap.ok(ended.returncode == 2 and args[1].split(":")[0]
               in ended.stderr,
               f"{' '.join(args)} is an error", ended)
    server = Server(program, "--confine", "no")
    server.stop()
    tap.ok("not confined: by --confine no" in "".join(server.lines),
           "the server says that sessions are not confined", server.lines)


def check_sessions(tap, program, functions):
    """--sessions 2: two clients at once, each with files of its own; a third
    one waits."""
    server = Server(program, "--sessions", "2", "--load", functions)
    try:
        one = rpc.connect("127.0.0.1", server.port)
        two = rpc.connect("127.0.0.1", server.port)
        one.upload(bytearray(b"1"), "file")
        two.upload(bytearray(b"2"), "file")
        got = bytes(one.download("file")), bytes(two.download("file"))
        tap.ok(got == (b"1", b"2"), "two sessions at once", got)
        tap.ok(len(server.children()) == 2, "each has a process",
               server.children())
        code = ("import sys; from tvm import rpc; "
                "rpc.connect('127.0.0.1', int(sys.argv[1]))"
                ".get_function('refused.attempt')('own signal', '')")
        third = subprocess.Popen([sys.executable, "-c", code,
                                  str(server.port)])
        try:
            early = third.wait(5)
        except subprocess.TimeoutExpired:
            early = None
        tap.ok(early is None, "a third client waits", early)
        waits = server.next_said("a client waits until a session ends: 127.")
        tap.ok(waits, "the log says so", server.lines)
        name = waits.split()[-1]
        time.sleep(0.5)
        del one
        gc.collect()
        try:
            late = third.wait(60)
        except subprocess.TimeoutExpired:
            third.kill()
            late = None
        tap.ok(late == 0, "until a session has ended", late)
        begins = server.next_said(f" begins: {name}, after a wait of ")
        tap.ok(float(begins.split()[-2] if begins else 0) >= 0.5 and
               "".join(server.lines).count("wait") == 2,
               "and how long, for no other client", server.lines)
        tap.ok(bytes(two.download("file")) == b"2", "the other one goes on")
        del two
        gc.collect()
        tap.ok(server.stop() == 0, "the server ends cleanly", server.lines)
    finally:
        server.stop()


def check_silent(tap, program, functions):
    """A function that fails without an error does not end the session."""
    with Session(program, functions) as s:
        try:
            s.remote.get_function("refused.silent")()
            said = None
        except tvm.error.RPCError as error:
            said = str(error)
        tap.ok(said is not None and s.attempt("read", "/etc/passwd") in REFUSED,
               "a function that fails without an error", said)


def check_hidden(tap, program, functions):
    """Files in a folder that cannot be read count as too many, and such folders
    and deep ones are removed. As no root: root reads every folder."""
    user = {} if os.geteuid() else {"user": 65534, "group": 65534,
                                    "extra_groups": []}
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o777)
        user["env"] = {**os.environ, "TMPDIR": top}
        user["preexec_fn"] = lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (300, 300))
        with Session(program, functions, "--max-disk", "1", **user) as s:
            code = s.attempt("hide", "hidden")
            ended = s.server.next_said("--max-disk limits it")
        tap.ok(code == 0 and ended, "a file in a folder that cannot be read",
               (code, s.server.lines))
        with Session(program, functions, **user) as s:
            code = s.attempt("deepen", "1000")
            made = os.listdir(top)
        tap.ok(code == 0 and made and not os.listdir(top),
               "1000 folders in each other are removed, and hidden ones",
               (code, made, os.listdir(top)))


def check_orphans(tap, program):
    """A server that is the parent of what sessions leave, as in a container,
    waits for it."""
    subreaper = 36  # PR_SET_CHILD_SUBREAPER, which execve keeps
    server = Server(program, preexec_fn=lambda: ctypes.CDLL(None).prctl(
        subreaper, 1))
    try:
        for _ in range(3):
            rpc.connect("127.0.0.1", server.port)
            gc.collect()
        server.says("has ended after", 3)
        until = time.time() + 20
        while server.children() and time.time() < until:
            time.sleep(0.05)
        tap.ok(not server.children(), "a server waits for orphans",
               server.children())
    finally:
        server.stop()


def check_kill(tap, program, functions, folder):
    """A killed server's confined session leaves no folder, by its helper."""
    before = set(folder.iterdir())
    s = Session(program, functions)
    s.remote.upload(bytearray(b"x"), "left")
    made = set(folder.iterdir()) - before
    s.server.stop(signal.SIGKILL)
    until = time.time() + 30
    while set(folder.iterdir()) != before and time.time() < until:
        time.sleep(0.05)
    left = set(folder.iterdir()) - before
    tap.ok(made and not left, "a killed server leaves no folder", left)
    s.remote = s.attempt = None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--functions", required=True)
    args = parser.parse_args()
    program, functions = map(os.path.abspath, (args.server, args.functions))
    tap = Tap()
    check_command_line(tap, program)
    with tempfile.TemporaryDirectory() as top:
        base, folder = Path(top, "base"), Path(top, "outside")
        base.mkdir()
        folder.mkdir()
        os.environ["TMPDIR"] = str(base)
        check_sessions(tap, program, functions)
        lack = subprocess.run([program, "--confine", "yes", "0", "999"],
                              capture_output=True, text=True).stderr
        if "cannot confine" in lack:
            tap.skip("confined sessions", lack)
            return tap.done()
        check_refusals(tap, program, functions, folder)
        check_other_machine(tap, program, functions)
        check_allow(tap, program, functions, folder)
        check_hints(tap, program, functions)
        check_silent(tap, program, functions)
        check_memory_hints(tap, program, functions, folder)
        check_linker(tap, program, functions, folder)
        check_limits(tap, program, functions)
        check_disk(tap, program, functions)
        check_time(tap, program, functions)
        check_hidden(tap, program, functions)
        check_orphans(tap, program)
        check_kill(tap, program, functions, base)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
