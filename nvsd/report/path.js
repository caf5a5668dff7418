// The path: one line per input, drawn once; choosing τ only moves the marker and the weights.

const pathChart = {};

function drawPath() {
  const place = byId("path-chart");
  const wide = place.clientWidth > 560;
  const shown = [...Array(T).keys()].map((t) => state.mu * T + t);
  const strength = everyInput.map((a) => shown.reduce((sum, f) => sum + data.norms[f][a], 0));
  const order = everyInput.slice().sort((a, b) => strength[b] - strength[a] || a - b);
  const top = Math.max(...shown.map((f) => Math.max(...data.norms[f]))) || 1;
  const ends = order.slice(0, wide ? 10 : 6).filter((a) => strength[a] > 0);
  const endLabels = ends.map((a) => shorten(names[a], wide ? 22 : 12));
  const room = Math.min(Math.max(0, ...endLabels.map((text) => text.length)) * 6.8 + 26, wide ? 170 : 96);
  const height = Math.round(Math.min(Math.max(place.clientWidth * 0.56, 300), 460));
  const box = canvas(place, height, { left: 46, right: T > 1 ? room : room + 20, top: 46, bottom: 44 }, null);
  box.svg.setAttribute("role", "group");
  box.svg.setAttribute("aria-label", "Path of derivative norms. Up and down arrows go from input to input, left and right arrows change τ.");
  const x = tauScale(data.taus, box.left, box.right);
  const y = linear(0, top * 1.04, box.bottom, box.top);
  yAxis(box, y, ticks(0, top, 5));
  xAxis(box, x, x.ticks(wide ? 8 : 4));
  pathTitles(box, wide);
  countAxis(box, x, shown, wide ? 9 : 5);

  const plane = draw("rect", { class: "plane", x: box.left, y: box.top, width: Math.max(box.right - box.left, 0), height: box.bottom - box.top });
  const marker = rule(0, box.top - 4, 0, box.bottom, "now");
  const curves = draw("g");
  const dots = draw("g", { "aria-hidden": "true" });
  const xs = data.taus.map(x);
  const lines = [];
  // The strongest are drawn last, on top of the others.
  for (const a of order.slice().reverse()) {
    const ys = shown.map((f) => y(data.norms[f][a]));
    const d = T > 1 ? line(xs, ys) : `M${xs[0] - 9} ${ys[0]}h18`;
    lines[a] = draw("path", { d, tabindex: -1, role: "img", "data-input": a });
    curves.append(lines[a]);
  }
  const endGroup = drawEnds(box, ends, endLabels, ends.map((a) => y(data.norms[shown[T - 1]][a])));
  box.svg.append(plane, marker, curves, dots, endGroup);
  Object.assign(pathChart, { box, x, y, xs, shown, order, lines, dots, marker });
  listen(box.svg);
  updatePath();
}

function pathTitles(box, wide) {
  box.svg.append(
    write((box.left + box.right) / 2, box.height - 6, wide ? "penalty weight τ   (strong on the left, weak on the right)" : "penalty weight τ", { "text-anchor": "middle", class: "title" }),
    write(0, 10, wide ? "derivative norm" : "norm", { class: "title" }),
  );
}

// The number of inputs that are on, above the picture.
function countAxis(box, x, shown, most) {
  const count = shown.map((f) => [...data.support[f]].filter((bit) => bit === "1").length);
  const every = Math.max(1, Math.round((T - 1) / (most - 1)));
  const seen = [];
  for (let t = 0; t < T; t += every) seen.push(t);
  for (const t of seen) {
    box.svg.append(write(x(data.taus[t]), box.top - 14, count[t], { "text-anchor": "middle" }));
  }
  box.svg.append(write(box.right, 10, T > 1 ? "inputs selected" : "selected", { "text-anchor": "end", class: "title" }));
}

function drawEnds(box, ends, texts, heights) {
  const group = draw("g", { "aria-hidden": "true" });
  const places = spread(heights, 15, box.top + 4, box.bottom - 2);
  const from = T > 1 ? box.right : (box.left + box.right) / 2 + 10;
  ends.forEach((a, i) => {
    const bend = `M${from + 2} ${heights[i].toFixed(1)}h3L${from + 13} ${places[i].toFixed(1)}h3`;
    group.append(
      draw("g", { class: `end ${colour(a)}`, "data-input": a },
        draw("path", { d: bend, class: "leader" }),
        write(from + 20, places[i] + 4, texts[i], { class: "name" })),
    );
  });
  return group;
}

