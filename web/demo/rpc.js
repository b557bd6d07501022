// The client's RPC server in node:
//   node web/demo/rpc.js ws://HOST:PORT/ws KEY
// joins the proxy there (python -m tvm.exec.rpc_proxy) under the key, and again
// after each session (rejoin.js). The client is looked for in NODE_MODULES, else beside
// web/package.json.
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";
import "./rejoin.js";

const base = process.env.NODE_MODULES
  ? pathToFileURL(process.env.NODE_MODULES + "/")
  : new URL("../node_modules/", import.meta.url);
const tvmjs = createRequire(base)("@mlc-ai/web-runtime");
const [url, key] = process.argv.slice(2);
joinAgain(tvmjs.RPCServer, url, key, tvmjs.createPolyfillWASI);
