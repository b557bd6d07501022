/* tvmffi_xla.h: typed functions as XLA FFI handlers, for JAX.

   Include it after or instead of tvmffi.h, and add one line behind a function.
   Define TVMFFI_IMPLEMENTATION and TVMFFI_DYNAMIC for a library that carries
   its own runtime, for a process that has none:

       #define TVMFFI_IMPLEMENTATION
       #define TVMFFI_DYNAMIC 1
       #include "tvmffi_xla.h"

       TVMFFI_EXPORT(axpy, none, (tensor("float32[n] cpu"), x),
                     (tensor("float32[n] cpu inout"), y), (float64, a, 1.0)) {
         ...
       }
       TVMFFI_XLA_HANDLER(axpy)

       cc -shared -fPIC -O2 -I. -isystem \
         $(python -c 'import jax; print(jax.ffi.include_dir())') kernels.c \
         -o kernels.so

   In Python:

       library = ctypes.CDLL("./kernels.so")
       jax.ffi.register_ffi_target(
           "axpy", jax.ffi.pycapsule(library.tvmffi_xla_axpy), platform="cpu")
       axpy = jax.ffi.ffi_call("axpy", result, input_output_aliases={1: 0})
       axpy(x, y, a=2.0)

   A tensor that the function only reads is an argument of the call, one that is
   "out" is a result, one that is "inout" is both. All other parameters are
   attributes, by their names.

   Needs XLA's C API, xla/ffi/api/c_api.h, as of jaxlib 0.7 or newer.
   Documentation: docs/hosts/xla.md. License: Apache-2.0 OR MIT, as tvmffi.h. */

#ifndef TVMFFI_XLA_H_
#define TVMFFI_XLA_H_

#include "tvmffi.h"

#if TVMFFI_NO_METADATA
#error "tvmffi_xla.h: TVMFFI_NO_METADATA removes the parameters' names"
#endif

#include <string.h>
#include <xla/ffi/api/c_api.h>

#if XLA_FFI_API_MAJOR != 0 || XLA_FFI_API_MINOR < 1
#error "tvmffi_xla.h: needs version 0.1 or a later 0.x of XLA's FFI API"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- A function's parameters, and how XLA provides them ---- */

/* Where a parameter's value comes from. An inout tensor is an argument and a
   result. */
enum {
  TVMFFI_I_XLA_ATTRIBUTE = 0,
  TVMFFI_I_XLA_ARGUMENT = 1,
  TVMFFI_I_XLA_RESULT = 2,
  TVMFFI_I_XLA_INOUT = TVMFFI_I_XLA_ARGUMENT | TVMFFI_I_XLA_RESULT
};

/* The dimensions of all tensors of a call, taken together. */
enum { TVMFFI_I_XLA_DIMS = 128 };

typedef struct {
  const char *name;
  size_t size; /* of the name */
  uint8_t role;
  uint8_t is_optional; /* a call may omit it */
} tvmffi_i_xla_parameter;

/* The parameters, by number, that take the arguments and the results of a call
   in their order. */
typedef struct {
  int64_t num_args, num_results;
  uint8_t args[TVMFFI_I_MAX_PARAMS], results[TVMFFI_I_MAX_PARAMS];
} tvmffi_i_xla_order;

typedef struct {
  tvmffi_i_xla_parameter parameters[TVMFFI_I_MAX_PARAMS];
  tvmffi_i_xla_order all;            /* of a call that omits no tensor */
  int64_t least_args, least_results; /* of a call that omits what it may */
  int64_t num_values; /* buffers and attributes of a call that omits nothing */
  int32_t num_attributes;
  uint8_t returns_tensor; /* to the result after those of `all` */
  uint8_t attributes[TVMFFI_I_MAX_PARAMS]; /* sorted by name, as XLA sorts
                                              those of a call */
} tvmffi_i_xla_plan;

/* A handler. The first call makes its plan. */
typedef struct {
  const tvmffi_func *func;
  DLDeviceType device_type;
  XLA_FFI_Handler_Traits traits;
  tvmffi_i_xla_plan *plan;
  uint64_t state; /* 0: no plan; 1: plan being written; 2: ready */
} tvmffi_i_xla_handler;

TVMFFI_I_INLINE const char *tvmffi_i_xla_name(const tvmffi_i_xla_handler *h) {
  return TVMFFI_I_LOAD(&h->func->name); /* which a registration changes */
}

TVMFFI_I_COLD uint8_t tvmffi_i_xla_role(const char *text) {
  return text && tvmffi_i_text_has(text, "out")     ? TVMFFI_I_XLA_RESULT
         : text && tvmffi_i_text_has(text, "inout") ? TVMFFI_I_XLA_INOUT
                                                    : TVMFFI_I_XLA_ARGUMENT;
}

/* Returns 1 if an attribute of XLA can be converted to the type, else 0. */
TVMFFI_I_COLD int tvmffi_i_xla_has_form(const tvmffi_i_word *word) {
  switch (word->kind) {
    case TVMFFI_I_ANY:
    case TVMFFI_I_INT:
    case TVMFFI_I_BOOL:
    case TVMFFI_I_FLOAT:
    case TVMFFI_I_STR:
    case TVMFFI_I_BYTES:
    case TVMFFI_I_DTYPE:
    case TVMFFI_I_DEVICE: return 1;
    case TVMFFI_I_OBJECT: return word->index == kTVMFFIObject;
    case TVMFFI_I_CONTAINER:
      return word->index == kTVMFFIArray || word->index == kTVMFFIList ||
             word->index == kTVMFFIShape;
    default: return 0;
  }
}

/* Raises a TypeError for a parameter or result that XLA has no form for. */
TVMFFI_I_COLD int tvmffi_i_xla_no_form(const tvmffi_i_xla_handler *h,
                                       const char *what, const char *name,
                                       const tvmffi_i_word *word,
                                       const char *advice) {
  return tvmffi_i_raise("TypeError", "%s: %s%s has the type %s, which XLA %s",
                        tvmffi_i_xla_name(h), what, name, word->name, advice);
}

/* Decides where the values of parameter i come from. `text` is the text of
   tensor("...") or NULL. */
