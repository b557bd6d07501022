/* ======== Repr: values as text ============================================ */

#pragma once

#include "harness.h"
#include "nesting.h"
#include "type_field.h"
#include "type.h"
#include "tensor.h"
#include "apply.h"
#include "reflection.h"
#include "access_path.h"

#if !TVMFFI_NO_EXTRA
static int test_repr(TVMFFIAny value, TVMFFIAny *text) {
  return test_apply_global("ffi.ReprPrint", &value, 1, text);
}

#define CHECK_REPR(value, want)                                 \
  do {                                                          \
    TVMFFIAny shown;                                            \
    OK(test_repr(value, &shown));                               \
    CHECK_TEXT(tvmffi_any_str(&shown), want);                   \
    if (shown.type_index == kTVMFFIStr) test_drop(shown.v_obj); \
  } while (0)

/* A list that the test owns; its items are borrowed. */
static int test_list(TVMFFIAny *list, TVMFFIAny a, TVMFFIAny b) {
  TVMFFIAny items[2];
  items[0] = a;
  items[1] = b;
  return test_apply_global("ffi.List", items, 2, list);
}

static int test_map_of(const char *kind, TVMFFIAny *map, TVMFFIAny key,
                       TVMFFIAny value) {
  TVMFFIAny items[2];
  items[0] = key;
  items[1] = value;
  return test_apply_global(kind, items, 2, map);
}

static TVMFFIAny test_bits(uint64_t bits) {
  TVMFFIAny any = tvmffi_none();
  any.type_index = kTVMFFIFloat;
  any.v_uint64 = bits;
  return any;
}

static void test_repr_values(TVMFFI_HERE) {
  DLDevice device = {kDLCUDA, 1}, strange = {(DLDeviceType)99, 0};
  DLDataType dtype = {kDLFloat, 16, 4};
  TVMFFIByteArray bytes = {"a\0\xFF\"\\ longer", 12};
  CHECK_REPR(tvmffi_none(), "None");
  CHECK_REPR(tvmffi_bool(1), "True");
  CHECK_REPR(tvmffi_bool(0), "False");
  CHECK_REPR(tvmffi_int(INT64_MIN), "-9223372036854775808");
  CHECK_REPR(tvmffi_dtype(dtype), "float16x4");
  CHECK_REPR(tvmffi_device(device), "cuda:1");
  CHECK_REPR(tvmffi_device(strange), "unknown:0");
  CHECK_REPR(tvmffi_str("x"), "\"x\"");
  CHECK_REPR(tvmffi_bytes(&bytes), "b\"a\\x00\\xff\\x22\\x5c longer\"");
  bytes.size = 2;
  CHECK_REPR(tvmffi_bytes(&bytes), "b\"a\\x00\"");
  CHECK_REPR(tvmffi_ptr(&device), "void*");
  CHECK_REPR(tvmffi_obj(&tvmffi_i_kwargs_object), "<KWARGS>");
  CHECK_REPR(tvmffi_obj(&tvmffi_i_invalid_object), "<MISSING>");
}

static void test_repr_escapes(TVMFFI_HERE) {
  CHECK_REPR(tvmffi_str("\n\t\r\\\"\x01\x7F"),
             "\"\\n\\t\\r\\\\\\\"\\x01\\x7f\"");
  CHECK_REPR(tvmffi_str("\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80"),
             "\"\\u00e9\\u6f22\\U0001f600\"");
  CHECK_REPR(tvmffi_str("\xC3\xE6\xBC-\xFF\x80"),
             "\"\\xc3\\xe6\\xbc-\\xff\\x80\"");
  /* The lowest and the highest of each length. */
  CHECK_REPR(tvmffi_str("\xBF\xBF \xC0\x80 \xDF\xBF"),
             "\"\\xbf\\xbf \\u0000 \\u07ff\"");
  CHECK_REPR(tvmffi_str("\xE0\xA0\x80 \xEF\xBF\xBF \xF0\x90\x80\x80"),
             "\"\\u0800 \\uffff \\U00010000\"");
  CHECK_REPR(tvmffi_str("\xF7\xBF\xBF\xBF \xF8\x88\x80\x80\x80"),
             "\"\\U001fffff \\xf8\\x88\\x80\\x80\\x80\"");
  CHECK_REPR(tvmffi_str("\x1B[1;31mred\x1B[K\x1B[4x"),
             "\"\\x1b[1;31mred\\x1b[K\\x1b[4x\"");
}

/* Six digits, the exact value rounded, a half to even. */
static void test_repr_floats(TVMFFI_HERE) {
  CHECK_REPR(test_bits(0), "0");
  CHECK_REPR(test_bits((uint64_t)1 << 63), "-0");
  CHECK_REPR(test_bits(0x3FF8000000000000u), "1.5");
  CHECK_REPR(test_bits(0x3FB999999999999Au), "0.1");
  CHECK_REPR(test_bits(0x3F1A36E2EB1C432Du), "0.0001");
  CHECK_REPR(test_bits(0x3EE4F8B588E368F1u), "1e-05");
  CHECK_REPR(test_bits(0x412E847F00000000u), "1e+06");
  CHECK_REPR(test_bits(0x412E847E00000000u), "999999");
  CHECK_REPR(test_bits(0x40FE240C9FBE76C9u), "123457");
  CHECK_REPR(test_bits(0x436966C77417AC80u), "5.7199e+16");
  CHECK_REPR(test_bits(1), "4.94066e-324");
  CHECK_REPR(test_bits(0x7FEFFFFFFFFFFFFFu), "1.79769e+308");
  CHECK_REPR(test_bits(0x7FF0000000000000u), "inf");
  CHECK_REPR(test_bits(0xFFF8000000000000u), "-nan");
}

