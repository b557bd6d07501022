// The same as C++11.
#include "rpc_header.c"
