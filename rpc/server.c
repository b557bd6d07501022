/* A server of TVM's RPC for the stock client of Apache TVM: docs/rpc.md.

     tvmffi-rpc --port 9090 [--key KEY] [--tracker HOST:PORT] ...
     tvmffi-rpc READ WRITE     the client's pipe: tvm.rpc.PopenSession

   Each session is a process of its own, one after the other, as timings must
   not disturb each other. The parent accepts the client, watches the session's
   time and removes its files. */
#define _GNU_SOURCE 1
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"
#define TVMFFI_RPC_IMPLEMENTATION
#include "tvmffi_rpc.h"
#include "tvmffi_rpc_backend.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "server_files.h"
#include "server_log.h"
#include "server_modules.h"
#include "server_tracker.h"

#if !defined(POLLRDHUP)
#define POLLRDHUP POLLHUP
#endif

#define MAX_LIBRARIES 64

/* The command line. */
static struct {
  const char *host, *port, *key, *root;
  const char *libraries[MAX_LIBRARIES];
  int library_count;
} settings = {"127.0.0.1", NULL, "", NULL, {NULL}, 0};

/* The libraries as modules, whose functions clients find by name. */
static TVMFFIObject *modules[MAX_LIBRARIES];

/* The bytes of a session. */
static struct {
  int in, out;
} channel = {-1, -1};

static int listener = -1;
static int signals[2] = {-1, -1};         /* a pipe: a byte for each signal */
static volatile sig_atomic_t is_stopping; /* by SIGTERM or SIGINT */

/* -- a session, in its own process ----------------------------------------- */

static int send_bytes(void *user, const void *bytes, size_t size) {
  const char *at = (const char *)bytes;
  (void)user;
  while (size) {
    ssize_t n = write(channel.out, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return TVMFFI_RAISE("ConnectionError", "cannot send: %s",
                          strerror(errno));
    at += n;
    size -= (size_t)n;
  }
  return 0;
}

/* Reads what there is: into the session's buffer if that is long, else into
   `bytes`. Returns 0 at the end of input. */
static ssize_t receive(tvmffi_rpc *session, char *bytes, size_t size,
                       int *code) {
  size_t want;
  void *to = tvmffi_rpc_buffer(session, &want);
  ssize_t n;
  int direct = want >= size;
  do n = read(channel.in, direct ? to : bytes, direct ? want : size);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return n;
  *code = direct ? tvmffi_rpc_filled(session, (size_t)n)
                 : tvmffi_rpc_feed(session, bytes, (size_t)n);
  return n;
}

/* Calls a global function that a library may have registered. */
static void notify(const char *name) {
  TVMFFIObject *f = NULL;
  if (tvmffi_global_find(name, &f) || (f && tvmffi_call(f, NULL)))
    say_error(name);
  tvmffi_release(f);
}

/* Serves until the client ends the session. Returns the exit status. */
static int serve(tvmffi_rpc *session) {
  static char bytes[65536];
  ssize_t n = 1;
  int code = 0, status = 0;
  notify("tvm.rpc.server.start");
  while (!code && n > 0) n = receive(session, bytes, sizeof(bytes), &code);
  if (code < 0) {
    say_error("the session failed");
    status = 1;
  } else if (!code && !tvmffi_rpc_is_idle(session)) {
    say("the client ended in the middle of a packet");
    status = 1;
  }
  tvmffi_rpc_free(session);
  notify("tvm.rpc.server.shutdown");
  return status;
}

/* Finds a global function, or an exported one of the libraries. */
static int find_function(void *user, tvmffi_rpc *session, const char *name,
                         TVMFFIObject **out) {
  int i;
  (void)user, (void)session;
  TVMFFI_TRY(tvmffi_global_find(name, out));
  for (i = 0; !*out && i < settings.library_count; ++i) {
    TVMFFIAny found;
    TVMFFI_TRY(
        tvmffi_call("ffi.ModuleGetFunction", &found, modules[i], name, 1));
    if (found.type_index == kTVMFFIFunction) *out = found.v_obj;
  }
  return 0;
}

/* The parent was killed, as a pipe's client does: leaves time to remove files,
   which begins at the end of input. */
static void on_orphaned(int number) {
  (void)number;
  alarm(2);
}

/* Prepares the child for its session: it ends soon after its parent, and its
   folder is the session's. */
static int enter_session(void) {
  close(signals[0]);
  close(signals[1]);
  if (listener >= 0) close(listener);
  if (tracker.fd >= 0) close(tracker.fd);
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGCHLD, SIG_DFL);
#if defined(__linux__)
  signal(SIGHUP, on_orphaned);
  prctl(PR_SET_PDEATHSIG, SIGHUP);
#endif
  setpgid(0, 0);
  return fchdir(files_root_fd) ? system_error("cannot enter", files_root) : 0;
}

