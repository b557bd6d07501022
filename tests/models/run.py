#!/usr/bin/env python3
"""Checks the models of what is lock-free, each by all its interleavings.

A model is a file for Spin with the name of its room. The comment at its end
lists its variants, each a set of macros: with those after `with:`, as without
any, Spin must find no error; each after `broken:` has a fault as the code might
have it, and Spin must find an error. Spin's processes see each other's steps in
one order; orders/ has models of the memory orders, for Loom. Output is TAP.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import which

FOLDER = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.append(str(FOLDER.parent / "tools"))
from tap import Tap  # noqa: E402

# Of one variant; the largest takes seconds.
LIMIT = 300


def variants(text, key):
    """The sets of macros that the last comment lists after `key`."""
    found = re.search(rf"\b{key}:([^:*]*)(?=\n\s*\w+:|\*/)",
                      text[text.rindex("/*"):])
    return [item.split(",") for item in found[1].split()] if found else []


def verify(spin, cc, model, macros):
    """Spin's report: the number of its errors, and its text."""
    options = [f"-D{macro}" for macro in macros]
    is_liveness = "LIVENESS" in macros
    with tempfile.TemporaryDirectory() as folder:
        def run(*command):
            done = subprocess.run(command, cwd=folder, capture_output=True,
                                  text=True, timeout=LIMIT)
            return done.returncode, done.stdout + done.stderr
        status, out = run(spin, *options, "-a", str(model))
        if status or not (Path(folder) / "pan.c").exists():
            return -1, out
        status, log = run(*cc.split(), "-O2", "-w", "-DCOLLAPSE",
                          *([] if is_liveness else ["-DSAFETY", "-DNOCLAIM"]),
                          "-DVECTORSZ=2048", "-o", "pan", "pan.c")
        if status:
            return -1, log
        status, out = run("./pan", "-m1000000", "-E",
                          *(["-a", "-f"] if is_liveness else []))
        errors = re.search(r"errors: (\d+)", out)
        if not errors or "max search depth too small" in out:
            return -1, out
        return int(errors[1]), out


def first(pattern, report):
    found = re.search(pattern, report)
    return found[1] if found else "0"


def orders(tap, target):
    """Runs Loom's models, whose tests have the names of the faults."""
    if not which("cargo"):
        tap.skip("memory orders", "cargo is not there")
        return
    done = subprocess.run(
        ["cargo", "test", "--manifest-path",
         str(FOLDER / "orders/Cargo.toml"), "--target-dir", target],
        capture_output=True, text=True, timeout=900)
    results = re.findall(r"^test (\w+)(?: - should panic)? \.\.\. (\w+)$",
                         done.stdout, re.M)
    for name, result in sorted(results):
        tap.ok(result == "ok", "memory orders: " + name.replace("_", " "),
               done.stdout)
    tap.ok(done.returncode == 0 and results, "memory orders are checked",
           done.stdout + done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="",
                        help="the models whose names begin so")
    parser.add_argument("--spin", default="spin")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--work", default=tempfile.gettempdir(),
                        help="where Rust packages are built")
    args = parser.parse_args()
    tap = Tap()
    jobs = []
    for model in sorted(FOLDER.glob("*.pml")):
        text = model.read_text()
        if not model.stem.startswith(args.only):
            continue
        jobs += [(model, macros, False)
                 for macros in [[], *variants(text, "with")]]
        jobs += [(model, macros, True) for macros in variants(text, "broken")]
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(
            lambda job: verify(args.spin, args.cc, job[0], job[1]), jobs))
    for (model, macros, is_broken), (errors, report) in zip(jobs, reports):
        name = " ".join([model.stem, *macros]).replace("_", " ").lower()
        if is_broken:
            error = first(r"pan:1: (.*) \(at depth", report)
            tap.ok(errors > 0, f"{name}: {error}", report)
        else:
            count = first(r"(\d+) states, stored", report)
            tap.ok(errors == 0, f"{name}: {count} states, no error", report)
    if "orders".startswith(args.only):
        orders(tap, os.path.join(args.work, "orders"))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
