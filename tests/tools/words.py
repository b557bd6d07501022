"""Plain English in comments and documents: what a program can tell of it.

docs/contributing.md has the rule, and how readers judge the rest.
"""

import re

COMMENT = re.compile(r"/\*.*?\*/", re.S)
CODE = re.compile(r"```.*?```|`[^`]*`|^#[^\n]*$", re.S | re.M)
SENTENCE = r"(?:^\s*|[.:;!?]\s+|\n\s*\n\s*)"

# Wordings that stopped readers, and what to write.
HARD = [
    (SENTENCE + r"(So many|Of those|Of these|What|Who|Those|Both,)\b",
     "begin with the noun that is meant"),
    (r"\b(NULL|None|none|nothing) (of|for its) (a|an|the)\b",
     "NULL for ..., or if ..."),
    (r"(?<![Tt]here)\s+(is|are|was) no (?!longer|more)\w+\b|"
     r"\bwhere there is none\b", "is not a ..."),
    (r"\b(anew|for ever|by turns|nobody else|thereof|wherein|whereof)\b",
     "again, forever, alternately, no other owner, ..."),
    (r"\bbehind it\b", "after or past, with the noun"),
    (r"\b(is|are) told (by|of)\b|\btells? of\b", "a verb that says how"),
    (r"\b(gives|passes) on\b", "passes ... to ..."),
    (r"\bso many\b(?! that)", "name the number"),
    (r"\bas it were\b|\bof before\b|\bcome again\b|\bhas room\b", "a plain term"),
]
IN_COMMENTS = HARD + [(r"\bthat of\b", "repeat the noun")]

# A function's comment begins with a verb in -s, or has one of these verbs.
VERB = re.compile(r"^\W*(?!This|Its)[A-Z]\w*s\b|\b(?i:is|are|was|has|have|can|"
                  r"cannot|may|must|does|needs?|returns?|calls?|takes?|adds|"
                  r"makes|raises|stores|keeps|uses|runs|begins|ends|writes|knows|"
                  r"retains|decides|finds|waits|converts|moves|doubles|"
                  r"multiplies|allocate|end|defined|followed)\b")
FUNCTION = re.compile(r"\s*(?:[A-Za-z_]\w*[\s*]+)+\w+\([^;]*?\)\s*[{;]")


# Folders of headers whose comments are checked.
SOURCES = ("src/", "rpc/", "legacy/", "hosts/")
# Pages that programs write: their sources are checked.
WRITTEN = {"docs/benchmarks.md", "docs/reference.md"}


def prose(path, text):
    """(offset, words) of each comment, or of a document without its code."""
    if path.endswith(".md"):
        blank = CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)
        yield 0, blank
        return
    for match in COMMENT.finditer(text):
        yield match.start() + 2, match.group(0)[2:-2]


def of_files(tree):
    for name in tree.files():
        if name.startswith(SOURCES) and name.endswith(".h"):
            yield name
        elif name.endswith(".md") and name not in WRITTEN:
            yield name


def plain(tree):
    problems = []
    for name in of_files(tree):
        text, is_code = tree.read(name), name.endswith(".h")
        for at, words in prose(name, text):
            for pattern, advice in IN_COMMENTS if is_code else HARD:
                spaced = pattern.replace(" ", r"\s+")
                for found in re.finditer(spaced, words):
                    line = text.count("\n", 0, at + found.start()) + 1
                    said = " ".join(found.group(0).split())
                    problems.append(f'{name}:{line}: "{said}": {advice}')
    return problems


def verbs(tree):
    """Comments of functions without a verb."""
    problems = []
    for name in of_files(tree):
        text = tree.read(name)
        for match in COMMENT.finditer(text) if name.endswith(".h") else ():
            said = match.group(0)
            if FUNCTION.match(text, match.end()) and not VERB.search(said) \
                    and "---" not in said and "clang-format" not in said:
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{name}:{line}: a comment without a verb")
    return problems
