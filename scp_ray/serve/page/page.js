// The page: takes a question, asks the service, and shows the answer.

import { aboutIndex, keepToken, Problem, query, readToken } from "./client.js";
import { contextPanel } from "./context.js";
import { count, make, plural } from "./elements.js";
import { Passages } from "./passages.js";
import { fillFrom, fragment, InputError, markInvalid, requestBody, resetSettings, showDefaults, watchSettings } from "./settings.js";
import { strips } from "./strips.js";
import { candidates, exchange, summary } from "./summary.js";
import { View } from "./view.js";

const DEBOUNCE_MS = 150;
const LOOK_MS = 15_000;
const WIDE = "(min-width: 900px)";
const part = (id) => document.getElementById(id);
let running = null;
let waiting = 0;
let generation = null;
let shown = null;

/** Ask what the controls say. An answer to anything asked before is not shown any more. */
async function ask(goTo) {
  window.clearTimeout(waiting);
  running?.abort();
  const asking = new AbortController();
  running = asking;
  goTo(fragment());
  const question = part("question").value.trim();
  document.title = question ? `${question} · scp_ray` : "scp_ray";
  if (question === "") return showNothing();
  try {
    const body = requestBody();
    part("answer").setAttribute("aria-busy", "true");
    part("status").textContent = "Asking …";
    const started = performance.now();
    const reply = await query(body, asking.signal);
    if (running === asking) showReply(body, reply, performance.now() - started);
  } catch (error) {
    if (running === asking) showError(error);
  } finally {
    if (running === asking) part("answer").removeAttribute("aria-busy");
  }
}

const askNow = () => ask((hash) => hash !== location.hash && history.pushState(null, "", hash || bareAddress()));
const askInPlace = () => ask((hash) => hash !== location.hash && history.replaceState(null, "", hash || bareAddress()));
const bareAddress = () => location.pathname + location.search;

function askSoon() {
  window.clearTimeout(waiting);
  waiting = window.setTimeout(askInPlace, DEBOUNCE_MS);
}

function showNothing() {
  showProblem(null);
  part("status").textContent = "Ask a question to see which chunks answer it, and why.";
  part("answer").replaceChildren();
  part("answer").removeAttribute("aria-busy");
}

function showReply(body, reply, tookMs) {
  showProblem(null);
  const view = new View(body.query, reply, shown);
  shown = view;
  const documents = new Set(reply.results.map((result) => result.doc_id)).size;
  part("status").textContent =
    reply.results.length === 0
      ? `No passage was found${body.filter ? " that the filter lets through" : ""}.`
      : `${plural(reply.results.length, "passage")} from ${plural(documents, "document")}${changes(view, reply)} in ${count(Math.round(tookMs))} ms`;
  const passages = new Passages(reply, view);
  const panels = [summary(reply, view)];
  if (view.documents().length > 0) panels.push(strips(view, (index) => passages.show(index)));
  if (reply.context !== null) panels.push(contextPanel(reply.context, view));
  if (reply.results.length > 0) panels.push(passages.node);
  if (view.hasAudit) panels.push(candidates(view));
  panels.push(exchange(body, reply));
  const open = [...part("answer").querySelectorAll("details[id][open]")].map((details) => details.id);
  part("answer").replaceChildren(...panels);
  for (const id of open) part(id)?.setAttribute("open", "");
  if (reply.generation !== generation) showIndex();
}

function changes(view, reply) {
  const told = reply.results.map((result) => view.changeOf(result));
  const fresh = told.filter((change) => change === "new").length;
  const moved = told.filter((change) => change?.startsWith("was")).length;
  const parts = [fresh > 0 ? `${count(fresh)} new` : "", moved > 0 ? `${count(moved)} moved` : ""].filter(Boolean);
  return parts.length > 0 ? ` (${parts.join(", ")})` : "";
}

function showError(error) {
  part("status").textContent = "";
  part("answer").replaceChildren();
  if (error instanceof InputError) {
    markInvalid(error.control);
    showProblem(error.message, "", false);
  } else if (error instanceof Problem) {
    showProblem(error.message, error.detail, error.isWorthRepeating);
    if (error.status === 401 || error.status === 403) openAccess();
  } else {
    showProblem("The page failed to show this answer.", String(error), false);
    throw error;
  }
}

function showProblem(message, detail, isWorthRepeating) {
  const problem = part("problem");
  problem.hidden = message === null;
  problem.replaceChildren();
  if (message === null) return;
  problem.append(make("p", {}, make("strong", {}, message)));
  if (detail) problem.append(make("p", { dir: "auto" }, detail));
  if (isWorthRepeating) {
    const again = make("button", { type: "button" }, "Ask again");
    again.addEventListener("click", () => {
      part("question").focus();
      askInPlace();
    });
    problem.append(again);
  }
}

function openAccess() {
  part("settings").open = true;
  part("access").open = true;
}

/** Show in the header what is served; without a token there may be nothing to show. */
async function showIndex() {
  const header = part("index");
  try {
    const about = await aboutIndex();
    generation = about.generation;
    showDefaults(about.defaults);
    const entries = [
      `generation ${count(about.generation)}`,
      plural(about.documents, "document"),
      plural(about.chunks, "chunk"),
      `${plural(about.shards, "shard")} in ${plural(about.groups, "group")}`,
      about.encoder,
      about.annotator,
    ];
    header.replaceChildren(...entries.map((entry) => make("span", { dir: "auto" }, entry)));
    header.title = `published ${about.created_at}`;
    if (about.reload.state !== "current") header.append(make("span", { class: "warning" }, reloadNote(about.reload)));
  } catch (error) {
    generation = null;
    const status = error instanceof Problem ? error.status : 0;
    header.replaceChildren(make("span", {}, status === 401 ? "a token is needed" : "index not known"));
    if (status === 401) openAccess();
  }
}

function reloadNote({ state, generation: newest, reason }) {
  if (state === "unreadable") return `CURRENT cannot be read, new generations are not seen: ${reason}`;
  const told = `generation ${count(newest)} ${state === "loading" ? "is loading" : "could not be taken"}`;
  return reason ? `${told}: ${reason}` : told;
}

function grow() {
  const question = part("question");
  question.style.setProperty("height", "auto");
  question.style.setProperty("height", `${question.scrollHeight + 2}px`);
}

function start() {
  part("settings").open = window.matchMedia(WIDE).matches;
  part("token").value = readToken();
  part("token").addEventListener("change", () => {
    keepToken(part("token").value.trim());
    showIndex();
  });
  part("form").addEventListener("submit", (event) => {
    event.preventDefault();
    keepToken(part("token").value.trim());
    askNow();
  });
  part("question").addEventListener("input", grow);
  part("question").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    part("form").requestSubmit();
  });
  part("reset").addEventListener("click", () => {
    resetSettings();
    askInPlace();
  });
  part("skip").addEventListener("click", (event) => {
    event.preventDefault();
    part("results").focus();
  });
  watchSettings(askSoon);
  window.addEventListener("hashchange", takeAddress);
  showIndex();
  window.setInterval(() => document.hidden || generation === null || showIndex(), LOOK_MS);
  takeAddress();
  if (part("question").value === "") part("question").focus();
}

function takeAddress() {
  fillFrom(location.hash);
  grow();
  askInPlace();
}

start();
