/* The C half of interop.cpp: our header's declarations and C interface, no
   runtime. It runs on whatever library the program is linked with. */
#include "../../../tvmffi.h"

#include <stdlib.h>
#include <string.h>

#include "c_side.h"

/* A handle as tvmffi_call takes an object. */
static TVMFFIObject *object_of(TVMFFIObjectHandle handle) {
  return (TVMFFIObject *)handle;
}

/* -- Typed functions ------------------------------------------------------ */

TVMFFI_FUNC(scale, float64, (float64, x), (int32, by)) {
  TVMFFI_RETURN(x * by);
}

TVMFFI_FUNC(greet, str, (str, name)) {
  char text[80];
  TVMFFIByteArray out = {text, 7 + name.size};
  if (name.size > 64) return TVMFFI_RAISE("ValueError", "name is too long");
  memcpy(text, "Hello, ", 7);
  memcpy(text + 7, name.data, name.size);
  TVMFFI_RETURN(out);
}

TVMFFI_FUNC(divide, int64, (int64, a), (int64, b)) {
  if (b == 0) return TVMFFI_RAISE("ZeroDivisionError", "%d by zero", (int)a);
  TVMFFI_RETURN(a / b);
}

TVMFFI_FUNC(same, any, (any, x)) { TVMFFI_RETURN(x); }

TVMFFI_FUNC(apply, int64, (func, f), (int64, x)) {
  int64_t y = 0;
  TVMFFI_TRY(tvmffi_call(f, &y, x));
  TVMFFI_RETURN(y + 1);
}

TVMFFI_FUNC(tensor_sum, float64, (tensor, t)) {
  const float *data = TVMFFI_DATA(t, float);
  int64_t size = 1, i;
  double sum = 0;
  for (i = 0; i < t->ndim; ++i) size *= t->shape[i];
  for (i = 0; i < size; ++i) sum += data[i];
  TVMFFI_RETURN(sum);
}

TVMFFI_FUNC(names, str, (dtype, t), (device, d), (bool, flag), (bytes, b)) {
  static const char *const texts[2] = {"no", "yes"};
  (void)t, (void)d, (void)b;
  TVMFFI_RETURN(tvmffi_byte_array(
      texts[flag && t.bits == 16 && d.device_id == 1 && b.size == 3]));
}

TVMFFI_FUNC(nothing, none) { TVMFFI_RETURN(); }

/* -- A type of C: a counter ----------------------------------------------- */

typedef struct {
  TVMFFIObject header;
  int64_t count;
  TVMFFIAny label; /* owned */
} Counter;

static int32_t counter_index;
static int counters;

static void counter_delete(void *self, int flags) {
  Counter *counter = (Counter *)self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_any_release(&counter->label);
    --counters;
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) free(counter);
}

static int counter_create(TVMFFIObjectHandle *out) {
  Counter *counter = (Counter *)calloc(1, sizeof(*counter));
  if (!counter) return TVMFFI_RAISE("MemoryError", "no counter");
  counter->header.combined_ref_count = TVMFFI_I_BOTH_ONE;
  counter->header.type_index = counter_index;
  counter->header.deleter = counter_delete;
  ++counters;
  *out = counter;
  return 0;
}

static int count_get(void *field, TVMFFIAny *result) {
  *result = tvmffi_int(*(int64_t *)field);
  return 0;
}

static int count_set(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFIInt)
    return TVMFFI_RAISE("TypeError", "count wants an int");
  *(int64_t *)field = value->v_int64;
  return 0;
}

static int label_get(void *field, TVMFFIAny *result) {
  return TVMFFIAnyViewToOwnedAny((const TVMFFIAny *)field, result);
}

static int label_set(void *field, const TVMFFIAny *value) {
  TVMFFIAny owned;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(value, &owned));
  tvmffi_any_release((TVMFFIAny *)field);
  *(TVMFFIAny *)field = owned;
  return 0;
}

