/** The geometry of the canvas, and its nodes and edges. */

import { expect, test } from "vitest";
import { arranged } from "../src/pages/workflows/editor/arranging";
import { heightOf, helpersOf, rowsOf, treeBelow, WIDTH } from "../src/workflow/canvas/geometry";
import { same, settled } from "../src/workflow/canvas/same";
import { HELPER, handleName, linesOf, sourceName, stepsOf, targetName } from "../src/workflow/canvas/shapes";
import type { WorkflowDocument } from "../src/workflow/types";
import { chance, drawn, node } from "./drawing";

const shown = (document: WorkflowDocument) => stepsOf({ document, selected: new Set<string>(), editable: true });

/** The pairs of nodes that cover one another. */
function overlaps(document: WorkflowDocument): string[] {
  const places = arranged(document);
  const boxes = document.nodes.map((one) => ({
    id: one.id,
    height: heightOf(one),
    ...(places[one.id] as { x: number; y: number }),
  }));
  return boxes.flatMap((one, index) =>
    boxes
      .slice(index + 1)
      .filter(
        (other) => Math.abs(one.x - other.x) < WIDTH && one.y < other.y + other.height && other.y < one.y + one.height,
      )
      .map((other) => `${one.id} ${other.id}`),
  );
}

test("a node grows by its outputs; a single plain output needs no row", () => {
  const chooser = (count: number) => node("i", "if", { data: { conditions: Array(count).fill({}) } });
  expect(rowsOf(node("r"))).toEqual([]);
  expect(rowsOf(chooser(2)).map(({ id }) => id)).toEqual(["condition-0", "condition-1", "false"]);
  expect(heightOf(chooser(2)) - heightOf(chooser(1))).toBe(heightOf(chooser(3)) - heightOf(chooser(2)));
  expect(heightOf(node("r"))).toBeLessThan(heightOf(chooser(0)));
  expect(heightOf(node("a", "agent"))).toBe(heightOf(node("r"))); // subagents are no row
});

test("subagents are found at every depth, also in a cycle", () => {
  const agents = ["a", "b", "c", "d"].map((id) => node(id, "agent"));
  const below = helpersOf(drawn(agents, "a:subagent>b", "a:subagent>c", "c:subagent>d", "d:subagent>a", "a>d"));
  expect(below.get("a")).toEqual(["b", "c"]);
  expect(treeBelow("a", below)).toEqual(new Set(["b", "c", "d"]));
  expect(treeBelow("b", below)).toEqual(new Set());
});

test("each node is arranged after its predecessors, and a way back does not count", () => {
  const nodes = ["s", "a", "b", "c"].map((id) => node(id));
  const places = arranged(drawn(nodes, "s>a", "a>b", "s>b", "b>c", "c>a"));
  const columns = ["s", "a", "b", "c"].map((id) => places[id]?.x ?? Number.NaN);
  expect(columns).toEqual([...columns].sort((one, other) => one - other));
  expect(new Set(columns).size).toBe(4);
});

test("subagents are placed below their agent", () => {
  const nodes = ["a", "b", "c"].map((id) => node(id, "agent"));
  const places = arranged(drawn(nodes, "a:subagent>b", "a:subagent>c"));
  expect(places.b?.y).toBeGreaterThan(heightOf(nodes[0] as (typeof nodes)[0]));
  expect(places.b?.x).toBe(places.a?.x);
  expect(places.c?.x).toBeGreaterThanOrEqual((places.b?.x ?? 0) + WIDTH);
});

test("parallel ways keep the order of their outputs, so that few lines cross", () => {
  const choice = node("i", "if", { data: { conditions: [{}, {}, {}] } });
  const document = drawn(
    [choice, node("x"), node("y"), node("z")],
    "i:condition-2>x",
    "i:condition-0>y",
    "i:condition-1>z",
  );
  const places = arranged(document);
  expect(["y", "z", "x"].map((id) => places[id]?.y ?? Number.NaN)).toEqual(
    ["x", "y", "z"].map((id) => places[id]?.y ?? Number.NaN).sort((one, other) => one - other),
  );
});

test("arranged nodes never cover one another", () => {
  const draw = chance(3);
  for (let round = 0; round < 60; round += 1) {
    const nodes = Array.from({ length: 2 + draw(8) }, (_, place) => node(`n${place}`, draw(2) ? "agent" : "parallel"));
    const name = () => `n${draw(nodes.length)}`;
    const flow = Array.from({ length: draw(12) }, () => `${name()}>${name()}`);
    expect(overlaps(drawn(nodes, ...flow))).toEqual([]);
  }
});

test("a handle has a name on the canvas that is never empty", () => {
  for (const handle of ["", "false", "condition-0", "a:b"]) {
    for (const name of [sourceName(handle), targetName(handle)]) {
      expect(name).not.toBe("");
      expect(handleName(name)).toBe(handle);
    }
  }
  expect([HELPER, null, undefined].map(handleName)).toEqual(["", "", ""]);
});

test("a folded agent hides all subagents below it and counts them", () => {
  const folded = node("a", "agent", { data: { collapsed: true } });
  const document = drawn([folded, node("b", "agent"), node("c", "agent")], "a:subagent>b", "b:subagent>c");
  const steps = shown(document);
  expect(steps.map(({ hidden }) => hidden)).toEqual([false, true, true]);
  expect(steps[0]?.data).toMatchObject({ helpers: 2, collapsed: true, leads: true });
});

test("a connection is drawn if both ends exist, and shows whether the run took it", () => {
  const document = drawn([node("a", "agent"), node("b", "agent"), node("r")], "a>r", "a:subagent>b", "a>gone");
  const lines = linesOf(document, new Set(["c1"]), new Set(["c1"]));
  expect(lines.map(({ id, selected, data }) => [id, selected, data?.taken, data?.subagent])).toEqual([
    ["c1", true, true, false],
    ["c2", false, false, true],
  ]);
  expect(lines[1]?.targetHandle).toBe(HELPER);
});

test("a step that did not change is not drawn again", () => {
  const document = drawn([node("a"), node("b")], "a>b");
  const before = shown(document);
  const [a, b] = document.nodes as [(typeof document.nodes)[0], (typeof document.nodes)[0]];
  const after = settled(before, shown({ ...document, nodes: [a, { ...b, x: 20 }] }));
  expect(after[0]).toBe(before[0]);
  expect(after[1]).not.toBe(before[1]);
  expect(same({ deep: { deeper: { still: { on: 1 } } } }, { deep: { deeper: { still: { on: 1 } } } })).toBe(false);
  expect(same({ a: 1 }, { a: 1, b: 2 })).toBe(false);
});
