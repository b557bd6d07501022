/* ======== Struct types: structs as types with fields and methods ========== */

#pragma once

#include "harness.h"
#include "type_field.h"
#include "typed_function.h"

#if !TEST_NO_TENSORS
#if !TVMFFI_NO_TYPES
/* Structs as types. */
typedef struct {
  TVMFFIObject base;
  int64_t a, b;
} TestPair;

TVMFFI_TYPE(TestPair, "unit.Pair", TVMFFIObject, (doc, "A pair"),
            (field, int64, a), (doc, "The first"), (field, int64, b, 7),
            (method, total), (doc, "Adds up"), (method, times), (method, twins))

TVMFFI_METHOD(TestPair, total, int64) { TVMFFI_RETURN(self->a + self->b); }
TVMFFI_METHOD(TestPair, times, TestPair, (int64, by), (TestPair, other)) {
  TVMFFI_RETURN(TVMFFI_NEW(TestPair, tvmffi_int(self->a * by + other->a),
                           tvmffi_int(self->b * by + other->b)));
}
TVMFFI_STATIC_METHOD(TestPair, twins, TestPair, (int64, both)) {
  TVMFFI_RETURN(TVMFFI_NEW(TestPair, tvmffi_int(both), tvmffi_int(both)));
}

typedef struct {
  TestPair base;
  TVMFFIAny text, data, any;
  TVMFFIObject *object;
  TestPair *pair;
  int8_t small;
  DLDataType dtype;
  DLDevice device;
  void *ptr;
  tvmffi_type_bool flag;
  int hidden; /* no field */
} TestRecord;

/* A method may stand before the type. */
TVMFFI_METHOD(TestRecord, size, int64) {
  TVMFFI_RETURN((int64_t)tvmffi_any_str(&self->text).size);
}
TVMFFI_FUNC(u_fresh, str) {
  TVMFFI_RETURN(tvmffi_byte_array("from the factory"));
}

TVMFFI_TYPE(TestRecord, "unit.Record", TestPair, (method, size),
            (field, str, text), (field, bytes, data, "some raw bytes"),
            (field, any, any), (factory, u_fresh), (kw_only),
            (field, object, object, NULL), (field, TestPair, pair, NULL),
            (readonly, int8, small, -3), (field, dtype, dtype, "int8x2"),
            (field, device, device, "cuda:3"), (field, ptr, ptr, NULL),
            (field, bool, flag, 1), (flags, kTVMFFIFieldFlagBitMaskInitOff))

typedef struct TestNode {
  TVMFFIObject base;
  struct TestNode *next;
  TVMFFIAny more;
  char letter;
} TestNode;

static void test_node_end(TestNode *self) {
  if (self->letter) test_say(self->letter);
}

TVMFFI_TYPE(TestNode, "unit.Node", TVMFFIObject, (field, TestNode, next, NULL),
            (field, any, more, tvmffi_none()), (destructor, test_node_end))

typedef struct {
  TestNode base;
  char last;
} TestLeaf;

static void test_leaf_end(TestLeaf *self) { test_say(self->last); }
TVMFFI_TYPE(TestLeaf, "unit.Leaf", TestNode, (destructor, test_leaf_end))

static const TVMFFIFieldInfo *test_field_of(int32_t index, const char *name) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(index);
  int32_t i;
  for (i = 0; info && i < info->num_fields; ++i)
    if (tvmffi_i_same(info->fields[i].name, name)) return &info->fields[i];
  return NULL;
}

static int test_set_of(void *object, const char *name, TVMFFIAny value) {
  const TVMFFIFieldInfo *f =
      test_field_of(((TVMFFIObject *)object)->type_index, name);
  return tvmffi_i_class_set_field(f, object, &value);
}

static TVMFFIAny test_get_of(void *object, const char *name) {
  const TVMFFIFieldInfo *f =
      test_field_of(((TVMFFIObject *)object)->type_index, name);
  TVMFFIAny value = tvmffi_none();
  CHECK(!f->getter((char *)object + f->offset, &value));
  return value;
}

static void test_type_registration(TVMFFI_HERE) {
  const TVMFFITypeInfo *info, *pair;
  const TVMFFIFieldInfo *f;
  OK(TVMFFI_REGISTER_TYPE(TestRecord));
  OK(TVMFFI_REGISTER_TYPE(TestRecord));
  pair = TVMFFIGetTypeInfo(TVMFFI_TYPE_INDEX(TestPair));
  info = TVMFFIGetTypeInfo(TVMFFI_TYPE_INDEX(TestRecord));
  CHECK(info->type_depth == 2 && info->type_ancestors[1] == pair);
  CHECK(pair->num_fields == 2 && pair->num_methods == 3);
  CHECK(info->num_fields == 10 && info->num_methods == 1);
  CHECK_TEXT(pair->type_key, "unit.Pair");
  CHECK_TEXT(pair->metadata->doc, "A pair");
  CHECK_INT(info->metadata->total_size, (int)sizeof(TestRecord));
  CHECK_TEXT(pair->methods[0].doc, "Adds up");
  CHECK_INT(pair->methods[0].flags, 0);
  CHECK_INT(pair->methods[2].flags, kTVMFFIFieldFlagBitMaskIsStaticMethod);
#if !TVMFFI_NO_METADATA
  CHECK_TEXT(pair->methods[0].metadata,
             "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\","
             "\\\"named_args\\\":{\\\"return\\\":[{\\\"type\\\":\\\"int\\\"}],"
             "\\\"params\\\":[{\\\"type\\\":\\\"unit.Pair\\\"}]}}\","
             "\"arg_names\":[\"self\"]}");
#endif
  f = &pair->fields[0];
  CHECK_TEXT(f->doc, "The first");
  CHECK(f->flags == kTVMFFIFieldFlagBitMaskWritable && f->size == 8);
  CHECK_INT(f->offset, (int)offsetof(TestPair, a));
  CHECK_INT(f->field_static_type_index, kTVMFFIInt);
  CHECK_TEXT(f->metadata, "{\"type_schema\":\"{\\\"type\\\":\\\"int\\\"}\"}");
  f = &pair->fields[1];
  CHECK_INT(f->flags, kTVMFFIFieldFlagBitMaskWritable |
                          kTVMFFIFieldFlagBitMaskHasDefault);
  CHECK_INT(f->default_value_or_factory.v_int64, 7);
  f = test_field_of(info->type_index, "any");
  CHECK_INT(f->flags, kTVMFFIFieldFlagBitMaskWritable |
                          kTVMFFIFieldFlagBitMaskHasDefault |
                          kTVMFFIFieldFlagBitMaskDefaultFromFactory);
  f = test_field_of(info->type_index, "small");
  CHECK_INT(f->flags,
            kTVMFFIFieldFlagBitMaskHasDefault | kTVMFFIFieldFlagBitMaskKwOnly);
  f = test_field_of(info->type_index, "pair");
  CHECK_INT(f->field_static_type_index, kTVMFFIObject);
  CHECK_TEXT(f->metadata,
             "{\"type_schema\":\"{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":"
             "[{\\\"type\\\":\\\"unit.Pair\\\"}]}\"}");
  f = test_field_of(info->type_index, "flag");
  CHECK(f->flags & kTVMFFIFieldFlagBitMaskInitOff);
  CHECK_INT(test_field_of(info->type_index, "text")->field_static_type_index,
            kTVMFFIAny);
}

typedef struct {
  TVMFFIObject base;
  TVMFFIObject *items;
} TestBag;
TVMFFI_FUNC(u_items, list) { TVMFFI_RETURN(tvmffi_list(tvmffi_int(1))); }
TVMFFI_TYPE(TestBag, "unit.Bag", TVMFFIObject, (field, list, items),
            (factory, u_items))

typedef struct {
  TVMFFIObject base;
  int64_t a;
} TestMisfit;
typedef struct {
  TVMFFIObject base;
  uint64_t a;
} TestTooLarge;
TVMFFI_TYPE(TestTooLarge, "unit.TooLarge", TVMFFIObject,
            (field, uint64, a, UINT64_MAX))
TVMFFI_FUNC(u_text, str) { TVMFFI_RETURN(tvmffi_byte_array("one")); }
TVMFFI_TYPE(TestMisfit, "unit.Misfit", TVMFFIObject, (field, int64, a),
            (factory, u_text))

/* What a factory makes does not belong to the scope of who makes the object. */
static void test_type_factory(TVMFFI_HERE) {
  TestBag *bag;
  if (TVMFFI_NO_CONTAINERS) return;
  OK((bag = TVMFFI_NEW(TestBag)) ? 0 : -1);
  CHECK_INT(test_strong(bag->items), 1);
  CHECK_INT(tvmffi_scope_count(kTVMFFIList), 0);
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 1);
  FAILS(!TVMFFI_NEW(TestTooLarge), "OverflowError",
        "unit.TooLarge.a: Integer value 18446744073709551615 is too large to "
        "fit in int64_t. Consider explicitly casting to int64_t first if this "
        "is intentional.");
  FAILS(!TVMFFI_NEW(TestMisfit), "TypeError",
        "unit.Misfit.a: Cannot convert from type `ffi.SmallStr` to `int`");
}

