// Talks to the service, and says in a sentence why it did not answer.

const TOKEN = "scp_ray.token";

export const readToken = () => sessionStorage.getItem(TOKEN) ?? "";

export function keepToken(token) {
  if (token) sessionStorage.setItem(TOKEN, token);
  else sessionStorage.removeItem(TOKEN);
}

/** Why there is no answer, for people. `status` is 0 where the service was not reached. */
export class Problem extends Error {
  constructor(status, title, detail = "") {
    super(title);
    this.status = status;
    this.detail = detail;
    this.isWorthRepeating = status === 0 || status === 429 || status >= 500;
  }
}

/** Ask a question; aborting the signal cancels it. */
export function query(body, signal) {
  const headers = { "Content-Type": "application/json" };
  return send("v1/query", { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** Return what the service serves. */
export const aboutIndex = () => send("v1/index", { headers: {} });

async function send(path, options) {
  const token = readToken();
  if (token) options.headers.Authorization = `Bearer ${token}`;
  options.headers.Accept = "application/json, application/problem+json";
  let response;
  try {
    response = await fetch(path, { ...options, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    // A token with letters that no header takes fails here too, without having been sent.
    const detail = token && !/^[\x21-\x7e]+$/.test(token) ? "The token has characters that no token has." : "";
    throw new Problem(0, "The service cannot be reached.", detail);
  }
  const reply = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return null;
  });
  if (!response.ok) throw problemOf(response, reply);
  if (reply === null) throw new Problem(502, "The answer was cut off, or is not of this service.");
  return reply;
}

function problemOf(response, reply) {
  const told = (name) => (typeof reply?.[name] === "string" ? reply[name] : "");
  const detail = told("detail");
  switch (response.status) {
    case 401:
      return new Problem(401, "This service asks for a token. Enter it under Access.", detail);
    case 403:
      return new Problem(403, "The token does not allow questions.", detail);
    case 429:
      return new Problem(429, `The service is busy. ${againIn(response)}`, detail);
    default:
      return new Problem(
        response.status,
        sentence(told("title")) || `The service answered with status ${response.status}.`,
        detail,
      );
  }
}

function againIn(response) {
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return Number.isFinite(seconds) ? `Try again in ${seconds} s.` : "Try again in a moment.";
}

const sentence = (text) => text && `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
