/**
 * One entry of the conversation as an element. Everything is text nodes: names and file names come from people and
 * models, so they are shown with their invisible characters revealed and kept from reordering their neighbours.
 */

import { make } from "./dom.js";
import { render } from "./markdown.js";
import { clock, exactly, reveal, sentences, size } from "./text.js";

/** What the person is told below a message; `reason` is added where there is one. */
const STATUS_WORDS = {
  sending: "Sending",
  sent: "Sent",
  delayed: "Will be tried again",
  working: "Working",
  waiting: "Waits for a decision",
  answered: "Answered",
  failed: "Not answered",
  dropped: "Refused",
  cancelled: "Stopped",
  expired: "Too late to answer",
};
const TROUBLE = new Set(["failed", "dropped", "expired"]);

/**
 * @param {object} entry see conversation.js
 * @param {object} doing what its buttons do: `why(messageId)`, `again(entry)`, `click(buttonId, data)`
 * @param {{connected: boolean, nameOf: (slug: string) => string}} setting
 */
export function draw(entry, doing, setting) {
  const parts = entry.kind === "user" ? userParts : agentParts;
  const ids = { "data-message": entry.messageId, "data-reply-to": entry.replyTo };
  return make("article", { class: entry.kind, ...ids }, ...parts(entry, doing, setting));
}

function userParts(entry, doing, setting) {
  const speaker = make("span", { class: "hidden" }, "You: ");
  const bubble = make("div", { class: "bubble" }, speaker, ...render(entry.text), files(entry.files));
  return [bubble, footer(entry, status(entry, setting), ...userActions(entry, doing))];
}

function status(entry, { connected }) {
  const waiting = entry.status === "sending" && !connected;
  const words = waiting ? "Waits for the connection" : STATUS_WORDS[entry.status] ?? reveal(entry.status ?? "");
  const trouble = TROUBLE.has(entry.status);
  // A reason is a sentence of the server or a code; either is better than a bare "failed".
  const why = trouble && entry.reason ? `: ${reveal(sentences(entry.reason, entry.fix))}` : "";
  return make("span", { class: trouble ? "status trouble" : "status", "data-status": entry.status }, words + why);
}

function userActions(entry, doing) {
  if (!TROUBLE.has(entry.status)) return [];
  if (entry.messageId) return [action("Why no answer?", () => doing.why(entry.messageId))];
  return [action("Edit and send again", () => doing.again(entry))];
}

function agentParts(entry, doing, { nameOf }) {
  const name = make("p", { class: "name" }, make("bdi", {}, nameOf(entry.agent)));
  // A stream is silent for screen readers; the finished text is a new node in the log and is read once, whole.
  const silence = entry.streaming ? { "aria-busy": "true", "aria-live": "off" } : {};
  const body = make("div", { class: "body", ...silence });
  body.append(...render(entry.text), files(entry.files) ?? "");
  const about = entry.replyTo ?? entry.messageId;
  const why = entry.streaming || !about ? null : action("Why this answer?", () => doing.why(about));
  return [name, body, choices(entry, doing), footer(entry, entry.streaming ? null : why)].filter(Boolean);
}

function footer(entry, ...parts) {
  const time = make("time", { datetime: new Date(entry.at).toISOString(), title: exactly(entry.at) }, clock(entry.at));
  return make("footer", {}, time, ...parts);
}

function action(words, onclick) {
  return make("button", { type: "button", class: "quiet", onclick }, words);
}

function files(list) {
  if (!list?.length) return null;
  const items = list.map((file) => {
    const bytes = Number.isFinite(file.size) ? ` · ${size(file.size)}` : "";
    const name = make("bdi", {}, reveal(file.filename ?? file.name ?? "file"));
    // Only what our own server keeps is a link; what the person attached is but named.
    const ours = file.url?.startsWith("/api/") ? make("a", { href: file.url, download: true }, name) : name;
    return make("li", {}, ours, bytes);
  });
  return make("ul", { class: "files", "aria-label": "Files" }, ...items);
}

/** Buttons that came with a message; one choice is enough, so all rest after a click. */
function choices({ buttons }, doing) {
  if (!buttons?.length) return null;
  const row = make("div", { class: "choices" });
  for (const { id, label, data } of buttons) {
    const pick = () => {
      for (const button of row.children) button.disabled = true;
      doing.click(id, data);
    };
    row.append(make("button", { type: "button", onclick: pick }, reveal(label ?? id)));
  }
  return row;
}
