/* tvmffi_rpc.h - the server of TVM's RPC protocol, for tvmffi.h.

   SPDX-License-Identifier: Apache-2.0 OR MIT

   WHAT IT IS

   The stock client of Apache TVM 0.27 (`tvm.rpc.connect`, `PopenSession`, a
   tracker's `request`) calls functions, copies tensors and times kernels on
   another machine by version 0.8.0 of TVM's RPC protocol. This file is the
   other machine's side: bytes in, bytes out. It opens no socket and no file
   and starts no thread, so the same code serves a socket, a pipe, a serial
   line on a board and a JavaScript event handler. rpc/server.c is a complete
   server made of it; docs/rpc.md shows how to use that one.

   WHAT IT IS NOT

   Not a sandbox. A client may call every global function, with any arguments.
   The wire itself is not trusted: see SAFETY.

   QUICK START

       #define TVMFFI_IMPLEMENTATION
       #include "tvmffi.h"
       #define TVMFFI_RPC_IMPLEMENTATION
       #include "tvmffi_rpc.h"

       static int send_bytes(void *user, const void *bytes, size_t size);

       static int serve(int in) {
         unsigned char bytes[4096];
         tvmffi_rpc_options options;
         tvmffi_rpc *session;
         int code = 0;
         memset(&options, 0, sizeof(options));
         options.write = send_bytes;
         TVMFFI_TRY(tvmffi_rpc_register(&options));
         TVMFFI_TRY(tvmffi_rpc_new(&options, &session));
         while (!code) {
           long n = read(in, bytes, sizeof(bytes));
           code = n > 0 ? tvmffi_rpc_feed(session, bytes, n) : 1;
         }
         tvmffi_rpc_free(session);
         return code < 0 ? -1 : 0;
       }

   THE TRANSPORT

   Feed what arrives, in pieces of any size; the session calls `write` for what
   it has to send. Each packet of the client gets one answer.

     a socket   `read` or `recv`, then tvmffi_rpc_feed. To save a copy of long
                transfers, read into tvmffi_rpc_buffer, which is the tensor's
                own memory, and then call tvmffi_rpc_filled.
     a pipe     the same, with no_handshake as 1: `tvm.rpc.PopenSession` starts
                with the first packet.
     a board    feed each byte, or each block of a UART's DMA. Set max_packet
                to what memory allows and transfer_size to a smaller number:
                the client then copies tensors in pieces. Transfers to the
                CPU's memory are not buffered.
     events     a handler feeds what it was given and returns. A call, a copy
                or a synchronization that ends later (a GPU in a browser)
                returns TVMFFI_RPC_LATER from its hook; the session answers
                when tvmffi_rpc_finish is called. The client waits meanwhile.

   The protocol has no calls from the server to the client: the client refuses
   a function of its own as an argument.

   SAFETY

   The client sees numbers, not addresses. Functions, modules, objects, tensors
   and memory that it names are looked up in the session's table, where an
   entry that was freed never matches again. A tensor's bytes must lie inside
   its allocation. A number that is not in the table, a wrong type or a range
   outside of an allocation is an error to the client, and so is a packet
   beyond max_packet, which is skipped. A malformed packet (a text beyond its
   end, an unknown code or type) ends the session. The header does not check
   how a function treats good arguments.

   LINKING

   In one file, define TVMFFI_RPC_IMPLEMENTATION before the include. It needs
   tvmffi.h in the same include path, and any runtime: tvmffi.h's, or a process
   with libtvm_ffi. Memory comes from TVMFFI_RPC_MALLOC and TVMFFI_RPC_FREE,
   which are TVMFFI_MALLOC and TVMFFI_FREE if these are defined in the file,
   else malloc and free. Without libc, include this header in the file with
   TVMFFI_IMPLEMENTATION, which has the arena and declares memcpy and the like;
   or declare these, and define the two macros. TVMFFI_RPC_CLOCK_NS() returns
   nanoseconds of a clock that never goes back, as a uint64_t, and
   TVMFFI_RPC_SLEEP_MS(n) waits. Where <time.h> declares clock_gettime (with
   -std=c11, define _POSIX_C_SOURCE) both have a default; without
   TVMFFI_RPC_CLOCK_NS the time evaluator is not registered. TVMFFI_RPC_MEMORY()
   is the machine's memory in bytes, which clients ask for; Linux has a default.

   The wire is little-endian. A big-endian machine reverses the numbers of a
   packet and the elements of a tensor, so there the pieces of a copy
   (transfer_size) must have whole elements.

   THREADS

   A session is used by one thread at a time. Sessions are independent. */

#ifndef TVMFFI_RPC_H_
#define TVMFFI_RPC_H_

#include "tvmffi.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define TVMFFI_RPC_VERSION "0.8.0"

/* The first four bytes of a connection, and of the answer. */
#define TVMFFI_RPC_MAGIC 0xff271
#define TVMFFI_RPC_WRONG_KEY (TVMFFI_RPC_MAGIC + 2)

/* The code of a hook whose work goes on: the session waits for
   tvmffi_rpc_finish. */
#define TVMFFI_RPC_LATER 1

/* The kinds of TVM's DeviceAttrKind that have an answer here. */
#define TVMFFI_RPC_ATTR_EXIST 0
#define TVMFFI_RPC_ATTR_TOTAL_GLOBAL_MEMORY 14 /* in bytes */

typedef struct tvmffi_rpc tvmffi_rpc;

/* A device beside the CPU, which is device 0 of its type. `user` is the one of
   the options. Each function returns 0, or -1 with an error raised. A NULL
   function: the device does nothing for that call, except for alloc, without
   which it has no memory. */
typedef struct {
  /* Allocates memory; `scope` is NULL or the client's word for a kind of it. */
  int (*alloc)(void *user, DLDevice device, size_t size, size_t alignment,
               const char *scope, void **data);
  int (*release)(void *user, DLDevice device, void *data);
  /* Copies between two devices, one of which may be the CPU. May return
     TVMFFI_RPC_LATER. NULL: the host can use the memory directly. */
  int (*copy)(void *user, DLDevice from_device, const void *from,
              size_t from_offset, DLDevice to_device, void *to,
              size_t to_offset, size_t size, void *stream);
  /* Waits for the stream's work. May return TVMFFI_RPC_LATER. */
  int (*sync)(void *user, DLDevice device, void *stream);
  /* Stores an attribute of TVM's DeviceAttrKind; *out is None before. */
  int (*attribute)(void *user, DLDevice device, int kind, TVMFFIAny *out);
  int (*set_device)(void *user, DLDevice device);
  int (*create_stream)(void *user, DLDevice device, void **stream);
  int (*free_stream)(void *user, DLDevice device, void *stream);
  int (*set_stream)(void *user, DLDevice device, void *stream);
  int (*get_stream)(void *user, DLDevice device, void **stream);
} tvmffi_rpc_device;

/* How a session works. Only `write` is required; zero is the default of each
   other member. All texts are borrowed for the session's life. */
typedef struct {
  void *user; /* the first argument of each hook */
  /* Sends bytes, all of them. Returns 0, or -1 with an error raised. */
  int (*write)(void *user, const void *bytes, size_t size);
  int no_handshake;      /* the first bytes are a packet, as on a pipe */
  const char *key;       /* the server's key; NULL is "" */
  const char *match_key; /* what a client must send, if not `key`: a tracker
                            gives it a number in addition */
  size_t max_packet;     /* the longest packet; 0: TVMFFI_RPC_MAX_PACKET */
  size_t max_handles;    /* live entries of the table; 0: 1,048,576 */
  size_t transfer_size;  /* not 0: the client copies in pieces of this size */
  /* Finds a device. NULL, or a NULL result: there is only the CPU. */
  const tvmffi_rpc_device *(*device)(void *user, DLDevice device);
  /* Makes a session of another kind: args[0] is its name, a text. NULL:
     a global function of that name is called with the other arguments, and
     functions are first looked up in the module that it returns. */
  int (*construct)(void *user, tvmffi_rpc *session, const TVMFFIAny *args,
                   int32_t n);
  /* Finds a function that the module of the session does not have: *out is
     owned by the caller, NULL if there is none. NULL: the global functions. */
  int (*find)(void *user, tvmffi_rpc *session, const char *name,
              TVMFFIObject **out);
  /* Returns what the client is told about an error in addition, such as the
     setting that has caused it. The text is borrowed until the error has been
     sent. NULL, or a NULL result: nothing. */
  const char *(*hint)(void *user, TVMFFIObject *error);
  /* Calls a function. May return TVMFFI_RPC_LATER: the arguments then live
     until tvmffi_rpc_finish. NULL: TVMFFIFunctionCall. */
  int (*call)(void *user, tvmffi_rpc *session, TVMFFIObject *function,
              const TVMFFIAny *args, int32_t n, TVMFFIAny *result);
} tvmffi_rpc_options;

/* Makes a session; *out is owned by the caller. The options are copied. */
int tvmffi_rpc_new(const tvmffi_rpc_options *options, tvmffi_rpc **out);

/* Frees a session and all that its client left in the table. NULL is fine. */
void tvmffi_rpc_free(tvmffi_rpc *session);

/* Handles bytes from the client. Returns 0 to go on, 1 when the client has
   ended the session, and -1 with an error raised when the session is over
   because of a malformed packet, a wrong key or a failed write. */
int tvmffi_rpc_feed(tvmffi_rpc *session, const void *bytes, size_t size);

/* Returns where the next bytes go, and in *size how many; never more than
   belong to one part of one packet. NULL when the session waits or is over.
   tvmffi_rpc_filled handles the first `size` of them, and returns what
   tvmffi_rpc_feed returns. */
void *tvmffi_rpc_buffer(tvmffi_rpc *session, size_t *size);
int tvmffi_rpc_filled(tvmffi_rpc *session, size_t size);

/* Ends the work for which a hook returned TVMFFI_RPC_LATER: with code 0 and
   the result of a call, which is taken (NULL is None), or with the error
   that is raised. Returns what tvmffi_rpc_feed returns. */
int tvmffi_rpc_finish(tvmffi_rpc *session, int code, TVMFFIAny *result);

/* Sends an exception to the client outside of any call, and ends the session:
   "RPCSessionTimeoutError: ..." is known to the client. */
int tvmffi_rpc_abort(tvmffi_rpc *session, const char *message);

/* Returns 1 between two packets, where the end of input is a clean end. */
int tvmffi_rpc_is_idle(const tvmffi_rpc *session);

/* Returns 1 after the handshake, or without one at once. */
int tvmffi_rpc_is_ready(const tvmffi_rpc *session);

/* Returns the session's limit in milliseconds that the client asked for in the
   handshake, or 0 for none. The caller enforces it. */
int64_t tvmffi_rpc_timeout_ms(const tvmffi_rpc *session);

/* Returns how many entries the session's table has. */
size_t tvmffi_rpc_handle_count(const tvmffi_rpc *session);

/* Registers the global functions that clients expect everywhere:
   tvm.rpc.server.ImportModule and ModuleGetFunction if the runtime has
   modules, tvm.rpc.server.GetCRTMaxPacketSize if options->transfer_size is not
   0, and runtime.RPCTimeEvaluator. The options must stay valid. Replaces
   functions of the same names. */
int tvmffi_rpc_register(const tvmffi_rpc_options *options);

#if defined(__cplusplus)
}
#endif

#endif /* TVMFFI_RPC_H_ */

/* ======== Implementation ================================================ */

#if defined(TVMFFI_RPC_IMPLEMENTATION) && !defined(TVMFFI_RPC_IMPLEMENTED)
#define TVMFFI_RPC_IMPLEMENTED

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#define TVMFFI_RPC_I_BIG_ENDIAN 1
#else
#define TVMFFI_RPC_I_BIG_ENDIAN 0
#endif

#if !TVMFFI_FREESTANDING
#include <string.h>
#endif

/* The longest packet but for copies to the CPU's memory. It bounds what a
   session allocates for one packet. */
#ifndef TVMFFI_RPC_MAX_PACKET
#define TVMFFI_RPC_MAX_PACKET ((size_t)256 << 20)
#endif

/* The most arguments of a call, and dimensions of a tensor. */
#ifndef TVMFFI_RPC_MAX_ARGS
#define TVMFFI_RPC_MAX_ARGS 4096
#endif
#ifndef TVMFFI_RPC_MAX_NDIM
#define TVMFFI_RPC_MAX_NDIM 64
#endif

/* The longest key of a handshake. */
#ifndef TVMFFI_RPC_KEY_SIZE
#define TVMFFI_RPC_KEY_SIZE 512
#endif

#if !defined(TVMFFI_RPC_MALLOC)
#if defined(TVMFFI_MALLOC)
#define TVMFFI_RPC_MALLOC(size) TVMFFI_MALLOC(size)
#define TVMFFI_RPC_FREE(pointer) TVMFFI_FREE(pointer)
#elif TVMFFI_FREESTANDING
#error "tvmffi_rpc.h: without libc, include it where the implementation is"
#else
#include <stdlib.h>
#define TVMFFI_RPC_MALLOC(size) malloc(size)
#define TVMFFI_RPC_FREE(pointer) free(pointer)
#endif
#endif

#if !defined(TVMFFI_RPC_CLOCK_NS) && !TVMFFI_FREESTANDING && \
    !TVMFFI_NO_FLOAT && !defined(_WIN32)
#include <time.h>
#if defined(CLOCK_MONOTONIC)
static uint64_t tvmffi_rpc_i_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
#define TVMFFI_RPC_CLOCK_NS() tvmffi_rpc_i_clock()
#ifndef TVMFFI_RPC_SLEEP_MS
static void tvmffi_rpc_i_sleep(int64_t ms) {
  struct timespec t;
  t.tv_sec = (time_t)(ms / 1000);
  t.tv_nsec = (long)(ms % 1000 * 1000000);
  nanosleep(&t, NULL);
}
#define TVMFFI_RPC_SLEEP_MS(ms) tvmffi_rpc_i_sleep(ms)
#endif
#endif
#endif

#if !defined(TVMFFI_RPC_MEMORY) && !TVMFFI_FREESTANDING && defined(__linux__)
#include <unistd.h>
#define TVMFFI_RPC_MEMORY() \
  ((int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE))
#endif

/* -- the session ---------------------------------------------------------- */

