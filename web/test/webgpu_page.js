// Runs the tests of WebGPU in a page; the result is its text. With "?none" the
// browser has no adapter.
import {Tap, imports} from "./tap.js";
import {withAdapter, withAsyncify, withoutDevice} from "./webgpu.js";

const get = async (name) => {
  const answer = await fetch(name);
  return answer.ok ? answer.arrayBuffer() : undefined;
};
const make = (bytes) => tvmjs.instantiate(bytes, tvmjs.createPolyfillWASI());
const t = new Tap((line) => document.getElementById("tap").append(line + "\n"));
try {
  const bytes = await get("/webgpu.wasm");
  imports(t, bytes);
  const found = await tvmjs.detectGPUDevice().catch((error) => error);
  if (location.search === "?none") {
    t.ok(
      found instanceof Error && found.message.includes("compatible GPU"),
      "the browser has no adapter",
      found,
    );
    withoutDevice(t, await make(bytes));
  } else {
    t.note(`adapter: ${JSON.stringify(found.adapterInfo.vendor)}`);
    await withAdapter(t, await make(bytes), found.device);
    const other = await tvmjs.detectGPUDevice();
    const asyncBytes = await get("/webgpu-asyncify.wasm");
    await withAsyncify(t, await make(asyncBytes), other.device);
  }
} catch (error) {
  t.ok(false, "the tests come to their end", error.stack);
}
t.done();
await fetch("/done");
