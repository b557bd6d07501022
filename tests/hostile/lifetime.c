/* Who owns what, and how long: each deleter runs once, at the right time,
 * with the right flags.
 *
 *   lifetime LIBRARY [TEST]
 *
 * prints "name<TAB>wanted<TAB>outcome<TAB>detail" per test; each runs in a
 * child of its own. */
#include "robust.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

static struct report {
  int ended;
  char check[160];
} *report;

static int broken(const char *what, int line) {
  snprintf(report->check, sizeof report->check, "line %d: %s", line, what);
  return -1;
}
#define CHECK(c)                           \
  do {                                     \
    if (!(c)) return broken(#c, __LINE__); \
  } while (0)

struct test {
  const char *name;
  int (*run)(void);
};
static struct test tests[100];
static int num_tests;
#define TEST(id)                                            \
  static int test_##id(void);                               \
  __attribute__((constructor)) static void add_##id(void) { \
    tests[num_tests].name = #id;                            \
    tests[num_tests++].run = test_##id;                     \
  }                                                         \
  static int test_##id(void)

#define STRONG(o) (((Obj)(o))->combined_ref_count & 0xFFFFFFFFu)
#define WEAK(o) (((Obj)(o))->combined_ref_count >> 32)

/* ---- counts and flags ---- */

static char log_text[64];
static void log_flags(void *self, int flags) {
  Obj o = (Obj)self;
  char *end = log_text + strlen(log_text);
  /* while content is destroyed nobody may make a strong reference of a weak
   * one, and the memory is still held by the strong ones' common weak one */
  if (flags == kTVMFFIObjectDeleterFlagBitMaskStrong && STRONG(o) != 0) {
    strcat(log_text, "!");
  }
  if (flags == kTVMFFIObjectDeleterFlagBitMaskStrong && WEAK(o) == 0) {
    strcat(log_text, "?");
  }
  sprintf(end + strlen(end), "%d ", flags);
}
static TVMFFIObject hand;
static Obj hand_made(uint32_t strong, uint32_t weak) {
  memset(&hand, 0, sizeof hand);
  hand.combined_ref_count = (uint64_t)weak << 32 | strong;
  hand.type_index = kTVMFFIObject;
  hand.deleter = log_flags;
  log_text[0] = 0;
  return &hand;
}
static void drop_weak(Obj o) {
  uint64_t one = (uint64_t)1 << 32;
  uint64_t old =
      __atomic_fetch_sub(&o->combined_ref_count, one, __ATOMIC_ACQ_REL);
  if (old == one) o->deleter(o, kTVMFFIObjectDeleterFlagBitMaskWeak);
}
TEST(last_strong_and_no_weak) {
  Obj o = hand_made(1, 1);
  CHECK(F.ObjectDecRef(o) == 0);
  CHECK(strcmp(log_text, "3 ") == 0);
  return 0;
}
TEST(last_strong_with_a_weak) {
  Obj o = hand_made(1, 2);
  CHECK(F.ObjectDecRef(o) == 0);
  CHECK(strcmp(log_text, "1 ") == 0);
  CHECK(STRONG(o) == 0 && WEAK(o) == 1);
  drop_weak(o);
  CHECK(strcmp(log_text, "1 2 ") == 0);
  return 0;
}
TEST(weak_goes_first) {
  Obj o = hand_made(1, 2);
  drop_weak(o);
  CHECK(log_text[0] == 0);
  CHECK(F.ObjectDecRef(o) == 0);
  CHECK(strcmp(log_text, "3 ") == 0);
  return 0;
}
TEST(many_of_both) {
  Obj o = hand_made(3, 4);
  CHECK(F.ObjectIncRef(o) == 0);
  CHECK(STRONG(o) == 4 && WEAK(o) == 4);
  CHECK(F.ObjectDecRef(o) == 0 && F.ObjectDecRef(o) == 0);
  drop_weak(o);
  CHECK(F.ObjectDecRef(o) == 0);
  CHECK(log_text[0] == 0);
  CHECK(F.ObjectDecRef(o) == 0);
  CHECK(strcmp(log_text, "1 ") == 0);
  drop_weak(o);
  CHECK(strcmp(log_text, "1 ") == 0);
  drop_weak(o);
  CHECK(strcmp(log_text, "1 2 ") == 0);
  return 0;
}
/* A weak reference keeps the memory of the library's own objects too. */
TEST(weak_reference_to_a_string) {
  Obj s = make_str();
  __atomic_fetch_add(&s->combined_ref_count, (uint64_t)1 << 32,
                     __ATOMIC_RELAXED);
  CHECK(F.ObjectDecRef(s) == 0);
  CHECK(STRONG(s) == 0 && WEAK(s) == 1);
  CHECK(s->type_index == kTVMFFIStr);
  drop_weak(s);
  return 0;
}
static int freed;
static void *freed_handle;
static void count_free(void *handle) {
  ++freed;
  freed_handle = handle;
}
TEST(weak_reference_to_an_opaque_object) {
  Obj o = make_opaque(&freed, count_free);
  __atomic_fetch_add(&o->combined_ref_count, (uint64_t)1 << 32,
                     __ATOMIC_RELAXED);
  CHECK(F.ObjectDecRef(o) == 0);
  CHECK(freed == 1);
  drop_weak(o);
  CHECK(freed == 1);
  return 0;
}
TEST(weak_reference_to_a_view_and_a_function) {
  Obj t = make_tensor();
  TVMFFIObjectHandle v = NULL, f = NULL;
  CHECK(F.TensorCreateUnsafeView(t, tensor_cell(t), &v) == 0);
  CHECK(F.FunctionCreate(&freed, safe_answer, count_free, &f) == 0);
  ((Obj)v)->combined_ref_count += (uint64_t)1 << 32;
  ((Obj)f)->combined_ref_count += (uint64_t)1 << 32;
  CHECK(F.ObjectDecRef(v) == 0 && F.ObjectDecRef(f) == 0);
  CHECK(STRONG(t) == 1 && freed == 1);
  drop_weak((Obj)v);
  drop_weak((Obj)f);
  CHECK(F.ObjectDecRef(t) == 0 && sample_deleted == 1 && freed == 1);
  return 0;
}

