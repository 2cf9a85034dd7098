/** The look of nodes: icon, name, and a one-line summary. */

import { type LucideIcon, TriangleAlert } from "lucide-react";
import { ICONS } from "../icons";
import { filled, kindOf } from "../node";
import type { Json, WorkflowNode } from "../types";

export const iconOf = (type: string): LucideIcon => ICONS[kindOf({ type })?.icon ?? ""] ?? TriangleAlert;

/** The name of a node: its label, the name of its agent, or its kind. */
export function nameOf(node: WorkflowNode): string {
  return node.label || textOf(node.data.agentName) || kindOf(node)?.label || node.type;
}

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value.trim() : "");

/** A one-line summary of a node: its main text, else the default behaviour of its kind. */
export function summaryOf(node: WorkflowNode): string {
  const kind = kindOf(node);
  return kind === undefined ? node.type : filled(kind.summary, kind.fields, node.data);
}
