// Whether the command for WebAssembly says what the command says, and how large it is for a download.
//
//   node web/compare.mjs COMMAND COMMAND.wasm FILE...
//
// Compares output, messages and exit code of `info` and `verify` of each file. Exit 1 when one differs, or when the
// WebAssembly takes 3 MB or more compressed.
import {spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {brotliCompressSync} from 'node:zlib';

const MOST_BYTES = 3e6;
const RUN = fileURLToPath(new URL('run.mjs', import.meta.url));

function answer(program, args) {
  const {status, signal, stdout, stderr} = spawnSync(program, args, {encoding: 'utf8', maxBuffer: 1 << 28});
  return {status: status ?? signal, stdout, stderr};
}

const [native, wasm, ...files] = process.argv.slice(2);
let differ = 0, equal = 0;
for (const file of files) {
  for (const verb of ['info', 'verify']) {
    const expected = answer(native, [verb, resolve(file)]);
    const found = answer(process.execPath, ['--no-warnings', RUN, wasm, verb, resolve(file)]);
    const different = Object.keys(expected).filter((key) => expected[key] !== found[key]);
    if (different.length === 0) ++equal;
    else ++differ;
    for (const key of different) console.log(`${verb} ${file}: ${key} is\n${found[key]}\nexpected\n${expected[key]}`);
  }
}
const content = readFileSync(wasm), bytes = brotliCompressSync(content).length;
console.log(`${equal} answers alike, ${differ} differ; ${content.length} bytes, compressed ${bytes}`);
process.exitCode = differ > 0 || equal === 0 || bytes >= MOST_BYTES ? 1 : 0;
