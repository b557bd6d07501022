// The tests of RPC's server without a network: packets written by hand, and
// callbacks at times that the client's own functions do not choose.

const bytes = (...parts) =>
  Uint8Array.from(
    parts.flatMap((part) =>
      typeof part === "string"
        ? [...new TextEncoder().encode(part)]
        : [...part],
    ),
  );
const i32 = (x) => new Uint8Array(Int32Array.of(x).buffer);
const u64 = (x) => new Uint8Array(BigUint64Array.of(BigInt(x)).buffer);
const text = (x) => bytes(i32(8), u64(x.length), x);
const integer = (x) => bytes(i32(1), u64(x));
const values = (...items) => bytes(i32(items.length), ...items);
const packet = (code, ...body) => {
  const all = bytes(...body);
  return bytes(u64(4 + all.length), i32(code), all);
};
const init = packet(2, u64(5), "0.8.0", values(text("rpc.WasmSession")));
const call = (handle, ...items) => packet(3, handle, values(...items));
const RETURN = 4,
  EXCEPTION = 5;

// A connection; `sent` has the answers. The handler is called for a header and a
// body, as by the client, or with pieces of `size` bytes.
class Connection {
  constructor(tvm, send = (data) => data.length) {
    this.tvm = tvm;
    this.sent = [];
    this.flags = tvm.scalar(3, "int32");
    this.handler = tvm.getGlobalFunc("rpc.CreateEventDrivenServer")(
      (data) => {
        this.sent.push(data);
        return tvm.scalar(send(data), "int32");
      },
      "name",
      "key",
    );
  }

  feed(all, size = 8) {
    let code;
    for (let at = 0; at < all.length; ) {
      const end = size === 8 && at ? all.length : at + size;
      code = this.handler(all.subarray(at, end), this.flags);
      at = end;
    }
    return code;
  }

  // The code and the bytes of the answer, or undefined.
  answer() {
    const all = bytes(...this.sent.splice(0));
    if (!all.length) return undefined;
    const view = new DataView(all.buffer);
    return {
      code: view.getInt32(8, true),
      body: all.subarray(12),
      text: new TextDecoder().decode(all.subarray(12)),
    };
  }

  ask(all, size) {
    this.feed(all, size);
    return this.answer();
  }

  begin() {
    return this.ask(init)?.code === RETURN;
  }

  // The handle of a function.
  find(name) {
    return this.ask(packet(9, values(text(name)))).body.slice(8, 16);
  }
}

// Calls an action that is expected to throw.
function message(action) {
  try {
    action();
  } catch (error) {
    return error.message;
  }
  return "";
}

function pieces(t, tvm) {
  const wrong = [];
  for (const size of [1, 2, 3, 5, 7, 8, 13, 64]) {
    const c = new Connection(tvm);
    if (c.ask(init, size)?.code !== RETURN) wrong.push(["init", size]);
    const got = c.ask(call(c.find("testing.echo"), integer(7)), size);
    if (got?.body[20] !== 7) wrong.push(["call", size, got]);
  }
  t.ok(!wrong.length, "packets in pieces of any size", JSON.stringify(wrong));
}

function malformed(t, tvm) {
  const bad = {
    "an unknown code": packet(99),
    "a packet without a code": u64(2),
    "a packet that is too long": bytes(u64("0x7fffffffffffffff"), i32(3)),
    "a body that ends early": packet(3, [1, 2, 3]),
    "an unknown type": packet(9, i32(1), i32(50)),
  };
  for (const [name, all] of Object.entries(bad)) {
    const c = new Connection(tvm);
    c.begin();
    const codes = [c.feed(all), c.feed(init)];
    const got = c.answer();
    t.ok(
      codes.every((code) => code === 0) &&
        (got === undefined || got.code === EXCEPTION),
      `${name} ends the session`,
      JSON.stringify([codes, got]),
    );
  }
  const c = new Connection(tvm);
  t.ok(
    c.ask(packet(9, values(text("testing.echo")))).code === EXCEPTION,
    "a call before the beginning is an error",
  );
  t.ok(
    c.ask(packet(2, u64(5), "0.7.0", i32(0))).text.includes("protocol"),
    "and so is another version of the protocol",
  );
  t.ok(
    c
      .ask(packet(2, u64(5), "0.8.0", values(text("rpc.Nothing"))))
      .text.includes("no session constructor"),
    "an unknown constructor",
  );
  t.ok(c.begin(), "after which the session can begin");
  t.ok(c.feed(packet(1)) === 0, "and end");
}

function closedSocket(t, tvm) {
  const c = new Connection(tvm, () => 0);
  t.ok(c.feed(init) === 0, "a socket that is closed ends the session");
  const d = new Connection(tvm, () => {
    throw Error("no socket");
  });
  t.ok(d.feed(init) === 0, "and so does an exception in the send");
}

// The callback of the last call of test.later.
let callback;

function end(tvm, code, value) {
  callback(tvm.scalar(code, "int32"), value);
}