enum {
  TVMFFI_RPC_I_SHUTDOWN = 1,
  TVMFFI_RPC_I_INIT = 2,
  TVMFFI_RPC_I_CALL = 3,
  TVMFFI_RPC_I_RETURN = 4,
  TVMFFI_RPC_I_EXCEPTION = 5,
  TVMFFI_RPC_I_COPY_FROM = 6,
  TVMFFI_RPC_I_COPY_TO = 7,
  TVMFFI_RPC_I_COPY_ACK = 8,
  TVMFFI_RPC_I_GET_GLOBAL = 9,
  TVMFFI_RPC_I_SYNC = 15,
  TVMFFI_RPC_I_SYSTEM_CALLS = 13
};

/* A packet beyond this length is malformed: no client sends one. */
#define TVMFFI_RPC_I_LONGEST ((uint64_t)1 << 40)

/* The size of a buffer's first block. */
#define TVMFFI_RPC_I_BUFFER 256

/* The tag of an object on the wire, TVM's RPCObjectRef. */
#define TVMFFI_RPC_I_OBJECT_REF 115

/* A part of the input. Each ends when `left` bytes have arrived. */
typedef enum {
  TVMFFI_RPC_I_IN_MAGIC,  /* magic number and the key's length */
  TVMFFI_RPC_I_IN_KEY,    /* the client's key and options */
  TVMFFI_RPC_I_IN_LENGTH, /* a packet's length */
  TVMFFI_RPC_I_IN_CODE,   /* its code */
  TVMFFI_RPC_I_IN_BODY,   /* the rest, unless it is a copy to us */
  TVMFFI_RPC_I_IN_TENSOR, /* of a copy to us, its tensor up to the dtype */
  TVMFFI_RPC_I_IN_SHAPE,  /* its shape, byte offset and size */
  TVMFFI_RPC_I_IN_DATA,   /* its data */
  TVMFFI_RPC_I_IN_SKIP,   /* the rest of a packet that was refused */
  TVMFFI_RPC_I_WAITING,   /* for tvmffi_rpc_finish */
  TVMFFI_RPC_I_ENDED
} tvmffi_rpc_i_part;

typedef struct {
  unsigned char *data;
  size_t size, capacity;
} tvmffi_rpc_i_buffer;

typedef enum {
  TVMFFI_RPC_I_FREE,    /* an unused entry */
  TVMFFI_RPC_I_OBJECT,  /* a strong reference; a tensor has memory, too */
  TVMFFI_RPC_I_MEMORY,  /* memory that the client allocated */
  TVMFFI_RPC_I_POINTER, /* a stream, or a pointer that a function returned */
  TVMFFI_RPC_I_KINDS
} tvmffi_rpc_i_kind;

/* An entry of the table. Its handle is its generation and its index + 1. */
typedef struct {
  void *pointer; /* the object, the memory or the pointer */
  size_t size;   /* of the memory */
  DLDevice device;
  uint32_t generation;
  uint32_t next; /* of the list of unused entries: index + 1, or 0 */
  tvmffi_rpc_i_kind kind;
} tvmffi_rpc_i_entry;

/* An argument as it was read: a value refers to its text or tensor. */
typedef struct {
  TVMFFIAny any;
  TVMFFIByteArray bytes;
  DLTensor tensor;
} tvmffi_rpc_i_value;

/* The tensor of a copy, after its checks. */
typedef struct {
  DLTensor tensor;
  const tvmffi_rpc_device *device;
  uint64_t size;
  unsigned char *host; /* where the bytes are or go to on the host */
  void *scratch;       /* `host`, if that is memory for this copy only */
} tvmffi_rpc_i_copy;

struct tvmffi_rpc {
  tvmffi_rpc_options options;
  tvmffi_rpc_i_part part;
  unsigned char *want; /* where the next bytes go */
  size_t left;         /* bytes of this part that have not arrived */
  uint64_t packet;     /* bytes of the packet behind this part */
  int32_t code;        /* of the packet */
  int initialized;     /* by InitServer */
  int malformed;       /* the packet breaks the protocol */
  int64_t timeout_ms;
  unsigned char head[64];
  tvmffi_rpc_i_buffer body; /* of the packet, with a spare byte at the end */
  unsigned char *at, *end;  /* what of the body is yet to be read */
  unsigned char *terminate; /* the byte past a text, which is still unread */
  tvmffi_rpc_i_buffer out;  /* the answer */
  tvmffi_rpc_i_value *values;
  TVMFFIAny *args;
  int32_t capacity, count; /* of values and args */
  int32_t bound;           /* arguments that may own a reference */
  tvmffi_rpc_i_copy copy;
  TVMFFIObject *refused; /* the error of a packet whose rest is skipped */
  TVMFFIObject *module;  /* of a constructed session, or NULL */
  tvmffi_rpc_i_entry *entries;
  size_t entry_count, entry_capacity, live;
  uint32_t unused; /* the first unused entry: index + 1, or 0 */
};

/* Marks the packet as malformed: the session ends after its answer. */
static int tvmffi_rpc_i_malformed(tvmffi_rpc *s, const char *what) {
  s->malformed = 1;
  return TVMFFI_RAISE("RPCError", "malformed packet: %s", what);
}

static int tvmffi_rpc_i_no_memory(void) {
  return TVMFFI_RAISE("MemoryError", "no memory for an RPC session");
}

/* -- the order of bytes --------------------------------------------------- */

/* Reverses the bytes of each of n numbers if the machine is big-endian. They
   need no alignment. */
static void tvmffi_rpc_i_swap(void *numbers, size_t size, size_t n) {
  unsigned char *at = (unsigned char *)numbers;
  size_t i;
  if (!TVMFFI_RPC_I_BIG_ENDIAN) return;
  for (; n; --n, at += size)
    for (i = 0; i < size / 2; ++i) {
      unsigned char byte = at[i];
      at[i] = at[size - 1 - i];
      at[size - 1 - i] = byte;
    }
}

/* Returns how many bytes of a tensor are one number: for a complex element,
   which has two, half of it. */
static size_t tvmffi_rpc_i_number_size(const DLTensor *t) {
  size_t size = t->dtype.bits / 8u;
  if (t->dtype.code == kDLComplex) size /= 2;
  return size ? size : 1;
}

/* -- memory --------------------------------------------------------------- */

/* Replaces *data by a larger block that begins with the same `used` bytes. */
static int tvmffi_rpc_i_grow(void **data, size_t used, size_t size) {
  void *grown = TVMFFI_RPC_MALLOC(size);
  if (!grown) return tvmffi_rpc_i_no_memory();
  if (*data) {
    memcpy(grown, *data, used);
    TVMFFI_RPC_FREE(*data);
  }
  *data = grown;
  return 0;
}

static int tvmffi_rpc_i_reserve(tvmffi_rpc_i_buffer *b, size_t more) {
  size_t need = b->size + more;
  size_t size = b->capacity ? b->capacity : TVMFFI_RPC_I_BUFFER;
  void *data = b->data;
  if (need < more) return tvmffi_rpc_i_no_memory();
  if (need <= b->capacity) return 0;
  while (size < need) size = size > (size_t)-1 / 2 ? need : size * 2;
  TVMFFI_TRY(tvmffi_rpc_i_grow(&data, b->size, size));
  b->data = (unsigned char *)data;
  b->capacity = size;
  return 0;
}

/* Empties a buffer, and gives back the memory of an unusually long packet; but
   a buffer that has been used keeps a block, so that a short packet needs no
   memory. */
static void tvmffi_rpc_i_shrink(tvmffi_rpc_i_buffer *b) {
  void *small;
  b->size = 0;
  if (b->capacity <= (size_t)1 << 20) return;
  small = TVMFFI_RPC_MALLOC(TVMFFI_RPC_I_BUFFER);
  if (!small) return;
  TVMFFI_RPC_FREE(b->data);
  b->data = (unsigned char *)small;
  b->capacity = TVMFFI_RPC_I_BUFFER;
}

static int tvmffi_rpc_i_reserve_args(tvmffi_rpc *s, int32_t n) {
  int32_t size = s->capacity ? s->capacity : 8;
  void *values = s->values, *args = s->args;
  if (n <= s->capacity) return 0;
  while (size < n) size *= 2;
  TVMFFI_TRY(tvmffi_rpc_i_grow(&values, 0, (size_t)size * sizeof(*s->values)));
  s->values = (tvmffi_rpc_i_value *)values;
  TVMFFI_TRY(tvmffi_rpc_i_grow(&args, 0, (size_t)size * sizeof(*s->args)));
  s->args = (TVMFFIAny *)args;
  s->capacity = size;
  return 0;
}

/* -- the table of handles ------------------------------------------------- */

static uint64_t tvmffi_rpc_i_handle(const tvmffi_rpc *s, size_t index) {
  return (uint64_t)s->entries[index].generation << 32 | (index + 1);
}

/* Extends the table if it has no unused entry. */
static int tvmffi_rpc_i_extend(tvmffi_rpc *s) {
  size_t size = s->entry_capacity ? s->entry_capacity * 2 : 16;
  size_t limit =
      s->options.max_handles ? s->options.max_handles : (size_t)1 << 20;
  void *entries = s->entries;
  if (s->live >= limit)
    return TVMFFI_RAISE("MemoryError", "the client has %llu live handles",
                        (unsigned long long)s->live);
  if (s->unused || s->entry_count < s->entry_capacity) return 0;
  TVMFFI_TRY(tvmffi_rpc_i_grow(&entries, s->entry_count * sizeof(*s->entries),
                               size * sizeof(*s->entries)));
  s->entries = (tvmffi_rpc_i_entry *)entries;
  s->entry_capacity = size;
  return 0;
}

/* Returns an unused entry's index, after tvmffi_rpc_i_extend. */
static size_t tvmffi_rpc_i_take_entry(tvmffi_rpc *s) {
  size_t index = s->unused ? s->unused - 1 : s->entry_count++;
  tvmffi_rpc_i_entry *e = &s->entries[index];
  if (!s->unused) memset(e, 0, sizeof(*e));
  s->unused = e->next;
  e->next = 0;
  ++s->live;
  return index;
}

/* Adds an entry. On failure the caller still owns what `pointer` is. */
static int tvmffi_rpc_i_add(tvmffi_rpc *s, tvmffi_rpc_i_kind kind,
                            void *pointer, size_t size, DLDevice device,
                            uint64_t *handle) {
  size_t index;
  tvmffi_rpc_i_entry *e = NULL;
  TVMFFI_TRY(tvmffi_rpc_i_extend(s));
  index = tvmffi_rpc_i_take_entry(s);
  e = &s->entries[index];
  e->kind = kind;
  e->pointer = pointer;
  e->size = size;
  e->device = device;
  *handle = tvmffi_rpc_i_handle(s, index);
  return 0;
}

/* Finds a live entry of one kind, or of any kind. */
static int tvmffi_rpc_i_find(const tvmffi_rpc *s, uint64_t handle,
                             tvmffi_rpc_i_kind kind, tvmffi_rpc_i_entry **out) {
  static const char *const names[] = {"handle", "object", "allocation",
                                      "pointer"};
  size_t index = (size_t)(handle & 0xffffffffu) - 1;
  tvmffi_rpc_i_entry *e = NULL;
  if (index < s->entry_count) {
    e = *out = &s->entries[index];
    if (e->kind && e->generation == handle >> 32 && (!kind || e->kind == kind))
      return 0;
  }
  return TVMFFI_RAISE("ValueError", "%s 0x%llx is unknown to this session",
                      names[kind], (unsigned long long)handle);
}

static const tvmffi_rpc_device *tvmffi_rpc_i_device(tvmffi_rpc *s,
                                                    DLDevice device);

/* Drops an entry and what it owns. */
static int tvmffi_rpc_i_drop(tvmffi_rpc *s, tvmffi_rpc_i_entry *e) {
  tvmffi_rpc_i_entry was = *e;
  const tvmffi_rpc_device *api;
  e->kind = TVMFFI_RPC_I_FREE;
  ++e->generation;
  e->next = s->unused;
  s->unused = (uint32_t)(e - s->entries) + 1;
  --s->live;
  if (was.kind == TVMFFI_RPC_I_OBJECT)
    tvmffi_release((TVMFFIObject *)was.pointer);
  if (was.kind != TVMFFI_RPC_I_MEMORY) return 0;
  api = tvmffi_rpc_i_device(s, was.device);
  if (!api) return -1;
  if (!api->release) return 0;
  return api->release(s->options.user, was.device, was.pointer);
}

/* -- the CPU -------------------------------------------------------------- */

/* Allocates aligned memory. The pointer that malloc returned precedes it. */
static int tvmffi_rpc_i_cpu_alloc(void *user, DLDevice device, size_t size,
                                  size_t alignment, const char *scope,
                                  void **data) {
  size_t extra = alignment + sizeof(void *);
  char *block, *aligned;
  (void)user, (void)device;
  if (scope && *scope && strcmp(scope, "global"))
    return TVMFFI_RAISE("ValueError", "the CPU has no memory scope `%s`",
                        scope);
  if (!(block = (char *)TVMFFI_RPC_MALLOC(size + extra)))
    return TVMFFI_RAISE("MemoryError", "no memory for %llu bytes",
                        (unsigned long long)size);
  aligned = block + extra - (size_t)(uintptr_t)(block + extra) % alignment;
  memcpy(aligned - sizeof(void *), &block, sizeof(void *));
  *data = aligned;
  return 0;
}

static int tvmffi_rpc_i_cpu_release(void *user, DLDevice device, void *data) {
  void *block;
  (void)user, (void)device;
  memcpy(&block, (char *)data - sizeof(void *), sizeof(void *));
  TVMFFI_RPC_FREE(block);
  return 0;
}

/* Answers as upstream's CPU does. */
static int tvmffi_rpc_i_cpu_attribute(void *user, DLDevice device, int kind,
                                      TVMFFIAny *out) {
  (void)user, (void)device, (void)kind, (void)out;
#if defined(TVMFFI_RPC_MEMORY)
  if (kind == TVMFFI_RPC_ATTR_TOTAL_GLOBAL_MEMORY)
    *out = tvmffi_int(TVMFFI_RPC_MEMORY());
#endif
  return 0;
}

static const tvmffi_rpc_device tvmffi_rpc_i_cpu = {tvmffi_rpc_i_cpu_alloc,
                                                   tvmffi_rpc_i_cpu_release,
                                                   NULL,
                                                   NULL,
                                                   tvmffi_rpc_i_cpu_attribute,
                                                   NULL,
                                                   NULL,
                                                   NULL,
                                                   NULL,
                                                   NULL};

static const tvmffi_rpc_device *tvmffi_rpc_i_find_device(
    const tvmffi_rpc_options *options, DLDevice device) {
  const tvmffi_rpc_device *found =
      options->device ? options->device(options->user, device) : NULL;
  if (found) return found;
  return device.device_type == kDLCPU && !device.device_id ? &tvmffi_rpc_i_cpu
                                                           : NULL;
}

