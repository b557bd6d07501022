#!/usr/bin/env python3
"""The systems of docs/porting.md, "Systems". FreeRTOS runs on an emulated
board, with the kernel that a Rust crate's package has; ESP-IDF's differences,
Zephyr and Arduino are stand-ins with the same calls. The folders that
packaging/boards/assemble.py writes are read by the systems' own tools where
pip installs them. Writes TAP.

The Python that runs this has the packages of requirements.txt. The kernel is
kept in --cache."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
BOARD = ROOT / "examples/firmware"
sys.path.insert(0, str(ROOT / "tests/tools"))
sys.path.insert(0, str(ROOT / "packaging/boards"))
sys.path.insert(0, str(ROOT / "tests/clients"))
sys.path.insert(0, str(HERE.parent / "firmware"))
import rpc_wire as wire  # noqa: E402
from assemble import assemble  # noqa: E402
from firmware import NEEDED, talk  # noqa: E402
from tap import Tap  # noqa: E402

CRATE = "freertos-next", "0.12.0"  # has FreeRTOS 11.2.0
CARGO = (1, 85)  # the first that reads the crate's manifest
FETCH = f"""[package]
name = "fetch"
version = "0.0.0"
edition = "2021"
[lib]
path = "lib.rs"
[dependencies]
{CRATE[0]} = "={CRATE[1]}"
[workspace]
"""
LIMITED = ["timeout", "120"]  # ends a program, if this one is killed
WARN = "-Wall -Wextra -Werror".split()
# Without optimisation, in a third of the time.
ARM = """-mcpu=cortex-m3 -mthumb -O0 -ffunction-sections -fdata-sections
  --specs=picolibc.specs""".split()
LINK = ["-nostartfiles", "-Wl,--gc-sections", "-Wl,--defsym=FLASH_SIZE=1M",
        "-Wl,--defsym=RAM_SIZE=1M", "-Wl,--defsym=STACK_SIZE=16K",
        "-T", str(BOARD / "link.ld")]
# The list of licenses that PlatformIO otherwise downloads.
READ_MANIFESTS = """
import json, sys
from platformio.package.manifest.parser import ManifestParserFactory
from platformio.package.manifest.schema import ManifestSchema
ManifestSchema.load_spdx_licenses = staticmethod(lambda: {
    "licenses": [{"licenseId": "Apache-2.0"}, {"licenseId": "MIT"}]})
print(json.dumps([ManifestSchema().load_manifest(
    ManifestParserFactory.new_from_file(path).as_dict())
    for path in sys.argv[1:]]))
"""
# Kconfig's symbols that are Zephyr's own.
KCONFIG = """config MULTITHREADING
  def_bool y
config THREAD_LOCAL_STORAGE
  def_bool y
