/* Types made by TVMFFI_TYPE, for test_types.py. test_types.cc has the same by
   upstream's headers, under keys that begin with "cxx." instead of "c.". */
#include "tvmffi.h"

/* Every plain word, and every word that is kept as an Any or an object. */
typedef struct {
  TVMFFIObject base;
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  uint8_t u8;
  uint16_t u16;
  uint32_t u32;
  uint64_t u64;
  float f32;
  double f64;
  tvmffi_type_bool flag;
  DLDataType type;
  DLDevice device;
  void *ptr;
  TVMFFIAny text, data, any;
  TVMFFIObject *object, *func;
} Words;

TVMFFI_FUNC(make_text, any) { TVMFFI_RETURN(tvmffi_str("made by a factory")); }

TVMFFI_TYPE(Words, "c.Words", TVMFFIObject, (doc, "All words"), /**/
            (field, int8, i8, -1), (doc, "eight bits"), (field, int16, i16, 2),
            (field, int32, i32, 3), (field, int64, i64, 4),
            (field, uint8, u8, 5), (field, uint16, u16, 6),
            (field, uint32, u32, 7), (field, uint64, u64, 8),
            (field, float32, f32, 0.5f), (field, float64, f64, 2.5),
            (field, bool, flag, 1), (field, dtype, type, "float32x4"),
            (field, device, device, "cpu"), (field, ptr, ptr, NULL),
            (field, str, text, "a default text"), (field, bytes, data, "raw"),
            (field, any, any, tvmffi_none()), (factory, make_text),
            (field, object, object, NULL), (field, func, func, NULL))

/* Parents and children; fields of all flags. */
typedef struct {
  TVMFFIObject base;
  double x, y;
} Point;

TVMFFI_TYPE(Point, "c.Point", TVMFFIObject, (doc, "A point"), /**/
            (field, float64, x), (doc, "The first"),          /**/
            (field, float64, y, 0.0),                         /**/
            (method, sum), (doc, "Adds up"), (method, scale), (method, make))

TVMFFI_METHOD(Point, sum, float64) { TVMFFI_RETURN(self->x + self->y); }

TVMFFI_METHOD(Point, scale, Point, (float64, by), (Point, origin)) {
  TVMFFI_RETURN(TVMFFI_NEW(Point, origin->x + by * (self->x - origin->x),
                           origin->y + by * (self->y - origin->y)));
}

TVMFFI_STATIC_METHOD(Point, make, Point, (float64, x), (float64, y)) {
  TVMFFI_RETURN(TVMFFI_NEW(Point, x, y));
}

typedef struct {
  Point base;
  TVMFFIAny name;
  Point *other;
  int64_t hidden, fixed;
} Named;

/* This method stands before its type. */
TVMFFI_METHOD(Named, length, int64) {
  TVMFFI_RETURN((int64_t)tvmffi_any_str(&self->name).size);
}

TVMFFI_TYPE(Named, "c.Named", Point, (field, str, name), (kw_only),
            (field, Point, other, NULL), (field, int64, hidden, 7),
            (flags, kTVMFFIFieldFlagBitMaskInitOff |
                        kTVMFFIFieldFlagBitMaskReprOff |
                        kTVMFFIFieldFlagBitMaskCompareOff),
            (readonly, int64, fixed, 5), (method, length))

/* A list as long as anybody likes, and a count of what is alive. */
typedef struct Node {
  TVMFFIObject base;
  int64_t value;
  struct Node *next;
} Node;

static int64_t nodes;
static void node_end(Node *self) {
  if (self->value < 0) --nodes;
}

TVMFFI_TYPE(Node, "c.Node", TVMFFIObject, (field, int64, value),
            (field, Node, next, NULL), (destructor, node_end), (method, count))

TVMFFI_METHOD(Node, count, int64) {
  const Node *node = self;
  int64_t n = 0;
  for (; node; node = node->next) ++n;
  TVMFFI_RETURN(n);
}

