// What the maps show, as it comes from the server or from the file: numbers unpacked, colours made. Draws nothing.

function unpack(packed) {
  if (Array.isArray(packed)) return packed;
  const [kind, text] = Object.entries(packed)[0];
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new { f32: Float32Array, i32: Int32Array, u8: Uint8Array, i8: Int8Array }[kind](bytes.buffer);
}

/** Unpacks everything a message holds, so that the rest sees arrays. */
function unpackMaps(message) {
  for (const encoder of message.encoders)
    for (const name of ["points", "neighbours", "cosines", "ringed", "vectors"]) if (encoder[name]) encoder[name] = unpack(encoder[name]);
  for (const colour of message.colours) {
    if (colour.codes) colour.codes = unpack(colour.codes);
    if (colour.values) colour.values = colour.values.map(unpack);
  }
  message.overlap = unpack(message.overlap);
  return message;
}

function isDark() {
  return document.documentElement.classList.contains("dark") || document.body.classList.contains("dark");
}

function mix(one, two, share) {
  const parse = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
  const a = parse(one), b = parse(two);
  return `rgb(${a.map((value, i) => Math.round(value + (b[i] - value) * share)).join(",")})`;
}

/** The colour of a share 0..1 on a ramp of three colours. */
function onRamp(ramp, share) {
  const s = Math.min(1, Math.max(0, share));
  return s < 0.5 ? mix(ramp[0], ramp[1], 2 * s) : mix(ramp[1], ramp[2], 2 * s - 1);
}

const BINS = 32;

/** Returns [{colour, shape, rows, code}] for one map; number is the encoder's place. */
function groupsOf(data, colour, number) {
  const mode = isDark() ? "dark" : "light";
  if (colour.kind === "category") {
    const hues = data.palette.categories[mode], groups = colour.names.map((_, i) => categoryLook(hues, i, data.palette.none[mode], colour));
    groups.forEach((group) => (group.rows = []));
    const none = { colour: data.palette.none[mode], shape: "circle", rows: [] };
    colour.codes.forEach((code, row) => (code === 255 ? none : groups[code]).rows.push(row));
    return [none, ...groups];
  }
  const values = colour.values[Math.min(number, colour.values.length - 1)];
  const bins = Array.from({ length: BINS }, (_, i) => ({ colour: onRamp(data.palette.ramp[mode], i / (BINS - 1)), shape: "circle", rows: [] }));
  const none = { colour: data.palette.none[mode], shape: "circle", rows: [] };
  const spread = colour.high - colour.low || 1;
  values.forEach((value, row) => {
    const bin = Math.round(((value - colour.low) / spread) * (BINS - 1));
    (isFinite(value) ? bins[Math.min(BINS - 1, Math.max(0, bin))] : none).rows.push(row);
  });
  return [none, ...bins];
}

/** Colour and shape of a category: both change, so that neither stands alone. */
function categoryLook(hues, code) {
  return { code, colour: hues[code % hues.length], shape: SHAPES[(code + Math.floor(code / hues.length)) % SHAPES.length] };
}

/** Cosines of a row to all rows in every encoder, from the vectors a file carries, rounded to bytes. */
function cosinesHere(data, row) {
  return data.encoders.map((encoder) => {
    const v = encoder.vectors, width = v.length / data.sentences.length, values = new Float32Array(data.sentences.length);
    const norm = (i) => {
      let sum = 0;
      for (let d = 0; d < width; d++) sum += v[i * width + d] ** 2;
      return Math.sqrt(sum) || NaN;
    };
    const own = norm(row);
    for (let i = 0; i < values.length; i++) {
      let sum = 0;
      for (let d = 0; d < width; d++) sum += v[i * width + d] * v[row * width + d];
      values[i] = sum / (own * norm(i));
    }
    return values;
  });
}

/** The colour "cosine to the chosen sentence", one scale for all encoders. */
function cosineColour(values, text) {
  let low = 1, high = -1;
  for (const table of values) for (const value of table) if (isFinite(value) && value < 0.9999) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return { id: "cosine", title: "Cosine to the chosen sentence", kind: "number", unit: `to “${short(text, 60)}”`, values, low, high: Math.max(high, low + 1e-6), decimals: 2 };
}

function short(text, most) {
  return text.length > most ? text.slice(0, most - 1).trimEnd() + "…" : text;
}

function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

function fixed(value, decimals = 3) {
  if (value === null || value === undefined || !isFinite(value)) return "–";
  return value.toFixed(decimals).replace("-", "−");
}
