/* record.c: what a run leaves behind: the description of the machine, the
 * libraries and the sources, the JSON with a sample of each process, and the
 * CSV. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <link.h>
#endif
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "harness.h"

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

/* The value of a line "KEY : VALUE" of /proc/cpuinfo, or NULL. The next call
 * overwrites it. */
static const char *cpuinfo(const char *key) {
  static char line[4096];
  FILE *file = fopen("/proc/cpuinfo", "r");
  const char *value = NULL;
  while (file && !value && fgets(line, sizeof line, file)) {
    if (strncmp(line, key, strlen(key)) == 0) value = strchr(line, ':');
  }
  if (file) fclose(file);
  line[strcspn(line, "\n")] = '\0';
  return value && value[1] ? value + 2 : NULL;
}

static const char *processor(void) {
  const char *model = cpuinfo("model name");
  return model ? model : "unknown processor";
}

/* What a hypervisor leaves of the processor's name may be the maker alone. */
static const char *model(void) {
  static const char *const keys[] = {"cpu family", "model\t", "stepping"};
  static char text[96];
  int family, number, stepping, *const into[] = {&family, &number, &stepping};
  for (int i = 0; i < 3; ++i) {
    const char *value = cpuinfo(keys[i]);
    if (!value || sscanf(value, "%d", into[i]) != 1) return NULL;
  }
  snprintf(text, sizeof text, "family %d, model %d, stepping %d", family,
           number, stepping);
  return text;
}

/* The first line of a file of /proc or /sys, or NULL. The next call overwrites
 * it. */
static const char *first_line(const char *path) {
  static char line[256];
  FILE *file = fopen(path, "r");
  const char *found = file ? fgets(line, sizeof line, file) : NULL;
  if (file) fclose(file);
  line[strcspn(line, "\n")] = '\0';
  return found;
}

