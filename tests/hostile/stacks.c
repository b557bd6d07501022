/* Hooks that nest on threads of every size: an error ends them, never the end
 * of the stack.
 *
 *   stacks LIBRARY [TEST]
 *
 * prints "name<TAB>wanted<TAB>outcome<TAB>detail" per test; each runs in a
 * child of its own, on a new thread. A test that nests deeper than its stack
 * has room for ends in a RecursionError, after which the thread can still do
 * the same once; one that nests as deep as programs do ends well. */
#include "robust.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>

static struct report {
  int ended;
  char text[200];
} *report;

/* Keeps the first complaint. */
static void complain(const char *what, const char *more, size_t size) {
  if (report->text[0]) return;
  snprintf(report->text, sizeof report->text, "%s %.*s", what, (int)size, more);
}

/* ---- calls and chains ---- */

typedef struct {
  TVMFFIObject base;
  TVMFFIAny child; /* owned */
} node;

static void delete_node(void *self, int flags) {
  node *n = (node *)self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) any_drop(&n->child);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) free(n);
}

/* A node of this type; takes the child. */
static TVMFFIAny make_node(int32_t type, TVMFFIAny child) {
  node *n = (node *)calloc(1, sizeof *n);
  if (n == NULL) _exit(98);
  n->base.combined_ref_count = ((uint64_t)1 << 32) | 1;
  n->base.type_index = type;
  n->base.deleter = delete_node;
  n->child = child;
  return any_obj(n);
}
static TVMFFIAny child_of(const TVMFFIAny *a) {
  return ((node *)a->v_obj)->child;
}

static int call(const char *name, const TVMFFIAny *args, int n, TVMFFIAny *r) {
  TVMFFIObjectHandle f = NULL;
  int rc;
  *r = any_none();
  if (F.FunctionGetGlobal(STR(name), &f) != 0 || f == NULL) _exit(97);
  rc = F.FunctionCall(f, (TVMFFIAny *)(uintptr_t)args, n, r);
  F.ObjectDecRef(f);
  return rc;
}
static TVMFFIAny made(const char *name, const TVMFFIAny *args, int n) {
  TVMFFIAny r;
  if (call(name, args, n, &r) != 0) _exit(96);
  return r;
}
static TVMFFIAny any_bool(int x) {
  TVMFFIAny a = any_int(x);
  a.type_index = kTVMFFIBool;
  return a;
}
static TVMFFIAny function(TVMFFISafeCallType f) {
  TVMFFIObjectHandle out = NULL;
  int rc = F.FunctionCreate(NULL, f, NULL, &out);
  return any_obj(need(rc, out));
}

static int is_again; /* the second nest of a child */
static int32_t type_with_field(const char *key) {
  int32_t type = make_type(key);
  TVMFFITypeMetadata m;
  memset(&m, 0, sizeof m);
  m.total_size = sizeof(node);
  m.structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  if (is_again) return type;
  if (F.TypeRegisterMetadata(type, &m) != 0) _exit(95);
  return type;
}
static void set_hook(int32_t type, const char *name, TVMFFISafeCallType f) {
  TVMFFIAny hook = function(f);
  if (is_again) return;
  if (F.TypeRegisterAttr(type, STR(name), &hook) != 0) _exit(94);
}

/* ---- kinds of nests ---- */

static int depth; /* wanted */
static int left;  /* levels that a hook without a chain still enters */
static int fresh; /* hooks start anew, instead of calling their callback */
static int32_t type;
static TVMFFIAny one, other; /* chains of `depth` nodes */

static void make_chains(void) {
  int i;
  one = other = any_int(1);
  for (i = 0; i < depth; ++i) {
    one = make_node(type, one);
    other = make_node(type, other);
  }
}

#define HOOK(name)                                              \
  static int name(void *self, const TVMFFIAny *args, int32_t n, \
                  TVMFFIAny *result)

