// The stand-in's functions, on the board of examples/firmware.

#include "Arduino.h"

extern "C" {
#include "board.h"
}

void setup();
void loop();

SerialPort Serial;

void SerialPort::print(const char *text) { board_write(text); }

void SerialPort::println(const char *text) {
  print(text);
  board_put('\n');
}

void SerialPort::println(long value) {
  char text[24], *at = text + sizeof(text) - 1;
  *at = 0;
  do *--at = static_cast<char>('0' + value % 10);
  while (value /= 10);
  println(at);
}

void delay(unsigned long) {}

// Memory for malloc. The block has a size that the linker's script does not
// have to provide.
static char heap[65536];
extern "C" void *sbrk(int size) {
  static char *end = heap;
  char *block = end;
  if (size > heap + sizeof(heap) - end) return reinterpret_cast<void *>(-1);
  end += size;
  return block;
}

int main() {
  board_construct();
  setup();
  for (;;) loop();
}
