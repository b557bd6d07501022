/* The clients, each from its connection to its end, and the loop that serves
   them. The loop waits for nothing but the next event or deadline, so that no
   client and no tracker keeps it from the others. Sessions begin in the order
   of the connections. They run one after the other unless --sessions allows
   more, because timings must not disturb each other. Each is a process of its
   own, which alone reads and writes its client's bytes. */
#ifndef TVMFFI_RPC_SERVER_CLIENTS_H_
#define TVMFFI_RPC_SERVER_CLIENTS_H_

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "server_confine.h"
#include "server_files.h"
#include "server_log.h"
#include "server_modules.h"
#include "server_session.h"
#include "server_tracker.h"

#if !defined(POLLRDHUP)
#define POLLRDHUP POLLHUP
#endif

#define CLIENTS_MAX 128
#define CLIENTS_HANDSHAKE_MS 10000 /* for all of a handshake */
#define CLIENTS_GONE_MS 1000       /* for a session whose client has hung up */
#define CLIENTS_CLOSING_MS 1000
#define CLIENTS_FILES_MS 1000 /* between two looks at what files hold */
#define CLIENTS_PAUSE_MS 1000 /* after a connection could not be accepted */
#define CLIENTS_NEVER INT64_MAX

typedef enum {
  CLIENT_NONE,    /* an unused entry */
  CLIENT_SHAKING, /* its handshake is not whole */
  CLIENT_WAITING, /* for its session */
  CLIENT_RUNNING, /* its session runs */
  CLIENT_GONE,    /* its session runs, but the client has hung up */
  CLIENT_CLOSING  /* the last answer was sent; see client_finish */
} client_state;

typedef struct {
  client_state state;
  session_channel channel;
  tvmffi_rpc *session; /* owned; NULL when closing */
  int64_t deadline;    /* of now_ms(), or CLIENTS_NEVER */
  uint64_t order;      /* of its arrival */
  pid_t child;         /* its session's process, or 0 */
  char *folder;        /* its session's, owned */
  int64_t begin;       /* of its session or its wait, of now_ms(), or 0 */
  volatile char *is_in_call; /* its session's: session_is_in_call */
  char name[80];             /* its address, for the log */
} client;

static client clients[CLIENTS_MAX];
static int clients_limit = CLIENTS_MAX;
static uint64_t clients_count;  /* of all that have ever arrived */
static int clients_running;      /* sessions */
static int64_t clients_sessions = 1; /* the most at once */
static int64_t clients_max_ms;   /* a session's longest time, or 0 */
static int clients_listener = -1;
static int64_t clients_listen_at; /* no client is accepted before */
static int64_t clients_files_at;  /* the next look at what files hold */
static int clients_signals[2];    /* a pipe: a byte for each signal */
static volatile sig_atomic_t clients_are_stopped;
static volatile sig_atomic_t clients_are_last; /* no other one is accepted */
static tvmffi_rpc_options clients_options;

/* -- the end of a connection ----------------------------------------------- */

static void client_close(client *c) {
  tvmffi_rpc_free(c->session);
  close(c->channel.in);
  if (c->channel.out != c->channel.in) close(c->channel.out);
  memset(c, 0, sizeof(*c));
}

/* Closes a connection after its client has closed it, or after a second. If a
   connection is closed while the client still sends, the kernel resets it, and
   the reset may overtake the last bytes, which are often an error. So what the
   client sends is first read and dropped. */
static void client_finish(client *c) {
  tvmffi_rpc_free(c->session);
  c->session = NULL;
  c->state = CLIENT_CLOSING;
  c->deadline = now_ms() + CLIENTS_CLOSING_MS;
  if (shutdown(c->channel.out, SHUT_WR)) client_close(c); /* a pipe, say */
}

static void client_drop_bytes(client *c) {
  char bytes[4096];
  ssize_t n = read(c->channel.in, bytes, sizeof(bytes));
  if (!n || (n < 0 && errno != EAGAIN && errno != EINTR)) client_close(c);
}

