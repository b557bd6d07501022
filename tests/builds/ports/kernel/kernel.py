#!/usr/bin/env python3
"""examples/linux_module: builds the two modules, one that has many kernel
threads use the runtime at once, and two of which one keeps the functions of the
other, boots a kernel on two processors under
qemu with an initramfs of busybox that loads and unloads them, and reads the
log. Writes TAP.

The kernel's image is that of --image, of /boot, or comes from the package of
the headers' version, which is kept in --cache."""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
EXAMPLE = ROOT / "examples" / "linux_module"
HERE = Path(__file__).resolve().parent
TESTS = ["ffi_contend", "ffi_holder", "ffi_guest"]
sys.path.insert(0, str(ROOT / "tests/tools"))
from tap import Tap  # noqa: E402

NEEDED = ["make", "qemu-system-x86_64", "busybox", "cpio"]
SECONDS = 240  # that the boot may take
MODULES = ["ffi_provider", "ffi_consumer", *TESTS]
INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
call() { echo $1 > /sys/module/ffi_holder/parameters/call; }
/bin/busybox insmod /ffi_consumer.ko; echo "consumer alone: $?"
/bin/busybox insmod /ffi_provider.ko; echo "insmod provider: $?"
/bin/busybox insmod /ffi_consumer.ko; echo "insmod consumer: $?"
/bin/busybox rmmod ffi_provider; echo "rmmod provider in use: $?"
/bin/busybox rmmod ffi_consumer; echo "rmmod consumer: $?"
/bin/busybox insmod /ffi_contend.ko; echo "insmod contend: $?"
/bin/busybox rmmod ffi_contend; echo "rmmod contend: $?"
/bin/busybox insmod /ffi_holder.ko; echo "insmod holder: $?"
/bin/busybox insmod /ffi_guest.ko; echo "insmod guest: $?"
call guest.twice
call held
call slow
/bin/busybox sleep 1
/bin/busybox rmmod ffi_guest; echo "rmmod guest in a call: $?"
/bin/busybox sleep 4
/bin/busybox rmmod ffi_guest; echo "rmmod guest: $?"
call guest.twice
call held
/bin/busybox insmod /ffi_guest.ko; echo "insmod guest again: $?"
call guest.twice
call held
/bin/busybox rmmod ffi_guest; echo "rmmod guest again: $?"
/bin/busybox insmod /ffi_guest.ko fail=1; echo "insmod guest, failing: $?"
call held
/bin/busybox rmmod ffi_holder; echo "rmmod holder: $?"
/bin/busybox rmmod ffi_provider; echo "rmmod provider: $?"
echo "the end"
/bin/busybox poweroff -f
"""
EXPECTED = [
    "consumer alone: 2",
    "provider: 40 + 2 = 42, on Linux ",
    "insmod provider: 0",
    "consumer: kernel.add(2, 3) = 5",
    "consumer: kernel.divide(1, 0): ValueError: 1 is divided by zero",
    'consumer: kernel.add(2, "three"): TypeError: Mismatched type on argument '
    "#1 when calling: `kernel.add(0: int, 1: int) -> int`. Expected `int` but "
    "got `const char*`",
    "consumer: kernel.missing(1): ValueError: Function kernel.missing not found",
    "consumer: 100000 calls give 4999950000",
    "consumer: consumer.twice(21) = 42",
    "insmod consumer: 0",
    "rmmod provider in use: 1",
    "rmmod consumer: 0",
    "contend: on 1 and 1 of 2 CPUs",
    "contend: 8 threads: 32000 calls, 32000 errors, 64000 functions made, "
    "64000 freed, 1 of the shared object",
    "insmod contend: 0",
    "rmmod contend: 0",
    "insmod holder: 0",
    "insmod guest: 0",
    "holder: guest.twice: 42",
    "holder: held: 121",
    "rmmod guest in a call: 1",
    "holder: slow: 63",
    "guest: the state 100 is freed",
    "rmmod guest: 0",
    "holder: guest.twice: ValueError: Function guest.twice not found",
    "holder: held: RuntimeError: The function's module is unloaded",
    "insmod guest again: 0",
    "holder: guest.twice: 42",
    "holder: held: 121",
    "guest: the state 100 is freed",
    "rmmod guest again: 0",
    "guest: the state 100 is freed",
    "insmod guest, failing: 22",
    "holder: held: RuntimeError: The function's module is unloaded",
    "rmmod holder: 0",
    "ffi: the runtime ends, with ",
    "rmmod provider: 0",
    "the end",
]
BAD = re.compile(r"BUG:|Oops|WARNING: CPU|Call Trace|general protection|"
                 r"Kernel panic|stack-protector")


def find_headers():
    """The folder of a kernel's headers to build with, and its version."""
    for path in sorted(Path("/usr/src").glob("linux-headers-*-amd64")):
        if (path / "Makefile").exists():
            return path, path.name[len("linux-headers-"):]
    return None, None


