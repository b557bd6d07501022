"""Extension modules by tvmffi_python.h.

    python test_extension.py --dropin DIR --cc CC [--cxx CXX] [--calls N]
                             [--free-python PYTHON]

Builds extension.c and classes.c for this Python and imports them where tvm_ffi
is not installed, where it is not imported, and where it is. The same library is loaded
by tvm_ffi.load_module, too, and each function has to give the same. Threads
make their first calls at the same time. A debug CPython (python3-dbg) counts
references during N random calls. PYTHON is a free-threaded CPython with
apache-tvm-ffi and numpy: its threads call without a GIL. Writes TAP.
"""

import argparse
import functools
import importlib.util
import inspect
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
sys.dont_write_bytecode = True

from tap import Tap

CALLS = """
m.nop() | m.nop(1) | m.add(2) | m.add(2, 3) | m.add(b=5, a=2) | m.add(2, b=3)
m.add() | m.add(1, 2, 3) | m.add('x') | m.add(1.5) | m.add(True) | m.add(None)
m.add(1, c=3) | m.add(1, a=3) | m.add(b=3) | m.add(-2**63)
m.join('a') | m.types() | m.types(1, None, None) | m.join('a', d=False) | m.join('a', e=b'xyz') | m.join(b='x')
m.join('a' * 20, 'b' * 20) | m.join('caf\\xe9', '\\u4e2d') | m.join('\\ud800')
m.echo(None) | m.echo(0) | m.echo(-1) | m.echo(2**62) | m.echo(2**100)
m.echo(-2**100) | m.echo(2**64 - 1) | m.echo(1.5) | m.echo(True)
m.echo('') | m.echo('short') | m.echo('1234567') | m.echo('12345678')
m.echo('a' * 100) | m.echo(b'') | m.echo(b'short') | m.echo(b'b' * 100)
m.fail('ValueError') | m.fail('KeyError')
m.call(lambda x: x, 3) | m.call(lambda x: x * 2, 'text') | m.call(len, 'text')
m.call(lambda x: x, 'a long text') | m.call(lambda x: None, 1)
m.call(lambda x: [][1], 1) | m.call(abs, -2.5) | m.has_failed(lambda: [][1])
m.double_of(lambda: [][1]) | m.total([1, 'x']) | m.total([2, 3])
m.call(lambda x: m.call(lambda y: y + 1, x), 3) | m.call(str.upper, 'text')
m.kind_of(lambda: [1, 'a long text']) | m.kind_of(lambda: {'a': (1, [2])})
m.kind_of(lambda: len) | m.kind_of(lambda: lambda x: x) | m.kind_of(tuple)
m.keep(lambda x: x) | m.keep(len, False) | m.is_alive() | m.keep(None)
m.eleven(1, 2, 3, 4, 5, 6, 7, 8, 9, 'a text') | m.eleven(*range(12))
m.eleven(1, 2, 3, 4, 5, 6, 7, 8, k=1, j='j', i=2)
m.join('a text with \\0 in it', 'b' * 8) | m.join('four\\0\\0\\0\\0')
m.total([2**30 - 1, 2**30, 2**31, 2**40]) | m.total([-2**30, -2**40, 0, -1])
m.total([2**60, -2**60, 2**62, -2**63]) | m.total([1, True, 2**29])
m.echo(Ellipsis) | m.call(lambda x: x, Ellipsis) | m.call(lambda x: 1j, 1)
m.add(Ellipsis) | m.size_of('int8') | m.size_of(dict) | m.echo(bytearray(b'a' * 9))
m.total([]) | m.total(()) | m.total([3] * 1000) | m.total((4, 5)) | m.total([7, None])
"""
# Without the package tvm_ffi, texts are plain and only these calls are there.
OBJECTS = """
m.echo([1, [2, 'x'], (3.5, None)]) | m.echo({'a': 1, 'b': [2]}) | m.echo(())
m.echo(list(range(40))) | m.echo({1, 2}) | m.echo(object) | m.call(m.echo, [1])
m.call(lambda x: [x, 1], 'text') | m.call(lambda x: x, {'a': (1, 2)})
m.echo(tvm_ffi.dtype('int8')) | m.echo(tvm_ffi.device('cuda', 3))
m.echo(tvm_ffi.Array([1, 2])) | m.echo(tvm_ffi.core.String('a long text'))
m.echo(Kind.ONE) | m.echo(numpy.float32(2)) | m.echo(numpy.int8(3))
m.echo(numpy.dtype('int16')) | m.echo(Value()) | m.echo(Text('text'))
m.view(numpy.zeros((2, 3))) | m.view(numpy.zeros((2, 3), 'int8').T)
m.view(numpy.zeros((4, 6))[::2, 1::3]) | m.view(numpy.zeros(()))
m.view(numpy.zeros((1, 5, 0))) | m.view(numpy.zeros((3, 1))[:, ::-1])
m.view(numpy.zeros(3, 'float16')) | m.view(numpy.zeros(3, 'uint64'))
m.view(numpy.zeros(3, '>i4')) | m.view(numpy.zeros(3, bool))
m.view(numpy.zeros(3, 'complex64')) | m.view([1, 2])
m.view(numpy.zeros([1] * 12))
m.view(tvm_ffi.from_dlpack(numpy.zeros((2, 3)))) | m.view(wrapper)
m.view_object(numpy.zeros((2, 3))) | m.view_object(numpy.zeros((4, 6))[::2])
m.view_object(numpy.zeros([1] * 12)) | m.view_object(wrapper)
m.echo(wrapper) | m.kind_of(lambda: array) | m.kind_of(lambda: [wrapper, array])
m.kind_of(lambda: wrapper) | m.view(misaligned) | m.view(Export(array.T))
m.kind_of(lambda: Export(array)) | m.kind_of(lambda: {'a': tvm_ffi.Array([1])})
m.echo([Export(array), 1])[1:] | m.view(Export(frozen)) | m.view(numpy.zeros([1] * 64))
m.fill(array, 2.5) | m.fill(array.astype('float32'), 1) | array.tolist()
m.keep([1, 2.5]) | m.total([4] * 20) | m.total([5, 6, 7]) | m.kept() | m.is_alive()
m.keep([8, 9], False) | m.total([1, 2]) | m.is_alive() | m.keep((1, -2.5)) | m.kept()
m.keep(numpy.ones((2, 3))) | m.is_alive() | numpy.from_dlpack(m.kept()).tolist()
m.keep(numpy.ones(2), False) | m.is_alive() | m.keep([numpy.ones(3), [wrapper]])
numpy.from_dlpack(m.kept()[0]).tolist() | m.keep(lambda x: x + 1) | m.kept()(3)
m.keep(len, False) | m.is_alive() | m.kept() | m.keep([len, abs]) | m.kept()[1](-2)
m.keep(wrapper) | numpy.from_dlpack(m.kept()).shape | m.keep(wrapper, False)
m.is_alive() | references(m, array) | references(m, len) | references(m, [array])
references(m, lambda x: x) | references(m, numpy.ones(2))
m.view(described(m, 'f4')) | m.view_object(described(m, 'i1')) | m.is_alive()
m.keep(described(m, 'i2')) | numpy.from_dlpack(m.kept()).tolist() | m.keep(None)
m.keep(described(m, 'i2'), False) | m.is_alive() | m.echo(described(m, 'f8'))
references(m, described(m, 'f8'))
"""
# Results that are as the arrays of the call, and exceptions that are more precise
# than those of tvm_ffi, with the answers. The first ones leave it unimported.
RESULTS = {
    "m.tail(array, 1)": "array([1., 2.]) ndarray",
    "m.tail(frozen)": "array([0., 0., 0.]) ndarray",
    "[m.tail(array, 1, t).dtype.name for t in ('int8', 'uint64', 'bool', "
    "'float16', 'float32')]":
        "['int8', 'uint64', 'bool', 'float16', 'float32'] list",
    "m.tail(array, 3).shape": "(0,) tuple",
    "m.tail(array).flags.writeable": "True bool",
    "m.echo(array) is array": "True bool",
    "m.echo(array[::2].T).strides": "(16,) tuple",
    "m.wrapped(array)":
        "(array([0., 1., 2.]), [array([0., 1., 2.]), 'text', []], "
        "{'a': array([0., 1., 2.])}, {'b': 2.5}) tuple",
    "m.wrapped(array)[0] is array": "True bool",
    "m.nested(array, 3)": "(((array([0., 1., 2.]),),),) tuple",
    "m.echo({'k': (array, [1])})": "{'k': (array([0., 1., 2.]), (1,))} dict",
    "m.read(frozen)": "0.0 float",
    "m.read(numpy.frombuffer(b'12345678', 'float64')) > 0": "True bool",
    "m.read(array, bias=frozen)": "3.0 float",
    "[m.add(i(2)) for i in (numpy.int8, numpy.uint16, numpy.int64)]":
        "[3, 3, 3] list",
    # Objects with __index__ or __float__ are numbers, as for functions in C of
    # CPython.
    "m.add(numpy.array(2), Index(3)), m.add(1, b=Index(2**62))":
        f"(5, {1 + 2**62}) tuple",
    "m.join('a', c=numpy.array(2.5)), m.join('a', c=Index(3)), m.types(Index(1))":
        "('a two 2.5 1 0', 'a two 3 1 0', None) tuple",
    "m.add(numpy.arange(2))":
        "TypeError: add: argument `a`: expected an int, got ndarray",
    "m.add(numpy.array(2.5))":
        "TypeError: add: argument `a`: expected an int, got ndarray",
    "m.types(Index(300))":
        "OverflowError: types: argument `a`: expected an int from -128 to 127, got "
        "300",
    "m.add(Index('x'))": "ValueError: no index",
    "m.echo(numpy.uint64(2**64 - 1))": f"{2**64 - 1} int",
    "[m.echo(f(1.5)) for f in (numpy.float16, numpy.float32, numpy.float64, "
    "numpy.longdouble)]": "[1.5, 1.5, 1.5, 1.5] list",
    "m.echo(numpy.bool_(True)), m.add(numpy.bool_(True), numpy.bool_(False))":
        "(True, 1) tuple",
    "m.echo(numpy.str_('a text of many bytes'))": "'a text of many bytes' str",
    "m.echo([array, numpy.bool_(True), numpy.int16(3)])[1:]":
        "(True, 3) tuple",
    "m.tail(array, numpy.int32(2))": "array([2.]) ndarray",
    # Objects that the library does not know pass through it.
    "m.echo(thing) is thing, m.call(lambda x: x, thing) is thing, "
    "m.call(lambda x: thing, 1) is thing, m.echo([thing, array])[0] is thing":
        "(True, True, True, True) tuple",
    "m.echo(1j), m.echo(range(3)), m.echo({1}), m.echo(slice(1, 2))":
        "(1j, range(0, 3), {1}, slice(1, 2, None)) tuple",
    "m.echo(error) is error, m.call(lambda e: type(e).__name__, error)":
        "(True, 'KeyError') tuple",
    "m.echo([array, len])[1] is len": "True bool",
    # A class of a module, by its name.
    "m.fail('__main__.Mine')": "Mine: a text with 7",
    "m.fail('json.JSONDecodeError'), m.fail('json.dumps')":
        "RuntimeError: json.JSONDecodeError: a text with 7",
    "m.fail('json.dumps')": "RuntimeError: json.dumps: a text with 7",
    "m.fail('absent.Error')": "RuntimeError: absent.Error: a text with 7",
    "m.leave('a text')": "LookupError: a text",
    "m.echo(bytearray(b'ab')), m.echo(bytearray(b'a' * 9))":
        "(b'ab', b'aaaaaaaaa') tuple",
    "m.echo([collections.OrderedDict(b=1, a=array), array])[0]":
        "{'b': 1, 'a': array([0., 1., 2.])} dict",
    "m.keep(thing), m.kept() is thing, m.keep(None)": "(None, True, None) tuple",
    "m.add(thing)":
        "TypeError: add: argument `a`: expected an int, got Thing",
    "m.total(range(4)), m.total(collections.deque([1, 2]))": "(6, 3) tuple",
    "[m.size_of(t) for t in ('int8', numpy.dtype('f4'), numpy.float64, bool, "
    "numpy.zeros(1, 'c8').dtype)]": "[1, 4, 8, 1, 8] list",
    "m.size_of(dict)":
        "TypeError: size_of: argument `of`: expected a dtype, got the class dict",
    "m.size_of('flot')": "ValueError: size_of: argument `of`: unknown dtype `flot`",
    "m.add(numpy.float32(1))":
        "TypeError: add: argument `a`: expected an int, got float32",
    "m.add(1, numpy.timedelta64(3, 's'))":
        "TypeError: add: argument `b`: expected an int, got timedelta64: int() "
        "argument must be a string, a bytes-like object or a real number, not "
        "'datetime.timedelta'",
    "m.call(lambda x: numpy.float32(x) / 2, 3)": "1.5 float",
    "m.ask(lambda: array, array) is array": "True bool",
    "m.ask(lambda: numpy.arange(3), array)": "array([0, 1, 2]) ndarray",
    "m.ask(lambda: (array, [1, {'a': array}]), array)":
        "(array([0., 1., 2.]), (1, {'a': array([0., 1., 2.])})) tuple",
    "m.ask(lambda: {'a': array}, array)['a'] is array": "True bool",
    "m.ask(lambda: Export(array), array)": "array([0., 1., 2.]) ndarray",
    "m.ask(lambda: m.tail(array, 1), array)": "array([1., 2.]) ndarray",
    "m.view(Export(array))": "'2 64: 3/1' str",
    "m.view(Export(array.astype('int8')[::-1]))": "'0 8: 3/-1' str",
    "m.read(Export(frozen))": "0.0 float",
    "m.read(array, Export(frozen))": "3.0 float",
    "m.view(misaligned), m.read(misaligned)": "('2 64: 2/1', 0.0) tuple",
    "m.echo(misaligned) is misaligned": "True bool",
    "m.view(numpy.zeros([1] * 9))": "'2 64: 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 "
                                    "1/1' str",
    "len(m.view(numpy.zeros([1] * 64)))": "261 int",
    "m.echo(numpy.zeros([1] * 64)).ndim": "64 int",
    "m.view(Own(3))": "BufferError: view: argument `x`: of its own",
    "m.read(Own(3))": "BufferError: read: argument `x`: of its own",
    "m.zero(Export(frozen))":
        "BufferError: zero: argument `x`: Cannot export readonly array since "
        "signalling readonly is unsupported by DLPack (supported by newer "
        "DLPack version).",
    "m.call(lambda x: numpy.bool_(x), 3)": "True bool",
    "m.call(lambda x: numpy.uint64(2**63), 3)": f"{2**63} int",
    "m.tail(array.view(numpy.recarray), 1)": "array([1., 2.]) ndarray",
    "type(m.echo(array.view(numpy.recarray)))":
        "<class 'numpy.rec.recarray'> type",
    "m.read(frozen.view(numpy.recarray))": "0.0 float",
    "m.zero(frozen.view(numpy.recarray))":
        "BufferError: zero: argument `x`: the function writes the array, "
        "which is read-only",
    "m.read(numpy.matrix([[1.]]))":
        "ValueError: read: argument `x`: shape is [1, 1], expected [n]",
    "m.view(numpy.zeros(3, '>i4'))":
        "BufferError: view: argument `x`: DLPack only supports native byte "
        "order.",
    "m.read(numpy.array([m]))":
        "BufferError: read: argument `x`: DLPack only supports "
        "signed/unsigned integers, float and complex dtypes.",
    "m.zero(frozen)": "BufferError: zero: argument `x`: the function writes "
                      "the array, which is read-only",
    "m.view(frozen)": "BufferError: view: argument `x`: the array is "
                      "read-only, and the parameter's type does not say that "
                      "the function only reads it: write tensor(\"...\")",
    "m.read(array, [1])":
        "TypeError: read: argument `bias`: expected a tensor or None, got "
        "list",
    "m.types(1, 'ab', {})":
        "TypeError: types: argument `b`: expected a list or tuple "
        "(Sequence[int]) or None, got str",
    "m.call()":
        "TypeError: call() is missing arguments `f` and `x`",
    "m.add()":
        "TypeError: add() is missing argument `a`",
    "m.add(1, 2, 3)":
        "TypeError: add() takes 1 to 2 arguments, got 3",
    "m.nop(1)":
        "TypeError: nop() takes no arguments, got 1",
    "m.add(b=3)": "TypeError: add() is missing argument `a`",
    "m.pad('a', width=3), m.pad('a', fill='-', width=3), m.pad(text='a', "
    "width=1)": "('a  ', 'a--', 'a') tuple",
    "m.pad('a', 3)": "TypeError: pad() takes 1 argument by position, got 2: "
                     "write width=",
    "m.pad('a', fill='-')": "TypeError: pad() is missing argument `width`",
    "m.pad()": "TypeError: pad() is missing arguments `text` and `width`",
    "m.pad.__text_signature__, m.pad.__doc__":
        "(\"(text, *, width, fill=' ')\", \"pad(text: str, *, width: int, "
        "fill: str = ' ') -> str\") tuple",
    "m.add(1, c=3)": "TypeError: add() got an unexpected keyword argument "
                     "`c`; its parameters are: a, b",
    "m.nop(c=3)": "TypeError: nop() got an unexpected keyword argument `c`; "
                  "it has no parameters",
    "m.words(1, 2), m.words(in_=1, from_=2), m.words(**{'from': 1, 'in': 2})":
        "(12, 21, 12) tuple",
    "m.words(1, from_=2)": "TypeError: words() got multiple values for "
                           "argument `from_`",
    "m.words(1, 'x')":
        "TypeError: words: argument `in_`: expected an int, got str",
    "m.types(300, (), {})":
        "OverflowError: types: argument `a`: expected an int from -128 to "
        "127, got 300",
    "m.call(lambda x: 1 // 0, 1)":
        "ZeroDivisionError: integer division or modulo by zero",
    "m.call(lambda x: eval('1 +'), 1)":
        "SyntaxError: invalid syntax (<string>, line 1)",
    "m.fail('OverflowError')": "OverflowError: a text with 7",
    "m.fail('UnicodeDecodeError')":
        "RuntimeError: UnicodeDecodeError: a text with 7",
    "m.fail('print')": "RuntimeError: print: a text with 7",
    "m.fail('SystemExit')": "SystemExit: 'a text with 7'",
    "m.call(lambda x: (y for y in ()).throw(KeyboardInterrupt), 1)":
        "KeyboardInterrupt: ",
    **{f"m.call(lambda x: (y for y in ()).throw(SystemExit({status!r})), 1)":
       f"SystemExit: {code!r}"
       for status, code in ((3, 3), (-1, -1), (None, None), ("bye", "bye"))},
    "m.fail('demo.Error')": "RuntimeError: demo.Error: a text with 7",
    "m.call(lambda x: b'\\xff'.decode(), 1)":
        "UnicodeDecodeError: 'utf-8' codec can't decode byte "
        "0xff in position 0: invalid start byte",
    "m.call(lambda x: frozen.take(0, 5), 1)":
        "AxisError: axis 5 is out of bounds for array of dimension 1",
    "m.total([1, 'x'])":
        "TypeError: total: argument `x`: item 1: expected an int, got str",
    "m.total((1, 2, 2**65))":
        "OverflowError: total: argument `x`: item 2: expected an int from "
        "-2**63 to 2**63 - 1, got 36893488147419103232",
    "m.count([1, -128, 300])":
        "OverflowError: count: argument `x`: item 2: expected an int from "
        "-128 to 127, got 300",
    **{f"m.count((), {value})":
       f"TypeError: count: argument `y`: {said}" for value, said in (
           ("{'a': [0.5], 'b': [1, True, None]}",
            "the value of 'b': item 2: expected a float, got None"),
           ("{'a': 1}", "the value of 'a': expected a list or tuple "
            "(Sequence[float]), got int"),
           ("{1: ()}", "the key 1: expected a str, got int"),
           ("[]", "expected a dict (Mapping[str, Sequence[float]]) or None, "
            "got list"))},
    "m.total(type('Own', (list,), {})([1, 2])), m.total(range(4)), "
    "m.total(collections.deque([1, 2])), m.total(numpy.arange(5)), "
    "m.total(numpy.arange(9)[::-2].astype('uint8')), "
    "m.count(numpy.ones(3, 'int8'))": "(3, 6, 3, 10, 20, 3) tuple",
    "m.total(array)":
        "TypeError: total: argument `x`: item 0: expected an int, got float",
    "m.total(numpy.ones((2, 2), int))":
        "TypeError: total: argument `x`: expected a list or tuple "
        "(Sequence[int]), got ndarray",
    "m.double_of(float), m.call(numpy.negative, 2.5), "
    "m.call(operator.itemgetter(1), 'text'), m.call(Text, 'text')":
        "(0.0, -2.5, 'e', 'text') tuple",
    "m.double_of(lambda: 'text')":
        "TypeError: double_of: argument `f`: its result: expected a float, "
        "got str",
    "m.double_of(int, list)":
        "TypeError: double_of: argument `f` or `g`: its result: expected a "
        "float, got tuple or list",
    "m.read(numpy.ones(2, 'complex64'))":
        "TypeError: read: argument `x`: dtype is complex64, expected float64",
    "m.types(2**70)":
        "OverflowError: types: argument `a`: expected an int from -128 to 127, "
        "got 1180591620717411303424",
    "m.types(10**5000)":
        "OverflowError: types: argument `a`: expected an int from -128 to 127, "
        "got a longer int",
    "m.count([1, -2**70])":
        "OverflowError: count: argument `x`: item 1: expected an int from -128 to "
        "127, got -1180591620717411303424",
    "m.add(2**70)":
        "OverflowError: add: argument `a`: expected an int from -2**63 to "
        "2**63 - 1, got 1180591620717411303424",
    "m.join('a', 'b', 2**64, True, b''), m.join('a', c=-2**64, e=b'')":
        "('a b 1.84e+19 1 0', 'a two -1.84e+19 1 0') tuple",
    "m.join('a', 'b', 10**400, True, b'')":
        "OverflowError: join: argument `c`: the int is too large for a float",
}
IMPORTED = {
    "m.tail(array, 1, 'bfloat16')": "bfloat16[2]@cpu:0 Tensor",
    "m.echo(numpy.complex64(1))": "np.complex64(1+0j) complex64",
    "m.add(Value())": "TypeError: add: argument `a`: expected an int, got Value, "
                      "converted to tuple or list",
    "m.type_of(array)": "dtype('float64') dtype",
    "m.nested(array, 34)": "(" * 32 + "((float64[3]@cpu:0,),)" + ",)" * 32
                           + " tuple",
    "m.echo([wrapper, 1])[1:]": "(1,) tuple",
}
LIKE = """
import collections, json, operator
import numpy
import extension as m
calls, more = map(json.loads, sys.argv[1:])
array, frozen = numpy.arange(3.0), numpy.zeros(3)
frozen.flags.writeable = False
misaligned = numpy.zeros(17, 'int8')[1:].view('float64')
class Thing: pass
class Index:
    def __init__(self, value): self.value = value
    def __index__(self):
        if self.value == 'x': raise ValueError('no index')
        return self.value
class Mine(ArithmeticError): pass
class Own(numpy.ndarray):
    def __dlpack__(self, **options):
        raise BufferError('of its own')
scope = dict(Index=Index, numpy=numpy, array=array, frozen=frozen, Own=Own, Export=Export,
             misaligned=misaligned, collections=collections, operator=operator,
             Text=Text, Value=Value, thing=Thing(), error=KeyError('x'))
out = [answers(m, calls, **scope)]
assert 'tvm_ffi' not in sys.modules, 'imported'
import tvm_ffi
wrapper = tvm_ffi.core.DLTensorTestWrapper(tvm_ffi.from_dlpack(array))
out.append(answers(m, calls + more, wrapper=wrapper, **scope))
# The result keeps its tensor alive, and nothing else does.
n = sys.getrefcount(array)
results = [m.tail(array) for _ in range(100)] + [
    m.wrapped(array), m.view(Export(array)), m.echo([Export(array)]),
    m.ask(lambda: array, array), m.ask(lambda: (Export(array), array), array)]
assert all(r.tolist() == [0, 1, 2] for r in results[:100])
assert all(r.base is not None for r in results[:100])
del results
out.append(sys.getrefcount(array) - n)
import resource
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
large = numpy.ones(10**6)
m.tail(large), m.wrapped(large)
before = peak()
for _ in range(50):
    assert m.tail(large)[-1] == 1
out.append(peak() - before)
print(json.dumps(out))
"""
NAMES = """
import enum, sys
class Kind(enum.IntEnum):
    ONE = 1
class Text(str): pass
class Export:
    def __init__(self, array): self.array = array
    def __dlpack__(self, **options): return self.array.__dlpack__(**options)
class Value:
    def __tvm_ffi_value__(self): return [1, 'two']
def names():
    import numpy, tvm_ffi
    frozen = numpy.zeros(3)
    frozen.flags.writeable = False
    tensor = tvm_ffi.from_dlpack(numpy.zeros((2, 3), 'int16'))
    return dict(numpy=numpy, tvm_ffi=tvm_ffi, frozen=frozen, Kind=Kind,
                misaligned=numpy.zeros(17, 'int8')[1:].view('float64'),
                Value=Value, Text=Text, Export=Export, array=numpy.ones((2, 2)),
                wrapper=tvm_ffi.core.DLTensorTestWrapper(tensor),
                references=references, described=described)
def described(m, dtype):
    # An array with the exchange API of m.describing().
    import ctypes, numpy, tvm_ffi
    base = tvm_ffi.core.DLTensorTestWrapper
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object,
                                                  ctypes.c_char_p]
    class Described(base):
        __dlpack_c_exchange_api__ = m.describing(
            get(base.__dlpack_c_exchange_api__, b'dlpack_exchange_api'))
    return Described(tvm_ffi.from_dlpack(numpy.ones((2, 3), dtype)))
def references(m, x):
    # Whether a call that keeps an argument, one that keeps it weakly and one
    # that keeps something else add a reference to it.
    n = sys.getrefcount(x)
    return [(m.keep(x, *more), sys.getrefcount(x) > n, m.keep(None),
             sys.getrefcount(x) == n) for more in ((), (False,))]
PLAIN = {'String': 'str', 'Bytes': 'bytes'}
def answers(m, calls, **names):
    out = []
    for call in calls:
        try:
            x = eval(call, {'m': m, **names})
            kind = type(x).__name__
            out.append(f"{x!r} {PLAIN.get(kind, kind)}")
        except SystemExit as e:
            out.append(f"SystemExit: {e.code!r}")
        except BaseException as e:
            out.append(f"{type(e).__name__}: {e}")
    return out
def stock_answers(m, calls, **names):
    # The texts of errors are those that clients of tvm_ffi parse.
    def call_stock(call):
        try:
            return eval(call, {'m': m, **names})
        except Exception as e:
            said = getattr(e, '__tvm_ffi_error__', None)
            if said and type(e) is not RuntimeError:
                e.args = (said.message,)
            raise
    return answers(m, [f'call_stock({c!r})' for c in calls],
                   call_stock=call_stock)
"""
PLAIN = NAMES + """
import json
import extension as m
out = answers(m, json.loads(sys.argv[1]))
assert not any(n.split('.')[0] == 'tvm_ffi' for n in sys.modules), 'imported'
print(json.dumps(out))
"""
# Threads that begin together make all calls, each in its own order. The answers
# to compare with come after them, so that every first call is in a thread.
LIKE = NAMES + LIKE
THREADS = NAMES + """
import json, random, threading
import extension as m
calls, threads, rounds = json.loads(sys.argv[1]), 4, 20
scope = names() if sys.argv[2] == 'objects' else {}
sys.setswitchinterval(1e-5)
begin, got = threading.Barrier(threads), {}
def work(seed):
    order = [i for _ in range(rounds) for i in range(len(calls))]
    random.Random(seed).shuffle(order)
    begin.wait()
    for i in order:
        got.setdefault((i, answers(m, [calls[i]], **scope)[0]), seed)
made = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
for thread in made:
    thread.start()
for thread in made:
    thread.join()
wanted = answers(m, calls, **scope)
wrong = [f'{calls[i]}: {text}, not {wanted[i]}' for i, text in got
         if text != wanted[i]]
print(json.dumps([wrong, getattr(sys, '_is_gil_enabled', lambda: True)()]))
"""
UNKNOWN_LINE = """
import extension as m, traceback
try:
    m.fail_in('  File "known.c", line 3, in f\\n'
              '  File "kernels.so", line 0, in g\\n')
except ValueError as e:
    print([f.filename for f in traceback.extract_tb(e.__traceback__)])
"""
MISSING = """
import extension as m
class Hook:
    def __tvm_ffi_int__(self): return 1
for call in (lambda: m.add(Hook()), lambda: m.add(1, 1j), lambda: m.join(1j),
             lambda: m.read(memoryview(b'1'))):
    try: call()
    except Exception as e: print(f'{type(e).__name__}: {e}')
"""
# The package cannot be imported: a class is its name.
ALONE = r"""
import sys
sys.modules['tvm_ffi'] = None
import extension as m
numbers, n = made = m.ramp(3)
print(type(made).__name__, type(numbers).__name__, numbers.tolist(), n)
print(m.call(lambda x: type(x).__name__, numbers), m.ramp(2)[0].sum())
print(m.nested(numbers, 1), repr(m.type_of(numbers)))
print(m.call(lambda x: numbers, 1) is numbers)
print(m.call(lambda x: [numbers, {'a': x}], 1), m.echo(len))
class Export:
    def __init__(self, value): self.value = value
    def __dlpack__(self): return self.value
print(m.call(lambda x: Export(numbers.__dlpack__()), 1), m.view(Export(
    numbers.__dlpack__())))
frozen = numbers.copy()
frozen.flags.writeable = False
for call in (lambda x: frozen), (lambda x: {x}), (lambda x: '\ud800'):
    try: m.call(call, 1)
    except Exception as e: print(f'{type(e).__name__}: {e}')
import numpy
try: m.size_of(numpy.dtype('>f4'))
except Exception as e: print(f'{type(e).__name__}: {e}')
for value in 3, frozen.__dlpack__(max_version=(1, 1)):
    try: m.view(Export(value))
    except Exception as e: print(f'{type(e).__name__}: {e}')
for call in m.named, lambda: m.nested(numbers, 100000):
    try: call()
    except ImportError as e: print(e)
"""
ANSWERS_ALONE = """\
tuple ndarray [0.0, 1.0, 2.0] 3
ndarray 1.0
(array([0., 1., 2.]),) 'float64'
True
(array([0., 1., 2.]), {'a': 1}) <built-in function len>
[0. 1. 2.] 2 64: 3/1
BufferError: Cannot export readonly array since signalling readonly is \
unsupported by DLPack (supported by newer DLPack version).
UnicodeEncodeError: 'utf-8' codec can't encode character \
'\\ud800' in position 0: surrogates not allowed
TypeError: size_of: argument `of`: expected a dtype, got Float32DType
BufferError: view: argument `x`: __dlpack__() returned no capsule of a tensor
BufferError: view: argument `x`: the array is read-only
a result that is not a plain value needs the package apache-tvm-ffi, \
version 0.1.15
a result that is not a plain value needs the package apache-tvm-ffi, \
version 0.1.15
"""
# A module with its own runtime: whether the package is there or not, results are
# the same, unless an argument is an object of the package.
OWN_RUNTIME = """
import extension as m
numbers, n = m.ramp(3)
print(type(numbers).__name__, numbers.tolist(), n, repr(m.type_of(numbers)))
print(m.arange(2) + 1)
print(m.call(lambda x: repr(x), [1, 'a long text', {'a': 2}]), m.keep([1, (2,)]))
print(repr(m.kept()), repr(m.echo([{'a': []}])), repr(m.echo('a long text')))
print('tvm_ffi' in sys.modules)
"""
ANSWERS_OWN_RUNTIME = """\
ndarray [0.0, 1.0, 2.0] 3 'float64'
[1. 2.]
(1, 'a long text', {'a': 2}) None
(1, (2,)) ({'a': ()},) 'a long text'
"""
OF_THE_PACKAGE = """
array = tvm_ffi.Array([1])
tensor = tvm_ffi.from_dlpack(numbers)
print(*(type(x).__name__ for x in (m.echo(array), m.echo([tensor])[0], m.tail(tensor))))
"""
MISSED = """\
ImportError: add: argument `a` of type Hook needs the package \
apache-tvm-ffi, version 0.1.15
TypeError: add: argument `b`: expected an int, got complex
TypeError: join: argument `a`: expected a str, got complex
TypeError: read: argument `x`: expected a tensor, got memoryview
"""
LEAKS = """
import ctypes, gc, random, sys
import extension as m
random.seed(1)
calls = [compile(c, 'call', 'eval') for c in sys.argv[2:]]
names = {'m': m}
def run(n):
    for c in random.choices(calls, k=n):
        try:
            eval(c, names)
        except Exception:
            pass
    gc.collect()
class Mallinfo(ctypes.Structure):
    _fields_ = [(f'f{i}', ctypes.c_size_t) for i in range(10)]
mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Mallinfo
n = int(sys.argv[1])
run(max(n // 10, 2000))
# The allocated bytes, and those in large blocks.
before = sys.gettotalrefcount(), mallinfo().f7 + mallinfo().f4
run(n)
after = sys.gettotalrefcount(), mallinfo().f7 + mallinfo().f4
print(after[0] - before[0], after[1] - before[1])
"""