/* A big integer of up to three words, the lowest first, that the test owns. */
static int test_bigint(TVMFFIAny *any, int64_t low, int64_t middle,
                       int64_t high) {
  int64_t words[3];
  TVMFFIByteArray content = {NULL, sizeof(words)};
  words[0] = low;
  words[1] = middle;
  words[2] = high;
  content.data = (const char *)words;
  TVMFFI_TRY(TVMFFIBigIntFromByteArray(&content, any));
  OWN_ANY(*any);
  return 0;
}

static void test_repr_bigints(TVMFFI_HERE) {
  TVMFFIAny any;
  OK(test_bigint(&any, 0, 64, 0));
  CHECK_REPR(any, "1180591620717411303424");
  OK(test_bigint(&any, 0, 0, -1));
  CHECK_REPR(any, "-340282366920938463463374607431768211456");
  OK(test_bigint(&any, -1, 0, 0));
  CHECK_REPR(any, "18446744073709551615");
}

/* What is met again is written again, and what is open is not. */
static void test_repr_graph(TVMFFI_HERE) {
  TVMFFIAny inner, outer, map, array, text, one = tvmffi_int(1);
  int code;
  OK(test_list(&inner, one, tvmffi_str("a")));
  OK(test_list(&outer, inner, inner));
  CHECK_REPR(outer, "[[1, \"a\"], [1, \"a\"]]");
  OK(test_map_of("ffi.Dict", &map, tvmffi_int(5), outer));
  CHECK_REPR(map, "{5: [[1, \"a\"], [1, \"a\"]]}");
  OK(test_apply_global("ffi.List", NULL, 0, &array));
  OK(test_repr(array, &text));
  CHECK_INT(text.type_index, kTVMFFIStr);
  CHECK_TEXT(tvmffi_any_str(&text), "[]");
  OK(test_apply_global("ffi.Array", &map, 1, &array));
  CHECK_REPR(array, "({5: [[1, \"a\"], [1, \"a\"]]},)");
  OK(tvmffi_i_list_append(inner.v_obj, &outer));
  code = test_repr(outer, &text);
  tvmffi_any_release(
      (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, inner.v_obj)->data + 2);
  OK(code);
  CHECK_TEXT(tvmffi_any_str(&text), "[[1, \"a\", ...], [1, \"a\", ...]]");
}

/* What JSON reads: a beginning, `n` times a text, a middle, `n` times another
   text, and an end. */
typedef struct {
  const char *begin, *open, *middle, *close, *end;
} test_nest_text;

static int test_make_nest(const test_nest_text *nest, int n, TVMFFIAny *value) {
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0};
  TVMFFIAny text;
  int i;
  tvmffi_i_text_str(&b, nest->begin);
  for (i = 0; i < n; ++i) tvmffi_i_text_str(&b, nest->open);
  tvmffi_i_text_str(&b, nest->middle);
  for (i = 0; i < n; ++i) tvmffi_i_text_str(&b, nest->close);
  tvmffi_i_text_str(&b, nest->end);
  TVMFFI_TRY(tvmffi_i_text_take(&b, &text));
  OWN_ANY(text);
  return test_apply_global("ffi.json.Parse", &text, 1, value);
}

/* A list (owned by the test) that has itself `n` times, and as often another
   one, which has `n` numbers. */
static int test_make_knot(int n, TVMFFIAny *value) {
  TVMFFIAny one = tvmffi_int(1), inner;
  int i, code = 0;
  TVMFFI_TRY(test_apply_global("ffi.List", NULL, 0, value));
  TVMFFI_TRY(test_apply_global("ffi.List", NULL, 0, &inner));
  for (i = 0; i < n && !code; ++i) {
    code = tvmffi_i_list_append(inner.v_obj, &one);
    if (!code) code = tvmffi_i_list_append(value->v_obj, &inner);
    if (!code) code = tvmffi_i_list_append(value->v_obj, value);
  }
  return code;
}

/* So that it ends. */
static void test_undo_knot(TVMFFIObject *list) {
  TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, list);
  while (cell->size) tvmffi_any_release((TVMFFIAny *)cell->data + --cell->size);
}

/* How many bytes a value's text has, and how many are needed for it at most at
   a time, itself included. */
static int test_repr_cost(TVMFFIAny value, size_t *size, size_t *peak) {
  size_t held = test_get(&test_held);
  TVMFFIAny text;
  TVMFFI_I_STORE(&test_peak, held);
  TVMFFI_TRY(test_repr(value, &text));
  *size = tvmffi_any_str(&text).size;
  *peak = test_get(&test_peak) - held;
  return 0;
}

/* A longer text needs so much more memory, or twice that where a block had just
   been doubled: of what is wide, deep, shared, or holds itself. */
