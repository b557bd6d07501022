/* The kernels of the firmware as a module: the two global functions by which
   clients find them. With TVMFFI_NO_TYPES the runtime has no modules of its
   own; this one saves the flash and RAM of types and modules.

   Compiled code registers its functions by TVMFFIEnvModRegisterSystemLibSymbol
   before main. Include this file after the implementation of tvmffi.h. */

/* The one module, with a strong and a weak reference. It is static: its count
   never falls to 0. */
static TVMFFIObject system_library = {
    ((uint64_t)1 << 32) | 1, kTVMFFIModule, 0, {NULL}};

/* Returns the module, as ffi.SystemLib without a prefix. */
TVMFFI_FUNC(system_library_get, object) { TVMFFI_RETURN(&system_library); }

/* Returns a kernel, or None. The compiled function is a packed function, so
   the function object calls it directly. */
TVMFFI_FUNC(system_library_function, any, (object, module), (str, name),
            (bool, query_imports)) {
  char symbol[80] = "__tvm_ffi_";
  const size_t head = 10;
  TVMFFIByteArray key = {symbol, head + name.size};
  TVMFFIObjectHandle f = NULL;
  TVMFFIObject *function;
  void *found;
  (void)module, (void)query_imports;
  if (key.size >= sizeof(symbol)) return 0;
  memcpy(symbol + head, name.data, name.size);
  if (!tvmffi_system_symbol(key, &found)) return 0;
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, (TVMFFISafeCallType)(uintptr_t)found,
                                  NULL, &f));
  function = tvmffi_scope_attach(f);
  if (!function) return -1;
  TVMFFI_RETURN(tvmffi_obj(function));
}

static int system_library_register(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("ffi.SystemLib", system_library_get));
  return TVMFFI_REGISTER("ffi.ModuleGetFunction", system_library_function);
}
