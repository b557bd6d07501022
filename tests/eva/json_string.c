/* Calls the functions with which the JSON reader scans strings and white space,
   each with any text. */
#include "eva.h"

int main(void) {
  const size_t size = (size_t)Frama_C_interval(0, EVA_SIZE);
  /*@ split size; */
  TVMFFIByteArray text = eva_text(size);
  const char *end = text.data + text.size;
  switch (Frama_C_interval(0, 3)) {
    case 0: return tvmffi_i_json_hex(text.data, end);
    case 1: return tvmffi_i_json_match(text.data, end, "\\u") != NULL;
    case 2: return tvmffi_i_json_plain(text.data, end, 1) == end;
    default: return tvmffi_i_json_skip(text.data, end) == end;
  }
}
