// The page of a selection: sentences, lists, effects and pairs.

const isOn = (a) => data.support[a] === "1";
const kept = data.order.filter(isOn);
const ranked = [...kept, ...data.order.filter((a) => !isOn(a))];
const kindOf = (a) => (isOn(a) ? "c0" : "cx");
const percent = (part) => (part < 0.0005 ? "0 %" : `${number(100 * part, part < 0.095 ? 2 : 3)} %`);
const chance = (p) => (p === null ? "–" : p < 0.001 ? "< 0.001" : p > 0.9995 ? "1" : p.toPrecision(2));
const unitOf = (a) => (data.groups ? data.groups[data.groupOf[a]] : data.features[a]);
const testOf = new Map((data.tests ? data.tests.names : []).map((name, i) => [name, i]));
const tested = (a, column) => (data.tests && testOf.has(unitOf(a)) ? data.tests[column][testOf.get(unitOf(a))] : null);
const place = new Map(ranked.map((a, i) => [a, i + 1]));

const columns = [
  { key: "name", title: "Input", text: (a) => data.features[a], value: (a) => data.features[a] },
  data.groups && { key: "group", title: "Group", text: unitOf, value: unitOf },
  { key: "selected", title: "Selected", text: (a) => (isOn(a) ? "yes" : "no"), value: (a) => (isOn(a) ? 1 : 0), falling: true },
  { key: "rank", title: "Place", numeric: true, show: String, value: (a) => place.get(a) },
  { key: "strength", title: "Strength", numeric: true, value: (a) => data.strength[a], falling: true },
  { key: "norm", title: "Derivative norm", numeric: true, value: (a) => data.norms[a], falling: true },
  data.tests && { key: "p", title: "p", numeric: true, show: chance, value: (a) => tested(a, "p") },
  data.tests && { key: "q", title: "q", numeric: true, show: chance, value: (a) => tested(a, "q") },
].filter(Boolean);
const sorting = { column: columns.find((each) => each.key === "rank"), falling: false };

const named = (a) => make("b", { class: kindOf(a), title: clip(data.features[a]) }, shorten(names[a], 40));

function answer() {
  if (!kept.length) return [`On none of ${plural(D, "input")}, as far as these rows can tell: no set of them predicts ${target} clearly better than a constant.`];
  const shown = kept.slice(0, 10).map(named);
  const more = kept.length > shown.length ? [` and ${kept.length - shown.length} more`] : [];
  const amount = kept.length === D ? (D === 1 ? "its only input" : `all ${D} inputs`) : `${kept.length} of ${plural(D, "input")}`;
  const groups = data.groups ? ` in ${new Set(kept.map(unitOf)).size} of ${data.groups.length} groups` : "";
  const list = more.length ? shown.flatMap((node, i) => (i ? [", ", node] : [node])) : listed(shown);
  return [`On ${amount}${groups}${kept.length > 1 ? ", strongest first: " : ": "}`, ...list, ...more, "."];
}

function facts() {
  const parts = [`${capital(data.measure)} ${withError(data.chosen)} on held-out rows`];
  if (data.empty && kept.length) parts.push(`${withError(data.empty)} without inputs`);
  if (data.explained !== null && kept.length) parts.push(`${(100 * data.explained).toFixed(0)} % explained`);
  if (data.rows) parts.push(plural(data.rows, "row"));
  return `${parts.join(" · ")}. ${data.reason}`;
}

function barRow(label, title, kind, parts, text) {
  const track = make("span", { class: `track ${kind}`, "aria-hidden": "true" });
  let start = 0;
  for (const [width, own] of parts) {
    const bar = make("i", { class: own ?? null });
    bar.style.left = `${100 * start}%`;
    bar.style.width = `${100 * width}%`;
    start += width;
    track.append(bar);
  }
  return make("li", { class: "row", title: clip(title) }, make("span", {}, label), track, make("span", {}, text));
}