static void test_repr_memory(TVMFFI_HERE) {
  static const test_nest_text nests[] = {
      {"[", "1,", "7", "", "]"},
      {"[", "\"a \\\"text\\\"\",", "7", "", "]"},
      {"", "[", "", "]", ""},
      {"", "{\"key\":", "1", "}", ""},
      {"[", "[{\"a\":[],\"b\":1}],", "7", "", "]"}};
  const int most = TEST_CHAIN < 1000 ? 128 : 256; /* a board has 16 MB */
  int nest, k, n = test_scale(most, 2);
  for (nest = 0; nest <= TEST_COUNT(nests); ++nest) {
    size_t size[2] = {1, 1}, peak[2] = {1, 1};
    for (k = 0; k < 2; ++k) {
      TVMFFIAny value = tvmffi_none();
      int code;
      if (nest < TEST_COUNT(nests)) {
        code = test_make_nest(&nests[nest], k ? 16 * n : n, &value);
        if (!code) code = test_repr_cost(value, &size[k], &peak[k]);
      } else {
        code = test_make_knot(k ? 4 * n : n, &value);
        if (!code) code = test_repr_cost(value, &size[k], &peak[k]);
        if (value.v_obj) test_undo_knot(value.v_obj);
      }
      OK(code);
      test_release_all();
    }
    if (!test_oom)
      CHECK((uint64_t)peak[1] * size[0] <= (uint64_t)peak[0] * size[1] * 2);
  }
}

typedef struct {
  TVMFFIObject base;
  TVMFFIAny a, b;
} test_pair;

static TVMFFIFieldInfo test_any_field(const char *name, size_t offset,
                                      int64_t flags) {
  TVMFFIFieldInfo f = test_field(name, (int64_t)offset);
  f.size = sizeof(TVMFFIAny);
  f.alignment = 8;
  f.getter = tvmffi_i_get_any_field;
  f.flags |= flags;
  f.field_static_type_index = kTVMFFIAny;
  return f;
}

/* A getter that returns a reference of its own, and fails for the number 404.
   */
static int test_num_got; /* calls of the getter */
static int test_get_own(void *field, TVMFFIAny *result) {
  const TVMFFIAny *value = (const TVMFFIAny *)field;
  ++test_num_got;
  CHECK_INT(result->type_index, kTVMFFINone);
  if (value->type_index == kTVMFFIInt && value->v_int64 == 404)
    return TVMFFI_RAISE("ValueError", "no value");
  return TVMFFIAnyViewToOwnedAny(value, result);
}

/* A type of pairs whose fields have this getter. */
static int test_getter_type(int32_t *index) {
  TVMFFIFieldInfo a = test_any_field("a", offsetof(test_pair, a), 0);
  TVMFFIFieldInfo b = test_any_field("b", offsetof(test_pair, b), 0);
  TVMFFITypeMetadata m;
  int32_t parent =
      test_type(test_fresh("unit.Parent"), -1, 1, 0, 1, kTVMFFIObject);
  if (parent < 0) return -1;
  *index = test_type(test_fresh("unit.Getter"), -1, 2, 0, 1, parent);
  if (*index < 0) return -1;
  memset((void *)&m, 0, sizeof(m));
  m.total_size = (int32_t)sizeof(test_pair);
  m.structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  a.getter = b.getter = test_get_own;
  TVMFFI_TRY(TVMFFITypeRegisterField(*index, &a));
  TVMFFI_TRY(TVMFFITypeRegisterField(*index, &b));
  return TVMFFITypeRegisterMetadata(*index, &m);
}

/* A type of pairs with the field `a`, and its child with `b`, too. */
static int test_pair_types(int32_t *parent, int32_t *child, int64_t flags) {
  TVMFFIFieldInfo a = test_any_field("a", offsetof(test_pair, a), 0);
  TVMFFIFieldInfo b = test_any_field("b", offsetof(test_pair, b), flags);
  *parent = test_type(test_fresh("unit.Parent"), -1, 1, 0, 1, kTVMFFIObject);
  if (*parent < 0) return -1;
  *child = test_type(test_fresh("unit.Child"), -1, 2, 0, 1, *parent);
  if (*child < 0) return -1;
  TVMFFI_TRY(TVMFFITypeRegisterField(*parent, &a));
  return TVMFFITypeRegisterField(*child, &b);
}

/* A pair that the test owns; its parts are borrowed. */
static int test_new_pair(int32_t index, TVMFFIAny a, TVMFFIAny b,
                         TVMFFIAny *pair) {
  test_pair *p =
      (test_pair *)(void *)tvmffi_i_new_object(index, sizeof(test_pair));
  if (!p) return -1;
  OWN(p);
  *pair = tvmffi_obj(&p->base);
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&a, &p->a));
  if (TVMFFIGetTypeInfo(index)->type_depth == 1) return 0;
  return TVMFFIAnyViewToOwnedAny(&b, &p->b);
}

/* The text of a pair: the key of its type, and `rest`. */
static void test_check_pair(TVMFFIAny pair, const char *rest) {
  const char *key = TVMFFIGetTypeInfo(pair.type_index)->type_key.data;
  TVMFFIAny text;
  TVMFFIByteArray got;
  OK(test_repr(pair, &text));
  got = tvmffi_any_str(&text);
  if (!CHECK(got.size >= strlen(key))) return;
  CHECK_BYTES(test_bytes(got.data, strlen(key)), key, strlen(key));
  got.data += strlen(key);
  got.size -= strlen(key);
  CHECK_TEXT(got, rest);
}

