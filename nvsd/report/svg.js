// Elements, scales and axes. Text enters the page only as text nodes, never as markup.

const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const make = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const write = (x, y, text, attributes = {}) => draw("text", { x, y, ...attributes }, text);
const rule = (x1, y1, x2, y2, kind) => draw("line", { x1, y1, x2, y2, class: kind });

function linear(low, high, start, end) {
  const factor = (end - start) / (high - low || 1);
  return (value) => start + (value - low) * factor;
}

// Round numbers: about `count` of them between low and high.
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((k) => k * power >= rough * 0.75);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

// Powers of ten between low and high; if they are few, also their multiples.
function logTicks(low, high, count) {
  const decades = Math.log10(high / low);
  const every = Math.max(1, Math.ceil(decades / count));
  const steps = decades < 1 ? [1, 2, 3, 5] : decades < 2.2 ? [1, 3] : [1];
  const found = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) {
    if (e % every) continue;
    for (const k of steps) {
      const value = k * 10 ** e;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  return found;
}

const exponents = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// A number as people write it: 0.0123, 45 600, 3.2×10⁻⁷.
function number(value, precision = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-4 && size < 1e5) {
    return String(Number(value.toPrecision(precision))).replace("-", "−");
  }
  const [digits, exponent] = value.toExponential(precision - 1).split("e");
  const raised = [...String(Number(exponent))].map((c) => exponents[c]).join("");
  const head = String(Number(digits)).replace("-", "−");
  return (head === "1" ? "" : head === "−1" ? "−" : `${head}×`) + `10${raised}`;
}

// The same with trailing zeros, so that numbers in a column can be compared.
function aligned(value) {
  const size = Math.abs(value);
  if (!value || size < 1e-4 || size >= 1e5) return number(value);
  return (size >= 100 ? String(Math.round(value)) : value.toPrecision(3)).replace("-", "−");
}

// New content for a place that may grow but not shrink, so that the page does not jump while τ changes.
function hold(place, ...nodes) {
  place.replaceChildren(...nodes);
  const height = Math.max(place.offsetHeight, parseFloat(place.style.minHeight) || 0);
  place.style.minHeight = `${height}px`;
}

function release() {
  for (const place of document.querySelectorAll("[style]")) place.style.minHeight = "";
}

// An empty picture that fills its place, redrawn when the place changes its width.
function canvas(place, height, margin, label) {
  const width = Math.max(place.clientWidth, 160);
  const box = {
    width, height, left: margin.left, right: width - margin.right,
    top: margin.top, bottom: height - margin.bottom,
  };
  box.svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  place.replaceChildren(box.svg);
  return box;
}

function yAxis(box, scale, values, format = number) {
  for (const value of values) {
    const y = scale(value);
    box.svg.append(
      rule(box.left, y, box.right, y, "gridline"),
      write(box.left - 8, y + 4, format(value), { "text-anchor": "end" }),
    );
  }
}

function xAxis(box, scale, values, format = number) {
  box.svg.append(rule(box.left, box.bottom, box.right, box.bottom, "axis"));
  for (const value of values) {
    const x = scale(value);
    box.svg.append(
      rule(x, box.bottom, x, box.bottom + 4, "axis"),
      write(x, box.bottom + 17, format(value), { "text-anchor": "middle" }),
    );
  }
}

const line = (xs, ys) =>
  ys.map((y, i) => `${i ? "L" : "M"}${xs[i].toFixed(1)} ${y.toFixed(1)}`).join("");

// τ from large to small on a logarithmic scale; zero is one step beyond the smallest.
function tauScale(taus, start, end) {
  const positive = taus.filter((tau) => tau > 0);
  if (!positive.length) return Object.assign(() => (start + end) / 2, { ticks: () => taus });
  const high = Math.max(...positive);
  const low = Math.min(...positive);
  const step = Math.max(Math.log10(high / low) / Math.max(taus.length - 2, 1), 0.05);
  const least = Math.log10(low) - (positive.length < taus.length ? 1.5 * step : 0);
  const place =
    high === low && least === Math.log10(low)
      ? () => (start + end) / 2
      : linear(Math.log10(high), least, start, end);
  const scale = (tau) => place(tau > 0 ? Math.log10(tau) : least);
  scale.ticks = (count) => {
    const found = high === low ? [high] : logTicks(low, high, count);
    return positive.length < taus.length ? [...found, 0] : found;
  };
  return scale;
}

// Moves labels apart as little as possible, so that neighbours do not overlap.
function spread(places, distance, low, high) {
  const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b]);
  const blocks = [];
  order.forEach((i, k) => {
    blocks.push({ sum: places[i] - k * distance, size: 1 });
    while (blocks.length > 1) {
      const [a, b] = blocks.slice(-2);
      if (a.sum / a.size <= b.sum / b.size) break;
      blocks.splice(-2, 2, { sum: a.sum + b.sum, size: a.size + b.size });
    }
  });
  const moved = [];
  const room = Math.max(low, high - (places.length - 1) * distance);
  let k = 0;
  for (const block of blocks) {
    for (let i = 0; i < block.size; i++, k++) {
      moved[order[k]] = Math.min(Math.max(block.sum / block.size, low), room) + k * distance;
    }
  }
  return moved;
}

function legend(place, entries, round) {
  place.replaceChildren(
    ...entries.map(([text, kind]) => make("span", { class: `key ${kind}${round ? " round" : ""}` }, text)),
  );
}

// A scale for errors: logarithmic if they span a wide range.
function errorScale(values, low, high, box) {
  const least = Math.min(...values);
  if (least > 0 && Math.max(...values) > 10 * least) {
    const bottom = Math.max(low * 0.85, least / 2);
    const scale = linear(Math.log10(bottom), Math.log10(high), box.bottom, box.top);
    return [(v) => scale(Math.log10(Math.max(v, bottom))), logTicks(bottom, high, 5)];
  }
  const room = (high - low) * 0.06 || 0.5;
  const bottom = Math.max(low - room, least >= 0 ? 0 : -Infinity);
  return [linear(bottom, high + room, box.bottom, box.top), ticks(bottom, high + room, 5)];
}
