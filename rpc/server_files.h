/* The files of a session: a folder that no name leads out of, and the global
   functions tvm.rpc.server.{upload,download,remove,listdir,workpath,
   load_module,download_linked_module}. */
#ifndef TVMFFI_RPC_SERVER_FILES_H_
#define TVMFFI_RPC_SERVER_FILES_H_

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* realpath needs PATH_MAX bytes. */
#define FILES_PATH_SIZE PATH_MAX

/* The folder: its absolute path, and a descriptor that names start from. */
static char files_root[FILES_PATH_SIZE];
static int files_root_fd = -1;

/* -- names ----------------------------------------------------------------- */

static int files_error(const char *what, const char *name) {
  return TVMFFI_RAISE("OSError", "%s `%.200s`: %s", what, name,
                      strerror(errno));
}

/* Copies the next component of *name and moves *name past it. */
static int files_component(const char **name, char *part, size_t size) {
  size_t n = strcspn(*name, "/");
  if (!n || n >= size || !strncmp(*name, "..", n > 2 ? n : 2))
    return TVMFFI_RAISE("ValueError", "the path `%.200s` is refused", *name);
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
    if ((at = next) < 0) return files_error("cannot open the folder", part);
  }
  if (at < 0) return files_error("cannot open the folder", ".");
  close(at);
  return -1;
}

/* Opens a regular file; the caller closes *file. */
static int files_open(const char *name, int flags, int *file) {
  char part[256];
  struct stat status;
  int folder;
  TVMFFI_TRY(files_folder(name, part, sizeof(part), &folder));
  *file =
      openat(folder, part, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0644);
  close(folder);
  if (*file < 0) return files_error("cannot open", name);
  if (!fstat(*file, &status) && S_ISREG(status.st_mode)) return 0;
  close(*file);
  return TVMFFI_RAISE("ValueError", "`%.200s` is not a file", name);
}

/* Writes the absolute path of a file that exists. */
static int files_path(const char *name, char *path, size_t size) {
  int file;
  TVMFFI_TRY(files_open(name, O_RDONLY, &file));
  close(file);
  if ((size_t)snprintf(path, size, "%s/%s", files_root, name) < size) return 0;
  return TVMFFI_RAISE("ValueError", "the path `%.200s` is too long", name);
}

/* -- content --------------------------------------------------------------- */

static int files_write(int file, const char *data, size_t size) {
  while (size) {
    ssize_t n = write(file, data, size);
    if (n < 0 && errno != EINTR) return files_error("cannot write", "the file");
    if (n < 0) continue;
    data += n;
    size -= (size_t)n;
  }
  return 0;
}

/* Reads all of a file; the caller frees *data. */
static int files_read(int file, char **data, size_t *size) {
  struct stat status;
  ssize_t n = 1;
  *size = 0;
  if (fstat(file, &status)) return files_error("cannot read", "the file");
  *data = (char *)malloc((size_t)status.st_size + 1);
  if (!*data) return TVMFFI_RAISE("MemoryError", "no memory for a file");
  while (n > 0 && *size < (size_t)status.st_size) {
    n = read(file, *data + *size, (size_t)status.st_size - *size);
    if (n > 0) *size += (size_t)n;
  }
  if (n >= 0) return 0;
  free(*data);
  return files_error("cannot read", "the file");
}

TVMFFI_FUNC(files_upload, none, (str, name), (bytes, data)) {
  int file, code;
  TVMFFI_TRY(files_open(name.data, O_WRONLY | O_CREAT | O_TRUNC, &file));
  code = files_write(file, data.data, data.size);
  close(file);
  TVMFFI_TRY(code);
  TVMFFI_RETURN();
}

TVMFFI_FUNC(files_download, any, (str, name)) {
  TVMFFIByteArray bytes;
  TVMFFIAny any = tvmffi_none();
  char *data = NULL;
  int file, code;
  TVMFFI_TRY(files_open(name.data, O_RDONLY, &file));
  code = files_read(file, &data, &bytes.size);
  close(file);
  TVMFFI_TRY(code);
  bytes.data = data;
  code = TVMFFIBytesFromByteArray(&bytes, &any);
  free(data);
  TVMFFI_TRY(code);
  TVMFFI_RETURN(any);
}

/* Removes what is in an open folder, which is closed. Links are removed and not
   followed. */
