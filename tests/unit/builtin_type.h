/* ======== Built-in types: their fields, creators and attributes =========== */

#pragma once

#include "harness.h"
#include "type_field.h"
#include "type.h"
#include "apply.h"
#include "access_path.h"

#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
static void test_builtin_types(TVMFFI_HERE) {
  static const char *const keys[] = {"ffi.EnumState",
                                     "ffi.Enum",
                                     "ffi.IntEnum",
                                     "ffi.StrEnum",
                                     "ffi.reflection.AccessStep",
                                     "ffi.reflection.AccessPath",
                                     "ffi.StructuralVisitor",
                                     "ffi.VisitErrorContext",
                                     "ffi.StructuralMutator",
                                     "ffi.StructuralKey"};
  const char *fresh = test_fresh("unit.First");
  int32_t i, index = test_type(fresh, -1, 1, 0, 1, kTVMFFIObject);
  OK(index < 0 ? -1 : 0);
  CHECK(index >= 138);
  for (i = 0; i < TEST_COUNT(keys); ++i) {
    const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(128 + i);
    OK(info ? 0 : -1);
    CHECK_TEXT(info->type_key, keys[i]);
    CHECK_INT(info->type_depth, i == 2 || i == 3 ? 2 : 1);
    CHECK_INT(info->type_ancestors[0]->type_index, kTVMFFIObject);
    if (info->type_depth == 2)
      CHECK_INT(info->type_ancestors[1]->type_index, 129);
    CHECK(info->metadata != NULL);
    CHECK((info->metadata->creator == NULL) == (i == 6 || i == 8));
  }
  CHECK_INT(TVMFFIGetTypeInfo(128)->num_fields, 3);
  CHECK_INT(TVMFFIGetTypeInfo(133)->num_methods, 11);
  CHECK_INT(TVMFFIGetTypeInfo(133)->metadata->structural_eq_hash_kind, 4);
  CHECK_INT(TVMFFIGetTypeInfo(129)->metadata->structural_eq_hash_kind, 5);
}

/* Flags of tables are 0 or 1, and None converts to some types only. */
static void test_table_flags(TVMFFI_HERE) {
  static const tvmffi_i_word *const words[] = {
      &tvmffi_i_word_int8,  &tvmffi_i_word_int16,  &tvmffi_i_word_int32,
      &tvmffi_i_word_int64, &tvmffi_i_word_uint8,  &tvmffi_i_word_uint16,
      &tvmffi_i_word_uint32, &tvmffi_i_word_uint64};
  const TVMFFIByteArray name = TEXT("__ffi_convert__");
  const TVMFFITypeAttrColumn *c = TVMFFIGetTypeAttrColumn(&name);
  TVMFFIAny none = tvmffi_none(), result;
  int i;
  OK(c && c->data ? 0 : -1);
  for (i = 0; i < TEST_COUNT(words); ++i)
    CHECK_INT(words[i]->is_signed, i < 4);
  for (i = 0; i < TVMFFI_I_NUM_ATTR_ROWS; ++i)
    CHECK(tvmffi_i_attr_rows[i].is_call <= 1);
  for (i = 0; i < TVMFFI_I_NUM_TARGETS; ++i) {
    const int32_t index = tvmffi_i_targets[i].index;
    const TVMFFIAny *convert = &c->data[index - c->begin_index];
    result = tvmffi_none();
    if (index == kTVMFFIObject || index == kTVMFFIFunction ||
        index == kTVMFFITensor)
      OK(TVMFFIFunctionCall(convert->v_obj, &none, 1, &result));
    else
      FAILS(TVMFFIFunctionCall(convert->v_obj, &none, 1, &result), "TypeError",
            NULL);
    CHECK_INT(result.type_index, kTVMFFINone);
  }
}

