import { Ellipsis, FileInput, LayoutTemplate, Pencil, Play, Plus } from "lucide-react";
import { useId, useState } from "react";
import { Link, useLocation } from "wouter";
import { ApiError, call } from "../../api/client";
import { useList, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { ButtonLink, IconButton } from "../../parts/button";
import { useAsk } from "../../parts/dialog";
import { Switch } from "../../parts/fields";
import { Chips, Page, SearchField, useFilters } from "../../parts/page";
import { NOTHING, Status, Time, UntrustedText } from "../../parts/show";
import { type Column, EmptyList, Table } from "../../parts/table";
import { useToast } from "../../parts/toast";
import { count, reveal } from "../../words/format";
import { RunDialog } from "./RunDialog";
import { texts } from "./texts";
import { addressOf, begunBy, HOME, RunState, VersionMark, type Workflow } from "./workflow";
import styles from "./workflows.module.css";

const SWITCHED: Record<string, boolean> = { on: true, off: false };

/** All workflows, and the ways to create one. */
export function List() {
  const [, navigate] = useLocation();
  const { state, q } = useFilters("state", "q");
  const [running, setRunning] = useState<Workflow | null>(null);
  const operates = useMay("operator");
  const pages = useList("GET /api/workflows", { q: q || undefined, enabled: SWITCHED[state] });
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={operates && <Beginnings />}
      filters={
        <>
          <Chips
            label={texts.state}
            name="state"
            options={[
              ["on", texts.on],
              ["off", texts.off],
            ]}
          />
          <SearchField label={texts.search} />
        </>
      }
    >
      <Table
        label={texts.title}
        columns={columnsFor(operates, setRunning)}
        pages={pages}
        idOf={(one) => one.id}
        onOpen={(one) => navigate(addressOf(one.id))}
        empty={
          <EmptyList
            texts={texts}
            filtered={Boolean(state || q)}
            action={operates && <ButtonLink label={texts.examples} href={`${HOME}/examples`} />}
          />
        }
      />
      {running && <RunDialog workflow={running} onClose={() => setRunning(null)} />}
    </Page>
  );
}

function Beginnings() {
  return (
    <>
      <ButtonLink label={texts.bringIn} href={`${HOME}/import`} icon={FileInput} />
      <ButtonLink label={texts.examples} href={`${HOME}/examples`} icon={LayoutTemplate} />
      <ButtonLink label={texts.add} kind="primary" href={`${HOME}/new`} icon={Plus} />
    </>
  );
}

function columnsFor(operates: boolean, onRun: (one: Workflow) => void): Column<Workflow>[] {
  const shown: Column<Workflow>[] = [
    {
      name: texts.name,
      width: "minmax(150px, 3fr)",
      show: (one) => (
        <span className={styles.named}>
          <Link href={addressOf(one.id)}>
            <UntrustedText text={one.name} />
          </Link>
          <UntrustedText text={one.description} className="muted" />
        </span>
      ),
    },
    {
      name: texts.state,
      width: "64px",
      show: (one) =>
        operates ? (
          <Enabled of={one} />
        ) : (
          <Status tone={one.enabled ? "good" : "plain"}>{one.enabled ? texts.on : texts.off}</Status>
        ),
    },
    { name: texts.lastRun, width: "minmax(180px, 1fr)", show: (one) => <LastRun of={one} /> },
    { name: texts.live, width: "60px", show: (one) => (one.liveRuns > 0 ? count(one.liveRuns) : NOTHING) },
  ];
  const actions: Column<Workflow> = {
    name: texts.actions,
    width: "108px",
    show: (one) => <RowActions of={one} onRun={() => onRun(one)} />,
  };
  const last: Column<Workflow>[] = [
    { name: texts.version, width: "150px", show: (one) => <VersionMark of={one} /> },
    { name: texts.begins, width: "minmax(110px, 1fr)", show: (one) => begunBy(one.triggers) },
  ];
  return [...shown, actions, ...last];
}