static void test_repr_fields(TVMFFI_HERE) {
  int32_t parent = 0, child = 0;
  TVMFFIAny pair, list;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_list(&list, tvmffi_int(1), tvmffi_none()));
  OK(test_new_pair(parent, list, list, &pair));
  test_check_pair(pair, "(a=[1, None])");
  OK(test_new_pair(child, list, list, &pair));
  test_check_pair(pair, "(a=[1, None], b=[1, None])");
  OK(test_pair_types(&parent, &child, kTVMFFIFieldFlagBitMaskReprOff));
  OK(test_new_pair(child, list, list, &pair));
  test_check_pair(pair, "(a=[1, None])");
  parent = test_type(test_fresh("unit.Empty"), -1, 1, 0, 1, kTVMFFIObject);
  OK(parent < 0 ? -1 : 0);
  OK(test_new_pair(parent, tvmffi_none(), tvmffi_none(), &pair));
  test_check_pair(pair, "");
  OK(test_getter_type(&parent));
  OK(test_new_pair(parent, list, tvmffi_none(), &pair));
  test_check_pair(pair, "(a=[1, None], b=None)");
  OK(test_new_pair(parent, list, tvmffi_int(404), &pair));
  FAILS(test_repr(pair, &list), "ValueError", "no value");
}

/* With addresses, each object that has one is named by it. */
static void test_repr_addresses(TVMFFI_HERE) {
  tvmffi_i_repr_frame room[2];
  tvmffi_i_printer g = TVMFFI_I_ZERO;
  TVMFFIAny list, pair[2], text;
  TVMFFIByteArray got;
  size_t i, num_addresses = 0;
  int code;
  OK(test_list(&list, tvmffi_int(1), tvmffi_none()));
  pair[0] = pair[1] = list;
  OK(test_apply_global("ffi.Array", pair, 2, &list));
  TVMFFI_I_WALK_OPEN(&g, "ObjectGraphDFS", tvmffi_i_pop_recursive, room);
  g.with_address = 1;
  code = tvmffi_i_repr_to(&g, 0);
  if (!code) code = tvmffi_i_repr_all(&g, &list, 1);
  if (!code) code = tvmffi_i_text_take_object(&g.text[0], &text);
  tvmffi_i_recursive_close(&g.base);
  for (i = 0; i < g.num_texts; ++i) tvmffi_i_text_release(&g.text[i]);
  tvmffi_i_free(g.text);
  OK(code);
  OWN_ANY(text);
  got = tvmffi_any_str(&text);
  CHECK(test_contains(got, "([1, None]@0x"));
  for (i = 0; i < got.size; ++i) num_addresses += got.data[i] == '@';
  CHECK_INT(num_addresses, 3);
}

#if defined(__unix__) && !TVMFFI_NO_STDIO
#if defined(__cplusplus)
extern "C" {
#endif
extern char **environ;
#if defined(__cplusplus)
}
#endif

/* The environment variable that asks for addresses has to be 1. */
static void test_repr_environment(TVMFFI_HERE) {
  static char asked[] = "TVM_FFI_REPR_WITH_ADDR=1";
  static char refused[] = "TVM_FFI_REPR_WITH_ADDR=0";
  char *variables[2], **before = environ;
  TVMFFIAny list, text;
  int i, code;
  variables[1] = NULL;
  OK(test_apply_global("ffi.List", NULL, 0, &list));
  for (i = 0; i < 2; ++i) {
    variables[0] = i ? asked : refused;
    environ = variables;
    code = test_repr(list, &text);
    environ = before;
    OK(code);
    CHECK_INT(test_contains(tvmffi_any_str(&text), "[]@0x"), i);
  }
}
#else
static void test_repr_environment(TVMFFI_HERE) {}
#endif

static int test_set_hook(int32_t index, const char *column,
                         TVMFFISafeCallType call) {
  TVMFFIByteArray name = TEXT(column);
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny any;
  int code;
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, call, NULL, &f));
  any = tvmffi_obj((TVMFFIObject *)f);
  code = TVMFFITypeRegisterAttr(index, &name, &any);
  tvmffi_release((TVMFFIObject *)f);
  return code;
}

/* Calls back twice with `a`, and keeps the callback to the test's end. */
static TVMFFIObject *test_kept;
static int test_twice(void *self, const TVMFFIAny *args, int32_t num_args,
                      TVMFFIAny *result) {
  test_pair *p = (test_pair *)args[0].v_ptr;
  TVMFFIObject *callback = args[num_args - 1].v_obj;
  (void)self;
  if (!test_kept) {
    tvmffi_retain(callback);
    OWN(callback);
    test_kept = callback;
  }
  TVMFFI_TRY(TVMFFIFunctionCall(callback, &p->a, 1, result));
  tvmffi_any_release(result);
  return TVMFFIFunctionCall(callback, &p->a, 1, result);
}

/* Compares `a` only. */
static int test_compare_a(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  TVMFFIAny parts[2];
  (void)self, (void)num_args;
  parts[0] = ((test_pair *)args[0].v_ptr)->a;
  parts[1] = ((test_pair *)args[1].v_ptr)->a;
  return TVMFFIFunctionCall(args[2].v_obj, parts, 2, result);
}

static void test_repr_hooks(TVMFFI_HERE) {
  int32_t parent = 0, child = 0;
  TVMFFIAny inner, outer, list, result = tvmffi_none();
  test_kept = NULL;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__ffi_repr__", test_twice));
  OK(test_list(&list, tvmffi_int(1), tvmffi_none()));
  OK(test_new_pair(parent, list, list, &inner));
  OK(test_list(&list, inner, inner));
  OK(test_new_pair(parent, list, list, &outer));
  CHECK_REPR(outer, "[[1, None], [1, None]]");
  FAILS(TVMFFIFunctionCall(test_kept, &outer, 1, &result), "RuntimeError",
        "The callback of a hook can be called only while the hook runs");
  FAILS(TVMFFIFunctionCall(test_kept, &outer, 0, &result), "TypeError",
        "Mismatched number of arguments when calling: `(0: AnyView) -> "
        "str`. Expected 1 but got 0 arguments");
}

