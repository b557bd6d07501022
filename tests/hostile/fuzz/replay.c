/* Gives a fuzzer the files that it is started with, without libFuzzer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path) {
  FILE *file = fopen(path, "rb");
  uint8_t *data = NULL;
  long size = -1;
  if (file && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
  if (size >= 0 && fseek(file, 0, SEEK_SET) == 0)
    data = (uint8_t *)malloc(size ? (size_t)size : 1);
  if (data && fread(data, 1, (size_t)size, file) == (size_t)size)
    LLVMFuzzerTestOneInput(data, (size_t)size);
  else
    size = -1;
  free(data);
  if (file) fclose(file);
  return size < 0;
}

int main(int argc, char **argv) {
  int i, failed = 0;
  for (i = 1; i < argc; ++i) {
    fprintf(stderr, "%s\n", argv[i]);
    failed |= replay(argv[i]);
  }
  return failed || argc < 2;
}
