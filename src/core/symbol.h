/* ======== Symbols: return addresses as names =============== >>core/symbol */
/* Return addresses are cheap to collect and expensive to symbolize. So each is
   symbolized once per process and cached in a table that is read without a
   lock. Upstream's backtrace_utils.h defines which frames are hidden and where
   a trace ends. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/mismatch.h"
#include "../platform/libc.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../platform/name_table.h"

typedef struct {
  const char *file, *function;
  int line;
} tvmffi_i_source;

/* Writes ` File "f", line n, in g\n` to `to` unless `to` is NULL. Returns the
   length of the line. */
static size_t tvmffi_i_frame_line(char *to, tvmffi_i_source source) {
  char number[TVMFFI_I_DECIMAL];
  const char *parts[7];
  size_t size = 0, n, i;
  parts[0] = "  File \"";
  parts[1] = source.file;
  parts[2] = "\", line ";
  parts[3] = tvmffi_i_decimal(number, source.line);
  parts[4] = ", in ";
  parts[5] = source.function;
  parts[6] = "\n";
  for (i = 0; i < 7; ++i) {
    n = strlen(parts[i]);
    if (to) memcpy(to + size, parts[i], n);
    size += n;
  }
  return size;
}

#if TVMFFI_NO_BACKTRACE
enum { TVMFFI_I_MAX_FRAMES = 1 };
#else
#include <unwind.h>
enum { TVMFFI_I_MAX_FRAMES = 512, TVMFFI_I_FEW_FRAMES = 24 };

/* 1 if the runtime walks stacks itself, without the system's unwinder. */
#if defined(__x86_64__) && defined(__LP64__) && defined(__ELF__) && \
    TVMFFI_I_GNU && !defined(__TINYC__) && !TVMFFI_NO_DLOPEN
#define TVMFFI_I_WALK 1
#else
#define TVMFFI_I_WALK 0
#endif

typedef enum {
  TVMFFI_I_FRAME_SHOWN,
  TVMFFI_I_FRAME_HIDDEN,
  TVMFFI_I_FRAME_BORDER /* a Python frame or a packed call */
} tvmffi_i_frame_kind;

#if TVMFFI_I_WALK
/* A cached unwind rule. From the lowest bit: kind, two flags, offset of the
   CFA, offset of the saved rbp (both in words), and number of libraries
   unloaded when the rule was read. A rule with another number is outdated,
   because a new library may have the address. */
enum {
  TVMFFI_I_RULE_OTHER, /* left to the system's unwinder */
  TVMFFI_I_RULE_PLAIN,
  TVMFFI_I_RULE_LAST, /* the frame has no caller */
  TVMFFI_I_RULE_UNREAD,
  TVMFFI_I_RULE_KIND = 3,
  TVMFFI_I_RULE_FROM_BP = 4,
  TVMFFI_I_RULE_SAVED_BP = 8,
  TVMFFI_I_RULE_FRAME = 4, /* lowest bits of the last three fields */
  TVMFFI_I_RULE_BP = 22,
  TVMFFI_I_RULE_AGE = 40,
  TVMFFI_I_RULE_WORDS = (1 << 18) - 1 /* mask of an offset */
};
#endif

typedef struct {
  tvmffi_i_node node; /* keyed by the bytes of `address` */
  uintptr_t address;
  const char *text; /* line of text, in the same block */
  size_t size;
  tvmffi_i_frame_kind kind;
#if TVMFFI_I_WALK
  uint64_t rule; /* unwind rule for this return address */
#endif
} tvmffi_i_frame;

static tvmffi_i_map tvmffi_i_frames;

#define TVMFFI_I_STRING(name) TVMFFI_I_STRING_(name)
#define TVMFFI_I_STRING_(name) #name

static tvmffi_i_frame_kind tvmffi_i_classify(const char *symbol) {
  static const struct {
    const char *prefix;
    tvmffi_i_frame_kind kind;
  } rules[] = {
      {TVMFFI_I_STRING(TVMFFIBacktrace), TVMFFI_I_FRAME_HIDDEN},
      {TVMFFI_I_STRING(TVMFFIErrorSetRaisedFromCStr), TVMFFI_I_FRAME_HIDDEN},
      {"__libc_", TVMFFI_I_FRAME_HIDDEN},
      {"ffi_call_", TVMFFI_I_FRAME_HIDDEN},
      {"_ZN3tvm3ffi8Function", TVMFFI_I_FRAME_HIDDEN},
      {"_ZNK3tvm3ffi8Function", TVMFFI_I_FRAME_HIDDEN},
      {"_ZN3tvm3ffi6detail", TVMFFI_I_FRAME_HIDDEN},
      {"_ZNK3tvm3ffi6detail", TVMFFI_I_FRAME_HIDDEN},
      {TVMFFI_I_STRING(TVMFFIFunctionCall), TVMFFI_I_FRAME_BORDER},
      {"slot_tp_call", TVMFFI_I_FRAME_BORDER},
      {"object_is_not_callable", TVMFFI_I_FRAME_BORDER},
      {"_Py", TVMFFI_I_FRAME_BORDER},
      {"PyObject", TVMFFI_I_FRAME_BORDER},
      /* Last, because with TVMFFI_PREFIX the functions listed above may also
         begin with tvmffi_i_. */
      {"tvmffi_i_", TVMFFI_I_FRAME_HIDDEN}};
  size_t i;
  for (i = 0; i < sizeof(rules) / sizeof(rules[0]); ++i)
    if (strncmp(symbol, rules[i].prefix, strlen(rules[i].prefix)) == 0)
      return rules[i].kind;
  return TVMFFI_I_FRAME_SHOWN;
}

