"""What the tests of the wheel share: the wheel, installed, and how to run
commands.
"""

import os
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROJECT = ROOT / "packaging/python"


def run(command, status=0, **options):
    """Runs a command; returns its output, with the errors if it has to fail.
    """
    command = [str(c) for c in command]
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, **options)
    if done.returncode != status:
        raise RuntimeError(f"{shlex.join(command)}: exit status "
                           f"{done.returncode}, not {status}\n"
                           f"{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout + (done.stderr if status else "")


def expect(condition, what):
    if not condition:
        raise RuntimeError(what)


def expect_text(text, *parts):
    for part in parts:
        expect(part in text, f"no {part!r} in:\n{text}")


class Work:
    """The folder of all cases, whose path has a space.

    `bare` is the Python of an environment with only the wheel. That of `user`
    also sees the packages of the Python that runs this.
    """

    def __init__(self, folder, cc):
        self.top = Path(folder) / "with space"
        self.top.mkdir()
        self.cc = cc
        here = Path(sys.executable).parent
        self.env = {k: v for k, v in os.environ.items()
                    if k not in ("PYTHONPATH", "CFLAGS", "LDFLAGS", "CXX")}
        self.env.update(CC=shlex.join(cc), XDG_CACHE_HOME=str(self.top),
                        PATH=f"{here}{os.pathsep}{os.environ['PATH']}")
        self.wheel = self.build()
        self.bare = self.environment("bare")
        self.user = self.environment("user")
        site = Path(run([self.user, "-c", "import sysconfig\n"
                         "print(sysconfig.get_path('purelib'))"]).strip())
        packages, = (p for p in sys.path if p.endswith("site-packages"))
        (site / "packages.pth").write_text(packages + "\n")
        self.prefix = site / "tvmffi/prefix"

    def hatch(self, folder, target, where, **env):
        """Builds the project in `folder`; returns the path of the result."""
        run([sys.executable, "-m", "hatchling", "build", "-t", target, "-d",
             where], cwd=folder,
            env={**self.env, "CFLAGS": "-O0", **env})
        made, = where.iterdir()
        return made

    def build(self):
        """Builds the wheel from the source distribution, so that this one is
        complete."""
        source = self.hatch(PROJECT, "sdist", self.top / "source")
        with tarfile.open(source) as files:
            files.extractall(self.top)
        folder, = self.top.glob("tvmffi-*")
        return self.hatch(folder, "wheel", self.top / "wheel")

    def environment(self, name):
        run([sys.executable, "-m", "venv", "--without-pip", self.top / name])
        python = self.top / name / "bin/python"
        self.install(python, self.wheel)
        return python

    def install(self, python, wheel):
        run([sys.executable, "-m", "pip", "--python", python, "install",
             "--quiet", "--disable-pip-version-check", "--no-deps",
             "--no-index", wheel])

    def file(self, name, text):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def tvmffi(self, *arguments, status=0, python=None, **env):
        return run([python or self.user, "-m", "tvmffi", *arguments],
                   status=status, cwd=self.top, env={**self.env, **env})

    def python(self, text, status=0, **env):
        """Runs a program in the environment of users."""
        return run([self.user, "-c", text], status=status, cwd=self.top,
                   env={**self.env, **env})


class Compiler:
    """A compiler that counts how often it makes a library."""

    def __init__(self, work):
        self.log = work.top / "compiled"
        self.path = work.file(
            "compiler", "#!/bin/sh\ncase \" $* \" in *' -shared '*)\n"
            f"echo >>{shlex.quote(str(self.log))};; esac\n"
            f"exec {shlex.join(work.cc)} \"$@\"\n")
        self.path.chmod(0o755)
        self.CC = shlex.quote(str(self.path))

    def count(self):
        text = self.log.read_text() if self.log.exists() else ""
        self.log.unlink(missing_ok=True)
        return len(text)
