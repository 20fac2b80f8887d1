// Puts the page together, and says how large it is for a download: node web/site.mjs COMMAND COMMAND.wasm FOLDER
//
// Exit 1 when it takes 3 MB or more compressed, with brotli or with gzip.
import {execFileSync} from 'node:child_process';
import {cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {brotliCompressSync, gzipSync} from 'node:zlib';

const MOST_BYTES = 3e6;

const [native, wasm, folder] = process.argv.slice(2);
const page = fileURLToPath(new URL('page', import.meta.url));
const examples = fileURLToPath(new URL('../examples', import.meta.url));

rmSync(folder, {recursive: true, force: true});
mkdirSync(join(folder, 'examples'), {recursive: true});
cpSync(page, folder, {recursive: true});
cpSync(wasm, join(folder, 'pt2.wasm'));
for (const name of ['digits.pt2', 'digits_8.npy']) cpSync(join(examples, name), join(folder, 'examples', name));

// A graph's page names its own script and style by their hashes. It inherits this page's policy, which has to allow them.
const scratch = mkdtempSync(join(tmpdir(), 'pt2-')), graph = join(scratch, 'graph.html');
execFileSync(native, ['graph', join(examples, 'digits.pt2'), '-o', graph]);
const [, script, style] = readFileSync(graph, 'utf8').match(/script-src ('sha256-[^']*'); style-src ('sha256-[^']*')/);
rmSync(scratch, {recursive: true});
const index = join(folder, 'index.html'), text = readFileSync(index, 'utf8');
writeFileSync(index, text.replace('@graph-script@', script).replace('@graph-style@', style));

const paths = readdirSync(folder, {recursive: true}).map((name) => join(folder, name));
const files = paths.filter((path) => statSync(path).isFile());
const total = (size) => files.reduce((sum, path) => sum + size(readFileSync(path)), 0);
const brotli = total((content) => brotliCompressSync(content).length);
const gzip = total((content) => gzipSync(content, {level: 9}).length);
console.log(`${files.length} files, ${total((content) => content.length)} bytes, with brotli ${brotli}, with gzip ${gzip}`);
process.exitCode = Math.max(brotli, gzip) >= MOST_BYTES ? 1 : 0;
