#!/usr/bin/env python3
"""Asks clangd, the language server, about the names in a C file that uses
tvmffi.h: go to the definition, find all uses. Output is TAP."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/tools"))
sys.dont_write_bytecode = True
from tap import Tap  # noqa: E402

SOURCE = """\
#include "tvmffi.h"
TVMFFI_FUNC(square, int64, (int64, x)) { TVMFFI_RETURN(x * x); }
TVMFFI_EXPORT(cube, int64, (int64, x)) { TVMFFI_RETURN(x * x * x); }
int start(TVMFFI_HERE, TVMFFIObject **f) {
  TVMFFI_TRY(TVMFFI_REGISTER("demo.square", square));
  TVMFFI_TRY(TVMFFI_OVERRIDE("demo.cube", cube));
  return TVMFFI_FUNCTION_NEW(square, f);
}
"""


class Server:
    """A session with a language server: JSON-RPC on its standard streams."""

    def __init__(self, program, folder):
        self.process = subprocess.Popen(
            [program, "--log=error"], cwd=folder, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.last = 0
        self.ask("initialize", capabilities={}, processId=os.getpid(),
                 rootUri=None)

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body))
        self.process.stdin.write(body)
        self.process.stdin.flush()

    def receive(self):
        size = 0
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("the language server has ended")
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
            if not line.strip():
                return json.loads(self.process.stdout.read(size))

    def ask(self, method, **params):
        self.last += 1
        self.send(id=self.last, method=method, params=params)
        while True:
            message = self.receive()
            if message.get("id") == self.last and "method" not in message:
                return message.get("result")

    def end(self):
        self.process.kill()
        self.process.wait()


def lines_of(found):
    return sorted({item["range"]["start"]["line"] + 1 for item in found or []})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clangd", default="clangd-19")
    args = parser.parse_args()
    tap = Tap()
    if not shutil.which(args.clangd):
        if os.environ.get("CI"):
            tap.ok(False, "the language server is there", args.clangd)
        else:
            tap.skip("names in an editor", "no " + args.clangd)
        return tap.done()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "names.c"
        path.write_text(SOURCE)
        (Path(folder) / "compile_flags.txt").write_text(f"-std=c11\n-I{ROOT}\n")
        server = Server(args.clangd, folder)
        document = {"uri": path.as_uri()}
        server.send(method="textDocument/didOpen", params={
            "textDocument": {**document, "languageId": "c", "version": 1,
                             "text": SOURCE}})
        try:
            for line, name, definition, uses in (
                    (5, "square", 2, [2, 5, 7]), (6, "cube", 3, [3, 6]),
                    (7, "square", 2, [2, 5, 7]), (2, "x", 2, [2])):
                text = SOURCE.split("\n")[line - 1]
                where = {"textDocument": document, "position": {
                    "line": line - 1, "character": text.rindex(name)}}
                got = lines_of(server.ask("textDocument/definition", **where))
                tap.ok(got == [definition],
                       f"the definition of {name}, from line {line}", got)
                got = lines_of(server.ask(
                    "textDocument/references",
                    context={"includeDeclaration": True}, **where))
                tap.ok(got == uses, f"the uses of {name}, from line {line}", got)
        finally:
            server.end()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