# The exception of a callback arrives as the same object, unless C code changed
# the error. Nothing keeps one that C code handled.
PASSED = """
import gc, sys, traceback, weakref
if len(sys.argv) > 1:
    import tvm_ffi
import extension as m
class Mine(Exception):
    def __init__(self, code, name):
        super().__init__(code, name)
class Silent(Exception):
    def __str__(self): raise ValueError
def thrower(error):
    def throw():
        raise error
    return throw
def caught(call, *args):
    try:
        call(*args)
    except BaseException as e:
        return e
for error in (Mine(3, 'x'), Silent(), KeyError('k'), SystemExit([3]),
              KeyboardInterrupt(), GeneratorExit(), ValueError('a\\0b'),
              StopIteration(2), Mine('\\ud800', 1), ValueError('caf\\xe9')):
    error.extra = {}
    assert caught(m.double_of, thrower(error)) is error, repr(error)
    frames = [f.name for f in traceback.extract_tb(error.__traceback__)]
    assert frames == ['caught', 'throw'], frames
    # Through two calls.
    assert caught(m.double_of, lambda: m.double_of(thrower(error))) is error
    assert caught(m.in_context, thrower(error)) is not error
    assert caught(m.replace, thrower(error)) is not error
error = caught(m.in_context, thrower(Mine(1, 2)))
assert repr(error) == "RuntimeError('Mine: in C: (1, 2)')", repr(error)
error = caught(m.in_context, thrower(KeyboardInterrupt('x')))
assert repr(error) == "KeyboardInterrupt('in C: x')", repr(error)
assert repr(caught(m.replace, thrower(Mine(1, 2)))) == "ValueError('another')"
died = []
def swallowed():
    error = Mine(1, 2)
    died.append(weakref.ref(error))
    raise error
assert m.has_failed(swallowed) and not m.has_failed(int)
caught(m.replace, swallowed), caught(m.double_of, swallowed)
gc.collect()
assert len(died) == 3 and not any(ref() for ref in died), died
print('right')
"""
# Types of arguments: how often each is classified, which of them stay alive, and
# what a type gets whose address was that of another.
TYPES = """
import gc, json, sys, weakref
import extension as m
class Counted(type):
    lookups = 0
    def __getattribute__(cls, name):
        Counted.lookups += 1
        return super().__getattribute__(name)
def classified(values):
    before = Counted.lookups
    for value in values:
        assert m.echo(value) == value, (type(value), value)
    return Counted.lookups - before
out, n = {}, 3000
values = [Counted(f'Int{i}', (int,), {})(i) for i in range(n)]
out['first'] = classified(values) >= n
out['again'] = classified(values)
types = [weakref.ref(type(value)) for value in values]
del values[::2]
gc.collect()
out['left'] = sum(ref() is not None for ref in types)
out['after'] = classified(values)
# The callback of the table's weak reference, called for a type that is alive.
kind = type(values[0])
for ref in weakref.getweakrefs(kind):
    if ref.__callback__:
        ref.__callback__(ref)
        ref.__callback__(None)
out['callback'] = classified(values)
# Types that die at once get each other's addresses. A finalizer passes an object
# of a dying type, too.
def delete(self):
    m.echo(self)
addresses, wrong = set(), []
for i in range(n):
    base, value = ((int, i), (str, f'a long text {i}'), (float, i / 2),
                   (bytes, b'some bytes' * 2))[i % 4]
    members = {'__del__': delete} if i % 2 else {}
    x = type('T', (base,), members)(value)
    addresses.add(id(type(x)))
    if (got := m.echo(x)) != value:
        wrong.append((i, repr(got)))
    x.cycle = x
    del x
    if i % 3 == 0:
        gc.collect()
out['addresses'] = len(addresses)
out['wrong'] = wrong[:5]
print(json.dumps(out))
"""
# Lines of the stub, and what type checkers say about calls.
STUBS = """
from typing import Annotated, Any, Protocol, TypeAlias, overload
import numpy
_Float: TypeAlias = float | numpy.floating[Any] | numpy.integer[Any]
def add(a: _Int, b: _Int=1) -> int:
def words(from_: _Int, in_: _Int) -> int: ...
def pad(text: str, *, width: _Int, fill: str=' ') -> str: ...
def zero(x: Annotated[_DLPack, 'float64[n] cpu inout']) -> None: ...
def scaled(x: Annotated[NDArray[numpy.float32 | numpy.float16], \
'float32|float16[n] cpu align(4)'], by: _Float=...) -> \
Annotated[NDArray[numpy.float32], 'float32[n]']: ...
def scaled(x: Annotated[_DLPack, 'float32|float16[n] cpu align(4)'], \
by: _Float=...) -> Annotated[Any, 'float32[n]']: ...
def size_of(of: _DType) -> int: ...
def tail(x: Annotated[_DLPack, 'float64[n] cpu'], begin: _Int=0, to: \
_DType='float64') -> Any: ...
def type_of(x: _DLPack) -> str: ...
def arange(n: _Int) -> Annotated[Any, 'float64[n] cpu']: ...
def on_device(x: Annotated[_DLPack, 'any cuda:1']) -> Sequence[Any]: ...
"""
USE = """
from typing import Any, assert_type
import extension as m, numpy
from numpy.typing import NDArray
x = numpy.zeros(3, numpy.float32)
assert_type(m.scaled(x, numpy.float32(2)), NDArray[numpy.float32])
m.scaled(2)  # wrong
m.add(numpy.int64(2), numpy.uint8(3))
m.add(2.5)  # wrong
m.add(numpy.float32(2))  # wrong
m.join('a', c=numpy.float16(1), d=numpy.bool_(True))
m.join('a', c='x')  # wrong
m.zero([1.0])  # wrong
m.words(from_=1, in_=2)
m.size_of('int8') + m.size_of(numpy.dtype('f4')) + m.size_of(numpy.float32)
m.size_of(3)  # wrong
assert_type(m.type_of(x), str)
m.pad('a', width=3)
m.pad('a', 3)  # wrong
"""
BAD_CONTRACTS = {
    "floatt32[n] cpu": "the dtype is not known at \"floatt32[n] cpu\"",
    "float32[n, cpu": "\",\" or \"]\" is missing at \"\"",
    "float32[n] strided gpuu": "the word is not known at \"gpuu\"",
}
# Types of a module's own as its classes: calls, with the answers.
F = 'demo.Filter(cutoff=0.5, order=3, name="low", calls=0)'
CHAIN = 'demo.Chain(cutoff=1, order=2, name="low", calls=0, next=None, ' \
    'taps=None, from=None)'
