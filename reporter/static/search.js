// Search in the index of data/search.js: every word must occur. The words are in the address, after "#?q=".
"use strict";

const SHOWN_RESULTS = 60;
const form = document.querySelector("#search"), input = form.elements.q;
const indexed = SEARCH_INDEX.map(([kind, title, said, words, page]) => ({ kind, title, said, page, text: `${kind} ${title} ${said} ${words}`.toLowerCase() }));

function find(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const rank = (one) => words.filter((word) => one.title.toLowerCase().includes(word)).length;
  return indexed.filter((one) => words.every((word) => one.text.includes(word))).map((one, place) => ({ one, place, rank: rank(one) }))
    .sort((a, b) => b.rank - a.rank || a.place - b.place).map(({ one }) => one);
}

function show() {
  const exact = find(input.value), pages = indexed.filter(({ kind }) => kind === "page"), found = exact.length || !input.value.trim() ? exact : pages, list = document.querySelector("#found");
  list.replaceChildren(...found.slice(0, SHOWN_RESULTS).map((one) => {
    const row = document.createElement("li"), link = document.createElement("a"), note = document.createElement("small");
    link.href = one.page;
    link.textContent = one.title;
    note.textContent = [one.kind, one.said].filter(Boolean).join(" · ");
    row.append(link, note);
    return row;
  }));
  const count = exact.length ? `${found.length} found for “${input.value.trim()}”` : "0 found: every word must occur. Try fewer, or one of these pages";
  const more = found.length > SHOWN_RESULTS ? `, the first ${SHOWN_RESULTS} shown` : "";
  document.querySelector("#found-count").textContent = input.value.trim() ? count + more : "Search";
}

function readAddress() {
  input.value = new URLSearchParams(location.hash.startsWith("#?") ? location.hash.slice(2) : location.search).get("q") ?? "";
  show();
}

form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
input.addEventListener("input", () => {
  history.replaceState(null, "", input.value ? `#?${new URLSearchParams({ q: input.value })}` : "#");
  show();
});
addEventListener("hashchange", readAddress);
readAddress();