/* dladdr under a private name, because <dlfcn.h> may not declare it. */
typedef struct {
  const char *file;
  void *base;
  const char *symbol;
  void *address;
} tvmffi_i_symbol;
#if TVMFFI_NO_DLOPEN || defined(_WIN32)
static int tvmffi_i_dladdr(const void *address, tvmffi_i_symbol *out) {
  (void)address, (void)out;
  return 0;
}
static char *tvmffi_i_demangle(const char *symbol) {
  (void)symbol;
  return NULL;
}
#else
#include <dlfcn.h>
TVMFFI_I_EXTERN_C int
tvmffi_i_dladdr(const void *address, tvmffi_i_symbol *out) __asm__(
    TVMFFI_I_STRING(__USER_LABEL_PREFIX__) "dladdr");

/* Returns the demangled name, to be freed by free(), or NULL. Needs a loaded
   libstdc++. */
static char *tvmffi_i_demangle(const char *symbol) {
  typedef char *(*demangle_t)(const char *, char *, size_t *, int *);
  demangle_t demangle;
  void *library, *address;
  int status = 0;
  char *name;
  if (symbol[0] != '_' || symbol[1] != 'Z') return NULL;
  library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return NULL;
  address = dlsym(library, "__cxa_demangle");
  memcpy((void *)(&demangle), &address, sizeof(address));
  name = address ? demangle(symbol, NULL, NULL, &status) : NULL;
  (void)dlclose(library);
  return name;
}
#endif

/* Symbolizes an address and caches the result. Returns NULL if out of memory.
   If two threads race, the first result wins. */
TVMFFI_I_COLD tvmffi_i_frame *tvmffi_i_name_frame(uintptr_t address) {
  tvmffi_i_symbol symbol = {NULL, NULL, NULL, NULL};
  tvmffi_i_source source = {NULL, NULL, 0};
  tvmffi_i_frame *frame;
  tvmffi_i_node *known = NULL;
  char *plain = NULL;
  size_t size = 0;
  /* The call instruction precedes the return address. */
  (void)tvmffi_i_dladdr((void *)(address - 1), &symbol);
  if (symbol.symbol) {
    plain = tvmffi_i_demangle(symbol.symbol);
    source.file = symbol.file ? symbol.file : "<unknown>";
    source.function = plain ? plain : symbol.symbol;
    size = tvmffi_i_frame_line(NULL, source);
  }
  frame = (tvmffi_i_frame *)tvmffi_i_alloc(sizeof(*frame) + size);
  if (frame) {
    char *text = (char *)(void *)(frame + 1);
    frame->address = address;
    frame->text = text;
    frame->size = size;
    frame->kind = symbol.symbol ? tvmffi_i_classify(symbol.symbol)
                                : TVMFFI_I_FRAME_HIDDEN;
    if (size) (void)tvmffi_i_frame_line(text, source);
#if TVMFFI_I_WALK
    frame->rule = TVMFFI_I_RULE_UNREAD;
#endif
    tvmffi_i_lock();
    known =
        tvmffi_i_find(&tvmffi_i_frames, (const char *)(void *)(&frame->address),
                      sizeof(address));
    if (!known && tvmffi_i_reserve(&tvmffi_i_frames, 0) == 0) {
      known = &frame->node;
      tvmffi_i_insert(&tvmffi_i_frames, known,
                      (const char *)(void *)(&frame->address), sizeof(address));
    }
    tvmffi_i_unlock();
  }
  if (known != (tvmffi_i_node *)(void *)frame) tvmffi_i_free(frame);
#if !TVMFFI_NO_DLOPEN
  if (plain) free(plain);
#endif
  return (tvmffi_i_frame *)(void *)known;
}

/* Returns the maximum number of frames of a trace, from the environment
   variable TVM_TRACEBACK_LIMIT, which is read once. */
static int tvmffi_i_frame_limit(void) {
  static int limit;
  int n = TVMFFI_I_LOAD_RELAXED(&limit);
  if (!n) {
    const char *text = getenv("TVM_TRACEBACK_LIMIT");
    n = TVMFFI_I_MAX_FRAMES;
    if (text && *text) {
      char *end;
      long value = strtol(text, &end, 10);
      if (!*end && value >= 0 && value < n) n = (int)value;
    }
    TVMFFI_I_STORE(&limit, ++n);
  }
  return n - 1;
}

#endif /* TVMFFI_NO_BACKTRACE */
