/** Versions and runs of workflows, and changes that the browser keeps. */

import { expect, test } from "vitest";
import { ApiError } from "../src/api/client";
import { compare } from "../src/pages/workflows/compare";
import { forget, keep, readKept } from "../src/pages/workflows/editor/base";
import {
  isAtWork,
  seenFirst,
  shownStatus,
  statesOf,
  takenIn,
  tookAt,
  wayTaken,
} from "../src/pages/workflows/run/runState";
import { callsOf } from "../src/pages/workflows/run/tree";
import { type LogLine, problemsOf, type RunDetail } from "../src/pages/workflows/workflow";
import { drawn, node } from "./drawing";

let lines = 0;
const line = (type: string, fields: Partial<LogLine> = {}): LogLine => {
  lines += 1;
  return { number: lines, timestamp: lines * 1_000, type, nodeId: "", content: "", ...fields } as LogLine;
};
const call = (type: "start" | "end" | "error", callId: string, fields: Record<string, unknown> = {}): LogLine =>
  line(`subagent_call_${type}`, {
    content: JSON.stringify({ callId, subagentNodeId: "n", message: type, ...fields }),
  } as never);
const run = (fields: object): RunDetail =>
  ({ status: "running", nodes: {}, rerunOf: null, waitingForInput: false, error: null, ...fields }) as RunDetail;

test("two versions are compared by ids and ends, and the order of fields does not count", () => {
  const before = drawn([node("a", "agent", { data: { x: 1, y: 2 } }), node("b"), node("c")], "a>b", "b>c");
  const nodes = [node("a", "agent", { data: { y: 2, x: 1 }, x: 40 }), node("b", "response", { label: "B" }), node("d")];
  const after = { ...drawn(nodes, "b>d", "a>b"), settings: { maxSteps: 5 } };
  expect(compare(before, after)).toEqual({
    nodes: { added: [nodes[2]], removed: [before.nodes[2]], changed: [nodes[1]], moved: 1 },
    connections: { added: 1, removed: 1 },
    settings: true,
  });
  expect(compare(before, before)).toMatchObject({ connections: { added: 0, removed: 0 }, settings: false });
});

test("calls of subagents form a tree by their parents", () => {
  const found = callsOf([
    line("step_start"),
    call("start", "1"),
    call("start", "2", { parentCallId: "1", subagentName: "Writer" }),
    call("error", "2"),
    call("end", "1"),
    call("start", "3"),
  ]);
  expect(found.all.map(({ id, state }) => [id, state])).toEqual([
    ["1", "done"],
    ["2", "failed"],
    ["3", "open"],
  ]);
  expect([...found.roots.values()].map(({ id }) => id)).toEqual(["1", "3"]);
  expect(found.all[0]?.calls.map(({ name }) => name)).toEqual(["Writer"]);
  expect(found.all[0]).toMatchObject({ asked: "start", answered: "end", name: "n" });
});

test("a call whose beginning is missing, or that names itself as parent, is still shown", () => {
  const found = callsOf([call("end", "9"), call("start", "8", { parentCallId: "8" })]);
  expect(found.roots.size).toBe(2);
  expect(found.all[0]).toMatchObject({ state: "done", asked: "", answered: "end" });
  const broken = line("subagent_call_start", { content: "not JSON" } as never);
  expect(callsOf([broken]).all[0]).toMatchObject({ asked: "not JSON", state: "open" });
});

test("steps that were not reached wait while the run is live, and are skipped after it", () => {
  const document = drawn([node("a"), node("b")], "a>b");
  const nodes = { a: { state: "done", visits: 3 } };
  expect(statesOf(run({ nodes }), document, []).b).toEqual({ state: "pending" });
  expect(statesOf(run({ nodes, status: "completed" }), document, []).b).toEqual({ state: "skipped" });
  expect(statesOf(run({ nodes }), document, []).a).toMatchObject({ state: "done", note: expect.stringContaining("3") });
  const cut = run({ status: "cancelled", nodes: { a: { state: "running", visits: 1 } } });
  expect(statesOf(cut, document, []).a).toEqual({ state: "cancelled" });
  const called = statesOf(run({ nodes }), document, callsOf([call("start", "1", { subagentNodeId: "b" })]).all);
  expect([called.a?.state, called.b]).toEqual(["done", { state: "running" }]);
});

test("the view opens at the running step, else at a waiting one, else at a failed one", () => {
  const states = { a: { state: "failed" }, b: { state: "waiting" }, c: { state: "running" } } as const;
  expect(seenFirst(states)).toBe("c");
  expect(seenFirst({ a: states.a, b: states.b })).toBe("b");
  expect(seenFirst({ a: states.a })).toBe("a");
  expect(seenFirst({})).toBeUndefined();
});

test("a choosing step shows the connection it took; others show all that were reached", () => {
  const choice = node("i", "if", { data: { conditions: [{}] } });
  const document = drawn([choice, node("x"), node("y"), node("z")], "i:condition-0>x", "i:false>y", "x>z");
  const done = { state: "done", visits: 1 };
  const nodes = { i: done, x: done, y: done, z: { state: "skipped", visits: 0 } };
  const log = [line("step_end", { nodeId: "i", content: "condition-0 (tainted)" }), line("step_end", { nodeId: "x" })];
  expect(takenIn(run({ nodes }), document, log)).toEqual(new Set(["c1"]));
  expect(wayTaken(" false ")).toBe("false");
});

test("a paused run is at work while one of its steps runs", () => {
  const busy = run({ status: "paused", nodes: { a: { state: "running" } } });
  expect([isAtWork(busy), shownStatus(busy)]).toEqual([true, "running"]);
  const asking = { ...busy, waitingForInput: true };
  expect(shownStatus(asking)).toBe("paused");
  const waiting = run({ status: "paused", nodes: { a: { state: "waiting" } } });
  expect([isAtWork(waiting), shownStatus(waiting)]).toEqual([false, "paused"]);
});

test("a step took the time from its first line to its last end", () => {
  const log = [line("step_start", { nodeId: "a" }), line("output", { nodeId: "b" }), line("step_end", { nodeId: "a" })];
  expect(tookAt("a", log)).toBe(2_000);
  expect(tookAt("b", log)).toBeNull();
});

test("changes are kept per workflow until they are forgotten; unreadable ones do not count", () => {
  const kept = { document: drawn([node("a")]), slug: "s", version: 2, at: 1 };
  keep("1", kept);
  expect(readKept("1")).toEqual(kept);
  expect(readKept("2")).toBeNull();
  forget("1");
  expect(readKept("1")).toBeNull();
  for (const broken of ["{", "null", '{"document": {"nodes": 1}}']) {
    localStorage.setItem("arvis.workflow.1", broken);
    expect(readKept("1")).toBeNull();
  }
});

test("the problems of a refused document are read from the error", () => {
  const problems = [{ rule: "too-deep" }];
  expect(problemsOf(new ApiError(422, "invalid", "", "", null, { problems }))).toEqual(problems);
  expect(problemsOf(new ApiError(422, "invalid", "", "", null, { problems: "odd" }))).toEqual([]);
  expect(problemsOf(null)).toEqual([]);
});
