/** The texts of a node in the diagram: its summary is filled from its fields, and each output has a name. */

import { expect, test } from "vitest";
import { KINDS, type KindName } from "../src/workflow/kinds";
import { emptyNode, filled, handlesOf } from "../src/workflow/node";
import type { JsonObject } from "../src/workflow/types";

type Shown = [kind: KindName, data: JsonObject, summary: string, outputs: string[]];

const rows: JsonObject[] = [
  { value: "yes" },
  { operator: "contains", value: "no" },
  { operator: "contains" }, // a condition without a value
];
const routes = [{ label: "Calm" }, { label: "" }, null];

const SHOWN: Shown[] = [
  ["start", {}, "Input of the run", ["Next"]],
  ["start", { initialInput: " Hello " }, "Hello", ["Next"]],
  ["trigger", { kind: "webhook" }, "A webhook is called", ["Next"]],
  ["trigger", { kind: "webhook", description: "News" }, "News", ["Next"]],
  ["agent", { systemPrompt: "Be brief." }, "Be brief.", ["Next", "Subagents"]],
  ["if", {}, "0 conditions", ["Otherwise"]],
  [
    "if",
    { conditions: rows },
    "3 conditions",
    ["is “yes”", "contains “no”", "a condition without a value", "Otherwise"],
  ],
  ["router", { routes }, "3 routes", ["Calm", "Route 2", "Route 3"]],
  ["condition", { rules: [{}] }, "1 rule", ["True", "False"]],
  ["wait", { amount: 0 }, "0 seconds", ["Next"]],
  ["wait", { amount: 2, unit: "" }, "2 seconds", ["Next"]],
  ["wait", { unit: "hours" }, "– hours", ["Next"]],
  ["loop", { condition: ["no text"] }, "At most 10 repetitions", ["Each repetition", "Afterwards"]],
  ["merge", { strategy: "first" }, "With the first that arrives", ["Next"]],
  ["merge", { strategy: "unknown" }, "unknown", ["Next"]],
  ["transfer", { workflow: "{amount}" }, "{amount}", []],
];

test.each(SHOWN)("the texts of %s with %j", (type, data, summary, outputs) => {
  expect(filled(KINDS[type].summary, KINDS[type].fields, data)).toBe(summary);
  expect(handlesOf({ type, data }).sources.map(({ name }) => name)).toEqual(outputs);
});

test("a new node has one row in each field of rows that makes outputs or is required", () => {
  for (const { name: kind, fields, rowHandles } of Object.values(KINDS)) {
    for (const { name, required } of fields.filter(({ form }) => form === "rows")) {
      const rows = emptyNode(kind).data[name] as JsonObject[] | undefined;
      expect([kind, name, rows?.length ?? 0]).toEqual([kind, name, required || rowHandles?.[0] === name ? 1 : 0]);
    }
  }
});
