/* ======== Threads: contention, and the end of threads ===================== */

#pragma once

#include "harness.h"
#include "type_field.h"
#include "expect.h"

#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
#if defined(__unix__)
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

typedef void (*test_work)(int id);
typedef struct {
  test_work work;
  int id;
  size_t *ready;
  size_t all;
} test_worker;

#if defined(__cplusplus)
extern "C" {
#endif
static void *test_run_worker(void *argument) {
  test_worker *w = (test_worker *)argument;
  (void)test_add(w->ready, 1);
  while (test_get(w->ready) < w->all) (void)sched_yield();
  w->work(w->id);
  return NULL;
}
#if defined(__cplusplus)
}
#endif

/* Runs work(0), work(1), ... at once, each in a thread of its own. */
static void test_parallel(test_work work) {
  pthread_t thread[TEST_THREADS];
  test_worker worker[TEST_THREADS];
  size_t ready = 0;
  int i, n = test_scale(TEST_THREADS, 2);
  for (i = 0; i < n; ++i) {
    worker[i].work = work;
    worker[i].id = i;
    worker[i].ready = &ready;
    worker[i].all = (size_t)n;
  }
  for (i = 0; i < n; ++i) {
    if (!CHECK(!pthread_create(&thread[i], NULL, test_run_worker, &worker[i])))
      (void)test_add(&ready, (size_t)(n - i));
    else
      continue;
    n = i;
  }
  for (i = 0; i < n; ++i) (void)pthread_join(thread[i], NULL);
}

static int test_rounds(int divisor) {
  int n = test_scale(TEST_ROUNDS, 2 * divisor) / divisor;
  return n ? n : 1;
}

/* Calls once(scope, first), once(scope, first + 1) and so on, with a new scope
   for each round. */
TEST_MAYBE void test_repeat(void (*once)(tvmffi_scope *, int), int first) {
  tvmffi_scope scope;
  int i, n = test_rounds(1);
  for (i = 0; i < n; ++i) {
    once(tvmffi_scope_open(&scope), first + i);
    tvmffi_scope_close(&scope);
  }
}

enum { TEST_NAMES = 4 };
static char test_shared_name[TEST_NAMES][64];

static void test_share_names(const char *prefix) {
  int i;
  for (i = 0; i < TEST_NAMES; ++i) {
    const char *name = test_fresh(prefix);
    (void)test_put(test_shared_name[i], 0, sizeof(test_shared_name[i]), name,
                   strlen(name));
  }
}

/* Some set, some remove, all look up and call: an answer is one that somebody
   set, and the function lives as long as the caller has it. */
static void test_globals_work(int id) {
  int i, n = test_rounds(1);
  for (i = 0; i < n; ++i) {
    const char *text = test_shared_name[(i + id) % TEST_NAMES];
    TVMFFIByteArray name = TEXT(text);
    TVMFFIObjectHandle f = NULL;
    if ((i + id) % 5 == 0) {
      OK(TVMFFIFunctionCreate((void *)(intptr_t)(id + 1), test_echo_callback,
                              NULL, &f));
      if (test_code(TVMFFIFunctionSetGlobal(&name, f, 1), __FILE__, __LINE__,
                    "TVMFFIFunctionSetGlobal ")) {
        tvmffi_release(f);
        return;
      }
      tvmffi_release(f);
    } else if ((i + id) % 17 == 0) {
      OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"),
                     tvmffi_out_any(NULL), tvmffi_str(text)));
    } else {
      TVMFFIAny result = tvmffi_none();
      OK(TVMFFIFunctionGetGlobal(&name, &f));
      if (!f) continue;
      CHECK_INT(TVMFFIFunctionCall(f, NULL, 0, &result), 0);
      CHECK(result.v_int64 >= 1 && result.v_int64 <= TEST_THREADS);
      tvmffi_release(f);
    }
  }
}

static void test_contend_globals(TVMFFI_HERE) {
  int i;
  test_share_names("unit.contended");
  test_parallel(test_globals_work);
  tvmffi_error_clear();
  for (i = 0; i < TEST_NAMES; ++i)
    OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                   tvmffi_str(test_shared_name[i])));
}

/* Names come and go, so that entries get one name after another. Each name has
   one function only, so no other may be found under it. */
enum { TEST_MANY_NAMES = 48 };
static TVMFFIObjectHandle test_name_function[TEST_MANY_NAMES];

