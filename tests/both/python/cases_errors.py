"""Errors and tracebacks across the languages."""

import gc
import pickle
import re
import traceback
import weakref

import tvm_ffi
import tvm_ffi.testing
from kit import core, echo, frames, outcome, raises, unique, use_count
from tvm_ffi import Array, error as ffi_error

KINDS = [RuntimeError, ValueError, TypeError, AttributeError, KeyError,
         IndexError, AssertionError, MemoryError]


def caught(function, *args):
    try:
        function(*args)
    except BaseException as error:
        return error
    raise AssertionError("no error")


def case_library_raises_each_kind():
    f = tvm_ffi.get_global_func("testing.test_raise_error")
    out = []
    for kind in KINDS:
        error = caught(f, kind.__name__, "text of it")
        assert type(error) is kind and error.args == ("text of it",)
        out.append(repr(error))
    return out


def case_unknown_kind_is_runtime_error():
    f = tvm_ffi.get_global_func("testing.test_raise_error")
    out = []
    for kind in ("NoSuchError", "InternalError", "", "OverflowError",
                 "ZeroDivisionError", "NotImplementedError", "StopIteration"):
        error = caught(f, kind, "text")
        out.append((repr(error), error.__tvm_ffi_error__.kind))
    return out


def case_messages():
    f = tvm_ffi.get_global_func("testing.test_raise_error")
    out = []
    for text in ("", "a", "two\nlines", "\u00e9\u4e2d\U0001f600", "x" * 5000,
                 "%s %d {}", "nul\0in it", " spaces "):
        error = caught(f, "ValueError", text)
        out.append((str(error), error.__tvm_ffi_error__.message))
        assert str(error) == text or "\0" in text
    return out


def case_key_error_text():
    f = tvm_ffi.get_global_func("testing.test_raise_error")
    error = caught(f, "KeyError", "the key")
    return str(error), error.args, repr(error)


def case_python_raises_each_kind():
    out = []
    for kind in KINDS + [NotImplementedError, ZeroDivisionError, OSError,
                         StopIteration, UnicodeError, OverflowError,
                         ArithmeticError, Exception]:
        def fail():
            raise kind("text")

        error = caught(tvm_ffi.convert(fail))
        ffi = getattr(error, "__tvm_ffi_error__", None)
        out.append((kind.__name__, repr(error),
                    ffi and (ffi.kind, ffi.message)))
    return out


def case_base_exceptions():
    out = []
    for kind in (KeyboardInterrupt, SystemExit, GeneratorExit):
        def fail():
            raise kind("text")

        out.append(repr(caught(tvm_ffi.convert(fail))))
    return out


def case_exception_object_is_not_kept():
    class Special(ValueError):
        def __init__(self, code):
            super().__init__(f"code {code}")
            self.code = code

    original = Special(5)

    def fail():
        raise original

    error = caught(tvm_ffi.convert(fail))
    return type(error).__name__, str(error), error is original, \
        hasattr(error, "code")


def case_registered_kinds():
    @tvm_ffi.register_error
    class PythonApiErrorA(RuntimeError):
        pass

    @tvm_ffi.register_error("PythonApiErrorNamedB")
    class Other(ValueError):
        pass

    class C(Exception):
        pass

    assert tvm_ffi.register_error("PythonApiErrorC", C) is C
    f = tvm_ffi.get_global_func("testing.test_raise_error")
    out = []
    for name, kind in (("PythonApiErrorA", PythonApiErrorA),
                       ("PythonApiErrorNamedB", Other), ("PythonApiErrorC", C)):
        error = caught(f, name, "text")
        assert type(error) is kind

        def fail():
            raise kind("back")

        back = caught(tvm_ffi.convert(fail))
        assert type(back) is kind
        out += [repr(error), repr(back), back.__tvm_ffi_error__.kind]

    class Sub(PythonApiErrorA):
        pass

    def fail_sub():
        raise Sub("sub")

    out.append(repr(caught(tvm_ffi.convert(fail_sub))))
    return out


def case_register_error_forms():
    r = tvm_ffi.register_error()

    @r
    class PythonApiErrorD(Exception):
        pass

    return core.ERROR_NAME_TO_TYPE["PythonApiErrorD"].__name__, \
        core.ERROR_TYPE_TO_NAME[PythonApiErrorD]


