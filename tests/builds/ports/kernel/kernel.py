#!/usr/bin/env python3
"""examples/linux_module: builds the modules and those of the tests, checks
their size, their stack frames and their style, and mistakes that the compiler
must find, runs sparse if it is installed, boots a kernel on two processors under
qemu with an initramfs of busybox that loads and unloads them, and reads the
log. ffi_contend.c uses the runtime from many kernel threads at once, of
ffi_holder.c and ffi_guest.c one keeps the functions of the other, and
ffi_unit.c has KUnit's cases. Writes TAP.

The kernels are those whose headers are installed: an ordinary one, and one with
CONFIG_PREEMPT_RT. The image is that of /boot, or comes from the package of the
headers' version, which is kept in --cache. With --tree, the kernel is one that
was built by hand, as sanitized.config says, and has KASAN or KCSAN, or the tree
has headers, and --image is the kernel for them."""

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
TESTS = ["ffi_contend", "ffi_holder", "ffi_guest", "ffi_unit"]
sys.path.insert(0, str(ROOT / "tests/tools"))
from tap import Tap  # noqa: E402

NEEDED = ["make", "qemu-system-x86_64", "busybox", "cpio"]
SECONDS = 240  # that the boot may take
BOOTS = 3  # how often a machine may be started
MODULES = ["ffi_provider", "ffi_consumer", "ffi_driver", *TESTS]
INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
exec > /dev/kmsg
call() { echo $1 > /sys/module/ffi_holder/parameters/call; }
/bin/busybox insmod /ffi_consumer.ko; echo "consumer alone: $?"
/bin/busybox insmod /ffi_provider.ko; echo "insmod provider: $?"
/bin/busybox insmod /ffi_consumer.ko; echo "insmod consumer: $?"
/bin/busybox rmmod ffi_provider; echo "rmmod provider in use: $?"
/bin/busybox rmmod ffi_consumer; echo "rmmod consumer: $?"
/bin/busybox mount -t debugfs debugfs /debug
echo N > /debug/failslab/ignore-gfp-wait; echo 0 > /debug/failslab/verbose
/bin/busybox insmod /ffi_unit.ko; echo "insmod unit: $?"
/bin/busybox rmmod ffi_unit; echo "rmmod unit: $?"
/bin/busybox insmod /ffi_contend.ko; echo "insmod contend: $?"
/bin/busybox rmmod ffi_contend; echo "rmmod contend: $?"
/bin/busybox insmod /ffi_holder.ko; echo "insmod holder: $?"
/bin/busybox insmod /ffi_guest.ko; echo "insmod guest: $?"
call guest.twice
call held
call pin
/bin/busybox sed 's/^/debugfs: /' /debug/ffi/functions
/bin/busybox rmmod ffi_guest; echo "rmmod guest, pinned: $?"
call unpin
/bin/busybox insmod /ffi_driver.ko; echo "insmod driver: $?"
call ffi_counter.0.add
call ffi_counter.1.add
call ffi_counter.0.add
/bin/busybox sed -n 's/^ffi_c/debugfs: &/p' /debug/ffi/functions
echo ffi_counter.0 > /sys/bus/platform/drivers/ffi_counter/unbind
call ffi_counter.0.add
echo ffi_counter.0 > /sys/bus/platform/drivers/ffi_counter/bind
call ffi_counter.0.add
/bin/busybox rmmod ffi_driver; echo "rmmod driver: $?"
call ffi_counter.0.add
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
/bin/busybox insmod /ffi_guest.ko cache=1; echo "insmod guest, cache: $?"
call held
/bin/busybox rmmod ffi_guest; echo "rmmod guest, cache: $?"
call held
/bin/busybox insmod /ffi_guest.ko cache=1 fail=1
echo "insmod guest, cache, failing: $?"
call wrong
@wrong@
call right
/bin/busybox rmmod ffi_holder; echo "rmmod holder: $?"
/bin/busybox rmmod ffi_provider; echo "rmmod provider: $?"
@leaks@
echo "the end"
/bin/busybox poweroff -f
"""
EXPECTED = [
    "consumer alone: 2",
    "provider: 40 + 2 = 42, on Linux ",
    "insmod provider: 0",
    "consumer: kernel.add(2, 3) = 5",
    "consumer: kernel.divide(1, 0): -22, ValueError: 1 is divided by zero",
    'consumer: kernel.add(2, "three"): -22, TypeError: Mismatched type on argument '
    "#1 when calling: `kernel.add(0: int, 1: int) -> int`. Expected `int` but "
    "got `const char*`",
    "consumer: kernel.missing: -2",
    "consumer: 100000 calls give 4999950000",
    "consumer: consumer.twice(21) = 42",
    "insmod consumer: 0",
    "rmmod provider in use: 1",
    "rmmod consumer: 0",
    "    ok 1 unit_errors",
    "    ok 2 unit_names",
    "    ok 3 unit_pins",
    "    ok 4 unit_end",
    "    ok 5 unit_busy_end",
    "    ok 6 unit_atomic",
    "    ok 7 unit_tasks",
    "    ok 8 unit_no_memory",
    "    ok 9 unit_priority",
    "    ok 10 unit_deleters",
    "    ok 11 unit_born",
    "    ok 12 unit_blocks",
    "    ok 13 unit_function_end",
    "    ok 14 unit_reclaim",
    "insmod unit: 0",
    "rmmod unit: 0",
    ", and in the end of ",
    "contend: on 1 and 1 of 2 CPUs",
    "contend: 8 threads: 128000 calls, 32000 errors, 64000 functions made, "
    "64000 freed, 1 of the shared object",
    "insmod contend: 0",
    "rmmod contend: 0",
    "insmod holder: 0",
    "insmod guest: 0",
    "holder: guest.twice: 42",
    "holder: held: 121",
    "holder: pin: 0",
    "debugfs: (no name) [ffi_guest] pins 0",
    "debugfs: guest.twice(0: int) -> int [ffi_guest] pins 1",
    "debugfs: kernel.add(0: int, 1: int) -> int [ffi_provider] pins 0 atomic",
    "rmmod guest, pinned: 1",
    "holder: unpin: 0",
    "insmod driver: 0",
    "holder: ffi_counter.0.add: 21",
    "holder: ffi_counter.1.add: 21",
    "holder: ffi_counter.0.add: 42",
    "debugfs: ffi_counter.1.add(0: int) -> int [ffi_driver] pins 0 atomic",
    "debugfs: ffi_counter.0.add(0: int) -> int [ffi_driver] pins 0 atomic",
    "holder: ffi_counter.0.add: error -2",
    "holder: ffi_counter.0.add: 21",
    "rmmod driver: 0",
    "holder: ffi_counter.0.add: error -2",
    "rmmod guest in a call: 1",
    "holder: slow: 63",
    "guest: the state 100 is freed",
    "rmmod guest: 0",
    "holder: guest.twice: error -2",
    "holder: held: error -19",
    "insmod guest again: 0",
    "holder: guest.twice: 42",
    "holder: held: 121",
    "guest: the state 100 is freed",
    "rmmod guest again: 0",
    "guest: the state 100 is freed",
    "insmod guest, failing: 22",
    "holder: held: error -19",
    "insmod guest, cache: 0",
    "holder: held: 121",
    "guest: the state 100 is freed",
    "rmmod guest, cache: 0",
    "holder: held: error -19",
    "guest: the state 100 is freed",
    "insmod guest, cache, failing: 22",
    "rmmod holder: 0",
    "rmmod provider: 0",
    "the end",
]
# What ffi_holder.c does wrong, the kernel's option that reports it, the report.
# Functions that nobody registered mark its begin and its end in the log.
WRONG = [
    ("twice", "", "ffi_put without ffi_get"),
    ("locked", "DEBUG_ATOMIC_SLEEP",
     "sleeping function called from invalid context"),
    ("order", "PROVE_LOCKING", "possible circular locking dependency detected"),
]
# kmemleak reports a block that is older than 5 seconds and that did not change
# between two scans.
LEAKS = """/bin/busybox sleep 6
echo scan > /debug/kmemleak
echo scan > /debug/kmemleak
/bin/busybox cat /debug/kmemleak > /dev/console"""
BAD = re.compile(r"BUG:|Oops|WARNING:|Call Trace|general protection|"
                 r"Kernel panic|stack-protector|UBSAN|Fault injection|not ok|"
                 r"unreferenced object")
SIZE = 71000  # the bytes that the provider may have in memory
PADDING = 10000  # and those that CONFIG_CALL_PADDING adds, since Linux 6.2
FRAME = 512  # and those of the stack that a function may have
# Lines of code, each with what the compiler says about it. A directive comes
# before the headers, other lines are in a function.
MISTAKES = {
    "bits": ('#undef CONFIG_64BIT\n#include "port.h"', "needs a 64-bit kernel"),
    "owner": ('(void)TVMFFI_REGISTER("x", f);', "use ffi_register"),
    "ignored": ('ffi_get("x", out);', "ignoring return value"),
    "text": ("(void)!ffi_register(name, f, 0);", "expected ‘)’"),
    "no_state": ('(void)!ffi_register("x", g, 0);', "mention_g"),
    "state": ("(void)!ffi_closure_new(g, 0, name, NULL, out);",
              "incompatible pointer type"),
    "no_closure": ("(void)!ffi_closure_new(f, 0, name, NULL, out);",
                   "tvmffi_i_closure_f"),
}
# What checkpatch may say, with the reason.
STYLE = {
    "CAMELCASE": "names of the ABI",
    "COMPLEX_MACRO": "TVMFFI_BUILTINS is a list",
    "MACRO_ARG_REUSE": "the same, and FFI_EXPORT",
    "AVOID_EXTERNS": "FFI_EXPORT, for sparse",
    "MULTISTATEMENT_MACRO_USE_DO_WHILE": "FFI_EXPORT, at file scope",
    "MACRO_WITH_FLOW_CONTROL": "the stand-in for kunit_skip",
}


def find_headers():
    """The folders of headers: of an ordinary kernel, and of one with
    CONFIG_PREEMPT_RT."""
    found = {}
    for path in sorted(Path("/usr/src").glob("linux-headers-*-amd64")):
        if (path / "Makefile").exists():
            found.setdefault(is_set(path, "PREEMPT_RT"), path)
    return [found[key] for key in sorted(found)]


def find_image(args, headers):
    """The image for the headers; asks apt for its package the first time."""
    if args.image:
        return Path(args.image)
    if args.tree:
        return headers / "arch/x86/boot/bzImage"
    version = headers.name[len("linux-headers-"):]
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


def is_set(tree, option):
    """Whether the kernel has the option."""
    return f"CONFIG_{option}=y" in (tree / ".config").read_text()


def make_modules(tap, folder, tree):
    """Builds the modules in folder/module."""
    shutil.copytree(EXAMPLE, folder / "module")
    for file in HERE.glob("*.[ch]"):
        shutil.copy2(file, folder / "module")
    with (folder / "module" / "Makefile").open("a") as makefile:
        makefile.write("".join(f"obj-m += {test}.o\n" for test in TESTS))
    done = subprocess.run(
        ["make", "-C", folder / "module", f"KDIR={tree}",
         f"FFI_HEADER={ROOT}", "FFI_FLAGS=-fstack-usage"],
        capture_output=True, text=True)
    return tap.ok(done.returncode == 0 and "warning" not in done.stderr.lower(),
                  f"builds without a warning for {tree.name}",
                  done.stdout[-2000:] + done.stderr[-4000:])


def check_mistakes(tap, folder, tree):
    """Mistakes that the compiler must find."""
    (folder / "wrong").mkdir()
    for name in ("ffi.h", "port.h"):
        shutil.copy2(EXAMPLE / name, folder / "wrong")
    (folder / "wrong" / "Kbuild").write_text(
        "obj-m := $(FILE).o\n"
        f"ccflags-y := -I{ROOT} -I$(src)\n")
    for name, (line, said) in MISTAKES.items():
        first, body = (line, "") if line.startswith("#") else ("", line)
        (folder / "wrong" / f"{name}.c").write_text(
            f'{first}\n#include "ffi.h"\n'
            "TVMFFI_FUNC(f, none) { TVMFFI_RETURN(); }\n"
            "TVMFFI_CLOSURE(g, int, none) { TVMFFI_RETURN(); }\n"
            "void wrong(char *name, TVMFFIObject **out);\n"
            f"void wrong(char *name, TVMFFIObject **out) {{ {body} }}\n")
        done = subprocess.run(
            ["make", "-C", tree, f"M={folder / 'wrong'}", f"FILE={name}",
             f"{name}.o"], capture_output=True, text=True)
        tap.ok(said in done.stderr,
               "the compiler finds: " + line.splitlines()[0], done.stderr)


def check_sparse(tap, folder, tree):
    """Runs sparse, as make C=1 does, but a pointer in tvmffi.h may begin as {0}."""
    if not shutil.which("sparse"):
        return
    done = subprocess.run(
        ["make", "-C", tree, f"M={folder / 'module'}", f"FFI_HEADER={ROOT}",
         "C=2", "CF=-Wno-non-pointer-null", "runtime.o", "provider.o",
         "consumer.o", "driver.o"], capture_output=True, text=True)
    tap.ok(not done.returncode and not done.stderr and
           "CHECK" in done.stdout, "sparse", done.stdout + done.stderr)


def check_size(tap, folder, tree):
    most = SIZE + (PADDING if is_set(tree, "CALL_PADDING") else 0)
    line = subprocess.run(["size", folder / "module" / "ffi_provider.ko"],
                          capture_output=True, text=True, check=True).stdout
    size = int(line.splitlines()[1].split()[3])
    tap.ok(size < most, f"the provider has under {most} bytes", size)


def has_text(tree, header, text):
    """Whether the kernel's header has the text."""
    found = re.search(r"^include (/\S+)/Makefile$",
                      (tree / "Makefile").read_text(), re.MULTILINE)
    source = Path(found[1]) if found else tree
    return text in (source / "include/linux" / header).read_text()