TVMFFI_FUNC(counter_add, int64, (object, self), (int64, by)) {
  if (!tvmffi_is_instance(self->type_index, counter_index))
    return TVMFFI_RAISE("TypeError", "not a counter");
  ((Counter *)self)->count += by;
  TVMFFI_RETURN(((Counter *)self)->count);
}

static int counter_field(const char *name, size_t offset, size_t size,
                         TVMFFIFieldGetter get, TVMFFIFieldSetter set,
                         TVMFFIAny standard) {
  TVMFFIFieldInfo field;
  memset(&field, 0, sizeof(field));
  field.name = tvmffi_byte_array(name);
  field.flags =
      kTVMFFIFieldFlagBitMaskWritable | kTVMFFIFieldFlagBitMaskHasDefault;
  field.offset = (int64_t)offset;
  field.size = (int64_t)size;
  field.alignment = 8;
  field.getter = get;
  field.setter = (void *)(uintptr_t)set;
  field.default_value_or_factory = standard;
  field.field_static_type_index = kTVMFFIAny;
  return TVMFFITypeRegisterField(counter_index, &field);
}

static int counter_register(void) {
  TVMFFI_SCOPE;
  TVMFFIByteArray key = tvmffi_byte_array("c.Counter");
  TVMFFIByteArray unit = tvmffi_byte_array("c.unit");
  TVMFFIAny pieces = tvmffi_str("pieces"), owned;
  TVMFFITypeMetadata metadata;
  TVMFFIMethodInfo method;
  TVMFFIObject *add;
  counter_index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  if (counter_index < 0) return -1;
  memset(&metadata, 0, sizeof(metadata));
  metadata.creator = counter_create;
  metadata.total_size = (int32_t)sizeof(Counter);
  metadata.doc = tvmffi_byte_array("Counts.");
  TVMFFI_TRY(TVMFFITypeRegisterMetadata(counter_index, &metadata));
  TVMFFI_TRY(counter_field("count", offsetof(Counter, count), 8, count_get,
                           count_set, tvmffi_int(1)));
  TVMFFI_TRY(counter_field("label", offsetof(Counter, label), 16, label_get,
                           label_set, tvmffi_none()));
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&pieces, &owned));
  TVMFFI_TRY(TVMFFITypeRegisterAttr(counter_index, &unit, &owned));
  TVMFFI_TRY(TVMFFI_FUNCTION_NEW(counter_add, &add));
  memset(&method, 0, sizeof(method));
  method.name = tvmffi_byte_array("add");
  method.method = tvmffi_obj(add);
  return TVMFFITypeRegisterMethod(counter_index, &method);
}

int c_counters(void) { return counters; }

int c_setup(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("c.scale", scale));
  TVMFFI_TRY(TVMFFI_REGISTER("c.greet", greet));
  TVMFFI_TRY(TVMFFI_REGISTER("c.divide", divide));
  TVMFFI_TRY(TVMFFI_REGISTER("c.same", same));
  TVMFFI_TRY(TVMFFI_REGISTER("c.apply", apply));
  TVMFFI_TRY(TVMFFI_REGISTER("c.tensor_sum", tensor_sum));
  TVMFFI_TRY(TVMFFI_REGISTER("c.names", names));
  TVMFFI_TRY(TVMFFI_REGISTER("c.nothing", nothing));
  return counter_register();
}

/* -- Containers -------------------------------------------------------------
 */

int c_list_fill(TVMFFIObjectHandle list, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    TVMFFI_TRY(tvmffi_call("ffi.ListAppend", NULL, object_of(list), i));
  return 0;
}

int c_list_edit(TVMFFIObjectHandle handle) {
  TVMFFIObject *list = object_of(handle);
  const char *text = "a text of C that is too long for a value";
  TVMFFI_TRY(tvmffi_call("ffi.ListInsert", NULL, list, 0, text));
  TVMFFI_TRY(tvmffi_call("ffi.ListInsert", NULL, list, 1, list));
  TVMFFI_TRY(tvmffi_call("ffi.ListErase", NULL, list, 1));
  TVMFFI_TRY(tvmffi_call("ffi.ListReverse", NULL, list));
  return tvmffi_call("ffi.ListSetItem", NULL, list, 0, 2.5);
}

