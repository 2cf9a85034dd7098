/**
 * Convert every accepted form of a document to the canonical one: the same steps as `arvis/workflows/document/model.py`,
 * which explains them.
 */

import { at, has, isObject, isText, type Maybe } from "./json";
import { INPUTS, OUTPUTS, SCHEMA, SUBAGENT } from "./kinds";
import { playbookNode, withItsRules } from "./playbook";
import type { Json, JsonObject, WorkflowDocument } from "./types";

/** Between these limits, Python and JavaScript write a number in the same way. */
const [LEAST, MOST] = [1e-4, 1e15];

/**
 * Never throws: unreadable parts are kept unchanged for the check to report, so only a document without errors is certainly
 * canonical.
 */
export function normalise(raw: unknown): WorkflowDocument {
  const given: JsonObject = isObject(raw as Json) ? { ...(raw as JsonObject) } : { nodes: raw as Json };
  const drawnElsewhere = has(given, "edges") && !has(given, "connections");
  if (drawnElsewhere) {
    given.connections = given.edges as Json;
    delete given.edges;
  }
  const nodes = nodesOf(has(given, "nodes") ? at(given, "nodes") : []);
  const connections = has(given, "connections") ? at(given, "connections") : [];
  const document: JsonObject = {
    ...given,
    schema: has(given, "schema") ? (given.schema as Json) : SCHEMA,
    settings: at(given, "settings") ?? {},
    nodes,
    connections: connectionsOf(connections, typesOf(nodes)),
  };
  return (drawnElsewhere ? withItsRules(document) : document) as unknown as WorkflowDocument;
}

function nodesOf(nodes: Maybe): Json {
  return Array.isArray(nodes) ? nodes.map((node) => (isObject(node) ? nodeOf(node) : node)) : (nodes as Json);
}

function nodeOf(node: JsonObject): JsonObject {
  let known: JsonObject = { ...node };
  const position = at(known, "position");
  if (isObject(position)) {
    delete known.position;
    known = { x: at(position, "x") ?? absent(position, "x"), y: at(position, "y") ?? absent(position, "y"), ...known };
  }
  known.data = at(known, "data") ?? {};
  known = playbookNode(known);
  if (at(known, "type") === "input") known.type = "approval";
  if (isObject(known.data) && at(known, "type") === "if") known.data = valuesOf(conditionsOf(known.data));
  return { x: 0, y: 0, ...known };
}

/** A coordinate. A missing value becomes 0; null stays null. */
const absent = (position: JsonObject, name: string): Json => (has(position, name) ? null : 0);

/** The conditions as a list. Documents of older versions have a single condition. */
function conditionsOf(data: JsonObject): JsonObject {
  const old = at(data, "condition");
  if (Array.isArray(at(data, "conditions")) || !(isText(old) || isObject(old))) return data;
  const { condition: _, ...known } = data;
  const row: JsonObject = { operator: "contains", value: isText(old) ? old : "" };
  return { ...known, conditions: [isText(old) ? row : { ...row, ...old }] };
}

/** The value to compare with is a text, even if the document has a number or a boolean. */
function valuesOf(data: JsonObject): JsonObject {
  const rows = at(data, "conditions");
  if (!Array.isArray(rows)) return data;
  return { ...data, conditions: rows.map((each) => (isObject(each) ? compared(each) : each)) };
}

function compared(row: JsonObject): JsonObject {
  const value = at(row, "value");
  const plain = typeof value === "number" && (value === 0 || (Math.abs(value) >= LEAST && Math.abs(value) < MOST));
  if (typeof value !== "boolean" && !plain) return row;
  return { ...row, value: value === 0 ? "0" : String(value) };
}

/** The type of each node that has an id; of duplicates, the first counts. */
function typesOf(nodes: Json): Map<string, Maybe> {
  const types = new Map<string, Maybe>();
  for (const node of Array.isArray(nodes) ? nodes : []) {
    if (!isObject(node)) continue;
    const id = at(node, "id");
    if (isText(id) && !types.has(id)) types.set(id, at(node, "type"));
  }
  return types;
}

function connectionsOf(connections: Maybe, types: Map<string, Maybe>): Json {
  if (!Array.isArray(connections)) return connections as Json;
  const free = freeIds(connections);
  return connections.map((each) => (isObject(each) ? connectionOf(each, free, types) : each));
}

/** Names `c1`, `c2` … that no connection uses. */
function freeIds(connections: Json[]): () => string {
  const taken = new Set(connections.map((each) => (isObject(each) ? at(each, "id") : undefined)));
  let number = 0;
  return () => {
    do number++;
    while (taken.has(`c${number}`));
    return `c${number}`;
  };
}

function connectionOf(each: JsonObject, free: () => string, types: Map<string, Maybe>): JsonObject {
  const source = at(each, "source");
  let out = handleOf(at(each, "sourceHandle"), OUTPUTS);
  let into = handleOf(at(each, "targetHandle"), INPUTS);
  if (out === "true" && isText(source) && types.get(source) === "if") out = "condition-0";
  if (out === SUBAGENT && into === "subagent-target") into = "";
  return { ...each, id: at(each, "id") ?? free(), sourceHandle: out, targetHandle: into };
}

function handleOf(handle: Maybe, plain: readonly string[]): Json {
  return handle === undefined || handle === null || (isText(handle) && plain.includes(handle)) ? "" : handle;
}
