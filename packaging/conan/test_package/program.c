#include "tvmffi.h"

int main(void) {
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  return version.minor == TVM_FFI_VERSION_MINOR ? 0 : 1;
}
