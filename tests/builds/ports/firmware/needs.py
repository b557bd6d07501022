#!/usr/bin/env python3
"""What docs/porting.md says of a linker script and of options: a program with a
compiled kernel runs on examples/firmware's script, and fails as the page says
without a line of the script or an option. Writes TAP."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
BOARD = ROOT / "examples" / "firmware"
DOC = " ".join((ROOT / "docs" / "porting.md").read_text().split())
sys.path[:0] = [str(ROOT / "tests/tools"), str(HERE)]
from profiles import first_line  # noqa: E402
from tap import Tap  # noqa: E402

NEEDED = ["arm-none-eabi-gcc", "qemu-system-arm"]
COMPILE = """arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -Os -std=c11
  -ffreestanding -Wall -Wextra -Werror -ffunction-sections -fdata-sections
  -DTVMFFI_PORT="port.h" -c""".split()
NO_TABLES = ["-fno-unwind-tables", "-fno-asynchronous-unwind-tables"]
LINK = """arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -nostdlib
  -Wl,--gc-sections,--defsym=FLASH_SIZE=64K,--defsym=RAM_SIZE=20K
  -Wl,--defsym=STACK_SIZE=3K""".split()
NO_UNWIND = "-Wl,--defsym=__aeabi_unwind_cpp_pr0=0"
# Options of the runtime's file, of another file, and what the linker names, of
# the program whose files share the interface. "" is a program that links.
SHARE = "-DTVMFFI_SHARE_INTERFACE=1"
MIXED = [
    ([SHARE], [SHARE], ""),
    ([SHARE, "-DTVMFFI_NO_FLOAT=1"], [SHARE], "word_float64"),
    ([SHARE], [SHARE, "-DTVMFFI_NO_TYPES=1"], "no_metadata_"),
    ([], [SHARE], "undefined reference to `tvmffi_i_"),
    ([SHARE], ["-UTVMFFI_FREESTANDING"], "`__atomic_load_8`"),
]
# Warnings that are not in -Wextra, as projects with rules of their own have.
WARNINGS = """-Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef
  -Wcast-qual -Wcast-align -Wstrict-prototypes -Wmissing-prototypes
  -Wredundant-decls -Wdouble-promotion -Wswitch-default -Wvla""".split()
MIXED_FILE = """#include "tvmffi.h"
TVMFFI_FUNC(half, float64, (float64, x)) { TVMFFI_RETURN(x / 2); }
__attribute__((constructor)) static void start(void) {
  if (TVMFFI_REGISTER("half", half)) tvmffi_error_clear();
}
"""
HARD = ["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
# What is broken: a text of the script and its replacement, options of the
# linker, and the text, also of the page, that the linker or the program writes.
CASES = [
    ("nothing is missing", "", "", [NO_UNWIND], "42"),
    ("no .got", " .got .got.*", "", [NO_UNWIND],
     "safe_call must not be NULL"),
    ("no KEEP of .init_array", "KEEP(*(.init_array .init_array.*))",
     "*(.init_array .init_array.*)", [NO_UNWIND], "there is no twice"),
    ("no __aeabi_unwind_cpp_pr0", "", "", [],
     "__exidx_start"),
    # From here on the memory does not begin with zeros.
    ("all in used memory", "", "", [NO_UNWIND], "42"),
    ("the start-up code copies no .data", "board_data_end = .",
     "board_data_end = board_data", [NO_UNWIND], "stopped"),
    ("the start-up code clears no .bss", "board_bss_end = .",
     "board_bss_end = board_bss", [NO_UNWIND], "stopped"),
]


def run(command):
    done = subprocess.run([str(word) for word in command], text=True,
                          capture_output=True, errors="replace")
    return done.stderr if done.returncode else ""


class Build:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.script = (BOARD / "link.ld").read_text()
        self.used_memory = False

    def compile(self, source, *options):
        made = self.folder / f"{source.stem}{len(options)}.o"
        errors = run([*COMPILE, *options, "-I", ROOT / "examples/firmware_rpc",
                      "-I", BOARD, "-I", ROOT, source, "-o", made])
        if errors:
            raise RuntimeError(errors)
        return made

    def link(self, objects, old, new, options):
        """What the linker says, or what the program then writes."""
        if old not in self.script:
            return f"link.ld has no {old}"
        script, elf = self.folder / "link.ld", self.folder / "needs.elf"
        script.write_text(self.script.replace(old, new) if old
                          else self.script)
        return run([*LINK, "-T", script, *objects, *options, "-lgcc", "-o",
                    elf]) or (self.run_from_flash(elf) if self.used_memory
                              else first_line(elf))

    def run_from_flash(self, elf):
        """What the program writes if the memory does not begin with zeros."""
        memory, flash = self.folder / "memory", self.folder / "flash"
        memory.write_bytes(bytes([0x5A]) * (20 << 10))
        return run(["arm-none-eabi-objcopy", "-O", "binary", elf,
                    flash]) or first_line(
            flash, "-device", f"loader,file={memory},addr=0x20000000,"
            "force-raw=on")


def check(tap, build):
    program = [build.compile(source, *NO_TABLES) for source in
               (HERE / "needs.c", BOARD / "board.c")]
    kernel = HERE / "needs_kernel.c"
    soft = build.compile(kernel, "-fPIC", "-funwind-tables")
    for name, old, new, options, text in CASES:
        build.used_memory |= name == "all in used memory"
        said = build.link([*program, soft], old, new, options)
        tap.ok(text in said and text in DOC, name, said)
    build.used_memory = False
    for hook, text in ((1, "attach: ValueError: -7 8 9 ff c text te t "
                        "0x10 1099511627776 1 005 % %-3d %d; again; 42"),
                       (0, "again; 42")):
        main = build.compile(HERE / "needs.c", *NO_TABLES, f"-DHOOK={hook}",
                             "-DFAILS_ON_LOAD=1")
        said = build.link([main, program[1], soft], "", "", [NO_UNWIND])
        tap.ok(said == text, f"TVMFFI_ON_LOAD fails, hook {hook}", said)
    hard = build.compile(kernel, "-fPIC", "-funwind-tables", *HARD)
    said = build.link([*program, hard], "", "", [NO_UNWIND])
    text = "uses VFP register arguments"
    tap.ok(text in said and text in DOC, "a kernel for hard-float, a firmware "
           "without", said)


def check_mixed(tap, folder):
    """Files with other options than the runtime's do not link."""
    compile_ = [word for word in COMPILE if "PORT" not in word]
    common = [*compile_, *NO_TABLES, "-DTVMFFI_FREESTANDING=1", "-I", ROOT]
    other = Path(folder) / "mixed.c"
    other.write_text(MIXED_FILE)
    runtime = Path(folder) / "runtime.c"
    runtime.write_text('#define TVMFFI_IMPLEMENTATION\n#include "tvmffi.h"\n'
                       "int main(void) { return 0; }\n")
    arena = ["-DTVMFFI_ARENA_SIZE=1024", "-DTVMFFI_NO_BUILTINS=1"]
    for of_runtime, of_other, text in MIXED:
        said = ""
        for source, options in ((runtime, [*arena, *of_runtime]),
                                (other, of_other)):
            said += run([*common, *options, source, "-o",
                         source.with_suffix(".o")])
        said += run([*LINK, "-T", BOARD / "link.ld",
                     *(source.with_suffix(".o") for source in
                       (runtime, other)),
                     Path(folder) / "board0.o", "-lgcc", "-o",
                     Path(folder) / "mixed.elf"])
        tap.ok(text.strip("`") in said if text else not said,
               f"{of_runtime}, {of_other}: links or names {text}", said)
        if "__" in text:
            tap.ok(text in DOC, f"the page names {text}")


