/** The sizes of nodes and their subagents. Pure, independent of the screen. */

import { SUBAGENT } from "../kinds";
import { type Handle, handlesOf } from "../node";
import type { WorkflowDocument, WorkflowNode } from "../types";

/** Sizes in diagram coordinates. Nodes are placed on a grid with this distance. */
export const GRID = 20;
export const WIDTH = 240;
export const HEAD = 60;
const ROW = 28;
const FOOT = 12;

/** The outputs drawn as rows; a node with a single plain output has none. */
export function rowsOf(node: WorkflowNode): readonly Handle[] {
  return handlesOf(node).sources.filter((one) => !one.subagent && one.id !== "");
}

export function heightOf(node: WorkflowNode): number {
  const rows = rowsOf(node).length;
  return HEAD + (rows === 0 ? 0 : rows * ROW + FOOT);
}

/** Subagents by their parents. */
export function helpersOf(document: WorkflowDocument): Map<string, string[]> {
  const below = new Map<string, string[]>();
  for (const { source, target, sourceHandle } of document.connections) {
    if (sourceHandle === SUBAGENT) below.set(source, [...(below.get(source) ?? []), target]);
  }
  return below;
}

/** All subagents below a node, at any depth; safe for documents with cycles. */
export function treeBelow(id: string, below: ReadonlyMap<string, string[]>): Set<string> {
  const found = new Set<string>();
  const open = [...(below.get(id) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next) || next === id) continue;
    found.add(next);
    open.push(...(below.get(next) ?? []));
  }
  return found;
}
