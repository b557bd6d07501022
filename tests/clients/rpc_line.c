/* A board's end of a serial line, for this machine: it reads the line from its
   standard input and writes to its standard output. With an argument it has no
   `get`, and so no checksums. */

#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <unistd.h>

#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#define TVMFFI_RPC_IMPLEMENTATION
#include "rpc/tvmffi_rpc.h"
#include "rpc/tvmffi_rpc_serial.h"

enum { TRANSFER = 1024 };

TVMFFI_FUNC(line_echo, any, (any, x)) { TVMFFI_RETURN(x); }

/* Counts its calls, so that one that is lost or repeated is seen. */
TVMFFI_FUNC(line_count, int64) {
  static int64_t calls;
  TVMFFI_RETURN(++calls);
}

TVMFFI_FUNC(line_sleep, int64, (int64, milliseconds)) {
  TVMFFI_RPC_SLEEP_MS(milliseconds);
  TVMFFI_RETURN(milliseconds);
}

static void put_byte(void *user, unsigned char byte) {
  (void)user;
  if (write(1, &byte, 1) != 1) _exit(1);
}

static int get_byte(void *user) {
  struct pollfd input = {0, POLLIN, 0};
  unsigned char byte;
  (void)user;
  if (poll(&input, 1, 10) < 1) return -1;
  if (read(0, &byte, 1) != 1) _exit(0);
  return byte;
}

int main(int argc, char **argv) {
  static tvmffi_rpc_serial line;
  (void)argv;
  line.put = put_byte;
  if (argc == 1) line.get = get_byte;
  line.options.transfer_size = TRANSFER;
  if (TVMFFI_REGISTER("line.echo", line_echo) ||
      TVMFFI_REGISTER("line.count", line_count) ||
      TVMFFI_REGISTER("line.sleep", line_sleep) ||
      tvmffi_rpc_serial_start(&line))
    return 1;
  for (;;) {
    int byte = get_byte(NULL);
    int code = byte < 0 ? tvmffi_rpc_serial_poll(&line)
                        : tvmffi_rpc_serial_receive(&line, (unsigned char)byte);
    if (code) tvmffi_error_clear(); /* the client has been sent the error */
  }
}
