// Runs the command for WebAssembly: WASI with files that are in memory and nothing else. No clock to wait for, no network,
// no way to a file that `find` does not give. Browsers and Node have the same.

// The most memory a command may take, its files included: 2 GiB, which pointers of 32 bits and every browser allow.
export const MOST_MEMORY = 2 ** 31;
const PAGE = 65536;
// More than stack and data of the module, which it asks for at the start.
const FIRST_MEMORY = 2 ** 25;
// Read at once, so that a large file is not in memory twice.
const CHUNK = 2 ** 24;

const SUCCESS = 0, EBADF = 8, EEXIST = 20, EINVAL = 28, EIO = 29, EISDIR = 31, ENOENT = 44, ENOSYS = 52;
const DIRECTORY = 3, REGULAR_FILE = 4, STREAM = 6;
const CREATE = 1, AS_DIRECTORY = 2, EXCLUSIVE = 4, TRUNCATE = 8;
const ROOT = 3;

class Exit extends Error {
  constructor(code) {
    super();
    this.code = code;
  }
}

// What find() gives is like it: size and read(offset, length).
export class Bytes {
  constructor(content = new Uint8Array()) {
    this.content = content;
    this.size = content.length;
  }
  read(offset, length) {
    return this.content.subarray(offset, Math.min(offset + length, this.size));
  }
  write(offset, bytes) {
    this.resize(Math.max(this.size, offset + bytes.length));
    this.content.set(bytes, offset);
  }
  resize(size) {
    if (size > this.content.length) {
      const larger = new Uint8Array(Math.max(size, 2 * this.content.length));
      larger.set(this.content.subarray(0, this.size));
      this.content = larger;
    }
    if (size < this.size) this.content.fill(0, size, this.size);
    this.size = size;
  }
  whole() {
    return this.content.subarray(0, this.size);
  }
}

