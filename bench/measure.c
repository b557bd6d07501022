/* measure.c: loads the runtimes and measures a row.
 *
 * Both runtimes live in one process, each bound to itself only: they are
 * opened with RTLD_LOCAL and the program shows, before it measures, that every
 * symbol comes from its own file and that the two share no state. Where that
 * cannot be (a library beside a copy of itself), --namespaces gives each a
 * link namespace, and with it a libc, of its own.
 *
 * A row is measured in passes, each a new process: what a row costs depends on
 * where the system happens to put heap and stack, so one process alone may be
 * off by a tenth however long it measures, and no row sees what another left
 * behind. In a pass each subject (the limit, stock, ours) runs its calibrated
 * loop for a turn in each round, in an order that changes. A turn is short
 * beside a scheduler's time slice, so on a loaded machine many stay
 * undisturbed, and the minimum is a fair figure; rounds go on until no minimum
 * falls any more. What else the machine does changes from minute to minute,
 * too: so a run measures every row in a few passes, and there are many runs,
 * whose differences tell how sure a figure is.
 * Where a function lies changes its time, too, so with --placements each
 * process is another link of this program and of the library, with the
 * functions in another order.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>
#endif

#include "harness.h"

#define TURN_NS 50000.0  /* what a turn aims at */
#define BATCH 20         /* rounds between two looks at the minima */
#define SETTLED 0.995    /* a minimum that fell by less has settled */
#define COUNTED 7        /* one round of so many is also counted */
#define LONG_PASS 0.2    /* seconds of processor time: no more rounds then, */
#define LEAST_ROUNDS 4   /* once there were so many */
#define FIRST 2          /* rounds that only set the lengths of turns */

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

/* Passes differ in which runtime is loaded and set up first, as its memory is
 * then placed better, or worse. */
static int ours_first(int pass) { return pass / 2 % 2; }

void load_libraries(int pass) {
  if (ours_first(pass)) load(&ours, option.ours);
  if (option.stock) load(&stock, option.stock);
  if (!ours_first(pass)) load(&ours, option.ours);
}

/* Once for all passes: the first error that the stock library raises takes it
 * a fifth of a second, as it reads debug information for the backtrace. */
void check_libraries(void) {
  if (!stock.handle) return;
  check_isolation(&ours, &stock);
  check_isolation(&stock, &ours);
}

/* Stays on one processor, where the system allows it; its number, or -1. */
int pin(void) {
#ifdef __linux__
  cpu_set_t set;
  int cpu = option.cpu < 0 ? sched_getcpu() : option.cpu;
  CPU_ZERO(&set);
  CPU_SET((unsigned)(cpu < 0 ? 0 : cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) == 0) return cpu;
  if (option.cpu >= 0) die("--cpu", "this process may not run there");
#endif
  return -1;
}

/* A page's physical address decides which sets of the caches it has, and the
 * system gives a process the pages that the process before it gave back. So
 * each process takes some, and gives many of them back in a random order, which
 * its heap then gets: else all processes of a row would have the same luck. */
void mix_pages(void) {
#ifdef MADV_DONTNEED
  enum { PAGES = 1024 };
  const size_t size = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, PAGES * size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint64_t random = (uint64_t)getpid() ^ (uint64_t)bench_now_ns();
  if (pages == MAP_FAILED) return;
  for (int i = 0; i < PAGES; ++i) pages[(size_t)i * size] = 1;
  for (int i = 0; i < PAGES / 2; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    madvise(pages + (size_t)(random >> 33) % PAGES * size, size, MADV_DONTNEED);
  }
#endif
}

/* The processor's counters, where the kernel lets us read them */

enum { CYCLES, INSTRUCTIONS, COUNTERS };

static int counters = -1; /* the leader of the group */

static void open_counters(void) {
#ifdef __linux__
  static const uint64_t events[COUNTERS] = {PERF_COUNT_HW_CPU_CYCLES,
                                            PERF_COUNT_HW_INSTRUCTIONS};
  for (int i = 0; i < COUNTERS; ++i) {
    struct perf_event_attr attr;
    long fd;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = events[i];
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    attr.read_format = PERF_FORMAT_GROUP;
    fd = syscall(SYS_perf_event_open, &attr, 0, -1, counters, 0L);
    if (fd < 0) {
      if (counters >= 0) close(counters);
      counters = -1;
      return;
    }
    if (counters < 0) counters = (int)fd;
  }
#endif
}

