/* The connection to a tracker, which hands servers out to clients: JSON texts,
   each with its length before it. No function waits: the server's loop calls
   tracker_step when there is something to read, or when a time has come. The
   tracker's name is looked up for each connection, because its address may have
   changed, by a process, because the look-up waits. */
#ifndef TVMFFI_RPC_SERVER_TRACKER_H_
#define TVMFFI_RPC_SERVER_TRACKER_H_

#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "server_log.h"

#define TRACKER_MAGIC 0x2f271
#define TRACKER_TEXT_SIZE 4096
#define TRACKER_PING_MS 2000    /* between two questions */
#define TRACKER_RETRY_MS 1000   /* after a first failure; doubled by each */
#define TRACKER_LAST_MS 60000   /* but never longer */
#define TRACKER_ANSWER_MS 10000 /* for a connection, and for an answer */
#define TRACKER_LOOK_UP_MS 60000
#define TRACKER_ADDRESSES 16 /* that are tried, of one name */

/* The codes of messages. */
enum { TRACKER_PUT = 3, TRACKER_UPDATE_INFO = 5, TRACKER_PENDING = 7 };

typedef enum {
  TRACKER_AWAY,       /* there is no connection; `at` is the next try */
  TRACKER_LOOKING_UP, /* waits for the addresses until `at` */
  TRACKER_CONNECTING, /* to the address `next`, until `at` */
  TRACKER_GREETED,    /* waits for the magic number until `at` */
  TRACKER_ASKED,      /* waits for the answer to `asked` until `at` */
  TRACKER_IDLE        /* the next message is due at `at` */
} tracker_state;

/* The answer of the process that looks the name up. A pipe passes it on as a
   whole, because it is shorter than PIPE_BUF. */
typedef struct {
  int error, system; /* of getaddrinfo, and errno */
  int count;         /* of addresses */
  socklen_t sizes[TRACKER_ADDRESSES];
  struct sockaddr_storage addresses[TRACKER_ADDRESSES];
} tracker_addresses;

static struct {
  const char *host, *service; /* NULL without a tracker */
  const char *key;            /* of this server */
  const char *address;        /* reported in place of the peer's, or NULL */
  int port;                   /* of this server */
  char name[300];             /* HOST:PORT of the tracker, for the log */
  tracker_addresses found;
  int next;      /* the index of an address */
  pid_t process; /* that looks the name up, or 0 */
  int fd; /* the connection or that process's pipe; -1: neither */
  tracker_state state;
  int64_t at;          /* of now_ms() */
  int64_t retry_ms;    /* after the next failure */
  int error;           /* of the last connection, an errno */
  int is_registered;   /* the tracker has taken an offer of this connection */
  int asked;           /* the code of the last message */
  int is_offered;      /* match_key is at the tracker, and was not used */
  int unmatched;       /* pings since a client was given the match key */
  char match_key[600]; /* what a client must send now */
  char answer[4 + TRACKER_TEXT_SIZE];
  size_t size; /* bytes of the answer */
} tracker;

/* Ends the process that looks the name up, if there is one. */
static void tracker_end_look_up(void) {
  if (!tracker.process) return;
  kill(tracker.process, SIGKILL);
  while (waitpid(tracker.process, NULL, 0) < 0 && errno == EINTR) continue;
  tracker.process = 0;
}

/* Closes the connection, by which the tracker forgets this server. */
static void tracker_close(void) {
  tracker_end_look_up();
  if (tracker.fd >= 0) close(tracker.fd);
  tracker.fd = -1;
}

/* Closes it for good. */
static void tracker_leave(void) {
  tracker_close();
  tracker.host = NULL;
}

/* Closes the connection with an error. While the tracker is away, clients send
   the server's key. */
