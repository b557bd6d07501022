/* What a confined session must not do, tried: rpc_confined.py calls these by
   the client, in a confined session and in one that is not. Arguments are such
   that a call that is not refused does no harm. */
#define _GNU_SOURCE 1
#include "tvmffi.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int failure(long result) { return result < 0 ? errno : 0; }

static int open_for(const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC, 0600), code = failure(fd);
  if (fd >= 0) close(fd);
  return code;
}

static int try_read(const char *path) { return open_for(path, O_RDONLY); }
static int try_write(const char *path) { return open_for(path, O_WRONLY); }
static int try_create(const char *path) {
  return open_for(path, O_WRONLY | O_CREAT);
}
static int try_truncate(const char *path) { return failure(truncate(path, 0)); }
static int try_remove(const char *path) { return failure(unlink(path)); }
static int try_link(const char *path) { return failure(symlink("x", path)); }
static int try_chmod(const char *path) { return failure(chmod(path, 0777)); }
static int try_chown(const char *path) { return failure(chown(path, 0, 0)); }
static int try_list(const char *path) {
  DIR *dir = opendir(path);
  int code = dir ? 0 : errno;
  if (dir) closedir(dir);
  return code;
}

static int try_device(const char *path) {
  unsigned number;
  int fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC), code = failure(fd);
  if (fd < 0) return code;
  code = failure(ioctl(fd, TIOCGPTN, &number));
  close(fd);
  return code;
}

/* Waits for a child, whose status is an errno. */
static int end_of(pid_t child) {
  int status = 0;
  if (child < 0) return errno;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int try_fork(const char *path) {
  pid_t child = fork();
  (void)path;
  if (!child) _exit(0);
  return end_of(child);
}

/* By the call itself, because the errno of `execve` is seen only here. */
static int try_program(const char *path) {
  char *const argv[] = {(char *)(uintptr_t)path, NULL};
  char *const none[] = {NULL};
  pid_t child = fork();
  if (child > 0) return end_of(child);
  if (child < 0 && errno != EPERM) return errno;
  execve(path, argv, none);
  if (!child) _exit(errno);
  return errno;
}

static int try_socket(const char *family) {
  int fd = socket((int)strtol(family, NULL, 10), SOCK_DGRAM, 0);
  int code = failure(fd);
  if (fd >= 0) close(fd);
  return code;
}

/* Finds the session's own socket, and asks for another peer. ENOTSOCK or
   EISCONN is what the kernel says without a filter. */
static int try_connect(const char *path) {
  struct sockaddr_in to;
  struct stat status;
  int fd;
  (void)path;
  memset(&to, 0, sizeof(to));
  to.sin_family = AF_INET;
  for (fd = 3; fd < 256; ++fd)
    if (!fstat(fd, &status) && S_ISSOCK(status.st_mode) &&
        connect(fd, (struct sockaddr *)&to, sizeof(to)))
      return errno;
  return 0;
}

static int try_signal(const char *path) {
  (void)path;
  return failure(kill(getppid(), 0));
}

static int try_own_signal(const char *path) {
  (void)path;
  return failure(kill(getpid(), 0));
}

static int try_limit(const char *path) {
  (void)path;
  return failure(syscall(SYS_prlimit64, getppid(), 0, NULL, NULL));
}

static int try_type(const char *path) {
  char byte = 'x';
  (void)path;
  return failure(ioctl(0, TIOCSTI, &byte));
}

static int try_parent_memory(const char *file) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%ld/%s", (long)getppid(), file);
  return open_for(path, O_RDONLY);
}

/* System calls by number, with arguments of -1. */
static int try_call(const char *number) {
  return failure(
      syscall(strtol(number, NULL, 10), -1L, -1L, -1L, -1L, -1L, -1L));
}

static int try_privilege(const char *path) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  unsigned long long effective = 1, new = 0;
  (void)path;
  while (file && fgets(line, sizeof(line), file)) {
    sscanf(line, "CapEff: %llx", &effective);
    sscanf(line, "NoNewPrivs: %llu", &new);
  }
  if (file) fclose(file);
  return !effective && new ? EPERM : 0;
}

static int try_memory(const char *mib) {
  size_t size = (size_t)strtol(mib, NULL, 10) << 20;
  void *block = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) return errno;
  munmap(block, size);
  return 0;
}

/* Makes a file of 2 MiB, which is sparse. */
static int try_fill(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  int code = fd < 0 ? errno : failure(ftruncate(fd, 2 << 20));
  if (fd >= 0) close(fd);
  return code;
}

