// Removes the noise of a picture by compile.py's programs on WebGPU, by the
// unmodified client: non-local means (Buades and others, 2005), written as
// attention. A query is the surroundings of a pixel, so is a key, and with
//   query = (2 q / h, 1) and key = (k, -|k|^2 / h)
// their product is -|q - k|^2 / h, but for |q|^2, which softmax ignores.
import {canvas} from "/demo/canvas.js";
import * as reference from "/test/reference.js";

const width = 48,
  height = 36,
  count = width * height,
  reach = 2, // surroundings of 5 x 5
  channels = 3,
  size = (2 * reach + 1) ** 2 * channels + 1,
  noise = 0.12,
  strength = size * noise ** 2 * 0.7; // h

function draw(context) {
  context.scale(width / 64, height / 48);
  const sky = context.createLinearGradient(0, 0, 0, 48);
  sky.addColorStop(0, "#1b4f9c");
  sky.addColorStop(0.6, "#f7b267");
  sky.addColorStop(1, "#2d6a4f");
  context.fillStyle = sky;
  context.fillRect(0, 0, 64, 48);
  context.fillStyle = "#ffe66d";
  context.beginPath();
  context.arc(47, 13, 6, 0, 7);
  context.fill();
  context.fillStyle = "#33415c";
  for (const [x, top] of [
    [4, 17],
    [15, 24],
    [23, 11],
    [36, 28],
  ])
    context.fillRect(x, top, 8, 48 - top);
}

// Colours from 0 to 1, without the opacity.
function colours(context) {
  const {data} = context.getImageData(0, 0, width, height);
  return Float32Array.from(
    {length: count * channels},
    (_, i) => data[4 * Math.floor(i / channels) + (i % channels)] / 255,
  );
}

function show(title, x) {
  const data = new Uint8ClampedArray(4 * count).fill(255);
  x.forEach((v, i) => {
    data[4 * Math.floor(i / channels) + (i % channels)] = Math.round(255 * v);
  });
  canvas(title, width, height).putImageData(
    new ImageData(data, width, height),
    0,
    0,
  );
}

// Adds noise, the same in each run: the sum of four even distributions.
function noisy(x) {
  let seed = 1;
  const random = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32 - 0.5;
  };
  const scale = noise * Math.sqrt(3);
  return x.map((v) => v + scale * (random() + random() + random() + random()));
}

const clamp = (i, end) => Math.min(Math.max(i, 0), end - 1);

// The surroundings of each pixel, and a last element for the distance.
function surroundings(x) {
  const rows = new Float32Array(count * size);
  for (let i = 0; i < count; ++i) {
    let at = i * size;
    for (let dy = -reach; dy <= reach; ++dy)
      for (let dx = -reach; dx <= reach; ++dx) {
        const row = clamp(Math.floor(i / width) + dy, height),
          column = clamp((i % width) + dx, width);
        for (let c = 0; c < channels; ++c)
          rows[at++] = x[(row * width + column) * channels + c];
      }
  }
  return rows;
}

function queriesAndKeys(x) {
  const rows = surroundings(x),
    queries = rows.map((v) => (2 * v) / strength),
    keys = Float32Array.from(rows);
  for (let last = size - 1; last < rows.length; last += size) {
    let square = 0;
    for (let i = last + 1 - size; i < last; ++i) square += rows[i] ** 2;
    queries[last] = 1;
    keys[last] = -square / strength;
  }
  return {queries, keys};
}

function transposed(x) {
  const y = new Float32Array(x.length);
  x.forEach((v, i) => {
    y[(i % channels) * count + Math.floor(i / channels)] = v;
  });
  return y;
}

const root = (a, b) =>
  Math.sqrt(a.reduce((sum, v, i) => sum + (v - b[i]) ** 2, 0) / a.length);
const greatest = (x) => x.reduce((most, v) => Math.max(most, Math.abs(v)), 0);
// The greatest difference, as a part of the greatest element.
const difference = (a, b) => greatest(b.map((v, i) => a[i] - v)) / greatest(b);

function softmaxRows(x) {
  const y = new Float64Array(x.length);
  for (let at = 0; at < x.length; at += count)
    y.set(reference.softmax(x.subarray(at, at + count), 1), at);
  return y;
}

