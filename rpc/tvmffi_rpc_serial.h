/* tvmffi_rpc_serial.h - RPC sessions on a serial line, one after the other.

   SPDX-License-Identifier: Apache-2.0 OR MIT

   A serial line has no connections: a board does not see that a client died in
   the middle of a packet, or that the next one has come. rpc/serial.py, which
   serves clients on the other end of the line, begins sessions by marks of two
   bytes:

     DB n    session n begins, where n is 1 to 127; the last one is over
     DB DB   the byte DB of a session

   All other bytes are bytes of the session; the board drops bytes outside of a
   session. The board answers "session n begins" by the same mark: its bytes
   before the mark belong to an earlier session. It escapes DB as well, and has
   a mark of its own, which it also writes when it starts:

     DB 00   there is no session, or the session is over on the board's side

       static tvmffi_rpc_serial line;
       line.put = uart_write;
       line.options.max_packet = 2048;
       TVMFFI_TRY(tvmffi_rpc_serial_start(&line));
       for (;;) {
         int code = uart_has_byte()
                        ? tvmffi_rpc_serial_receive(&line, uart_read())
                        : tvmffi_rpc_serial_poll(&line);
         if (code) log_error();
       }

   The line must be transparent for all byte values. Nothing detects a byte
   that the line loses or changes.

   In one file define TVMFFI_RPC_IMPLEMENTATION, and include tvmffi_rpc.h before
   this file. */

#ifndef TVMFFI_RPC_SERIAL_H_
#define TVMFFI_RPC_SERIAL_H_

#include "tvmffi.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* The first byte of each mark. */
#define TVMFFI_RPC_SERIAL_ESCAPE 0xDB

/* A line. All members are zero at first; the caller sets `put`, and of
   `options` what it wants except for `user` and `write`, which belong to the
   line. The struct must stay valid as long as global functions are called. */
typedef struct {
  void (*put)(void *user, unsigned char byte); /* sends a byte; may wait */
  void *user;                                  /* the first argument of `put` */
  tvmffi_rpc_options options; /* of each session; `user` is the line */
  tvmffi_rpc *session;        /* owned; NULL between sessions */
  int escaped;                /* the last byte was the first of a mark */
  uint64_t began;             /* the session's first nanosecond */
} tvmffi_rpc_serial;

/* Registers the global functions of tvmffi_rpc_register, and tells the other
   end that there is no session. */
int tvmffi_rpc_serial_start(tvmffi_rpc_serial *line);

/* Handles a byte from the line. Returns 0, or -1 with the error raised that
   ended the session. The line stays usable: the next session can begin. */
int tvmffi_rpc_serial_receive(tvmffi_rpc_serial *line, unsigned char byte);

/* Ends a session that is longer than its client's `session_timeout`, and sends
   the client an error. Call it while no byte arrives; a call that runs is not
   interrupted. Does nothing without TVMFFI_RPC_CLOCK_NS. Returns what
   tvmffi_rpc_serial_receive returns. */
int tvmffi_rpc_serial_poll(tvmffi_rpc_serial *line);

#if defined(__cplusplus)
}
#endif

#endif /* TVMFFI_RPC_SERIAL_H_ */

#if defined(TVMFFI_RPC_IMPLEMENTATION) && !defined(TVMFFI_RPC_SERIAL_DONE)
#define TVMFFI_RPC_SERIAL_DONE

static void tvmffi_rpc_i_serial_mark(tvmffi_rpc_serial *line,
                                     unsigned char number) {
  line->put(line->user, TVMFFI_RPC_SERIAL_ESCAPE);
  line->put(line->user, number);
}

/* Writes a session's bytes: the `write` of its options. */
static int tvmffi_rpc_i_serial_write(void *user, const void *bytes,
                                     size_t size) {
  tvmffi_rpc_serial *line = (tvmffi_rpc_serial *)user;
  const unsigned char *at = (const unsigned char *)bytes;
  for (; size--; ++at) {
    if (*at == TVMFFI_RPC_SERIAL_ESCAPE)
      tvmffi_rpc_i_serial_mark(line, *at);
    else
      line->put(line->user, *at);
  }
  return 0;
}