def check_compile(tap, folder):
    """A user's file has no warning if the header is a system header. Without
    libc, the RPC header says that it needs the file of the implementation."""
    compile_ = [word for word in COMPILE if "PORT" not in word]
    common = [*compile_, "-DTVMFFI_FREESTANDING=1", "-DTVMFFI_ARENA_SIZE=4096",
              "-o", Path(folder) / "compile.o"]
    file = [*common, *WARNINGS, "-DTVMFFI_SHARE_INTERFACE=1", "-DN=1",
            "-DCONTAINERS=1", HERE / "further.c"]
    said = run([*file, "-isystem", ROOT])
    tap.ok(not said, "no warning of -isystem", said)
    said = run([*file, "-I", ROOT])
    tap.ok("redundant-decls" in said and "`-isystem`" in DOC,
           "a warning of -I", said)
    own = Path(folder) / "own.h"
    block = re.search(r"#pragma GCC diagnostic push.*? pop", DOC)[0]
    own.write_text(block.replace(" #", "\n#") + "\n")
    said = run([*file, "-I", ROOT, "-include", own])
    tap.ok(not said, "no warning of the page's header", said)
    ignores = Path(folder) / "ignores.c"
    ignores.write_text('#include "tvmffi.h"\nvoid f(void);\n'
                       'void f(void) { tvmffi_call("f", NULL); }\n')
    for flag, warns in (("-I", True), ("-isystem", False)):
        said = run([*common, flag, ROOT, "-include", own, ignores])
        tap.ok(("unused-result" in said) == warns,
               f"a result is ignored: gcc {'warns' if warns else 'is silent'} "
               f"with {flag}", said)
    rpc = Path(folder) / "rpc.c"
    rpc.write_text("#define TVMFFI_RPC_IMPLEMENTATION\n"
                   '#include "rpc/tvmffi_rpc.h"\n')
    said = run([*common, "-I", ROOT, rpc])
    tap.ok("where the implementation is" in said, "RPC in a file of its own",
           said)
    said = run([*common, "-I", ROOT, "-include", "tvmffi.h",
                "-DTVMFFI_IMPLEMENTATION", rpc])
    tap.ok(not said, "RPC where the implementation is", said)


