/* What the device can do, and its sampling task. */

#ifndef COMMANDS_H_
#define COMMANDS_H_

/* Registers all commands as global functions. Raises a MemoryError. */
int commands_register(void);

/* Samples the sensor for ever. Run it as a task of its own. */
void commands_sample(void);

#endif