/* ---- the allocator ---- */

TEST(default_allocator_keeps_its_contract) {
  TVMFFICustomAllocator *a = F.GetCustomAllocator();
  size_t size, alignment;
  CHECK(a != NULL && a->allocate != NULL);
  for (size = 0; size < 600; size += 1 + size / 8) {
    for (alignment = 1; alignment <= 16; alignment *= 2) {
      char *p = (char *)a->allocate(size, alignment, kTVMFFIObject, a->context);
      TVMFFIObjectAllocHeader *h;
      CHECK(p != NULL && (uintptr_t)p % alignment == 0);
      CHECK((uintptr_t)p % sizeof(void *) == 0);
      memset(p, 0xA5, size);
      h = (TVMFFIObjectAllocHeader *)(void *)p - 1;
      CHECK(h->delete_space != NULL);
      h->delete_space(p);
    }
  }
  return 0;
}
static void *own_allocate(size_t size, size_t alignment, int32_t type_index,
                          void *context) {
  (void)alignment, (void)type_index;
  ++*(int *)context;
  return (char *)calloc(1, size + 16) + 16;
}
TEST(allocator_is_set_and_restored) {
  static int count;
  TVMFFICustomAllocator *first = F.GetCustomAllocator();
  static TVMFFICustomAllocator own = {own_allocate, &count};
  CHECK(F.SetCustomAllocator(&own) == 0);
  CHECK(F.GetCustomAllocator() == &own);
  CHECK(F.GetCustomAllocator()->context == &count);
  CHECK(F.SetCustomAllocator(NULL) == 0);
  CHECK(F.GetCustomAllocator() == first);
  return 0;
}
/* An object made under one allocator outlives the change to another. */
TEST(objects_outlive_a_change_of_allocator) {
  static int count;
  static TVMFFICustomAllocator own = {own_allocate, &count};
  Obj a = make_str(), b, c = make_error("k", "m"), d;
  CHECK(F.SetCustomAllocator(&own) == 0);
  b = make_str();
  d = make_error("k", "m");
  CHECK(F.ObjectDecRef(a) == 0 && F.ObjectDecRef(c) == 0);
  CHECK(F.SetCustomAllocator(NULL) == 0);
  CHECK(F.ObjectDecRef(b) == 0 && F.ObjectDecRef(d) == 0);
  return 0;
}

/* ---- opaque objects and functions ---- */

