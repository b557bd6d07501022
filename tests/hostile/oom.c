/* Refused memory. This program defines malloc and its family, so that the
 * library under test uses these; they can refuse the N-th allocation, or all
 * from the N-th on, while one call of the ABI runs. N counts up until the
 * call no longer gets that far.
 *
 *   oom LIBRARY
 *
 * prints "name<TAB>wanted<TAB>outcome<TAB>detail" per call, way and state.
 * A call may fail or do without; if it fails there is an error to take, of
 * kind MemoryError; nothing is lost, and the same call works afterwards. Each
 * N is tried in a child of its own, warm (the call was made before) and, for
 * some calls, cold (it is the library's first). */
#include "robust.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#if !defined(__GLIBC__)
#error "the allocator's other entries, __libc_malloc and so on, are glibc's"
#endif

/* ---- the allocator ---- */

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static int armed, forever;
static long seen, refuse_at, refused, live;
static uintptr_t loader_begin, loader_end;

/* The dynamic loader ends the process when it gets no memory for a thread's
 * variables: what it asks for itself is never refused. */
static int refuse(uintptr_t caller) {
  if (!armed) return 0;
  if (caller >= loader_begin && caller < loader_end) return 0;
  ++seen;
  if (seen == refuse_at || (forever && seen > refuse_at)) {
    ++refused;
    errno = ENOMEM;
    return 1;
  }
  return 0;
}
#define REFUSED refuse((uintptr_t)__builtin_return_address(0))

void *malloc(size_t size) {
  void *p = REFUSED ? NULL : __libc_malloc(size);
  live += p != NULL;
  return p;
}
void *calloc(size_t n, size_t size) {
  void *p = REFUSED ? NULL : __libc_calloc(n, size);
  live += p != NULL;
  return p;
}
void *realloc(void *old, size_t size) {
  void *p;
  if (old != NULL && size == 0) {
    --live;
    __libc_free(old);
    return NULL;
  }
  p = REFUSED ? NULL : __libc_realloc(old, size);
  live += p != NULL && old == NULL;
  return p;
}
void *memalign(size_t alignment, size_t size) {
  void *p = REFUSED ? NULL : __libc_memalign(alignment, size);
  live += p != NULL;
  return p;
}
void *aligned_alloc(size_t alignment, size_t size) {
  void *p = REFUSED ? NULL : __libc_memalign(alignment, size);
  live += p != NULL;
  return p;
}
int posix_memalign(void **out, size_t alignment, size_t size) {
  void *p = REFUSED ? NULL : __libc_memalign(alignment, size);
  live += p != NULL;
  if (p == NULL) return ENOMEM;
  *out = p;
  return 0;
}
void free(void *p) {
  live -= p != NULL;
  __libc_free(p);
}

static int find_loader(struct dl_phdr_info *info, size_t size, void *arg) {
  int i;
  (void)size, (void)arg;
  if (info->dlpi_addr == 0 || info->dlpi_addr != getauxval(AT_BASE)) return 0;
  for (i = 0; i < info->dlpi_phnum; ++i) {
    uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
                    info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && end > loader_end) {
      loader_end = end;
    }
  }
  loader_begin = info->dlpi_addr;
  return 1;
}

/* ---- the calls ---- */

/* What a call works on. Everything is made by prepare, and dropped by the
 * common clean-up, so that each block can be accounted for. */
static struct {
  Obj in[3];
  TVMFFIObjectHandle out;
  TVMFFIAny any;
  DLManagedTensor *legacy;
  DLManagedTensorVersioned *versioned;
  struct sample *sample;
  void *once;
  int32_t type;
  char name[40];
} w;
static int serial; /* a new name for each registration */

enum {
  ADDS = 1,    /* what it registers is kept for good */
  RAISES = 2,  /* returns nothing, but raises */
  NO_SLOT = 4, /* its error need not be in the slot */
  COLD = 8     /* is also tried as the library's first call */
};
struct op {
  const char *name;
  int flags;
  void (*prepare)(void);
  int (*call)(void);
};

