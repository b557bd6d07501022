"""Writes the Test Anything Protocol: one line a check, then the plan."""

import sys


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def _line(self, text):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def ok(self, passed, name, detail=""):
        """Writes the result of one check; `detail` is shown on failure."""
        self.count += 1
        if passed:
            self._line(f"ok {self.count} - {name}")
        else:
            self.failed += 1
            self._line(f"not ok {self.count} - {name}")
            for line in str(detail).splitlines()[:40]:
                self._line("# " + line)
        return bool(passed)

    def skip(self, name, why):
        self.count += 1
        self._line(f"ok {self.count} - {name} # SKIP {why}")

    def note(self, text):
        """Writes lines that the final report shows again."""
        for line in str(text).splitlines():
            self._line("# note: " + line)

    def done(self):
        """Writes the plan; returns the exit status."""
        self._line(f"1..{self.count}")
        return 1 if self.failed or not self.count else 0