int have_counters(void) {
  if (counters < 0) open_counters();
  return counters >= 0;
}

static int read_counters(uint64_t values[COUNTERS]) {
  uint64_t group[1 + COUNTERS];
  if (counters < 0) return 0;
  if (read(counters, group, sizeof group) != (ssize_t)sizeof group) return 0;
  memcpy(values, group + 1, sizeof group - sizeof group[0]);
  return 1;
}

/* One pass */

typedef struct contender {
  bench_loop loop; /* NULL: there is none */
  const bench_lib *lib;
  void *state;
  long n;
  int count;
  double samples[BENCH_MAX_ROUNDS];
  double counted[COUNTERS]; /* for one step; 0: never */
} contender;

static double own_time; /* of the loop that has just run, or 0 */

double bench_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void bench_own_time(double nanoseconds) { own_time = nanoseconds; }

static double time_once(const contender *s, long n) {
  double start = bench_now_ns(), taken;
  own_time = 0;
  s->loop(s->lib, s->state, n);
  taken = bench_now_ns() - start;
  return own_time > 0 ? own_time : taken;
}

static double least_of_two(const contender *s, long n) {
  double first = time_once(s, n), second = time_once(s, n);
  return first < second ? first : second;
}

/* Doubles the loop until it is long enough to be judged, which also warms
 * caches up, then sets it to the length of a turn. A long time is looked at
 * twice: the first may have been another program's. */
static void calibrate(contender *s, const bench_case *row) {
  double taken;
  s->n = row->fixed ? row->fixed : 1;
  if (row->fixed) return;
  for (;;) {
    taken = time_once(s, s->n);
    if (taken >= TURN_NS / 2 && taken < 100 * TURN_NS) {
      taken = least_of_two(s, s->n);
    }
    if (taken >= TURN_NS / 2) break;
    if (s->n > LONG_MAX / 2) die(row->name, "the loop does no work");
    s->n *= 2;
  }
  s->n = (long)((double)s->n * TURN_NS / taken);
  if (s->n < 1) s->n = 1;
}

static void run_turn(contender *s, int counted) {
  uint64_t before[COUNTERS], after[COUNTERS];
  int counts = counted && read_counters(before);
  s->samples[s->count++] = time_once(s, s->n) / (double)s->n;
  if (!counts || !read_counters(after)) return;
  for (int i = 0; i < COUNTERS; ++i) {
    double each = (double)(after[i] - before[i]) / (double)s->n;
    if (s->counted[i] == 0 || each < s->counted[i]) s->counted[i] = each;
  }
}

/* Which library has the first turn: the other one in every other pass, because
 * of few rounds, or where a table grows in some, the first counts more. */
static int first_side;

/* Where memory lies decides what a walk through it costs, so the limit has
 * samples on ours' state alone. Its turns on stock's only put both libraries
 * into the same company. */
static void run_limit(contender *least, const contender *own, int counted) {
  if (!least->loop || !own->loop) return;
  least->lib = own->lib;
  least->state = own->state;
  run_turn(least, counted);
  if (own->lib == &stock) --least->count;
}

/* Each round has its stack at another place: where a slot of it lies a multiple
 * of 4096 bytes from a word that is measured, the processor takes one for the
 * other and loses time. The steps are prime to the 256 places.
 *
 * What ran before a turn has left its memory in the caches, so each memory has
 * two turns, the library's and the limit's, of which either is first in every
 * other round. All of them then follow a turn on their own memory as often. */
__attribute__((noinline)) static void run_turns(contender *subjects,
                                                int round) {
  bench_keep(__builtin_alloca((size_t)(round * 75 % 256 + 1) * 16));
  for (int turn = 0; turn < 4; ++turn) {
    const int counted = round % COUNTED == 0;
    contender *own = &subjects[turn / 2 ? STOCK + OURS - first_side
                                        : first_side];
    if ((turn + round) % 2 == 0) {
      run_limit(&subjects[LIMIT], own, counted);
    } else if (own->loop) {
      run_turn(own, counted);
    }
  }
}

static double lowest(const contender *s) {
  double min = s->samples[0];
  for (int i = 1; i < s->count; ++i) {
    if (s->samples[i] < min) min = s->samples[i];
  }
  return min;
}

