/* Kernel threads that use the runtime of ffi_provider.ko all at once: each
   registers functions under new names, replaces them and others' by new ones,
   looks them up, calls and releases them, raises errors and takes its own, and
   counts a shared object up and down. What they did must add up in the end. */

#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "tvmffi.h"

FFI_MODULE

enum { THREADS = 8, ROUNDS = 4000, COUNTS = 200000 };

static atomic_t calls, errors, made, freed, cpus_seen[2];
static DECLARE_COMPLETION(ready);
static DECLARE_COMPLETION(go);
static TVMFFIAny shared; /* a string */

/* What is registered: one such function for each registration. */
static int contend_call(void *self, const TVMFFIAny *args, int32_t n,
                        TVMFFIAny *result) {
  atomic_inc((atomic_t *)self);
  atomic_inc(&calls);
  *result = tvmffi_int(n == 1 ? args[0].v_int64 + 1 : -1);
  return 0;
}

static void contend_free(void *self) {
  atomic_inc(&freed);
  kfree(self);
}

static void contend_name(char *name, int id, int round) {
  snprintf(name, 32, "contend.%d", id % THREADS * ROUNDS + round);
}

static int contend_register(const char *name) {
  TVMFFIByteArray key = tvmffi_byte_array(name);
  TVMFFIObjectHandle f = NULL;
  atomic_t *own = kzalloc(sizeof(*own), GFP_KERNEL | __GFP_NOFAIL);
  int code;

  if (TVMFFIFunctionCreate(own, contend_call, contend_free, &f)) {
    kfree(own);
    return -1;
  }
  atomic_inc(&made);
  code = TVMFFIFunctionSetGlobal(&key, f, 1);
  tvmffi_release(f);
  return code;
}

/* Another thread may replace the function meanwhile: it must live on. */
static int contend_look_up(const char *name, int64_t x) {
  TVMFFIByteArray key = tvmffi_byte_array(name);
  TVMFFIObjectHandle f = NULL;
  int64_t y = 0;
  int code;

  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&key, &f));
  if (!f) return TVMFFI_RAISE("LookupError", "%s is not there", name);
  code = tvmffi_call(tvmffi_obj(f), &y, x);
  cond_resched();
  tvmffi_release(f);
  if (!code && y != x + 1)
    return TVMFFI_RAISE("ValueError", "%d gives %d", (int)x, (int)y);
  return code;
}

/* The error that a thread takes is its own. */
static int contend_raise(int number) {
  char want[48];
  int64_t result = 0;
  TVMFFIObject *error;
  int same;
  TVMFFI_SCOPE;

  if (!tvmffi_call("kernel.divide", &result, number, 0))
    return TVMFFI_RAISE("ValueError", "%d / 0 gives %d", number, (int)result);
  cond_resched();
  snprintf(want, sizeof(want), "%d is divided by zero", number);
  error = tvmffi_error_take();
  same = error && !strcmp(TVMFFIErrorGetCellPtr(error)->message.data, want);
  if (!same) return TVMFFI_RAISE("ValueError", "not the error of %d", number);
  atomic_inc(&errors);
  return 0;
}

/* All names are new: the table grows. */
static int contend_begin(int id, int round) {
  char name[32];

  contend_name(name, id, round);
  return contend_register(name);
}

/* Half of them are another thread's. */
static int contend_round(int id, int round) {
  char name[32];
  int64_t sum = 0;

  contend_name(name, id + round % 2, round);
  TVMFFI_TRY(contend_register(name));
  TVMFFI_TRY(contend_look_up(name, round));
  TVMFFI_TRY(contend_raise(id * ROUNDS + round));
  TVMFFI_TRY(tvmffi_call("kernel.add", &sum, id, round));
  if (sum != id + round)
    return TVMFFI_RAISE("ValueError", "%d + %d = %d", id, round, (int)sum);
  atomic_inc(&cpus_seen[raw_smp_processor_id() & 1]);
  return 0;
}

static void contend_tell(const char *who, int id) {
  TVMFFIObject *error;
  TVMFFI_SCOPE;

  error = tvmffi_error_take();
  pr_err("contend: %s %d: %s\n", who, id,
         error ? TVMFFIErrorGetCellPtr(error)->message.data : "no error");
}

/* The last error of a task stays in its slot: ffi_task_end releases it. */
static int contend_thread(void *data) {
  int id = (int)(long)data, round, code = 0;

  complete(&ready);
  wait_for_completion(&go);
  for (round = 0; round < COUNTS; ++round) {
    tvmffi_retain(shared.v_obj);
    tvmffi_release(shared.v_obj);
  }
  for (round = 0; round < ROUNDS && !code; ++round)
    code = contend_begin(id, round);
  for (round = 0; round < ROUNDS && !code; ++round)
    code = contend_round(id, round);
  if (code)
    contend_tell("thread", id);
  else
    (void)TVMFFI_RAISE("ValueError", "the last of %d", id);
  ffi_task_end();
  return code;
}

static int contend_run(void) {
  struct task_struct *task[THREADS];
  int i, n, code = 0;

  for (n = 0; n < THREADS; ++n) {
    task[n] = kthread_create(contend_thread, (void *)(long)n, "contend/%d", n);
    if (IS_ERR(task[n])) break; /* the counts will tell */
    kthread_bind(task[n], n % num_online_cpus());
    get_task_struct(task[n]);
    wake_up_process(task[n]);
  }
  for (i = 0; i < n; ++i) wait_for_completion(&ready);
  complete_all(&go);
  for (i = 0; i < n; ++i) {
    code |= kthread_stop(task[i]); /* waits for its end */
    put_task_struct(task[i]);
  }
  return code;
}

static int contend_clear(void) {
  char name[32];
  int i;

  for (i = 0; i < THREADS * ROUNDS; ++i) {
    contend_name(name, i / ROUNDS, i % ROUNDS);
    TVMFFI_TRY(tvmffi_call("ffi.FunctionRemoveGlobal", NULL, name));
  }
  return 0;
}

static int __init contend_init(void) {
  TVMFFIByteArray text = tvmffi_byte_array("a string of many threads");
  int code;

  if (TVMFFIStringFromByteArray(&text, &shared)) return -ENOMEM;
  code = contend_run() || contend_clear();
  if (code) contend_tell("init", 0);
  pr_info("contend: on %d and %d of 2 CPUs\n", atomic_read(&cpus_seen[0]) > 0,
          atomic_read(&cpus_seen[1]) > 0);
  pr_info(
      "contend: %d threads: %d calls, %d errors, %d functions made, %d "
      "freed, %d of the shared object\n",
      THREADS, atomic_read(&calls), atomic_read(&errors), atomic_read(&made),
      atomic_read(&freed), (int)(uint32_t)shared.v_obj->combined_ref_count);
  tvmffi_any_release(&shared);
  ffi_task_end();
  return code ? -EINVAL : 0;
}

static void __exit contend_exit(void) {}

module_init(contend_init);
module_exit(contend_exit);
MODULE_DESCRIPTION("Uses the runtime from many kernel threads at once");
MODULE_LICENSE("Dual MIT/GPL");
