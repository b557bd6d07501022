/* The board: an MPS2 with a Cortex-M3 (QEMU's mps2-an385). This file starts the
   program and drives the serial line, the first CMSDK UART. For another board,
   replace this file and link.ld. examples/device_shell and
   examples/firmware_rpc use both, too. */

#include "board.h"

#include <stdint.h>

extern uint32_t board_load[], board_data[], board_data_end[];
extern uint32_t board_bss[], board_bss_end[], board_stack[], board_stack_top[];
extern uint32_t board_flash_end[];
typedef void (*board_function)(void);
extern const board_function board_init[], board_init_end[];
int main(void);
void board_reset(void);

typedef struct {
  volatile uint32_t data, state, control, interrupts, divider;
} board_uart;
#define BOARD_UART ((board_uart *)0x40004000)
enum { BOARD_SEND_FULL = 1, BOARD_RECEIVED = 2 };
#define BOARD_PAINT 0xA5A5A5A5u

void board_put(char c) {
  while (BOARD_UART->state & BOARD_SEND_FULL) {
  }
  BOARD_UART->data = (uint8_t)c;
}

void board_write(const char *text) {
  for (; *text; ++text) board_put(*text);
}

int board_has_input(void) { return BOARD_UART->state & BOARD_RECEIVED; }

char board_read(void) {
  while (!board_has_input()) {
  }
  return (char)BOARD_UART->data;
}

static unsigned board_distance(const uint32_t *from, const uint32_t *to) {
  return (unsigned)((uintptr_t)to - (uintptr_t)from);
}

unsigned board_flash_used(void) { return (unsigned)(uintptr_t)board_flash_end; }
unsigned board_static_ram_used(void) {
  return board_distance(board_data, board_bss_end);
}
unsigned board_stack_size(void) {
  return board_distance(board_stack, board_stack_top);
}
unsigned board_stack_most_used(void) {
  const uint32_t *p = board_stack;
  while (*p == BOARD_PAINT) ++p;
  return board_distance(p, board_stack_top);
}

static void board_stop(void) {
  board_write("stopped\n");
  for (;;) __asm__ volatile("wfi");
}

/* The handlers of the system timer, of SVC and of PendSV, for a program that
   has none. */
void board_tick(void) __attribute__((weak, alias("board_stop")));
void board_service(void) __attribute__((weak, alias("board_stop")));
void board_switch(void) __attribute__((weak, alias("board_stop")));

void board_construct(void) {
  const board_function *init = board_init;
  while (init < board_init_end) (*init++)();
}

void board_reset(void) {
  const uint32_t *from = board_load;
  uint32_t *to;
  for (to = board_data; to < board_data_end;) *to++ = *from++;
  for (to = board_bss; to < board_bss_end;) *to++ = 0;
  /* Paints the stack, to measure its use later. Stops short of this function's
     own frame. */
  for (to = board_stack; to < (uint32_t *)__builtin_frame_address(0) - 16;)
    *to++ = BOARD_PAINT;
  BOARD_UART->divider = 16;
  BOARD_UART->control = 3; /* send and receive */
  (void)main();
  board_stop();
}

/* The vector table: the initial stack pointer, then the reset handler, the
   fault handlers and the handlers of SVC, PendSV and the system timer. */
__attribute__((section(".vectors"),
               used)) static const board_function board_vectors[16] = {
    (board_function)(uintptr_t)board_stack_top,
    board_reset,
    board_stop,
    board_stop,
    board_stop,
    board_stop,
    board_stop,
    0,
    0,
    0,
    0,
    board_service,
    0,
    0,
    board_switch,
    board_tick};
