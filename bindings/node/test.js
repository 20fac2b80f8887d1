// test.js EXAMPLES DECODERS MODELS: tests the addon, above all the messages for wrong arguments.
const assert = require("assert");
const fs = require("fs");
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

// Every dtype, by a program that transposes one input of each: the bytes of its elements must follow.
const dtypes = new Model(`${process.argv[4]}/dtypes.pt2`);
const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
const raw = dtypes.inputs.map(({ name, dtype }) => {
  const width = dtype === "bool" ? 1 : Number(dtype.match(/\d+/)[0]) / 8;
  const data = new Uint8Array(6 * width).map((_, i) => (dtype === "bool" ? i % 2 : 7 * i + 1));
  assert.strictEqual(dtype, name);
  return { data, sizes: [2, 3], dtype };
});
const columns = dtypes.run(raw);
columns.forEach(({ data, sizes, dtype }, at) => {
  const width = raw[at].data.length / 6;
  const rows = [0, 3, 1, 4, 2, 5].map((i) => [...raw[at].data.subarray(width * i, width * (i + 1))]);
  assert.deepStrictEqual(sizes, [3, 2]);
  assert.strictEqual(dtype, raw[at].dtype);
  assert.deepStrictEqual([...bytesOf(data)], rows.flat(), dtype);
});
// A result can be an input, with its array and its dtype.
const back = columns.map(({ data, dtype }) => ({ data, sizes: [2, 3], dtype }));
dtypes.run(back).forEach(({ data }, at) => assert.strictEqual(data.constructor, columns[at].data.constructor));
const arrays = Object.fromEntries(columns.map(({ data, dtype }) => [dtype, data.constructor]));
assert.strictEqual(arrays.complex64, Float32Array);
assert.strictEqual(arrays.uint64, BigUint64Array);
assert.strictEqual(arrays.bfloat16, Uint16Array);
const given = (at, tensor) => raw.map((each, i) => (i === at ? tensor : each));
const clamped = { data: new Uint8ClampedArray(6), sizes: [2, 3] };
assert.deepStrictEqual([...dtypes.run(given(0, clamped))[0].data], [0, 0, 0, 0, 0, 0]);
const isBool = dtypes.inputs.findIndex(({ dtype }) => dtype === "bool");
const plain = { data: new Uint8Array(6), sizes: [2, 3] };
assert.throws(() => dtypes.run(given(isBool, plain)), (error) => error.place === "input 'bool'");
for (const dtype of ["half", "float64", "", 3])
  assert.throws(() => dtypes.run(given(0, { data: new Float32Array(6), sizes: [2, 3], dtype })), /dtype/);
assert.throws(() => dtypes.run(given(0, { ...plain, dtype: "int16" })), /as many elements/);

// Values that are not tensors, and a result whose size is not known before the call.
const how = { threads: 1, engine: "reference", limits: "max_work=1000000" };
const values = new Model(`${process.argv[4]}/values.pt2`, how);
const x = { data: Float32Array.of(0, 2, 3), sizes: [3] };
const results = values.run([x, 4, true, "é"]);
assert.deepStrictEqual(results[0], { data: BigInt64Array.of(1n, 2n), sizes: [2, 1], dtype: "int64" });
assert.deepStrictEqual(results.slice(1, 5), [5, 0.5, true, null]);
assert.deepStrictEqual([...results[5].data], [0, 8, 12]);
assert.deepStrictEqual(values.run([x, 2n ** 60n, true, "é"])[1], 2n ** 60n + 1n);
assert.deepStrictEqual(values.outputs.map(({ dtype, minimum, maximum }) => [dtype, minimum, maximum])[0], [
  "int64", [0, 1], [3, 1],
]);
assert.strictEqual(values.inputs[1].sizes, undefined);
assert.throws(() => values.run([x, 4.5, true, "é"]), /whole number/);
assert.throws(() => values.run([x, 4, true, "é\0"]), (error) => error.place === "input 'name'");
assert.throws(() => values.run([x, x, true, "é"]), (error) => error.place === "input 'n'");
for (const [name, value] of Object.entries({ engine: "fast", threads: -1, program: 3, limits: 4 }))
  assert.throws(() => new Model(`${process.argv[4]}/values.pt2`, { [name]: value }), new RegExp(name));
