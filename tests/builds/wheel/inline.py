"""tvmffi.load_inline and the magic %%tvmffi, with IPython and a notebook."""

import json
import re
import shlex
import subprocess
import time

from work import ROOT, Compiler, expect, expect_text, run

SOURCE = """
TVMFFI_DOC(add, "Adds two integers.")
TVMFFI_EXPORT(add, int64, (int64, a), (int64, b, 1)) {
  if (a < 0) return TVMFFI_RAISE("ValueError", "a is negative");
  TVMFFI_RETURN(a + b);
}
TVMFFI_EXPORT(kind, int64) { TVMFFI_RETURN(7); }
"""
# The second line of a program; the tests append what it does.
PROGRAM = f"import inspect, os, tvmffi\nSOURCE = {SOURCE!r}\n"


def program(work, text, status=0, **env):
    return work.python(PROGRAM + text, status=status, **env)


def entries(work):
    """The files of the cache of a case, each with a folder of its own."""
    return sorted(p for p in (work.top / "case/tvmffi").iterdir())


def fresh(work):
    """A cache of which no other case knows; what environment it needs."""
    run(["rm", "-rf", work.top / "case"])
    return {"XDG_CACHE_HOME": str(work.top / "case")}


# -- load_inline ---------------------------------------------------------


def functions(work):
    """They have names, documentation and signatures; errors show lines."""
    output = program(work, """
m = tvmffi.load_inline(SOURCE, name="ops")
print(m.add(2, 3), m.add(2), m["kind"](), m.kind)
print(m.add.__name__, m.add.__doc__, inspect.signature(m.add))
print(sorted(vars(m)), tvmffi.load_inline(SOURCE, name="ops").add(1))
print(tvmffi.load_inline('#include "tvmffi.h"' + SOURCE).add(4))
print(tvmffi.load_inline(SOURCE, language="c++").add(5))
print(tvmffi.load_inline("TVMFFI_EXPORT(f, float64, (float64, x)) {"
                         "TVMFFI_RETURN(x + N); }",
                         extra_cflags=["-DN=2"]).f(1))
""", **fresh(work))
    expect(output.splitlines() == [
        "5 3 7 library", "add Adds two integers. (a: int, b: int = 1, /) -> int",
        "['add'] 2", "5", "6", "3.0"], output)
    text = program(work, "tvmffi.load_inline(SOURCE).add(-1)", status=1)
    expect_text(text, ', line 4, in add\n    if (a < 0) return TVMFFI_RAISE',
                "ValueError: a is negative")


def cache(work):
    """A library is compiled when its content, the options or the compiler
    change, or when its file is damaged."""
    compiler = Compiler(work)
    env = {**fresh(work), "CC": compiler.CC}

    def expect_compiled(count, text="tvmffi.load_inline(SOURCE)"):
        output = program(work, f"print({text}.add(2, 3))", **env)
        found = compiler.count()
        expect(output == "5\n" and found == count,
               f"{output}, compiled {found} times and not {count}: {text}")

    expect_compiled(1)
    expect_compiled(0)
    expect_compiled(1, "tvmffi.load_inline(SOURCE + ' ')")
    expect_compiled(1, "tvmffi.load_inline(SOURCE, extra_cflags=['-O1'])")
    path = work.prefix / "include/tvmffi.h"
    header = path.read_text()
    path.write_text(header + "#define A_NEWER_HEADER 1\nint newer(void);\n")
    expect_compiled(1)
    path.write_text(header)
    expect_compiled(0)
    for damage in (lambda data: data[:5000], lambda data: b"",
                   lambda data: data[:900] + b"\0" * 9 + data[909:]):
        for path in entries(work):
            path.write_bytes(damage(path.read_bytes()))
        expect_compiled(1)
        expect_compiled(0)
    compiler.path.write_text(compiler.path.read_text().replace(
        "exec ", "[ \"$1\" = --version ] && echo newer\nexec "))
    expect_compiled(1)
    left = [p.name for p in entries(work) if p.suffix not in (".c", ".so")]
    expect(not left, f"left over: {left}")


