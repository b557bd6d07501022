#!/usr/bin/env python3
"""Uses the project as others do: by build systems and packages, with the
blocks of docs/packaging.md. Output is TAP.

The Python that runs this has the packages of requirements.txt. Arguments are
parts of the names of cases; without arguments, all cases run.
"""

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
sys.dont_write_bytecode = True
import with_cargo  # noqa: E402
import with_cmake  # noqa: E402
import with_conan  # noqa: E402
import with_debian  # noqa: E402
import with_github  # noqa: E402
import with_meson  # noqa: E402
import with_npm  # noqa: E402
import with_release  # noqa: E402
import with_vcpkg  # noqa: E402
from tap import Tap  # noqa: E402
from work import Skipped, Work  # noqa: E402

# The other cases use these installations.
INSTALLATIONS = [
    ("CMake, an installation", with_cmake.install),
    ("Meson, an installation", with_meson.install),
]
CASES = (with_cmake.CASES + with_meson.CASES + with_conan.CASES
         + with_debian.CASES + with_npm.CASES + with_vcpkg.CASES
         + with_cargo.CASES + with_github.CASES + with_release.CASES)


def use_environment():
    """Puts the tools of this Python's environment first."""
    folder = Path(sys.executable).parent
    for tool in ("check-jsonschema", "cmake", "conan", "meson", "ninja",
                 "zizmor"):
        if not (folder / tool).exists():
            sys.exit(f"{folder} has no {tool}: see requirements.txt")
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"


def outcome(work, case):
    """What is wrong, or None; a Skipped if the case cannot run here."""
    try:
        case(work)
    except Skipped as reason:
        return f"{reason}" if os.environ.get("CI") == "true" else reason
    except (OSError, RuntimeError, LookupError, StopIteration) as error:
        return f"{type(error).__name__}: {error}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*")
    args = parser.parse_args()
    cases = [case for case in CASES
             if not args.parts or any(p in case[0] for p in args.parts)]
    use_environment()
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder, \
            ThreadPoolExecutor(max_workers=2) as pool:
        work = Work(folder)
        for group in INSTALLATIONS, cases:
            problems = pool.map(lambda case: outcome(work, case[1]), group)
            for (name, _), problem in zip(group, problems):
                if isinstance(problem, Skipped):
                    tap.skip(name, problem)
                else:
                    tap.ok(problem is None, name, problem or "")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
