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

   CHECKSUMS

   With these marks alone, a byte that the line loses or changes is not
   noticed. If `get` is set, the other end may begin a session with checksums
   instead. Such a session is in frames: the bytes between these marks, where
   the byte DB is DB DB, too.

     DB 80   a frame begins
     DB 81   the frame ends

     a byte    the session's number, and 80 if the session is over
     a byte    sent * 16 + got: the numbers of the last frames with data that
               its sender sent and got; 1 to 15, and then 1 again; 0: none yet
     bytes     data of the session, TVMFFI_RPC_SERIAL_FRAME at most
     4 bytes   the CRC-32 of all bytes before, least significant byte first: it
               has IEEE 802.3's polynomial, 04C11DB7, and equals zlib's

   A frame without data in which sent and got are 0 begins a session. The board
   answers by the same frame, whose data is one byte: the most data of a frame.
   Each side keeps a frame with data until the other one has got it, and only
   then sends the next. A damaged frame is dropped. Only the other end has
   timers: it repeats its last frame, or sends one without data, until the board
   answers. The board answers by a frame with the data that the other end has
   not got. It does not answer a frame without data that tells what was got. The
   other end does not answer data that it has already.

   A board without `get` answers DB 80 by DB 00, as did this file before it had
   checksums: the other end then begins sessions by DB n. In a session with
   checksums, three such marks without a whole frame between them begin one.

   EXAMPLE

       static tvmffi_rpc_serial line;
       line.put = uart_write;
       line.get = uart_read_or_minus_1; // for checksums
       line.options.max_packet = 2048;
       TVMFFI_TRY(tvmffi_rpc_serial_start(&line));
       for (;;) {
         int code = uart_has_byte()
                        ? tvmffi_rpc_serial_receive(&line, uart_read())
                        : tvmffi_rpc_serial_poll(&line);
         if (code) log_error();
       }

   The line must be transparent for all byte values.

   In one file define TVMFFI_RPC_IMPLEMENTATION, and include tvmffi_rpc.h before
   this file. */

#ifndef TVMFFI_RPC_SERIAL_H_
#define TVMFFI_RPC_SERIAL_H_

#include "tvmffi.h"

/* The most data of a frame with a checksum, in bytes, 1 to 255: a line has two
   buffers of this size. 0 leaves checksums out. The same in all files. */
#ifndef TVMFFI_RPC_SERIAL_FRAME
#define TVMFFI_RPC_SERIAL_FRAME 128
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/* The first byte of each mark. */
#define TVMFFI_RPC_SERIAL_ESCAPE 0xDB

#if TVMFFI_RPC_SERIAL_FRAME
/* The state of a session with checksums. */
typedef struct {
  unsigned char number;    /* of the session; 0: it has no checksums */
  unsigned char over;      /* 0x80: the session is over */
  unsigned char sent, got; /* numbers of the last frames with data */
  unsigned char unacked;   /* the other end has not got the frame in `out` */
  unsigned char in_frame;  /* between the marks of a frame */
  unsigned char busy;      /* the session handles data: takes no more */
  unsigned char mark;      /* the last mark DB n, and how often it came */
  unsigned char marks;
  unsigned char next; /* a session that begins when `busy` ends, or 0 */
  unsigned char next_has_frames;
  unsigned char head[2]; /* the first two bytes of the frame that arrives */
  uint32_t crc;          /* of its bytes until now */
  size_t size, out_size;
  unsigned char in[TVMFFI_RPC_SERIAL_FRAME + 4]; /* its data and checksum */
  unsigned char out[TVMFFI_RPC_SERIAL_FRAME];
} tvmffi_rpc_serial_frames;
#endif

/* A line. All members are zero at first; the caller sets `put`, and of
   `options` what it wants except for `user` and `write`, which belong to the
   line. The struct must stay valid as long as global functions are called. */
