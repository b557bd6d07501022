/* The options of tvmffi.h and rpc/tvmffi_rpc.h for this firmware: no libc, one
   thread, memory from an arena, only the ABI's own types. */

#define TVMFFI_FREESTANDING 1
#define TVMFFI_NO_FLOAT 1
#define TVMFFI_NO_TYPES 1
#define TVMFFI_MESSAGE_SIZE 256
#define TVMFFI_ARENA_SIZE 14336

/* A session's longest packet, but for copies, which are not stored. */
#define TVMFFI_RPC_MAX_PACKET 1024
#define TVMFFI_RPC_MAX_ARGS 16
#define TVMFFI_RPC_MAX_NDIM 8
#define TVMFFI_RPC_KEY_SIZE 64
#define TVMFFI_RPC_CLOCK_NS() clock_ns()
