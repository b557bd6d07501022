#!/usr/bin/env python3
"""What a user of the C interface may write by mistake: it works, or it does not
compile and the compiler's first error says why at the user's line, or the
compiler warns about that line, or it raises an error that says what to write, or
TVMFFI_DEBUG or AddressSanitizer finds it.
Each row is compiled as C11 and as C++11.
Writes TAP.

  mistakes.py --header tvmffi.h --cc CC [--cxx CXX] [--only PART]
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
from tap import Tap  # noqa: E402

HEAD = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tvmffi.h"
typedef struct { TVMFFIObject base; int64_t x; } Pair;
typedef struct { int64_t x; } Plain;
"""
MAIN = """
TVMFFI_MAIN() { return run(tvmffi_here); }
"""
# The line with the mistake ends so.
MARK = "/* ! */"


class Works:
    """The program ends with 0 and, under AddressSanitizer, without a leak."""


class Raises:
    """The program ends with an error whose message has this text."""

    def __init__(self, text):
        self.text = text


class Debug:
    """With TVMFFI_DEBUG the program prints this text, a regular expression. Here
    @a is the place of the line that ends with the comment a, as file:line."""

    def __init__(self, text):
        self.text = text


class Sanitizer:
    """AddressSanitizer ends the program."""


class Refused:
    """The compiler's first error is about the marked line and has this text, a
    regular expression. The compiler prints at most `lines` lines. With
    `only_cxx`, C has no such mistake."""

    def __init__(self, text, lines=15, only_cxx=False):
        self.text, self.lines, self.only_cxx = text, lines, only_cxx


class Warned:
    """The program compiles, and the compiler warns, without any option, about
    each marked line and about no other."""


RETURNED = """
static TVMFFIObject *make(void) {
  TVMFFI_SCOPE; /* scope */
  return tvmffi_list(1, 2); /* made */
}
static int run(TVMFFI_HERE) {
  return tvmffi_list(make()) ? 0 : 1; /* released with the scope around */
}"""
STORED = """
static TVMFFIObject *stored;
static int run(void) {
  {
    TVMFFI_SCOPE; /* scope */
    stored = tvmffi_list(1, 2); /* made */
  }
  return tvmffi_append(stored, 3);
}"""
RELEASED = """
static int run(void) {
  TVMFFI_SCOPE; /* scope */
  TVMFFIObject *list = tvmffi_list(1, 2); /* made */
  tvmffi_release(list); /* released */
  return 0;
}"""
ATTACHED = """
static int run(void) {
  TVMFFI_SCOPE; /* scope */
  TVMFFIObject *list = tvmffi_list(1, 2); /* made */
  return tvmffi_scope_attach(list) ? 0 : -1; /* attached */
}"""
THREAD = """
#include <pthread.h>
static void *work(void *scope) {
  TVMFFI_HERE = (tvmffi_scope *)scope;
  if (!tvmffi_list(1)) tvmffi_error_print(stderr);
  return NULL;
}
static int run(TVMFFI_HERE) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, tvmffi_here)) return 1;
  return pthread_join(thread, NULL);
}"""
ENDED = """
#ifdef __cplusplus
#include <functional>
static int run(void) {
  std::function<TVMFFIObject *()> later;
  {
    TVMFFI_SCOPE;
    later = [&] { return tvmffi_list(1); };
  }
  return later() ? 0 : -1;
}
#else
static int run(void) {
  tvmffi_scope *later;
  {
    TVMFFI_SCOPE;
    later = tvmffi_here;
  }
  {
    TVMFFI_HERE = later;
    return tvmffi_list(1) ? 0 : -1;
  }
}
#endif"""
NO_SCOPE = ("tvmffi_i_no_scope_here__add_the_parameter_TVMFFI_HERE_or_write_"
            "TVMFFI_SCOPE")