OWN = {
    "m.Filter(0.5, order=3)": f"{F} Filter",
    "m.Filter(cutoff=0.5, order=3, name='low')": f"{F} Filter",
    "[getattr(f, n) for n in ('cutoff', 'order', 'name', 'calls')]":
        "[0.5, 3, 'low', 0] list",
    "m.lowpass(2.5), type(m.lowpass(2.5)) is m.Filter":
        '(demo.Filter(cutoff=2.5, order=2, name="low", calls=0), True) tuple',
    "round(f.gain(1.0), 4), f.gain(frequency=0.5, unit=0.0), f.calls":
        "(0.0894, 0.0, 2) tuple",
    "m.Filter.gain(m.Filter(1), 0)": "1.0 float",
    "m.Filter.of_text('abc', factor=2).cutoff, f.of_text('a').cutoff":
        "(6.0, 1.0) tuple",
    "f.halved().order, type(f.halved())":
        "(3, <class 'classes.Filter'>) tuple",
    "[setattr(f, n, v) or getattr(f, n) for n, v in (('cutoff', 2), "
    "('name', 'a long name'), ('order', numpy.int8(4)))]":
        "[2.0, 'a long name', 4] list",
    "setattr(f, 'order', 'x')":
        "TypeError: demo.Filter.order: expected an int, got str",
    "setattr(f, 'order', 2**40)":
        "OverflowError: demo.Filter.order: expected an int from -2**31 to 2**31 - "
        "1, got 1099511627776",
    "setattr(f, 'order', -2**70)":
        "OverflowError: demo.Filter.order: expected an int from -2**31 to 2**31 - "
        "1, got -1180591620717411303424",
    "setattr(c, 'next', 3)":
        "TypeError: demo.Chain.next: expected a demo.Filter or None, got int",
    "setattr(f, 'calls', 3)":
        "AttributeError: attribute 'calls' of 'classes.Filter' objects is not "
        "writable",
    "delattr(f, 'order')":
        "AttributeError: the field `order` cannot be deleted",
    "m.Filter()": "TypeError: demo.Filter() is missing argument `cutoff`",
    "m.Filter('x')": "TypeError: demo.Filter: argument `cutoff`: expected a "
                     "float, got str",
    "m.Filter(1, 2)": "TypeError: demo.Filter() takes at most 1 argument by "
                      "position, got 2",
    "m.Filter(1, calls=2)":
        "TypeError: demo.Filter() got an unexpected keyword argument `calls`",
    "m.Filter(1, order=2**40)":
        "OverflowError: demo.Filter: argument `order`: expected an int from "
        "-2**31 to 2**31 - 1, got 1099511627776",
    "m.Filter(1, order=2**70)":
        "OverflowError: demo.Filter: argument `order`: expected an int from "
        "-2**31 to 2**31 - 1, got 1180591620717411303424",
    "m.Filter(10**400)":
        "TypeError: demo.Filter: argument `cutoff`: expected a float, got int of "
        "over 64 bits",
    "m.Chain(1, 2)":
        "TypeError: demo.Chain: argument `next`: expected a demo.Filter or None, "
        "got int",
    "m.Chain(1, None, [1, 'x'])":
        "TypeError: demo.Chain: argument `taps`: item 1: expected a float, got "
        "str",
    "m.Chain(1, None, range(3)).taps[2], m.Chain(1, taps=numpy.ones(2)).taps[1]":
        "(2.0, 1.0) tuple",
    "m.Chain(1, from_=m).from_ is m": "True bool",
    "f.gain('x')":
        "TypeError: demo.Filter.gain: argument `frequency`: expected a float,"
        " got str",
    "f.period, c.period, My(4).period, m.Filter.period.__doc__":
        "(2.0, 1.0, 0.25, 'period(self) -> float\\n\\n1 / cutoff, in s.') tuple",
    "m.Filter(0).period": "ValueError: the cutoff is 0",
    "f.period()": "TypeError: 'float' object is not callable",
    "f.gain(1, 2)":
        "TypeError: demo.Filter.gain() takes 2 arguments by position, got 3: "
        "write unit=",
    "f.gain(1, of=2)":
        "TypeError: demo.Filter.gain() got an unexpected keyword argument `of`; "
        "its parameters are: self, frequency, unit",
    "m.cutoff(3)":
        "TypeError: cutoff: argument `filter`: expected a demo.Filter, got "
        "int",
    "m.cutoff(f, f)":
        "TypeError: cutoff: argument `chain`: expected a demo.Chain or None, "
        "got Filter",
    # A child: its own fields, those of its parent, and keywords of Python.
    "m.Chain(1)": f"{CHAIN} Chain",
    "isinstance(c, m.Filter), issubclass(m.Chain, m.Filter), type(c).__mro__[1]"
    " is m.Filter": "(True, True, True) tuple",
    "m.cutoff(f, c), m.cutoff(c), c.gain(0)": "(1.5, 1.0, 1.0) tuple",
    "setattr(c, 'next', f), c.next == f, c.is_(f), c.is_(in_=c), c.calls":
        "(None, True, True, False, 0) tuple",
    "m.Chain(1, f, from_='x').from_, m.Chain(1, **{'from': 2}).from_":
        "('x', 2) tuple",
    "m.chain(f).next == f, type(m.chain(None)), m.chain(None).next":
        "(True, <class 'classes.Chain'>, None) tuple",
    # A constructor of its own, and operators.
    "m.other_Count(3, b=4), len(m.other_Count(2)), m.other_Count(1).value":
        "(other.Count(value=7), 2, 1) tuple",
    "m.other_Count(3) + m.other_Count(4)": "other.Count(value=7) other_Count",
    "m.other_Count(3) + 4":
        "TypeError: unsupported operand type(s) for +: 'classes.other_Count' and "
        "'int'",
    "m.other_Count(3) + Right(), m.other_Count(3).__add__('x')":
        "('right', NotImplemented) tuple",
    "m.other_Count(3).__add__()":
        "TypeError: other.Count.__add__() is missing argument `other`",
    "m.other_Count(1) == m.other_Count(1), m.other_Count(1) != m.other_Count(2), "
    "m.other_Count(1) == None, None in [m.other_Count(1)]":
        "(True, True, False, False) tuple",
    "m.other_Count(1) == m.other_Count(0, -1)": "TypeError: -1 is negative",
    "hash(m.other_Count(1))":
        "TypeError: unhashable type: 'classes.other_Count'",
    "m.other_Count(-3)": "ValueError: -3 is negative",
    "m.other_Count()":
        "TypeError: other.Count() is missing argument `a`",
    "type(f).__mro__[-2]()":
        "TypeError: <class 'tvmffi.Object'> has no constructor",
    "m.Wide(**{n: i for i, n in enumerate('abcdefghij')}), m.Wide(*'ab', **{})":
        "TypeError: Wide: argument `a`: expected an int, got str",
    "m.Wide(**{n: i for i, n in enumerate('abcdefghij')}), m.Wide(*range(10)).j":
        "(Wide(a=0, b=1, c=2, d=3, e=4, f=5, g=6, h=7, i=8, j=9), 9) tuple",
    # Identity.
    "f == m.echo(f), f != m.echo(f), f is m.echo(f), hash(f) == "
    "hash(m.echo(f)), f.same_as(m.echo(f)), f == m.Filter(0.5, order=3), f == 3":
        "(True, False, False, True, True, False, False) tuple",
    "{f: 1}[m.echo(f)], f < f":
        "TypeError: '<' not supported between instances of 'classes.Filter' and "
        "'classes.Filter'",
    # In containers, callbacks, and kept by the library.
    "m.both([f, c], {'a': f})[0]": "1.5 float",
    "m.both([f, 3], {})":
        "TypeError: both: argument `filters`: item 1: expected a demo.Filter,"
        " got int",
    "m.call(lambda x: (type(x) is m.Filter, x == f), f)[0]": "True bool",
    "m.called(lambda x: x.halved(), f)": "0.25 float",
    "m.called(lambda x: 3, f)":
        "TypeError: called: argument `f`: its result: expected a demo.Filter,"
        " got int",
    "f.call(lambda x, y: x == f and y, 'a text')": "'a text' str",
    "m.call(f.gain, 0), m.call(m.Filter.halved, f).order": "(1.0, 3) tuple",
    "m.keep(m.Filter(7)), m.kept(), m.keep(None)":
        '(None, demo.Filter(cutoff=7, order=2, name="low", calls=0), None) tuple',
    # A subclass in Python, and objects that are not made.
    "My(4), My(4).gain(0), My(4).more, m.cutoff(My(4)), type(m.echo(My(4)))":
        '(demo.Filter(cutoff=4, order=4, name="low", calls=0), 101.0, 4, 4.0, '
        "<class 'classes.Filter'>) tuple",
    "Bad().order": "TypeError: the object of <class '__main__.Bad'> is not made: "
                   "call super().__init__()",
    "m.cutoff(Bad())":
        "TypeError: cutoff: argument `filter`: expected a demo.Filter, got Bad: "
        "the object of <class '__main__.Bad'> is not made: call "
        "super().__init__()",
    "Bad().gain(1)":
        "TypeError: demo.Filter.gain: argument `self`: expected a demo.Filter, "
        "got Bad: the object of <class '__main__.Bad'> is not made: call "
        "super().__init__()",
    "copy.copy(Bad()), Bad() == f":
        "TypeError: the object of <class '__main__.Bad'> is not made: call "
        "super().__init__()",
    "'object of <class' in repr(Bad())": "True bool",
    "f.__init__(1)":
        "TypeError: <class 'classes.Filter'>: the object has been made already",
    # Copies, as those of the package's classes.
    "copy.copy(c) == c, copy.copy(g).next == f, type(copy.copy(My(1)))":
        "(False, True, <class '__main__.My'>) tuple",
    "copy.deepcopy(g).next == f, copy.deepcopy(g).next.order":
        "(False, 3) tuple",
    "[repr(pickle.loads(pickle.dumps(g, p))) == repr(g) for p in range(6)]":
        "[True, True, True, True, True, True] list",
    "copy.copy(m.other_Count(1))":
        "TypeError: objects of type other.Count cannot be copied",
    "pickle.loads(pickle.dumps(m.Filter)) is m.Filter, m.Filter(1).__setstate__("
    "g.__getstate__())":
        "TypeError: <class 'classes.Filter'>: the object has been made already",
    "m.Chain.__new__(m.Chain).__setstate__(f.__getstate__())":
        "TypeError: <class 'classes.Chain'>: the constructor returned no object "
        "of the class",
    "f.__setstate__(3)": "TypeError: the state is no text of __getstate__",
    # What help() and inspect say.
    "str(inspect.signature(m.Filter)), str(inspect.signature(m.Chain))":
        "(\"(cutoff, *, order=2, name='low')\", \"(cutoff, next=None, taps=None, "
        "from_=Ellipsis, *, order=2, name='low')\") tuple",
    "str(inspect.signature(f.gain)), str(inspect.signature(m.Filter.of_text)), "
    "str(inspect.signature(m.other_Count))":
        "('(frequency, *, unit=1.0)', '(text, factor=1.0)', '(a, b=0)') tuple",
    "m.Filter.__doc__":
        "\"Filter(cutoff: float, *, order: int = 2, name: str = 'low')\\n\\nA "
        "low-pass filter.\" str",
    "m.Filter.cutoff.__doc__, m.Filter.calls.__doc__, m.Chain.next.__doc__":
        "('cutoff: float\\n\\nIn Hz.', 'calls: int  # read-only', 'next: "
        "demo.Filter | None') tuple",
    "m.Filter.gain.__doc__":
        "'gain(self, frequency: float, *, unit: float = 1.0) -> float\\n\\nReturns "
        "the gain at a frequency.' str",
    "'gain(self, /, frequency, *, unit=1.0)' in pydoc.plain("
    "pydoc.render_doc(m.Filter))":
        "True bool",
    "m.Filter.gain, m.Filter.gain.__name__, m.Filter.__module__":
        "(<method demo.Filter.gain>, 'gain', 'classes') tuple",
    "m.Filter.gain.__qualname__, f.gain.__qualname__, c.is_.__qualname__, "
    "m.other_Count.__add__.__qualname__":
        "('Filter.gain', 'Filter.gain', 'Chain.is_', 'other_Count.__add__') tuple",
    "sorted(n for n in dir(m) if n[0].isupper() or 'Count' in n)":
        "['Chain', 'Defaults', 'Filter', 'Wide', 'demo_inner_Count', "
        "'other_Count'] list",
    "str(inspect.signature(m.Defaults)), m.Defaults()":
        "(\"(data=b'ab', dtype='float32', device='cuda:1', axis=None)\", "
        "Defaults(data=b\"ab\", dtype=float32, device=cuda:1, axis=None)) tuple",
}
# Only where the package is missing: what needs it with the package.
OWN_ALONE = {
    "m.Filter(Hook())":
        "ImportError: demo.Filter: a value of type Hook needs the package "
        "apache-tvm-ffi, version 0.1.15",
    "setattr(f, 'order', Hook())":
        "ImportError: demo.Filter.order: a value of type Hook needs the package "
        "apache-tvm-ffi, version 0.1.15",
    "m.both([f, c], {'a': f})[1:]":
        "([demo.Filter(cutoff=0.5, order=3, name=\"low\", calls=0), "
        f"{CHAIN}], {{'a': {F}}}) tuple",
    "m.echo([f, {'a': f}])[1]['a'] == f, type(m.echo((c,))[0])":
        "(True, <class 'classes.Chain'>) tuple",
    "m.Chain(1, taps=[1, 2.5]).taps": "(1.0, 2.5) tuple",
}
OWN_NAMES = """
import copy, inspect, json, numpy, pickle, pydoc
import classes as m
class My(m.Filter):
    def __init__(self, n):
        super().__init__(n, order=n)
        self.more = n
    def gain(self, *given): return super().gain(*given) + 100
class Bad(m.Filter):
    def __init__(self): pass
class Right:
    def __radd__(self, other): return 'right'
class Hook:
    def __tvm_ffi_int__(self): return 1
def own(calls):
    out = []
    for call in calls:
        f, c = m.Filter(0.5, order=3), m.Chain(1)
        out += answers(m, [call], f=f, c=c, g=m.Chain(1, f), My=My, Bad=Bad,
                       copy=copy, inspect=inspect, Right=Right, Hook=Hook, numpy=numpy, pickle=pickle,
                       pydoc=pydoc)
    return out
def answers_of(calls):
    return json.dumps([own(json.loads(calls)), m.counts()])
"""
# The package is there, and nobody has registered a class with it, so results are
# of the module's class, before and after its import.
OWN_BESIDE = """
before = type(m.lowpass(1))
import tvm_ffi
print(before is m.Filter, answers_of(sys.argv[1]))
"""
OWN_REGISTERED = """
import tvm_ffi
f = m.Filter(0.5)
other = tvm_ffi.load_module(m.__file__)
print(other.cutoff(f, None), m.cutoff(other.lowpass(2)), f == other.echo(f))
made = other.echo(f)  # of the class that the package makes by itself
print(type(made) is m.Filter, type(m.lowpass(1)) is m.Filter, made.cutoff)
@tvm_ffi.register_object('demo.Filter')
class Registered(tvm_ffi.Object): pass
print(type(m.lowpass(1)), type(f.halved()), type(m.Chain(1, f).next))
print(type(m.Filter(2)), type(m.chain(f)), m.cutoff(m.lowpass(2)))
print(m.call(lambda x: type(x) is Registered, f), m.called(lambda x: x, f))
"""
ANSWERS_REGISTERED = """\
0.5 2.0 True
False True 0.5
<class '__main__.Registered'> <class '__main__.Registered'> \
<class '__main__.Registered'>
<class 'classes.Filter'> <class 'classes.Chain'> 2.0
True 0.5
"""
# Objects are released: the destructor of each has run.
OWN_RELEASED = """
n = 100000
for i in range(n):
    x = m.other_Count(1) + m.other_Count(2)
    m.echo(x), m.total({'a': [x, x]}), m.call(lambda y: y, x), x.value
    try: m.other_Count(i, 'x')
    except TypeError: pass
m.keep(x)
del x
left = m.counts()
m.keep(None)
print(left, m.counts())
"""
# The stub of these classes.
OWN_STUBS = """
class Filter:
    @property
    def calls(self) -> int: ...
    def __init__(self, cutoff: _Float, *, order: _Int=2, name: str='low') -> None: ...
    def halved(self) -> Filter: ...
    @property
    def period(self) -> float:
    @staticmethod
    def of_text(text: str, factor: _Float=1.0) -> Filter: ...
class Chain(Filter):
    next: Filter | None
    def __init__(self, cutoff: _Float, next: Filter | None=None, taps: \
Sequence[_Float] | None=None, from_: Any=..., *, order: _Int=2, name: \
str='low') -> None: ...
class other_Count:
    def __eq__(self, other: object) -> bool: ...
    def __init__(self, a: _Int, b: _Int=0) -> None: ...
def both(filters: Sequence[Filter], named: Mapping[str, Filter]) -> \
Sequence[Any]: ...
def cutoff(filter: Filter, chain: Chain | None=None) -> float: ...
"""
OWN_USE = """
from typing import assert_type
import classes as m, numpy
f = m.Filter(0.5, order=numpy.int8(3))
assert_type(f.gain(2, unit=1), float)
assert_type(m.Chain(1, f).next, m.Filter | None)
assert_type(m.other_Count(1) + m.other_Count(2), m.other_Count)
m.cutoff(m.Chain(1), chain=m.Chain(2))
f.name = 'x'
f.calls = 3  # wrong
assert_type(f.period, float)
f.period()  # wrong
f.order = 'x'  # wrong
m.Filter(1, 2)  # wrong
m.cutoff(m.other_Count(1))  # wrong
f.gain('x')  # wrong
"""
OWN_LEAKS = """
m.Filter(0.5, order=3) | m.Filter() | m.Filter('x') | m.Filter(1, bad=2)
m.lowpass(1).halved().gain(2, unit=3) | m.lowpass(1).gain('x') | m.Filter.of_text
m.Chain(1, m.Filter(2), [1, 2.5], 'a long text', name='a long name').taps
setattr(m.Filter(1), 'name', 'another long text') | setattr(m.Filter(1), 'order', 'x')
m.other_Count(3, b=4) + m.other_Count(2) | m.other_Count(-1) | m.other_Count('x')
m.call(lambda x: x.halved(), m.Filter(1)) | m.both([m.Filter(1)], {'a': m.Chain(2)})
m.lowpass(1).gain | m.Filter.gain | m.Filter(1).of_text('x') | m.Filter(1).__copy__()
repr(m.Chain(1)) | m.Chain(1) == m.Chain(1) | m.Chain(1).__deepcopy__(None)
m.Filter.__new__(m.Filter).__setstate__(m.Filter(1).__getstate__()) | m.echo(m.Chain)
m.Filter.__new__(m.Filter).cutoff | m.cutoff(1) | m.keep(m.Filter(1)) | m.kept()
m.Chain(1, taps=range(3)) | m.Chain(1, None, [1, 'x']) | m.Chain(1, from_=1j).from_
m.other_Count(1) == None | m.other_Count(1) == m.other_Count(1) | m.other_Count(1) + 1
m.Filter(1).__init__(2) | m.Wide(**{n: i for i, n in enumerate('abcdefghij')})
"""
PICKLE = """
import copy, importlib, pickle, sys
m = importlib.import_module('extension')
for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    assert pickle.loads(pickle.dumps(m.add, protocol)) is m.add, protocol
    assert pickle.loads(pickle._dumps([m.add, m.add], protocol)) == [m.add] * 2
assert copy.copy(m.add) is m.add and copy.deepcopy([m.add])[0] is m.add
print(pickle.dumps((m.add, m.join)).hex())
"""
UNPICKLE = """
import pickle, sys
add, join = pickle.loads(bytes.fromhex(sys.argv[1]))
assert add(2, b=3) == 5 and join.__name__ == 'join'
print('the same')
"""

