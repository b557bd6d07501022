#!/usr/bin/env python3
"""examples/20_one_kernel in each of its hosts, which print the same lines.

    python one_kernel.py --cc CC --server TVMFFI_RPC [--torch PYTHON]
        [--jax PYTHON] [--tvm PYTHON]

The Python that runs this has tvm_ffi. A host whose option is missing is left
out, and the board without its compiler and emulator is skipped. The notebook's
host is in tests/builds/wheel, where the wheel is. Writes TAP.
"""

import argparse
import pathlib
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "20_one_kernel"
sys.path.insert(0, str(ROOT / "tests" / "tools"))
sys.dont_write_bytecode = True

from tap import Tap

LINES = ["row_sums: 3 12", "axpy: 1 3 5", "scale: 0 2 4",
         "scale with bias: 1 6 11"]
SECONDS = 300  # that a host may take


def output(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True,
                          capture_output=True, timeout=SECONDS, **options)
    if done.returncode:
        raise RuntimeError(f"{command}: status {done.returncode}\n"
                           f"{done.stdout[-1000:]}{done.stderr[-3000:]}")
    return done.stdout


def served(server, library, python):
    """What the client of a server prints that has loaded the library."""
    process = subprocess.Popen(
        [server, "--port", "0", "--load", library], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        line = next(line for line in process.stdout if "listening on" in line)
        return output(python, EXAMPLE / "use_rpc.py", line.rsplit(":", 1)[1])
    finally:
        process.terminate()
        process.communicate()


def on_board(folder):
    """What the board prints before it waits."""
    output("sh", EXAMPLE / "build_board.sh", folder)
    process = subprocess.Popen(
        ["qemu-system-arm", "-M", "mps2-an385", "-display", "none", "-monitor",
         "none", "-serial", "stdio", "-kernel", f"{folder}/kernels.elf"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        return "".join(process.stdout.readline() for _ in LINES)
    finally:
        process.kill()
        process.communicate()


class Hosts:
    def __init__(self, args, folder):
        self.args, self.folder = args, pathlib.Path(folder)

    def compiled(self, name, source, *options):
        path = self.folder / name
        output(*shlex.split(self.args.cc), "-O1", f"-I{ROOT}", *options,
               EXAMPLE / source, "-o", path, "-lpthread")
        return path

    def library(self):
        """The kernels alone, whose runtime is the process's."""
        return self.compiled("plain.so", "kernels.c", "-shared", "-fPIC")

    def of_all_hosts(self, jax):
        """The kernels with the lines for hosts, and CUDA's header before them,
        so that all four are in one file. XLA's header comes with JAX."""
        xla = output(jax, "-c", "import jax; print(jax.ffi.include_dir())")
        file = self.folder / "all_hosts.c"
        file.write_text("#define TVMFFI_IMPLEMENTATION\n"
                        "#define TVMFFI_DYNAMIC 1\n"
                        '#include "tvmffi_cuda.h"\n'
                        f'#include "{EXAMPLE}/kernels.c"\n')
        return self.compiled(
            "kernels.so", file, "-shared", "-fPIC", "-DALL_HOSTS=1", "-Wall",
            "-Wextra", "-Werror", *(f"-I{ROOT}/hosts/{host}" for host in (
                "cuda", "python", "torch", "xla")),
            f"-I{sysconfig.get_path('include')}", "-isystem", xla.strip())

    def run(self, tap):
        args = self.args
        self.check(tap, "a C program", lambda: output(
            self.compiled("program", "program.c", "-std=c11")))
        self.check(tap, "tvm_ffi", lambda: output(
            sys.executable, EXAMPLE / "use_tvm_ffi.py", self.library()))
        if args.jax:
            library = self.of_all_hosts(args.jax)
            self.check(tap, "an extension module", lambda: output(
                sys.executable, EXAMPLE / "use_extension.py", library))
            self.check(tap, "JAX", lambda: output(
                args.jax, EXAMPLE / "use_jax.py", library))
            if args.torch:
                self.check(tap, "PyTorch", lambda: output(
                    args.torch, EXAMPLE / "use_torch.py", library), LINES * 2)
        if args.tvm:
            self.check(tap, "RPC", lambda: served(
                args.server, self.library(), args.tvm))
        if all(map(shutil.which, ("arm-none-eabi-gcc", "qemu-system-arm"))):
            self.check(tap, "a board", lambda: on_board(self.folder))
        else:
            tap.skip("a board", "no arm-none-eabi-gcc or qemu-system-arm")

    @staticmethod
    def check(tap, name, host, lines=LINES):
        try:
            found = host().splitlines()
        except Exception as error:
            tap.ok(False, name, error)
        else:
            tap.ok(found == lines, name, "\n".join(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--server", required=True)
    for name in ("torch", "jax", "tvm"):
        parser.add_argument(f"--{name}")
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        Hosts(parser.parse_args(), folder).run(tap)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
