// How the answer came about: weights, prior, coverage, what is missing, timings.

import { count, decimals, docName, fold, make, pairs, plural } from "./elements.js";
import { PARTS, firstParts, scoreBar } from "./scores.js";
import { priorSentence } from "./strips.js";

const MAX_TABLE_ROWS = 500;

/** Return the panel that sums the answer up. */
export function summary(reply, view) {
  return make(
    "section",
    { class: "panel summary", "aria-labelledby": "summary-title" },
    make("h2", { id: "summary-title" }, "How it was found"),
    formula(reply, view),
    notes(reply),
    pairs(
      [
        ["prior", priorShort(reply.prior)],
        ["question words", words(reply.lexical)],
        ["coverage", coverage(reply.coverage)],
        ["generation", count(reply.generation)],
        ["exhausted", reply.exhausted ? "yes: the index has no more" : "no"],
        ["time", times(reply.timings_ms)],
      ],
      { class: "facts" },
    ),
  );
}

function formula(reply, view) {
  const terms = PARTS.flatMap((part, place) => [
    place === 0 ? " = " : " + ",
    make("span", { class: `term ${view.scale.weight(part) === 0 ? "out" : ""}` },
      `${decimals(view.scale.weight(part))} × `,
      make("span", { class: `swatch ${part}`, "aria-hidden": "true" }), part),
  ]);
  return make("p", { class: "formula" }, make("span", { class: "term" }, "score"), terms);
}

function notes(reply) {
  const told = reply.degraded.map(({ group, reason }) => `${group}: ${reason}`);
  const { shards_ok: answered, shards_total: all } = reply.coverage;
  if (answered < all) told.unshift(`${plural(all - answered, "shard")} of ${all} did not answer; better passages may be missing.`);
  if (told.length === 0) return null;
  return make("ul", { class: "notes", "aria-label": "What is missing" }, told.map((note) => make("li", {}, note)));
}

function priorShort(prior) {
  if (prior.position === null) return priorSentence(prior);
  const told = `position ${decimals(prior.position, 2)}, concentration ${decimals(prior.concentration, 2)}`;
  return prior.applied ? told : `${told}; not applied`;
}

function words(lexical) {
  if (lexical.known_terms + lexical.unknown_terms === 0) return "not looked up";
  const known = `${plural(lexical.known_terms, "term")} known to the index`;
  return lexical.unknown_terms === 0 ? known : `${known}, ${count(lexical.unknown_terms)} unknown`;
}

function coverage({ shards_ok: answered, shards_total: all, documents }) {
  return `${answered} of ${plural(all, "shard")}, ${plural(documents, "document")}`;
}

function times(timings) {
  const { total, ...steps } = timings;
  const parts = Object.entries(steps).map(([step, value]) => `${step} ${value.toFixed(1)}`);
  const all = total === undefined ? [] : [`${total.toFixed(1)} ms`];
  return parts.length === 0 ? all.join("") : `${all.join("")} (${parts.join(", ")})`;
}

/** Return the tables of all candidates, each made when it is opened. */
export function candidates(view) {
  const second = `Candidates of the second pass (${count(view.secondPass.size)})`;
  const first = `Candidates of the first pass (${count(view.firstPass.size)})`;
  return make(
    "section",
    { class: "panel folds", "aria-labelledby": "all-title" },
    make("h2", { id: "all-title" }, "Every candidate"),
    fold(second, () => secondTable(view), { id: "second-pass" }),
    fold(first, () => firstTable(view), { id: "first-pass" }),
  );
}

function secondTable(view) {
  const rows = view.decisions.map(({ chunk, rank, kept, near }) => [
    count(rank),
    docName(chunk.doc_id),
    count(chunk.chunk_index),
    ...PARTS.map((part) => decimals(chunk[`${part}_score`])),
    chunk.rerank_score === null ? decimals(chunk.score) : `${decimals(chunk.score)} (cross-encoder ${decimals(chunk.rerank_score)})`,
    scoreBar(view.scale.parts(chunk), view.scale),
    kept ? "kept" : `too near to chunk ${near}`,
  ]);
  return table(["rank", "document", "chunk", ...PARTS, "score", "parts", "decision"], rows, "Second pass");
}

function firstTable(view) {
  const rows = [...view.firstPass.values()].map(({ chunk, rank }) => [
    count(rank),
    docName(chunk.doc_id),
    count(chunk.chunk_index),
    decimals(chunk.position, 2),
    decimals(chunk.score),
    scoreBar(firstParts(chunk), view.scale),
  ]);
  return table(["rank", "document", "chunk", "position", "cosine", "part"], rows, "First pass");
}

function table(names, rows, label) {
  const head = make("tr", {}, names.map((name) => make("th", { scope: "col" }, name)));
  const draw = (some) => some.map((cells) => make("tr", {}, cells.map((cell) => make("td", {}, cell))));
  const body = make("tbody", {}, draw(rows.slice(0, MAX_TABLE_ROWS)));
  const node = make("table", {}, make("thead", {}, head), body);
  const left = rows.slice(MAX_TABLE_ROWS);
  if (left.length > 0) {
    const more = make("button", { type: "button", class: "quiet" }, `Show ${count(left.length)} more rows`);
    more.addEventListener("click", () => {
      body.append(...draw(left));
      more.closest("tfoot").remove();
    });
    node.append(make("tfoot", {}, make("tr", {}, make("td", { colspan: String(names.length) }, more))));
  }
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, node);
}

/** Return what was asked and answered, as JSON. */
export function exchange(body, reply) {
  const code = (value) => () => make("pre", { tabindex: "0" }, JSON.stringify(value, null, 2));
  return make(
    "section",
    { class: "panel folds", "aria-labelledby": "json-title" },
    make("h2", { id: "json-title" }, "As JSON"),
    fold("Body of POST /v1/query", code(body), { id: "request" }),
    fold("Reply", code(reply), { id: "reply" }),
  );
}
