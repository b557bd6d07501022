#!/usr/bin/env python3
"""examples/device_shell: it fits 64 KB of flash and 16 KB of memory, answers
every line with JSON under qemu, keeps the errors of its two tasks apart, and
leaks nothing. Writes TAP."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[4]
EXAMPLE = ROOT / "examples" / "device_shell"
sys.path.insert(0, str(ROOT / "tests/tools"))
sys.path.insert(0, str(ROOT / "tests/builds/ports/firmware"))
from firmware import NEEDED, talk  # noqa: E402
from tap import Tap  # noqa: E402

FLASH, RAM = 65536, 16384


def call(name, *args, **more):
    """A request, as Python's json module writes it: in ASCII."""
    return json.dumps({"call": name, "args": args, **more})


def error(kind, message, argument=None):
    about = {"kind": kind, "message": message}
    if argument is not None:
        about["argument"] = argument
    return {"error": about}


def result(value):
    return {"result": value}


def syntax(column, what):
    return error("SyntaxError", f"column {column}: {what}")


NOT_HOME = error("TimeoutError", "not home after 1 ms")
NO_ANSWER = error("SensorError", "the sensor does not answer")
LED_TYPE = error(
    "TypeError", "Mismatched type on argument #1 when calling: `led.set(0: "
    "int, 1: bool) -> void`. Expected `bool` but got `const char*`", 1)
LIST = "argument #0 is a list or object, not null, a bool, an integer or a " \
    "string"
ESCAPES = "\"\\/\b\f\n\r\t\x01\u00e9\u20ac\U0001f600"
TALK = [
    ("a result", call("led.set", 0, True), result(None)),
    ("a bool", call("led.get", 0), result(True)),
    ("another bool", call("led.get", 1), result(False)),
    ("an integer", call("note.add", ESCAPES), result(0)),
    ("a string", call("note.get", 0), result(ESCAPES)),
    ("a shape", call("samples.latest", 0), result([])),
    ("arguments before the name", '{"args":[0],"call":"led.get"}',
     result(True)),
    ("no arguments, blanks", ' { "call" : "note.clear"\t} ', result(1)),
    ("the least integer", call("note.get", -2**63),
     error("IndexError", f"argument #0: there is no note {-2**63}", 0)),
    ("an integer of 65 bits", call("note.get", 2**63),
     error("OverflowError", "argument #0 does not fit in 64 bits", 0)),
    ("an unknown command", call("no.such"),
     error("AttributeError", "there is no no.such")),
    ("a command without JSON", call("ffi.Shape", 1, 2), result([1, 2])),
    ("a wrong type", call("led.set", 0, "on"), LED_TYPE),
    ("a wrong value", call("led.set", 7, True),
     error("ValueError", "argument #0: there is no LED 7", 0)),
    ("a wrong count", call("led.get"),
     error("TypeError", "Mismatched number of arguments when calling: "
           "`led.get(0: int) -> bool`. Expected 1 but got 0 arguments")),
    ("null", call("led.get", None),
     error("TypeError", "Mismatched type on argument #0 when calling: "
           "`led.get(0: int) -> bool`. Expected `int` but got `None`", 0)),
    ("a fraction", call("led.get", 1.5),
     error("TypeError", "argument #0 is not an integer", 0)),
    ("a list", call("led.get", [1]), error("TypeError", LIST, 0)),
    ("an object", call("led.get", {}), error("TypeError", LIST, 0)),
    ("deep nesting", '{"call": "led.get", "args": ' + 200 * "[",
     error("TypeError", LIST, 0)),
    ("nine arguments", call("led.get", *range(9)),
     error("ValueError", "more than 8 arguments")),
    ("a repeated call", call("note.add", "x", repeat=3), result(2)),
    ("it was repeated", call("note.clear"), result(3)),
    ("no repetition", call("help", repeat=0),
     error("ValueError", "repeat is less than 1")),
    ("half a repetition", call("help", repeat=0.5),
     error("TypeError", "repeat is not an integer")),
    ("an unknown key", '{"call": "help", "id": 1}',
     error("ValueError", "unknown key: id")),
    ("no name", '{"args": []}',
     error("ValueError", "the key call is missing")),
    ("no JSON", "help", syntax(1, "expected '{'")),
    ("no end", '{"call": "help"', syntax(16, "expected '}'")),
    ("no end of a string", '{"call": "hel', syntax(14,
                                                   "the string has no end")),
    ("no value", '{"call": "help", "args": [,]}',
     syntax(27, "expected a value")),
    ("more after the end", '{"call": "help"}}',
     syntax(17, "expected the end of the line")),
    ("a bad number", '{"call": "led.get", "args": [01]}',
     syntax(30, "an integer cannot begin with 0")),
    ("a sign alone", '{"call": "led.get", "args": [-]}',
     syntax(31, "expected a digit")),
    ("a bad escape", r'{"call": "\x"}', syntax(12, "unknown escape")),
    ("bad digits", r'{"call": "\u12g4"}',
     syntax(15, "expected four hexadecimal digits")),
    ("half a pair", r'{"call": "\ud800x"}',
     syntax(17, "half a surrogate pair")),
    ("a NUL", r'{"call": "\u0000"}',
     syntax(17, "a string cannot contain \\u0000")),
    ("a control character", '{"call": "\x7f"}',
     syntax(11, "write this character as \\u and four digits")),
    ("256 characters", call("note.add", "x" * 222), result(0)),
    ("257 characters", call("note.add", "x" * 223),
     error("ValueError", "the line exceeds 256 characters")),
    ("after all that", call("note.clear"), result(1)),
]
# The README's transcript. The samples depend on the time.
README = [("README: " + line, line, json.loads(answer)) for line, answer in
          re.findall(r'^({"call".*)\n({"(?:result|error)".*)$',
                     (EXAMPLE / "README.md").read_text(), re.M)
          if "samples" not in line]
