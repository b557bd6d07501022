/* tvmffi_rpc_backend.h - what modules compiled by Apache TVM call in the
   process that runs them.

   SPDX-License-Identifier: Apache-2.0 OR MIT

   A compiled module calls four functions: TVMBackendAllocWorkspace and
   TVMBackendFreeWorkspace for temporary memory, TVMBackendParallelLaunch and
   TVMBackendParallelBarrier for parallel loops. It finds them as symbols of the
   program, which is therefore linked with -rdynamic, or as context symbols.
   tvmffi_rpc_register_backend registers these, and the global function
   cache_flush_cpu_non_first_arg for the time evaluator. Call it before a module
   is loaded.

   Parallel loops run on a pool of threads, which starts with the first of them:
   TVM_NUM_THREADS threads, else one for each processor. With _GNU_SOURCE,
   these are the processors that the process may use. There is one task in a
   loop inside of another one, and in any loop with TVMFFI_NO_THREADS,
   TVMFFI_FREESTANDING or the hook TVMFFI_LOCK and on Windows: these have no
   POSIX threads. The loop then runs in the thread that begins it.

   In one file define TVMFFI_RPC_IMPLEMENTATION, and include tvmffi_rpc.h before
   this file. */

#ifndef TVMFFI_RPC_BACKEND_H_
#define TVMFFI_RPC_BACKEND_H_

#include "tvmffi.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* The second argument of a parallel loop's tasks; the layout is TVM's. */
typedef struct {
  void *sync_handle;
  int32_t num_task;
} tvmffi_rpc_parallel_env;

typedef int (*tvmffi_rpc_parallel_body)(int task, tvmffi_rpc_parallel_env *env,
                                        void *data);

/* Registers the context symbols and the cache flush. */
int tvmffi_rpc_register_backend(void);

/* Allocates and frees temporary memory of the CPU. NULL with an error raised
   if there is none. */
TVM_FFI_DLL_EXPORT void *TVMBackendAllocWorkspace(int device_type,
                                                  int device_id, uint64_t size,
                                                  int code_hint, int bits_hint);
TVM_FFI_DLL_EXPORT int TVMBackendFreeWorkspace(int device_type, int device_id,
                                               void *data);

/* Runs `num_task` tasks at the same time, or the pool's number for 0; a larger
   number than the pool's becomes the pool's. Returns 0, or an error's code. */
TVM_FFI_DLL_EXPORT int TVMBackendParallelLaunch(tvmffi_rpc_parallel_body body,
                                                void *data, int num_task);

/* Waits until all tasks of the loop have called it. Returns 0. */
TVM_FFI_DLL_EXPORT int TVMBackendParallelBarrier(int task,
                                                 tvmffi_rpc_parallel_env *env);

#if defined(__cplusplus)
}
#endif

#endif /* TVMFFI_RPC_BACKEND_H_ */

#if defined(TVMFFI_RPC_IMPLEMENTATION) && !defined(TVMFFI_RPC_BACKEND_DONE)
#define TVMFFI_RPC_BACKEND_DONE

/* -- temporary memory ----------------------------------------------------- */

void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t size,
                               int code, int bits) {
  DLDevice cpu = {kDLCPU, 0};
  void *data = NULL;
  (void)device_id, (void)code, (void)bits;
  if (device_type != kDLCPU) {
    (void)TVMFFI_RAISE("ValueError", "a workspace on a device of type %d",
                       device_type);
    return NULL;
  }
  if (size > (size_t)-1 / 2 ||
      tvmffi_rpc_i_cpu_alloc(NULL, cpu, (size_t)size, 64, NULL, &data))
    return NULL;
  return data;
}

int TVMBackendFreeWorkspace(int device_type, int device_id, void *data) {
  DLDevice cpu = {kDLCPU, 0};
  (void)device_type, (void)device_id;
  return data ? tvmffi_rpc_i_cpu_release(NULL, cpu, data) : 0;
}

/* -- parallel loops ------------------------------------------------------- */

/* Whether there is a pool. Its threads are POSIX's. */
#if TVMFFI_NO_THREADS || TVMFFI_FREESTANDING || defined(TVMFFI_LOCK) || \
    defined(_WIN32)
#define TVMFFI_RPC_I_POOL 0
#else
#define TVMFFI_RPC_I_POOL 1
#endif

/* Runs a loop as one task, for which a barrier is nothing. */
static int tvmffi_rpc_i_launch_one(tvmffi_rpc_parallel_body body, void *data) {
  tvmffi_rpc_parallel_env env;
  env.sync_handle = NULL;
  env.num_task = 1;
  return body(0, &env, data);
}

#if !TVMFFI_RPC_I_POOL

