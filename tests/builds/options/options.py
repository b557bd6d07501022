#!/usr/bin/env python3
"""Builds the header in each of its modes and looks at what comes out.

Every mode is run: the unit tests and a small program. What a mode promises to
leave out is looked for in the object file, and the same look is shown to find
it where it is. Output is TAP.
"""

import argparse
import concurrent.futures
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/tools"))
sys.path.insert(0, str(HERE))
import macros  # noqa: E402
import variant  # noqa: E402
from tap import Tap  # noqa: E402

IMPLEMENTATION = '#define TVMFFI_IMPLEMENTATION\n#include "tvmffi.h"\n'
DECLARATIONS = '#include "tvmffi.h"\n'
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
# What a user may have switched on; the header is not a system header to them.
STRICT = WARNINGS + ["-Wconversion", "-Wsign-conversion", "-Wundef",
                     "-Wpointer-arith", "-Wwrite-strings"]
STRICT_C = ["-Wstrict-prototypes", "-Wmissing-prototypes",
            "-Wdeclaration-after-statement", "-Wold-style-definition"]
PROGRAM = (HERE / "program.c").read_text()
USER = (HERE / "user.c").read_text()
# In C, <stdbool.h> makes `bool` another word: in the header, too.
STDBOOL = """#include <stdbool.h>
#include "tvmffi.h"
TVMFFI_EXPORT(all_of, bool, (array(bool), all), (optional(bool), otherwise)) {
  TVMFFI_FOREACH(any, one, tvmffi_obj(all))
    if (!one.v_int64) TVMFFI_RETURN(false);
  TVMFFI_RETURN(otherwise.has_value ? otherwise.value : true);
}
TVMFFI_EXPORT(some, optional(bool), (bool, x)) {
  TVMFFI_RETURN(x ? tvmffi_some_bool(x) : tvmffi_no_bool());
}
"""

# What the implementation may ask of the system. Compilers add their own
# helpers, and libc renames some functions (`__isoc99_sscanf`, `__memcpy_chk`).
STDIO = """fprintf vfprintf printf snprintf vsnprintf sprintf sscanf fputs fputc
    fwrite fread fflush fopen fclose puts putchar putc perror stderr stdout
    stdin""".split()
LIBC = STDIO + """malloc calloc realloc free aligned_alloc posix_memalign
    memcpy memmove memset memcmp memchr strlen strcmp strncmp strchr strrchr
    strstr strnlen strtod strtol strtoll strtoul strtoull qsort bsearch getenv
    __errno_location dladdr dlsym dlopen dlclose dlerror sched_yield
    clock_gettime nanosleep poll getpid getrlimit getauxval""".split()
# What asks for the stack's range is a part of libc since glibc 2.34.
THREADS = re.compile(r"(pthread_(?!self$|getattr_np$|attr_(getstack|destroy)$)\w+"
                     r"|mtx_\w+|cnd_\w+|thrd_\w+|call_once|tss_\w+)$")
PTHREAD = re.compile(r"(pthread_\w+|mtx_\w+|cnd_\w+|thrd_\w+|call_once|tss_\w+)$")
UNWIND = re.compile(r"(_Unwind_\w+|backtrace\w*|dladdr\w*|dl_iterate_phdr"
                    r"|_dl_find_object)$")
COMPILER = re.compile(
    r"(_GLOBAL_OFFSET_TABLE_|__stack_chk_(fail|guard)|__tls_get_addr"
    r"|__atomic_\w+|__aarch64_\w+|__gxx_personality_v0)$")
SOFT_FLOAT = re.compile(
    r"__(add|sub|mul|div|neg|float\w*|fix\w*|extend\w*|trunc\w*|eq|ne|lt|le"
    r"|gt|ge|unord|cmp)[sdxt]f\w*$|__pow[sd]f\w*$|strto[df]$|f?(mod|loor)f?$")


class Failed(Exception):
    pass


class Cache:
    """Object files that several cases compile from the same text."""

    def __init__(self, folder):
        self.folder, self.lock, self.made = Path(folder), threading.Lock(), {}

    def compile(self, key, make):
        """The file for a key; the first thread that asks makes it."""
        with self.lock:
            lock, path = self.made.setdefault(
                key, (threading.Lock(), self.folder / f"{len(self.made)}.o"))
        with lock:
            if not path.exists():
                make(path)
        return path


class Box:
    """A folder to build in, and the compilers."""

    def __init__(self, args, folder, cache):
        self.args = args
        self.folder = Path(folder)
        self.cache = cache
        shutil.copy2(args.header, self.folder / "tvmffi.h")

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def run(self, *command, fails=False):
        """Runs a command; raises unless it ends as expected."""
        done = subprocess.run([str(c) for c in command], cwd=self.folder,
                              capture_output=True, text=True, timeout=900,
                              errors="replace")
        if (done.returncode != 0) != fails:
            # A signal's status is negative: seen in the report as it is.
            raise Failed(f"{' '.join(map(str, command))}\n"
                         f"status {done.returncode}\n{done.stderr[-3000:]}"
                         f"{failures(done.stdout)}")
        return done.stdout + done.stderr

    def compile(self, name, text, *flags, cxx=False, fails=False):
        source = self.write(name + (".cpp" if cxx else ".c"), text)
        command = [*self.compiler(cxx), *flags, "-I", self.folder, "-I", ROOT,
                   "-c", source, "-o"]
        if fails:
            return self.run(*command, self.folder / (name + ".o"), fails=True)
        header = (self.folder / "tvmffi.h").read_bytes()
        return self.cache.compile(
            (text, tuple(flags), cxx, hash(header)),
            lambda path: self.run(*command, path))

    def compiler(self, cxx=False):
        return ((self.args.cxx.split() + ["-std=c++11"]) if cxx else
                (self.args.cc.split() + ["-std=c11"]))

    def link(self, name, *objects, cxx=False):
        output = self.folder / name
        self.run(*self.compiler(cxx), *objects, "-o", output, "-lpthread")
        return output

    def names(self, *flags):
        """The symbols that nm lists: [(letter, name)]."""
        lines = self.run("nm", "-P", *flags).splitlines()
        return [(l.split()[1], l.split()[0].split("@")[0]) for l in lines
                if len(l.split()) > 1]

    def defined(self, *objects):
        return sorted({n for _, n in self.names("-g", "--defined-only",
                                                *objects)})

    def undefined(self, *objects):
        return sorted({plain(n) for _, n in self.names("-u", *objects)})


def failures(output):
    """The lines of a TAP report that say what failed."""
    lines = output.splitlines()
    bad = [l for l in lines if l.startswith(("not ok", "#"))]
    return "\n".join((bad or lines)[-25:])


def plain(name):
    """The libc function behind the name that the compiler or libc made up."""
    name = re.sub(r"^__isoc\d+_", "", name)
    return re.sub(r"^__(\w+)_chk$", r"\1", name) \
        if name != "__stack_chk_fail" else name


def same(found, expected):
    if found != expected:
        raise Failed(f"unexpected: {sorted(set(found) - set(expected))}\n"
                     f"missing: {sorted(set(expected) - set(found))}\n"
                     f"{len(found)} names, {len(expected)} expected")


def none_like(names, pattern):
    """Fails when one of `names` matches, or is in a list of, `pattern`."""
    found = [n for n in names if (n in pattern if isinstance(pattern, list)
                                  else pattern.match(n))]
    if found:
        raise Failed("found: " + " ".join(found))


def must_fail(check, *args):
    """A look for an absence has to see what is there."""
    try:
        check(*args)
    except Failed:
        return
    raise Failed("the check does not see what it looks for")


# -- external names ------------------------------------------------------


def upstream_names(box):
    if not box.args.wheel_lib:
        return None
    names = {n for _, n in box.names("-D", "-g", "--defined-only",
                                     box.args.wheel_lib)}
    return sorted(n for n in names if n.startswith("TVMFFI"))


def exported(box, name, *flags):
    return box.defined(box.compile(name, IMPLEMENTATION, "-O0", *flags))


def exports_by_default(box):
    expected = box.expected
    if len(expected) != 50:
        raise Failed(f"{len(expected)} names in the wheel, 50 expected")
    same(exported(box, "default"), expected)
    must_fail(same, box.defined(box.compile(
        "leak", IMPLEMENTATION + "int tvmffi_leak;", "-O0")), expected)


def exports_when_off(box):
    same(exported(box, "zero", "-DTVMFFI_STATIC=0"), box.expected)


def exports_cxx(box):
    # Without optimisation, inline functions that call each other are weak.
    names = box.defined(box.compile("cxx", IMPLEMENTATION, "-O1", cxx=True))
    # The compiler's own reference to the personality routine of C++.
    same([n for n in names if not n.startswith("DW.ref.")], box.expected)


def exports_static(box):
    obj = box.compile("static", PROGRAM, "-O0", "-DTVMFFI_STATIC=1")
    same(box.defined(obj), ["main"])
    must_fail(same, box.defined(box.compile("open", PROGRAM, "-O0")), ["main"])


def exports_prefix(box):
    same(exported(box, "prefix", "-DTVMFFI_PREFIX=acme_"),
         sorted("acme_" + n for n in box.expected))


def exports_dynamic(box):
    """Files share the runtime, and the library that they make shows nothing."""
    flags = ["-O0", "-fPIC", "-DTVMFFI_DYNAMIC=1"]
    objects = [box.compile("dynamic", copy_source("one", True), *flags),
               box.compile("dynamic2", copy_source("two", False), *flags)]
    library = box.folder / "dynamic.so"
    box.run(*box.compiler(), "-shared", *objects, "-o", library, "-lpthread")
    shown = [n for _, n in box.names("-D", "-g", "--defined-only", library)]
    same(sorted(shown), ["one", "two"])
    # The declarations alone make no use of a runtime that is not there.
    none_like(box.undefined(objects[1]), re.compile(r"TVMFFI"))
    must_fail(none_like, box.undefined(box.compile(
        "plain", copy_source("two", False), "-O0")), re.compile(r"TVMFFI"))
    main = box.compile("main", """
int one(int), two(int);
int main(void) { return two(0) == 0 && one(1) == 1 && two(0) == 1 ? 0 : 1; }
""")
    box.run(box.link("dynamic-files", main, *objects))
    same(box.defined(box.compile("static", PROGRAM, "-O0", "-DTVMFFI_STATIC=1",
                                 "-DTVMFFI_DYNAMIC=1")), ["main"])