/* Calls the hook's callback, its last argument, or the function `name`. */
static int go_on(const char *name, const TVMFFIAny *callback, TVMFFIAny *args,
                 int n, TVMFFIAny *result) {
  if (fresh) return call(name, args, n, result);
  return F.FunctionCall(callback->v_obj, args, n, result);
}

HOOK(repr_hook) {
  TVMFFIAny next = child_of(&args[0]);
  (void)self;
  return go_on("ffi.ReprPrint", &args[n - 1], &next, 1, result);
}
HOOK(hash_hook) {
  TVMFFIAny next = child_of(&args[0]);
  (void)self;
  return go_on("ffi.RecursiveHash", &args[n - 1], &next, 1, result);
}
HOOK(eq_hook) {
  TVMFFIAny next[2] = {child_of(&args[0]), child_of(&args[1])};
  (void)self;
  return go_on("ffi.RecursiveEq", &args[n - 1], next, 2, result);
}
HOOK(compare_hook) {
  TVMFFIAny next[2] = {child_of(&args[0]), child_of(&args[1])};
  int rc = go_on("ffi.RecursiveLt", &args[n - 1], next, 2, result);
  (void)self;
  if (rc == 0) *result = any_int(result->v_int64);
  return rc;
}
HOOK(s_equal_hook) {
  TVMFFIAny next[4] = {child_of(&args[0]), child_of(&args[1]), any_int(0),
                       any_none()};
  (void)self;
  if (fresh) next[2] = next[3] = any_bool(0);
  return go_on("ffi.StructuralEqual", &args[n - 1], next, 4, result);
}
HOOK(s_hash_hook) {
  TVMFFIAny next[3] = {child_of(&args[0]), args[1], any_int(0)};
  (void)self;
  if (fresh) next[1] = next[2] = any_bool(0);
  return go_on("ffi.StructuralHash", &args[n - 1], next, 3, result);
}

static int run_unary(const char *name) {
  TVMFFIAny r;
  int rc = call(name, &one, 1, &r);
  any_drop(&r);
  return rc;
}
static int run_binary(const char *name) {
  TVMFFIAny args[2] = {one, other}, r;
  return call(name, args, 2, &r);
}
static int run_structural(const char *name, int n) {
  TVMFFIAny args[4] = {one, other, any_bool(0), any_bool(0)}, r;
  if (n == 3) args[1] = any_bool(0);
  return call(name, args, n, &r);
}

#define KIND(id, attr, hook, expression)   \
  static void prepare_##id(void) {         \
    type = type_with_field("stacks." #id); \
    set_hook(type, attr, hook);            \
    make_chains();                         \
  }                                        \
  static int run_##id(void) { return expression; }

KIND(repr, "__ffi_repr__", repr_hook, run_unary("ffi.ReprPrint"))
KIND(hash, "__ffi_hash__", hash_hook, run_unary("ffi.RecursiveHash"))
KIND(eq, "__ffi_eq__", eq_hook, run_binary("ffi.RecursiveEq"))
KIND(lt, "__ffi_compare__", compare_hook, run_binary("ffi.RecursiveLt"))
KIND(structural_equal, "__s_equal__", s_equal_hook,
     run_structural("ffi.StructuralEqual", 4))
KIND(structural_hash, "__s_hash__", s_hash_hook,
     run_structural("ffi.StructuralHash", 3))

