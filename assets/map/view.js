// The linked maps: one selection, everything follows. Used by the page and by the file that opens without a network.

const ARROWS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

/** The controls in an element that can be reached with the keyboard. */
function controlsOf(element) {
  return [...element.querySelectorAll("button, input, select, summary, [tabindex='0']")].filter((control) => !control.disabled);
}

class Atlas {
  /** root: an empty element; ask({row}) or ask({text}) asks the server for cosines or a place, null where there is none. */
  constructor(root, ask = null) {
    this.root = root;
    this.ask = ask;
    this.data = null;
    this.state = { focus: -1, hover: -1, marked: new Set(), colour: "", tool: "point", ring: true, typed: null, zoom: 1, listed: "marked", find: "", page: 0 };
    this.lists = new Lists(this);
    root.atlas = this;
    new ResizeObserver(() => this.resize()).observe(root);
    const watchMode = new MutationObserver(() => this.data && this.redraw(() => (this.drawLegend(), this.paint())));
    for (const element of [document.documentElement, document.body]) watchMode.observe(element, { attributes: true, attributeFilter: ["class"] });
  }

  /** Shows other maps; what was chosen stays where the sentences are the same. */
  show(message) {
    const before = this.data, data = unpackMaps(message);
    const same = before && before.sentences.length === data.sentences.length && before.sentences.every((text, i) => text === data.sentences[i]);
    this.data = data;
    if (!same) Object.assign(this.state, { focus: -1, hover: -1, marked: new Set(), find: "", page: 0, zoom: 1 });
    this.state.typed = null;
    data.colours = data.colours.filter((colour) => colour.id !== "cosine");
    if (!data.colours.some((colour) => colour.id === this.state.colour) && this.state.colour !== "cosine") this.state.colour = data.colours[0].id;
    if (this.state.colour === "cosine" && this.state.focus < 0) this.state.colour = data.colours[0].id;
    this.build();
    if (this.state.colour === "cosine") this.fetchCosines();
  }

  /** What the server says about a row or a typed sentence. */
  answer(message) {
    if (!this.data) return;
    if (message.kind === "typed") this.say(message.places[0].note);
    else if (message.about === "text") this.say(message.text, true);
    if (message.kind === "refused" && message.about === "row") {
      this.noCosine = message.text;
      this.data.colours = this.data.colours.filter((colour) => colour.id !== "cosine");
      this.refresh();
    }
    if (message.kind === "refused" || message.key !== this.data.key) return;
    if (message.kind === "typed") {
      for (const place of message.places) for (const name of ["rows", "cosines"]) place[name] = unpack(place[name]);
      Object.assign(this.state, { typed: message, focus: -1, marked: new Set() });
    } else if (message.row !== this.state.focus) return;
    const text = message.kind === "typed" ? message.text : this.data.sentences[message.row];
    this.setCosines(message.values.map(unpack), text);
    this.refresh();
  }

  setCosines(values, text) {
    this.noCosine = "";
    this.data.colours = this.data.colours.filter((colour) => colour.id !== "cosine").concat(cosineColour(values, text));
  }

  fetchCosines() {
    const row = this.state.focus;
    if (row < 0) return;
    this.noCosine = "";
    if (this.data.encoders.every((encoder) => encoder.vectors)) {
      this.setCosines(cosinesHere(this.data, row), this.data.sentences[row]);
      this.refresh();
    } else if (this.ask) this.ask({ row });
  }

  get colour() {
    return this.data.colours.find((colour) => colour.id === this.state.colour) || this.data.colours[0];
  }

  get canCosine() {
    return this.ask !== null || this.data.encoders.every((encoder) => encoder.vectors);
  }

  // ---------- building ----------

  build() {
    this.plots = [];
    this.live = make("p", { className: "unseen", "aria-live": "polite" });
    this.legend = make("div", { className: "map-legend", "data-part": "legend" });
    this.tools = make("div", { className: "map-tools", "data-part": "tools" });
    const grid = make("div", { className: `map-grid of-${Math.min(4, this.data.encoders.length)}` });
    this.data.encoders.forEach((encoder, number) => grid.append(this.panel(encoder, number)));
    this.tip = make("div", { className: "map-tip", hidden: true });
    this.redraw(() => {
      this.root.replaceChildren(this.tools, this.legend, grid, this.ask ? this.typing() : "", this.lists.build(), this.live, this.tip);
      this.resize();
      this.refresh();
    });
  }