/* Returns the client of a state that arrived first, or NULL. */
static client *clients_first(client_state state) {
  client *first = NULL;
  int i;
  for (i = 0; i < clients_limit; ++i)
    if (clients[i].state == state &&
        (!first || clients[i].order < first->order))
      first = &clients[i];
  return first;
}

/* Returns an entry for a new client: an unused one, or the one of the client
   whose handshake takes longest. NULL if all wait for their sessions. */
static client *clients_find_entry(void) {
  client *c = clients_first(CLIENT_NONE);
  if (!c) c = clients_first(CLIENT_CLOSING);
  return c ? c : clients_first(CLIENT_SHAKING);
}

/* -- signals --------------------------------------------------------------- */

/* The signals that end the server. All but SIGUSR1 end its sessions at once. */
static const int clients_ends[] = {SIGTERM, SIGINT,  SIGHUP,
                                   SIGQUIT, SIGUSR1, SIGUSR2};
#define CLIENTS_ENDS (sizeof(clients_ends) / sizeof(*clients_ends))

static void clients_on_signal(int number) {
  char byte = 0;
  int saved = errno;
  if (number == SIGUSR1) clients_are_last = 1;
  else if (number != SIGCHLD) clients_are_stopped = 1;
  if (write(clients_signals[1], &byte, 1) < 0) errno = saved;
  errno = saved;
}

static void clients_handle(int number, void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = handler;
  sigaction(number, &action, NULL);
}

static int clients_catch_signals(void) {
  struct sigaction hangup;
  size_t i;
  if (pipe2(clients_signals, O_CLOEXEC | O_NONBLOCK))
    return system_error("no pipe for", "signals");
  sigaction(SIGHUP, NULL, &hangup);
  for (i = 0; i < CLIENTS_ENDS; ++i)
    clients_handle(clients_ends[i], clients_on_signal);
  if (hangup.sa_handler == SIG_IGN) clients_handle(SIGHUP, SIG_IGN); /* nohup */
  clients_handle(SIGCHLD, clients_on_signal);
  clients_handle(SIGPIPE, SIG_IGN);
  return 0;
}

/* -- sessions -------------------------------------------------------------- */

#if defined(__linux__)
/* The parent was killed, as a pipe's client does. The session ends as at the
   end of input; a call has two seconds more. */
static void clients_on_orphaned(int number) {
  (void)number;
  session_is_orphaned = 1;
  alarm(2);
}
#endif

/* Resets the signal handlers and closes the server's descriptors in a child
   process, except the connection `kept` (-1: none). */
static void clients_leave(int kept) {
  size_t i;
  for (i = 0; i < CLIENTS_ENDS; ++i) clients_handle(clients_ends[i], SIG_DFL);
  clients_handle(SIGCHLD, SIG_DFL);
  for (i = 0; i < CLIENTS_MAX; ++i)
    if (clients[i].state != CLIENT_NONE && clients[i].channel.in != kept)
      close(clients[i].channel.in);
  close(clients_signals[0]);
  close(clients_signals[1]);
  if (clients_listener >= 0) close(clients_listener);
  if (tracker.fd >= 0) close(tracker.fd);
}

/* Prepares the child for its session: it ends soon after its parent, and has
   no other client's connection. */
static int clients_enter(const client *own) {
  clients_leave(own->channel.in);
#if defined(__linux__)
  clients_handle(SIGHUP, clients_on_orphaned);
  prctl(PR_SET_PDEATHSIG, SIGHUP);
#endif
  setpgid(0, 0);
  if (fchdir(files_root_fd)) return system_error("cannot enter", files_root);
  TVMFFI_TRY(modules_begin_helper(own->channel.in, own->channel.out));
  return confine_enter(0);
}

/* Starts the session's process; returns its number, or -1 with an error. */
static pid_t clients_start(client *c) {
  pid_t child = fork();
  int status;
  if (child < 0) return system_error("cannot start", "a session");
  if (child) {
    setpgid(child, child);
    return child;
  }
  if (clients_enter(c)) {
    say_error("no session");
    _exit(1);
  }
  status = session_serve(c->session, c->channel.in);
  modules_end();
  _exit(status);
}

