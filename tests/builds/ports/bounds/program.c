/* Measures on a Cortex-M3 what tests/builds/ports/bounds/bounds.py compares
   with the computed bounds: stack, bytes and instructions. Prints a line for
   each figure. The machine counts instructions by -icount shift=6: one
   instruction is 64 ns, and a tick of SysTick is 40 ns. */

#define TVMFFI_PORT "profile.h"
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "../../../../examples/firmware/board.h"

/* -------- Output, and the clock -------- */

static void put(const char *text) { board_write(text); }

static void put_number(unsigned n) {
  char text[12], *at = text + sizeof(text) - 1;
  *at = 0;
  do *--at = (char)('0' + n % 10);
  while (n /= 10);
  put(at);
}

static void line(const char *what, const char *name, unsigned n) {
  put(what);
  put(" ");
  put(name);
  put(" ");
  put_number(n);
  put("\n");
}

/* Ends qemu by semihosting. */
static void stop(void) {
  register unsigned operation __asm__("r0") = 0x18;
  register unsigned reason __asm__("r1") = 0x20026;
  __asm__ volatile("bkpt 0xab" : "+r"(operation) : "r"(reason) : "memory");
}

static void failed(const char *what) {
  line("failed", what, 0);
  stop();
}
#define CHECK(condition) \
  if (!(condition)) failed(TVMFFI_I_QUOTE(__LINE__) ": " #condition)

#define SYSTICK ((volatile uint32_t *)0xE000E010)
enum { TICKS = 0xFFFFFF };
static void start_clock(void) {
  SYSTICK[1] = TICKS;
  SYSTICK[2] = 0;
  SYSTICK[0] = 5; /* enable, by the processor's clock */
}
static inline uint32_t now(void) { return SYSTICK[2]; }

/* Returns the instructions between two calls of now(), from the first load of
   the counter to the second, which is one of them. */
static uint32_t instructions(uint32_t from, uint32_t to) {
  return (((from - to) & TICKS) * 5 + 4) / 8 - 1;
}

/* -------- The port's hooks -------- */

#if BOUNDS_PROFILE == 3
static uint32_t masked_since, masked_longest, locked_since, locked_longest;
static int masked, locked;

uintptr_t bounds_mask(void) {
  uintptr_t was;
  __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(was) : : "memory");
  if (!masked++) masked_since = now();
  return was;
}

void bounds_unmask(uintptr_t was) {
  if (!--masked) {
    uint32_t n = instructions(masked_since, now());
    if (masked_longest < n) masked_longest = n;
  }
  __asm__ volatile("msr primask, %0" : : "r"(was) : "memory");
}

void bounds_lock(void) {
  CHECK(!locked);
  locked = 1;
  locked_since = now();
}

void bounds_unlock(void) {
  uint32_t n = instructions(locked_since, now());
  if (locked_longest < n) locked_longest = n;
  locked = 0;
}

/* The memory of the only thread: of constant size, as on a board. */
static const void *local_key[TVMFFI_THREAD_LOCAL_KEYS];
static uint64_t *local_at[TVMFFI_THREAD_LOCAL_KEYS];
static uint64_t local_memory[TVMFFI_THREAD_LOCAL_SIZE / 8];
static unsigned local_keys, local_words;
void *bounds_local(const void *key, size_t size) {
  unsigned i = 0;
  while (i < local_keys && local_key[i] != key) ++i;
  if (i < local_keys) return local_at[i];
  CHECK(local_keys < TVMFFI_THREAD_LOCAL_KEYS);
  local_key[local_keys++] = key;
  local_at[i] = local_memory + local_words;
  local_words += (unsigned)(size + 7) / 8;
  CHECK(local_words * 8 <= TVMFFI_THREAD_LOCAL_SIZE);
  return local_at[i];
}
#endif

/* -------- Stack: what each of these calls uses -------- */

/* A chain of calls to measure. Returns 0, or an error's code. */
#define SCENE(name) static __attribute__((__noinline__)) int scene_##name(void)

TVMFFI_FUNC(add, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }

TVMFFI_FUNC(raise, none, (int64, code)) {
  return TVMFFI_RAISE("ValueError", "the code is %d", (int)code);
}

TVMFFI_FUNC(greet, str, (str, name)) {
  char text[32] = "hello, ";
  TVMFFIByteArray greeting = {text, 7};
  size_t i;
  for (i = 0; i < name.size && i < 24; ++i)
    text[greeting.size++] = name.data[i];
  TVMFFI_RETURN(greeting);
}