/* Starts the session's process; returns its number, or -1 with an error. */
static pid_t start_session(tvmffi_rpc *session) {
  pid_t child = fork();
  int status;
  if (child < 0) return system_error("cannot start", "a session");
  if (child) {
    setpgid(child, child);
    return child;
  }
  if (enter_session()) {
    say_error("no session");
    _exit(1);
  }
  status = serve(session);
  if (!settings.root) files_discard();
  _exit(status);
}

/* -- the parent ------------------------------------------------------------ */

static void on_signal(int number) {
  char byte = 0;
  int saved = errno;
  if (number != SIGCHLD) is_stopping = 1;
  if (write(signals[1], &byte, 1) < 0) errno = saved;
  errno = saved;
}

static int catch_signals(void) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = on_signal;
  if (pipe2(signals, O_CLOEXEC | O_NONBLOCK))
    return system_error("no pipe for", "signals");
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGCHLD, &action, NULL);
  signal(SIGPIPE, SIG_IGN);
  return 0;
}

/* Waits for a signal or an event of `fd`, -1 for none, up to `ms`, -1 for
   ever. Returns the events. */
static int wait_for(int fd, short events, int64_t ms) {
  struct pollfd polled[2];
  char bytes[64];
  polled[0].fd = signals[0];
  polled[0].events = POLLIN;
  polled[1].fd = fd;
  polled[1].events = events;
  polled[1].revents = 0;
  if (poll(polled, 2, ms > 60000 ? 60000 : (int)ms) <= 0) return 0;
  while (read(signals[0], bytes, sizeof(bytes)) > 0) continue;
  return polled[1].revents;
}

static void kill_session(pid_t child) {
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
}

/* How a session ended. */
enum { BY_ITSELF, BY_TIME, BY_CLIENT, BY_SIGNAL };

/* Waits for the session's end. Ends it when its time is over, when its client
   has been gone for a second, or when the server is stopped. */
static int watch_session(pid_t child, int64_t limit_ms) {
  int64_t begin = now_ms(), gone = 0;
  while (!is_stopping) {
    int64_t now = now_ms(), left = -1;
    if (waitpid(child, NULL, WNOHANG) == child) {
      kill(-child, SIGKILL); /* what it has left behind */
      return BY_ITSELF;
    }
    if (limit_ms) left = begin + limit_ms - now;
    if (gone && (left < 0 || left > gone + 1000 - now))
      left = gone + 1000 - now;
    if (left < 0 && (limit_ms || gone)) left = 0;
    if (!left) {
      kill_session(child);
      return gone ? BY_CLIENT : BY_TIME;
    }
    if (wait_for(gone ? -1 : channel.in, POLLRDHUP, left)) gone = now_ms();
  }
  kill_session(child);
  return BY_SIGNAL;
}

/* Sets how many seconds a read (SO_RCVTIMEO) or a write (SO_SNDTIMEO) of a
   socket may take. 0 means no limit. */
static void limit_seconds(int fd, int option, int seconds) {
  struct timeval limit = {0, 0};
  limit.tv_sec = seconds;
  setsockopt(fd, SOL_SOCKET, option, &limit, sizeof(limit));
}

static void report_timeout(tvmffi_rpc *session, int64_t ms) {
  char text[200];
  limit_seconds(channel.out, SO_SNDTIMEO, 1); /* the client may not read */
  snprintf(text, sizeof(text),
           "RPCSessionTimeoutError: Your %g s session has expired, try to "
           "increase the \"session_timeout\" value.",
           (double)ms / 1000);
  if (tvmffi_rpc_abort(session, text)) tvmffi_error_clear();
}

/* Runs a session in a process of its own. `session` is freed. */
static int run_session(tvmffi_rpc *session) {
  int64_t limit = tvmffi_rpc_timeout_ms(session);
  int code = settings.root ? files_use(settings.root) : files_make();
  pid_t child = code ? -1 : start_session(session);
  if (child > 0) {
    int end = watch_session(child, limit);
    if (end == BY_TIME) {
      report_timeout(session, limit);
      say("the session's time is over");
    }
    if (end == BY_CLIENT) say("the client is gone; its session was ended");
  }
  if (settings.root)
    close(files_root_fd);
  else
    files_discard();
  tvmffi_rpc_free(session);
  return child > 0 ? 0 : -1;
}

