/* Reads any text as the exponent of a number in JSON. */
#include "eva.h"

int main(void) {
  const size_t size = (size_t)Frama_C_interval(0, EVA_SIZE);
  /*@ split size; */
  TVMFFIByteArray text = eva_text(size);
  const char *end = text.data + text.size;
  int64_t power = 0;
  return tvmffi_i_json_exponent(text.data, end, &power) != NULL;
}
