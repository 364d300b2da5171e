// The assembled context, where one was asked for.

import { count, decimals, docName, fold, make, plural } from "./elements.js";
import { marked } from "./words.js";

const REASONS = { does_not_fit: "does not fit" };

/** Return the context's panel, which opens on demand. */
export function contextPanel(context, view) {
  const parts = [plural(context.tokens, "token"), plural(context.passages.length, "passage")];
  if (context.skipped.length > 0) parts.push(`${plural(context.skipped.length, "chunk")} left out`);
  const title = `Context, rule ${context.rule}: ${parts.join(", ")}`;
  return fold(title, () => contextBody(context, view), { id: "context", class: "panel context" });
}

function contextBody(context, view) {
  const skipped = context.skipped.map(({ doc_id: docId, chunk_index: index, reason }) =>
    make("li", {}, docName(docId), ` chunk ${index}: ${REASONS[reason] ?? reason}`),
  );
  const body = make("div", {}, make("ol", {}, context.passages.map((passage) => passageOf(passage, view))));
  if (skipped.length > 0) {
    body.append(make("h3", {}, `Left out (${count(skipped.length)})`), make("ul", { class: "skipped" }, skipped));
  }
  return body;
}

function passageOf(passage, view) {
  const indexes = passage.chunk_indexes;
  return make(
    "li",
    {},
    make("h3", {}, docName(passage.doc_id)),
    make("p", { class: "place" },
      make("span", {}, `${indexes.length === 1 ? "chunk" : "chunks"} ${indexes.join(", ")}`),
      make("span", {}, `characters ${count(passage.char_start)}–${count(passage.char_end)}`),
      make("span", {}, `score ${decimals(passage.score)}`)),
    make("div", { class: "text", dir: "auto" }, marked(passage.text, view.terms)),
  );
}