#if defined(__cplusplus) && defined(__cpp_exceptions)
static int test_throw_from_hook(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args, (void)result;
  throw 7;
}

/* Calls the callback of a traversal that has ended, further down the stack. */
TVMFFI_I_NOINLINE void test_call_late(TVMFFIObject *callback, int depth) {
  volatile char room[500];
  TVMFFIAny one = tvmffi_int(1), result = tvmffi_none();
  room[0] = room[1] = 0;
  if (depth) {
    test_call_late(callback, depth - 1);
    ++room[depth % 2]; /* no tail call */
    return;
  }
  FAILS(TVMFFIFunctionCall(callback, &one, 1, &result), "RuntimeError",
        "The callback of a hook can be called only while the hook runs");
}

/* An exception out of a hook ends the traversal, which was in a stack frame. */
static void test_thrown_traversal(TVMFFI_HERE) {
  static char dead;
  tvmffi_i_hooked walk = TVMFFI_I_ZERO;
  tvmffi_i_callback *c;
  TVMFFIObjectHandle hook = NULL;
  TVMFFIAny result = tvmffi_none(), any, args[1];
  int i, thrown = 0, code = 0;
  OK(TVMFFIFunctionCreate(NULL, test_throw_from_hook, NULL, &hook));
  OWN(hook);
  any = tvmffi_obj((TVMFFIObject *)hook);
  c = &walk.callbacks[0];
  OK(tvmffi_i_callback_open(c, &dead, &tvmffi_i_repr_kind));
  OWN(c->function);
  if (!c->function) return;
  for (i = 0; i < 3; ++i) {
    try {
      code = tvmffi_i_call_hook(&walk, &tvmffi_i_repr_kind, &any, args, 0,
                                &result);
    } catch (int) {
      ++thrown;
    }
    OK(code);
    test_call_late(c->function, 0);
    test_call_late(c->function, 5);
  }
  CHECK(thrown == 3 || test_hits());
  CHECK(!tvmffi_i_thread_guards()->depth);
}

/* Throws for a pair whose `a` is None. Otherwise calls back with `a`, and
   catches what the hook of `a` throws. */
static int test_catch_from_hook(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  TVMFFIAny parts[2];
  int i, code = 0;
  (void)self;
  for (i = 0; i < num_args - 1; ++i)
    parts[i] = ((test_pair *)args[i].v_ptr)->a;
  if (parts[0].type_index == kTVMFFINone) throw 7;
  try {
    code = TVMFFIFunctionCall(args[num_args - 1].v_obj, parts, num_args - 1,
                              result);
  } catch (int) { /* the references of the callback that has ended */
    for (i = 0; i < num_args - 1; ++i) tvmffi_release(parts[i].v_obj);
  }
  if (!code) *result = tvmffi_int(1);
  return code;
}

/* A hook that catches an exception out of its own callback is an error. */
static void test_caught_in_hook(TVMFFI_HERE) {
  static const char *const names[][2] = {{"__ffi_repr__", "ffi.ReprPrint"},
                                         {"__ffi_hash__", "ffi.RecursiveHash"},
                                         {"__ffi_eq__", "ffi.RecursiveEq"}};
  int32_t parent = 0, child = 0;
  TVMFFIAny pairs[2], lists[2], result;
  size_t i, k;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    OK(test_pair_types(&parent, &child, 0));
    OK(test_set_hook(parent, names[i][0], test_catch_from_hook));
    for (k = 0; k < 2; ++k) {
      OK(test_new_pair(parent, tvmffi_none(), tvmffi_none(), &pairs[k]));
      OK(test_list(&lists[k], pairs[k], pairs[k]));
      OK(test_new_pair(parent, lists[k], tvmffi_none(), &pairs[k]));
    }
    FAILS(test_apply_global(names[i][1], pairs, i == 2 ? 2 : 1, &result),
          "RuntimeError", "An exception left the callback of a hook");
  }
  CHECK(!tvmffi_i_thread_guards()->depth);
}
#endif

static void test_bad_hooks(TVMFFI_HERE) {
  int32_t parent = 0, child = 0;
  TVMFFIAny pair, any;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_new_pair(parent, tvmffi_int(1), tvmffi_none(), &pair));
  OK(test_set_hook(parent, "__ffi_repr__", test_raise_callback));
  FAILS(test_repr(pair, &any), "ValueError", "the callback says no");
  OK(test_set_hook(parent, "__ffi_hash__", test_raise_callback));
  FAILS(test_apply_global("ffi.RecursiveHash", &pair, 1, &any), "ValueError",
        "the callback says no");
  OK(test_new_pair(child, tvmffi_int(1), tvmffi_none(), &pair));
  OK(test_set_hook(child, "__ffi_repr__", test_echo_callback));
  FAILS(test_repr(pair, &any), "TypeError",
        "Cannot convert from type `ffi.Function` to `str`");
}

static TVMFFIAny test_text_result;
static int test_give_text(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  test_text_result = tvmffi_str("a text that is no number");
  return TVMFFIAnyViewToOwnedAny(&test_text_result, result);
}

