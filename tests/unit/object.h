/* ======== Objects: counts, destruction, allocators, kept memory =========== */

#pragma once

#include "harness.h"

#if !TEST_NO_OBJECTS
/* An object of this file: it says which flags its deleter gets. */
typedef struct {
  TVMFFIObject base;
  TVMFFIObjectHandle held;
} test_object;

static void test_object_deleter(void *self, int flags) {
  (void)self;
  test_say((char)('0' + flags));
}

static void test_object_init(test_object *o, void (*deleter)(void *, int)) {
  memset((void *)o, 0, sizeof(*o));
  o->base.combined_ref_count = TVMFFI_I_BOTH_ONE;
  o->base.type_index = kTVMFFIObject;
  o->base.deleter = deleter;
}

static void test_counts(TVMFFI_HERE) {
  test_object o;
  test_object_init(&o, test_object_deleter);
  tvmffi_retain(&o);
  CHECK(test_strong(&o) == 2 && test_weak(&o) == 1);
  tvmffi_release(&o);
  CHECK_LOG("");
  tvmffi_release(&o);
  CHECK_LOG("3");
  test_object_init(&o, test_object_deleter);
  tvmffi_weak_retain(&o);
  CHECK(test_strong(&o) == 1 && test_weak(&o) == 2);
  CHECK(tvmffi_weak_lock(&o));
  CHECK(test_strong(&o) == 2);
  tvmffi_release(&o);
  tvmffi_release(&o);
  CHECK_LOG("1");
  CHECK(test_strong(&o) == 0 && test_weak(&o) == 1);
  CHECK(!tvmffi_weak_lock(&o));
  tvmffi_weak_retain(&o);
  tvmffi_weak_release(&o);
  CHECK_LOG("");
  tvmffi_weak_release(&o);
  CHECK_LOG("2");
  test_object_init(&o, test_object_deleter);
  tvmffi_weak_retain(&o);
  tvmffi_weak_release(&o);
  OK(TVMFFIObjectIncRef(&o));
  OK(TVMFFIObjectDecRef(&o));
  CHECK_LOG("");
  OK(TVMFFIObjectDecRef(&o));
  CHECK_LOG("3");
  OK(TVMFFIObjectDecRef(NULL));
  FAILS(TVMFFIObjectIncRef(NULL), "ValueError",
        TEST_STRING(TVMFFIObjectIncRef) ": obj must not be NULL");
}

/* Objects without a deleter, static ones say, may be released. */
static void test_no_deleter(TVMFFI_HERE) {
  test_object o;
  test_object_init(&o, NULL);
  tvmffi_release(&o);
  test_object_init(&o, NULL);
  tvmffi_weak_retain(&o);
  tvmffi_release(&o);
  CHECK(test_strong(&o) == 0 && test_weak(&o) == 1);
  tvmffi_weak_release(&o);
  CHECK_INT(test_weak(&o), 0);
  tvmffi_release(NULL);
}

static void test_set_counts(test_object *o, uint32_t strong, uint32_t weak) {
  o->base.combined_ref_count = (uint64_t)weak << 32 | strong;
}

/* From 2^31 on a count is pinned, and the other half stays as it is. */
static void test_pinned_counts(TVMFFI_HERE) {
  const uint32_t pinned = 0xC0000000u;
  test_object o;
  int i;
  test_object_init(&o, test_object_deleter);
  test_set_counts(&o, 0x7FFFFFFEu, 5);
  tvmffi_retain(&o);
  tvmffi_retain(&o);
  CHECK(test_strong(&o) == 0x80000000u && test_weak(&o) == 5);
  tvmffi_retain(&o);
  CHECK(test_strong(&o) == pinned && test_weak(&o) == 5);
  for (i = 0; i < 10; ++i) tvmffi_release(&o);
  CHECK(test_strong(&o) == pinned && test_weak(&o) == 5);
  for (i = 0; i < 10; ++i) tvmffi_retain(&o);
  CHECK(test_strong(&o) == pinned && test_weak(&o) == 5);
  test_set_counts(&o, 0xFFFFFFF0u, 5);
  tvmffi_retain(&o);
  CHECK(test_strong(&o) == pinned && test_weak(&o) == 5);
  test_set_counts(&o, 0x80000000u, 5);
  tvmffi_release(&o);
  CHECK(test_strong(&o) == pinned && test_weak(&o) == 5);
  CHECK(tvmffi_weak_lock(&o));
  CHECK(test_strong(&o) == pinned && test_weak(&o) == 5);
  test_set_counts(&o, 0x7FFFFFFFu, 0x7FFFFFFFu); /* the largest that count */
  tvmffi_release(&o);
  tvmffi_weak_release(&o);
  CHECK(test_strong(&o) == 0x7FFFFFFEu && test_weak(&o) == 0x7FFFFFFEu);
  test_set_counts(&o, 3, 0x7FFFFFFFu);
  tvmffi_weak_retain(&o);
  tvmffi_weak_retain(&o);
  CHECK(test_strong(&o) == 3 && test_weak(&o) == pinned);
  tvmffi_weak_release(&o);
  CHECK(test_strong(&o) == 3 && test_weak(&o) == pinned);
  test_set_counts(&o, 1, 0xFFFFFFFEu);
  tvmffi_weak_retain(&o);
  CHECK(test_strong(&o) == 1 && test_weak(&o) == pinned);
  tvmffi_release(&o);
  CHECK_LOG("1");
  CHECK(test_strong(&o) == 0 && test_weak(&o) == pinned);
  CHECK(!tvmffi_weak_lock(&o));
}

