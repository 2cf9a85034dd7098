import { useLocation } from "wouter";
import { useList } from "../../api/hooks";
import { Chips, useFilter } from "../../parts/page";
import { Money, NOTHING, Time, UntrustedText } from "../../parts/show";
import { EmptyList } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { count } from "../../words/format";
import { texts } from "./texts";
import { addressOf, type Run, RunState, type RunStatus, Source, took, type WorkflowDetail } from "./workflow";

const STATUSES: readonly RunStatus[] = ["running", "paused", "completed", "failed", "cancelled"];
const COLUMNS: Column<Run>[] = [
  { name: texts.status, width: "100px", show: (run) => <RunState status={run.status} /> },
  { name: texts.began, width: "130px", show: (run) => <Time at={run.startedAt} /> },
  { name: texts.source, width: "minmax(100px, 1fr)", show: (run) => <Source source={run.source} /> },
  { name: texts.version, width: "70px", show: (run) => count(run.version) },
  { name: texts.took, width: "90px", show: (run) => took(run) ?? NOTHING },
  {
    name: texts.cost,
    width: "80px",
    show: (run) => (run.costUsd > 0 ? <Money usd={run.costUsd} /> : NOTHING),
  },
  { name: texts.note, width: "minmax(100px, 2fr)", show: (run) => run.error && <UntrustedText text={run.error} /> },
];

/** The runs of one workflow, newest first. */
export function RunsPart({ workflow }: { workflow: WorkflowDetail }) {
  const [, navigate] = useLocation();
  const [status] = useFilter("status");
  const query = { status: (status || undefined) as RunStatus | undefined };
  const pages = useList("GET /api/workflows/{workflow}/runs", query, { workflow: workflow.id });
  return (
    <>
      <Chips label={texts.status} name="status" options={STATUSES.map((one) => [one, texts.statuses[one]] as const)} />
      <Table
        label={texts.runs}
        columns={COLUMNS}
        pages={pages}
        idOf={(run) => run.id}
        onOpen={(run) => navigate(addressOf(workflow.id, "runs", run.id))}
        empty={<EmptyList texts={texts.runList} filtered={status !== ""} />}
      />
    </>
  );
}