function drawRanking() {
  const top = Math.max(...data.strength.map(Math.abs), 0) || 1;
  byId("ranking-caption").textContent = `All ${plural(D, "input")} by strength, ${data.strengthIs}; those selected are in colour.`;
  const list = byId("ranking-list");
  list.style.setProperty("--names", `${Math.max(4, ...briefNames.map((name) => name.length))}ch`);
  list.replaceChildren(make("ol", { class: "rows" }, ...ranked.map((a) => {
    const row = barRow(briefNames[a], data.features[a], kindOf(a), [[Math.abs(data.strength[a]) / top]], aligned(data.strength[a]));
    if (isOn(a)) row.classList.add("on");
    return row;
  })));
}

function tableOf(id, head, rows) {
  const cells = head.map(([title, kind]) => make("th", { scope: "col", class: kind }, title));
  document.querySelector(`#${id} thead`).replaceChildren(make("tr", {}, ...cells));
  document.querySelector(`#${id} tbody`).replaceChildren(...rows);
}

function drawTests() {
  const tests = data.tests;
  if (!tests) {
    byId("tests-caption").textContent = data.method === "anova"
      ? "The inputs were not tested: the selection was made, or saved, without tests."
      : `Selection by ${data.method} makes no tests; nvsd.significance(X, y) does.`;
    return;
  }
  const { unit, names: units, importance, lower, upper, p, q, copies } = tests;
  const shown = units.map((_, i) => i).filter((i) => i < 12 || q[i] <= 0.1);
  const on = new Set(kept.map(unitOf));
  const passed = q.filter((value) => value <= 0.1).length;
  const rest = units.length > shown.length ? ` The other ${units.length - shown.length} have larger p-values; they are in the table below.` : "";
  byId("tests-caption").replaceChildren(
    `Does ${target} depend on the ${unit}, given all others? `, make("strong", {}, `${passed} of ${units.length}`),
    ` pass at a false discovery rate of 10 %. Importance is the rise of the loss when a copy drawn given the others takes its place, in % of a constant's loss, with a 95 % interval.${rest}`);
  const low = Math.min(0, ...shown.map((i) => lower[i]));
  const high = Math.max(...shown.map((i) => upper[i]), 1e-9);
  const texts = labels(units, 28);
  const rows = shown.map((i) => {
    const name = make("th", { scope: "row", title: clip(units[i]) }, texts[i]);
    if (copies[i]) name.append(make("small", {}, ` near copies: ${shorten(copies[i], 60)}`));
    return make("tr", { class: on.has(units[i]) ? "on" : "off" }, name,
      make("td", { class: "interval" }, interval(low, high, lower[i], importance[i], upper[i])),
      make("td", { class: "num importance" }, number(importance[i], 2)), make("td", { class: "num" }, chance(p[i])), make("td", { class: "num" }, chance(q[i])));
  });
  tableOf("tests-table", [[unit === "group" ? "Group" : "Input", ""], ["95 % interval", "interval"], ["Importance", "num importance"], ["p", "num"], ["q", "num"]], rows);
}

function interval(low, high, from, value, to) {
  const x = linear(low, high, 4, 156);
  const kind = from > 0 ? "c0" : "cx";
  return draw("svg", { viewBox: "0 0 160 16", role: "img", "aria-label": `from ${number(from, 2)} to ${number(to, 2)} %` },
    rule(x(0), 0, x(0), 16, "axis"), draw("line", { class: `whisker ${kind}`, x1: x(from), x2: x(to), y1: 8, y2: 8 }),
    draw("circle", { class: `dot ${kind}`, cx: x(value), cy: 8, r: 3.5 }));
}

function drawNear() {
  const near = data.near;
  byId("near-caption").textContent = near.length
    ? `The strongest inputs that were left out, and the error of the smallest set with ${kept.length ? "the chosen ones and " : ""}each of them.`
    : "No input that was left out has any effect in the ranking.";
  tableOf("near-table", near.length ? [["Input", ""], ["Strength", "num"], ...(data.tests ? [["p", "num"]] : []), ["Error with it", "num"]] : [],
    near.map(({ input, strength, p, error, size }) => make("tr", {},
      make("th", { scope: "row", title: clip(data.features[input]) }, briefNames[input]), make("td", { class: "num" }, aligned(strength)),
      ...(data.tests ? [make("td", { class: "num" }, chance(p))] : []), make("td", { class: "num" }, error === null ? "–" : `${number(error)} (${size})`))));
  const { with: uses, inputs, same, kernel } = data.predicts;
  const list = inputs.length && !same ? `: ${inputs.slice(0, 12).map((a) => briefNames[a]).join(", ")}${inputs.length > 12 ? ` and ${inputs.length - 12} more` : ""}` : "";
  byId("predicts-text").replaceChildren(inputs.length ? "Predictions use " : "Predictions are ", make("strong", {}, uses), `${list}. `,
    inputs.length ? (same ? "No larger set has a clearly smaller error." : "That fit has the least error; the chosen set is the one that explains.") : "",
    ...(inputs.length ? [make("br"), make("code", {}, kernel)] : []));
}