/* Hooks that are no functions, or give what they should not. */
static void test_wrong_hooks(TVMFFI_HERE) {
  static const char *const columns[] = {"__ffi_hash__", "__ffi_eq__",
                                        "__ffi_compare__"};
  static const char *const functions[] = {"ffi.RecursiveHash",
                                          "ffi.RecursiveEq", "ffi.RecursiveLt"};
  static const char *const results[] = {"int", "bool", "int"};
  static const char *const hooks[] = {
      "(0: ffi.Object, 1: (0: AnyView) -> int) -> int",
      "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView) -> bool) "
      "-> bool",
      "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView) -> int) -> "
      "int"};
  char text[200];
  TVMFFIAny args[2], any, value = tvmffi_int(3);
  TVMFFIByteArray name;
  int i;
  for (i = 0; i < 3; ++i) {
    int32_t parent = 0, child = 0;
    OK(test_pair_types(&parent, &child, 0));
    OK(test_new_pair(parent, tvmffi_int(1), tvmffi_none(), &args[0]));
    OK(test_new_pair(parent, tvmffi_int(2), tvmffi_none(), &args[1]));
    OK(test_set_hook(parent, columns[i], test_give_text));
    strcpy(text, "Cannot convert from type `ffi.String` to `");
    strcat(strcat(text, results[i]), "`");
    FAILS(test_apply_global(functions[i], args, 1 + (i > 0), &any), "TypeError",
          text);
    OK(test_new_pair(child, tvmffi_int(1), tvmffi_none(), &args[0]));
    OK(test_new_pair(child, tvmffi_int(2), tvmffi_none(), &args[1]));
    name = TEXT(columns[i]);
    OK(TVMFFITypeRegisterAttr(child, &name, &value));
    strcpy(text, "Cannot treat type `int` as type `");
    strcat(strcat(text, hooks[i]), "`");
    FAILS(test_apply_global(functions[i], args, 1 + (i > 0), &any), "TypeError",
          text);
  }
}

/* Hooks nest on the thread's stack, so their depth has a limit, which is the
   same for hooks that begin a repr of their own. */
static void test_deep_hooks(TVMFFI_HERE) {
  int32_t parent = 0, child = 0;
  TVMFFIAny pair = tvmffi_int(1);
  int i, n = test_scale(TVMFFI_I_MAX_NESTING + 1, 36);
  test_pair *p;
  test_kept = NULL;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__ffi_repr__", test_twice));
  for (i = 0; i < n; ++i) {
    p = (test_pair *)(void *)tvmffi_i_new_object(parent, sizeof(*p));
    if (!p) tvmffi_any_release(&pair);
    OK(p ? 0 : -1);
    p->a = pair;
    pair = tvmffi_obj(&p->base);
  }
  OWN_ANY(pair);
  test_forget_stack();
  if (n > TVMFFI_I_MAX_NESTING)
    FAILS(test_repr(pair, &pair), "RecursionError", TEST_TOO_MANY);
  CHECK_INT(tvmffi_i_thread_nesting()->count, 0);
  test_find_stack();
  if (TVMFFI_I_STACK_KNOWN) {
    OK(test_repr(pair, &pair));
    OWN_ANY(pair);
  }
}

/* Objects that have a text of their own. */
static void test_repr_objects(TVMFFI_HERE) {
  TVMFFIAny numbers[3], any;
  TVMFFIAny none = tvmffi_none();
  none.type_index = kTVMFFIArray; /* an object that is missing */
  numbers[0] = tvmffi_int(1);
  numbers[1] = tvmffi_int(-2);
  OK(test_apply_global("ffi.Shape", numbers, 2, &any));
  CHECK_REPR(any, "Shape(1, -2)");
  OK(test_apply_global("ffi.Shape", numbers, 0, &any));
  CHECK_REPR(any, "Shape()");
#if !TEST_NO_TENSORS
  any = tvmffi_obj(test_make_tensor());
  if (!any.v_obj) return;
  CHECK_REPR(any, "int32[2, 3, 4]@cpu:0");
  TVMFFITensorGetDLTensorPtr(any.v_obj)->ndim = 0;
  CHECK_REPR(any, "int32[]@cpu:0");
#endif
  numbers[0] = tvmffi_str("ffi.Enum");
  numbers[1] = tvmffi_str("_str_index");
  numbers[2] = tvmffi_str("RED");
  OK(test_apply_attr(TVMFFI_I_ENUM_BASE, "__ffi_new__", NULL, 0, &any));
  OK(tvmffi_i_set_field(&TVMFFIGetTypeInfo(TVMFFI_I_ENUM_BASE)->fields[1],
                        any.v_obj, &numbers[2]));
  CHECK_REPR(any, "ffi.Enum.RED");
  OK(test_list(&any, tvmffi_int(1), tvmffi_int(2)));
  ((TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, any.v_obj)->data)[1] = none;
  CHECK_REPR(any, "[1, None]");
}

