// Tests a module under the client in headless Chromium, and the demo page:
//   node web/test/browser.js [--screenshot PICTURE.png] DEMO.wasm MODULE.wasm [ASYNCIFY.wasm]
// or a module for WebGPU, and its demo page:
//   node web/test/browser.js [--screenshot PICTURE.png] --webgpu MODULE.wasm ASYNCIFY.wasm
// CHROMIUM names the browser. TAP.
import {execFile} from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import {promisify} from "node:util";
import {serve} from "../serve.js";
import {Tap} from "./tap.js";

const args = process.argv.slice(2);
const picture = args[0] === "--screenshot" ? args.splice(0, 2)[1] : undefined;
const webgpu = args[0] === "--webgpu" && args.shift();
const home = fs.mkdtempSync(path.join(os.tmpdir(), "tvmffi-web-"));

// A page requests /wait as an image, and /done at its end. The browser waits
// for all images, so the server answers /wait only after /done.
let waiting = [];
const values = [1, -2.5, 0, 384];
const upper = Buffer.from(
  Uint16Array.from(
    new Uint32Array(Float32Array.from(values).buffer),
    (b) => b >>> 16,
  ).buffer,
);
const plain = Buffer.from(Int32Array.from([7, 8]).buffer);
const records = [
  {
    name: "param_0",
    shape: [2, 2],
    dtype: "float32",
    format: "f32-to-bf16",
    byteOffset: 0,
    nbytes: 8,
  },
  {
    name: "param_1",
    shape: [2],
    dtype: "int32",
    format: "raw",
    byteOffset: 8,
    nbytes: 8,
  },
];
const cache = {
  "/cache/tensor-cache.json": JSON.stringify({
    metadata: {ParamSize: 2},
    records: [
      {dataPath: "shard_0.bin", format: "raw-shard", nbytes: 16, records},
    ],
  }),
  "/cache/shard_0.bin": Buffer.concat([upper, plain]),
};

function more(request, response) {
  const address = request.url.split("?")[0];
  if (address === "/wait") {
    waiting.push(response);
  } else if (address === "/done") {
    response.end();
    waiting.forEach((other) => other.writeHead(404).end());
    waiting = [];
  } else if (address === "/favicon.ico") {
    response.writeHead(204).end();
  } else if (Object.hasOwn(cache, address)) {
    response.end(cache[address]);
  } else {
    return false;
  }
  return true;
}

const server = webgpu
  ? await serve("", more, {
      "/webgpu.wasm": args[0],
      "/webgpu-asyncify.wasm": args[1],
    })
  : await serve(args[0], more, {
      "/module.wasm": args[1],
      "/asyncify.wasm": args[2],
    });
const origin = `http://127.0.0.1:${server.address().port}`;

// A WebGPU that needs no GPU.
const software = [
  "--headless=new",
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  "--use-vulkan=swiftshader",
  "--enable-features=Vulkan",
];

async function browse(address, ...flags) {
  const {stdout} = await promisify(execFile)(
    process.env.CHROMIUM ?? "chromium",
    [
      ...(flags.includes(software[0]) ? [] : ["--headless", "--disable-gpu"]),
      "--no-sandbox",
      "--disable-dev-shm-usage",
      "--force-device-scale-factor=1",
      `--user-data-dir=${home}`,
      ...flags,
      origin + address,
    ],
    {timeout: 300000, maxBuffer: 1 << 26},
  );
  return stdout;
}

const unescape = (text) =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");

const t = new Tap((line) => process.stdout.write(line + "\n"));

// Runs the tests of a page, whose text is TAP.
async function testPage(address, ...flags) {
  const dom = await browse(address, ...flags, "--dump-dom");
  const lines = unescape(
    /<pre id="tap">([^]*?)<\/pre>/.exec(dom)?.[1] ?? "",
  ).split("\n");
  let count = 0;
  for (const line of lines) {
    const result = /^(not )?ok \d+ - (.*)/.exec(line);
    if (result) {
      ++count;
      t.ok(!result[1], result[2]);
    } else if (line.startsWith("#")) {
      t.write(line);
    }
  }
  t.ok(
    lines.includes(`1..${count}`) && count > 0,
    "all tests of the page have run",
  );
}

// The results that a demo page leaves, and its picture.
async function testDemo(address, size, ...flags) {
  const shot = picture ?? path.join(home, "demo.png");
  const page = await browse(
    address,
    ...flags,
    "--dump-dom",
    "--hide-scrollbars",
    `--window-size=${size}`,
    `--screenshot=${path.resolve(shot)}`,
  );
  t.ok(
    fs.existsSync(shot) && fs.statSync(shot).size > 20000,
    "a picture of the demo page",
  );
  return JSON.parse(
    unescape(/data-results="([^"]*)"/.exec(page)?.[1] ?? "null"),
  );
}

async function testPlain() {
  await testPage("/test/page.html");
  const filters = await testDemo("/?wait", "960,980");
  t.ok(
    Array.isArray(filters) &&
      filters.length === 3 &&
      filters.every((one) => one.same),
    "the filters of the demo give what JavaScript does",
    JSON.stringify(filters),
  );
  for (const one of Array.isArray(filters) ? filters : [])
    t.note(
      `${one.name}, 640 x 400 pixels: C ${one.time.toFixed(2)} ms, JavaScript ${one.scriptTime.toFixed(2)} ms`,
    );
}

async function testWebGPU() {
  await testPage("/test/webgpu.html", ...software);
  await testPage("/test/webgpu.html?none");
  const got = await testDemo("/webgpu?wait", "960,700", ...software);
  const {programs, before, after} = got;
  t.ok(
    programs?.length === 3 && programs.every((one) => one.error < 1e-4),
    "the programs of the demo give what JavaScript does",
    JSON.stringify(got),
  );
  for (const one of programs ?? [])
    t.note(
      `${one.name}: WebGPU ${one.time.toFixed(1)} ms, JavaScript ${one.scriptTime.toFixed(0)} ms, relative difference ${one.error.toExponential(1)}`,
    );
  t.ok(after < before / 2, "and its picture has less noise", [before, after]);
}

try {
  await (webgpu ? testWebGPU() : testPlain());
} catch (error) {
  t.ok(false, "the browser runs", error.message);
} finally {
  server.close();
  server.closeAllConnections();
  fs.rmSync(home, {recursive: true, force: true, maxRetries: 5});
}
process.exitCode = t.done();
