// The panel beside the graph describes the selection in words. It consists only of text nodes.
function element(name, text = "", className = "") {
  const made = document.createElement(name);
  if (text !== "") made.textContent = text;
  if (className) made.className = className;
  return made;
}

function numberText(x) {
  if (typeof x === "string") return x;
  if (x === 0 || (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e6)) return String(+x.toPrecision(5));
  return x.toExponential(3);
}

function timeText(us) {
  return us < 1000 ? `${us.toFixed(1)} µs` : `${(us / 1000).toFixed(2)} ms`;
}

class Panel {
  // Links call `select(id)`.
  constructor(root, select) {
    this.root = root;
    this.select = select;
  }

  hide() {
    this.root.hidden = true;
  }

  open(program, title) {
    this.program = program;
    this.root.replaceChildren();
    this.root.hidden = false;
    const close = element("button", "✕", "close");
    close.title = "close (Esc)";
    close.addEventListener("click", () => this.select(-1));
    this.root.append(close, element("h2", title));
  }

  show(program, id) {
    const box = program.boxes[id];
    this.open(program, box.isNode ? box.name : box.title);
    if (box.isNode) this.root.append(element("p", box.target, "dim"));
    else if (box.detail) this.root.append(element("p", box.detail, "dim"));
    if (box.path) this.field("module", box.path);
    if (box.time !== undefined) this.field("time", timeText(box.time));
    else if (box.within) this.field("time", `${timeText(box.within.time)}, in one step with others`);
    else if (box.totalTime > 0) this.field("time", `${timeText(box.totalTime)} inside`);
    const { joined } = box.within || box;
    if (joined.length > 0) {
      const others = [...joined, (box.within || box).id].filter((other) => other !== id);
      this.links("computed together with ", others);
    }
    if (box.change) this.showChange(box.change);
    if (box.isNode) this.showNode(box);
    else if (box.kind === "input" || box.kind === "output") this.showValues(box.kind, box.values);
    else this.showGroup(box);
    if (box.isNode || box.kind === "input") {
      const link = element("a", "link to this node");
      link.href = hashOf(program, box);
      const line = element("p");
      line.append(link);
      this.root.append(element("h3", "link"), line);
    }
    this.root.scrollTop = 0;
  }

  showChange(change) {
    if (change.kind) this.root.append(element("h3", change.kind));
    for (const line of change.lines) this.root.append(element("p", line));
    if (change.removed.length > 0) this.root.append(element("h3", "removed before it"));
    for (const line of change.removed) this.root.append(element("p", line));
  }

  // Shows the differences that belong to no node, and the places of the others.
  showDifference(program) {
    const MOST = 200;
    this.open(program, "difference");
    const list = (title, lines, make) => {
      if (lines.length === 0) return;
      this.root.append(element("h3", title));
      for (const line of lines.slice(0, MOST)) {
        const paragraph = element("p");
        paragraph.append(make(line));
        this.root.append(paragraph);
      }
      if (lines.length > MOST) this.root.append(element("p", `… ${lines.length} in all`));
    };
    const linked = (of) => program.boxes.flatMap((box) => (box.change ? of(box.change).map((text) => [text, box.id]) : []));
    const link = ([text, id]) => this.link(text, id);
    list("nodes", linked((change) => (change.kind ? change.lines : [])), link);
    list("removed", [...linked((change) => change.removed), ...program.difference.ends.map((text) => [text, -1])],
      ([text, id]) => (id < 0 ? element("span", text) : this.link(text, id)));
    list("others", program.difference.others, (text) => element("span", text));
    this.root.scrollTop = 0;
  }

  field(name, text) {
    const line = element("p");
    line.append(element("span", name + " ", "dim"), element("code", text));
    this.root.append(line);
  }

  link(text, id) {
    const made = element("a", text);
    made.addEventListener("click", () => this.select(id));
    return made;
  }

  links(before, boxes) {
    const line = element("p", before, "dim");
    boxes.slice(0, 40).forEach((id, i) => {
      if (i > 0) line.append(", ");
      line.append(this.link(this.program.boxes[id].name, id));
    });
    if (boxes.length > 40) line.append(`, … ${boxes.length} in all`);
    this.root.append(line);
  }