def case_traceback_has_python_frames():
    def innermost():
        raise ValueError("x")

    def middle(f):
        return f()

    def outermost(g, f):
        return g(f)

    f, g = tvm_ffi.convert(innermost), tvm_ffi.convert(middle)
    h = tvm_ffi.convert(outermost)
    error = caught(h, g, f)
    names = frames(error)
    order = [n for n in names if n in ("outermost", "middle", "innermost")]
    assert order == ["outermost", "middle", "innermost"], names
    return names


def case_traceback_through_library():
    def fail():
        raise IndexError("y")

    apply = tvm_ffi.get_global_func("testing.apply")
    error = caught(apply, fail)
    deep = caught(apply, apply, apply, fail)
    assert frames(error)[-1] == "fail" or "fail" in frames(error)
    return frames(error), frames(deep)


def case_traceback_text():
    def failing_function():
        raise ValueError("the text")

    error = caught(tvm_ffi.convert(failing_function))
    text = "".join(traceback.format_exception(error))
    lines = text.splitlines()
    assert lines[0].startswith("Traceback")
    assert lines[-1] == "ValueError: the text"
    assert 'raise ValueError("the text")' in text
    return text.count("in failing_function"), text.count(
        "cases_errors.py"), lines[-1]


def case_traceback_line_numbers():
    def fail():
        raise ValueError("z")

    first = fail.__code__.co_firstlineno
    error = caught(tvm_ffi.convert(fail))
    out, tb = [], error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_name == "fail":
            out.append(tb.tb_lineno - first)
        tb = tb.tb_next
    assert out == [1]
    return out


def case_traceback_of_library_error():
    f = tvm_ffi.get_global_func("testing.test_raise_error")

    def call():
        f("ValueError", "q")

    error = caught(call)
    names = frames(error)
    assert names[:2] == ["caught", "call"]
    return names


def case_traceback_grows_when_passed_on():
    f = tvm_ffi.get_global_func("testing.test_raise_error")

    def again():
        f("TypeError", "once")

    def outer(g):
        g()

    error = caught(tvm_ffi.convert(outer), tvm_ffi.convert(again))
    return frames(error), str(error)


def case_backtrace_has_the_c_frames():
    f = tvm_ffi.get_global_func("testing.test_raise_error")
    error = caught(f, "ValueError", "b").__tvm_ffi_error__
    lines = error.backtrace.splitlines()
    assert lines and all(l.strip().startswith('File "') for l in lines)
    return any("TVMFFI" in l or "tvm_ffi" in l for l in lines)


def case_catch_and_raise_again():
    def fail():
        raise KeyError("k")

    inner = tvm_ffi.convert(fail)

    def handler():
        try:
            inner()
        except KeyError as error:
            raise ValueError("from handler") from error

    error = caught(tvm_ffi.convert(handler))
    return repr(error), repr(error.__cause__), repr(error.__context__)


def case_chained_causes_within_python():
    f = tvm_ffi.get_global_func("testing.test_raise_error")

    def run():
        try:
            f("KeyError", "first")
        except KeyError as error:
            raise RuntimeError("second") from error

    error = caught(run)
    return repr(error), repr(error.__cause__), frames(error.__cause__)


def case_error_during_handling():
    f = tvm_ffi.get_global_func("testing.test_raise_error")

    def run():
        try:
            f("KeyError", "first")
        except KeyError:
            f("ValueError", "second")

    error = caught(run)
    return repr(error), repr(error.__context__)


def case_swallowed_error_leaves_nothing():
    def fail():
        raise ValueError("inner")

    inner = tvm_ffi.convert(fail)

    def handler():
        for _ in range(3):
            try:
                inner()
            except ValueError:
                pass
        return "fine"

    return tvm_ffi.convert(handler)(), outcome(inner), echo(1)


def case_same_exception_raised_twice():
    error = ValueError("one")

    def fail():
        raise error

    f = tvm_ffi.convert(fail)
    a, b = caught(f), caught(f)
    return repr(a), repr(b), a is b, [n for n in frames(b) if n == "fail"]


def case_reraised_error_object():
    def fail():
        raise ValueError("o")

    inner = tvm_ffi.convert(fail)

    def again():
        try:
            inner()
        except ValueError as error:
            raise error

    error = caught(tvm_ffi.convert(again))
    return repr(error), frames(error)


def case_deep_chain_of_errors():
    def fail():
        raise ValueError("bottom")

    f = tvm_ffi.convert(fail)
    for _ in range(20):
        f = tvm_ffi.convert(lambda f=f: f())
    error = caught(f)
    names = frames(error)
    assert names.count("<lambda>") == 20 and "fail" in names
    return names.count("<lambda>"), repr(error)


