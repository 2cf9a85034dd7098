import { useState } from "react";
import { useList } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button, ButtonLink } from "../../parts/button";
import { AgentFilter, FilterChoice } from "../../parts/filters";
import { Chips, useFilter, useFilters } from "../../parts/page";
import { ResourcePage } from "../../parts/resource";
import { reveal } from "../../words/format";
import { BulkBar } from "./BulkBar";
import { columns } from "./columns";
import { JobSheet } from "./JobSheet";
import { type Job, STATUSES } from "./job";
import { texts } from "./texts";

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
