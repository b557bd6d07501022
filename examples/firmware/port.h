/* How this firmware has the runtime: no libc, one thread, its memory in an
   arena, no floating point, no types but the ABI's. */

#define TVMFFI_FREESTANDING 1
#define TVMFFI_STATIC 1
#define TVMFFI_NO_FLOAT 1
#define TVMFFI_NO_TYPES 1
#define TVMFFI_MESSAGE_SIZE 128
#define TVMFFI_ARENA_SIZE 1024
