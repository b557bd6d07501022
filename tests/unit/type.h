/* ======== Types: the type table, fields, methods, attribute columns ======= */

#pragma once

#include "harness.h"
#include "type_field.h"

#if !TEST_NO_TYPES
/* Registers a type; gives its index, or -1 with the error still there. */
static int32_t test_type(const char *key, int32_t static_index, int32_t depth,
                         int32_t slots, int overflow, int32_t parent) {
  TVMFFIByteArray text = TEXT(key);
  return TVMFFITypeGetOrAllocIndex(&text, static_index, depth, slots, overflow,
                                   parent);
}

/* Registers a dynamic type that has to be possible. */
#define NEW_TYPE(index, key, depth, slots, overflow, parent)    \
  do {                                                          \
    index = test_type(key, -1, depth, slots, overflow, parent); \
    OK(index < 0 ? -1 : 0);                                     \
  } while (0)

static void test_abi_types(TVMFFI_HERE) {
  int32_t i;
  for (i = 0; i < kTVMFFIStaticObjectEnd; ++i) {
    const TVMFFITypeInfo *info;
    int32_t index = -1;
    if (i > kTVMFFIUnchanged && i < kTVMFFIStaticObjectBegin) continue;
    info = TVMFFIGetTypeInfo(i);
    OK(info ? 0 : -1);
    CHECK_INT(info->type_index, i);
    CHECK_INT(info->type_depth, i > kTVMFFIObject);
    CHECK_INT(((const tvmffi_i_type *)(const void *)info)->can_overflow,
              i == kTVMFFIObject || i == kTVMFFIVisitInterrupt);
    if (info->type_depth)
      CHECK_INT(info->type_ancestors[0]->type_index, kTVMFFIObject);
    OK(TVMFFITypeKeyToIndex(&info->type_key, &index));
    CHECK_INT(index, i);
    CHECK(info->type_key.data[info->type_key.size] == 0);
  }
  CHECK(TVMFFIGetTypeInfo(kTVMFFIInt)->type_key_hash ==
        (sizeof(void *) == 8 ? 0xAED305094B3D4A9Fu : 0xE4AD2750u));
  CHECK(TVMFFIGetTypeInfo(kTVMFFIObject)->type_key_hash ==
        (sizeof(void *) == 8 ? 0x33A211B274FA0106u : 0xCE4D56FDu));
  CHECK_TEXT(TVMFFIGetTypeInfo(kTVMFFIObject)->type_key, "ffi.Object");
  CHECK_TEXT(TVMFFIGetTypeInfo(kTVMFFIBigInt)->type_key, "ffi.BigInt");
  CHECK_TEXT(TVMFFIGetTypeInfo(kTVMFFIByteArrayPtr)->type_key,
             "TVMFFIByteArray*");
  CHECK_INT(TVMFFIGetTypeInfo(kTVMFFIObject)->metadata->total_size,
            sizeof(TVMFFIObject));
  CHECK(TVMFFIGetTypeInfo(kTVMFFIInt)->metadata == NULL);
}

static void test_unknown_types(TVMFFI_HERE) {
  TVMFFIByteArray key = TEXT("unit.Nobody"), null = {NULL, 1};
  TVMFFIByteArray empty = {NULL, 0};
  int32_t index = 5;
  FAILS(TVMFFIGetTypeInfo(63) == NULL, "InternalError",
        "Cannot find type info for type_index=63");
  FAILS(TVMFFIGetTypeInfo(-1) == NULL, "InternalError", NULL);
  FAILS(TVMFFIGetTypeInfo(-2147483647) == NULL, "InternalError", NULL);
  FAILS(TVMFFIGetTypeInfo(2147483647) == NULL, "InternalError", NULL);
  FAILS(TVMFFITypeKeyToIndex(&key, &index), "InternalError",
        "Cannot find type `unit.Nobody`");
  FAILS(TVMFFITypeKeyToIndex(&empty, &index), "InternalError",
        "Cannot find type ``");
  FAILS(TVMFFITypeKeyToIndex(&null, &index), "ValueError", NULL);
  FAILS(TVMFFITypeKeyToIndex(NULL, &index), "ValueError", NULL);
  FAILS(TVMFFITypeKeyToIndex(&key, NULL), "ValueError", NULL);
  CHECK_INT(index, 5);
  CHECK_INT(test_type("unit.Nobody", -1, 1, 0, 1, -2), -2);
  CHECK_INT(test_type("ffi.Error", -1, 9, 0, 1, -2), kTVMFFIError);
}

static void test_static_type(TVMFFI_HERE) {
  const TVMFFITypeInfo *info;
  int32_t index = test_type("unit.Static", 100, 1, 0, 0, kTVMFFIObject);
  OK(index < 0 ? -1 : 0);
  CHECK_INT(index, 100);
  CHECK_INT(test_type("unit.Static", 100, 1, 0, 0, kTVMFFIObject), 100);
  info = TVMFFIGetTypeInfo(100);
  CHECK(info && info->type_depth == 1);
  CHECK_TEXT(info->type_key, "unit.Static");
  index = test_type("unit.Value", 20, 0, 0, 0, -1);
  OK(index < 0 ? -1 : 0);
  info = TVMFFIGetTypeInfo(20);
  CHECK(index == 20 && info && info->type_depth == 0);
  FAILS(test_type("unit.Other", 100, 1, 0, 0, kTVMFFIObject) == -1,
        "InternalError",
        "Conflicting static index 100 between unit.Static and unit.Other");
  FAILS(test_type("unit.Static", 101, 1, 0, 0, kTVMFFIObject) == -1,
        "RuntimeError",
        "Type `unit.Static` is already registered with index 100, depth 1 and "
        "parent `ffi.Object`, but is registered again with index 101, depth 1 "
        "and parent `ffi.Object`");
  FAILS(test_type("unit.Static", 0, 1, 0, 0, kTVMFFIObject) == -1,
        "RuntimeError", "...again with index 0, depth 1");
  FAILS(test_type("unit.Value", -1, 0, 0, 0, kTVMFFIObject) == -1,
        "RuntimeError",
        "Type `unit.Value` is already registered with index 20, depth 0 and "
        "parent `no parent`, but is registered again with index 20, depth 0 "
        "and parent `ffi.Object`");
  FAILS(test_type("unit.Static", 100, 0, 0, 0, -1) == -1, "RuntimeError",
        "...depth 0 and parent `no parent`");
  /* A class whose key is its parent's is the same type. */
  CHECK_INT(test_type("unit.Static", -1, 2, 0, 0, 100), 100);
  FAILS(test_type("unit.Static", 101, 2, 0, 0, 100) == -1, "RuntimeError",
        "...with index 101, depth 2 and parent `unit.Static`");
}

