/* ======== Reflection: objects made by their fields ======================== */

#pragma once

#include "harness.h"
#include "type_field.h"
#include "type.h"
#include "apply.h"

#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
static void test_make_object(TVMFFI_HERE) {
  static const char make[] = "ffi.MakeObjectFromPackedArgs";
  TVMFFIAny args[7], any;
  args[0] = tvmffi_str("ffi.Enum");
  args[1] = tvmffi_str("_str_index");
  args[2] = tvmffi_str("a name of more than seven bytes");
  args[3] = tvmffi_str("_int_index");
  args[4] = tvmffi_int(7);
  args[6] = tvmffi_int(1);
  OK(test_apply_global(make, args, 5, &any));
  CHECK_INT(any.type_index, 129);
  CHECK_INT(((tvmffi_i_enum *)any.v_ptr)->str_index.type_index, kTVMFFIStr);
  args[0] = tvmffi_int(TVMFFI_I_ACCESS_STEP);
  args[1] = tvmffi_str("kind");
  args[2] = tvmffi_int(2);
  args[3] = tvmffi_str("key");
  OK(test_apply_global(make, args, 5, &any));
  CHECK_INT(test_get_field(any.v_obj, "key").v_int64, 7);
  FAILS(test_apply_global(make, args, 3, &any), "TypeError",
        "Required field `key` not set in type `ffi.reflection.AccessStep`");
  FAILS(test_apply_global(make, args, 4, &any), "InternalError", NULL);
  FAILS(test_apply_global(make, args, 0, &any), "InternalError", NULL);
  args[5] = tvmffi_str("nobody");
  FAILS(test_apply_global(make, args, 7, &any), "TypeError",
        "Type `ffi.reflection.AccessStep` does not have field `nobody`");
  args[2] = tvmffi_str("x");
  FAILS(test_apply_global(make, args, 5, &any), "TypeError",
        "Cannot convert from type `const char*` to `int`");
  args[2] = tvmffi_int((int64_t)1 << 40);
  FAILS(test_apply_global(make, args, 5, &any), "OverflowError",
        "1099511627776 does not fit in the field");
  args[1] = tvmffi_none();
  FAILS(test_apply_global(make, args, 5, &any), "TypeError",
        "Cannot convert from type `None` to `str`");
  args[0] = tvmffi_int(kTVMFFIArray);
  FAILS(test_apply_global(make, args, 1, &any), "RuntimeError",
        "Type `ffi.Array` does not support reflection creation (no native "
        "creator or __ffi_new__ type attr)");
}

/* Converters as Python gives them: the value itself, or an error. */
static int test_convert(void *converter, const TVMFFIAny *value,
                        TVMFFIAny *result) {
  if (converter) return TVMFFI_RAISE("TypeError", "not\nthis");
  return TVMFFIAnyViewToOwnedAny(value, result);
}

/* Makes a getter and a setter as Python does. */
static int test_make_access(TVMFFIFieldInfo *f, int32_t type_index,
                            void *converter) {
  TVMFFIAny args[3], any;
  args[0] = tvmffi_int(type_index);
  args[1] = tvmffi_int((int64_t)(intptr_t)converter);
  args[2] = tvmffi_int((int64_t)(intptr_t)test_convert);
  TVMFFI_TRY(test_apply_global("ffi.MakeFieldGetter", args, 1, &any));
  f->getter = (TVMFFIFieldGetter)(uintptr_t)any.v_int64;
  TVMFFI_TRY(test_apply_global("ffi.MakeFieldSetter", args, 3, &any));
  f->setter = any.v_ptr;
  f->field_static_type_index = type_index;
  return 0;
}

/* A setter for a type index that no field can have. */
static int test_setter_of_nine(TVMFFIAny *field) {
  TVMFFIAny args[3], any;
  args[0] = tvmffi_int(9);
  args[1] = tvmffi_int(0);
  args[2] = tvmffi_int((int64_t)(intptr_t)test_convert);
  TVMFFI_TRY(test_apply_global("ffi.MakeFieldSetter", args, 3, &any));
  args[0] = tvmffi_ptr(field);
  args[1] = tvmffi_int(1);
  return test_apply(any.v_obj, args, 2, &any);
}

/* Converters that give an object without an address, a text that is no dtype,
   or fail silently. */
static int test_convert_to_null(void *converter, const TVMFFIAny *value,
                                TVMFFIAny *result) {
  (void)converter, (void)value;
  *result = tvmffi_i_pointer(kTVMFFIObject, NULL);
  return 0;
}
static int test_convert_to_text(void *converter, const TVMFFIAny *value,
                                TVMFFIAny *result) {
  (void)converter, (void)value;
  *result = tvmffi_str("wide");
  return 0;
}
static int test_convert_silently(void *converter, const TVMFFIAny *value,
                                 TVMFFIAny *result) {
  (void)converter, (void)value, (void)result;
  return 5;
}

/* Sets a field of the declared type by a setter with this converter. A field
   that cannot be set keeps its value. */
static int test_set_converted(int32_t type_index, int fails,
                              tvmffi_i_converter convert) {
  TVMFFIAny args[3], any, field = tvmffi_int(3);
  int code;
  args[0] = tvmffi_int(type_index);
  args[1] = tvmffi_int(fails);
  args[2] = tvmffi_int((int64_t)(intptr_t)convert);
  TVMFFI_TRY(test_apply_global("ffi.MakeFieldSetter", args, 3, &any));
  args[0] = tvmffi_ptr(&field);
  args[1] = tvmffi_int(1);
  code = test_apply(any.v_obj, args, 2, &any);
  CHECK_INT(field.v_int64, 3);
  return code;
}

