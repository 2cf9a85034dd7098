/** Functions of the editor about single nodes. */

import { type Field, KINDS, type Kind, type KindName, SUBAGENT } from "./kinds";
import type { Json, JsonObject, WorkflowNode } from "./types";

/** A place where connections start or end, with its name for people. `subagent`: it does not belong to the flow. */
export interface Handle {
  readonly id: string;
  readonly name: string;
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
  if (kind === undefined) return UNKNOWN;
  return { sources: [...rowHandles(kind, node.data), ...named(kind.outs)], targets: named(kind.ins) };
}

function rowHandles(kind: Kind, data: JsonObject): Handle[] {
  if (kind.rowHandles === null) return [];
  const [name, prefix] = kind.rowHandles;
  const rows = data[name];
  const fields = kind.fields.find((field) => field.name === name)?.fields ?? [];
  const nameOf = (row: Json, place: number) =>
    filled(kind.rowNames, fields, { ...(row as JsonObject), number: place + 1 });
  return Array.isArray(rows)
    ? rows.map((row, place) => ({ id: `${prefix}${place}`, name: nameOf(row, place), subagent: false }))
    : [];
}

const named = (handles: Readonly<Record<string, string>>): Handle[] =>
  Object.entries(handles).map(([id, name]) => ({ id, name, subagent: id === SUBAGENT }));

const UNKNOWN: Handles = { sources: named({ "": "Next" }), targets: named({ "": "Input" }) };

/**
 * The first of the texts whose places all have a value, else the last one. `{field}` is replaced by the value of this field
 * (of a choice: its label), `{field|rule}` by the number of its rows, such as `2 rules`.
 */
export function filled(texts: readonly string[], fields: readonly Field[], data: JsonObject): string {
  let text = "";
  for (const one of texts) {
    let complete = true;
    text = one.replace(/\{(\w+)(?:\|(\w+))?\}/g, (_, name: string, things?: string) => {
      const field = fields.find((each) => each.name === name);
      const value = things === undefined ? valueIn(data, name, field) : countOf(data[name], things);
      complete &&= value !== "";
      return value;
    });
    if (complete) break;
  }
  return text;
}

function valueIn(data: JsonObject, name: string, field: Field | undefined): string {
  const given = data[name];
  const value = given === undefined || given === null || given === "" ? field?.default : given;
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") return "";
  return field?.words[field.choices.indexOf(value)] ?? value.trim();
}

function countOf(rows: Json | undefined, things: string): string {
  const count = Array.isArray(rows) ? rows.length : 0;
  return `${count} ${things}${count === 1 ? "" : "s"}`;
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