# A library says whether its first call of the ABI met the embedded runtime.
DYNAMIC = """
#define TVMFFI_IMPLEMENTATION
#define TVMFFI_DYNAMIC 1
#include "tvmffi.h"
int is_embedded(void);
int is_embedded(void) { return tvmffi_i_runtime() == &tvmffi_i_embedded; }
"""
HOST = """
#include <dlfcn.h>
int is_embedded(void);
int main(int argc, char **argv) {
  int code = 0;
  for (; argc > 2; --argc, ++argv)
    if (!dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) return 9;
  code = is_embedded();
  return code != argv[1][0] - '0';
}
"""


def dynamic_hosts(box):
    """Half a runtime, one of another version and none leave the embedded one;
    with TVMFFI_NO_DLOPEN nobody looks."""
    def library(name, text, *flags):
        out = box.folder / (name + ".so")
        obj = box.compile(name, text, "-O0", "-fPIC", *flags)
        box.run(*box.compiler(), "-shared", obj, "-o", out, "-lpthread")
        return out
    whole = library("whole", IMPLEMENTATION)
    half = library("half", DECLARATIONS + "void TVMFFIGetVersion("
                   "TVMFFIVersion *v) { v->major = v->minor = v->patch = 0; }")
    other = library("other", IMPLEMENTATION.replace(
        "#include", "#define TVMFFIGetVersion TVMFFIGetItsVersion\n#include")
        + "#undef TVMFFIGetVersion\nTVMFFI_I_API void TVMFFIGetVersion("
        "TVMFFIVersion *v);\nvoid TVMFFIGetVersion(TVMFFIVersion *v)"
        "{ v->major = 0; v->minor = 2; v->patch = 0; }")
    obj = box.compile("embedded", DYNAMIC, "-O0")
    sealed = box.compile("sealed", DYNAMIC, "-O0", "-DTVMFFI_NO_DLOPEN=1")
    main = box.compile("host", HOST)
    exe = box.link("exe", main, obj, "-ldl")
    box.run(exe, "1")
    box.run(exe, whole, "0")
    box.run(exe, half, "1")
    box.run(exe, other, "1")
    box.run(exe, whole, "1", fails=True)
    box.run(box.link("exe2", main, sealed, "-ldl"), whole, "1")


LOADER = """
#include <dlfcn.h>
int main(int argc, char **argv) {
  int i;
  for (i = 1; i < argc; ++i) {
    void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (!library || !dlsym(library, "TVMFFIGetVersion")) return 1;
  }
  return argc > 1 ? 0 : 2;
}
"""


# A thread calls a library for the first time while there is no memory, not even
# for the loader.
NO_MEMORY = """
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
static int refuse;
#define GIVE(call) (refuse ? (errno = ENOMEM, (void *)NULL) : (call))
void *malloc(size_t n) { return GIVE(__libc_malloc(n)); }
void *calloc(size_t k, size_t n) { return GIVE(__libc_calloc(k, n)); }
void *realloc(void *p, size_t n) { return GIVE(__libc_realloc(p, n)); }
void *memalign(size_t k, size_t n) { return GIVE(__libc_memalign(k, n)); }
void *aligned_alloc(size_t k, size_t n) { return memalign(k, n); }
int posix_memalign(void **p, size_t k, size_t n) {
  *p = memalign(k, n);
  return *p ? 0 : ENOMEM;
}

typedef int callback(void *, const void *, int, void *);
static void (*raise_error)(const char *, const char *);
static void (*take_error)(void **);
static int (*release)(void *);
static int (*create)(void *, callback *, void (*)(void *), void **);
static int (*set_stream)(int, int, void *, void **);
static void *(*get_stream)(int, int);
static const void *(*trace)(const char *, int, const char *, int);

static int call(void *self, const void *args, int n, void *result) {
  return (void)self, (void)args, (void)result, n;
}
static int take(void) {
  void *error = NULL;
  take_error(&error);
  return error && release(error) == 0;
}
/* Works, or fails with an error. */
static int make(void) {
  void *f = NULL;
  return create(NULL, call, NULL, &f) ? take() : release(f) == 0;
}
static void *first_call(void *what) {
  size_t code = 0;
  refuse = 1;
  switch (*(char *)what) {
    case 'r':
      raise_error("ValueError", "without memory");
      code = !take();
      break;
    case 'm': code = !make(); break;
    case 't': code = !trace("f.c", 1, "f", 0); break;
    case 's': code = set_stream(2, 0, &refuse, NULL) && !take(); break;
    case 'g': code = get_stream(2, 0) != NULL; break;
  }
  refuse = 0;
  if (set_stream(2, 0, &refuse, NULL) || get_stream(2, 0) != &refuse) code = 8;
  return (void *)(code ? code : make() ? 0 : (size_t)9);
}
int main(int argc, char **argv) {
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *code = NULL;
  pthread_t thread;
  if (argc != 3 || !library) return 2;
#define GET(f, name) *(void **)&f = dlsym(library, name)
  GET(raise_error, "TVMFFIErrorSetRaisedFromCStr");
  GET(take_error, "TVMFFIErrorMoveFromRaised");
  GET(release, "TVMFFIObjectDecRef");
  GET(create, "TVMFFIFunctionCreate");
  GET(set_stream, "TVMFFIEnvSetStream");
  GET(get_stream, "TVMFFIEnvGetStream");
  GET(trace, "TVMFFIBacktrace");
  raise_error("ValueError", "the runtime starts");
  if (!take() || !make()) return 3;
  if (pthread_create(&thread, NULL, first_call, argv[2])) return 4;
  if (pthread_join(thread, &code)) return 5;
  return (int)(size_t)code;
}
"""


def static_tls(box):
    """Thread-local state is in glibc's static TLS, which has room for at least
    20 copies of a library; a thread's first call needs no memory for it."""
    def library(name, text, *flags):
        obj = box.compile(name, text, "-fPIC", *flags)
        out = box.folder / (name + ".so")
        box.run(*box.compiler(), "-shared", obj, "-o", out)
        return obj, out
    def check(obj):
        none_like(box.undefined(obj), ["__tls_get_addr"])
    def check_size(path):
        size = [int(l.split()[5], 16) for l in
                box.run("readelf", "-lW", path).splitlines()
                if l.split()[:1] == ["TLS"]]
        if len(size) != 1 or size[0] > 64:
            raise Failed(f"{path.name}: {size} bytes of static TLS")
    def first_calls(path):
        for what in "rmtsg":
            box.run(tester, path, what)
    box.compile("option", DECLARATIONS, "-DTVMFFI_STATIC_TLS=1", fails=True)
    loader = box.link("loader", box.compile("loader", LOADER), "-ldl")
    tester = box.link("tester", box.compile("tester", NO_MEMORY,
                                            "-D_GNU_SOURCE"), "-ldl")
    for level in ("-O0", "-O2"):
        obj, shared = library("shared" + level, IMPLEMENTATION, level)
        check(obj)
        check_size(shared)
        copies = [box.folder / f"copy{level}{i}.so" for i in range(20)]
        for copy in copies:
            shutil.copy2(shared, copy)
        box.run(loader, *copies)
        first_calls(shared)
    # Where the header does not know that the C library is glibc.
    other, dynamic = library("dynamic", IMPLEMENTATION.replace(
        "#include", "#include <features.h>\n#undef __GLIBC__\n#include"), "-O0")
    must_fail(check, other)
    must_fail(first_calls, dynamic)
    check(box.compile("dropin", (ROOT / "dropin/tvmffi.c").read_text(), "-O0",
                      "-fPIC"))
    # Types of a library without the runtime, and print.
    check(box.compile("types", (ROOT / "examples/18_ir.c").read_text(), "-O0",
                      "-fPIC", "-I", ROOT / "examples"))
    # A program has it where its own variables are, as ever.
    for pie in ("-fPIE", "-fno-pie"):
        obj = box.compile("program", IMPLEMENTATION, "-O0", pie)
        none_like(box.run("readelf", "-rW", obj).split(),
                  re.compile("R_X86_64_(GOTTPOFF|TLSGD|TLSLD)"))


def exports_declarations(box):
    for level in ("-O0", "-O2"):
        # Without optimisation, compilers keep constants that nothing uses.
        flags = ["-g"] if level == "-O0" else []
        names = box.names(*flags, box.compile("decl" + level, DECLARATIONS,
                                              level))
        if names:
            raise Failed(f"{level}: {names[:10]}")
    must_fail(same, box.names(box.compile(
        "decl-use", DECLARATIONS + "int main(void) { return "
        "TVMFFIObjectDecRef(0); }", "-O0")), [])


# -- what the object asks for --------------------------------------------


def needs_only_libc(box):
    def check(names):
        none_like([n for n in names if n not in LIBC],
                  re.compile(f"(?!{PTHREAD.pattern}|{UNWIND.pattern}"
                             f"|{COMPILER.pattern})"))
    # The object of no_warnings(), too.
    obj = box.compile("needs", IMPLEMENTATION, "-O2", *STRICT, *STRICT_C,
                      "-std=c11")
    check(box.undefined(obj))
    other = box.compile("other", "double cos(double);"
                        "double f(double x) { return cos(x); }")
    must_fail(check, box.undefined(obj, other))


def lacks(option, pattern, offender):
    """A check that `option` leaves no undefined symbol like `pattern`."""
    def check(box):
        obj = box.compile("lacks", IMPLEMENTATION, "-O0", f"-D{option}=1")
        none_like(box.undefined(obj), pattern)
        bad = box.compile("offender", offender, "-O0", "-w")
        must_fail(none_like, box.undefined(obj, bad), pattern)
    return check


def no_containers(box):
    """Their built-in functions are in the table by name, or not."""
    def check(name, *flags):
        obj = box.compile(name, IMPLEMENTATION, "-O0", *flags)
        found = [w for w in (b"ffi.ArrayGetItem", b"ffi.ListAppend")
                 if w in obj.read_bytes()]
        if found:
            raise Failed(f"{found} is there")
    check("nocontainers", "-DTVMFFI_NO_CONTAINERS=1")
    must_fail(check, "containers")


def no_extra(box):
    """Likewise."""
    def check(name, *flags):
        obj = box.compile(name, IMPLEMENTATION, "-O0", *flags)
        found = [w for w in (b"ffi.json.Parse", b"ffi.ToJSONGraph",
                             b"ffi.RecursiveEq", b"ffi.StructuralEqual")
                 if w in obj.read_bytes()]
        if found:
            raise Failed(f"{found} is there")
    check("noextra", "-DTVMFFI_NO_EXTRA=1")
    check("nocontainers", "-DTVMFFI_NO_CONTAINERS=1", "-DTVMFFI_NO_EXTRA=0")
    must_fail(check, "extra")