static void test_field_converters(TVMFFI_HERE) {
  FAILS(test_set_converted(kTVMFFIAny, 0, test_convert_to_null), "ValueError",
        "...v_obj must not be NULL");
  FAILS(test_set_converted(kTVMFFIObject, 0, test_convert_to_null), "TypeError",
        "Cannot convert from type `ffi.Object` to `ffi.Object`");
  FAILS(test_set_converted(kTVMFFIDataType, 0, test_convert_to_text),
        "ValueError", "unknown dtype `wide`");
  FAILS(test_set_converted(kTVMFFIInt, 1, test_convert), "TypeError",
        "not\nthis");
  FAILS(test_set_converted(kTVMFFIInt, 0, test_convert_silently),
        "RuntimeError", "A field converter failed with code 5 and no error");
}

static void test_field_access(TVMFFI_HERE) {
  static const int32_t types[] = {
      kTVMFFIAny,      kTVMFFIInt,    kTVMFFIBool,   kTVMFFIOpaquePtr,
      kTVMFFIDataType, kTVMFFIDevice, kTVMFFIObject, kTVMFFIArray,
#if !TVMFFI_NO_FLOAT
      kTVMFFIFloat
#endif
  };
  DLDataType dtype = {kDLInt, 8, 1};
  TVMFFIAny values[9], field = tvmffi_none(), args[2], any;
  TVMFFIFieldInfo f;
  TVMFFIObject *list = tvmffi_i_new_list(0);
  int i;
  OK(list ? 0 : -1);
  OWN(list);
  values[0] = tvmffi_obj(list);
  values[1] = tvmffi_int(-5);
  values[2] = tvmffi_bool(1);
  memset(&f, 0, sizeof(f));
  values[3] = tvmffi_ptr(&f);
  values[4] = tvmffi_dtype(dtype);
  values[5] = tvmffi_device(TVMFFIDLDeviceFromIntPair(2, 3));
  values[6] = values[7] = values[0];
  values[8] = tvmffi_none();
  values[8].type_index = kTVMFFIFloat;
  values[8].v_uint64 = 0x3FF8000000000000u; /* 1.5 */
  for (i = 0; i < TEST_COUNT(types); ++i) {
    OK(test_make_access(&f, types[i], NULL));
    memset((void *)&field, 0, sizeof(field));
    args[0] = tvmffi_ptr(&field);
    args[1] = values[i];
    OK(test_apply((TVMFFIObject *)f.setter, args, 2, &any));
    OK(f.getter(&field, &any));
    OWN_ANY(any);
    CHECK(tvmffi_i_same_any(&any, &values[i]));
    args[1] = tvmffi_str("nothing");
    if (types[i] != kTVMFFIAny && types[i] != kTVMFFIDataType)
      FAILS(test_apply((TVMFFIObject *)f.setter, args, 2, &any), "TypeError",
            "...Cannot convert from type `ffi.SmallStr` to `");
    if (types[i] >= kTVMFFIObject) {
      args[1] = tvmffi_none();
      OK(test_apply((TVMFFIObject *)f.setter, args, 2, &any));
      CHECK(field.v_obj == NULL || types[i] < kTVMFFIObject);
    }
    if (types[i] == kTVMFFIAny) tvmffi_any_release(&field);
  }
  CHECK_INT(test_strong(list) < 8, 1);
  args[0] = tvmffi_int(9);
  FAILS(test_apply_global("ffi.MakeFieldGetter", args, 1, &any), "ValueError",
        "Unsupported field type index for getter: 9");
  args[1] = tvmffi_int(0);
  FAILS(test_setter_of_nine(&field), "ValueError",
        "Unsupported field type index for setter: 9");
  FAILS(test_apply_global("ffi.MakeFieldSetter", args, 2, &any), "TypeError",
        NULL);
  FAILS(test_apply((TVMFFIObject *)f.setter, args, 1, &any), "TypeError",
        "A field setter takes 2 arguments, but 1 were given");
  args[1] = tvmffi_none();
  FAILS(test_apply((TVMFFIObject *)f.setter, args, 2, &any), "TypeError",
        "Cannot convert from type `int` to `void*`");
  args[0] = tvmffi_i_pointer(kTVMFFIOpaquePtr, NULL);
  FAILS(test_apply((TVMFFIObject *)f.setter, args, 2, &any), "TypeError",
        "Cannot convert from type `void*` to `void*`");
}

/* A class as Python defines it: int a; Any b with a default; Object c that is
   keyword-only and may be left out; int d that no constructor sets. */
typedef struct {
  TVMFFIObject base;
  int64_t a;
  TVMFFIAny b;
  TVMFFIObject *c;
  int64_t d;
} test_py;

/* Registers such a class; gives its index, or -1. The name must live on. */
static int32_t test_py_class(const char *name, TVMFFIAny fallback) {
  int32_t index = test_type(name, -1, 1, 0, 1, kTVMFFIObject);
  static const struct {
    const char *name;
    int32_t type, size, flags;
    size_t offset;
  } rows[] = {
      {"a", kTVMFFIInt, 8, 0, offsetof(test_py, a)},
      {"b", kTVMFFIAny, 16, kTVMFFIFieldFlagBitMaskHasDefault,
       offsetof(test_py, b)},
      {"c", kTVMFFIObject, (int32_t)sizeof(void *),
       kTVMFFIFieldFlagBitMaskHasDefault | kTVMFFIFieldFlagBitMaskKwOnly,
       offsetof(test_py, c)},
      {"d", kTVMFFIInt, 8, kTVMFFIFieldFlagBitMaskInitOff,
       offsetof(test_py, d)}};
  TVMFFIAny args[2], any;
  int i;
  if (index < 0) return -1;
  for (i = 0; i < TEST_COUNT(rows); ++i) {
    TVMFFIFieldInfo f;
    memset((void *)&f, 0, sizeof(f));
    f.name = TEXT(rows[i].name);
    f.size = rows[i].size;
    f.alignment = 8;
    f.offset = (int64_t)rows[i].offset;
    f.flags = rows[i].flags | kTVMFFIFieldFlagBitMaskWritable |
              kTVMFFIFieldFlagBitSetterIsFunctionObj;
    if (test_make_access(&f, rows[i].type, NULL)) return -1;
    if (i == 1) f.default_value_or_factory = fallback;
    if (i == 1 && fallback.type_index == kTVMFFIFunction)
      f.flags |= kTVMFFIFieldFlagBitMaskDefaultFromFactory;
    if (TVMFFITypeRegisterField(index, &f)) return -1;
  }
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int((int64_t)sizeof(test_py));
  if (test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any))
    return -1;
  return index;
}