tap = Tap()


def split(calls):
    return [c.strip() for c in calls.replace("\n", "|").split("|")
            if c.strip()]


def compile_module(compiler, source, python, folder, *flags):
    """Builds an extension module, of the source's name, for a Python."""
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    include = subprocess.run([python, "-c", code], capture_output=True,
                             text=True, check=True).stdout.strip()
    target = folder / f"{source.stem}.so"
    folder.mkdir(exist_ok=True)
    subprocess.run(
        [*shlex.split(compiler), "-O1", "-g", "-fPIC", "-shared", "-Wall",
         "-Wextra", "-Werror", f"-I{ROOT}", f"-I{ROOT}/hosts/python",
         f"-I{include}", *flags, source, "-o", target], check=True)
    return target


def child(python, code, *arguments, folders=(), bare=True):
    """Runs code; `bare` hides all installed packages."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    done = subprocess.run([python, *(["-S"] if bare else []), "-c", code,
                           *map(str, arguments)], capture_output=True,
                          text=True, env=env)
    return done.stdout if not done.returncode else \
        f"exit status {done.returncode}\n{done.stdout}{done.stderr}"


def same(name, calls, got, wanted):
    wrong = [f"{c}: {g}, not {w}" for c, g, w in zip(calls, got, wanted)
             if g != w]
    tap.ok(not wrong and len(got) == len(wanted), f"{name}: {len(calls)} calls",
           "\n".join(wrong))


def is_keyword_call(call):
    return "=" in call.split("lambda")[0]


def without_tvm_ffi(folder, dropin, wanted):
    """Plain values need no package, whatever is installed."""
    calls = split(CALLS)
    text = child(sys.executable, PLAIN, json.dumps(calls),
                 folders=[folder, dropin])
    try:
        got = json.loads(text)
    except ValueError:
        got = [text]
    same("without tvm_ffi", calls, got, wanted)
    text = child(sys.executable, "import extension\nprint('imported')\n"
                 "try: extension.add(1)\nexcept ImportError as e: print(e)",
                 folders=[folder])
    tap.ok("imported" in text and "install the package tvmffi" in text,
           "without a runtime, the first call says what is missing", text)


def signatures(m):
    tap.ok(m.add.__name__ == "add" and m.add.__module__ == "extension"
           and m.add.__doc__ == "add(a: int, b: int = 1) -> int\n\nAdds two "
           "integers.\n\nThe second is 1 by default.", "names and documentation",
           (m.add.__name__, m.add.__module__, m.add.__doc__))
    tap.ok(m.__doc__ == "Functions of each kind.\n\nFor tests.",
           "the module's documentation", m.__doc__)
    text = "(a, b='two', c=0.5, d=True, e=None)"
    tap.ok(m.join.__text_signature__ == text
           and str(inspect.signature(m.join)) == text, "signatures",
           (m.join.__text_signature__, text))
    tap.ok(m.types.__doc__ == "types(a: int = 0, b: Sequence[int] | None = None, "
           "c: Mapping[str, Sequence[float]] | None = None, d: device = 'cpu', "
           "f: Callable | None = None, p: c_void_p | None = None, "
           "x: Any = 0) -> None" and m.read.__doc__ ==
           'read(x: tensor("float64[n] cpu"), bias: tensor("float64[n] cpu") '
           "| None = None) -> float", "help has types",
           m.types.__doc__ + m.read.__doc__)
    tap.ok(str(inspect.signature(m.words)) == "(from_, in_)"
           and m.words.__doc__ == "words(from_: int, in_: int) -> int",
           "a parameter that is a keyword of Python has another name",
           m.words.__doc__)
    names = ["add", "arange", "ask", "call", "count", "describing", "double_of", "echo",
             "eleven", "fail", "fail_in", "fill", "has_failed", "in_context",
             "is_alive", "join", "keep", "kept", "kind_of", "leave", "named",
             "nested", "nop", "on_device", "pad", "post", "ramp", "read", "replace", "scaled",
             "size_of", "tail", "total",
             "type_of", "types", "view", "view_object", "wait", "words",
             "wrapped", "zero"]
    tap.ok([n for n in dir(m) if n[0] != "_"] == names, "all exports are there",
           dir(m))


def types_of_arguments(name, python, folder, dropin):
    text = child(python, TYPES, folders=[folder, dropin])
    try:
        got = json.loads(text)
    except ValueError:
        got = {}
    tap.ok(got.get("first") and got.get("again") == 0,
           f"{name}: 3000 types are classified once each", text)
    tap.ok(got.get("left") == 1500, f"{name}: types without a reference die", text)
    tap.ok(got.get("after") == 0 and got.get("callback") == 0,
           f"{name}: the others stay classified", text)
    tap.ok(got.get("wrong") == [] and got.get("addresses") < 2900,
           f"{name}: a type at another's address is classified anew", text)


def stubs(args, folder):
    """tools/stub.py, and what mypy says of its result."""
    def stub(library):
        return subprocess.run(
            [sys.executable, ROOT / "tools/stub.py", library], text=True,
            capture_output=True, env={**os.environ, "PYTHONPATH": args.dropin})

    text = stub(folder / "extension.so").stdout
    missing = [line for line in STUBS.strip().split("\n")
               if line not in text.split("\n")]
    tap.ok(text.startswith('"""Functions of each kind.\n\nFor tests."""\n\nfrom '),
           "a stub has the module's documentation", text)
    tap.ok(not missing, "a stub has dtypes, shapes and NumPy's types",
           "\n".join([*missing, "are not in", text]))
    for i, (contract, wrong) in enumerate(BAD_CONTRACTS.items()):
        source = folder / f"bad{i}" / "bad.c"
        source.parent.mkdir()
        source.write_text(
            '#include "tvmffi_python.h"\n\nTVMFFI_EXPORT(f, none, (tensor("'
            f'{contract}"), x)) {{\n  (void)x;\n  TVMFFI_RETURN();\n}}\n'
            "TVMFFI_PYTHON_MODULE(bad)\n")
        done = stub(compile_module(args.cc, source, sys.executable,
                                   source.parent))
        tap.ok(done.returncode == 1 and done.stderr ==
               f"{source}:3: error: f: the text \"{contract}\" of x: {wrong}\n"
               and not done.stdout,
               f"no stub of {contract}", done.stderr)
    check_types(folder, "extension", text, USE)
    text = stub(folder / "classes.so").stdout
    missing = [line for line in OWN_STUBS.strip().split("\n")
               if line not in text.split("\n")]
    tap.ok(not missing, "a stub has classes, with their fields and methods",
           "\n".join([*missing, "are not in", text]))
    check_types(folder, "classes", text, OWN_USE)


def check_types(folder, module, stub, use):
    name = f"mypy reads the stub of {module}, and finds the wrong calls"
    if not importlib.util.find_spec("mypy"):
        tap.skip(name, "no mypy")
        return
    folder = folder / f"mypy-{module}"
    folder.mkdir()
    (folder / f"{module}.pyi").write_text(stub)
    (folder / "use.py").write_text(use)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict",
                           f"{module}.pyi", "use.py"], cwd=folder,
                          capture_output=True, text=True)
    wanted = [i for i, line in enumerate(use.split("\n"), 1) if "# wrong" in line]
    found = re.findall(r"^(\S+):(\d+): error", done.stdout, re.M)
    tap.ok(sorted({*found}, key=lambda f: int(f[1])) ==
           [("use.py", str(i)) for i in wanted], name, done.stdout)


def lines_about_none(args, folder):
    """Lines about a function or a parameter that does not exist."""
    for i, (line, wrong) in enumerate({
            'TVMFFI_DOC(old, "Text.")':
                "TVMFFI_DOC(old, ...): there is no TVMFFI_EXPORT(old, ...)",
            **{f"TVMFFI_PYTHON_PROPERTY({name})":
               f"TVMFFI_PYTHON_PROPERTY({name}): it is not a method without "
               "parameters" for name in ("Type_length", "f")},
            "TVMFFI_PYTHON_KW_ONLY(f, old)":
                "TVMFFI_PYTHON_KW_ONLY(f, old): f has no parameter `old`",
    }.items()):
        source = folder / f"none{i}" / "extension.c"
        source.parent.mkdir()
        source.write_text(
            '#include "tvmffi_python.h"\n\n'
            "typedef struct { TVMFFIObject base; } Type;\n"
            'TVMFFI_TYPE(Type, "a.Type", TVMFFIObject, (method, length))\n'
            "TVMFFI_METHOD(Type, length, int64, (int64, x)) {\n"
            "  (void)self;\n  TVMFFI_RETURN(x);\n}\n"
            "TVMFFI_EXPORT(f, int64, (int64, x)) { TVMFFI_RETURN(x); }\n"
            f"{line}\nTVMFFI_PYTHON_MODULE(extension)\n")
        compile_module(args.cc, source, sys.executable, source.parent)
        text = child(sys.executable, "try: import extension\n"
                     "except ImportError as e: print(e)",
                     folders=[source.parent])
        tap.ok(text == wrong + "\n", f"{line} is an ImportError", text)


def own_types(name, folder, dropin):
    """Types of the module as classes, where the package is missing."""
    calls = {**OWN, **OWN_ALONE}
    text = child(sys.executable, NAMES + "sys.modules['tvm_ffi'] = None\n" +
                 OWN_NAMES + "print(answers_of(sys.argv[1]))",
                 json.dumps(list(calls)), folders=[folder, dropin], bare=False)
    try:
        got, left = json.loads(text)
    except ValueError:
        got, left = [text], None
    same(f"types as classes, {name}", list(calls), got, list(calls.values()))
    tap.ok(left == 0, f"types as classes, {name}: objects are released", left)


SHARED = """#include "tvmffi_python.h"
typedef struct {
  TVMFFIObject base;
  int64_t n;
} Shared;
TVMFFI_TYPE(Shared, "files.Shared", TVMFFIObject, (field, int64, n),
            (method, twice), (method, size))
