#!/usr/bin/env python3
"""The files of docs/rpc.md's page on deployment: rpc/health.sh, the systemd
unit and the container file.

    rpc_deployed.py --server TVMFFI_RPC --functions RPC_REFUSED

systemd-analyze checks the unit, and Debian's systemd starts it in a machine of
qemu's, where a client on this machine calls the servers. No registry here has
the container's base, so the test applies the file's steps by hand. The Python
that runs this has what requirements-tvm.txt names.
"""

import argparse
import gc
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
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
    from rpc_confined import refused_calls
except (ImportError, SystemExit) as missing:
    tap = Tap()
    tap.skip("RPC servers deployed", missing)
    sys.exit(tap.done())

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
    server.process.send_signal(signal.SIGUSR1)
    server.next_said("no other client is accepted")
    tap.ok(health(server.port) == 1 and len(server.children()) == 1,
           "health.sh: not after SIGUSR1, though the session goes on")
    del session
    gc.collect()
    server.stop()
    tap.ok("refused" not in "".join(server.lines),
           "health.sh: no line of the log", server.lines)
    tap.ok(health(server.port) == health(server.port, "sh") == 1,
           "health.sh: a server that has ended")


def runs_kernel(port, folder, name="kernel.o", **connect):
    """Whether a client's object, or library, is linked, loaded and run."""
    a = te.placeholder((8,), dtype="float32", name="a")
    b = te.compute((8,), lambda i: a[i] + 1, name="b")
    kernel = tvm.compile(te.create_prim_func([a, b]), target="llvm")
    kernel.mod.write_to_file(str(folder / "kernel.o"))
    kernel.export_library(str(folder / "kernel.so"))
    session = rpc.connect("127.0.0.1", port, **connect)
    session.upload(str(folder / name))
    module = session.load_module(name)
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


# -- the unit in a machine of its own -------------------------------------

NEEDED = ["systemctl", "busybox", "cpio", "dpkg-query", "qemu-system-x86_64"]
PROGRAMS = """bash busybox mount umount taskset timeout systemctl journalctl
systemd-analyze /lib/systemd/systemd""".split()
SECONDS = 240  # that the boot may take
INIT = """#!/usr/bin/busybox sh
alias b=/usr/bin/busybox
b mount -t devtmpfs dev /dev
b mount -t proc proc /proc
b insmod /e1000.ko
b ip addr add 10.0.2.15/24 dev eth0
b ip link set eth0 up
b umount /proc
b mount -t tmpfs -o mode=755 root /new
b cp -a /bin /sbin /lib /lib64 /usr /etc /new
b mkdir /new/proc /new/sys /new/dev /new/run /new/var /new/root /new/home
b mkdir -m 1777 /new/tmp
b mount --move /dev /new/dev
exec /usr/bin/busybox switch_root /new /lib/systemd/systemd
"""
# What systemd says goes to the console, a section for each line with "==".
PROBE = r"""echo == restart
systemctl kill -s KILL tvmffi-rpc@board
until [ "$(systemctl show -P NRestarts -P ActiveState tvmffi-rpc@board)" = \
  $'1\nactive' ]
do busybox sleep 0.5; done
systemctl is-active tvmffi-rpc@board tvmffi-rpc@open
echo == mistake
systemctl start tvmffi-rpc@wrong || echo "start: $?"
busybox sleep 3
systemctl show -P ActiveState -P NRestarts tvmffi-rpc@wrong
echo == journal
journalctl --no-pager -o cat -u tvmffi-rpc@board -u tvmffi-rpc@wrong
echo == verify
systemd-analyze verify --man=no tvmffi-rpc@board.service; echo "verify: $?"
echo == security
systemd-analyze security --no-pager tvmffi-rpc@board
echo == health
/usr/local/bin/health.sh; echo "health: $?"
echo == end
"""
PROBE_UNIT = """[Unit]
After=tvmffi-rpc@board.service tvmffi-rpc@open.service
[Service]
Type=oneshot
ExecStart=/bin/bash /etc/probe
StandardOutput=file:/dev/ttyS0
StandardError=file:/dev/ttyS0
"""
SERVERS = {"board": "--host 0.0.0.0 --key board --max-disk 64\nCPUS=0",
           "open": "--host 0.0.0.0 --port 9091 --confine no --load /etc/f.so",
           "wrong": "--port 9092 --wrong 1"}


