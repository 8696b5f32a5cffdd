// What stands below the maps: places to look, neighbours, the marked sentences, where encoders disagree, what to believe.

const ROWS_A_PAGE = 25;

class Lists {
  constructor(atlas) {
    this.atlas = atlas;
  }

  get data() {
    return this.atlas.data;
  }

  build() {
    this.nearBox = make("section", { className: "map-nearbox", "data-part": "near" });
    this.tableBox = make("section", { className: "map-tablebox" });
    this.placesBox = this.places();
    return make("div", { className: "map-lists" }, this.nearBox, this.placesBox, this.tableBox, this.disagreement(), this.trust());
  }

  refresh() {
    this.drawNear();
    this.drawTable();
  }

  heading(title, text, level = "h2") {
    return make("div", { className: level === "h2" ? "heading" : "subheading" }, make(level, {}, title), text ? make("p", { className: "small" }, text) : null);
  }

  caption([shows, not]) {
    return make("div", { className: "caption small" }, make("p", {}, make("strong", {}, "What it shows: "), shows), make("p", {}, make("strong", {}, "What it does not show: "), not));
  }

  /** A sentence that can be chosen; `where` it stands, for the keyboard's place. */
  sentence(row, where) {
    const button = make("button", { type: "button", className: "map-sentence", dir: "auto", "data-row": row, "data-name": `${where} ${row}` }, this.data.sentences[row]);
    button.addEventListener("click", (event) => this.atlas.choose(row, event.shiftKey));
    button.addEventListener("mouseenter", () => this.atlas.hover(row));
    button.addEventListener("mouseleave", () => this.atlas.hover(-1));
    button.addEventListener("focus", () => this.atlas.hover(row));
    button.addEventListener("blur", () => this.atlas.hover(-1));
    return button;
  }

  plate(number) {
    const encoder = this.data.encoders[number];
    return make("span", { className: "plate" }, make("span", { className: `swatch ${encoder.css}`, "aria-hidden": "true" }), make("span", {}, encoder.name));
  }

  table(heads, rows, label) {
    const head = make("tr", {}, ...heads.map(([name, unit, number]) => make("th", { scope: "col", className: number ? "number" : "" }, name, unit ? make("small", {}, unit) : null)));
    const body = rows.map((cells) => make("tr", {}, ...cells.map((cell, i) => make("td", { className: heads[i][2] ? "number" : "" }, cell))));
    return make("div", { className: "scroll values", tabindex: "0", role: "region", "aria-label": label }, make("table", { className: "data" }, make("thead", {}, head), make("tbody", {}, ...body)));
  }

  // ---------- places to look ----------

  places() {
    if (!this.data.places.length) return make("div");
    const cards = this.data.places.map((place) => {
      const rows = place.rows.map((row) => make("p", { className: "map-quote", dir: "auto" }, short(this.data.sentences[row], 140)));
      const look = () => this.atlas.markRows(place.rows, false, place.rows[0]);
      return make("button", { type: "button", className: "map-place", "data-name": `place ${place.title}`, onclick: look }, make("strong", {}, place.title), ...rows, make("span", { className: "small" }, place.why));
    });
    return make("section", {}, this.heading("Places to look", "Found in these very maps. A click marks the sentences everywhere and lists their neighbours."), make("div", { className: "map-places" }, ...cards));
  }

  // ---------- neighbours ----------

  drawNear() {
    const { focus, typed } = this.atlas.state, k = this.data.k;
    const title = this.heading("Neighbours", `The ${k} nearest sentences by cosine, looked for in the full space of each encoder, never on the map.`);
    if (focus < 0 && !typed) {
      const hint = "Click a point, a sentence in a list, or place one of your own: its neighbours in every encoder appear here.";
      this.nearBox.replaceChildren(title, make("p", { className: "map-hint" }, hint));
      return;
    }
    const lists = this.data.encoders.map((encoder, number) => this.neighboursOf(encoder, number));
    const times = new Map();
    for (const list of lists) for (const [row] of list) times.set(row, (times.get(row) || 0) + 1);
    const chosen = make("blockquote", { className: "map-chosen", dir: "auto", tabindex: "-1" }, typed ? typed.text : this.data.sentences[focus]);
    const note = typed ? make("p", { className: "small" }, [...new Set(typed.places.map((place) => place.note))].join(" ")) : this.factsOf(focus);
    const columns = lists.map((list, number) => this.nearColumn(number, list, times, typed));
    this.nearBox.replaceChildren(title, chosen, note, make("div", { className: "map-near-grid" }, ...columns), this.caption(this.data.words.neighbours));
  }