static const tvmffi_rpc_device *tvmffi_rpc_i_device(tvmffi_rpc *s,
                                                    DLDevice device) {
  const tvmffi_rpc_device *found =
      tvmffi_rpc_i_find_device(&s->options, device);
  if (!found)
    (void)TVMFFI_RAISE("ValueError",
                       "this server has no device %s:%d (type %d)",
                       tvmffi_i_device_name(device), (int)device.device_id,
                       (int)device.device_type);
  return found;
}

/* -- the answer ----------------------------------------------------------- */

static int tvmffi_rpc_i_put(tvmffi_rpc *s, const void *bytes, size_t size) {
  TVMFFI_TRY(tvmffi_rpc_i_reserve(&s->out, size));
  if (size) memcpy(s->out.data + s->out.size, bytes, size);
  s->out.size += size;
  return 0;
}

static int tvmffi_rpc_i_put_i32(tvmffi_rpc *s, int32_t x) {
  tvmffi_rpc_i_swap(&x, sizeof(x), 1);
  return tvmffi_rpc_i_put(s, &x, sizeof(x));
}

static int tvmffi_rpc_i_put_u64(tvmffi_rpc *s, uint64_t x) {
  tvmffi_rpc_i_swap(&x, sizeof(x), 1);
  return tvmffi_rpc_i_put(s, &x, sizeof(x));
}

static int tvmffi_rpc_i_put_device(tvmffi_rpc *s, DLDevice device) {
  TVMFFI_TRY(tvmffi_rpc_i_put_i32(s, (int32_t)device.device_type));
  return tvmffi_rpc_i_put_i32(s, device.device_id);
}

static int tvmffi_rpc_i_put_dtype(tvmffi_rpc *s, DLDataType dtype) {
  tvmffi_rpc_i_swap(&dtype.lanes, sizeof(dtype.lanes), 1);
  return tvmffi_rpc_i_put(s, &dtype, sizeof(dtype));
}

/* Begins a packet, whose length is stored when it is sent. */
static int tvmffi_rpc_i_begin(tvmffi_rpc *s, int32_t code) {
  s->out.size = 0;
  TVMFFI_TRY(tvmffi_rpc_i_put_u64(s, 0));
  return tvmffi_rpc_i_put_i32(s, code);
}

static int tvmffi_rpc_i_begin_values(tvmffi_rpc *s, int32_t code, int32_t n) {
  TVMFFI_TRY(tvmffi_rpc_i_begin(s, code));
  return tvmffi_rpc_i_put_i32(s, n);
}

/* Ends the session: nothing is read and nothing is sent any more. */
static int tvmffi_rpc_i_end(tvmffi_rpc *s, int code) {
  s->part = TVMFFI_RPC_I_ENDED;
  s->left = 0;
  return code;
}

static int tvmffi_rpc_i_write(tvmffi_rpc *s, const void *bytes, size_t size) {
  if (s->part == TVMFFI_RPC_I_ENDED) return 1;
  if (!s->options.write(s->options.user, bytes, size)) return 0;
  return tvmffi_rpc_i_end(s, -1);
}

/* Sends the packet, followed by `size` bytes that are stored elsewhere. */
static int tvmffi_rpc_i_send(tvmffi_rpc *s, const void *bytes, size_t size) {
  uint64_t length = (uint64_t)s->out.size - 8 + size;
  int code;
  tvmffi_rpc_i_swap(&length, sizeof(length), 1);
  memcpy(s->out.data, &length, sizeof(length));
  code = tvmffi_rpc_i_write(s, s->out.data, s->out.size);
  if (!code && size) code = tvmffi_rpc_i_write(s, bytes, size);
  tvmffi_rpc_i_shrink(&s->out);
  return code;
}

/* Appends a value of 8 bytes or none. */
static int tvmffi_rpc_i_put_plain(tvmffi_rpc *s, const TVMFFIAny *any) {
  TVMFFI_TRY(tvmffi_rpc_i_put_i32(s, any->type_index));
  if (any->type_index == kTVMFFINone) return 0;
  if (any->type_index == kTVMFFIDevice)
    return tvmffi_rpc_i_put_device(s, any->v_device);
  if (any->type_index != kTVMFFIDataType)
    return tvmffi_rpc_i_put_u64(s, (uint64_t)any->v_int64);
  TVMFFI_TRY(tvmffi_rpc_i_put_dtype(s, any->v_dtype));
  return tvmffi_rpc_i_put_i32(s, 0);
}

static int tvmffi_rpc_i_put_handle(tvmffi_rpc *s, uint64_t handle) {
  TVMFFI_TRY(tvmffi_rpc_i_put_i32(s, kTVMFFIOpaquePtr));
  return tvmffi_rpc_i_put_u64(s, handle);
}

static int tvmffi_rpc_i_put_text(tvmffi_rpc *s, int32_t type, const char *data,
                                 size_t size) {
  TVMFFI_TRY(tvmffi_rpc_i_put_i32(s, type));
  TVMFFI_TRY(tvmffi_rpc_i_put_u64(s, size));
  return tvmffi_rpc_i_put(s, data, size);
}

/* Sends one plain value, which is a system call's result. */
static int tvmffi_rpc_i_return_plain(tvmffi_rpc *s, const TVMFFIAny *any) {
  TVMFFI_TRY(tvmffi_rpc_i_begin_values(s, TVMFFI_RPC_I_RETURN, 1));
  TVMFFI_TRY(tvmffi_rpc_i_put_plain(s, any));
  return tvmffi_rpc_i_send(s, NULL, 0);
}

/* -- errors --------------------------------------------------------------- */

/* Returns the start of the last entry of a traceback of `size` bytes: its line
   begins with "  File", lines below it belong to it. */
static size_t tvmffi_rpc_i_last_entry(const char *text, size_t size) {
  size_t at = size;
  while (at) {
    size_t line = at - 1;
    while (line && text[line - 1] != '\n') --line;
    at = line;
    if (size - at >= 6 && !memcmp(text + at, "  File", 6)) break;
  }
  return at;
}

/* Appends a traceback with its most recent call last; it is stored in the
   opposite order. */
static int tvmffi_rpc_i_put_trace(tvmffi_rpc *s, TVMFFIByteArray trace) {
  static const char head[] = "Traceback (most recent call last):\n";
  size_t end = trace.size, at;
  if (!end) return 0;
  TVMFFI_TRY(tvmffi_rpc_i_put(s, head, sizeof(head) - 1));
  for (; end; end = at) {
    at = tvmffi_rpc_i_last_entry(trace.data, end);
    TVMFFI_TRY(tvmffi_rpc_i_put(s, trace.data + at, end - at));
    if (trace.data[end - 1] != '\n') TVMFFI_TRY(tvmffi_rpc_i_put(s, "\n", 1));
  }
  return 0;
}

/* Appends the traceback, kind and message of an error, and the hook's hint. */
static int tvmffi_rpc_i_put_error(tvmffi_rpc *s, TVMFFIObject *error) {
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  const char *hint =
      s->options.hint ? s->options.hint(s->options.user, error) : NULL;
  TVMFFI_TRY(tvmffi_rpc_i_put_trace(s, cell->backtrace));
  TVMFFI_TRY(tvmffi_rpc_i_put(s, cell->kind.data, cell->kind.size));
  TVMFFI_TRY(tvmffi_rpc_i_put(s, ": ", 2));
  TVMFFI_TRY(tvmffi_rpc_i_put(s, cell->message.data, cell->message.size));
  if (!hint) return 0;
  TVMFFI_TRY(tvmffi_rpc_i_put(s, " (", 2));
  TVMFFI_TRY(tvmffi_rpc_i_put(s, hint, strlen(hint)));
  return tvmffi_rpc_i_put(s, ")", 1);
}

/* Begins an exception: one raw string, whose length is stored at 20. */
static int tvmffi_rpc_i_begin_exception(tvmffi_rpc *s) {
  TVMFFI_TRY(tvmffi_rpc_i_begin_values(s, TVMFFI_RPC_I_EXCEPTION, 1));
  return tvmffi_rpc_i_put_text(s, kTVMFFIRawStr, NULL, 0);
}

static int tvmffi_rpc_i_send_exception(tvmffi_rpc *s) {
  uint64_t length = s->out.size - 28;
  tvmffi_rpc_i_swap(&length, sizeof(length), 1);
  memcpy(s->out.data + 20, &length, sizeof(length));
  return tvmffi_rpc_i_send(s, NULL, 0);
}

/* Sends a text as exception. A text of up to 228 bytes needs no memory, because
   the buffer of answers always has TVMFFI_RPC_I_BUFFER bytes. */
static int tvmffi_rpc_i_send_text(tvmffi_rpc *s, const char *text) {
  TVMFFI_TRY(tvmffi_rpc_i_begin_exception(s));
  TVMFFI_TRY(tvmffi_rpc_i_put(s, text, strlen(text)));
  return tvmffi_rpc_i_send_exception(s);
}

/* Removes the error that is raised. Returns it, owned by the caller. */
static TVMFFIObject *tvmffi_rpc_i_take_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  return (TVMFFIObject *)error;
}

/* Sends the error that is raised, and drops it. Ends the session if the error
   cannot be sent, and after a malformed packet: then with that error. */
static int tvmffi_rpc_i_answer_error(tvmffi_rpc *s) {
  TVMFFIObject *error = tvmffi_rpc_i_take_error();
  int code = -1;
  if (error && !tvmffi_rpc_i_begin_exception(s) &&
      !tvmffi_rpc_i_put_error(s, error)) {
    code = tvmffi_rpc_i_send_exception(s);
  } else {
    tvmffi_error_clear();
    code = tvmffi_rpc_i_send_text(
        s, error ? "MemoryError: no memory for the error's text"
                 : "RuntimeError: a function failed without an error");
  }
  if (!code && s->malformed) code = tvmffi_error_raise(error);
  tvmffi_release(error);
  return code ? tvmffi_rpc_i_end(s, code) : 0;
}

/* -- values of the client ------------------------------------------------- */

/* Reads a number of the wire. */
static int tvmffi_rpc_i_read(tvmffi_rpc *s, void *to, size_t size) {
  if ((size_t)(s->end - s->at) < size)
    return tvmffi_rpc_i_malformed(s, "it ends too early");
  memcpy(to, s->at, size);
  tvmffi_rpc_i_swap(to, size, 1);
  s->at += size;
  return 0;
}

static int tvmffi_rpc_i_read_device(tvmffi_rpc *s, DLDevice *device) {
  TVMFFI_TRY(tvmffi_rpc_i_read(s, &device->device_type, 4));
  return tvmffi_rpc_i_read(s, &device->device_id, 4);
}

static int tvmffi_rpc_i_read_dtype(tvmffi_rpc *s, DLDataType *dtype) {
  TVMFFI_TRY(tvmffi_rpc_i_read(s, &dtype->code, 1));
  TVMFFI_TRY(tvmffi_rpc_i_read(s, &dtype->bits, 1));
  return tvmffi_rpc_i_read(s, &dtype->lanes, 2);
}

/* Reads a length, and in place the text of that length. Every text ends with a
   NUL, for the readers of names, once the byte after it has been read. */
static int tvmffi_rpc_i_read_text(tvmffi_rpc *s, TVMFFIByteArray *out) {
  uint64_t size = 0;
  TVMFFI_TRY(tvmffi_rpc_i_read(s, &size, sizeof(size)));
  if ((uint64_t)(s->end - s->at) < size)
    return tvmffi_rpc_i_malformed(s, "a text is longer than the packet");
  out->data = (const char *)s->at;
  out->size = (size_t)size;
  s->at += size;
  s->terminate = s->at;
  return 0;
}

/* Reads the 24 bytes in front of a tensor's shape. `data` is the handle. */
static int tvmffi_rpc_i_read_tensor_head(tvmffi_rpc *s, DLTensor *t,
                                         uint64_t *handle) {
  memset(t, 0, sizeof(*t));
  TVMFFI_TRY(tvmffi_rpc_i_read(s, handle, sizeof(*handle)));
  TVMFFI_TRY(tvmffi_rpc_i_read_device(s, &t->device));
  TVMFFI_TRY(tvmffi_rpc_i_read(s, &t->ndim, 4));
  TVMFFI_TRY(tvmffi_rpc_i_read_dtype(s, &t->dtype));
  if (t->ndim < 0 || t->ndim > TVMFFI_RPC_MAX_NDIM)
    return tvmffi_rpc_i_malformed(s, "a tensor's number of dimensions");
  return 0;
}

/* Reads the shape in place. It is moved over bytes that were read before, so
   that it is aligned. */
static int tvmffi_rpc_i_read_shape(tvmffi_rpc *s, DLTensor *t) {
  size_t size = (size_t)t->ndim * 8;
  size_t off = (size_t)((uintptr_t)s->at & 7);
  if ((size_t)(s->end - s->at) < size)
    return tvmffi_rpc_i_malformed(s, "a shape is longer than the packet");
  memmove(s->at - off, s->at, size);
  t->shape = (int64_t *)(void *)(s->at - off);
  tvmffi_rpc_i_swap(t->shape, 8, (size_t)t->ndim);
  s->at += size;
  return tvmffi_rpc_i_read(s, &t->byte_offset, 8);
}

/* Reads a string or bytes object, or the handle of an object. */
static int tvmffi_rpc_i_read_object(tvmffi_rpc *s, tvmffi_rpc_i_value *v) {
  uint32_t tag = 0;
  TVMFFI_TRY(tvmffi_rpc_i_read(s, &tag, sizeof(tag)));
  if (tag == kTVMFFIStr || tag == kTVMFFIBytes) {
    v->any.type_index = (int32_t)tag;
    return tvmffi_rpc_i_read_text(s, &v->bytes);
  }
  if (tag != TVMFFI_RPC_I_OBJECT_REF)
    return tvmffi_rpc_i_malformed(s, "an object of an unknown kind");
  v->any.type_index = kTVMFFIObject;
  return tvmffi_rpc_i_read(s, &v->any.v_int64, 8);
}

/* Reads what follows a type index. Handles stay numbers until they are bound:
   the copy of v_int64 is one, and so is a tensor's. */
