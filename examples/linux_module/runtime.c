/* The runtime, and the kernel functions behind its hooks: memory, a mutex, and
   task-local variables. */

#include <linux/export.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "runtime.h"

/* -------- Memory -------- */

/* A list of all blocks. The runtime never frees its tables, so unloading the
   module frees the blocks that are left. */
static LIST_HEAD(ffi_blocks);
static DEFINE_SPINLOCK(ffi_blocks_lock);

void *ffi_alloc(size_t size) {
  struct list_head *block = kvmalloc(sizeof(*block) + size, GFP_KERNEL);

  if (!block) return NULL;
  spin_lock(&ffi_blocks_lock);
  list_add(block, &ffi_blocks);
  spin_unlock(&ffi_blocks_lock);
  return block + 1;
}
EXPORT_SYMBOL(ffi_alloc);

void ffi_free(void *pointer) {
  struct list_head *block = (struct list_head *)pointer - 1;

  spin_lock(&ffi_blocks_lock);
  list_del(block);
  spin_unlock(&ffi_blocks_lock);
  kvfree(block);
}
EXPORT_SYMBOL(ffi_free);

/* -------- The mutex -------- */

static DEFINE_MUTEX(ffi_mutex);

void ffi_lock(void) { mutex_lock(&ffi_mutex); }

void ffi_unlock(void) { mutex_unlock(&ffi_mutex); }

/* -------- Variables of tasks -------- */

struct ffi_variable {
  struct ffi_variable *next;
  const void *key;
  u64 memory[];
};

struct ffi_task {
  struct list_head list;
  struct task_struct *task;
  struct ffi_variable *variables;
  void (*end)(void *state);
  void *state;
};

static LIST_HEAD(ffi_tasks);
static DEFINE_SPINLOCK(ffi_tasks_lock);

/* Returns the running task's entry, or NULL. Only the task itself creates or
   frees its entry. */
static struct ffi_task *ffi_this_task(void) {
  struct ffi_task *t, *found = NULL;

  spin_lock(&ffi_tasks_lock);
  list_for_each_entry(t, &ffi_tasks, list) if (t->task == current) found = t;
  spin_unlock(&ffi_tasks_lock);
  return found;
}

void *ffi_local(const void *key, size_t size) {
  struct ffi_task *t = ffi_this_task();
  struct ffi_variable *v;

  if (!t) {
    t = kzalloc(sizeof(*t), GFP_KERNEL | __GFP_NOFAIL);
    t->task = current;
    spin_lock(&ffi_tasks_lock);
    list_add(&t->list, &ffi_tasks);
    spin_unlock(&ffi_tasks_lock);
  }
  for (v = t->variables; v; v = v->next)
    if (v->key == key) return v->memory;
  v = kzalloc(sizeof(*v) + size, GFP_KERNEL | __GFP_NOFAIL);
  v->key = key;
  v->next = t->variables;
  t->variables = v;
  return v->memory;
}
EXPORT_SYMBOL(ffi_local);

int ffi_at_task_end(void (*function)(void *), void *state) {
  struct ffi_task *t = ffi_this_task();

  t->end = function;
  t->state = state;
  return 1;
}

void ffi_task_end(void) {
  struct ffi_task *t = ffi_this_task();
  struct ffi_variable *v;

  if (!t) return;
  if (t->end) t->end(t->state);
  spin_lock(&ffi_tasks_lock);
  list_del(&t->list);
  spin_unlock(&ffi_tasks_lock);
  while ((v = t->variables)) {
    t->variables = v->next;
    kfree(v);
  }
  kfree(t);
}
EXPORT_SYMBOL(ffi_task_end);

/* -------- The end -------- */

void ffi_runtime_end(void) {
  struct list_head *block, *next;
  int count = 0;

  ffi_task_end();
  WARN_ON(!list_empty(&ffi_tasks));
  list_for_each_safe(block, next, &ffi_blocks) {
    list_del(block);
    kvfree(block);
    ++count;
  }
  pr_info("ffi: the runtime ends, with %d blocks of its tables\n", count);
}

/* Functions that the inline code of tvmffi.h calls in other modules. */
EXPORT_SYMBOL(TVMFFIBacktrace);
EXPORT_SYMBOL(TVMFFIBytesFromByteArray);
EXPORT_SYMBOL(TVMFFIErrorCreate);
EXPORT_SYMBOL(TVMFFIErrorCreateWithCauseAndExtraContext);
EXPORT_SYMBOL(TVMFFIErrorMoveFromRaised);
EXPORT_SYMBOL(TVMFFIErrorSetRaised);
EXPORT_SYMBOL(TVMFFIErrorSetRaisedFromCStr);
EXPORT_SYMBOL(TVMFFIErrorSetRaisedFromCStrParts);
EXPORT_SYMBOL(TVMFFIFunctionCall);
EXPORT_SYMBOL(TVMFFIFunctionCreate);
EXPORT_SYMBOL(TVMFFIFunctionGetGlobal);
EXPORT_SYMBOL(TVMFFIFunctionSetGlobal);
EXPORT_SYMBOL(TVMFFIFunctionSetGlobalFromMethodInfo);
EXPORT_SYMBOL(TVMFFIGetTypeInfo);
EXPORT_SYMBOL(TVMFFIStringFromByteArray);
