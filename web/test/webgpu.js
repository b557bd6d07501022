// The tests of WebGPU under the client: what needs no device, in node and in a
// browser; what needs one, in a browser. The programs are demo/compile.py's.
import * as reference from "./reference.js";
import {numbers, same} from "./reference.js";

const near = (a, b, most) =>
  a.length === b.length && a.every((v, i) => Math.abs(v - b[i]) <= most);
const furthest = (a, b) =>
  a.reduce((most, v, i) => Math.max(most, Math.abs(v - b[i])), 0);

function message(action) {
  try {
    action();
  } catch (error) {
    return error.message;
  }
  return "";
}

// ---- The bytes of a module, as upstream writes them ----

const number = (value) =>
  new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
const text = (value) => [
  number(new TextEncoder().encode(value).length),
  new TextEncoder().encode(value),
];
const join = (parts) =>
  Uint8Array.from(parts.flat(Infinity).flatMap((part) => [...part]));
const handle = Uint8Array.of(3, 64, 1, 0),
  int32 = Uint8Array.of(0, 32, 1, 0),
  float32 = Uint8Array.of(2, 32, 1, 0);

function moduleBytes(shaders) {
  const infos = shaders.map(({name, types, tags}) => [
    text(name),
    text(name),
    [number(types.length), types],
    [number(tags.length), tags.map(text)],
    number(0),
  ]);
  const codes = shaders.map(({name, code}) => [text(name), text(code)]);
  const count = number(shaders.length);
  return join([count, infos, count, codes]);
}

const doubled = {
  name: "doubled",
  types: [handle, int32, float32],
  tags: ["blockIdx.x", "threadIdx.x", "paramWriteAccess:[1]"],
  code: `
struct Args { n: i32, factor: f32, grid: u32 }
@group(0) @binding(0) var<storage, read_write> x : array<f32>;
@group(0) @binding(1) var<uniform> args : Args;
@compute @workgroup_size(32, 1, 1)
fn doubled(@builtin(global_invocation_id) at : vec3<u32>) {
  if (i32(at.x) < args.n) { x[at.x] = args.factor * x[at.x]; }
}`,
};
const broken = {...doubled, name: "broken", code: "fn broken( {"};

// Calls a function of C with one argument, bytes, as the client does, but takes
// the error itself: the client would lose memory with it.
function load(tvm, function_, bytes, before = () => undefined) {
  const {exports, memory} = tvm.lib;
  const at = exports.TVMWasmAllocSpace(48 + bytes.length);
  const view = new DataView(memory.memory.buffer);
  new Uint8Array(memory.memory.buffer).set(bytes, at + 48);
  new Uint8Array(memory.memory.buffer, at, 48).fill(0);
  view.setInt32(at, 9, true); // a pointer to a byte array
  view.setInt32(at + 8, at + 32, true);
  view.setInt32(at + 32, at + 48, true);
  view.setInt32(at + 36, bytes.length, true);
  before();
  const code = exports.TVMFFIFunctionCall(
    function_._tvmPackedCell.getHandle(),
    at,
    1,
    at + 16,
  );
  const now = new DataView(memory.memory.buffer);
  const result = now.getUint32(at + 24, true);
  const error = code
    ? memory.loadCString(exports.TVMFFIWasmGetLastError())
    : "";
  if (!code) exports.TVMFFIObjectDecRef(result);
  exports.TVMWasmFreeSpace(at);
  return error;
}