function drawCurves() {
  const { inputs, rows, mean, band, levels, missing } = data.curves;
  const what = data.classes ? (band ? `The probability of “${classNames[1]}”` : "The probability of each class") : `The prediction of ${target}`;
  const some = levels.some(Boolean) || missing.some(Boolean);
  const [mark, extent, marks] = some ? ["Line or point", "band or bar", "Lines and points"] : ["Line", "band", "Lines"];
  const around = band ? ` ${mark}: the mean over ${rows} rows; ${extent}: from the lowest to the highest tenth of them, so a wide one means that the effect depends on other inputs.` : ` ${marks} are means over ${rows} rows.`;
  const part = inputs.length < kept.length ? ` Shown: ${inputs.length} of ${kept.length}.` : "";
  byId("curves-caption").textContent = `${what} along one input, with the others as they are in the rows.${around} Marks at the bottom are deciles. All charts share one vertical scale.${part}`;
  if (!band) legend(byId("curves-legend"), mean[0].slice(0, 7).map((_, k) => [classNames[k], classKind(k)]));
  const order = kept.filter((a) => inputs.includes(a));
  const figures = order.map((a) => make("figure", { title: clip(data.features[a]) }, make("figcaption", {}, captionOf(a, inputs.indexOf(a))), make("div", { class: "chart" })));
  byId("curves-charts").replaceChildren(...figures);
  const every = [mean, band ?? []].flat(3);
  const range = data.classes ? [0, 1] : [Math.min(...every), Math.max(...every)];
  order.forEach((a, i) => drawCurve(figures[i].lastChild, a, inputs.indexOf(a), range));
}

function captionOf(a, k) {
  const more = data.curves.leftOut[k];
  return shorten(names[a], 40) + (more ? ` (the ${data.curves.levels[k].length} most common levels)` : "");
}

const SLOT = 58; // pixels that the point for missing values takes

function drawCurve(spot, a, k, [low, high]) {
  const { low: lows, high: highs, deciles, mean, band, levels, missing } = data.curves;
  const texts = levels[k];
  const room = texts && (Math.max(spot.clientWidth, 160) - 46) / texts.length;
  const slanted = texts && Math.max(...texts.map((text) => Math.min(text.length, 12))) * 7 > room;
  const box = canvas(spot, slanted ? 190 : 150, { left: 40, right: 6, top: 8, bottom: slanted ? 66 : 26 }, `Effect of ${shorten(names[a], 60)}.`);
  const y = linear(low, high > low ? high : low + 1, box.bottom - 8, box.top);
  yAxis(box, y, ticks(low, high > low ? high : low + 1, 4));
  if (texts) return drawLevels(box, y, k, labels(texts, 12), room, slanted);
  const end = box.right - (missing[k] ? SLOT : 0);
  const x = linear(lows[k], highs[k], box.left, end);
  xAxis({ ...box, right: end }, x, ticks(lows[k], highs[k], 3));
  for (const q of deciles[k]) if (q >= lows[k] && q <= highs[k]) box.svg.append(rule(x(q), box.bottom, x(q), box.bottom - 5, "decile"));
  const n = mean[k][0].length - (missing[k] ? 1 : 0);
  const xs = Array.from({ length: n }, (_, i) => box.left + ((end - box.left) * i) / (n - 1));
  if (band) {
    const [down, up] = band[k].map((side) => side.slice(0, n));
    const back = [...down.keys()].reverse().map((i) => `${xs[i].toFixed(1)} ${y(down[i]).toFixed(1)}`);
    box.svg.append(draw("path", { class: "area c0", d: `${line(xs, up.map(y))}L${back.join("L")}Z` }));
  }
  mean[k].slice(0, 7).forEach((row, c) => box.svg.append(draw("path", { class: `plain ${classKind(c)}`, d: line(xs, row.slice(0, n).map(y)) })));
  if (missing[k]) {
    drawPoint(box, y, k, n, box.right - SLOT / 2 + 4);
    box.svg.append(write(box.right, box.bottom + 17, "missing", { "text-anchor": "end" }));
  }
}