static void test_opaque(TVMFFI_HERE) {
  static char letter[] = "x";
  TVMFFIObjectHandle o = NULL;
  OK(TVMFFIObjectCreateOpaque(letter, kTVMFFIOpaquePyObject, test_say_deleter,
                              &o));
  CHECK_INT(TVMFFIObjectGetTypeIndex(o), kTVMFFIOpaquePyObject);
  CHECK(TVMFFIOpaqueObjectGetCellPtr(o)->handle == letter);
  CHECK(((TVMFFIObject *)o)->__padding == 0);
  tvmffi_retain(o);
  tvmffi_release(o);
  CHECK_LOG("");
  tvmffi_release(o);
  CHECK_LOG("x");
  OK(TVMFFIObjectCreateOpaque(letter, kTVMFFIOpaquePyObject, test_say_deleter,
                              &o));
  tvmffi_weak_retain(o);
  tvmffi_release(o);
  CHECK_LOG("x");
  CHECK(!tvmffi_weak_lock(o));
  tvmffi_weak_release(o);
  CHECK_LOG("");
  OK(TVMFFIObjectCreateOpaque(NULL, kTVMFFIOpaquePyObject, NULL, &o));
  tvmffi_release(o);
  FAILS(TVMFFIObjectCreateOpaque(letter, kTVMFFIObject, NULL, &o),
        "RuntimeError", "Only kTVMFFIOpaquePyObject is supported for now");
  FAILS(TVMFFIObjectCreateOpaque(letter, kTVMFFIOpaquePyObject, NULL, NULL),
        "ValueError", NULL);
  CHECK_LOG("");
}

/* Destructions nest only so deep; what dies further down waits. */
#if TVMFFI_FREESTANDING
#define TEST_NESTED 4
#else
#define TEST_NESTED 32
#endif
static int test_depth, test_max_depth;

static void test_nesting_deleter(void *handle) {
  ++test_depth;
  if (test_depth > test_max_depth) test_max_depth = test_depth;
  test_say('(');
  tvmffi_release(handle);
  test_say(')');
  --test_depth;
}

static void test_nesting(TVMFFI_HERE) {
  TVMFFIObjectHandle o = NULL, last = NULL;
  int i;
  test_depth = test_max_depth = 0;
  for (i = 0; i < 3 * TEST_NESTED; ++i) {
    if (test_code(TVMFFIObjectCreateOpaque(last, kTVMFFIOpaquePyObject,
                                           test_nesting_deleter, &o),
                  __FILE__, __LINE__, "TVMFFIObjectCreateOpaque")) {
      tvmffi_release(last);
      test_log_size = 0;
      return;
    }
    last = o;
  }
  tvmffi_release(last);
  CHECK_INT(test_max_depth, TEST_NESTED);
  test_log_size = 0;
}

/* A weak reference to something in the middle does not stop the others. */
static void test_nesting_weak(TVMFFI_HERE) {
  TVMFFIObjectHandle inner = NULL, outer = NULL;
  test_depth = test_max_depth = 0;
  OK(TVMFFIObjectCreateOpaque(NULL, kTVMFFIOpaquePyObject, test_nesting_deleter,
                              &inner));
  OWN(inner);
  OK(TVMFFIObjectCreateOpaque(inner, kTVMFFIOpaquePyObject,
                              test_nesting_deleter, &outer));
  tvmffi_retain(inner); /* one is the test's, one the outer's */
  tvmffi_weak_retain(inner);
  test_drop(inner);
  tvmffi_release(outer);
  CHECK(!tvmffi_weak_lock(inner));
  tvmffi_weak_release(inner);
  CHECK_INT(test_max_depth, 2);
  CHECK_LOG("(())");
}

/* Makes an object of each type that holds others; the new one takes `held`. */
static TVMFFIObjectHandle test_holder(int kind, TVMFFIObjectHandle held) {
  TVMFFIByteArray text = TEXT("E"), empty = {NULL, 0};
  TVMFFIObjectHandle o = NULL;
  int code;
  if (kind == 0) {
    code = TVMFFIErrorCreateWithCauseAndExtraContext(&text, &empty, &empty,
                                                     NULL, held, &o);
    tvmffi_release(held);
    held = NULL;
  } else if (kind == 1) {
    code = TVMFFIFunctionCreate(held, test_echo_callback, tvmffi_release, &o);
  } else {
    code = TVMFFIObjectCreateOpaque(held, kTVMFFIOpaquePyObject, tvmffi_release,
                                    &o);
  }
  if (test_code(code, __FILE__, __LINE__, "a holder ")) {
    tvmffi_release(held);
    return NULL;
  }
  return o;
}

