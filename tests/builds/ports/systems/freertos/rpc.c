/* The RPC server of rpc_program.c, which a board of your own can have like
   this: the session waits in `get`, where other tasks run. */

#include "rpc.h"

#include "FreeRTOS.h"
#include "board.h"
#include "task.h"

/* The clock of the time evaluator and of `session_timeout`. */
#define TVMFFI_RPC_CLOCK_NS() \
  ((uint64_t)xTaskGetTickCount() * (1000000000u / configTICK_RATE_HZ))
#define TVMFFI_RPC_SLEEP_MS(ms) vTaskDelay(pdMS_TO_TICKS((TickType_t)(ms)))
#define TVMFFI_RPC_MAX_PACKET 2048
#define TVMFFI_RPC_MAX_ARGS 16
#define TVMFFI_RPC_MAX_NDIM 8
#define TVMFFI_RPC_IMPLEMENTATION
#include "tvmffi_rpc.h"
#include "tvmffi_rpc_backend.h"
#include "tvmffi_rpc_serial.h"

static tvmffi_rpc_serial line;

static void put_byte(void *user, unsigned char byte) {
  (void)user;
  board_put((char)byte);
}

/* With an interrupt of the UART, this is xStreamBufferReceive. */
static int get_byte(void *user) {
  (void)user;
  if (board_has_input()) return (unsigned char)board_read();
  taskYIELD();
  return -1;
}

static int count_task(int task, tvmffi_rpc_parallel_env *env, void *data) {
  int64_t *tasks = (int64_t *)data;
  *tasks += task + env->num_task;
  return TVMBackendParallelBarrier(task, env);
}

/* Runs a parallel loop, as a compiled kernel does; returns 1 for one task. */
TVMFFI_FUNC(rpc_parallel, int64) {
  int64_t tasks = 0;
  TVMFFI_TRY(TVMBackendParallelLaunch(count_task, &tasks, 4));
  TVMFFI_RETURN(tasks);
}

int rpc_register(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("rpc.parallel", rpc_parallel));
  line.put = put_byte;
  line.get = get_byte;
  line.options.transfer_size = 1024;
  return tvmffi_rpc_serial_start(&line);
}

void rpc_task(void *none) {
  (void)none;
  for (;;) {
    int byte = get_byte(NULL);
    int code = byte < 0 ? tvmffi_rpc_serial_poll(&line)
                        : tvmffi_rpc_serial_receive(&line, (unsigned char)byte);
    if (code) tvmffi_error_clear(); /* the client has been sent the error */
  }
}