static void test_type_new(TVMFFI_HERE) {
  TestPair *pair;
  TestRecord *record;
  OK((pair = TVMFFI_NEW(TestPair, tvmffi_int(4))) ? 0 : -1);
  CHECK(pair->a == 4 && pair->b == 7 && test_strong(pair) == 1);
  CHECK_INT(pair->base.type_index, TVMFFI_TYPE_INDEX(TestPair));
  OK((record = TVMFFI_NEW(TestRecord, tvmffi_int(1), tvmffi_str("a long text"),
                          tvmffi_int(2)))
         ? 0
         : -1);
  /* Those without a default first: a, text; then b. */
  CHECK(record->base.a == 1 && record->base.b == 2 && record->flag);
  CHECK_TEXT(tvmffi_any_str(&record->text), "a long text");
  CHECK_TEXT(tvmffi_any_str(&record->data), "some raw bytes");
  CHECK_TEXT(tvmffi_any_str(&record->any), "from the factory");
  CHECK(!record->object && !record->pair && record->small == -3);
  CHECK(record->dtype.bits == 8 && record->dtype.lanes == 2);
  CHECK(record->device.device_type == kDLCUDA && !record->ptr);
  CHECK(TVMFFI_CAST(TestPair, record) == &record->base);
  CHECK(TVMFFI_CAST(TestRecord, record) == record);
  CHECK(TVMFFI_CAST(TestRecord, pair) == NULL);
  CHECK(TVMFFI_CAST(TestPair, NULL) == NULL);
  FAILS(!TVMFFI_NEW(TestPair, tvmffi_str("x")), "TypeError",
        "unit.Pair.a: Cannot convert from type `const char*` to `int`");
  FAILS(!TVMFFI_NEW(TestPair, tvmffi_uint(UINT64_MAX)), "OverflowError",
        "...unit.Pair.a: Integer value 18446744073709551615 is too large");
  FAILS(!TVMFFI_NEW(TestRecord, tvmffi_int(1), tvmffi_int(2)), "TypeError",
        "unit.Record.text: Cannot convert from type `int` to `str`");
  /* The inherited default stands behind the required fields. */
  FAILS(
      !TVMFFI_NEW(TestRecord, tvmffi_int(1), tvmffi_str("x"), tvmffi_str("y")),
      "TypeError",
      "unit.Record.b: Cannot convert from type `const char*` to `int`");
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 2);
}

/* Makes objects as TVMFFI_NEW does, of a number of values that it refuses at
   compile time. */
static TestPair *test_pair_of(TVMFFI_HERE, const TVMFFIAny *values, int32_t n) {
  return tvmffi_i_new_TestPair(TVMFFI_I_OWNER, values, n);
}
static TestRecord *test_record_of(TVMFFI_HERE, const TVMFFIAny *values,
                                  int32_t n) {
  return tvmffi_i_new_TestRecord(TVMFFI_I_OWNER, values, n);
}

typedef struct {
  TVMFFIObject base;
  int64_t serial, id;
} TestKeyed;
TVMFFI_TYPE(TestKeyed, "unit.Keyed", TVMFFIObject, (field, int64, serial),
            (flags, kTVMFFIFieldFlagBitMaskInitOff), (kw_only),
            (field, int64, id))
typedef struct {
  TVMFFIObject base;
  int64_t serial;
} TestSerial;
TVMFFI_TYPE(TestSerial, "unit.Serial", TVMFFIObject, (field, int64, serial),
            (flags, kTVMFFIFieldFlagBitMaskInitOff))

/* A required field without a value, and values without a field. */
static void test_type_values(TVMFFI_HERE) {
  TVMFFIAny values[6];
  TVMFFIByteArray raw = {"raw", 3};
  TestSerial *serial;
  int i;
  for (i = 0; i < 6; ++i) values[i] = tvmffi_int(i);
  values[3] = tvmffi_bytes(&raw);
  FAILS(!test_pair_of(tvmffi_here, values, 0), "TypeError",
        "TVMFFI_NEW(unit.Pair) missing required argument: 'a'");
  FAILS(!test_pair_of(tvmffi_here, values, 3), "TypeError",
        "TVMFFI_NEW(unit.Pair) takes at most 2 positional argument(s), but 3 "
        "were given");
  values[1] = tvmffi_str("a longer text");
  FAILS(!test_record_of(tvmffi_here, values, 0), "TypeError",
        "TVMFFI_NEW(unit.Record) missing required argument: 'a'");
  FAILS(!test_record_of(tvmffi_here, values, 1), "TypeError",
        "TVMFFI_NEW(unit.Record) missing required argument: 'text'");
  FAILS(!test_record_of(tvmffi_here, values, 6), "TypeError",
        "TVMFFI_NEW(unit.Record) takes at most 5 positional argument(s), but 6 "
        "were given");
  FAILS(!TVMFFI_NEW(TestKeyed, tvmffi_int(1)), "TypeError",
        "TVMFFI_NEW(unit.Keyed) missing required keyword-only argument: 'id'");
  OK((serial = TVMFFI_NEW(TestSerial)) ? 0 : -1);
  CHECK(serial->serial == 0);
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 1);
}

/* The NULL of a maker that failed, in place of a value: the first error
   stays. */
static void test_type_nested(TVMFFI_HERE) {
  FAILS(!TVMFFI_NEW(TestPair,
                    tvmffi_obj(TVMFFI_NEW(TestPair, tvmffi_uint(UINT64_MAX)))),
        "OverflowError", NULL);
  FAILS(!TVMFFI_NEW(TestRecord, tvmffi_int(1), tvmffi_str("x"), tvmffi_int(2),
                    tvmffi_obj(TVMFFI_NEW(TestPair, tvmffi_str("x")))),
        "TypeError",
        "unit.Pair.a: Cannot convert from type `const char*` to `int`");
  (void)TVMFFI_RAISE("KeyError", "why it is NULL");
  FAILS(!TVMFFI_NEW(TestPair, tvmffi_none()), "KeyError", "why it is NULL");
  FAILS(!TVMFFI_NEW(TestPair, tvmffi_none()), "TypeError", /* None is given */
        "unit.Pair.a: Cannot convert from type `None` to `int`");
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0);
}

static void test_type_fields(TVMFFI_HERE) {
  TestRecord *r;
  TestPair *pair;
  TVMFFIByteArray bytes = {"raw\0bytes", 9};
  TVMFFIAny any;
  OK((r = TVMFFI_NEW(TestRecord, tvmffi_int(1), tvmffi_str("text"))) ? 0 : -1);
  OK((pair = TVMFFI_NEW(TestPair, tvmffi_int(1))) ? 0 : -1);
  OK(test_set_of(r, "pair", tvmffi_obj(pair)));
  OK(test_set_of(r, "pair", tvmffi_obj(pair)));
  CHECK(r->pair == pair && test_strong(pair) == 2);
  OK(test_set_of(r, "object", tvmffi_obj(r->pair)));
  OK(test_set_of(r, "any", tvmffi_obj(pair)));
  CHECK(r->object == &pair->base && test_strong(pair) == 4);
  any = test_get_of(r, "any");
  CHECK(any.v_obj == &pair->base && test_strong(pair) == 5);
  tvmffi_any_release(&any);
  any = test_get_of(r, "pair");
  CHECK(any.v_obj == &pair->base && test_strong(pair) == 5);
  tvmffi_any_release(&any);
  OK(test_set_of(r, "pair", tvmffi_none()));
  OK(test_set_of(r, "any", tvmffi_int(5)));
  tvmffi_release(r->object);
  r->object = NULL;
  CHECK(!r->pair && !r->object && test_strong(pair) == 1);
  any = test_get_of(r, "pair");
  CHECK_INT(any.type_index, kTVMFFINone);
  OK(test_set_of(r, "data", tvmffi_bytes(&bytes)));
  any = test_get_of(r, "data");
  CHECK_INT((int)tvmffi_any_str(&any).size, 9);
  tvmffi_any_release(&any);
  OK(test_set_of(r, "text", tvmffi_str("short")));
  OK(tvmffi_any_assign(&r->text, tvmffi_str("longer than seven")));
  CHECK_TEXT(tvmffi_any_str(&r->text), "longer than seven");
  OK(test_set_of(r, "dtype", tvmffi_str("bool")));
  OK(test_set_of(r, "device", tvmffi_str("cpu")));
  OK(test_set_of(r, "ptr", tvmffi_ptr(r)));
  OK(test_set_of(r, "flag", tvmffi_int(0)));
  OK(test_set_of(r, "small", tvmffi_int(-128)));
  CHECK(r->ptr == r && !r->flag && r->small == -128);
  CHECK(r->dtype.code == kDLBool && r->device.device_type == kDLCPU);
  any = test_get_of(r, "small");
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == -128);
  FAILS(test_set_of(r, "small", tvmffi_int(128)), "OverflowError",
        "The value 128 is out of range of int8");
  FAILS(test_set_of(r, "text", tvmffi_int(1)), "TypeError",
        "Cannot convert from type `int` to `str`");
  FAILS(test_set_of(r, "pair", tvmffi_int(1)), "TypeError",
        "Cannot convert from type `int` to `Optional<unit.Pair>`");
  FAILS(test_set_of(r, "dtype", tvmffi_str("nonsense")), "ValueError", NULL);
  CHECK_TEXT(tvmffi_any_str(&r->text), "longer than seven");
}

static int test_call_method(int32_t index, int i, TVMFFIAny *args, int32_t n,
                            TVMFFIAny *result) {
  *result = tvmffi_none();
  return TVMFFIFunctionCall(TVMFFIGetTypeInfo(index)->methods[i].method.v_obj,
                            args, n, result);
}