def no_pool(box):
    """Nothing takes or gives back memory that is kept, and no sanitizer's build
    has it: the preprocessor leaves none of it."""
    def check(name, *flags):
        text = box.compile(name, IMPLEMENTATION, "-E", *flags)
        if b"tvmffi_i_pool_flush" in text.read_bytes():
            raise Failed("tvmffi_i_pool_flush is there")
    check("nopool", "-DTVMFFI_NO_POOL=1")
    check("debugpool", "-DTVMFFI_DEBUG=1")
    check("asanpool", "-fsanitize=address")
    check("tsanpool", "-fsanitize=thread")
    must_fail(check, "pool")


def no_float_code(box):
    """The compiler itself refuses, or calls a helper for, what is left; gcc is
    told to keep what nothing calls."""
    clang = "clang" in box.run(*box.args.cc.split(), "--version")
    keep = [] if clang else ["-fkeep-inline-functions",
                             "-fkeep-static-functions"]

    def check(name, text, *flags):
        obj = box.compile(name, text, "-O0", *flags, *keep,
                          "-mgeneral-regs-only")
        none_like(box.undefined(obj), SOFT_FLOAT)
    check("nofloat", IMPLEMENTATION, "-DTVMFFI_NO_FLOAT=1")
    must_fail(check, "float", IMPLEMENTATION
              + "TVMFFIAny use(double x);"
              "TVMFFIAny use(double x) { return tvmffi_float(x / 3); }")
    # The first error of a signature with a float names the option. In C so does
    # an error of one inside another type; g++ says only that it is invalid.
    for cxx in (False, True):
        for parameter, word in (("float32", "float32"),
                                ("float64", "float64"),
                                ("array(float64)", "float64"))[:3 - cxx]:
            out = box.compile("signature", DECLARATIONS + "TVMFFI_FUNC(half, "
                              f"int64, ({parameter}, x)) {{ return 0; }}\n",
                              "-DTVMFFI_NO_FLOAT=1", cxx=cxx, fails=True)
            errors = out[out.index("error"):]
            if word == parameter:
                errors = errors.split("\n")[0]
            if f"{word}_is_no_type__TVMFFI_NO_FLOAT_is_1" not in errors:
                raise Failed(out)


def no_warnings(box):
    # What the optimiser finds, it finds in any standard. In the implementation
    # as C++ it is looked for by the unit tests of the optimised build.
    for text in (DECLARATIONS, IMPLEMENTATION, USER):
        for std, level in (("-std=c99", "-O0"), ("-std=c11", "-O2"),
                           ("-std=gnu17", "-O0")):
            box.compile("strict", text, level, *STRICT, *STRICT_C, std)
        for std, level in (("-std=c++11", "-O0"), ("-std=c++17", "-O2")):
            if text == IMPLEMENTATION:
                level = "-O0"
            box.compile("strict", text, level, *STRICT, std, cxx=True)
    for std in ("-std=c99", "-std=c11", "-std=gnu17"):
        box.compile("stdbool", STDBOOL, "-O2", *WARNINGS, std)
    for flag in ("-DTVMFFI_DEBUG=1", "-DTVMFFI_DYNAMIC=1"):
        box.compile("strict", USER, "-O0", *STRICT, *STRICT_C, flag)
        box.compile("strict", USER, "-O0", *STRICT, flag, cxx=True)
    for text in (IMPLEMENTATION, USER):
        must_fail(box.compile, "loose", text
                  + "static int f(long x) { return x; }", *STRICT, *STRICT_C)


def scopes(box):
    """Scopes follow the text, in C and C++, with threads of OpenMP, and with a
    compiler that has no cleanup attribute."""
    text = (HERE / "scopes.c").read_text()
    runtime = box.compile("runtime", IMPLEMENTATION)
    builds = [(["-O0"], False), (["-O2"], False), (["-O0"], True),
              (["-O2", "-DTVMFFI_DEBUG=1"], False),
              (["-O0", "-DTVMFFI_I_CLEANUP=0"], False)]
    if "clang" not in box.args.cc:
        builds += [(["-O1", "-fopenmp"], False)]
    for flags, cxx in builds:
        made = box.compile("scopes", text, *WARNINGS, *flags, cxx=cxx)
        libraries = [f for f in flags if f == "-fopenmp"]
        output = box.run(
            box.link("scopes", made, runtime, *libraries, cxx=cxx))
        if output != "ok\n":
            raise Failed(f"{flags}: {output}")
    must_fail(box.run, box.link(
        "shared", box.compile("shared", text.replace(
            "  tvmffi_release(kept);\n", ""), "-O0"), runtime))
    out = box.compile("refused", DECLARATIONS + "int f(void); "
                      "int f(void) { TVMFFI_SCOPE; return 0; }",
                      "-DTVMFFI_I_CLEANUP=0", fails=True)
    if "needs_the_cleanup_attribute__call_tvmffi_scope_open" not in out:
        raise Failed("no error that says what to call\n" + out)


OUTSIDE = DECLARATIONS + """
int g(TVMFFIObject *f);
int g(TVMFFIObject *f) {
  int64_t n = 0;
  TVMFFIObject *o = NULL;
  TVMFFIAny any;
  (void)n, (void)o, (void)any;
  return %s;
}
"""


def outside_scopes(box):
    """Outside all scopes, the compiler refuses what would have no owner, and
    its error says what to write."""
    for cxx in (False, True):
        null = "nullptr" if cxx else "NULL"
        for right in (f"tvmffi_call(f, {null})", "tvmffi_call(f, &n)",
                      "tvmffi_get(f, 1, &n)", "tvmffi_as(f, &n)"):
            box.compile("right", OUTSIDE % right, *WARNINGS, cxx=cxx)
        for wrong in ("tvmffi_list(1) != NULL", "tvmffi_shape() != NULL",
                      "tvmffi_list_from(&any, 1) != NULL",
                      "tvmffi_call(f, &o)", "tvmffi_call(f, &any)",
                      "tvmffi_get(f, 1, &o)", "tvmffi_as(f, &any)",
                      "tvmffi_scope_attach(f) != NULL",
                      "tvmffi_global_get(\"f\", &o)"):
            out = box.compile("wrong", OUTSIDE % wrong, "-fsyntax-only",
                              cxx=cxx, fails=True)
            if "add_the_parameter_TVMFFI_HERE_or_write_TVMFFI_SCOPE" not in out:
                raise Failed(f"{wrong}\n{out[:3000]}")


def wrong_result(box):
    """The compiler tells that a result is of another type."""
    text = "TVMFFI_FUNC(f, int64) { TVMFFI_RETURN(%s); } " \
        "const tvmffi_func *g(void); " \
        "const tvmffi_func *g(void) { return &tvmffi_func_f; }\n"
    for cxx in (False, True):
        box.compile("right", DECLARATIONS + text % "1", "-Werror", cxx=cxx)
        for value in ('"x"', "tvmffi_none()", ""):
            box.compile("wrong", DECLARATIONS + text % value, "-Werror",
                        cxx=cxx, fails=True)


POINT = "typedef struct { TVMFFIObject base; double x; } Point;\n" \
    "TVMFFI_TYPE(Point, \"demo.Point\", TVMFFIObject, %s)\n"
ITEMS = "_is_no_item_of_TVMFFI_TYPE__these_are_field_readonly_method"
CALC = "typedef struct { tvmffi_module base; } Calc;\n" \
    "TVMFFI_MODULE(Calc, \"demo.calc\", (mask, 1), %s)\n" \
    "Calc *g(void); Calc *g(void) { TVMFFI_SCOPE; return TVMFFI_NEW(Calc); }"
KINDS = "_is_no_item_of_TVMFFI_MODULE__these_are_function_lookup_save"
PARAMS = "tvmffi_func_f__needs_a_result_and_parameters_like__int64_x"
# What is wrong, what the first error says, and the most errors in C and C++.
MISTAKES = (
    ("TVMFFI_EXPORT(f, int65, (int64, x)) { TVMFFI_RETURN(x); }",
     "tvmffi_i_unknown_type_word__int65__see_the_guide", 1, 14),
    ("TVMFFI_FUNC(f, int64, (strng, s)) { (void)s; TVMFFI_RETURN(1); }",
     "tvmffi_i_unknown_type_word__strng__see_the_guide", 1, 8),
    ("TVMFFI_FUNC(f, none, (optional(strng), s)) { TVMFFI_RETURN(); }",
     "tvmffi_i_unknown_type_word__strng__see_the_guide", 1, 9),
    ("TVMFFI_CLOSURE(f, int, none, (strng, s)) { TVMFFI_RETURN(); }",
     "tvmffi_i_unknown_type_word__strng__see_the_guide", 1, 8),
    (POINT % "(field, float46, x)",
     "tvmffi_i_unknown_type_word__float46__see_the_guide", 2, 16),
    (POINT % "(feild, float64, x)", "feild_with_3_parts" + ITEMS, 1, 1),
    (POINT % "(field, float64)", "field_with_2_parts" + ITEMS, 1, 1),
    (POINT % "(field, float64, x, 1, 2)", "field_with_5_parts" + ITEMS, 1, 1),
    (POINT % "(attribute, x)", "attribute_with_2_parts" + ITEMS, 1, 1),
    (CALC % "(lokup, find)", "lokup_with_2_parts" + KINDS, 1, 1),
    (CALC % "(save_file, write)", "save_file_with_2_parts" + KINDS, 1, 1),
    ("TVMFFI_FUNC(f, none, (int64)) { TVMFFI_RETURN(); }", PARAMS, 2, 2),
    ("TVMFFI_EXPORT(f, none, int64 x) { TVMFFI_RETURN(); }", PARAMS, 2, 2),
    ("TVMFFI_EXPORT(f, (int64, x)) { TVMFFI_RETURN(x); }", PARAMS, 2, 2),
    ("TVMFFI_CLOSURE(f, int, none, (int64)) { TVMFFI_RETURN(); }", PARAMS, 2,
     2),
    ("int g(DLTensor *x); int g(DLTensor *x) { TVMFFI_EXPECT((x)); "
     "return x->ndim; }", "TVMFFI_EXPECT_needs_tensors_and_texts", 1, 1),
)
POINTER = POINT % "(field, float64, x)" + (
    "typedef struct { double x; } Other; int g(Point *p, Other *o); "
    "int g(Point *p, Other *o) { char s[2] = {0, 0}; void *q = s; (void)o; "
    "return tvmffi_call(tvmffi_str(s), tvmffi_out_any(NULL), "
    "TVMFFI_ANY(s), TVMFFI_ANY(q), TVMFFI_ANY(%s)); }\n")
RIGHT = """
TVMFFI_METHOD(Point, norm, float64) { TVMFFI_RETURN(1); }
TVMFFI_EXPORT(right, Point, (Point, p), (optional(Point), q), (array(Point), a))
{
  (void)q, (void)a;
  TVMFFI_RETURN(p);
}
"""