/* All of a long chain have weak references, which go before or after it.
   Destroying needs no memory. */
static void test_weak_chain(int n, int refused) {
  int i;
  TVMFFIObjectHandle last = NULL;
  TVMFFIObjectHandle *weak =
      (TVMFFIObjectHandle *)TEST_MALLOC((size_t)n * sizeof(last));
  if (!CHECK(weak != NULL)) return;
  for (i = 0; i < n; ++i) {
    last = test_holder(i % 3, last);
    if (!last) break;
    tvmffi_weak_retain(last);
    weak[i] = last;
  }
  n = i;
  for (i = 0; last && i < n; i += 7) tvmffi_weak_release(weak[i]);
  if (refused) {
    test_number = 0;
    test_refuse_all = 1;
    test_refuse_at = 1;
  }
  tvmffi_release(last);
  if (refused) {
    test_refuse_at = 0;
    CHECK_INT(test_refused, 0);
  }
  for (i = 0; i < n; ++i) {
    if (last && i % 7 == 0) continue;
    CHECK(!tvmffi_weak_lock(weak[i]));
    CHECK(((TVMFFIObject *)weak[i])->__padding == 0);
    tvmffi_weak_release(weak[i]);
  }
  TEST_FREE(weak);
}

static void test_long_weak_chain(TVMFFI_HERE) {
  test_weak_chain(test_scale(test_chain, 6), 0);
}

static void test_weak_chain_refused(TVMFFI_HERE) {
  if (!test_oom) test_weak_chain(test_chain, 1);
}

/* A client may put a deleter of its own before the runtime's. */
static void (*test_replaced_deleter)(void *, int);
static void test_own_deleter(void *self, int flags) {
  test_say((char)('0' + flags));
  test_replaced_deleter(self, flags);
}

static void test_replaced_deleters(TVMFFI_HERE) {
  TVMFFIObjectHandle last = NULL, weak = NULL;
  TVMFFIObject *o;
  int i;
  for (i = 0; i < 96; ++i) {
    last = test_holder(2, last);
    if (!last) break;
    if (i != 5 && i != 20) continue;
    o = (TVMFFIObject *)last;
    test_replaced_deleter = o->deleter;
    o->deleter = test_own_deleter;
    if (i != 20) continue;
    weak = last;
    tvmffi_weak_retain(weak);
  }
  tvmffi_release(last);
  if (last) CHECK_LOG("13");
  test_log_size = 0;
  if (!weak) return;
  CHECK(!tvmffi_weak_lock(weak));
  tvmffi_weak_release(weak);
  CHECK_LOG("2");
}

#if defined(__cplusplus) && defined(__cpp_exceptions)
/* Deleters that end with an exception: the innermost one of a chain throws, and
   the memory of those that it passes is not freed. */
enum { TEST_THROWN = 48 };
static TVMFFIObjectHandle test_thrown[TEST_THROWN];
static char test_has_returned[TEST_THROWN];

static void test_throwing_deleter(void *handle) {
  const size_t i = (size_t)((char *)handle - test_has_returned);
  if (!i) throw 7;
  tvmffi_release(test_thrown[i - 1]);
  test_has_returned[i] = 1;
}

static void test_throw(int n) {
  int i, caught = 0;
  for (i = 0; i < n; ++i) {
    test_has_returned[i] = 0;
    if (TVMFFIObjectCreateOpaque(&test_has_returned[i], kTVMFFIOpaquePyObject,
                                 test_throwing_deleter, &test_thrown[i])) {
      while (--i > 0) tvmffi_i_free(test_thrown[i]);
      FAILS(-1, "MemoryError", NULL);
      return;
    }
  }
  try {
    tvmffi_release(test_thrown[n - 1]);
  } catch (int) {
    caught = 1;
  }
  CHECK(caught);
  for (i = 0; i < n; ++i)
    if (!test_has_returned[i]) tvmffi_i_free(test_thrown[i]);
}

/* An object ends at once, and a chain at its depth, further down the stack. */
static void test_end_below(int height) {
  volatile char room[64];
  TVMFFIObjectHandle o = NULL;
  room[0] = room[1] = 0;
  if (height > 0) {
    test_end_below(height - 1);
    ++room[height % 2]; /* no tail call */
    return;
  }
  OK(TVMFFIObjectCreateOpaque((void *)(uintptr_t) "x", kTVMFFIOpaquePyObject,
                              test_say_deleter, &o));
  tvmffi_release(o);
  CHECK_LOG("x");
  test_weak_chain(test_chain < 20000 ? test_chain : 20000, 0);
}

static void test_thrown_deleters(TVMFFI_HERE) {
  static const int depths[] = {1, 2, 31, 32, 33, TEST_THROWN};
  static const int heights[] = {0, 1, 200};
  int i, k, n;
  if (test_oom) return;
  for (i = 0; i < TEST_COUNT(depths); ++i) {
    for (k = 0; k < TEST_COUNT(heights); ++k) {
      for (n = 0; n < 40; ++n) test_throw(depths[i]);
      test_end_below(heights[k]);
    }
  }
  tvmffi_i_thread_destroying()->depth = 0; /* of frames that are gone */
}
#endif

