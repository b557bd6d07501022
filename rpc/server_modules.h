/* Modules from files of the session: tvm.rpc.server.{load_module,
   download_linked_module}. A library is loaded as it is. An object, or an
   archive of objects, is first linked by the system's `cc`: in a helper, if the
   session is confined, because a confined session starts no program. */
#ifndef TVMFFI_RPC_SERVER_MODULES_H_
#define TVMFFI_RPC_SERVER_MODULES_H_

#include <dlfcn.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#if defined(__linux__)
#include <link.h>
#endif

#include "server_confine.h"
#include "server_files.h"

/* The end of what a program writes, which has its errors. It fits an error's
   message. */
#define MODULES_TEXT_SIZE 640

/* Runs a program in the session's folder; it writes to `out`. Does not return.
 */
static void modules_exec(char *const *argv, int out) {
  dup2(out, 1);
  dup2(out, 2);
  log_is_quiet = 0; /* the text is for the client */
  if (confine.is_on) setenv("TMPDIR", files_root, 1); /* it may write there */
  if (!fchdir(files_root_fd) && !confine_enter(1)) {
    execvp(argv[0], argv);
    (void)system_error("cannot start", argv[0]);
  }
  say_error(argv[0]);
  _exit(127);
}

/* Opens a file for what a program writes. It has no name, so it goes with its
   descriptors. A pipe would not end before each process ends that the program
   has left running. */
static int modules_open_output(int *out) {
  char path[FILES_PATH_SIZE];
  snprintf(path, sizeof(path), "%s/output-XXXXXX", files_root);
  *out = mkostemp(path, O_CLOEXEC);
  if (*out < 0) return system_error("cannot make the file", path);
  unlink(path);
  return 0;
}

/* Reads the end of what a program has written, from the start of a line. */
static void modules_read(int file, char *text) {
  off_t size = lseek(file, 0, SEEK_END), most = MODULES_TEXT_SIZE - 1;
  off_t from = size > most ? size - most : 0;
  ssize_t n = pread(file, text, (size_t)most, from);
  char *line;
  while (n > 0 && text[n - 1] == '\n') --n;
  text[n > 0 ? n : 0] = 0;
  if (from && (line = strchr(text, '\n')))
    memmove(text, line + 1, strlen(line));
}

/* Runs a program of the system in the session's folder and waits for its end.
   Its output goes into the error. */
