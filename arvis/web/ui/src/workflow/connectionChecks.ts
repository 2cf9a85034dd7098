/** Connections one by one, and connections to subagents: the same checks as `validation/connections.py` and `validation/branches.py`. */

import { begins, type Drawing, type DrawnConnection, type DrawnNode, isUsable, waysOut } from "./drawing";
import { at, isObject, isText, type Maybe } from "./json";
import { SUBAGENT } from "./kinds";
import { problem } from "./problem";
import type { RuleCode } from "./rules";
import type { Json, JsonObject, Problem } from "./types";
import { circles, listOf } from "./walks";

const AGENT = "agent";

export function* checkConnections(connections: readonly Json[], drawing: Drawing): Generator<Problem> {
  const ids = new Set<string>();
  const ends = new Set<string>();
  for (const [index, raw] of connections.entries()) {
    const place = `connections.${index}`;
    if (!isObject(raw)) {
      yield problem("not-an-object", { field: place }, { place });
      continue;
    }
    yield* checkId(at(raw, "id"), place, ids);
    const [source, target] = [nodeAt(at(raw, "source"), drawing), nodeAt(at(raw, "target"), drawing)];
    const id = idOf(raw);
    if (source === undefined) yield problem("connection-source", { connection: id, field: "source" }, { place });
    if (target === undefined) {
      yield problem("connection-target", { node: source?.id, connection: id, field: "target" }, { place });
    }
    if (source === undefined || target === undefined) continue;
    const [out, into] = [handleOf(at(raw, "sourceHandle")), handleOf(at(raw, "targetHandle"))];
    yield* checkHandles(source, target, { id, source: source.id, target: target.id, out, into }, drawing);
    const four = JSON.stringify([source.id, target.id, out, into]);
    if (ends.has(four)) {
      const place = { node: source.id, connection: id };
      yield problem("connection-twice", place, { name: source.name, other: target.name });
    }
    ends.add(four);
  }
}

function* checkId(given: Maybe, place: string, seen: Set<string>): Generator<Problem> {
  if (!isUsable(given)) yield problem("connection-id-odd", { field: "id" }, { place });
  else if (seen.has(given)) yield problem("connection-id-twice", { connection: given, field: "id" }, { id: given });
  else seen.add(given);
}

function idOf(raw: JsonObject): string | null {
  const id = at(raw, "id");
  return isUsable(id) ? id : null;
}

const nodeAt = (end: Maybe, drawing: Drawing): DrawnNode | undefined =>
  isText(end) ? drawing.nodes.get(end) : undefined;

/** A handle that is not a text cannot name an output or input. */
const handleOf = (handle: Maybe): string => (isText(handle) ? handle : "?");

function* checkHandles(
  source: DrawnNode,
  target: DrawnNode,
  each: DrawnConnection,
  drawing: Drawing,
): Generator<Problem> {
  if (each.out === SUBAGENT) return;
  const place = { node: source.id, connection: each.id };
  if (!drawing.leadsOn(each)) {
    const code = each.out === "" && source.kind?.chooses ? "handle-empty" : "handle-unknown";
    const values = { name: source.name, handle: each.out, choices: choicesOf(source) };
    yield problem(code, { ...place, field: "sourceHandle" }, values);
  }
  if (begins(target)) {
    yield problem("target-begins", { ...place, field: "target" }, { name: target.name });
  } else if (target.kind !== undefined && !target.kind.ins.includes(each.into)) {
    const values = { name: target.name, handle: each.into };
    yield problem("handle-target", { ...place, field: "targetHandle" }, values);
  }
}

/** The outputs of a node, as text for people. */
export function choicesOf(node: DrawnNode): string {
  const ways = waysOut(node).map((handle) => (handle === "" ? "its plain output" : handle));
  return ways.join(", ") || "none, nothing can follow it";
}

export function* checkSubagents(drawing: Drawing): Generator<Problem> {
  for (const each of drawing.delegations) {
    yield* checkDelegation(each, drawing.node(each.source), drawing.node(each.target));
  }
  yield* checkTargets(drawing);
  const between = new Map<string, string[]>();
  for (const [id, targets] of drawing.subagents) {
    between.set(
      id,
      targets.filter((target) => target !== id),
    );
  }
  for (const circle of circles([...drawing.nodes.keys()], between)) {
    yield problem("subagent-cycle", { node: circle[0] }, { path: drawing.path(circle) });
  }
}

function* checkDelegation(each: DrawnConnection, source: DrawnNode, target: DrawnNode): Generator<Problem> {
  const found = (code: RuleCode, node: DrawnNode, field: string, other?: DrawnNode): Problem => {
    const named: Record<string, string> = other === undefined ? {} : { other: other.name };
    return problem(code, { node: node.id, connection: each.id, field }, { name: node.name, ...named });
  };
  if (source.type !== AGENT) yield found("subagent-source", source, "source");
  else if (!isSwitchedOn(source)) yield found("subagent-off", source, "tools.subagents");
  if (target.type !== AGENT) yield found("subagent-target", target, "target", source);
  else if (each.into !== "") yield found("subagent-handle", source, "targetHandle", target);
  if (source.id === target.id) yield found("subagent-self", source, "target");
}

function isSwitchedOn(node: DrawnNode): boolean {
  const tools = at(node.data, "tools");
  return isObject(tools) && at(tools, "subagents") === true;
}

/** The problems of subagents, in the order of the nodes. Duplicate connections count as one parent. */
function* checkTargets(drawing: Drawing): Generator<Problem> {
  const parents = new Map<string, string[]>();
  for (const each of drawing.delegations) listOf(parents, each.target).push(each.source);
  const steps = new Set(drawing.flow.flatMap((each) => [each.source, each.target]));
  for (const { id, name } of drawing.nodes.values()) {
    if (new Set(parents.get(id)).size > 1) yield problem("subagent-parents", { node: id }, { name });
    if (parents.has(id) && steps.has(id)) yield problem("subagent-flow", { node: id }, { name });
  }
}
