/* Two tasks that use the runtime at once, on FreeRTOS. Each ends with a pending
   error: the first deletes itself, the second is deleted by main's task. The
   heap must then be as before. */

#include "FreeRTOS.h"
#include "board.h"
#include "semphr.h"
#include "task.h"
#include "work.h"

enum { ROUNDS = 400, STACK = 2048 /* words */ };

static void print(const char *name, unsigned value) {
  char text[12], *at = text + sizeof(text) - 1;
  *at = 0;
  do *--at = (char)('0' + value % 10);
  while (value /= 10);
  board_write(name);
  board_write(" ");
  board_write(at);
  board_write(" ");
}

void check_failed(const char *what) {
  taskDISABLE_INTERRUPTS();
  board_write("failed: ");
  board_write(what);
  board_write("\n");
  for (;;) {
  }
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name) {
  (void)task;
  check_failed(name);
}

unsigned check_taken;
static SemaphoreHandle_t ended;
static int wrong[3]; /* results of main's task and of the workers */
static unsigned switches; /* both tasks add to it */

static void pause_task(void) {
  __atomic_fetch_add(&switches, 1, __ATOMIC_RELAXED);
  vTaskDelay(1);
}

static void worker(void *argument) {
  int who = (int)(intptr_t)argument;
  wrong[who] += work(who, ROUNDS, pause_task) + !work_raise(who);
  xSemaphoreGive(ended);
  if (who == 1) vTaskDelete(NULL);
  vTaskSuspend(NULL);
}

/* Runs both tasks to their end. Returns the bytes free in the heap. */
static size_t run_tasks(void) {
  TaskHandle_t second;
  xTaskCreate(worker, "1", STACK, (void *)1, 1, NULL);
  xTaskCreate(worker, "2", STACK, (void *)2, 1, &second);
  xSemaphoreTake(ended, portMAX_DELAY);
  xSemaphoreTake(ended, portMAX_DELAY);
  while (eTaskGetState(second) != eSuspended) vTaskDelay(1);
  vTaskDelete(second);
  vTaskDelay(2); /* the idle task frees the first task */
  return xPortGetFreeHeapSize();
}

static void run(void *argument) {
  size_t first, second;
  (void)argument;
  wrong[0] += !work_raise(3);
  first = run_tasks(); /* makes the tables of the runtime, too */
  second = run_tasks();
  wrong[0] += !work_is_own_error(3) + !work_is_count_right();
  board_write("done ");
  print("wrong", (unsigned)(wrong[0] + wrong[1] + wrong[2]));
  print("leaked", (unsigned)(first - second));
  print("switches", switches);
  print("taken", check_taken);
  print("heap",
        (unsigned)(configTOTAL_HEAP_SIZE - xPortGetMinimumEverFreeHeapSize()));
  board_write("\n");
  vTaskSuspend(NULL);
}

int main(void) {
  if (work_register() || !work_raise(0)) check_failed("main registers");
  ended = xSemaphoreCreateCounting(2, 0);
  xTaskCreate(run, "run", STACK, NULL, 2, NULL);
  if (!work_is_own_error(0)) check_failed("main's error");
  vTaskStartScheduler();
  check_failed("the scheduler ended");
  return 0;
}
