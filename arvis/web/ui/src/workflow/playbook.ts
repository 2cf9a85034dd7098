/**
 * Convert documents of another program's format (playbooks): the same steps as `arvis/workflows/document/playbooks.py`, which
 * explains them.
 */

import { at, has, isObject, isText, type Maybe } from "./json";
import { KINDS, type Kind, type KindName, LOOP_BACK, SUBAGENT } from "./kinds";
import { NAMES, OPERATORS, TRIGGERS } from "./playbookNames";
import type { Json, JsonObject } from "./types";

/** The trigger names of playbooks, and ours. */
const TRIGGER_KINDS = new Set([...Object.keys(TRIGGERS), ...(KINDS.trigger.fields[0]?.choices ?? [])]);
/** Kinds of nodes that define how branches join there. */
const OWN_JOIN = new Set(["merge", "loop"]);
const DIGITS = /^[0-9]{1,6}$/;
/** Between these limits, Python and JavaScript write a number in the same way. */
const [SMALLEST, LARGEST] = [1e-4, 1e15];

/** The node in our format if it is a node of a playbook, else unchanged. */
export function playbookNode(given: JsonObject): JsonObject {
  const data = given.data;
  const subtype = isObject(data) ? at(data, "subtype") : undefined;
  if (at(given, "type") !== "workflow" || !isObject(data) || !isText(subtype)) return given;
  const [kind, more] = kindOf(subtype, at(data, "category"));
  const config = at(data, "config") ?? null;
  const known: JsonObject = { ...given, type: kind };
  const label = at(data, "label");
  if (isText(label) && label !== "" && !has(known, "label")) known.label = label;
  known.data = config === null || isObject(config) ? { ...dataOf(kind, config ?? {}), ...more } : config;
  return known;
}

function kindOf(subtype: string, category: Maybe): [string, JsonObject] {
  if (category === "trigger" || (TRIGGER_KINDS.has(subtype) && !Object.hasOwn(KINDS, subtype))) {
    return ["trigger", { kind: renamed(TRIGGERS, subtype) }];
  }
  return [subtype, {}];
}

const renamed = (names: Readonly<Record<string, string>>, name: string): string =>
  Object.hasOwn(names, name) ? (names[name] ?? name) : name;

function dataOf(kind: string, config: JsonObject): JsonObject {
  const names = Object.hasOwn(NAMES, kind) ? (NAMES[kind] ?? {}) : {};
  let data: JsonObject = Object.fromEntries(
    Object.entries(config).map(([name, value]) => [renamed(names, name), value]),
  );
  if (kind === "agent") data = withContract(data);
  if (kind === "tool-call") data = withTool(data);
  if (kind === "condition") data = withRules(data);
  for (const name of ["amount", "maxIterations"]) {
    const text = at(data, name);
    if (isText(text) && DIGITS.test(text)) data[name] = Number(text);
  }
  return data;
}

/** Theirs may be a text that is appended to the prompt. */
function withContract(data: JsonObject): JsonObject {
  const contract = at(data, "completionContract");
  if (!isText(contract)) return data;
  const before = at(data, "systemPrompt") ?? "";
  const known: JsonObject = { ...data, completionContract: contract !== "" };
  if (contract !== "" && isText(before)) known.systemPrompt = before === "" ? contract : `${before}\n\n${contract}`;
  return known;
}

function withTool(data: JsonObject): JsonObject {
  const parts = [at(data, "integrationSlug"), at(data, "endpointName")].filter((part) => isText(part) && part !== "");
  if (parts.length === 0 || has(data, "tool")) return data;
  const { integrationSlug: _slug, endpointName: _endpoint, ...known } = data;
  return { ...known, tool: parts.join(".") };
}

function withRules(data: JsonObject): JsonObject {
  const known: JsonObject = { ...data };
  const [combinator, rules] = [at(data, "combinator"), at(data, "rules")];
  if (isText(combinator)) known.combinator = combinator.toLowerCase();
  if (Array.isArray(rules)) known.rules = rules.map((rule) => (isObject(rule) ? ruleOf(rule) : rule));
  return known;
}

function ruleOf(rule: JsonObject): JsonObject {
  const known: JsonObject = { ...rule };
  const operator = at(rule, "operator");
  if (isText(operator)) {
    const word = operator
      .replace(/([a-z])([A-Z])/g, "$1_$2")
      .toLowerCase()
      .replaceAll("-", "_")
      .replaceAll(" ", "_");
    known.operator = renamed(OPERATORS, word);
  }
  if (has(rule, "value")) known.value = textOf(rule.value as Json);
  return known;
}

function textOf(value: Json): Json {
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number") return value;
  const size = Math.abs(value);
  return size === 0 ? "0" : size >= SMALLEST && size < LARGEST ? String(value) : value;
}

/** In a playbook, a node starts when all its predecessors are done, and connections without a handle are always followed. */
export function withItsRules(document: JsonObject): JsonObject {
  const known: JsonObject = { ...document };
  const { settings, nodes, connections } = document;
  if (isObject(settings)) known.settings = { unlabelled: "follow", ...settings };
  if (Array.isArray(nodes) && Array.isArray(connections)) {
    const arriving = arrivingOf(connections);
    known.nodes = nodes.map((each) => joining(each, arriving));
  }
  return known;
}

/** The number of ordinary connections that lead to each node. */
function arrivingOf(connections: Json[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const each of connections) {
    if (!isObject(each)) continue;
    const target = at(each, "target");
    if (isText(target) && each.sourceHandle !== SUBAGENT && each.targetHandle !== LOOP_BACK) {
      counts.set(target, (counts.get(target) ?? 0) + 1);
    }
  }
  return counts;
}

function joining(each: Json, arriving: Map<string, number>): Json {
  if (!isObject(each) || !isObject(each.data)) return each;
  const [id, type] = [at(each, "id"), at(each, "type")];
  if (!isText(id) || (arriving.get(id) ?? 0) < 2) return each;
  const kind: Kind | undefined = isText(type) && Object.hasOwn(KINDS, type) ? KINDS[type as KindName] : undefined;
  if (kind !== undefined && (kind.begins || OWN_JOIN.has(kind.name))) return each;
  return { ...each, data: { join: "all", ...each.data } };
}
