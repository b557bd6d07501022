/* A firmware of several files with all that a product may have: functions that
   are called by name, errors, two tasks, containers, JSON and an RPC server.
   product.py builds and measures it in four steps. */

#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "board.h"
#include "motor.h"
#include "tasks.h"

#if STEP >= 4
#define TVMFFI_RPC_CLOCK_NS() ((uint64_t)task_time() * 1000000u)
#define TVMFFI_RPC_SLEEP_MS(ms) task_sleep((uint32_t)(ms))
#define TVMFFI_RPC_MAX_PACKET 1024
#define TVMFFI_RPC_MAX_ARGS 16
#define TVMFFI_RPC_MAX_NDIM 8
#define TVMFFI_RPC_IMPLEMENTATION
#include "rpc/tvmffi_rpc.h"
#include "rpc/tvmffi_rpc_serial.h"
#endif

/* -------- What a task does -------- */

static volatile int32_t product_rounds, product_wrong;

/* Calls by name; an error that a function raises, and one of a wrong type. */
static int work_with_calls(int64_t i) {
  int64_t before = 0, now = 0;
  TVMFFI_TRY(tvmffi_call("motor.set", &before, i % 100));
  TVMFFI_TRY(tvmffi_call("motor.get", &now));
  if (now < 0 || now > 100) return TVMFFI_RAISE("AssertionError", "no speed");
  if (!tvmffi_call("motor.set", &before, 101) ||
      !tvmffi_error_catch("ValueError"))
    return TVMFFI_RAISE("AssertionError", "no ValueError");
  if (!tvmffi_call("motor.set", &before, "fast") ||
      !tvmffi_error_catch("TypeError"))
    return TVMFFI_RAISE("AssertionError", "no TypeError");
  return 0;
}

#if STEP >= 3
static int work_with_json(void) {
  char text[64];
  tvmffi_buffer json = {text, sizeof(text), 0};
  int64_t speed = 0;
  TVMFFI_TRY(tvmffi_call("config.speed", &speed,
                         "{\"name\": \"left motor\", \"limits\": [0, 100], "
                         "\"speed\": 42}"));
  if (speed != 42) return TVMFFI_RAISE("AssertionError", "not 42");
  TVMFFI_TRY(tvmffi_call("config.json", &json));
  if (!tvmffi_call("config.speed", &speed, "{\"speed\": ") ||
      !tvmffi_error_catch("ValueError"))
    return TVMFFI_RAISE("AssertionError", "no ValueError");
  return 0;
}
#endif

static void product_work(void) {
  int code = work_with_calls(product_rounds);
#if STEP >= 3
  if (!code) code = work_with_json();
#endif
  if (code) {
    tvmffi_error_clear();
    ++product_wrong;
  }
  ++product_rounds;
}

#if STEP >= 2
/* The task that controls the motor. */
static void control(void) {
  for (;;) {
    product_work();
    task_sleep(2);
  }
}
#endif

/* -------- What the product tells about itself -------- */

static int32_t product_figure(int which) {
  size_t most;
  (void)tvmffi_arena_used(&most);
  switch (which) {
    case 0: return product_rounds;
    case 1: return product_wrong;
    case 2: return (int32_t)most;
    case 3: return (int32_t)board_stack_most_used();
#if STEP >= 2
    case 4: return (int32_t)task_stack_most_used();
#endif
    default: return 0;
  }
}

TVMFFI_FUNC(product_tell, int64, (int64, which)) {
  TVMFFI_RETURN((int64_t)product_figure((int)which));
}

static int product_register(void) {
  TVMFFI_TRY(motor_register());
#if STEP >= 3
  TVMFFI_TRY(config_register());
#endif
  return TVMFFI_REGISTER("product.tell", product_tell);
}

/* -------- The task of main -------- */

#if STEP >= 4
static tvmffi_rpc_serial product_line;

static void put_byte(void *user, unsigned char byte) {
  (void)user;
  board_put((char)byte);
}

static int get_byte(void *user) {
  (void)user;
  return board_has_input() ? (unsigned char)board_read() : -1;
}

static void product_serve(void) {
  product_line.put = put_byte;
  product_line.get = get_byte;
  product_line.options.transfer_size = 512;
  if (tvmffi_rpc_serial_start(&product_line)) return;
  for (;;) {
    int byte = get_byte(NULL);
    int code = byte < 0 ? tvmffi_rpc_serial_poll(&product_line)
                        : tvmffi_rpc_serial_receive(&product_line,
                                                    (unsigned char)byte);
    if (code) tvmffi_error_clear(); /* the client has been sent the error */
  }
}
#else
static void product_serve(void) {
  int i;
#if STEP >= 2
  while (product_rounds < 200) task_sleep(10);
#else
  while (product_rounds < 200) product_work();
#endif
  for (i = 0; i < 5; ++i) {
    board_write_int(product_figure(i));
    board_put(i < 4 ? ' ' : '\n');
  }
  for (;;) {
  }
}
#endif

int main(void) {
  if (product_register()) return 1;
#if STEP >= 2
  task_start(control);
#endif
  product_serve();
  return 1;
}
