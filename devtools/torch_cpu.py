"""Writes stand-ins for CUDA's libraries, so that PyTorch's wheel runs on a CPU.

    torch_cpu.py SITE_PACKAGES

PyPI has no wheel of PyTorch for Linux without CUDA, and that wheel is linked
with 15 libraries of CUDA, 3 GB installed. Where there is no GPU, PyTorch calls
few of their functions, and these only when it starts. Each function of a stand-in
returns 100, CUDA's code for "no device". Needs cc, nm and readelf.
"""

import collections
import pathlib
import re
import subprocess
import sys

CUDA = re.compile(r"lib(cu|nv|nccl)")
# Functions of libraries without symbol versions.
UNVERSIONED = re.compile(r"nccl|cuFile|cufft|cu[A-Z]|cusparse|curand|nvml")


def read(*command):
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout


def versions_of(library):
    """Returns the library that defines each needed symbol version."""
    found, name = {}, None
    for line in read("readelf", "-VW", library).splitlines():
        if match := re.search(r"File: (\S+)", line):
            name = match[1]
        elif match := re.search(r"Name: (\S+)  Flags", line):
            found[match[1]] = name
    return found


def write(folder, name, symbols):
    """Writes a library; `symbols` are pairs of name and version or ""."""
    nodes = collections.defaultdict(list)
    lines = [".text"]
    for i, (symbol, version) in enumerate(sorted(symbols)):
        label = f"stand_in_{i}" if version else symbol
        lines += [f".globl {label}", f".type {label}, @function", f"{label}:",
                  "mov $100, %eax", "ret"]
        if version:
            lines.append(f".symver {label}, {symbol}@@{version}, remove")
            nodes[version].append(symbol)
    source, script = folder / "stand_in.s", folder / "stand_in.map"
    source.write_text("\n".join(lines) + "\n")
    script.write_text("".join(f"{version} {{ global: {'; '.join(names)}; }};\n"
                              for version, names in nodes.items()))
    subprocess.run(["cc", "-shared", "-nostdlib", f"-Wl,-soname,{name}",
                    *([f"-Wl,--version-script={script}"] if nodes else []),
                    "-o", folder / name, source], check=True)
    source.unlink()
    script.unlink()


def main(site):
    folder = pathlib.Path(site).resolve() / "torch" / "lib"
    own = [path for path in sorted(folder.glob("*.so"))]
    stand_ins, unversioned = collections.defaultdict(set), set()
    for library in own:
        for name in re.findall(r"NEEDED.*\[(.*)\]",
                               read("readelf", "-d", library)):
            if CUDA.match(name):
                stand_ins[name] |= set()
        versions = versions_of(library)
        for text in re.findall(r" [Uw] (\S+)",
                               read("nm", "-D", "--undefined-only", library)):
            symbol, _, version = text.partition("@")
            owner = versions.get(version, "")
            if CUDA.match(owner):
                stand_ins[owner].add((symbol, version))
            elif not version and UNVERSIONED.match(symbol):
                unversioned.add((symbol, ""))
    if stand_ins:
        stand_ins[min(stand_ins)] |= unversioned
    for name, symbols in stand_ins.items():
        write(folder, name, symbols)


main(sys.argv[1])
