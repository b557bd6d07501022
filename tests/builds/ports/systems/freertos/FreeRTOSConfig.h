/* FreeRTOS on the board of examples/firmware. */

#ifndef FREERTOS_CONFIG_H_
#define FREERTOS_CONFIG_H_

#define configCPU_CLOCK_HZ 25000000
#define configTICK_RATE_HZ 1000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 1
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configMAX_PRIORITIES 4
#define configMINIMAL_STACK_SIZE 1024
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0x20
#define configKERNEL_INTERRUPT_PRIORITY 0xE0
#define configUSE_MUTEXES 1
#define configSUPPORT_STATIC_ALLOCATION 1
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#define configUSE_COUNTING_SEMAPHORES 1
#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define configTOTAL_HEAP_SIZE (96 * 1024)
#define configCHECK_FOR_STACK_OVERFLOW 2
#define INCLUDE_vTaskDelay 1
#define INCLUDE_vTaskDelete 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_eTaskGetState 1
#define INCLUDE_xTaskGetSchedulerState 1

void check_failed(const char *what);
#define configASSERT(x) ((x) ? (void)0 : check_failed(#x))

/* Counts how often a task took a mutex or semaphore. */
extern unsigned check_taken;
#define traceQUEUE_RECEIVE(queue) ((void)++check_taken)

/* The names that the board's vector table has. */
#define vPortSVCHandler board_service
#define xPortPendSVHandler board_switch
#define xPortSysTickHandler board_tick

#if TEST_ESP_IDF
/* Two pointers of thread-local storage and the functions for their ends. */
#define configNUM_THREAD_LOCAL_STORAGE_POINTERS 4
void stand_in_delete(void *task);
#define portCLEAN_UP_TCB(tcb) stand_in_delete(tcb)
#else
#define configNUM_THREAD_LOCAL_STORAGE_POINTERS 1
#if !TEST_NO_CLEAN_UP
void tvmffi_freertos_end(void *task);
#define portCLEAN_UP_TCB(tcb) tvmffi_freertos_end(tcb)
#endif
#endif

#endif
