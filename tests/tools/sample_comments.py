#!/usr/bin/env python3
"""Prints a random sample of the comments of src/ for a reader to judge.

  sample_comments.py [--count N] [--seed S]

A comment has eight words or more and is shown with the eight lines after it, as
an editor shows it. docs/contributing.md says how to judge a sample.
"""

import argparse
import random
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"/\*.*?\*/", re.S)
LEAST_WORDS, LINES_AFTER = 8, 8


def comments():
    """[(path, line, text)]: the comments, each with the lines after it."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.h")):
        text = path.read_text(encoding="utf-8")
        for match in COMMENT.finditer(text):
            words = re.findall(r"\w+", match.group(0))
            if len(words) < LEAST_WORDS or "====" in match.group(0):
                continue
            after = text[match.end():].split("\n")[:LINES_AFTER + 1]
            begin = text.rfind("\n", 0, match.start()) + 1
            found.append((path.relative_to(ROOT),
                          text.count("\n", 0, begin) + 1,
                          text[begin:match.end()] + "\n".join(after)))
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--seed", type=int)
    args = p.parse_args()
    seed = random.randrange(1 << 32) if args.seed is None else args.seed
    found = comments()
    sample = random.Random(seed).sample(found, min(args.count, len(found)))
    print(f"{len(sample)} of {len(found)} comments, seed {seed}")
    for number, (path, line, text) in enumerate(sample, 1):
        print(f"\n---- {number}: {path}:{line}\n{text}")


if __name__ == "__main__":
    main()