function timed(run) {
  const start = performance.now();
  const result = run();
  return {result, time: performance.now() - start};
}

// What each program does, in JavaScript.
function script({queries, keys}, values) {
  const likeness = timed(() =>
    reference.matmul(queries, keys, count, count, size),
  );
  const weights = timed(() => softmaxRows(likeness.result));
  const means = timed(() =>
    reference.matmul(weights.result, values, count, channels, count),
  );
  return [likeness, weights, means];
}

async function read(tvm, tensor) {
  const copy = tvm.empty(tensor.shape);
  copy.copyFrom(tensor);
  await tvm.webgpu().sync();
  return copy.toArray();
}

// Runs a program twice, and returns its time of the second run.
async function run(tvm, name, a, b, shape) {
  const out = tvm.empty(shape, "float32", tvm.webgpu());
  const program = tvm.systemLib().getFunction(name);
  const args = b ? [a, b, out] : [a, out];
  let time;
  for (let i = 0; i < 2; ++i) {
    const start = performance.now();
    program(...args);
    await tvm.webgpu().sync();
    time = performance.now() - start;
  }
  return {out, time, result: await read(tvm, out)};
}

async function attention(tvm, {queries, keys}, values) {
  const put = (x, shape) =>
    tvm.empty(shape, "float32", tvm.webgpu()).copyFrom(x);
  const square = [count, count];
  const likeness = await run(
    tvm,
    "matmul",
    put(queries, [count, size]),
    put(keys, [count, size]),
    square,
  );
  const weights = await run(tvm, "softmax", likeness.out, null, square);
  const means = await run(
    tvm,
    "matmul",
    weights.out,
    put(values, [channels, count]),
    [count, channels],
  );
  return [likeness, weights, means];
}

async function start() {
  const found = await tvmjs.detectGPUDevice();
  if (!found) throw Error("This browser has no WebGPU.");
  const bytes = await (await fetch("/webgpu.wasm")).arrayBuffer();
  const tvm = await tvmjs.instantiate(bytes, tvmjs.createPolyfillWASI());
  tvm.initWebGPU(found.device);
  tvm.beginScope(); // ended by demo()
  await tvm.asyncLoadWebGPUPipelines(tvm.systemLib());
  const {vendor, architecture, description} = found.adapterInfo;
  document.getElementById("about").textContent =
    `A module of ${bytes.byteLength.toLocaleString("en")} bytes: tvmffi.h and ` +
    `the programs, called by the client @mlc-ai/web-runtime. ` +
    `${width} x ${height} pixels; the adapter is ` +
    `${[vendor, architecture, description].filter(Boolean).join(", ")}.`;
  return tvm;
}

export async function demo() {
  const tvm = await start();
  const first = canvas("the picture", width, height);
  draw(first);
  const clean = colours(first),
    x = noisy(clean);
  show("with noise", x);
  const inputs = queriesAndKeys(x),
    values = transposed(x);
  const got = await attention(tvm, inputs, values);
  tvm.endScope();
  show("by attention on WebGPU", got[2].result);
  const wanted = script(inputs, values);
  const names = [
    `product, ${count} x ${size} x ${count}`,
    `softmax, ${count} x ${count}`,
    `product, ${count} x ${count} x ${channels}`,
  ];
  const programs = got.map(({result, time}, i) => ({
    name: names[i],
    time,
    scriptTime: wanted[i].time,
    error: difference(result, wanted[i].result),
  }));
  for (const {name, time, scriptTime, error} of programs) {
    const row = document.getElementById("speed").insertRow();
    for (const text of [
      name,
      time.toFixed(1),
      scriptTime.toFixed(0),
      error.toExponential(1),
    ])
      row.insertCell().textContent = text;
  }
  return {
    programs,
    before: root(x, clean),
    after: root(got[2].result, clean),
  };
}

// With "?wait" the page has an image that comes when it is done: its load event
// is a sign to who takes a picture of it.
if (location.search === "?wait") document.getElementById("wait").src = "/wait";
const results = await demo().catch((error) => error.stack);
document.getElementById("done").textContent =
  typeof results === "string"
    ? results
    : `The noise went from ${results.before.toFixed(3)} to ${results.after.toFixed(3)} (root mean square).`;
document.body.dataset.results = JSON.stringify(results);
if (location.search === "?wait") await fetch("/done");
