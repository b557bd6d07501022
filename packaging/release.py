#!/usr/bin/env python3
"""Builds the files of a release from the last commit.

    release.py [VERSION] [--draft] [--check | --no-wheels] [--folder FOLDER]
    release.py --show

VERSION, if given, must be the header's. FOLDER is build/release by default and
must be empty. --show only prints the header's version. The wheels need the packages of packaging/python/requirements.txt;
the wasm module needs npm and the compiler that CC names (web/build.sh). Two runs
from one commit with the same tools write the same bytes.
"""

import argparse
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = "tvmffi.h"
CHANGELOG = "docs/changelog.md"
# Places with the project's version that no program reads from the header.
PLACES = [
    ("packaging/npm/package.json", r'"version": "([^"]*)"'),
    ("packaging/rust/tvmffi-sys/Cargo.toml", r'^version = "([^"]*)"'),
    ("packaging/vcpkg/tvmffi/vcpkg.json", r'"version": "([^"]*)"'),
]
# Versions in these files are those of upstream's wheels.
OF_UPSTREAM = ["packaging/python/src/tvmffi/symbols.txt",
               "packaging/python/symbols.py"]
# What no release says: that there is none, and addresses that nobody has.
UNPUBLISHED = re.compile(r"not\s+yet\s+released|no\s+release\s+is\s+published"
                         r"|example\.com", re.I)
# Where it is looked for, and files that speak of it.
PUBLIC = ["*.md", "*.cff", "packaging", ".github", "tests/hostile/fuzz/oss-fuzz"]
OF_RELEASES = ["packaging/release.py", CHANGELOG, "docs/contributing.md"]
# Smaller headers: their names, and the options of src/amalgamate.py.
SMALLER = {
    "tvmffi-core.h": ["--core"],
    "tvmffi-no-extra.h": ["--no-extra"],
    "tvmffi-interface.h": ["--only", "abi,interface"],
    "tvmffi-abi.h": ["--only", "abi"],
}
# Patterns of the other headers.
COMPANIONS = ["rpc/tvmffi_rpc.h", "rpc/tvmffi_rpc_backend.h",
              "rpc/tvmffi_rpc_serial.h", "legacy/tvmffi_legacy.h",
              "hosts/*/*.h"]


class Problem(RuntimeError):
    """Why there is no release; the text is for the user."""


def run(command, **options):
    """Runs a command and returns its output."""
    command = [str(c) for c in command]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL,
                              capture_output=True, **options)
    except FileNotFoundError as error:
        raise Problem(f"{command[0]} is not installed") from error
    if done.returncode:
        text = (done.stdout + done.stderr).decode(errors="replace")
        raise Problem(f"this command failed: {' '.join(command)}\n"
                      + text[-3000:].strip())
    return done.stdout


def git(root, *arguments):
    return run(["git", "-C", root, *arguments])


# -- what must agree -----------------------------------------------------


def read(root, name):
    path = Path(root) / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def header_version(root):
    """The version that the header defines."""
    numbers = re.findall(r"^\s*#\s*define\s+TVMFFI_VERSION_"
                         r"(?:MAJOR|MINOR|PATCH)\s+(\d+)", read(root, HEADER),
                         re.M)
    if len(numbers) != 3:
        raise Problem(f"{HEADER}: TVMFFI_VERSION_MAJOR, _MINOR and _PATCH are "
                      "not each defined once")
    return ".".join(numbers)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def version_problems(root):
    """Places whose version is not the header's, with file and line."""
    version = header_version(root)
    problems, lines = [], set()
    for name, pattern in PLACES:
        text = read(root, name)
        matches = list(re.finditer(pattern, text, re.M))
        if not matches:
            problems.append(f"{name}: no line with the version: {pattern}")
        for match in matches:
            line = line_of(text, match.start(1))
            lines.add((name, line))
            if match[1] != version:
                problems.append(f"{name}:{line}: the version is {match[1]}, "
                                f"but {HEADER} defines {version}")
    return problems + list(unlisted(root, version, lines))