def find_image(args, version):
    """The image of that version; asks apt for its package the first time."""
    if args.image:
        return Path(args.image)
    name = f"boot/vmlinuz-{version}"
    if (Path("/") / name).exists():
        return Path("/") / name
    cache = Path(args.cache)
    if not (cache / name).exists():
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", f"linux-image-{version}"],
                       cwd=cache, capture_output=True, check=False)
        for package in cache.glob("linux-image-*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, cache], check=True)
            package.unlink()
        shutil.rmtree(cache / "lib", ignore_errors=True)
    return cache / name if (cache / name).exists() else None


def make_initramfs(folder):
    root = folder / "root"
    for name in ("bin", "proc", "dev", "sys"):
        (root / name).mkdir(parents=True)
    shutil.copy2(shutil.which("busybox"), root / "bin" / "busybox")
    for module in MODULES:
        shutil.copy2(folder / "module" / (module + ".ko"), root)
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)
    output = folder / "initramfs"
    names = "\n".join(str(p.relative_to(root)) for p in root.rglob("*"))
    with output.open("wb") as file:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root,
                       input=names.encode(), stdout=file, check=True)
    return output


def boot(folder, image, initramfs):
    """Boots, and gives the log when it says that it ends, or time is up."""
    log = folder / "log"
    with log.open("wb") as file:
        machine = subprocess.Popen(
            ["qemu-system-x86_64", "-smp", "2", "-m", "256",
             "-accel", "tcg,thread=multi",  # or the two take turns
             "-nographic", "-monitor", "none", "-no-reboot", "-kernel", image,
             "-initrd", initramfs, "-append",
             "console=ttyS0 loglevel=7 panic=-1"],
            stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
    end = time.monotonic() + SECONDS
    try:
        while machine.poll() is None and time.monotonic() < end:
            time.sleep(0.2)
    finally:
        machine.kill()
        machine.wait()
    return log.read_text(errors="replace").replace("\r", "")


def check_log(tap, log):
    tail = "\n".join(log.splitlines()[-40:])
    # The kernel's lines may overtake those of the script, which go through a
    # terminal, so each of the two has its own order.
    at = {True: 0, False: 0}
    for line in EXPECTED:
        is_script = line.startswith(("insmod", "rmmod", "the end"))
        found = log.find(line, at[is_script])
        tap.ok(found >= 0, "the log, in order: " + line.strip()[:60], tail)
        at[is_script] = max(found, at[is_script])
    bad = BAD.findall(log)
    tap.ok(not bad, "no complaint of the kernel", bad)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--image", help="a kernel of the headers' version")
    parser.add_argument("--cache", default=str(ROOT / "build" / "kernel"))
    args = parser.parse_args()
    tap = Tap()
    headers, version = find_headers()
    missing = [n for n in NEEDED if not shutil.which(n)]
    if not headers:
        missing.append("linux-headers-amd64")
    image = None if missing else find_image(args, version)
    if not missing and not image:
        missing.append(f"linux-image-{version}")
    if missing:
        tap.skip("kernel modules", "no " + " ".join(missing))
        return tap.done()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(EXAMPLE, folder / "module")
        for test in TESTS:
            shutil.copy2(HERE / (test + ".c"), folder / "module")
        with (folder / "module" / "Makefile").open("a") as makefile:
            makefile.write("".join(f"obj-m += {test}.o\n" for test in TESTS))
        done = subprocess.run(
            ["make", "-C", folder / "module", f"KDIR={headers}",
             f"FFI_HEADER={ROOT}"], capture_output=True, text=True)
        if not tap.ok(done.returncode == 0 and "warning" not in done.stderr,
                      "builds without a warning",
                      done.stdout[-2000:] + done.stderr[-4000:]):
            return tap.done()
        check_log(tap, boot(folder, image, make_initramfs(folder)))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
