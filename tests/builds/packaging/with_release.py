"""A release: what stops it, and all of its files except the wheels."""

import re
import subprocess
import sys

from work import HEADERS, VERSION, expect, files_in, release, run

SECTION = re.compile(rf"^## (Unreleased|{re.escape(VERSION)} .*)$", re.M)
# The headers that src/amalgamate.py writes.
WRITTEN = ["tvmffi.h", "tvmffi-core.h", "tvmffi-no-extra.h",
           "tvmffi-interface.h", "tvmffi-abi.h"]


def clone(source, folder):
    run(["git", "clone", "--quiet", source, folder])
    return folder


def commit(folder):
    git = ["git", "-C", folder, "-c", "user.name=user",
           "-c", "user.email=user@example.com"]
    run([*git, "commit", "--quiet", "--all", "--message", "A change"])


def edit(folder, name, pattern, text):
    path = folder / name
    old = path.read_text(encoding="utf-8")
    path.write_text(re.sub(pattern, text, old, count=1, flags=re.M),
                    encoding="utf-8")


def publish(folder):
    """Replaces all that says that the project is not published."""
    names = run(["git", "-C", folder, "ls-files", *release.PUBLIC])
    for name in {*names.split()} - {*release.OF_RELEASES}:
        path = folder / name
        if path.is_file():
            path.write_text(release.UNPUBLISHED.sub(
                "published", path.read_text(encoding="utf-8")),
                encoding="utf-8")


def expect_refusal(folder, message, *options):
    done = subprocess.run(
        [sys.executable, folder / "packaging/release.py", "--check", *options],
        text=True, capture_output=True, stdin=subprocess.DEVNULL)
    expect(done.returncode == 1 and message in done.stderr,
           f"exit status {done.returncode}, without \"{message}\":\n"
           f"{done.stdout}{done.stderr}")


def refusals(work):
    top = work.folder("release refused")
    original = clone(work.source, top / "original")

    def refused(message, *edits, options=("--draft",)):
        for name, pattern, text in edits:
            edit(original, name, pattern, text)
        expect_refusal(original, message, *options)
        run(["git", "-C", original, "checkout", "--quiet", "."])

    changelog = "docs/changelog.md"
    refused("packaging/npm/package.json:3: the version is 9.9.9, but tvmffi.h "
            f"defines {VERSION}",
            ("packaging/npm/package.json", re.escape(VERSION), "9.9.9"))
    port = "packaging/vcpkg/tvmffi/vcpkg.json"
    refused(f"{port}: no line with the version", (port, r'"version"', '"other"'))
    refused("you asked for 9.9.9", options=("9.9.9", "--draft"))
    refused(f'no section "## {VERSION} (YEAR-MONTH-DAY)"',
            (changelog, SECTION.pattern, "## Other"))
    refused('README.md:2: says "not yet released"',
            ("README.md", r"^\n", "It is not\nyet released.\n"), options=())
    refused("SECURITY.md:1: says \"example.com\"",
            ("SECURITY.md", r"^", "https://example.com\n"), options=())
    publish(original)
    commit(original)
    refused(": no section \"",
            (changelog, SECTION.pattern, "## Unreleased"), options=())
    refused("tvmffi.h is not what src/ gives",
            ("tvmffi.h", r"^   WHAT IT IS$", "   WHAT IT WAS"))
    refused("the working tree has changes; a release is built from a commit, so "
            "commit or stash them:\n M LICENSE", ("LICENSE", "either", "one"))
    edit(original, "LICENSE", "either", "one")
    commit(original)
    expect_refusal(original, f"the tag v{VERSION} exists and is another commit",
                   "--draft")


def files(work):
    """Two clones write the same bytes."""
    top = work.folder("release")
    first = clone(work.source, top / "first")
    edit(first, "docs/changelog.md", SECTION.pattern, f"## {VERSION} (2026-01-31)")
    publish(first)
    commit(first)
    run(["git", "-C", first, "tag", "--force", f"v{VERSION}"])
    folders = []
    for source in first, clone(first, top / "second"):
        # An empty CC lets web/build.sh choose clang.
        run([sys.executable, source / "packaging/release.py", VERSION,
             "--no-wheels"], CC="")
        folders.append(source / "build/release")
    names = files_in(folders[0])
    expect(names == sorted([
        "SHA256SUMS", "release-notes.md", f"tvmffi-{VERSION}-source.tar.gz",
        f"tvmffi-wasm-{VERSION}.tgz", "tvmffi.wasm", *{*WRITTEN, *HEADERS}]),
        f"{names}")
    for name in names:
        expect((folders[0] / name).read_bytes()
               == (folders[1] / name).read_bytes(), f"{name} differs")
    run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folders[0])
    check_contents(first, folders[0])


def check_contents(source, folder):
    listed = run(["tar", "-tf", folder / f"tvmffi-{VERSION}-source.tar.gz"])
    tracked = run(["git", "-C", source, "ls-files"]).split("\n")
    expect(sorted(n for n in listed.split("\n") if not n.endswith("/"))
           == sorted(n and f"tvmffi-{VERSION}/{n}" for n in tracked), listed)
    for name in WRITTEN:
        runtime = ["-DTVMFFI_IMPLEMENTATION"] if name in WRITTEN[:3] else []
        run(["cc", "-fsyntax-only", "-x", "c", *runtime, folder / name])
    text = (folder / "release-notes.md").read_text(encoding="utf-8")
    expect(text.startswith(f"# tvmffi.h {VERSION}\n\n") and "\n### Added\n"
           in text and ".md)" not in text and "\n## " not in text, text[:2000])


CASES = [("a release, what stops it", refusals),
         ("a release, its files", files)]
