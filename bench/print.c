/* print.c: the table with its bars, the progress line, and the JSON. */
#define _GNU_SOURCE
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define BAR 16       /* characters */
#define CHANGED 0.05 /* --compare: a ratio that moved by more has changed */

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

/* What ran it */

static const char *processor(void) {
  static char line[256];
  FILE *file = fopen("/proc/cpuinfo", "r");
  const char *model = NULL;
  while (file && !model && fgets(line, sizeof line, file)) {
    if (strncmp(line, "model name", 10) == 0) model = strchr(line, ':');
  }
  if (file) fclose(file);
  line[strcspn(line, "\n")] = '\0';
  return model && model[1] ? model + 2 : "unknown processor";
}

static const char *operating_system(void) {
  static char text[sizeof(struct utsname)];
  struct utsname name;
  if (uname(&name) < 0) return "unknown";
  snprintf(text, sizeof text, "%s %s", name.sysname, name.machine);
  return text;
}

static void print_library(const bench_lib *lib) {
  TVMFFIVersion v;
  if (!lib->handle) return;
  lib->GetVersion(&v);
  printf("# %s: %s (ABI %u.%u.%u)\n", lib->label, lib->path, (unsigned)v.major,
         (unsigned)v.minor, (unsigned)v.patch);
}

void print_machine(int cpu) {
  printf("# machine: %s, %s, ", processor(), operating_system());
  printf(cpu < 0 ? "not pinned\n" : "pinned to processor %d\n", cpu);
  printf("# compiler: %s%s\n", COMPILER,
         OPTIMISED ? "" : ", WITHOUT OPTIMISATION: the figures mean nothing");
  print_library(&ours);
  print_library(&stock);
}

/* The table */

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

/* A bar as long as the slowest of the three: what the limit takes, what ours
 * takes more, and up to stock what is saved. What ours loses is struck. */
static void print_bar(const outcome *r) {
  static const char *const utf8[] = {"\u2588", "\u2593", "\u2591", "!"};
  static const char *const ascii[] = {"#", "=", ".", "!"};
  static const char *const *cells;
  const figure *f = r->figures;
  double limit = f[LIMIT].min, own = f[OURS].min, other = f[STOCK].min;
  double longest = own > other ? own : other;
  if (!cells) {
    setlocale(LC_CTYPE, "");
    cells = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? utf8 : ascii;
  }
  if (limit > longest) longest = limit;
  if (own <= 0 || longest < own) longest = own;
  printf(" ");
  for (int i = 0; i < BAR && longest > 0; ++i) {
    double at = (i + 0.5) / BAR * longest;
    int cell = at < limit && at < own           ? 0
               : at >= own                      ? 2
               : other > 0 && at > other * 1.02 ? 3
                                                : 1;
    fputs(cells[cell], stdout);
  }
}

void print_head(void) {
  const char *old = option.compare ? "     /old" : "";
  printf("%-46s %8s %8s %8s %7s %7s%s\n", "nanoseconds", "limit", "stock",
         "ours", "/limit", "/stock", old);
}

static double change(const outcome *r) {
  return r->old_ratio > 0 ? r->ratio[STOCK] / r->old_ratio : 0;
}

void print_row(const outcome *r) {
  printf("%-46s", r->row->name);
  for (int k = 0; k < SUBJECTS; ++k) print_ns(r->figures[k].min);
  print_ratio(r->ratio[LIMIT]);
  print_ratio(r->ratio[STOCK]);
  putchar(r->settled ? ' ' : '~');
  if (option.compare) print_ratio(change(r));
  print_bar(r);
  printf("\n");
  fflush(stdout);
}

static double mean_ratio(const outcome *results, int count, int subject) {
  double log_sum = 0;
  int used = 0;
  for (int i = 0; i < count; ++i) {
    if (results[i].ratio[subject] <= 0) continue;
    log_sum += log(results[i].ratio[subject]);
    ++used;
  }
  return used ? exp(log_sum / used) : 0;
}

static void print_changes(const outcome *results, int count) {
  int slower = 0, faster = 0, known = 0;
  for (int i = 0; i < count; ++i) {
    double by = change(&results[i]);
    known += by > 0;
    slower += by > 1 + CHANGED;
    faster += by > 0 && by < 1 / (1 + CHANGED);
  }
  printf(
      "compared: %d rows, of which %d are slower and %d faster by more "
      "than %.0f %%, in relation to stock\n",
      known, slower, faster, 100 * CHANGED);
}

