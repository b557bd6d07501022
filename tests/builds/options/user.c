/* Uses each macro of the C interface once, as a user's file does, without the
   implementation: it is compiled under strict warnings, and not run. */
#include "tvmffi.h"

#include <stdio.h>

typedef struct {
  TVMFFIObject base;
  double x, y;
} Point;

TVMFFI_TYPE(Point, "options.Point", TVMFFIObject, (doc, "A point"),
            (field, float64, x), (field, float64, y, 0.0), (method, norm),
            (method, make))
TVMFFI_METHOD(Point, norm, float64) { TVMFFI_RETURN(self->x + self->y); }
TVMFFI_STATIC_METHOD(Point, make, Point, (float64, x)) {
  TVMFFI_RETURN(TVMFFI_NEW(Point, tvmffi_float(x)));
}

typedef struct {
  Point base;
  tvmffi_type_optional(int64) limit;
  TVMFFIAny name, title, any;
  TVMFFIObject *sizes, *table, *items, *shape, *tensor;
  Point *origin, *other;
  DLDataType dtype;
  int32_t layer;
} Conf;

static void conf_end(Conf *self) { self->layer = 0; }

TVMFFI_FUNC(fresh, str) { TVMFFI_RETURN(tvmffi_byte_array("fresh")); }
TVMFFI_TYPE(Conf, "options.Conf", Point,
            (field, optional(int64), limit, tvmffi_some_int64(3)),
            (field, str, name), (factory, fresh),
            (field, optional(str), title, NULL),
            (field, any, any, tvmffi_none()),
            (field, array(int64), sizes, NULL),
            (field, map(str, float64), table, NULL),
            (field, optional(list(Point)), items, NULL),
            (field, shape, shape, NULL), (field, tensor_object, tensor, NULL),
            (field, Point, origin, NULL), (field, optional(Point), other, NULL),
            (kw_only), (field, dtype, dtype, "float32"),
            (readonly, int32, layer, -1),
            (flags, kTVMFFIFieldFlagBitMaskInitOff), (destructor, conf_end))

typedef struct {
  TVMFFIObject base;
} Foreign;
TVMFFI_FOREIGN_TYPE(Foreign, "options.Foreign")

TVMFFI_EXPORT(words, none, (bool, a), (int8, b), (int16, c), (int32, d),
              (int64, e), (uint8, f), (uint16, g), (uint32, h), (uint64, i),
              (float32, j), (float64, k), (str, l), (bytes, m), (dtype, n),
              (device, o), (ptr, p)) {
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  (void)i, (void)j, (void)k, (void)l, (void)m, (void)n, (void)o, (void)p;
  TVMFFI_RETURN();
}
TVMFFI_EXPORT(objects, any, (tensor, a), (tensor_object, b), (object, c),
              (func, d), (error, e), (module, f), (opaque, g), (shape, h),
              (array, i), (list, j), (map, k), (dict, l), (any, m),
              (array(Point), n), (map(str, array(float64)), o),
              (optional(dict(str, Point)), p)) {
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  (void)i, (void)j, (void)k, (void)l, (void)n, (void)o, (void)p;
  TVMFFI_RETURN(m);
}
TVMFFI_DOC(objects, "Takes all kinds of objects")
TVMFFI_FUNC(half, optional(int64), (optional(int64), x), (optional(tensor), t),
            (optional(bool), b)) {
  (void)t, (void)b;
  TVMFFI_RETURN(x.has_value ? tvmffi_some_int64(x.value / 2)
                            : tvmffi_no_int64());
}
TVMFFI_CLOSURE(count, int64_t, int64, (int64, n)) { TVMFFI_RETURN(*self += n); }

TVMFFI_EXPORT(tensors, tensor_object, (tensor, x), (tensor, y)) {
  tvmffi_loop run;
  TVMFFIObject *z = NULL;
  TVMFFI_EXPECT((x, "float32[n, 2] cpu"), (y, "same[n, _] strided"));
  TVMFFI_TRY(tvmffi_loop_begin(&run, x, y));
  TVMFFI_TRY(tvmffi_loop_rows(&run, -1, x, y));
  while (tvmffi_loop_next(&run)) *(float *)run.at[0] = 0;
  TVMFFI_ELEMENT(x, float, 0, 1) = TVMFFI_DATA(y, float)[0];
  TVMFFI_TRY(tvmffi_tensor_new_like(x, &z));
  TVMFFI_TRY(tvmffi_tensor_new(x->dtype, x->device, x->ndim, x->shape, &z));
#if TVMFFI_I_GENERIC
  TVMFFI_TRY(tvmffi_tensor_new("int4", "cpu", x->ndim, x->shape, &z));
#endif
  TVMFFI_RETURN(z);
}

