/* A server of TVM's RPC for the stock client of Apache TVM: docs/rpc.md.

     tvmffi-rpc --port 9090 [--key KEY] [--tracker HOST:PORT] ...
     tvmffi-rpc READ WRITE     the client's pipe: tvm.rpc.PopenSession

   This file reads the command line. The others, in their order: a session
   (server_session.h), its files (server_files.h), its confinement
   (server_confine.h), modules from its files (server_modules.h), random
   elements (server_random.h), the tracker (server_tracker.h), and the clients
   with the loop that serves them (server_clients.h). */
#define _GNU_SOURCE 1
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"
#define TVMFFI_RPC_IMPLEMENTATION
#include "tvmffi_rpc.h"
#include "tvmffi_rpc_backend.h"

#include <sys/un.h>

#include "server_session.h"
#include "server_files.h"
#include "server_confine.h"
#include "server_modules.h"
#include "server_random.h"
#include "server_tracker.h"
#include "server_clients.h"

/* The command line. */
static struct {
  const char *host, *port, *key;
  const char *libraries[SESSION_MAX_LIBRARIES];
  int64_t max_packet; /* in bytes; an upload sends a file in one packet */
} settings = {"127.0.0.1", NULL, "", {NULL}, INT64_C(1024) << 20};

/* -- serving --------------------------------------------------------------- */

static int open_listener(void) {
  struct addrinfo hints, *list = NULL;
  int on = 1, failed, error, fd, unknown;
  char name[300];
  memset(&hints, 0, sizeof(hints));
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  unknown = getaddrinfo(settings.host, settings.port, &hints, &list);
  if (unknown)
    return TVMFFI_RAISE("ValueError", "--host `%s`: %s", settings.host,
                        name_error(unknown, errno));
  fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  failed = fd < 0 || bind(fd, list->ai_addr, list->ai_addrlen) ||
           listen(fd, SOMAXCONN);
  error = errno;
  freeaddrinfo(list);
  clients_listener = fd;
  if (!failed) return 0;
  return TVMFFI_RAISE(
      "OSError", "cannot listen on %s: %s",
      log_host(settings.host, settings.port, name, sizeof(name)),
      error == EADDRINUSE ? "another program does; `ss -ltnp` names it"
                          : strerror(error));
}

/* The port that was bound, which is chosen by the system for 0. */
static int bound_port(void) {
  struct sockaddr_storage address;
  socklen_t size = sizeof(address);
  char service[16] = "0";
  getsockname(clients_listener, (struct sockaddr *)&address, &size);
  getnameinfo((struct sockaddr *)&address, size, NULL, 0, service,
              sizeof(service), NI_NUMERICSERV);
  return (int)strtol(service, NULL, 10);
}

/* Tells systemd that clients can connect: sd_notify's protocol, for units of
   Type=notify. */
static void notify_ready(void) {
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un address;
  size_t n = path ? strlen(path) : 0;
  int fd;
  if (!n || n >= sizeof(address.sun_path)) return;
  fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  memset(&address, 0, sizeof(address));
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path, n);
  if (*path == '@') *address.sun_path = 0; /* an abstract name */
  if (sendto(fd, "READY=1", 7, MSG_NOSIGNAL, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0)
    say("the service manager was not told: %s", strerror(errno));
  close(fd);
}