TVMFFI_I_COLD int tvmffi_i_xla_plan_parameter(tvmffi_i_xla_plan *plan,
                                              const tvmffi_i_xla_handler *h,
                                              int32_t i, const char *text) {
  const tvmffi_func *f = h->func;
  tvmffi_i_xla_parameter *p = &plan->parameters[i];
  const tvmffi_i_word *word = f->types[i + 1];
  p->is_optional = i >= f->least || word->kind == TVMFFI_I_OPTIONAL;
  if (word->kind == TVMFFI_I_OPTIONAL) word = word->of[0];
  if (word->kind == TVMFFI_I_TENSOR) {
    p->role = tvmffi_i_xla_role(text);
    if (p->role & TVMFFI_I_XLA_ARGUMENT) {
      plan->all.args[plan->all.num_args++] = (uint8_t)i;
      plan->least_args += !p->is_optional;
    }
    if (p->role & TVMFFI_I_XLA_RESULT) {
      plan->all.results[plan->all.num_results++] = (uint8_t)i;
      plan->least_results += !p->is_optional;
    }
    return 0;
  }
  p->role = TVMFFI_I_XLA_ATTRIBUTE;
  if (!p->is_optional && !tvmffi_i_xla_has_form(word))
    return tvmffi_i_xla_no_form(h, "parameter ", p->name, word,
                                "has no attributes of");
  plan->attributes[plan->num_attributes++] = (uint8_t)i;
  return 0;
}

/* Checks the result's type: nothing, or a tensor on the CPU, which is copied to
   XLA's memory. */
TVMFFI_I_COLD int tvmffi_i_xla_plan_result(tvmffi_i_xla_plan *plan,
                                           const tvmffi_i_xla_handler *h) {
  const tvmffi_func *f = h->func;
  const tvmffi_i_word *word = f->types[0];
  if (word->kind == TVMFFI_I_NONE) return 0;
  if (word->kind != TVMFFI_I_OBJECT || word->index != kTVMFFITensor)
    return tvmffi_i_xla_no_form(h, "the result", "", word,
                                "cannot take: write to a tensor(\"... out\")");
  if (h->device_type != kDLCPU)
    return tvmffi_i_xla_no_form(h, "the result", "", word,
                                "allocates itself on this device: write to a "
                                "tensor(\"... out\")");
  plan->returns_tensor = 1;
  return 0;
}

/* Compares the names of two attributes as XLA does. */
TVMFFI_I_INLINE int tvmffi_i_xla_compare(const char *a, size_t a_size,
                                         const char *b, size_t b_size) {
  const int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
  return order ? order : (a_size > b_size) - (a_size < b_size);
}

TVMFFI_I_COLD void tvmffi_i_xla_sort(tvmffi_i_xla_plan *plan) {
  int32_t i, k;
  for (i = 1; i < plan->num_attributes; ++i)
    for (k = i; k > 0; --k) {
      const uint8_t here = plan->attributes[k],
                    before = plan->attributes[k - 1];
      const tvmffi_i_xla_parameter *a = &plan->parameters[before];
      const tvmffi_i_xla_parameter *b = &plan->parameters[here];
      if (tvmffi_i_xla_compare(a->name, a->size, b->name, b->size) < 0) break;
      plan->attributes[k] = before;
      plan->attributes[k - 1] = here;
    }
}

TVMFFI_I_COLD int tvmffi_i_xla_make_plan(tvmffi_i_xla_plan *plan,
                                         const tvmffi_i_xla_handler *h) {
  const tvmffi_func *f = h->func;
  const char *name = f->params;
  int32_t i;
  memset(plan, 0, sizeof(*plan));
  for (i = 0; i < f->num_args; ++i) {
    tvmffi_i_xla_parameter *p = &plan->parameters[i];
    p->name = name;
    p->size = strlen(name);
    TVMFFI_TRY(tvmffi_i_xla_plan_parameter(
        plan, h, i, tvmffi_i_contract_text(f->contract, name)));
    name += p->size + 1;
  }
  tvmffi_i_xla_sort(plan);
  TVMFFI_TRY(tvmffi_i_xla_plan_result(plan, h));
  plan->num_values = plan->all.num_args + plan->all.num_results +
                     plan->returns_tensor + plan->num_attributes;
  return 0;
}

/* Makes the plan in `own`, so that no thread waits for another. The first
   thread also stores it in the handler. */
TVMFFI_I_SLOW TVMFFI_I_UNUSED int tvmffi_i_xla_first_call(
    tvmffi_i_xla_handler *h, tvmffi_i_xla_plan *own) {
  uint64_t none = 0;
  TVMFFI_TRY(tvmffi_i_xla_make_plan(own, h));
  if (tvmffi_i_cas64(&h->state, &none, 1)) {
    *h->plan = *own;
    tvmffi_i_store64(&h->state, 2);
  }
  return 0;
}

/* ---- Tensors ---- */

enum { TVMFFI_I_XLA_DTYPES = 34 };
/* clang-format off */
/* The dtypes, by XLA's number. XLA packs elements of less than 8 bits, as
   DLPack does. `lanes` is 0 where XLA has no array of the number, such as 17, a
   token. */
TVMFFI_I_UNUSED static const DLDataType
    tvmffi_i_xla_dtypes[TVMFFI_I_XLA_DTYPES] = {
  {0, 0, 0}, {kDLBool, 8, 1},
  {kDLInt, 8, 1}, {kDLInt, 16, 1}, {kDLInt, 32, 1}, {kDLInt, 64, 1},
  {kDLUInt, 8, 1}, {kDLUInt, 16, 1}, {kDLUInt, 32, 1}, {kDLUInt, 64, 1},
  {kDLFloat, 16, 1}, {kDLFloat, 32, 1}, {kDLFloat, 64, 1},
  {0, 0, 0}, {0, 0, 0},
  {kDLComplex, 64, 1}, {kDLBfloat, 16, 1}, {0, 0, 0}, {kDLComplex, 128, 1},
  {kDLFloat8_e5m2, 8, 1}, {kDLFloat8_e4m3fn, 8, 1},
  {kDLInt, 4, 1}, {kDLUInt, 4, 1},
  {kDLFloat8_e4m3b11fnuz, 8, 1}, {kDLFloat8_e5m2fnuz, 8, 1},
  {kDLFloat8_e4m3fnuz, 8, 1},
  {kDLInt, 2, 1}, {kDLUInt, 2, 1},
  {kDLFloat8_e4m3, 8, 1}, {kDLFloat8_e3m4, 8, 1},
  {kDLInt, 1, 1}, {kDLUInt, 1, 1},
  {kDLFloat4_e2m1fn, 4, 1}, {kDLFloat8_e8m0fnu, 8, 1}
};
/* clang-format on */
TVMFFI_STATIC_ASSERT(XLA_FFI_DataType_F8E8M0FNU == TVMFFI_I_XLA_DTYPES - 1,
                     numbers_of_xla_dtypes);

