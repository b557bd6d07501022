/* The runtime, and the device's commands. Each command is a typed function: the
   runtime checks the count and the types of the arguments, so a body begins
   with valid values. */

#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "board.h"
#include "commands.h"

/* -------- LEDs -------- */

enum { LEDS = 2 };
#define LED_REGISTER (*(volatile uint32_t *)0x40028000)

static int check_led(int64_t led) {
  if (led >= 0 && led < LEDS) return 0;
  return TVMFFI_RAISE("ValueError", "argument #0: there is no LED %lld",
                      (long long)led);
}

TVMFFI_FUNC(led_set, none, (int64, led), (bool, on)) {
  TVMFFI_TRY(check_led(led));
  if (on)
    LED_REGISTER |= 1u << led;
  else
    LED_REGISTER &= ~(1u << led);
  TVMFFI_RETURN();
}

TVMFFI_FUNC(led_get, bool, (int64, led)) {
  TVMFFI_TRY(check_led(led));
  TVMFFI_RETURN((LED_REGISTER >> led & 1) != 0);
}

/* -------- The sensor, and the task that samples it -------- */

enum { SAMPLES = 16, PERIOD = 2 /* milliseconds */ };
static volatile int is_unplugged;

/* `lost` counts failures whose error was not the sensor's. */
static struct {
  int32_t value[SAMPLES]; /* a ring: sample n is in slot n % SAMPLES */
  uint32_t taken, failed, lost;
} samples;

/* Reads the temperature in thousandths of a degree: a sawtooth. The error is
   pending during the pause after it, and the other task runs then. */
TVMFFI_FUNC(sensor_read, int64) {
  if (is_unplugged) {
    int code = TVMFFI_RAISE("SensorError", "the sensor does not answer");
    task_sleep(1); /* the sensor restarts */
    return code;
  }
  TVMFFI_RETURN(20000 + task_time() % 1000);
}

TVMFFI_FUNC(sensor_plug, none, (bool, in)) {
  is_unplugged = !in;
  TVMFFI_RETURN();
}

static void sample_failed(void) {
  if (tvmffi_error_catch("SensorError"))
    ++samples.failed;
  else
    ++samples.lost;
  tvmffi_error_clear();
}

void commands_sample(void) {
  for (;; task_sleep(PERIOD)) {
    int64_t value;
    if (tvmffi_call("sensor.read", &value))
      sample_failed();
    else
      samples.value[samples.taken++ % SAMPLES] = (int32_t)value;
  }
}

/* Returns the latest n samples, oldest first. */
TVMFFI_FUNC(samples_latest, shape, (int64, n)) {
  TVMFFIAny value[SAMPLES];
  TVMFFIObject *shape;
  int64_t i;
  if (n < 0 || n > SAMPLES)
    return TVMFFI_RAISE("ValueError", "argument #0 is not between 0 and %d",
                        SAMPLES);
  task_lock(); /* no sample is taken meanwhile */
  if (n > samples.taken) n = samples.taken;
  for (i = 0; i < n; ++i)
    value[i] = tvmffi_int(samples.value[(samples.taken - n + i) % SAMPLES]);
  task_unlock();
  shape = tvmffi_shape_from(value, (int32_t)n);
  if (!shape) return -1;
  TVMFFI_RETURN(shape);
}

/* Returns the numbers of samples taken, failed and lost. */
TVMFFI_FUNC(samples_count, shape) {
  TVMFFIObject *shape =
      tvmffi_shape(samples.taken, samples.failed, samples.lost);
  if (!shape) return -1;
  TVMFFI_RETURN(shape);
}

/* -------- A motor -------- */

/* Moves the motor home, for at most `limit` milliseconds. The switch that stops
   the motor there is missing on this board, so the command always fails. The
   error is pending until the motor stands still. */
TVMFFI_FUNC(motor_home, none, (int64, limit)) {
  int code;
  if (limit < 0 || limit > 1000)
    return TVMFFI_RAISE("ValueError", "argument #0 is not between 0 and 1000");
  task_sleep((uint32_t)limit);
  code = TVMFFI_RAISE("TimeoutError", "not home after %d ms", (int)limit);
  task_sleep(5); /* the motor comes to a stop */
  return code;
}

/* -------- Notes: strings that the device keeps -------- */

enum { NOTES = 64 };
static TVMFFIAny note[NOTES]; /* owned */
static int64_t num_notes;

TVMFFI_FUNC(note_add, int64, (str, text)) {
  if (num_notes == NOTES)
    return TVMFFI_RAISE("ValueError", "there are %d notes already", NOTES);
  TVMFFI_TRY(TVMFFIStringFromByteArray(&text, &note[num_notes]));
  TVMFFI_RETURN(num_notes++);
}

TVMFFI_FUNC(note_get, str, (int64, index)) {
  if (index < 0 || index >= num_notes)
    return TVMFFI_RAISE("IndexError", "argument #0: there is no note %lld",
                        (long long)index);
  TVMFFI_RETURN(tvmffi_any_str(&note[index]));
}

/* Drops all notes and returns how many there were. */
TVMFFI_FUNC(note_clear, int64) {
  int64_t count = num_notes;
  while (num_notes) tvmffi_any_release(&note[--num_notes]);
  TVMFFI_RETURN(count);
}

/* -------- Time and memory -------- */

TVMFFI_FUNC(time_now, int64) { TVMFFI_RETURN(task_time()); }

TVMFFI_FUNC(time_sleep, none, (int64, milliseconds)) {
  if (milliseconds < 0 || milliseconds > 10000)
    return TVMFFI_RAISE("ValueError", "argument #0 is not between 0 and 10000");
  task_sleep((uint32_t)milliseconds);
  TVMFFI_RETURN();
}

/* Returns the bytes of the arena: in use, in use at most, all. */
TVMFFI_FUNC(memory_arena, shape) {
  size_t most, used = tvmffi_arena_used(&most);
  TVMFFIObject *shape = tvmffi_shape(used, most, TVMFFI_ARENA_SIZE);
  if (!shape) return -1;
  TVMFFI_RETURN(shape);
}

/* Returns the bytes of the stacks: the shell's in use at most, its size, the
   sampling task's in use at most, its size. */
TVMFFI_FUNC(memory_stacks, shape) {
  TVMFFIObject *shape =
      tvmffi_shape(board_stack_most_used(), board_stack_size(),
                   task_stack_most_used(), task_stack_size());
  if (!shape) return -1;
  TVMFFI_RETURN(shape);
}

/* -------- The list of commands -------- */

#define COMMANDS(X)                   \
  X("help", help)                     \
  X("led.get", led_get)               \
  X("led.set", led_set)               \
  X("memory.arena", memory_arena)     \
  X("memory.stacks", memory_stacks)   \
  X("motor.home", motor_home)         \
  X("note.add", note_add)             \
  X("note.clear", note_clear)         \
  X("note.get", note_get)             \
  X("samples.count", samples_count)   \
  X("samples.latest", samples_latest) \
  X("sensor.plug", sensor_plug)       \
  X("sensor.read", sensor_read)       \
  X("time.now", time_now)             \
  X("time.sleep", time_sleep)

/* Returns the names of all commands. */
TVMFFI_FUNC(help, str) {
#define NAME(name, function) name " "
  static const char names[] = COMMANDS(NAME);
  TVMFFIByteArray text = {names, sizeof(names) - 2};
  TVMFFI_RETURN(text);
}

int commands_register(void) {
#define REGISTER(name, function) TVMFFI_TRY(TVMFFI_REGISTER(name, function));
  COMMANDS(REGISTER)
  return 0;
}
