// The data, names as labels, and words; every page has these.

const data = JSON.parse(byId("data").textContent);
const D = data.features.length;

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
const everyInput = [...Array(D).keys()];
const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

const clip = (name) => (name.length > 600 ? `${name.slice(0, 600)}…` : name);

// [a, b, c] as "a, b and c", with nodes for the names.
function listed(nodes) {
  return nodes.flatMap((node, i) =>
    i === 0 ? [node] : [i === nodes.length - 1 ? " and " : ", ", node],
  );
}

// R², with a third decimal where two would round to one.
function share(value) {
  if (Math.abs(value) >= 10) return number(value, 2);
  const text = value.toFixed(value > 0.99 ? 3 : 2);
  return Number(text) === 0 ? "0.00" : text.replace("-", "−");
}