static void test_long_chain(TVMFFI_HERE) {
  TVMFFIByteArray kind = TEXT("E"), empty = {NULL, 0};
  TVMFFIObjectHandle last = NULL, next = NULL;
  int i, n = test_scale(test_chain, 5);
  for (i = 0; i < n; ++i) {
    if (test_code(TVMFFIErrorCreateWithCauseAndExtraContext(
                      &kind, &empty, &empty, last, NULL, &next),
                  __FILE__, __LINE__, "TVMFFIErrorCreateWithCause")) {
      tvmffi_release(last);
      return;
    }
    tvmffi_release(last);
    last = next;
  }
  CHECK_INT(test_strong(last), 1);
  tvmffi_release(last);
}

/* An object of a custom allocator, as clients make them. */
static void test_allocated_deleter(void *self, int flags) {
  test_say((char)('0' + flags));
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
    ((TVMFFIObjectAllocHeader *)self - 1)->delete_space(self);
}

static void test_default_allocator(TVMFFI_HERE) {
  static const size_t alignments[] = {0, 1, 8, 16, 32, 64, 128, 4096};
  static const size_t sizes[] = {0, 1, 24, 40, 1000};
  TVMFFICustomAllocator *a = TVMFFIGetCustomAllocator();
  TVMFFIObject *o;
  int i, k;
  for (i = 0; i < TEST_COUNT(alignments); ++i) {
    for (k = 0; k < TEST_COUNT(sizes); ++k) {
      size_t alignment = alignments[i] < 16 ? 16 : alignments[i];
      char *p = (char *)a->allocate(sizes[k], alignments[i], kTVMFFIObject,
                                    a->context);
      OK(p ? 0 : -1);
      CHECK_INT((uintptr_t)p % alignment, 0);
      memset(p, 1, sizes[k]);
      ((TVMFFIObjectAllocHeader *)(void *)p - 1)->delete_space(p);
    }
  }
  o = (TVMFFIObject *)a->allocate(sizeof(*o), 8, kTVMFFIObject, a->context);
  OK(o ? 0 : -1);
  memset((void *)o, 0, sizeof(*o));
  o->combined_ref_count = TVMFFI_I_BOTH_ONE;
  o->type_index = kTVMFFIObject;
  o->deleter = test_allocated_deleter;
  tvmffi_weak_retain(o);
  tvmffi_release(o);
  CHECK_LOG("1");
  tvmffi_weak_release(o);
  CHECK_LOG("2");
  tvmffi_i_default_delete(NULL);
  FAILS(a->allocate(8, 24, 0, NULL) == NULL, "ValueError",
        "cannot allocate 8 bytes aligned to 24");
  FAILS(a->allocate(8, (size_t)1 << (8 * sizeof(size_t) - 1), 0, NULL) == NULL,
        "ValueError", NULL);
  FAILS(a->allocate(8, (size_t)PTRDIFF_MAX / 4 + 1, 0, NULL) == NULL,
        "ValueError", NULL);
  FAILS(a->allocate(8, (size_t)PTRDIFF_MAX / 8 + 1, 0, NULL) == NULL,
        "MemoryError", NULL);
  FAILS(a->allocate(PTRDIFF_MAX / 4 + 1, 8, 0, NULL) == NULL, "ValueError",
        NULL);
  FAILS(a->allocate(PTRDIFF_MAX / 4, 8, 0, NULL) == NULL, "MemoryError", NULL);
}

static void *test_allocate(size_t size, size_t alignment, int32_t type_index,
                           void *context) {
  test_say(*(char *)context);
  return tvmffi_i_default_allocate(size, alignment, type_index, NULL);
}

static void test_custom_allocator(TVMFFI_HERE) {
  static char letter[] = "a";
  static TVMFFICustomAllocator mine = {test_allocate, letter};
  static TVMFFICustomAllocator broken = {NULL, NULL};
  TVMFFICustomAllocator *first = TVMFFIGetCustomAllocator(), *a;
  TVMFFIByteArray text = TEXT("a long string");
  TVMFFIAny any;
  void *p;
#if TVMFFI_DEBUG
  int64_t live;
#endif
  CHECK(first != NULL);
  OK(TVMFFISetCustomAllocator(&mine));
  a = TVMFFIGetCustomAllocator();
#if TVMFFI_DEBUG
  CHECK(a->context == &mine); /* a is the runtime's and tracks objects */
  live = tvmffi_live_count(kTVMFFIObject);
  OK(TVMFFISetCustomAllocator(a));
  CHECK(TVMFFIGetCustomAllocator() == a);
  OK(TVMFFISetCustomAllocator(&mine));
#endif
  CHECK((a == &mine) == !TVMFFI_DEBUG);
  CHECK(TVMFFIGetCustomAllocator() == a);
  p = a->allocate(64, 64, kTVMFFIObject, a->context);
#if TVMFFI_DEBUG
  CHECK_INT(tvmffi_live_count(kTVMFFIObject), live + (p != NULL));
#endif
  if (p) ((TVMFFIObjectAllocHeader *)p - 1)->delete_space(p);
#if TVMFFI_DEBUG
  CHECK_INT(tvmffi_live_count(kTVMFFIObject), live);
#endif
  CHECK_LOG("a");
  /* The runtime's own objects do not come from it. */
  if (!TVMFFIStringFromByteArray(&text, &any)) tvmffi_any_release(&any);
  CHECK_LOG("");
  CHECK_INT(TVMFFISetCustomAllocator(NULL), 0);
  CHECK(TVMFFIGetCustomAllocator() == first);
  tvmffi_error_clear();
  FAILS(TVMFFISetCustomAllocator(&broken), "ValueError",
        TEST_STRING(TVMFFISetCustomAllocator) ": allocator->allocate must not "
                                              "be NULL");
  CHECK(TVMFFIGetCustomAllocator() == first);
}

