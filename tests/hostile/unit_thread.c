/* Runs each unit test in a thread with a small stack, and prints how many bytes
   of the stack the test used. Includes the program of the unit tests.

       unit_thread KB [NAME...]   all tests but those with these names */
#define _GNU_SOURCE /* for MAP_ANONYMOUS */
#define TEST_MAIN test_main
#include "../../tvmffi_impl_test.c"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAINT 0xA5 /* of bytes that no test has used */

typedef struct {
  const test_case *test;
  int number, failed;
} job;

static void *run_job(void *context) {
  job *j = (job *)context;
  j->failed = test_report(j->test, j->number, test_run(j->test));
  return NULL;
}

static int run_on(const pthread_attr_t *stack, job *j) {
  pthread_t thread;
  return pthread_create(&thread, stack, run_job, j) ||
         pthread_join(thread, NULL) || j->failed;
}

static int is_named(const char *name, int count, char **names) {
  while (count--)
    if (strcmp(name, names[count]) == 0) return 1;
  return 0;
}

int main(int argc, char **argv) {
  const size_t size = (size_t)(argc > 1 ? atoi(argv[1]) : 0) * 1024;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  pthread_attr_t stack;
  const test_case *test;
  job j = {NULL, 0, 0};
  int i, failed = 0;
  /* The page below the stack is not accessible, so an overflow is a fault. */
  unsigned char *memory =
      (unsigned char *)mmap(NULL, page + size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) ||
      pthread_attr_init(&stack) ||
      pthread_attr_setstack(&stack, memory + page, size))
    return 2;
  test_chain = TEST_SHORT;
  (void)pthread_atfork(test_before_fork, test_after_fork, test_after_fork);
  for (i = 0; i < TEST_COUNT(test_lists); ++i) {
    for (test = test_lists[i]; test->name; ++test) {
      size_t unused = page;
      if (argc > 2 && is_named(test->name, argc - 2, argv + 2)) continue;
      memset(memory + page, PAINT, size);
      j.test = test;
      ++j.number;
      failed |= run_on(&stack, &j);
      while (unused < page + size && memory[unused] == PAINT) ++unused;
      printf("# %d bytes of stack: %s\n", (int)(page + size - unused),
             test->name);
    }
  }
  printf("1..%d\n", j.number);
  return failed || !j.number;
}