static int tvmffi_rpc_i_read_content(tvmffi_rpc *s, tvmffi_rpc_i_value *v) {
  switch (v->any.type_index) {
    case kTVMFFINone: return 0;
    case kTVMFFIInt:
    case kTVMFFIBool:
    case kTVMFFIFloat:
    case kTVMFFIOpaquePtr:
    case kTVMFFIFunction:
    case kTVMFFIModule: return tvmffi_rpc_i_read(s, &v->any.v_int64, 8);
    case kTVMFFIDevice: return tvmffi_rpc_i_read_device(s, &v->any.v_device);
    case kTVMFFIDataType: {
      uint32_t padding = 0;
      TVMFFI_TRY(tvmffi_rpc_i_read_dtype(s, &v->any.v_dtype));
      return tvmffi_rpc_i_read(s, &padding, sizeof(padding));
    }
    case kTVMFFIDLTensorPtr: {
      uint64_t handle = 0;
      TVMFFI_TRY(tvmffi_rpc_i_read_tensor_head(s, &v->tensor, &handle));
      v->any.v_int64 = (int64_t)handle;
      return tvmffi_rpc_i_read_shape(s, &v->tensor);
    }
    case kTVMFFIRawStr:
    case kTVMFFIByteArrayPtr: return tvmffi_rpc_i_read_text(s, &v->bytes);
    default: break;
  }
  if (v->any.type_index == kTVMFFISmallStr ||
      v->any.type_index == kTVMFFISmallBytes ||
      v->any.type_index >= kTVMFFIStaticObjectBegin)
    return tvmffi_rpc_i_read_object(s, v);
  return tvmffi_rpc_i_malformed(s, "a value of an unknown type");
}

/* Stores the NUL after a text, once the byte there has been read. */
static void tvmffi_rpc_i_terminate(tvmffi_rpc *s) {
  if (s->terminate) *s->terminate = 0;
  s->terminate = NULL;
}

static int tvmffi_rpc_i_read_value(tvmffi_rpc *s, tvmffi_rpc_i_value *v) {
  memset(&v->any, 0, sizeof(v->any));
  TVMFFI_TRY(tvmffi_rpc_i_read(s, &v->any.type_index, 4));
  tvmffi_rpc_i_terminate(s);
  TVMFFI_TRY(tvmffi_rpc_i_read_content(s, v));
  if (v->any.type_index == kTVMFFIBool) v->any.v_int64 = !!v->any.v_int64;
  return 0;
}

/* Reads the rest of the body: a count and values. */
static int tvmffi_rpc_i_read_values(tvmffi_rpc *s) {
  int32_t i, n = 0;
  s->count = 0;
  TVMFFI_TRY(tvmffi_rpc_i_read(s, &n, sizeof(n)));
  if (n < 0 || n > TVMFFI_RPC_MAX_ARGS || n > (s->end - s->at) / 4)
    return tvmffi_rpc_i_malformed(s, "the number of values");
  TVMFFI_TRY(tvmffi_rpc_i_reserve_args(s, n));
  for (i = 0; i < n; ++i) TVMFFI_TRY(tvmffi_rpc_i_read_value(s, &s->values[i]));
  if (s->at != s->end) return tvmffi_rpc_i_malformed(s, "it is too long");
  tvmffi_rpc_i_terminate(s);
  s->count = n;
  return 0;
}

/* -- values with their handles looked up ---------------------------------- */

/* Stores the size in bytes of a tensor without strides. */
static int tvmffi_rpc_i_tensor_size(const DLTensor *t, size_t *size) {
  uint64_t bits = (uint64_t)t->dtype.bits * t->dtype.lanes, n = 1;
  int32_t i;
  for (i = 0; i < t->ndim; ++i) {
    if (t->shape[i] < 0)
      return TVMFFI_RAISE("ValueError", "a tensor's shape has a negative size");
    if (!t->shape[i]) n = 0;
  }
  for (i = 0; i < t->ndim && n; ++i) {
    uint64_t extent = (uint64_t)t->shape[i];
    if (n > ((uint64_t)1 << 40) / extent)
      return TVMFFI_RAISE("ValueError", "a tensor is too large");
    n *= extent;
  }
  *size = (size_t)((n * bits + 7) / 8);
  if (*size != (n * bits + 7) / 8)
    return TVMFFI_RAISE("ValueError", "a tensor is too large");
  return 0;
}

/* Looks up memory: an allocation, or a tensor that a function returned. */
static int tvmffi_rpc_i_find_memory(tvmffi_rpc *s, uint64_t handle, DLTensor *t,
                                    size_t *size) {
  tvmffi_rpc_i_entry *e = NULL;
  TVMFFI_TRY(tvmffi_rpc_i_find(s, handle, TVMFFI_RPC_I_FREE, &e));
  *size = e->size;
  if (e->device.device_type != t->device.device_type ||
      e->device.device_id != t->device.device_id)
    return TVMFFI_RAISE("ValueError", "the memory is on another device");
  if (e->kind == TVMFFI_RPC_I_MEMORY) {
    t->data = e->pointer;
    return 0;
  }
  if (e->kind == TVMFFI_RPC_I_OBJECT &&
      ((TVMFFIObject *)e->pointer)->type_index == kTVMFFITensor) {
    const DLTensor *owner = TVMFFITensorGetDLTensorPtr(e->pointer);
    t->data = owner->data;
    t->byte_offset += owner->byte_offset;
    return 0;
  }
  return TVMFFI_RAISE("ValueError", "handle 0x%llx has no memory",
                      (unsigned long long)handle);
}

/* Looks up a tensor's memory, of which `size` bytes behind its byte offset are
   to be used. */
static int tvmffi_rpc_i_bind_tensor(tvmffi_rpc *s, uint64_t handle, DLTensor *t,
                                    uint64_t size) {
  uint64_t offset = t->byte_offset;
  size_t capacity = 0;
  t->data = NULL;
  if (handle || size)
    TVMFFI_TRY(tvmffi_rpc_i_find_memory(s, handle, t, &capacity));
  if (offset > capacity || size > capacity - offset)
    return TVMFFI_RAISE("ValueError",
                        "%llu bytes at offset %llu of an allocation of %llu",
                        (unsigned long long)size, (unsigned long long)offset,
                        (unsigned long long)capacity);
  return 0;
}

static int tvmffi_rpc_i_bind_tensor_arg(tvmffi_rpc *s, tvmffi_rpc_i_value *v,
                                        TVMFFIAny *out) {
  size_t size = 0;
  TVMFFI_TRY(tvmffi_rpc_i_tensor_size(&v->tensor, &size));
  TVMFFI_TRY(
      tvmffi_rpc_i_bind_tensor(s, (uint64_t)v->any.v_int64, &v->tensor, size));
  *out = tvmffi_tensor(&v->tensor);
  return 0;
}

/* Binds a pointer: NULL, an allocation, a stream or what a function returned.
 */
static int tvmffi_rpc_i_bind_pointer(tvmffi_rpc *s, uint64_t handle,
                                     void **out) {
  tvmffi_rpc_i_entry *e = NULL;
  *out = NULL;
  if (!handle) return 0;
  TVMFFI_TRY(tvmffi_rpc_i_find(s, handle, TVMFFI_RPC_I_FREE, &e));
  if (e->kind == TVMFFI_RPC_I_OBJECT)
    return TVMFFI_RAISE("ValueError", "an object is passed as a pointer");
  *out = e->pointer;
  return 0;
}

/* Binds a function, module or other object; *out owns a reference, so that it
   lives as long as the call. `type` is kTVMFFIObject for any type. */
static int tvmffi_rpc_i_bind_object(tvmffi_rpc *s, uint64_t handle,
                                    int32_t type, TVMFFIAny *out) {
  tvmffi_rpc_i_entry *e = NULL;
  TVMFFIObject *object;
  TVMFFI_TRY(tvmffi_rpc_i_find(s, handle, TVMFFI_RPC_I_OBJECT, &e));
  object = (TVMFFIObject *)e->pointer;
  if (type != kTVMFFIObject && !tvmffi_is_instance(object->type_index, type))
    return TVMFFI_RAISE("TypeError", "handle 0x%llx is of type %d, not %d",
                        (unsigned long long)handle, (int)object->type_index,
                        (int)type);
  tvmffi_retain(object);
  *out = tvmffi_obj(object);
  return 0;
}

/* Makes a bytes object, also for short bytes, because functions see an object
   in upstream's server. An object for 8 zeros is filled with the bytes. */
static int tvmffi_rpc_i_bind_bytes(const TVMFFIByteArray *bytes,
                                   TVMFFIAny *out) {
  TVMFFIByteArray zeros = {"\0\0\0\0\0\0\0", 8}, *made;
  if (bytes->size >= zeros.size) return TVMFFIBytesFromByteArray(bytes, out);
  TVMFFI_TRY(TVMFFIBytesFromByteArray(&zeros, out));
  made = TVMFFIBytesGetByteArrayPtr(out->v_obj);
  memcpy((char *)(uintptr_t)made->data, bytes->data, bytes->size);
  made->size = bytes->size;
  return 0;
}

static int tvmffi_rpc_i_bind(tvmffi_rpc *s, tvmffi_rpc_i_value *v,
                             TVMFFIAny *out) {
  void *pointer;
  *out = tvmffi_none();
  switch (v->any.type_index) {
    case kTVMFFIOpaquePtr:
      TVMFFI_TRY(
          tvmffi_rpc_i_bind_pointer(s, (uint64_t)v->any.v_int64, &pointer));
      *out = tvmffi_ptr(pointer);
      return 0;
    case kTVMFFIDLTensorPtr: return tvmffi_rpc_i_bind_tensor_arg(s, v, out);
    case kTVMFFIRawStr:
      if (strlen(v->bytes.data) != v->bytes.size) /* only an object has a NUL */
        return TVMFFIStringFromByteArray(&v->bytes, out);
      *out = tvmffi_str(v->bytes.data);
      return 0;
    case kTVMFFIByteArrayPtr: *out = tvmffi_bytes(&v->bytes); return 0;
    case kTVMFFIStr: return TVMFFIStringFromByteArray(&v->bytes, out);
    case kTVMFFIBytes: return tvmffi_rpc_i_bind_bytes(&v->bytes, out);
    case kTVMFFIFunction:
    case kTVMFFIModule:
    case kTVMFFIObject:
      return tvmffi_rpc_i_bind_object(s, (uint64_t)v->any.v_int64,
                                      v->any.type_index, out);
    default: *out = v->any; return 0;
  }
}

/* Binds all values that were read into s->args. */
static int tvmffi_rpc_i_bind_all(tvmffi_rpc *s) {
  for (s->bound = 0; s->bound < s->count; ++s->bound)
    TVMFFI_TRY(tvmffi_rpc_i_bind(s, &s->values[s->bound], &s->args[s->bound]));
  return 0;
}

static void tvmffi_rpc_i_unbind(tvmffi_rpc *s) {
  while (s->bound) tvmffi_any_release(&s->args[--s->bound]);
}

/* -- results of calls ----------------------------------------------------- */

/* Adds an object to the table, which takes the reference; a tensor with its
   memory's size. */
static int tvmffi_rpc_i_add_object(tvmffi_rpc *s, TVMFFIObject *object,
                                   uint64_t *handle) {
  DLDevice device = {kDLCPU, 0};
  size_t size = 0;
  if (object->type_index == kTVMFFITensor) {
    const DLTensor *t = TVMFFITensorGetDLTensorPtr(object);
    device = t->device;
    TVMFFI_TRY(tvmffi_rpc_i_tensor_size(t, &size));
    if (!tvmffi_tensor_is_contiguous(t))
      return TVMFFI_RAISE("ValueError", "the result is a tensor with strides");
  }
  return tvmffi_rpc_i_add(s, TVMFFI_RPC_I_OBJECT, object, size, device, handle);
}

/* Finds the entry of a pointer that was sent before: nobody frees these. */
static int tvmffi_rpc_i_add_pointer(tvmffi_rpc *s, void *pointer,
                                    uint64_t *handle) {
  DLDevice device = {kDLCPU, 0};
  size_t i;
  *handle = 0;
  if (!pointer) return 0;
  for (i = 0; i < s->entry_count; ++i)
    if (s->entries[i].kind == TVMFFI_RPC_I_POINTER &&
        s->entries[i].pointer == pointer) {
      *handle = tvmffi_rpc_i_handle(s, i);
      return 0;
    }
  return tvmffi_rpc_i_add(s, TVMFFI_RPC_I_POINTER, pointer, 0, device, handle);
}

/* Begins the answer to a call: the result's type, then n - 1 more values. */
static int tvmffi_rpc_i_begin_result(tvmffi_rpc *s, int32_t type, int32_t n) {
  TVMFFIAny any = tvmffi_int(type);
  TVMFFI_TRY(tvmffi_rpc_i_begin_values(s, TVMFFI_RPC_I_RETURN, n));
  return tvmffi_rpc_i_put_plain(s, &any);
}

/* A tensor's memory and the tensor have the same handle. */
static int tvmffi_rpc_i_put_tensor(tvmffi_rpc *s, const DLTensor *t,
                                   uint64_t handle) {
  int32_t i;
  TVMFFI_TRY(tvmffi_rpc_i_put_i32(s, kTVMFFIDLTensorPtr));
  TVMFFI_TRY(tvmffi_rpc_i_put_u64(s, handle));
  TVMFFI_TRY(tvmffi_rpc_i_put_device(s, t->device));
  TVMFFI_TRY(tvmffi_rpc_i_put_i32(s, t->ndim));
  TVMFFI_TRY(tvmffi_rpc_i_put_dtype(s, t->dtype));
  for (i = 0; i < t->ndim; ++i)
    TVMFFI_TRY(tvmffi_rpc_i_put_u64(s, (uint64_t)t->shape[i]));
  return tvmffi_rpc_i_put_u64(s, 0);
}

/* Appends an object as its handle. Its reference is taken. */
static int tvmffi_rpc_i_put_object(tvmffi_rpc *s, TVMFFIAny *result) {
  TVMFFIObject *object = result->v_obj;
  int is_tensor = object->type_index == kTVMFFITensor;
  uint64_t handle = 0;
  const DLTensor *t = is_tensor ? TVMFFITensorGetDLTensorPtr(object) : NULL;
  TVMFFI_TRY(tvmffi_rpc_i_begin_result(s, object->type_index, 2 + is_tensor));
  /* All memory that the answer needs: otherwise the table could have an entry
     of which the client does not know the handle. */
  TVMFFI_TRY(tvmffi_rpc_i_reserve(&s->out, 64 + (t ? (size_t)t->ndim * 8 : 0)));
  TVMFFI_TRY(tvmffi_rpc_i_add_object(s, object, &handle));
  *result = tvmffi_none();
  if (t) TVMFFI_TRY(tvmffi_rpc_i_put_tensor(s, t, handle));
  return tvmffi_rpc_i_put_handle(s, handle);
}