/* -- clients that connect -------------------------------------------------- */

static int open_listener(void) {
  struct addrinfo hints, *list = NULL;
  int on = 1, failed;
  memset(&hints, 0, sizeof(hints));
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  if (getaddrinfo(settings.host, settings.port, &hints, &list))
    return TVMFFI_RAISE("ValueError", "%s:%s is no address", settings.host,
                        settings.port);
  listener = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  failed = listener < 0 || bind(listener, list->ai_addr, list->ai_addrlen) ||
           listen(listener, 16);
  freeaddrinfo(list);
  return failed ? system_error("cannot listen on port", settings.port) : 0;
}

/* The port that was bound, which is chosen by the system for 0. */
static int bound_port(void) {
  struct sockaddr_storage address;
  socklen_t size = sizeof(address);
  char service[16] = "0";
  getsockname(listener, (struct sockaddr *)&address, &size);
  getnameinfo((struct sockaddr *)&address, size, NULL, 0, service,
              sizeof(service), NI_NUMERICSERV);
  return (int)strtol(service, NULL, 10);
}

/* Waits for a client; asks the tracker meanwhile. -1 when there is none. */
static int accept_client(void) {
  int on = 1, fd;
  if (!wait_for(listener, POLLIN, tracker.host ? 2000 : -1)) {
    if (!is_stopping && tracker_ping()) say_error("no tracker");
    return -1;
  }
  fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

/* Speaks the handshake, within seconds, so that no client blocks others. */
static int shake_hands(tvmffi_rpc *session) {
  int code = 0;
  limit_seconds(channel.in, SO_RCVTIMEO, 5);
  while (!code && !tvmffi_rpc_is_ready(session)) {
    size_t size;
    void *to = tvmffi_rpc_buffer(session, &size);
    ssize_t n = read(channel.in, to, size);
    if (n <= 0) return TVMFFI_RAISE("RPCError", "a client without a handshake");
    code = tvmffi_rpc_filled(session, (size_t)n);
  }
  limit_seconds(channel.in, SO_RCVTIMEO, 0);
  return code;
}

static tvmffi_rpc_options options;

/* Serves one client. Errors are its own. */
static int serve_client(int fd) {
  tvmffi_rpc *session;
  channel.in = channel.out = fd;
  /* Before the first offer to the tracker, a client sends the server's key. */
  options.match_key = *tracker.match_key ? tracker.match_key : NULL;
  TVMFFI_TRY(tvmffi_rpc_new(&options, &session));
  if (shake_hands(session)) {
    tvmffi_rpc_free(session);
    return -1;
  }
  say("a client has connected");
  TVMFFI_TRY(run_session(session));
  say("the session has ended");
  if (tracker_offer()) say_error("no tracker");
  return 0;
}

/* Closes a connection after its client has closed it, or after a second. If a
   connection is closed while the client still sends, the kernel resets it, and
   the reset may overtake the session's last bytes, which are often an error. So
   this function first reads and drops what the client sends. */
static void close_client(int fd) {
  char bytes[4096];
  int64_t left, end = now_ms() + 1000;
  shutdown(fd, SHUT_WR);
  while (!is_stopping && (left = end - now_ms()) > 0)
    if (wait_for(fd, POLLIN, left) && read(fd, bytes, sizeof(bytes)) <= 0)
      break;
  close(fd);
}

static int serve_port(void) {
  TVMFFI_TRY(open_listener());
  tracker.port = bound_port();
  tracker.key = settings.key;
  say("listening on %s:%d", settings.host, tracker.port);
  if (tracker_offer()) say_error("no tracker yet");
  while (!is_stopping) {
    int fd = accept_client();
    if (fd < 0) continue;
    if (serve_client(fd)) say_error("a client was refused");
    close_client(fd);
  }
  say("stopped");
  return 0;
}

static int serve_pipe(const char *in, const char *out) {
  tvmffi_rpc *session;
  channel.in = atoi(in);
  channel.out = atoi(out);
  log_is_quiet = 1; /* standard error is the client's */
  options.no_handshake = 1;
  TVMFFI_TRY(tvmffi_rpc_new(&options, &session));
  return run_session(session);
}

/* -- the command line ------------------------------------------------------ */

static const char usage[] =
    "usage: tvmffi-rpc --port PORT [OPTIONS]\n"
    "       tvmffi-rpc [OPTIONS] READ WRITE\n"
    "\n"
    "Serves clients of Apache TVM's RPC (tvm.rpc.connect) on a port, or one\n"
    "client on two file descriptors (tvm.rpc.PopenSession).\n"
    "\n"
    "  --host HOST           the address to listen on; 127.0.0.1, which\n"
    "                        only this machine reaches\n"
    "  --port PORT           the port; 0 takes one that is free\n"
    "  --key KEY             what clients must send\n"
    "  --tracker HOST:PORT   offer this server at a tracker; needs --key\n"
    "  --address HOST        the address that the tracker hands out\n"
    "  --load LIBRARY        load it and offer its functions; repeatable\n"
    "  --root FOLDER         keep clients' files here, not in a temporary\n"
    "                        folder for each session\n"
    "  --quiet               say nothing on standard error\n";

/* A key or an address goes into JSON texts and is one word. */
static int check_word(const char *option, const char *word) {
  if (strlen(word) < 256 && !strpbrk(word, "\"\\ \t\r\n")) return 0;
  return TVMFFI_RAISE("ValueError", "%s `%s`: one word without quotes", option,
                      word);
}

static int set_tracker(const char *text) {
  static char host[256];
  const char *colon = strrchr(text, ':');
  if (!colon || (size_t)(colon - text) >= sizeof(host))
    return TVMFFI_RAISE("ValueError", "--tracker `%s` is not HOST:PORT", text);
  memcpy(host, text, (size_t)(colon - text));
  tracker.host = host;
  tracker.service = colon + 1;
  return 0;
}

static int set_option(const char *name, const char *value) {
  if (!strcmp(name, "--host")) {
    settings.host = value;
  } else if (!strcmp(name, "--port")) {
    settings.port = value;
  } else if (!strcmp(name, "--root")) {
    settings.root = value;
  } else if (!strcmp(name, "--key")) {
    settings.key = value;
    return check_word(name, value);
  } else if (!strcmp(name, "--address")) {
    tracker.address = value;
    return check_word(name, value);
  } else if (!strcmp(name, "--tracker")) {
    return set_tracker(value);
  } else if (!strcmp(name, "--load") &&
             settings.library_count < MAX_LIBRARIES) {
    settings.libraries[settings.library_count++] = value;
  } else {
    return TVMFFI_RAISE("ValueError", "unknown option %s\n%s", name, usage);
  }
  return 0;
}

/* Reads the options; *rest is the index of the first other argument. */
static int read_options(int argc, char **argv, int *rest) {
  int i;
  for (i = 1; i < argc && !strncmp(argv[i], "--", 2); ++i) {
    if (!strcmp(argv[i], "--quiet")) {
      log_is_quiet = 1;
    } else if (i + 1 == argc) {
      return TVMFFI_RAISE("ValueError", "%s without a value\n%s", argv[i],
                          usage);
    } else {
      TVMFFI_TRY(set_option(argv[i], argv[i + 1]));
      ++i;
    }
  }
  *rest = i;
  if (tracker.host && !*settings.key)
    return TVMFFI_RAISE("ValueError", "--tracker needs --key");
  return 0;
}

/* Loads a library, so that other libraries see its symbols and clients its
   exported functions. */
static int load_library(int i) {
  char path[FILES_PATH_SIZE];
  if (!realpath(settings.libraries[i], path))
    return system_error("cannot load", settings.libraries[i]);
  if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL))
    return TVMFFI_RAISE("OSError", "%s", dlerror());
  return tvmffi_call("ffi.ModuleLoadFromFile", &modules[i], path);
}

static int set_up(void) {
  int i;
  options.write = send_bytes;
  options.find = find_function;
  options.key = settings.key;
  TVMFFI_TRY(catch_signals());
  TVMFFI_TRY(tvmffi_rpc_register(&options));
  TVMFFI_TRY(tvmffi_rpc_register_backend());
  TVMFFI_TRY(files_register());
  TVMFFI_TRY(modules_register());
  for (i = 0; i < settings.library_count; ++i) TVMFFI_TRY(load_library(i));
  return 0;
}

static int run(int argc, char **argv) {
  int rest = 0;
  TVMFFI_TRY(read_options(argc, argv, &rest));
  TVMFFI_TRY(set_up());
  if (argc - rest == 2 && !settings.port)
    return serve_pipe(argv[rest], argv[rest + 1]);
  if (argc == rest && settings.port) return serve_port();
  return TVMFFI_RAISE("ValueError", "a port, or two descriptors\n%s", usage);
}

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "--help")) return !fputs(usage, stdout);
  if (!run(argc, argv)) return 0;
  log_is_quiet = 0;
  say_error("error");
  return 2;
}