static void test_dynamic_types(TVMFFI_HERE) {
  const TVMFFITypeInfo *info;
  const char *key_a = test_fresh("unit.A"), *key_b = test_fresh("unit.B");
  const char *key_c = test_fresh("unit.C");
  int32_t a, b, c, key_index = 0;
  TVMFFIByteArray key;
  NEW_TYPE(a, key_a, 1, 0, 1, kTVMFFIObject);
  CHECK(a >= kTVMFFIDynObjectBegin);
  NEW_TYPE(b, key_b, 2, 0, 1, a);
  NEW_TYPE(c, key_c, 3, 0, 1, b);
  CHECK(a != b && b != c);
  CHECK_INT(test_type(key_c, -1, 3, 7, 0, b), c);
  info = TVMFFIGetTypeInfo(c);
  if (!CHECK(info != NULL)) return;
  CHECK_TEXT(info->type_key, key_c);
  CHECK_INT(info->type_depth, 3);
  CHECK_INT(info->type_ancestors[0]->type_index, kTVMFFIObject);
  CHECK_INT(info->type_ancestors[1]->type_index, a);
  CHECK_INT(info->type_ancestors[2]->type_index, b);
  CHECK(info->num_fields == 0 && info->num_methods == 0);
  CHECK(info->fields == NULL && info->methods == NULL && !info->metadata);
  key = TEXT(key_b);
  OK(TVMFFITypeKeyToIndex(&key, &key_index));
  CHECK_INT(key_index, b);
  CHECK(tvmffi_is_instance(c, c) && tvmffi_is_instance(c, b));
  CHECK(tvmffi_is_instance(c, a) && tvmffi_is_instance(c, kTVMFFIObject));
  CHECK(!tvmffi_is_instance(b, c) && !tvmffi_is_instance(a, kTVMFFIError));
  CHECK(!tvmffi_is_instance(kTVMFFIObject, a));
  CHECK(!tvmffi_is_instance(kTVMFFIInt, kTVMFFIObject));
  CHECK(!tvmffi_is_instance(c, kTVMFFIInt));
  CHECK(tvmffi_is_instance(kTVMFFIInt, kTVMFFIInt));
  CHECK(tvmffi_is_instance(kTVMFFIStr, kTVMFFIObject));
  CHECK(!tvmffi_is_instance(1 << 30, a));
  tvmffi_error_clear();
  FAILS(test_type(key_b, -1, 1, 0, 1, kTVMFFIObject) == -1, "RuntimeError",
        "...is already registered with index ");
  FAILS(test_type(key_b, a, 2, 0, 1, a) == -1, "RuntimeError", NULL);
}

static void test_slots(TVMFFI_HERE) {
  const char *closed = test_fresh("unit.Closed");
  const char *open = test_fresh("unit.Open");
  char text[200];
  TVMFFIByteArray got;
  int32_t parent, child, grand;
  size_t at;
  NEW_TYPE(parent, closed, 1, 3, 0, kTVMFFIObject);
  NEW_TYPE(child, test_fresh("unit.Child"), 2, 0, 1, parent);
  CHECK_INT(child, parent + 1);
  NEW_TYPE(child, test_fresh("unit.Child"), 2, 1, 1, parent);
  CHECK_INT(child, parent + 2);
  NEW_TYPE(grand, test_fresh("unit.Grand"), 3, 0, 1, child);
  CHECK_INT(grand, parent + 3);
  /* What no longer fits into a closed parent has no place. */
  FAILS(test_type(test_fresh("unit.Grand"), -1, 3, 0, 1, child) == -1,
        "InternalError", "...Reach maximum number of sub-classes for ");
  FAILS(test_type("unit.TooMany", -1, 2, 0, 1, parent) == -1, "InternalError",
        NULL);
  CHECK_INT(test_type("unit.TooMany", -1, 2, 0, 1, -2), -2);
  NEW_TYPE(parent, open, 1, 1, 1, kTVMFFIObject);
  NEW_TYPE(child, test_fresh("unit.Child"), 2, 0, 1, parent);
  CHECK_INT(child, parent + 1);
  NEW_TYPE(child, test_fresh("unit.Child"), 2, 5, 1, parent);
  CHECK(child > parent + 1);
  NEW_TYPE(grand, test_fresh("unit.Grand"), 3, 0, 1, child);
  CHECK_INT(grand, child + 1);
  CHECK(tvmffi_is_instance(grand, parent));
  at = test_put(text, 0, sizeof(text), open, strlen(open));
  got = TVMFFIGetTypeInfo(parent)->type_key;
  CHECK_BYTES(got, text, at);
}

/* A child does not get a reserved index that a static type has. */
static void test_taken_slots(TVMFFI_HERE) {
  int32_t parent = test_type("unit.Reserves", 115, 1, 2, 1, kTVMFFIObject);
  int32_t child;
  OK(parent < 0 ? -1 : 0);
  OK(test_type("unit.Reserved", 116, 1, 0, 1, kTVMFFIObject) < 0 ? -1 : 0);
  NEW_TYPE(child, test_fresh("unit.Child"), 2, 0, 1, parent);
  CHECK(child >= kTVMFFIDynObjectBegin);
}

/* Types without a parent: one may have children, the other may not. */
static void test_root_types(TVMFFI_HERE) {
  int32_t open = test_type("unit.OpenRoot", 21, 0, 0, 1, -1), closed, child;
  OK(open < 0 ? -1 : 0);
  closed = test_type("unit.ClosedRoot", 22, 0, 0, 0, -1);
  OK(closed < 0 ? -1 : 0);
  NEW_TYPE(child, test_fresh("unit.Child"), 1, 0, 1, open);
  CHECK_INT(TVMFFIGetTypeInfo(child)->type_ancestors[0]->type_index, open);
  FAILS(test_type("unit.Orphan", -1, 1, 0, 1, closed) == -1, "InternalError",
        "Reach maximum number of sub-classes for unit.ClosedRoot, no index is "
        "left for unit.Orphan");
}