static int scoped(TVMFFI_HERE) {
  TVMFFIAny item = tvmffi_int(2);
  TVMFFIObject *list = tvmffi_list_from(&item, 1);
  int64_t n = 0;
  TVMFFI_TRY(tvmffi_at(tvmffi_obj(list), 0, &item));
  TVMFFI_TRY(tvmffi_get(tvmffi_obj(list), tvmffi_int(0), tvmffi_out_int64(&n),
                        tvmffi_int(7)));
  TVMFFI_TRY(tvmffi_set(tvmffi_obj(list), tvmffi_int(0), item));
  TVMFFI_TRY(tvmffi_append(tvmffi_obj(list), item));
  TVMFFI_TRY(tvmffi_pop(tvmffi_obj(list), tvmffi_int(0), tvmffi_out_int64(&n)));
  TVMFFI_TRY(tvmffi_erase(tvmffi_obj(list), tvmffi_int(0)));
  n += tvmffi_size(tvmffi_obj(list)) +
       tvmffi_contains(tvmffi_obj(list), tvmffi_int(0));
  TVMFFI_FOREACH(any, each, tvmffi_obj(list)) n += each.type_index;
  TVMFFI_FOREACH_ITEM(any, key, any, value, tvmffi_obj(list))
  n += key.type_index + value.type_index;
  tvmffi_print(stdout, tvmffi_obj(list));
  tvmffi_leak_report(stderr);
  n += tvmffi_live_count(kTVMFFIList) + tvmffi_scope_count(kTVMFFIList);
  TVMFFI_TRY_CONTEXT(n < 0 ? -1 : 0, "after %d", (int)n);
  return 0;
}
static int opened(void) {
  tvmffi_scope scope;
  TVMFFI_HERE = tvmffi_scope_open(&scope);
  int code = scoped(tvmffi_here);
  tvmffi_scope_close(&scope);
  return code;
}
static TVMFFIObject *kept;
static int nested(TVMFFI_HERE) {
  TVMFFIObject *list = NULL;
#if TVMFFI_I_CLEANUP
  {
    TVMFFI_SCOPE;
    list = tvmffi_scope_to_parent(tvmffi_array_from(NULL, 0));
    tvmffi_retain(list);
    list = tvmffi_scope_attach(list);
  }
#endif
  tvmffi_keep(&kept, list);
  return scoped(tvmffi_here) || opened();
}

TVMFFI_GLOBAL(named, "f");
static int errors(TVMFFI_HERE) {
  if (tvmffi_error_catch("KeyError")) return 0;
  if (tvmffi_call(tvmffi_obj(named), tvmffi_out_none(NULL)))
    tvmffi_error_clear();
  if (tvmffi_call(tvmffi_str("f"), tvmffi_out_none(NULL), tvmffi_none()))
    return TVMFFI_RAISE_FROM(tvmffi_error_take(), "ValueError", "no %s", "f");
  tvmffi_error_print(stderr);
  return TVMFFI_RAISE("ValueError", "%d", 1);
}

TVMFFI_EXPORT(use, int64, (object, object)) {
  static int64_t state;
  Conf *conf = TVMFFI_CAST(Conf, object);
  Point *point = TVMFFI_NEW(Point, tvmffi_float(1));
  TVMFFIObject *f = NULL;
  int64_t n = TVMFFI_TYPE_INDEX(Conf);
  if (TVMFFI_CAST(Foreign, object)) TVMFFI_RETURN(n);
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Conf));
  if (!point) return -1;
  f = &point->base;
  TVMFFI_TRY(tvmffi_field_get(tvmffi_obj(f), "x", tvmffi_out_none(NULL)));
  TVMFFI_TRY(tvmffi_field_set(tvmffi_obj(f), "x", tvmffi_int(n)));
  TVMFFI_TRY(tvmffi_method(tvmffi_obj(f), "norm", tvmffi_out_none(NULL)));
  if (conf) {
    tvmffi_keep(&conf->origin, point);
    TVMFFI_TRY(tvmffi_any_assign(&conf->name, tvmffi_str("a name")));
  }
  TVMFFI_TRY(TVMFFI_CLOSURE_NEW(count, &state, NULL, &f));
  TVMFFI_TRY(TVMFFI_FUNCTION_NEW(half, &f));
  TVMFFI_TRY(TVMFFI_REGISTER("options.half", half));
  TVMFFI_TRY(TVMFFI_OVERRIDE("options.half", half));
  TVMFFI_TRY(TVMFFI_REGISTER_DOC("options.fresh", fresh, "Is fresh"));
  TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&n), tvmffi_int(1)));
#if TVMFFI_I_GENERIC
  TVMFFI_TRY(tvmffi_call(f, &n, 1, 2.5, "three", (char)4, (short)5, 6u, 7ul));
  n += tvmffi_size(tvmffi_list(1, 2.5, "three", f));
  n += tvmffi_size(tvmffi_map("a", 1, "b", point));
#endif
  TVMFFI_TRY(nested(tvmffi_here));
  TVMFFI_TRY(errors(tvmffi_here));
  TVMFFI_RETURN(n);
}
