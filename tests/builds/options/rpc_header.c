/* rpc/tvmffi_rpc.h and its companions, as C99. */
#define _POSIX_C_SOURCE 200809L
#include "tvmffi.h"
#define TVMFFI_RPC_IMPLEMENTATION
#include "rpc/tvmffi_rpc.h"
#include "rpc/tvmffi_rpc_backend.h"
#include "rpc/tvmffi_rpc_serial.h"