static void test_bad_types(TVMFFI_HERE) {
  TVMFFIByteArray null = {NULL, 3}, with_nul = {"unit\0x", 6};
  int32_t next = tvmffi_i_next_index;
  FAILS(TVMFFITypeGetOrAllocIndex(NULL, -1, 1, 0, 1, 64) == -1, "ValueError",
        NULL);
  FAILS(TVMFFITypeGetOrAllocIndex(&null, -1, 1, 0, 1, 64) == -1, "ValueError",
        NULL);
  FAILS(TVMFFITypeGetOrAllocIndex(&with_nul, -1, 1, 0, 1, 64) == -1,
        "ValueError", "A type key must be a text");
  FAILS(test_type("", -1, 1, 0, 1, kTVMFFIObject) == -1, "ValueError",
        "A type key must be a text");
  FAILS(test_type("unit.Bad", -1, 2, 0, 1, kTVMFFIObject) == -1,
        "InternalError", "Type `unit.Bad` cannot have depth 2 under parent 64");
  FAILS(test_type("unit.Bad", -1, -1, 0, 1, kTVMFFIObject) == -1,
        "InternalError", NULL);
  FAILS(test_type("unit.Bad", 110, 1, 0, 1, -1) == -1, "InternalError", NULL);
  FAILS(test_type("unit.Bad", -1, 0, 0, 1, -1) == -1, "InternalError",
        "Type `unit.Bad` cannot have static index -1 under parent -1");
  FAILS(test_type("unit.Bad", -1, 1, -1, 1, kTVMFFIObject) == -1, "ValueError",
        "Type `unit.Bad` cannot reserve -1 child slots");
  FAILS(test_type("unit.Bad", -1, 1, (1 << 20) + 1, 1, kTVMFFIObject) == -1,
        "ValueError", NULL);
  FAILS(test_type("unit.Bad", 127, 1, 1, 1, kTVMFFIObject) == -1,
        "InternalError",
        "Type `unit.Bad` cannot have static index 127 under parent 64");
  FAILS(test_type("unit.Bad", kTVMFFIObject, 1, 0, 1, kTVMFFIObject) == -1,
        "InternalError",
        "Type `unit.Bad` cannot have static index 64 under parent 64");
  FAILS(test_type("unit.Bad", 128, 1, 0, 1, kTVMFFIObject) == -1,
        "InternalError",
        "Type `unit.Bad` cannot have static index 128 under parent 64");
  FAILS(test_type("unit.Bad", 14, 1, 0, 1, kTVMFFIObject) == -1,
        "InternalError", NULL);
  FAILS(test_type("unit.Bad", 120, 1, 8, 1, kTVMFFIObject) == -1,
        "InternalError", NULL);
  FAILS(test_type("unit.Bad", -1, 1, 0, 1, 1 << 30) == -1, "InternalError",
        "Cannot find type info for type_index=1073741824");
  FAILS(test_type("unit.Bad", -1, 1, 0, 1, 62) == -1, "InternalError", NULL);
  /* No index is left. */
  tvmffi_i_next_index = 0x7F000000;
  FAILS(test_type("unit.Bad", -1, 1, 0, 1, kTVMFFIObject) == -1, "MemoryError",
        NULL);
  tvmffi_i_next_index = next;
  CHECK_INT(test_type("unit.Bad", -1, 1, 0, 1, -2), -2);
}

/* A thread that comes second finds the type made: the same, or another. */
static void test_raced_types(TVMFFI_HERE) {
  TVMFFIByteArray key = TEXT("ffi.Error");
  tvmffi_i_type_request r = {NULL, -1, 1, 0, 1, NULL};
  r.key = &key;
  OK(TVMFFIGetTypeInfo(kTVMFFIObject) ? 0 : -1);
  r.parent = tvmffi_i_type_at(kTVMFFIObject);
  {
    int32_t index = tvmffi_i_make_type(&r);
    OK(index < 0 ? -1 : 0);
    CHECK_INT(index, kTVMFFIError);
  }
  r.parent = tvmffi_i_type_at(kTVMFFIInt);
  FAILS(tvmffi_i_make_type(&r) == -1, "RuntimeError",
        "...`ffi.Error` is already registered with index 67, depth 1 and "
        "parent `ffi.Object`, but is registered again");
}

static void test_table_growth(TVMFFI_HERE) {
  int32_t index = tvmffi_i_types->capacity, failed;
  tvmffi_i_lock();
  failed = tvmffi_i_grow_types(index);
  tvmffi_i_unlock();
  if (failed) {
    CHECK(test_hits() && tvmffi_i_types->capacity == index);
    return;
  }
  CHECK(!test_hits() && tvmffi_i_types->capacity > index);
  CHECK(tvmffi_i_type_at(index) == NULL);
  CHECK(TVMFFIGetTypeInfo(kTVMFFIError) != NULL);
}

/* Tables whose slots are used up by names that are gone get new slots. */
static void test_renewed_slots(TVMFFI_HERE) {
  const char *text = test_fresh("unit.Renewed");
  TVMFFIByteArray name = TEXT(text);
  int32_t index;
  OK(TVMFFIGetTypeInfo(kTVMFFIObject) ? 0 : -1);
  tvmffi_i_type_keys.used = tvmffi_i_type_keys.table->mask;
  NEW_TYPE(index, text, 1, 0, 1, kTVMFFIObject);
  CHECK_INT(tvmffi_i_type_keys.used, tvmffi_i_type_keys.count);
  CHECK_INT(test_type(text, -1, 1, 0, 1, kTVMFFIObject), index);
  OK(TVMFFITypeRegisterAttr(kTVMFFINone, &name, NULL));
  tvmffi_i_columns.used = tvmffi_i_columns.table->mask;
  name = TEXT(test_fresh("unit.Renewed"));
  OK(TVMFFITypeRegisterAttr(kTVMFFINone, &name, NULL));
  CHECK_INT(tvmffi_i_columns.used, tvmffi_i_columns.count);
  CHECK(TVMFFIGetTypeAttrColumn(&name) != NULL);
}

#if !TVMFFI_FREESTANDING
/* A type that reserves all indices of the table makes the table grow. */
static void test_growing_type(TVMFFI_HERE) {
  const int32_t capacity = tvmffi_i_types->capacity;
  const char *key = test_fresh("unit.Grows");
  int32_t index =
      test_type(key, -1, 1, capacity - tvmffi_i_next_index, 1, kTVMFFIObject);
  if (index < 0) CHECK_INT(tvmffi_i_types->capacity, capacity);
  OK(index < 0 ? -1 : 0);
  CHECK(tvmffi_i_types->capacity > capacity);
  CHECK_TEXT(TVMFFIGetTypeInfo(index)->type_key, key);
}
#endif