/* A key's own equality, which looks the next key up in a map. */
HOOK(any_equal_hook) {
  TVMFFIAny pair[2], next[2];
  int rc;
  (void)self, (void)n;
  next[1] = child_of(&args[1]);
  if (next[1].type_index == kTVMFFIInt) {
    *result = any_bool(1);
    return 0;
  }
  pair[0] = child_of(&args[0]);
  pair[1] = any_int(0);
  next[0] = made("ffi.Map", pair, 2);
  rc = call("ffi.MapCount", next, 2, result);
  any_drop(&next[0]);
  if (rc == 0) *result = any_bool(1);
  return rc;
}
HOOK(any_hash_hook) {
  (void)self, (void)args, (void)n;
  *result = any_int(3);
  return 0;
}
static void prepare_key(void) {
  type = type_with_field("stacks.key");
  set_hook(type, "__any_equal__", any_equal_hook);
  set_hook(type, "__any_hash__", any_hash_hook);
  make_chains();
}
static int run_key(void) {
  TVMFFIAny pair[2] = {one, any_int(0)}, next[2], r;
  int rc;
  next[0] = made("ffi.Map", pair, 2);
  next[1] = other;
  rc = call("ffi.MapCount", next, 2, &r);
  any_drop(&next[0]);
  return rc;
}

/* Two chains of structural keys, each the only key of a map, in one map. */
static TVMFFIAny text;
static void prepare_json_keys(void) {
  static const char *const entry[] = {
      "{\"type\":\"ffi.Map\",\"data\":[%d,0]},",
      "{\"type\":\"ffi.StructuralKey\",\"data\":{\"key\":%d,"
      "\"hash_i64\":1}},"};
  size_t room = (size_t)depth * 400 + 1000, at;
  char *json = (char *)malloc(room);
  int i, k, last[2], n = 1;
  if (json == NULL) _exit(98);
  at = (size_t)sprintf(json, "{\"nodes\":[{\"type\":\"int\",\"data\":1},");
  for (k = 0; k < 2; ++k) {
    last[k] = 0;
    for (i = 0; i < 2 * depth + 1; ++i, last[k] = n++)
      at += (size_t)sprintf(json + at, entry[(i + 1) % 2], last[k]);
  }
  at += (size_t)sprintf(json + at,
                        "{\"type\":\"ffi.Map\",\"data\":[%d,0,%d,0]}],"
                        "\"root_index\":%d}",
                        last[0], last[1], n);
  if (F.StringFromByteArray(BA(json, at), &text) != 0) _exit(98);
  free(json);
}
static int run_json_keys(void) {
  TVMFFIAny r;
  int rc = call("ffi.FromJSONGraphString", &text, 1, &r);
  any_drop(&r);
  return rc;
}

/* Visits: the callback visits the value once more, by the visitor or anew. */
static TVMFFIAny callbacks, list, none;
static const char *again;
HOOK(on_visit) {
  TVMFFIAny next[4] = {args[n > 1], args[0], none, any_int(0)};
  (void)self;
  if (left-- <= 0) {
    if (n > 1) *result = any_none();
    return 0;
  }
  if (fresh) {
    next[0] = args[0];
    next[1] = callbacks;
    return call("ffi.StructuralWalk", next, 4, result);
  }
  return call(again, next, 2, result);
}
static void prepare_visit(void) {
  TVMFFIAny pair[3] = {any_int(kTVMFFIList), any_none(), any_bool(0)}, row;
  pair[1] = function(on_visit);
  row = made("ffi.Array", pair, again[14] == 'M' ? 3 : 2);
  callbacks = made("ffi.Array", &row, 1);
  none = made("ffi.Array", NULL, 0);
  list = made("ffi.List", pair, 1);
}
static int run_visits(const char *name, int n) {
  TVMFFIAny args[4] = {list, callbacks, none, any_int(0)}, r;
  int rc;
  left = depth;
  rc = call(name, args, n, &r);
  any_drop(&r);
  return rc;
}
static int run_visit(void) { return run_visits("ffi.StructuralVisit", 2); }
static int run_walk(void) { return run_visits("ffi.StructuralWalk", 4); }
static void prepare_visits(void) {
  again = "ffi.StructuralVisitorVisit";
  prepare_visit();
}
static int run_mutate(void) { return run_visits("ffi.StructuralMutate", 2); }
static void prepare_mutate(void) {
  again = "ffi.StructuralMutatorMutate";
  prepare_visit();
}

