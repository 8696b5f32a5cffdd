// One map: points on a canvas, what is marked in an SVG above it. Knows coordinates and pixels, nothing of sentences.
// Canvas and SVG alone, so it needs no WebGL.

const SHAPES = ["circle", "square", "triangle", "diamond"];
const DIM = 0.26;

/** Makes an element: tag, attributes (or properties such as onclick), children; text is never read as markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "className") element.className = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function makeSvg(tag, attributes = {}) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** Adds one symbol to the path of a context or an SVG path string. */
function trace(path, shape, x, y, r) {
  if (shape === "square") path.rect(x - r * 0.88, y - r * 0.88, r * 1.76, r * 1.76);
  else if (shape === "triangle") corners(path, [x, y - r * 1.2, x + r * 1.1, y + r * 0.8, x - r * 1.1, y + r * 0.8]);
  else if (shape === "diamond") corners(path, [x, y - r * 1.25, x + r * 1.25, y, x, y + r * 1.25, x - r * 1.25, y]);
  else {
    path.moveTo(x + r, y);
    path.arc(x, y, r, 0, 2 * Math.PI);
  }
}

function corners(path, numbers) {
  path.moveTo(numbers[0], numbers[1]);
  for (let i = 2; i < numbers.length; i += 2) path.lineTo(numbers[i], numbers[i + 1]);
  path.closePath();
}

