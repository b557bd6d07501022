/* The confinement of a session's process, on Linux: the kernel refuses to a
   client's code all that kernels never need. Landlock limits the files to the
   session's folder. A filter of system calls (seccomp) refuses programs,
   sockets, and calls that reach other processes or the kernel's settings.
   Limits bound memory and threads. No privilege is left, and no program can
   give one back.

   The programs that link an upload, `cc` and `tar`, may start others, so they
   are confined in another way: server_modules.h. */
#ifndef TVMFFI_RPC_SERVER_CONFINE_H_
#define TVMFFI_RPC_SERVER_CONFINE_H_

#include <fcntl.h>
#include <sys/resource.h>

#include "server_files.h"
#include "server_log.h"

#define CONFINE_MAX_PATHS 64

typedef enum { CONFINE_AUTO, CONFINE_YES, CONFINE_NO } confine_mode;

/* A file or folder that a session may use beside its own folder. */
typedef struct {
  const char *path;
  int is_read_only;
} confine_path;

/* The command line's choices. */
static struct {
  confine_mode mode;
  confine_path paths[CONFINE_MAX_PATHS];
  int count;               /* of paths */
  int network, programs;   /* are allowed */
  int64_t memory, threads; /* more than at the session's begin; 0: no limit,
                              -1: the default */
  /* Set by confine_check: */
  int is_on; /* sessions are confined */
  int limits_memory, limits_threads; /* so that hints may name the limits */
} confine = {CONFINE_AUTO, {{NULL, 0}}, 0, 0, 0, -1, -1, 0, 0, 0};

/* -- the command line ------------------------------------------------------ */

static int confine_set_mode(const char *text) {
  static const char *const modes[] = {"auto", "yes", "no"};
  int i;
  for (i = 0; i < 3; ++i)
    if (!strcmp(text, modes[i])) {
      confine.mode = (confine_mode)i;
      return 0;
    }
  return TVMFFI_RAISE("ValueError", "--confine `%s`: auto, yes or no", text);
}

/* Adds a file or folder, which must exist. The path is copied. */
static int confine_add_path(const char *text, size_t size, int is_read_only) {
  char name[PATH_MAX], *path;
  if (confine.count == CONFINE_MAX_PATHS)
    return TVMFFI_RAISE("ValueError", "more than %d paths of --allow",
                        CONFINE_MAX_PATHS);
  snprintf(name, sizeof(name), "%.*s", (int)size, text);
  path = realpath(name, NULL);
  if (!path) return system_error("cannot allow", name);
  confine.paths[confine.count].path = path;
  confine.paths[confine.count++].is_read_only = is_read_only;
  return 0;
}

/* Adds the folders from which the python3 of PATH imports. */
static int confine_add_python(void) {
  char line[PATH_MAX];
  int code = 0, count = confine.count;
  FILE *python = popen(
      "python3 -c 'import os, sys; print(*filter(os.path.exists, [sys.prefix, "
      "sys.base_prefix, *filter(None, sys.path)]), sep=\"\\n\")'",
      "r");
  if (!python) return system_error("cannot run", "python3");
  while (!code && fgets(line, sizeof(line), python))
    code = confine_add_path(line, strcspn(line, "\n"), 1);
  if (pclose(python) && !code) code = -1;
  if (!code && confine.count > count) return 0;
  return TVMFFI_RAISE("ValueError", "--allow python: python3 does not run");
}

/* Reads the value of --allow: PATH, PATH:ro, or the name of a freedom. */
static int confine_allow(const char *text) {
  size_t n = strlen(text);
  if (!strcmp(text, "python")) return confine_add_python();
  if (!strcmp(text, "network")) return !(confine.network = 1);
  if (!strcmp(text, "programs")) return !(confine.programs = 1);
  if (*text != '/')
    return TVMFFI_RAISE("ValueError",
                        "--allow `%s`: an absolute path, one with :ro, "
                        "python, network or programs",
                        text);
  if (n > 3 && !strcmp(text + n - 3, ":ro"))
    return confine_add_path(text, n - 3, 1);
  return confine_add_path(text, n, 0);
}

#if defined(__linux__)

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* -- files: Landlock ------------------------------------------------------- */

