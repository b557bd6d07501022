#!/usr/bin/env python3
"""Runs a test program and writes its result as `meson test` logs one.

    record.py LOG NAME COMMAND...

For tests that no build of meson's runs; tally.py reads LOG, a line of JSON.
Shown is what the program prints, but for the points that passed.
"""

import json
import subprocess
import sys
import time


def main():
    log, name, *command = sys.argv[1:]
    began = time.monotonic()
    out = []
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                           errors="replace")
    for line in run.stdout:
        out.append(line)
        if not line.startswith("ok"):
            print(line, end="", flush=True)
    run.wait()
    seconds = time.monotonic() - began
    print(f"{name}: {seconds:.0f} s, exit status {run.returncode}", flush=True)
    with open(log, "w", encoding="utf-8") as file:
        json.dump({"name": name, "stdout": "".join(out), "stderr": "",
                   "returncode": run.returncode, "duration": seconds,
                   "result": "FAIL" if run.returncode else "OK"}, file)
        file.write("\n")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
