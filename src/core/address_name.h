/* ======== Symbols: return addresses as names ========== >>core/address_name */
/* Return addresses are cheap to collect and expensive to symbolize. So each is
   symbolized once and cached in a table that is read without a lock. Upstream's
   backtrace_utils.h defines which frames are hidden and where a trace ends. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"

typedef struct {
  const char *file, *function;
  int line;
} tvmffi_i_source;

/* Writes ` File "f", line n, in g\n` to `to` unless `to` is NULL. Returns the
   length of the line. */
static size_t tvmffi_i_frame_line(char *to, tvmffi_i_source source) {
  char number[TVMFFI_I_DECIMAL];
  const char *parts[7] = {"  File \"",
                          source.file,
                          "\", line ",
                          tvmffi_i_decimal(number, source.line),
                          ", in ",
                          source.function,
                          "\n"};
  size_t size = 0, n, i;
  TVMFFI_ASSERT(source.file && source.function);
  for (i = 0; i < 7; ++i) {
    n = strlen(parts[i]);
    if (to) memcpy(to + size, parts[i], n);
    size += n;
  }
  TVMFFI_ASSERT(!to || to[size - 1] == '\n');
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
   CFA, offset of the saved rbp (both in words). */
enum {
  TVMFFI_I_RULE_OTHER, /* left to the system's unwinder */
  TVMFFI_I_RULE_PLAIN,
  TVMFFI_I_RULE_LAST, /* the frame has no caller */
  TVMFFI_I_RULE_UNREAD,
  TVMFFI_I_RULE_KIND = 3,
  TVMFFI_I_RULE_FROM_BP = 4,
  TVMFFI_I_RULE_SAVED_BP = 8,
  TVMFFI_I_RULE_FRAME = 4, /* lowest bits of the last two fields */
  TVMFFI_I_RULE_BP = 22,
  TVMFFI_I_RULE_WORDS = (1 << 18) - 1 /* mask of an offset */
};
TVMFFI_STATIC_ASSERT((TVMFFI_I_RULE_WORDS + 1) << TVMFFI_I_RULE_FRAME ==
                         1 << TVMFFI_I_RULE_BP,
                     rule_fields_do_not_overlap);
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

static tvmffi_i_frame_kind tvmffi_i_classify(const char *symbol) {
  static const struct {
    const char *prefix;
    tvmffi_i_frame_kind kind;
  } rules[] = {
      {TVMFFI_I_QUOTE(TVMFFIBacktrace), TVMFFI_I_FRAME_HIDDEN},
      {TVMFFI_I_QUOTE(TVMFFIErrorSetRaisedFromCStr), TVMFFI_I_FRAME_HIDDEN},
      {"__libc_", TVMFFI_I_FRAME_HIDDEN},
      {"ffi_call_", TVMFFI_I_FRAME_HIDDEN},
      {"_ZN3tvm3ffi8Function", TVMFFI_I_FRAME_HIDDEN},
      {"_ZNK3tvm3ffi8Function", TVMFFI_I_FRAME_HIDDEN},
      {"_ZN3tvm3ffi6detail", TVMFFI_I_FRAME_HIDDEN},
      {"_ZNK3tvm3ffi6detail", TVMFFI_I_FRAME_HIDDEN},
      {TVMFFI_I_QUOTE(TVMFFIFunctionCall), TVMFFI_I_FRAME_BORDER},
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
    TVMFFI_I_QUOTE(__USER_LABEL_PREFIX__) "dladdr");

/* Returns the demangled name, to be freed by free(), or NULL. Needs a loaded
   libstdc++. */
static char *tvmffi_i_demangle(const char *symbol) {
  typedef char *(*demangle_t)(const char *, char *, size_t *, int *);
  demangle_t demangle;
  void *library, *address;
  char *name;
  if (symbol[0] != '_' || symbol[1] != 'Z') return NULL;
  library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return NULL;
  address = dlsym(library, "__cxa_demangle");
  memcpy((void *)(&demangle), &address, sizeof(address));
  name = address ? demangle(symbol, NULL, NULL, NULL) : NULL;
  (void)dlclose(library);
  return name;
}
#endif

/* -------- The loader's state -------- */

#if defined(__ELF__) && TVMFFI_I_GNU && !TVMFFI_NO_DLOPEN
#define TVMFFI_I_ELF_LOADER 1
#else
#define TVMFFI_I_ELF_LOADER 0
#endif

#if TVMFFI_I_ELF_LOADER
/* _dl_find_object of glibc 2.35 or later. Fills in about 100 bytes and returns
   0 for an address in a loaded library. Unlike dladdr, takes no lock, so it
   does not wait for constructors. */
TVMFFI_I_EXTERN_C int tvmffi_i_find_object(void *address,
                                           void *out) __asm__("_dl_find_object")
    __attribute__((__weak__));

/* dl_iterate_phdr under a private name: <link.h> may not declare it. */
typedef struct {
  uintptr_t base;
  const char *name;
  const void *headers;
  uint16_t num_headers;
  unsigned long long loaded, unloaded;
} tvmffi_i_object_info;
TVMFFI_I_EXTERN_C int tvmffi_i_each_loaded(
    int (*visit)(const tvmffi_i_object_info *loader, size_t size, void *out),
    void *out) __asm__("dl_iterate_phdr") __attribute__((__weak__));

#if defined(__cplusplus)
extern "C" {
#endif
static int tvmffi_i_on_loaded(const tvmffi_i_object_info *loader, size_t size,
                              void *out) {
  if (size >= sizeof(*loader)) *(uint64_t *)out = loader->unloaded + 1;
  return 1;
}
#if defined(__cplusplus)
}
#endif
#endif

/* Returns 1 + the number of libraries unloaded so far, or 1 if the number is
   unknown. A child process cannot ask for it, because another thread may have
   held the loader's lock at the fork. */
static uint64_t tvmffi_i_loader_age(void) {
  uint64_t age = 1;
#if TVMFFI_I_ELF_LOADER
  if (!TVMFFI_I_LOAD(&tvmffi_i_is_child) && tvmffi_i_each_loaded)
    (void)tvmffi_i_each_loaded(tvmffi_i_on_loaded, &age);
#endif
  TVMFFI_ASSERT(age > 0);
  return age;
}

/* Finds the symbol of a return address. The call instruction precedes the
   address. Returns 0 if the address is in no library. In a static program,
   dladdr finds nothing. */
static int tvmffi_i_symbol_at(uintptr_t address, tvmffi_i_symbol *out) {
  void *call = (void *)(address - 1);
#if TVMFFI_I_ELF_LOADER
  uint64_t object[16];
  TVMFFI_ASSERT(address);
  if (tvmffi_i_find_object) {
    const int found = !tvmffi_i_find_object(call, object);
    if (found) (void)tvmffi_i_dladdr(call, out);
    return found;
  }
#endif
  return tvmffi_i_dladdr(call, out);
}

/* -------- The cache of return addresses -------- */

/* The cache has two generations, of which one is current. When a library was
   unloaded or the current generation is full, the other one is emptied and
   becomes current. A generation is emptied only while it has no reader, and
   nobody waits for readers, because a reader may wait for the loader's lock.
   Where a frame cannot be cached, it belongs to its reader.

   An address outside libraries is not cached: it is code that may be freed
   without notice. */
enum { TVMFFI_I_FRAME_BYTES = 1 << 20 }; /* limit of a generation */

typedef struct {
  tvmffi_i_name_table map;
  size_t size;      /* bytes of all frames */
  uint64_t age;     /* tvmffi_i_loader_age when begun, or 0 if full */
  uint32_t readers; /* sequentially consistent: see head/atomic.h */
} tvmffi_i_frame_cache;

static tvmffi_i_frame_cache tvmffi_i_frames[2];
static int tvmffi_i_frames_now; /* index of the current generation */

/* A reader of the cache. */
typedef struct {
  tvmffi_i_frame_cache *cache; /* or NULL, if it is outdated */
  tvmffi_i_frame *own; /* frames not in the cache, linked by node.next */
} tvmffi_i_frame_reader;

static void tvmffi_i_enter_frame_cache(tvmffi_i_frame_cache *cache) {
  tvmffi_i_add32(&cache->readers, 1);
}
static void tvmffi_i_leave_frame_cache(tvmffi_i_frame_cache *cache) {
  TVMFFI_ASSERT(TVMFFI_I_LOAD(&cache->readers) > 0);
  tvmffi_i_sub32(&cache->readers, 1);
}

/* Frees a list of frames. */
static void tvmffi_i_free_frames(tvmffi_i_node *node) {
  while (node) {
    tvmffi_i_node *next = node->next;
    tvmffi_i_free(node);
    node = next;
  }
}

/* Replaces the current generation unless it has this age. Enters the new one
   and returns it, or NULL if the other generation still has readers. */
TVMFFI_I_COLD tvmffi_i_frame_cache *tvmffi_i_renew_frames(uint64_t age) {
  static const tvmffi_i_name_table empty = {NULL, NULL, NULL, 0, 0};
  tvmffi_i_name_table map = empty;
  tvmffi_i_frame_cache *cache;
  TVMFFI_ASSERT(age > 0);
  tvmffi_i_lock();
  cache = &tvmffi_i_frames[tvmffi_i_frames_now];
  if (tvmffi_i_load64(&cache->age) < age) {
    const int other = 1 - tvmffi_i_frames_now;
    cache = &tvmffi_i_frames[other];
    if (TVMFFI_I_LOAD_SEQ(&cache->readers)) {
      cache = NULL;
    } else {
      map = cache->map;
      cache->map = empty;
      cache->size = 0;
      tvmffi_i_store64(&cache->age, age);
      TVMFFI_I_STORE_SEQ(&tvmffi_i_frames_now, other);
    }
  }
  TVMFFI_ASSERT(!cache || cache == &tvmffi_i_frames[tvmffi_i_frames_now]);
  if (cache) tvmffi_i_enter_frame_cache(cache);
  tvmffi_i_unlock();
  tvmffi_i_free_frames(map.first);
  tvmffi_i_free_slots(map.table);
  return cache;
}

/* Begins to read the cache. */
static void tvmffi_i_enter_frames(tvmffi_i_frame_reader *reader) {
  const uint64_t age = tvmffi_i_loader_age();
  int now = TVMFFI_I_LOAD(&tvmffi_i_frames_now), seen;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  reader->own = NULL;
  for (;; now = seen) {
    TVMFFI_ASSERT(now == 0 || now == 1);
    reader->cache = &tvmffi_i_frames[now];
    tvmffi_i_enter_frame_cache(reader->cache);
    seen = TVMFFI_I_LOAD_SEQ(&tvmffi_i_frames_now);
    if (TVMFFI_I_LIKELY(seen == now)) break;
    tvmffi_i_leave_frame_cache(reader->cache);
  }
  if (TVMFFI_I_LIKELY(tvmffi_i_load64(&reader->cache->age) >= age)) return;
  tvmffi_i_leave_frame_cache(reader->cache);
  reader->cache = tvmffi_i_renew_frames(age);
}

/* Ends the use of all frames that the reader found. */
static void tvmffi_i_leave_frames(tvmffi_i_frame_reader *reader) {
  if (reader->cache) tvmffi_i_leave_frame_cache(reader->cache);
  if (reader->own) tvmffi_i_free_frames(&reader->own->node);
}

#if TVMFFI_I_FORK
/* Sets the counters to 0 in a child process after fork: the parent's other
   threads read nothing there. A child whose fork ran no handler keeps the
   counters, because the thread that locks the mutex there may be a reader. */
static void tvmffi_i_forget_frame_readers(void) {
  TVMFFI_ASSERT(tvmffi_i_is_child);
  tvmffi_i_frames[0].readers = tvmffi_i_frames[1].readers = 0;
}
#endif

static tvmffi_i_frame *tvmffi_i_cached_frame(const tvmffi_i_frame_reader *r,
                                             uintptr_t address) {
  const char *key = (const char *)(void *)&address;
  tvmffi_i_node *node = NULL;
  if (r->cache) node = tvmffi_i_find(&r->cache->map, key, sizeof(address));
  TVMFFI_ASSERT(!node ||
                ((tvmffi_i_frame *)(void *)node)->address == address);
  return (tvmffi_i_frame *)(void *)node;
}

/* Adds a frame of `size` bytes to the cache, or to the reader's own frames if
   the cache is full, outdated or out of memory. Returns the frame, or the one
   that another thread added first. */
static tvmffi_i_frame *tvmffi_i_add_frame(tvmffi_i_frame_reader *reader,
                                          tvmffi_i_frame *frame, size_t size) {
  tvmffi_i_frame_cache *cache = reader->cache;
  tvmffi_i_frame *known = NULL;
  TVMFFI_ASSERT(frame->address && size == sizeof(*frame) + frame->size);
  if (cache) {
    tvmffi_i_lock();
    known = tvmffi_i_cached_frame(reader, frame->address);
    if (!known && size > TVMFFI_I_FRAME_BYTES - cache->size) {
      tvmffi_i_store64(&cache->age, 0);
    } else if (!known &&
               tvmffi_i_reserve(&cache->map, sizeof(uintptr_t)) == 0) {
      cache->size += size;
      TVMFFI_ASSERT(cache->size <= TVMFFI_I_FRAME_BYTES);
      known = frame;
      tvmffi_i_insert(&cache->map, &frame->node,
                      (const char *)(void *)(&frame->address),
                      sizeof(frame->address));
    }
    tvmffi_i_unlock();
  }
  if (known == frame) return frame;
  if (known) {
    tvmffi_i_free(frame);
    return known;
  }
  frame->node.next = reader->own ? &reader->own->node : NULL;
  reader->own = frame;
  return frame;
}

/* Symbolizes an address, and caches the result if possible. Returns NULL if the
   address is in no library, or if out of memory. */
TVMFFI_I_COLD tvmffi_i_frame *tvmffi_i_name_frame(tvmffi_i_frame_reader *reader,
                                                  uintptr_t address) {
  tvmffi_i_symbol symbol = {NULL, NULL, NULL, NULL};
  tvmffi_i_source source = {NULL, NULL, 0};
  tvmffi_i_frame *frame;
  char *plain = NULL;
  size_t size = 0;
  if (!tvmffi_i_symbol_at(address, &symbol)) return NULL;
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
    frame = tvmffi_i_add_frame(reader, frame, sizeof(*frame) + size);
  }
#if !TVMFFI_NO_DLOPEN
  if (plain) free(plain);
#endif
  return frame;
}

static int tvmffi_i_read_limit(const char *text) {
  char *end = NULL;
  const long most = TVMFFI_I_MAX_FRAMES;
  const long n = text && *text ? strtol(text, &end, 10) : most;
  return (int)(n >= 0 && n < most && !*end ? n : most);
}

/* Stored as limit + 1; 0 before the environment variable is read. */
static int tvmffi_i_stored_limit;

/* Returns the maximum number of frames of a trace, from the environment
   variable TVM_TRACEBACK_LIMIT, which is read once. */
static int tvmffi_i_frame_limit(void) {
  int n = TVMFFI_I_LOAD_RELAXED(&tvmffi_i_stored_limit);
  if (!n) {
    n = tvmffi_i_read_limit(getenv("TVM_TRACEBACK_LIMIT")) + 1;
    TVMFFI_I_STORE(&tvmffi_i_stored_limit, n);
  }
  TVMFFI_ASSERT(n >= 1 && n <= TVMFFI_I_MAX_FRAMES + 1);
  return n - 1;
}

#endif /* TVMFFI_NO_BACKTRACE */
