/** Documents and random numbers for the tests of workflows. */

import { GRID } from "../src/workflow/canvas/geometry";
import type { WorkflowConnection, WorkflowDocument, WorkflowNode } from "../src/workflow/types";

export const node = (id: string, type = "response", fields: Partial<WorkflowNode> = {}): WorkflowNode => ({
  ...{ id, type, x: 0, y: 0, data: {} },
  ...fields,
});

/** Connections as `from>to` or `from:output>to`. */
export function drawn(nodes: WorkflowNode[], ...ways: string[]): WorkflowDocument {
  const connections = ways.map((way, place): WorkflowConnection => {
    const [from = "", target = ""] = way.split(">");
    const [source = "", sourceHandle = ""] = from.split(":");
    return { id: `c${place + 1}`, source, sourceHandle, target, targetHandle: "" };
  });
  return { schema: 1, settings: {}, nodes, connections };
}

/** Numbers from 0 to below a limit, the same in every run. */
export function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >>> 8) % below;
  };
}

/** The reasons why a document cannot be shown: ids that are not unique, and nodes beside the grid. */
export function flaws({ nodes, connections }: WorkflowDocument): string[] {
  const twice = (things: readonly { id: string }[]) => new Set(things.map(({ id }) => id)).size < things.length;
  return [
    ...(twice(nodes) ? ["two nodes have one id"] : []),
    ...(twice(connections) ? ["two connections have one id"] : []),
    ...nodes.filter(({ x, y }) => x % GRID !== 0 || y % GRID !== 0).map(({ id }) => `${id} is beside the grid`),
  ];
}
