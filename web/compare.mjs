// Whether the command for WebAssembly says what the command says.
//
//   node web/compare.mjs COMMAND COMMAND.wasm FILE...
//
// Compares output, messages and exit code of `info` and `verify` of each file. Exit 1 when one differs.
import {spawnSync} from 'node:child_process';
import {webcrypto} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {Bytes, run} from './page/wasi.js';

globalThis.crypto ??= webcrypto;  // which Node 18 does not have by itself

const [native, wasm, ...files] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(wasm));
let differ = 0, equal = 0;
for (const file of files) {
  const bytes = new Bytes(readFileSync(file));
  for (const verb of ['info', 'verify']) {
    const {status, signal, stdout, stderr} = spawnSync(native, [verb, file], {encoding: 'utf8', maxBuffer: 1 << 28});
    const {code, crash, out, err} = run(module, [verb, file], (path) => (path === file ? bytes : undefined));
    const expected = {end: status ?? signal, out: stdout, err: stderr}, found = {end: crash ?? code, out, err};
    const different = Object.keys(expected).filter((key) => expected[key] !== found[key]);
    if (different.length === 0) ++equal;
    else ++differ;
    for (const key of different) console.log(`${verb} ${file}: ${key} is\n${found[key]}\nexpected\n${expected[key]}`);
  }
}
console.log(`${equal} answers alike, ${differ} differ`);
process.exitCode = differ > 0 || equal === 0 ? 1 : 0;
