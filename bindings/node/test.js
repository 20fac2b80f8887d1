// test.js EXAMPLES: the addon refuses what does not fit, and says why.
const assert = require("assert");
const { Model } = require(process.env.PT2_NODE);

const model = new Model(`${process.argv[2]}/digits.pt2`);
assert.deepStrictEqual(model.inputs[0].name, "image");
assert.deepStrictEqual(model.inputs[0].sizes, [-1, 1, 8, 8]);
const image = { data: new Float32Array(64), sizes: [1, 1, 8, 8] };
assert.deepStrictEqual(model.run([image])[0].sizes, [1, 10]);
assert.throws(() => model.run([{ data: new Float32Array(9), sizes: [9] }]), (error) => {
  return error.code === "argument" && error.place.startsWith("input 'image'");
});
assert.throws(() => model.run([{ data: new Float32Array(9), sizes: [8] }]), /as many elements/);
assert.throws(() => model.run([{ data: [1], sizes: [1] }]), /typed array/);
assert.throws(() => model.run([]), /./);
assert.throws(() => model.run(3), /array of tensors/);
assert.throws(() => new Model("missing.pt2"), /missing.pt2/);
assert.throws(() => new Model(), /path/);
