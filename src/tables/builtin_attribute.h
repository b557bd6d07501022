/* ======== Type attributes ========================= >>tables/builtin_attribute
   the attributes of built-in types */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../reflection.h"
#include "../extra.h"
#include "../interface.h"
#include "../functions.h"

#if !TVMFFI_NO_REFLECTION
/* The attributes that the runtime and its clients read. Set one with
   (attribute, "name", method) of TVMFFI_TYPE or with TVMFFITypeRegisterAttr.
   Types do not inherit attributes.
   A signature below describes a function object. A parameter such as `repr` is
   a function that the function object may call. An error of the function object
   becomes the error of the operation that called it. An address below is an
   opaque pointer to a C function, which returns a result or an error object.
     __ffi_new__           `() -> object` makes an object with zeroed fields,
                           for a type without a creator.
     __ffi_init__          `(arguments...) -> object` is the constructor that
                           Python calls. Keyword arguments follow the object
                           that ffi.GetKwargsObject returns. Each is a name
                           followed by a value.
     __ffi_shallow_copy__  `(object) -> object` makes a copy with the same
                           fields, for Python's copy.copy, for ffi.DeepCopy and
                           for mutations.
     __ffi_convert__       `(value) -> value` converts a value to the type, for
                           a field of a Python class. TypeError for a value that
                           cannot be converted.
     __any_hash__          `(value) -> int` hashes a key of a map or dict. May
                           also be the address of
                           `TVMFFIAny f(const TVMFFIAny *)`.
     __any_equal__         `(a, b) -> bool` compares keys of maps and dicts, and
                           items of arrays and lists. May also be the address of
                           `TVMFFIAny f(const TVMFFIAny *, const TVMFFIAny *)`.
     __ffi_type_final__    A bool: true if no type may derive from the type.
                           Only stub generators read this.
     __ffi_repr__          `(object, repr) -> str` returns the text for
                           ffi.ReprPrint. `repr(value) -> str` returns the text
                           of a child.
     __ffi_hash__          `(object, hash) -> int` returns the hash for
                           ffi.RecursiveHash. `hash(value) -> int` returns the
                           hash of a child.
     __ffi_eq__            `(a, b, eq) -> bool` compares for ffi.RecursiveEq.
                           `eq(x, y) -> bool` compares two children.
     __ffi_compare__       `(a, b, compare) -> int` returns a negative number, 0
                           or a positive number for ffi.RecursiveLt, _Le, _Gt
                           and _Ge, and for ffi.RecursiveEq of a type without
                           __ffi_eq__. `compare(x, y) -> int` compares two
                           children.
     __data_to_json__      `(object) -> value` returns data that JSON can
                           express, for ffi.ToJSONGraph.
     __data_from_json__    `(data) -> object` makes the object from that data,
                           for ffi.FromJSONGraph.
     __s_visit__           `(visitor, object) -> None or ffi.VisitInterrupt`
                           visits the object's children. May also be the address
                           of `TVMFFIAny f(void *visitor, TVMFFIAny object)`.
     __s_mutate__          `(mutator, object) -> value` returns the mutated
                           object or ffi.Unchanged. May also be the address of
                           `TVMFFIAny f(void *mutator, TVMFFIAny object)`.
     __s_maybe_inplace_mutate__
                           Like __s_mutate__, for a uniquely referenced object,
                           which the function may change in place.
     __ffi_enum__          The ffi.EnumState of an enumeration.
     __s_equal__           `(a, b, equal) -> bool` compares for
                           ffi.StructuralEqual.
                           `equal(x, y, region, name) -> bool` compares two
                           children. `region` is a TVMFFIDefRegionKind. `name`
                           is the field's name, for access paths.
     __s_hash__            `(object, key_hash, hash) -> int` returns the hash
                           for ffi.StructuralHash. key_hash is the hash of the
                           type key. `hash(value, before, region) -> int`
                           combines `before` with the hash of a child. */

/* The attribute columns that upstream registers when it is loaded, and their
   sizes in TVMFFITypeAttrColumn. Columns from ENUM on are empty at first. */