typedef struct {
  TVMFFIObject base;
  int64_t a, b, c;
} Wide;
TVMFFI_TYPE(Wide, "files.Wide", TVMFFIObject, (field, int64, a, 0),
            (field, int64, b, 0), (field, int64, c, 0))
"""
MAKES_SHARED = """#include "shared.h"
TVMFFI_EXPORT(make, Shared, (int64, n)) {
  TVMFFI_RETURN(TVMFFI_NEW(Shared, n));
}
TVMFFI_EXPORT(size, int64, (tensor, x)) { TVMFFI_RETURN(x->shape[0]); }
TVMFFI_PYTHON_MODULE(extension)
"""
HAS_METHODS = """#include "shared.h"
TVMFFI_METHOD(Shared, twice, int64) { TVMFFI_RETURN(2 * self->n); }
TVMFFI_METHOD(Shared, size, int64, (tensor, x)) {
  TVMFFI_RETURN(x->shape[0]);
}
"""
HAS_TWO_NAMES = """#include "tvmffi_python.h"
typedef struct {
  TVMFFIObject base;
} Named;
TVMFFI_TYPE(Named, "files.twice", TVMFFIObject)
TVMFFI_EXPORT(twice, int64) { TVMFFI_RETURN(2); }
TVMFFI_PYTHON_MODULE(extension)
"""
USES_SHARED = """import sys, numpy
sys.modules['tvm_ffi'] = None
try:
    import extension as m