static int tracker_lost(const char *what) {
  int seconds;
  tracker_close();
  tracker.state = TRACKER_AWAY;
  if (tracker.is_registered) tracker.retry_ms = TRACKER_RETRY_MS;
  seconds = (int)(tracker.retry_ms / 1000);
  tracker.at = now_ms() + tracker.retry_ms;
  tracker.retry_ms *= 2;
  if (tracker.retry_ms > TRACKER_LAST_MS) tracker.retry_ms = TRACKER_LAST_MS;
  tracker.is_offered = tracker.is_registered = 0;
  snprintf(tracker.match_key, sizeof(tracker.match_key), "%s", tracker.key);
  return TVMFFI_RAISE("ConnectionError",
                      "the tracker %s %s; the next try is in %d s",
                      tracker.name, what, seconds);
}

/* The same for a tracker to which no address leads. A tracker whose port is not
   free, because of a program or of connections that have just ended, listens on
   the next port. */
static int tracker_unreachable(void) {
  char text[200];
  snprintf(text, sizeof(text), "cannot be reached: %s%s",
           strerror(tracker.error),
           tracker.error == ECONNREFUSED
               ? "; if its port was taken or in TIME_WAIT, it names another "
                 "one at its start"
               : "");
  return tracker_lost(text);
}

/* -- messages -------------------------------------------------------------- */

/* Waits for an answer from now on. */
static void tracker_await(tracker_state state) {
  tracker.state = state;
  tracker.size = 0;
  tracker.at = now_ms() + TRACKER_ANSWER_MS;
}

/* Sends a message. The socket takes it at once: there is no other one that the
   tracker has not answered. */
