/* The functions behind the hooks of tvmffi_zephyr.h. */

#include "tvmffi.h"

/* k_malloc aligns to the size of a pointer. */
void *tvmffi_zephyr_malloc(size_t size) { return k_aligned_alloc(8, size); }

/* -------- The mutex and critical sections -------- */

static K_MUTEX_DEFINE(tvmffi_zephyr_mutex);

void tvmffi_zephyr_lock(void) {
  (void)k_mutex_lock(&tvmffi_zephyr_mutex, K_FOREVER);
}

void tvmffi_zephyr_unlock(void) { (void)k_mutex_unlock(&tvmffi_zephyr_mutex); }

static struct k_spinlock tvmffi_zephyr_spinlock;

uintptr_t tvmffi_zephyr_mask(void) {
  return (uintptr_t)k_spin_lock(&tvmffi_zephyr_spinlock).key;
}

void tvmffi_zephyr_unmask(uintptr_t was) {
  k_spinlock_key_t key;
  key.key = (int)was;
  k_spin_unlock(&tvmffi_zephyr_spinlock, key);
}

/* -------- The state of a thread -------- */

typedef struct tvmffi_zephyr_variable {
  struct tvmffi_zephyr_variable *next;
  const void *key;
  uint64_t memory[];
} tvmffi_zephyr_variable;

static Z_THREAD_LOCAL struct {
  tvmffi_zephyr_variable *variables;
  void (*end)(void *state);
  void *state;
} tvmffi_zephyr_own;

void *tvmffi_zephyr_local(const void *key, size_t size) {
  tvmffi_zephyr_variable *v = tvmffi_zephyr_own.variables;
  while (v && v->key != key) v = v->next;
  if (!v) {
    size += sizeof(*v);
    while (!(v = (tvmffi_zephyr_variable *)tvmffi_zephyr_malloc(size)))
      (void)k_sleep(K_TICKS(1));
    memset(v, 0, size);
    v->key = key;
    v->next = tvmffi_zephyr_own.variables;
    tvmffi_zephyr_own.variables = v;
  }
  return v->memory;
}

int tvmffi_zephyr_at_end(void (*function)(void *), void *state) {
  tvmffi_zephyr_own.end = function;
  tvmffi_zephyr_own.state = state;
  return 1;
}

void tvmffi_zephyr_end(void) {
  tvmffi_zephyr_variable *v;
  int rounds = 4; /* a deleter may raise an error, which needs another round */
  while (tvmffi_zephyr_own.end && rounds--) {
    void (*end)(void *) = tvmffi_zephyr_own.end;
    tvmffi_zephyr_own.end = NULL;
    end(tvmffi_zephyr_own.state);
  }
  while ((v = tvmffi_zephyr_own.variables)) {
    tvmffi_zephyr_own.variables = v->next;
    k_free(v);
  }
}