# Fills the memory: 40 strings of 200 bytes exceed it.
FULL = [call("note.add", "x" * 200)] * 40
# Each task raises an error and waits, while the other task raises its own.
APART = [(call("motor.home", 1), NOT_HOME),
         (call("led.set", 0, "on"), LED_TYPE),
         (call("sensor.read"), NO_ANSWER)] * 20
# 10,000 calls, then lines that are refused.
MANY = [(call(*c, repeat=1000), want) for c, want in [
    (("led.set", 1, True), result(None)), (("led.get", 1), result(True)),
    (("note.get", 0), result("a note of some length")),
    (("ffi.Shape", *range(8)), result(list(range(8)))),
    (("note.clear",), result(0)), (("led.set", 1, "on"), LED_TYPE),
    (("led.get", 9), error("ValueError", "argument #0: there is no LED 9", 0)),
    (("note.get", 5), error("IndexError", "argument #0: there is no note 5",
                            0)),
    (("no.such",), error("AttributeError", "there is no no.such")),
    (("sensor.plug", 1, 2), error(
        "TypeError", "Mismatched number of arguments when calling: "
        "`sensor.plug(0: bool) -> void`. Expected 1 but got 2 arguments"))]]
MANY[2:2] = [(call("note.add", "a note of some length"), result(0))]
MANY += [("{]", syntax(2, "expected '\"'"))] * 100
ARENA = call("memory.arena")


class Script:
    """Lines to send, and their answers."""

    def __init__(self):
        self.lines, self.answers = [], []

    def add(self, *lines):
        """Adds lines, and returns what selects their answers."""
        self.lines += lines
        return slice(len(self.lines) - len(lines), len(self.lines))

    def run(self, elf):
        first, *rest = talk(elf, [(line, 1) for line in self.lines])
        self.answers = [json.loads(text) for text in rest]
        return json.loads(first)