/* Returns XLA's dtype, with 0 lanes if it has no form in DLPack. Returns a
   pointer, because compilers store a returned value in two parts. The next load
   reads both, and then the processor cannot forward the stores to it. */
TVMFFI_I_INLINE const DLDataType *tvmffi_i_xla_dtype(XLA_FFI_DataType dtype) {
  const unsigned number = (unsigned)dtype;
  return &tvmffi_i_xla_dtypes[number < TVMFFI_I_XLA_DTYPES ? number : 0];
}

/* One call of a handler. The tensors borrow XLA's buffers. */
typedef struct {
  const tvmffi_i_xla_handler *handler;
  const tvmffi_i_xla_plan *plan;
  const XLA_FFI_CallFrame *frame;
  TVMFFIStreamHandle stream; /* that was current before the call */
  int32_t device_id;
  uint32_t owned; /* a bit for each argument that the call owns */
  TVMFFIAny args[TVMFFI_I_MAX_PARAMS];
  DLTensor tensors[TVMFFI_I_MAX_PARAMS];
  int64_t strides[TVMFFI_I_XLA_DIMS];
} tvmffi_i_xla_call;

/* Refuses a buffer that no tensor can describe. Returns NULL. */
TVMFFI_I_COLD int64_t *tvmffi_i_xla_no_tensor(const tvmffi_i_xla_call *c,
                                              int32_t i,
                                              const XLA_FFI_Buffer *buffer) {
  const char *name = tvmffi_i_xla_name(c->handler);
  if (!tvmffi_i_xla_dtype(buffer->dtype)->lanes)
    (void)tvmffi_i_raise("TypeError",
                         "%s: argument `%s`: XLA's data type %d is no dtype",
                         name, c->plan->parameters[i].name, (int)buffer->dtype);
  else
    (void)tvmffi_i_raise("ValueError",
                         "%s: the tensors have more than %d dimensions", name,
                         (int)TVMFFI_I_XLA_DIMS);
  return NULL;
}

/* Makes XLA's buffer the tensor of parameter i, whose strides it writes to
   `strides`. Returns their end, or NULL with an error. */
TVMFFI_I_ALWAYS_INLINE int64_t *tvmffi_i_xla_view(
    tvmffi_i_xla_call *c, int32_t i, const XLA_FFI_Buffer *buffer,
    DLDeviceType device_type, int32_t device_id, int64_t *strides) {
  DLTensor *t = &c->tensors[i];
  const DLDataType *dtype = tvmffi_i_xla_dtype(buffer->dtype);
  uint64_t step = 1;
  const int64_t rank = buffer->rank;
  int64_t d = rank;
  if (TVMFFI_I_UNLIKELY(!dtype->lanes ||
                        rank > c->strides + TVMFFI_I_XLA_DIMS - strides))
    return tvmffi_i_xla_no_tensor(c, i, buffer);
  t->data = buffer->data;
  t->device.device_type = device_type;
  t->device.device_id = device_id;
  t->ndim = (int32_t)rank;
  t->dtype = *dtype;
  t->shape = buffer->dims;
  t->strides = strides;
  t->byte_offset = 0;
  while (--d >= 0) {
    strides[d] = (int64_t)step;
    step *= (uint64_t)buffer->dims[d];
  }
  c->args[i] = tvmffi_tensor(t);
  return strides + rank;
}

/* Refuses an inout tensor whose result k is not its argument. */
TVMFFI_I_COLD int tvmffi_i_xla_no_alias(const tvmffi_i_xla_call *c,
                                        const tvmffi_i_xla_order *order,
                                        int64_t k) {
  const uint8_t i = order->results[k];
  int arg = 0;
  while (order->args[arg] != i) ++arg;
  return tvmffi_i_raise(
      "ValueError",
      "%s: argument `%s` is inout, but XLA's argument and result are two "
      "buffers: use ffi_call(..., input_output_aliases={%d: %d})",
      tvmffi_i_xla_name(c->handler), c->plan->parameters[i].name, arg, (int)k);
}

/* Makes the buffers the tensors of the parameters. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_xla_views(tvmffi_i_xla_call *c,
                                              const tvmffi_i_xla_order *order) {
  void *const *args = c->frame->args.args;
  void *const *results = c->frame->rets.rets;
  const DLDeviceType type = c->handler->device_type;
  const int32_t id = c->device_id;
  int64_t *strides = c->strides;
  int64_t k;
  for (k = 0; k < order->num_args; ++k) {
    strides = tvmffi_i_xla_view(
        c, order->args[k], (const XLA_FFI_Buffer *)args[k], type, id, strides);
    if (TVMFFI_I_UNLIKELY(!strides)) return -1;
  }
  for (k = 0; k < order->num_results; ++k) {
    const uint8_t i = order->results[k];
    const XLA_FFI_Buffer *buffer = (const XLA_FFI_Buffer *)results[k];
    if (c->plan->parameters[i].role == TVMFFI_I_XLA_RESULT)
      strides = tvmffi_i_xla_view(c, i, buffer, type, id, strides);
    else if (TVMFFI_I_UNLIKELY(c->tensors[i].data != buffer->data))
      return tvmffi_i_xla_no_alias(c, order, k);
    if (TVMFFI_I_UNLIKELY(!strides)) return -1;
  }
  return 0;
}

/* Writes how many arguments or results a call must have, and the names of their
   parameters: "1 to 2 arguments (x, bias)". */