/* The system calls and structs of linux/landlock.h, which old headers lack. */
#if !defined(SYS_landlock_create_ruleset)
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

typedef struct {
  uint64_t files, network, scopes; /* the rights that rules have to give */
} confine_rules;

typedef struct {
  uint64_t rights;
  int32_t fd;
} __attribute__((__packed__)) confine_rule;

#define CONFINE_EXECUTE (UINT64_C(1) << 0)
#define CONFINE_WRITE (UINT64_C(1) << 1)
#define CONFINE_READ (UINT64_C(1) << 2)
#define CONFINE_LIST (UINT64_C(1) << 3)
#define CONFINE_REMOVE (UINT64_C(3) << 4) /* folders, files */
#define CONFINE_MAKE_FOLDER (UINT64_C(1) << 7)
#define CONFINE_MAKE_FILE (UINT64_C(1) << 8)
#define CONFINE_MOVE (UINT64_C(1) << 13)
#define CONFINE_TRUNCATE (UINT64_C(1) << 14)
#define CONFINE_IOCTL (UINT64_C(1) << 15) /* of a device */

/* The rights that a rule may give to a file; others are for folders. */
#define CONFINE_OF_FILE                                                \
  (CONFINE_EXECUTE | CONFINE_WRITE | CONFINE_READ | CONFINE_TRUNCATE | \
   CONFINE_IOCTL)
#define CONFINE_READS (CONFINE_READ | CONFINE_LIST)
#define CONFINE_WRITES                                        \
  (CONFINE_READS | CONFINE_WRITE | CONFINE_REMOVE |           \
   CONFINE_MAKE_FOLDER | CONFINE_MAKE_FILE | CONFINE_MOVE |   \
   CONFINE_TRUNCATE)

/* Returns the version of the kernel's Landlock, 0 for none. */
static int confine_landlock_version(void) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, 1u);
  return version > 0 ? (int)version : 0;
}

/* Returns the rights to files that a version of Landlock knows. It refuses
   others, and so they are left out, as its documentation advises. */
static uint64_t confine_known_rights(int version) {
  static const int bits[] = {13, 14, 15, 15, 16}; /* of the versions 1 to 5 */
  return (UINT64_C(1) << bits[version < 5 ? version - 1 : 4]) - 1;
}

/* Gives rights to a path of the rules. A path of the system that is not there
   is left out, because systems differ. */
static int confine_give(int rules, const char *path, uint64_t rights) {
  struct stat status;
  confine_rule rule;
  int failed;
  rule.fd = open(path, O_PATH | O_CLOEXEC);
  if (rule.fd < 0) return 0;
  if (!fstat(rule.fd, &status) && !S_ISDIR(status.st_mode))
    rights &= CONFINE_OF_FILE;
  rule.rights = rights & confine_known_rights(confine_landlock_version());
  failed = (int)syscall(SYS_landlock_add_rule, rules, 1, &rule, 0u);
  close(rule.fd);
  return failed ? system_error("cannot allow", path) : 0;
}

/* Gives what each session needs: libraries, harmless devices, and what a pool
   of threads reads to count processors. */
static int confine_give_system(int rules) {
  static const char *const read_only[] = {"/lib",
                                          "/lib32",
                                          "/lib64",
                                          "/usr/lib",
                                          "/usr/lib32",
                                          "/usr/lib64",
                                          "/usr/local/lib",
                                          "/etc/ld.so.cache",
                                          "/dev/random",
                                          "/dev/urandom",
                                          "/proc/cpuinfo",
                                          "/proc/meminfo",
                                          "/proc/self",
                                          "/sys/devices/system"};
  static const char *const written[] = {"/dev/null", "/dev/zero", "/dev/full"};
  size_t i;
  for (i = 0; i < sizeof(read_only) / sizeof(*read_only); ++i)
    TVMFFI_TRY(confine_give(rules, read_only[i], CONFINE_READS));
  for (i = 0; i < sizeof(written) / sizeof(*written); ++i)
    TVMFFI_TRY(confine_give(rules, written[i], CONFINE_WRITES));
  return 0;
}

