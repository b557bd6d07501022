/* The RPC server as a task: other tasks use the runtime meanwhile. */

#ifndef RPC_H_
#define RPC_H_

int rpc_register(void);    /* the server's functions, and a line */
void rpc_task(void *none); /* serves the line; never returns */

#endif
