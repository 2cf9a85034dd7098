import { LOOP_BACK, SUBAGENT } from "../../../workflow/kinds";
import { handlesOf } from "../../../workflow/node";
import type { WorkflowConnection, WorkflowDocument } from "../../../workflow/types";
import { same } from "./changes";

/** True if this connection can be drawn at all. It may still be wrong, which the check reports. */
export function mayConnect(document: WorkflowDocument, connection: Omit<WorkflowConnection, "id">): boolean {
  const source = document.nodes.find(({ id }) => id === connection.source);
  const target = document.nodes.find(({ id }) => id === connection.target);
  if (source === undefined || target === undefined) return false;
  if (document.connections.some((one) => same(one, connection))) return false;
  if (connection.sourceHandle === SUBAGENT) {
    return source.type === "agent" && target.type === "agent" && source !== target && connection.targetHandle === "";
  }
  const known = handlesOf(source).sources.some(({ id }) => id === connection.sourceHandle);
  const enters = handlesOf(target).targets.some(({ id }) => id === connection.targetHandle);
  return known && enters && (source !== target || connection.targetHandle === LOOP_BACK);
}
