/* A timer interrupts the main program at arbitrary instructions. Both call the
   same function objects; the main program also allocates, raises errors and
   registers functions. With INTERRUPTS_STATE, the interrupt does so, too, but
   for what takes the lock. Prints one line, which begins with "ok" if all
   results were right. */

#define TVMFFI_PORT "port.h"
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "board.h"

#define TIMER_CONTROL (*(volatile uint32_t *)0xE000E010)
#define TIMER_RELOAD (*(volatile uint32_t *)0xE000E014)
enum { INTERRUPTS = 20000, SLOTS = 8 };

/* Written by the interrupt, except `is_locked`, `is_pending` and, at the start,
   `shared` and `count`. */
static volatile uint32_t interrupts, wrong, while_locked, while_pending;
static volatile uint32_t locks, allocations, states; /* not allowed there */
static volatile int is_locked, is_pending, is_plain_call, is_ending;
static TVMFFIObject *shared, *count;

static int in_interrupt(void) {
  uint32_t number;
  __asm__ volatile("mrs %0, ipsr" : "=r"(number));
  return number != 0;
}

/* -------- The port -------- */

#if INTERRUPTS_STATE
uintptr_t port_mask(void) {
  uintptr_t was;
  __asm__ volatile("mrs %0, primask\n cpsid i" : "=r"(was) : : "memory");
  return was;
}

void port_unmask(uintptr_t was) {
  __asm__ volatile("msr primask, %0" : : "r"(was) : "memory");
}

/* The main program is alone, so nothing needs to wait. */
void port_lock(void) {
  if (in_interrupt()) ++locks;
  is_locked = 1;
}
void port_unlock(void) { is_locked = 0; }

void *port_local(const void *key, size_t size) {
  enum { KEYS = 4, SIZE = 256 };
  static uint64_t memory[2][KEYS][SIZE / 8];
  static const void *keys[2][KEYS];
  const int own = in_interrupt();
  int i = 0;
  if (own && is_plain_call) ++states;
  while (i < KEYS && keys[own][i] && keys[own][i] != key) ++i;
  if (i == KEYS || size > SIZE) __builtin_trap();
  keys[own][i] = key;
  return memory[own][i];
}

static size_t memory_used(void) { return tvmffi_arena_used(NULL); }
#else
/* Blocks of one size, in a list. */
enum { BLOCK = 1280, BLOCKS = 48 };
static uint64_t blocks[BLOCKS][BLOCK / 8];
static void *free_blocks;
static size_t used_blocks, fresh_blocks;

void *port_malloc(size_t size) {
  void *block = free_blocks;
  if (in_interrupt()) ++allocations;
  if (size > BLOCK) return NULL;
  if (block)
    free_blocks = *(void **)block;
  else if (fresh_blocks < BLOCKS)
    block = blocks[fresh_blocks++];
  if (block) ++used_blocks;
  return block;
}

void port_free(void *pointer) {
  if (in_interrupt()) ++allocations;
  *(void **)pointer = free_blocks;
  free_blocks = pointer;
  --used_blocks;
}

static size_t memory_used(void) { return used_blocks; }
#endif

/* -------- What both call -------- */

TVMFFI_FUNC(mix, int64, (int64, a), (int16, b), (bool, c), (float64, d)) {
  TVMFFI_RETURN(a * 31 + b + c + (int64_t)d);
}

/* A closure: the sum of its arguments. */
TVMFFI_CLOSURE(add, int64_t, int64, (int64, step)) {
  TVMFFI_RETURN(*self += step);
}

