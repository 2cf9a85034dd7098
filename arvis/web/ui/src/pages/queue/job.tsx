import type { Item } from "../../api/types";
import { Status, type Tone } from "../../parts/show";
import { texts } from "./texts";

export type Job = Item<"GET /api/jobs">;
export type JobStatus = Job["status"];

export const STATUSES: readonly JobStatus[] = ["pending", "running", "failed", "done", "cancelled"];

const TONES: Record<JobStatus, Tone> = {
  pending: "plain",
  running: "accent",
  failed: "trouble",
  done: "good",
  cancelled: "warn",
};

export function JobState({ status }: { status: JobStatus }) {
  return <Status tone={TONES[status]}>{texts.statuses[status]}</Status>;
}

/** Return whether the page offers an action for the job. The server decides if the action is allowed. */
export const mayRetry = (job: Pick<Job, "status">) => job.status === "failed";
export const mayEdit = (job: Pick<Job, "status" | "kind" | "messageId">) =>
  job.kind === "message" && job.messageId !== null && (job.status === "failed" || job.status === "cancelled");
export const mayCancel = (job: Pick<Job, "status">) => job.status === "pending" || job.status === "running";
export const mayRemove = (job: Pick<Job, "status">) => !mayCancel(job);

/** True if the job waits for the time of its retry. A job that waits for child executions has no such time. */
export const waitsForTime = (job: Pick<Job, "status" | "runAt" | "reason">) =>
  job.status === "pending" && job.runAt > Date.now() && job.reason !== "called";

/** The conversation whose lane a job is in. */
export function conversationOf(job: Pick<Job, "lane">): string | null {
  const [kind, id] = job.lane.split(":");
  return kind === "conversation" && id ? id : null;
}
