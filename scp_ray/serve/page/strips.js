// Where in each document the hits lie, on a line from position 0 to 1, and where the prior is.

import { count, decimals, docName, make, place, plural } from "./elements.js";

const FIRST_ROWS = 12;
const CURVE_STEPS = 40;
const CURVE_HEIGHT = 20;

/** Return the strips; `show` is called with the index of a result whose mark was clicked. */
export function strips(view, show) {
  const rows = make("div", { class: "strips" });
  const documents = view.documents();
  const draw = (some) => some.forEach((entry) => rows.append(documentRow(entry, view, show)));
  if (view.firstPass.size > 0) rows.append(priorRow(view));
  draw(documents.slice(0, FIRST_ROWS));
  const rest = documents.slice(FIRST_ROWS);
  const more = make("button", { type: "button", class: "more" }, `Show ${plural(rest.length, "more document")}`);
  more.hidden = rest.length === 0;
  more.addEventListener("click", () => {
    draw(rest);
    more.remove();
  });
  return make(
    "section",
    { class: "panel where", "aria-labelledby": "where-title" },
    make("h2", { id: "where-title" }, "Where the hits lie"),
    legend(view),
    rows,
    axis(),
    more,
  );
}

function legend(view) {
  const entry = (kind, text) => make("li", {}, make("span", { class: `key ${kind}`, "aria-hidden": "true" }), text);
  return make(
    "ul",
    { class: "legend" },
    entry("kept", "result, by rank"),
    entry("dropped", "dropped, tied to the result it is too near to"),
    entry("first", "first pass"),
    view.prior.position === null ? null : entry(view.prior.applied ? "prior" : "prior idle", "prior"),
  );
}

function axis() {
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((p) => place(make("span", {}, String(p)), { p }));
  return make("div", { class: "strip-row axis", "aria-hidden": "true" }, make("span", {}), make("div", { class: "line" }, ticks));
}

/** All first-pass hits and the prior that they make, under the curve of the position term. */
function priorRow(view) {
  const line = make("div", { class: "line tall", "aria-hidden": "true" });
  if (view.prior.position !== null) line.append(curve(view.prior), needle(view.prior));
  for (const { chunk, rank } of view.firstPass.values()) {
    line.append(tick(chunk, `first pass, rank ${rank}: ${chunk.doc_id}, chunk ${chunk.chunk_index}`));
  }
  return make(
    "div",
    { class: "strip-row first-row" },
    make("span", { class: "strip-name" }, `First pass, ${plural(view.firstPass.size, "hit")}`),
    line,
    make("span", { class: "unseen" }, priorSentence(view.prior)),
  );
}

/** Say in a sentence what the prior is. */
export function priorSentence(prior) {
  if (prior.position === null) return "none: the first pass found nothing that all shards share";
  const found = `The first pass expects the answer at position ${decimals(prior.position, 2)}, concentration ${decimals(prior.concentration, 2)}`;
  return prior.applied ? `${found}.` : `${found}; the prior is not applied.`;
}

/** Draw cos(pi (position - prior)): what the position term gives along a document. */
function curve(prior) {
  const points = Array.from({ length: CURVE_STEPS + 1 }, (_, step) => {
    const p = step / CURVE_STEPS;
    const height = (1 - Math.cos(Math.PI * (p - prior.position))) / 2;
    return `${p * 100},${(height * CURVE_HEIGHT).toFixed(2)}`;
  });
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 100 ${CURVE_HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("class", prior.applied ? "curve" : "curve idle");
  const area = document.createElementNS("http://www.w3.org/2000/svg", "polygon");
  area.setAttribute("points", `0,${CURVE_HEIGHT} ${points.join(" ")} 100,${CURVE_HEIGHT}`);
  svg.append(area);
  return svg;
}

function needle(prior) {
  const node = make("span", { class: prior.applied ? "needle" : "needle idle", title: priorSentence(prior) });
  return place(node, { p: prior.position });
}

function tick(chunk, title) {
  return place(make("span", { class: "tick", title }), { p: chunk.position });
}

function documentRow(entry, view, show) {
  const line = make("div", { class: "line", "aria-hidden": "true" });
  if (view.prior.position !== null) line.append(needle(view.prior));
  for (const { chunk, rank } of entry.first) {
    line.append(tick(chunk, `chunk ${chunk.chunk_index}: first pass, rank ${rank}`));
  }
  for (const drop of entry.dropped) line.append(...droppedMarks(drop, entry));
  for (const { chunk, index } of entry.kept.toReversed()) line.append(keptMark(chunk, index, show));
  return make(
    "div",
    { class: "strip-row" },
    make("span", { class: "strip-name" }, docName(entry.docId, { title: entry.docId })),
    line,
    make("span", { class: "unseen" }, sentenceOf(entry)),
  );
}

function droppedMarks({ chunk, near }, entry) {
  const title = `chunk ${chunk.chunk_index}: dropped, too near to chunk ${near} (score ${decimals(chunk.score)})`;
  const mark = place(make("span", { class: "mark dropped", title }), { p: chunk.position });
  const kept = entry.kept.find((other) => other.chunk.chunk_index === near);
  if (!kept) return [mark];
  const [from, to] = [chunk.position, kept.chunk.position].sort((a, b) => a - b);
  return [place(make("span", { class: "tie" }), { p: from, span: to - from }), mark];
}

function keptMark(chunk, index, show) {
  const title = `result ${index + 1}: chunk ${chunk.chunk_index}, score ${decimals(chunk.score)}`;
  const mark = place(make("span", { class: "mark kept", title }, count(index + 1)), { p: chunk.position });
  mark.addEventListener("click", () => show(index));
  return mark;
}

function sentenceOf(entry) {
  const at = (chunk) => `chunk ${chunk.chunk_index} at position ${decimals(chunk.position, 2)}`;
  const kept = entry.kept.map(({ chunk, index }) => `result ${index + 1} is ${at(chunk)}`);
  const dropped = entry.dropped.map(({ chunk, near }) => `dropped is ${at(chunk)}, too near to chunk ${near}`);
  const first = entry.first.length > 0 ? [plural(entry.first.length, "first-pass hit")] : [];
  return `${[...kept, ...dropped, ...first].join("; ")}.`;
}