/* An array and a list convert to each other, and so do a map and a dict. */
static void test_conversions(TVMFFI_HERE) {
  static const int32_t types[] = {kTVMFFIArray, kTVMFFIList, kTVMFFIMap,
                                  kTVMFFIDict};
  static const char *const makers[] = {"ffi.Array", "ffi.List", "ffi.Map",
                                       "ffi.Dict"};
  TVMFFIAny two[2], from, made;
  int i, k;
  two[0] = tvmffi_str("a key of some length");
  two[1] = tvmffi_int(2);
  for (i = 0; i < 4; ++i) {
    OK(test_apply_global(makers[i], two, 2, &from));
    for (k = 0; k < 4; ++k) {
      if (i / 2 != k / 2) {
        FAILS(test_apply_attr(types[k], "__ffi_convert__", &from, 1, &made),
              "TypeError", "...Cannot cast from `ffi.");
        continue;
      }
      OK(test_apply_attr(types[k], "__ffi_convert__", &from, 1, &made));
      CHECK_INT(made.type_index, types[k]);
      CHECK_INT(tvmffi_i_size_of(made.v_obj), i < 2 ? 2 : 1);
      CHECK((made.v_obj == from.v_obj) == (i == k));
    }
  }
  OK(test_apply_global("ffi.List", two, 2, &from));
  FAILS(test_apply_attr(kTVMFFIShape, "__ffi_convert__", &from, 1, &made),
        "TypeError", "...Cannot cast from `ffi.List` to `ffi.Shape`");
  OK(test_apply_global("ffi.List", two + 1, 1, &from));
  OK(test_apply_attr(kTVMFFIShape, "__ffi_convert__", &from, 1, &made));
  CHECK_INT(TVMFFI_I_CELL(TVMFFIShapeCell, made.v_obj)->data[0], 2);
  from = tvmffi_i_pointer(kTVMFFIList, NULL);
  FAILS(test_apply_attr(kTVMFFIArray, "__ffi_convert__", &from, 1, &made),
        "TypeError", NULL);
}

static void test_py_classes(TVMFFI_HERE) {
  const char *key = test_fresh("unit.Py");
  int32_t index = test_py_class(key, tvmffi_str("by default"));
  static const char init[] = "__ffi_init__";
  TVMFFIAny args[6], any, copy;
  TVMFFIObject *list;
  OK(index < 0 ? -1 : 0);
  list = tvmffi_i_new_list(0);
  OK(list ? 0 : -1);
  OWN(list);
  args[0] = tvmffi_int(4);
  OK(test_apply_attr(index, init, args, 1, &any));
  CHECK_INT(((test_py *)any.v_ptr)->a, 4);
  CHECK_INT(((test_py *)any.v_ptr)->b.type_index, kTVMFFIStr);
  CHECK(((test_py *)any.v_ptr)->c == NULL);
  args[1] = tvmffi_obj(list);
  args[2] = tvmffi_obj(&tvmffi_i_kwargs_object);
  args[3] = tvmffi_str("c");
  args[4] = tvmffi_obj(list);
  OK(test_apply_attr(index, init, args, 5, &any));
  CHECK_INT(test_strong(list), 3);
  OK(test_apply_attr(index, "__ffi_shallow_copy__", &any, 1, &copy));
  CHECK_INT(test_strong(list), 5);
  CHECK_INT(((test_py *)copy.v_ptr)->a, 4);
  test_drop(any.v_obj);
  test_drop(copy.v_obj);
  CHECK_INT(test_strong(list), 1);
  OK(test_apply_attr(index, "__ffi_new__", NULL, 0, &any));
  CHECK_INT(((test_py *)any.v_ptr)->b.type_index, kTVMFFINone);
}

