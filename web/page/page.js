// The page: a file, a tab for each thing that the command can say of it.
import {fetchCommand, fetchFile, isSupported} from './command.js';
import {pictures} from './picture.js';
import {MOST_MEMORY} from './wasi.js';

const EXAMPLE = {program: 'digits.pt2', input: 'image', file: 'digits_8.npy'};
const MOST_SHOWN = 200000;
const RESULTS = 'results.npz';
const TENSORS = /\.(npy|npz|safetensors)$/i;

// What a tab runs, as arguments around the file's name; `once` at once when a file is opened, `picks` where it is about one
// program of several.
const VIEWS = [
  {id: 'overview', title: 'Overview', args: (file) => ['info', file], once: true, picks: true},
  {id: 'check', title: 'Check', args: (file) => ['verify', file], once: true},
  {id: 'scan', title: 'Scan', args: (file) => ['scan', file], once: true},
  {id: 'graph', title: 'Graph', args: (file) => ['graph', file, '-o', pictureOf(file)], picks: true, show: showGraph},
  {id: 'text', title: 'Text', args: (file) => ['dis', file], picks: true},
  {id: 'run', title: 'Run', args: (file) => ['info', file, '--json'], picks: true, show: showRun},
];

// The command does not write the file that it reads.
function pictureOf(file) {
  return file === 'graph.html' ? 'picture.html' : 'graph.html';
}

const find = (id) => document.getElementById(id);
let command, examples;
// The open file: {name, blob, inputs, asked}, a new object for each. `inputs` are files for a run, each with the name of its
// input or ''; `asked` has what each tab asked last: an answer to anything else comes too late.
let opened;

// What has no property in every browser is set as an attribute.
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === 'role' || name.includes('-')) made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

function size(bytes) {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'], power = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return `${power === 0 ? bytes : (bytes / 1000 ** power).toFixed(1)} ${units[power]}`;
}