static void new_name(void) { sprintf(w.name, "oom.name.%d", ++serial); }
#define NAME STR(w.name)
static void with_type(void) {
  new_name();
  w.type = make_type(w.name);
  sprintf(w.name, "n%d", ++serial);
}
static void with_function(void) {
  new_name();
  w.in[0] = make_function();
}
static void with_global(void) {
  w.in[0] = make_function();
  strcpy(w.name, "oom.global");
  need(F.FunctionSetGlobal(NAME, w.in[0], 1), w.in[0]);
}
static void with_sample(void) { w.sample = sample_new(); }
static void with_tensor(void) {
  with_sample();
  w.sample->legacy.dl_tensor.strides = NULL;
  need(F.TensorFromDLPack(&w.sample->legacy, 0, 0, &w.out), &w.sample);
  w.in[0] = (Obj)w.out;
  w.out = NULL;
}
static void with_error(void) { w.in[0] = make_error("ValueError", "m"); }
static void with_errors(void) {
  with_error();
  w.in[1] = make_str();
}
static int allocate(DLTensor *prototype, DLManagedTensorVersioned **out,
                    void *context,
                    void (*raise)(void *, const char *, const char *)) {
  (void)prototype, (void)context, (void)raise;
  *out = &w.sample->versioned;
  return 0;
}
static int allocate_fails(DLTensor *prototype, DLManagedTensorVersioned **out,
                          void *context,
                          void (*raise)(void *, const char *, const char *)) {
  (void)prototype, (void)out;
  raise(context, "MemoryError", "the environment has none left");
  return -1;
}
static void with_allocator(void) {
  with_sample();
  w.sample->versioned.dl_tensor.strides = NULL;
  F.EnvSetDLPackManagedTensorAllocator(allocate, 0, NULL);
}
static void with_failing_allocator(void) {
  with_sample();
  F.EnvSetDLPackManagedTensorAllocator(allocate_fails, 0, NULL);
}
static void with_handle(void) { w.once = NULL; }

