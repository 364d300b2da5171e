// Scores as numbers and as bars: semantic, lexical and position part of one sum.

import { decimals, make, place } from "./elements.js";

export const PARTS = ["semantic", "lexical", "position"];

/** How the candidates of an answer are to be read: its weights, and the scale of its bars. */
export class Scale {
  constructor(reply) {
    this.lexical = reply.lexical.weight;
    const second = reply.audit?.second_pass ?? reply.results;
    const first = reply.audit?.first_pass ?? [];
    // The reply does not name w; it follows from the score where the position term is largest.
    const telling = second.reduce(
      (best, next) => (Math.abs(next.position_score) > Math.abs(best?.position_score ?? 0) ? next : best),
      null,
    );
    this.position = telling ? this.parts(telling).position / telling.position_score : 0;
    let [low, high] = [0, 1e-9];
    for (const parts of [...second.map((chunk) => this.parts(chunk)), ...first.map(firstParts)]) {
      const values = PARTS.map((part) => parts[part]);
      low = Math.min(low, total(values.filter((value) => value < 0)));
      high = Math.max(high, total(values.filter((value) => value > 0)));
    }
    this.low = low;
    this.width = high - low;
  }

  /** Return the weighted parts of a second-pass score; they add up to it. */
  parts(chunk) {
    const semantic = (1 - this.lexical) * chunk.semantic_score;
    const lexical = this.lexical * chunk.lexical_score;
    const position = chunk.position_score === 0 ? 0 : chunk.score - semantic - lexical;
    return { semantic, lexical, position };
  }

  /** Return the weight of a part. */
  weight(part) {
    return { semantic: 1 - this.lexical, lexical: this.lexical, position: this.position }[part];
  }
}

/** Return the parts of a first-pass score, which is plain cosine. */
export function firstParts(chunk) {
  return { semantic: chunk.semantic_score, lexical: 0, position: 0 };
}

const total = (values) => values.reduce((sum, value) => sum + value, 0);

/** Return a bar of stacked parts; negative ones go to the left of zero. */
export function scoreBar(parts, scale) {
  const bar = make("span", { class: "bar", "aria-hidden": "true" });
  let [left, right] = [0, 0];
  for (const part of PARTS) {
    const value = parts[part];
    if (value === 0) continue;
    const start = value > 0 ? right : left + value;
    if (value > 0) right += value;
    else left += value;
    bar.append(
      place(make("span", { class: `bar-part ${part}${value < 0 ? " negative" : ""}` }), {
        start: (start - scale.low) / scale.width,
        size: Math.abs(value) / scale.width,
      }),
    );
  }
  bar.append(place(make("span", { class: "bar-zero" }), { start: -scale.low / scale.width }));
  return bar;
}

/** Return the table of a chunk's second-pass score: each part, its weight, what it adds. */
export function scoreTable(chunk, scale) {
  const parts = scale.parts(chunk);
  const rows = PARTS.map((part) => {
    const value = chunk[`${part}_score`];
    const isOut = scale.weight(part) === 0;
    return make(
      "tr",
      isOut ? { class: "out" } : {},
      make("th", { scope: "row" }, make("span", { class: `swatch ${part}`, "aria-hidden": "true" }), part),
      make("td", {}, decimals(value)),
      make("td", {}, `× ${decimals(scale.weight(part))}`),
      make("td", {}, decimals(parts[part])),
    );
  });
  const head = ["part", "score", "weight", "adds"].map((name) => make("th", { scope: "col" }, name));
  const foot = [make("th", { scope: "row", colspan: "3" }, "score"), make("td", {}, decimals(chunk.score))];
  return make(
    "table",
    { class: "score-table" },
    make("thead", { class: "unseen" }, make("tr", {}, head)),
    make("tbody", {}, rows),
    make("tfoot", {}, make("tr", {}, foot)),
  );
}
