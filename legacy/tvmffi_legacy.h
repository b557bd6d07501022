/* tvmffi_legacy.h - TVM's calling convention from before TVM FFI.

   SPDX-License-Identifier: Apache-2.0 OR MIT

   It includes tvmffi.h, has inline functions only, and works with this runtime
   and with upstream's library.

   A call of the old convention has an array of 8-byte values and an array of
   type codes. This file wraps functions of the old convention as FFI functions,
   and the reverse. Values and type codes are those of
   tvm/runtime/c_runtime_api.h up to TVM 0.20. TVM's name for an old function
   is TVMBackendPackedCFunc.

   A handle of an object, module or function must belong to this runtime, not to
   TVM's old one. A tensor argument is the address of any DLTensor. A tensor
   result must be the DLTensor of a tensor object of this runtime.

       int old_add_one(tvmffi_legacy_value *args, int *codes, int n,
                       tvmffi_legacy_value *result, int *code, void *resource);
       ...
       TVMFFI_TRY(tvmffi_legacy_wrap(old_add_one, NULL, NULL, &f)); */

#ifndef TVMFFI_LEGACY_H_
#define TVMFFI_LEGACY_H_

#ifndef TVMFFI_H_
#include "tvmffi.h"
#endif

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* One argument or result. Its type code says which member is set. */
typedef union {
  int64_t v_int64;
#if !TVMFFI_NO_FLOAT
  double v_float64;
#endif
  void *v_handle;
  const char *v_str;
  DLDataType v_type;
  DLDevice v_device;
} tvmffi_legacy_value;
TVMFFI_STATIC_ASSERT(sizeof(tvmffi_legacy_value) == 8, legacy_value);

/* Type codes of legacy values. */
enum {
  TVMFFI_LEGACY_INT = 0,
  TVMFFI_LEGACY_UINT = 1,  /* v_int64, read as an int */
  TVMFFI_LEGACY_FLOAT = 2, /* v_float64 */
  TVMFFI_LEGACY_HANDLE = 3,
  TVMFFI_LEGACY_NULL = 4,
  TVMFFI_LEGACY_DTYPE = 5,
  TVMFFI_LEGACY_DEVICE = 6,
  TVMFFI_LEGACY_DLTENSOR = 7, /* a DLTensor * */
  TVMFFI_LEGACY_OBJECT = 8,
  TVMFFI_LEGACY_MODULE = 9,
  TVMFFI_LEGACY_FUNCTION = 10,
  TVMFFI_LEGACY_STR = 11,    /* v_str, NUL-terminated */
  TVMFFI_LEGACY_BYTES = 12,  /* a TVMFFIByteArray * */
  TVMFFI_LEGACY_TENSOR = 13, /* the DLTensor * of a tensor object */
  TVMFFI_LEGACY_RVALUE_REF =
      14,                 /* an object's TVMFFIObject **, argument only */
  TVMFFI_LEGACY_BOOL = 15 /* v_int64; only since TVM 0.18 */
};

/* A function of the calling convention before TVM FFI. Arguments are borrowed.
   *result is null before the call; afterwards the caller owns *result. Returns
   0, or nonzero on failure. */
typedef int (*tvmffi_legacy_func)(tvmffi_legacy_value *args, int *codes, int n,
                                  tvmffi_legacy_value *result, int *result_code,
                                  void *resource);

TVMFFI_I_COLD int tvmffi_i_legacy_misfit(const char *what, int code) {
  return tvmffi_i_raise("TypeError", "a legacy %s of type code %d is not %s",
                        what, code,
                        code == TVMFFI_LEGACY_MODULE     ? "a module"
                        : code == TVMFFI_LEGACY_FUNCTION ? "a function"
                        : code == TVMFFI_LEGACY_TENSOR   ? "a tensor"
                                                         : "a value");
}

/* Sets *out to a view of the object `handle`. Raises a TypeError if the
   object's type does not match the type code. */
