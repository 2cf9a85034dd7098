import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { useList, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { sends } from "../../parts/actions";
import { Button, ButtonLink } from "../../parts/button";
import { AgentFilter, Chips, FilterChoice, useFilter, useFilters } from "../../parts/page";
import { ResourcePage } from "../../parts/resource";
import { NOTHING, Time, UntrustedText } from "../../parts/show";
import { reasonInWords } from "../../parts/steps";
import type { Column } from "../../parts/table";
import { reveal } from "../../words/format";
import { BulkBar } from "./BulkBar";
import { JobSheet } from "./JobSheet";
import { type Job, JobState, mayRetry, STATUSES, waitsForTime } from "./job";
import styles from "./queue.module.css";
import { texts } from "./texts";

/** The content of a row; with `mayAct`, failed rows have an action. */
function columns(mayAct: boolean): Column<Job>[] {
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
    <Button label={texts.retry} kind="quiet" icon={RotateCcw} {...sends(retry, { path: { job: job.id }, body: {} })} />
  );
}

const KINDS = Object.entries(texts.kinds) as [Job["kind"], string][];

/** All jobs, with their actions. */
export default function QueuePage() {
  const { status, kind, agent } = useFilters("status", "kind", "agent");
  const [lane, setLane] = useFilter("lane");
  const filter = { status, kind: kind as Job["kind"], agent, lane };
  const pages = useList("GET /api/jobs", filter);
  const mayAct = useMay("operator");
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const filtered = Boolean(status || kind || agent || lane);
  return (
    <ResourcePage
      home="/queue"
      texts={texts}
      label={texts.table}
      pages={pages}
      columns={columns(mayAct)}
      idOf={(job) => job.id}
      filters={
        <>
          <Chips
            label={texts.status}
            name="status"
            options={STATUSES.map((one) => [one, texts.statuses[one]] as const)}
          />
          <FilterChoice label={texts.kind} name="kind" all={texts.everyKind} options={KINDS} />
          <AgentFilter />
          {lane && (
            <Button label={`${texts.oneLane(reveal(lane))} ×`} title={texts.allLanes} onClick={() => setLane("")} />
          )}
        </>
      }
      filtered={filtered}
      action={<ButtonLink label={texts.emptyAction} href="/chat" />}
      selection={mayAct ? { chosen, choose } : undefined}
      sheet={(id, opening) => <JobSheet id={id} {...opening} />}
    >
      {chosen.size > 0 && (
        <BulkBar chosen={chosen} choose={choose} filter={filtered ? filter : null} more={pages.more !== null} />
      )}
    </ResourcePage>
  );
}
