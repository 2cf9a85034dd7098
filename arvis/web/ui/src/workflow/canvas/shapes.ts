/** Convert a document to the canvas's nodes with handles, and edges. */

import { type Edge, MarkerType, type Node } from "@xyflow/react";
import { SUBAGENT } from "../kinds";
import { handlesOf, kindOf } from "../node";
import type { WorkflowConnection, WorkflowDocument, WorkflowNode } from "../types";
import { heightOf, helpersOf, treeBelow, WIDTH } from "./geometry";
import { nameOf, summaryOf } from "./look";
import { texts } from "./texts";

/** The state of a node in a run. */
export type NodeState = "pending" | "running" | "waiting" | "done" | "failed" | "skipped" | "cancelled";

/** The states of nodes in a run, by node id. `note`: a text beside the icon, such as the number of repetitions. */
export type NodeStatus = { state: NodeState; note?: string };

/** The number of problems of a node. */
export type Trouble = { errors: number; warnings: number };

export type StepData = {
  node: WorkflowNode;
  status: NodeStatus | null;
  trouble: Trouble | null;
  editable: boolean;
  /** The number of subagents below it, and whether they are hidden. */
  helpers: number;
  collapsed: boolean;
  /** True if it may have subagents. */
  leads: boolean;
  [key: string]: unknown;
};
export type Step = Node<StepData, "step">;
export type LineData = { subagent: boolean; taken: boolean; way: string; [key: string]: unknown };
export type Line = Edge<LineData, "line">;

/** The ids of handles on the canvas, which must not be empty. */
export const sourceName = (handle: string) => `out:${handle}`;
export const targetName = (handle: string) => `in:${handle}`;
export const HELPER = "helper";
export const handleName = (name: string | null | undefined) =>
  !name || name === HELPER ? "" : name.slice(name.indexOf(":") + 1);

const ARROW = { type: MarkerType.ArrowClosed, width: 22, height: 22, markerUnits: "userSpaceOnUse", color: null };
const ARROW_TAKEN = { ...ARROW, color: "var(--accent)" };

/** Nodes that are not drawn, because an agent above them is collapsed. */
function hiddenIn(document: WorkflowDocument, below: ReadonlyMap<string, string[]>): Set<string> {
  const hidden = new Set<string>();
  for (const node of document.nodes) {
    if (node.data.collapsed === true) for (const id of treeBelow(node.id, below)) hidden.add(id);
  }
  return hidden;
}

type Shown = {
  document: WorkflowDocument;
  states?: Readonly<Record<string, NodeStatus>>;
  troubles?: ReadonlyMap<string, Trouble>;
  selected: ReadonlySet<string>;
  editable: boolean;
};

export function stepsOf({ document, states, troubles, selected, editable }: Shown): Step[] {
  const below = helpersOf(document);
  const hidden = hiddenIn(document, below);
  return document.nodes.map((node) => {
    const status = states?.[node.id] ?? null;
    const trouble = troubles?.get(node.id) ?? null;
    const leads = node.type === "agent" && (mayLead(node) || below.has(node.id));
    return {
      id: node.id,
      type: "step",
      position: { x: node.x, y: node.y },
      width: WIDTH,
      height: heightOf(node),
      selected: selected.has(node.id),
      hidden: hidden.has(node.id),
      ariaLabel: spoken(node, status, trouble),
      data: {
        node,
        status,
        trouble,
        editable,
        leads,
        helpers: treeBelow(node.id, below).size,
        collapsed: node.data.collapsed === true,
      },
    };
  });
}

function mayLead(node: WorkflowNode): boolean {
  const tools = node.data.tools;
  return typeof tools === "object" && tools !== null && !Array.isArray(tools) && tools.subagents === true;
}

/** The accessible text of a node. */
function spoken(node: WorkflowNode, status: NodeStatus | null, trouble: Trouble | null): string {
  const about = [
    summaryOf(node),
    status ? [texts.states[status.state], status.note].filter(Boolean).join(" ") : "",
    trouble?.errors ? texts.problems(trouble.errors) : "",
  ];
  return texts.node(kindOf(node)?.label ?? node.type, nameOf(node), about.filter(Boolean).join(", "));
}

export function linesOf(
  document: WorkflowDocument,
  selected: ReadonlySet<string>,
  taken: ReadonlySet<string> | undefined,
): Line[] {
  const nodes = new Map(document.nodes.map((node) => [node.id, node]));
  return document.connections
    .filter((one) => nodes.has(one.source) && nodes.has(one.target))
    .map((one) => {
      const [from, to] = [nodes.get(one.source), nodes.get(one.target)] as [WorkflowNode, WorkflowNode];
      return lineOf(one, from, to, selected, taken);
    });
}

function lineOf(
  one: WorkflowConnection,
  from: WorkflowNode,
  to: WorkflowNode,
  selected: ReadonlySet<string>,
  taken: ReadonlySet<string> | undefined,
): Line {
  const subagent = one.sourceHandle === SUBAGENT;
  const handle = handlesOf(from).sources.find(({ id }) => id === one.sourceHandle);
  const way = handle && handle.id !== "" ? handle.name : "";
  return {
    id: one.id,
    type: "line",
    source: one.source,
    target: one.target,
    sourceHandle: sourceName(one.sourceHandle),
    targetHandle: subagent ? HELPER : targetName(one.targetHandle),
    selected: selected.has(one.id),
    markerEnd: taken?.has(one.id) ? ARROW_TAKEN : ARROW,
    ariaLabel: texts.line(nameOf(from), way, nameOf(to)),
    data: { subagent, taken: taken?.has(one.id) ?? false, way: subagent ? "" : way },
  };
}
