/* bench.c: the benchmark program: its options, its rows, and the guard. */
#define _GNU_SOURCE
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#define ATTEMPTS 7       /* a failing row is measured in so many more runs */
#define NOISE_RATIO 1.25 /* "not slower", with room for noise: a row fails */
#define NOISE_NS 1.5     /* only past both */

/* The groups of the tables that bench.h names, in the order of the report;
 * those of BENCH_GROUP come after them. */
static bench_group groups[] = {
    {"call", bench_call, NULL},
    {"refcount", bench_refcount, NULL},
    {"registry", bench_registry, NULL},
    {"dtype", bench_dtype, NULL},
    {"error", bench_error, NULL},
    {"string", bench_string, NULL},
    {"any", bench_any, NULL},
    {"tensor", bench_tensor, NULL},
    {"object", bench_object, NULL},
    {"array", bench_array, NULL},
    {"map", bench_map, NULL},
    {"json", bench_json, NULL},
    {"structural", bench_structural, NULL},
};

#define GROUPS (sizeof groups / sizeof groups[0])

/* The guard: ratios, as times differ from machine to machine */

static int reaches_stock(const outcome *r) {
  double by = r->figures[OURS].min - r->figures[STOCK].min;
  if (r->row->control) return 1; /* any difference is noise */
  if (r->row->goal > 0) return r->ratio[STOCK] <= r->row->goal;
  return r->ratio[STOCK] <= NOISE_RATIO || by <= NOISE_NS;
}

/* The most that a row may take of its limit, with room for other processors:
 * where these rows lose, all calls do. */
static const struct {
  const char *group, *name;
  double most;
} limits[] = {
    {"call", "cell, 3 args", 1.15},
    {"call", "TVMFFIFunctionCall, 3 args", 2.2},
    {"refcount", "IncRef and DecRef", 1.9},
    {"refcount", "tvmffi_retain and tvmffi_release", 1.6},
};

/* 0: the row has none. */
static double most_of_limit(const outcome *r) {
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; ++i) {
    if (strcmp(r->group, limits[i].group) == 0 &&
        strcmp(r->row->name, limits[i].name) == 0) {
      return limits[i].most;
    }
  }
  return 0;
}

static int reaches_limit(const outcome *r) {
  double most = most_of_limit(r);
  return most == 0 || r->ratio[LIMIT] <= most;
}

static int guard_row(char **argv, outcome *r, int number) {
  int ok = 0;
  for (int attempt = 0; !ok && attempt <= ATTEMPTS; ++attempt) {
    measure(argv, r);
    if (r->passes == 0) return 0;
    ok = reaches_stock(r) && reaches_limit(r);
  }
  printf("%s %d - %s: %s: %.2f of stock, at most %.2f", ok ? "ok" : "not ok",
         number, r->group, r->row->name, r->ratio[STOCK],
         r->row->goal > 0 ? r->row->goal : NOISE_RATIO);
  if (most_of_limit(r) > 0) {
    printf("; %.2f of the limit, at most %.2f", r->ratio[LIMIT],
           most_of_limit(r));
  }
  printf(" (%.2f, stock %.2f, limit %.2f ns)\n", r->figures[OURS].min,
         r->figures[STOCK].min, r->figures[LIMIT].min);
  fflush(stdout);
  return ok;
}

/* The program */

static const char usage[] =
    "usage: bench [options]\n"
    "  --ours PATH     our library (libtvmffi.so)\n"
    "  --stock PATH    the stock libtvm_ffi.so, to be compared with\n"
    "  --short         the call and the reference count only\n"
    "  --filter RE     only rows whose \"group: name\" matches RE, an\n"
    "                  extended regular expression\n"
    "  --exclude RE    no rows that match RE\n"
    "  --list          the rows' names, nothing is measured\n"
    "  --check         ends once the options are read and are right\n"
    "  --json FILE     also write the figures, the machine and the least time\n"
    "                  of each process to FILE; - is the standard output, and\n"
    "                  the table then goes to the standard error\n"
    "  --csv FILE      also write the figures as CSV\n"
    "  --commit TEXT   the version of the sources, for --json\n"
    "  --compare FILE  also show what changed since that --json, in relation\n"
    "                  to stock, so that the machine may have changed too\n"
    "  --guard         check the ratios to stock and to the limits; TAP\n"
    "                  output, exit status 1 when a row fails\n"
    "  --runs N        measures each row N times, in two processes each (8);\n"
    "                  the guard as often as it needs\n"
    "  --placements FOLDER  run each process from another of the links in\n"
    "                  FOLDER, which placements.py makes\n"
    "  --cpu N         run on processor N\n"
    "  --namespaces    load each library into a link namespace of its own\n"
    "An interrupt ends the run after writing the rows measured so far.\n"
    "Marks: = a control, which runs no library code.\n";

