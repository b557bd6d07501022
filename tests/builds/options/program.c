#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <string.h>

/* A small program that needs no more than the ABI, in C and C++: it makes a
 * function, calls it through the global table and takes an error. Its exit
 * status says which step went wrong. */

static int program_twice(void *self, const TVMFFIAny *args, int32_t num_args,
                         TVMFFIAny *result) {
  (void)self;
  if (num_args != 1 || args[0].type_index != kTVMFFIInt) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "twice takes one integer");
    return -1;
  }
  result->type_index = kTVMFFIInt;
  result->v_int64 = 2 * args[0].v_int64;
  return 0;
}

static int program_call(TVMFFIObjectHandle func, int32_t type_index) {
  TVMFFIAny arg, result;
  memset(&arg, 0, sizeof arg);
  memset(&result, 0, sizeof result);
  arg.type_index = type_index;
  arg.v_int64 = 21;
  if (TVMFFIFunctionCall(func, &arg, 1, &result)) return -1;
  return result.v_int64 == 42 ? 0 : 1;
}

int main(void) {
  TVMFFIByteArray name = {"program.twice", 13};
  TVMFFIObjectHandle func = 0, found = 0, error = 0;
  if (TVMFFIFunctionCreate(0, program_twice, 0, &func)) return 1;
  if (TVMFFIFunctionSetGlobal(&name, func, 0)) return 2;
  if (TVMFFIFunctionGetGlobal(&name, &found) || found != func) return 3;
  if (program_call(found, kTVMFFIInt)) return 4;
  if (program_call(found, kTVMFFIBool) != -1) return 5;
  TVMFFIErrorMoveFromRaised(&error);
  if (!error) return 6;
  if (TVMFFIObjectDecRef(error) || TVMFFIObjectDecRef(found)) return 7;
  return TVMFFIObjectDecRef(func) ? 8 : 0;
}
