/** The values of forms: accounts, bots and webhooks. */

import { expect, test } from "vitest";
import * as accounts from "../src/pages/accounts/accounts";
import * as bots from "../src/pages/bots/bots";
import { scopeInWords, scopeOf } from "../src/pages/memory/people";
import { exampleOf } from "../src/pages/webhooks/webhook";
import { unusedName } from "../src/words/format";

test("a new account or bot gets the first free name", () => {
  expect(unusedName("openai", [])).toBe("openai");
  expect(unusedName("openai", ["openai", "openai-2", "openai-4"])).toBe("openai-3");
  expect(unusedName("main", ["main"])).toBe("main-2");
});

test("an account is complete if it has what its vendor requires", () => {
  const vendor = (key: string, baseUrl: string, defaultModel: string | null) =>
    ({ key, baseUrl, defaultModel }) as accounts.Provider;
  const { EMPTY, isComplete } = accounts;
  expect(isComplete(vendor("required", "none", "m"), EMPTY)).toBe(false);
  expect(isComplete(vendor("required", "none", "m"), { ...EMPTY, apiKey: "k" })).toBe(true);
  // A server of one's own may need no key.
  expect(isComplete(vendor("required", "optional", "m"), { ...EMPTY, baseUrl: "http://x" })).toBe(true);
  expect(isComplete(vendor("optional", "required", "m"), EMPTY)).toBe(false);
  expect(isComplete(vendor("optional", "optional", null), EMPTY)).toBe(false);
  expect(isComplete(vendor("optional", "optional", null), { ...EMPTY, model: "m" })).toBe(true);
});

test("empty fields of a new account or bot are left out", () => {
  expect(accounts.bodyOf("ollama", { apiKey: "", baseUrl: " http://x ", model: "" })).toEqual({
    provider: "ollama",
    baseUrl: "http://x",
  });
  const draft = { settings: { mode: "all", channel: "", limit: null, quiet: false }, secrets: { token: "" } };
  expect(bots.given(draft)).toEqual({ settings: { mode: "all", quiet: false }, secrets: {} });
});

test("a bot is complete if its required secrets are typed", () => {
  const field = (name: string, secret: boolean, required: boolean) => ({ name, secret, required });
  const platform = { fields: [field("token", true, true), field("app", true, false), field("mode", false, true)] };
  expect(bots.isComplete(platform as bots.Platform, bots.EMPTY)).toBe(false);
  expect(bots.isComplete(platform as bots.Platform, { settings: {}, secrets: { token: "t" } })).toBe(true);
});

test("the address of a bot has its names escaped", () => {
  expect(bots.addressOf("slack", "a/b")).toBe("/settings/bots/slack/a%2Fb");
  expect(bots.addressOf("slack")).toBe("/settings/bots/slack");
});

test("the example of a webhook quotes the secret and the address for the shell", () => {
  const hook = { preset: "plain", secret: "it's; rm", url: "/hooks/a'b" } as const;
  const example = exampleOf(hook, "https://arvis.example");
  expect(example.split("\n")[0]).toBe(`secret='it'\\''s; rm'`);
  expect(example).toContain(`'https://arvis.example/hooks/a'\\''b'`);
  expect(example).toContain("X-Webhook-Signature: sha256=");
});

test("each kind of webhook is signed in its own way", () => {
  const signed = (preset: "plain" | "github" | "stripe") => exampleOf({ preset, secret: "s", url: "/hooks/x" }, "");
  expect(signed("github")).toContain("X-Hub-Signature-256: sha256=");
  expect(signed("stripe")).toContain("Stripe-Signature: t=$time,v1=");
  expect(signed("stripe")).toContain("time=$(date +%s)");
  expect(signed("plain")).not.toContain("$time");
});

test("a scope is a person, a channel or everywhere", () => {
  const people = { names: new Map([["01A", "Ada"]]), all: true };
  expect(scopeInWords(scopeOf("01A"), people)).toBe("Ada");
  expect(scopeInWords(scopeOf("01B"), people)).toBe("01B");
  expect(scopeInWords("agent", people)).toBe("Everywhere");
  expect(scopeInWords("room:slack:main:C1:", people)).toBe("slack, channel C1");
  expect(scopeInWords("other:thing", people)).toBe("other:thing");
});
