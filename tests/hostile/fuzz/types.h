/* Types with fields of all kinds, for the fuzzers that deal with objects. */
#ifndef FUZZ_TYPES_H_
#define FUZZ_TYPES_H_

#include "fuzz.h"

typedef struct {
  TVMFFIObject base;
  int64_t number;
  double real;
  DLDataType dtype;
  int32_t flag;
  TVMFFIAny a, b;
} fuzz_node;

static int32_t fuzz_first_type, fuzz_num_types;

/* What nodes held whose deleters ran. The outermost deleter releases it, so a
   chain of nodes needs no stack for each. */
static struct {
  TVMFFIAny values[1 << 15];
  int size, is_running;
} fuzz_held;

static void fuzz_end_value(TVMFFIAny *any) {
  const int room = (int)(sizeof(fuzz_held.values) / sizeof(TVMFFIAny));
  if (fuzz_held.size < room)
    fuzz_held.values[fuzz_held.size++] = *any;
  else
    tvmffi_any_release(any);
}

static void fuzz_delete_node(void *self, int flags) {
  fuzz_node *node = (fuzz_node *)self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    fuzz_end_value(&node->a);
    fuzz_end_value(&node->b);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) fuzz_free(self);
  if (fuzz_held.is_running) return;
  fuzz_held.is_running = 1;
  while (fuzz_held.size) {
    TVMFFIAny any = fuzz_held.values[--fuzz_held.size];
    tvmffi_any_release(&any);
  }
  fuzz_held.is_running = 0;
}

static int fuzz_make_node(int32_t type_index, TVMFFIObjectHandle *out) {
  fuzz_node *node = (fuzz_node *)fuzz_malloc(sizeof(*node));
  if (!node) return TVMFFI_RAISE("MemoryError", "no memory for a node");
  memset((void *)node, 0, sizeof(*node));
  node->base.combined_ref_count = (uint64_t)1 << 32 | 1;
  node->base.type_index = type_index;
  node->base.deleter = fuzz_delete_node;
  node->dtype.bits = 32;
  node->dtype.lanes = 1;
  *out = node;
  return 0;
}

#define FUZZ_CREATOR(name, offset)                        \
  static int name(TVMFFIObjectHandle *out) {              \
    return fuzz_make_node(fuzz_first_type + offset, out); \
  }
FUZZ_CREATOR(fuzz_make_0, 0)
FUZZ_CREATOR(fuzz_make_1, 1)
FUZZ_CREATOR(fuzz_make_2, 2)
FUZZ_CREATOR(fuzz_make_3, 3)

static int fuzz_get_number(void *field, TVMFFIAny *out) {
  *out = tvmffi_int(*(int64_t *)field);
  return 0;
}
static int fuzz_set_number(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFIInt)
    return TVMFFI_RAISE("TypeError", "not an int");
  *(int64_t *)field = value->v_int64;
  return 0;
}
static int fuzz_get_real(void *field, TVMFFIAny *out) {
  *out = tvmffi_float(*(double *)field);
  return 0;
}
static int fuzz_set_real(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFIFloat)
    return TVMFFI_RAISE("TypeError", "not a float");
  *(double *)field = value->v_float64;
  return 0;
}
static int fuzz_get_dtype(void *field, TVMFFIAny *out) {
  *out = tvmffi_dtype(*(DLDataType *)field);
  return 0;
}
static int fuzz_set_dtype(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFIDataType)
    return TVMFFI_RAISE("TypeError", "not a DataType");
  *(DLDataType *)field = value->v_dtype;
  return 0;
}
static int fuzz_get_flag(void *field, TVMFFIAny *out) {
  *out = tvmffi_bool(*(int32_t *)field);
  return 0;
}
static int fuzz_set_flag(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFIBool)
    return TVMFFI_RAISE("TypeError", "not a bool");
  *(int32_t *)field = value->v_int64 != 0;
  return 0;
}
static int fuzz_get_any(void *field, TVMFFIAny *out) {
  return TVMFFIAnyViewToOwnedAny((TVMFFIAny *)field, out);
}
static int fuzz_set_any(void *field, const TVMFFIAny *value) {
  TVMFFIAny owned = tvmffi_none(), old = *(TVMFFIAny *)field;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(value, &owned));
  *(TVMFFIAny *)field = owned;
  tvmffi_any_release(&old);
  return 0;
}