TEST(opaque_deleter_runs_once) {
  Obj o = make_opaque(&freed, count_free);
  TVMFFIAny view = any_obj(o), own = any_none();
  CHECK(F.AnyViewToOwnedAny(&view, &own) == 0);
  CHECK(F.ObjectDecRef(o) == 0 && freed == 0);
  CHECK(F.ObjectIncRef(o) == 0 && F.ObjectDecRef(o) == 0 && freed == 0);
  any_drop(&own);
  CHECK(freed == 1 && freed_handle == &freed);
  return 0;
}
TEST(function_deleter_runs_once) {
  static int self[2];
  TVMFFIObjectHandle f = NULL;
  CHECK(F.FunctionCreate(self, safe_answer, count_free, &f) == 0);
  CHECK(F.ObjectDecRef(f) == 0);
  CHECK(freed == 1 && freed_handle == self);
  return 0;
}
TEST(moved_reference_is_not_counted) {
  TVMFFIObject *o = make_opaque(&freed, count_free);
  TVMFFIAny view = any_of(kTVMFFIObjectRValueRef, &o), own = any_none();
  Obj was = o;
  CHECK(F.AnyViewToOwnedAny(&view, &own) == 0);
  CHECK(o == NULL && own.v_obj == was && STRONG(was) == 1);
  any_drop(&own);
  CHECK(freed == 1);
  return 0;
}
static Obj counted_function(void *self) {
  TVMFFIObjectHandle f = NULL;
  int rc = F.FunctionCreate(self, safe_answer, count_free, &f);
  return (Obj)need(rc, f);
}
TEST(override_releases_the_old_function_once) {
  static int one, two;
  Obj a = counted_function(&one), b = counted_function(&two);
  TVMFFIObjectHandle got = NULL;
  CHECK(F.FunctionSetGlobal(STR("l.f"), a, 0) == 0);
  CHECK(F.ObjectDecRef(a) == 0 && freed == 0);
  CHECK(F.FunctionGetGlobal(STR("l.f"), &got) == 0 && got == a);
  CHECK(F.FunctionSetGlobal(STR("l.f"), b, 1) == 0);
  CHECK(freed == 0); /* it is still held by who fetched it */
  CHECK(F.ObjectDecRef(got) == 0);
  CHECK(freed == 1 && freed_handle == &one);
  CHECK(F.FunctionSetGlobal(STR("l.f"), b, 1) == 0); /* by itself */
  CHECK(F.ObjectDecRef(b) == 0 && freed == 1);
  a = make_function();
  CHECK(F.FunctionSetGlobal(STR("l.f"), a, 1) == 0);
  CHECK(freed == 2 && freed_handle == &two);
  return 0;
}
TEST(refused_registration_keeps_no_reference) {
  Obj a = make_function(), b = counted_function(&freed), e;
  TVMFFIMethodInfo m;
  CHECK(F.FunctionSetGlobal(STR("l.f"), a, 0) == 0);
  CHECK(F.FunctionSetGlobal(STR("l.f"), b, 0) != 0);
  e = error_take();
  CHECK(e != NULL && F.ObjectDecRef(e) == 0);
  CHECK(STRONG(b) == 1);
  memset(&m, 0, sizeof m);
  m.name = text_of("l.f");
  m.doc = text_of("a doc");
  m.method = any_obj(b);
  CHECK(F.FunctionSetGlobalFromMethodInfo(&m, 0) != 0);
  e = error_take();
  CHECK(e != NULL && F.ObjectDecRef(e) == 0);
  CHECK(STRONG(b) == 1);
  CHECK(F.ObjectDecRef(b) == 0 && freed == 1);
  return 0;
}
TEST(removal_releases_the_function) {
  TVMFFIObjectHandle remove = NULL, got = NULL;
  TVMFFIAny arg = any_of(kTVMFFIRawStr, (void *)"l.f"), out = any_none();
  Obj a = counted_function(&freed);
  CHECK(F.FunctionSetGlobal(STR("l.f"), a, 0) == 0);
  CHECK(F.ObjectDecRef(a) == 0);
  CHECK(F.FunctionGetGlobal(STR("ffi.FunctionRemoveGlobal"), &remove) == 0);
  CHECK(remove != NULL);
  CHECK(F.FunctionCall(remove, &arg, 1, &out) == 0 && out.v_int64 == 1);
  CHECK(freed == 1);
  out = any_none();
  CHECK(F.FunctionCall(remove, &arg, 1, &out) == 0 && out.v_int64 == 0);
  CHECK(F.FunctionGetGlobal(STR("l.f"), &got) == 0 && got == NULL);
  return 0;
}
/* A deleter that goes back into the table that is just dropping it. */
static void delete_by_replacing(void *self) {
  TVMFFIObjectHandle f = NULL;
  Obj e, plain = make_function();
  ++freed;
  F.FunctionGetGlobal(STR("l.f"), &f);
  if (f != NULL) F.ObjectDecRef(f);
  if (self != NULL) F.FunctionSetGlobal(STR("l.f"), plain, 1);
  F.FunctionSetGlobal(STR("l.other"), plain, 1);
  F.ObjectDecRef(plain);
  make_type("l.made.while.deleting");
  F.ErrorSetRaisedFromCStr("ValueError", "raised while deleting");
  e = error_take();
  F.ObjectDecRef(e);
}
TEST(deleter_may_use_the_tables) {
  TVMFFIObjectHandle a = NULL, b = NULL;
  Obj c = make_function();
  CHECK(F.FunctionCreate(&freed, safe_answer, delete_by_replacing, &a) == 0);
  CHECK(F.FunctionCreate(&freed, safe_answer, delete_by_replacing, &b) == 0);
  CHECK(F.FunctionSetGlobal(STR("l.f"), a, 0) == 0);
  CHECK(F.ObjectDecRef(a) == 0);
  CHECK(F.FunctionSetGlobal(STR("l.f"), b, 1) == 0);
  CHECK(freed == 1);
  CHECK(F.ObjectDecRef(b) == 0);
  CHECK(F.FunctionSetGlobal(STR("l.f"), c, 1) == 0);
  CHECK(freed == 2);
  return 0;
}
TEST(function_may_remove_itself_while_it_runs) {
  Obj a = counted_function(&freed);
  TVMFFIObjectHandle got = NULL;
  TVMFFIAny out = any_none();
  CHECK(F.FunctionSetGlobal(STR("l.f"), a, 0) == 0);
  CHECK(F.ObjectDecRef(a) == 0);
  CHECK(F.FunctionGetGlobal(STR("l.f"), &got) == 0);
  CHECK(F.FunctionSetGlobal(STR("l.f"), make_function(), 1) == 0);
  CHECK(F.FunctionCall(got, NULL, 0, &out) == 0 && freed == 0);
  CHECK(F.ObjectDecRef(got) == 0 && freed == 1);
  return 0;
}