static void test_type_methods(TVMFFI_HERE) {
  TestPair *pair;
  TestRecord *record;
  TVMFFIAny args[3], result;
  int32_t index;
  OK((pair = TVMFFI_NEW(TestPair, tvmffi_int(1))) ? 0 : -1);
  OK((record = TVMFFI_NEW(TestRecord, tvmffi_int(10), tvmffi_str(""))) ? 0
                                                                       : -1);
  index = TVMFFI_TYPE_INDEX(TestPair);
  args[0] = tvmffi_obj(record); /* a child's */
  args[1] = tvmffi_int(2);
  args[2] = tvmffi_obj(pair);
  OK(test_call_method(index, 0, args, 1, &result));
  CHECK_INT(result.v_int64, 17);
  OK(test_call_method(index, 1, args, 3, &result));
  OWN(result.v_obj);
  CHECK_INT(((TestPair *)(void *)result.v_obj)->a, 21);
  OK(test_call_method(index, 2, args + 1, 1, &result));
  OWN(result.v_obj);
  CHECK_INT(((TestPair *)(void *)result.v_obj)->b, 2);
  FAILS(test_call_method(index, 0, args + 1, 1, &result), "TypeError",
        "Mismatched type on argument #0 when calling: `unit.Pair.total(0: "
        "unit.Pair) -> int`. Expected `unit.Pair` but got `int`");
  args[2] = tvmffi_i_pointer(index, NULL);
  FAILS(test_call_method(index, 0, args + 2, 1, &result), "TypeError",
        "...Expected `unit.Pair` but got `unit.Pair`");
  args[2] = tvmffi_obj(&tvmffi_i_memory_error);
  FAILS(test_call_method(index, 1, args, 3, &result), "TypeError",
        "Mismatched type on argument #2 when calling: `unit.Pair.times(0: "
        "unit.Pair, 1: int, 2: unit.Pair) -> unit.Pair`. Expected `unit.Pair` "
        "but got `ffi.Error`");
  index = TVMFFI_TYPE_INDEX(TestRecord);
  FAILS(test_call_method(index, 0, args + 2, 1, &result), "TypeError",
        "...calling: `unit.Record.size(0: unit.Record) -> int`");
  args[2] = tvmffi_obj(pair);
  FAILS(test_call_method(index, 0, args + 2, 1, &result), "TypeError",
        "...Expected `unit.Record` but got `unit.Pair`");
}

/* A type with a constructor, an attribute and a structural kind of its own. */
typedef struct {
  TVMFFIObject base;
  int64_t twice;
} TestSpoken;
TVMFFI_TYPE(TestSpoken, "unit.Spoken", TVMFFIObject,
            (doc, "Has a word of its own."), (field, int64, twice),
            (method, __ffi_init__), (attribute, "unit_say", say),
            (structural, kTVMFFISEqHashKindTreeNode))
TVMFFI_STATIC_METHOD(TestSpoken, __ffi_init__, TestSpoken, (int64, once)) {
  TVMFFI_RETURN(TVMFFI_NEW(TestSpoken, tvmffi_int(2 * once)));
}
TVMFFI_METHOD(TestSpoken, say, int64, (int64, times)) {
  TVMFFI_RETURN(self->twice * times);
}

static void test_type_own_attributes(TVMFFI_HERE) {
  TVMFFIAny args[2], any = tvmffi_none();
  const TVMFFITypeInfo *info;
  const TVMFFIAny *attr;
  int32_t index = TVMFFI_TYPE_INDEX(TestSpoken);
  OK(index < 0 ? -1 : 0);
  info = TVMFFIGetTypeInfo(index);
  if (!CHECK(info && info->metadata)) return;
  CHECK_INT(info->metadata->structural_eq_hash_kind,
            kTVMFFISEqHashKindTreeNode);
  CHECK_BYTES(info->metadata->doc, "Has a word of its own.", 22);
  attr = tvmffi_i_class_attr(index, "__ffi_init__");
  if (!CHECK(attr && attr->type_index == kTVMFFIFunction)) return;
  args[0] = tvmffi_int(3);
  OK(TVMFFIFunctionCall(attr->v_obj, args, 1, &any));
  OWN(any.v_obj);
  CHECK_INT(((TestSpoken *)(void *)any.v_obj)->twice, 6);
  attr = tvmffi_i_class_attr(index, "unit_say");
  if (!CHECK(attr && attr->type_index == kTVMFFIFunction)) return;
  args[0] = any;
  args[1] = tvmffi_int(7);
  any = tvmffi_none();
  OK(TVMFFIFunctionCall(attr->v_obj, args, 2, &any));
  CHECK_INT(any.v_int64, 42);
  FAILS(TVMFFIFunctionCall(attr->v_obj, args, 1, &any), "TypeError",
        "...unit.Spoken.unit_say(0: unit.Spoken, 1: int) -> int");
}

static void test_type_attributes(TVMFFI_HERE) {
  TestRecord *r, *copy;
  TestPair *pair;
  TVMFFIAny arg, two[2], result = tvmffi_none();
  const TVMFFIAny *attr;
  int32_t index;
  OK((r = TVMFFI_NEW(TestRecord, tvmffi_int(4), tvmffi_str("a longer text")))
         ? 0
         : -1);
  OK((pair = TVMFFI_NEW(TestPair, tvmffi_int(1))) ? 0 : -1);
  OK(test_set_of(r, "pair", tvmffi_obj(pair)));
  OK(test_set_of(r, "any", tvmffi_int(5)));
  r->hidden = 12;
  index = r->base.base.type_index;
  attr = tvmffi_i_class_attr(index, "__ffi_shallow_copy__");
  arg = tvmffi_obj(r);
  OK(TVMFFIFunctionCall(attr->v_obj, &arg, 1, &result));
  OWN(result.v_obj);
  copy = TVMFFI_CAST(TestRecord, result.v_obj);
  if (!CHECK(copy && copy != r)) return;
  CHECK(copy->base.a == 4 && copy->hidden == 12 && test_strong(copy) == 1);
  CHECK(copy->any.type_index == kTVMFFIInt && copy->any.v_int64 == 5);
  CHECK(copy->pair == pair && test_strong(pair) == 3);
  CHECK_TEXT(tvmffi_any_str(&copy->text), "a longer text");
  CHECK(copy->text.v_obj == r->text.v_obj && test_strong(r->text.v_obj) == 2);
  arg = tvmffi_obj(pair);
  result = tvmffi_none();
  FAILS(TVMFFIFunctionCall(attr->v_obj, &arg, 1, &result), "TypeError",
        "`unit.Record.__ffi_shallow_copy__` takes one object of its type");
  two[0] = two[1] = tvmffi_obj(r);
  FAILS(TVMFFIFunctionCall(attr->v_obj, two, 2, &result), "TypeError",
        "...takes one object of its type");
  two[0].v_obj = NULL;
  FAILS(TVMFFIFunctionCall(attr->v_obj, two, 1, &result), "TypeError",
        "...takes one object of its type");
  attr = tvmffi_i_class_attr(index, "__ffi_new__");
  OK(TVMFFIFunctionCall(attr->v_obj, NULL, 0, &result));
  OWN(result.v_obj);
  copy = TVMFFI_CAST(TestRecord, result.v_obj);
  CHECK(copy->base.b == 0); /* no default yet; the text is empty, not None */
  CHECK(copy->text.type_index == kTVMFFISmallStr && copy->text.v_int64 == 0);
  attr = tvmffi_i_class_attr(index, "__ffi_type_final__");
  CHECK(attr->type_index == kTVMFFIBool && !attr->v_int64);
  attr = tvmffi_i_class_attr(index, "__ffi_init__");
  result = tvmffi_none();
#if TVMFFI_NO_CONTAINERS
  if (TVMFFIFunctionCall(attr->v_obj, NULL, 0, &result))
    FAILS(-1, "RuntimeError",
          "`unit.Record` cannot be made by its fields: the runtime has no "
          "`ffi._RegisterFFIInit`; it was built with TVMFFI_NO_CONTAINERS");
#else
  {
    TVMFFIAny args[2];
    args[0] = tvmffi_int(8);
    args[1] = tvmffi_str("made by init");
    OK(TVMFFIFunctionCall(attr->v_obj, args, 2, &result));
    OWN(result.v_obj);
    copy = TVMFFI_CAST(TestRecord, result.v_obj);
    CHECK(copy->base.a == 8 && copy->base.b == 7 && copy->small == -3);
  }
#endif
  OK(TVMFFI_REGISTER_TYPE(TestLeaf));
  CHECK(!tvmffi_i_class_attr(TVMFFI_TYPE_INDEX(TestLeaf),
                             "__ffi_shallow_copy__"));
}

static void test_type_end(TVMFFI_HERE) {
  TestLeaf *leaf;
  TestNode *node, *inner;
  test_log_size = 0;
  OK((leaf = TVMFFI_NEW(TestLeaf)) ? 0 : -1);
  leaf->base.letter = 'a';
  leaf->last = 'b';
  tvmffi_scope_close(tvmffi_here);
  CHECK_LOG("ba"); /* the child first */
  OK((node = TVMFFI_NEW(TestNode)) ? 0 : -1);
  OK((inner = TVMFFI_NEW(TestNode)) ? 0 : -1);
  node->letter = 'n';
  inner->letter = 'i';
  tvmffi_keep(&node->next, inner);
  tvmffi_weak_retain(node);
  tvmffi_weak_retain(inner);
  tvmffi_scope_close(tvmffi_here);
  CHECK_LOG("ni"); /* what it holds is gone, its memory is not */
  CHECK(!node->next && !tvmffi_weak_lock(node) && !tvmffi_weak_lock(inner));
  CHECK(test_weak(node) == 1 && test_weak(inner) == 1);
  CHECK(inner->base.deleter == node->base.deleter);
  tvmffi_weak_release(inner);
  tvmffi_weak_release(node);
}

/* An allocator without delete_space keeps the memory of its objects. */
static void test_type_kept_memory(TVMFFI_HERE) {
  TestNode *node = TVMFFI_NEW(TestNode);
  TVMFFIObjectAllocHeader *head;
  void (*delete_space)(void *);
  OK(node ? 0 : -1);
  node->letter = 'n';
  head = (TVMFFIObjectAllocHeader *)(void *)node - 1;
  delete_space = head->delete_space;
  head->delete_space = NULL;
  tvmffi_scope_close(tvmffi_here);
  CHECK_LOG("n");
  CHECK(node->letter == 'n' && head->delete_space == NULL);
  delete_space(node);
}

/* A maker that has no scope gives its object to nobody, and fails. */
static void test_type_without_scope(TVMFFI_HERE) {
  TVMFFIAny value = tvmffi_int(1);
  FAILS(!tvmffi_i_new_TestPair(tvmffi_i_owned_by(NULL, NULL, NULL, NULL),
                               &value, 1),
        "RuntimeError", NULL);
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0);
}

