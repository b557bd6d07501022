/* rpc/tvmffi_rpc.h on a board: no libc, no floats, no types, an arena. */
#define TVMFFI_FREESTANDING 1
#define TVMFFI_NO_FLOAT 1
#define TVMFFI_NO_TYPES 1
#define TVMFFI_ARENA_SIZE 32768
#define TVMFFI_STATIC 1
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"
#define TVMFFI_RPC_MAX_PACKET 2048
#define TVMFFI_RPC_MAX_ARGS 16
#define TVMFFI_RPC_IMPLEMENTATION
#include "rpc/tvmffi_rpc.h"
#include "rpc/tvmffi_rpc_backend.h"
#include "rpc/tvmffi_rpc_serial.h"
