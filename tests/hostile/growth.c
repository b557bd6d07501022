/* The time of work on n parts, which must grow as n does: names that each
 * registration compares.
 *
 *   growth LIBRARY [CASE]
 *
 * prints "case<TAB>linear<TAB>outcome<TAB>detail" for each case, each in a
 * child of its own. A case fails if 4n parts take 9 times as long as n parts.
 * Twice as much would be measured less surely: 4n parts take 4 times as long if
 * the time is linear, and 16 times if it is quadratic. A time is the least of
 * several, in seconds of the process, so that other processes do not count. */
#include "robust.h"

#include <sys/wait.h>
#include <time.h>

struct growth {
  const char *name;
  double (*run)(int n); /* returns the seconds that n parts took */
};

static double now(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void must(int rc) {
  Obj e;
  if (rc == 0) return;
  e = error_take();
  if (e != NULL)
    fprintf(stderr, "%.*s\n", (int)error_cell(e)->message.size,
            error_cell(e)->message.data);
  _exit(98);
}

/* -------- Members of types -------- */

static int32_t fresh_type(int32_t parent, int depth) {
  static int count;
  char key[40];
  snprintf(key, sizeof key, "growth.Type%d", count++);
  return F.TypeGetOrAllocIndex(STR(key), -1, depth, 0, 1, parent);
}

static int no_field(void *field, TVMFFIAny *result) {
  (void)field;
  *result = any_none();
  return 0;
}

static void add_fields(int32_t type, const char *prefix, int n) {
  char name[40];
  int i;
  for (i = 0; i < n; ++i) {
    TVMFFIFieldInfo f;
    memset(&f, 0, sizeof f);
    snprintf(name, sizeof name, "%s%d", prefix, i);
    f.name = text_of(name);
    f.offset = sizeof(TVMFFIObject);
    f.alignment = 1;
    f.getter = no_field;
    f.field_static_type_index = kTVMFFINone;
    must(F.TypeRegisterField(type, &f));
  }
}

static double fields(int n) {
  int32_t type = fresh_type(kTVMFFIObject, 1);
  double begin = now();
  add_fields(type, "field", n);
  return now() - begin;
}

static double inherited_fields(int n) {
  int32_t parent = fresh_type(kTVMFFIObject, 1), type = fresh_type(parent, 2);
  double begin;
  add_fields(parent, "field", n);
  begin = now();
  add_fields(type, "other", n);
  return now() - begin;
}

static double add_methods(int n, int one_name) {
  int32_t type = fresh_type(kTVMFFIObject, 1);
  TVMFFIMethodInfo m;
  char text[40];
  double begin = now();
  int i;
  memset(&m, 0, sizeof m);
  m.method = any_obj(make_function());
  for (i = 0; i < n; ++i) {
    snprintf(text, sizeof text, "method%d", i);
    m.name = text_of(one_name ? "method" : text);
    m.metadata = text_of(text);
    must(F.TypeRegisterMethod(type, &m));
  }
  return now() - begin;
}

static double methods(int n) { return add_methods(n, 0); }
static double signatures(int n) { return add_methods(n, 1); }

/* -------- Running -------- */

static const struct growth cases[] = {
    {"fields of a type", fields},
    {"fields of a type whose parent has as many", inherited_fields},
    {"methods of a type", methods},
    {"signatures of a method", signatures},
};

/* Prints the last measurement; returns 0 if the time is linear. */
static int measure(const struct growth *g) {
  double few = g->run(1000), many = 1e9;
  int n = 1000, round;
  while (few < 0.002 && n < 64000) few = g->run(n *= 2);
  for (round = 0; round < 8 && many > 9 * few; ++round) {
    double again = g->run(n), larger = g->run(4 * n);
    if (again < few) few = again;
    if (larger < many) many = larger;
  }
  printf("%s\tlinear\t%s\t%d take %.1f ms, %d take %.1f ms\n", g->name,
         many > 9 * few ? "slow" : "ok", n, few * 1e3, 4 * n, many * 1e3);
  return 0;
}

int main(int argc, char **argv) {
  size_t i;
  if (argc < 2) return 2;
  for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    int status = 0;
    pid_t pid;
    if (argc > 2 && !strstr(cases[i].name, argv[2])) continue;
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
      alarm(300);
      robust_open(argv[1]);
      exit(measure(&cases[i]));
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
      printf("%s\tlinear\tcrash\tstatus %d\n", cases[i].name, status);
  }
  return 0;
}
