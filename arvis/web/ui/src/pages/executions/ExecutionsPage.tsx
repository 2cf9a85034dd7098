import { useList } from "../../api/hooks";
import { ButtonLink } from "../../parts/button";
import { Chips, FilterChoice, useFilters } from "../../parts/page";
import { ResourcePage } from "../../parts/resource";
import { Money, NOTHING, Time, UntrustedText } from "../../parts/show";
import type { Column } from "../../parts/table";
import { count } from "../../words/format";
import {
  type Execution,
  ExecutionSheet,
  ExecutionState,
  type ExecutionStatus,
  graphInWords,
  Source,
  STATUSES,
  took,
} from "./ExecutionSheet";
import { texts } from "./texts";

const COLUMNS: Column<Execution>[] = [
  { name: texts.status, width: "96px", show: (run) => <ExecutionState status={run.status} /> },
  { name: texts.graph, width: "minmax(120px, 2fr)", show: (run) => graphInWords(run.graph) },
  {
    name: texts.agent,
    width: "minmax(80px, 1fr)",
    show: (run) => (run.agent ? <UntrustedText text={run.agent} /> : NOTHING),
  },
  {
    name: texts.where,
    width: "minmax(110px, 2fr)",
    show: (run) => (run.error || run.statusNote) && <UntrustedText text={run.error ?? run.statusNote} />,
  },
  { name: texts.source, width: "minmax(90px, 1fr)", wide: true, show: (run) => <Source source={run.source} /> },
  { name: texts.began, width: "116px", wide: true, show: (run) => <Time at={run.createdAt} /> },
  { name: texts.took, width: "84px", show: (run) => took(run) ?? NOTHING },
  { name: texts.steps, width: "48px", wide: true, show: (run) => count(run.steps) },
  {
    name: texts.cost,
    width: "72px",
    wide: true,
    show: (run) => (run.costUsd > 0 ? <Money usd={run.costUsd} /> : NOTHING),
  },
];

/** Passes through graphs, with their steps. */
export default function ExecutionsPage() {
  const { status, graph } = useFilters("status", "graph");
  return (
    <ResourcePage
      home="/executions"
      texts={texts}
      label={texts.table}
      pages={useList("GET /api/executions", { status: status as ExecutionStatus, graph })}
      columns={COLUMNS}
      idOf={(run) => run.id}
      filters={
        <>
          <Chips
            label={texts.status}
            name="status"
            options={STATUSES.map((one) => [one, texts.statuses[one]] as const)}
          />
          <FilterChoice
            label={texts.graph}
            name="graph"
            all={texts.everyGraph}
            options={Object.entries(texts.graphs)}
          />
        </>
      }
      filtered={Boolean(status || graph)}
      action={<ButtonLink label={texts.emptyAction} href="/chat" />}
      sheet={(id, { onClose }) => <ExecutionSheet id={id} onClose={onClose} />}
    />
  );
}
