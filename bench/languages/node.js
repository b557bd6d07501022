// Calls from JavaScript: a C function by Node-API, and WebAssembly.
'use strict';
const fs = require('fs');
const [count, addon, wasm] = [Number(process.argv[2]), ...process.argv.slice(3)];

function measure(name, call) {
  let x = 0;
  const begin = process.hrtime.bigint();
  for (let i = 0; i < count; ++i) x = call(x, 1);
  const end = process.hrtime.bigint();
  if (x !== count) throw new Error(`wrong: ${x}`);
  return `${name}\t${(Number(end - begin) / count).toFixed(3)}`;
}

const native = require(addon);
const {add} = new WebAssembly.Instance(
    new WebAssembly.Module(fs.readFileSync(wasm))).exports;
for (const [name, call] of [['JavaScript (node), Node-API', native],
  ['JavaScript (node), WebAssembly', add]]) {
  measure(name, call);  // warms the compiler up
  console.log(measure(name, call));
}
