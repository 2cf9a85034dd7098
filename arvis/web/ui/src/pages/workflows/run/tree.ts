/** The calls of subagents as a tree, built from the log lines. */

import { jsonOf, objectOf } from "../../../words/json";
import type { LogLine } from "../workflow";

export type Call = {
  id: string;
  /** The node of the subagent. */
  node: string;
  name: string;
  /** The first line of the call. */
  number: number;
  at: number;
  endedAt: number | null;
  state: "open" | "done" | "failed";
  asked: string;
  answered: string;
  calls: Call[];
};

export const OF_SUBAGENTS: ReadonlySet<string> = new Set([
  "subagent_call_start",
  "subagent_call_end",
  "subagent_call_error",
]);

/** Every call in order of its start; and the calls that no other call made, by their first line. */
export type Calls = { all: readonly Call[]; roots: ReadonlyMap<number, Call> };

export function callsOf(lines: readonly LogLine[]): Calls {
  const known = new Map<string, Call>();
  const roots = new Map<number, Call>();
  for (const line of lines) {
    if (!OF_SUBAGENTS.has(line.type)) continue;
    const fields = read(line.content);
    const id = text(fields.callId);
    const found = known.get(id);
    if (found !== undefined) {
      if (line.type === "subagent_call_start") continue;
      found.endedAt = line.timestamp;
      found.state = line.type === "subagent_call_end" ? "done" : "failed";
      found.answered = text(fields.message);
      continue;
    }
    const made = callOf(line, fields, id);
    known.set(id, made);
    const parent = known.get(text(fields.parentCallId));
    if (parent === undefined || parent === made) roots.set(line.number, made);
    else parent.calls.push(made);
  }
  return { all: [...known.values()], roots };
}

function callOf(line: LogLine, fields: Record<string, unknown>, id: string): Call {
  const begins = line.type === "subagent_call_start";
  const ended = line.type === "subagent_call_end" ? "done" : "failed";
  return {
    id,
    node: text(fields.subagentNodeId),
    name: text(fields.subagentName) || text(fields.subagentNodeId),
    number: line.number,
    at: line.timestamp,
    endedAt: begins ? null : line.timestamp,
    state: begins ? "open" : ended,
    asked: begins ? text(fields.message) : "",
    answered: begins ? "" : text(fields.message),
    calls: [],
  };
}

const read = (content: string) => objectOf(jsonOf(content)) ?? { message: content };

const text = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
