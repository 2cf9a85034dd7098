/** The state of a run, as the diagram and the sentences above it show it. */

import { count, reveal, sentences } from "../../../words/format";
import { nameOf } from "../../../workflow/canvas/look";
import type { NodeStatus } from "../../../workflow/canvas/shapes";
import { LOG_TYPES } from "../../../workflow/kinds";
import { kindOf } from "../../../workflow/node";
import type { WorkflowDocument } from "../../../workflow/types";
import { isLive, type LogLine, type RunDetail, type RunStatus, took } from "../workflow";
import { texts } from "./texts";
import type { Call } from "./tree";

/** Each step with its state, including steps that were not reached yet. */
export function statesOf(
  run: RunDetail,
  document: WorkflowDocument,
  calls: readonly Call[],
): Record<string, NodeStatus> {
  const found: Record<string, NodeStatus> = {};
  for (const { id } of document.nodes) {
    const node = run.nodes[id];
    const called = calls.filter((call) => call.node === id);
    if (called.length > 0) found[id] = helped(called);
    else if (node === undefined) found[id] = { state: isLive(run) ? "pending" : "skipped" };
    else {
      const broken = run.status === "cancelled" && (node.state === "running" || node.state === "waiting");
      const earlier = node.visits === 0 && node.state === "done" && run.rerunOf !== null;
      const note = node.retry
        ? { note: texts.retrying }
        : node.visits > 1
          ? { note: texts.times(count(node.visits)) }
          : earlier
            ? { note: texts.earlier }
            : {};
      found[id] = { state: broken ? "cancelled" : node.state, ...note };
    }
  }
  return found;
}

/** The step to show: the running one, else a waiting one, else a failed one. */
export function seenFirst(states: Readonly<Record<string, NodeStatus>>): string | undefined {
  const all = Object.entries(states);
  for (const state of ["running", "waiting", "failed"]) {
    const found = all.find(([, status]) => status.state === state);
    if (found !== undefined) return found[0];
  }
  return undefined;
}

/** A subagent has the state of its newest call. */
function helped(calls: readonly Call[]): NodeStatus {
  const state = { open: "running", done: "done", failed: "failed" } as const;
  const newest = calls.at(-1)?.state ?? "open";
  return { state: state[newest], ...(calls.length > 1 ? { note: texts.times(count(calls.length)) } : {}) };
}

/** The outputs that each step took, from its end lines. */
function handlesTaken(lines: readonly LogLine[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { nodeId, type, content } of lines) {
    if (type !== "step_end") continue;
    const taken = found.get(nodeId) ?? new Set<string>();
    found.set(nodeId, taken.add(wayTaken(content)));
  }
  return found;
}

/** The end line of a step names its output, and whether the result is tainted. */
export const wayTaken = (content: string): string => content.replace(/\s*\(tainted\)\s*$/u, "").trim();

/** The connections that the run has taken. */
export function takenIn(run: RunDetail, document: WorkflowDocument, lines: readonly LogLine[]): ReadonlySet<string> {
  const taken = handlesTaken(lines);
  const nodes = new Map(document.nodes.map((node) => [node.id, node]));
  const reached = (id: string) => run.nodes[id] !== undefined && run.nodes[id].state !== "skipped";
  return new Set(
    document.connections
      .filter(({ source, sourceHandle, target }) => {
        const from = nodes.get(source);
        if (from === undefined || !reached(source) || !reached(target)) return false;
        const ways = taken.get(source);
        if (ways === undefined) return false;
        return kindOf(from)?.chooses ? ways.has(sourceHandle) : true;
      })
      .map(({ id }) => id),
  );
}

/** The duration of a step, from its first line to its last; null while it is not over. */
export function tookAt(node: string, lines: readonly LogLine[]): number | null {
  const own = lines.filter((line) => line.nodeId === node);
  const [first, last] = [own.at(0), own.filter(({ type }) => ENDS.has(type) || LOG_TYPES[type]?.ends).at(-1)];
  return first === undefined || last === undefined ? null : Math.max(0, last.timestamp - first.timestamp);
}

const ENDS = new Set(["step_end", "error", "branch_failed"]);

/** True if the run is active. A paused run counts as active while one of its steps runs, because it waits for an agent. */
export function isAtWork(run: RunDetail): boolean {
  if (run.status === "pending" || run.status === "running") return true;
  return run.status === "paused" && Object.values(run.nodes).some(({ state }) => state === "running");
}

/** The status to show. */
export const shownStatus = (run: RunDetail): RunStatus =>
  run.status === "paused" && !run.waitingForInput && isAtWork(run) ? "running" : run.status;

/** The state, as a sentence. */
export function summaryOf(run: RunDetail, document: WorkflowDocument | null): string {
  const says = texts.summary;
  const named = (state: string) =>
    (document?.nodes ?? []).filter(({ id }) => run.nodes[id]?.state === state).map((node) => reveal(nameOf(node)));
  switch (shownStatus(run)) {
    case "pending":
      return says.pending;
    case "running": {
      const busy = named("running");
      return busy.length > 0 ? says.runningAt(busy.join(", ")) : says.running;
    }
    case "paused": {
      const asking = document?.nodes.find(({ id }) => id === run.currentNodeId);
      if (asking !== undefined) return says.pausedFor(reveal(nameOf(asking)));
      if (run.waitingForInput) return says.pausedForPerson;
      const waiting = named("waiting");
      return waiting.length > 0 ? says.pausedForTime(waiting.join(", ")) : says.paused;
    }
    case "completed":
      return says.completed(took(run) ?? "");
    case "failed":
      return run.error === null ? says.failedUnknown : sentences(says.failed(reveal(run.error)));
    default:
      return says.cancelled;
  }
}
