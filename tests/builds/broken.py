#!/usr/bin/env python3
"""Breaks copies of tvmffi.h, and checks that an assertion stops each.

A fault replaces a text of the header by another. The unit tests, compiled with
the copy, must end by the assertion that the fault names: a crash is not enough.
An unbroken copy must pass. Output is TAP.
"""

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
import variant  # noqa: E402
from tap import Tap  # noqa: E402

SECONDS = 20  # of processor time
# What is wrong, the tests that show it, the text before and after, and the
# condition of the assertion.
FAULTS = [
    ("a global function is set without the lock", "", """\
  tvmffi_i_retain(function);
  tvmffi_i_lock();
  g = tvmffi_i_make_global(&method->name);
""", """\
  tvmffi_i_retain(function);
  g = tvmffi_i_make_global(&method->name);
""", "TVMFFI_I_IS_LOCKED"),
    ("a wait for another thread keeps the lock", "threads: handles", """\
  me->handle = code ? NULL : handle;
  tvmffi_i_unlock();
""", """\
  me->handle = code ? NULL : handle;
""", "TVMFFI_I_IS_FREE"),
    ("a global function is returned without a reference", "", """\
  if (function) tvmffi_i_retain(function);
  TVMFFI_I_LEAVE(g, side);
""", """\
  TVMFFI_I_LEAVE(g, side);
""", "(uint32_t)old > 0"),
    ("a name goes into a block that is full", "", """\
  if (size > left) {
    size_t next = block ?""", """\
  if (size > left + 64) {
    size_t next = block ?""", "size % 8 == 0 && size <= left"),
    ("a thread's budget of memory is counted too small", "objects", """\
  p->available += TVMFFI_I_POOL_SLICE;
""", """\
  p->available += TVMFFI_I_POOL_SLICE - 1;
""", "p->available == p->budget"),
    ("a chunk of a stack ends inside its last frame", "", """\
    c->end = c->first + n * size;
""", """\
    c->end = c->first + n * size - 8;
""", "frame >= s->chunk->first && frame + size <= s->chunk->end"),
    ("a backtrace grows in memory that is too small",
     "errors: the trace changes", """\
  if (!buffer || size + 1 > capacity) {
""", """\
  if (!buffer || size > capacity) {
""", "size >= kept && size < capacity"),
    ("an error has no memory for a NUL", "errors", """\
  size = sizeof(*e) + kind.size + message.size + trace.size + 3;
""", """\
  size = sizeof(*e) + kind.size + message.size + trace.size + 2;
""", "text == (char *)e + size"),
    ("the initialization of a handle has no thread", "environment: handles",
     """\
  me->thread = tvmffi_i_self();
""", """\
  me->thread = NULL;
""", "m && m->thread == tvmffi_i_self()"),
    ("a destruction does not count its depth", "objects", """\
  d->frame[depth > 0] = here;
  d->depth = depth + 1;
""", """\
  d->frame[depth > 0] = here;
  d->depth = depth;
""", "d->depth == depth + 1"),
    ("an insertion reserves no memory", "lists", """\
  TVMFFI_TRY(tvmffi_i_seq_reserve(list, 1)); /* upstream grows first as well */
""", "", "n > 0 && n <= s->cell.capacity - s->cell.size"),
    ("an array has too small a capacity", "arrays", """\
  s->cell.data = s + 1;
  s->cell.size = 0;
  s->cell.capacity = (int64_t)capacity;
""", """\
  s->cell.data = s + 1;
  s->cell.size = 0;
  s->cell.capacity = (int64_t)capacity - 1;
""", "!s->cell.size && n <= s->cell.capacity"),
    ("a copied item is no reference", "lists", """\
  tvmffi_i_copy_span(TVMFFI_I_ITEMS(made), (const TVMFFIAny *)from->data, size);
""", """\
  memcpy(TVMFFI_I_ITEMS(made), from->data, size * sizeof(TVMFFIAny));
""", "(uint32_t)old > 0"),
    ("a map does not count an entry", "maps", """\
  ++m->size;
  *pair = &item->pair;
""", """\
  *pair = &item->pair;
""", "m->size > 0"),
    ("a map counts an entry that is removed", "maps", """\
tvmffi_i_map_set_jump(m, before, 0);
  --m->size;
""", """\
tvmffi_i_map_set_jump(m, before, 0);
""", "m->size < m->num_slots"),
]


def check(name, fault, folder, header, cc):
    """Returns the arguments of tap.ok for a fault, or for none."""
    tests, before, after, condition = fault or ("", "", "", "")
    if fault and header.count(before) != 1:
        return False, name, f"found {header.count(before)} times: {before}"
    if fault:
        header = header.replace(before, after)
    built = variant.build(folder, header, cc)
    if built.status:
        return False, name, f"does not compile\n{built.output[-2000:]}"
    run = variant.test(folder, SECONDS, *(["--only", tests] if tests else []))
    end = "\n".join([line for line in run.output.splitlines()
                     if not line.startswith("ok")][-20:])
    if fault:
        good = run.status != 0 and \
            f"the assertion fails: {condition}\n" in run.output
        return good, name, f"expected: {condition}\nstatus {run.status}\n{end}"
    return run.status == 0, name, f"status {run.status}\n{end}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--header", type=Path,
                        default=variant.ROOT / "tvmffi.h")
    parser.add_argument("--cc", default="cc", help="with its options")
    parser.add_argument("--only", default="",
                        help="only the faults whose name contains this")
    args = parser.parse_args()
    header = args.header.read_text(encoding="utf-8")
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder, \
            ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(check, name, fault, Path(folder, str(i)), header,
                               variant.quick(args.cc))
                   for i, (name, *fault) in enumerate(
                       [("an unbroken copy passes",), *FAULTS])
                   if args.only in name]
        for future in futures:
            tap.ok(*future.result())
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
