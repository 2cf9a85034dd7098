/** Bots of chat platforms as the forms of this page and of the first run handle them. */

import type { Answer, Item } from "../../api/types";
import type { Tone } from "../../parts/show";

export type Bot = Item<"GET /api/bots">;
export type Platform = Item<"GET /api/platforms">;
export type BotField = Platform["fields"][number];
export type Finding = Answer<"POST /api/bots/test">["findings"][number];

/** What was changed in a form; `null` takes a setting away. Secrets that were not typed anew are not in it. */
export type Draft = { settings: Record<string, unknown>; secrets: Record<string, string> };

export const EMPTY: Draft = { settings: {}, secrets: {} };

export const HOME = "/settings/bots";

export const addressOf = (platform: string, name?: string): string =>
  [HOME, encodeURIComponent(platform), ...(name === undefined ? [] : [encodeURIComponent(name)])].join("/");

export const TONES: Record<Bot["state"], Tone> = {
  running: "good",
  starting: "accent",
  waiting: "accent",
  stopped: "plain",
  error: "trouble",
};

/** `main`, or `main-2` where there is one already. */
export function freeName(taken: readonly string[]): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? "main" : `main-${number}`;
    if (!taken.includes(name)) return name;
  }
}

/** Whether every secret is there that the platform cannot do without. */
export function isComplete(platform: Platform, draft: Draft): boolean {
  return platform.fields.every((one) => !(one.secret && one.required) || Boolean(draft.secrets[one.name]));
}

/** For a new bot: what is empty is left out. */
export function given(draft: Draft): Draft {
  const filled = <T>(of: Record<string, T>) =>
    Object.fromEntries(Object.entries(of).filter(([, value]) => value !== null && value !== ""));
  return { settings: filled(draft.settings), secrets: filled(draft.secrets) };
}
