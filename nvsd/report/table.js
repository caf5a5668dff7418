// A table of all inputs to sort, search and copy; a page gives its `columns`, `sorting` and `isOn`. And the theme.

function compare(a, b) {
  const [u, v] = [sorting.column.value(a), sorting.column.value(b)];
  if (u === null || v === null) return (u === null) - (v === null) || a - b;
  const order = typeof u === "string" ? u.localeCompare(v, undefined, { numeric: true }) : u - v;
  return (sorting.falling ? -order : order) || a - b;
}

// What the table shows now, in its order.
function tableRows() {
  const wanted = byId("find").value.trim().toLowerCase();
  const holds = (text) => text.toLowerCase().includes(wanted);
  return everyInput
    .filter((a) => !wanted || holds(data.features[a]) || (data.groups && holds(data.groups[data.groupOf[a]])))
    .sort(compare);
}

function drawTable() {
  const rows = tableRows().map((a) =>
    make("tr", { class: isOn(a) ? "on" : "off" }, ...columns.map((column) => {
      if (column.numeric) return make("td", { class: `num ${column.key}` }, (column.show ?? aligned)(column.value(a)));
      const text = column.text(a);
      const cell = make(column.key === "name" ? "th" : "td", { class: column.key, scope: column.key === "name" ? "row" : null }, shorten(text, 60));
      if (text.length > 60) cell.title = text;
      return cell;
    })));
  document.querySelector("#inputs tbody").replaceChildren(...rows);
}

function drawHead() {
  const cells = columns.map((column) => {
    const button = make("button", { type: "button" }, column.title);
    button.addEventListener("click", () => {
      sorting.falling = sorting.column === column ? !sorting.falling : Boolean(column.falling);
      sorting.column = column;
      markSorted(cells);
      drawTable();
    });
    return make("th", { scope: "col", class: `${column.numeric ? "num " : ""}${column.key}` }, button);
  });
  document.querySelector("#inputs thead").replaceChildren(make("tr", {}, ...cells));
  markSorted(cells);
}

function markSorted(cells) {
  cells.forEach((cell, i) => {
    if (columns[i] === sorting.column) cell.setAttribute("aria-sort", sorting.falling ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  });
}

function csv() {
  const quote = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const cell = (column, a) => (column.numeric ? String(column.value(a) ?? "") : quote(column.text(a)));
  const head = columns.map((column) => quote(column.title)).join(",");
  return [head, ...tableRows().map((a) => columns.map((column) => cell(column, a)).join(","))].join("\r\n") + "\r\n";
}

async function copyTable() {
  const text = csv();
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { class: "hidden", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    byId("copy").focus();
  }
  byId("copied").textContent = `${plural(tableRows().length, "row")} copied`;
  setTimeout(() => (byId("copied").textContent = ""), 4000);
}

function setTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const show = () => byId("theme").setAttribute("aria-pressed", isDark());
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  dark.addEventListener("change", show);
  show();
}

// Search, copy, and draw again where the page has a new width.
function listenToPage() {
  byId("find").addEventListener("input", drawTable);
  byId("copy").addEventListener("click", copyTable);
  let width = document.documentElement.clientWidth;
  addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    drawAll();
  });
}
