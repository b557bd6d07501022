/* Round trips and copies of TVM's RPC, timed by a client that does nothing
   else, and the same bytes between two processes that only read and write.

     rpc echo                     the other process; prints its port
     rpc call PORT COUNT          nanoseconds of a call of test.echo(7)
     rpc to PORT COUNT SIZE       nanoseconds of a copy to the server
     rpc from PORT COUNT SIZE     nanoseconds of a copy from the server
     rpc ping|put|get PORT COUNT SIZE   the same with `rpc echo`

   Each prints the least of 5 rounds of COUNT. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int fd;
static unsigned char packet[256];
static size_t packet_size;
static char *data;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void send_all(const void *bytes, size_t size) {
  const char *at = (const char *)bytes;
  while (size) {
    ssize_t n = write(fd, at, size);
    if (n <= 0) fail("write");
    at += n;
    size -= (size_t)n;
  }
}

/* Returns 0 at the end of input. */
static int read_all(void *bytes, size_t size) {
  char *at = (char *)bytes;
  while (size) {
    ssize_t n = read(fd, at, size);
    if (n <= 0) return 0;
    at += n;
    size -= (size_t)n;
  }
  return 1;
}

static void receive(void *bytes, size_t size) {
  if (!read_all(bytes, size)) fail("read");
}

static void no_delay(void) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* -- the other process ----------------------------------------------------- */

/* Each request is two sizes: of the bytes that follow, and of the answer. */
static void answer_all(void) {
  uint64_t sizes[2];
  while (read_all(sizes, sizeof(sizes))) {
    data = (char *)realloc(data, sizes[0] + sizes[1] + 1);
    if (!data) fail("realloc");
    receive(data, sizes[0]);
    send_all(data, sizes[1]);
  }
}

static int echo(void) {
  struct sockaddr_in address;
  socklen_t size = sizeof(address);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  memset(&address, 0, sizeof(address));
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, (struct sockaddr *)&address, size) ||
      listen(listener, 4) ||
      getsockname(listener, (struct sockaddr *)&address, &size))
    fail("bind");
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  while ((fd = accept(listener, NULL, NULL)) >= 0) {
    no_delay();
    answer_all();
    close(fd);
  }
  return 0;
}

/* -- packets --------------------------------------------------------------- */

static void put(const void *bytes, size_t size) {
  memcpy(packet + packet_size, bytes, size);
  packet_size += size;
}

static void put_i32(int32_t x) { put(&x, sizeof(x)); }
static void put_u64(uint64_t x) { put(&x, sizeof(x)); }

static void begin(int32_t code) {
  packet_size = 0;
  put_u64(0);
  put_i32(code);
}

/* Stores the packet's length; `more` bytes follow it. */
static void end(size_t more) {
  uint64_t size = packet_size - 8 + more;
  memcpy(packet, &size, sizeof(size));
}

/* Receives an answer of a known code; copies its body's first bytes. */
static void expect(int32_t code, void *body, size_t size) {
  struct {
    unsigned char length[8], code[4];
  } head;
  uint64_t length;
  int32_t got;
  receive(&head, sizeof(head));
  memcpy(&length, head.length, sizeof(length));
  memcpy(&got, head.code, sizeof(got));
  if (got != code || length - 4 > size) {
    fprintf(stderr, "the server answers %d of %lu bytes\n", got,
            (unsigned long)length);
    exit(1);
  }
  receive(body, (size_t)length - 4);
}

static void shake_hands(void) {
  char reply[64];
  int32_t head[2] = {0xff271, 7};
  send_all(head, sizeof(head));
  send_all("client:", 7);
  receive(head, sizeof(head));
  receive(reply, (size_t)head[1]);
  begin(2);
  put_u64(5);
  put("0.8.0", 5);
  put_i32(0);
  end(0);
  send_all(packet, packet_size);
  expect(4, reply, sizeof(reply));
}