def processes(work):
    """20 processes compile the same text at once. Their compiler is slow when
    it writes a library in place, so that others may meet half of it."""
    slow = work.file("slow", f"""#!/bin/sh
for out; do [ "$last" = -o ] && break; last=$out; done
{shlex.join(work.cc)} "$@" -O0 || exit
case $out in *.so) ;; *) exit ;; esac
cp "$out" "$out.$$" && head -c 4000 "$out.$$" >"$out"
sleep 0.2
cat "$out.$$" >"$out" && rm "$out.$$"
""")
    slow.chmod(0o755)
    script = work.file("many.py", PROGRAM + """
import sys, time
time.sleep(max(0, float(sys.argv[1]) - time.time()))
print(tvmffi.load_inline(SOURCE).add(2, 3))
""")
    env = {**work.env, **fresh(work), "CC": shlex.quote(str(slow))}
    at = time.time() + 1
    started = [subprocess.Popen(
        [work.user, script, str(at)], env=env, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True) for _ in range(20)]
    outputs = {process.communicate()[0] for process in started}
    expect(outputs == {"5\n"}, f"{outputs}")
    names = [path.suffix for path in entries(work)]
    expect(names == [".so", ".c"] or names == [".c", ".so"], f"{names}")


MISTAKES = """
def attempt(*args, **options):
    try:
        tvmffi.load_inline(*args, **options)
    except Exception as error:
        print(f"[{type(error).__name__}: {error}]")
attempt(SOURCE.replace("a + b", "a + missing"))
attempt(SOURCE.replace("a + b", "forgotten(a)"))
attempt("int64_t later(int64_t);" + SOURCE.replace("a + b", "later(a)"))
attempt(SOURCE + SOURCE)
attempt("int x;")
attempt(None)
attempt(SOURCE, language="rust")
attempt(SOURCE, name="../ops")
attempt(SOURCE, folder="file/folder")
attempt(SOURCE, extra_cflags=["--no-such-option"])
try:
    tvmffi.load_inline(SOURCE).minus
except AttributeError as error:
    print(error)
"""


def mistakes(work):
    work.file("file", "")
    text = program(work, MISTAKES, **fresh(work))
    expect_text(
        text, ".c:5:21: error: ", "    5 |   TVMFFI_RETURN(a + missing);\n",
        ".c:5:17: error: implicit declaration of function", "forgotten",
        "undefined symbol: later]", ".c:9:", "redefinition of", "add",
        " exports no function: define one by TVMFFI_EXPORT]\n",
        "[TypeError: tvmffi.load_inline takes the text of a source, not ",
        "[ValueError: the language 'rust' is not one of c, c++, cuda]\n",
        "[ValueError: the name '../ops' is not of letters, digits and _]\n",
        "[BuildError: cannot write to the folder of compiled libraries, ",
        "file/folder: Not a directory. Set XDG_CACHE_HOME, or pass folder=]\n",
        "[BuildError: ", "--no-such-option",
        "Module has no function 'minus'\n")
    expect(text.count("BuildError") == 6, text)
    text = program(work, "tvmffi.load_inline(SOURCE)", 1, CC="no-such-compiler")
    expect_text(text, "BuildError: cannot run the compiler 'no-such-compiler'")
    text = program(work, "tvmffi.load_inline(SOURCE, language='cuda')", 1,
                   CUDA_HOME="/nowhere", PATH="/usr/bin:/bin")
    expect_text(text, "BuildError: CUDA needs nvcc, which is neither on PATH "
                "nor in /nowhere/bin")


def cuda(work):
    """What nvcc is asked for: a stand-in compiles the host's code as C++."""
    log = work.top / "nvcc.log"
    tool = work.file("nvcc", f"""#!/bin/sh
echo "$*" >> {shlex.quote(str(log))}
for word; do
  shift
  case $word in
    -Xcompiler) ;;
    -Xlinker) set -- "$@" -Xlinker -z -Xlinker; continue ;;
    -z,now) set -- "$@" now ;;
    *.cu) set -- "$@" -x c++ "$word" -x none ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec c++ "$@"
""")
    tool.chmod(0o755)
    output = program(work, "print(tvmffi.load_inline(SOURCE, language='cuda')"
                     ".add(2, 3))", NVCC=shlex.quote(str(tool)), **fresh(work))
    expect(output == "5\n", output)
    expect_text(log.read_text(), "-Xcompiler -fPIC -O2 -I",
                " -include tvmffi.h ", " -Xlinker -z,now -lm\n")


# -- IPython -------------------------------------------------------------

