// Draws the visible part of the picture.
const TITLE_FONT = '600 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const TEXT_FONT = '10.5px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const BOX_PADDING = 7, TITLE_HEIGHT = 16, LINE_HEIGHT = 13;
// Below SMALL_TEXT_SCALE small text is unreadable, below TITLE_SCALE all text in boxes. Titles of
// modules are then enlarged to READABLE pixels of the screen, if they have room.
const SMALL_TEXT_SCALE = 0.42, TITLE_SCALE = 0.24, READABLE = 9.5;
const titleFont = (size) => TITLE_FONT.replace("12px", `${size}px`);

class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.scale = 1;
    this.x = this.y = 0;  // the picture's corner, in pixels of the screen
    this.program = null;
    this.visible = [];
    this.selected = -1;
    this.found = new Set();
    this.colourOf = null;  // returns a box's own colour, or null
    this.showsRemoved = false;  // draws a line above boxes before which nodes were removed
    this.waits = false;
    this.covered = 0;  // width of the list that covers the left side
  }

  // Called after boxes were opened or folded. The box `anchor` keeps its place on the screen.
  layout(anchor = -1) {
    const boxes = this.program.boxes;
    const before = anchor >= 0 ? [boxes[anchor].x, boxes[anchor].y] : null;
    place(this.program);
    this.visible = visibleBoxes(this.program);
    if (before) {
      this.x += (before[0] - boxes[anchor].x) * this.scale;
      this.y += (before[1] - boxes[anchor].y) * this.scale;
    }
    this.draw();
  }

  draw() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.drawNow();
    });
  }

  size() {
    return [this.canvas.clientWidth, this.canvas.clientHeight];
  }

  drawNow() {
    const [width, height] = this.size(), ratio = window.devicePixelRatio || 1, c = this.context;
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
    }
    this.colours = theme();
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = this.colours.back;
    c.fillRect(0, 0, wide, high);
    if (!this.program) return;
    c.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.x, ratio * this.y);
    this.view = { left: -this.x / this.scale, top: -this.y / this.scale,
      right: (width - this.x) / this.scale, bottom: (height - this.y) / this.scale };
    const shown = this.visible.map((id) => this.program.boxes[id]).filter((box) => this.isInView(box));
    for (const box of shown) if (box.isOpen && box.id !== 0) this.drawGroup(box);
    for (const box of shown) if (box.isOpen) this.drawPaths(box);
    if (this.scale >= SMALL_TEXT_SCALE) for (const box of shown) if (box.isOpen) this.drawLabels(box);
    for (const box of shown) if (!box.isOpen) this.drawBox(box);
    const groups = shown.filter((box) => box.isOpen && box.id !== 0);
    this.titles = [];
    for (const box of groups) if (box.y >= this.view.top) this.drawTitle(box);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawPlaces(groups.filter((box) => box.y < this.view.top && box.y + box.height > this.view.top + 30 / this.scale), width);
  }

  isInView(box) {
    const view = this.view;
    return box.x <= view.right + 200 && box.x + box.width >= view.left - 200 && box.y <= view.bottom + 40 &&
      box.y + box.height >= view.top - 40;
  }

  // `around` is the colour of an outline that keeps passing lines away from the text.
  text(text, x, y, colour, most, around = null) {
    const c = this.context;
    if (around) {
      c.strokeStyle = around;
      c.lineWidth = 3.5;
      c.lineJoin = "round";
      c.strokeText(text, x, y, most);
    }
    c.fillStyle = colour;
    // Fonts differ; text that is too wide is drawn narrower.
    c.fillText(text, x, y, most);
  }

  groupColour(box) {
    return this.colours.groups[box.depth % 2];
  }

  outline(box, radius, fill, line, width = 1) {
    const c = this.context;
    c.beginPath();
    c.roundRect(box.x, box.y, box.width, box.height, radius);
    c.fillStyle = fill;
    c.fill();
    c.strokeStyle = line;
    c.lineWidth = width;
    c.stroke();
  }

  lineOf(box, usual) {
    if (box.id === this.selected) return [this.colours.accent, 2.5];
    if (this.found.has(box.id)) return [this.colours.found, 2];
    return [usual, 1];
  }

  drawGroup(box) {
    this.outline(box, 8, this.groupColour(box), ...this.lineOf(box, this.colours.groupLine));
  }

  // Returns the font size of a title with this room in the picture.
  titleSize(title, width, height) {
    return Math.max(12, Math.min(READABLE / this.scale, 12 * width / titleWidth(title), height));
  }

  drawTitle(box) {
    const c = this.context, room = box.width - 20, around = this.groupColour(box);
    if (room * this.scale < 30) return;
    // The title of a box that extends beyond the window stays inside the window.
    const x = Math.max(box.x, Math.min(this.view.left, box.x + box.width - 300)) + 10;
    const size = this.titleSize(box.title, room, box.height / 4), y = box.y + 4 + size;
    const place = { left: x, top: y - size, right: x + titleWidth(box.title) * size / 12, bottom: y };
    // An enlarged title may overlap the title of an enclosing box.
    if (size > 12 && this.titles.some((other) => other.left < place.right && place.left < other.right &&
        other.top < place.bottom && place.top < other.bottom)) return;
    this.titles.push(place);
    c.font = titleFont(size);
    this.text(box.title, x, y, this.colours.title, room, around);
    if (this.scale < SMALL_TEXT_SCALE) return;
    c.font = TEXT_FONT;
    const used = 8 + titleWidth(box.title) * size / 12;
    this.text(box.detail, x + used, y, this.colours.text, room - used, around);
  }

  // Returns the path of a box. A module's name contains the enclosing modules.
  pathOf(box) {
    const names = [];
    for (let at = box; at.id !== 0; at = this.program.boxes[at.parent]) {
      const isModule = at.kind === "module" && at.path !== "";
      if (at.kind !== "rest") names.unshift(isModule ? at.path : at.title);
      if (isModule) break;
    }
    return names.join(" › ");
  }

  // Labels boxes that begin above the window with their paths; only the innermost boxes.
  drawPlaces(groups, width) {
    const c = this.context, leftOf = (box) => Math.max(0, this.x + box.x * this.scale) + 4;
    const roomOf = (box) => Math.min(width, this.x + (box.x + box.width) * this.scale) - leftOf(box) - 20;
    const seen = groups.filter((box) => roomOf(box) >= 40), outer = new Set(seen.map((box) => box.parent));
    c.font = TITLE_FONT;
    for (const box of seen) {
      if (outer.has(box.id)) continue;
      const left = leftOf(box), room = roomOf(box);
      let text = this.pathOf(box);
      for (let cut; c.measureText(text).width > room && (cut = text.search(/[.›] ?[^.›]/)) >= 0;)
        text = "…" + text.slice(cut + 1);
      const plate = { x: left, y: 3, width: Math.min(room, c.measureText(text).width) + 16, height: 22 };
      this.outline(plate, 5, this.colours.box, this.colours.groupLine);
      this.text(text, left + 8, 18, this.colours.title, room);
    }
  }

  drawBox(box) {
    const c = this.context, colours = this.colours, isBorder = box.kind === "input" || box.kind === "output";
    const colour = this.colourOf ? this.colourOf(box) : null;
    if (box.children.length > 0)  // a card behind the box: it has contents
      this.outline({ x: box.x + 3, y: box.y + 3, width: box.width, height: box.height }, 4, colours.box, colours.boxLine);
    this.outline(box, isBorder ? Math.min(10, box.height / 2) : 4, colour || (isBorder ? colours.io : colours.box),
      ...this.lineOf(box, isBorder ? colours.ioLine : colours.boxLine));
    if (!isBorder) {
      c.fillStyle = colours.classes[box.operatorClass];
      c.beginPath();
      c.roundRect(box.x, box.y, 4, box.height, [4, 0, 0, 4]);
      c.fill();
    }
    if (this.showsRemoved && box.changes && box.changes.removed > 0) {
      c.fillStyle = colours.removed;
      c.fillRect(box.x, box.y - 5, box.width, 3);
    }
    if (this.scale < TITLE_SCALE) return;
    const x = box.x + BOX_PADDING + 3, most = box.width - 2 * BOX_PADDING, ink = colour && inkOn(colour);
    if (this.scale < SMALL_TEXT_SCALE) {
      const size = box.children.length > 0 ? this.titleSize(box.title, most - 3, box.height - 8) : 12;
      c.font = titleFont(size);
      this.text(box.title, x, box.y + box.height / 2 + size * 0.35, ink || colours.title, most);
      return;
    }
    let y = box.y + BOX_PADDING + 12;
    c.font = TITLE_FONT;
    this.text(box.title, x, y, ink || colours.title, most);
    c.font = TEXT_FONT;
    y += TITLE_HEIGHT - 2;
    if (box.detail) {
      this.text(box.detail, x, y, ink || colours.text, most);
      y += LINE_HEIGHT;
    }
    for (const line of box.lines) {
      this.text(line.kind === "port" ? "↳ " + line.text : line.text, x, y, ink || colours[line.kind] || colours.text, most);
      y += LINE_HEIGHT;
    }
  }

  touches(box, wire, path) {
    return this.selected >= 0 && (wire.from === this.selected || path.target === this.selected ||
      wire.fromPort === this.selected);
  }

  drawPaths(box) {
    const c = this.context, view = this.view, marked = [];
    c.strokeStyle = this.colours.wire;
    c.lineWidth = Math.max(1.2, 0.7 / this.scale);
    c.beginPath();
    const trace = (points) => {
      c.moveTo(points[0], points[1]);
      for (let i = 2; i < points.length; i += 2) {
        const x0 = points[i - 2], y0 = points[i - 1], x = points[i], y = points[i + 1], middle = (y0 + y) / 2;
        if (x === x0) c.lineTo(x, y);
        else c.bezierCurveTo(x0, middle, x, middle, x, y);
      }
    };
    const arrows = [];
    for (const path of box.paths) {
      const points = path.points, n = points.length;
      if (points[n - 1] < view.top || points[1] > view.bottom) continue;
      if (this.touches(box, box.wires[path.wire], path)) marked.push(path);
      else trace(points);
      if (path.target >= 0) arrows.push(points[n - 2], points[n - 1]);
    }
    c.stroke();
    if (marked.length > 0) {
      c.strokeStyle = this.colours.accent;
      c.lineWidth = Math.max(2.2, 1.4 / this.scale);
      c.beginPath();
      for (const path of marked) trace(path.points);
      c.stroke();
    }
    if (this.scale < TITLE_SCALE) return;
    c.fillStyle = this.colours.wire;
    c.beginPath();
    for (let i = 0; i < arrows.length; i += 2) {
      c.moveTo(arrows[i], arrows[i + 1]);
      c.lineTo(arrows[i] - 3, arrows[i + 1] - 5);
      c.lineTo(arrows[i] + 3, arrows[i + 1] - 5);
    }
    c.fill();
  }

  drawLabels(box) {
    this.context.font = TEXT_FONT;
    for (const wire of box.wires) {
      const from = this.program.boxes[wire.from];
      if (!wire.label || (from.isOpen && wire.fromPort >= 0) || !this.isInView(from)) continue;
      const isCard = !from.isOpen && from.children.length > 0;  // the card behind it extends lower
      this.text(wire.label, from.x + Math.floor(from.width / 2) + LABEL_OFFSET, from.y + from.height + (isCard ? 14 : 11),
        this.colours.text, smallTextWidth(wire.label) + 4, this.groupColour(box));
    }
  }

  // Returns the innermost box at a place on the screen; -1 if there is none.
  boxAt(x, y) {
    const [px, py] = [(x - this.x) / this.scale, (y - this.y) / this.scale];
    let id = 0;
    for (;;) {
      const box = this.program.boxes[id];
      const next = box.isOpen ? box.children.find((child) => {
        const { x: left, y: top, width, height } = this.program.boxes[child];
        return px >= left && px <= left + width && py >= top && py <= top + height;
      }) : undefined;
      if (next === undefined) return id === 0 ? -1 : id;
      id = next;
    }
  }

  zoom(factor, x, y) {
    const scale = Math.max(0.01, Math.min(4, this.scale * factor));
    this.x = x - (x - this.x) * scale / this.scale;
    this.y = y - (y - this.y) * scale / this.scale;
    this.scale = scale;
    this.draw();
  }

  // Centres a box; small boxes are not enlarged.
  show(box, mayEnlarge = false) {
    const [all, height] = this.size(), left = all > 900 ? this.covered : 0;
    const width = (all > 900 ? all - 410 : all) - left;  // beside the panel
    const whole = Math.min((width - 40) / box.width, (height - 40) / box.height);
    if (mayEnlarge || this.scale < TITLE_SCALE * 2) this.scale = Math.max(0.01, Math.min(1, whole));
    this.x = left + width / 2 - (box.x + box.width / 2) * this.scale;
    this.y = height / 2 - (box.y + box.height / 2) * this.scale;
    this.draw();
  }

  // Fits the whole picture; with `isReadable`, only as much of its top as is readable.
  fit(isReadable = false) {
    const root = this.program.boxes[0], [width, height] = this.size();
    const wide = (width - 24) / root.width, whole = Math.min(wide, (height - 24) / root.height);
    this.scale = Math.max(0.01, Math.min(1, isReadable ? Math.max(whole, Math.min(0.8, wide)) : whole));
    this.x = (width - root.width * this.scale) / 2;
    this.y = whole >= this.scale ? (height - root.height * this.scale) / 2 : 4;
    this.draw();
  }

  showsAll() {
    const root = this.program.boxes[0], [width, height] = this.size();
    return this.x >= 0 && this.y >= 0 && this.x + root.width * this.scale <= width &&
      this.y + root.height * this.scale <= height;
  }
}