/* ---- what the registries keep ---- */

static int get_field(void *field, TVMFFIAny *result) {
  (void)field, (void)result;
  return 0;
}
TEST(registries_keep_what_they_are_given) {
  int32_t t = make_type("l.T");
  Obj setter = make_function(), value = make_opaque(&freed, count_free);
  Obj method = make_function(), attribute = make_opaque(&freed, count_free);
  TVMFFIFieldInfo f;
  TVMFFIMethodInfo m;
  TVMFFIAny v = any_obj(attribute);
  char name[] = "a name that is overwritten", doc[] = "so is the text";
  memset(&f, 0, sizeof f);
  f.name = text_of(name);
  f.doc = text_of(doc);
  f.metadata = text_of(doc);
  f.getter = get_field;
  f.setter = setter;
  f.flags = kTVMFFIFieldFlagBitMaskHasDefault |
            kTVMFFIFieldFlagBitSetterIsFunctionObj;
  f.default_value_or_factory = any_obj(value);
  CHECK(F.TypeRegisterField(t, &f) == 0);
  memset(&m, 0, sizeof m);
  m.name = text_of(name);
  m.doc = text_of(doc);
  m.metadata = text_of(doc);
  m.method = any_obj(method);
  CHECK(F.TypeRegisterMethod(t, &m) == 0);
  CHECK(F.TypeRegisterAttr(t, STR(name), &v) == 0);
  memset(name, '#', sizeof name - 1);
  memset(doc, '#', sizeof doc - 1);
  CHECK(STRONG(setter) == 2 && STRONG(value) == 2 && STRONG(method) == 2);
  CHECK(STRONG(attribute) == 2);
  CHECK(F.ObjectDecRef(setter) == 0 && F.ObjectDecRef(value) == 0);
  CHECK(F.ObjectDecRef(method) == 0 && F.ObjectDecRef(attribute) == 0);
  CHECK(freed == 0);
  CHECK(memcmp(F.GetTypeInfo(t)->fields[0].name.data, "a name", 6) == 0);
  CHECK(memcmp(F.GetTypeInfo(t)->fields[0].doc.data, "so is", 5) == 0);
  CHECK(memcmp(F.GetTypeInfo(t)->methods[0].metadata.data, "so is", 5) == 0);
  CHECK(F.GetTypeAttrColumn(STR("a name that is overwritten")) != NULL);
  return 0;
}
TEST(refused_members_keep_no_reference) {
  int32_t t = make_type("l.T");
  Obj value = make_opaque(&freed, count_free), setter = make_function(), e;
  TVMFFIFieldInfo f;
  TVMFFIAny v = any_obj(value);
  memset(&f, 0, sizeof f);
  f.name = text_of("field");
  f.getter = get_field;
  CHECK(F.TypeRegisterField(t, &f) == 0);
  f.offset = 8;
  f.setter = setter;
  f.flags = kTVMFFIFieldFlagBitMaskHasDefault |
            kTVMFFIFieldFlagBitSetterIsFunctionObj;
  f.default_value_or_factory = any_obj(value);
  CHECK(F.TypeRegisterField(t, &f) != 0);
  e = error_take();
  CHECK(e != NULL && F.ObjectDecRef(e) == 0);
  CHECK(STRONG(value) == 1 && STRONG(setter) == 1);
  CHECK(F.TypeRegisterAttr(t, STR("l.attr"), &v) == 0);
  CHECK(STRONG(value) == 2);
  v = any_int(1);
  CHECK(F.TypeRegisterAttr(t, STR("l.attr"), &v) != 0);
  e = error_take();
  CHECK(e != NULL && F.ObjectDecRef(e) == 0);
  CHECK(STRONG(value) == 2 && freed == 0);
  return 0;
}
/* Earlier answers stay valid when the tables grow. */
TEST(table_pointers_stay_valid) {
  int32_t t = make_type("l.T"), i;
  const TVMFFITypeInfo *info = F.GetTypeInfo(t);
  TVMFFIAny v = any_int(5), none = any_none();
  const TVMFFITypeAttrColumn *column;
  CHECK(F.TypeRegisterAttr(t, STR("l.attr"), &v) == 0);
  column = F.GetTypeAttrColumn(STR("l.attr"));
  for (i = 0; i < 5000; ++i) {
    char name[32];
    sprintf(name, "l.T.%d", i);
    CHECK(make_type(name) > 0);
    CHECK(F.TypeRegisterAttr(kTVMFFINone, STR(name), &none) == 0);
    CHECK(F.TypeRegisterAttr(t + 1 + i, STR("l.attr"), &v) == 0);
  }
  CHECK(F.GetTypeInfo(t) == info && info->type_index == t);
  CHECK(F.GetTypeAttrColumn(STR("l.attr")) == column);
  CHECK(column->data[t - column->begin_index].v_int64 == 5);
  CHECK(column->data[t + 5000 - column->begin_index].v_int64 == 5);
  return 0;
}