/* As "L1 Data 32K, L2 Unified 1024K", or NULL. */
static const char *caches(void) {
  static const char *const parts[] = {"level", "type", "size"};
  static char text[256];
  size_t used = 0;
  for (int i = 0; i < 5; ++i) {
    char path[80], more[3][32];
    int known = 0;
    for (int k = 0; k < 3; ++k) {
      const char *line;
      snprintf(path, sizeof path,
               "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, parts[k]);
      line = first_line(path);
      known += line != NULL;
      snprintf(more[k], sizeof more[k], "%.31s", line ? line : "");
    }
    if (known < 3) continue;
    used += (size_t)snprintf(text + used, sizeof text - used,
                             "%sL%.4s %.12s %.12s", used ? ", " : "", more[0],
                             more[1], more[2]);
  }
  return used ? text : NULL;
}

static const char *libc(void) {
#ifdef __GLIBC__
  static char text[64];
  snprintf(text, sizeof text, "glibc %s", gnu_get_libc_version());
  return text;
#else
  return "unknown";
#endif
}

/* The processor's bit says whether a hypervisor runs; the name of the machine
 * says which. */
static const char *virtualisation(void) {
  const char *flags = cpuinfo("flags");
  const char *product;
  if (!flags) return "unknown";
  if (!strstr(flags, " hypervisor")) return "none";
  product = first_line("/sys/class/dmi/id/product_name");
  return product && *product ? product : "a hypervisor";
}

static double gigabytes(void) {
  return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 1e9;
}

static double load_now(void) {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

static const char *governor(void) {
  return first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
}

/* What was so before the first row. */
static struct {
  char date[32];
  double load;
} start;

static void warn(const char *text) {
  fprintf(stderr, "bench: warning: %s\n", text);
}

void note_start(void) {
  time_t now = time(NULL);
  const char *scaling = governor();
  strftime(start.date, sizeof start.date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
  start.load = load_now();
  if (start.load > 0.5) {
    warn("the machine has other work: intervals will be wide");
  }
  if (scaling && strcmp(scaling, "performance") != 0) {
    warn("the processor's frequency is scaled: times will vary");
  }
  if (!OPTIMISED) warn("built without optimisation: the figures mean nothing");
}

/* The build id that the linker wrote into a library, as hexadecimal digits. */

#ifdef __linux__
typedef struct build_id {
  const char *path;
  char text[65];
} build_id;

static int find_build_id(struct dl_phdr_info *info, size_t size, void *data) {
  build_id *id = data;
  (void)size;
  if (strcmp(info->dlpi_name, id->path) != 0) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    const char *at = (const char *)(info->dlpi_addr + part->p_vaddr);
    const char *end = at + part->p_memsz;
    while (part->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      const unsigned char *bytes;
      memcpy(&note, at, sizeof note);
      bytes = (const unsigned char *)at + sizeof note +
              (note.n_namesz + 3u) / 4 * 4;
      for (unsigned k = 0; k < note.n_descsz && k < sizeof id->text / 2; ++k) {
        if (note.n_type != NT_GNU_BUILD_ID) break;
        snprintf(id->text + (size_t)k * 2, 3, "%02x", bytes[k]);
      }
      at = (const char *)bytes + (note.n_descsz + 3u) / 4 * 4;
    }
  }
  return 1;
}
#endif

static const char *build_id_of(const bench_lib *lib) {
#ifdef __linux__
  static build_id id;
  memset(&id, 0, sizeof id);
  id.path = lib->path;
  dl_iterate_phdr(find_build_id, &id);
  return id.text;
#else
  (void)lib;
  return "";
#endif
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
  printf("# counters: %s\n",
         have_counters() ? "cycles and instructions go into the JSON"
                         : "none; the kernel or the hypervisor denies them");
  print_library(&ours);
  print_library(&stock);
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

static void json_numbers(FILE *file, const char *key, const outcome *r,
                         size_t member) {
  fprintf(file, "\"%s\": [", key);
  for (int i = 0; i < r->passes; ++i) {
    const char *at = (const char *)&r->samples[i] + member;
    fprintf(file, "%s%d", i ? ", " : "", *(const int *)(const void *)at);
  }
  fprintf(file, "]");
}

/* The least time of each process, in the order of the processes. */
static void json_samples(FILE *file, const outcome *r) {
  static const char *const keys[SUBJECTS] = {"limit", "stock", "ours"};
  fprintf(file, ", \"samples\": {");
  json_numbers(file, "run", r, offsetof(sample, run));
  fprintf(file, ", ");
  json_numbers(file, "exchanged", r, offsetof(sample, exchanged));
  fprintf(file, ", ");
  json_numbers(file, "ours_first", r, offsetof(sample, ours_first));
  fprintf(file, ", ");
  json_numbers(file, "placement", r, offsetof(sample, placement));
  for (int k = 0; k < SUBJECTS; ++k) {
    if (r->figures[k].min <= 0) continue;
    fprintf(file, ", \"%s\": [", keys[k]);
    for (int i = 0; i < r->passes; ++i) {
      fprintf(file, "%s%.4f", i ? ", " : "", r->samples[i].figures[k].min);
    }
    fprintf(file, "]");
  }
  fprintf(file, "}");
}

static void json_row(FILE *file, const outcome *r) {
  static const char *const keys[SUBJECTS] = {"limit", "stock", "ours"};
  const char *limit = bench_limit_text(r->row);
  fprintf(file, "    {");
  json_text(file, "group", r->group);
  fprintf(file, ", ");
  json_text(file, "name", r->row->name);
  fprintf(file, ", \"passes\": %d", r->passes);
  for (int k = 0; k < SUBJECTS; ++k) json_figure(file, keys[k], &r->figures[k]);
  if (r->ratio[LIMIT] > 0) {
    fprintf(file, ", \"to_limit\": %.4f", r->ratio[LIMIT]);
  }
  if (r->ratio[STOCK] > 0) {
    fprintf(file, ", \"to_stock\": %.4f", r->ratio[STOCK]);
  }
  if (r->row->by_median) fprintf(file, ", \"by_median\": true");
  if (r->row->control) fprintf(file, ", \"control\": true");
  if (limit) {
    fprintf(file, ", ");
    json_text(file, "limit_is", limit);
  }
  json_samples(file, r);
  fprintf(file, "}");
}

/* Where a row came from: written before the rows, one member a line. */
static void json_member(FILE *file, const char *key, const char *value) {
  if (!value) return;
  fprintf(file, "  ");
  json_text(file, key, value);
  fprintf(file, ",\n");
}

static void json_library(FILE *file, const bench_lib *lib) {
  TVMFFIVersion v;
  if (!lib->handle) return;
  lib->GetVersion(&v);
  fprintf(file, "  \"%s_library\": {\"abi\": \"%u.%u.%u\", ", lib->label,
          (unsigned)v.major, (unsigned)v.minor, (unsigned)v.patch);
  json_text(file, "path", lib->path);
  fprintf(file, ", ");
  json_text(file, "build_id", build_id_of(lib));
  fprintf(file, "},\n");
}

/* A result file: "-" is the standard output, which then has nothing else. */
static FILE *open_output(const char *path) {
  FILE *file = strcmp(path, "-") == 0 ? fdopen(option.results, "w")
                                      : fopen(path, "w");
  if (!file) die(path, "cannot be written");
  return file;
}

/* Opening to append keeps what an earlier run left, should this one fail. */
static void check_output(const char *path) {
  int exists;
  FILE *file;
  if (!path || strcmp(path, "-") == 0) return;
  exists = access(path, F_OK) == 0;
  file = fopen(path, "a");
  if (!file) die(path, "cannot be written");
  fclose(file);
  if (!exists) remove(path);
}

static int to_standard_output(const char *path) {
  return path && strcmp(path, "-") == 0;
}

void check_outputs(void) {
  check_output(option.json);
  check_output(option.csv);
  if (to_standard_output(option.json) && to_standard_output(option.csv)) {
    die("-", "is one output: give --json or --csv a file");
  }
  if (!to_standard_output(option.json) && !to_standard_output(option.csv)) {
    return;
  }
  option.results = dup(STDOUT_FILENO);
  if (option.results < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    die("-", "cannot be written");
  }
}

void write_json(const outcome *results, int count, int cpu) {
  FILE *file = open_output(option.json);
  struct utsname name;
  const char *separator = "";
  fprintf(file, "{\n");
  json_member(file, "date", start.date);
  json_member(file, "commit", option.commit);
  json_member(file, "processor", processor());
  json_member(file, "model", model());
  json_member(file, "caches", caches());
  json_member(file, "microcode", cpuinfo("microcode"));
  /* Two threads on processors of one core slow each other down. */
  json_member(file, "core_of", first_line("/sys/devices/system/cpu/cpu0/"
                                          "topology/thread_siblings_list"));
  json_member(file, "governor", governor());
  json_member(file, "virtualisation", virtualisation());
  json_member(file, "aslr", first_line("/proc/sys/kernel/randomize_va_space"));
  json_member(file, "system", operating_system());
  json_member(file, "kernel", uname(&name) < 0 ? NULL : name.release);
  json_member(file, "libc", libc());
  json_member(file, "compiler", COMPILER);
  json_library(file, &ours);
  json_library(file, &stock);
  fprintf(file,
          "  \"processors\": %ld,\n  \"pinned\": %s,\n"
          "  \"placements\": %d,\n  \"runs\": %d,\n"
          "  \"memory\": \"%.0f GB\",\n"
          "  \"load_before\": %.2f,\n  \"load\": %.2f,\n"
          "  \"complete\": %s,\n  \"rows\": [\n",
          sysconf(_SC_NPROCESSORS_ONLN), cpu < 0 ? "false" : "true",
          count_placements(), option.runs, gigabytes(), start.load, load_now(),
          interrupted ? "false" : "true");
  for (int i = 0; i < count; ++i) {
    if (results[i].passes == 0) continue;
    fputs(separator, file);
    json_row(file, &results[i]);
    separator = ",\n";
  }
  fprintf(file, "\n  ]\n}\n");
  if (fclose(file) != 0) die(option.json, "cannot be written");
}

static void csv_number(FILE *file, double value) {
  fprintf(file, value > 0 ? ",%.4f" : ",", value);
}

/* A name is quoted, as most have a comma; none has a quotation mark. */
void write_csv(const outcome *results, int count) {
  FILE *file = open_output(option.csv);
  fprintf(file,
          "group,name,control,passes,limit_ns,stock_ns,ours_ns,"
          "to_limit,to_stock\n");
  for (int i = 0; i < count; ++i) {
    const outcome *r = &results[i];
    if (r->passes == 0) continue;
    fprintf(file, "%s,\"%s\",%d,%d", r->group, r->row->name, r->row->control,
            r->passes);
    for (int k = 0; k < SUBJECTS; ++k) csv_number(file, r->figures[k].min);
    csv_number(file, r->ratio[LIMIT]);
    csv_number(file, r->ratio[STOCK]);
    fputc('\n', file);
  }
  if (fclose(file) != 0) die(option.csv, "cannot be written");
}

/* A file that write_json() wrote: only its own lines are understood. */
void read_old(outcome *results, int count) {
  FILE *file = fopen(option.compare, "r");
  char line[16384], name[256];
  int known = 0;
  if (!file) die(option.compare, "cannot be read");
  while (fgets(line, sizeof line, file)) {
    const char *at = strstr(line, "\"to_stock\": ");
    for (int i = 0; i < count && at; ++i) {
      snprintf(name, sizeof name, "{\"group\": \"%s\", \"name\": \"%s\",",
               results[i].group, results[i].row->name);
      if (!strstr(line, name)) continue;
      results[i].old_ratio = strtod(at + strlen("\"to_stock\": "), NULL);
      ++known;
    }
  }
  fclose(file);
  if (known == 0) die(option.compare, "has none of the rows to be measured");
}