def differences(talk, answers):
    return [(want, got) for (_, want), got in zip(talk, answers)
            if got != want]


def check_memory(tap, full, after):
    good = [a for a in full if isinstance(a.get("result"), int)]
    none = error("MemoryError", "out of memory")
    tap.ok(10 < len(good) < 40 and full == good + [none] * (40 - len(good)),
           "the memory is exhausted", full)
    tap.ok(after == [result(len(good)), result(True), result(len(good) + 1),
                     result(0), result(1)],
           "the shell works then and afterwards", after)


def main():
    tap = Tap()
    missing = [n for n in NEEDED if not shutil.which(n)]
    if missing:
        tap.skip("device_shell", "no " + " ".join(missing))
        return tap.done()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([str(EXAMPLE / "build.sh"), folder],
                              capture_output=True, text=True)
        if not tap.ok(done.returncode == 0 and not done.stderr,
                      "builds without a warning", done.stderr):
            return tap.done()
        elf = Path(folder) / "device_shell.elf"
        done = subprocess.run(
            [sys.executable, str(ROOT / "examples/firmware/size.py"), str(elf),
             "--flash", str(FLASH), "--ram", str(RAM)],
            capture_output=True, text=True)
        tap.ok(done.returncode == 0, "fits 64 KB of flash and 16 KB of memory",
               done.stdout + done.stderr)
        tap.note(done.stdout)

        script = Script()
        single = script.add(*[line for _, line, _ in TALK + README])
        script.add(call("sensor.plug", False))
        apart = script.add(*[line for line, _ in APART])
        script.add(call("sensor.plug", True), call("time.sleep", 10))
        before = script.add(ARENA, call("samples.count"))
        full = script.add(*FULL)
        after = script.add(
            call("note.add", "short"), call("led.get", 0), call("note.clear"),
            call("note.add", "x" * 200), call("note.clear"))
        script.add(call("sensor.plug", False))
        many = script.add(*[line for line, _ in MANY])
        script.add(call("sensor.plug", True), call("time.sleep", 10))
        last = script.add(ARENA, call("samples.count"),
                          call("memory.stacks"), call("help"))
        first = script.run(elf)
        answers = script.answers

        tap.ok(first == result("ready"), "starts", first)
        for (name, line, want), got in zip(TALK + README, answers[single]):
            tap.ok(got == want, name, f"{line}\n{got}\nnot {want}")
        tap.ok(len(README) > 4, "the README has a transcript", README)
        check_memory(tap, answers[full], answers[after])
        wrong = differences(APART, answers[apart])
        tap.ok(not wrong, "no error of the sampling task reaches the shell",
               wrong[:3])
        told = [[a.get("result") for a in answers[part]]
                for part in (before, last)]
        if not tap.ok(all(map(all, told)), "the device tells its state", told):
            return tap.done()
        (arena, count), (arena2, count2, stacks, names) = told
        tap.ok(count[0] > 0 and count[1] > 0, "the sampling task samples, and "
               "its errors are raised", count)
        tap.ok(count[2] == 0 and count2[2] == 0,
               "no error of the shell reaches the sampling task", count2)
        tap.ok(count2[1] > count[1], "it samples during 10,000 commands",
               [count, count2])
        wrong = differences(MANY, answers[many])
        tap.ok(not wrong, "10,000 commands are answered", wrong[:3])
        tap.ok(arena[0] == arena2[0], "10,000 commands leak no memory",
               [arena, arena2])
        tap.ok(stacks[0] < stacks[1] - 256 and stacks[2] < stacks[3] - 256,
               "the stacks suffice", stacks)
        wanted = set(re.findall(r'X\("([a-z.]+)"',
                                (EXAMPLE / "commands.c").read_text()))
        tap.ok(set(names.split()) == wanted, "help names all commands", names)
        tap.note(f"arena: {arena2}, samples: {count2}, stacks: {stacks}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