static void test_builtin_fields(TVMFFI_HERE) {
  const TVMFFITypeInfo *path = TVMFFIGetTypeInfo(133);
  const TVMFFIFieldInfo *f;
  OK(path ? 0 : -1);
  f = TVMFFIGetTypeInfo(132)->fields;
  CHECK_TEXT(f[0].name, "kind");
  CHECK_INT(f[0].size, 4);
  CHECK_INT(f[0].offset, 24);
  CHECK_TEXT(f[0].metadata, "{\"type_schema\":\"{\\\"type\\\":\\\"int\\\"}\"}");
  CHECK_TEXT(f[1].name, "key");
  CHECK_INT(f[1].size, 16);
  CHECK_INT(f[1].field_static_type_index, kTVMFFIAny);
  f = TVMFFIGetTypeInfo(131)->fields;
  CHECK_TEXT(f->doc, "Canonical string index.");
  CHECK_INT(f->flags, 520);
  CHECK_INT(f->offset, TVMFFIGetTypeInfo(129)->fields[1].offset);
  CHECK_TEXT(path->fields[1].metadata,
             "{\"type_schema\":\"{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[{"
             "\\\"type\\\":\\\"ffi.reflection.AccessStep\\\"}]}\"}");
  CHECK_TEXT(path->methods[0].name, "_root");
  CHECK_INT(path->methods[0].flags, kTVMFFIFieldFlagBitMaskIsStaticMethod);
  CHECK_TEXT(path->methods[10].name, "_path_equal");
#if !TVMFFI_NO_METADATA
  CHECK_TEXT(path->methods[3].metadata,
             SCHEMA("ffi.reflection.AccessPath",
                    PARAM("ffi.reflection.AccessPath") "," PARAM("int")));
#endif
}

/* The texts of the table of methods are those that their types give. */
static void test_method_metadata(TVMFFI_HERE) {
  char buffer[TVMFFI_I_METADATA];
  int i;
  for (i = 0; i < TVMFFI_I_NUM_METHODS; ++i) {
    const tvmffi_i_method *m = &tvmffi_i_methods[i];
    const tvmffi_func f =
        tvmffi_i_describe("", m->func->types, m->func->num_args);
    CHECK_TEXT(tvmffi_i_metadata(&f, buffer), *m->metadata);
  }
}

static void test_builtin_columns(TVMFFI_HERE) {
  size_t i;
  for (i = 0; i < TVMFFI_I_NUM_COLUMNS; ++i) {
    TVMFFIByteArray name = TEXT(tvmffi_i_column_rows[i].name);
    const TVMFFITypeAttrColumn *c = TVMFFIGetTypeAttrColumn(&name);
    OK(c ? 0 : -1);
#if !TVMFFI_NO_THREADS /* else only the types that have a value */
    CHECK_INT(c->begin_index, 0);
    CHECK(c->size >= tvmffi_i_column_rows[i].size);
#endif
  }
  for (i = 0; i < TVMFFI_I_NUM_BUILTIN_TYPES; ++i) {
    const tvmffi_i_builtin_type *t = &tvmffi_i_builtin_types[i];
    const TVMFFIAny is_final =
        test_value_of(t->type_index, "__ffi_type_final__");
    CHECK_INT(is_final.type_index, kTVMFFIBool);
    CHECK_INT(is_final.v_int64, (t->flags & TVMFFI_I_FINAL) != 0);
  }
  CHECK_INT(test_value_of(130, "__ffi_new__").type_index, kTVMFFIFunction);
  CHECK_INT(test_value_of(134, "__ffi_new__").type_index, kTVMFFINone);
  CHECK_INT(test_value_of(134, "__ffi_shallow_copy__").type_index,
            kTVMFFIFunction);
  CHECK_INT(test_value_of(133, "__ffi_type_final__").v_int64, 1);
  CHECK_INT(test_value_of(134, "__ffi_type_final__").type_index, kTVMFFIBool);
  CHECK_INT(test_value_of(kTVMFFIBigInt, "__any_hash__").type_index,
            kTVMFFIOpaquePtr);
}

