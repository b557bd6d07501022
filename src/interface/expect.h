/* ======== Tensor checks ================================== >>interface/expect
   device, dtype and shape of tensors */
/* C interface: checks of tensors in one statement, addresses of elements, loops
   over tensors with any strides, float16 and bfloat16, new tensors. Tensors are
   borrowed, `const DLTensor *`; strides count elements. Nothing is shared but
   the plan of each TVMFFI_EXPECT, which is written once and then only read. */

#pragma once

#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "word.h"
#include "mismatch.h"
#include "schema.h"
#include "function.h"

/* Checks tensors and returns from the calling function, with -1 and an error,
   unless all are as expected. Each is given with what it should be:
       TVMFFI_EXPECT((x, "float32[n, m] cpu"), (y, "float32[m] cpu"));
   raises, say: ValueError: f: argument y: dimension m is 3, but 4 in x
   Up to 16 tensors. The text must be a literal, and is read once:
     text   = dtypes [shape] {" " word}
     dtypes = "any" | "same" (as the first tensor's) | dtype {"|" dtype}
     shape  = "[" [dim {"," dim}] "]", up to 8 dims; without it, any shape
     dim    = name (all of a name are equal, in all tensors) | number | "_"
              | "..." (any number of dims) | "*" name (that are equal, too)
     word   = device ("cpu", "cuda:1"; default: any) | "strided" | "align(N)"
   One "..." or "*name" may stand anywhere in a shape. A tensor has to be
   contiguous unless its text says "strided"; align(N) is the alignment of the
   first element in bytes, a power of 2. Data may be NULL in an empty tensor
   only. A wrong dtype is a TypeError, all else a ValueError; a text that cannot
   be read is an InternalError. Any thread may come first. */
#define TVMFFI_EXPECT(...) \
  TVMFFI_I_EXPECT(TVMFFI_I_COUNT(~, __VA_ARGS__), ~, __VA_ARGS__)
#define TVMFFI_I_EXPECT(n, ...) TVMFFI_I_EXPECT_(n, __VA_ARGS__)
#define TVMFFI_I_EXPECT_(n, ...)                                          \
  do {                                                                    \
    static const tvmffi_i_expected tvmffi_expected[] = {                  \
        TVMFFI_I_REST(n)(TVMFFI_I_EXPECT_TEXT, __VA_ARGS__){NULL, NULL}}; \
    static tvmffi_i_plan tvmffi_plans[(n) - 1];                           \
    static tvmffi_i_site tvmffi_site = {                                  \
        0, __FILE__, tvmffi_expected, tvmffi_plans, __LINE__, (n) - 1};   \
    const DLTensor *const tvmffi_tensors[] = {                            \
        TVMFFI_I_REST(n)(TVMFFI_I_EXPECT_TENSOR, __VA_ARGS__) NULL};      \
    TVMFFI_TRY(tvmffi_i_expect(&tvmffi_site, tvmffi_tensors, __func__));  \
  } while (0)
#define TVMFFI_I_EXPECT_TEXT(i, p) TVMFFI_I_EXPECT_TEXT_ p,
#define TVMFFI_I_EXPECT_TEXT_(tensor, text) {#tensor, "" text}
#define TVMFFI_I_EXPECT_TENSOR(i, p) TVMFFI_I_EXPECT_TENSOR_ p,
#define TVMFFI_I_EXPECT_TENSOR_(tensor, text) (tensor)

typedef struct {
  const char *name, *text;
} tvmffi_i_expected;

/* A dimension: of a number, of that dimension of that tensor (a dimension
   behind the "..." counts from the end, -1 is the last), or any (-1, -1). The
   name stands in the text. */
typedef struct {
  int64_t extent;
  int8_t tensor, dim;
  uint8_t name, name_size;
} tvmffi_i_dim;

enum { TVMFFI_I_DTYPES = 4, TVMFFI_I_DIMS = 8, TVMFFI_I_EXPECTED = 16 };

/* A text of TVMFFI_EXPECT, as it was read. */
typedef struct {
  DLDataType dtypes[TVMFFI_I_DTYPES];
  int8_t num_dtypes; /* 0: any, -1: the first tensor's */
  int8_t num_dims;   /* without the run of "..." or "*name" */
  int8_t front;      /* how many of them stand before the run */
  uint8_t has_run, strided;
  tvmffi_i_dim run;               /* extent is not used */
  int32_t device_type, device_id; /* 0, -1: any */
  uint32_t align_mask;
  tvmffi_i_dim dims[TVMFFI_I_DIMS];
} tvmffi_i_plan;