/* Gives the system's programs. */
static int confine_give_programs(int rules) {
  static const char *const paths[] = {"/bin",  "/sbin", "/usr",
                                      "/lib",  "/lib32", "/lib64",
                                      "/etc/alternatives"};
  size_t i;
  for (i = 0; i < sizeof(paths) / sizeof(*paths); ++i)
    TVMFFI_TRY(confine_give(rules, paths[i], CONFINE_READS | CONFINE_EXECUTE));
  return 0;
}

static int confine_give_all(int rules, int programs) {
  uint64_t execute = programs ? CONFINE_EXECUTE : 0;
  int i;
  TVMFFI_TRY(confine_give(rules, files_root, CONFINE_WRITES));
  TVMFFI_TRY(confine_give_system(rules));
  if (programs) TVMFFI_TRY(confine_give_programs(rules));
  for (i = 0; i < confine.count; ++i)
    TVMFFI_TRY(confine_give(
        rules, confine.paths[i].path,
        execute | (confine.paths[i].is_read_only
                       ? CONFINE_READS
                       : CONFINE_WRITES | CONFINE_IOCTL)));
  return 0;
}

/* Limits the files, TCP, signals and abstract sockets of this process. */
static int confine_files(int programs) {
  int version = confine_landlock_version(), fd, code;
  confine_rules rules;
  memset(&rules, 0, sizeof(rules));
  rules.files = confine_known_rights(version);
  if (version >= 4 && !confine.network) rules.network = 3;
  if (version >= 6) rules.scopes = 3;
  fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0u);
  if (fd < 0) return system_error("cannot confine", "files");
  code = confine_give_all(fd, programs);
  if (!code && syscall(SYS_landlock_restrict_self, fd, 0u))
    code = system_error("cannot confine", "files");
  close(fd);
  return code;
}

/* -- system calls: seccomp ------------------------------------------------- */

/* The name of this machine's system calls; 0: no filter is written for it. */
#if defined(__x86_64__) && !defined(__ILP32__)
#define CONFINE_ARCH AUDIT_ARCH_X86_64
#elif defined(__i386__)
#define CONFINE_ARCH AUDIT_ARCH_I386
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#define CONFINE_ARCH AUDIT_ARCH_AARCH64
#elif defined(__arm__) && defined(__ARM_EABI__) && !defined(__ARMEB__)
#define CONFINE_ARCH AUDIT_ARCH_ARM
#elif defined(__riscv) && __riscv_xlen == 64
#define CONFINE_ARCH AUDIT_ARCH_RISCV64
#elif defined(__s390x__)
#define CONFINE_ARCH AUDIT_ARCH_S390X
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define CONFINE_ARCH AUDIT_ARCH_PPC64LE
#elif defined(__powerpc64__)
#define CONFINE_ARCH AUDIT_ARCH_PPC64
#else
#define CONFINE_ARCH 0
#endif

/* The newest system call that this list knows, file_setattr of Linux 6.17.
   Newer ones fail with ENOSYS, to which libraries have an answer. */
#define CONFINE_LAST_CALL 469

/* Which calls are refused, and to whom. */
typedef enum {
  CONFINE_ALWAYS,   /* also to `cc` and `tar` */
  CONFINE_ATTRIBUTE, /* to sessions: Landlock does not limit these */
  CONFINE_PROGRAM,  /* without --allow programs */
  CONFINE_NETWORK   /* without --allow network */
} confine_group;

typedef struct {
  long number;
  confine_group group;
} confine_call;