def readable_errors(box):
    """The first error of a wrong definition names what is wrong, and few
    follow. Without the mistake there is neither an error nor a warning."""
    def first(text, most, cxx=False, std="-std=c11"):
        out = box.compile("mistake", DECLARATIONS + text, std,
                          "-fsyntax-only", cxx=cxx, fails=True)
        errors = re.findall(r"error: .*", out)
        if len(errors) > most or (not cxx and out.count("\n") > 300):
            raise Failed(f"{text}\n{len(errors)} errors\n{out[:3000]}")
        return errors[0]
    def names(text, word, most, **how):
        found = first(text, most, **how)
        if word not in found:
            raise Failed(f"{text}\n{found}")
    for text, word, c, cxx in MISTAKES:
        names(text, word, c)
        names(text, word, cxx, cxx=True, std="-std=c++11")
    names("int g(void); int g(void) { return tvmffi_call(\"f\", NULL, 3); }",
          "tvmffi_i_plain_values_need_C11", 3, std="-std=c99")
    right = POINT % "(field, float64, x), (method, norm)" + RIGHT
    for std in ("-std=c99", "-std=c11"):
        box.compile("right", DECLARATIONS + right, std, *WARNINGS)
    box.compile("right", DECLARATIONS + right, *WARNINGS, cxx=True)
    must_fail(names, MISTAKES[0][0], "int64", 0)
    must_fail(names, MISTAKES[0][0], "another", 1)


ALLOCATOR = """
#include <stdlib.h>
static void *acme_alloc(size_t n);
static void acme_free(void *p);
#define TVMFFI_MALLOC(n) acme_alloc(n)
#define TVMFFI_FREE(p) acme_free(p)
"""
ALLOCATOR_BODY = """
static char acme_pool[1 << 22];
static size_t acme_used;
static void *acme_alloc(size_t n) {
  void *p = acme_pool + acme_used;
  acme_used += (n + 63) & ~(size_t)63;
  return acme_used < sizeof acme_pool ? p : 0;
}
static void acme_free(void *p) { (void)p; }
"""
HEAP = re.compile(r"(malloc|calloc|realloc|free|aligned_alloc|posix_memalign)$")


def own_allocator(box):
    source = ALLOCATOR + IMPLEMENTATION + ALLOCATOR_BODY
    obj = box.compile("alloc", source, "-O0", "-DTVMFFI_NO_BACKTRACE=1")
    none_like(box.undefined(obj), HEAP)
    # With stack traces, a C++ name comes from libstdc++'s heap, and goes back.
    obj = box.compile("alloc", source, "-O0")
    none_like([n for n in box.undefined(obj) if n != "free"], HEAP)
    must_fail(none_like,
              box.undefined(box.compile("heap", IMPLEMENTATION, "-O0")), HEAP)
    program = PROGRAM.replace(IMPLEMENTATION, "") + ALLOCATOR_BODY
    exe = box.link("alloc", box.compile("alloc-run", ALLOCATOR
                                        + IMPLEMENTATION + program, "-O0"))
    box.run(exe)


def half_an_allocator(box):
    for flag, other in (("TVMFFI_MALLOC(n)=0", "TVMFFI_FREE"),
                        ("TVMFFI_FREE(p)=(void)0", "TVMFFI_MALLOC")):
        out = box.compile("half", IMPLEMENTATION, "-D" + flag, fails=True)
        if "#error" not in out or other not in out:
            raise Failed(f"-D{flag} gives no #error naming {other}\n{out}")


# -- profiles ------------------------------------------------------------

ARENA = ["-DTVMFFI_ARENA_SIZE=65536"]
BARE = ["-DTVMFFI_FREESTANDING=1"]
# What a linker leaves out that nothing refers to. Without optimisation, a
# conversion of one type refers to what the conversion of any type needs.
SPLIT = ["-O1", "-g0", "-ffunction-sections", "-fdata-sections"]
STRING_H = """#include <stddef.h>
void *memcpy(void *, const void *, size_t), *memset(void *, int, size_t);
void *memmove(void *, const void *, size_t), *memchr(const void *, int, size_t);
int memcmp(const void *, const void *, size_t);
int strcmp(const char *, const char *);
size_t strlen(const char *);
char *strchr(const char *, int), *strrchr(const char *, int);
"""
STRING = re.findall(r"(\w+)\(", STRING_H)


def refused(box, word, *flags):
    """These options together are an #error that names `word`."""
    out = box.compile("refused", IMPLEMENTATION, *flags, fails=True)
    if "#error" not in out or word not in out:
        raise Failed(f"{' '.join(flags)}: no #error naming {word}\n{out}")


def freestanding(box):
    """Without the folder of libc's headers, and nothing left to libc."""
    def check(level, name, text, *flags):
        obj = box.compile(name, text, level, "-ffreestanding", "-nostdinc",
                          "-isystem", own, *flags)
        none_like(box.undefined(obj), re.compile(f"(?!{COMPILER.pattern})"))
        weak = [n for letter, n in box.names(obj) if letter == "W"]
        if not set(STRING) <= set(weak):
            raise Failed(f"weak functions: {weak}")
    own = box.run(*box.args.cc.split(), "-print-file-name=include").strip()
    # The optimiser calls functions of libc that the text does not.
    for level in ("-O0", "-O2"):
        check(level, "bare", IMPLEMENTATION, *BARE, *ARENA)
    must_fail(check, "-O0", "libc", IMPLEMENTATION, *ARENA,
              "-DTVMFFI_NO_THREADS=1")
    must_fail(check, "-O0", "print", IMPLEMENTATION
              + "int puts(const char *); int f(void); int f(void) "
              "{ return puts(\"\"); }", *BARE, *ARENA)
    must_fail(check, "-O0", "theirs", STRING_H + IMPLEMENTATION, *BARE, *ARENA,
              "-DTVMFFI_NO_OWN_STRING=1")


def freestanding_needs(box):
    refused(box, "TVMFFI_ARENA_SIZE", *BARE)
    refused(box, "TVMFFI_FREESTANDING", *BARE, *ARENA, "-DTVMFFI_NO_STDIO=0")
    refused(box, "TVMFFI_LOCK", *BARE, *ARENA, "-DTVMFFI_NO_THREADS=0")
    refused(box, "TVMFFI_LOCK", *BARE, *ARENA, "-DTVMFFI_LOCK()=0")
    refused(box, "_YIELD", *BARE, *ARENA, "-DTVMFFI_NO_THREADS=0",
            "-DTVMFFI_LOCK()=(void)0", "-DTVMFFI_UNLOCK()=(void)0",
            "-DTVMFFI_THREAD_LOCAL(key,size)=local(size)")
    must_fail(refused, box, "TVMFFI_ARENA_SIZE", *BARE, *ARENA)


def linked(box, name, text, *flags):
    """The names of a program that has only what it refers to; it runs."""
    obj = box.compile(name, text, *SPLIT, *flags)
    exe = box.folder / (name + ".exe")
    box.run(*box.compiler(), obj, "-o", exe, "-Wl,--gc-sections", "-lpthread")
    box.run(exe)
    return {n for _, n in box.names(exe)}, exe


TYPED = PROGRAM.replace("int main(void) {", """
TVMFFI_FUNC(half, int64, (int64, x)) { TVMFFI_RETURN(x / 2); }
int main(void) {
  int64_t n = 0;
  if (TVMFFI_REGISTER("program.half", half)) return 11;
  if (tvmffi_call(tvmffi_str("program.half"), tvmffi_out_int64(&n),
                  tvmffi_int(8)) || n != 4) return 12;
""")
SHAPE = "-DTVMFFI_BUILTINS(F)=F(Shape)"
NO_BUILTINS = "-DTVMFFI_NO_BUILTINS=1"


def no_types(box):
    """Neither the table nor a schema is in a program that calls functions."""
    def check(name, *flags):
        names, exe = linked(box, name, TYPED, NO_BUILTINS, *flags)
        found = sorted(n for n in names
                       if n.startswith("tvmffi_i_static_entries"))
        found += [b"type_schema"] * (b"type_schema" in exe.read_bytes())
        if found:
            raise Failed(f"{found} is there")
    check("notypes", "-DTVMFFI_NO_TYPES=1")
    must_fail(check, "types", "-DTVMFFI_NO_CONTAINERS=1")
    refused(box, "TVMFFI_NO_CONTAINERS", "-DTVMFFI_NO_TYPES=1",
            "-DTVMFFI_NO_CONTAINERS=0")


NAMED = """
#include "tvmffi.h"
TVMFFI_EXPORT(soften, none, (tensor, into), (int64, axis, -1)) {
  (void)into, (void)axis;
  TVMFFI_RETURN();
}
TVMFFI_DOC(soften, "what soften does")
"""


def no_metadata(box):
    """Neither names nor schemas nor documentation are in an object file."""
    def check(name, *flags):
        path = box.compile(name, NAMED, "-O2", *flags)
        content = path.read_bytes()
        found = [text for text in (b"into\0axis", b"type_schema", b"arg_names",
                                   b"what soften does", b"_metadata_soften")
                 if text in content]
        if found:
            raise Failed(f"{found} is there")
        if b"__tvm_ffi_soften" not in content:
            raise Failed("there is no function")
    check("no-metadata", "-DTVMFFI_NO_METADATA=1")
    must_fail(check, "metadata")


# What of the unit tests has no meaning without a table of types.
NEED_TYPES = re.compile(
    r"types: |struct types: (?!none)|nesting: |functions: (a type of its own|"
    r"global with metadata|schemas of )|typed functions: (schemas|metadata of )|"
    r"contracts: (metadata|the text of a parameter)|races: metadata of a type|"
    r"(errors|globals|tensors): of a derived type|"
    r"globals: the description of a built-in one|"
    r"threads: (a late hook|types|attribute columns|processes|"
    r"fields, methods and metadata|types of one file|"
    r"the list of a file's types|the range of a stack|"
    r"a limit that the system refuses)$")


def unit_list(box, *flags):
    shutil.copy2(box.args.test, box.folder)
    exe = box.link("list", box.compile(
        "list-run", f'#include "{box.args.test.name}"\n', "-O0", *flags))
    return [line.strip() for line in box.run(exe, "--list").splitlines()]


def no_types_tests(box):
    """All unit tests are there but those of NEED_TYPES, each of which is none
    for a reason."""
    every = unit_list(box, "-DTVMFFI_NO_CONTAINERS=1")
    same(sorted(unit_list(box, "-DTVMFFI_NO_TYPES=1")),
         sorted([t for t in every if not NEED_TYPES.match(t)]
                + ["struct types: none"]))
    if len(every) - len([t for t in every if NEED_TYPES.match(t)]) < 100:
        raise Failed(f"{len(every)} tests, too few are left")


