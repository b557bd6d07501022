// The tests of the module under the client, the same in node and in a browser.
import * as reference from "./reference.js";
import {numbers, same} from "./reference.js";

// Canvas pixels of an image with smooth and sharp parts.
export function picture(w, h) {
  const x = new Uint8Array(4 * w * h);
  for (let i = 0; i < h; ++i)
    for (let j = 0; j < w; ++j) {
      const at = 4 * (i * w + j),
        far = Math.hypot(i - h / 2, j - w / 2);
      x[at] = (j * 255) / w;
      x[at + 1] = far % 40 < 20 ? 220 : 40;
      x[at + 2] = (i * 255) / h;
      x[at + 3] = 255;
    }
  return x;
}

const near = (a, b, most) =>
  a.length === b.length &&
  a.every((v, i) => Math.abs(v - b[i]) <= most * Math.max(1, Math.abs(b[i])));

function message(action) {
  try {
    action();
  } catch (error) {
    return error.message;
  }
  return "";
}

function packed(t, tvm) {
  const echo = tvm.getGlobalFunc("testing.echo");
  const addOne = tvm.getGlobalFunc("tvmjs.testing.add_one");
  t.ok(
    addOne(tvm.scalar(1, "int")) === 2 && addOne(tvm.scalar(-1, "int")) === 0,
    "an int there and back",
  );
  t.ok(echo(2.5) === 2.5 && echo(-0.125) === -0.125, "a float");
  t.ok(echo(tvm.scalar(-7, "int64")) === -7, "a negative int");
  t.ok(echo(true) === true && echo(false) === false, "a bool");
  t.ok(echo(null) === undefined && echo(undefined) === undefined, "none");
  t.ok(
    ["", "short", "1234567", "12345678", "x".repeat(5000)].every(
      (s) => echo(s) === s,
    ),
    "strings, short and long",
  );
  t.ok(
    [0, 3, 7, 8, 3000].every((n) => {
      const bytes = Uint8Array.from({length: n}, (_, i) => i);
      return same(echo(bytes), bytes);
    }),
    "bytes, few and many",
  );
  const device = echo(tvm.device("webgpu", 3));
  t.ok(device.deviceType === 15 && device.deviceId === 3, "a device");
  t.ok(echo(tvm.scalar(4096, "handle")) === 4096, "a pointer");
  const names = tvm.listGlobalFuncNames();
  t.ok(
    names.includes("ffi.SystemLib") && names.includes("testing.echo"),
    "the names of all functions",
  );
  t.ok(
    message(() => tvm.getGlobalFunc("no.such")).includes("no.such"),
    "a name that is not there",
  );
}

function callbacks(t, tvm) {
  const add = (y) => (x, z) => x + y + z;
  const make = tvm.toPackedFunc(add);
  t.ok(
    tvm.isPackedFunc(make) && !tvm.isPackedFunc(add),
    "a function of JavaScript becomes a packed one",
  );
  t.ok(make(10)(1, 2) === 13, "it gives a function");
  tvm.registerFunc("test.add", (x, y) => x + y);
  t.ok(tvm.getGlobalFunc("test.add")(1, 2) === 3, "a registered function");
  t.ok(
    message(() => tvm.registerFunc("test.add", () => 1)) !== "",
    "a name that is taken",
  );
  tvm.registerFunc("test.add", (x, y) => x + y + "!", true);
  t.ok(tvm.getGlobalFunc("test.add")("a", "b") === "ab!", "or is overridden");
  const call = tvm.getGlobalFunc("tvmjs.testing.call");
  t.ok(
    call((a, b) => a + b, "1234", "56789") === "123456789",
    "C calls JavaScript with strings",
  );
  t.ok(call(call, call, (x) => x * 2, 21) === 42, "through several functions");
  let seen;
  const wrapped = tvm.getGlobalFunc("tvmjs.testing.wrap_callback")((x) => {
    seen = x;
    return 5;
  });
  t.ok(
    wrapped("seen") === 5 && seen === "seen",
    "a callback that is kept by C",
  );
  const deep = tvm.toPackedFunc((n) => (n > 0 ? deep(n - 1) + 1 : 0));
  t.ok(deep(300) === 300, "300 calls inside each other");
  const sum = tvm.systemLib().getFunction("test_sum");
  t.ok(
    sum((i) => i * i, tvm.scalar(100, "int")) === 328350,
    "C calls JavaScript in a loop",
  );
  t.ok(
    tvm.systemLib().getFunction("test_raw")(() => undefined) === 8,
    "a raw string stays one when JavaScript has got it",
  );
}

