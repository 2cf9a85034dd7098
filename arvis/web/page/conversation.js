/**
 * What a conversation looks like, as values: each function takes a state and something that happened and returns the
 * next state. Nothing here knows sockets or elements, and no state is ever changed in place: an entry that is
 * the same object is an entry that need not be drawn again.
 *
 * A state is `{entries, lastSeq, early, older}`: `early` holds what was said about messages before their
 * acknowledgement named them (an answer may be that fast), `older` that entries were let go. An entry of a person is
 * `{key, kind: "user", id, messageId, text, files, at, status, reason, fix}` with the status `sending`, `sent`,
 * `delayed`, `working`, `waiting`, `answered`, `failed`, `dropped`, `cancelled` or `expired`. An entry of an agent is
 * `{key, kind: "agent", messageId, replyTo, text, at, agent, final, streaming, buttons, files}`; a stream is one that
 * is not `final`. `aside` marks a notice on the way, which answers nothing; `past` what the history brought.
 */

import { toMs } from "./text.js";

/** More than this is neither drawn nor kept; the oldest go first, but never one that is not sent yet. */
export const MOST_ENTRIES = 500;

const STATUS = { accepted: "sent", queued: "sent", running: "working" };
const OPEN = new Set(["sent", "delayed", "working", "waiting"]);

export const empty = () => ({ entries: [], lastSeq: null, early: {}, older: false });

/** Messages that the server has not acknowledged: to be sent again, with the same ids, in this order. */
export const unsent = (state) => state.entries.filter((entry) => entry.status === "sending");

/** The oldest message that waits for its answer, or undefined when all is quiet. */
export const firstOpen = (state) => state.entries.find((entry) => entry.kind === "user" && OPEN.has(entry.status));

export const streaming = (state) => state.entries.some((entry) => entry.streaming);

/** The agent that spoke last, and so most likely speaks next: a stream does not say whose it is. */
export const speaker = (state) => state.entries.findLast((entry) => entry.agent)?.agent ?? null;

/** The person wrote something. */
export function written(state, { id, text, files, at }) {
  return added(state, { key: id, kind: "user", id, messageId: null, text, files, at, status: "sending" });
}

/** The server has committed a message. */
export function acknowledged(state, { id, messageId }) {
  // After a reconnect the history may have brought the same message first: the one with our id stays.
  const entries = state.entries.filter((entry) => entry.messageId !== messageId || entry.id === id);
  const { [messageId]: told = { status: "sent" }, ...early } = state.early;
  return changed({ ...state, entries, early }, (entry) => entry.id === id, (entry) => {
    return entry.status === "sending" ? { messageId, ...told } : { messageId };
  });
}

/** The server will not take a message; `reason` and `fix` are its words. */
export function refused(state, { id, reason, fix }) {
  return changed(state, (entry) => entry.id === id, () => ({ status: "failed", reason, fix }));
}

/** Take back a message that was refused, so that it can be written anew. */
export function withdrawn(state, id) {
  return { ...state, entries: state.entries.filter((entry) => entry.id !== id) };
}

/** The agent begins: the oldest message that waits is the one. */
export function typing(state) {
  const first = firstOpen(state);
  return changed(state, (entry) => entry === first && entry.status !== "waiting", () => ({ status: "working" }));
}

/** The server names the status of a message. It may come after the delivery, so it never reopens an answered one. */
export function statusChanged(state, { messageId, status, reason }) {
  // Only a message that goes back into the queue has a reason to be there.
  const next = status === "queued" && reason ? "delayed" : STATUS[status] ?? status;
  const settled = (entry) => entry.status === "answered" && OPEN.has(next);
  const isOurs = (entry) => entry.kind === "user" && entry.messageId === messageId && !settled(entry);
  const told = changed(
    heardEarly(state, [messageId], { status: next, reason }),
    isOurs,
    (entry) => ({ status: next, reason: reason ?? entry.reason }),
  );
  if (OPEN.has(next)) return told;
  return changed(told, (entry) => entry.streaming && entry.replyTo === messageId, () => ({ streaming: false }));
}