static void test_many_types(TVMFFI_HERE) {
  static int32_t index[TEST_MANY_TYPES];
  int i, n = test_scale(TEST_MANY_TYPES, 3);
  static char first[64];
  const char *key = test_fresh("unit.Many.");
  (void)test_put(first, 0, sizeof(first), key, strlen(key));
  for (i = 0; i < n; ++i) {
    char text[80], number[24], *digits;
    size_t at = test_put(text, 0, sizeof(text), first, strlen(first));
    at = test_put(text, at, sizeof(text), ".", 1);
    digits = test_digits(number + sizeof(number), i);
    (void)test_put(text, at, sizeof(text), digits, strlen(digits));
    NEW_TYPE(index[i], text, i % 3 ? 2 : 1, i % 5, 1,
             i % 3 ? index[i - i % 3] : kTVMFFIObject);
  }
  /* The table has grown, and is empty behind them. */
  FAILS(TVMFFIGetTypeInfo(tvmffi_i_types->capacity - 1) == NULL,
        "InternalError", NULL);
  FAILS(TVMFFIGetTypeInfo(tvmffi_i_types->capacity) == NULL, "InternalError",
        NULL);
  for (i = 0; i < n; ++i) {
    const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(index[i]);
    int32_t found = -1;
    if (!CHECK(info != NULL)) return;
    OK(TVMFFITypeKeyToIndex(&info->type_key, &found));
    CHECK_INT(found, index[i]);
    CHECK_INT(info->type_index, index[i]);
    CHECK_INT(info->type_depth, i % 3 ? 2 : 1);
    if (i % 3) CHECK(tvmffi_is_instance(index[i], index[i - i % 3]));
    if (i % 3) CHECK(!tvmffi_is_instance(index[i - i % 3], index[i]));
  }
}

static int test_creator(TVMFFIObjectHandle *result) {
  *result = NULL;
  return 0;
}

static void test_fields(TVMFFI_HERE) {
  static const char *const names[] = {"a", "b", "c", "d", "e",
                                      "f", "g", "h", "i", "j"};
  const TVMFFITypeInfo *info;
  TVMFFIFieldInfo f;
  int32_t index, i;
  NEW_TYPE(index, test_fresh("unit.Fields"), 1, 0, 1, kTVMFFIObject);
  for (i = 0; i < TEST_COUNT(names); ++i) {
    f = test_field(names[i], 24 + 4 * i);
    f.doc = TEXT("what it is");
    if (i == 3) {
      f.metadata = TEXT("{}");
      f.default_value_or_factory = tvmffi_str("a long default");
      f.flags |= kTVMFFIFieldFlagBitMaskHasDefault;
    }
    OK(TVMFFITypeRegisterField(index, &f));
  }
  info = TVMFFIGetTypeInfo(index);
  CHECK_INT(info->num_fields, 10);
  for (i = 0; i < info->num_fields; ++i) {
    const TVMFFIFieldInfo *g = &info->fields[i];
    CHECK_TEXT(g->name, names[i]);
    CHECK(g->name.data != names[i] && g->name.data[1] == 0);
    CHECK_TEXT(g->doc, "what it is");
    CHECK(g->doc.data != f.doc.data);
    CHECK(g->offset == 24 + 4 * i && g->size == 4 && g->alignment == 4);
    CHECK(g->getter == test_getter && g->setter == f.setter);
    CHECK_INT(g->field_static_type_index, kTVMFFIInt);
    if (i == 3) {
      CHECK_TEXT(g->metadata, "{}");
      CHECK_INT(g->default_value_or_factory.type_index, kTVMFFIStr);
      CHECK_TEXT(tvmffi_any_str(&g->default_value_or_factory),
                 "a long default");
    } else {
      CHECK(g->metadata.data == NULL && g->metadata.size == 0);
      CHECK_INT(g->default_value_or_factory.type_index, kTVMFFINone);
    }
  }
  f = test_field("e", 24 + 4 * 4);
  OK(TVMFFITypeRegisterField(index, &f));
  CHECK_INT(info->num_fields, 10);
  f.offset += 4;
  FAILS(TVMFFITypeRegisterField(index, &f), "InternalError",
        "...Duplicate field name \"e\" in type \"unit.Fields");
  f = test_field("e", 24 + 4 * 4);
  f.size = 8;
  FAILS(TVMFFITypeRegisterField(index, &f), "InternalError", NULL);
  f = test_field("e", 24 + 4 * 4);
  f.setter = NULL;
  FAILS(TVMFFITypeRegisterField(index, &f), "InternalError", NULL);
  f = test_field("e", 24 + 4 * 4);
  f.getter = NULL;
  FAILS(TVMFFITypeRegisterField(index, &f), "InternalError", NULL);
  CHECK_INT(info->num_fields, 10);
}

/* A field whose setter is a function object, and one that hides a parent's. */
static void test_special_fields(TVMFFI_HERE) {
  TVMFFIObjectHandle function = NULL;
  TVMFFIFieldInfo f = test_field("x", 24);
  int32_t parent, child;
  NEW_TYPE(parent, test_fresh("unit.Parent"), 1, 0, 1, kTVMFFIObject);
  NEW_TYPE(child, test_fresh("unit.Child"), 2, 0, 1, parent);
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &function));
  OWN(function);
  f.flags |= kTVMFFIFieldFlagBitSetterIsFunctionObj;
  f.setter = function;
  OK(TVMFFITypeRegisterField(parent, &f));
  CHECK_INT(test_strong(function), 2);
  OK(TVMFFITypeRegisterField(parent, &f));
  CHECK_INT(test_strong(function), 2);
  f.setter = NULL;
  FAILS(TVMFFITypeRegisterField(parent, &f), "ValueError", NULL);
  f.setter = &tvmffi_i_memory_error;
  FAILS(TVMFFITypeRegisterField(parent, &f), "TypeError",
        "...is expected to be ffi.Function but is ffi.Error");
  OK(test_derive("unit.FunctionLike", 118, kTVMFFIFunction));
  ((TVMFFIObject *)function)->type_index = 118;
  f.name = TEXT("y");
  f.setter = function;
  OK(TVMFFITypeRegisterField(parent, &f));
  CHECK_INT(test_strong(function), 3);
  f = test_field("x", 24);
  if (!test_oom) OK(TVMFFITypeRegisterField(child, &f)); /* with a warning */
}

#if !TVMFFI_NO_CONTAINERS && !TVMFFI_NO_REFLECTION
/* The members of a built-in type are like those of other types. */
static void test_builtin_members(TVMFFI_HERE) {
  TVMFFIByteArray key = TEXT("ffi.reflection.AccessPath");
  TVMFFIObject *other = test_global("ffi.String");
  const TVMFFITypeInfo *info;
  TVMFFIFieldInfo f;
  TVMFFIMethodInfo m;
  tvmffi_i_members members;
  int32_t index = 0, num_fields, num_methods, found[2];
  if (!other) return;
  OK(TVMFFITypeKeyToIndex(&key, &index));
  info = TVMFFIGetTypeInfo(index);
  num_fields = info->num_fields;
  num_methods = info->num_methods;
  f = info->fields[num_fields - 1];
  OK(TVMFFITypeRegisterField(index, &f));
  f.offset += 8;
  FAILS(TVMFFITypeRegisterField(index, &f), "InternalError",
        "...in type \"ffi.reflection.AccessPath\"");
  if (num_methods) {
    m = info->methods[num_methods - 1];
    OK(TVMFFITypeRegisterMethod(index, &m));
    m.method = tvmffi_obj(other);
    FAILS(TVMFFITypeRegisterMethod(index, &m), "InternalError",
          "...in type \"ffi.reflection.AccessPath\"");
    /* Another signature would be a new member. */
    members = tvmffi_i_type_methods(tvmffi_i_type_at(index));
    m.metadata = TEXT("another signature");
    tvmffi_i_lock();
    found[0] = tvmffi_i_member_number(&members, &m.name, NULL);
    found[1] = tvmffi_i_member_number(&members, &m.name, &m.metadata);
    tvmffi_i_unlock();
    CHECK_INT(found[0], num_methods - 1);
    CHECK_INT(found[1], -1);
  }
  CHECK_INT(info->num_fields, num_fields);
  CHECK_INT(info->num_methods, num_methods);
}