function references(t, tvm) {
  const count = tvm.getGlobalFunc("testing.object_use_count");
  const seen = [];
  const check = tvm.toPackedFunc((x, keep) => {
    seen.push(count(x));
    if (keep) seen.push(tvm.detachFromCurrentScope(x));
  });
  const x = tvm.empty([2]);
  check(x, 0);
  t.ok(
    seen[0] === 2 && count(x) === 1,
    "an argument is released after the call",
  );
  check(x, 1);
  t.ok(count(x) === 2, "unless it is detached");
  seen[2].dispose();
  t.ok(count(x) === 1, "and then disposed of");
}

function errors(t, tvm) {
  const raise = tvm.systemLib().getFunction("test_raise");
  t.ok(
    message(() => raise("ValueError", "no luck")) === "ValueError: no luck",
    "an error of C",
  );
  t.ok(
    message(() => raise("E", "y".repeat(900))) === "E: " + "y".repeat(900),
    "with a long text",
  );
  tvm.registerFunc("test.throw", (text) => {
    throw Error(text);
  });
  const thrower = tvm.getGlobalFunc("test.throw");
  t.ok(
    message(() => thrower("error-xyz")).includes("error-xyz"),
    "an error of JavaScript through C",
  );
  const call = tvm.getGlobalFunc("tvmjs.testing.call");
  t.ok(
    message(() => call(call, thrower, "deep")).includes(
      "JSCallbackError: deep",
    ),
    "through two functions",
  );
  const sum = tvm.systemLib().getFunction("test_sum");
  t.ok(
    message(() =>
      sum(
        (i) => {
          if (i === 7) throw Error("at 7");
          return 0;
        },
        tvm.scalar(9, "int"),
      ),
    ).includes("at 7"),
    "out of a loop",
  );
  t.ok(
    call(() => message(() => raise("ValueError", "inner"))) ===
      "ValueError: inner",
    "an error that is caught in a callback",
  );
  const addOne = tvm.getGlobalFunc("tvmjs.testing.add_one");
  t.ok(
    /TypeError: Mismatched type on argument #0.*`int`/.test(
      message(() => addOne("x")),
    ),
    "a wrong type",
    message(() => addOne("x")),
  );
  t.ok(
    /TypeError: Mismatched number of arguments/.test(message(() => addOne())),
    "a wrong number of arguments",
    message(() => addOne()),
  );
  t.ok(addOne(tvm.scalar(1, "int")) === 2, "the next call is a good one");
}

function objects(t, tvm) {
  const array = tvm.makeTVMArray([
    tvm.empty([1]),
    "a text that is long",
    "b",
    tvm.scalar(4, "int"),
  ]);
  t.ok(
    array.size() === 4 &&
      array.get(0).shape[0] === 1 &&
      array.get(1) === "a text that is long" &&
      array.get(2) === "b" &&
      array.get(3) === 4,
    "an array of several types",
  );
  t.ok(
    array.typeKey() === "ffi.Array" && array.get(0).typeKey() === "ffi.Tensor",
    "type keys",
  );
  t.ok(
    /IndexError/.test(message(() => array.get(4))),
    "an index that is not there",
    message(() => array.get(4)),
  );
  const long = tvm.makeTVMArray(
    Array.from({length: 70001}, (_, i) => tvm.scalar(i, "int")),
  );
  t.ok(
    long.size() === 70001 &&
      long.get(30000) === 30000 &&
      long.get(70000) === 70000,
    "an array of 70001 items, concatenated of three",
  );
  t.ok(
    /TypeError/.test(
      message(() => tvm.getGlobalFunc("tvmjs.runtime.ArrayConcat")(array, 1)),
    ),
    "only arrays are concatenated",
  );
  t.ok(
    tvm.getGlobalFunc("tvmjs.runtime.ArrayConcat")().size() === 0,
    "none of them are an empty array",
  );
  const echo = tvm.getGlobalFunc("testing.echo");
  t.ok(echo(array).size() === 4, "an array there and back");
  t.ok(
    message(() => tvm.typeKey2Index("no.such.Type")) !== "",
    "a type that is not there",
  );
  const lib = tvm.systemLib();
  t.ok(lib.typeKey() === "ffi.Module", "the system library is a module");
  t.ok(
    lib.getFunction("no_such_kernel") === undefined,
    "a function that it does not have",
  );
}