static int string(void) {
  return F.StringFromByteArray(STR("a string that needs memory"), &w.any);
}
static int bytes(void) {
  return F.BytesFromByteArray(STR("bytes that need some memory"), &w.any);
}
static int bigint(void) {
  static const char words[] = "three words of eight ...";
  return F.BigIntFromByteArray(BA(words, 24), &w.any);
}
static int own_raw(void) {
  TVMFFIAny v = any_of(kTVMFFIRawStr, (void *)"a raw string, not a small one");
  return F.AnyViewToOwnedAny(&v, &w.any);
}
static int own_bytes(void) {
  TVMFFIByteArray b = text_of("a byte array, not a small one");
  TVMFFIAny v = any_of(kTVMFFIByteArrayPtr, &b);
  return F.AnyViewToOwnedAny(&v, &w.any);
}
static int dtype_parse(void) {
  DLDataType t;
  return F.DataTypeFromString(STR("float8_e4m3b11fnuzx16"), &t);
}
static int dtype_print(void) {
  DLDataType t = {kDLFloat8_e4m3b11fnuz, 8, 1024};
  return F.DataTypeToString(&t, &w.any);
}
static void nothing(void *self) { (void)self; }
static int function(void) {
  return F.FunctionCreate(&w, safe_answer, nothing, &w.out);
}
static int function_plain(void) {
  return F.FunctionCreate(NULL, safe_answer, NULL, &w.out);
}
static int opaque(void) {
  return F.ObjectCreateOpaque(&w, kTVMFFIOpaquePyObject, nothing, &w.out);
}
static int set_global(void) { return F.FunctionSetGlobal(NAME, w.in[0], 0); }
static int set_global_again(void) {
  return F.FunctionSetGlobal(NAME, w.in[0], 1);
}
static int set_info(int override) {
  TVMFFIMethodInfo m;
  memset(&m, 0, sizeof m);
  m.name = text_of(w.name);
  m.doc = text_of("a documentation of the function");
  m.metadata = text_of("{\"type_schema\": \"of the function\"}");
  m.method = any_obj(w.in[0]);
  return F.FunctionSetGlobalFromMethodInfo(&m, override);
}
static int set_global_info(void) { return set_info(0); }
static int set_global_info_again(void) { return set_info(1); }
static int get_global(void) { return F.FunctionGetGlobal(NAME, &w.out); }
static int get_global_missing(void) {
  return F.FunctionGetGlobal(STR("no.such.function.in.the.table"), &w.out);
}
static int call_function(void) {
  return F.FunctionCall(w.in[0], NULL, 0, &w.any);
}
static int error_create(void) {
  return F.ErrorCreate(STR("SomeLongErrorKind, longer than small"),
                       STR("a message that is longer than small strings"),
                       STR("a trace that is longer than small strings"),
                       &w.out);
}
static int error_create_with_cause(void) {
  return F.ErrorCreateWithCauseAndExtraContext(
      STR("SomeLongErrorKind, longer than small"),
      STR("a message that is longer than small strings"),
      STR("a trace that is longer than small strings"), w.in[0], w.in[1],
      &w.out);
}
static int raise_text(void) {
  F.ErrorSetRaisedFromCStr("SomeLongErrorKind, longer than small",
                           "a message that is longer than small strings");
  return 0;
}
static int raise_parts(void) {
  const char *parts[] = {"one long part of the message, ", NULL,
                         "and another long part of the message"};
  F.ErrorSetRaisedFromCStrParts("SomeLongErrorKind, longer than small", parts,
                                3);
  return 0;
}
static int raise_object(void) {
  F.ErrorSetRaised(w.in[0]);
  return 0;
}
static int update(int mode) {
  char text[300];
  memset(text, 't', sizeof text);
  error_cell(w.in[0])->update_backtrace(w.in[0], BA(text, sizeof text), mode);
  return 0;
}
static int update_replace(void) { return update(0); }
static int update_append(void) { return update(1); }
static int backtrace(void) {
  return F.Backtrace("file.c", 3, "function", 1) == NULL;
}
static int from_dlpack(void) {
  w.sample->legacy.dl_tensor.strides = NULL;
  return F.TensorFromDLPack(&w.sample->legacy, 0, 0, &w.out);
}
static int from_dlpack_versioned(void) {
  return F.TensorFromDLPackVersioned(&w.sample->versioned, 0, 0, &w.out);
}
static int to_dlpack(void) { return F.TensorToDLPack(w.in[0], &w.legacy); }
static int to_dlpack_versioned(void) {
  return F.TensorToDLPackVersioned(w.in[0], &w.versioned);
}
static int view(void) {
  return F.TensorCreateUnsafeView(w.in[0], tensor_cell(w.in[0]), &w.out);
}
static int env_tensor(void) {
  return F.EnvTensorAlloc(&w.sample->legacy.dl_tensor, &w.out);
}
static int env_tensor_fails(void) {
  return F.EnvTensorAlloc(&w.sample->legacy.dl_tensor, &w.out) == 0;
}
static int set_stream(void) {
  return F.EnvSetStream(kDLCUDA, ++serial, &w, NULL);
}
static int get_stream(void) {
  return F.EnvGetStream(kDLCUDA, 1000 + ++serial) != NULL;
}
static int new_type(void) {
  int32_t i = F.TypeGetOrAllocIndex(NAME, -1, 1, 3, 1, kTVMFFIObject);
  return i < 0 ? i : 0;
}
static int type_by_key(void) {
  int32_t i;
  return F.TypeKeyToIndex(STR("ffi.Function"), &i);
}
static int type_info(void) { return F.GetTypeInfo(kTVMFFIStr) == NULL; }
static int get_field(void *field, TVMFFIAny *result) {
  (void)field, (void)result;
  return 0;
}
static int new_field(void) {
  TVMFFIFieldInfo f;
  memset(&f, 0, sizeof f);
  f.name = text_of(w.name);
  f.doc = text_of("a documentation of the field");
  f.metadata = text_of("{\"type_schema\": \"of the field\"}");
  f.getter = get_field;
  f.flags = kTVMFFIFieldFlagBitMaskHasDefault;
  f.default_value_or_factory =
      any_of(kTVMFFIRawStr, (void *)"a default that is not a small string");
  return F.TypeRegisterField(w.type, &f);
}
static int new_method(void) {
  TVMFFIMethodInfo m;
  memset(&m, 0, sizeof m);
  m.name = text_of(w.name);
  m.doc = text_of("a documentation of the method");
  m.metadata = text_of("{\"type_schema\": \"of the method\"}");
  m.method = any_obj(w.in[0]);
  return F.TypeRegisterMethod(w.type, &m);
}
static void with_type_and_function(void) {
  with_type();
  w.in[0] = make_function();
}
static int new_metadata(void) {
  TVMFFITypeMetadata m;
  memset(&m, 0, sizeof m);
  m.doc = text_of("a documentation of the type");
  m.total_size = 24;
  return F.TypeRegisterMetadata(w.type, &m);
}
static int new_attribute(void) {
  TVMFFIAny v = any_of(kTVMFFIRawStr, (void *)"a value, no small string");
  return F.TypeRegisterAttr(w.type, NAME, &v);
}
static int attribute_in_column(void) {
  TVMFFIAny v = any_of(kTVMFFIRawStr, (void *)"a value, no small string");
  return F.TypeRegisterAttr(w.type, STR("oom.column"), &v);
}
static int new_column(void) {
  TVMFFIAny v = any_none();
  return F.TypeRegisterAttr(kTVMFFINone, NAME, &v);
}
static int column(void) {
  return F.GetTypeAttrColumn(STR("no.such.column.in.the.table")) != NULL;
}
static int context_symbol(void) {
  return F.EnvModRegisterContextSymbol(NAME[0].data, &w);
}
static int system_symbol(void) {
  return F.EnvModRegisterSystemLibSymbol(NAME[0].data, &w);
}
static int register_api(void) {
  return F.EnvRegisterCAPI("PyErr_CheckSignals", NULL);
}
static int register_api_fails(void) {
  return F.EnvRegisterCAPI("PyErr_NoSuchFunctionIsKnown", NULL) == 0;
}
static int init_handle(void **out) {
  *out = &w;
  return 0;
}
static int init_once(void) { return F.HandleInitOnce(&w.once, init_handle); }
static int set_allocator(void) { return F.SetCustomAllocator(NULL); }
static int custom_allocator(void) {
  TVMFFICustomAllocator *a = F.GetCustomAllocator();
  char *p = (char *)a->allocate(100, 8, kTVMFFIObject, a->context);
  if (p == NULL) return -1;
  ((TVMFFIObjectAllocHeader *)(void *)p - 1)->delete_space(p);
  return 0;
}
/* Calls that fail anyway, and need memory to say so. */
static int unknown_key(void) {
  int32_t i;
  return F.TypeKeyToIndex(STR("no.such.type.in.the.table"), &i) == 0;
}
static int unknown_dtype(void) {
  DLDataType t;
  return F.DataTypeFromString(STR("no.such.type.among.the.types"), &t) == 0;
}
static int wrong_handle(void) { return F.ErrorSetRaised(w.in[0]), 0; }
static void with_string(void) { w.in[0] = make_str(); }
static int unregistered_type(void) { return F.GetTypeInfo(123456) != NULL; }