/* Asks for a handle by the packet that is ready. */
static uint64_t ask_handle(void) {
  unsigned char reply[16];
  uint64_t handle;
  end(0);
  send_all(packet, packet_size);
  expect(4, reply, sizeof(reply));
  memcpy(&handle, reply + 8, sizeof(handle));
  return handle;
}

static uint64_t find(const char *name) {
  begin(9);
  put_i32(1);
  put_i32(8);
  put_u64(strlen(name));
  put(name, strlen(name));
  return ask_handle();
}

static uint64_t allocate(uint64_t size) {
  int32_t device[3] = {6, 1, 0};
  begin(13);
  put_i32(4);
  put(device, sizeof(device));
  put_i32(1), put_u64(size);
  put_i32(1), put_u64(64);
  put_i32(5), put_i32(0x010801), put_i32(0); /* uint8 */
  return ask_handle();
}

/* -- the work -------------------------------------------------------------- */

static void prepare_call(void) {
  uint64_t handle = find("test.echo");
  begin(3);
  put_u64(handle);
  put_i32(1);
  put_i32(1), put_u64(7);
  end(0);
}

static void prepare_copy(int32_t code, size_t size) {
  uint64_t handle = allocate(size);
  begin(code);
  put_u64(handle);
  put_i32(1), put_i32(0);
  put_i32(1), put_i32(0x010801);
  put_u64(size), put_u64(0);
  put_u64(size);
  end(code == 7 ? size : 0);
}

static void prepare_echo(size_t request, size_t answer) {
  packet_size = 0;
  put_u64(request), put_u64(answer);
}

static void once(char mode, size_t size) {
  char reply[64];
  send_all(packet, packet_size);
  switch (mode) {
    case 'c': expect(4, reply, sizeof(reply)); break;
    case 't':
      send_all(data, size);
      expect(4, reply, sizeof(reply));
      break;
    case 'f': expect(8, data, size); break;
    case 'i': /* the reads of an answer */
      receive(reply, 12);
      receive(reply, 28);
      break;
    case 'u':
      send_all(data, size);
      receive(reply, 20);
      break;
    default: receive(data, size + 12);
  }
}

/* Ends the session; without it, upstream's server may stop serving. */
static void shut_down(void) {
  begin(1);
  end(0);
  send_all(packet, packet_size);
}

static double measure(char mode, long count, size_t size) {
  double least = 1e300;
  int round;
  for (round = 0; round < 5; ++round) {
    uint64_t begun = now();
    long i;
    double each;
    for (i = 0; i < count; ++i) once(mode, size);
    each = (double)(now() - begun) / (double)count;
    if (each < least) least = each;
  }
  return least;
}

static void join(const char *port) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof(address));
  address.sin_family = AF_INET;
  address.sin_port = htons((uint16_t)atoi(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
    fail("connect");
  no_delay();
}

int main(int argc, char **argv) {
  size_t size = argc > 4 ? (size_t)atol(argv[4]) : 0;
  const char *what = argc > 1 ? argv[1] : "";
  char mode = what[0] == 'p' ? what[1] : what[0];
  if (!strcmp(what, "echo")) return echo();
  if (argc < 4) return 2;
  data = (char *)calloc(1, size + 64);
  if (!data) fail("calloc");
  join(argv[2]);
  if (mode == 'c' || mode == 't' || mode == 'f') shake_hands();
  if (mode == 'c') prepare_call();
  if (mode == 't') prepare_copy(7, size);
  if (mode == 'f') prepare_copy(6, size);
  if (mode == 'i') prepare_echo(0, 40);
  if (mode == 'u') prepare_echo(size, 20);
  if (mode == 'g') prepare_echo(0, size + 12);
  printf("%.0f\n", measure(mode, atol(argv[3]), size));
  if (mode == 'c' || mode == 't' || mode == 'f') shut_down();
  return 0;
}
