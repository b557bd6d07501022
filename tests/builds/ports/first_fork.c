/* A fork that began before the runtime's first use: a handler of another
   library takes long, and meanwhile other threads use the runtime for the first
   time. The child of such a fork ran no handler of the runtime, but uses it,
   too. Prints how many of the forks have a child that ends. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 20, USERS = 3 };
static int preparing, prepared;

static void prepare_slowly(void) {
  __atomic_store_n(&preparing, 1, __ATOMIC_SEQ_CST);
  (void)poll(NULL, 0, 5);
}

static int nothing(void *self, const TVMFFIAny *args, int32_t n,
                   TVMFFIAny *result) {
  (void)self, (void)args, (void)n, (void)result;
  return 0;
}

static void use(int i) {
  char text[40];
  TVMFFIByteArray name;
  TVMFFIObjectHandle f = NULL;
  (void)snprintf(text, sizeof(text), "first_fork.%d", i);
  name = tvmffi_byte_array(text);
  if (TVMFFIFunctionCreate(NULL, nothing, NULL, &f)) _exit(3);
  if (TVMFFIFunctionSetGlobal(&name, f, 1)) _exit(4);
  TVMFFIObjectDecRef(f);
}

static void *use_during_fork(void *unused) {
  int i = 0;
  (void)unused;
  while (!__atomic_load_n(&preparing, __ATOMIC_SEQ_CST)) sched_yield();
  while (!__atomic_load_n(&prepared, __ATOMIC_SEQ_CST)) use(i++ % 1000);
  return NULL;
}

/* Returns the status of the child of one such fork. */
static int fork_once(void) {
  pthread_t thread[USERS];
  int i, status = 1;
  pid_t child;
  (void)pthread_atfork(prepare_slowly, NULL, NULL);
  for (i = 0; i < USERS; ++i)
    if (pthread_create(&thread[i], NULL, use_during_fork, NULL)) _exit(5);
  child = fork();
  if (child == 0) {
    (void)alarm(20);
    for (i = 0; i < 50; ++i) use(i);
    _exit(0);
  }
  (void)waitpid(child, &status, 0);
  __atomic_store_n(&prepared, 1, __ATOMIC_SEQ_CST);
  for (i = 0; i < USERS; ++i) (void)pthread_join(thread[i], NULL);
  return status;
}

int main(void) {
  int i, ended = 0, status;
  for (i = 0; i < FORKS; ++i) {
    pid_t child = fork();
    if (child == 0) _exit(fork_once() ? 1 : 0);
    if (waitpid(child, &status, 0) == child && status == 0) ++ended;
    if (ended <= i) break;
  }
  printf("%d of %d\n", ended, FORKS);
  return ended != FORKS;
}
