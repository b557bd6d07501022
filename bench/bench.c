/* bench.c: loads the runtimes, measures every row and prints what came out.
 *
 * Both runtimes live in one process, each bound to itself only: they are
 * opened with RTLD_LOCAL and the program shows, before it measures, that every
 * symbol comes from its own file and that the two share no state. Where that
 * cannot be (a library beside a copy of itself), --namespaces gives each a
 * link namespace, and with it a libc, of its own.
 *
 * A row is measured in rounds. In a round each subject (the limit, stock,
 * ours) runs its calibrated loop once, in an order that rotates; a round is
 * short beside a scheduler's time slice, so on a loaded machine many rounds
 * stay undisturbed and the minimum is a fair figure. Rounds go on until no
 * minimum falls any more.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#ifdef __linux__
#include <sched.h>
#endif
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define ROUND_NS 50000.0 /* what a round of one subject aims at */
#define BATCH 25         /* rounds between two looks at the minima */
#define SETTLED 0.995    /* a minimum that fell by less has settled */
#define ATTEMPTS 3       /* a failing row is measured again so often */
#define NOISE_RATIO 1.25 /* "not slower", with room for noise: a row fails */
#define NOISE_NS 1.5     /* only past both */

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

#ifdef __OPTIMIZE__
#define OPTIMISED 1
#else
#define OPTIMISED 0
#endif

enum { LIMIT, STOCK, OURS, SUBJECTS };

static const struct {
  const char *name;
  const bench_case *cases;
} groups[] = {
    {"call", bench_call},     {"refcount", bench_refcount},
    {"registry", bench_registry}, {"dtype", bench_dtype},
    {"error", bench_error},   {"string", bench_string},
    {"any", bench_any},       {"tensor", bench_tensor},
    {"object", bench_object}, {"array", bench_array},
    {"map", bench_map},       {"json", bench_json},
    {"structural", bench_structural},
};

#define GROUPS (sizeof groups / sizeof groups[0])

typedef struct options {
  const char *ours, *stock, *filter, *json;
  int brief, guard, namespaces, cpu;
} options;

typedef struct figure {
  double min, median; /* nanoseconds for one step; 0: not measured */
} figure;

typedef struct outcome {
  const char *group;
  const bench_case *row;
  figure figures[SUBJECTS];
} outcome;

static options option = {.ours = "libtvmffi.so", .cpu = -1};
static bench_lib ours = {.label = "ours"}, stock = {.label = "stock"};

/* Helpers of the benchmarks */

__attribute__((noreturn)) static void die(const char *what, const char *why) {
  fprintf(stderr, "bench: %s: %s\n", what, why);
  exit(2);
}

void *bench_alloc(size_t size) {
  void *p = malloc(size);
  if (!p) die("malloc", "out of memory");
  return p;
}

void bench_fail(const bench_lib *lib, const char *what) {
  TVMFFIObjectHandle error = NULL;
  const TVMFFIErrorCell *cell;
  lib->ErrorMoveFromRaised(&error);
  if (!error) die(lib->label, what);
  cell = bench_cell(error);
  fprintf(stderr, "bench: %s: %s: %.*s: ", lib->label, what,
          (int)cell->kind.size, cell->kind.data);
  die(lib->path, cell->message.data);
}

int bench_nothing(void *self, const TVMFFIAny *args, int32_t num_args,
                  TVMFFIAny *result) {
  (void)self;
  (void)args;
  (void)num_args;
  *result = bench_none();
  return 0;
}

TVMFFIObjectHandle bench_function(const bench_lib *lib, void *self,
                                  TVMFFISafeCallType safe_call,
                                  void (*deleter)(void *self)) {
  TVMFFIObjectHandle function = NULL;
  bench_need(lib, lib->FunctionCreate(self, safe_call, deleter, &function),
             "TVMFFIFunctionCreate");
  return function;
}

