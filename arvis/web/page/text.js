/**
 * Small helpers for words and numbers that people read. Pure functions.
 */

// Direction overrides, isolates, zero-width marks and control characters: harmless in themselves, used to make a
// text look like another one. The joiners U+200C and U+200D stay: Persian words and emoji are made with them.
const HIDDEN = new RegExp(
  `[${[
    "\\u0000-\\u0008", "\\u000B-\\u001F", "\\u007F-\\u009F", "\\u00AD", "\\u061C", "\\u200B",
    "\\u200E\\u200F", "\\u202A-\\u202E", "\\u2060-\\u2069", "\\uFEFF",
  ].join("")}]`,
  "gu",
);

/** The text with its invisible characters shown as `[U+202E]`, so that nothing can hide in it. */
export function reveal(text) {
  const lines = String(text).replace(/\r\n?/gu, "\n");
  const number = (character) => character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  return lines.replace(HIDDEN, (character) => `[U+${number(character)}]`);
}

/** Sentences in a row, each with its full stop; what is missing is left out. */
export function sentences(...parts) {
  const stopped = (part) => (/[.!?:]$/u.test(part) ? part : `${part}.`);
  return parts.filter(Boolean).map(stopped).join(" ");
}

/** `1.4 MB`; sizes as file managers show them. */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${Math.round(bytes / 1024)} KB`;
  return `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}

/** `850 ms`, `4.2 s`, `3 min 5 s`. */
export function duration(ms) {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

/** The clock of the reader, with the date where it is not today. */
export function clock(ms, now = Date.now()) {
  const at = new Date(ms);
  const today = at.toDateString() === new Date(now).toDateString();
  return at.toLocaleString([], today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}

/** The exact moment, for a tooltip and the timeline. */
export const exactly = (ms) => new Date(ms).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });

/** Milliseconds from what the API gives: a number, or a text of ISO 8601. */
export function toMs(time) {
  const ms = typeof time === "number" ? time : Date.parse(time);
  return Number.isFinite(ms) ? ms : Date.now();
}
