#!/usr/bin/env python3
"""Compiles the network for the board by Apache TVM:

    python compile.py llvm|c OUTPUT-FOLDER

writes into the folder:

    kernels.o or kernels.c  a function per layer, as a system library: before
                            main it registers its functions by name
    network.c               the list of layers and their constants
    network_memory.h        the memory that the network needs

The Python that runs this has what tests/clients/requirements-tvm.txt names.
"""

import re
import sys
from pathlib import Path

import numpy as np
import tvm
import tvm_ffi
from tvm import te

import network

TARGETS = {
    "llvm": {"kind": "llvm", "mtriple": "thumbv7m-none-eabi",
             "mcpu": "cortex-m3", "vector-width": 32},
    "c": {"kind": "c"},
}


# -- the layers as tensor programs -----------------------------------------

def const(value, dtype):
    return tvm.tirx.const(value, dtype)


def convolution(layer, x, weights, biases, factors):
    depth, rows, columns = x.shape
    k, r, c = (te.reduce_axis((0, n)) for n in (depth, 3, 3))

    def pad(k, i, j):
        inside = tvm.tirx.all(i >= 1, i <= rows, j >= 1, j <= columns)
        return tvm.tirx.if_then_else(inside, x[k, i - 1, j - 1],
                                     const(0, x.dtype))

    padded = te.compute((depth, rows + 2, columns + 2), pad, name="padded")
    sums = te.compute(layer.shape, lambda f, i, j: te.sum(
        padded[k, i + r, j + c].astype("int32")
        * weights[f, k, r, c].astype("int32"), axis=[k, r, c]), name="sums")

    def scale(f, i, j):
        product = ((sums[f, i, j] + biases[f]).astype("int64")
                   * factors[f].astype("int64"))
        half = const(1 << (network.SHIFT - 1), "int64")
        scaled = (product + half) >> const(network.SHIFT, "int64")
        return te.max(te.min(scaled, const(127, "int64")),
                      const(0, "int64")).astype("int8")

    return te.compute(layer.shape, scale, name="y")


def max_pool(layer, x):
    r, c = te.reduce_axis((0, 2)), te.reduce_axis((0, 2))
    return te.compute(layer.shape, lambda f, i, j: te.max(
        x[f, 2 * i + r, 2 * j + c], axis=[r, c]), name="y")


def dense(layer, x, weights, biases):
    axes = [te.reduce_axis((0, n)) for n in x.shape]
    sums = te.compute(layer.shape, lambda f: te.sum(
        weights[f, *axes].astype("int32") * x[tuple(axes)].astype("int32"),
        axis=axes), name="sums")
    return te.compute(layer.shape, lambda f: sums[f] + biases[f], name="y")


PROGRAMS = {network.Convolution: convolution, network.MaxPool: max_pool,
            network.Dense: dense}


def program(layer, shape):
    """Returns a function of the input, the constants and the output."""
    x = te.placeholder(shape, "int8", name="x")
    constants = [te.placeholder(value.shape, str(value.dtype), name=name)
                 for name, value in layer.constants.items()]
    y = PROGRAMS[type(layer)](layer, x, *constants)
    return te.create_prim_func([x, *constants, y]).with_attr(
        "global_symbol", layer.name)


def module(layers):
    functions, shape = {}, network.INPUT
    for layer in layers:
        functions[layer.name] = program(layer, shape)
        shape = layer.shape
    return tvm.IRModule(functions).with_attr("system_lib_prefix", "")


# -- memory ----------------------------------------------------------------

ALLOC_WORKSPACE = tvm.ir.Op.get("tirx.TVMBackendAllocWorkspace")


@tvm.instrument.pass_instrument
class Workspaces:
    """Adds up the bytes of temporary memory that each function allocates."""

    def __init__(self):
        self.size = {}

    def run_after_pass(self, mod, info):
        if info.name != "tirx.LowerTVMBuiltin":
            return
        for name, function in mod.functions.items():
            sizes = []

            def visit(call, sizes=sizes):
                if call.op.same_as(ALLOC_WORKSPACE):
                    sizes.append(int(call.args[2]))

            tvm_ffi.structural_walk(function.body, (tvm.ir.Call, visit))
            self.size[name.name_hint] = sum(sizes)


