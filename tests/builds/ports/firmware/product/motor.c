/* Functions with numbers as arguments, which raise errors. */

#include "motor.h"

#include "tvmffi.h"

static volatile int32_t motor_speed;

TVMFFI_FUNC(motor_set, int64, (int64, percent)) {
  int64_t before = motor_speed;
  if (percent < 0 || percent > 100)
    return TVMFFI_RAISE("ValueError", "%d percent is no speed", (int)percent);
  motor_speed = (int32_t)percent;
  TVMFFI_RETURN(before);
}

TVMFFI_FUNC(motor_get, int64) { TVMFFI_RETURN((int64_t)motor_speed); }

int motor_register(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("motor.set", motor_set));
  return TVMFFI_REGISTER("motor.get", motor_get);
}