static int tvmffi_rpc_i_put_pointer(tvmffi_rpc *s, void *pointer) {
  uint64_t handle = 0;
  TVMFFI_TRY(tvmffi_rpc_i_begin_result(s, kTVMFFIOpaquePtr, 2));
  TVMFFI_TRY(tvmffi_rpc_i_add_pointer(s, pointer, &handle));
  return tvmffi_rpc_i_put_handle(s, handle);
}

/* Writes the answer to a call. */
static int tvmffi_rpc_i_put_result(tvmffi_rpc *s, TVMFFIAny *result) {
  int32_t type = result->type_index;
  TVMFFIByteArray text = tvmffi_any_str(result);
  int is_bytes = type == kTVMFFIBytes || type == kTVMFFISmallBytes;
  if (text.data) {
    TVMFFI_TRY(tvmffi_rpc_i_begin_result(s, type, 2));
    return tvmffi_rpc_i_put_text(s,
                                 is_bytes ? kTVMFFIByteArrayPtr : kTVMFFIRawStr,
                                 text.data, text.size);
  }
  if (type >= kTVMFFIStaticObjectBegin)
    return tvmffi_rpc_i_put_object(s, result);
  if (type == kTVMFFIOpaquePtr)
    return tvmffi_rpc_i_put_pointer(s, result->v_ptr);
  if (type < kTVMFFINone || type > kTVMFFIDevice)
    return TVMFFI_RAISE("TypeError", "a result of type %d cannot be sent",
                        (int)type);
  TVMFFI_TRY(tvmffi_rpc_i_begin_result(s, type, 2));
  return tvmffi_rpc_i_put_plain(s, result);
}

/* Sends a call's result, which is taken. */
static int tvmffi_rpc_i_return(tvmffi_rpc *s, TVMFFIAny *result) {
  int code = tvmffi_rpc_i_put_result(s, result);
  tvmffi_any_release(result);
  return code ? code : tvmffi_rpc_i_send(s, NULL, 0);
}

/* -- starting and calling ------------------------------------------------- */

/* Calls a global function for the session's module. */
static int tvmffi_rpc_i_construct(tvmffi_rpc *s) {
  TVMFFIByteArray name = tvmffi_any_str(&s->args[0]);
  TVMFFIAny result = tvmffi_none();
  TVMFFIObjectHandle f = NULL;
  int code;
  if (!strcmp(name.data, "rpc.LocalSession")) return 0;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &f));
  if (!f)
    return TVMFFI_RAISE("ValueError", "no session constructor `%.200s`",
                        name.data);
  code = TVMFFIFunctionCall(f, s->args + 1, s->count - 1, &result);
  tvmffi_release(f);
  if (code) return -1;
  if (result.type_index == kTVMFFIModule) {
    s->module = result.v_obj;
    return 0;
  }
  tvmffi_any_release(&result);
  return TVMFFI_RAISE("TypeError", "the constructor `%.200s` made no module",
                      name.data);
}

static int tvmffi_rpc_i_check_version(tvmffi_rpc *s, TVMFFIByteArray version) {
  size_t size = strlen(TVMFFI_RPC_VERSION);
  char text[32] = "of another kind";
  if (s->initialized)
    return TVMFFI_RAISE("RPCError", "the session has begun already");
  if (version.size == size && !memcmp(version.data, TVMFFI_RPC_VERSION, size))
    return 0;
  if (version.size < sizeof(text)) {
    memcpy(text, version.data, version.size);
    text[version.size] = 0;
  }
  return TVMFFI_RAISE("RPCError",
                      "the client's protocol is %s, the server's is %s", text,
                      TVMFFI_RPC_VERSION);
}

static int tvmffi_rpc_i_do_init(tvmffi_rpc *s) {
  TVMFFIByteArray version = {NULL, 0};
  TVMFFIAny none = tvmffi_none();
  TVMFFI_TRY(tvmffi_rpc_i_read_text(s, &version));
  TVMFFI_TRY(tvmffi_rpc_i_check_version(s, version));
  TVMFFI_TRY(tvmffi_rpc_i_read_values(s));
  TVMFFI_TRY(tvmffi_rpc_i_bind_all(s));
  if (s->count && s->args[0].type_index != kTVMFFINone) {
    if (!tvmffi_any_str(&s->args[0]).data)
      return TVMFFI_RAISE("TypeError", "a session constructor is not a name");
    TVMFFI_TRY(s->options.construct
                   ? s->options.construct(s->options.user, s, s->args, s->count)
                   : tvmffi_rpc_i_construct(s));
  }
  s->initialized = 1;
  return tvmffi_rpc_i_return_plain(s, &none);
}

static int tvmffi_rpc_i_do_call(tvmffi_rpc *s) {
  TVMFFIAny function = tvmffi_none(), result = tvmffi_none();
  uint64_t handle = 0;
  int code;
  TVMFFI_TRY(tvmffi_rpc_i_read(s, &handle, sizeof(handle)));
  TVMFFI_TRY(tvmffi_rpc_i_read_values(s));
  TVMFFI_TRY(tvmffi_rpc_i_bind_all(s));
  TVMFFI_TRY(tvmffi_rpc_i_bind_object(s, handle, kTVMFFIFunction, &function));
  code = s->options.call ? s->options.call(s->options.user, s, function.v_obj,
                                           s->args, s->count, &result)
                         : -!!TVMFFIFunctionCall(function.v_obj, s->args,
                                                 s->count, &result);
  tvmffi_any_release(&function);
  return code ? code : tvmffi_rpc_i_return(s, &result);
}

/* Finds a function in the session's module; *out is NULL if it has none. */
static int tvmffi_rpc_i_find_in_module(tvmffi_rpc *s, const char *name,
                                       TVMFFIObject **out) {
  static const TVMFFIByteArray get = {"ffi.ModuleGetFunction", 21};
  TVMFFIAny args[3], result = tvmffi_none();
  TVMFFIObjectHandle f = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&get, &f));
  args[0] = tvmffi_obj(s->module);
  args[1] = tvmffi_str(name);
  args[2] = tvmffi_bool(1);
  code = TVMFFIFunctionCall(f, args, 3, &result);
  tvmffi_release(f);
  *out = !code && result.type_index == kTVMFFIFunction ? result.v_obj : NULL;
  return code;
}

static int tvmffi_rpc_i_find_function(tvmffi_rpc *s, const char *name,
                                      TVMFFIObject **out) {
  TVMFFIByteArray key = tvmffi_byte_array(name);
  TVMFFIObjectHandle f = NULL;
  *out = NULL;
  if (s->module) TVMFFI_TRY(tvmffi_rpc_i_find_in_module(s, name, out));
  if (*out) return 0;
  if (s->options.find) return s->options.find(s->options.user, s, name, out);
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&key, &f));
  *out = (TVMFFIObject *)f;
  return 0;
}

/* -- system calls --------------------------------------------------------- */

/* Returns the n-th value of the packet; its type has been checked. */
static uint64_t tvmffi_rpc_i_u64(const tvmffi_rpc *s, int n) {
  return (uint64_t)s->values[n].any.v_int64;
}

static DLDevice tvmffi_rpc_i_dev(const tvmffi_rpc *s, int n) {
  return s->values[n].any.v_device;
}

/* Stores a handle as a result: an OpaquePtr of 8 bytes on every machine. */
static void tvmffi_rpc_i_set_handle(TVMFFIAny *out, uint64_t handle) {
  *out = tvmffi_int((int64_t)handle);
  out->type_index = kTVMFFIOpaquePtr;
}

static int tvmffi_rpc_i_get_global(tvmffi_rpc *s, TVMFFIAny *out) {
  TVMFFIObject *f = NULL;
  uint64_t handle = 0;
  if (strlen(s->values[0].bytes.data) == s->values[0].bytes.size)
    TVMFFI_TRY(tvmffi_rpc_i_find_function(s, s->values[0].bytes.data, &f));
  if (f && tvmffi_rpc_i_add_object(s, f, &handle)) {
    tvmffi_release(f);
    return -1;
  }
  tvmffi_rpc_i_set_handle(out, handle);
  return 0;
}

/* Drops the entry of the table that argument `i` names. */
static int tvmffi_rpc_i_free_entry(tvmffi_rpc *s, int i,
                                   tvmffi_rpc_i_kind kind) {
  tvmffi_rpc_i_entry *e = NULL;
  TVMFFI_TRY(tvmffi_rpc_i_find(s, tvmffi_rpc_i_u64(s, i), kind, &e));
  return tvmffi_rpc_i_drop(s, e);
}

static int tvmffi_rpc_i_free_handle(tvmffi_rpc *s, TVMFFIAny *out) {
  (void)out;
  return tvmffi_rpc_i_free_entry(s, 0, TVMFFI_RPC_I_OBJECT);
}

static int tvmffi_rpc_i_set_device(tvmffi_rpc *s, TVMFFIAny *out) {
  DLDevice device = tvmffi_rpc_i_dev(s, 0);
  const tvmffi_rpc_device *api = tvmffi_rpc_i_device(s, device);
  (void)out;
  if (!api) return -1;
  return api->set_device ? api->set_device(s->options.user, device) : 0;
}

static int tvmffi_rpc_i_get_attr(tvmffi_rpc *s, TVMFFIAny *out) {
  DLDevice device = tvmffi_rpc_i_dev(s, 0);
  int64_t kind = s->values[1].any.v_int64;
  const tvmffi_rpc_device *api = tvmffi_rpc_i_find_device(&s->options, device);
  if (kind == TVMFFI_RPC_ATTR_EXIST) *out = tvmffi_int(api != NULL);
  if (kind < 0 || kind > 1000)
    return TVMFFI_RAISE("ValueError", "an unknown attribute of a device");
  if (!api) return kind ? tvmffi_rpc_i_device(s, device) != NULL ? 0 : -1 : 0;
  if (!api->attribute) return 0;
  return api->attribute(s->options.user, device, (int)kind, out);
}

/* Allocates memory on a device and adds it to the table. */
static int tvmffi_rpc_i_allocate(tvmffi_rpc *s, DLDevice device, uint64_t size,
                                 uint64_t alignment, const char *scope,
                                 TVMFFIAny *out) {
  const tvmffi_rpc_device *api = tvmffi_rpc_i_device(s, device);
  uint64_t handle = 0;
  void *data = NULL;
  if (!api) return -1;
  if (!api->alloc)
    return TVMFFI_RAISE("ValueError", "the device allocates no memory");
  if (!alignment) alignment = 64;
  /* No object is larger, and a device may add to the size. */
  if (alignment & (alignment - 1) || alignment > 4096 || size > PTRDIFF_MAX)
    return TVMFFI_RAISE("ValueError", "%llu bytes aligned to %llu",
                        (unsigned long long)size,
                        (unsigned long long)alignment);
  TVMFFI_TRY(tvmffi_rpc_i_extend(s));
  TVMFFI_TRY(api->alloc(s->options.user, device, (size_t)size,
                        (size_t)alignment, scope, &data));
  TVMFFI_TRY(tvmffi_rpc_i_add(s, TVMFFI_RPC_I_MEMORY, data, (size_t)size,
                              device, &handle));
  tvmffi_rpc_i_set_handle(out, handle);
  return 0;
}

static int tvmffi_rpc_i_alloc_data(tvmffi_rpc *s, TVMFFIAny *out) {
  return tvmffi_rpc_i_allocate(s, tvmffi_rpc_i_dev(s, 0),
                               tvmffi_rpc_i_u64(s, 1), tvmffi_rpc_i_u64(s, 2),
                               NULL, out);
}

static int tvmffi_rpc_i_alloc_scoped(tvmffi_rpc *s, TVMFFIAny *out) {
  const tvmffi_rpc_i_value *scope = &s->values[1];
  const DLTensor *t = &s->values[0].tensor;
  size_t size = 0;
  TVMFFI_TRY(tvmffi_rpc_i_tensor_size(t, &size));
  return tvmffi_rpc_i_allocate(
      s, t->device, size, 0,
      scope->any.type_index == kTVMFFINone ? NULL : scope->bytes.data, out);
}

static int tvmffi_rpc_i_free_data(tvmffi_rpc *s, TVMFFIAny *out) {
  (void)out;
  return tvmffi_rpc_i_free_entry(s, 1, TVMFFI_RPC_I_MEMORY);
}

static int tvmffi_rpc_i_sync(tvmffi_rpc *s, TVMFFIAny *out) {
  DLDevice device = tvmffi_rpc_i_dev(s, 0);
  const tvmffi_rpc_device *api = tvmffi_rpc_i_device(s, device);
  void *stream = NULL;
  (void)out;
  if (!api) return -1;
  TVMFFI_TRY(tvmffi_rpc_i_bind_pointer(s, tvmffi_rpc_i_u64(s, 1), &stream));
  return api->sync ? api->sync(s->options.user, device, stream) : 0;
}

/* Copies on one device, or between it and the CPU. */
static int tvmffi_rpc_i_copy_bytes(tvmffi_rpc *s, const DLTensor *from,
                                   const DLTensor *to, size_t size,
                                   void *stream) {
  const tvmffi_rpc_device *api = tvmffi_rpc_i_device(s, from->device);
  const tvmffi_rpc_device *other = tvmffi_rpc_i_device(s, to->device);
  if (!api || !other) return -1;
  if (from->device.device_type == kDLCPU) api = other;
  if (api->copy)
    return api->copy(s->options.user, from->device, from->data,
                     (size_t)from->byte_offset, to->device, to->data,
                     (size_t)to->byte_offset, size, stream);
  if (size)
    memmove((char *)to->data + to->byte_offset,
            (const char *)from->data + from->byte_offset, size);
  return 0;
}

static int tvmffi_rpc_i_copy_among(tvmffi_rpc *s, TVMFFIAny *out) {
  DLTensor *from = &s->values[0].tensor, *to = &s->values[1].tensor;
  size_t size = 0, room = 0;
  void *stream = NULL;
  (void)out;
  TVMFFI_TRY(tvmffi_rpc_i_tensor_size(from, &size));
  TVMFFI_TRY(tvmffi_rpc_i_tensor_size(to, &room));
  if (size != room)
    return TVMFFI_RAISE("ValueError", "a copy of %llu bytes to %llu bytes",
                        (unsigned long long)size, (unsigned long long)room);
  if (from->device.device_type != kDLCPU && to->device.device_type != kDLCPU &&
      from->device.device_type != to->device.device_type)
    return TVMFFI_RAISE("ValueError", "a copy between two kinds of devices");
  TVMFFI_TRY(tvmffi_rpc_i_bind_tensor(s, tvmffi_rpc_i_u64(s, 0), from, size));
  TVMFFI_TRY(tvmffi_rpc_i_bind_tensor(s, tvmffi_rpc_i_u64(s, 1), to, size));
  TVMFFI_TRY(tvmffi_rpc_i_bind_pointer(s, tvmffi_rpc_i_u64(s, 2), &stream));
  return tvmffi_rpc_i_copy_bytes(s, from, to, size, stream);
}