function brokenBytes(t, tvm) {
  const used = tvm.getGlobalFunc("tvmffi.web.bytes_used");
  const loader = tvm.getGlobalFunc("ffi.Module.load_from_bytes.webgpu");
  const good = moduleBytes([doubled, broken]);
  const first = load(tvm, loader, good);
  t.ok(first === "", "bytes of a module are loaded", first);
  load(tvm, loader, good.subarray(1));
  const before = used();
  const bad = (bytes) =>
    /^(Value|Memory)Error: /.test(load(tvm, loader, bytes));
  let refused = 0;
  for (let size = 0; size < good.length; ++size)
    refused += bad(good.subarray(0, size));
  t.ok(refused === good.length, "each part of them is refused", refused);
  t.ok(bad(join([good, Uint8Array.of(0)])), "and so is a byte more");
  let loaded = 0;
  for (let at = 0; at < good.length; ++at)
    for (const byte of [0, 1, 0x7f, 0xff]) {
      const changed = Uint8Array.from(good);
      changed[at] = byte;
      if (!bad(changed)) ++loaded;
    }
  t.ok(
    loaded > 0 && loaded < 4 * good.length,
    "a changed byte is loaded or refused",
    loaded,
  );
  load(tvm, loader, good.subarray(1));
  t.ok(used() === before, "nothing is left of them", used() - before);
}

function modules(t, tvm) {
  const loader = tvm.getGlobalFunc("ffi.Module.load_from_bytes.webgpu");
  const odd = {...doubled, name: 'a "name"\n\\', tags: ["blockIdx.x"]};
  const module = loader(moduleBytes([doubled, odd]));
  const map = JSON.parse(module.getFunction("webgpu.get_fmap")());
  t.ok(
    same(Object.keys(map), [doubled.name, odd.name]) &&
      map[odd.name].name === odd.name &&
      same(map.doubled.arg_types, ["handle", "int32", "float32"]) &&
      same(map.doubled.launch_param_tags, doubled.tags),
    "a module describes its shaders",
    JSON.stringify(map),
  );
  const shader = module.getFunction("webgpu.get_shader");
  t.ok(
    shader("doubled") === doubled.code && shader(odd.name) === odd.code,
    "and has their text",
  );
  t.ok(
    message(() => shader("none")).includes("ValueError"),
    "a shader that is not there is an error",
  );
  const empty = loader(moduleBytes([]));
  t.ok(
    empty.getFunction("webgpu.get_fmap")() === "{}",
    "a module without shaders",
  );
  const library = JSON.parse(tvm.systemLib().getFunction("webgpu.get_fmap")());
  t.ok(
    library.matmul_kernel.arg_types.filter((type) => type === "handle")
      .length === 3 && library.softmax_kernel,
    "the compiled library has its shaders",
    Object.keys(library),
  );
}

// A compiled program for the CPU.
function squares(t, tvm) {
  const f = tvm.systemLib().getFunction("squares");
  const used = tvm.getGlobalFunc("tvmffi.web.bytes_used");
  const x = numbers(60 * 40, 11);
  const rows = tvm.empty([60, 40]).copyFrom(x),
    sums = tvm.empty([60]);
  const before = used();
  f(rows, sums);
  t.ok(used() === before, "a program of the CPU leaves nothing behind");
  const wanted = Array.from({length: 60}, (_, i) =>
    x.slice(40 * i, 40 * i + 40).reduce((sum, v) => sum + v * v, 0),
  );
  t.ok(near(sums.toArray(), wanted, 1e-5), "and computes on tensors of it");
  const said = message(() => f(rows, rows));
  t.ok(said.startsWith("ValueError"), "its errors are exceptions", said);
}

// Tests modules, and the errors of a runtime that initWebGPU was not called for.
export function withoutDevice(t, tvm) {
  t.note("-- without a device");
  tvm.beginScope();
  brokenBytes(t, tvm);
  modules(t, tvm);
  squares(t, tvm);
  const gpu = tvm.webgpu();
  const missing = /^RuntimeError: there is no WebGPU/;
  t.ok(
    missing.test(message(() => tvm.empty([4], "float32", gpu))),
    "without a device, a tensor is an error",
    message(() => tvm.empty([4], "float32", gpu)),
  );
  t.ok(
    message(() => tvm.empty([4], "float32", tvm.webgpu(1))).startsWith(
      "ValueError",
    ),
    "there is no second device",
  );
  const get = () => tvm.systemLib().getFunction("matmul_kernel");
  t.ok(missing.test(message(get)), "a shader is an error", message(get));
  const x = tvm.empty([4, 4]);
  const run = () => tvm.systemLib().getFunction("matmul")(x, x, x);
  t.ok(message(run).includes("device"), "tensors of the CPU are", message(run));
  const api = tvm.getGlobalFunc("device_api.webgpu");
  t.ok(api() > 0 && api() === api(), "the device has its table");
  tvm.endScope();
}

