/* The lines that the server writes to standard error, and its clock. */
#ifndef TVMFFI_RPC_SERVER_LOG_H_
#define TVMFFI_RPC_SERVER_LOG_H_

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int log_is_quiet; /* by --quiet, or as a client reads standard error */

/* Whether the journal of systemd reads standard error. JOURNAL_STREAM has the
   device and the inode of the stream that it reads. */
static int log_is_journal(void) {
  const char *stream = getenv("JOURNAL_STREAM");
  char text[64];
  struct stat status;
  if (!stream || fstat(2, &status)) return 0;
  snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)status.st_dev,
           (unsigned long long)status.st_ino);
  return !strcmp(stream, text);
}

/* Writes the time in UTC and a space, or nothing for the journal, which has
   the time of each line. Returns `text`. */
static const char *log_time(char *text, size_t size) {
  time_t now = time(NULL);
  struct tm utc;
  if (log_is_journal() ||
      !strftime(text, size, "%Y-%m-%dT%H:%M:%SZ ", gmtime_r(&now, &utc)))
    *text = 0;
  return text;
}

/* Writes a line, unless --quiet forbids it. It is one write, because sessions
   write to the same stream. Control characters become spaces: a client's text
   could begin another line by them. */
static void say(const char *format, ...) {
  char when[32], text[2048] = "", *at;
  va_list ap;
  if (log_is_quiet) return;
  va_start(ap, format);
  vsnprintf(text, sizeof(text), format, ap);
  va_end(ap);
  for (at = text; *at; ++at)
    if (iscntrl((unsigned char)*at)) *at = ' ';
  fprintf(stderr, "%stvmffi-rpc[%ld]: %s\n", log_time(when, sizeof(when)),
          (long)getpid(), text);
}

/* Writes and drops the error that is raised. */
static void say_error(const char *what) {
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  if (error) say("%s: %s", what, TVMFFIErrorGetCellPtr(error)->message.data);
}

/* Raises an error for what errno says of a file, a program or a port. */
static int system_error(const char *what, const char *name) {
  return TVMFFI_RAISE("OSError", "%s `%.200s`: %s", what, name,
                      strerror(errno));
}

/* Returns the text of a failed getaddrinfo, after which errno was `system`. */
static const char *name_error(int error, int system) {
  return error == EAI_SYSTEM ? strerror(system) : gai_strerror(error);
}

/* Writes HOST:PORT, with brackets around a host with colons. Returns `text`. */
static const char *log_host(const char *host, const char *port, char *text,
                            size_t size) {
  snprintf(text, size, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
  return text;
}

/* Writes an address as HOST:PORT. */
static void log_address(const struct sockaddr_storage *address, socklen_t size,
                        char *text, size_t text_size) {
  char host[64], port[8];
  if (getnameinfo((const struct sockaddr *)address, size, host, sizeof(host),
                  port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
    snprintf(text, text_size, "an unknown address");
  else
    log_host(host, port, text, text_size);
}

static int64_t now_ms(void) {
  return (int64_t)(TVMFFI_RPC_CLOCK_NS() / 1000000);
}

#endif /* TVMFFI_RPC_SERVER_LOG_H_ */
