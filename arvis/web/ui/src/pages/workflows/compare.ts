/** The differences between two documents. Steps are matched by id, connections by their ends. */

import type { WorkflowConnection, WorkflowDocument, WorkflowNode } from "../../workflow/types";

export type Change = {
  nodes: { added: WorkflowNode[]; removed: WorkflowNode[]; changed: WorkflowNode[]; moved: number };
  connections: { added: number; removed: number };
  settings: boolean;
};

export function compare(before: WorkflowDocument, after: WorkflowDocument): Change {
  const old = new Map(before.nodes.map((node) => [node.id, node]));
  const now = new Map(after.nodes.map((node) => [node.id, node]));
  const both = after.nodes.filter((node) => old.has(node.id));
  const [left, right] = [new Set(before.connections.map(wayOf)), new Set(after.connections.map(wayOf))];
  return {
    nodes: {
      added: after.nodes.filter((node) => !old.has(node.id)),
      removed: before.nodes.filter((node) => !now.has(node.id)),
      changed: both.filter((node) => inside(node) !== inside(old.get(node.id) as WorkflowNode)),
      moved: both.filter((node) => node.x !== old.get(node.id)?.x || node.y !== old.get(node.id)?.y).length,
    },
    connections: {
      added: [...right].filter((way) => !left.has(way)).length,
      removed: [...left].filter((way) => !right.has(way)).length,
    },
    settings: sorted(before.settings) !== sorted(after.settings),
  };
}

const wayOf = ({ source, sourceHandle, target, targetHandle }: WorkflowConnection): string =>
  JSON.stringify([source, sourceHandle, target, targetHandle]);

const inside = ({ type, label, data }: WorkflowNode): string => sorted({ type, label: label ?? "", data });

/** JSON with sorted names, so that equal values give equal texts. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part !== null && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
