"""Looks for the programs that a command needs, by Debian's names of packages,
and installs Python packages into build/."""

import os
import sys
from glob import glob
from hashlib import sha256
from pathlib import Path
from shutil import rmtree, which
from subprocess import DEVNULL

from job import die, output, run, say, status_of, works

CI = os.environ.get("CI") == "true"
DEBIAN_PYTHON = "/usr/bin/python3"  # for Debian's packages

# -- programs ------------------------------------------------------------


def links(*compiler):
    """Whether it builds a C program."""
    # Not to /dev/null: run by root, some linkers remove the device and put
    # a file in its place.
    Path("build").mkdir(exist_ok=True)
    return works(*compiler, "-x", "c", "-o", "build/linked", "-",
                 input=b"int main(void) { return 0; }")


def have_torch():
    return works(DEBIAN_PYTHON, "-c", "import torch")


def have_cargo():
    """1.85 or newer, for the crate that has FreeRTOS."""
    return works("cargo", "--version") and [
        int(n) for n in output("cargo", "--version").split()[1].split(".")[:2]
    ] >= [1, 85]


CHECKS = {"links": links, "runs": works, "file": os.path.exists,
          "cargo": have_cargo, "torch": have_torch, "python":
          lambda *words: works(sys.executable, "-c", " ".join(words))}
# Packages, and a check of CHECKS with its arguments, or a program to be found.
GCC = "gcc libc6-dev: links gcc\n"
# Without CI, the tests of an absent program are skipped.
CARGO = "cargo-web rustc-web: cargo\n" if CI else ""
TORCH = "python3-torch python3-numpy: torch\n" if CI else ""
SANITIZERS = """clang: clang++
llvm: llvm-symbolizer
libclang-rt-dev: links clang -fsanitize=address
"""
HARDEN = GCC + """clang-19 lld-19 libclang-rt-19-dev: \
links clang-19 -fsanitize=integer
llvm-19: llvm-symbolizer-19
"""
COVERAGE = """clang-19 libclang-rt-19-dev: \
links clang-19 -fprofile-instr-generate
llvm-19: llvm-cov-19
"""
PORTS = """clang-19 lld-19 llvm-19 libclang-rt-19-dev: links clang-19
llvm-19: llvm-size-19
clang-14: clang-14
gcc-12-multilib: links gcc -m32 -idirafter/usr/include/x86_64-linux-gnu
tcc: tcc
musl-tools: musl-gcc
gcc-aarch64-linux-gnu libc6-dev-arm64-cross: \
links aarch64-linux-gnu-gcc -static
gcc-arm-linux-gnueabihf libc6-dev-armhf-cross: \
links arm-linux-gnueabihf-gcc -static
gcc-riscv64-linux-gnu libc6-dev-riscv64-cross: \
links riscv64-linux-gnu-gcc -static
gcc-s390x-linux-gnu libc6-dev-s390x-cross: links s390x-linux-gnu-gcc -static
gcc-powerpc64-linux-gnu libc6-dev-ppc64-cross: \
links powerpc64-linux-gnu-gcc -static
gcc-mips-linux-gnu libc6-dev-mips-cross: links mips-linux-gnu-gcc -static
qemu-user-static: qemu-s390x-static
gcc-mingw-w64-x86-64-posix: x86_64-w64-mingw32-gcc-posix
wine64 wine: /usr/lib/wine/wine64
nodejs: node
lld-19 wasi-libc libclang-rt-19-dev-wasm32: links clang-19 --target=wasm32-wasi
gcc-arm-none-eabi picolibc-arm-none-eabi: \
links arm-none-eabi-gcc -mcpu=cortex-m3 --specs=picolibc.specs
gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf: \
links riscv64-unknown-elf-gcc --specs=picolibc.specs
qemu-system-arm: qemu-system-arm
cppcheck: cppcheck
qemu-system-misc: qemu-system-riscv32
qemu-system-x86: qemu-system-x86_64
linux-headers-amd64 make: file /usr/share/doc/linux-headers-amd64
busybox-static: busybox
cpio: cpio
chromium: chromium
cmake: cmake
""" + CARGO
PACKAGING = """build-essential: runs dpkg -s build-essential
cmake: /usr/bin/cmake
debhelper: dh
git: git
make: make
binutils: readelf
pkg-config: pkg-config
nodejs: node
npm: npm
clang-19 lld-19: links clang-19 --target=wasm32 -nostdlib -Wl,--no-entry
""" + CARGO


def needs(kind):
    # CC may have several words.
    compilers = (f"gcc libc6-dev: links {os.environ.get('CC') or 'cc'}\n"
                 f"g++: {os.environ.get('CXX') or 'c++'}\n")
    version = output("gcc", "-dumpversion") if which("gcc") else "12"
    return "python3-venv: python import ensurepip, venv\n" + {
        "all": f"{GCC}g++: g++\ngcc-{version}-multilib g++-{version}-multilib: "
               f"links g++ -m32\n{SANITIZERS}valgrind: valgrind\n"
               "spin: spin\n"
               + COVERAGE + PACKAGING + PORTS + TORCH,
        "coverage": COVERAGE,
        "harden": HARDEN,
        "ports": PORTS,
        "proofs": GCC + "frama-c-base: frama-c\n",
        "sanitizers": SANITIZERS + GCC,
        "release": "git: git\nnodejs: node\nnpm: npm\n",
        "compare": compilers + "python3-dev: python import os, sysconfig; "
                   "os.stat(sysconfig.get_path('include') + '/Python.h')\n",
        "packaging": compilers + PACKAGING}.get(kind, compilers)