/* A constructor and a repr of its own. */
typedef struct {
  TVMFFIObject base;
  int64_t twice;
} Custom;

TVMFFI_TYPE(Custom, "c.Custom", TVMFFIObject, (field, int64, twice),
            (method, __ffi_init__), (attribute, "__ffi_repr__", show),
            (structural, kTVMFFISEqHashKindTreeNode))

TVMFFI_STATIC_METHOD(Custom, __ffi_init__, Custom, (int64, once)) {
  TVMFFI_RETURN(TVMFFI_NEW(Custom, 2 * once));
}

TVMFFI_METHOD(Custom, show, str, (func, repr)) {
  (void)self, (void)repr;
  TVMFFI_RETURN(tvmffi_byte_array("<custom>"));
}

/* A type of C++, its child, and mistakes. */
typedef struct {
  TVMFFIObject base;
  double x, y;
  TVMFFIAny name;
  TVMFFIObject *other;
  int64_t hidden, fixed;
} Foreign;
TVMFFI_FOREIGN_TYPE(Foreign, "cxx.Named")

typedef struct {
  TVMFFIObject base;
} Missing;
TVMFFI_FOREIGN_TYPE(Missing, "nobody.Registers.this")

typedef struct {
  Missing base;
} Orphan;
TVMFFI_TYPE(Orphan, "c.Orphan", Missing)

typedef struct {
  TVMFFIObject base;
  double x, y, z;
} Larger;
TVMFFI_TYPE(Larger, "c.Point", TVMFFIObject, (field, float64, x),
            (field, float64, y), (field, float64, z))

typedef struct {
  TVMFFIObject base;
  double y, x;
} Swapped;
TVMFFI_TYPE(Swapped, "c.Point", TVMFFIObject, (field, float64, x),
            (field, float64, y))

typedef struct {
  Node base;
} Moved;
TVMFFI_TYPE(Moved, "c.Point", Node)

TVMFFI_EXPORT(register_types, none) {
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Words));
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Named));
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Node));
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Custom));
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Named)); /* again */
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(mistake, none, (str, which)) {
  switch (which.data[0]) {
    case 'o': TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Orphan)); break;
    case 'l': TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Larger)); break;
    case 's': TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Swapped)); break;
    case 'm': TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Moved)); break;
    case 'r':
      if (!TVMFFI_NEW(Named, 1)) return -1;
      break;
    default:
      if (!TVMFFI_NEW(Named, 1, "a name", 2, 3)) return -1;
  }
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(sum, float64, (Point, p)) { TVMFFI_RETURN(p->x + p->y); }

TVMFFI_EXPORT(new_point, Point, (any, x)) {
  TVMFFI_RETURN(TVMFFI_NEW(Point, x));
}

TVMFFI_EXPORT(new_named, Named) {
  TVMFFI_RETURN(TVMFFI_NEW(Named, 1, "from C, long", 2));
}

TVMFFI_EXPORT(cast, bool, (any, x)) {
  TVMFFI_RETURN(x.type_index >= kTVMFFIStaticObjectBegin &&
                TVMFFI_CAST(Point, x.v_obj) != NULL);
}

TVMFFI_EXPORT(chain, Node, (int64, n)) {
  Node *first = NULL;
  while (n-- > 0) {
    Node *node = TVMFFI_NEW(Node, -1);
    if (!node) return -1;
    ++nodes;
    tvmffi_keep(&node->next, first);
    first = node;
  }
  TVMFFI_RETURN(first);
}

TVMFFI_EXPORT(alive, int64) { TVMFFI_RETURN(nodes); }

/* A child of a foreign type. */
typedef struct {
  Foreign base;
  int64_t extra;
} Adopted;
TVMFFI_TYPE(Adopted, "c.Adopted", Foreign, (field, int64, extra, 1))

TVMFFI_EXPORT(adopt, none) {
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Adopted));
  TVMFFI_RETURN();
}