def check_namespace(tap, folder, tree):
    """With a symbol namespace, a module that does not import it is refused.
    Newer kernels take strings."""
    shutil.copytree(EXAMPLE, folder / "named")
    default = ("FFI" if has_text(tree, "export.h",
                                 "stringify(DEFAULT_SYMBOL_NAMESPACE)")
               else "'\"FFI\"'")
    imported = ("FFI" if has_text(tree, "module.h", "__stringify(ns)")
                else '"FFI"')
    for line, status in ("", 2), (f"MODULE_IMPORT_NS({imported});\n", 0):
        for name in ("consumer.c", "driver.c"):
            file = folder / "named" / name
            file.write_text(file.read_text().replace(
                "MODULE_LICENSE", line + "MODULE_LICENSE"))
        done = subprocess.run(
            ["make", "-C", folder / "named", f"KDIR={tree}",
             f"FFI_HEADER={ROOT}",
             f"FFI_FLAGS=-DDEFAULT_SYMBOL_NAMESPACE={default}"],
            capture_output=True, text=True)
        tap.ok(done.returncode == status and
               ("from namespace FFI" in done.stderr) == bool(status),
               "a symbol namespace, imported" if line else
               "a symbol namespace that a module does not import",
               done.stdout[-2000:] + done.stderr[-2000:])


