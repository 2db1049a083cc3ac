// Sorts the table of rows by the heading that is clicked; a second click turns the order round.
const table = document.getElementById("rows");
const body = table.tBodies[0];
const headings = [...table.tHead.rows[0].cells];

function value(row, column) {
  const cell = row.cells[column];
  return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
}

function compare(x, y) {
  const numbers = typeof x === "number" && typeof y === "number";
  return numbers ? x - y : String(x).localeCompare(String(y));
}

headings.forEach((heading, column) =>
  heading.addEventListener("click", () => {
    const up = heading.getAttribute("aria-sort") !== "ascending";
    headings.forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const sign = up ? 1 : -1;
    [...body.rows]
      .sort((a, b) => sign * compare(value(a, column), value(b, column)))
      .forEach((row) => body.append(row));
  }),
);
document.documentElement.dataset.ready = "yes";