/* A TVMFFI_EXPECT. The plans are there once the state is 2. */
typedef struct {
  uint64_t state; /* 0, 1 while a thread writes the plans */
  const char *file;
  const tvmffi_i_expected *expected;
  tvmffi_i_plan *plans;
  int32_t line, count;
} tvmffi_i_site;

/* What is wrong with a tensor. Of a code the lowest byte is one of these, the
   next one tells the tensor, the rest the dimension. */
#define TVMFFI_I_MISFIT(code, dim) ((code) | (int)(dim) << 16)
enum {
  TVMFFI_I_PLAN_FITS,
  TVMFFI_I_NO_TENSOR,
  TVMFFI_I_NO_SHAPE,
  TVMFFI_I_NO_DATA,
  TVMFFI_I_BAD_DTYPE,
  TVMFFI_I_BAD_DEVICE,
  TVMFFI_I_BAD_RANK,
  TVMFFI_I_BAD_EXTENT,
  TVMFFI_I_BAD_RUN,
  TVMFFI_I_BAD_RUN_RANK,
  TVMFFI_I_NEGATIVE,
  TVMFFI_I_TOO_MANY,
  TVMFFI_I_NOT_CONTIGUOUS,
  TVMFFI_I_NOT_ALIGNED
};

TVMFFI_I_INLINE int tvmffi_i_dtype_equal(DLDataType a, DLDataType b) {
  return ((a.code ^ b.code) | (a.bits ^ b.bits) | (a.lanes ^ b.lanes)) == 0;
}

TVMFFI_I_INLINE int tvmffi_i_dtype_fits(const tvmffi_i_plan *p,
                                        const DLTensor *t,
                                        const DLTensor *first) {
  int i;
  if (p->num_dtypes < 0) return tvmffi_i_dtype_equal(t->dtype, first->dtype);
  for (i = 0; i < p->num_dtypes; ++i)
    if (tvmffi_i_dtype_equal(t->dtype, p->dtypes[i])) return 1;
  return p->num_dtypes == 0;
}

/* The extent of the dimension that `want` refers to. */
TVMFFI_I_INLINE int64_t tvmffi_i_extent(const tvmffi_i_dim *want,
                                        const DLTensor *const *tensors) {
  const DLTensor *t = tensors[want->tensor];
  return t->shape[want->dim < 0 ? t->ndim + want->dim : want->dim];
}

/* Whether the run's dimensions are those of the run that it is bound to. */
TVMFFI_I_INLINE int tvmffi_i_run_fits(const tvmffi_i_plan *plans,
                                      const tvmffi_i_plan *p,
                                      const DLTensor *const *tensors,
                                      const DLTensor *t) {
  const tvmffi_i_plan *other = &plans[p->run.tensor];
  const DLTensor *o = tensors[p->run.tensor];
  int32_t rank = t->ndim - p->num_dims, i;
  if (rank != o->ndim - other->num_dims) return TVMFFI_I_BAD_RUN_RANK;
  for (i = 0; i < rank; ++i)
    if (t->shape[p->front + i] != o->shape[other->front + i])
      return TVMFFI_I_MISFIT(TVMFFI_I_BAD_RUN, i);
  return TVMFFI_I_PLAN_FITS;
}

TVMFFI_I_INLINE int tvmffi_i_shape_fits(const tvmffi_i_plan *plans,
                                        const tvmffi_i_plan *p,
                                        const DLTensor *const *tensors,
                                        const DLTensor *t) {
  int32_t rank = t->ndim - p->num_dims, i;
  if (p->has_run ? rank < 0 : rank != 0) return TVMFFI_I_BAD_RANK;
  if (t->ndim && !t->shape) return TVMFFI_I_NO_SHAPE;
  for (i = 0; i < p->num_dims; ++i) {
    const tvmffi_i_dim *want = &p->dims[i];
    int64_t extent = t->shape[i < p->front ? i : i + rank];
    if (want->tensor >= 0 ? extent != tvmffi_i_extent(want, tensors)
                          : extent != want->extent && want->extent >= 0)
      return TVMFFI_I_MISFIT(TVMFFI_I_BAD_EXTENT, i);
  }
  return p->has_run && p->run.tensor >= 0
             ? tvmffi_i_run_fits(plans, p, tensors, t)
             : TVMFFI_I_PLAN_FITS;
}