static void files_empty(int folder) {
  DIR *dir = fdopendir(folder);
  struct dirent *entry;
  if (!dir) {
    close(folder);
    return;
  }
  while ((entry = readdir(dir))) {
    const char *name = entry->d_name;
    int inner;
    if (!strcmp(name, ".") || !strcmp(name, "..")) continue;
    if (!unlinkat(dirfd(dir), name, 0)) continue;
    inner = openat(dirfd(dir), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (inner >= 0) files_empty(inner);
    unlinkat(dirfd(dir), name, AT_REMOVEDIR);
  }
  closedir(dir);
}

TVMFFI_FUNC(files_remove, none, (str, name)) {
  char part[256];
  int folder, inner, failed;
  TVMFFI_TRY(files_folder(name.data, part, sizeof(part), &folder));
  failed = unlinkat(folder, part, 0);
  if (failed && (errno == EISDIR || errno == EPERM)) {
    inner = openat(folder, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (inner >= 0) files_empty(inner);
    failed = unlinkat(folder, part, AT_REMOVEDIR);
  }
  close(folder);
  if (failed) return files_error("cannot remove", name.data);
  TVMFFI_RETURN();
}

/* -- lists ----------------------------------------------------------------- */

typedef struct {
  char *data;
  size_t size, capacity;
} files_text;

static int files_append(files_text *t, const char *text) {
  size_t n = strlen(text);
  if (t->size + n + 2 > t->capacity) {
    size_t capacity = (t->capacity + n + 2) * 2;
    char *data = (char *)realloc(t->data, capacity);
    if (!data) return TVMFFI_RAISE("MemoryError", "no memory for a list");
    t->data = data;
    t->capacity = capacity;
  }
  if (t->size) t->data[t->size++] = ',';
  memcpy(t->data + t->size, text, n + 1);
  t->size += n;
  return 0;
}

/* Opens the folder itself for "", "." and "/", else one in it. */
static int files_open_folder(const char *name, int *folder) {
  char part[256];
  int parent;
  if (!*name || !strcmp(name, ".") || !strcmp(name, "/")) {
    *folder = openat(files_root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } else {
    TVMFFI_TRY(files_folder(name, part, sizeof(part), &parent));
    *folder =
        openat(parent, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(parent);
  }
  return *folder < 0 ? files_error("cannot open the folder", name) : 0;
}

static int files_list(int folder, files_text *list) {
  DIR *dir = fdopendir(folder);
  struct dirent *entry;
  int code = 0;
  if (!dir) {
    close(folder);
    return files_error("cannot read the folder", ".");
  }
  while (!code && (entry = readdir(dir)))
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
      code = files_append(list, entry->d_name);
  closedir(dir);
  return code;
}

TVMFFI_FUNC(files_listdir, any, (str, name)) {
  files_text list = {NULL, 0, 0};
  TVMFFIAny any = tvmffi_none();
  TVMFFIByteArray text;
  int folder, code;
  TVMFFI_TRY(files_open_folder(name.data, &folder));
  code = files_list(folder, &list);
  text.data = list.data ? list.data : "";
  text.size = list.size;
  if (!code) code = TVMFFIStringFromByteArray(&text, &any);
  free(list.data);
  TVMFFI_TRY(code);
  TVMFFI_RETURN(any);
}

/* The path that a name has on this machine, for functions that read files. */
TVMFFI_FUNC(files_workpath, any, (str, name)) {
  char path[FILES_PATH_SIZE + 256], part[256];
  TVMFFIByteArray text;
  TVMFFIAny any = tvmffi_none();
  int folder;
  TVMFFI_TRY(files_folder(name.data, part, sizeof(part), &folder));
  close(folder);
  snprintf(path, sizeof(path), "%s/%.200s", files_root, name.data);
  text = tvmffi_byte_array(path);
  TVMFFI_TRY(TVMFFIStringFromByteArray(&text, &any));
  TVMFFI_RETURN(any);
}

/* -- modules --------------------------------------------------------------- */

/* Runs a program of the system in the session's folder and waits for its end.
 */
static int files_run(const char *const *argv) {
  int status = 0;
  pid_t child = fork();
  if (child < 0) return files_error("cannot start", argv[0]);
  if (!child) {
    if (!fchdir(files_root_fd)) execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!status) return 0;
  return TVMFFI_RAISE("RuntimeError", "`%s` of `%.200s` failed with status %d",
                      argv[0], argv[2], status);
}

static int files_ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n > m && !strcmp(text + n - m, end);
}

#define FILES_MAX_OBJECTS 256

/* Links objects to a library. The names begin with "./", so that none is an
   option. */
static int files_link(char *const *objects, int n, const char *library) {
  const char *argv[FILES_MAX_OBJECTS + 8] = {"cc", "-shared", "-o"};
  int i;
  argv[3] = library;
  for (i = 0; i < n; ++i) argv[4 + i] = objects[i];
  return files_run(argv);
}

/* Lists the regular files of a folder as "./FOLDER/NAME", on the heap. */
static int files_objects(const char *name, char **objects, int *n) {
  files_text list = {NULL, 0, 0};
  int folder, code;
  char *at;
  *n = 0;
  TVMFFI_TRY(files_open_folder(name, &folder));
  code = files_list(folder, &list);
  for (at = list.data ? strtok(list.data, ",") : NULL; at && !code;
       at = strtok(NULL, ",")) {
    char path[FILES_PATH_SIZE];
    int file;
    snprintf(path, sizeof(path), "%.400s/%.400s", name, at);
    if (*n == FILES_MAX_OBJECTS || files_open(path, O_RDONLY, &file)) {
      tvmffi_error_clear();
      continue;
    }
    close(file);
    objects[*n] = (char *)malloc(strlen(path) + 3);
    if (!objects[*n]) code = TVMFFI_RAISE("MemoryError", "no memory to link");
    if (!code) sprintf(objects[(*n)++], "./%s", path);
  }
  free(list.data);
  return code;
}

/* Unpacks an archive into a folder beside it and links what was in it. */
static int files_link_archive(const char *name, const char *library) {
  char folder[FILES_PATH_SIZE], archive[FILES_PATH_SIZE];
  char *objects[FILES_MAX_OBJECTS];
  const char *argv[] = {"tar", "-xf", archive, "-C", folder, NULL};
  int n = 0, code;
  snprintf(archive, sizeof(archive), "./%.400s", name);
  snprintf(folder, sizeof(folder), "%.400s.d", name);
  if (mkdirat(files_root_fd, folder, 0755) && errno != EEXIST)
    return files_error("cannot make the folder", folder);
  TVMFFI_TRY(files_run(argv));
  code = files_objects(folder, objects, &n);
  if (!code) code = files_link(objects, n, library);
  while (n) free(objects[--n]);
  return code;
}

/* Links an object file or an archive of them, and stores the library's name; a
   library's name is its own. */
static int files_link_any(const char *name, char *library, size_t size) {
  char object[FILES_PATH_SIZE], path[FILES_PATH_SIZE], *objects[1];
  TVMFFI_TRY(files_path(name, path, sizeof(path)));
  snprintf(library, size, "%.400s%s", name,
           files_ends_with(name, ".o") || files_ends_with(name, ".tar") ? ".so"
                                                                        : "");
  if (files_ends_with(name, ".tar")) return files_link_archive(name, library);
  if (!files_ends_with(name, ".o")) return 0;
  snprintf(object, sizeof(object), "./%.400s", name);
  objects[0] = object;
  return files_link(objects, 1, library);
}

TVMFFI_FUNC(files_load_module, object, (str, name)) {
  char library[FILES_PATH_SIZE], path[FILES_PATH_SIZE];
  TVMFFIObject *module;
  TVMFFI_TRY(files_link_any(name.data, library, sizeof(library)));
  TVMFFI_TRY(files_path(library, path, sizeof(path)));
  TVMFFI_TRY(tvmffi_call("ffi.ModuleLoadFromFile", &module, path));
  fprintf(stderr, "tvmffi-rpc[%ld]: loaded %s\n", (long)getpid(), library);
  TVMFFI_RETURN(module);
}

TVMFFI_FUNC(files_download_linked, any, (str, name)) {
  char library[FILES_PATH_SIZE];
  TVMFFIAny any;
  if (!files_ends_with(name.data, ".o") &&
      !files_ends_with(name.data, ".tar") && !files_ends_with(name.data, ".so"))
    return TVMFFI_RAISE("ValueError", "do not know how to link `%.200s`",
                        name.data);
  TVMFFI_TRY(files_link_any(name.data, library, sizeof(library)));
  TVMFFI_TRY(tvmffi_call("tvm.rpc.server.download", &any, library));
  TVMFFI_RETURN(any);
}

static int files_register(void) {
  TVMFFI_TRY(tvmffi_register("tvm.rpc.server.upload", files_upload));
  TVMFFI_TRY(tvmffi_register("tvm.rpc.server.download", files_download));
  TVMFFI_TRY(tvmffi_register("tvm.rpc.server.remove", files_remove));
  TVMFFI_TRY(tvmffi_register("tvm.rpc.server.listdir", files_listdir));
  TVMFFI_TRY(tvmffi_register("tvm.rpc.server.workpath", files_workpath));
  TVMFFI_TRY(tvmffi_register("tvm.rpc.server.load_module", files_load_module));
  return tvmffi_register("tvm.rpc.server.download_linked_module",
                         files_download_linked);
}

/* -- the folder ------------------------------------------------------------ */

/* Uses a folder that exists. */
static int files_use(const char *path) {
  if (!realpath(path, files_root)) return files_error("no folder", path);
  files_root_fd = open(files_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return files_root_fd < 0 ? files_error("cannot open the folder", path) : 0;
}

/* Makes and uses a folder of its own. */
static int files_make(void) {
  char path[FILES_PATH_SIZE];
  const char *base = getenv("TMPDIR");
  const int size = snprintf(path, sizeof(path), "%s/tvmffi-rpc-XXXXXX",
                            base && *base ? base : "/tmp");
  if (size >= (int)sizeof(path)) errno = ENAMETOOLONG;
  if (size >= (int)sizeof(path) || !mkdtemp(path))
    return files_error("cannot make the folder", path);
  return files_use(path);
}

/* Removes the folder that files_make has made. */
static void files_discard(void) {
  if (files_root_fd >= 0) files_empty(files_root_fd);
  files_root_fd = -1;
  if (*files_root) rmdir(files_root);
  *files_root = 0;
}

#endif /* TVMFFI_RPC_SERVER_FILES_H_ */