def unlisted(root, version, lines):
    """Places in packaging/ with the version that PLACES lacks: the next release
    would forget them."""
    number = re.compile(rf"(?<![\d.]){re.escape(version)}(?![\d.]*\d)")
    for path in sorted((Path(root) / "packaging").rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_dir() or path.is_symlink() or name in OF_UPSTREAM \
                or path.suffix in (".lock", ".pyc", ".wasm"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for match in number.finditer(text):
            line = line_of(text, match.start())
            if (name, line) not in lines:
                yield (f"{name}:{line}: the version {version} is not in the "
                       "table PLACES of packaging/release.py")


def unpublished(root):
    """Places that say that nothing is published, or that have the address of a
    placeholder."""
    names = git(root, "ls-files", "-z", "--", *PUBLIC).decode().split("\0")
    for name in sorted({*names} - {"", *OF_RELEASES}):
        text = read(root, name)
        for match in UNPUBLISHED.finditer(text):
            yield (f"{name}:{line_of(text, match.start())}: says "
                   f"\"{' '.join(match[0].split())}\"")


def notes(root, version, draft):
    """The changelog's section about a version, without links into the tree."""
    text = read(root, CHANGELOG)
    heading = rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$"
    found = re.search(heading, text, re.M)
    if draft and not found:
        found = re.search(r"^## Unreleased$", text, re.M)
    if not found:
        first = re.search(r"^## .*$", text, re.M)
        where = f":{line_of(text, first.start())}" if first else ""
        raise Problem(f"{CHANGELOG}{where}: no section \"## {version} "
                      "(YEAR-MONTH-DAY)\": give the section of the release this "
                      "heading, or try with --draft")
    section = re.split(r"^## ", text[found.end():], flags=re.M)[0]
    return re.sub(r"\[([^]]*)\]\((?!https?:)[^)]*\)", r"\1",
                  f"# tvmffi.h {version}\n\n{section.strip()}\n")


def check(root, wanted, draft):
    """Raises if the commit cannot be released. Returns version and notes."""
    version = header_version(root)
    problems = version_problems(root)
    if wanted and wanted != version:
        problems.insert(0, f"you asked for {wanted}, but {HEADER} defines "
                        f"{version}")
    if not draft:
        problems += unpublished(root)
    if problems:
        raise Problem("\n".join(problems))
    text = notes(root, version, draft)
    run([sys.executable, root / "src/amalgamate.py", "--check"])

    changed = git(root, "status", "--porcelain").decode().splitlines()
    if changed:
        raise Problem("the working tree has changes; a release is built from a "
                      "commit, so commit or stash them:\n"
                      + "\n".join(changed[:10]))
    tag = git(root, "tag", "--list", f"v{version}").decode().strip()
    if tag:
        commit = git(root, "rev-parse", f"{tag}^{{commit}}")
        if commit != git(root, "rev-parse", "HEAD"):
            raise Problem(f"the tag {tag} exists and is another commit, "
                          f"{commit.decode()[:12]}: raise the version, or check "
                          "out the tag")
    return version, text


# -- what is built -------------------------------------------------------


def source_archive(root, version, target):
    """Writes the archive, and returns the tar file in it."""
    tar = git(root, "-c", "tar.umask=0022", "archive", "--format=tar",
              f"--prefix=tvmffi-{version}/", "HEAD")
    time = int(os.environ["SOURCE_DATE_EPOCH"])
    with open(target, "wb") as file, \
            gzip.GzipFile("", "wb", 9, file, mtime=time) as packed:
        packed.write(tar)
    return tar


def unpack(tar, folder):
    """Builds use this copy, so that no other file can get into a release."""
    packed = folder / "source.tar"
    packed.write_bytes(tar)
    run(["tar", "-xf", packed, "-C", folder])
    packed.unlink()
    source, = folder.iterdir()
    return source


def headers(source, folder):
    shutil.copyfile(source / HEADER, folder / HEADER)
    for pattern in COMPANIONS:
        for path in source.glob(pattern):
            shutil.copyfile(path, folder / path.name)
    for name, options in SMALLER.items():
        run([sys.executable, source / "src/amalgamate.py", *options,
             "-o", folder / name])


def wasm_module(source, folder):
    """The npm package, and the module in it."""
    package = source / "packaging/npm"
    run(["npm", "pack", "--pack-destination", folder], cwd=package)
    shutil.copyfile(package / "tvmffi.wasm", folder / "tvmffi.wasm")


def wheels(source, folder):
    """The Python wheels, and their source distribution."""
    run([sys.executable, source / "packaging/python/release.py",
         source / "wheels"])
    for path in (source / "wheels").iterdir():
        shutil.copyfile(path, folder / path.name)


def checksums(folder):
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
             for path in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="ascii")


def build(root, folder, version, text, with_wheels):
    os.environ["SOURCE_DATE_EPOCH"] = git(root, "log", "-1",
                                          "--format=%ct").decode().strip()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "release-notes.md").write_text(text, encoding="utf-8")
    tar = source_archive(root, version,
                         folder / f"tvmffi-{version}-source.tar.gz")
    with tempfile.TemporaryDirectory() as work:
        source = unpack(tar, Path(work))
        headers(source, folder)
        wasm_module(source, folder)
        if with_wheels:
            wheels(source, folder)
    checksums(folder)


def main():
    parser = argparse.ArgumentParser(
        prog="release", description="Builds the files of a release.")
    parser.add_argument("version", nargs="?")
    parser.add_argument("--draft", action="store_true",
                        help="accept a changelog that says Unreleased")
    parser.add_argument("--check", action="store_true",
                        help="only check that the commit can be released")
    parser.add_argument("--show", action="store_true",
                        help="only print the header's version")
    parser.add_argument("--no-wheels", action="store_true",
                        help="leave out the Python wheels")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/release")
    options = parser.parse_args()
    if options.show:
        print(header_version(ROOT))
        return
    folder = options.folder.resolve()
    try:
        version, text = check(ROOT, options.version, options.draft)
        if options.check:
            print(f"{version} can be released")
            return
        if folder.exists() and any(folder.iterdir()):
            raise Problem(f"{folder} is not empty")
        build(ROOT, folder, version, text, not options.no_wheels)
    except Problem as problem:
        sys.exit(f"release: {problem}")
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size:>9}  {path.name}")


if __name__ == "__main__":
    main()