static int tracker_send(const void *bytes, size_t size) {
  if (send(tracker.fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size) return 0;
  return tracker_lost("does not take messages");
}

static int tracker_ask(int code, const char *message) {
  char bytes[4 + TRACKER_TEXT_SIZE];
  size_t size = strlen(message);
  int32_t n = (int32_t)size;
  memcpy(bytes + 4, message, size);
  tvmffi_rpc_i_swap(&n, sizeof(n), 1);
  memcpy(bytes, &n, sizeof(n));
  TVMFFI_TRY(tracker_send(bytes, size + 4));
  tracker.asked = code;
  tracker_await(TRACKER_ASKED);
  return 0;
}

/* Writes the reported address as JSON. */
static const char *tracker_address(char *text, size_t size) {
  if (!tracker.address) return "null";
  snprintf(text, size, "\"%s\"", tracker.address);
  return text;
}

/* Reports this server. */
static int tracker_report(void) {
  char message[TRACKER_TEXT_SIZE], address[300];
  snprintf(message, sizeof(message),
           "[%d, {\"key\": \"server:%.500s\", \"addr\": [%s, %d]}]",
           TRACKER_UPDATE_INFO, tracker.key,
           tracker_address(address, sizeof(address)), tracker.port);
  return tracker_ask(TRACKER_UPDATE_INFO, message);
}

/* Replaces the match key, which no client then has. */
static int tracker_new_key(void) {
  uint64_t number;
  if (getentropy(&number, sizeof(number)))
    return tracker_lost("needs random numbers");
  snprintf(tracker.match_key, sizeof(tracker.match_key), "%.500s:%llu",
           tracker.key, (unsigned long long)number);
  return 0;
}

/* Offers this server under a new match key. */
static int tracker_put(void) {
  char message[TRACKER_TEXT_SIZE], address[300];
  TVMFFI_TRY(tracker_new_key());
  snprintf(message, sizeof(message), "[%d, \"%.500s\", [%d, \"%s\"], %s]",
           TRACKER_PUT, tracker.key, tracker.port, tracker.match_key,
           tracker_address(address, sizeof(address)));
  tracker.is_offered = 1;
  tracker.unmatched = 0;
  return tracker_ask(TRACKER_PUT, message);
}

/* Asks which match keys no client has been given yet. */
static int tracker_ping(void) {
  char message[32];
  snprintf(message, sizeof(message), "[%d]", TRACKER_PENDING);
  return tracker_ask(TRACKER_PENDING, message);
}

/* -- answers --------------------------------------------------------------- */

/* Returns how long the answer is, as far as it has arrived, or 0 for one that
   is too long. */
static size_t tracker_wanted(void) {
  int32_t n;
  if (tracker.state == TRACKER_GREETED || tracker.size < 4) return 4;
  memcpy(&n, tracker.answer, sizeof(n));
  tvmffi_rpc_i_swap(&n, sizeof(n), 1);
  return n < 0 || n >= TRACKER_TEXT_SIZE ? 0 : (size_t)n + 4;
}

/* Makes a new offer if the last one was used, or if a client was given the key
   and did not come for some time. */
static int tracker_go_on(void) {
  if (!tracker.is_offered || tracker.unmatched > 3) return tracker_put();
  tracker.state = TRACKER_IDLE;
  tracker.at = now_ms() + TRACKER_PING_MS;
  return 0;
}

/* Says that clients find this server, once for a connection. */
static void tracker_registered(void) {
  if (!tracker.is_registered)
    say("registered at the tracker %s", tracker.name);
  tracker.is_registered = 1;
}

static int tracker_answered(void) {
  const char *text = tracker.answer + 4;
  int32_t magic;
  tracker.answer[tracker.size] = 0;
  if (tracker.state == TRACKER_GREETED) {
    memcpy(&magic, tracker.answer, sizeof(magic));
    tvmffi_rpc_i_swap(&magic, sizeof(magic), 1);
    return magic == TRACKER_MAGIC ? tracker_report()
                                  : tracker_lost("is no tracker");
  }
  if (tracker.asked != TRACKER_PENDING) {
    if (strcmp(text, "0")) return tracker_lost("refused a message");
    if (tracker.asked == TRACKER_PUT) tracker_registered();
  } else if (strstr(text, tracker.match_key)) {
    tracker.unmatched = 0;
  } else {
    ++tracker.unmatched;
  }
  return tracker_go_on();
}

/* Receives what of the answer has arrived. */
static int tracker_receive(void) {
  size_t wanted;
  while (tracker.size < (wanted = tracker_wanted())) {
    ssize_t n = recv(tracker.fd, tracker.answer + tracker.size,
                     wanted - tracker.size, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (n <= 0) return tracker_lost("has closed the connection");
    tracker.size += (size_t)n;
  }
  return wanted ? tracker_answered() : tracker_lost("sent a long answer");
}

/* -- the connection -------------------------------------------------------- */

/* Begins to connect, to the first address from `next` on for which that does
   not fail at once. */
static int tracker_connect(void) {
  for (; tracker.next < tracker.found.count; ++tracker.next) {
    const struct sockaddr *a =
        (const struct sockaddr *)&tracker.found.addresses[tracker.next];
    tracker.fd =
        socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (tracker.fd >= 0 &&
        (!connect(tracker.fd, a, tracker.found.sizes[tracker.next]) ||
         errno == EINPROGRESS)) {
      tracker_await(TRACKER_CONNECTING);
      return 0;
    }
    tracker.error = errno;
    if (tracker.fd >= 0) close(tracker.fd);
    tracker.fd = -1;
  }
  return tracker_unreachable();
}

static int tracker_connect_next(int error) {
  tracker.error = error;
  close(tracker.fd);
  tracker.fd = -1;
  ++tracker.next;
  return tracker_connect();
}

static int tracker_connected(void) {
  int32_t magic = TRACKER_MAGIC;
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(tracker.fd, SOL_SOCKET, SO_ERROR, &error, &size))
    error = errno;
  if (error) return tracker_connect_next(error);
  tvmffi_rpc_i_swap(&magic, sizeof(magic), 1);
  TVMFFI_TRY(tracker_send(&magic, sizeof(magic)));
  tracker_await(TRACKER_GREETED);
  return 0;
}

/* -- the look-up ----------------------------------------------------------- */

/* Is in server_clients.h, which has the descriptors that it closes. */
static void clients_leave(int kept);

/* Looks the name up, and writes what it finds to the pipe. */
static void tracker_find_addresses(int out) {
  struct addrinfo hints, *list = NULL, *a;
  tracker_addresses found;
  memset(&hints, 0, sizeof(hints));
  memset(&found, 0, sizeof(found));
  hints.ai_socktype = SOCK_STREAM;
  found.error = getaddrinfo(tracker.host, tracker.service, &hints, &list);
  found.system = errno;
  for (a = found.error ? NULL : list; a && found.count < TRACKER_ADDRESSES;
       a = a->ai_next) {
    memcpy(&found.addresses[found.count], a->ai_addr, a->ai_addrlen);
    found.sizes[found.count++] = a->ai_addrlen;
  }
  _exit(write(out, &found, sizeof(found)) < 0);
}

static int tracker_look_up(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) return tracker_lost("has no pipe");
  tracker.process = fork();
  if (!tracker.process) {
    clients_leave(-1);
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    tracker_find_addresses(ends[1]);
  }
  close(ends[1]);
  tracker.fd = ends[0];
  if (tracker.process < 0) {
    tracker.process = 0;
    return tracker_lost("cannot be looked up: no process");
  }
  tracker_await(TRACKER_LOOKING_UP);
  tracker.at = now_ms() + TRACKER_LOOK_UP_MS;
  return 0;
}

