// A stand-in for an Arduino core: the calls that the examples use.

#ifndef Arduino_h
#define Arduino_h

class SerialPort {
 public:
  void begin(unsigned long) {}
  void print(const char *text);
  void println(const char *text);
  void println(long value);
};
extern SerialPort Serial;
void delay(unsigned long milliseconds);

#endif
