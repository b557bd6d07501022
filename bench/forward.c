/* forward.c: the functions that typed functions need when they fail, passed on
 * to the runtime that is measured. It costs a jump more than a program has.
 * Each library goes on to find its own: no symbol leaves this program. */
#define TVMFFI_ABI_ONLY 1 /* this file defines functions of the ABI */
#include "forward.h"

const bench_lib *bench_runtime;

const TVMFFIByteArray *TVMFFIBacktrace(const char *filename, int lineno,
                                       const char *func,
                                       int cross_ffi_boundary) {
  return bench_runtime->Backtrace(filename, lineno, func, cross_ffi_boundary);
}

int TVMFFIAnyViewToOwnedAny(const TVMFFIAny *view, TVMFFIAny *out) {
  return bench_runtime->AnyViewToOwnedAny(view, out);
}

int TVMFFIBytesFromByteArray(const TVMFFIByteArray *bytes, TVMFFIAny *out) {
  return bench_runtime->BytesFromByteArray(bytes, out);
}

int TVMFFIDataTypeFromString(const TVMFFIByteArray *text, DLDataType *out) {
  return bench_runtime->DataTypeFromString(text, out);
}

int TVMFFIErrorCreate(const TVMFFIByteArray *kind,
                      const TVMFFIByteArray *message,
                      const TVMFFIByteArray *backtrace,
                      TVMFFIObjectHandle *out) {
  return bench_runtime->ErrorCreate(kind, message, backtrace, out);
}

int TVMFFIErrorCreateWithCauseAndExtraContext(const TVMFFIByteArray *kind,
                                              const TVMFFIByteArray *message,
                                              const TVMFFIByteArray *backtrace,
                                              TVMFFIObjectHandle cause_chain,
                                              TVMFFIObjectHandle extra_context,
                                              TVMFFIObjectHandle *out) {
  return bench_runtime->ErrorCreateWithCauseAndExtraContext(
      kind, message, backtrace, cause_chain, extra_context, out);
}

void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle *result) {
  bench_runtime->ErrorMoveFromRaised(result);
}

void TVMFFIErrorSetRaised(TVMFFIObjectHandle error) {
  bench_runtime->ErrorSetRaised(error);
}

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
  bench_runtime->ErrorSetRaisedFromCStr(kind, message);
}

void TVMFFIErrorSetRaisedFromCStrParts(const char *kind,
                                       const char **message_parts,
                                       int32_t num_parts) {
  bench_runtime->ErrorSetRaisedFromCStrParts(kind, message_parts, num_parts);
}

int TVMFFIFunctionCall(TVMFFIObjectHandle func, TVMFFIAny *args,
                       int32_t num_args, TVMFFIAny *result) {
  return bench_runtime->FunctionCall(func, args, num_args, result);
}

int TVMFFIFunctionGetGlobal(const TVMFFIByteArray *name,
                            TVMFFIObjectHandle *out) {
  return bench_runtime->FunctionGetGlobal(name, out);
}

const TVMFFITypeInfo *TVMFFIGetTypeInfo(int32_t type_index) {
  return bench_runtime->GetTypeInfo(type_index);
}

int TVMFFIStringFromByteArray(const TVMFFIByteArray *text, TVMFFIAny *out) {
  return bench_runtime->StringFromByteArray(text, out);
}