int TVMBackendParallelLaunch(tvmffi_rpc_parallel_body body, void *data,
                             int num_task) {
  (void)num_task;
  return tvmffi_rpc_i_launch_one(body, data);
}

int TVMBackendParallelBarrier(int task, tvmffi_rpc_parallel_env *env) {
  (void)task, (void)env;
  return 0;
}

#else

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define TVMFFI_RPC_I_MAX_THREADS 256

/* The pool. One loop runs at a time; all members are protected by `lock`. */
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done, barrier;
  int threads; /* with the caller's; 0 before the pool has started */
  int busy;
  tvmffi_rpc_parallel_body body;
  void *data;
  tvmffi_rpc_parallel_env env;
  int next, running;     /* the next task, tasks that have not ended */
  int arrived;           /* tasks that wait at the barrier */
  unsigned int barriers; /* barriers that have been passed */
  int code;
  TVMFFIObject *error; /* of a task that failed; owned */
} tvmffi_rpc_i_pool;

static tvmffi_rpc_i_pool tvmffi_rpc_i_threads = {PTHREAD_MUTEX_INITIALIZER,
                                                 PTHREAD_COND_INITIALIZER,
                                                 PTHREAD_COND_INITIALIZER,
                                                 PTHREAD_COND_INITIALIZER,
                                                 0,
                                                 0,
                                                 NULL,
                                                 NULL,
                                                 {NULL, 0},
                                                 0,
                                                 0,
                                                 0,
                                                 0,
                                                 0,
                                                 NULL};

/* Stores the first code of a task that failed, and its error. Drops any other
   error without the lock, because an error's end can run a deleter. */
static void tvmffi_rpc_i_task_failed(tvmffi_rpc_i_pool *p, int code) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  pthread_mutex_lock(&p->lock);
  if (!p->code) {
    p->code = code;
    p->error = (TVMFFIObject *)error;
    error = NULL;
  }
  pthread_mutex_unlock(&p->lock);
  tvmffi_release(error);
}

/* Runs tasks until all have begun. The lock is held at the call and after. */
static void tvmffi_rpc_i_run_tasks(tvmffi_rpc_i_pool *p) {
  while (p->next < p->env.num_task) {
    int task = p->next++, code;
    pthread_mutex_unlock(&p->lock);
    code = p->body(task, &p->env, p->data);
    if (code) tvmffi_rpc_i_task_failed(p, code);
    pthread_mutex_lock(&p->lock);
    if (!--p->running) pthread_cond_broadcast(&p->done);
  }
}

static void *tvmffi_rpc_i_worker(void *pool) {
  tvmffi_rpc_i_pool *p = (tvmffi_rpc_i_pool *)pool;
  pthread_mutex_lock(&p->lock);
  for (;;) {
    tvmffi_rpc_i_run_tasks(p);
    pthread_cond_wait(&p->work, &p->lock);
  }
  return NULL;
}

/* Counts the processors that this process may use, because a server for a group
   of them (`taskset`) would disturb its own timings by more threads. */
static long tvmffi_rpc_i_processors(void) {
#if defined(CPU_COUNT)
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof(set), &set)) return CPU_COUNT(&set);
#endif
  return sysconf(_SC_NPROCESSORS_ONLN);
}

static int tvmffi_rpc_i_thread_count(void) {
  const char *text = getenv("TVM_NUM_THREADS");
  long n = text ? strtol(text, NULL, 10) : tvmffi_rpc_i_processors();
  if (n < 1) n = 1;
  return n > TVMFFI_RPC_I_MAX_THREADS ? TVMFFI_RPC_I_MAX_THREADS : (int)n;
}

/* Starts the pool; with fewer threads if the system refuses some. */
static void tvmffi_rpc_i_start_pool(tvmffi_rpc_i_pool *p) {
  int wanted = tvmffi_rpc_i_thread_count();
  for (p->threads = 1; p->threads < wanted; ++p->threads) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, tvmffi_rpc_i_worker, p)) return;
    pthread_detach(thread);
  }
}

/* Begins a loop; returns its number of tasks, or 1 if it cannot be parallel.
   The lock is held. */
static int tvmffi_rpc_i_begin_loop(tvmffi_rpc_i_pool *p, int num_task) {
  if (p->busy) return 1;
  if (!p->threads) tvmffi_rpc_i_start_pool(p);
  if (num_task <= 0 || num_task > p->threads) num_task = p->threads;
  if (num_task > 1) p->busy = 1;
  return num_task;
}

