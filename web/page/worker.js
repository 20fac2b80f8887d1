// Runs one command after another. The first message is the module, each of the others {args, files}: names and blobs, of
// which a command reads what it needs.
import {run} from './wasi.js';

const reader = new FileReaderSync();
let module;

class BlobFile {
  constructor(blob) {
    this.blob = blob;
    this.size = blob.size;
  }
  read(offset, length) {
    return new Uint8Array(reader.readAsArrayBuffer(this.blob.slice(offset, offset + length)));
  }
}

function answer({args, files}) {
  const given = new Map(files.map(([name, blob]) => [name, new BlobFile(blob)]));
  try {
    const result = run(module, args, (name) => given.get(name));
    return {...result, files: new Map([...result.files].map(([name, file]) => [name, new Blob([file.whole()])]))};
  } catch (error) {
    return {code: 0, crash: String(error), out: '', err: '', files: new Map()};
  }
}

onmessage = ({data}) => {
  if (module) postMessage(answer(data));
  else module = data;
};