#if TVMFFI_I_POOL
enum { TEST_KEPT_KINDS = 13 };

/* Makes an object (owned by the caller) of one of the kinds whose memory is
   kept, or NULL. */
static TVMFFIObjectHandle test_make_kept(int kind) {
  static int64_t numbers[4] = {4, 3, 2, 1};
  static DLManagedTensor from;
  TVMFFIByteArray text = TEXT("a text that is somewhat longer than short ones");
  TVMFFIAny any = tvmffi_none();
  TVMFFIObjectHandle made = NULL;
  int code = 0;
  memset((void *)&from, 0, sizeof(from));
  from.dl_tensor.ndim = 3;
  from.dl_tensor.dtype.bits = 32;
  from.dl_tensor.dtype.lanes = 1;
  from.dl_tensor.shape = numbers;
  switch (kind) {
    case 0:
      code = TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &made);
      break;
    case 1:
      code = TVMFFIFunctionCreate(numbers, test_echo_callback, NULL, &made);
      break;
    case 2:
      code = TVMFFIObjectCreateOpaque(NULL, kTVMFFIOpaquePyObject, NULL, &made);
      break;
    case 3: code = TVMFFIErrorCreate(&text, &text, &text, &made); break;
    case 4: code = TVMFFITensorFromDLPack(&from, 0, 0, &made); break;
    case 5:
      from.dl_tensor.strides = numbers;
      code = TVMFFITensorFromDLPack(&from, 0, 0, &made);
      break;
    case 6:
      text.size = 40;
      code = TVMFFIBigIntFromByteArray(&text, &any);
      made = any.v_obj;
      break;
    case 7: {
      int64_t *to;
      made = tvmffi_i_new_shape(3, &to);
      break;
    }
#if !TVMFFI_NO_CONTAINERS
    case 8: {
      TVMFFIAny *items;
      made = tvmffi_i_new_array(8, &items);
      break;
    }
    case 9: made = tvmffi_i_new_list(0); break;
    case 10: made = tvmffi_i_new_map(kTVMFFIMap, 3); break;
    case 11: made = tvmffi_i_new_map(kTVMFFIDict, 6); break;
#endif
    default:
      code = TVMFFIStringFromByteArray(&text, &any);
      made = any.v_obj;
      break;
  }
  CHECK_INT(code, 0);
  return made;
}

/* The memory of a dead object becomes the next one's, of each kind. */
static void test_pool_reuse(TVMFFI_HERE) {
  tvmffi_i_pool *p = test_pool();
  int kind, i;
  if (test_oom) return;
  test_set_pool(1);
  tvmffi_release(test_make_kept(0));
  CHECK_INT(p->available, TVMFFI_I_POOL_SLICE);
  for (kind = 0; kind < TEST_KEPT_KINDS; ++kind) {
    TVMFFIObjectHandle o = test_make_kept(kind), again;
    size_t made, live;
    int32_t room;
    tvmffi_release(o);
    made = test_get(&test_made);
    live = test_get(&test_live);
    room = p->available;
    CHECK(room < TVMFFI_I_POOL_SLICE);
    for (i = 0; i < 3; ++i) {
      again = test_make_kept(kind);
      CHECK(again == o);
      CHECK(p->available > room);
      tvmffi_release(again);
      CHECK_INT(p->available, room);
    }
    CHECK_INT(test_get(&test_made), made);
    CHECK_INT(test_get(&test_live), live);
    CHECK(tvmffi_i_pool_flush(p) == 1);
    CHECK(tvmffi_i_pool_flush(p) == 0);
    CHECK_INT(p->available, TVMFFI_I_POOL_SLICE);
  }
}

/* The list that a block is in, or -1. */
static int test_pool_list(const void *block) {
  tvmffi_i_pool *p = test_pool();
  const void *b;
  int i;
  for (i = 0; i < TVMFFI_I_POOL_CLASSES; ++i)
    for (b = p->list[i]; b; b = *(void *const *)b)
      if (b == block) return i;
  return -1;
}

/* A client that writes into the public cell of an object does not make its
   block larger. */