/* The time of a step in calibration is that of a memory which the caches have
 * or have not, by what was set up last. Where the time depends on that, it also
 * depends on the length of a turn, which therefore has to be set in the company
 * that all turns have. */
static void set_length(contender *s, const bench_case *row) {
  if (s->count && !row->fixed) {
    const double steps = TURN_NS / lowest(s);
    s->n = steps < 1 ? 1 : (long)steps;
  }
  s->count = 0;
}

/* Steps of milliseconds would take a pass seconds. */
static int long_enough(clock_t start, int round) {
  return round >= LEAST_ROUNDS &&
         (double)(clock() - start) > LONG_PASS * CLOCKS_PER_SEC;
}

/* One more batch; whether a minimum still fell. */
static int run_batch(contender *subjects, int first_round, int rounds) {
  double before[SUBJECTS];
  const clock_t start = clock();
  int fell = first_round == 0;
  for (int k = 0; k < SUBJECTS; ++k) {
    before[k] = first_round ? lowest(&subjects[k]) : 0;
  }
  for (int round = first_round; round < first_round + rounds; ++round) {
    if (long_enough(start, round)) return 0;
    run_turns(subjects, round);
  }
  for (int k = 0; k < SUBJECTS; ++k) {
    fell |= lowest(&subjects[k]) < before[k] * SETTLED;
  }
  return fell;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_of(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* The least round is the one that no other program disturbed. Where a table
 * grows in some rounds, or caches and threads are as they happen to be, it is
 * the one in which luck saved the cost; the median has it. */
static double typical_of(const contender *s, const bench_case *row) {
  return row->by_median ? (s->samples[(s->count - 1) / 2] +
                           s->samples[s->count / 2]) / 2
                        : s->samples[0];
}

static void summarise(contender *s, const bench_case *row, figure *out) {
  memset(out, 0, sizeof *out);
  if (!s->loop) return;
  out->median = median_of(s->samples, s->count);
  out->min = typical_of(s, row); /* the samples are in order now */
  out->cycles = s->counted[CYCLES];
  out->instructions = s->counted[INSTRUCTIONS];
}

/* Every other pass, the libraries exchange the two copies of the loop: where a
 * copy lies in the program then favours each library in as many passes. */
static int exchanges(const bench_case *row, int pass) {
  return pass % 2 && !row->fixed_sides && row->run[0] != row->run[1] &&
         row->run[0] && row->run[1];
}

static void prepare(contender *s, const bench_case *row, int side, int pass) {
  const bench_lib *lib = side == OURS ? &ours : &stock;
  if (!lib->handle || !row->run[side - STOCK]) return;
  s->loop = row->run[(side - STOCK) ^ exchanges(row, pass)];
  s->lib = lib;
  if (row->setup) s->state = row->setup(lib, row->param);
  calibrate(s, row);
}

void measure_pass(const bench_case *row, int pass, figure figures[SUBJECTS]) {
  static contender subjects[SUBJECTS];
  contender *least = &subjects[LIMIT];
  const int first = ours_first(pass) ? OURS : STOCK;
  int round = 0;
  first_side = pass % 2 ? OURS : STOCK;
  open_counters();
  prepare(&subjects[first], row, first, pass);
  prepare(&subjects[STOCK + OURS - first], row, STOCK + OURS - first, pass);
  least->loop = row->limit;
  least->lib = &ours;
  least->state = subjects[OURS].state;
  if (least->loop) calibrate(least, row);
  if (row->large) bench_fill_caches(1);
  for (int i = 0; i < FIRST && !row->rounds; ++i) run_turns(subjects, i);
  for (int k = 0; k < SUBJECTS; ++k) set_length(&subjects[k], row);
  while (run_batch(subjects, round, row->rounds ? row->rounds : BATCH) &&
         !row->rounds && FIRST + round + 2 * BATCH <= BENCH_MAX_ROUNDS) {
    round += BATCH;
  }
  for (int k = 0; k < SUBJECTS; ++k) summarise(&subjects[k], row, &figures[k]);
  for (int k = STOCK; k < SUBJECTS && row->teardown; ++k) {
    if (subjects[k].loop) row->teardown(subjects[k].lib, subjects[k].state);
  }
}

/* The passes of a row */

/* The path of a file of a placement, in `path`; whether it is there. */
static int placed(int placement, const char *file, char path[PATH_MAX]) {
  if (!option.placements) return 0;
  snprintf(path, PATH_MAX, "%s/%d/%s", option.placements, placement, file);
  return access(path, R_OK) == 0;
}

int count_placements(void) {
  static int count;
  char path[PATH_MAX];
  if (!option.placements) return 1;
  while (placed(count, "bench", path)) ++count;
  return count;
}

/* Rows begin at different placements, and runs do, so that no placement counts
 * more than another. */
static int placement_of(const outcome *out, int pass) {
  static time_t start;
  if (!start) start = time(NULL);
  return (int)((start + out->number * 5 + pass) % count_placements());
}

/* A child is this program again, or a placement of it, told which row, which
 * pass and where to write what came out. The last of an option counts. */
static void run_child(char **argv, const outcome *out, int pass, int to) {
  char what[64], program[PATH_MAX], own[PATH_MAX], other[PATH_MAX];
  const int placement = placement_of(out, pass);
  const char *more[6] = {"--child", what};
  const char **all;
  size_t count = 0, added = 2;
  while (argv[count]) ++count;
  snprintf(what, sizeof what, "%d,%d,%d", out->number, pass, to);
  if (placed(placement, "ours.so", own)) {
    more[added++] = "--ours";
    more[added++] = own;
  }
  if (placed(placement, "stock.so", other)) {
    more[added++] = "--stock";
    more[added++] = other;
  }
  all = bench_alloc((count + added + 1) * sizeof *all);
  memcpy(all, argv, count * sizeof *all);
  memcpy(all + count, more, added * sizeof *all);
  all[count + added] = NULL;
  if (placed(placement, "bench", program)) {
    execv(program, (char **)all);
    _exit(127);
  }
#ifdef __linux__
  execv("/proc/self/exe", (char **)all);
#endif
  execvp(argv[0], (char **)all);
  _exit(127);
}

/* 0 if an interrupt ended it. */
static int run_pass(char **argv, outcome *out, int pass) {
  sample *s = &out->samples[pass];
  int ends[2], status = 1;
  ssize_t got;
  pid_t child;
  fflush(NULL);
  if (pipe(ends) != 0 || (child = fork()) < 0) die("fork", "failed");
  if (child == 0) {
    close(ends[0]);
    run_child(argv, out, pass, ends[1]);
  }
  close(ends[1]);
  got = read(ends[0], s->figures, sizeof s->figures);
  close(ends[0]);
  if (waitpid(child, &status, 0) < 0 || status != 0 ||
      got != (ssize_t)sizeof s->figures) {
    if (interrupted) return 0;
    die(out->row->name, "its process failed");
  }
  s->run = pass / PASSES;
  s->exchanged = exchanges(out->row, pass);
  s->ours_first = ours_first(pass);
  s->placement = placement_of(out, pass);
  return 1;
}

/* The median over the passes of one member of the figures. */
static double median_over(const outcome *out, int subject, size_t member) {
  double values[MAX_RUNS * PASSES];
  for (int i = 0; i < out->passes; ++i) {
    const figure *f = &out->samples[i].figures[subject];
    memcpy(&values[i], (const char *)f + member, sizeof values[i]);
  }
  return median_of(values, out->passes);
}

static double lowest_pass(const outcome *out, int subject) {
  double min = out->samples[0].figures[subject].min;
  for (int i = 1; i < out->passes; ++i) {
    double each = out->samples[i].figures[subject].min;
    if (each < min) min = each;
  }
  return min;
}

static void combine(outcome *out) {
  for (int k = 0; k < SUBJECTS; ++k) {
    figure *f = &out->figures[k];
    f->min = lowest_pass(out, k);
    f->median = median_over(out, k, offsetof(figure, median));
    f->cycles = median_over(out, k, offsetof(figure, cycles));
    f->instructions = median_over(out, k, offsetof(figure, instructions));
  }
  for (int k = 0; k < SUBJECTS; ++k) {
    double base = out->figures[k].min;
    out->ratio[k] = base > 0 ? out->figures[OURS].min / base : 0;
  }
}

void measure(char **argv, outcome *out) {
  const int end = out->passes + PASSES;
  for (int pass = out->passes; pass < end; ++pass) {
    if (interrupted || !run_pass(argv, out, pass)) return;
  }
  out->passes = end;
  combine(out);
}
