/* What firmware.c wants of a board: a serial line, and the size of things. */

#ifndef BOARD_H_
#define BOARD_H_

void board_write(const char *text);
char board_read(void); /* waits */

unsigned board_flash_used(void);
unsigned board_static_ram_used(void);
unsigned board_stack_size(void);
unsigned board_stack_most_used(void);

#endif