static void test_pool_cells(TVMFFI_HERE) {
#if !TVMFFI_NO_CONTAINERS
  static TVMFFIAny none[40];
#endif
  static int64_t numbers[40];
  static char text[480];
  int kind, class_of_it, list, way;
  if (test_oom) return;
  test_set_pool(1);
  tvmffi_release(test_make_kept(0));
  for (way = 0; way < 2; ++way) {
    for (kind = 0; kind < TEST_KEPT_KINDS; ++kind) {
      TVMFFIObjectHandle o = test_make_kept(kind);
      tvmffi_release(o);
      class_of_it = test_pool_list(o);
      CHECK(class_of_it > 0);
      CHECK(test_make_kept(kind) == o);
      switch (TVMFFIObjectGetTypeIndex(o)) {
        case kTVMFFIError: {
          TVMFFIErrorCell *c = TVMFFIErrorGetCellPtr(o);
          TVMFFIByteArray *bytes = way ? &c->kind : &c->message;
          bytes->data = text;
          bytes->size = sizeof(text) / 2;
          break;
        }
        case kTVMFFITensor: {
          DLTensor *tensor = TVMFFITensorGetDLTensorPtr(o);
          tensor->ndim = 40;
          tensor->shape = numbers;
          if (way) tensor->strides = numbers;
          break;
        }
        case kTVMFFIShape: {
          TVMFFIShapeCell *c = TVMFFIShapeGetCellPtr(o);
          c->data = numbers;
          c->size = TEST_COUNT(numbers);
          break;
        }
        case kTVMFFIStr: {
          TVMFFIByteArray *bytes = TVMFFIBytesGetByteArrayPtr(o);
          bytes->data = text;
          bytes->size = sizeof(text) / 2;
          break;
        }
#if !TVMFFI_NO_CONTAINERS
        case kTVMFFIArray:
        case kTVMFFIList: {
          tvmffi_i_seq *q = (tvmffi_i_seq *)o;
          if (q->cell.data_deleter) q->cell.data_deleter(q->cell.data);
          q->cell.data = none;
          q->cell.data_deleter = NULL;
          q->cell.size = q->cell.capacity = 20;
          break;
        }
#endif
        default: break;
      }
      tvmffi_release(o);
      list = test_pool_list(o);
      CHECK(list == -1 || list == class_of_it);
      CHECK(tvmffi_i_pool_flush(test_pool()) >= 0);
    }
  }
}

/* Each size has a class whose blocks are less than 16 bytes larger. */
static void test_pool_classes(TVMFFI_HERE) {
  size_t size, most = TVMFFI_I_POOL_CLASSES * 16 - sizeof(void *);
  for (size = sizeof(void *) + 1; size <= most; ++size) {
    size_t i = tvmffi_i_pool_class(size), end = i * 16 + 16 - sizeof(void *);
    CHECK(i < TVMFFI_I_POOL_CLASSES && size <= end && end < size + 16);
  }
  CHECK(tvmffi_i_pool_class(most + 1) == TVMFFI_I_POOL_CLASSES);
}

/* Makes `n` functions, and lets the thread keep `most` units of memory. Returns
   the number of live blocks. */
static size_t test_limit_pool(TVMFFIObjectHandle *f, int n, int32_t most) {
  tvmffi_i_pool *p = test_pool();
  int i;
  test_set_pool(1);
  tvmffi_release(test_make_kept(0));
  for (i = 0; i < n; ++i) f[i] = test_make_kept(0);
  tvmffi_i_pool_left = 0;
  p->budget = p->available = most;
  return test_get(&test_live);
}

/* A thread keeps so much, and frees the rest. */
static void test_pool_bound(TVMFFI_HERE) {
  tvmffi_i_pool *p = test_pool();
  TVMFFIObjectHandle f[8];
  size_t live;
  int i, unit = (int)tvmffi_i_pool_class(sizeof(tvmffi_i_function_object));
  if (test_oom) return;
  live = test_limit_pool(f, TEST_COUNT(f), 3 * unit);
  for (i = 0; i < TEST_COUNT(f); ++i) tvmffi_release(f[i]);
  CHECK_INT(test_get(&test_live), live - (TEST_COUNT(f) - 3));
  CHECK_INT(p->available, 0);
  CHECK_INT(p->skip, 63 - (TEST_COUNT(f) - 4)); /* the fourth sets it */
  tvmffi_i_pool_left = TVMFFI_I_POOL_PROCESS;
  test_set_pool(0);
  CHECK_INT(test_get(&test_live), live - TEST_COUNT(f));
  tvmffi_release(test_make_kept(0));
  tvmffi_release(test_make_kept(0));
  CHECK_INT(test_get(&test_live), live - TEST_COUNT(f));
}

/* A cache that is full is empty again after another thread's trim, so the next
   block fits. */
