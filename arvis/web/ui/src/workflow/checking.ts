/**
 * The one check of documents, as the editor runs it before saving: rule by rule the same as
 * `arvis/workflows/validation/check.py`, in the same order and with the same texts. `python -m tests.workflows`
 * compares both.
 */

import { checkBranches } from "./branchChecks";
import { checkConnections, checkSubagents } from "./connectionChecks";
import { Drawing, isUsable, nameOf } from "./drawing";
import { checkFields, type Known, Place } from "./fieldChecks";
import { checkFlow } from "./flowChecks";
import { checkJoins } from "./joinChecks";
import { at, isObject, isText, type Maybe } from "./json";
import * as kinds from "./kinds";
import { kindOf } from "./node";
import { problem } from "./problem";
import { checkRouting, checkSearching } from "./routingChecks";
import { checkTemplates } from "./templateChecks";
import type { Json, JsonObject, Problem, WorkflowDocument } from "./types";

export type { Known } from "./fieldChecks";

const DOCUMENT = new Place(null, "the document");

/** The problems of a canonical document (`normalise`). Never throws, whatever the document contains. */
export function check(document: WorkflowDocument, known: Known = {}): Problem[] {
  const read = document as unknown as JsonObject;
  const size = [...checkSize(read)];
  return size.length > 0 ? size : [...checkAll(read, known)];
}

function* checkAll(document: JsonObject, known: Known): Generator<Problem> {
  yield* checkTop(document, known);
  const [nodes, connections] = [at(document, "nodes"), at(document, "connections")];
  if (!Array.isArray(nodes) || !Array.isArray(connections)) return;
  if (nodes.length > kinds.MOST_NODES || connections.length > kinds.MOST_CONNECTIONS) return;
  const drawing = new Drawing(document);
  yield* checkNodes(nodes, known);
  yield* checkConnections(connections, drawing);
  yield* checkSubagents(drawing);
  yield* checkFlow(drawing, known);
  yield* checkRouting(drawing);
  yield* checkSearching(drawing, known);
  yield* checkBranches(drawing);
  yield* checkJoins(drawing);
  yield* checkTemplates(drawing);
}

/** A document that is too large or too deep is not checked further. */
function* checkSize(document: JsonObject): Generator<Problem> {
  if (isTooDeep(document)) yield problem("too-deep", {}, { most: kinds.MOST_DEPTH });
  else if (sizeOf(document) > kinds.MOST_BYTES) yield problem("too-large", {}, { most: kinds.MOST_BYTES });
}

/** The depth of a document: the document is level 1, and each nested list or object adds a level. */
function isTooDeep(document: JsonObject): boolean {
  let level: Json[] = [document];
  for (let depth = 0; depth < kinds.MOST_DEPTH; depth++) {
    level = level.flatMap((value) =>
      Object.values(value as JsonObject).filter((each) => typeof each === "object" && each),
    );
  }
  return level.length > 0;
}

/** The size in bytes, as JSON without spaces; a number counts as one byte, because it can be written in several ways. */
function sizeOf(document: JsonObject): number {
  const text = JSON.stringify(document, (_, value: Json) => (typeof value === "number" ? 0 : value));
  // Lone surrogates count three bytes, not the six of their escape.
  const halves = text.match(/(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/g)?.length ?? 0;
  return new TextEncoder().encode(text).length - 3 * halves;
}

function* checkTop(document: JsonObject, known: Known): Generator<Problem> {
  if (at(document, "schema") !== kinds.SCHEMA) {
    yield problem("schema-version", { field: "schema" }, { wanted: kinds.SCHEMA });
  }
  yield* checkFields(document, kinds.ABOUT, DOCUMENT, known);
  const settings = at(document, "settings");
  if (isObject(settings)) yield* checkFields(settings, kinds.SETTINGS, DOCUMENT.under("settings"), known);
  else yield problem("not-an-object", { field: "settings" }, { place: "settings" });
  yield* checkList(document, "nodes", kinds.MOST_NODES);
  yield* checkList(document, "connections", kinds.MOST_CONNECTIONS);
}

function* checkList(document: JsonObject, name: "nodes" | "connections", most: number): Generator<Problem> {
  const listed = at(document, name);
  if (!Array.isArray(listed)) yield problem("not-a-list", { field: name }, { place: name });
  else if (listed.length > most) yield problem(`too-many-${name}`, { field: name }, { most });
}

function* checkNodes(nodes: readonly Json[], known: Known): Generator<Problem> {
  const seen = new Set<string>();
  for (const [index, node] of nodes.entries()) {
    const path = `nodes.${index}`;
    if (!isObject(node)) {
      yield problem("not-an-object", { field: path }, { place: path });
      continue;
    }
    const id = at(node, "id");
    yield* checkId(id, path, seen);
    yield* checkNode(node, new Place(isUsable(id) ? id : null, nameOf(node)), path, known);
  }
}

function* checkId(given: Maybe, place: string, seen: Set<string>): Generator<Problem> {
  if (given === undefined || given === null || given === "")
    yield problem("node-id-missing", { field: "id" }, { place });
  else if (!isUsable(given)) yield problem("node-id-odd", { field: "id" }, { place });
  else if (seen.has(given)) yield problem("node-id-twice", { node: given, field: "id" }, { id: given });
  else seen.add(given);
}

function* checkNode(node: JsonObject, place: Place, path: string, known: Known): Generator<Problem> {
  const [type, data] = [at(node, "type"), at(node, "data")];
  const kind = isText(type) ? kindOf({ type }) : undefined;
  if (!isText(type) || type === "") yield place.problem("type-missing", "type");
  else if (kind === undefined) yield place.problem("type-unknown", "type", { type });
  if (!isPlace(at(node, "x")) || !isPlace(at(node, "y"))) {
    yield place.problem("position-odd", "x", { most: kinds.FARTHEST });
  }
  yield* checkFields(node, [kinds.LABEL], place, known);
  if (!isObject(data)) {
    yield problem("not-an-object", { node: place.node, field: "data" }, { place: `${path}.data` });
  } else if (kind !== undefined) {
    const fields = kind.begins ? kind.fields : [...kind.fields, kinds.JOIN, kinds.JOIN_COUNT];
    yield* checkFields(data, fields, place, known);
  }
}

const isPlace = (value: Maybe): boolean => typeof value === "number" && Math.abs(value) <= kinds.FARTHEST;