// A point for each level of a category.
function drawLevels(box, y, k, texts, room, slanted) {
  box.svg.append(rule(box.left, box.bottom, box.right, box.bottom, "axis"));
  texts.forEach((text, i) => {
    const x = box.left + room * (i + 0.5);
    drawPoint(box, y, k, i, x);
    const turn = slanted ? { "text-anchor": "end", transform: `rotate(-40 ${x} ${box.bottom + 14})` } : { "text-anchor": "middle" };
    box.svg.append(write(x + (slanted ? 4 : 0), box.bottom + (slanted ? 14 : 17), text, turn));
  });
}

// The mean at one value, of each class if there are several, and its spread.
function drawPoint(box, y, k, i, x) {
  const { mean, band } = data.curves;
  const several = mean[k].slice(0, 7);
  if (band) box.svg.append(draw("line", { class: "whisker c0", x1: x, x2: x, y1: y(band[k][0][i]), y2: y(band[k][1][i]) }));
  several.forEach((row, c) => {
    const dot = draw("circle", { class: `dot ${classKind(c)}`, cx: x + 6 * (c - (several.length - 1) / 2), cy: y(row[i]), r: 3.5 });
    dot.append(draw("title", {}, number(row[i])));
    box.svg.append(dot);
  });
}

function drawPairs() {
  const { effects, pairs } = data;
  const most = Math.max(...effects.map((each) => each.main + each.pairs), ...pairs.map((each) => each.share), 1e-9);
  byId("pairs-caption").textContent = "Shares of the variance of the fit on the selected inputs, if they were independent: what each does alone, and what two do together beyond that." + (data.surfaces.length ? " The squares show the mean prediction along the strongest pairs; the stronger the colour, the larger it is." : "");
  legend(byId("pairs-legend"), [["alone", "c0"], ["in pairs with others", "c1"]]);
  const wide = (texts) => `${Math.max(4, ...texts.map((text) => text.length))}ch`;
  const fill = (id, texts, rows) => {
    byId(id).style.setProperty("--names", wide(texts));
    byId(id).replaceChildren(make("ol", { class: "rows" }, ...rows));
  };
  const shown = effects.slice(0, 12);
  fill("shares-list", shown.map(({ input }) => briefNames[input]), shown.map(({ input, main, pairs: both }) =>
    barRow(briefNames[input], data.features[input], "c0", [[main / most], [both / most, "c1"]], percent(main + both))));
  const texts = pairs.map(({ inputs }) => inputs.map((a) => shorten(names[a], 14)).join(" × "));
  fill("pairs-list", texts, pairs.map(({ inputs, share: part }, i) =>
    barRow(texts[i], inputs.map((a) => data.features[a]).join(" × "), "c1", [[part / most]], percent(part))));
  const figures = data.surfaces.map(({ inputs }) => make("figure", {}, make("figcaption", {}, inputs.map((a) => shorten(names[a], 20)).join(" × ")), make("div", { class: "chart" })));
  byId("surfaces").replaceChildren(...figures);
  data.surfaces.forEach((surface, i) => drawSurface(figures[i].lastChild, surface));
}