function tensors(t, tvm) {
  const rows = [
    ["float32", [1.5, -2, 3]],
    ["float64", [1.25, 1e300, -3]],
    ["int32", [1, -2, 2147483647]],
    ["int8", [1, -128, 127]],
    ["uint8", [0, 255, 7]],
  ];
  for (const [dtype, values] of rows) {
    const x = tvm.empty([3], dtype).copyFrom(values);
    t.ok(
      x.dtype === dtype && same(Array.from(x.toArray()), values),
      "a tensor of " + dtype,
    );
  }
  const x = tvm.empty([2, 3]).copyFrom([1, 2, 3, 4, 5, 6]);
  const y = tvm.empty([2, 3]).copyFrom(x);
  t.ok(same(y.toArray(), x.toArray()) && y.dataPtr !== x.dataPtr, "a copy");
  t.ok(
    x.dataPtr % 16 === 0 && y.dataPtr % 16 === 0,
    "tensors begin at multiples of 16",
  );
  const view = x.view([3, 2]);
  t.ok(
    same(view.shape, [3, 2]) && same(view.toArray(), x.toArray()),
    "a view with another shape",
  );
  view.copyFrom([6, 5, 4, 3, 2, 1]);
  t.ok(same(x.toArray(), [6, 5, 4, 3, 2, 1]), "shares the memory");
  const makeView = tvm.getGlobalFunc("runtime.TVMTensorCreateView");
  const part = makeView(
    x,
    tvm.makeShapeTuple([2]),
    "float32",
    tvm.scalar(12, "int"),
  );
  t.ok(
    same(part.toArray(), [3, 2]) && part.byteOffset === 12,
    "a view of a part",
  );
  t.ok(
    same(
      makeView(
        part,
        tvm.makeShapeTuple([1]),
        "float32",
        tvm.scalar(4, "int"),
      ).toArray(),
      [2],
    ),
    "a view of a view",
  );
  t.ok(
    makeView(
      x,
      tvm.makeShapeTuple([24]),
      "uint8",
      tvm.scalar(0, "int"),
    ).toArray().length === 24,
    "a view of the bytes",
  );
  t.ok(
    [
      [7, 0],
      [2, 20],
      [1, -4],
    ].every(([n, at]) =>
      /ValueError/.test(
        message(() =>
          makeView(
            x,
            tvm.makeShapeTuple([n]),
            "float32",
            tvm.scalar(at, "int"),
          ),
        ),
      ),
    ),
    "a view must lie inside",
  );
  const empty = tvm.empty([0, 5]);
  t.ok(
    empty.toArray().length === 0 &&
      tvm.empty([]).copyFrom([3]).toArray()[0] === 3,
    "no elements, and no dimensions",
  );
  t.ok(
    /ValueError/.test(message(() => tvm.empty([3]).copyFrom(x))),
    "a copy of another size",
    message(() => tvm.empty([3]).copyFrom(x)),
  );
  t.ok(
    /ValueError/.test(message(() => tvm.empty([-1]))),
    "a negative dimension",
    message(() => tvm.empty([-1])),
  );
  t.ok(
    /ValueError/.test(message(() => tvm.empty([1], "float32", tvm.webgpu()))),
    "a device that is not there",
    message(() => tvm.empty([1], "float32", tvm.webgpu())),
  );
  t.ok(
    /MemoryError/.test(message(() => tvm.empty([2 ** 30, 2 ** 30]))),
    "more than there is memory",
    message(() => tvm.empty([2 ** 30, 2 ** 30])),
  );
  t.ok(
    /dtype|data type/i.test(message(() => tvm.empty([1], "no_type"))),
    "a type that is not there",
    message(() => tvm.empty([1], "no_type")),
  );
  const alloc = tvm.getGlobalFunc("runtime.TVMTensorAllocWithScope");
  t.ok(
    alloc(tvm.makeShapeTuple([1]), "int", tvm.cpu(), "global").dtype ===
      "int32",
    "the scope global, and int for int32",
  );
  t.ok(
    /scope/.test(
      message(() =>
        alloc(tvm.makeShapeTuple([1]), "int", tvm.cpu(), "texture"),
      ),
    ),
    "another scope",
  );
  t.ok(
    tvm.systemLib().getFunction("test_dtype")(x) === "float32",
    "a dtype as a result",
  );
  t.ok(
    tvm.systemLib().getFunction("test_dtype")(
      tvm.empty([1], "float8_e4m3fn"),
    ) === "float8_e4m3fn",
    "one with a long name",
  );
  const joined = tvm.concatEmbeddings([
    x,
    tvm.empty([1, 3]).copyFrom([7, 8, 9]),
    tvm.empty([0, 3]),
  ]);
  t.ok(
    same(joined.shape, [3, 3]) &&
      same(joined.toArray(), [6, 5, 4, 3, 2, 1, 7, 8, 9]),
    "embeddings one after the other",
  );
  const concat = tvm.getGlobalFunc("tvmjs.runtime.ConcatEmbeddings");
  t.ok(
    [
      () => concat(),
      () => concat(x, 1),
      () => concat(x, tvm.empty([2])),
      () => concat(x, tvm.empty([1, 4])),
      () => concat(x, tvm.empty([1, 3], "int32")),
    ].every((f) => /(Value|Type)Error/.test(message(f))),
    "embeddings that do not fit",
  );
}

function bf16(values) {
  // the upper halves
  const bits = new Uint32Array(Float32Array.from(values).buffer);
  return new Uint8Array(Uint16Array.from(bits, (b) => b >>> 16).buffer);
}