static const struct op ops[] = {
    {"StringFromByteArray", COLD, NULL, string},
    {"BytesFromByteArray", COLD, NULL, bytes},
    {"BigIntFromByteArray", COLD, NULL, bigint},
    {"AnyViewToOwnedAny, raw string", COLD, NULL, own_raw},
    {"AnyViewToOwnedAny, byte array", COLD, NULL, own_bytes},
    {"DataTypeFromString", COLD, NULL, dtype_parse},
    {"DataTypeToString", COLD, NULL, dtype_print},
    {"FunctionCreate", COLD, NULL, function},
    {"FunctionCreate, plain", COLD, NULL, function_plain},
    {"ObjectCreateOpaque", COLD, NULL, opaque},
    {"FunctionSetGlobal", ADDS, with_function, set_global},
    {"FunctionSetGlobal, override", 0, with_global, set_global_again},
    {"FunctionSetGlobalFromMethodInfo", ADDS, with_function, set_global_info},
    {"FunctionSetGlobalFromMethodInfo, override", ADDS, with_global,
     set_global_info_again},
    {"FunctionGetGlobal", 0, with_global, get_global},
    {"FunctionGetGlobal, missing", COLD, NULL, get_global_missing},
    {"FunctionCall", 0, with_function, call_function},
    {"ErrorCreate", NO_SLOT | COLD, NULL, error_create},
    {"ErrorCreateWithCauseAndExtraContext", NO_SLOT, with_errors,
     error_create_with_cause},
    {"ErrorSetRaisedFromCStr", RAISES | COLD, NULL, raise_text},
    {"ErrorSetRaisedFromCStrParts", RAISES | COLD, NULL, raise_parts},
    {"ErrorSetRaised", RAISES, with_error, raise_object},
    {"ErrorSetRaised, not an error", RAISES, with_string, wrong_handle},
    {"update_backtrace, replace", 0, with_error, update_replace},
    {"update_backtrace, append", 0, with_error, update_append},
    {"Backtrace", NO_SLOT | COLD, NULL, backtrace},
    {"TensorFromDLPack", 0, with_sample, from_dlpack},
    {"TensorFromDLPackVersioned", 0, with_sample, from_dlpack_versioned},
    {"TensorToDLPack", 0, with_tensor, to_dlpack},
    {"TensorToDLPackVersioned", 0, with_tensor, to_dlpack_versioned},
    {"TensorCreateUnsafeView", 0, with_tensor, view},
    {"EnvTensorAlloc", 0, with_allocator, env_tensor},
    {"EnvTensorAlloc, which fails", RAISES, with_failing_allocator,
     env_tensor_fails},
    {"EnvSetStream", ADDS | COLD, NULL, set_stream},
    {"EnvGetStream", NO_SLOT | COLD, NULL, get_stream},
    {"TypeGetOrAllocIndex", ADDS | COLD, new_name, new_type},
    {"TypeKeyToIndex", COLD, NULL, type_by_key},
    {"TypeKeyToIndex, unknown", RAISES | COLD, NULL, unknown_key},
    {"GetTypeInfo", COLD, NULL, type_info},
    {"GetTypeInfo, unregistered", NO_SLOT | COLD, NULL, unregistered_type},
    {"TypeRegisterField", ADDS, with_type, new_field},
    {"TypeRegisterMethod", ADDS, with_type_and_function, new_method},
    {"TypeRegisterMetadata", ADDS, with_type, new_metadata},
    {"TypeRegisterAttr", ADDS, with_type, new_attribute},
    {"TypeRegisterAttr, column there", ADDS, with_type, attribute_in_column},
    {"TypeRegisterAttr, column only", ADDS | COLD, new_name, new_column},
    {"GetTypeAttrColumn", NO_SLOT | COLD, NULL, column},
    {"DataTypeFromString, unknown", RAISES | COLD, NULL, unknown_dtype},
    {"EnvModRegisterContextSymbol", ADDS | COLD, new_name, context_symbol},
    {"EnvModRegisterSystemLibSymbol", ADDS | COLD, new_name, system_symbol},
    {"EnvRegisterCAPI", COLD, NULL, register_api},
    {"EnvRegisterCAPI, unknown", RAISES | COLD, NULL, register_api_fails},
    {"HandleInitOnce", 0, with_handle, init_once},
    {"SetCustomAllocator", COLD, NULL, set_allocator},
    {"the default allocator", COLD, NULL, custom_allocator},
};

