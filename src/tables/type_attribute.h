/* ======== Type attributes =========================== >>tables/type_attribute
   the attributes of built-in types */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/mismatch.h"
#include "../interface/schema.h"
#include "../core/raise.h"
#include "../core/error.h"
#include "../core/type_table.h"
#include "../core/type_member.h"
#include "../core/type_attribute.h"
#include "../core/function.h"
#include "../containers/equal.h"
#include "../reflection/field.h"
#include "../reflection/enum.h"
#include "../reflection/creator.h"
#include "../reflection/convert.h"
#include "../extra/bigint_hook.h"
#include "../extra/structural_function.h"
#include "../extra/bigint_json.h"

#if !TVMFFI_NO_CONTAINERS
/* The attributes that are functions. Such an object is called with itself as
   handle, which tells its row. */
typedef struct {
  int column;
  int32_t type_index;
  TVMFFISafeCallType call;
} tvmffi_i_attr;

static int tvmffi_i_call_new(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result);
static int tvmffi_i_call_copy(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result);
static int tvmffi_i_call_convert(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result);

/* The attribute columns that upstream makes while it is loaded, with their
   sizes, which clients may look at. */
typedef struct {
  const char *name;
  int32_t size;
} tvmffi_i_column_row;
enum {
  TVMFFI_I_COLUMN_NEW,
  TVMFFI_I_COLUMN_INIT,
  TVMFFI_I_COLUMN_COPY,
  TVMFFI_I_COLUMN_CONVERT,
  TVMFFI_I_COLUMN_ANY_HASH,
  TVMFFI_I_COLUMN_ANY_EQUAL,
  TVMFFI_I_COLUMN_FINAL,
  TVMFFI_I_COLUMN_REPR,
  TVMFFI_I_COLUMN_HASH,
  TVMFFI_I_COLUMN_EQ,
  TVMFFI_I_COLUMN_COMPARE,
  TVMFFI_I_COLUMN_TO_JSON,
  TVMFFI_I_COLUMN_FROM_JSON,
  TVMFFI_I_COLUMN_VISIT,
  TVMFFI_I_COLUMN_MUTATE,
  TVMFFI_I_COLUMN_MUTATE_INPLACE,
  TVMFFI_I_COLUMN_ENUM,
  TVMFFI_I_COLUMN_STRUCTURAL_EQUAL,
  TVMFFI_I_COLUMN_STRUCTURAL_HASH,
  TVMFFI_I_NUM_COLUMNS,
  TVMFFI_I_NUM_FULL_COLUMNS = TVMFFI_I_COLUMN_ENUM
};
static const tvmffi_i_column_row tvmffi_i_column_rows[TVMFFI_I_NUM_COLUMNS] = {
    {"__ffi_new__", TVMFFI_I_NUM_INDICES},
    {"__ffi_init__", TVMFFI_I_NUM_INDICES},
    {"__ffi_shallow_copy__", TVMFFI_I_NUM_INDICES},
    {"__ffi_convert__", TVMFFI_I_STR_ENUM + 1},
    {"__any_hash__", TVMFFI_I_NUM_INDICES},
    {"__any_equal__", TVMFFI_I_NUM_INDICES},
    {"__ffi_type_final__", TVMFFI_I_NUM_INDICES},
    {"__ffi_repr__", TVMFFI_I_ACCESS_PATH + 1},
    {"__ffi_hash__", kTVMFFIBigInt + 1},
    {"__ffi_eq__", kTVMFFIBigInt + 1},
    {"__ffi_compare__", kTVMFFIBigInt + 1},
    {"__data_to_json__", kTVMFFIBigInt + 1},
    {"__data_from_json__", kTVMFFIBigInt + 1},
    {"__s_visit__", kTVMFFIDict + 1},
    {"__s_mutate__", kTVMFFIBigInt + 1},
    {"__s_maybe_inplace_mutate__", kTVMFFIBigInt + 1},
    {"__ffi_enum__", 0},
    {"__s_equal__", 0},
    {"__s_hash__", 0}};
static tvmffi_i_column tvmffi_i_static_columns[TVMFFI_I_NUM_COLUMNS];
static TVMFFIAny tvmffi_i_column_values[TVMFFI_I_NUM_FULL_COLUMNS]
                                       [TVMFFI_I_NUM_INDICES];

#define TVMFFI_I_NEW_OF(type) {TVMFFI_I_COLUMN_NEW, type, tvmffi_i_call_new}
#define TVMFFI_I_COPY_OF(type) {TVMFFI_I_COLUMN_COPY, type, tvmffi_i_call_copy}
#define TVMFFI_I_CONVERT_OF(type) \
  {TVMFFI_I_COLUMN_CONVERT, type, tvmffi_i_call_convert}