PARAMETERS = "needs_a_result_and_parameters_like__int64_x"
ADD = """
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, int64, x))
typedef struct { TVMFFIObject base; int64_t line; } Expr;
typedef struct { Expr base; Pair *lhs, *rhs; } Add;
TVMFFI_TYPE(Expr, "mistakes.Expr", TVMFFIObject, (field, int64, line, 1))
TVMFFI_TYPE(Add, "mistakes.Add", Expr, (field, Pair, lhs), (field, Pair, rhs))
"""
# C cannot find the type of a struct from its pointer.
OUT = """
#ifdef __cplusplus
#define OUT(T, x) &x
#else
#define OUT(T, x) tvmffi_out_##T(&x)
#endif
"""
# The list of a type in a header, and the methods in one of two files.
NODE = """
#include "node.h"
%s
//// node.h
#ifdef __cplusplus
extern "C"
#endif
int register_node(void);
typedef struct { TVMFFIObject base; int64_t x; } Node;
TVMFFI_TYPE(Node, "mistakes.Node", TVMFFIObject, (field, int64, x),
            (method, twice), (attribute, "__ffi_repr__", repr))
//// node.c
#include "tvmffi.h"
#include "node.h"
TVMFFI_METHOD(Node, twice, int64) { TVMFFI_RETURN(2 * self->x); }
TVMFFI_METHOD(Node, repr, str, (func, repr)) {
  (void)repr;
  TVMFFI_RETURN(tvmffi_byte_array("a node"));
}
int register_node(void) { return TVMFFI_REGISTER_TYPE(Node); }
"""
ROWS = [
    ("a parameter is returned", Works(), """
TVMFFI_FUNC(id, object, (object, x)) { TVMFFI_RETURN(x); }
static int run(TVMFFI_HERE) {
  TVMFFIObject *list = tvmffi_list(1, 2), *same = NULL;
  int i;
  TVMFFI_TRY(TVMFFI_REGISTER("id", id));
  for (i = 0; i < 3; ++i) TVMFFI_TRY(tvmffi_call("id", &same, list));
  return same == list && tvmffi_size(list) == 2 ? 0 : 1;
}"""),
    ("an item of a container is returned", Works(), """
TVMFFI_FUNC(first, any, (array, all)) {
  TVMFFIAny item;
  TVMFFI_TRY(tvmffi_at(all, 0, &item));
  TVMFFI_RETURN(item);
}
static int run(TVMFFI_HERE) {
  TVMFFIObject *all = tvmffi_array(tvmffi_list(1), 2), *list = NULL;
  TVMFFI_TRY(TVMFFI_REGISTER("first", first));
  TVMFFI_TRY(tvmffi_call("first", &list, all));
  TVMFFI_TRY(tvmffi_call("first", &list, all));
  return (int)tvmffi_size(list) - 1;
}"""),
    ("a text is returned as `any`", Works(), """
TVMFFI_FUNC(text, any) {
  char buffer[] = "a text that is gone after the return";
  TVMFFI_RETURN(tvmffi_str(buffer));
}
static int run(TVMFFI_HERE) {
  TVMFFIAny any = tvmffi_none();
  TVMFFI_TRY(TVMFFI_REGISTER("text", text));
  TVMFFI_TRY(tvmffi_call("text", &any));
  return any.type_index != kTVMFFIStr ||
         strcmp(tvmffi_any_str(&any).data,
                "a text that is gone after the return") != 0;
}"""),
    ("a tree is made in one expression", Works(), """
TVMFFI_FUNC(tree, array) {
  TVMFFI_RETURN(tvmffi_array(tvmffi_list(1, tvmffi_map("a", 1)), "leaf"));
}
static int run(TVMFFI_HERE) {
  TVMFFIObject *all = NULL;
  TVMFFI_TRY(TVMFFI_REGISTER("tree", tree));
  TVMFFI_TRY(tvmffi_call("tree", &all));
  return (int)tvmffi_size(all) - 2;
}"""),
    ("a part of a tree fails", Raises("a value for each key"), """
static int run(TVMFFI_HERE) {
  TVMFFIAny odd = tvmffi_int(1);
  return tvmffi_list(1, tvmffi_map_from(&odd, 1)) ? 0 : -1;
}"""),
    ("nobody looks at a maker that failed in main", Raises("a value for each"),
     """
static int run(TVMFFI_HERE) {
  TVMFFIAny odd = tvmffi_int(1);
  TVMFFIObject *map = tvmffi_map_from(&odd, 1);
  return map != NULL;
}"""),
    ("an error of a maker in main is handled", Works(), """
static int run(TVMFFI_HERE) {
  TVMFFIAny odd = tvmffi_int(1);
  return tvmffi_map_from(&odd, 1) || !tvmffi_error_catch("ValueError");
}"""),
    ("what a failed maker gave is appended", Raises("a value for each"), """
static int run(TVMFFI_HERE) {
  TVMFFIAny odd = tvmffi_int(1);
  TVMFFIObject *list = tvmffi_list(), *dict = tvmffi_dict();
  TVMFFI_TRY(tvmffi_append(list, NULL)); /* None */
  if (!tvmffi_set(dict, "a", tvmffi_map_from(&odd, 1))) return 1;
  TVMFFI_TRY(tvmffi_append(list, tvmffi_map_from(&odd, 1)));
  return 0;
}"""),
    ("a helper makes an object outside a scope", Refused(NO_SCOPE), """
static TVMFFIObject *make(void) {
  return tvmffi_list(1, 2); /* ! */
}
static int run(TVMFFI_HERE) { return make() ? 0 : 1; }"""),
    ("a call stores an object outside a scope",
     Refused(NO_SCOPE), """
static int run(void) {
  TVMFFIObject *list = NULL;
  return tvmffi_call("ffi.List", &list); /* ! */
}"""),
    ("a call stores a number outside a scope", Works(), """
static int size(TVMFFIObject *list) {
  int64_t n = 0;
  return tvmffi_call("ffi.ListSize", &n, list) ? -1 : (int)n;
}
static int run(TVMFFI_HERE) { return size(tvmffi_list(1, 2)) - 2; }"""),
    ("a helper takes its caller's scope", Works(), """
static TVMFFIObject *pair(TVMFFI_HERE, int64_t a) {
  return tvmffi_array(a, a + 1);
}
static int run(TVMFFI_HERE) {
  return (int)tvmffi_size(pair(tvmffi_here, 3)) - 2;
}"""),
    ("a loop is left from a scope", Works(), """
static int run(TVMFFI_HERE) {
  int i;
  for (i = 0; i < 10; ++i) {
    TVMFFI_SCOPE;
    if (!tvmffi_list(i)) return -1;
    if (i == 4) break;
  }
  return i - 4;
}"""),
    ("a scope has a block of its own", Refused("expected .*;"), """
static int run(TVMFFI_HERE) {
  while (1) {
    TVMFFI_SCOPE { /* ! */
      if (tvmffi_list(1)) break;
    }
  }
  return 0;
}"""),
    ("an object outlives its scope", Works(), """
static int run(TVMFFI_HERE) {
  TVMFFIObject *kept = NULL;
  int i;
  for (i = 0; i < 3; ++i) {
    TVMFFI_SCOPE;
    tvmffi_keep(&kept, tvmffi_list(i));
  }
  i = (int)tvmffi_size(kept) - 1;
  tvmffi_release(kept);
  return i;
}"""),
    ("an object of an inner scope is returned", Sanitizer(), RETURNED),
    ("an object of an inner scope is returned",
     Debug("after release: .*, obtained at @made, .* of the scope at @scope"),
     RETURNED),
    ("an object of an inner scope is stored", Sanitizer(), STORED),
    ("an object of an inner scope is stored",
     Debug("after release: .*, obtained at @made, .* of the scope at @scope"),
     STORED),
    ("a scope's object is released", Sanitizer(), RELEASED),
    ("a scope's object is released",
     Debug("double release: .*, obtained at @made, last released at @released, "
           ".* again at the end of the scope at @scope"), RELEASED),
    ("a scope's object is attached again", Sanitizer(), ATTACHED),
    ("a scope's object is attached again",
     Debug("double release: .*, obtained at @made, last obtained at @attached, "
           ".* the end of the scope at @scope"), ATTACHED),
    ("a scope is used by another thread",
     Debug("this scope belongs to another thread: open a scope"), THREAD),
    ("a lambda's scope has ended", Sanitizer(), ENDED),
    ("a lambda's scope has ended", Debug("this scope has ended"),
     ENDED),
    ("a scope has many objects",
     Debug("large scope: more than 10000 .* of the scope at @scope"), """
static int run(void) {
  TVMFFI_SCOPE; /* scope */
  int i;
  for (i = 0; i < 10001; ++i)
    if (!tvmffi_list(i)) return -1;
  return 0;
}"""),
    ("an object is kept as another type",
     Refused("not_derived_from_the_wanted_type"), """
static int run(TVMFFI_HERE) {
  Plain *kept = NULL;
  tvmffi_keep(&kept, tvmffi_list(1)); /* ! */
  return 0;
}"""),
    ("a struct is returned and kept as its parent", Works(), ADD + """
TVMFFI_FUNC(made, Expr, (Add, add)) {
  if (add->base.line == 1) TVMFFI_RETURN(add);
  TVMFFI_RETURN(TVMFFI_NEW(Add, add->lhs, add->rhs));
}
static int run(TVMFFI_HERE) {
  Pair *two = TVMFFI_NEW(Pair, 2);
  Add *one = TVMFFI_NEW(Add, two, two), *at = TVMFFI_NEW(Add, two, two, 7);
  TVMFFIObject *same = NULL, *other = NULL, *kept = NULL;
  Expr *expr = NULL;
  TVMFFI_TRY(TVMFFI_REGISTER("made", made));
  TVMFFI_TRY(tvmffi_call("made", &same, one));
  TVMFFI_TRY(tvmffi_call("made", &other, at));
  tvmffi_keep(&expr, TVMFFI_CAST(Add, other));
  tvmffi_keep(&kept, one);
  tvmffi_release(kept);
  tvmffi_release(expr);
  return same != &one->base.base || other == &at->base.base;
}"""),
    ("a struct is returned as one that it is not derived from",
     Refused("not_derived_from_the_wanted_type"), ADD + """
TVMFFI_FUNC(made, Expr, (Pair, pair)) {
  TVMFFI_RETURN(pair); /* ! */
}
static int run(void) { return TVMFFI_REGISTER("made", made); }"""),
    ("a struct is returned as one that is derived from it",
     Refused("not_derived_from_the_wanted_type"), ADD + """
TVMFFI_FUNC(made, Add, (Expr, expr)) {
  TVMFFI_RETURN(expr); /* ! */
}
static int run(void) { return TVMFFI_REGISTER("made", made); }"""),
    ("a struct that is only declared is returned", Works(), """
typedef struct Node Node;
TVMFFI_TYPE_DECLARE(Node, "mistakes.Node")
TVMFFI_FUNC(same, Node, (Node, node)) { TVMFFI_RETURN(node); }
TVMFFI_FUNC(absent, optional(Node), (Node, node)) {
  TVMFFI_RETURN(node ? NULL : node);
}
struct Node { TVMFFIObject base; Node *next; };
TVMFFI_TYPE_DEFINE(Node, "mistakes.Node", TVMFFIObject,
                   (field, Node, next, NULL))
static int run(TVMFFI_HERE) {
  Node *node = TVMFFI_NEW(Node);
  TVMFFIObject *object = NULL;
  TVMFFI_TRY(TVMFFI_REGISTER("same", same));
  TVMFFI_TRY(TVMFFI_REGISTER("absent", absent));
  TVMFFI_TRY(tvmffi_call("same", &object, node));
  if (object != &node->base) return 1;
  return tvmffi_call("absent", NULL, node);
}"""),
    ("an error is raised without return", Warned(), """
TVMFFI_FUNC(positive, int64, (int64, x)) {
  if (x < 0) TVMFFI_RAISE("ValueError", "%d is negative", (int)x); /* ! */
  if (x < 1) return TVMFFI_RAISE("ValueError", "zero");
  TVMFFI_RETURN(x);
}
static TVMFFIObject *made(TVMFFIObject *x, TVMFFIObject *error) {
  if (!x) return (void)TVMFFI_RAISE("ValueError", "no x"), (TVMFFIObject *)0;
  if (x == error) tvmffi_error_raise(error); /* ! */
  if (x != error)
    TVMFFI_RAISE_FROM(error, "ValueError", "another"); /* ! */
  return x;
}
static int run(void) {
  (void)made;
  return TVMFFI_REGISTER("positive", positive);
}"""),
    ("two values are returned", Refused("one_value_only"), """
TVMFFI_FUNC(div, int64, (int64, a), (int64, b)) {
  int64_t q = a / b, r = a % b;
  TVMFFI_RETURN(q, r); /* ! */
}
static int run(void) { return TVMFFI_REGISTER("div", div); }"""),
    ("two objects are returned", Refused("one_value_only"), ADD + """
TVMFFI_FUNC(both, Pair, (Pair, a), (Pair, b)) {
  TVMFFI_RETURN(a, b); /* ! */
}
static int run(void) { return TVMFFI_REGISTER("both", both); }"""),
    ("a value with commas in it is returned", Works(), """
TVMFFI_FUNC(cpu, device) { TVMFFI_RETURN(DEVICE{kDLCPU, 0}); }
static int run(void) {
  DLDevice device;
  TVMFFI_TRY(TVMFFI_REGISTER("cpu", cpu));
  TVMFFI_TRY(tvmffi_call("cpu", &device));
  return device.device_type != kDLCPU;
}""".replace("TVMFFI_FUNC(cpu", """
#ifdef __cplusplus
#define DEVICE DLDevice
#else
#define DEVICE (DLDevice)
#endif
TVMFFI_FUNC(cpu""")),
    ("a tensor is returned as an object",
     Refused("a_tensor_is_not_an_object__write_tensor_object"), """
TVMFFI_FUNC(same, object, (tensor, x)) {
  TVMFFI_RETURN(x); /* ! */
}
static int run(void) { return TVMFFI_REGISTER("same", same); }"""),
    ("a tensor is attached to a scope", Refused("DLTensor"), """
TVMFFI_FUNC(keep, none, (tensor, x)) {
  if (!tvmffi_scope_attach(x)) return -1; /* ! */
  TVMFFI_RETURN();
}
static int run(void) { return TVMFFI_REGISTER("keep", keep); }"""),
    ("a result is stored as a struct", Works(), ADD + OUT + """
TVMFFI_FUNC(made, Pair, (Pair, pair)) { TVMFFI_RETURN(pair); }
static int run(TVMFFI_HERE) {
  Pair *two = TVMFFI_NEW(Pair, 2), *same = NULL;
  TVMFFI_TRY(TVMFFI_REGISTER("made", made));
  TVMFFI_TRY(tvmffi_call("made", OUT(Pair, same), two));
  return same != two;
}"""),
    ("a result is stored as another struct",
     Raises("Cannot convert from type `mistakes.Pair` to `mistakes.Add`"),
     ADD + OUT + """
static int run(TVMFFI_HERE) {
  Add *add = NULL;
  return tvmffi_as(TVMFFI_NEW(Pair, 2), OUT(Add, add));
}"""),
    ("a result is stored as a struct of no type",
     Refused("for_a_struct_T|tvmffi_i_out_of", 20), """
static int run(TVMFFI_HERE) {
  Plain *plain = NULL;
  return tvmffi_call("f", &plain); /* ! */
}"""),
    ("a slice is an argument", Works(), """
TVMFFI_FUNC(size, int64, (str, text)) { TVMFFI_RETURN((int64_t)text.size); }
TVMFFI_FUNC(again, int64, (str, text)) {
  int64_t n = 0;
  TVMFFI_TRY(tvmffi_call("size", &n, text)); /* whole, with its NUL */
  TVMFFI_RETURN(n);
}
static int run(TVMFFI_HERE) {
  TVMFFIByteArray five = {"hello world", 5}, nine = {"wonderful world", 9};
  TVMFFIByteArray nul = {"a text\\0with a NUL", 18};
  int64_t n = 0, sum = 0;
  TVMFFIAny item;
  TVMFFIObject *list = tvmffi_list(five, nine, nul), *map;
  TVMFFI_TRY(TVMFFI_REGISTER("size", size));
  TVMFFI_TRY(TVMFFI_REGISTER("again", again));
  TVMFFI_TRY(tvmffi_call("size", &n, five));
  sum += n;
  TVMFFI_TRY(tvmffi_call("again", &n, nine));
  sum += n;
  TVMFFI_TRY(tvmffi_append(list, nine));
  TVMFFI_TRY(tvmffi_at(list, 2, &item));
  TVMFFI_TRY(tvmffi_call("again", &n, item));
  map = tvmffi_map(nine, 100);
  sum += n;
  TVMFFI_TRY(tvmffi_get(map, "wonderful", &n));
  TVMFFI_TRY(tvmffi_get(map, nine, &n));
  return tvmffi_size(list) == 4 && sum + n == 5 + 9 + 18 + 100 ? 0 : 1;
}"""),
    ("a maker fails where the result is optional", Raises("a value for each"),
     """
TVMFFI_FUNC(none, optional(map)) {
  TVMFFIAny odd = tvmffi_int(1);
  TVMFFI_RETURN(tvmffi_map_from(&odd, 1));
}
static int run(TVMFFI_HERE) {
  TVMFFIObject *map = NULL;
  TVMFFI_TRY(TVMFFI_REGISTER("none", none));
  return tvmffi_call("none", &map);
}"""),
    ("the result is forgotten in a call", Refused(r"no_such_out|tvmffi_i_out\b", 20),
     """
static int run(void) {
  return tvmffi_call("ffi.ListSize", 21); /* ! */
}"""),
    ("a text is received by a pointer",
     Refused(r"for_text_tvmffi_buffer|tvmffi_i_out\b", 20), """
static int run(TVMFFI_HERE) {
  const char *text;
  return tvmffi_call("ffi.json.Stringify", &text, 1, NULL); /* ! */
}"""),
    ("a tensor's struct is retained", Refused("DLTensor"), """
TVMFFI_FUNC(keep, none, (tensor, x)) {
  tvmffi_retain(x); /* ! */
  TVMFFI_RETURN();
}
static int run(void) { return TVMFFI_REGISTER("keep", keep); }"""),
    ("a struct that is no object is an argument", Refused("Plain"), """
static int run(void) {
  Plain plain = {1};
  int64_t n = 0;
  return tvmffi_call("ffi.ListSize", &n, &plain); /* ! */
}"""),
    ("a struct that is an object is an argument", Works(), """
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, int64, x))
TVMFFI_FUNC(get_x, int64, (Pair, pair)) { TVMFFI_RETURN(pair->x); }
static int run(TVMFFI_HERE) {
  int64_t x = 0;
  Pair *pair = TVMFFI_NEW(Pair, 7);
  TVMFFI_TRY(TVMFFI_REGISTER("get_x", get_x));
  TVMFFI_TRY(tvmffi_call("get_x", &x, pair));
  return tvmffi_size(tvmffi_list(pair, &pair->base)) == 2 && x == 7 ? 0 : 1;
}"""),
    ("NULL is the default of bytes that are not optional",
     Refused("the_default_NULL_needs_a_type_that_is_optional", 90), """
TVMFFI_FUNC(f, int64, (int64, a), (bytes, b, NULL)) { /* ! */
  TVMFFI_RETURN(a + (int64_t)b.size);
}
static int run(void) { return f ? 0 : 1; }"""),
    ("NULL is the default of an object that is not optional",
     Refused("the_default_NULL_needs_a_type_that_is_optional", 90), """
TVMFFI_FUNC(f, int64, (map(str, int64), a, NULL)) { /* ! */
  TVMFFI_RETURN((int64_t)tvmffi_size(a));
}
static int run(void) { return f ? 0 : 1; }"""),
    ("NULL is the default of parameters that are optional", Works(), """
static TVMFFIObjectHandle unset;
TVMFFI_FUNC(f, int64, (int64, a, 0), (str, b, "b"), (ptr, c, NULL),
            (optional(map(str, int64)), d, NULL), (optional(bytes), e, NULL),
            (optional(tensor), t, NULL), (any, g, 1.5), (bool, h, 0),
            (float64, i, 0), (optional(object), j, unset)) {
  TVMFFI_RETURN(a + (int64_t)b.size + !c + !d + !e.has_value + !t + !h + !i +
                !j + (g.type_index == kTVMFFIFloat));
}
static int run(TVMFFI_HERE) {
  int64_t n = 0;
  TVMFFI_TRY(TVMFFI_REGISTER("f", f));
  TVMFFI_TRY(tvmffi_call("f", &n));
  return n != 9;
}"""),
    ("a new object's field without a default gets no value",
     Refused("needs_a_value_for_each_field_without_default"), ADD + """
static int run(TVMFFI_HERE) {
  Pair *two = TVMFFI_NEW(Pair, 2);
  return TVMFFI_NEW(Add, two) ? 0 : -1; /* ! */
}"""),
    ("an inherited field without a default gets no value",
     Refused("needs_a_value_for_each_field_without_default"), """
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, int64, x))
typedef struct { Pair base; int64_t y; } Child;
TVMFFI_TYPE(Child, "mistakes.Child", Pair, (field, int64, y, 1))
static int run(TVMFFI_HERE) {
  return TVMFFI_NEW(Child) ? 0 : -1; /* ! */
}"""),
    ("an inherited field that a library registers gets no value",
     Raises(r"TVMFFI_NEW\(mistakes\.Child\) missing required argument: 'x'"), """
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, int64, x))
typedef struct { TVMFFIObject base; int64_t x; } Abroad;
TVMFFI_FOREIGN_TYPE(Abroad, "mistakes.Pair")
typedef struct { Abroad base; int64_t y; } Child;
TVMFFI_TYPE(Child, "mistakes.Child", Abroad, (field, int64, y, 1))
static int run(TVMFFI_HERE) {
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Pair));
  return TVMFFI_NEW(Child) ? 0 : -1;
}"""),
    ("a new object gets more values than fields",
     Refused("has_fewer_fields_than_values"), ADD + """
static int run(TVMFFI_HERE) {
  Pair *two = TVMFFI_NEW(Pair, 2);
  return TVMFFI_NEW(Add, two, two, two, 1) ? 0 : -1; /* ! */
}"""),
    ("a new object gets 33 values",
     Refused("at_most_32_values_are_possible"), ADD + """
static int run(TVMFFI_HERE) {
  return TVMFFI_NEW(Pair, %s) ? 0 : -1; /* ! */
}""" % ", ".join(map(str, range(33)))),
    ("a new module gets a value", Refused("has_fewer_fields_than_values"), """
typedef struct { tvmffi_module base; } Calc;
TVMFFI_MODULE(Calc, "mistakes.calc", (mask, 0))
static int run(TVMFFI_HERE) {
  return TVMFFI_NEW(Calc, 1) ? 0 : -1; /* ! */
}"""),
    ("a text without its size is returned as `str`",
     Refused("write_tvmffi_byte_array|char.* to .*TVMFFIByteArray", 30), """
TVMFFI_FUNC(name, str) {
  TVMFFI_RETURN("abc"); /* ! */
}
static int run(void) { return TVMFFI_REGISTER("name", name); }"""),
    ("the default of a field makes an object",
     Refused("the_default_of_an_object_is_NULL", 60), """
typedef struct { TVMFFIObject base; TVMFFIObject *args; } Call;
#define ARGS (field, list, args, tvmffi_list())
TVMFFI_TYPE(Call, "mistakes.Call", TVMFFIObject, ARGS) /* ! */
static int run(void) { return TVMFFI_REGISTER_TYPE(Call); }"""),
    ("a callback of a map returns nothing",
     Raises("mistakes.Add.lhs: Cannot convert from type `None` to "
            "`mistakes.Pair`"), ADD + """
TVMFFI_FUNC(forgets, none, (Pair, pair)) {
  (void)pair;
  TVMFFI_RETURN();
}
static int run(TVMFFI_HERE) {
  Pair *two = TVMFFI_NEW(Pair, 2);
  TVMFFIObject *f = NULL;
  TVMFFI_TRY(TVMFFI_FUNCTION_NEW(forgets, &f));
  return tvmffi_call("ffi.StructuralMap", NULL, TVMFFI_NEW(Add, two, two),
                     tvmffi_array(tvmffi_array(TVMFFI_TYPE_INDEX(Pair), f)),
                     tvmffi_array(), 1);
}"""),
    ("main reads its arguments", Works(), """
static int run(TVMFFI_HERE);
TVMFFI_MAIN(int argc, char **argv) {
  if (argc != 1 || !strstr(argv[0], "user") || argv[argc]) return 1;
  return run(tvmffi_here);
}
static int run(TVMFFI_HERE) { return tvmffi_list(1) ? 0 : -1; }"""),
    ("a new object's field gets a value of another type",
     Raises("mistakes.Add.rhs: Cannot convert from type `int` to "
            "`mistakes.Pair`"), ADD + """
static int run(TVMFFI_HERE) {
  Pair *two = TVMFFI_NEW(Pair, 2);
  return TVMFFI_NEW(Add, two, 3) ? 0 : -1;
}"""),
    ("an inherited default stands behind the required fields", Works(),
     ADD + """
static int run(TVMFFI_HERE) {
  Pair *two = TVMFFI_NEW(Pair, 2), *three = TVMFFI_NEW(Pair, 3);
  Add *add = TVMFFI_NEW(Add, two, three), *at = TVMFFI_NEW(Add, two, three, 7);
  TVMFFI_TRY(add && at ? 0 : -1);
  return add->lhs == two && add->rhs == three && add->base.line == 1 &&
         at->base.line == 7 ? 0 : 1;
}"""),
    ("a field has another type than its word",
     Refused("Pair_x_has_not_the_C_type_of_its_word"), """
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, float64, x)) /* ! */
static int run(void) { return TVMFFI_REGISTER_TYPE(Pair); }"""),
    ("a struct begins with another struct than its parent's",
     Refused("base_of_Add_is_not_TVMFFIObject", lines=20), """
typedef struct { Pair base; int64_t y; } Add;
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, int64, x))
TVMFFI_TYPE(Add, "mistakes.Add", TVMFFIObject, (field, int64, y)) /* ! */
static int run(void) { return TVMFFI_REGISTER_TYPE(Add); }"""),
    ("a struct has a member with a constructor",
     Refused("Named_has_a_member_that_is_no_plain_C_value", lines=20,
             only_cxx=True), """
#include <string>
struct Named { Pair base; std::string name; };
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, int64, x))
TVMFFI_TYPE(Named, "mistakes.Named", Pair) /* ! */
static int run(void) { return TVMFFI_REGISTER_TYPE(Named); }"""),
    ("flags stand before the first field",
     Raises(r"Type `mistakes.Pair`: \(flags, ...\) does not follow a field"), """
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject,
            (flags, kTVMFFIFieldFlagBitMaskReprOff), (field, int64, x))
static int run(void) { return TVMFFI_REGISTER_TYPE(Pair); }"""),
    ("a factory follows a flag for comparison",
     Raises(r"Type `mistakes.Pair`: \(factory, ...\) does not follow a field"), """
TVMFFI_FUNC(one, int64) { TVMFFI_RETURN(1); }
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject,
            (structural, kTVMFFISEqHashKindTreeNode), (factory, one),
            (field, int64, x))
static int run(void) { return TVMFFI_REGISTER_TYPE(Pair); }"""),
    ("a list has another type for a field",
     Raises("Field `x` of type `mistakes.Pair` is registered as `int`, here it "
            "is `float`"), """
typedef struct { TVMFFIObject base; double x; } Older;
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, int64, x))
TVMFFI_TYPE(Older, "mistakes.Pair", TVMFFIObject, (field, float64, x))
static int run(void) {
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Pair));
  return TVMFFI_REGISTER_TYPE(Older);
}"""),
    ("a list has another name for a field",
     Raises("Type `mistakes.Pair` is registered without field `y`"), """
typedef struct { TVMFFIObject base; int64_t y; } Older;
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, int64, x))
TVMFFI_TYPE(Older, "mistakes.Pair", TVMFFIObject, (field, int64, y))
static int run(void) {
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Pair));
  return TVMFFI_REGISTER_TYPE(Older);
}"""),
    ("a list lacks a field",
     Raises("Type `mistakes.Pair` is registered with 1 fields, here it has 0"),
     """
typedef struct { TVMFFIObject base; int64_t x; } Older;
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, int64, x))
TVMFFI_TYPE(Older, "mistakes.Pair", TVMFFIObject)
static int run(void) {
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Pair));
  return TVMFFI_REGISTER_TYPE(Older);
}"""),
    ("a type in a header has its methods in another file", Works(),
     NODE % """
static int run(TVMFFI_HERE) {
  Node *node;
  int64_t n = 0;
  TVMFFIAny text;
  TVMFFI_TRY(register_node());
  TVMFFI_TRY((node = TVMFFI_NEW(Node, 2)) ? 0 : -1);
  TVMFFI_TRY(tvmffi_method(node, "twice", &n));
  TVMFFI_TRY(tvmffi_call("ffi.ReprPrint", &text, node));
  return n == 4 && tvmffi_equal(text, "a node") ? 0 : 1;
}"""),
    ("a type in a header is used before its methods are registered",
     Raises("write TVMFFI_METHOD for mistakes.Node.twice, or, if another file "
            "has it, first call TVMFFI_REGISTER_TYPE there"),
     NODE % """
static int run(TVMFFI_HERE) { return TVMFFI_NEW(Node, 2) ? 0 : -1; }"""),
    ("a result may be None", Works(), OUT + """
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, int64, x))
TVMFFI_FUNC(find, optional(Pair), (int64, x)) {
  if (!x) TVMFFI_RETURN(NULL);
  TVMFFI_RETURN(TVMFFI_NEW(Pair, x));
}
static int run(TVMFFI_HERE) {
  Pair *pair, *none;
  TVMFFIObject *no_object;
  TVMFFI_TRY(TVMFFI_REGISTER("find", find));
  TVMFFI_TRY(tvmffi_call("find", tvmffi_or_null(OUT(Pair, pair)), 5));
  TVMFFI_TRY(tvmffi_call("find", tvmffi_or_null(OUT(Pair, none)), 0));
  TVMFFI_TRY(tvmffi_call("find", tvmffi_or_null(&no_object), 0));
  return pair->x == 5 && !none && !no_object ? 0 : 1;
}"""),
    ("a result is None", Raises(r"`None` to `mistakes.Pair`: write "
                                r"tvmffi_or_null\(out\)"), OUT + """
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, int64, x))
TVMFFI_FUNC(find, optional(Pair)) { TVMFFI_RETURN(NULL); }
static int run(TVMFFI_HERE) {
  Pair *pair;
  TVMFFI_TRY(TVMFFI_REGISTER("find", find));
  return tvmffi_call("find", OUT(Pair, pair));
}"""),
    ("a text of C++ is an argument", Works(), """
#ifdef __cplusplus
#include <string>
static int run(TVMFFI_HERE) {
  const std::string text("a text that is longer than seven bytes"), empty;
  TVMFFIObject *list = tvmffi_list(text, text + "!", empty);
  TVMFFIAny item;
  TVMFFI_TRY(tvmffi_at(list, 1, &item));
  if (!tvmffi_equal(item, text + "!")) return 1;
  TVMFFI_TRY(tvmffi_at(list, 2, &item));
  return !tvmffi_equal(item, "");
}
#else
static int run(TVMFFI_HERE) { return tvmffi_list("text") ? 0 : -1; }
#endif"""),
    ("a text of C++ is a result", Works(), """
#ifdef __cplusplus
#include <string>
TVMFFI_FUNC(twice, str, (str, x)) {
  const std::string text(x.data, x.size);
  if (text.empty()) TVMFFI_RETURN(text);
  TVMFFI_RETURN(text + text);
}
static int same(const char *x, const char *wanted) {
  std::string text("the text before");
  TVMFFI_TRY(tvmffi_call("twice", &text, x));
  return text != wanted;
}
static int run(TVMFFI_HERE) {
  std::string item;
  TVMFFI_TRY(TVMFFI_REGISTER("twice", twice));
  TVMFFI_TRY(tvmffi_get(tvmffi_list("a longer text"), 0, &item));
  if (item != "a longer text") return 1;
  if (!tvmffi_get(tvmffi_list(5), 0, &item)) return 2;
  if (!tvmffi_error_catch("TypeError")) return 3;
  return same("", "") || same("ab", "abab") || same("longer", "longerlonger");
}
#else
static int run(TVMFFI_HERE) { return tvmffi_list("text") ? 0 : -1; }
#endif"""),
    ("a result of C++ has no type of the ABI",
     Refused("no_result_has_the_type_of_this_variable", lines=25,
             only_cxx=True), """
#include <vector>
static int run(TVMFFI_HERE) {
  std::vector<int> items;
  return tvmffi_call("f", &items); /* ! */
}"""),
    ("a lambda is an argument",
     Refused("a_function_of_C_is_no_value__write_TVMFFI_FUNCTION_NEW",
             lines=25, only_cxx=True), """
static int run(TVMFFI_HERE) {
  return tvmffi_call("f", NULL, [](int x) { return x; }); /* ! */
}"""),
    ("a function of C is an argument",
     Refused("a_function_of_C_is_no_value__write_TVMFFI_FUNCTION_NEW",
             lines=25, only_cxx=True), """
static int next(int x) { return x + 1; }
static int run(TVMFFI_HERE) {
  return tvmffi_list(next) ? 0 : -1; /* ! */
}"""),
    ("an exception leaves a body", Raises("no item 3"), """
#ifdef __cplusplus
#include <stdexcept>
#endif
TVMFFI_FUNC(item, int64, (int64, i)) {
  TVMFFIObject *list = tvmffi_list(1, 2);
#ifdef __cplusplus
  if (i >= tvmffi_size(list)) throw std::out_of_range("no item 3");
#else
  if (i >= tvmffi_size(list)) return TVMFFI_RAISE("RuntimeError", "no item 3");
#endif
  TVMFFI_RETURN(i);
}
static int run(TVMFFI_HERE) {
  TVMFFI_TRY(TVMFFI_REGISTER("item", item));
  if (!tvmffi_call("item", NULL, 3)) return 1;
  if (!tvmffi_error_catch("RuntimeError")) return 2;
  return tvmffi_call("item", NULL, 3);
}"""),
    ("a body has no memory for a container of C++", Raises("MemoryError"), """
#ifdef __cplusplus
#include <new>
#define FAIL() throw std::bad_alloc()
#else
#define FAIL() return TVMFFI_RAISE("MemoryError", "no memory")
#endif
TVMFFI_FUNC(grow, none) { FAIL(); }
static int run(TVMFFI_HERE) {
  TVMFFI_TRY(TVMFFI_REGISTER("grow", grow));
  return tvmffi_call("grow", NULL);
}"""),
    ("a body throws the code of a call", Raises("Function f not found"), """
TVMFFI_FUNC(middle, none) {
#ifdef __cplusplus
  TVMFFIObject *list = tvmffi_list(1, 2);
  if (int code = tvmffi_call("f", NULL, list)) throw code;
#else
  TVMFFI_TRY(tvmffi_call("f", NULL));
#endif
  TVMFFI_RETURN();
}
static int run(TVMFFI_HERE) {
  TVMFFI_TRY(TVMFFI_REGISTER("middle", middle));
  return tvmffi_call("middle", NULL);
}"""),
    ("an exception leaves a function that runs at the load, twice",
     Raises(r"again:\n(.*\n)*RuntimeError: no file"), """
#ifdef __cplusplus
#include <stdexcept>
static int load(void) { throw std::runtime_error("no file"); }
#else
static int load(void) { return TVMFFI_RAISE("RuntimeError", "no file"); }
#endif
TVMFFI_ON_LOAD(load)
static int run(void) {
  TVMFFIAny none = tvmffi_none();
  fprintf(stderr, "again:\\n");
  return __tvm_ffi_load(NULL, NULL, 0, &none);
}"""),
    ("an exception leaves the main function", Raises("no text"), """
#ifdef __cplusplus
#include <stdexcept>
static int run(TVMFFI_HERE) { throw std::invalid_argument("no text"); }
#else
static int run(TVMFFI_HERE) { return TVMFFI_RAISE("ValueError", "no text"); }
#endif"""),
    ("a method in the list has no body",
     Refused("tvmffi_i_write_TVMFFI_METHOD_Pair_twice"), """
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, int64, x), /* ! */
            (method, half), (method, twice))
TVMFFI_METHOD(Pair, half, int64) { TVMFFI_RETURN(self->x / 2); }
static int run(void) { return TVMFFI_REGISTER_TYPE(Pair); }"""),
    ("a function in a module's list has no body",
     Refused("tvmffi_i_write_TVMFFI_METHOD_Calc_twice"), """
typedef struct { tvmffi_module base; int64_t x; } Calc;
TVMFFI_MODULE(Calc, "mistakes.calc", (function, half), /* ! */
              (function, twice))
TVMFFI_METHOD(Calc, half, int64) { TVMFFI_RETURN(self->x / 2); }
static int run(void) { return TVMFFI_REGISTER_TYPE(Calc); }"""),
    ("a comma between parameters is missing", Refused(PARAMETERS), """
TVMFFI_FUNC(add, int64, (int64, a) (int64, b)) { /* ! */
  TVMFFI_RETURN(a + b);
}
static int run(void) { return TVMFFI_REGISTER("add", add); }"""),
    ("a parameter after a struct's has no name", Refused(PARAMETERS), ADD + """
TVMFFI_FUNC(line_of, int64, (Expr, e), (int64)) { /* ! */
  TVMFFI_RETURN(e->line);
}
static int run(void) { return TVMFFI_REGISTER("line_of", line_of); }"""),
    ("a function has no result", Refused(PARAMETERS), """
TVMFFI_FUNC(add, (int64, a), (int64, b)) { /* ! */
  TVMFFI_RETURN(a + b);
}
static int run(void) { return TVMFFI_REGISTER("add", add); }"""),
    ("a parameter of an exported function has no parentheses",
     Refused(PARAMETERS), """
TVMFFI_EXPORT(next, int64, int64 a) { /* ! */
  TVMFFI_RETURN(a + 1);
}
static int run(void) { return TVMFFI_REGISTER("next", next); }"""),
    ("a comma between a closure's parameters is missing",
     Refused(PARAMETERS), """
TVMFFI_CLOSURE(add, int64_t, int64, (int64, a) (int64, b)) { /* ! */
  TVMFFI_RETURN(*self + a + b);
}
static int run(void) { return 0; }"""),
    ("a comma between a method's parameters is missing",
     Refused(PARAMETERS), """
TVMFFI_TYPE(Pair, "mistakes.Pair", TVMFFIObject, (field, int64, x),
            (method, add))
TVMFFI_METHOD(Pair, add, int64, (int64, a) (int64, b)) { /* ! */
  TVMFFI_RETURN(self->x + a + b);
}
static int run(void) { return TVMFFI_REGISTER_TYPE(Pair); }"""),
    ("a call has 33 arguments",
     Refused("at_most_32_values_are_possible"), """
static int run(void) {
  return tvmffi_call("f", NULL, %s); /* ! */
}""" % ", ".join(map(str, range(33)))),
    ("a body returns its value", Raises("write TVMFFI_RETURN"), """
TVMFFI_FUNC(next, int64, (int64, x)) { return (int)x + 1; }
static int run(void) {
  int64_t y = 0;
  TVMFFI_TRY(TVMFFI_REGISTER("next", next));
  return tvmffi_call("next", &y, 4);
}"""),
    ("a body returns its value, which is 0", Raises("write TVMFFI_RETURN"), """
TVMFFI_FUNC(next, int64, (int64, x)) { return (int)x + 1; }
static int run(void) {
  int64_t y = 0;
  TVMFFI_TRY(TVMFFI_REGISTER("next", next));
  return tvmffi_call("next", &y, -1);
}"""),
    ("a function's name is in memory that is freed",
     Raises("of_a_freed_name"), """
TVMFFI_FUNC(named, int64, (int64, x)) { TVMFFI_RETURN(x); }
static int run(void) {
  char *name = (char *)malloc(32);
  int code;
  if (!name) return 1;
  strcpy(name, "of_a_freed_name");
  code = TVMFFI_REGISTER(name, named);
  memset(name, 'x', 15);
  free(name);
  return code ? code : tvmffi_call("of_a_freed_name", NULL);
}"""),
    ("a loop is over an object that has the container",
     Refused("no_container__write", 40), """
typedef struct { TVMFFIObject base; TVMFFIObject *items; } Block;
TVMFFI_TYPE(Block, "mistakes.Block", TVMFFIObject, (field, list, items))
static int run(TVMFFI_HERE) {
  Block *block = TVMFFI_NEW(Block, tvmffi_list(1, 2));
  TVMFFI_FOREACH(int64, x, block) return (int)x; /* ! */
  return 0;
}"""),
    ("NULL is the default of a field that is not optional",
     Raises("mistakes.Named.name: Cannot convert from type `None` to `str`"),
     """
typedef struct { TVMFFIObject base; TVMFFIAny name; } Named;
TVMFFI_TYPE(Named, "mistakes.Named", TVMFFIObject, (field, str, name, NULL))
static int run(TVMFFI_HERE) { return TVMFFI_NEW(Named) ? 0 : -1; }"""),
    ("a buffer is used twice", Works(), """
static int run(void) {
  char text[32];
  tvmffi_buffer buffer = {text, sizeof(text), 0};
  TVMFFI_TRY(tvmffi_as("abc", &buffer));
  if (buffer.length != 3) return 1;
  TVMFFI_TRY(tvmffi_as("a longer text", &buffer));
  return buffer.length != 13;
}"""),
]