static void fuzz_field(int32_t type, const char *name, size_t offset,
                       size_t size, int32_t value_type,
                       TVMFFIFieldGetter getter, TVMFFIFieldSetter setter,
                       int64_t flags) {
  TVMFFIFieldInfo field;
  memset((void *)&field, 0, sizeof(field));
  field.name = tvmffi_byte_array(name);
  field.doc = field.metadata = tvmffi_byte_array("");
  field.flags = kTVMFFIFieldFlagBitMaskWritable |
                kTVMFFIFieldFlagBitMaskHasDefault | flags;
  field.size = (int64_t)size;
  field.alignment = size < 8 ? 4 : 8;
  field.offset = (int64_t)offset;
  field.getter = getter;
  memcpy(&field.setter, &setter, sizeof(field.setter));
  field.field_static_type_index = value_type;
  switch (value_type) {
    case kTVMFFIInt: field.default_value_or_factory = tvmffi_int(7); break;
    case kTVMFFIFloat:
      field.default_value_or_factory = tvmffi_float(0.5);
      break;
    case kTVMFFIBool: field.default_value_or_factory = tvmffi_bool(1); break;
    case kTVMFFIDataType: {
      DLDataType dtype = {kDLFloat, 16, 1};
      field.default_value_or_factory = tvmffi_dtype(dtype);
      break;
    }
    default: break;
  }
  FUZZ_CHECK(TVMFFITypeRegisterField(type, &field) == 0);
}

/* Registers fuzz.Node, fuzz.Var, fuzz.Shared and fuzz.Let, whose a is where
   variables are defined. */
static void fuzz_register_types(void) {
  static const struct {
    const char *key;
    TVMFFISEqHashKind kind;
    int64_t flags_a;
    TVMFFIObjectCreator creator;
  } types[] = {{"fuzz.Node", kTVMFFISEqHashKindTreeNode, 0, fuzz_make_0},
               {"fuzz.Var", kTVMFFISEqHashKindFreeVar, 0, fuzz_make_1},
               {"fuzz.Shared", kTVMFFISEqHashKindDAGNode, 0, fuzz_make_2},
               {"fuzz.Let", kTVMFFISEqHashKindTreeNode,
                kTVMFFIFieldFlagBitMaskSEqHashDefPattern, fuzz_make_3}};
  int32_t i;
  for (i = 0; i < 4; ++i) {
    TVMFFIByteArray key = tvmffi_byte_array(types[i].key);
    int32_t t = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
    TVMFFITypeMetadata metadata;
    FUZZ_CHECK(t > 0);
    if (i == 0) fuzz_first_type = t;
    FUZZ_CHECK(t == fuzz_first_type + i);
    fuzz_field(t, "number", offsetof(fuzz_node, number), 8, kTVMFFIInt,
               fuzz_get_number, fuzz_set_number, 0);
    fuzz_field(t, "real", offsetof(fuzz_node, real), 8, kTVMFFIFloat,
               fuzz_get_real, fuzz_set_real, 0);
    fuzz_field(t, "dtype", offsetof(fuzz_node, dtype), 4, kTVMFFIDataType,
               fuzz_get_dtype, fuzz_set_dtype, 0);
    fuzz_field(t, "flag", offsetof(fuzz_node, flag), 4, kTVMFFIBool,
               fuzz_get_flag, fuzz_set_flag,
               kTVMFFIFieldFlagBitMaskSEqHashIgnore);
    fuzz_field(t, "a", offsetof(fuzz_node, a), 16, kTVMFFIAny, fuzz_get_any,
               fuzz_set_any, types[i].flags_a);
    fuzz_field(t, "b", offsetof(fuzz_node, b), 16, kTVMFFIAny, fuzz_get_any,
               fuzz_set_any, 0);
    memset((void *)&metadata, 0, sizeof(metadata));
    metadata.doc = tvmffi_byte_array("");
    metadata.creator = types[i].creator;
    metadata.total_size = (int32_t)sizeof(fuzz_node);
    metadata.structural_eq_hash_kind = types[i].kind;
    FUZZ_CHECK(TVMFFITypeRegisterMetadata(t, &metadata) == 0);
    ++fuzz_num_types;
  }
}

#endif /* FUZZ_TYPES_H_ */
