"""What GitHub and readers of citations read: workflows, issue forms, CITATION.cff.

The schemas come with check-jsonschema. zizmor finds what is dangerous in
workflows, without asking the network.
"""

import re

from work import ROOT, expect, run

FOLDER = ROOT / ".github"
WORKFLOWS = sorted((FOLDER / "workflows").glob("*.yml"))
FORMS = sorted((FOLDER / "ISSUE_TEMPLATE").glob("*.yml"))


def valid(schema, files):
    run(["check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files])


def refused(command, wrong, what):
    """A check that cannot fail is no check."""
    try:
        command()
    except RuntimeError as error:
        expect(what in str(error), str(error))
    else:
        raise RuntimeError(f"{wrong} is accepted")


def broken(work, path, pattern, text):
    """A copy of the file with one fault."""
    whole = path.read_text(encoding="utf-8")
    changed = re.sub(pattern, text, whole, count=1, flags=re.M)
    expect(changed != whole, f"{path.name} has no {pattern}")
    copy = work.top / "broken" / path.relative_to(ROOT)
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(changed, encoding="utf-8")
    return copy


def schemas(work):
    config = FOLDER / "ISSUE_TEMPLATE/config.yml"
    for schema, files, pattern, text in (
            ("github-workflows", WORKFLOWS, r"^    runs-on: ", "    run-on: "),
            ("github-issue-forms", [f for f in FORMS if f != config],
             r"^  - type: input$", "  - type: line"),
            ("github-issue-config", [config], r"true", "perhaps"),
            ("citation-file-format", [ROOT / "CITATION.cff"], r"^title:",
             "titles:")):
        expect(files, f"no file for {schema}")
        valid(schema, files)
        wrong = broken(work, files[0], pattern, text)
        refused(lambda: valid(schema, [wrong]), wrong.name, wrong.name)


def audit(path):
    run(["zizmor", "--offline", "--no-progress", "--quiet", path])


def workflows(work):
    audit(FOLDER)
    wrong = broken(work, FOLDER / "workflows/test.yml", r"@[0-9a-f]{40}",
                   "@main")
    refused(lambda: audit(wrong), wrong.name, "unpinned-uses")


def commands(_):
    """Workflows run commands of `dev` that exist, and only these; apart from
    the preparation of a container and the publication."""
    usage = run(["sh", ROOT / "dev", "help"])
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        for line in re.findall(r"^ +(?:- )?run: (?!>)(.*)$", text, re.M):
            expect(line.startswith("./dev "), f"{path.name}: {line}")
        for command in re.findall(r"\./dev ((?:test )?[-\w]+)", text):
            expect(re.search(rf"^  {re.escape(command)}\b", usage, re.M),
                   f"{path.name}: ./dev help does not list {command}")


CASES = [("GitHub, the schemas of its files", schemas),
         ("GitHub, an audit of the workflows", workflows),
         ("GitHub, the commands of the workflows", commands)]
