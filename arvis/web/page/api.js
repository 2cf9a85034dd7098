/**
 * Requests to the daemon's HTTP API. Every failure becomes one `ApiError` with a sentence and its fix, so that
 * no caller has to know what an answer of the server looks like. This module never touches the page.
 */

export class ApiError extends Error {
  /**
   * @param {number} status HTTP status; 0 when the daemon did not answer at all
   * @param {{code?: string, message?: string, fix?: string}} fault the server's own words, where it gave any
   */
  constructor(status, { code = "unknown", message = `The server answered ${status}.`, fix = "" } = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.fix = fix;
  }

  /** Nobody is logged in here (any more). */
  get signedOut() {
    return this.status === 401;
  }
}

const UNREACHABLE = {
  code: "unreachable",
  message: "Arvis does not answer.",
  fix: "Check that `arvis run` is running and that this device can reach it.",
};

/** @returns {Promise<object>} the answer's JSON; every failure is an `ApiError` */
export async function request(method, path, body) {
  // A form of another site cannot send this content type, which is the first half of the guard against forgery.
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  const options = { method, headers, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) options.body = JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new ApiError(0, UNREACHABLE);
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, answer.error);
  return answer;
}

/** Trade the code of a one-time link for a session cookie. */
export const login = (code) => request("POST", "/api/auth/login", { code });

/** Who is logged in here: the cookie decides. */
export const me = () => request("GET", "/api/auth/me");

/** Agents that may be talked to, in the server's order. */
export async function agents() {
  const { items } = await request("GET", "/api/agents");
  return items.filter((agent) => (agent.status ?? "active") === "active");
}

/** Why this message was answered, or why not. */
export const timeline = (messageId) => request("GET", `/api/messages/${encodeURIComponent(messageId)}`);
