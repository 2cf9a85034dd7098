/** A workflow as it is stored and shown: the canonical document of `arvis/workflows/document/model.py`. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** A node. `x`, `y`: its position. `data`: the fields of its kind, `join` and `joinCount`; unset fields are absent. */
export interface WorkflowNode {
  id: string;
  type: string;
  x: number;
  y: number;
  label?: string;
  data: JsonObject;
}

/** A connection. An empty handle means the single plain output or input of its node. */
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
