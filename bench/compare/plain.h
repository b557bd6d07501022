/* plain.h: what is called, in plain C, so that every binding of this directory
 * does the same work. Matrices are row-major and compact, float32. */
#ifndef COMPARE_PLAIN_H_
#define COMPARE_PLAIN_H_

#include <math.h>
#include <stdint.h>

static inline void plain_softmax(const float *x, float *y, int64_t rows,
                                 int64_t columns) {
  for (int64_t i = 0; i < rows; ++i, x += columns, y += columns) {
    float most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < columns; ++j) most = x[j] > most ? x[j] : most;
    for (int64_t j = 0; j < columns; ++j) sum += y[j] = expf(x[j] - most);
    for (int64_t j = 0; j < columns; ++j) y[j] /= sum;
  }
}

/* c of n by m is a of n by k times b of k by m. */
static inline void plain_matmul(const float *a, const float *b, float *c,
                                int64_t n, int64_t k, int64_t m) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += a[i * k + l] * b[l * m + j];
      c[i * m + j] = sum;
    }
}

/* The k largest of n elements, largest first, and where they are. */
static inline void plain_top_k(const float *x, float *values, int64_t *indices,
                               int64_t n, int64_t k) {
  int64_t i, j, count = 0;
  for (i = 0; i < n; ++i) {
    if (count == k && (!k || values[k - 1] >= x[i])) continue;
    for (j = count < k ? count++ : k - 1; j && values[j - 1] < x[i]; --j) {
      values[j] = values[j - 1];
      indices[j] = indices[j - 1];
    }
    values[j] = x[i];
    indices[j] = i;
  }
}

#endif