function cache(t, tvm) {
  const decode = tvm.getGlobalFunc("tvmjs.array.decode_storage");
  const values = [1, -2.5, 0, 384, -0.0078125];
  const x = tvm.empty([5]);
  decode(x, bf16(values), "f32-to-bf16", "float32");
  t.ok(same(x.toArray(), values), "bfloat16 is widened");
  decode(
    x,
    new Uint8Array(Float32Array.from(values).buffer).reverse(),
    "raw",
    "float32",
  );
  t.ok(
    same(
      x.toRawBytes(),
      new Uint8Array(Float32Array.from(values).buffer).reverse(),
    ),
    "other formats are copied",
  );
  t.ok(
    /ValueError/.test(
      message(() => decode(x, new Uint8Array(8), "f32-to-bf16", "float32")),
    ) &&
      /ValueError/.test(
        message(() => decode(x, new Uint8Array(8), "raw", "float32")),
      ),
    "a wrong number of bytes",
  );
  const record = {
    format: "f32-to-bf16",
    dtype: "float32",
    byteOffset: 2,
    nbytes: 10,
  };
  tvm.loadTensorCacheRecordData(
    Uint8Array.from([9, 9, ...bf16(values)]),
    record,
    x,
    undefined,
  );
  t.ok(same(x.toArray(), values), "the client widens a record in place");

  tvm.tensorCacheUpdate("p_0", x);
  t.ok(
    same(tvm.tensorCacheGet("p_0").toArray(), values),
    "a tensor in the cache",
  );
  t.ok(tvm.tensorCacheGet("p_9") === undefined, "a name that is not there");
  t.ok(
    /p_0/.test(message(() => tvm.tensorCacheUpdate("p_0", x))),
    "a name that is taken",
  );
  tvm.tensorCacheUpdate("p_0", tvm.empty([1]).copyFrom([0]), true);
  t.ok(tvm.tensorCacheGet("p_0").shape[0] === 1, "or is replaced");
  for (let i = 1; i < 12; ++i)
    tvm.tensorCacheUpdate("p_" + i, tvm.empty([1]).copyFrom([i]));
  t.ok(
    tvm.getParamsFromCache("p", 3).size() === 3,
    "so many parameters by prefix",
  );
  const all = tvm.getParamsFromCache("p", -1);
  t.ok(all.size() === 12 && all.get(11).toArray()[0] === 11, "all of a prefix");
  t.ok(tvm.getParamsFromCache("q", -1).size() === 0, "of which there are none");
  t.ok(
    /p_12/.test(message(() => tvm.getParamsFromCache("p", 13))),
    "more than there are",
    message(() => tvm.getParamsFromCache("p", 13)),
  );
  const some = tvm.getParamsFromCacheByName(["p_5", "p_11", "p_5"]);
  t.ok(
    some.size() === 3 && some.get(1).toArray()[0] === 11,
    "parameters by name",
  );
  t.ok(
    /no_param/.test(
      message(() => tvm.getParamsFromCacheByName(["p_1", "no_param"])),
    ),
    "a parameter that is not there",
  );
  const module = tvm.getGlobalFunc("vm.builtin.param_module_from_cache")(
    "p",
    tvm.scalar(2, "int"),
  );
  t.ok(
    module.typeKey() === "ffi.Module" &&
      module.getFunction("other") === undefined,
    "the module has one function",
  );
  tvm.systemLib().importModule(module);
  t.ok(
    tvm.systemLib().getFunction("get_params")().size() === 2,
    "a module that is imported is searched, too",
  );
  tvm.tensorCacheRemove("p_3");
  tvm.tensorCacheRemove("p_3");
  t.ok(
    tvm.tensorCacheGet("p_3") === undefined &&
      tvm.getParamsFromCache("p", -1).size() === 3,
    "a tensor is removed",
  );
  tvm.tensorCacheClear();
  t.ok(
    tvm.tensorCacheGet("p_0") === undefined && all.get(1).toArray()[0] === 1,
    "all are; who has one keeps it",
  );
}

