/** The texts of problems: the same steps as `problem` of `arvis/workflows/validation/rules.py`. */

import { firstOf, lengthOf } from "./json";
import { RULES, type RuleCode } from "./rules";
import type { Problem } from "./types";

/** The maximum lengths, in characters, of a user's text in a message and of a list in a message. */
const [LONGEST, LONGEST_LIST] = [60, 400];
const LISTS = new Set(["choices", "names", "path"]);

export interface Place {
  node?: string | null;
  connection?: string | null;
  field?: string | null;
}

/** The problem of this rule, with its placeholders filled from `values`. Unknown placeholders are not replaced. */
export function problem(code: RuleCode, place: Place, values: Record<string, string | number> = {}): Problem {
  const { severity, message, fix } = RULES[code];
  const shown = new Map<string, string>();
  for (const [name, value] of Object.entries(values)) {
    shown.set(name, cut(String(value), LISTS.has(name) ? LONGEST_LIST : LONGEST));
  }
  const { node = null, connection = null, field = null } = place;
  return { node, connection, field, rule: code, severity, message: fill(message, shown), fix: fill(fix, shown) };
}

function fill(text: string, values: Map<string, string>): string {
  return text.replace(/\{([a-z]+)\}/g, (found, name: string) => values.get(name) ?? found);
}

function cut(text: string, most: number): string {
  return lengthOf(text) <= most ? text : `${firstOf(text, most - 1)}…`;
}