/* Multiplies extents or strides of a tensor that nobody has checked. Returns
   INT64_MAX for a product that does not fit. */
TVMFFI_I_INLINE int64_t tvmffi_i_times(int64_t a, int64_t b) {
#if TVMFFI_I_HAS_MUL_OVERFLOW
  int64_t product;
  return TVMFFI_I_LIKELY(!__builtin_mul_overflow(a, b, &product)) ? product
                                                                  : INT64_MAX;
#else
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
  uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  if (TVMFFI_I_UNLIKELY((x | y) >> 31) && y && x > (uint64_t)INT64_MAX / y)
    return INT64_MAX;
  return a * b;
#endif
}

TVMFFI_I_INLINE int tvmffi_i_data_fits(const tvmffi_i_plan *p,
                                       const DLTensor *t) {
  const int64_t *strides = t->strides;
  int64_t step = 1, gap = 0;
  int32_t i;
  int is_empty = 0;
  for (i = t->ndim - 1; i >= 0; --i) {
    int64_t extent = t->shape[i];
    if (extent != 1) {
      if (extent < 0) return TVMFFI_I_MISFIT(TVMFFI_I_NEGATIVE, i);
      is_empty |= extent == 0;
      if (strides) gap |= strides[i] ^ step;
      step = tvmffi_i_times(step, extent);
    }
  }
  if (is_empty) return TVMFFI_I_PLAN_FITS;
  if (step == INT64_MAX) return TVMFFI_I_TOO_MANY;
  if (!t->data) return TVMFFI_I_NO_DATA;
  if (gap && !p->strided) return TVMFFI_I_NOT_CONTIGUOUS;
  if (((uintptr_t)t->data + (uintptr_t)t->byte_offset) & p->align_mask)
    return TVMFFI_I_NOT_ALIGNED;
  return TVMFFI_I_PLAN_FITS;
}

/* Checks all tensors; the code of the first that does not fit. */
TVMFFI_I_INLINE int tvmffi_i_fit_plans(const tvmffi_i_plan *plans,
                                       int32_t count,
                                       const DLTensor *const *tensors) {
  int32_t i;
  for (i = 0; i < count; ++i) {
    const tvmffi_i_plan *p = &plans[i];
    const DLTensor *t = tensors[i];
    int code = TVMFFI_I_PLAN_FITS;
    if (!t)
      code = TVMFFI_I_NO_TENSOR;
    else if (!tvmffi_i_dtype_fits(p, t, tensors[0]))
      code = TVMFFI_I_BAD_DTYPE;
    else if ((p->device_type &&
              (int32_t)t->device.device_type != p->device_type) ||
             (p->device_id >= 0 && t->device.device_id != p->device_id))
      code = TVMFFI_I_BAD_DEVICE;
    if (!code) code = tvmffi_i_shape_fits(plans, p, tensors, t);
    if (!code) code = tvmffi_i_data_fits(p, t);
    if (TVMFFI_I_UNLIKELY(code)) return code | i << 8;
  }
  return TVMFFI_I_PLAN_FITS;
}

TVMFFI_I_INLINE int tvmffi_i_plan_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
TVMFFI_I_INLINE int tvmffi_i_plan_digit(char c) { return c >= '0' && c <= '9'; }

/* Tells whether the next word is `word`, and then goes behind it. */
TVMFFI_I_COLD int tvmffi_i_plan_skip(const char **at, const char *word) {
  const char *p = *at;
  while (*word && *p == *word) ++p, ++word;
  if (*word || tvmffi_i_plan_letter(*p) || tvmffi_i_plan_digit(*p)) return 0;
  *at = p;
  return 1;
}

/* The readers below go on in the text, and give NULL, or what is wrong. */
TVMFFI_I_COLD const char *tvmffi_i_plan_number(const char **at, int64_t most,
                                               int64_t *out) {
  if (!tvmffi_i_plan_digit(**at)) return "a number is missing";
  for (*out = 0; tvmffi_i_plan_digit(**at); ++*at) {
    if (*out > (most - (**at - '0')) / 10) return "the number is too large";
    *out = *out * 10 + (**at - '0');
  }
  return NULL;
}

