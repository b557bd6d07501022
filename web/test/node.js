// Tests a module under the client in node:
//   node web/test/node.js SMALL.wasm MODULE.wasm [ASYNCIFY.wasm]
// SMALL is the module without kernels, whose size has a limit; MODULE has those
// of test/kernels.c and demo/filters.c, and so has ASYNCIFY.
// The client is looked for in NODE_MODULES, else beside web/package.json. TAP.
import fs from "node:fs";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";
import {gzipSync} from "node:zlib";
import {suite} from "./suite.js";
import {Tap, imports} from "./tap.js";

const base = process.env.NODE_MODULES
  ? pathToFileURL(process.env.NODE_MODULES + "/")
  : new URL("../node_modules/", import.meta.url);
const tvmjs = createRequire(base)("@mlc-ai/web-runtime");
const [small, bytes, asyncBytes] = process.argv
  .slice(2)
  .map((name) => fs.readFileSync(name));

const t = new Tap((line) => process.stdout.write(line + "\n"));
t.ok(small.length < 100000, "the module has less than 100 KB", small.length);
t.note(
  `the module has ${small.length} bytes, ${gzipSync(small, {level: 9}).length} after gzip`,
);
imports(t, small);
imports(t, bytes);
await suite(
  t,
  (wasm) => tvmjs.instantiate(wasm, tvmjs.createPolyfillWASI()),
  bytes,
  asyncBytes,
  1000000,
);
process.exitCode = t.done();
