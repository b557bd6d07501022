/* The functions that a firmware needs from a board: a serial line, and the
   memory use. A program may define the three interrupt handlers. */

#ifndef BOARD_H_
#define BOARD_H_

#include <stdint.h>

void board_put(char c); /* waits until the line takes the character */
void board_write(const char *text);

static inline void board_write_int(int64_t x) {
  char text[24], *at = text + sizeof(text) - 1;
  uint64_t rest = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
  *at = 0;
  do {
    *--at = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (x < 0) *--at = '-';
  board_write(at);
}

int board_has_input(void);
char board_read(void); /* waits until a character arrives */

/* Calls the functions in .init_array, such as constructors of C++ and of the
   modules that Apache TVM compiles. Call it first in main. */
void board_construct(void);

unsigned board_flash_used(void);
unsigned board_static_ram_used(void);
unsigned board_stack_size(void);
unsigned board_stack_most_used(void);

void board_tick(void);    /* of the system timer */
void board_service(void); /* of SVC */
void board_switch(void);  /* of PendSV */

#endif