  neighboursOf(encoder, number) {
    const { focus, typed } = this.atlas.state;
    if (typed) return [...typed.places[number].rows].map((row, i) => [row, typed.places[number].cosines[i]]);
    return this.atlas.near(number, focus).map((row, i) => [row, encoder.cosines[focus * encoder.k + i]]);
  }

  factsOf(row) {
    const labels = this.data.colours.filter((colour) => colour.label).map((colour) => [colour.title.toLowerCase(), colour.names[colour.codes[row]]]).filter(([, name]) => name);
    const said = labels.map(([title, name]) => `${title}: ${name}`), overlap = this.data.overlap[row];
    if (this.data.encoders.length > 1) said.push(`mean overlap of its neighbours between encoders: ${fixed(overlap, 2)}`);
    return make("p", { className: "small", dir: "auto" }, said.join(" · "));
  }

  nearColumn(number, list, times, typed) {
    const all = this.data.encoders.length;
    const items = list.map(([row, cosine]) => {
      const n = times.get(row), text = n === all ? `in all ${all}` : n === 1 ? "only here" : `in ${n} of ${all}`;
      const shared = all > 1 ? make("span", { className: `map-shared of-${n === all ? "all" : n === 1 ? "one" : "some"}` }, text) : null;
      return make("li", {}, make("span", { className: "number" }, fixed(cosine, 3)), make("div", {}, this.sentence(row, `near ${number}`), shared));
    });
    const none = make("p", { className: "small" }, typed ? "Nothing is near." : "No neighbours: its vector is zero, or it is alone.");
    const head = make("h3", {}, this.plate(number));
    return make("article", { className: "map-near-list", "data-encoder": this.data.encoders[number].name }, head, items.length ? make("ol", {}, ...items) : none);
  }

  // ---------- the table ----------

  rowsListed() {
    const { state } = this.atlas, wanted = state.find.trim().toLowerCase();
    const rows = state.listed === "marked" ? [...state.marked].sort((a, b) => a - b) : [...this.data.sentences.keys()];
    return wanted ? rows.filter((row) => this.data.sentences[row].toLowerCase().includes(wanted)) : rows;
  }

  drawTable() {
    const { state } = this.atlas;
    if (!this.findField || !this.tableBox.contains(this.findField)) {
      const onfind = (event) => this.atlas.set({ find: event.target.value, listed: "all", page: 0 });
      this.findField = make("input", { type: "search", className: "map-find", placeholder: "Find words in the sentences", "aria-label": "Find words in the sentences", "data-name": "find", value: state.find, oninput: onfind });
      this.tableTop = make("div", { className: "map-tabletop", "data-part": "top" });
      this.tableBody = make("div", { "data-part": "rows" });
      const hold = this.heading("Sentences", "Everything the mouse does can be done here: a sentence is chosen with a click or Enter, a box marks it.");
      this.tableBox.replaceChildren(hold, make("div", { className: "map-bar" }, this.tableTop, this.findField), this.tableBody);
    }
    const rows = this.rowsListed(), pages = Math.max(1, Math.ceil(rows.length / ROWS_A_PAGE)), page = Math.min(state.page, pages - 1);
    const choice = (id, title) => make("button", { type: "button", "aria-pressed": String(state.listed === id), "data-listed": id, "data-name": `listed ${id}`, onclick: () => this.atlas.set({ listed: id, page: 0, find: id === "marked" ? "" : state.find }) }, title);
    if (state.listed === "marked" && state.find === "") this.findField.value = "";
    const found = state.find && rows.length ? make("button", { type: "button", className: "pill", "data-name": "mark found", onclick: () => this.atlas.markRows(rows) }, rows.length === 1 ? "Mark this one" : `Mark these ${rows.length}`) : null;
    this.tableTop.replaceChildren(make("div", { className: "map-group", role: "group", "aria-label": "Which sentences" }, choice("marked", `Marked (${state.marked.size})`), choice("all", `All (${this.data.sentences.length.toLocaleString("en")})`)), found || "");
    this.tableBody.replaceChildren(this.sentenceTable(rows.slice(page * ROWS_A_PAGE, (page + 1) * ROWS_A_PAGE)), this.pager(page, pages, rows.length));
  }