def case_error_object():
    e = core.Error("ValueError", "text", "")
    assert (e.kind, e.message, e.backtrace) == ("ValueError", "text", "")
    py = e.py_error()
    assert type(py) is ValueError and py.__tvm_ffi_error__ is e
    e.update_backtrace('  File "a.py", line 3, in f\n')
    return e, e.backtrace, repr(py), e.extra_context, frames(e.py_error())


def case_error_object_strings():
    out = []
    for kind, message, trace in (("", "", ""), ("K" * 100, "m" * 1000, "t" * 99),
                                 ("\u00e9", "\u4e2d", "\U0001f600")):
        e = core.Error(kind, message, trace)
        assert (e.kind, e.message, e.backtrace) == (kind, message, trace)
        out.append((e.kind, e.message, e.backtrace, repr(e.py_error())))
    return out


def case_error_as_value():
    e = core.Error("TypeError", "v", "")
    r = echo(e)
    a = Array([e])
    assert r.same_as(e) and a[0].same_as(e)
    return r, a[0].message, type(a[0]).__name__


def case_exception_as_value():
    r = echo(ValueError("as value"))
    c = tvm_ffi.convert(KeyError("k"))
    f = tvm_ffi.convert(lambda x: x.kind + "/" + x.message)
    return r, type(r).__name__, c, f(IndexError("i")), repr(r.py_error()), \
        tvm_ffi.convert(OSError(2, "x")), echo([ValueError("in list")])


def case_error_converted_twice():
    try:
        raise ValueError("v")
    except ValueError as error:
        a = tvm_ffi.convert(error)
    py = a.py_error()
    b = tvm_ffi.convert(py)
    return a.same_as(b), frames(py)


def case_error_pickle():
    e = core.Error("ValueError", "m", '  File "f.py", line 1, in g\n')
    r = pickle.loads(pickle.dumps(e))
    return r, r.backtrace, type(r).__name__


def case_parse_backtrace():
    text = ('  File "a.py", line 3, in f\n  junk\n'
            '  File "b c.cc", line 10, in ns::g(int, char)\n'
            'File "x", line y, in z\n')
    return ffi_error._parse_backtrace(text), ffi_error._parse_backtrace("")


def case_traceback_manager():
    m = ffi_error.TracebackManager()
    tb = m.append_traceback(None, "made_up.py", 12, "made_up_function")
    tb = m.append_traceback(tb, "other.py", 3, "caller")
    error = ValueError("q").with_traceback(tb)
    return frames(error), [t.lineno for t in traceback.extract_tb(tb)]


def case_traceback_to_string():
    def f():
        raise ValueError("x")

    try:
        f()
    except ValueError as error:
        text = ffi_error._traceback_to_backtrace_str(error.__traceback__)
    names = [n for _, _, n in ffi_error._parse_backtrace(text)]
    return names, ffi_error._traceback_to_backtrace_str(None)


def case_locals_are_released():
    class Thing:
        pass

    refs = []

    def fail():
        t = Thing()
        refs.append(weakref.ref(t))
        raise ValueError("r")

    f = tvm_ffi.convert(fail)

    def run():
        try:
            f()
        except ValueError:
            pass

    gc.collect()
    gc.disable()
    try:
        run()
        at_once = refs[0]() is None
    finally:
        gc.enable()
    gc.collect()
    assert refs[0]() is None
    return at_once


def case_arguments_are_released_after_error():
    a = Array([1])
    f = tvm_ffi.convert(lambda x: 1 / 0)
    for _ in range(10):
        try:
            f(a)
        except Exception:
            pass
    gc.collect()
    return use_count(a)


def case_error_in_conversion_of_result():
    class Bad:
        def __tvm_ffi_value__(self):
            raise KeyError("result")

    return raises(KeyError, tvm_ffi.convert(lambda: Bad()))


def case_exception_whose_text_fails():
    class Bad(ValueError):
        def __str__(self):
            return "custom text"

    def fail():
        raise Bad("ignored")

    error = caught(tvm_ffi.convert(fail))
    return type(error).__name__, str(error)


def case_exception_with_several_arguments():
    def fail():
        raise ValueError("a", 2)

    error = caught(tvm_ffi.convert(fail))
    return error.args


