#include "tasks.h"

#include "board.h"

/* The registers of the processor that this file uses. */
#define TIMER_CONTROL (*(volatile uint32_t *)0xE000E010)
#define TIMER_RELOAD (*(volatile uint32_t *)0xE000E014)
#define INTERRUPT_STATE (*(volatile uint32_t *)0xE000ED04)
#define HANDLER_PRIORITY (*(volatile uint32_t *)0xE000ED20)
enum { CYCLES_PER_MILLISECOND = 25000 };
#define PAINT 0xA5A5A5A5u

/* Memory for the runtime's state. The runtime uses one key, and a second one in
   a program that defines types. */
enum { KEYS = 2, KEY_SIZE = 96 };
typedef struct {
  const void *key[KEYS];
  uint64_t memory[KEYS][KEY_SIZE / 8];
} task_memory;

typedef struct {
  uint32_t *stack; /* stack pointer while the task does not run */
  task_memory memory;
} task;

static task foreground, background;
static task *running = &background;
#ifndef FOREGROUND_STACK
#define FOREGROUND_STACK 1536
#endif
enum { INTERRUPT_STACK = 512 };
static uint64_t foreground_stack[FOREGROUND_STACK / 8];
static uint64_t interrupt_stack[INTERRUPT_STACK / 8];
static volatile uint32_t now, wake; /* `wake`: when the foreground is due */
static volatile int locked;

uint32_t task_time(void) { return now; }

static int is_due(uint32_t time) { return (int32_t)(now - time) >= 0; }

/* Requests PendSV, the interrupt of lowest priority, which switches tasks. */
static void request_switch(void) {
  INTERRUPT_STATE = 1u << 28;
  __asm__ volatile("dsb\n isb" : : : "memory");
}

void board_tick(void) {
  ++now;
  request_switch();
}

/* Chooses the task that runs next. Takes the stack pointer of the task that ran
   and returns that of the next task. */
__attribute__((used)) uint32_t *task_choose(uint32_t *stack) {
  running->stack = stack;
  if (!locked) running = is_due(wake) ? &foreground : &background;
  return running->stack;
}

/* The processor saves the other registers of a task on its stack. 0xFFFFFFFD
   means: return to a task. */
__attribute__((naked)) void board_switch(void) {
  __asm__ volatile(
      "mrs r0, psp\n"
      "stmdb r0!, {r4-r11}\n"
      "bl task_choose\n"
      "ldmia r0!, {r4-r11}\n"
      "msr psp, r0\n"
      "mvn lr, #2\n"
      "bx lr\n");
}

void task_start(void (*entry)(void)) {
  enum { STACK = FOREGROUND_STACK / 4 };
  uint32_t *stack = (uint32_t *)foreground_stack;
  int i;
  for (i = 0; i < STACK; ++i) stack[i] = PAINT;
  /* Sixteen registers, as board_switch restores them: r4 to r11, then those
     that the processor saved: r0 to r3, r12, lr, pc and the status. */
  stack[STACK - 2] = (uint32_t)(uintptr_t)entry;
  stack[STACK - 1] = 1u << 24; /* Thumb code */
  foreground.stack = stack + STACK - 16;
  HANDLER_PRIORITY = 0xFFFF0000; /* the lowest for both interrupts */
  /* The caller keeps its stack, as a task. Interrupts get another one. */
  __asm__ volatile(
      "mov r0, sp\n"
      "msr psp, r0\n"
      "movs r0, #2\n"
      "msr control, r0\n"
      "isb\n"
      "msr msp, %0\n"
      :
      : "r"(interrupt_stack + INTERRUPT_STACK / 8)
      : "r0", "memory");
  TIMER_RELOAD = CYCLES_PER_MILLISECOND - 1;
  TIMER_CONTROL = 7; /* on, with interrupts, by the processor's clock */
}

void task_sleep(uint32_t milliseconds) {
  uint32_t until = now + milliseconds;
  if (running == &foreground) {
    wake = until;
    request_switch();
  } else {
    while (!is_due(until)) __asm__ volatile("wfi");
  }
}

void task_lock(void) { locked = 1; }

/* The foreground task, if there is one yet, may have become due. */
void task_unlock(void) {
  locked = 0;
  if (foreground.stack) request_switch();
}

uintptr_t task_mask(void) {
  uintptr_t was;
  __asm__ volatile("mrs %0, primask\n cpsid i" : "=r"(was) : : "memory");
  return was;
}

void task_unmask(uintptr_t was) {
  __asm__ volatile("msr primask, %0" : : "r"(was) : "memory");
}

void *task_local(const void *key, size_t size) {
  task_memory *own = &running->memory;
  int i = 0;
  while (i < KEYS && own->key[i] && own->key[i] != key) ++i;
  /* The fault handler reports a program that needs more. */
  if (i == KEYS || size > KEY_SIZE) __builtin_trap();
  own->key[i] = key;
  return own->memory[i];
}

unsigned task_stack_size(void) { return FOREGROUND_STACK; }

unsigned task_stack_most_used(void) {
  const uint32_t *p = (const uint32_t *)foreground_stack;
  unsigned unused = 0;
  while (p[unused] == PAINT) ++unused;
  return FOREGROUND_STACK - 4 * unused;
}