  /** Redraws, and gives the keyboard back to the control it was on; where that is gone, to one at its place. */
  redraw(draw) {
    const active = this.root.contains(document.activeElement) ? document.activeElement : null;
    const part = active && active.closest("[data-part]"), inside = part ? controlsOf(part) : [];
    const { name } = active ? active.dataset : {}, at = inside.indexOf(active);
    draw();
    // A control that draw() switched off keeps the focus but hears no key.
    if (!active || (active.isConnected && !active.disabled)) return;
    const now = part && this.root.querySelector(`[data-part="${part.dataset.part}"]`), left = now ? controlsOf(now) : [];
    const twin = name && [...this.root.querySelectorAll("[data-name]")].find((control) => control.dataset.name === name);
    const near = twin ? (twin.disabled ? controlsOf(twin.parentElement).at(-1) : twin) : now && now.querySelector(".map-chosen");
    const next = near || left[Math.min(at, left.length - 1)] || this.plots[0].face;
    next.focus({ preventScroll: true });
  }

  /** The field for a sentence of one's own. */
  typing() {
    const before = this.typedField ? this.typedField.value : "";
    this.typedField = make("input", { type: "text", id: "map-typed", className: "map-find", "data-name": "typed", placeholder: "Type a sentence of your own", dir: "auto", autocomplete: "off" });
    this.typedField.value = before;
    this.typedNote = make("p", { className: "small", role: "status" });
    const submit = (event) => {
      event.preventDefault();
      this.say("Working.");
      this.ask({ text: this.typedField.value });
    };
    const label = make("label", { for: "map-typed" }, "Place a sentence on the maps"), button = make("button", { type: "submit", className: "pill", "data-name": "place" }, "Place it");
    return make("form", { className: "map-typing", onsubmit: submit }, label, this.typedField, button, this.typedNote);
  }

  say(text, wrong = false) {
    if (!this.typedNote) return;
    this.typedNote.textContent = text;
    this.typedNote.classList.toggle("wrong", wrong);
  }

  panel(encoder, number) {
    const face = make("div", { className: "map-face", tabindex: "0", "data-name": `map ${encoder.name}`, role: "application", "aria-label": `Map of ${encoder.name}, ${counted(this.data.sentences.length, "sentence")}. Arrow keys go from point to point, Enter marks, Escape clears.` });
    const plot = new Plot(face, encoder.points);
    this.plots.push(plot);
    this.listen(face, plot);
    const plate = make("h3", {}, make("span", { className: "plate" }, make("span", { className: `swatch ${encoder.css}`, "aria-hidden": "true" }), make("span", {}, encoder.name)));
    const facts = make("p", { className: "map-facts" }, ...encoder.facts.map((fact) => make("span", {}, fact)));
    return make("section", { className: `map-panel ${encoder.css}`, "data-encoder": encoder.name }, make("header", {}, plate, facts), face);
  }

  resize() {
    if (!this.data || !this.plots || !this.root.clientWidth) return;
    const bounds = { x0: Infinity, x1: -Infinity, y0: Infinity, y1: -Infinity };
    for (const plot of this.plots)
      for (let i = 0; i < plot.n; i++) {
        const x = plot.points[2 * i], y = plot.points[2 * i + 1];
        if (!isFinite(x)) continue;
        Object.assign(bounds, { x0: Math.min(bounds.x0, x), x1: Math.max(bounds.x1, x), y0: Math.min(bounds.y0, y), y1: Math.max(bounds.y1, y) });
      }
    for (const plot of this.plots) plot.layOut(bounds, this.state.zoom, this.state.focus);
    this.paint();
    this.mark();
  }

  // ---------- drawing what is chosen ----------

  /** Draws everything that depends on the state. */
  refresh() {
    this.redraw(() => {
      this.drawTools();
      this.drawLegend();
      this.paint();
      this.mark();
      this.lists.refresh();
    });
  }

  paint() {
    if (!this.plots) return;
    const style = getComputedStyle(this.root), inks = { paper: style.getPropertyValue("--surface").trim() || "#fff", alert: style.getPropertyValue("--alert").trim() || "#97231c" };
    this.plots.forEach((plot, number) => {
      const ringed = this.state.ring ? this.data.encoders[number].ringed : [];
      plot.paint(groupsOf(this.data, this.colour, number), this.lit(number), ringed, inks);
      Object.assign(plot.face.dataset, { marked: this.state.marked.size, ringed: ringed.length });
    });
  }

  mark() {
    this.plots.forEach((plot, number) => {
      const { focus, hover, typed } = this.state;
      const place = typed && typed.places[number];
      plot.mark({ focus, hover, near: place ? place.rows : focus >= 0 ? this.near(number, focus) : [], typed: place, outline: this.outline && this.outline.plot === plot ? this.outline.points : null });
      Object.assign(plot.face.dataset, { focus, hover });
    });
  }

