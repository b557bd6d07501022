/* Threads that use the runtime at once, with Zephyr's calls. Each ends with a
   pending error. The heap must then be as before. */

#include <stdio.h>
#include <zephyr/kernel.h>

#include "work.h"

enum { THREADS = 4, ROUNDS = 4000 };
#define STACK 4096

long stand_in_blocks, stand_in_locks, stand_in_spins;
static struct k_thread threads[THREADS];
static K_THREAD_STACK_DEFINE(stacks[THREADS], STACK);
static int wrong[THREADS];

static void pause_thread(void) { k_sleep(K_TICKS(1)); }

static void worker(void *argument, void *unused, void *also_unused) {
  int who = (int)(intptr_t)argument;
  (void)unused, (void)also_unused;
  wrong[who] += work(who, ROUNDS, pause_thread) + !work_raise(who);
#if !TEST_NO_CLEAN_UP
  tvmffi_zephyr_end();
#endif
}

static long run_threads(void) {
  intptr_t i;
  for (i = 0; i < THREADS; ++i)
    k_thread_create(&threads[i], stacks[i], K_THREAD_STACK_SIZEOF(stacks[i]),
                    worker, (void *)i, NULL, NULL, 5, 0, K_NO_WAIT);
  for (i = 0; i < THREADS; ++i) k_thread_join(&threads[i], K_FOREVER);
  return stand_in_blocks;
}

int main(void) {
  long first, second;
  if (work_register()) return 1;
  first = run_threads(); /* makes the tables of the runtime, too */
  second = run_threads();
  wrong[0] += !work_is_count_right();
  printf("done wrong %d leaked %ld locks %ld spins %ld\n",
         wrong[0] + wrong[1] + wrong[2] + wrong[3], second - first,
         stand_in_locks, stand_in_spins);
  return 0;
}
