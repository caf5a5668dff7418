// The other pictures; each is fully redrawn when τ changes.

const marker = (box, x, tau) => rule(x(tau), box.top, x(tau), box.bottom, "now");

function drawErrors() {
  const { taus, error, se, least, simple, source } = data.errors;
  const own = error.length === (data.mus ? data.mus.length : 1) ? Math.min(state.mu, error.length - 1) : 0;
  const place = byId("errors-chart");
  const box = canvas(place, 260, { left: 50, right: 16, top: 12, bottom: 44 }, "Error on held-out data against τ.");
  const x = tauScale(data.taus.concat(taus.flat()).sort((a, b) => b - a), box.left, box.right);
  const finite = error.flat().filter((v) => v !== null);
  const band = se ? error[own].map((v, t) => [v - se[own][t], v + se[own][t]]).flat() : [];
  const [y, marks] = errorScale(finite, Math.min(...finite, ...band), Math.max(...finite, ...band), box);
  yAxis(box, y, marks);
  xAxis(box, x, x.ticks(place.clientWidth > 420 ? 6 : 4));
  const xs = taus[own].map(x);
  if (se) {
    const up = error[own].map((v, t) => y(v + se[own][t]));
    const down = error[own].map((v, t) => y(v - se[own][t]));
    const back = [...down.keys()].reverse();
    box.svg.append(draw("path", { class: "area c0", d: `${line(xs, up)}L${back.map((t) => `${xs[t].toFixed(1)} ${down[t].toFixed(1)}`).join("L")}Z` }));
  }
  error.forEach((row, m) => {
    if (m !== own) box.svg.append(draw("path", { class: "plain c0 faint", d: line(taus[m].map(x), row.map(y)) }));
  });
  box.svg.append(draw("path", { class: "plain c0", d: line(xs, error[own].map(y)) }));
  box.svg.append(marker(box, x, data.taus[state.tau]));
  const at = (point) => x(taus[point.curve][point.point]);
  const crowded = simple && Math.abs(at(simple) - at(least)) < 48;
  if (simple) flag(box, x, y, simple, "1-SE", "square", 12);
  flag(box, x, y, least, "least", "circle", crowded ? 26 : 12);
  box.svg.append(write((box.left + box.right) / 2, box.height - 6, "penalty weight τ", { "text-anchor": "middle" }));
  hold(byId("errors-caption"), ...errorWords(source, least, simple, own));
}

function errorWords(source, least, simple, own) {
  const { taus, error, se } = data.errors;
  const at = (point) => number(taus[point.curve][point.point]);
  const of = `Mean squared error on ${source ?? "held-out data"}`;
  const band = se ? ", with a band of one standard error" : "";
  const mu = data.mus && error.length > 1 ? ` at μ = ${number(data.mus[least.curve])}` : "";
  const rest = simple
    ? ` The 1-SE rule, the largest τ within one standard error of that, gives τ = ${at(simple)} (square).`
    : "";
  const others = error.length > 1 ? ` The bold line is μ = ${number(data.mus[own])}.` : "";
  return [`${of}${band}. Least: `, make("strong", {}, number(error[least.curve][least.point])), ` at τ = ${at(least)}${mu} (circle).${rest}${others}`];
}

function flag(box, x, y, point, text, shape, lift) {
  const px = x(data.errors.taus[point.curve][point.point]);
  const py = y(data.errors.error[point.curve][point.point]);
  box.svg.append(
    shape === "circle"
      ? draw("circle", { class: "ring", cx: px, cy: py, r: 6 })
      : draw("rect", { class: "ring", x: px - 5.5, y: py - 5.5, width: 11, height: 11 }),
    write(px, Math.max(py - lift, box.top + 14 - lift / 2), text, { class: "name", "text-anchor": px > box.right - 24 ? "end" : px < box.left + 24 ? "start" : "middle" }),
  );
}

