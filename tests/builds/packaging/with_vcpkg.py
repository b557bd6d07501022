"""vcpkg: the port's manifest by vcpkg's documented rules, and the port run with
stand-ins of vcpkg's functions, vcpkg/port.cmake: no registry has vcpkg itself.
"""

import copy
import json
import re
from pathlib import Path

from with_cmake import begin, build
from work import (HEADERS, ROOT, VERSION, expect, files_in, needs_runtime, run,
                  shell)

HERE = Path(__file__).resolve().parent
PORT = ROOT / "packaging/vcpkg/tvmffi"

# -- the manifest --------------------------------------------------------

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
RESERVED = re.compile(r"prn|aux|nul|con|lpt\d|com\d|core|default")
VERSIONS = {"version": r"\d+(\.\d+)*", "version-semver": r"\d+\.\d+\.\d+",
            "version-date": r"\d{4}-\d\d-\d\d", "version-string": r"[^#]+"}
# Of the type of its value, each member that vcpkg knows.
TOP = {"name": str, "description": str, "homepage": str, "documentation": str,
       "license": str, "supports": str, "maintainers": str,
       "port-version": int, "dependencies": list, "default-features": list,
       "features": dict, **dict.fromkeys(VERSIONS, str)}
FEATURE = {"description": str, "dependencies": list, "supports": str}
DEPENDENCY = {"name": str, "features": list, "host": bool,
              "default-features": bool, "platform": str, "version>=": str}


def wrong_members(where, found, known, needed):
    for name, value in found.items():
        if name not in known:
            yield f"{where} has the unknown member `{name}`"
        elif not isinstance(value, known[name]):
            yield f"`{name}` of {where} is no {known[name].__name__}"
    for name in needed:
        if name not in found:
            yield f"{where} has no `{name}`"


def wrong_name(name):
    if not NAME.fullmatch(name) or RESERVED.fullmatch(name):
        yield f"`{name}` is no name"


def wrong_dependencies(where, found, features):
    for one in found:
        one = {"name": one} if isinstance(one, str) else one
        yield from wrong_members(f"a dependency of {where}", one, DEPENDENCY,
                                 ["name"])
        yield from wrong_name(one.get("name", ""))
        # A feature may need other features of its own port.
        for name in one.get("features", []):
            if one["name"] == "tvmffi" and name not in features:
                yield f"{where} needs the unknown feature `{name}`"


def problems(manifest):
    """What vcpkg would refuse in a manifest."""
    yield from wrong_members("the manifest", manifest, TOP,
                             ["name", "description", "license"])
    yield from wrong_name(manifest.get("name", ""))
    versions = [name for name in VERSIONS if name in manifest]
    if len(versions) != 1 or not re.fullmatch(VERSIONS[versions[0]],
                                              manifest[versions[0]]):
        yield f"the version is wrong: {versions}"
    words = re.sub(r"[!&|()]", " ", manifest.get("supports", ""))
    for word in words.split():
        yield from wrong_name(word)
    features = manifest.get("features", {})
    yield from wrong_dependencies("the port", manifest.get("dependencies", []),
                                  features)
    for name in manifest.get("default-features", []):
        if name not in features:
            yield f"the default feature `{name}` is unknown"
    for name, feature in features.items():
        yield from wrong_name(name)
        yield from wrong_members(f"the feature `{name}`", feature, FEATURE,
                                 ["description"])
        yield from wrong_dependencies(f"`{name}`",
                                      feature.get("dependencies", []),
                                      features)


def read_manifest():
    return json.loads((PORT / "vcpkg.json").read_text(encoding="utf-8"))


def mistakes(manifest):
    """Copies of a manifest, each with one mistake."""
    for path, value in (
            (["name"], "Tvmffi"), (["version"], "v0.1"), (["licence"], "MIT"),
            (["version-string"], "one"), (["default-features"], ["json"]),
            (["dependencies"], [{"host": True}]),
            (["features", "core"], {"description": "a reserved name"}),
            (["features", "debug"], {}),
            (["features", "extra", "dependencies", 0, "features"], ["json"])):
        wrong = copy.deepcopy(manifest)
        inner = wrong
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        yield path, wrong


