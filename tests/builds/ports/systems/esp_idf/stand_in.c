/* The functions of ESP-IDF that FreeRTOS does not have: an aligned heap, ends
   of thread-local storage, and the compiler's functions for 64-bit atomics. */

#include <esp_heap_caps.h>
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>
#include <stdbool.h>

/* Stores the address of the heap's block before the aligned memory. */
void *heap_caps_aligned_alloc(size_t alignment, size_t size, uint32_t caps) {
  char *block = (char *)pvPortMalloc(size + 2 * alignment);
  (void)caps;
  if (!block) return NULL;
  ((void **)(block + alignment))[-1] = block;
  return block + alignment;
}

void heap_caps_free(void *pointer) {
  if (pointer) vPortFree(((void **)pointer)[-1]);
}

enum { POINTERS = configNUM_THREAD_LOCAL_STORAGE_POINTERS };

void vTaskSetThreadLocalStoragePointerAndDelCallback(
    TaskHandle_t task, BaseType_t index, void *value,
    TlsDeleteCallbackFunction_t function) {
  vTaskSetThreadLocalStoragePointer(task, index, value);
  vTaskSetThreadLocalStoragePointer(task, index + POINTERS, (void *)function);
}

void stand_in_delete(void *task) {
  int i;
  for (i = 0; i < POINTERS; ++i) {
    void *value = pvTaskGetThreadLocalStoragePointer((TaskHandle_t)task, i);
    TlsDeleteCallbackFunction_t function =
        (TlsDeleteCallbackFunction_t)pvTaskGetThreadLocalStoragePointer(
            (TaskHandle_t)task, i + POINTERS);
    if (function) function(i, value);
  }
}

/* -------- 64-bit atomics: the compiler calls these functions -------- */

#define ATOMIC(function, parameters, change) \
  uint64_t function parameters {             \
    uint64_t old;                            \
    (void)order;                             \
    vPortEnterCritical();                    \
    old = *(volatile uint64_t *)p;           \
    change;                                  \
    vPortExitCritical();                     \
    return old;                              \
  }

ATOMIC(__atomic_load_8, (const volatile void *p, int order), (void)0)
ATOMIC(__atomic_fetch_add_8, (volatile void *p, uint64_t n, int order),
       *(volatile uint64_t *)p = old + n)
ATOMIC(__atomic_fetch_sub_8, (volatile void *p, uint64_t n, int order),
       *(volatile uint64_t *)p = old - n)

bool __atomic_compare_exchange_8(volatile void *p, void *expected, uint64_t now,
                                 bool weak, int order, int failure) {
  uint64_t *was = (uint64_t *)expected;
  uint64_t old;
  bool equal;
  (void)weak, (void)order, (void)failure;
  vPortEnterCritical();
  old = *(volatile uint64_t *)p;
  equal = old == *was;
  if (equal) *(volatile uint64_t *)p = now;
  vPortExitCritical();
  *was = old;
  return equal;
}
