// test.js EXAMPLES DECODERS: the addon refuses what does not fit, and says why.
const assert = require("assert");
const { Decoder, Model } = require(process.env.PT2_NODE);

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

const decoder = new Decoder(`${process.argv[3]}/dynamic`);
const told = [];
const onToken = (prompt, token) => told.push([prompt, token]) < 3;
const texts = decoder.generate([[5, 17, 3]], { maxNewTokens: 9, temperature: 0, stopIds: [], onToken });
assert.deepStrictEqual(told, texts[0].map((token) => [0, token]));
assert.strictEqual(told.length, 3);
assert.deepStrictEqual(decoder.generate([[5, 17, 3]], { stopIds: texts[0].slice(0, 1), temperature: 0 }), [
  texts[0].slice(0, 1),
]);
const fails = () => {
  throw new RangeError("enough");
};
assert.throws(() => decoder.generate([[5]], { onToken: fails }), RangeError);
assert.throws(() => decoder.generate([5]), /prompts/);
assert.throws(() => decoder.generate([[2 ** 40]]), (error) => error.code === "argument");
assert.throws(() => decoder.give(3), /name/);
assert.throws(() => decoder.give({ pixels: { data: new Float32Array(1), sizes: [1] } }), /pixels/);
assert.throws(() => new Decoder("missing"), /missing/);
// Node checks the class of the receiver: no handle is taken for another one.
assert.throws(() => model.run.call(decoder, [image]), /Illegal invocation/);
assert.throws(() => decoder.generate.call(model, [[5]]), /Illegal invocation/);
