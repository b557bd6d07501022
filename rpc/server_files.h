/* The files of a session: a folder that no name leads out of, and the global
   functions tvm.rpc.server.{upload,download,remove,listdir,workpath}. */
#ifndef TVMFFI_RPC_SERVER_FILES_H_
#define TVMFFI_RPC_SERVER_FILES_H_

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "server_log.h"

/* A name that a client sends is shorter than this. Names that are made of it
   fit a buffer of FILES_PATH_SIZE, also behind the path of the folder. */
#define FILES_NAME_SIZE 1024
#define FILES_PATH_SIZE (PATH_MAX + FILES_NAME_SIZE + 64)

/* The folder: its absolute path, and a descriptor that names start from. */
static char files_root[PATH_MAX];
static int files_root_fd = -1;
static const char *files_kept; /* the folder of --root, or NULL */
static int files_are_noexec;   /* the loader refuses them */
static int64_t files_max;      /* bytes of --max-disk; 0: no limit */
static const char files_noexec[] =
    "the server's folder, of TMPDIR or --root, is mounted noexec";

/* -- names ----------------------------------------------------------------- */

/* Refuses a name that a buffer or a C string would cut. */
static int files_check(TVMFFIByteArray name) {
  if (name.size < FILES_NAME_SIZE && strlen(name.data) == name.size) return 0;
  return TVMFFI_RAISE("ValueError",
                      "the path `%.200s` is refused: it has %d bytes or more, "
                      "or a NUL",
                      name.data, FILES_NAME_SIZE);
}

/* Whether a name is one of the folder itself. */
static int files_is_root(const char *name) {
  return !*name || !strcmp(name, ".") || !strcmp(name, "/");
}

/* Copies the next component of *name and moves *name past it. The last one is
   the name of a file, so "." is refused there. */
static int files_component(const char **name, char *part, size_t size) {
  size_t n = strcspn(*name, "/");
  if (!n || n >= size || !strcmp(*name, ".") ||
      (n == 2 && !memcmp(*name, "..", 2)))
    return TVMFFI_RAISE("ValueError",
                        "the path `%.200s` is refused: it must name a file in "
                        "the session's folder, without `..`",
                        *name);
  memcpy(part, *name, n);
  part[n] = 0;
  *name += n;
  return 0;
}

/* Opens the folder of a name, and copies the last component to `part`. No link
   is followed. The caller closes *folder. */
static int files_folder(const char *name, char *part, size_t size,
                        int *folder) {
  int at = dup(files_root_fd), next;
  while (at >= 0) {
    if (files_component(&name, part, size)) break;
    if (!*name++) {
      *folder = at;
      return 0;
    }
    next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(at);
    if ((at = next) < 0) return system_error("cannot open the folder", part);
  }
  if (at < 0) return system_error("cannot open the folder", ".");
  close(at);
  return -1;
}

