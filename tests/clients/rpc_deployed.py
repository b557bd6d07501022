#!/usr/bin/env python3
"""The files of docs/rpc.md's page on deployment: rpc/health.sh, the systemd
unit and the container file.

    rpc_deployed.py --server TVMFFI_RPC --functions RPC_REFUSED

systemd-analyze checks the unit. Here no manager starts it, and no registry has
the container's base, so the test applies by hand what they would: users,
mounts, system calls and steps. The Python that runs this has what requirements-tvm.txt
names.
"""

import argparse
import configparser
import gc
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
UNIT = ROOT / "rpc/tvmffi-rpc@.service"
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE))
from tap import Tap  # noqa: E402

try:
    import numpy as np
    import tvm
    from tvm import rpc, te
    import rpc_client as client
except (ImportError, SystemExit) as missing:
    tap = Tap()
    tap.skip("RPC servers deployed", missing)
    sys.exit(tap.done())

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def health(port, *before):
    return subprocess.run([*before, str(ROOT / "rpc/health.sh"), "127.0.0.1",
                           str(port)], capture_output=True).returncode


def check_health(tap, program):
    server = client.Server(program)
    tap.ok(health(server.port) == 0, "health.sh: a server answers")
    tap.ok(health(server.port, "sh") == 0, "health.sh: also by `sh`")
    session = rpc.connect("127.0.0.1", server.port)
    tap.ok(health(server.port) == 0 and len(server.children()) == 1,
           "health.sh: also during a session, which goes on")
    del session
    gc.collect()
    server.stop()
    tap.ok("refused" not in "".join(server.lines),
           "health.sh: no line of the log", server.lines)
    tap.ok(health(server.port) == health(server.port, "sh") == 1,
           "health.sh: a server that has ended")


def runs_kernel(port, folder, **connect):
    """Whether a client's object is linked, loaded and run."""
    a = te.placeholder((8,), dtype="float32", name="a")
    b = te.compute((8,), lambda i: a[i] + 1, name="b")
    kernel = tvm.compile(te.create_prim_func([a, b]), target="llvm")
    kernel.mod.write_to_file(str(folder / "kernel.o"))
    session = rpc.connect("127.0.0.1", port, **connect)
    session.upload(str(folder / "kernel.o"))
    module = session.load_module("kernel.o")
    x = tvm.runtime.tensor(np.arange(8, dtype="float32"), session.cpu())
    y = tvm.runtime.empty((8,), "float32", session.cpu())
    module["main"](x, y)
    good = (y.numpy() == np.arange(8) + 1).all()
    del module, x, y, session
    gc.collect()
    return bool(good)


# -- the unit -------------------------------------------------------------

def exposure(text, folder):
    """systemd's score from 0, nothing is exposed, to 10."""
    path = folder / "tvmffi-rpc@x.service"
    path.write_text(text)
    shown = subprocess.run(["systemd-analyze", "security", "--offline=yes",
                            "--no-pager", path], capture_output=True,
                           text=True).stdout
    return float(re.search(r"exposure level for \S+: ([\d.]+)", shown)[1])


def check_unit(tap, program, folder):
    if not shutil.which("systemd-analyze"):
        tap.skip("the unit", "there is no systemd-analyze")
        return
    text = UNIT.read_text().replace("/usr/local/bin/tvmffi-rpc", program)
    path = folder / "tvmffi-rpc@x.service"
    path.write_text(text)
    ended = subprocess.run(["systemd-analyze", "verify", "--man=no", path],
                           capture_output=True, text=True)
    tap.ok(ended.returncode == 0 and not ended.stderr,
           "systemd-analyze verifies the unit", ended)
    path.write_text(text.replace("ProtectHome=yes", "ProtectHome=perhaps"))
    ended = subprocess.run(["systemd-analyze", "verify", "--man=no", path],
                           capture_output=True, text=True)
    tap.ok("protect home" in ended.stderr, "a wrong line is found", ended)
    good = exposure(text, folder)
    bad = exposure(text.replace("SystemCallFilter", "#"), folder)
    tap.ok(good <= 2 < bad, "the unit's exposure is at most 2 of 10",
           (good, bad))


