/** The values in the fields of nodes, settings and the document: the same checks as `arvis/workflows/validation/fields.py`. */

import { at, isObject, isText, lengthOf, type Maybe } from "./json";
import { type Field, type Form, LARGEST } from "./kinds";
import { problem } from "./problem";
import type { RuleCode } from "./rules";
import type { Json, JsonObject, Problem } from "./types";

/** The provider of a model name without a provider. */
const BARE = "anthropic";

const WANTED: Readonly<Record<Form, string>> = {
  line: "text",
  text: "text",
  choice: "text",
  number: "a whole number",
  switch: "true or false",
  rows: "a list",
  list: "a list",
  switches: "an object",
  object: "an object",
};

/**
 * The names that a document may use. A missing set is not checked. `agents` and `workflows`: ids and slugs. `searching`: the
 * agents that can search the web. `servers`: the servers whose tools are known only while they are connected. `models`:
 * `provider/model`, names without a provider, and `provider/*` for any model of a provider. `begun`: the kinds of triggers
 * for which a schedule, web hook or other row starts this workflow.
 */
export interface Known {
  readonly agents?: ReadonlySet<string> | null;
  readonly searching?: ReadonlySet<string> | null;
  readonly tools?: ReadonlySet<string> | null;
  readonly servers?: ReadonlySet<string>;
  readonly models?: ReadonlySet<string> | null;
  readonly workflows?: ReadonlySet<string> | null;
  readonly begun?: ReadonlySet<string> | null;
}

/** The position of a value: the node (null: the document), its label, and the path of fields above it. */
export class Place {
  constructor(
    readonly node: string | null,
    readonly name: string,
    readonly above = "",
  ) {}

  under(part: string | number): Place {
    return new Place(this.node, this.name, `${this.above}${part}.`);
  }

  problem(code: RuleCode, field: string | number, values: Record<string, string | number> = {}): Problem {
    return problem(code, { node: this.node, field: `${this.above}${field}` }, { name: this.name, ...values });
  }
}

/** Unknown fields are ignored. */
export function* checkFields(
  values: JsonObject,
  fields: readonly Field[],
  place: Place,
  known: Known,
): Generator<Problem> {
  for (const field of fields) {
    const value = at(values, field.name);
    if (value === undefined || value === null || value === "") {
      if (field.required) yield place.problem("field-missing", field.name, { label: field.label });
      if (value !== "" || isTextual(field.form)) continue;
    }
    if (!fits(value, field.form)) {
      yield place.problem("field-form", field.name, { label: field.label, wanted: WANTED[field.form] });
      continue;
    }
    yield* checkBounds(value, field, place);
    yield* checkInside(value, field, place, known);
    yield* checkNames(value, field, place, known);
  }
}

const isTextual = (form: Form): boolean => form === "line" || form === "text" || form === "choice";

function fits(value: Json, form: Form): boolean {
  switch (form) {
    case "number":
      return isWhole(value);
    case "switch":
      return typeof value === "boolean";
    case "rows":
    case "list":
      return Array.isArray(value);
    case "switches":
    case "object":
      return isObject(value);
    default:
      return isText(value);
  }
}

export const isWhole = (value: Maybe): value is number =>
  typeof value === "number" && Number.isInteger(value) && Math.abs(value) < LARGEST;

function* checkBounds(value: Json, field: Field, place: Place): Generator<Problem> {
  const { label, least, most } = field;
  if (field.form === "choice") {
    if (!field.choices.includes(value as string)) {
      const choices = field.choices.filter((choice) => choice !== "").join(", ");
      yield place.problem("field-choice", field.name, { label, choices });
    }
    return;
  }
  const measure = measured(value, field.form);
  if (measure === null) return;
  const [size, low, high] = measure;
  if (low !== null && least !== null && size < least) yield place.problem(low, field.name, { label, least });
  if (most !== null && size > most) yield place.problem(high, field.name, { label, most });
}

/** The size of a value, and the codes of the rules for too small and too large values. A text cannot be too short. */
function measured(value: Json, form: Form): [size: number, low: RuleCode | null, high: RuleCode] | null {
  if (form === "number") return [value as number, "field-low", "field-high"];
  if (Array.isArray(value)) return [value.length, "field-few", "field-many"];
  return form === "line" || form === "text" ? [lengthOf(value as string), null, "field-long"] : null;
}

function* checkInside(value: Json, field: Field, place: Place, known: Known): Generator<Problem> {
  const inside = place.under(field.name);
  if (field.form === "switches" && isObject(value)) yield* checkFields(value, field.fields, inside, known);
  if (!Array.isArray(value)) return;
  for (const [index, entry] of value.slice(0, field.most ?? undefined).entries()) {
    if (field.form === "rows" && isObject(entry)) {
      yield* checkFields(entry, field.fields, inside.under(index), known);
    } else if (field.form === "rows" || !isText(entry) || entry === "") {
      const wanted = field.form === "rows" ? "a list of objects" : "a list of texts";
      yield inside.problem("field-form", index, { label: field.label, wanted });
    }
  }
}

function* checkNames(value: Json, field: Field, place: Place, known: Known): Generator<Problem> {
  const [code, there] = offered(field.offers, known);
  if (!there) return;
  for (const name of Array.isArray(value) ? value : [value]) {
    if (!isText(name) || there.has(name)) continue;
    if (code === "tool-unknown" && known.servers?.has(serverOf(name))) {
      yield place.problem("tool-offline", field.name, { value: name });
    } else if (code !== "model-unknown" || !there.has(`${providerOf(name)}/*`)) {
      yield place.problem(code, field.name, { value: name });
    }
  }
}

/** The server in the name of a tool; empty if the name contains no server. */
const serverOf = (tool: string): string => (tool.includes(".") ? tool.slice(0, tool.indexOf(".")) : "");

/** The provider in the name of a model; if the name has none, the default provider. */
export const providerOf = (model: string): string => (model.includes("/") ? model.slice(0, model.indexOf("/")) : BARE);

function offered(offers: string, known: Known): [RuleCode, ReadonlySet<string> | null | undefined] {
  switch (offers) {
    case "agents":
      return ["agent-unknown", known.agents];
    case "tools":
      return ["tool-unknown", known.tools];
    case "workflows":
      return ["workflow-unknown", known.workflows];
    case "models":
      return ["model-unknown", known.models];
    default:
      return ["agent-unknown", null];
  }
}
