/* The shell's protocol: a line of JSON in, a line of JSON out. */

#ifndef REQUEST_H_
#define REQUEST_H_

#include "tvmffi.h"

enum { REQUEST_LINE = 256, REQUEST_ARGS = 8 };

typedef struct {
  const char *call;            /* name of the function */
  TVMFFIAny arg[REQUEST_ARGS]; /* views into the line */
  int32_t num_args;
  int64_t repeat; /* how often to call it, 1 or more */
} request;

/* Parses a line such as {"call": "led.set", "args": [0, true], "repeat": 2}.
   Decodes its strings in place, so `line` must outlive *r. Allocates memory
   only for errors: a SyntaxError that names the column, a TypeError for an
   argument that is a list, an object or a fraction, an OverflowError or a
   ValueError. */
int request_parse(char *line, request *r);

/* Writes {"result": value}. Raises a TypeError if the value is not None, a
   bool, an integer, a string or a shape. */
int request_write_result(const TVMFFIAny *value);

/* Takes the task's pending error and writes {"error": {...}} with its kind and
   message, and the index of the argument if the message names one. */
void request_write_error(void);

#endif
