// Controls, the list of selected inputs, the table, and the events.

const columns = [
  { key: "name", title: "Input", text: (a) => data.features[a], value: (a) => data.features[a] },
  data.groups && { key: "group", title: "Group", text: (a) => data.groups[data.groupOf[a]], value: (a) => data.groups[data.groupOf[a]] },
  { key: "selected", title: "Selected", text: (a) => (isOn(a) ? "yes" : "no"), value: (a) => (isOn(a) ? 1 : 0), falling: true },
  { key: "norm", title: "Derivative norm", numeric: true, value: norm, falling: true },
  data.heldOutNorms && { key: "held-out", title: "Norm on held-out data", numeric: true, value: (a) => data.heldOutNorms[current()][a], falling: true },
  { key: "enters", title: "Enters at τ", numeric: true, value: (a) => entry(a), falling: true },
].filter(Boolean);
const sorting = { column: columns.find((each) => each.key === "norm"), falling: true };

// The largest τ at which an input is on.
function entry(a) {
  for (let t = 0; t < T; t++) if (data.support[state.mu * T + t][a] === "1") return data.taus[t];
  return null;
}

function drawSelected() {
  const on = selected();
  const top = Math.max(...on.map(norm), ...(data.heldOutNorms ? on.map((a) => data.heldOutNorms[current()][a]) : []), 0) || 1;
  byId("selected-title").textContent = `Selected: ${on.length} of ${D}`;
  byId("selected-caption").textContent = on.length
    ? `Derivative norms at τ = ${tauText()}.${data.heldOutNorms ? " The upright mark is the norm on held-out data." : ""}`
    : "";
  byId("selected").style.setProperty("--names", `${Math.max(4, ...on.map((a) => briefNames[a].length))}ch`);
  byId("selected-list").replaceChildren(
    on.length
      ? make("ol", {}, ...on.map((a) => selectedRow(a, top)))
      : make("p", { class: "caption" }, "No input. Move τ to the right to weaken the penalty."),
  );
}

function selectedRow(a, top) {
  const bar = make("i");
  bar.style.width = `${(100 * norm(a)) / top}%`;
  const track = make("span", { class: `track ${colour(a)}`, "aria-hidden": "true" }, bar);
  if (data.heldOutNorms) {
    const mark = make("u");
    mark.style.left = `calc(${(100 * data.heldOutNorms[current()][a]) / top}% - 1px)`;
    track.append(mark);
  }
  const row = make("li", { class: "row", "data-input": a, title: clip(data.features[a]) },
    make("span", {}, briefNames[a]), track, make("span", {}, aligned(norm(a))));
  row.addEventListener("pointerenter", () => light(a));
  row.addEventListener("pointerleave", () => light(null));
  return row;
}

function drawLegend() {
  const place = byId("path-legend");
  if (!data.groups) {
    if (D > 7) place.append(make("span", { class: "key cx" }, `in colour: the 7 inputs that are strongest over the whole path; grey: the other ${D - 7}`));
    return;
  }
  const slots = new Map();
  data.groupOf.forEach((g, a) => data.colours[a] >= 0 && slots.set(g, data.colours[a]));
  for (const [g, slot] of [...slots].sort((p, q) => p[1] - q[1])) {
    place.append(make("span", { class: `key c${slot}`, title: data.groups[g] }, groupNames[g]));
  }
  const others = data.groups.length - slots.size;
  if (others) place.append(make("span", { class: "key cx" }, plural(others, "other group")));
}