/* The session's process blocks in its reads and writes; the loop does not. */
static void client_set_blocking(const client *c, int blocks) {
  int flags = fcntl(c->channel.out, F_GETFL);
  if (flags < 0) return;
  flags = blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
  fcntl(c->channel.out, F_SETFL, flags);
}

/* Returns how long a session may take in milliseconds, or 0. */
static int64_t client_limit(const client *c) {
  int64_t asked = tvmffi_rpc_timeout_ms(c->session);
  return asked && (!clients_max_ms || asked < clients_max_ms) ? asked
                                                              : clients_max_ms;
}

/* Makes the session's folder and starts its process, which is the child. */
static int client_start(client *c) {
  TVMFFI_TRY(files_begin());
  c->folder = strdup(files_root);
  if (!c->folder) return TVMFFI_RAISE("MemoryError", "no memory for a session");
  TVMFFI_TRY(session_share());
  c->is_in_call = session_is_in_call;
  c->child = clients_start(c);
  return c->child < 0 ? -1 : 0;
}

/* Frees what belongs to the session alone, when its process has ended. */
static void client_free_session(client *c) {
  session_unshare(c->is_in_call);
  c->is_in_call = NULL;
  free(c->folder);
  c->folder = NULL;
  c->child = 0;
}

/* Ends a connection with an error for its client, unless `text` is NULL. */
static void client_refuse(client *c, const char *text) {
  if (text && tvmffi_rpc_abort(c->session, text)) tvmffi_error_clear();
  client_finish(c);
}

static void client_begin_session(client *c) {
  int64_t limit = client_limit(c);
  char waited[48] = "";
  int failed;
  client_set_blocking(c, 1);
  failed = client_start(c);
  if (failed) files_end();
  files_leave();
  if (failed) {
    say_error("no session");
    client_free_session(c);
    client_set_blocking(c, 0);
    client_refuse(c,
                  "RPCError: the server could not begin a session; its log "
                  "has the reason");
    return;
  }
  if (c->begin)
    snprintf(waited, sizeof(waited), ", after a wait of %.1f s",
             (double)(now_ms() - c->begin) / 1000);
  say("session %ld begins: %s%s", (long)c->child, c->name, waited);
  ++clients_running;
  c->begin = now_ms();
  c->state = CLIENT_RUNNING;
  c->deadline = limit ? now_ms() + limit : CLIENTS_NEVER;
}

/* Ends what is left of the session: processes and files. The reason goes into
   the log. From now on a write to the client does not wait for it. */
static void client_end_session(client *c, const char *reason) {
  kill(-c->child, SIGKILL);
  kill(c->child, SIGKILL);
  while (waitpid(c->child, NULL, 0) < 0 && errno == EINTR) continue;
  say("session %ld has ended after %.1f s: %s: %s", (long)c->child,
      (double)(now_ms() - c->begin) / 1000, c->name, reason);
  --clients_running;
  if (!files_kept) files_remove_root(c->folder);
  client_free_session(c);
  client_set_blocking(c, 0);
}

/* Ends a session for a reason that goes into the log, and its connection. */
static void client_abort(client *c, const char *reason, const char *text) {
  client_end_session(c, reason);
  client_refuse(c, text);
}

/* Describes how a process has ended: `code` and `status` of waitid. */
static void client_describe(int code, int status, char *text, size_t size) {
  if (code == CLD_EXITED)
    snprintf(text, size, "exit status %d", status);
  else
    snprintf(
        text, size, "signal %d (%s)%s", status, strsignal(status),
        status == SIGKILL ? ", from the system if its memory was used up" : "");
}

/* Looks whether the session's process has ended. It is not waited for yet, so
   that its number stays its own. If it ended in a call, its client learns how.
   */
