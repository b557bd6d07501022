/* Functions that parse and write JSON, and make containers. */

#include "motor.h"
#include "tvmffi.h"

/* Returns the speed in a JSON text. */
TVMFFI_FUNC(config_speed, int64, (str, json)) {
  TVMFFIObject *config;
  int64_t speed;
  TVMFFI_TRY(tvmffi_call("ffi.json.Parse", &config, json));
  TVMFFI_TRY(tvmffi_get(config, "speed", &speed));
  TVMFFI_RETURN(speed);
}

/* Returns the speed and its limits as a JSON text. */
TVMFFI_FUNC(config_json, any) {
  TVMFFIObject *limits = tvmffi_list(0);
  TVMFFIAny json;
  int64_t speed;
  TVMFFI_TRY(tvmffi_append(limits, 100));
  TVMFFI_TRY(tvmffi_call("motor.get", &speed));
  TVMFFI_TRY(tvmffi_call("ffi.json.Stringify", &json,
                         tvmffi_map("speed", speed, "limits", limits), NULL));
  TVMFFI_RETURN(json);
}

int config_register(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("config.speed", config_speed));
  return TVMFFI_REGISTER("config.json", config_json);
}