except ImportError as e:
    sys.exit(print(e))
s, x = m.make(3), numpy.ones(5)
print(s.twice(), m.Shared(4).twice(), m.Shared)
before = sys.getrefcount(x)
print({(m.size(x), s.size(x)) for i in range(100)},
      sys.getrefcount(x) - before)
class Both(m.Shared, m.Wide): pass
for use in (lambda: Both(1).c, lambda: setattr(Both(1), 'c', 1)):
    try: print(use())
    except TypeError as e: print(e)
s.__class__ = m.Wide
try: print(s.c)
except TypeError as e: print(e)
"""
OF_SHARED = """6 8 <class 'extension.Shared'>
{(5, 5)} 0
`c` is a field of files.Wide, got files.Shared
`c` is a field of files.Wide, got files.Shared
`c` is a field of files.Wide, got files.Shared
"""


def type_in_files(args, folder):
    """A type in a header: one of the files has the methods, and Python may
    give an object another class."""
    work = folder / "files"
    work.mkdir()
    (work / "shared.h").write_text(SHARED)
    (work / "makes.c").write_text(MAKES_SHARED)
    (work / "methods.c").write_text(HAS_METHODS)
    (work / "two_names.c").write_text(HAS_TWO_NAMES)
    missing = "write TVMFFI_METHOD for files.Shared.twice\n"
    both = "`twice` is a function and a class of the module\n"
    for names, want in ((["makes"], missing), (["makes", "methods"], OF_SHARED),
                        (["methods", "makes"], OF_SHARED),
                        (["two_names"], both)):
        source = work / "extension.c"
        source.write_text(f'#include "{names[-1]}.c"\n')
        compile_module(args.cc, source, sys.executable, work,
                       *(work / f"{name}.c" for name in names[:-1]))
        text = child(sys.executable, USES_SHARED, folders=[work, args.dropin],
                     bare=False)
        tap.ok(text == want, f"a type in the files {', '.join(names)}", text)


def own_types_beside(folder, dropin):
    """The same beside the package, whose classes they can also be."""
    text = child(sys.executable, NAMES + OWN_NAMES + OWN_BESIDE,
                 json.dumps(list(OWN)), folders=[folder, dropin], bare=False)
    before, _, rest = text.partition(" ")
    try:
        got, left = json.loads(rest)
    except ValueError:
        got, left = [text], None
    same("types as classes, beside tvm_ffi", list(OWN), got,
         list(OWN.values()))
    tap.ok(before == "True" and left == 0, "they are the same classes before "
           "its import, and released", text[:99])
    text = child(sys.executable, NAMES + OWN_NAMES + OWN_REGISTERED,
                 folders=[folder, dropin], bare=False)
    tap.ok(text == ANSWERS_REGISTERED, "a class that is registered with tvm_ffi "
           "is that of results", text)
    text = child(sys.executable, "import classes as m" + OWN_RELEASED,
                 folders=[folder, dropin])
    tap.ok(text == "1 0\n", "100000 objects are released", text)
    text = child(sys.executable, "import classes as m, threading\n"
                 "begin, got = threading.Barrier(8), []\n"
                 "def work():\n"
                 "    begin.wait()\n"
                 "    got.append(m.lowpass(1).gain(0) + m.Filter(2).cutoff)\n"
                 "made = [threading.Thread(target=work) for _ in range(8)]\n"
                 "for t in made: t.start()\n"
                 "for t in made: t.join()\n"
                 "print(got == [3.0] * 8)", folders=[folder, dropin])
    tap.ok(text == "True\n", "threads make the first objects", text)


def pickles(folder, dropin):
    text = child(sys.executable, PICKLE, folders=[folder, dropin])
    tap.ok("\n" not in text.strip(), "functions are pickled and copied", text)
    text = child(sys.executable, UNPICKLE, text.strip(),
                 folders=[folder, dropin])
    tap.ok(text == "the same\n", "another process loads them", text)


def gil(m):
    """The other thread gets the GIL only if a call releases it."""
    begun, before = threading.Event(), sys.getswitchinterval()
    thread = threading.Thread(target=lambda: (begun.wait(), m.post()))
    thread.start()
    sys.setswitchinterval(1000)
    begun.set()
    tap.ok(m.wait(60), "other threads run during a call")
    sys.setswitchinterval(before)
    thread.join()


def lasting_errors(m):
    """Exceptions that what a call does after them must not replace."""
    class Interrupted(int):
        interrupts = iter([KeyboardInterrupt])

        def bit_length(self):
            for interrupt in self.interrupts:  # the first time only
                raise interrupt
            return super().bit_length()

    class Failing:
        def __call__(self):
            pass

        def __del__(self):
            try:
                m.fail("KeyError")
            except KeyError:
                pass

    def clear_and_fail(_):
        values.clear()
        raise IndexError("of the callback")

    # The call's copy of the list has the last reference to the object.
    values = [functools.partial(Failing())]
    for what, call, wanted in (
            ("an interrupt during a conversion",
             lambda: m.echo(Interrupted(2**100)), KeyboardInterrupt),
            ("an error before a destructor that fails",
             lambda: m.call(clear_and_fail, values), IndexError)):
        try:
            got = call()
        except BaseException as error:
            got = type(error)
        tap.ok(got is wanted, f"{what} is raised", got)


def passed_exceptions(folder, dropin):
    for name, *imports in ("without", ), ("beside", "tvm_ffi"):
        text = child(sys.executable, PASSED, *imports,
                     folders=[folder, dropin], bare=not imports)
        tap.ok(text == "right\n", f"{name} tvm_ffi, the exception of a callback "
               "arrives as the same object", text)


def results(folder, dropin):
    text = child(sys.executable, LIKE, json.dumps(list(RESULTS)),
                 json.dumps(list(IMPORTED)), folders=[folder, dropin],
                 bare=False)
    try:
        alone, beside, left, kilobytes = json.loads(text)
    except ValueError:
        alone, beside, left, kilobytes = [text], [], None, None
    same("results as the arguments, without tvm_ffi", list(RESULTS), alone,
         list(RESULTS.values()))
    wanted = {**RESULTS, **IMPORTED}
    same("results as the arguments, beside tvm_ffi", list(wanted), beside,
         list(wanted.values()))
    tap.ok(left == 0, "results release their arguments", left)
    # 50 of 8 MB
    tap.ok(kilobytes is not None and kilobytes < 100000,
           "an array releases its tensor", kilobytes)


def tracebacks(folder, dropin):
    """Tracebacks have the lines of C code, as printed by Python's module and
    at a process's end."""
    number = 1 + (HERE / "extension.c").read_text().split("\n").index(
        '  return TVMFFI_RAISE(kind.data, "a text with %d", 7);')
    frame = (f'  File "{HERE}/extension.c", line {number}, in fail\n'
             '    return TVMFFI_RAISE(kind.data, "a text with %d", 7);\n'
             "ValueError: a text with 7\n")
    printed, uncaught = (
        child(sys.executable, f"import extension as m, traceback\n{code}",
              folders=[folder, dropin])
        for code in ("try: m.fail('ValueError')\n"
                     "except ValueError: print(traceback.format_exc(), end='')",
                     "m.fail('ValueError')"))
    tap.ok(printed.endswith(frame) and uncaught.endswith(frame),
           "tracebacks have the lines of C code", printed + uncaught)
    text = child(sys.executable, UNKNOWN_LINE, folders=[folder, dropin])
    tap.ok(text == "['<string>', 'known.c']\n",
           "a frame without a line is left out", text)


