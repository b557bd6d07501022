/* ======== Symbols: return addresses as names =============== >>core/symbol */
/* Stack traces. Return addresses are cheap to collect and dear to name, so
   each address is turned into its line of text once per process and kept in a
   map that is read without a lock. Which frames are left out, and where a
   trace ends, is upstream's (backtrace_utils.h). */

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

/* Writes "  File "f", line n, in g\n" to `to` unless that is NULL; gives its
   length. */
static size_t tvmffi_i_frame_line(char *to, tvmffi_i_source place) {
  char number[TVMFFI_I_DECIMAL];
  const char *parts[7];
  size_t size = 0, n, i;
  parts[0] = "  File \"";
  parts[1] = place.file;
  parts[2] = "\", line ";
  parts[3] = tvmffi_i_decimal(number, place.line);
  parts[4] = ", in ";
  parts[5] = place.function;
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
enum { TVMFFI_I_MAX_FRAMES = 512 };

/* Whether stacks are walked without the unwinder: see below. */
#if defined(__x86_64__) && defined(__LP64__) && defined(__ELF__) && \
    TVMFFI_I_GNU && !defined(__TINYC__) && !TVMFFI_NO_DLOPEN
#define TVMFFI_I_WALK 1
#else
#define TVMFFI_I_WALK 0
#endif

typedef enum {
  TVMFFI_I_FRAME_SHOWN,
  TVMFFI_I_FRAME_HIDDEN,
  TVMFFI_I_FRAME_BORDER /* to Python, or to a packed call */
} tvmffi_i_frame_kind;

#if TVMFFI_I_WALK
/* Of a rule, from the lowest bit: its kind, two flags, two distances in words,
   and how many libraries had been unloaded when it was read, by which it is
   known that another library has the address now. */
enum {
  TVMFFI_I_RULE_OTHER, /* one for the unwinder */
  TVMFFI_I_RULE_PLAIN,
  TVMFFI_I_RULE_LAST, /* the frame has no caller */
  TVMFFI_I_RULE_UNREAD,
  TVMFFI_I_RULE_KIND = 3,
  TVMFFI_I_RULE_FROM_BP = 4,
  TVMFFI_I_RULE_SAVED_BP = 8,
  TVMFFI_I_RULE_FRAME = 4,
  TVMFFI_I_RULE_BP = 22,
  TVMFFI_I_RULE_AGE = 40,
  TVMFFI_I_RULE_WORDS = (1 << 18) - 1
};
#endif

typedef struct {
  tvmffi_i_node node; /* its key: the bytes of `address` */
  uintptr_t address;
  const char *text; /* the line of a trace, in the same memory */
  size_t size;
  tvmffi_i_frame_kind kind;
#if TVMFFI_I_WALK
  uint64_t rule; /* how a walk leaves a frame that goes on here */
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
      {"PyObject", TVMFFI_I_FRAME_BORDER}};
  size_t i;
  for (i = 0; i < sizeof(rules) / sizeof(rules[0]); ++i)
    if (strncmp(symbol, rules[i].prefix, strlen(rules[i].prefix)) == 0)
      return rules[i].kind;
  return TVMFFI_I_FRAME_SHOWN;
}

/* dladdr, whose declaration <dlfcn.h> may hide, under a name of our own. */
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

/* The C++ name of a symbol, malloced, when the process has a C++ library. */
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

/* Names an address and keeps the result, or gives NULL without memory. Two
   threads may do so at once: the first to come is kept. */
TVMFFI_I_COLD tvmffi_i_frame *tvmffi_i_name_frame(uintptr_t address) {
  tvmffi_i_symbol symbol = {NULL, NULL, NULL, NULL};
  tvmffi_i_source source = {NULL, NULL, 0};
  tvmffi_i_frame *frame;
  tvmffi_i_node *known = NULL;
  char *plain = NULL;
  size_t size = 0;
  /* The call is before the address to which it returns. */
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

/* The longest trace, from upstream's variable of the environment, which is
   read once. */
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