  sentenceTable(rows) {
    if (!rows.length) return make("p", { className: "map-hint" }, this.atlas.state.listed === "marked" ? "Nothing is marked. Click a point, draw around some with Box or Lasso, or look through all sentences." : "No sentence holds these words.");
    const labels = this.data.colours.filter((colour) => colour.label), several = this.data.encoders.length > 1;
    const heads = [["Mark"], ["Row", "", true], ["Sentence"], ...labels.map((colour) => [colour.title]), ["Words", "", true], ...(several ? [["Overlap", "of neighbours, mean", true]] : [])];
    const body = rows.map((row) => {
      const box = make("input", { type: "checkbox", "aria-label": `Mark: ${short(this.data.sentences[row], 60)}`, "data-row": row, "data-name": `mark ${row}`, checked: this.atlas.state.marked.has(row), onchange: () => this.toggle(row) });
      const marks = labels.map((colour) => (colour.codes[row] === 255 ? "" : colour.names[colour.codes[row]]));
      return [box, (this.data.rows[row] + 1).toLocaleString("en"), this.sentence(row, "row"), ...marks, String(this.data.lengths[row]), ...(several ? [fixed(this.data.overlap[row], 2)] : [])];
    });
    return this.table(heads, body, "Sentences");
  }

  toggle(row) {
    const marked = new Set(this.atlas.state.marked);
    if (!marked.delete(row)) marked.add(row);
    this.atlas.set({ marked, typed: null });
  }

  pager(page, pages, count) {
    if (pages < 2) return make("div");
    const step = (by, title) => make("button", { type: "button", className: "pill", "data-step": by, "data-name": `step ${by}`, disabled: page + by < 0 || page + by >= pages, onclick: () => this.atlas.set({ page: page + by }) }, title);
    return make("div", { className: "map-pager" }, step(-1, "Previous"), make("span", { className: "small" }, `Page ${page + 1} of ${pages}, ${counted(count, "sentence")}`), step(1, "Next"));
  }

  // ---------- disagreement and trust ----------

  disagreement() {
    if (this.data.encoders.length < 2) return make("section", {}, this.heading("Where the encoders disagree", "Choose at least two encoders to compare them."));
    const matrices = this.data.matrices.map((matrix) => make("article", {}, this.heading(matrix.title, matrix.says, "h3"), this.matrix(matrix)));
    const heads = [["Sentence"], ["Overlap", "mean over pairs", true], ["Farthest apart"], ["Overlap", "of these two", true]];
    const rows = this.data.differences.map((found) => [this.sentence(found.row, "different"), fixed(found.overlap, 2), make("span", { className: "map-pair" }, found.pair), fixed(found.pair_overlap, 2)]);
    const title = this.heading("Where the encoders disagree", this.data.words.disagreement);
    const most = this.heading("Sentences whose neighbourhoods differ most", "The most different first; a click lists their neighbours.", "h3");
    return make("section", { className: "map-disagreement" }, title, make("div", { className: "map-matrices" }, ...matrices), this.caption(this.data.words.matrices), most, this.table(heads, rows, "Most different neighbourhoods"));
  }

  matrix(matrix) {
    const names = this.data.encoders.map((encoder, i) => this.plate(i)), spread = matrix.high - matrix.low || 1;
    const cell = (value, same) => {
      const share = same || value === null ? 0 : Math.round((100 * Math.min(1, Math.max(0, (value - matrix.low) / spread))) * 0.42);
      return make("td", { className: same ? "number same" : "number", style: share ? `background:color-mix(in srgb, var(--map-deep) ${share}%, var(--surface))` : null }, same ? "·" : fixed(value, matrix.decimals));
    };
    const head = make("tr", {}, make("td"), ...names.map((name) => make("th", { scope: "col" }, name)));
    const body = matrix.values.map((row, i) => make("tr", {}, make("th", { scope: "row" }, this.plate(i)), ...row.map((value, j) => cell(value, i === j))));
    return make("div", { className: "scroll", tabindex: "0", role: "region", "aria-label": matrix.title }, make("table", { className: "map-matrix" }, make("thead", {}, head), make("tbody", {}, ...body)));
  }

  trust() {
    const heads = [["Encoder"], ["Trustworthiness", `k = ${this.data.k}, 1 is best`, true], ["Neighbours kept", "share", true], ["Below 0.75", "points", true], ["Ringed", "points", true], ["Procrustes distance of the maps", `to ${this.data.encoders[0].name}`, true], ["Map", "seconds", true]];
    const rows = this.data.encoders.map((encoder, i) => [this.plate(i), fixed(encoder.trustworthiness, 3), fixed(encoder.kept, 3), String(encoder.suspects), String(encoder.ringed.length), i ? fixed(encoder.distance, 3) : "–", encoder.cached ? "kept from before" : fixed(encoder.seconds, 1)]);
    const text = this.data.words.trust.map((paragraph) => make("p", {}, paragraph));
    const more = make("details", { open: true }, make("summary", {}, this.data.words.more_title), ...this.data.words.more.map((paragraph) => make("p", {}, paragraph)));
    return make("section", {}, this.heading("Can these maps be believed?", ""), this.table(heads, rows, "Trust"), make("div", { className: "caption small" }, ...text), more);
  }
}
