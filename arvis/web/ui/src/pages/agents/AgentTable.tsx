import { Plus } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Item } from "../../api/types";
import { ButtonLink } from "../../parts/button";
import { Chips, Page, useFilter } from "../../parts/page";
import { Money, Status, type Tone, UntrustedText } from "../../parts/show";
import { asPages, type Column, EmptyList, Table } from "../../parts/table";
import { GraphName } from "../../parts/workflowGraph";
import styles from "./agents.module.css";
import { CONDUCTOR } from "./draft";
import { texts } from "./texts";

type Row = Item<"GET /api/agents">;

const STATUSES = Object.entries(texts.statuses) as [Row["status"], string][];
const TONES: Record<Row["status"], Tone> = { active: "good", paused: "warn", archived: "plain" };
const WEEK_MS = 7 * 86_400_000;

export function AgentState({ status }: { status: Row["status"] }) {
  return <Status tone={TONES[status]}>{texts.statuses[status]}</Status>;
}

export function AgentTable() {
  const [, navigate] = useLocation();
  const [status] = useFilter("status");
  const agents = useApi("GET /api/agents", { query: { status: (status || undefined) as Row["status"] | undefined } });
  const working = useWorking();
  const costs = useCosts();
  const add = useMay("owner") && <ButtonLink label={texts.add} kind="primary" href="/agents/new" icon={Plus} />;
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={add}
      filters={<Chips label={texts.status} name="status" options={STATUSES} />}
    >
      <Table
        label={texts.title}
        pages={asPages(agents)}
        idOf={(row) => row.id}
        onOpen={(row) => navigate(`/agents/${row.slug}`)}
        columns={columns(working, costs)}
        empty={<EmptyList texts={texts} filtered={Boolean(status)} action={add} />}
      />
    </Page>
  );
}

function columns(working: ReadonlySet<string>, costs: ReadonlyMap<string, number> | null): Column<Row>[] {
  const cost: Column<Row> = {
    name: texts.cost,
    width: "100px",
    show: (row) => <Money usd={costs?.get(row.id) ?? 0} />,
  };
  return [
    {
      name: texts.fields.name,
      width: "minmax(140px, 2fr)",
      show: (row) => (
        <span className={styles.named}>
          <UntrustedText text={row.name} />
          {row.role === CONDUCTOR && <span className={styles.mark}>{texts.conductor}</span>}
        </span>
      ),
    },
    { name: texts.slug, show: (row) => <bdi>{row.slug}</bdi> },
    { name: texts.fields.graph, width: "120px", show: (row) => <GraphName graph={row.graph} words={texts.graphs} /> },
    { name: texts.fields.model, width: "minmax(120px, 1.5fr)", show: (row) => row.model ?? texts.unset.model },
    { name: texts.status, width: "90px", show: (row) => <AgentState status={row.status} /> },
    {
      name: texts.now,
      width: "100px",
      show: (row) =>
        working.has(row.slug) ? (
          <Status tone="accent">{texts.working}</Status>
        ) : (
          <span className="muted">{texts.idle}</span>
        ),
    },
    ...(costs === null ? [] : [cost]),
  ];
}

/** Slugs of the agents that are working now. */
function useWorking(): ReadonlySet<string> {
  const overview = useApi("GET /api/overview", {});
  return new Set(overview.data?.running.map((work) => work.agent ?? "") ?? []);
}

/** The cost of each agent in the last week, by id; `null` if the user may not see costs. */
function useCosts(): ReadonlyMap<string, number> | null {
  const [since] = useState(() => String(Date.now() - WEEK_MS));
  const usage = useApi("GET /api/usage", useMay("operator") ? { query: { by: "agent", since } } : null);
  return usage.data === undefined ? null : new Map(usage.data.groups.map((group) => [group.key, group.costUsd]));
}