function drawHistory() {
  const { methods, method, size, error, chosen, selected: kept, inputs, p_values: p } = data.history;
  const box = canvas(byId("history-chart"), 260, { left: 50, right: 16, top: 12, bottom: 44 }, "Error of the candidates against their number of inputs.");
  const largest = Math.max(...size, 1);
  const x = linear(0, largest, box.left, box.right);
  const [y, marks] = errorScale(error, Math.min(...error), Math.max(...error), box);
  yAxis(box, y, marks);
  xAxis(box, x, ticks(0, largest, 6).filter(Number.isInteger));
  methods.forEach((_, m) => {
    const best = new Map();
    size.forEach((k, i) => {
      if (method[i] === m && !(best.get(k) <= error[i])) best.set(k, error[i]);
    });
    const sizes = [...best.keys()].sort((a, b) => a - b);
    const kind = `c${m % 7}`;
    box.svg.append(draw("path", { class: `plain ${kind}`, d: line(sizes.map(x), sizes.map((k) => y(best.get(k)))) }));
    for (const k of sizes) box.svg.append(draw("circle", { class: `dot ${kind}`, cx: x(k), cy: y(best.get(k)), r: 3.5 }));
  });
  box.svg.append(
    draw("circle", { class: "ring", cx: x(chosen.size), cy: y(chosen.error), r: 7 }),
    write((box.left + box.right) / 2, box.height - 6, "number of inputs", { "text-anchor": "middle" }),
  );
  if (methods.length > 1) legend(byId("history-legend"), methods.map((name, m) => [shorten(name, 28), `c${m % 7}`]));
  const sure = (i) => (p ? ` (p ${p[i] < 0.001 ? "< 0.001" : `= ${p[i].toPrecision(2)}`})` : "");
  const texts = kept.slice(0, 12).map((name, i) => shorten(name, 28) + sure(i)).join(", ");
  const more = kept.length > 12 ? ` and ${kept.length - 12} more` : "";
  byId("history-caption").replaceChildren(
    "Mean squared error of kernel ridge refitted on each candidate set. Chosen (ring): ",
    make("strong", {}, `${kept.length} of ${plural(inputs, "input")}`), kept.length ? `: ${texts}${more}.` : ".",
  );
}

function drawCertificate() {
  const { gap, iterations, exact, certified, tol } = data.certificate;
  const place = byId("certificate-chart");
  const box = canvas(place, 260, { left: 50, right: 16, top: 18, bottom: 44 }, "Duality gap and number of iterations against τ.");
  const shown = [...Array(T).keys()].map((t) => state.mu * T + t);
  const x = tauScale(data.taus, box.left + 6, box.right - 6);
  const upper = { ...box, bottom: 128 };
  const lower = { ...box, top: 166 };
  const positive = shown.map((f) => gap[f]).filter((v) => v > 0);
  const high = 10 ** Math.ceil(Math.log10(Math.max(...positive, tol ?? 0, 1e-12)) + 0.2);
  // Far below the tolerance the exact value does not matter.
  const floor = (tol ?? high) / 1e4;
  const low = 10 ** Math.floor(Math.log10(Math.max(Math.min(...positive, high / 100), floor)) - 0.3);
  const y = linear(Math.log10(low), Math.log10(high), upper.bottom, upper.top);
  yAxis(upper, (v) => y(Math.log10(v)), logTicks(low, high, 3));
  const most = Math.max(...shown.map((f) => iterations[f]), 1);
  const z = linear(0, most, lower.bottom, lower.top);
  yAxis(lower, z, ticks(0, most, 2).filter(Number.isInteger));
  xAxis(lower, x, x.ticks(place.clientWidth > 420 ? 6 : 4));
  if (tol !== null) {
    const at = y(Math.log10(tol));
    box.svg.append(rule(box.left, at, box.right, at, "limit"), write(box.right, at - 4, "tolerance", { "text-anchor": "end" }));
  }
  const width = Math.max(1, Math.min(9, ((box.right - box.left) / T) * 0.6));
  shown.forEach((f, t) => {
    const kind = `tick c0${f === current() ? " current" : ""}${certified[f] === "1" ? "" : " failed"}`;
    const px = x(data.taus[t]);
    const value = Math.max(gap[f], low);
    const py = exact[f] === "1" && !gap[f] ? upper.bottom : y(Math.log10(value));
    box.svg.append(
      draw("circle", { class: kind, cx: px, cy: py, r: f === current() ? 4.5 : 3 }),
      draw("rect", { class: kind, x: px - width / 2, y: z(iterations[f]), width, height: Math.max(lower.bottom - z(iterations[f]), 0) }),
    );
  });
  box.svg.append(
    write(0, 11, "relative gap"), write(0, 150, "iterations"),
    write((box.left + box.right) / 2, box.height - 6, "penalty weight τ", { "text-anchor": "middle" }),
  );
  hold(byId("certificate-caption"), ...certificateText());
}

function drawEffects() {
  const { inputs, every, values, ranges } = data.effects;
  const most = 12;
  const on = selected();
  const first = on.findIndex((a) => !inputs.includes(a));
  // If possible, none of the strongest is left out.
  const known = (first > 0 ? on.slice(0, first) : on.filter((a) => inputs.includes(a))).slice(0, most);
  const at = Math.min(Math.round(current() / every), values.length - 1);
  const nearby = at * every === current() ? "" : ` Drawn for τ = ${tauText(data.taus[(at * every) % T])}, the nearest that was computed.`;
  const part = known.length < on.length ? ` Shown: ${known.length} of ${on.length}, strongest first.` : "";
  const text = on.length
    ? `The prediction of ${target} along one input, all others at their median. All charts share one vertical scale, which changes with τ; marks at the bottom are the deciles of the samples.${part}${nearby}`
    : "No input is selected at this τ.";
  hold(byId("effects-caption"), text);
  const figures = known.map((a) =>
    make("figure", { title: clip(data.features[a]) }, make("figcaption", {}, shorten(names[a], 40)), make("div", { class: "chart" })));
  byId("effects-charts").replaceChildren(...figures);
  known.forEach((a, i) => drawEffect(figures[i].lastChild, a, inputs.indexOf(a), values[at], ranges[at]));
  hold(byId("effects-charts"), ...figures);
}

