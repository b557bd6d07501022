/* ======== Big integer hooks ========================== >>functions/bigint_hook
   hash, comparison and text of built-in types */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "../reflection.h"
#include "../extra.h"
#include "../interface.h"
#include "method.h"
#include "path_function.h"

#if !TVMFFI_NO_EXTRA
static int tvmffi_i_two_bigints(TVMFFIObject *a, TVMFFIObject *b, int *sign) {
  const TVMFFIAny x = tvmffi_obj(a), y = tvmffi_obj(b);
  if (a->type_index != kTVMFFIBigInt)
    return tvmffi_i_cannot_treat(a->type_index, "BigInt");
  if (b->type_index != kTVMFFIBigInt)
    return tvmffi_i_cannot_treat(b->type_index, "BigInt");
  *sign = tvmffi_i_bigint_sign(&x, &y);
  return 0;
}

TVMFFI_I_METHOD(i_bigint_eq, "ffi.BigInt.__ffi_eq__", bool, (object, a),
                (object, b), (i_callback, equal)) {
  int sign = 0;
  (void)equal;
  TVMFFI_TRY(tvmffi_i_two_bigints(a, b, &sign));
  TVMFFI_RETURN(!sign);
}

TVMFFI_I_METHOD(i_bigint_compare, "ffi.BigInt.__ffi_compare__", int64,
                (object, a), (object, b), (i_callback, compare)) {
  int sign = 0;
  (void)compare;
  TVMFFI_TRY(tvmffi_i_two_bigints(a, b, &sign));
  TVMFFI_RETURN(sign);
}

TVMFFI_I_METHOD(i_bigint_hash, "ffi.BigInt.__ffi_hash__", int64,
                (object, value), (i_callback, hash)) {
  const TVMFFIAny any = tvmffi_obj(value);
  TVMFFIByteArray words;
  (void)hash;
  if (value->type_index != kTVMFFIBigInt)
    return tvmffi_i_cannot_treat(value->type_index, "BigInt");
  words = TVMFFIBigIntGetContentByteArray(&any);
  TVMFFI_RETURN((int64_t)tvmffi_i_stable_hash(words.data, words.size));
}

/* Calls `callback` with `value` and appends the string that it returns. */
static int tvmffi_i_text_repr(tvmffi_i_text_buffer *b, TVMFFIObject *callback,
                              TVMFFIAny value) {
  TVMFFIAny result = tvmffi_none();
  TVMFFIByteArray text;
  if (!callback)
    return tvmffi_i_fail("TypeError", "Cannot call None as `ffi.Function`");
  TVMFFI_TRY(TVMFFIFunctionCall(callback, &value, 1, &result));
  if (tvmffi_i_get_str(&result, &text))
    return tvmffi_i_bad_hook(&result, &tvmffi_i_word_str);
  tvmffi_i_text_put(b, text.data, text.size);
  tvmffi_i_any_release(&result);
  return 0;
}

static int tvmffi_i_text_step(tvmffi_i_text_buffer *b, const tvmffi_i_step *s,
                              TVMFFIObject *callback) {
  const TVMFFIAny *key = &s->key;
  TVMFFIByteArray name;
  int64_t i;
  int is_missing = s->kind >= TVMFFI_I_STEP_ATTR_MISSING;
  switch (s->kind) {
    case TVMFFI_I_STEP_ATTR:
      if (tvmffi_i_get_str(key, &name)) return tvmffi_i_bad_cast(key, "str");
      tvmffi_i_text_char(b, '.');
      tvmffi_i_text_put(b, name.data, name.size);
      return 0;
    case TVMFFI_I_STEP_ARRAY_ITEM:
    case TVMFFI_I_STEP_ARRAY_ITEM_MISSING:
      if (tvmffi_i_from_any(&tvmffi_i_word_int64, key, &i))
        return tvmffi_i_bad_cast(key, "int");
      tvmffi_i_text_str(b, is_missing ? "[<missing:" : "[");
      tvmffi_i_text_int(b, i);
      break;
    case TVMFFI_I_STEP_MAP_ITEM:
    case TVMFFI_I_STEP_ATTR_MISSING:
    case TVMFFI_I_STEP_MAP_ITEM_MISSING:
      tvmffi_i_text_str(b, is_missing ? "[<missing:" : "[");
      TVMFFI_TRY(tvmffi_i_text_repr(b, callback, *key));
      break;
    default:
      return tvmffi_i_fail("ValueError", "%d is no kind of an access step",
                           (int)s->kind);
  }
  tvmffi_i_text_str(b, is_missing ? ">]" : "]");
  return 0;
}

TVMFFI_I_METHOD(i_step_repr, "ffi.reflection.AccessStep.__ffi_repr__", str,
                (object, self), (i_callback, repr)) {
  tvmffi_i_text_buffer b = TVMFFI_I_ZERO;
  if (self->type_index != TVMFFI_I_ACCESS_STEP)
    return tvmffi_i_cannot_treat(self->type_index,
                                 "ffi.reflection.AccessStep");
  if (!tvmffi_i_text_step(&b, (const tvmffi_i_step *)(void *)self, repr))
    return tvmffi_i_text_take(&b, tvmffi_result);
  tvmffi_i_text_release(&b);
  return -1;
}

TVMFFI_I_METHOD(i_path_repr, "ffi.reflection.AccessPath.__ffi_repr__", str,
                (object, self), (i_callback, repr)) {
  tvmffi_i_text_buffer b = TVMFFI_I_ZERO;
  TVMFFIAny path = tvmffi_obj(self), steps = tvmffi_none();
  const TVMFFISeqCell *cell;
  int64_t i;
  int code = 0;
  if (self->type_index != TVMFFI_I_ACCESS_PATH)
    return tvmffi_i_cannot_treat(self->type_index,
                                 "ffi.reflection.AccessPath");
  TVMFFI_TRY(tvmffi_call_i_path_steps(NULL, &path, 1, &steps));
  cell = TVMFFI_I_CELL(TVMFFISeqCell, steps.v_obj);
  tvmffi_i_text_str(&b, "<root>");
  for (i = 0; i < cell->size && !code; ++i)
    code = tvmffi_i_text_repr(&b, repr, ((const TVMFFIAny *)cell->data)[i]);
  tvmffi_i_any_release(&steps);
  if (!code) return tvmffi_i_text_take(&b, tvmffi_result);
  tvmffi_i_text_release(&b);
  return code;
}
#endif
