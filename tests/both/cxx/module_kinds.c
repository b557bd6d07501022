/* The C half of module_kinds.cpp: a kind of modules, without the runtime. */
#include "../../../tvmffi.h"

typedef struct {
  tvmffi_module base;
  int64_t number;
} Number;

TVMFFI_MODULE(Number, "cxx.number", (function, add), (lookup, find),
              (save, to_bytes), (save_file, "number", write))

TVMFFI_METHOD(Number, add, int64, (int64, x)) {
  TVMFFI_RETURN(self->number + x);
}
TVMFFI_METHOD(Number, find, optional(func), (str, name)) {
  (void)self;
  if (name.size > 3)
    return TVMFFI_RAISE("KeyError", "%s is a long name", name.data);
  TVMFFI_RETURN(NULL);
}
TVMFFI_METHOD(Number, to_bytes, bytes) {
  TVMFFIByteArray data = {"some bytes, saved", 17};
  if (self->number < 0) return TVMFFI_RAISE("ValueError", "less than 0");
  TVMFFI_RETURN(data);
}
TVMFFI_METHOD(Number, write, none, (str, path), (str, format)) {
  (void)self;
  return TVMFFI_RAISE("ValueError", "%s.%s", path.data, format.data);
}

/* *out is owned. */
int c_make_number(int64_t number, TVMFFIObjectHandle *out);
int c_make_number(int64_t number, TVMFFIObjectHandle *out) {
  TVMFFI_SCOPE;
  Number *m = TVMFFI_NEW(Number);
  if (!m) return -1;
  m->number = number;
  tvmffi_retain(m);
  *out = m;
  return 0;
}
