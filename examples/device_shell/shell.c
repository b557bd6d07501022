/* Calls the device's commands by name over a serial line:

       {"call": "led.set", "args": [0, true]}
       {"result": null}
       {"call": "led.set", "args": [0, "on"]}
       {"error": {"kind": "TypeError", "message": "...", "argument": 1}}
       {"call": "led.get", "args": [0], "repeat": 1000}
       {"result": true}

   The shell looks commands up by name, so a new command needs no change
   here. */

#include "tvmffi.h"

#include "board.h"
#include "commands.h"
#include "request.h"
#include "tasks.h"

/* Reads one line without its end. Returns its length, which may exceed
   REQUEST_LINE: the characters that do not fit are dropped. */
static int read_line(char *line) {
  int n = 0;
  char c;
  while ((c = board_read()) != '\n' && c != '\r') {
    if (n < REQUEST_LINE) line[n] = c;
    if (n <= REQUEST_LINE) ++n;
  }
  line[n < REQUEST_LINE ? n : REQUEST_LINE] = 0;
  return n;
}

/* Calls a global function. The caller owns *result. */
static int call(request *r, TVMFFIAny *result) {
  TVMFFIByteArray name = tvmffi_byte_array(r->call);
  TVMFFIObjectHandle function = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &function));
  if (!function)
    return TVMFFI_RAISE("AttributeError", "there is no %.64s", r->call);
  code = TVMFFIFunctionCall(function, r->arg, r->num_args, result);
  tvmffi_release(function);
  return code;
}

/* Answers a request. Only the last of repeated calls is answered. */
static int answer(char *line, int size) {
  TVMFFIAny result = tvmffi_none();
  request r;
  int code;
  if (size > REQUEST_LINE)
    return TVMFFI_RAISE("ValueError", "the line exceeds %d characters",
                        REQUEST_LINE);
  TVMFFI_TRY(request_parse(line, &r));
  for (;;) {
    code = call(&r, &result);
    if (--r.repeat == 0) break;
    tvmffi_error_clear();
    tvmffi_any_release(&result);
  }
  if (!code) code = request_write_result(&result);
  tvmffi_any_release(&result);
  return code;
}

int main(void) {
  char line[REQUEST_LINE + 1];
  if (commands_register()) {
    request_write_error();
    return 1;
  }
  task_start(commands_sample);
  board_write("{\"result\": \"ready\"}\n");
  for (;;) {
    int size = read_line(line);
    if (size && answer(line, size)) request_write_error();
  }
}