/* ---- tensors ---- */

TEST(tensor_keeps_its_source) {
  struct sample *s = sample_new();
  TVMFFIObjectHandle t = NULL, view = NULL, view2 = NULL;
  DLManagedTensor *d = NULL;
  DLManagedTensorVersioned *v = NULL;
  CHECK(F.TensorFromDLPack(&s->legacy, 0, 0, &t) == 0);
  CHECK(F.TensorCreateUnsafeView(t, tensor_cell(t), &view) == 0);
  CHECK(F.TensorCreateUnsafeView(view, tensor_cell(t), &view2) == 0);
  CHECK(F.TensorToDLPack(view2, &d) == 0);
  CHECK(F.TensorToDLPackVersioned(view, &v) == 0);
  CHECK(F.ObjectDecRef(t) == 0 && F.ObjectDecRef(view2) == 0);
  CHECK(F.ObjectDecRef(view) == 0);
  CHECK(sample_deleted == 0);
  CHECK(d->dl_tensor.shape[1] == 3 && v->dl_tensor.strides[0] == 3);
  d->deleter(d);
  CHECK(sample_deleted == 0);
  v->deleter(v);
  CHECK(sample_deleted == 1);
  return 0;
}
TEST(refused_import_leaves_the_tensor_to_its_owner) {
  struct sample *s = sample_new();
  TVMFFIObjectHandle t = NULL;
  Obj e;
  s->strides[0] = 9;
  CHECK(F.TensorFromDLPack(&s->legacy, 0, 1, &t) != 0);
  e = error_take();
  CHECK(e != NULL && F.ObjectDecRef(e) == 0);
  CHECK(F.TensorFromDLPackVersioned(&s->versioned, 0, 1, &t) != 0);
  e = error_take();
  CHECK(e != NULL && F.ObjectDecRef(e) == 0);
  CHECK(sample_deleted == 0 && t == NULL);
  CHECK(F.TensorFromDLPack(&s->legacy, 0, 0, &t) == 0);
  CHECK(F.ObjectDecRef(t) == 0 && sample_deleted == 1);
  return 0;
}
static int env_alloc(DLTensor *prototype, DLManagedTensorVersioned **out,
                     void *context,
                     void (*raise)(void *, const char *, const char *)) {
  (void)prototype, (void)context, (void)raise;
  *out = &sample_new()->versioned;
  return 0;
}
TEST(allocated_tensor_is_freed_by_its_deleter) {
  struct sample *s = sample_new();
  TVMFFIObjectHandle t = NULL;
  CHECK(F.EnvSetDLPackManagedTensorAllocator(env_alloc, 0, NULL) == 0);
  CHECK(F.EnvTensorAlloc(&s->legacy.dl_tensor, &t) == 0);
  CHECK(sample_deleted == 0);
  CHECK(F.ObjectDecRef(t) == 0 && sample_deleted == 1);
  return 0;
}