function sampling(t, tvm) {
  const n = 1000,
    x = numbers(n).map((v) => v * 8);
  const logits = () => tvm.empty([1, n]).copyFrom(x);
  const soft = logits();
  tvm.applySoftmaxWithTemperature(soft, 0.7);
  t.ok(
    near(soft.toArray(), reference.softmax(x, 0.7), 1e-7),
    "softmax with a temperature",
  );
  const two = tvm.empty([2, 3]).copyFrom([1000, 1001, 1002, -5, -5, 80]);
  tvm.applySoftmaxWithTemperature(two, 1);
  t.ok(
    near(
      two.toArray(),
      [
        ...reference.softmax([1000, 1001, 1002], 1),
        ...reference.softmax([-5, -5, 80], 1),
      ],
      1e-7,
    ),
    "of each row, also of large numbers",
  );
  const cold = tvm.empty([3]).copyFrom([1, 3, 2]);
  tvm.applySoftmaxWithTemperature(cold, 0);
  t.ok(same(cold.toArray(), [0, 1, 0]), "without any temperature");

  const fromLogits = tvm.getGlobalFunc("vm.builtin.sample_top_p_from_logits");
  const fromProb = tvm.getGlobalFunc("vm.builtin.sample_top_p_from_prob");
  const draws = numbers(200, 7).map((v) => (v + 1) / 2);
  const prob = Float32Array.from(reference.softmax(x, 1));
  const probTensor = tvm.empty([n]).copyFrom(prob),
    logitTensor = logits();
  let wrong = 0;
  for (const [i, u] of draws.entries()) {
    const topP = [0.01, 0.5, 0.9, 0.99, 1][i % 5],
      heat = [0.5, 1, 2][i % 3];
    if (
      fromLogits(logitTensor, heat, topP, u) !==
      reference.choose(reference.softmax(x, heat), topP, u)
    )
      ++wrong;
    if (fromProb(probTensor, topP, u) !== reference.choose(prob, topP, u))
      ++wrong;
  }
  t.ok(wrong === 0, "400 samples are the reference's", wrong);
  t.ok(
    fromLogits(logitTensor, 0, 0.9, 0.99) === x.indexOf(Math.max(...x)),
    "without temperature the greatest",
  );
  tvm.setSeed(3);
  const sample = tvm.sampleTopPFromProb(probTensor, 0.5);
  tvm.setSeed(3);
  t.ok(
    sample === tvm.sampleTopPFromProb(probTensor, 0.5) &&
      sample < n &&
      tvm.sampleTopPFromLogits(logitTensor, 1, 0.9) < n,
    "with the client's own random numbers",
  );
  t.ok(
    [
      () => fromProb(tvm.empty([2, 2]), 1, 0.5),
      () => fromProb(tvm.empty([0]), 1, 0.5),
      () => fromProb(tvm.empty([2], "int32"), 1, 0.5),
      () => fromLogits(tvm.empty([]), 1, 1, 0.5),
    ].every((f) => /(Value|Type)Error/.test(message(f))),
    "a tensor that is not one row of floats",
  );

  const ids = [3, 500, 999, 3],
    idTensor = tvm.empty([4], "int32").copyFrom(ids);
  const repeated = logits();
  tvm.applyRepetitionPenalty(repeated, idTensor, 1.3);
  t.ok(
    near(repeated.toArray(), reference.repetition(x, ids, 1.3), 1e-6),
    "the repetition penalty",
  );
  const counts = [1, 4, 2, 1],
    present = logits();
  tvm.applyPresenceAndFrequencyPenalty(
    present,
    idTensor,
    tvm.empty([4], "int32").copyFrom(counts),
    0.6,
    0.25,
  );
  t.ok(
    near(
      present.toArray(),
      reference.presenceAndFrequency(x, ids, counts, 0.6, 0.25),
      1e-6,
    ),
    "presence and frequency penalties",
  );
  t.ok(
    [-1, n].every((id) =>
      /IndexError/.test(
        message(() =>
          tvm.applyRepetitionPenalty(
            repeated,
            tvm.empty([1], "int32").copyFrom([id]),
            2,
          ),
        ),
      ),
    ),
    "a token that is not there",
  );
}

function kernels(t, tvm) {
  const lib = tvm.systemLib();
  const y = tvm.empty([4]).copyFrom([1, 2, 3, 4]);
  lib.getFunction("test_axpy")(2, tvm.empty([4]).copyFrom([1, 1, 1, 10]), y);
  t.ok(same(y.toArray(), [3, 4, 5, 24]), "a kernel of C on tensors");
  t.ok(
    /dimension n is 3, but 4/.test(
      message(() => lib.getFunction("test_axpy")(2, y, tvm.empty([3]))),
    ),
    "which checks them",
    message(() => lib.getFunction("test_axpy")(2, y, tvm.empty([3]))),
  );
  for (const [w, h] of [
    [64, 48],
    [1, 7],
    [5, 1],
    [33, 17],
  ]) {
    const x = picture(w, h);
    const from = tvm.empty([h, w, 4], "uint8").copyFrom(x),
      to = tvm.empty([h, w, 4], "uint8");
    const run = (name, ...more) => {
      lib.getFunction(name)(from, to, ...more);
      return to.toArray();
    };
    t.ok(
      same(run("gray"), reference.gray(x, w, h)) &&
        same(run("edges"), reference.edges(x, w, h)) &&
        [0, 1, 9, 100].every((r) =>
          same(run("blur", tvm.scalar(r, "int")), reference.blur(x, w, h, r)),
        ),
      `filters of ${w} x ${h} pixels are the reference's`,
    );
  }
}

// Makes and releases every kind of object in one scope.
function oneScope(tvm, f) {
  tvm.beginScope();
  const x = tvm.empty([2, 2]);
  f.echo("a string of more than seven bytes");
  f.echo(x);
  f.call(f.double, 4);
  tvm.endScope();
}

