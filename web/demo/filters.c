/* Image filters on a canvas's pixels: tensors "uint8[h, w, 4]" with red, green,
   blue and opacity. Beyond its borders an image repeats its edge pixels. */
#include "web.h"

#define FROM (tensor("uint8[h, w, 4] cpu"), from)
#define TO (tensor("uint8[h, w, 4] cpu out"), to)

static int64_t clamp(int64_t i, int64_t end) {
  return i < 0 ? 0 : i < end ? i : end - 1;
}

static uint8_t brightness(const uint8_t *pixel) {
  return (uint8_t)((pixel[0] * 77 + pixel[1] * 150 + pixel[2] * 29) >> 8);
}

TVMFFI_EXPORT(gray, none, FROM, TO) {
  const uint8_t *x;
  uint8_t *y;
  int64_t i, n;
  x = TVMFFI_DATA(from, uint8_t);
  y = TVMFFI_DATA(to, uint8_t);
  n = from->shape[0] * from->shape[1];
  for (i = 0; i < n; ++i, x += 4, y += 4) {
    y[0] = y[1] = y[2] = brightness(x);
    y[3] = x[3];
  }
  TVMFFI_RETURN();
}
WEB_KERNEL(gray)

/* Blurs a row: each pixel becomes the mean of 2 radius + 1 pixels. */
static void blur_row(const uint8_t *x, uint8_t *y, int64_t width,
                     int64_t radius, uint32_t share) {
  int64_t i;
  int c;
  for (c = 0; c < 4; ++c) {
    uint32_t sum = 0;
    for (i = -radius; i <= radius; ++i) sum += x[4 * clamp(i, width) + c];
    for (i = 0; i < width; ++i) {
      y[4 * i + c] = (uint8_t)((sum * share + 32768) >> 16);
      sum += x[4 * clamp(i + radius + 1, width) + c];
      sum -= x[4 * clamp(i - radius, width) + c];
    }
  }
}

static void add_row(uint32_t *sums, const uint8_t *more, const uint8_t *less,
                    int64_t n) {
  int64_t i;
  for (i = 0; i < n; ++i) sums[i] += (uint32_t)more[i] - less[i];
}

static void put_row(const uint32_t *sums, uint8_t *y, int64_t n,
                    uint32_t share) {
  int64_t i;
  for (i = 0; i < n; ++i) y[i] = (uint8_t)((sums[i] * share + 32768) >> 16);
}

/* Box blur: each pixel becomes the mean of a square of 2 radius + 1 by 2 radius
   + 1 pixels. Rows first, then columns, as a sliding sum: one addition and one
   subtraction per value for any radius. */
TVMFFI_EXPORT(blur, none, FROM, TO, (int64, radius)) {
  TVMFFIObject *kept, *totals;
  const uint8_t *x;
  uint8_t *rows, *y;
  uint32_t *sums, share;
  int64_t h, n, i, j;
  if (radius < 0 || radius > 100)
    return TVMFFI_RAISE("ValueError", "the radius is %lld, not 0 to 100",
                        (long long)radius);
  h = from->shape[0];
  n = from->shape[1] * 4;
  if (!h || !n) TVMFFI_RETURN();
  share = (uint32_t)(65536 / (2 * radius + 1));
  x = TVMFFI_DATA(from, uint8_t);
  y = TVMFFI_DATA(to, uint8_t);
  TVMFFI_TRY(tvmffi_tensor_new_like(from, &kept));
  TVMFFI_TRY(tvmffi_tensor_new(tvmffi_dtype_of(kDLUInt, 32), from->device, 1,
                               &n, &totals));
  rows = TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(kept), uint8_t);
  sums = TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(totals), uint32_t);
  for (i = 0; i < h; ++i)
    blur_row(x + i * n, rows + i * n, n / 4, radius, share);
  for (i = 0; i < n; ++i) sums[i] = 0;
  for (i = -radius; i <= radius; ++i) {
    const uint8_t *line = rows + clamp(i, h) * n;
    for (j = 0; j < n; ++j) sums[j] += line[j];
  }
  for (i = 0; i < h; ++i) {
    put_row(sums, y + i * n, n, share);
    add_row(sums, rows + clamp(i + radius + 1, h) * n,
            rows + clamp(i - radius, h) * n, n);
  }
  TVMFFI_RETURN();
}
WEB_KERNEL(blur)

/* Sobel filter: the brightness gradient at each pixel. */
TVMFFI_EXPORT(edges, none, FROM, TO) {
  int64_t h, w, i, j, a, b;
  const uint8_t *x;
  uint8_t *y;
  h = from->shape[0];
  w = from->shape[1];
  x = TVMFFI_DATA(from, uint8_t);
  y = TVMFFI_DATA(to, uint8_t);
  for (i = 0; i < h; ++i)
    for (j = 0; j < w; ++j, y += 4) {
      int p[3][3], across, down, sum;
      for (a = 0; a < 3; ++a)
        for (b = 0; b < 3; ++b)
          p[a][b] = brightness(
              x + 4 * (clamp(i + a - 1, h) * w + clamp(j + b - 1, w)));
      across =
          p[0][2] + 2 * p[1][2] + p[2][2] - p[0][0] - 2 * p[1][0] - p[2][0];
      down = p[2][0] + 2 * p[2][1] + p[2][2] - p[0][0] - 2 * p[0][1] - p[0][2];
      sum = (across < 0 ? -across : across) + (down < 0 ? -down : down);
      y[0] = y[1] = y[2] = (uint8_t)(sum < 255 ? sum : 255);
      y[3] = 255;
    }
  TVMFFI_RETURN();
}
WEB_KERNEL(edges)