int c_sequence_sum(TVMFFIObjectHandle sequence, int64_t *sum) {
  const TVMFFISeqCell *cell = (const TVMFFISeqCell *)(object_of(sequence) + 1);
  const TVMFFIAny *items = (const TVMFFIAny *)cell->data;
  *sum = 0;
  for (int64_t i = 0; i < cell->size; ++i)
    if (items[i].type_index == kTVMFFIInt) *sum += items[i].v_int64;
  return cell->size > cell->capacity
             ? TVMFFI_RAISE("AssertionError", "size over capacity")
             : 0;
}

int c_dict_fill(TVMFFIObjectHandle dict, int64_t count) {
  char key[48] = "a key that is too long for a value, ";
  for (int64_t i = 0; i < count; ++i) {
    TVMFFI_TRY(tvmffi_call("ffi.DictSetItem", NULL, object_of(dict), i, -i));
    key[36] = (char)('0' + i / 100 % 10);
    key[37] = (char)('0' + i / 10 % 10);
    key[38] = (char)('0' + i % 10);
    TVMFFI_TRY(tvmffi_call("ffi.DictSetItem", NULL, object_of(dict), key, i));
    TVMFFI_TRY(
        tvmffi_call("ffi.DictSetItem", NULL, object_of(dict), key + 36, 2 * i));
  }
  return 0;
}

int c_dict_thin(TVMFFIObjectHandle dict, int64_t count) {
  for (int64_t i = 0; i < count; i += 2)
    TVMFFI_TRY(tvmffi_call("ffi.DictErase", NULL, object_of(dict), i));
  return 0;
}

/* prefix: "ffi.Map" or "ffi.Dict". The iterator gives keys for 0, values for
   1, and for 2 goes on and tells whether there is more. */
int c_map_sum(TVMFFIObjectHandle map, const char *prefix, int64_t *sum) {
  TVMFFI_SCOPE;
  char name[40];
  TVMFFIObject *next;
  int64_t size = 0;
  _Bool more = 1;
  strcat(strcpy(name, prefix), "Size");
  TVMFFI_TRY(tvmffi_call(name, &size, object_of(map)));
  strcat(strcpy(name, prefix), "ForwardIterFunctor");
  TVMFFI_TRY(tvmffi_call(name, &next, object_of(map)));
  *sum = 0;
  while (more && size--) {
    int64_t value = 0;
    TVMFFI_TRY(tvmffi_call(next, &value, 1));
    *sum += value;
    TVMFFI_TRY(tvmffi_call(next, &more, 2));
  }
  return 0;
}

int c_make(const char *kind, TVMFFIAny *out) {
  TVMFFI_SCOPE;
  TVMFFIAny made;
  char name[16] = "ffi.";
  strcat(name, kind);
  if (kind[0] == 'A' || kind[0] == 'L')
    TVMFFI_TRY(tvmffi_call(name, &made, 1, "small",
                           "a text that needs an object", 2.5, tvmffi_none()));
  else
    TVMFFI_TRY(tvmffi_call(name, &made, "small", 1,
                           "a text that needs an object", 2, 3, "three"));
  return TVMFFIAnyViewToOwnedAny(&made, out);
}

int c_nest(int64_t depth, TVMFFIAny *out) {
  TVMFFI_SCOPE;
  TVMFFIAny made = tvmffi_none();
  while (depth--) TVMFFI_TRY(tvmffi_call("ffi.List", &made, made));
  return TVMFFIAnyViewToOwnedAny(&made, out);
}

/* -- Strings ----------------------------------------------------------------
 */

int c_string(const char *text, TVMFFIAny *out) {
  TVMFFIByteArray view = tvmffi_byte_array(text);
  return TVMFFIStringFromByteArray(&view, out);
}

