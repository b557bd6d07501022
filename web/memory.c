/* The memory of the wasm module: an allocator over memory.grow, and the libc
   functions that compilers call.

   The allocator is a two-level segregated fit (Masmano and others, "TLSF: a new
   dynamic memory allocator for real-time systems", 2004): allocation and free
   take constant time, and free neighbours are merged at once. A block has an
   8-byte header; its size with the header is a multiple of 16, and its payload
   is aligned to 16. One thread; nothing here calls the runtime. */
#include "memory.h"

#include <stdint.h>

/* A block. While it is allocated, the bytes after `size` are the payload. */
typedef struct block {
  uint32_t before; /* the size of the preceding block; 0: none */
  uint32_t size;   /* with these 8 bytes; the lowest bit: allocated */
  struct block *next, *prev; /* of the same class */
} block;

_Static_assert(sizeof(block) == 16, "the smallest block holds its links");
#ifndef __wasm_bulk_memory__
#error "build with -mbulk-memory: memcpy is written as the instruction"
#endif

enum {
  HEAD = 8,
  UNIT = 16,
  USED = 1,
  PAGE = 65536,
  STEPS = 16, /* classes between two powers of 2 */
  LEVELS = 25,
  LEAST_GROWTH = 4 * PAGE
};

extern unsigned char __heap_base[];

/* Notifies the client; before this call, it uses the old memory buffer. */
#define IMPORT(name) __attribute__((import_module("env"), import_name(name)))
IMPORT("emscripten_notify_memory_growth") void notify_memory_growth(int memory);

static block *free_blocks[LEVELS][STEPS];
static uint32_t levels;          /* bit i: a class of level i has blocks */
static uint32_t classes[LEVELS]; /* bit j: class j of the level has blocks */
static block *end;               /* sentinel after the last block, size 0 */
static uint32_t bytes_used;

static block *after(block *b) {
  return (block *)(void *)((char *)b + (b->size & ~(uint32_t)USED));
}

/* Stores the size class (level and step) of a block of `units`. */
static void class_of(uint32_t units, int *level, int *step) {
  int top = 31 - __builtin_clz(units);
  *level = top < 4 ? 0 : top - 3;
  *step = (int)(top < 4 ? units : (units >> (top - 4)) & (STEPS - 1));
}

static void insert(block *b) {
  int level, step;
  block **first;
  class_of(b->size / UNIT, &level, &step);
  first = &free_blocks[level][step];
  b->prev = 0;
  b->next = *first;
  if (*first) (*first)->prev = b;
  *first = b;
  classes[level] |= 1u << step;
  levels |= 1u << level;
}

static void take(block *b) {
  int level, step;
  class_of(b->size / UNIT, &level, &step);
  if (b->next) b->next->prev = b->prev;
  if (b->prev) {
    b->prev->next = b->next;
    return;
  }
  free_blocks[level][step] = b->next;
  if (b->next) return;
  classes[level] &= ~(1u << step);
  if (!classes[level]) levels &= ~(1u << level);
}

/* Returns a free block of at least `units`, from the first class in which every
   block is large enough, or NULL. */
static block *find(uint32_t units) {
  int level, step, top = 31 - __builtin_clz(units);
  uint32_t fits;
  if (top > 4) units += (1u << (top - 4)) - 1;
  class_of(units, &level, &step);
  fits = classes[level] & ~0u << step;
  if (!fits) {
    uint32_t above = levels & ~0u << (level + 1);
    if (!above) return 0;
    level = __builtin_ctz(above);
    fits = classes[level];
  }
  return free_blocks[level][__builtin_ctz(fits)];
}

/* Marks a block as free, and merges it with free neighbours. */
static void give(block *b) {
  block *next = after(b);
  b->size &= ~(uint32_t)USED;
  if (!(next->size & USED)) {
    take(next);
    b->size += next->size;
  }
  if (b->before) {
    block *front = (block *)(void *)((char *)b - b->before);
    if (!(front->size & USED)) {
      take(front);
      front->size += b->size;
      b = front;
    }
  }
  after(b)->before = b->size;
  insert(b);
}

/* Makes a free block from new memory at `at`, which is separate from all other
   blocks or begins at the sentinel. */