  /** The rows that are not dimmed on a map: what is marked; around one chosen sentence, its neighbours there too. */
  lit(number) {
    const { marked, focus, typed } = this.state;
    if (typed) return new Set([...marked, ...typed.places[number].rows]);
    return marked.size === 1 && marked.has(focus) ? new Set([focus, ...this.near(number, focus)]) : marked;
  }

  near(number, row) {
    const k = this.data.encoders[number].k, rows = this.data.encoders[number].neighbours;
    return Array.from(rows.slice(row * k, (row + 1) * k)).filter((other) => other >= 0);
  }

  drawTools() {
    const { state } = this, options = this.data.colours.filter((colour) => colour.id !== "cosine").map((colour) => [colour.id, colour.title]);
    if (this.canCosine) options.push(["cosine", "Cosine to the chosen sentence"]);
    const select = make("select", { className: "map-colour", "data-name": "colour", onchange: (event) => this.setColour(event.target.value) }, ...options.map(([id, title]) => make("option", { value: id, selected: id === state.colour }, title)));
    const tool = (id, title) => make("button", { type: "button", "aria-pressed": String(state.tool === id), "data-tool": id, "data-name": `tool ${id}`, onclick: () => this.set({ tool: id }) }, title);
    const zoom = (factor, title, name) => make("button", { type: "button", "aria-label": name, title: name, "data-name": `zoom ${title}`, onclick: () => this.setZoom(factor) }, title);
    const some = state.marked.size > 0 || state.focus >= 0 || state.typed;
    const ringed = Math.max(...this.data.encoders.map((encoder) => encoder.ringed.length));
    this.tools.replaceChildren(
      make("label", { className: "map-field" }, make("span", {}, "Colour by"), select),
      make("div", { className: "map-group", role: "group", "aria-label": "What the mouse does" }, tool("point", "Point"), tool("box", "Box"), tool("lasso", "Lasso")),
      make("div", { className: "map-group", role: "group", "aria-label": "Size" }, zoom(1.6, "+", state.focus >= 0 ? "Closer, around the chosen sentence" : "Closer"), zoom(1 / 1.6, "−", "Farther"), zoom(0, "Whole", "The whole map")),
      make("label", { className: "map-check" }, make("input", { type: "checkbox", "data-name": "ring", checked: state.ring, onchange: (event) => this.set({ ring: event.target.checked }) }), make("span", {}, `Ring the least trustworthy points (at most ${ringed} a map)`)),
      make("button", { type: "button", className: "map-clear", "data-name": "clear", disabled: !some, onclick: () => this.clear() }, "Clear"),
    );
  }

  drawLegend() {
    const colour = this.colour, mode = isDark() ? "dark" : "light";
    this.legend.classList.toggle("many", colour.kind === "category" && colour.names.length > 14);
    if (this.state.colour === "cosine" && colour.id !== "cosine") {
      this.legend.replaceChildren(make("p", { className: "small" }, this.state.focus < 0 ? "Choose a sentence first: click a point, or a sentence in a list." : this.noCosine || "Working."));
      return;
    }
    if (colour.kind === "category") {
      const counts = new Array(colour.names.length).fill(0);
      colour.codes.forEach((code) => code !== 255 && counts[code]++);
      this.legend.replaceChildren(...colour.names.map((name, code) => this.legendItem(colour, name, code, counts[code], mode)));
      return;
    }
    const ramp = this.data.palette.ramp[mode];
    this.legend.replaceChildren(
      make("span", { className: "map-ramp", style: `background:linear-gradient(90deg, ${ramp.join(",")})` }),
      make("span", { className: "map-ends" }, make("span", {}, fixed(colour.low, colour.decimals)), make("span", {}, colour.unit), make("span", {}, fixed(colour.high, colour.decimals))),
    );
  }

