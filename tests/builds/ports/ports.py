#!/usr/bin/env python3
"""Builds and runs tvmffi_impl_test.c for every target of docs/porting.md.

A target leaves tests out only by switches: its TVMFFI_NO_ and TEST_NO_ options
and what its compiler cannot do. RULES says which tests each switch takes away;
the tests that ran have to be all others of the full list, which is the first
target's. With --write their rows in the table of docs/porting.md are made anew.
Output is TAP.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/tools"))
from tap import Tap  # noqa: E402

HERE = ROOT / "tests/builds/ports"
DOC = ROOT / "docs" / "porting.md"
BEGIN, END = "<!-- made by ./dev test --ports --write -->", "<!-- end -->"

OWN_WALK = [
    "backtrace: a walk goes *", "backtrace: unwind tables",
    "backtrace: entries of unwind tables", "backtrace: cached rules",
    "backtrace: a table that is not understood",
    "backtrace: rules that lead nowhere", "backtrace: frames at odd addresses",
    "backtrace: code outside libraries"]
# Another thread acts at a certain place, or the system refuses: meanwhile.h.
PERSONALITY = ["threads: an end in init_func"]
STATIC = ["libraries: bound lazily", "libraries: the loader's text"]
MESSAGES = ["environment: warnings of symbols",
            "reflection: fields that hide others"]
MEANWHILE = [
    "races: *", "types: a class that is refused", "backtrace: no demangler",
    "threads: a value that the system refuses",
    "threads: a limit that the system refuses", *MESSAGES, *PERSONALITY,
    *STATIC]
# Which tests are not in a build with a switch.
RULES = {
    "TVMFFI_NO_THREADS": ["threads: *", *MEANWHILE],
    "TVMFFI_NO_BACKTRACE": [
        "backtrace: kinds of frames", "backtrace: a frame is named once",
        "backtrace: C++ names", "backtrace: its limit",
        "backtrace: names of functions", "backtrace: a full cache",
        "backtrace: of a child process", "backtrace: unloaded libraries",
        "backtrace: no demangler", "libraries: the loader's text",
        "races: renewed frames", "threads: backtraces", *OWN_WALK],
    "TEST_NO_FILES": ["errors: print", "repr: print",
                      "scopes: leaks that the runtime does not count",
                      *MESSAGES],
    "TEST_NO_FORKS": ["threads: processes beside threads"],
    "TEST_STATIC": STATIC,
    "no personality": PERSONALITY,  # glibc on x86-64 and AArch64 has it
    "no cleanup": [  # GNU C: the attribute for TVMFFI_SCOPE, types compared
        "struct types: derived structs",
        "scopes: blocks", "scopes: ways out",
        "scopes: the last statement of a function",
        "scopes: many objects that leave", "scopes: full ones",
        "scopes: helpers", "marks: scopes in scopes",
        "module kinds: alignment",
    ],
    "no stack range": [  # TVMFFI_I_STACK_KNOWN: Linux, macOS, Windows
        "nesting: measured", "nesting: the stack's range*"],
    "no own walk": OWN_WALK,  # TVMFFI_I_WALK: Linux on x86-64 alone
    "no Unix": ["backtrace: unloaded libraries", *MEANWHILE],
    "one state": [  # not TVMFFI_I_SPLIT_THREAD: Windows
        "threads: ends that are not noticed",
        "threads: the block of threads without one"],
    "no C++ calls": [  # TVMFFI_I_CXX_METHODS: there, too
        "modules: the C++ table", "modules: imports by the C++ table",
        "modules: of another maker", "modules: methods of another maker",
        "module kinds: the C++ table"],
}
NO_CXX, NO_CLEANUP = "no C++ calls", "no cleanup"
NO_WALK, NO_STACK = "no own walk", "no stack range"
ONE_STATE, NO_UNIX = "one state", "no Unix"
NO_PERSONALITY = "no personality"
WORDS = [NO_CXX, NO_CLEANUP, NO_WALK, NO_STACK, ONE_STATE, NO_UNIX,
         NO_PERSONALITY]
SINGLE = ["TVMFFI_NO_THREADS", "TVMFFI_NO_BACKTRACE"]
NO_SYSTEM = SINGLE + ["TVMFFI_NO_DLOPEN", "TEST_NO_FILES"]
# An emulator is some ten times slower: shorter chains, fewer rounds.
SHORT = ["-DTEST_CHAIN=20000", "-DTEST_ROUNDS=200", "-DTEST_MANY_TYPES=200"]
BOARD = ["-DTEST_CHAIN=500", "-DTEST_ROUNDS=200", "-DTEST_MANY_TYPES=50"]


class Failure(Exception):
    pass


def run(argv, seconds=600, outputs_only=False):
    """Gives the exit status and what was written; a program that does not end
    is killed, with status 124."""
    try:
        done = subprocess.run([str(a) for a in argv], timeout=seconds,
                              stdin=subprocess.DEVNULL, check=False,
                              capture_output=True)
        text = done.stdout if outputs_only else done.stderr + done.stdout
        return done.returncode, text.decode(errors="replace")
    except subprocess.TimeoutExpired as error:
        return 124, (error.stdout or b"").decode(errors="replace")


class Target:
    """One machine: a compiler, the switches, what runs the program."""

    def __init__(self, name, cc, runner=(), *, packages="", switches=(),
                 options=(), link=(), sources=(), suffix="", builds_only=None,
                 scale=SHORT, std="c11", setup=None):
        self.name, self.cc, self.runner = name, list(cc), list(runner)
        self.packages, self.switches = packages, list(switches)
        self.options, self.link = list(options), list(link)
        self.sources, self.suffix = list(sources), suffix
        self.builds_only, self.scale, self.std = builds_only, scale, std
        self.setup = setup
        self.size = self.count = None
        self.out_of = []
        self.seconds = 0

    def missing(self):
        tools = [self.cc[0]] + self.runner[:1]
        return [t for t in tools if not shutil.which(str(t))]

    def defines(self):
        return [f"-D{s}=1" for s in self.switches if s not in WORDS]

    def build(self, build):
        flags = [*self.cc, f"-std={self.std}", "-I", ROOT, *self.options,
                 *self.defines()]
        self.program = build / (self.name.replace(" ", "-") + self.suffix)
        status, text = run([*flags, *self.scale, ROOT / "tvmffi_impl_test.c",
                            *self.sources, "-o", self.program, *self.link])
        if status or not self.program.exists():
            raise Failure("cannot be built\n" + text[-3000:])

    def measure(self, build):
        """The size that the table shows."""
        part = build / (self.name.replace(" ", "-") + ".o")
        status, text = run([*self.cc, f"-std={self.std}", "-I", ROOT,
                            *self.options, *self.defines(), "-Os", "-c",
                            build / "implementation.c", "-o", part])
        if status:
            raise Failure("the header alone cannot be built\n" + text[-3000:])
        self.size = text_size(part)

    def check(self, build, every):
        """Builds, runs, and compares what ran with what has to."""
        started = time.monotonic()
        if self.setup:
            self.setup(build)
        self.build(build)
        if self.builds_only:
            text = self.program.read_bytes()[:len(self.builds_only)]
            if text != self.builds_only:
                raise Failure(f"the program begins with {text.hex()}")
        else:
            status, text = run([*self.runner, self.program],
                               outputs_only=True)
            (build / (self.name.replace(" ", "-") + ".log")).write_text(text)
            self.compare(status, text, every)
        self.seconds = time.monotonic() - started
        print(f"{self.name}: {self.seconds:.0f} s", file=sys.stderr, flush=True)

    def compare(self, status, text, every):
        text = text.replace("\r", "")
        bad = re.findall(r"^not ok .*(?:\n# .*)*", text, re.M)
        ran = re.findall(r"^ok \d+ - (.*)$", text, re.M)
        plan = re.search(r"^1\.\.(\d+)$", text, re.M)
        if bad:
            raise Failure("\n".join(bad))
        if status or not plan or int(plan.group(1)) != len(ran):
            raise Failure(f"exit status {status}, {len(ran)} tests, plan "
                          f"{plan and plan.group(1)}\n{text[-2000:]}")
        every[:] = every or ran
        allowed = [p for s in self.switches for p in RULES.get(s, [])]
        self.out_of = [t for t in every
                       if any(fnmatch.fnmatch(t, p) for p in allowed)]
        want = [t for t in every if t not in self.out_of]
        if ran != want:
            lacks = sorted(set(want) - set(ran)) or sorted(set(ran) - set(want))
            raise Failure(f"{len(ran)} tests ran, not {len(want)}: "
                          + ", ".join(lacks))
        self.count = len(ran)

    def row(self):
        left = ", ".join(s if s in WORDS else f"`{s}`"
                         for s in self.switches)
        count = f"{self.count}" if self.count else "builds and links"
        result = "pass" if self.count else "built"
        lost = f"{len(self.out_of)}: {left}" if self.out_of else left
        return (f"| {self.name} | {count} | {lost or 'none'} | "
                f"{self.size} | {result} |")


def text_size(part):
    """The bytes of machine code in an object file."""
    status, text = run(["llvm-size-19", "-A", part])
    sizes = [int(line.split()[1]) for line in text.splitlines()
             if re.match(r"(\.text\S*|__text|CODE)\s+\d", line)]
    if status or not sum(sizes):
        raise Failure(f"no size of {part}\n{text}")
    return sum(sizes)


# -- the targets ---------------------------------------------------------

WINE = "/usr/lib/wine/wine64"
MSVC = HERE / "msvc"
wine_lock = threading.Lock()


def prepare_wine(build):
    with wine_lock:
        if (build / "wine" / "system.reg").exists():
            return
        status, text = run([WINE, "wineboot", "-i"], 120)
        if status:
            raise Failure("wineboot\n" + text)


def prepare_msvc(build):
    """Makes the import libraries of the system's DLLs."""
    prepare_wine(build)
    for name in "kernel32", "ucrtbase":
        status, text = run(["llvm-dlltool-19", "-m", "i386:x86-64", "-d",
                            MSVC / f"{name}.def", "-l", build / f"{name}.lib"])
        if status:
            raise Failure(f"{name}.lib\n" + text)