static void test_numbered_name(char *name, int i) {
  char number[24], *digits = test_digits(number + sizeof(number), 100 + i);
  size_t at = test_put(name, 0, 32, "unit.comes.and.goes.", 20);
  (void)test_put(name, at, 32, digits, strlen(digits));
}

static void test_names_work(int id) {
  int i, n = test_rounds(1);
  uint32_t random = (uint32_t)id + 1;
  for (i = 0; i < n; ++i) {
    char text[32];
    TVMFFIByteArray name;
    TVMFFIObjectHandle f = NULL;
    int k;
    random = random * 1664525u + 1013904223u;
    k = (int)(random >> 8) % TEST_MANY_NAMES;
    test_numbered_name(text, k);
    name = TEXT(text);
    if (random >> 30 == 0) {
      OK(TVMFFIFunctionSetGlobal(&name, test_name_function[k], 1));
    } else if (random >> 30 == 1) {
      OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"),
                     tvmffi_out_any(NULL), tvmffi_str(text)));
    } else {
      OK(TVMFFIFunctionGetGlobal(&name, &f));
      CHECK(!f || f == test_name_function[k]);
      tvmffi_release(f);
    }
  }
}

static void test_contend_names(TVMFFI_HERE) {
  char text[32];
  int i;
  for (i = 0; i < TEST_MANY_NAMES; ++i) {
    OK(TVMFFIFunctionCreate((void *)(intptr_t)(i + 1), test_echo_callback, NULL,
                            &test_name_function[i]));
    OWN(test_name_function[i]);
  }
  test_parallel(test_names_work);
  tvmffi_error_clear();
  for (i = 0; i < TEST_MANY_NAMES; ++i) {
    test_numbered_name(text, i);
    OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                   tvmffi_str(text)));
  }
}

/* Metadata is read while functions are replaced. */
static void test_about_work(int id) {
  int i, n = test_rounds(4);
  for (i = 0; i < n; ++i) {
    const char *text = test_shared_name[0];
    char metadata[40];
    tvmffi_buffer buffer;
    buffer.data = metadata;
    buffer.capacity = sizeof(metadata);
    if (id % 2) {
      TVMFFIMethodInfo info;
      TVMFFIObjectHandle f = NULL;
      int code;
      memset((void *)&info, 0, sizeof(info));
      OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &f));
      info.name = TEXT(text);
      info.metadata = TEXT("{\"some\": \"metadata\"}");
      info.method = tvmffi_obj(f);
      code = TVMFFIFunctionSetGlobalFromMethodInfo(&info, 1);
      tvmffi_release(f);
      OK(code);
    } else if (!tvmffi_call(tvmffi_str("ffi.GetGlobalFuncMetadata"),
                            tvmffi_out_buffer(&buffer), tvmffi_str(text))) {
      CHECK_TEXT(TEXT(metadata), "{\"some\": \"metadata\"}");
    } else {
      tvmffi_error_clear(); /* not set yet */
    }
  }
}

static void test_contend_about(TVMFFI_HERE) {
  test_share_names("unit.about");
  test_parallel(test_about_work);
}

#if !TVMFFI_NO_TYPES
enum { TEST_SHARED_TYPES = 40 };
static int32_t test_shared_type[TEST_SHARED_TYPES];
static char test_shared_prefix[64];

/* Looks at types of which only the index is known yet. */
static void test_read_types(void) {
  int i, n = test_scale(TEST_SHARED_TYPES, 2), left = 100000;
  for (i = 0; i < n && left; --left) {
    int32_t index = TVMFFI_I_LOAD_RELAXED(&test_shared_type[i]);
    const TVMFFITypeInfo *info;
    if (!index) continue;
    info = TVMFFIGetTypeInfo(index);
    if (!CHECK(info != NULL)) return;
    CHECK(info->type_index == index && info->type_depth == i + 1);
    CHECK(tvmffi_is_instance(index, kTVMFFIObject));
    ++i;
  }
}