void bench_names_start(bench_names *names, const char *prefix) {
  static int users;
  int size = snprintf(names->text, sizeof names->text, "%s_%d_%08d", prefix,
                      ++users, 0);
  names->name = bench_bytes(names->text, (size_t)size);
}

/* Loading */

static void *open_library(const char *path) {
#ifdef LM_ID_NEWLM
  if (option.namespaces) return dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
#endif
  if (option.namespaces) die("--namespaces", "not supported by this libc");
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Copies the address of a function into its member, and sees to it that all
 * of a library's functions come out of one file. */
static void bind(bench_lib *lib, const char *name, void *member) {
  void *symbol = dlsym(lib->handle, name);
  Dl_info info;
  if (!symbol) die(lib->path, dlerror());
  if (!dladdr(symbol, &info)) die(name, "belongs to no library");
  if (!lib->path) lib->path = info.dli_fname;
  if (strcmp(lib->path, info.dli_fname) != 0) die(name, info.dli_fname);
  memcpy(member, &symbol, sizeof symbol);
}

static void load(bench_lib *lib, const char *path) {
  lib->handle = open_library(path);
  if (!lib->handle) die("cannot load", dlerror());
#define BENCH_BIND(name) bind(lib, "TVMFFI" #name, &lib->name);
  TVMFFI_FUNCTIONS(BENCH_BIND)
#undef BENCH_BIND
  /* The stock library takes SIGSEGV over when it is loaded. */
  signal(SIGSEGV, SIG_DFL);
}

/* A name and an error given to one runtime must not be seen by the other. */
static void check_isolation(const bench_lib *from, const bench_lib *to) {
  const TVMFFIByteArray name = bench_bytes(from->label, strlen(from->label));
  TVMFFIObjectHandle function, error;
  if (strcmp(from->path, to->path) == 0) die(to->path, "given twice");
  function = bench_function(from, NULL, bench_nothing, NULL);
  bench_need(from, from->FunctionSetGlobal(&name, function, 1), "set global");
  from->ObjectDecRef(function);
  bench_need(to, to->FunctionGetGlobal(&name, &function), "get global");
  from->ErrorSetRaisedFromCStr("ValueError", "isolation");
  to->ErrorMoveFromRaised(&error);
  if (function || error) die(to->path, "shares state; try --namespaces");
  from->ErrorMoveFromRaised(&error);
  from->ObjectDecRef(error);
}

/* Stays on one processor, where the system allows it. */
static int pin(void) {
#ifdef __linux__
  cpu_set_t set;
  int cpu = option.cpu < 0 ? sched_getcpu() : option.cpu;
  CPU_ZERO(&set);
  CPU_SET((unsigned)(cpu < 0 ? 0 : cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) == 0) return cpu;
  if (option.cpu >= 0) die("--cpu", "not allowed");
#endif
  return -1;
}

/* Measuring */

typedef struct contender {
  bench_loop loop; /* NULL: there is none */
  const bench_lib *lib;
  void *state;
  long n;
  int count;
  double samples[BENCH_MAX_ROUNDS];
} contender;

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_once(const contender *s, long n) {
  double start = now_ns();
  s->loop(s->lib, s->state, n);
  return now_ns() - start;
}

/* Doubles the loop until it is long enough to be judged, which also warms
 * caches up, then sets it to the length of a round. */
static void calibrate(contender *s, const bench_case *row) {
  double taken;
  s->n = row->fixed ? row->fixed : 1;
  if (row->fixed) return;
  for (;;) {
    taken = time_once(s, s->n);
    if (taken >= ROUND_NS / 2) break;
    if (s->n > LONG_MAX / 2) die(row->name, "the loop does no work");
    s->n *= 2;
  }
  s->n = (long)((double)s->n * ROUND_NS / taken);
  if (s->n < 1) s->n = 1;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double lowest(const contender *s) {
  double min = s->samples[0];
  for (int i = 1; i < s->count; ++i) {
    if (s->samples[i] < min) min = s->samples[i];
  }
  return min;
}

/* One more batch; whether a minimum still fell. Each batch has its stack at
 * another place: where a slot of it lies a multiple of 4096 bytes from a word
 * that is measured, the processor takes one for the other and loses time. */
static int run_batch(contender *subjects, int first_round, int rounds) {
  double before[SUBJECTS];
  int fell = first_round == 0;
  bench_keep(__builtin_alloca((size_t)first_round * 13 + 1));
  for (int k = 0; k < SUBJECTS; ++k) {
    before[k] = first_round ? lowest(&subjects[k]) : 0;
  }
  for (int round = first_round; round < first_round + rounds; ++round) {
    for (int turn = 0; turn < SUBJECTS; ++turn) {
      contender *s = &subjects[(round + turn) % SUBJECTS];
      if (!s->loop) continue;
      s->samples[s->count++] = time_once(s, s->n) / (double)s->n;
    }
  }
  for (int k = 0; k < SUBJECTS; ++k) {
    fell |= lowest(&subjects[k]) < before[k] * SETTLED;
  }
  return fell;
}

/* Keeps the lower minimum: a second measurement only adds rounds. */
static void summarise(contender *s, figure *out) {
  double min;
  if (!s->loop) return;
  qsort(s->samples, (size_t)s->count, sizeof *s->samples, ascending);
  min = s->samples[0];
  if (out->min == 0 || min < out->min) out->min = min;
  out->median = s->samples[s->count / 2];
}

static void prepare(contender *s, const bench_case *row, int side) {
  const bench_lib *lib = side == OURS ? &ours : &stock;
  memset(s, 0, sizeof *s);
  if (!lib->handle) return;
  s->loop = row->run[side - STOCK];
  s->lib = lib;
  if (row->setup) s->state = row->setup(lib, row->param);
  calibrate(s, row);
}

static void measure(outcome *out) {
  static contender subjects[SUBJECTS];
  contender *least = &subjects[LIMIT];
  const bench_case *row = out->row;
  int round = 0;
  prepare(&subjects[OURS], row, OURS);
  prepare(&subjects[STOCK], row, STOCK);
  memset(least, 0, sizeof *least);
  least->loop = row->limit;
  least->lib = &ours;
  least->state = subjects[OURS].state;
  if (least->loop) calibrate(least, row);
  while (run_batch(subjects, round, row->rounds ? row->rounds : BATCH) &&
         !row->rounds && round + BATCH < BENCH_MAX_ROUNDS) {
    round += BATCH;
  }
  for (int k = 0; k < SUBJECTS; ++k) summarise(&subjects[k], &out->figures[k]);
  for (int k = STOCK; k < SUBJECTS && row->teardown; ++k) {
    if (subjects[k].loop) row->teardown(subjects[k].lib, subjects[k].state);
  }
}

/* Reporting */

static double ratio(const outcome *r, int subject) {
  double base = r->figures[subject].min;
  return base > 0 ? r->figures[OURS].min / base : 0;
}

static void print_machine(int cpu) {
  char line[256], *model = NULL;
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file && !model && fgets(line, sizeof line, file)) {
    if (strncmp(line, "model name", 10) == 0) model = strchr(line, ':');
  }
  if (file) fclose(file);
  if (model) model[strcspn(model, "\n")] = '\0';
  printf("# machine: %s, ", model ? model + 2 : "unknown");
  printf(cpu < 0 ? "not pinned\n" : "pinned to processor %d\n", cpu);
  printf("# compiler: %s%s\n", COMPILER,
         OPTIMISED ? "" : ", WITHOUT OPTIMISATION: the figures mean nothing");
}

static void print_library(const bench_lib *lib) {
  TVMFFIVersion v;
  if (!lib->handle) return;
  lib->GetVersion(&v);
  printf("# %s: %s (ABI %u.%u.%u)\n", lib->label, lib->path, (unsigned)v.major,
         (unsigned)v.minor, (unsigned)v.patch);
}

static void print_ns(double ns) {
  if (ns <= 0) {
    printf(" %8s", "-");
  } else {
    printf(ns < 1000 ? " %8.2f" : " %8.0f", ns);
  }
}

static void print_ratio(double value) {
  if (value <= 0) {
    printf(" %7s", "-");
  } else {
    printf(" %6.2fx", value);
  }
}

static void print_head(void) {
  printf("%-37s %8s %8s %8s %7s %7s\n", "nanoseconds, the minimum", "limit",
         "stock", "ours", "/limit", "/stock");
}

static void print_row(const outcome *r) {
  printf("%-37s", r->row->name);
  for (int k = 0; k < SUBJECTS; ++k) print_ns(r->figures[k].min);
  print_ratio(ratio(r, LIMIT));
  print_ratio(ratio(r, STOCK));
  printf("\n");
  fflush(stdout);
}

static void print_summary(const outcome *results, int count) {
  printf("summary:");
  for (int i = 0; i < count; ++i) {
    printf("%s %s %.2fx the limit", i ? ";" : "", results[i].row->name,
           ratio(&results[i], LIMIT));
    if (stock.handle) printf(", %.2fx stock", ratio(&results[i], STOCK));
  }
  printf("\n");
}

static void json_text(FILE *file, const char *key, const char *text) {
  fprintf(file, "\"%s\": \"", key);
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
  }
  fputc('"', file);
}

