// The Test Anything Protocol, as tests/tools/tap.py writes it.
export class Tap {
  constructor(write) {
    this.write = write;
    this.count = this.failed = 0;
  }

  ok(passed, name, detail) {
    if (!passed) ++this.failed;
    this.write(`${passed ? "" : "not "}ok ${++this.count} - ${name}`);
    if (!passed && detail !== undefined) this.write(`# ${detail}`);
  }

  note(text) {
    this.write(`# note: ${text}`);
  }

  done() {
    this.write(`1..${this.count}`);
    return this.failed || !this.count ? 1 : 0;
  }
}

// The client's imports for a module, on any host.
const given = new Set([
  "clock_time_get",
  "environ_get",
  "environ_sizes_get",
  "fd_close",
  "fd_read",
  "fd_seek",
  "fd_write",
  "proc_exit",
  "emscripten_notify_memory_growth",
  "__cxa_thread_atexit",
  "__console_log",
  "TVMFFIWasmSafeCall",
  "TVMFFIWasmFunctionDeleter",
]);

export function imports(t, bytes) {
  const names = WebAssembly.Module.imports(new WebAssembly.Module(bytes)).map(
    (item) => item.name,
  );
  const missing = names.filter((name) => !given.has(name));
  t.ok(
    missing.length === 0,
    "the module imports only what the client has",
    missing,
  );
}