function leaks(t, tvm, calls) {
  const used = tvm.getGlobalFunc("tvmffi.web.bytes_used");
  const f = {
    echo: tvm.getGlobalFunc("testing.echo"),
    call: tvm.getGlobalFunc("tvmjs.testing.call"),
    double: tvm.toPackedFunc((x) => 2 * x),
  };
  for (let i = 0; i < 10; ++i) oneScope(tvm, f);
  tvm.withNewScope(() => {
    tvm.empty([100]);
  }); // the client keeps its shape
  const memory = tvm.memory.memory,
    size = memory.buffer.byteLength,
    before = used();
  const start = performance.now();
  for (let i = 0; i < calls / 4; ++i) oneScope(tvm, f);
  const time = performance.now() - start;
  t.ok(
    used() === before,
    `${calls} calls leave no byte behind`,
    used() - before,
  );
  t.ok(
    memory.buffer.byteLength === size,
    "and the memory has its size of before",
  );
  t.note(
    `${calls} calls in scopes: ${((time * 1e6) / calls).toFixed(0)} ns each`,
  );
  // With each error that it throws, the client leaks a call stack: 128 bytes,
  // and 16 of the allocator.
  const addOne = tvm.getGlobalFunc("tvmjs.testing.add_one");
  for (let i = 0; i < 400; ++i) message(() => addOne("x")); // those it had kept
  const started = used();
  for (let i = 0; i < 1000; ++i) message(() => addOne("x"));
  const held = used();
  t.ok(
    held - started === 144000,
    "1000 errors leave nothing but what the client loses",
    held - started,
  );
  const now = used();
  tvm.beginScope();
  const kept = tvm.detachFromCurrentScope(tvm.empty([100]));
  tvm.endScope();
  t.ok(used() > now, "a tensor that is not released is seen");
  kept.dispose();
  t.ok(used() === now, "until it is");
}

// The allocator by itself, through the exports for the client.
function allocator(t, tvm) {
  const {
    TVMWasmAllocSpace: alloc,
    TVMWasmFreeSpace: free,
    memory,
  } = tvm.exports;
  const used = tvm.getGlobalFunc("tvmffi.web.bytes_used");
  const before = used(),
    blocks = [],
    random = numbers(60000, 99);
  let bad = 0,
    live = 0,
    most = 0;
  const check = ({at, size, mark}) => {
    const view = new Uint8Array(memory.buffer, at, size);
    if (size && (view[0] !== mark || view[size - 1] !== mark)) ++bad;
  };
  for (let i = 0; i < random.length; i += 2) {
    if (blocks.length > 400 || (blocks.length && random[i] < -0.1)) {
      const k =
        Math.floor(Math.abs(random[i + 1]) * blocks.length) % blocks.length;
      const block = blocks[k];
      check(block);
      free(block.at);
      live -= block.size;
      blocks[k] = blocks[blocks.length - 1];
      blocks.pop();
      continue;
    }
    const size = Math.floor(2 ** (Math.abs(random[i + 1]) * 17)) - 1;
    const at = alloc(size),
      mark = i & 255;
    if (!at || at % 16) ++bad;
    new Uint8Array(memory.buffer, at, size).fill(mark);
    blocks.push({at, size, mark});
    live += size;
    most = Math.max(most, live);
  }
  blocks.forEach(check);
  t.ok(
    bad === 0,
    "30000 blocks of all sizes keep what is written to them",
    bad,
  );
  t.note(
    `allocator: at most ${(most / 1e6).toFixed(1)} MB in use, memory of ${(memory.buffer.byteLength / 1e6).toFixed(1)} MB`,
  );
  blocks.forEach((block) => free(block.at));
  t.ok(used() === before, "and are all given back");
  const size = memory.buffer.byteLength;
  for (let i = 0; i < 200; ++i) free(alloc(1000000));
  t.ok(
    memory.buffer.byteLength <= Math.max(size, before + 3e6),
    "a block is used again",
  );
  memory.grow(1);
  const large = alloc(8e6);
  new Uint8Array(memory.buffer, large, 8e6).fill(1);
  const next = tvm.empty([1000000]);
  t.ok(
    large && next.copyFrom(numbers(1000000)).toArray().length === 1000000,
    "somebody else may grow the memory",
  );
  free(large);
  t.ok(
    alloc(0xfffffff0) === 0 && alloc(0x7fff0001) === 0,
    "what cannot be had is refused",
  );
  free(0);
  const huge = [];
  const text = message(() => {
    for (let i = 0; i < 5; ++i) huge.push(tvm.empty([2 ** 30], "uint8"));
  });
  t.ok(huge.length < 4 && /MemoryError/.test(text), "the memory ends", text);
  huge.forEach((x) => x.dispose());
  t.ok(
    tvm.empty([2 ** 30], "uint8").dataPtr && used() < 1.2 * 2 ** 30,
    "and is there again",
    used(),
  );
}