static uint32_t random_number(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

/* Calls the function `f`, and returns 1 if the result is right. */
static int is_right(TVMFFIObject *f, int64_t a) {
  TVMFFIAny args[4], result = tvmffi_none();
  args[0] = tvmffi_int(a);
  args[1] = tvmffi_int(a % 1000);
  args[2] = tvmffi_bool((int)(a & 1));
  args[3] = tvmffi_float((double)a);
  return !TVMFFIFunctionCall(f, args, 4, &result) &&
         result.type_index == kTVMFFIInt &&
         result.v_int64 == a * 32 + a % 1000 + (a & 1);
}

/* Takes the pending error, and returns 1 if it has this kind and message. */
static int took_error(const char *kind, const char *message) {
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  int same = error && tvmffi_error_is(error, kind) &&
             tvmffi_i_same(TVMFFIErrorGetCellPtr(error)->message, message);
  return same;
}

static int is_type_error(TVMFFIObject *f) {
  TVMFFIAny args[4], result = tvmffi_none();
  args[0] = tvmffi_str("text");
  args[1] = args[2] = tvmffi_int(1);
  args[3] = tvmffi_float(1);
  return TVMFFIFunctionCall(f, args, 4, &result) == -1 &&
         took_error("TypeError",
                    "Mismatched type on argument #0 when calling: "
                    "`test.mix(0: int, 1: int, 2: bool, 3: float) -> int`. "
                    "Expected `int` but got `const char*`");
}

/* Makes a string of `size` times `c`. */
static int make_string(TVMFFIAny *out, char c, size_t size) {
  char text[64];
  TVMFFIByteArray bytes = {text, size};
  memset(text, c, size);
  return TVMFFIStringFromByteArray(&bytes, out);
}

static int is_string(const TVMFFIAny *any, char c, size_t size) {
  TVMFFIByteArray text = tvmffi_any_str(any);
  size_t i = 0;
  while (i < text.size && text.data[i] == c) ++i;
  return text.size == size && i == size;
}

/* -------- The interrupt -------- */

#if INTERRUPTS_STATE
static int looks_up(int64_t a) {
  TVMFFIByteArray name = tvmffi_byte_array("test.mix");
  TVMFFIObjectHandle f = NULL;
  int right = !TVMFFIFunctionGetGlobal(&name, &f) && f == shared &&
              is_right((TVMFFIObject *)f, a);
  tvmffi_release(f);
  /* The main program registers and removes it all the time. */
  name = tvmffi_byte_array("test.temporary");
  if (TVMFFIFunctionGetGlobal(&name, &f)) return 0;
  right = right && (!f || is_right((TVMFFIObject *)f, a));
  tvmffi_release(f);
  return right;
}

static int makes_objects(uint32_t random) {
  TVMFFI_SCOPE;
  TVMFFIAny string = tvmffi_none(), item = tvmffi_none();
  TVMFFIObject *array;
  int right = !make_string(&string, 'i', random % 60) &&
              is_string(&string, 'i', random % 60);
  tvmffi_any_release(&string);
  array = tvmffi_array(random, 2, 3);
  return right && array && !tvmffi_at(array, 0, &item) &&
         item.v_int64 == random;
}

/* What needs a state: errors, memory, names. The last error stays pending. */
static int uses_state(uint32_t random) {
  switch (interrupts % 4) {
    case 0: return is_type_error(shared);
    case 1: return looks_up(random);
    case 2: return makes_objects(random);
    default: return TVMFFI_RAISE("InterruptError", "%u", random) == -1;
  }
}
#else
static int uses_state(uint32_t random) { return random || 1; }
#endif

void board_tick(void) {
  static uint32_t seed = 1;
  static int64_t sum;
  const uint32_t random = random_number(&seed);
  TVMFFIAny step = tvmffi_int(random), result = tvmffi_none();
  int right;
  if (is_ending) {
#if INTERRUPTS_STATE
    tvmffi_error_clear(); /* of the interrupt */
#endif
    TIMER_CONTROL = is_ending = 0;
    return;
  }
  TIMER_RELOAD = 1000 + random % 4096;
  ++interrupts;
  while_locked += (uint32_t)is_locked;
  while_pending += (uint32_t)is_pending;
  is_plain_call = 1;
  tvmffi_retain(shared);
  right = is_right(shared, random);
  sum += random;
  right = !TVMFFIFunctionCall(count, &step, 1, &result) &&
          result.v_int64 == sum && right;
  tvmffi_release(shared);
  is_plain_call = 0;
  if (!right || !uses_state(random)) ++wrong;
}

/* -------- The main program -------- */

#define CHECK(condition)                     \
  if (!(condition)) {                        \
    board_write("failed: " #condition "\n"); \
    return -1;                               \
  }

static int raises(uint32_t random) {
  char message[TVMFFI_MESSAGE_SIZE];
  TVMFFI_SCOPE;
  TVMFFIObject *error;
  (void)TVMFFI_RAISE("MainError", "round %u", random);
  is_pending = 1;
  error = tvmffi_error_take(); /* its text is what we compare with */
  CHECK(error);
  memcpy(message, TVMFFIErrorGetCellPtr(error)->message.data,
         TVMFFIErrorGetCellPtr(error)->message.size + 1);
  CHECK(tvmffi_error_raise(error) == -1);
  CHECK(is_right(shared, random));
  CHECK(took_error("MainError", message));
  is_pending = 0;
  CHECK(message[6] == (char)('0' + random % 10) || random > 9);
  return 0;
}

static int registers(uint32_t random) {
  TVMFFIByteArray name = tvmffi_byte_array("test.temporary");
  TVMFFIAny argument = tvmffi_bytes(&name), result = tvmffi_none();
  TVMFFIObjectHandle remove = NULL, f = NULL;
  TVMFFI_TRY(TVMFFI_REGISTER("test.temporary", mix));
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &f));
  CHECK(f && is_right((TVMFFIObject *)f, random));
  tvmffi_release(f);
  name = tvmffi_byte_array("ffi.FunctionRemoveGlobal");
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &remove));
  argument = tvmffi_str("test.temporary");
  TVMFFI_TRY(TVMFFIFunctionCall(remove, &argument, 1, &result));
  tvmffi_release(remove);
  CHECK(result.v_int64 == 1);
  return 0;
}