static void test_bad_init(TVMFFI_HERE) {
  const char *key = test_fresh("unit.Py");
  int32_t index = test_py_class(key, tvmffi_int(1));
  static const char init[] = "__ffi_init__";
  TVMFFIAny args[6], any;
  OK(index < 0 ? -1 : 0);
  FAILS(test_apply_attr(index, init, NULL, 0, &any), "TypeError",
        "....__ffi_init__() missing required argument: 'a'");
  args[0] = args[1] = args[2] = tvmffi_int(1);
  FAILS(test_apply_attr(index, init, args, 3, &any), "TypeError",
        "....__ffi_init__() takes at most 2 positional argument(s), but 3 were "
        "given");
  args[3] = tvmffi_obj(&tvmffi_i_kwargs_object);
  FAILS(test_apply_attr(index, init, args, 4, &any), "TypeError",
        "....__ffi_init__() takes at most 2 positional argument(s), but 3 were "
        "given");
  args[1] = tvmffi_obj(&tvmffi_i_invalid_object); /* a value like any other */
  OK(test_apply_attr(index, init, args, 2, &any));
  CHECK(((test_py *)any.v_ptr)->b.v_obj == &tvmffi_i_invalid_object);
  args[0] = tvmffi_str("x");
  FAILS(test_apply_attr(index, init, args, 1, &any), "TypeError",
        "....__ffi_init__() field 'a':\n  Cannot convert from type "
        "`ffi.SmallStr` to `int`");
  args[0] = tvmffi_int(1);
  args[1] = tvmffi_obj(&tvmffi_i_kwargs_object);
  FAILS(test_apply_attr(index, init, args, 3, &any), "TypeError",
        "....__ffi_init__() KWARGS requires an even number of key-value "
        "arguments");
  args[2] = tvmffi_str("d");
  args[3] = tvmffi_int(1);
  FAILS(test_apply_attr(index, init, args, 4, &any), "TypeError",
        "....__ffi_init__() got an unexpected keyword argument 'd'");
  args[2] = tvmffi_str("a");
  FAILS(test_apply_attr(index, init, args, 4, &any), "TypeError",
        "....__ffi_init__() got multiple values for argument 'a'");
  args[2] = tvmffi_int(1);
  FAILS(test_apply_attr(index, init, args, 4, &any), "TypeError",
        "Cannot convert from type `int` to `str`");
  args[2] = tvmffi_str("c");
  FAILS(test_apply_attr(index, init, args, 4, &any), "TypeError",
        "....__ffi_init__() field 'c':\n  Cannot convert from type `int` to "
        "`ffi.Object`");
  FAILS(test_apply_attr(index, "__ffi_new__", args, 1, &any), "TypeError",
        "Mismatched number of arguments when calling: `() -> ffi.Object`. "
        "Expected 0 but got 1 arguments");
  FAILS(test_apply_attr(index, "__ffi_shallow_copy__", args, 1, &any),
        "TypeError", "...Mismatched type on argument #0");
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int(23);
  FAILS(test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any),
        "ValueError", "...cannot have size 23");
  args[1] = tvmffi_int(40);
  FAILS(test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any),
        "ValueError", "...is not within its 40 bytes");
}

/* Registers an empty class of 32 bytes like those of Python, below a new
   parent; gives its index, or -1. */
static int32_t test_py_child(int32_t *parent) {
  TVMFFIAny args[2], any;
  int32_t index;
  *parent = test_type(test_fresh("unit.PyParent"), -1, 1, 0, 1, kTVMFFIObject);
  if (*parent < 0) return -1;
  index = test_type(test_fresh("unit.PyChild"), -1, 2, 0, 1, *parent);
  if (index < 0) return -1;
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int(32);
  if (test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any))
    return -1;
  return index;
}

#if TEST_STDERR
/* A field with the name of an ancestor's is registered, with a warning, also if
   that is the ancestor's first field or the ancestor is not the parent. */
static void test_hidden_fields(TVMFFI_HERE) {
  static const char *const names[] = {"first", "second"};
  TVMFFIByteArray got;
  TVMFFIFieldInfo f;
  int32_t parent, child, i;
  int code;
  child = test_py_child(&parent);
  OK(child < 0 ? -1 : 0);
  for (i = 0; i < 2; ++i) {
    f = test_field(names[i], 24 + 4 * i);
    OK(TVMFFITypeRegisterField(parent, &f));
  }
  for (i = 0; i < 3; ++i) {
    char want[256];
    f = test_field(i < 2 ? names[i] : "third", 24);
    test_begin_messages();
    code = TVMFFITypeRegisterField(child, &f);
    got = test_end_messages();
    OK(code);
    (void)snprintf(want, sizeof(want),
                   "[WARNING] Field \"%s\" in type \"%s\" duplicates an "
                   "ancestor field in \"%s\". Child types should not "
                   "re-register inherited fields.\n",
                   names[i & 1], TVMFFIGetTypeInfo(child)->type_key.data,
                   TVMFFIGetTypeInfo(parent)->type_key.data);
    CHECK_TEXT(got, i < 2 ? want : "");
  }
}
#endif

/* What is registered after objects of a class of Python exist. */
static void test_late_fields(TVMFFI_HERE) {
  int32_t parent, types[2], i;
  TVMFFIFieldInfo f;
  TVMFFIAny any;
  types[0] = test_py_child(&parent);
  types[1] = parent;
  OK(types[0] < 0 ? -1 : 0);
  OK(test_apply_attr(types[0], "__ffi_new__", NULL, 0, &any));
  for (i = 0; i < 2; ++i) {
    f = test_field("later", 40);
    FAILS(TVMFFITypeRegisterField(types[i], &f), "ValueError",
          "...is outside the object");
    f.offset = 20;
    FAILS(TVMFFITypeRegisterField(types[i], &f), "ValueError", NULL);
    f.offset = 24;
    f.size = (int64_t)sizeof(void *);
    f.field_static_type_index = kTVMFFIArray;
    FAILS(TVMFFITypeRegisterField(types[i], &f), "ValueError",
          "...has a reference type, but the layout of its type is fixed");
    f.offset = 512;
    FAILS(TVMFFITypeRegisterField(types[i], &f), "ValueError", NULL);
  }
  f = test_field("plain", 28);
  OK(TVMFFITypeRegisterField(parent, &f));
  test_drop(any.v_obj);
  f = test_field("unit_value", 24);
  f.size = 16;
  f.field_static_type_index = kTVMFFIAny;
  FAILS(TVMFFITypeRegisterField(kTVMFFIVisitInterrupt, &f), "ValueError", NULL);
}

