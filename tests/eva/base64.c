/* Decodes any text as base64. */
#include "eva.h"

int main(void) {
  const size_t size = (size_t)Frama_C_interval(0, EVA_SIZE);
  /*@ split size; */
  TVMFFIByteArray text = eva_text(size);
  TVMFFIAny out;
  return tvmffi_i_from_base64(text, &out);
}
