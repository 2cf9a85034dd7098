import { useState } from "react";
import { useList } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button, ButtonLink } from "../../parts/button";
import { useDetail } from "../../parts/detail";
import { Choice } from "../../parts/field";
import { AgentFilter } from "../../parts/filters";
import { Chips, Page, useFilter } from "../../parts/page";
import { Empty } from "../../parts/states";
import { Table } from "../../parts/table";
import { reveal } from "../../words/format";
import { BulkBar } from "./BulkBar";
import { columns } from "./columns";
import { JobSheet } from "./JobSheet";
import { type Job, STATUSES } from "./job";
import { texts } from "./texts";

const KINDS = Object.entries(texts.kinds) as [Job["kind"], string][];

/** All jobs, with their actions. */
export default function QueuePage() {
  const [status] = useFilter("status");
  const [kind, setKind] = useFilter("kind");
  const [agent] = useFilter("agent");
  const [lane, setLane] = useFilter("lane");
  const filter = { status, kind: kind as Job["kind"], agent, lane };
  const pages = useList("GET /api/jobs", filter);
  const { id, open, close } = useDetail("/queue");
  const mayAct = useMay("operator");
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const filtered = Boolean(status || kind || agent || lane);
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
          <Choice aria-label={texts.kind} value={kind} options={[["", texts.everyKind], ...KINDS]} onChange={setKind} />
          <AgentFilter />
          {lane && (
            <Button onClick={() => setLane("")} title={texts.allLanes}>
              {texts.oneLane(reveal(lane))} ×
            </Button>
          )}
        </>
      }
      sheet={id && <JobSheet key={id} id={id} onClose={close} onOpen={open} />}
    >
      {chosen.size > 0 && (
        <BulkBar chosen={chosen} choose={choose} filter={filtered ? filter : null} more={pages.more !== null} />
      )}
      <Table
        label={texts.table}
        columns={columns(mayAct, id !== null)}
        pages={pages}
        idOf={(job) => job.id}
        onOpen={(job) => open(job.id)}
        openId={id}
        selection={mayAct ? { chosen, choose } : undefined}
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
