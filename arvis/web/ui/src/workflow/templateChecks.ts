/** Names in the templates of nodes: the same checks as `arvis/workflows/validation/fields.py`. */

import type { Drawing, DrawnNode } from "./drawing";
import { at, byCharacters, isObject, isText, type Maybe } from "./json";
import type { Field } from "./kinds";
import { problem } from "./problem";
import type { JsonObject, Problem } from "./types";

const PLACE = /\{\{([^{}]{1,300})\}\}/gu;
/** Names that every run has. */
const ALWAYS = new Set(["PREVIOUS_OUTPUT", "trigger"]);

export function* checkTemplates(drawing: Drawing): Generator<Problem> {
  const called = new Map<string, number>();
  for (const { name } of drawing.nodes.values()) called.set(name, (called.get(name) ?? 0) + 1);
  for (const node of drawing.nodes.values()) {
    for (const [field, text] of templatesOf(node.data, node.kind?.fields ?? [], "")) {
      yield* checkText(text, node, field, called);
    }
  }
}

/** The texts that are templates, each with the path of its field. */
function* templatesOf(data: JsonObject, fields: readonly Field[], above: string): Generator<[string, string]> {
  for (const field of fields) {
    const [value, path] = [at(data, field.name), `${above}${field.name}`];
    if (field.template) for (const text of textsIn(value)) yield [path, text];
    if (field.form !== "rows" || !Array.isArray(value)) continue;
    for (const [index, row] of value.entries()) {
      if (isObject(row)) yield* templatesOf(row, field.fields, `${path}.${index}.`);
    }
  }
}

/** The texts in a value, in order. The texts of an object are sorted by name, because not every program keeps their order. */
function* textsIn(value: Maybe): Generator<string> {
  if (isText(value)) {
    yield value;
  } else if (Array.isArray(value)) {
    for (const each of value) yield* textsIn(each);
  } else if (isObject(value)) {
    for (const name of Object.keys(value).sort(byCharacters)) yield* textsIn(value[name]);
  }
}

/** The names that a text refers to, without duplicates. */
function* checkText(
  text: string,
  node: DrawnNode,
  field: string,
  called: ReadonlyMap<string, number>,
): Generator<Problem> {
  const names = new Set(Array.from(text.matchAll(PLACE), (found) => stripped(found[1] ?? "")));
  for (const name of names) {
    if (ALWAYS.has(name)) continue;
    const label = labelOf(name, called);
    const place = { node: node.id, field };
    if (label === null) yield problem("label-unknown", place, { name: node.name, value: name });
    else if ((called.get(label) ?? 0) > 1) yield problem("label-twice", place, { name: node.name, value: label });
  }
}

/** The longest known name that starts the reference: labels may contain dots. */
function labelOf(name: string, called: ReadonlyMap<string, number>): string | null {
  const parts = name.split(".");
  for (let end = parts.length; end > 0; end--) {
    const label = stripped(parts.slice(0, end).join("."));
    if (called.has(label)) return label;
  }
  return null;
}

const stripped = (text: string): string => text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