/* A client adds to a built-in type what its tables do not have. */
static void test_builtin_grows(TVMFFI_HERE) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(137);
  TVMFFIFieldInfo field = test_field("unit_extra", 24);
  TVMFFIByteArray column = TEXT("__ffi_repr__");
  TVMFFIAny value = tvmffi_int(3);
  OK(info ? 0 : -1);
  OK(TVMFFITypeRegisterField(137, &field));
  CHECK_INT(info->num_fields, 3);
  CHECK_TEXT(info->fields[0].name, "key");
  CHECK_TEXT(info->fields[2].name, "unit_extra");
  OK(TVMFFITypeRegisterAttr(137, &column, &value));
  CHECK_INT(test_value_of(137, "__ffi_repr__").v_int64, 3);
}

static void test_creators(TVMFFI_HERE) {
  static const int32_t made[] = {77, 128, 129, 130, 131, 132, 133, 135, 137};
  TVMFFIAny any, copy;
  int i;
  for (i = 0; i < TEST_COUNT(made); ++i) {
    OK(test_apply_attr(made[i], "__ffi_new__", NULL, 0, &any));
    CHECK_INT(any.type_index, made[i]);
    CHECK_INT(test_strong(any.v_obj), 1);
    OK(test_apply_attr(made[i], "__ffi_shallow_copy__", &any, 1, &copy));
    CHECK(copy.type_index == made[i] && copy.v_obj != any.v_obj);
  }
  OK(test_apply_attr(131, "__ffi_new__", NULL, 0, &any));
  CHECK_INT(test_get_field(any.v_obj, "_str_index").type_index,
            kTVMFFISmallStr);
  OK(test_apply_attr(128, "__ffi_init__", NULL, 0, &any));
  CHECK_INT(test_get_field(any.v_obj, "entries").type_index, kTVMFFIList);
  CHECK_INT(test_get_field(any.v_obj, "attrs").type_index, kTVMFFIDict);
  FAILS(test_apply_attr(132, "__ffi_new__", &any, 1, &copy), "TypeError",
        "Mismatched number of arguments when calling: "
        "`ffi.reflection.AccessStep.__ffi_new__() -> ffi.Object`. Expected 0 "
        "but got 1 arguments");
  FAILS(test_apply_attr(132, "__ffi_shallow_copy__", &any, 1, &copy),
        "TypeError",
        "Mismatched type on argument #0 when calling: "
        "`ffi.reflection.AccessStep.__ffi_shallow_copy__(0: "
        "ffi.reflection.AccessStep) -> ffi.Object`. Expected "
        "`ffi.reflection.AccessStep` but got `ffi.EnumState`");
}
#endif

