/* Ends the runtime with the module that has it: frees all that is left. */
void ffi_runtime_end(void);