def read_frames(folder):
    """The largest frame of each function of the example, by its name."""
    frames = {}
    for part in ("runtime", "provider", "consumer", "driver"):
        for line in (folder / "module" / (part + ".su")).open():
            where, size, _ = line.split("\t")
            name = where.split(":")[-1].split(".")[0]
            frames[name] = max(frames.get(name, 0), int(size))
    return frames


def check_frames(tap, folder):
    frames = read_frames(folder)
    large = {n: s for n, s in frames.items() if s >= FRAME}
    tap.ok(not large, f"no function has a frame of {FRAME} bytes", large)
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|",
                      (EXAMPLE / "README.md").read_text(), re.MULTILINE)
    wrong = [(name, most, frames.get(name)) for name, most in rows
             if not 0 < frames.get(name, 0) <= int(most)]
    tap.ok(rows and not wrong, "the frames of README.md", wrong)


def check_style(tap, folder, script):
    """Runs checkpatch and kernel-doc, which are in Debian's linux-source."""
    files = [*EXAMPLE.glob("*.[ch]"), EXAMPLE / "Makefile", *HERE.glob("*.[ch]")]
    done = subprocess.run(
        ["perl", script, "--no-tree", "--strict", "--show-types", "--terse",
         "--ignore", ",".join(STYLE), "-f", *files],
        cwd=folder, capture_output=True, text=True)  # it leaves a file there
    said = [line for line in done.stdout.splitlines()
            if re.search(r"(ERROR|WARNING|CHECK):", line)]
    tap.ok(not said and not done.returncode, "checkpatch",
           "\n".join(said) or done.stdout + done.stderr)
    done = subprocess.run(
        [script.with_name("kernel-doc"), "-none", EXAMPLE / "ffi.h"],
        capture_output=True, text=True)
    tap.ok(not done.returncode and not done.stderr, "kernel-doc", done.stderr)


