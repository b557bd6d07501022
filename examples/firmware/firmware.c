/* Calls functions by name over a serial line.

   A line is a name and its arguments, numbers or words, separated by blanks:

       device.add 2 3
       = 5
       device.add 2 x
       ! TypeError: Mismatched type on argument #1 when calling: ...

   The loop looks functions up by name, so a new function needs no change here.
   "memory" prints the use of flash, RAM, arena and stack. */

#define TVMFFI_PORT "port.h"
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "board.h"

/* -------- What the device can do -------- */

static int64_t brightness;

TVMFFI_FUNC(device_add, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }

TVMFFI_FUNC(device_light, int64, (int64, percent)) {
  int64_t before = brightness;
  if (percent < 0 || percent > 100)
    return TVMFFI_RAISE("ValueError", "%d percent is no brightness",
                        (int)percent);
  brightness = percent;
  TVMFFI_RETURN(before);
}

TVMFFI_FUNC(device_greet, str, (str, name)) {
  char text[48] = "hello, ";
  TVMFFIByteArray greeting = {text, 7};
  size_t i;
  if (name.size > sizeof(text) - 7)
    return TVMFFI_RAISE("ValueError", "the name is too long");
  for (i = 0; i < name.size; ++i) text[greeting.size++] = name.data[i];
  TVMFFI_RETURN(greeting);
}

static int register_all(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("device.add", device_add));
  TVMFFI_TRY(TVMFFI_REGISTER("device.light", device_light));
  return TVMFFI_REGISTER("device.greet", device_greet);
}

/* -------- The serial line -------- */

enum { LINE = 96, ARGS = 6 };

/* Reads one line, and drops the characters that do not fit. */
static void read_line(char *line) {
  int n = 0;
  char c;
  while ((c = board_read()) != '\n' && c != '\r')
    if (n < LINE - 1) line[n++] = c;
  line[n] = 0;
}

/* Returns the next word, and moves *rest past it. */
static char *next_word(char **rest) {
  char *word = *rest;
  while (*word == ' ') ++word;
  *rest = word;
  while (**rest && **rest != ' ') ++*rest;
  if (**rest) *(*rest)++ = 0;
  return word;
}

static int is_same(const char *a, const char *b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

/* Converts digits to an int; any other word is a string. */
static TVMFFIAny value_of(const char *word) {
  const char *p = word + (*word == '-');
  uint64_t x = 0;
  if (!*p) return tvmffi_str(word);
  for (; *p; ++p) {
    if (*p < '0' || *p > '9') return tvmffi_str(word);
    x = x * 10 + (uint64_t)(*p - '0');
  }
  return tvmffi_int((int64_t)(*word == '-' ? 0 - x : x));
}

static void write_value(const TVMFFIAny *value) {
  if (value->type_index == kTVMFFIInt || value->type_index == kTVMFFIBool)
    board_write_int(value->v_int64);
  else if (value->type_index == kTVMFFIStr ||
           value->type_index == kTVMFFISmallStr)
    board_write(tvmffi_any_str(value).data);
  else
    board_write(value->type_index == kTVMFFINone ? "None" : "an object");
}

static int call_line(char *rest) {
  TVMFFIByteArray name = tvmffi_byte_array(next_word(&rest));
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny args[ARGS], result = tvmffi_none();
  int32_t n = 0;
  int code;
  for (; n < ARGS; ++n) {
    const char *word = next_word(&rest);
    if (!*word) break;
    args[n] = value_of(word);
  }
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &function));
  if (!function)
    return TVMFFI_RAISE("AttributeError", "there is no %s", name.data);
  code = TVMFFIFunctionCall(function, args, n, &result);
  tvmffi_release(function);
  if (code) return code;
  board_write("= ");
  write_value(&result);
  board_write("\n");
  tvmffi_any_release(&result);
  return 0;
}

static void write_use(const char *what, size_t used, size_t of) {
  board_write(what);
  board_write_int((int64_t)used);
  board_write(" of ");
  board_write_int((int64_t)of);
  board_write("\n");
}

static void write_memory(void) {
  size_t most, now = tvmffi_arena_used(&most);
  write_use("flash ", board_flash_used(), 16384);
  write_use("memory ", board_static_ram_used() + board_stack_size(), 4096);
  write_use("arena now ", now, TVMFFI_ARENA_SIZE);
  write_use("arena at most ", most, TVMFFI_ARENA_SIZE);
  write_use("stack at most ", board_stack_most_used(), board_stack_size());
}

int main(void) {
  char line[LINE];
  int failed = register_all();
  if (!failed) board_write("ready\n");
  for (;;) {
    if (failed) {
      TVMFFI_SCOPE;
      TVMFFIObject *error = tvmffi_error_take();
      board_write("! ");
      board_write(TVMFFIErrorGetCellPtr(error)->kind.data);
      board_write(": ");
      board_write(TVMFFIErrorGetCellPtr(error)->message.data);
      board_write("\n");
    }
    read_line(line);
    failed = 0;
    if (is_same(line, "memory"))
      write_memory();
    else
      failed = call_line(line);
  }
}
