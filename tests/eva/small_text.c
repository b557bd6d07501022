/* Makes the word that an Any stores for a string of up to seven bytes. */
#include "eva.h"

int main(void) {
  const size_t size = (size_t)Frama_C_interval(0, EVA_SIZE);
  /*@ split size; */
  TVMFFIByteArray text = eva_text(size);
  return (int)tvmffi_i_small_text(text.data, text.size);
}
