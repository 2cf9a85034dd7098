import { expect, test } from "vitest";
import { type ApiStep, reasonInWords, stepsOf } from "../src/parts/steps";

const step = (code: string, fields: Record<string, unknown> = {}) => {
  const common = { at: 1, step: code, actor: null, durationMs: null, costUsd: null, input: null, output: null };
  const [shown] = stepsOf([{ ...common, ...fields } as unknown as ApiStep]);
  return shown;
};

test("a step of an unknown code shows its code and all its fields", () => {
  expect(step("teleported", { from: "a", job: "1" })).toMatchObject({ title: "teleported", output: { from: "a" } });
});

test("a failed tool is marked, and arguments are shown as JSON if they are complete", () => {
  expect(step("tool", { actor: "search", arguments: '{"q": 1}' })).toMatchObject({ tone: "done", input: { q: 1 } });
  expect(step("tool", { failed: true, arguments: '{"q": "cut o' })).toMatchObject({
    title: "A tool failed",
    tone: "trouble",
    input: '{"q": "cut o',
  });
});

test("hidden characters of untrusted fields are shown", () => {
  expect(step("reply_problem", { problem: "\u202Etxt" })?.detail).toBe("[U+202E]txt");
  expect(step("received", { platform: "web\u200B" })?.detail).toContain("web[U+200B]");
});

test("a delivery has the tone of its outcome and names a later part", () => {
  expect(step("delivery", { state: "sent", part: 0 })).toMatchObject({ title: "Sent", tone: "done", detail: "" });
  const failed = step("delivery", { state: "failed", part: 1, error: "no such channel" });
  expect(failed).toMatchObject({ title: "Sending failed", tone: "trouble" });
  expect(failed?.detail).toMatch(/2.*no such channel\.$/);
});

test("a refusal names the platform for a delivery, else the model; unknown reasons stay", () => {
  expect(reasonInWords("refused", "deliver")).not.toBe(reasonInWords("refused"));
  expect(reasonInWords("odd\u0007code")).toBe("odd[U+0007]code");
});

test("a model call counts tokens, and a failed one says why", () => {
  const called = step("model_call", { inputTokens: 1234, outputTokens: 5, cachedTokens: 0, account: "main" });
  expect(called).toMatchObject({ tone: "done" });
  expect(called?.detail).toContain("1,234");
  const failed = step("model_call", { error: "strange", detail: "HTTP 500", inputTokens: 1234 });
  expect(failed).toMatchObject({ tone: "trouble", detail: "strange. HTTP 500." });
});