/* A second field beside an Any at 24, in objects of 48 bytes. */
static void test_misplaced_fields(TVMFFI_HERE) {
  static const struct {
    int64_t offset, size;
    int32_t type;
    const char *message;
  } rows[] = {{16, 8, kTVMFFIInt, "...is not within its 48 bytes"},
              {40, 9, kTVMFFIInt, "...is not within its 48 bytes"},
              {-8, 8, kTVMFFIInt, "...is not within its 48 bytes"},
              {33, (int64_t)sizeof(void *), kTVMFFIMap,
               "...is not aligned in its 48 bytes"},
              {32, (int64_t)sizeof(void *), kTVMFFIMap,
               "...overlaps another field in its 48 bytes"},
              {32, 16, kTVMFFIAny, "...overlaps another field in its 48 bytes"},
              {24, (int64_t)sizeof(void *), kTVMFFIAny,
               "...overlaps another field in its 48 bytes"},
              {24, 16, kTVMFFIAny, NULL},   /* the same */
              {24, 24, kTVMFFIArray, /* a std::vector, of bits */
               "...overlaps another field in its 48 bytes"},
              {32, 8, kTVMFFIInt, "...overlaps another field in its 48 bytes"},
              {28, 4, kTVMFFIInt, "...overlaps another field in its 48 bytes"},
              {40, 8, kTVMFFIInt, NULL}};
  TVMFFIAny args[2], any;
  int i;
  for (i = 0; i < TEST_COUNT(rows); ++i) {
    TVMFFIFieldInfo f = test_field("first", 24);
    int32_t parent, index;
    int code;
    NEW_TYPE(parent, test_fresh("unit.One"), 1, 0, 1, kTVMFFIObject);
    NEW_TYPE(index, test_fresh("unit.Two"), 2, 0, 1, parent);
    f.size = 16;
    f.field_static_type_index = kTVMFFIAny;
    OK(TVMFFITypeRegisterField(parent, &f));
    f.name = TEXT("second");
    f.offset = rows[i].offset;
    f.size = rows[i].size;
    f.field_static_type_index = rows[i].type;
    OK(TVMFFITypeRegisterField(index, &f));
    args[0] = tvmffi_int(index);
    args[1] = tvmffi_int(48);
    code =
        test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any);
    if (rows[i].message) {
      FAILS(code, "ValueError", rows[i].message);
      continue;
    }
    OK(code);
    OK(test_apply_attr(index, "__ffi_new__", NULL, 0, &any));
  }
}

/* Fields in the reverse order of their places, and two plain ones at one place.
   A copy retains what each field holds, and releases it at its end, also if a
   weak reference keeps the copy's memory. */
static void test_field_order(TVMFFI_HERE) {
  static const struct {
    const char *name;
    int32_t type;
    int64_t size, offset;
  } rows[] = {{"late", kTVMFFIAny, 16, 40},
              {"early", kTVMFFIAny, 16, 24},
              {"plain", kTVMFFIInt, 8, 56},
              {"again", kTVMFFIInt, 8, 56},
              {"added", kTVMFFIInt, 8, 64}};
  int32_t index =
      test_type(test_fresh("unit.Order"), -1, 1, 0, 1, kTVMFFIObject);
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(index < 0 ? 0 : index);
  TVMFFIAny args[9], any, copy;
  const TVMFFIFieldInfo *before;
  TVMFFIFieldInfo f;
  TVMFFIObject *list;
  int i;
  OK(index < 0 ? -1 : 0);
  list = tvmffi_i_new_list(0);
  OK(list ? 0 : -1);
  OWN(list);
  memset((void *)&f, 0, sizeof(f));
  f.flags = kTVMFFIFieldFlagBitSetterIsFunctionObj;
  args[0] = tvmffi_int(index);
  for (i = 0; i < 5; ++i) {
    before = type->fields;
    f.name = TEXT(rows[i].name);
    f.size = rows[i].size;
    f.offset = rows[i].offset;
    OK(test_make_access(&f, rows[i].type, NULL));
    OK(TVMFFITypeRegisterField(index, &f));
    if (i != 3) continue;
    args[1] = tvmffi_int(72);
    OK(test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any));
  }
  /* The last field has moved the others to a larger array. */
  CHECK(before != type->fields);
  CHECK(!tvmffi_i_is_alias(type, &before[0]));
  CHECK(!tvmffi_i_is_alias(type, &before[1]));
  for (i = 0; i < 4; ++i) args[i] = i < 2 ? tvmffi_obj(list) : tvmffi_int(i);
  OK(test_apply_attr(index, "__ffi_init__", args, 4, &any));
  CHECK_INT(test_strong(list), 3);
  OK(test_apply_attr(index, "__ffi_shallow_copy__", &any, 1, &copy));
  CHECK_INT(test_strong(list), 5);
  CHECK_INT(*(int64_t *)tvmffi_i_at(copy.v_obj, &before[3]), 3);
  tvmffi_weak_retain(copy.v_obj);
  test_drop(copy.v_obj);
  CHECK(!tvmffi_weak_lock(copy.v_obj));
  CHECK_INT(test_strong(list), 3);
  tvmffi_weak_release(copy.v_obj);
}

/* Each line of a message is indented, behind 4 KB as well. The pending error
   stays. */
static void test_long_field_error(const tvmffi_i_init *init) {
  enum { SIZE = 5000 };
  TVMFFIObject *kept = tvmffi_i_error_remove(), *error;
  char *message = (char *)malloc(SIZE + sizeof("\nthis"));
  CHECK(message != NULL);
  if (message) {
    memset(message, 'x', SIZE);
    memcpy(message + SIZE, "\nthis", sizeof("\nthis"));
    TVMFFIErrorSetRaisedFromCStr("TypeError", message);
    (void)tvmffi_i_field_failed(init, tvmffi_i_init_fields(init)[0],
                                "field", -1);
    error = tvmffi_i_error_remove();
    CHECK(test_hits() ||
          test_contains(TVMFFIErrorGetCellPtr(error)->message, "x\n  this"));
    tvmffi_release(error);
  }
  free(message);
  (void)tvmffi_i_error_restore(kept);
}

