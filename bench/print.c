/* print.c: the table with its bars, and the progress line. */
#define _GNU_SOURCE
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define BAR 16       /* characters */
#define CHANGED 0.05 /* --compare: a ratio that moved by more has changed */

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

static void print_row(const outcome *r) {
  printf("%-46s", r->row->name);
  for (int k = 0; k < SUBJECTS; ++k) print_ns(r->figures[k].min);
  print_ratio(r->ratio[LIMIT]);
  print_ratio(r->ratio[STOCK]);
  putchar(r->row->control ? '=' : ' ');
  if (option.compare) print_ratio(change(r));
  print_bar(r);
  printf("\n");
  fflush(stdout);
}

void print_next(const outcome *rows, int *printed) {
  const outcome *r = &rows[(*printed)++];
  int first = r == rows || r->group != r[-1].group;
  if (first && !option.brief) printf("\n%s\n", r->group);
  print_row(r);
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
  printf("summary: %d rows", count);
  if (limit > 0) printf(", %.2fx the limit", limit);
  if (other > 0) printf(", %.2fx stock", other);
  printf(" (geometric means)\n");
  if (option.compare) print_changes(results, count);
}

/* The progress line, for those who watch */

void end_progress(void) {
  if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

void progress(const outcome *rows, int count, int run, int row) {
  static time_t start;
  const long done = (long)run * count + row;
  const long all = (long)option.runs * count;
  long left;
  if (!isatty(STDERR_FILENO)) return;
  if (!start) start = time(NULL);
  fprintf(stderr, "[run %d of %d, row %d of %d] %s: %s", run + 1, option.runs,
          row + 1, count, rows[row].group, rows[row].row->name);
  left = done ? (long)(time(NULL) - start) * (all - done) / done : 0;
  if (left > 1) fprintf(stderr, ", about %ld s left", left);
  fflush(stderr);
}
