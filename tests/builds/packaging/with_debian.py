"""Debian: the packages that dpkg-buildpackage makes, unpacked and used."""

from with_cmake import found
from with_meson import pkg_config
from work import VERSION, check_headers, expect, files_in, run, shell


def build(work):
    """Builds the packages by the document's commands, with Debian's tools."""
    # make has no paths with spaces.
    folder = work.plain / "debian-build/tvmffi"
    folder.parent.mkdir()
    run(["cp", "-r", work.source, folder])
    shell(work.block("Debian", "sh"), folder, DEB_BUILD_OPTIONS="noopt",
          PATH="/usr/sbin:/usr/bin:/sbin:/bin")
    return {path.name.split("_")[0]: path
            for path in folder.parent.glob("*.deb")}


def packages(work):
    """The packages are complete and depend on nothing but libc."""
    built = build(work)
    depends = run(["dpkg-deb", "-f", built["libtvmffi0"], "Depends"])
    names = {entry.split()[0] for entry in depends.split(",")}
    expect(names <= {"libc6", "libgcc-s1"}, depends)

    folder = work.folder("debian")
    run(["dpkg-deb", "-x", built["libtvmffi0"], folder])
    libraries = files_in(folder / "usr/lib")
    expect([name.split("/")[-1] for name in libraries]
           == ["libtvmffi.so.0", f"libtvmffi.so.{VERSION}"], f"{libraries}")
    run(["dpkg-deb", "-x", built["libtvmffi-dev"], folder])
    script = f"usr/share/gdb/auto-load/usr/lib/{libraries[1]}-gdb.py"
    expect((folder / script).is_file(), f"{script} is not packaged")
    check_headers(folder / "usr/include")

    (folder / "usr").rename(work.top / "debian moved")
    found("debian", "C++", "Makefiles")(work)
    pkg_config("debian")(work)


CASES = [("Debian, the packages", packages)]