source "{}"
"""


class Failed(Exception):
    pass


def run(*command, cwd=None, **env):
    command = [str(c) for c in command]
    done = subprocess.run(command, text=True, capture_output=True, cwd=cwd,
                          env={**os.environ, **env}, timeout=300,
                          stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: exit status {done.returncode}\n"
                     f"{done.stdout[-1500:]}{done.stderr[-2500:]}")
    return done.stdout + done.stderr


def expect(condition, what):
    if not condition:
        raise Failed(what)


def version_of_header():
    header = (ROOT / "tvmffi.h").read_text(encoding="utf-8")
    return ".".join(re.findall(r"#define TVMFFI_VERSION_\w+ (\d+)", header)[:3])


def numbers(line):
    return {key: int(n) for key, n in re.findall(r"(\w+) (-?\d+)", line)}


def named_by_cmake(folder, *options):
    """The source files and include folders that CMakeLists.txt names."""
    printed = run("cmake", f"-DFILE={folder}/CMakeLists.txt", *options, "-P",
                  HERE / "stand_in.cmake")
    paths = [Path(line) for line in printed.splitlines()]
    lost = [str(p) for p in paths if not p.exists()]
    expect(paths and not lost, f"not there: {lost}")
    return [p for p in paths if p.is_file()], [p for p in paths if p.is_dir()]


# -- FreeRTOS ------------------------------------------------------------

def why_no_kernel(cache):
    if (cache / "FreeRTOS-Kernel/tasks.c").exists():
        return None
    if not shutil.which("cargo"):
        return "cargo is not installed"
    text = run("cargo", "--version")
    if tuple(map(int, re.search(r"(\d+)\.(\d+)", text).groups())) < CARGO:
        return f"cargo {CARGO[0]}.{CARGO[1]} is needed: {text.strip()}"
    return None


def find_kernel(cache, folder):
    """The sources of FreeRTOS; asks cargo for them the first time."""
    kernel = cache / "FreeRTOS-Kernel"
    if (kernel / "tasks.c").exists():
        return kernel
    (folder / "Cargo.toml").write_text(FETCH)
    (folder / "lib.rs").write_text("")
    printed = run("cargo", "metadata", "--format-version=1", "--quiet",
                  cwd=folder)
    found = json.loads(printed[printed.index("{"):])["packages"]
    manifest, = [p["manifest_path"] for p in found
                 if (p["name"], p["version"]) == CRATE]
    # Under another name until it is whole.
    fresh = cache / "FreeRTOS-Kernel.new"
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(Path(manifest).parent / "FreeRTOS-Kernel", fresh)
    fresh.rename(kernel)
    return kernel


def build_freertos(folder, kernel, sources, *options, more=(),
                   program="program"):
    """Builds the program with these sources of ours, or what an earlier call
    built from them, and the kernel with the options. Returns its file."""
    port = kernel / "portable/GCC/ARM_CM3"
    common = [*ARM, "-std=c11", *options, f"-I{HERE / 'freertos'}",
              f"-I{HERE}", f"-I{sources[0].parent}", f"-I{BOARD}",
              f"-I{kernel / 'include'}", f"-I{port}"]
    objects = []
    for source in [*sources, HERE / f"freertos/{program}.c", *more]:
        objects.append(folder / (source.stem + ".o"))
        if not objects[-1].exists():
            run("arm-none-eabi-gcc", *common, *WARN, "-c", source, "-o",
                objects[-1])
    # The kernel is compiled without the options of ESP-IDF's stand-in.
    common = [c for c in common if "esp_idf" not in c and "ESP_P" not in c]
    elf = folder / f"{program}.elf"
    run("arm-none-eabi-gcc", *common, *objects, BOARD / "board.c",
        *[kernel / name for name in ("tasks.c", "queue.c", "list.c")],
        port / "port.c", kernel / "portable/MemMang/heap_4.c", *LINK, "-o", elf)
    return elf


def run_freertos(*args, **more):
    """Builds the program; returns what it tells."""
    elf = build_freertos(*args, **more)
    # The emulator counts instructions, so each run is the same.
    line = talk(elf, [], "-icount", "shift=5,sleep=off")[0]
    expect(line.startswith("done"), line)
    return numbers(line)


def expect_all_right(told):
    """Each of 1600 rounds takes the mutex to write a shared table."""
    expect(told["wrong"] == told["leaked"] == 0 and told["switches"] >= 200
           and told["taken"] >= 1600, told)


def check_freertos(folder, kernel):
    target = assemble("freertos", folder)
    sources = [target / "tvmffi.c", target / "tvmffi_freertos.c"]
    told = run_freertos(folder, kernel, sources)
    expect_all_right(told)
    told = run_freertos(folder, kernel, sources, "-DTEST_NO_CLEAN_UP=1")
    expect(told["wrong"] == 0 and told["leaked"] > 0,
           f"no leak without portCLEAN_UP_TCB: {told}")


def check_freertos_rpc(folder, kernel):
    """A task serves RPC while two others use the runtime."""
    target = assemble("freertos", folder)
    elf = build_freertos(
        folder, kernel, [target / "tvmffi.c", target / "tvmffi_freertos.c"],
        f"-I{ROOT / 'rpc'}", "-DTEST_NO_CLEAN_UP=1",
        more=[HERE / "freertos/rpc.c"], program="rpc_program")
    board = subprocess.Popen(
        [*LIMITED, "qemu-system-arm", "-M", "mps2-an385", "-display", "none",
         "-monitor", "none", "-serial", "pty", "-kernel", elf],
        stdout=subprocess.PIPE, text=True)
    bridge = None
    try:
        line = re.search(r"redirected to (\S+)", board.stdout.readline())[1]
        bridge = subprocess.Popen(
            [*LIMITED, sys.executable, ROOT / "rpc/serial.py", "--port", "0",
             "--wait", "60", "--checksum", "always", line],
            stderr=subprocess.PIPE, text=True)
        port = int(bridge.stderr.readline().rsplit(":", 1)[1])
        use_freertos_rpc(port)
    finally:
        for process in filter(None, (bridge, board)):
            process.terminate()
            process.wait()


def integer(answer):
    code, body = answer
    expect(code == wire.RETURN, body)
    return int.from_bytes(body[-8:], "little", signed=True)


def use_freertos_rpc(port):
    free = []
    for _ in range(3):
        client = wire.Wire(port)
        heap, done, wrong, echo, parallel = (
            client.handle("rpc." + name)
            for name in ("heap", "done", "wrong", "echo", "parallel"))
        before = [integer(client.call(done, wire.integer(n))) for n in (1, 2)]
        after, calls = before, 0
        # Both tasks must go on while the calls do.
        while calls < 10 or not all(a > b + 1 for a, b in zip(after, before)):
            data = bytes(range(200)) + bytes([calls % 256])
            code, body = client.call(echo, wire.blob(data))
            expect(code == wire.RETURN and body.endswith(data), body)
            after = [integer(client.call(done, wire.integer(n)))
                     for n in (1, 2)]
            calls += 1
        expect(integer(client.call(parallel)) == 1, "a loop of other tasks")
        code, body = client.call(done, wire.text("x"))
        expect(code == wire.EXCEPTION and b"Expected `int`" in body, body)
        expect(integer(client.call(wrong)) == 0, "wrong results of the tasks")
        free.append(integer(client.call(heap)))
        client.close()
    # The tasks have lists of their own at any time.
    expect(min(free[1:]) > free[0] - 2048, f"sessions leave memory: {free}")


def check_esp_idf(folder, kernel):
    target = assemble("esp-idf", folder)
    sources, _ = named_by_cmake(target)
    stand_in = HERE / "esp_idf"
    told = run_freertos(folder, kernel, sources, "-DTEST_ESP_IDF=1",
                        "-DESP_PLATFORM=1", f"-I{stand_in}",
                        more=[stand_in / "stand_in.c"])
    expect_all_right(told)
    # Arduino's library has all tasks if they have two pointers, as here.
    library = assemble("arduino", folder / "arduino") / "src"
    port = kernel / "portable/GCC/ARM_CM3"
    for pointers, choice in (2, "FREERTOS"), (1, "ONE_THREAD"):
        (folder / "choice.c").write_text(
            f'#include "tvmffi.c"\n#ifndef TVMFFI_{choice}_H_\n'
            "#error another port\n#endif\n")
        run("arm-none-eabi-gcc", *ARM, *WARN, "-fsyntax-only",
            "-DESP_PLATFORM=1", f"-DSTAND_IN_POINTERS={pointers}",
            "-DTEST_ESP_IDF=1", f"-I{stand_in}", f"-I{library}",
            f"-I{HERE / 'freertos'}", f"-I{kernel / 'include'}", f"-I{port}",
            folder / "choice.c")


# -- the packages of other systems ---------------------------------------

def check_esp_idf_package(folder):
    """The component manager reads the manifest and packs the files."""
    target = assemble("esp-idf", folder)
    sources, includes = named_by_cmake(target)
    expect([p.resolve() for p in includes] == [target], includes)
    run(Path(sys.executable).with_name("compote"), "component", "pack",
        "--name", "tvmffi", cwd=target, IDF_TOOLS_PATH=str(folder / "tools"),
        IDF_COMPONENT_CHECK_NEW_VERSION="0")
    pack, = target.glob("dist/*.tgz")
    expect(pack.name == f"tvmffi_{version_of_header()}.tgz", pack.name)
    names = run("tar", "-tzf", pack).splitlines()
    lost = {p.name for p in sources} | {"tvmffi.h", "LICENSE"}
    lost -= {Path(name).name for name in names}
    expect(not lost, f"not packed: {lost}")


def check_zephyr(folder):
    """Kconfig's values, then the program, with the sources of CMakeLists."""
    target = assemble("zephyr", folder)
    module = (target / "zephyr/module.yml").read_text()
    expect((target / re.search(r"kconfig: (\S+)", module)[1]).is_file(),
           "module.yml names no Kconfig")
    (folder / "Kconfig").write_text(KCONFIG.format(target / "Kconfig"))
    for name, values, options in [
            ("default", "", []),
            ("masked interrupts", "", ["-U__GCC_ATOMIC_LLONG_LOCK_FREE",
                                       "-D__GCC_ATOMIC_LLONG_LOCK_FREE=1"]),
            ("small", "CONFIG_TVMFFI_EXTRA=n\nCONFIG_TVMFFI_FLOAT=n\n", [])]:
        (folder / "prj.conf").write_text("CONFIG_TVMFFI=y\n" + values)
        run(sys.executable, "-c", "import kconfiglib as k, sys\n"
            "c = k.Kconfig('Kconfig'); c.load_config('prj.conf')\n"
            "c.write_autoconf('autoconf.h')", cwd=folder)
        sources, includes = named_by_cmake(target, "-DCONFIG_TVMFFI=y")
        expect(includes == [target], includes)
        build = ["gcc", "-std=gnu11", "-O0", *WARN, *options, f"-I{folder}",
                 f"-I{HERE / 'zephyr'}", f"-I{HERE}", f"-I{target}", *sources,
                 HERE / "zephyr/program.c", "-lpthread", "-o"]
        run(*build, folder / "program")
        told = numbers(run(folder / "program"))
        # Each of 32000 rounds writes a shared table.
        expect(told["wrong"] == told["leaked"] == 0 and told["locks"] >= 32000
               and (told["spins"] > 0) == bool(options), f"{name}: {told}")
    run(*build, folder / "program", "-DTEST_NO_CLEAN_UP=1")
    told = numbers(run(folder / "program"))
    expect(told["wrong"] == 0 and told["leaked"] > 0,
           f"no leak without tvmffi_zephyr_end: {told}")


