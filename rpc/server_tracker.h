/* The connection to a tracker, which hands servers out to clients: JSON texts,
   each with its length before it. */
#ifndef TVMFFI_RPC_SERVER_TRACKER_H_
#define TVMFFI_RPC_SERVER_TRACKER_H_

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define TRACKER_MAGIC 0x2f271
#define TRACKER_TEXT_SIZE 4096

/* The codes of messages. */
enum {
  TRACKER_SUCCESS = 0,
  TRACKER_PUT = 3,
  TRACKER_UPDATE_INFO = 5,
  TRACKER_PENDING = 7
};

static struct {
  const char *host, *service; /* NULL without a tracker */
  const char *key;            /* of this server */
  const char *address;        /* reported in place of the peer's, or NULL */
  int port;                   /* of this server */
  int fd;                     /* -1 while there is no connection */
  char match_key[600];        /* what a client must send now */
  int unmatched;              /* pings since the match key was handed out */
} tracker = {NULL, NULL, NULL, NULL, 0, -1, "", 0};

static int tracker_lost(const char *what) {
  if (tracker.fd >= 0) close(tracker.fd);
  tracker.fd = -1;
  return TVMFFI_RAISE("ConnectionError", "the tracker %s:%s %s", tracker.host,
                      tracker.service, what);
}

static int tracker_send(const void *bytes, size_t size) {
  const char *at = (const char *)bytes;
  while (size) {
    ssize_t n = send(tracker.fd, at, size, MSG_NOSIGNAL);
    if (n <= 0) return tracker_lost("does not take messages");
    at += n;
    size -= (size_t)n;
  }
  return 0;
}

static int tracker_receive(void *bytes, size_t size) {
  char *at = (char *)bytes;
  while (size) {
    ssize_t n = recv(tracker.fd, at, size, 0);
    if (n <= 0) return tracker_lost("does not answer");
    at += n;
    size -= (size_t)n;
  }
  return 0;
}

/* Sends a message and receives the answer's text. */
static int tracker_ask(const char *message, char *answer, size_t size) {
  int32_t n = (int32_t)strlen(message);
  TVMFFI_TRY(tracker_send(&n, sizeof(n)));
  TVMFFI_TRY(tracker_send(message, (size_t)n));
  TVMFFI_TRY(tracker_receive(&n, sizeof(n)));
  if (n < 0 || (size_t)n >= size) return tracker_lost("sent a long answer");
  TVMFFI_TRY(tracker_receive(answer, (size_t)n));
  answer[n] = 0;
  return 0;
}

static int tracker_order(const char *message) {
  char answer[TRACKER_TEXT_SIZE];
  TVMFFI_TRY(tracker_ask(message, answer, sizeof(answer)));
  return strcmp(answer, "0") ? tracker_lost("refused a message") : 0;
}

/* Writes the reported address as JSON. */
static const char *tracker_address(char *text, size_t size) {
  if (!tracker.address) return "null";
  snprintf(text, size, "\"%s\"", tracker.address);
  return text;
}

/* Offers this server under a new match key. */
static int tracker_put(void) {
  char message[TRACKER_TEXT_SIZE], address[300];
  unsigned char random[8];
  uint64_t number;
  FILE *source = fopen("/dev/urandom", "rb");
  size_t n = source ? fread(random, 1, sizeof(random), source) : 0;
  if (source) fclose(source);
  if (n != sizeof(random)) return tracker_lost("needs /dev/urandom");
  memcpy(&number, random, sizeof(number));
  snprintf(tracker.match_key, sizeof(tracker.match_key), "%.500s:%llu",
           tracker.key, (unsigned long long)number);
  snprintf(message, sizeof(message), "[%d, \"%.500s\", [%d, \"%s\"], %s]",
           TRACKER_PUT, tracker.key, tracker.port, tracker.match_key,
           tracker_address(address, sizeof(address)));
  tracker.unmatched = 0;
  return tracker_order(message);
}

static int tracker_open_socket(void) {
  struct addrinfo hints, *list = NULL, *a;
  struct timeval limit = {10, 0};
  memset(&hints, 0, sizeof(hints));
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(tracker.host, tracker.service, &hints, &list))
    return tracker_lost("has no address");
  for (a = list; a && tracker.fd < 0; a = a->ai_next) {
    tracker.fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
    if (tracker.fd >= 0 && connect(tracker.fd, a->ai_addr, a->ai_addrlen)) {
      close(tracker.fd);
      tracker.fd = -1;
    }
  }
  freeaddrinfo(list);
  if (tracker.fd < 0) return tracker_lost("cannot be reached");
  setsockopt(tracker.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  return 0;
}

/* Connects and reports this server. */
static int tracker_connect(void) {
  char message[TRACKER_TEXT_SIZE], address[300];
  int32_t magic = TRACKER_MAGIC;
  TVMFFI_TRY(tracker_open_socket());
  TVMFFI_TRY(tracker_send(&magic, sizeof(magic)));
  TVMFFI_TRY(tracker_receive(&magic, sizeof(magic)));
  if (magic != TRACKER_MAGIC) return tracker_lost("is no tracker");
  snprintf(message, sizeof(message),
           "[%d, {\"key\": \"server:%.500s\", \"addr\": [%s, %d]}]",
           TRACKER_UPDATE_INFO, tracker.key,
           tracker_address(address, sizeof(address)), tracker.port);
  return tracker_order(message);
}

/* Is called between sessions: makes a new offer. */
static int tracker_offer(void) {
  if (!tracker.host) return 0;
  if (tracker.fd < 0) TVMFFI_TRY(tracker_connect());
  return tracker_put();
}

/* Is called every two seconds while no client comes: makes a new offer if the
   tracker is back, or if a client was given the key and did not come. */
static int tracker_ping(void) {
  char message[32], answer[TRACKER_TEXT_SIZE];
  if (!tracker.host) return 0;
  if (tracker.fd < 0) return tracker_offer();
  snprintf(message, sizeof(message), "[%d]", TRACKER_PENDING);
  TVMFFI_TRY(tracker_ask(message, answer, sizeof(answer)));
  if (strstr(answer, tracker.match_key))
    tracker.unmatched = 0;
  else if (++tracker.unmatched > 3)
    return tracker_put();
  return 0;
}

#endif /* TVMFFI_RPC_SERVER_TRACKER_H_ */
