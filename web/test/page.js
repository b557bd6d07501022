// Runs the tests in a page, and writes the results as the page's text.
import {suite} from "./suite.js";
import {Tap, imports} from "./tap.js";

const get = async (name) => {
  const answer = await fetch(name);
  return answer.ok ? answer.arrayBuffer() : undefined;
};
const t = new Tap((line) => document.getElementById("tap").append(line + "\n"));
try {
  const bytes = await get("/module.wasm"),
    asyncBytes = await get("/asyncify.wasm");
  imports(t, bytes);
  await suite(
    t,
    (wasm) => tvmjs.instantiate(wasm, tvmjs.createPolyfillWASI()),
    bytes,
    asyncBytes,
    1000000,
    location.origin + "/cache/",
  );
} catch (error) {
  t.ok(false, "the tests come to their end", error.stack);
}
t.done();
await fetch("/done");
