// What is chosen on the page of a path, and the sentences about it.

const T = data.taus.length;
const state = { mu: data.start.mu, tau: data.start.tau, lit: null };
const current = () => state.mu * T + state.tau;

const colour = (a) => (data.colours[a] < 0 ? "cx" : `c${data.colours[a]}`);
const norm = (a) => data.norms[current()][a];
const isOn = (a) => data.support[current()][a] === "1";
const byNorm = (list) => list.sort((a, b) => norm(b) - norm(a) || a - b);
const selected = () => byNorm([...Array(D).keys()].filter(isOn));
const tauText = (tau = data.taus[state.tau]) => number(tau);
const muText = () => (data.mus ? `, μ = ${number(data.mus[state.mu])}` : "");

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
