/* The runtime, and the kernel functions behind its hooks: memory, a mutex, and
   task-local variables. */

#include <linux/export.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#define FFI_RUNTIME 1
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

/* -------- Functions of modules -------- */

struct ffi_function {
  struct list_head list;
  struct module *owner; /* NULL once it is unloaded */
  TVMFFISafeCallType call;
  void (*deleter)(void *self); /* NULL once it has run */
  void *self, *object;
  int users;      /* running calls and deleters, for which unloading waits */
  int references; /* of the object, and of the unloading */
};

static LIST_HEAD(ffi_functions);
static LIST_HEAD(ffi_ended_functions); /* of unloaded modules */
static DEFINE_SPINLOCK(ffi_functions_lock);
static DECLARE_WAIT_QUEUE_HEAD(ffi_functions_idle);

/* Returns the module, whose code may then run until ffi_function_leave, or
   NULL. A module that is being unloaded runs its deleters and no calls. */
static struct module *ffi_function_enter(struct ffi_function *f, int is_call) {
  struct module *owner;

  spin_lock(&ffi_functions_lock);
  owner = f->owner;
  if (owner && is_call && !try_module_get(owner)) owner = NULL;
  if (owner) ++f->users;
  spin_unlock(&ffi_functions_lock);
  return owner;
}

static void ffi_function_leave(struct ffi_function *f) {
  spin_lock(&ffi_functions_lock);
  if (!--f->users) wake_up_all(&ffi_functions_idle);
  spin_unlock(&ffi_functions_lock);
}

static void ffi_function_put(struct ffi_function *f) {
  int references;

  spin_lock(&ffi_functions_lock);
  references = --f->references;
  if (!references) list_del(&f->list);
  spin_unlock(&ffi_functions_lock);
  if (!references) ffi_free(f);
}

static void ffi_function_run_deleter(struct ffi_function *f) {
  void (*deleter)(void *self) = xchg(&f->deleter, NULL);

  if (deleter) deleter(f->self);
}

static void ffi_function_delete(void *self) {
  struct ffi_function *f = self;

  if (ffi_function_enter(f, 0)) {
    ffi_function_run_deleter(f);
    ffi_function_leave(f);
  }
  ffi_function_put(f);
}

static int ffi_function_call(void *self, const TVMFFIAny *args, int32_t n,
                             TVMFFIAny *result) {
  struct ffi_function *f = self;
  struct module *owner = ffi_function_enter(f, 1);
  int code;

  if (!owner)
    return TVMFFI_RAISE("RuntimeError", "The function's module is unloaded");
  code = f->call(f->self, args, n, result);
  module_put(owner);
  ffi_function_leave(f);
  return code;
}

int ffi_function_create_for(struct module *owner, void *self,
                            TVMFFISafeCallType call,
                            void (*deleter)(void *self), void **out) {
  struct ffi_function *f = ffi_alloc(sizeof(*f));

  if (!f) return TVMFFI_RAISE("MemoryError", "No memory for a function");
  if (TVMFFIFunctionCreate(f, ffi_function_call, ffi_function_delete, out)) {
    ffi_free(f);
    return -1;
  }
  f->owner = owner;
  f->call = call;
  f->deleter = deleter;
  f->self = self;
  f->object = *out;
  f->users = 0;
  f->references = 1;
  spin_lock(&ffi_functions_lock);
  list_add(&f->list, &ffi_functions);
  spin_unlock(&ffi_functions_lock);
  return 0;
}
EXPORT_SYMBOL(ffi_function_create_for);

/* The functions of the runtime's own module need no reference, because nobody
   can call them without that module. */
int ffi_function_create(void *self, TVMFFISafeCallType call,
                        void (*deleter)(void *self), void **out) {
  return TVMFFIFunctionCreate(self, call, deleter, out);
}

/* Ends a function of the module, and waits for its calls. Returns the function,
   with a reference, or NULL if the module has no more. */
static struct ffi_function *ffi_function_end(struct module *owner) {
  struct ffi_function *f, *found = NULL;

  spin_lock(&ffi_functions_lock);
  list_for_each_entry(f, &ffi_functions, list) {
    if (f->owner != owner) continue;
    found = f;
    break;
  }
  if (found) {
    found->owner = NULL;
    ++found->references;
    list_move(&found->list, &ffi_ended_functions);
  }
  spin_unlock(&ffi_functions_lock);
  if (found) wait_event(ffi_functions_idle, !READ_ONCE(found->users));
  return found;
}

/* Tells whether an object is a function whose module is unloaded. */
static int ffi_is_ended(const void *object) {
  struct ffi_function *f;
  int is_ended = 0;

  spin_lock(&ffi_functions_lock);
  list_for_each_entry(f, &ffi_ended_functions, list) if (f->object == object)
      is_ended = 1;
  spin_unlock(&ffi_functions_lock);
  return is_ended;
}

/* Removes the names of functions whose module is unloaded. */
static int ffi_remove_names(void) {
  TVMFFIObject *names;
  int64_t i, n = 0;
  TVMFFI_SCOPE;

  TVMFFI_TRY(tvmffi_call("ffi.FunctionListGlobalNamesFunctor", &names));
  TVMFFI_TRY(tvmffi_call(names, &n, -1));
  for (i = 0; i < n; ++i) {
    TVMFFIObject *function;
    TVMFFIAny name;
    TVMFFI_SCOPE;

    TVMFFI_TRY(tvmffi_call(names, &name, i));
    TVMFFI_TRY(tvmffi_global_find(name, &function));
    if (function && ffi_is_ended(function))
      TVMFFI_TRY(tvmffi_call("ffi.FunctionRemoveGlobal", NULL, name));
  }
  return 0;
}

/* Ends the functions of a module that is unloaded, or whose init failed. */
static int ffi_module_event(struct notifier_block *block, unsigned long state,
                            void *module) {
  struct ffi_function *f;
  int count = 0;

  if (state != MODULE_STATE_GOING) return NOTIFY_DONE;
  for (; (f = ffi_function_end(module)) != NULL; ++count) {
    ffi_function_run_deleter(f);
    ffi_function_put(f);
  }
  if (count && ffi_remove_names())
    pr_err("ffi: names of an unloaded module are left\n");
  if (count) ffi_task_end();
  return NOTIFY_OK;
}

static struct notifier_block ffi_modules = {.notifier_call = ffi_module_event};

/* -------- The begin and the end -------- */

int ffi_runtime_begin(void) { return register_module_notifier(&ffi_modules); }

void ffi_runtime_end(void) {
  struct list_head *block, *next;
  int count = 0;

  unregister_module_notifier(&ffi_modules);
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
EXPORT_SYMBOL(TVMFFIFunctionGetGlobal);
EXPORT_SYMBOL(TVMFFIFunctionSetGlobal);
EXPORT_SYMBOL(TVMFFIFunctionSetGlobalFromMethodInfo);
EXPORT_SYMBOL(TVMFFIGetTypeInfo);
EXPORT_SYMBOL(TVMFFIStringFromByteArray);
