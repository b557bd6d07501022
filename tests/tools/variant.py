"""Builds and runs the unit tests with a changed copy of tvmffi.h."""

import os
import resource
import shutil
import signal
import subprocess
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tvmffi_impl_test.c"
MEMORY = 4 << 30  # bytes: a faulty copy may allocate without end
WAIT = 6  # how much slower a busy machine may be


class Run:
    """The end of a program: `status` is None if its time was up."""

    def __init__(self, status, output):
        self.status, self.output = status, output


def limit(seconds):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def run(command, seconds, until=None, **options):
    """Runs a command, and ends it with its children when its time is up or when
    it prints a line that begins with `until`."""
    def stop():
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def time_is_up():
        late.append(True)
        stop()

    late, lines = [], []
    with subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True, **options) as process:
        timer = threading.Timer(seconds, time_is_up)
        timer.start()
        for line in process.stdout:
            lines.append(line)
            if until and line.startswith(until):
                stop()
        status = process.wait()
        timer.cancel()
    late = late or status == -signal.SIGXCPU
    return Run(None if late else status, "".join(lines))


def quick(cc):
    """The compiler for a program that is run once: clang takes a third of the
    time that gcc takes without optimisation."""
    return "clang" if shutil.which("clang") else cc


def build(folder, header, cc):
    """Compiles the unit tests with `header`, the text of a tvmffi.h, in a
    folder. `cc` has the compiler and its options. The program is folder/unit if
    the Run's status is 0."""
    folder.mkdir(exist_ok=True)
    (folder / "tvmffi.h").write_text(header, encoding="utf-8")
    # From standard input, because a file includes first what lies beside it.
    compiler, *options = cc.split()
    with PROGRAM.open() as source:
        return run([compiler, "-O0", *options, "-std=c11", "-x", "c", "-",
                    "-iquote", ROOT, "-o", "unit", "-lpthread"], 300,
                   cwd=folder, stdin=source)


def test(folder, seconds, *options, until=None):
    """Runs the unit tests, with smaller sizes, for as many seconds of processor
    time. A program that waits for ever ends after WAIT times as many."""
    return run([folder / "unit", "--short", *options], WAIT * seconds, until,
               cwd=ROOT, stdin=subprocess.DEVNULL,
               preexec_fn=lambda: limit(seconds))