// As a shell would have it.
const shellWord = (word) => (/^[\w./=:,+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
// A name that begins like an option is none with its folder.
const argument = (name) => (name.startsWith('-') ? `./${name}` : name);

// `make` gives what is saved, or a promise of it.
function saveButton(title, name, make) {
  const button = element('button', {type: 'button', textContent: title, onclick: async () => {
    button.disabled = true;
    const blob = await make();
    button.disabled = false;
    if (!blob) return;
    const link = element('a', {href: URL.createObjectURL(blob), download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }});
  return button;
}

function textOf(text, name, className) {
  if (text.length <= MOST_SHOWN) return [element('pre', {className, tabIndex: 0, textContent: text})];
  return [element('pre', {className, tabIndex: 0, textContent: text.slice(0, MOST_SHOWN)}),
    element('p', {className: 'hint'}, `The first ${size(MOST_SHOWN)} of ${size(text.length)}. `,
      saveButton('Save all', name, () => new Blob([text])))];
}

// What a terminal would show: the command, its answer, its messages, its exit code.
function showAnswer(panel, args, answer) {
  const said = answer.crash ? 'ended' : `exit ${answer.code}`, name = `${opened.name}.${args[0]}.txt`;
  panel.replaceChildren(element('p', {className: 'command'}, element('code', {}, ['pt2', ...args].map(shellWord).join(' ')),
    ' ', element('span', {className: answer.code || answer.crash ? 'exit bad' : 'exit', textContent: said})));
  if (answer.out) panel.append(...textOf(answer.out, name, 'out'));
  if (answer.err) panel.append(...textOf(answer.err, name, 'err'));
  if (answer.crash) panel.append(element('pre', {className: 'err', textContent: `the command ended: ${answer.crash}`}));
  if (answer.crash || answer.code === 5)
    panel.append(element('p', {className: 'notice'}, `Here a command has ${size(MOST_MEMORY)} of memory and one core. ` +
      'Where that is too little, run the line above with the command outside the browser: it has what the machine has.'));
}

function showGraph(panel, args, answer) {
  showAnswer(panel, args, answer);
  const [page] = answer.files.values();  // all that it writes
  if (!page) return;
  const blob = new Blob([page], {type: 'text/html'});
  // Not before it is seen: until then it has no size that it could fit the graph into.
  const frame = element('iframe', {title: 'the graph', sandbox: 'allow-scripts', loading: 'lazy'});
  frame.src = URL.createObjectURL(blob);
  frame.onload = () => URL.revokeObjectURL(frame.src);
  panel.querySelector('.command').append(' ', saveButton('Save', `${opened.name}.html`, () => blob));
  panel.append(frame);
}

// A name for `file` that no other has.
function put(files, file) {
  let name = file.name;
  for (let i = 1; files.has(name); ++i) name = `${i}_${file.name}`;
  files.set(name, file);
  return argument(name);
}

function showRun(panel, args, answer) {
  if (answer.code !== 0 || answer.crash) return showAnswer(panel, args, answer);
  const form = find('run-form').content.cloneNode(true).querySelector('form'), rows = form.querySelector('tbody');
  const file = opened, all = form.querySelector('.all'), result = element('div', {id: 'result', 'aria-live': 'polite'});
  const fields = JSON.parse(answer.out).inputs.map(({name, type}) => {
    const text = element('input', {type: 'text', value: 'random', 'aria-label': `value of ${name}`, spellcheck: false});
    const chosen = element('input', {type: 'file', accept: '.npy', 'aria-label': `file of ${name}`});
    const button = element('label', {className: 'button'}, 'File', chosen);
    const drawn = element('div', {className: 'pictures'}), field = {name, text, given: undefined};
    field.give = async (blob) => {
      field.given = blob;
      text.value = blob.name;
      drawn.replaceChildren(...await pictures(blob));
    };
    text.oninput = () => {
      field.given = undefined;
      drawn.replaceChildren();
    };
    chosen.onchange = () => chosen.files.length > 0 && field.give(chosen.files[0]);
    const cells = [element('code', {textContent: type}), [text, drawn], button];
    rows.append(element('tr', {}, element('th', {textContent: name}), ...cells.map((cell) => element('td', {}, ...[cell].flat()))));
    return field;
  });
  form.querySelector('table').hidden = form.querySelector('.hint').hidden = fields.length === 0;
  panel.replaceChildren(form, result);
  file.give = (blob) => {
    const field = fields.find(({name}) => name === file.inputs.get(blob)) ?? fields.find(({given}) => !given) ?? fields[0];
    if (/\.npy$/i.test(blob.name)) field?.give(blob);
    else giveAll(blob);
  };
  // For all inputs that have no other value; none where `blob` is undefined.
  const giveAll = (blob) => {
    file.all = blob;
    const drop = element('button', {type: 'button', textContent: '×', 'aria-label': 'without it'});
    drop.onclick = () => giveAll();
    form.querySelector('.taken').replaceChildren(...(blob ? [`${blob.name} `, drop] : []));
    for (const {text, given} of fields) if (!given) text.value = blob ? '' : 'random';
  };
  for (const blob of file.inputs.keys()) file.give(blob);
  all.onchange = () => all.files.length > 0 && giveAll(all.files[0]);
  form.onsubmit = async (event) => {
    event.preventDefault();
    const files = new Map([[file.name, file.blob]]), line = ['run', argument(file.name), ...picked()];
    if (file.all) line.push('-i', put(files, file.all));
    for (const {name, text, given} of fields) {
      if (given) line.push('-i', `${name}=${put(files, given)}`);
      else if (text.value.trim() !== '') line.push('-i', `${name}=${text.value.trim()}`);
    }
    const outputs = await ask(result, line, files);
    if (!outputs || file !== opened) return;
    showAnswer(result, line, outputs);
    if (outputs.code !== 0 || outputs.crash) return;
    // The same run again: what is shown of results is no more than their beginning.
    result.querySelector('.command').append(' ', saveButton('Save results', `${file.name}.npz`, async () => {
      const written = (await command.run([...line, '-o', RESULTS], [...files])).files.get(RESULTS);
      return written && new Blob([written]);
    }));
  };
}

// Runs a command, and says so in `panel` meanwhile. Nothing where what it reads is too large.
async function ask(panel, args, files) {
  const bytes = [...files.values()].reduce((sum, blob) => sum + blob.size, 0);
  if (tooLarge(bytes)) return panel.replaceChildren(element('p', {className: 'notice', textContent: tooLarge(bytes)}));
  panel.replaceChildren(element('p', {className: 'busy'}, `pt2 ${args[0]} … `,
    element('button', {type: 'button', textContent: 'Stop', onclick: () => command.stop('it was stopped')})));
  panel.setAttribute('aria-busy', 'true');
  const answer = await command.run(args, [...files]);
  panel.removeAttribute('aria-busy');
  return answer;
}

function tooLarge(bytes) {
  return bytes < MOST_MEMORY ? '' : `This is ${size(bytes)}, and here a command has at most ${size(MOST_MEMORY)} of ` +
    'memory, its files included. The command pt2 outside the browser has what the machine has.';
}

const picked = () => (find('programs').hidden ? [] : ['--model', find('program').value]);

async function fill(view) {
  const file = opened, panel = find(`panel-${view.id}`), tab = find(`tab-${view.id}`);
  if (!file || file.asked.has(view.id)) return;
  const args = [...view.args(argument(file.name)), ...(view.picks ? picked() : [])];
  file.asked.set(view.id, args);
  const answer = await ask(panel, args, new Map([[file.name, file.blob]]));
  if (!answer || file !== opened || file.asked.get(view.id) !== args) return;
  if (answer.crash) file.asked.delete(view.id);
  const several = view.picks && answer.err.match(/holds several programs; name one of: (.*)/)?.[1].split(', ');
  if (several && find('programs').hidden) return choosePrograms(several);
  tab.dataset.exit = answer.crash ? 'crash' : answer.code;
  (view.show ?? showAnswer)(panel, args, answer);
}

function choosePrograms(names) {
  find('program').replaceChildren(...names.map((name) => element('option', {textContent: name})));
  find('programs').hidden = false;
  changeProgram();
}

// What was said of another program of the package is asked again.
function changeProgram() {
  for (const view of VIEWS.filter(({picks}) => picks)) opened.asked.delete(view.id);
  const now = shown();
  for (const view of VIEWS) if (view === now || (view.once && view.picks)) fill(view);
}

const shown = () => VIEWS.find(({id}) => find(`tab-${id}`).getAttribute('aria-selected') === 'true');

function show(view) {
  for (const {id} of VIEWS) {
    const isShown = id === view.id;
    find(`tab-${id}`).setAttribute('aria-selected', isShown);
    find(`tab-${id}`).tabIndex = isShown ? 0 : -1;
    find(`panel-${id}`).hidden = !isShown;
  }
  find(`tab-${view.id}`).scrollIntoView({block: 'nearest', inline: 'nearest'});
  fill(view);
}

// Opens `blob`; `inputs` has files for a run and the names of their inputs, where these are known.
function open(blob, inputs = new Map()) {
  // What was asked about another file is of no use.
  if (opened && command.waiting.length > 0) command.stop('another file was opened');
  opened = {name: blob.name || 'model.pt2', blob, inputs, asked: new Map()};
  const message = tooLarge(blob.size);
  find('refused').hidden = !message;
  find('refused').textContent = message && `${opened.name} is refused. ${message}`;
  find('views').hidden = Boolean(message);
  find('programs').hidden = true;
  find('file').hidden = false;
  find('file').replaceChildren(element('b', {textContent: opened.name}), ` ${size(blob.size)}`);
  document.body.classList.add('opened');
  for (const {id} of VIEWS) {
    delete find(`tab-${id}`).dataset.exit;
    find(`panel-${id}`).replaceChildren();
  }
  if (message) return;
  show(VIEWS[0]);
  for (const view of VIEWS) if (view.once) fill(view);
}

// Files that were dropped or chosen: a program, and tensors for it; tensors alone are for the program that is open.
function take(files) {
  const programs = files.filter(({name}) => !TENSORS.test(name)), tensors = files.filter(({name}) => TENSORS.test(name));
  if (programs.length > 0 || !opened) {
    if (files.length > 0) open(programs[0] ?? tensors.shift(), new Map(tensors.map((blob) => [blob, ''])));
  } else if (tensors.length > 0) {
    for (const blob of tensors) opened.inputs.set(blob, '');
    show(VIEWS.find(({id}) => id === 'run'));
    if (opened.give) tensors.forEach(opened.give);
  }
}

function makeTabs() {
  for (const view of VIEWS) {
    find('tabs').append(element('button', {id: `tab-${view.id}`, type: 'button', role: 'tab', textContent: view.title,
      'aria-selected': 'false', 'aria-controls': `panel-${view.id}`, onclick: () => show(view)}));
    find('panels').append(element('section', {id: `panel-${view.id}`, role: 'tabpanel', hidden: true,
      'aria-labelledby': `tab-${view.id}`}));
  }
  find('tabs').onkeydown = ({key}) => {
    const now = VIEWS.indexOf(shown()), last = VIEWS.length - 1;
    const next = {ArrowRight: now === last ? 0 : now + 1, ArrowLeft: now === 0 ? last : now - 1, Home: 0, End: last}[key];
    if (next === undefined) return;
    show(VIEWS[next]);
    find(`tab-${VIEWS[next].id}`).focus();
  };
}

async function start() {
  const note = (text) => find('start').textContent = text;
  if (!isSupported())
    return find('start').prepend('This browser cannot run the page: it lacks WebAssembly, or exceptions or SIMD in it. ');
  note('Loading pt2.wasm …');
  command = await fetchCommand();
  const version = await command.run(['--version'], []);
  if (version.crash) return note(`The command cannot start here: ${version.crash}.`);
  examples = await Promise.all([EXAMPLE.program, EXAMPLE.file].map((name) => fetchFile(`examples/${name}`)));
  const limit = `A command has at most ${size(MOST_MEMORY)} of memory, its files included.`;
  find('about').textContent = `${version.out.trim()}. ${limit}`;
  find('start').hidden = true;
  find('drop').hidden = false;
  document.body.dataset.ready = 'yes';
}

makeTabs();
find('choose').onchange = () => {
  take([...find('choose').files]);
  find('choose').value = '';
};
find('example').onclick = () => open(examples[0], new Map([[examples[1], EXAMPLE.input]]));
find('program').onchange = changeProgram;
addEventListener('dragover', (event) => {
  event.preventDefault();
  document.body.classList.add('dragged');
});
addEventListener('dragleave', ({relatedTarget}) => {
  if (!relatedTarget) document.body.classList.remove('dragged');
});
addEventListener('drop', (event) => {
  event.preventDefault();
  document.body.classList.remove('dragged');
  if (command) take([...event.dataTransfer.files]);
});
start().catch((error) => find('start').textContent = `The page could not be loaded: ${error.message}.`);
