/* An extension module whose types test_extension.py uses as classes. The same
   library is loaded by tvm_ffi.load_module, too. */
#include "tvmffi_python.h"

#include <math.h>

/* A field of each kind: with and without a default, keyword-only, read-only,
   and no parameter of the constructor. */
typedef struct {
  TVMFFIObject base;
  double cutoff;
  int32_t order;
  TVMFFIAny name;
  int64_t calls;
} Filter;

TVMFFI_TYPE(Filter, "demo.Filter", TVMFFIObject, (doc, "A low-pass filter."),
            (field, float64, cutoff), (doc, "In Hz."), (kw_only),
            (field, int32, order, 2), (field, str, name, "low"),
            (readonly, int64, calls, 0),
            (flags, kTVMFFIFieldFlagBitMaskInitOff), (method, gain),
            (doc, "Returns the gain at a frequency."), (method, halved),
            (method, period), (doc, "1 / cutoff, in s."),
            (method, of_text), (method, call))

TVMFFI_METHOD(Filter, gain, float64, (float64, frequency),
              (float64, unit, 1.0)) {
  ++self->calls;
  TVMFFI_RETURN(unit /
                pow(1 + pow(frequency / self->cutoff, 2), self->order / 2.0));
}

TVMFFI_PYTHON_KW_ONLY(Filter_gain, unit)

TVMFFI_METHOD(Filter, period, float64) {
  if (self->cutoff == 0) return TVMFFI_RAISE("ValueError", "the cutoff is 0");
  TVMFFI_RETURN(1 / self->cutoff);
}
TVMFFI_PYTHON_PROPERTY(Filter_period)

TVMFFI_METHOD(Filter, halved, Filter) {
  Filter *made = TVMFFI_NEW(Filter, self->cutoff / 2);
  if (!made) return -1;
  made->order = self->order;
  TVMFFI_RETURN(made);
}

TVMFFI_STATIC_METHOD(Filter, of_text, Filter, (str, text),
                     (float64, factor, 1.0)) {
  TVMFFI_RETURN(TVMFFI_NEW(Filter, (double)text.size * factor));
}

/* Calls f with the object and x. */
TVMFFI_METHOD(Filter, call, any, (func, f), (any, x)) {
  TVMFFIAny result;
  TVMFFI_TRY(tvmffi_call(f, &result, self, x));
  TVMFFI_RETURN(result);
}

/* A child with fields that own objects, and names that Python keeps for itself.
 */
typedef struct {
  Filter base;
  Filter *next;
  TVMFFIObject *taps;
  TVMFFIAny from;
} Chain;

TVMFFI_TYPE(Chain, "demo.Chain", Filter, (field, Filter, next, NULL),
            (field, array(float64), taps, NULL),
            (field, any, from, tvmffi_none()), (method, is))

TVMFFI_METHOD(Chain, is, bool, (Filter, in)) {
  TVMFFI_RETURN(self->next == in);
}

/* A type with a destructor, operators and a constructor of its own. */
typedef struct {
  TVMFFIObject base;
  int64_t value;
} Count;

static int64_t alive;

static void count_end(Count *self) { alive -= self->value != INT64_MIN; }

TVMFFI_TYPE(Count, "other.Count", TVMFFIObject, (readonly, int64, value),
            (method, __ffi_init__), (method, __len__), (method, __add__),
            (method, __eq__), (destructor, count_end))

TVMFFI_STATIC_METHOD(Count, __ffi_init__, Count, (int64, a), (int64, b, 0)) {
  Count *made;
  if (a < 0) return TVMFFI_RAISE("ValueError", "%d is negative", (int)a);
  made = TVMFFI_NEW(Count, a + b);
  alive += made != NULL;
  TVMFFI_RETURN(made);
}

TVMFFI_METHOD(Count, __len__, int64) { TVMFFI_RETURN(self->value); }

TVMFFI_METHOD(Count, __add__, Count, (Count, other)) {
  Count *made = TVMFFI_NEW(Count, self->value + other->value);
  alive += made != NULL;
  TVMFFI_RETURN(made);
}