static const char *value_of(char **argv, int *i) {
  if (!argv[*i + 1]) die(argv[*i], "needs a value");
  return argv[++*i];
}

static int number_of(char **argv, int *i) {
  const char *name = argv[*i], *text = value_of(argv, i);
  char *end;
  long value = strtol(text, &end, 10);
  if (end == text || *end || value < 0 || value > 1 << 20) {
    die(name, "needs a number");
  }
  return (int)value;
}

static void parse_options(char **argv) {
  static const struct {
    const char *name;
    const char **text;
    int *number, *flag;
  } known[] = {
      {"--ours", &option.ours, NULL, NULL},
      {"--stock", &option.stock, NULL, NULL},
      {"--filter", &option.filter, NULL, NULL},
      {"--exclude", &option.exclude, NULL, NULL},
      {"--json", &option.json, NULL, NULL},
      {"--csv", &option.csv, NULL, NULL},
      {"--commit", &option.commit, NULL, NULL},
      {"--compare", &option.compare, NULL, NULL},
      {"--placements", &option.placements, NULL, NULL},
      {"--cpu", NULL, &option.cpu, NULL},
      {"--runs", NULL, &option.runs, NULL},
      {"--child", &option.child, NULL, NULL},
      {"--short", NULL, NULL, &option.brief},
      {"--guard", NULL, NULL, &option.guard},
      {"--list", NULL, NULL, &option.list},
      {"--check", NULL, NULL, &option.check},
      {"--namespaces", NULL, NULL, &option.namespaces},
  };
  const size_t count = sizeof known / sizeof known[0];
  for (int i = 1; argv[i]; ++i) {
    size_t k = 0;
    while (k < count && strcmp(argv[i], known[k].name) != 0) ++k;
    if (k == count) {
      int asked = strcmp(argv[i], "--help") == 0;
      if (!asked) fprintf(stderr, "bench: %s: no such option\n", argv[i]);
      fputs(usage, asked ? stdout : stderr);
      exit(asked ? 0 : 2);
    }
    if (known[k].text) *known[k].text = value_of(argv, &i);
    if (known[k].number) *known[k].number = number_of(argv, &i);
    if (known[k].flag) *known[k].flag = 1;
  }
  if (option.runs < 1 || option.runs > MAX_RUNS) {
    die("--runs", "needs a number from 1 to 64");
  }
}

/* Compiles the pattern of an option into `out`, or ends the program. */
static void compile_pattern(const char *name, const char *text, regex_t *out) {
  char why[128];
  int code = regcomp(out, text, REG_EXTENDED | REG_NOSUB);
  if (code == 0) return;
  regerror(code, out, why, sizeof why);
  die(name, why);
}

static int matches(const regex_t *pattern, const outcome *r) {
  char full[256];
  snprintf(full, sizeof full, "%s: %s", r->group, r->row->name);
  return regexec(pattern, full, 0, NULL, 0) == 0;
}

/* All rows, in order; the caller frees them. */
static outcome *all_rows(int *count) {
  outcome *rows = NULL;
  *count = 0;
  for (size_t g = 0; g + 1 < GROUPS; ++g) groups[g].next = &groups[g + 1];
  groups[GROUPS - 1].next = added_groups();
  for (const bench_group *group = groups; group; group = group->next) {
    for (const bench_case *row = group->cases; row->name; ++row) {
      outcome *more = realloc(rows, (size_t)(*count + 1) * sizeof *rows);
      if (!more) die("realloc", "out of memory");
      rows = more;
      memset(&rows[*count], 0, sizeof *rows);
      rows[*count].group = group->name;
      rows[*count].row = row;
      rows[*count].number = *count;
      ++*count;
    }
  }
  return rows;
}

