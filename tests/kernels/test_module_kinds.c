/* A kind of modules for test_module_kinds.py, and a library with modules of
   that kind in it, as TVM writes them. */
#include "tvmffi.h"

#include <string.h>

typedef struct {
  tvmffi_module base;
  int64_t number;
  TVMFFIObject *found; /* what `find` asks, or NULL: owned */
} Number;

static int64_t num_alive;

static void number_end(Number *self) {
  tvmffi_release(self->found);
  --num_alive;
}

TVMFFI_MODULE(Number, "test.number", (function, add), (doc, "Adds"),
              (function, two), (function, to_bytes), (function, ask),
              (lookup, find),
              (save, to_bytes), (load, from_bytes), (source, source),
              (save_file, "number", write), (load_file, "number", read),
              (mask, TVMFFI_MODULE_EXPORTABLE), (destructor, number_end))

static Number *make(TVMFFI_HERE, int64_t number) {
  Number *made = TVMFFI_NEW(Number);
  if (!made) return NULL;
  ++num_alive;
  made->number = number;
  return made;
}

TVMFFI_METHOD(Number, add, int64, (int64, x), (array(int64), more)) {
  TVMFFI_RETURN(self->number + x + tvmffi_size(tvmffi_obj(more)));
}
TVMFFI_STATIC_METHOD(Number, two, int64) { TVMFFI_RETURN(2); }

/* Calls a function of an import, or a global one, with the number. */
TVMFFI_METHOD(Number, ask, any, (str, name)) {
  TVMFFIObject *f;
  TVMFFIAny answer = tvmffi_none();
  TVMFFI_TRY(tvmffi_module_find(self, name.data, &f));
  TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_any(&answer),
                         tvmffi_int(self->number)));
  TVMFFI_RETURN(answer);
}

TVMFFI_METHOD(Number, find, any, (str, name)) {
  TVMFFIAny found = tvmffi_none();
  if (self->found)
    TVMFFI_TRY(tvmffi_call(tvmffi_obj(self->found), tvmffi_out_any(&found),
                           tvmffi_str(name.data)));
  TVMFFI_RETURN(found);
}

TVMFFI_METHOD(Number, to_bytes, bytes) {
  TVMFFIByteArray data = {NULL, sizeof(self->number)};
  if (self->number < 0) return TVMFFI_RAISE("ValueError", "less than 0");
  data.data = (const char *)&self->number;
  TVMFFI_RETURN(data);
}
TVMFFI_STATIC_METHOD(Number, from_bytes, Number, (bytes, data)) {
  int64_t number;
  if (data.size != sizeof(number))
    return TVMFFI_RAISE("ValueError", "%d bytes", (int)data.size);
  memcpy(&number, data.data, sizeof(number));
  TVMFFI_RETURN(make(tvmffi_here, number));
}
TVMFFI_METHOD(Number, source, str, (str, format)) {
  if (self->number < 0) return TVMFFI_RAISE("ValueError", "no source");
  TVMFFI_RETURN(format);
}
TVMFFI_METHOD(Number, write, none, (str, path), (str, format)) {
  (void)self;
  return TVMFFI_RAISE("ValueError", "%s as %s", path.data, format.data);
}
TVMFFI_STATIC_METHOD(Number, read, Number, (str, path), (str, format)) {
  (void)format;
  TVMFFI_RETURN(make(tvmffi_here, (int64_t)path.size));
}

/* The loader's name of this kind is taken by `take`. */
typedef struct {
  tvmffi_module base;
} Taken;
TVMFFI_MODULE(Taken, "test.taken", (load, load))
TVMFFI_STATIC_METHOD(Taken, load, none) { TVMFFI_RETURN(); }
TVMFFI_EXPORT(register_taken, none) {
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Taken));
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(register_kind, none) {
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Number));
  TVMFFI_RETURN();
}
TVMFFI_EXPORT(make_number, Number, (int64, number), (optional(func), found)) {
  Number *m = make(tvmffi_here, number);
  if (!m) return -1;
  tvmffi_keep(&m->found, found);
  TVMFFI_RETURN(m);
}
TVMFFI_EXPORT(number_of, int64, (Number, m)) { TVMFFI_RETURN(m->number); }
TVMFFI_EXPORT(double_of, int64, (int64, x)) { TVMFFI_RETURN(2 * x); }
TVMFFI_EXPORT(alive, int64) { TVMFFI_RETURN(num_alive); }

/* A library's embedded modules: the system library "test_kinds.", which imports
   a module of the kind. Numbers are 64 bits, little endian; a text has its size
   before it. The root is the library, which imports module 1. */
/* clang-format off */
#define N(x) (char)(x), 0, 0, 0, 0, 0, 0, 0
static const char binary[] = {
    N(9 * 8 + 4 + 11 + 8), N(3), N(0), N(1), N(1), N(1), N(1), N(4),
    '_', 'l', 'i', 'b', N(11), 't', 'e', 's', 't', '.', 'n', 'u', 'm', 'b',
    'e', 'r', N(8), N(33)};
/* clang-format on */

TVMFFI_EXPORT(embedded, module) {
  TVMFFIObject *m;
  TVMFFI_TRY(TVMFFIEnvModRegisterSystemLibSymbol(
      "test_kinds.__tvm_ffi__library_bin", (void *)(uintptr_t)binary));
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.SystemLib"), tvmffi_out_object(&m),
                         tvmffi_str("test_kinds.")));
  TVMFFI_RETURN(m);
}
