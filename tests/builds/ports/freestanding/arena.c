/* The arena: blocks do not overlap, are aligned, and join again when they are
   freed in any order, so that in the end one block as large as the whole may be
   had; what is too large is refused; the runtime works in it and says so when
   it is full. Prints "ok" and ends with 0, or names the line that failed. */

#define TVMFFI_FREESTANDING 1
#define TVMFFI_ARENA_SIZE 16384
#define TVMFFI_STATIC 1
#define TVMFFI_IMPLEMENTATION
#include <stdio.h>

#include "tvmffi.h"

#define CHECK(condition) \
  if (!(condition)) return printf("line %d: %s\n", __LINE__, #condition), 1

TVMFFI_FUNC(twice, str, (str, text)) {
  char room[128];
  size_t i;
  if (text.size > 64) return TVMFFI_RAISE("ValueError", "too long");
  for (i = 0; i < 2 * text.size; ++i) room[i] = text.data[i % text.size];
  text.size *= 2;
  text.data = room;
  TVMFFI_RETURN(text);
}

enum { BLOCKS = 64 };
static unsigned seed = 1;
static unsigned next(unsigned n) {
  seed = seed * 1103515245u + 12345u;
  return (seed >> 16) % n;
}

static int blocks(void) {
  unsigned char *block[BLOCKS] = {NULL};
  size_t size[BLOCKS] = {0}, most = 0, first = 8 - sizeof(size_t), j;
  int round, i, refused = 0;
  for (round = 0; round < 100000; ++round) {
    i = (int)next(BLOCKS);
    for (j = 0; block[i] && j < size[i]; ++j) CHECK(block[i][j] == i);
    if (block[i]) tvmffi_i_arena_free(block[i]);
    size[i] = next(600);
    block[i] = (unsigned char *)tvmffi_i_arena_alloc(size[i]);
    refused += !block[i];
    CHECK((uintptr_t)block[i] % 8 == 0);
    if (block[i]) memset(block[i], i, size[i]);
  }
  CHECK(refused > 0);
  for (i = 0; i < BLOCKS; ++i)
    if (block[i]) tvmffi_i_arena_free(block[i]);
  CHECK(tvmffi_arena_used(&most) == 0);
  CHECK(most <= TVMFFI_ARENA_SIZE);
  CHECK(!tvmffi_i_arena_alloc((size_t)-1));
  CHECK(!tvmffi_i_arena_alloc(TVMFFI_ARENA_SIZE));
  block[0] = (unsigned char *)tvmffi_i_arena_alloc(TVMFFI_ARENA_SIZE - first -
                                                   2 * sizeof(tvmffi_i_gap));
  CHECK(block[0]);
  CHECK(!tvmffi_i_arena_alloc(64));
  tvmffi_i_arena_free(block[0]);
  return 0;
}

/* A request takes a free block of its size before it splits a larger one. */
static int exact(void) {
  unsigned char *block[BLOCKS];
  int i;
  for (i = 0; i < BLOCKS; ++i) CHECK(block[i] = tvmffi_i_arena_alloc(100));
  for (i = 0; i < BLOCKS; i += 2) tvmffi_i_arena_free(block[i]);
  for (i = BLOCKS - 2; i >= 0; i -= 2) {
    unsigned char *again = tvmffi_i_arena_alloc(100);
    CHECK(again == block[i]);
  }
  for (i = 0; i < BLOCKS; ++i) tvmffi_i_arena_free(block[i]);
  CHECK(tvmffi_arena_used(NULL) == 0);
  return 0;
}

int main(void) {
  TVMFFIObject *array = NULL, *error;
  TVMFFIAny text;
  size_t used;
  CHECK(!blocks());
  CHECK(!exact());
  CHECK(!TVMFFI_REGISTER("test.twice", twice));
  {
    TVMFFI_SCOPE;
    CHECK(!tvmffi_call("test.twice", &text, "a text"));
    CHECK(tvmffi_any_str(&text).size == 12);
    /* The entry of a built-in function is made at its first use, and stays. */
    CHECK(tvmffi_array(1));
  }
  used = tvmffi_arena_used(NULL);
  {
    TVMFFI_SCOPE;
    TVMFFIObject *made;
    while ((made = tvmffi_array(1, 2, 3)) != NULL) array = made;
  }
  CHECK(array);
  error = tvmffi_i_error_remove();
  CHECK(error);
  CHECK(tvmffi_error_is(error, "MemoryError"));
  tvmffi_release(error);
  CHECK(tvmffi_arena_used(NULL) == used);
  return puts("ok") < 0;
}