void print_summary(const outcome *results, int count) {
  double limit = mean_ratio(results, count, LIMIT);
  double other = mean_ratio(results, count, STOCK);
  int unsettled = 0;
  printf("summary: %d rows", count);
  if (limit > 0) printf(", %.2fx the limit", limit);
  if (other > 0) printf(", %.2fx stock", other);
  printf(" (geometric means)");
  for (int i = 0; i < count; ++i) unsettled += !results[i].settled;
  if (unsettled) printf("; ~ %d have not settled", unsettled);
  printf("\n");
  if (option.compare) print_changes(results, count);
}

/* The progress line, for those who watch */

void progress(const outcome *results, int done, int count) {
  static time_t start;
  long left;
  if (!isatty(STDERR_FILENO)) return;
  if (!start) start = time(NULL);
  fputs("\r\033[K", stderr);
  if (done == count) return;
  fprintf(stderr, "[%d/%d] %s: %s", done + 1, count, results[done].group,
          results[done].row->name);
  left = done ? (long)(time(NULL) - start) * (count - done) / done : 0;
  if (left > 1) fprintf(stderr, ", about %ld s left", left);
  fflush(stderr);
}

/* JSON: a line for each row, which read_old() relies on */

static void json_text(FILE *file, const char *key, const char *text) {
  fprintf(file, "\"%s\": \"", key);
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
  }
  fputc('"', file);
}

static void json_figure(FILE *file, const char *key, const figure *f) {
  if (f->min <= 0) return;
  fprintf(file, ", \"%s\": {\"min_ns\": %.3f, \"median_ns\": %.3f", key, f->min,
          f->median);
  if (f->cycles > 0) {
    fprintf(file, ", \"cycles\": %.2f, \"instructions\": %.2f", f->cycles,
            f->instructions);
  }
  fputc('}', file);
}

static void json_row(FILE *file, const outcome *r) {
  static const char *const keys[SUBJECTS] = {"limit", "stock", "ours"};
  const char *limit = bench_limit_text(r->row);
  fprintf(file, "    {");
  json_text(file, "group", r->group);
  fprintf(file, ", ");
  json_text(file, "name", r->row->name);
  fprintf(file, ", \"passes\": %d, \"settled\": %s", r->passes,
          r->settled ? "true" : "false");
  for (int k = 0; k < SUBJECTS; ++k) json_figure(file, keys[k], &r->figures[k]);
  if (r->ratio[LIMIT] > 0) {
    fprintf(file, ", \"to_limit\": %.4f", r->ratio[LIMIT]);
  }
  if (r->ratio[STOCK] > 0) {
    fprintf(file, ", \"to_stock\": %.4f", r->ratio[STOCK]);
  }
  if (limit) {
    fprintf(file, ", ");
    json_text(file, "limit_is", limit);
  }
  fprintf(file, "}");
}

void write_json(const outcome *results, int count, int cpu) {
  FILE *file = fopen(option.json, "w");
  double load = 0;
  if (!file) die(option.json, "cannot be written");
  if (getloadavg(&load, 1) != 1) load = 0;
  fprintf(file, "{\n  ");
  json_text(file, "processor", processor());
  fprintf(file, ",\n  \"processors\": %ld,\n  ", sysconf(_SC_NPROCESSORS_ONLN));
  json_text(file, "system", operating_system());
  fprintf(file, ",\n  ");
  json_text(file, "compiler", COMPILER);
  fprintf(file, ",\n  \"pinned\": %s,\n  \"load\": %.1f,\n  \"rows\": [\n",
          cpu < 0 ? "false" : "true", load);
  for (int i = 0; i < count; ++i) {
    json_row(file, &results[i]);
    fprintf(file, i + 1 < count ? ",\n" : "\n");
  }
  fprintf(file, "  ]\n}\n");
  if (fclose(file) != 0) die(option.json, "cannot be written");
}

/* A file that write_json() wrote: only its own lines are understood. */
void read_old(outcome *results, int count) {
  FILE *file = fopen(option.compare, "r");
  char line[1024], name[256];
  if (!file) die(option.compare, "cannot be read");
  while (fgets(line, sizeof line, file)) {
    const char *at = strstr(line, "\"to_stock\": ");
    for (int i = 0; i < count && at; ++i) {
      snprintf(name, sizeof name, "{\"group\": \"%s\", \"name\": \"%s\",",
               results[i].group, results[i].row->name);
      if (!strstr(line, name)) continue;
      results[i].old_ratio = strtod(at + strlen("\"to_stock\": "), NULL);
    }
  }
  fclose(file);
}
