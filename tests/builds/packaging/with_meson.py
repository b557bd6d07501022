"""Meson: an installation, a wrap, wheels by meson-python; pkg-config."""

import json
import re
import shlex
import sys
import zipfile

from work import (KERNELS, PROGRAM, ROOT, URL, VERSION, check_gdb_script,
                  check_headers, expect, files_in, needs_runtime, run, shell,
                  use_kernels, write)


def install(work):
    """Installs by the document's commands, then copies the installation."""
    script = work.block("Meson", "sh").replace("=release", "=plain")
    folder = work.folder("installed by meson")
    (folder / "tvmffi").symlink_to(work.source)
    shell(script, folder, PREFIX=str(work.plain / "meson"))
    run(["cp", "-r", work.plain / "meson", work.top / "meson moved"])
    check_gdb_script(work.plain / "meson")
    check_headers(work.plain / "meson/include")


# -- pkg-config ----------------------------------------------------------


def pkg_config(by):
    """The document's commands; then the same with spaces in the paths."""
    def case(work):
        prefix = work.plain / by
        if not prefix.exists():
            prefix.symlink_to(work.top / f"{by} moved")
        folder = work.folder(f"pkg-config {by}")
        write(folder, program_c=PROGRAM, kernels_c=KERNELS)
        library = next(prefix.glob("**/libtvmffi.so")).parent
        env = {"PKG_CONFIG_PATH": str(library / "pkgconfig")}
        shell(work.block("pkg-config", "sh"), folder, **env)
        run([folder / "program"], LD_LIBRARY_PATH=str(library))
        expect(needs_runtime(folder / "program"), "no library is linked")
        use_kernels(folder / "kernels.so")
        version = run(["pkg-config", "--modversion", "tvmffi-header"], **env)
        expect(version == f"{VERSION}\n", version)
    return case


def pkg_config_with_space(work):
    """An installation by CMake may be moved, also into such a path."""
    folder = work.folder("pkg-config with space")
    write(folder, program_c=PROGRAM)
    library = next(work.top.glob("cmake moved/**/libtvmffi.a")).parent
    flags = run(["pkg-config", "--static", "--cflags", "--libs", "tvmffi"],
                PKG_CONFIG_PATH=str(library / "pkgconfig"))
    run(["cc", "-static", folder / "program.c", "-o", folder / "program",
         *shlex.split(flags)])
    run([folder / "program"])


# -- a subproject --------------------------------------------------------


def add_wrap(work, folder):
    (folder / "subprojects").mkdir()
    wrap = (ROOT / "packaging/tvmffi.wrap").read_text().replace(URL, work.url)
    (folder / "subprojects/tvmffi.wrap").write_text(wrap)


def parent(work, name, text, *options):
    """Installs a parent project; returns the folders of build and root."""
    folder = work.folder(name)
    write(folder, meson_build=text, program_c=PROGRAM, kernels_c=KERNELS)
    add_wrap(work, folder)
    built, root = folder / "build", folder / "root"
    run(["meson", "setup", built, folder, "-Dtvmffi:optimization=0",
         f"--prefix={root}", "--libdir=lib", *options])
    run(["meson", "install", "-C", built])
    return built, root


def subproject(kind):
    """A program and a kernel: the library is static, none of ours is there.
    """
    def case(work):
        built, root = parent(work, f"subproject {kind}",
                             work.block("Meson", "meson"),
                             f"-Ddefault_library={kind}")
        installed = files_in(root)
        expect(installed == ["bin/program", "lib/kernels.so"],
               f"installed: {installed}")
        run([root / "bin/program"])
        use_kernels(root / "lib/kernels.so")
        expect(not list(built.glob("**/libtvmffi.so*")),
               "the shared library is built")
        tests = run(["meson", "introspect", "--tests", built])
        expect(json.loads(tests) == [], f"tests of the subproject: {tests}")
    return case


def header_alone(work):
    """Without a runtime, nothing of the subproject is built."""
    text = re.sub(r"^executable.*\n.*\n", "", work.block("Meson", "meson"),
                  flags=re.M)
    built, root = parent(work, "header alone", text)
    use_kernels(root / "lib/kernels.so")
    objects = [str(p) for p in built.glob("subprojects/**/*.[oa]")]
    expect(not objects, f"built: {objects}")


def installed_subproject(work):
    """The parent may ask for the shared library and its installation."""
    built, root = parent(work, "installed subproject",
                         work.block("Meson", "meson"),
                         "-Dtvmffi:install_as_subproject=true")
    expect(needs_runtime(root / "bin/program"), "the program has no library")
    run([root / "bin/program"], LD_LIBRARY_PATH=str(root / "lib"))
    name = "lib/pkgconfig/tvmffi-header.pc"
    expect((root / name).is_file(), f"{name} is not installed")
    check_headers(root / "include")


# -- wheels --------------------------------------------------------------


def wheel(work):
    """The wheel has the user's files, and its import calls the kernel."""
    folder = work.folder("wheel")
    section = "Python wheels"
    write(folder, pyproject_toml=work.block(section, "toml"),
          meson_build=work.block(section, "meson"))
    (folder / "user").mkdir()
    write(folder / "user", kernels_c=KERNELS, __init___py=work.block(
        section, "python"))
    add_wrap(work, folder)
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps",
         "--no-build-isolation", "--disable-pip-version-check",
         "--wheel-dir", folder, "--config-settings=setup-args=-Doptimization=0",
         folder])
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        names = sorted(n for n in archive.namelist() if ".dist-info/" not in n)
        archive.extractall(folder / "site")
    expect(names == ["user/__init__.py", "user/kernels.so"],
           f"in the wheel: {names}")
    run([sys.executable, "-c",
         "import user; assert user.kernels.add_one(1) == 2"],
        PYTHONPATH=str(folder / "site"))


# -- DLPack --------------------------------------------------------------


def dlpack_is(work, choice, include):
    """Whether a build with -Ddlpack=`choice` uses the system's dlpack.h."""
    folder = work.folder(f"dlpack {choice} {bool(include)}")
    options = [f"-Dc_args=-isystem{include}"] if include else []
    run(["meson", "setup", folder / "build", work.source,
         f"-Ddlpack={choice}", "-Dtests=disabled", "-Dbench=disabled",
         *options])
    commands = (folder / "build/compile_commands.json").read_text()
    return "TVMFFI_SYSTEM_DLPACK" in commands


def dlpack(work):
    """The choice of DLPack follows the option and what is installed."""
    include = run([sys.executable, "-m", "tvm_ffi.config",
                   "--includedir"]).strip()
    for choice, wanted in {"auto": True, "system": True,
                           "builtin": False}.items():
        expect(dlpack_is(work, choice, include) == wanted,
               f"-Ddlpack={choice}: system is not {wanted}")
    try:
        found = dlpack_is(work, "system", None)
    except RuntimeError as error:
        expect("-Ddlpack=system" in str(error), str(error))
    else:
        # This machine has a new enough dlpack.h in its own folders.
        expect(found, "-Ddlpack=system took no dlpack.h")


CASES = [
    *((f"pkg-config after {by}", pkg_config(by)) for by in ("cmake", "meson")),
    ("pkg-config with a space in the path, static", pkg_config_with_space),
    *((f"Meson, a subproject, {kind}", subproject(kind))
      for kind in ("shared", "static")),
    ("Meson, a subproject, the header alone", header_alone),
    ("Meson, a subproject that is installed", installed_subproject),
    ("Meson, a wheel by meson-python", wheel),
    ("Meson, -Ddlpack takes what it names", dlpack),
]