#define TVMFFI_I_EACH_COLUMN(F)                                      \
  F(NEW, "__ffi_new__", TVMFFI_I_NUM_INDICES)                        \
  F(INIT, "__ffi_init__", TVMFFI_I_NUM_INDICES)                      \
  F(COPY, "__ffi_shallow_copy__", TVMFFI_I_NUM_INDICES)              \
  F(CONVERT, "__ffi_convert__", TVMFFI_I_STR_ENUM + 1)               \
  F(ANY_HASH, "__any_hash__", TVMFFI_I_NUM_INDICES)                  \
  F(ANY_EQUAL, "__any_equal__", TVMFFI_I_NUM_INDICES)                \
  F(FINAL, "__ffi_type_final__", TVMFFI_I_NUM_INDICES)               \
  F(REPR, "__ffi_repr__", TVMFFI_I_ACCESS_PATH + 1)                  \
  F(HASH, "__ffi_hash__", kTVMFFIBigInt + 1)                         \
  F(EQ, "__ffi_eq__", kTVMFFIBigInt + 1)                             \
  F(COMPARE, "__ffi_compare__", kTVMFFIBigInt + 1)                   \
  F(TO_JSON, "__data_to_json__", kTVMFFIBigInt + 1)                  \
  F(FROM_JSON, "__data_from_json__", kTVMFFIBigInt + 1)              \
  F(VISIT, "__s_visit__", kTVMFFIDict + 1)                           \
  F(MUTATE, "__s_mutate__", kTVMFFIBigInt + 1)                       \
  F(MUTATE_INPLACE, "__s_maybe_inplace_mutate__", kTVMFFIBigInt + 1) \
  F(ENUM, "__ffi_enum__", 0)                                         \
  F(STRUCTURAL_EQUAL, "__s_equal__", 0)                              \
  F(STRUCTURAL_HASH, "__s_hash__", 0)
#define TVMFFI_I_COLUMN_INDEX(column, name, size) TVMFFI_I_COLUMN_##column,
#define TVMFFI_I_COLUMN_ROW(column, name, size) {name, size},
enum {
  TVMFFI_I_EACH_COLUMN(TVMFFI_I_COLUMN_INDEX) TVMFFI_I_NUM_COLUMNS,
  TVMFFI_I_NUM_FULL_COLUMNS = TVMFFI_I_COLUMN_ENUM
};
typedef struct {
  const char *name;
  int32_t size;
} tvmffi_i_column_row;
static const tvmffi_i_column_row tvmffi_i_column_rows[TVMFFI_I_NUM_COLUMNS] = {
    TVMFFI_I_EACH_COLUMN(TVMFFI_I_COLUMN_ROW)};
static tvmffi_i_column tvmffi_i_static_columns[TVMFFI_I_NUM_COLUMNS];

/* A function object that is the value of an attribute. Its safe_call receives
   this struct as `handle`. */
typedef struct {
  tvmffi_i_builtin builtin; /* its `typed` may be NULL */
  int column;
  int32_t type_index;
} tvmffi_i_attr;

/* The types that __ffi_convert__ converts values to. */
TVMFFI_I_OBJECT_TYPE(i_int_enum, "ffi.IntEnum", "ffi.IntEnum",
                     TVMFFI_I_INT_ENUM)
TVMFFI_I_OBJECT_TYPE(i_str_enum, "ffi.StrEnum", "ffi.StrEnum",
                     TVMFFI_I_STR_ENUM)
typedef struct {
  int32_t index, nullable;
  const tvmffi_i_word *word;
} tvmffi_i_target;
static const tvmffi_i_target tvmffi_i_targets[] = {
    {kTVMFFIObject, 1, &tvmffi_i_word_object},
    {kTVMFFIStr, 0, &tvmffi_i_word_str},
    {kTVMFFIBytes, 0, &tvmffi_i_word_bytes},
    {kTVMFFIError, 0, &tvmffi_i_word_error},
    {kTVMFFIFunction, 1, &tvmffi_i_word_func},
    {kTVMFFIShape, 0, &tvmffi_i_word_shape},
    {kTVMFFITensor, 1, &tvmffi_i_word_tensor_object},
    {kTVMFFIArray, 0, &tvmffi_i_word_array},
    {kTVMFFIMap, 0, &tvmffi_i_word_map},
    {kTVMFFIList, 0, &tvmffi_i_word_list},
    {kTVMFFIDict, 0, &tvmffi_i_word_dict},
    {TVMFFI_I_INT_ENUM, 0, &tvmffi_i_word_i_int_enum},
    {TVMFFI_I_STR_ENUM, 0, &tvmffi_i_word_i_str_enum}};
enum {
  TVMFFI_I_NUM_TARGETS = sizeof(tvmffi_i_targets) / sizeof(tvmffi_i_targets[0])
};

static const tvmffi_i_target *tvmffi_i_target_of(int32_t index) {
  const tvmffi_i_target *t = tvmffi_i_targets;
  while (t->index != index) {
    ++t;
    TVMFFI_ASSERT(t < tvmffi_i_targets + TVMFFI_I_NUM_TARGETS);
  }
  return t;
}

/* Raises a TypeError because the number of arguments or the first argument is
   wrong. */