def case_exception_groups_and_notes():
    def fail():
        error = ValueError("noted")
        if hasattr(error, "add_note"):
            error.add_note("a note")
        raise error

    error = caught(tvm_ffi.convert(fail))
    return repr(error), getattr(error, "__notes__", None)


def case_type_errors_name_function_and_argument():
    f = tvm_ffi.get_global_func
    return [outcome(f(n), *a) for n, a in (
        ("testing.add_one", ("x",)), ("testing.schema_id_string", (1,)),
        ("testing.schema_id_arr_int", ([1, "x"],)),
        ("testing.schema_id_map_str_int", ({"a": "x"},)),
        ("testing.schema_id_tensor", (1,)), ("testing.TestIntPairSum", (1,)),
        ("testing.schema_id_variant_int_str", (None,)),
        ("testing.schema_id_device", (1,)), ("testing.schema_id_dtype", ("x",)),
        ("testing.add_one", ()), ("testing.add_one", (1, 2)))]


def case_errors_of_lookups():
    pair = tvm_ffi.testing.TestIntPair(1, 2)
    return outcome(tvm_ffi.get_global_func, "no.such.function"), \
        outcome(lambda: pair.no_such_field), \
        outcome(tvm_ffi.testing.create_object, "no.such.Type"), \
        outcome(tvm_ffi.dtype, "nonsense")


def case_recursion_error():
    def fail():
        return fail()

    return outcome(tvm_ffi.convert(fail)).split(":")[0]


def case_generator_in_callback():
    def gen():
        yield 1
        raise ValueError("in generator")

    f = tvm_ffi.convert(lambda: list(gen()))
    return outcome(f)


def case_excepthook_text():
    from kit import run_python

    status, out, err = run_python("""
import tvm_ffi
def inner():
    raise ValueError("uncaught")
tvm_ffi.convert(inner)()
""")
    lines = err.splitlines()
    return status, lines[0], lines[-1], sum("in inner" in l for l in lines)


def case_keyboard_interrupt_reaches_python():
    from kit import run_python

    status, out, err = run_python("""
import tvm_ffi
def f():
    raise KeyboardInterrupt
try:
    tvm_ffi.convert(f)()
except BaseException as e:
    print(type(e).__name__)
def g():
    raise SystemExit(3)
tvm_ffi.convert(g)()
""")
    return status, out, err.splitlines()[-1:] if err else err


def case_messages_with_nul_of_names():
    """Names that users give stand whole in the message, NUL bytes too."""
    f = tvm_ffi._ffi_api
    name = unique("f") + "\0tail"
    tvm_ffi.register_global_func(name, lambda: 1)
    return [outcome(tvm_ffi.dtype, "in\0t"),
            outcome(tvm_ffi.Map({}).__getitem__, "k\0ey and more"),
            outcome(tvm_ffi.testing.create_object, "no\0such"),
            outcome(tvm_ffi.testing.create_object, "testing.TestObjectBase",
                    **{"a\0b": 1}),
            outcome(tvm_ffi.load_module, "x\0y.unknown"),
            outcome(tvm_ffi.load_module, "x\0y"),
            outcome(tvm_ffi.get_global_func_metadata, "no\0such"),
            outcome(tvm_ffi.register_global_func, name, len).replace(
                name, "NAME"),
            tvm_ffi.get_global_func(name)(),
            tvm_ffi.get_global_func(name.split("\0")[0], allow_missing=True),
            outcome(tvm_ffi.testing.TestObjectBase, **{"v\0x": 1}),
            outcome(f.SystemLib("a\0b").get_function, "z\0w")]


def case_long_names_in_messages():
    """Messages are not cut, however long a name is."""
    long = "n" * 3000
    texts = [outcome(tvm_ffi.dtype, long),
             outcome(tvm_ffi.testing.create_object, long),
             outcome(tvm_ffi.testing.create_object, "testing.TestObjectBase",
                     **{long: 1}),
             outcome(tvm_ffi.load_module, "x." + long),
             outcome(tvm_ffi.load_module, long),
             outcome(tvm_ffi.load_module, long + ".so"),
             outcome(tvm_ffi.get_global_func_metadata, long),
             outcome(tvm_ffi.testing.TestObjectBase, **{long: 1}),
             outcome(tvm_ffi.register_object(long), type(
                 "A", (tvm_ffi.Object,), {}))]
    return [re.sub("n{9,}", lambda m: f"<{len(m[0])} n>", t) for t in texts]