class Box:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        (folder / "tvmffi.h").write_bytes(args.header.read_bytes())
        (folder / "runtime.c").write_text(
            "#define TVMFFI_IMPLEMENTATION\n#include \"tvmffi.h\"\n")
        self.sanitize = []
        if self.run(*args.cc.split(), "-fsanitize=address", "runtime.c",
                    "-shared", "-fPIC", "-o", "probe.so").returncode == 0:
            self.sanitize = ["-fsanitize=address"]
        done = self.run(*args.cc.split(), *self.sanitize, "-g", "-c",
                        "runtime.c", "-o", "runtime.o")
        if done.returncode:
            raise SystemExit(done.stderr)
        done = self.run(*args.cc.split(), "-g", "-DTVMFFI_DEBUG=1", "-c",
                        "runtime.c", "-o", "debug.o")
        if done.returncode:
            raise SystemExit(done.stderr)

    def run(self, *command):
        return subprocess.run([str(c) for c in command], cwd=self.folder,
                              capture_output=True, text=True, timeout=300,
                              errors="replace")

    def check(self, wanted, text, cxx):
        """Returns what is wrong, or an empty text."""
        name = "user.cpp" if cxx else "user.c"
        main = MAIN if "run(TVMFFI_HERE)" in text else MAIN.replace(
            "tvmffi_here", "")
        main = "" if "TVMFFI_MAIN" in text else main
        text, *files = re.split(r"^//// (\S+)\n", text, flags=re.M)
        text = HEAD + text + main
        (self.folder / name).write_text(text)
        for path, content in zip(files[::2], files[1::2]):
            (self.folder / path).write_text(content)
        others = [path for path in files[::2] if path.endswith(".c")]
        compiler = ([*self.args.cxx.split(), "-std=c++11"] if cxx
                    else [*self.args.cc.split(), "-std=c11"])
        debug = isinstance(wanted, Debug)
        if isinstance(wanted, Sanitizer) and not self.sanitize:
            return ""
        options = ["-DTVMFFI_DEBUG=1"] if debug else self.sanitize
        done = self.run(*compiler, *options, "-g", "-c", name, "-o", "user.o")
        if isinstance(wanted, Refused):
            wrong = refused(wanted, text, name, done)
            lines = done.stderr.count("\n")
            if not wrong and lines > wanted.lines:
                wrong = f"{lines} lines, not {wanted.lines}:\n{done.stderr}"
            return wrong
        if isinstance(wanted, Warned):
            return warned(text, name, done)
        if done.returncode:
            return done.stderr
        objects = ["user.o", "debug.o" if debug else "runtime.o"]
        for other in others:
            objects.append(other + ".o")
            done = self.run(*self.args.cc.split(), "-std=c11", *options, "-c",
                            other, "-o", objects[-1])
            if done.returncode:
                return done.stderr
        done = self.run(*compiler, *options, *objects, "-o", "user",
                        "-lpthread")
        if done.returncode:
            return done.stderr
        done = self.run(self.folder / "user")
        if isinstance(wanted, Raises):
            right = done.returncode == 1 and re.search(wanted.text, done.stderr)
        elif debug:
            right = re.search(places(wanted.text, text, name), done.stderr)
        elif isinstance(wanted, Sanitizer):
            right = "ERROR: AddressSanitizer" in done.stderr
        else:
            right = done.returncode == 0
        return "" if right else f"status {done.returncode}\n{done.stderr}"