/* Makes a folder that its owner cannot read, with a file of 2 MiB. */
static int try_hide(const char *path) {
  char file[64];
  if (mkdir(path, 0300)) return errno;
  snprintf(file, sizeof(file), "%s/file", path);
  return try_fill(file);
}

/* Makes as many folders, each in the one before. */
static int try_deepen(const char *text) {
  long n = strtol(text, NULL, 10);
  int top = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = failure(top);
  while (!code && n--) {
    code = failure(mkdir("deeper", 0700));
    if (!code) code = failure(chdir("deeper"));
  }
  if (top >= 0 && fchdir(top)) code = errno;
  if (top >= 0) close(top);
  return code;
}

static void *sleeps(void *arg) {
  pthread_mutex_lock((pthread_mutex_t *)arg);
  pthread_mutex_unlock((pthread_mutex_t *)arg);
  return NULL;
}

static int try_threads(const char *text) {
  static pthread_t threads[4096];
  static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_attr_t small;
  int n = (int)strtol(text, NULL, 10), i, code = 0;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  pthread_mutex_lock(&gate);
  for (i = 0; i < n && !code; ++i)
    code = pthread_create(&threads[i], &small, sleeps, &gate);
  pthread_mutex_unlock(&gate);
  n = code ? i - 1 : i;
  for (i = 0; i < n; ++i) pthread_join(threads[i], NULL);
  return code;
}

#if defined(__x86_64__)
/* The system call `getpid` of 32-bit programs, which no filter of 64-bit
   numbers knows. */
static int try_other_machine(const char *path) {
  long number = 20;
  (void)path;
  __asm__ volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10",
                                                   "r11");
  return number < 0 ? (int)-number : 0;
}
#endif

static const struct {
  const char *name;
  int (*run)(const char *arg);
} tries[] = {{"read", try_read},
             {"write", try_write},
             {"create", try_create},
             {"truncate", try_truncate},
             {"remove", try_remove},
             {"link", try_link},
             {"chmod", try_chmod},
             {"chown", try_chown},
             {"list", try_list},
             {"device", try_device},
             {"fork", try_fork},
             {"program", try_program},
             {"socket", try_socket},
             {"connect", try_connect},
             {"signal", try_signal},
             {"own signal", try_own_signal},
             {"limit", try_limit},
             {"type", try_type},
             {"parent", try_parent_memory},
             {"call", try_call},
             {"privilege", try_privilege},
             {"memory", try_memory},
             {"fill", try_fill},
             {"hide", try_hide},
             {"deepen", try_deepen},
#if defined(__x86_64__)
             {"other machine", try_other_machine},
#endif
             {"threads", try_threads}};

/* Returns the errno of a try, or 0. */
TVMFFI_FUNC(attempt, int64, (str, name), (str, arg)) {
  size_t i;
  for (i = 0; i < sizeof(tries) / sizeof(*tries); ++i)
    if (!strcmp(name.data, tries[i].name))
      TVMFFI_RETURN(tries[i].run(arg.data));
  return TVMFFI_RAISE("ValueError", "no try `%s`", name.data);
}

/* The same as an error, as a function that knows nothing of confinement. */
TVMFFI_FUNC(must, none, (str, name), (str, arg)) {
  int64_t code = 0;
  TVMFFI_TRY(tvmffi_call("refused.attempt", &code, name, arg));
  if (code)
    return TVMFFI_RAISE("OSError", "%s: %s", arg.data, strerror((int)code));
  TVMFFI_RETURN();
}

/* A function against the ABI's rule: it fails and raises no error. */
static int silent(void *self, const TVMFFIAny *args, int32_t n,
                  TVMFFIAny *result) {
  (void)self, (void)args, (void)n, (void)result;
  return -1;
}

static int register_silent(void) {
  TVMFFIByteArray name = tvmffi_byte_array("refused.silent");
  TVMFFIObjectHandle f = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, silent, NULL, &f));
  code = TVMFFIFunctionSetGlobal(&name, f, 0);
  tvmffi_release((TVMFFIObject *)f);
  return code;
}

static int set_up(void) {
  TVMFFI_TRY(register_silent());
  TVMFFI_TRY(TVMFFI_REGISTER("refused.attempt", attempt));
  return TVMFFI_REGISTER("refused.must", must);
}
TVMFFI_ON_LOAD(set_up)
