/* A stand-in for ESP-IDF: FreeRTOS with the differences that
   packaging/freertos/tvmffi_freertos.c depends on. Only for that file. */

#ifndef STAND_IN_FREERTOS_H_
#define STAND_IN_FREERTOS_H_

#include <FreeRTOS.h>

/* The other two pointers of a task hold the functions for their ends. */
#undef configNUM_THREAD_LOCAL_STORAGE_POINTERS
#ifdef STAND_IN_POINTERS
#define configNUM_THREAD_LOCAL_STORAGE_POINTERS STAND_IN_POINTERS
#else
#define configNUM_THREAD_LOCAL_STORAGE_POINTERS 2
#endif

typedef int portMUX_TYPE;
#define portMUX_INITIALIZER_UNLOCKED 0
#undef portENTER_CRITICAL
#undef portEXIT_CRITICAL
#define portENTER_CRITICAL(mux) ((void)(mux), vPortEnterCritical())
#define portEXIT_CRITICAL(mux) ((void)(mux), vPortExitCritical())

#endif
