/* Objects: a head with a type and two reference counts, then the content. Here
   a type of our own, its field, its child type, and its strong and weak
   references. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>
#include <string.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

typedef struct {
  TVMFFIObject base;
  int64_t value;
} Counter;

static int32_t counter_index, step_counter_index;
static int alive, allocated;

/* Ends the object with its last strong reference, and frees its memory with
   its last reference of any kind; mostly that is one call with both flags. */
static void counter_delete(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) --alive;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) {
    ((TVMFFIObjectAllocHeader *)self - 1)->delete_space(self);
    --allocated;
  }
}

/* Memory comes from the process's allocator, so that an environment (Python,
   say) can tie its own wrapper to the object. A new object has one strong
   reference, and all strong ones together hold one weak one. */
static int counter_new(int32_t type_index, int64_t value, Counter **out) {
  TVMFFICustomAllocator *from = TVMFFIGetCustomAllocator();
  Counter *self =
      (Counter *)from->allocate(sizeof(Counter), 8, type_index, from->context);
  if (!self) return -1;
  memset(self, 0, sizeof(*self));
  self->base.combined_ref_count = (uint64_t)1 << 32 | 1;
  self->base.type_index = type_index;
  self->base.deleter = counter_delete;
  self->value = value;
  ++alive, ++allocated;
  *out = self;
  return 0;
}

/* A getter is given the field's address, and makes an owned Any of it. */
static int get_int64(void *field, TVMFFIAny *result) {
  *result = tvmffi_int(*(int64_t *)field);
  return 0;
}

static int register_type(const char *name, int32_t depth, int32_t slots,
                         int32_t parent, int32_t *out) {
  TVMFFIByteArray key;
  key.data = name;
  key.size = strlen(name);
  *out = TVMFFITypeGetOrAllocIndex(&key, -1, depth, slots, 1, parent);
  return *out < 0 ? -1 : 0;
}

static int register_types(void) {
  TVMFFIFieldInfo field;
  TVMFFI_TRY(
      register_type("demo.Counter", 1, 1, kTVMFFIObject, &counter_index));
  TVMFFI_TRY(register_type("demo.StepCounter", 2, 0, counter_index,
                           &step_counter_index));
  memset(&field, 0, sizeof(field));
  field.name.data = "value";
  field.name.size = strlen("value");
  field.metadata.data = "{\"type_schema\":\"{\\\"type\\\":\\\"int\\\"}\"}";
  field.metadata.size = strlen(field.metadata.data);
  field.size = sizeof(int64_t);
  field.alignment = 8;
  field.offset = offsetof(Counter, value);
  field.getter = get_int64;
  field.field_static_type_index = kTVMFFIInt;
  return TVMFFITypeRegisterField(counter_index, &field);
}

/* What Python does for `counter.value`. */
static int get_field(TVMFFIObject *obj, const char *name, TVMFFIAny *out) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(obj->type_index);
  int32_t i;
  for (i = 0; i < type->num_fields; ++i) {
    const TVMFFIFieldInfo *field = &type->fields[i];
    if (strcmp(field->name.data, name) == 0)
      return field->getter((char *)obj + field->offset, out);
  }
  return TVMFFI_RAISE("AttributeError", "%s has no field %s",
                      type->type_key.data, name);
}

/* The table knows every type's ancestors by depth, so one look tells whether
   an object is an instance. tvmffi_is_instance does the same. */
static int is_instance(const TVMFFIObject *obj, int32_t target_index) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(obj->type_index);
  const TVMFFITypeInfo *target = TVMFFIGetTypeInfo(target_index);
  return type == target || (type->type_depth > target->type_depth &&
                            type->type_ancestors[target->type_depth] == target);
}

static int instances(void) {
  Counter *plain = NULL, *step = NULL;
  TVMFFI_TRY(counter_new(counter_index, 1, &plain));
  TVMFFI_TRY(counter_new(step_counter_index, 2, &step));
  CHECK(is_instance(&step->base, step_counter_index));
  CHECK(is_instance(&step->base, counter_index));
  CHECK(is_instance(&step->base, kTVMFFIObject));
  CHECK(!is_instance(&plain->base, step_counter_index));
  CHECK(!is_instance(&plain->base, kTVMFFIFunction));
  CHECK(tvmffi_is_instance(step_counter_index, counter_index));
  tvmffi_release(plain);
  tvmffi_release(step);
  CHECK(alive == 0 && allocated == 0);
  return 0;
}

static int references(void) {
  Counter *counter = NULL;
  TVMFFIAny any = tvmffi_none(), value;
  TVMFFI_TRY(counter_new(counter_index, 7, &counter));

  any = tvmffi_obj(counter); /* a view, made an owner by one more reference */
  tvmffi_retain(counter);
  tvmffi_release(counter);
  CHECK(alive == 1);
  TVMFFI_TRY(get_field(any.v_obj, "value", &value));
  CHECK(value.v_int64 == 7);

  tvmffi_weak_retain(counter);      /* keeps the memory, not the object */
  CHECK(tvmffi_weak_lock(counter)); /* alive: this adds a strong one */
  tvmffi_release(counter);
  tvmffi_any_release(&any); /* the last strong one: the object ends */
  CHECK(alive == 0 && allocated == 1);
  CHECK(!tvmffi_weak_lock(counter));
  tvmffi_weak_release(counter); /* the last of all: the memory goes */
  CHECK(allocated == 0);
  return 0;
}

static int run(void) {
  TVMFFI_TRY(register_types());
  TVMFFI_TRY(instances());
  TVMFFI_TRY(references());
  printf("demo.Counter is type %d, demo.StepCounter type %d\n",
         (int)counter_index, (int)step_counter_index);
  return 0;
}

int main(void) { return run() ? (tvmffi_error_print(stderr), 1) : 0; }
