/* Parses any text as a data type. */
#include "eva.h"

int main(void) {
  const size_t size = (size_t)Frama_C_interval(0, EVA_SIZE);
  /*@ split size; */
  TVMFFIByteArray text = eva_text(size);
  DLDataType dtype;
  return tvmffi_i_read_usual(text.data, text.size, &dtype) ||
         tvmffi_i_read_unusual(&text, &dtype);
}