TVMFFI_I_INLINE int tvmffi_i_legacy_object(const char *what, void *handle,
                                           int code, TVMFFIAny *out) {
  *out = tvmffi_obj(handle);
  if (handle && code != TVMFFI_LEGACY_OBJECT &&
      out->type_index != (code == TVMFFI_LEGACY_MODULE     ? kTVMFFIModule
                          : code == TVMFFI_LEGACY_FUNCTION ? kTVMFFIFunction
                                                           : kTVMFFITensor))
    return tvmffi_i_legacy_misfit(what, code);
  return 0;
}

/* Converts a legacy argument to a view *out, which borrows from the argument. A
   null handle becomes None. TypeError for an invalid type code, or if the
   object's type does not match the type code. */
TVMFFI_I_INLINE int tvmffi_any_from_legacy(tvmffi_legacy_value value, int code,
                                           TVMFFIAny *out) {
  switch (code) {
    case TVMFFI_LEGACY_INT:
    case TVMFFI_LEGACY_UINT: *out = tvmffi_int(value.v_int64); return 0;
    case TVMFFI_LEGACY_FLOAT: /* copies the bits */
      *out = tvmffi_int(value.v_int64);
      out->type_index = kTVMFFIFloat;
      return 0;
    case TVMFFI_LEGACY_HANDLE: *out = tvmffi_ptr(value.v_handle); return 0;
    case TVMFFI_LEGACY_NULL: *out = tvmffi_none(); return 0;
    case TVMFFI_LEGACY_DTYPE: *out = tvmffi_dtype(value.v_type); return 0;
    case TVMFFI_LEGACY_DEVICE: *out = tvmffi_device(value.v_device); return 0;
    case TVMFFI_LEGACY_DLTENSOR:
    case TVMFFI_LEGACY_TENSOR:
      *out = tvmffi_tensor((const DLTensor *)value.v_handle);
      return 0;
    case TVMFFI_LEGACY_OBJECT:
    case TVMFFI_LEGACY_MODULE:
    case TVMFFI_LEGACY_FUNCTION:
      return tvmffi_i_legacy_object("argument", value.v_handle, code, out);
    case TVMFFI_LEGACY_STR: *out = tvmffi_str(value.v_str); return 0;
    case TVMFFI_LEGACY_BYTES:
      *out = tvmffi_bytes((const TVMFFIByteArray *)value.v_handle);
      return 0;
    case TVMFFI_LEGACY_RVALUE_REF:
      *out = tvmffi_i_pointer(kTVMFFIObjectRValueRef, value.v_handle);
      return 0;
    case TVMFFI_LEGACY_BOOL: *out = tvmffi_bool(value.v_int64 != 0); return 0;
    default: break;
  }
  *out = tvmffi_none();
  return tvmffi_i_legacy_misfit("argument", code);
}

TVMFFI_I_INLINE int tvmffi_i_legacy_handle(void *handle, int code,
                                           tvmffi_legacy_value *value,
                                           int *out) {
  value->v_handle = handle;
  *out = handle ? code : TVMFFI_LEGACY_NULL;
  return 0;
}

/* Converts *any to a legacy argument, which borrows from *any. For bytes,
   stores address and size in *room, and the argument points to *room. A bool
   becomes an int, because TVM before 0.18 has no bool. ValueError for a string
   that contains a NUL. TypeError for a type without a legacy type code. */
