/* Data types: what is read can be printed, and what is printed is read as the
   same type. An input is a text, and its first four bytes are a type. */
#include "fuzz.h"

/* A type whose name a user gives: two letters stand for the code. */
static int custom_name(void *self, const TVMFFIAny *args, int32_t n,
                       TVMFFIAny *result) {
  char name[3] = {'a', 'a', 0};
  (void)self;
  if (n != 1) return TVMFFI_RAISE("TypeError", "one argument");
  name[0] = (char)('a' + (args[0].v_int64 >> 4 & 15));
  name[1] = (char)('a' + (args[0].v_int64 & 15));
  *result = fuzz_text(name, 2);
  return 0;
}

static int custom_code(void *self, const TVMFFIAny *args, int32_t n,
                       TVMFFIAny *result) {
  TVMFFIByteArray name;
  (void)self;
  if (n != 1) return TVMFFI_RAISE("TypeError", "one argument");
  name = tvmffi_any_str(args);
  if (name.size != 2) return TVMFFI_RAISE("ValueError", "no such type");
  *result = tvmffi_int((name.data[0] - 'a') * 16 + (name.data[1] - 'a'));
  return 0;
}

static void set_global(const char *name, TVMFFISafeCallType call) {
  TVMFFIByteArray key = tvmffi_byte_array(name);
  TVMFFIObjectHandle f = NULL;
  FUZZ_CHECK(TVMFFIFunctionCreate(NULL, call, NULL, &f) == 0);
  FUZZ_CHECK(TVMFFIFunctionSetGlobal(&key, f, 0) == 0);
  tvmffi_release(f);
}

/* Whether the text of a type has all of it. A handle shows neither bits nor
   lanes, a user's type and a short float no bits, 0 bits are read as the usual
   ones, and one lane may be stored as 0, 1 or -1. */
static int is_exact(DLDataType t) {
  int lanes = (int16_t)t.lanes;
  return t.code <= kDLBool && t.code != kDLOpaqueHandle && t.bits &&
         (lanes > 0 || lanes < -1);
}

/* Prints a type and reads that; gives whether it could be printed. */
static int round_trip(DLDataType dtype) {
  TVMFFIAny text = tvmffi_none(), second = tvmffi_none();
  TVMFFIByteArray s;
  DLDataType again;
  int code = TVMFFIDataTypeToString(&dtype, &text);
  fuzz_check_error(code);
  if (code) return 0;
  fuzz_check_any(&text);
  s = tvmffi_any_str(&text);
  code = TVMFFIDataTypeFromString(&s, &again);
  fuzz_check_error(code);
  if ((dtype.code == kDLBool && dtype.bits > 8) ||
      (dtype.code > kDLBool && dtype.code < 129 && (int16_t)dtype.lanes < -1)) {
    FUZZ_CHECK(code); /* a wide bool, and a short float with scalable lanes */
  } else {
    FUZZ_CHECK(!code);
    FUZZ_CHECK(again.code == dtype.code);
    FUZZ_CHECK(!is_exact(dtype) || memcmp(&again, &dtype, sizeof(dtype)) == 0);
    FUZZ_CHECK(TVMFFIDataTypeToString(&again, &second) == 0);
    FUZZ_CHECK(!dtype.bits || fuzz_same_text(&text, &second));
    tvmffi_any_release(&second);
  }
  tvmffi_any_release(&text);
  return 1;
}

/* Whether each number of a text is in what the type is printed as; 1 may be
   left out, and 0 stands for the usual bits. */
static int has_numbers(TVMFFIByteArray text, TVMFFIByteArray printed) {
  size_t i = 0, at, n;
  while (i < text.size) {
    for (n = 0; i + n < text.size && text.data[i + n] >= '0' &&
                text.data[i + n] <= '9';)
      ++n;
    if (n && text.data[i] == '0') n = 1; /* the rest is a number, too */
    if (n > 1 || (n && text.data[i] > '1')) {
      for (at = 0; at + n <= printed.size; ++at)
        if (memcmp(printed.data + at, text.data + i, n) == 0) break;
      if (at + n > printed.size) return 0;
    }
    i += n ? n : 1;
  }
  return 1;
}

/* What a text was read as is what it says. */
static void check_read(TVMFFIByteArray text, DLDataType dtype) {
  TVMFFIAny printed = tvmffi_none();
  FUZZ_CHECK(round_trip(dtype));
  if (!is_exact(dtype) || (dtype.code == kDLBool && dtype.bits == 8)) return;
  FUZZ_CHECK(TVMFFIDataTypeToString(&dtype, &printed) == 0);
  FUZZ_CHECK(has_numbers(text, tvmffi_any_str(&printed)));
  FUZZ_CHECK(((int16_t)dtype.lanes < 0) ==
             (memchr(text.data, 'v', text.size) != NULL));
  tvmffi_any_release(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static int started;
  char *copy = (char *)malloc(size ? size : 1);
  TVMFFIByteArray text;
  DLDataType dtype;
  int code;
  FUZZ_CHECK(copy);
  fuzz_begin();
  if (!started++) {
    set_global("dtype.get_custom_type_name", custom_name);
    set_global("dtype.get_custom_type_code", custom_code);
  }
  if (size) memcpy(copy, data, size);
  text.data = copy;
  text.size = size;
  code = TVMFFIDataTypeFromString(&text, &dtype);
  fuzz_check_error(code);
  if (!code) check_read(text, dtype);
  if (size >= sizeof(dtype)) {
    memcpy(&dtype, data, sizeof(dtype));
    (void)round_trip(dtype);
  }
  free(copy);
  return 0;
}
