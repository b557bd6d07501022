/* The time of work on n parts, which must grow as n does: names that each
 * registration compares, keys that all share one home slot of a hash table.
 *
 *   growth LIBRARY [CASE]
 *
 * prints "case<TAB>linear<TAB>outcome<TAB>detail" for each case, each in a
 * child of its own. A case fails if 4n parts take 9 times as long as n parts.
 * Twice as much would be measured less surely: 4n parts take 4 times as long if
 * the time is linear, and 16 times if it is quadratic. A time is the least of
 * several, in seconds of the process, so that other processes do not count. */
#include "robust.h"

#include <stdint.h>
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

static TVMFFIAny call(const char *name, const TVMFFIAny *args, int n) {
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny result = any_none();
  must(F.FunctionGetGlobal(STR(name), &f));
  must(F.FunctionCall(f, (TVMFFIAny *)(uintptr_t)args, n, &result));
  F.ObjectDecRef(f);
  return result;
}

static void *room(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (memory == NULL) _exit(98);
  return memory;
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

/* -------- Keys with one home slot -------- */

/* A hash table multiplies a hash by this number and takes the highest bits. */
#define GOLDEN 0x9E3779B97F4A7C15u

/* Returns the i-th integer whose home slot is 0 in each table. */
static TVMFFIAny bad_int(int i) {
  uint64_t inverse = GOLDEN, hash;
  int k;
  for (k = 0; k < 6; ++k) inverse *= 2 - GOLDEN * inverse;
  hash = inverse * (uint64_t)i; /* hash * GOLDEN is i */
  return any_int((int64_t)((hash ^ kTVMFFIInt) - 0x9e3779b9u -
                           (kTVMFFIInt << 6) - (kTVMFFIInt >> 2)));
}

/* Returns the i-th string of 16 bytes with one hash: each 8 bytes are added to
   the product of the hash before and a factor, modulo 2^31 - 1. */
static TVMFFIAny bad_str(int i) {
  uint64_t words[2];
  TVMFFIAny out = any_none();
  words[0] = (uint64_t)i + 1;
  words[1] = 0 - words[0] * 1099511628211u;
  must(F.StringFromByteArray(BA((char *)words, 16), &out));
  return out;
}

/* Returns n keys, each followed by a value. */
static TVMFFIAny *bad_pairs(int n, TVMFFIAny (*key)(int), TVMFFIAny value) {
  TVMFFIAny *pairs = (TVMFFIAny *)room((size_t)n, 2 * sizeof *pairs);
  int i;
  for (i = 0; i < n; ++i) {
    pairs[2 * i] = key(i);
    pairs[2 * i + 1] = value;
  }
  return pairs;
}

static void drop_pairs(TVMFFIAny *pairs, int n) {
  int i;
  for (i = 0; i < n; ++i) any_drop(&pairs[2 * i]);
  free(pairs);
}

static double make(const char *name, TVMFFIAny (*key)(int), int n) {
  TVMFFIAny *pairs = bad_pairs(n, key, any_int(1)), made;
  double begin = now();
  made = call(name, pairs, 2 * n);
  begin = now() - begin;
  any_drop(&made);
  drop_pairs(pairs, n);
  return begin;
}

/* A key with a hash of its own is among the others. */
static double map_with_structural_key(int n) {
  TVMFFIAny *pairs = bad_pairs(n, bad_int, any_int(1)), made, five = any_int(5);
  double begin;
  pairs[2 * n - 2] = call("ffi.StructuralKey", &five, 1);
  begin = now();
  made = call("ffi.Map", pairs, 2 * n);
  begin = now() - begin;
  any_drop(&made);
  drop_pairs(pairs, n);
  return begin;
}

static double map_of_ints(int n) { return make("ffi.Map", bad_int, n); }
static double map_of_strs(int n) { return make("ffi.Map", bad_str, n); }
static double dict_of_ints(int n) { return make("ffi.Dict", bad_int, n); }

static double copy(const char *name, TVMFFIAny (*key)(int), int n) {
  TVMFFIAny *pairs = bad_pairs(n, key, any_int(1)), made, copied;
  double begin;
  made = call(name, pairs, 2 * n);
  begin = now();
  copied = call("ffi.DeepCopy", &made, 1);
  begin = now() - begin;
  any_drop(&copied);
  any_drop(&made);
  drop_pairs(pairs, n);
  return begin;
}

static double copy_of_ints(int n) { return copy("ffi.Dict", bad_int, n); }
static double copy_of_strs(int n) { return copy("ffi.Dict", bad_str, n); }

/* An array in which a dict has the array itself as each of its values. */
static double copy_of_cycle(int n) {
  TVMFFIAny dict = call("ffi.Dict", NULL, 0), array, copied;
  TVMFFIAny *pairs, args[3], *key;
  double begin;
  array = call("ffi.Array", &dict, 1);
  pairs = bad_pairs(n, bad_int, array);
  args[0] = dict;
  for (key = pairs; key < pairs + 2 * n; key += 2) {
    TVMFFIAny done;
    args[1] = key[0];
    args[2] = key[1];
    done = call("ffi.DictSetItem", args, 3);
    any_drop(&done);
  }
  begin = now();
  copied = call("ffi.DeepCopy", &array, 1);
  begin = now() - begin;
  (void)copied; /* a cycle, as is `array` */
  free(pairs);
  return begin;
}

/* Makes a node of a JSON graph. */
static TVMFFIAny node(const char *type, TVMFFIAny data) {
  TVMFFIAny args[4], out;
  int i;
  for (i = 0; i < 3; ++i) args[i] = any_none();
  must(F.StringFromByteArray(STR("type"), &args[0]));
  must(F.StringFromByteArray(STR(type), &args[1]));
  must(F.StringFromByteArray(STR("data"), &args[2]));
  args[3] = data;
  out = call("ffi.Map", args, 4);
  for (i = 0; i < 4; ++i) any_drop(&args[i]);
  return out;
}

/* Loads a graph of one map, whose values are all the node 0. */
static double load(const char *type, const char *key_type,
                   TVMFFIAny (*key)(int), int n) {
  TVMFFIAny *nodes = (TVMFFIAny *)room((size_t)n + 2, sizeof *nodes);
  TVMFFIAny *indices = (TVMFFIAny *)room((size_t)n, 2 * sizeof *indices);
  TVMFFIAny args[4], graph, made;
  double begin;
  int i;
  nodes[0] = node("int", any_int(1));
  for (i = 0; i < n; ++i) {
    nodes[i + 1] = node(key_type, key(i));
    indices[2 * i] = any_int(i + 1);
    indices[2 * i + 1] = any_int(0);
  }
  nodes[n + 1] = node(type, call("ffi.Array", indices, 2 * n));
  args[0] = args[2] = any_none();
  must(F.StringFromByteArray(STR("root_index"), &args[0]));
  args[1] = any_int(n + 1);
  must(F.StringFromByteArray(STR("nodes"), &args[2]));
  args[3] = call("ffi.Array", nodes, n + 2);
  graph = call("ffi.Map", args, 4);
  begin = now();
  made = call("ffi.FromJSONGraph", &graph, 1);
  begin = now() - begin;
  any_drop(&made);
  any_drop(&graph);
  for (i = 0; i < 4; ++i) any_drop(&args[i]);
  for (i = 0; i < n + 2; ++i) any_drop(&nodes[i]);
  free(nodes);
  free(indices);
  return begin;
}

static double load_ints(int n) { return load("ffi.Map", "int", bad_int, n); }
static double load_dict(int n) { return load("ffi.Dict", "int", bad_int, n); }
static double load_strs(int n) {
  return load("ffi.Map", "ffi.String", bad_str, n);
}

/* -------- Running -------- */

static const struct growth cases[] = {
    {"fields of a type", fields},
    {"fields of a type whose parent has as many", inherited_fields},
    {"methods of a type", methods},
    {"signatures of a method", signatures},
    {"a map of integers with one home slot", map_of_ints},
    {"a map of strings with one hash", map_of_strs},
    {"a dict of integers with one home slot", dict_of_ints},
    {"a map of such integers and a structural key", map_with_structural_key},
    {"a copy of a dict of integers with one home slot", copy_of_ints},
    {"a copy of a dict of strings with one hash", copy_of_strs},
    {"a copy of a dict in a cycle", copy_of_cycle},
    {"a JSON graph of a map of integers with one home slot", load_ints},
    {"a JSON graph of a dict of integers with one home slot", load_dict},
    {"a JSON graph of a map of strings with one hash", load_strs},
};

/* Prints the last measurement; returns 0 if the time is linear. */
static int measure(const struct growth *g) {
  double few = g->run(1000), many = 1e9;
  int n = 1000, round;
  while (few < 0.001 && n < 64000) few = g->run(n *= 2);
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
