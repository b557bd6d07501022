/* A further file of a firmware, with two functions. N is its number. With
   CONTAINERS, the functions call others and use containers. */

#include "tvmffi.h"

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)
#define NAME QUOTE(N)
#define START_(n) start_##n
#define START(n) START_(n)

#if CONTAINERS
TVMFFI_FUNC(add, int64, (int64, a), (int64, b)) {
  TVMFFIObject *items;
  TVMFFIAny root;
  int64_t sum = 0;
  TVMFFI_TRY(tvmffi_call("ffi.json.Parse", &root, "{\"items\": [1, 2]}"));
  TVMFFI_TRY(tvmffi_get(root, "items", &items));
  TVMFFI_TRY(tvmffi_append(items, a));
  TVMFFI_FOREACH(int64, x, items) sum += x;
  TVMFFI_RETURN(sum + b);
}
TVMFFI_FUNC(greet, map, (str, name)) {
  TVMFFI_RETURN(tvmffi_map("names", tvmffi_list("you", name)));
}
#else
TVMFFI_FUNC(add, int64, (int64, a), (int64, b)) {
  if (b < 0) return TVMFFI_RAISE("ValueError", "%d is negative", (int)b);
  TVMFFI_RETURN(a + b);
}
TVMFFI_FUNC(greet, str, (str, name)) {
  if (name.size > 40) return TVMFFI_RAISE("ValueError", "the name is too long");
  TVMFFI_RETURN(name);
}
#endif
int START(N)(void);
int START(N)(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("add" NAME, add));
  return TVMFFI_REGISTER("greet" NAME, greet);
}
