// The passages that were found, in the order of the answer, each with what it pushed out.

import { count, decimals, docName, fold, make, pairs, plural } from "./elements.js";
import { firstParts, scoreBar, scoreTable } from "./scores.js";
import { marked } from "./words.js";

const PAGE = 50;
const LONG_TEXT = 1600;

/** The list of passages; long ones are drawn a page at a time. */
export class Passages {
  constructor(reply, view) {
    this.results = reply.results;
    this.view = view;
    this.list = make("ol", { class: "passages" });
    this.more = make("button", { type: "button", class: "more" });
    this.more.addEventListener("click", () => this.#drawNext());
    this.node = make("section", { class: "found", "aria-labelledby": "found-title" },
      make("h2", { id: "found-title" }, "Passages"), this.list, this.more);
    this.#draw(PAGE);
  }

  /** Bring a result into view and give it the focus. */
  show(index) {
    const reached = this.list.children.length;
    if (reached <= index) this.#draw(index + 1 - reached);
    const card = this.list.children[index];
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "start" });
  }

  #drawNext() {
    const reached = this.list.children.length;
    this.#draw(PAGE);
    this.list.children[reached].focus();
  }

  #draw(number) {
    const start = this.list.children.length;
    const next = this.results.slice(start, start + number);
    this.list.append(...next.map((result, place) => card(result, start + place, this.view)));
    const left = this.results.length - this.list.children.length;
    this.more.hidden = left === 0;
    this.more.textContent = `Show ${count(Math.min(PAGE, left))} more of the ${count(left)} left`;
  }
}

function card(result, index, view) {
  return make(
    "li",
    { class: "card panel", tabindex: "-1", id: `result-${index + 1}` },
    make(
      "div",
      { class: "card-head" },
      make("span", { class: "rank", "aria-hidden": "true" }, String(index + 1)),
      make("h3", {}, make("span", { class: "unseen" }, `Result ${index + 1}: `), docName(result.doc_id)),
      changeOf(result, view),
    ),
    make("p", { class: "place" }, placeOf(result)),
    cnmOf(result.cnm),
    make("div", { class: "card-body" }, textOf(result, view), scoresOf(result, view)),
    droppedBy(result, view),
    fold("Source and metadata", () => source(result), { class: "source" }),
  );
}

function changeOf(result, view) {
  const change = view.changeOf(result);
  return change === null ? null : make("span", { class: "change" }, change);
}

function placeOf(result) {
  const chunk = `chunk_index ${result.chunk_index} of ${plural(result.num_chunks, "chunk")}`;
  const characters = `characters ${count(result.char_start)}–${count(result.char_end)}`;
  return [
    make("span", {}, chunk),
    make("span", {}, characters),
    make("span", {}, `position ${decimals(result.position, 2)}`),
  ];
}

function cnmOf(cnm) {
  const entries = [["category", cnm.category], ...cnm.nouns.map((noun) => ["noun", noun]), ["model", cnm.model]];
  if (entries.every(([, value]) => value === null)) {
    return make("p", { class: "cnm none" }, "no category, nouns or model");
  }
  return pairs(entries, { class: "cnm", "aria-label": "Category, nouns, model" });
}

function textOf(result, view) {
  const body = make("div", { class: "text", dir: "auto" });
  if (result.text.length <= LONG_TEXT) {
    body.append(...marked(result.text, view.terms));
    return body;
  }
  const button = make("button", { type: "button", class: "quiet" }, `Show all ${count(result.text.length)} characters`);
  const shown = make("div", {}, marked(`${result.text.slice(0, LONG_TEXT)} …`, view.terms));
  button.addEventListener("click", () => {
    shown.replaceChildren(...marked(result.text, view.terms));
    button.remove();
  });
  body.append(shown, button);
  return body;
}

function scoresOf(result, view) {
  const { scale } = view;
  const first = view.firstPass.get(view.keyOf(result));
  const second = view.secondPass.get(view.keyOf(result));
  const node = make("div", { class: "scores" });
  node.append(make("h4", {}, "Second pass", make("span", {}, second ? ` rank ${second.rank} of ${view.secondPass.size}` : "")));
  node.append(scoreBar(scale.parts(result), scale), scoreTable(result, scale));
  if (result.rerank_score !== null) {
    node.append(make("p", { class: "rerank" }, `cross-encoder ${decimals(result.rerank_score)}, which decides the order`));
  }
  if (view.hasAudit) {
    const told = first
      ? ` rank ${first.rank} of ${view.firstPass.size}, cosine ${decimals(first.chunk.score)}`
      : ` not among the best ${view.firstPass.size}`;
    node.append(make("h4", {}, "First pass", make("span", {}, told)));
    if (first) node.append(scoreBar(firstParts(first.chunk), scale));
  }
  return node;
}

function droppedBy(result, view) {
  const dropped = view.droppedBy(result);
  if (dropped.length === 0) return null;
  const rows = dropped.map(({ chunk, rank }) =>
    make(
      "li",
      {},
      make("span", { class: "dropped-name" }, `chunk ${chunk.chunk_index}`),
      make("span", {}, `${Math.abs(chunk.chunk_index - result.chunk_index)} away`),
      make("span", {}, `rank ${rank}`),
      make("span", {}, `score ${decimals(chunk.score)}`),
      scoreBar(view.scale.parts(chunk), view.scale),
    ),
  );
  return make(
    "div",
    { class: "dropped" },
    make("h4", {}, `${plural(dropped.length, "candidate")} dropped, too near to chunk ${result.chunk_index}`),
    make("ul", {}, rows),
  );
}

function source(result) {
  const metadata = Object.entries(result.metadata).map(([key, value]) => [`metadata.${key}`, String(value)]);
  return pairs([["source", result.source_uri], ["shard", String(result.shard_id)], ...metadata], { class: "facts" });
}