static void test_pool_trimmed(TVMFFI_HERE) {
  tvmffi_i_pool *p = test_pool();
  TVMFFIObjectHandle f[4];
  size_t live;
  int i, unit = (int)tvmffi_i_pool_class(sizeof(tvmffi_i_function_object));
  if (test_oom) return;
  live = test_limit_pool(f, TEST_COUNT(f), 3 * unit);
  for (i = 0; i < 3; ++i) tvmffi_release(f[i]);
  CHECK_INT(p->available, 0);
  ++tvmffi_i_pool_trims;
  tvmffi_release(f[3]);
  CHECK_INT(test_get(&test_live), live - 3);
  CHECK_INT(p->available, 2 * unit);
  CHECK(p->list[unit] == f[3]);
  tvmffi_i_pool_left = TVMFFI_I_POOL_PROCESS;
  p->trims = 0; /* a cache that begins after a trim is not emptied by it */
  test_set_pool(1);
  tvmffi_release(test_make_kept(0));
  CHECK(p->trims == tvmffi_i_pool_trims);
  test_set_pool(0);
}

/* What was kept last takes the place of other classes' blocks, of as many as it
   needs. */
static void test_pool_evicts(TVMFFI_HERE) {
  tvmffi_i_pool *p = test_pool();
  TVMFFIObjectHandle f[6], text;
  size_t live, small = tvmffi_i_pool_class(sizeof(tvmffi_i_function_object));
  size_t large, i, freed;
  if (test_oom) return;
  test_set_pool(1);
  tvmffi_release(test_make_kept(0));
  text = test_make_kept(TEST_KEPT_KINDS - 1);
  for (i = 0; i < 6; ++i) f[i] = test_make_kept(0);
  live = test_get(&test_live);
  tvmffi_i_pool_left = 0;
  p->budget = p->available = (int32_t)(6 * small + 1);
  for (i = 0; i < 6; ++i) tvmffi_release(f[i]);
  CHECK_INT(test_get(&test_live), live);
  CHECK_INT(p->available, 1);
  tvmffi_release(text);
  for (large = 0; large < TVMFFI_I_POOL_CLASSES; ++large)
    if (large != small && p->list[large]) break;
  CHECK(large > small && large <= 6 * small);
  CHECK(p->list[large] == text);
  freed = (large - 1 + small - 1) / small;
  CHECK_INT(test_get(&test_live), live - freed);
  CHECK_INT(p->available, 1 + freed * small - large);
  CHECK(p->list[small] == f[5 - freed]);
  CHECK(test_make_kept(TEST_KEPT_KINDS - 1) == text);
  tvmffi_release(text);
  tvmffi_i_pool_left = TVMFFI_I_POOL_PROCESS;
}

/* A thread's budget follows what it keeps, within its own and the process's
   limit, and goes back with what it keeps. */
static void test_pool_budget(TVMFFI_HERE) {
  enum { MANY = 40000 };
  static TVMFFIObjectHandle f[MANY];
  tvmffi_i_pool *p = test_pool();
  const int32_t slice = TVMFFI_I_POOL_SLICE;
  int32_t unit = (int32_t)tvmffi_i_pool_class(sizeof(tvmffi_i_function_object));
  const int32_t n = 5 * slice / unit;
  uint64_t left;
  size_t live;
  int32_t i, k;
  if (test_oom) return;
  test_set_pool(1);
  left = tvmffi_i_pool_left;
  tvmffi_release(test_make_kept(0));
  CHECK_INT(p->budget, slice);
  live = test_get(&test_live);
  for (i = 0; i < n; ++i) f[i] = test_make_kept(0);
  for (i = 0; i < n; ++i) tvmffi_release(f[i]);
  CHECK_INT(p->budget, 5 * slice);
  CHECK_INT(tvmffi_i_pool_left, left - 4 * (uint64_t)slice);
  CHECK_INT(test_get(&test_live), live + (size_t)n);
  for (k = 0; k < 3; ++k) { /* blocks in use again need no budget */
    for (i = 0; i < n + 16 * k + 8; ++i) f[i] = test_make_kept(0);
    CHECK_INT(p->budget, 2 * slice);
    for (i = 0; i < n + 16 * k + 8; ++i) tvmffi_release(f[i]);
    CHECK(p->budget >= 5 * slice);
  }
  OK(tvmffi_memory_trim());
  CHECK_INT(p->budget, slice);
  CHECK(p->available <= slice && p->available > slice - 100);
  CHECK(test_get(&test_live) < live + 10);
  CHECK_INT(tvmffi_i_pool_left, left);
  tvmffi_i_pool_left = 2 * (uint64_t)slice + 5;
  for (i = 0; i < n; ++i) f[i] = test_make_kept(0);
  for (i = 0; i < n; ++i) tvmffi_release(f[i]);
  CHECK_INT(p->budget, 3 * slice);
  CHECK_INT(tvmffi_i_pool_left, 5);
  tvmffi_i_pool_left = left - 2 * (uint64_t)slice;
  for (i = 0; i < MANY; ++i) f[i] = test_make_kept(0);
  for (i = 0; i < MANY; ++i) tvmffi_release(f[i]);
  CHECK_INT(p->budget, TVMFFI_I_POOL_THREAD);
  ++tvmffi_i_pool_trims; /* as another thread does */
  tvmffi_i_free(tvmffi_i_pool_make(40));
  CHECK_INT(p->budget, slice);
  CHECK_INT(p->available, slice);
  test_set_pool(0);
  CHECK_INT(tvmffi_i_pool_left, left);
  CHECK_INT(p->budget, 0);
}