/* Frees the session, which may be NULL. */
static void tvmffi_rpc_i_serial_end(tvmffi_rpc_serial *line) {
  tvmffi_rpc_free(line->session);
  line->session = NULL;
}

/* Ends the session on this side. */
static void tvmffi_rpc_i_serial_leave(tvmffi_rpc_serial *line) {
  tvmffi_rpc_i_serial_end(line);
  tvmffi_rpc_i_serial_mark(line, 0);
}

/* Begins session `number`. Without memory for it there is no session. */
static int tvmffi_rpc_i_serial_begin(tvmffi_rpc_serial *line,
                                     unsigned char number) {
  int code;
  tvmffi_rpc_i_serial_end(line);
#if defined(TVMFFI_RPC_CLOCK_NS)
  line->began = TVMFFI_RPC_CLOCK_NS();
#endif
  code = tvmffi_rpc_new(&line->options, &line->session);
  tvmffi_rpc_i_serial_mark(line, number);
  if (code) tvmffi_rpc_i_serial_mark(line, 0);
  return code;
}

/* Handles the second byte of a mark other than the escaped byte. */
static int tvmffi_rpc_i_serial_marked(tvmffi_rpc_serial *line,
                                      unsigned char number) {
  if (number && number < 128) return tvmffi_rpc_i_serial_begin(line, number);
  tvmffi_rpc_i_serial_leave(line);
  return TVMFFI_RAISE("RPCError", "an unknown mark, %d, on the serial line",
                      (int)number);
}

/* Handles a byte of a session. */
static int tvmffi_rpc_i_serial_feed(tvmffi_rpc_serial *line,
                                    unsigned char byte) {
  int code;
  if (!line->session) return 0;
  code = tvmffi_rpc_feed(line->session, &byte, 1);
  if (!code) return 0;
  tvmffi_rpc_i_serial_leave(line);
  return code < 0 ? code : 0;
}

int tvmffi_rpc_serial_receive(tvmffi_rpc_serial *line, unsigned char byte) {
  if (!line->escaped) {
    if (byte != TVMFFI_RPC_SERIAL_ESCAPE)
      return tvmffi_rpc_i_serial_feed(line, byte);
    line->escaped = 1;
    return 0;
  }
  line->escaped = 0;
  if (byte == TVMFFI_RPC_SERIAL_ESCAPE)
    return tvmffi_rpc_i_serial_feed(line, byte);
  return tvmffi_rpc_i_serial_marked(line, byte);
}

int tvmffi_rpc_serial_poll(tvmffi_rpc_serial *line) {
#if defined(TVMFFI_RPC_CLOCK_NS)
  static const char text[] =
      "RPCSessionTimeoutError: the session is longer than its "
      "\"session_timeout\"";
  int64_t limit = line->session ? tvmffi_rpc_timeout_ms(line->session) : 0;
  int code;
  if (!limit || TVMFFI_RPC_CLOCK_NS() - line->began < (uint64_t)limit * 1000000)
    return 0;
  code = tvmffi_rpc_abort(line->session, text);
  tvmffi_rpc_i_serial_leave(line);
  return code;
#else
  (void)line;
  return 0;
#endif
}

int tvmffi_rpc_serial_start(tvmffi_rpc_serial *line) {
  if (!line->put)
    return TVMFFI_RAISE("ValueError", "a serial line without a put function");
  line->options.user = line;
  line->options.write = tvmffi_rpc_i_serial_write;
  TVMFFI_TRY(tvmffi_rpc_register(&line->options));
  tvmffi_rpc_i_serial_mark(line, 0);
  return 0;
}

#endif /* TVMFFI_RPC_IMPLEMENTATION */