def manifest(_):
    """The manifest follows the rules, and the portfile uses its features."""
    text = read_manifest()
    found = list(problems(text))
    expect(not found, "\n".join(found))
    for path, wrong in mistakes(text):
        expect(list(problems(wrong)), f"no mistake is found in {path}")
    used = re.findall(r"^    ([a-z-]+) TVMFFI_\w+", (
        PORT / "portfile.cmake").read_text(encoding="utf-8"), re.M)
    expect(sorted(used) == sorted(text["features"]),
           f"the portfile uses {used}")


# -- the port ------------------------------------------------------------


def with_needed(names):
    """The features, and those that they need."""
    features, found = read_manifest()["features"], []
    while names:
        name, *names = names
        if name not in found:
            found.append(name)
            for one in features[name].get("dependencies", []):
                names += one.get("features", [])
    return ";".join(found)


# In place of vcpkg: runs the port that `vcpkg install` would.
COMMAND = """#!/bin/sh
set -eu
[ "$1 $2" = "install tvmffi" ]
exec cmake "-DPORT_DIR=${{3#--overlay-ports=}}/tvmffi" "-DWORK={work}" \\
  "-DVCPKG_LIBRARY_LINKAGE={linkage}" "-DFEATURES={features}" -P "{script}"
"""
LIBRARIES = {"static": ["libtvmffi.a"],
             "dynamic": ["libtvmffi.so", "libtvmffi.so.0",
                         f"libtvmffi.so.{VERSION}"]}
SHARE = ["copyright", "tvmffiConfig.cmake", "tvmffiConfigVersion.cmake",
         "tvmffiTargets-debug.cmake", "tvmffiTargets-release.cmake",
         "tvmffiTargets.cmake", "usage"]


def install(work, linkage, features):
    """The document's command, with the stand-in; returns the package."""
    folder = work.folder(f"vcpkg {linkage}")
    (folder / "tvmffi").symlink_to(work.source)
    tool = folder / "bin/vcpkg"
    tool.parent.mkdir()
    tool.write_text(COMMAND.format(
        work=folder, linkage=linkage, features=with_needed(features),
        script=HERE / "vcpkg/port.cmake"))
    tool.chmod(0o755)
    shell(f'PATH="$PWD/bin:$PATH"\n{work.block("vcpkg", "sh")}', folder)
    return folder / "packages"


def check_files(package, linkage):
    """The package has the files that it must, and no path of this machine."""
    inner = [f"lib/{name}" for name in LIBRARIES[linkage]]
    inner += ["lib/pkgconfig/tvmffi-header.pc", "lib/pkgconfig/tvmffi.pc"]
    wanted = inner + [f"debug/{name}" for name in inner]
    wanted += [f"share/tvmffi/{name}" for name in SHARE]
    wanted += [f"include/{name}" for name in HEADERS]
    found = files_in(package)
    expect(found == sorted(wanted), "\n".join(
        f"only in one of both: {n}" for n in set(found) ^ set(wanted)))
    for name in found:
        if name.endswith((".cmake", ".pc")):
            text = (package / name).read_text()
            expect(str(package.parent) not in text, f"{name}: {text}")


def port(linkage):
    """The package is complete, and a program finds it in either build."""
    def case(work):
        features = read_manifest()["default-features"]
        if linkage == "dynamic":
            features = [name for name in features if name != "extra"]
        package = install(work, linkage, features)
        check_files(package, linkage)
        library = package / "lib" / LIBRARIES[linkage][0]
        text = run(["strings", library])
        expect("ffi.ArraySize" in text
               and ("ffi.ToJSONGraphString" in text) == (linkage == "static"),
               "the feature `extra` has no effect")
        usage = (package / "share/tvmffi/usage").read_text()
        lines = work.block("vcpkg", "cmake")
        expect(lines.split("\n")[0] in usage, usage)
        moved = package.rename(package.parent / "installed")
        built = build(work, f"vcpkg {linkage} used", "C", "Ninja",
                      begin(work) + lines, f"-DCMAKE_PREFIX_PATH={moved}")
        run([built / "program"])
        expect(needs_runtime(built / "program") == (linkage == "dynamic"),
               "the program has the other library")
        # The user's project is a debug build.
        linked = run(["ninja", "-C", built, "-t", "commands", "program"])
        expect("installed/debug/lib/libtvmffi" in linked, linked)
    return case


CASES = [
    ("vcpkg, the manifest", manifest),
    ("vcpkg, a static library", port("static")),
    ("vcpkg, a shared library without a feature", port("dynamic")),
]
