/** The look of nodes: icon, name, and a one-line summary. */

import {
  ArrowRightLeft,
  Bot,
  GitBranch,
  type LucideIcon,
  Merge,
  MessageCircleQuestionMark,
  MessageSquareReply,
  Play,
  Repeat,
  Scale,
  ShieldCheck,
  Signpost,
  Split,
  Timer,
  TriangleAlert,
  Workflow,
  Wrench,
  Zap,
} from "lucide-react";
import type { KindName } from "../kinds";
import { type Handle, kindOf } from "../node";
import type { Json, WorkflowNode } from "../types";
import { texts } from "./texts";

const ICONS: Record<KindName, LucideIcon> = {
  start: Play,
  trigger: Zap,
  agent: Bot,
  "tool-call": Wrench,
  if: GitBranch,
  router: Signpost,
  condition: Scale,
  approval: ShieldCheck,
  "user-input": MessageCircleQuestionMark,
  wait: Timer,
  loop: Repeat,
  parallel: Split,
  merge: Merge,
  "sub-workflow": Workflow,
  response: MessageSquareReply,
  transfer: ArrowRightLeft,
};

export const iconOf = (type: string): LucideIcon => ICONS[type as KindName] ?? TriangleAlert;

/** The name of a node: its label, the name of its agent, or its kind. */
export function nameOf(node: WorkflowNode): string {
  return node.label || textOf(node.data.agentName) || kindOf(node)?.label || node.type;
}

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value.trim() : "");
const countOf = (value: Json | undefined): number => (Array.isArray(value) ? value.length : 0);

/** A one-line summary of a node: its main text, else the default behaviour of its kind. */
export function summaryOf({ type, data }: WorkflowNode): string {
  const { summary } = texts;
  switch (type as KindName) {
    case "start":
      return textOf(data.initialInput) || summary.start;
    case "trigger":
      return textOf(data.description) || textOf(data.kind) || summary.trigger;
    case "agent":
      return textOf(data.userPrompt) || textOf(data.systemPrompt) || summary.agent;
    case "tool-call":
      return textOf(data.tool) || summary.tool;
    case "if":
      return summary.conditions(countOf(data.conditions));
    case "router":
      return textOf(data.prompt) || summary.routes(countOf(data.routes));
    case "condition":
      return summary.rules(countOf(data.rules));
    case "approval":
      return textOf(data.prompt) || summary.approval;
    case "user-input":
      return textOf(data.prompt) || summary.input;
    case "wait":
      return summary.wait(String(data.amount ?? "–"), textOf(data.unit) || "seconds");
    case "loop":
      return textOf(data.condition) || summary.loop(String(data.maxIterations ?? 10));
    case "parallel":
      return summary.parallel;
    case "merge":
      return data.strategy === "first" ? summary.mergeFirst : summary.mergeAll;
    case "sub-workflow":
    case "transfer":
      return textOf(data.workflow) || summary.workflow;
    case "response":
      return textOf(data.template) || summary.response;
    default:
      return type;
  }
}

/** The name of an output (or input) of a node. */
export function wayOf(node: WorkflowNode, handle: Pick<Handle, "id" | "row">): string {
  if (handle.row === null) return texts.ways[handle.id as keyof typeof texts.ways] ?? handle.id;
  const rows = node.data[kindOf(node)?.rowHandles?.[0] ?? ""];
  const row = Array.isArray(rows) ? rows[handle.row] : undefined;
  const { label, operator, value } = (row ?? {}) as { label?: string; operator?: string; value?: string };
  if (node.type === "router") return label || texts.route(handle.row + 1);
  if (!value) return texts.noValue;
  return operator === "contains" ? texts.row.contains(value) : texts.row.equal(value);
}
