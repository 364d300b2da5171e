// Makes elements. What comes from an answer becomes text nodes, never markup.

/** Return an element; children are nodes, or strings that become text; null is left out. */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null));
  return node;
}

/** Set CSS custom properties, which a strict content security policy allows from scripts. */
export function place(node, properties) {
  for (const [name, value] of Object.entries(properties)) {
    node.style.setProperty(`--${name}`, String(value));
  }
  return node;
}

/** Return details whose body is made when they are first opened. */
export function fold(title, makeBody, attributes = {}) {
  const details = make("details", attributes, make("summary", {}, ...[title].flat()));
  details.addEventListener("toggle", () => details.append(makeBody()), { once: true });
  return details;
}

/** Return a list of names and values; pairs whose value is null are left out. */
export function pairs(entries, attributes = {}) {
  const known = entries.filter(([, value]) => value !== null);
  return make(
    "dl",
    attributes,
    known.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", { dir: "auto" }, value))),
  );
}

/** Return a document's name, which may be long, and in a script that runs right to left. */
export function docName(docId, attributes = {}) {
  return make("bdi", { class: "doc-id", ...attributes }, docId);
}

export const count = (number) => number.toLocaleString("en");
export const decimals = (number, digits = 3) => number.toFixed(digits).replace("-", "−");
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
