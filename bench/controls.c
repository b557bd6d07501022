/* controls.c: work that calls no library, so the true ratio is 1: an
 * allocation, and words read at random. The controls of call.c allocate nothing
 * and stay in the first-level caches; these have the noise of heap and memory.
 */
#include <stdlib.h>

#include "bench.h"

BENCH_LOOP(allocate) {
  (void)lib, (void)state;
  for (long i = 0; i < n; ++i) {
    void *p = malloc(64);
    bench_keep(p);
    free(p);
  }
}

/* A block whose words say where to go on, one cycle through all of them, and
 * where the walk is. */
typedef struct words {
  uint64_t at, next[];
} words;

static void *walk_setup(const bench_lib *lib, long count) {
  words *w = bench_alloc(sizeof *w + (size_t)count * sizeof w->next[0]);
  uint64_t *next = w->next, random = 1;
  (void)lib;
  for (long i = 0; i < count; ++i) next[i] = (uint64_t)i;
  for (long i = count - 1; i > 0; --i) { /* Sattolo's shuffle */
    uint64_t other, here = next[i];
    random = random * 6364136223846793005u + 1442695040888963407u;
    other = (random >> 33) % (uint64_t)i;
    next[i] = next[other];
    next[other] = here;
  }
  w->at = 0;
  return w;
}

static void walk_teardown(const bench_lib *lib, void *state) {
  (void)lib;
  free(state);
}

BENCH_INLINE void follow(words *w, long n) {
  uint64_t at = w->at;
  for (long i = 0; i < n; ++i) at = w->next[at];
  w->at = at;
}

BENCH_LOOP(walk) {
  (void)lib;
  follow(state, n);
}

/* Here so that the libraries meet the caches as in a row that has a limit. */
static void walk_limit(const bench_lib *lib, void *state, long n) {
  (void)lib;
  follow(state, n);
}

#define WALK_ROW(label, count)                                      \
  {.name = "next word at random, " label, .run = BENCH_SIDES(walk), \
   .setup = walk_setup, .teardown = walk_teardown, .param = count,  \
   .limit = walk_limit, .limit_is = "the same", .control = 1,       \
   .fixed = (count) >= 100000 ? 100000 : 0,                         \
   .large = (count) >= 100000}

BENCH_GROUP(controls) = {
    {.name = "malloc and free, 64 bytes", .run = BENCH_SIDES(allocate),
     .control = 1},
    WALK_ROW("1,000", 1000),
    WALK_ROW("10,000", 10000),
    WALK_ROW("100,000", 100000),
    WALK_ROW("1,000,000", 1000000),
    {0}};
