// Sorting, filters, limits, downloads. Without this script all tables and figures are complete and sorted by rank.
"use strict";

const numeric = (cell) => (cell.dataset.v === undefined || cell.dataset.v === "" ? null : Number(cell.dataset.v));

function sortTable(table, column, descending) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
  const isNumber = heads[column].classList.contains("n");
  const sensorColumn = "energy" in heads[column].dataset ? heads.findIndex((head) => head.dataset.key === "energy") : -1;
  const keyed = [...table.tBodies[0].rows].map((row) => [
    isNumber ? numeric(row.cells[column]) : row.cells[column].textContent.trim(), row, sensorColumn < 0 ? 0 : Number(row.cells[sensorColumn].dataset.place),
  ]);
  keyed.sort(([a, , sensor], [b, , other]) => {
    if (a === null || b === null) return (a === null) - (b === null); // unknown values come last in both directions
    if (sensor !== other) return sensor - other; // energies of different instruments are not put in one order; the best instrument comes first
    const order = isNumber ? a - b : a.localeCompare(b);
    return descending ? -order : order;
  });
  putRows(table, keyed.map(([, row]) => row));
}

// Laying out 1,000 rows takes a browser half a second: new rows beyond the first ROWS_PER_FRAME, more than a screen shows, are laid out in steps of as many per frame.
const ROWS_PER_FRAME = 120;
const turns = new WeakMap(); // by table: the last call of follow; earlier ones stop

function putRows(table, rows) {
  follow(table, rows, () => true);
  table.tBodies[0].append(...rows);
}

function follow(table, rows, isNew) {
  const waiting = [], turn = {};
  let shown = 0;
  for (const row of rows) {
    if (!row.hidden) shown += 1;
    const waits = !row.hidden && shown > ROWS_PER_FRAME && (isNew(row) || row.classList.contains("later"));
    row.classList.toggle("later", waits);
    if (waits) waiting.push(row);
  }
  turns.set(table, turn);
  const next = () => {
    if (turns.get(table) !== turn) return;
    for (const row of waiting.splice(0, ROWS_PER_FRAME)) row.classList.remove("later");
    if (waiting.length) requestAnimationFrame(next);
  };
  if (waiting.length) requestAnimationFrame(() => requestAnimationFrame(next)); // the first rows are painted before the others are laid out
}

for (const table of document.querySelectorAll("table.sortable")) {
  follow(table, table.tBodies[0].rows, (row) => row.id === "" || row.id !== location.hash.slice(1)); // the row that a link points to is laid out at once
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.hasAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : head.dataset.better === "1";
      sortTable(table, column, descending);
      table.dispatchEvent(new CustomEvent("sorted", { detail: { column, descending } }));
    });
  });
}

document.documentElement.classList.add("ready"); // until now, site.css hid the rows that follow later

// ---- tools of a leaderboard: their state is in the address, after "#?" ----

const LIMITS = [
  { key: "time_to_target_s", label: "time to target", unit: "min", per: 60 },
  { key: "energy_per_epoch_j", label: "energy per epoch", unit: "J", per: 1 },
  { key: "mean_power_w", label: "power", unit: "W", per: 1 },
];
const STEPS = 200;
const MAX_CHOICES = 2000;