def check_ready(tap, program, folder):
    """A server of Type=notify tells its manager when clients can connect, on a
    path or on an abstract name."""
    for path in (str(folder / "notify"), f"@tvmffi-rpc-{os.getpid()}"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path.replace("@", "\0"))
            manager.settimeout(20)
            server = client.Server(program, env={**os.environ,
                                                 "NOTIFY_SOCKET": path})
            try:
                said = manager.recv(100)
            except TimeoutError as error:
                said = error
            server.stop()
            tap.ok(said == b"READY=1", "the server says that it is ready", said)


def system_calls(groups):
    """The names of a SystemCallFilter."""
    names = set()
    for group in groups:
        if not group.startswith("@"):
            names.add(group)
            continue
        listed = subprocess.run(["systemd-analyze", "syscall-filter", group],
                                capture_output=True, text=True).stdout
        names |= system_calls(line.strip() for line in listed.splitlines()[1:]
                              if line.strip()
                              and not line.strip().startswith("#"))
    return names


def build_filter(names, path):
    """A program that allows the named system calls to another one."""
    allowed = "\n".join(f"#ifdef SYS_{n}\nBPF_JUMP(BPF_JMP|BPF_JEQ|BPF_K, "
                        f"SYS_{n}, 0, 1), BPF_STMT(BPF_RET|BPF_K, "
                        "SECCOMP_RET_ALLOW),\n#endif" for n in sorted(names))
    source = path.with_suffix(".c")
    source.write_text(
        "#include <errno.h>\n#include <linux/filter.h>\n"
        "#include <linux/seccomp.h>\n#include <stddef.h>\n"
        "#include <sys/prctl.h>\n#include <sys/syscall.h>\n"
        "#include <unistd.h>\nstatic struct sock_filter code[] = {\n"
        "BPF_STMT(BPF_LD|BPF_W|BPF_ABS, offsetof(struct seccomp_data, nr)),\n"
        f"{allowed}\nBPF_STMT(BPF_RET|BPF_K, SECCOMP_RET_ERRNO|EPERM)}};\n"
        "int main(int n, char **v) {\n"
        "struct sock_fprog p = {sizeof(code) / sizeof(*code), code};\n"
        "if (n < 2 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))\n"
        "return 126;\nexecv(v[1], v + 1);\nreturn 127;\n}\n")
    subprocess.run(["cc", "-o", path, source], check=True)


# How to apply each line of the unit by hand, or why not.
BY_HAND = {
    "DynamicUser": NOBODY,
    "NoNewPrivileges": ["--no-new-privs"],
    "CapabilityBoundingSet": ["--bounding-set=-all"],
    "PrivateTmp": "mount -n -t tmpfs -o mode=1777 tmp /tmp",
    "ProtectHome": "for d in /home /root; do mount -n -t tmpfs -o mode=0 t $d; "
                   "done",
    "PrivateDevices": "mount -n -t tmpfs -o mode=755 dev /mnt && "
                      "for d in null zero full random urandom; do "
                      "touch /mnt/$d && mount -n --bind /dev/$d /mnt/$d; done && "
                      "mount -n --move /mnt /dev",
    "ProtectSystem": "mount -n -o remount,bind,ro /",
    "ProtectKernelTunables": "mount -n --bind /proc/sys /proc/sys; "
                             "mount -n -o remount,bind,ro /proc/sys",
    "ProtectControlGroups": "mount -n -o remount,bind,ro /sys",
    "SystemCallFilter": None,  # build_filter
    "UMask": "umask 0077",
    "MemoryMax": None, "TasksMax": None,  # of control groups
    "Restart": None, "RestartSec": None, "RestartPreventExitStatus": None,
    "EnvironmentFile": None, "SyslogIdentifier": None,
    "Type": None,  # check_ready
    "ExecStart": None,
}
# What the filter or dropped capabilities refuse; ProtectProc needs another
# /proc.
BY_OTHERS = {"ProtectProc", "ProtectKernelModules", "ProtectKernelLogs", "ProtectClock",
             "ProtectHostname", "RestrictNamespaces", "RestrictRealtime",
             "RestrictSUIDSGID", "LockPersonality", "RestrictAddressFamilies",
             "SystemCallArchitectures"}


