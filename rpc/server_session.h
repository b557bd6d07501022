/* A session, in a process of its own: functions by name, bytes in and bytes
   out. */
#ifndef TVMFFI_RPC_SERVER_SESSION_H_
#define TVMFFI_RPC_SERVER_SESSION_H_

#include <signal.h>
#include <sys/mman.h>

#include "server_confine.h"
#include "server_log.h"

#define SESSION_MAX_LIBRARIES 64

/* The libraries of --load as modules, whose functions clients find by name. */
static TVMFFIObject *session_libraries[SESSION_MAX_LIBRARIES];
static int session_library_count;

/* Where a session's bytes come from and go to: a socket, or two pipes. */
typedef struct {
  int in, out;
} session_channel;

static volatile sig_atomic_t session_is_orphaned; /* the parent was killed */

/* 1 while a function is called, in memory that the server's process reads when
   the session has ended: then no packet is half sent, so the server can tell
   the client why. Each session has its own, which no other session can write.
   */
static volatile char *session_is_in_call;

/* Makes that memory for the next session. */
static int session_share(void) {
  void *page =
      mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return system_error("no memory for", "a session");
  session_is_in_call = (volatile char *)page;
  return 0;
}

static void session_unshare(volatile char *is_in_call) {
  if (is_in_call) munmap((void *)(uintptr_t)is_in_call, 1);
}

/* Is the hook `write` of a session whose `user` is its channel. */
static int session_send(void *user, const void *bytes, size_t size) {
  const char *at = (const char *)bytes;
  while (size) {
    ssize_t n = write(((session_channel *)user)->out, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return TVMFFI_RAISE("ConnectionError", "cannot send: %s",
                          strerror(errno));
    at += n;
    size -= (size_t)n;
  }
  return 0;
}

/* Is the hook `find`: looks for a global function, then for an exported one of
   the libraries. */
static int session_find(void *user, tvmffi_rpc *session, const char *name,
                        TVMFFIObject **out) {
  TVMFFI_SCOPE;
  TVMFFIObject *f;
  int i;
  (void)user, (void)session;
  TVMFFI_TRY(tvmffi_global_find(name, &f));
  for (i = 0; !f && i < session_library_count; ++i) {
    TVMFFIAny found;
    TVMFFI_TRY(tvmffi_call("ffi.ModuleGetFunction", &found,
                           session_libraries[i], name, 1));
    if (found.type_index == kTVMFFIFunction) f = found.v_obj;
  }
  tvmffi_keep(out, f);
  return 0;
}

#define SESSION_MEMORY "this server's --max-memory limits it"

static const int session_always = 1;

/* Is the hook `hint`: names the option that may have caused an error. */
static const char *session_hint(void *user, TVMFFIObject *error) {
  static const struct {
    const char *text;
    const int *applies;
    const char *hint;
  } hints[] = {
      {"failed to map segment", &files_are_noexec, files_noexec},
      {"Permission denied", &confine.is_on,
       "this server confines sessions: --allow PATH opens a file or folder"},
      {"Operation not permitted", &confine.is_on,
       "this server confines sessions: --allow opens programs or network"},
      {"Resource temporarily unavailable", &confine.limits_threads,
       "this server's --max-threads or --max-memory limits it"},
      {"Resource temporarily unavailable", &confine.limits_memory,
       SESSION_MEMORY},
      {"Cannot allocate memory", &confine.limits_memory, SESSION_MEMORY},
      {"failed to map segment", &confine.limits_memory, SESSION_MEMORY},
      {"no memory", &confine.limits_memory, SESSION_MEMORY},
      {"out of memory", &confine.limits_memory, SESSION_MEMORY},
      {"bad_alloc", &confine.limits_memory, SESSION_MEMORY},
      {"max_packet", &session_always, "--max-packet sets it"}};
  const char *message = TVMFFIErrorGetCellPtr(error)->message.data;
  size_t i;
  (void)user;
  for (i = 0; i < sizeof(hints) / sizeof(*hints); ++i)
    if (*hints[i].applies && strstr(message, hints[i].text))
      return hints[i].hint;
  return NULL;
}

/* Is the hook `call`. */
static int session_call(void *user, tvmffi_rpc *session, TVMFFIObject *function,
                        const TVMFFIAny *args, int32_t n, TVMFFIAny *result) {
  int code;
  (void)user, (void)session;
  *session_is_in_call = 1;
  code = TVMFFIFunctionCall(function, (TVMFFIAny *)(uintptr_t)args, n, result);
  *session_is_in_call = 0;
  return code ? -1 : 0; /* 1 would be TVMFFI_RPC_LATER */
}

/* Reads what there is: into the session's buffer if that is long, else into
   `bytes`. Returns 0 at the end of input, and when the parent was killed. */
static ssize_t session_receive(tvmffi_rpc *session, int in, char *bytes,
                               size_t size, int *code) {
  size_t want;
  void *to = tvmffi_rpc_buffer(session, &want);
  ssize_t n;
  int direct = want >= size;
  do {
    if (session_is_orphaned) return 0;
    n = read(in, direct ? to : bytes, direct ? want : size);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return n;
  *code = direct ? tvmffi_rpc_filled(session, (size_t)n)
                 : tvmffi_rpc_feed(session, bytes, (size_t)n);
  return n;
}

/* Calls a global function that a library may have registered. */
static void session_notify(const char *name) {
  TVMFFI_SCOPE;
  TVMFFIObject *f;
  if (tvmffi_global_find(name, &f) || (f && tvmffi_call(f, NULL)))
    say_error(name);
}

/* Serves until the client ends the session, which is freed. Returns the exit
   status. */
static int session_serve(tvmffi_rpc *session, int in) {
  static char bytes[65536];
  ssize_t n = 1;
  int code = 0, status = 0;
  session_notify("tvm.rpc.server.start");
  while (!code && n > 0)
    n = session_receive(session, in, bytes, sizeof(bytes), &code);
  if (code < 0) {
    say_error("the session failed");
    status = 1;
  } else if (!code && !tvmffi_rpc_is_idle(session)) {
    say("the client ended in the middle of a packet");
    status = 1;
  }
  tvmffi_rpc_free(session);
  session_notify("tvm.rpc.server.shutdown");
  return status;
}

#endif /* TVMFFI_RPC_SERVER_SESSION_H_ */