static void test_types_work(int id) {
  int i, n = test_scale(TEST_SHARED_TYPES, 2);
  int32_t parent = kTVMFFIObject;
  if (id % 3 == 1) {
    test_read_types();
    return;
  }
  for (i = 0; i < n; ++i) {
    char text[80], letters[3];
    TVMFFIByteArray key;
    const TVMFFITypeInfo *info;
    int32_t index, zero = 0;
    size_t at = test_put(text, 0, sizeof(text), test_shared_prefix,
                         strlen(test_shared_prefix));
    letters[0] = '.';
    letters[1] = (char)('a' + i / 26);
    letters[2] = (char)('a' + i % 26);
    (void)test_put(text, at, sizeof(text), letters, 3);
    key = TEXT(text);
    index = TVMFFITypeGetOrAllocIndex(&key, -1, i + 1, id % 3, 1, parent);
    OK(index < 0 ? -1 : 0);
    if (!__atomic_compare_exchange_n(&test_shared_type[i], &zero, index, 0,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      CHECK_INT(index, zero);
    info = TVMFFIGetTypeInfo(index);
    if (!CHECK(info != NULL)) return;
    CHECK(info->type_depth == i + 1 && tvmffi_is_instance(index, parent));
    OK(TVMFFITypeKeyToIndex(&key, &index));
    CHECK_INT(index, info->type_index);
    parent = index;
  }
}

static void test_contend_types(TVMFFI_HERE) {
  const char *prefix = test_fresh("unit.Shared");
  memset(test_shared_type, 0, sizeof(test_shared_type));
  (void)test_put(test_shared_prefix, 0, sizeof(test_shared_prefix), prefix,
                 strlen(prefix));
  test_parallel(test_types_work);
}

/* Each thread sets its own type's value and reads the others'. */
static void test_columns_work(int id) {
  int i, k, n = test_scale(20, 2);
  for (i = 0; i < n; ++i) {
    TVMFFIByteArray name = TEXT(test_shared_name[i % TEST_NAMES]);
    int32_t index = test_shared_type[(id * 5 + i) % TEST_SHARED_TYPES];
    const TVMFFITypeAttrColumn *c;
    TVMFFIAny value = tvmffi_int(index);
    OK(TVMFFITypeRegisterAttr(index, &name, &value));
    c = TVMFFIGetTypeAttrColumn(&name);
    if (!CHECK(c != NULL)) return;
    for (k = 0; k < TEST_SHARED_TYPES; ++k) {
      int32_t size = TVMFFI_I_LOAD(&c->size), other = test_shared_type[k];
      const TVMFFIAny *data = TVMFFI_I_LOAD(&c->data);
      if (other < size && TVMFFI_I_LOAD(&data[other].type_index) == kTVMFFIInt)
        CHECK_INT(data[other].v_int64, other);
      value = tvmffi_none();
      if (tvmffi_i_class_attr(other, test_shared_name[i % TEST_NAMES]))
        value = *tvmffi_i_class_attr(other, test_shared_name[i % TEST_NAMES]);
      CHECK(value.type_index == kTVMFFINone || value.v_int64 == other);
    }
  }
}

static void test_contend_columns(TVMFFI_HERE) {
  int i;
  for (i = 0; i < TEST_SHARED_TYPES; ++i) {
    TVMFFIByteArray key = TEXT(test_fresh("unit.Column"));
    int32_t index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, test_scale(40, 0), 1,
                                              kTVMFFIObject);
    OK(index < 0 ? -1 : 0);
    test_shared_type[i] = index;
  }
  test_share_names("unit_column");
  test_parallel(test_columns_work);
}

/* All register the same fields and methods; some look at what is there. */
static TVMFFIObjectHandle test_shared_method;

static void test_reflection_work(int id) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(test_shared_type[0]);
  int i, k, n = test_scale(20, 5);
  if (!CHECK(info != NULL)) return;
  for (i = 0; i < n; ++i) {
    char name[2] = {'a', 0};
    TVMFFIFieldInfo f = test_field(name, 24);
    TVMFFIMethodInfo m = test_method(name, tvmffi_obj(test_shared_method));
    TVMFFITypeMetadata metadata;
    int32_t fields = TVMFFI_I_LOAD(&info->num_fields);
    const TVMFFIFieldInfo *field = TVMFFI_I_LOAD(&info->fields);
    name[0] = (char)('a' + (i + id) % n);
    memset((void *)&metadata, 0, sizeof(metadata));
    metadata.doc = TEXT("shared");
    OK(TVMFFITypeRegisterField(test_shared_type[0], &f));
    OK(TVMFFITypeRegisterMethod(test_shared_type[0], &m));
    OK(TVMFFITypeRegisterMetadata(test_shared_type[0], &metadata));
    for (k = 0; k < fields; ++k)
      CHECK(field[k].name.size == 1 && field[k].getter == test_getter);
  }
}

