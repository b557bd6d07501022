/* What runtime.c has for the other parts of the module. */
#ifndef WEB_RUNTIME_H_
#define WEB_RUNTIME_H_

#include "web.h"

/* Takes the raised error and returns its text, "Kind: message", which is valid
   until the next call. */
const char *web_last_error(void);

/* Writes a line to the console's error output. */
void web_log(TVMFFIByteArray text);

#endif
