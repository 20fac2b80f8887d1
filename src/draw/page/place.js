// Computes coordinates exactly as src/draw/place.cpp does: change both together.
// interop/graph_page.py compares them.
const PADDING = 14, HEADER = 22, BOX_GAP = 22, PASS_GAP = 12, PASS_WIDTH = 8, ROW_GAP = 26, EMPTY_GAP = 14,
  MOST_SPREAD = 44, LABEL_OFFSET = 6;
const FIRM = 1e6, LOOSE = 1e3, PASSING = 1;

function columns(text) {
  let count = 0;
  for (const c of text) {
    const code = c.codePointAt(0);
    count += code >= 0x1100 && !(code >= 0x2000 && code < 0x2e80) ? 2 : 1;
  }
  return count;
}
const smallTextWidth = (text) => 6.35 * columns(text);
const titleWidth = (text) => 7.3 * columns(text);
// Rounds halves away from zero, like C++.
const roundHalf = (x) => Math.sign(x) * Math.round(Math.abs(x));

// Returns the distance of a wire's port from the middle of an open box.
function portOffset(boxes, id, port) {
  const outer = boxes[id];
  if (!outer.isOpen || port < 0) return 0;
  return boxes[port].x + boxes[port].width / 2 - outer.width / 2;
}

function makeSlots(boxes, box) {
  const overhang = new Map();
  for (const wire of box.wires)
    if (wire.label)
      overhang.set(wire.from, Math.max(overhang.get(wire.from) || 0, LABEL_OFFSET + smallTextWidth(wire.label)));
  const half = (PASS_WIDTH + PASS_GAP) / 2;
  return box.rows.map((row) => row.map((what) => {
    if (what < 0) return { what, x: 0, left: half, right: half, height: 0, weight: PASSING };
    const { width, height } = boxes[what];
    return {
      what, height, x: 0, weight: LOOSE, left: width / 2 + BOX_GAP / 2,
      right: Math.max(width / 2, overhang.get(what) || 0) + BOX_GAP / 2,
    };
  }));
}

function makeLinks(boxes, box, rows) {
  const links = rows.map(() => []);
  const at = new Map(), passes = box.wires.map(() => []);
  rows.forEach((row, r) => row.forEach((slot, i) => {
    if (slot.what >= 0) at.set(slot.what, { row: r, slot: i });
    else passes[-1 - slot.what].push({ row: r, slot: i });
  }));
  box.wires.forEach((wire, w) => {
    if (wire.to.length === 0) return;
    const way = [at.get(wire.from), ...passes[w]];
    const add = (upper, lower, target, port) => {
      const first = upper.row === way[0].row, last = target >= 0;
      links[upper.row].push({
        upper: upper.slot, lower: lower.slot, wire: w, target, lowerPort: port, upperPort: first ? wire.fromPort : -1,
        upperOffset: first ? portOffset(boxes, wire.from, wire.fromPort) : 0,
        lowerOffset: last ? portOffset(boxes, target, port) : 0,
        upperWeight: first ? 1 : 1e-3, lowerWeight: last ? 1 : 1e-3,
      });
      if (last && first) rows[lower.row][lower.slot].weight = FIRM;
    };
    for (let i = 1; i < way.length; ++i) add(way[i - 1], way[i], -1, -1);
    wire.to.forEach((target, i) => {
      const lower = at.get(target);
      add(way[lower.row - way[0].row - 1], lower, target, wire.toPorts[i]);
    });
  });
  return links;
}

function settle(row, wanted) {
  const blocks = [], offsets = [];
  let offset = 0;
  row.forEach((slot, i) => {
    if (i > 0) offset += row[i - 1].right + slot.left;
    offsets.push(offset);
    let block = { sum: (wanted[i] - offset) * slot.weight, weight: slot.weight, count: 1 };
    while (blocks.length > 0) {
      const last = blocks[blocks.length - 1];
      if (last.sum / last.weight <= block.sum / block.weight) break;
      block = { sum: block.sum + last.sum, weight: block.weight + last.weight, count: block.count + last.count };
      blocks.pop();
    }
    blocks.push(block);
  });
  let i = 0;
  for (const block of blocks)
    for (let n = 0; n < block.count; ++n, ++i) row[i].x = block.sum / block.weight + offsets[i];
}

// Moves a row towards the other ends of its lines from above (or below).
function follow(rows, links, r, isUpper) {
  const row = rows[r], other = rows[isUpper ? r - 1 : r + 1];
  const sums = row.map(() => 0), weights = row.map(() => 0);
  for (const link of links[isUpper ? r - 1 : r]) {
    const own = isUpper ? link.lower : link.upper;
    const x = isUpper ? other[link.upper].x + link.upperOffset - link.lowerOffset
      : other[link.lower].x + link.lowerOffset - link.upperOffset;
    const weight = isUpper ? link.upperWeight : link.lowerWeight;
    sums[own] += x * weight;
    weights[own] += weight;
  }
  settle(row, row.map((slot, i) => (weights[i] > 0 ? sums[i] / weights[i] : slot.x)));
}