/* ---- errors ---- */

static Obj error_with(Obj cause, Obj context) {
  TVMFFIObjectHandle e = NULL;
  int rc = F.ErrorCreateWithCauseAndExtraContext(STR("ValueError"), STR("m"),
                                                 STR("b"), cause, context, &e);
  return (Obj)need(rc, e);
}
TEST(error_releases_cause_and_context) {
  Obj context = make_opaque(&freed, count_free);
  Obj cause = error_with(NULL, make_opaque(&freed, count_free));
  Obj e = error_with(cause, context);
  CHECK(STRONG(cause) == 2 && STRONG(context) == 2);
  F.ObjectDecRef(error_cell(cause)->extra_context); /* ours is dropped */
  CHECK(F.ObjectDecRef(cause) == 0 && F.ObjectDecRef(context) == 0);
  CHECK(freed == 0);
  CHECK(F.ObjectDecRef(e) == 0);
  CHECK(freed == 2);
  return 0;
}
static Obj watched_error(void) {
  Obj context = make_opaque(&freed, count_free);
  Obj e = error_with(NULL, context);
  F.ObjectDecRef(context);
  return e;
}
TEST(slot_owns_the_error) {
  Obj e = watched_error();
  F.ErrorSetRaised(e);
  CHECK(F.ObjectDecRef(e) == 0 && freed == 0);
  CHECK(error_take() == e && freed == 0);
  CHECK(F.ObjectDecRef(e) == 0 && freed == 1);
  return 0;
}
TEST(slot_drops_what_is_replaced) {
  Obj e = watched_error();
  int i;
  F.ErrorSetRaised(e);
  F.ObjectDecRef(e);
  F.ErrorSetRaisedFromCStr("ValueError", "x");
  CHECK(freed == 1);
  for (i = 0; i < 3; ++i) {
    e = watched_error();
    F.ErrorSetRaised(e);
    F.ObjectDecRef(e);
    CHECK(freed == 1 + i);
  }
  F.ErrorSetRaised(NULL);
  CHECK(freed == 4);
  return 0;
}
/* The context's deleter raises while its error is being replaced. */
static void raise_in_deleter(void *self) {
  (void)self;
  ++freed;
  F.ErrorSetRaisedFromCStr("KeyError", "raised by a deleter");
}
TEST(deleter_of_a_replaced_error_may_raise) {
  Obj context = make_opaque(NULL, raise_in_deleter);
  Obj e = error_with(NULL, context);
  F.ObjectDecRef(context);
  F.ErrorSetRaised(e);
  F.ObjectDecRef(e);
  F.ErrorSetRaisedFromCStr("ValueError", "replaces it");
  CHECK(freed == 1);
  e = error_take();
  CHECK(e != NULL && (error_is(e, "ValueError") || error_is(e, "KeyError")));
  CHECK(STRONG(e) == 1);
  return F.ObjectDecRef(e);
}
static void *raise_and_exit(void *arg) {
  Obj e = watched_error();
  (void)arg;
  F.ErrorSetRaised(e);
  F.ObjectDecRef(e);
  return NULL;
}
TEST(thread_exit_releases_its_error) {
  int i;
  for (i = 1; i <= 50; ++i) {
    pthread_t t;
    CHECK(pthread_create(&t, NULL, raise_and_exit, NULL) == 0);
    CHECK(pthread_join(t, NULL) == 0);
    CHECK(freed == i);
  }
  return 0;
}
static void *raise_twice_and_exit(void *arg) {
  Obj context = make_opaque(NULL, raise_in_deleter);
  Obj e = error_with(NULL, context);
  (void)arg;
  F.ObjectDecRef(context);
  F.ErrorSetRaised(e);
  F.ObjectDecRef(e);
  return NULL;
}
TEST(deleter_at_thread_exit_may_use_the_library) {
  int i;
  for (i = 1; i <= 50; ++i) {
    pthread_t t;
    CHECK(pthread_create(&t, NULL, raise_twice_and_exit, NULL) == 0);
    CHECK(pthread_join(t, NULL) == 0);
    CHECK(freed == i);
  }
  return 0;
}
#if !SANITIZED /* a sanitizer keeps freed memory for a while */
static void *use_and_exit(void *arg) {
  DLDataType d;
  (void)arg;
  F.EnvSetStream(kDLCUDA, 5, &freed, NULL);
  F.EnvSetDLPackManagedTensorAllocator(env_alloc, 0, NULL);
  F.Backtrace("f.c", 1, "f", 1);
  F.DataTypeFromString(STR("nonsense"), &d);
  return NULL;
}
static long resident(void) {
  long pages = 0, total;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL) return 0;
  if (fscanf(f, "%ld %ld", &total, &pages) != 2) pages = 0;
  fclose(f);
  return pages;
}
TEST(threads_leave_nothing_behind) {
  long before = 0, after;
  int i;
  for (i = 0; i < 3000; ++i) {
    pthread_t t;
    CHECK(pthread_create(&t, NULL, use_and_exit, NULL) == 0);
    CHECK(pthread_join(t, NULL) == 0);
    if (i == 500) before = resident();
  }
  after = resident();
  CHECK(after - before < 100); /* under 400 KB for 2500 threads */
  return 0;
}
/* Threads that have no object any more keep little of what they used. */
static pthread_barrier_t idle;
static void *use_much_and_wait(void *arg) {
  enum { MANY = 20000 };
  Obj *o = (Obj *)malloc(MANY * sizeof *o);
  int i;
  for (i = 0; o != NULL && i < MANY; ++i) o[i] = make_opaque(NULL, NULL);
  for (i = 0; o != NULL && i < MANY; ++i) F.ObjectDecRef(o[i]);
  free(o);
  pthread_barrier_wait(&idle);
  pthread_barrier_wait(&idle);
  return arg;
}
TEST(idle_threads_keep_little) {
  enum { THREADS = 200 };
  static pthread_t t[THREADS];
  long before = resident(), after;
  int i;
  CHECK(pthread_barrier_init(&idle, NULL, THREADS + 1) == 0);
  for (i = 0; i < THREADS; ++i)
    CHECK(pthread_create(&t[i], NULL, use_much_and_wait, NULL) == 0);
  pthread_barrier_wait(&idle);
  after = resident();
  pthread_barrier_wait(&idle);
  for (i = 0; i < THREADS; ++i) CHECK(pthread_join(t[i], NULL) == 0);
  CHECK(after - before < 100 * 256); /* 100 MB; 1 MB each would be 200 */
  return 0;
}
#endif
TEST(backtrace_lasts_until_the_next_call) {
  const TVMFFIByteArray *b = F.Backtrace("file.c", 7, "here", 1);
  Obj e = make_error("k", "m");
  CHECK(b != NULL);
  if (b->size != 0) CHECK(b->data[0] == ' ');
  return F.ObjectDecRef(e);
}