TVMFFI_I_COLD const char *tvmffi_i_plan_dtypes(tvmffi_i_plan *p,
                                               const char **at) {
  TVMFFIByteArray word;
  if (tvmffi_i_plan_skip(at, "any")) return NULL;
  p->num_dtypes = -1;
  if (tvmffi_i_plan_skip(at, "same")) return NULL;
  for (p->num_dtypes = 0;; ++*at) {
    if (p->num_dtypes == TVMFFI_I_DTYPES) return "more than 4 dtypes";
    word.data = *at;
    while (tvmffi_i_plan_letter(**at) || tvmffi_i_plan_digit(**at)) ++*at;
    word.size = (size_t)(*at - word.data);
    if (!word.size) return "a dtype is missing";
    if (TVMFFIDataTypeFromString(&word, &p->dtypes[(int)p->num_dtypes++])) {
      *at = word.data;
      return "the dtype is not known";
    }
    if (**at != '|') return NULL;
  }
}

TVMFFI_I_COLD const char *tvmffi_i_plan_name(tvmffi_i_dim *d, const char *text,
                                             const char **at) {
  const char *begin = *at;
  if (!tvmffi_i_plan_letter(**at)) return "a dimension is missing";
  while (tvmffi_i_plan_letter(**at) || tvmffi_i_plan_digit(**at)) ++*at;
  d->name = (uint8_t)(begin - text);
  d->name_size = (uint8_t)(*at - begin);
  return NULL;
}

TVMFFI_I_COLD const char *tvmffi_i_plan_dim(tvmffi_i_plan *p, const char *text,
                                            const char **at) {
  tvmffi_i_dim *d = &p->dims[(int)p->num_dims];
  if (**at == '.' || **at == '*') {
    if (p->has_run) return "a second \"...\" or \"*\"";
    p->has_run = 1;
    p->front = p->num_dims;
    if (**at == '*') return ++*at, tvmffi_i_plan_name(&p->run, text, at);
    if ((*at)[1] != '.' || (*at)[2] != '.') return "a dimension is missing";
    *at += 3;
    return NULL;
  }
  if (p->num_dims == TVMFFI_I_DIMS) return "more than 8 dimensions";
  ++p->num_dims;
  d->extent = d->tensor = -1;
  if (tvmffi_i_plan_skip(at, "_")) return NULL;
  if (tvmffi_i_plan_digit(**at))
    return tvmffi_i_plan_number(at, INT64_MAX, &d->extent);
  return tvmffi_i_plan_name(d, text, at);
}

TVMFFI_I_COLD const char *tvmffi_i_plan_shape(tvmffi_i_plan *p,
                                              const char *text,
                                              const char **at) {
  const char *wrong;
  p->run.tensor = -1;
  p->has_run = **at != '[';
  if (p->has_run) return NULL;
  ++*at;
  while (**at == ' ') ++*at;
  while (**at != ']') {
    wrong = tvmffi_i_plan_dim(p, text, at);
    if (wrong) return wrong;
    while (**at == ' ') ++*at;
    if (**at != ',' && **at != ']') return "\",\" or \"]\" is missing";
    if (**at == ',')
      while (*++*at == ' ') {
      }
  }
  ++*at;
  if (!p->has_run) p->front = p->num_dims;
  return NULL;
}

TVMFFI_I_COLD const char *tvmffi_i_plan_word(tvmffi_i_plan *p,
                                             const char **at) {
  TVMFFIByteArray word;
  DLDevice device;
  int64_t bytes;
  const char *wrong;
  word.data = *at;
  if (tvmffi_i_plan_skip(at, "strided")) {
    p->strided = 1;
    return NULL;
  }
  if (tvmffi_i_plan_skip(at, "align")) {
    if (**at != '(') return "\"(\" is missing";
    ++*at;
    wrong = tvmffi_i_plan_number(at, 1 << 30, &bytes);
    if (wrong) return wrong;
    if (**at != ')') return "\")\" is missing";
    ++*at;
    p->align_mask = (uint32_t)bytes - 1;
    return bytes & (bytes - 1) || !bytes ? "this is no power of 2" : NULL;
  }
  p->device_id = -1;
  while (**at && **at != ' ')
    if (*(*at)++ == ':') p->device_id = 0;
  word.size = (size_t)(*at - word.data);
  if (tvmffi_i_parse_device(word, &device)) {
    *at = word.data;
    return "the word is not known";
  }
  p->device_type = (int32_t)device.device_type;
  if (p->device_id == 0) p->device_id = device.device_id;
  return NULL;
}

