/* The port of tvmffi.h to Arduino and PlatformIO: one thread, the one that
   calls loop. On an ESP32 whose tasks have a pointer of thread-local storage
   for the runtime (CONFIG_FREERTOS_THREAD_LOCAL_STORAGE_POINTERS of 2 or more),
   all tasks. */

#if defined(ESP_PLATFORM)
#include <freertos/FreeRTOS.h>
#endif

#if defined(ESP_PLATFORM) && configNUM_THREAD_LOCAL_STORAGE_POINTERS >= 2
#include "tvmffi_freertos.h"
#else
#include "tvmffi_one_thread.h"
#endif