size_t c_string_size(const TVMFFIAny *any, unsigned *sum) {
  TVMFFIByteArray text = tvmffi_any_str(any);
  *sum = 0;
  for (size_t i = 0; i < text.size; ++i) *sum += (unsigned char)text.data[i];
  return text.size;
}

/* -- Calls --------------------------------------------------------------------
 */

int c_call_global(const char *name, int64_t x, int64_t *out) {
  return tvmffi_call(name, out, x);
}

/* An insertion sort by a function of the caller's. */
int c_sort(TVMFFIObjectHandle less, int64_t *values, int64_t count) {
  for (int64_t i = 1; i < count; ++i)
    for (int64_t k = i; k > 0; --k) {
      _Bool swap = 0;
      int64_t x = values[k];
      TVMFFI_TRY(tvmffi_call(object_of(less), &swap, x, values[k - 1]));
      if (!swap) break;
      values[k] = values[k - 1];
      values[k - 1] = x;
    }
  return 0;
}

/* -- Errors -------------------------------------------------------------------
 */

int c_call_and_pass_on(TVMFFIObjectHandle function) {
  TVMFFI_TRY(tvmffi_call(object_of(function), NULL));
  return 0;
}

int c_call_and_wrap(TVMFFIObjectHandle function) {
  TVMFFIByteArray kind = tvmffi_byte_array("WrappedError");
  TVMFFIByteArray message = tvmffi_byte_array("C has seen an error");
  TVMFFIByteArray trace = tvmffi_byte_array("  File \"c\", line 1, in wrap\n");
  TVMFFIObjectHandle wrapped = NULL;
  TVMFFI_SCOPE;
  if (!tvmffi_call(object_of(function), NULL)) return 0;
  TVMFFI_TRY(TVMFFIErrorCreateWithCauseAndExtraContext(
      &kind, &message, &trace, tvmffi_error_take(), function, &wrapped));
  TVMFFIErrorSetRaised(wrapped);
  tvmffi_release(wrapped);
  return -1;
}

int c_call_and_catch(TVMFFIObjectHandle function, TVMFFIAny *out) {
  TVMFFI_SCOPE;
  const TVMFFIErrorCell *cell;
  TVMFFIByteArray text;
  char buffer[256];
  if (!tvmffi_call(object_of(function), NULL)) return c_string("", out);
  cell = TVMFFIErrorGetCellPtr(tvmffi_error_take());
  text.data = buffer;
  text.size = cell->kind.size + 2 + cell->message.size;
  if (text.size > sizeof(buffer)) text.size = sizeof(buffer);
  memcpy(buffer, cell->kind.data, cell->kind.size);
  memcpy(buffer + cell->kind.size, ": ", 2);
  memcpy(buffer + cell->kind.size + 2, cell->message.data,
         text.size - cell->kind.size - 2);
  return TVMFFIStringFromByteArray(&text, out);
}

/* -- Objects ------------------------------------------------------------------
 */

static int is_named(TVMFFIByteArray a, const char *name) {
  return a.size == strlen(name) && !memcmp(a.data, name, a.size);
}

/* A field of the object's type or of an ancestor. */
static int find_field(const TVMFFIObject *object, const char *name,
                      const TVMFFIFieldInfo **out) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(object->type_index);
  int32_t level = info->type_depth;
  for (; info; info = --level > 0 ? info->type_ancestors[level] : NULL)
    for (int32_t i = 0; i < info->num_fields; ++i)
      if (is_named(info->fields[i].name, name)) {
        *out = info->fields + i;
        return 0;
      }
  return TVMFFI_RAISE("AttributeError", "no field %s", name);
}

int c_field_int_at_offset(TVMFFIObjectHandle object, const char *name,
                          int64_t *out) {
  const TVMFFIFieldInfo *field = NULL;
  TVMFFI_TRY(find_field(object_of(object), name, &field));
  if (field->size != 8 || field->field_static_type_index != kTVMFFIInt)
    return TVMFFI_RAISE("TypeError", "%s is no int64", name);
  memcpy(out, (char *)object + field->offset, 8);
  return 0;
}