/* ---- deleters that do not return ---- */

static jmp_buf away;
static void jump_away(void *handle) {
  (void)handle;
  longjmp(away, 1);
}
static void drop(void *handle) { F.ObjectDecRef((Obj)handle); }
/* Releases a chain whose innermost deleter jumps out of all. */
static __attribute__((noinline)) int release_and_jump(int depth) {
  Obj o = make_opaque(NULL, jump_away);
  while (--depth > 0) o = make_opaque(o, drop);
  if (setjmp(away) == 0) {
    F.ObjectDecRef(o);
    return -1;
  }
  return 0;
}
/* One object, and a chain that is deeper than the stack could go, with and
 * without weak references. */
static __attribute__((noinline)) int all_dies(void) {
  static Obj weak[100000];
  int i, before = freed;
  Obj o = make_opaque(NULL, count_free);
  CHECK(F.ObjectDecRef(o) == 0);
  CHECK(freed == before + 1);
  o = make_opaque(NULL, count_free);
  for (i = 0; i < 100000; ++i) o = make_opaque(o, drop);
  CHECK(F.ObjectDecRef(o) == 0);
  CHECK(freed == before + 2);
  o = make_opaque(NULL, count_free);
  for (i = 0; i < 100000; ++i) {
    o = weak[i] = make_opaque(o, drop);
    __atomic_fetch_add(&o->combined_ref_count, (uint64_t)1 << 32,
                       __ATOMIC_RELAXED);
  }
  CHECK(F.ObjectDecRef(o) == 0);
  CHECK(freed == before + 3);
  for (i = 0; i < 100000; ++i) {
    CHECK(STRONG(weak[i]) == 0 && WEAK(weak[i]) == 1);
    drop_weak(weak[i]);
  }
  return 0;
}
static __attribute__((noinline)) int all_dies_below(void) {
  volatile char room[20000];
  room[0] = 0;
  return all_dies() + room[0];
}
TEST(a_deleter_that_jumps_out) {
  static const int depths[] = {1, 2, 31, 32, 33, 50};
  size_t i;
  int k;
  for (i = 0; i < sizeof depths / sizeof *depths; ++i) {
    for (k = 0; k < 40; ++k) CHECK(release_and_jump(depths[i]) == 0);
    if (all_dies() || all_dies_below()) return -1;
  }
  return 0;
}
static void *jump_often(void *arg) {
  int k;
  for (k = 0; k < 40; ++k)
    if (release_and_jump(50) != 0) return arg;
  return all_dies() ? arg : NULL;
}
TEST(a_deleter_that_jumps_out_in_a_thread) {
  pthread_t t;
  void *result = &t;
  CHECK(pthread_create(&t, NULL, jump_often, &away) == 0);
  CHECK(pthread_join(t, &result) == 0);
  CHECK(result == NULL);
  return 0;
}
/* A thread that ends inside a deleter destroys what had to wait for it. */
static void exit_thread(void *handle) {
  (void)handle;
  pthread_exit(NULL);
}
static void drop_both(void *handle) {
  Obj *pair = (Obj *)handle;
  F.ObjectDecRef(pair[0]);
  F.ObjectDecRef(pair[1]);
}
static void *release_and_exit(void *arg) {
  static Obj pair[2];
  Obj o;
  int i;
  pair[0] = make_opaque(NULL, count_free);
  pair[1] = make_opaque(NULL, exit_thread);
  /* an error in the thread's slot asks to be told of the thread's end */
  F.ErrorSetRaisedFromCStr("ValueError", "released with the thread");
  o = make_opaque(pair, drop_both);
  for (i = 0; i < 31; ++i) o = make_opaque(o, drop);
  F.ObjectDecRef(o);
  return arg;
}
TEST(a_deleter_that_ends_its_thread) {
  int i;
  for (i = 1; i <= 50; ++i) {
    pthread_t t;
    CHECK(pthread_create(&t, NULL, release_and_exit, NULL) == 0);
    CHECK(pthread_join(t, NULL) == 0);
    CHECK(freed == i);
  }
  return all_dies();
}

/* ---- running ---- */

static void run(const struct test *t) {
  char text[64] = "";
  const char *outcome = "ok", *detail = report->check;
  int status;
  pid_t pid;
  memset(report, 0, sizeof *report);
  fflush(stdout);
  pid = fork();
  if (pid == 0) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    alarm(60);
    if (t->run() != 0 && report->check[0] == 0) broken("it fails", __LINE__);
    {
      Obj e = error_take();
      if (e != NULL && report->check[0] == 0) {
        broken("no error is left in the slot", __LINE__);
      }
      if (e != NULL) F.ObjectDecRef(e);
    }
    report->ended = 1;
    _exit(0);
  }
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!report->ended || status != 0) {
    outcome = "crash";
    detail = text;
    snprintf(text, sizeof text, "%s",
             WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exits");
  } else if (report->check[0] != 0) {
    outcome = "wrong";
  }
  printf("%s\tholds\t%s\t%s\n", t->name, outcome, detail);
}

int main(int argc, char **argv) {
  int i;
  if (argc < 2) return 2;
  robust_open(argv[1]);
  report = (struct report *)mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (i = 0; i < num_tests; ++i) {
    if (argc < 3 || strstr(tests[i].name, argv[2])) run(&tests[i]);
  }
  return 0;
}
