/* The runtime that the programs of this folder link: no libc, one thread, an
   arena, only the ABI's own types. */

#define TVMFFI_FREESTANDING 1
#define TVMFFI_NO_FLOAT 1
#define TVMFFI_NO_TYPES 1
#define TVMFFI_MESSAGE_SIZE 128
#define TVMFFI_ARENA_SIZE 4096