function inside(x, y, outline) {
  let odd = false;
  for (let i = 0, j = outline.length - 1; i < outline.length; j = i++) {
    const [xi, yi] = outline[i], [xj, yj] = outline[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}

class Plot {
  /** face: the element to fill; points: Float32Array (2n), NaN for a sentence without a point. */
  constructor(face, points) {
    this.face = face;
    this.points = points;
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.svg = makeSvg("svg", { "aria-hidden": "true" });
    face.append(this.canvas, this.svg);
    this.pixels = new Float32Array(points.length);
  }

  get n() {
    return this.points.length / 2;
  }

  /** Fits the given bounds {x0, x1, y0, y1}, the same for all maps; zoomed in around a row's point or the middle. */
  layOut(bounds, zoom = 1, around = -1) {
    const width = this.face.clientWidth, height = this.face.clientHeight, ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const pad = 18, dx = bounds.x1 - bounds.x0 || 1, dy = bounds.y1 - bounds.y0 || 1;
    this.scale = Math.max(0, Math.min((width - 2 * pad) / dx, (height - 2 * pad) / dy)) * zoom;
    const has = zoom > 1 && around >= 0 && isFinite(this.points[2 * around]);
    this.cx = has ? this.points[2 * around] : (bounds.x0 + bounds.x1) / 2;
    this.cy = has ? this.points[2 * around + 1] : (bounds.y0 + bounds.y1) / 2;
    for (let i = 0; i < this.n; i++) [this.pixels[2 * i], this.pixels[2 * i + 1]] = this.toPixel(this.points[2 * i], this.points[2 * i + 1]);
    this.radius = this.n > 2500 ? 2.1 : this.n > 700 ? 2.9 : this.n > 150 ? 4 : 5;
  }

  toPixel(x, y) {
    return [this.width / 2 + (x - this.cx) * this.scale, this.height / 2 - (y - this.cy) * this.scale];
  }

  at(row) {
    return [this.pixels[2 * row], this.pixels[2 * row + 1]];
  }

  has(row) {
    return row >= 0 && row < this.n && isFinite(this.pixels[2 * row]);
  }

  /** groups: [{colour, shape, rows}]; lit: Set of rows, all others are dimmed unless it is empty; ringed: rows. */
  paint(groups, marked, ringed, inks) {
    const context = this.canvas.getContext("2d"), ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const some = marked.size > 0;
    for (const lit of some ? [false, true] : [true]) {
      context.globalAlpha = lit ? 0.86 : DIM;
      for (const group of groups) {
        context.beginPath();
        for (const row of group.rows)
          if (this.has(row) && (!some || marked.has(row) === lit)) trace(context, group.shape, ...this.at(row), this.radius + (some && lit ? 0.7 : 0));
        context.fillStyle = group.colour;
        context.fill();
        if (lit && this.radius > 2.5) {
          context.lineWidth = 0.8;
          context.strokeStyle = inks.paper;
          context.stroke();
        }
      }
    }
    context.globalAlpha = 1;
    context.beginPath();
    for (const row of ringed) if (this.has(row)) trace(context, "circle", ...this.at(row), this.radius + 2.6);
    context.lineWidth = 1.2;
    context.globalAlpha = 0.8;
    context.strokeStyle = inks.alert;
    context.stroke();
    context.globalAlpha = 1;
  }

  /** Draws what is chosen: lines from the focus to its neighbours, rings, the typed sentence, the outline being drawn. */
  mark({ focus = -1, near = [], hover = -1, typed = null, outline = null }) {
    const parts = [];
    const centre = typed ? this.toPixel(typed.x, typed.y) : this.has(focus) ? this.at(focus) : null;
    for (const row of near) {
      if (!this.has(row)) continue;
      const [x, y] = this.at(row);
      if (centre) parts.push(makeSvg("line", { x1: centre[0], y1: centre[1], x2: x, y2: y, class: "map-line" }));
      parts.push(makeSvg("circle", { cx: x, cy: y, r: this.radius + 1.6, class: "map-near", "data-row": row }));
    }
    if (!typed && this.has(focus)) {
      const [x, y] = this.at(focus);
      parts.push(makeSvg("circle", { cx: x, cy: y, r: this.radius + 4, class: "map-focus", "data-row": focus }));
      parts.push(makeSvg("circle", { cx: x, cy: y, r: 2, class: "map-core" }));
    }
    if (typed) {
      const [x, y] = centre, r = 8;
      parts.push(makeSvg("path", { d: `M${x} ${y - r}L${x + r} ${y}L${x} ${y + r}L${x - r} ${y}Z`, class: "map-typed" }));
    }
    if (this.has(hover)) {
      const [x, y] = this.at(hover);
      parts.push(makeSvg("circle", { cx: x, cy: y, r: this.radius + 4, class: "map-hover", "data-row": hover }));
    }
    if (outline && outline.length > 1)
      parts.push(makeSvg("polygon", { points: outline.map((p) => p.join(",")).join(" "), class: "map-outline" }));
    this.svg.replaceChildren(...parts);
  }

  /** The row nearest to a pixel, at most `reach` away; -1 for none. */
  nearest(x, y, reach = 16) {
    let best = -1, least = reach * reach;
    for (let i = 0; i < this.n; i++) {
      const dx = this.pixels[2 * i] - x, dy = this.pixels[2 * i + 1] - y, d = dx * dx + dy * dy;
      if (d < least) [least, best] = [d, i];
    }
    return best;
  }

  /** The next row from another one in a direction, [dx, dy] in pixels; the row itself if there is none. */
  next(row, [dx, dy]) {
    if (!this.has(row)) return this.nearest(this.width / 2, this.height / 2, Infinity);
    const [x, y] = this.at(row);
    let best = row, least = Infinity;
    for (let i = 0; i < this.n; i++) {
      const ex = this.pixels[2 * i] - x, ey = this.pixels[2 * i + 1] - y;
      const along = ex * dx + ey * dy, across = Math.abs(ex * dy - ey * dx);
      if (along <= 0.01 || across > along) continue;
      const cost = along + 2 * across;
      if (cost < least) [least, best] = [cost, i];
    }
    return best;
  }

  within(outline) {
    const rows = [];
    for (let i = 0; i < this.n; i++) if (this.has(i) && inside(...this.at(i), outline)) rows.push(i);
    return rows;
  }
}
