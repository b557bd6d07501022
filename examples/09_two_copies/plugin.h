/* The plugin's interface to its host. */
#ifndef PLUGIN_H_
#define PLUGIN_H_

/* Keeps a new function object that greets somebody in *slot, which is NULL
   before: the caller owns a reference then. Returns 0, or -1 if it fails; the
   error object stays in the plugin. Include tvmffi.h first. */
int plugin_greeter(TVMFFIObject **slot);

#endif