/* A visitor's or mutator's hook that visits the child. */
HOOK(s_visit_hook) {
  TVMFFIAny next[2] = {args[0], child_of(&args[1])};
  (void)self, (void)n;
  if (!fresh) return call(again, next, 2, result);
  next[0] = next[1];
  next[1] = callbacks;
  return call(again[14] == 'M' ? "ffi.StructuralMutate" : "ffi.StructuralVisit",
              next, 2, result);
}
static void prepare_visit_hook(void) {
  prepare_visits();
  type = type_with_field("stacks.visit_hook");
  set_hook(type, "__s_visit__", s_visit_hook);
  make_chains();
  list = one;
}
static void prepare_mutate_hook(void) {
  prepare_mutate();
  type = type_with_field("stacks.mutate_hook");
  set_hook(type, "__s_mutate__", s_visit_hook);
  make_chains();
  list = one;
}

/* JSON of objects: the hook reads or writes the next level as a text. */
HOOK(to_json_hook) {
  TVMFFIAny next[2] = {child_of(&args[0]), any_none()}, r;
  int rc = call("ffi.ToJSONGraphString", next, 2, &r);
  (void)self, (void)n;
  any_drop(&r);
  if (rc == 0) *result = any_int(1);
  return rc;
}
static int write_json(void) {
  TVMFFIAny args[2] = {one, any_none()}, r;
  int rc = call("ffi.ToJSONGraphString", args, 2, &r);
  any_drop(&r);
  return rc;
}
KIND(to_json, "__data_to_json__", to_json_hook, write_json())
static int read_json(TVMFFIAny *result) {
  static const char json[] =
      "{\"root_index\":0,\"nodes\":[{\"type\":\"stacks.from_json\","
      "\"data\":1}]}";
  TVMFFIAny s;
  int rc;
  if (F.StringFromByteArray(BA(json, sizeof json - 1), &s) != 0) _exit(98);
  rc = call("ffi.FromJSONGraphString", &s, 1, result);
  any_drop(&s);
  return rc;
}
HOOK(from_json_hook) {
  (void)self, (void)args, (void)n;
  if (left-- > 0) return read_json(result);
  *result = make_node(type, any_int(1));
  return 0;
}
static void prepare_from_json(void) {
  type = type_with_field("stacks.from_json");
  set_hook(type, "__data_from_json__", from_json_hook);
}
static int run_from_json(void) {
  TVMFFIAny r;
  int rc;
  left = depth;
  rc = read_json(&r);
  any_drop(&r);
  return rc;
}

/* A copy that copies its child deeply, and a constructor that makes another. */
HOOK(copy_hook) {
  TVMFFIAny child = child_of(&args[0]), next;
  int rc = call("ffi.DeepCopy", &child, 1, &next);
  (void)self, (void)n;
  if (rc == 0) *result = make_node(type, next);
  return rc;
}
KIND(copy, "__ffi_shallow_copy__", copy_hook, run_unary("ffi.DeepCopy"))
HOOK(new_hook) {
  TVMFFIAny index = any_int(type), next = any_int(1);
  int rc = 0;
  (void)self, (void)args, (void)n;
  if (left-- > 0) rc = call("ffi.MakeObjectFromPackedArgs", &index, 1, &next);
  if (rc == 0) *result = make_node(type, next);
  return rc;
}
static void prepare_new(void) {
  type = type_with_field("stacks.new");
  set_hook(type, "__ffi_new__", new_hook);
}
static int run_new(void) {
  TVMFFIAny index = any_int(type), r;
  int rc;
  left = depth;
  rc = call("ffi.MakeObjectFromPackedArgs", &index, 1, &r);
  any_drop(&r);
  return rc;
}

/* What nests without hooks: destructors. */
static void prepare_release(void) {
  int i;
  one = any_int(1);
  for (i = 0; i < depth; ++i) {
    TVMFFIAny pair[2] = {any_int(1), one}, next;
    next = i % 3 == 0   ? made("ffi.Dict", pair, 2)
           : i % 3 == 1 ? made("ffi.List", &one, 1)
                        : made("ffi.Array", &one, 1);
    any_drop(&one);
    one = next;
  }
}
static int run_release(void) {
  any_drop(&one);
  return 0;
}

