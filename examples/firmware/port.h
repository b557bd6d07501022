/* The runtime's options for this firmware: no libc, one thread, memory from an
   arena, no floating point, only the ABI's own types, one built-in function. */

#define TVMFFI_FREESTANDING 1
#define TVMFFI_STATIC 1
#define TVMFFI_NO_FLOAT 1
#define TVMFFI_NO_TYPES 1
#define TVMFFI_BUILTINS(F) F(Shape)
#define TVMFFI_MESSAGE_SIZE 128
#define TVMFFI_ARENA_SIZE 1024
