// Tests a module under the client in node:
//   node web/test/node.js SMALL.wasm MODULE.wasm [ASYNCIFY.wasm]
// or one for WebGPU, without a device, or one for RPC, without a network:
//   node web/test/node.js --webgpu MODULE.wasm
//   node web/test/node.js --rpc MODULE.wasm
// SMALL is the module without kernels, whose size has a limit; MODULE has those
// of test/kernels.c and demo/filters.c, and so has ASYNCIFY.
// The client is looked for in NODE_MODULES, else beside web/package.json. TAP.
import fs from "node:fs";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";
import {gzipSync} from "node:zlib";
import {rpc} from "./rpc.js";
import {suite} from "./suite.js";
import {Tap, imports} from "./tap.js";
import {withoutDevice} from "./webgpu.js";

const base = process.env.NODE_MODULES
  ? pathToFileURL(process.env.NODE_MODULES + "/")
  : new URL("../node_modules/", import.meta.url);
const tvmjs = createRequire(base)("@mlc-ai/web-runtime");
const make = (wasm) => tvmjs.instantiate(wasm, tvmjs.createPolyfillWASI());
const t = new Tap((line) => process.stdout.write(line + "\n"));

async function testWebGPU([name]) {
  const bytes = fs.readFileSync(name);
  imports(t, bytes);
  withoutDevice(t, await make(bytes));
}

async function testRPC([name]) {
  const bytes = fs.readFileSync(name);
  imports(t, bytes);
  rpc(t, await make(bytes));
}

async function testPlain(names) {
  const [small, bytes, asyncBytes] = names.map((name) => fs.readFileSync(name));
  t.ok(small.length < 100000, "the module has less than 100 KB", small.length);
  t.note(
    `the module has ${small.length} bytes, ${gzipSync(small, {level: 9}).length} after gzip`,
  );
  imports(t, small);
  imports(t, bytes);
  await suite(t, make, bytes, asyncBytes, 1000000);
}

const args = process.argv.slice(2);
const tests = {"--webgpu": testWebGPU, "--rpc": testRPC};
const test = tests[args[0]];
await (test ? test(args.slice(1)) : testPlain(args));
process.exitCode = t.done();