/* An error of a built-in function, whose trace is read for the first time. */
static TVMFFIAny map;
static void prepare_type_error(void) { map = made("ffi.Map", NULL, 0); }
static int run_type_error(void) {
  volatile char used[4096]; /* by the thread's own functions */
  TVMFFIAny args[2] = {map, any_int(0)}, r;
  Obj e;
  int rc;
  used[0] = 1;
  rc = call("ffi.ArrayGetItem", args, 2, &r);
  (void)used[0];
  if (rc == 0) return complain("no TypeError", "", 0), 0;
  e = error_take();
  if (!error_is(e, "TypeError")) complain("no TypeError", "", 0);
  F.ObjectDecRef(e);
  return 0;
}

/* ---- tests: each kind on each stack ---- */

struct kind {
  const char *name;
  int fresh, least_kb; /* the smallest stack that has room for one level */
  void (*prepare)(void);
  int (*run)(void);
};
static const struct kind kinds[] = {
    {"type_error", 0, 16, prepare_type_error, run_type_error},
    {"release", 0, 16, prepare_release, run_release},
    {"json_keys", 0, 64, prepare_json_keys, run_json_keys},
    {"repr", 0, 64, prepare_repr, run_repr},
    {"hash", 0, 64, prepare_hash, run_hash},
    {"eq", 0, 64, prepare_eq, run_eq},
    {"lt", 0, 64, prepare_lt, run_lt},
    {"structural_equal", 0, 64, prepare_structural_equal, run_structural_equal},
    {"structural_hash", 0, 64, prepare_structural_hash, run_structural_hash},
    {"repr_anew", 1, 64, prepare_repr, run_repr},
    {"hash_anew", 1, 64, prepare_hash, run_hash},
    {"eq_anew", 1, 64, prepare_eq, run_eq},
    {"lt_anew", 1, 64, prepare_lt, run_lt},
    {"structural_equal_anew", 1, 64, prepare_structural_equal,
     run_structural_equal},
    {"structural_hash_anew", 1, 64, prepare_structural_hash,
     run_structural_hash},
    {"key", 0, 64, prepare_key, run_key},
    {"visit", 0, 64, prepare_visits, run_visit},
    {"visit_hook", 0, 64, prepare_visit_hook, run_visit},
    {"visit_hook_anew", 1, 64, prepare_visit_hook, run_visit},
    {"mutate_hook", 0, 64, prepare_mutate_hook, run_mutate},
    {"mutate_hook_anew", 1, 64, prepare_mutate_hook, run_mutate},
    {"walk_anew", 1, 64, prepare_visits, run_walk},
    {"mutate", 0, 64, prepare_mutate, run_mutate},
    {"to_json", 0, 64, prepare_to_json, run_to_json},
    {"from_json", 0, 64, prepare_from_json, run_from_json},
    {"copy", 0, 64, prepare_copy, run_copy},
    {"new", 0, 64, prepare_new, run_new}};

enum { DEEP = 100000, USUAL = 1000, NUM_KINDS = sizeof kinds / sizeof *kinds };

/* Runs a kind: it ends well, or deep ones in a RecursionError. */
static void run_once(const struct kind *k, int may_fail) {
  int rc = k->run();
  Obj e = error_take();
  if (rc == 0 && e == NULL) return;
  if (e == NULL) {
    complain("a code without an error", "", 0);
    return;
  }
  if (!may_fail || !error_is(e, "RecursionError"))
    complain("an error:", error_cell(e)->message.data,
             error_cell(e)->message.size);
  F.ObjectDecRef(e);
}

