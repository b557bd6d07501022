"""npm: the package of the wasm module, under the unmodified client."""

from work import VERSION, expect, run, shell, write


def package(work):
    """The document's commands, then its program in node."""
    folder = work.folder("npm")
    (folder / "tvmffi").symlink_to(work.source)
    # The script that builds the module chooses clang if CC is empty.
    shell(work.block("npm", "sh"), folder, CC="", npm_config_audit="false",
          npm_config_cache=str(work.plain / "npm-cache"))
    packed = folder / f"tvmffi-wasm-{VERSION}.tgz"
    names = sorted(run(["tar", "-tf", packed]).split())
    expect(names == [f"package/{name}" for name in (
        "LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "package.json",
        "tvmffi.wasm")], f"packaged: {names}")
    write(folder, program_js=work.block("npm", "js"))
    printed = run(["node", folder / "program.js"])
    expect("Float32Array(4) [ 1, 2, 3, 4 ]" in printed, printed)


CASES = [("npm, the wasm module", package)]