static void test_contend_reflection(TVMFFI_HERE) {
  TVMFFIByteArray key = TEXT(test_fresh("unit.Reflected"));
  const TVMFFITypeInfo *info;
  test_shared_type[0] =
      TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  OK(test_shared_type[0] < 0 ? -1 : 0);
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &test_shared_method));
  OWN(test_shared_method);
  test_parallel(test_reflection_work);
  info = TVMFFIGetTypeInfo(test_shared_type[0]);
  if (test_hits() || !CHECK(info != NULL)) return;
  CHECK_INT(info->num_fields, test_scale(20, 5));
  CHECK_INT(info->num_methods, test_scale(20, 5));
  CHECK_INT(test_strong(test_shared_method), 1 + test_scale(20, 5));
}
#endif

#if !TVMFFI_NO_BACKTRACE
static char test_code_bytes[512];
static void test_frames_work(int id) {
  int i, n = test_rounds(8);
  for (i = 0; i < n; ++i) {
    uintptr_t address =
        (uintptr_t)&test_code_bytes[(i * 7 + id) %
                                    (int)sizeof(test_code_bytes)];
    tvmffi_i_frame_reader reader;
    tvmffi_i_frame *frame;
    const TVMFFIByteArray *t;
    tvmffi_i_enter_frames(&reader);
    if (i % 8 == id && reader.cache) tvmffi_i_store64(&reader.cache->age, 0);
    frame = tvmffi_i_cached_frame(&reader, address);
    if (!frame) frame = tvmffi_i_name_frame(&reader, address);
    t = TVMFFIBacktrace("f.c", i, "g", id % 2);
    if (frame) CHECK(frame->address == address);
    tvmffi_i_leave_frames(&reader);
    if (!test_hits()) CHECK(test_contains(*t, ", in g\n"));
  }
}
static void test_contend_frames(TVMFFI_HERE) {
  test_parallel(test_frames_work);
}
#endif

static void *test_first_handle, *test_second_handle;
static size_t test_inits;
static int test_made_handle;

static int test_init_second(void **result) {
  (void)test_add(&test_inits, 1);
  *result = &test_made_handle;
  return 0;
}

/* The other order at the same time: one of the two is told, and does without.
 */
static int test_init_with(void **result, void **other,
                          int (*init)(void **result)) {
  (void)sched_yield();
  if (TVMFFIHandleInitOnce(other, init)) tvmffi_error_clear();
  return test_init_second(result);
}
static int test_init_first_then_second(void **result) {
  return test_init_with(result, &test_second_handle, test_init_second);
}
static int test_init_second_then_first(void **result) {
  return test_init_with(result, &test_first_handle, test_init_second);
}

static void test_init_work(int id) {
  int first = id % 2;
  OK(TVMFFIHandleInitOnce(
      first ? &test_first_handle : &test_second_handle,
      first ? test_init_first_then_second : test_init_second_then_first));
  OK(TVMFFIHandleInitOnce(first ? &test_second_handle : &test_first_handle,
                          test_init_second));
}

static void test_contend_init(TVMFFI_HERE) {
  int i, n = test_scale(50, 2);
  for (i = 0; i < n; ++i) {
    test_first_handle = test_second_handle = NULL;
    test_inits = 0;
    test_parallel(test_init_work);
    if (test_hits()) continue;
    CHECK_INT(test_inits, 2);
    CHECK(test_first_handle && test_second_handle);
  }
}

#if !TEST_NO_TENSORS
static int test_contended_of(const DLTensor *x, const DLTensor *y) {
  TVMFFI_EXPECT((x, "float64|float32[n] cpu"), (y, "same[n] cpu"));
  return 0;
}

/* All come first to the same text. */
static void test_expect_work(int id) {
  test_matrix x;
  (void)test_make_matrix(&x, 1, id + 1, 0, 0);
  if (test_code(test_contended_of(&x.t, &x.t), __FILE__, __LINE__, "")) return;
  x.t.ndim = 0;
  FAILS(test_contended_of(&x.t, &x.t), "ValueError", NULL);
}
static void test_contend_expect(TVMFFI_HERE) {
  test_parallel(test_expect_work);
}
#endif

