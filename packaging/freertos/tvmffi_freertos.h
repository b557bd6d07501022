/* The port of tvmffi.h to FreeRTOS and to ESP-IDF. Compile tvmffi.c, which has
   the runtime, and tvmffi_freertos.c.

   FreeRTOSConfig.h needs configUSE_MUTEXES, configSUPPORT_STATIC_ALLOCATION,
   INCLUDE_xTaskGetSchedulerState and INCLUDE_vTaskDelay as 1, and a pointer of
   thread-local storage for the runtime: the last one, unless you define
   TVMFFI_FREERTOS_INDEX as another index.

   Call the runtime from tasks, or from main before the scheduler starts; never
   from an interrupt handler or while the scheduler is suspended. A task that
   uses the runtime for the first time waits until the heap has memory for the
   task's state. */

#ifndef TVMFFI_FREERTOS_H_
#define TVMFFI_FREERTOS_H_

#if defined(ESP_PLATFORM)
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>
#else
#include <FreeRTOS.h>
#include <task.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if configUSE_MUTEXES != 1 || configSUPPORT_STATIC_ALLOCATION != 1
#error "tvmffi: set configUSE_MUTEXES and configSUPPORT_STATIC_ALLOCATION to 1"
#endif

/* In ESP-IDF, POSIX threads use index 0. */
#ifndef TVMFFI_FREERTOS_INDEX
#define TVMFFI_FREERTOS_INDEX (configNUM_THREAD_LOCAL_STORAGE_POINTERS - 1)
#endif
#if defined(ESP_PLATFORM) && configNUM_THREAD_LOCAL_STORAGE_POINTERS < 2
#error "tvmffi: set CONFIG_FREERTOS_THREAD_LOCAL_STORAGE_POINTERS to 2 or more"
#elif configNUM_THREAD_LOCAL_STORAGE_POINTERS < 1
#error "tvmffi: set configNUM_THREAD_LOCAL_STORAGE_POINTERS to 1 or more"
#endif

#define TVMFFI_FREESTANDING 1
#ifndef TVMFFI_SHARE_INTERFACE
#define TVMFFI_SHARE_INTERFACE 1
#endif
#define TVMFFI_NO_OWN_STRING 1
#define TVMFFI_NO_THREADS 0
#ifndef TVMFFI_MESSAGE_SIZE
#define TVMFFI_MESSAGE_SIZE 128
#endif

#if defined(__cplusplus)
extern "C" {
#endif
void *tvmffi_freertos_malloc(size_t size);
void tvmffi_freertos_free(void *pointer);
void tvmffi_freertos_lock(void);
void tvmffi_freertos_unlock(void);
void tvmffi_freertos_yield(void);
void *tvmffi_freertos_local(const void *key, size_t size);
int tvmffi_freertos_at_end(void (*function)(void *), void *state);
uintptr_t tvmffi_freertos_mask(void);
void tvmffi_freertos_unmask(uintptr_t was);

/* Frees the runtime's state of a task, among it the task's pending error. NULL
   is the calling task; another task must not be running. ESP-IDF calls this
   when a task is deleted. Elsewhere a task calls this before it deletes itself,
   or FreeRTOSConfig.h has:

     void tvmffi_freertos_end(void *task);
     #define portCLEAN_UP_TCB(tcb) tvmffi_freertos_end(tcb)

   The deleters of objects in an error that is pending then run in the idle
   task, and must not block. */
void tvmffi_freertos_end(void *task);
#if defined(__cplusplus)
}
#endif

#define TVMFFI_MALLOC(size) tvmffi_freertos_malloc(size)
#define TVMFFI_FREE(pointer) tvmffi_freertos_free(pointer)
#define TVMFFI_LOCK() tvmffi_freertos_lock()
#define TVMFFI_UNLOCK() tvmffi_freertos_unlock()
#define TVMFFI_YIELD() tvmffi_freertos_yield()
#define TVMFFI_THREAD_LOCAL(key, size) tvmffi_freertos_local(key, size)
#define TVMFFI_AT_THREAD_END(function, state) \
  tvmffi_freertos_at_end(function, state)

/* For a processor without 64-bit atomic instructions. ESP-IDF has functions for
   them. */
#if !defined(ESP_PLATFORM) && __GCC_ATOMIC_LLONG_LOCK_FREE != 2
#define TVMFFI_ATOMIC_ENTER() tvmffi_freertos_mask()
#define TVMFFI_ATOMIC_LEAVE(was) tvmffi_freertos_unmask(was)
#endif

#endif