static int round_of(uint32_t random) {
  static TVMFFIAny string[SLOTS];
  static char letter[SLOTS];
  static size_t size[SLOTS];
  const uint32_t slot = random % SLOTS;
  if (size[slot]) CHECK(is_string(&string[slot], letter[slot], size[slot]));
  tvmffi_any_release(&string[slot]);
  letter[slot] = (char)('a' + random % 26);
  size[slot] = 1 + random / 8 % 60;
  TVMFFI_TRY(make_string(&string[slot], letter[slot], size[slot]));
  tvmffi_retain(shared);
  CHECK(is_right(shared, random));
  tvmffi_release(shared);
  CHECK(is_type_error(shared));
  TVMFFI_TRY(raises(random));
  TVMFFI_TRY(registers(random));
  if (random % 64) return 0;
  for (random = 0; random < SLOTS; ++random) {
    tvmffi_any_release(&string[random]);
    size[random] = 0;
  }
  return 0;
}

static void write_number(const char *name, uint32_t x) {
  char text[12], *at = text + sizeof(text) - 1;
  *at = 0;
  do {
    *--at = (char)('0' + x % 10);
    x /= 10;
  } while (x);
  board_write(", ");
  board_write(name);
  board_write(" ");
  board_write(at);
}

/* Runs rounds until there were `end` interrupts, then drops what main program
   and interrupt hold. */
static int run_until(uint32_t end, uint32_t *rounds) {
  static uint32_t seed = 2;
  TIMER_RELOAD = 1000;
  TIMER_CONTROL = 7; /* on, with interrupts, by the processor's clock */
  for (; interrupts < end; ++*rounds)
    TVMFFI_TRY(round_of(random_number(&seed)));
  is_ending = 1;
  while (is_ending) {
  }
  return round_of(0); /* releases all strings */
}

static int run(uint32_t *rounds, uint32_t *leaked) {
  TVMFFI_SCOPE;
  static int64_t sum;
  TVMFFIObject *made;
  TVMFFIByteArray name = tvmffi_byte_array("test.mix");
  TVMFFIObjectHandle f = NULL;
  uint64_t references;
  size_t used;
  TVMFFI_TRY(TVMFFI_REGISTER("test.mix", mix));
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &f));
  shared = (TVMFFIObject *)f;
  TVMFFI_TRY(TVMFFI_CLOSURE_NEW(add, &sum, NULL, &made));
  tvmffi_keep(&count, made);
  /* The table of types and the entries of built-in functions are made at first
     use, under the lock, which an interrupt must not take. */
  TVMFFI_TRY(round_of(0));
#if INTERRUPTS_STATE
  CHECK(makes_objects(1));
#endif
  TVMFFI_TRY(run_until(100, rounds)); /* what is kept for good is allocated */
  references = shared->combined_ref_count;
  used = memory_used();
  TVMFFI_TRY(run_until(INTERRUPTS, rounds));
  CHECK(shared->combined_ref_count == references);
  *leaked = (uint32_t)(memory_used() - used);
  return 0;
}

int main(void) {
  uint32_t rounds = 0, leaked = 0;
  if (run(&rounds, &leaked)) {
    TVMFFI_SCOPE;
    TVMFFIObject *error = tvmffi_error_take();
    if (error) {
      board_write(TVMFFIErrorGetCellPtr(error)->message.data);
      board_write("\n");
    }
    return 1;
  }
  board_write("done");
  write_number("interrupts", interrupts);
  write_number("rounds", rounds);
  write_number("wrong", wrong);
  write_number("locks", locks);
  write_number("allocations", allocations);
  write_number("states", states);
  write_number("locked", while_locked);
  write_number("pending", while_pending);
  write_number("leaked", leaked);
  board_write("\n");
  return 0;
}
