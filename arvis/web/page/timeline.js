/**
 * "Why?": what happened to one message, in words first, then step by step with everything behind a disclosure.
 */

import * as api from "./api.js";
import { make } from "./dom.js";
import { clock, duration, exactly, reveal, toMs } from "./text.js";

const SUMMARY = {
  accepted: "Accepted; it has not begun yet.",
  queued: "Waits in the queue.",
  running: "An agent works on it now.",
  waiting: "Waits for a person's decision.",
  answered: "Answered.",
  failed: "Not answered.",
  dropped: "Refused, so no agent saw it.",
  cancelled: "Stopped before it was answered.",
  expired: "Not answered in time.",
};
const STEPS = {
  received: "Received",
  posted: "Posted, and nobody had asked",
  routed: "Chose the agent",
  queued: "Put in the queue",
  started: "Work began",
  node: "Step of the agent",
  model_call: "Called the model",
  retried: "Failed for now, to be tried again",
  snoozed: "Has to wait",
  recovered: "Resumed after an interruption",
  answered: "Answered",
  failed: "Gave up",
  dropped: "Refused",
  cancelled: "Stopped",
  expired: "Too late",
  delivery: "Delivery",
};

export class Timeline {
  /** @param {{dialog: HTMLDialogElement, title: Element, body: Element, close: Element}} parts */
  constructor(parts) {
    this.parts = parts;
    parts.close.addEventListener("click", () => parts.dialog.close());
    parts.dialog.addEventListener("click", (event) => event.target === parts.dialog && parts.dialog.close());
  }

  /** Open the dialog at once and fill it when the server has answered. */
  async show(messageId) {
    const { dialog, title, body } = this.parts;
    title.textContent = "What happened to this message";
    body.replaceChildren(make("p", { class: "muted late" }, "Loading"));
    dialog.showModal();
    try {
      body.replaceChildren(...content(await api.timeline(messageId)));
    } catch (error) {
      if (!(error instanceof api.ApiError)) throw error;
      body.replaceChildren(make("p", { role: "alert" }, error.message), make("p", { class: "muted" }, error.fix));
    }
  }
}

function content({ status, reason, steps = [], ...rest }) {
  const summary = make("p", { class: "summary" }, SUMMARY[status] ?? reveal(status));
  // An answer needs no excuse: the reason it carries is that of the routing, and stands among the steps.
  if (reason && status !== "answered") summary.append(" ", make("span", { class: "muted" }, `Reason: ${reveal(reason)}`));
  const list = steps.map((step, index) => stepItem(step, steps[index - 1]));
  return [summary, facts(rest), make("ol", { class: "steps" }, ...list), raw({ status, reason, ...rest })];
}

/** Who answered, what it cost, how much was read and written: those of it that the server knows. */
function facts({ agent, costUsd, inputTokens, outputTokens }) {
  const known = [
    ["Agent", agent && reveal(agent.slug ?? agent)],
    ["Cost", Number.isFinite(costUsd) && `$${costUsd.toFixed(4)}`],
    ["Tokens read", inputTokens > 0 && inputTokens.toLocaleString()],
    ["Tokens written", outputTokens > 0 && outputTokens.toLocaleString()],
  ].filter(([, value]) => value);
  const pairs = known.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  return make("dl", { class: "facts" }, ...pairs);
}

function stepItem({ at, step, data, ...rest }, previous) {
  const ms = toMs(at);
  const since = previous ? `+${duration(Math.max(0, ms - toMs(previous.at)))}` : clock(ms);
  const details = { ...rest, ...data };
  const { agent, node, model, error, reason, state } = details;
  const subject = [agent, node, model, error, reason, state].filter((part) => typeof part === "string").join(" · ");
  const head = [
    make("span", { class: "step" }, STEPS[step] ?? reveal(step)),
    subject && make("span", { class: "muted step" }, reveal(subject)),
    make("time", { class: "muted", datetime: new Date(ms).toISOString(), title: exactly(ms) }, since),
  ];
  if (Object.keys(details).length === 0) return make("li", {}, ...head);
  return make("li", {}, make("details", {}, make("summary", {}, ...head), json(details)));
}

function raw(value) {
  return make("details", { class: "raw" }, make("summary", {}, "Everything the server knows"), json(value));
}

const json = (value) => make("pre", { tabindex: "0" }, make("code", {}, reveal(JSON.stringify(value, null, 2))));