def check_by_hand(tap, program, functions, folder):
    """The server under the unit's restrictions: sessions work, and what the
    unit forbids is forbidden, shown without the sessions' own confinement."""
    if os.geteuid() or not shutil.which("systemd-analyze"):
        tap.skip("the unit's restrictions by hand", "needs root and systemd")
        return
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(UNIT.read_text())
    service = dict(unit["Service"])
    unknown = set(service) - set(BY_HAND) - BY_OTHERS
    tap.ok(not unknown, "each line of the unit is applied", unknown)
    build_filter(system_calls(service["SystemCallFilter"].split()),
                 folder / "filter")
    shutil.copy(program, folder / "server")
    shutil.copy(functions, folder / "functions.so")
    mounts = [BY_HAND[k] for k in ("ProtectKernelTunables",
                                   "ProtectControlGroups", "PrivateDevices",
                                   "PrivateTmp", "ProtectHome",
                                   "ProtectSystem", "UMask")
              if k in service]
    words = [w for k in ("DynamicUser", "NoNewPrivileges",
                         "CapabilityBoundingSet") if k in service
             for w in BY_HAND[k]]
    start = folder / "start"
    start.write_text("#!/bin/sh\nset -e\nmount -n --make-rprivate /\n"
                     + "\n".join(mounts) + "\nexport TMPDIR=/tmp\nexec "
                     + " ".join(map(str, [*words, folder / "filter",
                                          "/usr/bin/taskset", "-c", "0",
                                          folder / "server", '"$@"'])) + "\n")
    wrapper = folder / "wrapper"
    wrapper.write_text(f'#!/bin/sh\nexec unshare -m sh {start} "$@"\n')
    for path in (wrapper, folder / "functions.so", folder):
        path.chmod(0o755)
    (folder / "anyone's").mkdir()
    (folder / "anyone's").chmod(0o777)
    load = ["--load", str(folder / "functions.so")]
    server = client.Server(str(wrapper), "--confine", "yes", *load)
    try:
        tap.ok(runs_kernel(server.port, folder),
               "under the unit's restrictions, a session runs a kernel")
    finally:
        server.stop()
    server = client.Server(str(wrapper), "--confine", "no", *load)
    try:
        session = rpc.connect("127.0.0.1", server.port)
        attempt = session.get_function("refused.attempt")
        number = session.get_function("refused.number")
        got = {t: attempt(*t) for t in (
            ("create", f"{folder}/anyone's/x"), ("create", "/usr/x"),
            ("create", "/etc/x"), ("list", "/root"),
            ("read", "/etc/shadow"), ("device", "/dev/ptmx"),
            ("call", str(number("mount"))), ("call", str(number("bpf"))),
            ("privilege", ""))}
        tap.ok(all(got.values()), "what the unit forbids is forbidden", got)
        tap.ok(attempt("create", "/tmp/x") == 0, "/tmp is the server's own")
        del session, attempt, number
        gc.collect()
    finally:
        server.stop()
    tap.ok(not Path("/tmp/x").exists(), "and not the machine's")


def check_noexec(tap, program, folder):
    """A folder from which no library can be loaded is said, to both sides."""
    if os.geteuid():
        tap.skip("a folder that is mounted noexec", "needs root")
        return
    mounted = folder / "noexec"
    mounted.mkdir()
    start = folder / "noexec.sh"
    start.write_text(f"""#!/bin/sh
exec unshare -m sh -c 'mount -n -t tmpfs -o noexec tmp {mounted} &&
  TMPDIR={mounted} exec {program} "$@"' sh "$@"
""")
    start.chmod(0o755)
    server = client.Server(str(start))
    try:
        tap.ok("is mounted noexec" in "".join(server.lines),
               "the log says that the folder is mounted noexec", server.lines)
        try:
            runs_kernel(server.port, folder)
            text = ""
        except Exception as error:
            text = str(error)
        tap.ok("(the server's folder, of TMPDIR or --root, is mounted noexec)"
               in text, "and the client's error", text)
    finally:
        server.stop()


