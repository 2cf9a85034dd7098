/** The differences between two versions of an agent, field by field and line by line. */

import type { ChangedLine } from "../../parts/show";
import { texts as common } from "../../parts/texts";
import { count } from "../../words/format";
import type { Agent, Binding } from "./draft";
import { texts } from "./texts";

type Field = keyof typeof texts.fields;

export type Difference = { field: Field } & (
  | { kind: "value"; before: string; after: string }
  | { kind: "list"; gone: string[]; come: string[]; moved: boolean }
  | { kind: "text"; lines: ChangedLine[] }
);

const FIELDS = Object.keys(texts.fields) as Field[];
const LONG: readonly Field[] = ["prompt", "description"];

/** The changes between two versions. Fields that only one of the versions has are ignored. */
export function differences(before: Partial<Agent>, after: Partial<Agent>): Difference[] {
  return FIELDS.filter(
    (field) => field in before && field in after && JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  ).map((field) => difference(field, before[field], after[field]));
}

function difference(field: Field, before: unknown, after: unknown): Difference {
  if (Array.isArray(before) && Array.isArray(after)) {
    const [old, now] = [before.map(inWords), after.map(inWords)];
    const gone = old.filter((one) => !now.includes(one));
    const come = now.filter((one) => !old.includes(one));
    return { field, kind: "list", gone, come, moved: gone.length + come.length === 0 };
  }
  const [old, now] = [valueInWords(field, before), valueInWords(field, after)];
  if (LONG.includes(field)) return { field, kind: "text", lines: lineDiff(linesOf(old), linesOf(now)) };
  return { field, kind: "value", before: old, after: now };
}

function inWords(entry: unknown): string {
  return typeof entry === "string" ? entry : bindingInWords(entry as Binding);
}

export function bindingInWords(binding: Binding): string {
  const more = [
    texts.permissions[binding.permission],
    binding.respond && texts.responds[binding.respond],
    binding.observe !== null && texts.observes(count(binding.observe)),
  ];
  return [`${binding.platform}:${binding.channel}`, ...more].filter(Boolean).join(" · ");
}

/** A field's value as text for people. */
export function valueInWords(field: Field, value: unknown): string {
  if (value === null || value === undefined || value === "") return LONG.includes(field) ? "" : texts.unset[field];
  if (field === "allowUsers") return (value as string[]).join(", ") || texts.ownersAlone;
  if (field === "contextTokens") return texts.tokens(count(Number(value)));
  const known: Partial<Record<Field, Record<string, string>>> = {
    graph: texts.graphs,
    completion: texts.completions,
    effort: common.efforts,
    onNewMessage: texts.onNewMessages,
    status: texts.statuses,
  };
  return known[field]?.[String(value)] ?? String(value);
}

const linesOf = (text: string): string[] => (text === "" ? [] : text.split("\n"));

/** The maximum number of compared lines. A longer comparison would take long, and its result would be unreadable. */
const MOST_CELLS = 4_000_000;
const AROUND = 2;

/**
 * Compute a short diff: the common beginning and end are kept, the lines between are compared by the longest common
 * subsequence.
 */
export function lineDiff(before: readonly string[], after: readonly string[]): ChangedLine[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  )
    tail += 1;
  const same = (text: string): ChangedLine => ({ sign: " ", text });
  const middle = changed(before.slice(head, before.length - tail), after.slice(head, after.length - tail));
  return folded([...before.slice(0, head).map(same), ...middle, ...before.slice(before.length - tail).map(same)]);
}

function changed(before: readonly string[], after: readonly string[]): ChangedLine[] {
  const out = (text: string): ChangedLine => ({ sign: "-", text });
  const into = (text: string): ChangedLine => ({ sign: "+", text });
  if (before.length * after.length > MOST_CELLS) return [...before.map(out), ...after.map(into)];
  const width = after.length + 1;
  const common = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number) => common[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1)
    for (let column = after.length - 1; column >= 0; column -= 1)
      common[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const lines: ChangedLine[] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    const [old, now] = [before[row], after[column]];
    if (old !== undefined && old === now) {
      lines.push({ sign: " ", text: old });
      row += 1;
      column += 1;
    } else if (old !== undefined && (now === undefined || at(row + 1, column) >= at(row, column + 1))) {
      lines.push(out(old));
      row += 1;
    } else {
      lines.push(into(now ?? ""));
      column += 1;
    }
  }
  return lines;
}

/** Unchanged lines are shown only next to changed ones. */
function folded(lines: readonly ChangedLine[]): ChangedLine[] {
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - AROUND), index + AROUND + 1).some((line) => line.sign !== " "),
  );
  const kept: ChangedLine[] = [];
  let skipped = 0;
  const flush = () => {
    if (skipped > 0) kept.push({ sign: "skipped", text: texts.sameLines(count(skipped)) });
    skipped = 0;
  };
  for (const [index, line] of lines.entries()) {
    if (near[index]) {
      flush();
      kept.push(line);
    } else skipped += 1;
  }
  flush();
  return kept;
}