class BoardTools {
  constructor(form, table) {
    this.form = form;
    this.table = table;
    this.heads = [...table.tHead.rows[0].cells];
    this.index = new Map(this.heads.map((head, column) => [head.dataset.key, column]));
    this.rows = [...table.tBodies[0].rows];
    this.first = [...this.rows];
    this.written = new Map(); // original content of cells that show relative numbers
    this.scaled = []; // cells with a bar in the background
    this.texts = new Map(); // cache of the cells' texts, by column and row
    this.sheet = new CSSStyleSheet(); // one rule hides a column in all rows
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.sheet];
    this.makeFacets();
    this.makeLimits();
    this.makeColumns();
    this.makeBaselines();
    this.listen();
    form.hidden = false;
    this.readAddress();
    this.apply();
  }

  cell(row, key) { return row.cells[this.index.get(key)]; }
  value(row, key) { return this.index.has(key) ? numeric(this.cell(row, key)) : null; }

  makeFacets() {
    this.facets = new Map();
    for (const head of this.heads.filter((one) => "facet" in one.dataset)) {
      const key = head.dataset.key, texts = [...new Set(this.rows.map((row) => this.text(row, key)))];
      if (texts.length < 2 || texts.length > MAX_CHOICES) continue;
      texts.sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
      const select = element("select", { name: key });
      select.append(element("option", { value: "" }, "all"), ...texts.map((text) => element("option", { value: text }, text)));
      const label = element("label", {}, head.textContent.trim() + " ");
      label.append(select);
      this.form.querySelector("#facets").append(label);
      this.facets.set(key, select);
    }
  }

  text(row, key) {
    if (!this.texts.has(key)) this.texts.set(key, new Map());
    const known = this.texts.get(key);
    if (!known.has(row)) known.set(row, [...this.cell(row, key).childNodes].filter((node) => !node.classList?.contains("badge")).map((node) => node.textContent).join("").trim());
    return known.get(row);
  }

  labelOf(row) {
    return this.heads.filter((head) => "facet" in head.dataset).map((head) => this.text(row, head.dataset.key)).join(" · ");
  }

  makeLimits() {
    const set = this.form.querySelector("#limits"), missing = [];
    this.limits = new Map();
    for (const limit of LIMITS) {
      const values = this.rows.map((row) => this.value(row, limit.key)).filter((value) => value > 0);
      if (!values.length) { missing.push(limit.label); continue; }
      const slider = element("input", { type: "range", min: "0", max: String(STEPS), value: String(STEPS), name: limit.key });
      const output = element("output", {});
      const label = element("label", {}, limit.label + ", at most");
      label.append(output, slider);
      set.append(label);
      this.limits.set(limit.key, { ...limit, slider, output, low: Math.min(...values), high: Math.max(...values) });
    }
    if (missing.length) set.append(element("p", {}, `No limit on ${missing.join(" and ")}: no entry has that figure.`));
  }

  limitOf({ slider, low, high }) { // logarithmic slider; no limit at its right end
    const step = Number(slider.value);
    return step >= STEPS ? null : low * (high / low) ** (step / STEPS);
  }

  makeColumns() {
    const box = this.form.querySelector("#columns");
    this.columns = new Map();
    this.heads.forEach((head) => {
      if (head.dataset.key === "rank") return;
      const check = element("input", { type: "checkbox" });
      check.checked = check.defaultChecked = !("optional" in head.dataset);
      const label = element("label", {});
      label.append(check, " " + head.textContent.trim());
      box.append(label);
      this.columns.set(head.dataset.key, check);
    });
  }

  makeBaselines() {
    this.relative = this.form.querySelector("#relative");
    const group = element("optgroup", { label: "relative to" });
    group.append(...this.rows.map((row) => element("option", { value: row.id.slice(2) }, this.labelOf(row))));
    this.relative.append(group);
  }

  listen() {
    this.form.addEventListener("input", () => this.apply());
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("reset", () => setTimeout(() => {
      this.sorted = null;
      this.heads.forEach((head) => head.removeAttribute("aria-sort"));
      putRows(this.table, this.first);
      this.apply();
    }));
    this.table.addEventListener("sorted", (event) => { this.sorted = event.detail; this.apply(); });
    window.addEventListener("hashchange", () => { if (location.hash.startsWith("#?")) { this.readAddress(); this.apply(); } });
    for (const button of this.form.querySelectorAll("[data-save]")) button.addEventListener("click", () => this.save(button.dataset.save));
  }

  readAddress() {
    if (!location.hash.startsWith("#?")) return;
    const state = new URLSearchParams(location.hash.slice(2));
    for (const [key, select] of this.facets) select.value = [...select.options].some((option) => option.value === state.get(key)) ? state.get(key) : "";
    for (const [key, limit] of this.limits) {
      const most = Number(state.get("max." + key));
      const share = limit.high > limit.low ? Math.log(most / limit.low) / Math.log(limit.high / limit.low) : 1;
      limit.slider.value = String(most > 0 ? Math.round(STEPS * Math.min(Math.max(share, 0), 1)) : STEPS);
    }
    const columns = state.has("columns") ? state.get("columns").split(",") : null;
    for (const [key, check] of this.columns) check.checked = columns ? columns.includes(key) : check.defaultChecked;
    const base = state.get("relative") || "";
    this.relative.value = [...this.relative.options].some((option) => option.value === base) ? base : "";
    const [key, direction] = (state.get("sort") || "").split(".");
    if (this.index.has(key)) {
      this.sorted = { column: this.index.get(key), descending: direction === "down" };
      sortTable(this.table, this.sorted.column, this.sorted.descending);
    }
  }

  writeAddress() {
    const state = new URLSearchParams();
    for (const [key, select] of this.facets) if (select.value) state.set(key, select.value);
    for (const [key, limit] of this.limits) if (this.limitOf(limit) !== null) state.set("max." + key, this.limitOf(limit).toPrecision(6));
    const checked = [...this.columns].filter(([, check]) => check.checked).map(([key]) => key);
    if ([...this.columns].some(([, check]) => check.checked !== check.defaultChecked)) state.set("columns", checked.join(","));
    if (this.relative.value) state.set("relative", this.relative.value);
    if (this.sorted) state.set("sort", `${this.heads[this.sorted.column].dataset.key}.${this.sorted.descending ? "down" : "up"}`);
    const address = state.toString() ? "#?" + state : location.pathname + location.search;
    if (state.toString() || location.hash.startsWith("#?")) history.replaceState(null, "", address);
  }

  apply() {
    this.restore();
    const hidden = new Set(this.rows.filter((row) => row.hidden));
    let withoutFigure = 0;
    for (const row of this.rows) {
      const fits = [...this.facets].every(([key, select]) => !select.value || this.text(row, key) === select.value);
      const states = [...this.limits].map(([key, limit]) => {
        const most = this.limitOf(limit), value = this.value(row, key);
        return most === null ? "in" : value === null ? "unknown" : value <= most * (1 + 1e-9) ? "in" : "out";
      });
      row.hidden = !fits || states.some((state) => state !== "in");
      if (fits && states.includes("unknown") && !states.includes("out")) withoutFigure += 1;
    }
    for (const limit of this.limits.values()) {
      const most = this.limitOf(limit);
      limit.output.textContent = most === null ? "no limit" : `${(most / limit.per).toPrecision(3)} ${limit.unit}`;
      limit.slider.setAttribute("aria-valuetext", limit.output.textContent);
    }
    for (const [key, check] of this.columns) this.heads[this.index.get(key)].hidden = !check.checked;
    const out = this.heads.flatMap((head, column) => (head.hidden ? [`#board tr > :nth-child(${column + 1})`] : []));
    this.sheet.replaceSync(out.length ? `${out.join(",")} { display: none; }` : "");
    follow(this.table, this.table.tBodies[0].rows, (row) => hidden.has(row));
    const shown = this.rows.filter((row) => !row.hidden);
    this.showRelative(shown);
    this.showBars(shown);
    const front = this.showFront(shown);
    this.form.querySelector("#count").textContent = `${shown.length} of ${this.rows.length} entries` +
      (withoutFigure ? `; ${withoutFigure} hidden: limited figure unknown` : "") + (front ? "; ◆ Pareto front of time and energy" : "");
    this.writeAddress();
  }

  restore() {
    for (const [cell, nodes] of this.written) cell.replaceChildren(...nodes);
    this.written.clear();
  }

  showRelative(shown) {
    if (!this.relative.value) return;
    const chosen = this.rows.find((row) => row.id === "e-" + this.relative.value);
    for (const head of this.heads.filter((one) => one.dataset.better && one.dataset.better !== "0" && !one.hidden)) {
      const key = head.dataset.key, isEnergy = "energy" in head.dataset && this.index.has("energy");
      const sensor = (row) => (isEnergy ? this.text(row, "energy") : "");
      for (const kind of new Set(shown.map(sensor))) { // energies of different sensors have no common baseline
        const rows = shown.filter((row) => sensor(row) === kind && this.value(row, key) !== null);
        const values = rows.map((row) => this.value(row, key)), best = head.dataset.better === "1" ? Math.max : Math.min;
        const base = !chosen ? best(...values) : sensor(chosen) === kind ? this.value(chosen, key) : null;
        for (const row of rows) this.write(row, key, base ? `${(this.value(row, key) / base).toFixed(2)}×` : "—", base ? "" : "no baseline: other sensor or unknown");
      }
    }
  }

  write(row, key, text, why) {
    const cell = this.cell(row, key).querySelector("a") || this.cell(row, key);
    this.written.set(cell, [...cell.childNodes]);
    cell.replaceChildren(element("span", why ? { title: why } : {}, text));
  }

  showBars(shown) { // bars in the background of the sorted column
    const column = this.sorted ? this.sorted.column : this.index.get("time_to_target_s");
    this.scaled.forEach((cell) => cell.classList.remove("scaled"));
    this.scaled = [];
    if (column === undefined || !this.heads[column].dataset.better) return;
    const highest = Math.max(...shown.map((row) => numeric(row.cells[column]) ?? 0));
    for (const row of shown) {
      const value = numeric(row.cells[column]);
      if (!(value > 0)) continue;
      this.scaled.push(row.cells[column]);
      row.cells[column].classList.add("scaled");
      row.cells[column].style.setProperty("--share", String(value / highest));
    }
  }

  showFront(shown) {
    const points = shown.map((row) => [this.value(row, "time_to_epoch_s"), this.value(row, "energy_per_epoch_j"), row]).filter(([x, y]) => x !== null && y !== null);
    this.rows.forEach((row) => row.classList.remove("front"));
    const drawing = document.querySelector("#time-energy svg");
    if (drawing) drawFront(drawing, new Set(shown.map((row) => row.id.slice(2))));
    const kinds = this.index.has("energy") ? new Set(points.map(([, , row]) => this.text(row, "energy"))) : new Set(["one"]);
    if (!points.length || kinds.size > 1) return false; // energies of different sensors have no common front
    frontOf(points).forEach(([, , row]) => row.classList.add("front"));
    return true;
  }

  save(format) {
    const heads = this.heads.filter((head) => !head.hidden);
    const shown = [...this.table.tBodies[0].rows].filter((row) => !row.hidden);
    const columns = [{ name: "entry_id", values: shown.map((row) => row.id.slice(2)) }];
    for (const head of heads) {
      const isNumber = head.classList.contains("n"), key = head.dataset.key;
      columns.push({ name: head.dataset.name || key, values: shown.map((row) => (isNumber ? this.value(row, key) : this.text(row, key))), isNumber });
      if (head.dataset.better) {
        const spreads = shown.map((row) => (this.cell(row, key).dataset.s ? Number(this.cell(row, key).dataset.s) : null));
        columns.push({ name: `${head.dataset.name || key}_spread`, values: spreads, isNumber: true });
      }
    }
    const made = { csv: [asCsv, "text/csv"], json: [asJson, "application/json"], parquet: [asParquet, "application/vnd.apache.parquet"] }[format];
    const link = element("a", { download: `${this.table.dataset.slug}.${format}`, href: URL.createObjectURL(new Blob([made[0](columns, shown.length)], { type: made[1] })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
}

function element(name, attributes, text) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function frontOf(points) { // [x, y, …], smaller is better
  let lowest = Infinity;
  return [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]).filter(([, y]) => y < lowest && ((lowest = y), true));
}

function drawFront(drawing, entries) {
  const line = drawing.querySelector("path.front");
  line.dataset.whole ??= line.getAttribute("d");
  const corners = line.dataset.whole.slice(1).split("L").map((pair) => pair.split(" ").map(Number));
  const [top, right] = [corners[0][1], corners[corners.length - 1][0]], points = [];
  for (const group of drawing.querySelectorAll("g[data-entry]")) {
    const dot = group.querySelector("circle"), remains = entries.has(group.dataset.entry);
    group.classList.toggle("out", !remains);
    if (remains) points.push([Number(group.dataset.x), Number(group.dataset.y), Number(dot.getAttribute("cx")), Number(dot.getAttribute("cy"))]);
  }
  const front = frontOf(points), path = [];
  front.forEach(([, , x, y], index) => path.push(...(index ? [] : [[x, top]]), [x, y], [index + 1 < front.length ? front[index + 1][2] : right, y]));
  line.setAttribute("d", path.length ? "M" + path.map((point) => point.join(" ")).join("L") : "");
}

function asCsv(columns, count) {
  const quote = (value) => (value === null ? "" : /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  const lines = [columns.map((column) => quote(column.name)).join(",")];
  for (let index = 0; index < count; index += 1) lines.push(columns.map((column) => quote(column.values[index])).join(","));
  return lines.join("\n") + "\n";
}

function asJson(columns, count) {
  const rows = Array.from({ length: count }, (_, index) => Object.fromEntries(columns.map((column) => [column.name, column.values[index]])));
  return JSON.stringify(rows, null, 1) + "\n";
}

const tools = document.querySelector("#tools");
if (tools) new BoardTools(tools, document.querySelector("#board"));
