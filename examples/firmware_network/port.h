/* The options of tvmffi.h and rpc/tvmffi_rpc.h for this firmware: no libc, one
   thread, memory from an arena, only the ABI's own types. */

#include "network_memory.h"

#define TVMFFI_FREESTANDING 1
#define TVMFFI_NO_FLOAT 1
#define TVMFFI_NO_TYPES 1
#define TVMFFI_MESSAGE_SIZE 256

/* The network's tensors and workspaces, and what the runtime needs beside
   them: the headers of two tensors, the alignment of a workspace, the tables of
   functions. */
#ifndef RUNTIME_MEMORY
#define RUNTIME_MEMORY 1536
#endif
#define TVMFFI_ARENA_SIZE (NETWORK_MEMORY + RUNTIME_MEMORY)
