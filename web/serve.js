// Serves the demo pages:
//   node web/serve.js MODULE.wasm [WEBGPU.wasm]     prints their addresses
// MODULE has the kernels of demo/filters.c, WEBGPU the programs of
// demo/compile.py. PORT may be given.
// The client is looked for in NODE_MODULES, else beside web/package.json.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import {fileURLToPath, pathToFileURL} from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
  ".json": "application/json",
};

// Starts the server. `more(request, response)` handles extra paths, and returns
// whether it did. `others` maps paths to files.
export function serve(module, more = () => false, others = {}) {
  const modules = process.env.NODE_MODULES ?? path.join(here, "node_modules");
  const files = {
    "/": path.join(here, "demo/index.html"),
    "/client.js": path.join(modules, "@mlc-ai/web-runtime/lib/index.js"),
    "/webgpu": path.join(here, "demo/webgpu.html"),
    "/demo.wasm": module,
    ...others,
  };
  for (const folder of ["demo", "test"])
    for (const name of fs.readdirSync(path.join(here, folder)))
      files[`/${folder}/${name}`] = path.join(here, folder, name);
  const server = http.createServer((request, response) => {
    const address = request.url.split("?")[0];
    if (more(request, response)) return;
    const name = Object.hasOwn(files, address) ? files[address] : undefined;
    if (!name || !fs.existsSync(name)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      "Content-Type": types[path.extname(name)] ?? "text/plain",
    });
    response.end(fs.readFileSync(name));
  });
  return new Promise((resolve) =>
    server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () =>
      resolve(server),
    ),
  );
}

if (
  process.argv[1] &&
  import.meta.url === pathToFileURL(process.argv[1]).href
) {
  const [module, webgpu] = process.argv.slice(2);
  const server = await serve(module, () => false, {"/webgpu.wasm": webgpu});
  const address = `http://127.0.0.1:${server.address().port}/`;
  console.log(webgpu ? `${address}webgpu` : address);
}
