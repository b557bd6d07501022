#!/usr/bin/env python3
"""Builds the fuzzers by OSS-Fuzz's script and runs each for some inputs.

    oss_fuzz.py --cc CC --cxx CXX [--sanitizer address]

The variables that OSS-Fuzz sets have stand-ins. Output is TAP.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FOLDER = HERE / "oss-fuzz"
sys.path.insert(0, str(HERE.parents[1] / "tools"))
from run import limits  # noqa: E402
from tap import Tap  # noqa: E402

INPUTS = 500


def run(command, **env):
    """Runs a command and returns its output; raises if it fails."""
    done = subprocess.run([str(c) for c in command], cwd=ROOT, text=True,
                          errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, **env})
    if done.returncode:
        raise RuntimeError(f"{command[0]}: exit status {done.returncode}\n"
                           + done.stdout[-3000:])
    return done.stdout


def build(args, work):
    for name in "out", "work":
        (work / name).mkdir()
    flags = f"-O1 -fno-omit-frame-pointer -fsanitize={args.sanitizer} " \
        "-fno-sanitize-recover=all -fsanitize=fuzzer-no-link"
    run(["sh", FOLDER / "build.sh"], CC=args.cc, CXX=args.cxx, CFLAGS=flags,
        CXXFLAGS=flags, LIB_FUZZING_ENGINE="-fsanitize=fuzzer",
        OUT=str(work / "out"), WORK=str(work / "work"), SRC=str(ROOT.parent))
    return work / "out"


def fuzz(out, work, name):
    """Runs a fuzzer as OSS-Fuzz does, with the files beside it."""
    corpus = work / name
    with zipfile.ZipFile(out / f"{name}_seed_corpus.zip") as packed:
        packed.extractall(corpus)
    want = {path.name for path in (HERE / "corpus" / name).iterdir()}
    if {path.name for path in corpus.iterdir()} != want:
        raise RuntimeError(f"{name}_seed_corpus.zip is not corpus/{name}")
    flags, env = limits(out / f"{name}.options")
    words = out / f"{name}.dict"
    if words.exists():
        flags.append(f"-dict={words}")
    text = run([out / name, f"-runs={INPUTS}", "-seed=1", *flags,
                f"-artifact_prefix={work}/", corpus], **env)
    done = re.search(r"^Done (\d+) runs", text, re.M)
    if not done or int(done[1]) < INPUTS:
        raise RuntimeError(f"{name} ended early\n{text[-2000:]}")
    count = re.search(r"^Dictionary: (\d+) entries", text, re.M)
    if words.exists() and not count:
        raise RuntimeError(f"{words.name} is not read\n{text[-2000:]}")
    return int(count[1]) if count else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cc", default="clang")
    parser.add_argument("--cxx", default="clang++")
    parser.add_argument("--sanitizer", default="address")
    args = parser.parse_args()
    names = (HERE / "fuzzers.txt").read_text(encoding="utf-8").split()
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        try:
            out = build(args, work)
            problem = None
        except RuntimeError as error:
            problem = error
        tap.ok(not problem, f"OSS-Fuzz: {FOLDER.name}/build.sh builds",
               problem or "")
        for name in names if not problem else []:
            words = 0
            try:
                words = fuzz(out, work, name)
            except (OSError, RuntimeError) as error:
                problem = error
            tap.ok(not problem, f"OSS-Fuzz: {name} runs {INPUTS} inputs, "
                   f"{words} words in its dictionary", problem or "")
            problem = None
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
