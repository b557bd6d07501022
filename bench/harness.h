/* harness.h: what the harness's own files share. No benchmark needs it.
 *
 * bench.c is the program and the guard, measure.c loads and measures, print.c
 * has the table and the bars, record.c describes the machine and writes the
 * JSON and the CSV.
 * Calls go one way: from bench.c to the others, and from all to support.c.
 */
#ifndef TVMFFI_BENCH_HARNESS_H_
#define TVMFFI_BENCH_HARNESS_H_

#include <signal.h>

#include "bench.h"

enum { LIMIT, STOCK, OURS, SUBJECTS };

/* What one subject takes for one step. 0: not measured. */
typedef struct figure {
  double min, median;          /* nanoseconds */
  double cycles, instructions; /* the processor's counters, in user mode */
} figure;

#define RUNS 8      /* unless --runs says another number */
#define MAX_RUNS 64
#define PASSES 2    /* processes of a row in a run: one for each loop copy */

/* What one process measured. */
typedef struct sample {
  figure figures[SUBJECTS];
  int run;
  int exchanged; /* ours ran in the loop copy of stock, and stock in ours */
  int ours_first; /* ours was loaded and set up before stock */
  int placement; /* the number of the link that ran; 0 without --placements */
} sample;

/* A row and what came out. */
typedef struct outcome {
  const char *group;
  const bench_case *row;
  int number; /* its place among all rows, which a child is told */
  int passes; /* of whole runs; 0: not measured, as of an interrupt */
  sample samples[MAX_RUNS * PASSES]; /* one of each pass */
  figure figures[SUBJECTS]; /* the least minimum, the median of the others */
  double ratio[SUBJECTS];   /* of the minima, ours to each; 0: there is none */
  double old_ratio;         /* --compare: ours to stock then; 0: unknown */
} outcome;

typedef struct options {
  const char *ours, *stock, *filter, *exclude, *json, *csv, *compare, *commit,
      *placements;
  const char *child; /* "row,pass,pipe": this process measures one pass */
  int brief, guard, list, check, namespaces, cpu, runs;
  int results; /* the standard output, where "-" is a result file */
} options;

/* support.c */
extern options option;
extern bench_lib ours, stock;
__attribute__((noreturn)) void die(const char *what, const char *why);
/* The signal that asked the program to end, or 0. */
extern volatile sig_atomic_t interrupted;
/* The groups of BENCH_GROUP, linked. */
bench_group *added_groups(void);

/* measure.c */
/* In an order that differs from pass to pass. */
void load_libraries(int pass);
/* How many links the folder of --placements has; without the option 1. */
int count_placements(void);
void check_libraries(void);
int pin(void);
/* Whether the kernel lets this program read the processor's counters. */
int have_counters(void);
void measure_pass(const bench_case *row, int pass, figure figures[SUBJECTS]);
void mix_pages(void);
/* Measures a row in one more run; an interrupted one does not count. */
void measure(char **argv, outcome *out);

/* print.c */
void print_head(void);
/* Prints the row with the index *printed, and increments the index. */
void print_next(const outcome *rows, int *printed);
void print_summary(const outcome *results, int count);
void progress(const outcome *rows, int count, int run, int row);
void end_progress(void);

/* record.c */
void print_machine(int cpu);
/* Ends the program if a result file cannot be written, before it measures. */
void check_outputs(void);
void note_start(void);
void write_json(const outcome *results, int count, int cpu);
void write_csv(const outcome *results, int count);
void read_old(outcome *results, int count);

#endif /* TVMFFI_BENCH_HARNESS_H_ */
