/* The files of the product, each of which registers its functions. */

#ifndef MOTOR_H_
#define MOTOR_H_

int motor_register(void);
int config_register(void); /* from step 3 on */

#endif