function normal(path) {
  const names = [];
  for (const name of path.split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return names.join('/');
}

// The one folder: what the command wrote, before what it was given.
class Folder {
  constructor(find) {
    this.find = find;
    this.written = new Map();
    this.numbers = new Map();
  }
  get(path) {
    return this.written.get(path) ?? this.find(path);
  }
  // Stays the same as long as the file does, whatever its name.
  number(file) {
    if (!this.numbers.has(file)) this.numbers.set(file, BigInt(this.numbers.size + 1));
    return this.numbers.get(file);
  }
}

class Calls {
  constructor(args, find) {
    this.args = args.map((arg) => new TextEncoder().encode(`${arg}\0`));
    this.folder = new Folder(find);
    this.out = new Bytes();
    this.err = new Bytes();
    this.open = new Map([[0, {type: STREAM, file: new Bytes(), at: 0}], [1, {type: STREAM, file: this.out, at: 0}],
      [2, {type: STREAM, file: this.err, at: 0}], [ROOT, {type: DIRECTORY}]]);
    this.memory = new WebAssembly.Memory({initial: FIRST_MEMORY / PAGE, maximum: MOST_MEMORY / PAGE});
  }

  // Memory that grows has another buffer.
  get view() {
    return new DataView(this.memory.buffer);
  }
  bytes(at, length) {
    return new Uint8Array(this.memory.buffer, at >>> 0, length >>> 0);
  }
  path(at, length) {
    return normal(new TextDecoder().decode(this.bytes(at, length)));
  }
  u32(at, value) {
    this.view.setUint32(at >>> 0, value, true);
  }
  u64(at, value) {
    this.view.setBigUint64(at >>> 0, BigInt(value), true);
  }
  // The parts of memory that a list of addresses and lengths names.
  parts(list, count) {
    const parts = [];
    for (let at = list >>> 0; count > 0; --count, at += 8)
      parts.push(this.bytes(this.view.getUint32(at, true), this.view.getUint32(at + 4, true)));
    return parts;
  }
  file(fd) {
    const open = this.open.get(fd);
    return open?.file ? open : undefined;
  }

  read(file, offset, list, count) {
    let total = 0;
    for (const part of this.parts(list, count)) {
      for (let at = 0; at < part.length;) {
        const found = file.read(offset + total, Math.min(part.length - at, CHUNK));
        if (found.length === 0) return total;
        part.set(found, at);
        at += found.length;
        total += found.length;
      }
    }
    return total;
  }
  write(file, offset, list, count) {
    let total = 0;
    for (const part of this.parts(list, count)) {
      file.write(offset + total, part);
      total += part.length;
    }
    return total;
  }
  status(at, type, file) {
    this.bytes(at, 64).fill(0);
    this.u64(at + 8, file ? this.folder.number(file) : 0);
    this.view.setUint8((at >>> 0) + 16, type);
    this.u64(at + 24, 1);
    this.u64(at + 32, file ? file.size : 0);
    return SUCCESS;
  }
  strings(list, buffer, strings) {
    for (const string of strings) {
      this.u32(list, buffer);
      this.bytes(buffer, string.length).set(string);
      list += 4;
      buffer += string.length;
    }
    return SUCCESS;
  }

  args_sizes_get(count, size) {
    this.u32(count, this.args.length);
    this.u32(size, this.args.reduce((sum, arg) => sum + arg.length, 0));
    return SUCCESS;
  }
  args_get(list, buffer) {
    return this.strings(list, buffer, this.args);
  }
  environ_sizes_get(count, size) {
    this.u32(count, 0);
    this.u32(size, 0);
    return SUCCESS;
  }
  environ_get() {
    return SUCCESS;
  }
  clock_time_get(clock, precision, at) {
    const milliseconds = clock === 0 ? Date.now() : performance.now();
    this.u64(at, Math.round(milliseconds * 1e6));
    return SUCCESS;
  }
  clock_res_get(clock, at) {
    this.u64(at, 1000000);
    return SUCCESS;
  }
  random_get(at, length) {
    // As many bytes as one call gives.
    for (let done = 0; done < length; done += PAGE)
      crypto.getRandomValues(this.bytes(at + done, Math.min(PAGE, length - done)));
    return SUCCESS;
  }
  sched_yield() {
    return SUCCESS;
  }
  proc_exit(code) {
    throw new Exit(code);
  }

  fd_prestat_get(fd, at) {
    if (fd !== ROOT) return EBADF;
    this.u32(at, 0);
    this.u32(at + 4, 1);
    return SUCCESS;
  }
  fd_prestat_dir_name(fd, at) {
    if (fd !== ROOT) return EBADF;
    this.bytes(at, 1)[0] = '/'.charCodeAt(0);
    return SUCCESS;
  }
  fd_fdstat_get(fd, at) {
    const open = this.open.get(fd);
    if (!open) return EBADF;
    this.bytes(at, 24).fill(0);
    this.view.setUint8(at >>> 0, open.type);
    this.u64(at + 8, 2n ** 64n - 1n);
    this.u64(at + 16, 2n ** 64n - 1n);
    return SUCCESS;
  }
  fd_fdstat_set_flags() {
    return SUCCESS;
  }
  fd_filestat_get(fd, at) {
    const open = this.open.get(fd);
    return open ? this.status(at, open.type, open.file) : EBADF;
  }
  path_filestat_get(fd, flags, path, length, at) {
    const name = this.path(path, length), file = this.folder.get(name);
    if (name === '') return this.status(at, DIRECTORY);
    return file ? this.status(at, REGULAR_FILE, file) : ENOENT;
  }
  path_open(fd, followed, path, length, how, rights, inherited, flags, at) {
    const name = this.path(path, length);
    let file;
    if (name === '') {
      if (how & CREATE) return EISDIR;
    } else {
      file = this.folder.get(name);
      if (file && how & CREATE && how & EXCLUSIVE) return EEXIST;
      if (!file && !(how & CREATE)) return ENOENT;
      if (how & AS_DIRECTORY) return ENOENT;
      if (!file || how & TRUNCATE) this.folder.written.set(name, file = new Bytes());
    }
    let number = ROOT + 1;
    while (this.open.has(number)) ++number;
    this.open.set(number, file ? {type: REGULAR_FILE, file, at: 0} : {type: DIRECTORY});
    this.u32(at, number);
    return SUCCESS;
  }
  // No file is a link.
  path_readlink(fd, path, length) {
    const name = this.path(path, length);
    return name === '' || this.folder.get(name) ? EINVAL : ENOENT;
  }
  fd_close(fd) {
    return this.open.delete(fd) ? SUCCESS : EBADF;
  }
  fd_read(fd, list, count, at) {
    const open = this.file(fd);
    if (!open) return EBADF;
    const total = this.read(open.file, open.at, list, count);
    open.at += total;
    this.u32(at, total);
    return SUCCESS;
  }
  fd_pread(fd, list, count, offset, at) {
    const open = this.file(fd);
    if (!open) return EBADF;
    this.u32(at, this.read(open.file, Number(offset), list, count));
    return SUCCESS;
  }
  fd_write(fd, list, count, at) {
    const open = this.file(fd);
    if (!open?.file.write) return EBADF;
    const total = this.write(open.file, open.at, list, count);
    open.at += total;
    this.u32(at, total);
    return SUCCESS;
  }
  fd_pwrite(fd, list, count, offset, at) {
    const open = this.file(fd);
    if (!open?.file.write) return EBADF;
    this.u32(at, this.write(open.file, Number(offset), list, count));
    return SUCCESS;
  }
  fd_seek(fd, offset, from, at) {
    const open = this.file(fd);
    if (!open) return EBADF;
    const target = Number(offset) + [0, open.at, open.file.size][from];
    if (!(target >= 0)) return EINVAL;
    open.at = target;
    this.u64(at, target);
    return SUCCESS;
  }
  fd_tell(fd, at) {
    return this.fd_seek(fd, 0n, 1, at);
  }
  fd_filestat_set_size(fd, size) {
    const open = this.file(fd);
    if (!open?.file.resize) return EBADF;
    open.file.resize(Number(size));
    return SUCCESS;
  }
  fd_sync() {
    return SUCCESS;
  }
  path_rename(fd, path, length, newFd, newPath, newLength) {
    const name = this.path(path, length), file = this.folder.written.get(name);
    if (!file) return ENOENT;
    this.folder.written.delete(name);
    this.folder.written.set(this.path(newPath, newLength), file);
    return SUCCESS;
  }
  path_unlink_file(fd, path, length) {
    return this.folder.written.delete(this.path(path, length)) ? SUCCESS : ENOENT;
  }
}

// Runs the module with `args`, the verb first. `find(path)` gives a file, like Bytes, or undefined. Of the result `crash` is
// a text where the module ended in another way than by its exit.
export function run(module, args, find) {
  const calls = new Calls(['pt2', ...args], find), wasi = {}, imports = {env: {memory: calls.memory}};
  for (const {module: from, name, kind} of WebAssembly.Module.imports(module)) {
    if (from !== 'wasi_snapshot_preview1' || kind !== 'function') continue;
    wasi[name] = (...values) => {
      if (!calls[name]) return ENOSYS;
      try {
        return calls[name](...values);
      } catch (error) {
        if (error instanceof Exit) throw error;
        return EIO;
      }
    };
  }
  imports.wasi_snapshot_preview1 = wasi;
  let code = 0, crash;
  try {
    new WebAssembly.Instance(module, imports).exports._start();
  } catch (error) {
    if (error instanceof Exit) code = error.code;
    else crash = String(error);
  }
  const text = (bytes) => new TextDecoder().decode(bytes.whole());
  return {code, crash, out: text(calls.out), err: text(calls.err), files: calls.folder.written};
}
