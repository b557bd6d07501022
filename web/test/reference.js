// Reference results for the module's numerical functions, in float64.

export function softmax(x, temperature) {
  const greatest = Math.max(...x);
  const w = Array.from(x, (v) => Math.exp((v - greatest) / temperature));
  const sum = w.reduce((a, b) => a + b, 0);
  return w.map((v) => v / sum);
}

// Sorts the whole list, cuts it at top_p, then finds u in the rest.
export function choose(weights, topP, u) {
  const order = Array.from(weights, (weight, index) => ({weight, index}));
  order.sort((a, b) => b.weight - a.weight || a.index - b.index);
  let kept = 0,
    n = 0;
  while (n < order.length && (n === 0 || kept < topP))
    kept += order[n++].weight;
  let sum = 0;
  for (let i = 0; i < n; ++i) {
    sum += order[i].weight;
    if (u * kept < sum) return order[i].index;
  }
  return order[n - 1].index;
}

export function repetition(x, ids, penalty) {
  const y = Array.from(x);
  for (const i of ids) y[i] = y[i] <= 0 ? y[i] * penalty : y[i] / penalty;
  return y;
}

export function presenceAndFrequency(x, ids, counts, presence, frequency) {
  const y = Array.from(x);
  ids.forEach((id, i) => {
    y[id] -= counts[i] * frequency + presence;
  });
  return y;
}

// The filters of demo/filters.c in JavaScript.

const clamp = (i, end) => (i < 0 ? 0 : i < end ? i : end - 1);
const brightness = (x, at) =>
  (x[at] * 77 + x[at + 1] * 150 + x[at + 2] * 29) >> 8;

export function gray(x, w, h) {
  const y = new Uint8Array(x.length);
  for (let i = 0; i < 4 * w * h; i += 4) {
    y[i] = y[i + 1] = y[i + 2] = brightness(x, i);
    y[i + 3] = x[i + 3];
  }
  return y;
}

function blurLine(x, y, start, step, count, radius, share) {
  let sum = 0;
  for (let i = -radius; i <= radius; ++i)
    sum += x[start + clamp(i, count) * step];
  for (let i = 0; i < count; ++i) {
    y[start + i * step] = (sum * share + 32768) >> 16;
    sum += x[start + clamp(i + radius + 1, count) * step];
    sum -= x[start + clamp(i - radius, count) * step];
  }
}

export function blur(x, w, h, radius) {
  const share = Math.floor(65536 / (2 * radius + 1));
  const rows = new Uint8Array(x.length),
    y = new Uint8Array(x.length);
  for (let i = 0; i < h; ++i)
    for (let c = 0; c < 4; ++c)
      blurLine(x, rows, i * w * 4 + c, 4, w, radius, share);
  for (let i = 0; i < w * 4; ++i) blurLine(rows, y, i, w * 4, h, radius, share);
  return y;
}

export function edges(x, w, h) {
  const y = new Uint8Array(x.length);
  for (let i = 0; i < h; ++i)
    for (let j = 0; j < w; ++j) {
      const p = (a, b) =>
        brightness(x, 4 * (clamp(i + a, h) * w + clamp(j + b, w)));
      const across =
        p(-1, 1) + 2 * p(0, 1) + p(1, 1) - p(-1, -1) - 2 * p(0, -1) - p(1, -1);
      const down =
        p(1, -1) + 2 * p(1, 0) + p(1, 1) - p(-1, -1) - 2 * p(-1, 0) - p(-1, 1);
      const at = 4 * (i * w + j);
      y[at] =
        y[at + 1] =
        y[at + 2] =
          Math.min(255, Math.abs(across) + Math.abs(down));
      y[at + 3] = 255;
    }
  return y;
}

// The product of a matrix of n x k and a transposed one of m x k.
export function matmul(a, b, n, m, k) {
  const c = new Float64Array(n * m);
  for (let i = 0; i < n; ++i)
    for (let j = 0; j < m; ++j)
      for (let r = 0; r < k; ++r) c[i * m + j] += a[i * k + r] * b[j * k + r];
  return c;
}

// Numbers between -1 and 1, the same in each run.
export function numbers(n, seed = 1) {
  const x = new Float32Array(n);
  for (let i = 0; i < n; ++i) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    x[i] = seed / 2 ** 31 - 1;
  }
  return x;
}

export const same = (a, b) =>
  a.length === b.length && a.every((v, i) => v === b[i]);
