/* A server of TVM's RPC on a board: the stock client of Apache TVM calls these
   functions, copies tensors, and runs and times the kernels that are linked
   with the firmware. Its other end of the serial line is rpc/serial.py. */

#define TVMFFI_PORT "port.h"
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "board.h"
#include "clock.h"
#include "system_library.h"

#define TVMFFI_RPC_IMPLEMENTATION
#include "rpc/tvmffi_rpc.h"
#include "rpc/tvmffi_rpc_backend.h"
#include "rpc/tvmffi_rpc_serial.h"

/* -------- What the device can do -------- */

static int64_t brightness;

TVMFFI_FUNC(board_echo, any, (any, x)) { TVMFFI_RETURN(x); }

TVMFFI_FUNC(board_light, int64, (int64, percent)) {
  int64_t before = brightness;
  if (percent < 0 || percent > 100)
    return TVMFFI_RAISE("ValueError", "%d percent is no brightness",
                        (int)percent);
  brightness = percent;
  TVMFFI_RETURN(before);
}

TVMFFI_FUNC(board_arena_used, int64) {
  TVMFFI_RETURN((int64_t)tvmffi_arena_used(NULL));
}

TVMFFI_FUNC(board_arena_most_used, int64) {
  size_t most;
  (void)tvmffi_arena_used(&most);
  TVMFFI_RETURN((int64_t)most);
}

TVMFFI_FUNC(board_stack_most, int64) {
  TVMFFI_RETURN((int64_t)board_stack_most_used());
}

static int register_all(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("board.echo", board_echo));
  TVMFFI_TRY(TVMFFI_REGISTER("board.light", board_light));
  TVMFFI_TRY(TVMFFI_REGISTER("board.arena_used", board_arena_used));
  TVMFFI_TRY(TVMFFI_REGISTER("board.arena_most_used", board_arena_most_used));
  TVMFFI_TRY(TVMFFI_REGISTER("board.stack_most_used", board_stack_most));
  return system_library_register();
}

/* -------- The serial line -------- */

static tvmffi_rpc_serial line;

static void put_byte(void *user, unsigned char byte) {
  (void)user;
  board_put((char)byte);
}

static int get_byte(void *user) {
  (void)user;
  return board_has_input() ? (unsigned char)board_read() : -1;
}

/* Copies of tensors come in pieces of this size. */
enum { TRANSFER = 1024 };

static int start(void) {
  TVMFFI_TRY(register_all());
  line.put = put_byte;
  line.get = get_byte;
  line.options.transfer_size = TRANSFER;
  return tvmffi_rpc_serial_start(&line);
}

int main(void) {
  board_construct();
  clock_start();
  if (start()) return 1;
  for (;;) {
    int byte = get_byte(NULL);
    int code = byte < 0 ? tvmffi_rpc_serial_poll(&line)
                        : tvmffi_rpc_serial_receive(&line, (unsigned char)byte);
    /* The client has been sent the error. */
    if (code) tvmffi_error_clear();
  }
}
