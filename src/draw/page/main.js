// Search, keys, links and buttons.
const byId = (id) => document.getElementById(id);
const hashOf = (program, box) =>
  `#node=${encodeURIComponent(box.name || box.title)}` +
  (programs.length > 1 ? `&program=${encodeURIComponent(program.name)}` : "");

const documentData = JSON.parse(byId("data").textContent);
const programs = documentData.programs.map(() => null);
const picture = new Picture(byId("canvas"));
const panel = new Panel(byId("panel"), (id) => select(id, true));
let program = null, matches = [], match = -1;

function chooseTheme(name) {
  document.documentElement.dataset.theme = name;
  drawLegend();
  picture.draw();
}

function showProgram(index) {
  programs[index] ||= readProgram(documentData.programs[index]);
  program = programs[index];
  sumTimes(program);
  if (program.difference) sumChanges(program);
  picture.program = program;
  byId("program").value = String(index);
  offerColours();
  picture.selected = -1;
  panel.hide();
  search("");
  picture.layout();
  picture.fit(true);
  if (program.difference) panel.showDifference(program);
}

function reveal(id) {
  let changed = false;
  for (let at = program.boxes[id].parent; at >= 0; at = program.boxes[at].parent) {
    changed ||= !program.boxes[at].isOpen;
    program.boxes[at].isOpen = true;
  }
  if (changed) picture.layout();
}

function select(id, mayMove) {
  picture.selected = id;
  if (id < 0) {
    panel.hide();
    picture.draw();
    return;
  }
  reveal(id);
  const box = program.boxes[id];
  if (mayMove) picture.show(box);
  panel.show(program, id);
  if (box.isNode) history.replaceState(null, "", hashOf(program, box));
  picture.draw();
}

function toggle(id) {
  const box = program.boxes[id];
  if (box.children.length === 0 || id === 0) return;
  box.isOpen = !box.isOpen;
  picture.layout(id);
}

function foldAll() {
  let outer = picture.selected;
  while (outer > 0 && program.boxes[outer].parent > 0) outer = program.boxes[outer].parent;
  for (const box of program.boxes) if (box.id !== 0) box.isOpen = false;
  if (outer !== picture.selected) select(outer, false);
  picture.layout();
  picture.fit(true);
}

// Opens the visible boxes by one level, within a budget of children for huge programs.
function openMore() {
  let budget = 3000;
  const sawAll = picture.showsAll(), [width, height] = picture.size();
  const anchor = picture.selected >= 0 ? picture.selected : picture.boxAt(width / 2, height / 2);
  for (const id of picture.visible) {
    const box = program.boxes[id];
    if (box.isOpen || box.children.length === 0 || box.children.length > budget) continue;
    budget -= box.children.length;
    box.isOpen = true;
  }
  picture.layout(anchor);
  if (sawAll) picture.fit(true);
}

// Search.

// Caches lower-case texts: most texts repeat, and every key press searches again.
const lowered = new Map();
function lower(text) {
  let found = lowered.get(text);
  if (found === undefined) lowered.set(text, (found = text.toLowerCase()));
  return found;
}

function matchesOf(text) {
  const wanted = text.toLowerCase(), out = [], known = new Map();
  if (!wanted) return out;
  const has = (other) => {
    let found = known.get(other);
    if (found === undefined) known.set(other, (found = lower(other).includes(wanted)));
    return found;
  };
  // "removed" finds the places of removed nodes.
  const isChanged = ({ change }) => change && ((change.kind && has(change.kind)) || change.lines.some(has) ||
    (change.removed.length > 0 && (has("removed") || change.removed.some(has))));
  for (const box of program.boxes) {
    if (box.parent < 0) continue;
    const isBorder = box.kind === "input" || box.kind === "output";
    if (isBorder && program.boxes[box.parent].kind !== "program") continue;
    const isFound = isChanged(box) || (box.isNode ? has(box.name) || has(box.target) || has(box.path) || has(box.detail) || has(box.stack) ||
        box.lines.some((line) => line.kind === "weight" && program.values[line.value] &&
          has(program.values[line.value].held || "")) || box.values.some((id) => has(program.values[id].type))
      : isBorder ? has(box.title) || box.values.some((id) => has(program.values[id].name))
        : has(box.path) || has(box.title) || has(box.detail));
    if (isFound) out.push(box.id);
  }
  // Names that begin with the text come first, then nodes, then the boxes around them.
  const rank = (id) => {
    const box = program.boxes[id], name = lower(box.name || box.title);
    return name === wanted ? 0 : name.startsWith(wanted) ? 1 : box.isNode ? 2 : 3;
  };
  return out.map((id) => [rank(id), id]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, id]) => id);
}

