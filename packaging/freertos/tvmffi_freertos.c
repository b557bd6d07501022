/* The functions behind the hooks of tvmffi_freertos.h. Empty in a folder of
   several ports if the program has another one. */

#include "tvmffi.h"

#if defined(TVMFFI_FREERTOS_H_)
#if defined(ESP_PLATFORM)
#include <esp_heap_caps.h>
#include <freertos/semphr.h>
#else
#include <semphr.h>
#endif

/* -------- Memory -------- */

#if defined(ESP_PLATFORM)
/* ESP-IDF's malloc aligns to 4 bytes. */
void *tvmffi_freertos_malloc(size_t size) {
  return heap_caps_aligned_alloc(8, size, MALLOC_CAP_DEFAULT);
}

void tvmffi_freertos_free(void *pointer) { heap_caps_free(pointer); }
#else
#if portBYTE_ALIGNMENT < 8
#error "tvmffi: pvPortMalloc must align to 8 bytes or more"
#endif
void *tvmffi_freertos_malloc(size_t size) { return pvPortMalloc(size); }

void tvmffi_freertos_free(void *pointer) { vPortFree(pointer); }
#endif

static int tvmffi_freertos_has_started(void) {
  return xTaskGetSchedulerState() != taskSCHEDULER_NOT_STARTED;
}

/* Waits for memory. Before the scheduler starts, no task can free any. */
static void *tvmffi_freertos_wait_for(size_t size) {
  void *memory;
  while (!(memory = tvmffi_freertos_malloc(size)))
    if (tvmffi_freertos_has_started()) vTaskDelay(1);
  return memset(memory, 0, size);
}

/* -------- The mutex and critical sections -------- */

#if defined(ESP_PLATFORM)
static portMUX_TYPE tvmffi_freertos_spinlock = portMUX_INITIALIZER_UNLOCKED;
#define TVMFFI_FREERTOS_ENTER() portENTER_CRITICAL(&tvmffi_freertos_spinlock)
#define TVMFFI_FREERTOS_LEAVE() portEXIT_CRITICAL(&tvmffi_freertos_spinlock)
#else
#define TVMFFI_FREERTOS_ENTER() taskENTER_CRITICAL()
#define TVMFFI_FREERTOS_LEAVE() taskEXIT_CRITICAL()

uintptr_t tvmffi_freertos_mask(void) {
  TVMFFI_FREERTOS_ENTER();
  return 0;
}

void tvmffi_freertos_unmask(uintptr_t was) {
  (void)was;
  TVMFFI_FREERTOS_LEAVE();
}
#endif

static StaticSemaphore_t tvmffi_freertos_mutex_memory;
static SemaphoreHandle_t tvmffi_freertos_mutex;

/* Creates the mutex at first use, since nothing runs before main. */
static SemaphoreHandle_t tvmffi_freertos_the_mutex(void) {
  SemaphoreHandle_t known =
      __atomic_load_n(&tvmffi_freertos_mutex, __ATOMIC_ACQUIRE);
  if (known) return known;
  TVMFFI_FREERTOS_ENTER();
  if (!tvmffi_freertos_mutex)
    __atomic_store_n(&tvmffi_freertos_mutex,
                     xSemaphoreCreateMutexStatic(&tvmffi_freertos_mutex_memory),
                     __ATOMIC_RELEASE);
  TVMFFI_FREERTOS_LEAVE();
  return tvmffi_freertos_mutex;
}

/* Before the scheduler starts, only one thread runs. */
void tvmffi_freertos_lock(void) {
  if (tvmffi_freertos_has_started())
    (void)xSemaphoreTake(tvmffi_freertos_the_mutex(), portMAX_DELAY);
}

void tvmffi_freertos_unlock(void) {
  if (tvmffi_freertos_has_started())
    (void)xSemaphoreGive(tvmffi_freertos_the_mutex());
}