TVMFFI_I_COLD void tvmffi_i_xla_say_counts(const tvmffi_i_xla_plan *plan,
                                           int is_result, tvmffi_i_text *text) {
  const int64_t more = is_result ? plan->returns_tensor : 0;
  const int64_t n = is_result ? plan->all.num_results : plan->all.num_args;
  const int64_t least = is_result ? plan->least_results : plan->least_args;
  const uint8_t *which = is_result ? plan->all.results : plan->all.args;
  int64_t i;
  tvmffi_i_append_int(text, least + more);
  if (n > least) {
    tvmffi_i_append(text, " to ");
    tvmffi_i_append_int(text, n + more);
  }
  tvmffi_i_append(text, is_result ? " result" : " argument");
  if (n + more != 1) tvmffi_i_append(text, "s");
  for (i = 0; i < n + more; ++i) {
    tvmffi_i_append(text, i ? ", " : " (");
    tvmffi_i_append(
        text, i < n ? plan->parameters[which[i]].name : "the returned tensor");
  }
  if (n + more) tvmffi_i_append(text, ")");
}

TVMFFI_I_COLD int tvmffi_i_xla_bad_count(const tvmffi_i_xla_call *c,
                                         int is_result) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  tvmffi_i_text text = {buffer, 0, sizeof(buffer)};
  const int64_t given = is_result ? c->frame->rets.size : c->frame->args.size;
  tvmffi_i_xla_say_counts(c->plan, is_result, &text);
  return tvmffi_i_raise("TypeError", "%s takes %s, but the call has %lld",
                        tvmffi_i_xla_name(c->handler), buffer,
                        (long long)given);
}

/* Decides which optional tensors a call has. If it has more arguments or
   results than it must have, the first optional tensors take the rest. */
TVMFFI_I_COLD int tvmffi_i_xla_choose(const tvmffi_i_xla_call *c,
                                      tvmffi_i_xla_order *order) {
  const tvmffi_i_xla_plan *plan = c->plan;
  int64_t args = c->frame->args.size - plan->least_args;
  int64_t results =
      c->frame->rets.size - plan->returns_tensor - plan->least_results;
  int32_t i;
  order->num_args = order->num_results = 0;
  if (args < 0) return tvmffi_i_xla_bad_count(c, 0);
  if (results < 0) return tvmffi_i_xla_bad_count(c, 1);
  for (i = 0; i < c->handler->func->num_args; ++i) {
    const tvmffi_i_xla_parameter *p = &plan->parameters[i];
    const int takes_arg = (p->role & TVMFFI_I_XLA_ARGUMENT) != 0;
    const int takes_result = (p->role & TVMFFI_I_XLA_RESULT) != 0;
    if (p->is_optional) {
      if (takes_arg > args || takes_result > results) continue;
      args -= takes_arg;
      results -= takes_result;
    }
    if (takes_arg) order->args[order->num_args++] = (uint8_t)i;
    if (takes_result) order->results[order->num_results++] = (uint8_t)i;
  }
  if (args) return tvmffi_i_xla_bad_count(c, 0);
  return results ? tvmffi_i_xla_bad_count(c, 1) : 0;
}

/* Sets the arguments of the tensors. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_xla_tensors(tvmffi_i_xla_call *c) {
  const tvmffi_i_xla_plan *plan = c->plan;
  const tvmffi_i_xla_order *order = &plan->all;
  tvmffi_i_xla_order chosen;
  if (TVMFFI_I_UNLIKELY(c->frame->args.size != plan->all.num_args ||
                        c->frame->rets.size !=
                            plan->all.num_results + plan->returns_tensor)) {
    TVMFFI_TRY(tvmffi_i_xla_choose(c, &chosen));
    order = &chosen;
  }
  return tvmffi_i_xla_views(c, order);
}

/* ---- Attributes ---- */

/* Converts one value of a scalar or an array. Returns 0, 1 if the dtype has no
   form, or -1 with an OverflowError. */
TVMFFI_I_COLD int tvmffi_i_xla_value(XLA_FFI_DataType dtype, const void *at,
                                     TVMFFIAny *out) {
  switch ((int)dtype) {
    case XLA_FFI_DataType_PRED:
      *out = tvmffi_bool(*(const uint8_t *)at != 0);
      return 0;
    case XLA_FFI_DataType_S8: *out = tvmffi_int(*(const int8_t *)at); return 0;
    case XLA_FFI_DataType_S16:
      *out = tvmffi_int(*(const int16_t *)at);
      return 0;
    case XLA_FFI_DataType_S32:
      *out = tvmffi_int(*(const int32_t *)at);
      return 0;
    case XLA_FFI_DataType_S64:
      *out = tvmffi_int(*(const int64_t *)at);
      return 0;
    case XLA_FFI_DataType_U8: *out = tvmffi_int(*(const uint8_t *)at); return 0;
    case XLA_FFI_DataType_U16:
      *out = tvmffi_int(*(const uint16_t *)at);
      return 0;
    case XLA_FFI_DataType_U32:
      *out = tvmffi_int(*(const uint32_t *)at);
      return 0;
    case XLA_FFI_DataType_U64:
      if (*(const uint64_t *)at > INT64_MAX)
        return tvmffi_i_too_large(*(const uint64_t *)at);
      *out = tvmffi_int((int64_t)*(const uint64_t *)at);
      return 0;
#if !TVMFFI_NO_FLOAT
    case XLA_FFI_DataType_F32:
      *out = tvmffi_float(*(const float *)at);
      return 0;
    case XLA_FFI_DataType_F64:
      *out = tvmffi_float(*(const double *)at);
      return 0;
#endif
    default: return 1;
  }
}

TVMFFI_I_COLD int tvmffi_i_xla_no_value(XLA_FFI_DataType dtype) {
  char text[TVMFFI_I_SAID];
  return tvmffi_i_raise("TypeError", "elements of %s are not supported",
                        tvmffi_i_say_dtype(*tvmffi_i_xla_dtype(dtype), text));
}

