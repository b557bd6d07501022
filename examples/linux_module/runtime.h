/* Makes the runtime notice the modules that are unloaded. Called when the
   provider is loaded. Returns 0, or a negative error number. */
int ffi_runtime_begin(void);

/* Makes a function object of the module `owner` like TVMFFIFunctionCreate. */
int ffi_function_create_for(struct module *owner, void *self,
                            TVMFFISafeCallType call,
                            void (*deleter)(void *self), void **out);

/* Makes a function object of the runtime's own module. */
int ffi_function_create(void *self, TVMFFISafeCallType call,
                        void (*deleter)(void *self), void **out);

/* Frees all memory of the runtime. Called when the provider is unloaded. */
void ffi_runtime_end(void);