/* When the runtime makes a type's objects by their fields, a new field must be
   one that they can have. */
static void test_made_fields(TVMFFI_HERE) {
  TVMFFIFieldInfo f = test_field("x", 24);
  int32_t index;
  NEW_TYPE(index, test_fresh("unit.Made"), 1, 0, 1, kTVMFFIObject);
  f.field_static_type_index = kTVMFFIAny; /* too small for an Any: plain */
  OK(TVMFFITypeRegisterField(index, &f));
  OK(tvmffi_call(tvmffi_str("ffi._PyClassRegisterTypeAttrColumns"),
                 tvmffi_out_none(NULL), tvmffi_int(index), tvmffi_int(48)));
  f = test_field("y", 0);
  f.size = 0;
  OK(TVMFFITypeRegisterField(index, &f));
  f = test_field("z", 20);
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError",
        "...is outside the object");
  f.offset = 32;
  f.size = sizeof(TVMFFIAny);
  f.field_static_type_index = kTVMFFIAny;
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError",
        "...has a reference type, but the layout of its type is fixed");
  f.size = 12;
  OK(TVMFFITypeRegisterField(index, &f));
}
#endif

static void test_bad_fields(TVMFFI_HERE) {
  TVMFFIFieldInfo f = test_field("x", 24);
  TVMFFIByteArray null = {NULL, 3};
  FAILS(TVMFFITypeRegisterField(kTVMFFIError, NULL), "ValueError", NULL);
  FAILS(TVMFFITypeRegisterField(63, &f), "InternalError", NULL);
  f.name = null;
  FAILS(TVMFFITypeRegisterField(kTVMFFIError, &f), "ValueError", NULL);
  f = test_field("x", 24);
  f.doc = null;
  FAILS(TVMFFITypeRegisterField(kTVMFFIError, &f), "ValueError", NULL);
  f = test_field("x", 24);
  f.metadata = null;
  FAILS(TVMFFITypeRegisterField(kTVMFFIError, &f), "ValueError", NULL);
  f = test_field("x", 24);
  f.flags |= kTVMFFIFieldFlagBitMaskHasDefault;
  f.default_value_or_factory.type_index = 63;
  FAILS(TVMFFITypeRegisterField(kTVMFFIError, &f), "TypeError", NULL);
  CHECK_INT(TVMFFIGetTypeInfo(kTVMFFIError)->num_fields, 0);
}

/* Records of a field that lie about it. */
static void test_false_fields(TVMFFI_HERE) {
  static const struct {
    int64_t offset, size, alignment;
    const char *message;
  } rows[] = {{24, -1, 4, "is outside the object"},
              {24, INT64_MIN, 4, "is outside the object"},
              {24, INT64_MAX, 4, "is outside the object"},
              {24, (int64_t)INT32_MAX + 1, 4, "is outside the object"},
              {INT64_MAX, 4, 4, "is outside the object"},
              {(int64_t)INT32_MAX + 1, 4, 4, "is outside the object"},
              {INT64_MIN, 4, 4, "is outside the object"},
              {-(int64_t)INT32_MAX - 1, 4, 4, "is outside the object"},
              {24, 4, 3, "has an alignment that is no power of 2"},
              {24, 4, -4, "has an alignment that is no power of 2"},
              {24, 4, INT64_MIN, "has an alignment that is no power of 2"}};
  const char *key = test_fresh("unit.False");
  char message[160];
  tvmffi_i_text text = {message, 0, sizeof(message)};
  TVMFFIFieldInfo f;
  int32_t index, i;
  NEW_TYPE(index, key, 1, 0, 1, kTVMFFIObject);
  for (i = 0; i < TEST_COUNT(rows); ++i) {
    f = test_field("x", rows[i].offset);
    f.size = rows[i].size;
    f.alignment = rows[i].alignment;
    text.size = 0;
    tvmffi_i_append(&text, "Field `x` of type `");
    tvmffi_i_append(&text, key);
    tvmffi_i_append(&text, "` ");
    tvmffi_i_append(&text, rows[i].message);
    FAILS(TVMFFITypeRegisterField(index, &f), "ValueError", message);
  }
  f = test_field("x", 24);
  f.getter = NULL;
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError", "...has no getter");
  f = test_field("x", 24);
  f.setter = NULL;
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError",
        "...is writable and has no setter");
  f = test_field("", 24);
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError", "...has no name");
  CHECK_INT(TVMFFIGetTypeInfo(index)->num_fields, 0);
  f = test_field("first", -INT32_MAX);
  OK(TVMFFITypeRegisterField(index, &f));
  f = test_field("last", INT32_MAX);
  OK(TVMFFITypeRegisterField(index, &f));
  f = test_field("large", 24);
  f.size = INT32_MAX;
  OK(TVMFFITypeRegisterField(index, &f));
  f = test_field("computed", 0);
  f.size = f.alignment = f.flags = 0;
  f.setter = NULL;
  OK(TVMFFITypeRegisterField(index, &f));
}