#if defined(__cplusplus) || defined(TVMFFI_I_IS_WANTED)
TVMFFI_FUNC(u_leaf, TestNode, (TestLeaf, leaf)) { TVMFFI_RETURN(leaf); }
TVMFFI_FUNC(u_new_leaf, object) { TVMFFI_RETURN(TVMFFI_NEW(TestLeaf)); }
TVMFFI_FUNC(u_no_leaf, optional(TestNode), (optional(TestLeaf), leaf)) {
  if (leaf) TVMFFI_RETURN(leaf);
  TVMFFI_RETURN(NULL);
}

/* A struct stands for the structs that it is derived from. */
static void test_type_derived(TVMFFI_HERE) {
  TestNode *node = TVMFFI_NEW(TestNode), *kept = NULL;
  TestLeaf *leaf = TVMFFI_NEW(TestLeaf);
  TVMFFIObject *root = NULL, *same = NULL, *call[3] = {NULL, NULL, NULL};
  OK(node && leaf ? 0 : -1);
  leaf->last = 'l';
  OK(TVMFFI_FUNCTION_NEW(u_leaf, &call[0]));
  OK(TVMFFI_FUNCTION_NEW(u_new_leaf, &call[1]));
  OK(TVMFFI_FUNCTION_NEW(u_no_leaf, &call[2]));
  OK(tvmffi_call(tvmffi_obj(call[0]), tvmffi_out_object(&same),
                 tvmffi_obj(leaf)));
  CHECK(same == &leaf->base.base && test_strong(leaf) == 2);
  OK(tvmffi_call(tvmffi_obj(call[1]), tvmffi_out_object(&same)));
  CHECK(TVMFFI_CAST(TestNode, same) && TVMFFI_CAST(TestLeaf, same) != leaf);
  OK(tvmffi_call(tvmffi_obj(call[2]), tvmffi_out_object(&same),
                 tvmffi_obj(leaf)));
  CHECK(same == &leaf->base.base);
  OK(tvmffi_call(tvmffi_obj(call[2]), tvmffi_out_none(NULL), tvmffi_none()));
  tvmffi_keep(&node->next, leaf);
  tvmffi_keep(&root, leaf);
  tvmffi_keep(&kept, node);
  tvmffi_scope_close(tvmffi_here);
  CHECK(kept->next == &leaf->base && root == &leaf->base.base);
  test_log_size = 0;
  tvmffi_keep(&root, NULL);
  tvmffi_keep(&kept, NULL);
  CHECK_LOG("l");
}
#endif

TVMFFI_FUNC(u_same, any, (any, x)) { TVMFFI_RETURN(x); }

/* Results that are pointers to structs. */
static void test_type_results(TVMFFI_HERE) {
  TestLeaf *leaf = TVMFFI_NEW(TestLeaf), *same = NULL;
  TestNode *node = NULL;
  TVMFFIObject *call = NULL, *none = &tvmffi_i_memory_error.base;
  int64_t n;
  if (leaf) leaf->last = 'l';
  OK(leaf ? TVMFFI_FUNCTION_NEW(u_same, &call) : -1);
  OK(tvmffi_call(tvmffi_obj(call), tvmffi_out_TestLeaf(&same),
                 tvmffi_obj(leaf)));
  OK(tvmffi_as(tvmffi_obj(leaf), tvmffi_out_TestNode(&node)));
  CHECK(same == leaf && node == &leaf->base && test_strong(leaf) == 3);
  OK(tvmffi_as(tvmffi_obj(leaf), tvmffi_out_TestNode(NULL)));
#if defined(__cplusplus)
  node = NULL;
  OK(tvmffi_call(call, &node, leaf));
  CHECK(node == &leaf->base && test_strong(leaf) == 4);
#elif TVMFFI_I_GENERIC
  {
    TVMFFIObject *object = NULL;
    OK(tvmffi_call(call, &object, leaf)); /* any struct of an object */
    CHECK(object == &leaf->base.base && test_strong(leaf) == 4);
  }
#endif
  FAILS(tvmffi_call(tvmffi_obj(call), tvmffi_out_TestLeaf(&same),
                    tvmffi_obj(call)),
        "TypeError",
        "result of the function: Cannot convert from type `ffi.Function` to "
        "`unit.Leaf`");
  FAILS(
      tvmffi_call(tvmffi_obj(call), tvmffi_out_TestLeaf(&same), tvmffi_none()),
      "TypeError",
      "result of the function: Cannot convert from type `None` to "
      "`unit.Leaf`: write tvmffi_or_null(out) for a result that may be None");
  same = leaf;
  OK(tvmffi_call(tvmffi_obj(call), tvmffi_or_null(tvmffi_out_TestLeaf(&same)),
                 tvmffi_none()));
  OK(tvmffi_call(tvmffi_obj(call), tvmffi_or_null(tvmffi_out_object(&none)),
                 tvmffi_none()));
  CHECK(!same && !none);
  FAILS(tvmffi_as(tvmffi_none(), tvmffi_or_null(tvmffi_out_int64(&n))),
        "TypeError", "Cannot convert from type `None` to `int`");
#if !TVMFFI_NO_CONTAINERS
  call = tvmffi_list(tvmffi_obj(leaf));
  OK(call ? 0 : -1);
  OK(tvmffi_get(tvmffi_obj(call), tvmffi_int(0), tvmffi_out_TestLeaf(&same)));
  CHECK(same == leaf);
  OK(tvmffi_get(tvmffi_obj(call), tvmffi_int(5), tvmffi_out_TestNode(&node),
                tvmffi_none()));
  CHECK(!node);
#endif
  tvmffi_scope_close(tvmffi_here);
  CHECK_LOG("l");
}

/* Objects that hold the next one, in turn as a field and within an Any. */
static void test_type_chain(TVMFFI_HERE) {
  TestNode *first = NULL, *node, *middle = NULL;
  int i, code = 0;
  for (i = 0; !code && i < test_scale(test_chain / 4, 20); ++i) {
    node = TVMFFI_NEW(TestNode);
    if (!node) {
      code = -1;
      break;
    }
    if (i % 2)
      tvmffi_keep(&node->next, first);
    else if (first)
      code = tvmffi_any_assign(&node->more, tvmffi_obj(first));
    tvmffi_keep(&first, node);
    tvmffi_scope_close(tvmffi_here);
    if (i == 10) {
      middle = node;
      tvmffi_weak_retain(middle);
    }
  }
  tvmffi_release(first);
  if (middle) {
    CHECK(!tvmffi_weak_lock(middle) && test_weak(middle) == 1);
    tvmffi_weak_release(middle);
  }
  OK(code);
}

#if defined(__cplusplus) && defined(__cpp_exceptions)
typedef struct {
  TVMFFIObject base;
  int64_t number;
} TestThrower;
static void test_thrower_end(TestThrower *self) { throw self; }
TVMFFI_TYPE(TestThrower, "unit.Thrower", TVMFFIObject,
            (field, int64, number, 1), (destructor, test_thrower_end))

/* What a destructor of a type throws does not end the destruction of others. */
static void test_throwing_types(TVMFFI_HERE) {
  TestThrower *o;
  int i;
  for (i = 0; i < 40; ++i) {
    OK((o = TVMFFI_NEW(TestThrower)) ? 0 : -1);
    try {
      tvmffi_scope_close(tvmffi_here);
      CHECK(0);
    } catch (TestThrower *thrown) {
      CHECK(thrown == o);
      ((TVMFFIObjectAllocHeader *)(void *)o - 1)->delete_space(o);
    }
  }
  test_type_chain(tvmffi_here);
  test_type_end(tvmffi_here);
  tvmffi_i_class_destroying()->depth = 0; /* of frames that are gone */
}
#endif

typedef struct {
  TVMFFIObject base;
  int64_t a;
} TestNarrow;
TVMFFI_TYPE(TestNarrow, "unit.Pair", TVMFFIObject, (field, int64, a))

typedef struct {
  TVMFFIObject base;
  int64_t b, a;
} TestOther;
TVMFFI_TYPE(TestOther, "unit.Pair", TVMFFIObject, (field, int64, a))

typedef struct {
  TVMFFIObject base;
  int32_t a, more;
  int64_t b;
} TestShort;
TVMFFI_TYPE(TestShort, "unit.Pair", TVMFFIObject, (field, int32, a))

typedef struct {
  TVMFFIObject base;
  DLDevice a;
  int64_t b;
} TestRetyped;
TVMFFI_TYPE(TestRetyped, "unit.Pair", TVMFFIObject, (field, device, a))

typedef struct {
  TVMFFIObject base;
  int64_t c, b;
} TestRenamed;
TVMFFI_TYPE(TestRenamed, "unit.Pair", TVMFFIObject, (field, int64, c))

/* Fields of one size: other types of objects, and an object and a pointer. */
typedef struct {
  TVMFFIObject base;
  TVMFFIObject *a;
} TestHolder;
TVMFFI_TYPE(TestHolder, "unit.Holder", TVMFFIObject, (readonly, object, a),
            (flags, kTVMFFIFieldFlagBitMaskReprOff))
typedef struct {
  TVMFFIObject base;
  TVMFFIObject *a;
} TestFuncHolder;
TVMFFI_TYPE(TestFuncHolder, "unit.Holder", TVMFFIObject, (readonly, func, a))
typedef struct {
  TVMFFIObject base;
  void *a;
} TestPointerHolder;
TVMFFI_TYPE(TestPointerHolder, "unit.Holder", TVMFFIObject, (field, ptr, a))

typedef struct {
  TVMFFIObject base;
  int64_t a, b;
} TestFewer;
TVMFFI_TYPE(TestFewer, "unit.Pair", TVMFFIObject, (field, int64, a))

/* Modifiers of fields that stand before the field. */
typedef struct {
  TVMFFIObject base;
  int64_t a;
} TestEarlyFlags;
TVMFFI_TYPE(TestEarlyFlags, "unit.EarlyFlags", TVMFFIObject,
            (flags, kTVMFFIFieldFlagBitMaskReprOff), (field, int64, a))
