// test.js EXAMPLES DECODERS: tests the addon, above all the messages for wrong arguments.
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
assert.throws(() => Model("missing.pt2"), /new/);
assert.throws(() => new Model(`${"x".repeat(5000)}.pt2`), (error) => error.message.includes("x.pt2"));
assert.throws(() => model.run([{ data: image.data, sizes: [1.5, 1, 8, 8] }]), /whole numbers/);
// A getter of the caller detaches the buffer of the elements.
const withGetter = (list, get) => Object.defineProperty(list, 0, { get });
const move = () => structuredClone(moved.data.buffer, { transfer: [moved.data.buffer] }) && 1;
const moved = { data: new Float32Array(64), sizes: withGetter([1, 1, 8, 8], move) };
assert.throws(() => model.run([moved]), /as many elements/);

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
assert.throws(() => model.run(withGetter([0], fails)), RangeError);
assert.throws(() => decoder.generate(withGetter([0], fails)), RangeError);
assert.throws(() => decoder.give({ get pixels() { return fails(); } }), RangeError);
const wrong = { maxNewTokens: 1.5, temperature: "hot", topP: [], topK: NaN, seed: -1, stopIds: [0.5], onToken: 3 };
for (const [name, value] of Object.entries(wrong))
  assert.throws(() => decoder.generate([[5]], { maxNewTokens: 1, [name]: value }), new RegExp(name));
for (const id of [NaN, 5.5, 2 ** 60, 2n ** 64n]) assert.throws(() => decoder.generate([[id]]), /prompts/);
const one = { maxNewTokens: 1, temperature: 0, seed: 2n ** 64n - 1n };
assert.deepStrictEqual(decoder.generate([[5n]], one), decoder.generate([[5]], one));
assert.strictEqual(decoder.generate(Array(70).fill([5]), one).length, 70);
assert.throws(() => decoder.generate([5]), /prompts/);
assert.throws(() => decoder.generate([[2 ** 40]]), (error) => error.code === "argument");
assert.throws(() => decoder.give(3), /name/);
assert.throws(() => decoder.give({ pixels: { data: new Float32Array(1), sizes: [1] } }), /pixels/);
const longName = { ["n".repeat(500)]: { data: new Float32Array(1), sizes: [1] } };
assert.throws(() => decoder.give(longName), (error) => error.place.includes("n".repeat(500)));
assert.throws(() => new Decoder("missing"), /missing/);
// Node checks the class of the receiver, so the addon never takes one class's handle for another's.
assert.throws(() => model.run.call(decoder, [image]), /Illegal invocation/);
assert.throws(() => decoder.generate.call(model, [[5]]), /Illegal invocation/);
// It does not do so for getters.
const { get } = Object.getOwnPropertyDescriptor(Model.prototype, "inputs");
for (const other of [decoder, {}, Reflect.construct(Decoder, [`${process.argv[3]}/dynamic`], Model)])
  assert.throws(() => get.call(other), /expected a Model/);
assert.deepStrictEqual(decoder.generate([[5], [7]], { maxNewTokens: 0 }), [[], []]);