def bytes_of(shape, dtype):
    return int(np.prod(shape)) * np.dtype(dtype).itemsize


def memory(layers, workspaces):
    """Returns the largest sum of a layer's input, output and workspace."""
    print(f"{'layer':10} {'input':>7} {'output':>7} {'workspace':>10}")
    most, before = 0, bytes_of(network.INPUT, "int8")
    for layer in layers:
        after = bytes_of(layer.shape, layer.dtype)
        workspace = workspaces[layer.name]
        print(f"{layer.name:10} {before:7} {after:7} {workspace:10}")
        most = max(most, before + after + workspace)
        before = after
    print(f"tensors and workspaces: {most} bytes at most")
    return most


# -- output ----------------------------------------------------------------

def c_tensor(shape, dtype, symbol=None):
    data = f"(void *){symbol}" if symbol else "NULL"
    bits = np.dtype(dtype).itemsize * 8
    extents = ", ".join(map(str, shape))
    return (f"{{{data}, {{kDLCPU, 0}}, {len(shape)}, {{kDLInt, {bits}, 1}}, "
            f"(int64_t *)(const int64_t[]){{{extents}}}, NULL, 0}}")


def c_layer(layer):
    """Returns the layer's constants as C, and its entry in the list."""
    text, tensors = "", []
    for name, value in layer.constants.items():
        symbol = f"{layer.name}_{name}"
        numbers = ", ".join(map(str, value.flat))
        text += f"static const {value.dtype}_t {symbol}[] = {{{numbers}}};\n"
        tensors.append(c_tensor(value.shape, value.dtype, symbol))
    constants = "NULL"
    if tensors:
        constants = f"{layer.name}_constants"
        text += (f"static const DLTensor {constants}[] = {{\n  "
                 + ",\n  ".join(tensors) + "};\n")
    return text, (f'{{"{layer.name}", {constants}, {len(tensors)},\n   '
                  f"{c_tensor(layer.shape, layer.dtype)}}}")


def c_network(layers):
    texts, entries = zip(*map(c_layer, layers))
    return ('#include "network.h"\n' + "".join(texts)
            + "const DLTensor network_input = "
            + c_tensor(network.INPUT, "int8") + ";\n"
            + "const network_layer network_layers[] = {\n  "
            + ",\n  ".join(entries) + "};\n"
            + f"const int network_layer_count = {len(layers)};\n")


def c_kernels(source, layers):
    """Completes what the C code generator writes: tvmffi.h in place of TVM's
    headers and libc's, and the registration of the functions before main,
    which only the LLVM code generator writes itself."""
    source = re.sub(r'#include ("tvm/|<math).*\n', "", source)
    symbols = [f"__tvm_ffi_{layer.name}" for layer in layers]
    calls = "".join(
        f'  (void)TVMFFIEnvModRegisterSystemLibSymbol("{symbol}",\n'
        f"    (void *){symbol});\n" for symbol in symbols)
    return ('#include "tvmffi.h"\n#include "backend.h"\n' + source
            + "__attribute__((constructor)) static void register_all(void) {\n"
            + calls + "}\n")


def main():
    kind, folder = sys.argv[1], Path(sys.argv[2])
    layers, workspaces = network.layers(), Workspaces()
    with tvm.transform.PassContext(instruments=[workspaces]):
        library = tvm.tirx.build(module(layers),
                                 target=tvm.target.Target(TARGETS[kind]))
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "c":
        source = c_kernels(library.inspect_source(), layers)
        (folder / "kernels.c").write_text(source)
    else:
        library.write_to_file(str(folder / "kernels.o"))
    (folder / "network.c").write_text(c_network(layers))
    most = memory(layers, workspaces.size)
    (folder / "network_memory.h").write_text(
        f"#define NETWORK_MEMORY {most}\n")


if __name__ == "__main__":
    main()