/* A field of the child hides none of the parent: only the first is shown. */
static void test_repr_same_names(TVMFFI_HERE) {
  TVMFFIFieldInfo a = test_any_field("a", offsetof(test_pair, a), 0);
  TVMFFIFieldInfo again = test_any_field("a", offsetof(test_pair, b), 0);
  int32_t parent =
      test_type(test_fresh("unit.Parent"), -1, 1, 0, 1, kTVMFFIObject);
  int32_t child;
  TVMFFIAny pair;
  OK(parent < 0 ? -1 : 0);
  child = test_type(test_fresh("unit.Child"), -1, 2, 0, 1, parent);
  OK(child < 0 ? -1 : 0);
  OK(TVMFFITypeRegisterField(parent, &a));
  OK(TVMFFITypeRegisterField(child, &again));
  OK(test_new_pair(child, tvmffi_int(1), tvmffi_int(2), &pair));
  test_check_pair(pair, "(a=1)");
  parent = test_type(test_fresh("unit.Parent"), -1, 1, 0, 1, kTVMFFIObject);
  OK(parent < 0 ? -1 : 0);
  child = test_type(test_fresh("unit.Child"), -1, 2, 0, 1, parent);
  OK(child < 0 ? -1 : 0);
  a.flags |= kTVMFFIFieldFlagBitMaskReprOff;
  OK(TVMFFITypeRegisterField(parent, &a));
  OK(TVMFFITypeRegisterField(child, &again));
  OK(test_new_pair(child, tvmffi_int(1), tvmffi_int(2), &pair));
  test_check_pair(pair, "(a=2)");
}

/* Hidden fields in hidden fields: the text of each goes to a buffer of its own,
   and of what they share only the first text is made. */
static void test_repr_hidden(TVMFFI_HERE) {
  TVMFFIFieldInfo a = test_any_field("a", offsetof(test_pair, a), 0);
  TVMFFIFieldInfo again = test_any_field("a", offsetof(test_pair, b), 0);
  int32_t parent =
      test_type(test_fresh("unit.Parent"), -1, 1, 0, 1, kTVMFFIObject);
  int32_t child;
  TVMFFIAny pair = tvmffi_int(0);
  int i;
  OK(parent < 0 ? -1 : 0);
  child = test_type(test_fresh("unit.Child"), -1, 2, 0, 1, parent);
  OK(child < 0 ? -1 : 0);
  OK(TVMFFITypeRegisterField(parent, &a));
  OK(TVMFFITypeRegisterField(child, &again));
  for (i = 1; i < 36; ++i)
    OK(test_new_pair(child, tvmffi_int(i), pair, &pair));
  test_check_pair(pair, "(a=35)");
  OK(test_new_pair(child, pair, pair, &pair));
  OK(test_list(&pair, pair, ((test_pair *)pair.v_ptr)->b));
  OK(test_repr(pair, &pair));
  CHECK(test_contains(tvmffi_any_str(&pair), "(a=35)), unit.Child"));
}

/* A hook that registers fields of the type whose object is shown. The object's
   other fields are shown all the same, the new ones are not. */
static int32_t test_growing;
static int test_grow_type(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  static const char *const names[] = {"n1", "n2", "n3"};
  TVMFFIFieldInfo f;
  int i;
  (void)self, (void)args, (void)num_args;
  for (i = 0; i < 3; ++i) {
    f = test_any_field(names[i], offsetof(test_pair, a),
                       kTVMFFIFieldFlagBitMaskReprOff);
    TVMFFI_TRY(TVMFFITypeRegisterField(test_growing, &f));
  }
  *result = tvmffi_int(0);
  memcpy(result->v_bytes, "grown", 5);
  result->type_index = kTVMFFISmallStr;
  result->small_str_len = 5;
  return 0;
}

static void test_repr_growing(TVMFFI_HERE) {
  int32_t index = test_type(test_fresh("unit.Grow"), -1, 1, 0, 1,
                            kTVMFFIObject);
  const TVMFFIFieldInfo *fields;
  TVMFFIAny pair;
  OK(index < 0 ? -1 : 0);
  OK(test_set_hook(index, "__ffi_repr__", test_grow_type));
  OK(test_new_pair(index, tvmffi_none(), tvmffi_none(), &pair));
  OK(test_getter_type(&test_growing));
  fields = TVMFFIGetTypeInfo(test_growing)->fields;
  OK(test_new_pair(test_growing, pair, tvmffi_int(2), &pair));
  test_check_pair(pair, "(a=grown, b=2)");
  if (!test_hits()) CHECK(TVMFFIGetTypeInfo(test_growing)->fields != fields);
}

static int test_show_key(void *self, const TVMFFIAny *args, int32_t num_args,
                         TVMFFIAny *result) {
  TVMFFIByteArray text = TEXT("k");
  (void)self;
  CHECK_INT(num_args, 1);
  CHECK(tvmffi_any_str(&args[0]).size == 3);
  return TVMFFIStringFromByteArray(&text, result);
}