def memory(flash, flash_size, ram, ram_size, stack):
    values = {"flash": flash, "flash_size": flash_size, "ram": ram,
              "ram_size": ram_size, "stack_size": stack}
    return [f"-Wl,--defsym=__{k}={v:#x}" for k, v in values.items()]


def all_targets(build):
    quiet = ["-O0", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    gcc = quiet + ["-ftrack-macro-expansion=0"]
    # What the program prints is apart from what qemu says.
    semihost = ["-chardev", "file,id=out,path=/dev/stdout",
                "-semihosting-config", "enable=on,target=native,chardev=out",
                "-kernel"]
    # Their int32_t is a long, which "%d" does not name.
    bare = ["-Wno-format", "--specs=picolibc.specs", "--crt0=semihost",
            "--oslib=semihost", "-ffunction-sections", "-DTEST_MAIN=test_main"]
    zig = [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=undefined"]
    result = [
        Target("gcc 12", ["gcc"], packages="gcc", options=gcc,
               link=["-lpthread"], scale=["-DTEST_CHAIN=100000"]),
        Target("clang 14", ["clang-14"], packages="clang-14", options=quiet,
               link=["-lpthread"]),
        Target("clang 19", ["clang-19"], packages="clang-19", options=quiet,
               link=["-lpthread"]),
        Target("x86, 32 bits", ["gcc", "-m32", "-idirafter",
                                "/usr/include/x86_64-linux-gnu"],
               packages="gcc-12-multilib", options=gcc, link=["-lpthread"],
               switches=[NO_CXX, NO_WALK, NO_PERSONALITY]),
        Target("tcc", ["tcc"], packages="tcc",
               switches=SINGLE + [NO_CLEANUP, NO_CXX]),
        Target("musl", ["musl-gcc"], packages="musl-tools", options=gcc,
               switches=["TVMFFI_NO_BACKTRACE", "TEST_STATIC", NO_PERSONALITY],
               link=["-static"]),
    ]
    for name, triple, qemu in [
            ("aarch64", "aarch64-linux-gnu", "aarch64"),
            ("armhf", "arm-linux-gnueabihf", "arm"),
            ("riscv64", "riscv64-linux-gnu", "riscv64"),
            ("s390x", "s390x-linux-gnu", "s390x"),
            ("ppc64", "powerpc64-linux-gnu", "ppc64"),
            ("mips", "mips-linux-gnu", "mips")]:
        result.append(Target(
            name, [f"{triple}-gcc"], [f"qemu-{qemu}-static"], options=gcc,
            packages=f"gcc-{triple} qemu-user-static",
            switches=[NO_CXX, NO_WALK, "TEST_NO_FORKS", "TEST_STATIC"]
            + ([NO_PERSONALITY] if name != "aarch64" else []),
            link=["-static", "-lpthread"]
            + (["-latomic"] if name == "mips" else [])))
    result += [
        Target("Windows, mingw", ["x86_64-w64-mingw32-gcc-posix"], [WINE],
               packages="gcc-mingw-w64-x86-64-posix wine64 wine", options=gcc,
               switches=[NO_CXX, NO_WALK, ONE_STATE, NO_UNIX, "TEST_NO_FORKS"],
               link=["-static", "-Wl,--stack,16777216"],
               suffix=".exe", setup=prepare_wine),
        Target("Windows, zig", zig + ["-target", "x86_64-windows-gnu"], [WINE],
               packages="wine64 wine", options=quiet,
               switches=[NO_CXX, NO_WALK, ONE_STATE, NO_UNIX, "TEST_NO_FORKS"],
               link=["-Wl,--stack,16777216", "-lunwind"], suffix=".exe",
               setup=prepare_wine),
        # Its stack is there from the start, for without Visual Studio's library
        # nothing touches the pages of a large frame in their order.
        Target("Windows, clang for MSVC",
               ["clang-19", "--target=x86_64-pc-windows-msvc"], [WINE],
               packages="clang-19 lld-19 llvm-19 wine64 wine",
               options=quiet + ["-isystem", MSVC / "include",
                                "-mno-stack-arg-probe",
                                "-DTEST_MAIN=test_main"],
               switches=SINGLE + [NO_CXX, "TEST_NO_FORKS"],
               sources=[MSVC / "start.c"],
               link=["-fuse-ld=lld", "-nostdlib", "-Xlinker",
                     "/subsystem:console", "-Xlinker",
                     "/stack:16777216,16777216", build / "ucrtbase.lib",
                     build / "kernel32.lib"],
               suffix=".exe", setup=prepare_msvc),
        # node 20 may drop the bytecode of the caller of a long program, and
        # crash on return.
        Target("wasm32-wasi", ["clang-19", "--target=wasm32-wasi"],
               ["node", "--no-warnings", "--stack-size=7000",
                "--no-flush-bytecode", HERE / "wasi.mjs"],
               packages="clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32",
               options=quiet,
               switches=NO_SYSTEM + [NO_CXX, NO_STACK],
               link=["-Wl,-z,stack-size=8388608"], suffix=".wasm"),
        Target("Cortex-M3", ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"],
               ["qemu-system-arm", "-M", "mps2-an385", "-nographic",
                "-monitor", "none", *semihost],
               packages="gcc-arm-none-eabi picolibc-arm-none-eabi "
               "qemu-system-arm", options=gcc + bare, scale=BOARD,
               switches=NO_SYSTEM + [NO_CXX, NO_STACK], sources=[HERE / "board.c"],
               link=memory(0, 4 << 20, 0x21000000, 16 << 20, 1 << 20),
               suffix=".elf"),
        # A microbit with more memory than it has: 16 KB hold no test program.
        Target("Cortex-M0", ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"],
               ["qemu-system-arm", "-M", "microbit", "-global",
                "nrf51-soc.sram-size=0x1000000", "-global",
                "nrf51-soc.flash-size=0x400000", "-nographic", "-monitor",
                "none", *semihost],
               packages="gcc-arm-none-eabi picolibc-arm-none-eabi "
               "qemu-system-arm", options=gcc + bare, scale=BOARD,
               switches=NO_SYSTEM + [NO_CXX, NO_STACK], sources=[HERE / "board.c"],
               link=memory(0, 4 << 20, 0x20000000, 16 << 20, 1 << 20),
               suffix=".elf"),
        Target("rv32imac", ["riscv64-unknown-elf-gcc", "-march=rv32imac",
                            "-mabi=ilp32"],
               ["qemu-system-riscv32", "-M", "virt", "-bios", "none", "-m",
                "128M", "-nographic", "-monitor", "none", *semihost],
               packages="gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf "
               "qemu-system-misc", options=gcc + bare, scale=BOARD,
               switches=NO_SYSTEM + [NO_CXX, NO_STACK], sources=[HERE / "board.c"],
               link=memory(0x80000000, 4 << 20, 0x80400000, 64 << 20, 1 << 20),
               suffix=".elf"),
    ]
    for cpu in ["aarch64", "x86_64"]:
        result.append(Target(
            f"macOS {cpu}, zig", zig + ["-target", f"{cpu}-macos"],
            options=quiet, switches=[NO_CXX] if cpu == "aarch64" else [],
            builds_only=bytes.fromhex("cffaedfe")))
    return result


# -- the run -------------------------------------------------------------

HEAD = ["| target | tests | left out | `.text`, bytes | result |",
        "| --- | --- | --- | --- | --- |"]


def write_table(targets, names):
    """Puts the rows of these targets in the place of older ones."""
    before, rest = DOC.read_text().split(BEGIN)
    old, after = rest.split(END)
    rows = {line.split("|")[1].strip(): line for line in old.splitlines()
            if line.startswith("| ")}
    rows.update((t.name, t.row()) for t in targets)
    lines = HEAD + [rows[name] for name in names if name in rows]
    DOC.write_text("\n".join([before + BEGIN, *lines, END + after]))


def old_rows(targets):
    """The targets whose row in the document tells another number of tests."""
    known = dict(re.findall(r"^\| ([^|]+) \| (\d+|builds and links) \|",
                            DOC.read_text(), re.M))
    return [t.name for t in targets
            if known.get(t.name) != (str(t.count) if t.count
                                     else "builds and links")]


def check_all(tap, targets, build, sizes):
    every, results = [], {}

    def one(target):
        lacks = target.missing()
        if lacks:
            return f"SKIP {', '.join(map(str, lacks))} is missing: " \
                f"{target.packages}"
        try:
            target.check(build, every)
            if sizes:
                target.measure(build)
        except Failure as error:
            return str(error)
        return None

    results[targets[0].name] = one(targets[0])  # which gives the full list
    if not every:
        tap.ok(False, targets[0].name, results[targets[0].name])
        return []
    rest = targets[1:]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for target, result in zip(rest, pool.map(one, rest)):
            results[target.name] = result
    for t in targets:
        result = results[t.name]
        if result and result.startswith("SKIP "):
            tap.skip(t.name, result[5:])
        else:
            tap.ok(not result, f"{t.name}: "
                   + (f"{t.count} tests" if t.count else "builds and links"
                      if not result else "fails"), result)
    return [t for t in targets if not results[t.name]]


def check_libraries(tap, build, targets):
    """C libraries differ in what a fork does to functions that run once, and
    in what they say of the main thread's stack."""
    stack = [[], ["x" * 100000], ["x" * 100000] * 15, ["files"]]
    for t in targets:
        if t.name not in ("gcc 12", "musl"):
            continue
        for name, runs in ("first_fork", [[]]), ("main_stack", stack):
            program = build / f"{name}-{t.name.replace(' ', '-')}"
            status, text = run([*t.cc, "-O1", "-I", ROOT, *t.defines(),
                                HERE / f"{name}.c", "-o", program, *t.link])
            for arguments in runs if not status else []:
                status, text = run([program, *arguments], 120)
                tap.ok(not status, f"{t.name}: {name}, arguments of "
                       f"{len(' '.join(arguments))} bytes", f"{status} {text}")
            if not program.exists():
                tap.ok(False, f"{t.name}: {name} is built", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="*", help="a pattern of names")
    options = parser.parse_args()
    build = options.build.resolve()
    build.mkdir(parents=True, exist_ok=True)
    (build / "implementation.c").write_text(
        '#define TVMFFI_IMPLEMENTATION\n#include "tvmffi.h"\n')
    os.environ.update(WINEPREFIX=str(build / "wine"), WINEDEBUG="-all",
                      ZIG_GLOBAL_CACHE_DIR=str(build / "zig"),
                      ZIG_LOCAL_CACHE_DIR=str(build / "zig"))
    targets = all_targets(build)
    names = [t.name for t in targets]
    targets = targets[:1] + [t for t in targets[1:]
                             if fnmatch.fnmatch(t.name, options.only)]
    tap = Tap()
    good = check_all(tap, targets, build, options.write)
    check_libraries(tap, build, good)
    if (build / "wine").exists():
        run(["/usr/lib/wine/wineserver64", "-k"], 30)
    old = old_rows(good)
    if options.write:
        write_table(good, names)
        print("\n".join(HEAD + [t.row() for t in good]))
    elif old:
        tap.note("docs/porting.md has other numbers of tests: "
                 + ", ".join(old) + "; ./dev test --ports --write")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