#if defined(PTHREAD_CANCEL_DISABLE) && !defined(TVMFFI_LOCK)
static void *test_wait_cancelled(void *is_done) {
  (void)pthread_cancel(pthread_self());
  tvmffi_i_pause(1000);
  *(int *)is_done = 1;
  pthread_testcancel();
  *(int *)is_done = 2;
  return NULL;
}
static void test_cancelled_waits(TVMFFI_HERE) {
  pthread_t thread;
  int is_done = 0;
  CHECK_INT(pthread_create(&thread, NULL, test_wait_cancelled, &is_done), 0);
  (void)pthread_join(thread, NULL);
  CHECK_INT(is_done, 1);
}
#endif

static TVMFFIObject *test_shared_object;

static void test_counts_work(int id) {
  int i, n = test_rounds(1) * 4;
  (void)id;
  for (i = 0; i < n; ++i) {
    tvmffi_retain(test_shared_object);
    tvmffi_weak_retain(test_shared_object);
    CHECK(tvmffi_weak_lock(test_shared_object));
    tvmffi_release(test_shared_object);
    tvmffi_weak_release(test_shared_object);
    tvmffi_release(test_shared_object);
  }
}

#if TEST_COVERAGE
TVMFFI_I_EXTERN_C void __llvm_profile_initialize_file(void);
TVMFFI_I_EXTERN_C int __llvm_profile_write_file(void);
#endif
#if defined(__unix__)
/* Ends a child process without the handlers of its parent's end. */
TEST_MAYBE void test_end_child(int is_good) {
#if TEST_COVERAGE
  __llvm_profile_initialize_file(); /* a file of this process */
  (void)__llvm_profile_write_file();
#endif
  _exit(is_good ? 0 : 1);
}
#endif

