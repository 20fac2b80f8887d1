// The command, in a worker of its own that can be stopped.

// A module with one function that catches an exception and makes a vector: a browser that takes it takes pt2.wasm.
const NEEDED = new Uint8Array([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,         // WebAssembly, version 1
  1, 4, 1, 0x60, 0, 0,                     // a type: nothing to nothing
  3, 2, 1, 0,                              // a function of that type
  10, 13, 1, 11, 0,                        // its code, without variables:
  6, 0x40, 0x19, 0x0b,                     // try, catch_all, end
  0x41, 0, 0xfd, 15, 0x1a, 0x0b,           // i32.const 0, i8x16.splat, drop, end
]);

export function isSupported() {
  return typeof WebAssembly === 'object' && WebAssembly.validate(NEEDED);
}

async function fetched(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
  return response;
}

export async function fetchFile(path) {
  return new File([await (await fetched(path)).arrayBuffer()], path.split('/').pop());
}

// The worker's script with what it imports, as one text that is here: the page's policy holds in it, and a worker that was
// stopped is started again without a request.
async function fetchWorker() {
  const [wasi, worker] = await Promise.all(['wasi.js', 'worker.js'].map(async (path) => (await fetched(path)).text()));
  const script = [wasi.replaceAll(/^export /gm, ''), worker.replace(/^import .*$/m, '')];
  return URL.createObjectURL(new Blob(script, {type: 'text/javascript'}));
}

export async function fetchCommand() {
  const [script, wasm] = await Promise.all([fetchWorker(), fetched('pt2.wasm')]);
  return new Command(script, await WebAssembly.compile(await wasm.arrayBuffer()));
}

class Command {
  constructor(script, module) {
    this.script = script;
    this.module = module;
    this.waiting = [];
  }
  start() {
    this.worker = new Worker(this.script);
    this.worker.onmessage = ({data}) => this.waiting.shift()(data);
    this.worker.onerror = ({message}) => this.stop(`its worker failed: ${message}`);
    this.worker.postMessage(this.module);
  }
  // `files` are pairs of name and blob. Gives {code, crash, out, err, files}, as run() of wasi.js does.
  run(args, files) {
    if (!this.worker) this.start();
    this.worker.postMessage({args, files});
    return new Promise((resolve) => this.waiting.push(resolve));
  }
  stop(reason) {
    this.worker?.terminate();
    this.worker = undefined;
    for (const resolve of this.waiting.splice(0)) resolve({code: 0, crash: reason, out: '', err: '', files: new Map()});
  }
}
