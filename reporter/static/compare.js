// Compares two entries that a reader picks. The two are in the address, after "#?": a=<entry id>&b=<entry id>.
// The arithmetic is that of suite/metrics/comparisons.py, from the statistics in data/compare.js.
"use strict";

const picker = document.querySelector("#pick"), { board: boardMenu, a: firstMenu, b: secondMenu } = picker.elements;
const entriesById = new Map(COMPARED.boards.flatMap((board) => board.entries.map((entry) => [entry.id, { board, entry }])));
const SHOWN = 0, VALUE = 1, REASON = 2, INSTRUMENT = 3, FIRST_STATISTIC = 4;

function statistics(value) {
  if (!value || value.length <= FIRST_STATISTIC) return null;
  const [logMean, logVariance, runs, fixed, epochs, epochsFreedom, excess] = value.slice(FIRST_STATISTIC);
  return { logMean, logVariance, runs, fixed: fixed ?? Infinity, epochs, epochsFreedom, excess };
}

function quantile(table, freedom) {
  const whole = Math.max(1, Math.floor(freedom)), last = Math.max(...Object.keys(table).map(Number));
  return table[String(Math.min(whole, last))];
}

function ratioOf(a, b) {
  const w = a.logVariance / a.runs + b.logVariance / b.runs, f = a.fixed + b.fixed, n = 2 * (Math.min(a.runs, b.runs) - 1);
  const d = a.logMean - b.logMean, r = d - a.excess + b.excess, whole = w > 0 && Number.isFinite(f) ? (w + f) ** 2 / (w ** 2 / n) + 1e-9 : Infinity;
  const m = quantile(COMPARED.t.reference, whole) * Math.sqrt(w + f);
  let low = r - m, high = r + m;
  if (a.excess > 0 || b.excess > 0) {
    const total = w + a.epochs + b.epochs;
    const scatter = w ** 2 / n + a.epochs ** 2 / Math.max(1, a.epochsFreedom) + b.epochs ** 2 / Math.max(1, b.epochsFreedom);
    const q = quantile(COMPARED.t.own, total ** 2 / Math.max(scatter, Number.MIN_VALUE) + 1e-9) * Math.sqrt(total + f);
    low = b.excess > 0 ? d - q : Math.max(low, d - q);
    high = a.excess > 0 ? d + q : Math.min(high, d + q);
  }
  return { ratio: Math.exp(d), low: Math.exp(low), high: Math.exp(high), differs: !(Math.exp(low) <= 1 && 1 <= Math.exp(high)) };
}

// Two frameworks on one machine that were not given the same accelerator.
function onOtherAccelerators(a, b) {
  const [machine, framework, accelerator] = a.on.map((value, index) => value === b.on[index]);
  return machine && !framework && !accelerator;
}

function compareValues(figure, a, b) {
  const quotient = a?.[VALUE] > 0 && b?.[VALUE] > 0 ? a[VALUE] / b[VALUE] : null;
  const reasons = [a, b].map((value) => (value ? value[REASON] : "not known")).filter(Boolean);
  if (a && b && figure.energy && quotient !== null && a[INSTRUMENT] !== b[INSTRUMENT]) return { ratio: null, reason: "different instruments do not compare" };
  const [one, other] = [statistics(a), statistics(b)];
  if (reasons.length || !one || !other) return { ratio: quotient, reason: [...new Set(reasons)].join("; ") || "not known" };
  const found = ratioOf(one, other);
  return Number.isFinite(found.high) ? found : { ratio: found.ratio, reason: "the instrument's error is not known" };
}

const digits = (value) => (value >= 999.5 ? String(Math.round(value)) : value.toPrecision(3));

function verdict(figure, found) {
  if (found.reason) return found.reason;
  if (!found.differs) return "not distinguishable";
  return (found.ratio < 1) === (figure.better < 0) ? "first is better" : "second is better";
}

function cells(row, texts) {
  for (const [index, text] of texts.entries()) {
    const cell = document.createElement(index ? "td" : "th");
    if (!index) cell.scope = "row";
    if (row.dataset.numbers && index > 0 && index < 5) cell.className = "n";
    cell.textContent = text;
    row.append(cell);
  }
  return row;
}

// Framework and system; if these are alike, the first properties in which the two differ as well, as reporter/pages/compare.py writes them.
function namesOf(a, b, differ) {
  const told = a.name === b.name ? differ.slice(0, COMPARED.named) : [];
  return [a, b].map((entry, place) => [entry.name, ...told.map(([name, ...values]) => `${name} ${values[place]}`)].join(" · "));
}

