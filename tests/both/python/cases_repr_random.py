"""Texts, hashes and orders of random values, and hooks that misbehave."""

import random
import struct
from typing import Any

import tvm_ffi
from tvm_ffi.core import Object
from tvm_ffi.dataclasses import field, py_class

from kit import outcome

REPR, HASH = (tvm_ffi.get_global_func("ffi." + n)
              for n in ("ReprPrint", "RecursiveHash"))
ORDERS = [tvm_ffi.get_global_func("ffi.Recursive" + n)
          for n in ("Eq", "Lt", "Le", "Gt", "Ge")]


@py_class("repr_random.Plain")
class Plain(Object):
    a: Any
    b: Any = None


@py_class("repr_random.Flags")
class Flags(Object):
    a: Any
    no_repr: Any = field(default=1, repr=False)
    no_hash: Any = field(default=2, hash=False)
    no_compare: Any = field(default=3, compare=False)


@py_class("repr_random.Hooks")
class Hooks(Object):
    a: Any

    def __ffi_repr__(self, fn):
        return f"<{fn(self.a)}|{fn(self.a)}>"

    def __ffi_hash__(self, fn):
        return fn(self.a) ^ 5

    def __ffi_eq__(self, other, fn):
        return fn(self.a, other.a)

    def __ffi_compare__(self, other, fn):
        return -fn(self.a, other.a)


def number(r):
    bits = r.getrandbits(64)
    return r.choice([struct.unpack("<d", struct.pack("<Q", bits))[0],
                     round(r.uniform(-10, 10), r.randrange(8)),
                     (r.randrange(10**6) + 0.5) * 10.0 ** r.randrange(-12, 12)])


def text(r):
    parts = ["\x1b[", "1;3", "m", "K", "\n", "\\", '"', "\u00e9", "\u6f22",
             "\U0001f600", "\x7f", "\0", "plain"]
    return "".join(r.choice(parts) for _ in range(r.randrange(8)))


def value(r, depth, pool):
    if pool and r.random() < 0.15:
        return r.choice(pool)
    if depth == 0 or r.random() < 0.3:
        return r.choice([
            None, True, 1, r.randrange(-9, 9), number(r), text(r),
            text(r).encode(), 1 << r.randrange(60, 300),
            tvm_ffi.device("cuda:1"), tvm_ffi.dtype("float16x4"),
            tvm_ffi.Shape([r.randrange(9)])])
    some = [value(r, depth - 1, pool) for _ in range(r.randrange(4))]
    keyed = {r.choice([0, 1, "k", text(r)]): v for v in some}
    some.append(None)
    made = r.choice([
        lambda: tvm_ffi.Array(some), lambda: tvm_ffi.List(some),
        lambda: tvm_ffi.Map(keyed), lambda: tvm_ffi.Dict(keyed),
        lambda: Plain(some[0], some[-1]), lambda: Hooks(some[0]),
        lambda: Flags(*[some[0]] * 4)])()
    pool.append(made)
    return made


def make(seed):
    r = random.Random(seed)
    pool = []
    made = value(r, r.randrange(6), pool)
    for one in pool:
        if isinstance(one, tvm_ffi.List) and r.random() < 0.25:
            one.append(r.choice(pool))
        elif isinstance(one, Plain) and r.random() < 0.25:
            one.b = r.choice(pool)
    return made


def compared(seeds):
    out = []
    for seed in seeds:
        a, same, b = make(seed), make(seed), make(seed + 1)
        out.append((outcome(REPR, a), outcome(HASH, a),
                    [outcome(f, a, same) for f in ORDERS],
                    [outcome(f, a, b) for f in ORDERS]))
    return [str(x) for x in out]


def case_random_values():
    return compared(range(300))


def case_more_random_values():
    return compared(range(10000, 10300))


def case_random_floats():
    r = random.Random(7)
    return [REPR(number(r)) for _ in range(3000)]


def hooked(name, f, g):
    @py_class("repr_random." + name)
    class Bad(Object):
        a: Any

        def __ffi_repr__(self, fn):
            return f(self, fn)

        def __ffi_hash__(self, fn):
            return f(self, fn)

        def __ffi_eq__(self, other, fn):
            return g(self, other, fn)

        def __ffi_compare__(self, other, fn):
            return g(self, other, fn)

    x, y = Bad(1), Bad(1)
    return [outcome(REPR, x), outcome(HASH, x)] + \
        [outcome(f, x, y) for f in ORDERS] + \
        [outcome(REPR, tvm_ffi.List([x, x])), outcome(REPR, Bad(x))]


def case_results_of_hooks():
    return [hooked(f"Gives{i}", lambda s, fn, v=v: v, lambda s, o, fn, v=v: v)
            for i, v in enumerate([5, None, 2.5, b"x", True, "s", "a long text",
                                   2**40, -2**33 - 1, 2**70])]


def case_callbacks_misused():
    return [hooked(f"Calls{i}", lambda s, fn, v=v: fn(*v),
                   lambda s, o, fn, v=v: fn(*v))
            for i, v in enumerate([(), (1, 2), (1, 2, 3), ("a raw string",)])]


def case_hooks_of_themselves():
    return hooked("Self", lambda s, fn: fn(s), lambda s, o, fn: fn(s, o))
