/** Chat platform bots for the forms of this page and of the welcome page. */

import type { Answer, Item } from "../../api/types";
import type { Tone } from "../../parts/show";

export type Bot = Item<"GET /api/bots">;
export type Platform = Item<"GET /api/platforms">;
export type BotField = Platform["fields"][number];
export type Finding = Answer<"POST /api/bots/test">["findings"][number];

/** The changes of a form; `null` removes a setting. Secrets that were not typed again are not included. */
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

/** True if every secret that the platform requires is set. */
export function isComplete(platform: Platform, draft: Draft): boolean {
  return platform.fields.every((one) => !(one.secret && one.required) || Boolean(draft.secrets[one.name]));
}

/** For a new bot: empty values are left out. */
export function given(draft: Draft): Draft {
  const filled = <T>(of: Record<string, T>) =>
    Object.fromEntries(Object.entries(of).filter(([, value]) => value !== null && value !== ""));
  return { settings: filled(draft.settings), secrets: filled(draft.secrets) };
}