static int modules_run(char *const *argv, const char *name) {
  char text[MODULES_TEXT_SIZE];
  int status = 0, out;
  pid_t child;
  TVMFFI_TRY(modules_open_output(&out));
  child = fork();
  if (!child) modules_exec(argv, out);
  if (child < 0) {
    close(out);
    return system_error("cannot start", argv[0]);
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  modules_read(out, text);
  close(out);
  if (!status) return 0;
  return TVMFFI_RAISE(
      "RuntimeError", "`%s` of `%.200s` failed with status %d: %s", argv[0],
      name, WIFEXITED(status) ? WEXITSTATUS(status) : -status, text);
}

/* A word of a command line, which the program does not change. */
static char *modules_word(const char *text) { return (char *)(uintptr_t)text; }

/* -- archives -------------------------------------------------------------- */

/* Appends an entry of a folder of an archive, named by its path, to the folders
   or to the objects. Whatever else there is, a link say, is an error. */
static int modules_sort_entry(const char *path, files_list *folders,
                              files_list *objects) {
  struct stat status;
  if (fstatat(files_root_fd, path, &status, AT_SYMLINK_NOFOLLOW))
    return system_error("cannot read", path);
  if (S_ISDIR(status.st_mode)) return files_append(folders, path, 0);
  if (S_ISREG(status.st_mode) && status.st_nlink < 2)
    return files_append(objects, path, 0);
  return TVMFFI_RAISE("ValueError", "`%.200s` of an archive is not a file",
                      path);
}

/* Appends the entries of one folder. */
static int modules_sort(const char *folder, files_list *folders,
                        files_list *objects) {
  char path[FILES_PATH_SIZE];
  files_list names = {NULL, 0, 0};
  size_t at, n = (size_t)snprintf(path, sizeof(path), "%s/", folder);
  int code, fd = openat(files_root_fd, folder,
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return system_error("cannot open the folder", folder);
  code = files_append_names(&names, fd, 0);
  for (at = 0; !code && at < names.size; at += strlen(names.data + at) + 1) {
    size_t size = strlen(names.data + at) + 1;
    if (n + size > sizeof(path)) {
      code = TVMFFI_RAISE("ValueError", "`%.200s`: too deep", path);
    } else {
      memcpy(path + n, names.data + at, size);
      code = modules_sort_entry(path, folders, objects);
    }
  }
  free(names.data);
  return code;
}

/* Lists all files below a folder. */
static int modules_objects(const char *folder, files_list *objects) {
  files_list folders = {NULL, 0, 0};
  size_t at;
  int code = files_append(&folders, folder, 0);
  for (at = 0; !code && at < folders.size;
       at += strlen(folders.data + at) + 1) {
    char path[FILES_PATH_SIZE]; /* as the list may move */
    snprintf(path, sizeof(path), "%s", folders.data + at);
    code = modules_sort(path, &folders, objects);
  }
  free(folders.data);
  return code;
}

/* -- linking --------------------------------------------------------------- */

/* Links objects to a library. Their names begin with "./", so that none of them
   is an option. */
static int modules_link(const files_list *objects, const char *name,
                        const char *library) {
  size_t at, n = 0;
  int code;
  char **argv;
  for (at = 0; at < objects->size; ++at) n += !objects->data[at];
  argv = (char **)malloc((n + 5) * sizeof(*argv));
  if (!argv) return TVMFFI_RAISE("MemoryError", "no memory to link");
  argv[0] = modules_word("cc");
  argv[1] = modules_word("-shared");
  argv[2] = modules_word("-o");
  argv[3] = modules_word(library);
  for (n = 4, at = 0; at < objects->size; at += strlen(objects->data + at) + 1)
    argv[n++] = objects->data + at;
  argv[n] = NULL;
  code = modules_run(argv, name);
  free(argv);
  return code;
}

/* Unpacks an archive into a new folder and links its files. If it were a folder
   of an earlier archive, the objects there would be linked again, and `tar`
   would write through a link there. */
static int modules_link_archive(const char *name, const char *library) {
  char path[FILES_PATH_SIZE], archive[FILES_PATH_SIZE];
  char *argv[6], *folder = NULL;
  files_list objects = {NULL, 0, 0};
  int code;
  TVMFFI_TRY(files_make_in(files_root, "unpacked", path, sizeof(path)));
  folder = strrchr(path, '/') - 1;
  *folder = '.'; /* the path is now relative to the session's folder */
  snprintf(archive, sizeof(archive), "./%s", name);
  argv[0] = modules_word("tar");
  argv[1] = modules_word("-xf");
  argv[2] = archive;
  argv[3] = modules_word("-C");
  argv[4] = folder;
  argv[5] = NULL;
  code = modules_run(argv, name);
  if (!code) code = modules_objects(folder, &objects);
  if (!code) code = modules_link(&objects, name, library);
  free(objects.data);
  files_remove_folder(files_root_fd, folder);
  return code;
}

static int modules_link_object(const char *name, const char *library) {
  char path[FILES_PATH_SIZE];
  files_list objects = {NULL, 0, 0};
  int code;
  snprintf(path, sizeof(path), "./%s", name);
  code = files_append(&objects, path, 0);
  if (!code) code = modules_link(&objects, name, library);
  free(objects.data);
  return code;
}

static int modules_ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n > m && !strcmp(text + n - m, end);
}

/* Checks that a name is a file to which no link leads. */
static int modules_check(const char *name) {
  int file;
  TVMFFI_TRY(files_open(name, &file));
  close(file);
  return 0;
}

/* Links a file if it is an object or an archive, and stores the library's name;
   a library's name is its own. */
static int modules_library_here(TVMFFIByteArray file, char *library,
                                size_t size) {
  const char *name = file.data;
  int is_archive = modules_ends_with(name, ".tar");
  int is_object = modules_ends_with(name, ".o");
  TVMFFI_TRY(files_check(file));
  TVMFFI_TRY(modules_check(name));
  snprintf(library, size, "%s%s", name, is_archive || is_object ? ".so" : "");
  if (is_archive) TVMFFI_TRY(modules_link_archive(name, library));
  if (is_object) TVMFFI_TRY(modules_link_object(name, library));
  return modules_check(library);
}

/* -- the helper ------------------------------------------------------------ */

/* The longest answer: 0 and a library's name, or 1 and an error as KIND, a NUL
   and the message. */
#define MODULES_ANSWER_SIZE (FILES_PATH_SIZE + 1)

static int modules_helper = -1; /* the session's end of its socket */

/* Answers by the error that is raised. */
static size_t modules_answer_error(char *answer, size_t size) {
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  const TVMFFIErrorCell *cell = error ? TVMFFIErrorGetCellPtr(error) : NULL;
  size_t n = (size_t)snprintf(answer, size, "1%s%c%s",
                              cell ? cell->kind.data : "MemoryError", 0,
                              cell ? cell->message.data : "out of memory");
  return n < size ? n : size - 1;
}

/* Answers one name after the other, until the session has ended. */
static void modules_help(int fd) {
  char name[FILES_NAME_SIZE], answer[MODULES_ANSWER_SIZE];
  ssize_t n;
  while ((n = read(fd, name, sizeof(name) - 1)) > 0) {
    TVMFFIByteArray file;
    size_t size;
    name[n] = 0;
    file.data = name;
    file.size = (size_t)n;
    *answer = '0';
    if (modules_library_here(file, answer + 1, sizeof(answer) - 1))
      size = modules_answer_error(answer, sizeof(answer));
    else
      size = strlen(answer);
    if (write(fd, answer, size) < 0) break;
  }
}

/* Starts the helper of a session that is about to be confined. It does not keep
   the session's channel. At the session's end it removes the folder, which the
   session itself must not do. */
static int modules_begin_helper(int in, int out) {
  int ends[2];
  pid_t child;
  if (!confine.is_on) return 0;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
    return system_error("no socket for", "the helper");
  child = fork();
  if (child < 0) return system_error("cannot start", "the helper");
  close(ends[!!child]);
  if (child) {
    modules_helper = ends[0];
    return 0;
  }
  signal(SIGHUP, SIG_IGN); /* its session has one when the server is killed */
  close(in);
  if (out != in) close(out);
  modules_help(ends[1]);
  files_end();
  _exit(0);
}

/* Ends the session's files. */
static void modules_end(void) {
  char byte;
  if (modules_helper < 0) {
    files_end();
  } else if (!shutdown(modules_helper, SHUT_WR)) {
    while (read(modules_helper, &byte, 1) > 0) continue;
  }
}

/* Asks the helper for a library's name. */
static int modules_ask(TVMFFIByteArray file, char *library, size_t size) {
  char answer[MODULES_ANSWER_SIZE];
  ssize_t n = 0;
  TVMFFI_TRY(files_check(file));
  if (file.size && write(modules_helper, file.data, file.size) > 0)
    do n = read(modules_helper, answer, sizeof(answer) - 1);
    while (n < 0 && errno == EINTR);
  if (n <= 0)
    return TVMFFI_RAISE("RuntimeError", "`%.200s` has no helper to link it",
                        file.data);
  answer[n] = 0;
  if (*answer == '1')
    return TVMFFI_RAISE(answer + 1, "%s", answer + 2 + strlen(answer + 1));
  snprintf(library, size, "%s", answer + 1);
  return 0;
}

static int modules_library(TVMFFIByteArray file, char *library, size_t size) {
  return modules_helper < 0 ? modules_library_here(file, library, size)
                            : modules_ask(file, library, size);
}

/* -- functions ------------------------------------------------------------- */

/* Writes a library's path, in another spelling for each load: the loader does
   not see that a path which it knows has another file now. For each bit of the
   number of loads there is a "/" or a "/." before the name. */
static void modules_path(const char *library, char *path, size_t size) {
  static unsigned loads;
  char bits[2 * sizeof(loads) * CHAR_BIT + 1], *at = bits;
  unsigned n;
  for (n = loads++; n; n /= 2) {
    *at++ = '/';
    if (n % 2) *at++ = '.';
  }
  *at = 0;
  snprintf(path, size, "%s%s/%s", files_root, bits, library);
}

#if defined(__linux__)
extern const ElfW(Ehdr) __ehdr_start; /* the server's own, from the linker */

/* Returns how long a library's file must be to have what the loader maps. */
static uint64_t modules_needs(int file, const ElfW(Ehdr) * header) {
  uint64_t at = header->e_phoff, needs, end;
  ElfW(Phdr) segment;
  int i;
  needs = at + (uint64_t)header->e_phnum * sizeof(segment);
  for (i = 0; i < header->e_phnum; ++i, at += sizeof(segment)) {
    if (pread(file, &segment, sizeof(segment), (off_t)at) !=
            (ssize_t)sizeof(segment) ||
        segment.p_type != PT_LOAD)
      continue;
    end = (uint64_t)segment.p_offset + segment.p_filesz;
    if (needs < end) needs = end;
  }
  return needs;
}

/* Returns what is wrong with a library, or NULL. The loader does not say two
   mistakes: a library of another processor is "No such file" to it, and one
   that was cut ends the process by a signal. */
static const char *modules_wrong(int file) {
  ElfW(Ehdr) header;
  struct stat status;
  if (fstat(file, &status) ||
      pread(file, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
      memcmp(header.e_ident, ELFMAG, SELFMAG))
    return NULL; /* the loader says it */
  if (memcmp(header.e_ident, __ehdr_start.e_ident, EI_DATA + 1) ||
      header.e_machine != __ehdr_start.e_machine)
    return "it was compiled for another kind of processor";
  if (modules_needs(file, &header) > (uint64_t)status.st_size)
    return "it is not the whole library, so it was cut when it was written";
  return NULL;
}
#else
static const char *modules_wrong(int file) {
  (void)file;
  return NULL;
}
#endif

/* Opens a library and binds all of its symbols: one that is defined nowhere is
   an error here, because it would end the process at its first call. */
static int modules_open(const char *path, int scope, void **library) {
  char reason[512]; /* the loader frees its text at its next call */
  const char *wrong = NULL;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    wrong = modules_wrong(file);
    close(file);
  }
  if (wrong)
    return TVMFFI_RAISE("OSError", "cannot load the library: %s: %s", path,
                        wrong);
  *library = dlopen(path, RTLD_NOW | scope);
  if (*library) return 0;
  snprintf(reason, sizeof(reason), "%s", dlerror());
  return TVMFFI_RAISE("OSError", "cannot load the library: %s", reason);
}

static int modules_load_file(TVMFFI_HERE, TVMFFIByteArray name,
                             TVMFFIObject **module) {
  char library[FILES_PATH_SIZE], path[FILES_PATH_SIZE * 2];
  void *opened = NULL;
  int code;
  TVMFFI_TRY(modules_library(name, library, sizeof(library)));
  modules_path(library, path, sizeof(path));
  if (modules_ends_with(library, ".so"))
    TVMFFI_TRY(modules_open(path, RTLD_LOCAL, &opened));
  code = tvmffi_call("ffi.ModuleLoadFromFile", module, path);
  if (opened) dlclose(opened); /* the module has opened it, too */
  if (!code) say("loaded %s", library);
  return code;
}

TVMFFI_FUNC(modules_load, object, (str, name)) {
  TVMFFIObject *module, *error;
  if (!modules_load_file(tvmffi_here, name, &module)) TVMFFI_RETURN(module);
  error = tvmffi_error_take();
  if (!error) return -1;
  say("%.200s was not loaded: %s", name.data,
      TVMFFIErrorGetCellPtr(error)->message.data);
  TVMFFIErrorSetRaised(error);
  return -1;
}

TVMFFI_FUNC(modules_download_linked, any, (str, name)) {
  char library[FILES_PATH_SIZE];
  TVMFFIAny any;
  if (!modules_ends_with(name.data, ".o") &&
      !modules_ends_with(name.data, ".tar") &&
      !modules_ends_with(name.data, ".so"))
    return TVMFFI_RAISE("ValueError", "do not know how to link `%.200s`",
                        name.data);
  TVMFFI_TRY(modules_library(name, library, sizeof(library)));
  TVMFFI_TRY(tvmffi_call("tvm.rpc.server.download", &any, library));
  TVMFFI_RETURN(any);
}

static int modules_register(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("tvm.rpc.server.load_module", modules_load));
  return TVMFFI_REGISTER("tvm.rpc.server.download_linked_module",
                         modules_download_linked);
}

#endif /* TVMFFI_RPC_SERVER_MODULES_H_ */