/* A message that is too long to be indented. */
static void test_huge_field_error(const tvmffi_i_init *init) {
  TVMFFIObject *kept = tvmffi_i_error_remove(), *error;
  TVMFFIErrorCell *cell;
  size_t size;
  (void)TVMFFI_RAISE("TypeError", "a message");
  error = tvmffi_i_error_remove();
  cell = TVMFFIErrorGetCellPtr(error);
  size = cell->message.size;
  if (error != &tvmffi_i_memory_error.base) {
    cell->message.size = PTRDIFF_MAX / 4 + 1;
    TVMFFIErrorSetRaised(error);
    FAILS(tvmffi_i_field_failed(init, tvmffi_i_init_fields(init)[0], "field",
                                -1),
          "MemoryError", NULL);
    cell->message.size = size;
  }
  tvmffi_release(error);
  (void)tvmffi_i_error_restore(kept);
}

/* Objects of the runtime's own types cannot be made by their fields, nor can
   those of a type that derives from a visitor. */
static void test_no_fields_enough(TVMFFI_HERE) {
  static const char *const keys[] = {
      "ffi.Object", "ffi.Error", "ffi.Array", "ffi.Module", "ffi.Enum",
      "ffi.reflection.AccessPath", "ffi.VisitInterrupt"};
  static const int32_t parents[] = {TVMFFI_I_STRUCTURAL_VISITOR,
                                    TVMFFI_I_STRUCTURAL_MUTATOR};
  TVMFFIAny args[2], any;
  int32_t index;
  int i;
  for (i = 0; i < TEST_COUNT(keys) + 2; ++i) {
    if (i < TEST_COUNT(keys)) {
      TVMFFIByteArray key = TEXT(keys[i]);
      OK(TVMFFITypeKeyToIndex(&key, &index));
    } else {
      NEW_TYPE(index, test_fresh("unit.Visitor"), 2, 0, 1,
               parents[i - TEST_COUNT(keys)]);
    }
    args[0] = tvmffi_int(index);
    args[1] = tvmffi_int(48);
    FAILS(test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2,
                            &any),
          "ValueError", "...cannot be made by their fields");
  }
}

/* An error of a setter keeps its kind and becomes the cause of the new one; a
   factory's own error is left as it is. */
static void test_init_errors(TVMFFI_HERE) {
  const char *key = test_fresh("unit.Py");
  TVMFFIObjectHandle factory = NULL;
  TVMFFIObject *error;
  TVMFFIAny args[1], any;
  TVMFFIFieldInfo f;
  int32_t index;
  OK(TVMFFIFunctionCreate(NULL, test_raise_callback, NULL, &factory));
  OWN(factory);
  index = test_py_class(key, tvmffi_obj(factory));
  OK(index < 0 ? -1 : 0);
  args[0] = tvmffi_int(1);
  FAILS(test_apply_attr(index, "__ffi_init__", args, 1, &any), "ValueError",
        "the callback says no");
  index = test_type(test_fresh("unit.Bad"), -1, 1, 0, 1, kTVMFFIObject);
  OK(index < 0 ? -1 : 0);
  memset((void *)&f, 0, sizeof(f));
  f.name = TEXT("a");
  f.size = 8;
  f.offset = 24;
  f.flags = kTVMFFIFieldFlagBitSetterIsFunctionObj;
  OK(test_make_access(&f, kTVMFFIInt, &f));
  OK(TVMFFITypeRegisterField(index, &f));
  args[0] = tvmffi_int(index);
  OK(test_apply_global("ffi._RegisterFFIInit", args, 1, &any));
  FAILS(test_apply_attr(index, "__ffi_init__", args, 1, &any), "RuntimeError",
        "...does not support reflection creation");
  FAILS(test_apply_global("ffi._RegisterFFIInit", args, 1, &any),
        "RuntimeError", "...is already registered for type index");
  {
    tvmffi_i_init *init = tvmffi_i_make_init(TVMFFIGetTypeInfo(index));
    OK(init ? 0 : -1);
    (void)TVMFFI_RAISE("TypeError", "not\nthis");
    (void)tvmffi_i_field_failed(init, tvmffi_i_init_fields(init)[0],
                                "field", -1);
    test_long_field_error(init);
    test_huge_field_error(init);
    tvmffi_i_free(init);
  }
  error = tvmffi_i_error_remove();
  if (error && !test_hits()) {
    const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
    const TVMFFIByteArray *name = &TVMFFIGetTypeInfo(index)->type_key;
    CHECK_TEXT(cell->kind, "TypeError");
    if (CHECK(cell->message.size > name->size &&
              !memcmp(cell->message.data, name->data, name->size)))
      CHECK_TEXT(test_bytes(cell->message.data + name->size,
                            cell->message.size - name->size),
                 ".__ffi_init__() field 'a':\n  not\n  this");
    CHECK(cell->cause_chain != NULL);
  }
  tvmffi_release(error);
}

static int test_deep_copy(TVMFFIObject *from, TVMFFIObject **copy);

/* A class of test_py with one field, made and copied by the runtime; gives its
   index, or -1. */
static int32_t test_field_class(const TVMFFIFieldInfo *field) {
  int32_t index = test_type(test_fresh("unit.One"), -1, 1, 0, 1, kTVMFFIObject);
  TVMFFIAny args[2], any;
  if (index < 0 || TVMFFITypeRegisterField(index, field)) return -1;
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int((int64_t)sizeof(test_py));
  if (test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any))
    return -1;
  return index;
}

/* Makes an object of a class, with `n` more arguments. */
static int test_make(int32_t index, TVMFFIAny *args, int n, TVMFFIAny *made) {
  args[0] = tvmffi_int(index);
  return test_apply_global("ffi.MakeObjectFromPackedArgs", args, 1 + n, made);
}