FORKED = """
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
static int at_end(void (*end)(void *), void *state) {
  return end && state;
}
#define TVMFFI_AT_THREAD_END(end, state) at_end(end, state)
""" + IMPLEMENTATION + """
static void *handle;
static int running, may_end;
static int init_until_waited(void **out) {
  __atomic_store_n(&running, 1, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&may_end, __ATOMIC_SEQ_CST)) sched_yield();
  *out = &running;
  return 0;
}
static int init_at_once(void **out) {
  *out = &running;
  return 0;
}
static void *first_use(void *unused) {
  (void)TVMFFIHandleInitOnce(&handle, init_until_waited);
  return unused;
}
int main(void) {
  pthread_t thread;
  int status = -1;
  pid_t pid;
  if (pthread_create(&thread, NULL, first_use, NULL)) return 1;
  while (!__atomic_load_n(&running, __ATOMIC_SEQ_CST)) sched_yield();
  pid = fork();
  if (!pid) {
    alarm(60);
    _exit(TVMFFIHandleInitOnce(&handle, init_at_once) ? 1 : 0);
  }
  (void)waitpid(pid, &status, 0);
  __atomic_store_n(&may_end, 1, __ATOMIC_SEQ_CST);
  (void)pthread_join(thread, NULL);
  return status != 0;
}
"""


def forked_first_use(box):
    """A child of fork waits for no thread of its parent, though the parent's
    first use is an initialization that has taken no lock."""
    box.run(box.link("forked", box.compile(
        "forked", FORKED, "-D_DEFAULT_SOURCE", "-O0", *WARNINGS)))


BUILTINS = IMPLEMENTATION + """
static int has(const char *name) {
  TVMFFIByteArray key = tvmffi_byte_array(name);
  TVMFFIObjectHandle f = 0;
  if (TVMFFIFunctionGetGlobal(&key, &f) || !f) return 0;
  TVMFFIObjectDecRef(f);
  return 1;
}
int main(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *o = 0;
  if (!has("ffi.Shape") || has("ffi.String") || has("ffi.ArrayGetItem"))
    return 1;
  if (tvmffi_call(tvmffi_str("ffi.Shape"), tvmffi_out_object(&o),
                  tvmffi_int(2))) return 2;
  if (o->type_index != kTVMFFIShape) return 3;
  return 0;
}
"""


def warned(box, *flags):
    """No compiler warns of the functions that a build leaves out."""
    for cxx in (False, True):
        box.compile("warned", IMPLEMENTATION, "-Wall", "-Wextra", "-Werror",
                    "-O1", *flags, cxx=cxx)


def builtins(box):
    """Those of the list are there; the linker leaves out what others use."""
    def check(name, text, *flags):
        names, exe = linked(box, name, text, *flags)
        found = [n for n in names
                 if re.match(r"tvmffi_(func|call)_i_(json_Parse|ListReverse)$",
                             n)]
        found += [w for w in (b"ffi.json.Parse", b"ffi.ListReverse")
                  if w in exe.read_bytes()]
        if found:
            raise Failed(f"{found} is there")
    check("few", BUILTINS, SHAPE)
    must_fail(linked, box, "every", BUILTINS)
    must_fail(check, "all", BUILTINS.replace("if (!has", "if (0 && !has"))
    warned(box, SHAPE)
    must_fail(box.compile, "unknown", IMPLEMENTATION, SHAPE[:-1] + "s)")
    must_fail(box.compile, "left-out", IMPLEMENTATION, "-DTVMFFI_NO_EXTRA=1",
              "-DTVMFFI_BUILTINS(F)=F(json_Parse)")


def no_builtins(box):
    """A program that calls its own function has neither a built-in one nor the
    table of types."""
    def check(name, text, *flags):
        names, exe = linked(box, name, text, *flags)
        found = [n for n in names if re.match(
            r"tvmffi_(func|call)_i_(?!MemoryTrim)|tvmffi_i_static_(?!types)",
            n)]
        found += [b"DeepCopy"] * (b"ffi.DeepCopy" in exe.read_bytes())
        if found:
            raise Failed(f"{found} is there")
    check("none", TYPED, NO_BUILTINS)
    must_fail(check, "some", TYPED, SHAPE)
    must_fail(check, "types", TYPED.replace(
        "int64_t n = 0;", "int64_t n = !TVMFFIGetTypeInfo(64);"), NO_BUILTINS)
    warned(box, NO_BUILTINS)
    refused(box, "TVMFFI_BUILTINS", NO_BUILTINS, SHAPE)


KEYS = PROGRAM.replace("int main(void) {", """
int main(void) {
  TVMFFI_SCOPE;
  TVMFFIAny words[3] = {{0}}, map, key = {0};
  uint64_t big[2] = {1, 2};
  TVMFFIByteArray bytes = {(const char *)big, sizeof big};
  int64_t n = 0, shape = 4;
  double sum;
  int i;
  for (i = 0; i < 2; ++i)
    if (TVMFFIBigIntFromByteArray(&bytes, &words[i])) return 21;
  if (tvmffi_call(tvmffi_str("ffi.Map"), tvmffi_out_any(&map), words[0],
                  tvmffi_int(7))) return 22;
  key = words[1];
  if (tvmffi_call(tvmffi_str("ffi.MapCount"), tvmffi_out_int64(&n), map,
                  key) || n != 1) return 23;
  for (i = 0; i < 2; ++i) tvmffi_any_release(&words[i]);
""")


def no_reflection(box):
    """Neither the members nor the functions that need them; maps still find
    equal keys."""
    def check(name, *flags):
        names, exe = linked(box, name, KEYS, *flags)
        found = [n for n in names
                 if re.match(r"tvmffi_i_(fields|methods|builtin_types)$", n)]
        found += [w for w in (b"ffi.StructuralEqual", b"ffi.DeepCopy")
                  if w in exe.read_bytes()]
        if found:
            raise Failed(f"{found} is there")
        if b"ffi.json.Parse" not in exe.read_bytes():
            raise Failed("there is no ffi.json.Parse")
    check("noreflection", "-DTVMFFI_NO_REFLECTION=1")
    must_fail(check, "reflection")
    warned(box, "-DTVMFFI_NO_REFLECTION=1")
    must_fail(box.compile, "needs", IMPLEMENTATION, "-DTVMFFI_NO_REFLECTION=1",
              "-DTVMFFI_BUILTINS(F)=F(DeepCopy)")


ARENA_PROGRAM = IMPLEMENTATION + """
int main(void) {
  char text[100] = "a text of a hundred bytes, which no Any holds itself";
  TVMFFIByteArray bytes = {text, sizeof text};
  static TVMFFIAny all[ARENA / sizeof text];
  size_t used, most = 0;
  int round, n, got = 0;
  for (round = 0; round < 2; ++round) {
    for (n = 0; n < ARENA / (int)sizeof text; ++n)
      if (TVMFFIStringFromByteArray(&bytes, &all[n])) break;
    if (!tvmffi_error_catch("MemoryError")) return 1;
    if (round && n != got) return 2;
    got = n;
    if (n < ARENA / 200) return 3;
    used = tvmffi_arena_used(&most);
    if (used > most || most > ARENA || used < (size_t)n * sizeof text) return 4;
    while (n--) tvmffi_any_release(&all[n]);
    if (tvmffi_arena_used(0) >= used - (size_t)got * sizeof text + 1) return 5;
  }
  return 0;
}
"""


# The first request is refused. The lock is counted, as tvmffi_arena_used reads
# two numbers.
ARENA_START = "static int locks;\n" + IMPLEMENTATION + """
int main(void) {
  void *block[ARENA / 1000 + 1];
  size_t most;
  int n = 0, i;
  if (TVMFFI_MALLOC(ARENA)) return 1;
  while (n <= ARENA / 1000 && (block[n] = TVMFFI_MALLOC(1000)) != NULL)
    for (i = n++; i--;)
      if (block[i] == block[n - 1]) return 2;
  if (n < ARENA / 2000 || n > ARENA / 1000) return 3;
  locks = 0;
  if (tvmffi_arena_used(&most) < 1000u * (size_t)n || locks != 11) return 4;
  while (n--) TVMFFI_FREE(block[n]);
  return tvmffi_arena_used(NULL) ? 5 : 0;
}
"""
COUNTED_LOCK = ["-DTVMFFI_ATOMIC_ENTER()=(locks+=10,0u)",
                "-DTVMFFI_ATOMIC_LEAVE(was)=(void)(++locks,was)"]


def arena(box):
    """It is as large as asked, all memory is from it, and it is all."""
    one = ["-DTVMFFI_NO_THREADS=1"]

    def heap(name, *flags):
        none_like(box.undefined(box.compile(
            name, IMPLEMENTATION, "-O0", *one, "-DTVMFFI_NO_BACKTRACE=1",
            *flags)), HEAP)

    def is_as_large(size, name, *flags):
        obj = box.compile(name, IMPLEMENTATION, "-O0", *one, *flags)
        lines = box.run("nm", "-P", obj).splitlines()
        got = [int(l.split()[3], 16) for l in lines
               if l.startswith("tvmffi_i_arena ")]
        if got != [size]:
            raise Failed(f"the arena has {got} bytes, not {size}")
    heap("arena", *ARENA)
    must_fail(heap, "heap")
    is_as_large(65536, "large", *ARENA)
    is_as_large(4096, "small", "-DTVMFFI_ARENA_SIZE=4096")
    must_fail(is_as_large, 65536, "other", "-DTVMFFI_ARENA_SIZE=4096")
    for flags in (one + ["-DTVMFFI_NO_POOL=1"], BARE):
        box.run(box.link("full", box.compile(
            "full-run", ARENA_PROGRAM, "-O0", *flags, *ARENA,
            "-DARENA=65536")))
    box.run(box.link("start", box.compile(
        "start-run", ARENA_START, "-O0", *ARENA, "-DARENA=65536",
        *COUNTED_LOCK)))
    refused(box, "TVMFFI_MALLOC", *one, *ARENA, "-DTVMFFI_MALLOC(n)=0")
    refused(box, "TVMFFI_ATOMIC_ENTER", *ARENA)


