/* node.c: an addon by Node-API; the numbers are doubles, as most are in
 * JavaScript. */
#include <node_api.h>

#include "callee.h"

static napi_value add(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value args[2], result;
  int64_t a, b;
  if (napi_get_cb_info(env, info, &count, args, NULL, NULL) != napi_ok ||
      napi_get_value_int64(env, args[0], &a) != napi_ok ||
      napi_get_value_int64(env, args[1], &b) != napi_ok ||
      napi_create_int64(env, callee_add(a, b), &result) != napi_ok)
    return NULL;
  return result;
}

NAPI_MODULE_INIT() {
  napi_value function;
  if (napi_create_function(env, "add", 3, add, NULL, &function) != napi_ok)
    return NULL;
  return function;
}