/* What a field does that its argument leaves out, and one without a setter. */
static void test_field_defaults(TVMFFI_HERE) {
  TVMFFIFieldInfo f;
  TVMFFIAny args[3], any;
  int32_t index;
  args[1] = tvmffi_str("a");
  args[2] = tvmffi_int(8);
  memset((void *)&f, 0, sizeof(f));
  f.name = TEXT("a");
  f.size = 8;
  f.alignment = 8;
  f.offset = (int64_t)offsetof(test_py, a);
  f.flags = kTVMFFIFieldFlagBitMaskHasDefault |
            kTVMFFIFieldFlagBitSetterIsFunctionObj;
  OK(test_make_access(&f, kTVMFFIInt, NULL));
  f.default_value_or_factory = tvmffi_int(5);
  index = test_field_class(&f);
  OK(index < 0 ? -1 : 0);
  OK(test_make(index, args, 0, &any));
  CHECK_INT(((test_py *)any.v_ptr)->a, 5);
  OK(test_make(index, args, 2, &any));
  CHECK_INT(((test_py *)any.v_ptr)->a, 8);
  FAILS(test_apply_attr(index, "__ffi_shallow_copy__", args, 0, &any),
        "TypeError",
        "Mismatched number of arguments when calling: `(0: ffi.Object) -> "
        "ffi.Object`. Expected 1 but got 0 arguments");
  f.default_value_or_factory = tvmffi_str("x");
  index = test_field_class(&f);
  OK(index < 0 ? -1 : 0);
  FAILS(test_make(index, args, 0, &any), "TypeError",
        "Cannot convert from type `ffi.SmallStr` to `int`");
  FAILS(test_apply_attr(index, "__ffi_init__", args, 0, &any), "TypeError",
        "....__ffi_init__() default for field 'a':\n  Cannot convert from ");
  f.default_value_or_factory = tvmffi_int(1);
  f.flags |= kTVMFFIFieldFlagBitMaskDefaultFromFactory;
  index = test_field_class(&f);
  OK(index < 0 ? -1 : 0);
  FAILS(test_make(index, args, 0, &any), "TypeError",
        "Cannot convert from type `int` to `ffi.Function`");
  f.flags = 0;
  f.setter = NULL;
  index = test_field_class(&f);
  OK(index < 0 ? -1 : 0);
  FAILS(test_make(index, args, 2, &any), "AttributeError",
        "Field `a` has no setter");
  args[0] = tvmffi_none();
  FAILS(test_apply_global("ffi.MakeObjectFromPackedArgs", args, 3, &any),
        "TypeError", "Cannot convert from type `None` to `str`");
}

/* A setter that says that an exception of its language is pending. */
static int test_set_pending(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args, (void)result;
  return -2;
}

/* A required field that is keyword-only, whose setter raises no error; and
   types that have no constructor. */
static void test_field_setters(TVMFFI_HERE) {
  TVMFFIObjectHandle setter = NULL;
  TVMFFITypeMetadata metadata;
  TVMFFIAny args[3], any;
  TVMFFIFieldInfo f;
  int32_t index;
  int code;
  OK(TVMFFIFunctionCreate(NULL, test_set_pending, NULL, &setter));
  OWN(setter);
  memset((void *)&f, 0, sizeof(f));
  OK(test_make_access(&f, kTVMFFIInt, NULL));
  f.name = TEXT("a");
  f.size = 8;
  f.offset = (int64_t)offsetof(test_py, a);
  f.flags = kTVMFFIFieldFlagBitSetterIsFunctionObj |
            kTVMFFIFieldFlagBitMaskKwOnly;
  f.setter = setter;
  index = test_field_class(&f);
  OK(index < 0 ? -1 : 0);
  FAILS(test_apply_attr(index, "__ffi_init__", NULL, 0, &any), "TypeError",
        "....__ffi_init__() missing required keyword-only argument: 'a'");
  args[0] = tvmffi_obj(&tvmffi_i_kwargs_object);
  args[1] = tvmffi_str("a");
  args[2] = tvmffi_int(1);
  code = test_apply_attr(index, "__ffi_init__", args, 3, &any);
  if (!test_hits()) CHECK_INT(code, -2);
  if (code != -2) OK(code);
  memset((void *)&metadata, 0, sizeof(metadata));
  metadata.total_size = (int32_t)sizeof(test_py);
  NEW_TYPE(index, test_fresh("unit.Unmade"), 1, 0, 1, kTVMFFIObject);
  OK(TVMFFITypeRegisterMetadata(index, &metadata));
  FAILS(test_make(index, args, 0, &any), "RuntimeError",
        "...does not support reflection creation");
  args[0] = tvmffi_int(-5);
  FAILS(test_apply_global("ffi._RegisterFFIInit", args, 1, &any),
        "InternalError", "...type_index=-5");
}

/* Objects of three sizes, whose types have one parent: a field of the parent
   has to be in the smallest. */
static void test_made_sizes(TVMFFI_HERE) {
  static const int32_t sizes[] = {56, 40, 48};
  TVMFFIAny args[2], any;
  TVMFFIFieldInfo f;
  int32_t parent, index;
  int i;
  NEW_TYPE(parent, test_fresh("unit.Sizes"), 1, 0, 1, kTVMFFIObject);
  for (i = 0; i < 3; ++i) {
    NEW_TYPE(index, test_fresh("unit.Size"), 2, 0, 1, parent);
    args[0] = tvmffi_int(index);
    args[1] = tvmffi_int(sizes[i]);
    OK(test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any));
  }
  f = test_field("outside", 40);
  FAILS(TVMFFITypeRegisterField(parent, &f), "ValueError",
        "...is outside the object");
  f = test_field("inside", 36);
  OK(TVMFFITypeRegisterField(parent, &f));
}