TVMFFI_I_INLINE int tvmffi_any_to_legacy(const TVMFFIAny *any,
                                         TVMFFIByteArray *room,
                                         tvmffi_legacy_value *value,
                                         int *code) {
  TVMFFIByteArray text;
  int pointer = TVMFFI_LEGACY_OBJECT;
  size_t i;
  value->v_int64 = any->v_int64; /* the bits of any plain value */
  switch (any->type_index) {
    case kTVMFFINone: *code = TVMFFI_LEGACY_NULL; return 0;
    case kTVMFFIInt:
    case kTVMFFIBool: *code = TVMFFI_LEGACY_INT; return 0;
    case kTVMFFIFloat: *code = TVMFFI_LEGACY_FLOAT; return 0;
    case kTVMFFIDataType: *code = TVMFFI_LEGACY_DTYPE; return 0;
    case kTVMFFIDevice: *code = TVMFFI_LEGACY_DEVICE; return 0;
    case kTVMFFIOpaquePtr: pointer = TVMFFI_LEGACY_HANDLE; break;
    case kTVMFFIDLTensorPtr: pointer = TVMFFI_LEGACY_DLTENSOR; break;
    case kTVMFFIByteArrayPtr: pointer = TVMFFI_LEGACY_BYTES; break;
    case kTVMFFIObjectRValueRef: pointer = TVMFFI_LEGACY_RVALUE_REF; break;
    case kTVMFFISmallBytes:
    case kTVMFFIBytes:
      *room = tvmffi_any_str(any);
      return tvmffi_i_legacy_handle(room, TVMFFI_LEGACY_BYTES, value, code);
    case kTVMFFIRawStr:
    case kTVMFFISmallStr:
    case kTVMFFIStr:
      text = tvmffi_any_str(any);
      for (i = 0; i < text.size; ++i)
        if (!text.data[i])
          return tvmffi_i_raise(
              "ValueError", "a string with a NUL inside is no legacy string");
      return tvmffi_i_legacy_handle((void *)(uintptr_t)text.data,
                                    TVMFFI_LEGACY_STR, value, code);
    case kTVMFFITensor:
      return tvmffi_i_legacy_handle(
          any->v_obj ? TVMFFI_I_CELL(DLTensor, any->v_obj) : NULL,
          TVMFFI_LEGACY_TENSOR, value, code);
    case kTVMFFIModule: pointer = TVMFFI_LEGACY_MODULE; break;
    case kTVMFFIFunction: pointer = TVMFFI_LEGACY_FUNCTION; break;
    default: break;
  }
  if (pointer == TVMFFI_LEGACY_OBJECT &&
      any->type_index < kTVMFFIStaticObjectBegin) {
    *code = TVMFFI_LEGACY_NULL;
    return tvmffi_i_raise("TypeError",
                          "a value of type index %d is no legacy value",
                          (int)any->type_index);
  }
  return tvmffi_i_legacy_handle(any->v_ptr, pointer, value, code);
}

/* Converts an owned legacy result to an owned Any. Copies C strings and byte
   arrays. */
TVMFFI_I_INLINE int tvmffi_i_legacy_result(tvmffi_legacy_value value, int code,
                                           TVMFFIAny *out) {
  TVMFFIAny view;
  TVMFFIByteArray text;
  TVMFFIObject *o = (TVMFFIObject *)value.v_handle;
  switch (code) {
    case TVMFFI_LEGACY_RVALUE_REF:
      return tvmffi_i_legacy_misfit("result", code);
    case TVMFFI_LEGACY_TENSOR: o = o ? o - 1 : NULL; break;
    case TVMFFI_LEGACY_OBJECT:
    case TVMFFI_LEGACY_MODULE:
    case TVMFFI_LEGACY_FUNCTION: break;
    default:
      TVMFFI_TRY(tvmffi_any_from_legacy(value, code, &view));
      return TVMFFIAnyViewToOwnedAny(&view, out);
  }
  if (tvmffi_i_legacy_object("result", o, code, out)) {
    tvmffi_any_release(out);
    return -1;
  }
  text = tvmffi_any_str(out);
  if (text.data && text.size < 8) { /* must be stored in the Any */
    int err = out->type_index == kTVMFFIStr
                  ? TVMFFIStringFromByteArray(&text, &view)
                  : TVMFFIBytesFromByteArray(&text, &view);
    tvmffi_any_release(out);
    if (err) return err;
    *out = view;
  }
  return 0;
}