// ---- With a device ----

// The bytes of a tensor on the device.
async function read(tvm, tensor) {
  const copy = tvm.empty(tensor.shape, tensor.dtype, tvm.cpu());
  copy.copyFrom(tensor);
  await tvm.webgpu().sync();
  return copy.toArray();
}

async function tensors(t, tvm) {
  const gpu = tvm.webgpu();
  const context = tvm.lib.webGPUContext;
  const x = numbers(1000);
  const there = tvm.empty([10, 100], "float32", gpu).copyFrom(x);
  t.ok(same(await read(tvm, there), x), "a tensor there and back");
  const cpu = tvm.empty([10, 100]).copyFrom(x);
  const other = tvm.empty([10, 100], "float32", gpu).copyFrom(cpu);
  t.ok(same(await read(tvm, other), x), "from a tensor of the CPU");
  const third = tvm.empty([10, 100], "float32", gpu).copyFrom(other);
  t.ok(same(await read(tvm, third), x), "inside the device");
  const odd = tvm.empty([3], "uint8", gpu);
  odd.copyFrom(tvm.empty([3], "uint8").copyFrom([7, 8, 9]));
  t.ok(same(await read(tvm, odd), [7, 8, 9]), "three bytes");
  const none = tvm.empty([0, 5], "float32", gpu);
  none.copyFrom(tvm.empty([0, 5]));
  t.ok((await read(tvm, none)).length === 0, "an empty tensor");
  const view = tvm.ctx.tensorCreateView(
    there,
    tvm.makeShapeTuple([3]),
    "float32",
    tvm.scalar(40, "int"),
  );
  t.ok(same(await read(tvm, view), x.slice(10, 13)), "a part is read");
  view.copyFrom(tvm.empty([3]).copyFrom([1, 2, 3]));
  const changed = Float32Array.from(x);
  changed.set([1, 2, 3], 10);
  t.ok(same(await read(tvm, there), changed), "and written");
  const joined = tvm.concatEmbeddings([there, other]);
  t.ok(
    joined.device.deviceType === gpu.deviceType &&
      same(await read(tvm, joined), [...changed, ...x]),
    "tensors are joined",
  );
  const rest = tvm.empty([3], "uint8", gpu);
  const errors = {
    "another size": () => cpu.copyFrom(odd),
    "three bytes inside the device": () => rest.copyFrom(odd),
    "into itself": () => view.copyFrom(view),
    "bytes of the device": () => tvm.ctx.tensorCopyToJSBytes(there),
    "a softmax of the CPU": () => tvm.applySoftmaxWithTemperature(there, 1),
    "another scope": () =>
      tvm.ctx.tensorEmpty(tvm.makeShapeTuple([4]), "float32", gpu, "shared"),
  };
  for (const [name, action] of Object.entries(errors))
    t.ok(message(action).startsWith("ValueError"), `${name}: an error`);
  const bytes = context.currAllocatedBytes;
  tvm.beginScope();
  const more = tvm.empty([256], "float32", gpu);
  t.ok(
    more.getDataPtr() > 0 && context.currAllocatedBytes === bytes + 1024,
    "a tensor has a buffer",
  );
  tvm.endScope();
  t.ok(context.currAllocatedBytes === bytes, "which is freed with it");
}

const softmaxRows = (x, n, m) =>
  Array.from({length: n}, (_, i) =>
    reference.softmax(x.slice(i * m, (i + 1) * m), 1),
  ).flat();

function runner(tvm) {
  const gpu = tvm.webgpu();
  const library = tvm.systemLib();
  return {
    put: (x, shape) => tvm.empty(shape, "float32", gpu).copyFrom(x),
    call: async (name, shape, ...args) => {
      const out = tvm.empty(shape, "float32", gpu);
      library.getFunction(name)(...args, out);
      return read(tvm, out);
    },
  };
}

