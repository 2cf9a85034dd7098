/** Model accounts for the forms of this page and of the welcome page. */

import type { Answer, Body, Item } from "../../api/types";

export type Account = Item<"GET /api/accounts">;
export type Provider = Item<"GET /api/providers">;
export type Trial = Answer<"POST /api/accounts/test">;

/** The input of a form. An empty key is not changed. */
export type Draft = { apiKey: string; baseUrl: string; model: string };

export const EMPTY: Draft = { apiKey: "", baseUrl: "", model: "" };

/** The fields of a new account without empty ones. */
export function bodyOf(provider: string, draft: Draft): Body<"POST /api/accounts/test"> {
  return {
    provider,
    ...(draft.apiKey !== "" && { apiKey: draft.apiKey }),
    ...(draft.baseUrl !== "" && { baseUrl: draft.baseUrl.trim() }),
    ...(draft.model !== "" && { model: draft.model.trim() }),
  };
}

/** True if all fields that this vendor requires are filled in. */
export function isComplete(provider: Provider, draft: Draft): boolean {
  const own = draft.baseUrl !== "" && provider.baseUrl === "optional";
  return (
    (provider.key !== "required" || draft.apiKey !== "" || own) &&
    (provider.baseUrl !== "required" || draft.baseUrl !== "") &&
    (provider.defaultModel !== null || draft.model !== "")
  );
}