/* Adds what a device's function returned as a stream. */
static int tvmffi_rpc_i_give_stream(tvmffi_rpc *s,
                                    int (*get)(void *user, DLDevice device,
                                               void **stream),
                                    TVMFFIAny *out) {
  void *stream = NULL;
  uint64_t handle = 0;
  if (get) TVMFFI_TRY(get(s->options.user, tvmffi_rpc_i_dev(s, 0), &stream));
  TVMFFI_TRY(tvmffi_rpc_i_add_pointer(s, stream, &handle));
  tvmffi_rpc_i_set_handle(out, handle);
  return 0;
}

static int tvmffi_rpc_i_create_stream(tvmffi_rpc *s, TVMFFIAny *out) {
  const tvmffi_rpc_device *api = tvmffi_rpc_i_device(s, tvmffi_rpc_i_dev(s, 0));
  return api ? tvmffi_rpc_i_give_stream(s, api->create_stream, out) : -1;
}

static int tvmffi_rpc_i_get_stream(tvmffi_rpc *s, TVMFFIAny *out) {
  const tvmffi_rpc_device *api = tvmffi_rpc_i_device(s, tvmffi_rpc_i_dev(s, 0));
  return api ? tvmffi_rpc_i_give_stream(s, api->get_stream, out) : -1;
}

static int tvmffi_rpc_i_set_stream(tvmffi_rpc *s, TVMFFIAny *out) {
  DLDevice device = tvmffi_rpc_i_dev(s, 0);
  const tvmffi_rpc_device *api = tvmffi_rpc_i_device(s, device);
  void *stream = NULL;
  (void)out;
  if (!api) return -1;
  TVMFFI_TRY(tvmffi_rpc_i_bind_pointer(s, tvmffi_rpc_i_u64(s, 1), &stream));
  return api->set_stream ? api->set_stream(s->options.user, device, stream) : 0;
}

static int tvmffi_rpc_i_free_stream(tvmffi_rpc *s, TVMFFIAny *out) {
  DLDevice device = tvmffi_rpc_i_dev(s, 0);
  const tvmffi_rpc_device *api = tvmffi_rpc_i_device(s, device);
  uint64_t handle = tvmffi_rpc_i_u64(s, 1);
  tvmffi_rpc_i_entry *e = NULL;
  void *stream = NULL;
  (void)out;
  if (!api) return -1;
  if (!handle) return 0;
  TVMFFI_TRY(tvmffi_rpc_i_find(s, handle, TVMFFI_RPC_I_POINTER, &e));
  stream = e->pointer;
  TVMFFI_TRY(tvmffi_rpc_i_drop(s, e));
  return api->free_stream ? api->free_stream(s->options.user, device, stream)
                          : 0;
}

/* The system calls from code 9 on, and the types of their arguments: a text,
   a text or None, pointer, device, int, dtype, tensor. */
static const struct {
  const char *types;
  int (*run)(tvmffi_rpc *s, TVMFFIAny *out);
} tvmffi_rpc_i_system_calls[TVMFFI_RPC_I_SYSTEM_CALLS] = {
    {"s", tvmffi_rpc_i_get_global},    {"p", tvmffi_rpc_i_free_handle},
    {"d", tvmffi_rpc_i_set_device},    {"di", tvmffi_rpc_i_get_attr},
    {"diit", tvmffi_rpc_i_alloc_data}, {"dp", tvmffi_rpc_i_free_data},
    {"dp", tvmffi_rpc_i_sync},         {"TTp", tvmffi_rpc_i_copy_among},
    {"To", tvmffi_rpc_i_alloc_scoped}, {"d", tvmffi_rpc_i_create_stream},
    {"dp", tvmffi_rpc_i_free_stream},  {"dp", tvmffi_rpc_i_set_stream},
    {"d", tvmffi_rpc_i_get_stream}};

static int tvmffi_rpc_i_is_type(int32_t type, char letter) {
  switch (letter) {
    case 's': return type == kTVMFFIRawStr;
    case 'o': return type == kTVMFFIRawStr || type == kTVMFFINone;
    case 'p': return type == kTVMFFIOpaquePtr || type == kTVMFFINone;
    case 'd': return type == kTVMFFIDevice;
    case 'i': return type == kTVMFFIInt;
    case 't': return type == kTVMFFIDataType;
    default: return type == kTVMFFIDLTensorPtr;
  }
}

static int tvmffi_rpc_i_check_types(tvmffi_rpc *s, const char *types) {
  int32_t i;
  if ((size_t)s->count != strlen(types))
    return TVMFFI_RAISE("TypeError", "system call %d has %d arguments, not %d",
                        (int)s->code, (int)s->count, (int)strlen(types));
  for (i = 0; i < s->count; ++i) {
    int32_t type = s->values[i].any.type_index;
    /* Small strings arrive as objects; a text is all the same to a call. */
    if (type == kTVMFFIStr) type = kTVMFFIRawStr;
    if (!tvmffi_rpc_i_is_type(type, types[i]))
      return TVMFFI_RAISE("TypeError", "argument %d of system call %d", (int)i,
                          (int)s->code);
  }
  return 0;
}

static int tvmffi_rpc_i_do_system_call(tvmffi_rpc *s) {
  int which = s->code - TVMFFI_RPC_I_GET_GLOBAL, code;
  TVMFFIAny result = tvmffi_none();
  TVMFFI_TRY(tvmffi_rpc_i_read_values(s));
  TVMFFI_TRY(
      tvmffi_rpc_i_check_types(s, tvmffi_rpc_i_system_calls[which].types));
  code = tvmffi_rpc_i_system_calls[which].run(s, &result);
  return code ? code : tvmffi_rpc_i_return_plain(s, &result);
}

/* -- copies --------------------------------------------------------------- */

/* Checks a copy whose tensor has been read up to the size: looks up its memory
   and finds or allocates the bytes on the host. */
static int tvmffi_rpc_i_prepare_copy(tvmffi_rpc *s, uint64_t handle) {
  tvmffi_rpc_i_copy *c = &s->copy;
  c->scratch = NULL;
  if (!s->initialized)
    return TVMFFI_RAISE("RPCError", "the session has not begun");
  if (TVMFFI_RPC_I_BIG_ENDIAN &&
      c->size % tvmffi_rpc_i_number_size(&c->tensor))
    return TVMFFI_RAISE("ValueError", "a copy of a part of an element");
  TVMFFI_TRY(tvmffi_rpc_i_bind_tensor(s, handle, &c->tensor, c->size));
  if (!(c->device = tvmffi_rpc_i_device(s, c->tensor.device))) return -1;
  c->host = s->head; /* for no bytes, any address */
  if (!c->size) return 0;
  c->host = (unsigned char *)c->tensor.data + c->tensor.byte_offset;
  if (!c->device->copy) return 0;
  if (c->size > s->options.max_packet)
    return TVMFFI_RAISE("ValueError", "a copy of %llu bytes is too long",
                        (unsigned long long)c->size);
  c->scratch = TVMFFI_RPC_MALLOC((size_t)c->size);
  c->host = (unsigned char *)c->scratch;
  return c->scratch ? 0 : tvmffi_rpc_i_no_memory();
}

static void tvmffi_rpc_i_end_copy(tvmffi_rpc *s) {
  if (s->copy.scratch) TVMFFI_RPC_FREE(s->copy.scratch);
  s->copy.scratch = NULL;
}

/* Describes the bytes on the host as a tensor. */
static DLTensor tvmffi_rpc_i_host_tensor(const tvmffi_rpc_i_copy *c) {
  DLTensor t;
  memset(&t, 0, sizeof(t));
  t.device.device_type = kDLCPU;
  t.data = c->host;
  return t;
}

/* Reverses a copy's elements on a big-endian machine. */
static void tvmffi_rpc_i_swap_copy(const tvmffi_rpc_i_copy *c, void *bytes) {
  size_t size = tvmffi_rpc_i_number_size(&c->tensor);
  tvmffi_rpc_i_swap(bytes, size, (size_t)c->size / size);
}

/* Sends the bytes on the host. */
static int tvmffi_rpc_i_send_copy(tvmffi_rpc *s) {
  size_t size = (size_t)s->copy.size;
  TVMFFI_TRY(tvmffi_rpc_i_begin(s, TVMFFI_RPC_I_COPY_ACK));
  if (size > 2048 && !TVMFFI_RPC_I_BIG_ENDIAN)
    return tvmffi_rpc_i_send(s, s->copy.host, size);
  TVMFFI_TRY(tvmffi_rpc_i_put(s, s->copy.host, size));
  tvmffi_rpc_i_swap_copy(&s->copy, s->out.data + s->out.size - size);
  return tvmffi_rpc_i_send(s, NULL, 0);
}

static int tvmffi_rpc_i_do_copy_from(tvmffi_rpc *s) {
  tvmffi_rpc_i_copy *c = &s->copy;
  DLTensor host;
  uint64_t handle = 0;
  TVMFFI_TRY(tvmffi_rpc_i_read_tensor_head(s, &c->tensor, &handle));
  TVMFFI_TRY(tvmffi_rpc_i_read_shape(s, &c->tensor));
  TVMFFI_TRY(tvmffi_rpc_i_read(s, &c->size, 8));
  if (s->at != s->end) return tvmffi_rpc_i_malformed(s, "it is too long");
  TVMFFI_TRY(tvmffi_rpc_i_prepare_copy(s, handle));
  host = tvmffi_rpc_i_host_tensor(c);
  if (c->scratch)
    TVMFFI_TRY(
        tvmffi_rpc_i_copy_bytes(s, &c->tensor, &host, (size_t)c->size, NULL));
  return tvmffi_rpc_i_send_copy(s);
}

/* All bytes of a copy to us have arrived. */
static int tvmffi_rpc_i_do_copy_to(tvmffi_rpc *s) {
  tvmffi_rpc_i_copy *c = &s->copy;
  DLTensor host = tvmffi_rpc_i_host_tensor(c);
  TVMFFIAny none = tvmffi_none();
  tvmffi_rpc_i_swap_copy(c, c->host);
  if (c->scratch)
    TVMFFI_TRY(
        tvmffi_rpc_i_copy_bytes(s, &host, &c->tensor, (size_t)c->size, NULL));
  return tvmffi_rpc_i_return_plain(s, &none);
}

/* -- the input ------------------------------------------------------------ */

static void tvmffi_rpc_i_expect(tvmffi_rpc *s, tvmffi_rpc_i_part part,
                                void *want, size_t size) {
  s->part = part;
  s->want = (unsigned char *)want;
  s->left = size;
}

/* Releases what the last packet used, and waits for the next one. */
static void tvmffi_rpc_i_next_packet(tvmffi_rpc *s) {
  tvmffi_rpc_i_unbind(s);
  tvmffi_rpc_i_end_copy(s);
  tvmffi_rpc_i_shrink(&s->body);
  s->terminate = NULL;
  s->count = 0;
  if (s->part != TVMFFI_RPC_I_ENDED)
    tvmffi_rpc_i_expect(s, TVMFFI_RPC_I_IN_LENGTH, s->head, 8);
}

/* Skips the rest of a packet that was refused, and then answers its error. The
   rest is read over the last answer, for which there is memory. */
static int tvmffi_rpc_i_skip(tvmffi_rpc *s) {
  size_t size = s->out.capacity;
  if (s->packet < size) size = (size_t)s->packet;
  if (!size) {
    (void)tvmffi_error_raise(s->refused);
    tvmffi_keep(&s->refused, NULL);
    return -1;
  }
  s->packet -= size;
  tvmffi_rpc_i_expect(s, TVMFFI_RPC_I_IN_SKIP, s->out.data, size);
  return 0;
}

/* Refuses the packet with the error that is raised. */
static int tvmffi_rpc_i_refuse(tvmffi_rpc *s) {
  s->refused = tvmffi_rpc_i_take_error();
  return tvmffi_rpc_i_skip(s);
}

/* Expects `size` more bytes of the packet in the body. */
static int tvmffi_rpc_i_expect_body(tvmffi_rpc *s, tvmffi_rpc_i_part part,
                                    uint64_t size) {
  size_t used = s->body.size;
  if (size > s->packet) return tvmffi_rpc_i_malformed(s, "it is too short");
  if (size > s->options.max_packet) {
    (void)TVMFFI_RAISE("RPCError",
                       "a packet of %llu bytes is longer than this server "
                       "allows: %llu bytes, its max_packet",
                       (unsigned long long)size,
                       (unsigned long long)s->options.max_packet);
    return tvmffi_rpc_i_refuse(s);
  }
  if (tvmffi_rpc_i_reserve(&s->body, (size_t)size + 1))
    return tvmffi_rpc_i_refuse(s);
  s->packet -= size;
  s->body.size += (size_t)size;
  s->at = s->body.data;
  s->end = s->at + s->body.size;
  tvmffi_rpc_i_expect(s, part, s->body.data + used, (size_t)size);
  return 0;
}

/* Ends the handling of a packet: `code` is 0 if the answer is sent, 1 if it is
   to come, or -1 with an error for the client. */
static int tvmffi_rpc_i_settle(tvmffi_rpc *s, int code) {
  if (code == TVMFFI_RPC_LATER && s->part != TVMFFI_RPC_I_ENDED) {
    s->part = TVMFFI_RPC_I_WAITING;
    s->left = 0;
    return 0;
  }
  if (code && s->part != TVMFFI_RPC_I_ENDED)
    code = tvmffi_rpc_i_answer_error(s);
  tvmffi_rpc_i_next_packet(s);
  return code;
}

static int tvmffi_rpc_i_handle_body(tvmffi_rpc *s) {
  if (s->code == TVMFFI_RPC_I_SHUTDOWN) return tvmffi_rpc_i_end(s, 1);
  if (s->code == TVMFFI_RPC_I_INIT) return tvmffi_rpc_i_do_init(s);
  if (!s->initialized)
    return TVMFFI_RAISE("RPCError", "the session has not begun");
  if (s->code == TVMFFI_RPC_I_CALL) return tvmffi_rpc_i_do_call(s);
  if (s->code == TVMFFI_RPC_I_COPY_FROM) return tvmffi_rpc_i_do_copy_from(s);
  return tvmffi_rpc_i_do_system_call(s);
}

