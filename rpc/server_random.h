/* Random elements for tensors: the global functions
   tvm.contrib.random.{random_fill,random_fill_for_measure}, by which
   MetaSchedule's RPCRunner fills the arguments of a kernel before it times
   it. */
#ifndef TVMFFI_RPC_SERVER_RANDOM_H_
#define TVMFFI_RPC_SERVER_RANDOM_H_

#include <stdint.h>
#include <string.h>

/* Advances Marsaglia's xorshift64. Each session begins with the same state, so
   that timings of two sessions can be compared. */
static uint64_t random_next(void) {
  static uint64_t state = UINT64_C(88172645463325252);
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/* Returns the bits of a random element: a bool, or a number from 1 to 8.
   Denormal floats and NaNs would change a kernel's time, and a large integer is
   more often a wrong index. */
static uint64_t random_bits(DLDataType dtype) {
  static const struct {
    uint8_t code, bits, mantissa;
    uint16_t bias;
  } floats[] = {{kDLFloat, 16, 10, 15},
                {kDLFloat, 32, 23, 127},
                {kDLFloat, 64, 52, 1023},
                {kDLBfloat, 16, 7, 127}};
  uint64_t r = random_next();
  size_t i;
  if (dtype.code == kDLBool || dtype.bits == 1) return r >> 60 & 1;
  for (i = 0; i < sizeof(floats) / sizeof(*floats); ++i)
    if (dtype.code == floats[i].code && dtype.bits == floats[i].bits) {
      uint64_t exponent = floats[i].bias + (r >> 60) % 3;
      uint64_t mask = (UINT64_C(1) << floats[i].mantissa) - 1;
      return exponent << floats[i].mantissa | (r & mask);
    }
  return 1 + (r >> 60) % 8;
}

/* A type that has no width of a C integer is filled as bytes. */
TVMFFI_FUNC(random_fill, none, (tensor("any[*shape] cpu out"), t)) {
  DLDataType dtype = t->dtype;
  size_t width = dtype.bits / 8u, n, i;
  char *to = TVMFFI_DATA(t, char);
  if (dtype.bits % 8u || (width != 2 && width != 4 && width != 8)) width = 1;
  n = tvmffi_tensor_bytes(t) / width;
  for (i = 0; i < n; ++i) {
    uint64_t bits = random_bits(dtype);
    switch (width) {
      case 8: ((uint64_t *)(void *)to)[i] = bits; break;
      case 4: ((uint32_t *)(void *)to)[i] = (uint32_t)bits; break;
      case 2: ((uint16_t *)(void *)to)[i] = (uint16_t)bits; break;
      default: ((uint8_t *)to)[i] = (uint8_t)bits;
    }
  }
  TVMFFI_RETURN();
}

static int random_register(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("tvm.contrib.random.random_fill", random_fill));
  return TVMFFI_REGISTER("tvm.contrib.random.random_fill_for_measure",
                         random_fill);
}

#endif /* TVMFFI_RPC_SERVER_RANDOM_H_ */