function setPlaces(boxes, box, rows, links) {
  let left = Infinity, right = -Infinity;
  for (const row of rows)
    for (const slot of row) {
      left = Math.min(left, slot.x - slot.left);
      right = Math.max(right, slot.x + slot.right);
    }
  if (rows.length === 0) left = right = 0;
  const inner = right - left + 2 * PADDING - BOX_GAP;
  const title = titleWidth(box.title) + 24 + smallTextWidth(box.detail);
  box.width = Math.ceil(Math.max(inner, title + 2 * PADDING));
  const shift = PADDING - BOX_GAP / 2 - left + (box.width - inner) / 2;
  for (const row of rows) for (const slot of row) slot.x = roundHalf(slot.x + shift);
  let y = HEADER + PADDING / 2;
  const tops = [], bottoms = [];
  rows.forEach((row, r) => {
    let height = 0;
    for (const slot of row) height = Math.max(height, slot.height);
    for (const slot of row) {
      if (slot.what < 0) continue;
      const child = boxes[slot.what];
      child.x = Math.floor(slot.x - child.width / 2);
      child.y = y;
    }
    tops.push(y);
    bottoms.push(y + height);
    y += height + gapBelow(rows, links, r);
  });
  box.height = y + PADDING / 2;
  return { tops, bottoms };
}

// Returns the gap below a row. Lines that go far to the side need room to bend.
function gapBelow(rows, links, r) {
  if (r + 1 >= rows.length) return 0;
  if (links[r].length === 0) return EMPTY_GAP;
  let farthest = 0;
  for (const link of links[r])
    farthest = Math.max(farthest, Math.abs(rows[r][link.upper].x + link.upperOffset -
      rows[r + 1][link.lower].x - link.lowerOffset));
  return ROW_GAP + Math.min(MOST_SPREAD, Math.floor(farthest / 12));
}

// Spreads the lines at a box side by side, in the order of their other ends.
function spread(boxes, rows, links) {
  const put = (ends, row, key, isUpper) => ends.forEach((list, i) => {
    if (list.length === 0) return;
    list.sort((a, b) => a[0] - b[0]);
    const isNew = (n) => !isUpper || n === 0 || list[n][1].wire !== list[n - 1][1].wire;
    let count = 0;
    for (let n = 0; n < list.length; ++n) count += isNew(n) ? 1 : 0;
    const step = Math.min(12, (boxes[row[i].what].width - 16) / count);
    let at = -step * (count + 1) / 2;
    for (let n = 0; n < list.length; ++n) {
      if (isNew(n)) at += step;
      if (list[n][1][key] === 0) list[n][1][key] = at;
    }
  });
  rows.forEach((row, r) => {
    const out = row.map(() => []), into = row.map(() => []);
    for (const link of links[r]) if (row[link.upper].what >= 0) out[link.upper].push([link.wire, link]);
    put(out, row, "upperOffset", true);
    if (r === 0) return;
    for (const link of links[r - 1])
      if (link.target >= 0) into[link.lower].push([rows[r - 1][link.upper].x + link.upperOffset, link]);
    put(into, row, "lowerOffset", false);
  });
}

function makePaths(boxes, rows, links, { tops, bottoms }) {
  const paths = [];
  for (let r = 0; r + 1 < rows.length; ++r)
    for (const link of links[r]) {
      const upper = rows[r][link.upper], lower = rows[r + 1][link.lower];
      const from = upper.x + link.upperOffset, to = lower.x + link.lowerOffset;
      const points = [];
      const isInside = (slot, port) => slot.what >= 0 && boxes[slot.what].isOpen && port >= 0;
      const bottom = upper.what >= 0 ? boxes[upper.what].y + boxes[upper.what].height : bottoms[r];
      if (isInside(upper, link.upperPort)) {
        const port = boxes[link.upperPort];
        points.push(from, boxes[upper.what].y + port.y + port.height);
      } else if (bottom < bottoms[r]) {
        points.push(from, bottom);
      }
      points.push(from, bottoms[r], to, tops[r + 1]);
      if (link.target < 0) points.push(to, bottoms[r + 1]);
      if (isInside(lower, link.lowerPort)) points.push(to, tops[r + 1] + boxes[link.lowerPort].y);
      paths.push({ wire: link.wire, target: link.target, points });
    }
  return paths;
}

function placeBox(boxes, box) {
  if (!box.isOpen) {
    box.width = box.foldedWidth;
    box.height = box.foldedHeight;
    return;
  }
  for (const id of box.children) placeBox(boxes, boxes[id]);
  const rows = makeSlots(boxes, box);
  const links = makeLinks(boxes, box, rows);
  for (const row of rows) settle(row, row.map(() => 0));
  for (let r = 1; r < rows.length; ++r) follow(rows, links, r, true);
  for (let r = rows.length - 1; r-- > 0;) follow(rows, links, r, false);
  for (let r = 1; r < rows.length; ++r) follow(rows, links, r, true);
  const lines = setPlaces(boxes, box, rows, links);
  spread(boxes, rows, links);
  box.paths = makePaths(boxes, rows, links, lines);
}

function makeAbsolute(boxes, box) {
  if (!box.isOpen) return;
  for (const path of box.paths)
    for (let i = 0; i < path.points.length; i += 2) {
      path.points[i] += box.x;
      path.points[i + 1] += box.y;
    }
  for (const id of box.children) {
    boxes[id].x += box.x;
    boxes[id].y += box.y;
    makeAbsolute(boxes, boxes[id]);
  }
}

function place(program) {
  const root = program.boxes[0];
  placeBox(program.boxes, root);
  root.x = root.y = 0;
  makeAbsolute(program.boxes, root);
}

// Returns each open box before the boxes inside it, and sets their depths.
function visibleBoxes(program) {
  const out = [0];
  for (let i = 0; i < out.length; ++i) {
    const box = program.boxes[out[i]];
    if (!box.isOpen) continue;
    for (const id of box.children) {
      program.boxes[id].depth = box.depth + 1;
      out.push(id);
    }
  }
  return out;
}