static void json_row(FILE *file, const outcome *r) {
  static const char *const keys[SUBJECTS] = {"limit", "stock", "ours"};
  fprintf(file, "    {");
  json_text(file, "group", r->group);
  fprintf(file, ", ");
  json_text(file, "name", r->row->name);
  for (int k = 0; k < SUBJECTS; ++k) {
    if (r->figures[k].min <= 0) continue;
    fprintf(file, ", \"%s\": {\"min_ns\": %.3f, \"median_ns\": %.3f}", keys[k],
            r->figures[k].min, r->figures[k].median);
  }
  if (r->row->goal > 0) fprintf(file, ", \"goal\": %.2f", r->row->goal);
  fprintf(file, "}");
}

static void write_json(const outcome *results, int count) {
  FILE *file = fopen(option.json, "w");
  if (!file) die(option.json, "cannot be written");
  fprintf(file, "{\n  ");
  json_text(file, "compiler", COMPILER);
  fprintf(file, ",\n  ");
  json_text(file, "ours", ours.path);
  fprintf(file, ",\n  ");
  json_text(file, "stock", stock.handle ? stock.path : "");
  fprintf(file, ",\n  \"rows\": [\n");
  for (int i = 0; i < count; ++i) {
    json_row(file, &results[i]);
    fprintf(file, i + 1 < count ? ",\n" : "\n");
  }
  fprintf(file, "  ]\n}\n");
  if (fclose(file) != 0) die(option.json, "cannot be written");
}

