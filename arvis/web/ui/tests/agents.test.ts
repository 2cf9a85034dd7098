import { expect, test } from "vitest";
import { differences, lineDiff } from "../src/pages/agents/diff";
import { type Agent, differing, draftOf, FRESH, slugFor, written } from "../src/pages/agents/draft";
import type { ChangedLine } from "../src/parts/show";

const AGENT = {
  ...{ name: "Helper", role: "custom", description: "", prompt: "Be brief.", model: "demo", fallbacks: ["a", "b"] },
  ...{ tools: ["search"], graph: "agent", completion: "implicit", contextTokens: 96_000, timezone: null },
  ...{
    allowUsers: null,
    onNewMessage: null,
    plugins: [],
    helpers: [],
    skills: [],
    credentials: [],
    knowledge: [],
    effort: null,
  },
} as unknown as Agent;

test("an agent that was opened and not changed is not written", () => {
  expect(differing(AGENT, draftOf(AGENT))).toEqual({});
  const open = { ...AGENT, allowUsers: ["1", "2"], contextTokens: null, timezone: "Europe/Berlin" };
  expect(differing(open, draftOf(open))).toEqual({});
});

test("only changed fields are written, so that changes of others are kept", () => {
  const draft = { ...draftOf(AGENT), name: " Guide ", model: " ", fallbacks: "b\n\n  a ", contextTokens: "" };
  expect(differing(AGENT, draft)).toEqual({ name: "Guide", model: null, fallbacks: ["b", "a"], contextTokens: null });
});

test("nobody but the owners may use an agent with an empty list; everybody, one without a list", () => {
  expect(written({ ...FRESH, everybody: false, allowUsers: " \n" }).allowUsers).toEqual([]);
  expect(written({ ...FRESH, everybody: true, allowUsers: "1" }).allowUsers).toBeNull();
});

test("a slug has letters, digits and single hyphens", () => {
  expect(slugFor("Zoë's News!")).toBe("zoe-s-news");
  expect(slugFor("  --  ")).toBe("");
  expect(slugFor("Über 100 %")).toBe("uber-100");
  expect(slugFor("x".repeat(80))).toHaveLength(50);
});

test("differences name values, entries and lines", () => {
  const after = { ...AGENT, model: null, fallbacks: ["b", "c"], prompt: "Be brief.\nBe kind." };
  expect(differences(AGENT, after)).toEqual([
    {
      field: "prompt",
      kind: "text",
      lines: [
        { sign: " ", text: "Be brief." },
        { sign: "+", text: "Be kind." },
      ],
    },
    { field: "model", kind: "value", before: "demo", after: expect.any(String) },
    { field: "fallbacks", kind: "list", gone: ["a"], come: ["c"], moved: false },
  ]);
  const [moved] = differences(AGENT, { ...AGENT, fallbacks: ["b", "a"] });
  expect(moved).toMatchObject({ gone: [], come: [], moved: true });
  expect(differences(AGENT, { name: "Helper" })).toEqual([]);
});

test("a diff is short, and unchanged lines far from a change are counted", () => {
  const before = Array.from({ length: 12 }, (_, line) => `${line}`);
  const after = before.with(8, "eight");
  expect(lineDiff(before, after)).toEqual([
    { sign: "skipped", text: expect.stringContaining("6") },
    ...["6", "7"].map((text) => ({ sign: " ", text })),
    { sign: "-", text: "8" },
    { sign: "+", text: "eight" },
    ...["9", "10"].map((text) => ({ sign: " ", text })),
    { sign: "skipped", text: expect.stringContaining("1") },
  ]);
  expect(lineDiff([], [])).toEqual([]);
});

test("the lines of a diff are those of both texts, whatever was changed", () => {
  let seed = 7;
  const draw = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  for (let round = 0; round < 300; round += 1) {
    const [before, after] = [text(draw), text(draw)];
    const lines = lineDiff(before, after);
    if (lines.some(({ sign }) => sign === "skipped")) continue;
    const side = (signs: ChangedLine["sign"][]) =>
      lines.filter(({ sign }) => signs.includes(sign)).map((line) => line.text);
    expect(side([" ", "-"])).toEqual(before);
    expect(side([" ", "+"])).toEqual(after);
  }
});

const text = (draw: (below: number) => number) => Array.from({ length: draw(6) }, () => "abc"[draw(3)] ?? "");