typedef struct {
  void (*put)(void *user, unsigned char byte); /* sends a byte; may wait */
  /* Returns the next byte of the line, or -1 if none has arrived; may wait a
     while. While an answer is sent, the line reads by this function what the
     other end has got. NULL: no checksums. */
  int (*get)(void *user);
  void *user; /* the first argument of `put` and `get` */
  tvmffi_rpc_options options; /* of each session; `user` is the line */
  tvmffi_rpc *session;        /* owned; NULL between sessions */
  int escaped;                /* the last byte was the first of a mark */
  uint64_t began;             /* the session's first nanosecond */
  unsigned long damaged;      /* frames that the line damaged, for statistics */
#if TVMFFI_RPC_SERIAL_FRAME
  tvmffi_rpc_serial_frames frames;
#endif
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

enum {
  TVMFFI_RPC_I_FRAME_BEGIN = 0x80,
  TVMFFI_RPC_I_FRAME_END = 0x81,
  TVMFFI_RPC_I_FRAME_OVER = 0x80,
  TVMFFI_RPC_I_FRAME_MARKS = 3 /* that begin a session without checksums */
};

static void tvmffi_rpc_i_serial_mark(tvmffi_rpc_serial *line,
                                     unsigned char number) {
  line->put(line->user, TVMFFI_RPC_SERIAL_ESCAPE);
  line->put(line->user, number);
}

/* Writes a byte that is not a part of a mark. */
static void tvmffi_rpc_i_serial_put(tvmffi_rpc_serial *line,
                                    unsigned char byte) {
  if (byte == TVMFFI_RPC_SERIAL_ESCAPE)
    tvmffi_rpc_i_serial_mark(line, byte);
  else
    line->put(line->user, byte);
}

/* Frees the session, which may be NULL. */
static void tvmffi_rpc_i_serial_end(tvmffi_rpc_serial *line) {
  tvmffi_rpc_free(line->session);
  line->session = NULL;
}

/* Makes a session. */
static int tvmffi_rpc_i_serial_new(tvmffi_rpc_serial *line) {
  tvmffi_rpc_i_serial_end(line);
#if defined(TVMFFI_RPC_CLOCK_NS)
  line->began = TVMFFI_RPC_CLOCK_NS();
#endif
  return tvmffi_rpc_new(&line->options, &line->session);
}

/* Begins session `number`, without checksums. Without memory for it there is
   no session. */
static int tvmffi_rpc_i_serial_begin(tvmffi_rpc_serial *line,
                                     unsigned char number) {
  int code;
#if TVMFFI_RPC_SERIAL_FRAME
  line->frames.number = 0;
#endif
  code = tvmffi_rpc_i_serial_new(line);
  tvmffi_rpc_i_serial_mark(line, number);
  if (code) tvmffi_rpc_i_serial_mark(line, 0);
  return code;
}

/* Ends the session on this side. */
static void tvmffi_rpc_i_serial_leave(tvmffi_rpc_serial *line) {
  tvmffi_rpc_i_serial_end(line);
  tvmffi_rpc_i_serial_mark(line, 0);
}

/* Handles a byte of a session without checksums. */
static int tvmffi_rpc_i_serial_feed(tvmffi_rpc_serial *line,
                                    unsigned char byte) {
  int code;
  if (!line->session) return 0;
  code = tvmffi_rpc_feed(line->session, &byte, 1);
  if (!code) return 0;
  tvmffi_rpc_i_serial_leave(line);
  return code < 0 ? code : 0;
}

#if TVMFFI_RPC_SERIAL_FRAME

/* -- frames --------------------------------------------------------------- */

#define TVMFFI_RPC_I_CRC_START UINT32_C(0xFFFFFFFF)
/* The CRC of a whole frame with its own checksum, before the complement. */
#define TVMFFI_RPC_I_CRC_RIGHT UINT32_C(0xDEBB20E3)

/* Adds a byte to a CRC-32. A table would be faster than any line needs. */
static uint32_t tvmffi_rpc_i_crc(uint32_t crc, unsigned char byte) {
  int i;
  crc ^= byte;
  for (i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
  return crc;
}

/* Returns the number of the next frame with data. */
static unsigned char tvmffi_rpc_i_frame_after(unsigned char number) {
  return (unsigned char)(number % 15 + 1);
}

/* Writes a frame's bytes to the line; returns their checksum. */
static uint32_t tvmffi_rpc_i_frame_put(tvmffi_rpc_serial *line, uint32_t crc,
                                       const unsigned char *bytes,
                                       size_t size) {
  for (; size; --size) {
    crc = tvmffi_rpc_i_crc(crc, *bytes);
    tvmffi_rpc_i_serial_put(line, *bytes++);
  }
  return crc;
}

/* Sends a frame, with the data that the other end has not got. */
static void tvmffi_rpc_i_frame_send(tvmffi_rpc_serial *line) {
  const tvmffi_rpc_serial_frames *f = &line->frames;
  unsigned char head[3];
  uint32_t crc = TVMFFI_RPC_I_CRC_START;
  int i;
  head[0] = (unsigned char)(f->number | f->over);
  head[1] = (unsigned char)(f->sent << 4 | f->got);
  head[2] = TVMFFI_RPC_SERIAL_FRAME;
  tvmffi_rpc_i_serial_mark(line, TVMFFI_RPC_I_FRAME_BEGIN);
  crc = tvmffi_rpc_i_frame_put(line, crc, head, head[1] ? 2 : 3);
  if (f->unacked) crc = tvmffi_rpc_i_frame_put(line, crc, f->out, f->out_size);
  for (i = 0; i < 4; ++i)
    tvmffi_rpc_i_serial_put(line, (unsigned char)(~crc >> 8 * i));
  tvmffi_rpc_i_serial_mark(line, TVMFFI_RPC_I_FRAME_END);
}

/* Sends the data in `out`, if it was not sent yet. */
static void tvmffi_rpc_i_frame_flush(tvmffi_rpc_serial *line) {
  tvmffi_rpc_serial_frames *f = &line->frames;
  if (!f->out_size || f->unacked) return;
  f->sent = tvmffi_rpc_i_frame_after(f->sent);
  f->unacked = 1;
  tvmffi_rpc_i_frame_send(line);
}

/* Begins session `number` with checksums. */
static int tvmffi_rpc_i_frame_begin(tvmffi_rpc_serial *line,
                                    unsigned char number) {
  tvmffi_rpc_serial_frames *f = &line->frames;
  int code = tvmffi_rpc_i_serial_new(line);
  f->number = number;
  f->over = code ? TVMFFI_RPC_I_FRAME_OVER : 0;
  f->sent = f->got = f->unacked = 0;
  f->out_size = 0;
  tvmffi_rpc_i_frame_send(line);
  return code;
}

/* Begins a session. While the last session is in a call, it is only noted: the
   call's next write fails, and then tvmffi_rpc_i_frame_settle begins it. */
static int tvmffi_rpc_i_frame_take(tvmffi_rpc_serial *line,
                                   unsigned char number, int has_frames) {
  tvmffi_rpc_serial_frames *f = &line->frames;
  f->marks = 0;
  if (f->busy) {
    f->next = number;
    f->next_has_frames = (unsigned char)has_frames;
    return 0;
  }
  return has_frames ? tvmffi_rpc_i_frame_begin(line, number)
                    : tvmffi_rpc_i_serial_begin(line, number);
}

/* Ends what the session does, which returned `code`: sends the rest of its
   answer, and that it is over if the code is not 0. */
static int tvmffi_rpc_i_frame_settle(tvmffi_rpc_serial *line, int code) {
  tvmffi_rpc_serial_frames *f = &line->frames;
  unsigned char next = f->next;
  f->busy = f->next = 0;
  if (next) {
    int failed = tvmffi_rpc_i_frame_take(line, next, f->next_has_frames);
    return failed ? failed : code;
  }
  if (code) {
    tvmffi_rpc_i_serial_end(line);
    f->over = TVMFFI_RPC_I_FRAME_OVER;
    if (!f->out_size || f->unacked) tvmffi_rpc_i_frame_send(line);
  }
  tvmffi_rpc_i_frame_flush(line);
  return code < 0 ? code : 0;
}

/* Handles data of the session, after the other end was told of its arrival: a
   call may take long. */
static int tvmffi_rpc_i_frame_data(tvmffi_rpc_serial *line, size_t size) {
  tvmffi_rpc_serial_frames *f = &line->frames;
  tvmffi_rpc_i_frame_send(line);
  if (!line->session) return 0;
  f->busy = 1;
  return tvmffi_rpc_i_frame_settle(
      line, tvmffi_rpc_feed(line->session, f->in, size));
}

/* Tells the other end that its session, which a reset has ended, is over. */
static void tvmffi_rpc_i_frame_lost(tvmffi_rpc_serial *line) {
  tvmffi_rpc_serial_frames *f = &line->frames;
  f->number = f->head[0];
  f->over = TVMFFI_RPC_I_FRAME_OVER;
  f->sent = f->head[1] & 15;
  f->got = f->head[1] >> 4;
  tvmffi_rpc_i_frame_send(line);
}

/* Handles a frame that has ended. */
static int tvmffi_rpc_i_frame_got(tvmffi_rpc_serial *line) {
  tvmffi_rpc_serial_frames *f = &line->frames;
  size_t size = f->size - 6;
  unsigned char sent = f->head[1] >> 4, got = f->head[1] & 15, was_unacked;
  if (f->size < 6 || size > TVMFFI_RPC_SERIAL_FRAME ||
      f->crc != TVMFFI_RPC_I_CRC_RIGHT || !f->head[0] || f->head[0] > 127) {
    ++line->damaged;
    return 0;
  }
  f->marks = 0;
  if (!f->head[1] && !size && (f->head[0] != f->number || f->over))
    return tvmffi_rpc_i_frame_take(line, f->head[0], 1);
  if (f->head[0] != f->number) {
    if (!f->number && !line->session) tvmffi_rpc_i_frame_lost(line);
    return 0;
  }
  was_unacked = f->unacked;
  if (f->unacked && got == f->sent) f->unacked = 0, f->out_size = 0;
  if (size && !f->busy && sent == tvmffi_rpc_i_frame_after(f->got)) {
    f->got = sent;
    return tvmffi_rpc_i_frame_data(line, size);
  }
  if (size || f->unacked || !was_unacked) tvmffi_rpc_i_frame_send(line);
  return 0;
}

/* Handles a byte of a frame. Data that cannot be taken now is not stored. */
static void tvmffi_rpc_i_frame_byte(tvmffi_rpc_serial *line,
                                    unsigned char byte) {
  tvmffi_rpc_serial_frames *f = &line->frames;
  size_t at = f->size++;
  f->crc = tvmffi_rpc_i_crc(f->crc, byte);
  if (at < 2)
    f->head[at] = byte;
  else if (!f->busy && at - 2 < sizeof(f->in))
    f->in[at - 2] = byte;
}

/* Handles the second byte of a mark where checksums are possible. Stores in
   *taken whether it belongs to them. */
static int tvmffi_rpc_i_frame_marked(tvmffi_rpc_serial *line,
                                     unsigned char mark, int *taken) {
  tvmffi_rpc_serial_frames *f = &line->frames;
  int in_frame = f->in_frame;
  *taken = 1;
  f->in_frame = mark == TVMFFI_RPC_I_FRAME_BEGIN;
  if (f->in_frame) {
    f->size = 0;
    f->crc = TVMFFI_RPC_I_CRC_START;
  }
  if (in_frame && mark == TVMFFI_RPC_I_FRAME_END)
    return tvmffi_rpc_i_frame_got(line);
  if (in_frame) ++line->damaged;
  if (f->in_frame || mark == TVMFFI_RPC_I_FRAME_END) return 0;
  *taken = f->number != 0;
  if (!*taken || !mark || mark > 127) return 0;
  /* A damaged line may make such a mark. */
  f->marks = mark == f->mark ? (unsigned char)(f->marks + 1) : 1;
  f->mark = mark;
  return f->marks < TVMFFI_RPC_I_FRAME_MARKS
             ? 0
             : tvmffi_rpc_i_frame_take(line, mark, 0);
}

/* Waits until the other end has got the frame in `out`. */
static int tvmffi_rpc_i_frame_wait(tvmffi_rpc_serial *line) {
  tvmffi_rpc_serial_frames *f = &line->frames;
  while (f->unacked) {
    int byte = line->get(line->user);
    if (byte >= 0)
      TVMFFI_TRY(tvmffi_rpc_serial_receive(line, (unsigned char)byte));
    if (f->next)
      return TVMFFI_RAISE("RPCError",
                          "the other end of the serial line has left the "
                          "session before it had all of an answer");
  }
  return 0;
}

/* Writes a session's bytes into frames. Meanwhile no data is taken. */
static int tvmffi_rpc_i_frame_write(tvmffi_rpc_serial *line,
                                    const unsigned char *bytes, size_t size) {
  tvmffi_rpc_serial_frames *f = &line->frames;
  unsigned char busy = f->busy;
  int code = 0;
  f->busy = 1;
  for (; size; --size) {
    code = tvmffi_rpc_i_frame_wait(line);
    if (code) break;
    f->out[f->out_size++] = *bytes++;
    if (f->out_size == sizeof(f->out)) tvmffi_rpc_i_frame_flush(line);
  }
  f->busy = busy;
  return code;
}

#endif /* TVMFFI_RPC_SERIAL_FRAME */

/* Writes a session's bytes: the `write` of its options. */
static int tvmffi_rpc_i_serial_write(void *user, const void *bytes,
                                     size_t size) {
  tvmffi_rpc_serial *line = (tvmffi_rpc_serial *)user;
  const unsigned char *at = (const unsigned char *)bytes;
#if TVMFFI_RPC_SERIAL_FRAME
  if (line->frames.number) return tvmffi_rpc_i_frame_write(line, at, size);
#endif
  while (size--) tvmffi_rpc_i_serial_put(line, *at++);
  return 0;
}

/* Handles a byte that is not a part of a mark. */
static int tvmffi_rpc_i_serial_byte(tvmffi_rpc_serial *line,
                                    unsigned char byte) {
#if TVMFFI_RPC_SERIAL_FRAME
  if (line->frames.in_frame) {
    tvmffi_rpc_i_frame_byte(line, byte);
    return 0;
  }
  if (line->frames.number) return 0;
#endif
  return tvmffi_rpc_i_serial_feed(line, byte);
}

/* Handles the second byte of a mark other than the escaped byte. */
static int tvmffi_rpc_i_serial_marked(tvmffi_rpc_serial *line,
                                      unsigned char number) {
#if TVMFFI_RPC_SERIAL_FRAME
  if (line->get) {
    int taken, code = tvmffi_rpc_i_frame_marked(line, number, &taken);
    if (taken) return code;
  }
#endif
  if (number && number < 128) return tvmffi_rpc_i_serial_begin(line, number);
  tvmffi_rpc_i_serial_leave(line);
  return TVMFFI_RAISE("RPCError", "an unknown mark, %d, on the serial line",
                      (int)number);
}

int tvmffi_rpc_serial_receive(tvmffi_rpc_serial *line, unsigned char byte) {
  if (!line->escaped) {
    if (byte != TVMFFI_RPC_SERIAL_ESCAPE)
      return tvmffi_rpc_i_serial_byte(line, byte);
    line->escaped = 1;
    return 0;
  }
  line->escaped = 0;
  if (byte == TVMFFI_RPC_SERIAL_ESCAPE)
    return tvmffi_rpc_i_serial_byte(line, byte);
  return tvmffi_rpc_i_serial_marked(line, byte);
}

#if defined(TVMFFI_RPC_CLOCK_NS)
/* Ends a session whose time is over. */
static int tvmffi_rpc_i_serial_abort(tvmffi_rpc_serial *line) {
  static const char text[] =
      "RPCSessionTimeoutError: the session is longer than its "
      "\"session_timeout\"";
  int code;
  code = tvmffi_rpc_abort(line->session, text);
#if TVMFFI_RPC_SERIAL_FRAME
  if (line->frames.number)
    return tvmffi_rpc_i_frame_settle(line, code ? code : 1);
#endif
  tvmffi_rpc_i_serial_leave(line);
  return code;
}
#endif

int tvmffi_rpc_serial_poll(tvmffi_rpc_serial *line) {
#if defined(TVMFFI_RPC_CLOCK_NS)
  int64_t limit;
#endif
#if TVMFFI_RPC_SERIAL_FRAME
  /* There may be an answer of tvmffi_rpc_finish. */
  if (line->frames.number) TVMFFI_TRY(tvmffi_rpc_i_frame_settle(line, 0));
#endif
#if defined(TVMFFI_RPC_CLOCK_NS)
  limit = line->session ? tvmffi_rpc_timeout_ms(line->session) : 0;
  if (!limit || TVMFFI_RPC_CLOCK_NS() - line->began < (uint64_t)limit * 1000000)
    return 0;
  return tvmffi_rpc_i_serial_abort(line);
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