/* The guard */

static int reaches_goal(const outcome *r) {
  double by = r->figures[OURS].min - r->figures[STOCK].min;
  if (r->row->goal > 0) return ratio(r, STOCK) <= r->row->goal;
  return ratio(r, STOCK) <= NOISE_RATIO || by <= NOISE_NS;
}

static int guard_row(outcome *r, int number) {
  int ok = reaches_goal(r);
  for (int attempt = 0; !ok && attempt < ATTEMPTS; ++attempt) {
    measure(r);
    ok = reaches_goal(r);
  }
  printf("%s %d - %s: %s: %.2f of stock, at most %.2f (%.2f and %.2f ns)\n",
         ok ? "ok" : "not ok", number, r->group, r->row->name, ratio(r, STOCK),
         r->row->goal > 0 ? r->row->goal : NOISE_RATIO, r->figures[OURS].min,
         r->figures[STOCK].min);
  fflush(stdout);
  return ok;
}

/* The program */

static const char usage[] =
    "usage: bench [options]\n"
    "  --ours PATH     our library (libtvmffi.so)\n"
    "  --stock PATH    the stock libtvm_ffi.so, to be compared with\n"
    "  --short         the call and the reference count only\n"
    "  --filter TEXT   only rows with TEXT in \"group: name\"\n"
    "  --json FILE     also write the figures to FILE\n"
    "  --guard         check the ratios to stock; TAP output, exit status 1\n"
    "                  when a row fails\n"
    "  --cpu N         run on processor N\n"
    "  --namespaces    load each library into a link namespace of its own\n";