# Type schemas that are longer than the buffer for them.
SMALL_MESSAGES = IMPLEMENTATION + """
#define KEY "small.a_type_key_of_78_characters_that_stands_four_times_in_a_schema__"
typedef struct {
  TVMFFIObject base;
  int64_t number;
} Long;
TVMFFI_TYPE(Long, KEY "12345678", TVMFFIObject, (field, int64, number))
typedef struct {
  TVMFFIObject base;
  TVMFFIObject *maps;
} Field;
TVMFFI_TYPE(Field, "small.Field", TVMFFIObject,
            (field, array(map(Long, Long)), maps))
typedef struct {
  TVMFFIObject base;
} Method;
TVMFFI_TYPE(Method, "small.Method", TVMFFIObject, (method, go))
TVMFFI_METHOD(Method, go, none, (array(map(Long, Long)), maps)) {
  (void)self, (void)maps;
  TVMFFI_RETURN();
}
TVMFFI_FUNC(go, none, (array(map(Long, Long)), maps)) {
  (void)maps;
  TVMFFI_RETURN();
}
static int fails(int failed) {
  return failed && tvmffi_error_catch("ValueError");
}
int main(void) {
  if (TVMFFI_TYPE_INDEX(Long) < 0) return 1;
  if (!fails(TVMFFI_TYPE_INDEX(Field) < 0)) return 2;
  if (!fails(TVMFFI_TYPE_INDEX(Method) < 0)) return 3;
  if (!fails(TVMFFI_REGISTER("go", go))) return 4;
  return 0;
}
"""


def message_size(box):
    """A schema that does not fit is an error, and nothing is written behind
    the buffer."""
    small = ["-DTVMFFI_MESSAGE_SIZE=64"]
    box.run(box.link("small", box.compile("small-run", SMALL_MESSAGES, "-O0",
                                          *small)))
    refused(box, "TVMFFI_MESSAGE_SIZE", "-DTVMFFI_MESSAGE_SIZE=63")


TENSOR_MAKER = DECLARATIONS + """
TVMFFIObject *make(TVMFFI_HERE, int64_t n);
TVMFFIObject *make(TVMFFI_HERE, int64_t n) {
  DLDevice cpu = {kDLCPU, 0};
  TVMFFIObject *x = NULL;
  return tvmffi_tensor_new(tvmffi_dtype_of(kDLInt, 8), cpu, 1, &n, &x) ? NULL
                                                                       : x;
}
"""
TENSOR_USER = IMPLEMENTATION + """
TVMFFIObject *make(TVMFFI_HERE, int64_t n);
int main(void) {
  TVMFFI_SCOPE;
  size_t begin, i;
  if (!make(tvmffi_here, 1)) return 1;
  begin = tvmffi_arena_used(NULL);
  for (i = 0; i < 100; ++i) {
    {
      TVMFFI_SCOPE;
      TVMFFIObject *x = make(tvmffi_here, 20000);
      if (!x) return 2;
      if (tvmffi_arena_used(NULL) < begin + 20000) return 3;
      memset(TVMFFITensorGetDLTensorPtr(x)->data, 7, 20000);
    }
    if (tvmffi_arena_used(NULL) != begin) return 4;
  }
  if (make(tvmffi_here, 70000)) return 5;
  if (!tvmffi_error_catch("MemoryError")) return 6;
  return 0;
}
"""


def tensors(box):
    """A file that does not know the arena makes tensors from it, and dtypes
    given as values need no parser."""
    def check(name, text):
        user = box.compile(name, text, *SPLIT, *BARE)
        none_like(box.undefined(user), HEAP)
        runtime = box.compile(name + "-runtime", TENSOR_USER, *SPLIT, *BARE,
                              *ARENA)
        exe = box.folder / (name + ".exe")
        box.run(*box.compiler(), user, runtime, "-o", exe, "-Wl,--gc-sections")
        box.run(exe)
        none_like([n for _, n in box.names(exe)],
                  re.compile("TVMFFIDataTypeFromString$"))
    check("values", TENSOR_MAKER)
    must_fail(check, "names",
              TENSOR_MAKER.replace("tvmffi_dtype_of(kDLInt, 8)", '"int8"'))
    must_fail(check, "heap", TENSOR_MAKER
              + "void free(void *), drop(void *); void drop(void *p) "
              "{ free(p); }")


LEGACY_HEADER = '#include "legacy/tvmffi_legacy.h"\n'
LEGACY = LEGACY_HEADER + """
static int old_twice(tvmffi_legacy_value *args, int *codes, int n,
                     tvmffi_legacy_value *result, int *code, void *resource) {
  if (n != 1 || codes[0] != TVMFFI_LEGACY_INT) {
    tvmffi_legacy_set_error("one integer, please");
    return -1;
  }
  ++*(int *)resource;
  result->v_int64 = 2 * args[0].v_int64;
  *code = TVMFFI_LEGACY_INT;
  return 0;
}
static int calls;
int user(void);
int user(void) {
  TVMFFIObject *f;
  tvmffi_legacy_value in, out;
  int64_t n = 0;
  int codes[1] = {TVMFFI_LEGACY_INT}, code = 0;
  TVMFFI_SCOPE;
  if (tvmffi_legacy_wrap(old_twice, &calls, 0, &f)) return 1;
  if (tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&n), tvmffi_int(21)))
    return 2;
  if (n != 42 || calls != 1) return 3;
  if (!tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&n), tvmffi_str("x")))
    return 4;
  if (!tvmffi_error_catch("RuntimeError")) return 5;
  in.v_int64 = 4;
  if (tvmffi_legacy_call(&in, codes, 1, &out, &code, f)) return 6;
  if (code != TVMFFI_LEGACY_INT || out.v_int64 != 8 || calls != 2) return 7;
  return 0;
}
"""


def legacy(box):
    """A header of its own, which exports nothing."""
    box.compile("option", DECLARATIONS, "-DTVMFFI_LEGACY=1", fails=True)
    for flags in ([], ["-DTVMFFI_NO_FLOAT=1"]):
        box.compile("strict", LEGACY, "-O0", *STRICT, *STRICT_C, *flags)
        box.compile("strict", LEGACY, "-O0", *STRICT, *flags, cxx=True)
    box.compile("casts", LEGACY_HEADER, *WARNINGS, *CASTS, "-fsyntax-only",
                "-std=c++17", cxx=True)
    user = box.compile("user", LEGACY, "-O0")
    runtime = box.compile("runtime", IMPLEMENTATION, "-O0")
    same(box.defined(user), ["user"])
    box.run(box.link("old", user, runtime, box.compile(
        "main", "int user(void); int main(void) { return user(); }")))


# -- programs ------------------------------------------------------------


def unit_tests(*flags):
    def check(box):
        source, exe = box.folder / box.args.test.name, box.folder / "unit"
        shutil.copy2(box.args.test, source)
        cc = variant.quick(box.args.cc).split()
        box.run(*cc, "-std=c11", "-O0", "-w", *SMALL, *flags, "-I", box.folder,
                "-I", ROOT, source, "-o", exe, "-lpthread")
        out = box.run(*SHORT, exe)
        if not re.search(r"^ok \d+", out, re.M):
            raise Failed("no test was run\n" + out[-2000:])
    return check


def program(*flags, cxx=False):
    def check(box):
        obj = box.compile("program", PROGRAM, "-O0", *WARNINGS, *flags,
                          cxx=cxx)
        box.run(box.link("program.exe", obj, cxx=cxx))
    return check


def smaller_headers(box):
    """What ./dev amalgamate writes with less in it compiles, and says so where
    something that is not there is asked for."""
    header = box.folder / "tvmffi.h"

    def write(*parts):
        box.run(sys.executable, ROOT / "src/amalgamate.py", *parts, "-o",
                header)
        return header.stat().st_size

    sizes = [write()]
    for part, option in (("--no-extra", "TVMFFI_NO_EXTRA"),
                         ("--core", "TVMFFI_NO_CONTAINERS")):
        sizes.append(write(part))
        unit_tests()(box)
        box.compile("asked", IMPLEMENTATION, f"-D{option}=0", fails=True)
    sizes.append(write("--only", "abi,interface"))
    box.compile("user", USER, *WARNINGS)
    box.compile("user", USER, *WARNINGS, cxx=True)
    box.compile("asked", IMPLEMENTATION, fails=True)
    sizes.append(write("--only", "abi"))
    box.compile("abi", DECLARATIONS, *WARNINGS)
    box.compile("asked", DECLARATIONS, "-DTVMFFI_ABI_ONLY=0", fails=True)
    if sizes != sorted(sizes, reverse=True) or len(set(sizes)) != len(sizes):
        raise Failed(f"sizes: {sizes}")


COPY = """
#include "tvmffi.h"
#ifdef __cplusplus
extern "C" {
#endif
int NAME(int put);
#ifdef __cplusplus
}
#endif
static int call(void *self, const TVMFFIAny *args, int32_t n, TVMFFIAny *out) {
  (void)self, (void)args, (void)n, (void)out;
  return 0;
}
/* Puts a global function when `put`; answers whether it is there. */
int NAME(int put) {
  TVMFFIByteArray key = {"demo.copy", 9};
  TVMFFIObjectHandle f = 0, found = 0;
  if (put && TVMFFIFunctionCreate(0, call, 0, &f)) return -1;
  if (put && TVMFFIFunctionSetGlobal(&key, f, 0)) return -1;
  if (put) TVMFFIObjectDecRef(f);
  if (TVMFFIFunctionGetGlobal(&key, &found)) return -1;
  if (!found) return 0;
  TVMFFIObjectDecRef(found);
  return 1;
}
"""


def copy_source(name, implementation, prefix=None):
    lines = ["#define TVMFFI_IMPLEMENTATION"] if implementation else []
    lines += [f"#define TVMFFI_PREFIX {prefix}"] if prefix else []
    return "\n".join(lines) + COPY.replace("NAME", name)