CELLS = [
    "%load_ext tvmffi",
    "%%tvmffi -O1 -DN=3 -lm\n" + SOURCE.strip().replace("a + b", "a * b + N"),
    "print(add(2, 5), kind(), add.__doc__)",
    "%%tvmffi --name ops\n" + SOURCE,
    "print(ops.add(2, 3), add(2, 5))",
    "%%tvmffi\n" + SOURCE.strip().replace("a + b", "missing"),
    "add(-1)",
    "%%tvmffi --language rust\nint x;",
    "%%tvmffi --name a.b\nint x;",
    "%%tvmffi 'open\nint x;",
]
OUTPUTS = [
    [], [], ["13 7 Adds two integers.\n"], [], ["5 13\n"],
    # The line's number is that in the cell, whose first line is the magic's.
    ["BuildError", ".c:5:17: error: ", "    5 |   TVMFFI_RETURN(missing);"],
    ["ValueError", "a is negative", ".c:4, in add()", "----> 4   if (a < 0)"],
    ["UsageError: %%tvmffi: ", "invalid choice: 'rust'"],
    ["UsageError: %%tvmffi: 'a.b' is not the name of a variable"],
    ["UsageError: %%tvmffi: No closing quotation"],
]
IPYTHON = """
import contextlib, io, json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
outputs = []
for cell in json.load(sys.stdin):
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        result = shell.run_cell(cell)
    outputs.append([result.success, text.getvalue()])
json.dump(outputs, sys.stdout)
"""
NOTEBOOK = """
import json, sys, nbclient, nbformat.v4 as v4
notebook = v4.new_notebook(cells=[v4.new_code_cell(cell)
                                  for cell in json.load(sys.stdin)])
nbclient.NotebookClient(notebook, allow_errors=True, timeout=60).execute()
outputs = []
for cell in notebook.cells:
    text = "".join(out.get("text") or "\\n".join(out["traceback"])
                   for out in cell.outputs)
    failed = any(out.output_type == "error" for out in cell.outputs)
    outputs.append([not failed, text])
json.dump(outputs, sys.stdout)
"""
KERNEL = {"argv": [], "display_name": "python3", "language": "python"}


def run_cells(work, script, cells=CELLS, **env):
    done = subprocess.run([work.user, "-c", script], input=json.dumps(cells),
                          text=True, capture_output=True, cwd=work.top,
                          env={**work.env, **fresh(work), **env})
    expect(done.returncode == 0, done.stdout + done.stderr)
    return json.loads(done.stdout)


def check_cells(outputs):
    for cell, wanted, (good, text) in zip(CELLS, OUTPUTS, outputs, strict=True):
        plain = "".join(part.split("m", 1)[-1] if i else part
                        for i, part in enumerate(text.split("\x1b[")))
        for part in wanted:
            expect(part in plain, f"no {part!r} for {cell}:\n{plain}")
        errors = bool(wanted) and "Error" in wanted[0]
        expect(errors or (good and plain == "".join(wanted)),
               f"{cell}:\n{plain}")
        expect(not errors or "UsageError" in wanted[0] or not good,
               f"no error for {cell}")


def ipython(work):
    check_cells(run_cells(work, IPYTHON, IPYTHONDIR=str(work.top / "ipython")))


def page(work):
    """The blocks of the document, as cells."""
    text = (ROOT / "docs/hosts/notebook.md").read_text(encoding="utf-8")
    cells = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)
    outputs = run_cells(work, IPYTHON, cells,
                        IPYTHONDIR=str(work.top / "ipython"))
    expect([good for good, _ in outputs] == [True] * 4, f"{outputs}")
    expect_text(outputs[2][1], "[3.0, 3.0, 3.0]")
    expect_text(outputs[3][1], "5")


def example(work):
    """The example of one kernel in all hosts."""
    folder = ROOT / "examples/20_one_kernel"
    output = work.python(
        f"import runpy, sys\nsys.path.insert(0, {str(folder)!r})\n"
        f"runpy.run_path({str(folder / 'use_notebook.py')!r})")
    expect(output.splitlines() == ["row_sums: 3 12", "axpy: 1 3 5",
                                   "scale: 0 2 4", "scale with bias: 1 6 11"],
           output)


def notebook(work):
    """A notebook's cells, which a kernel of Jupyter runs."""
    jupyter = work.top / "jupyter"
    work.file("jupyter/kernels/python3/kernel.json", json.dumps({
        **KERNEL, "argv": [str(work.user), "-m", "ipykernel_launcher", "-f",
                           "{connection_file}"]}))
    check_cells(run_cells(
        work, NOTEBOOK, IPYTHONDIR=str(work.top / "ipython"),
        JUPYTER_PATH=str(jupyter), JUPYTER_DATA_DIR=str(jupyter),
        JUPYTER_RUNTIME_DIR=str(work.top / "runtime")))


CASES = [
    ("load_inline: functions", functions),
    ("load_inline: the cache", cache),
    ("load_inline: 20 processes", processes),
    ("load_inline: mistakes", mistakes),
    ("load_inline: CUDA, with a stand-in for nvcc", cuda),
    ("load_inline: in IPython", ipython),
    ("load_inline: the page's blocks in IPython", page),
    ("load_inline: in a notebook", notebook),
    ("load_inline: the example of one kernel", example),
]