#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
static void test_converts(TVMFFI_HERE) {
  TVMFFIAny any, *items = NULL, value;
  TVMFFIObject *array = tvmffi_i_new_array(2, &items);
  static const char convert[] = "__ffi_convert__";
  TVMFFIByteArray text;
  OK(array ? 0 : -1);
  OWN(array);
  items[0] = tvmffi_int(3);
  items[1] = tvmffi_bool(1);
  value = tvmffi_obj(array);
  OK(test_apply_attr(kTVMFFIShape, convert, &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIShape);
  CHECK_INT(TVMFFIShapeGetCellPtr(any.v_obj)->data[1], 1);
  OK(test_apply_attr(kTVMFFIList, convert, &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIList);
  CHECK_INT(TVMFFI_I_CELL(TVMFFISeqCell, any.v_obj)->size, 2);
  OK(test_apply_attr(kTVMFFIArray, convert, &value, 1, &any));
  CHECK(any.v_obj == array);
  items[0] = tvmffi_none();
  FAILS(test_apply_attr(kTVMFFIShape, convert, &value, 1, &any), "TypeError",
        "Cannot cast from `ffi.Array` to `ffi.Shape`");
  FAILS(test_apply_attr(kTVMFFIMap, convert, &value, 1, &any), "TypeError",
        "Cannot cast from `ffi.Array` to `Map<Any, Any>`");
  value = tvmffi_str("a raw string that is long");
  OK(test_apply_attr(kTVMFFIStr, convert, &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIStr);
  FAILS(test_apply_attr(kTVMFFIBytes, convert, &value, 1, &any), "TypeError",
        "Cannot cast from `const char*` to `bytes`");
  text = test_bytes("nine bytes", 9);
  value = tvmffi_bytes(&text);
  OK(test_apply_attr(kTVMFFIBytes, convert, &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIBytes);
  CHECK_BYTES(tvmffi_any_str(&any), "nine byte", 9);
  OK(test_apply_global("ffi.Map", NULL, 0, &value));
  OK(test_apply_attr(kTVMFFIDict, convert, &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIDict);
  value = tvmffi_none();
  OK(test_apply_attr(kTVMFFITensor, convert, &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  FAILS(test_apply_attr(kTVMFFIError, convert, &value, 1, &any), "TypeError",
        "Cannot cast from `None` to `ffi.Error`");
  FAILS(test_apply_attr(kTVMFFIDict, convert, &value, 0, &any), "TypeError",
        "Mismatched number of arguments when calling: "
        "`ffi.Dict.__ffi_convert__(0: AnyView) -> Dict<Any, Any>`. Expected 1 "
        "but got 0 arguments");
}

/* What the columns give to C++: a hash and an equality of big integers. */
static void test_bigint_columns(TVMFFI_HERE) {
  typedef TVMFFIAny (*unary)(const TVMFFIAny *);
  typedef TVMFFIAny (*binary)(const TVMFFIAny *, const TVMFFIAny *);
  int64_t words[2] = {5, 9};
  TVMFFIByteArray bytes = test_bytes((const char *)words, sizeof(words));
  TVMFFIAny a, b, hash, equal, none = tvmffi_none();
  unary hash_of;
  binary is_equal;
  OK(TVMFFIBigIntFromByteArray(&bytes, &a));
  OWN_ANY(a);
  OK(TVMFFIBigIntFromByteArray(&bytes, &b));
  OWN_ANY(b);
  hash_of =
      (unary)(uintptr_t)test_value_of(kTVMFFIBigInt, "__any_hash__").v_ptr;
  is_equal =
      (binary)(uintptr_t)test_value_of(kTVMFFIBigInt, "__any_equal__").v_ptr;
  OK(hash_of && is_equal ? 0 : -1);
  hash = hash_of(&a);
  CHECK_INT(hash.type_index, kTVMFFIInt);
  CHECK_INT(hash.v_int64, tvmffi_i_stable_hash((const char *)words, 16));
  equal = is_equal(&a, &b);
  CHECK(equal.type_index == kTVMFFIBool && equal.v_int64 == 1);
  hash = hash_of(&none);
  CHECK_INT(hash.type_index, kTVMFFIError);
  tvmffi_any_release(&hash);
}

/* The hash of a structural key, which C++ takes from a column, too. */
static void test_structural_key_hash(TVMFFI_HERE) {
  typedef TVMFFIAny (*unary)(const TVMFFIAny *);
  TVMFFIAny key, hash, none = tvmffi_none();
  unary hash_of;
  OK(test_apply_attr(TVMFFI_I_STRUCTURAL_KEY, "__ffi_new__", NULL, 0, &key));
  ((tvmffi_i_structural_key *)key.v_ptr)->hash = 77;
  hash_of =
      (unary)(uintptr_t)test_value_of(TVMFFI_I_STRUCTURAL_KEY, "__any_hash__")
          .v_ptr;
  OK(hash_of ? 0 : -1);
  hash = hash_of(&key);
  CHECK(hash.type_index == kTVMFFIInt && hash.v_int64 == 77);
  hash = hash_of(&none);
  CHECK_INT(hash.type_index, kTVMFFIError);
  tvmffi_any_release(&hash);
}

static void test_interrupts(TVMFFI_HERE) {
  TVMFFIAny value = tvmffi_str("why the visit ends here"), any;
  OK(test_apply_global("ffi.VisitInterrupt", &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIVisitInterrupt);
  CHECK_TEXT(tvmffi_any_str(&((tvmffi_i_interrupt *)any.v_ptr)->value),
             "why the visit ends here");
}

static void test_type_keys(TVMFFI_HERE) {
  const TVMFFISeqCell *cell;
  TVMFFIAny any;
  int64_t i, found = 0;
  OK(test_apply_global("ffi.GetRegisteredTypeKeys", NULL, 0, &any));
  cell = TVMFFI_I_CELL(TVMFFISeqCell, any.v_obj);
  CHECK(cell->size >= 39);
  for (i = 0; i < cell->size; ++i)
    found +=
        tvmffi_i_same_text(tvmffi_any_str((const TVMFFIAny *)cell->data + i),
                           TEXT("ffi.StructuralKey"));
  CHECK_INT(found, 1);
}
#endif

#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
/* The fields of the built-in types that hold objects of some types only. */
static void test_reference_fields(TVMFFI_HERE) {
  typedef struct {
    TVMFFIObject base;
    TVMFFIObject *imports;
  } fake_module;
  fake_module m;
  TVMFFIObject *path = test_path("a", 1);
  const TVMFFIFieldInfo *f;
  TVMFFIAny list, state, value = tvmffi_int(5);
  OK(path ? 0 : -1);
  f = TVMFFIGetTypeInfo(TVMFFI_I_ACCESS_PATH)->fields;
  FAILS(tvmffi_i_set_field(&f[0], path, &value), "TypeError",
        "Cannot convert from type `int` to `Optional<ffi.Object>`");
  FAILS(tvmffi_i_set_field(&f[1], path, &value), "TypeError",
        "Cannot convert from type `int` to "
        "`Optional<ffi.reflection.AccessStep>`");
  OK(test_apply_global("ffi.List", &value, 1, &list));
  FAILS(tvmffi_i_set_field(&f[1], path, &list), "TypeError", NULL);
  OK(test_apply_attr(TVMFFI_I_ENUM_STATE, "__ffi_new__", NULL, 0, &state));
  f = TVMFFIGetTypeInfo(TVMFFI_I_ENUM_STATE)->fields;
  FAILS(tvmffi_i_set_field(&f[0], state.v_obj, &list), "TypeError",
        "Cannot convert from type `List[index 0: int]` to `List<ffi.Object>`");
  memset((void *)&m, 0, sizeof(m));
  f = TVMFFIGetTypeInfo(kTVMFFIModule)->fields;
  FAILS(tvmffi_i_set_field(f, &m, &value), "TypeError",
        "Cannot convert from type `int` to `Array<Any>`");
  OK(tvmffi_i_set_field(f, &m, &list));
  OWN(m.imports);
  CHECK_INT(m.imports->type_index, kTVMFFIArray);
}

/* Attributes of an enum: a dict of strings, whose values are dicts of objects.
   Maps become dicts, inside as well. */
static void test_enum_attributes(TVMFFI_HERE) {
  TVMFFIAny state, pair[4], inner, any;
  TVMFFIObject *held;
  const TVMFFIFieldInfo *f;
  OK(test_apply_attr(TVMFFI_I_ENUM_STATE, "__ffi_new__", NULL, 0, &state));
  f = &TVMFFIGetTypeInfo(TVMFFI_I_ENUM_STATE)->fields[2];
  pair[0] = tvmffi_obj(&tvmffi_i_kwargs_object);
  pair[1] = tvmffi_int(4);
  OK(test_apply_global("ffi.Map", pair, 2, &inner));
  pair[0] = tvmffi_str("name");
  pair[1] = inner;
  OK(test_apply_global("ffi.Map", pair, 2, &any));
  OK(tvmffi_i_set_field(f, state.v_obj, &any));
  held = ((tvmffi_i_enum_state *)state.v_ptr)->attrs;
  CHECK_INT(held->type_index, kTVMFFIDict);
  pair[1] = tvmffi_obj(&tvmffi_i_kwargs_object);
  OK(test_apply_global("ffi.Map", pair, 2, &any));
  OK(tvmffi_i_set_field(f - 1, state.v_obj, &any));
  any = test_get_field(state.v_obj, "indexes");
  CHECK_INT(any.type_index, kTVMFFIDict);
  CHECK_INT(tvmffi_i_map_size(any.v_obj), 1);
  any = tvmffi_i_map_pair(held, tvmffi_i_map_begin(held))->value;
  CHECK_INT(any.type_index, kTVMFFIDict);
  CHECK(any.v_obj != inner.v_obj);
  CHECK_INT(tvmffi_i_map_size(any.v_obj), 1);
  pair[1] = any;
  OK(test_apply_global("ffi.Dict", pair, 2, &any));
  OK(tvmffi_i_set_field(f, state.v_obj, &any));
  CHECK(((tvmffi_i_enum_state *)state.v_ptr)->attrs == any.v_obj);
  pair[0] = tvmffi_obj(&tvmffi_i_kwargs_object);
  pair[1] = pair[2] = pair[3] = tvmffi_int(4);
  OK(test_apply_global("ffi.Dict", pair, 4, &inner));
  pair[0] = tvmffi_str("name");
  pair[1] = inner;
  OK(test_apply_global("ffi.Map", pair, 2, &any));
  FAILS(tvmffi_i_set_field(f, state.v_obj, &any), "TypeError",
        "Cannot convert from type `Dict[K, some value is Dict[some key is int, "
        "V]]` to `Dict<str, Dict<ffi.Object, Any>>`");
  any = tvmffi_int(1);
  FAILS(tvmffi_i_set_field(f, state.v_obj, &any), "TypeError",
        "Cannot convert from type `int` to `Dict<str, Dict<ffi.Object, Any>>`");
}

static void test_enum_fields(TVMFFI_HERE) {
  TVMFFIAny state, any;
  TVMFFIObject *map = tvmffi_i_new_map(kTVMFFIMap, 0);
  const TVMFFIFieldInfo *f;
  TVMFFIAny key = tvmffi_int(1), value = tvmffi_int(2);
  OK(map ? 0 : -1);
  OWN(map);
  OK(test_apply_attr(128, "__ffi_new__", NULL, 0, &state));
  f = TVMFFIGetTypeInfo(128)->fields;
  any = tvmffi_obj(map);
  OK(tvmffi_i_set_field(&f[1], state.v_obj, &any));
  CHECK_INT(test_get_field(state.v_obj, "indexes").type_index, kTVMFFIDict);
  OK(tvmffi_i_map_set(map, &key, &value));
  any = tvmffi_obj(map);
  FAILS(tvmffi_i_set_field(&f[1], state.v_obj, &any), "TypeError",
        "Cannot convert from type `Dict[K, some value is int]` to `Dict<Any, "
        "ffi.Object>`");
  FAILS(tvmffi_i_set_field(&f[2], state.v_obj, &any), "TypeError",
        "Cannot convert from type `Dict[some key is int, V]` to `Dict<str, "
        "Dict<ffi.Object, Any>>`");
  FAILS(tvmffi_i_set_field(&f[0], state.v_obj, &any), "TypeError",
        "Cannot convert from type `ffi.Map` to `List<ffi.Object>`");
}
#endif

static const test_case test_builtin_type_cases[] = {
#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
    {"built-in types: keys and order", test_builtin_types},
    {"built-in types: fields and methods", test_builtin_fields},
    {"built-in types: flags of tables", test_table_flags},
    {"built-in types: attribute columns", test_builtin_columns},
    {"built-in types: metadata of methods", test_method_metadata},
    {"built-in types: clients add to them", test_builtin_grows},
    {"built-in types: creators and copies", test_creators},
    {"built-in types: keys of all", test_type_keys},
    {"built-in types: conversions", test_converts},
    {"built-in types: fields of enum states", test_enum_fields},
    {"built-in types: attributes of enum states", test_enum_attributes},
    {"built-in types: fields of references", test_reference_fields},
    {"built-in types: hashes of keys in columns", test_structural_key_hash},
    {"built-in types: interrupts", test_interrupts},
    {"built-in types: big integers in columns", test_bigint_columns},
#endif
    {NULL, NULL}};