# A file of a program of several: a type, containers, a contract, errors.
SHARER = """
#include "tvmffi.h"
#include <string.h>
typedef struct {
  TVMFFIObject base;
  double x, y;
} NAME_Point;
TVMFFI_TYPE(NAME_Point, "options.NAME", TVMFFIObject, (field, float64, x),
            (field, float64, y, 0.5), (method, sum))
TVMFFI_METHOD(NAME_Point, sum, float64) { TVMFFI_RETURN(self->x + self->y); }
TVMFFI_FUNC(half, int64, (int64, x)) {
  if (x % 2) return TVMFFI_RAISE("ValueError", "%d is odd", (int)x);
  TVMFFI_RETURN(x / 2);
}
TVMFFI_FUNC(size, int64, (tensor("float32[n] cpu"), x)) {
  TVMFFI_RETURN(x->shape[0]);
}
static int fails(int code, const char *text) {
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  return code && error &&
         strstr(TVMFFIErrorGetCellPtr(error)->message.data, text) != NULL;
}
TVMFFI_I_EXTERN_C int NAME(void);
int NAME(void) {
  TVMFFI_SCOPE;
  NAME_Point *p = TVMFFI_NEW(NAME_Point, 3.0);
  TVMFFIObject *list = tvmffi_list(1, "two"), *tensor, *kept[20];
  TVMFFIAny item;
  int64_t n = 0, shape = 4;
  double sum;
  int i;
#if TVMFFI_SHARE_INTERFACE && !TVMFFI_DEBUG && !TVMFFI_DYNAMIC
  void *symbol;
  if (tvmffi_system_symbol(tvmffi_byte_array("NAME"), &symbol)) return 11;
#endif
  if (!p || p->y != 0.5) return 1;
  TVMFFI_TRY(tvmffi_method(p, "sum", &sum));
  if (sum != 3.5) return 10;
  TVMFFI_TRY(TVMFFI_REGISTER("NAME.half", half));
  TVMFFI_TRY(TVMFFI_REGISTER("NAME.size", size));
  TVMFFI_TRY(tvmffi_call("NAME.half", &n, 10));
  if (n != 5) return 2;
  if (!fails(tvmffi_call("NAME.half", &n, 3), "3 is odd")) return 3;
  if (!fails(tvmffi_call("NAME.half", &n, "x"), "argument #0")) return 4;
  TVMFFI_TRY(tvmffi_append(list, tvmffi_map("a", 1)));
  TVMFFI_TRY(tvmffi_get(list, 2, &item));
  if (!tvmffi_contains(list, "two") || item.type_index != kTVMFFIMap)
    return 5;
  TVMFFI_TRY(tvmffi_tensor_new("float32", "cpu", 1, &shape, &tensor));
  TVMFFI_TRY(tvmffi_call("NAME.size", &n, tensor));
  if (n != 4) return 6;
  TVMFFI_TRY(tvmffi_tensor_new("int8", "cpu", 1, &shape, &tensor));
  if (!fails(tvmffi_call("NAME.size", &n, tensor), "int8")) return 7;
  for (i = 0; i < 20; ++i) kept[i] = tvmffi_list(i);
  TVMFFI_TRY(tvmffi_get(kept[19], 0, &n));
  return n == 19 ? 0 : 8;
}
"""
SHARED = re.compile(r"tvmffi_i_\d+_\d+_\d+_")


def sharer(name):
    return SHARER.replace("NAME", name)


def shared_interface(box):
    """A program of C and C++ files has the cold functions once."""
    share = "-DTVMFFI_SHARE_INTERFACE=1"
    main = box.compile("main", """
int one(void), two(void), three(void);
int main(void) { return one() || two() || three() ? 1 : 0; }
""")
    def own(obj):
        """Fails if the file has functions of its own that it should share."""
        none_like(box.undefined(obj) and [n for _, n in box.names(
            "--defined-only", obj)], re.compile(
                r"tvmffi_i_(vformat|register|bad_arg|metadata|plan_all|"
                r"class_add_field|find_cached|global_cache)$"))
    def build(*flags, of_runtime=()):
        objects = [
            box.compile("one", "#define TVMFFI_IMPLEMENTATION\n" +
                        sharer("one"), "-O0", *flags, *of_runtime),
            box.compile("two", sharer("two"), "-O0", *flags, *WARNINGS),
            box.compile("three", sharer("three"), "-Os", *flags, *WARNINGS,
                        cxx=True)]
        box.run(box.link("shared", main, *objects, cxx=True))
        return objects
    objects = build(share)
    own(objects[1])
    own(objects[2])
    must_fail(own, build()[1])
    # Calls and containers, too, in files that are compiled for size.
    def small(optimize):
        none_like([n for _, n in box.names("--defined-only", box.compile(
            "small", sharer("small"), optimize, share))], re.compile(
                r"tvmffi_i_(call_usual|hand|make|get_or|append_item)\b"))
    small("-Os")
    must_fail(small, "-O0")
    same([n for n in box.defined(objects[0]) if not SHARED.match(n)],
         sorted([*box.expected, "one"]))
    for flags in (["-DTVMFFI_PREFIX=acme_"], ["-DTVMFFI_NO_METADATA=1"],
                  ["-DTVMFFI_DYNAMIC=1"], ["-DTVMFFI_DEBUG=1"]):
        build(share, *flags)
    # A C++ file has the runtime.
    objects[0] = box.compile("cxx", "#define TVMFFI_IMPLEMENTATION\n" +
                             sharer("one"), "-O0", share, cxx=True)
    box.run(box.link("cxx-first", main, *objects, cxx=True))
    # The functions are the library's own.
    position = box.compile("pic", IMPLEMENTATION, "-O0", "-fPIC", share)
    box.run(*box.compiler(), "-shared", position, "-o", "shared.so")
    same(sorted(n for _, n in box.names("-D", "-g", "--defined-only",
                                        "shared.so")), box.expected)
    # One file alone, as without the option.
    same(box.defined(box.compile("alone", PROGRAM, "-O0", share,
                                 "-DTVMFFI_STATIC=1")), ["main"])


def shared_between_versions(box):
    """Files of two versions of the header, or with other options, do not link."""
    share = "-DTVMFFI_SHARE_INTERFACE=1"
    runtime = box.compile("runtime", IMPLEMENTATION + "int main(void) "
                          "{ int two(void); return two(); }", "-O0", share)
    text = (box.folder / "tvmffi.h").read_text()
    def says(pattern, *flags):
        two = box.compile("two", sharer("two"), "-O0", *flags)
        said = box.run(*box.compiler(), runtime, two, "-o", box.folder / "x",
                       "-lpthread", fails=True)
        if not re.search(pattern, said):
            raise Failed(said)
    must_fail(says, "", share)
    for option in "metadata", "threads":
        says(rf"tvmffi_i_\d+_\d+_\d+_no_{option}_tvmffi_i_raise", share,
             f"-DTVMFFI_NO_{option.upper()}=1")
    (box.folder / "tvmffi.h").write_text(re.sub(
        r"(#define TVMFFI_VERSION_MINOR) \d+", r"\1 99", text))
    says(r"tvmffi_i_\d+_99_\d+_tvmffi_i_raise", share)


def copies_side_by_side(box):
    objects = [
        box.compile("one", copy_source("one", True, "acme_"), "-O0"),
        box.compile("two", copy_source("two", True, "zeta_"), "-O0"),
        box.compile("three", copy_source("three", True), "-O0"),
        box.compile("all", """
int one(int), two(int), three(int);
int main(void) {
  if (one(1) != 1 || two(0) != 0 || three(0) != 0) return 1;
  return two(1) == 1 && three(0) == 0 ? 0 : 1;
}""")]
    box.run(box.link("copies", *objects))


def shared_between(box, c_has_implementation):
    """A C and a C++ file of one program see one runtime."""
    c = box.compile("c", copy_source("in_c", c_has_implementation), "-O0")
    cxx = box.compile("cxx", copy_source("in_cxx", not c_has_implementation),
                      "-O0", cxx=True)
    main = box.compile("main", """
extern "C" { int in_c(int); int in_cxx(int); }
int main() { return in_c(0) == 0 && in_cxx(1) == 1 && in_c(0) == 1 ? 0 : 1; }
""", cxx=True)
    box.run(box.link("mixed", c, cxx, main, cxx=True))


def mixed_c_first(box):
    shared_between(box, True)


def mixed_cxx_first(box):
    shared_between(box, False)


def included_twice(box):
    for name, text in (("twice", DECLARATIONS + PROGRAM),
                       ("again", PROGRAM + DECLARATIONS)):
        box.run(box.link(name, box.compile(name + "-run", text, "-O0")))


def nothing_but_cc(box):
    """The command a newcomer types, in a folder with two files."""
    box.write("file.c", PROGRAM)
    box.run(*box.args.cc.split(), "file.c", "-lpthread")
    box.run(box.folder / "a.out")


def examples(box):
    """With the implementation where the example has it."""
    for source in sorted((ROOT / "examples").glob("*.c*")):
        box.run(*box.compiler(source.suffix == ".cpp"), *WARNINGS,
                "-fsyntax-only", "-I", ROOT, source)


# -- beside other headers ------------------------------------------------


def beside_upstream(box):
    headers = ('#include "tvm/ffi/c_api.h"\n'
               '#include "tvm/ffi/extra/c_env_api.h"\n')
    for name, text in (("before", headers + PROGRAM),
                       ("after", PROGRAM + headers)):
        for cxx in (False, True):
            obj = box.compile(name, text, "-O0", "-isystem",
                              box.args.wheel_include, cxx=cxx)
            box.run(box.link(name + ".exe", obj, cxx=cxx))


def beside_dlpack(box):
    dlpack = "#include <dlpack/dlpack.h>\n"
    include = ("-isystem", box.args.wheel_include)
    for name, text, flags in (
            ("system", PROGRAM, ("-DTVMFFI_SYSTEM_DLPACK=1",)),
            ("earlier", dlpack + PROGRAM, ()),
            ("later", PROGRAM + dlpack, ())):
        obj = box.compile(name, text, "-O0", *include, *flags)
        box.run(box.link(name + ".exe", obj))


def old_dlpack(box):
    out = box.compile("old", "#define DLPACK_DLPACK_H_\n"
                      "#define DLPACK_MAJOR_VERSION 1\n"
                      "#define DLPACK_MINOR_VERSION 0\n" + DECLARATIONS,
                      fails=True)
    if "#error" not in out or "DLPack" not in out:
        raise Failed("no #error that names DLPack\n" + out)


CASTS = ["-Wold-style-cast", "-Wextra-semi"]
OWN_CASTS = (("(float *)run.at[0]", "static_cast<float *>(run.at[0])"),
             ("(int)n", "int(n)"), ("(char)4", "char(4)"),
             ("(short)5", "short(5)"))


def no_casts_of_c(box):
    """A C++ user's warnings stay clean, and on: the user's own casts are
    found."""
    clean = USER + "TVMFFI_MAIN() { return scoped(tvmffi_here); }\n"
    for old, new in OWN_CASTS:
        clean = clean.replace(old, new)
    for flags in ([], ["-DTVMFFI_DEBUG=1"]):
        for text in (DECLARATIONS, clean, IMPLEMENTATION + clean):
            for std in "-std=c++17", "-std=c++20":
                box.compile("casts", text, *WARNINGS, *CASTS, "-fsyntax-only",
                            std, *flags, cxx=True)
    for text in (USER, IMPLEMENTATION + "static int f(long x) "
                 "{ return (int)x; } int g(); int g() { return f(1); }"):
        must_fail(box.compile, "casts", text, "-Werror", *CASTS,
                  "-fsyntax-only", "-std=c++17")


