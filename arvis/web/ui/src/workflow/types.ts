/** A workflow as it is kept and shown: the canonical document of `arvis/workflows/document/model.py`. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** `x` and `y` are where it is drawn. `data` holds the fields of its kind, `join` and `joinCount`; what is not set is absent. */
export interface WorkflowNode {
  id: string;
  type: string;
  x: number;
  y: number;
  label?: string;
  data: JsonObject;
}

/** An empty handle is the one plain way out, or in. */
export interface WorkflowConnection {
  id: string;
  source: string;
  target: string;
  sourceHandle: string;
  targetHandle: string;
}

export interface WorkflowDocument {
  schema: number;
  name?: string;
  description?: string;
  settings: JsonObject;
  nodes: WorkflowNode[];
  connections: WorkflowConnection[];
}

export type Severity = "error" | "warning";

/**
 * One thing that is wrong, as the API says it too, and where: at a node, at a connection (`node` is then where it comes from, if that is
 * known), or at the document (both null). `field` is a path such as `rules.0.operator`.
 */
export interface Problem {
  node: string | null;
  connection: string | null;
  field: string | null;
  rule: string;
  severity: Severity;
  message: string;
  fix: string;
}
