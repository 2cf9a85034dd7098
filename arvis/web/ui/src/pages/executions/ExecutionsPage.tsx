import { useList } from "../../api/hooks";
import { ButtonLink } from "../../parts/button";
import { useDetail } from "../../parts/detail";
import { Choice } from "../../parts/field";
import { Chips, Page, useFilter } from "../../parts/page";
import { Money, Time, UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { count, reveal } from "../../words/format";
import { ExecutionSheet } from "./ExecutionSheet";
import {
  type Execution,
  ExecutionState,
  type ExecutionStatus,
  graphInWords,
  Source,
  STATUSES,
  took,
} from "./execution";
import { texts } from "./texts";

const FIRST: Column<Execution>[] = [
  { name: texts.status, width: "96px", show: (run) => <ExecutionState status={run.status} /> },
  { name: texts.graph, width: "minmax(120px, 2fr)", show: (run) => graphInWords(run.graph) },
  {
    name: texts.agent,
    width: "minmax(80px, 1fr)",
    show: (run) => (run.agent ? <UntrustedText text={run.agent} /> : <span className="muted">–</span>),
  },
];
const WHERE: Column<Execution> = {
  name: texts.where,
  width: "minmax(110px, 2fr)",
  show: (run) => (run.error || run.statusNote) && <UntrustedText text={run.error ?? run.statusNote} />,
};
const TOOK: Column<Execution> = {
  name: texts.took,
  width: "84px",
  show: (run) => took(run) ?? <span className="muted">–</span>,
};
const COLUMNS: Column<Execution>[] = [
  ...FIRST,
  WHERE,
  { name: texts.source, width: "minmax(90px, 1fr)", show: (run) => <Source source={run.source} /> },
  { name: texts.began, width: "116px", show: (run) => <Time at={run.createdAt} /> },
  TOOK,
  { name: texts.steps, width: "48px", show: (run) => count(run.steps) },
  {
    name: texts.cost,
    width: "72px",
    show: (run) => (run.costUsd > 0 ? <Money usd={run.costUsd} /> : <span className="muted">–</span>),
  },
];
/** The columns if a detail is shown beside the list. */
const FEWER: Column<Execution>[] = [...FIRST, WHERE, TOOK];

/** Passes through graphs, with their steps. */
export default function ExecutionsPage() {
  const [status] = useFilter("status");
  const [graph, setGraph] = useFilter("graph");
  const pages = useList("GET /api/executions", { status: status as ExecutionStatus, graph });
  const { id, open, close } = useDetail("/executions");
  const filtered = Boolean(status || graph);
  const known: [string, string][] = Object.entries(texts.graphs);
  const graphs: [string, string][] = graph === "" || graph in texts.graphs ? known : [[graph, reveal(graph)], ...known];
  return (
    <Page
      title={texts.title}
      about={texts.about}
      filters={
        <>
          <Chips
            label={texts.status}
            name="status"
            options={STATUSES.map((one) => [one, texts.statuses[one]] as const)}
          />
          <Choice
            aria-label={texts.graph}
            value={graph}
            options={[["", texts.everyGraph], ...graphs]}
            onChange={setGraph}
          />
        </>
      }
      sheet={id && <ExecutionSheet key={id} id={id} onClose={close} />}
    >
      <Table
        label={texts.table}
        columns={id === null ? COLUMNS : FEWER}
        pages={pages}
        idOf={(run) => run.id}
        onOpen={(run) => open(run.id)}
        openId={id}
        empty={
          filtered ? (
            <Empty title={texts.noMatch}>{texts.noMatchWords}</Empty>
          ) : (
            <Empty title={texts.empty} action={<ButtonLink href="/chat">{texts.emptyAction}</ButtonLink>}>
              {texts.emptyWords}
            </Empty>
          )
        }
      />
    </Page>
  );
}
