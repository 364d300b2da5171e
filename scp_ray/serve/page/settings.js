// The question and its settings: in the controls, in the request, and in the page's address.
// The fragment is used, since it never reaches a server's log.

const NUMBERS = ["top_k", "min_index_gap", "position_weight", "lexical_weight", "max_context_tokens"];
const SLIDERS = NUMBERS.slice(0, 4);
const TEXTS = ["context_rule", "filter"];
const control = (name) => document.getElementById(name);
const slider = (name) => control(`${name}-slider`);
let defaults = {}; // the service's own, once it has told them

/** A control has a value that cannot be asked with. */
export class InputError extends Error {
  constructor(name, message) {
    super(message);
    this.control = name;
  }
}

/** Call `changed` whenever a setting has another value. */
export function watchSettings(changed) {
  for (const name of SLIDERS) {
    const range = slider(name);
    control(name).setAttribute("aria-describedby", `${name}-hint`);
    range.setAttribute("aria-describedby", `${name}-hint`);
    range.addEventListener("input", () => {
      control(name).value = range.value;
      showSlider(name);
      changed();
    });
    control(name).addEventListener("input", () => {
      showSlider(name);
      changed();
    });
  }
  control("max_context_tokens").setAttribute("aria-describedby", "max_context_tokens-hint");
  for (const name of ["max_context_tokens", ...TEXTS]) control(name).addEventListener("input", changed);
}

/** Empty every setting, so that the service's own hold. */
export function resetSettings() {
  for (const name of [...NUMBERS, ...TEXTS]) control(name).value = "";
  SLIDERS.forEach(showSlider);
}

/** Show the service's defaults where nothing is set: `defaults` of its answer about the index. */
export function showDefaults(told) {
  defaults = told;
  for (const name of NUMBERS) control(name).placeholder = String(told[name]);
  control("context_rule").options[0].text = `default (${told.context_rule})`;
  SLIDERS.forEach(showSlider);
}

function showSlider(name) {
  const { value } = control(name);
  const told = defaults[name] ?? ""; // with none the slider rests in its middle
  slider(name).value = value === "" ? told : value;
  slider(name).classList.toggle("unset", value === "");
  slider(name).setAttribute("aria-valuetext", value === "" ? `${told} (the service's default)`.trim() : value);
}

/** Return the body of a request. Throws an InputError that names the control. */
export function requestBody() {
  const body = { query: control("question").value, explain: true };
  markInvalid(null);
  for (const name of NUMBERS) {
    const field = control(name);
    if (!field.validity.valid) throw new InputError(name, `${name}: ${field.validationMessage}`);
    if (field.value !== "") body[name] = Number(field.value);
  }
  if (control("context_rule").value) body.context_rule = control("context_rule").value;
  const filter = parsedFilter();
  if (filter !== null) body.filter = filter;
  return body;
}

function parsedFilter() {
  const text = control("filter").value.trim();
  if (text === "") return null;
  let filter;
  try {
    filter = JSON.parse(text);
  } catch (error) {
    throw new InputError("filter", `The filter is not JSON: ${error.message}`);
  }
  if (filter === null || typeof filter !== "object" || Array.isArray(filter)) {
    throw new InputError("filter", 'The filter has to be a map such as {"doc_id": "name"}.');
  }
  return filter;
}

/** Show which control is wrong; null = none. */
export function markInvalid(wrong) {
  for (const name of [...NUMBERS, ...TEXTS]) {
    if (name === wrong) control(name).setAttribute("aria-invalid", "true");
    else control(name).removeAttribute("aria-invalid");
  }
}

/** Return the fragment that stands for the question and the settings that are set. */
export function fragment() {
  const values = new URLSearchParams();
  const question = control("question").value;
  if (question) values.set("q", question);
  for (const name of [...NUMBERS, ...TEXTS]) {
    if (control(name).value !== "") values.set(name, control(name).value);
  }
  return values.size > 0 ? `#${values}` : "";
}

/** Fill the controls from a fragment; what it does not name is left to the service. */
export function fillFrom(hash) {
  const values = new URLSearchParams(hash.slice(1));
  control("question").value = values.get("q") ?? "";
  for (const name of [...NUMBERS, ...TEXTS]) control(name).value = values.get(name) ?? "";
  SLIDERS.forEach(showSlider);
}