/* Keeps the wanted rows; how many there are. */
static int select_rows(outcome *rows, int count) {
  regex_t filter, exclude;
  int kept = 0;
  if (option.filter) compile_pattern("--filter", option.filter, &filter);
  if (option.exclude) compile_pattern("--exclude", option.exclude, &exclude);
  for (int i = 0; i < count; ++i) {
    if (option.brief && !rows[i].row->brief) continue;
    if (option.filter && !matches(&filter, &rows[i])) continue;
    if (option.exclude && matches(&exclude, &rows[i])) continue;
    rows[kept++] = rows[i];
  }
  if (option.filter) regfree(&filter);
  if (option.exclude) regfree(&exclude);
  if (kept == 0) {
    die(option.filter ? option.filter : "--exclude",
        option.filter ? "matches no row" : "leaves no row");
  }
  return kept;
}

static int run_list(const outcome *rows, int count) {
  for (int i = 0; i < count; ++i) {
    printf("%s: %s\n", rows[i].group, rows[i].row->name);
  }
  return 0;
}

static int run_guard(char **argv, outcome *rows, int count) {
  int failed = 0;
  printf("1..%d\n", count);
  for (int i = 0; i < count && !interrupted; ++i) {
    failed += !guard_row(argv, &rows[i], i + 1);
  }
  return failed != 0;
}

/* The last run prints each row when it is measured. */
static int run_table(char **argv, outcome *rows, int count) {
  int printed = 0;
  print_head();
  for (int run = 0; run < option.runs && !interrupted; ++run) {
    for (int i = 0; i < count && !interrupted; ++i) {
      progress(rows, count, run, i);
      measure(argv, &rows[i]);
      end_progress();
      if (run + 1 == option.runs && !interrupted) print_next(rows, &printed);
    }
  }
  while (printed < count && rows[printed].passes) print_next(rows, &printed);
  print_summary(rows, printed);
  return 0;
}

/* Measures one pass of a row, for the process that started this one. */
static int run_as_child(const outcome *rows, int count) {
  figure figures[SUBJECTS];
  int row, pass, to;
  if (sscanf(option.child, "%d,%d,%d", &row, &pass, &to) != 3 || row < 0 ||
      row >= count) {
    die("--child", "is for the program's own use");
  }
  mix_pages();
  load_libraries(pass);
  pin();
  measure_pass(rows[row].row, pass, figures);
  return write(to, figures, sizeof figures) != (ssize_t)sizeof figures;
}

static void on_interrupt(int number) { interrupted = number; }

/* Rows end between two processes, or with the process that they wait for,
 * which a terminal interrupts, too. */
static void catch_interrupts(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

static int run(char **argv, outcome *rows, int count) {
  int status, cpu = pin();
  option.cpu = cpu;
  if (option.guard && !option.stock) die("--guard", "needs --stock");
  if (count_placements() == 0) die(option.placements, "has no placements");
  load_libraries(0);
  check_libraries();
  print_machine(cpu);
  note_start();
  catch_interrupts();
  status = option.guard ? run_guard(argv, rows, count)
                        : run_table(argv, rows, count);
  if (option.json) write_json(rows, count, cpu);
  if (option.csv) write_csv(rows, count);
  return interrupted ? 128 + interrupted : status;
}

int main(int argc, char **argv) {
  int count, status;
  outcome *rows;
  (void)argc;
  parse_options(argv);
  rows = all_rows(&count);
  if (option.child) {
    status = run_as_child(rows, count);
  } else {
    count = select_rows(rows, count);
    if (option.compare) read_old(rows, count);
    if (!option.list) check_outputs();
    status = option.check  ? 0
             : option.list ? run_list(rows, count)
                           : run(argv, rows, count);
  }
  free(rows);
  return status;
}