#if !TVMFFI_NO_TYPES
/* A process that forks has a child that can use the runtime. */
static void test_fork(TVMFFI_HERE) {
#if defined(__unix__)
  const char *text = test_fresh("unit.fork");
  TVMFFIByteArray key = TEXT(text);
  int32_t index = 0;
  int status = -1;
  pid_t child;
  tvmffi_i_lock(); /* the first time is when the runtime asks to be told */
  tvmffi_i_unlock();
  fflush(stdout); /* or the child's end may write it, too */
  child = fork();
  if (child < 0) return; /* a system that has only one process */
  if (!child) {
    index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
    test_end_child(index > 0 || test_hits());
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_INT(status, 0);
  index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  OK(index > 0 ? 0 : -1);
#endif
}
#endif

#if TVMFFI_I_FORK && defined(__unix__) && !defined(TEST_TSAN)
static tvmffi_i_global *test_child_global;

/* Makes this process look like a child whose fork ran none of the runtime's
   handlers: the state belongs to another process. */
static void test_forget_process(void) {
  tvmffi_i_store64(&tvmffi_i_process, (uint64_t)getppid() << 1);
}

static int test_is_known(void) { return !tvmffi_i_is_unknown_child(); }

/* A thread of the parent holds the lock. Others read the global function that
   is replaced, so that its readers never leave. */
static int test_use_unknown(void **result) {
  tvmffi_i_global *g = test_child_global;
  TVMFFIByteArray name = test_bytes(g->node.key, g->node.size);
  int is_good;
  test_forget_process();
  (void)pthread_mutex_lock(&tvmffi_i_mutex);
  (void)tvmffi_i_fail("ValueError", "the backtrace adds frames to a cache");
  tvmffi_error_clear();
  tvmffi_i_lock(); /* the backtrace has not, if there is none */
  tvmffi_i_unlock();
  is_good = test_is_known();
  test_forget_process();
  tvmffi_i_lock();
  tvmffi_i_sleep(); /* for nothing that wakes this process */
  is_good &= test_is_known();
  tvmffi_i_unlock();
  test_forget_process();
  g->readers[0] = g->readers[1] = 1;
  is_good &= !TVMFFIFunctionSetGlobal(&name, g->function, 1) &&
             test_is_known() && !g->readers[0] && !g->readers[1];
  *result = is_good ? (void *)g : NULL;
  return 0;
}

/* Such a child can use the runtime, also while it initializes a handle. */
static void test_unknown_child(TVMFFI_HERE) {
  TVMFFIByteArray name = TEXT("unit.child");
  TVMFFIObject *f = test_global("ffi.String");
  void *handle = NULL;
  int status = -1;
  pid_t child;
  if (!f || test_oom) return;
  FAILS(TVMFFIFunctionSetGlobal(NULL, f, 1), "ValueError", NULL);
  OK(TVMFFIFunctionSetGlobal(&name, f, 1));
  tvmffi_i_lock();
  test_child_global = tvmffi_i_find_global(&name);
  tvmffi_i_unlock();
  fflush(stdout);
  child = fork();
  if (child < 0) return; /* a system that has only one process */
  if (!child) {
    alarm(60);
    (void)TVMFFIHandleInitOnce(&handle, test_use_unknown);
    test_end_child(handle == test_child_global);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_INT(status, 0);
}
#else
static void test_unknown_child(TVMFFI_HERE) {}
#endif

/* AddressSanitizer's allocator does not survive such a fork. */
#if TVMFFI_I_FORK && defined(__unix__) && !defined(TEST_ASAN) && !TEST_NO_FORKS
#define TEST_FORKS 1
/* The same while other threads make objects and look functions up. A child that
   goes well kills itself: at its exit valgrind would report the memory of the
   threads that it does not have. */
static size_t test_forks_are_over;

static void test_use_runtime(void) {
  TVMFFIByteArray name = TEXT("ffi.Bytes"),
                  text = TEXT("a string of an object");
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny any = tvmffi_none();
  OK(TVMFFIStringFromByteArray(&text, &any));
  tvmffi_any_release(&any);
  OK(TVMFFIFunctionGetGlobal(&name, &function));
  if (function) tvmffi_release(function);
}

static void test_forking_work(int id) {
  int i, status, n = test_scale(20, 2);
  for (i = 0; !id && i < n; ++i) {
    pid_t child = fork();
    if (child < 0) break;
    if (!child) {
      alarm(60);
      test_use_runtime();
      if (!test_get(&test_num_failures)) (void)raise(SIGKILL);
      _exit(1);
    }
    status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    if (!CHECK(WIFSIGNALED(status)) || !CHECK_INT(WTERMSIG(status), SIGKILL))
      break;
  }
  if (!id) (void)test_add(&test_forks_are_over, 1);
  while (!test_get(&test_forks_are_over)) test_use_runtime();
}

static void test_contend_fork(TVMFFI_HERE) {
  test_forks_are_over = 0;
  fflush(stdout);
  test_parallel(test_forking_work);
}
#endif

#if !TVMFFI_NO_TYPES
#define TEST_STARTED(i)                                        \
  typedef struct {                                             \
    TVMFFIObject base;                                         \
    int64_t a;                                                 \
  } TestStarted##i;                                            \
  TVMFFI_TYPE(TestStarted##i, "unit.Started" #i, TVMFFIObject, \
              (field, int64, a))
TEST_STARTED(0)
TEST_STARTED(1)
TEST_STARTED(2)
TEST_STARTED(3)

static void test_start_work(int id) {
  switch (id % 4) {
    case 0: OK(TVMFFI_TYPE_INDEX(TestStarted0) < 0 ? -1 : 0); break;
    case 1: OK(TVMFFI_TYPE_INDEX(TestStarted1) < 0 ? -1 : 0); break;
    case 2: OK(TVMFFI_TYPE_INDEX(TestStarted2) < 0 ? -1 : 0); break;
    default: OK(TVMFFI_TYPE_INDEX(TestStarted3) < 0 ? -1 : 0); break;
  }
}
static void test_contend_start(TVMFFI_HERE) { test_parallel(test_start_work); }
#endif

static void test_contend_counts(TVMFFI_HERE) {
  TVMFFIByteArray text = TEXT("a shared string");
  TVMFFIAny any;
  OK(TVMFFIStringFromByteArray(&text, &any));
  OWN_ANY(any);
  test_shared_object = any.v_obj;
  test_parallel(test_counts_work);
  CHECK(test_strong(any.v_obj) == 1 && test_weak(any.v_obj) == 1);
}

/* Weak references are locked while the last strong one goes. */
enum { TEST_SHARED_OBJECTS = 500 };
static TVMFFIObjectHandle test_shared_objects[TEST_SHARED_OBJECTS];
static size_t test_deleted, test_num_shared;

static void test_shared_deleter(void *handle) {
  (void)handle;
  (void)test_add(&test_deleted, 1);
}

static void test_weak_work(int id) {
  size_t i;
  for (i = 0; i < test_num_shared; ++i) {
    TVMFFIObjectHandle o = test_shared_objects[i];
    if (id == 0) {
      tvmffi_release(o);
    } else if (tvmffi_weak_lock(o)) {
      CHECK(TVMFFIOpaqueObjectGetCellPtr(o)->handle == &test_deleted);
      tvmffi_release(o);
    }
    tvmffi_weak_release(o);
  }
}

static void test_contend_weak(TVMFFI_HERE) {
  int i, k, n = test_scale(TEST_SHARED_OBJECTS, 2);
  int threads = test_scale(TEST_THREADS, 2);
  test_deleted = 0;
  test_num_shared = 0;
  for (i = 0; i < n; ++i) {
    TVMFFIObjectHandle o = NULL;
    if (test_code(TVMFFIObjectCreateOpaque(&test_deleted, kTVMFFIOpaquePyObject,
                                           test_shared_deleter, &o),
                  __FILE__, __LINE__, "TVMFFIObjectCreateOpaque "))
      break;
    for (k = 0; k < threads; ++k) tvmffi_weak_retain(o);
    test_shared_objects[test_num_shared++] = o;
  }
  test_parallel(test_weak_work);
  CHECK_INT(test_deleted, test_num_shared);
}

/* A thread's error, streams and trace go with it. */
static void test_exit_work(int id) {
  if (id % 4 == 0) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "left behind");
  } else if (id % 4 == 1) {
    if (TVMFFIEnvSetStream(kDLCUDA, id, &test_deleted, NULL)) return;
    CHECK(TVMFFIEnvGetStream(kDLCUDA, id) == &test_deleted);
  } else if (id % 4 == 2) {
    (void)TVMFFIBacktrace("f.c", id, "g", 0);
  } else {
    (void)TVMFFI_RAISE("ValueError", "left behind by thread %d", id);
  }
}

