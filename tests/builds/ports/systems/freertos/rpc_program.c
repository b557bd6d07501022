/* A task that serves RPC, and two that use the runtime at the same time. */

#include "FreeRTOS.h"
#include "board.h"
#include "rpc.h"
#include "task.h"
#include "work.h"

enum { ROUNDS = 16, STACK = 2048 /* words */ };

void check_failed(const char *what) {
  (void)what;
  taskDISABLE_INTERRUPTS();
  board_write("failed: ");
  board_write(what);
  for (;;) {
  }
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name) {
  (void)task;
  check_failed(name);
}

unsigned check_taken;
static volatile int32_t done[2], wrong[2];

static void pause_task(void) { vTaskDelay(1); }

static void worker(void *argument) {
  int who = (int)(intptr_t)argument;
  for (;;) {
    wrong[who - 1] += work(who, ROUNDS, pause_task);
    ++done[who - 1];
  }
}

/* Returns how often a worker has done its work. */
TVMFFI_FUNC(rpc_done, int64, (int64, who)) {
  TVMFFI_RETURN(done[who == 2]);
}

/* Returns how many results of the workers were wrong. */
TVMFFI_FUNC(rpc_wrong, int64) { TVMFFI_RETURN(wrong[0] + wrong[1]); }

TVMFFI_FUNC(rpc_heap, int64) { TVMFFI_RETURN((int64_t)xPortGetFreeHeapSize()); }

TVMFFI_FUNC(rpc_echo, any, (any, x)) { TVMFFI_RETURN(x); }

static int register_all(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("rpc.done", rpc_done));
  TVMFFI_TRY(TVMFFI_REGISTER("rpc.wrong", rpc_wrong));
  TVMFFI_TRY(TVMFFI_REGISTER("rpc.heap", rpc_heap));
  TVMFFI_TRY(TVMFFI_REGISTER("rpc.echo", rpc_echo));
  TVMFFI_TRY(work_register());
  return rpc_register();
}

int main(void) {
  if (register_all()) check_failed("main registers");
  xTaskCreate(worker, "1", STACK, (void *)1, 1, NULL);
  xTaskCreate(worker, "2", STACK, (void *)2, 1, NULL);
  xTaskCreate(rpc_task, "rpc", STACK, NULL, 1, NULL);
  vTaskStartScheduler();
  check_failed("the scheduler ended");
  return 0;
}
