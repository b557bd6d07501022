/* Graph texts: any text is read or is an error; what is read can be written
   again, which gives the same graph. */
#include "fuzz.h"

#ifdef FUZZ_MUTATE
static const char *const fuzz_words[] = {
    "{\"type\":\"None\"}",
    "{\"type\":\"int\",\"data\":1}",
    "{\"type\":\"float\",\"data\":1.5}",
    "{\"type\":\"bool\",\"data\":true}",
    "{\"type\":\"ffi.String\",\"data\":\"ab\"}",
    "{\"type\":\"ffi.Bytes\",\"data\":\"YWI=\"}",
    "{\"type\":\"DataType\",\"data\":\"int8x2\"}",
    "{\"type\":\"Device\",\"data\":[1,0]}",
    "{\"type\":\"ffi.Shape\",\"data\":[2,3]}",
    "{\"type\":\"ffi.Array\",\"data\":[0,1]}",
    "{\"type\":\"ffi.List\",\"data\":[0,1]}",
    "{\"type\":\"ffi.Map\",\"data\":[0,1]}",
    "{\"type\":\"ffi.Dict\",\"data\":[0,1]}",
    "{\"type\":\"fuzz.Node\",\"data\":{\"number\":1,\"a\":0,\"b\":1}}",
    "{\"type\":\"fuzz.Var\",\"data\":{\"a\":0,\"b\":0}}",
    "{\"type\":\"fuzz.Shared\",\"data\":{\"a\":0}}",
    "{\"type\":\"ffi.BigInt\",\"data\":\"123456789012345678901\"}",
    "{\"type\":\"ffi.VisitInterrupt\",\"data\":{\"value\":0}}",
    "{\"type\":\"ffi.StructuralKey\",\"data\":{\"key\":0,\"hash_i64\":0}}",
    "{\"type\":\"ffi.reflection.AccessStep\",\"data\":{\"kind\":1,\"key\":0}}",
    ("{\"type\":\"ffi.reflection.AccessPath\",\"data\":{\"parent\":0,"
     "\"step\":0,\"depth\":0}}"),
    "\"ffi.Object\"",
    "\"ffi.Function\"",
    "\"ffi.Module\"",
    "\"ffi.Tensor\"",
    "\"ffi.Error\"",
    "\"ffi.EnumState\"",
    "\"ffi.IntEnum\"",
    "\"ffi.StrEnum\"",
    "\"ffi.Enum\"",
    "\"ffi.VisitErrorContext\"",
    "\"ffi.StructuralVisitor\"",
    "\"ffi.StructuralMutator\"",
    "\"ffi.OpaquePyObject\"",
    "\"void*\"",
    "\"ffi.SmallStr\"",
    "\"ObjectRValueRef\"",
    "\"data\"",
    "\"type\"",
    "\"nodes\"",
    "\"root_index\"",
    "\"metadata\"",
    "null",
    "true",
    "-1",
    "0",
    "1.5",
    "9223372036854775807",
    "[]",
    "{}",
    "\"\"",
    "\"====\"",
    "\"YWI\""};
#endif
#include "mutate.h"
#include "types.h"

static TVMFFIObject *load, *save, *load_value, *save_value;

/* Writes what was read, if all of it can be, and reads that again. */
static void round_trip(TVMFFIAny value) {
  TVMFFIAny text, again, second;
  if (fuzz_call2(save, value, tvmffi_none(), &text)) return;
  FUZZ_CHECK(fuzz_call1(load, text, &again) == 0);
  FUZZ_CHECK(fuzz_call2(save, again, tvmffi_none(), &second) == 0);
  FUZZ_CHECK(fuzz_same_text(&text, &second));
  tvmffi_any_release(&again);
  tvmffi_any_release(&second);
  tvmffi_any_release(&text);
  FUZZ_CHECK(fuzz_call2(save_value, value, tvmffi_int(1), &text) == 0);
  FUZZ_CHECK(fuzz_call1(load_value, text, &again) == 0);
  tvmffi_any_release(&again);
  tvmffi_any_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  TVMFFIAny text, value;
  fuzz_begin();
  if (!load) {
    fuzz_register_types();
    load = fuzz_function("ffi.FromJSONGraphString");
    save = fuzz_function("ffi.ToJSONGraphString");
    load_value = fuzz_function("ffi.FromJSONGraph");
    save_value = fuzz_function("ffi.ToJSONGraph");
  }
  text = fuzz_text(data, size);
  if (fuzz_call1(load, text, &value) == 0) round_trip(value);
  tvmffi_any_release(&value);
  tvmffi_any_release(&text);
  return 0;
}