def broken_package(folder, dropin):
    """A package that cannot be imported is not called missing."""
    package = folder / "broken" / "tvm_ffi"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import a_missing_dependency\n")
    text = child(sys.executable, MISSING, folders=[folder, dropin])
    tap.ok(text == MISSED, "a missing package is named where one is needed",
           text)
    text = child(sys.executable, ALONE, folders=[folder, dropin], bare=False)
    tap.ok(text == ANSWERS_ALONE, "without a package, results are NumPy arrays "
           "and tuples", text)
    text = child(sys.executable, "import extension\n"
                 "class Hook: __tvm_ffi_int__ = 1\n"
                 "try: extension.echo(Hook())\n"
                 "except ImportError as e: print(e)",
                 folders=[folder, dropin, package.parent])
    tap.ok("its import failed: No module named 'a_missing_dependency'" in text,
           "a package that fails to import is not called missing", text)


def own_runtime(args, folder):
    compile_module(args.cc, HERE / "extension.c", sys.executable, folder,
                   "-DTVMFFI_IMPLEMENTATION")
    for name, before, after, more in (
            ("without tvm_ffi", "sys.modules['tvm_ffi'] = None", "", "True"),
            ("beside tvm_ffi", "", "", "False"),
            ("after tvm_ffi", "import tvm_ffi", OF_THE_PACKAGE,
             "True\nArray Tensor Tensor")):
        text = child(sys.executable,
                     f"import sys\n{before}\n{OWN_RUNTIME}{after}",
                     folders=[folder], bare=False)
        tap.ok(text == f"{ANSWERS_OWN_RUNTIME}{more}\n",
               f"results of a module with its own runtime, {name}", text)
    done = subprocess.run([sys.executable, ROOT / "tools/stub.py",
                           folder / "extension.so"], capture_output=True,
                          text=True)
    tap.ok("def arange(n: _Int) -> Annotated[NDArray[numpy.float64], "
           "'float64[n] cpu']: ...\n" in done.stdout,
           "its stub says that they are NumPy's arrays", done.stdout)