static void add(char *at, uint32_t bytes, uint32_t before) {
  block *b = (block *)(void *)at;
  b->before = before;
  b->size = (bytes - HEAD) & ~(uint32_t)(UNIT - 1);
  end = after(b);
  end->before = b->size;
  end->size = USED;
  give(b);
}

/* Grows the memory for a block of at least `bytes`. If other code has grown the
   memory since, that part is not ours, and a new region begins after it. */
static int grow(uint32_t bytes) {
  size_t old = __builtin_wasm_memory_size(0);
  uint32_t heap = (uint32_t)old * PAGE;
  uint32_t want = bytes / PAGE + 2, more = heap / 8 / PAGE;
  char *at;
  if (more < LEAST_GROWTH / PAGE) more = LEAST_GROWTH / PAGE;
  if (more < want) more = want;
  if (__builtin_wasm_memory_grow(0, more) == (size_t)-1) {
    more = want;
    if (__builtin_wasm_memory_grow(0, more) == (size_t)-1) return 0;
  }
  notify_memory_growth(0);
  at = (char *)(old * PAGE);
  if (end && (char *)end + HEAD == at)
    add((char *)end, more * PAGE + HEAD, end->before);
  else
    add(at + HEAD, more * PAGE - HEAD, 0);
  return 1;
}

/* Adds the module's initial memory after its data. */
static void begin(void) {
  uintptr_t at = (uintptr_t)__heap_base;
  uintptr_t limit = __builtin_wasm_memory_size(0) * (uintptr_t)PAGE;
  at = ((at + HEAD + UNIT - 1) & ~(uintptr_t)(UNIT - 1)) - HEAD;
  if (at < limit && limit - at >= 2 * UNIT + HEAD)
    add((char *)at, limit - at, 0);
}

void *web_alloc(size_t size) {
  uint32_t need, rest;
  block *b;
  if (!end) begin();
  if (size > WEB_LARGEST) return 0;
  need = ((uint32_t)size + HEAD + UNIT - 1) & ~(uint32_t)(UNIT - 1);
  b = find(need / UNIT);
  if (!b) {
    /* Rounds up to the next class, so that `find` finds the block. */
    if (!grow(need + need / STEPS)) return 0;
    b = find(need / UNIT);
    if (!b) return 0;
  }
  take(b);
  rest = b->size - need;
  if (rest) {
    block *left;
    b->size = need;
    left = after(b);
    left->before = need;
    left->size = rest;
    after(left)->before = rest;
    insert(left);
  }
  b->size |= USED;
  bytes_used += need;
  return (char *)b + HEAD;
}

void web_free(void *pointer) {
  block *b;
  if (!pointer) return;
  b = (block *)(void *)((char *)pointer - HEAD);
  bytes_used -= b->size & ~(uint32_t)USED;
  give(b);
}

size_t web_bytes_used(void) { return bytes_used; }

/* The product of two 128-bit numbers. clang calls it for a multiplication with
   overflow check. */
typedef union {
  unsigned __int128 all;
  uint64_t part[2]; /* the lower one first */
} wide;

unsigned __int128 __multi3(unsigned __int128 a, unsigned __int128 b) {
  wide x, y, r;
  uint64_t low = 0xFFFFFFFF, middle, other;
  x.all = a;
  y.all = b;
  r.part[0] = x.part[0] * y.part[0];
  middle = (x.part[0] >> 32) * (y.part[0] & low) +
           ((x.part[0] & low) * (y.part[0] & low) >> 32);
  other = (x.part[0] & low) * (y.part[0] >> 32) + (middle & low);
  r.part[1] = (x.part[0] >> 32) * (y.part[0] >> 32) + (middle >> 32) +
              (other >> 32) + x.part[0] * y.part[1] + x.part[1] * y.part[0];
  return r.all;
}

/* With bulk memory these three are one instruction each. */
void *memcpy(void *to, const void *from, size_t size) {
  return __builtin_memcpy(to, from, size);
}
void *memmove(void *to, const void *from, size_t size) {
  return __builtin_memmove(to, from, size);
}
void *memset(void *to, int byte, size_t size) {
  return __builtin_memset(to, byte, size);
}