def find_kernel(cache):
    """Debian's kernel and its module of qemu's network card; asks apt for the
    package the first time."""
    found = [cache / "vmlinuz", cache / "e1000.ko"]
    if not all(path.exists() for path in found):
        cache.mkdir(parents=True, exist_ok=True)
        depends = subprocess.run(["apt-cache", "depends", "linux-image-amd64"],
                                 capture_output=True, text=True).stdout
        for name in re.findall(r"Depends: (linux-image-\S+)", depends)[:1]:
            subprocess.run(["apt-get", "download", name], cwd=cache,
                           capture_output=True)
        for package in cache.glob("*.deb"):
            with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package],
                                  stdout=subprocess.PIPE) as packed, \
                    tarfile.open(fileobj=packed.stdout, mode="r|") as files:
                for file in files:
                    for path in found:
                        if re.search(rf"/{path.name}(-[^/]*)?$", file.name):
                            path.write_bytes(files.extractfile(file).read())
            package.unlink()
    return found if all(path.exists() for path in found) else None


def with_parents(paths):
    """The names of files below /, behind those of their folders and with those
    to which they are links."""
    names, paths = set(), [Path(path) for path in paths]
    while paths:
        path = paths.pop()
        path = path.parent.resolve() / path.name
        if path.is_symlink():
            paths.append(path.parent / path.readlink())
        names |= {str(p)[1:] for p in (path, *path.parents)}
    return sorted(names - {""})


def systems_files(*programs):
    """Debian's package of systemd, and programs with their libraries."""
    package = subprocess.run(["dpkg-query", "-L", "systemd"], text=True,
                             capture_output=True).stdout.split("\n")
    files = [path for path in package if os.path.isfile(path)
             and not path.startswith("/usr/share")]
    files += [shutil.which(program) for program in programs]
    needed = subprocess.run(["ldd", *files], capture_output=True,
                            text=True).stdout
    return [*files, *re.findall(r"(/\S+) \(0x", needed),
            "/bin", "/sbin", "/lib", "/lib64"]


def make_root(folder, program, functions, module):
    """The files of the test, in a folder."""
    units, folders = folder / "etc/systemd/system", ("etc/tvmffi-rpc", "new",
                                                     "dev", "proc", "usr/local/bin")
    wants = units / "multi-user.target.wants"
    for path in (wants, *(folder / name for name in folders)):
        path.mkdir(parents=True)
    for source, target in ((program, "usr/local/bin/tvmffi-rpc"),
                           (ROOT / "rpc/health.sh", "usr/local/bin/health.sh"),
                           (functions, "etc/f.so"), (module, "e1000.ko"),
                           (UNIT, units / UNIT.name)):
        shutil.copy(source, folder / target)
    for path, text in (
            ("init", INIT), ("etc/probe", PROBE), ("etc/machine-id", "1" * 32),
            ("etc/passwd", "root:x:0:0::/root:/bin/bash\n"),
            ("etc/group", "root:x:0:\n"), ("etc/shadow", "root:*::::::\n"),
            (units / "probe.service", PROBE_UNIT),
            *((f"etc/tvmffi-rpc/{name}.conf",
               f"OPTIONS=--port 9090 {options}\n")
              for name, options in SERVERS.items())):
        (folder / path).write_text(text)
    (folder / "init").chmod(0o755)
    (folder / "etc/shadow").chmod(0o600)
    for name, unit in (("probe.service", "probe.service"),
                       ("tvmffi-rpc@board.service", UNIT.name),
                       ("tvmffi-rpc@open.service", UNIT.name)):
        (wants / name).symlink_to(f"../{unit}")
    (units / "default.target").symlink_to("/lib/systemd/system/multi-user.target")