function LastRun({ of: { id, lastRun } }: { of: Workflow }) {
  if (lastRun === null) return <span className="muted">{texts.neverRun}</span>;
  return (
    <Link href={addressOf(id, "runs", lastRun.id)} className={styles.last}>
      <RunState status={lastRun.status} />
      <span className="muted">
        <Time at={lastRun.at} />
      </span>
    </Link>
  );
}

/** Turn the triggers of a workflow on or off from its row. */
export function Enabled({ of: one }: { of: Pick<Workflow, "id" | "name" | "enabled"> }) {
  const change = useSend("PATCH /api/workflows/{workflow}");
  return (
    <Switch
      on={one.enabled}
      busy={change.isPending}
      name={reveal(one.name)}
      onChange={(enabled) => change.mutate({ path: { workflow: one.id }, body: { enabled } })}
    />
  );
}

type Props = { of: Pick<Workflow, "id" | "name">; onRun: () => void };

/** The actions for a workflow in its row. */
function RowActions({ of: one, onRun }: Props) {
  const operates = useMay("operator");
  const name = reveal(one.name);
  return (
    <span className={styles.rowActions}>
      {operates && (
        <>
          <IconButton icon={Play} label={texts.runOf(name)} onClick={onRun} />
          <EditLink of={one} />
        </>
      )}
      <More of={one} />
    </span>
  );
}

function EditLink({ of: one }: { of: Props["of"] }) {
  const words = texts.editOf(reveal(one.name));
  return (
    <Link href={addressOf(one.id, "edit")} aria-label={words} title={words} className={styles.sign}>
      <Pencil aria-hidden />
    </Link>
  );
}

/** Less common actions: export, copy, remove. */
export function More({ of: one }: { of: Pick<Workflow, "id" | "name"> }) {
  const id = useId();
  const operates = useMay("operator");
  const file = `/api/workflows/${encodeURIComponent(one.id)}/export?form=`;
  return (
    <>
      <IconButton icon={Ellipsis} label={texts.moreOf(reveal(one.name))} popoverTarget={id} />
      <div id={id} popover="auto" className={styles.menu}>
        <a href={`${file}json`} download>
          {texts.exportJson}
        </a>
        <a href={`${file}yaml`} download>
          {texts.exportYaml}
        </a>
        {operates && <Duplicate of={one} menu={id} />}
        {operates && <Remove of={one} />}
      </div>
    </>
  );
}

function Duplicate({ of: one, menu }: { of: Pick<Workflow, "id" | "name">; menu: string }) {
  const [, navigate] = useLocation();
  const { fail } = useToast();
  const make = useSend("POST /api/workflows", { done: texts.duplicated });
  const copy = async () => {
    document.getElementById(menu)?.hidePopover();
    try {
      const whole = await call("GET /api/workflows/{workflow}", { path: { workflow: one.id } });
      const { name, description, document: drawn } = whole;
      make.mutate(
        { body: { name: texts.copyOf(name), description, document: drawn, draft: true, enabled: false } },
        { onSuccess: (made) => navigate(addressOf(made.id)) },
      );
    } catch (error) {
      if (error instanceof ApiError) fail(error);
    }
  };
  return (
    <button type="button" disabled={make.isPending} onClick={() => void copy()}>
      {texts.duplicate}
    </button>
  );
}

function Remove({ of: one }: { of: Pick<Workflow, "id" | "name"> }) {
  const [, navigate] = useLocation();
  const ask = useAsk();
  const { tell } = useToast();
  const remove = useSend("DELETE /api/workflows/{workflow}");
  const name = reveal(one.name);
  const drop = async () => {
    const { askRemoveWords: words, remove: yes } = texts;
    if (!(await ask({ title: texts.askRemove(name), words, yes, danger: true }))) return;
    const removed = () => {
      tell(texts.removed(name));
      navigate(HOME);
    };
    remove.mutate({ path: { workflow: one.id } }, { onSuccess: removed });
  };
  return (
    <button type="button" onClick={() => void drop()}>
      {texts.remove}
    </button>
  );
}
