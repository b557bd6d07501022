/* How libFuzzer changes an input that is JSON: whole values of the text take
   each other's places, so that most of what comes out is JSON again. */
#ifndef FUZZ_MUTATE_H_
#define FUZZ_MUTATE_H_

#include "fuzz.h"

#ifdef FUZZ_MUTATE
typedef struct {
  size_t begin, end;
} fuzz_span;
enum { FUZZ_SPANS = 1024, FUZZ_NESTING = 64 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed);

static int fuzz_in_word(uint8_t c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || c == '-' || c == '+' || c == '.';
}

/* Behind the string or the word that begins here. */
static size_t fuzz_token_end(const uint8_t *s, size_t i, size_t size) {
  if (s[i] != '"') {
    while (i < size && fuzz_in_word(s[i])) ++i;
    return i;
  }
  for (++i; i < size && s[i] != '"'; ++i)
    if (s[i] == '\\') ++i;
  return i < size ? i + 1 : size;
}

/* Finds the values of a text. */
static int fuzz_find_spans(const uint8_t *s, size_t size, fuzz_span *spans) {
  size_t open[FUZZ_NESTING], depth = 0, i = 0;
  int n = 0;
  while (i < size && n < FUZZ_SPANS) {
    uint8_t c = s[i];
    if (c == '"' || fuzz_in_word(c)) {
      spans[n].begin = i;
      spans[n].end = i = fuzz_token_end(s, i, size);
      ++n;
      continue;
    }
    ++i;
    if ((c == '[' || c == '{') && depth < FUZZ_NESTING) open[depth++] = i - 1;
    if ((c == ']' || c == '}') && depth) {
      spans[n].begin = open[--depth];
      spans[n++].end = i;
    }
  }
  return n;
}

/* Puts a text in the place of a span; the text is not of `data`. */
static size_t fuzz_splice(uint8_t *data, size_t size, size_t max_size,
                          fuzz_span at, const char *text, size_t n) {
  size_t rest = size - at.end;
  if (at.begin + n + rest > max_size) return size;
  memmove(data + at.begin + n, data + at.end, rest);
  memcpy(data + at.begin, text, n);
  return at.begin + n + rest;
}

static unsigned fuzz_random(unsigned *seed) {
  *seed = *seed * 1103515245u + 12345u;
  return *seed >> 8;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed) {
  static fuzz_span spans[FUZZ_SPANS];
  static char copy[4096];
  fuzz_span at, from;
  const char *word;
  size_t n;
  int count = fuzz_find_spans(data, size, spans);
  if (!count || fuzz_random(&seed) % 3 == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  at = spans[fuzz_random(&seed) % (unsigned)count];
  from = spans[fuzz_random(&seed) % (unsigned)count];
  n = from.end - from.begin;
  switch (fuzz_random(&seed) % 6) {
    case 0: /* a small number, such as an index */
      n = (size_t)snprintf(copy, sizeof(copy), "%d",
                           (int)(fuzz_random(&seed) % 24) - 2);
      return fuzz_splice(data, size, max_size, at, copy, n);
    case 1: /* nothing, and no comma */
      while (at.end < size && data[at.end] == ' ') ++at.end;
      if (at.end < size && data[at.end] == ',') ++at.end;
      return fuzz_splice(data, size, max_size, at, "", 0);
    case 2: /* another value */
      if (n > sizeof(copy)) break;
      memcpy(copy, data + from.begin, n);
      return fuzz_splice(data, size, max_size, at, copy, n);
    case 3: /* another value before this one */
      if (n >= sizeof(copy)) break;
      memcpy(copy, data + from.begin, n);
      copy[n] = ',';
      at.end = at.begin;
      return fuzz_splice(data, size, max_size, at, copy, n + 1);
    default: /* a word that means something */
      word = fuzz_words[fuzz_random(&seed) %
                        (sizeof(fuzz_words) / sizeof(fuzz_words[0]))];
      return fuzz_splice(data, size, max_size, at, word, strlen(word));
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
#endif

#endif /* FUZZ_MUTATE_H_ */