/* Sets *out to a new array object of the attribute's elements. */
TVMFFI_I_COLD int tvmffi_i_xla_array(const XLA_FFI_Array *array,
                                     TVMFFIAny *out) {
  const size_t step = tvmffi_i_xla_dtype(array->dtype)->bits / 8u;
  const size_t n = array->size;
  TVMFFIAny few[8], *items = few;
  size_t i;
  int code = 0;
  if (n > INT32_MAX)
    return tvmffi_i_raise("OverflowError", "too many elements");
  if (n > sizeof(few) / sizeof(few[0]))
    items = (TVMFFIAny *)TVMFFI_I_SCOPE_MALLOC(n * sizeof(*items));
  if (!items) return tvmffi_i_raise("MemoryError", "out of memory");
  for (i = 0; i < n && !code; ++i) {
    code = tvmffi_i_xla_value(array->dtype,
                              (const char *)array->data + i * step, items + i);
    if (code > 0) code = tvmffi_i_xla_no_value(array->dtype);
  }
  if (!code)
    code = tvmffi_i_call_cached(TVMFFI_I_NEW_ARRAY, items, (int32_t)n, out);
  if (items != few) TVMFFI_I_SCOPE_FREE((void *)items);
  return code;
}

/* Copies a text, because XLA's has no NUL at its end. */
TVMFFI_I_COLD int tvmffi_i_xla_text(const tvmffi_i_word *word,
                                    const XLA_FFI_ByteSpan *span,
                                    TVMFFIAny *out) {
  TVMFFIByteArray text;
  text.data = span->ptr;
  text.size = span->len;
  if (word->kind == TVMFFI_I_OPTIONAL) word = word->of[0];
  return word->kind == TVMFFI_I_BYTES ? TVMFFIBytesFromByteArray(&text, out)
                                      : TVMFFIStringFromByteArray(&text, out);
}

/* Converts attribute k of the call to the argument of parameter i. */
TVMFFI_I_SLOW TVMFFI_I_UNUSED int tvmffi_i_xla_attribute(tvmffi_i_xla_call *c,
                                                         int64_t k, int32_t i) {
  const XLA_FFI_AttrType type = c->frame->attrs.types[k];
  const void *at = c->frame->attrs.attrs[k];
  TVMFFIAny made = tvmffi_none();
  int code = 0;
  if (type == XLA_FFI_AttrType_SCALAR) {
    const XLA_FFI_Scalar *scalar = (const XLA_FFI_Scalar *)at;
    code = tvmffi_i_xla_value(scalar->dtype, scalar->value, &made);
    if (code > 0) code = tvmffi_i_xla_no_value(scalar->dtype);
  } else if (type == XLA_FFI_AttrType_STRING) {
    code = tvmffi_i_xla_text(c->handler->func->types[i + 1],
                             (const XLA_FFI_ByteSpan *)at, &made);
  } else if (type == XLA_FFI_AttrType_ARRAY) {
    code = tvmffi_i_xla_array((const XLA_FFI_Array *)at, &made);
  } else {
    code = tvmffi_i_raise("TypeError", "a dictionary is not supported");
  }
  if (code)
    return tvmffi_error_context(code, "%s: attribute %s",
                                tvmffi_i_xla_name(c->handler),
                                c->plan->parameters[i].name);
  c->args[i] = made;
  if (made.type_index >= kTVMFFIStaticObjectBegin) c->owned |= 1u << i;
  return 0;
}

/* Converts as tvmffi_i_xla_attribute does. An int64 or float64, which Python's
   numbers become, needs no call of it. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_xla_number(tvmffi_i_xla_call *c, int64_t k,
                                               int32_t i) {
  const XLA_FFI_Scalar *scalar =
      (const XLA_FFI_Scalar *)c->frame->attrs.attrs[k];
  if (TVMFFI_I_LIKELY(c->frame->attrs.types[k] == XLA_FFI_AttrType_SCALAR)) {
#if !TVMFFI_NO_FLOAT
    if (scalar->dtype == XLA_FFI_DataType_F64) {
      c->args[i] = tvmffi_float(*(const double *)scalar->value);
      return 0;
    }
#endif
    if (scalar->dtype == XLA_FFI_DataType_S64) {
      c->args[i] = tvmffi_int(*(const int64_t *)scalar->value);
      return 0;
    }
  }
  return tvmffi_i_xla_attribute(c, k, i);
}

TVMFFI_I_COLD int tvmffi_i_xla_unknown(const tvmffi_i_xla_call *c, int64_t k) {
  const XLA_FFI_ByteSpan *name = c->frame->attrs.names[k];
  const tvmffi_i_xla_plan *plan = c->plan;
  char buffer[TVMFFI_MESSAGE_SIZE / 2];
  tvmffi_i_text text = {buffer, 0, sizeof(buffer)};
  int32_t i;
  tvmffi_i_append(&text, plan->num_attributes ? "" : "none");
  for (i = 0; i < plan->num_attributes; ++i) {
    if (i) tvmffi_i_append(&text, ", ");
    tvmffi_i_append(&text, plan->parameters[plan->attributes[i]].name);
  }
  return tvmffi_i_raise(
      "TypeError", "%s has no attribute %.*s; its attributes: %s",
      tvmffi_i_xla_name(c->handler), (int)name->len, name->ptr, buffer);
}

/* Sets each argument to its default or None, because the call omits some. */
TVMFFI_I_COLD int tvmffi_i_xla_defaults(tvmffi_i_xla_call *c) {
  const tvmffi_func *f = c->handler->func;
  int32_t i;
  for (i = 0; i < f->num_args; ++i) c->args[i] = tvmffi_none();
  return f->defaults ? f->defaults(c->args) : 0;
}

/* Sets the arguments of the attributes from number n on, if the call has an
   attribute that the function has not, or the reverse. */
TVMFFI_I_COLD int tvmffi_i_xla_some_attributes(tvmffi_i_xla_call *c,
                                               int32_t n) {
  const XLA_FFI_Attrs *attrs = &c->frame->attrs;
  const tvmffi_i_xla_plan *plan = c->plan;
  int64_t k = n;
  for (; n < plan->num_attributes; ++n) {
    const int32_t i = plan->attributes[n];
    const tvmffi_i_xla_parameter *p = &plan->parameters[i];
    int order = -1;
    if (k < attrs->size)
      order = tvmffi_i_xla_compare(p->name, p->size, attrs->names[k]->ptr,
                                   attrs->names[k]->len);
    if (order > 0) break;
    if (!order)
      TVMFFI_TRY(tvmffi_i_xla_attribute(c, k++, i));
    else if (!p->is_optional)
      return tvmffi_i_raise("TypeError", "%s: the attribute %s is missing",
                            tvmffi_i_xla_name(c->handler), p->name);
  }
  return k < attrs->size ? tvmffi_i_xla_unknown(c, k) : 0;
}