static const confine_call confine_calls[] = {
    /* Other processes, and what is shared with them. */
    {SYS_ptrace, CONFINE_ALWAYS},
    {SYS_process_vm_readv, CONFINE_ALWAYS},
    {SYS_process_vm_writev, CONFINE_ALWAYS},
    {SYS_kcmp, CONFINE_ALWAYS},
    {SYS_migrate_pages, CONFINE_ALWAYS},
    {SYS_rt_sigqueueinfo, CONFINE_ALWAYS},
    {SYS_rt_tgsigqueueinfo, CONFINE_ALWAYS},
    {SYS_mq_open, CONFINE_ALWAYS},
    {SYS_mq_unlink, CONFINE_ALWAYS},
#if defined(SYS_shmget)
    {SYS_shmget, CONFINE_ALWAYS},
    {SYS_shmat, CONFINE_ALWAYS},
    {SYS_shmctl, CONFINE_ALWAYS},
    {SYS_semget, CONFINE_ALWAYS},
    {SYS_semctl, CONFINE_ALWAYS},
    {SYS_msgget, CONFINE_ALWAYS},
    {SYS_msgctl, CONFINE_ALWAYS},
#endif
#if defined(SYS_ipc)
    {SYS_ipc, CONFINE_ALWAYS},
#endif
#if defined(SYS_pidfd_open)
    {SYS_pidfd_open, CONFINE_ALWAYS},
    {SYS_pidfd_send_signal, CONFINE_ALWAYS},
#endif
#if defined(SYS_pidfd_getfd)
    {SYS_pidfd_getfd, CONFINE_ALWAYS},
#endif
#if defined(SYS_process_madvise)
    {SYS_process_madvise, CONFINE_ALWAYS},
#endif
    /* The kernel: its settings, its modules, its keys, its larger tools. */
    {SYS_bpf, CONFINE_ALWAYS},
    {SYS_perf_event_open, CONFINE_ALWAYS},
    {SYS_add_key, CONFINE_ALWAYS},
    {SYS_request_key, CONFINE_ALWAYS},
    {SYS_keyctl, CONFINE_ALWAYS},
#if defined(SYS_userfaultfd)
    {SYS_userfaultfd, CONFINE_ALWAYS},
#endif
#if defined(SYS_io_uring_setup)
    {SYS_io_uring_setup, CONFINE_ALWAYS}, /* would go round this filter */
    {SYS_io_uring_enter, CONFINE_ALWAYS},
    {SYS_io_uring_register, CONFINE_ALWAYS},
#endif
#if defined(SYS_modify_ldt)
    {SYS_modify_ldt, CONFINE_ALWAYS},
#endif
#if defined(SYS_iopl)
    {SYS_iopl, CONFINE_ALWAYS},
    {SYS_ioperm, CONFINE_ALWAYS},
#endif
    {SYS_init_module, CONFINE_ALWAYS},
    {SYS_finit_module, CONFINE_ALWAYS},
    {SYS_delete_module, CONFINE_ALWAYS},
#if defined(SYS_kexec_load)
    {SYS_kexec_load, CONFINE_ALWAYS},
#endif
#if defined(SYS_kexec_file_load)
    {SYS_kexec_file_load, CONFINE_ALWAYS},
#endif
    {SYS_reboot, CONFINE_ALWAYS},
    {SYS_syslog, CONFINE_ALWAYS},
    {SYS_acct, CONFINE_ALWAYS},
    {SYS_quotactl, CONFINE_ALWAYS},
    {SYS_swapon, CONFINE_ALWAYS},
    {SYS_swapoff, CONFINE_ALWAYS},
    {SYS_settimeofday, CONFINE_ALWAYS},
    {SYS_clock_settime, CONFINE_ALWAYS},
    {SYS_clock_adjtime, CONFINE_ALWAYS},
    {SYS_adjtimex, CONFINE_ALWAYS},
    {SYS_sethostname, CONFINE_ALWAYS},
    {SYS_setdomainname, CONFINE_ALWAYS},
    {SYS_vhangup, CONFINE_ALWAYS},
    {SYS_personality, CONFINE_ALWAYS},
    /* Other views of the files. */
    {SYS_mount, CONFINE_ALWAYS},
    {SYS_umount2, CONFINE_ALWAYS},
    {SYS_pivot_root, CONFINE_ALWAYS},
    {SYS_chroot, CONFINE_ALWAYS},
    {SYS_unshare, CONFINE_ALWAYS},
    {SYS_setns, CONFINE_ALWAYS},
    {SYS_open_by_handle_at, CONFINE_ALWAYS},
    {SYS_name_to_handle_at, CONFINE_ALWAYS},
    {SYS_fanotify_init, CONFINE_ALWAYS},
#if defined(SYS_fsopen)
    {SYS_open_tree, CONFINE_ALWAYS},
    {SYS_move_mount, CONFINE_ALWAYS},
    {SYS_fsopen, CONFINE_ALWAYS},
    {SYS_fsconfig, CONFINE_ALWAYS},
    {SYS_fsmount, CONFINE_ALWAYS},
    {SYS_fspick, CONFINE_ALWAYS},
#endif
#if defined(SYS_mount_setattr)
    {SYS_mount_setattr, CONFINE_ALWAYS},
#endif
    /* Owners, modes, times and attributes of any file that has a name. */
#if defined(SYS_chmod)
    {SYS_chmod, CONFINE_ATTRIBUTE},
    {SYS_chown, CONFINE_ATTRIBUTE},
    {SYS_lchown, CONFINE_ATTRIBUTE},
#endif
#if defined(SYS_utime)
    {SYS_utime, CONFINE_ATTRIBUTE},
#endif
#if defined(SYS_utimes)
    {SYS_utimes, CONFINE_ATTRIBUTE},
    {SYS_futimesat, CONFINE_ATTRIBUTE},
#endif
#if defined(SYS_utimensat_time64)
    {SYS_utimensat_time64, CONFINE_ATTRIBUTE},
#endif
#if defined(SYS_chown32)
    {SYS_chown32, CONFINE_ATTRIBUTE},
    {SYS_fchown32, CONFINE_ATTRIBUTE},
    {SYS_lchown32, CONFINE_ATTRIBUTE},
#endif
#if defined(SYS_fchmodat2)
    {SYS_fchmodat2, CONFINE_ATTRIBUTE},
#endif
    {SYS_utimensat, CONFINE_ATTRIBUTE},
    {SYS_fchmod, CONFINE_ATTRIBUTE},
    {SYS_fchmodat, CONFINE_ATTRIBUTE},
    {SYS_fchown, CONFINE_ATTRIBUTE},
    {SYS_fchownat, CONFINE_ATTRIBUTE},
    {SYS_setxattr, CONFINE_ATTRIBUTE},
    {SYS_lsetxattr, CONFINE_ATTRIBUTE},
    {SYS_fsetxattr, CONFINE_ATTRIBUTE},
    {SYS_removexattr, CONFINE_ATTRIBUTE},
    {SYS_lremovexattr, CONFINE_ATTRIBUTE},
    {SYS_fremovexattr, CONFINE_ATTRIBUTE},
    /* Programs and processes. */
    {SYS_execve, CONFINE_PROGRAM},
    {SYS_execveat, CONFINE_PROGRAM},
#if defined(SYS_fork)
    {SYS_fork, CONFINE_PROGRAM},
#endif
#if defined(SYS_vfork)
    {SYS_vfork, CONFINE_PROGRAM},
#endif
    {SYS_tkill, CONFINE_PROGRAM},
    /* The network. The session's own socket reads and writes, but `connect`
       could send it elsewhere. */
#if defined(SYS_socket)
    {SYS_socket, CONFINE_NETWORK},
    {SYS_connect, CONFINE_NETWORK},
    {SYS_bind, CONFINE_NETWORK},
    {SYS_listen, CONFINE_NETWORK},
    {SYS_accept4, CONFINE_NETWORK},
#endif
#if defined(SYS_accept)
    {SYS_accept, CONFINE_NETWORK},
#endif
#if defined(SYS_socketcall)
    {SYS_socketcall, CONFINE_NETWORK},
#endif
};
#define CONFINE_CALLS (sizeof(confine_calls) / sizeof(*confine_calls))