def boot(image, initramfs, log, ports):
    """Boots, and returns the machine when the log says that it is ready."""
    card = ",".join(["user", "model=e1000"] + [
        f"hostfwd=tcp:127.0.0.1:{here}-:{there}" for here, there in ports])
    with log.open("wb") as file:
        machine = subprocess.Popen(
            ["qemu-system-x86_64", "-cpu", "max", "-smp", "2", "-m", "1024",
             "-accel", "tcg,thread=multi", "-nographic",
             "-monitor", "none", "-no-reboot", "-nic", card, "-kernel", image,
             "-initrd", initramfs, "-append", "console=ttyS0 quiet panic=-1 "
             "no_timer_check net.ifnames=0 systemd.show_status=0"],
            stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
    until = time.time() + SECONDS
    while machine.poll() is None and time.time() < until \
            and b"== end" not in log.read_bytes():
        time.sleep(0.2)
    return machine


def check_said(tap, log):
    """What systemd says of the unit."""
    said = dict(re.findall(r"^== (\w+)\n(.*?)(?=^==)", log, re.M | re.S))
    for name, wanted in (
            ("restart", r"^active\nactive\n$"),
            ("mistake", r"start: 1\n0\nfailed\n$"),
            ("journal", r"(?m)^tvmffi-rpc\[\d+\]: error: there is no option --wr"),
            ("journal", r"(?m)^tvmffi-rpc\[\d+\]: sessions are confined by "),
            ("verify", r"^verify: 0\n$"), ("health", r"^health: 0\n$")):
        tap.ok(re.search(wanted, said.get(name, "")),
               f"systemd runs the unit: {name}", said.get(name, log[-3000:]))
    score = re.search(r"exposure level for \S+: ([\d.]+)",
                      said.get("security", ""))
    tap.ok(score and float(score[1]) <= 1.5,
           "systemd's score of exposure is at most 1.5 of 10", score)


def check_sessions(tap, board, anyone, folder):
    """Sessions run kernels, and what the unit forbids is forbidden, shown
    without the sessions' own confinement."""
    tap.ok(health(board) == health(anyone) == 0, "the servers answer")
    tap.ok(runs_kernel(board, folder, "kernel.so", key="board"),
           "under systemd, a session runs a kernel")
    session = rpc.connect("127.0.0.1", anyone)
    attempt = session.get_function("refused.attempt")
    numbers = refused_calls()
    calls = ("mount", "bpf", "perf_event_open", "kcmp", "unshare", "settimeofday")
    tries = [("create", "/usr/x"), ("create", "/etc/x"), ("create", "/var/x"),
             ("create", "/dev/shm/x"), ("list", "/root"), ("list", "/home"),
             ("read", "/etc/shadow"), ("read", "/dev/ttyS0"),
             ("read", "/proc/1/status"), ("socket", "16"), ("socket", "17"),
             ("write", "/proc/sys/kernel/hostname"), ("privilege", ""),
             ("threads", "3000"), *(("call", numbers[c]) for c in calls)]
    allowed = [attempt(*t) for t in (("create", "/tmp/x"), ("threads", "100"),
                                     ("socket", "2"))]
    got = {}
    for t in tries:
        try:
            got[t] = attempt(*t)
        except Exception as error:  # the session has ended
            got[t] = str(error)
    tap.ok(all(isinstance(code, int) and code > 0 for code in got.values()),
           "what the unit forbids is an error", got)
    tap.ok(allowed == [0, 0, 0], "and nothing else is", allowed)


def check_machine(tap, program, functions, folder):
    """The unit, started by Debian's systemd on Debian's kernel, in qemu."""
    missing = [name for name in NEEDED if not shutil.which(name)]
    kernel = None if missing else find_kernel(ROOT / "build/machine")
    if not kernel:
        tap.skip("the unit in a machine", f"no {missing or 'kernel of Debian'}")
        return
    image, module = kernel
    make_root(folder / "root", program, functions, module)
    with (folder / "initramfs").open("wb") as file:
        for top, names in (
                ("/", with_parents(systems_files(*PROGRAMS, program))),
                (folder / "root", sorted(str(p.relative_to(folder / "root"))
                                         for p in (folder / "root").rglob("*")))):
            subprocess.run(["cpio", "-o", "-H", "newc", "-R", "0:0", "--quiet"],
                           cwd=top, input="\n".join(names).encode(),
                           stdout=file, check=True)
    ports = [(client.free_port(), 9090), (client.free_port(), 9091)]
    log = folder / "log"
    machine = boot(image, folder / "initramfs", log, ports)
    try:
        said = log.read_text(errors="replace").replace("\r", "")
        check_said(tap, said)
        if "== end" in said:
            check_sessions(tap, ports[0][0], ports[1][0], folder)
    finally:
        machine.kill()
        machine.wait()


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
    script += ["unset TMPDIR", "exec setpriv --no-new-privs chroot "
               f"--userspec={user} {root} {' '.join(command)} \"$@\""]
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
                  lambda f: check_machine(tap, program, functions, f),
                  lambda f: check_noexec(tap, program, f),
                  lambda f: check_container(tap, f)):
        with tempfile.TemporaryDirectory(dir=where) as folder:
            check(Path(folder))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