  valueLink(id) {
    const value = this.program.values[id];
    if (!value) return element("span", "?");
    if (value.held) return element("span", value.held);
    return value.box >= 0 ? this.link(value.name, value.box) : element("span", value.name);
  }

  row(table, name, ...parts) {
    const row = element("tr"), cell = element("td");
    cell.append(...parts);
    row.append(element("td", name), cell);
    table.append(row);
  }

  showNode(box) {
    this.root.append(element("h3", "arguments"));
    const table = element("table");
    for (const [name, ...pieces] of box.args)
      this.row(table, this.program.strings[name] || "·", ...pieces.map((piece) =>
        piece >= 0 ? this.valueLink(piece) : element("span", this.program.strings[-1 - piece])));
    this.root.append(table);
    this.showWeights(box.args.flatMap((arg) => arg.slice(1)).filter((piece) => piece >= 0));
    this.showValues("results", box.values);
    for (const line of box.lines) if (line.kind === "written") this.root.append(element("p", line.text));
    if (box.stack) {
      this.root.append(element("h3", "source"));
      this.root.append(element("pre", box.stack.trim()));
    }
  }

  rangeText(range) {
    const elements = `${range.count.toLocaleString("en")} element${range.count === 1 ? "" : "s"}`;
    if (range.count === range.nans) return elements;
    return `${elements}, ${numberText(range.min)} … ${numberText(range.max)}, mean ${numberText(range.mean)}`;
  }

  showRange(range) {
    this.root.append(element("p", this.rangeText(range), "dim"));
    if (range.nans > 0) this.root.append(element("p", `${range.nans.toLocaleString("en")} NaN`, "bad"));
    if (range.infinities > 0) this.root.append(element("p", `${range.infinities.toLocaleString("en")} infinite`, "bad"));
  }

  showWeights(values) {
    const held = [...new Set(values)].filter((id) => this.program.values[id] && this.program.values[id].held);
    if (held.length > 0) this.root.append(element("h3", "weights"));
    for (const id of held) {
      const value = this.program.values[id];
      this.field(value.held, value.type);
      if (value.weights) this.showRange(value.weights);
    }
  }

  showValues(title, values) {
    if (values.length === 0) return;
    this.root.append(element("h3", title));
    for (const id of values.slice(0, 200)) {
      const value = this.program.values[id], line = element("p");
      line.append(this.valueLink(id), element("code", " " + value.type));
      this.root.append(line);
      if (value.range) this.showRange(value.range);
      const users = usersOf(this.program, id);
      if (users.length > 0) this.links("read by ", users);
    }
    if (values.length > 200) this.root.append(element("p", `… ${values.length} in all`));
  }

  showGroup(box) {
    const boxes = this.program.boxes;
    this.field("nodes", String(box.nodes));
    const counts = new Map(), order = [box.id];
    for (let i = 0; i < order.length; ++i) {
      const inner = boxes[order[i]];
      if (inner.isNode && inner.id !== box.id) counts.set(inner.target, (counts.get(inner.target) || 0) + 1);
      for (const child of inner.children) order.push(child);
    }
    const part = (kind) => box.children.filter((id) => boxes[id].kind === kind).flatMap((id) => boxes[id].values);
    const ports = (title, kind) => {
      const values = [...new Set(part(kind))];
      if (values.length > 0) this.root.append(element("h3", title));
      for (const id of values.slice(0, 60)) {
        const line = element("p");
        line.append(this.valueLink(id), element("code", " " + this.program.values[id].type));
        this.root.append(line);
      }
      if (values.length > 60) this.root.append(element("p", `… ${values.length} in all`));
    };
    ports("takes", "input");
    ports("gives", "output");
    this.root.append(element("h3", "operators"));
    const table = element("table");
    for (const [target, count] of [...counts].sort((a, b) => b[1] - a[1]).slice(0, 40))
      this.row(table, String(count), element("span", target.replace(/^torch\.ops\./, "")));
    this.root.append(table);
  }
}