function recursion(t, tvm) {
  const forever = tvm.toPackedFunc(() => forever());
  const text = message(() => forever());
  t.ok(
    text !== "",
    "endless calls of each other end in an error",
    text.slice(0, 80),
  );
}

// Every function that allocates, when no memory is left.
function exhaustion(t, tvm) {
  const {TVMWasmAllocSpace: alloc, TVMWasmFreeSpace: free} = tvm.exports;
  const get = (name) => tvm.getGlobalFunc(name);
  const used = get("tvmffi.web.bytes_used"),
    addOne = get("tvmjs.testing.add_one");
  const echo = get("testing.echo"),
    wrap = get("tvmjs.testing.wrap_callback");
  const one = tvm.scalar(1, "int"),
    x = tvm.empty([2]).copyFrom([0.5, 0.5]);
  const array = tvm.makeTVMArray([x, one]),
    text = "a text of 26 letters or so";
  const names = tvm.makeTVMArray(["x"]),
    shape = tvm.makeShapeTuple([2]);
  const view = get("runtime.TVMTensorCreateView"),
    zero = tvm.scalar(0, "int");
  const concat = get("tvmjs.runtime.ArrayConcat"),
    join = get("tvmjs.runtime.ConcatEmbeddings");
  const byName = get("vm.builtin.param_module_from_cache_by_name");
  const sample = get("vm.builtin.sample_top_p_from_prob"),
    row = tvm.empty([1, 2]);
  tvm.tensorCacheUpdate("x", x);
  const needy = [
    () => echo(text),
    () => tvm.empty([2]),
    () => x.toRawBytes(),
    () => view(x, shape, "float32", zero),
    () => tvm.makeTVMArray([one]),
    () => concat(array, array),
    () => join(row, row),
    () => wrap(addOne),
    () => tvm.toPackedFunc(() => 1),
    () => tvm.tensorCacheUpdate("y", x),
    () => tvm.getParamsFromCache("x", 0),
    () => byName(names),
    () => sample(x, 0.5, 0.5),
  ];
  const fail = () => message(() => addOne("x")); // the module stores the text
  fail();
  const before = used(),
    blocks = [];
  // A new error's text may be shorter than the last, which frees a few bytes.
  const fill = () => {
    for (let size = 2 ** 30; size >= 8; size /= 2)
      for (let at; (at = alloc(size)); ) blocks.push(at);
  };
  const wrong = needy.filter((f) => {
    fill();
    return !/MemoryError/.test(message(f));
  });
  const stillGood = addOne(one) === 2 && tvm.tensorCacheGet("x").shape[0] === 2;
  blocks.forEach((at) => free(at));
  fail();
  t.ok(wrong.length === 0, "without memory they say so", wrong.map(String));
  t.ok(stillGood, "what needs none goes on");
  t.ok(used() === before, "no byte is lost", used() - before);
  t.ok(
    needy.every((f) => message(f) === ""),
    "and then all is well again",
  );
  tvm.tensorCacheClear();
}

// The functions that only a module built with --all has.
function extras(t, tvm) {
  if (!tvm.listGlobalFuncNames().includes("ffi.json.Parse")) return;
  const map = tvm.getGlobalFunc("ffi.json.Parse")(
    '{"a": [1, 2.5, null, "a text of JSON"]}',
  );
  t.ok(map.typeKey() === "ffi.Map", "JSON becomes a map");
  t.ok(
    tvm.getGlobalFunc("ffi.MapGetItem")(map, "a").get(3) === "a text of JSON",
    "of which items are taken",
  );
  t.ok(
    tvm.getGlobalFunc("ffi.json.Stringify")(map, null) ===
      '{"a":[1,2.5,null,"a text of JSON"]}',
    "and JSON again",
  );
  t.ok(
    /a text of JSON/.test(tvm.getGlobalFunc("ffi.ReprPrint")(map)),
    "or a representation",
  );
}

// The client's output functions need to know that the memory has grown.
function logging(t, tvm, lines) {
  const log = tvm.getGlobalFunc("tvmjs.testing.log_info_str"),
    size = tvm.memory.memory.buffer.byteLength;
  log("before");
  const large = tvm.empty([size]);
  log("after the memory has grown");
  t.ok(
    large.dataPtr &&
      tvm.memory.memory.buffer.byteLength > size &&
      same(lines, ["before", "after the memory has grown"]),
    "lines on the console",
    lines,
  );
}

