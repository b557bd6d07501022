/* ======== Tensor checks ================================== >>interface/expect
   device, dtype and shape of tensors */
/* C interface: one statement checks several tensors. Tensors are borrowed,
   `const DLTensor *`; strides count elements. Threads share only a
   statement's parsed texts, which are written once. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "list.h"

/* Checks tensors. If a tensor does not match, raises an error and returns -1
   from the calling function. A string literal describes each tensor and is
   parsed once:
       TVMFFI_EXPECT((x, "float32[n, m] cpu"), (y, "float32[m] cpu"));
   raises, for example:
       ValueError: f: argument `y`: dimension m is 3, but 4 in x
   A second string names a tensor that is not an argument in error messages:
       TVMFFI_EXPECT((bias, "float32[n]", "weights[\"bias\"]"));
   Takes up to 16 tensors. The grammar:
     text   = dtypes [shape] {" " word}
     dtypes = "any" | "same" (as the first tensor's) | dtype {"|" dtype}
     shape  = "[" [dim {"," dim}] "]", up to 8 dims; without it, any shape
     dim    = name (equal wherever it occurs, in all tensors) | number | "_"
              | "..." (any number of dims)
              | "*" name (any number of dims, equal in all tensors)
     word   = device ("cpu", "cuda:1"; default: any) | "strided" | "align(N)"
              | "optional" (the tensor may be NULL, and then nothing is checked)
              | "out" (the function writes the tensor and reads nothing of it)
              | "inout" (the function reads and writes the tensor)
   A name must not occur first in an optional tensor and then in another one,
   and "same" must not refer to an optional tensor. A shape has at most one
   "..." or "*name", anywhere. A tensor must be contiguous unless its text says
   "strided". align(N) is the alignment of the first element in bytes, a power
   of 2. Data may be NULL only in an empty tensor. A wrong dtype is a TypeError,
   any other mismatch a ValueError. A syntax error in a text is an
   InternalError. Thread-safe. */
#define TVMFFI_EXPECT(...) \
  TVMFFI_I_EXPECT(TVMFFI_I_COUNT(__VA_ARGS__, ~), __VA_ARGS__, ~)
#define TVMFFI_I_EXPECT(n, ...)                                            \
  TVMFFI_I_CAT(TVMFFI_I_EXPECT_,                                           \
               TVMFFI_I_SECOND(TVMFFI_I_EACH(n)(TVMFFI_I_NO_PAIR, ~,       \
                                                __VA_ARGS__), 1, ~))       \
  (n, __VA_ARGS__)
#define TVMFFI_I_EXPECT_0(...)                                             \
  TVMFFI_STATIC_ASSERT(                                                    \
      0, TVMFFI_EXPECT_needs_tensors_and_texts__like_x_and_text__in_parentheses)
#define TVMFFI_I_EXPECT_1(n, ...)                                         \
  do {                                                                    \
    static const tvmffi_i_expected tvmffi_expected[] = {TVMFFI_I_EACH(n)( \
        TVMFFI_I_EXPECT_TEXT, ~, __VA_ARGS__){NULL, NULL, NULL}};         \
    static tvmffi_i_plan tvmffi_plans[(n)-1];                             \
    static tvmffi_i_site tvmffi_site = {                                  \
        0, __FILE__, tvmffi_expected, tvmffi_plans, __LINE__, (n)-1, 0};  \
    const DLTensor *const tvmffi_tensors[] = {                            \
        TVMFFI_I_EACH(n)(TVMFFI_I_EXPECT_TENSOR, ~, __VA_ARGS__) NULL};   \
    TVMFFI_STATIC_ASSERT((n)-1 <= TVMFFI_I_EXPECTED, too_many_tensors);   \
    if (TVMFFI_I_UNLIKELY(                                                \
            !tvmffi_i_expected_fit(&tvmffi_site, tvmffi_tensors)))        \
      TVMFFI_TRY(tvmffi_i_expect(&tvmffi_site, tvmffi_tensors,            \
                                 tvmffi_i_function_name(__func__)));      \
  } while (0)
