/* ======== Hash: hashes of names and type keys ============ >>platform/hash */

#pragma once

#include "../head.h"
#include "libc.h"

TVMFFI_I_INLINE uint64_t tvmffi_i_read64(const char *data) {
  uint64_t word;
  memcpy(&word, data, 8);
  return word;
}
TVMFFI_I_INLINE uint32_t tvmffi_i_read32(const char *data) {
  uint32_t word;
  memcpy(&word, data, 4);
  return word;
}

/* Returns the high half of the product a * b, xored with the low half.
   Multiplies 32-bit halves instead if the compiler would call libgcc. */
TVMFFI_I_INLINE uint64_t tvmffi_i_fold(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__) && !defined(__wasm__) && !TVMFFI_FREESTANDING
  __extension__ typedef unsigned __int128 wide;
  wide product = (wide)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
  uint64_t low = (uint64_t)(uint32_t)a * (uint32_t)b;
  uint64_t high = (a >> 32) * (b >> 32);
  uint64_t cross = (a >> 32) * (uint32_t)b + (uint32_t)a * (b >> 32);
  return low ^ high ^ (cross << 32 | cross >> 32);
#endif
}

/* Hashes `data` by wyhash (Wang Yi), 16 bytes per step. The last 16 bytes may
   overlap earlier bytes. */
TVMFFI_I_ALWAYS_INLINE uint32_t tvmffi_i_hash(const char *data, size_t size) {
  const uint64_t j = 0xA0761D6478BD642Fu, k = 0x9E3779B97F4A7C15u;
  const uint64_t l = 0xC2B2AE3D27D4EB4Fu;
  uint64_t h = size * k, first = 0, last = 0;
  if (size > 16) {
    const char *end = data + size;
    do {
      h = tvmffi_i_fold(tvmffi_i_read64(data) ^ j,
                        tvmffi_i_read64(data + 8) ^ h);
      data += 16;
    } while (end - data > 16);
    first = tvmffi_i_read64(end - 16);
    last = tvmffi_i_read64(end - 8);
  } else if (size >= 8) {
    first = tvmffi_i_read64(data);
    last = tvmffi_i_read64(data + size - 8);
  } else if (size >= 4) {
    first = tvmffi_i_read32(data);
    last = tvmffi_i_read32(data + size - 4);
  } else if (size) {
    first = (uint64_t)(unsigned char)data[0] |
            (uint64_t)(unsigned char)data[size / 2] << 8 |
            (uint64_t)(unsigned char)data[size - 1] << 16;
  }
  return (uint32_t)(h ^ tvmffi_i_fold(first ^ k, last ^ l));
}

/* Same as `memcmp(a, b, size) == 0`. The last two words may overlap. */
TVMFFI_I_INLINE int tvmffi_i_same_words(const char *a, const char *b,
                                        size_t size) {
  size_t i;
  TVMFFI_ASSERT(size >= 8);
  for (i = 0; i + 8 < size; i += 8)
    if (tvmffi_i_read64(a + i) != tvmffi_i_read64(b + i)) return 0;
  return tvmffi_i_read64(a + size - 8) == tvmffi_i_read64(b + size - 8);
}

/* Same as `memcmp(a, b, size) == 0`. Inline, because comparing a short key
   costs less than a call. */
TVMFFI_I_INLINE int tvmffi_i_same_key(const char *a, const char *b,
                                      size_t size) {
  if (size >= 8) return tvmffi_i_same_words(a, b, size);
  if (size >= 4)
    return tvmffi_i_read32(a) == tvmffi_i_read32(b) &&
           tvmffi_i_read32(a + size - 4) == tvmffi_i_read32(b + size - 4);
  return !size || (a[0] == b[0] && a[size / 2] == b[size / 2] &&
                   a[size - 1] == b[size - 1]);
}

/* Hashes a type key exactly like libstdc++'s std::hash, which upstream uses.
   Processes exchange structural hashes, which contain type key hashes. The
   algorithm is MurmurHash64A, on 32 bits MurmurHash2 (A. Appleby, 2008), with
   seed 0xc70f6907. */
static uint64_t tvmffi_i_type_key_hash(const char *data, size_t size) {
  const int wide = sizeof(void *) == 8;
  const uint64_t mask = wide ? UINT64_MAX : UINT32_MAX;
  const uint64_t k = wide ? 0xC6A4A7935BD1E995u : 0x5BD1E995u;
  uint64_t h = 0xC70F6907u ^ (wide ? size * k : size), word;
  size_t n = sizeof(void *), left = size, i;
  for (; left; left -= n, data += n) {
    if (n > left) n = left;
    for (word = 0, i = 0; i < n; ++i)
      word |= (uint64_t)(unsigned char)data[i] << (8 * i);
    if (n == sizeof(void *)) {
      word = word * k & mask;
      word = (word ^ word >> (wide ? 47 : 24)) * k & mask;
      if (!wide) h = h * k & mask;
      h ^= word;
      if (wide) h *= k;
    } else {
      h = (h ^ word) * k & mask;
    }
  }
  h = (h ^ h >> (wide ? 47 : 13)) * k & mask;
  return h ^ h >> (wide ? 47 : 15);
}