static const char *value_of(char **argv, int *i) {
  if (!argv[*i + 1]) die(argv[*i], "needs a value");
  return argv[++*i];
}

static void parse_options(char **argv) {
  for (int i = 1; argv[i]; ++i) {
    const char *a = argv[i];
    if (strcmp(a, "--ours") == 0) option.ours = value_of(argv, &i);
    else if (strcmp(a, "--stock") == 0) option.stock = value_of(argv, &i);
    else if (strcmp(a, "--filter") == 0) option.filter = value_of(argv, &i);
    else if (strcmp(a, "--json") == 0) option.json = value_of(argv, &i);
    else if (strcmp(a, "--cpu") == 0) option.cpu = atoi(value_of(argv, &i));
    else if (strcmp(a, "--short") == 0) option.brief = 1;
    else if (strcmp(a, "--guard") == 0) option.guard = 1;
    else if (strcmp(a, "--namespaces") == 0) option.namespaces = 1;
    else {
      fputs(usage, strcmp(a, "--help") == 0 ? stdout : stderr);
      exit(strcmp(a, "--help") == 0 ? 0 : 2);
    }
  }
}

static int wanted(const char *group, const bench_case *row) {
  char full[128];
  if (option.brief && !row->brief) return 0;
  if (!option.filter) return 1;
  snprintf(full, sizeof full, "%s: %s", group, row->name);
  return strstr(full, option.filter) != NULL;
}

/* The wanted rows, in order; the caller frees them. */
static outcome *select_rows(int *count) {
  outcome *results = NULL;
  *count = 0;
  for (size_t g = 0; g < GROUPS; ++g) {
    for (const bench_case *row = groups[g].cases; row->name; ++row) {
      outcome *more;
      if (!wanted(groups[g].name, row)) continue;
      more = realloc(results, (size_t)(*count + 1) * sizeof *results);
      if (!more) die("realloc", "out of memory");
      results = more;
      memset(&results[*count], 0, sizeof *results);
      results[*count].group = groups[g].name;
      results[(*count)++].row = row;
    }
  }
  if (*count == 0) die(option.filter, "matches no row");
  return results;
}

static int run_guard(outcome *results, int count) {
  int failed = 0;
  printf("1..%d\n", count);
  for (int i = 0; i < count; ++i) {
    measure(&results[i]);
    failed += !guard_row(&results[i], i + 1);
  }
  return failed != 0;
}

static int run_report(outcome *results, int count) {
  print_head();
  for (int i = 0; i < count; ++i) {
    int first = i == 0 || results[i].group != results[i - 1].group;
    if (first && !option.brief) printf("\n%s\n", results[i].group);
    measure(&results[i]);
    print_row(&results[i]);
  }
  if (option.brief) print_summary(results, count);
  return 0;
}

int main(int argc, char **argv) {
  int count, status, cpu;
  outcome *results;
  (void)argc;
  parse_options(argv);
  if (option.guard && !option.stock) die("--guard", "needs --stock");
  results = select_rows(&count);
  cpu = pin();
  load(&ours, option.ours);
  if (option.stock) {
    load(&stock, option.stock);
    check_isolation(&ours, &stock);
    check_isolation(&stock, &ours);
  }
  print_machine(cpu);
  print_library(&ours);
  print_library(&stock);
  status = option.guard ? run_guard(results, count)
                        : run_report(results, count);
  if (option.json) write_json(results, count);
  free(results);
  return status;
}
