/** Functions of the editor about single nodes. */

import { type Field, JOIN, JOIN_COUNT, KINDS, type Kind, type KindName, SUBAGENT } from "./kinds";
import type { Json, JsonObject, WorkflowNode } from "./types";

/**
 * A place where connections start or end. `row` is the index of its row in the list; `subagent`: it does not belong to the
 * flow.
 */
export interface Handle {
  readonly id: string;
  readonly row: number | null;
  readonly subagent: boolean;
}

export interface Handles {
  readonly sources: readonly Handle[];
  readonly targets: readonly Handle[];
}

/** The kind of a node, if it is known. */
export function kindOf(node: Pick<WorkflowNode, "type">): Kind | undefined {
  return Object.hasOwn(KINDS, node.type) ? KINDS[node.type as KindName] : undefined;
}

/**
 * The outputs and inputs of a node: first an output for each row of its conditions or routes, then the outputs of its kind. A
 * node of an unknown kind has one output and one input.
 */
export function handlesOf(node: Pick<WorkflowNode, "type" | "data">): Handles {
  const kind = kindOf(node);
  if (kind === undefined) return { sources: [plain("")], targets: [plain("")] };
  return { sources: [...rowHandles(kind, node.data), ...kind.outs.map(plain)], targets: kind.ins.map(plain) };
}

function rowHandles(kind: Kind, data: JsonObject): Handle[] {
  if (kind.rowHandles === null) return [];
  const [field, prefix] = kind.rowHandles;
  const rows = data[field];
  return Array.isArray(rows) ? rows.map((_, row) => ({ id: `${prefix}${row}`, row, subagent: false })) : [];
}

const plain = (id: string): Handle => ({ id, row: null, subagent: id === SUBAGENT });

/** All fields of a node of this kind, including those for joining branches. */
export function fieldsOf(kind: Kind): readonly Field[] {
  return kind.begins ? kind.fields : [...kind.fields, JOIN, JOIN_COUNT];
}

/** A new node of this kind: fields have their defaults, and required rows start with one, so that there is an output. */
export function emptyNode(kind: KindName): Omit<WorkflowNode, "id" | "x" | "y"> {
  const data: JsonObject = {};
  for (const field of KINDS[kind].fields) {
    const value = initial(field, KINDS[kind].rowHandles?.[0] === field.name);
    if (value !== undefined) data[field.name] = value;
  }
  return { type: kind, data };
}

function initial(field: Field, makesWays: boolean): Json | undefined {
  if (field.form === "rows") return makesWays || field.required ? [emptyRow(field)] : undefined;
  if (field.default !== null) return field.default as Json;
  return field.form === "choice" && field.required ? (field.choices[0] ?? "") : undefined;
}

/** A new row of a row field. */
export function emptyRow(field: Field): JsonObject {
  const values = field.fields.map((one): [string, Json] => [one.name, (one.default as Json) ?? ""]);
  return Object.fromEntries(values);
}