/* A task of lower priority can run as well. */
void tvmffi_freertos_yield(void) {
  if (tvmffi_freertos_has_started()) vTaskDelay(1);
}

/* -------- The state of a task -------- */

typedef struct tvmffi_freertos_variable {
  struct tvmffi_freertos_variable *next;
  const void *key;
  uint64_t memory[];
} tvmffi_freertos_variable;

typedef struct {
  tvmffi_freertos_variable *variables;
  void (*end)(void *state);
  void *state;
} tvmffi_freertos_task;

/* The state of main, before the scheduler starts. */
static tvmffi_freertos_task tvmffi_freertos_main;

static void tvmffi_freertos_finish(tvmffi_freertos_task *ending);

#if defined(ESP_PLATFORM)
static void tvmffi_freertos_on_delete(int index, void *state) {
  (void)index;
  if (state) tvmffi_freertos_finish((tvmffi_freertos_task *)state);
}
#endif

static tvmffi_freertos_task *tvmffi_freertos_get_state(void *task) {
  return (tvmffi_freertos_task *)pvTaskGetThreadLocalStoragePointer(
      (TaskHandle_t)task, TVMFFI_FREERTOS_INDEX);
}

static void tvmffi_freertos_set_state(void *task, tvmffi_freertos_task *state) {
#if defined(ESP_PLATFORM)
  vTaskSetThreadLocalStoragePointerAndDelCallback((TaskHandle_t)task,
                                                  TVMFFI_FREERTOS_INDEX, state,
                                                  tvmffi_freertos_on_delete);
#else
  vTaskSetThreadLocalStoragePointer((TaskHandle_t)task, TVMFFI_FREERTOS_INDEX,
                                    state);
#endif
}

static tvmffi_freertos_task *tvmffi_freertos_own_state(void) {
  tvmffi_freertos_task *own;
  if (!tvmffi_freertos_has_started()) return &tvmffi_freertos_main;
  own = tvmffi_freertos_get_state(NULL);
  if (!own) {
    own = (tvmffi_freertos_task *)tvmffi_freertos_wait_for(sizeof(*own));
    tvmffi_freertos_set_state(NULL, own);
  }
  return own;
}

void *tvmffi_freertos_local(const void *key, size_t size) {
  tvmffi_freertos_task *own = tvmffi_freertos_own_state();
  tvmffi_freertos_variable *v = own->variables;
  while (v && v->key != key) v = v->next;
  if (!v) {
    v = (tvmffi_freertos_variable *)tvmffi_freertos_wait_for(sizeof(*v) + size);
    v->key = key;
    v->next = own->variables;
    own->variables = v;
  }
  return v->memory;
}

int tvmffi_freertos_at_end(void (*function)(void *), void *state) {
  tvmffi_freertos_task *own = tvmffi_freertos_own_state();
  own->end = function;
  own->state = state;
  return 1;
}

/* The runtime frees the state of the running task. So the running task, which
   may be the idle task, has the ending state for a moment. */
static void tvmffi_freertos_finish(tvmffi_freertos_task *ending) {
  tvmffi_freertos_task *own = tvmffi_freertos_get_state(NULL);
  tvmffi_freertos_variable *v;
  int rounds = 4; /* a deleter may raise an error, which needs another round */
  tvmffi_freertos_set_state(NULL, ending);
  while (ending->end && rounds--) {
    void (*end)(void *) = ending->end;
    ending->end = NULL;
    end(ending->state);
  }
  tvmffi_freertos_set_state(NULL, own);
  while ((v = ending->variables)) {
    ending->variables = v->next;
    tvmffi_freertos_free(v);
  }
  tvmffi_freertos_free(ending);
}

void tvmffi_freertos_end(void *task) {
  tvmffi_freertos_task *ending = tvmffi_freertos_get_state(task);
  if (!ending) return;
  tvmffi_freertos_set_state(task, NULL);
  tvmffi_freertos_finish(ending);
}
#endif
