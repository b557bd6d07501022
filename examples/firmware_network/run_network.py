#!/usr/bin/env python3
"""Sends pictures to the firmware under qemu, and compares the output of each
layer with NumPy's:

    python run_network.py FIRMWARE.elf
"""

import subprocess
import sys
import threading

import numpy as np

import network

SECONDS = 60  # that the machine may take
# The machine counts time in instructions: one takes a nanosecond.
MACHINE = ["qemu-system-arm", "-M", "mps2-an385", "-icount", "shift=0",
           "-display", "none", "-monitor", "none", "-serial", "stdio",
           "-kernel"]


class Board:
    def __init__(self, elf):
        self.machine = subprocess.Popen(
            [*MACHINE, elf], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, bufsize=1)
        self.timer = threading.Timer(SECONDS, self.machine.kill)

    def __enter__(self):
        self.timer.start()
        first = self.read()
        if first != "ready":
            raise RuntimeError(f"the firmware writes {first!r}, not ready")
        return self

    def __exit__(self, *error):
        self.timer.cancel()
        self.machine.kill()
        self.machine.wait()

    def read(self):
        line = self.machine.stdout.readline()
        if not line:
            raise RuntimeError("the firmware does not answer")
        return line.strip()

    def ask(self, line):
        """Sends a line; returns the words of each line of the answer."""
        self.machine.stdin.write(line + "\n")
        self.machine.stdin.flush()
        answer = [self.read()]
        while answer[-1][0] not in "=!":
            answer.append(self.read())
        return [line.split() for line in answer]


def check(board, picture):
    """Returns the answer if all layers' outputs are NumPy's."""
    answer = board.ask(picture.tobytes().hex())
    layers = network.layers()
    outputs = network.run(layers, picture)
    if len(answer) != len(layers) + 1 or answer[-1][0] != "=":
        raise RuntimeError(f"the firmware answers {answer[-1]}")
    for line, layer, wanted in zip(answer, layers, outputs):
        name, _, digits = line
        got = np.frombuffer(bytes.fromhex(digits), layer.dtype)
        if name != layer.name:
            raise RuntimeError(f"the layer is {name}, not {layer.name}")
        np.testing.assert_array_equal(got.reshape(layer.shape), wanted)
    if int(answer[-1][1]) != outputs[-1].argmax():
        raise RuntimeError(f"class {answer[-1][1]}")
    return answer


def main():
    with Board(sys.argv[1]) as board:
        for picture in network.pictures(3):
            *lines, (_, best, used, most, stack) = check(board, picture)
            for name, time, digits in lines:
                print(f"{name}: {len(digits) // 2} bytes as NumPy's, "
                      f"{time} instructions")
            print(f"class {best}; arena: {used} bytes, at most {most}; "
                  f"stack: at most {stack}")


if __name__ == "__main__":
    main()
