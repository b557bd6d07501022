"""Runs a program on one library or on two, and compares what it answers.

A front end names its programs, builds them (build), runs them (run) and reads
answers from what they wrote, {name: answer}. A Comparison writes one TAP line
for each answer. A difference that is meant is a row of its `expected`: a
pattern, searched in "name<TAB>upstream's answer<TAB>ours", and the reason. A
row that matches no difference is a failure.
"""

import os
import re
import shlex
import subprocess
import tempfile
from collections import Counter
from typing import NamedTuple

# Upstream puts the C++ expression of a failed check in front of its message;
# ours has no such text. docs/differences.md says so.
QUOTED_CHECK = re.compile(r"Check failed: \(.*?\) is false:(?: |(?=['\"]|$))")
SHOWN = 500  # characters of an answer that is wrong


class Failed(Exception):
    """A program that cannot be built; the text is the compiler's."""


class Ended(NamedTuple):
    """How a process ended, and what it wrote."""
    status: int | None  # None: it was still running when its time was up
    out: str
    err: str

    def how(self):
        if self.status is None:
            return "the process hung"
        if self.status < 0:
            return f"the process ended by signal {-self.status}"
        return f"the process ended with {self.status}"


def build(compiler, *arguments):
    """Compiles and links; raises Failed with what the compiler wrote."""
    command = [*shlex.split(compiler), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{shlex.join(command)}\n{done.stderr[-4000:]}")


def environment(library=None, package=None, **more):
    """This process's environment, with a library that the loader finds before
    others, a folder that Python does, or neither."""
    env = {**os.environ, **more}
    for name, value in (
            ("LD_LIBRARY_PATH", library and os.path.dirname(library)),
            ("PYTHONPATH", package)):
        env.pop(name, None)
        if value:
            env[name] = os.path.abspath(value)
    return env


def run(command, env=None, seconds=600, cwd=None):
    """Runs a program without input; kills it when its time is up. What it
    leaves running has its outputs, so these are files."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen([str(c) for c in command], env=env, cwd=cwd,
                                 stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=err)
        try:
            status = child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            status = None
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return Ended(status, *texts)


def plain(answer):
    """An answer without the source code that upstream's checks quote."""
    return QUOTED_CHECK.sub("", answer)


def around(a, b):
    """Two texts from a little before their first difference on."""
    first = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y),
                 min(len(a), len(b)))
    begin = 0 if first < 120 else first - 100
    return "\n".join(
        f"{who} {'...' if begin else ''}{text[begin:begin + SHOWN]}"
        for who, text in (("upstream:", a), ("ours:    ", b)))


class Comparison:
    """Compares answers, and counts which differences were expected."""

    def __init__(self, tap, expected=()):
        self.tap = tap
        self.expected = [(re.compile(p), why) for p, why in expected]
        self.used = Counter()

    def reason(self, name, stock, ours):
        """Why two answers may differ; None if they may not."""
        line = f"{name}\t{stock}\t{ours}"
        for pattern, why in self.expected:
            if pattern.search(line):
                self.used[pattern.pattern] += 1
                return why
        return None

    def answers(self, stock, ours, *, title="", group=None,
                good=lambda answer: True):
        """Writes a line for each answer, or for each group(name) whose answers
        are all as wanted. An answer that both give has to be good(answer), or
        begin with "skip: ". Returns the number of wrong answers."""
        missing = [n for n in stock if n not in ours]
        more = [n for n in ours if n not in stock]
        self.tap.ok(not missing and not more and stock,
                    f"{title}both answer {len(stock)} questions",
                    f"missing in ours: {missing}\nonly in ours: {more}")
        groups, bad = Counter(), Counter()
        for name, answer in stock.items():
            a, b = plain(answer), plain(ours.get(name, "nothing"))
            why = a != b and good(a) and self.reason(name, a, b)
            right = bool(why) or (a == b and good(a))
            if group:
                groups[group(name)] += 1
            if not right:
                bad[group(name) if group else name] += 1
            if a == b and a.startswith("skip: "):
                self.tap.skip(title + name, a[6:])
            elif not group or not right:
                note = f" (differs: {why})" if why else ""
                self.tap.ok(right, title + name + note, around(a, b))
        for name, count in groups.items():
            if not bad[name]:
                self.tap.ok(True, f"{title}{name}, {count} answers")
        return bad.total()

    def done(self):
        """Each expected difference was seen."""
        for pattern, why in self.expected:
            count = self.used[pattern.pattern]
            self.tap.ok(count, f"expected difference, in {count} answers: "
                        f"{why}", f"not seen: {pattern.pattern}")