static void test_repr_steps(TVMFFI_HERE) {
  static const char *const want[] = {
      "<root>[\"key\"]", "<root>[<missing:\"key\">]", "<root>[<missing:6>]",
      "<root>[<missing:\"key\">]"};
  const TVMFFIMethodInfo *m;
  TVMFFIObjectHandle show = NULL, odd = NULL, fail = NULL;
  TVMFFIAny args[2], any, root, path;
  tvmffi_i_step *step;
  int i;
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  m = TVMFFIGetTypeInfo(133)->methods;
  OK(TVMFFIFunctionCreate(NULL, test_show_key, NULL, &show));
  OWN(show);
  OK(TVMFFIFunctionCreate(NULL, test_give_one, NULL, &odd));
  OWN(odd);
  OK(TVMFFIFunctionCreate(NULL, test_fail_hook, NULL, &fail));
  OWN(fail);
  OK(test_apply(m[0].method.v_obj, NULL, 0, &root));
  for (i = 0; i < 4; ++i) {
    args[0] = root;
    args[1] = i == 2 ? tvmffi_int(6) : tvmffi_str("key");
    OK(test_apply(m[4 + i].method.v_obj, args, 2, &path));
    CHECK_REPR(path, want[i]);
    if (i == 2) continue;
    args[0] = tvmffi_obj(((tvmffi_i_path *)path.v_ptr)->step);
    args[1] = tvmffi_obj((TVMFFIObject *)show);
    OK(test_apply_attr(132, "__ffi_repr__", args, 2, &any));
    CHECK_TEXT(tvmffi_any_str(&any), i ? "[<missing:k>]" : "[k]");
    args[1] = tvmffi_obj((TVMFFIObject *)odd);
    FAILS(test_apply_attr(132, "__ffi_repr__", args, 2, &any), "TypeError",
          "Cannot convert from type `int` to `str`");
    FAILS(test_apply_attr(133, "__ffi_repr__", args, 2, &any), "TypeError",
          "Cannot treat type `ffi.reflection.AccessStep` as type "
          "`ffi.reflection.AccessPath`");
    args[1] = tvmffi_obj((TVMFFIObject *)fail);
    test_fail_code = -2;
    test_fail_after = 0;
    test_left_error(test_apply_attr(132, "__ffi_repr__", args, 2, &any),
                    __FILE__, __LINE__, "a step's repr");
    args[0] = path;
    test_left_error(test_apply_attr(133, "__ffi_repr__", args, 2, &any),
                    __FILE__, __LINE__, "a path's repr");
    test_fail_code = 0;
  }
  step = (tvmffi_i_step *)(void *)((tvmffi_i_path *)path.v_ptr)->step;
  step->kind = 99;
  FAILS(test_repr(path, &any), "ValueError", "99 is no kind of an access step");
}

static void test_repr_path(TVMFFI_HERE) {
  TVMFFIObject *path;
  TVMFFIAny any, args[2];
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  path = test_path("name", 3);
  OK(path ? 0 : -1);
  CHECK_REPR(tvmffi_obj(path), "<root>.name[3]");
  CHECK_REPR(tvmffi_obj(((tvmffi_i_path *)(void *)path)->step), "[3]");
  args[0] = tvmffi_obj(path);
  args[1] = tvmffi_none();
  FAILS(test_apply_attr(132, "__ffi_repr__", args, 2, &any), "TypeError",
        "Cannot treat type `ffi.reflection.AccessPath` as type "
        "`ffi.reflection.AccessStep`");
  FAILS(test_apply_attr(133, "__ffi_repr__", args, 2, &any), "TypeError",
        "Cannot call None as `ffi.Function`");
}

#if !TVMFFI_NO_STDIO && !TEST_NO_FILES
/* Prints a value that may be any of the interface's, a part of a text, too. */
static void test_print(TVMFFI_HERE) {
  char got[64];
  TVMFFIAny part = tvmffi_i_text_of(test_bytes("a printed part of a text", 14));
  FILE *file = tmpfile();
  size_t n;
  int code;
  if (!CHECK(file != NULL)) return;
  code = tvmffi_print(file, tvmffi_int(-5));
  if (!code) code = tvmffi_print(file, part);
  rewind(file);
  n = fread(got, 1, sizeof(got), file);
  (void)fclose(file);
  OK(code);
  CHECK_BYTES(test_bytes(got, n), "-5\n\"a printed part\"\n", 20);
  CHECK_INT(tvmffi_i_printing()->type_index, kTVMFFINone);
  FAILS(tvmffi_print(stdout, tvmffi_uint(UINT64_MAX)), "OverflowError", NULL);
  OK(tvmffi_i_repr(part));
  FAILS(tvmffi_i_printed(-1), "OSError", "cannot write");
  CHECK_INT(tvmffi_i_printing()->type_index, kTVMFFINone);
}
#endif
#endif

static const test_case test_repr_cases[] = {
#if !TVMFFI_NO_EXTRA
    {"repr: values", test_repr_values},
    {"repr: escapes", test_repr_escapes},
    {"repr: floats", test_repr_floats},
    {"repr: big integers", test_repr_bigints},
    {"repr: shared objects and cycles", test_repr_graph},
    {"repr: memory", test_repr_memory},
    {"repr: fields", test_repr_fields},
    {"repr: addresses", test_repr_addresses},
    {"repr: addresses that a variable asks for", test_repr_environment},
    {"repr: hooks", test_repr_hooks},
    {"repr: objects", test_repr_objects},
    {"repr: fields of one name", test_repr_same_names},
    {"repr: hidden fields in hidden fields", test_repr_hidden},
    {"repr: fields that come meanwhile", test_repr_growing},
    {"repr: bad hooks", test_bad_hooks},
#if defined(__cplusplus) && defined(__cpp_exceptions)
    {"repr: a hook that throws", test_thrown_traversal},
    {"repr: a hook that catches", test_caught_in_hook},
#endif
    {"repr: hooks of a wrong type", test_wrong_hooks},
    {"repr: hooks in hooks", test_deep_hooks},
    {"repr: access paths", test_repr_path},
    {"repr: steps of access paths", test_repr_steps},
#if !TVMFFI_NO_STDIO && !TEST_NO_FILES
    {"repr: print", test_print},
#endif
#endif
    {NULL, NULL}};
