// The data, what is chosen, and the sentences about it.

const data = JSON.parse(byId("data").textContent);
const T = data.taus.length;
const D = data.features.length;
const state = { mu: data.start.mu, tau: data.start.tau, lit: null };
const current = () => state.mu * T + state.tau;

// Control characters and direction marks are removed from labels; many scripts need joiners.
const odd = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

function shorten(name, longest) {
  const head = name.slice(0, 4 * longest + 400);
  const text = [...head.replace(/\s+/g, " ").replace(odd, "\ufffd").trim()];
  const tail = [...name.slice(-4 * longest).replace(/\s+/g, " ").replace(odd, "\ufffd").trim()];
  if (!text.length) return "(blank)";
  if (text.length <= longest && head === name) return text.join("");
  const end = Math.floor(longest / 3);
  return `${text.slice(0, longest - end - 1).join("")}…${tail.slice(-end).join("")}`;
}

// Names as labels; names that become equal when shortened get a number.
function labels(names, longest) {
  const texts = names.map((name) => shorten(name, longest));
  const count = new Map();
  texts.forEach((text) => count.set(text, (count.get(text) ?? 0) + 1));
  return texts.map((text, i) => (count.get(text) > 1 ? `${text} #${i + 1}` : text));
}

const names = labels(data.features, 28);
const briefNames = labels(data.features, 20);
const groupNames = data.groups ? labels(data.groups, 28) : null;
const target = shorten(data.target, 60);
const colour = (a) => (data.colours[a] < 0 ? "cx" : `c${data.colours[a]}`);
const norm = (a) => data.norms[current()][a];
const isOn = (a) => data.support[current()][a] === "1";
const byNorm = (list) => list.sort((a, b) => norm(b) - norm(a) || a - b);
const selected = () => byNorm([...Array(D).keys()].filter(isOn));
const everyInput = [...Array(D).keys()];
const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const tauText = (tau = data.taus[state.tau]) => number(tau);
const muText = () => (data.mus ? `, μ = ${number(data.mus[state.mu])}` : "");

const clip = (name) => (name.length > 600 ? `${name.slice(0, 600)}…` : name);

// [a, b, c] as "a, b and c", with nodes for the names.
function listed(nodes) {
  return nodes.flatMap((node, i) =>
    i === 0 ? [node] : [i === nodes.length - 1 ? " and " : ", ", node],
  );
}

const named = (a) => make("b", { class: colour(a), title: clip(data.features[a]) }, shorten(names[a], 40));

function answer() {
  const on = selected();
  const at = [make("i", {}, "τ"), ` = ${tauText()}${muText()}`];
  if (!on.length) {
    return ["At ", ...at, ", on none: the fitted function is flat at every sample."];
  }
  const shown = leading(on).map(named);
  const few = shown.length === on.length;
  const amount = on.length === D ? (D === 1 ? "the only input" : `all ${D} inputs`) : `${on.length} of ${plural(D, "input")}`;
  const rest = few ? [] : [` and ${on.length - shown.length} more`];
  const list = few ? listed(shown) : shown.flatMap((node, i) => (i ? [", ", node] : [node]));
  const order = on.length > 1 ? (few ? ", strongest first: " : ", most strongly on ") : ": ";
  return ["At ", ...at, `, on ${amount}${groupPart(on)}${order}`, ...list, ...rest, "."];
}

// What the selection chose, if there was one; it does not change with τ.
function verdict() {
  const { selected: kept, inputs, reason } = data.history;
  const head = "Judged by refits on held-out rows, on ";
  if (!kept.length) {
    return `${head}none of ${plural(inputs, "input")}: no set of them predicts ${target} clearly better than its mean.`;
  }
  const why = reason ? ` ${reason[0].toUpperCase()}${reason.slice(1)}.` : "";
  const some = kept.slice(0, 12).map((name) => shorten(name, 40));
  const more = kept.length > some.length ? ` and ${kept.length - some.length} more` : "";
  const list = more ? some.join(", ") : listed(some).join("");
  return `${head}${kept.length} of ${plural(inputs, "input")}: ${list}${more}.${why}`;
}

// The strongest inputs that fit into one sentence.
function leading(on) {
  let length = 0;
  const count = on.findIndex((a, i) => i >= 10 || (length += names[a].length + 2) > 120);
  return count < 0 ? on : on.slice(0, Math.max(count, 1));
}

function groupPart(on) {
  if (!data.groups) return "";
  const used = new Set(on.map((a) => data.groupOf[a])).size;
  return used === data.groups.length ? "" : ` in ${used} of ${data.groups.length} groups`;
}

// R², with a third decimal where two would round to one.
function share(value) {
  if (Math.abs(value) >= 10) return number(value, 2);
  const text = value.toFixed(value > 0.99 ? 3 : 2);
  return Number(text) === 0 ? "0.00" : text.replace("-", "−");
}

function facts() {
  const parts = [];
  const f = current();
  if (data.r2) parts.push(`${data.loss.explained} ${share(data.r2[f])} on the samples`);
  if (data.errors && data.errors.r2) parts.push(`R² ${share(data.errors.r2[f])} on held-out data`);
  const nodes = [parts.join(", ")];
  if (data.certificate) {
    const good = data.certificate.certified[f] === "1";
    nodes.push(
      parts.length ? " · " : "",
      good
        ? make("span", { class: "good" }, "certified optimal within tolerance")
        : make("span", { class: "bad" }, "not certified: more iterations are needed"),
    );
  }
  return nodes;
}

// Why the report opens where it does.
function opening() {
  const at = `The report opens at τ = ${tauText(data.taus[data.start.tau])}${muText()}, `;
  const reasons = {
    chosen: "the choice of the estimator.",
    simple: "the strongest penalty whose held-out error is within one standard error of the least (the 1-SE rule).",
    least: "where the held-out error is least.",
    fit: "where 90 % of the best fit to the samples is reached. This is only a first view: choosing τ needs held-out data.",
    last: "the weakest penalty.",
  };
  return at + reasons[data.start.why];
}

function announcement() {
  const on = selected();
  const some = on.slice(0, 12).map((a) => shorten(names[a], 40));
  const more = on.length > some.length ? ` and ${on.length - some.length} more` : "";
  const which = on.length ? `: ${some.join(", ")}${more}` : "";
  return `τ ${tauText()}${muText()}: ${on.length} of ${plural(D, "input")} selected${which}`;
}

function describe(a) {
  const group = data.groups ? `, group ${groupNames[data.groupOf[a]]}` : "";
  const size = `${isOn(a) ? "" : "off, "}derivative norm ${number(norm(a))}`;
  return `${group ? group.slice(2) + ", " : ""}${size} at τ = ${tauText()}`;
}

function certificateText() {
  const { gap, iterations, exact, certified, tol } = data.certificate;
  const first = state.mu * T;
  const range = [...Array(T).keys()].map((t) => first + t);
  const good = range.filter((f) => certified[f] === "1").length;
  const f = current();
  const within = tol === null ? "" : ` (tolerance ${number(tol)})`;
  const here =
    exact[f] === "1"
      ? "At this τ the solution is known in closed form."
      : `At this τ the objective is within ${number(gap[f], 2)} of its minimum, relative to the ` +
        `${data.loss.scale} ${target}${within}, after ${plural(iterations[f], "iteration")}.`;
  const all =
    good === T
      ? `Yes, at ${T === 1 ? "this τ" : `all ${T} τ`}.`
      : `At ${good} of ${T} τ. The others, in orange, ran out of iterations: their lines are approximate.`;
  return [make("strong", {}, all), ` ${here}`];
}
