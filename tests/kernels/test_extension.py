"""Extension modules by tvmffi_python.h.

    python test_extension.py --dropin DIR --cc CC [--cxx CXX] [--calls N]
                             [--free-python PYTHON]

Builds extension.c for this Python and imports it where tvm_ffi is not
installed, where it is not imported, and where it is. The same library is loaded
by tvm_ffi.load_module, too, and each function has to give the same. Threads
make their first calls at the same time. A debug CPython (python3-dbg) counts
references during N random calls. PYTHON is a free-threaded CPython with
apache-tvm-ffi and numpy: its threads call without a GIL. Writes TAP.
"""

import argparse
import functools
import inspect
import json
import os
import pathlib
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
m.add(1, c=3) | m.add(1, a=3) | m.add(b=3) | m.add(2**63) | m.add(-2**63)
m.join('a') | m.join('a', d=False) | m.join('a', e=b'xyz') | m.join(b='x')
m.join('a' * 20, 'b' * 20) | m.join('caf\\xe9', '\\u4e2d') | m.join('\\ud800')
m.echo(None) | m.echo(0) | m.echo(-1) | m.echo(2**62) | m.echo(2**100)
m.echo(-2**100) | m.echo(2**64 - 1) | m.echo(1.5) | m.echo(True)
m.echo('') | m.echo('short') | m.echo('1234567') | m.echo('12345678')
m.echo('a' * 100) | m.echo(b'') | m.echo(b'short') | m.echo(b'b' * 100)
m.fail('ValueError') | m.fail('KeyError') | m.fail('Unknown')
m.call(lambda x: x, 3) | m.call(lambda x: x * 2, 'text') | m.call(len, 'text')
m.call(lambda x: x, 'a long text') | m.call(lambda x: None, 1)
m.call(lambda x: 1 // 0, 1) | m.call(lambda x: [][1], 1) | m.call(abs, -2.5)
m.call(lambda x: m.call(lambda y: y + 1, x), 3) | m.call(str.upper, 'text')
m.keep(lambda x: x) | m.keep(len, False) | m.is_alive() | m.keep(None)
m.eleven(1, 2, 3, 4, 5, 6, 7, 8, 9, 'a text') | m.eleven(*range(12))
m.eleven(1, 2, 3, 4, 5, 6, 7, 8, k=1, j='j', i=2)
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
m.view(numpy.zeros(3, 'complex64')) | m.view(frozen) | m.view([1, 2])
m.view(numpy.zeros([1] * 12)) | m.view(numpy.frombuffer(b'12345678', 'int8'))
m.view(tvm_ffi.from_dlpack(numpy.zeros((2, 3)))) | m.view(wrapper)
m.view_object(numpy.zeros((2, 3))) | m.view_object(numpy.zeros((4, 6))[::2])
m.view_object(numpy.zeros([1] * 12)) | m.view_object(wrapper)
m.echo(numpy.zeros(2)) | m.echo(wrapper) | m.echo([wrapper, 1])
m.fill(array, 2.5) | m.fill(array.astype('float32'), 1) | array.tolist()
m.keep(numpy.ones((2, 3))) | m.is_alive() | numpy.from_dlpack(m.kept()).tolist()
m.keep(numpy.ones(2), False) | m.is_alive() | m.keep([numpy.ones(3), [wrapper]])
numpy.from_dlpack(m.kept()[0]).tolist() | m.keep(lambda x: x + 1) | m.kept()(3)
m.keep(len, False) | m.is_alive() | m.kept() | m.keep([len, abs]) | m.kept()[1](-2)
m.keep(wrapper) | numpy.from_dlpack(m.kept()).shape | m.keep(wrapper, False)
m.is_alive() | references(m, array) | references(m, len) | references(m, [array])
references(m, lambda x: x) | references(m, numpy.ones(2)) | m.echo([array] * 40)
m.view(described(m, 'f4')) | m.view_object(described(m, 'i1')) | m.is_alive()
m.keep(described(m, 'i2')) | numpy.from_dlpack(m.kept()).tolist() | m.keep(None)
m.keep(described(m, 'i2'), False) | m.is_alive() | m.echo(described(m, 'f8'))
m.echo([described(m, 'f8')]) | references(m, described(m, 'f8'))
"""
NAMES = """
import enum, sys
class Kind(enum.IntEnum):
    ONE = 1
class Text(str): pass
class Value:
    def __tvm_ffi_value__(self): return [1, 'two']
def names():
    import numpy, tvm_ffi
    frozen = numpy.zeros(3)
    frozen.flags.writeable = False
    tensor = tvm_ffi.from_dlpack(numpy.zeros((2, 3), 'int16'))
    return dict(numpy=numpy, tvm_ffi=tvm_ffi, frozen=frozen, Kind=Kind,
                Value=Value, Text=Text, array=numpy.ones((2, 2)),
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
        except Exception as e:
            out.append(f"{type(e).__name__}: {e}")
    return out
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
    """Builds an extension module for a Python."""
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    include = subprocess.run([python, "-c", code], capture_output=True,
                             text=True, check=True).stdout.strip()
    target = folder / "extension.so"
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
           and m.add.__doc__.startswith("Adds two"), "names and documentation",
           (m.add.__name__, m.add.__module__, m.add.__doc__))
    text = "(a, b='two', c=0.5, d=True, e=None)"
    tap.ok(m.join.__text_signature__ == text
           and str(inspect.signature(m.join)) == text, "signatures",
           (m.join.__text_signature__, text))
    names = ["add", "call", "describing", "echo", "eleven", "fail", "fill",
             "is_alive",
             "join", "keep", "kept", "nop", "post", "view", "view_object",
             "wait"]
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


def beside_tvm_ffi(m, library):
    """Both ways to call, in one process."""
    scope = {}
    exec(NAMES, scope)
    import tvm_ffi
    other = tvm_ffi.load_module(str(library))
    # Functions of a module take no keywords.
    calls = [c for c in split(CALLS) if not is_keyword_call(c)]
    same("beside tvm_ffi", calls, scope["answers"](m, calls),
         scope["answers"](other, calls))
    calls = split(OBJECTS)
    same("objects and arrays", calls,
         scope["answers"](m, calls, **scope["names"]()),
         scope["answers"](other, calls, **scope["names"]()))


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
    compile_module(args.cc, HERE / "extension.c", python, folder)
    for what, bad in ((name, []), ("the count finds a leak",
                                   ["m.__dict__.setdefault('leaked', [])"
                                    ".append(bytearray(999))"])):
        text = child(python, LEAKS, args.calls if not bad else 20000,
                     *split(CALLS), *bad, folders=[folder, args.dropin])
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
        sys.path.insert(0, str(work / "c"))
        import extension as m
        signatures(m)
        gil(m)
        scope = {}
        exec(NAMES, scope)
        wanted = scope["answers"](m, split(CALLS))
        without_tvm_ffi(work / "c", args.dropin, wanted)
        types_of_arguments("types", sys.executable, work / "c", args.dropin)
        pickles(work / "c", args.dropin)
        beside_tvm_ffi(m, library)
        lasting_errors(m)
        if args.cxx:
            compile_module(args.cxx, HERE / "extension.c", sys.executable,
                           work / "cxx", "-std=gnu++17", "-x", "c++")
            got = json.loads(child(sys.executable, PLAIN,
                                   json.dumps(split(CALLS)),
                                   folders=[work / "cxx", args.dropin]))
            same("compiled as C++", split(CALLS), got, wanted)
        together("at the same time", sys.executable, work / "c", args.dropin,
                 True)
        if args.free_python:
            without_gil(args, work / "free")
        leaks(args, work / "dbg")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