#define TVMFFI_I_EXPECT_TEXT(x, p) TVMFFI_I_EXPECT_TEXT_ p,
#define TVMFFI_I_EXPECT_TEXT_(tensor, ...)                              \
  TVMFFI_I_CAT(TVMFFI_I_EXPECT_NAMED_, TVMFFI_I_HAS_COMMA(__VA_ARGS__)) \
  (#tensor, __VA_ARGS__)
#define TVMFFI_I_EXPECT_NAMED_0(argument, text) \
  {"argument `", argument, "" text}
#define TVMFFI_I_EXPECT_NAMED_1(argument, text, name) {"", "" name, "" text}
#define TVMFFI_I_EXPECT_TENSOR(x, p) TVMFFI_I_EXPECT_TENSOR_ p,
#define TVMFFI_I_EXPECT_TENSOR_(tensor, ...) (tensor)

/* One dimension in the text that describes a tensor: a fixed `extent`, or a
   name that stands for dimension `dim` of tensor `tensor`. If both `extent` and
   `tensor` are -1, every extent matches. After a "...", `dim` is negative and
   counts from the end. */
typedef struct {
  int64_t extent;
  int8_t tensor, dim;
  uint8_t name, name_size; /* offset and size of the name in the text */
} tvmffi_i_dim;

enum { TVMFFI_I_DTYPES = 4, TVMFFI_I_DIMS = 8, TVMFFI_I_EXPECTED = 16 };

/* The parsed text of one tensor in TVMFFI_EXPECT. `run` is the "..." or
   "*name", which matches any number of dimensions. */
typedef struct tvmffi_i_plan {
  DLDataType dtypes[TVMFFI_I_DTYPES];
  int8_t num_dtypes; /* 0: any, -1: the first tensor's */
  int8_t num_dims;   /* without those that `run` matches */
  int8_t front;      /* dimensions before `run` */
  uint8_t has_run, strided, optional;
  int32_t device_type, device_id; /* 0, -1: any */
  uint32_t align_mask;
  tvmffi_i_dim dims[TVMFFI_I_DIMS];
  tvmffi_i_dim run; /* extent is unused */
} tvmffi_i_plan;

/* Kinds of mismatch. An error code has the kind in its lowest byte and the
   tensor's index in the next byte. TVMFFI_I_MISFIT adds the number of the wrong
   dimension from bit 16 on. */
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

/* Returns a number that two dtypes share if they are equal. Compilers make it
   one load. */
TVMFFI_I_INLINE uint32_t tvmffi_i_dtype_bits(DLDataType d) {
  return (uint32_t)d.code | (uint32_t)d.bits << 8 | (uint32_t)d.lanes << 16;
}

TVMFFI_I_INLINE int tvmffi_i_dtype_equal(DLDataType a, DLDataType b) {
  return tvmffi_i_dtype_bits(a) == tvmffi_i_dtype_bits(b);
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

TVMFFI_I_INLINE int64_t tvmffi_i_extent(const tvmffi_i_dim *want,
                                        const DLTensor *const *tensors) {
  const DLTensor *t = tensors[want->tensor];
  return t->shape[want->dim < 0 ? t->ndim + want->dim : want->dim];
}

/* Checks that "*name" stands for equal dimensions in `t` and in the first
   tensor whose text has "*name". */
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

TVMFFI_I_INLINE int tvmffi_i_align_fits(const tvmffi_i_plan *p,
                                        const DLTensor *t) {
  return !(((uintptr_t)t->data + (uintptr_t)t->byte_offset) & p->align_mask);
}

/* Checks the extents and the data of a tensor of any kind. */
TVMFFI_I_ONCE(int, tvmffi_i_any_data_fits,
              (const tvmffi_i_plan *p, const DLTensor *t)) {
  int64_t size = tvmffi_tensor_size(t);
  int32_t i;
  for (i = 0; i < t->ndim; ++i)
    if (t->shape[i] < 0) return TVMFFI_I_MISFIT(TVMFFI_I_NEGATIVE, i);
  if (!size) return TVMFFI_I_PLAN_FITS;
  if (size == INT64_MAX) return TVMFFI_I_TOO_MANY;
  if (!t->data) return TVMFFI_I_NO_DATA;
  if (!p->strided && !tvmffi_tensor_is_contiguous(t))
    return TVMFFI_I_NOT_CONTIGUOUS;
  return tvmffi_i_align_fits(p, t) ? TVMFFI_I_PLAN_FITS : TVMFFI_I_NOT_ALIGNED;
}

/* Same as tvmffi_i_any_data_fits, but fast for a contiguous tensor that has
   elements. */
TVMFFI_I_INLINE int tvmffi_i_data_fits(const tvmffi_i_plan *p,
                                       const DLTensor *t) {
  int64_t step = 1, signs = 0;
  int32_t i;
  for (i = t->ndim - 1; i >= 0; --i) {
    const int64_t extent = t->shape[i];
    if (t->strides && t->strides[i] != step && extent != 1) break;
    signs |= extent;
    step = tvmffi_i_times(step, extent);
  }
  if (TVMFFI_I_LIKELY(i < 0 && signs >= 0 && step > 0 && step < INT64_MAX &&
                      t->data && tvmffi_i_align_fits(p, t)))
    return TVMFFI_I_PLAN_FITS;
  return tvmffi_i_any_data_fits(p, t);
}

/* Checks the tensors from `i` up to `end`. Returns 0 or the code of the first
   mismatch. */
TVMFFI_I_INLINE int tvmffi_i_fit_plans(const tvmffi_i_plan *plans, int32_t i,
                                       int32_t end,
                                       const DLTensor *const *tensors) {
  for (; i < end; ++i) {
    const tvmffi_i_plan *p = &plans[i];
    const DLTensor *t = tensors[i];
    int code = TVMFFI_I_PLAN_FITS;
    if (!t && p->optional) continue;
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

TVMFFI_I_ONCE(void, tvmffi_i_plan_alnum, (const char **at)) {
  while (tvmffi_i_plan_letter(**at) || tvmffi_i_plan_digit(**at)) ++*at;
}
TVMFFI_I_ONCE(void, tvmffi_i_plan_spaces, (const char **at)) {
  while (**at == ' ') ++*at;
}

/* If the next word at *at is `word`, skips the word and returns 1, else returns
   0. */
TVMFFI_I_ONCE(int, tvmffi_i_plan_skip, (const char **at, const char *word)) {
  const char *p = *at;
  while (*word && *p == *word) ++p, ++word;
  if (*word || tvmffi_i_plan_letter(*p) || tvmffi_i_plan_digit(*p)) return 0;
  *at = p;
  return 1;
}

/* Parses a number up to `most` and advances *at. Returns NULL, or a message on
   a syntax error. */
TVMFFI_I_ONCE(const char *, tvmffi_i_plan_number,
              (const char **at, int64_t most, int64_t *out)) {
  if (!tvmffi_i_plan_digit(**at)) return "a number is missing";
  for (*out = 0; tvmffi_i_plan_digit(**at); ++*at) {
    if (*out > (most - (**at - '0')) / 10) return "the number is too large";
    *out = *out * 10 + (**at - '0');
  }
  return NULL;
}

TVMFFI_I_ONCE(const char *, tvmffi_i_plan_dtypes,
              (tvmffi_i_plan *p, const char **at)) {
  TVMFFIByteArray word;
  if (tvmffi_i_plan_skip(at, "any")) return NULL;
  p->num_dtypes = -1;
  if (tvmffi_i_plan_skip(at, "same")) return NULL;
  for (p->num_dtypes = 0;; ++*at) {
    if (p->num_dtypes == TVMFFI_I_DTYPES) return "more than 4 dtypes";
    word.data = *at;
    tvmffi_i_plan_alnum(at);
    word.size = (size_t)(*at - word.data);
    if (!word.size) return "a dtype is missing";
    if (TVMFFIDataTypeFromString(&word, &p->dtypes[(int)p->num_dtypes++])) {
      *at = word.data;
      return "the dtype is not known";
    }
    if (**at != '|') return NULL;
  }
}

TVMFFI_I_ONCE(const char *, tvmffi_i_plan_name,
              (tvmffi_i_dim *d, const char *text, const char **at)) {
  const char *begin = *at;
  if (!tvmffi_i_plan_letter(**at)) return "a dimension is missing";
  tvmffi_i_plan_alnum(at);
  d->name = (uint8_t)(begin - text);
  d->name_size = (uint8_t)(*at - begin);
  return NULL;
}

TVMFFI_I_ONCE(const char *, tvmffi_i_plan_dim,
              (tvmffi_i_plan *p, const char *text, const char **at)) {
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

TVMFFI_I_ONCE(const char *, tvmffi_i_plan_shape,
              (tvmffi_i_plan *p, const char *text, const char **at)) {
  const char *wrong;
  p->run.tensor = -1;
  p->has_run = **at != '[';
  if (p->has_run) return NULL;
  ++*at;
  tvmffi_i_plan_spaces(at);
  while (**at != ']') {
    wrong = tvmffi_i_plan_dim(p, text, at);
    if (wrong) return wrong;
    tvmffi_i_plan_spaces(at);
    if (**at != ',' && **at != ']') return "\",\" or \"]\" is missing";
    if (**at == ',') {
      ++*at;
      tvmffi_i_plan_spaces(at);
    }
  }
  ++*at;
  if (!p->has_run) p->front = p->num_dims;
  return NULL;
}

/* Returns the text of the parameter `name`, a tensor("..."), or NULL. For
   companion headers. */
TVMFFI_I_ONCE(const char *, tvmffi_i_contract_text,
              (const tvmffi_i_site *contract, const char *name)) {
  int32_t i;
  for (i = 0; contract && i < contract->count; ++i)
    if (tvmffi_i_same(tvmffi_byte_array(name), contract->expected[i].name))
      return contract->expected[i].text;
  return NULL;
}

/* Returns 1 if the text of a tensor has the word `word`, else 0. For companion
   headers, which ask for "out" and "inout". */
TVMFFI_I_ONCE(int, tvmffi_i_text_has, (const char *text, const char *word)) {
  const char *at;
  for (at = text; *at; ++at)
    if (*at == ']') text = at; /* behind the shape */
  while (*text)
    if (*text++ == ' ' && tvmffi_i_plan_skip(&text, word)) return 1;
  return 0;
}

TVMFFI_I_ONCE(const char *, tvmffi_i_plan_word,
              (tvmffi_i_plan *p, const char **at)) {
  TVMFFIByteArray word;
  DLDevice device;
  int64_t bytes;
  const char *wrong;
  word.data = *at;
  if (tvmffi_i_plan_skip(at, "strided")) {
    p->strided = 1;
    return NULL;
  }
  if (tvmffi_i_plan_skip(at, "optional")) {
    p->optional = 1;
    return NULL;
  }
  if (tvmffi_i_plan_skip(at, "out") || tvmffi_i_plan_skip(at, "inout"))
    return NULL;
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

TVMFFI_I_ONCE(const char *, tvmffi_i_plan_text,
              (tvmffi_i_plan *p, const char *text, const char **at)) {
  const tvmffi_i_plan zero = TVMFFI_I_ZERO;
  const char *wrong;
  *p = zero;
  p->device_id = -1;
  *at = text;
  if (tvmffi_byte_array(text).size > UINT8_MAX) return "the text is too long";
  wrong = tvmffi_i_plan_dtypes(p, at);
  if (!wrong) wrong = tvmffi_i_plan_shape(p, text, at);
  while (!wrong && **at) {
    if (**at != ' ') return "a space is missing";
    tvmffi_i_plan_spaces(at);
    if (**at) wrong = tvmffi_i_plan_word(p, at);
  }
  return wrong;
}

TVMFFI_I_ONCE(int, tvmffi_i_plan_same,
              (const char *a, const tvmffi_i_dim *x, const char *b,
               const tvmffi_i_dim *y)) {
  int i = 0;
  while (i < x->name_size && a[x->name + i] == b[y->name + i]) ++i;
  return x->name_size == y->name_size && i == x->name_size;
}

/* Links each named dimension of plans[n] to the first with this name in
   plans[0] to plans[n]. Returns NULL, or the name of an optional tensor on
   which plans[n] depends: its dimensions may not exist. */
TVMFFI_I_ONCE(const char *, tvmffi_i_plan_bind,
              (const tvmffi_i_expected *e, tvmffi_i_plan *plans, int32_t n)) {
  tvmffi_i_plan *p = &plans[n];
  const char *wrong = NULL;
  int32_t i, j, k;
  for (i = 0; i < p->num_dims; ++i)
    for (j = 0; j <= n && p->dims[i].name_size && p->dims[i].tensor < 0; ++j) {
      const tvmffi_i_plan *q = &plans[j];
      for (k = 0; k < (j < n ? q->num_dims : i); ++k) {
        if (!tvmffi_i_plan_same(e[n].text, &p->dims[i], e[j].text, &q->dims[k]))
          continue;
        if (j < n && q->optional) wrong = e[j].name;
        p->dims[i].tensor = (int8_t)j;
        p->dims[i].dim = (int8_t)(k < q->front ? k : k - q->num_dims);
        break;
      }
    }
  for (j = 0; j < n && p->run.name_size && p->run.tensor < 0; ++j)
    if (tvmffi_i_plan_same(e[n].text, &p->run, e[j].text, &plans[j].run)) {
      if (plans[j].optional) wrong = e[j].name;
      p->run.tensor = (int8_t)j;
    }
  if (n && p->num_dtypes < 0 && plans[0].optional) wrong = e[0].name;
  return wrong;
}

/* Parses the texts of all tensors. Raises an InternalError for a syntax
   error. */
TVMFFI_I_ONCE(int, tvmffi_i_plan_all,
              (const tvmffi_i_site *site, tvmffi_i_plan *plans,
               const char *function)) {
  int32_t i;
  for (i = 0; i < site->count + site->has_result; ++i) {
    const tvmffi_i_expected *e = &site->expected[i];
    const char *at, *wrong = tvmffi_i_plan_text(&plans[i], e->text, &at);
    if (wrong)
      return tvmffi_raise(TVMFFIBacktrace(site->file, site->line, function, 0),
                          "InternalError",
                          "%s: the text \"%s\" of %s: %s at \"%s\"", function,
                          e->text, e->name, wrong, at);
    wrong = tvmffi_i_plan_bind(site->expected, plans, i);
    if (wrong)
      return tvmffi_raise(
          TVMFFIBacktrace(site->file, site->line, function, 0), "InternalError",
          "%s: the text \"%s\" of %s: this depends on %s, which is optional",
          function, e->text, e->name, wrong);
  }
  return 0;
}

/* The functions tvmffi_i_say_... write a value for an error message to a buffer
   of TVMFFI_I_SAID bytes, and return the buffer. */
enum { TVMFFI_I_SAID = 160 };
/* Writes a dtype's name, also "complex64" and "complex128", which NumPy has and
   TVMFFIDataTypeToString does not. */
TVMFFI_I_ONCE(const char *, tvmffi_i_say_dtype,
              (DLDataType dtype, char *buffer)) {
  TVMFFIAny any = tvmffi_none();
  tvmffi_i_text t = {buffer, 0, TVMFFI_I_SAID};
  if (!TVMFFIDataTypeToString(&dtype, &any)) {
    tvmffi_i_append(&t, tvmffi_any_str(&any).data);
  } else {
    tvmffi_error_clear();
    tvmffi_i_append(&t, dtype.code == kDLComplex ? "complex" : "unknown");
    if (dtype.code == kDLComplex) tvmffi_i_append_int(&t, dtype.bits);
  }
  tvmffi_i_any_release(&any);
  return buffer;
}

TVMFFI_I_ONCE(const char *, tvmffi_i_say_device,
              (DLDevice device, char *buffer)) {
  tvmffi_i_text t = {buffer, 0, TVMFFI_I_SAID};
  tvmffi_i_append(&t, tvmffi_i_device_name(device));
  tvmffi_i_append(&t, ":");
  tvmffi_i_append_int(&t, device.device_id);
  return buffer;
}

TVMFFI_I_ONCE(const char *, tvmffi_i_say_shape,
              (const DLTensor *tensor, char *buffer)) {
  tvmffi_i_text t = {buffer, 0, TVMFFI_I_SAID};
  int32_t i;
  tvmffi_i_append(&t, "[");
  for (i = 0; i < tensor->ndim && tensor->shape; ++i) {
    if (t.size > 120) {
      tvmffi_i_append(&t, ", ...");
      break;
    }
    if (i) tvmffi_i_append(&t, ", ");
    tvmffi_i_append_int(&t, tensor->shape[i]);
  }
  tvmffi_i_append(&t, "]");
  return buffer;
}

/* Returns the length of `text` up to a space, the character `end` or the
   NUL. */
TVMFFI_I_ONCE(int, tvmffi_i_plan_until, (const char *text, char end)) {
  int n = 0;
  while (text[n] && text[n] != end && text[n] != ' ') ++n;
  return n;
}

#define TVMFFI_I_SAY(format, ...)                                          \
  tvmffi_raise(trace, kind, "%s: %s%s%s: " format, function, e[i].kind, name, \
               mark, __VA_ARGS__)
TVMFFI_I_ONCE(int, tvmffi_i_misfit,
              (const tvmffi_i_site *site, const tvmffi_i_plan *plans,
               const DLTensor *const *tensors, int code,
               const char *function)) {
  const TVMFFIByteArray *trace =
      TVMFFIBacktrace(site->file, site->line, function, 0);
  const tvmffi_i_expected *e = site->expected;
  int i = code >> 8 & 0xFF, dim = code >> 16;
  const char *kind = i == site->count                      ? "InternalError"
                     : (code & 0xFF) == TVMFFI_I_BAD_DTYPE ? "TypeError"
                                                           : "ValueError";
  const char *name = e[i].name, *text = e[i].text, *shape = text;
  const char *mark = e[i].kind[0] ? "`" : ""; /* closes "argument `" */
  const tvmffi_i_plan *p = &plans[i];
  const tvmffi_i_dim *d =
      (code & 0xFF) == TVMFFI_I_BAD_EXTENT ? &p->dims[dim] : &p->run;
  const DLTensor *t = tensors[i];
  char buffer[TVMFFI_I_SAID], other[TVMFFI_I_SAID];
  const char *where = e[d->tensor < 0 ? 0 : d->tensor].name;
  int32_t rank = t ? t->ndim - p->num_dims : 0;
  while (*shape && *shape != '[') ++shape;
  if (!t) return TVMFFI_I_SAY("%s", "is NULL");
  switch (code & 0xFF) {
    case TVMFFI_I_NO_SHAPE:
      return TVMFFI_I_SAY("%s", "shape is NULL");
    case TVMFFI_I_NO_DATA:
      return TVMFFI_I_SAY("%s", "data is NULL");
    case TVMFFI_I_BAD_DTYPE:
      tvmffi_i_say_dtype(t->dtype, buffer);
      if (p->num_dtypes < 0)
        return TVMFFI_I_SAY("dtype is %s, but %s in %s", buffer,
                            tvmffi_i_say_dtype(tensors[0]->dtype, other),
                            e[0].name);
      return TVMFFI_I_SAY("dtype is %s, expected %.*s", buffer,
                          tvmffi_i_plan_until(text, '['), text);
    case TVMFFI_I_BAD_DEVICE: {
      DLDevice want;
      want.device_type = (DLDeviceType)p->device_type;
      want.device_id = p->device_id < 0 ? 0 : p->device_id;
      tvmffi_i_say_device(want, other);
      return TVMFFI_I_SAY("device is %s, expected %.*s",
          tvmffi_i_say_device(t->device, buffer),
          p->device_id < 0 ? tvmffi_i_plan_until(other, ':') : 159, other);
    }
    case TVMFFI_I_BAD_RANK:
      if (t->ndim < 0)
        return TVMFFI_I_SAY("rank is %d", (int)t->ndim);
      for (dim = 0; shape[dim] != ']'; ++dim) {
      }
      return TVMFFI_I_SAY("shape is %s, expected %.*s",
                          tvmffi_i_say_shape(t, buffer), dim + 1, shape);
    case TVMFFI_I_BAD_EXTENT: {
      int32_t at = dim < p->front ? dim : dim + rank;
      long long extent = (long long)t->shape[at];
      if (d->tensor < 0)
        return TVMFFI_I_SAY("dimension %d is %lld, expected %lld",
                            (int)at, extent, (long long)d->extent);
      return TVMFFI_I_SAY("dimension %.*s is %lld, but %lld in %s",
                          (int)d->name_size, text + d->name, extent,
                          (long long)tvmffi_i_extent(d, tensors), where);
    }
    case TVMFFI_I_BAD_RUN_RANK:
      return TVMFFI_I_SAY("*%.*s has %d dimensions, but %d in %s",
          (int)d->name_size, text + d->name, (int)rank,
          (int)(tensors[d->tensor]->ndim - plans[d->tensor].num_dims), where);
    case TVMFFI_I_BAD_RUN:
      return TVMFFI_I_SAY("dimension %d of *%.*s is %lld, but %lld in %s", dim,
          (int)d->name_size, text + d->name,
          (long long)t->shape[p->front + dim],
          (long long)tensors[d->tensor]->shape[plans[d->tensor].front + dim],
          where);
    case TVMFFI_I_NEGATIVE:
      return TVMFFI_I_SAY("dimension %d is %lld", dim,
                          (long long)t->shape[dim]);
    case TVMFFI_I_TOO_MANY:
      return TVMFFI_I_SAY("shape is %s, which is too large",
                          tvmffi_i_say_shape(t, buffer));
    case TVMFFI_I_NOT_CONTIGUOUS:
      return TVMFFI_I_SAY("%s", "is not contiguous");
    default:
      return TVMFFI_I_SAY("is not aligned to %lld bytes",
                          (long long)p->align_mask + 1);
  }
}
#undef TVMFFI_I_SAY

/* Slow path of a check, for the first call and for tensors that do not match.
   Parses the texts to a local array, so no thread waits for another; the first
   thread stores its result in site->plans. Returns 0, or raises the error of
   the first mismatch. */
TVMFFI_I_ONCE(int, tvmffi_i_expect,
              (tvmffi_i_site *site, const DLTensor *const *tensors,
               const char *function)) {
  tvmffi_i_plan plans[TVMFFI_I_EXPECTED + 1];
  uint64_t none = 0;
  int32_t i;
  int code;
  TVMFFI_TRY(tvmffi_i_plan_all(site, plans, function));
  if (tvmffi_i_cas64(&site->state, &none, 1)) {
    for (i = 0; i < site->count + site->has_result; ++i)
      site->plans[i] = plans[i];
    tvmffi_i_store64(&site->state, 2);
  }
  code = tvmffi_i_fit_plans(plans, 0, site->count, tensors);
  return code ? tvmffi_i_misfit(site, plans, tensors, code, function) : 0;
}

/* Returns 1 if the texts are parsed and all tensors match, else 0. */
TVMFFI_I_INLINE int tvmffi_i_expected_fit(const tvmffi_i_site *site,
                                          const DLTensor *const *tensors) {
  return TVMFFI_I_LIKELY(tvmffi_i_load64(&site->state) == 2) &&
         TVMFFI_I_LIKELY(
             !tvmffi_i_fit_plans(site->plans, 0, site->count, tensors));
}

#if TVMFFI_DEBUG
/* Checks the tensor that a typed function returned against the function's
   contract. If it does not match, releases the result and raises an
   InternalError. `tensors` has a free element at the end, for the result. */
TVMFFI_I_ONCE(int, tvmffi_i_fit_result,
              (const tvmffi_i_site *site, const DLTensor **tensors,
               const char *function, TVMFFIAny *result)) {
  const int32_t i = site->count;
  int code;
  if (!site->has_result || tvmffi_i_load64(&site->state) != 2) return 0;
  tensors[i] = result->type_index == kTVMFFITensor
                   ? TVMFFITensorGetDLTensorPtr(result->v_obj)
                   : NULL;
  code = tvmffi_i_fit_plans(site->plans, i, i + 1, tensors);
  if (!code) return 0;
  code = tvmffi_i_misfit(site, site->plans, tensors, code, function);
  tvmffi_i_any_release(result);
  return code;
}
#endif