async function matmul(t, tvm, n, m, k) {
  const {put, call} = runner(tvm);
  const a = numbers(n * k, 2),
    b = numbers(m * k, 3);
  const got = await call("matmul", [n, m], put(a, [n, k]), put(b, [m, k]));
  const wanted = reference.matmul(a, b, n, m, k);
  t.ok(
    near(got, wanted, 1e-6 * k),
    `a product of ${n} x ${k} and ${k} x ${m}`,
    furthest(got, wanted),
  );
}

async function programs(t, tvm) {
  const {put, call} = runner(tvm);
  for (const [n, m, k] of [
    [1, 1, 1],
    [7, 5, 3],
    [64, 64, 64],
    [130, 70, 33],
    [3, 300, 128],
  ])
    await matmul(t, tvm, n, m, k);
  for (const [n, m] of [
    [1, 1],
    [5, 1000],
    [300, 65],
  ]) {
    const x = numbers(n * m, 5).map((v) => 20 * v);
    const got = await call("softmax", [n, m], put(x, [n, m]));
    const wanted = softmaxRows(x, n, m);
    t.ok(
      near(got, wanted, 2e-6),
      `softmax of ${n} rows of ${m}`,
      furthest(got, wanted),
    );
  }
  const x = numbers(33 * 50, 6),
    y = numbers(33 * 50, 7),
    shape = [33, 50];
  const sum = await call("axpy", shape, 2.5, put(x, shape), put(y, shape));
  t.ok(
    near(
      sum,
      x.map((v, i) => 2.5 * v + y[i]),
      1e-6,
    ),
    "a float and ints are given to a shader",
  );
  const a = numbers(40 * 16, 8),
    b = numbers(30 * 16, 9);
  const scores = await call(
    "scores",
    [40, 30],
    put(a, [40, 16]),
    put(b, [30, 16]),
  );
  t.ok(
    near(scores, softmaxRows(reference.matmul(a, b, 40, 30, 16), 40, 30), 2e-6),
    "several shaders with tensors in between",
  );
}

function wrongArguments(t, tvm) {
  const gpu = tvm.webgpu();
  const f = tvm.systemLib().getFunction("matmul");
  const x = tvm.empty([4, 4], "float32", gpu);
  const part = tvm.ctx.tensorCreateView(
    tvm.empty([8, 4], "float32", gpu),
    tvm.makeShapeTuple([4, 4]),
    "float32",
    tvm.scalar(64, "int"),
  );
  const cases = {
    TypeError: [
      ["a tensor of int32", x, tvm.empty([4, 4], "int32", gpu), x],
      ["a number", x, 1, x],
      ["two arguments", x, x],
    ],
    ValueError: [
      ["another extent", x, tvm.empty([4, 5], "float32", gpu), x],
      ["another rank", x, tvm.empty([4], "float32", gpu), x],
      ["a tensor of the CPU", x, x, tvm.empty([4, 4])],
      ["a part of a tensor", x, part, x],
    ],
  };
  for (const [kind, list] of Object.entries(cases))
    for (const [name, ...args] of list) {
      const said = message(() => f(...args));
      t.ok(said.startsWith(kind), `${name}: a ${kind}`, said);
    }
}