static void client_check_session(client *c) {
  char reason[200], text[300];
  siginfo_t info;
  int is_in_call;
  info.si_pid = 0;
  if (!c->child ||
      waitid(P_PID, (id_t)c->child, &info, WEXITED | WNOHANG | WNOWAIT) ||
      !info.si_pid)
    return;
  is_in_call = *c->is_in_call;
  client_describe(info.si_code, info.si_status, reason, sizeof(reason));
  snprintf(text, sizeof(text), "RPCError: a call has ended the session: %s",
           reason);
  client_abort(c,
               is_in_call || info.si_status ? reason : "its client ended it",
               is_in_call ? text : NULL);
}

/* Waits for the children that belong to no session: as process 1 of a
   container, the server is the parent of what sessions leave behind. The
   children of sessions were looked at before. */
static void clients_reap(void) {
  siginfo_t info;
  for (;;) {
    int i;
    info.si_pid = 0;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
      return;
    if (info.si_pid == tracker.process) return;
    for (i = 0; i < CLIENTS_MAX; ++i)
      if (clients[i].child == info.si_pid) return; /* it has just ended */
    waitpid(info.si_pid, NULL, WNOHANG);
  }
}

/* Ends a session whose time is over. The first error is upstream's. */
static void client_time_out(client *c) {
  char text[200];
  int64_t limit = client_limit(c);
  int is_asked = limit == tvmffi_rpc_timeout_ms(c->session);
  snprintf(text, sizeof(text),
           is_asked ? "RPCSessionTimeoutError: Your %g s session has expired, "
                      "try to increase the \"session_timeout\" value."
                    : "RPCSessionTimeoutError: Your session has expired after "
                      "%g s (this server's --max-time limits it).",
           (double)limit / 1000);
  client_abort(
      c, is_asked ? "its time is over" : "its time is over (--max-time)", text);
}

/* Ends the session of a client whose files hold more than --max-disk, which
   code can write without an upload. */
static void client_check_files(client *c) {
  char text[200], error[220];
  if (c->state != CLIENT_RUNNING || files_fit(c->folder, 0)) return;
  snprintf(error, sizeof(error), "RPCError: %s",
           files_say_full(text, sizeof(text)));
  client_abort(c, text, error);
}

/* -- what happens to a client ---------------------------------------------- */

/* The key of health.sh, which comes too often for the log. */
#define CLIENTS_HEALTH "`client:?no?`"

/* Writes the error for which a client was refused. */
static void client_say_refused(const client *c) {
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  const char *text = error ? TVMFFIErrorGetCellPtr(error)->message.data : "";
  if (!strstr(text, CLIENTS_HEALTH))
    say("a client was refused: %s: %s", c->name, text);
}

static void client_shake_hands(client *c) {
  size_t size;
  void *to = tvmffi_rpc_buffer(c->session, &size);
  ssize_t n = read(c->channel.in, to, size);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    say("%s: a client without a handshake", c->name);
    client_close(c);
  } else if (tvmffi_rpc_filled(c->session, (size_t)n)) {
    client_say_refused(c);
    client_finish(c);
  } else if (tvmffi_rpc_is_ready(c->session)) {
    say("a client has connected: %s", c->name);
    c->state = CLIENT_WAITING;
    c->deadline = CLIENTS_NEVER;
    if (tracker_use_key()) say_error("no tracker");
  }
}

/* The events that client_ready waits for. */
static short client_events(const client *c) {
  return c->state == CLIENT_SHAKING || c->state == CLIENT_CLOSING ? POLLIN
                                                                  : POLLRDHUP;
}

static void client_ready(client *c) {
  switch (c->state) {
    case CLIENT_SHAKING: client_shake_hands(c); break;
    case CLIENT_WAITING:
      say("a client has gone before its session: %s", c->name);
      client_close(c);
      break;
    case CLIENT_CLOSING: client_drop_bytes(c); break;
    default:
      c->state = CLIENT_GONE;
      if (c->deadline > now_ms() + CLIENTS_GONE_MS)
        c->deadline = now_ms() + CLIENTS_GONE_MS;
  }
}