TVMFFI_I_COLD const char *tvmffi_i_plan_text(tvmffi_i_plan *p, const char *text,
                                             const char **at) {
  const tvmffi_i_plan zero = TVMFFI_I_ZERO;
  const char *wrong;
  *p = zero;
  p->device_id = -1;
  *at = text;
  if (tvmffi_view(text).size > UINT8_MAX) return "the text is too long";
  wrong = tvmffi_i_plan_dtypes(p, at);
  if (!wrong) wrong = tvmffi_i_plan_shape(p, text, at);
  while (!wrong && **at) {
    if (**at != ' ') return "a space is missing";
    while (**at == ' ') ++*at;
    if (**at) wrong = tvmffi_i_plan_word(p, at);
  }
  return wrong;
}

TVMFFI_I_COLD int tvmffi_i_plan_same(const char *a, const tvmffi_i_dim *x,
                                     const char *b, const tvmffi_i_dim *y) {
  int i = 0;
  while (i < x->name_size && a[x->name + i] == b[y->name + i]) ++i;
  return x->name_size == y->name_size && i == x->name_size;
}

/* Finds where each name of plan `n` was met first. */
TVMFFI_I_COLD void tvmffi_i_plan_bind(const tvmffi_i_expected *e,
                                      tvmffi_i_plan *plans, int32_t n) {
  tvmffi_i_plan *p = &plans[n];
  int32_t i, j, k;
  for (i = 0; i < p->num_dims; ++i)
    for (j = 0; j <= n && p->dims[i].name_size && p->dims[i].tensor < 0; ++j) {
      const tvmffi_i_plan *q = &plans[j];
      for (k = 0; k < (j < n ? q->num_dims : i); ++k) {
        if (!tvmffi_i_plan_same(e[n].text, &p->dims[i], e[j].text, &q->dims[k]))
          continue;
        p->dims[i].tensor = (int8_t)j;
        p->dims[i].dim = (int8_t)(k < q->front ? k : k - q->num_dims);
        break;
      }
    }
  for (j = 0; j < n && p->run.name_size && p->run.tensor < 0; ++j)
    if (tvmffi_i_plan_same(e[n].text, &p->run, e[j].text, &plans[j].run))
      p->run.tensor = (int8_t)j;
}

/* Reads the texts; raises for one that cannot be read. */
TVMFFI_I_COLD int tvmffi_i_plan_all(const tvmffi_i_site *site,
                                    tvmffi_i_plan *plans,
                                    const char *function) {
  int32_t i;
  for (i = 0; i < site->count; ++i) {
    const tvmffi_i_expected *e = &site->expected[i];
    const char *at, *wrong = tvmffi_i_plan_text(&plans[i], e->text, &at);
    if (wrong)
      return tvmffi_raise(TVMFFIBacktrace(site->file, site->line, function, 0),
                          "InternalError",
                          "%s: TVMFFI_EXPECT((%s, \"%s\")): %s at \"%s\"",
                          function, e->name, e->text, wrong, at);
    tvmffi_i_plan_bind(site->expected, plans, i);
  }
  return 0;
}

/* Texts for messages, into buffers of 160 bytes. */
TVMFFI_I_COLD const char *tvmffi_i_say_dtype(DLDataType dtype, char *buffer) {
  TVMFFIAny any = tvmffi_none();
  TVMFFIByteArray text;
  size_t i;
  if (TVMFFIDataTypeToString(&dtype, &any)) {
    tvmffi_error_clear();
    buffer[tvmffi_i_append(buffer, 0, "unknown")] = 0;
    return buffer;
  }
  text = tvmffi_any_str(&any);
  for (i = 0; i < text.size && i < 159; ++i) buffer[i] = text.data[i];
  buffer[i] = 0;
  tvmffi_any_release(&any);
  return buffer;
}