static const tvmffi_i_attr tvmffi_i_attrs[] = {
    TVMFFI_I_NEW_OF(kTVMFFIVisitInterrupt),
    TVMFFI_I_NEW_OF(TVMFFI_I_ENUM_STATE),
    TVMFFI_I_NEW_OF(TVMFFI_I_ENUM_BASE),
    TVMFFI_I_NEW_OF(TVMFFI_I_INT_ENUM),
    TVMFFI_I_NEW_OF(TVMFFI_I_STR_ENUM),
    TVMFFI_I_NEW_OF(TVMFFI_I_ACCESS_STEP),
    TVMFFI_I_NEW_OF(TVMFFI_I_ACCESS_PATH),
    TVMFFI_I_NEW_OF(TVMFFI_I_VISIT_ERROR_CONTEXT),
    TVMFFI_I_NEW_OF(TVMFFI_I_STRUCTURAL_KEY),
    {TVMFFI_I_COLUMN_INIT, TVMFFI_I_ENUM_STATE, tvmffi_call_i_enum_state_init},
#if !TVMFFI_NO_EXTRA
    {TVMFFI_I_COLUMN_INIT, TVMFFI_I_STRUCTURAL_KEY,
     tvmffi_call_i_structural_key_init},
#endif
    TVMFFI_I_COPY_OF(kTVMFFIVisitInterrupt),
    TVMFFI_I_COPY_OF(TVMFFI_I_ENUM_STATE),
    TVMFFI_I_COPY_OF(TVMFFI_I_ENUM_BASE),
    TVMFFI_I_COPY_OF(TVMFFI_I_INT_ENUM),
    TVMFFI_I_COPY_OF(TVMFFI_I_STR_ENUM),
    TVMFFI_I_COPY_OF(TVMFFI_I_ACCESS_STEP),
    TVMFFI_I_COPY_OF(TVMFFI_I_ACCESS_PATH),
    TVMFFI_I_COPY_OF(TVMFFI_I_STRUCTURAL_VISITOR),
    TVMFFI_I_COPY_OF(TVMFFI_I_VISIT_ERROR_CONTEXT),
    TVMFFI_I_COPY_OF(TVMFFI_I_STRUCTURAL_MUTATOR),
    TVMFFI_I_COPY_OF(TVMFFI_I_STRUCTURAL_KEY),
#if !TVMFFI_NO_EXTRA
    {TVMFFI_I_COLUMN_REPR, TVMFFI_I_ACCESS_STEP, tvmffi_call_i_step_repr},
    {TVMFFI_I_COLUMN_REPR, TVMFFI_I_ACCESS_PATH, tvmffi_call_i_path_repr},
    {TVMFFI_I_COLUMN_HASH, kTVMFFIBigInt, tvmffi_call_i_bigint_hash},
    {TVMFFI_I_COLUMN_EQ, kTVMFFIBigInt, tvmffi_call_i_bigint_eq},
    {TVMFFI_I_COLUMN_COMPARE, kTVMFFIBigInt, tvmffi_call_i_bigint_compare},
    {TVMFFI_I_COLUMN_TO_JSON, kTVMFFIBigInt, tvmffi_call_i_bigint_to_json},
    {TVMFFI_I_COLUMN_FROM_JSON, kTVMFFIBigInt, tvmffi_call_i_bigint_from_json},
#endif
    TVMFFI_I_CONVERT_OF(kTVMFFIObject),
    TVMFFI_I_CONVERT_OF(kTVMFFIStr),
    TVMFFI_I_CONVERT_OF(kTVMFFIBytes),
    TVMFFI_I_CONVERT_OF(kTVMFFIError),
    TVMFFI_I_CONVERT_OF(kTVMFFIFunction),
    TVMFFI_I_CONVERT_OF(kTVMFFIShape),
    TVMFFI_I_CONVERT_OF(kTVMFFITensor),
    TVMFFI_I_CONVERT_OF(kTVMFFIArray),
    TVMFFI_I_CONVERT_OF(kTVMFFIMap),
    TVMFFI_I_CONVERT_OF(kTVMFFIList),
    TVMFFI_I_CONVERT_OF(kTVMFFIDict),
    TVMFFI_I_CONVERT_OF(TVMFFI_I_INT_ENUM),
    TVMFFI_I_CONVERT_OF(TVMFFI_I_STR_ENUM)};
enum {
  TVMFFI_I_NUM_ATTRS = sizeof(tvmffi_i_attrs) / sizeof(tvmffi_i_attrs[0])
};
static tvmffi_i_function_object tvmffi_i_attr_functions[TVMFFI_I_NUM_ATTRS];

