// Looks at the page in a headless Chromium.
//
//   node web/check_page.mjs COMMAND SITE PICTURES FILE...
//
// Each file is given to the page, and `info` and `verify` there say what the command says. Then the digits, the graph,
// packages, hostile files, limits, keys and small screens. SITE is what web/site.mjs made; pictures of it go to PICTURES.
// Exit 1 where something is wrong.
import {spawnSync} from 'node:child_process';
import {copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {basename, dirname, extname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Browser, Page} from './browser.mjs';

const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm'};
const SCREENS = {wide: [1280, 900], narrow: [380, 760]};

const [native, site, pictureFolder, ...files] = process.argv.slice(2);
const root = fileURLToPath(new URL('..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'pt2-page-'));
mkdirSync(pictureFolder, {recursive: true});

let faults = 0, alike = 0;
function check(isRight, ...text) {
  if (!isRight) {
    ++faults;
    console.log('FAULT', ...text);
  }
}

const requests = [];
const server = createServer((request, response) => {
  const path = request.url === '/' ? '/index.html' : request.url;
  requests.push(path);
  try {
    const content = readFileSync(join(site, path));
    response.writeHead(200, {'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream'});
    response.end(content);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const address = `http://127.0.0.1:${server.address().port}/`;

const browser = new Browser();
let page, frame;
let isWatched = true;
browser.listen(({method, params}) => {
  if (!isWatched) return;
  if (method === 'Runtime.exceptionThrown') check(false, 'exception', params.exceptionDetails.exception?.description);
  if (method === 'Runtime.consoleAPICalled') check(false, 'console', JSON.stringify(params.args));
  if (method === 'Log.entryAdded') check(false, 'log', params.entry.text, params.entry.url);
});

async function openPage(before = '') {
  page = await browser.page();
  for (const domain of ['Page', 'Runtime', 'Log', 'DOM']) await page.send(`${domain}.enable`);
  await page.send('Page.addScriptToEvaluateOnNewDocument', {source: before});
  await page.send('Page.navigate', {url: address});
}

async function choose(...paths) {
  const {root: document} = await page.send('DOM.getDocument');
  const {nodeId} = await page.send('DOM.querySelector', {nodeId: document.nodeId, selector: '#choose'});
  await page.send('DOM.setFileInputFiles', {nodeId, files: paths.map((path) => resolve(path))});
}
const isOpen = (name) => page.until(`document.querySelector('#file b')?.textContent === ${JSON.stringify(name)}`);
const click = (selector) => page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
const textOf = (selector) => page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? ''`);

// What stands in a panel after its command has ended.
async function answer(panel) {
  await page.until(`document.querySelector('${panel} .exit') !== null`);
  return {end: await textOf(`${panel} .exit`), out: await textOf(`${panel} .out`), err: await textOf(`${panel} .err`)};
}

async function compare(panel, path, args) {
  const {status, stdout, stderr} = spawnSync(resolve(native), args, {cwd: dirname(path), encoding: 'utf8'});
  const expected = {end: `exit ${status}`, out: stdout, err: stderr}, found = await answer(panel);
  for (const key of Object.keys(expected)) {
    if (found[key] === expected[key]) ++alike;
    else check(false, `${args.join(' ')}: ${key} is\n${found[key]}\nexpected\n${expected[key]}`);
  }
}

async function compareFile(path) {
  const name = basename(path), argument = name.startsWith('-') ? `./${name}` : name;
  await choose(path);
  await isOpen(name);
  await compare('#panel-overview', path, ['info', argument]);
  await compare('#panel-check', path, ['verify', argument]);
}

async function screen(name, scheme) {
  const [width, height] = SCREENS[name];
  await page.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
  for (const seen of frame ? [page, frame] : [page])
    await seen.send('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: scheme}]});
}
async function picture(name, before = () => {}) {
  for (const size of Object.keys(SCREENS)) {
    for (const scheme of ['light', 'dark']) {
      await screen(size, scheme);
      await before();
      const width = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      check(width <= 0, `${name} is ${width} pixels too wide on a ${size} screen`);
      writeFileSync(join(pictureFolder, `${name}_${size}_${scheme}.png`), await page.screenshot());
    }
  }
  await screen('wide', 'light');
}

async function digits() {
  const program = join(root, 'examples/digits.pt2');
  await click('#example');
  await isOpen('digits.pt2');
  await compare('#panel-overview', program, ['info', 'digits.pt2']);
  await compare('#panel-scan', program, ['scan', 'digits.pt2']);
  await picture('overview');
  await click('#tab-text');
  await compare('#panel-text', program, ['dis', 'digits.pt2']);
  await picture('text');
  await click('#tab-run');
  await page.until("document.querySelectorAll('.pictures canvas').length === 8");
  await click('#panel-run [type=submit]');
  await compare('#result', program, ['run', 'digits.pt2', '-i', 'image=digits_8.npy']);
  const recognised = largest(await textOf('#result .out'));
  const labels = readFileSync(join(root, 'examples/digits_8.labels.txt'), 'utf8').trim().split(/\s+/).join(' ');
  check(recognised === labels, `recognised ${recognised} where ${labels} are`);
  await page.evaluate(`{const make = URL.createObjectURL; URL.createObjectURL = (blob) => make(globalThis.saved = blob)}`);
  await click('#result .command button');
  await page.until('globalThis.saved !== undefined');
  const results = join(scratch, 'results.npz');
  spawnSync(resolve(native), ['run', program, '-i', `image=${join(root, 'examples/digits_8.npy')}`, '-o', results]);
  const saved = await page.evaluate("saved.slice(0, 2).text().then((text) => `${text} ${saved.size}`)");
  check(saved === `PK ${statSync(results).size}`, `what is saved of the results is ${saved}`);
  await picture('run');
}

// One image that comes with the program, as a tensor and as a file of all inputs.
async function inputs() {
  const npy = readFileSync(join(root, 'examples/digit_5.npy')), image = npy.subarray(npy.length - 4 * 64);
  const header = Buffer.from(JSON.stringify({image: {dtype: 'F32', shape: [1, 1, 8, 8], data_offsets: [0, image.length]}}));
  const length = Buffer.alloc(8);
  length.writeUInt32LE(header.length);
  writeFileSync(join(scratch, 'image.npy'), npy);
  writeFileSync(join(scratch, 'all.safetensors'), Buffer.concat([length, header, image]));
  for (const [name, argument] of [['image.npy', 'image=image.npy'], ['all.safetensors', 'all.safetensors']]) {
    const program = `with ${name}.pt2`;
    copyFileSync(join(root, 'examples/digits.pt2'), join(scratch, program));
    await choose(join(scratch, program), join(scratch, name));
    await isOpen(program);
    await click('#tab-run');
    await page.until("document.querySelector('#panel-run form') !== null");
    await click('#panel-run [type=submit]');
    await compare('#result', join(scratch, name), ['run', program, '-i', argument]);
    check(largest(await textOf('#result .out')) === '5', `${name} is no 5`);
  }
}

// The place of the largest number of each row that `pt2 run` prints.
function largest(text) {
  return [...text.matchAll(/^ *\[\d+\] +(.*)$/gm)].map(([, row]) => {
    const numbers = row.trim().split(/ +/).map(Number);
    return numbers.indexOf(Math.max(...numbers));
  }).join(' ');
}

async function graph() {
  await page.send('Target.setAutoAttach', {autoAttach: true, waitForDebuggerOnStart: false, flatten: true});
  browser.listen(({method, params}) => {
    if (method === 'Target.attachedToTarget' && params.targetInfo.type === 'iframe')
      frame = new Page(browser, params.sessionId);
    if (method === 'Target.detachedFromTarget') frame = undefined;
  });
  await click('#tab-graph');
  await page.until("document.querySelector('iframe') !== null");
  for (let i = 0; i < 200 && !frame; ++i) await new Promise((later) => setTimeout(later, 50));
  await frame.until("document.documentElement?.dataset.ready !== undefined");
  check(await frame.evaluate('program.boxes.filter((box) => box.isNode).length') > 10, 'the graph has no nodes');
  const colours = `new Set(new Uint32Array(document.getElementById('canvas').getContext('2d').getImageData(0, 0,
    document.getElementById('canvas').width, document.getElementById('canvas').height).data.buffer)).size`;
  await frame.until("document.getElementById('canvas').width > 0");
  await frame.until(`${colours} > 10`);
  await picture('graph', async () => {
    const width = await page.evaluate("document.querySelector('iframe').clientWidth");
    await frame.until(`innerWidth === ${width}`);
    await frame.evaluate('picture.fit(); new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
  });
  await frame.evaluate('picture.size = () => [0, 0]; picture.fit(); delete picture.size');
  await frame.evaluate("dispatchEvent(new Event('resize'))");
  check(await frame.evaluate('picture.scale > 0'), 'a graph that started without a size is not seen');
  await frame.evaluate("select(program.boxes.findIndex((box) => box.isNode && box.parent >= 0), true)");
  isWatched = false;  // Chromium logs what a policy stops.
  const isStopped = (code) => frame.evaluate(`(async () => { try { await ${code}; return false; } catch { return true; } })()`);
  check(await isStopped(`fetch('${address}')`), 'the graph may fetch');
  check(await isStopped('parent.document.title'), 'the graph reaches the page');
  await frame.evaluate("document.head.append(Object.assign(document.createElement('script'), {text: 'window.owned = 1'}))");
  check(await frame.evaluate('window.owned === undefined'), 'the graph runs another script');
  check(await page.evaluate(`fetch('${address.replace('127.0.0.1', 'localhost')}', {mode: 'no-cors'}).then(() => false, () => true)`),
    'the page may fetch from elsewhere');
  isWatched = true;
}

async function packages() {
  const path = join(root, 'tests/data/containers/variants.pt2');
  await choose(path);
  await isOpen('variants.pt2');
  await page.until("document.getElementById('program').options.length > 1");
  const names = await page.evaluate("[...document.getElementById('program').options].map(({text}) => text)");
  for (const name of names) {
    await page.evaluate(`{const select = document.getElementById('program'); select.value = ${JSON.stringify(name)};
      select.dispatchEvent(new Event('change'))}`);
    await compare('#panel-overview', path, ['info', 'variants.pt2', '--model', name]);
  }
}

async function hostile() {
  for (const name of ['-o.pt2', "it's <b>a\u2028.pt2", '--help']) {
    copyFileSync(join(root, 'examples/digits.pt2'), join(scratch, name));
    await compareFile(join(scratch, name));
  }
  // The name that the page gives to the picture.
  copyFileSync(join(root, 'examples/digits.pt2'), join(scratch, 'graph.html'));
  await choose(join(scratch, 'graph.html'));
  await isOpen('graph.html');
  await click('#tab-graph');
  check((await answer('#panel-graph')).end === 'exit 0', 'graph.html is drawn');
  for (const [name, content] of [['nothing.pt2', ''], ['words.txt', 'words\n'], ['other.npy', 'PK']]) {
    writeFileSync(join(scratch, name), content);
    if (name.endsWith('.npy')) continue;
    await compareFile(join(scratch, name));
  }
  await picture('broken');
  await choose(join(scratch, 'other.npy'));
  await page.until("document.getElementById('tab-run').getAttribute('aria-selected') === 'true'");
  check(/exit 3/.test((await answer('#panel-run')).end), 'a run of a text file has another exit');
  // Larger than the memory; and so large that the memory holds nothing else.
  const large = join(scratch, 'large.pt2'), tight = join(scratch, 'tight.pt2');
  for (const [path, size] of [[large, 3e9], [tight, 2 ** 31 - 2 ** 20]]) {
    writeFileSync(path, '');
    truncateSync(path, size);
  }
  await choose(large);
  await isOpen('large.pt2');
  const refusal = await textOf('#refused');
  check(/large\.pt2 is refused. This is 3\.0 GB, .* at most 2\.1 GB of memory/.test(refusal), `the message is '${refusal}'`);
  check(await page.evaluate("document.getElementById('views').hidden"), 'a file that is refused has tabs');
  await picture('refused');
  await choose(tight);
  await isOpen('tight.pt2');
  const {end, err} = await answer('#panel-overview'), hint = await textOf('#panel-overview .notice');
  check(end === 'exit 5' && /tight\.pt2/.test(err), `memory at its end: ${end} ${err}`);
  check(/2\.1 GB of memory and one core/.test(hint), `memory at its end is explained as '${hint}'`);
}

async function stopped() {
  await page.evaluate(`document.getElementById('example').click();
    document.querySelector('#panel-overview .busy button').click()`);
  check((await answer('#panel-overview')).err === 'the command ended: it was stopped', 'a command that was stopped');
  await click('#tab-overview');
  await page.until("document.querySelector('#panel-overview .exit')?.textContent === 'exit 0'");
}

async function keysAndDrops() {
  const key = async (name) => {
    for (const type of ['keyDown', 'keyUp']) await page.send('Input.dispatchKeyEvent', {type, key: name, code: name});
  };
  await page.evaluate("document.getElementById('tab-overview').focus()");
  await key('ArrowRight');
  check(await page.evaluate("document.activeElement.id") === 'tab-check', 'the arrow leads to another tab');
  check(await page.evaluate("!document.getElementById('panel-check').hidden"), 'the arrow shows another tab');
  await key('End');
  check(await page.evaluate("document.activeElement.id") === 'tab-run', 'End leads to another tab');
  const data = {items: [], files: [resolve(root, 'examples/custom.pt2')], dragOperationsMask: 1};
  await page.until("document.querySelector('#panel-run form') !== null");
  await page.send('Input.dispatchDragEvent', {type: 'dragEnter', x: 300, y: 300, data});
  await page.send('Input.dispatchDragEvent', {type: 'dragOver', x: 300, y: 300, data});
  await page.until("document.body.classList.contains('dragged')");
  await page.send('Input.dispatchDragEvent', {type: 'drop', x: 300, y: 300, data});
  await isOpen('custom.pt2');
  await compare('#panel-overview', join(root, 'examples/custom.pt2'), ['info', 'custom.pt2']);
}

async function oldBrowser() {
  for (const lack of ['delete globalThis.WebAssembly', 'WebAssembly.validate = () => false']) {
    await openPage(lack);
    await page.until("/cannot run the page.* exceptions or SIMD/.test(document.getElementById('start')?.textContent)");
    check(await page.evaluate("document.getElementById('drop').hidden"), `${lack}: a file can be chosen`);
  }
}

try {
  await openPage();
  await page.until("document.body?.dataset.ready === 'yes'");
  await picture('start');
  const loaded = requests.length;
  for (const path of files) await compareFile(path);
  for (const step of [digits, graph, inputs, packages, hostile, stopped, keysAndDrops]) await step();
  check(requests.length === loaded, `asked later: ${requests.slice(loaded)}`);
  await oldBrowser();
} catch (error) {
  check(false, error.stack);
} finally {
  await browser.close();
  server.close();
  rmSync(scratch, {recursive: true});
}
console.log(`${files.length} files, ${alike} texts and exit codes alike; ${faults} faults`);
process.exitCode = faults > 0 ? 1 : 0;