TVMFFI_I_SLOW int tvmffi_i_bad_attr_call(const tvmffi_i_attr *attr,
                                         const TVMFFIAny *args,
                                         int32_t num_args,
                                         const TVMFFIAny *result) {
  tvmffi_i_word arg = tvmffi_i_word_any;
  const tvmffi_i_word *types[2];
  tvmffi_func f;
  char name[96];
  tvmffi_i_text t = {name, 0, sizeof(name)};
  tvmffi_i_append(&t, tvmffi_i_type_key(attr->type_index));
  tvmffi_i_append(&t, ".");
  tvmffi_i_append(&t, tvmffi_i_column_rows[attr->column].name);
  TVMFFI_ASSERT(t.size < sizeof(name));
  arg.name = tvmffi_i_type_key(attr->type_index);
  types[0] = &tvmffi_i_word_object;
  if (attr->column == TVMFFI_I_COLUMN_CONVERT) {
    arg.name = "AnyView";
    types[0] = tvmffi_i_target_of(attr->type_index)->word;
  }
  types[1] = &arg;
  f = tvmffi_i_describe(name, types, attr->column != TVMFFI_I_COLUMN_NEW);
  if (num_args != f.num_args) return tvmffi_i_bad_call(&f, num_args, result);
  return tvmffi_i_bad_arg(&f, 0, args, TVMFFI_I_MISMATCH);
}

static int tvmffi_i_call_new(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_attr *attr = (const tvmffi_i_attr *)self;
  TVMFFIObjectHandle made = NULL;
  if (num_args) return tvmffi_i_bad_attr_call(attr, args, num_args, result);
  TVMFFI_TRY(TVMFFIGetTypeInfo(attr->type_index)->metadata->creator(&made));
  return tvmffi_i_give_new(result, made);
}

static int tvmffi_i_call_copy(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_attr *attr = (const tvmffi_i_attr *)self;
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(attr->type_index);
  int code = tvmffi_i_copy_arg(type, (size_t)type->metadata->total_size, args,
                               num_args, result);
  return code == TVMFFI_I_MISMATCH
             ? tvmffi_i_bad_attr_call(attr, args, num_args, result)
             : code;
}

static int tvmffi_i_call_convert(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_attr *attr = (const tvmffi_i_attr *)self;
  const tvmffi_i_target *to = tvmffi_i_target_of(attr->type_index);
  int code;
  if (num_args != 1)
    return tvmffi_i_bad_attr_call(attr, args, num_args, result);
  if ((args->type_index == kTVMFFINone && to->nullable) ||
      (args->type_index >= kTVMFFIStaticObjectBegin && args->v_obj &&
       tvmffi_is_instance(args->type_index, to->index)))
    return TVMFFIAnyViewToOwnedAny(args, result);
  if (to->word->kind == TVMFFI_I_CONTAINER && to->index != kTVMFFIShape) {
    code = tvmffi_i_to_container(to->index, args, result);
  } else {
    code = tvmffi_i_convert_item(to->word, args, result);
    if (!code) return TVMFFIAnyViewToOwnedAny(args, result);
  }
  if (code == TVMFFI_I_CONVERTED) return 0;
  if (code <= 0) return code;
  return tvmffi_i_type_error("Cannot cast from `%s` to `%s`",
                             tvmffi_i_type_key(args->type_index),
                             to->word->name);
}

/* The values of the attributes __any_hash__ and __any_equal__, which C++ code
   also calls. On failure they return an error object. */
#if defined(__cplusplus)
extern "C" {
#endif
static TVMFFIAny tvmffi_i_hash_bigint(const TVMFFIAny *value) {
  TVMFFIByteArray words = TVMFFIBigIntGetContentByteArray(value);
  if (!words.data) return tvmffi_i_take_error();
  return tvmffi_int((int64_t)tvmffi_i_stable_hash(words.data, words.size));
}

static TVMFFIAny tvmffi_i_equal_bigint(const TVMFFIAny *a, const TVMFFIAny *b) {
  TVMFFIByteArray x = TVMFFIBigIntGetContentByteArray(a);
  TVMFFIByteArray y = TVMFFIBigIntGetContentByteArray(b);
  if (!x.data || !y.data) return tvmffi_i_take_error();
  return tvmffi_bool(tvmffi_i_same_text(x, y));
}

static TVMFFIAny tvmffi_i_hash_structural_key(const TVMFFIAny *value) {
  const tvmffi_i_structural_key *key =
      (const tvmffi_i_structural_key *)value->v_ptr;
  if (value->type_index == TVMFFI_I_STRUCTURAL_KEY && key)
    return tvmffi_int(key->hash);
  (void)tvmffi_i_bad_cast(value, "ffi.StructuralKey");
  return tvmffi_i_take_error();
}

#if !TVMFFI_NO_EXTRA
static TVMFFIAny tvmffi_i_equal_structural_key(const TVMFFIAny *a,
                                               const TVMFFIAny *b) {
  int code = tvmffi_i_equal_once(a, b);
  return code < 0 ? tvmffi_i_raised() : tvmffi_bool(code != 0);
}
#endif
#if defined(__cplusplus)
}
#endif
#endif