TVMFFI_METHOD(Count, __eq__, bool, (Count, other)) {
  if (other->value < 0)
    return TVMFFI_RAISE("TypeError", "%d is negative", (int)other->value);
  TVMFFI_RETURN(self->value == other->value);
}

TVMFFI_EXPORT(counts, int64) { TVMFFI_RETURN(alive); }

TVMFFI_EXPORT(total, int64, (map(str, array(Count)), counts)) {
  int64_t sum = 0;
  TVMFFI_FOREACH_ITEM(str, name, object, list, counts) {
    (void)name;
    TVMFFI_FOREACH(Count, count, list) sum += count->value;
  }
  TVMFFI_RETURN(sum);
}

/* A constructor with more arguments than the stack has room for. */
typedef struct {
  TVMFFIObject base;
  int64_t a, b, c, d, e, f, g, h, i, j;
} Wide;
TVMFFI_TYPE(Wide, "Wide", TVMFFIObject, (field, int64, a, 0),
            (field, int64, b, 0), (field, int64, c, 0), (field, int64, d, 0),
            (field, int64, e, 0), (field, int64, f, 0), (field, int64, g, 0),
            (field, int64, h, 0), (field, int64, i, 0), (field, int64, j, 0))

/* A default of each kind. */
typedef struct {
  TVMFFIObject base;
  TVMFFIAny data;
  DLDataType dtype;
  DLDevice device;
  tvmffi_type_optional(int64) axis;
} Defaults;
TVMFFI_TYPE(Defaults, "Defaults", TVMFFIObject, (field, bytes, data, "ab"),
            (field, dtype, dtype, "float32"), (field, device, device, "cuda:1"),
            (field, optional(int64), axis, tvmffi_no_int64()))

/* Another type of that name, in another namespace. */
typedef struct {
  TVMFFIObject base;
} Inner;
TVMFFI_TYPE(Inner, "demo.inner.Count", TVMFFIObject, (doc, "Of no use."))

TVMFFI_DOC(lowpass, "Returns a filter.")
TVMFFI_EXPORT(lowpass, Filter, (float64, cutoff)) {
  TVMFFI_RETURN(TVMFFI_NEW(Filter, cutoff));
}

TVMFFI_EXPORT(cutoff, float64, (Filter, filter),
              (optional(Chain), chain, NULL)) {
  TVMFFI_RETURN(filter->cutoff + (chain ? chain->base.cutoff : 0));
}

TVMFFI_EXPORT(chain, Filter, (optional(Filter), next)) {
  TVMFFI_RETURN(TVMFFI_NEW(Chain, 1.0, next));
}

TVMFFI_EXPORT(echo, any, (any, x)) { TVMFFI_RETURN(x); }

/* The sum of the cutoffs, and a list with all filters. */
TVMFFI_EXPORT(both, array, (array(Filter), filters),
              (map(str, Filter), named)) {
  double sum = 0;
  TVMFFIObject *all = tvmffi_list();
  TVMFFI_FOREACH(Filter, f, filters) {
    sum += f->cutoff;
    TVMFFI_TRY(tvmffi_append(all, f));
  }
  (void)named;
  TVMFFI_RETURN(tvmffi_array(sum, all, named));
}

TVMFFI_EXPORT(call, any, (func, f), (any, x)) {
  TVMFFIAny result;
  TVMFFI_TRY(tvmffi_call(f, &result, x));
  TVMFFI_RETURN(result);
}

/* What f returns for a filter is a filter. */
TVMFFI_EXPORT(called, float64, (func, f), (Filter, x)) {
  Filter *result;
  TVMFFI_TRY(tvmffi_call(f, tvmffi_out_Filter(&result), x));
  TVMFFI_RETURN(result->cutoff);
}

static TVMFFIAny kept;

TVMFFI_EXPORT(keep, none, (any, x)) { return tvmffi_any_assign(&kept, x); }

TVMFFI_EXPORT(kept, any) { TVMFFI_RETURN(kept); }

TVMFFI_PYTHON_MODULE(classes)
