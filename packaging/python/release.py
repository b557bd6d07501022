#!/usr/bin/env python3
"""Builds the files of a release: the source distribution, and a wheel for each
processor that also runs on old versions of glibc.

    release.py FOLDER

The wheel for this machine's processor has the module _fast for the interpreters
that TVMFFI_WHEEL_PYTHONS lists. The Python that runs this needs the packages of
requirements.txt.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
GLIBC = "2.17"
MACHINES = ("x86_64", "aarch64")


def hatch(target, folder, **env):
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", target,
                    "-d", folder], cwd=HERE, env={**os.environ, **env},
                   check=True)


def check_tag(wheel, platform):
    """Lets auditwheel compare the library's symbols with the wheel's tag."""
    done = subprocess.run([sys.executable, "-m", "auditwheel", "show", wheel],
                          capture_output=True, text=True)
    found = " ".join(done.stdout.split())
    if not re.search(f'following platform tag: "{platform}"', found):
        sys.exit(f"{wheel.name}: auditwheel says:\n{done.stdout}{done.stderr}")


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    folder = Path(arguments[0]).resolve()
    if folder.exists() and any(folder.iterdir()):
        sys.exit(f"{folder} is not empty")
    hatch("sdist", folder)
    for machine in MACHINES:
        platform = f"manylinux_{GLIBC.replace('.', '_')}_{machine}"
        compiler = [sys.executable, "-m", "ziglang", "cc", "-target",
                    f"{machine}-linux-gnu.{GLIBC}", "-g0"]
        pythons = os.environ.get("TVMFFI_WHEEL_PYTHONS", "") \
            if machine == os.uname().machine else ""
        hatch("wheel", folder, CC=shlex.join(compiler),
              TVMFFI_WHEEL_PLATFORM=platform, TVMFFI_WHEEL_PYTHONS=pythons)
        wheel, = folder.glob(f"*-{platform}.whl")
        check_tag(wheel, platform)
        print(wheel.name)


if __name__ == "__main__":
    main(sys.argv[1:])