def missing(kind):
    lacking = []
    for line in needs(kind).splitlines():
        names, command = line.split(": ")
        check, *words = command.split()
        if not (CHECKS[check](*words) if check in CHECKS else which(check)):
            lacking.append(names)
    return " ".join(lacking)


def need_tools(kind=None):
    """`kind` is all, compare, coverage, harden, packaging, ports, proofs,
    release or sanitizers."""
    names = missing(kind)
    if names and CI and os.getuid() == 0:
        say(f"installing {names}")
        os.environ["DEBIAN_FRONTEND"] = "noninteractive"
        for command in (["update"], ["install", "-y", "--no-install-recommends",
                                     *names.split()]):
            status_of("apt-get", "-qq", *command, stdout=DEVNULL)
        names = missing(kind)
    if names:
        die(f"missing: {names}\nOn Debian or Ubuntu this installs it:\n"
            f"  sudo apt-get install --no-install-recommends {names}")


# -- Python packages -----------------------------------------------------


def is_current(folder, stamp):
    path = Path(folder, "stamp")
    return path.is_file() and path.read_text() == stamp


def pip(python, folder, stamp, *arguments):
    """Returns whether pip could install into the folder."""
    good = not status_of(python, "-m", "pip", "install", "--quiet",
                         "--disable-pip-version-check", "--retries", "5",
                         *arguments)
    if good:
        Path(folder, "stamp").write_text(stamp)
    return good


def make_venv(folder, base, *arguments):
    """Returns whether pip could install what the arguments say."""
    texts = [path.read_bytes() for top in ("bench", "packaging", "tests")
             for path in sorted(Path(top).rglob("requirements*.txt"))]
    texts.append(Path("requirements.txt").read_bytes())
    stamp = (f"{sha256(b''.join(texts)).hexdigest()} "
             f"{output(base, '--version')} {os.getcwd()} {arguments}")
    python = f"{folder}/bin/python"
    if is_current(folder, stamp) and works(python, "-c", ""):
        return True
    say(f"installing into {folder}")
    rmtree(folder, ignore_errors=True)
    run(base, "-m", "venv", *(["--system-site-packages"]
                              if folder.endswith("-torch") else []), folder)
    return pip(python, folder, stamp, *arguments)


def need_venv(folder, *names, base=sys.executable, options=()):
    """Installs requirements.txt files, or those of folders; ends this program
    if pip cannot."""
    files = [name if name.endswith(".txt") else f"{name}/requirements.txt"
             for name in names]
    words = [word for name in files for word in ("-r", name)]
    if not make_venv(folder, base, *options, *words):
        die(f"pip could not install {' '.join(files)}")


def use_venv(folder):
    os.environ["PATH"] = f"{os.path.abspath(folder)}/bin:{os.environ['PATH']}"


def prepare(kind=None):
    """Looks for tools, and puts the Python of build/venv first."""
    need_tools(kind)
    more = []
    if kind in ("all", "packaging"):
        more += ["tests/builds/packaging", "tests/builds/wheel"]
    if kind == "all":  # a test of the benchmarks' report draws plots
        more.append("bench")
    need_venv("build/venv", "requirements.txt", "tests/both/python", *more)
    use_venv("build/venv")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def stand_in_for_cuda(folder):
    """Makes PyTorch's wheel in a venv run without CUDA."""
    run(sys.executable, "devtools/torch_cpu.py",
        *glob(f"{folder}/lib/python*/site-packages"))


def client_venv(name):
    """The Python with a client's packages, or "" if pip cannot install."""
    base, file = sys.executable, f"tests/clients/requirements-{name}.txt"
    if name == "torch":
        base, file = DEBIAN_PYTHON, "tests/clients/requirements.txt"
        if not have_torch():
            return ""
    if make_venv(f"build/venv-{name}", base, "--no-deps", "-r", file):
        if name in ("torch-host", "torch-oldest"):
            stand_in_for_cuda(f"build/venv-{name}")
        return os.path.abspath(f"build/venv-{name}/bin/python")
    say(f"pip could not install {file}")
    return ""


def installed_tvm():
    """The Python that has Apache TVM, or "" if it is not installed."""
    return os.path.abspath("build/venv-tvm/bin/python") \
        if Path("build/venv-tvm/stamp").is_file() else ""


def unpack(folder, stamp, what, *arguments):
    """The folder with a wheel's files, without what the wheel needs."""
    if not is_current(folder, stamp):
        say(f"installing into {folder}")
        rmtree(folder, ignore_errors=True)
        if not pip("python", folder, stamp, "--no-deps",
                   "--only-binary=:all:", "--target", folder, *arguments):
            say(f"pip could not install {what}")
    return os.path.abspath(folder)


def unpack_wheel(name, *arguments):
    """The folder with the wheel of a client's requirements."""
    file = f"tests/clients/requirements-{name}.txt"
    return unpack(f"build/{name}", Path(file).read_text(), file, *arguments,
                  "-r", file)


def unpack_torch(version):
    """The folder with a version of PyTorch."""
    what = f"torch=={version}"
    folder = unpack(f"build/torch-{version}", version, what, what)
    run(sys.executable, "devtools/torch_cpu.py", folder)
    return folder
