// Sorting for tables of class "sortable": without this script the tables are complete and in their order of merit.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const ascending = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const numeric = head.classList.contains("number");
      const key = (row) => {
        const cell = row.cells[column];
        if (!numeric) return cell.textContent.trim();
        return cell.dataset.sort === "" ? null : Number(cell.dataset.sort);
      };
      const rows = [...table.tBodies[0].rows].sort((one, other) => {
        const a = key(one), b = key(other);
        if (a === null || b === null) return (a === null) - (b === null); // unknown values last, either way
        const order = numeric ? a - b : a.localeCompare(b);
        return ascending ? order : -order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