// Functions of a module that is loaded from bytes.
async function shaders(t, tvm, device) {
  const loader = tvm.getGlobalFunc("ffi.Module.load_from_bytes.webgpu");
  const module = loader(moduleBytes([doubled]));
  const f = module.getFunction("doubled");
  const x = tvm.empty([50], "float32", tvm.webgpu()).copyFrom(numbers(50));
  const pointer = tvm.scalar(x.getDataPtr(), "handle");
  f(pointer, tvm.scalar(40, "int"), 3, 2, 32);
  const wanted = numbers(50).map((v, i) => (i < 40 ? 3 * v : v));
  t.ok(near(await read(tvm, x), wanted, 1e-6), "a shader of a loaded module");
  let calls = 0;
  module.getFunction("webgpu.update_prebuild")("doubled", () => {
    ++calls;
  });
  module.getFunction("doubled")();
  t.ok(calls === 1, "a prebuilt function takes its place");

  const used = tvm.getGlobalFunc("tvmffi.web.bytes_used");
  const bytes = moduleBytes([doubled]);
  const once = () =>
    tvm.withNewScope(() => {
      loader(bytes).getFunction("doubled");
    });
  for (let i = 0; i < 3; ++i) once();
  const before = used();
  for (let i = 0; i < 20; ++i) once();
  t.ok(used() === before, "20 shaders leave nothing behind", used() - before);

  const bad = loader(moduleBytes([broken]));
  const failed = await tvm.asyncLoadWebGPUPipelines(bad).then(
    () => "",
    (error) => error.message,
  );
  t.ok(
    /shader|pipeline|module/i.test(failed),
    "a shader that does not compile: an error",
    failed,
  );
  const seen = [];
  const see = (event) => seen.push(event.error);
  device.addEventListener("uncapturederror", see);
  const old = console.error;
  console.error = () => undefined; // the client's handler writes it there
  bad.getFunction("broken");
  await tvm.webgpu().sync();
  console.error = old;
  device.removeEventListener("uncapturederror", see);
  t.ok(
    seen.length > 0 &&
      seen.every((error) => error instanceof GPUValidationError),
    "and without waiting, an error of the device",
    seen.length,
  );
  await matmul(t, tvm, 9, 9, 9);
}

async function prebuilt(t, tvm) {
  const context = tvm.lib.webGPUContext;
  const created = [];
  const create = context.createShader;
  context.createShader = (info, code) => {
    created.push(info.name);
    return create.call(context, info, code);
  };
  await tvm.asyncLoadWebGPUPipelines(tvm.systemLib());
  await programs(t, tvm);
  t.ok(created.length === 0, "all shaders were created before", created);
  context.createShader = create;
}

async function nothingLost(t, tvm) {
  const used = tvm.getGlobalFunc("tvmffi.web.bytes_used");
  const context = tvm.lib.webGPUContext;
  const a = numbers(20 * 8, 2);
  const once = async () => {
    tvm.beginScope();
    const {put, call} = runner(tvm);
    const x = put(a, [20, 8]);
    await call("scores", [20, 20], x, x);
    tvm.concatEmbeddings([x, x]);
    tvm.endScope();
  };
  for (let i = 0; i < 3; ++i) await once();
  const before = [used(), context.currAllocatedBytes];
  for (let i = 0; i < 100; ++i) await once();
  const after = [used(), context.currAllocatedBytes];
  t.ok(same(before, after), "100 runs leave nothing behind", [before, after]);
}

// With no memory left, each of these is an error and loses nothing.
function exhaustion(t, tvm) {
  const {TVMWasmAllocSpace: alloc, TVMWasmFreeSpace: free} = tvm.exports;
  const used = tvm.getGlobalFunc("tvmffi.web.bytes_used");
  const loader = tvm.getGlobalFunc("ffi.Module.load_from_bytes.webgpu");
  const bytes = moduleBytes([doubled]);
  const module = loader(bytes);
  const map = module.getFunction("webgpu.get_fmap"),
    shader = module.getFunction("webgpu.get_shader");
  const context = tvm.lib.webGPUContext;
  const shape = tvm.makeShapeTuple([2]);
  const blocks = [];
  const fill = () => {
    for (let size = 2 ** 30; size >= 8; size /= 2)
      for (let at; (at = alloc(size));) blocks.push(at);
  };
  const release = () => blocks.splice(0).forEach((at) => free(at));
  const needy = [
    () => map(),
    () => shader("doubled"),
    () => module.getFunction("webgpu.get_fmap"),
    () => module.getFunction("doubled"),
    () => tvm.ctx.tensorEmpty(shape, "float32", tvm.webgpu(), null),
  ];
  const fail = () => message(() => shader("none"));
  // With each error the client loses a call stack. This gives it some to lose.
  const deep = tvm.toPackedFunc((n) => (n > 0 ? deep(n - 1) : 0));
  deep(40);
  const run = (f) => {
    fill();
    const said = message(f);
    release();
    return said;
  };
  needy.forEach(run);
  fail();
  const before = [used(), context.currAllocatedBytes];
  const wrong = needy.filter((f) => !/MemoryError/.test(run(f)));
  const said = load(tvm, loader, bytes, fill);
  release();
  fail();
  const after = [used(), context.currAllocatedBytes];
  t.ok(wrong.length === 0, "without memory they say so", wrong.map(String));
  t.ok(/^MemoryError/.test(said), "so does a module that is loaded", said);
  t.ok(same(before, after), "nothing is lost", [before, after]);
  t.ok(
    needy.every((f) => message(f) === ""),
    "and then all is well again",
  );
}