static int tvmffi_rpc_i_is_known_code(int32_t code) {
  return code == TVMFFI_RPC_I_SHUTDOWN || code == TVMFFI_RPC_I_INIT ||
         code == TVMFFI_RPC_I_CALL || code == TVMFFI_RPC_I_COPY_FROM ||
         code == TVMFFI_RPC_I_COPY_TO ||
         (code >= TVMFFI_RPC_I_GET_GLOBAL &&
          code < TVMFFI_RPC_I_GET_GLOBAL + TVMFFI_RPC_I_SYSTEM_CALLS);
}

static int tvmffi_rpc_i_got_length(tvmffi_rpc *s) {
  memcpy(&s->packet, s->head, 8);
  tvmffi_rpc_i_swap(&s->packet, 8, 1);
  if (!s->packet) {
    tvmffi_rpc_i_next_packet(s); /* an empty packet means nothing */
    return 0;
  }
  if (s->packet < 4) return tvmffi_rpc_i_malformed(s, "it has no code");
  if (s->packet > TVMFFI_RPC_I_LONGEST)
    return tvmffi_rpc_i_malformed(s, "its length");
  s->packet -= 4;
  tvmffi_rpc_i_expect(s, TVMFFI_RPC_I_IN_CODE, s->head, 4);
  return 0;
}

static int tvmffi_rpc_i_got_code(tvmffi_rpc *s) {
  memcpy(&s->code, s->head, 4);
  tvmffi_rpc_i_swap(&s->code, 4, 1);
  if (!tvmffi_rpc_i_is_known_code(s->code))
    return tvmffi_rpc_i_malformed(s, "an unknown code");
  if (s->code == TVMFFI_RPC_I_COPY_TO)
    return tvmffi_rpc_i_expect_body(s, TVMFFI_RPC_I_IN_TENSOR, 24);
  return tvmffi_rpc_i_expect_body(s, TVMFFI_RPC_I_IN_BODY, s->packet);
}

/* Reads the number of dimensions, and expects the rest of the tensor. */
static int tvmffi_rpc_i_got_tensor(tvmffi_rpc *s) {
  uint64_t handle = 0;
  TVMFFI_TRY(tvmffi_rpc_i_read_tensor_head(s, &s->copy.tensor, &handle));
  return tvmffi_rpc_i_expect_body(s, TVMFFI_RPC_I_IN_SHAPE,
                                  (uint64_t)s->copy.tensor.ndim * 8 + 16);
}

/* Reads the rest of a copy's tensor. Its data goes where it belongs. */
static int tvmffi_rpc_i_got_shape(tvmffi_rpc *s) {
  uint64_t handle = 0;
  memcpy(&handle, s->body.data, 8);
  tvmffi_rpc_i_swap(&handle, 8, 1);
  s->at = s->body.data + 24;
  TVMFFI_TRY(tvmffi_rpc_i_read_shape(s, &s->copy.tensor));
  TVMFFI_TRY(tvmffi_rpc_i_read(s, &s->copy.size, 8));
  if (s->copy.size != s->packet)
    return tvmffi_rpc_i_malformed(s, "a copy's size is not the packet's");
  if (tvmffi_rpc_i_prepare_copy(s, handle)) return tvmffi_rpc_i_refuse(s);
  tvmffi_rpc_i_expect(s, TVMFFI_RPC_I_IN_DATA, s->copy.host,
                      (size_t)s->copy.size);
  return 0;
}

/* -- the handshake -------------------------------------------------------- */

/* The longest limit of a session's time, in milliseconds: 34,000 years. */
#define TVMFFI_RPC_I_LONGEST_MS ((uint64_t)1 << 50)

/* Reads decimal digits with at most one point, and returns what follows. Stores
   them as n times a power of 10; digits past the 17th do not count. *exponent
   is added to. */
static const char *tvmffi_rpc_i_mantissa(const char *text, uint64_t *n,
                                         int64_t *exponent) {
  int is_fraction = 0;
  for (;; ++text) {
    if (*text == '.' && !is_fraction) {
      is_fraction = 1;
    } else if (*text < '0' || *text > '9') {
      return text;
    } else if (*n < 10000000000000000u) {
      *n = *n * 10 + (uint64_t)(*text - '0');
      *exponent -= is_fraction;
    } else {
      *exponent += !is_fraction;
    }
  }
}

/* Reads what follows the e of a number. Returns the end, or NULL. */
static const char *tvmffi_rpc_i_exponent(const char *text, int64_t *exponent) {
  int64_t sign = *text == '-' ? -1 : 1, n = 0;
  if (*text == '-' || *text == '+') ++text;
  if (*text < '0' || *text > '9') return NULL;
  for (; *text >= '0' && *text <= '9'; ++text)
    if (n < 100000) n = n * 10 + (*text - '0');
  *exponent += sign * n;
  return text;
}

/* Reads a number of seconds as Python writes it, "1.5" or "1e-05". Stores
   milliseconds, at least 1, as 0 would be no limit. Returns 0 for a text that
   is not a number. */
static int tvmffi_rpc_i_milliseconds(const char *text, int64_t *ms) {
  int is_negative = *text == '-';
  const char *end;
  uint64_t n = 0;
  int64_t exponent = 3;
  if (*text == '-' || *text == '+') ++text;
  end = tvmffi_rpc_i_mantissa(text, &n, &exponent);
  if (end == text || (end == text + 1 && *text == '.')) return 0;
  if (*end == 'e' || *end == 'E')
    end = tvmffi_rpc_i_exponent(end + 1, &exponent);
  if (!end || *end) return 0;
  for (; exponent > 0 && n && n < TVMFFI_RPC_I_LONGEST_MS; --exponent) n *= 10;
  for (; exponent < 0 && n; ++exponent) n /= 10;
  if (n > TVMFFI_RPC_I_LONGEST_MS) n = TVMFFI_RPC_I_LONGEST_MS;
  *ms = is_negative || !n ? 1 : (int64_t)n;
  return 1;
}

/* Ends a text at its first space; returns what follows, or NULL. */
static char *tvmffi_rpc_i_split(char *text) {
  char *space = strchr(text, ' ');
  if (!space) return NULL;
  *space = 0;
  return space + 1;
}

/* Returns what follows a prefix, or NULL for a text without it. */
static const char *tvmffi_rpc_i_after(const char *text, const char *prefix) {
  while (*prefix)
    if (*text++ != *prefix++) return NULL;
  return text;
}

static int tvmffi_rpc_i_read_options(tvmffi_rpc *s, char *text) {
  while (text) {
    char *rest = tvmffi_rpc_i_split(text);
    const char *limit = tvmffi_rpc_i_after(text, "-timeout=");
    if (limit && !tvmffi_rpc_i_milliseconds(limit, &s->timeout_ms))
      return TVMFFI_RAISE("RPCError", "`%.100s` is no number of seconds", text);
    text = rest;
  }
  return 0;
}

static int tvmffi_rpc_i_got_magic(tvmffi_rpc *s) {
  int32_t head[2];
  memcpy(head, s->head, sizeof(head));
  tvmffi_rpc_i_swap(head, 4, 2);
  if (head[0] != TVMFFI_RPC_MAGIC)
    return TVMFFI_RAISE("RPCError", "the peer is no RPC client");
  if (head[1] < 0 || head[1] > TVMFFI_RPC_KEY_SIZE)
    return TVMFFI_RAISE("RPCError", "a key of %d bytes", (int)head[1]);
  TVMFFI_TRY(tvmffi_rpc_i_reserve(&s->body, (size_t)head[1] + 1));
  s->body.data[head[1]] = 0;
  tvmffi_rpc_i_expect(s, TVMFFI_RPC_I_IN_KEY, s->body.data, (size_t)head[1]);
  return 0;
}

static int tvmffi_rpc_i_refuse_key(tvmffi_rpc *s, const char *text,
                                   const char *hint) {
  int32_t code = TVMFFI_RPC_WRONG_KEY;
  tvmffi_rpc_i_swap(&code, sizeof(code), 1);
  TVMFFI_TRY(tvmffi_rpc_i_write(s, &code, sizeof(code)));
  return TVMFFI_RAISE("RPCError", "a wrong key, `%.100s`%s", text, hint);
}

static int tvmffi_rpc_i_got_key(tvmffi_rpc *s) {
  char *text = (char *)s->body.data, *rest = tvmffi_rpc_i_split(text);
  const char *key = s->options.key ? s->options.key : "";
  const char *match = s->options.match_key ? s->options.match_key : key;
  const char *sent = tvmffi_rpc_i_after(text, "client:");
  if (!sent || strcmp(sent, match))
    return tvmffi_rpc_i_refuse_key(
        s, text,
        sent && !strcmp(sent, key) ? ": ask the tracker for this server" : "");
  TVMFFI_TRY(tvmffi_rpc_i_read_options(s, rest));
  s->out.size = 0;
  TVMFFI_TRY(tvmffi_rpc_i_put_i32(s, TVMFFI_RPC_MAGIC));
  TVMFFI_TRY(tvmffi_rpc_i_put_i32(s, (int32_t)strlen(key) + 7));
  TVMFFI_TRY(tvmffi_rpc_i_put(s, "server:", 7));
  TVMFFI_TRY(tvmffi_rpc_i_put(s, key, strlen(key)));
  TVMFFI_TRY(tvmffi_rpc_i_write(s, s->out.data, s->out.size));
  tvmffi_rpc_i_next_packet(s);
  return 0;
}

/* -- the interface -------------------------------------------------------- */

/* Handles a part of the input of which all bytes have arrived. */
static int tvmffi_rpc_i_advance(tvmffi_rpc *s) {
  int code;
  switch (s->part) {
    case TVMFFI_RPC_I_IN_MAGIC:
      code = tvmffi_rpc_i_got_magic(s);
      return code ? tvmffi_rpc_i_end(s, code) : 0;
    case TVMFFI_RPC_I_IN_KEY:
      code = tvmffi_rpc_i_got_key(s);
      return code ? tvmffi_rpc_i_end(s, code) : 0;
    case TVMFFI_RPC_I_IN_LENGTH: code = tvmffi_rpc_i_got_length(s); break;
    case TVMFFI_RPC_I_IN_CODE: code = tvmffi_rpc_i_got_code(s); break;
    case TVMFFI_RPC_I_IN_TENSOR: code = tvmffi_rpc_i_got_tensor(s); break;
    case TVMFFI_RPC_I_IN_SHAPE: code = tvmffi_rpc_i_got_shape(s); break;
    case TVMFFI_RPC_I_IN_SKIP: code = tvmffi_rpc_i_skip(s); break;
    case TVMFFI_RPC_I_IN_DATA:
      return tvmffi_rpc_i_settle(s, tvmffi_rpc_i_do_copy_to(s));
    default: return tvmffi_rpc_i_settle(s, tvmffi_rpc_i_handle_body(s));
  }
  return code ? tvmffi_rpc_i_settle(s, code) : 0;
}

int tvmffi_rpc_filled(tvmffi_rpc *s, size_t size) {
  int code = 0;
  if (size > s->left)
    return TVMFFI_RAISE("ValueError", "more bytes than were asked for");
  s->want += size;
  s->left -= size;
  while (!code && !s->left && s->part < TVMFFI_RPC_I_WAITING)
    code = tvmffi_rpc_i_advance(s);
  return code;
}

void *tvmffi_rpc_buffer(tvmffi_rpc *s, size_t *size) {
  *size = s->left;
  return s->left ? s->want : NULL;
}

int tvmffi_rpc_feed(tvmffi_rpc *s, const void *bytes, size_t size) {
  const unsigned char *at = (const unsigned char *)bytes;
  int code = 0;
  while (size && !code) {
    size_t n = size < s->left ? size : s->left;
    if (s->part == TVMFFI_RPC_I_ENDED) return 1;
    if (!s->left) { /* the session waits, or a hook has called this function */
      tvmffi_rpc_i_end(s, 0);
      return TVMFFI_RAISE("RPCError", "bytes came before the last answer");
    }
    memcpy(s->want, at, n);
    at += n;
    size -= n;
    code = tvmffi_rpc_filled(s, n);
  }
  return code;
}

/* Answers a packet whose work ended later. */
static int tvmffi_rpc_i_answer_later(tvmffi_rpc *s, TVMFFIAny *result) {
  TVMFFIAny none = tvmffi_none();
  if (s->code == TVMFFI_RPC_I_CALL)
    return tvmffi_rpc_i_return(s, result ? result : &none);
  if (s->code == TVMFFI_RPC_I_COPY_FROM) return tvmffi_rpc_i_send_copy(s);
  return tvmffi_rpc_i_return_plain(s, &none);
}

int tvmffi_rpc_finish(tvmffi_rpc *s, int code, TVMFFIAny *result) {
  if (s->part != TVMFFI_RPC_I_WAITING) {
    if (result) tvmffi_any_release(result);
    if (code) tvmffi_error_clear();
    if (s->part == TVMFFI_RPC_I_ENDED) return 1;
    return TVMFFI_RAISE("ValueError", "the session waits for no result");
  }
  s->part = TVMFFI_RPC_I_IN_BODY;
  if (!code) code = tvmffi_rpc_i_answer_later(s, result);
  if (result) tvmffi_any_release(result);
  return tvmffi_rpc_i_settle(s, code ? -1 : 0);
}

int tvmffi_rpc_abort(tvmffi_rpc *s, const char *message) {
  int code;
  if (s->part == TVMFFI_RPC_I_ENDED) return 0;
  code = tvmffi_rpc_i_send_text(s, message);
  return tvmffi_rpc_i_end(s, code);
}

int tvmffi_rpc_is_idle(const tvmffi_rpc *s) {
  return s->part == TVMFFI_RPC_I_IN_LENGTH && s->left == 8;
}

int tvmffi_rpc_is_ready(const tvmffi_rpc *s) {
  return s->part >= TVMFFI_RPC_I_IN_LENGTH && s->part < TVMFFI_RPC_I_ENDED;
}

int64_t tvmffi_rpc_timeout_ms(const tvmffi_rpc *s) { return s->timeout_ms; }

size_t tvmffi_rpc_handle_count(const tvmffi_rpc *s) { return s->live; }

