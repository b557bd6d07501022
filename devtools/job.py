"""Runs commands, and ends those that still run when this program ends."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

running = set()
said = []  # heading and time


def say(text):
    said.append((text, time.monotonic()))
    print(f"\n== {text}", flush=True)


def die(text):
    sys.exit(f"dev: {text}")


def start(*command, **options):
    """Starts a command in a session of its own, so that all its processes can
    be ended."""
    sys.stdout.flush()
    child = subprocess.Popen(command, start_new_session=True, **options)
    running.add(child)
    return child


def wait(child):
    """Returns the exit status as a shell does."""
    status = child.wait()
    running.discard(child)
    return status if status >= 0 else 128 - status


def status_of(*command, **options):
    return wait(start(*command, **options))


def run(*command, **options):
    """A command that fails ends this program."""
    if status := status_of(*command, **options):
        sys.exit(status)


def output(*command):
    return subprocess.check_output(command, text=True).strip()


def works(*command, **options):
    with suppress(OSError):
        return subprocess.run(command, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL,
                              **options).returncode == 0
    return False


def end_all():
    # Meson and ninja then end their own children, which have other sessions.
    for number, seconds in (signal.SIGTERM, 10), (signal.SIGKILL, None):
        for child in running:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, number)
        for child in running:
            with suppress(subprocess.TimeoutExpired):
                child.wait(seconds)


def main(command, *arguments):
    for each in signal.SIGHUP, signal.SIGINT, signal.SIGTERM:
        signal.signal(each, lambda number, _: sys.exit(128 + number))
    try:
        command(*arguments)
    except FileNotFoundError as error:
        die(error)
    except BrokenPipeError:  # as of `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
    finally:
        end_all()
