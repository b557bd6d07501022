"""Reads what a public function or macro returns on failure and who owns its
result, for the table of reference.py.

Its comment says each by one of the phrases below, or names a function that
does the same. What the first comment of a file says holds for its functions
whose own comments do not. A number has no owner.
"""

import re

# A phrase of a comment, and the text of the table's cell. The first counts.
FAILURE = [
    (r"[Rr]eturns (?:the code|-1) from the calling function",
     "returns from the calling function"),
    (r"Returns -1(?: in both cases)?[.:]|Evaluates to -1", "`-1`, always"),
    (r"Returns 0 or the error's code|[Rr]eturns (?:its|an error's) code",
     "the error's code"),
    (r"\b(?:or|[Rr]eturns) (NULL|\{NULL, 0\}|-1) with\b", r"`\1`, an error"),
    (r"\b(?:or|[Rr]eturns) -1\b", "`-1`, an error"),
    (r"[Dd]oes not compile", "does not compile"),
    (r"\b(?:or|else|[Rr]eturns) (NULL|\{NULL, 0\})(?=[ .,])", r"`\1`"),
    (r"\b([A-Z0-9]+_MAX) on overflow", r"`\1`"),
    (r"\b[Rr]eturns 1\b(?:, or|.*? returns) 0\b", "`0`"),
    (r"marks the scope and ends the loop", "ends the loop, an error"),
    (r"\b[Cc]annot fail|Returns 1\b.*?\belse 0\b|Returns nothing",
     "cannot fail"),
]
OWNS_NOTHING = (r"\bowns? nothing", "nothing to own")
OWNER = [
    (r"\b[Tt]he slot owns", "the slot"),
    (r"\bowned by the enclosing scope", "the enclosing scope"),
    (r"\b[Tt]he scope owns|\bowned by the scope|which the scope owns",
     "the scope"),
    (r"\bowned by the caller|\b[Tt]he caller owns|\(owned\)|"
     r"[Tt]he caller receives a reference of its own", "the caller"),
    (r"\b(borrowed (?:from|while|until)\b[^.,:;]*)", r"\1"),
    (r"\bowned by the loop", "the loop"),
    (r"[Ll]ives as long as the process", "the process"),
    OWNS_NOTHING,
]
TAKEN = [
    (r"[Tt]akes ownership of ([^.,:;]*)", r"takes \1"),
    (r"[Oo]n success the \w+ owns `?(\w+)", r"takes `\1` on success"),
]
# Upper-case macros that begin with these verbs stand outside of functions.
DEFINES = re.compile(r"(?:Begins|Declares|Defines|Documents)\b")
NUMBER = re.compile(
    r"\b(?:[Rr]eturns|Evaluates to) (?:-?[01]\b|nothing|"
    r"the (?:number|index|code)\b|(?:its|an error's) code)|"
    r"[Rr]eturns -1 from")
# Phrases of a file's first comment, for its functions that return int or not.
FILE_INT = [
    (r"A function that returns int returns 0 on success\. On failure it raises "
     r"an error, [^.]*, and returns -1\.", "`-1`, an error"),
    (r"The functions cannot fail", "cannot fail"),
]
FILE_OTHER = [
    (r"(?:The functions|A function of another type) cannot fail",
     "cannot fail"),
]
NO_OWNER = "-"
SAME = re.compile(r"\b(?:[Ss]ame as|[Ll]ike|Implements) (\w+)")


def plain(comment):
    """The sentences of a comment on one line, without indented code."""
    text = re.sub(r"^ {5}.*$", "", (comment or "/**/")[2:-2], flags=re.M)
    return " ".join(text.split())


def first(phrases, text):
    for pattern, cell in phrases:
        m = re.search(pattern, text)
        if m:
            return m.expand(cell)
    return ""


class Contract:
    """A public function or macro, and what its comment says of it."""

    def __init__(self, name, shown, entry, room):
        self.name, self.anchor, self.room = name, entry.names[0], room
        self.text, self.intro = plain(entry.comment), plain(room.intro)
        self.is_function = shown.endswith(";")
        before, _, after = " ".join(shown.rstrip(";").split()).partition(name)
        self.result = before.strip()
        self.signature = before.replace("* ", "*") + after.strip()
        self.failure = self.owner = self.taken = ""
        self.defines = name.isupper() and DEFINES.match(self.text)

    def has_number(self):
        """Whether the result is a number or nothing."""
        if self.is_function:
            return not re.search(r"(?:\*|Any|Array|Handle|tvmffi_out)$",
                                 self.result) \
                and not re.search(r"(?:Object|Tensor\w*) \*\*|"
                                  r"(?:Handle|Any) \*(?:out|result)\b",
                                  self.signature)
        return self.defines or NUMBER.search(self.text) \
            and not re.search(r"\b(?:out|item)\b", self.signature)

    def read(self, contracts):
        """Sets `failure` and `owner`, each "" if no comment says it."""
        same = SAME.search(self.text)
        same = contracts.get(same[1]) if same else None
        self.failure = "does not compile" if self.defines else \
            first(FAILURE, self.text) or same and same.failure or ""
        if not self.failure and self.result == "void":
            self.failure = "cannot fail"
        if not self.failure:
            self.failure = first(FILE_INT if self.result == "int"
                                 else FILE_OTHER, self.intro)
        self.owner = first(OWNER, self.text) or same and same.owner \
            or self.has_number() and NO_OWNER \
            or first([OWNS_NOTHING], self.intro)
        self.taken = first(TAKEN, self.text) or same and same.taken or ""


def read_contracts(rooms, entries):
    """The contracts of the public functions and macros by name, in the order
    of the header. A macro without arguments in the layer `head` is an option,
    an attribute or a constant."""
    found = {}
    for room in rooms:
        for entry in entries[room.tag]:
            for shown in entry.shown:
                m = re.search(r"(\w+)(\(|$)", shown)
                is_type = "{" in shown or shown.startswith("typedef")
                is_option = room.tag == "head/config" or not (
                    m and m[2] or room.path.parts[0] != "head")
                if m and m[1] in entry.names and not (is_type or is_option):
                    found[m[1]] = Contract(m[1], shown, entry, room)
    for contract in found.values():
        contract.read(found)
    return found