/** A piece of an answer on its way. `offset` counts characters as the server does: code points, not UTF-16 units. */
export function streamed(state, { messageId, offset, text, at = Date.now() }) {
  const working = changed(
    state,
    (entry) => entry.kind === "user" && entry.messageId === messageId && OPEN.has(entry.status),
    () => ({ status: "working" }),
  );
  const known = state.entries.find((entry) => entry.kind === "agent" && entry.replyTo === messageId && !entry.aside);
  if (known?.final) return working;
  if (known) return changed(working, (entry) => entry === known, () => grown(known, offset, text));
  // The beginning went by while we were away: better silence than half a sentence, the final message is whole.
  if (offset > 0) return working;
  const ids = { key: `stream ${messageId}`, kind: "agent", messageId: null, replyTo: messageId };
  const begun = { ...ids, agent: speaker(state), at, final: false, text: "", length: 0 };
  return added(working, { ...begun, ...grown(begun, 0, text) });
}

function grown({ text: before, length }, offset, text) {
  if (offset > length) return {};
  const kept = offset === length ? before : Array.from(before).slice(0, offset).join("");
  return { text: kept + text, length: offset + Array.from(text).length, streaming: true };
}

/** A delivery: the whole and final text, which takes the place of its stream. Each `seq` counts once. */
export function delivered(state, frame) {
  if (state.lastSeq !== null && frame.seq <= state.lastSeq) return state;
  const seen = { ...state, lastSeq: frame.seq };
  // A seq is above `lastSeq` and the text is here all the same when the history was faster than the delivery.
  if (state.entries.some((entry) => entry.past && entry.messageId === frame.messageId)) return seen;
  const answers = frame.answers ?? (frame.replyTo ? [frame.replyTo] : []);
  const entry = {
    key: `seq ${frame.seq}`, kind: "agent", messageId: frame.messageId, replyTo: frame.replyTo ?? null,
    final: true, text: frame.content, at: toMs(frame.timestamp), agent: frame.agent, streaming: false,
    buttons: frame.buttons ?? [], files: frame.files ?? [], aside: answers.length === 0,
  };
  const settled = changed(
    heardEarly(seen, answers.filter((id) => OPEN.has(state.early[id]?.status ?? "sent")), { status: "answered" }),
    (item) => item.kind === "user" && answers.includes(item.messageId) && OPEN.has(item.status),
    () => ({ status: "answered" }),
  );
  const stream = settled.entries.find((item) => item.final === false && answers.includes(item.replyTo));
  // The key of the stream stays, so that the answer is completed where it stands and nothing jumps.
  if (!stream) return added(settled, entry);
  return changed(settled, (item) => item === stream, () => ({ ...entry, key: stream.key }));
}

/** Weave in the stored past (oldest first): what is known stays where it is, the rest takes its place before it. */
export function remembered(state, past) {
  const told = new Set(past.filter((item) => item.kind === "agent").map((item) => item.replyTo));
  const entries = state.entries.filter((entry) => entry.final !== false || !told.has(entry.replyTo));
  let place = 0;
  for (const item of past.map((stored) => ({ ...stored, status: STATUS[stored.status] ?? stored.status }))) {
    const known = entries.findIndex((entry) => entry.kind === item.kind && entry.messageId === item.messageId);
    if (known < 0) entries.splice(place, 0, item);
    else if (item.kind === "user" && !OPEN.has(item.status)) {
      entries[known] = { ...entries[known], status: item.status, reason: item.reason ?? entries[known].reason };
    }
    place = known < 0 ? place + 1 : Math.max(place, known + 1);
  }
  return bounded({ ...state, entries });
}

/** Keep what is said about messages that nobody here has heard of, as long as one of ours has no id yet. */
function heardEarly(state, messageIds, told) {
  if (unsent(state).length === 0) return { ...state, early: {} };
  const known = new Set(state.entries.filter((entry) => entry.kind === "user").map((entry) => entry.messageId));
  const strange = messageIds.filter((messageId) => !known.has(messageId));
  return { ...state, early: { ...state.early, ...Object.fromEntries(strange.map((id) => [id, told])) } };
}

const added = (state, entry) => bounded({ ...state, entries: [...state.entries, entry] });

function changed(state, matches, change) {
  const next = (entry) => (matches(entry) ? { ...entry, ...change(entry) } : entry);
  return { ...state, entries: state.entries.map(next) };
}

function bounded(state) {
  const surplus = state.entries.length - MOST_ENTRIES;
  if (surplus <= 0) return state;
  const gone = new Set(state.entries.filter((entry) => entry.status !== "sending").slice(0, surplus));
  const entries = state.entries.filter((entry) => !gone.has(entry));
  return { ...state, entries, older: true };
}