TVMFFI_I_INLINE int tvmffi_i_xla_is_name(const tvmffi_i_xla_parameter *p,
                                         const XLA_FFI_ByteSpan *name) {
  size_t i = 0;
  if (p->size != name->len) return 0;
  while (i < p->size && p->name[i] == name->ptr[i]) ++i;
  return i == p->size;
}

/* Sets the arguments of the attributes. Both the call's and the function's are
   sorted by name. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_xla_attributes(tvmffi_i_xla_call *c) {
  const XLA_FFI_Attrs *attrs = &c->frame->attrs;
  const tvmffi_i_xla_plan *plan = c->plan;
  int32_t n;
  for (n = 0; n < plan->num_attributes && n < attrs->size; ++n) {
    const int32_t i = plan->attributes[n];
    if (TVMFFI_I_UNLIKELY(
            !tvmffi_i_xla_is_name(&plan->parameters[i], attrs->names[n])))
      break;
    TVMFFI_TRY(tvmffi_i_xla_number(c, n, i));
  }
  return TVMFFI_I_LIKELY(n == plan->num_attributes && n == attrs->size)
             ? 0
             : tvmffi_i_xla_some_attributes(c, n);
}

/* If the call failed because an attribute has the wrong type, prefixes the
   error with the attribute's name. The error itself has only a number. */
TVMFFI_I_COLD void tvmffi_i_xla_name_attribute(const tvmffi_i_xla_call *c) {
  const tvmffi_func *f = c->handler->func;
  TVMFFIObject *error = tvmffi_i_error_remove();
  const char *name = NULL;
  TVMFFIAny to;
  int32_t i;
  for (i = f->num_args - 1; i >= 0 && !name; --i) {
    int code = 0;
    if (!c->plan->parameters[i].role)
      code = tvmffi_i_convert_item(f->types[i + 1], &c->args[i], &to);
    if (code == TVMFFI_I_CONVERTED)
      tvmffi_i_any_release(&to);
    else if (code)
      name = c->plan->parameters[i].name;
  }
  tvmffi_error_clear();
  (void)tvmffi_i_error_restore(error);
  if (name) (void)tvmffi_error_context(-1, "attribute %s", name);
}

/* ---- A returned tensor ---- */

/* Copies the returned tensor to XLA's buffer. */
TVMFFI_I_COLD int tvmffi_i_xla_copy_result(tvmffi_i_xla_call *c,
                                           const TVMFFIAny *result) {
  const char *name = tvmffi_i_xla_name(c->handler);
  const tvmffi_i_plan any = TVMFFI_I_ZERO;
  const XLA_FFI_Buffer *to =
      (const XLA_FFI_Buffer *)c->frame->rets.rets[c->frame->rets.size - 1];
  const DLDataType dtype = *tvmffi_i_xla_dtype(to->dtype);
  const DLTensor *from;
  DLTensor want = TVMFFI_I_ZERO;
  char one[TVMFFI_I_SAID], two[TVMFFI_I_SAID];
  if (result->type_index != kTVMFFITensor)
    return tvmffi_i_raise("TypeError", "%s: the result is no tensor", name);
  from = TVMFFITensorGetDLTensorPtr(result->v_obj);
  if (!tvmffi_i_dtype_equal(from->dtype, dtype))
    return tvmffi_i_raise(
        "TypeError", "%s: the result: dtype is %s, but XLA's is %s", name,
        tvmffi_i_say_dtype(from->dtype, one), tvmffi_i_say_dtype(dtype, two));
  want.ndim = (int32_t)to->rank;
  want.shape = to->dims;
  if (from->ndim != want.ndim ||
      (want.ndim && memcmp(from->shape, want.shape,
                           (size_t)want.ndim * sizeof(*want.shape)) != 0))
    return tvmffi_i_raise(
        "ValueError", "%s: the result: shape is %s, but XLA's is %s", name,
        tvmffi_i_say_shape(from, one), tvmffi_i_say_shape(&want, two));
  if (from->device.device_type != kDLCPU || tvmffi_i_data_fits(&any, from))
    return tvmffi_i_raise("ValueError",
                          "%s: the result is not contiguous on the CPU", name);
  if (tvmffi_tensor_size(from))
    memcpy(to->data, TVMFFI_DATA(from, void), tvmffi_tensor_bytes(from));
  return 0;
}

/* ---- Errors ---- */

/* Returns the code of XLA for the kind of an error. */
TVMFFI_I_COLD XLA_FFI_Error_Code tvmffi_i_xla_code(TVMFFIObjectHandle error) {
  static const struct {
    const char *kind;
    XLA_FFI_Error_Code code;
  } codes[] = {{"ValueError", XLA_FFI_Error_Code_INVALID_ARGUMENT},
               {"TypeError", XLA_FFI_Error_Code_INVALID_ARGUMENT},
               {"OverflowError", XLA_FFI_Error_Code_OUT_OF_RANGE},
               {"IndexError", XLA_FFI_Error_Code_OUT_OF_RANGE},
               {"KeyError", XLA_FFI_Error_Code_NOT_FOUND},
               {"AttributeError", XLA_FFI_Error_Code_NOT_FOUND},
               {"FileNotFoundError", XLA_FFI_Error_Code_NOT_FOUND},
               {"FileExistsError", XLA_FFI_Error_Code_ALREADY_EXISTS},
               {"PermissionError", XLA_FFI_Error_Code_PERMISSION_DENIED},
               {"TimeoutError", XLA_FFI_Error_Code_DEADLINE_EXCEEDED},
               {"MemoryError", XLA_FFI_Error_Code_RESOURCE_EXHAUSTED},
               {"NotImplementedError", XLA_FFI_Error_Code_UNIMPLEMENTED},
               {"KeyboardInterrupt", XLA_FFI_Error_Code_CANCELLED},
               {"AssertionError", XLA_FFI_Error_Code_INTERNAL},
               {"InternalError", XLA_FFI_Error_Code_INTERNAL},
               {"RuntimeError", XLA_FFI_Error_Code_INTERNAL}};
  size_t i;
  for (i = 0; i < sizeof(codes) / sizeof(codes[0]); ++i)
    if (tvmffi_error_is(error, codes[i].kind)) return codes[i].code;
  return XLA_FFI_Error_Code_UNKNOWN;
}