SCENE(register) {
  TVMFFI_TRY(TVMFFI_REGISTER("bounds.add", add));
  TVMFFI_TRY(TVMFFI_REGISTER("bounds.raise", raise));
  return TVMFFI_REGISTER("bounds.greet", greet);
}

SCENE(call) {
  int64_t three = 0;
  TVMFFI_TRY(tvmffi_call("bounds.add", &three, tvmffi_int(1), tvmffi_int(2)));
  return three != 3;
}

SCENE(call_str) {
  TVMFFI_SCOPE;
  TVMFFIAny text;
  return tvmffi_call("bounds.greet", &text, tvmffi_str("everybody"));
}

SCENE(call_bad_argument) {
  int64_t three = 0;
  return !tvmffi_call("bounds.add", &three, tvmffi_int(1), tvmffi_str("x"));
}

SCENE(call_bad_count) {
  int64_t three = 0;
  return !tvmffi_call("bounds.add", &three, tvmffi_int(1));
}

SCENE(call_raises) { return !tvmffi_call("bounds.raise", NULL, tvmffi_int(7)); }

SCENE(call_unknown) {
  int64_t none = 0;
  return !tvmffi_call("no.such.function", &none, tvmffi_int(7));
}

/* The error that is replaced dies with its causes. */
SCENE(raise_from) {
  TVMFFIObject *cause;
  int i;
  (void)TVMFFI_RAISE("ValueError", "the first");
  for (i = 0; i < 12; ++i) {
    cause = tvmffi_i_error_remove();
    (void)TVMFFI_RAISE_FROM(cause, "ValueError", "caused by others");
    tvmffi_release(cause);
  }
  return 0;
}

SCENE(error_take) {
  TVMFFIObject *error = tvmffi_i_error_remove();
  int is = error && tvmffi_error_is(error, "ValueError");
  tvmffi_release(error);
  return !is;
}

#if BOUNDS_PROFILE >= 2
static TVMFFIObject *made;

SCENE(array) {
  TVMFFI_SCOPE;
  tvmffi_keep(&made, tvmffi_array(tvmffi_int(1), tvmffi_float(2.5),
                                  tvmffi_str("three")));
  return !made;
}

SCENE(release) {
  tvmffi_release(made);
  made = NULL;
  return 0;
}

SCENE(nested) {
  int i;
  for (i = 0; i < 12; ++i) {
    TVMFFI_SCOPE;
    tvmffi_keep(&made, tvmffi_array(tvmffi_obj(made), tvmffi_int(i)));
    if (!made) return -1;
  }
  return 0;
}

SCENE(dict) {
  TVMFFI_SCOPE;
  int i;
  tvmffi_keep(&made, tvmffi_dict(tvmffi_str("zero"), tvmffi_int(0)));
  if (!made) return -1;
  for (i = 0; i < 100; ++i)
    TVMFFI_TRY(tvmffi_set(made, tvmffi_int(i), tvmffi_float(i)));
  TVMFFI_TRY(
      tvmffi_set(made, tvmffi_str("a key of some length"), tvmffi_int(1)));
  return 0;
}

SCENE(lookup) {
  TVMFFI_SCOPE;
  TVMFFIAny value;
  TVMFFI_TRY(tvmffi_get(made, tvmffi_int(50), &value));
  return value.v_float64 != 50;
}

SCENE(list) {
  TVMFFI_SCOPE;
  int i;
  tvmffi_keep(&made, tvmffi_list(tvmffi_int(1)));
  if (!made) return -1;
  for (i = 0; i < 100; ++i) TVMFFI_TRY(tvmffi_append(made, tvmffi_int(i)));
  return 0;
}

SCENE(json_parse) {
  TVMFFI_SCOPE;
  TVMFFIObject *parsed;
  TVMFFI_TRY(
      tvmffi_call("ffi.json.Parse", &parsed,
                  tvmffi_str("{\"a\": [1, 2.5, 1e-7, {\"b\": null}], "
                             "\"c\": \"\\u00e9\", \"d\": [[[[true]]]], "
                             "\"e\": 123456789012345678901234567890.5e-300}")));
  tvmffi_keep(&made, parsed);
  return 0;
}

SCENE(json_stringify) {
  return tvmffi_call("ffi.json.Stringify", NULL, tvmffi_obj(made),
                     tvmffi_none());
}

SCENE(json_bad) {
  return !tvmffi_call("ffi.json.Parse", NULL, tvmffi_str("[1, 2, }"));
}
#endif

#if BOUNDS_PROFILE == 3
/* A field that owns an object: a Point dies by the key of its destructors. */
typedef struct {
  TVMFFIObject base;
  int64_t x, y;
  TVMFFIAny next;
} Point;
TVMFFI_TYPE(Point, "bounds.Point", TVMFFIObject, (field, int64, x),
            (field, int64, y, 0), (field, any, next, tvmffi_none()))