int c_field_get(TVMFFIObjectHandle object, const char *name, TVMFFIAny *out) {
  const TVMFFIFieldInfo *field = NULL;
  TVMFFI_TRY(find_field(object_of(object), name, &field));
  *out = tvmffi_none();
  return field->getter((char *)object + field->offset, out);
}

int c_field_set(TVMFFIObjectHandle object, const char *name,
                const TVMFFIAny *value) {
  const TVMFFIFieldInfo *field = NULL;
  TVMFFI_TRY(find_field(object_of(object), name, &field));
  if (field->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj)
    return tvmffi_call((TVMFFIObject *)field->setter, NULL,
                       (void *)((char *)object + field->offset), *value);
  return ((TVMFFIFieldSetter)(uintptr_t)field->setter)(
      (char *)object + field->offset, value);
}

int c_method(TVMFFIObjectHandle object, const char *name, int64_t arg,
             TVMFFIAny *out) {
  TVMFFI_SCOPE;
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(object_of(object)->type_index);
  TVMFFIAny result;
  for (int32_t i = 0; i < info->num_methods; ++i)
    if (is_named(info->methods[i].name, name)) {
      TVMFFI_TRY(tvmffi_call(info->methods[i].method, &result,
                             object_of(object), arg));
      return TVMFFIAnyViewToOwnedAny(&result, out);
    }
  return TVMFFI_RAISE("AttributeError", "no method %s", name);
}

int c_attribute(int32_t type_index, const char *name, TVMFFIAny *out) {
  TVMFFIByteArray view = tvmffi_byte_array(name);
  const TVMFFITypeAttrColumn *column = TVMFFIGetTypeAttrColumn(&view);
  int32_t row;
  if (!column) return TVMFFI_RAISE("AttributeError", "no column %s", name);
  row = type_index - column->begin_index;
  if (row < 0 || row >= column->size)
    return TVMFFI_RAISE("IndexError", "no row in %s", name);
  return TVMFFIAnyViewToOwnedAny(column->data + row, out);
}

int c_create(const char *type_key, TVMFFIObjectHandle *out) {
  TVMFFIByteArray key = tvmffi_byte_array(type_key);
  const TVMFFITypeInfo *info;
  int32_t index = 0;
  TVMFFI_TRY(TVMFFITypeKeyToIndex(&key, &index));
  info = TVMFFIGetTypeInfo(index);
  if (!info->metadata || !info->metadata->creator)
    return TVMFFI_RAISE("TypeError", "%s has no creator", type_key);
  return info->metadata->creator(out);
}

int c_is_instance(int32_t type_index, int32_t of) {
  return tvmffi_is_instance(type_index, of);
}

/* -- References ---------------------------------------------------------------
 */

void c_retain(TVMFFIObjectHandle object) { tvmffi_retain(object); }

void c_release(TVMFFIObjectHandle object) { tvmffi_release(object); }

static TVMFFIObjectHandle weak;

void c_weak_keep(TVMFFIObjectHandle object) {
  tvmffi_weak_retain(object);
  weak = object;
}

int c_weak_alive(void) {
  if (!tvmffi_weak_lock(weak)) return 0;
  tvmffi_release(weak);
  return 1;
}

void c_weak_drop(void) {
  tvmffi_weak_release(weak);
  weak = NULL;
}

/* -- Tensors ------------------------------------------------------------------
 */

int c_tensor_call(const char *name, double *out) {
  float data[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  DLTensor tensor;
  memset(&tensor, 0, sizeof(tensor));
  tensor.data = data;
  tensor.device = TVMFFIDLDeviceFromIntPair(kDLCPU, 0);
  tensor.ndim = 2;
  tensor.dtype.code = kDLFloat;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = shape;
  tensor.strides = strides;
  return tvmffi_call(name, out, &tensor);
}