static void clean(void) {
  int i;
  if (w.out != NULL) F.ObjectDecRef(w.out);
  any_drop(&w.any);
  if (w.legacy != NULL) w.legacy->deleter(w.legacy);
  if (w.versioned != NULL) w.versioned->deleter(w.versioned);
  for (i = 0; i < 3; ++i) {
    if (w.in[i] != NULL) F.ObjectDecRef(w.in[i]);
  }
  free(w.sample);
  memset(&w, 0, sizeof w);
}

/* ---- one attempt ---- */

enum { KEPT, SUCCEEDED, FAILED }; /* KEPT: N was not reached */

static struct report {
  int ended, result, allocations;
  char problem[160];
} *report;

static void problem(const char *what) {
  if (report->problem[0] == 0) {
    snprintf(report->problem, sizeof report->problem, "%s", what);
  }
}

/* Makes the call with the N-th allocation refused, and takes its error. */
static int refused_call(const struct op *op, long n, int all, char *kind) {
  TVMFFIObjectHandle e = NULL;
  int rc;
  seen = refused = 0;
  refuse_at = n;
  forever = all;
  armed = 1;
  rc = op->call();
  F.ErrorMoveFromRaised(&e);
  if (e != NULL) {
    TVMFFIByteArray k = error_cell(e)->kind;
    snprintf(kind, 16, "%.*s", (int)k.size, k.data);
    F.ObjectDecRef(e);
  }
  armed = 0;
  return rc;
}