async function asynchronous(t, tvm) {
  tvm.beginScope();
  const code = await new Promise((resolve) => {
    tvm.withNewScope(() =>
      tvm.getGlobalFunc("__async.testing.asyncAddOne")(41, (...args) =>
        resolve(args),
      ),
    );
  });
  t.ok(
    code[0] === 4 && code[1] === 42,
    "an asynchronous function and its callback",
    code,
  );
  tvm.registerAsyncServerFunc("test.fail", async () => {
    throw Error("later");
  });
  const failed = await new Promise((resolve) => {
    tvm.withNewScope(() =>
      tvm.getGlobalFunc("__async.test.fail")((...args) => resolve(args)),
    );
  });
  t.ok(
    failed[0] === 5 && failed[1] === "Error: later",
    "and one that fails",
    failed,
  );
  tvm.endScope();
}

// Parameters loaded over HTTP, like a model's; only in a browser, where the
// client has a cache for them.
async function fetched(t, tvm, base) {
  const reports = [];
  tvm.registerInitProgressCallback((report) => reports.push(report.text));
  await tvm.fetchTensorCache(base, tvm.cpu());
  tvm.beginScope();
  const params = tvm.getParamsFromCache("param", -1);
  t.ok(
    params.size() === 2 &&
      same(params.get(0).toArray(), [1, -2.5, 0, 384]) &&
      same(params.get(1).toArray(), [7, 8]),
    "parameters are fetched and decoded",
  );
  t.ok(
    tvm.cacheMetadata.ParamSize === 2 && reports.length > 2,
    "with their metadata and reports of progress",
  );
  tvm.tensorCacheClear();
  tvm.endScope();
}

async function asyncify(t, tvm) {
  const used = tvm.getGlobalFunc("tvmffi.web.bytes_used");
  t.ok(tvm.asyncifyEnabled(), "the client sees asyncify");
  const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));
  tvm.registerAsyncifyFunc("test.sleep", async (x) => {
    await sleep(2);
    return x;
  });
  tvm.registerAsyncifyFunc("test.sleep_text", async (x) => {
    await sleep(2);
    return `a long text and ${x}`;
  });
  const wrap = (name) => tvm.wrapAsyncifyPackedFunc(tvm.getGlobalFunc(name));
  const call = wrap("tvmjs.testing.call"),
    echo = tvm.getGlobalFunc("test.sleep");
  t.ok(
    (await wrap("test.sleep")(121)) === 121,
    "a function of C waits for a promise",
  );
  t.ok((await call(echo, 5)) === 5, "so does one that calls another");
  t.ok(
    (await call(tvm.getGlobalFunc("test.sleep_text"), 7)) ===
      "a long text and 7",
    "and it gets a string",
  );
  const sum = tvm.wrapAsyncifyPackedFunc(
    tvm.systemLib().getFunction("test_sum"),
  );
  t.ok(
    (await sum(echo, tvm.scalar(20, "int"))) === 190,
    "a loop in C waits 20 times",
  );
  const say = tvm.wrapAsyncifyPackedFunc(
    tvm.systemLib().getFunction("test_text"),
  );
  t.ok(
    (await say(echo, tvm.scalar(1, "int"))) === "said after a wait",
    "a function has no result while it waits",
  );
  const before = used();
  for (let i = 0; i < 50; ++i) await call(echo, i);
  t.ok(used() === before, "nothing is left of 50 waits", used() - before);
  const text = await call((x) => {
    throw Error("not " + x);
  }, 1).then(
    () => "",
    (error) => error.message,
  );
  t.ok(text.includes("not 1"), "an error still comes out");
}

const parts = {
  packed,
  callbacks,
  references,
  errors,
  objects,
  tensors,
  cache,
  sampling,
  kernels,
  extras,
  allocator,
  exhaustion,
};

// Runs all tests. `make(bytes)` returns a new instance; `asyncBytes` is the
// module with asyncify, or undefined; `base` is the URL of parameters, in a
// browser.
export async function suite(t, make, bytes, asyncBytes, calls, base) {
  const lines = [],
    old = console.error;
  console.error = (line) => lines.push(line); // the instance keeps this one
  const tvm = await make(bytes);
  console.error = old;
  tvm.withNewScope(() => logging(t, tvm, lines));
  for (const name of Object.keys(parts)) {
    t.note(`-- ${name}`);
    tvm.beginScope();
    parts[name](t, tvm);
    tvm.endScope();
  }
  tvm.beginScope();
  leaks(t, tvm, calls);
  tvm.endScope();
  t.ok(
    new Uint8Array(tvm.memory.memory.buffer, 24, 1000).every(
      (byte) => byte === 0,
    ),
    "the bytes of the client's asyncify are not touched",
  );
  await asynchronous(t, tvm);
  if (base) await fetched(t, tvm, base);
  tvm.dispose();
  const other = await make(bytes);
  other.beginScope();
  recursion(t, other);
  other.endScope();
  if (!asyncBytes) return;
  t.note("-- asyncify");
  const waiting = await make(asyncBytes);
  waiting.beginScope();
  await asyncify(t, waiting);
  for (const name of ["packed", "callbacks", "errors", "tensors"])
    parts[name](t, waiting);
  waiting.endScope();
}