int TVMBackendParallelLaunch(tvmffi_rpc_parallel_body body, void *data,
                             int num_task) {
  tvmffi_rpc_i_pool *p = &tvmffi_rpc_i_threads;
  TVMFFIObject *error;
  int code;
  pthread_mutex_lock(&p->lock);
  num_task = tvmffi_rpc_i_begin_loop(p, num_task);
  if (num_task == 1) {
    pthread_mutex_unlock(&p->lock);
    return tvmffi_rpc_i_launch_one(body, data);
  }
  p->body = body;
  p->data = data;
  p->env.sync_handle = p;
  p->env.num_task = p->running = num_task;
  p->next = p->arrived = p->code = 0;
  p->error = NULL;
  pthread_cond_broadcast(&p->work);
  tvmffi_rpc_i_run_tasks(p);
  while (p->running) pthread_cond_wait(&p->done, &p->lock);
  code = p->code;
  error = p->error;
  p->busy = 0;
  pthread_mutex_unlock(&p->lock);
  if (error) code = tvmffi_error_raise(error);
  tvmffi_release(error);
  return code;
}

int TVMBackendParallelBarrier(int task, tvmffi_rpc_parallel_env *env) {
  tvmffi_rpc_i_pool *p = (tvmffi_rpc_i_pool *)env->sync_handle;
  unsigned int passed;
  (void)task;
  if (!p) return 0;
  pthread_mutex_lock(&p->lock);
  passed = p->barriers;
  if (++p->arrived == env->num_task) {
    p->arrived = 0;
    ++p->barriers;
    pthread_cond_broadcast(&p->barrier);
  }
  while (passed == p->barriers) pthread_cond_wait(&p->barrier, &p->lock);
  pthread_mutex_unlock(&p->lock);
  return 0;
}

#endif /* TVMFFI_RPC_I_POOL */

/* -- the caches ----------------------------------------------------------- */

/* Evicts memory from the caches, on processors whose programs may. */
static void tvmffi_rpc_i_evict(const char *data, size_t size) {
#if TVMFFI_I_GNU && (defined(__x86_64__) || defined(__aarch64__))
  const char *at, *end;
  if (!size) return; /* there may be no memory */
  at = data - (uintptr_t)data % 64;
  end = data + size;
  for (; at < end; at += 64) {
#if defined(__x86_64__)
    __asm__ volatile("clflush %0" : : "m"(*at) : "memory");
#else
    __asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
#endif
  }
#else
  (void)data, (void)size;
#endif
}

static int tvmffi_rpc_i_flush_args(void *self, const TVMFFIAny *args, int32_t n,
                                   TVMFFIAny *result) {
  int32_t i;
  (void)self, (void)result;
  for (i = 1; i < n; ++i) {
    const DLTensor *t;
    if (args[i].type_index == kTVMFFIDLTensorPtr)
      t = (const DLTensor *)args[i].v_ptr;
    else if (args[i].type_index == kTVMFFITensor)
      t = TVMFFITensorGetDLTensorPtr(args[i].v_obj);
    else
      return TVMFFI_RAISE("TypeError",
                          "cache_flush_cpu_non_first_arg: argument %d is no "
                          "tensor",
                          (int)i);
    tvmffi_rpc_i_evict(TVMFFI_DATA(t, const char), tvmffi_tensor_bytes(t));
  }
  return 0;
}

/* -- registration --------------------------------------------------------- */

typedef void (*tvmffi_rpc_i_symbol)(void);

/* Registers a function pointer as the data pointer that the ABI asks for. */
static int tvmffi_rpc_i_set_symbol(const char *name, tvmffi_rpc_i_symbol f) {
  void *symbol;
  memcpy(&symbol, &f, sizeof(symbol));
  return TVMFFIEnvModRegisterContextSymbol(name, symbol);
}

int tvmffi_rpc_register_backend(void) {
  TVMFFI_TRY(
      tvmffi_rpc_i_set_symbol("__TVMBackendAllocWorkspace",
                              (tvmffi_rpc_i_symbol)TVMBackendAllocWorkspace));
  TVMFFI_TRY(
      tvmffi_rpc_i_set_symbol("__TVMBackendFreeWorkspace",
                              (tvmffi_rpc_i_symbol)TVMBackendFreeWorkspace));
  TVMFFI_TRY(
      tvmffi_rpc_i_set_symbol("__TVMBackendParallelLaunch",
                              (tvmffi_rpc_i_symbol)TVMBackendParallelLaunch));
  TVMFFI_TRY(
      tvmffi_rpc_i_set_symbol("__TVMBackendParallelBarrier",
                              (tvmffi_rpc_i_symbol)TVMBackendParallelBarrier));
  return tvmffi_rpc_i_set_global("cache_flush_cpu_non_first_arg", NULL,
                                 tvmffi_rpc_i_flush_args);
}

#endif /* TVMFFI_RPC_IMPLEMENTATION */
