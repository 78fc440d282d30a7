"use strict";
// Everything can be read without this: it sorts tables by their heads, opens what a link leads to, and prints all of it.
for (const head of document.querySelectorAll("table.sorts thead th")) {
  const sort = () => {
    const body = head.closest("table").tBodies[0];
    const place = [...head.parentNode.children].indexOf(head);
    const down = head.getAttribute("aria-sort") === "descending";
    const key = (row) => {
      const cell = row.children[place];
      const order = cell.dataset.order ?? cell.textContent, number = Number(order.replace(/^(-?)inf$/, "$1Infinity"));
      return order === "" || isNaN(number) ? order : number;
    };
    const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort((a, b) => (down ? 1 : -1) * compare(a[0], b[0]));
    body.append(...rows.map(([, row]) => row));
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "ascending" : "descending");
  };
  head.classList.add("sortable");
  head.tabIndex = 0;
  head.addEventListener("click", sort);
  head.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); }
  });
}
const reveal = () => {
  const found = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (found) { if ("open" in found) found.open = true; found.scrollIntoView(); }
};
addEventListener("hashchange", reveal);
reveal();
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const one of closed) one.open = true;
});
addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