static void test_thread_exit(TVMFFI_HERE) {
  size_t before;
  test_parallel(test_exit_work); /* names the frames */
  before = test_get(&test_live);
  test_parallel(test_exit_work);
  if (!test_hits() && !TVMFFI_DEBUG) CHECK_INT(test_get(&test_live), before);
  CHECK(tvmffi_i_error_remove() == NULL);
}

#if TVMFFI_I_SPLIT_THREAD
/* If the system has no key left, so that a thread's end is not noticed, the
   next thread takes over what the thread had. */
static int test_exit_id;
static void *test_unwatched_work(void *unused) {
  (void)unused;
  test_exit_work(test_exit_id);
  CHECK(!*tvmffi_i_thread_exit_is_set());
  return NULL;
}

/* Two threads whose ends are not noticed live at once. Then the first one's is,
   because the system has a key again, so that its end releases its error. */
static void *test_noticed_work(void *key) {
  const tvmffi_i_thread *self = tvmffi_i_self();
  TVMFFIObjectHandle error = NULL;
  pthread_t other;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "taken");
  TVMFFIErrorMoveFromRaised(&error);
  tvmffi_release(error);
  CHECK(self->block->owner == self && !self->block->error);
  TVMFFIErrorSetRaisedFromCStr("ValueError", "unnoticed");
  CHECK(self->block->owner == self);
  CHECK(self->block->error && self->block->error == self->error.object);
  test_exit_id = 0;
  if (!pthread_create(&other, NULL, test_unwatched_work, NULL))
    (void)pthread_join(other, NULL);
  (void)pthread_key_delete(*(pthread_key_t *)key);
  TVMFFIErrorSetRaisedFromCStr("ValueError", "noticed");
  CHECK(*tvmffi_i_thread_exit_is_set());
  CHECK(self->block->owner == self && !self->block->error);
  return NULL;
}

static void test_unwatched_exits(TVMFFI_HERE) {
  enum { THREADS = 64, MOST_KEYS = 4096 };
  static pthread_key_t keys[MOST_KEYS];
  size_t before = 0;
  int i, num_keys = 0;
  if (test_oom) return;
  tvmffi_i_lock();
  if (tvmffi_i_has_exit_key) (void)pthread_key_delete(tvmffi_i_exit_key);
  tvmffi_i_has_exit_key = 0;
  tvmffi_i_unlock();
  while (num_keys < MOST_KEYS && !pthread_key_create(&keys[num_keys], NULL))
    ++num_keys;
  for (i = 0; i < 2 * THREADS && num_keys < MOST_KEYS; ++i) {
    pthread_t thread;
    if (i == THREADS) before = test_get(&test_live);
    test_exit_id = i;
    if (pthread_create(&thread, NULL, test_unwatched_work, NULL)) break;
    (void)pthread_join(thread, NULL);
  }
  if (i == 2 * THREADS && !TVMFFI_DEBUG)
    CHECK(test_get(&test_live) <= before + THREADS / 8);
  if (num_keys && num_keys < MOST_KEYS) {
    pthread_t thread;
    if (!pthread_create(&thread, NULL, test_noticed_work, &keys[--num_keys]))
      (void)pthread_join(thread, NULL);
  }
  while (num_keys) (void)pthread_key_delete(keys[--num_keys]);
  *tvmffi_i_thread_exit_is_set() = 0;
  CHECK(tvmffi_i_watch_exit());
}

