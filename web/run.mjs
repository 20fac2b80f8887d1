// Runs the command for WebAssembly as a process: node web/run.mjs COMMAND.wasm ARGUMENT...
import {readFileSync} from 'node:fs';
import {WASI} from 'node:wasi';

class Exit extends Error {}

const [path, ...args] = process.argv.slice(2);
const wasi = new WASI({version: 'preview1', args: ['pt2', ...args], preopens: {'/': '/'}});
const imports = wasi.getImportObject();
// Node's own way back from an exit, returnOnExit, crashes Node 20 where the module has exceptions.
imports.wasi_snapshot_preview1.proc_exit = (code) => {
  process.exitCode = code;
  throw new Exit();
};
try {
  wasi.start(new WebAssembly.Instance(new WebAssembly.Module(readFileSync(path)), imports));
} catch (error) {
  if (!(error instanceof Exit)) throw error;
}
