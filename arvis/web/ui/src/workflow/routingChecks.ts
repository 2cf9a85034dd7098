/**
 * Conditions without effect, and agents without a tool that they need: the same checks as
 * `arvis/workflows/validation/fields.py`.
 */

import type { Drawing, DrawnNode } from "./drawing";
import type { Known } from "./fieldChecks";
import { at, isObject, isText, type Maybe } from "./json";
import { problem } from "./problem";
import type { Json, Problem } from "./types";

const SEARCH = "web_search";
/** Operators that need a value. `equals` may compare with an empty value, and all other operators use only the field. */
const COMPARING: ReadonlySet<Maybe> = new Set([
  ...["contains", "not_contains", "starts_with", "ends_with", "matches"],
  ...["greater", "less", "at_least", "at_most"],
]);

export function* checkRouting(drawing: Drawing): Generator<Problem> {
  for (const node of drawing.nodes.values()) {
    if (node.type === "if") yield* checkIf(node);
    if (node.type !== "condition") continue;
    for (const [index, row] of rowsOf(node, "rules").entries()) {
      if (!isObject(row) || !COMPARING.has(at(row, "operator")) || !isBlank(at(row, "value"))) continue;
      yield problem("rule-empty", { node: node.id, field: `rules.${index}.value` }, { name: node.name });
    }
  }
}

function* checkIf(node: DrawnNode): Generator<Problem> {
  const rows = rowsOf(node, "conditions");
  if (rows.length === 0)
    yield problem("conditions-missing", { node: node.id, field: "conditions" }, { name: node.name });
  for (const [index, row] of rows.entries()) {
    if (!isObject(row) || !isBlank(at(row, "value"))) continue;
    yield problem("condition-empty", { node: node.id, field: `conditions.${index}.value` }, { name: node.name });
  }
}

/** If a node names no agent, the agent is known only when the run starts. */
export function* checkSearching(drawing: Drawing, known: Known): Generator<Problem> {
  for (const node of drawing.nodes.values()) {
    const switches = node.type === "agent" ? at(node.data, "tools") : undefined;
    if (!isObject(switches) || at(switches, SEARCH) !== true) continue;
    const agent = named(at(node.data, "agent")) || named(drawing.agent);
    const absent = known.tools ? !known.tools.has(SEARCH) : false;
    if (!absent && !(agent !== "" && known.searching && !known.searching.has(agent))) continue;
    yield problem("web-search-missing", { node: node.id, field: `tools.${SEARCH}` }, { name: node.name });
  }
}

function rowsOf(node: DrawnNode, field: string): readonly Json[] {
  const rows = at(node.data, field);
  return Array.isArray(rows) ? rows : [];
}

const isBlank = (value: Maybe): boolean =>
  value === undefined || value === null || (isText(value) && /^[ \t\r\n]*$/.test(value));

const named = (value: Maybe): string => (isText(value) ? value : "");