static int serve_port(void) {
  char port[16], name[300];
  tracker.key = settings.key;
  tracker_begin();
  TVMFFI_TRY(open_listener());
  tracker.port = bound_port();
  clients_options.match_key = tracker.match_key;
  clients_set_limit();
  snprintf(port, sizeof(port), "%d", tracker.port);
  say("listening on %s", log_host(settings.host, port, name, sizeof(name)));
  notify_ready();
  clients_serve();
  tracker_end_look_up();
  say("stopped");
  return 0;
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
    "  --address HOST        the address that the tracker hands out;\n"
    "                        needs --tracker\n"
    "  --load LIBRARY        load it and offer its functions; repeatable\n"
    "  --root FOLDER         keep clients' files here, not in a temporary\n"
    "                        folder for each session\n"
    "  --max-packet MIB      the longest packet, and so the longest file that\n"
    "                        a client can upload; 1024\n"
    "  --confine WHEN        confine sessions: auto, where the kernel can;\n"
    "                        yes, or end; no\n"
    "  --allow WHAT          open to confined sessions PATH, PATH:ro, python,\n"
    "                        network or programs; repeatable\n"
    "  --max-memory MIB      memory of a session; the machine's\n"
    "  --max-threads N       threads of a session, unless root's; 1024\n"
    "  --max-disk MIB        the files of a session together; no limit\n"
    "  --max-time SECONDS    the longest session; as long as its client asks.\n"
    "                        For these four, 0 is no limit\n"
    "  --sessions N          sessions at once; 1, as timings want\n"
    "  --quiet               say nothing on standard error\n"
    "  --help, --version     print this, or the version\n";

/* Whether the usage lists an option. */
static int is_option(const char *name) {
  char line[40];
  return (size_t)snprintf(line, sizeof(line), "\n  %s ", name) < sizeof(line) &&
         strstr(usage, line);
}

/* Reads a whole number from `least` to `most`. */
static int read_number(const char *option, const char *text, long least,
                       long most, long *out) {
  char *end = NULL;
  if (*text >= '0' && *text <= '9') *out = strtol(text, &end, 10);
  if (end && !*end && *out >= least && *out <= most) return 0;
  return TVMFFI_RAISE("ValueError", "%s `%s`: a number from %ld to %ld", option,
                      text, least, most);
}

/* A key or an address goes into JSON texts and is one word. */
static int check_word(const char *option, const char *word) {
  size_t n = strlen(word);
  if (n && n < 256 && !strpbrk(word, "\"\\ \t\r\n")) return 0;
  return TVMFFI_RAISE("ValueError", "%s `%s`: one word without quotes", option,
                      word);
}

static int set_tracker(const char *text) {
  static char host[256];
  const char *colon = strrchr(text, ':');
  size_t n = colon ? (size_t)(colon - text) : 0;
  long port = 0;
  if (!n || n >= sizeof(host))
    return TVMFFI_RAISE("ValueError", "--tracker `%s` is not HOST:PORT", text);
  if (n > 2 && *text == '[' && colon[-1] == ']') ++text, n -= 2;
  memcpy(host, text, n);
  tracker.host = host;
  tracker.service = colon + 1;
  return read_number("--tracker", tracker.service, 1, 65535, &port);
}

/* The options that are whole numbers, each with its unit. */
static const struct {
  const char *name;
  long least, most;
  int64_t unit, *out;
} numbers[] = {
    {"--max-packet", 1, (long)((size_t)-1 / 2 >> 20), 1 << 20,
     &settings.max_packet},
    {"--max-memory", 0, LONG_MAX >> 20, 1 << 20, &confine.memory},
    {"--max-threads", 0, INT_MAX, 1, &confine.threads},
    {"--max-disk", 0, LONG_MAX >> 20, 1 << 20, &files_max},
    {"--max-time", 0, INT_MAX, 1000, &clients_max_ms},
    {"--sessions", 1, CLIENTS_MAX, 1, &clients_sessions}};

static int add_library(const char *path) {
  if (session_library_count == SESSION_MAX_LIBRARIES)
    return TVMFFI_RAISE("ValueError", "more than %d times --load",
                        SESSION_MAX_LIBRARIES);
  settings.libraries[session_library_count++] = path;
  return 0;
}

static int set_option(const char *name, const char *value) {
  long port = 0, n = 0;
  size_t i;
  for (i = 0; i < sizeof(numbers) / sizeof(*numbers); ++i)
    if (!strcmp(name, numbers[i].name)) {
      TVMFFI_TRY(read_number(name, value, numbers[i].least, numbers[i].most,
                             &n));
      *numbers[i].out = n * numbers[i].unit;
      return 0;
    }
  if (!strcmp(name, "--host")) {
    settings.host = value;
  } else if (!strcmp(name, "--port")) {
    settings.port = value;
    return read_number(name, value, 0, 65535, &port);
  } else if (!strcmp(name, "--root")) {
    files_kept = value;
  } else if (!strcmp(name, "--key")) {
    settings.key = value;
    return check_word(name, value);
  } else if (!strcmp(name, "--address")) {
    tracker.address = value;
    return check_word(name, value);
  } else if (!strcmp(name, "--tracker")) {
    return set_tracker(value);
  } else if (!strcmp(name, "--load")) {
    return add_library(value);
  } else if (!strcmp(name, "--confine")) {
    return confine_set_mode(value);
  } else if (!strcmp(name, "--allow")) {
    return confine_allow(value);
  }
  return 0;
}

/* Reads an option and its value, which is behind a `=` or the next word.
   Returns the number of words, or -1 with an error. */
static int read_option(char *name, const char *next) {
  char *value = strchr(name, '=');
  if (value) *value++ = 0;
  if (!is_option(name))
    return TVMFFI_RAISE("ValueError", "there is no option %s: see --help",
                        name);
  if (!strcmp(name, "--quiet")) {
    log_is_quiet = 1;
    return value ? TVMFFI_RAISE("ValueError", "--quiet takes no value") : 1;
  }
  if (!value && !next)
    return TVMFFI_RAISE("ValueError", "%s without a value: see --help", name);
  TVMFFI_TRY(set_option(name, value ? value : next));
  return value ? 1 : 2;
}

/* Reads the options; *rest is the index of the first other argument. */
static int read_options(int argc, char **argv, int *rest) {
  int i, words;
  for (i = 1; i < argc && argv[i][0] == '-'; i += words) {
    words = read_option(argv[i], argv[i + 1]);
    if (words < 0) return -1;
  }
  *rest = i;
  if (tracker.host && !*settings.key)
    return TVMFFI_RAISE("ValueError", "--tracker needs --key");
  if (tracker.address && !tracker.host)
    return TVMFFI_RAISE("ValueError", "--address needs --tracker");
  return 0;
}

/* Loads a library, so that other libraries see its symbols and clients its
   exported functions. */
static int load_library(int i) {
  TVMFFI_SCOPE;
  char path[PATH_MAX];
  TVMFFIObject *library;
  void *opened; /* stays open */
  if (!realpath(settings.libraries[i], path))
    return system_error("cannot load", settings.libraries[i]);
  TVMFFI_TRY(modules_open(path, RTLD_GLOBAL, &opened));
  TVMFFI_TRY(tvmffi_call("ffi.ModuleLoadFromFile", &library, path));
  tvmffi_keep(&session_libraries[i], library);
  return 0;
}

static int set_up(void) {
  int i;
  clients_options.write = session_send;
  clients_options.find = session_find;
  clients_options.call = session_call;
  clients_options.hint = session_hint;
  clients_options.key = settings.key;
  clients_options.max_packet = (size_t)settings.max_packet;
  TVMFFI_TRY(files_probe());
  TVMFFI_TRY(confine_check());
  TVMFFI_TRY(clients_catch_signals());
  TVMFFI_TRY(tvmffi_rpc_register(&clients_options));
  TVMFFI_TRY(tvmffi_rpc_register_backend());
  TVMFFI_TRY(files_register());
  TVMFFI_TRY(modules_register());
  TVMFFI_TRY(random_register());
  for (i = 0; i < session_library_count; ++i) TVMFFI_TRY(load_library(i));
  return 0;
}

/* Reads a file descriptor of this process. */
static int read_descriptor(const char *text, int *fd) {
  long number = -1;
  TVMFFI_TRY(read_number("the descriptor", text, 0, INT_MAX, &number));
  *fd = (int)number;
  return fcntl(*fd, F_GETFD) < 0 ? system_error("the descriptor", text) : 0;
}

static int serve_pipe(const char *in, const char *out) {
  session_channel channel;
  TVMFFI_TRY(read_descriptor(in, &channel.in));
  TVMFFI_TRY(read_descriptor(out, &channel.out));
  return clients_serve_pipe(channel);
}

/* Stores 1 in *status if what fails may succeed later: the port. */
static int run(int argc, char **argv, int *status) {
  int rest = 0, is_pipe;
  TVMFFI_TRY(read_options(argc, argv, &rest));
  is_pipe = argc - rest == 2 && !settings.port;
  if (settings.port && argc != rest)
    return TVMFFI_RAISE("ValueError", "`%s` is not an option: see --help",
                        argv[rest]);
  if (!is_pipe && !settings.port)
    return TVMFFI_RAISE("ValueError",
                        "wanted: --port PORT, or two descriptors; see --help");
  if (is_pipe) log_is_quiet = 1; /* standard error is the client's */
  TVMFFI_TRY(set_up());
  if (is_pipe) return serve_pipe(argv[rest], argv[rest + 1]);
  *status = 1;
  return serve_port();
}

static int has_word(char **argv, const char *word) {
  while (*argv && strcmp(*argv, word)) ++argv;
  return *argv != NULL;
}

int main(int argc, char **argv) {
  int status = 2;
  if (has_word(argv, "--help") || has_word(argv, "-h"))
    return fputs(usage, stdout) < 0;
  if (has_word(argv, "--version"))
    return printf("tvmffi-rpc %d.%d.%d, protocol " TVMFFI_RPC_VERSION "\n",
                  TVMFFI_VERSION_MAJOR, TVMFFI_VERSION_MINOR,
                  TVMFFI_VERSION_PATCH) < 0;
  if (!run(argc, argv, &status)) return 0;
  log_is_quiet = 0;
  say_error("error");
  return status;
}
