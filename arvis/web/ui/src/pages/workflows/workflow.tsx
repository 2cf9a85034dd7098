import type { ReactNode } from "react";
import { Link } from "wouter";
import type { ApiError } from "../../api/client";
import type { Answer, Item } from "../../api/types";
import { Status, type Tone, UntrustedText } from "../../parts/show";
import { count, duration, reveal } from "../../words/format";
import type { Trouble } from "../../workflow/canvas/shapes";
import { KINDS } from "../../workflow/kinds";
import { kindOf } from "../../workflow/node";
import type { WorkflowDocument, WorkflowNode } from "../../workflow/types";
import { texts } from "./texts";
import styles from "./workflows.module.css";

export type Workflow = Item<"GET /api/workflows">;
export type WorkflowDetail = Answer<"GET /api/workflows/{workflow}">;
export type Problem = WorkflowDetail["problems"][number];
/** True if a document with these problems can run: hints do not prevent a run. */
export const isRunnable = (problems: readonly Problem[]): boolean =>
  problems.every(({ severity }) => severity !== "error");
/** The numbers of errors and hints of each step. */
export function troublesOf(problems: readonly Problem[]): Map<string, Trouble> {
  const found = new Map<string, Trouble>();
  for (const { node, severity } of problems) {
    if (node === null) continue;
    const { errors, warnings } = found.get(node) ?? { errors: 0, warnings: 0 };
    const wrong = severity === "error";
    found.set(node, { errors: errors + (wrong ? 1 : 0), warnings: warnings + (wrong ? 0 : 1) });
  }
  return found;
}

export type Version = Item<"GET /api/workflows/{workflow}/versions">;
export type Run = Item<"GET /api/workflows/{workflow}/runs">;
export type RunDetail = Answer<"GET /api/runs/{run}">;
export type RunStatus = Run["status"];
export type LogLine = Answer<"GET /api/runs/{run}/log">["items"][number];

export const HOME = "/workflows";
export const addressOf = (workflow: string, ...more: string[]): string =>
  [HOME, workflow, ...more].map((part, place) => (place === 0 ? part : encodeURIComponent(part))).join("/");

/** The document of a response: the server stores it in the canonical form. */
export const documentOf = (of: { document: Record<string, unknown> }): WorkflowDocument =>
  of.document as unknown as WorkflowDocument;

const TONES: Record<RunStatus, Tone> = {
  pending: "plain",
  running: "accent",
  paused: "warn",
  completed: "good",
  failed: "trouble",
  cancelled: "plain",
};

export function RunState({ status }: { status: RunStatus }) {
  return <Status tone={TONES[status]}>{texts.statuses[status]}</Status>;
}

export const isLive = ({ status }: { status: RunStatus }): boolean =>
  status === "pending" || status === "running" || status === "paused";

/** The duration; null while it runs. */
export function took(run: Pick<Run, "startedAt" | "endedAt">): string | null {
  return run.endedAt === null ? null : duration(Math.max(0, run.endedAt - run.startedAt));
}

/** The triggers of a workflow, as text. */
export function begunBy(triggers: readonly string[]): string {
  const named = triggers.map((kind) => (texts.triggers as Record<string, string>)[kind] ?? reveal(kind));
  return [...new Set(named)].join(", ") || texts.byHand;
}

/** The newest version, and whether it is a draft. */
export function VersionMark({ of }: { of: Pick<Workflow, "version" | "runnable" | "problemCount"> }): ReactNode {
  if (of.runnable === of.version) return count(of.version);
  return (
    <span className={styles.versionMark}>
      <span>{count(of.version)}</span>
      <Status tone="warn">{of.problemCount > 0 ? texts.draftWith(of.problemCount) : texts.draft}</Status>
    </span>
  );
}

/** The trigger of a run, with a link to it. */
export function Source({ source }: { source: string }): ReactNode {
  const [kind = "", id = ""] = source.split(":");
  const words = (texts.sources as Record<string, string>)[kind];
  const to = { schedule: "/schedules", webhook: "/settings/webhooks", workflow: "/executions", agent: "/executions" }[
    kind
  ];
  if (words === undefined) return <UntrustedText text={source} />;
  return to === undefined || id === "" ? words : <Link href={`${to}/${encodeURIComponent(id)}`}>{words}</Link>;
}

/** The nodes at which a run may start. */
export const entriesOf = (document: WorkflowDocument): WorkflowNode[] =>
  document.nodes.filter((node) => kindOf(node)?.begins);

/** The name of a kind of nodes. */
export const kindInWords = (type: string): string =>
  Object.hasOwn(KINDS, type) ? KINDS[type as keyof typeof KINDS].label : reveal(type);

/** The problems for which the server refused a document. */
export function problemsOf(error: ApiError | null): readonly Problem[] {
  const found = error?.rest.problems;
  return Array.isArray(found) ? (found as Problem[]) : [];
}