typedef struct {
  TVMFFIObject base;
  TVMFFIAny a;
} TestEarlyFactory;
TVMFFI_TYPE(TestEarlyFactory, "unit.EarlyFactory", TVMFFIObject, (kw_only),
            (factory, u_fresh), (field, str, a))

/* This list is in a header, so the method's body may be in another file. */
typedef struct {
  TVMFFIObject base;
} TestBodiless;
TVMFFI_TYPE(TestBodiless, "unit.Bodiless", TVMFFIObject, (method, nowhere))

typedef struct {
  TestNode base;
} TestStray;
TVMFFI_TYPE(TestStray, "unit.Pair", TestNode)
typedef struct {
  TestNode base;
} TestOtherChild;
TVMFFI_TYPE(TestOtherChild, "unit.Record", TestNode)
typedef struct {
  TVMFFIObject base;
} TestRoot;
TVMFFI_TYPE(TestRoot, "ffi.Object", TVMFFIObject)

/* Types with defaults that their fields cannot have. */
static TVMFFIObject test_no_default;
typedef struct {
  TVMFFIObject base;
  TVMFFIObject *object;
} TestObjectDefault;
TVMFFI_TYPE(TestObjectDefault, "unit.ObjectDefault", TVMFFIObject,
            (field, object, object, &test_no_default))
typedef struct {
  TVMFFIObject base;
  DLDataType dtype;
} TestDtypeDefault;
TVMFFI_TYPE(TestDtypeDefault, "unit.DtypeDefault", TVMFFIObject,
            (field, dtype, dtype, "flat32"))
typedef struct {
  TVMFFIObject base;
  DLDataType dtype;
} TestNoDtype;
TVMFFI_TYPE(TestNoDtype, "unit.NoDtype", TVMFFIObject,
            (field, dtype, dtype, NULL))

/* A type whose registration tells no size fits each struct. */
typedef struct {
  TVMFFIObject base;
  int64_t a;
} TestUnsized;
TVMFFI_FOREIGN_TYPE(TestUnsized, "unit.Unsized")

typedef struct {
  TVMFFIObject base;
} TestNobody;
TVMFFI_FOREIGN_TYPE(TestNobody, "unit.nobody.registers.this")
typedef struct {
  TestNobody base;
} TestOrphan;
TVMFFI_TYPE(TestOrphan, "unit.Orphan", TestNobody)

TVMFFI_FUNC(u_nobody, none, (TestNobody, object)) {
  (void)object;
  TVMFFI_RETURN();
}
TVMFFI_FUNC(u_no_pair, TestPair) { TVMFFI_RETURN(NULL); }

static void test_type_mistakes(TVMFFI_HERE) {
  TVMFFIByteArray unsized = TEXT("unit.Unsized");
  TVMFFITypeMetadata metadata = TVMFFI_I_ZERO;
  int32_t index;
  TestPair *pair;
  TVMFFIAny any = tvmffi_obj(&tvmffi_i_memory_error), result = tvmffi_none();
  static const char *const missing =
      "Type `unit.nobody.registers.this` is not registered: load the library "
      "that defines it first";
  OK(TVMFFI_REGISTER_TYPE(TestPair));
  FAILS(TVMFFI_REGISTER_TYPE(TestNarrow), "TypeError",
        "...Type `unit.Pair` is registered with a size of ");
  FAILS(TVMFFI_REGISTER_TYPE(TestOther), "TypeError",
        "...Field `a` of type `unit.Pair` is registered with 8 bytes at offset "
        "24, here it has 8 at 32");
  FAILS(TVMFFI_REGISTER_TYPE(TestShort), "TypeError",
        "Field `a` of type `unit.Pair` is registered with 8 bytes at offset "
        "24, here it has 4 at 24");
  FAILS(TVMFFI_REGISTER_TYPE(TestRetyped), "TypeError",
        "Field `a` of type `unit.Pair` is registered as `int`, here it is "
        "`Device`");
  pair = TVMFFI_NEW(TestPair, tvmffi_int(1));
  OK(pair ? 0 : -1);
  CHECK(TVMFFI_CAST(TestPair, pair) == pair);
  CHECK(!TVMFFI_CAST(TestRetyped, pair)); /* after its refusal, too */
  OK(TVMFFI_REGISTER_TYPE(TestHolder));
  OK(TVMFFI_REGISTER_TYPE(TestFuncHolder));
  FAILS(TVMFFI_REGISTER_TYPE(TestPointerHolder), "TypeError",
        "Field `a` of type `unit.Holder` is registered as `ffi.Object`, here "
        "it is `void*`");
  FAILS(TVMFFI_REGISTER_TYPE(TestRenamed), "TypeError",
        "Type `unit.Pair` is registered without field `c`");
  FAILS(TVMFFI_REGISTER_TYPE(TestFewer), "TypeError",
        "Type `unit.Pair` is registered with 2 fields, here it has 1");
  FAILS(TVMFFI_REGISTER_TYPE(TestEarlyFlags), "TypeError",
        "Type `unit.EarlyFlags`: (flags, ...) does not follow a field");
  FAILS(TVMFFI_REGISTER_TYPE(TestEarlyFactory), "TypeError",
        "Type `unit.EarlyFactory`: (factory, ...) does not follow a field");
  FAILS(TVMFFI_REGISTER_TYPE(TestBodiless), "TypeError",
        "write TVMFFI_METHOD for unit.Bodiless.nowhere, or, if another file "
        "has it, first call TVMFFI_REGISTER_TYPE there");
  FAILS(TVMFFI_REGISTER_TYPE(TestStray), "TypeError",
        "Type `unit.Pair` is registered as a child of `ffi.Object`, but "
        "declared as a child of `unit.Node`");
  OK(TVMFFI_REGISTER_TYPE(TestRecord));
  FAILS(TVMFFI_REGISTER_TYPE(TestOtherChild), "TypeError",
        "Type `unit.Record` is registered as a child of `unit.Pair`, but "
        "declared as a child of `unit.Node`");
  FAILS(TVMFFI_REGISTER_TYPE(TestRoot), "TypeError",
        "Type `ffi.Object` is registered as a child of `nothing`, but declared "
        "as a child of `ffi.Object`");
  FAILS(TVMFFI_REGISTER_TYPE(TestObjectDefault), "TypeError",
        "unit.ObjectDefault.object: The default of an object can only be NULL: "
        "write (factory, name) after the field");
  FAILS(TVMFFI_REGISTER_TYPE(TestDtypeDefault), "ValueError",
        "unit.DtypeDefault.dtype: unknown dtype `flat32`");
  FAILS(TVMFFI_REGISTER_TYPE(TestNoDtype), "TypeError",
        "unit.NoDtype.dtype: Cannot convert from type `None` to `DataType`");
  index = TVMFFITypeGetOrAllocIndex(&unsized, -1, 1, 0, 1, kTVMFFIObject);
  OK(index < 0 ? -1 : 0);
  if (!TVMFFIGetTypeInfo(index)->metadata)
    OK(TVMFFITypeRegisterMetadata(index, &metadata));
  CHECK_INT(TVMFFI_TYPE_INDEX(TestUnsized), index);
  CHECK(!tvmffi_is_instance(index, 126)); /* no type has this index */
  CHECK(!tvmffi_is_instance(index, TVMFFI_TYPE_INDEX(TestPair)));
  FAILS(TVMFFI_REGISTER_TYPE(TestOrphan), "TypeError", missing);
  FAILS(!TVMFFI_NEW(TestOrphan), "TypeError", missing);
  FAILS(TVMFFI_TYPE_INDEX(TestNobody) == -1, "TypeError", missing);
  CHECK(TVMFFI_CAST(TestNobody, &tvmffi_i_memory_error) == NULL);
  CHECK(tvmffi_i_error_remove() == NULL);
  FAILS(tvmffi_func_u_nobody.call(NULL, &any, 1, &result), "TypeError",
        missing);
  FAILS(tvmffi_func_u_no_pair.call(NULL, NULL, 0, &result), "TypeError",
        "u_no_pair returned no result: write TVMFFI_RETURN(value), or make the "
        "result optional");
}

/* A child of a type that is known by its key and fields alone. */
typedef struct {
  TVMFFIObject base;
  int64_t a, b;
  TVMFFIAny text, data, any;
  TVMFFIObject *object, *pair;
} TestForeign;
TVMFFI_FOREIGN_TYPE(TestForeign, "unit.Abroad")
typedef struct {
  TestForeign base;
  int64_t more;
} TestChild;
TVMFFI_TYPE(TestChild, "unit.Child", TestForeign, (field, int64, more, 1))

typedef struct {
  TVMFFIObject base;
  int64_t a, b;
  TVMFFIAny text, data, any;
  TVMFFIObject *object, *pair;
} TestAbroad;
TVMFFI_TYPE(TestAbroad, "unit.Abroad", TVMFFIObject, (field, int64, a),
            (field, int64, b, 2), (field, str, text, "a longer text"),
            (field, bytes, data, "raw"), (field, any, any, tvmffi_int(3)),
            (field, object, object, NULL), (field, object, pair, NULL))

/* A type that cannot be registered: no Any can store the default. */
typedef struct {
  TVMFFIObject base;
  TVMFFIAny any;
} TestLarge;
TVMFFI_TYPE(TestLarge, "unit.Large", TVMFFIObject,
            (field, any, any, tvmffi_uint(UINT64_MAX)))

static void test_unfit_types(TVMFFI_HERE) {
  FAILS(-(TVMFFI_TYPE_INDEX(TestLarge) < 0), "OverflowError", "...");
}

/* Two types that refer to each other: the one behind is declared. */
typedef struct TestTrunk TestTrunk;
typedef struct {
  TVMFFIObject base;
  TestTrunk *trunk;
  int64_t number;
} TestBranch;
struct TestTrunk {
  TVMFFIObject base;
  TestBranch *first;
};

