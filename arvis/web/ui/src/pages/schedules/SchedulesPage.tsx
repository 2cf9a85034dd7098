import { Plus } from "lucide-react";
import { useList, useSend } from "../../api/hooks";
import { AgentFilter } from "../../parts/agentFilter";
import { Button } from "../../parts/button";
import { NEW, useDetail } from "../../parts/detail";
import { Chips, Page, useFilter } from "../../parts/page";
import { Time, UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { GraphName, isWorkflow } from "../../parts/workflowGraph";
import { ScheduleSheet } from "./ScheduleSheet";
import { kindOf, LastOutcome, nameOf, type Schedule, whenInWords } from "./schedule";
import styles from "./schedules.module.css";
import { texts } from "./texts";

const NAME: Column<Schedule> = {
  name: texts.name,
  width: "minmax(120px, 2fr)",
  show: (one) => <UntrustedText text={nameOf(one)} />,
};
const WHEN: Column<Schedule> = {
  name: texts.when,
  width: "minmax(130px, 2fr)",
  show: (one) => <span title={one.schedule}>{whenInWords(one.schedule)}</span>,
};
const NEXT: Column<Schedule> = {
  name: texts.next,
  width: "110px",
  show: (one) =>
    one.enabled && one.nextRun !== null ? (
      <Time at={one.nextRun} />
    ) : (
      <span className="muted">{one.enabled ? texts.noNext : texts.off}</span>
    ),
};
const SWITCH: Column<Schedule> = { name: texts.on, width: "44px", show: (one) => <Switch of={one} /> };
const COLUMNS: Column<Schedule>[] = [
  NAME,
  { name: texts.doneBy, width: "minmax(80px, 1fr)", show: (one) => <Worker of={one} /> },
  { name: texts.kind, width: "84px", show: (one) => texts.kinds[kindOf(one)] },
  WHEN,
  NEXT,
  { name: texts.last, width: "128px", show: (one) => <LastOutcome of={one} /> },
  SWITCH,
];
/** The agent or the workflow of a schedule. */
function Worker({ of: one }: { of: Schedule }) {
  return isWorkflow(one.graph) ? <GraphName graph={one.graph} words={{}} /> : <UntrustedText text={one.agent} />;
}

/** The columns if a detail is shown beside the list. */
const FEWER: Column<Schedule>[] = [NAME, WHEN, NEXT, SWITCH];

/** Tasks of agents at given times. */
export default function SchedulesPage() {
  const [kind] = useFilter("kind");
  const [agent] = useFilter("agent");
  const { id, open, close } = useDetail("/schedules");
  const pages = useList("GET /api/schedules", { kind: kind as Schedule["kind"], agent });
  const add = (
    <Button kind="primary" icon={<Plus aria-hidden />} onClick={() => open(NEW)}>
      {texts.add}
    </Button>
  );
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={add}
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
      sheet={id && <ScheduleSheet key={id} id={id} onOpen={open} onClose={close} />}
    >
      <Table
        label={texts.title}
        columns={id === null ? COLUMNS : FEWER}
        pages={pages}
        idOf={(one) => one.id}
        onOpen={(one) => open(one.id)}
        openId={id}
        empty={
          <Empty title={texts.empty} action={add}>
            {texts.emptyWhy}
          </Empty>
        }
      />
    </Page>
  );
}

/** Turn a schedule on or off from its row. */
function Switch({ of: one }: { of: Schedule }) {
  const change = useSend("PATCH /api/schedules/{schedule}");
  return (
    <input
      type="checkbox"
      className={styles.switch}
      aria-label={one.enabled ? texts.turnOff(nameOf(one)) : texts.turnOn(nameOf(one))}
      checked={change.isPending ? !one.enabled : one.enabled}
      disabled={change.isPending}
      onChange={() => change.mutate({ path: { schedule: one.id }, body: { enabled: !one.enabled } })}
    />
  );
}
