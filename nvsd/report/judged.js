// What held-out rows say: errors of the candidates and, of classes, their probabilities.

function drawHistory() {
  const { methods, method, size, error, se } = data.history;
  const { chosen, least } = data;
  const box = canvas(byId("history-chart"), 280, { left: 50, right: 16, top: 16, bottom: 44 }, "Error of the candidates against their number of inputs.");
  const largest = Math.max(...size, 1);
  const x = linear(0, largest, box.left + 6, box.right - 6);
  const ends = error.flatMap((v, i) => (se[i] === null ? [v] : [v - se[i], v + se[i]]));
  const [y, marks] = errorScale(error, Math.min(...ends), Math.max(...ends), box);
  yAxis(box, y, marks);
  xAxis(box, x, ticks(0, largest, 8).filter(Number.isInteger));
  methods.forEach((_, m) => {
    const best = new Map();
    size.forEach((k, i) => {
      if (method[i] === m && !(best.has(k) && error[best.get(k)] <= error[i])) best.set(k, i);
    });
    const steps = [...best.keys()].sort((a, b) => a - b).map((k) => best.get(k));
    const kind = `c${m % 7}`;
    if (methods.length === 1) {
      for (const i of steps) {
        if (se[i] !== null) box.svg.append(draw("line", { class: `whisker ${kind}`, x1: x(size[i]), x2: x(size[i]), y1: y(error[i] - se[i]), y2: y(error[i] + se[i]) }));
      }
    }
    box.svg.append(draw("path", { class: `plain ${kind}`, d: line(steps.map((i) => x(size[i])), steps.map((i) => y(error[i]))) }));
    for (const i of steps) box.svg.append(draw("circle", { class: `dot ${kind}`, cx: x(size[i]), cy: y(error[i]), r: 3.5 }));
  });
  const label = (set, text, lift) => box.svg.append(write(x(set.size), Math.max(y(set.error) - lift, box.top + 2), text, { class: "name", "text-anchor": x(set.size) > box.right - 40 ? "end" : x(set.size) < box.left + 40 ? "start" : "middle" }));
  box.svg.append(draw("circle", { class: "ring", cx: x(chosen.size), cy: y(chosen.error), r: 7 }));
  label(chosen, chosen.error === least.error ? "chosen, least" : "chosen", 14);
  if (chosen.error !== least.error) {
    box.svg.append(draw("rect", { class: "ring", x: x(least.size) - 5.5, y: y(least.error) - 5.5, width: 11, height: 11 }));
    label(least, "least", Math.abs(x(least.size) - x(chosen.size)) < 60 ? 30 : 14);
  }
  box.svg.append(write((box.left + box.right) / 2, box.height - 6, "number of inputs", { "text-anchor": "middle" }));
  if (methods.length > 1) legend(byId("history-legend"), methods.map((name, m) => [shorten(name, 28), `c${m % 7}`]));
  const bars = methods.length === 1 ? ", with one standard error" : ", the best set of each size";
  byId("history-caption").replaceChildren(`${capital(data.measure)} on held-out rows${bars}. Ring: the chosen set, `, make("strong", {}, withError(chosen)), chosen.error === least.error ? "." : `; square: the least, ${withError(least)}.`);
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const withError = ({ error, se }) => `${aligned(error)}${se === null ? "" : `\u00a0±\u00a0${number(se, 2)}`}`;

// A square picture of two shares; the dotted line is what is right, or chance.
function square(id, label, xTitle, yTitle) {
  const place = byId(id);
  const size = Math.min(Math.max(place.clientWidth, 160), 360);
  const box = canvas(place, size, { left: 44, right: Math.max(place.clientWidth, 160) - size + 12, top: 24, bottom: 44 }, label);
  const x = linear(0, 1, box.left, box.right);
  const y = linear(0, 1, box.bottom, box.top);
  yAxis(box, y, [0, 0.25, 0.5, 0.75, 1]);
  xAxis(box, x, size > 260 ? [0, 0.25, 0.5, 0.75, 1] : [0, 0.5, 1]);
  box.svg.append(
    rule(x(0), y(0), x(1), y(1), "limit"),
    write((box.left + box.right) / 2, box.height - 6, xTitle, { "text-anchor": "middle" }),
    write(0, 10, yTitle),
  );
  return { box, x, y };
}

const classKind = (i) => `c${i % 7}`;
const classNames = data.classes ? labels(data.classes.labels, 24) : [];
const ofClass = (curve) => classNames[curve.class];

function drawCalibration() {
  const { curves, quality, count } = data.classes;
  const { box, x, y } = square("calibration-chart", "Share of the class against the predicted probability.", "predicted probability", "share of the class");
  curves.forEach((curve, i) => {
    const [mean, part, se] = curve.calibration;
    const kind = classKind(i);
    if (curves.length === 1) {
      mean.forEach((p, j) => box.svg.append(draw("line", { class: `whisker ${kind}`, x1: x(p), x2: x(p), y1: y(Math.max(part[j] - se[j], 0)), y2: y(Math.min(part[j] + se[j], 1)) })));
    }
    box.svg.append(draw("path", { class: `plain ${kind}`, d: line(mean.map(x), part.map(y)) }));
    mean.forEach((p, j) => box.svg.append(draw("circle", { class: `dot ${kind}`, cx: x(p), cy: y(part[j]), r: 3.5 })));
  });
  const which = curves.length === 1 ? ` of “${ofClass(curves[0])}”` : "";
  const bars = curves.length === 1 ? " with one standard error" : "";
  byId("calibration-caption").replaceChildren(
    `${plural(count, "held-out row")} in bins of equally many by their probability${which}${bars}. On the dotted line probabilities are right. Mean distance from it: `,
    make("strong", {}, number(quality.calibration_error, 2)), `; Brier score ${number(quality.brier)}.`);
}

function drawRoc() {
  const { curves, quality } = data.classes;
  const { box, x, y } = square("roc-chart", "ROC curve of held-out probabilities.", "others above the threshold", "class above the threshold");
  curves.forEach((curve, i) => {
    const [fpr, tpr] = curve.roc;
    box.svg.append(draw("path", { class: `plain ${classKind(i)}`, d: line(fpr.map(x), tpr.map(y)) }));
  });
  if (curves.length > 1) legend(byId("roc-legend"), curves.map((curve, i) => [`${ofClass(curve)}: AUC ${share(curve.auc)}`, classKind(i)]));
  const what = curves.length === 1 ? `“${ofClass(curves[0])}” against “${classNames[0]}”` : "Each class against the rest; mean over the classes";
  byId("roc-caption").replaceChildren(`${what}: AUC `, make("strong", {}, quality.auc.toFixed(3)), ". The dotted line is chance.");
}

function drawConfusion() {
  const { confusion, quality } = data.classes;
  const sums = confusion.map((row) => row.reduce((a, b) => a + b, 0));
  byId("confusion-caption").replaceChildren("Rows: the class; columns: the most probable class of held-out rows. Right: ", make("strong", {}, `${(100 * quality.accuracy).toFixed(0)} %`), ".");
  const head = make("tr", {}, make("th", { scope: "col" }, ""), ...classNames.map((name) => make("th", { scope: "col", class: "num" }, name)));
  document.querySelector("#confusion-table thead").replaceChildren(head);
  document.querySelector("#confusion-table tbody").replaceChildren(...confusion.map((row, i) =>
    make("tr", {}, make("th", { scope: "row" }, classNames[i]), ...row.map((count, j) => {
      const part = sums[i] ? count / sums[i] : 0;
      const cell = make("td", { class: `num${i === j ? " right" : ""}` }, `${count}`, make("small", {}, ` ${(100 * part).toFixed(0)} %`));
      cell.style.setProperty("--part", part.toFixed(2));
      return cell;
    }))));
}