assert.throws(() => new Model(`${process.argv[4]}/values.pt2`, { limits: "max_fun=1" }), /max_fun/);
assert.throws(() => new Model(`${process.argv[4]}/values.pt2`, { program: "other" }), /other/);
assert.deepStrictEqual(values.stateNames, ["total"]);
values.setState("total", { data: Float32Array.of(1, 1, 1), sizes: [3] });
assert.deepStrictEqual(values.state("total"), { data: Float32Array.of(1, 1, 1), sizes: [3], dtype: "float32" });
assert.deepStrictEqual([...values.run([x, 2, true, "é"])[5].data], [2, 6, 8]);
assert.throws(() => values.setState("total", { data: Float64Array.of(1, 1, 1), sizes: [3] }), /total/);
assert.throws(() => values.state("other"), /other/);
assert.throws(() => values.state(), /name/);
assert.throws(() => values.setState("total", 3), /typed array/);
const many = new Model(`${process.argv[4]}/many.pt2`);
const numbers = Array.from({ length: 70 }, (_, i) => ({ data: Float32Array.of(i), sizes: [], dtype: "float32" }));
const nothing = { data: new Float32Array(0), sizes: [0] };
assert.deepStrictEqual(many.run([nothing, ...numbers]), [
  { data: new Uint8Array(0), sizes: [0], dtype: "bool" }, ...numbers,
]);
// More values than the program takes.
assert.throws(() => values.run(Array(300).fill(x)), (error) => error.code === "argument");

// Deadlines, in milliseconds.
const late = (error) => error.code === "cancelled";
assert.throws(() => model.run([image], { timeout: 0 }), late);
assert.deepStrictEqual(model.run([image], { timeout: Infinity }), model.run([image]));
assert.throws(() => decoder.generate([[5]], { maxNewTokens: 1, timeout: 0 }), late);
assert.strictEqual(decoder.generate([[5]], { maxNewTokens: 1, timeout: 1e6 })[0].length, 1);
assert.throws(() => decoder.give({}, { timeout: -1 }), /timeout/);
for (const timeout of [-1, NaN, "1"]) {
  assert.throws(() => model.run([image], { timeout }), /timeout/);
  assert.throws(() => decoder.generate([[5]], { timeout }), /timeout/);
}

// Closed objects, also closed by a getter while a call reads its arguments, or by onToken.
assert.throws(() => decoder.generate([[5]], { onToken: () => decoder.close() }), /is generating/);
const closes = (object, list, at) => Object.defineProperty(list, at, { enumerable: true, get: () => object.close() });
for (const at of [0, 70]) {
  const closed = new Model(`${process.argv[4]}/many.pt2`);
  assert.throws(() => closed.run(closes(closed, [nothing, ...numbers], at)), /session/);
}
assert.throws(() => decoder.give(closes(decoder, {}, "x")), /./);
for (const open of [many, decoder]) for (let i = 0; i < 2; ++i) open.close();
for (const call of [() => many.run([]), () => many.inputs, () => many.outputs, () => many.stateNames,
  () => many.state("x"), () => many.setState("x", nothing), () => decoder.give({}), () => decoder.generate([[5]]),
  () => decoder.generate([[5]], { get timeout() { return decoder.close(); } })])
  assert.throws(call, /closed/);
const other = new Decoder(`${process.argv[3]}/dynamic`);
assert.throws(() => other.generate([[5]], { get seed() { return other.close(); } }), /closed/);
const { close } = Model.prototype;
assert.throws(() => close.call(other), /Illegal invocation/);

// Options that are left out.
for (const nothing of [undefined, null]) {
  assert.deepStrictEqual(model.run([image], nothing), model.run([image]));
  assert.strictEqual(new Decoder(`${process.argv[3]}/dynamic`, nothing).generate([[5]], nothing).length, 1);
}

// A file in memory.
const file = fs.readFileSync(`${process.argv[4]}/values.pt2`);
const fromBytes = new Model(file);
assert.throws(() => new Model(file.subarray(0, 100)), (error) => error.place.startsWith("bytes"));
file.fill(0);
assert.deepStrictEqual([...fromBytes.run([x, 4, true, "é"])[5].data], [0, 8, 12]);
for (const other of [new Uint16Array(4), {}, 3, undefined]) assert.throws(() => new Model(other), /Uint8Array/);
assert.throws(() => new Decoder(new Uint8Array(4)), /folder/);

// Options of decoders.
const single = new Decoder(`${process.argv[3]}/dynamic`, { threads: 1, engine: "reference", limits: "max_work=1000000000" });
assert.strictEqual(single.generate([[5]], one)[0].length, 1);
for (const [name, value] of Object.entries({ engine: "fast", threads: -1, limits: "max_fun=1", cacheLength: 0.5 }))
  assert.throws(() => new Decoder(`${process.argv[3]}/dynamic`, { [name]: value }), new RegExp(name === "limits" ? "max_fun" : name));
assert.throws(() => new Decoder(`${process.argv[3]}/dynamic`, { cacheLength: -1 }), /cache_length/);
