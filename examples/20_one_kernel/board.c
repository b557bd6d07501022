/* The kernels on a board without libc, a Cortex-M3, which qemu emulates. It
   prints the lines on its serial port:

       sh examples/20_one_kernel/build_board.sh build/board
       qemu-system-arm -M mps2-an385 -nographic \
         -kernel build/board/kernels.elf */
#define TVMFFI_FREESTANDING 1
#define TVMFFI_NO_TYPES 1
#define TVMFFI_ARENA_SIZE 4096
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "board.h"
#include "kernels.c"

/* The results are whole numbers. */
static void show(const char *name, const DLTensor *x) {
  board_write(name);
  board_write(":");
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    board_write(" ");
    board_write_int((int64_t)TVMFFI_DATA(x, float)[i]);
  }
  board_write("\n");
}

#include "calls.h"

int main(void) {
  board_construct();
  if (call_kernels()) {
    TVMFFI_SCOPE;
    TVMFFIObject *error = tvmffi_error_take();
    board_write(TVMFFIErrorGetCellPtr(error)->message.data);
  }
  for (;;) {
  }
}