TVMFFI_I_COLD XLA_FFI_Error *tvmffi_i_xla_error(const XLA_FFI_Api *api,
                                                XLA_FFI_Error_Code code,
                                                const char *message) {
  XLA_FFI_Error_Create_Args args = TVMFFI_I_ZERO;
  args.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
  args.message = message;
  args.errc = code;
  return api->XLA_FFI_Error_Create(&args);
}

/* Returns the pending error as XLA's, with the text "ValueError: ...". */
TVMFFI_I_SLOW TVMFFI_I_UNUSED XLA_FFI_Error *tvmffi_i_xla_pending(
    const XLA_FFI_Api *api) {
  TVMFFIObject *error = tvmffi_i_error_remove();
  const TVMFFIErrorCell *cell = error ? TVMFFIErrorGetCellPtr(error) : NULL;
  tvmffi_i_text text = TVMFFI_I_ZERO;
  XLA_FFI_Error *made;
  if (!cell)
    return tvmffi_i_xla_error(api, XLA_FFI_Error_Code_UNKNOWN,
                              "the function failed without an error");
  text.capacity = cell->kind.size + cell->message.size + 3;
  text.data = (char *)TVMFFI_I_SCOPE_MALLOC(text.capacity);
  if (text.data) {
    tvmffi_i_append(&text, cell->kind.data);
    tvmffi_i_append(&text, ": ");
    tvmffi_i_append(&text, cell->message.data);
  }
  made = tvmffi_i_xla_error(api, tvmffi_i_xla_code(error),
                            text.data ? text.data : cell->message.data);
  if (text.data) TVMFFI_I_SCOPE_FREE(text.data);
  tvmffi_i_release(error);
  return made;
}

/* Drops an error of XLA's API. Returns 1 if there was one, else 0. */
TVMFFI_I_INLINE int tvmffi_i_xla_drop(const XLA_FFI_Api *api,
                                      XLA_FFI_Error *error) {
  XLA_FFI_Error_Destroy_Args args = TVMFFI_I_ZERO;
  if (!error) return 0;
  args.struct_size = XLA_FFI_Error_Destroy_Args_STRUCT_SIZE;
  args.error = error;
  api->XLA_FFI_Error_Destroy(&args);
  return 1;
}

/* ---- Devices other than the CPU ---- */

/* Makes XLA's stream the current one of the call's device. The call's end
   brings back c->stream. */
TVMFFI_I_COLD int tvmffi_i_xla_enter_device(tvmffi_i_xla_call *c) {
  const XLA_FFI_Api *api = c->frame->api;
  XLA_FFI_DeviceOrdinal_Get_Args device = TVMFFI_I_ZERO;
  XLA_FFI_Stream_Get_Args current = TVMFFI_I_ZERO;
  if (api->struct_size <
      XLA_FFI_STRUCT_SIZE(XLA_FFI_Api, XLA_FFI_DeviceOrdinal_Get))
    return tvmffi_i_raise("NotImplementedError",
                          "this XLA does not tell the number of its device");
  device.struct_size = XLA_FFI_DeviceOrdinal_Get_Args_STRUCT_SIZE;
  device.ctx = c->frame->ctx;
  current.struct_size = XLA_FFI_Stream_Get_Args_STRUCT_SIZE;
  current.ctx = c->frame->ctx;
  if (tvmffi_i_xla_drop(api, api->XLA_FFI_DeviceOrdinal_Get(&device)) ||
      tvmffi_i_xla_drop(api, api->XLA_FFI_Stream_Get(&current)))
    return tvmffi_i_raise("RuntimeError",
                          "XLA has no device and stream for this call");
  c->device_id = device.device_ordinal;
  return TVMFFIEnvSetStream((int32_t)c->handler->device_type, c->device_id,
                            current.stream, &c->stream);
}

TVMFFI_I_COLD int tvmffi_i_xla_leave_device(const tvmffi_i_xla_call *c,
                                            int code) {
  const int failed = TVMFFIEnvSetStream((int32_t)c->handler->device_type,
                                        c->device_id, c->stream, NULL);
  return code ? code : failed;
}

/* ---- The call ---- */

/* Calls the function with the arguments. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_xla_invoke(tvmffi_i_xla_call *c) {
  const tvmffi_func *f = c->handler->func;
  TVMFFIAny result = tvmffi_none();
  int code;
  TVMFFI_TRY(tvmffi_i_xla_tensors(c));
  TVMFFI_TRY(tvmffi_i_xla_attributes(c));
  code = f->call(NULL, c->args, f->num_args, &result);
  if (TVMFFI_I_UNLIKELY(code)) tvmffi_i_xla_name_attribute(c);
  if (TVMFFI_I_UNLIKELY(c->plan->returns_tensor) && !code)
    code = tvmffi_i_xla_copy_result(c, &result);
  tvmffi_i_any_release(&result);
  return code;
}

TVMFFI_I_COLD void tvmffi_i_xla_release(tvmffi_i_xla_call *c) {
  int32_t i;
  for (i = 0; c->owned >> i; ++i)
    if (c->owned >> i & 1) tvmffi_i_any_release(&c->args[i]);
}

/* Returns 1 if XLA's call frame is the one of c_api.h, else 0. A newer XLA may
   add members at its end, but structs inside it cannot grow. */
TVMFFI_I_INLINE int tvmffi_i_xla_is_known(const XLA_FFI_CallFrame *frame) {
  return frame->struct_size >= XLA_FFI_CallFrame_STRUCT_SIZE &&
         frame->args.struct_size == XLA_FFI_Args_STRUCT_SIZE &&
         frame->rets.struct_size == XLA_FFI_Rets_STRUCT_SIZE &&
         frame->attrs.struct_size == XLA_FFI_Attrs_STRUCT_SIZE;
}

/* Answers XLA's question for the version of the API and the traits. A function
   that XLA cannot call fails here, at its registration. */
