#!/usr/bin/env python3
"""Writes the table of wheels and clients in docs/dropin.md.

    table.py LOG...

Each LOG is of a test that tests/tools/record.py ran and that passed. A row is a
note "CLIENT, wheel VERSION: RESULT" of the test.
"""

import datetime
import json
import re
import sys
from pathlib import Path

DOC = Path(__file__).resolve().parents[2] / "docs/dropin.md"
BEGIN = "<!-- made by ./dev test --clients --write -->\n"
END = "<!-- end of the clients -->"
NOTE = re.compile(r"^# note: (.*), wheel (\S+): (.*)$", re.M)


def rows(log):
    test = json.loads(Path(log).read_text(encoding="utf-8"))
    if test["result"] != "OK":
        sys.exit(f"{log}: the test did not pass, so the table stays as it is")
    found = NOTE.findall(test["stdout"])
    if not found:
        sys.exit(f"{log}: the test was skipped, so the table stays as it is")
    return found


def main(logs):
    if not logs:
        sys.exit(__doc__)
    lines = [f"| {wheel} | {client} | {result} |"
             for log in logs for client, wheel, result in rows(log)]
    before, rest = DOC.read_text(encoding="utf-8").split(BEGIN)
    table = [f"Run on {datetime.date.today()}:", "",
             "| wheel | client | on our library |", "| --- | --- | --- |",
             *lines]
    DOC.write_text(before + BEGIN + "\n".join(table) + "\n" + END
                   + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
