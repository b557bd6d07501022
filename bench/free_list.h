/* free_list.h: the least that making and releasing an object could cost where
 * memory waits in a list of one thread: to take a block, write the head of an
 * object, and put it back. */
#ifndef TVMFFI_BENCH_FREE_LIST_H_
#define TVMFFI_BENCH_FREE_LIST_H_

#include "bench.h"

#define BENCH_FREE_LIST_TEXT "a block taken from a list, written and put back"

typedef struct bench_block {
  struct bench_block *next;
  char rest[56];
} bench_block;

static void bench_limit_free_list(const bench_lib *lib, void *state, long n) {
  static bench_block blocks[2], *list = blocks;
  (void)lib;
  (void)state;
  blocks[0].next = &blocks[1];
  for (long i = 0; i < n; ++i) {
    bench_block *block = list;
    TVMFFIObject *object = (TVMFFIObject *)(void *)block;
    if (!block->next) break;
    list = block->next;
    object->combined_ref_count = (uint64_t)1 << 32 | 1;
    object->type_index = kTVMFFIFunction;
    object->deleter = NULL;
    bench_keep(object);
    block->next = list;
    list = block;
    bench_keep(&list);
  }
}

#endif /* TVMFFI_BENCH_FREE_LIST_H_ */
