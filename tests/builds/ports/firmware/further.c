/* A further file of the firmware DATA, with two functions. N is its number. */

#include "tvmffi.h"

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)
#define NAME QUOTE(N)
#define START_(n) start_##n
#define START(n) START_(n)

TVMFFI_FUNC(add, int64, (int64, a), (int64, b)) {
  if (b < 0) return TVMFFI_RAISE("ValueError", "%d is negative", (int)b);
  TVMFFI_RETURN(a + b);
}
TVMFFI_FUNC(greet, str, (str, name)) {
  if (name.size > 40) return TVMFFI_RAISE("ValueError", "the name is too long");
  TVMFFI_RETURN(name);
}
int START(N)(void);
int START(N)(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("add" NAME, add));
  return TVMFFI_REGISTER("greet" NAME, greet);
}