def make_initramfs(folder, init):
    root = folder / "root"
    for name in ("bin", "proc", "dev", "sys", "debug"):
        (root / name).mkdir(parents=True)
    shutil.copy2(shutil.which("busybox"), root / "bin" / "busybox")
    for module in MODULES:
        shutil.copy2(folder / "module" / (module + ".ko"), root)
    (root / "init").write_text(init)
    (root / "init").chmod(0o755)
    output = folder / "initramfs"
    names = "\n".join(str(p.relative_to(root)) for p in root.rglob("*"))
    with output.open("wb") as file:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root,
                       input=names.encode(), stdout=file, check=True)
    return output


def boot(folder, image, initramfs, seconds):
    """Boots, and gives the log when the machine ends, or time is up. A machine that
    does not reach the script in a quarter of the time is started again: on a busy
    computer qemu stopped at PCI, a second after the start."""
    path = folder / "log"
    for _ in range(BOOTS):
        with path.open("wb") as file:
            machine = subprocess.Popen(
                ["qemu-system-x86_64", "-smp", "2", "-m", "512",
                 "-accel", "tcg,thread=multi",  # or the two take turns
                 "-nographic", "-monitor", "none", "-no-reboot", "-kernel",
                 image, "-initrd", initramfs, "-append",
                 # All that the script writes is in the kernel's log.
                 "console=ttyS0 loglevel=7 panic=-1 no_timer_check "
                 "preempt=full printk.devkmsg=on"],
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        begin = time.monotonic()
        try:
            while machine.poll() is None:
                time.sleep(0.2)
                has_begun = EXPECTED[0] in path.read_text(errors="replace")
                if time.monotonic() - begin > (
                        seconds if has_begun else seconds / 4):
                    break
        finally:
            machine.kill()
            machine.wait()
        log = path.read_text(errors="replace").replace("\r", "")
        if EXPECTED[0] in log:
            break
    return log


def check_log(tap, log, wrong):
    tail, at = "\n".join(log.splitlines()[-60:]), 0
    for line in EXPECTED:
        found = log.find(line, at)
        tap.ok(found >= 0, "the log, in order: " + line.strip()[:60], tail)
        tail = tail if found >= 0 else "as above"
        at = max(found, at)
    before, _, log = log.partition("holder: wrong: error -2")
    log, _, after = log.partition("holder: right: error -2")
    for word, report in wrong.items():
        tap.ok(report in log, f"the kernel reports what is wrong: {word}", log)
    bad = [line for line in (before + after).splitlines() if BAD.search(line)]
    tap.ok(not bad, "no complaint of the kernel", "\n".join(bad) + "\n" + tail)


def test_kernel(tap, args, headers):
    image = find_image(args, headers)
    if not image:
        tap.skip("kernel modules", f"no image for {headers.name}")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not make_modules(tap, folder, headers):
            return
        sanitized = is_set(headers, "KASAN") or is_set(headers, "KCSAN")
        if not sanitized:
            check_mistakes(tap, folder, headers)
            check_sparse(tap, folder, headers)
            check_size(tap, folder, headers)
            check_namespace(tap, folder, headers)
            check_frames(tap, folder)
        if args.checkpatch:
            check_style(tap, folder, Path(args.checkpatch).resolve())
        wrong = {word: report for word, option, report in WRONG
                 if not option or is_set(headers, option)}
        leaks = LEAKS if is_set(headers, "DEBUG_KMEMLEAK") else ""
        init = INIT.replace("@wrong@", "\n".join(f"call {w}" for w in wrong))
        init = init.replace("@leaks@", leaks)
        initramfs = make_initramfs(folder, init)
        log = boot(folder, image, initramfs,
                   SECONDS * (4 if sanitized else 1))
        if args.log:
            with Path(args.log).open("a") as file:
                file.write(log)
        check_log(tap, log, wrong)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--image", help="a kernel for the headers of --tree")
    parser.add_argument("--cache", default=str(ROOT / "build" / "kernel"))
    parser.add_argument("--tree", help="a kernel's build folder")
    parser.add_argument("--checkpatch", help="the kernel's checkpatch.pl",
                        default=next(iter(sorted(Path("/usr/src").glob(
                            "linux-*/scripts/checkpatch.pl"))), None))
    parser.add_argument("--log", help="what to append the kernels' logs to")
    args = parser.parse_args()
    tap = Tap()
    missing = [n for n in NEEDED if not shutil.which(n)]
    trees = [Path(args.tree).resolve()] if args.tree else find_headers()
    if not trees:
        missing.append("linux-headers-amd64")
    if missing:
        tap.skip("kernel modules", "no " + " ".join(missing))
    else:
        for tree in trees:
            test_kernel(tap, args, tree)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