/* Nothing writes to the block of the threads that have none. */
static void test_no_block(TVMFFI_HERE) {
  static tvmffi_i_thread_block zero;
  CHECK(memcmp((const void *)&tvmffi_i_no_block, (const void *)&zero,
               sizeof(zero)) == 0);
}
#endif

#if TVMFFI_I_POOL
static TVMFFIObjectHandle test_pool_kept[TEST_THREADS][4];

/* Releases what the main thread made, and leaves it as much. */
static void test_pool_work(int id) {
  tvmffi_i_pool *p = test_pool();
  size_t i;
  CHECK(!p->available && !p->state);
  for (i = 0; i < 4; ++i) {
    tvmffi_release(test_pool_kept[id][i]);
    test_pool_kept[id][i] = NULL;
  }
  CHECK(p->available > 0 && p->available < TVMFFI_I_POOL_THREAD);
  for (i = 0; i < 4; ++i)
    (void)TVMFFIFunctionCreate(NULL, test_echo_callback, NULL,
                               &test_pool_kept[id][i]);
  if (id % 2) return;
  tvmffi_i_thread_exit();
  tvmffi_release(test_pool_kept[id][0]);
  test_pool_kept[id][0] = NULL;
  p = tvmffi_i_thread_pool();
  CHECK(!p->available &&
        !p->list[tvmffi_i_pool_class(sizeof(tvmffi_i_function_object))]);
}

/* A block goes to whoever frees it, and a thread gives back all at its end;
   from then on it keeps nothing. */
static void test_pool_threads(TVMFFI_HERE) {
  size_t live = test_get(&test_live);
  int id, i;
  if (test_oom) return;
  test_set_pool(1);
  for (id = 0; id < TEST_THREADS; ++id)
    for (i = 0; i < 4; ++i)
      OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL,
                              &test_pool_kept[id][i]));
  test_parallel(test_pool_work);
  for (id = 0; id < TEST_THREADS; ++id)
    for (i = 0; i < 4; ++i) tvmffi_release(test_pool_kept[id][i]);
  test_set_pool(0);
  CHECK_INT(test_get(&test_live), live);
}
#endif
#endif

static const test_case test_thread_cases[] = {
#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
    {"threads: global functions", test_contend_globals},
    {"threads: global functions that come and go", test_contend_names},
    {"threads: metadata of functions", test_contend_about},
#if !TVMFFI_NO_TYPES
    {"threads: types", test_contend_types},
    {"threads: attribute columns", test_contend_columns},
    {"threads: fields, methods and metadata", test_contend_reflection},
#endif
#if !TVMFFI_NO_BACKTRACE
    {"threads: backtraces", test_contend_frames},
#endif
    {"threads: handles made once", test_contend_init},
#if !TEST_NO_TENSORS
    {"threads: the first check of tensors", test_contend_expect},
#endif
#if defined(PTHREAD_CANCEL_DISABLE) && !defined(TVMFFI_LOCK)
    {"threads: waits are no cancellation points", test_cancelled_waits},
#endif
#if !TVMFFI_NO_TYPES
    {"threads: processes", test_fork},
    {"threads: types of one file", test_contend_start},
#endif
    {"threads: a process that knows nothing of its fork", test_unknown_child},
#if defined(TEST_FORKS)
    {"threads: processes beside threads", test_contend_fork},
#endif
    {"threads: counts", test_contend_counts},
    {"threads: weak references", test_contend_weak},
    {"threads: what ends with a thread", test_thread_exit},
#if TVMFFI_I_SPLIT_THREAD
    {"threads: ends that are not noticed", test_unwatched_exits},
    {"threads: the block of threads without one", test_no_block},
#endif
#if TVMFFI_I_POOL
    {"threads: kept memory", test_pool_threads},
#endif
#endif
    {NULL, NULL}};