// A client that is gone before its answer.
function abandoned(t, tvm) {
  const c = new Connection(tvm);
  c.begin();
  c.feed(call(c.find("test.later"), integer(1)));
  c.handler.dispose();
  end(tvm, RETURN, "too late");
  t.ok(c.answer() !== undefined, "a callback keeps its session alive");
  callback.dispose();
}

// Functions that end later.
function callbacks(t, tvm, local) {
  tvm.registerFunc("__async.test.now", (x, f) => {
    f(tvm.scalar(x > 0 ? RETURN : EXCEPTION, "int32"), x > 0 ? "yes" : "no");
  });
  tvm.registerFunc("__async.test.broken", (_, f) => {
    f(tvm.scalar(RETURN, "int32"), "yes");
    throw Error("broken");
  });

  const c = new Connection(tvm);
  c.begin();
  const later = c.find("test.later");
  t.ok(
    c.feed(call(later, integer(1))) === 1 && !c.answer(),
    "a call without an answer yet",
  );
  end(tvm, RETURN, "a result that is no small string");
  t.ok(
    c.answer().text.includes("a result that is no small string"),
    "its answer is the callback's value",
  );
  const first = callback;
  c.feed(call(later, integer(1)));
  first(tvm.scalar(RETURN, "int32"), "once more");
  t.ok(!c.answer(), "a second call of the callback does nothing");
  first.dispose();
  end(tvm, EXCEPTION, "Error: it failed");
  const failed = c.answer();
  t.ok(
    failed.code === EXCEPTION && failed.text.includes("Error: it failed"),
    "an exception of the callback",
    failed.text,
  );
  callback.dispose();

  const now = c.find("test.now");
  t.ok(
    c.ask(call(now, integer(1))).text.includes("yes"),
    "a callback inside of the call",
  );
  t.ok(
    c.ask(call(now, integer(0))).code === EXCEPTION,
    "an exception inside of the call",
  );
  t.ok(
    c
      .ask(call(c.find("test.broken"), integer(1)))
      .text.includes("JSCallbackError: broken"),
    "a function that throws after its callback",
  );

  c.feed(call(later, integer(1)));
  t.ok(c.feed(init) === 0, "a packet before the answer ends the session");
  end(tvm, RETURN, "too late");
  t.ok(!c.answer(), "which then answers nothing");
  callback.dispose();

  const d = new Connection(tvm);
  d.begin();
  const timer = values(
    i32(0),
    text("tvmjs.testing.add_one"),
    ...[1, 0, 2, 3, 0, 0, 0, 1, 0].map(integer),
    text(""),
  );
  const made = d.ask(packet(3, d.find("runtime.RPCTimeEvaluator"), timer));
  const measure = made.body.slice(20, 28);
  let run;
  tvm.registerFunc(
    "__async.wasm.TimeExecution",
    (f, device, number, repeat, ...rest) => {
      run = tvm.detachFromCurrentScope(f);
      callback = tvm.detachFromCurrentScope(rest.pop());
      run(tvm.scalar(number * repeat, "int32"));
    },
    true,
  );
  d.feed(call(measure, integer(1)));
  t.ok(!d.answer(), "a measurement without an answer yet");
  end(tvm, RETURN, bytes(u64(0)));
  t.ok(d.answer().code === RETURN, "and with one");
  t.ok(
    /^RuntimeError: the measurement is over/.test(
      message(() => run(tvm.scalar(1, "int32"))),
    ),
    "nothing is measured after that",
  );
  run.dispose();
  callback.dispose();

  const alone = /RuntimeError: an asynchronous function/;
  t.ok(
    alone.test(message(() => local.getFunction("test.later")(1))),
    "an asynchronous function is for the client only",
  );
  const inner = bytes(i32(68), d.find("test.later"));
  t.ok(
    alone.test(d.ask(call(d.find("tvmjs.testing.call"), inner)).text),
    "and not for a function that the client calls",
  );
  t.ok(
    local.getFunction("testing.echo")("x") === "x",
    "another function is for all",
  );
}

// Tests a module of --rpc.
export function rpc(t, tvm) {
  t.note("-- RPC without a network");
  tvm.beginScope();
  const local = tvm.getGlobalFunc("wasm.LocalSession")();
  tvm.registerFunc("rpc.WasmSession", () => local);
  tvm.registerFunc("__async.test.later", (_, f) => {
    callback = tvm.detachFromCurrentScope(f);
  });
  for (const test of [pieces, malformed, closedSocket, abandoned, callbacks]) {
    tvm.beginScope();
    test(t, tvm, local);
    tvm.endScope();
  }
  const used = tvm.getGlobalFunc("tvmffi.web.bytes_used");
  const again = () => {
    for (const test of [pieces, abandoned])
      tvm.withNewScope(() => test({ok: () => undefined}, tvm));
    return used();
  };
  again();
  const before = again();
  t.ok(again() === before, "sessions leave nothing behind", used() - before);
  tvm.endScope();
}