function search(text) {
  if (byId("search").value !== text) byId("search").value = text;
  matches = matchesOf(text);
  match = -1;
  picture.found = new Set(matches);
  byId("found").textContent = text ? `${matches.length} found` : "";
  showResults();
  picture.draw();
}

function showResults() {
  const list = byId("results");
  list.hidden = matches.length === 0;
  list.replaceChildren(...matches.slice(0, 100).map((id, i) => {
    const box = program.boxes[id], line = element("li", box.name || box.title, i === match ? "now" : "");
    line.append(element("small", [box.target.replace(/^torch\.ops\./, ""), box.path].filter(Boolean).join(" · ")));
    line.addEventListener("mousedown", (event) => {
      event.preventDefault();
      goTo(i);
    });
    return line;
  }));
  list.querySelector(".now")?.scrollIntoView({ block: "nearest" });
}

// Hides the list, unless the reader is still choosing from it.
function goTo(index, isListed = false) {
  if (matches.length === 0) return;
  match = (index + matches.length) % matches.length;
  byId("found").textContent = `${match + 1} of ${matches.length}`;
  showResults();
  byId("results").hidden = !isListed;
  picture.covered = isListed ? byId("results").offsetLeft + byId("results").offsetWidth : 0;
  select(matches[match], true);
}

// Colours.

function offerColours() {
  const choices = [["class", "operator"]];
  if (program.hasTimes) choices.unshift(["time", "time"]);
  if (program.hasRanges) choices.unshift(["range", "size of values"]);
  if (program.difference) choices.unshift(["difference", "difference"]);
  byId("colour").replaceChildren(...choices.map(([value, text]) => {
    const option = element("option", text);
    option.value = value;
    return option;
  }));
  chooseColour(choices[0][0]);
}

function chooseColour(name) {
  byId("colour").value = name;
  picture.colourOf = null;
  picture.showsRemoved = name === "difference";
  picture.hottest = 0;
  if (name === "time") {
    picture.hottest = program.boxes.reduce((most, box) => Math.max(most, box.time || 0), 1e-9);
    const total = program.boxes[0].totalTime || 1;
    picture.colourOf = (box) => {
      if (box.children.length > 0) return heat(box.totalTime / total);
      const { time } = box.within || box;
      return time === undefined ? null : heat(Math.sqrt(time / picture.hottest));
    };
  } else if (name === "difference") {
    // A box of only new nodes is new; a box with some new or changed nodes has changed.
    picture.colourOf = ({ changes, nodes }) => (changes.added + changes.changed === 0 ? null
      : changes.added === nodes ? theme().added : theme().changed);
  } else if (name === "range") {
    const sizes = program.boxes.map((box) => magnitudeOf(program, box)).filter((x) => x > 0 && isFinite(x));
    const low = Math.log(sizes.reduce((a, b) => Math.min(a, b), 1e30)), high = Math.log(sizes.reduce((a, b) => Math.max(a, b), 1e-30));
    picture.hottest = Math.exp(high);
    picture.colourOf = (box) => {
      if (!box.isNode) return null;
      const size = magnitudeOf(program, box);
      if (Number.isNaN(size)) return theme().bad;
      return size > 0 ? heat((Math.log(size) - low) / Math.max(high - low, 1e-9)) : null;
    };
  }
  drawLegend();
  picture.draw();
}

function drawLegend() {
  const legend = byId("legend"), name = byId("colour").value;
  legend.replaceChildren();
  if (!program) return;
  if (name === "class") {
    const used = new Set(program.boxes.filter((box) => box.isNode).map((box) => box.operatorClass));
    for (const c of [...used].sort((a, b) => a - b)) {
      const mark = element("i"), entry = element("span");
      mark.style.background = theme().classes[c];
      entry.append(mark, CLASSES[c]);
      legend.append(entry);
    }
    return;
  }
  if (name === "difference") {
    for (const kind of CHANGES) {
      const mark = element("i"), entry = element("span");
      mark.style.background = theme()[kind];
      entry.append(mark, `${program.difference[kind]} ${kind}`);
      legend.append(entry);
    }
    return;
  }
  const bar = element("canvas"), c = bar.getContext("2d");
  bar.width = 90;
  bar.height = 9;
  for (let i = 0; i < 90; ++i) {
    c.fillStyle = heat(i / 89);
    c.fillRect(i, 0, 1, 9);
  }
  const entry = element("span", name === "time" ? "0 µs" : "least");
  entry.append(bar, name === "time" ? timeText(picture.hottest) : numberText(picture.hottest));
  legend.append(entry);
  if (name === "range") {
    const mark = element("i"), bad = element("span");
    mark.style.background = theme().bad;
    bad.append(mark, "NaN or infinite");
    legend.append(bad);
  }
}

