import { Pencil, Play } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link, useLocation } from "wouter";
import { useApi, useList } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button, ButtonLink } from "../../parts/button";
import { Chips, Page, Section, useFilter } from "../../parts/page";
import { Code, Money, NOTHING, Time, UntrustedText } from "../../parts/show";
import { Empty, Loaded } from "../../parts/states";
import { type Column, EmptyList, Table } from "../../parts/table";
import { Tabs } from "../../parts/tabs";
import { count, reveal } from "../../words/format";
import { Back } from "./Gallery";
import { Enabled, More } from "./List";
import { Overview } from "./Overview";
import { RunDialog } from "./RunDialog";
import { texts } from "./texts";
import { Versions } from "./Versions";
import { addressOf, HOME, type Run, RunState, type RunStatus, Source, took, type WorkflowDetail } from "./workflow";
import styles from "./workflows.module.css";

const NOT_FOUND = 404;
const PARTS: Record<string, (workflow: WorkflowDetail, version: number | null) => ReactNode> = {
  "": (workflow) => <Overview workflow={workflow} />,
  runs: (workflow) => <RunsPart workflow={workflow} />,
  versions: (workflow, version) => <Versions workflow={workflow} open={version} />,
  call: (workflow) => <CallPart workflow={workflow} />,
};

/** One workflow: overview, runs, versions, and the ways to start it. */
export function DetailPage({ id, tab, version = null }: { id: string; tab: string; version?: number | null }) {
  const workflow = useApi("GET /api/workflows/{workflow}", { path: { workflow: id } });
  const found = workflow.data;
  const part = PARTS[tab];
  if (workflow.error?.status === NOT_FOUND || part === undefined) return <Gone />;
  return (
    <Page
      title={found === undefined ? texts.title : reveal(found.name)}
      about={found && reveal(found.description || texts.noDescription)}
      actions={found && <Actions workflow={found} />}
    >
      <Tabs
        label={texts.parts}
        current={tab === "" ? addressOf(id) : addressOf(id, tab)}
        tabs={[
          [addressOf(id), texts.tabs.overview],
          [addressOf(id, "runs"), texts.tabs.runs],
          [addressOf(id, "versions"), texts.tabs.versions],
          [addressOf(id, "call"), texts.tabs.call],
        ]}
      />
      <Loaded of={workflow}>{(known) => part(known, version)}</Loaded>
    </Page>
  );
}

export function Gone() {
  return (
    <Page title={texts.title}>
      <Empty why={texts.goneWhy} title={texts.gone} action={<ButtonLink label={texts.all} href={HOME} />} />
    </Page>
  );
}

function Actions({ workflow }: { workflow: WorkflowDetail }) {
  const operates = useMay("operator");
  const [asked, setAsked] = useFilter("run");
  const [open, setOpen] = useState(asked !== "");
  const close = () => {
    setOpen(false);
    setAsked("");
  };
  return (
    <>
      <Back />
      <More of={workflow} />
      {operates && (
        <>
          <span className={styles.enabled}>
            <Enabled of={workflow} />
            <span aria-hidden>{workflow.enabled ? texts.on : texts.off}</span>
          </span>
          <ButtonLink label={texts.edit} href={addressOf(workflow.id, "edit")} icon={Pencil} />
          <Button label={texts.run} kind="primary" icon={Play} onClick={() => setOpen(true)} />
          {open && <RunDialog workflow={workflow} onClose={close} />}
        </>
      )}
    </>
  );
}

const STATUSES: readonly RunStatus[] = ["running", "paused", "completed", "failed", "cancelled"];
const COLUMNS: Column<Run>[] = [
  { name: texts.status, width: "100px", show: (run) => <RunState status={run.status} /> },
  { name: texts.began, width: "130px", show: (run) => <Time at={run.startedAt} /> },
  { name: texts.source, width: "minmax(100px, 1fr)", show: (run) => <Source source={run.source} /> },
  { name: texts.version, width: "70px", show: (run) => count(run.version) },
  { name: texts.took, width: "90px", show: (run) => took(run) ?? NOTHING },
  { name: texts.cost, width: "80px", show: (run) => (run.costUsd > 0 ? <Money usd={run.costUsd} /> : NOTHING) },
  { name: texts.note, width: "minmax(100px, 2fr)", show: (run) => run.error && <UntrustedText text={run.error} /> },
];

/** The runs of one workflow, newest first. */
function RunsPart({ workflow }: { workflow: WorkflowDetail }) {
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

const KEY = '  -H "Authorization: Bearer $ARVIS_KEY"';
const JSON_TYPE = '  -H "Content-Type: application/json"';
const lines = (...parts: string[]): string => parts.join(" \\\n");

/** The ways to start a workflow: programs, chats, schedules and other services. */
function CallPart({ workflow }: { workflow: WorkflowDetail }) {
  const says = texts.call;
  const origin = window.location.origin;
  const calls: [string, string][] = [
    [
      says.begin,
      lines(
        `curl -X POST ${origin}/api/workflows/${workflow.slug}/runs`,
        KEY,
        JSON_TYPE,
        `  -d '{"input": "The input of the run"}'`,
      ),
    ],
    [says.look, lines(`curl ${origin}/api/runs/RUN`, KEY)],
    [says.follow, lines(`curl -N ${origin}/api/runs/RUN/events`, KEY)],
    [
      says.answer,
      lines(
        `curl -X POST ${origin}/api/runs/RUN/resume`,
        KEY,
        JSON_TYPE,
        `  -d '{"decision": "approve", "note": "Go ahead"}'`,
      ),
    ],
  ];
  return (
    <div className={styles.narrow}>
      <p>
        {says.why} <Link href="/settings/users/add-key">{says.keys}</Link>
      </p>
      {calls.map(([title, code]) => (
        <Section key={title} title={title}>
          <Code value={code} label={title} />
        </Section>
      ))}
      <Section title={says.chat}>
        <p>{says.chatWhy}</p>
        <Code value={`/run ${workflow.slug} what it begins with`} label={says.chat} />
      </Section>
      <Section title={says.schedule}>
        <p>
          {says.scheduleWhy} <Link href="/schedules">{says.schedules}</Link>
        </p>
      </Section>
      <Section title={says.webhook}>
        <p>
          {says.webhookWhy} <Link href="/settings/webhooks">{says.webhooks}</Link>
        </p>
      </Section>
    </div>
  );
}