TVMFFI_I_COLD const char *tvmffi_i_say_device(DLDevice device, char *buffer) {
  static const char *const names[] = {
      "unknown", "cpu",       "cuda",    "cuda_host",    "opencl",
      "unknown", "unknown",   "vulkan",  "metal",        "vpi",
      "rocm",    "rocm_host", "ext_dev", "cuda_managed", "oneapi",
      "webgpu",  "hexagon",   "maia",    "trn"};
  uint32_t type = (uint32_t)device.device_type;
  char number[TVMFFI_I_DECIMAL];
  size_t n =
      tvmffi_i_append(buffer, 0, names[type <= (uint32_t)kDLTrn ? type : 0]);
  n = tvmffi_i_append(buffer, n, ":");
  n = tvmffi_i_append(buffer, n, tvmffi_i_decimal(number, device.device_id));
  buffer[n] = 0;
  return buffer;
}

TVMFFI_I_COLD const char *tvmffi_i_say_shape(const DLTensor *t, char *buffer) {
  size_t n = tvmffi_i_append(buffer, 0, "[");
  int32_t i;
  for (i = 0; i < t->ndim && t->shape; ++i) {
    char digits[24];
    int k = 0;
    int64_t extent = t->shape[i];
    uint64_t left = extent < 0 ? 0 - (uint64_t)extent : (uint64_t)extent;
    if (n > 120) {
      n = tvmffi_i_append(buffer, n, ", ...");
      break;
    }
    if (i) n = tvmffi_i_append(buffer, n, ", ");
    if (extent < 0) buffer[n++] = '-';
    do digits[k++] = (char)('0' + left % 10);
    while (left /= 10);
    while (k) buffer[n++] = digits[--k];
  }
  buffer[tvmffi_i_append(buffer, n, "]")] = 0;
  return buffer;
}

/* The size of the text of a list that begins at `text`, up to `end`. */
TVMFFI_I_COLD int tvmffi_i_plan_until(const char *text, char end) {
  int n = 0;
  while (text[n] && text[n] != end && text[n] != ' ') ++n;
  return n;
}

/* Raises for a tensor, with the words that say what is wrong and where. */
#define TVMFFI_I_SAY(kind, format, ...)                                 \
  tvmffi_raise(trace, kind, "%s: argument %s: " format, function, name, \
               __VA_ARGS__)