/* Whether a type may have children, as C++ declares it. */
typedef struct {
  int32_t type_index;
  int final;
} tvmffi_i_finality;
static const tvmffi_i_finality tvmffi_i_finalities[] = {
    {kTVMFFIModule, 1},
    {kTVMFFIVisitInterrupt, 1},
    {kTVMFFIBigInt, 1},
    {TVMFFI_I_ENUM_STATE, 1},
    {TVMFFI_I_ENUM_BASE, 0},
    {TVMFFI_I_INT_ENUM, 0},
    {TVMFFI_I_STR_ENUM, 0},
    {TVMFFI_I_ACCESS_STEP, 1},
    {TVMFFI_I_ACCESS_PATH, 1},
    {TVMFFI_I_STRUCTURAL_VISITOR, 0},
    {TVMFFI_I_VISIT_ERROR_CONTEXT, 1},
    {TVMFFI_I_STRUCTURAL_MUTATOR, 0},
    {TVMFFI_I_STRUCTURAL_KEY, 1}};

static const tvmffi_i_attr *tvmffi_i_attr_of(const void *function) {
  const tvmffi_i_function_object *f =
      (const tvmffi_i_function_object *)function;
  return &tvmffi_i_attrs[f - tvmffi_i_attr_functions];
}

/* Raises for a call of such a function that has a wrong number of arguments,
   or a wrong first one. */
TVMFFI_I_SLOW int tvmffi_i_bad_attr_call(const tvmffi_i_attr *attr,
                                         const TVMFFIAny *args,
                                         int32_t num_args,
                                         const TVMFFIAny *result) {
  tvmffi_i_name arg = {tvmffi_i_type_key(attr->type_index), NULL};
  tvmffi_i_name to = {"ffi.Object", NULL};
  const tvmffi_i_name *types[2];
  tvmffi_func f;
  char name[96];
  size_t n = tvmffi_i_append(name, 0, arg.name);
  n = tvmffi_i_append(name, n, ".");
  n = tvmffi_i_append(name, n, tvmffi_i_column_rows[attr->column].name);
  name[n] = 0;
  if (attr->column == TVMFFI_I_COLUMN_CONVERT) {
    arg.name = "AnyView";
    to.name = tvmffi_i_target_of(attr->type_index)->name;
  }
  types[0] = &to;
  types[1] = &arg;
  f.name = name;
  f.call = NULL;
  f.num_args = attr->column != TVMFFI_I_COLUMN_NEW;
  f.types = types;
  if (num_args != f.num_args) return tvmffi_i_bad_call(&f, num_args, result);
  return tvmffi_i_bad_arg(&f, 0, args, TVMFFI_I_MISMATCH);
}

static int tvmffi_i_call_new(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_attr *attr = tvmffi_i_attr_of(self);
  TVMFFIObjectHandle made = NULL;
  if (num_args) return tvmffi_i_bad_attr_call(attr, args, num_args, result);
  TVMFFI_TRY(TVMFFIGetTypeInfo(attr->type_index)->metadata->creator(&made));
  *result = tvmffi_obj(made);
  return 0;
}

static int tvmffi_i_call_copy(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_attr *attr = tvmffi_i_attr_of(self);
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(attr->type_index);
  TVMFFIObject *o;
  if (num_args != 1 || args->type_index < kTVMFFIStaticObjectBegin ||
      !args->v_obj || !tvmffi_is_instance(args->type_index, attr->type_index))
    return tvmffi_i_bad_attr_call(attr, args, num_args, result);
  o = tvmffi_i_copy_object(args->v_obj, type,
                           (size_t)type->metadata->total_size);
  if (!o) return -1;
  *result = tvmffi_obj(o);
  return 0;
}

static int tvmffi_i_call_convert(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_attr *attr = tvmffi_i_attr_of(self);
  const tvmffi_i_target *to = tvmffi_i_target_of(attr->type_index);
  int code;
  if (num_args != 1)
    return tvmffi_i_bad_attr_call(attr, args, num_args, result);
  code = tvmffi_i_convert_to(to, args, result);
  if (code <= 0) return code;
  return tvmffi_i_fail("TypeError", "Cannot cast from `%s` to `%s`",
                       tvmffi_i_type_key(args->type_index), to->name);
}

/* Functions for the columns __any_hash__ and __any_equal__, which C++ calls,
   too. */
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
  int code = tvmffi_i_structural_key_equal(a, b);
  return code < 0 ? tvmffi_i_take_error() : tvmffi_bool(code != 0);
}
#endif
#if defined(__cplusplus)
}
#endif
#endif