/* To measure the bytes of a type, since another test registers Point. */
typedef struct {
  TVMFFIObject base;
  int64_t first, second;
} Pair;
TVMFFI_TYPE(Pair, "bounds.Pair", TVMFFIObject, (field, int64, first),
            (field, int64, second))

SCENE(type) { return TVMFFI_REGISTER_TYPE(Point); }

SCENE(object) {
  TVMFFI_SCOPE;
  Point *p = TVMFFI_NEW(Point, tvmffi_int(1), tvmffi_int(2));
  tvmffi_keep(&made, tvmffi_array(tvmffi_obj(p), tvmffi_obj(p)));
  return !made;
}

/* Calls a function of one value, and drops the result. */
static int call_1(const char *name) {
  return tvmffi_call(name, NULL, tvmffi_obj(made));
}

/* Uses the key of tvmffi_print. */
SCENE(repr) { return tvmffi_i_repr(tvmffi_obj(made)); }
SCENE(deep_copy) { return call_1("ffi.DeepCopy"); }
SCENE(recursive_hash) { return call_1("ffi.RecursiveHash"); }
SCENE(graph) {
  return tvmffi_call("ffi.ToJSONGraphString", NULL, tvmffi_obj(made),
                     tvmffi_none());
}

SCENE(structural_equal) {
  return tvmffi_call("ffi.StructuralEqual", NULL, tvmffi_obj(made),
                     tvmffi_obj(made), tvmffi_bool(0), tvmffi_bool(0));
}

SCENE(structural_hash) {
  return tvmffi_call("ffi.StructuralHash", NULL, tvmffi_obj(made),
                     tvmffi_bool(0), tvmffi_bool(0));
}
#endif

/* Paints the free stack, runs the scene, and prints how much paint is gone. The
   scene's frame begins at this function's stack pointer. */
extern uint32_t board_stack[];
static __attribute__((__noinline__)) void measure(const char *name,
                                                  int (*scene)(void)) {
  static uint32_t *at, *top;
  static int code;
  __asm__ volatile("mov %0, sp" : "=r"(top));
  for (at = board_stack; at < top; ++at) *at = 0xA5A5A5A5u;
  code = scene();
  for (at = board_stack; *at == 0xA5A5A5A5u;) ++at;
  if (code) {
    TVMFFIObject *error = tvmffi_i_error_remove();
    put(name);
    put(": ");
    if (error) put(TVMFFIErrorGetCellPtr(error)->message.data);
    failed("a scene");
  }
  line("stack", name, (unsigned)((uintptr_t)top - (uintptr_t)at));
}
#define MEASURE(name) measure(#name, scene_##name)

static void measure_stack(void) {
  MEASURE(register);
  MEASURE(call);
  MEASURE(call_str);
  MEASURE(call_bad_argument);
  MEASURE(call_bad_count);
  MEASURE(call_raises);
  MEASURE(error_take);
  MEASURE(call_unknown);
  MEASURE(raise_from);
  MEASURE(call_raises);
  tvmffi_error_clear();
#if BOUNDS_PROFILE >= 2
  MEASURE(array);
  MEASURE(release);
  MEASURE(nested);
  MEASURE(release);
  MEASURE(list);
  MEASURE(release);
  MEASURE(dict);
  MEASURE(lookup);
  MEASURE(release);
  MEASURE(json_parse);
  MEASURE(json_stringify);
  MEASURE(release);
  MEASURE(json_bad);
  tvmffi_error_clear();
#endif
#if BOUNDS_PROFILE == 3
  MEASURE(type);
  MEASURE(object);
  MEASURE(repr);
  MEASURE(deep_copy);
  MEASURE(recursive_hash);
  MEASURE(graph);
  MEASURE(release);
  MEASURE(array);
  MEASURE(structural_equal);
  MEASURE(structural_hash);
  MEASURE(release);
#endif
}

/* -------- Bytes of the arena -------- */

static unsigned used(void) { return (unsigned)tvmffi_arena_used(NULL); }

