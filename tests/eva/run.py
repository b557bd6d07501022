#!/usr/bin/env python3
"""Proves by Frama-C's Eva that code which reads input has no undefined behaviour.

A program of this folder calls one function of the runtime with every input up
to EVA_SIZE bytes. Eva interprets it abstractly, so that "no alarm" holds for
each of these inputs: no access outside an object, no overflow of a signed
integer, no uninitialised value. Each program is also run with its fault, a
change to the runtime that Eva must find. Output is TAP.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path.append(str(HERE.parent / "tools"))
from tap import Tap  # noqa: E402

LIMIT = 3600  # seconds of one analysis
# Frama-C reads C99 without _Generic and 128-bit integers.
FLAGS = "-std=c99 -U__SIZEOF_INT128__ -U__GNUC__ -U__clang__"
STUBS = ["tvmffi_i_runtime_error", "tvmffi_i_value_error",
         "tvmffi_i_any_release", "tvmffi_i_call_by_name",
         "TVMFFIStringFromByteArray", "TVMFFIBytesFromByteArray"]
# Functions whose result tells where the text is read next: Eva follows each
# result by itself.
SPLIT = ["tvmffi_i_starts", "tvmffi_i_at_short_float", "tvmffi_i_read_number",
         "tvmffi_i_digits", "tvmffi_i_read_name", "tvmffi_i_is_digit",
         "eva_memchr"]
OPTIONS = ["-eva", "-eva-no-print", "-eva-no-show-progress",
           "-eva-use-spec", ",".join(STUBS), "-eva-split-limit", "100",
           "-eva-min-loop-unroll", "70", "-eva-alloc-builtin", "fresh"]
PRECISE = ["-eva-slevel", "20000", "-eva-domains",
           "equality,symbolic-locations", "-eva-split-return-function",
           ",".join(f"{name}:full" for name in SPLIT)]
PLAIN = ["-eva-slevel", "2000"]

# A program, its options, the largest size of its text or its largest rank, and a
# fault: a part of the header, and what stands there instead. The readers of
# dtypes and strings have so many paths that Eva is slow for longer texts.
PROGRAMS = {
    "small_text": (PLAIN, 7, "at[size - 1] <<", "at[size] <<"),
    "shape": (PLAIN, 64, "for (i = 0; i < t->ndim && !empty; ++i) {",
              "for (i = 0; i <= t->ndim && !empty; ++i) {"),
    "base64": (PLAIN, 64, "text.size / 4 * 3 + 1", "text.size / 4 * 3 - 1"),
    "json_string": (PLAIN, 12, "for (; end - p >= size; p += size) {",
                    "for (; end - p >= size - 1; p += size) {"),
    "json_number": (PRECISE, 64, "exponent < INT64_MAX / 40",
                    "exponent < INT64_MAX / 4"),
    "dtype": (PRECISE, 16, "if (r->at != r->end && *r->at != 'x')",
              "if (*r->at != 'x')"),
}


def analyse(program, options, header, size):
    """Frama-C's report, and the number of alarms, which is None if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tvmffi.h").write_text(header)
        done = subprocess.run(
            ["frama-c", "-machdep", "gcc_x86_64", f"-cpp-extra-args=-I{folder} "
             f"-I{HERE} {FLAGS} -DEVA_SIZE={size}",
             "-kernel-warn-key", "*=inactive", str(HERE / f"{program}.c"),
             *OPTIONS, *options],
            capture_output=True, text=True, timeout=LIMIT, cwd=folder)
    if done.returncode or "ANALYSIS SUMMARY" not in done.stdout:
        return done.stdout, None
    return done.stdout, done.stdout.count("[eva:alarm]")


def main():
    chosen = sys.argv[1:] or PROGRAMS
    unknown = [name for name in chosen if name not in PROGRAMS]
    if unknown:
        sys.exit(f"no program is named {unknown[0]}; the programs are "
                 + " ".join(PROGRAMS))
    header, tap = (ROOT / "tvmffi.h").read_text(), Tap()
    for name in chosen:
        options, size, text, fault = PROGRAMS[name]
        report, alarms = analyse(name, options, header, size)
        tap.ok(alarms == 0, f"{name}, up to {size}: no alarm", report[-3000:])
        assert header.count(text) == 1, f"{name}: {text}"
        report, alarms = analyse(name, options, header.replace(text, fault),
                                 size)
        tap.ok(alarms, f"{name}: an alarm with its fault", report[-3000:])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
