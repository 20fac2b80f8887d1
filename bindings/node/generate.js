// Prints the greedily generated tokens of each prompt: generate.js FOLDER COUNT READ IDS... READ is the encoder's input
// ids, or - without an encoder. Each IDS is one prompt. PT2_NODE is the built addon.
const { Decoder } = require(process.env.PT2_NODE);

const [folder, count, read, ...prompts] = process.argv.slice(2);
const ids = (list) => list.split(",").map(Number);
const decoder = new Decoder(folder);
if (read !== "-") {
  const sizes = [1, ids(read).length];
  const data = BigInt64Array.from(ids(read), BigInt);
  decoder.give({ input_ids: { data, sizes }, attention_mask: { data: data.map(() => 1n), sizes } });
}
for (const text of decoder.generate(prompts.map(ids), { maxNewTokens: Number(count), temperature: 0 }))
  console.log(text.join(","));