/* Where memory is refused, what is kept is given back, and asked for again. */
static void test_pool_refused(TVMFFI_HERE) {
  void *block;
  if (test_oom) return;
  test_set_pool(1);
  tvmffi_release(test_make_kept(0));
  tvmffi_release(test_make_kept(0));
  test_number = 0;
  test_refuse_all = 0;
  test_refuse_at = 1;
  block = tvmffi_i_alloc(5000);
  CHECK(block != NULL);
  tvmffi_i_free(block);
  CHECK_INT(test_pool()->available, TVMFFI_I_POOL_SLICE);
  test_number = 0;
  CHECK(tvmffi_i_alloc(5000) == NULL);
  test_refuse_at = 0;
  test_refused = 0;
}
#endif

static void test_no_frame(void *self, int flags) { (void)self, (void)flags; }

/* Which destructors an exception or longjmp has left is seen by the addresses
   of their frames on the stack, which grows downwards. */
static void test_left_destructors(TVMFFI_HERE) {
  static const struct {
    uintptr_t here;
    int32_t depth;
  } cases[] = {{1001, 0},
               {1000, 0},
               {999, TVMFFI_I_NESTED - 1},
               {900, TVMFFI_I_NESTED - 1},
               {899, TVMFFI_I_NESTED},
               {800, TVMFFI_I_NESTED},
               {799, 0}};
  const int strong = kTVMFFIObjectDeleterFlagBitMaskStrong;
  const int weak = kTVMFFIObjectDeleterFlagBitMaskWeak;
  void (*distant)(void *, int) = (void (*)(void *, int))(
      (uintptr_t)test_no_frame ^ ((uintptr_t)1 << (sizeof(distant) * 8 - 2)));
  tvmffi_i_destroying d;
  TVMFFIObject object;
  int i;
  memset((void *)&d, 0, sizeof(d));
  memset((void *)&object, 0, sizeof(object)); /* has no deleter to put off */
  d.frame[0] = 1000;
  d.frame[1] = 900;
  for (i = 0; i < TEST_COUNT(cases); ++i) {
    d.depth = TVMFFI_I_NESTED;
    CHECK_INT(tvmffi_i_begin_deep(&d, &object, strong, test_no_frame,
                                  cases[i].here),
              cases[i].depth);
    CHECK_INT(d.depth, cases[i].depth);
  }
  CHECK(!d.pending_destroy);
  /* Only a dead object whose content is still there can wait. */
  object.deleter = test_no_frame;
  object.combined_ref_count = TVMFFI_I_WEAK_ONE;
  d.depth = TVMFFI_I_NESTED;
  CHECK_INT(tvmffi_i_begin_deep(&d, &object, weak, test_no_frame, 850),
            TVMFFI_I_NESTED);
  object.deleter = distant;
  if (sizeof(distant) > 4) /* one that is too far away to be noted */
    CHECK_INT(tvmffi_i_begin_deep(&d, &object, strong, distant, 850),
              TVMFFI_I_NESTED);
  object.deleter = test_no_frame;
  CHECK(!d.pending_destroy);
  CHECK_INT(tvmffi_i_begin_deep(&d, &object, strong, test_no_frame, 850), -1);
  CHECK(d.pending_destroy == &object && test_weak(&object) == 2);
}
#endif

static const test_case test_object_cases[] = {
#if !TEST_NO_OBJECTS
    {"objects: counts and deleter flags", test_counts},
    {"objects: no deleter", test_no_deleter},
    {"objects: pinned counts", test_pinned_counts},
    {"objects: opaque", test_opaque},
    {"objects: destructions do not nest", test_nesting},
    {"objects: destruction with a weak reference", test_nesting_weak},
    {"objects: a long chain is destroyed", test_long_chain},
    {"objects: a long chain with weak references", test_long_weak_chain},
    {"objects: a chain destroyed without memory", test_weak_chain_refused},
    {"objects: deleters that a client replaces", test_replaced_deleters},
    {"objects: destructors that did not return", test_left_destructors},
#if defined(__cplusplus) && defined(__cpp_exceptions)
    {"objects: deleters that throw", test_thrown_deleters},
#endif
    {"objects: the default allocator", test_default_allocator},
    {"objects: a custom allocator", test_custom_allocator},
#if TVMFFI_I_POOL
    {"objects: memory is used again", test_pool_reuse},
    {"objects: cells that a client writes", test_pool_cells},
    {"objects: sizes of memory that is kept", test_pool_classes},
    {"objects: so much memory is kept", test_pool_bound},
    {"objects: kept memory that another thread trims", test_pool_trimmed},
    {"objects: budgets of kept memory", test_pool_budget},
    {"objects: kept memory is given back for other", test_pool_refused},
    {"objects: kept memory makes room for other", test_pool_evicts},
#endif
#endif
    {NULL, NULL}};