/* A type's size and its fields come in either order, and fit together. */
static void test_fields_and_size(TVMFFI_HERE) {
  TVMFFIFieldInfo f = test_field("x", 40);
  TVMFFITypeMetadata m;
  int32_t parent, index;
  memset((void *)&m, 0, sizeof(m));
  m.total_size = 40;
  NEW_TYPE(index, test_fresh("unit.Sized"), 1, 0, 1, kTVMFFIObject);
  OK(TVMFFITypeRegisterMetadata(index, &m));
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError",
        "...is outside the object");
  f.offset = 38;
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError", NULL);
  f.offset = -20; /* an object of C++ may begin before its header, if it ends */
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError", NULL);
  f.offset = -16;
  OK(TVMFFITypeRegisterField(index, &f));
  f = test_field("y", 36);
  OK(TVMFFITypeRegisterField(index, &f));
  f = test_field("computed", 48);
  f.size = 0;
  OK(TVMFFITypeRegisterField(index, &f));
  NEW_TYPE(parent, test_fresh("unit.Parent"), 1, 0, 1, kTVMFFIObject);
  NEW_TYPE(index, test_fresh("unit.Child"), 2, 0, 1, parent);
  f = test_field("x", 40);
  OK(TVMFFITypeRegisterField(parent, &f));
  FAILS(TVMFFITypeRegisterMetadata(index, &m), "ValueError",
        "...is not within its 40 bytes");
  FAILS(TVMFFITypeRegisterMetadata(parent, &m), "ValueError", NULL);
  m.total_size = -1;
  FAILS(TVMFFITypeRegisterMetadata(index, &m), "ValueError",
        "...cannot have size -1");
  m.total_size = 23;
  FAILS(TVMFFITypeRegisterMetadata(index, &m), "ValueError", NULL);
  CHECK(!TVMFFIGetTypeInfo(index)->metadata);
  m.total_size = 44;
  OK(TVMFFITypeRegisterMetadata(index, &m));
  NEW_TYPE(index, test_fresh("unit.Smallest"), 1, 0, 1, kTVMFFIObject);
  m.total_size = 24;
  OK(TVMFFITypeRegisterMetadata(index, &m));
  m.total_size = 0;
  OK(TVMFFITypeRegisterMetadata(parent, &m));
}

static void test_methods(TVMFFI_HERE) {
  static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
  const TVMFFITypeInfo *info;
  TVMFFIObjectHandle function = NULL, other = NULL;
  TVMFFIMethodInfo m;
  TVMFFIByteArray null = {NULL, 3};
  int32_t index, i;
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &function));
  OWN(function);
  NEW_TYPE(index, test_fresh("unit.Methods"), 1, 0, 1, kTVMFFIObject);
  for (i = 0; i < TEST_COUNT(names); ++i) {
    m = test_method(names[i], tvmffi_obj(function));
    m.doc = TEXT("what it does");
    m.flags = i;
    OK(TVMFFITypeRegisterMethod(index, &m));
  }
  info = TVMFFIGetTypeInfo(index);
  CHECK_INT(info->num_methods, 6);
  CHECK_INT(test_strong(function), 7);
  for (i = 0; i < info->num_methods; ++i) {
    CHECK_TEXT(info->methods[i].name, names[i]);
    CHECK_TEXT(info->methods[i].doc, "what it does");
    CHECK_INT(info->methods[i].flags, i);
    CHECK(info->methods[i].method.v_obj == function);
  }
  OK(TVMFFITypeRegisterMethod(index, &m));
  CHECK_INT(info->num_methods, 6);
  CHECK_INT(test_strong(function), 7);
  m.metadata = TEXT("another signature");
  OK(TVMFFITypeRegisterMethod(index, &m));
  CHECK_INT(info->num_methods, 7);
  CHECK_TEXT(info->methods[6].metadata, "another signature");
  CHECK_INT(test_strong(function), 8);
  OK(TVMFFITypeRegisterMethod(index, &m));
  CHECK_INT(info->num_methods, 7);
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &other));
  OWN(other);
  m = test_method("f", tvmffi_obj(other));
  FAILS(TVMFFITypeRegisterMethod(index, &m), "InternalError",
        "...Duplicate method name \"f\" in type \"unit.Methods");
  m = test_method("g", tvmffi_int(1));
  FAILS(TVMFFITypeRegisterMethod(index, &m), "TypeError",
        "Cannot convert from type `int` to `ffi.Function`");
  m = test_method("g", tvmffi_obj(&tvmffi_i_memory_error));
  FAILS(TVMFFITypeRegisterMethod(index, &m), "TypeError", NULL);
  m = test_method("g", tvmffi_obj(other));
  FAILS(TVMFFITypeRegisterMethod(63, &m), "InternalError", NULL);
  m.name = null;
  FAILS(TVMFFITypeRegisterMethod(index, &m), "ValueError", NULL);
  m = test_method("g", tvmffi_int(1));
  m.doc = null;
  FAILS(TVMFFITypeRegisterMethod(index, &m), "ValueError", NULL);
  m = test_method("g", tvmffi_int(1));
  m.metadata = null;
  FAILS(TVMFFITypeRegisterMethod(index, &m), "ValueError", NULL);
  FAILS(TVMFFITypeRegisterMethod(index, NULL), "ValueError", NULL);
  CHECK_INT(info->num_methods, 7);
}

/* Sets *name to `begin` and the number i. */
static void test_numbered(TVMFFIByteArray *name, char *text, size_t capacity,
                          const char *begin, int i) {
  char number[24], *digits = test_digits(number + sizeof(number), i);
  size_t at = test_put(text, 0, capacity, begin, strlen(begin));
  name->data = text;
  name->size = test_put(text, at, capacity, digits, strlen(digits));
}

/* All names of a type with many members are found, each in an index that grows
   with them. */
static void test_many_members(TVMFFI_HERE) {
  const int32_t most = TEST_MANY_TYPES < 300 ? TEST_MANY_TYPES : 300;
  const int32_t n = test_scale(most, 20);
  int32_t index, i;
  TVMFFIObjectHandle function = NULL, other = NULL;
  const TVMFFITypeInfo *info;
  char name[40], signature[40];
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &function));
  OWN(function);
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &other));
  OWN(other);
  NEW_TYPE(index, test_fresh("unit.ManyMembers"), 1, 0, 1, kTVMFFIObject);
  info = TVMFFIGetTypeInfo(index);
  for (i = 0; i < 4 * n; ++i) {
    TVMFFIMethodInfo m = test_method("", tvmffi_obj(function));
    TVMFFIFieldInfo f = test_field("", 24);
    const int32_t k = i % n;
    test_numbered(&m.name, name, sizeof(name), "member", k);
    f.name = m.name;
    f.size = 0;
    if (i >= 2 * n) { /* a signature of the name, then the same again */
      test_numbered(&m.metadata, signature, sizeof(signature), "signature", k);
      m.name = TEXT("member0");
      f.flags = 1 << 20;
      FAILS(TVMFFITypeRegisterField(index, &f), "InternalError", NULL);
    } else {
      OK(TVMFFITypeRegisterField(index, &f));
    }
    OK(TVMFFITypeRegisterMethod(index, &m));
    m.method = tvmffi_obj(other);
    FAILS(TVMFFITypeRegisterMethod(index, &m), "InternalError", NULL);
    CHECK_INT(info->num_fields, i < n ? i + 1 : n);
    CHECK_INT(info->num_methods,
              i < n ? i + 1 : i < 2 * n ? n : i < 3 * n ? i + 1 - n : 2 * n);
  }
}

