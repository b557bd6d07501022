// Registers a function, calls it by its name, and prints the error of a call
// with a wrong argument.

#include <tvmffi.h>

TVMFFI_FUNC(average, int64, (int64, a), (int64, b)) {
  TVMFFI_RETURN((a + b) / 2);
}

void printError() {
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  Serial.println(TVMFFIErrorGetCellPtr(error)->message.data);
}

void setup() {
  Serial.begin(115200);
  if (TVMFFI_REGISTER("sensor.average", average) != 0) printError();
}

void loop() {
  int64_t result = 0;
  if (tvmffi_call("sensor.average", &result, 20, 30) == 0) {
    Serial.print("average: ");
    Serial.println((long)result);
  }
  if (tvmffi_call("sensor.average", &result, 20, "thirty") != 0) printError();
  delay(1000);
}
