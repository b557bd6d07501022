#!/usr/bin/env python3
"""Compares the models of tests/models with the functions that they stand for.

A model names its functions after `stands for:`, each behind its room, and has a
hash of their text without comments, assertions and white space. If a function
changes, look whether its model has to, then write the hashes with --write.
"""

import re
import sys
from hashlib import sha256
from pathlib import Path

sys.dont_write_bytecode = True
from rooms import without_comments  # noqa: E402

FOLDER = "tests/models"
LIST = re.compile(r"stands for:(.*?)\bhash: (\w+)", re.S)


def without_assertions(code):
    """Leaves out each TVMFFI_ASSERT with its parentheses."""
    while (start := code.find("TVMFFI_ASSERT(")) >= 0:
        end, depth = start + len("TVMFFI_ASSERT("), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        code = code[:start] + code[end:].lstrip(";")
    return code


def definitions(code, name):
    """The bodies of a function in a room, one for each #if that has one."""
    return re.findall(rf"\b{name}\([^;{{}}]*\) \{{(?:[^\n]*\}}$|.*?^\}}$)",
                      code, re.M | re.S)


def digest(root, text):
    """The hash that a model should have, and the functions that are absent."""
    code, hashed, absent = "", sha256(), []
    for word in re.findall(r"\w+/\w+\.h|tvmffi_\w+", LIST.search(text)[1]):
        if "/" in word:
            path = Path(root, "src", word)
            code = without_comments(path.read_text(encoding="utf-8"))
            # As the function stands without TVMFFI_SHARE_INTERFACE.
            code = re.sub(r"^TVMFFI_I_ONCE\((.*), (\w+),\s*"
                          r"(\((?:[^()]|\([^()]*\))*\))\)(?= \{|;)",
                          r"TVMFFI_I_COLD \1 \2\3", code, flags=re.M)
            continue
        bodies = definitions(code, word)
        if not bodies:
            absent.append(word)
        for body in bodies:
            hashed.update("".join(without_assertions(body).split()).encode())
    return hashed.hexdigest()[:12], absent


def models(root):
    for path in sorted(Path(root, FOLDER).rglob("*")):
        if path.suffix in (".pml", ".rs") and "target" not in path.parts:
            yield path, path.read_text(encoding="utf-8")


def problems(tree):
    """For tests/tools/lint.py."""
    found = []
    for path, text in models(tree.root):
        name = path.relative_to(tree.root)
        if not LIST.search(text):
            found.append(f"{name} does not say what it stands for")
            continue
        now, absent = digest(tree.root, text)
        found += [f"{name} stands for {each}, which is not there"
                  for each in absent]
        if LIST.search(text)[2] != now:
            found.append(f"{name}: what it stands for changed; see if the "
                         "model must, then tests/tools/modelled.py --write")
    return found or ([] if list(models(tree.root)) else ["no models"])


def main():
    root = Path(__file__).resolve().parents[2]
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    for path, text in models(root):
        old, (new, absent) = LIST.search(text)[2], digest(root, text)
        if absent:
            sys.exit(f"{path.name}: not there: {' '.join(absent)}")
        path.write_text(text.replace(f"hash: {old}", f"hash: {new}", 1))


if __name__ == "__main__":
    main()
