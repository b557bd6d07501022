/* The board: an MPS2 with a Cortex-M3 (QEMU's mps2-an385). For another one this
   file and link.ld are written anew. Starts the program, and has the serial
   line: the first UART of the CMSDK. */

#include "board.h"

#include <stdint.h>

extern uint32_t board_load[], board_data[], board_data_end[];
extern uint32_t board_bss[], board_bss_end[], board_stack[], board_stack_top[];
extern uint32_t board_flash_end[];
int main(void);
void board_reset(void);

typedef struct {
  volatile uint32_t data, state, control, interrupts, divider;
} board_uart;
#define BOARD_UART ((board_uart *)0x40004000)
enum { BOARD_SEND_FULL = 1, BOARD_RECEIVED = 2 };
#define BOARD_PAINT 0xA5A5A5A5u

void board_write(const char *text) {
  for (; *text; ++text) {
    while (BOARD_UART->state & BOARD_SEND_FULL) {
    }
    BOARD_UART->data = (uint8_t)*text;
  }
}

char board_read(void) {
  while (!(BOARD_UART->state & BOARD_RECEIVED)) {
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

void board_reset(void) {
  const uint32_t *from = board_load;
  uint32_t *to;
  for (to = board_data; to < board_data_end;) *to++ = *from++;
  for (to = board_bss; to < board_bss_end;) *to++ = 0;
  /* From the bottom up to here, less what this function itself may use. */
  for (to = board_stack; to < (uint32_t *)__builtin_frame_address(0) - 16;)
    *to++ = BOARD_PAINT;
  BOARD_UART->divider = 16;
  BOARD_UART->control = 3; /* send and receive */
  (void)main();
  board_stop();
}

/* The processor begins with these: the stack, then what to run. */
typedef void (*board_vector)(void);
__attribute__((section(".vectors"),
               used)) static const board_vector board_vectors[16] = {
    (board_vector)(uintptr_t)board_stack_top,
    board_reset,
    board_stop,
    board_stop,
    board_stop,
    board_stop,
    board_stop};