/* Opens a regular file to read; the caller closes *file. */
static int files_open(const char *name, int *file) {
  char part[256];
  struct stat status;
  int folder;
  TVMFFI_TRY(files_folder(name, part, sizeof(part), &folder));
  *file = openat(folder, part, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  close(folder);
  if (*file < 0) return system_error("cannot open", name);
  if (!fstat(*file, &status) && S_ISREG(status.st_mode)) return 0;
  close(*file);
  return TVMFFI_RAISE("ValueError", "`%.200s` is not a file", name);
}

/* -- the limit ------------------------------------------------------------- */

/* The bytes that an entry counts beside its length, because the number of
   empty files must have a limit, too. */
#define FILES_ENTRY 4096

static uint64_t files_room; /* bytes that the counted entries leave */

/* Counts an entry of a folder; 1 ends the walk, beyond the limit. So does a
   folder that cannot be read, because code may hide files in it. */
static int files_count(const char *path, const struct stat *status, int type,
                       struct FTW *at) {
  uint64_t size = type == FTW_F ? (uint64_t)status->st_size : 0;
  (void)path, (void)at;
  size += FILES_ENTRY;
  if (size > files_room || type == FTW_DNR) return 1;
  files_room -= size;
  return 0;
}

/* Whether a folder may hold `more` bytes beside its files. Folders that are too
   deep to be counted do not fit. A folder that was removed meanwhile does. */
static int files_fit(const char *folder, uint64_t more) {
  int code;
  if (!files_max) return 1;
  files_room = (uint64_t)files_max;
  code = nftw(folder, files_count, 16, FTW_PHYS);
  if (code == 1 || (code && errno == ENAMETOOLONG)) return 0;
  return more <= files_room;
}

/* Writes the error of files that hold too much. Returns `text`. */
static const char *files_say_full(char *text, size_t size) {
  snprintf(text, size,
           "the session's files may hold %lld MiB (this server's --max-disk "
           "limits it)",
           (long long)(files_max >> 20));
  return text;
}

/* Refuses an upload that exceeds the limit. A file of the same name counts as
   well, because a session may still use it. */
static int files_check_size(const char *name, size_t size) {
  char text[200];
  if (files_fit(files_root, (uint64_t)size + FILES_ENTRY)) return 0;
  return TVMFFI_RAISE("OSError", "cannot write `%.200s`: %s", name,
                      files_say_full(text, sizeof(text)));
}

/* -- content --------------------------------------------------------------- */

/* Writes all of a file; errors have its name. */
static int files_write(int file, const char *name, const char *data,
                       size_t size) {
  while (size) {
    ssize_t n = write(file, data, size);
    if (n < 0 && errno != EINTR) return system_error("cannot write", name);
    if (n < 0) continue;
    data += n;
    size -= (size_t)n;
  }
  return 0;
}

/* Reads all of a file; errors have its name. The caller frees *data. */
static int files_read(int file, const char *name, char **data, size_t *size) {
  struct stat status;
  ssize_t n = 1;
  *size = 0;
  if (fstat(file, &status)) return system_error("cannot read", name);
  *data = (char *)malloc((size_t)status.st_size + 1);
  if (!*data) return TVMFFI_RAISE("MemoryError", "no memory for a file");
  while (n > 0 && *size < (size_t)status.st_size) {
    n = read(file, *data + *size, (size_t)status.st_size - *size);
    if (n > 0) *size += (size_t)n;
  }
  if (n >= 0) return 0;
  free(*data);
  return system_error("cannot read", name);
}

/* Writes a new file of the folder. The caller removes it after an error. */
static int files_fill(int folder, const char *part, const char *name,
                      const char *data, size_t size) {
  int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, code;
  int file = openat(folder, part, flags, 0644);
  if (file < 0) return system_error("cannot open", name);
  code = files_write(file, name, data, size);
  if (close(file) && !code) return system_error("cannot write", name);
  return code;
}

/* Gives a name to a new file with this content. An earlier file of the name
   stays until the new one is whole, and a library that a session has loaded
   keeps its content. */
static int files_replace(const char *name, const char *data, size_t size) {
  char part[256], fresh[32];
  struct stat status;
  int folder, code;
  TVMFFI_TRY(files_folder(name, part, sizeof(part), &folder));
  /* Sessions with one folder have different processes. */
  snprintf(fresh, sizeof(fresh), ".upload %ld", (long)getpid());
  if (!fstatat(folder, part, &status, AT_SYMLINK_NOFOLLOW) &&
      !S_ISREG(status.st_mode)) {
    code = TVMFFI_RAISE("ValueError", "`%.200s` is not a file", name);
  } else {
    unlinkat(folder, fresh, 0);
    code = files_fill(folder, fresh, name, data, size);
    if (!code && renameat(folder, fresh, folder, part))
      code = system_error("cannot write", name);
    if (code) unlinkat(folder, fresh, 0);
  }
  close(folder);
  return code;
}

TVMFFI_FUNC(files_upload, none, (str, name), (bytes, data)) {
  TVMFFI_TRY(files_check(name));
  TVMFFI_TRY(files_check_size(name.data, data.size));
  TVMFFI_TRY(files_replace(name.data, data.data, data.size));
  TVMFFI_RETURN();
}

TVMFFI_FUNC(files_download, any, (str, name)) {
  TVMFFIByteArray bytes;
  TVMFFIAny any;
  char *data = NULL;
  int file, code;
  TVMFFI_TRY(files_check(name));
  TVMFFI_TRY(files_open(name.data, &file));
  code = files_read(file, name.data, &data, &bytes.size);
  close(file);
  TVMFFI_TRY(code);
  bytes.data = data;
  code = tvmffi_as(&bytes, &any);
  free(data);
  TVMFFI_TRY(code);
  TVMFFI_RETURN(any);
}

/* The levels of folders that are open at once. */
#define FILES_LEVELS 64

/* Moves a folder that is too deep to `top`, by a name that is free there. */
static int files_lift(int folder, const char *name, int top) {
  static unsigned count;
  char other[32];
  int failed, tries = 100;
  do {
    snprintf(other, sizeof(other), "lifted %u", count++);
    failed = renameat(folder, name, top, other);
  } while (failed && tries--);
  return failed;
}

/* Lets the owner read and move a folder: code may have made one that he cannot.
   A failure need not be looked at, because the folder then stays closed, or was
   open already. */
static int files_permit(int folder, const char *name) {
  return fchmodat(folder, name, 0700, AT_SYMLINK_NOFOLLOW);
}

/* Removes what is in an open folder, which is closed. Links are removed and not
   followed. Returns how many folders were moved to `top`. */
static int files_empty_below(int folder, int top, int level) {
  DIR *dir = fdopendir(folder);
  struct dirent *entry;
  int lifted = 0;
  if (!dir) {
    close(folder);
    return 0;
  }
  while ((entry = readdir(dir))) {
    const char *name = entry->d_name;
    int inner;
    if (!strcmp(name, ".") || !strcmp(name, "..")) continue;
    if (!unlinkat(dirfd(dir), name, 0)) continue;
    files_permit(dirfd(dir), name);
    if (level == FILES_LEVELS) {
      lifted += !files_lift(dirfd(dir), name, top);
      continue;
    }
    inner = openat(dirfd(dir), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (inner >= 0) lifted += files_empty_below(inner, top, level + 1);
    unlinkat(dirfd(dir), name, AT_REMOVEDIR);
  }
  closedir(dir);
  return lifted;
}

/* Removes what is in an open folder, which is closed. */
static void files_empty(int folder) {
  int inner;
  while ((inner = openat(folder, ".", O_RDONLY | O_DIRECTORY)) >= 0 &&
         files_empty_below(inner, folder, 0))
    continue;
  close(folder);
}

/* Removes a folder and what is in it. Returns -1 and sets errno on failure. */
static int files_remove_folder(int parent, const char *name) {
  int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (folder >= 0) files_empty(folder);
  return unlinkat(parent, name, AT_REMOVEDIR);
}

/* Removes a file or a folder. A name that is not there is accepted, because
   upstream's server accepts it and MetaSchedule's RPCRunner relies on that. So
   is the session's folder, which stays until the session's end. */
TVMFFI_FUNC(files_remove, none, (str, name)) {
  char part[256];
  int folder, failed;
  TVMFFI_TRY(files_check(name));
  if (files_is_root(name.data)) TVMFFI_RETURN();
  TVMFFI_TRY(files_folder(name.data, part, sizeof(part), &folder));
  failed = unlinkat(folder, part, 0);
  if (failed && (errno == EISDIR || errno == EPERM))
    failed = files_remove_folder(folder, part);
  close(folder);
  if (failed && errno != ENOENT)
    return system_error("cannot remove", name.data);
  TVMFFI_RETURN();
}

/* -- lists ----------------------------------------------------------------- */

/* Texts one after the other, each with a byte that ends it. */
typedef struct {
  char *data;
  size_t size, capacity;
} files_list;

static int files_append(files_list *list, const char *text, char end) {
  size_t n = strlen(text);
  if (list->size + n + 1 > list->capacity) {
    size_t capacity = (list->capacity + n + 1) * 2;
    char *data = (char *)realloc(list->data, capacity);
    if (!data) return TVMFFI_RAISE("MemoryError", "no memory for a list");
    list->data = data;
    list->capacity = capacity;
  }
  memcpy(list->data + list->size, text, n);
  list->size += n;
  list->data[list->size++] = end;
  return 0;
}

/* Appends the names in an open folder, which is closed. */
static int files_append_names(files_list *list, int folder, char end) {
  DIR *dir = fdopendir(folder);
  struct dirent *entry;
  int code = 0;
  if (!dir) {
    close(folder);
    return system_error("cannot read the folder", ".");
  }
  while (!code && (entry = readdir(dir)))
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
      code = files_append(list, entry->d_name, end);
  closedir(dir);
  return code;
}

static int files_open_folder(const char *name, int *folder) {
  char part[256];
  int parent;
  if (files_is_root(name)) {
    *folder = openat(files_root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } else {
    TVMFFI_TRY(files_folder(name, part, sizeof(part), &parent));
    *folder =
        openat(parent, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(parent);
  }
  return *folder < 0 ? system_error("cannot open the folder", name) : 0;
}

/* Returns the names with a comma between them, as upstream's server does. */
TVMFFI_FUNC(files_listdir, any, (str, name)) {
  files_list list = {NULL, 0, 0};
  TVMFFIAny any;
  int folder, code;
  TVMFFI_TRY(files_check(name));
  TVMFFI_TRY(files_open_folder(name.data, &folder));
  code = files_append_names(&list, folder, ',');
  if (list.size) list.data[list.size - 1] = 0; /* the last comma */
  if (!code) code = tvmffi_as(list.size ? list.data : "", &any);
  free(list.data);
  TVMFFI_TRY(code);
  TVMFFI_RETURN(any);
}

/* Returns the path that a name has on this machine, for functions that read
   files. */
TVMFFI_FUNC(files_workpath, any, (str, name)) {
  char path[FILES_PATH_SIZE], part[256];
  int folder;
  TVMFFI_TRY(files_check(name));
  if (files_is_root(name.data)) TVMFFI_RETURN(tvmffi_str(files_root));
  TVMFFI_TRY(files_folder(name.data, part, sizeof(part), &folder));
  close(folder);
  snprintf(path, sizeof(path), "%s/%s", files_root, name.data);
  TVMFFI_RETURN(tvmffi_str(path));
}

static int files_register(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("tvm.rpc.server.upload", files_upload));
  TVMFFI_TRY(TVMFFI_REGISTER("tvm.rpc.server.download", files_download));
  TVMFFI_TRY(TVMFFI_REGISTER("tvm.rpc.server.remove", files_remove));
  TVMFFI_TRY(TVMFFI_REGISTER("tvm.rpc.server.listdir", files_listdir));
  return TVMFFI_REGISTER("tvm.rpc.server.workpath", files_workpath);
}

/* -- the folder ------------------------------------------------------------ */

/* Uses a folder that exists. */
static int files_use(const char *path) {
  if (!realpath(path, files_root)) return system_error("no folder", path);
  files_root_fd = open(files_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return files_root_fd < 0 ? system_error("cannot open the folder", path) : 0;
}

/* Makes a new folder in another one, and stores its path. */
static int files_make_in(const char *parent, const char *name, char *path,
                         size_t size) {
  if ((size_t)snprintf(path, size, "%s/%s-XXXXXX", parent, name) >= size)
    errno = ENAMETOOLONG;
  else if (mkdtemp(path))
    return 0;
  return system_error("cannot make the folder", path);
}

/* Makes and uses a folder of its own. */
static int files_make(void) {
  char path[FILES_PATH_SIZE];
  const char *base = getenv("TMPDIR");
  TVMFFI_TRY(files_make_in(base && *base ? base : "/tmp", "tvmffi-rpc", path,
                           sizeof(path)));
  return files_use(path);
}

/* Uses the folder of --root, or makes one for this session. */
static int files_begin(void) {
  return files_kept ? files_use(files_kept) : files_make();
}

/* Looks whether sessions will have a folder, and can load libraries in it. */
static int files_probe(void) {
  const char *base = getenv("TMPDIR");
  const char *path = files_kept ? files_kept : base && *base ? base : "/tmp";
  const char *what =
      files_kept ? "cannot use --root" : "cannot use the folder (TMPDIR)";
  struct statvfs mount;
  struct stat status;
  if (!stat(path, &status) && !S_ISDIR(status.st_mode)) {
    errno = ENOTDIR;
    return system_error(what, path);
  }
  if (access(path, R_OK | W_OK | X_OK)) return system_error(what, path);
  files_are_noexec = !statvfs(path, &mount) && mount.f_flag & ST_NOEXEC;
  if (files_are_noexec) say("%s: clients can load no library", files_noexec);
  return 0;
}

/* Leaves the folder to another process. */
static void files_leave(void) {
  if (files_root_fd >= 0) close(files_root_fd);
  files_root_fd = -1;
  *files_root = 0;
}

/* Removes a session's folder. */
static void files_remove_root(const char *path) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder >= 0) files_empty(folder);
  rmdir(path);
}

/* Removes this session's folder, unless it is the one of --root. */
static void files_end(void) {
  if (*files_root && !files_kept) files_remove_root(files_root);
  files_leave();
}

#endif /* TVMFFI_RPC_SERVER_FILES_H_ */