def no_struct_pointer(box):
    """A pointer to a struct that begins with an object is one, and a pointer to
    another does not become a void pointer."""
    for cxx in (False, True):
        def compiled(argument):
            return box.compile("pointer", DECLARATIONS + POINTER % argument,
                               "-Werror", "-fsyntax-only", cxx=cxx,
                               fails=argument == "o")
        compiled("tvmffi_obj(p)")
        compiled("p")
        compiled("o")


# -- beside macros -------------------------------------------------------


def system_macros(box):
    """What other headers define as macros changes nothing here."""
    text = macros.LIBC + macros.system_macros() + IMPLEMENTATION
    for cxx in (False, True):
        box.compile("macros", text, "-fsyntax-only", cxx=cxx)
        must_fail(box.compile, "macros", macros.junk(["type_index"]) + text,
                  "-fsyntax-only", "-Wfatal-errors")


def macros_behind(box):
    """Nor do macros that the user's file has behind the include, where it uses
    the interface: a name in its text is the user's or ours."""
    text, count = macros.behind(box.args.header.read_text(), USER)
    if count < 900:
        raise Failed(f"{count} names, too few")
    for cxx in (False, True):
        for flags in ([], ["-DTVMFFI_DEBUG=1"]):
            box.compile("behind", text, "-fsyntax-only", *flags, cxx=cxx)
            must_fail(box.compile, "behind", text + "extern int text;",
                      "-fsyntax-only", *flags)


def macros_of_words(box):
    """A macro that is named as a word is told by the first error, unless the
    word is still itself."""
    for word in macros.WORDS:
        for value in (" int", " 1", "", " unsigned long"):
            for cxx in (False, True):
                out = box.compile("word", f"#define {word}{value}\n"
                                  + DECLARATIONS, "-fsyntax-only",
                                  "-Wfatal-errors", cxx=cxx, fails=True)
                first = re.search(r"error: .*", out).group()
                if f"undefine_the_macro_{word}_" not in first:
                    raise Failed(f"#define {word}{value}: {first}")
    for word, value in (("bool", " _Bool"), ("bool", " bool"),
                        ("list", " list"), ("str(x)", " #x"),
                        ("error(...)", " 1")):
        box.compile("word", f"#define {word}{value}\n" + USER,
                    "-fsyntax-only")
    # Who uses the ABI alone has no words.
    box.compile("word", macros.junk(["list", "optional"]) + DECLARATIONS,
                "-fsyntax-only", "-DTVMFFI_ABI_ONLY=1")


# The full sizes are those of the unit tests' own runs. With this stack a
# recursion over a short chain still runs out of it, at 52 bytes a call.
SMALL = ["-DTEST_ROUNDS=500"]
SHORT = ["sh", "-c", 'ulimit -s 1024 && exec "$0" --short']
EVERY_SWITCH = [f"-DTVMFFI_NO_{name}=1" for name in
                ("THREADS", "FLOAT", "STDIO", "BACKTRACE", "DLOPEN",
                 "CONTAINERS", "EXTRA", "POOL")]
MODES = [("default", []), ("TVMFFI_STATIC", ["-DTVMFFI_STATIC=1"]),
         ("TVMFFI_PREFIX", ["-DTVMFFI_PREFIX=acme_"]),
         ("TVMFFI_DYNAMIC", ["-DTVMFFI_DYNAMIC=1"]),
         ("TVMFFI_SHARE_INTERFACE", ["-DTVMFFI_SHARE_INTERFACE=1"]),
         ("TVMFFI_DEBUG", ["-DTVMFFI_DEBUG=1"])]
MODES += [(flag[2:-2], [flag]) for flag in EVERY_SWITCH]
MODES += [("every TVMFFI_NO_ switch", EVERY_SWITCH),
          ("TVMFFI_NO_TYPES", ["-DTVMFFI_NO_TYPES=1"]),
          ("TVMFFI_NO_METADATA", ["-DTVMFFI_NO_METADATA=1"])]

CASES = [
    ("default: the 50 functions of the ABI are exported, nothing else",
     exports_by_default),
    ("an option that is 0 is off", exports_when_off),
    ("as C++: the same 50 functions", exports_cxx),
    ("TVMFFI_STATIC: nothing is exported", exports_static),
    ("TVMFFI_PREFIX: the 50 functions are renamed, nothing else is exported",
     exports_prefix),
    ("TVMFFI_DYNAMIC: files share a runtime that nobody else sees",
     exports_dynamic),
    ("TVMFFI_DYNAMIC: which runtimes are taken", dynamic_hosts),
    ("TVMFFI_SHARE_INTERFACE: files have the interface once", shared_interface),
    ("TVMFFI_SHARE_INTERFACE: files of two versions do not link",
     shared_between_versions),
    ("thread-local state: 64 bytes of static TLS, and no memory",
     static_tls),
    ("declarations alone leave no symbol", exports_declarations),
    ("default: only libc is needed", needs_only_libc),
    ("TVMFFI_NO_STDIO: no stdio", lacks(
        "TVMFFI_NO_STDIO", STDIO, "int puts(); void f() { puts(\"\"); }")),
    ("TVMFFI_NO_BACKTRACE: no unwinder", lacks(
        "TVMFFI_NO_BACKTRACE", UNWIND, "int dladdr(); void f() { dladdr(); }")),
    ("TVMFFI_NO_DLOPEN: no dynamic loading", lacks(
        "TVMFFI_NO_DLOPEN", re.compile(r"dl[a-z]+$"),
        "int dlsym(); void f() { dlsym(); }")),
    ("TVMFFI_NO_THREADS: no threads", lacks(
        "TVMFFI_NO_THREADS", THREADS,
        "int pthread_once(); void f() { pthread_once(); }")),
    ("TVMFFI_NO_FLOAT: no floating-point code", no_float_code),
    ("TVMFFI_NO_CONTAINERS: no built-in functions of containers",
     no_containers),
    ("TVMFFI_NO_EXTRA: no built-in functions of what it takes out", no_extra),
    ("TVMFFI_NO_POOL: no memory is kept", no_pool),
    ("TVMFFI_FREESTANDING: no header and nothing else of libc", freestanding),
    ("TVMFFI_FREESTANDING: what does not go with it is refused",
     freestanding_needs),
    ("TVMFFI_NO_TYPES: no table of types, no schema", no_types),
    ("TVMFFI_NO_TYPES: the unit tests that are left out", no_types_tests),
    ("TVMFFI_NO_METADATA: no names, schemas and documentation", no_metadata),
    ("TVMFFI_BUILTINS: these functions and no others", builtins),
    ("TVMFFI_NO_BUILTINS: none", no_builtins),
    ("TVMFFI_NO_REFLECTION: no members of built-in types", no_reflection),
    ("TVMFFI_ARENA_SIZE: all memory is from the arena", arena),
    ("TVMFFI_FREESTANDING: tensors are from the arena, parsers left out",
     tensors),
    ("TVMFFI_MESSAGE_SIZE: a schema that does not fit", message_size),
    ("tvmffi_legacy.h: TVM's older calling convention", legacy),
    ("strict warnings find nothing", no_warnings),
    ("scopes follow the text", scopes),
    ("outside scopes nothing is made", outside_scopes),
    ("a result of another type is told by the compiler", wrong_result),
    ("a mistake in a definition is one error that names it", readable_errors),
    ("TVMFFI_MALLOC and TVMFFI_FREE: no heap of libc", own_allocator),
    ("TVMFFI_AT_THREAD_END: a fork during the first use", forked_first_use),
    ("half of an allocator is refused", half_an_allocator),
    ("three copies in one program, two of them renamed", copies_side_by_side),
    ("a C++ file uses the implementation of a C file", mixed_c_first),
    ("a C file uses the implementation of a C++ file", mixed_cxx_first),
    ("the header may be included twice, before and after", included_twice),
    ("cc file.c -lpthread builds a program", nothing_but_cc),
    ("each example compiles as it stands", examples),
    ("a DLPack that is too old is refused", old_dlpack),
    ("casts of C are no warning to a C++ user", no_casts_of_c),
    ("a pointer to a struct is no argument", no_struct_pointer),
    ("macros of other headers change nothing", system_macros),
    ("macros behind the include change nothing", macros_behind),
    ("a macro in the place of a word is told first", macros_of_words),
    ("headers with less in them", smaller_headers),
]
WHEEL_CASES = [
    ("upstream's headers may be included before and after", beside_upstream),
    ("another dlpack.h may be included before and after", beside_dlpack),
]


def cases(args):
    yield from CASES
    if args.wheel_include:
        yield from WHEEL_CASES
    for name, flags in MODES:
        yield f"{name}: a program runs", program(*flags)
        yield f"{name}: the unit tests pass", unit_tests(*flags)
    yield "TVMFFI_FREESTANDING: a program runs", program(*BARE, *ARENA)
    yield "TVMFFI_FREESTANDING: a program runs, C++, with <string.h>", program(
        *BARE, *ARENA, "-include", "string.h", "-DTVMFFI_NO_OWN_STRING=1",
        cxx=True)
    yield "TVMFFI_FREESTANDING: the unit tests pass", unit_tests(
        *BARE, "-include", "string.h")
    yield "every TVMFFI_NO_ switch, C++: a program runs", \
        program(*EVERY_SWITCH, cxx=True)
    if args.wheel_include:
        yield "TVMFFI_SYSTEM_DLPACK: the unit tests pass", unit_tests(
            "-DTVMFFI_SYSTEM_DLPACK=1", "-isystem", args.wheel_include)


def run_case(args, cache, expected, case):
    name, check = case
    with tempfile.TemporaryDirectory() as folder:
        box = Box(args, folder, cache)
        box.expected = expected
        try:
            check(box)
        except (Failed, OSError, subprocess.TimeoutExpired) as error:
            return name, str(error).replace(str(folder), ".")
    return name, None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--header", type=Path, default=ROOT / "tvmffi.h")
    parser.add_argument("--test", type=Path,
                        default=ROOT / "tvmffi_impl_test.c")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--wheel-include")
    parser.add_argument("--wheel-lib")
    parser.add_argument("--only", default="", help="part of the cases' names")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory() as objects:
        cache = Cache(objects)
        with tempfile.TemporaryDirectory() as folder:
            box = Box(args, folder, cache)
            expected = upstream_names(box) or exported(box, "names")
        if not args.wheel_lib:
            tap.skip("the names are the wheel's", "the wheel is not there")
        if not args.wheel_include:
            tap.skip("beside other headers", "the wheel is not there")
        chosen = [c for c in cases(args) if args.only in c[0]]
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for name, problem in pool.map(
                    lambda case: run_case(args, cache, expected, case),
                    chosen):
                tap.ok(problem is None, name, problem or "")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