def check_tasks(tap, folder):
    """The runtime has no warning with threads and without a type table."""
    shell = ROOT / "examples/device_shell"
    said = run([*COMPILE, "-DTVMFFI_SHARE_INTERFACE=1", "-I", shell, "-I",
                BOARD, "-I", ROOT, shell / "commands.c", "-o",
                Path(folder) / "tasks.o"])
    tap.ok(not said, "no warning of threads without types", said)


def check_libc(tap, folder):
    """The page names the functions of libc that the runtime calls."""
    source = Path(folder) / "libc.c"
    source.write_text('#define TVMFFI_IMPLEMENTATION\n#include "tvmffi.h"\n')
    said = run(["arm-none-eabi-gcc", "--specs=picolibc.specs", "-mthumb",
                "-mcpu=cortex-m3", "-Os", "-std=c11", "-DTVMFFI_NO_THREADS=1",
                "-DTVMFFI_NO_BACKTRACE=1", "-DTVMFFI_NO_DLOPEN=1", "-I", ROOT,
                "-c", source, "-o", source.with_suffix(".o")])
    names = subprocess.run(
        ["arm-none-eabi-nm", "-u", str(source.with_suffix(".o"))], text=True,
        capture_output=True).stdout.split()
    missing = [n for n in names if n != "U" and "__aeabi_" not in n and
               f"`{n}`" not in DOC]
    tap.ok("malloc" in names and not missing and not said,
           "the page names what is called of libc", said or missing)


def main():
    tap = Tap()
    missing = [n for n in NEEDED if not shutil.which(n)]
    if missing and os.environ.get("CI"):
        tap.ok(False, "what a build needs", "no " + " ".join(missing))
    elif missing:
        tap.skip("what a build needs", "no " + " ".join(missing))
    else:
        with tempfile.TemporaryDirectory() as folder:
            check(tap, Build(folder))
            run([*COMPILE, *NO_TABLES, BOARD / "board.c", "-I", BOARD, "-o",
                 Path(folder) / "board0.o"])
            check_mixed(tap, folder)
            check_compile(tap, folder)
            check_tasks(tap, folder)
            check_libc(tap, folder)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
