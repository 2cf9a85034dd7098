/** Numbers, times and untrusted texts for people. Pure functions, in the reader's language and time zone. */

import { language } from "./words";

// Direction overrides, isolates, zero-width marks and control characters: harmless themselves, but used to make one text look
// like another. The joiners U+200C and U+200D are kept: Persian words and emoji need them.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/gu;

/** The text with its invisible characters shown as `[U+202E]`, so that nothing can be hidden in it. */
export function reveal(text: string): string {
  const number = (character: string) => (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return text.replace(/\r\n?/gu, "\n").replace(HIDDEN, (character) => `[U+${number(character)}]`);
}

/** The first unused name: `main`, `main-2`, `main-3` … */
export function unusedName(base: string, taken: readonly string[]): string {
  for (let number = 2, name = base; ; number += 1) {
    if (!taken.includes(name)) return name;
    name = `${base}-${number}`;
  }
}

/** Join sentences, and add missing full stops. Empty sentences are left out. */
export function sentences(...parts: (string | null | undefined)[]): string {
  return parts
    .filter((part): part is string => Boolean(part))
    .map((part) => (/[.!?:…]$/u.test(part) ? part : `${part}.`))
    .join(" ");
}

const counting = new Intl.NumberFormat(language);
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });

/** `12,345`. */
export const count = (value: number): string => counting.format(value);

const LEAST_USD = 0.0001;

/** `$0.42`; small sums keep their significant digits: `$0.0031`, `< $0.0001`. */
export function money(usd: number): string {
  if (usd > 0 && usd < LEAST_USD) return `< ${money(LEAST_USD)}`;
  const digits = usd !== 0 && Math.abs(usd) < 0.1 ? 4 : 2;
  return new Intl.NumberFormat(language, {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(usd);
}

/** `1.4 MB`; sizes as in file managers. */
export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 ** 2) return `${Math.round(size / 1024)} KB`;
  if (size < 1024 ** 3) return `${(size / 1024 ** 2).toFixed(1)} MB`;
  return `${(size / 1024 ** 3).toFixed(1)} GB`;
}

/** `850 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];

/** `3 minutes ago`, `in 2 hours`; if more than a week away, the date. */
export function ago(at: number, now: number): string {
  const distance = at - now;
  if (Math.abs(distance) > 7 * 86_400_000) return new Date(at).toLocaleDateString(language, { dateStyle: "medium" });
  for (const [unit, size] of STEPS) {
    if (Math.abs(distance) >= size) return relative.format(Math.trunc(distance / size), unit);
  }
  return relative.format(0, "second");
}

/** The time of day for the reader, with the date if it is not today. */
export function clock(at: number, now: number = Date.now()): string {
  const moment = new Date(at);
  const today = moment.toDateString() === new Date(now).toDateString();
  return moment.toLocaleString(language, today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}

/** The exact moment, for a tooltip and the timeline. */
export const exactly = (at: number): string =>
  new Date(at).toLocaleString(language, { dateStyle: "medium", timeStyle: "medium" });
