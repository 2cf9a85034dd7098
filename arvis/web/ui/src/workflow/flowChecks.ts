/**
 * The starts of runs, the nodes that they reach, and whether they can end: the same checks as
 * `arvis/workflows/validation/connections.py`.
 */

import { choicesOf } from "./connectionChecks";
import { begins, type Drawing, type DrawnNode } from "./drawing";
import type { Known } from "./fieldChecks";
import { at, isText } from "./json";
import { CALLED_TRIGGERS, UNSERVED_TRIGGERS } from "./kinds";
import { problem } from "./problem";
import type { Problem } from "./types";
import { circles, reach } from "./walks";

/** Kinds of nodes that may end a cycle, or make each pass of it wait for a person or a time. */
const HOLDS = new Set(["if", "approval", "router", "condition", "loop", "wait", "user-input"]);
/** Nodes that choose one of their outputs and have none. */
const BRANCHES = new Set(["if", "router", "condition"]);

export function* checkFlow(drawing: Drawing, known: Known): Generator<Problem> {
  yield* checkBegins(drawing);
  yield* checkTriggers(drawing);
  yield* checkServed(drawing, known);
  for (const node of drawing.nodes.values()) {
    if (!drawing.reached.has(node.id) || drawing.leaving.has(node.id)) continue;
    const values = { name: node.name, choices: choicesOf(node) };
    if (BRANCHES.has(node.type)) yield problem("branch-missing", { node: node.id }, values);
    if (node.type === "approval") yield problem("approval-branch-missing", { node: node.id }, values);
  }
  yield* checkReached(drawing);
  yield* checkCircles(drawing);
}

function* checkBegins(drawing: Drawing): Generator<Problem> {
  const beginning = [...drawing.nodes.values()].filter(begins);
  const starts = beginning.filter((node) => node.type === "start");
  if (beginning.length === 0) yield problem("start-missing", {});
  for (const node of starts.slice(1)) yield problem("start-twice", { node: node.id });
  const connected = new Set(drawing.flow.map((each) => each.source));
  for (const { id, name } of beginning) {
    if (!connected.has(id)) yield problem("start-unconnected", { node: id }, { name });
    else if (!drawing.leaving.has(id)) yield problem("start-reaches-nothing", { node: id }, { name });
  }
}

function* checkTriggers(drawing: Drawing): Generator<Problem> {
  const seen = new Map<string, DrawnNode>();
  for (const node of drawing.nodes.values()) {
    if (node.type !== "trigger") continue;
    const events = JSON.stringify(["kind", "platform", "channel", "words"].map((name) => said(node, name)));
    const other = seen.get(events);
    if (other !== undefined) {
      yield problem("trigger-twice", { node: node.id }, { name: other.name, other: node.name });
    } else {
      seen.set(events, node);
    }
  }
}

/** Report triggers that start no run, and triggers that need a schedule or another row that names this workflow. */
function* checkServed(drawing: Drawing, known: Known): Generator<Problem> {
  for (const node of drawing.nodes.values()) {
    const value = node.type === "trigger" ? said(node, "kind") : "";
    const place = { node: node.id, field: "kind" };
    const called = Object.hasOwn(CALLED_TRIGGERS, value) ? CALLED_TRIGGERS[value] : undefined;
    if (UNSERVED_TRIGGERS.includes(value)) {
      yield problem("trigger-unserved", place, { name: node.name, value });
    } else if (called !== undefined && known.begun && !known.begun.has(value)) {
      yield problem("trigger-idle", place, { name: node.name, what: called[0], how: called[1] });
    }
  }
}

function said(node: DrawnNode, field: string): string {
  const value = at(node.data, field);
  return isText(value) ? value : "";
}

/** Report nodes that no run reaches. A subagent counts as reached if its agent is reached. */
function* checkReached(drawing: Drawing): Generator<Problem> {
  const used = reach(drawing.reached, drawing.subagents);
  for (const node of drawing.nodes.values()) {
    if (!used.has(node.id) && !begins(node)) yield problem("unreachable", { node: node.id }, { name: node.name });
  }
}

function* checkCircles(drawing: Drawing): Generator<Problem> {
  const restless = [...drawing.nodes.values()].filter((node) => drawing.reached.has(node.id) && !HOLDS.has(node.type));
  const ids = restless.map((node) => node.id);
  for (const circle of circles(ids, drawing.ways)) {
    yield problem("cycle-unbounded", { node: circle[0] }, { path: drawing.path(circle) });
  }
}
