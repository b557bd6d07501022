"""Runs the cases of one file in this process and writes a transcript.

    python runner.py FILE TRANSCRIPT [--after CASE] [--only CASE]

A case is a function whose name begins with case_; they run in the order of
the file. The transcript has two JSON lines a case: one before it begins, so
that the end of the process can be laid at its door, and one with its result.
"""

import argparse
import importlib.machinery
import importlib.util
import json
import os
import sys
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


def cases_of(path):
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return [(n, f) for n, f in vars(module).items()
            if n.startswith("case_") and callable(f)]


def load_fast(path):
    """Sends all calls of tvm_ffi.Function objects through fast.c."""
    import tvm_ffi  # noqa: F401
    loader = importlib.machinery.ExtensionFileLoader("fast", path)
    spec = importlib.util.spec_from_file_location("fast", path, loader=loader)
    fast = importlib.util.module_from_spec(spec)
    loader.exec_module(fast)
    fast.install()
    return fast


def run(function, kit):
    try:
        return {"status": "ok", "result": kit._plain(kit.show(function()))}
    except kit.Skip as why:
        return {"status": "skip", "result": str(why)}
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)
        line = [f.line for f in place if f.filename.startswith(HERE)][-1:]
        return {"status": "failed",
                "result": kit._plain(f"{type(error).__name__}: {error}"
                                     f" [{''.join(line)}]")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("transcript")
    parser.add_argument("--after")
    parser.add_argument("--only")
    parser.add_argument("--fast", metavar="LIBRARY")
    args = parser.parse_args()
    with open(args.transcript, "a", encoding="utf-8") as out:
        def write(**record):
            out.write(json.dumps(record) + "\n")
            out.flush()

        write(begin="import")
        import kit
        fast = args.fast and load_fast(args.fast)
        cases = cases_of(args.file)
        names = [n for n, _ in cases]
        write(names=names)
        start = names.index(args.after) + 1 if args.after else 0
        for name, function in cases[start:]:
            if args.only and args.only != name:
                continue
            write(begin=name)
            write(case=name, **run(function, kit))
        write(end=True, counts=fast and fast.counts())
    # Skip the interpreter's teardown: it is a case of its own.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
