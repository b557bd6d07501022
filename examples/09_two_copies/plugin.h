/* The plugin's interface to its host. */
#ifndef PLUGIN_H_
#define PLUGIN_H_

/* Stores a new function object that greets somebody; the caller owns it.
   Returns 0, or -1 if it fails; the error object stays in the plugin. */
int plugin_greeter(void **out);

#endif
