/* The time since clock_start, for the time evaluator. */

#ifndef CLOCK_H_
#define CLOCK_H_

#include <stdint.h>

void clock_start(void);
uint64_t clock_ns(void); /* never goes back */

#endif