# -- the container --------------------------------------------------------

def steps():
    """(instruction, arguments) of the container file."""
    for line in (ROOT / "rpc/Containerfile").read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split(" ", 1)


def tmpfs_options():
    """Those of the container file's command, after docker's defaults."""
    text = (ROOT / "rpc/Containerfile").read_text()
    return "nosuid,nodev,noexec,mode=1777" + "".join(
        "," + options for options in re.findall(r"--tmpfs /tmp:(\S+)", text))


def check_container(tap, folder):
    """The container file's steps on this machine's Debian: a root of its own,
    in which only the added files can be written."""
    if os.geteuid() or not shutil.which("dpkg-query"):
        tap.skip("the container file by hand", "needs root and Debian")
        return
    root, script, user = folder / "root", ["set -e"], None
    for name in ("usr", "etc", "proc", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    script += ["mount -n --make-rprivate /"]
    script += [f"mount -n --rbind /{n} {root}/{n}"
               for n in ("usr", "etc", "dev")]
    script += [f"mount -n -t proc proc {root}/proc",
               f"mount -n -t tmpfs -o {tmpfs_options()} tmp {root}/tmp",
               f"mount -n -t tmpfs -o mode=755 bin {root}/usr/local/bin"]
    for name, value in steps():
        if name == "RUN" and "apt-get" in value:
            for package in value.split("recommends ")[1].split():
                tap.ok(subprocess.run(["dpkg-query", "-W", package],
                                      capture_output=True).returncode == 0,
                       f"the container's package {package} is there")
        elif name == "RUN":
            script += [f"chroot {root} sh -c '{value}'"]
        elif name == "COPY":
            source, target = value.split()
            to = Path(f"{root}{target}")
            to.parent.mkdir(exist_ok=True)
            if target.endswith("/"):
                to.mkdir(exist_ok=True)
                shutil.copy(ROOT / source, to)
            else:
                shutil.copytree(ROOT / source, to)
        elif name == "USER":
            user = value
        elif name == "HEALTHCHECK":
            check = json.loads(value.split(" ", 1)[1])
        elif name == "ENTRYPOINT":
            command = json.loads(value)
        else:
            tap.ok((name, value) in (
                ("FROM", "docker.io/library/debian:bookworm-slim"),
                ("EXPOSE", "9090")), f"{name} {value} is known")
    script += [f"exec setpriv --no-new-privs chroot --userspec={user} {root} "
               f"{' '.join(command)} \"$@\""]
    start = folder / "container"
    start.write_text("#!/bin/sh\nexec unshare -m sh -c '"
                     + "\n".join(script).replace("'", "'\\''")
                     + "' sh \"$@\"\n")
    start.chmod(0o755)
    server = client.Server(str(start), "--host", "127.0.0.1", "--port", "0",
                           "--key", "board")
    try:
        tap.ok("sessions are confined" in "".join(server.lines),
               "the container's sessions are confined", server.lines)
        inside = ["nsenter", "-t", str(server.process.pid), "-m", "-r"]
        ended = [subprocess.run([*inside, *check, "127.0.0.1", str(port)],
                                capture_output=True).returncode
                 for port in (server.port, client.free_port())]
        tap.ok(ended[0] == 0 and ended[1], "the container's health check",
               ended)
        tap.ok(runs_kernel(server.port, folder, key="board"),
               "a session in the container runs a kernel")
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--functions", required=True)
    args = parser.parse_args()
    program, functions = map(os.path.abspath, (args.server, args.functions))
    tap = Tap()
    where = "/run" if not os.geteuid() else None
    for check in (lambda _: check_health(tap, program),
                  lambda f: check_unit(tap, program, f),
                  lambda f: check_ready(tap, program, f),
                  lambda f: check_by_hand(tap, program, functions, f),
                  lambda f: check_noexec(tap, program, f),
                  lambda f: check_container(tap, f)):
        with tempfile.TemporaryDirectory(dir=where) as folder:
            check(Path(folder))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