static void test_metadata(TVMFFI_HERE) {
  TVMFFITypeMetadata m;
  const TVMFFITypeMetadata *got;
  TVMFFIByteArray null = {NULL, 3};
  int32_t index;
  memset((void *)&m, 0, sizeof(m));
  m.doc = TEXT("a type");
  m.creator = test_creator;
  m.total_size = 40;
  m.structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  NEW_TYPE(index, test_fresh("unit.Metadata"), 1, 0, 1, kTVMFFIObject);
  OK(TVMFFITypeRegisterMetadata(index, &m));
  got = TVMFFIGetTypeInfo(index)->metadata;
  if (!CHECK(got != NULL)) return;
  CHECK_TEXT(got->doc, "a type");
  CHECK(got->doc.data != m.doc.data && got->creator == test_creator);
  CHECK_INT(got->total_size, 40);
  CHECK_INT(got->structural_eq_hash_kind, kTVMFFISEqHashKindTreeNode);
  OK(TVMFFITypeRegisterMetadata(index, &m));
  m.total_size = 48;
  FAILS(TVMFFITypeRegisterMetadata(index, &m), "RuntimeError",
        "...Overriding unit.Metadata");
  m.total_size = 40;
  m.creator = NULL;
  FAILS(TVMFFITypeRegisterMetadata(index, &m), "RuntimeError", NULL);
  m.creator = test_creator;
  m.structural_eq_hash_kind = kTVMFFISEqHashKindDAGNode;
  FAILS(TVMFFITypeRegisterMetadata(index, &m), "RuntimeError", NULL);
  CHECK_INT(got->total_size, 40);
  FAILS(TVMFFITypeRegisterMetadata(63, &m), "InternalError", NULL);
  FAILS(TVMFFITypeRegisterMetadata(index, NULL), "ValueError", NULL);
  m.doc = null;
  FAILS(TVMFFITypeRegisterMetadata(index, &m), "ValueError", NULL);
}

/* The value of a type in a column, None where it has none. */
static TVMFFIAny test_attr(const TVMFFITypeAttrColumn *c, int32_t index) {
  if (index < c->begin_index || index >= c->begin_index + c->size)
    return tvmffi_none();
  return c->data[index - c->begin_index];
}

/* A column has slots for 256 types at first. It at least doubles, and no more
   than a distant type needs. */
static void test_column_steps(void) {
  static const int32_t indices[] = {0, 255, 256, 511, 512, 1023, 5000};
  static const int32_t capacities[] = {256, 256, 512, 512, 1024, 1024, 5001};
  tvmffi_i_column c;
  int i, code = 0;
  memset((void *)&c, 0, sizeof(c));
  tvmffi_i_lock();
  for (i = 0; i < TEST_COUNT(indices) && !code; ++i) {
    const void *const before = c.column.data;
    const int32_t capacity = c.capacity;
    code = tvmffi_i_reserve_attr(&c, indices[i], 0);
    if (code) break;
    CHECK_INT(c.capacity, capacities[i]);
    CHECK((c.column.data == before) == (c.capacity == capacity));
    CHECK(!c.column.begin_index);
    if (c.column.data != before) tvmffi_i_free((void *)(uintptr_t)before);
  }
  tvmffi_i_unlock();
  tvmffi_i_free((void *)(uintptr_t)c.column.data);
  CHECK(!code || test_hits());
}

static void test_columns(TVMFFI_HERE) {
  const char *text = test_fresh("unit_attr");
  TVMFFIByteArray name = TEXT(text);
  const TVMFFITypeAttrColumn *c;
  TVMFFIAny value = tvmffi_str("a long attribute"), got;
  int32_t index, distant, i;
  CHECK(TVMFFIGetTypeAttrColumn(&name) == NULL);
  OK(TVMFFITypeRegisterAttr(kTVMFFINone, &name, NULL));
  c = TVMFFIGetTypeAttrColumn(&name);
  if (!CHECK(c != NULL)) return;
  CHECK_INT(c->size, 0);
  CHECK_INT(test_asked((const char *)c - offsetof(tvmffi_i_column, column)),
            sizeof(tvmffi_i_column) + name.size + 1);
  OK(TVMFFITypeRegisterAttr(kTVMFFINone, &name, NULL));
  OK(TVMFFITypeRegisterAttr(kTVMFFIError, &name, &value));
  CHECK(TVMFFIGetTypeAttrColumn(&name) == c);
  got = test_attr(c, kTVMFFIError);
  CHECK_INT(got.type_index, kTVMFFIStr);
  CHECK_TEXT(tvmffi_any_str(&got), "a long attribute");
  CHECK_INT(test_attr(c, kTVMFFIObject).type_index, kTVMFFINone);
  CHECK_INT(c->begin_index + c->size, kTVMFFIError + 1);
  value = tvmffi_int(68);
  OK(TVMFFITypeRegisterAttr(kTVMFFIFunction, &name, &value));
  CHECK_INT(test_attr(c, kTVMFFIFunction).v_int64, 68);
  value = tvmffi_int(42);
  OK(TVMFFITypeRegisterAttr(kTVMFFIObject, &name, &value));
  OK(TVMFFITypeRegisterAttr(kTVMFFIObject, &name, &value));
  CHECK_INT(test_attr(c, kTVMFFIObject).v_int64, 42);
  value = tvmffi_int(43);
  FAILS(TVMFFITypeRegisterAttr(kTVMFFIObject, &name, &value), "RuntimeError",
        "...is already registered for type index 64. To update the stored "
        "value, register a mutable container (e.g., Dict/List) once");
  CHECK_INT(test_attr(c, kTVMFFIObject).v_int64, 42);
  /* Far away: the column grows, more than once. */
  for (i = 0; i < 3; ++i) {
    NEW_TYPE(distant, test_fresh("unit.Far"), 1, test_scale(700, 10), 1,
             kTVMFFIObject);
    value = tvmffi_int(distant);
    OK(TVMFFITypeRegisterAttr(distant, &name, &value));
    CHECK_INT(test_attr(c, distant).v_int64, distant);
  }
  got = test_attr(c, kTVMFFIError);
  CHECK_TEXT(tvmffi_any_str(&got), "a long attribute");
  CHECK_INT(test_attr(c, kTVMFFIObject).v_int64, 42);
  for (index = 0; index < c->begin_index + c->size; ++index)
    CHECK(test_attr(c, index).zero_padding == 0);
  value = tvmffi_str("short");
  OK(TVMFFITypeRegisterAttr(kTVMFFIShape, &name, &value));
  got = test_attr(c, kTVMFFIShape);
  CHECK_TEXT(tvmffi_any_str(&got), "short");
  {
    TVMFFIByteArray long_text = TEXT("an object that is a value twice");
    OK(TVMFFIStringFromByteArray(&long_text, &value));
    OWN_ANY(value);
    OK(TVMFFITypeRegisterAttr(kTVMFFITensor, &name, &value));
    OK(TVMFFITypeRegisterAttr(kTVMFFITensor, &name, &value));
    CHECK_INT(test_strong(value.v_obj), 2);
  }
}