TVMFFI_I_COLD int tvmffi_i_misfit(const tvmffi_i_site *site,
                                  const tvmffi_i_plan *plans,
                                  const DLTensor *const *tensors, int code,
                                  const char *function) {
  const TVMFFIByteArray *trace =
      TVMFFIBacktrace(site->file, site->line, function, 0);
  const tvmffi_i_expected *e = site->expected;
  int i = code >> 8 & 0xFF, dim = code >> 16;
  const char *name = e[i].name, *text = e[i].text, *shape = text;
  const tvmffi_i_plan *p = &plans[i];
  const tvmffi_i_dim *d =
      (code & 0xFF) == TVMFFI_I_BAD_EXTENT ? &p->dims[dim] : &p->run;
  const DLTensor *t = tensors[i];
  char buffer[160], other[160];
  const char *where = e[d->tensor < 0 ? 0 : d->tensor].name;
  int32_t rank = t ? t->ndim - p->num_dims : 0;
  while (*shape && *shape != '[') ++shape;
  switch (code & 0xFF) {
    case TVMFFI_I_NO_TENSOR: return TVMFFI_I_SAY("ValueError", "%s", "is NULL");
    case TVMFFI_I_NO_SHAPE:
      return TVMFFI_I_SAY("ValueError", "%s", "shape is NULL");
    case TVMFFI_I_NO_DATA:
      return TVMFFI_I_SAY("ValueError", "%s", "data is NULL");
    case TVMFFI_I_BAD_DTYPE:
      tvmffi_i_say_dtype(t->dtype, buffer);
      if (p->num_dtypes < 0)
        return TVMFFI_I_SAY("TypeError", "dtype is %s, but %s in %s", buffer,
                            tvmffi_i_say_dtype(tensors[0]->dtype, other),
                            e[0].name);
      return TVMFFI_I_SAY("TypeError", "dtype is %s, expected %.*s", buffer,
                          tvmffi_i_plan_until(text, '['), text);
    case TVMFFI_I_BAD_DEVICE: {
      DLDevice want;
      want.device_type = (DLDeviceType)p->device_type;
      want.device_id = p->device_id < 0 ? 0 : p->device_id;
      tvmffi_i_say_device(want, other);
      return TVMFFI_I_SAY(
          "ValueError", "device is %s, expected %.*s",
          tvmffi_i_say_device(t->device, buffer),
          p->device_id < 0 ? tvmffi_i_plan_until(other, ':') : 159, other);
    }
    case TVMFFI_I_BAD_RANK:
      if (t->ndim < 0)
        return TVMFFI_I_SAY("ValueError", "rank is %d", (int)t->ndim);
      for (dim = 0; shape[dim] && shape[dim] != ']'; ++dim) {
      }
      return TVMFFI_I_SAY("ValueError", "shape is %s, expected %.*s",
                          tvmffi_i_say_shape(t, buffer), dim + 1, shape);
    case TVMFFI_I_BAD_EXTENT: {
      int32_t at = dim < p->front ? dim : dim + rank;
      long long extent = (long long)t->shape[at];
      if (d->tensor < 0)
        return TVMFFI_I_SAY("ValueError", "dimension %d is %lld, expected %lld",
                            (int)at, extent, (long long)d->extent);
      return TVMFFI_I_SAY("ValueError",
                          "dimension %.*s is %lld, but %lld in %s",
                          (int)d->name_size, text + d->name, extent,
                          (long long)tvmffi_i_extent(d, tensors), where);
    }
    case TVMFFI_I_BAD_RUN_RANK:
      return TVMFFI_I_SAY(
          "ValueError", "*%.*s has %d dimensions, but %d in %s",
          (int)d->name_size, text + d->name, (int)rank,
          (int)(tensors[d->tensor]->ndim - plans[d->tensor].num_dims), where);
    case TVMFFI_I_BAD_RUN:
      return TVMFFI_I_SAY(
          "ValueError", "dimension %d of *%.*s is %lld, but %lld in %s", dim,
          (int)d->name_size, text + d->name,
          (long long)t->shape[p->front + dim],
          (long long)tensors[d->tensor]->shape[plans[d->tensor].front + dim],
          where);
    case TVMFFI_I_NEGATIVE:
      return TVMFFI_I_SAY("ValueError", "dimension %d is %lld", dim,
                          (long long)t->shape[dim]);
    case TVMFFI_I_TOO_MANY:
      return TVMFFI_I_SAY("ValueError", "shape is %s, which is too large",
                          tvmffi_i_say_shape(t, buffer));
    case TVMFFI_I_NOT_CONTIGUOUS:
      return TVMFFI_I_SAY("ValueError", "%s", "is not contiguous");
    default:
      return TVMFFI_I_SAY("ValueError", "is not aligned to %lld bytes",
                          (long long)p->align_mask + 1);
  }
}
#undef TVMFFI_I_SAY

/* The first call, and what raises. Who does not come first reads for itself. */
TVMFFI_I_COLD int tvmffi_i_expect_rest(tvmffi_i_site *site,
                                       const DLTensor *const *tensors,
                                       const char *function) {
  tvmffi_i_plan plans[TVMFFI_I_EXPECTED];
  uint64_t none = 0;
  int32_t i;
  int code;
  function = tvmffi_i_function_name(function);
  TVMFFI_TRY(tvmffi_i_plan_all(site, plans, function));
  if (tvmffi_i_cas64(&site->state, &none, 1)) {
    for (i = 0; i < site->count; ++i) site->plans[i] = plans[i];
    tvmffi_i_store64(&site->state, 2);
  }
  code = tvmffi_i_fit_plans(plans, site->count, tensors);
  return code ? tvmffi_i_misfit(site, plans, tensors, code, function) : 0;
}

TVMFFI_I_INLINE int tvmffi_i_expect(tvmffi_i_site *site,
                                    const DLTensor *const *tensors,
                                    const char *function) {
  if (TVMFFI_I_LIKELY(tvmffi_i_load64(&site->state) == 2) &&
      TVMFFI_I_LIKELY(!tvmffi_i_fit_plans(site->plans, site->count, tensors)))
    return 0;
  return tvmffi_i_expect_rest(site, tensors, function);
}