/* Connects to what was found. */
static int tracker_looked_up(void) {
  char text[200];
  ssize_t n = read(tracker.fd, &tracker.found, sizeof(tracker.found));
  if (n != (ssize_t)sizeof(tracker.found))
    return tracker_lost("cannot be looked up");
  if (tracker.found.error) {
    snprintf(text, sizeof(text), "has no address: %s",
             name_error(tracker.found.error, tracker.found.system));
    return tracker_lost(text);
  }
  tracker_end_look_up();
  close(tracker.fd);
  tracker.fd = -1;
  tracker.next = 0;
  return tracker_connect();
}

/* -- what the server's loop calls ------------------------------------------ */

/* Prepares the first try. */
static void tracker_begin(void) {
  if (tracker.host)
    log_host(tracker.host, tracker.service, tracker.name, sizeof(tracker.name));
  tracker.fd = -1;
  tracker.retry_ms = TRACKER_RETRY_MS;
  snprintf(tracker.match_key, sizeof(tracker.match_key), "%s", tracker.key);
}

/* The events that tracker_step waits for. */
static short tracker_events(void) {
  return tracker.state == TRACKER_CONNECTING ? POLLOUT : POLLIN;
}

static int tracker_ready(void) {
  switch (tracker.state) {
    case TRACKER_LOOKING_UP: return tracker_looked_up();
    case TRACKER_CONNECTING: return tracker_connected();
    case TRACKER_IDLE: return tracker_lost("has gone");
    default: return tracker_receive();
  }
}

static int tracker_due(void) {
  switch (tracker.state) {
    case TRACKER_AWAY: return tracker_look_up();
    case TRACKER_LOOKING_UP: return tracker_lost("was not found in a minute");
    case TRACKER_CONNECTING: return tracker_connect_next(ETIMEDOUT);
    case TRACKER_IDLE:
      return tracker.is_offered ? tracker_ping() : tracker_put();
    default: return tracker_lost("does not answer");
  }
}

/* Goes on: `is_ready` if the connection has an event. */
static int tracker_step(int is_ready) {
  if (is_ready) return tracker_ready();
  return now_ms() < tracker.at ? 0 : tracker_due();
}

/* Is called when a client has sent the match key, which is for one client. */
static int tracker_use_key(void) {
  if (!tracker.is_offered) return 0;
  tracker.is_offered = 0;
  if (tracker.state == TRACKER_IDLE) tracker.at = 0;
  return tracker_new_key();
}

#endif /* TVMFFI_RPC_SERVER_TRACKER_H_ */
