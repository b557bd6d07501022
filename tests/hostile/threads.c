/* Eight threads at once on what the ABI shares: the function table, the type
 * table, attribute columns, init-once handles, reference counts. Each section
 * runs in a child of its own under a watchdog, and ends with what must hold
 * whatever the order was.
 *
 *   threads LIBRARY [SECTION]
 *
 * prints "name<TAB>wanted<TAB>outcome<TAB>detail" per section. Under
 * ThreadSanitizer fewer rounds are made, and a report of its is a crash. */
#include "robust.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { SLOW = SANITIZED ? 5 : 1 }; /* what the rounds are divided by */
/* After these, a process hangs: a busy machine takes far less. */
enum { CHILD_SECONDS = 60, SECTION_SECONDS = 300 };

enum { THREADS = 8 };

static struct report {
  atomic_int ended;
  atomic_int broken;
  char check[160];
} *report;

static int broken(const char *what, int line) {
  if (!atomic_exchange(&report->broken, 1)) {
    snprintf(report->check, sizeof report->check, "line %d: %s", line, what);
  }
  return 1;
}
#define CHECK(c)            \
  do {                      \
    if (!(c)) {             \
      broken(#c, __LINE__); \
      return;               \
    }                       \
  } while (0)

typedef void (*work)(int thread, int rounds);

static pthread_barrier_t start;
struct task {
  work run;
  int thread, rounds;
  pthread_t id;
};
static void *run_task(void *arg) {
  struct task *t = (struct task *)arg;
  pthread_barrier_wait(&start);
  t->run(t->thread, t->rounds);
  return NULL;
}
/* Runs the works of a list, ended by NULL, on THREADS threads in turn. */
static void together(int rounds, const work *works) {
  struct task tasks[THREADS];
  int i, n = 0;
  while (works[n] != NULL) ++n;
  pthread_barrier_init(&start, NULL, THREADS);
  for (i = 0; i < THREADS; ++i) {
    tasks[i].run = works[i % n];
    tasks[i].thread = i;
    tasks[i].rounds = rounds / SLOW + 1;
    if (pthread_create(&tasks[i].id, NULL, run_task, &tasks[i]) != 0) exit(97);
  }
  for (i = 0; i < THREADS; ++i) pthread_join(tasks[i].id, NULL);
  pthread_barrier_destroy(&start);
}
#define TOGETHER(rounds, ...) \
  together(rounds, (const work[]){__VA_ARGS__, NULL})

static uint32_t next_random(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

/* ---- functions ---- */

enum { NAMES = 24, MAGIC = 0x5AFE };
struct owned {
  int magic, name;
  atomic_int freed;
};
static struct owned *owned;
static atomic_int num_owned, num_freed;

static int owned_call(void *self, const TVMFFIAny *args, int32_t n,
                      TVMFFIAny *result) {
  struct owned *o = (struct owned *)self;
  (void)args, (void)n;
  if (o->magic != MAGIC || atomic_load(&o->freed)) {
    broken("a function is called while it lives", __LINE__);
  }
  *result = any_int(o->name);
  return 0;
}
static void owned_free(void *self) {
  struct owned *o = (struct owned *)self;
  if (atomic_fetch_add(&o->freed, 1) != 0) {
    broken("a deleter runs once", __LINE__);
  }
  atomic_fetch_add(&num_freed, 1);
}
static void name_of(char *text, int name) {
  sprintf(text, "threads.function.%d", name);
}
enum { MOST_OWNED = 400000 };

static void set_functions(int thread, int rounds) {
  uint32_t random = 77u + (uint32_t)thread * 1013u;
  int i;
  for (i = 0; i < rounds; ++i) {
    int index = atomic_fetch_add(&num_owned, 1);
    struct owned *o = &owned[index];
    TVMFFIObjectHandle f = NULL;
    char name[40];
    CHECK(index < MOST_OWNED);
    o->magic = MAGIC;
    o->name = (int)(next_random(&random) % NAMES);
    name_of(name, o->name);
    CHECK(F.FunctionCreate(o, owned_call, owned_free, &f) == 0);
    if (i & 1) {
      CHECK(F.FunctionSetGlobal(STR(name), f, 1) == 0);
    } else {
      TVMFFIMethodInfo m;
      memset(&m, 0, sizeof m);
      m.name = text_of(name);
      m.doc = text_of("a documentation");
      m.method = any_obj(f);
      CHECK(F.FunctionSetGlobalFromMethodInfo(&m, 1) == 0);
    }
    F.ObjectDecRef(f);
  }
}
static void call_functions(int thread, int rounds) {
  uint32_t random = 99u + (uint32_t)thread * 1013u;
  int i;
  for (i = 0; i < rounds * 4; ++i) {
    int wanted = (int)(next_random(&random) % NAMES);
    TVMFFIObjectHandle f = NULL;
    TVMFFIAny result = any_none();
    char name[40];
    name_of(name, wanted);
    CHECK(F.FunctionGetGlobal(STR(name), &f) == 0);
    if (f == NULL) continue;
    CHECK(F.FunctionCall(f, NULL, 0, &result) == 0);
    CHECK(result.type_index == kTVMFFIInt && result.v_int64 == wanted);
    F.ObjectDecRef(f);
  }
}
static void remove_functions(int thread, int rounds) {
  uint32_t random = 55u + (uint32_t)thread * 1013u;
  TVMFFIObjectHandle remove = NULL;
  int i;
  CHECK(F.FunctionGetGlobal(STR("ffi.FunctionRemoveGlobal"), &remove) == 0);
  for (i = 0; i < rounds && remove != NULL; ++i) {
    TVMFFIAny arg, result = any_none();
    char name[40];
    name_of(name, (int)(next_random(&random) % NAMES));
    arg = any_of(kTVMFFIRawStr, name);
    CHECK(F.FunctionCall(remove, &arg, 1, &result) == 0);
    CHECK(result.type_index == kTVMFFIBool);
    sched_yield();
  }
  if (remove != NULL) F.ObjectDecRef(remove);
}
/* Replaces every function that is left: then all must have been freed. */
static void settle_functions(void) {
  Obj plain = make_function();
  char name[40];
  int i;
  for (i = 0; i < NAMES; ++i) {
    name_of(name, i);
    CHECK(F.FunctionSetGlobal(STR(name), plain, 1) == 0);
  }
  F.ObjectDecRef(plain);
  CHECK(atomic_load(&num_freed) == atomic_load(&num_owned));
}
static void own_functions(void) {
  owned = (struct owned *)calloc(MOST_OWNED, sizeof *owned);
  if (owned == NULL) exit(97);
}
static void section_functions(void) {
  own_functions();
  TOGETHER(30000, set_functions, call_functions, call_functions,
           remove_functions);
  settle_functions();
}

/* Without override exactly one thread gets each name. */
static atomic_int winners;
static void claim_names(int thread, int rounds) {
  int i;
  (void)thread;
  for (i = 0; i < rounds; ++i) {
    Obj f = make_function();
    char name[40];
    sprintf(name, "threads.claim.%d", i);
    if (F.FunctionSetGlobal(STR(name), f, 0) == 0) {
      atomic_fetch_add(&winners, 1);
    } else {
      Obj e = error_take();
      CHECK(e != NULL && error_is(e, "RuntimeError"));
      F.ObjectDecRef(e);
    }
    F.ObjectDecRef(f);
  }
}
static void section_claims(void) {
  TOGETHER(400, claim_names);
  CHECK(atomic_load(&winners) == 400 / SLOW + 1);
}

/* ---- types ---- */

enum { SHARED_TYPES = 300 };
static atomic_int shared_index[SHARED_TYPES];

static void register_types(int thread, int rounds) {
  int i;
  char key[40];
  for (i = 0; i < rounds; ++i) {
    int k = (i * 7 + thread * 13) % SHARED_TYPES;
    int32_t index, was = 0;
    sprintf(key, "threads.type.%d", k);
    index = F.TypeGetOrAllocIndex(STR(key), -1, 1, k % 3, 1, kTVMFFIObject);
    CHECK(index >= 128);
    /* whoever registers a key gets the same index */
    if (!atomic_compare_exchange_strong(&shared_index[k], &was, index)) {
      CHECK(was == index);
    }
    sprintf(key, "threads.own.%d.%d", thread, i);
    CHECK(F.TypeGetOrAllocIndex(STR(key), -1, 2, 0, 1, index) > index);
  }
}
static void look_up_types(int thread, int rounds) {
  int i;
  for (i = 0; i < rounds * 8; ++i) {
    int k = (i * 5 + thread) % SHARED_TYPES;
    int32_t index = atomic_load(&shared_index[k]), found = -1;
    const TVMFFITypeInfo *t;
    char key[40];
    if (index == 0) continue;
    sprintf(key, "threads.type.%d", k);
    CHECK(F.TypeKeyToIndex(STR(key), &found) == 0 && found == index);
    t = F.GetTypeInfo(index);
    CHECK(t != NULL && t->type_index == index && t->type_depth == 1);
    CHECK(t->type_key.size == strlen(key));
    CHECK(memcmp(t->type_key.data, key, t->type_key.size) == 0);
    CHECK(t->type_ancestors[0] == F.GetTypeInfo(kTVMFFIObject));
    CHECK(F.TypeGetOrAllocIndex(STR(key), -1, 1, 0, 1, -2) == index);
  }
}
static void section_types(void) {
  TOGETHER(2000, register_types, look_up_types);
}

static int32_t reflected;
static atomic_int fields_made, methods_made;
static int get_field(void *field, TVMFFIAny *result) {
  (void)field, (void)result;
  return 0;
}
static void add_members(int thread, int rounds) {
  Obj f = make_function();
  int i;
  for (i = 0; i < rounds; ++i) {
    char name[40];
    TVMFFIFieldInfo field;
    TVMFFIMethodInfo method;
    sprintf(name, "member.%d.%d", thread, i);
    memset(&field, 0, sizeof field);
    field.name = text_of(name);
    field.doc = text_of(name);
    field.size = (int64_t)strlen(name);
    field.getter = get_field;
    field.flags = kTVMFFIFieldFlagBitMaskHasDefault;
    field.default_value_or_factory = any_int(i);
    CHECK(F.TypeRegisterField(reflected, &field) == 0);
    atomic_fetch_add(&fields_made, 1);
    memset(&method, 0, sizeof method);
    method.name = text_of(name);
    method.method = any_obj(f);
    CHECK(F.TypeRegisterMethod(reflected, &method) == 0);
    atomic_fetch_add(&methods_made, 1);
  }
  F.ObjectDecRef(f);
}
/* A reader takes the number first, and then what is at least as long. */
static void read_members(int thread, int rounds) {
  const TVMFFITypeInfo *t = F.GetTypeInfo(reflected);
  int i, k;
  (void)thread;
  for (i = 0; i < rounds; ++i) {
    int32_t n = __atomic_load_n(&t->num_fields, __ATOMIC_ACQUIRE);
    const TVMFFIFieldInfo *fields =
        __atomic_load_n(&t->fields, __ATOMIC_ACQUIRE);
    const TVMFFIMethodInfo *methods;
    for (k = 0; k < n; k += 1 + n / 16) {
      CHECK(memcmp(fields[k].name.data, "member.", 7) == 0);
      CHECK(fields[k].size == (int64_t)fields[k].name.size);
      CHECK(fields[k].getter == get_field);
    }
    n = __atomic_load_n(&t->num_methods, __ATOMIC_ACQUIRE);
    methods = __atomic_load_n(&t->methods, __ATOMIC_ACQUIRE);
    for (k = 0; k < n; k += 1 + n / 16) {
      CHECK(memcmp(methods[k].name.data, "member.", 7) == 0);
      CHECK(methods[k].method.type_index == kTVMFFIFunction);
    }
  }
}
static void section_reflection(void) {
  reflected = make_type("threads.reflected");
  TOGETHER(500, add_members, read_members);
  CHECK(F.GetTypeInfo(reflected)->num_fields == atomic_load(&fields_made));
  CHECK(F.GetTypeInfo(reflected)->num_methods == atomic_load(&methods_made));
}

/* Of eight registrations of one member one wins, or all are the same. */
static atomic_int metadata_winners;
static void claim_metadata(int thread, int rounds) {
  int i;
  for (i = 0; i < rounds; ++i) {
    TVMFFITypeMetadata m;
    char key[40];
    sprintf(key, "threads.metadata.%d", i);
    memset(&m, 0, sizeof m);
    m.total_size = 24 + 8 * thread;
    m.doc = text_of(key);
    if (F.TypeRegisterMetadata(make_type(key), &m) == 0) {
      atomic_fetch_add(&metadata_winners, 1);
    } else {
      Obj e = error_take();
      CHECK(e != NULL);
      F.ObjectDecRef(e);
    }
  }
}
static void section_metadata(void) {
  TOGETHER(300, claim_metadata);
  CHECK(atomic_load(&metadata_winners) == 300 / SLOW + 1);
}

static int32_t first_of_column;
static void write_column(int thread, int rounds) {
  int i;
  for (i = 0; i < rounds; ++i) {
    char key[40];
    int32_t t;
    TVMFFIAny v;
    Obj s;
    sprintf(key, "threads.column.%d.%d", thread, i);
    t = make_type(key);
    CHECK(t > 0);
    v = any_int((int64_t)t * 3 + 1);
    CHECK(F.TypeRegisterAttr(t, STR("threads.int"), &v) == 0);
    s = make_str();
    v = any_obj(s);
    CHECK(F.TypeRegisterAttr(t, STR("threads.string"), &v) == 0);
    F.ObjectDecRef(s);
  }
}
static int32_t column_type(const TVMFFITypeAttrColumn *c, int32_t i,
                           TVMFFIAny *out) {
  int32_t size = __atomic_load_n(&c->size, __ATOMIC_ACQUIRE);
  const TVMFFIAny *data = __atomic_load_n(&c->data, __ATOMIC_ACQUIRE);
  int32_t at = i - c->begin_index, type;
  if (at < 0 || at >= size) return kTVMFFINone;
  type = __atomic_load_n(&data[at].type_index, __ATOMIC_ACQUIRE);
  if (type != kTVMFFINone) *out = data[at];
  return type;
}
static void read_column(int thread, int rounds) {
  int i;
  (void)thread;
  for (i = 0; i < rounds * 20; ++i) {
    const TVMFFITypeAttrColumn *c = F.GetTypeAttrColumn(STR("threads.int"));
    int32_t t = first_of_column + i % (rounds * 4);
    TVMFFIAny v;
    if (c == NULL) continue;
    if (column_type(c, t, &v) != kTVMFFINone) {
      CHECK(v.type_index == kTVMFFIInt && v.v_int64 == (int64_t)t * 3 + 1);
    }
    c = F.GetTypeAttrColumn(STR("threads.string"));
    if (c != NULL && column_type(c, t, &v) != kTVMFFINone) {
      CHECK(v.type_index == kTVMFFIStr && any_text(&v).size == 26);
    }
  }
}
static void new_columns(int thread, int rounds) {
  int i;
  TVMFFIAny none = any_none();
  for (i = 0; i < rounds; ++i) {
    char name[40];
    sprintf(name, "threads.new.%d.%d", thread, i);
    CHECK(F.TypeRegisterAttr(kTVMFFINone, STR(name), &none) == 0);
    CHECK(F.GetTypeAttrColumn(STR(name)) != NULL);
  }
}
static void section_columns(void) {
  first_of_column = make_type("threads.column.first");
  TOGETHER(3000, write_column, read_column, read_column, new_columns);
}

/* ---- what a thread has of its own ---- */

static void raise_and_take(int thread, int rounds) {
  int i;
  for (i = 0; i < rounds; ++i) {
    char message[60];
    const char *parts[2];
    Obj e;
    sprintf(message, "thread %d, round %d, a text that is long", thread, i);
    if (i & 1) {
      F.ErrorSetRaisedFromCStr("ValueError", message);
    } else {
      parts[0] = message;
      parts[1] = NULL;
      F.ErrorSetRaisedFromCStrParts("ValueError", parts, 2);
    }
    e = error_take();
    CHECK(e != NULL && error_is(e, "ValueError"));
    CHECK(error_cell(e)->message.size == strlen(message));
    CHECK(memcmp(error_cell(e)->message.data, message, strlen(message)) == 0);
    F.ObjectDecRef(e);
    CHECK(error_take() == NULL);
    CHECK(F.Backtrace("f.c", i, message, 1) != NULL);
  }
}
static void parse_and_print(int thread, int rounds) {
  int i;
  for (i = 0; i < rounds; ++i) {
    char text[40];
    DLDataType t;
    TVMFFIAny out = any_none();
    sprintf(text, "float8_e4m3b11fnuzx%d", 2 + (i + thread) % 1000);
    CHECK(F.DataTypeFromString(STR(text), &t) == 0);
    CHECK(F.DataTypeToString(&t, &out) == 0);
    CHECK(any_text(&out).size == strlen(text));
    CHECK(memcmp(any_text(&out).data, text, strlen(text)) == 0);
    any_drop(&out);
    if (i % 16 == 0) {
      Obj e;
      CHECK(F.DataTypeFromString(STR("nonsense"), &t) != 0);
      e = error_take();
      CHECK(e != NULL && error_is(e, "ValueError"));
      F.ObjectDecRef(e);
    }
  }
}
static int env_alloc(DLTensor *prototype, DLManagedTensorVersioned **out,
                     void *context,
                     void (*raise)(void *, const char *, const char *)) {
  (void)prototype, (void)context, (void)raise;
  *out = &sample_new()->versioned;
  (*out)->deleter = NULL; /* the sample is left to the end of the child */
  return 0;
}
static int env_refuse(DLTensor *prototype, DLManagedTensorVersioned **out,
                      void *context,
                      void (*raise)(void *, const char *, const char *)) {
  (void)prototype, (void)out;
  raise(context, "MemoryError", "none");
  return -1;
}
static void environment(int thread, int rounds) {
  struct sample *s = sample_new();
  int i;
  for (i = 0; i < rounds; ++i) {
    void *mine = (void *)(intptr_t)(thread * 100000 + i + 1), *old = NULL;
    TVMFFIObjectHandle t = NULL;
    CHECK(F.EnvSetStream(kDLCUDA, i % 8, mine, &old) == 0);
    CHECK(old == NULL || (intptr_t)old / 100000 == thread);
    CHECK(F.EnvGetStream(kDLCUDA, i % 8) == mine);
    CHECK(F.EnvSetDLPackManagedTensorAllocator(
              thread & 1 ? env_alloc : env_refuse, i % 2, NULL) == 0);
    CHECK(F.EnvGetDLPackManagedTensorAllocator() ==
          (thread & 1 ? env_alloc : env_refuse));
    if (thread & 1) {
      CHECK(F.EnvTensorAlloc(&s->legacy.dl_tensor, &t) == 0);
      F.ObjectDecRef(t);
    } else {
      Obj e;
      CHECK(F.EnvTensorAlloc(&s->legacy.dl_tensor, &t) != 0);
      e = error_take();
      CHECK(e != NULL && error_is(e, "MemoryError"));
      F.ObjectDecRef(e);
    }
  }
  free(s);
}
static int no_signal(void) { return 0; }
static int ensure(void) { return 1; }
static void release(int state) { (void)state; }
static void symbols(int thread, int rounds) {
  int i;
  for (i = 0; i < rounds; ++i) {
    char name[40];
    CHECK(F.EnvRegisterCAPI("PyGILState_Ensure", (void *)ensure) == 0);
    CHECK(F.EnvRegisterCAPI("PyGILState_Release", (void *)release) == 0);
    CHECK(F.EnvRegisterCAPI("PyErr_CheckSignals", (void *)no_signal) == 0);
    CHECK(F.EnvCheckSignals() == 0);
    sprintf(name, "threads_symbol_%d_%d", thread, i % 50);
    CHECK(F.EnvModRegisterContextSymbol(name, &report) == 0);
    CHECK(F.EnvModRegisterSystemLibSymbol(name, &report) == 0);
  }
}
static void section_errors(void) { TOGETHER(2000, raise_and_take); }
static void section_dtypes(void) { TOGETHER(6000, parse_and_print); }
static void section_environment(void) { TOGETHER(1500, environment); }
static void section_symbols(void) { TOGETHER(300, symbols); }

/* Half of the threads change the imports of a module while the others look
 * functions up in them. */
static Obj importing, imported[2];
static int apply(const char *name, TVMFFIAny *args, int n, TVMFFIAny *result) {
  TVMFFIObjectHandle f = NULL;
  int rc = F.FunctionGetGlobal(STR(name), &f);
  *result = any_none();
  if (rc == 0) rc = F.FunctionCall(f, args, n, result);
  if (f != NULL) F.ObjectDecRef(f);
  return rc;
}
static void change_or_search(int thread, int rounds) {
  TVMFFIAny args[3], result;
  int i;
  for (i = 0; i < rounds; ++i) {
    args[0] = any_obj(importing);
    if (thread % 2 == 0) {
      args[1] = any_obj(imported[i % 2]);
      CHECK(apply("ffi.ModuleImportModule", args, 2, &result) == 0);
      if (i % 8 == 0) {
        CHECK(apply("ffi.ModuleClearImports", args, 1, &result) == 0);
      }
    } else {
      args[1] = any_of(kTVMFFIRawStr, (void *)"no_such_function");
      args[2] = any_of(kTVMFFIBool, (void *)1);
      CHECK(apply("ffi.ModuleGetFunction", args, 3, &result) == 0);
      any_drop(&result);
    }
  }
}
static void section_imports(void) {
  static const char *const prefix[] = {"threads_a.", "threads_b.",
                                       "threads_c."};
  int i;
  for (i = 0; i < 3; ++i) {
    TVMFFIAny arg = any_of(kTVMFFIRawStr, (void *)prefix[i]), result;
    CHECK(apply("ffi.SystemLib", &arg, 1, &result) == 0);
    if (i == 0) importing = result.v_obj;
    if (i != 0) imported[i - 1] = result.v_obj;
  }
  TOGETHER(3000, change_or_search);
}

/* ---- init once ---- */

enum { HANDLES = 2000 };
static void *handles[HANDLES];
static atomic_int inits[HANDLES], deinits;
static _Thread_local int current;

static int init_counted(void **out) {
  if (atomic_fetch_add(&inits[current], 1) == 0 && current % 5 == 0) {
    F.ErrorSetRaisedFromCStr("ValueError", "the first time fails");
    return -1;
  }
  sched_yield();
  *out = &inits[current];
  return 0;
}
static int deinit_counted(void *handle) {
  (void)handle;
  atomic_fetch_add(&deinits, 1);
  return 0;
}
static void init_handles(int thread, int rounds) {
  int i;
  (void)thread;
  for (i = 0; i < rounds && i < HANDLES; ++i) {
    int rc;
    current = i;
    rc = F.HandleInitOnce(&handles[i], init_counted);
    if (rc != 0) {
      Obj e = error_take();
      CHECK(e != NULL && error_is(e, "ValueError"));
      F.ObjectDecRef(e);
    } else {
      CHECK(__atomic_load_n(&handles[i], __ATOMIC_ACQUIRE) == &inits[i]);
    }
  }
}
static void deinit_handles(int thread, int rounds) {
  int i;
  (void)thread;
  for (i = 0; i < rounds && i < HANDLES; ++i) {
    CHECK(F.HandleDeinitOnce(&handles[i], deinit_counted) == 0);
  }
}
static void section_init_once(void) {
  int i, n = HANDLES / SLOW;
  TOGETHER(HANDLES - SLOW, init_handles);
  for (i = 0; i < n; ++i) {
    CHECK(atomic_load(&inits[i]) == (i % 5 == 0 ? 2 : 1));
  }
  TOGETHER(HANDLES - SLOW, deinit_handles);
  CHECK(atomic_load(&deinits) == n);
}

/* Two handles that need each other, begun from both ends: no order can work
 * for all, but none may hang. */
static void *pair[2];
static int init_a(void **out);
static int init_b(void **out) {
  int rc;
  sched_yield();
  rc = F.HandleInitOnce(&pair[0], init_a);
  *out = &pair[1];
  return rc;
}
static int init_a(void **out) {
  int rc;
  sched_yield();
  rc = F.HandleInitOnce(&pair[1], init_b);
  *out = &pair[0];
  return rc;
}
static void init_pair(int thread, int rounds) {
  int i;
  for (i = 0; i < rounds; ++i) {
    int rc = F.HandleInitOnce(&pair[thread & 1], thread & 1 ? init_b : init_a);
    Obj e = error_take();
    CHECK((rc != 0) == (e != NULL));
    if (e != NULL) F.ObjectDecRef(e);
  }
}
/* One handle whose init needs another, from both ends: this works. */
static void *outer, *inner;
static atomic_int outer_inits, inner_inits;
static int init_inner(void **out) {
  atomic_fetch_add(&inner_inits, 1);
  sched_yield();
  *out = &inner;
  return 0;
}
static int init_outer(void **out) {
  atomic_fetch_add(&outer_inits, 1);
  sched_yield();
  *out = &outer;
  return F.HandleInitOnce(&inner, init_inner);
}
static void init_nested(int thread, int rounds) {
  (void)rounds;
  if (thread & 1) CHECK(F.HandleInitOnce(&inner, init_inner) == 0);
  CHECK(F.HandleInitOnce(&outer, init_outer) == 0);
  CHECK(__atomic_load_n(&outer, __ATOMIC_ACQUIRE) == &outer);
}
static void section_init_pair(void) { TOGETHER(300, init_pair); }
static void section_init_nested(void) {
  int i;
  for (i = 0; i < 100 / SLOW + 1; ++i) {
    outer = inner = NULL;
    atomic_store(&outer_inits, 0);
    atomic_store(&inner_inits, 0);
    TOGETHER(1, init_nested);
    CHECK(atomic_load(&outer_inits) == 1 && atomic_load(&inner_inits) == 1);
  }
}

/* ---- references ---- */

static TVMFFIObject counted;
static atomic_int strong_deaths, weak_deaths, promoted;
static void count_death(void *self, int flags) {
  (void)self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    atomic_fetch_add(&strong_deaths, 1);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) {
    if (atomic_load(&strong_deaths) != 1) {
      broken("the content dies before the memory", __LINE__);
    }
    atomic_fetch_add(&weak_deaths, 1);
  }
}
static void count_references(int thread, int rounds) {
  int i;
  (void)thread;
  for (i = 0; i < rounds; ++i) {
    TVMFFIAny view = any_obj(&counted), own = any_none();
    CHECK(F.ObjectIncRef(&counted) == 0);
    CHECK(F.AnyViewToOwnedAny(&view, &own) == 0);
    CHECK(F.ObjectDecRef(&counted) == 0);
    CHECK(F.ObjectDecRef(own.v_obj) == 0);
  }
  CHECK(F.ObjectDecRef(&counted) == 0);
}
static void section_references(void) {
  memset(&counted, 0, sizeof counted);
  counted.combined_ref_count = ((uint64_t)1 << 32) | THREADS;
  counted.type_index = kTVMFFIObject;
  counted.deleter = count_death;
  TOGETHER(100000, count_references);
  CHECK(atomic_load(&strong_deaths) == 1 && atomic_load(&weak_deaths) == 1);
}

/* Weak references are counted inline by clients, as the C++ headers do. */
static int promote(TVMFFIObject *o) {
  uint64_t old = __atomic_load_n(&o->combined_ref_count, __ATOMIC_RELAXED);
  while ((old & 0xFFFFFFFFu) != 0) {
    if (__atomic_compare_exchange_n(&o->combined_ref_count, &old, old + 1, 1,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      return 1;
    }
  }
  return 0;
}
static void drop_weak(TVMFFIObject *o) {
  uint64_t one = (uint64_t)1 << 32;
  if (__atomic_fetch_sub(&o->combined_ref_count, one, __ATOMIC_ACQ_REL) ==
      one) {
    o->deleter(o, kTVMFFIObjectDeleterFlagBitMaskWeak);
  }
}
static void promote_or_drop(int thread, int rounds) {
  if (thread == 0) {
    sched_yield();
    CHECK(F.ObjectDecRef(&counted) == 0);
    return;
  }
  while (rounds-- > 0 && promote(&counted)) {
    CHECK(atomic_load(&strong_deaths) == 0);
    atomic_fetch_add(&promoted, 1);
    CHECK(F.ObjectDecRef(&counted) == 0);
  }
  CHECK(atomic_load(&strong_deaths) <= 1);
  drop_weak(&counted);
}
static void section_weak_references(void) {
  int i;
  for (i = 0; i < 200 / SLOW + 1; ++i) {
    memset(&counted, 0, sizeof counted);
    counted.combined_ref_count = ((uint64_t)THREADS << 32) | 1;
    counted.type_index = kTVMFFIObject;
    counted.deleter = count_death;
    atomic_store(&strong_deaths, 0);
    atomic_store(&weak_deaths, 0);
    TOGETHER(100, promote_or_drop);
    CHECK(atomic_load(&strong_deaths) == 1);
    CHECK(atomic_load(&weak_deaths) == 1);
  }
}

/* ---- tensors ---- */

static Obj source;
static atomic_int source_deleted;
static void delete_source(DLManagedTensor *t) {
  (void)t;
  atomic_fetch_add(&source_deleted, 1);
}
static void share_tensor(int thread, int rounds) {
  int i;
  for (i = 0; i < rounds; ++i) {
    TVMFFIObjectHandle view = NULL, again = NULL;
    DLManagedTensor *legacy = NULL;
    DLManagedTensorVersioned *versioned = NULL;
    CHECK(F.TensorCreateUnsafeView(source, tensor_cell(source), &view) == 0);
    CHECK(F.TensorToDLPack(thread & 1 ? source : view, &legacy) == 0);
    CHECK(F.TensorToDLPackVersioned(source, &versioned) == 0);
    CHECK(F.TensorFromDLPack(legacy, 0, 1, &again) == 0);
    CHECK(tensor_cell(again)->shape[1] == 3);
    F.ObjectDecRef(view);
    F.ObjectDecRef(again);
    versioned->deleter(versioned);
  }
  F.ObjectDecRef(source);
}
static void section_tensors(void) {
  struct sample *s = sample_new();
  TVMFFIObjectHandle t = NULL;
  int i;
  s->legacy.deleter = delete_source;
  CHECK(F.TensorFromDLPack(&s->legacy, 0, 0, &t) == 0);
  source = (Obj)t;
  for (i = 1; i < THREADS; ++i) F.ObjectIncRef(source);
  TOGETHER(20000, share_tensor);
  CHECK(atomic_load(&source_deleted) == 1);
}

/* ---- fork ---- */

/* One thread forks while the others write to the registries; in the child,
   which is that thread alone, they must be neither locked nor torn. */
static atomic_int forked;
static void fork_or_register(int thread, int rounds) {
  int status, i;
  pid_t pid;
  if (thread) {
    while (!atomic_load(&forked)) symbols(thread, 10);
    return;
  }
  for (i = 0; i < rounds; ++i) {
    pid = fork();
    if (pid == 0) {
      alarm(CHILD_SECONDS);
      _exit(make_type("threads.child") >= 128 ? 0 : 1);
    }
    CHECK(pid > 0);
    status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    CHECK(status == 0);
  }
  atomic_store(&forked, 1);
}
static void section_fork(void) {
  CHECK(make_type("threads.before.fork") >= 128);
  TOGETHER(100, fork_or_register);
}

/* Forks `rounds` times and waits for each child, whose status is 0 if
 * `in_child` returns 1 before the alarm. The threads that run beside it end
 * when `forked` is set. */
static void fork_rounds(int rounds, int (*in_child)(int round)) {
  int status, i;
  for (i = 0; i < rounds; ++i) {
    pid_t pid = fork();
    if (pid == 0) {
      alarm(CHILD_SECONDS);
      _exit(in_child(i) ? 0 : 1);
    }
    status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) {
      broken(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
                 ? "the child does not hang"
                 : "the child works",
             __LINE__);
      break;
    }
  }
  atomic_store(&forked, 1);
}

/* A thread that reads a global function at the fork is not in the child, where
 * the function is replaced and removed. The child forks once more. */
static int replace_in_child(int round) {
  TVMFFIObjectHandle remove = NULL, found = NULL;
  Obj f = make_function();
  TVMFFIAny arg = any_of(kTVMFFIRawStr, (void *)"threads.fork.read");
  TVMFFIAny result = any_none();
  int status = -1;
  if (F.FunctionSetGlobal(STR("threads.fork.read"), f, 1) != 0) return 0;
  if (F.FunctionGetGlobal(STR("threads.fork.read"), &found) != 0) return 0;
  if (found != f) return 0;
  if (F.FunctionGetGlobal(STR("ffi.FunctionRemoveGlobal"), &remove) != 0 ||
      F.FunctionCall(remove, &arg, 1, &result) != 0 || result.v_int64 != 1) {
    return 0;
  }
  if (round % 10 == 0) {
    pid_t pid = fork();
    if (pid == 0) {
      alarm(CHILD_SECONDS);
      _exit(F.FunctionSetGlobal(STR("threads.fork.read"), f, 1) == 0 ? 0 : 1);
    }
    return waitpid(pid, &status, 0) == pid && status == 0;
  }
  return 1;
}
static void fork_or_read(int thread, int rounds) {
  TVMFFIObjectHandle f = NULL, metadata = NULL;
  if (thread == 0) {
    fork_rounds(rounds, replace_in_child);
  } else if (thread == 1) {
    while (!atomic_load(&forked)) {
      if (F.FunctionGetGlobal(STR("threads.fork.read"), &f) == 0) {
        F.ObjectDecRef(f);
      }
    }
  } else if (thread == 2) {
    F.FunctionGetGlobal(STR("ffi.GetGlobalFuncMetadata"), &metadata);
    while (metadata != NULL && !atomic_load(&forked)) {
      TVMFFIAny arg = any_of(kTVMFFIRawStr, (void *)"threads.fork.read");
      TVMFFIAny result = any_none();
      CHECK(F.FunctionCall(metadata, &arg, 1, &result) == 0);
      any_drop(&result);
    }
  }
}
static void section_fork_readers(void) {
  TVMFFIMethodInfo m;
  Obj f = make_function();
  memset(&m, 0, sizeof m);
  m.name = text_of("threads.fork.read");
  m.metadata = text_of("{\"type_schema\":\"{}\"}");
  m.method = any_obj(f);
  CHECK(F.FunctionSetGlobalFromMethodInfo(&m, 0) == 0);
  TOGETHER(200, fork_or_read);
}

/* Threads that make handles, or wait for one, are not in the child, which
 * makes the same handles and another one. */
enum { SHARED_HANDLES = 2 };
static void *shared_handles[SHARED_HANDLES + 1], *childs_handle;
static int init_slowly(void **out) {
  int i;
  for (i = 0; i < 3; ++i) sched_yield();
  *out = &report;
  return 0;
}
static int deinit_nothing(void *handle) {
  (void)handle;
  return 0;
}
static int make_in_child(int round) {
  int i;
  (void)round;
  for (i = 0; i <= SHARED_HANDLES; ++i) {
    if (F.HandleInitOnce(&shared_handles[i], init_slowly) != 0) return 0;
  }
  return F.HandleInitOnce(&childs_handle, init_slowly) == 0 &&
         make_type("threads.fork.child") >= 128;
}
/* Forks while it makes a handle itself: parent and child both go on. */
static pid_t init_pid;
static int init_forking(void **out) {
  init_pid = fork();
  if (init_pid == 0) {
    alarm(CHILD_SECONDS);
    if (!make_in_child(0)) _exit(1);
  }
  *out = &report;
  return 0;
}
static void fork_or_make(int thread, int rounds) {
  int i, status;
  if (thread == 0) {
    for (i = 0; i < rounds / 4; ++i) {
      void *handle = NULL;
      int rc = F.HandleInitOnce(&handle, init_forking);
      if (init_pid == 0) _exit(rc == 0 && handle == &report ? 0 : 1);
      status = -1;
      while (waitpid(init_pid, &status, 0) < 0 && errno == EINTR) {
      }
      if (rc != 0 || status != 0) {
        broken("a child that is forked by an init works", __LINE__);
      }
    }
    fork_rounds(rounds, make_in_child);
  } else if (thread <= 3) {
    void **handle = &shared_handles[thread == 3]; /* two wait for one */
    while (!atomic_load(&forked)) {
      CHECK(F.HandleInitOnce(handle, init_slowly) == 0);
      CHECK(F.HandleDeinitOnce(handle, deinit_nothing) == 0);
    }
  }
}
static void section_fork_makers(void) { TOGETHER(200, fork_or_make); }

/* The first use of the library is during a fork, whose handlers were chosen
 * before: a handler of another library lets it begin, and takes long. The
 * child uses what threads of the parent use at that moment. */
static atomic_int preparing, prepared;
static void prepare_slowly(void) {
  struct timespec t = {0, 3000000};
  atomic_store(&preparing, 1);
  nanosleep(&t, NULL);
}
static int init_until_forked(void **out) {
  while (!atomic_load(&prepared)) sched_yield();
  *out = &report;
  return 0;
}
static void *use_during_fork(void *arg) {
  const int id = *(int *)arg;
  Obj f = NULL;
  while (!atomic_load(&preparing)) sched_yield();
  if (id == 0) {
    F.HandleInitOnce(&shared_handles[0], init_until_forked);
    return NULL;
  }
  f = make_function();
  while (!atomic_load(&prepared)) {
    char name[40];
    static atomic_int n;
    sprintf(name, "threads.during.%d", atomic_fetch_add(&n, 1) % 1000);
    F.FunctionSetGlobal(STR("threads.during"), f, 1);
    if (F.FunctionSetGlobal(STR(name), f, 1)) break;
  }
  return NULL;
}
static int use_in_child(int round) {
  Obj f = make_function();
  (void)round;
  return F.HandleInitOnce(&shared_handles[0], init_slowly) == 0 &&
         F.FunctionSetGlobal(STR("threads.during"), f, 1) == 0 &&
         make_type("threads.during.child") >= 128;
}
static void use_first_in_fork(void) {
  enum { USERS = 4 };
  pthread_t thread[USERS];
  int id[USERS], i;
  pthread_atfork(prepare_slowly, NULL, NULL);
  for (i = 0; i < USERS; ++i) {
    id[i] = i;
    pthread_create(&thread[i], NULL, use_during_fork, &id[i]);
  }
  fork_rounds(1, use_in_child);
  atomic_store(&prepared, 1);
  for (i = 0; i < USERS; ++i) pthread_join(thread[i], NULL);
}
static void section_fork_first_use(void) {
  int i, status;
  for (i = 0; i < 60 / SLOW && !atomic_load(&report->broken); ++i) {
    pid_t pid = fork();
    if (pid == 0) {
      use_first_in_fork();
      _exit(0);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) broken("the process ends", __LINE__);
  }
}

/* ---- init functions that do not return ---- */

/* The thread of an init that ends or is cancelled makes nothing any more: who
 * waits for its handle makes it. */
static void *left_handles[2];
static atomic_int left_state; /* 1: the init runs; 2: it may leave */
static int left_by_cancel;
static int init_leaving(void **out) {
  int i;
  (void)out;
  atomic_store(&left_state, 1);
  while (atomic_load(&left_state) != 2) sched_yield();
  for (i = 0; i < 20; ++i) sched_yield(); /* the other one begins to wait */
  while (left_by_cancel) { /* ThreadSanitizer loses a cancelled pause() */
    sched_yield();
    pthread_testcancel();
  }
  pthread_exit(NULL);
  return 0;
}
static int init_leaving_outer(void **out) {
  *out = &report;
  return F.HandleInitOnce(&left_handles[0], init_leaving);
}
static void *leave_init(void *nested) {
  if (nested != NULL) {
    F.HandleInitOnce(&left_handles[1], init_leaving_outer);
  } else {
    F.HandleInitOnce(&left_handles[0], init_leaving);
  }
  broken("an init that leaves does not return", __LINE__);
  return NULL;
}
static void *make_left(void *arg) {
  (void)arg;
  if (F.HandleInitOnce(&left_handles[0], init_slowly) != 0 ||
      F.HandleInitOnce(&left_handles[1], init_slowly) != 0) {
    broken("an init that another thread left is made", __LINE__);
  }
  return NULL;
}
static void leave_inits(int by_cancel) {
  int i;
  left_by_cancel = by_cancel;
  for (i = 0; i < 100 / SLOW; ++i) {
    pthread_t leaving, waiting;
    void *other = NULL;
    atomic_store(&left_state, 0);
    left_handles[0] = left_handles[1] = NULL;
    CHECK(pthread_create(&leaving, NULL, leave_init,
                         i & 1 ? &left_handles : NULL) == 0);
    while (atomic_load(&left_state) != 1) sched_yield();
    CHECK(pthread_create(&waiting, NULL, make_left, NULL) == 0);
    atomic_store(&left_state, 2);
    if (by_cancel) {
      int k;
      for (k = 0; k < 30; ++k) sched_yield();
      CHECK(pthread_cancel(leaving) == 0);
    }
    CHECK(F.HandleInitOnce(&other, init_slowly) == 0);
    pthread_join(leaving, NULL);
    pthread_join(waiting, NULL);
    CHECK(left_handles[0] == &report && left_handles[1] == &report);
  }
}
static void section_init_exits(void) { leave_inits(0); }
static void section_init_cancelled(void) { leave_inits(1); }

/* A thread that is cancelled while it waits for a handle leaves no lock. */
static int init_until_told(void **out) {
  atomic_store(&left_state, 1);
  while (atomic_load(&left_state) != 2) sched_yield();
  *out = &report;
  return 0;
}
static void *make_until_told(void *arg) {
  (void)arg;
  F.HandleInitOnce(&left_handles[0], init_until_told);
  return NULL;
}
static void section_wait_cancelled(void) {
  int i, k;
  for (i = 0; i < 100 / SLOW; ++i) {
    pthread_t making, waiting;
    atomic_store(&left_state, 0);
    left_handles[0] = left_handles[1] = NULL;
    CHECK(pthread_create(&making, NULL, make_until_told, NULL) == 0);
    while (atomic_load(&left_state) != 1) sched_yield();
    CHECK(pthread_create(&waiting, NULL, make_left, NULL) == 0);
    for (k = 0; k < 30; ++k) sched_yield();
    CHECK(pthread_cancel(waiting) == 0);
    atomic_store(&left_state, 2);
    pthread_join(making, NULL);
    pthread_join(waiting, NULL);
    CHECK(left_handles[0] == &report);
    CHECK(make_type("threads.after.cancel") >= 128);
  }
}

/* A jump out of an init: the next call makes the handle. */
static jmp_buf before_init;
static int init_jumping(void **out) {
  (void)out;
  longjmp(before_init, 1);
  return 0;
}
static int init_jumping_outer(void **out) {
  *out = &report;
  return F.HandleInitOnce(&left_handles[0], init_jumping);
}
static void section_init_jumps(void) {
  static void *other;
  left_handles[0] = left_handles[1] = NULL;
  if (setjmp(before_init) == 0) {
    F.HandleInitOnce(&left_handles[1], init_jumping_outer);
    CHECK(!"an init that jumps does not return");
  }
  CHECK(F.HandleInitOnce(&other, init_slowly) == 0);
  TOGETHER(1, init_nested);
  CHECK(F.HandleInitOnce(&left_handles[1], init_slowly) == 0);
  CHECK(F.HandleInitOnce(&left_handles[0], init_slowly) == 0);
}

/* ---- all of it ---- */

/* Every thread does everything, each from another beginning. */
static void everything(int thread, int rounds) {
  static const work works[] = {
      set_functions, call_functions, remove_functions, register_types,
      look_up_types, raise_and_take, parse_and_print,  environment,
      symbols,       read_members,   read_column};
  int i, n = (int)(sizeof works / sizeof works[0]);
  for (i = 0; i < rounds; ++i) works[(thread + i) % n](thread, 20);
}
static void section_all_at_once(void) {
  struct sample *s = sample_new();
  TVMFFIObjectHandle t = NULL;
  int i;
  s->legacy.deleter = delete_source;
  CHECK(F.TensorFromDLPack(&s->legacy, 0, 0, &t) == 0);
  source = (Obj)t;
  for (i = 1; i < THREADS; ++i) F.ObjectIncRef(source);
  own_functions();
  reflected = make_type("threads.reflected");
  first_of_column = make_type("threads.column.first");
  TOGETHER(1000, set_functions, call_functions, register_types, add_members,
           write_column, read_column, raise_and_take, share_tensor);
  TOGETHER(1000, remove_functions, set_functions, look_up_types, read_members,
           read_column, call_functions, parse_and_print, environment);
  TOGETHER(500, everything);
  settle_functions();
}

/* The library's very first calls, from all threads at once. */
static void first_calls(int thread, int rounds) {
  int32_t index = 0;
  TVMFFIObjectHandle f = NULL;
  DLDataType d;
  (void)rounds;
  switch (thread % 4) {
    case 0:
      CHECK(F.TypeKeyToIndex(STR("ffi.Tensor"), &index) == 0);
      CHECK(index == kTVMFFITensor);
      break;
    case 1:
      CHECK(F.FunctionGetGlobal(STR("no.such"), &f) == 0 && f == NULL);
      break;
    case 2:
      CHECK(F.GetTypeInfo(kTVMFFIFunction) != NULL);
      CHECK(F.GetTypeInfo(kTVMFFIFunction)->type_depth == 1);
      break;
    default: CHECK(F.DataTypeFromString(STR("nonsense"), &d) != 0); break;
  }
  CHECK(make_type("threads.first") >= 128);
}
static void section_first_calls(void) { TOGETHER(1, first_calls); }

/* ---- running ---- */

#define SECTIONS(X)                                                      \
  X(first_calls) X(functions) X(claims) X(types) X(reflection)           \
  X(metadata) X(columns) X(errors) X(dtypes) X(environment) X(symbols)   \
  X(imports) X(init_once) X(init_pair) X(init_nested) X(references)      \
  X(weak_references) X(tensors) X(fork) X(fork_readers) X(fork_makers)   \
  X(fork_first_use) X(init_exits) X(init_cancelled) X(wait_cancelled)    \
  X(init_jumps) X(all_at_once)

static void run(const char *name, void (*section)(void)) {
  const char *outcome = "ok", *detail = "";
  struct timespec begin, end;
  int status;
  pid_t pid;
  char text[64];
  memset((void *)report, 0, sizeof *report);
  fflush(stdout);
  clock_gettime(CLOCK_MONOTONIC, &begin);
  pid = fork();
  if (pid == 0) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    alarm(SECTION_SECONDS);
    section();
    atomic_store(&report->ended, 1);
    fflush(NULL);
    exit(0); /* not _exit: a sanitizer tells its findings at exit */
  }
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (!atomic_load(&report->ended) || status != 0) {
    outcome = "crash";
    detail = text;
    if (!WIFSIGNALED(status)) {
      sprintf(text, "exit %d", WEXITSTATUS(status));
    } else if (WTERMSIG(status) == SIGALRM) {
      sprintf(text, "hangs");
    } else {
      snprintf(text, sizeof text, "%s", strsignal(WTERMSIG(status)));
    }
  } else if (atomic_load(&report->broken)) {
    outcome = "wrong";
    detail = report->check;
  } else {
    sprintf(text, "%.2f s",
            (double)(end.tv_sec - begin.tv_sec) +
                (double)(end.tv_nsec - begin.tv_nsec) * 1e-9);
    detail = text;
  }
  printf("%s\tholds\t%s\t%s\n", name, outcome, detail);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  robust_open(argv[1]);
  report = (struct report *)mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
#define X(name) \
  if (argc < 3 || strstr(#name, argv[2])) run(#name, section_##name);
  SECTIONS(X)
#undef X
  return 0;
}
