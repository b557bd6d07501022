/* Methods and fields by name, of types of this file and of the library, on
   whatever library the program is linked to. */
#include <stdio.h>

#include "tvmffi.h"

#include "show.h"

typedef struct {
  TVMFFIObject base;
  int64_t n;
  double scale;
  TVMFFIObject *items;
} Shape;

TVMFFI_TYPE(Shape, "interface.Shape", TVMFFIObject, (field, int64, n, 2),
            (field, float64, scale, 0.5),
            (readonly, optional(list), items, NULL),
            (method, area), (method, fail), (method, unit_of))
TVMFFI_METHOD(Shape, area, float64, (float64, by)) {
  TVMFFI_RETURN((double)self->n * self->scale * by);
}
TVMFFI_METHOD(Shape, fail, none) {
  (void)self;
  return TVMFFI_RAISE("IndexError", "no area");
}
TVMFFI_STATIC_METHOD(Shape, unit_of, str) {
  TVMFFI_RETURN(tvmffi_byte_array("m"));
}

typedef struct {
  Shape base;
  int64_t sides;
} Polygon;
TVMFFI_TYPE(Polygon, "interface.Polygon", Shape, (field, int64, sides, 3))

TVMFFI_MAIN() {
  Polygon *p = TVMFFI_NEW(Polygon);
  TVMFFIObject *items;
  double area;
  int64_t n;
  TVMFFIAny any;
  if (!p) return -1;
  TVMFFI_TRY(tvmffi_method(p, "area", &area, 10.0));
  TVMFFI_TRY(tvmffi_field_set(p, "n", 7));
  TVMFFI_TRY(tvmffi_field_set(p, "sides", 5));
  TVMFFI_TRY(tvmffi_field_get(p, "n", &n));
  printf("%g %lld %lld\n", area, (long long)n, (long long)p->sides);
  TVMFFI_TRY(tvmffi_method(p, "area", &area, 10));
  TVMFFI_TRY(tvmffi_method(p, "unit_of", &any));
  printf("%g %s\n", area, tvmffi_any_str(&any).data);
  TVMFFI_TRY(tvmffi_field_get(p, "items", &any));
  printf("%d\n", any.type_index);
  FAILS(tvmffi_field_get(p, "items", &items));
  FAILS(tvmffi_field_set(p, "items", tvmffi_list(1)));
  FAILS(tvmffi_field_set(p, "n", "text"));
  FAILS(tvmffi_field_get(p, "m", &n));
  FAILS(tvmffi_field_get(7, "m", &n));
  FAILS(tvmffi_field_set((TVMFFIObject *)NULL, "n", 1));
  FAILS(tvmffi_method(p, "n", NULL));
  FAILS(tvmffi_method("text", "upper", NULL));
  FAILS(tvmffi_method(p, "area", &area));
  FAILS(tvmffi_method(p, "fail", NULL));
  FAILS(tvmffi_method(p, "unit_of", &n));
  FAILS(tvmffi_method(p, "area", NULL, UINT64_MAX));
  printf("%lld objects\n", (long long)tvmffi_scope_count(kTVMFFIAny));
  return 0;
}