// The program "scores" has tensors of its own, in buffers that are kept.
async function workspaces(t, tvm) {
  const context = tvm.lib.webGPUContext;
  const f = tvm.systemLib().getFunction("scores");
  const {put} = runner(tvm);
  const a = numbers(200 * 4, 8);
  const run = (n) => {
    tvm.beginScope();
    const x = put(a.slice(0, 4 * n), [n, 4]);
    const out = tvm.empty([n, n], "float32", tvm.webgpu());
    const before = context.allAllocatedBytes;
    f(x, x, out);
    const made = context.allAllocatedBytes - before;
    tvm.detachFromCurrentScope(out);
    tvm.endScope();
    return {out, made};
  };
  const check = async (n) => {
    const {out, made} = run(n);
    const got = await read(tvm, out);
    out.dispose();
    const x = a.slice(0, 4 * n);
    const wanted = softmaxRows(reference.matmul(x, x, n, n, 4), n, n);
    return {made, good: near(got, wanted, 2e-6)};
  };
  const first = await check(100),
    second = await check(100);
  t.ok(first.good && second.good, "a program with tensors of its own, twice");
  t.ok(first.made > 0 && second.made === 0, "has new buffers only once", [
    first.made,
    second.made,
  ]);
  const buffers = () => context.bufferTable.filter(Boolean).length;
  const before = buffers();
  let good = 0;
  for (let n = 5; n <= 200; n += 5) good += (await check(n)).good;
  t.ok(good === 40, "tensors of 40 sizes", good);
  t.ok(buffers() > before && buffers() <= 16, "of which 16 are kept at most", [
    before,
    buffers(),
  ]);
}

export async function withAdapter(t, tvm, device) {
  t.note("-- with a device");
  withoutDevice(t, tvm);
  tvm.initWebGPU(device);
  for (const part of [tensors, prebuilt, workspaces, nothingLost, exhaustion]) {
    t.note(`-- ${part.name}`);
    tvm.beginScope();
    await part(t, tvm);
    tvm.endScope();
  }
  tvm.beginScope();
  wrongArguments(t, tvm);
  await shaders(t, tvm, device);
  tvm.endScope();
  // Releasing a tensor after its device was destroyed must not fail.
  tvm.beginScope();
  const kept = tvm.detachFromCurrentScope(
    tvm.empty([4], "float32", tvm.webgpu()),
  );
  tvm.endScope();
  tvm.deviceLostIsError = false;
  tvm.lib.webGPUContext.dispose();
  kept.dispose();
  t.ok(
    message(() => kept.dispose()) === "",
    "a tensor is released after its device",
  );
}

// Tests that C waits for the device, and that shaders are created at first use.
export async function withAsyncify(t, tvm, device) {
  t.note("-- asyncify");
  tvm.initWebGPU(device);
  tvm.beginScope();
  const x = numbers(100);
  const there = tvm.empty([100], "float32", tvm.webgpu()).copyFrom(x);
  const sync = tvm.wrapAsyncifyPackedFunc(
    tvm.getGlobalFunc("runtime.Device_StreamSync"),
  );
  const back = tvm.empty([100]).copyFrom(there);
  await sync(tvm.webgpu(), tvm.scalar(0, "int"));
  t.ok(same(back.toArray(), x), "C waits for the device");
  await sync(tvm.cpu(), tvm.scalar(0, "int"));
  await matmul(t, tvm, 33, 17, 65);
  tvm.endScope();
  tvm.deviceLostIsError = false;
  tvm.dispose();
}