def precise(answers):
    """Answers without what an extension module adds to those of tvm_ffi."""
    return [re.sub(r"(?<=Error: )\w+: argument `\w+`: ", "", a)
            for a in answers]


def beside_tvm_ffi(m, library):
    """Both ways to call, in one process."""
    scope = {}
    exec(NAMES, scope)
    import tvm_ffi
    other = tvm_ffi.load_module(str(library))
    # Functions of a module take no keywords.
    calls = [c for c in split(CALLS) if not is_keyword_call(c)]
    same("beside tvm_ffi", calls, precise(scope["stock_answers"](m, calls)),
         scope["answers"](other, calls))
    calls = split(OBJECTS)
    same("objects and arrays", calls,
         precise(scope["stock_answers"](m, calls, **scope["names"]())),
         precise(scope["answers"](other, calls, **scope["names"]())))


def together(name, python, folder, dropin, has_gil):
    """Processes whose threads begin with their first calls."""
    # These share state that is for one thread.
    calls = [c for c in split(CALLS + OBJECTS) if not any(
        word in c for word in ("keep", "kept", "is_alive", "references",
                               "array", "described"))]
    plain = [c for c in calls if c in split(CALLS)]
    for what, some in (("plain", plain), ("objects", calls)):
        wrong = []
        for _ in range(5):
            text = child(python, THREADS, json.dumps(some), what,
                         folders=[folder, dropin], bare=what == "plain")
            try:
                bad, gil = json.loads(text)
            except ValueError:
                bad, gil = [text], has_gil
            wrong += bad + [f"the GIL is {gil}"] * (gil != has_gil)
        tap.ok(not wrong, f"{name}, {what}: {len(some)} calls in threads",
               "\n".join(wrong))


def without_gil(args, folder):
    compile_module(args.cc, HERE / "extension.c", args.free_python, folder)
    together("without a GIL", args.free_python, folder, args.dropin, False)
    types_of_arguments("types without a GIL", args.free_python, folder,
                       args.dropin)


def leaks(args, folder):
    python = shutil.which("python3-dbg") or shutil.which("python3.11-dbg")
    name = f"{args.calls} random calls leak no reference and no memory"
    if not python:
        tap.skip(name, "install python3-dbg")
        return
    for source in "extension", "classes":
        compile_module(args.cc, HERE / f"{source}.c", python, folder)
    leak = "m.__dict__.setdefault('leaked', []).append(bytearray(999))"
    for what, module, calls, bad in (
            (name, "extension", CALLS, []),
            (f"{name}, with types", "classes", OWN_LEAKS, []),
            ("the count finds a leak", "extension", CALLS, [leak])):
        text = child(python, LEAKS.replace("extension", module),
                     args.calls if not bad else 20000,
                     *split(calls), *bad, folders=[folder, args.dropin])
        try:
            references, size = map(int, text.split())
        except ValueError:
            references = size = None
        right = references is not None and (
            references > 100 and size > 10000 if bad else
            abs(references) <= 100 and size <= 10000)
        tap.ok(right, what, text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dropin", required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx")
    parser.add_argument("--calls", type=int, default=100000)
    parser.add_argument("--free-python")
    args = parser.parse_args()
    include = pathlib.Path(sysconfig.get_path("include"))
    if not (include / "Python.h").is_file():
        tap.skip("extension modules", f"no Python.h in {include}: install "
                 "python3-dev")
        return tap.done()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        library = compile_module(args.cc, HERE / "extension.c", sys.executable,
                                 work / "c", "-std=gnu11")
        compile_module(args.cc, HERE / "classes.c", sys.executable, work / "c",
                       "-std=gnu11")
        sys.path.insert(0, str(work / "c"))
        import extension as m
        signatures(m)
        gil(m)
        header = (ROOT / "hosts/python/tvmffi_python.h").read_text()
        tap.ok(not re.search(r'"\w+#', header), "no format has a length, which "
               "CPython 3.12 and 3.13 read by other functions")
        scope = {}
        exec(NAMES, scope)
        wanted = scope["answers"](m, split(CALLS))
        without_tvm_ffi(work / "c", args.dropin, wanted)
        types_of_arguments("types", sys.executable, work / "c", args.dropin)
        pickles(work / "c", args.dropin)
        stubs(args, work / "c")
        lines_about_none(args, work / "c")
        own_types("C", work / "c", args.dropin)
        own_types_beside(work / "c", args.dropin)
        type_in_files(args, work / "c")
        results(work / "c", args.dropin)
        passed_exceptions(work / "c", args.dropin)
        tracebacks(work / "c", args.dropin)
        broken_package(work / "c", args.dropin)
        own_runtime(args, work / "own")
        beside_tvm_ffi(m, library)
        lasting_errors(m)
        if args.cxx:
            compile_module(args.cxx, HERE / "extension.c", sys.executable,
                           work / "cxx", "-std=gnu++17", "-x", "c++")
            got = json.loads(child(sys.executable, PLAIN,
                                   json.dumps(split(CALLS)),
                                   folders=[work / "cxx", args.dropin]))
            same("compiled as C++", split(CALLS), got, wanted)
            compile_module(args.cxx, HERE / "classes.c", sys.executable,
                           work / "cxx", "-std=gnu++17", "-x", "c++")
            own_types("C++", work / "cxx", args.dropin)
        together("at the same time", sys.executable, work / "c", args.dropin,
                 True)
        if args.free_python:
            without_gil(args, work / "free")
        leaks(args, work / "dbg")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
