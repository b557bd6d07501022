/* ======== Legacy calls =================================== >>interface/legacy
   the calling convention before TVM FFI */
/* C interface: TVM's old calling convention, of before TVM FFI: an array of
   8-byte values beside an array of type codes. What was compiled for it is
   called as a function of this ABI, and the reverse. The values and codes are
   those of tvm/runtime/c_runtime_api.h up to TVM 0.20; a function of modules
   is a TVMBackendPackedCFunc there.

   A handle of an object, module or function (codes 8, 9, 10) is an object of
   this runtime: one of the old runtime's must not get here. A tensor (13) is
   the address of its DLTensor, as it was, and so may be anyone's; the results
   of calls alone must be tensors of this runtime. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "scope.h"

#if TVMFFI_LEGACY

/* One value; what it is, its type code tells. */
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

enum {
  TVMFFI_LEGACY_INT = 0,
  TVMFFI_LEGACY_UINT = 1,  /* v_int64, taken for an int */
  TVMFFI_LEGACY_FLOAT = 2, /* v_float64 */
  TVMFFI_LEGACY_HANDLE = 3,
  TVMFFI_LEGACY_NULL = 4,
  TVMFFI_LEGACY_DTYPE = 5,
  TVMFFI_LEGACY_DEVICE = 6,
  TVMFFI_LEGACY_DLTENSOR = 7, /* a DLTensor * */
  TVMFFI_LEGACY_OBJECT = 8,
  TVMFFI_LEGACY_MODULE = 9,
  TVMFFI_LEGACY_FUNCTION = 10,
  TVMFFI_LEGACY_STR = 11,    /* v_str, ends with a NUL */
  TVMFFI_LEGACY_BYTES = 12,  /* a TVMFFIByteArray * */
  TVMFFI_LEGACY_TENSOR = 13, /* a DLTensor *, that of a tensor object */
  TVMFFI_LEGACY_RVALUE_REF =
      14,                 /* an object's TVMFFIObject **, argument only */
  TVMFFI_LEGACY_BOOL = 15 /* v_int64; only since TVM 0.18 */
};

/* A function of the old convention. Arguments are borrowed; the result, which
   is null before the call, is owned by the caller; nonzero is failure. */
typedef int (*tvmffi_legacy_func)(tvmffi_legacy_value *args, int *codes, int n,
                                  tvmffi_legacy_value *result, int *result_code,
                                  void *resource);

TVMFFI_I_COLD int tvmffi_i_legacy_misfit(const char *what, int code) {
  return TVMFFI_RAISE("TypeError", "a legacy %s of type code %d is not %s",
                      what, code,
                      code == TVMFFI_LEGACY_MODULE     ? "a module"
                      : code == TVMFFI_LEGACY_FUNCTION ? "a function"
                      : code == TVMFFI_LEGACY_TENSOR   ? "a tensor"
                                                       : "a value");
}

/* The object behind a handle as a value, of the type that its code says. */
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

/* Makes of an argument a view *out, which borrows what the argument does.
   TypeError for a code that no argument has, and for a handle of another type
   than its code says. A null handle is None. */