/* One attempt, on things of its own, judged. */
static int attempt(const struct op *op, long n, int all) {
  char kind[16] = "";
  int rc, raised;
  if (op->prepare != NULL) op->prepare();
  rc = refused_call(op, n, all, kind);
  raised = kind[0] != 0;
  report->allocations = (int)seen;
  if (rc != 0 && !raised && !(op->flags & NO_SLOT)) {
    problem("it failed without an error in the slot");
  }
  if (rc != 0 && refused > 0 && raised && strcmp(kind, "MemoryError")) {
    snprintf(report->problem, sizeof report->problem,
             "the error is not a MemoryError but %s", kind);
  }
  if (rc != 0 && refused == 0) problem("it failed, yet got all memory");
  if ((op->flags & RAISES) && !raised) problem("it raised nothing");
  if (!(op->flags & (RAISES | NO_SLOT)) && rc == 0 && raised) {
    problem("it succeeded, yet raised");
  }
  report->result = refused == 0 ? KEPT : rc != 0 ? FAILED : SUCCEEDED;
  return rc;
}

/* Makes the failing call again; gives whether blocks were left behind. */
static int grows(const struct op *op, long n, int all) {
  long before = live;
  char kind[16];
  int lost;
  if (!(op->flags & ADDS)) {
    attempt(op, n, all);
    clean();
    return live > before;
  }
  /* The call is made twice on the same things: what the first try registered
   * before it failed is there for the second. */
  attempt(op, n, all);
  before = live;
  lost = refused_call(op, n, all, kind) != 0 && live > before;
  clean();
  return lost;
}

static void child(const struct op *op, long n, int all, int cold) {
  struct rlimit none = {0, 0};
  int i, rc, grown = 0;
  setrlimit(RLIMIT_CORE, &none);
  alarm(60);
  if (!cold) {
    for (i = 0; i < 3; ++i) { /* caches and tables are filled */
      attempt(op, 0, 0);
      clean();
    }
    report->problem[0] = 0;
  }
  rc = attempt(op, n, all);
  if (rc != 0 && !(op->flags & RAISES)) {
    /* with memory the same call must work, on the very same things */
    TVMFFIObjectHandle e = NULL;
    if (op->call() != 0) problem("the same call fails afterwards");
    F.ErrorMoveFromRaised(&e);
    if (e != NULL) F.ObjectDecRef(e);
  }
  clean();
  /* Growth of a table is not lost memory; what grows each time is. */
  for (i = 0; i < 6 && !cold && !(rc == 0 && (op->flags & ADDS)); ++i) {
    grown += grows(op, n, all);
  }
  if (grown >= 4) problem("blocks are lost each time");
  i = 0;
  if (F.TypeKeyToIndex(STR("ffi.String"), &i) != 0 || i != 65) {
    problem("the library does not work afterwards");
  }
  report->ended = 1;
  _exit(0);
}

static void run(const struct op *op, int all, int cold) {
  long n;
  int crashes = 0, failures = 0, first = 0, end = 0;
  char what[200] = "";
  for (n = 1; n < 2000 && !end; ++n) {
    int status;
    pid_t pid;
    memset(report, 0, sizeof *report);
    fflush(stdout);
    pid = fork();
    if (pid == 0) child(op, n, all, cold);
    waitpid(pid, &status, 0);
    if (!report->ended || status != 0) {
      ++crashes;
      if (!first) first = (int)n;
      snprintf(what, sizeof what, "%s",
               WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit");
      /* A library that never gets through would go on for ever. */
      if (crashes > 40) end = 1;
    } else if (report->result == KEPT) {
      end = 1;
    } else {
      ++failures;
    }
    if (report->problem[0] != 0) {
      if (!first) first = (int)n;
      if (what[0] == 0) snprintf(what, sizeof what, "%s", report->problem);
    }
  }
  printf("%s, %s%s\tmemory\t%s\t", op->name,
         all ? "refused for good" : "refused once", cold ? ", cold" : "",
         crashes ? "crash"
         : first ? "wrong"
                 : "ok");
  if (first) {
    printf("allocation %d: %s (%d of %ld attempts crash)\n", first, what,
           crashes, n - 1);
  } else {
    printf("%d attempts\n", failures);
  }
}

int main(int argc, char **argv) {
  size_t i;
  int all, cold;
  if (argc < 2) return 2;
  dl_iterate_phdr(find_loader, NULL);
  robust_open(argv[1]);
  report = (struct report *)mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (i = 0; i < sizeof ops / sizeof ops[0]; ++i) {
    for (all = 0; all < 2; ++all) {
      for (cold = 0; cold < 2; ++cold) {
        if (cold && !(ops[i].flags & COLD)) continue;
        if (argc > 2 && strstr(ops[i].name, argv[2]) == NULL) continue;
        run(&ops[i], all, cold);
      }
    }
  }
  return 0;
}
