/* What the output of TVM's C code generator needs beside tvmffi.h. */

#define TVM_DLL

void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t size,
                               int code_hint, int bits_hint);
int TVMBackendFreeWorkspace(int device_type, int device_id, void *data);