TVMFFI_I_INLINE int tvmffi_any_from_legacy(tvmffi_legacy_value value, int code,
                                           TVMFFIAny *out) {
  switch (code) {
    case TVMFFI_LEGACY_INT:
    case TVMFFI_LEGACY_UINT: *out = tvmffi_int(value.v_int64); return 0;
    case TVMFFI_LEGACY_FLOAT: /* by its bits */
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

/* Makes of a value an argument. It borrows what *any holds; of a short string
   also *any itself, and of bytes *room, where their address and size are put.
   A bool becomes an int, which every TVM takes for a bool. ValueError for a
   string with a NUL inside, which would end there; TypeError for what the
   convention does not have. */
TVMFFI_I_INLINE int tvmffi_any_to_legacy(const TVMFFIAny *any,
                                         TVMFFIByteArray *room,
                                         tvmffi_legacy_value *value,
                                         int *code) {
  TVMFFIByteArray text;
  size_t i;
  value->v_int64 = any->v_int64;
  switch (any->type_index) {
    case kTVMFFINone: *code = TVMFFI_LEGACY_NULL; return 0;
    case kTVMFFIInt:
    case kTVMFFIBool: *code = TVMFFI_LEGACY_INT; return 0;
    case kTVMFFIFloat: *code = TVMFFI_LEGACY_FLOAT; return 0;
    case kTVMFFIDataType:
      value->v_type = any->v_dtype;
      *code = TVMFFI_LEGACY_DTYPE;
      return 0;
    case kTVMFFIDevice:
      value->v_device = any->v_device;
      *code = TVMFFI_LEGACY_DEVICE;
      return 0;
    case kTVMFFIOpaquePtr:
      return tvmffi_i_legacy_handle(any->v_ptr, TVMFFI_LEGACY_HANDLE, value,
                                    code);
    case kTVMFFIDLTensorPtr:
      return tvmffi_i_legacy_handle(any->v_ptr, TVMFFI_LEGACY_DLTENSOR, value,
                                    code);
    case kTVMFFIByteArrayPtr:
      return tvmffi_i_legacy_handle(any->v_ptr, TVMFFI_LEGACY_BYTES, value,
                                    code);
    case kTVMFFIObjectRValueRef:
      return tvmffi_i_legacy_handle(any->v_ptr, TVMFFI_LEGACY_RVALUE_REF, value,
                                    code);
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
          return TVMFFI_RAISE("ValueError",
                              "a string with a NUL inside is no legacy string");
      return tvmffi_i_legacy_handle((void *)(uintptr_t)text.data,
                                    TVMFFI_LEGACY_STR, value, code);
    default: break;
  }
  if (any->type_index < kTVMFFIStaticObjectBegin) {
    *code = TVMFFI_LEGACY_NULL;
    return TVMFFI_RAISE("TypeError",
                        "a value of type index %d is no legacy value",
                        (int)any->type_index);
  }
  if (any->type_index == kTVMFFITensor && any->v_obj)
    return tvmffi_i_legacy_handle(TVMFFI_I_CELL(DLTensor, any->v_obj),
                                  TVMFFI_LEGACY_TENSOR, value, code);
  return tvmffi_i_legacy_handle(
      any->v_obj,
      any->type_index == kTVMFFIModule     ? TVMFFI_LEGACY_MODULE
      : any->type_index == kTVMFFIFunction ? TVMFFI_LEGACY_FUNCTION
                                           : TVMFFI_LEGACY_OBJECT,
      value, code);
}

/* Makes of an owned result an owned value. Strings and bytes are copied. */
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
  if (text.data && text.size < 8) { /* is a small one everywhere else */
    int err = out->type_index == kTVMFFIStr
                  ? TVMFFIStringFromByteArray(&text, &view)
                  : TVMFFIBytesFromByteArray(&text, &view);
    tvmffi_any_release(out);
    if (err) return err;
    *out = view;
  }
  return 0;
}

/* Makes of an owned value (taken) an owned result. Text is an object there. */
TVMFFI_I_INLINE int tvmffi_i_result_to_legacy(TVMFFIAny *any,
                                              tvmffi_legacy_value *value,
                                              int *code) {
  int is_string = any->type_index == kTVMFFISmallStr;
  if (is_string || any->type_index == kTVMFFISmallBytes) {
    TVMFFIByteArray eight = {any->v_bytes, 8}; /* no small one, so an object */
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

/* A call with up to so many arguments allocates nothing. */
enum { TVMFFI_I_LEGACY_FEW = 16 };

TVMFFI_I_COLD void *tvmffi_i_legacy_memory(int32_t n, size_t size) {
  void *memory = (size_t)n < SIZE_MAX / size
                     ? TVMFFI_I_SCOPE_MALLOC((size_t)n * size)
                     : NULL;
  if (!memory)
    (void)TVMFFI_RAISE("MemoryError",
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
    TVMFFIObject *error = tvmffi_error_take();
    if (error) return tvmffi_error_raise(error);
    (void)TVMFFI_RAISE("RuntimeError", "a legacy function returned %d", err);
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

/* Makes a function object of a function of the old convention; *out is owned
   by the caller, or by the innermost scope. The resource is taken: the deleter
   (NULL for none) is called with it when the function ends, or at once if it
   cannot be made. A failure of the function is the error that stands in the
   thread's slot, or else a RuntimeError: where it reports a text by
   TVMAPISetLastError, let that be tvmffi_legacy_set_error. */
#define tvmffi_legacy_wrap(func, resource, deleter, out) \
  (TVMFFI_I_HERE tvmffi_i_legacy_wrap(func, resource, deleter, out))

TVMFFI_I_INLINE int tvmffi_i_legacy_wrap(tvmffi_legacy_func func,
                                         void *resource,
                                         void (*deleter)(void *),
                                         TVMFFIObject **out) {
  tvmffi_i_legacy_self *s =
      func ? (tvmffi_i_legacy_self *)TVMFFI_I_SCOPE_MALLOC(sizeof(*s)) : NULL;
  TVMFFIObjectHandle handle = NULL;
  if (!s) {
    if (deleter) deleter(resource);
    return func ? TVMFFI_RAISE("MemoryError",
                               "out of memory for a legacy function")
                : TVMFFI_RAISE("ValueError", "a legacy function is NULL");
  }
  s->call = func;
  s->resource = resource;
  s->deleter = deleter;
  if (TVMFFIFunctionCreate(s, tvmffi_i_legacy_call, tvmffi_i_legacy_end,
                           &handle)) {
    tvmffi_i_legacy_end(s);
    return -1;
  }
  TVMFFI_TRY(tvmffi_i_keep((TVMFFIObject *)handle));
  *out = (TVMFFIObject *)handle;
  return 0;
}

/* What compiled code reports its failures by: puts a RuntimeError with the
   text, which is copied, into the thread's slot. */
TVMFFI_I_INLINE void tvmffi_legacy_set_error(const char *message) {
  (void)TVMFFI_RAISE("RuntimeError", "%s", message ? message : "NULL");
}

/* A function object (borrowed), as a tvmffi_legacy_func whose resource it is.
   Returns what the function does, its error being in the thread's slot.
   Strings and bytes come back as objects, and so does all that has no code of
   its own; who called owns them. */
TVMFFI_I_UNUSED static int tvmffi_legacy_call(tvmffi_legacy_value *args,
                                              int *codes, int n,
                                              tvmffi_legacy_value *result,
                                              int *result_code,
                                              void *function) {
  TVMFFIAny few[TVMFFI_I_LEGACY_FEW], *views = few, out = tvmffi_none();
  int i, err = 0;
  if (!result || !result_code)
    return TVMFFI_RAISE("ValueError", "the result of a legacy call is NULL");
  result->v_int64 = 0;
  *result_code = TVMFFI_LEGACY_NULL;
  if (n > TVMFFI_I_LEGACY_FEW)
    views = (TVMFFIAny *)tvmffi_i_legacy_memory(n, sizeof(*views));
  if (!views) return -1;
  for (i = 0; !err && i < n; ++i)
    err = tvmffi_any_from_legacy(args[i], codes[i], &views[i]);
  if (!err) err = tvmffi_i_call_away(function, views, n, &out);
  if (views != few) TVMFFI_I_SCOPE_FREE(views);
  if (!err) err = tvmffi_i_result_to_legacy(&out, result, result_code);
  if (err) tvmffi_any_release(&out);
  return err;
}

#endif /* TVMFFI_LEGACY */

