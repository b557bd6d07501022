/* Keeps track of the blocks of memory of a fuzzer's runtime: the fuzzer counts
   them to find leaks, and searches them for objects. Include it before fuzz.h.
   FUZZ_BLOCK=N in the environment ends the process when block N is allocated:
   a debugger then shows where a block that leaks comes from. */
#ifndef FUZZ_BLOCKS_H_
#define FUZZ_BLOCKS_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  void *address; /* NULL: the slot is empty */
  size_t size;
  uint64_t number; /* of the allocation, from 1 on */
} fuzz_block;

/* A hash table with linear probing. */
enum { FUZZ_BLOCK_SLOTS = 1 << 15 };
static fuzz_block fuzz_blocks[FUZZ_BLOCK_SLOTS];
static size_t fuzz_num_blocks;
static uint64_t fuzz_block_number;

/* What the table does is no news to libFuzzer. */
#if defined(__clang__)
#define FUZZ_NO_COVERAGE __attribute__((no_sanitize("coverage"), noinline))
#else
#define FUZZ_NO_COVERAGE
#endif

static FUZZ_NO_COVERAGE size_t fuzz_block_home(const void *address) {
  uint64_t hash = (uint64_t)(uintptr_t)address * 0x9E3779B97F4A7C15u;
  return (size_t)(hash >> 32) % FUZZ_BLOCK_SLOTS;
}

static FUZZ_NO_COVERAGE int fuzz_block_add(void *address, size_t size) {
  static uint64_t wanted;
  static int is_read;
  size_t i = fuzz_block_home(address);
  if (!is_read) {
    const char *text = getenv("FUZZ_BLOCK");
    is_read = 1;
    if (text) wanted = strtoull(text, NULL, 10);
  }
  if (fuzz_num_blocks >= FUZZ_BLOCK_SLOTS / 2) return 0;
  while (fuzz_blocks[i].address) i = (i + 1) % FUZZ_BLOCK_SLOTS;
  fuzz_blocks[i].address = address;
  fuzz_blocks[i].size = size;
  fuzz_blocks[i].number = ++fuzz_block_number;
  if (fuzz_block_number == wanted) abort();
  ++fuzz_num_blocks;
  return 1;
}

/* Empties the slot of a block, and moves the blocks behind it back. */
static FUZZ_NO_COVERAGE void fuzz_block_remove(const void *address) {
  size_t i = fuzz_block_home(address), next, home;
  while (fuzz_blocks[i].address && fuzz_blocks[i].address != address)
    i = (i + 1) % FUZZ_BLOCK_SLOTS;
  if (!fuzz_blocks[i].address) {
    fprintf(stderr, "freed, but not allocated: %p\n", address);
    abort();
  }
  for (next = (i + 1) % FUZZ_BLOCK_SLOTS; fuzz_blocks[next].address;
       next = (next + 1) % FUZZ_BLOCK_SLOTS) {
    home = fuzz_block_home(fuzz_blocks[next].address);
    if ((next - home) % FUZZ_BLOCK_SLOTS < (next - i) % FUZZ_BLOCK_SLOTS)
      continue;
    fuzz_blocks[i] = fuzz_blocks[next];
    i = next;
  }
  fuzz_blocks[i].address = NULL;
  --fuzz_num_blocks;
}

/* Prints the live blocks that were allocated after the block `since`. */
static void fuzz_block_print(uint64_t since) {
  size_t i;
  for (i = 0; i < FUZZ_BLOCK_SLOTS; ++i)
    if (fuzz_blocks[i].address && fuzz_blocks[i].number > since)
      fprintf(stderr, "block %llu, %zu bytes\n",
              (unsigned long long)fuzz_blocks[i].number, fuzz_blocks[i].size);
}

#define FUZZ_ALLOCATED(pointer, size) fuzz_block_add(pointer, size)
#define FUZZ_FREED(pointer) fuzz_block_remove(pointer)

#endif /* FUZZ_BLOCKS_H_ */