function drawAbout() {
  const { samples, kernel, penalty, nu, version } = data.about;
  const missing = [
    !data.errors && "validation=(X, y) for the error on held-out data",
    !data.effects && "X for the effects",
    !data.fit && "y for predicted against observed",
  ].filter(Boolean);
  const made = [
    samples && plural(samples, "sample"), plural(D, "input"), kernel, penalty && `penalty ${penalty}`,
    nu !== null && `ν = ${number(nu)}`, version && `nvsd ${version}`,
  ].filter(Boolean);
  const paragraph = (title, text) => make("p", {}, make("strong", {}, title), ` ${text}`);
  byId("about-text").append(
    paragraph("Selected", "means switched on at the samples. An input that is off has a derivative of zero there, within the tolerance. The function may still depend on it elsewhere. A refit on the selected inputs does ignore the others; use it to predict."),
    paragraph("Many inputs at once", "can be the exact answer: with few samples the minimiser may switch on all inputs together. The order of the norms still ranks them."),
    paragraph("Certified", "means that a proof, the duality gap, bounds how far the objective is from its minimum. The same gap bounds the norms of the exact minimiser: derivative_norm_lower and derivative_norm_upper of the path."),
    paragraph("Made from", `${made.join(", ")}.`),
    ...(missing.length ? [paragraph("Not given", `${missing.join("; ")}.`)] : []),
  );
}

function drawJumps() {
  if (!data.errors) return;
  const { least, simple, chosen } = data.errors;
  const jump = (text, point) => {
    if (!point) return;
    const button = make("button", { type: "button", "data-jump": text }, text);
    button.addEventListener("click", () => {
      if (data.mus && data.errors.error.length > 1) setMu(point.curve);
      setTau(point.tau);
    });
    byId("jumps").append(button);
  };
  jump("Chosen", chosen);
  jump("1-SE", simple);
  jump("Least error", least);
}

let pending = 0;
let spoken = 0;

// Everything that depends on τ, at most once per frame.
function refresh() {
  const slider = byId("tau");
  slider.value = state.tau;
  slider.setAttribute("aria-valuetext", `τ = ${tauText()}, ${selected().length} of ${plural(D, "input")} selected`);
  byId("tau-value").textContent = tauText();
  hold(byId("answer"), ...answer());
  hold(byId("facts"), ...facts());
  clearTimeout(spoken);
  spoken = setTimeout(() => (byId("status").textContent = announcement()), 400);
  updatePath();
  drawSelected();
  if (data.errors) drawErrors();
  if (data.certificate) drawCertificate();
  if (data.effects) drawEffects();
  if (data.fit) drawFit();
  drawTable();
  readout();
}

function setTau(t) {
  state.tau = Math.min(Math.max(t, 0), T - 1);
  cancelAnimationFrame(pending);
  pending = requestAnimationFrame(refresh);
}

function setMu(m) {
  state.mu = m;
  byId("mu").value = m;
  drawPath();
  setTau(state.tau);
}

function drawAll() {
  release();
  drawPath();
  if (data.history) drawHistory();
  refresh();
}

function start() {
  byId("question").textContent = `Which inputs does ${target} depend on?`;
  for (const id of ["errors", "history", "certificate", "effects", "fit"]) byId(id).hidden = !data[id];
  const beside = ["errors", "history", "certificate", !data.effects && "fit"].filter((id) => data[id]);
  for (const id of beside) byId(id).classList.add(["full", "half", "third", "half"][beside.length - 1]);
  byId("effects").classList.add(data.fit ? "large" : "full");
  if (data.effects) byId("fit").classList.add("small");
  byId("opened").textContent = opening();
  byId("verdict").hidden = !data.history;
  if (data.history) byId("verdict").textContent = verdict();
  const slider = byId("tau");
  slider.max = T - 1;
  slider.disabled = T === 1;
  slider.addEventListener("input", () => setTau(Number(slider.value)));
  if (data.mus) {
    byId("mu-label").hidden = false;
    byId("mu").append(...data.mus.map((mu, m) => make("option", { value: m }, number(mu))));
    byId("mu").value = state.mu;
    byId("mu").addEventListener("change", () => setMu(Number(byId("mu").value)));
  }
  setTheme();
  drawLegend();
  drawJumps();
  drawHead();
  drawAbout();
  drawAll();
  listenToPage();
}

start();