/* A column that grows for an index has room for it. */
static void test_column_growth(TVMFFI_HERE) {
  static const int32_t indices[] = {255, 256, 511, 512, 2048};
  tvmffi_i_column c;
  TVMFFIAny value = tvmffi_int(1);
  int i, code;
  test_column_steps();
  for (i = 0; i < TEST_COUNT(indices); ++i) {
    memset((void *)&c, 0, sizeof(c));
    tvmffi_i_lock();
    code = tvmffi_i_enter_attr(&c, indices[i], &value);
    tvmffi_i_unlock();
    CHECK(code == 0 || test_hits());
    CHECK(code != 0 || c.capacity > indices[i] - c.column.begin_index);
    CHECK(code != 0 || test_attr(&c.column, indices[i]).v_int64 == 1);
    tvmffi_i_free((void *)c.column.data);
  }
}

/* A column whose array begins at a type takes a lower one, and has no slots
   below that. */
static void test_column_growth_down(TVMFFI_HERE) {
  static const int32_t indices[] = {200, 207, 90, 91, 70, 300};
  static const int32_t begins[] = {200, 200, 90, 90, 70, 70};
  static const int32_t capacities[] = {8, 8, 118, 118, 138, 276};
  tvmffi_i_column c;
  void *arrays[TEST_COUNT(indices)];
  int i, k, code = 0, num_arrays = 0;
  memset((void *)&c, 0, sizeof(c));
  for (i = 0; i < TEST_COUNT(indices) && !code; ++i) {
    TVMFFIAny value = tvmffi_int(indices[i]);
    const TVMFFIAny *before = c.column.data;
    tvmffi_i_lock();
    code = tvmffi_i_reserve_attr(&c, indices[i], 1);
    if (!code) code = tvmffi_i_enter_attr(&c, indices[i], &value);
    tvmffi_i_unlock();
    if (c.column.data != before) arrays[num_arrays++] = (void *)c.column.data;
    CHECK(code || c.column.begin_index == begins[i]);
    CHECK(code || c.capacity == capacities[i]);
    CHECK(code || test_asked(c.column.data) ==
                      (size_t)capacities[i] * sizeof(value) + sizeof(before));
    for (k = 0; !code && k <= i; ++k)
      CHECK_INT(test_attr(&c.column, indices[k]).v_int64, indices[k]);
  }
  CHECK(!code || test_hits());
  CHECK_INT(test_attr(&c.column, 80).type_index, kTVMFFINone);
  while (num_arrays) tvmffi_i_free(arrays[--num_arrays]);
}

/* A column that grows to a distant type has no slots behind it. */
static void test_distant_column(TVMFFI_HERE) {
  enum { DISTANT = 600 };
  tvmffi_i_column c;
  void *first;
  int moves, code;
  for (moves = 0; moves < 2; ++moves) {
    memset((void *)&c, 0, sizeof(c));
    tvmffi_i_lock();
    code = tvmffi_i_reserve_attr(&c, 100, moves);
    first = (void *)(uintptr_t)c.column.data;
    if (!code) code = tvmffi_i_reserve_attr(&c, DISTANT, moves);
    tvmffi_i_unlock();
    CHECK(code || c.column.begin_index == (moves ? 100 : 0));
    CHECK(code || c.column.begin_index + c.capacity == DISTANT + 1);
    if (c.column.data != first) tvmffi_i_free((void *)(uintptr_t)c.column.data);
    tvmffi_i_free(first);
    CHECK(!code || test_hits());
  }
}

static void test_bad_columns(TVMFFI_HERE) {
  TVMFFIByteArray name = TEXT("unit_bad"), null = {NULL, 3}, empty = {NULL, 0};
  TVMFFIAny value = tvmffi_int(1);
  FAILS(TVMFFITypeRegisterAttr(kTVMFFIError, NULL, &value), "ValueError", NULL);
  FAILS(TVMFFITypeRegisterAttr(kTVMFFIError, &null, &value), "ValueError",
        NULL);
  FAILS(TVMFFITypeRegisterAttr(kTVMFFIError, &name, NULL), "ValueError",
        "...TypeRegisterAttr: attr_value must not be NULL");
  FAILS(TVMFFITypeRegisterAttr(63, &name, &value), "InternalError", NULL);
  value.type_index = 63;
  FAILS(TVMFFITypeRegisterAttr(kTVMFFIError, &name, &value), "TypeError", NULL);
  CHECK(TVMFFIGetTypeAttrColumn(&name) == NULL);
  FAILS(TVMFFIGetTypeAttrColumn(NULL) == NULL, "ValueError", NULL);
  FAILS(TVMFFIGetTypeAttrColumn(&null) == NULL, "ValueError", NULL);
  OK(TVMFFITypeRegisterAttr(kTVMFFINone, &empty, NULL));
  CHECK(TVMFFIGetTypeAttrColumn(&empty) != NULL);
}
#endif

static const test_case test_type_cases[] = {
#if !TEST_NO_TYPES
    {"types: those of the ABI", test_abi_types},
    {"types: unknown ones", test_unknown_types},
    {"types: static indices", test_static_type},
    {"types: dynamic indices and ancestors", test_dynamic_types},
    {"types: child slots", test_slots},
    {"types: child slots that are taken", test_taken_slots},
    {"types: those without a parent", test_root_types},
    {"types: those that cannot be", test_bad_types},
    {"types: registered by another thread first", test_raced_types},
    {"types: the table grows", test_table_growth},
    {"types: tables with new slots", test_renewed_slots},
#if !TVMFFI_FREESTANDING
    {"types: one that makes the table grow", test_growing_type},
#endif
    {"types: a thousand", test_many_types},
    {"types: fields", test_fields},
    {"types: fields of special kinds", test_special_fields},
#if !TVMFFI_NO_CONTAINERS && !TVMFFI_NO_REFLECTION
    {"types: members of built-in types", test_builtin_members},
    {"types: fields of objects that the runtime makes", test_made_fields},
#endif
    {"types: fields that cannot be", test_bad_fields},
    {"types: fields that lie", test_false_fields},
    {"types: fields and the size", test_fields_and_size},
    {"types: methods", test_methods},
    {"types: many fields and methods", test_many_members},
    {"types: metadata", test_metadata},
    {"types: attribute columns", test_columns},
    {"types: growing columns", test_column_growth},
    {"types: columns that grow downwards", test_column_growth_down},
    {"types: a column for a distant type", test_distant_column},
    {"types: attributes that cannot be", test_bad_columns},
#endif
    {NULL, NULL}};
