#ifndef STAND_IN_TASK_H_
#define STAND_IN_TASK_H_

#include <task.h>

typedef void (*TlsDeleteCallbackFunction_t)(int index, void *value);

/* Sets a pointer of thread-local storage, and the function to call with the
   pointer when the task is deleted. */
void vTaskSetThreadLocalStoragePointerAndDelCallback(
    TaskHandle_t task, BaseType_t index, void *value,
    TlsDeleteCallbackFunction_t function);

#endif