/* A program of the kernel's filter. */
typedef struct {
  struct sock_filter code[CONFINE_CALLS * 2 + 64];
  size_t size;
} confine_filter;

static void confine_emit(confine_filter *f, int code, uint32_t k, int yes,
                         int no) {
  struct sock_filter *at = &f->code[f->size++];
  at->code = (uint16_t)code;
  at->k = k;
  at->jt = (uint8_t)yes;
  at->jf = (uint8_t)no;
}

static void confine_load(confine_filter *f, size_t offset) {
  confine_emit(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void confine_load_number(confine_filter *f) {
  confine_load(f, offsetof(struct seccomp_data, nr));
}

/* Loads the low half of an argument. */
static void confine_load_argument(confine_filter *f, size_t i) {
  size_t low = 0;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  low = 4;
#endif
  confine_load(f, offsetof(struct seccomp_data, args) + 8 * i + low);
}

static void confine_fail(confine_filter *f, int error) {
  confine_emit(f, BPF_RET | BPF_K,
               SECCOMP_RET_ERRNO | ((uint32_t)error & SECCOMP_RET_DATA), 0, 0);
}

static void confine_refuse(confine_filter *f, long number, int error) {
  confine_emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
  confine_fail(f, error);
}

/* Refuses a call unless the low half of its argument is `a` or `b`. */
static void confine_refuse_others(confine_filter *f, long number, size_t i,
                                  uint32_t a, uint32_t b) {
  confine_emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 5);
  confine_load_argument(f, i);
  confine_emit(f, BPF_JMP | BPF_JEQ | BPF_K, a, 2, 0);
  confine_emit(f, BPF_JMP | BPF_JEQ | BPF_K, b, 1, 0);
  confine_fail(f, EPERM);
  confine_load_number(f);
}

/* Refuses an ioctl: one that types on a terminal. */
static void confine_refuse_ioctl(confine_filter *f, uint32_t request) {
  confine_emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)SYS_ioctl, 0, 4);
  confine_load_argument(f, 1);
  confine_emit(f, BPF_JMP | BPF_JEQ | BPF_K, request, 0, 1);
  confine_fail(f, EPERM);
  confine_load_number(f);
}