TVMFFI_TYPE_DECLARE(TestTrunk, "unit.Trunk")
TVMFFI_TYPE(TestBranch, "unit.Branch", TVMFFIObject, (field, int64, number),
            (field, TestTrunk, trunk, NULL), (method, root))
TVMFFI_METHOD(TestBranch, root, optional(TestTrunk)) {
  TVMFFI_RETURN(self->trunk);
}
TVMFFI_TYPE_DEFINE(TestTrunk, "unit.Trunk", TVMFFIObject,
                   (field, TestBranch, first, NULL))

static void test_type_declared(TVMFFI_HERE) {
  TestBranch *first, *second;
  TestTrunk *trunk;
  TVMFFIAny arg, root;
  OK((first = TVMFFI_NEW(TestBranch, tvmffi_int(1))) ? 0 : -1);
  OK((trunk = TVMFFI_NEW(TestTrunk, tvmffi_obj(first))) ? 0 : -1);
  OK((second = TVMFFI_NEW(TestBranch, tvmffi_int(2), tvmffi_obj(trunk))) ? 0
                                                                         : -1);
  CHECK(second->trunk == trunk && second->trunk->first == first);
  arg = tvmffi_obj(second);
  OK(test_call_typed(&tvmffi_func_TestBranch_root, arg, &root));
  CHECK(root.v_obj == &trunk->base);
  tvmffi_any_release(&root);
  FAILS(test_set_of(trunk, "first", tvmffi_obj(trunk)), "TypeError",
        "Cannot convert from type `unit.Trunk` to `Optional<unit.Branch>`");
  FAILS(test_set_of(second, "trunk", arg), "TypeError",
        "Cannot convert from type `unit.Branch` to `Optional<unit.Trunk>`");
  CHECK_TEXT(test_field_of(TVMFFI_TYPE_INDEX(TestBranch), "trunk")->metadata,
             "{\"type_schema\":\"{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":"
             "[{\\\"type\\\":\\\"unit.Trunk\\\"}]}\"}");
}

static void test_type_foreign(TVMFFI_HERE) {
  TestChild *child;
  TVMFFIObjectHandle copy = NULL;
  TestPair *pair;
  OK(TVMFFI_REGISTER_TYPE(TestAbroad));
  OK((pair = TVMFFI_NEW(TestPair, tvmffi_int(1))) ? 0 : -1);
  OK((child = TVMFFI_NEW(TestChild, tvmffi_int(5))) ? 0 : -1);
  CHECK(child->base.a == 5 && child->base.b == 2 && child->more == 1);
  FAILS(!TVMFFI_NEW(TestChild), "TypeError",
        "TVMFFI_NEW(unit.Child) missing required argument: 'a'");
  CHECK_TEXT(tvmffi_any_str(&child->base.text), "a longer text");
  CHECK(TVMFFI_CAST(TestForeign, child) == &child->base);
  tvmffi_keep(&child->base.pair, &pair->base);
  OK(tvmffi_any_assign(&child->base.any, tvmffi_obj(pair)));
  OK(tvmffi_i_class_copy(tvmffi_i_class_of_TestChild(), child, &copy));
  CHECK(test_strong(pair) == 5 && ((TestChild *)copy)->base.a == 5);
  tvmffi_release(copy);
  CHECK(test_strong(pair) == 3);
}

#if !TVMFFI_NO_CONTAINERS
/* Fields of words with arguments, and the type as an argument. */
typedef struct {
  TVMFFIObject base;
  tvmffi_type_optional(int64) limit;
  tvmffi_type_optional(dtype) dtype;
  TVMFFIAny name, note;
  TVMFFIObject *sizes, *shape, *names, *table;
  TestPair *pair;
  TVMFFIObject *pairs;
} TestParts;

TVMFFI_TYPE(TestParts, "unit.Parts", TVMFFIObject,
            (field, optional(int64), limit, tvmffi_some_int64(4)),
            (field, optional(dtype), dtype, "int8"),
            (field, optional(str), name, NULL),
            (field, optional(bytes), note, "a note"),
            (field, array(int64), sizes, NULL), (field, shape, shape, NULL),
            (field, optional(map(str, int64)), names, NULL),
            (field, optional(TestPair), pair, NULL),
            (field, array(TestPair), pairs, NULL), (field, map, table, NULL))

TVMFFI_FUNC(u_sum_pairs, int64, (optional(TestPair), p),
            (array(TestPair), more)) {
  int64_t sum = p ? p->a : 100, i;
  for (i = 0; i < tvmffi_i_size(tvmffi_obj(more)); ++i) {
    TVMFFIAny item;
    TVMFFI_TRY(tvmffi_i_item_at(tvmffi_obj(more), i, &item));
    sum += TVMFFI_CAST(TestPair, item.v_obj)->a;
  }
  TVMFFI_RETURN(sum);
}

static void test_type_parts(TVMFFI_HERE) {
  TestParts *p;
  TVMFFIObject *shape, *map;
  TVMFFIAny items[2], value;
  const TVMFFITypeInfo *info;
  OK((p = TVMFFI_NEW(TestParts)) ? 0 : -1);
  CHECK(p->limit.has_value && p->limit.value == 4 && p->dtype.value.bits == 8);
  CHECK_INT(p->name.type_index, kTVMFFINone);
  CHECK_TEXT(tvmffi_any_str(&p->note), "a note");
  CHECK(!p->sizes && !p->shape && !p->names && !p->pair && !p->pairs);
  OK(test_set_of(p, "limit", tvmffi_none()));
  CHECK(!p->limit.has_value);
  OK(test_set_of(p, "note", tvmffi_none()));
  OK(test_set_of(p, "name", tvmffi_str("a longer name")));
  CHECK_TEXT(tvmffi_any_str(&p->name), "a longer name");
  items[0] = tvmffi_int(2);
  items[1] = tvmffi_bool(1);
  value = tvmffi_obj(tvmffi_list_from(items, 2));
  OK(value.v_obj ? 0 : -1);
  OK(test_set_of(p, "sizes", value));
  CHECK_INT(p->sizes->type_index, kTVMFFIArray);
  OK(test_set_of(p, "shape", value));
  CHECK_INT(p->shape->type_index, kTVMFFIShape);
  shape = p->shape;
  OK(test_set_of(p, "shape", tvmffi_obj(shape))); /* stays as it is */
  CHECK(p->shape == shape && test_strong(shape) == 1);
  OK((map = tvmffi_map(items[0], items[1])) ? 0 : -1);
  OK(test_set_of(p, "table", tvmffi_obj(map)));
  CHECK(p->table == map && test_strong(map) == 2);
  FAILS(test_set_of(p, "pairs", value), "TypeError",
        "Cannot convert from type `Array[index 0: int]` to "
        "`Optional<Array<unit.Pair>>`");
  FAILS(test_set_of(p, "names", value), "TypeError",
        "Cannot convert from type `ffi.List` to `Optional<Map<str, int>>`");
  FAILS(test_set_of(p, "limit", tvmffi_str("x")), "TypeError",
        "Cannot convert from type `const char*` to `Optional<int>`");
  OK(test_set_of(p, "sizes", tvmffi_none()));
  CHECK(!p->sizes);
  info = TVMFFIGetTypeInfo(TVMFFI_TYPE_INDEX(TestParts));
  CHECK_INT(info->fields[0].field_static_type_index, kTVMFFIAny);
  CHECK_INT(info->fields[4].field_static_type_index, kTVMFFIArray);
  CHECK_INT(info->fields[6].field_static_type_index, kTVMFFIAny);
  CHECK_TEXT(info->fields[7].metadata,
             "{\"type_schema\":\"{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":"
             "[{\\\"type\\\":\\\"unit.Pair\\\"}]}\"}");
}

static void test_type_arguments(TVMFFI_HERE) {
  TestPair *pair;
  TVMFFIObject *f = NULL, *list;
  TVMFFIAny item;
  int64_t sum = 0;
  OK((pair = TVMFFI_NEW(TestPair, tvmffi_int(3))) ? 0 : -1);
  OK(TVMFFI_FUNCTION_NEW(u_sum_pairs, &f));
  item = tvmffi_obj(pair);
  OK((list = tvmffi_list_from(&item, 1)) ? 0 : -1);
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&sum), item,
                 tvmffi_obj(list)));
  CHECK_INT(sum, 6);
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&sum), tvmffi_none(),
                 tvmffi_obj(list)));
  CHECK_INT(sum, 103);
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&sum), tvmffi_obj(list),
                    tvmffi_obj(list)),
        "TypeError",
        "Mismatched type on argument #0 when calling: `u_sum_pairs(0: "
        "Optional<unit.Pair>, 1: Array<unit.Pair>) -> int`. Expected "
        "`Optional<unit.Pair>` but got `ffi.List`");
}
#endif

/* A loop over objects of a type that cannot be registered. */
static void test_type_loops(TVMFFI_HERE) {
#if !TVMFFI_NO_CONTAINERS
  TVMFFIObject *list = tvmffi_list(tvmffi_int(1));
  int steps = 0;
  OK(list ? 0 : -1);
  OK(tvmffi_set(tvmffi_obj(list), tvmffi_int(0), tvmffi_obj(list)));
  TVMFFI_FOREACH(TestNobody, x, tvmffi_obj(list)) steps += x != NULL;
  FAILS(steps == 0, "TypeError",
        "[0]: Type `unit.nobody.registers.this` is not registered: load the "
        "library that defines it first");
  OK(tvmffi_erase(tvmffi_obj(list), tvmffi_int(0))); /* is its own item */
#endif
}

/* A type of another library, whose fields are known by their getters: one has
   an object, whose setter is a function, one makes an object, one has another
   object than it shows, and one fails. */
typedef struct {
  TVMFFIObject base;
  TVMFFIObject *held, *hidden;
} TestOdd;
TVMFFI_FOREIGN_TYPE(TestOdd, "unit.Odd")
typedef struct {
  TestOdd base;
  int64_t more;
} TestOddChild;
TVMFFI_TYPE(TestOddChild, "unit.OddChild", TestOdd, (field, int64, more, 1))

