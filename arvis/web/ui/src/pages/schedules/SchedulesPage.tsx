import { useList, useSend } from "../../api/hooks";
import { Switch } from "../../parts/fields";
import { AgentFilter, Chips, useFilters } from "../../parts/page";
import { ResourcePage } from "../../parts/resource";
import { Time, UntrustedText } from "../../parts/show";
import type { Column } from "../../parts/table";
import { GraphName, isWorkflow } from "../../parts/workflowGraph";
import { ScheduleSheet } from "./ScheduleSheet";
import { kindOf, LastOutcome, nameOf, type Schedule, whenInWords } from "./schedule";
import { texts } from "./texts";

const COLUMNS: Column<Schedule>[] = [
  { name: texts.name, width: "minmax(120px, 2fr)", show: (one) => nameOf(one) },
  { name: texts.doneBy, width: "minmax(80px, 1fr)", wide: true, show: (one) => <Worker of={one} /> },
  { name: texts.kind, width: "84px", wide: true, show: (one) => texts.kinds[kindOf(one)] },
  {
    name: texts.when,
    width: "minmax(130px, 2fr)",
    show: (one) => <span title={one.schedule}>{whenInWords(one.schedule)}</span>,
  },
  {
    name: texts.next,
    width: "110px",
    show: (one) =>
      one.enabled && one.nextRun !== null ? (
        <Time at={one.nextRun} />
      ) : (
        <span className="muted">{one.enabled ? texts.noNext : texts.off}</span>
      ),
  },
  { name: texts.last, width: "128px", wide: true, show: (one) => <LastOutcome of={one} /> },
  { name: texts.on, width: "56px", show: (one) => <Enabled of={one} /> },
];

/** The agent or the workflow of a schedule. */
function Worker({ of: one }: { of: Schedule }) {
  return isWorkflow(one.graph) ? <GraphName graph={one.graph} words={{}} /> : <UntrustedText text={one.agent} />;
}

/** Tasks of agents at given times. */
export default function SchedulesPage() {
  const { kind, agent } = useFilters("kind", "agent");
  return (
    <ResourcePage
      home="/schedules"
      texts={texts}
      pages={useList("GET /api/schedules", { kind: kind as Schedule["kind"], agent })}
      columns={COLUMNS}
      idOf={(one) => one.id}
      mayAdd
      filters={
        <>
          <Chips
            label={texts.kind}
            name="kind"
            all={texts.everyKind}
            options={[
              ["cron", texts.kinds.cron],
              ["heartbeat", texts.kinds.heartbeat],
            ]}
          />
          <AgentFilter />
        </>
      }
      sheet={(id, opening) => <ScheduleSheet id={id} {...opening} />}
    />
  );
}

/** Pause or resume a schedule from its row. */
function Enabled({ of: one }: { of: Schedule }) {
  const change = useSend("PATCH /api/schedules/{schedule}");
  return (
    <Switch
      on={one.enabled}
      busy={change.isPending}
      name={nameOf(one)}
      onChange={(enabled) => change.mutate({ path: { schedule: one.id }, body: { enabled } })}
    />
  );
}