/* Allows threads, and refuses processes. The flags of clone3 are in memory,
   which a filter cannot read; after ENOSYS libraries use clone. */
static void confine_refuse_processes(confine_filter *f) {
#if defined(__s390x__)
  size_t flags = 1;
#else
  size_t flags = 0;
#endif
#if defined(SYS_clone3)
  confine_refuse(f, SYS_clone3, ENOSYS);
#endif
  confine_emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)SYS_clone, 0, 4);
  confine_load_argument(f, flags);
  confine_emit(f, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
  confine_fail(f, EPERM);
  confine_load_number(f);
}

static void confine_check_machine(confine_filter *f) {
  confine_load(f, offsetof(struct seccomp_data, arch));
  confine_emit(f, BPF_JMP | BPF_JEQ | BPF_K, CONFINE_ARCH, 1, 0);
  confine_emit(f, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
  confine_load_number(f);
#if !defined(__arm__) /* which has calls with large numbers */
  confine_emit(f, BPF_JMP | BPF_JGT | BPF_K, CONFINE_LAST_CALL, 0, 1);
  confine_fail(f, ENOSYS);
#endif
}

/* Whether a call is refused to this process. */
static int confine_is_refused(confine_group group, int is_linker) {
  switch (group) {
    case CONFINE_ATTRIBUTE: return !is_linker;
    case CONFINE_PROGRAM: return !is_linker && !confine.programs;
    case CONFINE_NETWORK: return !confine.network;
    default: return 1;
  }
}

/* Limits the system calls of this process and of all that it starts. */
static int confine_system_calls(int is_linker) {
  static confine_filter filter;
  struct sock_fprog program;
  uint32_t own = (uint32_t)getpid();
  size_t i;
  filter.size = 0;
  confine_check_machine(&filter);
  for (i = 0; i < CONFINE_CALLS; ++i)
    if (confine_is_refused(confine_calls[i].group, is_linker))
      confine_refuse(&filter, confine_calls[i].number, EPERM);
  confine_refuse_ioctl(&filter, TIOCSTI);
  confine_refuse_ioctl(&filter, 0x541c); /* TIOCLINUX */
  if (confine_is_refused(CONFINE_PROGRAM, is_linker)) {
    confine_refuse_processes(&filter);
    confine_refuse_others(&filter, SYS_kill, 0, own, own);
    confine_refuse_others(&filter, SYS_tgkill, 0, own, own);
    confine_refuse_others(&filter, SYS_prlimit64, 0, 0, own);
  }
  confine_emit(&filter, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  program.len = (unsigned short)filter.size;
  program.filter = filter.code;
  if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 0;
  return system_error("cannot confine", "system calls");
}

/* -- privileges ------------------------------------------------------------ */

/* Drops all capabilities, which root has, and forbids programs that would give
   some back. */
static int confine_privileges(void) {
  struct {
    uint32_t version;
    int pid;
  } head = {0x20080522, 0};
  uint32_t none[6];
  memset(none, 0, sizeof(none));
  if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
      !syscall(SYS_capset, &head, none))
    return 0;
  return system_error("cannot drop", "privileges");
}

/* -- limits ---------------------------------------------------------------- */

#define CONFINE_THREADS 1024 /* the default of --max-threads */

/* Returns the bytes of memory that this process has mapped. */
static int64_t confine_mapped(void) {
  FILE *file = fopen("/proc/self/statm", "re");
  long long pages = 0;
  if (!file) return 0;
  if (fscanf(file, "%lld", &pages) != 1) pages = 0;
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

/* Counts the threads of this user that can be seen: the kernel's limit is for
   all of them together. */
static int64_t confine_user_threads(void) {
  DIR *dir = opendir("/proc");
  struct dirent *entry;
  int64_t count = 0;
  if (!dir) return 0;
  while ((entry = readdir(dir))) {
    char path[300];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%s/task", entry->d_name);
    if (*entry->d_name >= '0' && *entry->d_name <= '9' &&
        !stat(path, &status) && status.st_uid == getuid())
      count += (int64_t)status.st_nlink - 2;
  }
  closedir(dir);
  return count;
}

/* Sets a limit, unless there is a lower one. */
static int confine_set_limit(int which, int64_t value, const char *name) {
  struct rlimit limit;
  if (getrlimit((__rlimit_resource_t)which, &limit))
    return system_error("cannot limit", name);
  if (limit.rlim_max != RLIM_INFINITY && (rlim_t)value > limit.rlim_max)
    return 0;
  limit.rlim_cur = limit.rlim_max = (rlim_t)value;
  if (!setrlimit((__rlimit_resource_t)which, &limit)) return 0;
  return system_error("cannot limit", name);
}

/* Limits memory and threads. */
static int confine_resources(void) {
  int64_t memory = confine.memory, threads = confine.threads;
  if (memory < 0)
    memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  if (threads < 0) threads = CONFINE_THREADS;
  if (confine.limits_memory)
    TVMFFI_TRY(
        confine_set_limit(RLIMIT_AS, confine_mapped() + memory, "memory"));
  if (!confine.limits_threads) return 0;
  return confine_set_limit(RLIMIT_NPROC, confine_user_threads() + threads,
                           "threads");
}

/* -- the interface --------------------------------------------------------- */

/* Returns why the kernel cannot confine, or NULL. */
static const char *confine_lacks(void) {
  if (!confine_landlock_version()) return "the kernel has no Landlock";
  /* A filter at NULL is a bad address where there are filters. */
  if (!CONFINE_ARCH || !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) ||
      errno != EFAULT)
    return "the kernel has no seccomp";
  return NULL;
}

/* Confines this process: a session that begins, or a program that links. */
static int confine_enter(int is_linker) {
  int programs = is_linker || confine.programs;
  TVMFFI_TRY(confine_resources());
  if (!confine.is_on) return 0;
  TVMFFI_TRY(confine_privileges());
  TVMFFI_TRY(confine_files(programs));
  return confine_system_calls(is_linker);
}

static void confine_say(void) {
  say("sessions are confined by Landlock %d and seccomp; --allow opens more",
      confine_landlock_version());
}

#else

static const char *confine_lacks(void) { return "only Linux is confined"; }
static int confine_enter(int is_linker) {
  (void)is_linker;
  return 0;
}
static void confine_say(void) {}

#endif

#if defined(__linux__)
/* Returns whether a limit holds: --confine no turns only the default off. */
static int confine_limits(int64_t value) {
  return value > 0 || (value < 0 && confine.mode != CONFINE_NO);
}
#endif

/* Decides whether sessions are confined, and says so. */
static int confine_check(void) {
  const char *lack = confine.mode == CONFINE_NO ? "by --confine no"
                                                : confine_lacks();
  if (lack && confine.mode == CONFINE_YES)
    return TVMFFI_RAISE("OSError", "cannot confine sessions: %s", lack);
  confine.is_on = !lack;
#if defined(__linux__)
  confine.limits_memory = confine_limits(confine.memory);
  confine.limits_threads = confine_limits(confine.threads);
#endif
  if (lack) say("sessions are not confined: %s", lack);
  if (!lack) confine_say();
  return 0;
}

#endif /* TVMFFI_RPC_SERVER_CONFINE_H_ */