/* Converts an owned Any to an owned legacy result. Strings and bytes become
   objects. On failure *any still owns the value. */
TVMFFI_I_INLINE int tvmffi_i_result_to_legacy(TVMFFIAny *any,
                                              tvmffi_legacy_value *value,
                                              int *code) {
  int is_string = any->type_index == kTVMFFISmallStr;
  if (is_string || any->type_index == kTVMFFISmallBytes) {
    TVMFFIByteArray eight = {any->v_bytes, 8}; /* too long for a small string */
    TVMFFIAny text;
    TVMFFI_TRY(is_string ? TVMFFIStringFromByteArray(&eight, &text)
                         : TVMFFIBytesFromByteArray(&eight, &text));
    TVMFFI_I_CELL(TVMFFIByteArray, text.v_obj)->size =
        tvmffi_i_small_bytes(any).size;
    *any = text;
  }
  if (any->type_index == kTVMFFIStr || any->type_index == kTVMFFIBytes)
    return tvmffi_i_legacy_handle(any->v_obj, TVMFFI_LEGACY_OBJECT, value,
                                  code);
  return tvmffi_any_to_legacy(any, NULL, value, code);
}

typedef struct {
  tvmffi_legacy_func call;
  void *resource;
  void (*deleter)(void *resource);
} tvmffi_i_legacy_self;

/* A legacy call with at most this many arguments allocates no memory. */
enum { TVMFFI_I_LEGACY_FEW = 16 };

TVMFFI_I_COLD void *tvmffi_i_legacy_memory(int32_t n, size_t size) {
  void *memory = (size_t)n < SIZE_MAX / size
                     ? TVMFFI_I_SCOPE_MALLOC((size_t)n * size)
                     : NULL;
  if (!memory)
    (void)tvmffi_i_raise("MemoryError",
                         "out of memory for the %d arguments of a legacy call",
                         (int)n);
  return memory;
}

TVMFFI_I_INLINE int tvmffi_i_legacy_apply(const tvmffi_i_legacy_self *s,
                                          const TVMFFIAny *args, int32_t n,
                                          tvmffi_legacy_value *values,
                                          TVMFFIByteArray *rooms, int *codes,
                                          TVMFFIAny *out) {
  tvmffi_legacy_value result;
  int32_t i;
  int err, code = TVMFFI_LEGACY_NULL;
  result.v_int64 = 0;
  for (i = 0; i < n; ++i)
    TVMFFI_TRY(
        tvmffi_any_to_legacy(&args[i], &rooms[i], &values[i], &codes[i]));
  err = s->call(values, codes, (int)n, &result, &code, s->resource);
  if (!err) return tvmffi_i_legacy_result(result, code, out);
  if (err != -2) {
    TVMFFI_TRY(tvmffi_i_pending());
    (void)tvmffi_i_raise("RuntimeError", "a legacy function returned %d", err);
    err = -1;
  }
  return err;
}

TVMFFI_I_UNUSED static int tvmffi_i_legacy_call(void *self,
                                                const TVMFFIAny *args,
                                                int32_t n, TVMFFIAny *out) {
  const tvmffi_i_legacy_self *s = (const tvmffi_i_legacy_self *)self;
  tvmffi_legacy_value values[TVMFFI_I_LEGACY_FEW], *many;
  TVMFFIByteArray rooms[TVMFFI_I_LEGACY_FEW];
  int codes[TVMFFI_I_LEGACY_FEW], err;
  if (n <= TVMFFI_I_LEGACY_FEW)
    return tvmffi_i_legacy_apply(s, args, n, values, rooms, codes, out);
  many = (tvmffi_legacy_value *)tvmffi_i_legacy_memory(
      n, sizeof(*values) + sizeof(*rooms) + sizeof(*codes));
  if (!many) return -1;
  err = tvmffi_i_legacy_apply(
      s, args, n, many, (TVMFFIByteArray *)(void *)(many + n),
      (int *)(void *)((TVMFFIByteArray *)(void *)(many + n) + n), out);
  TVMFFI_I_SCOPE_FREE(many);
  return err;
}