  legendItem(colour, name, code, count, mode) {
    const look = categoryLook(this.data.palette.categories[mode], code), symbol = makeSvg("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" });
    const path = { square: "M-5.5-5.5h11v11h-11z", triangle: "M0-7L6.5 5h-13z", diamond: "M0-7.5L7.5 0L0 7.5L-7.5 0z", circle: "M6 0A6 6 0 1 1-6 0A6 6 0 1 1 6 0z" }[look.shape];
    symbol.append(makeSvg("path", { d: path, fill: look.colour }));
    const mark = (event) => this.markRows([...colour.codes.keys()].filter((row) => colour.codes[row] === code), event.shiftKey);
    return make("button", { type: "button", title: count === 1 ? "Mark this one" : `Mark these ${count}`, "data-name": `legend ${name}`, onclick: mark }, symbol, make("span", { dir: "auto" }, name), make("small", {}, String(count)));
  }

  // ---------- what a person does ----------

  set(change) {
    Object.assign(this.state, change);
    this.refresh();
  }

  setColour(id) {
    this.set({ colour: id });
    if (id === "cosine") this.fetchCosines();
  }

  setZoom(factor) {
    this.state.zoom = factor ? Math.min(20, Math.max(1, this.state.zoom * factor)) : 1;
    this.resize();
  }

  clear() {
    this.say("");
    this.set({ focus: -1, marked: new Set(), typed: null });
  }

  /** Chooses a sentence: its neighbours are listed; it is marked too, alone or in addition. */
  choose(row, add = false) {
    const marked = new Set(add ? this.state.marked : []);
    if (add && marked.has(row)) marked.delete(row);
    else marked.add(row);
    this.set({ focus: row, marked, typed: null, listed: "marked", page: 0 });
    this.live.textContent = this.data.sentences[row];
    if (this.state.colour === "cosine") this.fetchCosines();
  }

  markRows(rows, add = false, focus = -1) {
    this.set({ marked: new Set([...(add ? this.state.marked : []), ...rows]), focus, typed: null, listed: "marked", page: 0 });
    this.live.textContent = `${counted(this.state.marked.size, "sentence")} ${this.state.marked.size === 1 ? "is" : "are"} marked.`;
    if (focus >= 0 && this.state.colour === "cosine") this.fetchCosines();
  }

  hover(row, plot = null) {
    if (row !== this.state.hover) {
      this.state.hover = row;
      this.mark();
    }
    this.tip.hidden = row < 0 || !plot;
    if (this.tip.hidden) return;
    const number = this.plots.indexOf(plot), colour = this.colour;
    const said = colour.kind === "category" ? colour.names[colour.codes[row]] : fixed(colour.values[Math.min(number, colour.values.length - 1)][row], colour.decimals);
    this.tip.replaceChildren(make("p", { dir: "auto" }, short(this.data.sentences[row], 240)), make("p", { className: "small" }, `${colour.title}: ${said || "–"}`));
    const box = plot.face.getBoundingClientRect(), home = this.root.getBoundingClientRect(), [x, y] = plot.at(row);
    const left = Math.min(box.left - home.left + x + 14, home.width - this.tip.offsetWidth - 8);
    this.tip.style.left = `${Math.max(0, left)}px`;
    this.tip.style.top = `${box.top - home.top + y + 16}px`;
  }

  listen(face, plot) {
    const place = (event) => {
      const box = face.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    face.addEventListener("pointermove", (event) => {
      if (this.drag) this.stretch(place(event));
      else if (event.pointerType === "mouse") this.hover(plot.nearest(...place(event)), plot);
    });
    face.addEventListener("pointerleave", () => !this.drag && this.hover(-1));
    face.addEventListener("pointerdown", (event) => {
      if (this.state.tool === "point" || event.button !== 0) return;
      event.preventDefault();
      face.focus({ preventScroll: true });
      face.setPointerCapture(event.pointerId);
      this.drag = { plot, start: place(event), points: [place(event)] };
      this.hover(-1);
    });
    face.addEventListener("pointerup", (event) => {
      if (!this.drag) return;
      const { points } = this.drag, moved = points.length > 1 && Math.hypot(points[0][0] - points.at(-1)[0], points[0][1] - points.at(-1)[1]) + points.length > 6;
      this.drag = this.outline = null;
      if (moved) this.markRows(plot.within(points), event.shiftKey);
      else this.pick(plot.nearest(...place(event)), event);
    });
    face.addEventListener("pointercancel", () => (this.drag = this.outline = null));
    face.addEventListener("click", (event) => this.state.tool === "point" && this.pick(plot.nearest(...place(event)), event));
    face.addEventListener("keydown", (event) => this.key(event, plot));
  }

  pick(row, event) {
    if (row >= 0) this.choose(row, event.shiftKey || event.ctrlKey || event.metaKey);
  }

  stretch(point) {
    const { plot, start, points } = this.drag;
    if (this.state.tool === "box") this.drag.points = [start, [point[0], start[1]], point, [start[0], point[1]]];
    else points.push(point);
    this.outline = { plot, points: this.drag.points };
    this.mark();
  }

  key(event, plot) {
    if (ARROWS[event.key]) {
      const row = plot.next(this.state.hover >= 0 ? this.state.hover : this.state.focus, ARROWS[event.key]);
      this.hover(row, plot);
      if (row >= 0) this.live.textContent = this.data.sentences[row];
    } else if (event.key === "Enter" || event.key === " ") this.pick(this.state.hover >= 0 ? this.state.hover : this.state.focus, event);
    else if (event.key === "Escape") {
      this.hover(-1);
      this.clear();
    } else return;
    event.preventDefault();
  }
}
