/** Nodes that wait for several branches: the same checks as `arvis/workflows/validation/branches.py`. */

import { begins, type Drawing, type DrawnNode } from "./drawing";
import { isWhole } from "./fieldChecks";
import { at } from "./json";
import { JOIN, JOIN_COUNT, MOST_CONNECTIONS } from "./kinds";
import { problem } from "./problem";
import type { Problem } from "./types";
import { components, reach } from "./walks";

/** Kinds of nodes that define how branches join there. */
const OWN = new Set(["merge", "loop"]);
const APART = new Set(["parallel", "merge"]);
/** A count that means unlimited: no join waits for more branches. */
const MANY = MOST_CONNECTIONS + 1;
/** The maximum number of passes that look for joins that can continue. After it, no problem is reported. */
const ROUNDS = 10;

export function* checkJoins(drawing: Drawing): Generator<Problem> {
  const nodes = [...drawing.nodes.values()];
  const joins = nodes.filter((node) => node.kind !== undefined && !begins(node) && !OWN.has(node.type));
  const arriving = new Map<string, number>();
  for (const each of drawing.flow) arriving.set(each.target, (arriving.get(each.target) ?? 0) + 1);
  const counts = new Map<string, number>();
  for (const node of joins) {
    yield* checkCount(node, arriving.get(node.id) ?? 0);
    const count = at(node.data, JOIN_COUNT.name);
    if (joinOf(node) === "n" && isWhole(count)) counts.set(node.id, count);
  }
  if (counts.size > 0) {
    const starved = starvedOf(drawing, counts);
    if (starved.length > 0) {
      yield problem("join-starved", { node: starved[0], field: JOIN.name }, { names: drawing.names(starved) });
    }
  }
  const every = joins.filter((node) => joinOf(node) === "all").map((node) => node.id);
  for (const group of deadlocksOf(drawing, every)) {
    yield problem("join-deadlock", { node: group[0], field: JOIN.name }, { names: drawing.names(group) });
  }
}

const joinOf = (node: DrawnNode) => at(node.data, JOIN.name);

function* checkCount(node: DrawnNode, arriving: number): Generator<Problem> {
  if (joinOf(node) !== "n") return;
  const place = { node: node.id, field: JOIN_COUNT.name };
  const count = at(node.data, JOIN_COUNT.name) ?? null;
  if (count === null) yield problem("join-count-missing", place, { name: node.name });
  else if (isWhole(count) && count > arriving) {
    yield problem("join-count-high", place, { name: node.name, most: arriving });
  }
}

const beginnings = (drawing: Drawing): string[] => [...drawing.nodes.values()].filter(begins).map((node) => node.id);

/**
 * The joins that some branches reach, but never enough branches. At first all joins are closed. In each pass, a join opens if
 * enough branches can reach it through the open joins, until a pass opens no join.
 */
function starvedOf(drawing: Drawing, counts: ReadonlyMap<string, number>): string[] {
  const closed = new Map(counts);
  for (let round = 0; round < ROUNDS; round++) {
    const arrivals = beginnings(drawing).map((begin) => arrivalsOf(drawing, begin, closed));
    const most = (id: string) => Math.max(0, ...arrivals.map((each) => each.get(id) ?? 0));
    const opened = [...closed].filter(([id, count]) => most(id) >= count).map(([id]) => id);
    if (opened.length === 0) return [...closed.keys()].filter((id) => most(id) > 0);
    for (const id of opened) closed.delete(id);
  }
  return [];
}

/** By node: the maximum number of branches that reach it in a run from `begin`, if no branch passes the closed joins. */
function arrivalsOf(drawing: Drawing, begin: string, closed: ReadonlyMap<string, number>): Map<string, number> {
  const ways = new Map([...drawing.ways].filter(([id]) => !closed.has(id)));
  const inside = reach([begin], ways);
  const arrivals = new Map([[begin, 1]]);
  const ids = [...drawing.nodes.keys()].filter((id) => inside.has(id));
  for (const group of components(ids, ways)) {
    const first = group[0] ?? "";
    if (group.length > 1 || ways.get(first)?.includes(first)) for (const id of group) arrivals.set(id, MANY);
    for (const id of group) {
      for (const target of ways.get(id) ?? []) {
        arrivals.set(target, Math.min((arrivals.get(target) ?? 0) + (arrivals.get(id) ?? 0), MANY));
      }
    }
  }
  return arrivals;
}

/** Groups of joins that wait for one another: a run certainly reaches each join, and each leads to the others. */
function deadlocksOf(drawing: Drawing, every: readonly string[]): string[][] {
  if (every.length < 2) return [];
  const waiting = new Set(every);
  const found: string[][] = [];
  for (const group of components([...drawing.nodes.keys()], drawing.ways)) {
    const inside = new Set(group);
    const joins = every.filter((id) => inside.has(id));
    if (joins.length < 2) continue;
    for (const begin of beginnings(drawing)) {
      const certain = certainOf(drawing, begin, waiting);
      const stuck = joins.filter((id) => certain.has(id));
      if (stuck.length > 1) {
        found.push(stuck);
        break;
      }
    }
  }
  return found.sort((one, other) => every.indexOf(one[0] ?? "") - every.indexOf(other[0] ?? ""));
}

/**
 * The nodes that a run starting there reaches in any case, without passing one of these joins. If a `parallel` opens
 * branches, joins distinguish them: nothing is known about nodes after a join.
 */
function certainOf(drawing: Drawing, begin: string, every: ReadonlySet<string>): Set<string> {
  return reach([begin], drawing.ways, (id) => {
    const node = drawing.node(id);
    const unsure = node.kind === undefined || node.kind.chooses || APART.has(node.type);
    return every.has(id) || unsure || joinOf(node) === "n";
  });
}
