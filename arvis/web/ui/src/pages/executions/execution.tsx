import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Answer, Item } from "../../api/types";
import { Status, type Tone, UntrustedText } from "../../parts/show";
import { duration, reveal, sentences } from "../../words/format";
import { texts } from "./texts";

export type Execution = Item<"GET /api/executions">;
export type ExecutionDetail = Answer<"GET /api/executions/{execution}">;
export type ExecutionStatus = Execution["status"];

export const STATUSES: readonly ExecutionStatus[] = ["running", "paused", "failed", "done", "cancelled"];

const TONES: Record<ExecutionStatus, Tone> = {
  running: "accent",
  paused: "warn",
  done: "good",
  failed: "trouble",
  cancelled: "plain",
};

export function ExecutionState({ status }: { status: ExecutionStatus }) {
  return <Status tone={TONES[status]}>{texts.statuses[status]}</Status>;
}

const WORKFLOW = "workflow:";

/** The name of the graph; for a graph of a plugin, its own name. */
export const graphInWords = (graph: string): string =>
  graph.startsWith(WORKFLOW) ? texts.workflow : ((texts.graphs as Record<string, string>)[graph] ?? reveal(graph));

/** The address that shows a workflow's run step by step; null for all other executions. */
export const drawnAt = (run: { id: string; graph: string }): string | null =>
  run.graph.startsWith(WORKFLOW)
    ? `/workflows/${encodeURIComponent(run.graph.slice(WORKFLOW.length))}/runs/${run.id}`
    : null;

export const isLive = (run: { status: ExecutionStatus }): boolean =>
  run.status === "running" || run.status === "paused";

/** The duration; null while it runs. */
export function took(run: { status: ExecutionStatus; createdAt: number; updatedAt: number }): string | null {
  return isLive(run) ? null : duration(Math.max(0, run.updatedAt - run.createdAt));
}

/** The trigger: a schedule, a web hook, else a message. */
export function Source({ source }: { source: string }): ReactNode {
  const [kind, id = ""] = source.split(":");
  if (kind === "schedule") return <Link href={`/schedules/${id}`}>{texts.schedule(reveal(id))}</Link>;
  if (kind === "webhook") return <Link href={`/settings/webhooks/${id}`}>{texts.webhook(reveal(id))}</Link>;
  return source === "" ? texts.asked : <UntrustedText text={source} />;
}

/** The state, as a sentence. */
export function summaryOf(run: ExecutionDetail): string {
  const says = texts.summary;
  const open = run.waits.filter((wait) => wait.open).map((wait) => wait.kind);
  switch (run.status) {
    case "done":
      return says.done(took(run) ?? "");
    case "failed":
      return run.error === null ? says.failedUnknown : sentences(says.failed(reveal(run.error)));
    case "paused":
      if (open.some((kind) => kind === "approval" || kind === "review" || kind === "user")) return says.pausedForPerson;
      if (open.includes("child")) return says.pausedForOthers;
      return open.includes("timer") ? says.pausedForTime : says.paused;
    case "cancelled":
      return says.cancelled;
    default:
      return sentences(says.running, run.statusNote ? reveal(run.statusNote) : "");
  }
}
