// Reads the page's data into objects. Names are those of include/pt2/tools/drawing.h; short keys
// are those of src/draw/page.cpp. Every text of the file is data: it is only drawn or put into a
// text node, never markup.
const KINDS = ["program", "module", "repeat", "rest", "part", "call", "graph", "node", "input", "output"];
const CHANGES = ["added", "removed", "changed"];
const LINES = ["weight", "port", "written", "more"];

function readBox(raw, id, strings) {
  const wires = (raw.w || []).map((w) => {
    const wire = { from: w[0], fromPort: w[1], label: strings[w[2]], values: w[3], to: [], toPorts: [] };
    for (let i = 4; i < w.length; i += 2) {
      wire.to.push(w[i]);
      wire.toPorts.push(w[i + 1]);
    }
    return wire;
  });
  return {
    id, wires,
    kind: KINDS[raw.k], parent: raw.p, operatorClass: raw.c || 0, isOpen: raw.o === 1,
    foldedWidth: raw.s[0], foldedHeight: raw.s[1],
    title: strings[raw.t], detail: raw.d === undefined ? "" : strings[raw.d],
    path: raw.m === undefined ? "" : strings[raw.m],
    nodes: raw.n || 1, values: raw.v || [], children: raw.i || [], rows: raw.r || [],
    lines: (raw.l || []).map(([kind, text, value]) => ({ kind: LINES[kind], text: strings[text], value })),
    isNode: raw.op !== undefined, name: raw.f || "", target: raw.op === undefined ? "" : strings[raw.op],
    stack: raw.st === undefined ? "" : strings[raw.st], args: raw.a || [], time: raw.us, joined: [],
    within: raw.in === undefined ? null : strings[raw.in],  // a name at first, later the box
    change: raw.x && { kind: CHANGES[raw.x[0]] || "", lines: raw.x[1].map((i) => strings[i]), removed: raw.x[2].map((i) => strings[i]) },
    depth: 0, x: 0, y: 0, width: 0, height: 0, paths: [],
  };
}

function readRange(raw) {
  const [, min, max, mean, count, nans, infinities] = raw;
  return { min, max, mean, count, nans, infinities };
}

function readProgram(raw) {
  const strings = raw.strings;
  const program = {
    name: raw.name, strings,
    boxes: raw.boxes.map((box, id) => readBox(box, id, strings)),
    values: raw.values.map(([name, type, box, held]) => ({ name, type: strings[type], box, held, users: null })),
    hasTimes: false, hasRanges: raw.ranges.length > 0,
  };
  for (const range of raw.weights) program.values[range[0]].weights = readRange(range);
  for (const range of raw.ranges) program.values[range[0]].range = readRange(range);
  if (raw.difference) {
    const [added, removed, changed, others, ends] = raw.difference;
    program.difference = { added, removed, changed, others: others.map((i) => strings[i]), ends: ends.map((i) => strings[i]) };
  }
  program.hasTimes = program.boxes.some((box) => box.time !== undefined);
  // Values computed in one step share one time.
  const timed = new Map(program.boxes.filter((box) => box.time !== undefined).map((box) => [box.name, box]));
  for (const box of program.boxes) {
    box.within = timed.get(box.within) || null;
    if (box.within) box.within.joined.push(box.id);
  }
  return program;
}

// Returns the boxes that read a value; finds the users of all values on the first call.
function usersOf(program, value) {
  if (!program.hasUsers) {
    program.hasUsers = true;
    for (const box of program.boxes)
      for (const arg of box.args)
        for (const piece of arg.slice(1)) {
          if (piece < 0 || !program.values[piece]) continue;
          const users = (program.values[piece].users ||= []);
          if (users[users.length - 1] !== box.id) users.push(box.id);
        }
  }
  return program.values[value].users || [];
}

// Returns the boxes, each behind the boxes in it.
function innerFirst(program) {
  const order = [program.boxes[0]];
  for (let i = 0; i < order.length; ++i)
    for (const id of order[i].children) order.push(program.boxes[id]);
  return order.reverse();
}

// Sums times over the contents of boxes.
function sumTimes(program) {
  for (const box of innerFirst(program)) {
    box.totalTime = (box.time || 0) + box.children.reduce((sum, id) => sum + program.boxes[id].totalTime, 0);
  }
}

// Counts for each box and kind of change the nodes in it, the box itself included.
function sumChanges(program) {
  for (const box of innerFirst(program)) {
    const own = box.change;
    box.changes = { added: 0, removed: own ? own.removed.length : 0, changed: 0 };
    if (own && own.kind) box.changes[own.kind] = 1;
    for (const id of box.children)
      for (const kind of CHANGES) box.changes[kind] += program.boxes[id].changes[kind];
  }
}

// Returns the greatest magnitude of a box's values; NaN if a value contains NaN or infinity.
function magnitudeOf(program, box) {
  let most = 0;
  for (const id of box.values) {
    const range = program.values[id].range;
    if (!range) continue;
    if (range.nans > 0 || range.infinities > 0) return NaN;
    most = Math.max(most, Math.abs(range.min), Math.abs(range.max));
  }
  return most;
}
