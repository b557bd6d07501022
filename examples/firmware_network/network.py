"""The network: its layers, its weights, and what NumPy computes.

A layer takes the output of the layer before it, and its own constants:
quantized weights, biases, and a factor per channel that scales the sums of a
convolution to int8. The weights are random, so the network recognizes nothing.
"""

import functools

import numpy as np

SHIFT = 24  # a factor is a multiple of 2 ** -SHIFT
INPUT = (1, 16, 16)  # channels, rows, columns; int8
CLASSES = 10


class Convolution:
    """3 x 3, with zeros around the input, as many rows and columns as the
    input, then ReLU and scaling to int8."""

    dtype = "int8"

    def __init__(self, name, before, channels, scale, rng):
        depth, rows, columns = before
        self.name, self.shape = name, (channels, rows, columns)
        self.constants = {
            "weights": rng.integers(-127, 128, (channels, depth, 3, 3),
                                    "int8"),
            "biases": rng.integers(-2000, 2000, channels, "int32"),
            "factors": (scale * rng.uniform(0.7, 1.3, channels)
                        * 2 ** SHIFT).astype("int32")}

    def compute(self, x):
        weights, biases, factors = self.constants.values()
        rows, columns = self.shape[1:]
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1))).astype("int32")
        sums = biases[:, None, None].astype("int64")
        for r in range(3):
            for c in range(3):
                part = padded[:, r:r + rows, c:c + columns]
                sums = sums + np.tensordot(weights[:, :, r, c], part, 1)
        scaled = (sums * factors[:, None, None] + 2 ** (SHIFT - 1)) >> SHIFT
        return np.clip(scaled, 0, 127).astype("int8")


class MaxPool:
    """The maximum of each square of 2 x 2."""

    dtype = "int8"
    constants = {}

    def __init__(self, name, before):
        self.name = name
        self.shape = (before[0], before[1] // 2, before[2] // 2)

    def compute(self, x):
        channels, rows, columns = self.shape
        return x.reshape(channels, rows, 2, columns, 2).max((2, 4))


class Dense:
    """A product with a matrix, whose int32 sums are the scores of classes."""

    dtype = "int32"

    def __init__(self, name, before, classes, rng):
        self.name, self.shape = name, (classes,)
        self.constants = {
            "weights": rng.integers(-127, 128, (classes, *before), "int8"),
            "biases": np.zeros(classes, "int32")}

    def compute(self, x):
        weights, biases = self.constants.values()
        return biases + np.tensordot(weights.astype("int32"), x, 3)


@functools.cache
def layers():
    rng = np.random.default_rng(1)
    first = Convolution("conv1", INPUT, 8, 1 / 256, rng)
    first_pool = MaxPool("pool1", first.shape)
    second = Convolution("conv2", first_pool.shape, 16, 1 / 512, rng)
    second_pool = MaxPool("pool2", second.shape)
    scores = Dense("dense", second_pool.shape, CLASSES, rng)
    result = [first, first_pool, second, second_pool, scores]
    # Without these biases one class would win for all pictures.
    samples = [run(result, picture)[-1] for picture in pictures(32)]
    scores.constants["biases"] = -np.mean(samples, 0).astype("int32")
    return result


def pictures(count):
    """Returns squares of random gray values."""
    squares = np.random.default_rng(2).integers(-128, 128, (count, 1, 4, 4))
    return np.kron(squares, np.ones((1, 1, 4, 4))).astype("int8")


def run(layers, picture):
    """Returns the output of each layer."""
    result = []
    for layer in layers:
        picture = layer.compute(picture)
        result.append(picture)
    return result