static void measure_bytes(void) {
  TVMFFI_SCOPE;
  enum { MANY = 64 };
  static char names[MANY][8];
  TVMFFIObjectHandle function = NULL;
  TVMFFIByteArray text = {"a text of 24 characters.", 24};
  TVMFFIAny any = tvmffi_none();
  unsigned before = used(), i;
  CHECK(!TVMFFIFunctionCreate(NULL, tvmffi_call_add, NULL, &function));
  for (i = 0; i < MANY; ++i) {
    TVMFFIByteArray name;
    names[i][0] = (char)('a' + i / 8);
    names[i][1] = (char)('a' + i % 8);
    name = tvmffi_byte_array(names[i]);
    CHECK(!TVMFFIFunctionSetGlobal(&name, function, 0));
  }
  line("bytes", "64 names of a function in the registry", used() - before);
  before = used();
  CHECK(!TVMFFI_REGISTER("bounds.again", add));
  line("bytes", "a typed function, registered", used() - before);
  before = used();
  CHECK(!TVMFFIStringFromByteArray(&text, &any));
  line("bytes", "a string of 24 bytes", used() - before);
  tvmffi_any_release(&any);
  tvmffi_error_clear();
  before = used();
  (void)TVMFFI_RAISE("ValueError", "a message of 24 letters.");
  line("bytes", "an error with a message of 24 bytes", used() - before);
  tvmffi_error_clear();
#if BOUNDS_PROFILE >= 2
  text = tvmffi_byte_array("bounds.Plain");
  before = used();
  CHECK(TVMFFITypeGetOrAllocIndex(&text, -1, 1, 0, 1, kTVMFFIObject) > 0);
  line("bytes", "a type without fields, registered", used() - before);
  before = used();
  CHECK(tvmffi_array(tvmffi_int(1), tvmffi_int(2), tvmffi_int(3)));
  line("bytes", "an array of 3 items", used() - before);
  before = used();
  CHECK(tvmffi_list(tvmffi_int(1), tvmffi_int(2), tvmffi_int(3)));
  line("bytes", "a list of 3 items", used() - before);
  before = used();
  CHECK(tvmffi_map(tvmffi_int(1), tvmffi_int(2), tvmffi_int(3), tvmffi_int(4)));
  line("bytes", "a map of 2 items", used() - before);
#endif
#if BOUNDS_PROFILE == 3
  before = used();
  CHECK(!TVMFFI_REGISTER_TYPE(Pair));
  line("bytes", "a type with 2 fields, registered", used() - before);
  CHECK(TVMFFI_NEW(Point, tvmffi_int(1), tvmffi_int(2)));
  before = used();
  CHECK(TVMFFI_NEW(Point, tvmffi_int(1), tvmffi_int(2)));
  line("bytes", "an object with 32 bytes of fields", used() - before);
#endif
}

/* -------- Instructions of the arena -------- */

static uint32_t alloc_longest, free_longest;

static void *timed_alloc(size_t size) {
  uint32_t from = now(), to;
  void *block = tvmffi_i_arena_alloc(size);
  to = now();
  from = instructions(from, to);
  if (alloc_longest < from) alloc_longest = from;
  return block;
}

static void timed_free(void *block) {
  uint32_t from = now(), to;
  tvmffi_i_arena_free(block);
  to = now();
  from = instructions(from, to);
  if (free_longest < from) free_longest = from;
}

static unsigned seed = 1;
static unsigned next(unsigned n) {
  seed = seed * 1103515245u + 12345u;
  return (seed >> 16) % n;
}

/* Random sizes in `count` blocks. Every other block is free at most times, so
   the number of free blocks grows with `count`. */
static void measure_arena(const char *alloc, const char *release, int count) {
  enum { MOST = 512 };
  static void *block[MOST];
  int i, round;
  alloc_longest = free_longest = 0;
  for (round = 0; round < 4 * count; ++round) {
    i = (int)next((unsigned)count);
    if (block[i]) {
      timed_free(block[i]);
      block[i] = NULL;
    } else {
      block[i] = timed_alloc(next(round % 3 ? 90 : 700));
    }
  }
  for (i = 0; i < count; ++i) {
    if (block[i]) timed_free(block[i]);
    block[i] = NULL;
  }
  /* The smallest request, which only the largest block serves, searches all
     lists. The largest block of all has neighbours to merge on both sides. */
  for (i = 0; i < 3; ++i) block[i] = timed_alloc(1);
  timed_free(block[0]);
  timed_free(block[2]);
  timed_free(block[1]);
  block[0] = block[1] = block[2] = NULL;
  line("instructions", alloc, alloc_longest);
  line("instructions", release, free_longest);
}

int main(void) {
  start_clock();
  measure_stack();
  measure_bytes();
  measure_arena("allocate, few free blocks", "free, few free blocks", 8);
  measure_arena("allocate, many free blocks", "free, many free blocks", 512);
#if BOUNDS_PROFILE == 3
  line("instructions", "masked", masked_longest);
  line("instructions", "locked", locked_longest);
  line("bytes", "a thread: its keys", TVMFFI_THREAD_LOCAL_SIZE);
#endif
  put("done\n");
  stop();
  return 0;
}
