/* What the plugin offers to its host: plain C, and an object of the ABI. */
#ifndef PLUGIN_H_
#define PLUGIN_H_

/* Makes a function, owned by the caller, that greets somebody. Returns 0, or
   -1: what went wrong stays in the plugin. */
int plugin_greeter(void **out);

#endif