TVMFFI_I_UNUSED static void tvmffi_i_legacy_end(void *self) {
  const tvmffi_i_legacy_self *s = (const tvmffi_i_legacy_self *)self;
  if (s->deleter) s->deleter(s->resource);
  TVMFFI_I_SCOPE_FREE(self);
}

/* Creates a function object that calls the legacy function `func` with
   `resource`. *out is owned by the scope. `deleter` (may be NULL) is called
   with `resource` when the function object is destroyed, or immediately on
   failure. If `func` fails, the function object returns the thread's pending
   error, or a RuntimeError if none is pending. Compiled code that calls
   TVMAPISetLastError must be linked to tvmffi_legacy_set_error instead. */
#define tvmffi_legacy_wrap(func, resource, deleter, out) \
  tvmffi_i_legacy_wrap(TVMFFI_I_OWNER, func, resource, deleter, out)

TVMFFI_I_INLINE int tvmffi_i_legacy_wrap(tvmffi_i_owner to,
                                         tvmffi_legacy_func func,
                                         void *resource,
                                         void (*deleter)(void *),
                                         TVMFFIObject **out) {
  tvmffi_i_legacy_self *s =
      func ? (tvmffi_i_legacy_self *)TVMFFI_I_SCOPE_MALLOC(sizeof(*s)) : NULL;
  TVMFFIObjectHandle handle = NULL;
  *out = NULL;
  if (!s) {
    if (deleter) deleter(resource);
    return func ? tvmffi_i_raise("MemoryError",
                                 "out of memory for a legacy function")
                : tvmffi_i_raise("ValueError", "a legacy function is NULL");
  }
  s->call = func;
  s->resource = resource;
  s->deleter = deleter;
  if (TVMFFIFunctionCreate(s, tvmffi_i_legacy_call, tvmffi_i_legacy_end,
                           &handle)) {
    tvmffi_i_legacy_end(s);
    return -1;
  }
  return tvmffi_i_hand_out(to, handle, out);
}

/* Raises a RuntimeError with a copy of `message`. Replaces TVMAPISetLastError
   for compiled legacy code. */
TVMFFI_I_INLINE void tvmffi_legacy_set_error(const char *message) {
  (void)tvmffi_i_raise("RuntimeError", "%s", message ? message : "NULL");
}

/* A tvmffi_legacy_func that calls the function object `function` (borrowed).
   Returns 0 or the error's code, with the error pending in the thread. The
   caller owns *result. Strings, bytes, and objects without a legacy type code
   become TVMFFI_LEGACY_OBJECT. */
TVMFFI_I_UNUSED static int tvmffi_legacy_call(tvmffi_legacy_value *args,
                                              int *codes, int n,
                                              tvmffi_legacy_value *result,
                                              int *result_code,
                                              void *function) {
  TVMFFIAny few[TVMFFI_I_LEGACY_FEW], *views = few, out = tvmffi_none();
  int i, err = 0;
  if (!result || !result_code)
    return tvmffi_i_raise("ValueError", "the result of a legacy call is NULL");
  result->v_int64 = 0;
  *result_code = TVMFFI_LEGACY_NULL;
  if (n > TVMFFI_I_LEGACY_FEW)
    views = (TVMFFIAny *)tvmffi_i_legacy_memory(n, sizeof(*views));
  if (!views) return -1;
  for (i = 0; !err && i < n; ++i)
    err = tvmffi_any_from_legacy(args[i], codes[i], &views[i]);
  if (!err) err = TVMFFIFunctionCall(function, views, n, &out);
  if (views != few) TVMFFI_I_SCOPE_FREE(views);
  if (!err) err = tvmffi_i_result_to_legacy(&out, result, result_code);
  if (err) tvmffi_any_release(&out);
  return err;
}

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif /* TVMFFI_LEGACY_H_ */
