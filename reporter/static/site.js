// Sorting, filters, limits, downloads. Without this script all tables and figures are complete and sorted by rank.
"use strict";

function numeric(cell) { // a property that is a number is its own text
  const text = cell.dataset.v ?? cell.textContent, value = Number(text);
  return text === "" || Number.isNaN(value) ? null : value;
}

function sortTable(table, column, descending) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
  const isNumber = heads[column].classList.contains("n");
  const sensorColumn = "energy" in heads[column].dataset ? heads.findIndex((head) => "energy" in head.dataset) : -1; // the first energy's cells know the instrument
  const keyed = [...table.tBodies[0].rows].map((row) => [
    isNumber ? numeric(row.cells[column]) : row.cells[column].textContent.trim(), row, sensorColumn < 0 ? 0 : Number(row.cells[sensorColumn].dataset.place || 0),
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

function openTarget() { // an address can name a line in a closed group
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", openTarget);
openTarget();

// ---- the filter of the rules that are checked: a chapter without a rule that fits is hidden ----

const ruleFilter = document.querySelector(".book .find");

function filterRules() {
  const words = ruleFilter.elements.find.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0, inChapter = 0;
  for (const part of [...document.querySelector(".book .text").children].reverse()) {
    const isRule = part.matches(".fold"), fits = isRule && words.every((word) => part.textContent.toLocaleLowerCase().includes(word));
    inChapter += fits;
    shown += fits;
    part.hidden = words.length > 0 && !fits && !(part.matches("h2") && inChapter);
    if (part.matches("h2")) inChapter = 0;
  }
  ruleFilter.querySelector("output").textContent = words.length ? shown + (shown === 1 ? " rule" : " rules") : "";
}

if (ruleFilter) {
  ruleFilter.hidden = false;
  ruleFilter.addEventListener("input", filterRules);
  ruleFilter.addEventListener("submit", (event) => event.preventDefault());
}

// ---- tools of a leaderboard: their state is in the address, after "#?" ----

const STEPS = 200, MAX_CHOICES = 40;
const SCALES = { // as reporter/data/quantities.py
  s: [[120, 1, "s"], [7200, 60, "min"], [172800, 3600, "h"], [Infinity, 86400, "d"]],
  J: [[1000, 1, "J"], [1e6, 1e3, "kJ"], [1e9, 1e6, "MJ"], [Infinity, 1e9, "GJ"]],
  W: [[1, 1e-3, "mW"], [1000, 1, "W"], [Infinity, 1e3, "kW"]],
  MiB: [[1024, 1, "MiB"], [Infinity, 1024, "GiB"]],
};

function rounded(value, digits) { // without powers of ten, as reporter/data/text.py
  return value >= 10 ** digits - 0.5 ? String(Math.round(value)) : value.toPrecision(digits);
}

function quantity(value, unit) {
  const [, factor, shown] = (SCALES[unit] || [[Infinity, 1, unit]]).find(([below]) => Number(value.toPrecision(3)) < below);
  return `${Number((value / factor).toPrecision(3))} ${shown}`;
}

class BoardTools {
  constructor(form, table) {
    this.form = form;
    this.table = table;
    this.heads = [...table.tHead.rows[0].cells];
    this.index = new Map(this.heads.map((head, column) => [head.dataset.key, column]));
    this.rows = [...table.tBodies[0].rows];
    this.time = this.heads[3].dataset.key;
    this.sensors = this.heads.findIndex((head) => "energy" in head.dataset); // the first energy's cells know the instrument
    this.energy = this.sensors === 4 ? this.heads[4].dataset.key : null;
    this.written = new Map(); // original content of cells that show relative numbers
    this.texts = new Map(); // cache of the cells' texts, by column and row
    this.sheet = new CSSStyleSheet(); // shows the chosen columns in all rows
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.sheet];
    this.makeFacets();
    this.makeLimits();
    this.makeColumns();
    this.makeBaselines();
    this.listen();
    form.hidden = false;
  }

  get(name) { return this.form.querySelector(name); }
  cell(row, key) { return row.cells[this.index.get(key)]; }
  value(row, key) { return this.index.has(key) ? numeric(this.cell(row, key)) : null; }
  instrument(row) { return row.cells[this.sensors]?.dataset.place ?? ""; }
  heading(head) { return [...(head.querySelector("button") || head).childNodes].filter((node) => node.nodeName !== "SMALL").map((node) => node.textContent).join("").trim(); }

  text(row, key) {
    if (!this.texts.has(key)) this.texts.set(key, new Map());
    const known = this.texts.get(key), cell = this.cell(row, key);
    if (!known.has(row)) known.set(row, (key === "device" ? cell.querySelector("a") : cell).textContent.trim());
    return known.get(row);
  }

  labelOf(row) { return [...row.cells[1].childNodes, row.cells[2]].map((node) => node.textContent.trim()).filter(Boolean).join(" · "); }

  makeFacets() { // several values per filter
    this.facets = new Map();
    for (const head of this.heads.filter((one) => "facet" in one.dataset)) {
      const key = head.dataset.key, texts = [...new Set(this.rows.map((row) => this.text(row, key)))];
      if (texts.length < 2) continue;
      texts.sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
      const box = element("fieldset", {}), list = element("div", {});
      box.append(element("legend", {}, this.heading(head)));
      if (texts.length > MAX_CHOICES) {
        const search = element("input", { type: "search", placeholder: `search ${texts.length}`, "aria-label": `search ${this.heading(head)}` });
        search.addEventListener("input", (event) => { event.stopPropagation(); this.listChoices(key, search.value); });
        box.append(search);
      }
      box.append(list);
      this.get("#facets").append(box);
      this.facets.set(key, { texts, list });
    }
  }

  listChoices(key, wanted) {
    const { texts, chosen, list } = this.facets.get(key), sought = wanted.toLocaleLowerCase();
    const found = texts.filter((text) => text.toLocaleLowerCase().includes(sought)).slice(0, MAX_CHOICES);
    list.replaceChildren(...[...new Set([...chosen, ...found])].map((text) => {
      const check = element("input", { type: "checkbox", name: key, value: text }), label = element("label", {});
      check.checked = chosen.has(text);
      check.addEventListener("input", () => (check.checked ? chosen.add(text) : chosen.delete(text)));
      label.append(check, text);
      return label;
    }));
  }

  makeLimits() {
    const set = this.get("#limits");
    this.limits = new Map();
    const kinds = new Map(this.energy ? this.rows.filter((row) => this.value(row, this.energy) !== null).map((row) => [this.instrument(row), this.cell(row, this.energy).querySelector(".by").textContent]) : []);
    this.kind = element("select", { name: "instrument" });
    this.kind.append(...[...kinds].sort(([a], [b]) => a - b).map(([place, text]) => element("option", { value: place }, text)));
    for (const key of [this.time, this.energy, "mean_power_w", "peak_memory_bytes"]) {
      if (!this.index.has(key) || !this.rows.some((row) => this.value(row, key) > 0)) continue;
      const head = this.heads[this.index.get(key)];
      const slider = element("input", { type: "range", min: 0, max: STEPS, value: STEPS, name: key });
      const output = element("output", {}), label = element("label", {});
      label.append(this.heading(head) + ", at most", output, slider);
      set.append(label);
      this.limits.set(key, { slider, output, unit: head.dataset.unit, isEnergy: "energy" in head.dataset });
    }
    if (kinds.size > 1) { // energies of different instruments have no common limit
      const label = element("label", { class: "choice" });
      label.append("energy and power by the", this.kind);
      set.append(label);
      this.kind.addEventListener("input", () => this.setRanges());
    }
  }

  setRanges() {
    for (const [key, limit] of this.limits) {
      const rows = limit.isEnergy ? this.rows.filter((row) => this.instrument(row) === this.kind.value) : this.rows;
      const values = rows.map((row) => this.value(row, key)).filter((value) => value > 0);
      [limit.low, limit.high] = [Math.min(...values), Math.max(...values)];
    }
  }

  limitOf({ slider, low, high }) { // logarithmic slider; no limit at its right end
    const step = Number(slider.value);
    return step >= STEPS ? null : low * (high / low) ** (step / STEPS);
  }

  makeColumns() {
    this.columns = new Map();
    this.heads.forEach((head) => {
      this.get("#order").append(element("option", { value: head.dataset.key }, this.heading(head)));
      if (!("optional" in head.dataset)) return;
      const check = element("input", { type: "checkbox" }), label = element("label", {});
      label.append(check, this.heading(head));
      this.get("#columns").append(label);
      this.columns.set(head.dataset.key, check);
    });
    if (!this.columns.size) this.get("#columns").hidden = true;
  }

  makeBaselines() {
    this.relative = this.get("#relative");
    const group = element("optgroup", { label: "× this entry" });
    group.append(...this.rows.map((row) => element("option", { value: row.id.slice(2) }, this.labelOf(row))));
    this.relative.append(group);
  }

  listen() {
    this.form.addEventListener("input", (event) => {
      if (event.target.id === "order") this.sortBy(event.target.value, this.heads[this.index.get(event.target.value)].dataset.better === "1");
      this.apply();
    });
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("reset", () => setTimeout(() => this.readAddress(new URLSearchParams())));
    this.table.addEventListener("sorted", (event) => { this.sorted = event.detail; this.apply(); });
    document.addEventListener("click", ({ target }) => this.form.querySelectorAll(".menu[open]").forEach((menu) => menu.contains(target) || (menu.open = false)));
    document.addEventListener("keydown", ({ key }) => {
      const menu = key === "Escape" && this.get(".menu[open]");
      if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
    });
    for (const button of this.form.querySelectorAll("[data-save]")) button.addEventListener("click", () => this.save(button.dataset.save));
  }

  sortBy(key, descending) {
    this.sorted = { column: this.index.get(key), descending };
    sortTable(this.table, this.sorted.column, descending);
  }

  readAddress(state = addressState()) {
    const known = (key, value) => [...ROW_KEYS, "instrument", "columns", "relative", "sort"].includes(key) || this.facets.get(key)?.texts.includes(value) || (this.index.has(key.replace(/^max\./, "")) && Number(value) > 0);
    this.unknown = [...state].filter(([key, value]) => !known(key, value)).map(([key, value]) => `${key}=${value}`).join(", ");
    for (const [key, facet] of this.facets) {
      facet.chosen = new Set(state.getAll(key).filter((text) => facet.texts.includes(text)));
      this.listChoices(key, "");
    }
    choose(this.kind, state.get("instrument"));
    this.setRanges();
    for (const [key, limit] of this.limits) {
      const most = Number(state.get("max." + key));
      const share = limit.high > limit.low ? Math.log(most / limit.low) / Math.log(limit.high / limit.low) : 1;
      limit.slider.value = most > 0 ? Math.round(STEPS * Math.min(Math.max(share, 0), 1)) : STEPS;
    }
    const columns = (state.get("columns") || "").split(",");
    for (const [key, check] of this.columns) check.checked = columns.includes(key);
    choose(this.relative, state.get("relative"));
    const [key, direction] = (state.get("sort") || "").split(".");
    if (this.index.has(key)) this.sortBy(key, direction === "down");
    else if (this.sorted) {
      this.sorted = null;
      this.heads.forEach((head) => head.removeAttribute("aria-sort"));
      putRows(this.table, this.rows);
    }
    this.apply();
  }

  writeAddress() {
    const state = addressState(), limited = [...this.limits].filter(([, limit]) => this.limitOf(limit) !== null);
    for (const key of new Set(state.keys())) if (!ROW_KEYS.includes(key)) state.delete(key); // the chart writes its own
    for (const [key, facet] of this.facets) for (const text of facet.chosen) state.append(key, text);
    for (const [key, limit] of limited) state.set("max." + key, this.limitOf(limit).toPrecision(6));
    if (limited.some(([, limit]) => limit.isEnergy) && this.kind.selectedIndex > 0) state.set("instrument", this.kind.value);
    const checked = [...this.columns].filter(([, check]) => check.checked).map(([key]) => key);
    if (checked.length) state.set("columns", checked.join(","));
    if (this.relative.value) state.set("relative", this.relative.value);
    if (this.sorted) state.set("sort", `${this.heads[this.sorted.column].dataset.key}.${this.sorted.descending ? "down" : "up"}`);
    putAddress(state);
  }

  apply() {
    this.restore();
    const hidden = new Set(this.rows.filter((row) => row.hidden));
    const active = [...this.facets].filter(([, facet]) => facet.chosen.size), limited = [...this.limits].filter(([, limit]) => this.limitOf(limit) !== null);
    const why = { unknown: 0, other: 0 };
    for (const row of this.rows) {
      const fits = active.every(([key, facet]) => facet.chosen.has(this.text(row, key)));
      const states = limited.map(([key, limit]) => {
        const value = this.value(row, key);
        if (value === null) return "unknown";
        if (limit.isEnergy && this.instrument(row) !== this.kind.value) return "other";
        return value <= this.limitOf(limit) * (1 + 1e-9) ? "in" : "out";
      });
      row.hidden = !fits || states.some((state) => state !== "in");
      if (fits && !states.includes("out")) for (const reason of ["unknown", "other"]) if (states.includes(reason)) { why[reason] += 1; break; }
    }
    for (const limit of this.limits.values()) {
      const most = this.limitOf(limit);
      limit.output.textContent = most === null ? "no limit" : quantity(most, limit.unit);
      limit.slider.setAttribute("aria-valuetext", limit.output.textContent);
    }
    this.showColumns();
    follow(this.table, this.table.tBodies[0].rows, (row) => hidden.has(row));
    const shown = this.rows.filter((row) => !row.hidden);
    this.showRelative(shown);
    const front = this.showFront(shown);
    const used = active.length + limited.length;
    this.get("#active").textContent = used;
    this.get("#active").classList.toggle("on", used > 0);
    choose(this.get("#order"), this.sorted ? this.heads[this.sorted.column].dataset.key : "rank");
    this.get("#count").textContent = `${shown.length} of ${this.rows.length} entries` + (why.unknown ? `; ${why.unknown} hidden: limited figure unknown` : "") +
      (why.other ? `; ${why.other} hidden: measured by another instrument` : "") + (front ? "; ◆ Pareto front of time and energy" : "") + (this.unknown ? `; ignored, since no entry here has it: ${this.unknown}` : "");
    this.writeAddress();
  }

  showColumns() { // behind the 24 tracks of the rows' grid, or on a narrow screen as in an opened row
    const chosen = [...this.columns].filter(([, check]) => check.checked).map(([key]) => this.index.get(key) + 1);
    const wide = chosen.map((column, place) => `#board > * > tr > :nth-child(${column}) { display: block; grid-area: 1 / ${25 + place} / 2 / ${26 + place}; text-align: right; } #board > tbody > tr > :nth-child(${column}) { align-self: center; } #board > tbody > tr > :nth-child(${column})::before { content: none; }`);
    const narrow = chosen.map((column) => `#board > tbody > tr > :nth-child(${column}) { display: block !important; }`);
    const tracks = `#board { width: calc(100% + ${8.5 * chosen.length}rem); } #board > * > tr { grid-template-columns: repeat(24, minmax(0, 1fr)) repeat(${chosen.length}, 8.5rem); }`;
    this.sheet.replaceSync(chosen.length ? `@media screen and (min-width: 860.02px) { ${tracks} ${wide.join(" ")} } @media screen and (max-width: 860px) { ${narrow.join(" ")} }` : "");
  }

  restore() {
    for (const [cell, nodes] of this.written) cell.replaceChildren(...nodes);
    this.written.clear();
  }

  showRelative(shown) {
    const base = this.relative.value;
    if (!base) return;
    const chosen = this.rows.find((row) => row.id === "e-" + base);
    for (const head of this.heads.filter((one) => one.dataset.better && one.dataset.better !== "0")) {
      const key = head.dataset.key, isEnergy = "energy" in head.dataset;
      const sensor = (row) => (isEnergy ? this.instrument(row) : "");
      for (const kind of new Set(shown.map(sensor))) { // energies of different instruments have no common baseline
        const rows = shown.filter((row) => sensor(row) === kind && this.value(row, key) !== null);
        const values = rows.map((row) => this.value(row, key)), best = head.dataset.better === "1" ? Math.max : Math.min;
        const unit = !chosen ? best(...values) : sensor(chosen) === kind ? this.value(chosen, key) : null;
        for (const row of rows) this.write(row, key, unit ? `${rounded(this.value(row, key) / unit, 3)} ×` : "—", unit ? "" : "no baseline: another instrument, or unknown");
      }
    }
  }

  write(row, key, text, why) {
    const cell = this.cell(row, key).querySelector("a") || this.cell(row, key), kept = [...cell.childNodes].filter((node) => node.nodeName === "svg" || node.className === "by");
    this.written.set(cell, [...cell.childNodes]);
    cell.replaceChildren(element("span", why ? { title: why } : {}, text), element("small", {}, text === "—" ? "" : this.relative.value === "best" ? "the best" : "the chosen"), ...kept);
  }

  showFront(shown) {
    const points = shown.map((row) => [this.value(row, "time_to_epoch_s"), this.value(row, "energy_per_epoch_j"), row]).filter(([x, y]) => x !== null && y !== null);
    this.rows.forEach((row) => row.classList.remove("front"));
    for (const drawing of document.querySelectorAll("#time-energy svg")) {
      const drawn = this.rows.find((row) => drawing.querySelector(`g[data-entry="${row.id.slice(2)}"]`)), alike = points.filter(([, , row]) => this.instrument(row) === this.instrument(drawn));
      drawFront(drawing, new Map(alike.map(([x, y, row]) => [row.id.slice(2), [x, y]])));
    }
    if (!points.length || new Set(points.map(([, , row]) => this.instrument(row))).size > 1) return false; // energies of different instruments have no common front
    frontOf(points).forEach(([, , row]) => row.classList.add("front"));
    return true;
  }

  save(format) {
    const heads = this.heads.filter((head) => head.dataset.key !== "energy" && (!("optional" in head.dataset) || this.columns.get(head.dataset.key).checked));
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
    if (this.sensors >= 0) columns.push({ name: "energy", values: shown.map((row) => (this.index.has("energy") ? this.text(row, "energy") : this.table.dataset.by)) }); // what measured it, always; where all rows share the instrument no column has it
    const made = { csv: [asCsv, "text/csv"], json: [asJson, "application/json"], parquet: [asParquet, "application/vnd.apache.parquet"] }[format];
    const link = element("a", { download: `${this.table.dataset.slug}.${format}`, href: URL.createObjectURL(new Blob([made[0](columns, shown.length)], { type: made[1] })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
}

function choose(select, value) { // an option that is there, else the first
  select.value = [...select.options].some((option) => option.value === value) ? value : (select.options[0]?.value ?? "");
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

function drawFront(drawing, entries) { // those that are left have faint dots, whose places are not known
  const line = drawing.querySelector("path.front");
  line.dataset.whole ??= line.getAttribute("d");
  const corners = line.dataset.whole.slice(1).split("L").map((pair) => pair.split(" ").map(Number));
  const [top, right] = [corners[0][1], corners[corners.length - 1][0]], points = [];
  for (const group of drawing.querySelectorAll("g[data-entry]")) {
    const { entry, ...place } = group.dataset, remains = entries.delete(entry);
    group.classList.toggle("out", !remains);
    if (remains) points.push([place.x, place.y, place.across, place.down].map(Number));
  }
  const front = frontOf([...points, ...entries.values()]), path = [];
  front.forEach(([, , x, y], index) => path.push(...(index ? [] : [[x, top]]), [x, y], [index + 1 < front.length ? front[index + 1][2] : right, y]));
  line.setAttribute("d", front.length && front.every((point) => point.length > 2) ? "M" + path.map((point) => point.join(" ")).join("L") : "");
}

function asCsv(columns, count) {
  const safe = (value) => (typeof value === "string" && /^\s*[=+@-]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : String(value)); // a formula to spreadsheets
  const quote = (value) => (value === null ? "" : /[",\n]/.test(value) ? `"${safe(value).replaceAll('"', '""')}"` : safe(value));
  const lines = [columns.map((column) => quote(column.name)).join(",")];
  for (let index = 0; index < count; index += 1) lines.push(columns.map((column) => quote(column.values[index])).join(","));
  return lines.join("\n") + "\n";
}

function asJson(columns, count) {
  const rows = Array.from({ length: count }, (_, index) => Object.fromEntries(columns.map((column) => [column.name, column.values[index]])));
  return JSON.stringify(rows, null, 1) + "\n";
}

// ---- rows of a leaderboard's chart: found, hidden, compared; in the address, too ----

const ROW_KEYS = ["find", "watts", "hide", "only", "by", "per", "price"];
const MOST_COMPARED = 6, SIZES = /(\d) gb\b/g, LIFETIME_S = 3 * 365.25 * 86400, J_PER_KWH = 3.6e6; // three years, as suite/catalog/prices.py

function short(value) { return String(Number(value.toPrecision(3))); }

let lastView = ""; // what the address said after "#?": a link within the page, as "#entries", replaces it there

function addressState() {
  if (location.hash.startsWith("#?")) lastView = location.hash.slice(2);
  return new URLSearchParams(lastView);
}

function putAddress(state) {
  lastView = state.toString();
  if (lastView || location.hash.startsWith("#?")) history.replaceState(null, "", lastView ? "#?" + lastView : location.pathname + location.search);
}

class ChartRows {
  constructor(view) {
    this.view = view;
    this.form = view.querySelector(".find");
    this.entries = Object.fromEntries(Object.entries(JSON.parse(view.dataset.entries)).map(([id, [words, power, system, time, energy, provisional]]) => [id, { words, power, system, time, energy, provisional }]));
    this.rows = [...view.querySelectorAll(".dots tbody tr")];
    this.addPicked();
    this.hidden = new Set();
    this.only = new Set();
    this.prices = new Map(); // typed by the reader: of a system by its name, of a kWh by ""
    for (const row of this.rows) {
      this.addButtons(row);
      row.querySelector("details").addEventListener("toggle", () => this.showCosts());
      row.cells[3].firstChild.dataset.first = row.cells[3].firstChild.textContent;
      Object.assign(row.dataset, this.entries[row.dataset.entry]);
      row.own = { ...row.dataset };
      row.settings = JSON.parse(row.dataset.settings ?? "[]").map(([id, value, texts, dot]) => ({ value, ...this.entries[id], entry: id, texts, dot }));
      row.parts = [...row.querySelectorAll("th > small, .at > *, .beside > *, dl, svg")].map((part) => [part, [...part.childNodes]]);
    }
    this.form.hidden = false;
    this.form.addEventListener("input", () => this.apply());
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("reset", () => setTimeout(() => { this.forget(); this.apply(); }));
    view.querySelector(".choose").addEventListener("change", () => this.apply());
    document.addEventListener("keydown", ({ key }) => key === "Escape" && this.close());
  }

  addButtons(row) {
    const hide = () => this.hidden.add(row.dataset.name), choose = () => { this.isChoosing = true; if (!this.only.has(row.dataset.name)) this.only = new Set([row.dataset.name]); };
    for (const [text, act] of [["Hide this row", hide], ["Compare with others of this table", choose]]) {
      const button = element("button", { type: "button" }, text);
      button.addEventListener("click", () => { act(); this.close(); this.apply(); });
      row.querySelector(".panel p").append(button);
    }
    row.querySelector("summary").addEventListener("click", (event) => { // opens the row, or chooses it
      if (!this.isChoosing) return;
      event.preventDefault();
      if (!this.only.delete(row.dataset.name) && this.only.size < MOST_COMPARED) this.only.add(row.dataset.name);
      this.apply();
    });
  }

  addPicked() { // what was chosen, and the button that leaves only these rows
    this.picked = element("p", { class: "picked" });
    const button = element("button", { type: "button" });
    button.addEventListener("click", () => { this.isChoosing = false; if (this.only.size < 2) this.only.clear(); this.apply(); });
    this.picked.append(element("output", {}), button);
    this.view.querySelector(".choose").after(this.picked);
  }

  addPrices(row) { // of the system whose entry it shows
    const { system } = row.dataset, box = element("p", { class: "prices", "data-system": system });
    for (const [text, name] of [["this system costs, in your currency,", system], ["a kWh costs", ""]]) {
      const label = element("label", {}, `${text} `), input = element("input", { type: "number", min: "0", step: "any", "data-price": name });
      input.addEventListener("input", (event) => { event.stopPropagation(); input.value > 0 ? this.prices.set(name, input.value) : this.prices.delete(name); this.apply(); });
      label.append(input);
      box.append(label);
    }
    box.append(element("output", {}));
    row.querySelector(".prices")?.remove();
    row.querySelector(".panel").append(box);
  }

  showCosts() { // of the opened row
    const row = this.view.querySelector("details[open]:has(> .panel)")?.closest("tr");
    if (!row) return;
    if (row.querySelector(".prices")?.dataset.system !== row.dataset.system) this.addPrices(row);
    for (const input of row.querySelectorAll("[data-price]")) if (input !== document.activeElement) input.value = this.prices.get(input.dataset.price) ?? "";
    const known = (text) => (text === "" ? NaN : Number(text));
    const system = this.prices.get(row.dataset.system) * known(row.dataset.time) / LIFETIME_S, energy = this.prices.get("") * known(row.dataset.energy) / J_PER_KWH;
    const parts = [[system, "for its share of three years of the system"], [energy, "for energy"]].filter(([cost]) => cost >= 0), sum = parts.reduce((all, [cost]) => all + cost, 0);
    row.querySelector(".prices output").textContent = parts.length ? `${this.view.dataset.once} costs ${short(sum)}: ${parts.map(([cost, what]) => `${short(cost)} ${what}`).join(", ")}. ${short(1 / sum)} of them cost 1, in your currency.` : "";
  }

  showSetting(row, other) { // the row's best entry, or the best one that the filters leave
    if (row.other === other) return;
    const { texts, dot, ...data } = other ?? row.own;
    row.other = other;
    for (const link of row.querySelectorAll("a")) link.setAttribute("href", link.getAttribute("href").replace(row.dataset.entry, data.entry));
    Object.assign(row.dataset, data);
    for (const [part, kept] of row.parts) part.replaceChildren(...kept);
    if (!other) return;
    const told = row.querySelectorAll("th > small, .at > *, .beside > *"), heads = row.closest("table").tHead.rows[0].cells;
    told.forEach((part, place) => { part.textContent = texts[place]; });
    const lines = [["setting", texts[0]], [heads[2].textContent, texts[1]], ["interval", texts[2] || "none"], [heads[5].textContent, `${texts[3]} ${texts[4]}`]];
    row.querySelector("dl").replaceChildren(...lines.flatMap(([term, said]) => [element("dt", {}, term), element("dd", {}, said)]));
    const drawing = row.querySelector("svg"), [at, low, high] = dot ?? [];
    for (const mark of drawing.querySelectorAll(".w, .d, .h")) mark.remove();
    if (dot) drawing.insertAdjacentHTML("beforeend", `${low === null ? "" : `<line class="w" x1="${low}%" x2="${high}%" y1="50%" y2="50%"/>`}<circle class="${low === null ? "h" : "d"}" cx="${at}%" cy="50%" r="4"/>`);
  }

  close() {
    const open = this.view.querySelector("details[open]:has(> .panel)");
    if (open) { open.open = false; open.querySelector("summary").focus(); }
  }

  apply() {
    const sought = this.form.elements.find.value.toLocaleLowerCase().replace(SIZES, "$1gb").split(/\s+/).filter(Boolean).map((word) => (/^\d/.test(word) ? ` ${word}` : word)); // "8 GB" is not in "128 GB"
    const most = Number(this.form.elements.watts.value) || Infinity;
    const fits = (name, words, power) => sought.every((word) => ` ${name} ${words}`.toLocaleLowerCase().replace(SIZES, "$1gb").includes(word)) && (most === Infinity || (power !== "" && Number(power) <= most)); // an unknown power is not below a limit
    for (const table of this.view.querySelectorAll(".dots")) {
      const rows = this.rows.filter((row) => row.closest("table") === table), group = `.${table.closest(".v").classList[2]}`;
      const isOnly = !this.isChoosing && [...this.only].filter((name) => this.rows.some((row) => row.dataset.name === name && row.closest(group))).length > 1; // names of other groupings do not count
      for (const row of rows) {
        const isOwn = fits(row.dataset.name, row.own.words, row.own.power), other = isOwn ? undefined : row.settings.find(({ words, power }) => fits(row.dataset.name, words, power));
        row.hidden = this.hidden.has(row.dataset.name) || (isOnly && !this.only.has(row.dataset.name)) || !(isOwn || other);
        row.classList.toggle("chosen", this.isChoosing && this.only.has(row.dataset.name));
        this.showSetting(row, other);
      }
      const isPart = rows.some((row) => row.hidden || row.other);
      const order = rows.some((row) => row.other && !row.hidden) ? [...rows].sort((a, b) => a.dataset.provisional - b.dataset.provisional || a.dataset.value - b.dataset.value) : rows;
      if (order.some((row, place) => table.tBodies[0].rows[place] !== row)) table.tBodies[0].append(...order);
      const shown = order.filter((row) => !row.hidden), first = Number(shown[0]?.dataset.value);
      shown.forEach((row, place) => { if (row.cells[0].textContent) row.cells[0].textContent = String(place + 1); }); // places only where there are ranks
      for (const row of rows) { // ratios are to the first of the rows that are shown: confirmed ones come first
        const ratio = Number(row.dataset.value) / first, cell = row.cells[3].firstChild;
        cell.textContent = !isPart ? cell.dataset.first : JSON.parse(row.dataset.apart ?? "[]").includes(shown[0]?.dataset.name) ? "not compared" : ratio !== 1 ? `×${rounded(ratio, ratio < 1.1 ? 3 : 2)}` : "best";
        row.cells[3].classList.toggle("other", isPart);
      }
    }
    this.showCosts();
    const visible = this.rows.filter((row) => row.checkVisibility()).length, all = this.rows.filter((row) => row.closest(".v").checkVisibility()).length;
    this.form.querySelector("output").textContent = visible < all ? `${visible} of ${all} rows` : "";
    this.answer(visible < all ? this.said(visible, all) : "");
    this.picked.hidden = !this.isChoosing;
    this.picked.querySelector("output").textContent = `Chosen: ${[...this.only].join(", ") || "none"}. Click 2 to ${MOST_COMPARED} rows. `;
    this.picked.querySelector("button").textContent = this.only.size < 2 ? "Stop choosing" : "Compare them";
    this.writeAddress();
  }

  answer(text) { // in place of the sentence of all rows
    const board = this.view.closest(".board-view");
    if (!board) return;
    this.shown ??= board.querySelector(".answer").appendChild(element("span", { class: "s" }));
    this.shown.textContent = text;
    this.shown.hidden = !text;
    board.classList.toggle("filtered", Boolean(text));
  }

  said(visible, all) { // the first of the rows that filters leave; verdicts are known of the best settings only, so it claims none
    const row = this.rows.find((one) => one.checkVisibility());
    if (!row) return `Rows shown: none of ${all}.`;
    const first = [...row.closest("tbody").rows].find((one) => !one.hidden), [, , quantity] = row.closest("table").tHead.rows[0].cells;
    return `Rows shown: ${visible} of ${all}. The first: ${first.dataset.name}, ${`${first.cells[2].firstChild.textContent} ${quantity.textContent}`.replaceAll(/(\d) (?=[a-zA-Z]{1,3} |%)/g, "$1\u00a0")} (${first.querySelector("th > small").textContent}).`;
  }

  forget() {
    for (const chosen of [this.hidden, this.only, this.prices]) chosen.clear();
    this.isChoosing = false; // the rows that only shall be left
  }

  readAddress() {
    const state = addressState(), names = new Set(this.rows.map((row) => row.dataset.name));
    this.forget();
    for (const [name, key] of [["m", "by"], ["g", "per"]]) for (const radio of this.view.querySelectorAll(`input[name^="${name}-"]`)) if (radio.defaultChecked || radio.value === state.get(key)) radio.checked = true;
    for (const name of ["find", "watts"]) this.form.elements[name].value = state.get(name) ?? "";
    for (const [key, chosen] of [["hide", this.hidden], ["only", this.only]]) for (const name of state.getAll(key)) if (names.has(name)) chosen.add(name);
    for (const text of state.getAll("price")) {
      const [, price, name] = text.match(/^([\d.]+) ?(.*)$/) ?? [];
      if (price > 0 && (name === "" || Object.values(this.entries).some(({ system }) => system === name))) this.prices.set(name, price);
    }
    this.apply();
  }

  writeAddress() {
    const state = addressState(), own = new Set(this.rows.map((row) => row.dataset.name));
    const others = new Set([...document.querySelectorAll(".dots tbody tr")].map((row) => row.dataset.name).filter((name) => !own.has(name)));
    const kept = ["hide", "only", "price"].flatMap((key) => state.getAll(key).filter((text) => others.has(key === "price" ? text.replace(/^[\d.]+ ?/, "") : text)).map((text) => [key, text])); // of the page's other tables
    for (const key of ROW_KEYS) state.delete(key);
    for (const [key, text] of kept) state.append(key, text);
    for (const name of ["find", "watts"]) if (this.form.elements[name].value) state.set(name, this.form.elements[name].value);
    for (const name of this.hidden) state.append("hide", name);
    for (const name of this.only) state.append("only", name);
    for (const [name, price] of this.prices) state.append("price", `${price} ${name}`.trim());
    for (const [name, key] of [["m", "by"], ["g", "per"]]) for (const radio of this.view.querySelectorAll(`input[name^="${name}-"]:checked`)) if (!radio.defaultChecked) state.set(key, radio.value);
    putAddress(state);
  }
}

const MANY_ROWS = 8;

function addRowFilter(table) { // rows whose heading has all words, as "resnet orin"
  const rows = [...table.tBodies[0].rows], said = element("output", {});
  const input = element("input", { type: "search", placeholder: "filter rows", "aria-label": "filter rows: workload, device, setting" });
  input.addEventListener("input", () => {
    const words = input.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => row.cells[0].textContent.toLocaleLowerCase().includes(word));
    const left = rows.filter((row) => !row.hidden).length;
    said.textContent = left < rows.length ? `${left} of ${rows.length} rows` : "";
  });
  const line = element("p", { class: "find" });
  line.append(input, said);
  table.closest(".scroll").before(line);
}

for (const table of document.querySelectorAll("table.overview:not(.lines, .whole-table)")) if (table.tBodies[0].rows.length > MANY_ROWS) addRowFilter(table);
const tools = document.querySelector("#tools"), viewers = [...document.querySelectorAll(".dots-view")].map((view) => new ChartRows(view));
if (tools) viewers.push(new BoardTools(tools, document.querySelector("#board")));
const readViews = () => viewers.forEach((one) => one.readAddress());
addEventListener("hashchange", () => location.hash.startsWith("#?") && readViews());
readViews();