def check_arduino(folder):
    """The library and its example are built as Arduino's tools do it: each
    file of src/ by itself, the sketch as C++ that begins with Arduino.h."""
    target = assemble("arduino", folder)
    core = HERE / "arduino"
    sketch, = target.glob("examples/*/*.ino")
    expect(sketch.stem == sketch.parent.name, f"{sketch} must have the "
           "name of its folder")
    program = folder / "sketch.cpp"
    program.write_text("#include <Arduino.h>\n" + sketch.read_text())
    flags = [*ARM, f"-I{core}", f"-I{BOARD}", f"-I{target / 'src'}", *WARN]
    objects = []
    for source in [*sorted(target.glob("src/*.c")), program, core / "core.cpp",
                   BOARD / "board.c"]:
        cxx = source.suffix == ".cpp"
        objects.append(folder / (source.stem + ".o"))
        run("arm-none-eabi-g++" if cxx else "arm-none-eabi-gcc", *flags,
            "-std=gnu++11" if cxx else "-std=gnu11",
            *(["-fno-exceptions", "-fno-rtti"] if cxx else []), "-c", source,
            "-o", objects[-1])
    elf = folder / "sketch.elf"
    run("arm-none-eabi-gcc", *ARM, *objects, *LINK, "-o", elf)
    # The first line, and one more that nothing has to be sent for.
    lines = talk(elf, [("", 1)])
    expect(lines[0] == "average: 25" and lines[1].startswith(
        "Mismatched type on argument #1 when calling: `sensor.average("),
        lines)