int tvmffi_rpc_new(const tvmffi_rpc_options *options, tvmffi_rpc **out) {
  tvmffi_rpc *s;
  *out = NULL;
  if (!options || !options->write)
    return TVMFFI_RAISE("ValueError", "a session without a write function");
  s = (tvmffi_rpc *)TVMFFI_RPC_MALLOC(sizeof(*s));
  if (!s) return tvmffi_rpc_i_no_memory();
  memset(s, 0, sizeof(*s));
  s->options = *options;
  if (!s->options.max_packet) s->options.max_packet = TVMFFI_RPC_MAX_PACKET;
  /* A larger sum of a body's parts could pass the largest size. */
  if (s->options.max_packet > (size_t)-1 / 2)
    s->options.max_packet = (size_t)-1 / 2;
  if (options->no_handshake)
    tvmffi_rpc_i_next_packet(s);
  else
    tvmffi_rpc_i_expect(s, TVMFFI_RPC_I_IN_MAGIC, s->head, 8);
  if (tvmffi_rpc_i_reserve(&s->out, TVMFFI_RPC_I_BUFFER)) {
    tvmffi_rpc_free(s);
    return -1;
  }
  *out = s;
  return 0;
}

/* Frees a block that may be NULL. */
static void tvmffi_rpc_i_free(void *block) {
  if (block) TVMFFI_RPC_FREE(block);
}

void tvmffi_rpc_free(tvmffi_rpc *s) {
  size_t i;
  if (!s) return;
  s->part = TVMFFI_RPC_I_ENDED;
  tvmffi_rpc_i_next_packet(s);
  for (i = s->entry_count; i--;)
    if (s->entries[i].kind && tvmffi_rpc_i_drop(s, &s->entries[i]))
      tvmffi_error_clear();
  tvmffi_release(s->module);
  tvmffi_release(s->refused);
  tvmffi_rpc_i_free(s->body.data);
  tvmffi_rpc_i_free(s->out.data);
  tvmffi_rpc_i_free(s->values);
  tvmffi_rpc_i_free(s->args);
  tvmffi_rpc_i_free(s->entries);
  TVMFFI_RPC_FREE(s);
}

/* -- global functions ----------------------------------------------------- */

/* Registers a built-in function of the runtime under a second name, if it is
   there. */
static int tvmffi_rpc_i_alias(const char *name, const char *builtin) {
  TVMFFIByteArray from = tvmffi_byte_array(builtin);
  TVMFFIByteArray to = tvmffi_byte_array(name);
  TVMFFIObjectHandle f = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&from, &f));
  if (!f) return 0;
  code = TVMFFIFunctionSetGlobal(&to, f, 1);
  tvmffi_release(f);
  return code;
}

static int tvmffi_rpc_i_max_packet(void *self, const TVMFFIAny *args, int32_t n,
                                   TVMFFIAny *result) {
  (void)args, (void)n;
  *result =
      tvmffi_int((int64_t)((const tvmffi_rpc_options *)self)->transfer_size);
  return 0;
}

/* Registers a function with a borrowed state. */
static int tvmffi_rpc_i_set_global(const char *name, const void *state,
                                   TVMFFISafeCallType call) {
  TVMFFIByteArray key = tvmffi_byte_array(name);
  TVMFFIObjectHandle f = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionCreate((void *)(uintptr_t)state, call, NULL, &f));
  code = TVMFFIFunctionSetGlobal(&key, f, 1);
  tvmffi_release(f);
  return code;
}

#if defined(TVMFFI_RPC_CLOCK_NS)

/* The arguments of runtime.RPCTimeEvaluator. */
typedef struct {
  const tvmffi_rpc_options *options;
  TVMFFIObject *function, *prepare; /* owned; prepare may be NULL */
  DLDevice device;
  int64_t number, repeat, min_repeat_ms, limit_zero, cooldown_ms, cooldown_each;
  size_t flush; /* bytes to copy before each measurement */
  char *flush_from, *flush_to;
} tvmffi_rpc_i_timer;

static void tvmffi_rpc_i_timer_free(void *self) {
  tvmffi_rpc_i_timer *t = (tvmffi_rpc_i_timer *)self;
  tvmffi_release(t->function);
  tvmffi_release(t->prepare);
  tvmffi_rpc_i_free(t->flush_from);
  tvmffi_rpc_i_free(t->flush_to);
  TVMFFI_RPC_FREE(t);
}

static int tvmffi_rpc_i_timer_call(TVMFFIObject *f, const TVMFFIAny *args,
                                   int32_t n) {
  TVMFFIAny result = tvmffi_none();
  TVMFFI_TRY(TVMFFIFunctionCall(f, (TVMFFIAny *)(uintptr_t)args, n, &result));
  tvmffi_any_release(&result);
  return 0;
}

static int tvmffi_rpc_i_timer_sync(const tvmffi_rpc_i_timer *t) {
  const tvmffi_rpc_device *api =
      tvmffi_rpc_i_find_device(t->options, t->device);
  int code = 0;
  if (api && api->sync) code = api->sync(t->options->user, t->device, NULL);
  if (code != TVMFFI_RPC_LATER) return code;
  return TVMFFI_RAISE("RuntimeError", "the device cannot be timed by waiting");
}

/* Measures `number` calls in nanoseconds. */
static int tvmffi_rpc_i_timer_run(const tvmffi_rpc_i_timer *t,
                                  const TVMFFIAny *args, int32_t n,
                                  uint64_t *ns) {
  int64_t i;
  uint64_t begin;
  if (t->flush) memcpy(t->flush_to, t->flush_from, t->flush);
  TVMFFI_TRY(tvmffi_rpc_i_timer_sync(t));
  begin = TVMFFI_RPC_CLOCK_NS();
  for (i = 0; i < t->number; ++i)
    TVMFFI_TRY(tvmffi_rpc_i_timer_call(t->function, args, n));
  TVMFFI_TRY(tvmffi_rpc_i_timer_sync(t));
  *ns = TVMFFI_RPC_CLOCK_NS() - begin;
  return 0;
}

/* Raises the number of calls, so that they take the least duration: to what
   the last run predicts, or by the golden ratio. */
static void tvmffi_rpc_i_timer_more(tvmffi_rpc_i_timer *t, uint64_t ns) {
  double now = (double)t->number;
  double fit = (double)t->min_repeat_ms * 1e6 / ((double)ns / now) + 1;
  double more = fit > now * 1.618 ? fit : now * 1.618;
  t->number = more < 1e15 ? (int64_t)more : (int64_t)1 << 50;
}

/* One repeat: runs until it takes min_repeat_ms. Stores seconds per call. */
static int tvmffi_rpc_i_timer_repeat(tvmffi_rpc_i_timer *t,
                                     const TVMFFIAny *args, int32_t n,
                                     double *seconds) {
  int64_t zeros = 0;
  uint64_t ns = 0;
  if (t->prepare) TVMFFI_TRY(tvmffi_rpc_i_timer_call(t->prepare, args, n));
  do {
    if (ns) tvmffi_rpc_i_timer_more(t, ns);
    TVMFFI_TRY(tvmffi_rpc_i_timer_run(t, args, n, &ns));
    if (!ns) ++zeros;
  } while (ns < (uint64_t)t->min_repeat_ms * 1000000 && zeros < t->limit_zero);
  *seconds = (double)ns / 1e9 / (double)t->number;
  return 0;
}

static int tvmffi_rpc_i_timer_all(tvmffi_rpc_i_timer *t, const TVMFFIAny *args,
                                  int32_t n, double *seconds) {
  int64_t i;
  TVMFFI_TRY(tvmffi_rpc_i_timer_call(t->function, args, n)); /* warm-up */
  for (i = 0; i < t->repeat; ++i) {
    TVMFFI_TRY(tvmffi_rpc_i_timer_repeat(t, args, n, &seconds[i]));
#if defined(TVMFFI_RPC_SLEEP_MS)
    if (t->cooldown_ms > 0 && i % t->cooldown_each == 0)
      TVMFFI_RPC_SLEEP_MS(t->cooldown_ms);
#endif
  }
  return 0;
}

/* Runs the measurements. The result is bytes: `repeat` doubles of seconds. */
static int tvmffi_rpc_i_timer_evaluate(void *self, const TVMFFIAny *args,
                                       int32_t n, TVMFFIAny *result) {
  tvmffi_rpc_i_timer *t = (tvmffi_rpc_i_timer *)self;
  TVMFFIByteArray bytes;
  double *seconds;
  int code;
  bytes.size = (size_t)t->repeat * sizeof(double);
  seconds = (double *)TVMFFI_RPC_MALLOC(bytes.size + 1);
  if (!seconds) return tvmffi_rpc_i_no_memory();
  bytes.data = (const char *)seconds;
  code = tvmffi_rpc_i_timer_all(t, args, n, seconds);
  tvmffi_rpc_i_swap(seconds, sizeof(double), (size_t)t->repeat);
  if (!code) code = TVMFFIBytesFromByteArray(&bytes, result);
  TVMFFI_RPC_FREE(seconds);
  return code;
}

static int tvmffi_rpc_i_wrong(const char *name, int64_t value,
                              const char *wanted) {
  return TVMFFI_RAISE("ValueError", "%s is %lld, but must be %s", name,
                      (long long)value, wanted);
}

static int tvmffi_rpc_i_timer_check(const tvmffi_rpc_i_timer *t,
                                    int64_t flush) {
  if (t->number < 1)
    return tvmffi_rpc_i_wrong("number", t->number, "at least 1");
  if (t->repeat < 0 || t->repeat > 1 << 20)
    return tvmffi_rpc_i_wrong("repeat", t->repeat, "from 0 to 1048576");
  if (t->min_repeat_ms < 0 || t->min_repeat_ms > (int64_t)1 << 32)
    return tvmffi_rpc_i_wrong("min_repeat_ms", t->min_repeat_ms,
                              "from 0 to 4294967296");
  if (t->cooldown_ms > 0 && t->cooldown_each < 1)
    return tvmffi_rpc_i_wrong("repeats_to_cooldown", t->cooldown_each,
                              "at least 1");
  if (flush > 0 && t->device.device_type != kDLCPU)
    return TVMFFI_RAISE("ValueError", "cache_flush_bytes is for the CPU");
  return 0;
}

/* Allocates the two arrays whose copy evicts the caches. */
static int tvmffi_rpc_i_timer_flush(tvmffi_rpc_i_timer *t, int64_t flush) {
  if (flush <= 0) return 0;
  t->flush = (size_t)flush;
  t->flush_from = (char *)TVMFFI_RPC_MALLOC(t->flush);
  t->flush_to = (char *)TVMFFI_RPC_MALLOC(t->flush);
  if (!t->flush_from || !t->flush_to) return tvmffi_rpc_i_no_memory();
  memset(t->flush_from, 0, t->flush);
  return 0;
}

/* Finds the functions to be timed and called before; both are owned. */
static int tvmffi_rpc_i_timer_find(tvmffi_rpc_i_timer *t, TVMFFIObject *module,
                                   const char *name, const char *prepare) {
  TVMFFIByteArray key = tvmffi_byte_array(name);
  tvmffi_rpc in;
  TVMFFIObjectHandle f = NULL;
  memset(&in, 0, sizeof(in));
  in.module = module;
  if (module)
    TVMFFI_TRY(tvmffi_rpc_i_find_in_module(&in, name, &t->function));
  else
    TVMFFI_TRY(TVMFFIFunctionGetGlobal(&key, &f));
  if (f) t->function = (TVMFFIObject *)f;
  if (!t->function)
    return TVMFFI_RAISE("ValueError", "there is no function `%.200s`", name);
  if (!*prepare) return 0;
  key = tvmffi_byte_array(prepare);
  f = NULL;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&key, &f));
  t->prepare = (TVMFFIObject *)f;
  if (f) return 0;
  return TVMFFI_RAISE("ValueError", "there is no function `%.200s`", prepare);
}

TVMFFI_CLOSURE(tvmffi_rpc_i_new_timer, tvmffi_rpc_options, func,
               (optional(module), module), (str, name), (int32, device_type),
               (int32, device_id), (int64, number), (int64, repeat),
               (int64, min_repeat_ms), (int64, limit_zero),
               (int64, cooldown_ms), (int64, cooldown_each), (int64, flush),
               (str, prepare)) {
  tvmffi_rpc_i_timer *t;
  TVMFFIObjectHandle f = NULL;
  t = (tvmffi_rpc_i_timer *)TVMFFI_RPC_MALLOC(sizeof(*t));
  if (!t) return tvmffi_rpc_i_no_memory();
  memset(t, 0, sizeof(*t));
  t->options = self;
  t->device.device_type = (DLDeviceType)device_type;
  t->device.device_id = device_id;
  t->number = number;
  t->repeat = repeat;
  t->min_repeat_ms = min_repeat_ms;
  t->limit_zero = limit_zero;
  t->cooldown_ms = cooldown_ms;
  t->cooldown_each = cooldown_each;
  if (tvmffi_rpc_i_timer_check(t, flush) ||
      tvmffi_rpc_i_timer_flush(t, flush) ||
      tvmffi_rpc_i_timer_find(t, module, name.data, prepare.data) ||
      TVMFFIFunctionCreate(t, tvmffi_rpc_i_timer_evaluate,
                           tvmffi_rpc_i_timer_free, &f)) {
    tvmffi_rpc_i_timer_free(t);
    return -1;
  }
  TVMFFI_RETURN(tvmffi_scope_attach(f));
}

static int tvmffi_rpc_i_register_timer(const tvmffi_rpc_options *options) {
  tvmffi_scope scope;
  TVMFFIObject *f;
  TVMFFI_HERE = tvmffi_scope_open(&scope);
  int code =
      TVMFFI_CLOSURE_NEW(tvmffi_rpc_i_new_timer,
                         (tvmffi_rpc_options *)(uintptr_t)options, NULL, &f);
  if (!code) code = tvmffi_override_object("runtime.RPCTimeEvaluator", f);
  tvmffi_scope_close(&scope);
  return code;
}

#endif

int tvmffi_rpc_register(const tvmffi_rpc_options *options) {
  TVMFFI_TRY(tvmffi_rpc_i_alias("tvm.rpc.server.ModuleGetFunction",
                                "ffi.ModuleGetFunction"));
  TVMFFI_TRY(tvmffi_rpc_i_alias("tvm.rpc.server.ImportModule",
                                "ffi.ModuleImportModule"));
  if (options->transfer_size)
    TVMFFI_TRY(tvmffi_rpc_i_set_global("tvm.rpc.server.GetCRTMaxPacketSize",
                                       options, tvmffi_rpc_i_max_packet));
#if defined(TVMFFI_RPC_CLOCK_NS)
  return tvmffi_rpc_i_register_timer(options);
#else
  return 0;
#endif
}

#endif /* TVMFFI_RPC_IMPLEMENTATION */
