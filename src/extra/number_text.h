/* ======== Number text =================================== >>extra/number_text
   floats, big integers, dtypes as text */
/* Text, hash and order of values with all that they hold, by the fields that
   types describe. The path from the root stands on a stack of frames and not
   on the thread's; what is open or done stands in a table, so that cycles end
   and what is shared is done once. An object with one reference cannot be met
   twice and is left out of the table. Texts, the order of events and the hash,
   which crosses process borders, are upstream's (extra/dataclass.cc). All state
   belongs to the call; only hooks of types nest on the thread's stack. */

#pragma once

#include "../head/config.h"
#include "../platform/text.h"

#if !TVMFFI_NO_EXTRA
/* -------- Numbers and texts -------- */

/* Appends a floating-point number, given by its bits, as "%.*g" has it in the
   C locale; up to 17 digits. Exact, and without floating-point code: its words
   have nine decimal digits each, the first those of the highest value, and the
   word at UNITS ends before the point. */
static void tvmffi_i_text_float(tvmffi_i_text_buffer *b, uint64_t bits,
                                int precision) {
  enum { BASE = 1000000000, UNITS = 40, DIGITS = 48 };
  uint32_t word[UNITS + 130], carry, mask;
  int first = UNITS - 1, end = UNITS + 1, i, s, n = 0, k, rest, at;
  int e = (int)(bits >> 52 & 2047);
  uint64_t m = bits & (((uint64_t)1 << 52) - 1), x;
  char digit[DIGITS];
  if (bits >> 63) tvmffi_i_text_char(b, '-');
  if (e == 2047 || !(m | (uint64_t)(unsigned)e)) {
    tvmffi_i_text_str(b, e ? m ? "nan" : "inf" : "0");
    return;
  }
  m |= (uint64_t)(e != 0) << 52;
  e = (e ? e : 1) - 1075;
  while (!(m & 255)) m >>= 8, e += 8;
  while (!(m & 1)) m >>= 1, ++e;
  word[first] = (uint32_t)(m / BASE);
  word[UNITS] = (uint32_t)(m % BASE);
  if (!word[first]) ++first;
  for (; e > 0; e -= s) {
    s = e < 29 ? e : 29;
    for (carry = 0, i = end - 1; i >= first; --i) {
      x = ((uint64_t)word[i] << s) + carry;
      carry = (uint32_t)(x / BASE);
      word[i] = (uint32_t)(x % BASE);
    }
    if (carry) word[--first] = carry;
  }
  for (; e < 0; e += s) {
    s = e > -9 ? -e : 9;
    mask = (1u << s) - 1;
    for (carry = 0, i = first; i < end; ++i) {
      uint32_t low = word[i] & mask;
      word[i] = (word[i] >> s) + carry;
      carry = (BASE >> s) * low;
    }
    if (carry) word[end++] = carry;
    if (!word[first]) ++first;
  }
  /* One digit more than are shown, at least, without zeros before them. */
  for (at = 9 * (UNITS - first), i = first; i < end && n <= precision; ++i) {
    uint32_t w = word[i];
    k = 9;
    if (i == first)
      for (k = 1; k < 9 && w >= 10; ++k) w /= 10;
    if (i == first) at += k - 1;
    w = word[i];
    for (s = k; s--; w /= 10) digit[n + s] = (char)('0' + w % 10);
    n += k;
  }
  /* Round to the nearest, a half to even. */
  if (n > precision) {
    for (rest = 0; i < end; ++i) rest |= word[i] != 0;
    for (k = precision + 1; k < n; ++k) rest |= digit[k] != '0';
    n = precision;
    k = digit[n];
    if (k > '5' || (k == '5' && (rest || (digit[n - 1] & 1)))) {
      while (n && digit[n - 1] == '9') --n;
      if (n)
        ++digit[n - 1];
      else
        digit[n++] = '1', ++at;
    }
  }
  while (n > 1 && digit[n - 1] == '0') --n;
  if (at < -4 || at >= precision) {
    tvmffi_i_text_char(b, digit[0]);
    if (n > 1) tvmffi_i_text_char(b, '.');
    tvmffi_i_text_put(b, digit + 1, (size_t)(n - 1));
    tvmffi_i_text_put(b, at < 0 ? "e-0" : "e+0", at > -10 && at < 10 ? 3 : 2);
    tvmffi_i_text_int(b, at < 0 ? -at : at);
    return;
  }
  for (i = at < 0 ? at : 0; i < n || i <= at; ++i) {
    tvmffi_i_text_char(b, i >= 0 && i < n ? digit[i] : '0');
    if (i == at && i + 1 < n) tvmffi_i_text_char(b, '.');
  }
}
#endif