static int test_odd_held(void *field, TVMFFIAny *out) {
  TVMFFIObject *held = *(TVMFFIObject **)field;
  if (held) tvmffi_retain(held);
  *out = tvmffi_obj(held);
  return 0;
}
static int test_odd_fresh(void *field, TVMFFIAny *out) {
  TVMFFIByteArray text = TEXT("made by the getter");
  (void)field;
  return TVMFFIStringFromByteArray(&text, out);
}
static int test_odd_fails(void *field, TVMFFIAny *out) {
  (void)field, (void)out;
  return TVMFFI_RAISE("ValueError", "the getter fails");
}
static int test_odd_set(void *self, const TVMFFIAny *args, int32_t n,
                        TVMFFIAny *result) {
  (void)self, (void)result;
  if (n != 2 || args[1].type_index < kTVMFFIStaticObjectBegin)
    return TVMFFI_RAISE("TypeError", "no object");
  tvmffi_i_keep(args[0].v_ptr, args[1].v_obj);
  return 0;
}

static int test_register_odd(void) {
  static const struct {
    const char *name;
    TVMFFIFieldGetter getter;
    int64_t offset, size;
  } fields[] = {
      {"held", test_odd_held, offsetof(TestOdd, held), sizeof(void *)},
      {"fresh", test_odd_fresh, sizeof(TVMFFIObject), 0},
      {"hidden", test_odd_fresh, offsetof(TestOdd, hidden), sizeof(void *)},
      {"fails", test_odd_fails, offsetof(TestOdd, hidden), sizeof(void *)}};
  TVMFFIByteArray key = TEXT("unit.Odd");
  int32_t index =
      TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  TVMFFIObjectHandle setter = NULL;
  int i, code = 0;
  if (index < 0) return -1;
  if (TVMFFIGetTypeInfo(index)->num_fields == TEST_COUNT(fields)) return 0;
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, test_odd_set, NULL, &setter));
  i = TVMFFIGetTypeInfo(index)->num_fields;
  for (; !code && i < TEST_COUNT(fields); ++i) {
    TVMFFIFieldInfo f = test_field(fields[i].name, fields[i].offset);
    f.getter = fields[i].getter;
    f.size = fields[i].size;
    f.alignment = sizeof(void *);
    f.setter = i ? NULL : setter;
    f.flags = kTVMFFIFieldFlagBitMaskInitOff;
    if (!i)
      f.flags |= kTVMFFIFieldFlagBitSetterIsFunctionObj |
                 kTVMFFIFieldFlagBitMaskWritable;
    f.field_static_type_index = kTVMFFIObject;
    code = TVMFFITypeRegisterField(index, &f);
  }
  tvmffi_release(setter);
  return code;
}

static void test_type_odd_fields(TVMFFI_HERE) {
  TestOddChild *child;
  TestPair *pair;
  TVMFFIObjectHandle copy = NULL;
  TVMFFIObject *got = NULL;
  TVMFFIAny any;
  OK(test_register_odd());
  OK((child = TVMFFI_NEW(TestOddChild)) ? 0 : -1);
  OK((pair = TVMFFI_NEW(TestPair, tvmffi_int(1))) ? 0 : -1);
  child->base.hidden = &pair->base; /* borrowed */
  OK(tvmffi_field_set(tvmffi_obj(child), "held", tvmffi_obj(pair)));
  CHECK(child->base.held == &pair->base && test_strong(pair) == 2);
  FAILS(tvmffi_field_set(tvmffi_obj(child), "held", tvmffi_int(1)), "TypeError",
        ".held: no object");
  OK(tvmffi_field_get(tvmffi_obj(child), "held", tvmffi_out_object(&got)));
  CHECK(got == &pair->base && test_strong(pair) == 3);
  OK(tvmffi_field_get(tvmffi_obj(child), "fresh", tvmffi_out_any(&any)));
  CHECK_TEXT(tvmffi_any_str(&any), "made by the getter");
  FAILS(tvmffi_field_get(tvmffi_obj(child), "fails", tvmffi_out_any(&any)),
        "ValueError", "the getter fails");
  FAILS(tvmffi_field_set(tvmffi_obj(child), "fresh", tvmffi_obj(pair)),
        "AttributeError", "Field `fresh` is read-only");
  OK(tvmffi_i_class_copy(tvmffi_i_class_of_TestOddChild(), child, &copy));
  CHECK(test_hits() || test_strong(pair) == 4);
  (void)TVMFFI_RAISE("KeyError", "before the end");
  tvmffi_release(copy);
  FAILS(-1, "KeyError", "before the end");
  CHECK(test_hits() || test_strong(pair) == 3);
}

/* Fields of all the kinds that the types above lack. */
typedef struct {
  TVMFFIObject base;
  tvmffi_type_optional(ptr) address;
  TVMFFIAny blob;
  tvmffi_type_optional(dtype) dtype;
  TVMFFIObject *call, *list;
} TestMixed;
TVMFFI_TYPE(TestMixed, "unit.Mixed", TVMFFIObject,
            (field, optional(ptr), address, NULL),
            (field, optional(bytes), blob, NULL),
            (field, optional(dtype), dtype, NULL), (field, func, call, NULL),
            (field, optional(list), list, NULL))
#if !TVMFFI_NO_FLOAT
typedef struct {
  TVMFFIObject base;
  double ratio;
} TestRatio;
TVMFFI_TYPE(TestRatio, "unit.Ratio", TVMFFIObject, (field, float64, ratio, 0.5))
#endif

static void test_type_mixed(TVMFFI_HERE) {
  TestMixed *m;
  TVMFFIAny any;
  int32_t index;
  OK((m = TVMFFI_NEW(TestMixed)) ? 0 : -1);
  CHECK(!m->address && !m->dtype.has_value && !m->call && !m->list);
  CHECK_INT(m->blob.type_index, kTVMFFINone);
  any = test_get_of(m, "address");
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  OK(test_set_of(m, "address", tvmffi_ptr(m)));
  any = test_get_of(m, "address");
  CHECK(any.type_index == kTVMFFIOpaquePtr && any.v_ptr == m);
  index = m->base.type_index;
  CHECK_INT(test_field_of(index, "call")->field_static_type_index,
            kTVMFFIFunction);
#if !TVMFFI_NO_FLOAT
  {
    TestRatio *r = TVMFFI_NEW(TestRatio);
    OK(r ? 0 : -1);
    CHECK(r->ratio == 0.5);
    index = r->base.type_index;
    CHECK_INT(test_field_of(index, "ratio")->field_static_type_index,
              kTVMFFIFloat);
  }
#endif
}

/* Registers the type of a class again, as another library that declares the
   same type does: nothing changes. */
static void test_type_again(TVMFFI_HERE) {
  static tvmffi_i_class again;
  const TVMFFITypeInfo *info;
  const TVMFFIAny *attr;
  void *handle = NULL, *init;
  int32_t fields, methods, index = TVMFFI_TYPE_INDEX(TestSpoken);
  OK(index < 0 ? -1 : 0);
  info = TVMFFIGetTypeInfo(index);
  fields = info->num_fields;
  methods = info->num_methods;
  attr = tvmffi_i_class_attr(index, "__ffi_init__");
  init = attr->v_obj;
  again = *tvmffi_i_class_of_TestSpoken();
  OK(tvmffi_i_class_init(&again, &handle));
  CHECK(handle == &again && again.index == index);
  CHECK(info->num_fields == fields && info->num_methods == methods);
  CHECK(tvmffi_i_class_attr(index, "__ffi_init__")->v_obj == init);
}

/* Each step of a registration may lack memory, or find no function of the
   runtime that makes constructors. */
static void test_type_steps(TVMFFI_HERE) {
  static const char name[] = "ffi._RegisterFFIInit";
  static tvmffi_i_class fresh;
  TVMFFIObject *former = test_global(name);
  TVMFFIObjectHandle raises = NULL;
  TVMFFIAny any = tvmffi_none();
  void *handle = NULL;
  int32_t index;
  int i, code;
  OK(TVMFFI_REGISTER_TYPE(TestRecord));
  OK(TVMFFIFunctionCreate(NULL, test_raise_callback, NULL, &raises));
  OWN(raises);
  for (i = 0; i < 3; ++i) {
    fresh = *tvmffi_i_class_of_TestRecord();
    fresh.key = test_fresh("unit.Fresh");
    if (i)
      test_replace_global(name, i == 1 ? (TVMFFIObject *)raises : NULL);
    code = tvmffi_i_class_init(&fresh, &handle);
    if (i && former) test_replace_global(name, former);
    if (i == 1)
      FAILS(code, "ValueError", "the callback says no");
    else
      OK(code);
    index = fresh.index;
    if (i == 1 || !CHECK(tvmffi_i_class_attr(index, "__ffi_init__"))) continue;
    CHECK(TVMFFIGetTypeInfo(index)->num_fields == 10);
    if (i == 2)
      FAILS(TVMFFIFunctionCall(
                tvmffi_i_class_attr(index, "__ffi_init__")->v_obj, NULL, 0,
                &any),
            "RuntimeError", "...cannot be made by its fields: the runtime has "
            "no `ffi._RegisterFFIInit`");
  }
}

#if !TVMFFI_NO_METADATA && !TVMFFI_NO_CONTAINERS
/* Functions and methods whose metadata does not fit its buffer. */
typedef struct {
  TVMFFIObject base;
} TestLong;
TVMFFI_TYPE(TestLong,
            "unit.Long: a key of 80 bytes, which are as many as the key of a "
            "type can have...",
            TVMFFIObject, (method, many))
#define TEST_MANY(T)                                                        \
  (T, a), (T, b), (T, c), (T, d), (T, e), (T, f), (T, g), (T, h), (T, i),   \
      (T, j), (T, k), (T, l), (T, m), (T, n), (T, o)