def places(wanted, text, name):
    """Replaces each @mark by the place of its line."""
    return re.sub("@([a-z]+)", lambda mark: r"\b%s:%d\b" % (
        re.escape(name), text[:text.index(f"/* {mark[1]} */")].count("\n") + 1),
        wanted)


def refused(wanted, text, name, done):
    """What is wrong with the compiler's message, or an empty text."""
    if done.returncode == 0:
        return "compiles"
    line = text[:text.index(MARK)].count("\n") + 1
    first = re.search(r"^\S+:\d+:\d+: (?:fatal )?error: .*", done.stderr, re.M)
    end = re.compile(r"^\S+: (?:fatal )?error: ", re.M).search(
        done.stderr, first.end())
    about = done.stderr[:end.start() if end else None]
    if not re.search(rf"\b{name}:{line}:", about):
        return f"line {line} is not in the first error:\n{done.stderr}"
    if not re.search(wanted.text, about):
        return f"{wanted.text} is not in the first error:\n{done.stderr}"
    return ""


def warned(text, name, done):
    """What is wrong with the compiler's warnings, or an empty text."""
    if done.returncode:
        return done.stderr
    lines = [i for i, line in enumerate(text.split("\n"), 1) if MARK in line]
    found = [re.search(rf"^{name}:(\d+):\d+: (?:warning|note)", about, re.M)
             for about in re.split(r"^(?=.*: warning: )", done.stderr,
                                   flags=re.M)[1:]
             if "ignoring return value" in about]
    return "" if [int(f[1]) for f in found if f] == lines and \
        done.stderr.count(": warning: ") == len(lines) else \
        f"not the lines {lines}:\n{done.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--header", type=Path, required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        box = Box(args, Path(folder))
        if not box.sanitize:
            tap.skip("leaks and uses after free", "no AddressSanitizer")
        for name, wanted, text in ROWS:
            how = {Debug: ", TVMFFI_DEBUG", Sanitizer: ", AddressSanitizer"}
            for cxx in [False, True] if args.cxx else [False]:
                if getattr(wanted, "only_cxx", False) and not cxx:
                    continue
                if args.only in name:
                    wrong = box.check(wanted, text, cxx)
                    tap.ok(not wrong, f"{name} ({'C++' if cxx else 'C'}"
                           f"{how.get(type(wanted), '')})", wrong)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
