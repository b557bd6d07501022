/* An object begins with a header: a type index, two reference counts and a
   deleter. This example registers a type with a field, derives a child type,
   keeps an object, and uses a weak reference. */
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

/* The runtime calls this with the strong flag when the last strong reference
   is released (destroy the content), and with the weak flag when the last weak
   one is (free the memory). Most objects get one call with both flags. */
static void counter_delete(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) --alive;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) {
    ((TVMFFIObjectAllocHeader *)self - 1)->delete_space(self);
    --allocated;
  }
}

/* Allocates with the process's allocator, so that an environment (Python, say)
   can attach its own wrapper to the object. A new object's counts are 1 strong
   (low half) and 1 weak (high half): all strong references share one weak
   reference. The caller's scope owns the strong one. */
static Counter *counter_new(TVMFFI_HERE, int32_t type_index, int64_t value) {
  TVMFFICustomAllocator *from = TVMFFIGetCustomAllocator();
  Counter *self =
      (Counter *)from->allocate(sizeof(Counter), 8, type_index, from->context);
  if (!self) return NULL;
  memset(self, 0, sizeof(*self));
  self->base.combined_ref_count = (uint64_t)1 << 32 | 1;
  self->base.type_index = type_index;
  self->base.deleter = counter_delete;
  self->value = value;
  ++alive, ++allocated;
  return (Counter *)tvmffi_scope_attach(self);
}

/* A getter reads the field at this address into an owned Any. */
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

/* Finds a field by its name and reads it, as Python does for `counter.value`.
 */
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

/* The type table lists each type's ancestors by depth, so one comparison
   decides whether an object is an instance. tvmffi_is_instance does the same
   with two type indices. */
static int is_instance(const TVMFFIObject *obj, int32_t target_index) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(obj->type_index);
  const TVMFFITypeInfo *target = TVMFFIGetTypeInfo(target_index);
  return type == target || (type->type_depth > target->type_depth &&
                            type->type_ancestors[target->type_depth] == target);
}

static int instances(void) {
  TVMFFI_SCOPE; /* releases both counters at the end */
  Counter *plain = counter_new(tvmffi_here, counter_index, 1);
  Counter *step = counter_new(tvmffi_here, step_counter_index, 2);
  if (!plain || !step) return -1;
  CHECK(is_instance(&step->base, step_counter_index));
  CHECK(is_instance(&step->base, counter_index));
  CHECK(is_instance(&step->base, kTVMFFIObject));
  CHECK(!is_instance(&plain->base, step_counter_index));
  CHECK(!is_instance(&plain->base, kTVMFFIFunction));
  CHECK(tvmffi_is_instance(step_counter_index, counter_index));
  return 0;
}

static Counter *kept; /* owns a reference, or is NULL */

/* The object must outlive the scope that made it, so `kept` gets a reference of
   its own. */
static int keep_one(void) {
  TVMFFI_SCOPE;
  Counter *counter = counter_new(tvmffi_here, counter_index, 7);
  if (!counter) return -1;
  tvmffi_keep(&kept, counter);
  return 0;
}

static int references(void) {
  TVMFFIAny value;
  TVMFFI_TRY(keep_one());
  CHECK(alive == 1);
  TVMFFI_TRY(get_field(&kept->base, "value", &value));
  CHECK(value.v_int64 == 7);

  tvmffi_weak_retain(kept);      /* keeps the memory, not the object */
  CHECK(tvmffi_weak_lock(kept)); /* alive: adds a strong reference */
  tvmffi_release(kept);
  tvmffi_release(kept); /* the last strong one: content destroyed */
  CHECK(alive == 0 && allocated == 1);
  CHECK(!tvmffi_weak_lock(kept));
  tvmffi_weak_release(kept); /* the last weak one: memory freed */
  CHECK(allocated == 0);
  return 0;
}

TVMFFI_MAIN() {
  TVMFFI_TRY(register_types());
  TVMFFI_TRY(instances());
  CHECK(alive == 0 && allocated == 0);
  TVMFFI_TRY(references());
  printf("demo.Counter is type %d, demo.StepCounter type %d\n",
         (int)counter_index, (int)step_counter_index);
  return 0;
}
