import { expect, test } from "vitest";
import { alreadyAnswered, argumentsOf, decisionOf, headline, isTool, type Wait } from "../src/pages/questions/wait";
import { readValue, type ServerField, startOf } from "../src/parts/serverFields";

const wait = (fields: Partial<Wait>): Wait =>
  ({
    ...{ kind: "approval", agent: "helper", tool: "run_code", risk: "exec", prompt: "", choices: [], answer: null },
    ...{ answeredAt: null, answeredByName: null, form: null },
    ...fields,
  }) as Wait;

test("a headline names the agent with the tool or the change", () => {
  expect(headline(wait({}))).toBe("helper wants to use run_code");
  expect(headline(wait({ risk: null, agent: null }))).toBe("An agent wants to make a change: run_code");
  expect(headline(wait({ kind: "user", tool: null }))).toBe("helper asks");
  expect(headline(wait({ agent: "\u202Eevil" }))).toBe("[U+202E]evil wants to use run_code");
});

test("an approval without a tool shows the first line of its prompt, cut at 160 characters", () => {
  expect(headline(wait({ tool: null, prompt: "Publish?\nmore" }))).toBe("Publish?");
  const long = headline(wait({ tool: null, prompt: "x".repeat(200) }));
  expect(long).toBe(`${"x".repeat(160)}…`);
});

test("only an approval of a tool has arguments to change", () => {
  expect(isTool(wait({}))).toBe(true);
  expect(isTool(wait({ risk: null }))).toBe(false);
  expect(isTool(wait({ kind: "user" }))).toBe(false);
});

const field = (more: Partial<ServerField>): ServerField => ({
  ...{ name: "a", kind: "text", title: "", description: "", required: false, options: [], least: null, most: null },
  ...{ format: "", ...more },
});

test("the fields of a server's form become typed values, or name the problem", () => {
  const whole = field({ kind: "integer", least: 1, most: 8 });
  expect(readValue(whole, "3")).toEqual({ value: 3 });
  for (const wrong of ["0", "9", "2.5", "x"]) expect(readValue(whole, wrong)).toHaveProperty("problem");
  expect(readValue(field({ kind: "boolean" }), "false")).toEqual({ value: false });
  expect(readValue(field({ kind: "choices" }), ["x"])).toEqual({ value: ["x"] });
  expect(readValue(field({}), "")).toEqual({ value: undefined });
  expect(readValue(field({ required: true }), "")).toHaveProperty("problem");
  expect(startOf([whole, field({ name: "b", kind: "choices" })], { a: 2 })).toEqual({ a: "2", b: [] });
});

test("the decision is shown as text, and a chosen answer as itself", () => {
  expect(decisionOf(wait({ answer: { decision: "reject" } }))).toBe("Rejected");
  expect(decisionOf(wait({ answer: { decision: "answer", text: "blue" }, choices: ["blue"] }))).toBe("blue");
  expect(decisionOf(wait({ answer: { decision: "answer", text: "a long text" } }))).toBe("Answered");
  expect(decisionOf(wait({ answer: null }))).toBe("Expired without an answer");
});

test("a second answer learns who was first", () => {
  const answered = wait({ answer: { decision: "approve" }, answeredAt: Date.now(), answeredByName: "Ada\u200B" });
  expect(alreadyAnswered(answered)).toContain("Ada[U+200B]");
  expect(alreadyAnswered(answered)).toContain("now");
});

test("arguments are a JSON object, or the problem is named", () => {
  expect(argumentsOf('{"a": [1]}')).toEqual({ value: { a: [1] } });
  for (const wrong of ["[1]", "null", '"text"', "1"]) expect(argumentsOf(wrong)).toHaveProperty("problem");
  expect((argumentsOf("{") as { problem: string }).problem).toMatch(/JSON/);
});