/* Puts a value, or a function, into an attribute of a new type. */
static int32_t test_type_with(const char *attr, TVMFFISafeCallType call) {
  int32_t index = test_type(test_fresh("unit.Odd"), -1, 1, 0, 1, kTVMFFIObject);
  TVMFFIByteArray name = TEXT(attr);
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny value = tvmffi_int(3);
  int code;
  if (index < 0) return -1;
  if (call) {
    if (TVMFFIFunctionCreate(NULL, call, NULL, &f)) return -1;
    value = tvmffi_obj((TVMFFIObject *)f);
  }
  code = TVMFFITypeRegisterAttr(index, &name, &value);
  tvmffi_release(f);
  return code ? -1 : index;
}

static int test_give_one(void *self, const TVMFFIAny *args, int32_t num_args,
                         TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_int(1);
  return 0;
}

/* What makes and copies objects, but is no function, or gives no object. */
static void test_bad_makers(TVMFFI_HERE) {
  int32_t index = test_type_with("__ffi_new__", NULL);
  TVMFFIObject *o, *copy = NULL;
  TVMFFIAny args[1], any;
  OK(index < 0 ? -1 : 0);
  FAILS(test_make(index, args, 0, &any), "TypeError",
        "Cannot convert from type `int` to `ffi.Function`");
  index = test_type_with("__ffi_new__", test_give_one);
  OK(index < 0 ? -1 : 0);
  FAILS(test_make(index, args, 0, &any), "RuntimeError",
        "...` returned no object of it");
  index = test_type_with("__ffi_shallow_copy__", NULL);
  OK(index < 0 ? -1 : 0);
  o = tvmffi_i_new_object(index, sizeof(test_py));
  OK(o ? 0 : -1);
  OWN(o);
  FAILS(test_deep_copy(o, &copy), "TypeError",
        "Cannot convert from type `int` to `ffi.Function`");
  index = test_type_with("__ffi_shallow_copy__", test_give_one);
  OK(index < 0 ? -1 : 0);
  o = tvmffi_i_new_object(index, sizeof(test_py));
  OK(o ? 0 : -1);
  OWN(o);
  FAILS(test_deep_copy(o, &copy), "TypeError",
        "...The shallow copy of a `unit");
}

/* More fields than a constructor keeps in its frame. */
static void test_many_fields(TVMFFI_HERE) {
  enum { MANY = 70 };
  static char names[MANY][4];
  int32_t index =
      test_type(test_fresh("unit.Many"), -1, 1, 0, 1, kTVMFFIObject);
  TVMFFIFieldInfo f;
  TVMFFIAny args[3], any;
  int i;
  OK(index < 0 ? -1 : 0);
  for (i = 0; i < MANY; ++i) {
    names[i][0] = 'f';
    names[i][1] = (char)('0' + i / 10);
    names[i][2] = (char)('0' + i % 10);
    f = test_field(names[i], (int64_t)sizeof(TVMFFIObject) + 4 * i);
    f.flags |= kTVMFFIFieldFlagBitMaskHasDefault;
    f.default_value_or_factory = tvmffi_int(i);
    OK(TVMFFITypeRegisterField(index, &f));
  }
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int((int64_t)sizeof(TVMFFIObject) + 4 * MANY);
  OK(test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any));
  args[0] = tvmffi_obj(&tvmffi_i_kwargs_object);
  args[1] = tvmffi_str("f66");
  args[2] = tvmffi_int(-1);
  OK(test_apply_attr(index, "__ffi_init__", args, 3, &any));
  CHECK_INT(((int32_t *)(void *)(any.v_obj + 1))[65], 65);
  CHECK_INT(((int32_t *)(void *)(any.v_obj + 1))[66], -1);
  CHECK_INT(((int32_t *)(void *)(any.v_obj + 1))[69], 69);
}

static void test_deep_objects(TVMFFI_HERE) {
  const char *key = test_fresh("unit.Chain");
  int32_t index = test_py_class(key, tvmffi_none());
  TVMFFIAny args[2], any = tvmffi_none(), init;
  int i, n = test_scale(test_chain, 40);
  OK(index < 0 ? -1 : 0);
  init = test_value_of(index, "__ffi_init__");
  for (i = 0; i < n; ++i) {
    TVMFFIAny next = tvmffi_none();
    int code;
    args[0] = tvmffi_int(i);
    args[1] = any;
    code = TVMFFIFunctionCall(init.v_obj, args, 2, &next);
    tvmffi_any_release(&any);
    OK(code);
    any = next;
  }
  CHECK_INT(test_strong(any.v_obj), 1);
  tvmffi_any_release(&any);
}
#endif

static const test_case test_reflection_cases[] = {
#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
    {"reflection: objects of fields", test_make_object},
    {"reflection: getters and setters", test_field_access},
    {"reflection: converters of fields", test_field_converters},
    {"reflection: containers that convert", test_conversions},
    {"reflection: classes of Python", test_py_classes},
    {"reflection: bad arguments", test_bad_init},
    {"reflection: fields that come late", test_late_fields},
#if TEST_STDERR
    {"reflection: fields that hide others", test_hidden_fields},
#endif
    {"reflection: fields in wrong places", test_misplaced_fields},
    {"reflection: fields in any order", test_field_order},
    {"reflection: types that fields do not make", test_no_fields_enough},
    {"reflection: errors of setters", test_init_errors},
    {"reflection: defaults of fields", test_field_defaults},
    {"reflection: setters without an error", test_field_setters},
    {"reflection: sizes of made objects", test_made_sizes},
    {"reflection: bad makers", test_bad_makers},
    {"reflection: many fields", test_many_fields},
    {"reflection: a long chain", test_deep_objects},
#endif
    {NULL, NULL}};
