// Recognises handwritten digits: digits.js MODEL.pt2 IMAGES.npy... PT2_NODE is the built addon.
const fs = require("fs");
const { Model } = require(process.env.PT2_NODE);

function images(path) {
  const bytes = fs.readFileSync(path);
  const start = 10 + bytes.readUInt16LE(8);
  return new Float32Array(new Uint8Array(bytes.subarray(start)).buffer);
}

const model = new Model(process.argv[2]);
for (const path of process.argv.slice(3)) {
  const pixels = images(path);
  const count = pixels.length / 64;
  const [scores] = model.run([{ data: pixels, sizes: [count, 1, 8, 8] }]);
  const digits = [];
  for (let i = 0; i < count; ++i) {
    const row = scores.data.subarray(10 * i, 10 * i + 10);
    digits.push(row.indexOf(Math.max(...row)));
  }
  console.log(count === 1 ? "this is a" : "these are", ...digits);
}
