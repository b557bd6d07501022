// Applies the filters of filters.c to an image, by the unmodified client.
import {canvas} from "/demo/canvas.js";
import * as reference from "/test/reference.js";

const width = 640,
  height = 400;
const filters = [
  {name: "gray", script: (x) => reference.gray(x, width, height)},
  {name: "edges", script: (x) => reference.edges(x, width, height)},
  {
    name: "blur",
    args: (tvm) => [tvm.scalar(8, "int")],
    script: (x) => reference.blur(x, width, height, 8),
  },
];

function draw(context) {
  const sky = context.createLinearGradient(0, 0, 0, height);
  sky.addColorStop(0, "#1b4f9c");
  sky.addColorStop(0.6, "#f7b267");
  sky.addColorStop(1, "#2d6a4f");
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  context.fillStyle = "#ffe66d";
  context.beginPath();
  context.arc(470, 130, 60, 0, 7);
  context.fill();
  context.fillStyle = "#33415c";
  for (const [x, top] of [
    [40, 140],
    [150, 200],
    [230, 90],
    [360, 230],
  ])
    context.fillRect(x, top, 80, height - top);
  context.fillStyle = "white";
  context.font = "bold 64px sans-serif";
  context.fillText("tvmffi.h", 190, 350);
}

// The best time of some runs, in milliseconds.
function fastest(run, runs) {
  let least = Infinity;
  for (let i = 0; i < runs; ++i) {
    const start = performance.now();
    run();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

export async function demo() {
  const bytes = await (await fetch("/demo.wasm")).arrayBuffer();
  const tvm = await tvmjs.instantiate(bytes, tvmjs.createPolyfillWASI());
  const first = canvas("the picture", width, height);
  draw(first);
  const picture = first.getImageData(0, 0, width, height);
  const pixels = new Uint8Array(picture.data.buffer);
  const results = [];
  tvm.beginScope();
  const from = tvm.empty([height, width, 4], "uint8").copyFromRawBytes(pixels);
  const to = tvm.empty([height, width, 4], "uint8");
  for (const {name, args = () => [], script} of filters) {
    const kernel = tvm.systemLib().getFunction(name),
      more = args(tvm);
    const time = fastest(() => kernel(from, to, ...more), 20);
    const scriptTime = fastest(() => script(pixels), 5);
    const out = to.toRawBytes();
    canvas(name, width, height).putImageData(
      new ImageData(new Uint8ClampedArray(out.buffer), width, height),
      0,
      0,
    );
    const same = script(pixels).every((v, i) => v === out[i]);
    results.push({name, time, scriptTime, same});
    const row = document.getElementById("speed").insertRow();
    for (const text of [
      name,
      time.toFixed(2),
      ((width * height) / time / 1000).toFixed(0),
      scriptTime.toFixed(2),
      same ? "yes" : "no",
    ])
      row.insertCell().textContent = text;
  }
  tvm.endScope();
  document.getElementById("about").textContent =
    `A module of ${bytes.byteLength.toLocaleString("en")} bytes: tvmffi.h and three kernels, called by the client @mlc-ai/web-runtime. ${width} x ${height} pixels.`;
  return results;
}

// With "?wait" the server delays an image until the page is done, so that the
// page's load event, and with it a screenshot, waits for the filters.
if (location.search === "?wait") document.getElementById("wait").src = "/wait";
const results = await demo().catch((error) => error.stack);
document.getElementById("done").textContent =
  typeof results === "string" ? results : "";
document.body.dataset.results = JSON.stringify(results);
if (location.search === "?wait") await fetch("/done");