function updatePath() {
  const { box, x, y, lines, dots, marker, order } = pathChart;
  const at = x(data.taus[state.tau]).toFixed(1);
  marker.setAttribute("x1", at);
  marker.setAttribute("x2", at);
  dots.replaceChildren();
  for (const a of order) {
    const here = state.lit === a ? " here" : "";
    lines[a].setAttribute("class", `curve ${colour(a)}${isOn(a) ? " on" : ""}${here}`);
    lines[a].setAttribute("aria-label", `${shorten(names[a], 60)}, ${describe(a)}`);
    if (isOn(a) && (data.colours[a] >= 0 || here)) {
      dots.prepend(draw("circle", { class: `dot ${colour(a)}${here}`, cx: at, cy: y(norm(a)).toFixed(1), r: here ? 5 : 3.5 }));
    }
  }
  if (!order.some((a) => lines[a].getAttribute("tabindex") === "0")) lines[order[0]].setAttribute("tabindex", 0);
  for (const end of box.svg.querySelectorAll(".end")) {
    end.classList.toggle("here", Number(end.dataset.input) === state.lit);
  }
  box.svg.classList.toggle("lit", state.lit !== null);
}

// The input whose line passes closest to a point of the picture.
function nearest(px, py) {
  const { x, y, xs, shown } = pathChart;
  let right = xs.findIndex((place) => place >= px);
  if (right < 0) right = T - 1;
  const left = Math.max(right - 1, 0);
  const share = xs[right] > xs[left] ? Math.min(Math.max((px - xs[left]) / (xs[right] - xs[left]), 0), 1) : 0;
  let best = null;
  let distance = 28;
  for (const a of everyInput) {
    const height = (1 - share) * y(data.norms[shown[left]][a]) + share * y(data.norms[shown[right]][a]);
    // Coloured lines take precedence over grey lines beside them.
    const away = Math.abs(height - py) + (data.colours[a] < 0 ? 2 : 0);
    if (away < distance) [best, distance] = [a, away];
  }
  return best;
}

function listen(svg) {
  const position = (event) => {
    const frame = svg.getBoundingClientRect();
    const factor = pathChart.box.width / frame.width;
    return [(event.clientX - frame.left) * factor, (event.clientY - frame.top) * factor];
  };
  const choose = (px) => {
    const gaps = pathChart.xs.map((place) => Math.abs(place - px));
    setTau(gaps.indexOf(Math.min(...gaps)));
  };
  svg.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    svg.setPointerCapture(event.pointerId);
    choose(position(event)[0]);
  });
  svg.addEventListener("pointermove", (event) => {
    const [px, py] = position(event);
    if (event.buttons & 1) choose(px);
    const end = event.target.closest(".end");
    light(end ? Number(end.dataset.input) : nearest(px, py), event.pageX, event.pageY);
  });
  svg.addEventListener("pointerleave", () => light(null));
  svg.addEventListener("focusin", (event) => {
    const a = event.target.dataset.input;
    if (a === undefined) return;
    for (const each of pathChart.lines) each.setAttribute("tabindex", -1);
    event.target.setAttribute("tabindex", 0);
    light(Number(a));
  });
  svg.addEventListener("focusout", () => light(null));
  svg.addEventListener("keydown", (event) => {
    const a = event.target.dataset.input;
    const rank = byNorm(everyInput.slice());
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (a === undefined || (!step && !move)) return;
    event.preventDefault();
    if (move) setTau(state.tau + move);
    if (step) pathChart.lines[rank[Math.min(Math.max(rank.indexOf(Number(a)) + step, 0), D - 1)]].focus();
  });
}

// Highlight one input wherever it appears; with a place, name it there.
function light(a, left, top) {
  const tip = byId("tip");
  tip.hidden = a === null || left === undefined;
  if (!tip.hidden) {
    tip.className = colour(a);
    tip.replaceChildren(make("b", {}, clip(data.features[a])), make("span", {}, describe(a)));
    const width = tip.offsetWidth;
    tip.style.left = `${left + width + 24 > window.scrollX + document.documentElement.clientWidth ? Math.max(8, left - width - 14) : left + 14}px`;
    tip.style.top = `${top + 16}px`;
  }
  if (a === state.lit) return;
  state.lit = a;
  updatePath();
  for (const row of byId("selected-list").querySelectorAll("li")) {
    row.classList.toggle("here", a !== null && Number(row.dataset.input) === a);
  }
  readout();
}

// The full name of the input in focus, below the picture.
function readout() {
  const a = state.lit;
  byId("readout").replaceChildren(
    ...(a === null
      ? [`Point at a line, or move along the lines with the arrow keys, to see its input.`]
      : [make("b", {}, data.features[a]), ` — ${describe(a)}`]),
  );
}
