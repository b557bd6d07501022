/* Two tasks on a Cortex-M core: a foreground task, which runs whenever it does
   not sleep, and the background task, which runs the rest of the time. */

#ifndef TASKS_H_
#define TASKS_H_

#include <stddef.h>
#include <stdint.h>

/* Starts the system timer and the foreground task. The caller continues as the
   background task. `foreground` must not return. */
void task_start(void (*foreground)(void));

/* Returns the time since task_start in milliseconds. */
uint32_t task_time(void);

/* Lets the other task run for some milliseconds. */
void task_sleep(uint32_t milliseconds);

/* Prevent a switch to the other task. Not recursive. Not for interrupts. */
void task_lock(void);
void task_unlock(void);

/* Masks interrupts, and returns the earlier mask for task_unmask. */
uintptr_t task_mask(void);
void task_unmask(uintptr_t was);

/* Returns the memory that the running task has for `key`: zeroed at first, and
   always at the same address. Not for interrupts. */
void *task_local(const void *key, size_t size);

/* Return the size of the foreground task's stack, and how much of it was in use
   at most. */
unsigned task_stack_size(void);
unsigned task_stack_most_used(void);

#endif