TVMFFI_METHOD(TestLong, many, optional(TestLong),
              TEST_MANY(optional(map(TestLong, TestLong)))) {
  (void)self;
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  (void)i, (void)j, (void)k, (void)l, (void)m, (void)n, (void)o;
  TVMFFI_RETURN(NULL);
}

static void test_type_long(TVMFFI_HERE) {
  tvmffi_func *f = &tvmffi_func_TestLong_many;
  TVMFFIAny any = tvmffi_none();
  FAILS(TVMFFI_REGISTER_TYPE(TestLong), "ValueError",
        "...The type schema of unit.Long: a key of 80 bytes");
  if (test_hits()) return; /* the method has no name yet */
  FAILS(tvmffi_i_register("unit.long", f, "many", TVMFFI_I_LITERAL),
        "ValueError",
        "...The type schema of unit.Long: a key of 80 bytes");
  FAILS(tvmffi_i_return_metadata(f, &any), "ValueError", "...is too long");
  CHECK_INT(any.type_index, kTVMFFINone);
}
#endif

/* Methods and fields by name, as of a type that this file does not know. */
static void test_type_member_names(TVMFFI_HERE) {
  static const TVMFFIByteArray text = {"ten and more bytes", 10};
  const TVMFFIAny part = tvmffi_i_text_of(text);
  TestPair *pair;
  TestRecord *record;
  TVMFFIObject *o, *twins = NULL, lost;
  TVMFFIAny nobody = tvmffi_none();
  DLDataType dtype;
  int64_t n = 0;
  memset((void *)&lost, 0, sizeof(lost));
  OK((pair = TVMFFI_NEW(TestPair, tvmffi_int(3))) ? 0 : -1);
  o = &pair->base;
  OK(tvmffi_method(tvmffi_obj(o), "total", tvmffi_out_int64(&n)));
  CHECK_INT(n, 10);
  OK(tvmffi_method(tvmffi_obj(o), "twins", tvmffi_out_object(&twins),
                   tvmffi_int(4)));
  OK(tvmffi_field_get(tvmffi_obj(twins), "b", tvmffi_out_int64(&n)));
  CHECK_INT(n, 4);
  OK(tvmffi_field_set(tvmffi_obj(o), "a", tvmffi_int(5)));
  CHECK_INT(pair->a, 5);
  FAILS(tvmffi_field_set(tvmffi_obj(o), "a", tvmffi_str("x")), "TypeError",
        ".a: Cannot convert from type `const char*` to `int`");
  FAILS(tvmffi_field_set(tvmffi_obj(o), "c", tvmffi_int(5)), "AttributeError",
        "Type `unit.Pair` has no field `c`");
  FAILS(tvmffi_field_get(tvmffi_obj(o), NULL, tvmffi_out_int64(&n)),
        "AttributeError", "Type `unit.Pair` has no field ``");
  FAILS(tvmffi_field_get(tvmffi_int(1), "a", tvmffi_out_int64(&n)), "TypeError",
        "A value of type `int` has no member `a`");
  FAILS(tvmffi_method(tvmffi_obj(o), "a", tvmffi_out_int64(&n)),
        "AttributeError", "Type `unit.Pair` has no method `a`");
  FAILS(tvmffi_field_get(tvmffi_obj(o), "b", tvmffi_out_dtype(&dtype)),
        "TypeError", ".b: Cannot convert from type `int` to `DataType`");
  lost.type_index = INT32_MAX;
  FAILS(tvmffi_field_get(tvmffi_obj(&lost), "a", tvmffi_out_int64(&n)),
        "TypeError", "Type 2147483647 is not registered");
  OK((record = TVMFFI_NEW(TestRecord, tvmffi_int(1), part)) ? 0 : -1);
  CHECK_TEXT(tvmffi_any_str(&record->text), "ten and mo");
  OK(tvmffi_any_assign(&record->text, tvmffi_str("")));
  OK(tvmffi_field_set(tvmffi_obj(record), "text", part));
  CHECK_TEXT(tvmffi_any_str(&record->text), "ten and mo");
  FAILS(tvmffi_field_set(tvmffi_obj(record), "small", tvmffi_int(1)),
        "AttributeError", "Field `small` is read-only");
  nobody.type_index = TVMFFI_TYPE_INDEX(TestPair); /* and no object */
  FAILS(tvmffi_field_get(nobody, "a", tvmffi_out_int64(&n)), "TypeError",
        "A value of type `unit.Pair` has no member `a`");
  (void)TVMFFI_RAISE("KeyError", "why it is NULL");
  FAILS(tvmffi_method(tvmffi_none(), "total", tvmffi_out_int64(&n)), "KeyError",
        "why it is NULL");
}

/* What is made belongs to the scope. */
static void test_type_scope(TVMFFI_HERE) {
  static int64_t state;
  TestPair *pair;
  TVMFFIObject *f = NULL;
  test_closures_ended = 0;
  OK((pair = TVMFFI_NEW(TestPair, tvmffi_int(1))) ? 0 : -1);
  OK(TVMFFI_CLOSURE_NEW(u_closure, &state, test_end_closure, &f));
  CHECK(test_strong(pair) == 1 && test_strong(f) == 1);
  CHECK_INT(tvmffi_scope_count(kTVMFFIFunction), 1);
  CHECK_INT(tvmffi_scope_count(TVMFFI_TYPE_INDEX(TestPair)), 1);
  CHECK_INT(test_closures_ended, 0);
  tvmffi_scope_close(tvmffi_here);
  CHECK_INT(test_closures_ended, 1);
}
#else
/* Only the types of the ABI: what asks for another is refused. */
typedef struct {
  TVMFFIObject base;
  int64_t a;
} TestPair;
TVMFFI_TYPE(TestPair, "unit.Pair", TVMFFIObject, (field, int64, a))
typedef struct {
  TVMFFIObject base;
} TestError;
TVMFFI_FOREIGN_TYPE(TestError, "ffi.Error")

static void test_no_types(TVMFFI_HERE) {
  TVMFFIByteArray key = TEXT("unit.Pair"), abi = TEXT("ffi.Error");
  TVMFFIObject *error;
  TVMFFITypeMetadata metadata;
  TVMFFIFieldInfo field = test_field("a", 24);
  int32_t index = -1;
  memset((void *)&metadata, 0, sizeof(metadata));
  CHECK(!TVMFFIGetTypeInfo(kTVMFFIError) && !TVMFFIGetTypeInfo(-1));
  OK(TVMFFITypeKeyToIndex(&abi, &index));
  CHECK_INT(index, kTVMFFIError);
  FAILS(TVMFFITypeKeyToIndex(&key, &index), "InternalError",
        "Cannot find type `unit.Pair`");
  FAILS(TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject) < 0,
        "RuntimeError", "This runtime has no table of types");
  FAILS(TVMFFITypeRegisterField(200, &field), "InternalError", NULL);
  FAILS(TVMFFITypeRegisterMetadata(200, &metadata), "InternalError", NULL);
  FAILS(TVMFFI_REGISTER_TYPE(TestPair), "RuntimeError",
        "Type `unit.Pair`: this runtime has no table of types");
  FAILS(!TVMFFI_NEW(TestPair, tvmffi_int(1)), "RuntimeError", NULL);
  OK(TVMFFI_REGISTER_TYPE(TestError));
  CHECK_INT(TVMFFI_TYPE_INDEX(TestError), kTVMFFIError);
  (void)TVMFFI_RAISE("ValueError", "one");
  error = tvmffi_i_error_remove();
  OWN(error);
  CHECK(TVMFFI_CAST(TestError, error) == (TestError *)error);
  CHECK(!TVMFFI_CAST(TestPair, error));
  FAILS(tvmffi_call(tvmffi_str("ffi.String"), tvmffi_out_none(NULL),
                    tvmffi_obj(error)),
        "TypeError", "...Expected `str` but got `ffi.Error`");
}
#endif
#endif

static const test_case test_struct_type_cases[] = {
#if !TEST_NO_TENSORS
#if !TVMFFI_NO_TYPES
    {"struct types: registration", test_type_registration},
    {"struct types: new objects", test_type_new},
    {"struct types: values and fields", test_type_values},
    {"struct types: nested makers", test_type_nested},
    {"struct types: factories in scopes", test_type_factory},
    {"struct types: fields", test_type_fields},
    {"struct types: methods", test_type_methods},
    {"struct types: attributes", test_type_attributes},
    {"struct types: attributes of their own", test_type_own_attributes},
    {"struct types: end of an object", test_type_end},
#if defined(__cplusplus) || defined(TVMFFI_I_IS_WANTED)
    {"struct types: derived structs", test_type_derived},
#endif
    {"struct types: memory that is kept", test_type_kept_memory},
    {"struct types: makers without a scope", test_type_without_scope},
    {"struct types: results", test_type_results},
    {"struct types: a long chain", test_type_chain},
#if defined(__cplusplus) && defined(__cpp_exceptions)
    {"struct types: destructors that throw", test_throwing_types},
#endif
    {"struct types: mistakes", test_type_mistakes},
    {"struct types: that cannot be registered", test_unfit_types},
    {"struct types: two that refer to each other", test_type_declared},
    {"struct types: a child of a foreign type", test_type_foreign},
#if !TVMFFI_NO_CONTAINERS
    {"struct types: fields of words with arguments", test_type_parts},
    {"struct types: as arguments of words", test_type_arguments},
#endif
    {"struct types: loops", test_type_loops},
    {"struct types: fields with getters of their own", test_type_odd_fields},
    {"struct types: fields of other kinds", test_type_mixed},
    {"struct types: registered twice", test_type_again},
    {"struct types: steps of a registration", test_type_steps},
#if !TVMFFI_NO_METADATA && !TVMFFI_NO_CONTAINERS
    {"struct types: metadata that is too long", test_type_long},
#endif
    {"struct types: members by name", test_type_member_names},
    {"struct types: scopes", test_type_scope},
#endif
#if !(!TVMFFI_NO_TYPES)
    {"struct types: none", test_no_types},
#endif
#endif
    {NULL, NULL}};
