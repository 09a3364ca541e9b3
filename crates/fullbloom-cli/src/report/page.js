// Sorts a table by the column whose title is pressed, and shows the rows that have a text. The page works without it.
'use strict';
document.addEventListener('click', (event) => {
  const button = event.target.closest('th button');
  if (!button) return;
  const title = button.parentNode;
  const body = title.closest('table').tBodies[0];
  const at = title.cellIndex;
  const number = Array.from(body.rows).some((row) => row.cells[at].dataset.v);
  const before = title.getAttribute('aria-sort');
  const down = before ? before === 'ascending' : number;
  const value = (row) => {
    const cell = row.cells[at];
    return number ? parseFloat(cell.dataset.v) : cell.textContent;
  };
  const rows = Array.from(body.rows, (row) => [value(row), row]);
  rows.sort(([a], [b]) => {
    if (!number) return (down ? -1 : 1) * a.localeCompare(b, undefined, { numeric: true });
    // Cells without a number come last in both directions.
    if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
    return down ? b - a : a - b;
  });
  for (const other of title.parentNode.cells) other.removeAttribute('aria-sort');
  title.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  body.append(...rows.map(([, row]) => row));
});
document.addEventListener('input', (event) => {
  if (!event.target.matches('.search')) return;
  const wanted = event.target.value.toLowerCase();
  for (const row of event.target.parentNode.querySelectorAll('tbody tr')) {
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
  }
});
