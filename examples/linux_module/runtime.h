/* Frees all memory of the runtime. Called when the provider is unloaded. */
void ffi_runtime_end(void);
