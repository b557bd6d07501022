/* The clock: the system timer of the Cortex-M, which counts 2^24 cycles down
   and then interrupts. For another board, change CLOCK_MHZ. */

#include "clock.h"

typedef struct {
  volatile uint32_t control, reload, count;
} clock_timer;
#define CLOCK_TIMER ((clock_timer *)0xE000E010)
#define CLOCK_START 7 /* on, with interrupts, at the processor's frequency */
#define CLOCK_CYCLES (UINT32_C(1) << 24)
#define CLOCK_MHZ 25

static volatile uint32_t clock_rounds;

void board_tick(void); /* the interrupt's handler, in the vectors of board.c */
void board_tick(void) { ++clock_rounds; }

void clock_start(void) {
  CLOCK_TIMER->reload = CLOCK_CYCLES - 1;
  CLOCK_TIMER->count = 0;
  CLOCK_TIMER->control = CLOCK_START;
}

uint64_t clock_ns(void) {
  uint32_t rounds, count;
  do { /* again if the interrupt came between the two reads */
    rounds = clock_rounds;
    count = CLOCK_TIMER->count;
  } while (rounds != clock_rounds);
  return ((uint64_t)rounds * CLOCK_CYCLES + (CLOCK_CYCLES - 1 - count)) * 1000 /
         CLOCK_MHZ;
}