// Keys.

// Finds the neighbour by values without a line, which are named where they are read.
function farNeighbour(box, direction) {
  const { values, args, isNode, parent } = box;
  const taken = isNode ? args.flatMap((arg) => arg.slice(1)).filter((piece) => piece >= 0) : values;
  const ends = direction === "up" ? taken.map((id) => program.values[id]?.box ?? -1)
    : values.flatMap((id) => usersOf(program, id));
  const isInside = (id) => id === parent || (id >= 0 && isInside(program.boxes[id].parent));
  return ends.find((id) => id >= 0 && id !== box.id && (isNode || !isInside(id))) ?? -1;
}

function neighbour(direction) {
  const box = program.boxes[picture.selected];
  if (!box) return -1;
  const level = program.boxes[box.parent];
  if (direction === "left" || direction === "right") {
    const row = level.rows.find((slots) => slots.includes(box.id));
    if (!row) return -1;
    const boxes = row.filter((what) => what >= 0);
    const next = boxes[boxes.indexOf(box.id) + (direction === "left" ? -1 : 1)];
    return next === undefined ? -1 : next;
  }
  const within = (id, port) => (port >= 0 && program.boxes[id].isOpen ? port : id);
  const along = (wires, froms, tos) => {
    for (const wire of wires) {
      const i = direction === "up" ? wire[tos].indexOf(box.id) : wire[froms] === box.id && wire.to.length > 0 ? 0 : -1;
      if (i < 0) continue;
      return direction === "up" ? within(wire.from, wire.fromPort) : within(wire.to[i], wire.toPorts[i]);
    }
    return -1;
  };
  const next = along(level.wires, "from", "to");
  if (next >= 0) return next;
  // From the place where a value enters or leaves an open box, go on to the boxes around it.
  const outer = level.parent < 0 ? -1 : along(program.boxes[level.parent].wires, "fromPort", "toPorts");
  return outer >= 0 ? outer : farNeighbour(box, direction);
}

const KEYS = [
  ["/", "search", () => byId("search").focus()],
  ["n", "next result", () => goTo(match + 1)],
  ["p", "previous result", () => goTo(match - 1)],
  ["ArrowUp", "where its value comes from", () => move("up")],
  ["ArrowDown", "where its value goes", () => move("down")],
  ["ArrowLeft", "the box to the left", () => move("left")],
  ["ArrowRight", "the box to the right", () => move("right")],
  ["Enter", "open or fold the selected box", () => picture.selected >= 0 && toggle(picture.selected)],
  ["Backspace", "select the box around it", () => {
    const box = program.boxes[picture.selected];
    if (box && box.parent > 0) select(box.parent, true);
  }],
  ["o", "open one level more", openMore],
  ["c", "fold everything", foldAll],
  ["0", "show everything", () => picture.fit()],
  ["f", "show the selected box", () => picture.selected >= 0 && picture.show(program.boxes[picture.selected], true)],
  ["+", "zoom in", () => zoomMiddle(1.25)],
  ["-", "zoom out", () => zoomMiddle(0.8)],
  ["t", "light or dark", () => chooseTheme(isDark() ? "light" : "dark")],
  ["Escape", "close the panel", () => select(-1, false)],
  ["?", "these keys", () => byId("keys").showModal()],
];

function zoomMiddle(factor) {
  const [width, height] = picture.size();
  picture.zoom(factor, width / 2, height / 2);
}

function move(direction) {
  if (picture.selected < 0) {
    const first = program.boxes[0].children[0];
    if (first !== undefined) select(first, true);
    return;
  }
  const next = neighbour(direction);
  if (next >= 0) select(next, true);
}

