/** The editor's changes of documents: every change can be undone and redone, and no connection is left without a node. */

import { expect, test } from "vitest";
import { mayConnect } from "../src/pages/workflows/editor/changes";
import { type Action, begun, type Editing, editing, MOST_STEPS } from "../src/pages/workflows/editor/editing";
import { KINDS, type KindName } from "../src/workflow/kinds";
import type { JsonObject, WorkflowDocument } from "../src/workflow/types";
import { chance, drawn, flaws, node } from "./drawing";

const choice = (): WorkflowDocument => {
  const conditions = ["one", "two", "three"].map((value): JsonObject => ({ operator: "equal", value }));
  const nodes = [node("i", "if", { data: { conditions } }), node("x"), node("y"), node("z")];
  return drawn(nodes, "i:condition-0>x", "i:condition-2>z", "i:false>y");
};
const edit = (document: WorkflowDocument, ...actions: Action[]): Editing => actions.reduce(editing, begun(document));
const row = (change: (Action & { do: "row" })["change"]): Action => ({
  ...{ do: "row", id: "i", field: "conditions", change },
});
const ways = ({ document }: Editing) => document.connections.map((line) => `${line.sourceHandle}>${line.target}`);

test("connections go with their rows and end with them", () => {
  const moved = edit(choice(), row({ do: "move", row: 2, to: 0 }));
  expect(ways(moved)).toEqual(["condition-1>x", "condition-0>z", "false>y"]);
  const removed = editing(moved, row({ do: "remove", row: 1 }));
  expect(ways(removed)).toEqual(["condition-0>z", "false>y"]);
  const added = editing(removed, row({ do: "add", row: { value: "four" } }));
  expect(ways(added)).toEqual(ways(removed));
  const rows = added.document.nodes[0]?.data.conditions as JsonObject[];
  expect(rows.map(({ value }) => value)).toEqual(["three", "two", "four"]);
});

test("the letters of a word are one undo step", () => {
  const typed = Array.from(
    "Hello",
    (_, place): Action => ({ ...{ do: "set", id: "x", field: "template", value: "Hello".slice(0, place + 1) } }),
  );
  expect(edit(choice(), ...typed).past).toHaveLength(1);
  expect(edit(choice(), ...typed.slice(0, 2), { do: "rest" }, ...typed.slice(2)).past).toHaveLength(2);
});

test("pasted steps have ids of their own and are selected", () => {
  const { nodes, connections } = choice();
  const pasted = edit(choice(), { do: "paste", clip: { nodes, connections } });
  expect(pasted.document.nodes).toHaveLength(8);
  expect(pasted.document.connections).toHaveLength(6);
  expect(pasted.chosen.nodes.size).toBe(4);
  expect(flaws(pasted.document)).toEqual([]);
});

test("removed steps take their connections with them and are deselected", () => {
  const chosen = { nodes: new Set(["x", "y"]), lines: new Set(["c1", "c3"]) };
  const after = edit(choice(), { do: "choose", chosen }, { do: "remove", nodes: ["x"] });
  expect(ways(after)).toEqual(["condition-2>z", "false>y"]);
  expect([...after.chosen.nodes, ...after.chosen.lines]).toEqual(["y", "c3"]);
});

test("an empty label and an unset field are removed", () => {
  const named = edit(choice(), { do: "label", id: "x", label: "Name" }, { do: "set", id: "x", field: "a", value: 1 });
  const cleared = [{ do: "label", id: "x", label: "" } as const, { do: "set", id: "x", field: "a" } as Action];
  expect(cleared.reduce(editing, named).document.nodes[1]).toEqual(node("x"));
});

test("an agent that gets a subagent may use it", () => {
  const agents = drawn([node("a", "agent", { data: { tools: { search: true } } }), node("b", "agent")]);
  const connection = { source: "a", sourceHandle: "subagent", target: "b", targetHandle: "" };
  const after = edit(agents, { do: "connect", connection });
  expect(after.document.nodes[0]?.data.tools).toEqual({ search: true, subagents: true });
  expect(editing(after, { do: "connect", connection })).toBe(after);
});

test("a connection needs an output, an input and two ends that fit", () => {
  const agents = drawn([node("a", "agent"), node("b", "agent"), node("s", "start"), node("r")], "a>r");
  const may = (source: string, sourceHandle: string, target: string) =>
    mayConnect(agents, { source, sourceHandle, target, targetHandle: "" });
  expect(may("s", "", "a")).toBe(true);
  expect(may("a", "", "r")).toBe(false); // it exists
  expect(may("a", "", "s")).toBe(false); // a start has no input
  expect(may("a", "", "a")).toBe(false);
  expect(may("a", "nowhere", "b")).toBe(false);
  expect(may("a", "", "gone")).toBe(false);
  expect(may("a", "subagent", "b")).toBe(true);
  expect(may("a", "subagent", "a")).toBe(false);
  expect(may("s", "subagent", "b")).toBe(false);
});

test("a change after an undo ends what could be redone, and old steps are forgotten", () => {
  const undone = edit(choice(), { do: "label", id: "x", label: "A" }, { do: "undo" });
  expect(undone.future).toHaveLength(1);
  expect(editing(undone, { do: "label", id: "y", label: "B" }).future).toEqual([]);
  const many = Array.from(
    { length: MOST_STEPS + 5 },
    (_, place): Action => ({ do: "label", id: "x", label: `${place}` }),
  );
  const state = edit(choice(), ...many.flatMap((one): Action[] => [one, { do: "rest" }]));
  expect(state.past).toHaveLength(MOST_STEPS);
});

test("every action can be undone and redone", () => {
  const draw = chance(9);
  const names = [...Object.keys(KINDS).flatMap((kind) => [`${kind}-1`, `${kind}-2`]), "i", "x", "y", "z"];
  const start = choice();
  let state = begun(start);
  for (let step = 0; step < 180; step += 1) {
    state = editing(state, randomAction(draw, names));
    expect(flaws(state.document)).toEqual([]);
  }
  const end = state.document;
  expect(state.past.length).toBeGreaterThan(90);
  while (state.past.length > 0) state = editing(state, { do: "undo" });
  expect(state.document).toEqual(start);
  while (state.future.length > 0) state = editing(state, { do: "redo" });
  expect(state.document).toEqual(end);
});

/** A random action, which may name missing nodes. */
function randomAction(draw: (below: number) => number, names: readonly string[]): Action {
  const pick = <T>(of: readonly T[]): T => of[draw(of.length)] as T;
  const [one, other] = [pick(names), pick(names)];
  const add = (): Action => ({ do: "add", kind: pick(Object.keys(KINDS)) as KindName, at: { x: 7, y: 900 } });
  const sourceHandle = pick(["", "false", "condition-0", "subagent"]);
  return pick<Action>([
    ...[add(), add(), add(), add()],
    { do: "nudge", ids: [one, other], by: { x: 20, y: -40 } },
    { do: "set", id: one, field: "prompt", value: other },
    { do: "label", id: one, label: pick(["", "Name"]) },
    { do: "connect", connection: { source: one, sourceHandle, target: other, targetHandle: "" } },
    { do: "remove", nodes: [one] },
    { do: "arrange" },
    row({ do: "add", row: { operator: "equal", value: "new" } }),
    row({ do: "remove", row: draw(3) }),
    row({ do: "move", row: draw(3), to: draw(3) }),
  ]);
}