TVMFFI_I_COLD int tvmffi_i_xla_describe(
    const tvmffi_i_xla_handler *h,
    const XLA_FFI_Metadata_Extension *extension) {
  XLA_FFI_Metadata *metadata = extension->metadata;
  if (extension->extension_base.struct_size <
          XLA_FFI_Metadata_Extension_STRUCT_SIZE ||
      metadata->struct_size < XLA_FFI_Metadata_STRUCT_SIZE)
    return tvmffi_i_raise("RuntimeError", "this XLA is older than its c_api.h");
  metadata->api_version.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE;
  metadata->api_version.extension_start = NULL;
  metadata->api_version.major_version = XLA_FFI_API_MAJOR;
  metadata->api_version.minor_version = XLA_FFI_API_MINOR;
  metadata->traits = h->traits;
  return 0;
}

/* Returns the extension that asks for metadata, or NULL. */
TVMFFI_I_COLD const XLA_FFI_Metadata_Extension *tvmffi_i_xla_question(
    const XLA_FFI_CallFrame *frame) {
  const XLA_FFI_Extension_Base *e = frame->extension_start;
  while (e && e->type != XLA_FFI_Extension_Metadata) e = e->next;
  return (const XLA_FFI_Metadata_Extension *)(const void *)e;
}

TVMFFI_I_COLD int tvmffi_i_xla_bad_stage(const tvmffi_i_xla_handler *h,
                                         const XLA_FFI_CallFrame *frame) {
  return tvmffi_i_raise("ValueError",
                        "%s is a handler of the stage execute, not of the "
                        "stage %d",
                        tvmffi_i_xla_name(h), (int)frame->stage);
}

/* Executes the function. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_xla_execute(
    const tvmffi_i_xla_handler *h, const tvmffi_i_xla_plan *plan,
    const XLA_FFI_CallFrame *frame) {
  const int is_device = h->device_type != kDLCPU;
  tvmffi_i_xla_call c;
  int code;
  if (TVMFFI_I_UNLIKELY(frame->stage != XLA_FFI_ExecutionStage_EXECUTE))
    return tvmffi_i_xla_bad_stage(h, frame);
  c.handler = h;
  c.plan = plan;
  c.frame = frame;
  c.device_id = 0;
  c.owned = 0;
  if (TVMFFI_I_UNLIKELY(frame->args.size + frame->rets.size +
                            frame->attrs.size <
                        plan->num_values))
    TVMFFI_TRY(tvmffi_i_xla_defaults(&c));
  if (TVMFFI_I_UNLIKELY(is_device)) TVMFFI_TRY(tvmffi_i_xla_enter_device(&c));
  code = tvmffi_i_xla_invoke(&c);
  if (TVMFFI_I_UNLIKELY(c.owned)) tvmffi_i_xla_release(&c);
  return TVMFFI_I_UNLIKELY(is_device) ? tvmffi_i_xla_leave_device(&c, code)
                                      : code;
}

/* Implements TVMFFI_XLA_HANDLER. Returns NULL, or an error, which XLA owns. */
TVMFFI_I_UNUSED static XLA_FFI_Error *tvmffi_i_xla_run(
    tvmffi_i_xla_handler *h, const XLA_FFI_CallFrame *frame) {
  tvmffi_i_xla_plan own;
  const tvmffi_i_xla_plan *plan = h->plan;
  const XLA_FFI_Metadata_Extension *question = NULL;
  int code = 0;
  if (TVMFFI_I_UNLIKELY(!tvmffi_i_xla_is_known(frame)))
    return tvmffi_i_xla_error(frame->api,
                              XLA_FFI_Error_Code_FAILED_PRECONDITION,
                              "this XLA's call frame is not that of c_api.h: "
                              "compile with this jaxlib's");
  if (TVMFFI_I_UNLIKELY(tvmffi_i_load64(&h->state) != 2)) {
    code = tvmffi_i_xla_first_call(h, &own);
    plan = &own;
  }
  if (TVMFFI_I_UNLIKELY(frame->extension_start))
    question = tvmffi_i_xla_question(frame);
  if (TVMFFI_I_LIKELY(!code))
    code = TVMFFI_I_UNLIKELY(question) ? tvmffi_i_xla_describe(h, question)
                                       : tvmffi_i_xla_execute(h, plan, frame);
  return TVMFFI_I_UNLIKELY(code) ? tvmffi_i_xla_pending(frame->api) : NULL;
}

/* Makes the typed function `name` a handler of XLA's FFI, the exported symbol
   tvmffi_xla_NAME, behind TVMFFI_EXPORT or TVMFFI_FUNC:
       TVMFFI_XLA_HANDLER(axpy)
       TVMFFI_XLA_HANDLER(scale, cuda)
       TVMFFI_XLA_HANDLER(add, cuda,
                          XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE)
   The device is cpu (the default), cuda or rocm. The last argument is the
   handler's traits. The handler is thread-safe if the function is. */
#define TVMFFI_XLA_HANDLER(...)                                    \
  TVMFFI_I_CAT(TVMFFI_I_XLA_HANDLER_, TVMFFI_I_COUNT(__VA_ARGS__)) \
  (__VA_ARGS__)
#define TVMFFI_I_XLA_HANDLER_1(name) TVMFFI_I_XLA_HANDLER_3(name, cpu, 0)
#define TVMFFI_I_XLA_HANDLER_2(name, device) \
  TVMFFI_I_XLA_HANDLER_3(name, device, 0)
#define TVMFFI_I_XLA_HANDLER_3(name, device, traits)               \
  TVMFFI_I_EXPORTED XLA_FFI_Error *tvmffi_xla_##name(              \
      XLA_FFI_CallFrame *tvmffi_frame);                            \
  TVMFFI_I_EXPORTED XLA_FFI_Error *tvmffi_xla_##name(              \
      XLA_FFI_CallFrame *tvmffi_frame) {                           \
    static tvmffi_i_xla_plan tvmffi_plan;                          \
    static tvmffi_i_xla_handler tvmffi_handler = {                 \
        TVMFFI_I_FUNC(name), TVMFFI_I_XLA_DEVICE_##device, traits, \
        &tvmffi_plan, 0};                                          \
    return tvmffi_i_xla_run(&tvmffi_handler, tvmffi_frame);        \
  }
#define TVMFFI_I_XLA_DEVICE_cpu kDLCPU
#define TVMFFI_I_XLA_DEVICE_cuda kDLCUDA
#define TVMFFI_I_XLA_DEVICE_rocm kDLROCM

#ifdef __cplusplus
}
#endif

#endif /* TVMFFI_XLA_H_ */