function sentence(found, a, b) {
  const [figure, score] = found.find(([one, each]) => ["score_s", "time_to_target_s", "time_to_epoch_s"].includes(one.name) && each.ratio !== null) ?? found[0];
  const time = { score_s: "", time_to_target_s: " to the target, as measured" }[figure.name] ?? " for an epoch";
  const ends = score.reason ? `without an interval: ${score.reason}` : `${COMPARED.confidence} interval ${digits(score.low)} to ${digits(score.high)}`;
  if (score.ratio === null) return `The times of ${a} and ${b} do not compare: ${score.reason}.`;
  const differ = score.reason ? "" : score.differs ? " They differ." : " They are not distinguishable.";
  return `${a} takes ${digits(score.ratio)} times as long as ${b}${time} (${ends}).${differ}`;
}

function showPair() {
  const a = entriesById.get(firstMenu.value)?.entry, b = entriesById.get(secondMenu.value)?.entry;
  document.querySelector("#pair").hidden = !a || !b;
  if (!a || !b) return;
  const other = onOtherAccelerators(a, b) && { ratio: null, reason: COMPARED.accelerators };
  const found = COMPARED.figures.map((figure) => [figure, other || compareValues(figure, a.values[figure.name], b.values[figure.name])]);
  const properties = COMPARED.properties.map((name, index) => [name, a.of[index], b.of[index]]);
  const differ = properties.filter(([, one, other]) => one !== other), names = namesOf(a, b, differ);
  document.querySelector("#answer").textContent = sentence(found, ...names);
  for (const [id, entry, name] of [["#name-a", a, names[0]], ["#name-b", b, names[1]]]) {
    const link = document.createElement("a");
    link.href = `entries/${entry.id}.html`;
    link.textContent = name;
    link.title = entry.label;
    document.querySelector(id).replaceChildren(link);
  }
  document.querySelector("#figures").replaceChildren(...found.filter(([figure]) => [a, b].some((entry) => (entry.values[figure.name]?.[VALUE] ?? null) !== null)).map(([figure, one]) => {
    const row = document.createElement("tr"), shown = [a, b].map((entry) => entry.values[figure.name]);
    row.dataset.numbers = "yes";
    row.dataset.figure = figure.name;
    const ends = one.reason ? "—" : `${digits(one.low)} to ${digits(one.high)}`;
    const texts = shown.map((value) => (value && value[VALUE] !== null ? value[SHOWN] + (value[INSTRUMENT] ? ` (${value[INSTRUMENT]})` : "") : "—"));
    return cells(row, [figure.heading, ...texts, one.ratio === null ? "—" : digits(one.ratio), ends, verdict(figure, one)]);
  }));
  document.querySelector("#differences").replaceChildren(...(differ.length ? differ : [["nothing", "—", "—"]]).map((row) => cells(document.createElement("tr"), row)));
  document.querySelector("#same").textContent = "Same in both: " + properties.filter(([, one, other]) => one === other).map(([name, one]) => `${name} ${one}`).join(", ") + ".";
}

function option(value, text) {
  const made = document.createElement("option");
  made.value = value;
  made.textContent = text;
  return made;
}

function showBoard(slug, first, second) {
  const board = COMPARED.boards.find((one) => one.slug === slug) ?? COMPARED.boards[0];
  boardMenu.value = board.slug;
  for (const menu of [firstMenu, secondMenu]) menu.replaceChildren(...board.entries.map((entry) => option(entry.id, entry.label)));
  const ids = board.entries.map((entry) => entry.id);
  firstMenu.value = ids.includes(first) ? first : ids.find((id) => id !== second);
  secondMenu.value = ids.includes(second) && second !== firstMenu.value ? second : ids.find((id) => id !== firstMenu.value);
  showPair();
}

function keepAddress() {
  history.replaceState(null, "", `#?${new URLSearchParams({ a: firstMenu.value, b: secondMenu.value })}`);
}

function readAddress() {
  const words = new URLSearchParams(location.hash.startsWith("#?") ? location.hash.slice(2) : "");
  const [a, b] = [words.get("a"), words.get("b")];
  showBoard((entriesById.get(a) ?? entriesById.get(b))?.board.slug ?? boardMenu.value, a, b);
}

if (COMPARED.boards.length) {
  boardMenu.replaceChildren(...COMPARED.boards.map((board) => option(board.slug, board.title)));
  picker.hidden = false;
  boardMenu.addEventListener("change", () => { showBoard(boardMenu.value); keepAddress(); });
  for (const menu of [firstMenu, secondMenu]) menu.addEventListener("change", () => { showPair(); keepAddress(); });
  document.querySelector("#swap").addEventListener("click", () => {
    [firstMenu.value, secondMenu.value] = [secondMenu.value, firstMenu.value];
    showPair();
    keepAddress();
  });
  addEventListener("hashchange", readAddress);
  readAddress();
}