document.addEventListener("keydown", (event) => {
  const inField = event.target === byId("search");
  if (inField && event.key === "Enter") {
    // Goes to the result chosen with the arrow keys, else to the next result.
    if (event.shiftKey || match < 0 || byId("results").hidden) goTo(event.shiftKey ? match - 1 : match + 1);
    byId("results").hidden = true;
  }
  if (inField && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    goTo(event.key === "ArrowDown" ? match + 1 : match - 1, true);
  }
  if (inField && event.key === "Escape") {
    search("");
    byId("canvas").focus();
  }
  if (inField || event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT" || byId("keys").open)
    return;
  const known = KEYS.find(([key]) => key === event.key || (key === "+" && event.key === "="));
  if (!known || (event.target.tagName === "BUTTON" && event.key === "Enter")) return;
  event.preventDefault();
  known[2]();
});

// Mouse and fingers.

const pointers = new Map();
let travelled = 0;
byId("canvas").addEventListener("pointerdown", (event) => {
  byId("canvas").setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
  if (pointers.size === 1) travelled = 0;
});
byId("canvas").addEventListener("pointermove", (event) => {
  const last = pointers.get(event.pointerId);
  if (!last) return;
  const now = [event.offsetX, event.offsetY];
  const [dx, dy] = [now[0] - last[0], now[1] - last[1]];
  travelled += Math.abs(dx) + Math.abs(dy);
  if (pointers.size === 2) {
    const [, other] = [...pointers].find(([id]) => id !== event.pointerId);
    const distance = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]);
    picture.zoom(distance(now) / Math.max(1, distance(last)), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  } else if (travelled > 3) {
    byId("canvas").classList.add("moving");
    picture.x += dx;
    picture.y += dy;
    picture.draw();
  }
  pointers.set(event.pointerId, now);
});
for (const name of ["pointerup", "pointercancel"])
  byId("canvas").addEventListener(name, (event) => {
    pointers.delete(event.pointerId);
    byId("canvas").classList.remove("moving");
    if (name === "pointerup" && travelled <= 3) {
      byId("results").hidden = true;
      select(picture.boxAt(event.offsetX, event.offsetY), false);
    }
  });
byId("canvas").addEventListener("dblclick", (event) => {
  const id = picture.boxAt(event.offsetX, event.offsetY);
  if (id > 0) toggle(id);
});
byId("canvas").addEventListener("wheel", (event) => {
  event.preventDefault();
  const lines = event.deltaMode === 1 ? 16 : 1;
  picture.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)), event.offsetX, event.offsetY);
}, { passive: false });

// Buttons and links.

byId("fit").addEventListener("click", () => picture.fit());
byId("fold").addEventListener("click", foldAll);
byId("open").addEventListener("click", openMore);
byId("theme").addEventListener("click", () => chooseTheme(isDark() ? "light" : "dark"));
byId("help").addEventListener("click", () => byId("keys").showModal());
byId("colour").addEventListener("change", (event) => chooseColour(event.target.value));
byId("program").addEventListener("change", (event) => showProgram(Number(event.target.value)));
byId("search").addEventListener("input", (event) => search(event.target.value));
byId("search").addEventListener("focus", () => showResults());
byId("search").addEventListener("blur", () => (byId("results").hidden = true));
// In a frame, the page may start before it has a size.
window.addEventListener("resize", () => (picture.scale > 0 ? picture.draw() : picture.fit(true)));
window.addEventListener("hashchange", followLink);

// Follows "#node=NAME&program=NAME": a node, or a module by its path.
function followLink() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const index = documentData.programs.findIndex((other) => other.name === wanted.get("program"));
  if (index >= 0 && programs[index] !== program) showProgram(index);
  const name = wanted.get("node") || wanted.get("module");
  if (!name) return;
  const box = program.boxes.find((b) => b.parent >= 0 && b.isNode && b.name === name) ||
    program.boxes.find((b) => b.parent >= 0 && b.kind === "input" && b.title === name) ||
    program.boxes.find((b) => b.parent >= 0 && b.path === name && b.children.length > 0);
  if (box && box.id !== picture.selected) select(box.id, true);
}

function start() {
  byId("title").textContent = documentData.title;
  byId("title").title = documentData.title;
  byId("key-table").append(...KEYS.map(([key, text]) => {
    const row = element("tr"), cell = element("td");
    cell.append(element("kbd", { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" }[key] || key));
    row.append(cell, element("td", text));
    return row;
  }));
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
  dark.addEventListener("change", () => chooseTheme(dark.matches ? "dark" : "light"));
  byId("program").hidden = documentData.programs.length < 2;
  byId("program").replaceChildren(...documentData.programs.map((other, i) => {
    const option = element("option", other.name);
    option.value = String(i);
    return option;
  }));
  showProgram(0);
  followLink();
  picture.drawNow();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}
start();
