/* What test_typed.py loads: a function for each type that is made of others,
   and the same functions in typed_upstream.cpp. */
#include "../../tvmffi.h"

#include <stdlib.h>

#define ID(name, T) \
  TVMFFI_EXPORT(name, T, (T, x)) { TVMFFI_RETURN(x); }
ID(id_array, array)
ID(id_list, list)
ID(id_map, map)
ID(id_dict, dict)
ID(id_shape, shape)
ID(id_error, error)
ID(id_module, module)
ID(id_tensor_object, tensor_object)
ID(id_array_int, array(int64))
ID(id_array_float, array(float64))
ID(id_array_str, array(str))
ID(id_array_bool, array(bool))
ID(id_list_int, list(int64))
ID(id_map_str_int, map(str, int64))
ID(id_dict_str_float, dict(str, float64))
ID(id_map_any_int, map(any, int64))
ID(id_array_map, array(map(str, int64)))
ID(id_map_array, map(str, array(int64)))
ID(id_array_opt, array(optional(int64)))
ID(id_array_shape, array(shape))
ID(id_array_any, array(array))
ID(opt_int, optional(int64))
ID(opt_float, optional(float64))
ID(opt_bool, optional(bool))
ID(opt_str, optional(str))
ID(opt_bytes, optional(bytes))
ID(opt_dtype, optional(dtype))
ID(opt_device, optional(device))
ID(opt_shape, optional(shape))
ID(opt_func, optional(func))
ID(opt_array, optional(array))
ID(opt_array_int, optional(array(int64)))
ID(opt_map, optional(map(str, array(float64))))
ID(opt_object, optional(object))
ID(opt_tensor_object, optional(tensor_object))
TVMFFI_EXPORT(opt_tensor, bool, (optional(tensor), x)) {
  TVMFFI_RETURN(x != NULL);
}
TVMFFI_EXPORT(res_tensor, optional(tensor), (optional(tensor_object), x)) {
  TVMFFI_RETURN(x);
}
TVMFFI_EXPORT(several, array, (array(int64), a), (map(str, float64), b),
              (optional(shape), c), (int64, d)) {
  TVMFFIObject *r = NULL;
  TVMFFI_TRY(tvmffi_call("ffi.Array", &r, a, b, c, d));
  TVMFFI_RETURN(r);
}

TVMFFI_DOC(opt_int, "Gives what it is given.")

/* Counts its calls and gives the sum, from wherever it is called. */
TVMFFI_CLOSURE(sum, int64_t, int64, (int64, x)) {
  if (x < 0) return TVMFFI_RAISE("IndexError", "%lld", (long long)x);
  TVMFFI_RETURN(*self += x);
}

TVMFFI_EXPORT(make_sum, func, (int64, start)) {
  TVMFFIObject *f = NULL;
  int64_t *state = (int64_t *)malloc(sizeof(*state));
  if (!state) return TVMFFI_RAISE("MemoryError", "no memory for a sum");
  *state = start;
  TVMFFI_TRY(TVMFFI_CLOSURE_NEW(sum, state, free, &f));
  TVMFFI_RETURN(f);
}

/* Calls a function with a function that calls it again, and so on. */
TVMFFI_CLOSURE(again, int64_t, any, (func, f), (func, self_again)) {
  TVMFFIAny result;
  int64_t level = (*self)--;
  if (!level) return TVMFFI_RAISE("KeyError", "the innermost call");
  TVMFFI_TRY_CONTEXT(tvmffi_call(f, &result, f, self_again), "level %lld",
                     (long long)level);
  TVMFFI_RETURN(result);
}

TVMFFI_EXPORT(make_again, func, (int64, depth)) {
  TVMFFIObject *f = NULL;
  int64_t *state = (int64_t *)malloc(sizeof(*state));
  if (!state) return TVMFFI_RAISE("MemoryError", "no memory for a depth");
  *state = depth;
  TVMFFI_TRY(TVMFFI_CLOSURE_NEW(again, state, free, &f));
  TVMFFI_RETURN(f);
}

TVMFFI_EXPORT(from_cause, none, (func, f)) {
  if (tvmffi_call(f, NULL))
    return TVMFFI_RAISE_FROM(tvmffi_error_take(), "ValueError", "it failed");
  TVMFFI_RETURN();
}

/* The header itself finds the error. */
TVMFFI_EXPORT(item_77, int64, (list, items)) {
  int64_t item;
  TVMFFI_TRY(tvmffi_get(items, 77, &item));
  TVMFFI_RETURN(item);
}