static void client_due(client *c) {
  switch (c->state) {
    case CLIENT_RUNNING: client_time_out(c); break;
    case CLIENT_GONE:
      client_end_session(c, "its client is gone");
      client_close(c);
      break;
    case CLIENT_SHAKING:
      say("%s: a client without a whole handshake", c->name);
      client_close(c);
      break;
    default: client_close(c);
  }
}

/* Accepts a client. Its session of the protocol begins with the handshake. */
static void clients_accept(void) {
  int on = 1, idle = 60, interval = 15, probes = 4;
  struct sockaddr_storage address;
  socklen_t size = sizeof(address);
  client *c = clients_find_entry();
  int fd;
  if (!c) return; /* the last entry's client has ended its handshake */
  fd = accept4(clients_listener, (struct sockaddr *)&address, &size,
               SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    say("cannot accept a client: %s", strerror(errno));
    clients_listen_at = now_ms() + CLIENTS_PAUSE_MS;
    return;
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
  if (c->state == CLIENT_SHAKING)
    say("%s: a client without a handshake makes room for another", c->name);
  if (c->state != CLIENT_NONE) client_close(c);
  c->state = CLIENT_SHAKING;
  c->channel.in = c->channel.out = fd;
  c->deadline = now_ms() + CLIENTS_HANDSHAKE_MS;
  c->order = ++clients_count;
  log_address(&address, size, c->name, sizeof(c->name));
  clients_options.user = &c->channel;
  if (tvmffi_rpc_new(&clients_options, &c->session)) {
    client_say_refused(c);
    client_close(c);
  }
}

/* -- the loop -------------------------------------------------------------- */

/* The descriptors and the time that the loop waits for. There are no unused
   entries, because poll refuses more entries than the process may have
   descriptors. */
typedef struct {
  struct pollfd fds[CLIENTS_MAX + 3];
  nfds_t count;
  int64_t until; /* of now_ms() */
} wait_list;

/* Adds a descriptor unless it is -1. Returns where its events will be. */
static const short *wait_add(wait_list *list, int fd, short events) {
  static const short none = 0;
  struct pollfd *p = &list->fds[list->count];
  if (fd < 0) return &none;
  p->fd = fd;
  p->events = events;
  p->revents = 0;
  ++list->count;
  return &p->revents;
}

static void wait_until(wait_list *list, int64_t time) {
  if (time < list->until) list->until = time;
}

/* Adds a client. If its session runs and it has hung up, only its deadline is
   added, because poll reports the same event until the connection is closed. */
static const short *wait_add_client(wait_list *list, const client *c) {
  if (c->state == CLIENT_NONE) return wait_add(list, -1, 0);
  wait_until(list, c->deadline);
  return wait_add(list, c->state == CLIENT_GONE ? -1 : c->channel.in,
                  client_events(c));
}

/* Adds the listener if a client may be accepted. */
static const short *wait_add_listener(wait_list *list) {
  int64_t at = clients_listen_at;
  if (clients_listener < 0 || !clients_find_entry())
    return wait_add(list, -1, 0);
  if (at > now_ms()) {
    wait_until(list, at);
    return wait_add(list, -1, 0);
  }
  return wait_add(list, clients_listener, POLLIN);
}

/* Waits for an event, a signal or a time. */
static void wait_for(wait_list *list) {
  int64_t ms = list->until - now_ms();
  char bytes[64];
  nfds_t i;
  if (ms < 0) ms = 0;
  wait_add(list, clients_signals[0], POLLIN);
  if (poll(list->fds, list->count, ms > 60000 ? 60000 : (int)ms) < 0)
    for (i = 0; i < list->count; ++i) list->fds[i].revents = 0;
  while (read(clients_signals[0], bytes, sizeof(bytes)) > 0) continue;
}

/* Looks each second at what the files of the sessions hold. */
static void clients_check_files(void) {
  int i;
  if (!files_max || now_ms() < clients_files_at) return;
  for (i = 0; i < CLIENTS_MAX; ++i) client_check_files(&clients[i]);
  clients_files_at = now_ms() + CLIENTS_FILES_MS;
}

/* Waits once, and handles events of clients and deadlines that have passed. */
static void clients_handle_events(wait_list *list) {
  const short *events[CLIENTS_MAX];
  int i;
  for (i = 0; i < CLIENTS_MAX; ++i)
    events[i] = wait_add_client(list, &clients[i]);
  if (files_max && clients_running) wait_until(list, clients_files_at);
  wait_for(list);
  for (i = 0; i < CLIENTS_MAX; ++i) client_check_session(&clients[i]);
  clients_reap();
  for (i = 0; i < CLIENTS_MAX; ++i)
    if (*events[i] && clients[i].state != CLIENT_NONE)
      client_ready(&clients[i]);
  for (i = 0; i < CLIENTS_MAX; ++i)
    if (clients[i].state != CLIENT_NONE && clients[i].deadline <= now_ms())
      client_due(&clients[i]);
  clients_check_files();
}

/* Begins the sessions for which clients wait, and tells which still wait. */
static void clients_begin_sessions(void) {
  client *first;
  int i;
  while (clients_running < clients_sessions &&
         (first = clients_first(CLIENT_WAITING)))
    client_begin_session(first);
  for (i = 0; i < CLIENTS_MAX; ++i)
    if (clients[i].state == CLIENT_WAITING && !clients[i].begin) {
      clients[i].begin = now_ms();
      say("a client waits until a session ends: %s", clients[i].name);
    }
}

/* One turn of the loop. While no other session may begin, the tracker is left
   alone. */
static void clients_step(void) {
  wait_list list;
  const short *is_client, *is_tracker;
  int is_tracking = tracker.host && clients_running < clients_sessions;
  list.count = 0;
  list.until = CLIENTS_NEVER;
  is_client = wait_add_listener(&list);
  is_tracker = wait_add(&list, is_tracking ? tracker.fd : -1, tracker_events());
  if (is_tracking) wait_until(&list, tracker.at);
  clients_handle_events(&list);
  clients_begin_sessions();
  is_tracking = is_tracking && clients_running < clients_sessions;
  if (is_tracking && tracker_step(*is_tracker)) say_error("no tracker");
  if (*is_client) clients_accept();
}

/* Accepts no other client, here or by the tracker. */
static void clients_stop_listening(void) {
  say("no other client is accepted; sessions go on");
  close(clients_listener);
  clients_listener = -1;
  tracker_leave();
}

/* Serves until a signal ends the server, or without a port until the session
   has ended. */
static void clients_serve(void) {
  int i;
  while (!clients_are_stopped &&
         (clients_listener >= 0 || clients_running ||
          clients_first(CLIENT_WAITING) || clients_first(CLIENT_CLOSING))) {
    clients_step();
    if (clients_are_last && clients_listener >= 0) clients_stop_listening();
  }
  for (i = 0; i < CLIENTS_MAX; ++i)
    if (clients[i].child) client_end_session(&clients[i], "the server stops");
}

/* Leaves descriptors for the session's process if the process may have few. */
static void clients_set_limit(void) {
  struct rlimit files;
  if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < CLIENTS_MAX * 2)
    clients_limit = (int)files.rlim_cur / 2;
}

/* Serves one client on two descriptors. Returns -1 if its session could not
   begin. */
static int clients_serve_pipe(session_channel channel) {
  client *c = &clients[0];
  c->channel = channel;
  snprintf(c->name, sizeof(c->name), "a pipe");
  clients_options.user = &c->channel;
  clients_options.no_handshake = 1;
  tracker.fd = -1;
  TVMFFI_TRY(tvmffi_rpc_new(&clients_options, &c->session));
  client_begin_session(c);
  if (!clients_running) return -1;
  clients_serve();
  return 0;
}

#endif /* TVMFFI_RPC_SERVER_CLIENTS_H_ */