static void *run_deep(void *arg) {
  const struct kind *k = (const struct kind *)arg;
  run_once(k, depth == DEEP);
  return NULL;
}
static void *run_one_level(void *arg) {
  const struct kind *k = (const struct kind *)arg;
  run_once(k, 0);
  return NULL;
}

static void *stack_of(size_t size) {
  char *m = (char *)mmap(NULL, size + 65536, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (m == MAP_FAILED || mprotect(m, 65536, PROT_NONE) != 0) _exit(93);
  return m + 65536;
}
static void on_thread(size_t kb, void *(*f)(void *), const struct kind *k) {
  pthread_attr_t attr;
  pthread_t t;
  pthread_attr_init(&attr);
  if (pthread_attr_setstack(&attr, stack_of(kb * 1024), kb * 1024) != 0 ||
      pthread_create(&t, &attr, f, (void *)(uintptr_t)k) != 0)
    _exit(92);
  pthread_join(t, NULL);
}

/* The same on a stack that is not the thread's, as a coroutine has. */
static ucontext_t here, there;
static const struct kind *there_kind;
static void on_coroutine(void) {
  run_deep((void *)(uintptr_t)there_kind);
  run_once(there_kind, depth == DEEP);
}
static void on_other_stack(size_t kb, const struct kind *k) {
  there_kind = k;
  if (getcontext(&there) != 0) _exit(91);
  there.uc_stack.ss_sp = stack_of(kb * 1024);
  there.uc_stack.ss_size = kb * 1024;
  there.uc_link = &here;
  makecontext(&there, on_coroutine, 0);
  if (swapcontext(&here, &there) != 0) _exit(90);
}

static void in_child(const struct kind *k, int kb, int levels, int coroutine) {
  fresh = k->fresh;
  depth = levels;
  k->prepare();
  if (coroutine) {
    on_other_stack((size_t)kb, k);
    return;
  }
  on_thread((size_t)kb, run_deep, k);
  /* A deep chain is never freed, so the shallow one may have the same names. */
  if (levels == DEEP && kb >= k->least_kb && !report->text[0]) {
    depth = 1;
    is_again = 1;
    k->prepare();
    on_thread((size_t)kb, run_one_level, k);
  }
}

static void test(const struct kind *k, int kb, int levels, int coroutine) {
  char text[64] = "";
  const char *outcome = "ok", *detail = report->text;
  int status;
  pid_t pid;
  memset(report, 0, sizeof *report);
  fflush(stdout);
  pid = fork();
  if (pid == 0) {
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(120);
    in_child(k, kb, levels, coroutine);
    report->ended = 1;
    _exit(0);
  }
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!report->ended || status != 0) {
    outcome = "crash";
    detail = text;
    if (WIFSIGNALED(status))
      snprintf(text, sizeof text, "%s", strsignal(WTERMSIG(status)));
    else
      snprintf(text, sizeof text, "exits with %d", WEXITSTATUS(status));
  } else if (report->text[0] != 0) {
    outcome = "wrong";
  }
  printf("%s, %d levels, %s of %d KB\t%s\t%s\t%s\n", k->name, levels,
         coroutine ? "a coroutine" : "a thread", kb,
         levels == DEEP ? "holds" : "ends well", outcome, detail);
}

int main(int argc, char **argv) {
  static const int sizes[] = {16, 64, 128, 256, 512, 768, 8192};
  const int first = SANITIZED ? 3 : 0; /* their frames are larger */
  int i, s;
  if (argc < 2) return 2;
  robust_open(argv[1]);
  report = (struct report *)mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (i = 0; i < NUM_KINDS; ++i) {
    const struct kind *k = &kinds[i];
    if (argc > 2 && strstr(k->name, argv[2]) != k->name) continue;
    for (s = first; s < (int)(sizeof sizes / sizeof *sizes); ++s)
      test(k, sizes[s], DEEP, 0);
    test(k, 8192, USUAL, 0);
    test(k, SANITIZED ? 1024 : 256, DEEP, 1);
  }
  return 0;
}
