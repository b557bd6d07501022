#!/usr/bin/env python3
"""Programs that use the C interface without the implementation, each linked
with two libraries: they must end well and print the same. As C and as C++."""
import argparse
import glob
import os
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LANGUAGES = {"c11": ("cc", ["-std=c11"]),
             "c++11": ("cxx", ["-x", "c++", "-std=c++11"])}


def output(args, source, language, lib, directory):
    compiler, flags = LANGUAGES[language]
    program = os.path.join(directory, "program")
    subprocess.run([*shlex.split(getattr(args, compiler)), *flags, "-O1", "-g", "-Wall",
                    "-Wextra", "-Werror", "-I" + ROOT, source, "-x", "none",
                    lib, "-Wl,-rpath," + os.path.dirname(lib), "-o", program],
                   check=True)
    done = subprocess.run([program], stdout=subprocess.PIPE, timeout=600)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--lib", required=True, help="our libtvm_ffi.so")
    p.add_argument("--stock", help="the library to compare with")
    p.add_argument("--cc", default=os.environ.get("CC", "cc"))
    p.add_argument("--cxx", default=os.environ.get("CXX", "c++"))
    args = p.parse_args()
    number = failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for source in sorted(glob.glob(os.path.join(HERE, "*.c"))):
            for language in LANGUAGES:
                name = f"{os.path.basename(source)} as {language}"
                ours = output(args, source, language,
                              os.path.abspath(args.lib), directory)
                good = ours[0] == 0
                if good and args.stock:
                    stock = output(args, source, language,
                                   os.path.abspath(args.stock), directory)
                    good = ours == stock
                    if not good:
                        for pair in zip(ours[1].splitlines(),
                                        stock[1].splitlines()):
                            if pair[0] != pair[1]:
                                print("# ours:  %s\n# stock: %s" % pair)
                number += 1
                failed += not good
                print(f"{'ok' if good else 'not ok'} {number} - {name}: "
                      f"{len(ours[1].splitlines())} lines")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
