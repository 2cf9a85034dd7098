/** Accounts of models as the forms of this page and of the first run handle them. */

import type { Answer, Body, Item } from "../../api/types";

export type Account = Item<"GET /api/accounts">;
export type Provider = Item<"GET /api/providers">;
export type Trial = Answer<"POST /api/accounts/test">;

/** What is typed into a form. An empty key stays as it is. */
export type Draft = { apiKey: string; baseUrl: string; model: string };

export const EMPTY: Draft = { apiKey: "", baseUrl: "", model: "" };

/** `openai`, or `openai-2` where there is one already. */
export function freeName(base: string, taken: readonly string[]): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base}-${number}`;
    if (!taken.includes(name)) return name;
  }
}

/** The fields of a new account; what is empty is left out. */
export function bodyOf(provider: string, draft: Draft): Body<"POST /api/accounts/test"> {
  return {
    provider,
    ...(draft.apiKey !== "" && { apiKey: draft.apiKey }),
    ...(draft.baseUrl !== "" && { baseUrl: draft.baseUrl.trim() }),
    ...(draft.model !== "" && { model: draft.model.trim() }),
  };
}

/** Whether everything is there that this vendor needs. */
export function isComplete(provider: Provider, draft: Draft): boolean {
  const own = draft.baseUrl !== "" && provider.baseUrl === "optional";
  return (
    (provider.key !== "required" || draft.apiKey !== "" || own) &&
    (provider.baseUrl !== "required" || draft.baseUrl !== "") &&
    (provider.defaultModel !== null || draft.model !== "")
  );
}
