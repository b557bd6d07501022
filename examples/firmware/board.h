/* The functions that a firmware needs from a board: a serial line, and the
   memory use. A program may define the three interrupt handlers. */

#ifndef BOARD_H_
#define BOARD_H_

void board_put(char c); /* waits until the line takes the character */
void board_write(const char *text);
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