// The mean prediction along two inputs.
function drawSurface(spot, { inputs: [a, b], x: across, y: along, names: [columns, rows], range, class: k, levels }) {
  const height = Math.round(Math.min(Math.max(spot.clientWidth * 0.9, 150), 240));
  const box = canvas(spot, height, { left: 44, right: 8, top: 20, bottom: 42 }, `Mean prediction along ${shorten(names[a], 40)} and ${shorten(names[b], 40)}, from ${number(range[0])} to ${number(range[1])}.`);
  const x = linear(across[0], across[1], box.left, box.right);
  const y = linear(along[0], along[1], box.bottom, box.top);
  const size = levels[0].length;
  const width = (box.right - box.left) / size;
  const tall = (box.bottom - box.top) / levels.length;
  const cells = draw("g", { class: "surface c0" });
  levels.forEach((row, i) => row.forEach((level, j) => {
    // Neighbours overlap a little, so that no seams show.
    const cell = draw("rect", { x: (box.left + j * width).toFixed(2), y: (box.bottom - (i + 1) * tall).toFixed(2), width: (width + (j < size - 1 ? 0.6 : 0)).toFixed(2), height: tall.toFixed(2) });
    cell.style.setProperty("--level", `${(4 + (96 * level) / 999).toFixed(1)}%`);
    cells.append(cell);
  }));
  box.svg.append(cells);
  const left = (place, text) => box.svg.append(write(box.left - 8, place + 4, text, { "text-anchor": "end" }));
  if (rows) rows.forEach((text, i) => left(box.bottom - (i + 0.5) * tall, shorten(text, 6)));
  else for (const value of ticks(along[0], along[1], 4)) left(y(value), number(value));
  if (columns) columns.forEach((text, j) => box.svg.append(write(box.left + (j + 0.5) * width, box.bottom + 17, shorten(text, Math.max(2, Math.floor(width / 7))), { "text-anchor": "middle" })));
  else xAxis(box, x, ticks(across[0], across[1], 3));
  const of = k === null ? target : `P(${shorten(data.classes.labels[k], 12)})`;
  box.svg.append(write((box.left + box.right) / 2, box.height - 6, shorten(names[a], 20), { "text-anchor": "middle" }), write(0, 10, shorten(names[b], 14)),
    write(box.right, 10, `${shorten(of, 14)}: ${number(range[0], 2)} – ${number(range[1], 2)}`, { "text-anchor": "end" }));
}

function drawAbout() {
  const { kernel, nu, sections, rule, version } = data.about;
  const made = [data.rows && plural(data.rows, "row"), plural(D, "input"), `method ${data.method}`, `rule ${rule}`, kernel, `ν = ${number(nu)}`, plural(sections, "kernel section"), version && `nvsd ${version}`].filter(Boolean);
  const paragraph = (title, text) => make("p", {}, make("strong", {}, title), ` ${text}`);
  byId("about-text").append(
    paragraph("Selected", "is a set whose refit predicts held-out rows as well as any other that was tried, as far as errors can tell. It answers what is needed to predict."),
    paragraph("Errors", "are on rows that no part of the selection has seen. That of the chosen set is a little optimistic, because it was chosen."),
    ...(data.tests ? [paragraph("p and q", "are about each input given all others. A small p is evidence that y depends on it. Inputs with q up to 0.1 have an expected share of false ones of at most a tenth. A large p does not show that an input is irrelevant.")] : []),
    paragraph("Effects and pairs", "belong to the fit on the selected inputs. Shares are under the law in which inputs are independent, each with its own distribution; with strongly related inputs read them with care."),
    paragraph("Made from", `${made.join(", ")}. ${data.about.treated}`),
  );
}

function drawAll() {
  drawRanking();
  drawHistory();
  if (data.classes) {
    drawCalibration();
    drawRoc();
    if (data.classes.confusion) drawConfusion();
  }
  if (data.curves) drawCurves();
  if (data.effects.length) drawPairs();
}

function start() {
  byId("question").textContent = `Which inputs does ${target} depend on?`;
  byId("answer").replaceChildren(...answer());
  byId("facts").textContent = facts();
  for (const id of ["calibration", "roc"]) byId(id).hidden = !data.classes;
  byId("confusion").hidden = !(data.classes && data.classes.confusion);
  byId("curves").hidden = !data.curves;
  byId("pairs").hidden = !data.effects.length;
  setTheme();
  drawTests();
  drawNear();
  drawHead();
  drawTable();
  drawAbout();
  drawAll();
  listenToPage();
}

start();
