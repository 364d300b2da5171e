// An answer, arranged by chunk and by document for the parts of the page.

import { Scale } from "./scores.js";
import { termsOf } from "./words.js";

/** One answer. Candidates are `{chunk, rank}`, ranks from 1. */
export class View {
  constructor(question, reply, before = null) {
    // Ranks are compared with the answer before, if that was to the same question.
    this.question = question;
    this.before = before?.question === question ? before.results : null;
    const audit = reply.audit ?? { first_pass: [], second_pass: [], decisions: [] };
    this.hasAudit = reply.audit !== null;
    this.terms = termsOf(question);
    this.scale = new Scale(reply);
    this.prior = reply.prior;
    this.firstPass = this.#ranked(audit.first_pass);
    this.secondPass = this.#ranked(audit.second_pass);
    this.results = new Map(reply.results.map((result, index) => [this.keyOf(result), index]));
    this.decisions = audit.decisions.map((decision) => ({
      ...this.secondPass.get(this.keyOf(decision)),
      kept: decision.kept,
      near: decision.near,
    }));
    this.dropped = Map.groupBy(
      this.decisions.filter((decision) => !decision.kept),
      ({ chunk, near }) => this.keyOf({ doc_id: chunk.doc_id, chunk_index: near }),
    );
    this.found = reply.results;
  }

  keyOf(chunk) {
    return JSON.stringify([chunk.doc_id, chunk.chunk_index]);
  }

  /** Return the candidates that were dropped for a result, best first. */
  droppedBy(result) {
    return this.dropped.get(this.keyOf(result)) ?? [];
  }

  /** Say how a result's place differs from the answer before; null where it does not. */
  changeOf(result) {
    if (this.before === null) return null;
    const [now, then] = [this.results, this.before].map((places) => places.get(this.keyOf(result)));
    if (then === undefined) return "new";
    return then === now ? null : `was ${then + 1}`;
  }

  /** Return what is known of each document, in the order of their best candidates. */
  documents() {
    const entries = new Map();
    const entry = (docId) => {
      if (!entries.has(docId)) entries.set(docId, { docId, kept: [], dropped: [], first: [] });
      return entries.get(docId);
    };
    for (const result of this.found) {
      entry(result.doc_id).kept.push({ chunk: result, index: this.results.get(this.keyOf(result)) });
    }
    for (const decision of this.decisions) {
      if (!decision.kept) entry(decision.chunk.doc_id).dropped.push(decision);
    }
    for (const candidate of this.firstPass.values()) entry(candidate.chunk.doc_id).first.push(candidate);
    return [...entries.values()];
  }

  #ranked(chunks) {
    return new Map(chunks.map((chunk, place) => [this.keyOf(chunk), { chunk, rank: place + 1 }]));
  }
}
