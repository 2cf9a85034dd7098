import { RotateCcw } from "lucide-react";
import { useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { NOTHING, Time, UntrustedText } from "../../parts/show";
import { reasonInWords } from "../../parts/steps";
import type { Column } from "../../parts/table";
import { type Job, JobState, mayRetry, waitsForTime } from "./job";
import styles from "./queue.module.css";
import { texts } from "./texts";

/** The content of a row; with `mayAct`, failed rows have an action. */
export function columns(mayAct: boolean): Column<Job>[] {
  return [
    { name: texts.status, width: "96px", show: (job) => <JobState status={job.status} /> },
    { name: texts.what, width: "minmax(160px, 3fr)", show: (job) => <What job={job} /> },
    { name: texts.why, width: "minmax(110px, 2fr)", show: (job) => whyOf(job) },
    {
      name: texts.agent,
      width: "minmax(72px, 1fr)",
      wide: true,
      show: (job) => (job.agent ? <UntrustedText text={job.agent} /> : NOTHING),
    },
    {
      name: texts.from,
      width: "minmax(72px, 1fr)",
      wide: true,
      show: (job) => <UntrustedText text={job.person ?? job.platform ?? "–"} className="muted" />,
    },
    { name: texts.when, width: "116px", wide: true, show: (job) => <Time at={job.createdAt} /> },
    ...(mayAct
      ? [{ name: texts.action, width: "88px", show: (job: Job) => mayRetry(job) && <Retry job={job} /> }]
      : []),
  ];
}

function What({ job }: { job: Job }) {
  return (
    <span title={texts.kinds[job.kind]}>
      <span className={styles.kind}>{texts.kinds[job.kind]}</span>
      <UntrustedText text={job.subject} />
    </span>
  );
}

/** The reason why a job waits or failed; nothing for successful jobs. */
function whyOf(job: Job) {
  const words = job.reason ? reasonInWords(job.reason, job.kind) : "";
  if (waitsForTime(job)) {
    return (
      <span>
        {words} {texts.tries} <Time at={job.runAt} />
      </span>
    );
  }
  if (job.status === "done" || job.status === "running") return null;
  return words || job.error ? <UntrustedText text={words || job.error || ""} /> : null;
}

function Retry({ job }: { job: Job }) {
  const retry = useSend("POST /api/jobs/{job}/retry", { done: texts.retried });
  return (
    <Button
      label={texts.retry}
      kind="quiet"
      icon={RotateCcw}
      busy={retry.isPending}
      onClick={() => retry.mutate({ path: { job: job.id }, body: {} })}
    />
  );
}