function drawEffect(place, a, k, rows, range) {
  const { low, high, deciles, ranges } = data.effects;
  const box = canvas(place, 132, { left: 40, right: 6, top: 8, bottom: 26 }, `Effect of ${shorten(names[a], 60)}: ${effectWords(rows[k], range)}.`);
  const x = linear(low[k], high[k], box.left, box.right);
  // Tiny effects are not magnified: the scale covers at least a tenth of the largest one.
  const widest = Math.max(...ranges.map(([bottom, top]) => top - bottom));
  const extra = Math.max(0, (widest / 10 - (range[1] - range[0])) / 2);
  const value = linear(range[0] - extra, range[1] + extra, box.bottom - 8, box.top);
  const y = linear(0, 999, value(range[0]), value(range[1]));
  yAxis(box, value, ticks(range[0] - extra, range[1] + extra, 4));
  xAxis(box, x, ticks(low[k], high[k], 3));
  for (const q of deciles[k]) {
    if (q >= low[k] && q <= high[k]) box.svg.append(rule(x(q), box.bottom, x(q), box.bottom - 5, "decile"));
  }
  const xs = rows[k].map((_, i) => box.left + ((box.right - box.left) * i) / (rows[k].length - 1));
  box.svg.append(draw("path", { class: `plain ${colour(a)}`, d: line(xs, rows[k].map(y)) }));
}

function effectWords(row, range) {
  const at = (level) => number(range[0] + ((range[1] - range[0]) * level) / 999, 2);
  return `from ${at(row[0])} at the lowest to ${at(row[row.length - 1])} at the highest value, between ${at(Math.min(...row))} and ${at(Math.max(...row))}`;
}

function drawFit() {
  const { sets, range } = data.fit;
  const place = byId("fit-chart");
  const size = Math.min(Math.max(place.clientWidth, 160), 460);
  const box = canvas(place, size, { left: 50, right: Math.max(place.clientWidth, 160) - size + 10, top: 24, bottom: 44 }, `Predicted against observed ${target}.`);
  const x = linear(range[0], range[1], box.left, box.right);
  const y = linear(range[0], range[1], box.bottom, box.top);
  yAxis(box, y, ticks(range[0], range[1], 5));
  xAxis(box, x, ticks(range[0], range[1], size > 340 ? 5 : 3));
  box.svg.append(rule(x(range[0]), y(range[0]), x(range[1]), y(range[1]), "limit"));
  const f = current();
  sets.forEach((set, i) => {
    const kind = set.name === "samples" ? "c0" : "c1";
    const group = draw("g", { class: `${kind}` });
    const radius = set.observed.length > 500 ? 2 : 3;
    set.observed.forEach((level, j) => {
      const px = box.left + ((box.right - box.left) * level) / 999;
      const py = box.bottom - ((box.bottom - box.top) * set.predicted[f][j]) / 999;
      group.append(draw("circle", { class: "point", cx: px.toFixed(1), cy: py.toFixed(1), r: radius }));
    });
    box.svg.append(group);
  });
  box.svg.append(
    write((box.left + box.right) / 2, box.height - 6, `observed ${shorten(data.target, 24)}`, { "text-anchor": "middle" }),
    write(0, 10, `predicted ${shorten(data.target, 24)}`),
  );
  legend(byId("fit-legend"), sets.map((set) => [`${set.name} (${set.observed.length < set.count ? `${set.observed.length} of ${set.count}` : set.count})`, set.name === "samples" ? "c0" : "c1"]), true);
  hold(byId("fit-caption"), fitWords(sets, f));
}

function fitWords(sets, f) {
  const parts = ["Each point is a sample; on the dotted line the prediction is exact."];
  const thinned = sets.filter((set) => set.observed.length < set.count);
  if (thinned.length) parts.push(`A random ${listedWords(thinned.map((set) => `${set.observed.length} of the ${set.count} ${set.name === "samples" ? "samples" : "held-out samples"}`))} ${thinned[0].observed.length === 1 ? "is" : "are"} drawn.`);
  const outside = sets.reduce((sum, set) => sum + set.outside[f], 0);
  if (outside) parts.push(`${plural(outside, "prediction")} beyond the picture ${outside === 1 ? "is" : "are"} drawn at its edge.`);
  return parts.join(" ");
}

const listedWords = (texts) => listed(texts).join("");
