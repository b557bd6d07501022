/* Runs a small int8 network whose layers Apache TVM compiled.

   A line from the serial line is a picture, two hexadecimal digits for each
   pixel. For each layer the firmware answers by a line: the layer's name, its
   time in nanoseconds, and its output's bytes as hexadecimal digits. The last
   line is "=", the class with the highest score, and three numbers of bytes:
   the use of the arena, its highest use and the stack's highest use. After an
   error the last line is "!" and the error. */

#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdbool.h>

#include "board.h"
#include "clock.h"
#include "network.h"
#include "system_library.h"

#define TVMFFI_RPC_IMPLEMENTATION
#include "rpc/tvmffi_rpc.h"
#include "rpc/tvmffi_rpc_backend.h"

/* -------- The serial line -------- */

static void write_number(uint64_t x) {
  board_put(' ');
  board_write_int((int64_t)x);
}

static void write_bytes(const DLTensor *t) {
  const unsigned char *byte = TVMFFI_DATA(t, unsigned char);
  size_t n = tvmffi_tensor_bytes(t);
  for (; n; --n, ++byte) {
    board_put("0123456789abcdef"[*byte >> 4]);
    board_put("0123456789abcdef"[*byte & 15]);
  }
}

static int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads one line to its end. Fails unless it has two digits for each byte. */
static int read_bytes(const DLTensor *t) {
  unsigned char *byte = TVMFFI_DATA(t, unsigned char);
  size_t n = 0, digits = 2 * tvmffi_tensor_bytes(t);
  int valid = 1;
  char c;
  for (; (c = board_read()) != '\n'; ++n) {
    int value = digit_value(c);
    if (value < 0) valid = 0;
    if (n < digits)
      byte[n / 2] = (unsigned char)(byte[n / 2] << 4 | (value & 15));
  }
  if (valid && n == digits) return 0;
  return TVMFFI_RAISE("ValueError", "a picture has %d digits, 0-9 and a-f",
                      (int)digits);
}

/* -------- The network -------- */

enum { MAX_ARGS = 8 };

/* Calls a layer's function with the input, the constants and the output, and
   writes the layer's name and its time. */
static int call_layer(const network_layer *layer, TVMFFIObject *function,
                      TVMFFIObject *input, TVMFFIObject *output) {
  TVMFFIAny args[MAX_ARGS], result = tvmffi_none();
  uint64_t start;
  int i, n = 0;
  if (layer->constant_count + 2 > MAX_ARGS)
    return TVMFFI_RAISE("ValueError", "%s has too many arguments", layer->name);
  args[n++] = tvmffi_obj(input);
  for (i = 0; i < layer->constant_count; ++i)
    args[n++] = tvmffi_tensor(&layer->constants[i]);
  args[n++] = tvmffi_obj(output);
  start = clock_ns();
  TVMFFI_TRY(TVMFFIFunctionCall(function, args, n, &result));
  start = clock_ns() - start;
  board_write(layer->name);
  write_number(start);
  return 0;
}

/* Runs a layer, and keeps its result, a new tensor, in *x in place of its
   input. */
static int run_layer(const network_layer *layer, TVMFFIObject **x) {
  TVMFFI_SCOPE;
  TVMFFIObject *library, *function, *y;
  TVMFFI_TRY(tvmffi_call("ffi.SystemLib", &library));
  TVMFFI_TRY(tvmffi_call("ffi.ModuleGetFunction", &function, library,
                         layer->name, false));
  TVMFFI_TRY(tvmffi_tensor_new_like(&layer->output, &y));
  TVMFFI_TRY(call_layer(layer, function, *x, y));
  tvmffi_keep(x, y);
  return 0;
}

/* Replaces the picture *x by the scores of the classes. Two layers' tensors
   exist at a time. */
static int run_network(TVMFFIObject **x) {
  int i;
  for (i = 0; i < network_layer_count; ++i) {
    TVMFFI_TRY(run_layer(&network_layers[i], x));
    board_put(' ');
    write_bytes(TVMFFITensorGetDLTensorPtr(*x));
    board_put('\n');
  }
  return 0;
}

static int best_class(const DLTensor *scores) {
  const int32_t *score = TVMFFI_DATA(scores, int32_t);
  int i, best = 0;
  for (i = 1; i < scores->shape[0]; ++i)
    if (score[i] > score[best]) best = i;
  return best;
}

/* Keeps a picture that it reads in *x. */
static int read_picture(TVMFFIObject **x) {
  TVMFFI_SCOPE;
  TVMFFIObject *picture;
  TVMFFI_TRY(tvmffi_tensor_new_like(&network_input, &picture));
  TVMFFI_TRY(read_bytes(TVMFFITensorGetDLTensorPtr(picture)));
  tvmffi_keep(x, picture);
  return 0;
}

static int answer_picture(void) {
  TVMFFIObject *x = NULL; /* kept */
  size_t most;
  int best, code = read_picture(&x);
  if (!code) code = run_network(&x);
  if (!code) best = best_class(TVMFFITensorGetDLTensorPtr(x));
  tvmffi_release(x);
  if (code) return code;
  board_put('=');
  write_number((uint64_t)best);
  write_number(tvmffi_arena_used(&most));
  write_number(most);
  write_number(board_stack_most_used());
  board_put('\n');
  return 0;
}

/* Writes the error as one line: messages of compiled code have several. */
static void write_error(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  const char *c = TVMFFIErrorGetCellPtr(error)->message.data;
  board_write("! ");
  board_write(TVMFFIErrorGetCellPtr(error)->kind.data);
  board_write(": ");
  for (; *c; ++c) board_put(*c == '\n' ? ' ' : *c);
  board_put('\n');
}

int main(void) {
  board_construct();
  clock_start();
  if (system_library_register())
    write_error();
  else
    board_write("ready\n");
  for (;;)
    if (answer_picture()) write_error();
}