def check_manifests(folder):
    """PlatformIO reads its manifest and Arduino's."""
    target = assemble("arduino", folder)
    paths = [target / "library.json", target / "library.properties"]
    core = folder / "core"
    core.mkdir()
    printed = run(sys.executable, "-c", READ_MANIFESTS, *paths,
                  PLATFORMIO_CORE_DIR=str(core), PLATFORMIO_NO_ANSI="1")
    for manifest in json.loads(printed.splitlines()[-1]):
        expect((manifest["name"], manifest["version"]) ==
               ("tvmffi", version_of_header()), manifest)
    example, = json.loads(paths[0].read_text())["examples"]
    for name in example["files"]:
        expect((target / example["base"] / name).is_file(), name)
    header = (target / "src/tvmffi.h").read_text(encoding="utf-8")
    for line in (target / "keywords.txt").read_text().splitlines():
        word, kind = line.split("\t")
        expect(word in header and kind in ("KEYWORD1", "KEYWORD2"), line)


def check_cmsis(folder, kernel):
    """The files of each component are in the pack, and can be compiled."""
    target = assemble("cmsis", folder)
    pack, = folder.glob("*.pack")
    expect(pack.name == f"tvmffi.tvmffi.{version_of_header()}.pack", pack.name)
    with zipfile.ZipFile(pack) as archive:
        archive.extractall(folder / "pack")
    root = ElementTree.parse(folder / "pack/tvmffi.tvmffi.pdsc").getroot()
    expect(root.find("releases/release").get("version") == version_of_header(),
           "the release has another version")
    port = kernel / "portable/GCC/ARM_CM3"
    for component in root.findall("components/component"):
        variant = component.get("Cvariant")
        names = [f.get("name") for f in component.findall("files/file")]
        listed = folder / variant.replace(" ", "-")  # with nothing else
        listed.mkdir()
        for name in names:
            shutil.copy(folder / "pack" / name, listed)
        (listed / "RTE_Components.h").write_text(
            component.findtext("RTE_Components_h", "").strip() + "\n")
        sources = [n for n in names if n.endswith(".c")]
        expect(sources, f"{variant} has no source")
        for name in sources:
            run("arm-none-eabi-gcc", *ARM, *WARN, "-std=c99", f"-I{listed}",
                f"-I{HERE / 'freertos'}", f"-I{kernel / 'include'}",
                f"-I{port}", "-c", listed / name, "-o", folder / "part.o")
    expect(target.is_dir(), target)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--only", default="", help="a part of the names")
    args = parser.parse_args()
    cache = args.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    no_board = " ".join(n for n in [*NEEDED, "arm-none-eabi-g++"]
                        if not shutil.which(n))
    no_board = no_board and f"no {no_board}"
    no_cmake = "" if shutil.which("cmake") else "no cmake"
    no_kernel = no_board or why_no_kernel(cache)
    tap = Tap()
    with tempfile.TemporaryDirectory() as top:
        kernel = None
        for name, check, why_not, needs_kernel in [
                ("FreeRTOS", check_freertos, no_kernel, True),
                ("FreeRTOS, a task serves RPC", check_freertos_rpc, no_kernel,
                 True),
                ("ESP-IDF, a stand-in", check_esp_idf, no_kernel or no_cmake,
                 True),
                ("ESP-IDF, the component", check_esp_idf_package, no_cmake,
                 False),
                ("Zephyr, a stand-in", check_zephyr, no_cmake, False),
                ("Arduino, a stand-in", check_arduino, no_board, False),
                ("Arduino and PlatformIO, manifests", check_manifests, "",
                 False),
                ("CMSIS pack", check_cmsis, no_kernel, True)]:
            if args.only not in name:
                continue
            if why_not and os.environ.get("CI") != "true":
                tap.skip(name, why_not)
                continue
            folder = Path(top) / re.sub(r"\W+", "-", name)
            folder.mkdir()
            problem = why_not
            try:
                if not problem and needs_kernel:
                    kernel = kernel or find_kernel(cache, folder)
                    check(folder, kernel)
                elif not problem:
                    check(folder)
            except (Failed, OSError, LookupError, ValueError,
                    subprocess.TimeoutExpired) as error:
                problem = f"{type(error).__name__}: {error}"
            tap.ok(not problem, name, problem)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
